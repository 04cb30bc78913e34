//! `lockgate see`: what the gate sees in a call.
//!
//! The commands its scripts would run, the paths and hosts it names, the sensitive data in it, what it amounts to
//! under given policy files, and every doubt. Nothing is judged here; `check` and `explain` do that.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use lockgate::{
    engine::{
        SeenCall,
        call::{EffectKind, visible},
    },
    sight::{SeenCommand, SeenDeed, SeenEffect, SeenHost, SeenPath, Sight},
};

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
    let seen = Sight::of(&call, policy.as_deref());
    if json {
        writeln!(console.out, "{}", encode(&seen))?;
    } else {
        write(&seen, console.out)?;
    }
    Ok(if seen.has_doubts() { Ending::No } else { Ending::Yes })
}

fn call_of(arguments: &SeeArguments) -> Result<SeenCall, CommandError> {
    let input = arguments.input.as_deref().unwrap_or("{}");
    let tool = serde_json::Value::from(arguments.tool.as_str());
    let text = format!(r#"{{"tool": {tool}, "input": {input}}}"#);
    let wrong = |error| {
        CommandError::Said(format!(
            "`--input` is not a JSON object: {error}; try --input '{{\"command\": \"ls\"}}'"
        ))
    };
    let bare = decode_call(&text, "see").map_err(wrong)?;
    let mut call = bare.call.into_call("see", lockgate::engine::Time(0));
    call.about.cwd.clone_from(&arguments.cwd);
    Ok(call.into())
}

fn write(seen: &Sight, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", bold(visible(&seen.tool)))?;
    for script in &seen.scripts {
        let mut word = "runs";
        for command in &script.commands {
            write_command(command, out, word)?;
            word = "";
        }
    }
    // A word that merely might be a file's name is data for rules, and noise for people.
    let told = seen.paths.iter().filter(|path| !path.guess || path.doubt.is_some());
    for (at, path) in told.enumerate() {
        report::note(out, if at == 0 { "paths" } else { "" }, &path_words(path))?;
    }
    for (at, host) in seen.hosts.iter().enumerate() {
        report::note(out, if at == 0 { "hosts" } else { "" }, &host_words(host))?;
    }
    for (at, line) in effect_lines(&seen.effects).iter().enumerate() {
        report::note(out, if at == 0 { "does" } else { "" }, line)?;
    }
    for (at, secret) in seen.sensitive.iter().enumerate() {
        let sentence = format!("{} in `{}`", secret.kinds.join(", "), secret.field);
        report::note(out, if at == 0 { "holds" } else { "" }, &sentence)?;
    }
    if let Some(deeds) = &seen.deeds {
        let names: Vec<String> = deeds.iter().map(deed_words).collect();
        report::note(out, "deeds", &names.join(", "))?;
    }
    seen.doubts.iter().try_for_each(|doubt| report::painted_note(out, &doubtful("doubt"), "doubt", doubt))
}

/// The command, further to the right the deeper it hides, and what is to be known about it.
fn write_command(command: &SeenCommand, out: &mut dyn Write, word: &str) -> io::Result<()> {
    let mut about = Vec::new();
    if !command.reached_by.is_empty() {
        about.push(format!("in {}", command.reached_by.join(", ")));
    }
    about.extend(command.redirections.iter().map(|it| format!("{} {}", it.does, it.target.text)));
    if !command.unconditional {
        about.push("perhaps".to_owned());
    }
    let indent = "  ".repeat(command.reached_by.len().min(8));
    let text = format!("{indent}{}", visible(&command.text));
    let about = visible(&about.join("; "));
    report::line(out, word, &text)?;
    if command.opaque {
        write!(out, "  {}", doubtful("opaque"))?;
    }
    if !about.is_empty() {
        write!(out, "  {}", dim(about))?;
    }
    writeln!(out)
}

fn path_words(path: &SeenPath) -> String {
    let guess = if path.guess { "perhaps " } else { "" };
    match &path.doubt {
        Some(doubt) => format!("{guess}{} {}: {doubt}", path.access, path.text),
        None if path.behind_links.is_empty() => {
            format!("{guess}{} {}", path.access, path.paths.join(" or "))
        }
        None => {
            let (text, behind) = (path.paths.join(" or "), path.behind_links.join(" or "));
            format!("{guess}{} {text}, behind links {behind}", path.access)
        }
    }
}

fn host_words(seen: &SeenHost) -> String {
    let guess = if seen.guess { "perhaps " } else { "" };
    match (&seen.host, &seen.doubt) {
        (Some(host), _) => format!("{guess}{host} ({})", seen.reach.unwrap_or_default()),
        (None, doubt) => format!("{guess}{}: {}", seen.text, doubt.as_deref().unwrap_or_default()),
    }
}

/// One line for each effect, with its places. Which programs run was said before.
fn effect_lines(effects: &[SeenEffect]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for effect in effects.iter().filter(|it| it.effect != EffectKind::Execution.word()) {
        let name = format!("{}{}", if effect.certain { "" } else { "perhaps " }, effect.effect);
        let at = lines.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            lines.push((name, Vec::new()));
            lines.len() - 1
        });
        if let Some((_, places)) = lines.get_mut(at) {
            places.extend(effect.place.as_deref().filter(|place| !places.contains(place)));
        }
    }
    let line = |(name, places): (String, Vec<&str>)| match places.is_empty() {
        true => name,
        false => format!("{name}: {}", places.join(", ")),
    };
    lines.into_iter().map(line).collect()
}

fn deed_words(deed: &SeenDeed) -> String {
    match (deed.certain, deed.confirmed) {
        (true, true) => format!("`{}`", deed.name),
        (true, false) => format!("`{}`, which no success proves", deed.name),
        (false, _) => format!("perhaps `{}`", deed.name),
    }
}
