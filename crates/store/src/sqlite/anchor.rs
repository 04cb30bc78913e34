//! The anchor file: how far the database has come, noted outside of it.
//!
//! Nothing inside a database can show that all of it is old. [`AnchorFile::note`] adds a line after every commit, and
//! [`AnchorFile::check`] refuses a database that is older than the last line, or that went another way since. A line is
//! sealed with the number of its place in the file, so an older line at the end is not one. Lines are only added, so the
//! file can be append-only (`chattr +a`); where it may be shortened, it is, once it is
//! long. A line is in the hands of the system when a verdict is told, but not forced to the disk: after a power cut the
//! anchor may be a little older than the database, never newer, unless the database was opened with less than full
//! durability. The file is never made: one that is gone was taken away.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{log, state::Signer};
use crate::{
    audit::{Hash, Head, from_hex, to_hex},
    error::{Fault, OpenError, OpenErrorKind},
    seal::{Column, Place, Table},
};

const WORD: &str = "lockgate-anchor-1";

/// Every line is so long: the word, the database's id, the counter, n, the hash and the seal.
const LINE_BYTES: usize = 17 + 33 + 21 + 21 + 65 + 65 + 1;

/// A file longer than this is shortened to its last line, where that is allowed.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How long to wait before asking again for a lock that another process has.
const RETRY: Duration = Duration::from_millis(1);

/// Where the progress of a database is noted.
pub(crate) struct AnchorFile {
    path: PathBuf,
    wait: Duration,
}

/// A line of it.
struct Note {
    database: [u8; 16],
    counter: u64,
    n: u64,
    hash: Hash,
    seal: [u8; 32],
}

impl AnchorFile {
    /// The anchor file of a database, and whether the database is as far as it says. The caller waits at most `wait` for
    /// others that write it.
    pub(crate) fn check(
        path: &Path,
        wait: Duration,
        signer: &Signer,
        database: &Path,
        connection: &Connection,
    ) -> Result<Self, OpenError> {
        let anchor = Self { path: path.to_path_buf(), wait };
        let unusable = |what: &str| {
            let reason = format!(
                "is to be the anchor of `{}`, but {what}; if that is as it should be, put an empty file there, and the \
                 database is trusted as it is now",
                database.display()
            );
            OpenError::new(path, OpenErrorKind::NoAnchor, reason)
        };
        // Before the database is read: another process may commit, and note it, in between.
        let last = anchor.last().map_err(|error| unusable(&format!("cannot be read ({error})")))?;
        let head = log::head(connection).map_err(|fault| OpenError::fault(database, wait, fault))?;
        let Some((index, line)) = last else { return Ok(anchor) };
        let Some(note) = line.as_deref().and_then(Note::read) else {
            return Err(unusable("does not end with a line of an anchor"));
        };
        if note.database != head.database {
            return Err(unusable("belongs to another database"));
        }
        if !note.is_sealed(signer, index) {
            return Err(unusable("does not end with a line that the database's key sealed"));
        }
        let is_kept = note.n > head.pruned;
        let hash = match note.n {
            n if n == head.n => Some(head.hash),
            n => log::hash_of(connection, n).map_err(|fault| OpenError::fault(database, wait, fault))?,
        };
        let went_another_way = is_kept && hash != Some(note.hash);
        if head.counter < note.counter || went_another_way {
            let what = if head.counter < note.counter { "is older than" } else { "went another way than" };
            let reason = format!(
                "{what} its anchor `{}` says (state {}, record {}; the anchor has state {}, record {}): an older copy was \
                 brought back. Stop and tell the user. For the user: restore the newest copy; if this is the newest \
                 there is, empty the anchor file to go on from here",
                path.display(),
                head.counter,
                head.n,
                note.counter,
                note.n
            );
            return Err(OpenError::new(database, OpenErrorKind::RolledBack, reason));
        }
        Ok(anchor)
    }

