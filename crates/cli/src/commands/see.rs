//! `lockgate see`: what the gate sees in a call.
//!
//! The commands its scripts would run, the paths and hosts it names, the sensitive data in it, what it amounts to
//! under given policy files, and every doubt. Nothing is judged here; `check` and `explain` do that.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use lockgate::engine::{
    Call, Detectors, LocalFiles, Mask, Policy, SeenCall,
    call::{
        Access, Command, Known, Reach, RedirectionKind, Script, ScriptFields, Spot, TouchedHost, TouchedPath,
        Word, visible,
    },
};
use serde::Serialize;

use crate::{
    console::{CommandError, Console, Ending, bold, dim, doubtful},
    protocol::{decode_call, encode},
    report,
};

pub(crate) const SEE_EXAMPLES: &str = "\
Examples:
  lockgate see --tool bash --input '{\"command\": \"cd /srv && sudo rm -rf data\"}'
  lockgate see ops.rules --tool bash --input '{\"command\": \"cp a b; rm a\"}'

Exit 0: Lockgate understands all of it, 1: there are doubts, 2: not a call.";

#[derive(Debug, Args)]
pub(crate) struct SeeArguments {
    /// Policy files or folders whose `map` lines name what the call does
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// The tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// The input of the tool
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// The folder that relative paths start from
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
}

pub(crate) fn run(
    arguments: &SeeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = match arguments.files.as_slice() {
        [] => None,
        files => Some(super::opening::open(files)?.compiled()),
    };
    let call = call_of(arguments)?;
    let seen = Seen::of(&call, policy.as_deref());
    if json {
        writeln!(console.out, "{}", encode(&seen))?;
    } else {
        seen.write(console.out)?;
    }
    Ok(if seen.has_doubts() { Ending::No } else { Ending::Yes })
}

