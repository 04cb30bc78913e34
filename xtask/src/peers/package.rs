//! Our own packages for other languages: a call from there is measured beside the peers that are written in them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{ASK_MAX, Installed, in_place, run, runners, say};

/// A package of ours for another language.
#[derive(Debug)]
pub(super) struct Package {
    /// The crate of its library, and how the library is called.
    pub(super) crate_name: &'static str,
    library: &'static str,
    /// Where its sources are, which of them it has, and how it calls the library.
    sources: &'static str,
    parts: &'static [&'static str],
    library_name: &'static str,
    /// What runs it, and its runner.
    host: &'static str,
    runner: &'static str,
}

/// The Python package.
pub(super) static PYTHON: Package = Package {
    crate_name: "lockgate-python",
    library: "_lockgate",
    sources: "bindings/python/python",
    parts: &["lockgate"],
    library_name: "lockgate/_lockgate.abi3.so",
    host: "python3",
    runner: "python/lockgate_runner.py",
};

/// The Node package.
pub(super) static NODE: Package = Package {
    crate_name: "lockgate-node",
    library: "lockgate_node",
    sources: "bindings/node",
    parts: &["package.json", "lib"],
    library_name: "lockgate.node",
    host: "node",
    runner: "node/lockgate_runner.js",
};

impl Package {
    /// Builds the package as it is shipped, and lays it out as an installed one.
    pub(super) fn lay_out(&self, folder: &Path) -> Result<Installed, String> {
        let root = runners().join("../..");
        say(&format!("building {} …", self.crate_name));
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--profile", "dist", "--locked", "--quiet", "-p", self.crate_name]);
        run(cargo.current_dir(&root), "cargo", "builds it")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let library = target.join("dist").join(format!("{prefix}{}{suffix}", self.library));
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(in_place(folder))?;
        }
        for part in self.parts {
            copy_all(&root.join(self.sources).join(part), &folder.join(part))?;
        }
        copy_all(&library, &folder.join(self.library_name))?;
        let runner = runners().join(self.runner);
        let args = match self.host {
            // Without `-B`, Python would write what it compiled into our sources.
            "python3" => vec!["-B".into(), runner.into(), folder.into()],
            _ => vec![runner.into(), folder.into()],
        };
        Ok(Installed { program: self.host.into(), args, hook: None, time_limit: ASK_MAX })
    }
}

/// Copies a file, or a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        for entry in fs::read_dir(from).map_err(in_place(from))? {
            let name = entry.map_err(in_place(from))?.file_name();
            copy_all(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(in_place(folder))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(in_place(from))
}
