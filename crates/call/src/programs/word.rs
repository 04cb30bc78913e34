//! A word as a program would get it, as far as it is known before the script runs.

/// One word as a program would get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes; what is not known stands as written.
    pub text: String,
    /// How much of it is known.
    pub known: Known,
}

/// How much of a word is known before the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The program gets exactly this text.
    Certain,
    /// The program gets the names of files that match.
    Glob,
    /// Some part of it is computed when the script runs.
    Unknown,
}

/// A word that is still being read.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its text without quotes; what is not known stands as written.
    pub(crate) text: String,
    /// How much of it is known.
    pub(crate) known: Known,
    /// Whether it may turn out to be no word or several.
    pub(crate) splits: bool,
    /// Whether a `$` or a backtick in it stands for itself. An index, a sum or a prompt expands it all the same.
    pub(crate) quotes_code: bool,
}

impl Field {
    pub(crate) fn certain(text: impl Into<String>) -> Self {
        Self { text: text.into(), known: Known::Certain, splits: false, quotes_code: false }
    }

    pub(crate) fn uncertain(text: impl Into<String>) -> Self {
        Self { text: text.into(), known: Known::Unknown, splits: true, quotes_code: false }
    }

    /// Whether the program really gets this text.
    pub(crate) fn is_certain(&self) -> bool {
        self.known == Known::Certain
    }
}

impl From<Field> for Word {
    fn from(field: Field) -> Self {
        Self { text: field.text, known: field.known }
    }
}
