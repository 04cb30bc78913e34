//! A database in a Redis of its own.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lockgate_store::{RedisOptions, StrandStore};
use tempfile::TempDir;

use super::{SharedRest, SharedServer};

/// A Redis server that lives as long as this value, with its files in a temporary folder.
pub struct RedisServer {
    folder: TempDir,
    databases: AtomicU64,
    settings: Vec<String>,
    process: Mutex<Option<Child>>,
}

impl RedisServer {
    /// Starts `redis-server` so that it keeps what it confirms. `settings` are more of its arguments.
    ///
    /// # Errors
    /// What could not be done.
    pub fn start(settings: &[&str]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("lockgate-redis").tempdir();
        let server = Self {
            folder: folder.map_err(|error| error.to_string())?,
            databases: AtomicU64::new(0),
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            process: Mutex::default(),
        };
        server.run_server()?;
        Ok(server)
    }

    /// An empty database.
    ///
    /// # Errors
    /// What could not be done.
    pub fn rest(&self) -> Result<RedisRest<'_>, String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let keys = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(RedisRest { server: self, number, keys })
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

impl SharedServer for RedisServer {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn database(&self) -> Result<Box<dyn SharedRest + '_>, String> {
        Ok(Box::new(self.rest()?))
    }

    fn crash(&self) -> Result<(), String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = process.take() else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map(drop).map_err(|error| error.to_string())
    }

    fn run_server(&self) -> Result<(), String> {
        let socket = self.socket();
        // One that crashed has left it.
        let _ = fs::remove_file(&socket);
        let child = Command::new("redis-server")
            .args(["--port", "0", "--databases", "4096", "--save", "", "--appendonly", "yes"])
            .args(["--appendfsync", "always", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server: {error}"))?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        // While it reads what was written before, it answers that it does.
        while self.rest()?.ask(&["PING"]).as_deref() != Ok("PONG") {
            if Instant::now() > deadline {
                return Err("redis-server does not answer".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.crash();
    }
}

/// A database of a [`RedisServer`].
pub struct RedisRest<'a> {
    server: &'a RedisServer,
    number: u64,
    keys: TempDir,
}

impl RedisRest<'_> {
    /// Asks the server, as a program with access to it but without the key could.
    ///
    /// # Errors
    /// What the server says.
    pub fn ask(&self, command: &[&str]) -> Result<String, String> {
        let mut cli = Command::new("redis-cli");
        cli.arg("-e")
            .arg("-s")
            .arg(self.server.socket())
            .args(["-n", &self.number.to_string()])
            .args(command);
        let output = cli.stdin(Stdio::null()).output().map_err(|error| format!("redis-cli: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Runs a script of the server, which may do what the scripts of Lockgate do.
    ///
    /// # Errors
    /// What the server says.
    pub fn script(&self, lua: &str) -> Result<String, String> {
        self.ask(&["EVAL", &format!("local p = '{{lockgate}}:' {lua}"), "0"])
    }

    /// The URL of the store with more parameters.
    pub fn url_with(&self, more: &str) -> String {
        let (socket, key) = (self.server.socket(), self.keys.path().join("store.key"));
        format!("redis+unix://{}?db={}&key={}{more}", socket.display(), self.number, key.display())
    }
}

impl SharedRest for RedisRest<'_> {
    fn url(&self) -> String {
        self.url_with("")
    }

    fn store(&self) -> StrandStore {
        let options = RedisOptions { wait: Duration::from_secs(60), ..RedisOptions::default() };
        StrandStore::open_redis(&self.url(), &options).unwrap()
    }
}
