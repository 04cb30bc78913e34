//! The peers: SDK clients and servers as others publish them, in fixed versions, and how each is started.
//!
//! What is fetched is kept in one folder outside of the repository and not fetched again. Our own part of each is a
//! driver that plays a script with the SDK, and a server that has something of everything. Peers that need an account
//! are missing on purpose.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use lockgate_e2e::{NODE, Package};

use crate::stage::Stage;

const SDK_OLD: Package = Package { name: "@modelcontextprotocol/sdk", version: "1.32.2" };
const SDK: Package = Package { name: "@modelcontextprotocol/client", version: "2.4.0" };
const EVERYTHING: Package = Package { name: "@modelcontextprotocol/server-everything", version: "2026.8.31" };
const FILESYSTEM: Package = Package { name: "@modelcontextprotocol/server-filesystem", version: "2026.8.31" };
/// The one that knows the revisions with `initialize` only, and the one that knows the stateless revision as well.
const CONFORMANCE_OLD: Package = Package { name: "@modelcontextprotocol/conformance", version: "0.1.16" };
const CONFORMANCE: Package = Package { name: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" };
const PYTHON_SDK: &str = "mcp==2.3.0";

const DRIVE_TYPESCRIPT: &str = include_str!("drive.mjs");
const DRIVE_PYTHON: &str = include_str!("drive.py");
const SERVER: &str = include_str!("server.py");

/// Everything that was fetched, as folders and programs.
#[derive(Debug)]
pub(crate) struct Peers {
    node: PathBuf,
    sdk_old: PathBuf,
    sdk: PathBuf,
    everything: PathBuf,
    filesystem: PathBuf,
    conformance_old: PathBuf,
    conformance: PathBuf,
    python: PathBuf,
    /// Where our own scripts are.
    scripts: PathBuf,
}

impl Peers {
    /// Fetches what is not there yet, all at once; otherwise says everything that could not be fetched.
    pub(crate) fn fetch(cache: &Path) -> Result<Self, String> {
        let packages = [SDK_OLD, SDK, EVERYTHING, FILESYSTEM, CONFORMANCE_OLD, CONFORMANCE];
        let (folders, node, python) = thread::scope(|scope| {
            let node = scope.spawn(|| NODE.programs(cache));
            let python = scope.spawn(|| fetch_python(cache));
            let fetching: Vec<_> =
                packages.iter().map(|package| scope.spawn(|| package.folder(cache))).collect();
            let broke_off = || Err("fetching broke off".to_owned());
            let folders: Vec<_> =
                fetching.into_iter().map(|one| one.join().unwrap_or_else(|_| broke_off())).collect();
            let (node, python) = (node.join(), python.join());
            (folders, node.unwrap_or_else(|_| broke_off()), python.unwrap_or_else(|_| broke_off()))
        });
        let failed: Vec<&String> =
            folders.iter().chain([&node, &python]).filter_map(|one| one.as_ref().err()).collect();
        if !failed.is_empty() {
            return Err(failed.into_iter().cloned().collect::<Vec<_>>().join("\n"));
        }
        let mut folders = folders.into_iter().flatten();
        let mut next = || folders.next().ok_or("a package is missing".to_owned());
        let (sdk_old, sdk) = (next()?, next()?);
        let (everything, filesystem) = (next()?, next()?);
        let (conformance_old, conformance) = (next()?, next()?);
        let scripts = cache.join("scripts");
        let peers = Self {
            node: node?,
            sdk_old,
            sdk,
            everything,
            filesystem,
            conformance_old,
            conformance,
            python: python?,
            scripts,
        };
        peers.lay_out_scripts().map_err(|error| format!("{}: {error}", peers.scripts.display()))?;
        Ok(peers)
    }

    /// A script finds a package only in a folder above its own, so each SDK gets a copy beside it.
    fn lay_out_scripts(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.scripts)?;
        fs::write(self.scripts.join("drive.py"), DRIVE_PYTHON)?;
        fs::write(self.scripts.join("server.py"), SERVER)?;
        for (name, sdk) in [("old", &self.sdk_old), ("new", &self.sdk)] {
            let folder = self.scripts.join(name);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("drive.mjs"), DRIVE_TYPESCRIPT)?;
            symlink(sdk.join("node_modules"), folder.join("node_modules"))?;
        }
        Ok(())
    }

    /// The folder of the programs that peers look for.
    pub(crate) fn programs(&self) -> &Path {
        &self.node
    }

    fn node(&self) -> String {
        self.node.join("node").display().to_string()
    }

    fn conformance(&self, suite: &Suite) -> String {
        let folder = if suite.is_old { &self.conformance_old } else { &self.conformance };
        folder.join("node_modules/.bin/conformance").display().to_string()
    }
}

fn fetch_python(cache: &Path) -> Result<PathBuf, String> {
    let folder = cache.join(format!("python-{}", PYTHON_SDK.replace("==", "-")));
    let (python, mark) = (folder.join("bin/python"), folder.join("complete"));
    if mark.exists() {
        return Ok(python);
    }
    // Half of an earlier try would be taken for the whole.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    let path = folder.display().to_string();
    succeed(
        Command::new("python3").args(["-m", "venv", &path]),
        "python3 cannot make a folder for packages",
    )?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTHON_SDK]);
    succeed(&mut install, &format!("pip cannot install {PYTHON_SDK}"))?;
    fs::write(&mark, "").map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(python)
}

