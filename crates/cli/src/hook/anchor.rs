//! Which folder's policy a session is under, decided once.
//!
//! An agent may change its working folder as it likes, and must not leave its policy behind by that. So the folder
//! of a session's first event is kept, and every later event is judged by the policy found from there. Anchors are
//! small files: where the state rests may itself depend on the policy's folder.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The folder that a session's policy is looked for from: that of its first event, or `folder` if this is it.
///
/// # Errors
/// When the anchor can neither be read nor made, or its folder is gone: the session's policy is not known then.
pub(crate) fn folder_of(anchors: &Path, session: &str, folder: &Path) -> io::Result<PathBuf> {
    let anchor = anchor_of(anchors, session);
    match fs::read_to_string(&anchor) {
        Ok(text) => return kept(&anchor, &text),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let text = folder.to_str().ok_or_else(|| io::Error::other("the folder's name is no Unicode"))?;
    make_folder(anchors)?;
    // Written whole under another name first: nobody ever reads half an anchor. The first to link it wins.
    let draft = anchors.join(format!(".{}-{}", std::process::id(), unique()));
    let mut file = private().open(&draft)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
    let linked = written.and_then(|()| fs::hard_link(&draft, &anchor));
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => Ok(folder.to_path_buf()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            kept(&anchor, &fs::read_to_string(&anchor)?)
        }
        Err(error) => Err(error),
    }
}

/// The folder a session began in, if it is known; nothing is made by asking.
pub(crate) fn known_folder(anchors: &Path, session: &str) -> Option<PathBuf> {
    let anchor = anchor_of(anchors, session);
    kept(&anchor, &fs::read_to_string(&anchor).ok()?).ok()
}

fn anchor_of(anchors: &Path, session: &str) -> PathBuf {
    let name: String = Sha256::digest(session).iter().map(|byte| format!("{byte:02x}")).collect();
    anchors.join(name)
}

fn kept(anchor: &Path, text: &str) -> io::Result<PathBuf> {
    let folder = PathBuf::from(text);
    if folder.is_absolute() && folder.is_dir() {
        return Ok(folder);
    }
    Err(io::Error::other(format!(
        "this session began in `{text}`, which is gone; put it back, or remove {} to let the session begin anew",
        anchor.display()
    )))
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(unix)]
fn private() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

#[cfg(not(unix))]
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    options
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_the_folder_it_began_in() {
        let root = std::env::temp_dir().join(format!("lockgate-anchor-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (anchors, home, other) = (root.join("anchors"), root.join("home"), root.join("other"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&other).unwrap();
        assert_eq!(folder_of(&anchors, "a/1", &home).unwrap(), home);
        assert_eq!(folder_of(&anchors, "a/1", &other).unwrap(), home);
        assert_eq!(folder_of(&anchors, "a/2", &other).unwrap(), other);
        assert_eq!(known_folder(&anchors, "a/1"), Some(home.clone()));
        assert_eq!(known_folder(&anchors, "a/3"), None);
        // A folder that is gone is not replaced by another.
        fs::remove_dir_all(&home).unwrap();
        let error = folder_of(&anchors, "a/1", &other).unwrap_err().to_string();
        assert!(error.contains("which is gone"), "{error}");
        // Nothing is left but the anchors.
        assert_eq!(fs::read_dir(&anchors).unwrap().count(), 2);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn of_many_first_events_at_once_one_wins() {
        let root = std::env::temp_dir().join(format!("lockgate-anchors-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let folders: Vec<PathBuf> = (0..8).map(|it| root.join(it.to_string())).collect();
        folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        let anchors = root.join("anchors");
        let chosen: Vec<PathBuf> = std::thread::scope(|scope| {
            let all =
                folders.iter().map(|folder| scope.spawn(|| folder_of(&anchors, "a/1", folder).unwrap()));
            all.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(chosen.iter().all(|folder| folder == &chosen[0]), "{chosen:?}");
        fs::remove_dir_all(&root).unwrap();
    }
}
