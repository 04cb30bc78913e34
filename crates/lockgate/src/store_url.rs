//! Where sessions are stored, by a URL.

use lockgate_store::{OpenError, Options, Sqlite};

/// The store of a URL: none for `memory`, else a SQLite file (`sqlite:FILE`, or a path).
///
/// # Errors
/// When no kind of store has such a URL, or the file cannot be used.
pub fn open_store(url: &str) -> Result<Option<Sqlite>, StoreUrlError> {
    let path = match url.split_once(':') {
        None if url == "memory" => return Ok(None),
        Some(("memory", "")) => return Ok(None),
        Some(("sqlite", path)) if !path.is_empty() => path,
        None if url.contains(['/', '.']) => url,
        _ => return Err(StoreUrlError::Unknown(url.to_owned())),
    };
    Ok(Some(Sqlite::open(path, Options::default())?))
}

/// Why the store of a URL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// No kind of store has such a URL.
    #[error("no store answers to `{0}`; try `memory`, or `sqlite:FILE` to keep sessions in a file")]
    Unknown(String),
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_no_store_has_are_refused() {
        for url in ["memory", "memory:"] {
            assert!(open_store(url).unwrap().is_none(), "{url}");
        }
        for url in ["", "memory:x", "sqlite:", "postgres://db", "sessions"] {
            assert!(matches!(open_store(url), Err(StoreUrlError::Unknown(_))), "{url}");
        }
    }
}
