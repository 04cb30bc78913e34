//! What another gate was recorded to answer, compared with ours; and command lines, by what a shell would run.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests may stop and say so"
)]

use std::{
    env, fs,
    path::Path,
    process::{self, Command},
};

use lockgate::engine::petri::{Firing, Net, to_pnml};
use lockgate_testkit::conformance::{
    Conformance, Report, dogwood, edictum, one_liners, petri, petriflow, play_folder, policyshield, shell,
};

fn play(file: &str, conformance: Conformance) -> Report {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    play_file(&Path::new(&folder).join(file), conformance)
}

fn play_file(file: &Path, conformance: Conformance) -> Report {
    let report = conformance(&fs::read_to_string(file).unwrap()).unwrap();
    println!("{}: {report}", file.display());
    assert!(report.holds(), "{}:\n{report}", file.display());
    report
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_sessions_get_the_same_answers_reasons_and_markings() {
    let report = play("petriflow/traces.jsonl", petriflow);
    assert_eq!((report.cases, report.steps, report.on_purpose.len()), (300, 9_000, 0));
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_inputs_give_the_same_nets_or_state_the_same_fact() {
    let report = play("petriflow/dsl.jsonl", petriflow);
    assert_eq!((report.cases, report.on_purpose.len()), (91, 12), "every row of the table is met once");
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_calls_under_when_then_rules_get_the_promised_answer_or_another_on_purpose() {
    let report = play("policyshield/cases.yaml", policyshield);
    assert_eq!((report.cases, report.on_purpose.len()), (214, 53), "every row of the table is met once");
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_rulesets_answer_as_they_should_or_are_refused() {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let report = play_folder(&Path::new(&folder).join("edictum/fixtures"), edictum).unwrap();
    println!("{report}");
    assert_eq!(report.holds(), Some(true), "\n{report}");
    // A part of the cases: of the others only the names are known to us.
    assert_eq!(report.cases(), 149);
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_temporal_policies_get_the_same_answers_in_sentences_or_others_on_purpose() {
    let report = play("dogwood/cases.jsonl", dogwood);
    assert_eq!((report.cases, report.on_purpose.len()), (235, 7), "every row of the table is met");
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn what_runs_rm_is_told_from_what_mentions_it() {
    assert_eq!(play("shell/rm.yaml", shell).cases, 56);
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn what_people_type_can_nearly_always_be_read() {
    let report = play("shell/nl2bash.txt", one_liners);
    assert_eq!(report.cases, 12_606);
    // At most one line in a hundred may fail, and none of the others may go unlooked at.
    assert!(report.tolerated == 126 && report.steps > report.cases);
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn the_state_spaces_of_known_nets_are_as_they_are_known() {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let report = petri(&Path::new(&folder).join("petri")).unwrap();
    println!("{report}");
    assert_eq!(report.holds(), Some(true), "\n{report}");
    // Ten facts about each net.
    assert_eq!((report.cases, report.facts), (99, 990));
}

#[test]
fn a_net_that_is_not_as_its_table_says_is_named_with_every_difference() {
    let folder = env::temp_dir().join(format!("lockgate-nets-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let net = Net::builder().place("a", 2).place("b", 0).transition("t", Firing::Called, &["a"], &["b"]);
    fs::write(folder.join("two.pnml"), to_pnml(&net.build().unwrap()).unwrap()).unwrap();
    let columns = "file\tplaces\treachable_markings\tfirings(edges)\tmax_tokens_in_place\thas_deadlock(RD)\tlive\tone_safe\tsource";
    let told = |lines: &str| {
        fs::write(folder.join("manifest.tsv"), format!("{columns}\n{lines}")).unwrap();
        let report = petri(&folder).unwrap();
        let said = report.to_string();
        // How fast it was is another matter.
        let said = said.lines().filter(|line| !line.contains("a second")).collect::<Vec<_>>().join("\n");
        format!("{said} {:?}", report.holds())
    };
    let right = "two.pnml\t2\t3\t2\t2\tTRUE\tFALSE\tFALSE\tus";
    insta::assert_snapshot!(told(right), @"
    7 facts
    1/1 Some(true)
    ");
    insta::assert_snapshot!(told("two.pnml\t2\t3\t-1\t?\t\t-\tFALSE\tus"), @"
    3 facts
    1/1 Some(true)
    ");
    insta::assert_snapshot!(told(&format!("{right}\ntwo.pnml\t2\t4\t2\t2\tFALSE\tTRUE\tTRUE\tus\nthree.pnml\t2\t3")), @"
    failing: two.pnml: reachable_markings: expected 4, got 3; has_deadlock: expected FALSE, got TRUE; one_safe: expected TRUE, got FALSE; live: expected TRUE, got FALSE
    failing: three.pnml: cannot be read: No such file or directory (os error 2)
    14 facts
    1/3 Some(false)
    ");
    insta::assert_snapshot!(told(""), @"
    0 facts
    0/0 None
    ");
    fs::write(folder.join("manifest.tsv"), "name\tmarkings").unwrap();
    insta::assert_snapshot!(petri(&folder).unwrap_err(), @"the first line of `manifest.tsv` does not name the columns file and reachable_markings");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_runs_a_program_is_told_from_what_mentions_it() {
    let files = ["chmod", "curl", "dd", "docker", "git", "kubectl", "mv"];
    for file in files {
        let report = play_file(&Path::new("data/shell").join(format!("{file}.yaml")), shell);
        assert!(report.cases >= 15, "{file} has lost its lines");
    }
    assert_eq!(fs::read_dir("data/shell").unwrap().count(), files.len(), "every table is played");
}

#[test]
fn every_line_that_is_taken_wrongly_is_told_and_a_bad_table_is_refused() {
    let table = "# of ls
program: ls
runs:
  - ls -l
  - echo ls
  - \"cd x\\nls\"
mentions:
  - man ls
  - ls
neither:
  - also
  - man ls
";
    insta::assert_snapshot!(shell(table).unwrap(), @"
    line 5: runs: echo ls
      expected: block under `map bash running ls as taken`
      got:      allow
    line 9: mentions: ls
      expected: allow under `map bash running ls as taken`
      got:      block
    line 12: neither: man ls
      expected: allow under `map bash.command ls as taken`
      got:      block
    14 steps
    4/7
    ");
    let bad = |text: &str| shell(text).map(|report| report.to_string()).unwrap_err().to_string();
    insta::assert_snapshot!(bad(""), @"line 1: there is no line in this table");
    insta::assert_snapshot!(bad("runs: []"), @"line 1: there is no line in this table");
    insta::assert_snapshot!(bad("run: [rm]"), @"line 1: `run` is none of `program`, `runs`, `mentions`, `neither`, or has no lines");
    insta::assert_snapshot!(bad("runs: rm x"), @"line 1: `runs` is none of `program`, `runs`, `mentions`, `neither`, or has no lines");
    insta::assert_snapshot!(bad("runs: [rm]\nruns: [rm]"), @"line 2: `runs` is there twice");
    insta::assert_snapshot!(bad("- rm"), @"line 1: a list without a name");
    insta::assert_snapshot!(bad("program: /bin/rm\nruns: [rm]"), @"line 1: policy.rules:1:18: error[program-with-folder]: a program is known by its name alone, not as '/bin/rm'");
    insta::assert_snapshot!(bad("runs: ['rm"), @"line 1: no YAML: unclosed quote");
}

#[test]
fn every_difference_of_a_recording_is_told_and_a_bad_recording_is_refused() {
    let session = |allowed: bool, marking: &str| {
        let call = format!(
            r#"{{"call":"1","tool":"rm","input":{{}},"human":"absent","allowed":{allowed},"reason":"rm is blocked and cannot be called.","marking":"{marking}"}}"#
        );
        format!(
            r#"{{"rules":"block rm","states":[{{"name":"block-rm","reachableStates":2}}],"steps":[{call}]}}"#
        )
    };
    let right = session(false, "block-rm: ready:1");
    let lines = [
        right.clone(),
        session(true, "block-rm: ready:1"),
        session(false, "block-rm: ready:2"),
        right.replace("reachableStates\":2", "reachableStates\":3"),
        r#"{"input":"block a","verification":[{"name":"block-a","reachableStates":2}]}"#.into(),
        r#"{"input":"block a","verification":[{"name":"block-a","reachableStates":1}]}"#.into(),
        r#"{"input":"block","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#.into(),
        r#"{"input":"\nblock","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#.into(),
        r#"{"input":"limit a to 9999 per session","error":"too many"}"#.into(),
    ];
    insta::assert_snapshot!(petriflow(&lines.join("\n")).unwrap(), @r#"
    line 2: {"call":"1","tool":"rm","input":{},"human":"absent","allowed":true,"reason":"rm is blocked and cannot be called.","marking":"block-rm: ready:1"}
      expected: true, "rm is blocked and cannot be called.", "block-rm: ready:1"
      got:      false, "rm is blocked and cannot be called.", "block-rm: ready:1"
    line 3: {"call":"1","tool":"rm","input":{},"human":"absent","allowed":false,"reason":"rm is blocked and cannot be called.","marking":"block-rm: ready:2"}
      expected: false, "rm is blocked and cannot be called.", "block-rm: ready:2"
      got:      false, "rm is blocked and cannot be called.", "block-rm: ready:1"
    line 4: verify
      expected: block-rm: 3
      got:      block-rm: 2
    line 6: "block a"
      expected: block-a: 1
      got:      block-a: 2
    line 8: "\nblock"
      expected: Line 1: 'block <tool>' expects 2 tokens, got 1
      got:      Line 2: 'block <tool>' expects 2 tokens, got 1
    on purpose: limit a to 9999 per session: limits go up to 2^63
    8 steps
    4/9
    "#);
    let bad = |text: &str| petriflow(text).unwrap_err().to_string();
    insta::assert_snapshot!(bad(""), @"line 1: there is no case in this file");
    insta::assert_snapshot!(bad("{}"), @"line 1: a case has either `steps` or an `input`");
    insta::assert_snapshot!(bad(&format!("{right}\n\n")), @"line 2: EOF while parsing a value at line 1 column 0");
    insta::assert_snapshot!(bad(r#"{"input": "a"}"#), @"line 1: there is no `verification`");
}

/// A recording of our own, with every kind of step.
const WHEN_THEN: &str = r#"
cases:
- id: right-1
  policy: |
    taint_chain: {enabled: true, outgoing_tools: [send]}
    rules:
      - {id: ask, when: {tool: deploy}, then: approve, message: Look first}
      - {id: storm, when: {tool: exec, chain: [{tool: exec, within_seconds: 0.5, min_count: 3}]}, then: block}
      - {id: mask, when: {tool: note, sender: ann, context: {env: prod}}, then: redact}
  engine: {approval: inmemory, approval_cache: per_session, rate_limits: [{tool: list, max_calls: 1, window_seconds: 9}]}
  steps:
  - {tool: exec, repeat: 3, expect: {verdict: ALLOW, rule_id: null}}
  - {tool: exec, at: 0.5, docs_expect: BLOCK, expect: {verdict: BLOCK, rule_id: storm}}
  - {tool: exec, at: 1.001, faq_expect: ALLOW, expect: {verdict: BLOCK, rule_id: storm}}
  - {tool: deploy, want_message: true, expect: {verdict: APPROVE, rule_id: ask, approval_id: true, message: Look first}}
  - {op: status, ref: 3, expect: {status: pending}}
  - {op: respond, ref: 3, approved: true, expect: {}}
  - {op: status, ref: 3, expect: {status: approved}}
  - {tool: deploy, expect: {verdict: ALLOW, rule_id: ask}}
  - {tool: note, sender: ann, context: {env: prod}, args: {t: a@b.com}, expect: {verdict: REDACT, modified_args: {t: a@***om}, pii_types: [EMAIL]}}
  - {op: post_check, tool: read, result: to a@b.com, expect: {blocked: false, pii_types: [EMAIL], redacted_output: to a@***om}}
  - {tool: send, expect: {verdict: BLOCK, rule_id: __pii_taint__}}
  - {op: clear_taint}
  - {tool: send, expect: {verdict: ALLOW, rule_id: null}}
  - {op: kill}
  - {tool: read, expect: {verdict: BLOCK, rule_id: __kill_switch__}}
  - {op: resume}
  - {tool: list, session: other, expect: {verdict: ALLOW}}
  - {tool: list, session: other, expect: {verdict: BLOCK, rule_id: __rate_limit__}}
- id: right-2
  policy: "rules: 5"
  expect_load_error: {type: TypeError}
- id: right-3
  policy: "rules: [{id: late, when: {tool: a, context: {time_of_day: '12:30-12:30'}}, then: block}]"
  start: '2026-03-04T11:30:59Z'
  process_tz: Europe/Berlin
  engine: {mode: AUDIT}
  steps: [{tool: a, expect: {verdict: ALLOW, rule_id: late}}]
- id: tool-23
  policy: "rules: [{id: r, when: {tool: []}, then: block}]"
  steps: [{tool: a, expect: {verdict: ALLOW, rule_id: null}}]
- id: wrong-1
  policy: "rules: [{id: r, when: {tool: a}, then: block}]"
  steps: [{tool: b, expect: {verdict: ALLOW}}, {tool: a, expect: {verdict: ALLOW}}]
- id: wrong-2
  policy: "rules: [{id: r, when: {tool: a}, then: block}]"
  steps: [{tool: a, expect: {verdict: BLOCK, rule_id: s}}]
- id: wrong-3
  policy: "rules: [{id: r, when: {tool: a}, then: block}]"
  expect_load_error: {type: TypeError}
- id: wrong-4
  policy: "rules: [{id: r, when: {tool: a}, thne: block}]"
  steps: [{tool: a, expect: {verdict: BLOCK}}]
- id: wrong-5
  policy: "rules: [{id: r, when: {tool: z}, then: block}]"
  steps: [{op: dance}]
- id: wrong-6
  policy: "rules: [{id: r, when: {tool: a}, then: block, message: Never}]"
  engine: {mode: DISABLED}
  steps: []
- id: args-23
  policy: "rules: [{id: r, when: {tool: z}, then: block}]"
  steps: [{tool: a, expect: {verdict: ALLOW}}]
"#;

#[test]
fn every_difference_of_recorded_calls_is_told_and_a_stale_reason_too() {
    insta::assert_snapshot!(policyshield(WHEN_THEN).unwrap(), @r#"
    line 42: wrong-1, step 2 (a)
      expected: ALLOW
      got:      BLOCK
    line 45: wrong-2, step 1 (a)
      expected: rule_id "s"
      got:      rule_id "r"
    line 48: wrong-3, the policy
      expected: a load error
      got:      a policy
    line 51: wrong-4, the policy
      expected: a policy
      got:      load error (a rule has no key `thne`)
    line 54: wrong-5, step 1 (dance)
      expected: a step we know
      got:      `dance`
    line 57: wrong-6, the policy
      expected: a gate
      got:      no mode is called `DISABLED`
    line 61: args-23, as a whole
      expected: a difference, because `contains` looks for text and is no pattern
      got:      none: its row in the table is stale
    on purpose: tool-23, the policy: load error (`tool` names nothing), not a policy: a rule for no tool at all is a mistake
    24 steps
    4/11
    "#);
    let bad = |text: &str| policyshield(text).unwrap_err().to_string();
    insta::assert_snapshot!(bad(""), @"line 1: there is nothing in this file");
    insta::assert_snapshot!(bad("a: 1"), @"line 1: there are no `cases`");
    insta::assert_snapshot!(bad("cases: []"), @"line 1: there is no case in this file");
    insta::assert_snapshot!(bad("cases:\n- id: a\n  steps: []"), @"line 2: case 1: missing field `policy`");
    insta::assert_snapshot!(bad("cases: ["), @"line 1: no YAML: unclosed bracket '['");
}

/// Cases of rulesets, as they are recorded.
const RULESETS: &str = r#"
rulesets:
  base: &base
    apiVersion: edictum/v1
    kind: Ruleset
    metadata: {name: base}
    defaults: {mode: enforce}
    rules:
      - id: no-rm
        type: pre
        tool: sh
        when: {args.do: {contains: rm}}
        then: {action: block, message: Never rm, tags: [files]}
      - id: ask-rm
        type: pre
        tool: ask
        when: {args.do: {contains: rm}}
        then: {action: ask, message: Approval for rm, timeout_action: allow}
      - id: few
        type: session
        limits: {max_tool_calls: 3, max_attempts: 5, max_calls_per_tool: {sh: 2}}
        then: {action: block, message: Enough of it}
      - id: by-role
        type: pre
        tool: who
        when: {any: [{principal.role: {equals: guest}}, {env.STAGE: {equals: 3}}, {metadata.risk: {gt: 5}}]}
        then: {action: block, message: Not for you}
      - {id: loud, type: post, tool: sh, when: {result.size: {gt: 9}}, then: {action: warn, message: Long, tags: [size]}}
      - {id: hidden, type: post, tool: sh, when: {output.text: {matches: key=.}}, then: {action: redact, message: Masked}}
      - {id: silent, type: post, tool: sh, when: {result.code: {in: [7]}}, then: {action: block, message: Withheld}}
      - {id: desk, type: sandbox, tools: [read, write], within: [/desk], message: Stay here}
      - {id: far, type: pre, tool: "mcp_*", when: {args.a: {matches: "^(a+)+$"}}, then: {action: block, message: Too far}}
  watching: {apiVersion: edictum/v1, kind: Ruleset, metadata: {name: watching}, extends: base, defaults: {mode: observe}, rules: []}
fixtures:
  - {id: denied, contract: base, envelope: {tool_name: sh, arguments: {do: rm x}}, expected: {verdict: denied, message_contains: Never, tags: [files]}}
  - {id: inline, contract: *base, envelope: {tool_name: sh, arguments: {do: ls}}, expected: {verdict: allowed}}
  - {id: observed, contract: watching, envelope: {tool_name: sh, arguments: {do: rm x}}, expected: {verdict: allowed, audit_action: observed}}
  - {id: granted, contract: base, envelope: {tool_name: ask, arguments: {do: rm x}}, expected: {verdict: allowed}}
  - {id: refused, contract: base, envelope: {tool_name: ask, arguments: {do: rm x}}, approval_decision: rejected, expected: {verdict: denied}}
  - {id: nobody, contract: base, envelope: {tool_name: ask, arguments: {do: rm x}}, approval_pending: true, expected: {verdict: denied, message_contains: Approval}}
  - {id: too-late, contract: base, envelope: {tool_name: ask, arguments: {do: rm x}}, timeout_expired: true, expected: {verdict: allowed}}
  - {id: calls, contract: base, session: {tool_calls: 3}, envelope: {tool_name: ls}, expected: {verdict: denied, message_contains: Enough}}
  - {id: attempts, contract: base, session: {attempts: 5}, envelope: {tool_name: ls}, expected: {verdict: denied}}
  - {id: last-attempt, contract: base, session: {attempts: 4}, envelope: {tool_name: ls}, expected: {verdict: allowed}}
  - {id: of-tool, contract: base, session: {tool_calls: 2, per_tool: {sh: 2}}, envelope: {tool_name: sh}, expected: {verdict: denied}}
  - {id: role, contract: base, principal: {role: guest}, envelope: {tool_name: who}, expected: {verdict: denied}}
  - {id: variable, contract: base, environment: {STAGE: 3}, envelope: {tool_name: who}, expected: {verdict: denied}}
  - {id: metadata, contract: base, call_metadata: {risk: 6}, envelope: {tool_name: who}, expected: {verdict: denied}}
  - {id: warned, contract: base, envelope: {tool_name: sh}, result: {size: 10}, expected: {verdict: warned, message_contains: Long, tags: [size]}}
  - {id: redacted, contract: base, envelope: {tool_name: sh}, result: {text: key=1}, expected: {verdict: redacted}}
  - {id: withheld, contract: base, envelope: {tool_name: sh}, result: {code: 7}, expected: {verdict: denied, message_contains: Withheld}}
  - {id: cut-short, contract: base, envelope: {tool_name: read, arguments: {file_path: "/desk/a\0/../../etc"}}, expected: {verdict: denied, message_contains: Stay}}
  - {id: encoded, contract: base, envelope: {tool_name: write, arguments: {path: /desk/%2e%2e/etc}}, expected: {verdict: denied, message_contains: Stay}}
  - {id: slash, contract: base, envelope: {tool_name: mcp_a/b, arguments: {a: aaa}}, expected: {verdict: denied, message_contains: far}}
  - {id: odd-name, contract: base, envelope: {tool_name: "sh\0", arguments: {do: rm x, __proto__: {a: 1}}}, expected: {verdict: allowed}}
  - {id: long-way, contract: base, envelope: {tool_name: mcp_a, arguments: {a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!}}, expected: {verdict: allowed}}
"#;

const WORKFLOWS: &str = r#"
workflows:
  change:
    apiVersion: edictum/v1
    kind: Workflow
    metadata: {name: change, version: "7"}
    stages:
      - {id: look, tools: [Read], exit: [{condition: file_read("plan.md"), message: Read the plan.}]}
      - {id: ask, tools: [mcp__ci], exit: [{condition: 'mcp_result_matches("mcp__ci", "state", "green")', message: Wait for green.}]}
      - {id: review, approval: {message: Is it good?}}
      - {id: push, tools: [Bash], exit: [{condition: command_matches("^git push"), message: Push it.}]}
fixtures:
  - id: reading
    workflow: change
    description: a call too early, a call that fails, and one that counts
    lineage: {parent_session_id: above}
    initial_state: {session_id: s1, active_stage: look, completed_stages: [], approvals: {}, evidence: {reads: [], stage_calls: {}}}
    steps:
      - id: early
        call: {tool: mcp__ci, args: {}}
        execution: not_run
        expect:
          decision: deny
          message_contains: Read the plan
          active_stage: look
          blocked_reason: Read the plan.
          pending_approval: {required: false}
          audit_events: [{action: call_blocked, session_id: s1, parent_session_id: above, workflow: {name: change, version: "7", blocked_reason: Read the plan.}}]
      - id: failing
        call: {tool: Read, args: {path: plan.md}}
        execution: error
        expect: {decision: allow, evidence: {reads: [], stage_calls: {}}, blocked_reason: null, audit_events: [{action: call_allowed}, {action: call_failed}]}
      - id: reading
        call: {tool: Read, args: {path: plan.md}}
        execution: success
        expect: {decision: allow, active_stage: look, evidence: {reads: [plan.md], stage_calls: {}}}
      - id: asking
        call: {tool: mcp__ci, args: {}}
        mcp_result: {state: green}
        execution: success
        expect:
          decision: allow
          active_stage: ask
          completed_stages: [look]
          evidence: {reads: [plan.md], stage_calls: {}, mcp_results: {mcp__ci: [{state: green}]}}
          audit_events: [{action: workflow_stage_advanced, workflow: {stage_id: look, to_stage_id: ask}}, {action: call_allowed}, {action: call_executed}]
  - id: agreeing
    workflow: change
    initial_state: {session_id: s2, active_stage: review, completed_stages: [look, ask], approvals: {}, evidence: {reads: [plan.md], stage_calls: {}, mcp_results: {mcp__ci: [{state: green}]}}, blocked_reason: null, pending_approval: {required: false}}
    steps:
      - id: waiting
        call: {tool: Bash, args: {command: git push}}
        execution: not_run
        expect: {decision: pause, approval_requested_for: review, pending_approval: {required: true, stage_id: review, message: Is it good?}, audit_events: [{action: call_asked}]}
      - id: refused
        call: {tool: Bash, args: {command: git push}}
        approval_outcomes: [rejected]
        execution: not_run
        expect: {decision: block, approvals: {}, audit_events: [{action: call_asked}, {action: call_approval_blocked}]}
      - id: granted
        call: {tool: Bash, args: {command: 'git commit -m "a: b"'}}
        approval_outcomes: [approved]
        execution: success
        expect:
          decision: allow
          approvals: {review: approved}
          evidence: {reads: [plan.md], stage_calls: {push: [git commit -m "a: b"]}, mcp_results: {mcp__ci: [{state: green}]}}
      - id: back
        reset_to: look
        expect: {active_stage: look, completed_stages: [], approvals: {}, evidence: {reads: [], stage_calls: {}, mcp_results: {}}, audit_events: [{action: workflow_state_updated}]}
      - id: forth
        set_stage_to: push
        expect: {active_stage: push, completed_stages: [look, ask, review]}
      - id: pushing
        call: {tool: Bash, args: {command: git push}}
        execution: success
        expect: {decision: allow, active_stage: "", audit_events: [{action: call_allowed}, {action: call_executed}, {action: workflow_completed}]}
"#;

#[test]
fn every_step_of_a_workflow_that_is_answered_otherwise_is_told_and_a_bad_one_is_refused() {
    let play = |text: &str| edictum("a.workflow.yaml").unwrap()(text);
    let report = play(WORKFLOWS).unwrap();
    assert!(report.holds() && (report.cases, report.steps) == (2, 10), "{report}");
    let one_wrong = |right: &str, wrong: &str| {
        assert!(WORKFLOWS.contains(right), "{right}");
        let report = play(&WORKFLOWS.replacen(right, wrong, 1)).unwrap();
        let [failure] = report.failures.as_slice() else { panic!("{wrong}: {report}") };
        format!("{}: {}, not {}", failure.step, failure.got, failure.expected)
    };
    let told = [
        ("decision: deny", "decision: allow"),
        ("message_contains: Read the plan", "message_contains: Read the plane"),
        ("active_stage: look\n", "active_stage: ask\n"),
        ("blocked_reason: Read the plan.\n", "blocked_reason: null\n"),
        ("parent_session_id: above, workflow", "parent_session_id: below, workflow"),
        ("version: \"7\", blocked", "version: \"8\", blocked"),
        ("{action: call_failed}", "{action: call_executed}"),
        ("reads: [plan.md], stage_calls: {}}}", "reads: [plan.txt], stage_calls: {}}}"),
        ("completed_stages: [look]\n", "completed_stages: []\n"),
        ("to_stage_id: ask}", "to_stage_id: review}"),
        ("mcp_results: {mcp__ci: [{state: green}]}}\n          audit", "mcp_results: {}}\n          audit"),
        ("decision: pause", "decision: deny"),
        ("approval_requested_for: review", "approval_requested_for: push"),
        ("pending_approval: {required: true,", "pending_approval: {required: false,"),
        ("approvals: {review: approved}", "approvals: {}"),
        ("{push: [git commit", "{push: [git commits"),
        ("active_stage: \"\"", "active_stage: push"),
        (", {action: workflow_completed}]", "]"),
    ];
    let told: Vec<String> = told.iter().map(|(right, wrong)| one_wrong(right, wrong)).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    reading: "block: Read the plan. (stage `look` of workflow `change`)", not early: decision "allow"
    reading: "Read the plan. (stage `look` of workflow `change`)", not early: message_contains "Read the plane"
    reading: "look", not early: active_stage "ask"
    reading: "Read the plan.", not early: blocked_reason null
    reading: "above", not early: call_blocked with parent_session_id "below"
    reading: {"name":"change","version":"7","active_stage":"look","completed_stages":[],"blocked_reason":"Read the plan.","pending_approval":{"required":false},"last_blocked_action":{"tool":"mcp__ci","summary":"","message":"Read the plan."}}, not early: call_blocked with workflow {"name":"change","version":"8","blocked_reason":"Read the plan."}
    reading: call_allowed, call_failed, not failing: call_allowed, call_executed
    reading: {"reads":["plan.md"],"stage_calls":{},"mcp_results":{}}, not reading: evidence {"reads":["plan.txt"],"stage_calls":{},"mcp_results":{}}
    reading: ["look"], not asking: completed_stages []
    reading: {"name":"change","version":"7","active_stage":"ask","completed_stages":["look"],"blocked_reason":null,"pending_approval":{"required":false},"last_blocked_action":{"tool":"mcp__ci","summary":"","message":"Read the plan."},"last_recorded_evidence":{"tool":"Read","summary":"plan.md"},"stage_id":"look","to_stage_id":"ask"}, not asking: workflow_stage_advanced with workflow {"stage_id":"look","to_stage_id":"review"}
    reading: {"reads":["plan.md"],"stage_calls":{},"mcp_results":{"mcp__ci":[{"state":"green"}]}}, not asking: evidence {"reads":["plan.md"],"stage_calls":{},"mcp_results":{}}
    agreeing: "ask: Is it good? (stage `review` of workflow `change`)", not waiting: decision "deny"
    agreeing: "review", not waiting: approval_requested_for "push"
    agreeing: {"required":true,"stage_id":"review","message":"Is it good?"}, not waiting: pending_approval {"required":false,"stage_id":"review","message":"Is it good?"}
    agreeing: {"review":"approved"}, not granted: approvals {}
    agreeing: {"reads":["plan.md"],"stage_calls":{"push":["git commit -m \"a: b\""]},"mcp_results":{"mcp__ci":[{"state":"green"}]}}, not granted: evidence {"reads":["plan.md"],"stage_calls":{"push":["git commits -m \"a: b\""]},"mcp_results":{"mcp__ci":[{"state":"green"}]}}
    agreeing: "", not pushing: active_stage "push"
    agreeing: call_allowed, call_executed, workflow_completed, not pushing: call_allowed, call_executed
    "#);
    let bad = |right: &str, wrong: &str| {
        assert!(WORKFLOWS.contains(right), "{right}");
        play(&WORKFLOWS.replacen(right, wrong, 1)).unwrap_err().to_string()
    };
    let refused = [
        ("decision: pause, approval_requested_for", "decision: pause, approval_asked_for"),
        ("{action: call_asked}", "{action: call_asked, mood: glad}"),
        ("approval_outcomes: [approved]", "approval_outcomes: [approved, approved]"),
        ("reset_to: look", "reset_too: look"),
        ("reset_to: look", "reset_to: nowhere"),
        ("workflow: change", "workflow: chance"),
        ("execution: error", "execution: maybe"),
    ];
    let refused: Vec<String> = refused.iter().map(|(right, wrong)| bad(right, wrong)).collect();
    insta::assert_snapshot!(refused.join("\n"), @"
    line 47: `agreeing`: nobody here knows the expectation `approval_asked_for`
    line 47: `agreeing`: nobody here knows `mood` of an event
    line 47: `agreeing`: `granted` has an answer and nobody asks
    line 1: unknown field `reset_too`, expected one of `id`, `call`, `reset_to`, `set_stage_to`, `approval_outcomes`, `execution`, `mcp_result`, `expect`
    line 47: `agreeing`: workflow `change` has no stage `nowhere`; it has: look, ask, review, push
    line 13: `reading`: no workflow is called `chance`
    line 1: unknown variant `maybe`, expected one of `success`, `error`, `not_run`
    ");
}

#[test]
fn every_case_of_rulesets_that_is_answered_otherwise_is_told_and_a_bad_one_is_refused() {
    let play = |file: &str, text: &str| edictum(file).unwrap()(text);
    let report = play("a.fixtures.yaml", RULESETS).unwrap();
    assert!(report.holds() && report.cases == 22, "{report}");
    // Whatever is expected otherwise is told, so each of those cases can fail.
    let mut wrong = RULESETS.replace("verdict: allowed", "verdict: redacted");
    wrong =
        wrong.replace("verdict: denied", "verdict: allowed").replace("verdict: warned", "verdict: denied");
    wrong = wrong.replace("verdict: redacted}}\n  - {id: withheld", "verdict: warned}}\n  - {id: withheld");
    assert_eq!(play("a.fixtures.yaml", &wrong).unwrap().passed(), 0);
    let one_wrong = |right: &str, wrong: &str| {
        assert!(RULESETS.contains(right), "{right}");
        let report = play("a.adversarial.yaml", &RULESETS.replacen(right, wrong, 1)).unwrap();
        let told: Vec<_> = report
            .failures
            .iter()
            .map(|it| format!("{}: {}, not {}", it.step, it.got, it.expected))
            .collect();
        told.join("; ")
    };
    insta::assert_snapshot!(one_wrong("message_contains: Never", "message_contains: never"), @r#"denied: "Never rm", not a message with "never" in it"#);
    insta::assert_snapshot!(one_wrong("tags: [files]}}\n  - {id: inline", "tags: []}}\n  - {id: inline"), @r#"denied: ["files"], not the tags []"#);
    insta::assert_snapshot!(one_wrong("tags: [size]}}\n  - {id: redacted", "tags: []}}\n  - {id: redacted"), @r#"warned: ["size"], not the tags []"#);
    insta::assert_snapshot!(one_wrong("{verdict: allowed}}\n  - {id: refused", "{verdict: allowed, audit_action: observed}}\n  - {id: refused"), @"granted: none, not a rule that observes");
    insta::assert_snapshot!(one_wrong("approval_pending: true", "approval_later: true"), @"nobody: `approval_later`, not what is known here");
    insta::assert_snapshot!(one_wrong("result: {code: 7}", "result: {code: 8}"), @r#"withheld: Allowed: "", not Denied"#);
    insta::assert_snapshot!(one_wrong("id: inline,", "id: adv-inject-002,"), @"adv-inject-002: none: its row in the table is stale, not a difference, because it looks for the text `$()`, which is not in the call, and wants it to be found");
    let bad = |file: &str, text: &str| play(file, text).unwrap_err().to_string();
    insta::assert_snapshot!(bad("a.fixtures.yaml", "fixtures: []"), @"line 1: there is no case in this file");
    insta::assert_snapshot!(bad("a.rejection.yaml", "fixtures: [{id: a, bundle: {}, expected: {}}]"), @"line 1: missing field `rejected`");
    insta::assert_snapshot!(bad("a.fixtures.yaml", &RULESETS.replace("contract: base,", "contract: bass,")), @"line 35: `denied`: no ruleset is called `bass`");
    insta::assert_snapshot!(bad("a.fixtures.yaml", &RULESETS.replace("verdict: warned", "verdict: error")), @"line 1: unknown variant `error`, expected one of `allowed`, `denied`, `warned`, `redacted`");
    assert!(play("extends-inheritance.workflow-v0.18.yaml", RULESETS).unwrap().cases > 0);
    assert!(edictum("README.md").is_none() && edictum("a.yaml").is_none());
}

#[test]
fn a_ruleset_that_ought_to_be_refused_is_refused_for_the_right_reason() {
    let bundle = "{apiVersion: edictum/v1, kind: Ruleset, metadata: {name: a}, defaults: {mode: enforce}, rules: [{id: r, type: pre, tool: x, when: {args.a: {exists: true}}, then: {action: block, message: No}}]}";
    let play = |bundle: &str, wanted: &str| {
        let text = format!(
            "fixtures:\n  - id: a\n    bundle: {bundle}\n    expected: {{rejected: true, error_contains: {wanted}}}"
        );
        let report = edictum("a.rejection.yaml").unwrap()(&text).unwrap();
        report.failures.first().map_or_else(|| "right".to_owned(), |difference| difference.got.clone())
    };
    assert_eq!(play(&bundle.replace("action: block", "action: warn"), "ACTION"), "right");
    assert_eq!(play(bundle, "action"), "a policy");
    insta::assert_snapshot!(play(&bundle.replace("action: block", "action: warn"), "tool"), @"`action` cannot be `warn`");
}

#[test]
fn the_program_says_yes_no_or_that_it_could_not_tell() {
    let file = env::temp_dir().join(format!("lockgate-recorded-{}.jsonl", process::id()));
    let path = file.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_conformance")).args(arguments).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (
            output.status.code(),
            said.trim_end().replace(path, "FILE").lines().last().unwrap_or_default().to_owned(),
        )
    };
    let told = |code, text: &str| (Some(code), text.to_owned());
    fs::write(&file, r#"{"input":"block","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#)
        .unwrap();
    assert_eq!(run(&["petriflow", path]), told(0, "1/1"));
    fs::write(&file, r#"{"input":"block","error":"Line 1: what?"}"#).unwrap();
    assert_eq!(run(&["petriflow", path]), told(1, "0/1"));
    fs::write(&file, "what?").unwrap();
    assert_eq!(
        run(&["petriflow", path]),
        told(2, "error: `FILE` is no recording: line 1: expected value at line 1 column 1")
    );
    fs::write(&file, "runs: [sudo rm x]\nmentions: [man rm]").unwrap();
    assert_eq!(run(&["shell", path]), told(0, "2/2"));
    fs::remove_file(&file).unwrap();
    fs::create_dir_all(file.join("b")).unwrap();
    assert_eq!(run(&["edictum", path]), told(2, "0/0"));
    fs::write(file.join(".a.fixtures.yaml"), "what?").unwrap();
    assert_eq!(run(&["edictum", path]), told(2, "0/0"));
    fs::write(file.join("b/a.workflow.yaml"), WORKFLOWS).unwrap();
    assert_eq!(run(&["edictum", path]), told(0, "2/2"));
    fs::write(file.join("a.fixtures.yaml"), RULESETS).unwrap();
    assert_eq!(run(&["edictum", path]), told(0, "24/24"));
    fs::write(
        file.join("b/b.fixtures.yaml"),
        RULESETS.replace("message_contains: Never", "message_contains: Not"),
    )
    .unwrap();
    fs::write(file.join("README.md"), "words").unwrap();
    insta::assert_snapshot!(play_folder(&file, edictum).unwrap(), @r#"
    README.md: SKIPPED: nothing plays files of this name
    a.fixtures.yaml: 22/22
    b/a.workflow.yaml: 2/2
    b/b.fixtures.yaml: 21/22
      failing: denied
      line 35: denied
        expected: a message with "Not" in it
        got:      "Never rm"
    45/46
    "#);
    assert_eq!(run(&["edictum", path]), told(1, "45/46"));
    fs::write(file.join("b/b.fixtures.yaml"), "what?").unwrap();
    assert_eq!(run(&["edictum", path]), told(2, "24/24"));
    fs::remove_dir_all(&file).unwrap();
    assert_eq!(
        run(&["petriflow", path]),
        told(2, "error: cannot read `FILE`: No such file or directory (os error 2)")
    );
    assert_eq!(
        run(&["latin", path]),
        told(
            2,
            "error: no language is called `latin`; known: petriflow, policyshield, edictum, dogwood, shell, one-liners, petri"
        )
    );
    assert_eq!(run(&[]), told(2, "Exit 0: all agree, 1: some do not, 2: could not tell."));
    assert_eq!(run(&["--help"]), told(0, "Exit 0: all agree, 1: some do not, 2: could not tell."));
}
