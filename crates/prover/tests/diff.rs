//! What tells two policies apart: each row is a policy, an edit of it, and what has to be told about the edit.
//!
//! Every session that is told was played by `diff` itself; here only what it says is looked at.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may stop a test")]
#![expect(clippy::disallowed_methods, reason = "the policies of examples are read from their folder")]

use std::{fs, path::Path};

use lockgate_call::Call;
use lockgate_gate::{Gate, Outcome, Rulebook};
use lockgate_policy::{Decision, Source};
use lockgate_prover::{DifferenceKind, Differences, diff};
use proptest::{prelude::*, sample::select};
use serde_json::json;

fn read(name: &str, text: &str) -> Rulebook {
    let (policy, mistakes) = lockgate_languages::read(&[Source::new(name, text)]);
    Rulebook::new(policy.unwrap_or_else(|| panic!("{mistakes:?}\n{text}")))
}

fn compare(old: &str, new: &str) -> Differences {
    diff(&read("old.yaml", old), &read("new.yaml", new)).unwrap()
}

/// What is told, in order: kind and tool; then the names of what was not decided.
fn told(differences: &Differences) -> String {
    let kind = |kind| match kind {
        DifferenceKind::NewlyAllowed => "allowed",
        DifferenceKind::NoLongerAsked => "unasked",
        DifferenceKind::NewlyAsked => "asked",
        DifferenceKind::NewlyBlocked => "blocked",
    };
    let mut told: Vec<String> =
        differences.shown.iter().map(|it| format!("{} {}", kind(it.kind), it.tool)).collect();
    told.sort();
    told.dedup();
    told.extend(
        differences
            .undecided
            .iter()
            .filter(|it| !it.is_shown)
            .map(|it| format!("undecided about {}", it.tools.join(" "))),
    );
    told.join(", ")
}

/// Compares two files a row, and says of all rows together what is told otherwise.
fn check(rows: &[(String, String, &str)]) {
    let mut otherwise = String::new();
    for (old, new, expected) in rows {
        let told = told(&compare(old, new));
        if told != *expected {
            otherwise += &format!("{old}\n{new}\ntold: {told}\nnot:  {expected}\n\n");
        }
    }
    assert!(otherwise.is_empty(), "{otherwise}");
}

/// One when/then rule.
fn when(condition: &str, verdict: &str) -> String {
    format!(
        "version: 1\nrules:\n  - id: edited\n    when:\n      {condition}\n    then: {verdict}\n    message: stop\n"
    )
}

