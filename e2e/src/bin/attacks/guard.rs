//! A guardian for a scene: another user of the system owns policy, keys, state and log.
//!
//! Everything lies in a scratch root of `lockgate guardian install --root`; the program of the scene is a script that names it.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// The policy of the machine's owner.
const POLICY: &str = "block Forbidden\nlimit Spend to 1 per session\nrequire human-approval before deploy\n";

/// Two users of the system, taken away at the end.
pub(crate) struct Users {
    agent: String,
    guardian: String,
}

impl Users {
    /// Makes them.
    ///
    /// # Errors
    /// When this process is not root, or has no `useradd`.
    pub(crate) fn make(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        let number = std::process::id();
        let users = Self { agent: format!("lga-a{number}"), guardian: format!("lga-g{number}") };
        for name in [&users.agent, &users.guardian] {
            let words = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", name];
            run(Command::new("useradd").args(words))?;
        }
        Ok(users)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        for name in [&self.agent, &self.guardian] {
            let _ = Command::new("userdel").arg(name).stderr(Stdio::null()).status();
        }
    }
}

/// The guardian of one scene.
pub(crate) struct Guard {
    agent: String,
    guardian: String,
    /// The scratch root.
    root: PathBuf,
    copy: PathBuf,
    real: PathBuf,
    /// What is run in the place of the program.
    pub(crate) wrapper: PathBuf,
    daemon: Option<Child>,
}

impl Guard {
    /// Installs and starts it.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn new(folder: &Path, lockgate: &Path, users: &Users) -> io::Result<Self> {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        let (root, real) = (folder.join("root"), folder.join("real/lockgate"));
        fs::create_dir_all(folder.join("real"))?;
        fs::copy(lockgate, &real)?;
        let machine = root.join("etc/lockgate/guardian.toml");
        let wrapper = folder.join("wrapper");
        let script = format!("#!/bin/sh\nexec {} --machine {} \"$@\"\n", real.display(), machine.display());
        fs::write(&wrapper, script)?;
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
        let (agent, guardian) = (users.agent.clone(), users.guardian.clone());
        let words =
            ["guardian", "install", "--user", &agent, "--as", &guardian, "--fresh", "--yes", "--root"];
        run(Command::new(&real).args(words).arg(&root))?;
        let policies = root.join("etc/lockgate/users");
        let policy = policies.join(id(&agent)?).join("lockgate");
        fs::create_dir_all(&policy)?;
        fs::write(policy.join("policy.rules"), POLICY)?;
        let text = fs::read_to_string(&machine)?;
        // Many scenes at once keep a machine busy.
        fs::write(&machine, format!("{text}deadline = \"30s\"\n"))?;
        let copy = folder.join("guardian-copy");
        let mut guard = Self { agent, guardian, root, copy, real, wrapper, daemon: None };
        guard.start()?;
        Ok(guard)
    }

    /// Gives a folder to the agent's user.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn give(&self, folder: &Path) -> io::Result<()> {
        run(Command::new("chown").args(["-R", &self.agent]).arg(folder))
    }

    /// A command of the agent's user.
    pub(crate) fn as_agent(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("setpriv");
        let words =
            ["--reuid", &self.agent, "--regid", &self.agent, "--clear-groups", "--no-new-privs", "--"];
        wrapped.args(words).arg(command.get_program()).args(command.get_args());
        wrapped
    }

    /// Keeps a copy of the state, to be brought back.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn keep(&mut self) -> io::Result<()> {
        self.stop();
        run(Command::new("cp").arg("-a").arg(self.root.join("var")).arg(&self.copy))?;
        self.start()
    }

    /// Brings the state back.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        self.stop();
        fs::remove_dir_all(self.root.join("var"))?;
        run(Command::new("cp").arg("-a").arg(&self.copy).arg(self.root.join("var")))?;
        self.start()
    }

    fn start(&mut self) -> io::Result<()> {
        let mut command = Command::new("setpriv");
        let words = ["--reuid", &self.guardian, "--regid", &self.guardian, "--clear-groups", "--"];
        command
            .args(words)
            .arg(&self.real)
            .arg("--machine")
            .arg(self.root.join("etc/lockgate/guardian.toml"));
        command.args(["serve", "--guardian"]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        self.daemon = Some(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let socket = self.root.join("run/lockgate/guardian.sock");
        for _ in 0..2_000 {
            if std::os::unix::net::UnixStream::connect(&socket).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(io::Error::other("the guardian does not listen"))
    }

    fn stop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop();
    }
}

fn id(name: &str) -> io::Result<String> {
    let said = Command::new("id").args(["-u", name]).output()?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn run(command: &mut Command) -> io::Result<()> {
    let said = command.stdin(Stdio::null()).output()?;
    if said.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    Err(io::Error::other(format!("{:?} failed: {told}", command.get_program())))
}
