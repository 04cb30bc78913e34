//! How real agents come onto this machine: from the package registry, in fixed versions, into a folder of the build.
//!
//! Each package has a folder of its own, so that one can be replaced without the others. What was fetched whole is
//! marked as such and not fetched again. Nothing here names a registry: that is npm's own setting.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A package of the registry, in one version.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// As npm spells it.
    pub name: &'static str,
    /// Always an exact one.
    pub version: &'static str,
}

/// What agents that are written in JavaScript run on, whatever the machine has.
pub const NODE: Package = Package { name: "node", version: "24.21.0" };

const IS_COMPLETE: &str = "complete";

impl Package {
    /// The folder of its programs, after it was fetched if need be.
    pub fn programs(self, cache: &Path) -> Result<PathBuf, String> {
        Ok(self.folder(cache)?.join("node_modules").join(".bin"))
    }

    /// The folder it is in, after it was fetched if need be.
    pub fn folder(self, cache: &Path) -> Result<PathBuf, String> {
        let folder = cache.join(format!("{}-{}", self.name.replace(['@', '/'], "_"), self.version));
        if !folder.join(IS_COMPLETE).exists() {
            self.fetch(&folder)?;
            let mark = fs::write(folder.join(IS_COMPLETE), "");
            mark.map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(folder)
    }

    fn fetch(self, folder: &Path) -> Result<(), String> {
        let in_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
        // Half of an earlier try would be taken for the whole.
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(in_folder)?;
        }
        fs::create_dir_all(folder).map_err(in_folder)?;
        // Without a file of its own, npm would install into the nearest folder above that has one.
        fs::write(folder.join("package.json"), "{}").map_err(in_folder)?;
        let wanted = format!("{}@{}", self.name, self.version);
        let output = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error", &wanted])
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("npm cannot be run: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "npm cannot install {wanted}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }
}

/// Whether there is an npm, in words for people where there is none.
pub fn npm_is_here() -> Result<(), String> {
    match Command::new("npm").arg("--version").stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => {
            Err("there is no npm here, which fetches the agents; `apt-get install npm` brings it".to_owned())
        }
    }
}
