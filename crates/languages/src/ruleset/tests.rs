//! What a ruleset may say, what it may not, and what it means.

use lockgate_call::Call;
use lockgate_policy::{
    Severity, Surroundings, Truth, View,
    condition::{Condition, Operator, Subject},
};
use serde_json::{Value as Json, json};

use super::*;
use crate::detect::{Language, detect};
use crate::draft::ruleset::{Action, RuleKind, Ruleset, SideEffect, TimeoutAction};
use crate::yaml::{MISTAKES_MAX, told};

const HEAD: &str = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\n";
const THEN: &str = "then: {action: block, message: stop}";

/// Reads a ruleset that uses no names of a host.
fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    parse_with(source, &CustomNames::default())
}

fn read(text: &str) -> (Draft, Vec<Diagnostic>) {
    parse(&Source::new("t.yaml", text))
}

/// The mistakes and warnings of a file.
fn mistakes(text: &str) -> String {
    told(&read(text).1)
}

/// A file with one rule of this kind, written in one line.
fn one_rule(rule: &str) -> String {
    format!("{HEAD}rules: [{{id: r, {rule}}}]\n")
}

fn ruleset(text: &str) -> Ruleset {
    let (draft, diagnostics) = read(text);
    let errors: Vec<_> = diagnostics.into_iter().filter(|one| one.severity == Severity::Error).collect();
    assert_eq!(told(&errors), "", "{text}");
    draft.ruleset.unwrap()
}

fn json_of(text: &str) -> Option<Json> {
    let source = Source::new("t.yaml", text);
    let (root, diagnostics) = yaml::parse(&source, Dialect { anchors: true });
    root.filter(|_| diagnostics.is_empty()).and_then(|root| Reader::new(&source).json(&root, "it"))
}

/// Every key in its good forms.
const GOOD_RULES: [&str; 33] = [
    "type: pre, tool: Bash, when: {args.x: {equals: 1}}, then: {action: block, message: stop}",
    "type: pre, tool: '*', when: {args.x: {equals: 1}}, then: {action: ask, message: m, timeout: 5, timeout_action: allow}",
    "type: pre, tool: '*', when: {args.x: {equals: 1}}, then: {action: ask, message: m, timeout: 1.0, timeout_effect: block}",
    "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, tags: [a, b], metadata: {a: {b: [1]}}}",
    "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, tags: []}",
    "type: pre, enabled: false, mode: observe, locked: true, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {all: [{any: [{args.x: {in: [1, a, null]}}]}, {not: {tool.name: {equals: b}}}]}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {not_equals: {a: 1}}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {not_in: [1]}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {contains: ''}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {contains_any: [a]}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x.y.z: {starts_with: a}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {ends_with: a}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {matches: '(?i)^a'}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {matches_any: ['a', '(?!b)c']}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {gt: 1}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {gte: 1.5}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {lt: -1}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {args.x: {lte: 1}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {principal.role: {equals: a}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {principal.claims.a.b: {equals: a}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {environment: {equals: production}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {env.CI: {equals: true}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {metadata.a.b: {equals: a}}, then: {action: block, message: m}",
    "type: pre, tool: a, when: {'args.a b/c': {equals: a}}, then: {action: block, message: m}",
    "type: post, tool: a, when: {output.text: {matches: a}}, then: {action: redact, message: m}",
    "type: post, tool: a, when: {result.a.b: {equals: a}}, then: {action: warn, message: m, tags: [a], metadata: {}}",
    "type: session, limits: {max_tool_calls: 3, max_attempts: 5, max_calls_per_tool: {a: 1}}, then: {action: block, message: m}",
    "type: session, mode: observe, limits: {max_attempts: 2.0}, then: {action: block, message: m, tags: [a], metadata: {a: b}}",
    "type: sandbox, tool: a, within: [/a], message: m",
    "type: sandbox, tools: [a, b*], within: [/a], not_within: [], outside: ask, timeout: 3, timeout_action: allow, message: m",
    "type: sandbox, tool: a, allows: {commands: [ls], domains: ['*']}, not_allows: {domains: [a.b]}, outside: approve, message: m",
    "type: sandbox, tool: a, allows: {}, outside: block, timeout_effect: block, message: m",
];

/// A bad form of every key, and a word that the mistake must name.
const BAD_RULES: [(&str, &str); 71] = [
    ("tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}", "type"),
    ("type: rule, tool: a", "type"),
    ("type: pre, when: {args.x: {exists: true}}, then: {action: block, message: m}", "tool"),
    ("type: pre, tool: a, then: {action: block, message: m}", "when"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}", "then"),
    ("type: pre, tool: '', when: {args.x: {exists: true}}, then: {action: block, message: m}", "tool"),
    ("type: pre, tool: [a], when: {args.x: {exists: true}}, then: {action: block, message: m}", "tool"),
    (
        "type: pre, tools: [a], tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
        "tools",
    ),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {message: m}", "action"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block}", "message"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: warn, message: m}", "action"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: redact, message: m}", "action"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: deny, message: m}", "action"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {effect: block, message: m}", "effect"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: ''}", "message"),
    ("type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: 5}", "message"),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, tags: ['']}",
        "tags",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, tags: a}",
        "tags",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, tags: [1]}",
        "tags",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m, metadata: a}",
        "metadata",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout: 0}",
        "timeout",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout: 1.5}",
        "timeout",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout: true}",
        "timeout",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout: 31536001}",
        "timeout",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout_action: ask}",
        "timeout_action",
    ),
    (
        "type: pre, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m, timeout_action: allow, timeout_effect: allow}",
        "timeout_effect",
    ),
    (
        "type: pre, enabled: yes, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
        "enabled",
    ),
    (
        "type: pre, mode: shadow, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
        "mode",
    ),
    (
        "type: pre, locked: 1, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
        "locked",
    ),
    (
        "type: pre, limits: {}, tool: a, when: {args.x: {exists: true}}, then: {action: block, message: m}",
        "limits",
    ),
    ("type: post, tool: a, when: {args.x: {exists: true}}, then: {action: ask, message: m}", "action"),
    (
        "type: post, tool: a, when: {args.x: {exists: true}}, then: {action: warn, message: m, timeout: 3}",
        "timeout",
    ),
    ("type: session, then: {action: block, message: m}", "limits"),
    ("type: session, limits: {}, then: {action: block, message: m}", "limits"),
    ("type: session, limits: {max_tool_calls: 0}, then: {action: block, message: m}", "max_tool_calls"),
    ("type: session, limits: {max_tool_calls: true}, then: {action: block, message: m}", "max_tool_calls"),
    ("type: session, limits: {max_attempts: 1.5}, then: {action: block, message: m}", "max_attempts"),
    (
        "type: session, limits: {max_calls_per_tool: {}}, then: {action: block, message: m}",
        "max_calls_per_tool",
    ),
    (
        "type: session, limits: {max_calls_per_tool: {a: 0}}, then: {action: block, message: m}",
        "max_calls_per_tool",
    ),
    ("type: session, limits: {max_calls: 3}, then: {action: block, message: m}", "max_calls"),
    ("type: session, limits: {max_attempts: 3}", "then"),
    ("type: session, limits: {max_attempts: 3}, then: {action: ask, message: m}", "action"),
    ("type: session, tool: a, limits: {max_attempts: 3}, then: {action: block, message: m}", "tool"),
    ("type: sandbox, within: [/a], message: m", "tool"),
    ("type: sandbox, tool: a, tools: [b], within: [/a], message: m", "tools"),
    ("type: sandbox, tools: [], within: [/a], message: m", "tools"),
    ("type: sandbox, tool: a, message: m", "within"),
    ("type: sandbox, tool: a, within: [], message: m", "within"),
    ("type: sandbox, tool: a, within: [''], message: m", "within"),
    ("type: sandbox, tool: a, within: [/a]", "message"),
    ("type: sandbox, tool: a, not_within: [/a], allows: {commands: [ls]}, message: m", "not_within"),
    ("type: sandbox, tool: a, within: [/a], not_allows: {domains: [a]}, message: m", "not_allows"),
    ("type: sandbox, tool: a, allows: {commands: []}, message: m", "commands"),
    ("type: sandbox, tool: a, allows: {hosts: [a]}, message: m", "hosts"),
    ("type: sandbox, tool: a, within: [/a], outside: warn, message: m", "outside"),
    ("type: sandbox, tool: a, within: [/a], message: m, then: {action: block, message: m}", "then"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {}", "when"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: [a]", "when"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {all: []}", "all"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {any: {args.x: {exists: true}}}", "any"),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {not: [{args.x: {exists: true}}]}",
        "when",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {all: [{args.x: {exists: true}}], any: [{args.x: {exists: true}}]}",
        "any",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {exists: true}, args.y: {exists: true}}",
        "args.y",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {exists: true, equals: 1}}",
        "equals",
    ),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {}}", "operator"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: 5}", "args.x"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {equal: 5}}", "equal"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {gt: '5'}}", "gt"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {lt: true}}", "lt"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {in: []}}", "in"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {matches: ''}}", "matches"),
];

