//! Plays a page through a door and says where the answers differ from the page.
//!
//! [`play`] turns each row into lines of the line protocol, hands them to a [`Door`] and compares. Every door
//! speaks that protocol, so one page judges the library, the process and whatever comes later. Time stands
//! still except in `wait` and `at` rows. There is no retry and no tolerance: an answer is what the page says, or a
//! [`Failure`].

use std::{collections::HashMap, fmt};

use serde_json::{Value, json};

use crate::page::{CallStep, Expected, Human, Outcome, Page, PolicyFile, Row, Step, Story};

/// A way into a gate: takes protocol lines, gives protocol lines.
pub trait Door {
    /// Starts a fresh gate under this policy, with the clock of the lines.
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String>;

    /// Says one line and hears the answer.
    fn line(&mut self, line: Value) -> Result<Value, String>;
}

/// How a gate is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether it only watches.
    pub observe: bool,
}

/// A row whose answer is not what the page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The page's file name.
    pub page: String,
    /// The row's line.
    pub line: usize,
    /// What the page says.
    pub expected: String,
    /// What the door said.
    pub got: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: expected {}, got {}", self.page, self.line, self.expected, self.got)
    }
}

/// What came of playing a page.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// How many rows were played.
    pub rows: usize,
    /// Where door and page differ, from top to bottom.
    pub failures: Vec<Failure>,
}

/// Plays every story of a page, each through a freshly opened door.
pub fn play(page: &Page, door: &mut dyn Door) -> Played {
    let mut played = Played::default();
    for story in &page.stories {
        play_story(&page.name, story, door, &mut played);
    }
    played
}

/// The moment every story starts: 2026-01-01, so that no rule meets the year 1970.
const START_MS: u64 = 1_767_225_600_000;

fn play_story(page: &str, story: &Story, door: &mut dyn Door, played: &mut Played) {
    let fail = |line: usize, difference: Difference| Failure {
        page: page.into(),
        line,
        expected: difference.expected,
        got: difference.got,
    };
    if let Err(error) = door.open(&story.policy, &Options { observe: story.observe }) {
        played.failures.push(fail(story.line, differs("a policy that loads", error)));
        return;
    }
    let mut player = Player { door, at_ms: START_MS, calls: 0, approvals: HashMap::new() };
    for row in &story.rows {
        played.rows += 1;
        // A later row may well fail because of an earlier one; seeing both is worth the noise.
        let mut differences = Vec::new();
        for _ in 0..row.times {
            if let Err(broken) = player.row(row, &mut differences) {
                differences.push(broken);
            }
        }
        played.failures.extend(differences.into_iter().map(|difference| fail(row.line, difference)));
    }
}

/// What the page says and what was said instead.
struct Difference {
    expected: String,
    got: String,
}

fn differs(expected: impl Into<String>, got: impl Into<String>) -> Difference {
    Difference { expected: expected.into(), got: got.into() }
}

struct Player<'a> {
    door: &'a mut dyn Door,
    at_ms: u64,
    /// How many calls had no id of their own.
    calls: usize,
    /// The approvals the gate has asked for, by session and call id; kept, so that a page can answer twice.
    approvals: HashMap<(Option<String>, String), String>,
}

