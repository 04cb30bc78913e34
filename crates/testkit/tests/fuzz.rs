//! Fuzz targets: whatever comes in, nothing panics, nothing hangs, and no doubt is taken for a yes.
//!
//! They run as ordinary tests, for as long as `BOLERO_RANDOM_TEST_TIME_MS` says; `./test fuzz` runs them for an
//! hour. Plain noise would be refused in its first byte, so each target strings together scraps of what it
//! reads, with noise in between.

use std::{sync::Arc, time::Duration};

use bolero::check;
use lockgate::engine::{
    Call, Gate, Policy, Source, Time,
    call::{
        ScriptFields, SeenCall, read_script, says_failure,
        sensitive::{AttackPattern, Detectors, Mask, find_attack},
    },
    gate::Ask,
    languages::{Draft, accept, lint, one_line, render},
    petri::{Limits, explore, from_pnml, to_pnml},
    policy::{Diagnostic, Match, Pattern, workflow::Sight},
};
use lockgate_cli::{Clock, ServeOptions, protocol, serve};
use lockgate_mcp::{Action, Config, Context, DeadTools, Environment, LocalDecider, Naming, Relay};
use serde_json::Value;

/// How many bytes decide about an input: of a longer one some line is always wrong, and the rest is never reached.
const BYTES_MAX: usize = 80;

/// The pieces between the bars.
fn pieces(text: &'static str) -> Vec<&'static str> {
    text.split('¦').collect()
}

/// Text made of whole pieces, with scraps and noise put in at random places: a small byte appends a piece, a
/// large one is an edit and takes three more bytes.
fn text(wholes: &[&str], scraps: &[&str], bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        match wholes.get(usize::from(byte) % (wholes.len() * 3 / 2)) {
            Some(whole) => text.push_str(whole),
            None => edit(&mut text, scraps, &mut bytes),
        }
    }
    text
}

/// Replaces up to three bytes somewhere by a scrap or by noise.
fn edit(text: &mut String, scraps: &[&str], bytes: &mut impl Iterator<Item = u8>) {
    let mut next = || bytes.next().map_or(0, usize::from);
    let start = text.floor_char_boundary(next() * text.len() / 255);
    let end = text.ceil_char_boundary(text.len().min(start + next() % 4));
    let choice = next();
    match scraps.get(choice % (scraps.len() + 2)) {
        Some(scrap) => text.replace_range(start..end, scrap),
        None => text.insert(start, char::from(u8::try_from(choice).unwrap_or_default())),
    }
}

/// Every diagnostic can be drawn, and points into the text between two characters.
fn check_diagnostics(text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let span = diagnostic.span;
        assert!(text.get(span.start..span.end).is_some(), "{span:?} of {diagnostic} in {text:?}");
    }
    assert!(
        !render(diagnostics, false).contains('\u{1b}'),
        "an escape sequence reached the terminal: {text:?}"
    );
}

/// What is read as a claim or an example is printed, and read again as the same.
fn check_claims(draft: &Draft) {
    for claim in &draft.claims {
        let (again, diagnostics) =
            one_line::parse(&Source::new("again.rules", format!("claim {}", claim.property)));
        // A name in YAML may have what starts a comment on a line.
        if !claim.property.names().iter().any(|name| name.contains('#')) {
            assert!(
                again.claims.iter().any(|it| it.property == claim.property),
                "{claim:?}: {diagnostics:?}"
            );
        }
    }
    for example in &draft.examples {
        let (again, diagnostics) =
            one_line::parse(&Source::new("again.rules", format!("example: {example}")));
        if !example.steps.iter().any(|step| step.to_string().contains(['#', '"', '{', '['])) {
            let same =
                again.examples.iter().any(|it| it.steps == example.steps && it.verdict == example.verdict);
            assert!(same, "{example:?}: {diagnostics:?}");
        }
    }
}

/// A policy is read or told what is wrong, what it claims is within its text, and acceptances point into it.
fn check_policy(name: &str, text: &str) -> Option<Policy> {
    let source = Source::new(name, text);
    let (policy, diagnostics) = lockgate::engine::languages::read(std::slice::from_ref(&source));
    check_diagnostics(text, &diagnostics);
    assert!(policy.is_some() || !diagnostics.is_empty(), "no policy and no mistake: {text:?}");
    let unlinted = lockgate::engine::languages::load(
        std::slice::from_ref(&source),
        lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
    )
    .0;
    assert_eq!(
        unlinted.is_some(),
        policy.is_some(),
        "a hook takes what others refuse, or refuses it: {text:?}"
    );
    let policy = policy?;
    let (kept, accepted) = accept(diagnostics, &[source]);
    check_diagnostics(text, &kept);
    assert!(accepted.iter().all(|it| !it.reason.is_empty()), "{text:?}");
    let spans = policy.claims().iter().map(|it| it.span).chain(policy.examples().iter().map(|it| it.span));
    for span in spans {
        assert!(text.get(span.start..span.end).is_some_and(|it| !it.is_empty()), "{span:?} in {text:?}");
    }
    let mut draft = one_line::parse(&Source::new("none.rules", "")).0;
    draft.claims = policy.claims().to_vec();
    draft.examples = policy.examples().to_vec();
    check_claims(&draft);
    Some(policy)
}

