//! What `lockgate init` installed, and whether it is still there as it was.
//!
//! A [`HookRecord`] lies in the user's data folder, outside of the project: the files of an agent, and the hash of what our
//! entry is in them. Every hook looks at the record of its own agent ([`changed_entry`]): agents read their settings when they
//! start, so a hook may still run after its entry was taken out, and then it says so.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    agents::Agent,
    edit::{HookCommand, Places, SETTINGS_BYTES_MAX, Scope},
    environment::Environment,
    files::{is_there, make_folder, new_private},
};

/// The hooks of one agent in one place, as they were installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HookRecord {
    agent: String,
    /// The program that the hooks run.
    program: PathBuf,
    /// The hash of our entry, by the file it is in.
    files: BTreeMap<PathBuf, String>,
}

/// Records what was installed for an agent.
///
/// # Errors
/// When it cannot be written.
pub fn record_installed(
    agent: Agent,
    program: &Path,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> io::Result<()> {
    let Some(path) = path_of(agent, scope, project, environment) else { return Ok(()) };
    let command =
        command_of(agent, program).ok_or_else(|| io::Error::other("the program has no plain name"))?;
    let files = files_of(agent, scope, project, environment);
    let files = files.into_iter().filter_map(|file| Some((file.clone(), entry(agent, &file, &command)?)));
    let record =
        HookRecord { agent: agent.name().to_owned(), program: program.to_path_buf(), files: files.collect() };
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let text = serde_json::to_string(&record).map_err(io::Error::other)?;
    let mut new = new_private().open(&draft)?;
    let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
    let kept = written.and_then(|()| fs::rename(&draft, &path));
    if kept.is_err() {
        let _ = fs::remove_file(&draft);
    }
    kept
}

/// Forgets what was installed for an agent.
///
/// # Errors
/// When the record is there and cannot be deleted.
pub fn forget_installed(
    agent: Agent,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> io::Result<()> {
    match path_of(agent, scope, project, environment).map(fs::remove_file) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is not as it was installed, for an agent that works in this folder; none where all is, or where nothing was recorded.
pub fn changed_entry(agent: Agent, folder: &Path, environment: &Environment) -> Option<String> {
    records(agent, folder, environment).iter().find_map(|record| record.changed(agent, &read))
}

/// The files in which the hooks of an agent were installed, as they are recorded.
pub(crate) fn recorded_files(agent: Agent, folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    records(agent, folder, environment).into_iter().flat_map(|record| record.files.into_keys()).collect()
}

/// The same as [`changed_entry`], for texts that another process has read.
pub(crate) fn changed_text(
    agent: Agent,
    folder: &Path,
    environment: &Environment,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Option<String> {
    records(agent, folder, environment).iter().find_map(|record| record.changed(agent, read))
}

fn records(agent: Agent, folder: &Path, environment: &Environment) -> Vec<HookRecord> {
    let of_user = record_at(agent, Scope::User, folder, environment);
    let of_projects =
        folder.ancestors().find_map(|folder| record_at(agent, Scope::Project, folder, environment));
    [of_user, of_projects].into_iter().flatten().collect()
}

impl HookRecord {
    fn changed(&self, agent: Agent, read: &dyn Fn(&Path) -> io::Result<String>) -> Option<String> {
        let command = command_of(agent, &self.program)?;
        self.files.iter().find_map(|(file, hash)| {
            let what = match read(file) {
                Ok(text) => {
                    let installed = agent.profile().installed(file, Some(&text), &command);
                    if installed.is_ok_and(|installed| installed == text) {
                        return None;
                    }
                    // Another release writes another entry; that some entry is there is all that can be told then.
                    let is_of_this_release = entry(agent, file, &command).as_ref() == Some(hash);
                    let removed = agent.profile().removed(file, &text);
                    let has_entry = removed.is_ok_and(|removed| removed.as_ref() != Some(&text));
                    match (has_entry, is_of_this_release) {
                        (true, false) => return None,
                        (true, true) => "was changed".to_owned(),
                        (false, _) => "is gone".to_owned(),
                    }
                }
                Err(error) => format!("cannot be read ({error})"),
            };
            Some(format!(
                "the hook of {agent} in `{}` {what} since it was installed, so {agent} may run tools without Lockgate when it \
                 starts again; run `lockgate init {agent}`, or `lockgate doctor`",
                file.display()
            ))
        })
    }
}

fn record_at(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> Option<HookRecord> {
    let path = path_of(agent, scope, project, environment)?;
    // What another user could have written says nothing.
    if !is_there(&path, environment).is_ok_and(|is_there| is_there) {
        return None;
    }
    serde_json::from_str(&read(&path).ok()?).ok()
}

fn path_of(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> Option<PathBuf> {
    let place = match scope {
        Scope::Project => project.as_os_str().as_encoded_bytes(),
        Scope::User => b"user",
    };
    let name = Sha256::new().chain_update(agent.name()).chain_update([0]).chain_update(place).finalize();
    let folder = environment.data_folder()?.join("lockgate").join("hooks");
    Some(folder.join(format!("{}.json", hex(&name))))
}

fn files_of(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> Vec<PathBuf> {
    let nowhere = PathBuf::new();
    let home = environment.home.as_ref().unwrap_or(&nowhere);
    agent.profile().files(&Places { project, home, environment, scope })
}

fn command_of(agent: Agent, program: &Path) -> Option<HookCommand> {
    HookCommand::new(program, agent.name()).ok()
}

/// The hash of our entry in a file that has nothing else.
fn entry(agent: Agent, file: &Path, command: &HookCommand) -> Option<String> {
    let text = agent.profile().installed(file, None, command).ok()?;
    Some(hex(&Sha256::digest(text)))
}

/// Reads a file of an agent's settings.
pub(crate) fn read(file: &Path) -> io::Result<String> {
    let data = fs::metadata(file)?;
    if !data.is_file() || data.len() > SETTINGS_BYTES_MAX as u64 {
        return Err(io::Error::other("not a file of settings"));
    }
    let mut text = String::new();
    fs::File::open(file)?.take(SETTINGS_BYTES_MAX as u64).read_to_string(&mut text)?;
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
