//! What holds of rules together.

use lockgate_call::{Call, Time};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use lockgate_policy::{Source, Surroundings, View, view::NewSession};

const RULESET: &str =
    "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n";

/// One rule: `w` and what a when/then rule looks at, or `r` and what a ruleset does, and what it wants.
fn policy(head: &str, rules: &[(&str, &str, &str)]) -> Option<Policy> {
    let (mut when_then, mut ruleset) = (String::new(), String::new());
    for (number, (language, when, wants)) in rules.iter().enumerate() {
        match *language {
            "w" => when_then += &format!("  - {{id: w{number}, when: {{tool: t, {when}}}, then: {wants}}}\n"),
            _ => {
                let wants = if *wants == "approve" { "ask" } else { wants };
                ruleset += &format!(
                    "  - {{id: r{number}, type: pre, tool: t, when: {{{when}}}, then: {{action: {wants}, message: m}}}}\n"
                );
            }
        }
    }
    let mut sources = vec![];
    if !when_then.is_empty() || !head.is_empty() {
        let rules =
            if when_then.is_empty() { "rules: []\n".to_owned() } else { format!("rules:\n{when_then}") };
        sources.push(Source::new("w.yaml", format!("{head}{rules}")));
    }
    if !ruleset.is_empty() {
        sources.push(Source::new("r.yaml", format!("{RULESET}{ruleset}")));
    }
    lockgate_languages::read(&sources).0
}

fn read(head: &str, rules: &[(&str, &str, &str)]) -> Policy {
    policy(head, rules).unwrap_or_else(|| panic!("{rules:?}"))
}

/// The rules that close `t` together; none where they do not.
fn closing(policy: &Policy, human: Human) -> Option<Vec<String>> {
    match Classes::of(policy, "t", human)?.passing() {
        Passing::Never(rules) => {
            Some(rules.iter().filter_map(|rule| policy.rule(*rule)).map(|it| it.name.clone()).collect())
        }
        Passing::Where(_) | Passing::Unknown => None,
    }
}

fn blocks<'a>(looks: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str, &'a str)> {
    looks.iter().map(|(language, when)| (*language, *when, "block")).collect()
}

#[test]
fn rules_that_leave_out_no_call_close_the_tool() {
    let missing = ("w", "args_match: {a: {exists: false}}");
    let rows: [&[(&str, &str)]; 14] = [
        &[("w", "args_match: {a: {gt: 100}}"), ("w", "args_match: {a: {lte: 100}}"), missing],
        &[("w", "args_match: {a: {gt: 5}}"), ("w", "args_match: {a: {lt: 7}}"), missing],
        &[("w", "args_match: {a: {contains: x}}"), ("w", "args_match: {a: {not_contains: x}}"), missing],
        &[("w", "args_match: {a: {contains: x}}"), ("w", "args_match: {a: {not_contains: axb}}"), missing],
        &[
            ("w", "args_match: {a: {in: [x, y]}}"),
            ("w", "args_match: {a: {not_in: [x, y, z]}}"),
            ("w", "args_match: {a: z}"),
            missing,
        ],
        &[("w", "args_match: {a: {regex: 'x+'}}"), ("w", "args_match: {a: {not_regex: 'x+'}}"), missing],
        &[("w", "args_match: {a: {exists: true}}"), missing],
        &[("r", "args.a: {exists: true}"), ("r", "args.a: {exists: false}")],
        &[("r", "args.a: {equals: 1}"), ("r", "not: {args.a: {equals: 1}}")],
        &[("r", "args.a: {exists: true}"), missing],
        &[("r", "any: [{args.a: {exists: true}}, {args.a: {exists: false}}]")],
        &[
            ("r", "all: [{args.a: {gt: 3}}, {args.b: {contains: q}}]"),
            ("r", "not: {all: [{args.a: {gt: 3}}, {args.b: {contains: q}}]}"),
        ],
        &[("r", "args.a: {contains_any: [x, y]}"), ("r", "not: {args.a: {contains_any: [y, x]}}")],
        &[
            ("r", "principal.role: {equals: admin}"),
            ("r", "principal.role: {not_equals: admin}"),
            ("r", "principal.role: {exists: false}"),
        ],
    ];
    for rules in rows {
        let policy = read("", &blocks(rules));
        let closed = closing(&policy, Human::Reachable).unwrap_or_else(|| panic!("{rules:?}"));
        assert_eq!(closed.len(), rules.len(), "each of them is needed: {rules:?}");
    }
}