#[test]
fn any_rules_are_read() {
    let wholes = pieces(concat!(
        "require a before b\n¦require human-approval before b\n¦block a\n¦limit a to 3 per session\n¦",
        "limit b.c to 9223372036854775808 per a\n¦map bash.command cp as a\n¦",
        "map bash.command /^rm\\s#/i as b\n¦map bash running git push as a\n¦script bash.x\n¦observe block c\n¦mode observe\n¦\n¦# why\n¦",
        "claim never a before b\n¦claim never a without b since c\n¦claim never a after a\n¦claim at most 3 a per session\n¦",
        "claim never a and b in one session\n¦claim a stays possible\n¦claim human before a\n¦",
        "example: a ok, b failed granted, c -> ask\n¦example: a -> block # accept redundant: why\n",
    ));
    let scraps = pieces(concat!(
        "require¦human-approval¦before¦block¦limit¦to¦per¦session¦map¦as¦running¦script¦observe¦mode¦b.c¦",
        "claim¦never¦without¦since¦after¦and¦in one session¦at most¦possible¦impossible¦stays¦human¦example:¦ok¦failed¦granted¦",
        "refused¦->¦,¦allow¦# accept unused-map: x¦9223372036854775809¦0¦/¦(¦)¦[¦#¦\\¦+¦{2}¦\u{feff}¦\u{1b}[31m¦\u{2028}¦字¦ ¦\n¦\r\n¦.¦",
    ));
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let text = text(&wholes, &scraps, bytes);
        let source = Source::new("any.rules", text.as_str());
        let (draft, diagnostics) = one_line::parse(&source);
        check_diagnostics(&text, &diagnostics);
        check_diagnostics(&text, &lint(&draft));
        let spans = draft.rules.iter().map(|rule| rule.span).chain(draft.maps.iter().map(|map| map.span));
        for span in spans {
            assert!(text.get(span.start..span.end).is_some(), "{span:?} in {text:?}");
        }
        check_policy("any.rules", &text);
    });
}

/// Claims and examples as every file in YAML lists them.
const CLAIMS: &str = r##"
claims: # accept idle: no
  - never read before x # accept misspelt: no
  - "never x without\x20y since z"
  - 'at most 3 read per session'
  - >-
    x stays
    possible
examples: ["x ok, y failed granted, z -> ask", z -> block]
"##;

/// What may be put into them.
const CLAIM_SCRAPS: &str = "¦claims¦examples¦never¦before¦without¦possible¦at most¦since¦->¦ok¦ok failed¦refused¦allow¦# accept x: y¦ #¦|\n";

/// A net with a bit of everything.
const NET: &str = "\
kind: Net
name: n
places: {a: 1, b: 0}
free_tools: [read]
terminal_places: [b]
scripts: [run.it]
maps: [{tool: run, running: [git, push], as: x}, {tool: run, field: it, word: rm, as: y}]
transitions:
  - {name: start, inputs: [a], outputs: [b, b], tools: [x], deferred: true}
  - name: write
    type: manual
    inputs: [b, b]
    outputs: [a]
    tools: [y, z]
    checks:
      - {field: path, under: [src], message: no}
      - {field: path, not_matches: /\\.env(\\.|$)/i}
";

#[test]
fn any_net_file_is_read() {
    let scraps = pieces(concat!(
        "places¦transitions¦tools¦deferred¦marking¦a¦x¦: ¦  ¦- ¦[¦]¦{¦}¦\"¦'¦,¦&x ¦*x ¦<<: ¦!t ¦|\n¦",
        ">\n¦\n¦---\n¦#¦\t¦é¦18446744073709551616¦-1¦1e9¦null¦true¦? ¦",
    ));
    let scraps = [scraps, pieces(CLAIM_SCRAPS)].concat();
    let whole = format!("{NET}{CLAIMS}");
    assert!(
        check_policy("whole.yaml", &whole).is_some_and(|it| it.claims().len() + it.examples().len() == 6)
    );
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let mut text = whole.clone();
        // Few edits: after many, every file is refused in its first lines.
        for bytes in bytes.chunks(3).take(8) {
            edit(&mut text, &scraps, &mut bytes.iter().copied());
        }
        for name in ["any.yaml", "any.json"] {
            check_policy(name, &text);
        }
    });
}

