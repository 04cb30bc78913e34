//! `lockgate migrate`: a policy file with its old words rewritten.
//!
//! Comments and layout stay. Where the old file can be read as it is, the two are compared as `lockgate diff` compares
//! policies, so that a rewrite which changed a verdict is found here and not by an agent.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::{
    Diagnostic, Policy, PolicyError, Severity, Source,
    call::visible,
    gate::Rulebook,
    languages::{Migration, migrate, to_rules},
    prover::diff,
};
use serde::Serialize;

use crate::{
    console::{CommandError, Console, Ending},
    pages::drawn,
    protocol::encode,
};

pub(crate) const MIGRATE_EXAMPLES: &str = "\
Examples:
  lockgate migrate bundle.yaml > ruleset.yaml
  lockgate migrate bundle.yaml --write          in place
  lockgate migrate *.yaml --json | jq '.changes[]'
  lockgate migrate --to rules .claude/settings.json > agent.rules

--to rules takes permissions of Claude Code, Gemini CLI and Codex, and when/then
files. What one-line rules cannot say is a comment in the result.

Comments and layout stay. Exit 0: done or nothing was old, 1: the file has other
mistakes, would mean something else or could not be said in full, 2: a file
could not be read.";

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Policy files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Rewrite the files in place instead of printing them
    #[arg(long, conflicts_with = "to")]
    pub(crate) write: bool,
    /// Write the same in another language
    #[arg(long, value_name = "LANGUAGE", value_parser = ["rules"])]
    pub(crate) to: Option<String>,
}

pub(crate) fn run(
    arguments: &MigrateArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if let ([_, second, ..], false, false) = (arguments.files.as_slice(), arguments.write, json) {
        let text = format!(
            "one file is printed at a time; leave `{}` out, or rewrite all of them with `--write`",
            second.display()
        );
        return Err(CommandError::Said(text));
    }
    let mut is_well = true;
    for file in &arguments.files {
        let name = file.display().to_string();
        let text = fs::read_to_string(file)
            .map_err(|error| CommandError::Said(format!("cannot read `{name}`: {error}")))?;
        if arguments.to.is_some() {
            is_well &= into_rules(&Source::new(name, text), json, console)?;
            continue;
        }
        let rewrite = Rewrite::new(Source::new(name, text))?;
        is_well &= rewrite.is_well();
        if arguments.write && rewrite.is_well() {
            rewrite.store(file)?;
        }
        if json {
            writeln!(console.out, "{}", encode(&rewrite.answer(!arguments.write)))?;
            continue;
        }
        rewrite.say(console.err)?;
        if !arguments.write {
            write!(console.out, "{}", rewrite.migration.text)?;
        }
    }
    Ok(if is_well { Ending::Yes } else { Ending::No })
}

/// Prints a file as one-line rules. Whether all of it could be said, and no session tells the two apart.
fn into_rules(old: &Source, json: bool, console: &mut Console<'_>) -> Result<bool, CommandError> {
    let name = old.name();
    let Some(rules) = to_rules(old) else {
        let known = "permissions of Claude Code, Gemini CLI or Codex, and when/then files";
        return Err(CommandError::Said(format!(
            "`{name}` has no rules that are known here; `--to rules` takes {known}"
        )));
    };
    let new = Source::new("migrated.rules", rules.text.as_str());
    let (policy, found) = lockgate::engine::languages::load(
        std::slice::from_ref(&new),
        lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
    );
    let mistakes: Vec<Diagnostic> = found.into_iter().filter(|it| it.severity == Severity::Error).collect();
    let sameness = match policy {
        _ if !rules.unsaid.is_empty() => Sameness::Unproved("not all of it could be said".to_owned()),
        Some(policy) => compare(old, policy),
        None => Sameness::Unproved("the rules have mistakes".to_owned()),
    };
    let is_well = rules.unsaid.is_empty() && mistakes.is_empty() && sameness != Sameness::Differs;
    if json {
        let (same, why) = sameness.answer();
        let unsaid = rules.unsaid.iter().map(|it| UnsaidAnswer { what: &it.what, why: &it.why }).collect();
        writeln!(
            console.out,
            "{}",
            encode(&RulesAnswer { file: name, text: &rules.text, unsaid, same, why })
        )?;
        return Ok(is_well);
    }
    write!(console.out, "{}", rules.text)?;
    for unsaid in &rules.unsaid {
        writeln!(console.err, "{}: not said: {}: {}", visible(name), visible(&unsaid.what), unsaid.why)?;
    }
    match &sameness {
        Sameness::Unchanged | Sameness::Proved => {
            writeln!(
                console.err,
                "{}: proved the same: no session tells the two files apart",
                visible(name)
            )?;
        }
        Sameness::Differs => writeln!(
            console.err,
            "{}: the rules mean something else; compare both with `lockgate diff`",
            visible(name)
        )?,
        Sameness::Unproved(why) => writeln!(console.err, "{}: not proved the same: {why}", visible(name))?,
    }
    if !mistakes.is_empty() {
        writeln!(console.err, "{}", drawn(&mistakes))?;
    }
    Ok(is_well)
}

/// What `--to` prints with `--json`.
#[derive(Debug, Serialize)]
struct RulesAnswer<'a> {
    file: &'a str,
    text: &'a str,
    unsaid: Vec<UnsaidAnswer<'a>>,
    same: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct UnsaidAnswer<'a> {
    what: &'a str,
    why: &'a str,
}

