//! The file of accepted counts, and which machines may be compared by it. A budget is changed by nobody but whoever
//! accepts it: the file is kept in the repository and read in review.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path, process::Command};

use serde::{Deserialize, Serialize};

use super::profile::Profile;

/// Where it is kept, seen from the workspace.
pub(crate) const FILE: &str = "bench/counts.json";

/// The functions of a case that are kept: nine tenths of its instructions.
pub(crate) const FUNCTIONS_MAX: usize = 40;

/// All cases and what they were counted with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accepted {
    /// Where they were counted.
    pub(crate) machine: Machine,
    /// By name.
    pub(crate) cases: BTreeMap<String, Profile>,
}

impl Accepted {
    /// What was accepted; none where nothing ever was.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, String> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(format!("cannot read {FILE}: {why}")),
        };
        serde_json::from_str(&text).map(Some).map_err(|why| format!("cannot read {FILE}: {why}"))
    }

    /// Puts it into the file.
    pub(crate) fn write(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|why| format!("cannot write {FILE}: {why}"))?;
        fs::write(file, text + "\n").map_err(|why| format!("cannot write {FILE}: {why}"))
    }
}

/// All that changes counts while our code stays the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    /// The compiler with its commit.
    pub(crate) rustc: String,
    /// What is compiled for.
    pub(crate) target: String,
    /// What libraries look for when they choose how to search and copy; valgrind makes all others alike.
    pub(crate) processor: String,
    /// Whose `malloc` and `memcpy` are counted along.
    pub(crate) libc: String,
    /// Who counts.
    pub(crate) valgrind: String,
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Result<Self, String> {
        let valgrind = first_line("valgrind", &["--version"])
            .ok_or("there is no valgrind here, which counts; install valgrind, such as by `apt-get install valgrind`")?;
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let told = output(&rustc, &["--version", "--verbose"]).ok_or("there is no rustc here")?;
        let target = told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("unknown");
        Ok(Self {
            rustc: told.lines().next().unwrap_or_default().to_owned(),
            target: target.to_owned(),
            processor: processor().to_owned(),
            libc: first_line("getconf", &["GNU_LIBC_VERSION"]).unwrap_or_else(|| "unknown".to_owned()),
            valgrind,
        })
    }

    /// Says what differs, and that counts cannot be compared then.
    pub(crate) fn compare(&self, accepted: &Self) -> Result<(), String> {
        let pairs = [
            ("rustc", &self.rustc, &accepted.rustc),
            ("target", &self.target, &accepted.target),
            ("processor", &self.processor, &accepted.processor),
            ("libc", &self.libc, &accepted.libc),
            ("valgrind", &self.valgrind, &accepted.valgrind),
        ];
        let differing: Vec<String> = pairs
            .into_iter()
            .filter(|(_, here, accepted)| here != accepted)
            .map(|(what, here, accepted)| format!("{what}: accepted with `{accepted}`, here is `{here}`"))
            .collect();
        if differing.is_empty() {
            return Ok(());
        }
        let differing = differing.join("\n  ");
        Err(format!(
            "counts from here cannot be compared with {FILE}, so NOTHING was checked:\n  {differing}\n\
             try: count with what the file names; or, where the project has moved on, `cargo xtask counts --accept` on \
             code whose counts are known to be fine"
        ))
    }
}

#[cfg(target_arch = "x86_64")]
fn processor() -> &'static str {
    if std::is_x86_feature_detected!("avx2") { "avx2" } else { "no avx2" }
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> &'static str {
    "any"
}

fn first_line(program: &str, words: &[&str]) -> Option<String> {
    output(program, words)?.lines().next().map(str::to_owned)
}

fn output(program: &str, words: &[&str]) -> Option<String> {
    let told = Command::new(program).args(words).output().ok().filter(|told| told.status.success())?;
    String::from_utf8(told.stdout).ok()
}