/// A net in PNML with a bit of everything.
const PNML: &str = "\
<?xml version='1.0'?>
<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'>
<net id='n' type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='g'><name><text>net</text></name>
<place id='a'><name><text>one</text></name><initialMarking><text>2</text></initialMarking></place>
<place id='b'><graphics><position x='1' y='2'/></graphics></place>
<page id='h'><referencePlace id='r' ref='a'/>
<transition id='t'><toolspecific tool='lockgate' version='1'><structural/></toolspecific></transition></page>
<arc id='x' source='r' target='t'><inscription><text>2</text></inscription></arc>
<arc id='y' source='t' target='b'><type value='normal'/></arc>
</page></net></pnml>
";

#[test]
fn any_pnml_file_is_read_and_what_it_says_is_written_again() {
    let scraps = pieces(concat!(
        "<place id='c'/>¦<transition id='u'/>¦<arc id='z' source='b' target='u'/>¦<page id='i'>¦</page>¦</net>¦<net>¦<¦>¦/>¦='¦'¦\"¦",
        "&lt;¦&#0;¦&#x41;¦&a;¦<!DOCTYPE pnml [<!ENTITY a '&a;'>]>¦<![CDATA[¦]]>¦<!--¦-->¦<?x¦?>¦xmlns:p='q'¦p:¦id¦ref¦a¦r¦",
        "18446744073709551615¦18446744073709551616¦-1¦0¦\u{feff}¦\u{0}¦é¦\n¦inhibitor¦",
    ));
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let mut text = PNML.to_owned();
        for bytes in bytes.chunks(3).take(8) {
            edit(&mut text, &scraps, &mut bytes.iter().copied());
        }
        match from_pnml(&text) {
            Ok(net) => {
                let space = explore(&net, Limits { states_max: 100, depth_max: 10 });
                assert!(space.states() <= 100);
                if let Ok(written) = to_pnml(&net) {
                    let again = from_pnml(&written).unwrap_or_else(|error| panic!("{error} in {written}"));
                    assert_eq!(format!("{net:?}"), format!("{again:?}"), "{text:?}");
                }
            }
            Err(error) => assert!(error.line() >= 1 && error.column() >= 1 && !error.to_string().is_empty()),
        }
    });
}

/// When/then rules with a bit of everything.
const WHEN_THEN: &str = "\
shield_name: any
version: 1
default_verdict: block
timezone: Europe/Berlin
mask: label
approval_strategy: per_session
honeypots: [{name: trap, alert: stop, severity: high}]
taint_chain: {enabled: true, outgoing_tools: [send]}
sanitizer: {builtin_detectors: [path_traversal, ssrf], blocked_patterns: [x+], max_string_length: 90, max_keys: 9}
rate_limits: [{tool: '*', max_calls: 5, window_seconds: 1.5, per_session: false, message: wait}]
pii_patterns: [{name: TICKET, pattern: 'T-[0-9]{6}'}]
output_rules: [{id: o, tool: read.*, max_size: 9, block_patterns: [SECRET], then: redact}]
rules:
  - id: one
    when:
      tool: [read, list_*, 'a|b']
      args_match:
        path: {regex: '^/etc/(?!x)', not_contains: z, gt: 5, in: [a, 1, true]}
        a.b[*].c: {exists: false}
      session: {user_role: '!admin', total_calls: {gte: 1, lt: 9}, tool_count.read: {gt: 0}, taints: [EMAIL]}
      sender: {name: bot-.*, team: [ops, dev]}
      context: {time_of_day: '!22:00-06:00', day_of_week: '!Sat,Sun', env: [prod, stage]}
      chain: {ordered: true, steps: [{tool: read, within_seconds: 60, min_count: 2, verdict: allow}]}
    then: approve
    severity: high
    priority: 1
    enabled: true
  - {id: two, extends: one, then: block, message: stop, mode: observe, approval_strategy: per_rule}
  - {id: three, when: {chain: [{tool: 'x.*', within_seconds: 1}]}, then: allow}
";

#[test]
fn any_when_then_file_is_read_and_what_is_read_can_be_asked() {
    let scraps = pieces(concat!(
        "when¦then¦rules¦tool¦args_match¦regex¦eq¦chain¦extends¦one¦two¦block¦allow¦redact¦: ¦  ¦- ¦[¦]¦{¦}¦\"¦'¦,¦",
        "&x ¦*x ¦<<: *x¦!t ¦|\n¦>\n¦\n¦---\n¦#¦\t¦é¦18446744073709551616¦-1¦0¦1e9¦0.0000001¦null¦true¦no¦~¦? ¦!¦*¦(¦)¦",
        "\\¦(?<=¦{1,999}¦24:00¦Mon-¦$¦\u{feff}¦",
    ));
    let scraps = [scraps, pieces(CLAIM_SCRAPS)].concat();
    let whole = format!("{WHEN_THEN}{CLAIMS}");
    assert!(
        check_policy("whole.yaml", &whole).is_some_and(|it| it.claims().len() + it.examples().len() == 6)
    );
    let inputs =
        [serde_json::json!({}), serde_json::json!({"path": "/etc/a@b.com", "a": {"b": [{"c": 1e308}]}})];
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let mut text = whole.clone();
        for bytes in bytes.chunks(3).take(4) {
            edit(&mut text, &scraps, &mut bytes.iter().copied());
        }
        let Some(policy) = check_policy("any.yaml", &text) else { return };
        let gate = Gate::new(policy);
        for (number, tool) in ["read", "trap", "send", "xx", ""].into_iter().enumerate() {
            let mut call = Call::new(number.to_string(), tool);
            call.input = inputs[number % 2].as_object().cloned().unwrap();
            call.about.sender = Some("bot-1".into());
            let verdict = gate.call(&call);
            // A judgement that panics is a refusal by this name.
            assert!(
                verdict.obstacles.iter().all(|obstacle| obstacle.name != "lockgate"),
                "{verdict:?}: {text}"
            );
        }
    });
}

