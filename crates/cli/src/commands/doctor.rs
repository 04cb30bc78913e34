//! `lockgate doctor`: whether what is installed really blocks.
//!
//! Each hook is found in the files of its agent, held against what `lockgate init` writes, and run as the agent would
//! run it: on a harmless call, on one that would take Lockgate away, and with faults all around it. Whether an agent
//! does run its hooks is not looked at: no agent is started. Of MCP servers that Lockgate stands before, only the
//! programs are looked for: starting a server may do anything.

mod check;
mod hook_trial;
mod report;
mod trial;

use std::{env, fs, path::Path};

use clap::Args;
use lockgate::engine::{
    Diagnostic, Mode, PolicyChanges, Severity,
    gate::{Backend, Reach},
    store::Sqlite,
};
use lockgate_agents::{
    Agent, Environment,
    hook::in_short,
    human_key::{self, HumanSetup},
    install::{self, GuardedServer, InstalledCommand, Job, Scope, Server, installed_agents},
    machine::Machine,
    settings::{self, Settings},
};

use self::{
    check::{Came, Check, Findings, Row},
    hook_trial::trials_of,
    report::write,
};
use super::guardian::{Trial, trials};
use crate::{
    arguments::agent,
    console::{CommandError, Console, Ending},
    known_tools::{doubts, lines, tools_of},
    platform,
    protocol::encode,
};

pub(crate) const DOCTOR_EXAMPLES: &str = "\
Examples:
  lockgate doctor                     agents with hooks here, or in use
  lockgate doctor claude-code         one agent
  lockgate doctor --json | jq '.agents[].checks[] | select(.result != \"ok\")'

Doctor runs each installed hook on made-up calls and made-up faults, in
temporary folders. It runs no tool and touches no session.
Exit 0: everything is enforced, 1: something is not, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The agents [default: the ones that have hooks here or are in use]
    #[arg(value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
}

pub(crate) fn run(
    arguments: &DoctorArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let patient = Patient { project: env::current_dir()?, environment: Environment::of_process() };
    let agents = patient.agents(&arguments.agents);
    if agents.is_empty() {
        let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        return Err(CommandError::Said(format!(
            "no coding agent has hooks of Lockgate here, and none is in use; name one of {}",
            names.join(", ")
        )));
    }
    let (settings, installation) = patient.installation();
    let mut hook_ms = None;
    let mut rows = Vec::new();
    for agent in agents {
        rows.extend(patient.rows(agent, settings.as_ref(), &mut hook_ms));
    }
    let checks = || installation.iter().chain(rows.iter().flat_map(|row| &row.checks));
    let is = |came: Came| checks().any(|check| check.result == came);
    let ending = match (is(Came::Wrong), is(Came::Unknown)) {
        (true, _) => Ending::No,
        (false, true) => Ending::CouldNotTell,
        (false, false) => Ending::Yes,
    };
    let findings = Findings { installation, agents: rows, hook_ms, enforced: ending == Ending::Yes };
    if json {
        writeln!(console.out, "{}", encode(&findings))?;
    } else {
        write(console, &findings)?;
    }
    Ok(ending)
}

/// Where we look.
struct Patient {
    project: std::path::PathBuf,
    environment: Environment,
}

impl Patient {
    fn agents(&self, named: &[Agent]) -> Vec<Agent> {
        if !named.is_empty() {
            let mut named = named.to_vec();
            named.sort_unstable();
            named.dedup();
            return named;
        }
        let has_hooks = |agent: Agent| !self.scopes(agent).is_empty();
        let all = Agent::ALL.iter().copied();
        all.filter(|agent| has_hooks(*agent) || agent.is_in_use(&self.project, &self.environment)).collect()
    }

    fn scopes(&self, agent: Agent) -> Vec<Scope> {
        let is_there = |scope: &Scope| install::is_installed(agent, *scope, &self.project, &self.environment);
        [Scope::Project, Scope::User].into_iter().filter(is_there).collect()
    }

    /// What all hooks of this folder depend on.
    fn installation(&self) -> (Option<Settings>, Vec<Check>) {
        let settings = match settings::find(&self.project, &self.environment) {
            Ok(settings) => settings,
            Err(error) => return (None, Vec::from([Check::wrong("settings", error.to_string())])),
        };
        if self.environment.is_guarded() {
            let agents = installed_agents(&self.project, &self.environment);
            let policy = policy(&settings, &agents, Some(settings::EXEC_GUARDED));
            // Hooks are answered elsewhere, so faults that are made here would not reach them.
            return (None, policy.into_iter().chain(guardian_checks()).chain(self.servers()).collect());
        }
        let remedy = (!settings.exec).then_some(settings::EXEC_SETTING);
        let mut checks = policy(&settings, &installed_agents(&self.project, &self.environment), remedy);
        if settings.mode == Mode::Observe {
            checks.push(Check::wrong("mode", "it is `observe`: whatever the rules say, calls pass"));
        }
        if !settings.protect {
            checks
                .push(Check::wrong("protect", "it is `false`: an agent may change its own policy and hooks"));
        }
        if settings.policy_changes == PolicyChanges::Follow {
            let told = "it is `follow`: sessions take over whatever the policy becomes while they run";
            checks.push(Check::note("policy_changes", told));
        }
        let agents = Agent::ALL.iter();
        let changed =
            agents.filter_map(|agent| install::changed_entry(*agent, &self.project, &self.environment));
        checks.extend(changed.map(|told| Check::wrong("installed", told)));
        checks.extend(state(&settings));
        checks.push(self.human(&settings));
        checks.extend(self.servers());
        (Some(settings), checks)
    }

