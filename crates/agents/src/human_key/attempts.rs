//! Wrong passphrases, counted over all processes.
//!
//! An attempt is counted before the passphrase is tried, so that a process that ends in between has used it up; a right
//! one clears the count. From the third on, each makes the next wait longer. This slows typing down. Someone who can
//! copy the file of the key can guess elsewhere: that is what Argon2id is for.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::PathBuf,
};

use lockgate::engine::Time;
use serde::{Deserialize, Serialize};

use crate::{environment::Environment, files::make_folder, platform};

const FILE: &str = "human.attempts";
const FILE_BYTES_MAX: u64 = 1024;
/// So many wrong passphrases in a row are free.
const FREE: u32 = 2;
const FIRST_DELAY_MS: u64 = 30 * 1000;
const DELAY_MS_MAX: u64 = 60 * 60 * 1000;

/// How long the next attempt waits after so many wrong ones in a row, in milliseconds.
pub fn delay_ms(failed: u32) -> u64 {
    match failed.saturating_sub(FREE) {
        0 => 0,
        more => FIRST_DELAY_MS.saturating_mul(1 << (more - 1).min(16)).min(DELAY_MS_MAX),
    }
}

/// Passphrases were wrong too often.
#[derive(Debug, thiserror::Error)]
pub enum TooManyAttempts {
    /// The next attempt has to wait.
    #[error("the passphrase was wrong {failed} times; try again in {} s", wait_ms.div_ceil(1000))]
    Wait {
        /// How often it was wrong.
        failed: u32,
        /// How long the next attempt has to wait.
        wait_ms: u64,
    },
    /// The count cannot be read or written.
    #[error("`{}` cannot be used to count attempts: {source}; move it away", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The count of wrong passphrases of a user.
#[derive(Clone, Debug)]
pub struct Attempts {
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    failed: u32,
    last: u64,
}

impl Attempts {
    /// Those of the user; none if there is no home folder.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { path: environment.data_folder()?.join("lockgate").join(FILE) })
    }

    /// Counts an attempt, if it need not wait. Returns how many there were in a row, with this one.
    ///
    /// # Errors
    /// When it has to wait, or cannot be counted: then no passphrase may be tried.
    pub fn begin(&self, now: Time) -> Result<u32, TooManyAttempts> {
        let mut begun = Err((0, 0));
        self.change(|count| {
            let delay = delay_ms(count.failed);
            // A clock that was set back shortens nothing.
            let passed = now.0.saturating_sub(count.last);
            if passed < delay {
                begun = Err((count.failed, delay - passed));
                return None;
            }
            let failed = count.failed.saturating_add(1);
            begun = Ok(failed);
            Some(Count { failed, last: now.0 })
        })?;
        begun.map_err(|(failed, wait_ms)| TooManyAttempts::Wait { failed, wait_ms })
    }

    /// The passphrase was right.
    ///
    /// # Errors
    /// When the count cannot be written.
    pub fn succeeded(&self) -> Result<(), TooManyAttempts> {
        self.change(|_| Some(Count::default()))
    }

    fn change(&self, change: impl FnOnce(Count) -> Option<Count>) -> Result<(), TooManyAttempts> {
        let changed = || {
            if let Some(folder) = self.path.parent() {
                make_folder(folder)?;
            }
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            platform::keep_private(&mut options);
            let mut file = options.open(&self.path)?;
            // Two processes that try at once are two attempts.
            file.lock()?;
            let count = read(&mut file)?;
            let Some(count) = change(count) else { return Ok(()) };
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(serde_json::to_string(&count).map_err(io::Error::other)?.as_bytes())?;
            file.sync_all()
        };
        changed().map_err(|source| TooManyAttempts::Unusable { path: self.path.clone(), source })
    }
}

fn read(file: &mut File) -> io::Result<Count> {
    let mut text = String::new();
    Read::by_ref(file).take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    if text.is_empty() {
        return Ok(Count::default());
    }
    serde_json::from_str(&text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_end() {
        let delays: Vec<u64> = (0..12).map(|failed| delay_ms(failed) / 1000).collect();
        assert_eq!(delays, [0, 0, 0, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(delay_ms(u32::MAX), DELAY_MS_MAX);
    }

    #[test]
    fn wrong_passphrases_are_counted_over_processes() {
        let folder = tempfile::tempdir().unwrap();
        let attempts = || Attempts { path: folder.path().join("sub/human.attempts") };
        for (now, expected) in [
            (0, "1"),
            (1, "2"),
            (2, "3"),
            (3, "wait 29999"),
            (30_001, "wait 1"),
            (30_002, "4"),
            // A clock that was set back.
            (5, "wait 60000"),
            (90_002, "5"),
        ] {
            let told = match attempts().begin(Time(now)) {
                Ok(count) => count.to_string(),
                Err(TooManyAttempts::Wait { wait_ms, .. }) => format!("wait {wait_ms}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(told, expected, "{now}");
        }
        attempts().succeeded().unwrap();
        assert_eq!(attempts().begin(Time(90_003)).unwrap(), 1);
        fs::write(folder.path().join("sub/human.attempts"), "{\"failed\": ").unwrap();
        let error = attempts().begin(Time(90_004)).unwrap_err().to_string();
        assert!(error.contains("move it away"), "{error}");
    }
}
