//! Which version this program is, and what is doubtful about another program that hooks run.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::lasting::runner_of;

/// The version, and where it is known the commit and its date.
pub(crate) const VERSION: &str = env!("LOCKGATE_VERSION");

/// How long a program may take to tell its version.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// What is doubtful about a program that hooks or proxies run; none where it is as good as this one.
pub(crate) fn doubt(program: &Path) -> Option<String> {
    if !program.is_file() {
        return Some("is not there".to_owned());
    }
    if let Some(runner) = runner_of(program) {
        return Some(format!("is in the cache of {runner}, which may be emptied at any time"));
    }
    if let Some(folder) = build_folder(program) {
        return Some(format!(
            "is in the build folder `{}`, which a clean build takes away",
            folder.display()
        ));
    }
    match version_of(program) {
        Some(version) if version == VERSION => None,
        Some(version) => Some(format!("is version {version}; this is version {VERSION}")),
        None => Some("does not tell its version".to_owned()),
    }
}

/// The folder of builds that a program is in. Builds mark their folder as one that can be made again, and so do caches.
pub(crate) fn build_folder(program: &Path) -> Option<PathBuf> {
    if runner_of(program).is_some() {
        return None;
    }
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    program.ancestors().skip(1).find(marked).map(Path::to_path_buf)
}

/// What `PROGRAM --version` says behind the name.
fn version_of(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let end = Instant::now() + ANSWER_TIME;
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let mut text = String::new();
    child.stdout.take()?.take(256).read_to_string(&mut text).ok()?;
    told(&text).filter(|_| status.success())
}

fn told(text: &str) -> Option<String> {
    text.trim().strip_prefix("lockgate ").map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_in_a_folder_of_builds_is_doubtful() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let program = folder.join("target/release/lockgate");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        assert_eq!(doubt(&program).unwrap(), "is not there");
        fs::write(&program, "").unwrap();
        assert_eq!(doubt(&program).unwrap(), "does not tell its version");
        fs::write(folder.join("target/CACHEDIR.TAG"), "").unwrap();
        assert!(doubt(&program).unwrap().starts_with("is in the build folder"));
        let cached = folder.join("target/_npx/x/lockgate");
        fs::create_dir_all(cached.parent().unwrap()).unwrap();
        fs::write(&cached, "").unwrap();
        assert!(doubt(&cached).unwrap().starts_with("is in the cache of npx"));
    }

    #[test]
    fn a_version_is_what_stands_behind_the_name() {
        assert_eq!(told(&format!("lockgate {VERSION}\n")).as_deref(), Some(VERSION));
        assert_eq!(
            told("lockgate 0.0.1 (0123456789 2026-01-01)\n").unwrap(),
            "0.0.1 (0123456789 2026-01-01)"
        );
        assert_eq!(told("other 1"), None);
        assert_eq!(told("lockgate "), None);
    }
}
