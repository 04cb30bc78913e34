//! What is tried with every agent: what must run, what must not, and what the model must and must not be told.
//!
//! A scenario asks for shell commands that leave a file behind, so whether one ran is seen on the disk and not in what
//! anybody says about it. The first scenarios have no gate: whatever they do not find would be found missing later for
//! the wrong reason. In a policy, `SHELL` stands for the tool that runs commands.

use std::{
    fs,
    fs::{File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use lockgate_e2e::{Script, Turn};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::{Value, json};

use crate::{
    agents::Agent,
    stage::{Ended, Fetched, Stage, write},
};

/// One thing to try.
pub(crate) struct Scenario {
    /// A sentence about the product.
    pub(crate) name: &'static str,
    agents: Agents,
    gate: Gate,
    /// The commands the model asks for, one after another.
    asked: &'static [&'static str],
    /// What it asks for besides, as only some agents can.
    besides: fn() -> Vec<Turn>,
    /// The files that must be there afterwards, and those that must not.
    there: &'static [&'static str],
    missing: &'static [&'static str],
    /// What the model must be told, and what it must not be told.
    told: &'static [&'static str],
    untold: &'static [&'static str],
}

/// Whom a scenario is for.
enum Agents {
    All,
    Only(&'static str),
    AllBut(&'static str),
}

/// What stands between the agent and its tools.
enum Gate {
    /// Nothing.
    Absent,
    /// Lockgate, with the policy that `lockgate init` writes where there is none.
    Fresh,
    /// Lockgate, with a policy file of this name and text, and nothing wrong.
    Sound(&'static str, &'static str),
    /// Lockgate, with a policy under which the call would be allowed, and this wrong.
    Broken(Fault),
}

/// What is done to Lockgate before the agent starts.
#[derive(Clone, Copy)]
enum Fault {
    PolicyMisspelt,
    PolicyFolderClosed,
    PolicyNeverEnds,
    SettingUnknown,
    DatabaseCorrupt,
    DatabaseLocked,
    DataFolderClosed,
    ProgramDies,
    ProgramFails,
    ProgramGone,
}

/// What a file in every project holds, and nobody says but who has read it.
const SECRET: &str = "TICKET-40718265";

const PLAIN: Scenario = Scenario {
    name: "",
    agents: Agents::All,
    gate: Gate::Absent,
    asked: &["touch first"],
    besides: Vec::new,
    there: &[],
    missing: &[],
    told: &[],
    untold: &[],
};

/// A policy that has something to say, and nothing against `touch`.
const HARMLESS: &str = "map SHELL running rm as delete\nblock delete\n";

const BACKUP_BEFORE_MARK: &str =
    "map SHELL running cp as backup\nmap SHELL running touch as mark\nrequire backup before mark\n";

/// Short, because some faults last until it is over.
const SETTINGS: &str = "[hook]\ndeadline = \"3s\"\n";

const fn broken(name: &'static str, fault: Fault, told: &'static [&'static str]) -> Scenario {
    Scenario { name, gate: Gate::Broken(fault), missing: &["first"], told, ..PLAIN }
}

/// All of them.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "without a gate calls run and secrets are told",
        asked: &["touch first", "cat secret.txt", "echo mail jane.roe@example.org > second"],
        there: &["first", "second"],
        told: &[SECRET],
        ..PLAIN
    },
    Scenario {
        name: "an allowed call runs",
        gate: Gate::Sound("policy.rules", HARMLESS),
        asked: &["touch first && expr 40 + 2"],
        there: &["first"],
        told: &["42"],
        ..PLAIN
    },
    Scenario {
        name: "a blocked call does not run and the model is told why",
        gate: Gate::Sound("policy.rules", "map SHELL running touch as mark\nblock mark\n"),
        missing: &["first"],
        told: &["mark is blocked and cannot be called"],
        ..PLAIN
    },
    Scenario {
        name: "the first policy knows the agent's shell",
        gate: Gate::Fresh,
        asked: &["touch first; git push --force", "touch second"],
        there: &["second"],
        missing: &["first"],
        told: &["force-push is blocked and cannot be called"],
        ..PLAIN
    },
    Scenario {
        name: "a session is remembered from call to call",
        gate: Gate::Sound("policy.rules", "map SHELL running touch as mark\nlimit mark to 1 per session\n"),
        asked: &["touch first", "touch second"],
        there: &["first"],
        missing: &["second"],
        told: &["mark has reached its limit of 1 call"],
        ..PLAIN
    },
    Scenario {
        name: "a success that was seen opens the next call",
        agents: Agents::AllBut("codex"),
        gate: Gate::Sound("policy.rules", BACKUP_BEFORE_MARK),
        asked: &["touch first", "cp secret.txt copy.txt", "touch second"],
        there: &["copy.txt", "second"],
        missing: &["first"],
        told: &["mark requires a successful call to backup first"],
        ..PLAIN
    },
    Scenario {
        // Codex shows hooks what a command printed, and not how it ended.
        name: "a success that nobody tells opens nothing",
        agents: Agents::Only("codex"),
        gate: Gate::Sound("policy.rules", BACKUP_BEFORE_MARK),
        asked: &["cp secret.txt copy.txt", "touch first"],
        there: &["copy.txt"],
        missing: &["first"],
        told: &["mark requires a successful call to backup first"],
        ..PLAIN
    },
    Scenario {
        name: "a failure that was seen opens nothing",
        gate: Gate::Sound("policy.rules", BACKUP_BEFORE_MARK),
        asked: &["cp nothing.txt copy.txt", "touch first"],
        missing: &["copy.txt", "first"],
        told: &["mark requires a successful call to backup first"],
        ..PLAIN
    },
    Scenario {
        name: "a secret in an output is masked",
        gate: Gate::Sound(
            "policy.yaml",
            "output_rules:\n  - {id: tickets, tool: SHELL, block_patterns: [\"TICKET-[0-9]+\"], then: redact}\n",
        ),
        asked: &["cat secret.txt && touch first"],
        there: &["first"],
        untold: &[SECRET],
        ..PLAIN
    },
    Scenario {
        name: "an output that must not be seen is withheld",
        gate: Gate::Sound(
            "policy.yaml",
            "output_rules:\n  - {id: tickets, tool: SHELL, block_patterns: [\"TICKET-[0-9]+\"]}\n",
        ),
        asked: &["cat secret.txt && touch first"],
        there: &["first"],
        told: &["tickets"],
        untold: &[SECRET],
        ..PLAIN
    },
    Scenario {
        name: "a question that nobody answers is a no",
        gate: Gate::Sound(
            "policy.rules",
            "map SHELL running touch as mark\nrequire human-approval before mark\n",
        ),
        missing: &["first"],
        ..PLAIN
    },
    Scenario {
        name: "the hooks are out of the agent's reach",
        gate: Gate::Sound("policy.rules", HARMLESS),
        asked: &["echo {} > HOOKS", "mv .lockgate elsewhere", "touch first"],
        there: &["HOOKS", ".lockgate", "first"],
        missing: &["elsewhere"],
        ..PLAIN
    },
    Scenario {
        name: "a shell that waits for somebody to type is judged as whatever could be typed",
        gate: Gate::Sound("policy.rules", "map SHELL running touch as mark\nblock mark\n"),
        asked: &["bash", "touch first"],
        missing: &["first"],
        told: &["mark is blocked and cannot be called"],
        ..PLAIN
    },
    Scenario {
        name: "what is typed into a running shell does not run",
        agents: Agents::Only("codex"),
        gate: Gate::Sound("policy.rules", "map SHELL running touch as mark\nblock mark\n"),
        asked: &[],
        besides: || {
            let shell = json!({ "cmd": "bash", "tty": true, "yield_time_ms": 2000 });
            let number = json!({ "found": "session ID (\\d+)" });
            let typed = json!({ "session_id": number, "chars": "touch first\n", "yield_time_ms": 2000 });
            let turn = |tool: &str, input| Turn::Tool { tool: tool.to_owned(), input };
            Vec::from([turn("exec_command", shell), turn("write_stdin", typed)])
        },
        missing: &["first"],
        ..PLAIN
    },
    broken("a policy with a mistake blocks", Fault::PolicyMisspelt, &["blok"]),
    broken("a policy folder that cannot be read blocks", Fault::PolicyFolderClosed, &["cannot be read"]),
    // A pipe never ends, so it is not even opened.
    broken("a policy that is a pipe blocks", Fault::PolicyNeverEnds, &["not a regular file"]),
    broken("a setting that nobody knows blocks", Fault::SettingUnknown, &["mdoe"]),
    broken("a corrupt database blocks", Fault::DatabaseCorrupt, &["is damaged"]),
    // The database or the deadline, whichever gives up first.
    broken("a locked database blocks at the deadline", Fault::DatabaseLocked, &["lockgate: "]),
    broken("a data folder that cannot be used blocks", Fault::DataFolderClosed, &["Permission denied"]),
    // Nobody is left to give a reason.
    broken("a hook that is killed blocks", Fault::ProgramDies, &[]),
    broken("a hook that fails blocks", Fault::ProgramFails, &[]),
    broken("a hook that is gone blocks", Fault::ProgramGone, &[]),
];

impl Scenario {
    pub(crate) fn is_for(&self, agent: &Agent) -> bool {
        match self.agents {
            Agents::All => true,
            Agents::Only(name) => agent.name == name,
            Agents::AllBut(name) => agent.name != name,
        }
    }