#[test]
fn an_edited_condition_is_told_by_a_call_that_only_one_of_both_catches() {
    let args = |tests: &str| when(&format!("{{tool: send, args_match: {{{tests}}}}}"), "block");
    let plain = |condition: &str| when(&format!("{{tool: send, {condition}}}"), "block");
    let rows = [
        // Numbers.
        (args("amount: {gt: 100}"), args("amount: {gt: 200}"), "allowed send"),
        (args("amount: {gt: 200}"), args("amount: {gt: 100}"), "blocked send"),
        (args("amount: {gt: 100}"), args("amount: {gte: 100}"), "blocked send"),
        (args("amount: {lt: 5}"), args("amount: {lte: 5}"), "blocked send"),
        (args("amount: {gt: 0.5}"), args("amount: {gte: 0.5}"), "blocked send"),
        (args("amount: {gt: 1, lt: 9}"), args("amount: {gt: 1, lt: 7}"), "allowed send"),
        // Texts.
        (args("to: {regex: '^root$'}"), args("to: {regex: '^root'}"), "blocked send"),
        (args("to: {regex: 'rm'}"), args("to: {regex: 'rm|del'}"), "blocked send"),
        (args("to: {regex: 'rm\\s+-rf'}"), args("to: {regex: 'rm\\s-rf'}"), "allowed send"),
        (args("to: {regex: 'rm'}"), args("to: {regex: '(?i)rm'}"), "blocked send"),
        (args("to: {regex: '[a-f]+z'}"), args("to: {regex: '[a-g]+z'}"), "blocked send"),
        (args("to: {regex: '\\brm\\b'}"), args("to: {regex: 'rm'}"), "blocked send"),
        (args("to: {not_regex: '^ok'}"), args("to: {not_regex: '^okay'}"), "blocked send"),
        (args("to: {contains: abc}"), args("to: {contains: ab}"), "blocked send"),
        (args("to: {contains: abc}"), args("to: {starts_with: abc}"), "allowed send"),
        (args("to: {ends_with: .exe}"), args("to: {ends_with: .exe, not_contains: safe}"), "allowed send"),
        (args("to: {eq: a}"), args("to: {eq: b}"), "allowed send, blocked send"),
        (args("to: {in: [a, b]}"), args("to: {in: [a]}"), "allowed send"),
        (args("to: {not_in: [a, b]}"), args("to: {not_in: [a]}"), "blocked send"),
        (args("to: {exists: true}"), args("to: {exists: false}"), "allowed send, blocked send"),
        (args("a.b.c: {gt: 1}"), args("a.b.c: {gt: 2}"), "allowed send"),
        (args("'to[0]': {gt: 1}"), args("'to[0]': {gt: 2}"), "allowed send"),
        // Who and where.
        (plain("sender: {role: guest}"), plain("sender: {role: admin}"), "allowed send, blocked send"),
        (plain("context: {risk: high}"), plain("context: {risk: [high, medium]}"), "blocked send"),
        (plain("context: {risk: '!low'}"), plain("context: {risk: '!high'}"), "allowed send, blocked send"),
        (plain("session: {role: guest}"), plain("session: {role: intern}"), "allowed send, blocked send"),
        // When.
        (
            plain("context: {time_of_day: '09:00-18:00'}"),
            plain("context: {time_of_day: '09:00-19:00'}"),
            "blocked send",
        ),
        (plain("context: {day_of_week: 'Sat,Sun'}"), plain("context: {day_of_week: 'Sun'}"), "allowed send"),
        // What was called before.
        (
            plain("session: {total_calls: {gte: 5}}"),
            plain("session: {total_calls: {gte: 6}}"),
            "allowed send",
        ),
        (
            plain("session: {tool_count.read: {gt: 3}}"),
            plain("session: {tool_count.read: {gt: 2}}"),
            "blocked send",
        ),
        (
            plain("chain: [{tool: read, within_seconds: 60}]"),
            plain("chain: [{tool: read, within_seconds: 120}]"),
            "blocked send",
        ),
        (
            plain("chain: [{tool: read, within_seconds: 60, min_count: 3}]"),
            plain("chain: [{tool: read, within_seconds: 60, min_count: 2}]"),
            "blocked send",
        ),
        (
            plain("chain: [{tool: read, within_seconds: 60}]"),
            plain("chain: [{tool: write, within_seconds: 60}]"),
            "allowed send, blocked send",
        ),
    ];
    check(&rows);
}

#[test]
fn an_edited_rule_is_told_by_its_tools_and_by_what_it_wants() {
    let base = "{tool: send, args_match: {to: {contains: x}}}";
    let of = |tool: &str| when(&format!("{{tool: {tool}, args_match: {{to: {{contains: x}}}}}}"), "block");
    let rows = [
        (when(base, "block"), when(base, "approve"), "allowed send"),
        (when(base, "approve"), when(base, "block"), "blocked send"),
        (when(base, "approve"), when(base, "allow"), "unasked send"),
        (when(base, "allow"), when(base, "approve"), "asked send"),
        (when(base, "block"), when(base, "block").replace("message: stop", "message: never"), ""),
        (when(base, "block"), when(base, "block").replace("id: edited", "id: renamed"), ""),
        (of("[send, mail]"), of("[send]"), "allowed mail"),
        (of("[send]"), of("[send, mail]"), "blocked mail"),
        (of("'db_*'"), of("'data_*'"), "allowed db_, blocked data_"),
        (of("'*'"), of("send"), "allowed any_tool"),
        (of("[send, mail]"), of("mail"), "allowed send"),
        (of("mail"), of("[send, mail]"), "blocked send"),
    ];
    check(&rows);
}

