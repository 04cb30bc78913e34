//! What the runner answers is what the rules say.

use lockgate_peers::{
    ask::{Asker, run},
    job::{Answer, Earlier, Task, Told},
    work::{Language, Work, request},
};

const RUNNER: &str = env!("CARGO_BIN_EXE_dogwood-runner");

#[test]
fn every_work_that_can_be_said_is_decided_as_it_must_be() {
    for work in Work::ALL {
        let asker = Asker::new(RUNNER, Language::Dogwood, work, 4);
        assert_eq!(asker.is_some(), work != Work::Regex, "{work:?}");
        let Some(asker) = asker else { continue };
        for task in [Task::Commit, Task::Recall, Task::Store] {
            let verdict = asker.verdict(task, work.earlier(4), work.call(4));
            assert_eq!(verdict, Some(work.expect()), "{work:?} {task:?}");
        }
    }
}

#[test]
fn a_word_that_a_rule_looks_for_is_blocked() {
    let table = [
        (Work::One, "tool_3", "x; drop table t3; y", Told::Block),
        (Work::One, "tool_3", "x; drop table t2; y", Told::Allow),
        (Work::Contains, "exec", "drop table t0;", Told::Block),
        (Work::Contains, "exec", "drop table t4;", Told::Allow),
    ];
    for (work, tool, command, verdict) in table {
        let asker = Asker::new(RUNNER, Language::Dogwood, work, 4).unwrap();
        let call = request(tool, "command", command);
        assert_eq!(asker.verdict(Task::Commit, Vec::new(), call), Some(verdict), "{work:?} {tool} {command}");
    }
}

#[test]
fn a_deletion_waits_for_its_own_backup() {
    let table = [
        (None, Told::Block),
        (Some(("backup_3", 1)), Told::Allow),
        (Some(("backup_3", 300)), Told::Allow),
        (Some(("backup_2", 300)), Told::Block),
    ];
    let asker = Asker::new(RUNNER, Language::Dogwood, Work::Sequence, 4).unwrap();
    for (before, verdict) in table {
        let earlier =
            before.map(|(tool, times)| Earlier { call: request(tool, "path", "/srv/data/old.db"), times });
        let tasks = [Task::Commit, Task::Recall, Task::Store];
        // Three hundred backups on disk are slow, and what is on disk is decided by the same engine.
        for task in
            tasks.into_iter().filter(|task| *task != Task::Store || before.is_none_or(|(_, times)| times < 9))
        {
            let told = asker.verdict(task, Vec::from_iter(earlier.clone()), Work::Sequence.call(4));
            assert_eq!(told, Some(verdict), "{before:?} {task:?}");
        }
    }
}

#[test]
fn there_is_no_decision_without_a_trace() {
    let asker = Asker::new(RUNNER, Language::Dogwood, Work::None, 4).unwrap();
    let answer = asker.ask(Task::Judge, Vec::new(), Work::None.call(4));
    assert!(matches!(answer, Answer::Cannot { .. }), "{answer:?}");
}

#[test]
fn the_release_that_is_told_is_the_one_that_is_built_in() {
    let asker = Asker::new(RUNNER, Language::Dogwood, Work::None, 4).unwrap();
    let Answer::Done(done) = asker.ask(Task::Commit, Vec::new(), Work::None.call(4)) else { panic!() };
    let pinned = format!("dogwood-local-engine = \"={}\"", done.version);
    assert!(include_str!("../Cargo.toml").contains(&pinned), "{pinned}");
}

#[test]
fn a_store_is_gone_when_the_job_is_done() {
    let asker = Asker::new(RUNNER, Language::Dogwood, Work::Sequence, 4).unwrap();
    asker.ask(Task::Store, Work::Sequence.earlier(4), Work::Sequence.call(4));
    let names = std::fs::read_dir(asker.folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names = Vec::from_iter(names);
    names.sort();
    assert_eq!(names, ["policy.dogwood", "tools.cedarschema"]);
}

#[test]
fn a_job_that_cannot_be_done_is_no_figure() {
    let asker = Asker::new(RUNNER, Language::Dogwood, Work::Sequence, 4).unwrap();
    let (policy, schema) = (asker.folder().join("policy.dogwood"), asker.folder().join("tools.cedarschema"));
    let job = |files: &[_], call: &str| {
        format!(r#"{{"task":"commit","files":{files:?},"call":{call},"budget_ms":1}}"#)
    };
    let unknown = r#"{"tool":"format_disk","input":{"path":"/"}}"#;
    let earlier = r#"[{"call":{"tool":"delete_3","input":{"path":"/"}},"times":1}]"#;
    let table = [
        (String::from("nonsense"), "stdin holds no job"),
        (job(&[&policy], "null"), "no call to decide"),
        (job(&[&policy], unknown), "`.cedarschema`"),
        (job(&[&schema], unknown), "`.dogwood`"),
        (job(&[&policy, &schema], r#"{"tool":"delete_3","input":{"path":1}}"#), "is not a text"),
        (
            job(&[&policy, &schema], unknown)
                .replace(r#""budget_ms""#, &format!(r#""earlier":{earlier},"budget_ms""#)),
            "the earlier call of `delete_3` is not allowed",
        ),
    ];
    for (line, reason) in table {
        let (is_done, told, said) = run(RUNNER, &line);
        assert!(!is_done && told.is_empty() && said.contains(reason), "{line}: {told} {said}");
    }
}
