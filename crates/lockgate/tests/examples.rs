//! The examples do what they say: each session is kept whole, and each has a table of calls that try to get by.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]
#![expect(clippy::duplicate_mod, reason = "each example brings what it shows its session with")]

use lockgate::{Call, Decision, Gate, Nobody, Outcome};
use serde_json::{Value, json};

#[expect(dead_code, reason = "`main` is the example's")]
#[path = "../examples/git_flow.rs"]
mod git_flow;
#[expect(dead_code, reason = "`main` is the example's")]
#[path = "../examples/smart_backup.rs"]
mod smart_backup;
#[expect(dead_code, reason = "`main` is the example's")]
#[path = "../examples/write_path_guard.rs"]
mod write_path_guard;

#[test]
fn the_write_path_guard_keeps_writes_under_a_folder() {
    insta::assert_snapshot!(write_path_guard::session().unwrap(), @r#"
    allow  read {"path":"/etc/passwd"}
    allow  write {"path":"src/main.rs"}
    block  write {"path":"/etc/passwd"}
           `/etc/passwd` is outside of `src`: write inside of it
    block  edit {"path":"src/../../.ssh/config"}
           `src/../../.ssh/config` is outside of `src`: write inside of it
    block  write {"path":"srcs/main.rs"}
           `srcs/main.rs` is outside of `src`: write inside of it
    block  write {"file":"src/main.rs"}
           say which file, in `path`
    "#);
}

#[test]
fn no_spelling_of_a_path_leads_out_of_the_folder() {
    let rows = [
        (json!("src/a/../b.rs"), true),
        (json!("./src//b.rs"), true),
        (json!("src"), true),
        (json!("src/.."), false),
        (json!("src/../src2/x"), false),
        (json!("~/src/x"), false),
        (json!("src/a\u{0}/../../x"), false),
        (json!(""), false),
        (json!(["src/a"]), false),
        (json!(null), false),
    ];
    for (path, passes) in rows {
        let call = Call::new("1", "write").with("path", path.clone());
        let verdict = write_path_guard::gate("src").unwrap().call(&call);
        assert_eq!(verdict.lets_pass(), passes, "{path}");
    }
}

#[test]
fn git_flow_pushes_only_what_was_committed() {
    insta::assert_snapshot!(git_flow::session().unwrap(), @r#"
    allow  bash {"command":"cargo test"}
    block  bash {"command":"git push"}
           Tool 'git-push' is not available in the current state.
    allow  bash {"command":"echo git commit"}
    block  bash {"command":"cargo fmt && git push origin main"}
           Tool 'git-push' is not available in the current state.
    allow  bash {"command":"git commit -m 'half done'"}  (and fails)
    block  bash {"command":"git push"}
           Tool 'git-push' is not available in the current state.
    allow  bash {"command":"git commit -m done"}
    allow  bash {"command":"git push"}
    block  bash {"command":"git push"}
           Tool 'git-push' is not available in the current state.
    allow  bash {"command":"git commit -am again"}
    block  bash {"command":"git push --force"}
           git-push was rejected by human review.
    "#);
}

#[test]
fn no_script_hides_a_push_or_feigns_a_commit() {
    let pushes = [
        "git push",
        "git add . ; git push",
        "sh -c 'git push'",
        "git -C x push",
        "echo $(git push)",
        "$x push",
    ];
    for command in pushes {
        let verdict = git_flow::gate().unwrap().call(&bash("1", command));
        assert_eq!(verdict.decision, Decision::Block, "{command}");
    }
    for command in ["echo 'git commit'", "# git commit", "$do commit"] {
        let gate = git_flow::gate().unwrap();
        run(&gate, &bash("1", command));
        assert_eq!(gate.call(&bash("2", "git push")).decision, Decision::Block, "{command}");
    }
}

#[test]
fn a_smart_backup_covers_what_it_names_and_is_used_up() {
    insta::assert_snapshot!(smart_backup::session().unwrap(), @r#"
    block  destroy {"path":"/data/old"}
           Tool 'destroy' is not available in the current state.
    block  backup {"path":"data"}
           say which folder, as an absolute path in `path`
    allow  backup {"path":"/data"}  (and fails)
    block  destroy {"path":"/data/old"}
           Tool 'destroy' is not available in the current state.
    allow  backup {"path":"/data"}
    block  destroy {"path":"/logs"}
           `/logs` is not covered by any backup: there are backups of /data
    block  destroy {"path":"/data/../logs"}
           `/data/../logs` is not covered by any backup: there are backups of /data
    allow  destroy {"path":"/data/old"}
    block  destroy {"path":"/data/new"}
           Tool 'destroy' is not available in the current state.
    allow  backup {"path":"/data/new"}
    allow  backup {"path":"/logs"}
    allow  destroy {"path":"/logs"}  (and fails)
    block  destroy {"path":"/logs"}
           `/logs` is not covered by any backup: there are backups of /data/new
    allow  destroy {"path":"/data/new"}
    "#);
}

#[test]
fn two_destructions_at_once_need_two_backups() {
    let gate = smart_backup::gate().unwrap();
    run(&gate, &Call::new("1", "backup").with("path", "/data"));
    let destroy = |id| Call::new(id, "destroy").with("path", "/data/x");
    assert!(gate.call(&destroy("2")).lets_pass());
    assert!(!gate.call(&destroy("3")).lets_pass());
}

#[test]
fn a_refused_destruction_leaves_its_backup_alone() {
    let gate = smart_backup::gate().unwrap();
    run(&gate, &Call::new("1", "backup").with("path", "/data"));
    assert!(!gate.call(&Call::new("2", "destroy").with("path", "/logs")).lets_pass());
    let rule = gate.policy().rule_named("smart-backup").unwrap().id;
    let session = gate.session("default").unwrap();
    assert_eq!(session.notes(rule).and_then(|notes| notes.get("covered")), Some(&json!(["/data"])));
}

fn bash(id: &str, command: &str) -> Call {
    Call::new(id, "bash").with("command", Value::from(command))
}

/// Calls, and reports success if the call may run.
fn run(gate: &Gate, call: &Call) {
    if gate.call_with(call, &mut Nobody).lets_pass() {
        let outcome =
            Outcome { session: call.session.clone(), id: call.id.clone(), ok: true, ..Outcome::default() };
        gate.result(&outcome).unwrap();
    }
}
