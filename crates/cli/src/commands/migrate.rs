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
    languages::{Migration, migrate, render},
    prover::diff,
};
use serde::Serialize;

use crate::{
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) const MIGRATE_EXAMPLES: &str = "\
Examples:
  lockgate migrate bundle.yaml > ruleset.yaml
  lockgate migrate bundle.yaml --write          in place
  lockgate migrate *.yaml --json | jq '.changes[]'

Comments and layout stay. Exit 0: done or nothing was old, 1: the file has other
mistakes or would mean something else, 2: a file could not be read.";

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Policy files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Rewrite the files in place instead of printing them
    #[arg(long)]
    pub(crate) write: bool,
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
            writeln!(err, "{}", render(&self.mistakes, true))?;
        }
        Ok(())
    }

    fn answer(&self, has_text: bool) -> Answer<'_> {
        let (same, why) = match &self.sameness {
            Sameness::Unchanged | Sameness::Proved => (Some(true), None),
            Sameness::Differs => (Some(false), None),
            Sameness::Unproved(why) => (None, Some(why.as_str())),
        };
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
            "the old words could not be read, so there is nothing to compare with".to_owned(),
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