/// Rewrites the files of a policy in place, before they are verified; says what it did.
pub(super) fn fix(sources: &[Source], console: &mut Console<'_>) -> Result<Vec<Source>, CommandError> {
    let mut fixed = Vec::with_capacity(sources.len());
    for source in sources {
        // A file that cannot be read at all is the verification's to tell.
        let Ok(rewrite) = Rewrite::new(source.clone()) else {
            fixed.push(source.clone());
            continue;
        };
        if rewrite.migration.changes.is_empty() || rewrite.sameness == Sameness::Differs {
            fixed.push(source.clone());
            continue;
        }
        rewrite.store(Path::new(source.name()))?;
        rewrite.say(console.err)?;
        fixed.push(rewrite.new);
    }
    Ok(fixed)
}

/// A file and its rewritten form.
struct Rewrite {
    old: Source,
    new: Source,
    migration: Migration,
    /// What is still wrong with it.
    mistakes: Vec<Diagnostic>,
    sameness: Sameness,
}

/// Whether the two forms mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sameness {
    /// Nothing was rewritten.
    Unchanged,
    /// No session tells them apart.
    Proved,
    Differs,
    /// It could not be proved, because of this.
    Unproved(String),
}

impl Sameness {
    /// As programs read it.
    fn answer(&self) -> (Option<bool>, Option<&str>) {
        match self {
            Self::Unchanged | Self::Proved => (Some(true), None),
            Self::Differs => (Some(false), None),
            Self::Unproved(why) => (None, Some(why.as_str())),
        }
    }
}

impl Rewrite {
    fn new(old: Source) -> Result<Self, CommandError> {
        let migration =
            migrate(&old).map_err(|mistakes| CommandError::from(PolicyError::Mistaken(mistakes)))?;
        let new = Source::new(old.name(), migration.text.clone());
        let (policy, found) = lockgate::engine::languages::load(
            std::slice::from_ref(&new),
            lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
        );
        let mistakes = found.into_iter().filter(|it| it.severity == Severity::Error).collect();
        let sameness = match (migration.changes.is_empty(), policy) {
            (true, _) => Sameness::Unchanged,
            (false, None) => Sameness::Unproved("the file has mistakes beside its old words".to_owned()),
            (false, Some(policy)) => compare(&old, policy),
        };
        Ok(Self { old, new, migration, mistakes, sameness })
    }

    fn is_well(&self) -> bool {
        self.mistakes.is_empty() && self.sameness != Sameness::Differs
    }

    /// Replaces the file at once.
    fn store(&self, file: &Path) -> Result<(), CommandError> {
        if self.migration.changes.is_empty() {
            return Ok(());
        }
        let failed =
            |error: io::Error| CommandError::Said(format!("cannot write `{}`: {error}", file.display()));
        let beside = file.with_added_extension("new");
        let permissions = fs::metadata(file).map_err(failed)?.permissions();
        fs::write(&beside, self.new.text()).map_err(failed)?;
        fs::set_permissions(&beside, permissions).map_err(failed)?;
        fs::rename(&beside, file).map_err(failed)
    }

    fn say(&self, err: &mut dyn io::Write) -> io::Result<()> {
        for change in &self.migration.changes {
            let place = format!("{}:{}", visible(&change.place.file), change.place.line);
            writeln!(err, "{place}  {} → {}", visible(&change.old), visible(&change.new))?;
        }
        let name = visible(self.old.name());
        match &self.sameness {
            Sameness::Unchanged => writeln!(err, "{name}: no old words")?,
            Sameness::Proved => {
                writeln!(err, "{name}: proved the same: no session tells the two files apart")?
            }
            Sameness::Differs => {
                writeln!(err, "{name}: the rewritten file means something else; it is not written")?;
            }
            Sameness::Unproved(why) => writeln!(err, "{name}: not proved the same: {why}")?,
        }
        if !self.mistakes.is_empty() {
            writeln!(err, "{}", drawn(&self.mistakes))?;
        }
        Ok(())
    }

    fn answer(&self, has_text: bool) -> Answer<'_> {
        let (same, why) = self.sameness.answer();
        let change = |it: &lockgate::engine::languages::Rewrite| ChangeAnswer {
            line: it.place.line,
            column: it.place.column,
            old: it.old.clone(),
            new: it.new.clone(),
        };
        Answer {
            file: self.old.name(),
            changes: self.migration.changes.iter().map(change).collect(),
            same,
            why,
            mistakes: self.mistakes.iter().map(ToString::to_string).collect(),
            text: has_text.then_some(self.new.text()),
        }
    }
}

/// Compares a file with its rewritten form.
fn compare(old: &Source, new: Policy) -> Sameness {
    let (Some(old), _) = lockgate::engine::languages::load(
        std::slice::from_ref(old),
        lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
    ) else {
        return Sameness::Unproved(
            "the old file could not be read as a policy, so there is nothing to compare with".to_owned(),
        );
    };
    match diff(&Rulebook::new(old), &Rulebook::new(new)) {
        Err(error) => Sameness::Unproved(error.to_string()),
        Ok(differences) if !differences.shown.is_empty() => Sameness::Differs,
        Ok(differences) if !differences.undecided.is_empty() => {
            Sameness::Unproved("some rules look at more than a proof can follow".to_owned())
        }
        Ok(_) => Sameness::Proved,
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    file: &'a str,
    changes: Vec<ChangeAnswer>,
    same: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ChangeAnswer {
    line: usize,
    column: usize,
    old: String,
    new: String,
}