/// A ruleset with a bit of everything.
const RULESET: &str = r#"apiVersion: edictum/v1
kind: Ruleset
metadata: {name: r, description: d}
defaults: {mode: enforce}
tools: {read: {side_effect: read}, send: {side_effect: irreversible}}
rules:
  - id: keys
    type: pre
    locked: true
    tool: read
    when: {all: [{args.path: {matches_any: ['\.pem$', '^/etc']}}, {not: {principal.role: {in: [admin]}}}]}
    then: {action: ask, message: 'may {args.path} be read?', timeout: 60, timeout_action: block}
  - {id: out, type: post, tool: '*', when: {output.text: {matches: 'A[0-9]+'}}, then: {action: redact, message: m}}
  - {id: few, type: session, limits: {max_tool_calls: 9, max_calls_per_tool: {send: 2}}, then: {action: block, message: m}}
  - {id: box, type: sandbox, tools: [read, send], within: [/desk], not_within: [/desk/x], message: m}
"#;

#[test]
fn any_ruleset_is_read_and_what_is_read_can_be_asked() {
    let scraps = pieces(concat!(
        "rules¦id¦type¦pre¦post¦session¦sandbox¦tool¦when¦then¦action¦block¦ask¦redact¦args.path¦all¦any¦not¦matches¦equals¦: ¦",
        "  ¦- ¦[¦]¦{¦}¦\"¦'¦,¦\\¦(¦)¦&x ¦*x ¦<<: *x¦|\n¦>\n¦\n¦---\n¦#¦\t¦é¦0¦-1¦1e9¦*¦~¦null¦yes¦true¦observe_alongside: true\n¦",
    ));
    let scraps = [scraps, pieces(CLAIM_SCRAPS)].concat();
    let whole = format!("{RULESET}{CLAIMS}");
    assert!(
        check_policy("whole.yaml", &whole).is_some_and(|it| it.claims().len() + it.examples().len() == 6)
    );
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let mut text = whole.clone();
        for bytes in bytes.chunks(3).take(4) {
            edit(&mut text, &scraps, &mut bytes.iter().copied());
        }
        let Some(policy) = check_policy("any.yaml", &text) else { return };
        let gate = Gate::new(policy);
        for (number, tool) in ["read", "send", ""].into_iter().enumerate() {
            let call = Call::new(number.to_string(), tool).with("path", "/etc/a.pem");
            let verdict = gate.call(&call);
            // A judgement that panics is a refusal by this name.
            assert!(
                verdict.obstacles.iter().all(|obstacle| obstacle.name != "lockgate"),
                "{verdict:?}: {text}"
            );
        }
    });
}

/// A workflow with a bit of everything.
const WORKFLOW: &str = r#"apiVersion: edictum/v1
kind: Workflow
metadata: {name: w, version: 1.10, description: d}
stages:
  - id: read
    entry: [{condition: file_read("a.md"), message: m}]
    tools: [Read, "mcp__*"]
    exit: [{condition: 'mcp_result_matches("mcp__ci", "state", "ok")'}]
  - id: build
    description: d
    entry: [{condition: stage_complete("read")}]
    tools: [Bash, Edit]
    checks: [{command_not_matches: ^git push}, {command_matches: '^(npm|git)(?!x) ', message: m}]
    exit:
      - condition: command_matches("^npm test$")
      - condition: command_not_matches("^\\d\x41\u00e9")
      - condition: exec("sh -c 'a | b' c", exit_code=1)
      - condition: approval()
  - {id: review, approval: {message: may it?}}
  - {id: ship, entry: [{condition: approval("review")}], tools: [Bash]}
  - {id: done, terminal: true}
"#;

