//! Whether a human is set up to answer, as a database sees it.

use std::{fmt, sync::Arc};

use lockgate::engine::{
    Time,
    gate::{
        AnswerTrust, HumanKey, StoreError,
        audit_log::{HUMAN_KEY, LogEntry, LogEvent},
    },
    store::{Query, Sqlite, to_hex},
};
use serde_json::{Map, Value};

use super::sealed::SealedKey;
use crate::{
    approvals::Approvals,
    environment::{Environment, now},
};

/// Whether a human is set up to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HumanSetup {
    /// The settings say that no proof is needed.
    Unprotected,
    /// No passphrase was ever set.
    Missing,
    /// There is a key, and this database has not seen it yet.
    New([u8; 32]),
    /// There is a key, and this database knows it.
    Known([u8; 32]),
    /// The file holds another key than this database knows.
    Replaced,
    /// This database knows a key, and the file is gone.
    Gone,
    /// The file cannot be used: why.
    Unusable(String),
}

impl fmt::Display for HumanSetup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unprotected => {
                "UNPROTECTED: `approvals = \"unprotected\"` in the settings, so answers need no passphrase and any \
                 program of this user can approve"
            }
            Self::Missing => {
                "no passphrase is set, so questions can only be answered in the agent's own prompt; run `lockgate \
                 passphrase set` in a terminal of your own"
            }
            Self::New(_) | Self::Known(_) => "answers need your passphrase",
            Self::Replaced => {
                "the file of the human's key holds another key than this database knows, so no answer counts; restore the \
                 file from a copy, or run `lockgate passphrase adopt` if you replaced it yourself"
            }
            Self::Gone => {
                "the file of the human's key is gone, so no answer counts; restore it from a copy, or run `lockgate \
                 passphrase reset`"
            }
            Self::Unusable(why) => why,
        })
    }
}

/// Looks at the file of the user's key and at the key that a database has recorded.
pub fn look(approvals: Approvals, environment: &Environment, recorded: Option<[u8; 32]>) -> HumanSetup {
    if approvals == Approvals::Unprotected {
        return HumanSetup::Unprotected;
    }
    let key = match SealedKey::read(environment) {
        Ok(file) => file.and_then(|file| file.public_key()),
        Err(error) => return HumanSetup::Unusable(error.to_string()),
    };
    match (key, recorded) {
        (None, None) => HumanSetup::Missing,
        (Some(key), None) => HumanSetup::New(key),
        (Some(key), Some(recorded)) if key == recorded => HumanSetup::Known(key),
        (Some(_), Some(_)) => HumanSetup::Replaced,
        (None, Some(_)) => HumanSetup::Gone,
    }
}

/// Records a key in a database that has none, unless its audit log knows of another.
///
/// # Errors
/// When the database cannot be reached.
pub fn record(backend: &Sqlite, key: [u8; 32], how: &str) -> Result<HumanSetup, StoreError> {
    // Once for each database: an attacker may have removed the row to have another key recorded.
    for link in backend.audit_log(Query::default()) {
        let entry = link?.entry;
        if !entry.contains(HUMAN_KEY) {
            continue;
        }
        if let Ok(LogEntry { what: LogEvent::Operator { act, about }, .. }) = serde_json::from_str(&entry)
            && act == HUMAN_KEY
            && about.get("key").and_then(Value::as_str) != Some(&to_hex(&key))
        {
            return Ok(HumanSetup::Replaced);
        }
    }
    let at = now();
    backend.replace_human_key(None, &key, at, &key_entry(&key, how, at))?;
    // Another process may have been first, with another key.
    Ok(match backend.human_key()? {
        Some(recorded) if recorded == key => HumanSetup::Known(key),
        _ => HumanSetup::Replaced,
    })
}

/// What the audit log says when a key is recorded.
pub fn key_entry(key: &[u8; 32], how: &str, at: Time) -> String {
    let mut about = Map::new();
    about.insert("key".to_owned(), Value::from(to_hex(key)));
    about.insert("how".to_owned(), Value::from(how));
    let what = LogEvent::Operator { act: HUMAN_KEY.to_owned(), about };
    LogEntry { at: at.0, session: None, policy: None, what }.to_json()
}

/// Which answers in a database count.
///
/// # Errors
/// When the database cannot be reached.
pub fn answer_trust(
    approvals: Approvals,
    environment: &Environment,
    backend: &Sqlite,
) -> Result<AnswerTrust, StoreError> {
    if environment.is_guardian() {
        // Only the guardian writes to its database, and it accepts answers only from root or with the passphrase.
        return Ok(AnswerTrust::Store);
    }
    let mut setup = look(approvals, environment, backend.human_key()?);
    if let HumanSetup::New(key) = setup {
        setup = record(backend, key, "first seen")?;
    }
    let nobody = |setup: &HumanSetup| AnswerTrust::Nobody(Arc::from(setup.to_string()));
    Ok(match &setup {
        HumanSetup::Unprotected => AnswerTrust::Store,
        HumanSetup::Known(key) => {
            HumanKey::new(backend.database_id()?, key).map_or_else(|| nobody(&setup), AnswerTrust::Signed)
        }
        _ => nobody(&setup),
    })
}
