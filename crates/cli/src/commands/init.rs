//! `lockgate init`: a first policy, hooks for the agents in use, and if wanted a gate before their MCP servers.
//!
//! A policy that is there already is never touched. Agents that are not named are looked for. Servers are wrapped only
//! on demand: hooks see the calls of MCP tools too, and a client may ask anew whether to trust a server that was
//! wrapped.

use std::{
    env,
    io::{self, IsTerminal},
    path::Path,
};

use clap::Args;
use lockgate::engine::call::visible;
use lockgate_agents::{
    Agent, Environment,
    human_key::{self, HumanSetup},
    install::{
        Change, Job, Plan, Repository, Scope, excluded, is_installed, plan, plan_servers, record_installed,
    },
    settings::{Approvals, FOLDER, find, starter_place, starter_policy},
};

use super::{
    changes::{ChangeArguments, WantedChanges, refused, scope, settle},
    passphrase, upgrade,
};
use crate::{
    console::{CommandError, Console, Ending, bold},
    human,
    known_tools::{doubts, lines, tools_of},
    lasting::LastingProgram,
    version::build_folder,
};

pub(crate) const INIT_EXAMPLES: &str = "\
Examples:
  lockgate init                       the agents in use here; asks first
  lockgate init claude-code --user    Claude Code, in all projects
  lockgate init --dry-run             only show the changes
  lockgate init --exclude             keep the files out of version control
  lockgate init --policy-only --yes   only write .lockgate/policy.rules
  lockgate init --mcp                 also put the proxy in front of MCP servers
  lockgate init --mcp-only --user     only the user's MCP servers

With --mcp, a server that runs as `npx -y x` then runs as
`lockgate mcp … -- npx -y x`. Servers that need a sign-in stay as they are;
init lists them.

Lockgate checks every file before it writes the first one. It never changes a
policy that already exists. Exit 0: done or nothing to do, 1: you said no,
2: could not.";

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
    /// Write a first policy and no hooks
    #[arg(long, conflicts_with = "agents")]
    pub(crate) policy_only: bool,
    /// Also put the proxy in front of the MCP servers of these agents [default: of all known clients]
    #[arg(long, conflicts_with = "policy_only")]
    pub(crate) mcp: bool,
    /// Put the proxy in front of MCP servers and write no hooks
    #[arg(long, conflicts_with_all = ["policy_only", "mcp"])]
    pub(crate) mcp_only: bool,
    /// Keep the new files out of version control, in `.git/info/exclude` [default: ask]
    #[arg(long, conflicts_with_all = ["no_exclude", "user"])]
    pub(crate) exclude: bool,
    /// Leave `.git/info/exclude` as it is
    #[arg(long)]
    pub(crate) no_exclude: bool,
}

pub(crate) fn run(
    arguments: &InitArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (project, environment) = (env::current_dir()?, Environment::of_process());
    let program = LastingProgram::of_process(&environment)?;
    let wanted = wanted(arguments, &program, (&project, &environment), json, console)?;
    let is_named = !wanted.agents.is_empty() || arguments.mcp || arguments.mcp_only;
    if is_named && !arguments.change.dry_run {
        program.put()?;
    }
    let ending = settle(&wanted, &arguments.change, json, console)?;
    if ending == Ending::Yes && !arguments.change.dry_run {
        // Hooks look at this to see that they are still installed as they were.
        let scope = scope(&arguments.change);
        for agent in &wanted.agents {
            record_installed(*agent, &program.path, scope, &project, &environment)
                .map_err(CommandError::said)?;
        }
    }
    if let (Ending::Yes, true, Ok(settings)) =
        (ending, is_interactive(&arguments.change, json), find(&project, &environment))
        && !environment.is_guarded()
    {
        passphrase::offer(&settings.state, &environment, console)?;
    }
    Ok(ending)
}

/// Whether a human can be asked something by the way.
fn is_interactive(change: &ChangeArguments, json: bool) -> bool {
    !json && !change.yes && !change.dry_run && io::stdin().is_terminal()
}