    /// Whether only a human can answer questions.
    fn human(&self, settings: &Settings) -> Check {
        let recorded = match crate::human::recorded_key(&settings.state) {
            Ok(recorded) => recorded,
            Err(error) => return Check::unknown("answers", error.to_string()),
        };
        let setup = human_key::look(settings.approvals, &self.environment, recorded);
        match setup {
            HumanSetup::Known(_) | HumanSetup::New(_) => Check::ok("answers", setup.to_string()),
            HumanSetup::Missing => Check::note("answers", setup.to_string()),
            _ => Check::wrong("answers", setup.to_string()),
        }
    }

    /// Whether what clients run before and behind the proxy is there. No server is started.
    fn servers(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for scope in [Scope::Project, Scope::User] {
            let option = if scope == Scope::User { " --user" } else { "" };
            for (file, GuardedServer { name, program, server }) in
                install::wrapped_servers(scope, &self.project, &self.environment)
            {
                let of = format!("`{name}` in {}", file.display());
                checks.push(match server {
                    _ if !program.is_file() => {
                        let program = program.display();
                        let remedy = format!("run `lockgate init --mcp-only{option}`");
                        Check::wrong(
                            "mcp",
                            format!("{of} is run by `{program}`, which is not there; {remedy}"),
                        )
                    }
                    Server::Address(address) => Check::ok("mcp", format!("{of}: {address}")),
                    Server::Command(command) if self.can_run(&command) => {
                        Check::ok("mcp", format!("{of}: {command}"))
                    }
                    Server::Command(command) => {
                        Check::wrong("mcp", format!("{of} runs `{command}`, which is not there; install it"))
                    }
                });
            }
        }
        checks
    }

    /// Whether a program is there. One with a variable in its name, or in a folder of the client's, is believed.
    fn can_run(&self, program: &str) -> bool {
        let path = Path::new(program);
        if path.is_absolute() {
            return path.is_file();
        }
        let is_elsewhere = path.components().count() > 1 || program.contains('$');
        let is_in = |folder: &std::path::PathBuf| {
            platform::PROGRAM_ENDINGS.iter().any(|ending| folder.join(format!("{program}{ending}")).is_file())
        };
        is_elsewhere || self.environment.path.iter().any(is_in)
    }

    fn rows(&self, agent: Agent, settings: Option<&Settings>, hook_ms: &mut Option<u64>) -> Vec<Row> {
        let scopes = self.scopes(agent);
        if scopes.is_empty() {
            let told = format!("it has no hook of Lockgate; run `lockgate init {agent}`");
            let checks = Vec::from([Check::wrong("hook", told)]);
            return Vec::from([Row { agent: agent.name(), scope: "none", checks, notes: Vec::new() }]);
        }
        let both = scopes.len() > 1;
        let row = |scope: Scope| {
            let commands = install::installed_commands(agent, scope, &self.project, &self.environment);
            let mut checks = Vec::from([self.hook(agent, scope, &commands)]);
            if let Some(command) = commands.first() {
                checks.extend(trials_of(agent, command, settings, hook_ms));
            }
            let mut notes: Vec<String> = agent.limits().iter().map(|limit| (*limit).to_owned()).collect();
            if both {
                notes.push("it has hooks in the project and of the user, and runs both".to_owned());
            }
            let scope = match scope {
                Scope::Project => "project",
                Scope::User => "user",
            };
            Row { agent: agent.name(), scope, checks, notes }
        };
        scopes.into_iter().map(row).collect()
    }

    /// Whether the files say exactly what `lockgate init` would write for the program they name.
    fn hook(&self, agent: Agent, scope: Scope, commands: &[InstalledCommand]) -> Check {
        let option = if scope == Scope::User { " --user" } else { "" };
        let remedy = format!("run `lockgate init {agent}{option}`");
        let Some(InstalledCommand { program, .. }) = commands.first() else {
            return Check::wrong("hook", format!("its hook cannot be found again; {remedy}"));
        };
        if !program.is_file() {
            let program = program.display();
            return Check::wrong("hook", format!("it runs `{program}`, which is not there; {remedy}"));
        }
        match install::plan(&Job::Install(program), &[agent], scope, &self.project, &self.environment) {
            Ok(plan) => match plan.changes().next() {
                None => Check::ok("hook", ""),
                Some(change) => {
                    let file = change.path.display();
                    Check::wrong("hook", format!("{file} is not as strict as it could be; {remedy}"))
                }
            },
            Err(errors) => {
                let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Check::wrong("hook", told.join("; "))
            }
        }
    }
}

