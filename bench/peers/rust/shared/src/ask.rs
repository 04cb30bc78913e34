//! Asks a runner, as its tests do.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    job::{Answer, Earlier, Job, Request, Task, Told},
    work::{Language, Work},
};

/// A policy in a folder of its own, and the runner that is asked about it.
pub struct Asker<'a> {
    program: &'a str,
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl<'a> Asker<'a> {
    /// Writes the work's policy of so many rules, or says that the language cannot.
    pub fn new(program: &'a str, language: Language, work: Work, n_rules: usize) -> Option<Self> {
        static FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("lockgate-peers-{}-{number}", std::process::id()));
        let policy = (language.file_name(), work.policy(language, n_rules)?);
        fs::create_dir_all(&folder).unwrap();
        let mut files = Vec::new();
        for (name, text) in work.schema(language, n_rules).into_iter().chain([policy]) {
            files.push(folder.join(name));
            fs::write(folder.join(name), text).unwrap();
        }
        Some(Self { program, folder, files })
    }

    /// The folder of the policy.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the runner answers.
    pub fn ask(&self, task: Task, earlier: Vec<Earlier>, call: Request) -> Answer {
        let (files, call) = (self.files.clone(), Some(call));
        let job = Job { files, earlier, call, ..Job::of(task, 1) };
        let line = serde_json::to_string(&job).unwrap();
        let (is_done, told, said) = run(self.program, &line);
        assert!(is_done, "{said}");
        serde_json::from_str(&told).unwrap()
    }

    /// What it decides; none where it cannot.
    pub fn verdict(&self, task: Task, earlier: Vec<Earlier>, call: Request) -> Option<Told> {
        match self.ask(task, earlier, call) {
            Answer::Done(done) => {
                assert!(done.pace.min > 0.0 && done.pace.min <= done.pace.median, "{done:?}");
                done.verdict
            }
            Answer::Cannot { .. } => None,
        }
    }
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// Runs the program on one line: whether it was content, and what it wrote to stdout and stderr.
pub fn run(program: &str, line: &str) -> (bool, String, String) {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut runner = command.spawn().unwrap();
    writeln!(runner.stdin.take().unwrap(), "{line}").unwrap();
    let output = runner.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}
