//! `lockgate verify --watch` as people meet it: files change while it runs.
//!
//! Every step waits for what the command prints, and only a command that prints nothing at all runs into the limit.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use crate::world::folder;
use serde_json::Value;

/// After so long without a line the command is taken to hang: it keeps a broken build from waiting for ever.
const HANGS: Duration = Duration::from_secs(300);

/// Writes a file the way editors do: beside it, and then in its place.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, file).unwrap();
}

/// A command that watches, and the lines it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn new(folder: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .args(["verify", "--watch"])
            .args(words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tells, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tells.send(line)));
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(HANGS).unwrap_or_else(|_| panic!("the command says nothing more"))
    }

    /// The next round, in JSON: how many rules there are and how many errors, or what cannot be read.
    fn round(&self) -> Result<(u64, usize), String> {
        let round: Value = serde_json::from_str(&self.line()).unwrap();
        if let Some(error) = round["error"].as_str() {
            return Err(error.to_owned());
        }
        let findings = round["findings"].as_array().unwrap();
        let errors = findings.iter().filter(|it| it["severity"] == "error").count();
        Ok((round["rules"].as_u64().unwrap(), errors))
    }

    /// The exit code, and what was printed that nobody waited for.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let code = self.child.wait().unwrap().code();
        (code, self.lines.iter().collect())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_change_is_one_round_and_nothing_ends_the_watch() {
    let folder = folder("watch-rounds");
    let write = |file: &str, text: &str| replace(&folder.join(file), text);
    write("a.rules", "block a");
    let watch = Watch::new(&folder, &["--json", "--rounds", "6", "a.rules"]);
    assert_eq!(watch.round(), Ok((1, 0)));
    write("a.rules", "block a\nblock b");
    assert_eq!(watch.round(), Ok((2, 0)));
    // A broken file is told, and the watch goes on.
    write("a.rules", "blok a");
    assert_eq!(watch.round(), Ok((0, 1)));
    write("a.rules", "block a");
    assert_eq!(watch.round(), Ok((1, 0)));
    fs::remove_file(folder.join("a.rules")).unwrap();
    let error = watch.round().unwrap_err();
    assert!(error.starts_with("cannot read `a.rules`: "), "{error}");
    write("a.rules", "block a\nblok b");
    assert_eq!(watch.round(), Ok((0, 1)));
    assert_eq!(watch.end(), (Some(1), vec![]), "the last round decides");
}

#[test]
fn folders_and_included_files_are_watched_too() {
    let folder = folder("watch-folders");
    let write = |file: &str, text: &str| replace(&folder.join(file), text);
    fs::create_dir_all(folder.join("policies")).unwrap();
    let rule = |id: &str| format!("rules:\n  - id: {id}\n    when: {{tool: {id}}}\n    then: block\n");
    write("policies/main.yaml", &format!("include: [../base.yaml]\n{}", rule("first")));
    write("base.yaml", &rule("second"));
    let watch = Watch::new(&folder, &["--json", "--rounds", "5", "policies"]);
    assert_eq!(watch.round(), Ok((2, 0)));
    write("policies/more.rules", "block third");
    assert_eq!(watch.round(), Ok((3, 0)));
    write("base.yaml", "rules: [");
    assert!(matches!(watch.round(), Ok((0, 1..))), "an included file is broken");
    write("base.yaml", &rule("fourth"));
    assert_eq!(watch.round(), Ok((3, 0)));
    fs::remove_file(folder.join("policies/more.rules")).unwrap();
    assert_eq!(watch.round(), Ok((2, 0)));
    assert_eq!(watch.end(), (Some(0), vec![]));
}

#[test]
fn people_see_the_time_and_the_result_and_nothing_is_cleared_in_a_file() {
    let folder = folder("watch-text");
    fs::write(folder.join("a.rules"), "block a").unwrap();
    let watch = Watch::new(&folder, &["--rounds", "1", "a.rules"]);
    let (code, lines) = watch.end();
    assert_eq!(code, Some(0));
    let time: Vec<&str> = lines[0].split(':').collect();
    assert!(time.len() == 3 && time.iter().all(|part| part.len() == 2), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("1 rule in ")), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
}

#[cfg(unix)]
#[test]
fn an_interruption_ends_with_the_code_of_the_last_round() {
    for (signal, text, code) in [("INT", "block a", 0), ("INT", "blok a", 1), ("TERM", "block a", 0)] {
        let folder = folder(&format!("watch-{signal}-{code}"));
        fs::write(folder.join("a.rules"), text).unwrap();
        let watch = Watch::new(&folder, &["--json", "a.rules"]);
        assert!(watch.round().is_ok());
        let id = watch.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(watch.end(), (Some(code), vec![]), "{signal} {text}");
    }
}
