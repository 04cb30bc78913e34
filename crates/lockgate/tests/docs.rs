//! The pages in `docs/`, and those at the top, tell the truth: their stories are played, their policies load, their findings are
//! found, the line protocol answers as told and their links lead somewhere. Snippets in Rust are doctests of the library.
//!
//! A story is a policy and a session in one fenced block. Lines that start with `>` are steps; two spaces
//! part what happens from what must come of it:
//!
//! ```text
//! require backup before delete
//! > delete                  block: delete requires a successful call to backup first.
//! > backup (fails)          allow
//! > backup (id 1, runs)     allow
//! > result 1 ok             settled
//! > bash $ echo backup      allow
//! ```
//!
//! A call succeeds at once unless it `fails` or `runs`; a human who is asked is `granted` (the human says yes),
//! `refused`, `nobody`, or answers later: `answer 1 yes`. `wait 61 min` and `wait 5 s` let time pass, `at
//! 2026-01-07 22:00` sets the clock (a machine in a story stands in UTC). `from ada` is the sender,
//! `context role=admin`, `principal role=admin`, `metadata k=v` and `environment staging` what the host says about the
//! call, `in other` its session, `session {…}` what the host says about the session, `cwd /desk` where calls start from
//! then on, `result 1 ok "text"` an output. A call that is let pass masked is told with its input.
//!
//! What is told may end with `…`, which stands for the rest.
//!
//! A policy may be several files, each after a line `== NAME`; `== NAME` and nothing below it is a file of the repository.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::tz::TimeZone;
use lockgate::{
    Answer, Call, Decision, Gate, Outcome, OutputDecision, Policy, Scripted, Source, Time, Verdict,
    gate::ApprovalId,
    policy::{Diagnostic, render, verify},
};
use lockgate_cli::{ServeOptions, Server};

#[test]
fn every_story_plays_as_told() {
    let stories: Vec<Block> = blocks().into_iter().filter(|block| block.language == "story").collect();
    assert!(stories.len() > 10, "the pages have lost their stories");
    let failures: Vec<String> = stories.iter().flat_map(play).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_policy_on_a_page_loads() {
    let is_policy = |block: &Block| ["rules", "yaml", "json"].contains(&block.language.as_str());
    let policies: Vec<Block> = blocks().into_iter().filter(is_policy).collect();
    assert!(!policies.is_empty(), "the pages have lost their policies");
    for block in policies {
        let (policy, diagnostics) = Policy::read(&[source_of(&block.text)]);
        assert!(policy.is_some(), "{}\n{}", block.place, render(&diagnostics, false));
    }
}

/// The blocks of `jsonl` on a page are one session under the policy above them: `>` is sent, `<` is answered.
#[test]
fn the_line_protocol_answers_as_told() {
    let of_page: Vec<Block> = blocks().into_iter().filter(|it| it.place.contains("protocol.md")).collect();
    let is_policy = |block: &&Block| ["rules", "yaml"].contains(&block.language.as_str());
    let mut lines = 0;
    for policy in of_page.iter().filter(is_policy) {
        let name = if policy.language == "rules" { "ops.rules" } else { "mail.yaml" };
        let (read, diagnostics) = Policy::read(&[Source::new(name, policy.text.as_str())]);
        let gate = Gate::new(read.unwrap_or_else(|| panic!("{}", render(&diagnostics, false))));
        let mut server = Server::new(&gate, ServeOptions::default());
        let below = of_page.iter().skip_while(|block| block.place != policy.place).skip(1);
        for block in below.take_while(|block| !is_policy(block)).filter(|block| block.language == "jsonl") {
            let mut answer = String::new();
            for line in block.text.lines() {
                match line.split_at(2) {
                    ("> ", sent) => answer = server.answer(sent),
                    (_, told) => assert_eq!(answer, told, "{}", block.place),
                }
                lines += 1;
            }
        }
    }
    assert!(lines > 40, "the page has lost its sessions");
}

/// A table whose first column is `code` and whose second is `example` is a list of findings; `in a ruleset`, the example
/// is a rule or a key of one, `in a workflow` a stage.
#[test]
fn every_finding_on_a_page_is_found() {
    let mut rows = 0;
    for (page, text) in pages() {
        let (mut is_findings, mut head) = (false, "");
        for line in text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells[..] {
                ["", "code", "example", ..] => (is_findings, head) = (true, ""),
                ["", "code", "in a ruleset", ..] => (is_findings, head) = (true, RULESET_HEAD),
                ["", "code", "in a workflow", ..] => (is_findings, head) = (true, WORKFLOW_HEAD),
                ["", code, example, ..] if is_findings && !code.starts_with('-') => {
                    let (code, example) = (quoted(code).concat(), quoted(example).join("\n"));
                    let items = if head == WORKFLOW_HEAD { "stages:\n" } else { "rules:\n" };
                    let is_item = !head.is_empty() && example.starts_with("- ");
                    let example = format!("{head}{}{example}", if is_item { items } else { "" });
                    let codes: Vec<&str> = findings(&example).iter().map(|it| it.code).collect();
                    assert!(
                        codes.contains(&code.as_str()),
                        "{}: `{code}` is not among {codes:?}",
                        page.display()
                    );
                    rows += 1;
                }
                _ => is_findings &= line.starts_with('|'),
            }
        }
    }
    assert!(rows > 20, "the pages have lost their findings");
}