/// Mistakes that only the reader can tell: the shape is right.
const BAD_MEANINGS: [(&str, &str); 14] = [
    ("type: sandbox, tool: a, allows: {commands: [ls]}, not_allows: {domains: [a]}, message: m", "domains"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {matches: '('}}", "matches"),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {matches_any: [a, '*']}}",
        "matches_any",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {output.text: {contains: a}}",
        "output.text",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {not: {all: [{result.x: {contains: a}}]}}",
        "result.x",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {arg.x: {contains: a}}",
        "did you mean `args.x`",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {principal.roles: {contains: a}}",
        "did you mean `principal.role`",
    ),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {principal.email: {contains: a}}",
        "a principal has",
    ),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {'': {contains: a}}", "the selectors are"),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {args: {contains: a}}",
        "write `args.FIELD`",
    ),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {'args.[0]': {contains: a}}", "args.[0]"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {args..x: {contains: a}}", "args..x"),
    ("type: pre, tool: a, then: {action: block, message: m}, when: {risk.score: {gt: 1}}", "risk.score"),
    (
        "type: pre, tool: a, then: {action: block, message: m}, when: {args.x: {starts_with: [a]}}",
        "starts_with",
    ),
];

#[test]
fn every_good_form_is_read_and_fits_the_schema() {
    for rule in GOOD_RULES {
        let text = one_rule(rule);
        assert_eq!(ruleset(&text).rules.len(), 1, "{rule}");
        assert_eq!(misfits(&json_of(&text).unwrap()), "", "{rule}");
    }
}

#[test]
fn every_bad_form_is_refused_by_name_and_by_the_schema() {
    for (rule, name) in BAD_RULES {
        let text = one_rule(rule);
        let (_, diagnostics) = read(&text);
        let errors: Vec<_> = diagnostics.into_iter().filter(|one| one.severity == Severity::Error).collect();
        assert!(errors.iter().any(|error| error.message.contains(name)), "{rule}: {}", told(&errors));
        assert!(errors.iter().all(|error| error.remedy.is_some()), "{rule}");
        assert_ne!(misfits(&json_of(&text).unwrap()), "", "{rule}");
    }
    for (rule, part) in BAD_MEANINGS {
        assert!(mistakes(&one_rule(rule)).contains(part), "{rule}: {}", mistakes(&one_rule(rule)));
    }
}

#[test]
fn the_head_of_a_file_is_checked_key_by_key() {
    let rules = "rules: [{id: r, type: sandbox, tool: a, within: [/a], message: m}]";
    let whole = [
        ("apiVersion", "apiVersion: edictum/v1"),
        ("kind", "kind: Ruleset"),
        ("metadata", "metadata: {name: t}"),
        ("defaults", "defaults: {mode: enforce}"),
        ("rules", rules),
    ];
    let file = |key: &str, instead: &str| {
        let lines = whole.iter().map(|(name, line)| if *name == key { instead } else { line });
        lines.collect::<Vec<_>>().join("\n")
    };
    for (key, good) in [
        ("", ""),
        ("metadata", "metadata: {name: a.b_c-9, description: two words}"),
        ("metadata", "metadata: {name: 0, description: }".replace('0', "'0'").as_str()),
        ("defaults", "defaults: {mode: observe}"),
        ("rules", "extends: base"),
        ("rules", "extends: base\nrules: []"),
        (
            "rules",
            &format!(
                "tools: {{a: {{side_effect: pure}}, b: {{side_effect: write, idempotent: true}}}}\n{rules}"
            ),
        ),
        ("rules", &format!("observe_alongside: true\n{rules}")),
        (
            "rules",
            &format!(
                "observability: {{stdout: false, file: null, otel: {{enabled: true, endpoint: a, protocol: grpc, service_name: s, insecure: false, resource_attributes: {{a: 1}}}}}}\n{rules}"
            ),
        ),
    ] {
        let text = file(key, good);
        assert_eq!(mistakes(&text), "", "{text}");
        assert_eq!(misfits(&json_of(&text).unwrap()), "", "{text}");
    }
    for (key, bad, named) in [
        ("apiVersion", "", "apiVersion"),
        ("apiVersion", "apiVersion: edictum/v2", "apiVersion"),
        ("kind", "", "kind"),
        ("kind", "kind: ruleset", "kind"),
        ("metadata", "", "metadata"),
        ("metadata", "metadata: text", "metadata"),
        ("metadata", "metadata: {description: a}", "name"),
        ("metadata", "metadata: {name: UPPER}", "name"),
        ("metadata", "metadata: {name: \"a\\n\"}", "name"),
        ("metadata", "metadata: {name: -a}", "name"),
        ("metadata", "metadata: {name: ''}", "name"),
        ("metadata", "metadata: {name: a, owner: b}", "owner"),
        ("defaults", "", "defaults"),
        ("defaults", "defaults: {}", "mode"),
        ("defaults", "defaults: {mode: permissive}", "mode"),
        ("defaults", "defaults: {mode: enforce, environment: a}", "environment"),
        ("rules", "", "rules"),
        ("rules", "rules: []", "rules"),
        ("rules", "rules: {}", "rules"),
        ("rules", "rules: [a]", "rule"),
        ("rules", "contracts: []", "rename `contracts` to `rules`"),
        ("rules", "extends: ''", "extends"),
        ("rules", &format!("limits: {{}}\n{rules}"), "type: session"),
        ("rules", &format!("tools: [a]\n{rules}"), "tools"),
        ("rules", &format!("tools: {{a: {{}}}}\n{rules}"), "side_effect"),
        ("rules", &format!("tools: {{a: {{side_effect: some}}}}\n{rules}"), "side_effect"),
        ("rules", &format!("tools: {{a: {{side_effect: pure, idempotent: 1}}}}\n{rules}"), "idempotent"),
        ("rules", &format!("observe_alongside: 1\n{rules}"), "observe_alongside"),
        ("rules", &format!("observability: {{otel: {{protocol: udp}}}}\n{rules}"), "protocol"),
        ("rules", &format!("observability: {{sink: a}}\n{rules}"), "sink"),
    ] {
        let text = file(key, bad);
        assert!(mistakes(&text).contains(named), "{text}\n{}", mistakes(&text));
        assert_ne!(misfits(&json_of(&text).unwrap()), "", "{text}");
    }
}

#[test]
fn a_rule_is_kept_as_it_is_written() {
    let text = one_rule(
        "type: sandbox, tools: [Read, 'mcp_*'], within: [/a], outside: approve, timeout: 30, timeout_effect: allow, message: 'no {args.path}'",
    );
    let rules = ruleset(&text).rules;
    let rule = &rules[0];
    assert_eq!(
        (rule.action, rule.timeout_ms, rule.timeout_action),
        (Action::Ask, 30_000, TimeoutAction::Allow)
    );
    assert!(rule.concerns("mcp_x") && rule.concerns("Read") && !rule.concerns("Write"));
    assert_eq!(rule.message.parts().len(), 2);
    let text = format!("{HEAD}tools: {{a: {{side_effect: read, idempotent: true}}}}\nextends: b\n");
    let read = ruleset(&text);
    assert_eq!(read.tools[0].side_effect, SideEffect::Read);
    assert_eq!(read.extends.map(|(parent, _)| parent).as_deref(), Some("b"));
    let rules = ruleset(&one_rule("type: session, limits: {max_calls_per_tool: {Bash: 3}}, then: {action: block, message: 'at {args.x}'}")).rules;
    let RuleKind::Session(limits) = &rules[0].kind else { panic!("no session rule") };
    assert_eq!(limits.max_calls_per_tool[0].1.get(), 3);
    assert_eq!(rules[0].message.parts().len(), 1);
}

