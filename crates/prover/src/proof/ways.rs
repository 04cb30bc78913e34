//! Every way in which the rules of a policy can see a call.
//!
//! A rule sees names: the tool's own, an action of it, or what the maps of the rule's file make of a command. A
//! [`Way`] is one combination of what all of them see, so calls that no rule tells apart are one way. Whatever an
//! agent calls is a sequence of ways: a script of three commands is the way of the first and two *further* ones,
//! which only files with a map for them see. The list is as long as it has to be and may be longer: whether
//! some text really matches two patterns at once is found out when a session is played.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use lockgate_call::Call;
use lockgate_pattern::ToolGlob;
use smallvec::SmallVec;

use lockgate_policy::{
    Audience, Claim, Deed, FileId, Policy, Watch,
    condition::{Attribute, Condition, Subject, ValueTest},
    tool_and_action,
};

/// The most ways of one tool.
pub(crate) const WAYS_OF_TOOL_MAX: usize = 512;

/// What rules can see in one call, or in one command of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Way {
    /// The tool that is called.
    pub tool: Arc<str>,
    /// The action it is called with, where a rule names actions of the tool.
    pub action: Option<Arc<str>>,
    /// Whether a rule names actions of the tool.
    pub(super) has_actions: bool,
    /// What each list of maps for the tool makes of it, by the list.
    pub(super) seen: Sights,
    /// Whether it is a further command of the call before it.
    pub is_further: bool,
}

/// What a list of maps makes of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum MapReading {
    /// What one of them says.
    Named(Arc<str>),
    /// No map takes it.
    Itself,
    /// Nothing that was not seen in the same call before.
    Nothing,
}

pub(super) type Sights = SmallVec<[(SeerId, MapReading); 1]>;

/// Tells lists of maps apart. Files with the same maps for a tool, of one policy or of two, see the same.
pub(super) type SeerId = Arc<str>;

/// One list of maps for a tool.
#[derive(Debug)]
struct Seer {
    id: SeerId,
    names: Vec<Arc<str>>,
    reads_scripts: bool,
}

/// All ways of one policy, or of two that are compared.
#[derive(Debug, Default)]
pub(super) struct Ways {
    pub(super) all: Vec<Way>,
    seers: BTreeMap<Arc<str>, Vec<Seer>>,
    /// Tools of which there are more ways than can be looked at.
    pub(super) cut: Vec<Arc<str>>,
    /// Whether one call may be several ways.
    pub(super) reads_scripts: bool,
    /// The ways that a rule may call by a name.
    by_name: HashMap<Arc<str>, Vec<usize>, RandomState>,
}

/// One policy's watches of a way, for each file that has maps of its own and for everybody else.
pub(super) type View<'p> = Vec<&'p Watch>;

impl Way {
    /// What it is called in messages: the name the rules know, if a map gives one.
    pub fn deed(&self) -> Arc<str> {
        let named = self.seen.iter().find_map(|(_, seen)| match seen {
            MapReading::Named(name) => Some(name.clone()),
            MapReading::Itself | MapReading::Nothing => None,
        });
        named.unwrap_or_else(|| self.own_name())
    }

    /// The tool's own name, with its action.
    pub(super) fn own_name(&self) -> Arc<str> {
        match &self.action {
            Some(action) => Arc::from(format!("{}.{action}", self.tool)),
            None => self.tool.clone(),
        }
    }

