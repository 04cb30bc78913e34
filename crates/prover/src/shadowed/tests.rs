use lockgate_call::{Call, SeenCall};

use super::*;
use crate::verify;
use lockgate_policy::{Source, Surroundings, View, view::NewSession};

const RULESET: &str =
    "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: a}\ndefaults: {mode: enforce}\n";

/// What is told about some files, as `code id: who decides`.
fn told(files: &[(&str, String)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, text.as_str())).collect();
    let (policy, findings) = lockgate_languages::read(&sources);
    let policy = policy.unwrap_or_else(|| panic!("{findings:?}"));
    let findings = verify(&policy).1.into_iter();
    let findings = findings.filter(|finding| ["shadowed", "contradiction"].contains(&finding.code));
    findings.map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

/// The ids of the rules that are told, each with `!` where it is a contradiction.
fn ids(files: &[(&str, String)]) -> Vec<String> {
    let id = |line: &String| {
        let id = line.split('`').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("contradiction") { format!("{id}!") } else { id }
    };
    told(files).iter().map(id).collect()
}

fn when_then(rules: &str) -> Vec<String> {
    ids(&[("a.yaml", format!("rules:\n{}", listed_as_yaml(rules)))])
}

fn listed_as_yaml(rules: &str) -> String {
    rules.lines().map(str::trim).filter(|it| !it.is_empty()).map(|it| format!("  - {{{it}}}\n")).collect()
}

#[test]
fn a_rule_is_told_where_another_always_decides() {
    let rows = [
        // Unconditional and stricter, whatever the priorities and the order.
        (
            "id: s, then: block, when: {tool: x}
              id: r, then: approve, priority: -9, when: {tool: x, sender: ada}",
            vec!["r"],
        ),
        (
            "id: r, then: redact, when: {tool: x}
              id: s, then: block, when: {tool: x}",
            vec!["r"],
        ),
        // Of two that say the same the later one is told, and only one.
        (
            "id: a, then: block, when: {tool: x}
              id: b, then: block, when: {tool: x}
              id: c, then: block, when: {tool: x}",
            vec!["b", "c"],
        ),
        (
            "id: r, then: block, when: {tool: x, args_match: {a: {regex: z}, b: {eq: 'y'}}}
              id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}",
            vec!["r"],
        ),
        // Another names the tools by a pattern, or all of them.
        (
            "id: r, then: block, when: {tool: delete_user}
              id: s, then: block, when: {tool: 'delete_*'}",
            vec!["r"],
        ),
        (
            "id: r, then: approve, when: {tool: 'delete_*'}
              id: s, then: block",
            vec!["r"],
        ),
        // Two rules together decide about all tools of a third.
        (
            "id: r, then: approve, when: {tool: [x, y]}
              id: s, then: block, when: {tool: x}
              id: t, then: block, when: {tool: y}",
            vec!["r"],
        ),
    ];
    for (rules, expected) in rows {
        assert_eq!(when_then(rules), expected, "{rules}");
    }
}

#[test]
fn a_rule_that_only_looks_shadowed_is_left_alone() {
    let rows = [
        // Less strict.
        "id: s, then: approve, when: {tool: x}
             id: r, then: block, when: {tool: x, sender: ada}",
        // Another tool, another field, another value, another test.
        "id: s, then: block, when: {tool: x}
             id: r, then: block, when: {tool: y}",
        "id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}
             id: r, then: block, when: {tool: x, args_match: {b: {regex: z}}}",
        "id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}
             id: r, then: block, when: {tool: x, args_match: {a: {contains: z}}}",
        // A name in one language is a pattern in another.
        "id: s, then: block, when: {tool: x, args_match: {a: {eq: '1'}}}
             id: r, then: block, when: {tool: x, args_match: {a: {eq: 1}}}",
        // Only some of its tools.
        "id: s, then: block, when: {tool: x}
             id: r, then: approve, when: {tool: [x, y]}",
        "id: s, then: block, when: {tool: 'delete_*'}
             id: r, then: approve, when: {tool: 'delete.*'}",
        // Who observes decides nothing, and is not meant to.
        "id: s, then: block, mode: observe, when: {tool: x}
             id: r, then: approve, when: {tool: x}",
        "id: s, then: block, when: {tool: x}
             id: r, then: approve, mode: observe, when: {tool: x}",
        "id: s, then: block, enabled: false, when: {tool: x}
             id: r, then: approve, when: {tool: x}",
        // A yes that stands answers one rule alone.
        "id: s, then: approve, approval_strategy: per_session, when: {tool: x}
             id: r, then: approve, approval_strategy: per_session, when: {tool: x, sender: ada}",
        "id: s, then: approve, approval_strategy: per_session, when: {tool: x}
             id: r, then: approve, when: {tool: x, sender: ada}",
        // What a human agrees to is masked all the same.
        "id: s, then: approve, when: {tool: x}
             id: r, then: redact, when: {tool: x}",
        // Each counts for itself.
        "id: s, then: block, when: {tool: x, chain: [{tool: y, within_seconds: 9}]}
             id: r, then: block, when: {tool: x, chain: [{tool: y, within_seconds: 8}]}",
    ];
    for rules in rows {
        assert_eq!(when_then(rules), [""; 0], "{rules}");
    }
}

