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
//! A `finding` is a policy and, behind `>`, what `lockgate verify` says about it; `docs/findings` has one for each
//! code; `finding claude-code` is about a policy for that agent. A table of claims says under which rules each is proved, and under which it is broken.
//!
//! A policy may be several files, each after a line `== NAME`; `== NAME` and nothing below it is a file of the repository.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use jiff::tz::TimeZone;
use lockgate::engine::{
    Answer, Call, Decision, Gate, Outcome, OutputDecision, Scripted, Source, Time, Verdict,
    call::{AGENTS, agent_tools},
    gate::{ApprovalId, Rulebook},
    languages::{KnownTools, accept, check_names, render},
    policy::{Diagnostic, FINDINGS},
    prover::{prove, verify},
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
        let (policy, diagnostics) = lockgate::engine::languages::read(&[source_of(&block.text)]);
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
        let (read, diagnostics) =
            lockgate::engine::languages::read(&[Source::new(name, policy.text.as_str())]);
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

/// Too large to be shown on a page.
const WITHOUT_POLICY: [&str; 2] = ["undecided", "unknown-field"];

/// What every finding is made by: `warning("code", …)`, and where the severity is said beside it, `finding("code", …)`.
const MAKERS: [&str; 4] = ["warning(", "note(", "finding(", "find("];

/// Where the proof makes its findings, whatever their severity.
const PROOFS: [&str; 3] = ["prover/src/proof", "prover/src/workflow/proof.rs", "prover/src/played.rs"];

#[test]
fn every_finding_has_a_page_or_a_row_and_every_page_a_finding() {
    let known: BTreeSet<String> = FINDINGS.iter().map(|code| (*code).to_owned()).collect();
    assert!(FINDINGS.is_sorted() && known.len() == FINDINGS.len(), "in the order of the alphabet, each once");
    let pages_of_codes: BTreeSet<String> = pages_on_findings().into_iter().map(|(code, _)| code).collect();
    let is_row = |code: &String| {
        let row = format!("| `{code}` | `");
        pages().iter().any(|(_, text)| text.lines().any(|line| line.starts_with(&row)))
    };
    let without: Vec<&String> =
        known.iter().filter(|code| !pages_of_codes.contains(*code) && !is_row(code)).collect();
    assert!(without.is_empty(), "neither a page nor a row: {without:?}");
    let unknown: Vec<&String> = pages_of_codes.difference(&known).collect();
    assert!(unknown.is_empty(), "pages on what is never found: {unknown:?}");
    let index = fs::read_to_string(top().join("docs/findings/README.md")).unwrap();
    for code in &pages_of_codes {
        assert!(index.contains(&format!("| [{code}]({code}.md) |")), "the index has no row for `{code}`");
    }
}

/// Whoever makes a finding under a new code has to say what it means.
#[test]
fn every_code_in_the_sources_is_a_known_finding() {
    let known: BTreeSet<&str> = FINDINGS.into_iter().collect();
    let mut made = BTreeSet::new();
    for (path, text) in sources() {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let text: String = text.chars().filter(|it| !it.is_whitespace()).collect();
        let is_proof = PROOFS.iter().any(|proof| path.contains(proof));
        for maker in if is_proof { &["("][..] } else { &MAKERS[..] } {
            for rest in text.split(&format!("{maker}\"")).skip(1) {
                let code = rest.split_once("\",").map_or("", |(code, _)| code);
                let is_word = !code.is_empty() && code.chars().all(|it| it.is_ascii_lowercase() || it == '-');
                // A proof puts other small words between brackets as well; those have no hyphen.
                if known.contains(code) {
                    made.insert(code.to_owned());
                } else {
                    let is_code = is_word && (!is_proof || code.contains('-'));
                    assert!(!is_code, "{path}: `{code}` is missing in `FINDINGS`");
                }
            }
        }
    }
    let idle: Vec<&&str> = known.iter().filter(|code| !made.contains(**code)).collect();
    assert!(idle.is_empty(), "nobody makes {idle:?}");
}

#[test]
fn every_page_on_a_finding_shows_a_policy_that_has_it() {
    for (code, page) in pages_on_findings() {
        let blocks = blocks_of(&page);
        let shown: Vec<&Block> = blocks.iter().filter(|block| block.is_finding()).collect();
        assert_eq!(shown.is_empty(), WITHOUT_POLICY.contains(&code.as_str()), "{code}");
        for block in shown {
            let is_told = |line: &str| line.starts_with("> ") && line.contains(&format!("[{code}]: "));
            assert!(block.text.lines().any(is_told), "{}: what is said of `{code}`?", block.place);
        }
    }
}

#[test]
fn every_finding_is_worded_as_told() {
    let shown: Vec<Block> = blocks().into_iter().filter(Block::is_finding).collect();
    assert!(shown.len() > 30, "the pages have lost their findings");
    let mut failures = Vec::new();
    for block in shown {
        let (told, policy): (Vec<&str>, Vec<&str>) =
            block.text.lines().partition(|line| line.starts_with("> "));
        let said = all_findings(&files_of(&policy), block.language.strip_prefix("finding "));
        for line in told {
            let line = line.trim_start_matches("> ");
            if !said.iter().any(|it| it == line) {
                failures.push(format!("{}: `{line}` is not among {said:#?}", block.place));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// A table with the columns `claim`, `proved under` and `broken under`.
#[test]
fn every_claim_on_a_page_holds_where_it_is_told_to() {
    let mut rows = 0;
    for (page, text) in pages() {
        let mut is_claims = false;
        for line in text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells[..] {
                ["", "claim", "proved under", "broken under", ..] => is_claims = true,
                ["", claim, proved, broken, ..] if is_claims && !claim.starts_with('-') => {
                    let claim = quoted(claim).concat();
                    for (rules, holds) in [(proved, true), (broken, false)] {
                        let text = format!("{}\n{claim}\n", quoted(rules).join("\n"));
                        assert_eq!(claims(&text), [Some(holds)], "{}: {text}", page.display());
                    }
                    rows += 1;
                }
                _ => is_claims &= line.starts_with('|'),
            }
        }
    }
    assert!(rows > 8, "the pages have lost their claims");
}

/// The table of what `any shell` stands for is the one that maps are read by.
#[test]
fn the_shell_tools_of_every_agent_are_listed() {
    let page = fs::read_to_string(top().join("docs/rules.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| agent | its shell tools |")).skip(2);
    let told: Vec<Vec<String>> = rows.take_while(|line| line.starts_with('|')).map(quoted).collect();
    let known: Vec<Vec<String>> =
        AGENTS.iter().map(|row| row.shells().map(|(tool, _)| tool.to_owned()).collect()).collect();
    assert_eq!(told, known);
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

impl Block {
    fn is_finding(&self) -> bool {
        self.language.split(' ').next() == Some("finding")
    }
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<(PathBuf, String)> {
    let top = top();
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
    pages().iter().flat_map(blocks_of).collect()
}

fn blocks_of((page, text): &(PathBuf, String)) -> Vec<Block> {
    let mut blocks = Vec::new();
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
    blocks
}

/// Each code that has a page in `docs/findings`, with the page.
fn pages_on_findings() -> Vec<(String, (PathBuf, String))> {
    let is_of_findings = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("docs/findings"));
    let code = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let pages = pages().into_iter().filter(|(path, _)| is_of_findings(path));
    pages.map(|page| (code(&page.0), page)).filter(|(code, _)| code != "README").collect()
}

/// The sources of the rooms that make findings, with their paths.
fn sources() -> Vec<(String, String)> {
    let rooms = ["policy", "languages", "gate", "prover"];
    let mut folders: Vec<PathBuf> =
        rooms.iter().map(|room| top().join("crates").join(room).join("src")).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path.display().to_string(), text));
            }
        }
    }
    sources
}

