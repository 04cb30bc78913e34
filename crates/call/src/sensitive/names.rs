//! Which names say that a secret stands behind them.
//!
//! One table serves keys of JSON, assignments in a text and options of a command. A name counts by how it ends:
//! `db_password` holds one, `password_policy` does not. Names for personal data are missing on purpose: what is
//! personal is told by its own shape.

use serde_json::Value;

use crate::fields::key_words;

/// How sure a name is of what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// Nothing but a secret stands there.
    Sure,
    /// In prose and program text the word is used for other things as well: what follows must look like a secret.
    Loose,
    /// A header, whose value goes on to the end of the line.
    Header,
}

/// Names by their last letters, in lower case and without separators.
const ENDINGS: &[(&str, Name)] = &[
    ("password", Name::Sure),
    ("passwd", Name::Sure),
    ("passphrase", Name::Sure),
    ("passcode", Name::Sure),
    ("passwort", Name::Sure),
    ("пароль", Name::Sure),
    ("passwordhash", Name::Sure),
    ("secret", Name::Loose),
    ("secretvalue", Name::Loose),
    ("token", Name::Loose),
    ("apikey", Name::Loose),
    ("accesskey", Name::Loose),
    ("secretkey", Name::Loose),
    ("privatekey", Name::Loose),
    ("signingkey", Name::Loose),
    ("encryptionkey", Name::Loose),
    ("authkey", Name::Loose),
    ("accountkey", Name::Loose),
    ("sharedkey", Name::Loose),
    ("credential", Name::Loose),
    ("authorization", Name::Header),
    ("cookie", Name::Header),
];

/// Names too short to be told by their letters alone: they must be the last word.
const LAST_WORDS: &[(&str, Name)] =
    &[("pwd", Name::Sure), ("pass", Name::Loose), ("jwt", Name::Loose), ("otp", Name::Loose)];

/// Names that end like a secret and hold none: places in a list, and how much text a model may write.
const HARMLESS: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "synctoken",
    "continuationtoken",
    "cursortoken",
    "maxtoken",
    "mintoken",
    "prompttoken",
    "completiontoken",
    "inputtoken",
    "outputtoken",
    "totaltoken",
    "numtoken",
    "stoptoken",
];

/// Words that say what would stand there and are no secret themselves.
const WORDS: &[&str] = &[
    "string",
    "str",
    "&str",
    "text",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "bytes",
    "any",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "redacted",
    "masked",
    "hidden",
];

/// What a name says about what stands behind it.
pub(super) fn name(name: &str) -> Option<Name> {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let singular = letters.strip_suffix('s').unwrap_or(&letters);
    let ends = |end: &str| letters.ends_with(end) || singular.ends_with(end);
    if HARMLESS.iter().any(|harmless| ends(harmless)) {
        return None;
    }
    let by_ending = ENDINGS.iter().find(|(ending, _)| ends(ending));
    let by_word = || {
        let row = LAST_WORDS.iter().find(|(word, _)| letters.ends_with(word))?;
        let words = key_words(name);
        words.rsplit('_').next().is_some_and(|last| last == row.0).then_some(row)
    };
    by_ending.or_else(by_word).map(|(_, name)| *name)
}

/// Whether all of a value of JSON is secret because of its key.
pub(super) fn hides(key: &str, value: &Value) -> bool {
    let is_plural = key.ends_with(['s', 'S']);
    match value {
        Value::Null | Value::Bool(_) => false,
        // `tokens: 150` counts them.
        Value::Number(_) => !is_plural && matches!(name(key), Some(Name::Sure | Name::Loose)),
        Value::String(text) => name(key).is_some() && !is_folder(key, text),
        Value::Array(_) | Value::Object(_) => name(key).is_some(),
    }
}

/// `PWD` is where a shell stands, as well as what opens a database.
pub(super) fn is_folder(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().ends_with("pwd") && value.starts_with(['/', '~'])
}

/// Whether a value only says where the secret is: `$TOKEN`, `${TOKEN}`, `{{ token }}`, `%TOKEN%`, `<token>`.
/// Lower case after a bare `$` is no name of a variable by custom, and may well be a password.
pub(super) fn is_reference(value: &str) -> bool {
    let between = |open: &str, close: &str| {
        let inner = value.strip_prefix(open)?.strip_suffix(close)?.trim();
        Some(inner).filter(|inner| !inner.is_empty())
    };
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || " _-.:".contains(c));
    let is_variable =
        |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    between("${", "}").is_some_and(is_name)
        || between("{{", "}}").is_some_and(is_name)
        || between("$", "").is_some_and(is_variable)
        || between("%", "%").is_some_and(is_variable)
        || between("<", ">")
            .is_some_and(|inner| inner.chars().all(|c| c.is_alphabetic() || " _-".contains(c)))
        || value.starts_with("$(")
        || value.starts_with('`')
}

/// Whether a value is one of the words that stand where a secret would.
pub(super) fn is_placeholder(value: &str) -> bool {
    is_reference(value) || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}