#[test]
fn every_link_leads_somewhere() {
    for (page, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let folder = page.parent().unwrap();
            let is_elsewhere = file.is_empty() || file.contains("://");
            assert!(is_elsewhere || folder.join(file).exists(), "{}: {target}", page.display());
        }
    }
}

/// What every ruleset begins with.
const RULESET_HEAD: &str =
    "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: a}\ndefaults: {mode: enforce}\n";

/// What every workflow begins with.
const WORKFLOW_HEAD: &str = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: a}\n";

/// A fenced block of a page.
struct Block {
    place: String,
    language: String,
    text: String,
}

fn pages() -> Vec<(PathBuf, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![top.join("docs")];
    let mut pages = Vec::new();
    for name in ["README.md", "SECURITY.md"] {
        let path = top.join(name);
        let text = fs::read_to_string(&path).unwrap();
        pages.push((path, text));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(&path).unwrap();
                pages.push((path, text));
            }
        }
    }
    pages
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for (page, text) in pages() {
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    let place = format!("{}:{}", page.display(), number + 1);
                    open = Some(Block { place, language: language.into(), text: String::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.text.push_str(&format!("{line}\n")),
                (None, None) => {}
            }
        }
    }
    blocks
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn source_of(text: &str) -> Source {
    // No statement of a line starts with a word and a colon.
    let is_key = |line: &str| line.split_once(':').is_some_and(|(key, _)| !key.contains([' ', '/', '#']));
    let is_yaml = text.starts_with('{') || text.lines().any(is_key);
    Source::new(if is_yaml { "policy.yaml" } else { "policy.rules" }, text)
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let (policy, mut findings) = Policy::read(&[source_of(text)]);
    findings.extend(policy.map(|policy| verify(&policy).1).unwrap_or_default());
    findings
}

/// The files of a story.
fn files_of(lines: &[&str]) -> Vec<Source> {
    let mut files: Vec<(Option<&str>, String)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("== "), files.last_mut()) {
            (Some(name), _) => files.push((Some(name), String::new())),
            (None, Some((_, text))) => text.push_str(&format!("{line}\n")),
            (None, None) => files.push((None, format!("{line}\n"))),
        }
    }
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |(name, text): (Option<&str>, String)| match name {
        Some(name) if text.is_empty() => Source::new(name, fs::read_to_string(top.join(name)).unwrap()),
        Some(name) => Source::new(name, text),
        None => source_of(&text),
    };
    files.into_iter().map(file).collect()
}

/// Plays a story and tells where it went another way.
fn play(story: &Block) -> Vec<String> {
    let (steps, policy): (Vec<&str>, Vec<&str>) = story.text.lines().partition(|line| line.starts_with("> "));
    let (policy, diagnostics) = Policy::read(&files_of(&policy));
    let Some(policy) = policy else {
        return vec![format!("{}\n{}", story.place, render(&diagnostics, false))];
    };
    let gate = Gate::builder(policy).zone(TimeZone::UTC).build().unwrap();
    let mut session = Played { gate, at: Time(0), calls: 0, cwd: None };
    let mut failures = Vec::new();
    for line in steps {
        let Some((step, expected)) = line.trim_start_matches("> ").split_once("  ") else {
            failures.push(format!("{}: nothing is expected of `{line}`", story.place));
            continue;
        };
        let (came, expected) = (session.step(step), expected.trim());
        // A bare word says nothing about the reasons.
        let word = came.split(':').next().unwrap_or_default();
        let is_beginning = expected.strip_suffix('…').is_some_and(|start| came.starts_with(start));
        if came != expected && word != expected && !is_beginning {
            failures.push(format!("{}: `{step}`\n  told  {expected}\n  came  {came}", story.place));
        }
    }
    failures
}

/// A session that is being played.
struct Played {
    gate: Gate,
    at: Time,
    calls: usize,
    cwd: Option<String>,
}

