//! What a program worked out about a text, kept for the next process that has the same text.
//!
//! A memo is only ever a shortcut: it is recalled as it was kept, by the program that kept it, for the text it was kept for,
//! or not at all. All three are bound together by a code that takes the key of the trail to make, so nobody can put a
//! memo there who could not sign a trail as well. Whatever goes wrong is as if nothing had been kept.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{chain::to_hex, files, sqlite::Sqlite};

/// How many memos are kept; of more, the oldest go.
pub const MEMOS_MAX: usize = 1024;

/// The longest memo, in bytes.
pub const MEMO_BYTES_MAX: usize = 16 << 20;

/// What the key is used for here, so that no code made here says anything elsewhere.
const PURPOSE: &[u8] = b"lockgate memo 1";

const CODE_BYTES: usize = 32;

/// How long the key of such a code is; a shorter one is followed by zeros.
const KEY_BLOCK_BYTES: usize = 64;

/// The memos of one program.
pub struct Memos {
    folder: PathBuf,
    mac: Hmac<Sha256>,
}

impl Sqlite {
    /// The memos beside this database that a program made. Another build of it is another program: only what wrote a
    /// memo knows what it means.
    pub fn memos(&self, program: &str) -> Memos {
        let mut key = [0; KEY_BLOCK_BYTES];
        key.iter_mut().zip(self.key.to_bytes()).for_each(|(place, byte)| *place = byte);
        let mut mac = Hmac::<Sha256>::new(&key.into());
        mac.update(PURPOSE);
        add(&mut mac, program.as_bytes());
        Memos { folder: memos_folder(self.path()), mac }
    }
}

/// Where the memos beside a database are.
pub fn memos_folder(database: &Path) -> PathBuf {
    files::beside(database, ".memos")
}

/// Adds a part so that what is in one part cannot be taken for two.
fn add(mac: &mut Hmac<Sha256>, part: &[u8]) {
    mac.update(&(part.len() as u64).to_le_bytes());
    mac.update(part);
}

impl Memos {
    /// What was kept for a text.
    pub fn recall(&self, text: &str) -> Option<Vec<u8>> {
        let code = self.about(text);
        let mut kept = Vec::new();
        let file = files::open_no_link(&self.path(&code)).ok()?;
        file.take((CODE_BYTES + MEMO_BYTES_MAX) as u64 + 1).read_to_end(&mut kept).ok()?;
        let (seal, memo) = kept.split_at_checked(CODE_BYTES)?;
        let mut sealed = code;
        add(&mut sealed, memo);
        sealed.verify_slice(seal).ok()?;
        Some(memo.to_vec())
    }