#[test]
fn names_of_a_host_are_read_only_where_the_host_says_so() {
    let text = one_rule(&format!("type: pre, tool: a, when: {{risk.score: {{gt: 5}}}}, {THEN}"));
    assert!(mistakes(&text).contains("unknown-selector"));
    let custom = CustomNames { selectors: vec!["risk".to_owned()] };
    let (draft, diagnostics) = parse_with(&Source::new("t.yaml", text), &custom);
    assert_eq!(told(&diagnostics), "");
    let draft = draft.ruleset.unwrap();
    let when = draft.rules[0].when().unwrap();
    let call = Call::new("1", "a").into();
    let score = |value: Json| {
        let describe: Box<lockgate_policy::Describe> = Box::new(move |_| Some(value.clone()));
        let around =
            Surroundings { custom: [("risk".to_owned(), describe)].into(), ..Surroundings::default() };
        when.truth(&View::of_result(&call, None, &around))
    };
    assert_eq!(score(json!({"score": 9})), Truth::Yes);
    assert_eq!(score(json!({"score": 1})), Truth::No);
    assert_eq!(score(json!({})), Truth::No);
    assert_eq!(score(json!("{\"score\": 9}")), Truth::Doubt);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let text = "\
apiVersion: edictum/v1
kind: Ruleset
metadata:
  name: Bad Name
default:
  mode: enforce
rules:
  - id: one
    type: pre
    tool: Bash
    when:
      arg.command: {contain: rm}
    then:
      effect: deny
      message: \"\"
  - id: one
    type: post
    tool: Bash
    when:
      all:
        - output.text: {matches: \"(\"}
        - args.when: {equals: no}
    then: {action: ask, message: \"see {arg.x} and {args.y}\"}
  - id: Two
    type: sandbox
    not_within: [/a]
  - type: session
    limits: {max_tool_calls: 0}
    limits: {max_attempts: 1}
";
    insta::assert_snapshot!(mistakes(text), @r#"
    1:1 missing-key the ruleset has no `defaults` | add `defaults: …`
    4:9 bad-name `name` cannot be `Bad Name` | use lower-case letters, digits and `.`, `_`, `-`, and begin with a letter or digit
    5:1 unknown-key the ruleset has no key `default` | did you mean `defaults`?
    12:7 unknown-selector no selector is called `arg.command`, in `when` | did you mean `args.command`?
    12:21 unknown-operator `arg.command` in `when` has no operator `contain` | did you mean `contains`?
    14:7 unknown-key `then` has no key `effect` | this is the old format: rename `effect` to `action`; `deny` is now `block`, `approve` is `ask`
    14:7 missing-key `then` has no `action` | add `action: …`
    15:16 wrong-type `message` must be a text, not an empty text | write a word or a quoted text
    16:9 duplicate-id the `id` `one` is already taken, in line 8 | leave one of the two rules out, or rename it
    21:35 bad-pattern `matches`: `(` is never closed: write `\(` for the character | write a regular expression as Python has it
    22:31 two-readings `no` is false to programs that follow YAML 1.1, and not here | write `"no"` for the text, or another value
    23:20 unknown-value `action` cannot be `ask` | write one of `warn`, `redact`, `block`
    23:34 idle-placeholder the placeholder `{arg.x}` of `message` will stay as it is written | did you mean `args.x`?
    24:5 missing-key a sandbox rule has no `message` | add `message: …`
    24:5 missing-key a sandbox rule has none of `tool`, `tools` | add one of them
    24:5 missing-key a sandbox rule has none of `within`, `allows` | add one of them
    24:9 bad-name `id` cannot be `Two` | use lower-case letters, digits and `_`, `-`, and begin with a letter or digit
    26:17 missing-key a sandbox rule has `not_within` without `within` | add `within`: `not_within` only takes away from it
    27:5 missing-key a session rule has no `id` | add `id: …`
    27:5 missing-key a session rule has no `then` | add `then: …`
    28:30 out-of-range `max_tool_calls` must be a whole number from 1 to 9223372036854775808, not 0 | write how many, in digits
    29:5 duplicate-key `limits` is already in this mapping, in line 28 | leave one of the two out, or rename it
    "#);
}

#[test]
fn old_files_are_read_and_old_words_in_present_files_are_told_what_they_are_now() {
    let rule =
        "  - {id: a, type: pre, tool: x, when: {args.y: {exists: true}}, then: {effect: deny, message: m}}\n";
    let head = |kind: &str, rules: &str| {
        format!(
            "apiVersion: edictum/v1\nkind: {kind}\nmetadata: {{name: a}}\ndefaults: {{mode: enforce}}\n{rules}:\n{rule}"
        )
    };
    let text = head("ContractBundle", "contracts");
    assert_eq!(detect(&Source::new("a.yaml", text.as_str())), Language::Ruleset);
    assert_eq!(mistakes(&text), "");
    insta::assert_snapshot!(mistakes(&head("Ruleset", "contracts")), @"
    1:1 missing-key the ruleset has none of `rules`, `extends` | add one of them
    5:1 unknown-key the ruleset has no key `contracts` | this is the old format: rename `contracts` to `rules`
    ");
    let both = format!("{}contracts: []\n", head("ContractBundle", "rules"));
    insta::assert_snapshot!(mistakes(&both), @"7:1 unknown-key the ruleset has no key `contracts` | this is the old format: rename `contracts` to `rules`");
}

#[test]
fn a_file_says_itself_that_it_is_a_ruleset() {
    for (text, expected) in [
        ("kind: Ruleset\n", true),
        ("{\"kind\": \"Ruleset\"}", true),
        ("a: [\nkind: Ruleset\n", true),
        ("kind: ContractBundle\n", true),
        ("apiVersion: edictum/v1\nkind: ruleset\n", true),
        ("apiVersion: edictum/v1\nrules: []\n", true),
        ("apiVersion: edictum/v1\nkind: Workflow\n", false),
        ("kind: Net\n", false),
        ("a: {kind: Ruleset}\n", false),
        ("require a before b # kind: Ruleset\n", false),
    ] {
        assert_eq!(detect(&Source::new("a.yaml", text)) == Language::Ruleset, expected, "{text}");
    }
    let (draft, _) =
        crate::parse::parse(&Source::new("a.yaml", one_rule(GOOD_RULES[0])), &[], &CustomNames::default());
    assert!(draft.ruleset.is_some());
    let (policy, diagnostics) = crate::compile(vec![draft]);
    assert_eq!(told(&diagnostics), "");
    assert_eq!(policy.clauses().len(), 1, "a ruleset that loads is enforced");
}

#[test]
fn what_is_read_and_not_used_is_named() {
    let with = |observability: &str| {
        let rules = one_rule(GOOD_RULES[0]);
        let text = format!("{rules}observability: {observability}\n");
        let (draft, diagnostics) = parse(&Source::new("t.yaml", text));
        assert_eq!(told(&diagnostics), "");
        lint(&draft).iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(with("{stdout: true}"), ["not-used"]);
    assert_eq!(with("{otel: {enabled: true}, file: a.jsonl}"), ["not-used"]);
    assert_eq!(with("{}"), [""; 0]);
}

#[test]
fn who_is_only_named_may_have_any_role() {
    let text = one_rule(
        "type: pre, tool: a, when: {principal.role: {not_in: [admin]}}, then: {action: block, message: no}",
    );
    let (draft, _) = parse(&Source::new("t.yaml", text));
    let draft = draft.ruleset.unwrap();
    let when = draft.rules[0].when().unwrap();
    let asked = |principal: Option<Json>| {
        let mut call = Call::new("1", "a");
        call.about.principal = principal;
        when.truth(&View::of_result(&call.into(), None, &Surroundings::default()))
    };
    assert_eq!(asked(Some(json!({"role": "guest"}))), Truth::Yes);
    assert_eq!(asked(Some(json!({"role": "admin"}))), Truth::No);
    assert_eq!(asked(Some(json!("ann"))), Truth::Doubt);
    assert_eq!(asked(Some(json!(["admin"]))), Truth::Doubt);
    assert_eq!(asked(None), Truth::No);
}

#[test]
fn words_with_two_readings_are_told_and_do_not_stop_the_file() {
    let text =
        one_rule(&format!("type: pre, tool: a, when: {{args.x: {{in: [no, 'no', 2024-01-01]}}}}, {THEN}"));
    let (_, diagnostics) = read(&text);
    let found: Vec<_> = diagnostics.iter().map(|one| (one.code, one.severity)).collect();
    assert_eq!(found, [("two-readings", Severity::Warning); 2]);
}

#[test]
fn what_is_written_once_may_be_used_twice() {
    let text = format!(
        "{HEAD}rules:
  - &first {{id: a, type: pre, tool: x, when: &when {{args.x: {{exists: true}}}}, then: &then {{action: block, message: m}}}}
  - {{id: b, type: pre, tool: y, when: *when, then: *then}}
  - {{<<: *first, id: c}}
"
    );
    let rules = ruleset(&text).rules;
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert!(rules[2].concerns("x") && !rules[2].concerns("y"));
    assert!(mistakes(&text.replace(", id: c", "")).contains("the `id` `a` is already taken"));
}

#[test]
fn every_bound_holds_one_past_it() {
    let sized = |bytes: usize| {
        let text = one_rule(GOOD_RULES[0]);
        format!("{text}#{}", "x".repeat(bytes - text.len() - 1))
    };
    assert_eq!(mistakes(&sized(RULESET_BYTES_MAX)), "");
    assert!(mistakes(&sized(RULESET_BYTES_MAX + 1)).contains("file-too-large"));

    let message = |chars: usize| {
        let message = "é".repeat(chars);
        mistakes(&one_rule(&format!("type: sandbox, tool: a, within: [/a], message: {message}")))
    };
    assert_eq!(message(keys::MESSAGE_CHARS_MAX), "");
    assert!(message(keys::MESSAGE_CHARS_MAX + 1).contains("`message` has 501 characters"));

    let parts = |count: usize| {
        let parts = "{args.x: {exists: true}},".repeat(count);
        mistakes(&one_rule(&format!("type: pre, tool: a, when: {{any: [{parts}]}}, {THEN}")))
    };
    assert_eq!(parts(expression::PARTS_MAX), "");
    assert!(parts(expression::PARTS_MAX + 1).contains("`any` in `when` must list"));

    let nested = |depth: usize| {
        let (open, close) = ("{not: ".repeat(depth), "}".repeat(depth));
        mistakes(&one_rule(&format!(
            "type: pre, tool: a, when: {open}{{args.x: {{exists: true}}}}{close}, {THEN}"
        )))
    };
    // The file, its list, the rule, the test and its operator.
    assert_eq!(nested(yaml::steps::DEPTH_MAX - 5), "");
    assert!(nested(yaml::steps::DEPTH_MAX - 4).contains("file-too-large"));

    let ask = |seconds: u64| {
        mistakes(&one_rule(&format!(
            "type: sandbox, tool: a, within: [/a], outside: ask, timeout: {seconds}, message: m"
        )))
    };
    assert_eq!(ask(keys::TIMEOUT_S_MAX), "");
    assert!(ask(keys::TIMEOUT_S_MAX + 1).contains("`timeout` must be"));
    let limit = |calls: u64| {
        mistakes(&one_rule(&format!("type: session, limits: {{max_attempts: {calls}}}, {THEN}")))
    };
    assert_eq!(limit(LIMIT_MAX), "");
    assert!(limit(LIMIT_MAX + 1).contains("`max_attempts` must be"));

    let placeholders = |count: usize| {
        let text = "{args.x}".repeat(count);
        let (template, _) = lockgate_policy::Template::parse(&text, |_| Ok(Subject::ToolName));
        template.parts().iter().filter(|part| matches!(part, lockgate_policy::Part::Value { .. })).count()
    };
    assert_eq!(placeholders(lockgate_policy::PLACEHOLDERS_MAX), lockgate_policy::PLACEHOLDERS_MAX);
    assert_eq!(placeholders(lockgate_policy::PLACEHOLDERS_MAX + 1), lockgate_policy::PLACEHOLDERS_MAX);

    let overridden = |count: usize| {
        let ids: Vec<String> = (0..count).map(|at| format!("x{at}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let locked: Vec<&str> = ids.iter().copied().chain(["last locked: true"]).collect();
        let again: Vec<&str> = ids.iter().copied().chain(["last"]).collect();
        let file =
            |name: &str, rules: &[&str]| parse(&Source::new(name, layer(name, "enforce", "", rules))).0;
        compose(&mut [file("a", &locked), file("b", &again)])
    };
    let told_of = |count: usize| {
        let diagnostics = overridden(count);
        let mistakes = diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
        (diagnostics.len() - mistakes, mistakes)
    };
    assert_eq!(told_of(compose::TOLD_MAX - 1), (compose::TOLD_MAX - 1, 1));
    assert_eq!(told_of(compose::TOLD_MAX + 1), (compose::TOLD_MAX, 1));

    let broken = format!("{HEAD}rules: [{}]", "{},".repeat(MISTAKES_MAX));
    assert_eq!(mistakes(&broken).lines().count(), MISTAKES_MAX + 1);
}

/// The expression of a rule with one test.
fn expression(when: &str, output: bool) -> Condition {
    let kind = if output { "post" } else { "pre" };
    let text = one_rule(&format!("type: {kind}, tool: a, when: {when}, {THEN}"));
    ruleset(&text).rules[0].when().unwrap().clone()
}

fn truth_of(when: &str, call: &Call, output: Option<&Json>) -> Truth {
    let variables = [("YES", "TRUE"), ("FIVE", " 5 "), ("HALF", "0.5"), ("WORD", "word"), ("NAN", "nan")];
    let around = with_variables(&variables);
    expression(when, output.is_some()).truth(&View::of_result(&call.clone().into(), output, &around))
}

fn with_variables(variables: &[(&str, &str)]) -> Surroundings {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Surroundings { variables, ..Surroundings::default() }
}

/// Which of some values a test holds of (`y`), does not hold of (`n`), or cannot tell about (`?`).
#[test]
fn every_operator_answers_for_every_type() {
    let values = [
        json!(null),
        json!(true),
        json!(1),
        json!(1.5),
        json!("1"),
        json!("abc"),
        json!(""),
        json!([1]),
        json!({"a": 1}),
    ];
    let table = [
        ("exists: true", "nyyyyyyyy"),
        ("exists: false", "ynnnnnnnn"),
        ("equals: 1", "nnynnnnnn"),
        ("equals: 1.0", "nnynnnnnn"),
        ("equals: true", "nynnnnnnn"),
        ("equals: '1'", "nnnnynnnn"),
        ("equals: [1.0]", "nnnnnnnyn"),
        ("equals: {a: 1.0}", "nnnnnnnny"),
        ("equals: null", "nnnnnnnnn"),
        ("not_equals: 1", "nynyyyyyy"),
        ("not_equals: abc", "nyyyynyyy"),
        ("in: [1, abc, [1]]", "nnynnynyn"),
        ("not_in: [1, abc, [1]]", "nynyynyny"),
        ("contains: b", "n???nyn??"),
        ("contains: ''", "n???yyy??"),
        ("contains_any: [x, c]", "n???nyn??"),
        ("starts_with: a", "n???nyn??"),
        ("ends_with: c", "n???nyn??"),
        ("matches: '^a.c$'", "n???nyn??"),
        ("matches_any: ['x', '[0-9]']", "n???ynn??"),
        ("gt: 1", "n?ny?????"),
        ("gte: 1", "n?yy?????"),
        ("lt: 1.5", "n?yn?????"),
        ("lte: 1.5", "n?yy?????"),
    ];
    for (operator, expected) in table {
        let answers: String = values
            .iter()
            .map(|value| {
                let call = Call::new("1", "a").with("x", value.clone());
                match truth_of(&format!("{{args.x: {{{operator}}}}}"), &call, None) {
                    Truth::Yes => 'y',
                    Truth::No => 'n',
                    Truth::Doubt => '?',
                }
            })
            .collect();
        assert_eq!(answers, expected, "{operator}");
        let missing = truth_of(&format!("{{args.x: {{{operator}}}}}"), &Call::new("1", "a"), None);
        assert_eq!(missing == Truth::Yes, operator == "exists: false", "{operator}");
        assert_ne!(missing, Truth::Doubt);
    }
}

#[test]
fn a_doubt_ends_the_question_where_it_is_met() {
    let call = Call::new("1", "a").with("number", 1).with("text", "abc");
    let (yes, no, doubt) =
        ("{args.text: {contains: a}}", "{args.text: {contains: z}}", "{args.number: {contains: a}}");
    for (when, expected) in [
        (format!("{{all: [{no}, {doubt}]}}"), Truth::No),
        (format!("{{all: [{doubt}, {no}]}}"), Truth::Doubt),
        (format!("{{all: [{yes}, {doubt}]}}"), Truth::Doubt),
        (format!("{{all: [{yes}, {yes}]}}"), Truth::Yes),
        (format!("{{any: [{yes}, {doubt}]}}"), Truth::Yes),
        (format!("{{any: [{doubt}, {yes}]}}"), Truth::Doubt),
        (format!("{{any: [{no}, {no}]}}"), Truth::No),
        (format!("{{not: {doubt}}}"), Truth::Doubt),
        (format!("{{not: {yes}}}"), Truth::No),
        ("{not: {args.missing: {contains: a}}}".to_owned(), Truth::Yes),
    ] {
        assert_eq!(truth_of(&when, &call, None), expected, "{when}");
    }
}

#[test]
fn a_selector_finds_what_it_names() {
    let mut call = Call::new("1", "mcp_x")
        .with("a", json!({"b": {"c": 1}, "n": 5}))
        .with("l", json!([{"f": 1}, {"f": 2}]));
    call = call.with("s", "{\"f\": 1}").with("w", "plain").with("o p", 1);
    call.about.principal = Some(json!({"role": "admin", "user_id": null, "claims": {"team": {"id": "x"}}}));
    call.about.metadata = Some(json!({"risk": {"level": 3}}));
    for (when, expected) in [
        ("{args.a.b.c: {equals: 1}}", Truth::Yes),
        ("{args.a.b.d: {exists: false}}", Truth::Yes),
        ("{args.a.n.x: {exists: false}}", Truth::Yes),
        ("{args.w.f: {equals: 1}}", Truth::No),
        ("{args.s.f: {equals: 1}}", Truth::Doubt),
        ("{args.s.f: {exists: true}}", Truth::Doubt),
        ("{args.l.f: {equals: 1}}", Truth::Doubt),
        ("{'args.l[1].f': {equals: 2}}", Truth::Yes),
        ("{'args.l[*].f': {equals: 2}}", Truth::Doubt),
        ("{'args.l[*].f': {gt: 0}}", Truth::Yes),
        ("{'args.o p': {equals: 1}}", Truth::Yes),
        ("{principal.role: {equals: admin}}", Truth::Yes),
        ("{principal.user_id: {exists: false}}", Truth::Yes),
        ("{principal.org_id: {exists: false}}", Truth::Yes),
        ("{principal.claims.team.id: {equals: x}}", Truth::Yes),
        ("{environment: {equals: production}}", Truth::Yes),
        ("{tool.name: {starts_with: mcp_}}", Truth::Yes),
        ("{metadata.risk.level: {gte: 3}}", Truth::Yes),
        ("{env.YES: {equals: true}}", Truth::Yes),
        ("{env.FIVE: {equals: 5}}", Truth::Yes),
        ("{env.FIVE: {equals: '5'}}", Truth::No),
        ("{env.HALF: {lt: 1}}", Truth::Yes),
        ("{env.WORD: {equals: word}}", Truth::Yes),
        ("{env.WORD: {gt: 1}}", Truth::Doubt),
        ("{env.NAN: {gt: 1}}", Truth::Doubt),
        ("{env.UNSET: {exists: false}}", Truth::Yes),
    ] {
        assert_eq!(truth_of(when, &call, None), expected, "{when}");
    }
    call.about.environment = Some("staging".into());
    assert_eq!(truth_of("{environment: {equals: staging}}", &call, None), Truth::Yes);
}

#[test]
fn a_result_cannot_hide_behind_its_shape() {
    let call = Call::new("1", "a");
    for (when, output, expected) in [
        ("{output.text: {contains: secret}}", json!("a secret"), Truth::Yes),
        ("{output.text: {contains: secret}}", json!({"a": ["a secret"]}), Truth::Yes),
        ("{output.text: {contains: secret}}", json!("none"), Truth::No),
        ("{output.text: {contains: \"a\\nb\"}}", json!({"t": "a\nb"}), Truth::Doubt),
        ("{output.text: {matches: 'say \"hi\"'}}", json!(["say \"hi\""]), Truth::Doubt),
        ("{not: {output.text: {starts_with: ok}}}", json!({"a": "ok", "b": "bad"}), Truth::Doubt),
        ("{output.text: {equals: secret}}", json!(["secret"]), Truth::Doubt),
        ("{output.text: {not_equals: secret}}", json!(["secret"]), Truth::Yes),
        ("{output.text: {contains: '\"a\":1'}}", json!({"a": 1}), Truth::Yes),
        ("{output.text: {contains: '\"a\": 1'}}", json!({"a": 1}), Truth::Doubt),
        ("{output.text: {contains: \"'a': True\"}}", json!({"a": true}), Truth::Doubt),
        ("{output.text: {contains: key}}", json!({"k\u{65}y": 1}), Truth::Yes),
        ("{output.text: {exists: true}}", json!(null), Truth::No),
        ("{output.text: {gt: 1}}", json!(5), Truth::Doubt),
        ("{result.status: {equals: error}}", json!({"status": "error"}), Truth::Yes),
        ("{result.status: {equals: error}}", json!("{\"status\": \"error\"}"), Truth::Yes),
        ("{result.status: {equals: error}}", json!("{\"status\": "), Truth::Doubt),
        ("{result.status: {equals: error}}", json!("all is well"), Truth::No),
        ("{result.status: {equals: error}}", json!([{"status": "error"}]), Truth::Doubt),
        ("{result.code: {in: [401, 403]}}", json!({"code": 403}), Truth::Yes),
        ("{result.size: {gt: 10}}", json!({"size": 11}), Truth::Yes),
        (
            "{result.code: {in: [403]}}",
            json!({"content": [], "structuredContent": {"code": 403}}),
            Truth::Yes,
        ),
        (
            "{result.code: {in: [403]}}",
            json!({"content": [{"type": "text", "text": "{\"code\": 403}"}]}),
            Truth::Yes,
        ),
        (
            "{result.code: {in: [403]}}",
            json!({"content": [{"resource": {"text": "{\"code\": 403}"}}]}),
            Truth::Yes,
        ),
        (
            "{result.code: {in: [403]}}",
            json!({"content": [{"text": "{\"code\": 403}"}], "structuredContent": {"code": 403}}),
            Truth::Yes,
        ),
        (
            "{result.code: {in: [403]}}",
            json!({"content": [{"text": "{\"code\": 403}"}], "structuredContent": {"code": 200}}),
            Truth::Doubt,
        ),
        (
            "{result.code: {in: [403]}}",
            json!({"code": 200, "structuredContent": {"code": 403}}),
            Truth::Doubt,
        ),
        ("{result.code: {in: [403]}}", json!({"content": [{"text": "all is well"}]}), Truth::No),
    ] {
        assert_eq!(truth_of(when, &call, Some(&output)), expected, "{when} {output}");
    }
    let padded = format!("{}123-45-6789", "x".repeat(20_000));
    assert_eq!(
        truth_of("{output.text: {matches: '\\d{3}-\\d\\d-\\d{4}'}}", &call, Some(&padded.into())),
        Truth::Yes
    );
}

#[test]
fn redaction_knows_what_to_mask() {
    let when = "{any: [{output.text: {matches: a}}, {not: {result.x: {matches_any: [b, c]}}}, {args.x: {matches: d}}]}";
    let when = expression(when, true);
    let patterns: Vec<String> = when.output_patterns().iter().map(ToString::to_string).collect();
    assert_eq!(patterns.len(), 3, "{patterns:?}");
    let Condition::Any(parts) = &when else { panic!("not any") };
    assert!(
        matches!(&parts[0], Condition::Value(value) if matches!(value.test.operator, Operator::Matches(_)))
    );
}

#[test]
fn a_message_shows_values_and_keeps_secrets() {
    let key = format!("sk-{}", "a".repeat(24));
    let call = Call::new("1", "a")
        .with("path", "/etc")
        .with("password", "hunter2")
        .with("note", format!("use {key}"))
        .with("long", "x".repeat(201))
        .with("flag", true)
        .with("lines", "one\ntwo\u{1b}[2J")
        .with("braces", "{args.password}")
        .with("deep", json!({"api_key": "abc", "list": [{"Secret-Value": 1, "ok": 2}]}));
    let around = with_variables(&[("MY_TOKEN", "t")]);
    let call = call.into();
    let view = View::of_result(&call, None, &around);
    for (message, expected) in [
        ("no {args.path}!", "no /etc!".to_owned()),
        ("{args.password} {env.MY_TOKEN}", "[REDACTED] [REDACTED]".to_owned()),
        ("{args.note}", "[REDACTED]".to_owned()),
        ("{args.long}", format!("{}...", "x".repeat(197))),
        ("{args.flag} {tool.name} {environment}", "True a production".to_owned()),
        ("{args.braces}", "{args.password}".to_owned()),
        ("{args.lines}", "one\\ntwo\\u{1b}[2J".to_owned()),
        ("{args.missing} {not one} {", "{args.missing} {not one} {".to_owned()),
        (
            "{args.deep}",
            "{'api_key': '[REDACTED]', 'list': [{'Secret-Value': '[REDACTED]', 'ok': 2}]}".to_owned(),
        ),
        ("{args.long}{args.long}{args.long}", {
            let one = format!("{}...", "x".repeat(197));
            one.repeat(3).chars().take(497).chain("...".chars()).collect()
        }),
    ] {
        let rule = format!("type: sandbox, tool: a, within: [/a], message: '{message}'");
        let text = ruleset(&one_rule(&rule)).rules[0].message.expand(&view);
        assert_eq!(text, expected, "{message}");
    }
    let odd = mistakes(&one_rule(
        "type: sandbox, tool: a, within: [/a], message: 'see {arg.x}, {output.text}, {a b}'",
    ));
    assert_eq!(odd.lines().count(), 2, "{odd}");
}

/// The rules after composition as `id=mode@file`, and what was told.
fn composed(files: &[&str]) -> (String, String) {
    let name = |index: usize| format!("{}.yaml", char::from(b'a' + u8::try_from(index).unwrap()));
    let mut drafts: Vec<Draft> = files
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let (draft, diagnostics) = parse(&Source::new(name(index), *text));
            assert_eq!(told(&diagnostics), "", "{text}");
            draft
        })
        .collect();
    let diagnostics = compose(&mut drafts);
    for diagnostic in &diagnostics {
        assert!(diagnostic.source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
    }
    let rules = drafts.iter().filter_map(|draft| draft.ruleset.as_ref()).flat_map(|ruleset| {
        ruleset.rules.iter().map(|rule| {
            let off = if rule.enabled { "" } else { "(off)" };
            let mode = if ruleset.mode_of(rule) == Mode::Enforce { "enforce" } else { "observe" };
            format!("{}={mode}{off}@{}", rule.id, rule.source.name().trim_end_matches(".yaml"))
        })
    });
    let tell = |one: &Diagnostic| format!("{} {}", one.severity, one.code);
    let codes: Vec<String> = diagnostics.iter().map(tell).collect();
    (rules.collect::<Vec<_>>().join(" "), codes.join(", "))
}

/// A file with rules written as `id` or `id key: value`.
fn layer(name: &str, mode: &str, head: &str, rules: &[&str]) -> String {
    let rules: String = rules
        .iter()
        .map(|rule| {
            let (id, more) = rule.split_once(' ').unwrap_or((rule, ""));
            let comma = if more.is_empty() { "" } else { ", " };
            format!("  - {{id: {id}{comma}{more}, type: post, tool: db, when: {{output.text: {{matches: a}}}}, then: {{action: redact, message: m}}}}\n")
        })
        .collect();
    let list = if rules.is_empty() { "rules: []\n".to_owned() } else { format!("rules:\n{rules}") };
    let head = if head.is_empty() { String::new() } else { format!("{head}\n") };
    format!(
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: {name}}}\ndefaults: {{mode: {mode}}}\n{head}{list}"
    )
}

#[test]
fn rulesets_are_joined_from_left_to_right() {
    let base = layer("base", "enforce", "", &["x", "y"]);
    let locked = layer("base", "enforce", "", &["x locked: true", "y"]);
    let rows: Vec<(&str, Vec<String>, &str, &str)> = vec![
        ("one file", vec![base.clone()], "x=enforce@a y=enforce@a", ""),
        (
            "the same id is replaced in its place",
            vec![base.clone(), layer("b", "enforce", "", &["z", "x"])],
            "x=enforce@b y=enforce@a z=enforce@b",
            "note rule-overridden",
        ),
        (
            "a rule can be disabled, which is told louder",
            vec![base.clone(), layer("b", "enforce", "", &["x enabled: false"])],
            "x=enforce(off)@b y=enforce@a",
            "warning rule-overridden",
        ),
        (
            "the last default mode counts",
            vec![base.clone(), layer("b", "observe", "", &["z", "w mode: enforce"])],
            "x=observe@a y=observe@a z=observe@b w=enforce@b",
            "warning mode-weakened",
        ),
        (
            "a locked rule keeps its mode",
            vec![locked.clone(), layer("b", "observe", "", &["z"])],
            "x=enforce@a y=observe@a z=observe@b",
            "warning mode-weakened",
        ),
        (
            "a locked rule is not replaced",
            vec![locked.clone(), layer("b", "enforce", "", &["x"])],
            "x=enforce@a y=enforce@a x=enforce@b",
            "error rule-locked",
        ),
        (
            "a locked rule is not disabled",
            vec![locked.clone(), layer("b", "enforce", "", &["x enabled: false"])],
            "x=enforce@a y=enforce@a x=enforce(off)@b",
            "error rule-locked",
        ),
        (
            "a locked rule is not made to observe",
            vec![locked.clone(), layer("b", "enforce", "", &["x mode: observe"])],
            "x=enforce@a y=enforce@a x=observe@b",
            "error rule-locked",
        ),
        (
            "a locked rule keeps its teeth",
            vec![locked.clone(), layer("b", "enforce", "tools: {db: {side_effect: write}}", &["z"])],
            "x=enforce@a y=enforce@a z=enforce@b",
            "error rule-locked",
        ),
        (
            "its own file may say so",
            vec![layer("a", "enforce", "tools: {db: {side_effect: write}}", &["x locked: true"])],
            "x=enforce@a",
            "",
        ),
        (
            "observing alongside makes candidates",
            vec![base.clone(), layer("b", "observe", "observe_alongside: true", &["x", "z locked: true"])],
            "x=enforce@a y=enforce@a x:candidate=observe@b z:candidate=observe@b",
            "",
        ),
        (
            "a candidate may watch beside a locked rule, and its tools are not used",
            vec![
                locked.clone(),
                layer("b", "enforce", "observe_alongside: true\ntools: {db: {side_effect: write}}", &["x"]),
                layer("c", "enforce", "observe_alongside: true", &["x"]),
            ],
            "x=enforce@a y=enforce@a x:candidate=observe@c",
            "note tools-not-used, note rule-overridden",
        ),
        (
            "the first file is enforced even if it observes alongside",
            vec![layer("a", "enforce", "observe_alongside: true", &["x"])],
            "x=enforce@a",
            "",
        ),
        (
            "a parent's rules come first",
            vec![layer("b", "enforce", "extends: base", &["z"]), base.clone()],
            "x=enforce@b y=enforce@b z=enforce@a",
            "",
        ),
        (
            "a child's defaults win, wherever the parent stands",
            vec![base.clone(), layer("b", "observe", "extends: base", &[])],
            "x=observe@a y=observe@a",
            "warning mode-weakened",
        ),
        (
            "but not over a lock",
            vec![layer("b", "observe", "extends: base", &[]), locked.clone()],
            "x=enforce@b y=observe@b",
            "warning mode-weakened",
        ),
        (
            "a candidate changes nothing about what it extends",
            vec![base.clone(), layer("b", "observe", "observe_alongside: true\nextends: base", &["z"])],
            "x=enforce@a y=enforce@a x:candidate=observe@a y:candidate=observe@a z:candidate=observe@b",
            "",
        ),
        (
            "a child replaces nothing of its parent",
            vec![base.clone(), layer("b", "enforce", "extends: base", &["x"])],
            "x=enforce@a y=enforce@a x=enforce@b",
            "error duplicate-id",
        ),
        (
            "two children share a parent",
            vec![
                layer("b", "enforce", "extends: base", &["z"]),
                layer("c", "enforce", "extends: base", &["w"]),
                locked.clone(),
            ],
            "x=enforce@c y=enforce@c z=enforce@a w=enforce@b",
            "",
        ),
        (
            "a parent that is not there",
            vec![layer("b", "enforce", "extends: bas", &["z"])],
            "z=enforce@a",
            "error unknown-parent",
        ),
        (
            "a parent that is there twice",
            vec![layer("b", "enforce", "extends: base", &["z"]), base.clone(), base.clone()],
            "z=enforce@a x=enforce@b y=enforce@b x=enforce@c y=enforce@c",
            "error ambiguous-parent",
        ),
        (
            "a circle",
            vec![layer("b", "enforce", "extends: c", &["z"]), layer("c", "enforce", "extends: b", &["w"])],
            "z=enforce@a w=enforce@b",
            "error extends-cycle",
        ),
        (
            "a circle beside something sound",
            vec![base.clone(), layer("b", "enforce", "extends: b", &["z"])],
            "x=enforce@a y=enforce@a z=enforce@b",
            "error extends-cycle",
        ),
    ];
    for (what, files, rules, told) in rows {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(composed(&files), (rules.to_owned(), told.to_owned()), "{what}");
    }
}

#[test]
fn what_is_told_about_joining_names_both_places() {
    let files = [
        layer("a", "enforce", "", &["x locked: true", "y"]),
        layer("b", "enforce", "", &["y mode: observe", "x"]),
    ];
    let mut drafts: Vec<Draft> = files
        .iter()
        .enumerate()
        .map(|(at, text)| parse(&Source::new(format!("{at}.yaml"), text.as_str())).0)
        .collect();
    insta::assert_snapshot!(told(&compose(&mut drafts)), @"
    6:10 rule-overridden `y` replaces, and only observes, the rule at 0.yaml:7:10 | give it another `id` if both are meant, or the earlier one `locked: true`
    7:10 rule-locked `x` replaces the rule at 0.yaml:6:10, which is locked | give this rule another `id`, or ask the owner of that file
    ");
}

#[test]
fn rulesets_extend_one_another_up_to_a_bound() {
    let chain = |length: usize| {
        let mut drafts: Vec<Draft> = (0..length)
            .map(|at| {
                let head = if at > 0 { format!("extends: r{}", at - 1) } else { String::new() };
                parse(&Source::new(
                    format!("{at}.yaml"),
                    layer(&format!("r{at}"), "enforce", &head, &[&format!("x{at}")]),
                ))
                .0
            })
            .collect();
        let told = told(&compose(&mut drafts));
        (told.contains("extends-depth"), drafts[0].ruleset.as_ref().unwrap().rules.len())
    };
    assert_eq!(chain(EXTENDS_DEPTH_MAX), (false, EXTENDS_DEPTH_MAX));
    assert_eq!(chain(EXTENDS_DEPTH_MAX + 1), (true, 1));
}

#[test]
fn findings_name_what_can_be_slipped_past() {
    let text = format!("{HEAD}tools: {{'mcp_*': {{side_effect: read}}}}
rules:
  - {{id: a, type: pre, tool: x, when: {{args.x: {{not_in: [1]}}}}, then: {{action: block, message: m, timeout: 3}}}}
  - {{id: b, type: pre, tool: '{{x,y}}', when: {{any: [{{args.x: {{exists: false}}}}, {{args.x: {{not_in: [1]}}}}]}}, then: {{action: ask, message: m, timeout_action: allow}}}}
  - {{id: c, type: pre, tool: x, when: {{not: {{args.x: {{not_equals: 1}}}}}}, {THEN}}}
  - {{id: d, type: post, tool: x, when: {{output.text: {{contains: a}}}}, then: {{action: redact, message: m}}}}
  - {{id: e, type: pre, tool: x, when: {{env.A: {{equals: '5'}}}}, {THEN}}}
  - {{id: f, type: pre, tool: x, when: {{args.a: {{equals: null}}}}, {THEN}}}
  - {{id: g, type: pre, tool: x, when: {{args.a: {{matches_any: ['(?=a)b', 'a']}}}}, {THEN}}}
  - {{id: h, type: session, limits: {{max_tool_calls: 5, max_attempts: 3, max_calls_per_tool: {{'a*': 9}}}}, then: {{action: block, message: 'at {{args.x}}'}}}}
  - {{id: i, type: sandbox, tool: x, within: [src], message: m}}
  - {{id: j, type: sandbox, tool: x, allows: {{}}, message: m, locked: true, enabled: false}}
  - {{id: k, type: pre, tool: x, when: {{args.a: {{contains: ''}}}}, {THEN}}}
  - {{id: l, type: pre, tool: x, when: {{all: [{{args.x: {{exists: true}}}}, {{args.x: {{not_in: [1]}}}}]}}, {THEN}}}
");
    let (draft, diagnostics) = read(&text);
    assert_eq!(told(&diagnostics), "");
    insta::assert_snapshot!(told(&crate::lint(&draft)), @"
    5:9 glob-as-name `mcp_*` in `tools` is an exact name, not a glob | name each tool
    7:10 idle-timeout `a` blocks at once and does not wait for a human | leave `timeout` out, or ask a human
    7:40 evadable a call without the field gets around `a` | add a test for it: `any: [{FIELD: {exists: false}}, {FIELD: {…}}]`
    8:10 odd-tool-name the tool `{x,y}` is taken letter by letter | globs have `*`, `?` and `[…]`, and spaces count: write one rule for each tool
    8:10 open-timeout `b` lets the call run when no human answers | write `timeout_action: block` unless that is meant
    10:10 redact-without-pattern `d` has no regular expression over the result, so all of it is masked | say what to mask with `output.text: {matches: …}`, or write `action: block`
    11:40 idle-test `env.A` gives `5` as a number or truth value, never as a text | write the value without quotes
    12:40 idle-test a field that is null counts as missing, so this test never holds | write `exists: false`
    13:40 not-linear `(?=a)b` needs an engine that may give up; a text it gives up on counts as a match | write it without look-around and back-references if you can
    14:10 shared-limit the tools of `a*` share one limit of 9 calls | name each tool to give it a limit of its own
    14:10 unreachable-limit the limit of `a*` is out of reach: `max_tool_calls` is lower | lower the one, or raise the other
    14:10 unreachable-limit `max_tool_calls` is out of reach: `max_attempts` is lower | lower the one, or raise the other
    14:10 idle-placeholder the message of `h` is shown as it is written | session rules have no placeholders: write it out
    15:10 doubtful-folder the folder `src` depends on where the agent runs | write it out, from `/`
    16:10 locked-and-idle `j` is locked and disabled: it never acts | leave one of the two out
    16:10 idle-sandbox `j` allows nothing and confines nothing | name folders, `commands` or `domains`
    17:40 empty-text an empty text is part of every text | write `exists: true` if that is meant
    ");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the schema beside the page is compared")]
fn the_schema_in_the_docs_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/ruleset.json");
    let fresh = format!("{:#}\n", schema());
    if std::env::var_os("LOCKGATE_WRITE_SCHEMA").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), fresh, "run this test with LOCKGATE_WRITE_SCHEMA=1");
}

/// Why a value does not fit our schema; empty if it does. It knows just the words our schema uses, and fails on others.
fn misfits(value: &Json) -> String {
    let schema = schema();
    let mut why = Vec::new();
    check(&schema, &schema, value, "", &mut why);
    why.join("\n")
}

fn check(root: &Json, schema: &Json, value: &Json, at: &str, why: &mut Vec<String>) {
    let fits = |schema: &Json| {
        let mut why = Vec::new();
        check(root, schema, value, at, &mut why);
        why.is_empty()
    };
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    };
    let size = |bound: &Json| usize::try_from(bound.as_u64().unwrap()).unwrap();
    let (object, list) = (value.as_object(), value.as_array());
    let chars = value.as_str().map(|text| text.chars().count());
    for (word, bound) in schema.as_object().unwrap() {
        let all = || bound.as_array().unwrap().iter();
        let holds = match word.as_str() {
            "$schema" | "title" | "$defs" => true,
            "type" if bound.is_array() => all().any(|kind| is(kind.as_str().unwrap())),
            "type" => is(bound.as_str().unwrap()),
            "const" => value == bound,
            "enum" => all().any(|one| one == value),
            "minLength" => chars.is_none_or(|chars| chars >= size(bound)),
            "maxLength" => chars.is_none_or(|chars| chars <= size(bound)),
            "pattern" => value
                .as_str()
                .is_none_or(|text| regex::Regex::new(bound.as_str().unwrap()).unwrap().is_match(text)),
            "minimum" => value.as_f64().is_none_or(|number| number >= bound.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= bound.as_f64().unwrap()),
            "minItems" => list.is_none_or(|list| list.len() >= size(bound)),
            "minProperties" => object.is_none_or(|object| object.len() >= size(bound)),
            "maxProperties" => object.is_none_or(|object| object.len() <= size(bound)),
            "required" => {
                object.is_none_or(|object| all().all(|key| object.contains_key(key.as_str().unwrap())))
            }
            "allOf" => all().all(fits),
            "anyOf" => all().any(fits),
            "oneOf" => all().filter(|one| fits(one)).count() == 1,
            "not" => !fits(bound),
            "$ref" => fits(root.pointer(bound.as_str().unwrap().trim_start_matches('#')).unwrap()),
            "properties" => {
                for (key, schema) in bound.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        check(root, schema, value, &format!("{at}/{key}"), why);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                for (key, value) in object.into_iter().flatten() {
                    if !known.is_some_and(|known| known.contains_key(key)) {
                        match bound {
                            Json::Bool(false) => why.push(format!("{at}: {key} is not known")),
                            bound => check(root, bound, value, &format!("{at}/{key}"), why),
                        }
                    }
                }
                true
            }
            "items" => {
                list.into_iter().flatten().for_each(|value| check(root, bound, value, at, why));
                true
            }
            other => panic!("no word {other}"),
        };
        if !holds {
            why.push(format!("{at}: {word} {bound}"));
        }
    }
}

/// Mistakes that no schema can tell.
const MEANINGS: [&str; 4] = ["bad-pattern", "unknown-selector", "no-output-yet", "duplicate-id"];
const KEYS: [&str; 22] = [
    "id",
    "type",
    "tool",
    "tools",
    "when",
    "then",
    "limits",
    "within",
    "not_within",
    "allows",
    "outside",
    "message",
    "mode",
    "enabled",
    "locked",
    "timeout",
    "timeout_action",
    "timeout_effect",
    "action",
    "tags",
    "metadata",
    "new",
];
const VALUES: [&str; 26] = [
    "\"a\"",
    "\"\"",
    "\"A b\"",
    "1",
    "0",
    "1.0",
    "1.5",
    "true",
    "null",
    "[]",
    "[\"a\"]",
    "[\"\"]",
    "[1]",
    "{}",
    "{\"a\": 1}",
    "\"pre\"",
    "\"post\"",
    "\"observe\"",
    "\"ask\"",
    "\"block\"",
    "\"allow\"",
    "\"approve\"",
    r#"{"args.x": {"gt": 1}}"#,
    r#"{"args.x": {"gt": "1"}}"#,
    r#"{"action": "block", "message": "m"}"#,
    r#"{"max_attempts": 1}"#,
];

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"(kind: Ruleset\n|apiVersion: edictum/v1\n|metadata|name|defaults|mode|rules|id|type|pre|sandbox|when|then|args\.x|all|not|matches|message|tools|extends|[a-z~$\[\]{}:,/()'\x22&*!|> -]|\n|  |é){0,60}") {
        let source = Source::new("x", text);
        detect(&source);
        let (draft, diagnostics) = parse(&source);
        for diagnostic in diagnostics.into_iter().chain(lint(&draft)).chain(compose(&mut [draft])) {
            proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
        }
    }

    #[test]
    fn no_rule_makes_it_panic(key in "(id|type|tool|when|then|limits|within|message|allows)", value in r"(a|1|~|\[\]|\{\}|\[a\]|\{a: b\}|\{args.x: \{matches: '[(a*\[]{0,3}'\}\}|'\{[a-z.{}]{0,9}\}')", rule in 0..33_usize) {
        let source = Source::new("x", one_rule(&format!("{}, {key}: {value}", GOOD_RULES[rule].replacen(&format!("{key}:"), "was:", 1))));
        for diagnostic in parse(&source).1 {
            proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
        }
    }

    #[test]
    fn the_reader_and_the_schema_agree_about_shapes(rule in 0..GOOD_RULES.len(), key in 0..KEYS.len(), value in 0..VALUES.len(), is_inner: bool) {
        let mut file = json_of(&one_rule(GOOD_RULES[rule])).unwrap();
        let value: Json = serde_json::from_str(VALUES[value]).unwrap();
        let place = if is_inner { &mut file["rules"][0]["then"] } else { &mut file["rules"][0] };
        if let Some(fields) = place.as_object_mut() {
            fields.insert(KEYS[key].to_owned(), value);
        }
        let (_, diagnostics) = read(&file.to_string());
        let is_of_shape = |one: &&Diagnostic| one.severity == Severity::Error && !MEANINGS.contains(&one.code);
        let refused = diagnostics.iter().find(is_of_shape);
        let misfits = misfits(&file);
        proptest::prop_assert_eq!(refused.is_none(), misfits.is_empty(), "{} {:?} {}", file, refused, misfits);
    }

    #[test]
    fn no_value_makes_a_test_panic(text in ".{0,30}", number in -9.0..9.0_f64) {
        let call = Call::new("1", "a").with("x", json!({"a": [text.clone(), number]})).into();
        let output = json!({"a": [text, number]});
        for rule in GOOD_RULES {
            let ruleset = ruleset(&one_rule(rule));
            let rule = &ruleset.rules[0];
            let around = Surroundings::default();
            let view = View::of_result(&call, Some(&output), &around);
            rule.message.expand(&view);
            rule.when().map(|when| when.truth(&view));
        }
    }
}

#[test]
fn a_rule_that_a_missing_field_gets_around_is_told_once() {
    let rows = [
        ("args.x: {not_in: [1]}", 1),
        ("all: [{args.x: {not_in: [1]}}, {args.y: {not_equals: 1}}]", 1),
        ("principal.role: {not_in: [admin]}", 1),
        ("args.x: {in: [1]}", 0),
        ("not: {args.x: {in: [1]}}", 0),
        ("any: [{args.x: {exists: false}}, {args.x: {not_in: [1]}}]", 0),
        // Always there.
        ("environment: {not_in: [staging]}", 0),
        // It asks for another field.
        ("any: [{args.y: {exists: false}}, {args.x: {not_in: [1]}}]", 1),
    ];
    for (when, expected) in rows {
        let (draft, _) = read(&one_rule(&format!("id: a, type: pre, tool: x, when: {{{when}}}, {THEN}")));
        let found = crate::lint(&draft);
        let count = found.iter().filter(|finding| finding.code == "evadable").count();
        assert_eq!(count, expected, "{when}");
    }
}