impl Player<'_> {
    /// Plays a row; the error is a difference after which the row makes no sense.
    fn row(&mut self, row: &Row, differences: &mut Vec<Difference>) -> Result<(), Difference> {
        let session = row.session.as_deref();
        // What is said about a result, and what the tool gave.
        let mut settled = None;
        let answer = match &row.step {
            Step::Call(call) => {
                let CallStep { id, tool, input, sender, context, about, human, outcome } = &**call;
                let id = id.clone().unwrap_or_else(|| self.next_id());
                let mut call = json!({"id": id, "tool": tool, "input": input});
                set(&mut call, "sender", sender.clone());
                set(&mut call, "context", context.clone());
                about.iter().for_each(|(key, value)| set(&mut call, key, Some(value.clone())));
                set(&mut call, "ask", (*human == Some(Human::Absent)).then_some("none"));
                let answer = self.say("call", call, session)?;
                let answer = self.hear(&id, session, answer)?;
                let answer = match human {
                    Some(human @ (Human::Grants | Human::Refuses)) => {
                        if verdict(&answer) != "ask" {
                            return Err(differs("a human to be asked", said(&answer)));
                        }
                        self.answer(&id, session, *human == Human::Grants)?
                    }
                    Some(Human::Absent) | None => answer,
                };
                settled = self.finish(&id, session, outcome, &answer)?;
                answer
            }
            Step::Answer { id, granted, outcome } => {
                let answer = self.answer(id, session, *granted)?;
                settled = self.finish(id, session, outcome, &answer)?;
                answer
            }
            Step::Result { id, ok, output } => {
                let mut result = json!({"id": id, "ok": ok});
                set(&mut result, "output", output.clone());
                let answer = self.say("result", result, session)?;
                settled = Some((answer.clone(), output.clone()));
                answer
            }
            Step::Wait { ms } => {
                self.at_ms += ms;
                Value::Null
            }
            Step::At { ms } => {
                self.at_ms = *ms;
                Value::Null
            }
            Step::Describe { attributes } => {
                let body = json!({"id": session.unwrap_or("default"), "attributes": attributes});
                self.say("session", body, None)?
            }
            Step::UserSays { text } => self.say("user", json!({"says": text}), session)?,
            Step::Untaint => self.say("untaint", json!({}), session)?,
            Step::Switch { net, active } => {
                let word = if *active { "activate" } else { "deactivate" };
                self.say("net", json!({ word: net }), session)?
            }
            Step::Move { workflow, stage, forgets } => {
                let word = if *forgets { "reset" } else { "set" };
                self.say("stage", json!({"workflow": workflow, word: stage}), session)?
            }
            Step::Halt { reason } => self.say("halt", json!({"reason": reason}), session)?,
            Step::Resume => self.say("resume", json!({}), session)?,
            Step::Status => Value::Null,
        };
        compare(&row.expected, &answer, differences);
        compare_result(&row.expected, settled, differences);
        if let Some(marking) = &row.expected.marking {
            let status = self.say("status", json!({}), session)?;
            compare_markings(marking, &status, differences);
        }
        if let Some(stages) = &row.expected.stage {
            let status = self.say("status", json!({}), session)?;
            compare_stages(stages, &status, differences);
        }
        Ok(())
    }

    fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("call-{}", self.calls)
    }

    /// Says one line at the present moment.
    fn say(&mut self, kind: &str, mut body: Value, session: Option<&str>) -> Result<Value, Difference> {
        set(&mut body, "session", session);
        let line = json!({ kind: body, "at": self.at_ms });
        self.door.line(line).map_err(|error| differs("an answer", error))
    }

    /// Takes in what the gate says about a call: its id, its session and the question it may ask.
    fn hear(&mut self, id: &str, session: Option<&str>, answer: Value) -> Result<Value, Difference> {
        if answer.get("error").is_some() {
            return Ok(answer);
        }
        if text(&answer, "id") != Some(id) {
            return Err(differs(format!("an answer about `{id}`"), answer.to_string()));
        }
        if session.is_some() && text(&answer, "session") != session {
            return Err(differs(
                format!("an answer in session `{}`", session.unwrap_or_default()),
                answer.to_string(),
            ));
        }
        if verdict(&answer) == "ask" {
            let approval =
                text(&answer, "approval").ok_or_else(|| differs("an `approval`", answer.to_string()))?;
            self.approvals.insert((session.map(Into::into), id.into()), approval.into());
        }
        Ok(answer)
    }

    fn answer(&mut self, id: &str, session: Option<&str>, granted: bool) -> Result<Value, Difference> {
        // A call nobody was asked about has no approval; the page may want to see what the gate says to that.
        let asked = self.approvals.get(&(session.map(Into::into), id.into()));
        let approval = asked.cloned().unwrap_or_else(|| id.into());
        let answer = self.say("answer", json!({"approval": approval, "granted": granted}), None)?;
        self.hear(id, session, answer)
    }

    /// Tells the result of a call that was let through, and gives what is said to it.
    fn finish(
        &mut self,
        id: &str,
        session: Option<&str>,
        outcome: &Outcome,
        answer: &Value,
    ) -> Result<Option<Settled>, Difference> {
        let passed = ["allow", "redact"].contains(&verdict(answer));
        let mut result = json!({"id": id, "ok": *outcome != Outcome::Fails});
        let given = match outcome {
            Outcome::Fails | Outcome::Runs | Outcome::Gives(_) if !passed => {
                return Err(differs("a call that runs", said(answer)));
            }
            Outcome::Succeeds | Outcome::Fails if passed => None,
            Outcome::Gives(given) => Some(given.clone()),
            _ => return Ok(None),
        };
        set(&mut result, "output", given.clone());
        let settled = self.say("result", result, session)?;
        match verdict(&settled) {
            "settled" => Ok(Some((settled, given))),
            _ => Err(differs("its result to be settled", said(&settled))),
        }
    }
}

