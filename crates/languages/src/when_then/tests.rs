//! What the front end reads, what it refuses, and what it says about it.

use lockgate_pattern::{Match, Pattern};
use lockgate_policy::{
    Severity, ToolName, Tools,
    condition::{DayOfWeek, Operator, SenderField, Test, TimeOfDay},
    window::{CHAIN_COUNT_MAX, ORDERED_CALLS_MAX},
};

use super::*;
use crate::draft::when_then::*;
use crate::{render, yaml::told};

fn source(text: &str) -> Source {
    Source::new("policy.yaml", text)
}

/// A file read, joined with itself alone, and everything said on the way.
fn read(text: &str) -> (WhenThen, Vec<Diagnostic>) {
    let (mut files, said) = join(&[text]);
    (files.remove(0), said)
}

fn join(texts: &[&str]) -> (Vec<WhenThen>, Vec<Diagnostic>) {
    let mut said = Vec::new();
    let mut drafts = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let (draft, mistakes) = parse(&Source::new(format!("{}.yaml", index + 1), *text));
        said.extend(mistakes);
        drafts.push(draft);
    }
    said.extend(resolve(&mut drafts));
    (drafts.into_iter().map(|draft| draft.when_then).collect(), said)
}

fn errors(said: &[Diagnostic]) -> String {
    let errors = said.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).cloned();
    told(&errors.collect::<Vec<_>>())
}

/// The only rule of a file that has it, which must be without a mistake.
fn only(rule: &str) -> DraftClause {
    let (mut file, said) = read(&format!("rules:\n  - {rule}\n"));
    assert_eq!(errors(&said), "", "{rule}");
    file.rules.remove(0)
}

fn only_when(when: &str) -> DraftClause {
    only(&format!("{{id: r, then: block, when: {when}}}"))
}

/// Checks that a text has exactly one error, and that its line has these words.
fn refused(text: &str, words: &str) {
    let errors = errors(&read(text).1);
    assert_eq!(errors.lines().count(), 1, "{text}\n{errors}");
    for word in words.split(" … ") {
        assert!(errors.contains(word), "{text}\n`{word}` is not in: {errors}");
    }
}

fn when_refused(when: &str, words: &str) {
    refused(&format!("rules:\n  - {{id: r, then: block, when: {when}}}\n"), words);
}

fn drawn_tools(tools: &Tools) -> String {
    match tools {
        Tools::Every => "every".to_owned(),
        Tools::Any(names) => names.iter().map(drawn_name).collect::<Vec<_>>().join(", "),
    }
}

fn drawn_name(name: &ToolName) -> String {
    match name {
        ToolName::Exact(name) => format!("={name}"),
        ToolName::Matching(pattern) => format!("~{pattern}"),
    }
}

fn drawn_tests(tests: &[(String, Vec<Test>)]) -> String {
    let field = |(key, tests): &(String, Vec<Test>)| {
        format!("{key}: {}", tests.iter().map(drawn_test).collect::<Vec<_>>().join(" & "))
    };
    tests.iter().map(field).collect::<Vec<_>>().join("; ")
}

fn drawn_test(test: &Test) -> String {
    let listed = |values: &[serde_json::Value]| serde_json::Value::from(values.to_vec()).to_string();
    let (not, lacks) = if test.is_negated { ("!", "lacks") } else { ("", "has") };
    match &test.operator {
        Operator::Matches(patterns) => format!("{not}~ {}", patterns[0]),
        Operator::Contains(texts) => format!("{lacks} {:?}", texts[0]),
        Operator::StartsWith(text) => format!("begins {text:?}"),
        Operator::EndsWith(text) => format!("ends {text:?}"),
        Operator::Equals(value) => format!("= {value}"),
        Operator::OneOf(values) if test.is_negated => format!("not in {}", listed(values)),
        Operator::OneOf(values) => format!("in {}", listed(values)),
        Operator::Above(bound) => format!("> {bound}"),
        Operator::AtLeast(bound) => format!(">= {bound}"),
        Operator::Below(bound) => format!("< {bound}"),
        Operator::AtMost(bound) => format!("<= {bound}"),
        Operator::Exists(is_there) => if *is_there { "there" } else { "missing" }.to_owned(),
        Operator::Under(_) | Operator::Shape(_) => unreachable!("no when/then file can say so"),
    }
}

/// What the host must have said: one of these texts.
fn is_one_of(texts: &[&str]) -> Test {
    Test::text(Operator::OneOf(texts.iter().map(|text| serde_json::Value::from(*text)).collect()))
}

#[test]
fn a_file_is_known_by_its_keys() {
    for (text, expected) in [
        ("rules: []", true),
        ("shield_name: x\nversion: 1", true),
        ("{\"honeypots\": []}", true),
        ("a: 1\ndefault_verdict: block", true),
        ("a: {b: 1}\n? [x]\n: y\ninclude: []", true),
        ("kind: Net\nrules: []", false),
        ("kind: Other\nshield_name: x", false),
        ("nested: {rules: []}", false),
        ("- rules", false),
        ("- {rules: []}", false),
        ("x: rules", false),
        ("rules", false),
        ("", false),
        ("version: 1", false),
        // What breaks off still says what it wants to be.
        ("rules:\n  - id: [", true),
        ("a: [\nrules: x", true),
        ("kind: Net\nrules: [", false),
    ] {
        assert_eq!(detect(&source(text)) == Language::WhenThen, expected, "{text}");
    }
    for (name, code) in [("p.yaml", None), ("p.yml", None), ("p.json", None)] {
        let (_, said) = crate::parse::parse(
            &Source::new(name, "rules: []"),
            &[],
            &crate::ruleset::CustomNames::default(),
        );
        assert_eq!(said.first().map(|diagnostic| diagnostic.code), code);
    }
    for text in ["", "- a", "rulez: []", "kind: Other\nrules: []"] {
        let (_, said) =
            crate::parse::parse(&Source::new("p.yaml", text), &[], &crate::ruleset::CustomNames::default());
        assert_eq!(said.first().map(|diagnostic| diagnostic.code), Some("unknown-language"), "{text}");
    }
}

#[test]
fn included_files_are_found_without_reading_the_rules() {
    let names =
        |text: &str| -> Vec<String> { includes(&source(text)).into_iter().map(|(name, _)| name).collect() };
    assert_eq!(names("include: [a.yaml, '../b.yaml']\nrules: nonsense"), ["a.yaml", "../b.yaml"]);
    assert_eq!(names("include: a.yaml"), [""; 0]);
    assert_eq!(names("include: [1, b.yaml]"), ["b.yaml"]);
    assert_eq!(names("kind: Net\ninclude: [a.yaml]"), [""; 0]);
    assert_eq!(names("rules: [{include: [a.yaml]}]"), [""; 0]);
    assert_eq!(names("include: ["), [""; 0]);
    let text = "include:\n  - a.yaml\n";
    assert_eq!(source(text).slice(includes(&source(text))[0].1), "a.yaml");
}

