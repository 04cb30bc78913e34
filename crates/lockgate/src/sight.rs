//! What the gate sees in a call.
//!
//! [`Sight`] has the commands of its scripts, the paths and hosts it names, the sensitive data in it, what it amounts to under
//! a policy, and every doubt. Nothing is judged here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lockgate_call::{
    Access, Call, Command, Effect, Known, Reach, RedirectionKind, Script, ScriptFields, SeenCall, Spot,
    TouchedHost, TouchedPath, Word,
    sensitive::{Detectors, Mask},
};
use lockgate_policy::Policy;
use serde::Serialize;

use crate::files::LocalFiles;

/// Everything there is to see in a call. It serialises to the documented JSON of `lockgate see --json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Sight {
    /// The tool.
    pub tool: String,
    /// What its scripts would run, field by field.
    pub scripts: Vec<SeenScript>,
    /// The paths it names.
    pub paths: Vec<SeenPath>,
    /// The hosts it names.
    pub hosts: Vec<SeenHost>,
    /// What it does, each effect with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<SeenEffect>,
    /// The sensitive data in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<SeenSecret>,
    /// What it amounts to under the policy; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deeds: Option<Vec<SeenDeed>>,
    /// What is not understood.
    pub doubts: Vec<String>,
}

/// A script in a call.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenScript {
    /// The field of the input.
    pub field: String,
    /// Whether it may do anything, because it cannot be read.
    pub opaque: bool,
    /// The commands, in order.
    pub commands: Vec<SeenCommand>,
}

/// A command of a script.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenCommand {
    /// The program, where it is known.
    pub program: Option<String>,
    /// As it is written.
    pub text: String,
    /// Its words, the program first.
    pub words: Vec<SeenWord>,
    /// The files it reads or writes by redirection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redirections: Vec<SeenRedirection>,
    /// The variables it sets, with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<(String, SeenWord)>,
    /// The programs and constructs that it is inside of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached_by: Vec<String>,
    /// Whether it runs whatever came before it.
    pub unconditional: bool,
    /// Whether a success of the call proves a success of this.
    pub confirmed: bool,
    /// Whether it may do anything, because it cannot be read.
    pub opaque: bool,
}

/// A word of a command, and how far it is known.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenWord {
    /// As it is written.
    pub text: String,
    /// `certain`, `glob` or `unknown`.
    pub known: &'static str,
}

/// A redirection of a command.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenRedirection {
    /// `reads`, `writes` or `appends`.
    pub does: &'static str,
    /// The file.
    pub target: SeenWord,
}

/// A path that a call names.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenPath {
    /// As it is written.
    pub text: String,
    /// `reads`, `writes`, `runs` or `touches`.
    pub access: &'static str,
    /// Whether it only may be one.
    pub guess: bool,
    /// The paths it may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Where links on this machine lead, if elsewhere than the text says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind_links: Vec<String>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// A host that a call names.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenHost {
    /// As it is written.
    pub text: String,
    /// Whether it only may be one.
    pub guess: bool,
    /// The host, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Where the host is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<&'static str>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// Something that a call does, in the words of rules: `any deletion`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenEffect {
    /// The effect, such as `deletion`.
    pub effect: &'static str,
    /// The path, host or program, where it is known.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Whether the call does it, or only may.
    pub certain: bool,
    /// Whether a success of the call proves a success of this.
    pub confirmed: bool,
}

/// Sensitive data in a field of the input. What it is, not its text.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenSecret {
    /// The field of the input.
    pub field: String,
    /// The kinds of data.
    pub kinds: Vec<String>,
}

/// What a call amounts to.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SeenDeed {
    /// The name in the rules.
    pub name: String,
    /// Whether the call really is this, or only may be.
    pub certain: bool,
    /// Whether a success of the call proves a success of this.
    pub confirmed: bool,
}

impl Sight {
    /// Looks at a call, for the doors of this repository. Without a policy it is not known what the call amounts to.
    #[doc(hidden)]
    pub fn of(call: &SeenCall, policy: Option<&Policy>) -> Self {
        let looked = catch_unwind(AssertUnwindSafe(|| Self::read(call, policy)));
        looked.unwrap_or_else(|_| Self {
            tool: call.tool.clone(),
            scripts: Vec::new(),
            paths: Vec::new(),
            hosts: Vec::new(),
            effects: Vec::new(),
            sensitive: Vec::new(),
            deeds: None,
            doubts: vec!["Lockgate panicked while it looked at this call; a gate blocks it".to_owned()],
        })
    }

    fn read(call: &SeenCall, policy: Option<&Policy>) -> Self {
        let fields = policy.map_or(ScriptFields::Customary, |policy| policy.script_fields(&call.tool));
        let reading = call.reading(&fields);
        let (paths, hosts) = (reading.paths(), reading.hosts());
        let effects = policy.map_or_else(|| reading.effects().clone(), |policy| policy.effects(call));
        let mut doubts: Vec<String> = Vec::new();
        let scripts = reading.scripts().map(|(field, script)| {
            doubts.extend(script.doubts.iter().cloned());
            SeenScript::of(field.to_string(), script)
        });
        let scripts = scripts.collect();
        for unseen in paths.unseen.iter().chain(&hosts.unseen).map(ToString::to_string) {
            if !doubts.contains(&unseen) {
                doubts.push(unseen);
            }
        }
        Self {
            tool: call.tool.clone(),
            scripts,
            paths: paths.touched.iter().map(SeenPath::of).collect(),
            hosts: hosts.touched.iter().map(SeenHost::of).collect(),
            effects: effects.found.iter().map(SeenEffect::of).collect(),
            sensitive: secrets_in(policy, call),
            deeds: policy.map(|policy| deeds_of(policy, call)),
            doubts,
        }
    }