/// What was said to a result, and what the tool had given.
type Settled = (Value, Option<Value>);

/// Adds a field to a line where there is something to add.
fn set(line: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let (Some(object), Some(value)) = (line.as_object_mut(), value) {
        object.insert(field.into(), value.into());
    }
}

fn text<'a>(answer: &'a Value, field: &str) -> Option<&'a str> {
    answer.get(field).and_then(Value::as_str)
}

/// The word a page uses for an answer.
fn verdict(answer: &Value) -> &str {
    match answer.get("settled").and_then(Value::as_bool) {
        _ if answer.get("error").is_some() => "error",
        Some(true) => "settled",
        Some(false) => "ignored",
        None => text(answer, "verdict").unwrap_or("nothing"),
    }
}

/// The sentence of an answer.
fn sentence(answer: &Value) -> &str {
    text(answer, "error").or_else(|| text(answer, "reason")).unwrap_or_default()
}

/// Verdict and sentence, for a message.
fn said(answer: &Value) -> String {
    match sentence(answer) {
        "" => format!("`{}`", verdict(answer)),
        sentence => format!("`{}`: {sentence}", verdict(answer)),
    }
}

fn compare(expected: &Expected, answer: &Value, differences: &mut Vec<Difference>) {
    match &expected.verdict {
        Some(word) if word != verdict(answer) => differences.push(differs(format!("`{word}`"), said(answer))),
        None if verdict(answer) == "error" => differences.push(differs("no error", said(answer))),
        _ => {}
    }
    if let Some(because) = &expected.because
        && !because.fits(sentence(answer))
    {
        differences.push(differs(format!("because `{because}`"), format!("`{}`", sentence(answer))));
    }
    // A promise of the protocol, so it is checked on every row: the reason is the first obstacle's.
    let leading = answer.pointer("/obstacles/0").and_then(|obstacle| text(obstacle, "reason"));
    if leading.is_some_and(|leading| leading != sentence(answer)) {
        differences.push(differs("the first obstacle's reason", said(answer)));
    }
    let place = |obstacle: &Value| {
        let line = obstacle.get("line").and_then(Value::as_u64).unwrap_or_default();
        format!("{}:{line}", text(obstacle, "file").unwrap_or_default())
    };
    let rule = |obstacle: &Value| text(obstacle, "rule").unwrap_or_default().to_owned();
    let name = |name: &Value| name.as_str().unwrap_or_default().to_owned();
    let mut same = |what: &str, expected: &Option<Vec<String>>, got: Vec<String>| match expected {
        Some(expected) if *expected != got => {
            differences.push(differs(format!("{what} `{}`", named(expected)), format!("`{}`", named(&got))));
        }
        _ => {}
    };
    same("rule", &expected.rule, listed(answer, "obstacles", rule));
    same("where", &expected.place, listed(answer, "obstacles", place));
    same("observed", &expected.observed, listed(answer, "observed", rule));
    same("next", &expected.next, listed(answer, "next", name));
    same("allowed by", &expected.allowed_by, listed(answer, "allowed_by", name));
    let leading = answer.get("obstacles").and_then(|obstacles| obstacles.get(0));
    same("tags", &expected.tags, leading.map_or_else(Vec::new, |leading| listed(leading, "tags", name)));
    same("deeds", &expected.deeds.clone().map(as_set), as_set(listed(answer, "deeds", deed)));
    if let Some(input) = &expected.input
        && answer.get("input") != Some(input)
    {
        let got = answer.get("input").map_or_else(|| "none".into(), Value::to_string);
        differences.push(differs(format!("input `{input}`"), format!("`{got}`")));
    }
}

/// What may be passed on: what the answer has instead, or else what the tool gave.
fn compare_result(expected: &Expected, settled: Option<Settled>, differences: &mut Vec<Difference>) {
    let (answer, given) = settled.unwrap_or_default();
    if let Some(word) = &expected.result
        && text(&answer, "verdict") != Some(word)
    {
        let got = text(&answer, "verdict").unwrap_or("nothing");
        differences.push(differs(format!("result `{word}`"), format!("`{got}`")));
    }
    if let Some(output) = &expected.output {
        let shown = answer.get("output").cloned().or(given).unwrap_or_default();
        if shown != *output {
            differences.push(differs(format!("output `{output}`"), format!("`{shown}`")));
        }
    }
}

