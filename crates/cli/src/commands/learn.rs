//! `lockgate learn`: a first policy from what agents did.
//!
//! It reads the calls that ran, drafts `allow` lines and limits that admit them, and plays every recorded session under the draft.
//! A line that would have refused a recorded call is taken out again, so the draft that is printed admits all of them. What it
//! allows besides is told: a draft is a start for its author, not a decision.

mod draft;
mod records;

use std::{fs, path::PathBuf};

use clap::Args;
use lockgate::engine::{
    Decision, Mode, Outcome, Policy, SeenCall, Session, Source,
    gate::{Human, Rulebook, SharedState, Stand, judge, settle},
    languages::{Options, load},
};
use serde::Serialize;

use self::{
    draft::{Draft, DraftLine},
    records::{RecordedSession, read_files, read_state},
};
use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) const LEARN_EXAMPLES: &str = "\
Examples:
  lockgate learn > first.rules        from the audit log of this machine
  lockgate learn log.jsonl --out first.rules
  lockgate learn --otherwise block --json | jq -r .policy

FILE is an export of the audit log, or has one call a line:
{\"session\": \"s1\", \"tool\": \"Bash\", \"input\": {\"command\": \"ls\"}}

Exit 0: the draft admits every recorded call, 1: there is none that does,
2: nothing could be read.";

#[derive(Debug, Args)]
pub(crate) struct LearnArguments {
    /// Recorded calls [default: the audit log]
    #[arg(value_name = "FILE", conflicts_with = "state")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// Write the draft to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What happens to calls that were never seen
    #[arg(long, value_name = "VERDICT", value_parser = ["ask", "block"], default_value = "ask")]
    pub(crate) otherwise: String,
}

pub(crate) fn run(
    arguments: &LearnArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (sessions, masked) = match arguments.files.is_empty() {
        true => read_state(arguments.state.state.as_deref())?,
        false => read_files(&arguments.files)?,
    };
    let calls: usize = sessions.iter().map(|session| session.calls.len()).sum();
    if calls == 0 {
        return Err(CommandError::said("no recorded call ran; let agents work under `mode observe` first"));
    }
    let mut draft = Draft::of(&sessions, &arguments.otherwise);
    let refused = admit(&mut draft, &sessions)?;
    let text = draft.text(calls, sessions.len());
    if let Some(file) = &arguments.out {
        fs::write(file, &text)
            .map_err(|error| CommandError::Said(format!("cannot write `{}`: {error}", file.display())))?;
    }
    if json {
        let lines = draft.lines.iter().map(LineAnswer::of).collect();
        let sessions = sessions.len();
        let answer = Answer {
            policy: &text,
            admits: refused.is_none(),
            refused: refused.as_deref(),
            calls,
            sessions,
            masked,
            lines,
        };
        writeln!(console.out, "{}", encode(&answer))?;
    } else {
        if arguments.out.is_none() {
            write!(console.out, "{text}")?;
        }
        say(console, &draft, (calls, sessions.len(), masked), refused.as_deref())?;
    }
    Ok(if refused.is_none() { Ending::Yes } else { Ending::No })
}

/// Takes out lines until every recorded call is let pass; says what is refused even then.
fn admit(draft: &mut Draft, sessions: &[RecordedSession]) -> Result<Option<String>, CommandError> {
    loop {
        let Some(refusal) = first_refusal(&draft.text(0, 0), sessions)? else { return Ok(None) };
        let is_guilty =
            |line: &DraftLine| refusal.lines.contains(&line.text) && !line.text.starts_with("allow ");
        let guilty: Vec<String> =
            draft.lines.iter().filter(|line| is_guilty(line)).map(|line| line.text.clone()).collect();
        guilty.iter().for_each(|line| draft.take_out(line));
        if guilty.is_empty() {
            return Ok(Some(format!("`{}`: {}", refusal.tool, refusal.reason)));
        }
    }
}

/// A recorded call that the draft does not let pass.
struct Refusal {
    tool: String,
    reason: String,
    /// The lines that object.
    lines: Vec<String>,
}

/// Plays all sessions under a draft.
fn first_refusal(text: &str, sessions: &[RecordedSession]) -> Result<Option<Refusal>, CommandError> {
    let source = Source::new("draft.rules", text);
    let options = Options { is_unlinted: true, ..Options::default() };
    let (policy, mistakes) = load(std::slice::from_ref(&source), options);
    let Some(policy) = policy else {
        let first = mistakes.first().map(ToString::to_string).unwrap_or_default();
        return Err(CommandError::Said(format!("the draft cannot be read: {first}")));
    };
    let mut rulebook = Rulebook::new(policy);
    rulebook.terms.mode = Mode::Enforce;
    for session in sessions {
        if let Some(refusal) = play(&rulebook, session, text) {
            return Ok(Some(refusal));
        }
    }
    Ok(None)
}

fn play(rulebook: &Rulebook, recorded: &RecordedSession, text: &str) -> Option<Refusal> {
    let (mut session, mut shared) = (Session::default(), SharedState::default());
    for call in &recorded.calls {
        let seen = SeenCall::from(call.clone());
        let stand = Stand { shared_state: &shared, ..Stand::from(&session) };
        let judged = judge(rulebook, stand, &seen, Human::Reachable);
        if judged.verdict.decision >= Decision::Ask {
            let rules = judged.verdict.obstacles.iter().filter_map(|obstacle| obstacle.rule);
            let line = |rule| line_of(&rulebook.policy, rule, text);
            let lines = rules.filter_map(line).collect();
            return Some(Refusal { tool: call.tool.clone(), reason: judged.verdict.reason, lines });
        }
        judged.events.iter().for_each(|event| session.apply(event));
        judged.shared.iter().for_each(|event| shared.apply(event));
        let outcome = Outcome { ok: true, at: call.at, ..Outcome::success(call) };
        let stand = Stand { shared_state: &shared, ..Stand::from(&session) };
        let settled = settle(rulebook, stand, &outcome);
        settled.events.iter().for_each(|event| session.apply(event));
        settled.shared.iter().for_each(|event| shared.apply(event));
    }
    None
}

/// The line of a draft that a rule stands in.
fn line_of(policy: &Policy, rule: lockgate::engine::policy::RuleId, text: &str) -> Option<String> {
    let place = &policy.rule(rule)?.place;
    text.lines().nth(place.line.checked_sub(1)?).map(str::to_owned)
}

fn say(
    console: &mut Console<'_>,
    draft: &Draft,
    (calls, sessions, masked): (usize, usize, usize),
    refused: Option<&str>,
) -> Result<(), CommandError> {
    let err = &mut *console.err;
    match refused {
        None => writeln!(
            err,
            "The draft admits all {calls} recorded calls of {sessions} sessions; each was played under it."
        )?,
        Some(refused) => writeln!(err, "No draft admits every recorded call. Still refused: {refused}")?,
    }
    if masked > 0 {
        writeln!(err, "{masked} of them are recorded with something masked in their inputs.")?;
    }
    writeln!(err, "It also allows:")?;
    for line in draft.lines.iter().filter(|line| !line.also.is_empty()) {
        writeln!(err, "  {:<40} {}", line.text, line.also)?;
    }
    writeln!(err, "Read it, narrow it, then check it with `lockgate verify`.")?;
    Ok(())
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    policy: &'a str,
    /// Whether every recorded call is let pass.
    admits: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    calls: usize,
    sessions: usize,
    masked: usize,
    lines: Vec<LineAnswer<'a>>,
}

#[derive(Serialize)]
struct LineAnswer<'a> {
    line: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    also_allows: &'a str,
}

impl<'a> LineAnswer<'a> {
    fn of(line: &'a DraftLine) -> Self {
        Self { line: &line.text, also_allows: &line.also }
    }
}
