//! `lockgate explain`: why each verdict, rule by rule.
//!
//! The calls are played through a real gate, one after another, so that each is explained where the session
//! then stands. A line is a line of the protocol or a call by itself, which is settled at once. A single word that is
//! no file is the code of a finding, and its page is printed.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::RuleView;
use lockgate::engine::{
    Gate, Mode, Outcome, Policy, SeenCall, Session, Verdict,
    call::visible,
    gate::{Fires, JudgedCall, NetVerdict, NetView},
    policy::{FINDINGS, closest},
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::in_force;
use crate::{
    console::{CommandError, Console, Ending, wrong},
    pages::{PAGES, page_on},
    protocol::{BareCall, CallMessage, ErrorAnswer, Message, decode, decode_call, encode},
    report,
    serve::{Clock, ServeOptions, Server},
};

pub(crate) const EXPLAIN_USAGE: &str = "\
lockgate explain [OPTIONS] [POLICY]... <CALLS>
       lockgate explain [OPTIONS] <CODE>";

pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  lockgate explain ops.rules calls.jsonl
  lockgate explain calls.jsonl        under the policy in force
  lockgate explain dead-tool          what this finding means
  echo '{\"tool\": \"deploy\"}' | lockgate explain ops.rules -

Each line is a line of `lockgate gate`, or a call alone. A call alone succeeds
unless it says \"ok\": false. `at` sets the time, in milliseconds since 1970;
the clock starts at 0.";

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Policy files or folders [default: the policy in force in this folder], then the file of calls, or - for stdin.
    /// Or, alone, the code of a finding
    #[arg(required = true, value_name = "POLICY… CALLS | CODE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also show the rules that have no say
    #[arg(long)]
    pub(crate) all: bool,
}

pub(crate) fn run(
    arguments: &ExplainArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (calls, files) = match arguments.files.as_slice() {
        [only] if !is_file_of_calls(only) => return explain_code(only, json, console),
        [files @ .., calls] => (calls, files),
        [] => return Err(CommandError::said(CALLS_MISSING)),
    };
    let gate = Gate::new(in_force::open(files, console)?);
    let options = ServeOptions { clock: Clock::Lines, ..ServeOptions::default() };
    let mut player = Player { server: Server::new(&gate, options), gate: &gate, json, all: arguments.all };
    let mut understood = true;
    for (number, line) in lines_of(calls)?.enumerate() {
        let line =
            line.map_err(|error| CommandError::Said(format!("cannot read `{}`: {error}", calls.display())))?;
        if !line.trim().is_empty() {
            understood &= player.play(number + 1, &line, console)?;
        }
    }
    Ok(if understood { Ending::Yes } else { Ending::CouldNotTell })
}

const CALLS_MISSING: &str =
    "the calls are missing: name their file after the policy, or - to read them from stdin";

/// Whether a single word names calls, which the policy in force then judges. A policy file alone is not taken for calls.
fn is_file_of_calls(word: &Path) -> bool {
    let is_policy =
        word.extension().is_some_and(|ending| ["rules", "yaml", "yml"].iter().any(|it| ending == *it));
    word.as_os_str() == "-" || (word.is_file() && !is_policy)
}

/// Prints the page on a finding.
fn explain_code(word: &Path, json: bool, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let code = word.display().to_string();
    match page_on(&code) {
        Some(page) if json => {
            writeln!(console.out, "{}", encode(&PageAnswer { code: &code, page: &page }))?;
            Ok(Ending::Yes)
        }
        Some(page) => {
            write!(console.out, "{page}")?;
            Ok(Ending::Yes)
        }
        None if word.exists() => Err(CommandError::said(CALLS_MISSING)),
        None => Err(CommandError::Said(unknown_code(&code))),
    }
}

/// What to say to a word that is neither a file nor a code.
fn unknown_code(code: &str) -> String {
    let codes: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
    let meant = closest(code, FINDINGS);
    let meant = meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "));
    format!(
        "`{}` is neither a file nor a finding; {meant}there are pages on {}",
        visible(code),
        codes.join(", ")
    )
}

fn lines_of(calls: &Path) -> Result<io::Lines<Box<dyn BufRead>>, CommandError> {
    let reader: Box<dyn BufRead> = if calls.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(calls).map_err(|error| {
            CommandError::Said(format!(
                "cannot read `{}`: {error}; the last file is the one with the calls",
                calls.display()
            ))
        })?;
        Box::new(BufReader::new(file))
    };
    Ok(reader.lines())
}