    /// Keeps something for each text, as far as that can be done: for the rest the next process has the work again.
    pub fn keep<'t>(&self, memos: impl IntoIterator<Item = (&'t str, Vec<u8>)>) {
        let mut has_kept = false;
        for (text, memo) in memos {
            // There is nobody to tell what goes wrong, and nothing is lost.
            has_kept |= memo.len() <= MEMO_BYTES_MAX && self.write(text, &memo).is_ok();
        }
        if has_kept {
            let _ = self.forget_oldest();
        }
    }

    fn write(&self, text: &str, memo: &[u8]) -> io::Result<()> {
        let code = self.about(text);
        let path = self.path(&code);
        let mut sealed = code;
        add(&mut sealed, memo);
        files::make_folder(&self.folder)?;
        // Under another name until it is whole: others may be looking for it.
        let new = files::beside(&path, &format!(".{}", process::id()));
        let _ = fs::remove_file(&new);
        let mut file = files::make(&new)?;
        let written = file.write_all(&sealed.finalize().into_bytes()).and_then(|()| file.write_all(memo));
        // On a full disk, half a memo must not take what little there is.
        written.and_then(|()| fs::rename(&new, &path)).inspect_err(|_| drop(fs::remove_file(&new)))
    }

    fn forget_oldest(&self) -> io::Result<()> {
        let mut kept: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            kept.push((entry.metadata()?.modified()?, entry.path()));
        }
        kept.sort();
        let too_many = kept.len().saturating_sub(MEMOS_MAX);
        kept.iter().take(too_many).try_for_each(|(_, path)| fs::remove_file(path))
    }

    /// The code of a text, before what is kept for it.
    fn about(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        add(&mut mac, text.as_bytes());
        mac
    }

    fn path(&self, code: &Hmac<Sha256>) -> PathBuf {
        self.folder.join(to_hex(&code.clone().finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;
    use crate::Options;

    fn shelf(folder: &Path) -> Sqlite {
        Sqlite::open(folder.join("lockgate.db"), Options::default()).unwrap()
    }

    fn keep(memos: &Memos, text: &str, memo: &[u8]) {
        memos.keep([(text, memo.to_vec())]);
    }

    fn only_file(memos: &Memos) -> PathBuf {
        let files: Vec<PathBuf> =
            fs::read_dir(&memos.folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    #[test]
    fn a_memo_is_recalled_for_its_text_by_its_program_under_its_key() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (here, there) = (shelf(here.path()), shelf(there.path()));
        let memos = here.memos("a");
        assert_eq!(memos.recall("text"), None);
        keep(&memos, "text", b"memo");
        assert_eq!(here.memos("a").recall("text").as_deref(), Some(&b"memo"[..]));
        keep(&memos, "text", b"");
        assert_eq!(memos.recall("text").as_deref(), Some(&b""[..]), "the last one counts");
        assert_eq!(memos.recall("tex"), None);
        assert_eq!(here.memos("atext").recall(""), None);
        assert_eq!(here.memos("b").recall("text"), None);
        let stranger = there.memos("a");
        keep(&stranger, "text", b"forged");
        fs::copy(only_file(&stranger), only_file(&memos)).unwrap();
        assert_eq!(memos.recall("text"), None, "sealed with another key");
    }

    #[test]
    fn no_changed_memo_is_recalled() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let memos = shelf.memos("a");
        keep(&memos, "text", b"memo");
        let file = only_file(&memos);
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&file, &changed).unwrap();
            assert_eq!(memos.recall("text"), None, "byte {at} changed");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(memos.recall("text"), None, "cut off at {at}");
        }
        fs::write(&file, [&whole[..], b"x"].concat()).unwrap();
        assert_eq!(memos.recall("text"), None, "something added");
        fs::write(&file, &whole).unwrap();
        assert!(memos.recall("text").is_some());
        keep(&memos, "other", b"another");
        let other = fs::read_dir(&memos.folder).unwrap().map(|entry| entry.unwrap().path());
        let other = other.into_iter().find(|path| *path != file).unwrap();
        fs::rename(other, &file).unwrap();
        assert_eq!(memos.recall("text"), None, "another text's");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_no_memo_and_nobody_waits_for_it() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let memos = shelf.memos("a");
        keep(&memos, "text", b"memo");
        let file = only_file(&memos);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert_eq!(memos.recall("text"), None, "a link");
        fs::remove_file(&file).unwrap();
        mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(memos.recall("text"), None, "a pipe");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(memos.recall("text"), None, "a folder");
        keep(&memos, "text", b"memo");
        assert_eq!(memos.recall("text"), None, "which stays");
    }

    #[cfg(unix)]
    #[test]
    fn only_their_owner_can_read_memos() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let memos = shelf.memos("a");
        keep(&memos, "text", b"memo");
        assert_eq!(fs::metadata(&memos.folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(only_file(&memos)).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_oldest_memos_go() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let memos = shelf.memos("a");
        keep(&memos, "first", b"memo");
        let past = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(only_file(&memos)).unwrap().set_modified(past).unwrap();
        let numbers: Vec<String> = (1..MEMOS_MAX).map(|number| number.to_string()).collect();
        memos.keep(numbers.iter().map(|number| (number.as_str(), Vec::new())));
        assert!(memos.recall("first").is_some());
        keep(&memos, "one more", b"memo");
        assert!(memos.recall("first").is_none() && memos.recall("one more").is_some());
        assert_eq!(fs::read_dir(&memos.folder).unwrap().count(), MEMOS_MAX);
    }

    #[test]
    fn a_memo_is_as_long_as_it_may_be_and_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let memos = shelf.memos("a");
        keep(&memos, "text", &vec![7; MEMO_BYTES_MAX + 1]);
        assert!(!memos.folder.exists());
        keep(&memos, "text", &vec![7; MEMO_BYTES_MAX]);
        assert_eq!(memos.recall("text").map(|memo| memo.len()), Some(MEMO_BYTES_MAX));
    }
}
