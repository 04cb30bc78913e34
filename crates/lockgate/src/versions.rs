//! What git would change, for doors that run where the tools do.
//!
//! [`changed_by`] asks git without having it change anything, and without running what the settings of a work tree name: no
//! hook, no filter, no monitor and no fetch. It reads versions, the index and the bytes of files. Whatever git does not
//! answer in time is a doubt, and so is an answer that is too long.

use std::{
    collections::BTreeSet,
    env,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_call::VersionChange;

/// How long git may take for all questions about one change.
const LIMIT: Duration = Duration::from_secs(3);

/// How long an answer of git may be, in bytes.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How many files are compared byte by byte.
const COMPARED_MAX: usize = 4_000;

/// Settings that would run programs, or go elsewhere.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "protocol.allow=never",
];

/// What an alias may begin with and change no file that git knows.
const HARMLESS: &[&str] = &[
    "add",
    "blame",
    "branch",
    "commit",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "push",
    "reflog",
    "remote",
    "rev-parse",
    "shortlog",
    "show",
    "status",
    "tag",
];

/// The absolute paths of the files that a change would make others; none where that cannot be told.
pub(crate) fn changed_by(folder: &str, change: &VersionChange) -> Option<Vec<String>> {
    let git = Git { folder, program: program()?, deadline: Instant::now() + LIMIT };
    if let VersionChange::Alias { name } = change {
        return git.alias(name);
    }
    let top = git.line(&["rev-parse", "--show-toplevel"])?;
    let paths = match change {
        VersionChange::Version { version, paths } => git.to_version(&git.commit(version)?, paths)?,
        VersionChange::VersionOrPath { first, rest } => git.to_version_or_path(first, rest)?,
        VersionChange::Index { paths } => git.to_index(paths)?,
        VersionChange::Untracked { ignored, paths } => {
            let options: &[&str] = if *ignored { &[] } else { &["--exclude-standard"] };
            git.list(&["ls-files", "--others", "--full-name", "-z"], options, paths)?
        }
        VersionChange::Tracked { paths } => git.list(&["ls-files", "--full-name", "-z"], &[], paths)?,
        VersionChange::Stash { version } => {
            let stash = git.commit(version)?;
            let mut paths = git.to_version(&stash, &[])?;
            // Files that git did not know are kept in a commit of their own.
            if let Some(others) = git.line(&["rev-parse", "--verify", "--quiet", &format!("{stash}^3")]) {
                paths.extend(git.list(
                    &["ls-tree", "-r", "-z", "--name-only", "--full-tree", &others],
                    &[],
                    &[],
                )?);
            }
            paths
        }
        VersionChange::Commits { since } => {
            let range = format!("{}..HEAD", git.commit(since)?);
            let log = [
                "log",
                "-z",
                "--name-only",
                "--format=",
                "--no-renames",
                "--no-ext-diff",
                "--no-show-signature",
                &range,
            ];
            git.list(&log, &[], &[])?
        }
        VersionChange::Alias { .. } | VersionChange::Patch { .. } => return None,
    };
    Some(paths.into_iter().map(|path| format!("{top}/{path}")).collect())
}

/// The program, found in folders that no working folder can change.
fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| {
        Some(folder.join(format!("git{}", env::consts::EXE_SUFFIX))).filter(|it| it.is_file())
    })
}

/// Git in a folder.
struct Git<'a> {
    folder: &'a str,
    program: PathBuf,
    deadline: Instant,
}