#[test]
fn every_key_of_a_file_has_good_and_bad_forms() {
    let good = [
        "shield_name: x",
        "shield_name: ''",
        "version: 1",
        "version: '12'",
        "default_verdict: allow",
        "default_verdict: BlOcK",
        "default_verdict: approve",
        "default_verdict: ask",
        "default_verdict: redact",
        "rules: []",
        "include: [a.yaml]",
        "honeypots: [{name: a, alert: Trap, severity: HIGH}, {tool: B}]",
        "taint_chain: {enabled: true, outgoing_tools: [send_email, fs.write]}",
        "taint_chain: {enabled: 'no', outgoing_tools: []}",
        "output_rules: [{tool: a, max_size: 20}, {id: o, tool: [a, 'b_.*'], block_patterns: [x], then: redact}]",
        "output_rules: [{tool: '.*', then: REDACT, message: m, severity: low, description: ''}]",
        "sanitizer: {enabled: false}",
        "sanitizer: {max_string_length: 10, max_depth: 3, max_total_keys: 9, blocked_patterns: ['a+']}",
        "sanitizer: {builtin_detectors: [path_traversal]}",
        "rate_limits: [{tool: '*', max_calls: 2, window_seconds: 10, per_session: no}]",
        "rate_limits: [{tool: exec, max_calls: 2, window_seconds: '0.5', message: m}]",
        "pii_patterns: [{name: badge, pattern: 'B\\d+'}, {name: other, regex: x}]",
        "timezone: Europe/Berlin",
        "timezone: UTC",
        "mode: enforce",
        "mode: Observe",
        "mode: audit",
        "mask: edges",
        "mask: stars",
        "mask: label",
        "approval_strategy: per_tool",
    ];
    for text in good {
        assert_eq!(errors(&read(text).1), "", "{text}");
    }
    let bad = [
        ("shield_name: 5", "wrong-type … quotes"),
        ("shield_name: no", "`no`"),
        ("shield_name:", "not nothing"),
        ("version: abc", "wrong-type … `version`"),
        ("version: 1.5", "wrong-type"),
        ("version: ''", "wrong-type"),
        ("version: -1", "wrong-type"),
        ("default_verdict: deny", "unknown-value … did you mean `block`?"),
        ("default_verdict: blok", "did you mean `block`?"),
        ("default_verdict: false", "wrong-type"),
        ("default_verdict: null", "wrong-type"),
        ("default_verdict: ''", "wrong-type"),
        ("rules:", "`rules` must be a list, not nothing"),
        ("rules: {a: 1}", "`rules` must be a list, not a mapping"),
        ("rules: [exec]", "a rule must be a mapping"),
        ("- a", "must be a mapping, not a list"),
        ("include: a.yaml", "`include` must be a list"),
        ("include: [5]", "wrong-type"),
        ("honeypots: {name: a}", "must be a list"),
        ("honeypots: [{alert: x}]", "missing-key a honeypot has no `name`"),
        ("honeypots: [{name: a, tool: b}]", "two spellings"),
        ("honeypots: [{name: 'a_*'}]", "not-a-name"),
        ("honeypots: [{name: 5}]", "wrong-type"),
        ("honeypots: [{name: a, severity: bad}]", "unknown-value"),
        ("honeypots: [{name: a, alarm: x}]", "unknown-key … `alert`"),
        ("taint_chain: [a]", "must be a mapping"),
        ("taint_chain: {enabled: true}", "closes no tool"),
        ("taint_chain: {enabled: true, outgoing_tools: ['send_*']}", "not-a-name"),
        ("taint_chain: {enabled: maybe, outgoing_tools: [a]}", "`enabled`"),
        ("taint_chain: {enabled: true, outgoing_tool: [a], outgoing_tools: [b]}", "unknown-key"),
        ("output_rules: [{max_size: 1}]", "missing-key an output rule has no `tool`"),
        ("output_rules: [{tool: '', max_size: 1}]", "wrong-type"),
        ("output_rules: [{tool: [], max_size: 1}]", "empty-list"),
        ("output_rules: [{tool: a}]", "looks for nothing"),
        ("output_rules: [{tool: a, then: block}]", "looks for nothing"),
        ("output_rules: [{tool: a, max_size: 1, then: allow}]", "withheld or masked"),
        ("output_rules: [{tool: a, max_size: 1, then: approve}]", "withheld or masked"),
        ("output_rules: [{tool: a, max_size: '1'}]", "wrong-type"),
        ("output_rules: [{tool: a, block_patterns: x}]", "must be a list"),
        ("output_rules: [{tool: a, block_patterns: []}]", "empty-list"),
        ("output_rules: [{tool: a, block_patterns: ['(']}]", "bad-pattern"),
        ("output_rules: [{id: a, tool: a, max_size: 1}, {id: a, tool: b, max_size: 1}]", "duplicate-id"),
        ("sanitizer: {}", "looks for nothing"),
        ("sanitizer: {max_string_length: 0}", "out-of-range"),
        ("sanitizer: {max_depth: 1, max_args_depth: 2}", "two spellings"),
        ("sanitizer: {builtin_detectors: [path_traversl]}", "did you mean `path_traversal`?"),
        ("sanitizer: {blocked_patterns: ['[']}", "bad-pattern"),
        ("rate_limits: [{max_calls: 1, window_seconds: 1}]", "has no `tool`"),
        ("rate_limits: [{tool: a, window_seconds: 1}]", "has no `max_calls`"),
        ("rate_limits: [{tool: a, max_calls: 1}]", "has no `window_seconds`"),
        ("rate_limits: [{tool: a, max_calls: 0, window_seconds: 1}]", "out-of-range … then: block"),
        ("rate_limits: [{tool: a, max_calls: 1, window_seconds: 0}]", "`window_seconds`"),
        ("rate_limits: [{tool: [a], max_calls: 1, window_seconds: 1}]", "wrong-type"),
        ("pii_patterns: [{name: a, pattern: 'x*'}]", "even in an empty one"),
        ("pii_patterns: [{name: a, pattern: 'x(?=y)'}]", "look-around"),
        ("pii_patterns: [{name: a}]", "has no `pattern`"),
        ("pii_patterns: [{pattern: a}]", "has no `name`"),
        ("pii_patterns: [{name: a, pattern: x}, {name: a, pattern: y}]", "duplicate-name"),
        ("timezone: Europe/Berlni", "unknown-zone … did you mean `Europe/Berlin`?"),
        ("timezone: nowhere at all", "as in `Europe/Berlin`"),
        ("timezone: 5", "wrong-type"),
        ("mode: disabled", "disabled-policy"),
        ("mode: shadow", "unknown-value"),
        ("mask: star", "did you mean `stars`?"),
        ("approval_strategy: perrule", "unknown-value"),
        ("rules: []\nrules: []", "duplicate-key"),
        ("rulez: []", "unknown-key … did you mean `rules`?"),
        ("rules: [", "yaml-syntax"),
        ("rules: []\nllm_guard: {}", "not-run … `llm_guard` … no model"),
        ("rules: []\nfail_open: true", "not-run … blocks, always"),
        ("rules: []\n'webhook': x", "not-run … `webhook`"),
        ("rules: []\nbudget: 5", "not-run … `rate_limits`"),
    ];
    for (text, words) in bad {
        refused(text, words);
    }
}

