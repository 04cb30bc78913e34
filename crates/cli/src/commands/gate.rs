//! `lockgate gate`: the line protocol on stdin and stdout.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::{Database, Gate, Mode, PolicyChanges, call::visible, gate::BoundPolicy, open_store};
use lockgate_agents::{
    Environment,
    guardian::LineClient,
    hook::protection_of_files,
    machine::{self, Machine},
    now,
    settings::{self, Registry, accepted_rulebook},
};
use lockgate_server::{
    lines::serve_by,
    protocol::{ErrorAnswer, Message, blocked_call, decode, encode},
};
use serde_json::json;

use crate::{
    arguments::{ExecArguments, KnownToolsArguments, RegistryArguments, mode, words},
    console::{CommandError, Console, Ending},
    serve::{Clock, ServeOptions, serve},
    team_server,
};

#[derive(Debug, Args)]
pub(crate) struct GateArguments {
    /// Policy files or folders
    #[arg(required_unless_present_any = ["server", "guardian"], value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// Ask the guardian, which has the policy and the sessions; where one guards this user, it is always asked, and POLICY can
    /// only narrow
    #[arg(long, conflicts_with = "server")]
    pub(crate) guardian: bool,
    /// Ask a server of `lockgate serve` instead: https://HOST, http://127.0.0.1:PORT or unix:PATH
    #[arg(long, value_name = "URL", requires = "token_file", conflicts_with_all = ["files", "store", "mode", "protect", "policy_changes", "exec", "names", "active"])]
    pub(crate) server: Option<String>,
    /// With --server: the file that holds the token
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,
    /// With --server: certificates in PEM, one of which vouches for the server [default: those of the machine]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
    /// Where to store sessions: memory, sqlite:FILE, postgres://USER@HOST/DATABASE?key=FILE, or redis://HOST/NUMBER?key=FILE
    #[arg(long, value_name = "URL", default_value = "memory")]
    pub(crate) store: String,
    /// The session of lines that do not name one
    #[arg(long, value_name = "ID", default_value = "default", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// The clock: the machine's, or the `at` of each line in milliseconds since 1970
    #[arg(long, value_parser = words([Clock::Real, Clock::Lines], Clock::word), default_value = "real")]
    pub(crate) clock: Clock,
    /// Enforce the rules, or let every call pass and only say what the verdict would be
    #[arg(long, value_parser = mode(), default_value = "enforce")]
    pub(crate) mode: Mode,
    /// Block calls that would change the files of this policy, the store or Lockgate, and calls that mention a command
    /// for humans
    #[arg(long)]
    pub(crate) protect: bool,
    /// What happens to stored sessions if the policy is another than the one they began under: what it opens waits for
    /// `lockgate accept-policy`, or it counts at once
    #[arg(long, value_name = "HOW", value_parser = words([PolicyChanges::Hold, PolicyChanges::Follow], PolicyChanges::word), default_value = "hold")]
    pub(crate) policy_changes: PolicyChanges,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

pub(crate) const GATE_EXAMPLES: &str = "\
Example:
  $ lockgate gate ops.rules
  {\"call\": {\"id\": \"1\", \"tool\": \"test\"}}
  {\"id\":\"1\",\"session\":\"default\",\"verdict\":\"allow\",\"reason\":\"\", …}
  {\"result\": {\"id\": \"1\", \"ok\": true}}
  {\"id\":\"1\",\"session\":\"default\",\"settled\":true,\"verdict\":\"allow\"}

Lines: call, result, answer, session, stage, net, halt, resume, untaint, status,
prompt.
Exit 0, or 2 if a line could not be read.";

pub(crate) fn run(arguments: &GateArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    if let (Some(url), Some(file)) = (&arguments.server, &arguments.token_file) {
        return ask_server(url, file, arguments, console);
    }
    let environment = Environment::of_process();
    if environment.is_guarded() {
        return ask_guardian(arguments, environment, console);
    }
    if arguments.guardian {
        let told = format!("no guardian guards this user, as `{}` would say", machine::FILE);
        return Err(CommandError::Said(told));
    }
    let backend = open_store(&arguments.store).map_err(CommandError::said)?;
    let policy = super::opening::open_telling(&arguments.files, &arguments.known, console)?;
    if !arguments.exec.exec {
        let remedy = "run `lockgate gate` with `--exec`, if the agent may run such programs";
        if let Some(line) = settings::exec_not_run(&policy.compiled(), remedy) {
            writeln!(console.err, "warning: {}", visible(&line))?;
        }
    }
    let mut builder = Gate::builder(policy.clone()).mode(arguments.mode);
    if arguments.protect {
        let state = backend.as_ref().and_then(Database::file);
        builder = builder.protect(protection_of_files(&arguments.files, state));
    }
    let registry = arguments.registry.registry();
    if let Some(backend) = backend {
        let bound = bound(&policy, arguments, &registry, &backend);
        builder = builder.bound_backend(backend.backend(), bound);
    }
    let builder = registry.lend(builder);
    let built = super::opening::lend_runner(builder, &arguments.exec).build();
    let gate = built.map_err(CommandError::said)?;
    let options = ServeOptions {
        session: arguments.session.clone(),
        clock: arguments.clock,
        ..ServeOptions::default()
    };
    let served = serve(&gate, &options, io::stdin().lock(), &mut *console.out)?;
    Ok(if served.errors == 0 { Ending::Yes } else { Ending::CouldNotTell })
}

/// The lines go to a server, which has the policy and the sessions. A call that it does not judge is blocked.
fn ask_server(
    url: &str,
    file: &Path,
    arguments: &GateArguments,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let session = (arguments.session != "default").then(|| arguments.session.clone());
    let client = team_server::client(url, file, arguments.ca.as_deref()).map_err(CommandError::Said)?;
    let client = client.in_session(session).sending_time(arguments.clock == Clock::Lines);
    let served = client.serve(io::stdin().lock(), &mut *console.out)?;
    Ok(if served.errors == 0 { Ending::Yes } else { Ending::CouldNotTell })
}

/// The lines go to the guardian, which has the policy, the sessions and the log. A call that it does not judge is blocked.
fn ask_guardian(
    arguments: &GateArguments,
    environment: Environment,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let registry = arguments.registry.registry();
    for (option, is_given) in [
        ("--store", arguments.store != "memory"),
        ("--mode", arguments.mode != Mode::Enforce),
        ("--policy-changes", arguments.policy_changes != PolicyChanges::Hold),
        ("--exec", arguments.exec.exec),
        ("--names` or `--active", !registry.names.is_empty() || registry.active.is_some()),
    ] {
        if is_given {
            return Err(CommandError::Said(format!(
                "the guardian decides for this user, and its own settings count: leave `{option}` out"
            )));
        }
    }
    let machine = Machine::read().map_err(CommandError::said)?;
    let machine = machine.ok_or_else(|| CommandError::Said("no guardian is installed here".to_owned()))?;
    let place = (env::current_dir()?, arguments.files.clone());
    let session = arguments.session.as_str();
    let client = LineClient::new(machine, environment, place, session.to_owned());
    let served =
        serve_by(|line| guarded_answer(&client, session, line), io::stdin().lock(), &mut *console.out)?;
    Ok(if served.errors == 0 { Ending::Yes } else { Ending::CouldNotTell })
}

/// Answers one line by the word of the guardian, and says whether that is an error.
fn guarded_answer(client: &LineClient, session: &str, line: &str) -> (String, bool) {
    let error = |error: &dyn std::fmt::Display| (encode(&ErrorAnswer { error: error.to_string() }), true);
    // It is read here as well, so that a line that is not understood is answered as everywhere.
    let message = match decode(line) {
        Ok(request) => request.message,
        Err(mistake) => return error(&mistake),
    };
    let call = match message {
        Message::Call(message) => Some(message.into_call(session, now())),
        _ => None,
    };
    match (client.ask(line, call.clone()), call) {
        (Ok(answer), _) => (answer, false),
        (Err(refused), Some(call)) => {
            let reason = format!("Lockgate could not decide ({refused}), so the call is blocked.");
            (blocked_call(&call.id, &call.session, &reason), false)
        }
        (Err(refused), None) => error(&refused),
    }
}

/// What binds the sessions of the store to this policy and these arguments.
fn bound(
    policy: &lockgate::Policy,
    arguments: &GateArguments,
    registry: &Registry,
    database: &Database,
) -> BoundPolicy {
    let settings = json!({
        "mode": arguments.mode.word(),
        "protect": arguments.protect,
        "exec": arguments.exec.exec,
        "registry": { "names": registry.names, "active": registry.active },
    });
    let settings = settings.as_object().cloned().unwrap_or_default();
    let (files, store) = (arguments.files.clone(), database.file().map(Path::to_path_buf));
    database.bound_policy(policy, "gate", settings, arguments.policy_changes, move |policy, bound| {
        accepted_rulebook(policy, bound, || protection_of_files(&files, store.as_deref()))
    })
}
