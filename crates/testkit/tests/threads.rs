//! Many threads at one gate: a decision and its commit are one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::{sync::Barrier, thread};

use lockgate::{Call, Decision, Gate, Policy, Source, Time};

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
    let gate = Gate::new(lockgate::rules("limit a to 100 per session").unwrap());
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
    let gate = Gate::new(lockgate::rules("require human-approval before deploy").unwrap());
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
    let gate = Gate::new(lockgate::rules("block rm").unwrap());
    for round in 0..50 {
        let call = Call::new(format!("{round}"), "ls");
        let passed = at_once(4, |_| gate.call(&call).lets_pass());
        assert_eq!(passed.iter().filter(|passed| **passed).count(), 1, "round {round}");
    }
}

/// A gate under when/then rules.
fn when_then(text: &str) -> Gate {
    Gate::new(Policy::read(&[Source::new("policy.yaml", text)]).0.unwrap())
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
    Gate::new(Policy::read(&[source]).0.unwrap())
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
