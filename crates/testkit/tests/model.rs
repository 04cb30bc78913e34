//! Validates the naive model before it judges the gate: against recorded sessions, against the pages of
//! `spec/` that are within its reach, and against laws that must hold whatever the rules are.

#![expect(clippy::expect_used, reason = "helpers of tests may stop a test")]

use std::{collections::BTreeMap, env, fs, path::Path};

use lockgate_testkit::{
    Door, Judged, Model, Options, Page, PolicyFile, Step, Story, Verdict,
    generate::{self, Happening},
    play, read_pages,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn the_model_agrees_with_every_recorded_session() {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let traces =
        fs::read_to_string(Path::new(&folder).join("petriflow/traces.jsonl")).expect("recorded traces");
    let mut calls = 0;
    for (number, line) in traces.lines().enumerate() {
        let trace: Value = serde_json::from_str(line).expect("a JSON line");
        let policy = trace["rules"].as_str().expect("rules");
        let mut model = Model::new(policy);
        for step in trace["steps"].as_array().expect("steps") {
            let place = format!("trace {}, {step}, policy:\n{policy}", number + 1);
            if let Some(id) = step["result"].as_str() {
                model.result(id, step["ok"] == true);
            } else {
                calls += 1;
                let judged = call_with_human(&mut model, step);
                assert_eq!(json!(judged.verdict == Verdict::Allow), step["allowed"], "{place}");
                assert_eq!(json!(judged.reason), step["reason"], "{place}");
            }
            assert_eq!(json!(model.markings()), step["marking"], "{place}");
        }
    }
    assert_eq!((traces.lines().count(), calls), (300, 5_831), "all of the recording was compared");
}

/// A recorded call, with the human answering at once.
fn call_with_human(model: &mut Model, step: &Value) -> Judged {
    let id = step["call"].as_str().expect("an id");
    let input = step["input"].as_object().expect("an input");
    let judged = model.call(id, step["tool"].as_str().expect("a tool"), input, step["human"] != "absent");
    match judged.verdict {
        Verdict::Ask => model.answer(id, step["human"] == "approves").expect("somebody was asked"),
        Verdict::Allow | Verdict::Block => judged,
    }
}

#[test]
fn the_model_answers_to_the_pages_within_its_reach() {
    let mut pages = read_pages(Path::new("../../spec")).unwrap_or_else(|mistakes| {
        panic!("{}", mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    });
    let (mut rows, mut failures) = (0, Vec::new());
    for page in &mut pages {
        page.stories.retain(is_within_reach);
        // The model says nothing about these.
        for row in page.stories.iter_mut().flat_map(|story| &mut story.rows) {
            row.expected.next = None;
            row.expected.place = None;
            row.expected.deeds = None;
        }
        let played = play(page, &mut ModelDoor::default());
        rows += played.rows;
        failures.extend(played.failures.iter().map(ToString::to_string));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(rows > 350, "only {rows} rows are within the model's reach");
}

#[test]
fn the_example_in_the_readme_is_a_page_that_holds() {
    let readme = fs::read_to_string("../../spec/README.md").expect("the readme of the pages");
    let example =
        readme.split("````").nth(1).and_then(|block| block.strip_prefix("markdown\n")).expect("an example");
    let played = play(&Page::parse("README.md", example).expect("a right page"), &mut ModelDoor::default());
    assert_eq!((played.rows, played.failures), (7, vec![]));
}

/// Neither time, halting, watching, hand-written nets nor scripts.
fn is_within_reach(story: &Story) -> bool {
    let stems: Vec<&str> = story.policy.iter().filter_map(|file| file.name.strip_suffix(".rules")).collect();
    let plain = |step: &Step| match step {
        // The model switches nets and not whole files.
        Step::Switch { net, .. } if stems.contains(&net.as_str()) => false,
        Step::Wait { .. } | Step::At { .. } | Step::Halt { .. } => false,
        Step::Call(call) => call.input.values().all(|value| match value {
            Value::String(text) => is_plain_command(text),
            other => !other.is_array() && !other.is_object(),
        }),
        _ => true,
    };
    // A tool that opens itself is two transitions of one net, which the model has as one rule.
    let opens_itself = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["require", opener, "before", tool] => opener == tool,
        _ => false,
    };
    // The model reads the short sentences alone.
    let is_read = |line: &str| match line
        .split('#')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()[..]
    {
        // It compares words, and does not know the spellings of an option.
        ["map", .., "as", _] if line.contains(" running ") && line.contains(" -") => false,
        [] | ["map", ..] | ["script", _] | ["block", _] => true,
        ["require", _, "before", _] | ["limit", _, "to", _, "per", _] => true,
        _ => false,
    };
    !story.observe
        && story.policy.iter().all(|file| file.text.lines().all(is_read))
        && !story.policy.iter().any(|file| file.text.lines().any(opens_itself))
        && story.policy.iter().all(|file| file.name.ends_with(".rules"))
        && story.rows.iter().all(|row| plain(&row.step))
}

fn is_plain_command(text: &str) -> bool {
    let is_wrapper =
        |word| ["sudo", "env", "eval", "bash", "sh", "xargs", "find", "timeout", "nohup"].contains(&word);
    !text.contains(['$', '`', ';', '|', '&', '(', '<', '\'', '"', '\\', '{'])
        && !text.split_whitespace().next().is_some_and(is_wrapper)
        // What only talks about its work earns nothing, which the model does not know.
        && !text.split_whitespace().any(|word| matches!(word, "--help" | "--version"))
}

/// The model behind the line protocol: one session each, approvals named after session and call.
#[derive(Default)]
struct ModelDoor {
    policy: Vec<String>,
    sessions: BTreeMap<String, Session>,
}

struct Session {
    model: Model,
    inactive: Vec<String>,
}

impl Door for ModelDoor {
    fn open(&mut self, policy: &[PolicyFile], _: &Options) -> Result<(), String> {
        *self =
            Self { policy: policy.iter().map(|file| file.text.clone()).collect(), sessions: BTreeMap::new() };
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let (kind, body) = line.as_object().and_then(|line| line.iter().next()).ok_or("an empty line")?;
        let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        let approval = text("approval");
        let (asked_in, asked_id) = approval.split_once('/').unwrap_or(("default", &approval));
        let name = match kind.as_str() {
            "answer" => asked_in.to_owned(),
            _ => body["session"].as_str().unwrap_or("default").to_owned(),
        };
        let fresh = || Session {
            model: Model::of_files(self.policy.iter().map(String::as_str)),
            inactive: Vec::new(),
        };
        let session = self.sessions.entry(name.clone()).or_insert_with(fresh);
        let id = text("id");
        Ok(match kind.as_str() {
            "call" => {
                let input = body["input"].as_object().cloned().unwrap_or_default();
                judged(&name, &id, &session.model.call(&id, &text("tool"), &input, body["ask"] != "none"))
            }
            "answer" => match session.model.answer(asked_id, body["granted"] == true) {
                Some(answer) => judged(&name, asked_id, &answer),
                None => json!({"error": "nobody was asked"}),
            },
            "result" => json!({"id": id, "settled": session.model.result(&id, body["ok"] == true)}),
            "net" => session.switch(body),
            "status" => session.status(),
            other => return Err(format!("the model knows no `{other}`")),
        })
    }
}

fn judged(session: &str, id: &str, judged: &Judged) -> Value {
    let verdict = match judged.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Block => "block",
    };
    let obstacles: Vec<_> = judged.obstacles.iter().map(|rule| json!({"rule": rule})).collect();
    let approval = format!("{session}/{id}");
    json!({"id": id, "session": session, "verdict": verdict, "reason": judged.reason, "obstacles": obstacles, "approval": approval})
}

impl Session {
    fn switch(&mut self, body: &Value) -> Value {
        let active = body.get("activate").is_some();
        let name = body["activate"].as_str().or(body["deactivate"].as_str()).unwrap_or_default();
        let names = self.model.rule_names();
        let actives: Vec<_> = names.iter().filter(|name| !self.inactive.contains(name)).cloned().collect();
        let is_active = actives.iter().any(|active| active == name);
        if active && !names.iter().any(|known| known == name) {
            return json!({"error": format!("Unknown net '{name}'. Available: {}", names.join(", "))});
        } else if active && is_active {
            return json!({"error": format!("'{name}' is already active")});
        } else if !active && !is_active {
            return json!({"error": format!("'{name}' is not active. Active: {}", actives.join(", "))});
        }
        self.inactive.retain(|inactive| inactive != name);
        if !active {
            self.inactive.push(name.into());
        }
        self.model.switch(name, active);
        json!({})
    }

    fn status(&self) -> Value {
        let text = self.model.markings();
        let net = |line: &str| {
            let (name, tokens) = line.split_once(": ").expect("a name and its tokens");
            let tokens = tokens.split(", ").filter_map(|token| token.split_once(':'));
            let marking: Map<_, _> =
                tokens.map(|(place, n)| (place.into(), n.parse::<u64>().expect("a count").into())).collect();
            json!({"name": name, "active": !self.inactive.iter().any(|n| n == name), "marking": marking})
        };
        json!({"nets": text.lines().map(net).collect::<Vec<_>>(), "text": text})
    }
}

/// What came of one happening, for comparison.
#[derive(Debug, PartialEq)]
enum Came {
    Judged(Judged),
    Answered(Option<Judged>),
    Settled(bool),
    Switched,
}

fn happen(model: &mut Model, happening: &Happening) -> Came {
    match happening {
        Happening::Call { id, tool, input, can_ask } => {
            Came::Judged(model.call(id, tool, input.as_object().expect("an object"), *can_ask))
        }
        Happening::Result { id, ok } => Came::Settled(model.result(id, *ok)),
        Happening::Answer { id, granted } => Came::Answered(model.answer(id, *granted)),
        Happening::Switch { rule, active } => {
            let names = model.rule_names();
            if !names.is_empty() {
                let name: &String = rule.get(&names);
                model.switch(name, *active);
            }
            Came::Switched
        }
    }
}

proptest! {
    #[test]
    fn a_refused_call_changes_nothing((policy, history) in generate::worlds()) {
        let mut model = Model::new(&policy);
        for happening in &history {
            let before = model.markings();
            if let Came::Judged(Judged { verdict: Verdict::Block, .. }) = happen(&mut model, happening) {
                prop_assert_eq!(model.markings(), before);
            }
        }
    }

    #[test]
    fn a_refusal_gives_back_all_that_was_taken((policy, history) in generate::worlds()) {
        let mut model = Model::new(&policy);
        for happening in &history {
            let before = model.markings();
            if let (Came::Judged(Judged { verdict: Verdict::Ask, .. }), Happening::Call { id, .. }) =
                (happen(&mut model, happening), happening)
            {
                let mut refused = model.clone();
                prop_assert_eq!(refused.answer(id, false).map(|judged| judged.verdict), Some(Verdict::Block));
                prop_assert_eq!(refused.markings(), before);
            }
        }
    }

    #[test]
    fn every_result_counts_once((policy, history) in generate::worlds()) {
        let mut model = Model::new(&policy);
        for happening in &history {
            let came = happen(&mut model, happening);
            if let (Came::Settled(_), Happening::Result { .. }) = (came, happening) {
                let before = model.markings();
                prop_assert_eq!(happen(&mut model, happening), Came::Settled(false));
                prop_assert_eq!(model.markings(), before);
            }
        }
    }
}

/// A generator that never reaches a verdict would let every law above pass.
#[test]
fn the_generators_reach_every_verdict_and_every_kind_of_answer() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::<String, usize>::new();
    for _ in 0..1_000 {
        let world = generate::worlds().new_tree(&mut runner).expect("a world");
        let (policy, history) = world.current();
        let mut model = Model::new(&policy);
        for happening in &history {
            let kind = match happen(&mut model, happening) {
                Came::Judged(Judged { verdict: Verdict::Block, reason: None, .. }) => "id in flight".into(),
                Came::Judged(judged) if judged.obstacles.len() > 1 => format!("several {:?}", judged.verdict),
                Came::Judged(judged) => format!("{:?}", judged.verdict),
                Came::Answered(answer) => format!("answered {:?}", answer.map(|judged| judged.verdict)),
                Came::Settled(settled) => format!("settled {settled}"),
                Came::Switched => "switched".into(),
            };
            *seen.entry(kind).or_default() += 1;
        }
    }
    let kinds = [
        "Allow",
        "Ask",
        "Block",
        "several Ask",
        "several Block",
        "id in flight",
        "answered Some(Allow)",
        "answered Some(Block)",
        "answered None",
        "settled true",
        "settled false",
        "switched",
    ];
    for kind in kinds {
        assert!(seen.get(kind).copied().unwrap_or_default() >= 5, "`{kind}` is rare: {seen:?}");
    }
}
