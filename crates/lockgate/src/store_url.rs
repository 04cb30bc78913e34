//! Opens where sessions are stored, by a URL.

use std::sync::Arc;

use lockgate_store::{OpenError, Options, Sqlite};

use crate::database::Database;

/// The store of a URL: none for `memory`, a SQLite file (`sqlite:FILE`, or a path), a Postgres database
/// (`postgres://USER@HOST/DATABASE?key=FILE`), or a Redis server (`redis://HOST/NUMBER?key=FILE`).
///
/// # Errors
/// When no kind of store has such a URL, or it cannot be used.
pub fn open_store(url: &str) -> Result<Option<Database>, StoreUrlError> {
    let path = match url.split_once(':') {
        None if url == "memory" => return Ok(None),
        Some(("memory", "")) => return Ok(None),
        Some(("sqlite", path)) if !path.is_empty() => path,
        Some(("postgres" | "postgresql", _)) => return open_postgres(url).map(Some),
        Some(("redis" | "redis+unix", _)) => return open_redis(url).map(Some),
        None if url.contains(['/', '.']) => url,
        _ => return Err(StoreUrlError::Unknown(url.to_owned())),
    };
    Ok(Some(Database::Sqlite(Arc::new(Sqlite::open(path, Options::default())?))))
}

#[cfg(feature = "postgres")]
fn open_postgres(url: &str) -> Result<Database, StoreUrlError> {
    let store = lockgate_store::StrandStore::open_postgres(url, &lockgate_store::PostgresOptions::default())?;
    Ok(Database::Shared(Arc::new(store)))
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(_: &str) -> Result<Database, StoreUrlError> {
    Err(StoreUrlError::NotBuilt("Postgres", "postgres"))
}

#[cfg(feature = "redis")]
fn open_redis(url: &str) -> Result<Database, StoreUrlError> {
    let store = lockgate_store::StrandStore::open_redis(url, &lockgate_store::RedisOptions::default())?;
    Ok(Database::Shared(Arc::new(store)))
}

#[cfg(not(feature = "redis"))]
fn open_redis(_: &str) -> Result<Database, StoreUrlError> {
    Err(StoreUrlError::NotBuilt("Redis", "redis"))
}

/// Why the store of a URL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// No kind of store has such a URL.
    #[error(
        "no store has the URL `{0}`; use `memory`, `sqlite:FILE`, `postgres://USER@HOST/DATABASE?key=FILE` or `redis://HOST/NUMBER?key=FILE`"
    )]
    Unknown(String),
    /// This program was built without such stores.
    #[error("this program was built without {0}; build it with `--features {1}`")]
    NotBuilt(&'static str, &'static str),
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The shared database cannot be used.
    #[error(transparent)]
    Store(#[from] lockgate_gate::StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_no_store_has_are_refused() {
        for url in ["memory", "memory:"] {
            assert!(open_store(url).unwrap().is_none(), "{url}");
        }
        for url in ["", "memory:x", "sqlite:", "mysql://db", "sessions"] {
            assert!(matches!(open_store(url), Err(StoreUrlError::Unknown(_))), "{url}");
        }
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn a_shared_store_needs_a_key_file() {
        let error = open_store("postgres://gate@db/x").err().unwrap();
        assert!(error.to_string().contains("key="), "{error}");
    }
}