#[test]
fn an_edited_default_is_told_by_calls_that_no_rule_speaks_of() {
    let file = |default: &str, rule: &str| format!("version: 1\ndefault_verdict: {default}\nrules:\n{rule}");
    let open = "  - {id: open, when: {tool: read, args_match: {path: {starts_with: /desk/}}}, then: allow}\n";
    let wider = open.replace("/desk/", "/de");
    let rows = [
        (file("allow", open), file("block", open), "blocked any_tool"),
        (file("block", open), file("approve", open), "allowed any_tool"),
        (file("block", open), file("block", &wider), "allowed read"),
        (file("block", &wider), file("block", open), "blocked read"),
        (file("block", open), file("block", "  []\n"), "blocked read"),
        (file("allow", open), file("allow", &wider), ""),
        (
            file("block", open),
            file("block", &format!("{open}  - {{id: shut, when: {{tool: read}}, then: block}}\n")),
            "blocked read",
        ),
        (file("block", open), file("block", open), ""),
    ];
    check(&rows);
}

#[test]
fn what_a_when_then_file_says_beside_its_rules_is_compared_too() {
    let rule = "  - {id: never, then: block, when: {tool: format_disk}}";
    let file = |text: &str| format!("version: 1\nrules:\n{rule}\n{text}");
    let rate = |max: u32, window: u32| {
        file(&format!("rate_limits:\n  - {{tool: send, max_calls: {max}, window_seconds: {window}}}\n"))
    };
    let rows = [
        (rate(5, 60), rate(6, 60), "allowed send"),
        (rate(5, 60), rate(5, 120), "blocked send"),
        (rate(5, 60), file(""), "allowed send"),
        (file("honeypots: [{name: secrets}]\n"), file(""), "allowed secrets"),
        (file(""), file("honeypots: [{name: secrets}]\n"), "blocked secrets"),
        (
            file("sanitizer: {blocked_patterns: ['drop']}\n"),
            file("sanitizer: {blocked_patterns: ['drop', 'wipe']}\n"),
            "blocked any_tool",
        ),
        (
            file("sanitizer: {max_string_length: 20}\n"),
            file("sanitizer: {max_string_length: 10}\n"),
            "blocked any_tool",
        ),
        (
            file("taint_chain: {enabled: true, outgoing_tools: [send]}\n"),
            file("taint_chain: {enabled: true, outgoing_tools: [send, mail]}\n"),
            "blocked mail",
        ),
    ];
    check(&rows);
}

/// A ruleset with one rule.
fn ruleset(rule: &str) -> String {
    format!(
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: desk}}\ndefaults: {{mode: enforce}}\nrules:\n  - {{id: edited, {rule}}}\n"
    )
}