#[test]
fn any_workflow_is_read_and_what_is_read_can_be_asked() {
    let scraps = pieces(concat!(
        "stages¦id¦entry¦exit¦tools¦checks¦terminal: true¦condition¦approval¦file_read¦exec¦stage_complete¦read¦build¦(¦)¦: ¦",
        "  ¦- ¦[¦]¦{¦}¦\"¦'¦,¦\\¦\\x¦\\u12¦\\101¦exit_code=¦=256¦&x ¦*x ¦<<: *x¦|\n¦>\n¦\n¦---\n¦#¦\t¦é¦$x¦`¦;¦*¦~¦null¦no¦",
    ));
    let scraps = [scraps, pieces(CLAIM_SCRAPS)].concat();
    let whole = format!("{WORKFLOW}{CLAIMS}");
    assert!(
        check_policy("whole.yaml", &whole).is_some_and(|it| it.claims().len() + it.examples().len() == 6)
    );
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let mut text = whole.clone();
        for bytes in bytes.chunks(3).take(4) {
            edit(&mut text, &scraps, &mut bytes.iter().copied());
        }
        let Some(policy) = check_policy("any.yaml", &text) else { return };
        let gate = Gate::new(policy);
        for (number, tool) in ["Read", "mcp__ci", "Edit", "Bash", ""].into_iter().enumerate() {
            let call =
                Call::new(number.to_string(), tool).with("command", "npm test").with("file_path", "a.md");
            let verdict = gate.call(&call);
            // A judgement that panics is a refusal by this name.
            assert!(
                verdict.obstacles.iter().all(|obstacle| obstacle.name != "lockgate"),
                "{verdict:?}: {text}"
            );
        }
    });
}

#[test]
fn any_text_is_masked_and_an_address_in_it_never_shows() {
    const ADDRESS: &str = "ann.smith@example.com";
    let wholes = pieces(concat!(
        "ann@example.com¦+49 170 1234567¦4111 1111 1111 1111¦123-45-6789¦DE89370400440532013000¦10.0.0.1¦AB1234567¦",
        "1999-12-31¦7707083893¦112-233-445 95¦sk-abcdefghijklmnopqrstuvwx¦AKIAABCDEFGHIJKLMNOP¦password=hunter2¦",
        "-----BEGIN PRIVATE KEY-----\n¦eyJhbGciOiJIUzI1NiJ9.e30.abc¦ ¦\n¦: ¦\"¦token: ¦{\"key\": \"¦é字",
    ));
    let scraps = pieces("@¦.¦-¦+¦ ¦0¦9¦a¦Z¦=¦:¦\"¦'¦%40¦\u{200b}¦\u{660}¦é¦\0¦*¦[EMAIL]¦\\¦\n¦/¦");
    let (standard, wanted) = (Detectors::standard(), [AttackPattern::PathTraversal, AttackPattern::Ssrf]);
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let text = text(&wholes, &scraps, bytes);
        for hit in standard.find(&text) {
            assert!(text.get(hit.range.clone()).is_some_and(|hit| !hit.is_empty()), "{hit:?} in {text:?}");
        }
        let planted = format!("{text} {ADDRESS} {text}");
        for mask in [Mask::Edges, Mask::Stars, Mask::Label] {
            let (masked, kinds) = standard.mask_text(&text, mask);
            assert_eq!(kinds.is_empty(), masked == text, "{text:?} {kinds:?}");
            assert!(!standard.mask_text(&planted, mask).0.contains(ADDRESS), "{planted:?}");
            let value = serde_json::json!([{ text.as_str(): [planted] }]);
            let masked = standard.mask_value(&value, mask).0.map(|masked| masked.to_string());
            assert!(masked.is_some_and(|masked| !masked.contains(ADDRESS)), "{value}");
        }
        let call = Call::new("1", "any").with("x", text.as_str());
        let found = find_attack(&call.input, &wanted);
        assert!(found.is_none_or(|(kind, _)| wanted.contains(&kind)));
    });
}

