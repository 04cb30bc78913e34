//! `lockgate trust`: lets a project's policy and settings count whole, as they are now.
//!
//! Everything that would count is shown, a human agrees, and the hash of every file is kept outside of the project: exactly
//! what was shown is trusted, and an edit ends it. Taking trust back needs no confirmation.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::call::visible;
use lockgate_agents::{
    Environment, now,
    settings::{self, Approvals, ProjectPolicy, Settings},
    trust::{self, Record},
};
use serde::Serialize;
use serde_json::json;

use super::accept_policy::accept_trusted;
use crate::{
    console::{CommandError, Console, Ending},
    human::{self, Opening, Proof},
    protocol::encode,
    report::note,
};

pub(crate) const TRUST_EXAMPLES: &str = "\
Examples:
  lockgate trust                      this folder's project; asks first
  lockgate trust --list               list the trusted projects
  lockgate trust --revoke             stop trusting this project
  lockgate trust --json               show what it would trust, and do not ask

Until you trust a project, its policy counts only as far as it restricts. Trust
covers the contents of every policy and settings file, so an edit ends it. Only
a human at a terminal can trust a project.
Exit 0: trusted, 1: not trusted, or nothing was revoked, 2: could not.";

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// The folder of the project [default: the nearest one, from this folder upwards]
    #[arg(value_name = "PROJECT", conflicts_with = "list")]
    pub(crate) project: Option<PathBuf>,
    /// List the trusted projects and whether they have changed since
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Stop trusting a project
    #[arg(long)]
    pub(crate) revoke: bool,
}

pub(crate) fn run(
    arguments: &TrustArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let environment = Environment::of_process();
    if arguments.list {
        return list(&environment, json, console);
    }
    let folder = match &arguments.project {
        Some(folder) => env::current_dir()?.join(folder),
        None => env::current_dir()?,
    };
    if arguments.revoke {
        return revoke(&folder, &environment, json, console);
    }
    let settings = settings::find(&folder, &environment).map_err(CommandError::said)?;
    let Some(project) = &settings.project else {
        return Err(CommandError::Said(format!(
            "there is no `.lockgate/` and no `lockgate.toml` in `{}` or above it, so nothing could be trusted",
            folder.display()
        )));
    };
    let wanted = Wanted::read(&settings, project)?;
    if json {
        writeln!(console.out, "{}", encode(&Answer::new(&wanted, project.is_trusted())))?;
        return Ok(if project.is_trusted() { Ending::Yes } else { Ending::No });
    }
    let root = visible(&wanted.record.project);
    if project.is_trusted() {
        writeln!(console.out, "{root} is trusted as it is")?;
        return Ok(Ending::Yes);
    }
    let deed = format!("trust {root}");
    let (shown, state) = (wanted.shown(), settings.state.as_path());
    let opening = Opening { command: "trust", deed: &deed, shown: &shown, state };
    let Some(proof) = human::prove(&opening, &environment, false)? else {
        writeln!(console.err, "nothing was trusted")?;
        return Ok(Ending::No);
    };
    let record = match proof {
        Proof::Key(key) => wanted.record.clone().signed(&key),
        Proof::Unprotected => wanted.record.clone(),
    };
    trust::keep(&environment, &record).map_err(CommandError::said)?;
    accept_trusted(&project.root, &settings.state)?;
    writeln!(console.out, "{root} is trusted as it is now; an edit ends that")?;
    Ok(Ending::Yes)
}

/// What would be trusted.
struct Wanted {
    record: Record,
    /// What would count then and does not now.
    waiting: Vec<String>,
    replaces_built_in: bool,
}