    /// Notes a head that was committed.
    pub(crate) fn note(&self, signer: &Signer, head: &Head) -> Result<(), Fault> {
        self.add(signer, head).map_err(|error| {
            Fault::told(format_args!(
                "was written, but its anchor `{}` was not: {error}; check the file and its permissions",
                self.path.display()
            ))
        })
    }

    fn add(&self, signer: &Signer, head: &Head) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).open(&self.path)?;
        self.locked(|| file.try_lock())?;
        let length = file.metadata()?.len();
        let whole = |length: u64| length.is_multiple_of(LINE_BYTES as u64);
        if !whole(length) {
            return Err(io::Error::other("it does not end with a whole line"));
        }
        // A later commit may have been here first.
        if last_line(&mut file, length)?
            .and_then(|line| Note::read(&line))
            .is_some_and(|it| it.counter >= head.counter)
        {
            return Ok(());
        }
        let line = |index: u64| Note::sealed(signer, head, index).to_line();
        file.write_all(line(length / LINE_BYTES as u64).as_bytes())?;
        if length > FILE_BYTES_MAX
            && let Ok(mut shorter) = OpenOptions::new().write(true).open(&self.path)
        {
            // The first line says the same as the last by now, so there is no moment without one.
            shorter.write_all(line(0).as_bytes())?;
            shorter.set_len(LINE_BYTES as u64)?;
        }
        Ok(())
    }

    /// The last line and the number of its place; none if the file is empty. A line is none if it is not whole.
    fn last(&self) -> io::Result<Option<(u64, Option<String>)>> {
        // A pipe would keep us waiting.
        if !fs::metadata(&self.path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut file = File::open(&self.path)?;
        self.locked(|| file.try_lock_shared())?;
        let length = file.metadata()?.len();
        if length == 0 {
            return Ok(None);
        }
        let index = (length / LINE_BYTES as u64).saturating_sub(1);
        let is_whole = length.is_multiple_of(LINE_BYTES as u64);
        Ok(Some((index, if is_whole { last_line(&mut file, length)? } else { None })))
    }

    fn locked(&self, mut lock: impl FnMut() -> Result<(), TryLockError>) -> io::Result<()> {
        let deadline = Instant::now() + self.wait;
        loop {
            match lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(RETRY),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process keeps it locked"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

fn last_line(file: &mut File, length: u64) -> io::Result<Option<String>> {
    let Some(start) = length.checked_sub(LINE_BYTES as u64) else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut line = [0; LINE_BYTES];
    file.read_exact(&mut line)?;
    Ok(String::from_utf8(line.to_vec()).ok())
}

impl Note {
    fn sealed(signer: &Signer, head: &Head, index: u64) -> Self {
        let Head { database, counter, n, hash, .. } = *head;
        let mut note = Self { database, counter, n, hash, seal: [0; 32] };
        note.seal = signer.sealer().seal(&place(&key(index)), counter, &note.columns());
        note
    }

    fn is_sealed(&self, signer: &Signer, index: u64) -> bool {
        signer.sealer().is_sealed(&place(&key(index)), self.counter, &self.columns(), &self.seal)
    }

    fn columns(&self) -> [Column<'_>; 2] {
        [Column::Number(self.n.cast_signed()), Column::Bytes(&self.hash)]
    }

    fn to_line(&self) -> String {
        let Self { database, counter, n, hash, seal } = self;
        let (database, hash, seal) = (to_hex(database), to_hex(hash), to_hex(seal));
        format!("{WORD} {database} {counter:020} {n:020} {hash} {seal}\n")
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_suffix('\n')?.split(' ');
        if words.next()? != WORD {
            return None;
        }
        let note = Self {
            database: from_hex(words.next()?)?,
            counter: words.next()?.parse().ok()?,
            n: words.next()?.parse().ok()?,
            hash: from_hex(words.next()?)?,
            seal: from_hex(words.next()?)?,
        };
        words.next().is_none().then_some(note)
    }
}

fn key(index: u64) -> [Column<'static>; 1] {
    [Column::Number(index.cast_signed())]
}

fn place<'a>(key: &'a [Column<'a>; 1]) -> Place<'a> {
    Place { table: Table::Anchor, key }
}
