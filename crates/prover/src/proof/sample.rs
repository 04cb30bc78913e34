//! A call that is seen in a certain way, for sessions that are to be played.

use lockgate_call::{Call, SeenCall, is_script_field};
use lockgate_policy::{Deed, Policy, RunningPhrase, Source, Takes};

use super::ways::{MapReading, Way, Ways};

/// The most calls that are tried.
const TRIED_MAX: usize = 64;

/// A call that all policies see as these ways: the first one and further commands of the same call. None where nobody
/// knows a text for it.
pub fn sample(ways: &[&Way], policies: &[&Policy], id: &str) -> Option<Call> {
    let first = ways.first()?;
    if let Some(call) = running(first, policies, id) {
        return Some(call);
    }
    let call = Call::new(id, &*first.tool);
    let call = match &first.action {
        Some(action) => call.with("action", &**action),
        None => call,
    };
    let mut texts: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for way in ways {
        let choices = texts_of(way, policies, ways.len() > 1);
        texts = texts
            .iter()
            .flat_map(|before| {
                choices.iter().map(|choice| before.iter().cloned().chain([choice.clone()]).collect())
            })
            .take(TRIED_MAX)
            .collect();
    }
    let candidates = texts.into_iter().filter_map(|texts| with_texts(&call, &texts));
    let is_it = |call: &SeenCall| policies.iter().all(|policy| is_seen(call, ways, policy));
    candidates.take(TRIED_MAX).map(SeenCall::from).find(is_it).map(SeenCall::into_call)
}

/// A call that runs what a phrase names: `bash running git push`.
fn running(way: &Way, policies: &[&Policy], id: &str) -> Option<Call> {
    let RunningPhrase { tools, program, words } = RunningPhrase::parse(&way.tool)?;
    let script = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
    let call = SeenCall::from(Call::new(id, tools.first()?.as_str()).with("command", script));
    let is_it = |policy: &&Policy| {
        let groups = policy.deeds(&call);
        groups.iter().flat_map(|(_, deeds)| deeds).any(|deed| deed.name == way.tool && deed.earns())
    };
    policies.iter().all(is_it).then(|| call.into_call())
}

/// The field and the text that may make a call this way; an empty field where none is needed.
fn texts_of(way: &Way, policies: &[&Policy], is_one_of_many: bool) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let names = way.seen.iter().filter_map(|(_, seen)| match seen {
        MapReading::Named(name) => Some(name),
        MapReading::Itself | MapReading::Nothing => None,
    });
    for name in names {
        for policy in policies {
            for (takes, _) in policy
                .renamed_in(&way.tool)
                .iter()
                .flat_map(|file| policy.maps_of(*file, &way.tool))
                .filter(|(_, given)| *given == name)
            {
                texts.extend(match takes {
                    Takes::Field { field, pattern } => pattern.sample().map(|text| (field.clone(), text)),
                    Takes::Running { program, words } => {
                        let words = std::iter::once(program).chain(words).map(String::as_str);
                        Some(("command".to_owned(), words.collect::<Vec<_>>().join(" ")))
                    }
                });
            }
        }
    }
    if texts.is_empty() {
        // A command that no map takes; by itself a call needs no text at all.
        texts.push(match is_one_of_many {
            true => ("command".to_owned(), "true".to_owned()),
            false => (String::new(), String::new()),
        });
    }
    texts
}

/// A call with these texts: commands of one script, each run only after the one before has succeeded.
fn with_texts(call: &Call, texts: &[(String, String)]) -> Option<Call> {
    match texts {
        [(field, _)] if field.is_empty() => Some(call.clone()),
        [(field, text)] => Some(call.clone().with(field.as_str(), text.as_str())),
        many => {
            let (field, _) = many.iter().find(|(field, _)| field != "command").or(many.first())?;
            let is_script = many.iter().all(|(other, _)| other == field || other == "command");
            let commands: Vec<&str> = many.iter().map(|(_, text)| text.as_str()).collect();
            (is_script && (is_script_field(field) || field == "command"))
                .then(|| call.clone().with(field.as_str(), commands.join(" && ")))
        }
    }
}

/// Whether a policy sees a call as these ways, and its success as a success of each.
pub(super) fn is_seen(call: &SeenCall, ways: &[&Way], policy: &Policy) -> bool {
    let groups = policy.deeds(call);
    let itself = policy.own_deed(&call.tool, call.input.get("action").and_then(|action| action.as_str()));
    let is_own = |way: &&Way| itself.name == policy.own_deed(&way.tool, way.action.as_deref()).name;
    if !ways.iter().all(|way| is_own(way) && way.is_of(call)) {
        return false;
    }
    groups.iter().all(|(audience, deeds)| {
        let mut expected: Vec<&str> = Vec::new();
        match audience.file() {
            None => expected.push(&itself.name),
            Some(file) => {
                for way in ways {
                    match way.seen_by(policy, file) {
                        Some(MapReading::Named(name)) => expected.push(name),
                        Some(MapReading::Itself) if !expected.contains(&&*itself.name) => {
                            expected.push(&itself.name)
                        }
                        Some(MapReading::Itself | MapReading::Nothing) | None => {}
                    }
                }
            }
        }
        deeds.iter().all(Deed::earns) && deeds.iter().map(|deed| &*deed.name).eq(expected)
    })
}

/// Makes up calls by the names that rules know them by.
#[derive(Debug)]
pub struct Calls<'p> {
    policy: &'p Policy,
    ways: Ways,
}

impl<'p> Calls<'p> {
    /// For the names of this policy.
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, ways: Ways::of(&[policy]) }
    }

    /// A call that is of this name to the rules of a file; none where no text for it is known.
    pub fn named(&self, name: &str, source: &Source, id: &str) -> Option<Call> {
        let file = self.policy.file_of(source)?;
        let together = [name];
        let called = self.ways.called(name, self.policy, file, &together).map(|(_, way)| way);
        let mut meant = called.filter(|way| !way.is_further).peekable();
        if meant.peek().is_none() {
            // A name that no map gives is a tool of that name.
            return Some(Call::new(id, name));
        }
        meant.find_map(|way| sample(&[way], &[self.policy], id))
    }
}
