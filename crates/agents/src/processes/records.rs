//! The processes of agents, as hooks and the MCP proxy saw them: what runs below one of them is not a human.
//!
//! A record is a file named after the process id and the start time; its content is the boot and the control group, its
//! time of change is when the agent was last seen. Records of agents that have ended are kept for a while, because what
//! they started may still run. There is no record of the shell that a human started an agent from.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use lockgate::engine::call::{self, Program};

use super::{
    names::{is_agent, is_reaper},
    system::{self, Process},
};
use crate::{environment::Environment, files::make_folder};

/// How many records of agents that have ended are kept.
const ENDED_MAX: usize = 256;

/// How long a record of an agent that has ended is kept.
const ENDED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long after it was last seen an agent may have gone on.
const GOES_ON: Duration = Duration::from_secs(10 * 60);

/// How old a record gets before it is refreshed.
const FRESH: Duration = Duration::from_secs(60);

/// How far up from a hook an agent is looked for.
const PARENTS_MAX: usize = 16;

/// An agent that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenAgent {
    pub(crate) pid: u32,
    pub(crate) started: String,
    pub(crate) group: String,
    /// Up to when it may have started others, in clock ticks since the boot; none while it runs.
    pub(crate) until: Option<u64>,
}

/// The folder of the records that belong to a database.
pub fn folder_beside(state: &Path) -> PathBuf {
    state.with_file_name("agents")
}

/// Where records are looked for: beside the database, and in the user's own folder of data, by the variables and by the
/// system's list of users. An agent may set the variables of what it starts.
pub(crate) fn folders(state: &Path, environment: &Environment) -> Vec<PathBuf> {
    let plain = Environment { home: home_of_user(environment), ..Environment::default() };
    let data = [environment.data_folder(), plain.data_folder()];
    let mut folders = Vec::from([folder_beside(state)]);
    folders.extend(data.into_iter().flatten().map(|data| data.join("lockgate").join("agents")));
    folders.dedup();
    folders
}

/// The home folder of the user, by the system's own list and not by a variable.
fn home_of_user(environment: &Environment) -> Option<PathBuf> {
    let user = environment.user?;
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let home = list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(user)).then(|| fields.get(5).copied()).flatten()
    });
    home.map(PathBuf::from)
}

/// Records the agent that started this process, in the user's folder of data and beside the database.
///
/// # Errors
/// When it cannot be recorded: then the agent could answer its own questions.
pub fn record(state: &Path, environment: &Environment) -> io::Result<()> {
    let data = environment.data_folder().map(|data| data.join("lockgate").join("agents"));
    let mut folders: Vec<PathBuf> = data.into_iter().chain([folder_beside(state)]).collect();
    folders.dedup();
    let agents = match above() {
        Ok(agents) => agents,
        // Where processes cannot be told, no command takes an answer either.
        Err(_) => return Ok(()),
    };
    for folder in folders {
        agents.iter().try_for_each(|agent| keep(&folder, agent))?;
    }
    Ok(())
}

/// The processes of the agent above this one, from the nearest on.
fn above() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    let mut next = system::process(std::process::id())?.parent;
    for _ in 0..PARENTS_MAX {
        if next == 0 {
            break;
        }
        let process = system::process(next)?;
        next = process.parent;
        let has_agent = found.iter().any(|it: &Process| !is_command_shell(it));
        match () {
            // A human typed the command of a hook, or started the agent here.
            () if is_interactive_shell(&process) || is_reaper(&process) => break,
            // The nearest that is not the shell of the hook's command line is the agent, and what it is part of.
            () if !has_agent || is_agent(&process) => found.push(process),
            () => break,
        }
    }
    Ok(found)
}

fn is_shell(process: &Process) -> bool {
    let program = process.program();
    // Some systems have one program for all commands, the shell among them.
    program == "busybox" || call::program(program).is_some_and(Program::is_shell)
}

fn is_command_shell(process: &Process) -> bool {
    let is_command = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    is_shell(process) && process.words.iter().skip(1).any(is_command)
}

fn is_interactive_shell(process: &Process) -> bool {
    let is_option = |word: &String| word.starts_with('-') || word == "sh";
    is_shell(process) && !is_command_shell(process) && process.words.iter().skip(1).all(is_option)
}

