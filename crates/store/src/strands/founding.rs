//! How a shared store begins: the first gate makes the tables and the key file, the others bring a copy of the key.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;
use lockgate_gate::StoreError;

use super::{
    backend::first_shared,
    engine::{EngineError, SharedRow},
};
use crate::key_file;

/// The form of the tables; a store of another form is refused.
const FORM: i32 = 2;

/// What a database says about its store.
#[derive(Clone, Debug)]
pub(crate) struct Founded {
    pub(crate) form: i32,
    pub(crate) id: Vec<u8>,
    pub(crate) public_key: Vec<u8>,
}

/// A database in which a store can begin.
pub(crate) trait Ground {
    /// The store that is there.
    fn find(&self) -> Result<Option<Founded>, EngineError>;

    /// Makes the tables with the first row of the shared state. Returns false if another gate has made them meanwhile.
    fn found(&self, store: Founded, shared: SharedRow) -> Result<bool, EngineError>;
}

/// A URL without the parameters that are ours.
pub(crate) struct StoreUrl {
    pub(crate) url: String,
    /// The file of the key.
    pub(crate) key: PathBuf,
    values: Vec<(String, String)>,
}

impl StoreUrl {
    /// Takes `key` and other parameters out of a URL.
    pub(crate) fn read(url: &str, ours: &[&str]) -> Result<Self, StoreError> {
        let place = url.split("://").next().unwrap_or_default();
        let place = format!("{place}://…");
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let is_ours = |name: &str| name == "key" || ours.contains(&name);
        let mut values: Vec<(String, String)> = Vec::new();
        let mut others = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((name, _)) if is_ours(name) && values.iter().any(|(known, _)| known == name) => {
                    return Err(unavailable(&place, format!("has `{name}` twice")));
                }
                Some((name, value)) if is_ours(name) => values.push((name.to_owned(), value.to_owned())),
                _ => others.push(part),
            }
        }
        let Some((_, key)) = values.iter().find(|(name, _)| name == "key") else {
            return Err(unavailable(
                &place,
                "does not name the file of the store's key: add `?key=/absolute/path/store.key`; the first gate makes the file",
            ));
        };
        let key = PathBuf::from(key);
        if !key.is_absolute() {
            return Err(unavailable(&key.display().to_string(), "is not the absolute path of a key file"));
        }
        let others = others.join("&");
        let url = if others.is_empty() { address.to_owned() } else { format!("{address}?{others}") };
        Ok(Self { url, key, values })
    }

    /// The value of one of our parameters.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) fn unavailable(place: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("`{place}` {why}"))
}

/// Opens the store of a database or makes it. Returns its key and its id.
pub(crate) fn settle(
    ground: &dyn Ground,
    place: &str,
    key_path: &Path,
) -> Result<(SigningKey, [u8; 16]), StoreError> {
    let told = |error| match error {
        EngineError::Failed(why) | EngineError::Unknown(why) => unavailable(place, why),
        EngineError::Conflict => StoreError::Conflict,
    };
    if let Some(store) = ground.find().map_err(told)? {
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
    let store = Founded { form: FORM, id: id.to_vec(), public_key: public_key.to_vec() };
    let made = ground.found(store, first_shared(&key, &id)).map_err(told);
    if let Ok(true) = made {
        return Ok((key, id));
    }
    // Another gate was first, or the tables cannot be made: a key without a store would be refused next time.
    fs::remove_file(key_path).map_err(|error| {
        unavailable(&key_path.display().to_string(), format!("cannot be removed: {error}"))
    })?;
    made?;
    match ground.find().map_err(told)? {
        Some(store) => with_key(&store, place, key_path),
        None => Err(unavailable(place, "was not made")),
    }
}

fn with_key(store: &Founded, place: &str, key_path: &Path) -> Result<(SigningKey, [u8; 16]), StoreError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_key() {
        let read = |url: &str| StoreUrl::read(url, &["durability"]);
        let url = read("postgres://g@h/d?key=/k&sslmode=disable&durability=any").unwrap();
        assert_eq!(
            (url.url.as_str(), url.key.as_path()),
            ("postgres://g@h/d?sslmode=disable", Path::new("/k"))
        );
        assert_eq!((url.value("durability"), url.value("other")), (Some("any"), None));
        assert_eq!(read("postgres://g@h/d?key=/k").unwrap().url, "postgres://g@h/d");
        for bad in
            ["postgres://h/d", "postgres://h/d?x=1", "postgres://h/d?key=/a&key=/b", "postgres://h/d?key=rel"]
        {
            let told = read(bad).err().unwrap().to_string();
            assert!(told.contains("key") && !told.contains("h/d"), "{bad}: {told}");
        }
    }
}
