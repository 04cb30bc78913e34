//! A real bash says what scripts run, and none of it goes unseen.
//!
//! One test runs the same scripts every time; the other is a fuzz target, which runs new ones for as long as
//! `BOLERO_RANDOM_TEST_TIME_MS` says.
//! Where there is no bash it says so on standard error, whether or not the output of tests is shown.

#![allow(
    clippy::unwrap_used,
    clippy::explicit_write,
    reason = "helpers of tests may panic, and speak past what is kept back"
)]

use std::io::{Write, stderr};

use bolero::check;
use lockgate::engine::call::read_script;
use lockgate_testkit::bash::{Bash, script};

/// How many bytes decide about a script: more than any needs.
const BYTES_MAX: usize = 64;

#[test]
fn the_same_twenty_thousand_scripts_hide_nothing() {
    let Some(bash) = bash() else { return };
    let mut random = fastrand::Rng::with_seed(20);
    for _ in 0..20_000 {
        let length = random.usize(..BYTES_MAX);
        let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        look(&bash, &bytes);
    }
}

#[test]
fn any_script_in_which_bash_runs_rm_is_one_that_may() {
    let Some(bash) = bash() else { return };
    check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| look(&bash, bytes));
}

/// Makes a script from bytes, and runs it if `rm` was not seen in it.
fn look(bash: &Bash, bytes: &[u8]) {
    let text = script(bytes);
    // Nothing with a slash: only the stand-in can be reached.
    if text.contains(['/', '\0']) || may_run_rm(&text) {
        return;
    }
    let options: &[&str] = if bytes.len().is_multiple_of(4) { &["-O", "extglob"] } else { &[] };
    assert!(!bash.runs_rm(&text, options).unwrap(), "bash runs what was not seen: {text:?} {options:?}");
}

#[test]
fn bash_is_able_to_tell() {
    let Some(bash) = bash() else { return };
    let runs = |text: &str| bash.runs_rm(text, &[]).unwrap();
    assert!(runs("rm x") && runs("echo $(rm x)") && runs("> o[[; rm x") && runs("bash -c 'rm x'"));
    assert!(!runs("echo rm") && !runs("# rm x") && !runs("exit; rm x") && !runs(". rm"));
    assert!(!runs("while :; do :; done; rm x"));
}

fn may_run_rm(text: &str) -> bool {
    let script = read_script(text);
    script.opaque || script.commands.iter().any(|command| command.may_run("rm"))
}

fn bash() -> Option<Bash> {
    let bash = Bash::find().unwrap();
    if bash.is_none() {
        // Past what the test runner keeps back.
        writeln!(stderr(), "NOT RUN: there is no bash here to say what scripts run").unwrap();
    }
    bash
}
