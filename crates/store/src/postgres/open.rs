//! Opens a store in Postgres: the URL, the key, the tables.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ed25519_dalek::SigningKey;
use lockgate_gate::StoreError;
use postgres::{Client, Config, config::Host};

use super::{connection::Pool, engine::PostgresEngine};
use crate::{StrandStore, key_file};

/// The form of the tables; a store of a newer form is refused.
const FORM: i32 = 1;
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

/// What the tables say about their store.
struct Store {
    form: i32,
    id: Vec<u8>,
    public_key: Vec<u8>,
}

impl StrandStore {
    /// Opens the store of a URL such as `postgres://gate@db.example/lockgate?key=/etc/lockgate/store.key`. `key` names the file of the
    /// store's key. The first gate makes the tables and the file; the file must then be copied to the machines of the
    /// other gates, and must not be readable by others.
    ///
    /// # Errors
    /// When the URL, the key or the database cannot be used; nothing is replaced.
    pub fn open_postgres(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let (url, key_path) = split_key(url)?;
        let mut config: Config = url
            .parse()
            .map_err(|error| unavailable("the Postgres URL", format!("cannot be read: {error}")))?;
        let place = place(&config);
        config.connect_timeout(options.wait).application_name("lockgate").tcp_user_timeout(options.wait);
        // A gate that vanishes while it holds a lock keeps others waiting for no longer than this.
        let ms = options.wait.as_millis();
        config.options(&format!(
            "-c lock_timeout={ms} -c idle_in_transaction_session_timeout={ms} -c synchronous_commit=on"
        ));
        let pool = Pool::new(config, options.wait, options.connections_max);
        let (key, id) = prepare(&pool, &place, &key_path)?;
        Self::new(Box::new(PostgresEngine::new(pool, place)), key, id)
    }
}

fn unavailable(place: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("`{place}` {why}"))
}

/// The URL without its `key`, and the key's path.
fn split_key(url: &str) -> Result<(String, PathBuf), StoreError> {
    let wanted = || {
        unavailable(
            "the Postgres URL",
            "does not name the file of the store's key: add `?key=/absolute/path/store.key`; the first gate makes the file",
        )
    };
    let (address, query) = url.split_once('?').ok_or_else(wanted)?;
    let (keys, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(|part| part.starts_with("key="));
    let [key] = keys.as_slice() else { return Err(wanted()) };
    let path = PathBuf::from(key.trim_start_matches("key="));
    if !path.is_absolute() {
        return Err(unavailable(&path.display().to_string(), "is not the absolute path of a key file"));
    }
    let query = others.join("&");
    Ok((if query.is_empty() { address.to_owned() } else { format!("{address}?{query}") }, path))
}

/// The database without user and password.
fn place(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    format!("postgres://{host}/{}", config.get_dbname().unwrap_or_default())
}

fn prepare(pool: &Pool, place: &str, key_path: &Path) -> Result<(SigningKey, [u8; 16]), StoreError> {
    let told = |error| match error {
        crate::strands::EngineError::Failed(why) | crate::strands::EngineError::Unknown(why) => {
            unavailable(place, why)
        }
        crate::strands::EngineError::Conflict => StoreError::Conflict,
    };
    if let Some(store) = pool.run(find).map_err(told)? {
        return with_key(&store, place, key_path);
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|error| unavailable(place, format!("got no random numbers: {error}")))?;
    if fs::symlink_metadata(key_path).is_ok() {
        let why = format!(
            "has no tables of Lockgate, but `{}` shows that sessions were stored; restore the database from a copy, or move the key aside \
             to begin with no sessions",
            key_path.display()
        );
        return Err(unavailable(place, why));
    }
    let key = key_file::make(key_path)?;
    let public_key = key.verifying_key().to_bytes();
    let made = pool.run(move |client| make_tables(client, &id, &public_key)).map_err(told);
    match made {
        Ok(None) => Ok((key, id)),
        // Another gate was first, or the tables cannot be made: a key without a store would be refused next time.
        other => {
            fs::remove_file(key_path).map_err(|error| {
                unavailable(&key_path.display().to_string(), format!("cannot be removed: {error}"))
            })?;
            match other? {
                Some(store) => with_key(&store, place, key_path),
                None => Err(unavailable(place, "was not made")),
            }
        }
    }
}

fn with_key(store: &Store, place: &str, key_path: &Path) -> Result<(SigningKey, [u8; 16]), StoreError> {
    if store.form != FORM {
        let why = format!(
            "was written in form {}, and this version of Lockgate reads form {FORM}; use the version that wrote it",
            store.form
        );
        return Err(unavailable(place, why));
    }
    let Some(key) = key_file::read(key_path)? else {
        let why = format!(
            "is in use, but its key `{}` is not there; copy the file from the machine of another gate",
            key_path.display()
        );
        return Err(unavailable(place, why));
    };
    let id = <[u8; 16]>::try_from(store.id.as_slice());
    match id {
        Ok(id) if store.public_key == key.verifying_key().to_bytes() => Ok((key, id)),
        _ => Err(unavailable(place, format!("belongs to another key than `{}`", key_path.display()))),
    }
}

fn find(client: &mut Client) -> Result<Option<Store>, postgres::Error> {
    let is_there: bool = client.query_one("SELECT to_regclass('lockgate.store') IS NOT NULL", &[])?.get(0);
    if !is_there {
        return Ok(None);
    }
    let row = client.query_opt("SELECT form, id, public_key FROM lockgate.store WHERE one = 1", &[])?;
    Ok(row.map(|row| Store { form: row.get(0), id: row.get(1), public_key: row.get(2) }))
}

/// Makes the tables. Returns the store that another gate has made meanwhile.
fn make_tables(
    client: &mut Client,
    id: &[u8; 16],
    public_key: &[u8; 32],
) -> Result<Option<Store>, postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(MAKE)?;
    let is_there: bool =
        transaction.query_one("SELECT to_regclass('lockgate.store') IS NOT NULL", &[])?.get(0);
    if is_there {
        transaction.rollback()?;
        return find(client);
    }
    transaction.batch_execute(include_str!("schema.sql"))?;
    transaction.execute(
        "INSERT INTO lockgate.store (one, form, id, public_key) VALUES (1, $1, $2, $3)",
        &[&FORM, &id.as_slice(), &public_key.as_slice()],
    )?;
    transaction.commit()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_key() {
        let (url, key) = split_key("postgres://g@h/d?key=/k&sslmode=disable").unwrap();
        assert_eq!((url.as_str(), key), ("postgres://g@h/d?sslmode=disable", PathBuf::from("/k")));
        assert_eq!(split_key("postgres://g@h/d?key=/k").unwrap().0, "postgres://g@h/d");
        for bad in
            ["postgres://h/d", "postgres://h/d?x=1", "postgres://h/d?key=/a&key=/b", "postgres://h/d?key=rel"]
        {
            assert!(split_key(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_place_tells_no_password() {
        let config: Config = "postgres://user:secret@db.example/lockgate".parse().unwrap();
        assert_eq!(place(&config), "postgres://db.example/lockgate");
    }
}