#[test]
fn rules_that_leave_out_some_call_do_not() {
    let rows: [&[(&str, &str)]; 10] = [
        // A field that is missing is neither above nor below.
        &[("w", "args_match: {a: {gt: 100}}"), ("w", "args_match: {a: {lte: 100}}")],
        &[("r", "args.a: {equals: 1}"), ("r", "args.a: {not_equals: 1}")],
        &[
            ("w", "args_match: {a: {gt: 5}}"),
            ("w", "args_match: {a: {lt: 5}}"),
            ("w", "args_match: {a: {exists: false}}"),
        ],
        &[
            ("w", "args_match: {a: {in: [x]}}"),
            ("w", "args_match: {a: {not_in: [x, y]}}"),
            ("w", "args_match: {a: {exists: false}}"),
        ],
        &[
            ("w", "args_match: {a: {contains: axb}}"),
            ("w", "args_match: {a: {not_contains: x}}"),
            ("w", "args_match: {a: {exists: false}}"),
        ],
        &[("w", "args_match: {a: {exists: true}}"), ("w", "args_match: {b: {exists: false}}")],
        // A key with dots is read otherwise by a ruleset.
        &[("w", "args_match: {a.b: {exists: true}}"), ("r", "args.a.b: {exists: false}")],
        &[
            ("w", "args_match: {a: {regex: x}}"),
            ("w", "args_match: {a: {not_regex: 'x|y'}}"),
            ("w", "args_match: {a: {exists: false}}"),
        ],
        // Whether it is one of the host's is for the host to say.
        &[("r", "env.STAGE: {exists: true}"), ("r", "env.STAGE: {exists: false}")],
        &[("w", "context: {time_of_day: '09:00-18:00'}"), ("w", "args_match: {a: {exists: true}}")],
    ];
    for rules in rows {
        assert_eq!(closing(&read("", &blocks(rules)), Human::Reachable), None, "{rules:?}");
    }
}

#[test]
fn who_asks_closes_only_where_nobody_is_there() {
    let rules = [
        ("w", "args_match: {a: {exists: true}}", "approve"),
        ("w", "args_match: {a: {exists: false}}", "block"),
    ];
    let policy = read("", &rules);
    assert_eq!(closing(&policy, Human::Reachable), None);
    assert_eq!(closing(&policy, Human::Absent), Some(vec!["w0".to_owned(), "w1".to_owned()]));
}

#[test]
fn where_silence_is_no_yes_somebody_has_to_speak() {
    let closed = "default_verdict: block\n";
    let allow = ("w", "args_match: {a: {gt: 5}}", "allow");
    let open = read(closed, &[allow]);
    assert_eq!(closing(&open, Human::Reachable), None);
    let shut = read(closed, &[allow, ("w", "args_match: {a: {gte: 0}}", "block")]);
    assert_eq!(closing(&shut, Human::Reachable).map(|rules| rules.len()), Some(2));
    let never = read(closed, &[("w", "args_match: {a: {gt: 5, lt: 3}}", "allow")]);
    assert_eq!(closing(&never, Human::Reachable).map(|rules| rules.len()), Some(1));
}

#[test]
fn no_more_is_looked_at_than_the_limits_say() {
    let missing = ("r", "args.a: {exists: false}");
    let all = |count: usize| format!("all: [{}]", vec!["{args.a: {exists: true}}"; count].join(", "));
    for (count, is_closed) in [(COMBINATIONS_MAX, true), (COMBINATIONS_MAX + 1, false)] {
        let when = all(count);
        let policy = read("", &blocks(&[("r", &when), missing]));
        assert_eq!(closing(&policy, Human::Reachable).is_some(), is_closed, "{count} combinations");
    }
    for (count, is_closed) in [(DEMANDS_MAX - 2, true), (DEMANDS_MAX - 1, false)] {
        let fields: Vec<String> = (0..count).map(|it| format!("args.f{it}: {{exists: true}}")).collect();
        let mut rules: Vec<(&str, &str)> = fields.iter().map(|when| ("r", when.as_str())).collect();
        rules.extend([missing, ("r", "args.a: {exists: true}")]);
        assert_eq!(
            closing(&read("", &blocks(&rules)), Human::Reachable).is_some(),
            is_closed,
            "{count} rules"
        );
    }
    // Fields of which no two may have the same of a few values: there are too many ways to try.
    for (fields, is_closed) in [(3, true), (7, false)] {
        let mut rules: Vec<String> = Vec::new();
        let values: Vec<String> = (1..fields).map(|it| it.to_string()).collect();
        for one in 0..fields {
            rules.push(format!("not: {{args.f{one}: {{in: [{}]}}}}", values.join(", ")));
            for other in 0..one {
                rules.extend(values.iter().map(|value| {
                    format!(
                        "all: [{{args.f{one}: {{equals: {value}}}}}, {{args.f{other}: {{equals: {value}}}}}]"
                    )
                }));
            }
        }
        let rules: Vec<(&str, &str)> = rules.iter().map(|when| ("r", when.as_str())).collect();
        assert_eq!(
            closing(&read("", &blocks(&rules)), Human::Reachable).is_some(),
            is_closed,
            "{fields} fields"
        );
    }
}