#[test]
fn an_edited_rule_of_a_ruleset_is_told() {
    let pre = |test: &str| {
        ruleset(&format!("type: pre, tool: send, when: {{{test}}}, then: {{action: block, message: stop}}"))
    };
    let sandbox = |boundary: &str| {
        ruleset(&format!("type: sandbox, tool: send, {boundary}, outside: block, message: stop"))
    };
    let limits = |limits: &str| {
        ruleset(&format!("type: session, limits: {{{limits}}}, then: {{action: block, message: stop}}"))
    };
    let rows = [
        (pre("args.n: {gt: 100}"), pre("args.n: {gt: 200}"), "allowed send"),
        (pre("args.to: {matches: 'a+b'}"), pre("args.to: {matches: 'a*b'}"), "blocked send"),
        (pre("args.to: {matches_any: [a, b]}"), pre("args.to: {matches_any: [a]}"), "allowed send"),
        (pre("args.to: {contains_any: [a, b]}"), pre("args.to: {contains_any: [a]}"), "allowed send"),
        (pre("args.to: {equals: a}"), pre("args.to: {not_equals: a}"), "allowed send, blocked send"),
        (pre("args.to: {exists: true}"), pre("args.to: {exists: false}"), "allowed send, blocked send"),
        (pre("args.to: {in: [a, b]}"), pre("args.to: {in: [b, c]}"), "allowed send, blocked send"),
        (pre("args.to.host: {ends_with: x}"), pre("args.to.host: {ends_with: xx}"), "allowed send"),
        (
            pre("all: [{args.a: {contains: x}}, {args.b: {contains: y}}]"),
            pre("any: [{args.a: {contains: x}}, {args.b: {contains: y}}]"),
            "blocked send",
        ),
        (pre("not: {args.a: {equals: x}}"), pre("not: {args.a: {in: [x, y]}}"), "allowed send"),
        (
            pre("principal.role: {equals: guest}"),
            pre("principal.role: {in: [guest, intern]}"),
            "blocked send",
        ),
        (
            pre("principal.claims.team: {equals: a}"),
            pre("principal.claims.team: {equals: b}"),
            "allowed send, blocked send",
        ),
        (
            pre("environment: {equals: production}"),
            pre("environment: {in: [production, staging]}"),
            "blocked send",
        ),
        (pre("metadata.risk: {gte: 5}"), pre("metadata.risk: {gte: 4}"), "blocked send"),
        (pre("args.n: {gt: 100}"), pre("args.n: {gt: 100}").replace("message: stop", "message: never"), ""),
        (pre("args.n: {gt: 100}"), pre("args.n: {gt: 100}").replace("tool: send", "tool: 's*'"), "blocked s"),
        (sandbox("within: [/desk]"), sandbox("within: [/desk, /mail]"), "allowed send"),
        (sandbox("within: [/desk]"), sandbox("within: [/desk], not_within: [/desk/keys]"), "blocked send"),
        (sandbox("allows: {commands: [ls]}"), sandbox("allows: {commands: [ls, cat]}"), "allowed send"),
        (
            sandbox("allows: {domains: [a.example]}"),
            sandbox("allows: {domains: [a.example, b.example]}"),
            "allowed send",
        ),
        (limits("max_tool_calls: 5"), limits("max_tool_calls: 6"), "allowed any_tool"),
        (limits("max_attempts: 6"), limits("max_attempts: 5"), "blocked any_tool"),
        (limits("max_calls_per_tool: {send: 2}"), limits("max_calls_per_tool: {send: 3}"), "allowed send"),
    ];
    check(&rows);
}

#[test]
fn a_call_that_another_rule_keeps_closed_is_told_behind_what_opens_it() {
    let files = |amount: u32| {
        let rule = when(&format!("{{tool: send, args_match: {{amount: {{gt: {amount}}}}}}}"), "block");
        let sources = [Source::new("a.rules", "require review before send"), Source::new("b.yaml", rule)];
        Rulebook::new(lockgate_languages::read(&sources).0.unwrap())
    };
    let differences = diff(&files(100), &files(200)).unwrap();
    assert_eq!(told(&differences), "allowed send");
    let tools: Vec<&str> = differences
        .shown
        .iter()
        .flat_map(|it| &it.session)
        .flat_map(|part| &part.steps)
        .map(|step| step.call.tool.as_str())
        .collect();
    assert_eq!(tools, ["review", "send"]);
}

#[test]
fn an_edited_map_is_told() {
    let file = |pattern: &str| format!("map bash.command {pattern} as remove\nblock remove\n");
    let rulebook =
        |text: String| Rulebook::new(lockgate_languages::read(&[Source::new("a.rules", text)]).0.unwrap());
    let differences = diff(&rulebook(file("rm")), &rulebook(file("unlink"))).unwrap();
    assert!(!differences.is_none());
}

#[test]
fn an_edited_workflow_is_never_called_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/delivery/delivery.yaml");
    let text = fs::read_to_string(path).unwrap();
    let stage = text.lines().find(|line| line.trim_start().starts_with("- id:")).unwrap();
    let edited = text.replace(stage, &format!("{stage}x"));
    assert_ne!(text, edited);
    let (policy, _) = lockgate_languages::read(&[Source::new("new.yaml", edited)]);
    if let Some(policy) = policy {
        assert!(!diff(&read("old.yaml", &text), &Rulebook::new(policy)).unwrap().is_none());
    }
}

