//! The files of this machine, for doors that run where the tools do.

use std::fs;

use lockgate_call::{Files, VersionChange};

use crate::{platform::has_other_names, versions};

/// The longest file that is read as a text, in bytes.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// Follows links on this machine. The last parts of a path need not exist yet: a call may be about to make them.
///
/// Links can change between the look and the call; for more than that, use a sandbox.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

impl Files for LocalFiles {
    fn canonical(&self, path: &str) -> Option<String> {
        soft_canonicalize::soft_canonicalize(path).ok()?.into_os_string().into_string().ok()
    }
}

/// The eyes of a door that runs where the tools do: `SeenCall::look(call, Some(&LocalEyes))`. Where a file has a second
/// name, it cannot say where that is, and has a doubt. A call from elsewhere must not be looked up here.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalEyes;

impl Files for LocalEyes {
    fn canonical(&self, path: &str) -> Option<String> {
        let real = LocalFiles.canonical(path)?;
        (!has_other_names(&real)).then_some(real)
    }

    fn text(&self, path: &str) -> Option<String> {
        let data = fs::metadata(path).ok()?;
        // A pipe or a device could keep us waiting.
        let is_small = data.is_file() && data.len() <= TEXT_BYTES_MAX;
        is_small.then(|| fs::read_to_string(path).ok()).flatten()
    }

    fn changed_by(&self, folder: &str, change: &VersionChange) -> Option<Vec<String>> {
        versions::changed_by(folder, change)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use lockgate_call::{Call, Files, SeenCall, paths};
    use lockgate_policy::{Boundaries, Reached, Sandbox};

    use super::{LocalEyes, LocalFiles};

    #[test]
    fn a_call_is_judged_by_where_its_paths_lead_on_this_machine() {
        let folder = std::env::temp_dir().join(format!("lockgate-links-{}", std::process::id()));
        let desk = folder.join("desk");
        std::fs::create_dir_all(&desk).unwrap();
        for file in ["secret", "desk/own"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(&folder, desk.join("soft")).unwrap();
        std::fs::hard_link(folder.join("secret"), desk.join("hard")).unwrap();
        let within = vec![desk.display().to_string()];
        let mut sandbox = Sandbox::new(Boundaries { within, ..Boundaries::default() }).unwrap();
        sandbox.resolve(&LocalFiles);
        let judge = |script: &str, looks: bool| {
            let mut call = Call::new("1", "bash").with("command", script);
            call.about.cwd = Some(desk.display().to_string());
            let eyes = looks.then_some(&LocalEyes as &dyn Files);
            sandbox.judge(&SeenCall::look(call, eyes)) == Reached::Inside
        };
        let scripts = ["cat own", "cat new/file", "cat soft/secret", "cat soft/desk/own", "cat hard"];
        let answers = scripts.map(|script| (judge(script, false), judge(script, true)));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(answers, [(true, true), (true, true), (true, false), (true, true), (true, false)]);
    }

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