#[test]
fn every_key_of_a_rule_has_good_and_bad_forms() {
    let good = [
        "id: r, then: BLOCK",
        "id: 'no', verdict: Redact",
        "id: r, then: allow, verdict: ALLOW",
        "id: r, then: ask, approval_strategy: per_session",
        "id: r, then: block, message: null",
        "id: r, then: block, description: '', message: 'why', severity: Critical, priority: -3, mode: observe",
        "id: r, then: block, enabled: 'yes'",
        "id: r, then: block, tool: exec",
        "id: r, then: block, tool: exec, when: {}",
        "id: r, then: block, chain: [{tool: a, within_seconds: 1}]",
    ];
    for rule in good {
        assert_eq!(errors(&read(&format!("rules:\n  - {{{rule}}}")).1), "", "{rule}");
    }
    let bad = [
        ("then: block", "missing-key a rule has no `id`"),
        ("id: '', then: block", "wrong-type … `id`"),
        ("id: 5, then: block", "wrong-type … quotes"),
        ("id: no, then: block", "`no`"),
        ("id: r", "missing-key the rule `r` has no `then` … add `then: block`"),
        ("id: r, then: null", "wrong-type … `then`"),
        ("id: r, then: ''", "wrong-type … `then`"),
        ("id: r, then: true", "wrong-type … `then`"),
        ("id: r, then: blocks", "unknown-value … did you mean `block`?"),
        ("id: r, then: deny", "did you mean `block`?"),
        ("id: r, then: allow, verdict: block", "say different things"),
        ("id: r, then: block, when: null", "`when` must be a mapping, not nothing"),
        ("id: r, then: block, when: exec", "`when` must be a mapping"),
        ("id: r, then: block, when: [exec]", "`when` must be a mapping"),
        ("id: r, then: block, severity: urgent", "unknown-value"),
        ("id: r, then: block, severity: null", "wrong-type"),
        ("id: r, then: block, description: null", "wrong-type"),
        ("id: r, then: block, message: 5", "wrong-type"),
        ("id: r, then: block, message: [a]", "wrong-type"),
        ("id: r, then: block, enabled: null", "`enabled`"),
        ("id: r, then: block, enabled: maybe", "`enabled`"),
        ("id: r, then: approve, approval_strategy: never", "unknown-value"),
        ("id: r, then: block, priority: high", "wrong-type"),
        ("id: r, then: block, priority: 1.5", "a whole number"),
        ("id: r, then: block, mode: audit", "unknown-value"),
        ("id: r, then: block, mode: disabled", "unknown-value"),
        ("id: r, then: block, extends: 5", "wrong-type"),
        ("id: r, then: block, extends: r", "extends-circle"),
        ("id: r, then: block, tool: exec, when: {session: {a: b}}", "misplaced-key … move it into `when`"),
        ("id: r, then: block, tool_name: exec, tool: exec", "unknown-key … write `when: {tool: …}`"),
        ("id: r, then: block, tool_name: exec, when: {tool: exec}", "unknown-key … write `when: {tool: …}`"),
        ("id: r, then: block, tools: [exec]", "unknown-key … write `when: {tool: […]}`"),
        ("id: r, then: block, blocked_args_patterns: [x]", "unknown-key … args_match"),
        ("id: r, then: block, action: block", "unknown-key … write it as `then`"),
        ("id: r, then: block, args_match: {a: b}", "unknown-key … under `when`"),
        ("id: r, then: block, mesage: x", "unknown-key … did you mean `message`?"),
        ("id: r, then: block, when: {}, when: {}", "duplicate-key"),
        (
            "id: r, then: block, chain: [{tool: a, within_seconds: 1}], when: {chain: []}",
            "duplicate-key … keep the one under `when`",
        ),
    ];
    for (rule, words) in bad {
        refused(&format!("rules:\n  - {{{rule}}}"), words);
    }
    refused("rules:\n  - {id: a, then: block}\n  - {id: a, then: block}", "3:10 duplicate-id … 1.yaml:2:10");
}

#[test]
fn a_tool_is_named_exactly_by_a_glob_or_by_an_expression() {
    for (when, expected) in [
        ("{tool: exec}", "=exec"),
        ("{tool: 'mcp:fs-read'}", "=mcp:fs-read"),
        ("{tool: 'mcp/fs read@1'}", "=mcp/fs read@1"),
        ("{tool: ünïcode_工具}", "=ünïcode_工具"),
        ("{tool: 'delete_*'}", "~delete_*"),
        ("{tool: 'file?'}", "~file?"),
        ("{tool: '*'}", "~*"),
        ("{tool: '.*'}", "~.*"),
        ("{tool: 'file_.*'}", "~file_.*"),
        ("{tool: fs.read}", "~fs.read"),
        ("{tool: '(?i)exec'}", "~(?i)exec"),
        ("{tool: [exec, 'file_.*', 'a*']}", "=exec, ~file_.*, ~a*"),
        ("{tool: ''}", "every"),
        ("{tool: null}", "every"),
        ("{tool: }", "every"),
    ] {
        assert_eq!(drawn_tools(&only_when(when).tools.unwrap()), expected, "{when}");
    }
    assert!(only_when("{}").tools.is_none());
    assert!(only("{id: r, then: block}").tools.is_none());
    for (when, words) in [
        ("{tool: []}", "empty-list"),
        ("{tool: ['']}", "wrong-type"),
        ("{tool: [null]}", "wrong-type"),
        ("{tool: 5}", "wrong-type"),
        ("{tool: true}", "wrong-type"),
        ("{tool: on}", "`on`"),
        ("{tool: {name: exec}}", "wrong-type"),
        ("{tool: '[abc'}", "bad-pattern"),
        ("{tool: '*.delete'}", "bad-pattern … only in names without dots"),
        ("{tools: [exec]}", "unknown-key … write it as `tool`"),
        ("{tol: exec}", "unknown-key … did you mean `tool`?"),
        ("{day_of_week: Mon}", "unknown-key … under `context`"),
    ] {
        when_refused(when, words);
    }
    let long = |count: usize| format!("{{tool: {}}}", "a".repeat(count));
    only_when(&long(names::NAME_CHARS_MAX));
    when_refused(&long(names::NAME_CHARS_MAX + 1), "bad-pattern … 500 characters");
}

#[test]
fn tools_are_matched_by_their_whole_names() {
    for (tool, taken, left) in [
        ("delete_*", "delete_user delete_", "delete xdelete_user"),
        ("search*", "search search_web", "searc"),
        ("exec|shell", "exec shell", "exec2 myshell execshell"),
        ("(exec)", "exec", "exec2"),
        (r"exec\\d", "exec1", "exec exec12"),
        ("fs.read", "fs.read fsXread", "fs.reads"),
        ("(?i)exec", "EXEC exec", "exec2"),
        (".*", "a a\nb", ""),
        ("*", "a a\nb", ""),
    ] {
        let Some(Tools::Any(names)) = only_when(&format!("{{tool: \"{tool}\"}}")).tools else {
            panic!("{tool}")
        };
        let [ToolName::Matching(pattern)] = names.as_slice() else { panic!("{tool}") };
        for name in taken.split(' ') {
            assert_ne!(pattern.find(name), Match::No, "{tool} should take {name:?}");
        }
        for name in left.split(' ').filter(|name| !name.is_empty()) {
            assert_eq!(pattern.find(name), Match::No, "{tool} should leave {name:?}");
        }
    }
}