/// Every policy file of the repository that can be read by itself.
fn policies() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut open, mut found) = (vec![root.join("examples"), root.join("templates")], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_policy =
                ["yaml", "yml", "rules", "json"].iter().any(|it| path.extension().is_some_and(|e| e == *it));
            if path.is_dir() {
                open.push(path);
            } else if is_policy {
                let (name, text) = (path.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap());
                if lockgate_languages::read(&[Source::new(name.as_str(), text.as_str())]).0.is_some() {
                    found.push((name, text));
                }
            }
        }
    }
    assert!(found.len() >= 10, "{}", found.len());
    found
}

/// The same file with the rules of its list `rules:` in another order.
fn reordered(text: &str) -> String {
    let Some((head, list)) = text.split_once("\nrules:\n") else { return text.to_owned() };
    let is_rule = |line: &str| line.starts_with("  - ");
    let end =
        list.lines().position(|line| !line.is_empty() && !line.starts_with([' ', '#'])).unwrap_or(usize::MAX);
    let (mut rules, mut rest): (Vec<Vec<&str>>, Vec<&str>) = (Vec::new(), Vec::new());
    for (number, line) in list.lines().enumerate() {
        match rules.last_mut() {
            _ if number >= end => rest.push(line),
            _ if is_rule(line) => rules.push(vec![line]),
            Some(rule) => rule.push(line),
            None => rules.push(vec![line]),
        }
    }
    rules.reverse();
    let lines: Vec<&str> = rules.into_iter().flatten().chain(rest).collect();
    format!("{head}\nrules:\n{}\n", lines.join("\n"))
}

#[test]
fn a_policy_is_the_same_as_itself_however_it_is_written() {
    for (name, text) in policies() {
        let ending = name.rsplit_once('.').unwrap().1;
        let other = format!("renamed.{ending}");
        let mut edits = vec![(text.clone(), "as it is")];
        if ending != "json" {
            edits.push((format!("# a comment\n\n{text}\n\n# another\n"), "with comments"));
        }
        if ending == "yaml" {
            edits.push((reordered(&text), "in another order"));
        }
        for (edit, what) in edits {
            let (policy, mistakes) = lockgate_languages::read(&[Source::new(other.as_str(), edit.as_str())]);
            let policy = policy.unwrap_or_else(|| panic!("{name} {what}: {mistakes:?}"));
            let differences = diff(&read(&name, &text), &Rulebook::new(policy)).unwrap();
            assert_eq!(told(&differences), "", "{name} {what}");
        }
        // A rule of which nobody speaks otherwise is all that differs.
        let sources = [Source::new("first.rules", "block zebra"), Source::new(other.as_str(), text.as_str())];
        let with = Rulebook::new(lockgate_languages::read(&sources).0.unwrap());
        let old = read(&name, &text);
        let told = told(&diff(&old, &with).unwrap());
        let is_closed =
            Gate::new(lockgate_languages::read(&[Source::new(name.as_str(), text.as_str())]).0.unwrap())
                .call(&Call::new("1", "zebra"))
                .decision
                == Decision::Block;
        assert_eq!(told, if is_closed { "" } else { "blocked zebra" }, "{name}");
    }
}

/// Conditions that hold of some calls of [`call`].
const CONDITIONS: [&str; 20] = [
    "{tool: a}",
    "{tool: b}",
    "{tool: [a, b]}",
    "{tool: 'a*'}",
    "{tool: '*'}",
    "{tool: c}",
    "{tool: a, args_match: {n: {gt: 1}}}",
    "{tool: a, args_match: {n: {gt: 2}}}",
    "{tool: [a, b], args_match: {n: {gte: 2}}}",
    "{tool: '*', args_match: {n: {lt: 2}}}",
    "{tool: a, args_match: {n: {exists: false}}}",
    "{tool: b, args_match: {n: {not_in: [1, 2]}}}",
    "{tool: a, session: {tool_count.a: {gte: 1}}}",
    "{tool: a, session: {tool_count.a: {gte: 2}}}",
    "{tool: a, session: {tool_count.b: {gte: 1}}}",
    "{tool: '*', session: {total_calls: {gte: 2}}}",
    "{tool: a, chain: [{tool: b, within_seconds: 60}]}",
    "{tool: b, chain: [{tool: 'a*', within_seconds: 60, min_count: 2}]}",
    "{tool: b, sender: {role: guest}}",
    "{tool: b, context: {risk: high}}",
];

