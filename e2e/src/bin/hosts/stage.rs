//! Where one scenario happens: a home and a project of its own, a stub for a model, and the agent as a process.
//!
//! An agent sees nothing of this machine but programs. When it takes too long, it and whatever it has started are
//! killed; the stage stays behind where something went wrong, so that people can look at it.

use std::{
    env, fs,
    fs::File,
    io,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use lockgate_e2e::{Script, StubModel};
use lockgate_testkit::human;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::agents::Agent;

/// How long an agent may take for everything.
const RUN_MAX: Duration = Duration::from_secs(300);

/// Programs that every machine has.
const SYSTEM_PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";

/// Under root, permissions mean something only without these.
const WITHOUT_POWERS: &[&str] =
    &["--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search"];

/// The folders and the model of one scenario.
pub(crate) struct Stage {
    root: PathBuf,
    model: StubModel,
}

impl Stage {
    /// Empty folders, and a model that follows the script.
    pub(crate) fn set_up(script: Script) -> io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("lockgate-hosts-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Whole and without links: agents compare the folder they are in with the one they were told to trust.
        let root = fs::canonicalize(env::temp_dir())?.join(name);
        for folder in ["home", "project", "bin"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let model = StubModel::start(0, script, &root.join("requests.jsonl"))?;
        Ok(Self { root, model })
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The program that the hooks name. It is this stage's own, so that it can be broken.
    pub(crate) fn lockgate(&self) -> PathBuf {
        self.root.join("bin").join("lockgate")
    }

    /// Where the sessions of this stage's user rest.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join(".local/share/lockgate")
    }

    pub(crate) fn port(&self) -> u16 {
        self.model.port()
    }

    /// Puts Lockgate into the hooks of the agent, as a user would.
    pub(crate) fn install(&self, agent: &Agent, program: &Path) -> io::Result<()> {
        if fs::hard_link(program, self.lockgate()).is_err() {
            fs::copy(program, self.lockgate())?;
        }
        let output = self.command(&self.lockgate()).args(["init", agent.name, "--yes"]).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!(
                "init: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        match self.project().join(agent.hooks).exists() {
            true => Ok(()),
            false => Err(io::Error::other(format!("init has not written {}", agent.hooks))),
        }
    }

    /// Trusts the project's policy as it is now, as a user does who has read it.
    pub(crate) fn trust(&self) -> io::Result<()> {
        human::trust(&self.lockgate(), &self.project(), &self.home())
    }

    /// Runs the agent to its end. With `powerless`, not even root reads what it must not.
    pub(crate) fn run(&self, agent: &Agent, fetched: &Fetched, powerless: bool) -> io::Result<Ended> {
        for (path, text) in agent.files(self) {
            write(&path, &text)?;
        }
        for (from, to) in &fetched.brought {
            bring(from, &self.root.join(to))?;
        }
        let programs = &fetched.programs;
        let found = programs.iter().map(|folder| folder.join(agent.program)).find(|path| path.exists());
        let program =
            found.ok_or_else(|| io::Error::other(format!("its package has no `{}`", agent.program)))?;
        let mut command = if powerless && rustix::process::geteuid().is_root() {
            let mut command = self.command(Path::new("setpriv"));
            command.args(WITHOUT_POWERS).arg(program);
            command
        } else {
            self.command(&program)
        };
        let folders = programs.iter().map(|folder| folder.display().to_string());
        let path: Vec<String> = folders.chain([SYSTEM_PROGRAMS.to_owned()]).collect();
        command
            .args(agent.arguments())
            .env("PATH", path.join(":"))
            .envs(agent.variables(self))
            .stdout(File::create(self.root.join("stdout"))?)
            .stderr(File::create(self.root.join("stderr"))?)
            .process_group(0);
        let mut child = command.spawn()?;
        let ended = wait(&mut child);
        self.kill_what_is_left(&child);
        ended
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", SYSTEM_PROGRAMS)
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    /// The group of the agent, and those who left it: their environment still names this stage.
    fn kill_what_is_left(&self, child: &Child) {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let home = format!("HOME={}", self.home().display());
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
                && let Some(id) = Pid::from_raw(id)
            {
                let _ = kill_process(id, Signal::KILL);
            }
        }
    }

    /// Everything the model was sent, as it was sent.
    pub(crate) fn requests(&self) -> io::Result<Vec<Value>> {
        let text = fs::read_to_string(self.root.join("requests.jsonl"))?;
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
    }

    /// The end of what the agent printed.
    pub(crate) fn last_words(&self) -> String {
        let tail = |name: &str| {
            let text = fs::read(self.root.join(name)).unwrap_or_default();
            let from = text.len().saturating_sub(600);
            String::from_utf8_lossy(text.get(from..).unwrap_or_default()).trim().to_owned()
        };
        format!("stdout: {}\nstderr: {}", tail("stdout"), tail("stderr"))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Clears the stage away.
    pub(crate) fn clear(self) {
        let _ = make_removable(&self.root);
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// What was fetched for an agent.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    /// Folders of programs, its own before others.
    pub(crate) programs: Vec<PathBuf>,
    /// Folders of packages, and where on the stage the agent looks for them.
    pub(crate) brought: Vec<(PathBuf, &'static str)>,
}

/// Makes a package look as if the agent had installed it there.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(from.join(file), to.join(file))?;
    }
    symlink(from.join("node_modules"), to.join("node_modules"))
}

/// How a run came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    ByItself(ExitStatus),
    /// It took too long and was killed.
    Killed,
}

fn wait(child: &mut Child) -> io::Result<Ended> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::ByItself(status));
        }
        if started.elapsed() > RUN_MAX {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Killed);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// A scenario may have closed a folder.
fn make_removable(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
            make_removable(&path)?;
        }
    }
    Ok(())
}