impl Git<'_> {
    /// The commit that a name means, also where git would make a branch of the remote one.
    fn commit(&self, version: &str) -> Option<String> {
        let version = if version == "-" { "@{-1}" } else { version };
        let verify = |version: &str| {
            let version = format!("{version}^{{commit}}");
            self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &version])
        };
        verify(version).or_else(|| {
            if version.contains(['*', '?', '[', '\\']) {
                return None;
            }
            let refs = self.run(
                &["for-each-ref", "--format=%(objectname)", &format!("refs/remotes/*/{version}")],
                b"",
            )?;
            let refs: BTreeSet<&str> = refs.lines().collect();
            match refs.len() {
                1 => verify(refs.first()?),
                _ => None,
            }
        })
    }

    fn to_version_or_path(&self, first: &str, rest: &[String]) -> Option<Vec<String>> {
        let paths: Vec<String> = std::iter::once(first.to_owned()).chain(rest.iter().cloned()).collect();
        let tracked = self.list(&["ls-files", "-z"], &[], paths.get(..1)?);
        let is_path = tracked.is_some_and(|tracked| !tracked.is_empty());
        match (self.commit(first), is_path) {
            (Some(commit), false) => self.to_version(&commit, rest),
            (Some(commit), true) => {
                let mut all = self.to_version(&commit, rest)?;
                all.extend(self.to_index(&paths)?);
                Some(all)
            }
            (None, true) => self.to_index(&paths),
            (None, false) => None,
        }
    }

    fn to_version(&self, commit: &str, paths: &[String]) -> Option<Vec<String>> {
        let words =
            ["diff-index", "--raw", "-z", "--abbrev=64", "--no-renames", "--ignore-submodules=all", commit];
        self.differing(&words, paths)
    }

    fn to_index(&self, paths: &[String]) -> Option<Vec<String>> {
        let words = ["diff-files", "--raw", "-z", "--abbrev=64", "--no-renames", "--ignore-submodules=all"];
        self.differing(&words, paths)
    }

    /// The files of a comparison whose bytes really differ. A file that was only touched is listed without a hash, and is
    /// compared by its own.
    fn differing(&self, words: &[&str], paths: &[String]) -> Option<Vec<String>> {
        let all = self.list(words, &[], paths)?;
        let (mut differing, mut touched) = (Vec::new(), Vec::new());
        for pair in all.chunks(2) {
            let [about, path] = pair else { return None };
            let fields: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            let [mode, new_mode, hash, new_hash, _] = *fields.as_slice() else { return None };
            let is_touched =
                mode == new_mode && new_hash.chars().all(|c| c == '0') && !path.contains(['\n', '"']);
            if is_touched {
                touched.push((path.clone(), hash.to_owned()))
            } else {
                differing.push(path.clone())
            }
        }
        if touched.len() > COMPARED_MAX {
            return None;
        }
        if !touched.is_empty() {
            let top = self.line(&["rev-parse", "--show-toplevel"])?;
            let names: String = touched.iter().map(|(path, _)| format!("{top}/{path}\n")).collect();
            let hashes = self.run(&["hash-object", "--no-filters", "--stdin-paths"], names.as_bytes())?;
            let hashes: Vec<&str> = hashes.lines().collect();
            if hashes.len() != touched.len() {
                return None;
            }
            let others = touched.iter().zip(hashes).filter(|((_, hash), own)| hash != own);
            differing.extend(others.map(|((path, _), _)| path.clone()));
        }
        Some(differing)
    }

    /// Whether an alias is one that changes no file; none where it may be anything.
    fn alias(&self, name: &str) -> Option<Vec<String>> {
        let names = self.run(&["config", "--get-regexp", "--name-only", "^alias\\."], b"\n");
        let key = format!("alias.{}", name.to_lowercase());
        // Without any alias, git ends with an error.
        let has_it = names.is_some_and(|names| names.lines().any(|it| it.to_lowercase() == key));
        if !has_it {
            self.line(&["version"])?;
            return Some(Vec::new());
        }
        let meaning = self.line(&["config", "--get", &key])?;
        let first = meaning.split_whitespace().next()?;
        HARMLESS.contains(&first).then(Vec::new)
    }

    /// The parts of an answer that git ends with zeros.
    fn list(&self, words: &[&str], options: &[&str], paths: &[String]) -> Option<Vec<String>> {
        let paths = paths.iter().map(String::as_str);
        let words: Vec<&str> = words.iter().chain(options).copied().chain(["--"]).chain(paths).collect();
        let text = self.run(&words, b"")?;
        Some(
            text.split('\0')
                .map(|part| part.trim_start_matches('\n').to_owned())
                .filter(|it| !it.is_empty())
                .collect(),
        )
    }

    fn line(&self, words: &[&str]) -> Option<String> {
        let text = self.run(words, b"")?;
        text.lines().next().filter(|line| !line.is_empty()).map(ToOwned::to_owned)
    }

    /// What git prints, if it succeeds in time.
    fn run(&self, words: &[&str], input: &[u8]) -> Option<String> {
        let mut command = Command::new(&self.program);
        command.arg("-C").arg(self.folder).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(words)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let writer = child.stdin.take().map(|mut pipe| {
            let input = input.to_vec();
            thread::spawn(move || drop(pipe.write_all(&input)))
        });
        let output = child.stdout.take()?;
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            output.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes).map(|_| bytes)
        });
        let succeeded = self.wait(&mut child);
        let bytes = succeeded.then(|| reader.join().ok()?.ok()).flatten()?;
        drop(writer);
        if bytes.len() as u64 > ANSWER_BYTES_MAX {
            return None;
        }
        String::from_utf8(bytes).ok()
    }

    fn wait(&self, child: &mut Child) -> bool {
        let mut pause = Duration::from_micros(200);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < self.deadline => thread::sleep(pause),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}
