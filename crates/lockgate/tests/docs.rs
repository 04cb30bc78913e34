//! The pages in `docs/` tell the truth: their stories are played, their policies load, their findings are
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
//! `refused`, `nobody`, or answers later: `answer 1 yes`. `wait 61 min` lets time pass.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use lockgate::{
    Answer, Call, Gate, Outcome, Policy, Scripted, Source, Time, Verdict,
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

/// The blocks of `jsonl` on a page are one session under the page's policy: `>` is sent, `<` is answered.
#[test]
fn the_line_protocol_answers_as_told() {
    let of_page: Vec<Block> = blocks().into_iter().filter(|it| it.place.contains("protocol.md")).collect();
    let policy = of_page.iter().find(|block| block.language == "rules").unwrap();
    let (policy, _) = Policy::read(&[Source::new("ops.rules", policy.text.as_str())]);
    let gate = Gate::new(policy.unwrap());
    let mut server = Server::new(&gate, ServeOptions::default());
    let mut lines = 0;
    for block in of_page.iter().filter(|block| block.language == "jsonl") {
        let mut answer = String::new();
        for line in block.text.lines() {
            match line.split_at(2) {
                ("> ", sent) => answer = server.answer(sent),
                (_, told) => assert_eq!(answer, told, "{}", block.place),
            }
            lines += 1;
        }
    }
    assert!(lines > 20, "the page has lost its session");
}

/// A table whose first column is `code` and whose second is `example` is a list of findings.
#[test]
fn every_finding_on_a_page_is_found() {
    let mut rows = 0;
    for (page, text) in pages() {
        let mut is_findings = false;
        for line in text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells[..] {
                ["", "code", "example", ..] => is_findings = true,
                ["", code, example, ..] if is_findings && !code.starts_with('-') => {
                    let (code, example) = (quoted(code).concat(), quoted(example).join("\n"));
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

/// A fenced block of a page.
struct Block {
    place: String,
    language: String,
    text: String,
}

fn pages() -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")];
    let mut pages = Vec::new();
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
    let name = if text.contains("kind:") { "policy.yaml" } else { "policy.rules" };
    Source::new(name, text)
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let (policy, mut findings) = Policy::read(&[source_of(text)]);
    findings.extend(policy.map(|policy| verify(&policy).1).unwrap_or_default());
    findings
}

/// Plays a story and tells where it went another way.
fn play(story: &Block) -> Vec<String> {
    let (steps, policy): (Vec<&str>, Vec<&str>) = story.text.lines().partition(|line| line.starts_with("> "));
    let (policy, diagnostics) = Policy::read(&[source_of(&policy.join("\n"))]);
    let Some(policy) = policy else {
        return vec![format!("{}\n{}", story.place, render(&diagnostics, false))];
    };
    let mut session = Played { gate: Gate::new(policy), at: Time(0), calls: 0 };
    let mut failures = Vec::new();
    for line in steps {
        let Some((step, expected)) = line.trim_start_matches("> ").split_once("  ") else {
            failures.push(format!("{}: nothing is expected of `{line}`", story.place));
            continue;
        };
        let (came, expected) = (session.step(step), expected.trim());
        // A bare word says nothing about the reasons.
        let word = came.split(':').next().unwrap_or_default();
        if came != expected && word != expected {
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
}

impl Played {
    fn step(&mut self, step: &str) -> String {
        match step.split(' ').collect::<Vec<_>>()[..] {
            ["wait", minutes, "min"] => {
                self.at = self.at.after_ms(minutes.parse::<u64>().unwrap() * 60_000);
                "later".into()
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
        match input.strip_prefix("$ ") {
            Some(script) => call = call.with("command", script),
            None => call.input = serde_json::from_str(input).unwrap(),
        }
        let answer = [("granted", Answer::Granted), ("refused", Answer::Refused), ("nobody", Answer::Nobody)]
            .into_iter()
            .find_map(|(word, answer)| words.contains(&word).then_some(answer));
        let verdict = match answer {
            Some(answer) => self.gate.call_with(&call, &mut Scripted::new([answer])),
            None => self.gate.call(&call),
        };
        if verdict.lets_pass() && !words.contains(&"runs") {
            self.gate.result(&self.outcome(&id, !words.contains(&"fails"))).unwrap();
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

/// `block: first reason | second reason`, and behind an allow what rules that observe would have said.
fn tell(verdict: &Verdict) -> String {
    let obstacles = verdict.obstacles.iter().chain(&verdict.observed);
    let reasons: Vec<&str> = obstacles.map(|obstacle| obstacle.reason.as_str()).collect();
    match &reasons[..] {
        [] => verdict.decision.word().into(),
        _ => format!("{}: {}", verdict.decision.word(), reasons.join(" | ")),
    }
}