fn wanted(
    arguments: &InitArguments,
    program: &LastingProgram,
    (project, environment): (&Path, &Environment),
    json: bool,
    console: &mut Console<'_>,
) -> Result<WantedChanges, CommandError> {
    let scope = scope(&arguments.change);
    let named = !arguments.change.agents.is_empty();
    let has_hooks = !arguments.policy_only && !arguments.mcp_only;
    let mut agents: Vec<Agent> = match (!has_hooks, named) {
        (true, _) => Vec::new(),
        (false, true) => arguments.change.agents.clone(),
        (false, false) => {
            let all = Agent::ALL.iter().copied();
            all.filter(|agent| agent.is_in_use(project, environment)).collect()
        }
    };
    agents.sort_unstable();
    agents.dedup();
    let mut notes = Vec::new();
    if agents.is_empty() && has_hooks {
        let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        notes.push(format!("no coding agent was found here; name one of {}", names.join(", ")));
    }
    for agent in &agents {
        notes.extend(twice(*agent, scope, project, environment));
    }
    if !arguments.policy_only {
        notes.extend(program.note());
    }
    let program = &program.path;
    if let Some(folder) = build_folder(program) {
        notes.push(format!(
            "hooks will run `{}`, and a clean build of `{}` takes it away: then agents are blocked or run without a gate; \
             `cargo install --locked --path crates/cli` puts it where it stays",
            program.display(),
            folder.display()
        ));
    }
    if !arguments.change.dry_run {
        upgrade::refuse_agents("init", &agents, scope, project, environment)?;
    }
    let job = Job::Install(program);
    let mut plan = plan(&job, &agents, scope, project, environment).map_err(|errors| refused(&errors))?;
    if arguments.mcp || arguments.mcp_only {
        let named = &arguments.change.agents;
        let told = plan_servers(&mut plan, &job, named, scope, project, environment);
        notes.extend(told.map_err(|errors| refused(&errors))?);
        notes.push(AFTER_WRAPPING.to_owned());
    }
    put_starter(&mut plan, &mut notes, arguments, (scope, project, environment), &agents)?;
    if scope == Scope::Project {
        put_exclusions(&mut plan, &mut notes, arguments, (project, json), console)?;
    }
    if !arguments.policy_only && !is_interactive(&arguments.change, json) {
        notes.extend(no_human(project, environment));
    }
    let next = |agent: &Agent| agent.next_steps(scope).iter().map(|text| (*agent, *text)).collect::<Vec<_>>();
    let next = agents.iter().flat_map(next).collect();
    Ok(WantedChanges { agents, plan, folders: Vec::new(), notes, next, for_humans: None })
}

/// What is said where no human is set up to answer.
fn no_human(project: &Path, environment: &Environment) -> Option<String> {
    if environment.is_guarded() {
        // Root answers, and the guardian has the key.
        return None;
    }
    let settings = find(project, environment).ok();
    let approvals = settings.as_ref().map_or(Approvals::Protected, |settings| settings.approvals);
    let recorded = settings.and_then(|settings| human::recorded_key(&settings.state).ok()).flatten();
    match human_key::look(approvals, environment, recorded) {
        HumanSetup::Known(_) | HumanSetup::New(_) => None,
        setup => Some(setup.to_string()),
    }
}

const AFTER_WRAPPING: &str = "files of MCP servers name a path of this machine then, so keep the change out of the \
                              repository; restart clients, some ask again whether to trust a server";

