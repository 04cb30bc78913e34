//! The tokens of a server: who may do what, in which sessions.
//!
//! [`Tokens`] reads them from a file that holds their SHA-256 alone, so the file does not let anyone in. A token has 32
//! random bytes and is shown once, when it is made. The file is looked at for each request, so that a token that was revoked
//! counts for nothing from then on. There are no passwords.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use lockgate::engine::{NamePattern, Time, gate::audit_log::TIMEOUT, pattern::PatternError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    data_folder::{DataFolder, write_private},
    platform,
    scope::Scope,
};

/// How many tokens a server has at most.
pub const TOKENS_MAX: usize = 10_000;
/// How a token begins, so that scanners for leaked secrets know it.
const PREFIX: &str = "lgt_";
/// The form of the file.
const VERSION: u64 = 1;

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its number, in hexadecimal digits: the part of the token that is not a secret.
    pub id: String,
    /// What people call its owner; answers are stored under it.
    pub name: String,
    /// What its owner may do.
    pub scope: Scope,
    /// The sessions it is about, `*` for all.
    pub sessions: Vec<String>,
    /// When it was made, in milliseconds since 1970.
    pub made_at: u64,
    /// When it ends; none if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The SHA-256 of the whole token, in hexadecimal digits.
    hash: String,
}

