//! `lockgate status`: where a saved session stands, in words.

use lockgate::{
    Gate, MemoryStore, Status,
    call::visible,
    gate::{Words, WorkflowStatus},
};

use super::check::read_session;
use crate::{
    args::StatusArguments,
    console::{CommandError, Console, Ending, bold, dim},
    protocol::{StatusAnswer, encode},
    report::note,
    serve::now,
};

pub(crate) fn run(
    arguments: &StatusArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = super::open(&arguments.policy.files)?.policy;
    let session = read_session(arguments.session.as_deref(), &policy)?;
    let built = Gate::builder(policy).store(MemoryStore::with_session("default", session)).build();
    let gate = built.map_err(CommandError::said)?;
    let status = gate.status("default", now()).map_err(CommandError::said)?;
    if json {
        writeln!(console.out, "{}", encode(&StatusAnswer::new(&status)))?;
        return Ok(Ending::Yes);
    }
    write_status(console, &status)?;
    Ok(Ending::Yes)
}

fn write_status(console: &mut Console<'_>, status: &Status) -> Result<(), CommandError> {
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    writeln!(
        console.out,
        "{} judged, {} let pass, {} in flight",
        calls(status.counts.attempts),
        status.counts.tool_calls,
        status.pending.len()
    )?;
    if let Some(reason) = &status.halted {
        note(console.out, "halted", &visible(reason))?;
    }
    for approval in &status.approvals {
        let rules = approval.rules.join(", ");
        let text = format!("{} waits for a human: {} ({rules})", approval.approval, visible(&approval.tool));
        note(console.out, "asks", &text)?;
    }
    for workflow in &status.workflows {
        write_workflow(console, workflow)?;
    }
    let of_nets = status.nets.iter().filter(|net| net.active).filter_map(|net| net.words.as_ref());
    let words: Vec<&Words> = of_nets.chain(&status.standing_words).collect();
    if !words.is_empty() {
        writeln!(console.out)?;
    }
    for words in words {
        let (word, text) = match words {
            Words::Open(text) => ("open", text),
            Words::Closed(text) => ("closed", text),
            Words::Human(text) => ("human", text),
        };
        note(console.out, word, &visible(text))?;
    }
    Ok(())
}

/// The line of stages, and below it what can be done and what is missing.
fn write_workflow(console: &mut Console<'_>, workflow: &WorkflowStatus) -> Result<(), CommandError> {
    let version = workflow.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let off = if workflow.active { "" } else { " (not active)" };
    writeln!(console.out, "\n{}{}{off}", bold(&workflow.name), dim(visible(&version)))?;
    let line = workflow.line.to_string();
    let stages = line.split_once(": ").map_or(line.as_str(), |(_, stages)| stages);
    writeln!(console.out, "    {stages}")?;
    note(console.out, "here", &workflow.line.words())?;
    if let Some(reason) = &workflow.progress.blocked_reason {
        note(console.out, "block", &visible(reason))?;
    }
    if let Some(message) = &workflow.progress.pending_approval.message {
        note(console.out, "human", &visible(message))?;
    }
    Ok(())
}