/// Keeps the files that are made here out of version control, where the user agrees.
fn put_exclusions(
    plan: &mut Plan,
    notes: &mut Vec<String>,
    arguments: &InitArguments,
    (project, json): (&Path, bool),
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    let Some(repository) = Repository::of(project) else { return Ok(()) };
    let policies = project.join(FOLDER);
    let is_new = |change: &&Change| change.before.is_none();
    let pattern = |change: &Change| match change.path.starts_with(&policies) {
        // Whatever else comes to lie beside the policy, too.
        true => repository.pattern(&policies).map(|pattern| format!("{pattern}/")),
        false => repository.pattern(&change.path),
    };
    let mut patterns: Vec<String> = plan.changes().filter(is_new).filter_map(pattern).collect();
    if arguments.exclude {
        // Also where the policy was made before.
        patterns.extend(repository.pattern(&policies).map(|pattern| format!("{pattern}/")));
    }
    patterns.sort();
    patterns.dedup();
    if patterns.is_empty() || arguments.no_exclude {
        return Ok(());
    }
    let names: Vec<&str> = patterns.iter().map(|pattern| pattern.trim_start_matches('/')).collect();
    let names = names.join(", ");
    let can_ask = is_interactive(&arguments.change, json);
    let is_wanted = match (arguments.exclude, can_ask) {
        (true, _) => true,
        (false, true) => {
            let question = format!("Keep {names} out of version control (.git/info/exclude)?");
            write!(console.err, "{} [y/N] ", bold(visible(&question)))?;
            console.err.flush()?;
            let mut line = String::new();
            io::stdin().read_line(&mut line)?;
            ["y", "yes"].contains(&line.trim().to_lowercase().as_str())
        }
        (false, false) => false,
    };
    if !is_wanted {
        notes.push(format!(
            "{names} stays visible to Git: `git stash -u` and `git clean -fd` take it away, and sessions that began \
             under the policy block then; `lockgate init --exclude` keeps it out of version control"
        ));
        return Ok(());
    }
    let path = repository.exclude.clone();
    let before = plan.read(&path).map_err(CommandError::said)?;
    let after = Some(excluded(before.as_deref(), &patterns));
    plan.put(Change { agent: None, path, before, after });
    notes.push(format!(
        "{names} is kept out of version control by .git/info/exclude; `git clean -fdx` and `git stash -a` still take it \
         away"
    ));
    Ok(())
}

/// Both of a user's and a project's hooks run, so each call would be judged twice.
fn twice(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> Option<String> {
    let (other, option) = match scope {
        Scope::Project => (Scope::User, " --user"),
        Scope::User => (Scope::Project, ""),
    };
    is_installed(agent, other, project, environment).then(|| {
        format!("{agent} has hooks of Lockgate already, and would run both; `lockgate uninstall {agent}{option}` takes those out")
    })
}

/// Adds a first policy where there is none.
fn put_starter(
    plan: &mut Plan,
    notes: &mut Vec<String>,
    arguments: &InitArguments,
    (scope, project, environment): (Scope, &Path, &Environment),
    agents: &[Agent],
) -> Result<(), CommandError> {
    let place =
        starter_place(scope, arguments.policy_only, project, environment).map_err(CommandError::said)?;
    let path = match place {
        Ok(path) => path,
        Err(counts) => {
            notes.push(format!("the policy of {} counts here; it stays as it is", counts.display()));
            notes.extend(doubts_of(project, environment, agents));
            return Ok(());
        }
    };
    // A file of that name is never overwritten, whatever else is wrong with the folder.
    let before = plan.read(&path).map_err(CommandError::said)?;
    if before.is_none() {
        let agents = if agents.is_empty() { Agent::ALL } else { agents };
        plan.put(Change { agent: None, path, before, after: Some(starter_policy(agents)) });
    }
    Ok(())
}

/// What is wrong with the policy that counts here, for the agents that get hooks.
fn doubts_of(project: &Path, environment: &Environment, agents: &[Agent]) -> Vec<String> {
    let Ok(settings) = find(project, environment) else { return Vec::new() };
    let opened = settings
        .sources()
        .and_then(|sources| Ok((lockgate::Policy::builder().sources(&sources).load()?, sources)));
    match opened {
        Ok((opened, sources)) => {
            lines(&doubts(&opened.compiled(), opened.findings().to_vec(), &sources, &tools_of(agents)))
        }
        Err(error) => Vec::from([format!("it does not load, so hooks will block every call: {error}")]),
    }
}
