//! Where sessions are stored, by a URL.

use std::{path::Path, sync::Arc};

use lockgate_gate::{Backend, BoundPolicy, PolicyChanges, Rulebook};
use lockgate_store::{OpenError, Options, Sqlite};
use serde_json::{Map, Value};

use crate::{archive, policy::Policy};

/// Where sessions, answers and the audit log are stored.
#[derive(Clone)]
pub enum Database {
    /// A SQLite file on this machine.
    Sqlite(Arc<Sqlite>),
    /// A database that many gates share.
    #[cfg(feature = "postgres")]
    Shared(Arc<lockgate_store::StrandStore>),
}

impl Database {
    /// The database as the gate uses it.
    pub fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Sqlite(file) => file.clone(),
            #[cfg(feature = "postgres")]
            Self::Shared(store) => store.clone(),
        }
    }

    /// The file, where it is one: an agent must leave it alone.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(file) => Some(file.path()),
            #[cfg(feature = "postgres")]
            Self::Shared(_) => None,
        }
    }

    /// What binds the sessions of the database to a policy. `rulebook` makes the rules of an earlier one.
    pub fn bound_policy(
        &self,
        policy: &Policy,
        place: &str,
        settings: Map<String, Value>,
        changes: PolicyChanges,
        rulebook: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
    ) -> BoundPolicy {
        match self {
            Self::Sqlite(file) => {
                archive::bound_policy(policy, place, settings, changes, file.path(), rulebook)
            }
            #[cfg(feature = "postgres")]
            Self::Shared(store) => {
                archive::bound_policy_in((**store).clone(), policy, place, settings, changes, rulebook)
            }
        }
    }
}

/// The store of a URL: none for `memory`, a SQLite file (`sqlite:FILE`, or a path), or a Postgres database
/// (`postgres://USER@HOST/DATABASE?key=FILE`).
///
/// # Errors
/// When no kind of store has such a URL, or it cannot be used.
pub fn open_store(url: &str) -> Result<Option<Database>, StoreUrlError> {
    let path = match url.split_once(':') {
        None if url == "memory" => return Ok(None),
        Some(("memory", "")) => return Ok(None),
        Some(("sqlite", path)) if !path.is_empty() => path,
        Some(("postgres" | "postgresql", _)) => return open_postgres(url).map(Some),
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
    Err(StoreUrlError::NotBuilt)
}

/// Why the store of a URL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// No kind of store has such a URL.
    #[error(
        "no store has the URL `{0}`; use `memory`, `sqlite:FILE`, or `postgres://USER@HOST/DATABASE?key=FILE`"
    )]
    Unknown(String),
    /// This program was built without Postgres.
    #[error("this program was built without Postgres; build it with `--features postgres`")]
    NotBuilt,
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The shared database cannot be used.
    #[error("the store cannot be opened")]
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
        for url in ["", "memory:x", "sqlite:", "redis://db", "sessions"] {
            assert!(matches!(open_store(url), Err(StoreUrlError::Unknown(_))), "{url}");
        }
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn a_shared_store_needs_a_key_file() {
        let error = open_store("postgres://gate@db/x").err().unwrap();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("key="), "{error}");
    }
}