    /// Whether there is something in the call that is not understood.
    pub fn has_doubts(&self) -> bool {
        !self.doubts.is_empty()
    }
}

/// What a rule that masks would find, by field.
fn secrets_in(policy: Option<&Policy>, call: &Call) -> Vec<SeenSecret> {
    let detectors = policy.map_or(Detectors::standard(), |policy| &policy.masking().detectors);
    let found = call.input.iter().map(|(field, value)| {
        // Some kinds are known by the key above them.
        let alone = [(field.clone(), value.clone())].into_iter().collect();
        let (_, kinds) = detectors.mask_object(&alone, Mask::Stars);
        let kinds = kinds.distinct().iter().map(ToString::to_string).collect();
        SeenSecret { field: field.clone(), kinds }
    });
    found.filter(|secret| !secret.kinds.is_empty()).collect()
}

/// What the call amounts to, each deed once, for whichever rules.
fn deeds_of(policy: &Policy, call: &SeenCall) -> Vec<SeenDeed> {
    let mut seen: Vec<SeenDeed> = Vec::new();
    for deed in policy.deeds(call).iter().flat_map(|(_, deeds)| deeds) {
        let deed =
            SeenDeed { name: deed.name.to_string(), certain: deed.certain, confirmed: deed.is_confirmed };
        if !seen.iter().any(|known| (&known.name, known.certain) == (&deed.name, deed.certain)) {
            seen.push(deed);
        }
    }
    seen
}

impl SeenEffect {
    fn of(effect: &Effect) -> Self {
        Self {
            effect: effect.kind.word(),
            place: effect.target.text().map(str::to_owned),
            certain: effect.certain,
            confirmed: effect.is_confirmed,
        }
    }
}

impl SeenScript {
    fn of(field: String, script: &Script) -> Self {
        let commands = script.commands.iter().map(SeenCommand::of).collect();
        Self { field, opaque: script.opaque, commands }
    }
}

impl SeenCommand {
    fn of(command: &Command) -> Self {
        let redirections = command.redirections.iter().map(|it| SeenRedirection {
            does: match it.kind {
                RedirectionKind::Reads => "reads",
                RedirectionKind::Writes => "writes",
                RedirectionKind::Appends => "appends",
            },
            target: SeenWord::of(&it.target),
        });
        Self {
            program: command.program.clone(),
            text: command.text.clone(),
            words: command.words.iter().map(SeenWord::of).collect(),
            redirections: redirections.collect(),
            assignments: command
                .assignments
                .iter()
                .map(|(name, value)| (name.clone(), SeenWord::of(value)))
                .collect(),
            reached_by: command.reached_by.clone(),
            unconditional: command.is_unconditional,
            confirmed: command.is_confirmed,
            opaque: command.opaque,
        }
    }
}

impl SeenWord {
    fn of(word: &Word) -> Self {
        let known = match word.known {
            Known::Certain => "certain",
            Known::Glob => "glob",
            Known::Unknown => "unknown",
        };
        Self { text: word.text.clone(), known }
    }
}

impl SeenPath {
    fn of(path: &TouchedPath) -> Self {
        let (spots, doubt) = match &path.spots {
            Ok(spots) => (spots.as_slice(), None),
            Err(doubt) => ([].as_slice(), Some(doubt.to_string())),
        };
        let is_behind = |spot: &Spot| spot.canonical(&LocalFiles).filter(|real| *real != spot.path);
        let access = match path.access {
            Access::Reads => "reads",
            Access::Writes => "writes",
            Access::Runs => "runs",
            Access::Unknown => "touches",
        };
        Self {
            text: path.text.clone(),
            access,
            guess: path.is_guess,
            paths: spots.iter().map(|spot| spot.path.clone()).collect(),
            behind_links: spots.iter().filter_map(is_behind).collect(),
            doubt,
        }
    }
}

impl SeenHost {
    fn of(host: &TouchedHost) -> Self {
        let (name, reach, doubt) = match &host.host {
            Ok(host) => (Some(host.name().to_owned()), Some(reach_word(host.reach())), None),
            Err(doubt) => (None, None, Some(doubt.to_string())),
        };
        Self { text: host.text.clone(), guess: host.is_guess, host: name, reach, doubt }
    }
}

fn reach_word(reach: Reach) -> &'static str {
    match reach {
        Reach::Name => "a name",
        Reach::Public => "public",
        Reach::Private => "a private network",
        Reach::Loopback => "this machine",
        Reach::LinkLocal => "the network at hand",
        Reach::Unspecified => "no particular address",
        Reach::Metadata => "the metadata of a cloud",
        Reach::Reserved => "reserved",
    }
}