/// What an agent of this user would try at the guardian; all of it has to fail.
fn guardian_checks() -> Vec<Check> {
    let machine = match Machine::read() {
        Ok(Some(machine)) => machine,
        Ok(None) => return Vec::new(),
        Err(error) => return Vec::from([Check::wrong("guardian", error.to_string())]),
    };
    let check = |Trial { trial, holds, told }: Trial| match holds {
        true => Check::ok("guardian", format!("{trial}: {told}")),
        false => Check::wrong("guardian", format!("{trial}: {told}")),
    };
    trials(&machine).into_iter().map(check).collect()
}

/// Whether the policy loads, and can match what these agents have; where programs of conditions are not run, with what to do
/// about it.
fn policy(settings: &Settings, agents: &[Agent], exec_remedy: Option<&str>) -> Vec<Check> {
    let opened = settings
        .sources()
        .and_then(|sources| Ok((lockgate::Policy::builder().sources(&sources).load()?, sources)));
    let (opened, sources) = match opened {
        Ok(opened) => opened,
        Err(error) => return Vec::from([Check::wrong("policy", in_short(&error))]),
    };
    let rules = opened.compiled().rules().count();
    let doubts = doubts(&opened.compiled(), opened.findings().to_vec(), &sources, &tools_of(agents));
    let (mistakes, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
        doubts.into_iter().partition(|it| it.severity == Severity::Error);
    let mut checks: Vec<Check> =
        lines(&mistakes).into_iter().map(|line| Check::wrong("policy", line)).collect();
    let beside = if settings.has_built_in() && settings.project.is_some() {
        ", the built-in ones among them until `lockgate trust`"
    } else {
        ""
    };
    let told = match warnings.as_slice() {
        [] => format!("{rules} rules, 0 warnings{beside}"),
        _ => format!("{rules} rules, {} warnings{beside}: {}", warnings.len(), lines(&warnings).join("; ")),
    };
    checks.push(Check::ok("policy", told));
    checks
        .extend(settings::waiting_line(settings, &opened.compiled()).map(|told| Check::note("trust", told)));
    for line in &settings.overruled {
        checks.push(Check::note("user", format!("the user's settings are stricter than `{line}`")));
    }
    let told = exec_remedy.and_then(|remedy| settings::exec_not_run(&opened.compiled(), remedy));
    checks.extend(told.map(|told| Check::note("exec", told)));
    checks
}

/// Whether the database can be used, and by us alone.
fn state(settings: &Settings) -> Vec<Check> {
    let file = &settings.state;
    match fs::symlink_metadata(file) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Vec::from([Check::ok("state", format!("none yet, {}", file.display()))]);
        }
        Err(error) => return Vec::from([Check::wrong("state", format!("{}: {error}", file.display()))]),
    }
    let store = match Sqlite::open(file, settings.store_options(file)) {
        Ok(store) => store,
        Err(error) => return Vec::from([Check::wrong("state", error.to_string())]),
    };
    let mut checks = Vec::from([match readable_by_others(file) {
        Some(told) => Check::wrong("state", told),
        None => Check::ok("state", file.display().to_string()),
    }]);
    checks.push(match store.head() {
        Ok(head) if head.n == 0 || head.is_signed_by(&store.public_key()) => {
            let records = if head.n == 1 { "record" } else { "records" };
            Check::ok("audit log", format!("{} {records}, the last one signed", head.n))
        }
        Ok(head) => {
            Check::wrong("audit log", format!("record {} is not signed by this database's key", head.n))
        }
        Err(error) => Check::wrong("audit log", error.to_string()),
    });
    // The row that all sessions read, and with it the head that vouches for all rows.
    checks.push(match store.lock("", Reach::Look) {
        Ok(_) => Check::ok("sealed", "the state is the one that its signed head names".to_owned()),
        Err(error) => Check::wrong("sealed", error.to_string()),
    });
    checks.push(match &settings.anchor {
        Some(anchor) => Check::ok("anchor", anchor.display().to_string()),
        None => Check::note(
            "anchor",
            "none: an older copy of the whole database is not noticed; `anchor` in the settings names a file"
                .to_owned(),
        ),
    });
    checks
}

fn readable_by_others(file: &Path) -> Option<String> {
    let beside = |ending: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        std::path::PathBuf::from(name)
    };
    let files = [file.to_path_buf(), beside("-wal"), beside("-shm"), beside(".key")];
    let open = |path: &std::path::PathBuf| {
        let mode = platform::mode(&fs::metadata(path).ok()?)?;
        (mode & 0o077 != 0).then(|| format!("{} has mode {mode:03o}; `chmod 600` it", path.display()))
    };
    files.iter().find_map(open)
}
