//! Which folder's policy a session is under, decided once, and that this policy does not vanish.
//!
//! An agent may change its working folder as it likes, and must not leave its policy behind by that. So the folder
//! of a session's first event is kept, and every later event is judged by the policy found from there. Beside it is kept
//! whose policies a session was under ([`remember`], [`missing_policy`]): one that is not found any more is never replaced by a weaker one.
//! All of these are small files: where the state rests may itself depend on the policy's folder. None of them is ever
//! changed, so two processes cannot lose what the other one wrote.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::files::{make_folder, new_private};

/// The folder that a session's policy is looked for from: that of its first event, or `folder` if this is it.
///
/// # Errors
/// When the record can neither be read nor made, or its folder is gone: the session's policy is not known then.
pub(crate) fn folder_of(records: &Path, session: &str, folder: &Path) -> io::Result<PathBuf> {
    kept(&recorded_folder(records, session, folder)?)
}

/// The same, for the guardian, which does not look whether the folder is there.
pub(crate) fn recorded_folder(records: &Path, session: &str, folder: &Path) -> io::Result<String> {
    let text = folder.to_str().ok_or_else(|| io::Error::other("the folder's name is not Unicode"))?;
    keep(records, &record_of(records, session), text)
}

/// Whether it is known where a session began.
pub(crate) fn is_known(records: &Path, session: &str) -> bool {
    fs::symlink_metadata(record_of(records, session)).is_ok()
}

/// A policy that a session was under and that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingPolicy {
    /// The folder it was found in.
    pub(crate) folder: String,
    /// Whether it was the user's own.
    pub(crate) is_user: bool,
}

impl std::fmt::Display for MissingPolicy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { folder, is_user } = self;
        let whose = if *is_user { "the user's policy in" } else { "the policy of the project" };
        write!(
            out,
            "this session began under {whose} `{folder}`, which is gone, so every call is blocked; tell the human: put \
             the policy back (`git stash -u`, `git clean -fdx` and a moved folder take it away), or start a new session"
        )
    }
}

/// Whose policies a session is under, by their folders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policies<'a> {
    pub(crate) project: Option<&'a Path>,
    pub(crate) user: Option<&'a Path>,
}

impl<'a> Policies<'a> {
    fn each(self) -> [(&'static str, Option<&'a Path>, bool); 2] {
        [("project", self.project, false), ("user", self.user, true)]
    }
}

