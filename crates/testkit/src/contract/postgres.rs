//! A database in a Postgres of its own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lockgate_store::{PostgresOptions, StrandStore};
use tempfile::TempDir;

use super::{SharedRest, SharedServer};

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

    /// Makes an empty database.
    ///
    /// # Errors
    /// What could not be done.
    pub fn rest(&self) -> Result<PostgresRest<'_>, String> {
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

impl SharedServer for Cluster {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn database(&self) -> Result<Box<dyn SharedRest + '_>, String> {
        Ok(Box::new(self.rest()?))
    }

    fn crash(&self) -> Result<(), String> {
        run(self.program("pg_ctl").arg("-D").arg(self.data()).args(["-m", "immediate", "-w", "-s", "stop"]))
    }

    fn run_server(&self) -> Result<(), String> {
        let socket = self.folder.path().display().to_string();
        // After a crash it would otherwise sync each file of each database by itself.
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={socket} -c max_connections=300 -c recovery_init_sync_method=syncfs"
        );
        let log = self.folder.path().join("log");
        run(self
            .program("pg_ctl")
            .arg("-D")
            .arg(self.data())
            .args(["-w", "-s", "-t", "120", "-l"])
            .arg(log)
            .args(["-o", &options, "start"]))
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

/// A database of a [`Cluster`].
pub struct PostgresRest<'a> {
    cluster: &'a Cluster,
    name: String,
    keys: TempDir,
}

impl PostgresRest<'_> {
    /// Runs SQL, as a program with access to the database but without the key could.
    ///
    /// # Errors
    /// What the server says.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        self.cluster.sql(&self.name, sql)
    }
}

impl SharedRest for PostgresRest<'_> {
    fn url(&self) -> String {
        let host = self.cluster.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://gate@{host}/{}?key={}", self.name, self.keys.path().join("store.key").display())
    }

    fn store(&self) -> StrandStore {
        let options = PostgresOptions { wait: Duration::from_secs(60), ..PostgresOptions::default() };
        StrandStore::open_postgres(&self.url(), &options).unwrap()
    }
}
