//! Opens a store in Postgres: the URL, TLS, the tables.

use std::{net::IpAddr, time::Duration};

use lockgate_gate::StoreError;
use postgres::{
    Client, Config,
    config::{Host, SslMode},
};

use super::{connection::Connection, engine::PostgresEngine, tls};
use crate::{
    StrandStore,
    strands::{EngineError, Founded, Ground, Pool, SharedRow, StoreUrl, settle, unavailable},
};

/// Only one gate at a time makes the tables.
const MAKE: &str = "SELECT pg_advisory_xact_lock(7814601, 2)";

/// How a store in Postgres is used.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// How long one decision waits for the database; then it is blocked.
    pub wait: Duration,
    /// How many connections one process has.
    pub connections_max: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        // More connections are slower: the disk is what is waited for, and it serves several commits at once.
        Self { wait: Duration::from_secs(5), connections_max: 16 }
    }
}

impl StrandStore {
    /// Opens the store of a URL such as `postgres://gate@db.example/lockgate?key=/etc/lockgate/store.key`. `key` names the file of the
    /// store's key. The first gate makes the tables and the file; the file must then be copied to the machines of the
    /// other gates, and must not be readable by others. Other machines are reached by TLS, unless the URL says `sslmode=disable`.
    ///
    /// # Errors
    /// When the URL, the key or the database cannot be used; nothing is replaced.
    pub fn open_postgres(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let url = StoreUrl::read(url, &["sslrootcert"])?;
        let mut config: Config = url
            .url
            .parse()
            .map_err(|error| unavailable("the Postgres URL", format!("cannot be read: {error}")))?;
        if !url.url.contains("sslmode=") {
            config.ssl_mode(if is_near(&config) { SslMode::Disable } else { SslMode::Require });
        }
        let place = place(&config);
        config.connect_timeout(options.wait).application_name("lockgate").tcp_user_timeout(options.wait);
        // A gate that vanishes while it holds a lock keeps others waiting for no longer than this.
        let ms = options.wait.as_millis();
        config.options(&format!(
            "-c lock_timeout={ms} -c idle_in_transaction_session_timeout={ms} -c synchronous_commit=on"
        ));
        let tls = tls::connector(url.value("sslrootcert")).map_err(|why| unavailable(&place, why))?;
        let open = move |deadline| Connection::open(&config, &tls, deadline);
        let pool = Pool::new(options.wait, options.connections_max, open);
        let (key, id) = settle(&pool, &place, &url.key)?;
        Self::new(Box::new(PostgresEngine::new(pool, place)), key, id)
    }
}

/// Whether no network lies between.
fn is_near(config: &Config) -> bool {
    let is_near = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_near) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The database without user and password.
fn place(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    format!("postgres://{host}/{}", config.get_dbname().unwrap_or_default())
}

impl Ground for Pool<Connection> {
    fn find(&self) -> Result<Option<Founded>, EngineError> {
        self.run(find)
    }

    fn found(&self, store: Founded, shared: SharedRow) -> Result<bool, EngineError> {
        self.run(move |client| make_tables(client, &store, &shared))
    }
}

fn find(client: &mut Client) -> Result<Option<Founded>, postgres::Error> {
    let is_there: bool = client.query_one("SELECT to_regclass('lockgate.store') IS NOT NULL", &[])?.get(0);
    if !is_there {
        return Ok(None);
    }
    let row = client.query_opt("SELECT form, id, public_key FROM lockgate.store WHERE one = 1", &[])?;
    Ok(row.map(|row| Founded { form: row.get(0), id: row.get(1), public_key: row.get(2) }))
}

/// Makes the tables, unless another gate has made them meanwhile.
fn make_tables(client: &mut Client, store: &Founded, shared: &SharedRow) -> Result<bool, postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(MAKE)?;
    let is_there: bool =
        transaction.query_one("SELECT to_regclass('lockgate.store') IS NOT NULL", &[])?.get(0);
    if is_there {
        transaction.rollback()?;
        return Ok(false);
    }
    transaction.batch_execute(include_str!("schema.sql"))?;
    transaction.execute(
        "INSERT INTO lockgate.store (one, form, id, public_key) VALUES (1, $1, $2, $3)",
        &[&store.form, &store.id, &store.public_key],
    )?;
    transaction.execute(
        "INSERT INTO lockgate.shared_state (one, version, seal) VALUES (1, $1, $2)",
        &[&shared.version, &shared.seal],
    )?;
    transaction.commit()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_tells_no_password() {
        let config: Config = "postgres://user:secret@db.example/lockgate".parse().unwrap();
        assert_eq!(place(&config), "postgres://db.example/lockgate");
    }

    #[test]
    fn only_this_machine_is_near() {
        for (url, expected) in [
            ("postgres://g@%2Ftmp/d", true),
            ("postgres://g@127.0.0.1/d", true),
            ("postgres://g@[::1]/d", true),
            ("postgres://g@localhost/d", true),
            ("postgres://g@localhost,db.example/d", false),
            ("postgres://g@10.0.0.1/d", false),
            ("postgres://g@127.0.0.1.example/d", false),
            ("postgres://g@localhost/d?hostaddr=10.0.0.1", false),
        ] {
            assert_eq!(is_near(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