fn succeed(command: &mut Command, otherwise: &str) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{otherwise}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{otherwise}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// An SDK client in one way of settling the revision.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    sdk: Sdk,
    /// `legacy` begins with `initialize`, `modern` insists on the stateless revision, `auto` asks the server.
    pub(crate) era: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sdk {
    TypeScriptOld,
    TypeScript,
    Python,
}

pub(crate) const TYPESCRIPT_OLD: &Client =
    &Client { name: "typescript-1", sdk: Sdk::TypeScriptOld, era: "legacy" };
pub(crate) const TYPESCRIPT_LEGACY: &Client =
    &Client { name: "typescript-2-legacy", sdk: Sdk::TypeScript, era: "legacy" };
pub(crate) const TYPESCRIPT_MODERN: &Client =
    &Client { name: "typescript-2-modern", sdk: Sdk::TypeScript, era: "modern" };
pub(crate) const TYPESCRIPT_AUTO: &Client =
    &Client { name: "typescript-2-auto", sdk: Sdk::TypeScript, era: "auto" };
pub(crate) const PYTHON_LEGACY: &Client = &Client { name: "python-legacy", sdk: Sdk::Python, era: "legacy" };
pub(crate) const PYTHON_AUTO: &Client = &Client { name: "python-auto", sdk: Sdk::Python, era: "auto" };

impl Client {
    /// How it is started to play a script.
    pub(crate) fn command(&self, peers: &Peers, script: &Path) -> Vec<String> {
        let script = script.display().to_string();
        let file = |name: &str| peers.scripts.join(name).display().to_string();
        match self.sdk {
            Sdk::TypeScriptOld => vec![peers.node(), file("old/drive.mjs"), "old".to_owned(), script],
            Sdk::TypeScript => vec![peers.node(), file("new/drive.mjs"), "new".to_owned(), script],
            Sdk::Python => vec![peers.python.display().to_string(), file("drive.py"), script],
        }
    }

    /// Whether it can ask for a result that comes later.
    pub(crate) fn knows_tasks(&self) -> bool {
        self.sdk == Sdk::TypeScriptOld
    }
}

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// Shows all of the protocol, but for the stateless revision.
    Everything,
    /// Reads and writes files.
    Filesystem,
    /// Ours, which knows both eras and writes down what it ran.
    Rig,
}

impl Server {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Filesystem => "filesystem",
            Self::Rig => "rig",
        }
    }

    /// How it is started: over stdin and stdout, or over HTTP at a port.
    pub(crate) fn command(self, peers: &Peers, stage: &Stage, port: Option<u16>) -> Vec<String> {
        let script = |folder: &Path, package: Package| {
            folder.join("node_modules").join(package.name).join("dist/index.js").display().to_string()
        };
        match self {
            Self::Everything => {
                let script = script(&peers.everything, EVERYTHING);
                match port {
                    None => vec![peers.node(), script, "stdio".to_owned()],
                    Some(port) => Vec::from([
                        "/usr/bin/env".to_owned(),
                        format!("PORT={port}"),
                        peers.node(),
                        script,
                        "streamableHttp".to_owned(),
                    ]),
                }
            }
            Self::Filesystem => {
                let files = stage.root().join("files").display().to_string();
                vec![peers.node(), script(&peers.filesystem, FILESYSTEM), files]
            }
            Self::Rig => rig(peers, &stage.root().join("ran"), port),
        }
    }
}

/// How our server is started so that it writes what it ran to `log`.
pub(crate) fn rig(peers: &Peers, log: &Path, port: Option<u16>) -> Vec<String> {
    let mut command = Vec::from([
        peers.python.display().to_string(),
        peers.scripts.join("server.py").display().to_string(),
        log.display().to_string(),
    ]);
    command.extend(port.map(|port| port.to_string()));
    command
}

/// A set of scenarios of the conformance package.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    is_old: bool,
    arguments: &'static [&'static str],
}

pub(crate) const SUITES: &[Suite] = &[
    Suite { name: "2025-11-25 of 0.1.16", is_old: true, arguments: &["--suite", "all"] },
    Suite { name: "2025-11-25", is_old: false, arguments: &["--requirements", "2025-11-25"] },
    Suite { name: "2026-07-28", is_old: false, arguments: &["--requirements", "2026-07-28"] },
];

impl Suite {
    /// How it is run against a server at a port, with results in a folder.
    pub(crate) fn command(&self, peers: &Peers, port: u16, results: &Path) -> Vec<String> {
        let mut command = Vec::from([
            peers.conformance(self),
            "server".to_owned(),
            "--url".to_owned(),
            format!("http://127.0.0.1:{port}/mcp"),
            "--output-dir".to_owned(),
            results.display().to_string(),
        ]);
        command.extend(self.arguments.iter().map(|argument| (*argument).to_owned()));
        command
    }
}
