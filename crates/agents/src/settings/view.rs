//! What the guardian's client saw of a folder: the nearest project's files, and whether git could bring back others.
//!
//! A [`FolderView`] is all that the guardian ever knows about an agent's files. The last view of each folder is kept beside
//! the state ([`FolderView::keep`]), for commands that ask later which policy a session is under. Whether what a client says
//! is true is not known: a client that lies can only narrow, or say what a hook could be told as well.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lockgate::engine::Source;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::SettingsError;
use crate::{
    files::{make_folder, new_private},
    trust::text_hash,
};

/// Up to which size an index of git is searched; in a larger one the policy is taken to be.
const INDEX_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many views are kept of one user; the oldest are deleted first.
const VIEWS_MAX: usize = 500;
/// The largest view that is kept, in bytes: an agent's user could fill the guardian's disk with them.
const VIEW_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What was seen of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderView {
    /// The folder.
    pub folder: PathBuf,
    /// The work tree of git around the project, if its index holds a policy of Lockgate.
    pub repository: Option<PathBuf>,
    /// The nearest project; none where no folder above has settings or a policy.
    pub project: Option<ProjectView>,
}

/// What was seen of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectView {
    /// Its folder.
    pub root: PathBuf,
    /// Its file of settings and what it says.
    pub settings: Option<(PathBuf, String)>,
    /// Policy files and folders of them.
    pub files: Vec<PathBuf>,
    /// The policy files with all that they include, in order: their names and what they say.
    pub texts: Vec<(String, String)>,
}

impl ProjectView {
    pub(super) fn sources(&self) -> Vec<Source> {
        self.texts.iter().map(|(name, text)| Source::new(name.clone(), text.clone())).collect()
    }

    /// The hash of each file, by its path, as records of trust have it.
    pub(super) fn hashes(&self) -> BTreeMap<String, String> {
        let settings =
            self.settings.iter().map(|(path, text)| (path.to_string_lossy().into_owned(), text.clone()));
        settings.chain(self.texts.iter().cloned()).map(|(path, text)| (path, text_hash(&text))).collect()
    }
}

impl FolderView {
    /// The view of a folder that was kept last; an empty one where none was.
    pub(super) fn kept(views: &Path, folder: &Path) -> Result<Self, SettingsError> {
        let file = file_of(views, folder);
        let data = match fs::symlink_metadata(&file) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { folder: folder.to_path_buf(), ..Self::default() });
            }
            Err(error) => return Err(SettingsError::io(&file, &error)),
        };
        let broken = || SettingsError::new(&file, "it is not a view of a folder", "delete it");
        if !data.is_file() || data.len() > VIEW_BYTES_MAX {
            return Err(broken());
        }
        let text = fs::read(&file).map_err(|error| SettingsError::io(&file, &error))?;
        serde_json::from_slice(&text).map_err(|_| broken())
    }

    /// Keeps this view in the place of an earlier one, for the folder and for its project.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, views: &Path) -> io::Result<()> {
        self.keep_own(views)?;
        match &self.project {
            Some(project) if project.root != self.folder => {
                Self { folder: project.root.clone(), ..self.clone() }.keep_own(views)
            }
            _ => Ok(()),
        }
    }

    fn keep_own(&self, views: &Path) -> io::Result<()> {
        let (file, text) =
            (file_of(views, &self.folder), serde_json::to_vec(self).map_err(io::Error::other)?);
        if text.len() as u64 > VIEW_BYTES_MAX {
            let told = format!("the policy of the project is longer than {VIEW_BYTES_MAX} bytes");
            return Err(io::Error::other(told));
        }
        if fs::metadata(&file).is_ok_and(|data| data.len() == text.len() as u64)
            && fs::read(&file).is_ok_and(|kept| kept == text)
        {
            return Ok(());
        }
        make_folder(views)?;
        make_room(views)?;
        let draft = views.join(format!(".{}-{}", std::process::id(), unique()));
        let mut new = new_private().open(&draft)?;
        let kept = new.write_all(&text).and_then(|()| fs::rename(&draft, &file));
        if kept.is_err() {
            let _ = fs::remove_file(&draft);
        }
        kept
    }
}

fn file_of(views: &Path, folder: &Path) -> PathBuf {
    let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    views.join(format!("{name}.json"))
}

fn make_room(views: &Path) -> io::Result<()> {
    let mut kept: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(views)? {
        let entry = entry?;
        kept.push((entry.metadata()?.modified()?, entry.path()));
    }
    kept.sort();
    let over = (kept.len() + 1).saturating_sub(VIEWS_MAX);
    kept.iter().take(over).try_for_each(|(_, file)| match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The work tree of git around a folder, if its index holds a policy of Lockgate: then git can bring back other
/// versions of it.
pub fn repository_with_policy(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    let git = root.join(".git");
    let git = match fs::read_to_string(&git) {
        // A work tree beside the repository: a file that says where it is.
        Ok(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let index = git.join("index");
    let is_large = fs::metadata(&index).ok()?.len() > INDEX_BYTES_MAX;
    let has = |bytes: &[u8], name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    let holds = is_large
        || fs::read(&index).is_ok_and(|bytes| has(&bytes, ".lockgate/") || has(&bytes, "lockgate.toml"));
    holds.then(|| root.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_view_of_a_folder_and_of_its_project_is_kept() {
        let views = tempfile::tempdir().unwrap();
        let kept = |folder: &str| FolderView::kept(views.path(), Path::new(folder)).unwrap();
        assert_eq!(kept("/p/src").project, None);
        let project = ProjectView {
            root: PathBuf::from("/p"),
            settings: Some((PathBuf::from("/p/lockgate.toml"), "mode = \"enforce\"".to_owned())),
            files: vec![PathBuf::from("/p/.lockgate")],
            texts: vec![("/p/.lockgate/a.rules".to_owned(), "block x".to_owned())],
        };
        let view = FolderView { folder: PathBuf::from("/p/src"), repository: None, project: Some(project) };
        view.keep(views.path()).unwrap();
        view.keep(views.path()).unwrap();
        assert_eq!(kept("/p/src"), view);
        assert_eq!(kept("/p").project, view.project);
        assert_eq!(kept("/elsewhere").project, None);
        assert_eq!(fs::read_dir(views.path()).unwrap().count(), 2);
        assert_eq!(view.project.as_ref().map(|project| project.hashes().len()), Some(2));
        // One that is too long or damaged is an error.
        let long = ("/p/b.rules".to_owned(), "x".repeat(5 * 1024 * 1024));
        let project = view.project.clone().map(|project| ProjectView { texts: vec![long], ..project });
        assert!(FolderView { project, ..view.clone() }.keep(views.path()).is_err());
        fs::write(file_of(views.path(), Path::new("/p/src")), "{}").unwrap();
        assert!(FolderView::kept(views.path(), Path::new("/p/src")).is_err());
    }
}