impl Wanted {
    /// Reads the project once: what is shown is what is trusted.
    fn read(settings: &Settings, project: &ProjectPolicy) -> Result<Self, CommandError> {
        let sources = project.sources().map_err(CommandError::from)?;
        let (root, settings_file) = (&project.root, project.settings.as_deref());
        let record = match (&project.texts, settings_file.zip(project.settings_text.as_deref())) {
            (Some(_), read_elsewhere) => Record::of_text(root, read_elsewhere, &sources, now().0),
            (None, _) => Record::new(root, settings_file, &sources, now().0),
        };
        let record = record.map_err(CommandError::said)?;
        // A policy with mistakes is mended first: what it will say is not known.
        let (policy, mistakes) = lockgate::engine::languages::load(
            &sources,
            lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
        );
        let Some(policy) = policy else {
            return Err(CommandError::Drawn(crate::pages::drawn(&mistakes)));
        };
        let waiting = settings::waiting_items(settings, &policy);
        Ok(Self { record, waiting, replaces_built_in: settings.user.is_none() })
    }

    /// What a human has to see before.
    fn shown(&self) -> String {
        let files = self.record.files.iter().map(|(path, hash)| {
            format!("    file    {}  {}\n", hash.get(..12).unwrap_or_default(), visible(path))
        });
        let waiting = self.waiting.iter().map(|waiting| format!("    counts  {}\n", visible(waiting)));
        let built_in = "    counts  this policy in the place of the built-in one\n".to_owned();
        let built_in = self.replaces_built_in.then_some(built_in);
        let project = visible(&self.record.project);
        let all: String = files.chain(waiting).chain(built_in).collect();
        format!("{project}\n{all}")
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    project: &'a str,
    hash: String,
    trusted: bool,
    files: Vec<FileAnswer<'a>>,
    waiting: &'a [String],
}

#[derive(Debug, Serialize)]
struct FileAnswer<'a> {
    path: &'a str,
    sha256: &'a str,
}

impl<'a> Answer<'a> {
    fn new(wanted: &'a Wanted, trusted: bool) -> Self {
        let Record { project, files, .. } = &wanted.record;
        let file = |(path, sha256): (&'a String, &'a String)| FileAnswer { path, sha256 };
        let waiting: &[String] = if trusted { &[] } else { &wanted.waiting };
        Self {
            project,
            hash: wanted.record.hash(),
            trusted,
            files: files.iter().map(file).collect(),
            waiting,
        }
    }
}

fn list(environment: &Environment, json: bool, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let records = trust::all(environment).map_err(CommandError::said)?;
    if json {
        let entry = |record: &Record| json!({ "project": record.project, "hash": record.hash(), "state": state(record, environment), "at": record.at });
        let projects: Vec<_> = records.iter().map(entry).collect();
        writeln!(console.out, "{}", encode(&json!({ "projects": projects })))?;
        return Ok(Ending::Yes);
    }
    if records.is_empty() {
        writeln!(console.out, "no project is trusted")?;
    }
    for record in &records {
        note(console.out, state(record, environment), &visible(&record.project))?;
    }
    Ok(Ending::Yes)
}

/// Whether a project is as it was trusted. The guardian does not look into it.
fn state(record: &Record, environment: &Environment) -> &'static str {
    match (environment.is_guardian(), record.state()) {
        (true, _) => "trusted",
        (false, "trusted")
            if human::approvals_here(environment) == Approvals::Protected && !record.counts(environment) =>
        {
            "not signed"
        }
        (false, state) => state,
    }
}

fn revoke(
    folder: &Path,
    environment: &Environment,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    // The nearest trusted folder from here upwards; the project itself may be gone or broken by now.
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut revoked: Option<PathBuf> = None;
    for folder in folder.ancestors() {
        if trust::revoke(environment, folder).map_err(CommandError::said)? {
            revoked = Some(folder.to_path_buf());
            break;
        }
    }
    let shown = revoked.as_deref().map(|project| project.display().to_string());
    if json {
        writeln!(console.out, "{}", encode(&json!({ "revoked": shown })))?;
    } else {
        match &shown {
            Some(project) => writeln!(console.out, "{} is not trusted any more", visible(project))?,
            None => writeln!(console.err, "`{}` was not trusted", visible(&folder.display().to_string()))?,
        }
    }
    Ok(if revoked.is_some() { Ending::Yes } else { Ending::No })
}
