//! Who is signed in to the dashboard.
//!
//! [`Logins::open`] makes a login from the caller of a token: a secret for the cookie, and a key that stands in the path of every
//! page. A request needs both. Browsers send cookies to every port of a host, so a program that an agent serves beside this
//! server could be sent the cookie; it never learns the key. Only hashes are kept, in memory: a restart ends every login.

use std::{
    collections::HashMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use lockgate::engine::Time;
use sha2::{Digest as _, Sha256};

use crate::tokens::is_same;

/// How long a login lasts, in milliseconds: a working day.
const LASTS_MS: u64 = 8 * 60 * 60 * 1_000;
/// How many logins there are at the same time; the oldest one makes room.
const LOGINS_MAX: usize = 1_000;

type Hash = [u8; 32];

/// All logins.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<HashMap<Hash, Entry>>);

#[derive(Debug)]
struct Entry {
    /// The number of the token that was shown.
    token: String,
    key: Hash,
    until: Time,
}

/// A login that a request has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    /// By what it is found again.
    id: Hash,
    /// The number of its token.
    pub(crate) token: String,
    /// What its forms say, so that no other page can send them.
    pub(crate) form: String,
}

/// What the browser is given, once.
#[derive(Debug)]
pub(crate) struct NewLogin {
    /// For the cookie.
    pub(crate) secret: String,
    /// For the path of the pages.
    pub(crate) key: String,
}

impl Logins {
    /// Makes a login for the owner of a token.
    ///
    /// # Errors
    /// When the machine has no random numbers.
    pub(crate) fn open(&self, token: &str, at: Time) -> Result<NewLogin, getrandom::Error> {
        let mut bytes = [0_u8; 48];
        getrandom::fill(&mut bytes)?;
        let (secret, key) = bytes.split_at(32);
        let (secret, key) = (hex(secret), hex(key));
        let until = Time(at.0.saturating_add(LASTS_MS));
        let mut logins = self.lock();
        logins.retain(|_, entry| entry.until > at);
        while logins.len() >= LOGINS_MAX {
            let oldest = logins.iter().min_by_key(|(_, entry)| entry.until).map(|(id, _)| *id);
            oldest.map(|id| logins.remove(&id));
        }
        logins.insert(hash(&secret), Entry { token: token.to_owned(), key: hash(&key), until });
        Ok(NewLogin { secret, key })
    }

    /// The login of a secret and a key; none if they are not of one login, or it has ended.
    pub(crate) fn find(&self, secret: &str, key: &str, at: Time) -> Option<Login> {
        let id = hash(secret);
        let logins = self.lock();
        let entry = logins.get(&id).filter(|entry| entry.until > at)?;
        is_same(&hex(&entry.key), &hex(&hash(key))).then(|| Login {
            id,
            token: entry.token.clone(),
            form: hex(&hash(&format!("a form of {secret}"))),
        })
    }

    /// Whether a login that was shown before has not ended.
    pub(crate) fn is_open(&self, login: &Login, at: Time) -> bool {
        self.lock().get(&login.id).is_some_and(|entry| entry.until > at)
    }

    /// Ends a login.
    pub(crate) fn end(&self, login: &Login) {
        self.lock().remove(&login.id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Hash, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_needs_both_halves_and_ends() {
        let logins = Logins::default();
        let NewLogin { secret, key } = logins.open("1", Time(0)).unwrap();
        let other = logins.open("2", Time(0)).unwrap();
        let login = logins.find(&secret, &key, Time(1)).unwrap();
        assert_eq!(login.token, "1");
        for (secret, key) in
            [(&secret, &other.key), (&other.secret, &key), (&key, &secret), (&login.form, &key)]
        {
            assert_eq!(logins.find(secret, key, Time(1)), None);
        }
        assert!(logins.find(&secret, &key, Time(LASTS_MS - 1)).is_some());
        assert!(
            logins.find(&secret, &key, Time(LASTS_MS)).is_none() && !logins.is_open(&login, Time(LASTS_MS))
        );
        logins.end(&login);
        assert_eq!(logins.find(&secret, &key, Time(1)), None);
        assert!(logins.find(&other.secret, &other.key, Time(1)).is_some());
    }

    #[test]
    fn there_are_so_many_logins_and_the_oldest_makes_room() {
        let logins = Logins::default();
        let first = logins.open("1", Time(0)).unwrap();
        let last = (1..=LOGINS_MAX as u64).map(|at| logins.open("1", Time(at)).unwrap()).last().unwrap();
        assert!(logins.find(&first.secret, &first.key, Time(2_000)).is_none());
        assert!(logins.find(&last.secret, &last.key, Time(2_000)).is_some());
        assert_eq!(logins.lock().len(), LOGINS_MAX);
    }
}
