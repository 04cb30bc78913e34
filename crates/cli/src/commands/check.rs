//! `lockgate check`: one call, from a script.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::{
    Decision, Gate, MemoryStore, Outcome, OutputDecision, Policy, SeenCall, Session,
    call::visible,
    gate::{Human, JudgedCall, SettledCall},
    policy::closest,
};
use lockgate_agents::now;
use serde::Serialize;
use serde_json::Value;

use crate::{
    arguments::{ExecArguments, KnownToolsArguments, PolicyArguments},
    console::{CommandError, Console, Ending},
    protocol::{BareCall, call_here, decode_call, encode},
    report,
};

pub(crate) const CHECK_EXAMPLES: &str = "\
Examples:
  lockgate check --call '{\"tool\": \"deploy\"}'      the policy in force
  lockgate check ops.rules \\
    --call '{\"tool\": \"bash\", \"input\": {\"command\": \"rm -rf data\"}}'
  lockgate check ops.rules --session day.json --save \\
    --call '{\"tool\": \"test\", \"ok\": true}'

Exit 0: allowed, 1: blocked or a human is asked, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The call: `tool`, and optionally `input`, `sender`, `context`, … as in a `call` line of `lockgate gate`; `ok` is
    /// its result, `at` its time in milliseconds since 1970
    #[arg(long, value_name = "JSON")]
    pub(crate) call: String,
    /// The file of a saved session; a missing file is a new session
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Save the session with this call in it
    #[arg(long, requires = "session")]
    pub(crate) save: bool,
    /// Ask every rule about the call as the first one, without a human; store nothing
    #[arg(long, conflicts_with_all = ["session", "exec"])]
    pub(crate) dry_run: bool,
    /// With --dry-run: the tool's output, as JSON or text, to see what output rules do with it
    #[arg(long, value_name = "OUTPUT", requires = "dry_run")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
}

pub(crate) fn run(
    arguments: &CheckArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = super::opening::open_telling(&arguments.policy.files, &arguments.known, console)?;
    let session = read_session(arguments.session.as_deref(), &policy.compiled())?;
    // Saved sessions keep the ids of calls in flight, so each call needs another.
    let id = format!("call-{}", session.counts().attempts + session.asked().len() as u64 + 1);
    let wrong_call = |error| {
        CommandError::Said(format!("`--call` is not a call: {error}; try --call '{{\"tool\": \"NAME\"}}'"))
    };
    let BareCall { call: message, ok, at } = decode_call(&arguments.call, &id).map_err(wrong_call)?;
    let name = message.session.clone().unwrap_or_else(|| "default".to_owned());
    let builder = Gate::builder(policy).store(MemoryStore::with_session(&name, session));
    let built = super::opening::lend_runner(builder, &arguments.exec).build();
    let gate = built.map_err(CommandError::said)?;

    if !gate.policy().concerns(&message.tool) {
        writeln!(console.err, "{}", unconcerned(gate.policy(), &message.tool))?;
    }
    let ask = message.ask;
    let call = call_here(message, &name, at.unwrap_or_else(now));
    if arguments.dry_run {
        return dry_run(arguments, json, &gate, &call, console);
    }
    let verdict = match ask {
        Human::Reachable => gate.call(&call),
        Human::Absent => gate.call_unattended(&call),
    };
    if let (Some(ok), true) = (ok, verdict.lets_pass()) {
        let outcome =
            Outcome { session: name.clone(), id: call.id.clone(), ok, at: call.at, ..Outcome::default() };
        gate.result(&outcome).map_err(CommandError::said)?;
    }
    if let (Some(file), true) = (&arguments.session, arguments.save) {
        let session = gate.session(&name).map_err(CommandError::said)?;
        write_whole(file, &session.to_json(gate.policy())).map_err(|error| cannot("write", file, &error))?;
    }

    if json {
        writeln!(console.out, "{}", encode(&JudgedCall::new(&call, &verdict)))?;
    } else {
        report::verdict(console.out, &call, &verdict)?;
    }
    Ok(match verdict.decision {
        Decision::Allow | Decision::Redact => Ending::Yes,
        Decision::Ask | Decision::Block => Ending::No,
    })
}

/// What to tell of a tool that no rule speaks of: its name may be misspelt, here or in the policy.
fn unconcerned(policy: &Policy, tool: &str) -> String {
    let mut names: Vec<&str> = policy.names().map(|name| &**name).collect();
    names.sort_unstable();
    let text = match closest(tool, names) {
        Some(near) => {
            format!("warning: no rule of this policy is about `{tool}`; the closest name in it is `{near}`")
        }
        None => format!("warning: no rule of this policy is about `{tool}`"),
    };
    visible(&text)
}

/// What every rule says to a first call, and to its output.
fn dry_run(
    arguments: &CheckArguments,
    json: bool,
    gate: &Gate,
    call: &SeenCall,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let text = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    let output = arguments.output.as_ref().map(text);
    let (verdict, looked) = gate.evaluate(call, output.as_ref());
    let outcome = Outcome::success(call);
    let result = output.is_some().then(|| SettledCall::new(&outcome, &looked));
    if json {
        let verdict = JudgedCall::new(call, &verdict);
        writeln!(console.out, "{}", encode(&DryRun { verdict, result }))?;
    } else {
        report::verdict(console.out, call, &verdict)?;
        if result.is_some() {
            let reason = looked.reason.clone().unwrap_or_default();
            report::note(console.out, "result", &format!("{} {reason}", looked.decision.word()))?;
        }
        if let Some(shown) = &looked.output {
            report::note(console.out, "output", &canonical(shown))?;
        }
    }
    let passes = verdict.lets_pass() && looked.decision < OutputDecision::Block;
    Ok(if passes { Ending::Yes } else { Ending::No })
}

#[derive(Debug, Serialize)]
struct DryRun<'a> {
    #[serde(flatten)]
    verdict: JudgedCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<SettledCall<'a>>,
}

fn canonical(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The session in a file; a fresh one without a file, or where it is not there yet.
pub(super) fn read_session(file: Option<&Path>, policy: &Policy) -> Result<Session, CommandError> {
    let Some(file) = file else { return Ok(Session::default()) };
    match fs::read_to_string(file) {
        Ok(text) => Session::from_json(&text, policy)
            .map_err(|error| CommandError::Said(format!("cannot use `{}`: {error}", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Session::default()),
        Err(error) => Err(cannot("read", file, &error)),
    }
}

/// Replaces a file at once: half a session would be a session that forgot what was spent.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_added_extension("new");
    fs::write(&beside, text)?;
    fs::rename(&beside, file)
}

fn cannot(what: &str, file: &Path, error: &io::Error) -> CommandError {
    CommandError::Said(format!("cannot {what} `{}`: {error}", file.display()))
}