#[test]
fn any_line_gets_one_answer_and_only_a_call_is_allowed() {
    let wholes = pieces(concat!(
        "{\"call\":{\"id\":\"1\",\"tool\":\"backup\"}}\n¦",
        "{\"call\":{\"id\":\"2\",\"tool\":\"delete\",\"input\":{\"a\":[1]}},\"at\":1}\n¦",
        "{\"call\":{\"id\":\"3\",\"tool\":\"deploy\"}}\n¦",
        "{\"call\":{\"id\":\"4\",\"tool\":\"rm\",\"ask\":\"none\",\"session\":\"s\"}}\n¦",
        "{\"result\":{\"id\":\"1\",\"ok\":true}}\n¦",
        "{\"answer\":{\"approval\":\"a1@default\",\"granted\":true}}\n¦",
        "{\"net\":{\"deactivate\":\"block-rm\"}}\n¦{\"halt\":{\"reason\":\"x\"}}\n¦{\"resume\":{}}\n¦",
        "{\"status\":{}}\n¦{\"session\":{\"id\":\"s\"}}\n¦",
        "{\"stage\":{\"workflow\":\"w\",\"set\":\"x\"}}\n",
    ));
    let scraps = pieces(concat!(
        "call¦result¦answer¦id¦tool¦input¦session¦ask¦ok¦granted¦at¦{¦}¦[¦]¦\"¦:¦,¦null¦true¦1¦",
        "-1e999¦18446744073709551616¦\\u0000¦\\ud800¦\n¦\r\n¦\u{0}¦é¦ ¦",
    ));
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let policy = "require backup before delete\nrequire human-approval before deploy\nblock rm";
        let gate = Gate::new(lockgate::Policy::rules(policy).unwrap());
        // Every second input as it is, so that bytes which are no text are tried too.
        let input = match bytes.split_first() {
            Some((first, rest)) if first % 2 == 0 => rest.to_vec(),
            _ => text(&wholes, &scraps, bytes).into_bytes(),
        };
        let options = ServeOptions { clock: Clock::Lines, ..ServeOptions::default() };
        let mut output = Vec::new();
        let served = serve(&gate, &options, input.as_slice(), &mut output).unwrap();
        let mut lines: Vec<_> = input.split(|byte| *byte == b'\n').collect();
        // What ends with a line end has no line behind it.
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let output = String::from_utf8(output).unwrap();
        let answers: Vec<Value> =
            output.lines().map(|answer| serde_json::from_str(answer).unwrap()).collect();
        assert_eq!((answers.len(), served.lines), (lines.len(), lines.len() as u64), "{input:?}");
        for (line, answer) in lines.iter().zip(&answers) {
            let request = str::from_utf8(line).ok().and_then(|line| protocol::decode(line).ok());
            let asks = request.is_some_and(|request| {
                use protocol::Message::{Answer, Call, Result};
                matches!(request.message, Call(_) | Answer(_) | Result(_))
            });
            assert!(asks || answer["verdict"].is_null(), "{}: {answer}", line.escape_ascii());
        }
    });
}

