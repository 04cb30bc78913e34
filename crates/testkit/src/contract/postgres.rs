//! A database in a Postgres of its own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lockgate::engine::{Time, gate::Backend};
use lockgate_store::{Position, PostgresOptions, StrandStore};
use tempfile::TempDir;

use super::Rest;

/// A Postgres server that lives as long as this value, with its files in a temporary folder.
pub struct Cluster {
    programs: PathBuf,
    folder: TempDir,
    databases: AtomicU64,
}

impl Cluster {
    /// Starts a server with the programs of a folder that has `initdb` and `pg_ctl`.
    ///
    /// # Errors
    /// What could not be done.
    pub fn start(programs: &Path) -> Result<Self, String> {
        let folder =
            tempfile::Builder::new().prefix("lockgate-pg").tempdir().map_err(|error| error.to_string())?;
        let cluster = Self { programs: programs.to_path_buf(), folder, databases: AtomicU64::new(0) };
        if is_root() {
            // The server refuses to run as root, and its user has to reach the folder.
            run(Command::new("chown").arg("postgres").arg(cluster.folder.path()))?;
        }
        let data = cluster.data();
        run(cluster.program("initdb").arg("-D").arg(&data).args([
            "-A",
            "trust",
            "-U",
            "gate",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]))?;
        cluster.run_server()?;
        Ok(cluster)
    }

    /// Starts the server again, after it was stopped.
    ///
    /// # Errors
    /// What could not be done.
    pub fn run_server(&self) -> Result<(), String> {
        let socket = self.folder.path().display().to_string();
        let options =
            format!("-c listen_addresses= -c unix_socket_directories={socket} -c max_connections=300");
        let log = self.folder.path().join("log");
        run(self
            .program("pg_ctl")
            .arg("-D")
            .arg(self.data())
            .args(["-w", "-s", "-l"])
            .arg(log)
            .args(["-o", &options, "start"]))
    }

    /// Stops the server as a power cut would.
    ///
    /// # Errors
    /// What could not be done.
    pub fn crash(&self) -> Result<(), String> {
        run(self.program("pg_ctl").arg("-D").arg(self.data()).args(["-m", "immediate", "-w", "-s", "stop"]))
    }

    /// Makes an empty database.
    ///
    /// # Errors
    /// What could not be done.
    pub fn database(&self) -> Result<PostgresRest<'_>, String> {
        let name = format!("gate{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        let keys = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(PostgresRest { cluster: self, name, keys })
    }

    /// Runs SQL in a database, as its owner could.
    ///
    /// # Errors
    /// What the server says.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.arg("-h").arg(self.folder.path()).args([
            "-U",
            "gate",
            "-d",
            database,
            "-qAt",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            sql,
        ]);
        let output = psql.stdin(Stdio::null()).output().map_err(|error| format!("psql: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        if !is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.crash();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A database of a [`Cluster`]; every handle has connections of its own, as another machine would have.
pub struct PostgresRest<'a> {
    cluster: &'a Cluster,
    name: String,
    keys: TempDir,
}

impl PostgresRest<'_> {
    /// The URL of the store.
    pub fn url(&self) -> String {
        let host = self.cluster.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://gate@{host}/{}?key={}", self.name, self.keys.path().join("store.key").display())
    }

    /// Another handle.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn store(&self) -> StrandStore {
        let options = PostgresOptions { wait: Duration::from_secs(60), ..PostgresOptions::default() };
        StrandStore::open_postgres(&self.url(), &options).unwrap()
    }

    /// Runs SQL, as a program with access to the database but without the key could.
    ///
    /// # Errors
    /// What the server says.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        self.cluster.sql(&self.name, sql)
    }
}

impl Rest for PostgresRest<'_> {
    fn open(&self) -> Box<dyn Backend> {
        Box::new(self.store())
    }

    fn audit_log(&self) -> Vec<String> {
        let store = self.store();
        store.seal_now().unwrap();
        let found = store.verify().unwrap();
        assert!(found.verified.is_whole(), "{:?}", found.verified.problems);
        let mut entries = Vec::new();
        let mut after = Position::default();
        loop {
            let records = store.records(after, None, 7).unwrap();
            let Some(last) = records.last() else { return entries };
            after = last.position;
            entries.extend(records.into_iter().map(|record| record.entry));
        }
    }

    fn forget(&self, before: Time, entry: &str) -> u64 {
        self.store().forget(before, &|_| entry.to_owned()).unwrap()
    }
}
