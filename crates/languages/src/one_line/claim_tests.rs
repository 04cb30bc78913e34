//! What claims and examples say, on a line and in YAML, and what is said about those that say nothing.

use lockgate_policy::{CLAIMS_MAX, Decision, EXAMPLES_MAX, ExampleCall, ExampleStep, Property, STEPS_MAX};
use proptest::{collection::vec, prelude::*, sample::select};

use lockgate_policy::{LIMIT_MAX, Span};

use super::*;
use crate::{lint, yaml::told};

/// What a text states, or what is wrong with it.
fn stated(draft: &Draft, diagnostics: &[Diagnostic]) -> String {
    let mistakes = diagnostics.iter().map(|it| {
        let slice = it.source.slice(it.span);
        format!("{} `{slice}`: {} | {}", it.code, it.message, it.remedy.as_deref().unwrap_or("nothing to do"))
    });
    let claims = draft.claims.iter().map(|claim| claim.property.to_string());
    let examples = draft.examples.iter().map(ToString::to_string);
    mistakes.chain(claims).chain(examples).collect::<Vec<_>>().join("\n")
}

fn on_a_line(text: &str) -> String {
    let (draft, diagnostics) = parse(&Source::new("ci.rules", text));
    stated(&draft, &diagnostics)
}

/// The four languages in YAML, each with a line of ours at its end.
fn in_yaml(line: &str) -> [(&'static str, String); 4] {
    let head = "apiVersion: edictum/v1\n";
    [
        ("when-then.yaml", format!("rules: [{{id: c, then: block, when: {{tool: c}}}}]\n{line}")),
        ("net.yaml", format!("kind: Net\nname: n\nplaces: [p]\ntransitions: []\n{line}")),
        (
            "ruleset.yaml",
            format!(
                "{head}kind: Ruleset\nmetadata: {{name: r}}\ndefaults: {{mode: enforce}}\nrules:\n  - {{id: a, type: pre, \
                 tool: x, when: {{tool.name: {{exists: true}}}}, then: {{action: block, message: m}}}}\n{line}"
            ),
        ),
        (
            "workflow.yaml",
            format!("{head}kind: Workflow\nmetadata: {{name: w}}\nstages: [{{id: s}}]\n{line}"),
        ),
    ]
}

fn parsed(name: &str, text: &str) -> (Draft, Vec<Diagnostic>) {
    crate::parse::parse(&Source::new(name, text), &[], &crate::ruleset::CustomNames::default())
}

#[test]
fn a_claim_is_told_by_its_fixed_words_alone() {
    for text in [
        "never deploy before test",
        "never deploy without test since edit",
        "never deploy without test since deploy",
        "never deploy without test since test",
        "never deploy after test",
        "never deploy after deploy",
        "never read and pay in one session",
        "at most 0 send",
        "at most 3 send",
        "at most 9223372036854775808 send",
        "deploy possible",
        "deploy impossible",
        "deploy stays possible",
        "human before deploy",
        // Tools may be called like the words around them.
        "never possible",
        "never impossible",
        "never stays possible",
        "possible possible",
        "stays stays possible",
        "human possible",
        "human before human",
        "human before before",
        "human before possible",
        "never never before before",
        "never before before never",
        "never after after before",
        "never without without since since since",
        "never and and in in one session",
        "never human before possible",
        "at most 3 per",
        "at most 3 at",
        "at possible",
        "claim possible",
    ] {
        assert_eq!(on_a_line(&format!("claim {text}")), text);
    }
    for (text, same) in [
        ("at most 3 send per session", "at most 3 send"),
        ("at most 3 per per session", "at most 3 per"),
        ("at most +3 send", "at most 3 send"),
        ("at most 003 send", "at most 3 send"),
        ("  deploy\tpossible # why not", "deploy possible"),
        ("deploy possible#why", "deploy possible"),
    ] {
        assert_eq!(on_a_line(&format!("claim {text}")), same);
    }
}

#[test]
fn a_claim_that_says_nothing_is_told_what_it_may_mean() {
    let said: Vec<String> = [
        "claim",
        "claim deploy",
        "claim never deploy befor test",
        "claim Never deploy before test",
        "claim never deploy before test twice",
        "claim test before deploy",
        "claim deploy after test",
        "claim never deploy",
        "claim deploy never possible",
        "claim deploy always possible",
        "claim never read and pay",
        "claim never deploy without test",
        "claim human-approval before deploy",
        "claim at most 3 per session",
        "claim at most 3 send per day",
        "claim at most three send",
        "claim at most 3.0 send",
        "claim at most -1 send",
        "claim at most 1_000 send",
        "claim at most 9223372036854775809 send",
        "claim at most 99999999999999999999999999 send",
        "claim never deploy before deploy",
        "claim never deploy without deploy since edit",
        "claim never a without a since a",
        "claim never pay and pay in one session",
        "claim: never deploy before test",
        "observe claim deploy possible",
    ]
    .iter()
    .map(|text| on_a_line(text))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    unknown-claim `claim`: this claims nothing we know how to prove | write one of `claim never <tool> before <tool>`, `claim never <tool> without <tool> since <tool>`, `claim never <tool> after <tool>`, `claim never <tool> and <tool> in one session`, `claim at most <N> <tool>`, `claim at most <N> <tool> per session`, `claim <tool> possible`, `claim <tool> impossible`, `claim <tool> stays possible`, `claim human before <tool>`
    unknown-claim `deploy`: this claims nothing we know how to prove | write one of `claim never <tool> before <tool>`, `claim never <tool> without <tool> since <tool>`, `claim never <tool> after <tool>`, `claim never <tool> and <tool> in one session`, `claim at most <N> <tool>`, `claim at most <N> <tool> per session`, `claim <tool> possible`, `claim <tool> impossible`, `claim <tool> stays possible`, `claim human before <tool>`
    unknown-claim `befor`: this claims nothing we know how to prove | write `claim never deploy before test`
    unknown-claim `Never`: this claims nothing we know how to prove | write `claim never deploy before test`
    unknown-claim `never deploy before test twice`: this claims nothing we know how to prove | write one of `claim never <tool> before <tool>`, `claim never <tool> without <tool> since <tool>`, `claim never <tool> after <tool>`, `claim never <tool> and <tool> in one session`
    unknown-claim `test before deploy`: this claims nothing we know how to prove | write `claim never deploy before test`, if that is meant
    unknown-claim `deploy after test`: this claims nothing we know how to prove | write `claim never deploy before test`, if that is meant
    unknown-claim `never deploy`: this claims nothing we know how to prove | write `claim deploy impossible`, if that is meant
    unknown-claim `deploy never possible`: this claims nothing we know how to prove | write `claim deploy impossible`, if that is meant
    unknown-claim `deploy always possible`: this claims nothing we know how to prove | write `claim deploy stays possible`, if that is meant
    unknown-claim `never read and pay`: this claims nothing we know how to prove | write `claim never read and pay in one session`, if that is meant
    unknown-claim `never deploy without test`: this claims nothing we know how to prove | write `claim never deploy before test`, if that is meant
    unknown-claim `human-approval before deploy`: this claims nothing we know how to prove | write `claim human before deploy`, if that is meant
    unknown-claim `at most 3 per session`: this claims nothing we know how to prove | write one of `claim at most <N> <tool>`, `claim at most <N> <tool> per session`
    unknown-claim `at most 3 send per day`: this claims nothing we know how to prove | write `claim at most 3 send per session`, if that is meant
    bad-count `three`: a claim counts whole calls, got 'three' | write a number of calls, as in `claim at most 3 send`
    bad-count `3.0`: a claim counts whole calls, got '3.0' | write `claim at most 3 send`, if that is meant
    bad-count `-1`: a claim counts whole calls, got '-1' | write a number of calls, as in `claim at most 3 send`
    bad-count `1_000`: a claim counts whole calls, got '1_000' | write `claim at most 1000 send`, if that is meant
    limit-too-large `9223372036854775809`: a claim counts at most 9223372036854775808 calls, got '9223372036854775809' | write `9223372036854775808` or less, or leave the claim out
    limit-too-large `99999999999999999999999999`: a claim counts at most 9223372036854775808 calls, got '99999999999999999999999999' | write `9223372036854775808` or less, or leave the claim out
    self-claim `never deploy before deploy`: the first `deploy` of a session comes after no other, so this says that there is none | write `claim deploy impossible` if it must not be called at all, or name what has to succeed first
    self-claim `never deploy without deploy since edit`: the first `deploy` of a session comes after no other, so this says that there is none | write `claim deploy impossible` if it must not be called at all, or name what has to succeed first
    self-claim `never a without a since a`: the first `a` of a session comes after no other, so this says that there is none | write `claim a impossible` if it must not be called at all, or name what has to succeed first
    self-claim `never pay and pay in one session`: `pay` and `pay` are one tool, so this may mean two things | write `claim at most 1 pay` if it must not be called twice, `claim pay impossible` if it must not be called at all
    unknown-keyword `claim:`: unknown keyword 'claim:'. Expected 'map', 'require', 'limit', or 'block' | write `claim never deploy before test`
    observe-without-rule `claim`: 'observe <rule>' expects a rule, got 'claim' | write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file
    ");
}

#[test]
fn an_example_is_calls_and_the_verdict_of_the_last() {
    for (text, same) in [
        ("example: delete -> block", "delete -> block"),
        ("example: backup ok, delete -> allow", "backup ok, delete -> allow"),
        ("example: backup fails, delete -> block", "backup failed, delete -> block"),
        ("example: deploy granted ok, deploy -> ask", "deploy ok granted, deploy -> ask"),
        ("example: deploy failed granted, deploy -> ask", "deploy failed granted, deploy -> ask"),
        ("example: deploy refused, deploy -> ask", "deploy refused, deploy -> ask"),
        ("example: a ok -> allow", "a ok -> allow"),
        ("example: deploy granted -> ask", "deploy granted -> ask"),
        // A comma and an arrow part words, with or without spaces.
        ("example:backup ok,delete->allow", "backup ok, delete -> allow"),
        ("example: backup ok , delete ->allow # why", "backup ok, delete -> allow"),
        ("example: a,b,c-> redact", "a, b, c -> redact"),
        // The first word is a name, whatever it is.
        ("example: ok ok, failed -> allow", "ok ok, failed -> allow"),
        ("example: example: -> allow", "example: -> allow"),
        ("example: - -> allow", "- -> allow"),
    ] {
        assert_eq!(on_a_line(text), same, "{text}");
    }
}

#[test]
fn an_example_that_cannot_be_played_is_told_why() {
    let said: Vec<String> = [
        "example:",
        "example: backup ok, delete",
        "example: backup ok, delete ->",
        "example: -> allow",
        "example: a, , b -> allow",
        "example: a, -> allow",
        "example: a => allow",
        "example: a -> allow, b -> block",
        "example: a -> allow b",
        "example: a -> deny",
        "example: a -> Allow",
        "example: a sucess, b -> allow",
        "example: a success, b -> allow",
        "example: backup delete -> allow",
        "example: a ok failed, b -> allow",
        "example: a ok ok, b -> allow",
        "example: a granted refused, b -> allow",
        "example: a refused ok, b -> allow",
        "example: a ok -> block",
        "example: a granted -> allow",
        "example: a refused -> block",
        // Every mistake is told.
        "example: a ok failed, , b nope -> deny",
        "example backup ok, delete -> allow",
        "exampel: delete -> allow",
        "observe example: delete -> allow",
    ]
    .iter()
    .map(|text| on_a_line(text))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    bad-example `example:`: an example is '<tool> [{…}] [ok|failed] [granted|refused], … -> <allow|redact|ask|block>' | write `example: backup ok, delete -> allow`
    bad-example `backup ok, delete`: an example is '<tool> [{…}] [ok|failed] [granted|refused], … -> <allow|redact|ask|block>' | write `example: backup ok, delete -> allow`
    bad-example `backup ok, delete ->`: an example has one verdict after '->' | write `allow`, `redact`, `ask` or `block`, as in `example: backup ok, delete -> allow`
    bad-example `-> allow`: an example calls something | write `example: backup ok, delete -> allow`
    bad-example `a, , b -> allow`: an example has a step without a call | write what is called between the commas
    bad-example `a, -> allow`: an example has a step without a call | write what is called between the commas
    bad-example `=>`: the arrow of an example is '->', not '=>' | write `example: backup ok, delete -> allow`
    bad-example `a -> allow, b -> block`: an example tells the verdict of its last call alone | write an example of its own for each verdict
    bad-example `b`: an example has one verdict after '->' | write `allow`, `redact`, `ask` or `block`, as in `example: backup ok, delete -> allow`
    unknown-verdict `deny`: no verdict is called 'deny' | write `example: a -> block`
    unknown-verdict `Allow`: no verdict is called 'Allow' | write `allow`, `redact`, `ask` or `block`
    bad-example `sucess`: a call of an example ends 'ok' or 'failed', not 'sucess' | put a `,` between calls; after a call write only its input as JSON, `ok`, `failed`, `granted`, `refused` and `returns` with JSON
    bad-example `success`: a call of an example ends 'ok' or 'failed', not 'success' | write `example: a ok, b -> allow`
    bad-example `delete`: a call of an example ends 'ok' or 'failed', not 'delete' | put a `,` between calls; after a call write only its input as JSON, `ok`, `failed`, `granted`, `refused` and `returns` with JSON
    bad-example `failed`: this call of `a` has two of `ok` and `failed` | keep one of `ok` and `failed`
    bad-example `ok`: this call of `a` has two of `ok` and `failed` | keep one of `ok` and `failed`
    bad-example `refused`: this call of `a` has two of `granted` and `refused` | keep one of `granted` and `refused`
    bad-example `a refused ok`: a call of `a` that is refused does not run, so it ends in no way | leave out `refused`, or how the call ends
    bad-example `a ok`: a call that is blocked does not run, so it ends in no way | leave out how the last call ends
    bad-example `a granted`: a call that gets `allow` is not put to a human, so there is no answer | write `-> ask`: the verdict is the one before a human answers; or leave the answer out
    bad-example `a refused`: a call that gets `block` is not put to a human, so there is no answer | write `-> ask`: the verdict is the one before a human answers; or leave the answer out
    bad-example `a ok failed, , b nope -> deny`: an example has a step without a call | write what is called between the commas
    bad-example `failed`: this call of `a` has two of `ok` and `failed` | keep one of `ok` and `failed`
    bad-example `nope`: a call of an example ends 'ok' or 'failed', not 'nope' | put a `,` between calls; after a call write only its input as JSON, `ok`, `failed`, `granted`, `refused` and `returns` with JSON
    unknown-verdict `deny`: no verdict is called 'deny' | write `allow`, `redact`, `ask` or `block`
    unknown-keyword `example`: unknown keyword 'example'. Expected 'map', 'require', 'limit', or 'block' | write `example: backup ok, delete -> allow`
    unknown-keyword `exampel:`: unknown keyword 'exampel:'. Expected 'map', 'require', 'limit', or 'block' | write `example: delete -> allow`
    observe-without-rule `example:`: 'observe <rule>' expects a rule, got 'example:' | write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file
    ");
}

#[test]
fn a_file_with_claims_alone_is_no_policy() {
    for (name, text) in [
        ("a.rules", "claim deploy possible\nexample: deploy -> allow"),
        ("a.yaml", "claims: [deploy possible]\nexamples: [deploy -> allow]"),
        ("a.yaml", "claims: [deploy possible]"),
        ("a.json", r#"{"examples": ["deploy -> allow"]}"#),
    ] {
        let (policy, diagnostics) = crate::read(&[Source::new(name, text)]);
        let codes: Vec<&str> = diagnostics.iter().map(|it| it.code).collect();
        assert!(policy.is_none() && codes.contains(&"no-rules"), "{text}: {diagnostics:?}");
    }
}

#[test]
fn every_yaml_language_claims_in_the_same_words() {
    let lists = "claims: [\"never deploy before test\", 'at most 3 push']\nexamples:\n  - backup ok, delete -> allow # y\n  - >-\n    delete\n    -> block\n";
    for (name, text) in in_yaml(lists) {
        let (draft, diagnostics) = parsed(name, &text);
        assert_eq!(
            stated(&draft, &diagnostics),
            "never deploy before test\nat most 3 push\nbackup ok, delete -> allow\ndelete -> block",
            "{name}"
        );
        let spans = draft.claims.iter().map(|it| it.span).chain(draft.examples.iter().map(|it| it.span));
        let slices: Vec<&str> = spans.map(|span| draft.source.slice(span).trim_end()).collect();
        assert_eq!(slices[..3], ["never deploy before test", "at most 3 push", "backup ok, delete -> allow"]);
        assert!(slices[3].ends_with("-> block"), "{slices:?}");
        let (policy, diagnostics) = crate::read(&[Source::new(name, text.as_str())]);
        let policy = policy.unwrap_or_else(|| panic!("{name}: {diagnostics:?}"));
        assert_eq!((policy.claims().len(), policy.examples().len()), (2, 2), "{name}");
    }
    let json = r#"{"kind": "Net", "name": "n", "places": ["p"], "transitions": [], "claims": ["a possible"], "examples": ["a -> allow"]}"#;
    let (draft, diagnostics) = parsed("n.json", json);
    assert_eq!(stated(&draft, &diagnostics), "a possible\na -> allow");
}

#[test]
fn every_mistake_in_a_list_has_its_place() {
    let lists = r##"claims:
  - never deploy befor test
  - "never deploy befor test"
  - "never\x20deploy befor test"
  - 'it''s befor test'
  - ""
  - "  "
  - 5
  - [a possible]
  - claim deploy possible
  - "a possible # why"
  - "at most x send"
  - "pay #1 possible"
examples:
  - example: a -> allow
  - "example: a -> allow"
  - "a ok failed, b -> deny"
exampels: []
claim: [a possible]
"##;
    let all: Vec<String> = in_yaml(lists)
        .iter()
        .map(|(name, text)| {
            let (_, mut diagnostics) = parsed(name, text);
            // Our lines stand at the end, so the places differ only in how long the head is.
            let head = text.lines().count() - lists.lines().count();
            diagnostics.retain(|it| it.code != "unknown-key");
            let told: Vec<String> = told(&diagnostics)
                .lines()
                .map(|line| {
                    let (number, rest) = line.trim().split_once(':').unwrap();
                    format!("{}:{rest}", number.parse::<usize>().unwrap() - head)
                })
                .collect();
            told.join("\n")
        })
        .collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:#?}");
    insta::assert_snapshot!(all[0], @"
    2:18 unknown-claim this claims nothing we know how to prove | write `never deploy before test`
    3:19 unknown-claim this claims nothing we know how to prove | write `never deploy before test`
    4:5 unknown-claim this claims nothing we know how to prove | write `never deploy before test`
    5:5 unknown-claim this claims nothing we know how to prove | write one of `never <tool> before <tool>`, `never <tool> without <tool> since <tool>`, `never <tool> after <tool>`, `never <tool> and <tool> in one session`, `at most <N> <tool>`, `at most <N> <tool> per session`, `<tool> possible`, `<tool> impossible`, `<tool> stays possible`, `human before <tool>`
    6:5 wrong-type an entry of `claims` must be a text, not an empty text | write a word or a quoted text
    7:6 unknown-claim this claims nothing we know how to prove | write one of `never <tool> before <tool>`, `never <tool> without <tool> since <tool>`, `never <tool> after <tool>`, `never <tool> and <tool> in one session`, `at most <N> <tool>`, `at most <N> <tool> per session`, `<tool> possible`, `<tool> impossible`, `<tool> stays possible`, `human before <tool>`
    8:5 wrong-type an entry of `claims` must be a text, not `5` | put it in quotes to make it a text
    9:5 wrong-type an entry of `claims` must be a text, not a list | write a word or a quoted text
    10:5 unknown-claim this claims nothing we know how to prove | write `deploy possible`, if that is meant
    11:6 unknown-claim this claims nothing we know how to prove | write one of `never <tool> before <tool>`, `never <tool> without <tool> since <tool>`, `never <tool> after <tool>`, `never <tool> and <tool> in one session`, `at most <N> <tool>`, `at most <N> <tool> per session`, `<tool> possible`, `<tool> impossible`, `<tool> stays possible`, `human before <tool>`
    12:14 bad-count a claim counts whole calls, got 'x' | write a number of calls, as in `at most 3 send`
    13:6 unknown-claim this claims nothing we know how to prove | write one of `never <tool> before <tool>`, `never <tool> without <tool> since <tool>`, `never <tool> after <tool>`, `never <tool> and <tool> in one session`, `at most <N> <tool>`, `at most <N> <tool> per session`, `<tool> possible`, `<tool> impossible`, `<tool> stays possible`, `human before <tool>`
    15:5 wrong-type an entry of `examples` must be a text, not a mapping | write a word or a quoted text
    16:6 bad-example an entry of `examples` is the example alone | leave `example:` out
    17:11 bad-example this call of `a` has two of `ok` and `failed` | keep one of `ok` and `failed`
    17:24 unknown-verdict no verdict is called 'deny' | write `allow`, `redact`, `ask` or `block`
    ");
}

#[test]
fn a_misspelt_key_is_told_the_one_that_is_meant() {
    for (name, text) in in_yaml("exampels: []\nclaim: [a possible]\n") {
        let (_, diagnostics) = parsed(name, &text);
        let remedies: Vec<&str> = diagnostics.iter().filter_map(|it| it.remedy.as_deref()).collect();
        assert_eq!(remedies, ["did you mean `examples`?", "did you mean `claims`?"], "{name}");
    }
}

#[test]
fn a_list_that_is_none_is_a_mistake() {
    let said: Vec<String> =
        ["claims: a possible\n", "claims: {a: possible}\n", "examples:\n", "examples: [a ok, b -> allow]\n"]
            .iter()
            .map(|line| told(&parsed("a.yaml", &format!("rules: []\n{line}")).1))
            .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    2:9 wrong-type `claims` must be a list, not the text `a possible` | write `[a, b]`, or one `- a` a line
    2:9 wrong-type `claims` must be a list, not a mapping | write `[a, b]`, or one `- a` a line
    2:9 wrong-type `examples` must be a list, not nothing | write `[a, b]`, or one `- a` a line
    2:12 bad-example an example is '<tool> [{…}] [ok|failed] [granted|refused], … -> <allow|redact|ask|block>' | write `backup ok, delete -> allow`, in quotes: between `[` and `]` a bare comma ends an entry
    ");
}

#[test]
fn a_file_holds_so_many_claims_and_examples_and_no_more() {
    let claim = |_| "claim a possible\n";
    let example = |_| "example: a -> allow\n";
    let steps = |count: usize| format!("example: {} -> allow\n", vec!["a"; count].join(","));
    for (text, code) in [
        ((0..CLAIMS_MAX).map(claim).collect::<String>(), None),
        ((0..CLAIMS_MAX + 2).map(claim).collect(), Some("too-many-claims")),
        ((0..EXAMPLES_MAX).map(example).collect(), None),
        ((0..EXAMPLES_MAX + 2).map(example).collect(), Some("too-many-examples")),
        (steps(STEPS_MAX), None),
        (steps(STEPS_MAX + 1), Some("too-many-steps")),
        (steps(STEPS_MAX * 9), Some("too-many-steps")),
        (format!("example: a{} -> allow", ",a".repeat(STEPS_MAX * 500)), Some("too-many-steps")),
    ] {
        let (draft, diagnostics) = parse(&Source::new("a.rules", text.as_str()));
        let codes: Vec<&str> = diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, Vec::from_iter(code));
        assert!(draft.claims.len() <= CLAIMS_MAX && draft.examples.len() <= EXAMPLES_MAX);
    }
    // Mistakes are bounded with the steps that have them.
    let text = format!("example: {} -> allow\n", "a b,".repeat(STEPS_MAX * 9));
    let (_, diagnostics) = parse(&Source::new("a.rules", text.as_str()));
    assert_eq!(diagnostics.len(), STEPS_MAX + 1);
    for (key, entry, max) in [("claims", "a possible", CLAIMS_MAX), ("examples", "a -> allow", EXAMPLES_MAX)]
    {
        for (count, codes) in [(max, &[][..]), (max + 2, &["out-of-range"])] {
            let text = format!("rules: []\n{key}:\n{}", format!("- {entry}\n").repeat(count));
            let (draft, diagnostics) = parsed("a.yaml", &text);
            assert_eq!(diagnostics.iter().map(|it| it.code).collect::<Vec<_>>(), codes);
            assert_eq!(draft.claims.len() + draft.examples.len(), max);
        }
    }
}

#[test]
fn what_an_included_file_claims_counts_too() {
    let main = Source::new("main.yaml", "include: [base.yaml]\nrules: []\nclaims: [a possible]\n");
    let rules = "rules: [{id: c, then: block, when: {tool: c}}]";
    let base = Source::new("base.yaml", format!("{rules}\nclaims: [b possible]\nexamples: [b -> allow]\n"));
    let (policy, diagnostics) = crate::read(&[base, main]);
    let policy = policy.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let claims: Vec<String> = policy.claims().iter().map(|it| it.property.to_string()).collect();
    assert_eq!((claims.join(", ").as_str(), policy.examples().len()), ("b possible, a possible", 1));
}

#[test]
fn what_an_extended_ruleset_claims_counts_and_what_a_candidate_claims_does_not() {
    let ruleset = |name: &str, more: &str| {
        let text = format!(
            "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: {name}}}\ndefaults: {{mode: enforce}}\n{more}\nclaims: \
             [{name} possible]\nexamples: [{name} -> allow]\nrules:\n  - {{id: {name}, type: pre, tool: x, when: {{tool.name: \
             {{exists: true}}}}, then: {{action: block, message: m}}}}\n"
        );
        Source::new(format!("{name}.yaml"), text)
    };
    let (base, team) = (ruleset("base", ""), ruleset("team", "extends: base"));
    let next = ruleset("next", "observe_alongside: true");
    for (sources, claims, codes) in [
        (vec![base.clone(), team.clone()], "base possible, team possible", ""),
        (vec![team.clone(), base.clone()], "team possible, base possible", ""),
        (vec![base.clone(), next.clone()], "base possible", "claims-not-used"),
        // As the only ruleset it is in force.
        (vec![next.clone()], "next possible", ""),
        (vec![next, base], "next possible, base possible", ""),
    ] {
        let (policy, diagnostics) = crate::read(&sources);
        let policy = policy.unwrap_or_else(|| panic!("{diagnostics:?}"));
        let said: Vec<String> = policy.claims().iter().map(|it| it.property.to_string()).collect();
        assert_eq!(said.join(", "), claims);
        assert_eq!(policy.examples().len(), said.len());
        let told: Vec<&str> = diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(told.concat(), codes);
    }
}

#[test]
fn a_name_in_a_claim_is_looked_at_like_one_in_a_rule() {
    for (text, code) in [
        ("block deploy\nlimit deploy to 1 per session\nclaim delpoy impossible", "misspelt"),
        ("block deploy\nlimit deploy to 1 per session\nexample: delpoy -> block", "misspelt"),
        ("claim never file_* before test", "literal-name"),
        ("map bash.command rm as delete\nclaim delete possible", ""),
        ("map bash.command rm as delete\nexample: delete -> allow", ""),
    ] {
        let (draft, diagnostics) = parse(&Source::new("a.rules", text));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(lint(&draft).iter().map(|it| it.code).collect::<String>(), code, "{text}");
    }
}

/// Names as tools have them, those that look like our words among them.
fn names() -> impl Strategy<Value = String> {
    let words = select(&[
        "never",
        "before",
        "without",
        "since",
        "after",
        "and",
        "in",
        "one",
        "session",
        "at",
        "most",
        "per",
        "human",
        "possible",
        "impossible",
        "stays",
        "ok",
        "failed",
        "granted",
        "refused",
        "allow",
        "claim",
        "example:",
        "3",
        "ask",
    ]);
    prop_oneof![words.prop_map(str::to_owned), "[a-z][a-z._-]{0,6}", "[^\\s\\p{C}#,>]{1,4}"]
}

fn claims() -> impl Strategy<Value = Property> {
    (0..9_u8, [names(), names(), names()], 0..=LIMIT_MAX).prop_filter_map(
        "about itself",
        |(form, [a, b, c], count)| {
            let is_sound = a != b || ![0, 1, 8].contains(&form);
            is_sound.then_some(match form {
                0 => Property::NeverBefore { call: a, needs: b },
                1 => Property::NeverWithoutSince { call: a, needs: b, since: c },
                2 => Property::NeverAfter { call: a, after: b },
                3 => Property::AtMost { count, call: a },
                4 => Property::Possible(a),
                5 => Property::Impossible(a),
                6 => Property::StaysPossible(a),
                7 => Property::HumanBefore(a),
                _ => Property::NeverTogether(a, b),
            })
        },
    )
}

/// Names without the marks of JSON: those stand in quotes.
fn plain_names() -> impl Strategy<Value = String> {
    names().prop_filter("has marks of JSON", |name| !name.contains(['"', '{', '[']))
}

fn steps() -> impl Strategy<Value = ExampleStep> {
    (plain_names(), any::<Option<bool>>(), any::<Option<bool>>()).prop_map(|(call, ok, granted)| {
        let ok = ok.filter(|_| granted != Some(false));
        ExampleStep::Call(ExampleCall { ok, granted, ..ExampleCall::new(&call) })
    })
}

proptest! {
    #[test]
    fn a_claim_that_is_printed_is_read_again(claim in claims()) {
        let said = claim.to_string();
        let (draft, diagnostics) = parse(&Source::new("a.rules", format!("claim {said}")));
        prop_assert_eq!(diagnostics, vec![]);
        prop_assert_eq!(draft.claims.iter().map(|it| &it.property).collect::<Vec<_>>(), [&claim]);
        let quoted = serde_json::Value::from(said).to_string();
        let (draft, diagnostics) = parsed("a.yaml", &format!("rules: []\nclaims: [{quoted}]\n"));
        prop_assert_eq!(diagnostics, vec![]);
        prop_assert_eq!(draft.claims.iter().map(|it| &it.property).collect::<Vec<_>>(), [&claim]);
    }

    #[test]
    fn an_example_that_is_printed_is_read_again(
        before in vec(steps(), 0..4),
        last in plain_names(),
        verdict in select(&[Decision::Allow, Decision::Redact, Decision::Ask, Decision::Block]),
    ) {
        let last = ExampleStep::Call(ExampleCall::new(&last));
        let steps: Vec<ExampleStep> = before.into_iter().chain([last]).collect();
        let source = Source::new("a.rules", "");
        let example = lockgate_policy::Example { steps, verdict, source, span: Span::default() };
        let (draft, diagnostics) = parse(&Source::new("a.rules", format!("example: {example}")));
        prop_assert_eq!(diagnostics, vec![]);
        prop_assert_eq!(draft.examples.len(), 1);
        prop_assert_eq!(&draft.examples[0].steps, &example.steps);
        prop_assert_eq!(draft.examples[0].verdict, verdict);
    }

    #[test]
    fn any_words_are_a_claim_or_a_mistake_within_the_text(words in vec(names(), 0..8)) {
        let text = format!("claim {}\nexample: {}", words.join(" "), words.join(" "));
        let (draft, diagnostics) = parse(&Source::new("a.rules", text.as_str()));
        prop_assert!(draft.claims.len() + diagnostics.len() >= 1);
        for it in &diagnostics {
            prop_assert!(!it.source.slice(it.span).is_empty() && it.remedy.is_some(), "{:?}", it);
        }
    }
}