fn keep(folder: &Path, agent: &Process) -> io::Result<()> {
    let Process { pid, started, .. } = agent;
    let name: String = started.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect();
    let file = folder.join(format!("{pid}-{name}"));
    let text = format!("{started}\n{}\n{}", system::boot(), system::group(*pid));
    // A number is used again after a boot.
    if fs::read_to_string(&file).is_ok_and(|kept| kept == text) {
        let age = fs::metadata(&file)?.modified()?.elapsed().unwrap_or_default();
        if age > FRESH {
            fs::File::options().append(true).open(&file)?.set_modified(SystemTime::now())?;
        }
        return Ok(());
    }
    make_folder(folder)?;
    forget(folder);
    let draft = folder.join(format!(".{}-{name}", std::process::id()));
    fs::write(&draft, text)?;
    fs::rename(&draft, &file)
}

/// Drops what has ended long ago, or was seen before the last boot.
fn forget(folder: &Path) {
    let mut ended: Vec<(SystemTime, PathBuf)> = Vec::new();
    for (path, kept) in records(folder) {
        let is_ours =
            kept.as_ref().is_some_and(|(agent, boot)| agent.until.is_none() && *boot == system::boot());
        if !is_ours {
            let at = fs::metadata(&path).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            ended.push((at, path));
        }
    }
    ended.sort_unstable();
    let too_many = ended.len().saturating_sub(ENDED_MAX);
    for (at, (seen, path)) in ended.iter().enumerate() {
        if at < too_many || seen.elapsed().unwrap_or_default() > ENDED_KEPT {
            // Another process may have been faster.
            let _ = fs::remove_file(path);
        }
    }
}

/// The agents that were seen since the last boot.
///
/// # Errors
/// When a folder of records is there and cannot be read.
pub(crate) fn agents(folders: &[PathBuf]) -> io::Result<Vec<SeenAgent>> {
    let boot = system::boot();
    let mut found = Vec::new();
    for folder in folders {
        match fs::read_dir(folder) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        let kept = records(folder).into_iter().filter_map(|(_, kept)| kept);
        found.extend(kept.filter(|(_, at)| *at == boot).map(|(agent, _)| agent));
    }
    Ok(found)
}

fn records(folder: &Path) -> Vec<(PathBuf, Option<(SeenAgent, String)>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.map(|path| (path.clone(), read(&path))).collect()
}

fn read(path: &Path) -> Option<(SeenAgent, String)> {
    let (pid, _) = path.file_name()?.to_str()?.split_once('-')?;
    let pid: u32 = pid.parse().ok()?;
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.splitn(3, '\n');
    let (started, boot, group) =
        (lines.next()?.to_owned(), lines.next()?.to_owned(), lines.next()?.to_owned());
    let until = match system::is_alive(pid, &started) {
        true => None,
        false => {
            let unseen = fs::metadata(path).ok()?.modified().ok()?.elapsed().unwrap_or_default();
            let ticks = |time: Duration| time.as_secs().saturating_mul(system::TICKS);
            Some(system::now_ticks().saturating_sub(ticks(unseen)).saturating_add(ticks(GOES_ON)))
        }
    };
    Some((SeenAgent { pid, started, group, until }, boot))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(words: &[&str]) -> Process {
        Process { words: words.iter().map(|it| (*it).to_owned()).collect(), ..Process::default() }
    }

    #[test]
    fn shells_of_humans_and_of_command_lines_are_told_apart() {
        for (words, command, interactive) in [
            (&["-bash"][..], false, true),
            (&["/bin/zsh", "-l"], false, true),
            (&["sh", "-c", "lockgate hook codex || exit 2"], true, false),
            (&["/bin/bash", "-lc", "x"], true, false),
            (&["sh", "agent.sh"], false, false),
            (&["claude"], false, false),
        ] {
            let process = process(words);
            assert_eq!(
                (is_command_shell(&process), is_interactive_shell(&process)),
                (command, interactive),
                "{words:?}"
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn records_are_kept_once_and_those_of_other_boots_do_not_count() {
        let folder = std::env::temp_dir().join(format!("lockgate-agents-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let me = system::process(std::process::id()).unwrap();
        for _ in 0..3 {
            keep(&folder, &me).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        let seen = agents(std::slice::from_ref(&folder)).unwrap();
        assert!(seen.len() == 1 && seen[0].pid == me.pid && seen[0].until.is_none(), "{seen:?}");
        fs::write(folder.join("1-5"), "5\nanother boot\n0::/\n").unwrap();
        assert_eq!(agents(std::slice::from_ref(&folder)).unwrap(), seen);
        // Of those that have ended, the oldest go when there are too many.
        for pid in 0..ENDED_MAX + 20 {
            fs::write(folder.join(format!("{}-7", 4_000_000 + pid)), format!("7\n{}\n", system::boot()))
                .unwrap();
        }
        forget(&folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), ENDED_MAX + 1);
        assert!(agents(std::slice::from_ref(&folder)).unwrap().contains(&seen[0]));
        fs::remove_dir_all(&folder).unwrap();
    }
}
