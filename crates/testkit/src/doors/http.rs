//! The server of `lockgate serve`, asked by `lockgate gate --server` over a Unix socket: two processes for each story.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate::engine::Time;
use lockgate_server::{DataFolder, NewToken, Scope, Tokens};
use serde_json::Value;

use super::pipes::Pipes;
use crate::{Door, Options, PolicyFile};

/// How long a server may take to listen, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a server and a client of it, and speaks to the client over its stdin and stdout.
pub struct HttpDoor {
    program: PathBuf,
    running: Option<Running>,
}

impl HttpDoor {
    /// A door to the program at this path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), running: None }
    }
}

impl Door for HttpDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        // The last story's server ends before the next one begins.
        self.running = None;
        let running = Running::start(&self.program, policy, options);
        self.running = Some(running.map_err(|error| format!("cannot start the server: {error}"))?);
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        self.running.as_mut().ok_or("the door is not open")?.pipes.say(&line)
    }
}

/// A server and its client in a folder of their own; all are gone when this is dropped.
struct Running {
    server: Child,
    client: Child,
    pipes: Pipes,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(program: &Path, policy: &[PolicyFile], options: &Options) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (place, complaint) = (folder.path(), folder.path().join("stderr"));
        for file in policy {
            fs::write(place.join(&file.name), &file.text)?;
        }
        make_token(place)?;
        // It starts in the folder, so that answers name the files as the page does.
        let mut server = Command::new(program)
            .current_dir(place)
            .args([
                "serve",
                "--socket",
                "gate.sock",
                "--data",
                "data",
                "--rate",
                "1000000",
                "--clock",
                "lines",
            ])
            .args(["--mode", if options.observe { "observe" } else { "enforce" }])
            .args(policy.iter().map(|file| &file.name))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&complaint)?)
            .spawn()?;
        let begun = Instant::now();
        while !fs::read_to_string(&complaint)?.contains("the server listens") {
            if server.try_wait()?.is_some() || begun.elapsed() > PATIENCE {
                let _ = server.kill();
                let _ = server.wait();
                return Err(io::Error::other(fs::read_to_string(&complaint)?));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let mut client = Command::new(program)
            .current_dir(place)
            .args(["gate", "--server", "unix:gate.sock", "--token-file", "token", "--clock", "lines"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(to), Some(from)) = (client.stdin.take(), client.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok(Self { server, client, pipes: Pipes::new(to, from), _folder: folder })
    }
}

/// Makes a token for all sessions of the server with this folder, as `lockgate serve token create` does at a terminal.
///
/// # Errors
/// When there is no such scope, or the folder cannot be used.
pub fn make_team_token(data: &Path, name: &str, scope: &str) -> io::Result<String> {
    let scope = Scope::ALL.into_iter().find(|known| known.word() == scope);
    let scope = scope.ok_or_else(|| io::Error::other("there is no such scope"))?;
    let data = DataFolder::open(data).map_err(io::Error::other)?;
    let new = NewToken { name: name.to_owned(), scope, sessions: vec!["*".to_owned()], expires: None };
    Tokens::of(&data).create(new, Time(1)).map_err(io::Error::other)
}

/// The pages speak for agents, hosts, operators and humans, so the token is an admin's.
fn make_token(place: &Path) -> io::Result<()> {
    let token = make_team_token(&place.join("data"), "pages", Scope::Admin.word())?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.join("token"))?
        .write_all(token.as_bytes())
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in [&mut self.client, &mut self.server] {
            // It may have ended by itself; waiting is due in any case.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
