//! The files of this machine, for doors that run where the tools do.

use lockgate_call::Files;

/// Follows links on this machine. The last parts of a path need not exist yet: a call may be about to make them.
///
/// Links can change between the look and the call; whoever needs more than that needs a sandbox.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

impl Files for LocalFiles {
    fn canonical(&self, path: &str) -> Option<String> {
        soft_canonicalize::soft_canonicalize(path).ok()?.into_os_string().into_string().ok()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use lockgate_call::{Call, paths};

    use super::LocalFiles;

    #[test]
    fn a_link_out_of_the_folder_is_not_under_it() {
        let folder = std::env::temp_dir().join(format!("lockgate-files-{}", std::process::id()));
        let desk = folder.join("desk");
        std::fs::create_dir_all(&desk).unwrap();
        std::os::unix::fs::symlink("/etc", desk.join("link")).unwrap();
        let desk = std::fs::canonicalize(&desk).unwrap();
        let under = |name: &str| {
            let path = desk.join(name).display().to_string();
            let touched = paths(&Call::new("1", "write").with("path", path));
            let desk = desk.display().to_string();
            let is_under = |files| touched.touched.iter().all(|path| path.is_under(&desk, files));
            (is_under(None), is_under(Some(&LocalFiles)))
        };
        let answers = [under("new/file"), under("link/passwd"), under("link/../desk/x")];
        std::fs::remove_dir_all(&folder).unwrap();
        // By its text each stays inside; behind the link only the first does.
        assert_eq!(answers, [(true, true), (true, false), (true, false)]);
    }
}
