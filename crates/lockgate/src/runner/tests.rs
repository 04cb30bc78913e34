//! Real programs: `sh`, `true`, `false`, `sleep`, `echo`, `yes`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic like the tests")]

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use lockgate_gate::Runner;
use lockgate_policy::workflow::Exec;
use rustix::process::{Pid, test_kill_process};

use super::{LIMIT_MAX, LocalRunner, RUNS_AT_ONCE_MAX, absolute_only, spoken};
use crate::program::{LINE_CHARACTERS_MAX, OUTPUT_BYTES_MAX, Tail};

/// A folder of one test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lockgate-run-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        // On some systems the folder for such things is a link.
        Self(folder.canonicalize().unwrap())
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn exec(words: &[&str]) -> Exec {
    Exec { words: words.iter().map(ToString::to_string).collect(), exit_code: 0 }
}

fn run(words: &[&str], folder: Option<&str>) -> Result<i32, String> {
    LocalRunner::new().run(&exec(words), folder)
}

/// Runs a script that never ends by itself, with limits that grow until the limit leaves it the time to write the
/// file `pid`; gives the number in there and what was said.
fn run_into_the_limit(folder: &Folder, script: &str) -> (Pid, String) {
    for limit_ms in [250, 1_000, 4_000, 16_000] {
        let runner = LocalRunner::new().limit(Duration::from_millis(limit_ms));
        let said = runner.run(&exec(&["sh", "-c", script]), Some(folder.text())).unwrap_err();
        if let Some(pid) = written_pid(&folder.0) {
            let limit = spoken(Duration::from_millis(limit_ms));
            return (pid, said.replace(&limit, "the limit"));
        }
    }
    panic!("the script never came to write its number");
}

