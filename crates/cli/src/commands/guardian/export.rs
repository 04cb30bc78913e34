//! What a user's policy and state hold, as one stream: a line of JSON for each file, and its bytes.
//!
//! `install` runs this as the user. Root would follow the links that an agent has put into the user's folders, and could be
//! made to hand out what only root can read.

use std::{
    fs,
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
};

use lockgate_agents::{
    Agent, Environment,
    install::{Scope, is_installed},
};
use serde::{Deserialize, Serialize};

use crate::console::{CommandError, Console, Ending};

/// The largest file that is taken over, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How many files are taken over.
const FILES_MAX: usize = 10_000;
/// How deep folders are looked into.
const DEPTH_MAX: usize = 8;

/// What of a user's state is taken over. Records of trust are not: an agent could have written them.
const STATE: &[&str] = &[
    "lockgate.db",
    "lockgate.db-wal",
    "lockgate.key",
    "lockgate.policies",
    "human.key",
    "human.attempts",
    "sessions",
    "hooks",
];

/// Where a file belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Policy,
    State,
}

/// A file of a user.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExportedFile {
    pub(super) kind: Kind,
    /// Its path below the folder of settings or of data.
    pub(super) path: PathBuf,
    size: u64,
    #[serde(skip)]
    pub(super) bytes: Vec<u8>,
}

/// What a user has.
#[derive(Debug, Default)]
pub(super) struct Exported {
    pub(super) files: Vec<ExportedFile>,
    /// The agents that have hooks of this user's.
    pub(super) agents: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    agents: Vec<String>,
}

/// Writes everything to stdout.
pub(super) fn run(console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let environment = Environment { ward: None, ..Environment::of_process() };
    of_user(&environment)?.write(&mut *console.out)?;
    Ok(Ending::Yes)
}

/// What this user has.
pub(super) fn of_user(environment: &Environment) -> io::Result<Exported> {
    let mut files = Vec::new();
    if let Some(config) = environment.config_folder().map(|folder| folder.join("lockgate")) {
        gather(Kind::Policy, &config, Path::new(""), DEPTH_MAX, &mut files)?;
    }
    if let Some(data) = environment.data_folder().map(|folder| folder.join("lockgate")) {
        for name in STATE {
            gather(Kind::State, &data, Path::new(name), DEPTH_MAX, &mut files)?;
        }
    }
    let has_hooks = |agent: &&Agent| is_installed(**agent, Scope::User, Path::new("/"), environment);
    let agents = Agent::ALL.iter().filter(has_hooks).map(|agent| agent.name().to_owned()).collect();
    Ok(Exported { files, agents })
}

/// Reads a file, or all files of a folder; links are left out.
fn gather(
    kind: Kind,
    folder: &Path,
    path: &Path,
    depth: usize,
    files: &mut Vec<ExportedFile>,
) -> io::Result<()> {
    let whole = folder.join(path);
    let data = match fs::symlink_metadata(&whole) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if data.is_dir() && depth > 0 {
        let mut names: Vec<_> =
            fs::read_dir(&whole)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        names.sort();
        return names.iter().try_for_each(|name| gather(kind, folder, &path.join(name), depth - 1, files));
    }
    if !data.is_file() {
        return Ok(());
    }
    if files.len() >= FILES_MAX || data.len() > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{} is too much to take over", whole.display())));
    }
    let bytes = fs::read(&whole)?;
    files.push(ExportedFile { kind, path: path.to_path_buf(), size: bytes.len() as u64, bytes });
    Ok(())
}

impl Exported {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let line = |value: Result<String, serde_json::Error>| value.map_err(io::Error::other);
        writeln!(to, "{}", line(serde_json::to_string(&Head { agents: self.agents.clone() }))?)?;
        for file in &self.files {
            writeln!(to, "{}", line(serde_json::to_string(file))?)?;
            to.write_all(&file.bytes)?;
        }
        to.flush()
    }

    /// Reads what [`run`] wrote. The user could have written anything, so paths that lead out of their folder are errors.
    pub(super) fn read(mut from: impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        from.by_ref().take(64 * 1024).read_line(&mut line)?;
        let Head { agents } = serde_json::from_str(&line).map_err(io::Error::other)?;
        let agents = agents.into_iter().filter(|name| Agent::named(name).is_some()).collect();
        let mut files = Vec::new();
        loop {
            line.clear();
            if from.by_ref().take(64 * 1024).read_line(&mut line)? == 0 {
                return Ok(Self { files, agents });
            }
            let mut file: ExportedFile = serde_json::from_str(&line).map_err(io::Error::other)?;
            let is_plain = file.path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if !is_plain || file.size > FILE_BYTES_MAX || files.len() >= FILES_MAX {
                return Err(io::Error::other("what the user has is not as it should be"));
            }
            from.by_ref().take(file.size).read_to_end(&mut file.bytes)?;
            if file.bytes.len() as u64 != file.size {
                return Err(io::Error::other("what the user has ends too early"));
            }
            files.push(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_leads_out() {
        let file = |path: &str, text: &str| ExportedFile {
            kind: Kind::Policy,
            path: PathBuf::from(path),
            size: text.len() as u64,
            bytes: text.as_bytes().to_vec(),
        };
        let written = |files: Vec<ExportedFile>| {
            let mut bytes = Vec::new();
            Exported { files, agents: vec!["codex".into(), "nobody".into()] }.write(&mut bytes).unwrap();
            bytes
        };
        let bytes = written(vec![file("a.rules", "block x\n"), file("sub/b", "")]);
        let read = Exported::read(bytes.as_slice()).unwrap();
        assert_eq!(read.agents, ["codex"]);
        assert_eq!(read.files[0].bytes, b"block x\n");
        assert_eq!(read.files[1].path, Path::new("sub/b"));
        for wrong in ["../x", "/etc/passwd", "a/../../b"] {
            assert!(Exported::read(written(vec![file(wrong, "x")]).as_slice()).is_err(), "{wrong}");
        }
        let cut = &bytes[..bytes.len() - 40];
        assert!(Exported::read(cut).is_err());
    }
}