impl Played {
    fn step(&mut self, step: &str) -> String {
        match step.split(' ').collect::<Vec<_>>()[..] {
            ["wait", minutes, "min"] => {
                self.at = self.at.after_ms(minutes.parse::<u64>().unwrap() * 60_000);
                "later".into()
            }
            ["wait", seconds, "s"] => {
                self.at = self.at.after_ms(seconds.parse::<u64>().unwrap() * 1000);
                "later".into()
            }
            ["at", day, time] => {
                let moment: jiff::civil::DateTime = format!("{day}T{time}").parse().unwrap();
                let moment = moment.to_zoned(TimeZone::UTC).unwrap().timestamp().as_millisecond();
                self.at = Time(u64::try_from(moment).unwrap());
                "later".into()
            }
            ["session", ..] => {
                let attributes = serde_json::from_str(step.trim_start_matches("session ")).unwrap();
                self.gate.describe("default", attributes).unwrap();
                "known".into()
            }
            ["cwd", folder] => {
                self.cwd = Some(folder.into());
                "known".into()
            }
            ["untaint"] => {
                self.gate.untaint("default").unwrap();
                "open".into()
            }
            ["result", id, how, _, ..] => {
                let text = step.splitn(4, ' ').last().unwrap();
                let output = Some(serde_json::from_str(text).unwrap());
                let settled = self.gate.result(&Outcome { output, ..self.outcome(id, how == "ok") }).unwrap();
                let reason = settled.reason.unwrap_or_default();
                match (settled.decision, settled.output) {
                    (OutputDecision::Allow, _) => "allow".into(),
                    (OutputDecision::Redact, Some(output)) => format!("redact: {output}"),
                    (decision, _) => format!("{}: {reason}", decision.word()),
                }
            }
            ["result", id, how] => {
                let settlement = self.gate.result(&self.outcome(id, how == "ok")).unwrap();
                if settlement.settled {
                    "settled".into()
                } else {
                    format!("ignored: {}", settlement.reason.unwrap())
                }
            }
            ["answer", id, how] => match self.question_about(id) {
                Some(question) => tell(&self.gate.answer(&question, how == "yes", self.at).unwrap()),
                None => "no question".into(),
            },
            _ => self.call(step),
        }
    }

    fn call(&mut self, step: &str) -> String {
        let (step, words) = match step.strip_suffix(')').and_then(|step| step.rsplit_once(" (")) {
            Some((step, words)) => (step, words.split(", ").collect()),
            None => (step, Vec::new()),
        };
        self.calls += 1;
        let named = words.iter().find_map(|word| word.strip_prefix("id "));
        let id = named.map_or_else(|| format!("call {}", self.calls), str::to_owned);
        let (tool, input) = step.split_once(' ').unwrap_or((step, "{}"));
        let mut call = Call::new(&id, tool).at(self.at);
        call.about.cwd = self.cwd.clone();
        match input.strip_prefix("$ ") {
            Some(script) => call = call.with("command", script),
            None => call.input = serde_json::from_str(input).unwrap(),
        }
        for word in &words {
            match word.split_once(' ') {
                Some(("from", name)) => call.about.sender = Some(name.into()),
                Some(("in", session)) => call.session = session.into(),
                Some(("context", said)) => say(&mut call.about.context, said),
                Some(("principal", said)) => say(&mut call.about.principal, said),
                Some(("metadata", said)) => say(&mut call.about.metadata, said),
                Some(("environment", name)) => call.about.environment = Some(name.into()),
                _ => {}
            }
        }
        let answer = [("granted", Answer::Granted), ("refused", Answer::Refused), ("nobody", Answer::Nobody)]
            .into_iter()
            .find_map(|(word, answer)| words.contains(&word).then_some(answer));
        let verdict = match answer {
            Some(answer) => self.gate.call_with(&call, &mut Scripted::new([answer])),
            None => self.gate.call(&call),
        };
        if verdict.lets_pass() && !words.contains(&"runs") {
            let outcome = self.outcome(&id, !words.contains(&"fails"));
            self.gate.result(&Outcome { session: call.session, ..outcome }).unwrap();
        }
        tell(&verdict)
    }

    fn outcome(&self, id: &str, ok: bool) -> Outcome {
        Outcome { session: "default".into(), id: id.into(), ok, at: self.at, ..Outcome::default() }
    }

    fn question_about(&self, id: &str) -> Option<ApprovalId> {
        let status = self.gate.status("default", self.at).unwrap();
        status.approvals.into_iter().find(|asked| asked.id == id).map(|asked| asked.approval)
    }
}

/// Takes in that something is so: `role=admin`.
fn say(about: &mut Option<serde_json::Value>, said: &str) {
    let (key, value) = said.split_once('=').unwrap();
    about.get_or_insert_with(|| serde_json::json!({}))[key] = value.into();
}

/// `block: first reason | second reason`, behind an allow what rules that observe would have said, and behind a
/// redact the input that is left.
fn tell(verdict: &Verdict) -> String {
    if let (Decision::Redact, Some(input)) = (verdict.decision, &verdict.input) {
        return format!("redact: {}", serde_json::Value::Object((**input).clone()));
    }
    let obstacles = verdict.obstacles.iter().chain(&verdict.observed);
    let reasons: Vec<&str> = obstacles.map(|obstacle| obstacle.reason.as_str()).collect();
    match &reasons[..] {
        [] => verdict.decision.word().into(),
        _ => format!("{}: {}", verdict.decision.word(), reasons.join(" | ")),
    }
}