/// What the proxy of the MCP door is told: who speaks is told by the first byte of each line.
const MCP_LINES: &str = r#"c{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger","arguments":{"x":1}}}
¦c{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fine","arguments":{}}}
¦c{"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"asked","arguments":{"a":[1]},"_meta":{"progressToken":1}}}
¦c{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"asked","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"requestState":"lockgate1.0.AA","inputResponses":{"lockgate":{"action":"accept","content":{"approve":true}}}}}
¦c{"jsonrpc":"2.0","id":5,"method":"tools/list"}
¦c{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}
¦c{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}
¦c{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"t"}}
¦c{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
¦c{"jsonrpc":"2.0","id":"lockgate-a1@s-1","result":{"action":"decline"}}
¦c{"jsonrpc":"2.0","method":"tools/call","params":{"name":"danger"}}
¦s{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"ok"}],"isError":false}}
¦s{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{},"requestState":"theirs"}}
¦s{"jsonrpc":"2.0","id":2,"result":{"resultType":"task","taskId":"t"}}
¦s{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"fine","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}}
¦s{"jsonrpc":"2.0","id":8,"result":{"taskId":"t","status":"completed","result":{"content":[]}}}
¦s{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}
¦s{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
¦s{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","status":"completed","result":{}}}
¦s{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}
"#;

/// What a bad call is put together from.
const MCP_SCRAPS: &str =
    r#""danger"¦"d\u0061nger"¦,"name":"danger"¦"method":"tools/call"¦"id":2,¦null¦{¦}¦[¦]¦,¦:¦"¦\¦danger"#;

#[test]
fn any_conversation_is_led_to_its_end_and_a_blocked_tool_never_runs() {
    let (wholes, scraps) = (pieces(MCP_LINES), pieces(MCP_SCRAPS));
    check!().for_each(|bytes: &[u8]| {
        let mut relay =
            proxy("block danger\nrequire human-approval before asked\nlimit fine to 3 per session");
        for line in text(&wholes, &scraps, bytes.get(..BYTES_MAX).unwrap_or(bytes)).lines() {
            let outs = match line.split_at_checked(1) {
                Some(("s", message)) => relay.from_server(message.to_owned()),
                Some((_, message)) => relay.from_client(message.to_owned()),
                None => relay.tick(),
            };
            for out in outs {
                let Action::Server(message) = out else { continue };
                // However it is written, this is how the laxest server would read it.
                let Ok(read) = serde_json::from_str::<Value>(&message.text) else {
                    panic!("{}", message.text)
                };
                let is_call = read.get("method").and_then(Value::as_str) == Some("tools/call");
                let tool = read.pointer("/params/name").and_then(Value::as_str);
                assert!(!is_call || !matches!(tool, Some("danger" | "asked")), "{line}: {}", message.text);
            }
        }
        relay.client_gone();
    });
}

#[expect(clippy::unwrap_used, reason = "a target that cannot begin has failed")]
fn proxy(rules: &str) -> Relay {
    struct Still;
    impl Environment for Still {
        fn now(&self) -> Time {
            Time(1_000)
        }

        fn log(&self, _: &str) {}
    }
    let config = Config {
        decider: Box::new(LocalDecider::new(Gate::new(lockgate::Policy::rules(rules).unwrap()), None)),
        environment: Box::new(Still),
        session: "s".to_owned(),
        naming: Naming::plain(),
        ask: Ask::Host,
        ask_for: Duration::from_secs(1),
        dead_tools: DeadTools::Mark,
        folder: None,
        pins: None,
    };
    Relay::new(Arc::new(Context::new(config).unwrap()), true)
}

#[test]
fn any_script_is_read_and_one_that_names_rm_is_not_read_as_harmless() {
    let wholes = pieces(concat!(
        "rm -rf x¦ && ¦; ¦ | ¦\n¦$(rm x)¦`rm x`¦sudo rm x¦bash -c 'rm x'¦eval 'rm x'¦echo \"$x\"¦",
        "if rm x; then ls; fi¦for i in a b; do rm $i; done¦cat <<E\n$(rm x)\nE\n¦",
        "find . -exec rm {} +¦a=1 rm x > y¦case x in x) rm x;; esac¦f() { rm x; }¦xargs rm¦",
        "$((1+$(rm x)))¦ls <(rm x)¦curl -o /tmp/x ¦https://a@b.example:80/x?y#z¦file:///etc/%2e./x¦../../x¦//host/x",
    ));
    let scraps = pieces(concat!(
        "rm¦ ¦;¦&&¦||¦|¦&¦(¦)¦{ ¦; }¦$(¦`¦\"¦'¦\\¦$'¦<(¦<<E\n¦<<-'E'\n¦\nE\n¦\n¦env ¦-c¦timeout 5 ¦",
        "then¦fi¦do¦done¦esac¦$x¦${x:-¦}¦$((¦))¦a=¦>¦#¦é¦\0¦://¦@¦%¦[::1]¦0x7f.1¦~/¦../¦\\\\¦．¦",
    ));
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let text = text(&wholes, &scraps, bytes);
        let script = read_script(&text);
        // Whatever the script, its places are found without a panic, in a script and as plain text.
        for field in ["command", "note", "url", "path"] {
            let call = SeenCall::from(Call::new("1", "any").with(field, text.as_str()));
            let reading = call.reading(&ScriptFields::Customary);
            let (paths, hosts) = (reading.paths(), reading.hosts());
            assert!(
                field != "command" || !script.opaque || !paths.unseen.is_empty() || !hosts.unseen.is_empty()
            );
        }
        for command in &script.commands {
            assert!(!command.is_confirmed || !script.opaque, "a doubtful script proves nothing: {text:?}");
        }
        // A workflow tells it in one short line.
        let call = SeenCall::from(Call::new("1", "Bash").with("command", text.as_str()));
        let summary = Sight::of(&call, ScriptFields::Customary).summary();
        assert!(summary.chars().count() <= 200 && !summary.contains(char::is_control), "{summary:?}");
        assert!(!says_failure(&Value::from(text.as_str())), "a script is no result: {text:?}");
        // A plain command in front stays what it is, whatever stands behind its line.
        let behind = read_script(&format!("rm -rf y\n{text}"));
        let finds_rm = behind.commands.iter().any(|command| command.program.as_deref() == Some("rm"));
        assert!(finds_rm || behind.opaque, "{text:?}");
    });
}

#[test]
fn any_pattern_is_read_and_finds_within_the_text() {
    let wholes =
        pieces("a¦rm¦\\brm\\b¦(a|b)¦[^a-z]¦(?:rm)+¦(?=a)¦(?<!b)¦^¦$¦a*¦b{1,9}¦\\w+¦(?<n>a)\\k<n>¦é字");
    let scraps = pieces(concat!(
        "\\d¦\\s¦\\1¦(?P<n>¦(?P=n)¦(?i)¦(?i:¦(?-s:¦\\A¦\\Z¦\\N{DASH}¦[[a]¦&&¦\\/¦\\u0061¦\\u{61}¦\\x61¦\\cA¦\\p{L}¦(¦)¦(?¦(?!¦(?<=¦[¦]¦[^]¦-¦*¦+¦?¦{2}¦",
        "{1,1000}¦{,¦|¦.¦#¦/¦\\¦ ¦",
    ));
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let (pattern, subject) = bytes.split_at(bytes.len() / 2);
        let (pattern, subject) = (text(&wholes, &scraps, pattern), text(&wholes, &scraps, subject));
        let flags = ["", "i", "ms", "x"];
        let regex = Pattern::regex(&pattern, flags[pattern.len() % flags.len()]);
        let python = [Pattern::python(&pattern), Pattern::python_full(&pattern), Pattern::glob(&pattern)];
        if let [Ok(part), Ok(full), _] = &python {
            // Dots take line ends in one and not in the other.
            let goes_on = full.find(&subject) == Match::No || part.find(&subject) != Match::No;
            assert!(goes_on || subject.contains('\n'), "{pattern:?} takes all of {subject:?} and no part");
        }
        let python = python.into_iter().flatten();
        let words = [Pattern::word(&pattern), Pattern::literal(&pattern)];
        for pattern in words.into_iter().chain(regex).chain(python) {
            if let Some(linear) = pattern.linear_source().filter(|_| Pattern::suits_set(&subject)) {
                let is_found = regex::Regex::new(linear).is_ok_and(|linear| linear.is_match(&subject));
                assert_eq!(is_found, pattern.find(&subject) != Match::No, "{pattern:?} in {subject:?}");
            }
            let found = pattern.find(&subject);
            if let Match::At(at) = found {
                assert!(subject.is_char_boundary(at), "{pattern:?} at {at} in {subject:?}");
            }
            assert!(!pattern.matches_at_start(&subject) || found != Match::No, "{pattern:?} in {subject:?}");
            assert!(!pattern.is_impossible() || found == Match::No, "{pattern:?} in {subject:?}");
        }
    });
}