/// Tests in both languages that say something about a few values.
fn looks() -> impl Strategy<Value = (&'static str, String)> {
    let field = || select(&["a", "b"][..]);
    let value = || select(&["1", "2", "x", "xy", "true", "'1'", "[1]"][..]);
    let number = || select(&["1", "1.5", "2"][..]);
    let text = || select(&["x", "xy", "y", "1", ""][..]);
    let test = |field: &str, test: &str| format!("{field}: {{{test}}}");
    let when_then = prop_oneof![
        (select(&["gt", "gte", "lt", "lte"][..]), number()).prop_map(|(op, n)| format!("{op}: {n}")),
        (select(&["contains", "not_contains", "starts_with", "ends_with", "regex", "not_regex"][..]), text())
            .prop_map(|(op, t)| format!("{op}: '{t}'")),
        value().prop_map(|v| format!("eq: {v}")),
        (select(&["in", "not_in"][..]), vec(value(), 1..3))
            .prop_map(|(op, v)| format!("{op}: [{}]", v.join(", "))),
        any::<bool>().prop_map(|wanted| format!("exists: {wanted}")),
    ];
    let when_then = vec((field(), when_then), 1..3).prop_map(move |tests| {
        // A key may stand there once.
        let mut tests = tests;
        tests.dedup_by_key(|(field, _)| *field);
        let tests: Vec<String> = tests.iter().map(|(field, it)| test(field, it)).collect();
        ("w", format!("args_match: {{{}}}", tests.join(", ")))
    });
    let leaf = prop_oneof![
        (select(&["gt", "gte", "lt", "lte"][..]), number()).prop_map(|(op, n)| format!("{op}: {n}")),
        (select(&["contains", "starts_with", "ends_with", "matches"][..]), text())
            .prop_map(|(op, t)| format!("{op}: '{t}'")),
        vec(text(), 1..3).prop_map(|t| format!("contains_any: ['{}']", t.join("', '"))),
        (select(&["equals", "not_equals"][..]), value()).prop_map(|(op, v)| format!("{op}: {v}")),
        (select(&["in", "not_in"][..]), vec(value(), 1..3))
            .prop_map(|(op, v)| format!("{op}: [{}]", v.join(", "))),
        any::<bool>().prop_map(|wanted| format!("exists: {wanted}")),
    ];
    let leaf = (field(), leaf).prop_map(move |(field, it)| format!("args.{}", test(field, &it)));
    let ruleset = leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| format!("not: {{{part}}}")),
            (select(&["all", "any"][..]), vec(inner, 1..3))
                .prop_map(|(word, parts)| format!("{word}: [{{{}}}]", parts.join("}, {"))),
        ]
    });
    prop_oneof![when_then, ruleset.prop_map(|when| ("r", when))]
}

fn inputs() -> Vec<serde_json::Map<String, Value>> {
    let values = [
        None,
        Some(json!(null)),
        Some(json!(0)),
        Some(json!(1)),
        Some(json!(1.5)),
        Some(json!(1.7)),
        Some(json!(2)),
        Some(json!(3)),
        Some(json!("x")),
        Some(json!("xy")),
        Some(json!("y")),
        Some(json!("yx")),
        Some(json!("")),
        Some(json!("1")),
        Some(json!("1.7")),
        Some(json!("q")),
        Some(json!(true)),
        Some(json!(false)),
        Some(json!([1])),
        Some(json!(["x"])),
        Some(json!([])),
        Some(json!({"x": 1})),
        Some(json!(12)),
        Some(json!("True")),
    ];
    let mut inputs = Vec::new();
    for a in &values {
        for b in &values {
            let fields = [("a", a), ("b", b)];
            let there = fields.iter().filter_map(|(key, value)| Some(((*key).to_owned(), (*value).clone()?)));
            inputs.push(there.collect());
        }
    }
    inputs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// What is said to be closed is closed to every call.
    #[test]
    fn no_call_passes_where_none_is_said_to(rules in vec((looks(), select(&["block", "block", "approve", "allow"][..])), 1..10), is_closed in prop::bool::weighted(0.3)) {
        let rules: Vec<(&str, &str, &str)> = rules
            .iter()
            .filter(|((language, _), wants)| *language == "w" || *wants != "allow")
            .map(|((language, when), wants)| (*language, when.as_str(), *wants))
            .collect();
        // Some tests are mistakes: nothing is above an empty text.
        let policy = policy(if is_closed { "default_verdict: block\n" } else { "" }, &rules);
        prop_assume!(policy.is_some());
        let policy = policy.unwrap();
        let around = Surroundings::default();
        for human in [Human::Reachable, Human::Absent] {
            let Some(closing) = closing(&policy, human) else { continue };
            for input in inputs() {
                let call = Call { input, ..Call::new("1", "t") }.into();
                let view = View { call: &call, now: Time(0), around: &around, output: None, memory: &NewSession, deeds: None };
                let applying = policy.applying(&view);
                let is_spoken_of = applying.iter().any(|it| it.clause.speaks(it.truth));
                let default = policy.default_clause().filter(|_| !is_spoken_of);
                let mut all = applying.iter().map(|it| it.clause).chain(default);
                prop_assert!(all.any(|clause| is_refused_by(human, clause)), "{closing:?} {rules:?}\n{call:?}");
            }
        }
    }
}
