//! What keeps files of this machine out of version control: lines in Git's `info/exclude`.
//!
//! `.git/info/exclude` belongs to one clone, so nothing of it reaches others. [`excluded`] and [`included`] go from text
//! to text. Git itself is not run, and nothing that Git tracks already is touched.

use std::{
    fs,
    path::{Path, PathBuf},
};

const BEGIN: &str = "# lockgate: files of this machine";
const END: &str = "# lockgate: end";

/// The repository a folder is in, and its file of exclusions.
pub struct Repository {
    /// The folder its patterns start from.
    pub top: PathBuf,
    /// Its file of exclusions.
    pub exclude: PathBuf,
}

impl Repository {
    /// The repository that a folder is in, if any.
    pub fn of(folder: &Path) -> Option<Self> {
        let top = folder.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok())?;
        let git = git_folder(&top.join(".git"))?;
        Some(Self { top: top.to_path_buf(), exclude: git.join("info").join("exclude") })
    }

    /// The pattern that takes exactly this file; none where it lies elsewhere, or has a name that no pattern has.
    pub fn pattern(&self, file: &Path) -> Option<String> {
        let path = file.strip_prefix(&self.top).ok()?.to_str()?;
        let is_plain = !path.is_empty() && !path.contains(['\n', '\\', '*', '?', '[', '!', '#']);
        (is_plain && path.trim() == path).then(|| format!("/{path}"))
    }
}

/// Where Git keeps what all worktrees of a repository share.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    let folder = git.parent()?;
    let text = fs::read_to_string(git).ok()?;
    let own = folder.join(text.strip_prefix("gitdir:")?.trim());
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(common) => own.join(common.trim()),
        Err(_) => own,
    };
    fs::canonicalize(common).ok().filter(|common| common.is_dir())
}

/// The text with these patterns in it, once each.
pub fn excluded(text: Option<&str>, patterns: &[String]) -> String {
    let text = text.unwrap_or_default();
    let (rest, known) = parted(text);
    let mut patterns: Vec<&str> = known.into_iter().chain(patterns.iter().map(String::as_str)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    format!("{rest}{gap}{BEGIN}\n{}\n{END}\n", patterns.join("\n"))
}

/// The text without what [`excluded`] has put into it.
pub fn included(text: &str) -> String {
    parted(text).0
}

/// What others wrote, and our patterns. A block without an end is not ours.
fn parted(text: &str) -> (String, Vec<&str>) {
    let block = || {
        let begin = text.find(&format!("{BEGIN}\n"))?;
        let (before, ours) = text.split_at_checked(begin)?;
        let (ours, after) = ours.split_once(&format!("{END}\n"))?;
        Some((format!("{before}{after}"), ours.lines().skip(1).collect()))
    };
    block().unwrap_or_else(|| (text.to_owned(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_again() {
        let patterns = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let ours = format!("{BEGIN}\n/.lockgate/\n{END}\n");
        for text in ["", "# mine\n*.log\n", "*.log"] {
            let once = excluded(Some(text), &patterns(&["/.lockgate/"]));
            assert!(once.ends_with(&ours), "{once}");
            assert_eq!(excluded(Some(&once), &patterns(&["/.lockgate/"])), once);
            assert_eq!(included(&once).trim_end(), text.trim_end());
            let more = excluded(Some(&once), &patterns(&["/.codex/hooks.json"]));
            assert!(more.contains("/.codex/hooks.json\n/.lockgate/\n"), "{more}");
        }
        assert_eq!(included("nothing of ours\n"), "nothing of ours\n");
        assert_eq!(excluded(None, &patterns(&["/.lockgate/"])), ours);
    }

    #[test]
    fn the_repository_is_found_from_below_and_in_a_worktree() {
        let top = std::env::temp_dir().join(format!("lockgate-exclude-{}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        fs::create_dir_all(top.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(top.join("repo/src")).unwrap();
        fs::create_dir_all(top.join("w")).unwrap();
        fs::write(top.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        let git = top.join("repo/.git/worktrees/w");
        fs::write(top.join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        let found = Repository::of(&top.join("repo/src")).unwrap();
        assert_eq!(found.exclude, top.join("repo/.git/info/exclude"));
        assert_eq!(found.pattern(&top.join("repo/src/.lockgate/")).as_deref(), Some("/src/.lockgate"));
        assert_eq!(found.pattern(&top.join("elsewhere")), None);
        assert_eq!(found.pattern(&top.join("repo/a*b")), None);
        let worktree = Repository::of(&top.join("w")).unwrap();
        assert_eq!(
            fs::canonicalize(worktree.exclude.parent().unwrap().parent().unwrap()).unwrap(),
            fs::canonicalize(top.join("repo/.git")).unwrap()
        );
        assert!(Repository::of(Path::new("/")).is_none());
        fs::remove_dir_all(&top).unwrap();
    }
}