/// What a new token is to be.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What people call its owner.
    pub name: String,
    /// What its owner may do.
    pub scope: Scope,
    /// The sessions it is about: names, with `*` and `?` patterns.
    pub sessions: Vec<String>,
    /// When it ends; none if it does not.
    pub expires: Option<Time>,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use the tokens in `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is damaged.
    #[error("`{}` is not a file of tokens: {source}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The file is of another version, or other users can read it.
    #[error("the tokens in `{}` cannot be used: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// A name is not a name.
    #[error(
        "`{0}` cannot be the name of a token; use 1 to 64 letters, digits, `.`, `_`, `@` or `-`, and not `timeout`"
    )]
    Name(String),
    /// There is such a token already.
    #[error("a token is called `{0}` already; revoke it first, or choose another name")]
    Taken(String),
    /// There is no such token.
    #[error("no token is called `{0}`; see `lockgate serve token list`")]
    Unknown(String),
    /// A name of sessions is not a pattern.
    #[error("`{text}` does not name sessions: {source}")]
    Sessions {
        /// What was given.
        text: String,
        /// What is wrong with it.
        source: PatternError,
    },
    /// There are too many tokens.
    #[error("there are {TOKENS_MAX} tokens already; revoke some")]
    TooMany,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    version: u64,
    tokens: Vec<Token>,
}

/// The tokens of a server.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: RwLock<Option<(Edition, Arc<Vec<Known>>)>>,
}

type Edition = (u64, i64, i64, u64);

/// A token that was read, with its patterns compiled.
#[derive(Debug)]
struct Known {
    token: Token,
    sessions: Vec<NamePattern>,
}

impl Tokens {
    /// The tokens of a server's folder.
    pub fn of(data: &DataFolder) -> Self {
        Self { path: data.tokens(), read: RwLock::new(None) }
    }

    /// All of them, in the order they were made.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        Ok(self.known()?.iter().map(|known| known.token.clone()).collect())
    }

    /// Makes a token and returns it. It is stored nowhere, only its hash is.
    ///
    /// # Errors
    /// When the name or the sessions are not valid, or the file cannot be written.
    pub fn create(&self, new: NewToken, at: Time) -> Result<String, TokenError> {
        let NewToken { name, scope, sessions, expires } = new;
        let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
        // An answer of this name is the gate's own: it makes a yes of a timeout, and needs no signature.
        let is_reserved = name == TIMEOUT;
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || is_reserved {
            return Err(TokenError::Name(name));
        }
        let _ = patterns(&sessions)?;
        let mut bytes = [0_u8; 36];
        getrandom::fill(&mut bytes).map_err(|error| self.failed(io::Error::other(error)))?;
        let (number, secret) = bytes.split_at(4);
        let id = hex(number);
        let text = format!("{PREFIX}{id}_{}", hex(secret));
        let expires = expires.map(|at| at.0);
        let token =
            Token { id, name, scope, sessions, made_at: at.0, expires, hash: hex(&Sha256::digest(&text)) };
        self.change(|tokens| {
            if tokens.iter().any(|other| other.name == token.name || other.id == token.id) {
                return Err(TokenError::Taken(token.name.clone()));
            }
            if tokens.len() >= TOKENS_MAX {
                return Err(TokenError::TooMany);
            }
            tokens.push(token);
            Ok(())
        })?;
        Ok(text)
    }

    /// Takes a token away, by its name or its number.
    ///
    /// # Errors
    /// When there is no such token, or the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<Token, TokenError> {
        let mut revoked = None;
        self.change(|tokens| {
            let place = tokens.iter().position(|token| token.name == name || token.id == name);
            revoked = place.map(|place| tokens.remove(place));
            Ok(())
        })?;
        revoked.ok_or_else(|| TokenError::Unknown(name.to_owned()))
    }

    /// Who shows this token; none if it is not one, or has ended.
    ///
    /// # Errors
    /// When the tokens cannot be read: then no one may be let in.
    pub(crate) fn find(&self, shown: &str, at: Time) -> Result<Option<Caller>, TokenError> {
        let known = self.known()?;
        let Some((id, _)) = shown.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')) else {
            return Ok(None);
        };
        let hash = hex(&Sha256::digest(shown));
        let is_it = |known: &&Known| known.token.id == id && is_same(&known.token.hash, &hash);
        Ok(known.iter().find(is_it).filter(|known| known.counts(at)).map(Known::caller))
    }

    /// The caller of a token that was shown before; none if it was revoked, or has ended.
    ///
    /// # Errors
    /// As [`Tokens::find`].
    pub(crate) fn caller(&self, id: &str, at: Time) -> Result<Option<Caller>, TokenError> {
        let known = self.known()?;
        let is_it = |known: &&Known| known.token.id == id;
        Ok(known.iter().find(is_it).filter(|known| known.counts(at)).map(Known::caller))
    }

    fn known(&self) -> Result<Arc<Vec<Known>>, TokenError> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.failed(error)),
        };
        let edition = platform::edition(&metadata);
        if let Some((read, known)) = &*self.read.read().unwrap_or_else(PoisonError::into_inner)
            && *read == edition
        {
            return Ok(Arc::clone(known));
        }
        let known = self.load()?.into_iter().map(Known::new).collect::<Result<Vec<_>, _>>().map(Arc::new)?;
        *self.read.write().unwrap_or_else(PoisonError::into_inner) = Some((edition, Arc::clone(&known)));
        Ok(known)
    }

    fn load(&self) -> Result<Vec<Token>, TokenError> {
        let path = self.path.clone();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(error)),
        };
        if platform::is_open_to_others(&fs::metadata(&path).map_err(|error| self.failed(error))?) {
            return Err(TokenError::Unusable {
                path,
                why: "other users can access them; run `chmod go=` on it",
            });
        }
        let file: TokenFile = serde_json::from_str(&text)
            .map_err(|source| TokenError::Damaged { path: path.clone(), source })?;
        match file.version {
            VERSION => Ok(file.tokens),
            _ => Err(TokenError::Unusable { path, why: "a newer version of Lockgate wrote them" }),
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Token>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        platform::keep_private(&mut options);
        let lock = options.open(self.path.with_extension("lock")).map_err(|error| self.failed(error))?;
        // Two commands at once must not lose each other's token. Closing the file ends it.
        lock.lock().map_err(|error| self.failed(error))?;
        let mut tokens = self.load()?;
        change(&mut tokens)?;
        let text = serde_json::to_string_pretty(&TokenFile { version: VERSION, tokens })
            .map_err(|source| TokenError::Damaged { path: self.path.clone(), source })?;
        write_private(&self.path, text.as_bytes()).map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> TokenError {
        TokenError::Io { path: Path::to_path_buf(&self.path), source }
    }
}

impl Known {
    fn new(token: Token) -> Result<Self, TokenError> {
        Ok(Self { sessions: patterns(&token.sessions)?, token })
    }

    fn counts(&self, at: Time) -> bool {
        self.token.expires.is_none_or(|expires| at.0 < expires)
    }

    fn caller(&self) -> Caller {
        let Token { id, name, scope, sessions, .. } = &self.token;
        // A token about one session means that one where a request names none.
        let own = match (sessions.as_slice(), self.sessions.as_slice()) {
            ([own], [NamePattern::Exact(_)]) => Some(own.clone()),
            _ => None,
        };
        Caller { id: id.clone(), name: name.clone(), scope: *scope, own, sessions: self.sessions.clone() }
    }
}

fn patterns(sessions: &[String]) -> Result<Vec<NamePattern>, TokenError> {
    let read = |text: &String| {
        NamePattern::parse(text).map_err(|source| TokenError::Sessions { text: text.clone(), source })
    };
    sessions.iter().map(read).collect()
}

/// Who makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The number of the token.
    pub(crate) id: String,
    /// What people call the owner.
    pub(crate) name: String,
    /// What the owner may do.
    pub(crate) scope: Scope,
    /// The session of requests that name none.
    own: Option<String>,
    sessions: Vec<NamePattern>,
}

impl Caller {
    /// The caller of a route that needs no token. No session is theirs.
    pub(crate) fn anonymous() -> Self {
        Self { id: String::new(), name: String::new(), scope: Scope::Viewer, own: None, sessions: Vec::new() }
    }

    /// Whether a session is among those of the token.
    pub(crate) fn may_enter(&self, session: &str) -> bool {
        self.sessions.iter().any(|pattern| pattern.is(session))
    }

    /// Whether every session is: then it may also do what is about all of them.
    pub(crate) fn may_enter_all(&self) -> bool {
        self.sessions.iter().any(|pattern| matches!(pattern, NamePattern::Like(_)) && pattern.is(""))
    }

    /// The session of a request that names none.
    pub(crate) fn own_session(&self) -> &str {
        self.own.as_deref().unwrap_or("default")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Takes the same time wherever the first difference is.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let different = one.bytes().zip(other.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    one.len() == other.len() && std::hint::black_box(different) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, sessions: &[&str]) -> NewToken {
        let sessions = sessions.iter().map(|text| (*text).to_owned()).collect();
        NewToken { name: name.to_owned(), scope: Scope::Agent, sessions, expires: None }
    }

    fn tokens() -> (tempfile::TempDir, Tokens) {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path().join("data")).unwrap();
        (folder, Tokens::of(&data))
    }

    #[test]
    fn a_token_counts_until_it_is_revoked_or_ends_and_is_stored_nowhere() {
        let (_folder, tokens) = tokens();
        let text = tokens.create(new("ci", &["ci/*"]), Time(1)).unwrap();
        let brief = NewToken { expires: Some(Time(50)), ..new("brief", &["*"]) };
        let brief = tokens.create(brief, Time(1)).unwrap();
        assert!(!fs::read_to_string(&tokens.path).unwrap().contains(text.rsplit('_').next().unwrap()));
        assert_eq!(tokens.find(&text, Time(2)).unwrap().unwrap().name, "ci");
        for wrong in
            ["", "lgt_", text.get(..text.len() - 1).unwrap(), &text.to_uppercase(), &format!("{text}0")]
        {
            assert!(tokens.find(wrong, Time(2)).unwrap().is_none(), "{wrong}");
        }
        assert!(tokens.find(&brief, Time(49)).unwrap().is_some());
        assert!(tokens.find(&brief, Time(50)).unwrap().is_none(), "it has ended");
        // Another process revokes it.
        let elsewhere = Tokens { path: tokens.path.clone(), read: RwLock::new(None) };
        elsewhere.revoke("ci").unwrap();
        assert!(tokens.find(&text, Time(2)).unwrap().is_none(), "it was revoked");
        assert!(matches!(tokens.revoke("ci"), Err(TokenError::Unknown(_))));
    }

    #[test]
    fn names_are_taken_once_and_plain() {
        let (_folder, tokens) = tokens();
        tokens.create(new("ci", &["*"]), Time(1)).unwrap();
        assert!(matches!(tokens.create(new("ci", &["*"]), Time(1)), Err(TokenError::Taken(_))));
        for name in ["", "a b", "a\n", "é", "timeout", &"x".repeat(65)] {
            assert!(matches!(tokens.create(new(name, &["*"]), Time(1)), Err(TokenError::Name(_))), "{name}");
        }
    }

    #[test]
    fn a_damaged_file_lets_no_one_in() {
        let (_folder, tokens) = tokens();
        let text = tokens.create(new("ci", &["*"]), Time(1)).unwrap();
        write_private(&tokens.path, b"{}").unwrap();
        assert!(matches!(tokens.find(&text, Time(2)), Err(TokenError::Damaged { .. })));
        write_private(&tokens.path, br#"{"version": 2, "tokens": []}"#).unwrap();
        assert!(matches!(tokens.find(&text, Time(2)), Err(TokenError::Unusable { .. })));
    }

    #[test]
    fn a_token_enters_its_own_sessions_alone() {
        let (_folder, tokens) = tokens();
        let caller = |name: &str, sessions: &[&str]| {
            let text = tokens.create(new(name, sessions), Time(1)).unwrap();
            tokens.find(&text, Time(2)).unwrap().unwrap()
        };
        let team = caller("team", &["a/*"]);
        assert!(
            team.may_enter("a/1")
                && !team.may_enter("b/1")
                && !team.may_enter("a")
                && !team.may_enter("xa/1")
        );
        assert!(!team.may_enter_all() && team.own_session() == "default");
        let one = caller("one", &["s1"]);
        assert!(one.may_enter("s1") && !one.may_enter("s12") && one.own_session() == "s1");
        assert!(caller("all", &["*"]).may_enter_all());
        assert!(!caller("none", &[]).may_enter("s1"));
    }
}
