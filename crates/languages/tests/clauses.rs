//! The index of clauses finds exactly what a walk over all of them would find.

#![expect(clippy::panic, reason = "a helper of tests fails by panicking")]

use lockgate_call::{Call, Time};
use lockgate_policy::{Policy, Source, Surroundings, View, view::NewSession};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(text: &str) -> Policy {
    let (policy, findings) = lockgate_languages::read(&[Source::new("policy.yaml", text)]);
    policy.unwrap_or_else(|| panic!("{findings:?}\n{text}"))
}

/// What a rule may say about tools, and which of [`TOOLS`] it means.
const NAMES: &[(&str, &[&str])] = &[
    ("exec", &["exec"]),
    ("'ex*'", &["exec", "execute"]),
    ("'exec|read'", &["exec", "read"]),
    ("[read, 'ex*', exec]", &["exec", "execute", "read"]),
    ("'(?!ex).*'", &["read", "Read", "re\nad"]),
    ("'.*'", TOOLS),
    ("''", TOOLS),
];

const TOOLS: &[&str] = &["exec", "execute", "read", "Read", "re\nad"];

/// What a rule may say about arguments, and whether each of [`inputs`] fits.
const ARGS: &[(&str, [bool; 5])] = &[
    ("{}", [true; 5]),
    ("{command: {regex: 'rm +-rf'}}", [true, false, false, true, false]),
    ("{command: {contains: rm}}", [true, true, false, true, false]),
    ("{command: {contains: '.*'}}", [false, false, false, false, false]),
    ("{command: {regex: 'rm(?! -i)'}}", [true, false, false, true, false]),
    ("{command: {eq: 'rm -i'}}", [false, true, false, false, false]),
    ("{opts.path: {contains: /etc}}", [false, false, true, false, false]),
    ("{command: {exists: false}}", [false, false, true, false, true]),
];

fn inputs() -> [Value; 5] {
    [
        json!({"command": "rm  -rf /"}),
        json!({"command": "rm -i"}),
        json!({"opts": {"path": "/etc/passwd"}}),
        json!({"command": ["rm -rf"]}),
        json!({"command": null}),
    ]
}

proptest! {
    #[test]
    fn the_index_finds_what_a_walk_would_find(
        rules in prop::collection::vec((0..NAMES.len(), 0..ARGS.len()), 1..24),
        tool in 0..TOOLS.len(),
        input in 0_usize..5,
    ) {
        let line = |(number, (name, args)): (usize, &(usize, usize))| {
            let (name, args) = (NAMES[*name].0, ARGS[*args].0);
            format!("  - {{id: r{number}, when: {{tool: {name}, args: {args}}}, then: block}}\n")
        };
        let text: String = rules.iter().enumerate().map(line).collect();
        let policy = read(&format!("rules:\n{text}"));
        let tool = TOOLS[tool];
        let call = Call { input: inputs()[input].as_object().unwrap().clone(), ..Call::new("1", tool) };
        let view = View { call: &call.into(), now: Time(0), around: &Surroundings::default(), output: None, memory: &NewSession, deeds: None };
        let found: Vec<&str> = policy.applying(&view).iter().map(|it| it.clause.name.as_str()).collect();
        let meant = rules.iter().enumerate().filter(|(_, (name, args))| {
            NAMES[*name].1.contains(&tool) && ARGS[*args].1[input]
        });
        let meant: Vec<String> = meant.map(|(number, _)| format!("r{number}")).collect();
        prop_assert_eq!(found, meant, "{}", text);
    }
}

#[test]
fn a_search_in_doubt_asks_every_clause() {
    let rules: String = (0..8)
        .map(|number| {
            format!("  - {{id: r{number}, when: {{args: {{a.b: {{contains: x{number}}}}}}}, then: block}}\n")
        })
        .collect();
    let policy = read(&format!("rules:\n{rules}"));
    let call = Call::new("1", "t").with("a", "no object");
    let view = View {
        call: &call.into(),
        now: Time(0),
        around: &Surroundings::default(),
        output: None,
        memory: &NewSession,
        deeds: None,
    };
    assert_eq!(
        policy.applying(&view).len(),
        8,
        "what cannot be looked into is a doubt, and a doubt restricts"
    );
}

#[test]
fn what_may_not_be_about_a_tool_opens_nothing() {
    // The engine gives up on this name, so nobody knows whether the rule is about it.
    let hopeless = "'(?=(a+)+$)(?:a|aa)+\\\\1b?'";
    let policy = read(&format!(
        "default_verdict: block\nrules:\n  - {{id: open, when: {{tool: {hopeless}}}, then: allow}}\n  - {{id: shut, when: {{tool: {hopeless}}}, then: block}}\n"
    ));
    let call = Call::new("1", "a".repeat(5_000));
    let view = View {
        call: &call.into(),
        now: Time(0),
        around: &Surroundings::default(),
        output: None,
        memory: &NewSession,
        deeds: None,
    };
    let names: Vec<String> = policy.applying(&view).iter().map(|it| it.clause.name.clone()).collect();
    assert_eq!(names, ["shut"]);
}

