//! A place that lasts for a program that is run out of a cache, as `npx` and `uvx` do.
//!
//! Hooks name their program by its whole path, and a cache may be emptied at any time. So [`LastingProgram::put`] copies the
//! program into the user's data folder, which agents cannot write to, and hooks run the copy. A program in any other place
//! stays where it is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lockgate_agents::{Environment, install::running_program};

use crate::platform::keep_folder_private;

/// Folders in which runners of packages keep what they fetch, and the runner.
const CACHES: [(&str, &str); 3] = [("_npx", "npx"), ("archive-v0", "uvx"), ("dlx", "pnpm dlx")];

/// The program that hooks will run.
#[derive(Debug)]
pub(crate) struct LastingProgram {
    /// Where it will be.
    pub(crate) path: PathBuf,
    /// Where it is now, and what runs it from there, if that is a cache.
    cached: Option<(PathBuf, &'static str)>,
}

impl LastingProgram {
    /// This process's own program.
    ///
    /// # Errors
    /// When the system does not tell which it is.
    pub(crate) fn of_process(environment: &Environment) -> io::Result<Self> {
        Ok(Self::of(running_program()?, environment.data_folder()))
    }

    fn of(program: PathBuf, data: Option<PathBuf>) -> Self {
        let place = runner_of(&program).zip(data).zip(program.file_name());
        let Some(((runner, data), name)) = place else { return Self { path: program, cached: None } };
        let path = data.join("lockgate").join("bin").join(name);
        Self { path, cached: Some((program, runner)) }
    }

    /// What its user should know.
    pub(crate) fn note(&self) -> Option<String> {
        let (_, runner) = self.cached.as_ref()?;
        Some(format!(
            "hooks will run `{}`, a copy of this program, because the cache of {runner} may be emptied at any time",
            self.path.display()
        ))
    }

    /// Puts the program where it lasts, in one step: a hook that runs meanwhile finds the old one or the new one.
    ///
    /// # Errors
    /// When it cannot be copied: what was there is still there.
    pub(crate) fn put(&self) -> io::Result<()> {
        let (Some((from, _)), Some(folder)) = (&self.cached, self.path.parent()) else { return Ok(()) };
        let mut builder = fs::DirBuilder::new();
        keep_folder_private(&mut builder);
        builder.recursive(true).create(folder)?;
        let draft = folder.join(format!(".lockgate-{}", std::process::id()));
        let put = fs::copy(from, &draft).and_then(|_| fs::rename(&draft, &self.path));
        if put.is_err() {
            let _ = fs::remove_file(&draft);
        }
        put
    }
}

/// What has put a program into the cache in which it is.
pub(crate) fn runner_of(program: &Path) -> Option<&'static str> {
    let mut folders = program.ancestors().skip(1).filter_map(|folder| folder.file_name()?.to_str());
    let known = |folder: &str| CACHES.iter().find(|(name, _)| *name == folder).map(|(_, runner)| *runner);
    folders.find_map(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_cache_is_copied_and_any_other_stays() {
        let folder = tempfile::tempdir().unwrap();
        let cached = folder.path().join(".npm/_npx/ab12/node_modules/@lockgate/linux-x64/lockgate");
        fs::create_dir_all(cached.parent().unwrap()).unwrap();
        fs::write(&cached, "one").unwrap();
        let data = folder.path().join("data");
        let program = LastingProgram::of(cached.clone(), Some(data.clone()));
        assert!(program.path.starts_with(&data) && program.note().unwrap().contains("npx"));
        program.put().unwrap();
        assert_eq!(fs::read_to_string(&program.path).unwrap(), "one");
        // A newer one takes its place.
        fs::write(&cached, "two").unwrap();
        program.put().unwrap();
        assert_eq!(fs::read_to_string(&program.path).unwrap(), "two");
        assert_eq!(fs::read_dir(program.path.parent().unwrap()).unwrap().count(), 1);

        let installed = LastingProgram::of("/usr/bin/lockgate".into(), Some(data));
        assert_eq!(installed.path, Path::new("/usr/bin/lockgate"));
        assert!(installed.note().is_none() && installed.put().is_ok());
    }

    #[test]
    fn the_caches_of_runners_are_known() {
        for (program, runner) in [
            ("/home/a/.cache/uv/archive-v0/x/bin/lockgate", Some("uvx")),
            ("/home/a/.cache/pnpm/dlx/x/node_modules/@lockgate/linux-x64/lockgate", Some("pnpm dlx")),
            ("/home/a/.local/share/uv/tools/lockgate/bin/lockgate", None),
            ("/usr/lib/node_modules/lockgate/node_modules/@lockgate/linux-x64/lockgate", None),
            ("/home/a/_npx", None),
        ] {
            assert_eq!(runner_of(Path::new(program)), runner, "{program}");
        }
    }
}
