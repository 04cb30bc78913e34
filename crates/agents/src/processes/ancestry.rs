//! Which processes stand above this one, and whether a human may be at their end.
//!
//! A process that an agent started can be orphaned, so that its parents say nothing of the agent any more. What it
//! cannot change is its control group, and that it is younger than the agent. So the program that opened the terminal
//! has to be older than every agent of its group, or come from a login that belongs to the system.

use std::{fmt, path::Path};

use lockgate::engine::call::visible;

use super::{
    names::{is_agent, is_reaper, is_variable_of_agent},
    records::{self, SeenAgent},
    system::{self, Process},
};
use crate::environment::Environment;

/// Programs that start others without a human at a terminal.
const TIMERS: &[&str] = &["cron", "crond", "anacron", "atd", "fcron", "systemd-run"];

/// Programs of the system that open a terminal for a user who has logged in.
const LOGINS: &[&str] = &[
    "sshd",
    "sshd-session",
    "login",
    "dropbear",
    "SessionLeader",
    "conmon",
    "containerd-shim",
    "agetty",
    "getty",
];

/// Why no human was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no controlling terminal.
    NoTerminal,
    /// The process runs below an agent.
    BelowAgent {
        /// The agent's program.
        program: String,
        /// Its process id.
        pid: u32,
        /// How that is known.
        because: &'static str,
    },
    /// The process does not come from a login: why.
    NoLogin(&'static str),
    /// The system does not tell who started this process: why.
    Unknown(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elsewhere = "open a terminal of your own, outside of the agent, and run it there";
        match self {
            Self::NoTerminal => write!(formatter, "this process has no controlling terminal; {elsewhere}"),
            Self::BelowAgent { program, pid, because } => {
                let program = visible(program);
                write!(formatter, "it was started below `{program}` (process {pid}), {because}; {elsewhere}")
            }
            Self::NoLogin(why) => write!(formatter, "{why}; {elsewhere}"),
            Self::Unknown(why) => {
                write!(formatter, "the process that started this one is not known ({why}); {elsewhere}")
            }
        }
    }
}

/// Whether a human may have started this process.
///
/// # Errors
/// When an agent may have started it.
pub fn check(state: &Path, environment: &Environment) -> Result<(), Refusal> {
    let unknown = |error: std::io::Error| Refusal::Unknown(error.to_string());
    let mut chain = system::ancestors().map_err(unknown)?;
    if let Some(this) = chain.first_mut() {
        let own = environment.variables.keys().filter_map(|name| name.to_str());
        this.variables.extend(own.map(ToOwned::to_owned));
    }
    let seen = records::agents(&records::folders(state, environment)).map_err(unknown)?;
    judge(&chain, &seen, &|process| system::group(process.pid))
}

