//! Many threads at one gate: a decision and its commit are one.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests may stop a test"
)]

use std::{sync::Barrier, thread};

use lockgate::engine::{Call, Decision, Gate, Outcome, Source, Time, policy::workflow::OperatorMove};
use lockgate_testkit::records::{Action, RecordingStore};

/// What each of `count` threads answers, all started at once.
fn at_once<T: Send>(count: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(count);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (start, act) = (&start, &act);
                scope.spawn(move || {
                    start.wait();
                    act(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_budget_is_spent_once_however_many_threads_call() {
    let gate = Gate::new(lockgate::Policy::rules("limit a to 100 per session").unwrap());
    let passed = at_once(8, |thread| {
        let calls = (0..200).map(|number| Call::new(format!("{thread}-{number}"), "a").in_session("one"));
        calls.filter(|call| gate.call(call).lets_pass()).count()
    });
    assert_eq!(passed.iter().sum::<usize>(), 100, "{passed:?}");
    let counts = gate.session("one").unwrap().counts();
    assert_eq!((counts.attempts, counts.tool_calls), (1_600, 100));
}

#[test]
fn of_two_answers_to_one_question_exactly_one_counts() {
    let gate = Gate::new(lockgate::Policy::rules("require human-approval before deploy").unwrap());
    for round in 0..200 {
        let asked = gate.call(&Call::new(format!("{round}"), "deploy"));
        let approval = asked.approval.unwrap();
        let answers = at_once(2, |thread| gate.answer(&approval, thread == 0, Time(0)));
        let counted: Vec<_> =
            answers.iter().map(|answer| answer.as_ref().ok().map(|it| it.decision)).collect();
        assert!(
            counted == [Some(Decision::Allow), None] || counted == [None, Some(Decision::Block)],
            "round {round}: {answers:?}"
        );
    }
}

#[test]
fn one_id_runs_once_however_many_threads_use_it() {
    let gate = Gate::new(lockgate::Policy::rules("block rm").unwrap());
    for round in 0..50 {
        let call = Call::new(format!("{round}"), "ls");
        let passed = at_once(4, |_| gate.call(&call).lets_pass());
        assert_eq!(passed.iter().filter(|passed| **passed).count(), 1, "round {round}");
    }
}

/// A gate under when/then rules.
fn when_then(text: &str) -> Gate {
    Gate::new(lockgate::engine::languages::read(&[Source::new("policy.yaml", text)]).0.unwrap())
}

/// How many of 60 calls at once are let pass, the session of each chosen by its number.
fn passed_of_60(gate: &Gate, round: u64, session: impl Fn(usize) -> String + Sync) -> usize {
    let passed = at_once(60, |number| {
        let call = Call::new(format!("{round}-{number}"), "exec").in_session(session(number));
        // The clock of each thread is a little off, as clocks are.
        gate.call(&call.at(Time(1_000_000 + number as u64 % 7))).lets_pass()
    });
    passed.into_iter().filter(|passed| *passed).count()
}

#[test]
fn sixty_calls_at_once_pass_a_limit_no_more_often_than_it_says() {
    let rules = |rule: &str| format!("rules: [{{id: r, when: {{tool: exec, {rule}}}, then: block}}]");
    let storm = rules("chain: [{tool: exec, within_seconds: 10, min_count: 5}]");
    let ordered = rules("chain: {ordered: true, steps: [{tool: exec, within_seconds: 10, min_count: 5}]}");
    let quota = rules("session: {total_calls: {gte: 3}}");
    let of_tool = rules("session: {tool_count.exec: {gte: 4}}");
    let rate = "rate_limits: [{tool: exec, max_calls: 7, window_seconds: 10}]".to_owned();
    let table = [
        ("storm", storm, 5),
        ("ordered", ordered, 5),
        ("quota", quota, 3),
        ("of tool", of_tool, 4),
        ("rate", rate, 7),
    ];
    for (name, policy, expected) in table {
        let gate = when_then(&policy);
        for round in 0..20 {
            let passed = passed_of_60(&gate, round, |_| format!("session {round}"));
            assert_eq!(passed, expected, "{name}, round {round}");
        }
    }
}

#[test]
fn sixty_sessions_at_once_pass_a_shared_limit_no_more_often_than_it_says() {
    for round in 0..20 {
        let gate =
            when_then("rate_limits: [{tool: '*', max_calls: 7, window_seconds: 10, per_session: false}]");
        assert_eq!(passed_of_60(&gate, round, |number| format!("session {number}")), 7, "round {round}");
    }
}

#[test]
fn an_answer_for_every_session_reaches_those_that_ask_at_once() {
    let gate = when_then("rules: [{id: r, when: {tool: exec}, then: approve, approval_strategy: per_rule}]");
    assert_eq!(passed_of_60(&gate, 0, |number| format!("session {number}")), 0);
    let asked = gate.call(&Call::new("first", "exec").in_session("one").at(Time(1_000_000)));
    assert!(gate.answer(&asked.approval.unwrap(), true, Time(1_000_000)).unwrap().lets_pass());
    assert_eq!(passed_of_60(&gate, 1, |number| format!("session {number}")), 60);
}

/// A gate under the rules of one ruleset.
fn ruleset(rules: &str) -> Gate {
    let head = "{apiVersion: edictum/v1, kind: Ruleset, metadata: {name: a}, defaults: {mode: enforce}";
    let source = Source::new("policy.yaml", format!("{head}, rules: [{rules}]}}"));
    Gate::new(lockgate::engine::languages::read(&[source]).0.unwrap())
}

/// A rule of a ruleset with these limits.
fn session_rule(limits: &str) -> String {
    format!("{{id: s, type: session, limits: {{{limits}}}, then: {{action: block, message: m}}}}")
}

#[test]
fn fifty_calls_at_once_pass_a_ruleset_no_more_often_than_its_limits_say() {
    // Calls of `send` and of `sort` take turns; of the tools that count, no more pass than the limit says.
    let table = [
        ("max_tool_calls: 3", "s*", 3),
        ("max_attempts: 4", "s*", 4),
        ("max_calls_per_tool: {send: 5}", "send", 5),
        ("max_calls_per_tool: {'s*': 6}", "s*", 6),
    ];
    for (limits, counted, expected) in table {
        let gate = ruleset(&session_rule(limits));
        for round in 0..20 {
            let passed = at_once(50, |number| {
                let tool = if number % 2 == 0 { "send" } else { "sort" };
                let call = Call::new(format!("{number}"), tool).in_session(format!("session {round}"));
                (tool, gate.call(&call).lets_pass())
            });
            let counts = |tool: &str| counted == "s*" || counted == tool;
            let passed = passed.iter().filter(|(tool, passed)| *passed && counts(tool)).count();
            assert_eq!(passed, expected, "{limits}, round {round}");
        }
    }
}

#[test]
fn fifty_grants_at_once_do_not_lift_a_limit() {
    let ask =
        "{id: a, type: pre, tool: send, when: {args.to: {exists: true}}, then: {action: ask, message: m}}";
    let gate = ruleset(&format!("{ask}, {}", session_rule("max_tool_calls: 3")));
    for round in 0..20 {
        let session = format!("session {round}");
        let asked = at_once(50, |number| {
            let call = Call::new(format!("{number}"), "send").with("to", number).in_session(&*session);
            gate.call(&call).approval.unwrap()
        });
        let granted = at_once(50, |number| gate.answer(&asked[number], true, Time(0)).unwrap().lets_pass());
        assert_eq!(granted.iter().filter(|passed| **passed).count(), 3, "round {round}");
    }
}

/// A gate under a workflow, and what it records.
fn workflow(stages: &str) -> (Gate, RecordingStore) {
    let head = "{apiVersion: edictum/v1, kind: Workflow, metadata: {name: work}";
    let source = Source::new("work.yaml", format!("{head}, stages: [{stages}]}}"));
    let (policy, diagnostics) = lockgate::engine::languages::read(&[source]);
    let store = RecordingStore::default();
    let gate =
        Gate::builder(policy.unwrap_or_else(|| panic!("{diagnostics:?}"))).store(store.clone()).build();
    (gate.unwrap(), store)
}

/// How often something was recorded about a session.
fn recorded((gate, store): (&Gate, &RecordingStore), session: &str, action: Action) -> usize {
    let records = store.records(gate.policy());
    records.iter().filter(|record| record.session == session && record.action == action).count()
}

/// The stage a session is in, and those it has completed.
fn stage_of(gate: &Gate, session: &str) -> (String, Vec<String>) {
    let session = gate.session(session).unwrap();
    let progress = session.progress(gate.policy().workflows()[0].id).unwrap();
    let completed = progress.completed_stages.iter().map(ToString::to_string).collect();
    (progress.active_stage.to_string(), completed)
}

const FROM_LOOKING_TO_WRITING: &str = "{id: look, tools: [Read], exit: [{condition: 'file_read(\"/a\")', message: m}]}, \
     {id: line, exit: [{condition: 'file_read(\"/a\")', message: m}]}, {id: write, tools: [Edit]}";

#[test]
fn a_stage_ends_once_however_many_calls_lead_on() {
    let (gate, store) = workflow(FROM_LOOKING_TO_WRITING);
    for round in 0..20 {
        let session = format!("session {round}");
        let read = Call::new("read", "Read").with("file_path", "/a").in_session(&*session);
        assert!(gate.call(&read).lets_pass());
        gate.result(&Outcome::success(&read)).unwrap();
        let passed = at_once(50, |number| {
            gate.call(&Call::new(format!("{number}"), "Edit").in_session(&*session)).lets_pass()
        });
        assert!(passed.iter().all(|passed| *passed), "round {round}");
        assert_eq!(recorded((&gate, &store), &session, Action::StageAdvanced), 2, "round {round}");
        assert_eq!(stage_of(&gate, &session), ("write".into(), vec!["look".into(), "line".into()]));
    }
}

#[test]
fn a_workflow_is_completed_once_however_many_results_come_at_once() {
    let (gate, store) = workflow(
        "{id: push, tools: [Bash], exit: [{condition: 'command_matches(\"^git push\")', message: m}]}",
    );
    for round in 0..20 {
        let session = format!("session {round}");
        let call = |number: usize| {
            Call::new(format!("{number}"), "Bash").with("command", "git push").in_session(&*session)
        };
        assert!(at_once(50, |number| gate.call(&call(number)).lets_pass()).iter().all(|passed| *passed));
        at_once(50, |number| gate.result(&Outcome::success(&call(number))).unwrap());
        assert_eq!(recorded((&gate, &store), &session, Action::WorkflowCompleted), 1, "round {round}");
        assert_eq!(stage_of(&gate, &session), (String::new(), vec!["push".into()]), "round {round}");
        assert!(!gate.call(&call(51)).lets_pass());
    }
}

const REVIEWED: &str = "{id: review, approval: {message: m}}, {id: send, tools: [Mail]}";

#[test]
fn of_many_answers_about_a_stage_one_ends_it_and_each_is_about_its_own_call() {
    let (gate, store) = workflow(REVIEWED);
    for round in 0..20 {
        let session = format!("session {round}");
        let asked = at_once(40, |number| {
            gate.call(&Call::new(format!("{number}"), "Mail").in_session(&*session)).approval.unwrap()
        });
        // Every second human says no.
        let passed =
            at_once(40, |number| gate.answer(&asked[number], number % 2 == 0, Time(0)).unwrap().lets_pass());
        let granted: Vec<bool> = (0..40).map(|number| number % 2 == 0).collect();
        assert_eq!(passed, granted, "round {round}");
        assert_eq!(recorded((&gate, &store), &session, Action::StageAdvanced), 1, "round {round}");
        assert_eq!(recorded((&gate, &store), &session, Action::ApprovalGranted), 20, "round {round}");
        assert_eq!(recorded((&gate, &store), &session, Action::ApprovalBlocked), 20, "round {round}");
        assert_eq!(stage_of(&gate, &session), ("send".into(), vec!["review".into()]), "round {round}");
    }
}

#[test]
fn of_many_answers_to_the_question_of_a_stage_exactly_one_counts() {
    let (gate, store) = workflow(REVIEWED);
    for round in 0..20 {
        let session = format!("session {round}");
        let approval = gate.call(&Call::new("1", "Mail").in_session(&*session)).approval.unwrap();
        let answers = at_once(20, |number| gate.answer(&approval, number % 2 == 0, Time(0)));
        let counted: Vec<_> =
            answers.iter().enumerate().filter_map(|(number, it)| Some((number, it.as_ref().ok()?))).collect();
        let [(number, verdict)] = counted.as_slice() else { panic!("round {round}: {counted:?}") };
        assert_eq!(verdict.lets_pass(), number % 2 == 0, "round {round}");
        let ended = recorded((&gate, &store), &session, Action::StageAdvanced);
        assert_eq!(ended, usize::from(verdict.lets_pass()), "round {round}");
    }
}

#[test]
fn an_answer_from_before_a_move_never_ends_the_stage_after_it() {
    let (gate, _) = workflow(REVIEWED);
    for round in 0..50 {
        let session = format!("session {round}");
        let approval = gate.call(&Call::new("1", "Mail").in_session(&*session)).approval.unwrap();
        let verdicts = at_once(2, |number| {
            if number == 0 {
                gate.move_stage(&session, "work", OperatorMove::Reset, "review", Time(0)).unwrap();
                return None;
            }
            Some(gate.answer(&approval, true, Time(0)).unwrap())
        });
        let verdict = verdicts.into_iter().flatten().next().unwrap();
        // Whoever was first, the session stands where the operator has put it: in `review`, which nobody agreed to.
        assert_eq!(stage_of(&gate, &session), ("review".into(), vec![]), "round {round}");
        assert_ne!(verdict.decision, Decision::Block, "round {round}");
        assert!(!gate.call(&Call::new("2", "Mail").in_session(&*session)).lets_pass(), "round {round}");
    }
}

#[test]
fn however_calls_results_and_moves_race_completed_is_what_comes_before_the_active_stage() {
    let (gate, _) = workflow(FROM_LOOKING_TO_WRITING);
    let stages = ["look", "line", "write"];
    for round in 0..20 {
        let session = format!("session {round}");
        at_once(12, |thread| {
            for step in 0..10 {
                let call = |tool: &str| Call::new(format!("{thread}-{step}"), tool).in_session(&*session);
                match thread {
                    0 => gate
                        .move_stage(&session, "work", OperatorMove::Set, stages[step % 3], Time(0))
                        .unwrap(),
                    1 => gate
                        .move_stage(&session, "work", OperatorMove::Reset, stages[step % 3], Time(0))
                        .unwrap(),
                    2..7 => {
                        let read = call("Read").with("file_path", "/a");
                        if gate.call(&read).lets_pass() {
                            gate.result(&Outcome::success(&read)).unwrap();
                        }
                    }
                    _ => drop(gate.call(&call("Edit"))),
                }
                let (active, completed) = stage_of(&gate, &session);
                let before: Vec<&str> = stages.into_iter().take_while(|stage| *stage != active).collect();
                assert_eq!(completed, before, "{active}");
            }
        });
    }
}
