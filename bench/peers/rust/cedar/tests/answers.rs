//! What the runner answers is what the rules say.

use lockgate_peers::{
    ask::{Asker, run},
    job::{Task, Told},
    work::{Language, Work, request},
};

const RUNNER: &str = env!("CARGO_BIN_EXE_cedar-runner");

#[test]
fn every_work_that_can_be_said_is_decided_as_it_must_be() {
    for work in Work::ALL {
        let asker = Asker::new(RUNNER, Language::Cedar, work, 4);
        assert_eq!(asker.is_some(), !matches!(work, Work::Regex | Work::Sequence), "{work:?}");
        let Some(asker) = asker else { continue };
        let verdict = asker.verdict(Task::Judge, work.earlier(4), work.call(4));
        assert_eq!(verdict, Some(work.expect()), "{work:?}");
    }
}

#[test]
fn a_word_that_a_rule_looks_for_is_blocked() {
    let table = [
        (Work::One, "tool_3", "x; drop table t3; y", Told::Block),
        (Work::One, "tool_3", "x; drop table t2; y", Told::Allow),
        (Work::One, "tool_4", "x; drop table t3; y", Told::Allow),
        (Work::Contains, "exec", "drop table t0;", Told::Block),
        (Work::Contains, "exec", "drop table t4;", Told::Allow),
    ];
    for (work, tool, command, verdict) in table {
        let asker = Asker::new(RUNNER, Language::Cedar, work, 4).unwrap();
        let call = request(tool, "command", command);
        assert_eq!(asker.verdict(Task::Judge, Vec::new(), call), Some(verdict), "{work:?} {tool} {command}");
    }
}

#[test]
fn what_was_done_before_is_not_passed_over() {
    let asker = Asker::new(RUNNER, Language::Cedar, Work::None, 4).unwrap();
    assert_eq!(asker.verdict(Task::Judge, Work::Sequence.earlier(4), Work::None.call(4)), None);
}

#[test]
fn a_job_that_cannot_be_done_is_no_figure() {
    let asker = Asker::new(RUNNER, Language::Cedar, Work::One, 4).unwrap();
    let file = asker.folder().join(Language::Cedar.file_name());
    let job = |call: &str| format!(r#"{{"task":"judge","files":[{file:?}],"call":{call},"budget_ms":1}}"#);
    let table = [
        (String::from("nonsense"), "stdin holds no job"),
        (String::from(r#"{"task":"load","files":[],"budget_ms":1}"#), "none of the job's files"),
        (job("null"), "no call to judge"),
        (job(r#"{"tool":"tool_3"}"#), "a rule could not be evaluated"),
    ];
    for (line, reason) in table {
        let (is_done, told, said) = run(RUNNER, &line);
        assert!(!is_done && told.is_empty() && said.contains(reason), "{line}: {told} {said}");
    }
}