#[test]
fn what_is_told_may_all_be_taken_out_together() {
    let rules = "id: a, then: block, when: {tool: [x, y]}
                     id: b, then: block, when: {tool: [y, z]}
                     id: c, then: block, when: {tool: [x, z]}";
    assert_eq!(when_then(rules), ["c"]);
}

#[test]
fn an_allow_that_is_always_blocked_is_a_contradiction() {
    let rows = [
        (
            "id: r, then: allow, priority: 1, when: {tool: x}
              id: s, then: block, when: {tool: x}",
            vec!["r!"],
        ),
        (
            "id: r, then: allow, when: {tool: x, sender: ada}
              id: s, then: block, when: {tool: x}",
            vec!["r!"],
        ),
        (
            "id: r, then: allow, when: {tool: x, sender: ada}
              id: s, then: block, when: {tool: 'x*', sender: ada}",
            vec!["r!"],
        ),
        // One of the tools it names.
        (
            "id: r, then: allow, when: {tool: [x, y]}
              id: s, then: block, when: {tool: y}",
            vec!["r!"],
        ),
        // An exception in a rule that allows more is how policies are written.
        (
            "id: r, then: allow
              id: s, then: block, when: {tool: x}",
            vec![],
        ),
        (
            "id: r, then: allow, when: {tool: 'x*'}
              id: s, then: block, when: {tool: xy}",
            vec![],
        ),
        (
            "id: r, then: allow, when: {tool: x}
              id: s, then: block, when: {tool: x, sender: ada}",
            vec![],
        ),
        (
            "id: r, then: allow, when: {tool: x}
              id: s, then: block, mode: observe, when: {tool: x}",
            vec![],
        ),
        // It opens nothing where everything is open; that is told under another code.
        (
            "id: r, then: allow, when: {tool: x}
              id: s, then: allow, when: {tool: x}",
            vec![],
        ),
    ];
    for (rules, expected) in rows {
        assert_eq!(when_then(rules), expected, "{rules}");
    }
}

#[test]
fn under_a_strict_default_an_allow_may_shadow_another() {
    let closed = |rules: &str| {
        ids(&[("a.yaml", format!("default_verdict: block\nrules:\n{}", listed_as_yaml(rules)))])
    };
    let rows = [
        (
            "id: s, then: allow, when: {tool: x}
              id: r, then: allow, when: {tool: x, sender: ada}",
            vec!["r"],
        ),
        (
            "id: s, then: approve, when: {tool: x}
              id: r, then: allow, when: {tool: x, sender: ada}",
            vec!["r"],
        ),
        (
            "id: s, then: allow, when: {tool: x, sender: ada}
              id: r, then: allow, when: {tool: x}",
            vec!["s"],
        ),
        (
            "id: s, then: allow, when: {tool: x, sender: eve}
              id: r, then: allow, when: {tool: x, sender: ada}",
            vec![],
        ),
    ];
    for (rules, expected) in rows {
        assert_eq!(closed(rules), expected, "{rules}");
    }
    // A ruleset does not speak in the place of the default, so without the other rule nothing would be asked.
    let ruleset = format!(
        "{RULESET}rules:\n  - {{id: s, type: pre, tool: x, when: {{tool.name: {{exists: true}}}}, then: {{action: ask, message: m}}}}\n"
    );
    let rule = "default_verdict: block\nrules:\n  - {id: r, then: approve, when: {tool: x}}\n".to_owned();
    assert_eq!(ids(&[("a.yaml", rule), ("b.yaml", ruleset)]), [""; 0]);
}

#[test]
fn tests_of_a_ruleset_count_in_their_order() {
    let rule = |id: &str, all: &str, action: &str| {
        format!(
            "  - {{id: {id}, type: pre, tool: x, when: {{all: [{all}]}}, then: {{action: {action}, message: m}}}}\n"
        )
    };
    let (a, b, c) = ("{args.a: {contains: p}}", "{args.b: {equals: q}}", "{args.c: {gt: 3}}");
    let rows = [
        // Where `a` is a doubt, the first applies whatever `b` is; and so does the second.
        (format!("{a}, {b}, {c}"), format!("{a}, {b}"), vec!["r"]),
        (format!("{a}, {b}"), a.to_owned(), vec!["r"]),
        (format!("{{all: [{a}, {b}]}}, {c}"), format!("{a}, {b}"), vec!["r"]),
        // Where `a` is a doubt and `b` does not hold, the first applies and the second does not.
        (format!("{a}, {b}, {c}"), format!("{b}, {a}"), vec![]),
        (format!("{a}, {b}"), b.to_owned(), vec![]),
    ];
    for (narrow, wide, expected) in rows {
        let text = format!("{RULESET}rules:\n{}{}", rule("r", &narrow, "ask"), rule("s", &wide, "block"));
        assert_eq!(ids(&[("a.yaml", text.clone())]), expected, "{text}");
    }
}