struct Player<'a> {
    server: Server<'a>,
    gate: &'a Gate,
    json: bool,
    all: bool,
}

impl Player<'_> {
    /// Plays one line and says whether it was understood.
    fn play(&mut self, number: usize, line: &str, console: &mut Console<'_>) -> Result<bool, CommandError> {
        // A line of the protocol has no `tool` at its top, a call by itself always has.
        let is_bare =
            serde_json::from_str::<Map<String, Value>>(line).is_ok_and(|it| it.contains_key("tool"));
        if is_bare {
            return match decode_call(line, &format!("line-{number}")) {
                Ok(BareCall { call, ok, at }) => {
                    let at = self.server.moment(at);
                    self.play_call(number, call, at, Some(ok.unwrap_or(true)), console)
                }
                Err(error) => self.tell_error(number, &error.to_string(), console),
            };
        }
        match decode(line) {
            Ok(request) => match request.message {
                Message::Call(message) => {
                    let at = self.server.moment(request.at);
                    self.play_call(number, *message, at, None, console)
                }
                _ => self.play_other(number, line, console),
            },
            Err(error) => self.tell_error(number, &error.to_string(), console),
        }
    }

    fn play_call(
        &mut self,
        number: usize,
        message: CallMessage,
        at: lockgate::engine::Time,
        ok: Option<bool>,
        console: &mut Console<'_>,
    ) -> Result<bool, CommandError> {
        let ask = message.ask;
        let call = self.server.call_of(message, at);
        let before = self.gate.session(&call.session).map_err(CommandError::said)?;
        let views = self.gate.explain(&call).map_err(CommandError::said)?;
        let verdict = self.server.decide(&call, ask);
        let settled = ok.filter(|_| verdict.lets_pass());
        if let Some(ok) = settled {
            let (session, id) = (call.session.clone(), call.id.clone());
            let outcome = Outcome { session, id, ok, at, ..Outcome::default() };
            self.gate.result(&outcome).map_err(CommandError::said)?;
        }
        let views: Vec<&NetView> = views.iter().filter(|view| self.all || has_say(view)).collect();
        if self.json {
            let explained = Explained::new(number, &call, &verdict, &views, settled, self.gate.policy());
            writeln!(console.out, "{}", encode(&explained))?;
            return Ok(true);
        }
        report::call(console.out, number, &call)?;
        report::verdict(console.out, &call, &verdict)?;
        let policy = self.gate.policy();
        let effects = policy.effects(&call).words();
        if !effects.is_empty() {
            let told = effects.iter().map(|word| match word.strip_suffix('?') {
                Some(word) => format!("perhaps {word}"),
                None => word.clone(),
            });
            report::note(console.out, "does", &told.collect::<Vec<_>>().join(", "))?;
        }
        for (index, view) in views.iter().enumerate() {
            let word = if index == 0 { "rules" } else { "" };
            report::note(console.out, word, &words_of(view, policy, &before))?;
        }
        if settled == Some(false) {
            report::note(console.out, "result", "failed")?;
        }
        writeln!(console.out)?;
        Ok(true)
    }

    /// Everything but calls is answered as the gate answers it.
    fn play_other(
        &mut self,
        number: usize,
        line: &str,
        console: &mut Console<'_>,
    ) -> Result<bool, CommandError> {
        let errors = self.server.served().errors;
        let answer = self.server.answer(line);
        if self.json {
            writeln!(console.out, r#"{{"line":{number},"answer":{answer}}}"#)?;
        } else {
            writeln!(console.out, "{number:>2}  {}", visible(line.trim()))?;
            write_answer(console.out, &answer)?;
            writeln!(console.out)?;
        }
        Ok(self.server.served().errors == errors)
    }

    fn tell_error(
        &self,
        number: usize,
        error: &str,
        console: &mut Console<'_>,
    ) -> Result<bool, CommandError> {
        if self.json {
            let answer = encode(&ErrorAnswer { error: error.to_owned() });
            writeln!(console.out, r#"{{"line":{number},"answer":{answer}}}"#)?;
        }
        writeln!(console.err, "{}: line {number}: {}", wrong("error"), visible(error))?;
        Ok(false)
    }
}

fn has_say(view: &NetView) -> bool {
    match view.says {
        NetVerdict::Free | NetVerdict::Abstain => false,
        NetVerdict::Gated { .. }
        | NetVerdict::Staged { .. }
        | NetVerdict::Blocked { .. }
        | NetVerdict::Wants { .. }
        | NetVerdict::Unmet { .. } => true,
    }
}

/// What a rule says, with where its net stood when it said so.
fn words_of(view: &NetView, policy: &Policy, before: &Session) -> String {
    let deed = &view.deed;
    let says = match &view.says {
        NetVerdict::Free => format!("`{deed}` is always free"),
        NetVerdict::Abstain => "has no say".to_owned(),
        NetVerdict::Gated { transition, human, fires } => {
            let human = if human.is_some() { " once a human agrees" } else { "" };
            let later = match fires {
                Fires::AtOnce => "",
                Fires::OnSuccess => ", which fires on success",
                Fires::Never => ", which will not fire: a doubt earns nothing",
            };
            format!("lets `{deed}` pass by `{transition}`{human}{later}")
        }
        NetVerdict::Staged { stage } if stage.is_empty() => format!("`{deed}` ends it"),
        NetVerdict::Staged { stage } => format!("`{deed}` belongs to stage `{stage}`"),
        NetVerdict::Blocked { .. } => format!("blocks `{deed}`"),
        NetVerdict::Wants { decision, .. } if is_default(view, policy) => {
            format!("no rule is certainly about `{deed}`: {}", decision.word())
        }
        NetVerdict::Wants { decision, is_doubtful, .. } => {
            let applies = if *is_doubtful { "may apply" } else { "applies" };
            let wants = if RuleView::of(view, policy).mode == Mode::Observe {
                "it only observes, and would "
            } else {
                ""
            };
            format!("{applies} to `{deed}`: {wants}{}", decision.word())
        }
        NetVerdict::Unmet { fact, is_doubtful: false } => {
            format!("does not apply to `{deed}`: it asks that {fact}")
        }
        NetVerdict::Unmet { fact, is_doubtful: true } => {
            format!("does not apply to `{deed}`: it asks that {fact}, which is not known")
        }
    };
    let Some(rule) = policy.rule(view.rule) else {
        return says;
    };
    let marking = policy.net(rule.id).zip(before.marking(policy, rule.id));
    let stood = marking.map(|(rule, marking)| format!(" ({})", rule.net.marking_text(marking)));
    format!("{}{}: {says}", rule.name, stood.unwrap_or_default())
}

fn is_default(view: &NetView, policy: &Policy) -> bool {
    policy.default_clause().is_some_and(|default| default.id == view.rule)
}

/// Writes what the gate answers to anything but a call.
fn write_answer(out: &mut dyn io::Write, answer: &str) -> io::Result<()> {
    let fields: Map<String, Value> = serde_json::from_str(answer).unwrap_or_default();
    let text = |field: &str| fields.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(error) = text("error") {
        return report::note(out, "error", error);
    }
    if let Some(lines) = text("text") {
        let words = std::iter::once("nets").chain(std::iter::repeat(""));
        return words.zip(lines.lines()).try_for_each(|(word, line)| report::note(out, word, line));
    }
    let verdict = text("verdict");
    let said = match (fields.get("settled").and_then(Value::as_bool), verdict) {
        (Some(true), None | Some("allow")) => "settled",
        (Some(true), Some(verdict)) => verdict,
        (Some(false), _) => "ignored",
        (None, Some(verdict)) => verdict,
        (None, None) => return report::note(out, "done", ""),
    };
    report::note(out, said, text("reason").unwrap_or_default())?;
    for field in ["input", "output"] {
        if let Some(value) = fields.get(field) {
            report::note(out, field, &value.to_string())?;
        }
    }
    Ok(())
}

#[derive(Debug, Serialize)]
struct PageAnswer<'a> {
    code: &'a str,
    page: &'a str,
}

#[derive(Debug, Serialize)]
struct Explained<'a> {
    line: usize,
    tool: &'a str,
    input: &'a Map<String, Value>,
    /// What the call does; what it only may do ends in `?`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<String>,
    answer: JudgedCall<'a>,
    nets: Vec<RuleView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
}

impl<'a> Explained<'a> {
    fn new(
        line: usize,
        call: &'a SeenCall,
        verdict: &'a Verdict,
        views: &[&NetView],
        ok: Option<bool>,
        policy: &Policy,
    ) -> Self {
        Self {
            line,
            tool: &call.tool,
            input: &call.input,
            effects: policy.effects(call).words(),
            answer: JudgedCall::new(call, verdict),
            nets: views.iter().map(|view| RuleView::of(view, policy)).collect(),
            ok,
        }
    }
}