type Rules = Vec<(&'static str, &'static str)>;

fn text(rules: &Rules, rest: &str) -> String {
    let rules: Vec<String> = rules
        .iter()
        .enumerate()
        .map(|(number, (when, then))| format!("  - {{id: r{number}, when: {when}, then: {then}}}\n"))
        .collect();
    format!("version: 1\n{rest}rules:\n{}", rules.concat())
}

/// A policy, and one that differs from it by an edit that may well change nothing.
fn edited() -> impl Strategy<Value = (String, String)> {
    let rule = || (select(&CONDITIONS[..]), select(&["allow", "approve", "block"][..]));
    let rest = || {
        let default = select(&["", "default_verdict: block\n", "default_verdict: approve\n"][..]);
        let limit = "rate_limits: [{tool: a, max_calls: 2, window_seconds: 60}]\n";
        let extra = select(vec!["", "", "honeypots: [{name: c}]\n", limit]);
        (default, extra).prop_map(|(default, extra)| format!("{default}{extra}"))
    };
    let base = (proptest::collection::vec(rule(), 1..4), rest());
    (base, rule(), rest(), 0..5_usize).prop_map(|((rules, rest), other, other_rest, edit)| {
        let mut changed = rules.clone();
        match edit {
            0 => changed.reverse(),
            // A file without a rule is a mistake.
            1 if changed.len() > 1 => drop(changed.pop()),
            2 => changed.insert(0, other),
            3 => *changed.first_mut().unwrap() = other,
            _ => return (text(&rules, &rest), text(&rules, &other_rest)),
        }
        (text(&rules, &rest), text(&changed, &rest))
    })
}

fn call() -> impl Strategy<Value = Call> {
    let input = select(vec![json!({}), json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]);
    (select(&["a", "b", "c", "ab", "z"][..]), input, any::<bool>(), any::<bool>()).prop_map(
        |(tool, input, guest, risk)| {
            let mut call = Call { input: input.as_object().unwrap().clone(), ..Call::new("", tool) };
            call.about.sender = guest.then(|| json!({"role": "guest"}));
            call.about.context = risk.then(|| json!({"risk": "high"}));
            call
        },
    )
}

/// What a policy decides about calls one after another that all succeed, where humans always agree.
fn decided(text: &str, calls: &[Call]) -> Vec<Decision> {
    let gate = Gate::new(lockgate_languages::read(&[Source::new("a.yaml", text)]).0.unwrap());
    let mut decisions = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let call = Call { id: number.to_string(), ..call.clone() };
        let verdict = gate.call(&call);
        decisions.push(verdict.decision);
        if let Some(approval) = &verdict.approval {
            gate.answer(approval, true, call.at).unwrap();
        }
        gate.result(&Outcome::success(&call)).unwrap();
    }
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn policies_that_are_called_the_same_decide_alike(
        (old, new) in edited(),
        calls in proptest::collection::vec(call(), 1..5),
    ) {
        let differences = compare(&old, &new);
        if differences.is_none() {
            let same = |decision: &Decision| (*decision).max(Decision::Redact);
            let (was, is) = (decided(&old, &calls), decided(&new, &calls));
            prop_assert_eq!(
                was.iter().map(same).collect::<Vec<_>>(),
                is.iter().map(same).collect::<Vec<_>>(),
                "{}\n{}\n{:?}", old, new, calls
            );
        }
    }
}

/// One-line rules over three tools, one of which runs scripts that maps read.
const LINES: [&str; 15] = [
    "require a before a",
    "require a before b",
    "require b before a",
    "require c before a",
    "limit a to 1 per a",
    "limit a to 2 per session",
    "limit a to 1 per b",
    "limit a to 2 per b",
    "limit a to 1 per c",
    "limit b to 1 per session",
    "limit b to 1 per c",
    "require human-approval before b",
    "block c",
    "require b before c",
    "limit c to 1 per session",
];