#[test]
fn one_line_rules_and_traps_decide_too() {
    let rule = |then: &str| format!("rules:\n  - {{id: r, then: {then}, when: {{tool: x, sender: ada}}}}\n");
    let rows = [
        ("approve", "block x\n", vec!["r"]),
        ("allow", "block x\n", vec!["r!"]),
        ("approve", "observe block x\n", vec![]),
        ("approve", "block y\n", vec![]),
        ("approve", "limit x to 1 per session\n", vec![]),
        // The one-line rule does not see the calls that its file renames.
        ("approve", "map x.command ls as look\nblock x\nlimit look to 3 per session\n", vec![]),
    ];
    for (then, rules, expected) in rows {
        let files = [("a.yaml", rule(then)), ("b.rules", rules.to_owned())];
        assert_eq!(ids(&files), expected, "{then} {rules}");
    }
    let trap = format!("honeypots: [{{name: X}}]\n{}", rule("allow"));
    assert_eq!(ids(&[("a.yaml", trap)]), ["r!"]);
}

#[test]
fn the_finding_names_who_decides() {
    let files = [
            ("a.yaml", "rules:\n  - {id: r, then: allow, when: {tool: [x, y]}}\n  - {id: q, then: approve, when: {tool: [x, y]}}\n".to_owned()),
            ("b.rules", "block x\nblock y\n".to_owned()),
        ];
    insta::assert_snapshot!(told(&files).join("\n"), @"
        contradiction: `r` allows `x` and `y`, and `block-x` (b.rules:1) and `block-y` (b.rules:2) block it all the same
        shadowed: `q` has no effect: `block-x` (b.rules:1) and `block-y` (b.rules:2) already block every call it matches
        ");
}

proptest::proptest! {
    /// What is told makes no difference: whatever is called, the verdicts are the same without it.
    #[test]
    fn a_rule_that_is_told_changes_no_verdict(rules in proptest::collection::vec((0..4usize, 0..4usize, 0..4usize), 1..6), default in 0..3usize) {
        let wants = ["allow", "redact", "approve", "block"];
        let tools = ["x", "y", "'[xy]'", "[x, y]"];
        let facts = ["", ", args_match: {a: {contains: p}}", ", args_match: {b: {contains: q}}", ", args_match: {a: {contains: p}, b: {contains: q}}"];
        let default = ["allow", "approve", "block"][default];
        let text = |without: Option<&str>| {
            let mut text = format!("default_verdict: {default}\nrules:\n");
            for (number, (want, tool, fact)) in rules.iter().enumerate() {
                let id = format!("r{number}");
                if Some(id.as_str()) != without {
                    text.push_str(&format!("  - {{id: {id}, then: {}, when: {{tool: {}{}}}}}\n", wants[*want], tools[*tool], facts[*fact]));
                }
            }
            if text.ends_with("rules:\n") { text.push_str("  []\n"); }
            text
        };
        let read = |text: String| lockgate_languages::read(&[Source::new("a.yaml", text.as_str())]).0.unwrap();
        let whole = read(text(None));
        for line in told(&[("a.yaml", text(None))]) {
            let id = line.split('`').nth(1).unwrap();
            let without = read(text(Some(id)));
            let is_allow = line.starts_with("contradiction");
            let names = line.split(", and ").next().unwrap();
            for (tool, input) in calls() {
                let call = SeenCall::from(Call { input, ..Call::new("1", tool) });
                let (with, without) = (wanted(&whole, &call), wanted(&without, &call));
                if !is_allow {
                    assert_eq!(with, without, "{line}\n{}", text(None));
                } else if applies(&whole, id, &call) && names.contains(&format!("`{tool}`")) {
                    assert_eq!(with, Decision::Block, "{line}\n{}", text(None));
                }
            }
        }
    }
}

fn calls() -> Vec<(&'static str, serde_json::Map<String, serde_json::Value>)> {
    let inputs = [
        r#"{}"#,
        r#"{"a": "p"}"#,
        r#"{"b": "q"}"#,
        r#"{"a": "p", "b": "q"}"#,
        r#"{"a": ["p", 1], "b": "-"}"#,
    ];
    let calls = ["x", "y", "z"].into_iter().flat_map(|tool| inputs.map(|input| (tool, input)));
    calls.map(|(tool, input)| (tool, serde_json::from_str(input).unwrap())).collect()
}

fn applies(policy: &Policy, id: &str, call: &SeenCall) -> bool {
    policy.applying(&view(call, &Surroundings::default())).iter().any(|it| it.clause.name == id)
}

fn view<'a>(call: &'a SeenCall, around: &'a Surroundings) -> View<'a> {
    View { call, now: lockgate_call::Time(0), around, output: None, memory: &NewSession, deeds: None }
}

/// What the rules that look want of a first call.
fn wanted(policy: &Policy, call: &SeenCall) -> Decision {
    let around = Surroundings::default();
    let applying = policy.applying(&view(call, &around));
    let is_spoken_of = applying.iter().any(|it| it.clause.speaks(it.truth));
    let default = policy.default_clause().filter(|_| !is_spoken_of).map(|clause| clause.wants);
    applying.iter().map(|it| it.clause.wants).chain(default).max().unwrap_or_default()
}