/// The questions, for a process and its parents, from itself on.
fn judge(chain: &[Process], seen: &[SeenAgent], group: &dyn Fn(&Process) -> String) -> Result<(), Refusal> {
    let below = |process: &Process, because: &'static str| {
        Err(Refusal::BelowAgent { program: process.program().to_owned(), pid: process.pid, because })
    };
    let is_seen = |process: &Process| {
        seen.iter().any(|agent| agent.pid == process.pid && agent.started == process.started)
    };
    for process in chain {
        if is_seen(process) {
            return below(process, "which has run a hook or the MCP proxy");
        }
        if is_agent(process) {
            return below(process, "a coding agent by its name");
        }
        if process.variables.iter().any(|name| is_variable_of_agent(name)) {
            return below(process, "which has the environment of a coding agent");
        }
        if TIMERS.contains(&process.program()) {
            return Err(Refusal::NoLogin("it was started by a timer or a service"));
        }
    }
    let session = chain.first().map_or(0, |this| this.session);
    let leader = chain.iter().position(|process| process.pid == session);
    let Some(leader) = leader else {
        return Err(Refusal::NoLogin("it was cut off from the program that its terminal belongs to"));
    };
    // Outside of this container, or the beginning of everything.
    let Some(opener) = chain.get(leader + 1) else { return Ok(()) };
    if is_reaper(opener) {
        let has_console = chain.get(leader).is_some_and(|leader| leader.has_console);
        return match has_console {
            true => Ok(()),
            false => Err(Refusal::NoLogin("the program that opened its terminal is gone")),
        };
    }
    let is_top = |process: &&Process| process.pid != 1 && !is_reaper(process);
    let Some(top) = chain.get(leader..).unwrap_or_default().iter().rfind(is_top) else { return Ok(()) };
    let user = chain.first().and_then(|this| this.user);
    let is_of_system = top.user == Some(0) && user != Some(0);
    let is_login = LOGINS.contains(&top.name.as_str()) || top.name.starts_with("Relay(");
    // Entered from outside of a container.
    if top.parent == 0 || is_of_system || is_login {
        return Ok(());
    }
    let own_group = group(top);
    let may_have_started = |agent: &&SeenAgent| {
        let from = agent.started.parse::<u64>().ok();
        let is_between =
            |top: u64| from.is_some_and(|from| from <= top) && agent.until.is_none_or(|it| top <= it);
        top.ticks().is_some_and(is_between) && agent.group == own_group
    };
    if seen.iter().any(|agent| may_have_started(&agent)) {
        return Err(Refusal::NoLogin(
            "its terminal was opened after an agent was started, and the agent may have opened it",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Agent;

    /// `pid name session started words…`, from the process itself on; the parent of each is the next, that of the last
    /// is 0.
    fn chain(lines: &[&str]) -> Vec<Process> {
        let mut processes: Vec<Process> = lines
            .iter()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let user = if words[1].ends_with('!') { 0 } else { 1000 };
                let name = words[1].trim_end_matches('!').to_owned();
                Process {
                    pid: words[0].parse().unwrap(),
                    session: words[2].parse().unwrap(),
                    started: words[3].to_owned(),
                    words: match words.len() {
                        4 => vec![name.clone()],
                        _ => words[4..].iter().map(|it| (*it).to_owned()).collect(),
                    },
                    name,
                    user: Some(user),
                    ..Process::default()
                }
            })
            .collect();
        for at in 0..processes.len() {
            processes[at].parent = processes.get(at + 1).map_or(0, |parent| parent.pid);
        }
        processes
    }

    fn told(lines: &[&str], seen: &[SeenAgent]) -> String {
        match judge(&chain(lines), seen, &|_| "g".to_owned()) {
            Ok(()) => "a human".to_owned(),
            Err(refusal) => refusal.to_string(),
        }
    }

    fn agent(pid: u32, started: &str) -> SeenAgent {
        SeenAgent { pid, started: started.to_owned(), group: "g".to_owned(), until: None }
    }

    #[test]
    fn humans_are_let_in() {
        for (name, lines) in [
            (
                "a desktop",
                &[
                    "9 lockgate 7 90",
                    "7 bash 7 70",
                    "6 gnome-terminal- 6 60",
                    "3 systemd 3 3",
                    "1 systemd! 1 1",
                ][..],
            ),
            (
                "ssh",
                &[
                    "9 lockgate 7 90",
                    "7 bash 7 70",
                    "6 sshd 5 60",
                    "5 sshd! 5 50",
                    "2 sshd! 2 20",
                    "1 systemd! 1 1",
                ],
            ),
            (
                "ssh opened after the agent",
                &["99 lockgate 97 990", "97 bash 97 970", "95 sshd! 95 950", "1 systemd! 1 1"],
            ),
            ("tmux of a human", &["9 lockgate 7 90", "7 bash 7 70", "4 tmux: 4 40", "1 systemd! 1 1"]),
            ("docker exec -it", &["9 lockgate 7 90", "7 bash 7 970"]),
            ("docker run -it", &["9 lockgate 1 90", "1 bash! 1 1"]),
            (
                "sudo",
                &[
                    "9 lockgate! 8 90",
                    "8 sudo! 8 80",
                    "7 sudo! 6 70",
                    "6 bash 6 60",
                    "5 xterm 5 50",
                    "1 init! 1 1",
                ],
            ),
            (
                "su",
                &[
                    "9 lockgate 8 90",
                    "8 bash 8 80",
                    "7 su! 6 70",
                    "6 bash 6 60",
                    "5 login! 5 50",
                    "1 init! 1 1",
                ],
            ),
            (
                "WSL",
                &[
                    "99 lockgate 98 990",
                    "98 bash 98 980",
                    "97 Relay(98) 96 970",
                    "96 SessionLeader! 96 960",
                    "1 init! 1 1",
                ],
            ),
        ] {
            assert_eq!(told(lines, &[agent(50, "500")]), "a human", "{name}");
        }
        let mut console = chain(&["9 lockgate 7 90", "7 sh 7 70", "1 init! 1 1"]);
        console[1].has_console = true;
        assert_eq!(judge(&console, &[], &|_| String::new()), Ok(()), "a console");
    }

    #[test]
    fn agents_and_what_they_left_behind_are_not() {
        let hooked = [agent(50, "500")];
        for (name, lines, why) in [
            (
                "below the agent",
                &[
                    "99 lockgate 20 990",
                    "98 sh 20 980 sh -c x",
                    "50 my-agent 20 500",
                    "20 bash 20 200",
                    "10 xterm 10 100",
                ][..],
                "started below `my-agent`",
            ),
            (
                "its number was given to another",
                &["99 lockgate 20 990", "50 make 20 550", "20 bash 20 200", "10 xterm 10 100"],
                "a human",
            ),
            (
                "below an agent without a record",
                &[
                    "99 lockgate 20 990",
                    "60 node 20 600 node /usr/lib/node_modules/@openai/codex/bin/codex.js",
                    "20 bash 20 200",
                    "10 xterm 10 100",
                ],
                "started below `node`",
            ),
            (
                "a native program",
                &["99 lockgate 20 990", "60 claude 20 600", "20 bash 20 200", "10 xterm 10 100"],
                "by its name",
            ),
            ("setsid and a fork", &["99 lockgate 99 990", "1 systemd! 1 1"], "opened its terminal is gone"),
            (
                "the same under a reaper of the user",
                &["99 lockgate 98 990", "98 sh 98 980", "3 systemd 3 3", "1 systemd! 1 1"],
                "opened its terminal is gone",
            ),
            ("a fork without setsid", &["99 lockgate 20 990", "1 systemd! 1 1"], "cut off"),
            (
                "a daemon with a terminal of its own",
                &["99 lockgate 99 990", "98 python3 98 980", "1 systemd! 1 1"],
                "opened after an agent",
            ),
            (
                "tmux of the agent",
                &[
                    "99 lockgate 97 990",
                    "97 bash 97 970",
                    "96 tmux: 96 960",
                    "3 systemd 3 3",
                    "1 systemd! 1 1",
                ],
                "opened after an agent",
            ),
            (
                "in a container",
                &["99 lockgate 99 990", "98 script 98 980", "1 node! 1 1 node server.js"],
                "opened after an agent",
            ),
            (
                "cron",
                &["99 lockgate 99 990", "98 script 98 980", "97 cron! 97 970", "1 systemd! 1 1"],
                "by a timer",
            ),
            (
                "at",
                &["99 lockgate 99 990", "98 script 98 980", "97 atd! 97 970", "1 systemd! 1 1"],
                "by a timer",
            ),
        ] {
            let told = told(lines, &hooked);
            assert!(told.contains(why), "{name}: {told}");
        }
        // What an agent left behind counts after its end, what began later does not.
        let daemon = &["99 lockgate 99 990", "98 python3 98 980", "1 systemd! 1 1"];
        for (until, why) in [(985, "opened after an agent"), (979, "a human")] {
            let ended = SeenAgent { until: Some(until), ..agent(50, "500") };
            assert!(told(daemon, &[ended]).contains(why), "{until}");
        }
        let elsewhere = SeenAgent { group: "other".to_owned(), ..agent(50, "500") };
        assert_eq!(told(daemon, &[elsewhere]), "a human");
        let mut marked = chain(&["9 lockgate 7 90", "7 bash 7 70", "6 xterm 6 60", "1 init! 1 1"]);
        for name in Agent::ALL.iter().flat_map(|agent| agent.facts().processes.variables) {
            marked[1].variables = vec!["HOME".to_owned(), (*name).to_owned()];
            let refusal = judge(&marked, &[], &|_| String::new()).unwrap_err().to_string();
            assert!(refusal.contains("environment of a coding agent"), "{name}: {refusal}");
        }
    }
}
