//! Many threads at one gate: a decision and its commit are one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use std::{sync::Barrier, thread};

use lockgate::{Call, Decision, Gate, Time};

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