/// A deed as pages write it: a name, with `?` where it is only possible.
fn deed(deed: &Value) -> String {
    let doubt = if deed.get("certain").and_then(Value::as_bool) == Some(true) { "" } else { "?" };
    format!("{}{doubt}", text(deed, "name").unwrap_or_default())
}

fn listed(answer: &Value, field: &str, write: impl Fn(&Value) -> String) -> Vec<String> {
    answer.get(field).and_then(Value::as_array).into_iter().flatten().map(write).collect()
}

/// A script may do the same thing twice and in an order that is its own affair.
fn as_set(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

fn named(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Looks for each expected line among the nets, and for the same net in the status text.
fn compare_markings(expected: &[String], status: &Value, differences: &mut Vec<Difference>) {
    let nets = listed(status, "nets", marking);
    let lines: Vec<&str> = text(status, "text").unwrap_or_default().lines().map(str::trim_end).collect();
    for line in expected {
        if !nets.contains(line) {
            differences.push(differs(format!("marking `{line}`"), format!("`{}`", nets.join("; "))));
            continue;
        }
        let (name, tokens) = line.split_once(':').unwrap_or((line, ""));
        let name = name.trim_end_matches(" (inactive)");
        if !lines.iter().any(|text| text.starts_with(name) && text.ends_with(tokens)) {
            differences.push(differs(format!("status text `{line}`"), format!("`{}`", lines.join("; "))));
        }
    }
}

/// A net as pages write it: `name: place:count, …`, zero places left out, ` (inactive)` after the name.
fn marking(net: &Value) -> String {
    let tokens = net.get("marking").and_then(Value::as_object).into_iter().flatten();
    let tokens: Vec<_> = tokens
        .filter(|(_, count)| count.as_u64() != Some(0))
        .map(|(place, count)| format!("{place}:{count}"))
        .collect();
    let inactive = if net.get("active").and_then(Value::as_bool) == Some(false) { " (inactive)" } else { "" };
    format!("{}{inactive}: {}", text(net, "name").unwrap_or_default(), tokens.join(", "))
        .trim_end()
        .to_owned()
}

/// Looks for each expected line among the workflows.
fn compare_stages(expected: &[String], status: &Value, differences: &mut Vec<Difference>) {
    let stages = listed(status, "workflows", stage);
    for line in expected.iter().filter(|line| !stages.contains(line)) {
        differences.push(differs(format!("stage `{line}`"), format!("`{}`", stages.join("; "))));
    }
}

/// A workflow as pages write it: `workflow: stage`, and `finished` after the last one.
fn stage(workflow: &Value) -> String {
    let stage = text(workflow, "active_stage").filter(|stage| !stage.is_empty()).unwrap_or("finished");
    format!("{}: {stage}", text(workflow, "name").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A door that says what it was told to say, and remembers what it was asked.
    struct Fake {
        answers: Vec<Value>,
        heard: Vec<Value>,
    }

    impl Door for Fake {
        fn open(&mut self, _: &[PolicyFile], _: &Options) -> Result<(), String> {
            Ok(())
        }

        fn line(&mut self, line: Value) -> Result<Value, String> {
            self.heard.push(line);
            if self.answers.is_empty() {
                Err("the door has closed".into())
            } else {
                Ok(self.answers.remove(0))
            }
        }
    }

    fn play_table(table: &str, answers: &[Value]) -> (String, Vec<Value>) {
        let text = format!("# T\n## S\n```rules\nblock rm\n```\n{table}");
        let page = Page::parse("p.md", &text).expect("a right page");
        let mut door = Fake { answers: answers.to_vec(), heard: Vec::new() };
        let played = play(&page, &mut door);
        assert!(door.answers.is_empty(), "the runner asked too little: {:?}", door.answers);
        (played.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), door.heard)
    }

    fn allow(id: &str) -> Value {
        json!({"id": id, "session": "default", "verdict": "allow", "obstacles": [], "deeds": []})
    }

    fn block(id: &str, reason: &str) -> Value {
        let obstacles = json!([{"rule": "block-rm", "file": "policy.rules", "line": 1, "reason": reason}]);
        let deeds = json!([{"name": "rm", "certain": true}, {"name": "cp", "certain": false}]);
        json!({"id": id, "verdict": "block", "reason": reason, "obstacles": obstacles, "next": ["a"], "deeds": deeds})
    }

    fn settled(yes: bool) -> Value {
        json!({"id": "1", "session": "default", "settled": yes, "verdict": "allow"})
    }

    #[test]
    fn steps_become_lines_of_the_protocol() {
        let table = "| step |\n|---|\n| `a` |\n| wait 2 s |\n| `b {\"x\": 1}` as #7 human absent, runs, in monday |\n\
                     | `c` human grants |\n| result #7 fails in monday |\n| deactivate `n` |\n| halt `why` |\n| resume |\n\
                     | at 1970-01-01T00:00:01Z |\n| session `{\"role\": \"x\"}` |\n| untaint in monday |\n\
                     | `d` from `bot` with `{\"k\": 1}` gives `text` |\n";
        let ask = json!({"id": "call-2", "verdict": "ask", "approval": "p1"});
        let monday = json!({"id": "7", "session": "monday", "verdict": "allow"});
        let done = || json!({});
        let (failures, heard) = play_table(
            table,
            &[
                allow("call-1"),
                settled(true),
                monday,
                ask,
                allow("call-2"),
                settled(true),
                settled(true),
                done(),
                done(),
                done(),
                done(),
                done(),
                allow("call-3"),
                settled(true),
            ],
        );
        assert_eq!(failures, "");
        let heard: Vec<_> = heard.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(heard.join("\n"), @r#"
        {"call":{"id":"call-1","tool":"a","input":{}},"at":1767225600000}
        {"result":{"id":"call-1","ok":true},"at":1767225600000}
        {"call":{"id":"7","tool":"b","input":{"x":1},"ask":"none","session":"monday"},"at":1767225602000}
        {"call":{"id":"call-2","tool":"c","input":{}},"at":1767225602000}
        {"answer":{"approval":"p1","granted":true},"at":1767225602000}
        {"result":{"id":"call-2","ok":true},"at":1767225602000}
        {"result":{"id":"7","ok":false,"session":"monday"},"at":1767225602000}
        {"net":{"deactivate":"n"},"at":1767225602000}
        {"halt":{"reason":"why"},"at":1767225602000}
        {"resume":{},"at":1767225602000}
        {"session":{"id":"default","attributes":{"role":"x"}},"at":1000}
        {"untaint":{"session":"monday"},"at":1000}
        {"call":{"id":"call-3","tool":"d","input":{},"sender":"bot","context":{"k":1}},"at":1000}
        {"result":{"id":"call-3","ok":true,"output":"text"},"at":1000}
        "#);
    }

    #[test]
    fn every_cell_of_a_row_can_fail() {
        let table = "| step | verdict | because | rule | where | next | deeds | observed |\n|---|---|---|---|---|---|---|---|\n\
            | `rm` | block | no. | block-rm | policy.rules:1 | a | cp?, rm | none |\n\
            | `rm` | allow | yes. | block-cp | policy.rules:2 | none | cp, rm | block-rm |\n";
        let (failures, _) = play_table(table, &[block("call-1", "no."), block("call-2", "no.")]);
        insta::assert_snapshot!(failures, @"
        p.md:9: expected `allow`, got `block`: no.
        p.md:9: expected because `yes.`, got `no.`
        p.md:9: expected rule `block-cp`, got `block-rm`
        p.md:9: expected where `policy.rules:2`, got `policy.rules:1`
        p.md:9: expected observed `block-rm`, got `none`
        p.md:9: expected next `none`, got `a`
        p.md:9: expected deeds `cp, rm`, got `cp?, rm`
        ");
    }

    #[test]
    fn tags_can_fail_and_what_a_call_is_about_is_said() {
        let table = "| step | tags |\n|---|---|\n\
            | `a` about `{\"cwd\": \"/\", \"principal\": {\"role\": \"b\"}}` | x, y |\n| `a` | x |\n";
        let block = |id: &str| {
            let obstacles = json!([{"rule": "r", "tags": ["x", "y"]}, {"rule": "s", "tags": ["z"]}]);
            json!({"id": id, "verdict": "block", "obstacles": obstacles})
        };
        let (failures, heard) = play_table(table, &[block("call-1"), block("call-2")]);
        insta::assert_snapshot!(failures, @"p.md:9: expected tags `x`, got `x, y`");
        let call = json!({"id": "call-1", "tool": "a", "input": {}, "cwd": "/", "principal": {"role": "b"}});
        assert_eq!(heard[0]["call"], call);
    }

    #[test]
    fn what_is_masked_and_passed_on_can_fail() {
        let table = "| step | allowed by | input | result | output |\n|---|---|---|---|---|\n\
            | `a` gives `b` | x | `{\"t\": \"*\"}` | redact | `*` |\n\
            | `a` gives `b` | none | `{\"t\": \"b\"}` | block | `c` |\n\
            | `a` gives `b` | | | allow | `b` |\n";
        let redact =
            |id: &str| json!({"id": id, "verdict": "redact", "allowed_by": ["x"], "input": {"t": "*"}});
        let masked = || json!({"settled": true, "verdict": "redact", "output": "*"});
        let answers =
            [redact("call-1"), masked(), redact("call-2"), masked(), allow("call-3"), settled(true)];
        insta::assert_snapshot!(play_table(table, &answers).0, @r#"
        p.md:9: expected allowed by `none`, got `x`
        p.md:9: expected input `{"t":"b"}`, got `{"t":"*"}`
        p.md:9: expected result `block`, got `redact`
        p.md:9: expected output `"c"`, got `"*"`
        "#);
    }

    #[test]
    fn markings_are_looked_up_in_nets_and_text() {
        let table = "| step | marking |\n|---|---|\n| status | `a: ready:1`<br>`b (inactive):` |\n| status | `a: gate:1` |\n\
                     | status | `a: ready:1` |\n";
        let nets = json!([
            {"name": "a", "active": true, "marking": {"ready": 1, "gate": 0}},
            {"name": "b", "active": false, "marking": {"ready": 0}},
        ]);
        let right = json!({"nets": nets, "text": "a: ready:1\nb (inactive): "});
        let wrong = json!({"nets": nets, "text": "a: gate:1"});
        let (failures, _) = play_table(table, &[right.clone(), right, wrong]);
        insta::assert_snapshot!(failures, @"
        p.md:9: expected marking `a: gate:1`, got `a: ready:1; b (inactive):`
        p.md:10: expected status text `a: ready:1`, got `a: gate:1`
        ");
    }

    #[test]
    fn stages_are_looked_up_among_the_workflows_and_moves_are_said() {
        let table = "| step | stage |\n|---|---|\n| reset `w` to `a` | `w: a`<br>`v: finished` |\n\
                     | set `w` to `b` in monday | `w: b` |\n";
        let status =
            json!({"workflows": [{"name": "w", "active_stage": "a"}, {"name": "v", "active_stage": ""}]});
        let (failures, heard) = play_table(table, &[json!({}), status.clone(), json!({}), status]);
        insta::assert_snapshot!(failures, @"p.md:9: expected stage `w: b`, got `w: a; v: finished`");
        assert_eq!(heard[0]["stage"], json!({"workflow": "w", "reset": "a"}));
        assert_eq!(heard[2]["stage"], json!({"workflow": "w", "set": "b", "session": "monday"}));
    }

    #[test]
    fn a_row_that_makes_no_sense_fails_even_where_it_expects_nothing() {
        let table = |step: &str| format!("| step |\n|---|\n| {step} |\n");
        let cases = [
            ("`rm` human grants", vec![allow("call-1")], "p.md:8: expected a human to be asked, got `allow`"),
            (
                "`rm` runs",
                vec![block("call-1", "no.")],
                "p.md:8: expected a call that runs, got `block`: no.",
            ),
            ("`rm`", vec![json!({"error": "what?"})], "p.md:8: expected no error, got `error`: what?"),
            (
                "`rm`",
                vec![allow("call-1"), settled(false)],
                "p.md:8: expected its result to be settled, got `ignored`",
            ),
            (
                "`rm` as #1",
                vec![json!({"id": "2"})],
                "p.md:8: expected an answer about `1`, got {\"id\":\"2\"}",
            ),
            (
                "`rm`",
                vec![json!({"id": "call-1", "verdict": "ask"})],
                "p.md:8: expected an `approval`, got {\"id\":\"call-1\",\"verdict\":\"ask\"}",
            ),
            ("`rm`", vec![], "p.md:8: expected an answer, got the door has closed"),
        ];
        for (step, answers, expected) in cases {
            assert_eq!(play_table(&table(step), &answers).0, expected, "{step}");
        }
    }

    #[test]
    fn the_reason_is_always_the_first_obstacles() {
        let mut answer = block("call-1", "no.");
        answer["reason"] = "something else.".into();
        let (failures, _) = play_table("| step |\n|---|\n| `rm` |\n", &[answer]);
        insta::assert_snapshot!(failures, @"p.md:8: expected the first obstacle's reason, got `block`: something else.");
    }
}
