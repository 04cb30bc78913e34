//! Where one test happens: a home and a folder of its own, and processes that end when the test does.
//!
//! Peers see nothing of this machine but programs. Whatever takes too long is killed together with all it has started.
//! The stage stays behind where something went wrong, so that people can look at it.

use std::{
    env, fs,
    fs::{File, OpenOptions},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long a process that serves may take until it listens.
const START_MAX: Duration = Duration::from_secs(60);

/// Programs that every machine has.
const SYSTEM_PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";

/// The folders of one test.
pub(crate) struct Stage {
    root: PathBuf,
    /// Where programs are looked for, before those of the system.
    programs: PathBuf,
}

impl Stage {
    /// Empty folders.
    pub(crate) fn set_up(programs: &Path) -> Result<Self, String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("lockgate-mcp-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = fs::canonicalize(env::temp_dir()).map_err(|error| error.to_string())?.join(name);
        let stage = Self { root, programs: programs.to_owned() };
        stage.folder("home")?;
        stage.folder("work")?;
        Ok(stage)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// An empty folder of the stage, whatever was in it before.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.root.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// A file of the stage with this text.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.root.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Runs a command to its end and gives what it printed; kills it after `limit`.
    pub(crate) fn run(&self, command: &[String], limit: Duration) -> Result<String, String> {
        let printed = self.root.join("stdout");
        let output = File::create(&printed).map_err(|error| error.to_string())?;
        let mut child = self.spawn(command, output)?;
        let started = Instant::now();
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if started.elapsed() > limit => {
                    break Err(format!("it took longer than {} s and was killed", limit.as_secs()));
                }
                Ok(None) => thread::sleep(Duration::from_millis(20)),
                Err(error) => break Err(error.to_string()),
            }
        };
        kill_group(&mut child);
        let text = fs::read_to_string(&printed).map_err(|error| error.to_string())?;
        ended.map(|_| text).map_err(|error| format!("{error}\n{}", self.last_words()))
    }

    /// Starts a process that serves, and waits until it listens.
    pub(crate) fn serve(&self, command: &[String], port: u16) -> Result<Serving, String> {
        let output =
            File::create(self.root.join(format!("serving-{port}"))).map_err(|error| error.to_string())?;
        let mut serving = Serving { child: self.spawn(command, output)? };
        let started = Instant::now();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        loop {
            if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
                return Ok(serving);
            }
            let gone = serving.child.try_wait().ok().flatten();
            if gone.is_some() || started.elapsed() > START_MAX {
                let how =
                    gone.map_or("does not listen".to_owned(), |status| format!("has ended with {status}"));
                return Err(format!("{}: {how}\n{}", command.join(" "), self.last_words()));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&self, command: &[String], output: File) -> Result<Child, String> {
        let [program, arguments @ ..] = command else { return Err("there is no command".to_owned()) };
        let errors = OpenOptions::new().create(true).append(true).open(self.root.join("stderr"));
        Command::new(program)
            .args(arguments)
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("PATH", format!("{}:{SYSTEM_PROGRAMS}", self.programs.display()))
            .current_dir(self.root.join("work"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors.map_err(|error| error.to_string())?)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))
    }

    /// The end of what all processes of this stage said on their way.
    pub(crate) fn last_words(&self) -> String {
        const SHOWN_MAX: usize = 1500;
        let text = fs::read(self.root.join("stderr")).unwrap_or_default();
        let from = text.len().saturating_sub(SHOWN_MAX);
        format!("stderr: {}", String::from_utf8_lossy(text.get(from..).unwrap_or_default()).trim())
    }

    /// Ends whatever still runs here. Some put themselves into groups of their own, but their environment names the
    /// stage.
    pub(crate) fn end_all(&self) -> usize {
        let home = format!("HOME={}", self.root.join("home").display());
        let mut ended = 0;
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
                && let Some(id) = Pid::from_raw(id)
                && kill_process(id, Signal::KILL).is_ok()
            {
                ended += 1;
            }
        }
        ended
    }

    /// Clears the stage away.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// A process that serves until this is dropped.
pub(crate) struct Serving {
    child: Child,
}

impl Drop for Serving {
    fn drop(&mut self) {
        kill_group(&mut self.child);
    }
}

fn kill_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// A port nobody listens at. Another process could take it before it is used, which the test would then say.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("there is no free port: {error}"))
}