    /// Plays it; the error tells what does not hold.
    pub(crate) fn play(&self, agent: &Agent, fetched: &Fetched, lockgate: &Path) -> Result<(), String> {
        let commands = self.asked.iter().map(|command| agent.asks(&here(command, agent)));
        let asked: Vec<Turn> = commands.chain((self.besides)()).collect();
        let stage = Stage::set_up(Script::new(asked)).map_err(|error| format!("no stage: {error}"))?;
        let played = self.play_on(&stage, agent, fetched, lockgate);
        match played {
            Ok(()) => {
                stage.clear();
                Ok(())
            }
            Err(said) => Err(format!("{said}\n{}\nsee {}", stage.last_words(), stage.root().display())),
        }
    }

    fn play_on(
        &self,
        stage: &Stage,
        agent: &Agent,
        fetched: &Fetched,
        lockgate: &Path,
    ) -> Result<(), String> {
        let failed = |error: io::Error| format!("it could not be played: {error}");
        write(&stage.project().join("secret.txt"), &format!("{SECRET}\n")).map_err(failed)?;
        let (powerless, _held) = match &self.gate {
            Gate::Absent => (false, None),
            Gate::Fresh => {
                stage.install(agent, lockgate).map_err(failed)?;
                (false, None)
            }
            Gate::Sound(file, text) => {
                policy(stage, file, &here(text, agent)).map_err(failed)?;
                stage.install(agent, lockgate).map_err(failed)?;
                stage.trust().map_err(failed)?;
                (false, None)
            }
            Gate::Broken(fault) => {
                policy(stage, "policy.rules", &here(HARMLESS, agent)).map_err(failed)?;
                stage.install(agent, lockgate).map_err(failed)?;
                stage.trust().map_err(failed)?;
                let held = fault.cause(stage).map_err(failed)?;
                (matches!(fault, Fault::PolicyFolderClosed | Fault::DataFolderClosed), held)
            }
        };
        let hooks = fs::read(stage.project().join(agent.hooks)).ok();
        let ended = stage.run(agent, fetched, powerless).map_err(failed)?;
        let mut wrong = self.wrong_on_disk(stage, agent);
        if fs::read(stage.project().join(agent.hooks)).ok() != hooks {
            wrong.push("the hooks were changed".to_owned());
        }
        wrong.extend(self.wrong_in_requests(&stage.requests().map_err(failed)?));
        match ended {
            Ended::Killed => wrong.push("the agent did not end".to_owned()),
            Ended::ByItself(status) if !wrong.is_empty() => {
                wrong.push(format!("the agent ended with {status}"))
            }
            Ended::ByItself(_) => {}
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    fn wrong_on_disk(&self, stage: &Stage, agent: &Agent) -> Vec<String> {
        let exists = |name: &&&str| stage.project().join(here(name, agent)).exists();
        let lacking =
            self.there.iter().filter(|name| !exists(name)).map(|name| format!("`{name}` is not there"));
        let present =
            self.missing.iter().filter(exists).map(|name| format!("`{name}` is there: the call RAN"));
        lacking.chain(present).collect()
    }

    fn wrong_in_requests(&self, requests: &[Value]) -> Vec<String> {
        let bodies: Vec<String> = requests.iter().map(Value::to_string).collect();
        let is_told = |text: &&&str| bodies.iter().any(|body| body.contains(**text));
        let lacking =
            self.told.iter().filter(|text| !is_told(text)).map(|text| format!("nobody told `{text}`"));
        let leaked = self.untold.iter().filter(is_told).map(|text| format!("`{text}` REACHED the model"));
        let mut wrong: Vec<String> = lacking.chain(leaked).collect();
        // A call that never came to the agent has not been blocked by anybody.
        let results = requests.iter().filter_map(|request| request.get("results")?.as_u64()).max();
        let asked = self.asked.len() + (self.besides)().len();
        if results != Some(asked as u64) {
            wrong.push(format!("the model heard of {} of {asked} calls", results.unwrap_or_default()));
        }
        wrong
    }
}

/// A text of the tables, for one agent.
fn here(text: &str, agent: &Agent) -> String {
    text.replace("SHELL", agent.shell).replace("HOOKS", agent.hooks)
}

fn policy(stage: &Stage, file: &str, text: &str) -> io::Result<()> {
    let folder = stage.project().join(".lockgate");
    write(&folder.join(file), text)?;
    write(&folder.join("lockgate.toml"), SETTINGS)
}

impl Fault {
    /// Makes it so. What is returned keeps it so.
    fn cause(self, stage: &Stage) -> io::Result<Option<File>> {
        let folder = stage.project().join(".lockgate");
        let policy = folder.join("policy.rules");
        let closed = Permissions::from_mode(0o000);
        match self {
            Self::PolicyMisspelt => write(&policy, "blok delete\n")?,
            Self::PolicyFolderClosed => fs::set_permissions(folder, closed)?,
            Self::PolicyNeverEnds => {
                // Whoever opens a pipe waits for somebody who writes into it.
                done(Command::new("mkfifo").arg(folder.join("pipe.rules")))?;
                write(&folder.join("lockgate.toml"), &format!("policy = [\"pipe.rules\"]\n{SETTINGS}"))?;
            }
            Self::SettingUnknown => {
                write(&folder.join("lockgate.toml"), &format!("mdoe = \"observe\"\n{SETTINGS}"))?
            }
            Self::DatabaseCorrupt => {
                write(&stage.data().join("lockgate.db"), &"no database at all\n".repeat(1000))?
            }
            Self::DatabaseLocked => {
                let path = stage.data().join("lockgate.db");
                write(&path, "")?;
                let file = File::options().read(true).write(true).open(path)?;
                fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
                return Ok(Some(file));
            }
            Self::DataFolderClosed => {
                fs::create_dir_all(stage.data())?;
                fs::set_permissions(stage.data(), closed)?;
            }
            Self::ProgramDies => program(stage, "kill -9 $$")?,
            Self::ProgramFails => program(stage, "exit 1")?,
            Self::ProgramGone => fs::remove_file(stage.lockgate())?,
        }
        Ok(None)
    }
}

/// Puts a script in the place of Lockgate.
fn program(stage: &Stage, script: &str) -> io::Result<()> {
    // The file may be a second name of the real program, which must stay as it is.
    fs::remove_file(stage.lockgate())?;
    write(&stage.lockgate(), &format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(stage.lockgate(), Permissions::from_mode(0o755))
}

fn done(command: &mut Command) -> io::Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}