/// What `lockgate verify` says about a policy, for an agent where one is named: its severity, its code and its message.
fn all_findings(files: &[Source], agent: Option<&str>) -> Vec<String> {
    let (policy, mut findings) = lockgate::engine::languages::read(files);
    let agents = agent.map(|agent| agent_tools(agent).unwrap()).into_iter().collect();
    check_names(&mut findings, files, &KnownTools { listed: None, agents }, policy.as_ref());
    if let Some(policy) = policy {
        findings.extend(verify(&policy).1);
        let proved = prove(&Rulebook::new(policy));
        findings.extend(proved.findings.into_iter().map(|finding| finding.diagnostic));
    }
    let (findings, _) = accept(findings, files);
    findings.iter().map(|it| format!("{}[{}]: {}", it.severity, it.code, it.message)).collect()
}

/// What becomes of the claims of a policy.
fn claims(text: &str) -> Vec<Option<bool>> {
    let (policy, diagnostics) = lockgate::engine::languages::read(&[Source::new("policy.rules", text)]);
    assert!(policy.is_some(), "{text}\n{}", render(&diagnostics, false));
    prove(&Rulebook::new(policy.unwrap())).claims.iter().map(|claim| claim.report.holds).collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn source_of(text: &str) -> Source {
    // Only examples among the statements of a line start with a word and a colon.
    let is_word = |key: &str| key != "example" && !key.contains([' ', '/', '#']);
    let is_key = |line: &str| line.split_once(':').is_some_and(|(key, _)| is_word(key));
    let is_yaml = text.starts_with('{') || text.lines().any(is_key);
    Source::new(if is_yaml { "policy.yaml" } else { "policy.rules" }, text)
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let (policy, mut findings) = lockgate::engine::languages::read(&[source_of(text)]);
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
    let top = top();
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
    let (policy, diagnostics) = lockgate::engine::languages::read(&files_of(&policy));
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