    /// Whether maps read it, in a script or in a field.
    pub(super) fn is_read(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Whether a call is of this tool and with this action, as far as a rule names actions of the tool.
    pub(super) fn is_of(&self, call: &Call) -> bool {
        let action = call.input.get("action").and_then(|action| action.as_str());
        *call.tool == *self.tool
            && (self.action.as_deref() == action || (self.action.is_none() && !self.has_actions))
    }

    /// What a file sees of it that has maps of its own for the tool; none if it has not.
    pub(super) fn seen_by(&self, policy: &Policy, file: FileId) -> Option<&MapReading> {
        if !policy.renamed_in(&self.tool).contains(&file) {
            return None;
        }
        let mine = seer_id(policy, file, &self.tool);
        self.seen.iter().find(|(seer, _)| *seer == mine).map(|(_, seen)| seen)
    }

    /// Whether rules without maps see this name, which they use together with others.
    fn is_itself(&self, name: &str, together_with: &[&str]) -> bool {
        is_itself(&self.tool, self.action.as_deref(), name, together_with)
    }
}

/// Whether a call of a tool is of this name to rules without maps that use it together with others: with an action the
/// tool is meant too, unless they name actions of it.
pub(super) fn is_itself(tool: &str, action: Option<&str>, name: &str, together_with: &[&str]) -> bool {
    let is_action = |other: &&str| tool_and_action(other).is_some_and(|(base, _)| base == tool);
    match (action, name.strip_prefix(tool)) {
        (None, rest) => rest == Some(""),
        (Some(_), Some("")) => !together_with.iter().any(is_action),
        (Some(action), Some(rest)) => rest.strip_prefix('.') == Some(action),
        (Some(_), None) => false,
    }
}

impl Ways {
    /// The ways of all policies together, and of what only claims speak of.
    pub(super) fn of(policies: &[&Policy]) -> Self {
        let mut ways = Self::default();
        let tools: BTreeSet<Arc<str>> = policies.iter().flat_map(|policy| tools(policy)).collect();
        let actions = named_actions(policies);
        for tool in &tools {
            for policy in policies {
                for file in policy.renamed_in(tool) {
                    let seer = seer(policy, *file, tool);
                    ways.reads_scripts |= seer.reads_scripts;
                    let seers = ways.seers.entry(tool.clone()).or_default();
                    if seers.iter().all(|known| known.id != seer.id) {
                        seers.push(seer);
                    }
                }
            }
        }
        // What a map names is shown as the command it was made for, not as a tool that happens to be called so.
        let (mapped, plain): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| ways.seers.contains_key(*tool));
        for tool in mapped.into_iter().chain(plain) {
            let more = ways.of_tool(tool, actions.get(tool), policies);
            if more.len() > WAYS_OF_TOOL_MAX {
                ways.cut.push(tool.clone());
            }
            ways.all.extend(more.into_iter().take(WAYS_OF_TOOL_MAX));
        }
        for (index, way) in ways.all.iter().enumerate() {
            let given = way.seen.iter().filter_map(|(_, seen)| match seen {
                MapReading::Named(name) => Some(name.clone()),
                MapReading::Itself | MapReading::Nothing => None,
            });
            for name in given.chain([way.tool.clone(), way.own_name()]) {
                let known = ways.by_name.entry(name).or_default();
                if known.last() != Some(&index) {
                    known.push(index);
                }
            }
        }
        ways
    }

    /// The ways that are calls of a name, as a rule of this file would see it that knows these names.
    pub(super) fn called(
        &self,
        name: &str,
        policy: &Policy,
        file: FileId,
        together_with: &[&str],
    ) -> impl Iterator<Item = (usize, &Way)> {
        let known = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let ways = known.iter().filter_map(|index| Some((*index, self.all.get(*index)?)));
        ways.filter(move |(_, way)| self.is_called(way, name, policy, file, together_with))
    }

    fn of_tool(&self, tool: &Arc<str>, named: Option<&BTreeSet<Arc<str>>>, policies: &[&Policy]) -> Vec<Way> {
        let seers = self.seers.get(tool).map(Vec::as_slice).unwrap_or_default();
        let firsts = combinations(seers, &[MapReading::Itself]);
        let is_shared = || seers.len() > 1 || policies.iter().any(|policy| others_see(policy, tool));
        let furthers = if seers.iter().any(|seer| seer.reads_scripts) && is_shared() {
            combinations(seers, &[MapReading::Itself, MapReading::Nothing])
        } else {
            Vec::new()
        };
        let mut ways = Vec::new();
        for action in actions(named) {
            let way = |seen: &Sights, is_further| Way {
                tool: tool.clone(),
                action: action.clone(),
                has_actions: named.is_some(),
                seen: seen.clone(),
                is_further,
            };
            ways.extend(firsts.iter().map(|seen| way(seen, false)));
            let says_more = |seen: &&Sights| seen.iter().any(|(_, seen)| *seen != MapReading::Nothing);
            ways.extend(furthers.iter().filter(says_more).map(|seen| way(seen, true)));
        }
        ways
    }

    /// What a policy's rules know of a way. Each rule knows at most one name of it.
    pub(super) fn view<'p>(&self, way: &Way, policy: &'p Policy) -> View<'p> {
        let itself = policy.own_deed(&way.tool, way.action.as_deref());
        let mut view = Vec::new();
        let mut push = |audience: Audience, deed: &Deed| {
            view.extend(policy.watches_of(audience, deed.id, deed.tool));
        };
        for file in policy.renamed_in(&way.tool) {
            match way.seen_by(policy, *file) {
                Some(MapReading::Named(name)) => push(Audience::of(*file), &policy.mapped_deed(name)),
                Some(MapReading::Itself) => push(Audience::of(*file), &itself),
                Some(MapReading::Nothing) | None => {}
            }
        }
        if !way.is_further {
            push(Audience::everybody(), &itself);
        }
        view
    }

    /// Whether a way is a call of a name, as a rule of this file would see it that knows these names.
    fn is_called(
        &self,
        way: &Way,
        name: &str,
        policy: &Policy,
        file: FileId,
        together_with: &[&str],
    ) -> bool {
        match way.seen_by(policy, file) {
            Some(MapReading::Named(given)) => **given == *name,
            Some(MapReading::Itself) => way.is_itself(name, together_with),
            Some(MapReading::Nothing) => false,
            None => !way.is_further && way.is_itself(name, together_with),
        }
    }
}