#[test]
fn every_operator_does_what_its_name_says() {
    for (test, expected) in [
        ("{regex: 'rm -rf'}", "~ rm -rf"),
        ("{not_regex: a}", "!~ a"),
        ("{contains: '('}", "has \"(\""),
        ("{contains: ''}", "has \"\""),
        ("{not_contains: a}", "lacks \"a\""),
        ("{starts_with: a}", "begins \"a\""),
        ("{ends_with: a}", "ends \"a\""),
        ("{eq: '5'}", "= \"5\""),
        ("{eq: 5}", "= 5"),
        ("{eq: true}", "= true"),
        ("{eq: [1, {a: b}]}", "= [1,{\"a\":\"b\"}]"),
        ("{in: [a, 1]}", "in [\"a\",1]"),
        ("{not_in: [a]}", "not in [\"a\"]"),
        ("{gt: 100}", "> 100"),
        ("{gte: 1.5, lt: -2}", ">= 1.5 & < -2"),
        ("{lte: 0}", "<= 0"),
        ("{exists: true}", "there"),
        ("{exists: false}", "missing"),
        ("{}", "there"),
        ("{regex: rm, contains: zzz}", "~ rm & has \"zzz\""),
        ("{predicate: not_contains, value: a}", "lacks \"a\""),
        ("{predicate: gt, value: 5}", "> 5"),
        ("rm", "~ rm"),
        ("''", "~ "),
        ("5", "~ 5"),
        ("1.0", "~ 1.0"),
        ("true", "= true"),
    ] {
        for key in ["args_match", "args"] {
            let rule = only_when(&format!("{{{key}: {{a.b: {test}}}}}"));
            assert_eq!(drawn_tests(&rule.args), format!("a.b: {expected}"), "{test}");
        }
    }
    for (test, words) in [
        ("null", "wrong-type … exists: false"),
        ("[rm]", "wrong-type … {in: [rm]}"),
        ("yes", "ambiguous-word"),
        ("'('", "bad-pattern"),
        ("{regex: '['}", "bad-pattern"),
        ("{regex: 5}", "wrong-type"),
        ("{contains: 5}", "wrong-type"),
        ("{eq: null}", "wrong-type … exists: false"),
        ("{eq: on}", "ambiguous-word"),
        ("{in: a}", "must be a list"),
        ("{in: []}", "empty-list"),
        ("{not_in: [null]}", "wrong-type"),
        ("{gt: '5'}", "wrong-type … without quotes"),
        ("{lt: ten}", "wrong-type"),
        ("{exists: 'yes'}", "`true` or `false`"),
        ("{startswith: a}", "unknown-operator … did you mean `starts_with`?"),
        ("{ne: a}", "unknown-operator … `not_in: […]`"),
        ("{matches: a}", "did you mean `regex`?"),
        ("{frobnicate: a}", "unknown-operator … write one of"),
        ("{predicate: startswith, value: a}", "unknown-operator … `starts_with`"),
        ("{predicate: regex}", "missing-key … `value`"),
        ("{predicate: eq, value: a, regex: b}", "unknown-key"),
        ("{exists: false, regex: a}", "never-holds"),
    ] {
        when_refused(&format!("{{args_match: {{a: {test}}}}}"), words);
    }
    for (when, words) in [
        ("{args_match: rm}", "must be a mapping"),
        ("{args: [rm]}", "must be a mapping"),
        ("{args: null}", "must be a mapping"),
        ("{args: {a: b}, args_match: {a: b}}", "two spellings"),
    ] {
        when_refused(when, words);
    }
}

#[test]
fn a_session_has_counters_taints_and_attributes() {
    for (session, expected) in [
        ("{}", ""),
        ("{total_calls: 5}", "total_calls: = 5"),
        ("{total_calls: {gte: 1, lt: 3}}", "total_calls: >= 1 & < 3"),
        ("{total_calls: {not_in: [0, 1]}}", "total_calls: not in [0,1]"),
        ("{tool_count.fs.read: {gt: 1}}", "tool_count.fs.read: > 1"),
        ("{tool_count.a: {exists: false}}", "tool_count.a: missing"),
        ("{taints: [EMAIL, PHONE]}", "taints: = [\"EMAIL\",\"PHONE\"]"),
        ("{taints: []}", "taints: = []"),
        ("{taints: {contains: EMAIL}}", "taints: has \"EMAIL\""),
        ("{user_role: admin}", "user_role: = \"admin\""),
        ("{user_role: '!admin'}", "user_role: not in [\"admin\"]"),
        ("{level: 5}", "level: = 5"),
        ("{trusted: true}", "trusted: = true"),
        ("{user_role: {in: [a, b]}}", "user_role: in [\"a\",\"b\"]"),
        ("{user_role: {}}", "user_role: there"),
    ] {
        assert_eq!(
            drawn_tests(&only_when(&format!("{{session: {session}}}")).session),
            expected,
            "{session}"
        );
    }
    for (session, words) in [
        ("[a]", "must be a mapping"),
        ("null", "must be a mapping"),
        ("{total_calls: '5'}", "wrong-type"),
        ("{total_calls: -1}", "wrong-type"),
        ("{total_calls: {gt: '0'}}", "wrong-type"),
        ("{total_calls: {gt: 1.5}}", "wrong-type … whole numbers"),
        ("{total_calls: {eq: a}}", "wrong-type … whole numbers"),
        ("{total_calls: {predicate: eq, value: a}}", "wrong-type … whole numbers"),
        ("{total_calls: {in: [1, a]}}", "wrong-type … whole numbers"),
        ("{total_calls: {ne: 0}}", "unknown-operator … `not_in: […]`"),
        ("{total_calls: {regex: 0}}", "unknown-operator"),
        ("{total_calls: {exists: false}}", "unknown-operator"),
        ("{total_call: {gt: 1}}", "did you mean `total_calls`?"),
        ("{tool_counts: {exec: 1}}", "write `tool_count.NAME`"),
        ("{tool_counts.exec: 1}", "write `tool_count.NAME`"),
        ("{tool_count: 1}", "write `tool_count.NAME`"),
        ("{tool_count.: 1}", "write `tool_count.NAME`"),
        ("{'tool_count.a*': 1}", "not-a-name"),
        ("{taints: EMAIL}", "{contains: EMAIL}"),
        ("{taints: {gt: 1}}", "unknown-operator"),
        ("{taint: EMAIL}", "did you mean `taints`?"),
        ("{user_role: [a, b]}", "{in: [a, b]}"),
        ("{user_role: null}", "wrong-type"),
        ("{user_role: '!'}", "nothing is left out"),
        ("{user_role: {like: a}}", "unknown-operator"),
    ] {
        when_refused(&format!("{{session: {session}}}"), words);
    }
}

#[test]
fn a_sender_is_a_text_a_list_or_a_mapping() {
    let drawn = |sender: &str| -> String {
        let fields = only_when(&format!("{{sender: {sender}}}")).sender;
        let field = |(field, patterns): &(SenderField, Vec<Pattern>)| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            format!("{field:?} {}", patterns.join(" or "))
        };
        fields.iter().map(field).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(drawn("alice"), "Name alice");
    assert_eq!(drawn("[alice, 'bot-.*', 'b*']"), "Name alice or bot-.* or b*");
    assert_eq!(drawn("{name: alice, team: [a, b]}"), "Name alice; Key(\"team\") a or b");
    assert_eq!(drawn("{}"), "");
    let alice = &only_when("{sender: alice}").sender[0].1[0];
    for (name, expected) in [("alice", true), ("alice2", false), ("malice", false)] {
        assert_eq!(alice.find(name) != Match::No, expected, "{name}");
    }
    for (sender, words) in [
        ("'!admin'", "no-negation"),
        ("['!admin']", "no-negation"),
        ("{name: '!admin'}", "no-negation"),
        ("'('", "bad-pattern"),
        ("''", "wrong-type"),
        ("null", "wrong-type"),
        ("5", "wrong-type"),
        ("[]", "empty-list"),
        ("{name: []}", "empty-list"),
        ("{name: {eq: a}}", "wrong-type"),
    ] {
        when_refused(&format!("{{sender: {sender}}}"), words);
    }
}