fn written_pid(folder: &Path) -> Option<Pid> {
    let text = fs::read_to_string(folder.join("pid")).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

/// Waits until a process is gone, and says no if it stays.
fn goes_away(pid: Pid) -> bool {
    (0..1_000).any(|_| {
        let gone = test_kill_process(pid).is_err() || is_dead_but_unburied(pid);
        if !gone {
            thread::sleep(Duration::from_millis(10));
        }
        gone
    })
}

/// Nobody may have waited for it yet, and in a container nobody may ever do.
fn is_dead_but_unburied(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_program_ends_with_its_exit_code() {
    for (words, code) in [
        (&["true"][..], 0),
        (&["false"], 1),
        (&["sh", "-c", "exit 3"], 3),
        (&["sh", "-c", "exit 255"], 255),
        (&["sh", "-c", "read nothing"], 1),
    ] {
        assert_eq!(run(words, None), Ok(code), "{words:?}");
    }
}

#[test]
fn no_shell_reads_the_words() {
    let folder = Folder::new("words");
    assert_eq!(run(&["echo", "a", "&&", "touch", "x"], Some(folder.text())), Ok(0));
    assert_eq!(run(&["echo", "$(touch x)", "`touch x`", ";touch x"], Some(folder.text())), Ok(0));
    assert!(run(&["true; touch x"], Some(folder.text())).is_err());
    assert!(!folder.has("x"));
    let counts = r#"test "$#" = 3 && test "$1" = "a  b" && test -z "$2" && test "$3" = "*""#;
    assert_eq!(run(&["sh", "-c", counts, "sh", "a  b", "", "*"], Some(folder.text())), Ok(0));
}

#[test]
fn a_program_runs_in_the_folder_it_is_given() {
    let folder = Folder::new("folder");
    assert_eq!(run(&["sh", "-c", "pwd > here"], Some(folder.text())), Ok(0));
    assert_eq!(fs::read_to_string(folder.0.join("here")).unwrap().trim(), folder.text());
    fs::write(folder.0.join("file"), "").unwrap();
    let [file, missing] = ["file", "missing"].map(|name| format!("{}/{name}", folder.text()));
    for (wrong, why) in [
        (file.as_str(), "the folder does not exist"),
        (&missing, "the folder does not exist"),
        (".", "the folder must be absolute"),
        ("", "the folder must be absolute"),
    ] {
        assert_eq!(run(&["true"], Some(wrong)), Err(format!("cannot run in `{wrong}`: {why}")));
    }
}

#[test]
fn what_cannot_be_started_is_named_with_the_reason() {
    let folder = Folder::new("start");
    fs::write(folder.0.join("plain"), "#!/bin/sh\n").unwrap();
    let not_found = "it was not found; is it installed, and on the `PATH` of the gate?";
    for (words, said) in [
        (
            &["lockgate-no-such-program"][..],
            format!("`lockgate-no-such-program` cannot be started: {not_found}"),
        ),
        (&["./missing"], format!("`./missing` cannot be started: {not_found}")),
        (&["./plain"], "`./plain` cannot be started: it is not executable, or not for the gate".to_owned()),
        (&["\u{1b}[2J"], format!("`\\u{{1b}}[2J` cannot be started: {not_found}")),
        (&[], "names no program".to_owned()),
        (&["", "a"], "names no program".to_owned()),
    ] {
        assert_eq!(run(words, Some(folder.text())), Err(said), "{words:?}");
    }
    assert!(run(&["echo", "a\0b"], None).unwrap_err().starts_with("`echo` cannot be started: "));
}

#[test]
fn a_signal_is_told_with_the_last_line() {
    for (script, said) in [
        ("kill -9 $$", "was ended by signal 9 (SIGKILL)"),
        ("echo no; echo why >&2; kill -9 $$", "was ended by signal 9 (SIGKILL); its last line is `why`"),
        (
            "echo first; echo last; echo; kill -9 $$",
            "was ended by signal 9 (SIGKILL); its last line is `last`",
        ),
        (
            "echo write to ada@example.com; kill -9 $$",
            "was ended by signal 9 (SIGKILL); its last line is `write to [EMAIL]`",
        ),
    ] {
        assert_eq!(run(&["sh", "-c", script], None), Err(said.to_owned()), "{script}");
    }
}

#[test]
fn a_flood_of_output_blocks_nobody() {
    let floods =
        "i=0; while [ $i -lt 20000 ]; do echo 0123456789; echo 0123456789 >&2; i=$((i+1)); done; exit 5";
    assert_eq!(run(&["sh", "-c", floods], None), Ok(5));
    let folder = Folder::new("flood");
    let (_, said) = run_into_the_limit(&folder, "echo $$ > pid; exec yes");
    assert_eq!(said, "did not end within the limit; its last line is `y`");
}

#[test]
fn at_the_limit_everything_a_program_has_started_is_ended() {
    for (name, script) in [
        ("itself", "echo $$ > pid; exec sleep 1000"),
        ("child", "sleep 1000 & echo $! > pid; wait"),
        ("grandchild", "sh -c 'sleep 1000 & echo $! > pid; wait' & wait"),
        ("deaf", "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"),
        ("deaf-child", "(trap '' TERM; exec sleep 1000) & echo $! > pid; wait"),
        ("stopped", "echo $$ > pid; kill -STOP $$"),
    ] {
        let folder = Folder::new(name);
        let (pid, said) = run_into_the_limit(&folder, script);
        assert_eq!(said, "did not end within the limit", "{name}");
        assert!(goes_away(pid), "{name}");
    }
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    for (name, script) in [
        ("left", "sleep 1000 & echo $! > pid; exit 4"),
        ("left-deaf", "(trap '' TERM HUP; exec sleep 1000) & echo $! > pid; exit 4"),
    ] {
        let folder = Folder::new(name);
        assert_eq!(run(&["sh", "-c", script], Some(folder.text())), Ok(4), "{name}");
        assert!(goes_away(written_pid(&folder.0).unwrap()), "{name}");
    }
}

#[test]
fn whoever_leaves_the_group_with_the_outputs_is_not_waited_for() {
    // Where the shell can do so without a terminal, the job gets a group of its own.
    assert_eq!(run(&["sh", "-c", "set -m; sleep 70 & exit 4"], None), Ok(4));
}

#[test]
fn only_so_many_programs_run_at_once_and_the_others_wait_for_their_turn() {
    let runner = LocalRunner::new().limit(Duration::from_millis(50));
    let mut turns: Vec<_> = (0..RUNS_AT_ONCE_MAX).map(|_| runner.turn(Instant::now()).unwrap()).collect();
    assert!(runner.turn(Instant::now()).is_none());
    let said = runner.run(&exec(&["true"]), None);
    assert_eq!(said, Err("did not begin within 0.05 seconds: 4 others were running".to_owned()));

    thread::scope(|scope| {
        let (got, gets) = channel();
        let runner = &runner;
        scope.spawn(move || {
            let turn = runner.turn(Instant::now() + Duration::from_secs(60));
            got.send(turn.is_some()).unwrap();
        });
        drop(turns.pop());
        assert!(gets.recv().unwrap());
    });
    drop(turns);
    assert_eq!(*runner.running(), 0);
}

#[test]
fn a_turn_is_given_back_however_the_program_ended() {
    let runner = LocalRunner::new().limit(Duration::from_millis(50));
    for words in
        [&["true"][..], &["lockgate-no-such-program"], &["sleep", "1000"], &["sh", "-c", "kill -9 $$"]]
    {
        let _ = runner.run(&exec(words), None);
        assert_eq!(*runner.running(), 0, "{words:?}");
    }
}

#[test]
fn the_limit_has_a_limit_and_is_spoken() {
    let limited = |limit| LocalRunner::new().limit(limit).limit;
    assert_eq!(limited(LIMIT_MAX), LIMIT_MAX);
    assert_eq!(limited(LIMIT_MAX + Duration::from_millis(1)), LIMIT_MAX);
    assert_eq!(limited(Duration::MAX), LIMIT_MAX);
    for (limit_ms, said) in
        [(60_000, "60 seconds"), (1_000, "1 second"), (1_500, "1.5 seconds"), (0, "0 seconds")]
    {
        assert_eq!(spoken(Duration::from_millis(limit_ms)), said);
    }
}

#[test]
fn only_absolute_folders_of_the_path_count() {
    for (path, kept) in [
        ("/usr/bin:/bin", Some("/usr/bin:/bin")),
        (".:/bin", Some("/bin")),
        ("/bin:", Some("/bin")),
        ("::/bin:node_modules/.bin", Some("/bin")),
        (".", None),
        ("", None),
    ] {
        assert_eq!(absolute_only(OsStr::new(path)).as_deref(), kept.map(OsStr::new), "{path}");
    }
}

#[test]
fn the_end_of_an_output_is_kept_and_its_last_whole_line_told() {
    let of = |parts: &[&str]| {
        let mut tail = Tail::default();
        parts.iter().for_each(|part| tail.push(part.as_bytes()));
        tail
    };
    let full = "x".repeat(OUTPUT_BYTES_MAX);
    assert!(!of(&[&full]).is_cut);
    assert_eq!(of(&[&full]).last_line().unwrap(), "x".repeat(LINE_CHARACTERS_MAX));
    let cut = of(&[&full, "x"]);
    assert_eq!((cut.bytes.len(), cut.is_cut, cut.last_line()), (OUTPUT_BYTES_MAX, true, None));
    assert_eq!(of(&[&full, "\nthe", " end\n"]).last_line().as_deref(), Some("the end"));

    let long = "é".repeat(LINE_CHARACTERS_MAX + 1);
    assert_eq!(of(&[&long]).last_line().unwrap(), "é".repeat(LINE_CHARACTERS_MAX));
    assert_eq!(of(&["a\n \t\n\n"]).last_line().as_deref(), Some("a"));
    assert_eq!(of(&["a\u{1b}[2Jb"]).last_line().as_deref(), Some("a\\u{1b}[2Jb"));
    assert_eq!(of(&["", " \n"]).last_line(), None);
}
