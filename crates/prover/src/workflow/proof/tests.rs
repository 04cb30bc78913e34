//! What is told about workflows, and that it is true: of the net, and of the machine that moves sessions.

use lockgate_call::{Call, Time};
use lockgate_petri::{Limits, explore};
use lockgate_policy::{
    Source,
    workflow::{Outcome, Progress, Ran, Sight, Step},
};
use proptest::{prelude::*, sample::subsequence};

use super::*;
use crate::verify;

const HEAD: &str = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: t}\nstages:\n";

/// A workflow whose stages are written in one line each.
fn file(stages: &[impl AsRef<str>]) -> Source {
    let stages: String = stages.iter().map(|stage| format!("  - {{{}}}\n", stage.as_ref())).collect();
    Source::new("t.yaml", format!("{HEAD}{stages}"))
}

fn policy_of(sources: &[Source]) -> Option<Policy> {
    lockgate_languages::read(sources).0
}

/// The findings of the proof about a workflow beside other files.
fn told(stages: &[&str], others: &[(&str, &str)]) -> String {
    let mut sources = vec![file(stages)];
    sources.extend(others.iter().map(|(name, text)| Source::new(*name, *text)));
    let (policy, mistakes) = lockgate_languages::read(&sources);
    let policy = policy.unwrap_or_else(|| panic!("{mistakes:?}"));
    let tell = |finding: &Diagnostic| {
        let remedy = finding.remedy.as_deref().unwrap_or_default();
        let line = finding.source.place(finding.span).line - HEAD.lines().count();
        format!("{} at stage {line}: {}\n  try: {remedy}\n", finding.code, finding.message)
    };
    verify(&policy).1.iter().map(tell).collect()
}

const READ_THEN_BUILD: [&str; 3] = [
    r#"id: read, tools: [Read], exit: [{condition: 'file_read("spec.md")'}]"#,
    r#"id: build, tools: [Edit, Bash], exit: [{condition: 'command_matches("^npm test")'}]"#,
    "id: done, terminal: true",
];

