//! One entry of the audit log: an object of JSON in one line, with the moment and the session it is found by.

use std::borrow::Cow;

use serde::Deserialize;

use crate::error::Fault;

/// An entry may be so long; the gate names long texts by their hash, so honest ones are far shorter.
pub const ENTRY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What an entry says for finding it again.
#[derive(Deserialize)]
pub(crate) struct EntryKey<'a> {
    pub(crate) at: u64,
    #[serde(borrow, default)]
    pub(crate) session: Option<Cow<'a, str>>,
}

/// Reads an entry: one line, an object of JSON to the byte, with its moment.
pub(crate) fn entry_key(entry: &str) -> Result<EntryKey<'_>, Fault> {
    let refused = |why: &str| {
        Fault::told(format!("was given an entry of the audit log that {why}; nothing was stored"))
    };
    if entry.len() > ENTRY_BYTES_MAX {
        return Err(refused(&format!("is longer than {ENTRY_BYTES_MAX} bytes")));
    }
    // Exports are lines, and a reader of JSON drops what stands around an object.
    if !entry.starts_with('{') || !entry.ends_with('}') || entry.contains('\n') {
        return Err(refused("is not an object of JSON in one line"));
    }
    let key: EntryKey<'_> = serde_json::from_str(entry)
        .map_err(|error| refused(&format!("cannot be read (column {})", error.column())))?;
    if i64::try_from(key.at).is_err() {
        return Err(refused("has a moment too late to be kept"));
    }
    Ok(key)
}