/// Every choice of what each list of maps sees.
fn combinations(seers: &[Seer], plain: &[MapReading]) -> Vec<Sights> {
    let mut found: Vec<Sights> = vec![SmallVec::new()];
    for seer in seers {
        let choices = seer.names.iter().cloned().map(MapReading::Named).chain(plain.iter().cloned());
        let choices: Vec<MapReading> = choices.collect();
        let longer = found.iter().flat_map(|before| {
            choices.iter().map(|choice| {
                let mut seen = before.clone();
                seen.push((seer.id.clone(), choice.clone()));
                seen
            })
        });
        // One more than is looked at, so that it shows.
        found = longer.take(WAYS_OF_TOOL_MAX + 1).collect();
    }
    found
}

fn seer(policy: &Policy, file: FileId, tool: &str) -> Seer {
    let mut names: Vec<Arc<str>> = Vec::new();
    for (_, name) in policy.maps_of(file, tool) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Seer { id: seer_id(policy, file, tool), names, reads_scripts: policy.reads_scripts(file, tool) }
}

fn seer_id(policy: &Policy, file: FileId, tool: &str) -> SeerId {
    let maps = policy.maps_of(file, tool);
    let lines: Vec<String> = maps.iter().map(|(takes, name)| format!("{} as {name}", takes.key())).collect();
    Arc::from(format!("{} {}", policy.reads_scripts(file, tool), lines.join("\n")))
}

/// Whether a rule sees a call of this tool once, however many commands it runs.
fn others_see(policy: &Policy, tool: &str) -> bool {
    let renamed_in = policy.renamed_in(tool);
    let is_of_tool = |name: &str| name == tool || tool_and_action(name).is_some_and(|(base, _)| base == tool);
    let is_watched = || {
        policy
            .known_names()
            .filter(|known| is_of_tool(&known.name))
            .any(|known| known.watches.iter().any(|watch| !renamed_in.contains(&watch.file)))
    };
    let claims = || {
        policy.claims_by_file().any(|(file, claim)| {
            !renamed_in.contains(&file) && claim.property.names().into_iter().any(is_of_tool)
        })
    };
    !policy.workflows().is_empty() || policy.clauses_about(tool).next().is_some() || is_watched() || claims()
}

/// The actions that rules name, by tool.
fn named_actions(policies: &[&Policy]) -> BTreeMap<Arc<str>, BTreeSet<Arc<str>>> {
    let mut named: BTreeMap<Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
    for policy in policies {
        let claimed = policy.claims_by_file().flat_map(|(_, claim)| claim.property.names());
        let known = policy.known_names().filter(|known| !known.watches.is_empty()).map(|known| &*known.name);
        for (base, action) in known.chain(claimed).filter_map(tool_and_action) {
            named.entry(Arc::from(base)).or_default().insert(Arc::from(action));
        }
    }
    named
}

/// Each action that a rule names, one that no rule names, and none.
fn actions(named: Option<&BTreeSet<Arc<str>>>) -> Vec<Option<Arc<str>>> {
    let Some(named) = named else { return vec![None] };
    let mut other = String::from("other");
    while named.contains(other.as_str()) {
        other.push('-');
    }
    named.iter().cloned().map(Some).chain([Some(Arc::from(other)), None]).collect()
}

/// Every tool that a rule is about.
fn tools(policy: &Policy) -> BTreeSet<Arc<str>> {
    let mut tools: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut add = |name: &str| {
        tools.insert(Arc::from(name));
        if let Some((base, _)) = tool_and_action(name) {
            tools.insert(Arc::from(base));
        }
    };
    policy.known_names().for_each(|known| add(&known.name));
    for clause in policy.clauses() {
        let counted = clause.conditions.iter().filter_map(|condition| match condition {
            Condition::Value(ValueTest { subject: Subject::Session(Attribute::CallsOf(tool)), .. }) => {
                Some(&**tool)
            }
            _ => None,
        });
        let named = clause.tools.iter().map(String::as_str);
        named.chain(counted).filter(|tool| is_plain(tool)).for_each(&mut add);
    }
    for stage in policy.workflows().iter().flat_map(|workflow| &workflow.stages) {
        stage.tools.iter().flatten().filter_map(ToolGlob::exact).for_each(|tool| add(&tool));
    }
    policy.claims_by_file().flat_map(|(_, claim): (_, &Claim)| claim.property.names()).for_each(&mut add);
    tools
}

fn is_plain(tool: &str) -> bool {
    !tool.contains(['*', '?', '['])
}