#[test]
fn any_request_of_authzen_is_read_as_one_call_of_its_subject() {
    use lockgate_server::authzen::{Batch, EVALUATIONS_MAX, Evaluation};
    let whole = concat!(
        r#"{"subject":{"type":"user","id":"alice","properties":{"role":"admin","user_id":"x"}},"#,
        r#""action":{"name":"tools/call"},"resource":{"type":"tool","id":"deploy"},"#,
        r#""context":{"call_id":"1","session":"s","arguments":{"a":1},"approval":{"id":"x"}},"#,
        r#""evaluations":[{"resource":{"id":"b"}},{}],"options":{"evaluations_semantic":"execute_all"}}"#,
    );
    let scraps =
        pieces("\"¦{¦}¦[¦]¦:¦,¦null¦1¦\"\"¦subject¦type¦id¦name¦context¦call_id¦properties¦{}¦[]¦\\u0000¦字");
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let (mut text, mut bytes) = (whole.to_owned(), bytes.iter().copied().take(12));
        while bytes.len() > 0 {
            edit(&mut text, &scraps, &mut bytes);
        }
        let Ok(fields) = protocol::read_object(&text) else { return };
        let check = |evaluation: Evaluation| {
            let (is_call, session) =
                (evaluation.call_id().is_some(), evaluation.session().map(ToOwned::to_owned));
            let call = evaluation.into_call(session.as_deref().unwrap_or("own"));
            assert!(!call.tool.is_empty() && !call.id.is_empty(), "{text}");
            assert!(session.as_deref() != Some(""), "{text}");
            assert!(is_call || call.id == "dry-run", "{text}");
            let who = call.principal.as_ref().and_then(|it| it.get("user_id")).and_then(Value::as_str);
            assert!(who.is_some_and(|who| !who.is_empty()), "{text}");
        };
        if let Ok(evaluation) = Evaluation::read(&fields) {
            let id = fields.get("subject").and_then(|it| it.get("id")).cloned();
            let who = evaluation.clone().into_call("s").principal.and_then(|it| it.get("user_id").cloned());
            assert_eq!(who, id, "{text}");
            check(evaluation);
        }
        if let Ok(Some(batch)) = Batch::read(&fields) {
            assert!(!batch.evaluations.is_empty() && batch.evaluations.len() <= EVALUATIONS_MAX);
            batch.evaluations.into_iter().flatten().for_each(check);
        }
    });
}

#[test]
fn any_file_of_webhooks_is_read_or_refused_without_its_secrets() {
    use lockgate_server::webhooks::{Told, Webhooks};
    let whole = concat!(
        "link = \"https://gate.example\"\n[[webhook]]\nname = \"a\"\nurl = \"https://a.example/SECRET\"\n",
        "secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\nsessions = [\"a/*\"]\n",
        "[[webhook]]\nname = \"b\"\nkind = \"telegram\"\nbot_token = \"12:SECRET\"\nchat = \"-1\"\n",
    );
    let scraps = pieces("\"¦[[webhook]]¦\n¦=¦kind¦slack¦teams¦http://¦localhost¦[]¦*¦/¦..¦name¦{¦}¦字");
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let (mut text, mut bytes) = (whole.to_owned(), bytes.iter().copied().take(12));
        while bytes.len() > 0 {
            edit(&mut text, &scraps, &mut bytes);
        }
        match Webhooks::read(&text) {
            Ok(webhooks) => {
                let question = serde_json::json!({"tool": "a", "input": {"b": "\u{202e}"}});
                let told = Told { id: "q1", at_seconds: 1, question: &question };
                for webhook in &webhooks.all {
                    let message = webhook.message(&told, webhooks.link.as_ref());
                    assert!(!message.body.contains("SECRET"), "{text}");
                    let is_near = matches!(message.url.host_str(), Some("localhost"));
                    let is_ip = message
                        .url
                        .host_str()
                        .is_some_and(|host| host.starts_with("127.") || host == "[::1]");
                    assert!(message.url.scheme() == "https" || is_near || is_ip, "{text}");
                }
                assert!(!format!("{webhooks:?}").contains("SECRET"), "{text}");
            }
            Err(error) => assert!(!error.to_string().contains("SECRET"), "{text}: {error}"),
        }
    });
}