fn call_of(arguments: &SeeArguments) -> Result<SeenCall, CommandError> {
    let input = arguments.input.as_deref().unwrap_or("{}");
    let tool = serde_json::Value::from(arguments.tool.as_str());
    let text = format!(r#"{{"tool": {tool}, "input": {input}}}"#);
    let wrong = |error| {
        CommandError::Said(format!(
            "`--input` is no JSON object: {error}; try --input '{{\"command\": \"ls\"}}'"
        ))
    };
    let bare = decode_call(&text, "see").map_err(wrong)?;
    let mut call = bare.call.into_call("see", lockgate::engine::Time(0));
    call.about.cwd.clone_from(&arguments.cwd);
    Ok(call.into())
}

/// Everything there is to see in a call.
#[derive(Serialize)]
struct Seen {
    tool: String,
    scripts: Vec<SeenScript>,
    paths: Vec<SeenPath>,
    hosts: Vec<SeenHost>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sensitive: Vec<SeenSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deeds: Option<Vec<SeenDeed>>,
    doubts: Vec<String>,
}

#[derive(Serialize)]
struct SeenScript {
    field: String,
    opaque: bool,
    commands: Vec<SeenCommand>,
}

#[derive(Serialize)]
struct SeenCommand {
    program: Option<String>,
    text: String,
    words: Vec<SeenWord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirections: Vec<SeenRedirection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assignments: Vec<(String, SeenWord)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reached_by: Vec<String>,
    unconditional: bool,
    confirmed: bool,
    opaque: bool,
}

#[derive(Serialize)]
struct SeenWord {
    text: String,
    known: &'static str,
}

#[derive(Serialize)]
struct SeenRedirection {
    does: &'static str,
    target: SeenWord,
}

#[derive(Serialize)]
struct SeenPath {
    text: String,
    access: &'static str,
    guess: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// Where links on this machine lead, if elsewhere than the text says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    behind_links: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

#[derive(Serialize)]
struct SeenHost {
    text: String,
    guess: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

/// Sensitive data in a field of the input. What it is, not its text.
#[derive(Serialize)]
struct SeenSecret {
    field: String,
    kinds: Vec<String>,
}

#[derive(Serialize)]
struct SeenDeed {
    name: String,
    certain: bool,
    confirmed: bool,
}

impl Seen {
    fn of(call: &SeenCall, policy: Option<&Policy>) -> Self {
        let fields = policy.map_or(ScriptFields::Customary, |policy| policy.script_fields(&call.tool));
        let reading = call.reading(&fields);
        let (paths, hosts) = (reading.paths(), reading.hosts());
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
            sensitive: secrets_in(policy, call),
            deeds: policy.map(|policy| deeds_of(policy, call)),
            doubts,
        }
    }

    fn has_doubts(&self) -> bool {
        !self.doubts.is_empty()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", bold(visible(&self.tool)))?;
        for script in &self.scripts {
            let mut word = "runs";
            for command in &script.commands {
                command.write(out, word)?;
                word = "";
            }
        }
        // A word that merely might be a file's name is data for rules, and noise for people.
        let told = self.paths.iter().filter(|path| !path.guess || path.doubt.is_some());
        for (at, path) in told.enumerate() {
            report::note(out, if at == 0 { "paths" } else { "" }, &path.words())?;
        }
        for (at, host) in self.hosts.iter().enumerate() {
            report::note(out, if at == 0 { "hosts" } else { "" }, &host.words())?;
        }
        for (at, secret) in self.sensitive.iter().enumerate() {
            let sentence = format!("{} in `{}`", secret.kinds.join(", "), secret.field);
            report::note(out, if at == 0 { "holds" } else { "" }, &sentence)?;
        }
        if let Some(deeds) = &self.deeds {
            let names: Vec<String> = deeds.iter().map(SeenDeed::words).collect();
            report::note(out, "deeds", &names.join(", "))?;
        }
        self.doubts.iter().try_for_each(|doubt| report::painted_note(out, &doubtful("doubt"), "doubt", doubt))
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

    /// The command, further to the right the deeper it hides, and what is to be known about it.
    fn write(&self, out: &mut dyn Write, word: &str) -> io::Result<()> {
        let mut about = Vec::new();
        if !self.reached_by.is_empty() {
            about.push(format!("in {}", self.reached_by.join(", ")));
        }
        about.extend(self.redirections.iter().map(|it| format!("{} {}", it.does, it.target.text)));
        if !self.unconditional {
            about.push("perhaps".to_owned());
        }
        let indent = "  ".repeat(self.reached_by.len().min(8));
        let text = format!("{indent}{}", visible(&self.text));
        let about = visible(&about.join("; "));
        report::line(out, word, &text)?;
        if self.opaque {
            write!(out, "  {}", doubtful("opaque"))?;
        }
        if !about.is_empty() {
            write!(out, "  {}", dim(about))?;
        }
        writeln!(out)
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

    fn words(&self) -> String {
        let guess = if self.guess { "perhaps " } else { "" };
        match &self.doubt {
            Some(doubt) => format!("{guess}{} {}: {doubt}", self.access, self.text),
            None if self.behind_links.is_empty() => {
                format!("{guess}{} {}", self.access, self.paths.join(" or "))
            }
            None => {
                let (text, behind) = (self.paths.join(" or "), self.behind_links.join(" or "));
                format!("{guess}{} {text}, behind links {behind}", self.access)
            }
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

    fn words(&self) -> String {
        let guess = if self.guess { "perhaps " } else { "" };
        match (&self.host, &self.doubt) {
            (Some(host), _) => format!("{guess}{host} ({})", self.reach.unwrap_or_default()),
            (None, doubt) => format!("{guess}{}: {}", self.text, doubt.as_deref().unwrap_or_default()),
        }
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

impl SeenDeed {
    fn words(&self) -> String {
        match (self.certain, self.confirmed) {
            (true, true) => format!("`{}`", self.name),
            (true, false) => format!("`{}`, which no success proves", self.name),
            (false, _) => format!("perhaps `{}`", self.name),
        }
    }
}