#[test]
fn a_context_has_times_days_and_what_the_host_says() {
    let rule = only_when("{context: {time_of_day: '!9:00 - 18:00', day_of_week: '!Mon-Wed, Fri'}}");
    assert_eq!(rule.time_of_day, Some(TimeOfDay { is_negated: true, from_minute: 540, to_minute: 1080 }));
    let days = [true, true, true, false, true, false, false];
    assert_eq!(rule.day_of_week, Some(DayOfWeek { is_negated: true, days }));
    let weekend =
        Some(DayOfWeek { is_negated: false, days: [false, false, false, false, false, true, true] });
    for days in ["[Sat, Sun]", "'Sat,Sun'", "'saturday-SUN'", "[Sat-Sun]"] {
        assert_eq!(
            only_when(&format!("{{context: {{day_of_week: {days}}}}}")).day_of_week,
            weekend,
            "{days}"
        );
    }
    for (value, expected) in [
        ("admin", is_one_of(&["admin"])),
        ("'!admin'", is_one_of(&["admin"]).negated()),
        ("'prod*'", is_one_of(&["prod*"])),
        ("5", is_one_of(&["5"])),
        ("true", is_one_of(&["True"])),
        ("'true'", is_one_of(&["true"])),
        ("[a, 5, '!b', false]", is_one_of(&["a", "5", "!b", "False"])),
    ] {
        let rule = only_when(&format!("{{context: {{key: {value}}}}}"));
        assert_eq!(rule.context, [("key".to_owned(), expected)], "{value}");
    }
    assert!(only_when("{context: {}}").context.is_empty());
    for (context, words) in [
        ("prod", "must be a mapping"),
        ("[a]", "must be a mapping"),
        ("null", "must be a mapping"),
        ("{time_of_day: noon}", "bad-time"),
        ("{time_of_day: 930}", "wrong-type"),
        ("{time_of_day: '25:00-26:00'}", "bad-time"),
        ("{time_of_day: '00:00-24:00'}", "bad-time"),
        ("{time_of_day: '!00:00-23:59'}", "never-holds"),
        ("{time_of_day: '!12:00-11:59'}", "never-holds"),
        ("{time_of_day: [a]}", "wrong-type"),
        ("{day_of_week: Mon-Fry}", "bad-day … `fry`"),
        ("{day_of_week: Mnday}", "bad-day … did you mean `monday`?"),
        ("{day_of_week: 'Mon,'}", "bad-day"),
        ("{day_of_week: 'Mon,!Tue'}", "bad-day"),
        ("{day_of_week: ['!Mon']}", "bad-day"),
        ("{day_of_week: []}", "empty-list"),
        ("{day_of_week: 5}", "wrong-type"),
        ("{day_of_week: '!Mon-Sun'}", "never-holds"),
        ("{time_of_dya: '09:00-10:00'}", "did you mean `time_of_day`?"),
        ("{Day_Of_Week: Mon}", "did you mean `day_of_week`?"),
        ("{key: null}", "wrong-type"),
        ("{key: []}", "empty-list"),
        ("{key: {eq: a}}", "wrong-type"),
        ("{key: '!'}", "nothing is left out"),
        ("{key: yes}", "ambiguous-word"),
    ] {
        when_refused(&format!("{{context: {context}}}"), words);
    }
}

#[test]
fn a_chain_is_a_list_of_steps() {
    let drawn = |chain: &str| -> String {
        let Some(chain) = only_when(&format!("{{chain: {chain}}}")).chain else { return "none".into() };
        let step = |step: &ChainStep| {
            let ChainStep { text, tools, within_ms, min_count, verdict } = step;
            format!("{text} {} {within_ms} {min_count} {:?}", drawn_name(tools), verdict.map(Decision::word))
        };
        let steps: Vec<String> = chain.steps.iter().map(step).collect();
        format!("{}{}", if chain.is_ordered { "ordered " } else { "" }, steps.join("; "))
    };
    assert_eq!(drawn("[]"), "none");
    assert_eq!(drawn("[{tool: a, within_seconds: 60}]"), "a =a 60000 1 None");
    assert_eq!(
        drawn("[{tool: 'read_.*', within_seconds: '0.5', min_count: 2, verdict: ALLOW}]"),
        "read_.* ~read_.* 500 2 Some(\"allow\")"
    );
    assert_eq!(
        drawn("{ordered: true, steps: [{tool: a, within_seconds: 1}, {tool: b, within_seconds: 1}]}"),
        "ordered a =a 1000 1 None; b =b 1000 1 None"
    );
    assert_eq!(drawn("{steps: [{tool: a, within_seconds: 1}]}"), "a =a 1000 1 None");
    assert!(only("{id: r, then: block, chain: [{tool: a, within_seconds: 1}]}").chain.is_some());
    for (chain, words) in [
        ("null", "must be a list"),
        ("a", "must be a list"),
        ("[a]", "must be a mapping"),
        ("{tool: a, steps: []}", "unknown-key"),
        ("{ordered: true}", "has no `steps`"),
        ("[{within_seconds: 60}]", "missing-key … `tool`"),
        ("[{tool: a}]", "missing-key … `within_seconds`"),
        ("[{tool: [a], within_seconds: 1}]", "wrong-type"),
        ("[{tool: '', within_seconds: 1}]", "wrong-type"),
        ("[{tool: a, within_seconds: 0}]", "`within_seconds`"),
        ("[{tool: a, within_seconds: -1}]", "`within_seconds`"),
        ("[{tool: a, within_seconds: soon}]", "`within_seconds`"),
        ("[{tool: a, within_seconds: 1, min_count: 0}]", "out-of-range"),
        ("[{tool: a, within_seconds: 1, min_count: -1}]", "wrong-type"),
        ("[{tool: a, within_seconds: 1, verdict: allowed}]", "did you mean `allow`?"),
        ("[{tool: a, within_seconds: 1, within_secs: 60}]", "unknown-key … within_seconds"),
    ] {
        when_refused(&format!("{{chain: {chain}}}"), words);
    }
}

#[test]
fn every_bound_holds_one_past_it() {
    let count = |count: u32| format!("{{chain: [{{tool: a, within_seconds: 1, min_count: {count}}}]}}");
    only_when(&count(CHAIN_COUNT_MAX));
    when_refused(&count(CHAIN_COUNT_MAX + 1), "out-of-range");

    let steps = |count: usize| format!("{{chain: [{}]}}", "{tool: a, within_seconds: 1}, ".repeat(count));
    only_when(&steps(rule::CHAIN_STEPS_MAX));
    when_refused(&steps(rule::CHAIN_STEPS_MAX + 1), "out-of-range");

    let ordered = |count: u32| {
        format!("{{chain: {{ordered: true, steps: [{{tool: a, within_seconds: 1, min_count: {count}}}]}}}}")
    };
    only_when(&ordered(ORDERED_CALLS_MAX));
    when_refused(&ordered(ORDERED_CALLS_MAX + 1), "out-of-range");

    let rate = |count: u32| format!("rate_limits: [{{tool: a, max_calls: {count}, window_seconds: 1}}]");
    assert_eq!(errors(&read(&rate(CHAIN_COUNT_MAX)).1), "");
    refused(&rate(CHAIN_COUNT_MAX + 1), "out-of-range");

    let generations = |count: usize| {
        let rule = |index: usize| match index {
            0 => "  - {id: r0, then: block}\n".to_owned(),
            _ => format!("  - {{id: r{index}, extends: r{}}}\n", index - 1),
        };
        format!("rules:\n{}", (0..=count).map(rule).collect::<String>())
    };
    assert_eq!(errors(&read(&generations(resolve::EXTENDS_DEPTH_MAX)).1), "");
    refused(&generations(resolve::EXTENDS_DEPTH_MAX + 1), "extends-depth");
}