/// Which of the policies that a session was under is not among those that are found now. Another project's policy does not
/// stand in for one.
///
/// # Errors
/// When that cannot be read.
pub(crate) fn missing_policy(
    records: &Path,
    session: &str,
    now: Policies<'_>,
) -> io::Result<Option<MissingPolicy>> {
    for (ending, found, is_user) in now.each() {
        let before = match fs::read_to_string(record_of(records, session).with_extension(ending)) {
            Ok(before) => before,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let folder = before.lines().next().unwrap_or_default();
        if found.and_then(Path::to_str) != Some(folder) {
            return Ok(Some(MissingPolicy { folder: folder.to_owned(), is_user }));
        }
    }
    Ok(None)
}

/// Keeps whose policies a session is under from now on, and the hash of all of it where it is known.
///
/// # Errors
/// When that cannot be kept.
pub(crate) fn remember(
    records: &Path,
    session: &str,
    now: Policies<'_>,
    hash: Option<&str>,
) -> io::Result<()> {
    for (ending, found, _) in now.each() {
        let Some(folder) = found else { continue };
        let folder = folder.to_str();
        let folder = folder.ok_or_else(|| io::Error::other("the policy's folder is not Unicode"))?;
        let text = format!("{folder}\n{}\n", hash.unwrap_or_default());
        keep(records, &record_of(records, session).with_extension(ending), &text)?;
    }
    Ok(())
}

/// Keeps in which database a session is stored; the one it was stored in first.
///
/// # Errors
/// When that cannot be kept or read.
pub(crate) fn database_of(records: &Path, session: &str, state: &Path) -> io::Result<String> {
    keep(records, &record_of(records, session).with_extension("state"), name_of(state)?)
}

/// Keeps in which database new sessions are stored; the one that was used first, until [`choose_database`].
///
/// # Errors
/// When that cannot be kept or read.
pub(crate) fn chosen_database(records: &Path, state: &Path) -> io::Result<String> {
    keep(records, &chosen(records), name_of(state)?)
}

/// Stores new sessions in another database from now on.
///
/// # Errors
/// When that cannot be kept.
pub(crate) fn choose_database(records: &Path, state: &Path) -> io::Result<()> {
    let draft = draft_of(records, name_of(state)?)?;
    fs::rename(draft, chosen(records))
}

/// Whether something is said for the first time in a session; it is remembered as said.
///
/// # Errors
/// When that cannot be kept.
pub(crate) fn is_first(records: &Path, session: &str, text: &str) -> io::Result<bool> {
    let hash: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let file = record_of(records, session).with_extension(format!("said-{hash}"));
    let is_first = fs::symlink_metadata(&file).is_err();
    keep(records, &file, "")?;
    Ok(is_first)
}

/// What a file has said since it was made, which is now if it is not there.
fn keep(records: &Path, file: &Path, text: &str) -> io::Result<String> {
    match fs::read_to_string(file) {
        Ok(text) => return Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let draft = draft_of(records, text)?;
    // The first to link it wins.
    let linked = fs::hard_link(&draft, file);
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => Ok(text.to_owned()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::read_to_string(file),
        Err(error) => Err(error),
    }
}

/// A record that has no name yet. It is written whole, so no process ever reads half of it.
fn draft_of(records: &Path, text: &str) -> io::Result<PathBuf> {
    make_folder(records)?;
    let draft = records.join(format!(".{}-{}", std::process::id(), unique()));
    let mut new = new_private().open(&draft)?;
    match new.write_all(text.as_bytes()).and_then(|()| new.flush()) {
        Ok(()) => Ok(draft),
        Err(error) => {
            let _ = fs::remove_file(&draft);
            Err(error)
        }
    }
}

fn chosen(records: &Path) -> PathBuf {
    records.join("database")
}

fn name_of(state: &Path) -> io::Result<&str> {
    state.to_str().ok_or_else(|| io::Error::other("the database's name is not Unicode"))
}

/// The folder a session began in, if it is known; nothing is made by asking.
pub(crate) fn known_folder(records: &Path, session: &str) -> Option<PathBuf> {
    kept(&known_text(records, session)?).ok()
}

/// The same as it was recorded, whether it is there or not.
pub(crate) fn known_text(records: &Path, session: &str) -> Option<String> {
    fs::read_to_string(record_of(records, session)).ok()
}

fn record_of(records: &Path, session: &str) -> PathBuf {
    let name: String = Sha256::digest(session).iter().map(|byte| format!("{byte:02x}")).collect();
    records.join(name)
}

fn kept(text: &str) -> io::Result<PathBuf> {
    let folder = PathBuf::from(text);
    if folder.is_absolute() && folder.is_dir() {
        return Ok(folder);
    }
    Err(io::Error::other(gone(text)))
}

/// What is said where the folder of a session is not there.
pub(crate) fn gone(folder: &str) -> String {
    format!("this session began in `{folder}`, which is gone; put it back, or start a new session")
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_the_folder_it_began_in() {
        let root = std::env::temp_dir().join(format!("lockgate-anchor-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (records, home, other) = (root.join("anchors"), root.join("home"), root.join("other"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&other).unwrap();
        assert!(!is_known(&records, "a/1"));
        assert_eq!(folder_of(&records, "a/1", &home).unwrap(), home);
        assert_eq!(folder_of(&records, "a/1", &other).unwrap(), home);
        assert_eq!(folder_of(&records, "a/2", &other).unwrap(), other);
        assert!(is_known(&records, "a/1"));
        assert_eq!(known_folder(&records, "a/1"), Some(home.clone()));
        assert_eq!(known_folder(&records, "a/3"), None);
        // A folder that is gone is not replaced by another.
        fs::remove_dir_all(&home).unwrap();
        let error = folder_of(&records, "a/1", &other).unwrap_err().to_string();
        assert!(error.contains("which is gone"), "{error}");
        // Nothing is left but the records.
        assert_eq!(fs::read_dir(&records).unwrap().count(), 2);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn of_many_first_events_at_once_one_wins() {
        let root = std::env::temp_dir().join(format!("lockgate-anchors-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let folders: Vec<PathBuf> = (0..8).map(|it| root.join(it.to_string())).collect();
        folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        let records = root.join("anchors");
        let chosen: Vec<PathBuf> = std::thread::scope(|scope| {
            let all =
                folders.iter().map(|folder| scope.spawn(|| folder_of(&records, "a/1", folder).unwrap()));
            all.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(chosen.iter().all(|folder| folder == &chosen[0]), "{chosen:?}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_policy_that_a_session_was_under_does_not_vanish_unseen() {
        let root = std::env::temp_dir().join(format!("lockgate-stays-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (one, two, user) = (Path::new("/one"), Path::new("/two"), Path::new("/user"));
        let gone = |folder: &str, is_user| Some(MissingPolicy { folder: folder.to_owned(), is_user });
        for (session, project, own, missing_policy) in [
            ("a", None, None, None),
            ("a", Some(one), None, None),
            ("a", Some(one), Some(user), None),
            ("a", Some(one), None, gone("/user", true)),
            ("a", None, Some(user), gone("/one", false)),
            ("a", Some(two), Some(user), gone("/one", false)),
            ("a", Some(one), Some(user), None),
            ("b", None, None, None),
            ("b", Some(two), None, None),
        ] {
            let now = Policies { project, user: own };
            assert_eq!(
                super::missing_policy(&root, session, now).unwrap(),
                missing_policy,
                "{session} {now:?}"
            );
            remember(&root, session, now, Some("hash")).unwrap();
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