#[test]
fn a_sound_workflow_has_no_findings() {
    for stages in [
        &READ_THEN_BUILD[..],
        &["id: only"],
        &["id: only, tools: [Read]", "id: next, tools: [Read, Edit]"],
        &["id: a, tools: ['*'], checks: [{command_matches: '^ls', message: m}]", "id: b, terminal: true"],
        &["id: a, tools: [Read]", "id: b, approval: {message: m}", "id: c, tools: [Edit]"],
        &[r#"id: a, entry: [{condition: 'file_read("x")'}], tools: [Edit]"#, "id: b, tools: [Bash]"],
        &[
            r#"id: a, entry: [{condition: 'mcp_result_matches("ci", "state", "up")'}], tools: [Edit], exit: [{condition: 'mcp_result_matches("ci", "tests", "pass")'}]"#,
            "id: b, tools: [Bash]",
        ],
        &[r#"id: a, tools: [Edit], exit: [{condition: 'exec("true")'}]"#, "id: b, tools: [Bash]"],
    ] {
        assert_eq!(told(stages, &[]), "", "{stages:?}");
    }
}

#[test]
fn evidence_that_no_open_tool_gives_is_told_with_the_stage_it_locks() {
    insta::assert_snapshot!(told(&[
        r#"id: plan, tools: [Edit], exit: [{condition: 'file_read("spec.md")'}]"#,
        "id: build, tools: [Bash]",
        "id: ship, tools: [Deploy]",
    ], &[]), @r#"
    stage-trap at stage 1: a session that reaches stage `plan` can never leave it: `file_read("spec.md")` can never hold here
      try: add a tool that reads files, such as `Read`, to the tools of `plan`
    dead-evidence at stage 1: `file_read("spec.md")` can never hold: no tool open in `plan` reads files
      try: add a tool that reads files, such as `Read`, to the tools of `plan`
    dead-stage at stage 2: no session can reach stages `build`, `ship`: no session ever leaves `plan`
      try: make it possible to leave `plan`, or take out what comes after it
    "#);
    insta::assert_snapshot!(told(&[
        r#"id: plan, tools: [Read], exit: [{condition: 'command_matches("^make")'}]"#,
        "id: build, tools: [Bash]",
    ], &[]), @r#"
    stage-trap at stage 1: a session that reaches stage `plan` can never leave it: `command_matches("^make")` can never hold here
      try: add a tool that runs commands, such as `Bash`, to the tools of `plan`
    dead-evidence at stage 1: `command_matches("^make")` can never hold: no tool open in `plan` runs commands
      try: add a tool that runs commands, such as `Bash`, to the tools of `plan`
    dead-stage at stage 2: no session can reach stage `build`: no session ever leaves `plan`
      try: make it possible to leave `plan`, or take out what comes after it
    "#);
    insta::assert_snapshot!(told(&[
        r#"id: plan, tools: [Bash], checks: [{command_not_matches: '^make', message: m}], exit: [{condition: 'command_matches("^make")'}]"#,
        "id: build, tools: [Edit]",
    ], &[]), @r#"
    stage-trap at stage 1: a session that reaches stage `plan` can never leave it: `command_matches("^make")` can never hold here
      try: take out the check, or the condition
    dead-evidence at stage 1: `command_matches("^make")` can never hold: a check of `plan` refuses every command that matches
      try: take out the check, or the condition
    dead-stage at stage 2: no session can reach stage `build`: no session ever leaves `plan`
      try: make it possible to leave `plan`, or take out what comes after it
    "#);
    insta::assert_snapshot!(told(&[
        "id: plan, tools: [Read]",
        r#"id: build, tools: [Bash], exit: [{condition: 'mcp_result_matches("ci", "state", "ok")'}]"#,
        "id: ship, tools: [Edit]",
    ], &[]), @r#"
    stage-trap at stage 2: a session that reaches stage `build` can never leave it: `mcp_result_matches("ci", "state", "ok")` can never hold here
      try: add `ci` to the tools of `build`
    dead-evidence at stage 2: `mcp_result_matches("ci", "state", "ok")` can never hold: `ci` is not open in `build` or before
      try: add `ci` to the tools of `build`
    dead-stage at stage 3: no session can reach stage `ship`: no session ever leaves `build`
      try: make it possible to leave `build`, or take out what comes after it
    "#);
}

#[test]
fn a_rule_that_blocks_the_only_tool_is_named_with_its_place() {
    insta::assert_snapshot!(told(&READ_THEN_BUILD, &[("ops.rules", "limit x to 1 per session\nblock Read\n")]), @r#"
    stage-trap at stage 1: a session that reaches stage `read` can never leave it: `file_read("spec.md")` can never hold here
      try: open the tool, or ask for something that can be shown without it
    dead-evidence at stage 1: `file_read("spec.md")` can never hold: `Read` is blocked by `block-Read` (ops.rules:2), and no other tool open in `read` reads files
      try: open the tool, or ask for something that can be shown without it
    dead-stage at stage 2: no session can reach stages `build`, `done`: no session ever leaves `read`
      try: make it possible to leave `read`, or take out what comes after it
    "#);
    insta::assert_snapshot!(told(&READ_THEN_BUILD, &[("ops.yaml", "rules:\n  - {id: no-shell, when: {tool: Bash}, then: block}\n")]), @r#"
    stage-trap at stage 2: a session that reaches stage `build` can never leave it: `command_matches("^npm test")` can never hold here
      try: open the tool, or ask for something that can be shown without it
    dead-evidence at stage 2: `command_matches("^npm test")` can never hold: `Bash` is blocked by `no-shell` (ops.yaml:2), and no other tool of `build` runs commands
      try: open the tool, or ask for something that can be shown without it
    dead-stage at stage 3: no session can reach stage `done`: no session ever leaves `build`
      try: make it possible to leave `build`, or take out what comes after it
    "#);
    insta::assert_snapshot!(told(&READ_THEN_BUILD, &[("ops.yaml", "default_verdict: block\nrules:\n  - {id: read, when: {tool: Read}, then: allow}\n")]), @r#"
    stage-trap at stage 2: a session that reaches stage `build` can never leave it: `command_matches("^npm test")` can never hold here
      try: open the tool, or ask for something that can be shown without it
    dead-evidence at stage 2: `command_matches("^npm test")` can never hold: `Bash` is blocked by `__default__` (ops.yaml:1), and no other tool of `build` runs commands
      try: open the tool, or ask for something that can be shown without it
    dead-stage at stage 3: no session can reach stage `done`: no session ever leaves `build`
      try: make it possible to leave `build`, or take out what comes after it
    "#);
}

#[test]
fn a_tool_that_is_blocked_only_sometimes_is_not_blocked_for_good() {
    for (name, text) in [
        ("o.rules", "observe block Read"),
        ("o.rules", "map Read.file_path secret as look\nblock look\nblock Read"),
        ("o.rules", "block read"),
        ("o.rules", "block Read.all"),
        ("o.rules", "require human-approval before Read"),
        (
            "o.yaml",
            "rules:\n  - {id: r, when: {tool: Read, args: {file_path: {contains: x}}}, then: block}\n",
        ),
        ("o.yaml", "rules:\n  - {id: r, when: {tool: Read}, then: ask}\n"),
        ("o.yaml", "default_verdict: block\nrules:\n  - {id: r, when: {tool: '*'}, then: allow}\n"),
    ] {
        let sources = [file(&READ_THEN_BUILD), Source::new(name, text)];
        let (policy, mistakes) = lockgate_languages::read(&sources);
        let policy = policy.unwrap_or_else(|| panic!("{text}: {mistakes:?}"));
        assert!(policy.blocker("Read").is_none(), "{text}");
    }
}

#[test]
fn a_stage_that_no_call_ends_is_a_trap() {
    for (stages, why) in [
        (&["id: a, tools: ['*']", "id: b, tools: [Bash]"], "every call belongs to `a`"),
        (&["id: a", "id: b, tools: [Bash]"], "every call belongs to `a`"),
        (
            &["id: a, tools: ['*'], approval: {message: m}", "id: b, terminal: true"],
            "every call belongs to `a`",
        ),
        (
            &["id: a, tools: ['*'], checks: [{command_not_matches: x, message: m}]", "id: b, tools: [Bash]"],
            "every call belongs to `a`",
        ),
        (&["id: a, tools: [Read]", "id: b, approval: {message: m}"], "no stage after it takes calls"),
        (&["id: a, tools: ['mcp__*']", "id: b, tools: [Bash]"], "`mcp__*` stands for many tools"),
        (&["id: a, tools: [Read, Bash]", "id: b, tools: [Bash]"], "every tool of `b` is open in `a` as well"),
    ] {
        let told = told(stages, &[]);
        let trap =
            format!("stage-trap at stage 1: a session that reaches stage `a` can never leave it: {why}");
        assert!(told.contains(&trap), "{stages:?}: {told}");
        assert!(told.contains("dead-stage at stage 2: no session can reach stage `b`"), "{told}");
    }
}

#[test]
fn an_approval_of_a_line_that_is_crossed_on_the_way_is_no_trap() {
    insta::assert_snapshot!(told(&[
        "id: a, tools: [Read]",
        "id: review, approval: {message: m}",
        r#"id: c, entry: [{condition: 'approval("review")'}], tools: [Bash]"#,
    ], &[]), @"");
}

#[test]
fn a_stage_whose_tools_are_all_blocked_is_told() {
    let stages = ["id: a, tools: [Read], approval: {message: m}", "id: b, tools: [Bash]"];
    insta::assert_snapshot!(told(&stages, &[("ops.rules", "block Read")]), @r#"
    closed-stage at stage 1: no tool can ever be called in stage `a`: `Read` is blocked by `block-Read` (ops.rules:1)
      try: open one of its tools, or take out the stage
    "#);
    let all: String = (0..5).map(|n| format!("block t{n}\n")).collect();
    let stages = ["id: a, tools: [t0, t1, t2, t3, t4], approval: {message: m}", "id: b, tools: [Bash]"];
    insta::assert_snapshot!(told(&stages, &[("ops.rules", &all)]), @r#"
    closed-stage at stage 1: no tool can ever be called in stage `a`: `t0` is blocked by `block-t0` (ops.rules:1), `t1` is blocked by `block-t1` (ops.rules:2), `t2` is blocked by `block-t2` (ops.rules:3), 2 more are blocked as well
      try: open one of its tools, or take out the stage
    "#);
}

#[test]
fn a_first_stage_that_can_never_begin_is_dead() {
    let stages = [
        r#"id: a, entry: [{condition: 'mcp_result_matches("ci", "state", "ok")'}], tools: [Read]"#,
        "id: b, tools: [Bash]",
    ];
    insta::assert_snapshot!(told(&stages, &[("ops.rules", "block ci")]), @r#"
    dead-stage at stage 1: no session can reach stages `a`, `b`: the entry of `a` can never be met
      try: ask for something else before `a`
    dead-evidence at stage 1: `mcp_result_matches("ci", "state", "ok")` can never hold: `ci` is blocked by `block-ci` (ops.rules:1)
      try: open the tool, or ask for something that can be shown without it
    "#);
}

#[test]
fn before_the_first_stage_only_what_its_entry_asks_for_can_be_read() {
    for (asked_later, is_sound) in
        [("spec.md", false), ("readme.md", true), ("/x/README.md", true), ("x/..", true)]
    {
        let first = format!(
            r#"id: a, entry: [{{condition: 'file_read("README.md")'}}], tools: [Edit], exit: [{{condition: 'file_read("{asked_later}")'}}]"#
        );
        assert_eq!(told(&[&first, "id: b, tools: [Bash]"], &[]).is_empty(), is_sound, "{asked_later}");
    }
}

#[test]
fn a_workflow_too_large_for_a_net_is_not_decided() {
    // 34 files asked for in each of 64 stages, each readable in every stage before: over 65,536 transitions.
    let stage = |at: usize| {
        let exit: Vec<String> =
            (0..34).map(|n| format!("{{condition: 'file_read(\"{at}/{n}\")'}}")).collect();
        format!("id: s{at}, tools: [Read], exit: [{}]", exit.join(", "))
    };
    for (stages, is_decided) in [(60, true), (64, false)] {
        let stages: Vec<String> = (0..stages).map(stage).collect();
        let policy = policy_of(&[file(&stages)]).unwrap();
        let (reports, findings) = verify(&policy);
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if is_decided { vec![] } else { vec!["undecided"] });
        assert!(!reports[0].is_exact);
    }
}

#[test]
fn states_beyond_counting_are_at_least_so_many() {
    let exit: Vec<String> = (0..64).map(|n| format!("{{condition: 'file_read(\"{n}\")'}}")).collect();
    for (asked, states) in [(63, Some((1_u64 << 63) + 1)), (64, None)] {
        let first = format!("id: a, tools: [Read], exit: [{}]", exit[..asked].join(", "));
        let (reports, _) = verify(&policy_of(&[file(&[&first, "id: b, tools: [Bash]"])]).unwrap());
        assert_eq!((reports[0].states, reports[0].is_exact), (states.unwrap_or(u64::MAX), states.is_some()));
    }
}

#[test]
fn the_net_of_a_workflow_reads_like_the_workflow() {
    let policy = policy_of(&[file(&[
        r#"id: plan, entry: [{condition: 'file_read("a.md")'}], tools: [Read], exit: [{condition: 'file_read("b.md")'}]"#,
        r#"id: build, tools: [Bash], exit: [{condition: 'command_not_matches("rm")'}, {condition: 'command_matches("^make")'}], approval: {message: m}"#,
        r#"id: ship, entry: [{condition: 'stage_complete("plan")'}], tools: [Bash, ci], exit: [{condition: 'mcp_result_matches("ci", "state", "ok")'}]"#,
    ])])
    .unwrap();
    let drawn = workflow_net(&policy.workflows()[0], &|_| false).unwrap();
    let net = drawn.net();
    let names = |arcs: &[(PlaceId, u64)]| {
        arcs.iter().map(|(place, _)| net.place_name(*place)).collect::<Vec<_>>().join(" + ")
    };
    let line = |transition| {
        let (takes, puts) = (names(net.inputs(transition)), names(net.outputs(transition)));
        format!("{}: {takes} ⇒ {puts}\n", net.transition_name(transition))
    };
    insta::assert_snapshot!(net.transitions().map(line).collect::<String>(), @r#"
    read a.md before plan: before plan + no file_read("a.md") ⇒ before plan + file_read("a.md")
    read b.md in plan: in plan + no file_read("b.md") ⇒ in plan + file_read("b.md")
    run forbidden rm in build: in build + build: command_not_matches("rm") ⇒ in build
    run ^make in build: in build + no build: command_matches("^make") ⇒ in build + build: command_matches("^make")
    result of ci with "state" = "ok" in ship: in ship + no mcp_result_matches("ci", "state", "ok") ⇒ in ship + mcp_result_matches("ci", "state", "ok")
    approve build: in build + no approved build ⇒ in build + approved build
    enter plan: before plan + file_read("a.md") ⇒ in plan + file_read("a.md")
    advance plan → build: in plan + file_read("b.md") ⇒ completed plan + in build + file_read("b.md")
    advance build → ship: completed plan + in build + build: command_not_matches("rm") + build: command_matches("^make") + approved build ⇒ completed plan + completed build + in ship + build: command_not_matches("rm") + build: command_matches("^make") + approved build
    finish ship: in ship + mcp_result_matches("ci", "state", "ok") ⇒ completed ship + finished + mcp_result_matches("ci", "state", "ok")
    "#);
}

const TOOLS: [&str; 6] = ["Read", "Bash", "Edit", "ci", "'mcp__*'", "'*'"];
const CONDITIONS: [&str; 8] = [
    r#"file_read("a")"#,
    r#"file_read("b")"#,
    r#"command_matches("^make")"#,
    r#"command_not_matches("rm")"#,
    r#"mcp_result_matches("ci", "state", "ok")"#,
    r#"approval("s1")"#,
    r#"stage_complete("s0")"#,
    r#"exec("true")"#,
];
const CHECKS: [&str; 3] =
    ["command_matches: '^make'", "command_not_matches: rm", "command_not_matches: '^make'"];
const BLOCKS: [&str; 4] = ["block Read", "block Bash", "block ci", "block Edit"];

fn stage() -> impl Strategy<Value = String> {
    let conditions = || subsequence(CONDITIONS.to_vec(), 0..3);
    let tools = proptest::option::of(subsequence(TOOLS.to_vec(), 1..3));
    (tools, subsequence(CHECKS.to_vec(), 0..2), conditions(), conditions(), any::<[bool; 4]>()).prop_map(
        |(tools, checks, entry, exit, [approval, has_entry, no_checks, terminal])| {
            let mut parts = Vec::new();
            parts.extend(tools.map(|tools| format!("tools: [{}]", tools.join(", "))));
            let list = |key: &str, items: Vec<String>| {
                (!items.is_empty()).then(|| format!("{key}: [{}]", items.join(", ")))
            };
            let checks = checks.iter().filter(|_| !no_checks);
            parts.extend(list("checks", checks.map(|check| format!("{{{check}, message: m}}")).collect()));
            let gates = |list: Vec<&str>| list.iter().map(|it| format!("{{condition: '{it}'}}")).collect();
            parts.extend(list("entry", gates(entry)).filter(|_| has_entry));
            parts.extend(list("exit", gates(exit)));
            parts.extend(approval.then(|| "approval: {message: m}".to_owned()));
            parts.extend(terminal.then(|| "terminal: true".to_owned()));
            parts.join(", ")
        },
    )
}

/// Workflows of up to four stages that load, and rules beside them.
fn policies() -> impl Strategy<Value = Policy> {
    let parts = (proptest::collection::vec(stage(), 2..5), subsequence(BLOCKS.to_vec(), 0..2));
    parts.prop_filter_map("does not load", |(stages, blocks)| {
        let stages: Vec<String> = stages
            .iter()
            .enumerate()
            .map(
                |(at, stage)| {
                    if stage.is_empty() { format!("id: s{at}") } else { format!("id: s{at}, {stage}") }
                },
            )
            .collect();
        policy_of(&[file(&stages), Source::new("o.rules", blocks.join("\n"))])
    })
}

fn call() -> impl Strategy<Value = Call> {
    let bash = |command: &str| Call::new("s", "Bash").with("command", command);
    let calls = vec![
        Call::new("s", "Read").with("file_path", "a"),
        Call::new("s", "Read").with("file_path", "b"),
        bash("make"),
        bash("rm x"),
        bash("ls"),
        bash("cat a"),
        Call::new("s", "Edit").with("file_path", "a"),
        Call::new("s", "ci"),
        Call::new("s", "mcp__x"),
        Call::new("s", "other"),
    ];
    proptest::sample::select(calls)
}

/// One call and all that follows if everything goes well and every human agrees.
fn go_on(workflow: &Workflow, policy: &Policy, progress: &mut Progress, call: &Call) {
    let mut ran = Ran::default();
    for _ in 0..20 {
        let call = call.clone().into();
        let sight = Sight::of(&call, lockgate_call::ScriptFields::Customary);
        let considered = workflow.consider(progress, &sight, &ran);
        match considered.outcome {
            Outcome::Runs(exec) => ran.took(exec.clone(), Ok(exec.exit_code)),
            Outcome::Asks { stage, .. } => {
                *progress = progress.after(&considered.steps).after(&[Step::Approved { stage }]);
            }
            Outcome::Blocked { .. } => return *progress = progress.after(&considered.steps),
            Outcome::Accepted { stage } => {
                *progress = progress.after(&considered.steps);
                if policy.blocker(&call.tool).is_some() {
                    return;
                }
                let earned = workflow.earned(progress, &stage, &sight);
                *progress = progress.after(&[Step::Spoiled { keys: earned.spoiled }]);
                let output = serde_json::json!({"state": "ok"});
                let steps = workflow.succeed(progress, &earned.shown, Some(&output), Time(0));
                return *progress = progress.after(&steps);
            }
        }
    }
}

proptest! {
    #[test]
    fn the_states_of_a_workflow_are_counted_right_and_no_place_holds_two_tokens(policy in policies()) {
        let workflow = &policy.workflows()[0];
        let drawn = workflow_net(workflow, &|tool| policy.blocker(tool).is_some()).unwrap();
        let space = explore(drawn.net(), Limits { states_max: 100_000, depth_max: 100_000 });
        prop_assert!(space.is_complete());
        let walk = Walk::new(workflow, &drawn);
        prop_assert_eq!((walk.states, walk.is_exact), (space.states() as u64, true));
        prop_assert!(drawn.net().places().all(|place| space.bound(place) <= Some(1)));
        for (at, stage) in workflow.stages.iter().enumerate() {
            let bound = drawn.net().place(&active(&stage.id)).and_then(|place| space.bound(place));
            prop_assert_eq!(bound == Some(1), walk.reached.contains(&at), "{}", stage.id);
        }
    }

    #[test]
    fn no_session_reaches_what_the_proof_calls_dead(policy in policies(), calls in proptest::collection::vec(call(), 0..40)) {
        let workflow = &policy.workflows()[0];
        let drawn = workflow_net(workflow, &|tool| policy.blocker(tool).is_some()).unwrap();
        let reached = Walk::new(workflow, &drawn).reached;
        let mut progress = Progress::default().after(&workflow.meet(None, None));
        for call in &calls {
            go_on(workflow, &policy, &mut progress, call);
            let at = workflow.find(&progress.active_stage).map(|(at, _)| at);
            // Before its entry is met, the first stage is the active one without having begun.
            let is_expected = at.is_none_or(|at| at == 0 || reached.contains(&at));
            prop_assert!(is_expected, "{} by {:?}", progress.active_stage, calls);
        }
    }
}