#[test]
fn a_rule_says_in_words_what_it_asks_for() {
    let rows = [
        ("args: {a.b: {gt: 5}}", "`a.b` is above 5"),
        ("args: {a: rm}", "`a` matches `rm`"),
        ("session: {role: admin}", "the session's `role` is `admin`"),
        ("session: {total_calls: {lt: 0}}", "the number of calls is below 0"),
        ("sender: [ada, 'bot-*']", "the sender is `ada` or `bot-*`"),
        ("sender: {team: red}", "the sender's `team` is `red`"),
        ("context: {env: prod}", "the context's `env` is `prod`"),
        ("context: {time_of_day: '22:00-23:30'}", "it is 22:00-23:30"),
        (
            "context: {time_of_day: '10:00-10:00', day_of_week: '!Mon-Fri'}",
            "it is not Mon-Fri, and 10:00-10:00",
        ),
        ("context: {day_of_week: 'Mon,Wed,Fri'}", "it is Mon, Wed, Fri"),
        (
            "context: {time_of_day: '!00:00-12:00', day_of_week: '!Thu'}",
            "it is outside of Thu at 00:00-12:00",
        ),
        ("chain: [{tool: read, within_seconds: 60}]", "there was a call of `read` in the last 60 s"),
        (
            "chain: [{tool: read, within_seconds: 0.25, min_count: 3}]",
            "there were 3 calls of `read` in the last 0.25 s",
        ),
        (
            "chain: {ordered: true, steps: [{tool: read, within_seconds: 60}, {tool: zip, within_seconds: 9}]}",
            "the calls of `read`, `zip` came in this order, each in time",
        ),
    ];
    // A Thursday, at midnight.
    let call = Call::new("1", "t");
    let view = View {
        call: &call.into(),
        now: Time(0),
        around: &Surroundings::default(),
        output: None,
        memory: &NewSession,
        deeds: None,
    };
    for (when, words) in rows {
        let policy = read(&format!("rules:\n  - {{id: r, when: {{{when}}}, then: block}}\n"));
        let clause = &policy.clauses()[0];
        let (fact, _) = clause.unmet(&view).unwrap_or_else(|| panic!("{when} holds"));
        assert_eq!(clause.words(fact), words, "{when}");
    }
}

/// What a check rule may look for; several of each, so that searches of one field are put together.
const LOOKS: &[&str] = &[
    "{args.command: {contains: rm}}",
    "{args.command: {matches: 'rm +-rf'}}",
    "{args.command: {contains_any: [rm, dd]}}",
    "{args.command: {matches_any: ['^rm', 'x{3}']}}",
    "{all: [{args.command: {contains: rm}}, {args.path: {exists: true}}]}",
    "{any: [{args.command: {contains: rm}}, {args.path: {contains: /etc}}]}",
    "{not: {args.command: {contains: rm}}}",
    "{args.\"a b\".c: {contains: x}}",
    "{args.opts.path: {contains: /etc}}",
    "{args.command: {equals: rm}}",
];

fn looked_at() -> Vec<Value> {
    vec![
        json!({"command": "rm -rf /"}),
        json!({"command": "rm\u{200d} -rf"}),
        json!({"command": "ls", "path": "/etc/x"}),
        json!({"command": ["rm"]}),
        json!({"command": 7}),
        json!({"command": null}),
        json!({"command": ""}),
        json!({"a b": {"c": "xxx"}, "opts": {"path": "/etc"}}),
        json!({"opts": "path=/etc"}),
        json!({}),
    ]
}

proptest! {
    #[test]
    fn the_index_finds_the_check_rules_that_a_walk_would_find(
        looks in prop::collection::vec(0..LOOKS.len(), 1..30),
        input in 0_usize..10,
    ) {
        let rule = |(number, look): (usize, &usize)| {
            format!("  - {{id: r{number}, type: pre, tool: '*', when: {}, then: {{action: block, message: no}}}}\n", LOOKS[*look])
        };
        let rules: String = looks.iter().enumerate().map(rule).collect();
        let head = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n";
        let policy = read(&format!("{head}{rules}"));
        let call = Call { input: looked_at()[input].as_object().unwrap().clone(), ..Call::new("1", "t") };
        let view = View { call: &call.into(), now: Time(0), around: &Surroundings::default(), output: None, memory: &NewSession, deeds: None };
        let names = |clause: &lockgate_policy::Clause| clause.name.clone();
        let found: Vec<String> = policy.applying(&view).iter().map(|it| names(it.clause)).collect();
        let walked = policy.clauses().iter().filter(|clause| clause.applies(clause.truth(&view)));
        prop_assert_eq!(found, walked.map(names).collect::<Vec<_>>(), "{}{}", rules, looked_at()[input]);
    }
}