#[test]
fn a_file_full_of_mistakes_hears_of_all_of_them_at_once() {
    let text = "\
shield_name: 7
default_verdict: deny
remote_rules: http://example.com
rules:
  - id: no-shell
    when: {tools: [exec], args_match: {command: {startswith: rm, gt: '5'}}}
    then: blok
    mesage: No
  - id: no-shell
    extends: missing
    when:
      tool: '['
      session: {total_calls: {ne: 3}, user_role: [a, b]}
      context: {time_of_day: noon, day_of_week: Mon-Fry}
      sender: '!bob'
      chain: [{tool: a, within_secs: 60}]
  - when: null
    then: block
output_rules:
  - {tool: a, then: approve}
";
    insta::assert_snapshot!(told(&read(text).1), @r#"
    1:14 wrong-type `shield_name` must be a text, not `7` | put it in quotes to make it a text
    2:18 unknown-value `default_verdict` cannot be `deny` | did you mean `block`?
    3:1 not-run `remote_rules` is nothing that Lockgate runs | fetch the file yourself and name it in the policy: rules are never loaded over the network
    6:12 unknown-key `when` has no key `tools` | write it as `tool`, which takes a list too
    6:50 unknown-operator no operator `startswith` exists for this | did you mean `starts_with`?
    6:70 wrong-type `gt` must be a number, not the text `5` | write it in digits, without quotes
    7:11 unknown-value `then` cannot be `blok` | did you mean `block`?
    8:5 unknown-key a rule has no key `mesage` | did you mean `message`?
    12:14 bad-pattern `[` is never closed: write `\[` for the character | write a regular expression as Python has it; `*` alone stands for anything only in names without dots and other signs
    13:31 unknown-operator no operator `ne` exists for this | write `not_in: […]`
    13:50 wrong-type `user_role` cannot be a list | write `{in: [a, b]}` for any of them
    14:30 bad-time `noon` is not a time of day | write it as `"09:00-18:00"`, from 00:00 to 23:59, with a `!` in front for any other time
    14:49 bad-day `fry` is not a day of the week | write days as `Mon-Fri` or `Sat,Sun`, with a `!` in front for all the others
    15:15 no-negation a `!` does not turn `sender` round | name the senders that are meant, or write the expression `(?!bob$).*`
    16:15 missing-key a step of a chain has no `within_seconds` | add `within_seconds: …`
    16:25 unknown-key a step of a chain has no key `within_secs` | write it as `within_seconds`
    17:5 missing-key a rule has no `id` | add `id: …`
    17:11 wrong-type `when` must be a mapping, not nothing | write `key: value` lines under it
    20:5 missing-key the output rule `output rule 1` looks for nothing | add `max_size` or `block_patterns`, or `then: redact` to mask all sensitive data
    20:21 unknown-value a result can be withheld or masked, and nothing else | write `then: block` or `then: redact`
    9:9 duplicate-id `no-shell` is already the id of the rule at 1.yaml:5:9 | rename one of them, or leave it out
    10:14 unknown-rule no rule is called `missing` | name the `id` of a rule of this policy
    "#);
}

#[test]
fn a_child_takes_over_what_it_does_not_say() {
    let text = "
rules:
  - {id: c, extends: b, when: {tool: z, args_match: {y: {eq: 2}}, context: {env: dev}}}
  - {id: b, extends: a, severity: high, when: {args: {x: {contains: q}}, sender: {team: t}}, message: own}
  - id: a
    then: block
    description: all of it
    message: parent's
    priority: 4
    mode: observe
    approval_strategy: once
    when:
      tool: x
      args_match: {x: {eq: 1, exists: true}, w: {gt: 3}}
      session: {role: dev}
      sender: bob
      context: {env: prod, time_of_day: '09:00-10:00', day_of_week: Mon}
      chain: [{tool: k, within_seconds: 1}]
";
    let (file, said) = read(text);
    assert_eq!(told(&said), "");
    let [c, b, a] = file.rules.as_slice() else { panic!("all three stay") };
    assert_eq!(drawn_tests(&a.args), "x: = 1 & there; w: > 3");
    assert_eq!(drawn_tests(&b.args), "w: > 3; x: has \"q\"");
    assert_eq!(drawn_tests(&c.args), "w: > 3; x: has \"q\"; y: = 2");
    assert_eq!(drawn_tools(c.tools.as_ref().unwrap()), "=z");
    assert_eq!(drawn_tools(b.tools.as_ref().unwrap()), "=x");
    assert_eq!(drawn_tests(&c.session), "role: = \"dev\"");
    assert_eq!(c.context, [("env".to_owned(), is_one_of(&["dev"]))]);
    let senders: Vec<&SenderField> = c.sender.iter().map(|(field, _)| field).collect();
    assert_eq!(senders, [&SenderField::Name, &SenderField::Key("team".into())]);
    assert_eq!((c.then, c.severity, c.priority), (Some(Decision::Block), Some(Gravity::High), Some(4)));
    assert_eq!((c.mode, c.approval_strategy), (Some(Mode::Observe), Some(Standing::Once)));
    assert_eq!((c.message.as_deref(), c.description.as_deref()), (Some("own"), Some("all of it")));
    assert!(c.time_of_day.is_some() && c.day_of_week.is_some() && c.chain.is_some());
    assert_eq!((a.severity, a.message.as_deref()), (None, Some("parent's")));
}

#[test]
fn a_child_can_take_a_chain_and_a_tool_away() {
    let text = "
rules:
  - {id: a, then: block, when: {tool: x, chain: [{tool: k, within_seconds: 1}]}}
  - {id: b, extends: a, when: {tool: '.*', chain: []}}
";
    let (file, said) = read(text);
    assert_eq!(told(&said), "");
    assert!(file.rules[0].chain.is_some());
    assert!(file.rules[1].chain.is_none());
}

#[test]
fn rules_extend_rules_of_other_files() {
    let (files, said) = join(&[
        "rules: [{id: child, extends: parent, when: {tool: b}}]",
        "rules: [{id: parent, then: approve, when: {tool: a}}]\nmode: observe\napproval_strategy: per_tool",
    ]);
    assert_eq!(told(&said), "");
    let (child, parent) = (&files[0].rules[0], &files[1].rules[0]);
    assert_eq!((child.then, parent.then), (Some(Decision::Ask), Some(Decision::Ask)));
    // What a whole file says is for its own rules.
    assert_eq!((child.mode, parent.mode), (Some(Mode::Enforce), Some(Mode::Observe)));
    assert_eq!((child.approval_strategy, parent.approval_strategy), (None, Some(Standing::PerTool)));
}

#[test]
fn what_does_not_fit_together_is_told_with_both_places() {
    let (files, said) = join(&[
        "
default_verdict: approve
rules:
  - {id: a, extends: b, then: block}
  - {id: b, extends: c}
  - {id: c, extends: a}
  - {id: into, extends: a}
  - {id: self, extends: self}
  - {id: lost, extends: elsewere, then: block}
  - {id: silent, extends: quiet}
  - {id: quiet, when: {tool: x}}
",
        "
default_verdict: allow
rules:
  - {id: elsewhere, then: block}
  - {id: a, then: block}
",
        "default_verdict: APPROVE",
    ]);
    insta::assert_snapshot!(render(&said, false), @r"
    error[duplicate-id]: `a` is already the id of the rule at 1.yaml:4:10
     --> 2.yaml:5:10
      |
    5 |   - {id: a, then: block}
      |          ^
      |
      = try: rename one of them, or leave it out

    error[unknown-rule]: no rule is called `elsewere`
     --> 1.yaml:9:25
      |
    9 |   - {id: lost, extends: elsewere, then: block}
      |                         ^^^^^^^^
      |
      = try: did you mean `elsewhere`?

    error[extends-circle]: rules extend one another in a circle: `a`, `b`, `c`, `a`
     --> 1.yaml:4:22
      |
    4 |   - {id: a, extends: b, then: block}
      |                      ^
      |
      = try: leave `extends` out of one of them, and write out what it takes over

    error[extends-circle]: rules extend one another in a circle: `self`, `self`
     --> 1.yaml:8:25
      |
    8 |   - {id: self, extends: self}
      |                         ^^^^
      |
      = try: leave `extends` out of one of them, and write out what it takes over

    warning[other-default]: this `default_verdict` does not count: 1.yaml:2:18 says `approve`
     --> 2.yaml:2:18
      |
    2 | default_verdict: allow
      |                  ^^^^^ the strictest of a policy counts
      |
      = try: write the same in both files, or leave this one out

    error[missing-key]: neither `silent` nor `quiet`, which it extends, has a `then`
      --> 1.yaml:10:10
       |
    10 |   - {id: silent, extends: quiet}
       |          ^^^^^^
       |
       = try: add `then: block`, or one of `approve`, `redact`, `allow`

    error[missing-key]: the rule `quiet` has no `then`
      --> 1.yaml:11:10
       |
    11 |   - {id: quiet, when: {tool: x}}
       |          ^^^^^
       |
       = try: add `then: block`, or one of `approve`, `redact`, `allow`
    ");
    let defaults: Vec<Decision> = files.iter().map(|file| file.default_verdict.unwrap().0).collect();
    assert_eq!(defaults, [Decision::Ask; 3]);
}

#[test]
fn a_rule_that_is_off_is_dropped_with_everything_wrong_about_its_patterns() {
    let text = "
default_verdict: block
rules:
  - {id: base, enabled: no, when: {tool: '['}, then: block}
  - {id: silent, enabled: false}
  - {id: heir, extends: base}
  - {id: live, then: block}
";
    let (file, said) = read(text);
    insta::assert_snapshot!(render(&said, false), @r"
    warning[inherits-off]: `heir` is off because `base` is
     --> 1.yaml:6:25
      |
    6 |   - {id: heir, extends: base}
      |                         ^^^^ takes over `enabled: false`
      |
      = try: add `enabled: true` to it, or `enabled: false` to show that this is meant

    note[disabled-rule]: the rule `base` is off
     --> 1.yaml:4:10
      |
    4 |   - {id: base, enabled: no, when: {tool: '['}, then: block}
      |          ^^^^ counts for nothing

    note[disabled-rule]: the rule `silent` is off
     --> 1.yaml:5:10
      |
    5 |   - {id: silent, enabled: false}
      |          ^^^^^^ counts for nothing
    ");
    let ids: Vec<&str> = file.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["live"]);
    // But not what else is wrong, and not once a rule that is on needs them.
    refused("rules: [{id: base, enabled: false, whne: {}}]", "unknown-key");
    let template = "rules:\n  - {id: base, enabled: false, when: {tool: '['}, then: block}\n";
    refused(&format!("{template}  - {{id: heir, extends: base, enabled: true}}"), "2:46 bad-pattern");
    let heirs = "  - {id: one, extends: base, enabled: true}\n  - {id: two, extends: one}";
    refused(&format!("{template}{heirs}"), "2:46 bad-pattern");
}

fn findings(text: &str) -> Vec<Diagnostic> {
    let (draft, mistakes) = parse(&source(text));
    assert_eq!(errors(&mistakes), "", "{text}");
    let mut drafts = [draft];
    let mut said = resolve(&mut drafts);
    assert_eq!(errors(&said), "", "{text}");
    said.extend(mistakes);
    // Few of these rules have a message; that is looked at by itself.
    said.extend(lint(&drafts[0]).into_iter().filter(|finding| finding.code != "missing-message"));
    said
}

#[test]
fn what_an_author_hardly_means_is_told() {
    let text = "\
rules:
  - {id: glob, when: {tool: ['delete_*', fs.read, '*', '.*', 'file_.*']}, then: block}
  - {id: again, when: {tool: 'delete_*'}, then: block}
  - {id: every, when: {tool: ''}, then: block, approval_strategy: once}
  - {id: idle, when: {tool: a}, then: allow}
  - {id: slip, when: {args_match: {url: {not_regex: '^https'}}}, then: block}
  - {id: first, when: {session: {tool_count.exec: {lt: 2}}}, then: block}
  - {id: below, when: {session: {total_calls: {lt: 0}}}, then: block}
  - {id: look, when: {args_match: {command: {regex: 'rm(?! -i)'}}}, then: block}
  - {id: dead, when: {args_match: {command: 'a^b'}}, then: block}
  - {id: text, when: {args_match: {force: {eq: 'true'}}}, then: block}
  - {id: rest, enabled: false, then: block}
taint_chain: {outgoing_tools: [a]}
";
    insta::assert_snapshot!(render(&findings(text), false), @r#"
    warning[idle-allow]: `idle` changes nothing: what no rule restricts is allowed anyway
     --> policy.yaml:5:10
      |
    5 |   - {id: idle, when: {tool: a}, then: allow}
      |          ^^^^ opens nothing
      |
      = try: write `default_verdict: block`, or leave the rule out: it makes no exception to stricter ones

    note[disabled-rule]: the rule `rest` is off
      --> policy.yaml:12:10
       |
    12 |   - {id: rest, enabled: false, then: block}
       |          ^^^^ counts for nothing

    warning[disabled-guard]: `taint_chain` is off unless it says `enabled: true`
      --> policy.yaml:13:14
       |
    13 | taint_chain: {outgoing_tools: [a]}
       |              ^^^^^^^^^^^^^^^^^^^^^
       |
       = try: add `enabled: true`, or leave it out

    note[read-as-glob]: `delete_*` is read as a glob
     --> policy.yaml:2:31
      |
    2 |   - {id: glob, when: {tool: ['delete_*', fs.read, '*', '.*', 'file_.*']}, then: block}
      |                               ^^^^^^^^ `*` stands for anything, `?` for one character
      |
      = try: write `(delete_*)` if a regular expression is meant

    note[read-as-regex]: the dot in `fs.read` stands for any character
     --> policy.yaml:2:42
      |
    2 |   - {id: glob, when: {tool: ['delete_*', fs.read, '*', '.*', 'file_.*']}, then: block}
      |                                          ^^^^^^^ read as a regular expression
      |
      = try: write `fs\.read` if the dot is part of the name

    warning[broad]: `glob` is about every tool: `*` takes every name
     --> policy.yaml:2:52
      |
    2 |   - {id: glob, when: {tool: ['delete_*', fs.read, '*', '.*', 'file_.*']}, then: block}
      |                                                    ^ and about every call of them
      |
      = try: name the tools that are meant

    warning[every-tool]: a `tool` without a name is every tool
     --> policy.yaml:4:24
      |
    4 |   - {id: every, when: {tool: ''}, then: block, approval_strategy: once}
      |                        ^^^^ names none
      |
      = try: write `tool: ".*"` if every tool is meant

    warning[idle-strategy]: `approval_strategy` has no effect where no human is asked
     --> policy.yaml:4:48
      |
    4 |   - {id: every, when: {tool: ''}, then: block, approval_strategy: once}
      |                                                ^^^^^^^^^^^^^^^^^ changes nothing
      |
      = try: write `then: approve`, or leave it out

    note[evadable]: a call without `url` gets around `slip`
     --> policy.yaml:6:36
      |
    6 |   - {id: slip, when: {args_match: {url: {not_regex: '^https'}}}, then: block}
      |                                    ^^^ `not_regex` only looks at a value that is there
      |
      = try: add a rule for the same tool with `url: {exists: false}`

    warning[no-first-call]: `tool_count.exec` is not there before the first call, so this does not hold then
     --> policy.yaml:7:34
      |
    7 |   - {id: first, when: {session: {tool_count.exec: {lt: 2}}}, then: block}
      |                                  ^^^^^^^^^^^^^^^ holds from the second call on, if at all
      |
      = try: add a rule with `tool_count.exec: {exists: false}` for the first call

    warning[never-holds]: `total_calls` is never below 0
     --> policy.yaml:8:34
      |
    8 |   - {id: below, when: {session: {total_calls: {lt: 0}}}, then: block}
      |                                  ^^^^^^^^^^^ the rule never counts
      |
      = try: write a higher number

    note[not-linear]: this pattern has look-around or back-references
     --> policy.yaml:9:54
      |
    9 |   - {id: look, when: {args_match: {command: {regex: 'rm(?! -i)'}}}, then: block}
      |                                                      ^^^^^^^^^ runs on an engine that may give up
      |
      = try: do without them if you can: a text the engine gives up on is restricted

    warning[impossible-pattern]: this pattern matches no text at all
      --> policy.yaml:10:46
       |
    10 |   - {id: dead, when: {args_match: {command: 'a^b'}}, then: block}
       |                                              ^^^ never matches
       |
       = try: write what the text has in it, or leave the pattern out

    note[compares-text]: `force` is compared with the text `true`
      --> policy.yaml:11:36
       |
    11 |   - {id: text, when: {args_match: {force: {eq: 'true'}}}, then: block}
       |                                    ^^^^^ the JSON value is the text `True` here
       |
       = try: write `eq: true` for the JSON value
    "#);
}

#[test]
fn what_is_plainly_meant_is_not_commented_on() {
    for text in [
        "rules: [{id: r, when: {tool: exec, args_match: {a: {exists: false}}}, then: block}]",
        "default_verdict: block\nrules: [{id: r, when: {tool: exec, args_match: {a: {not_in: [b]}}}, then: allow}]",
        "rules:\n  - {id: r, when: {args: {a: {not_in: [b]}}}, then: block}\n  - {id: s, when: {args: {a: {exists: false}}}, then: block}",
        "rules: [{id: r, when: {session: {tool_count.a: {gt: 2}}}, then: approve, approval_strategy: per_tool}]",
        "rules: [{id: r, when: {session: {total_calls: {lt: 2}}}, then: block}]",
        "rules: [{id: r, when: {tool: 'exec|shell'}, then: block}]",
        "approval_strategy: once\nrules: [{id: r, when: {tool: exec}, then: block}]",
        "default_verdict: block",
        "include: [a.yaml]",
        "honeypots: [{name: a}]",
        "pii_patterns: [{name: a, pattern: b}]",
        "taint_chain: {enabled: true, outgoing_tools: [a]}",
    ] {
        assert_eq!(told(&findings(text)), "", "{text}");
    }
}

#[test]
fn no_key_that_is_not_run_is_one_that_is() {
    for key in FILE_KEYS {
        let (_, said) = parse(&source(&format!("{key}: x")));
        assert!(said.iter().all(|diagnostic| diagnostic.code != "not-run"), "{key}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in PIECES) {
        let source = source(&text);
        detect(&source);
        includes(&source);
        let (draft, mut said) = parse(&source);
        let mut drafts = [draft];
        said.extend(resolve(&mut drafts));
        said.extend(lint(&drafts[0]));
        for diagnostic in said {
            proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
        }
    }
}

/// Texts that are often nearly a file of rules.
const PIECES: &str = r"(rules|default_verdict|honeypots|output_rules|sanitizer|rate_limits|include): ([a-z\[\]{}:,!*é' -]{0,20}\n)|.{0,40}|rules:\n(  - \{(id: [a-c]{1,2}, |extends: [a-c], |then: (block|allow|approve|x), |enabled: (no|x), |when: \{(tool: ('[a*.\[(|\\é]{0,4}'|\[a\]), |args: \{(a: ['a({1*]{0,3}, |b: \{(eq|regex|in|gt|not_in|exists): [a1'\[\]]{0,4}\}, ){0,2}\}, |session: \{(total_calls|taints|role|tool_count\.a): (1|\{lt: 1\}|'!a'|\[a\])\}, |sender: ('a\*'|\[b\]|\{x: y\}), |context: \{(time_of_day|day_of_week|env): ('!?[0-2]?[0-9]:00-1:30'|Mon-Fri|\[Sat\]|'!')\}, |chain: \[\{tool: a, within_seconds: [0-9]{1,3}\}\], ){0,3}\}, ){0,5}\}\n){0,4}";

#[test]
fn a_rule_that_a_missing_field_gets_around_is_told_once_and_only_where_nothing_catches_it() {
    let is_told = |rules: &str| {
        let rules: String = rules.lines().map(|rule| format!("  - {{{}}}\n", rule.trim())).collect();
        let found = findings(&format!("rules:\n{rules}"));
        found.iter().filter(|finding| finding.code == "evadable").count()
    };
    let rule = "id: r, then: block, when: {tool: x, args_match: {a: {not_in: [b]}}}";
    let guarded = |guard: &str| format!("{rule}\n{guard}");
    let rows = [
        (rule.to_owned(), 1),
        (
            "id: r, then: approve, when: {tool: x, args_match: {a: {not_regex: b}, c: {not_contains: d}}}"
                .to_owned(),
            1,
        ),
        // What a field must be like, what is allowed, and what only observes.
        (
            "id: r, then: block, when: {tool: x, args_match: {a: {regex: b}, c: {gt: 3}, d: {in: [e]}}}"
                .to_owned(),
            0,
        ),
        ("id: r, then: allow, when: {tool: x, args_match: {a: {not_in: [b]}}}".to_owned(), 0),
        ("id: r, then: block, mode: observe, when: {tool: x, args_match: {a: {not_in: [b]}}}".to_owned(), 0),
        ("id: r, then: block, when: {tool: x, args_match: {a: {not_in: [b], exists: true}}}".to_owned(), 0),
        // Another rule catches what slips by.
        (guarded("id: g, then: block, when: {tool: x, args_match: {a: {exists: false}}}"), 0),
        (guarded("id: g, then: block, when: {tool: 'x*', args_match: {a: {exists: false}}}"), 0),
        (guarded("id: g, then: block, when: {args_match: {a: {exists: false}}}"), 0),
        // It only looks as if it did: another tool, another field, milder, sometimes, or not acting.
        (guarded("id: g, then: block, when: {tool: y, args_match: {a: {exists: false}}}"), 1),
        (guarded("id: g, then: block, when: {tool: x, args_match: {b: {exists: false}}}"), 1),
        (guarded("id: g, then: approve, when: {tool: x, args_match: {a: {exists: false}}}"), 1),
        (guarded("id: g, then: block, when: {tool: x, sender: ada, args_match: {a: {exists: false}}}"), 1),
        (
            guarded(
                "id: g, then: block, when: {tool: x, args_match: {a: {exists: false}, b: {exists: false}}}",
            ),
            1,
        ),
        (guarded("id: g, then: block, mode: observe, when: {tool: x, args_match: {a: {exists: false}}}"), 1),
    ];
    for (rules, expected) in rows {
        assert_eq!(is_told(&rules), expected, "{rules}");
    }
}