const MAPS: &str = "map bash.command aa as a\nmap bash.command bb as b\nmap bash.command cc as c\n";

fn one_line() -> impl Strategy<Value = (String, String)> {
    let lines = || proptest::collection::vec(select(&LINES[..]), 1..4);
    (any::<bool>(), lines(), lines(), 0..4_usize).prop_map(|(maps, old, other, edit)| {
        let mut new = old.clone();
        match edit {
            // Most edits that change nothing add a rule or take one away.
            0 | 1 => new.extend(other.first()),
            2 if new.len() > 1 => drop(new.pop()),
            _ => new = other,
        }
        let text = |lines: Vec<&str>| format!("{}{}\n", if maps { MAPS } else { "" }, lines.join("\n"));
        (text(old), text(new))
    })
}

/// A call, and whether and how it ends.
fn doubtful_call() -> impl Strategy<Value = (Call, Option<bool>)> {
    let script = select(
        &["aa", "bb", "cc", "aa || bb", "test -e x && aa", "bb; cc", "x=$(aa); bb", "if y; then cc; fi"][..],
    );
    let tool = select(&["a", "b", "c"][..]);
    let named = (tool, any::<bool>()).prop_map(|(tool, dry)| {
        let call = Call::new("", tool);
        if dry { call.with("dry_run", true) } else { call }
    });
    let call = prop_oneof![named, script.prop_map(|script| Call::new("", "bash").with("command", script))];
    (call, select(vec![Some(true), Some(true), Some(false), None]))
}

/// What a policy decides about calls that end as they say, where humans always agree.
fn decided_in_doubt(text: &str, calls: &[(Call, Option<bool>)]) -> Vec<Decision> {
    let gate = Gate::new(lockgate_languages::read(&[Source::new("a.rules", text)]).0.unwrap());
    let mut decisions = Vec::new();
    for (number, (call, end)) in calls.iter().enumerate() {
        let call = Call { id: number.to_string(), ..call.clone() };
        let verdict = gate.call(&call);
        decisions.push(verdict.decision);
        if let Some(approval) = &verdict.approval {
            gate.answer(approval, true, call.at).unwrap();
        }
        if let Some(ok) = end {
            gate.result(&Outcome { ok: *ok, ..Outcome::success(&call) }).unwrap();
        }
    }
    decisions
}

#[test]
fn a_dry_run_tells_rules_apart_that_only_earn() {
    for (old, new, calls) in [
        ("require c before b\n", "require c before b\nrequire bak before bak\n", vec!["bak"]),
        ("require c before b\n", "require c before b\nlimit bak to 1 per bak\n", vec!["bak", "bak"]),
        (
            "limit b to 1 per session\n",
            "limit b to 1 per session\nlimit a to 1 per b\nlimit a to 2 per session\n",
            vec!["a", "b", "a"],
        ),
    ] {
        let dry = |tool: &&str| (Call::new("", *tool).with("dry_run", true), Some(true));
        let calls: Vec<_> = calls.iter().map(dry).collect();
        assert_ne!(decided_in_doubt(old, &calls), decided_in_doubt(new, &calls), "{new}");
        let differences = diff(&read("old.rules", old), &read("new.rules", new)).unwrap();
        assert!(!differences.is_none(), "{new}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn policies_that_are_called_the_same_decide_alike_about_doubtful_calls(
        (old, new) in one_line(),
        sessions in proptest::collection::vec(proptest::collection::vec(doubtful_call(), 1..7), 8),
    ) {
        if diff(&read("old.rules", &old), &read("new.rules", &new)).unwrap().is_none() {
            for calls in sessions {
                let (was, is) = (decided_in_doubt(&old, &calls), decided_in_doubt(&new, &calls));
                prop_assert_eq!(was, is, "{}\n{}\n{:?}", old, new, calls);
            }
        }
    }
}
