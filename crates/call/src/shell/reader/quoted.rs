//! What stands quoted in a script and runs all the same, once an index or a sum takes it in.
//!
//! `f() { (($1)); }; f 'b[$(rm x)]'` runs `rm`: bash expands the index of a name that it finds in a value. Values that
//! are assigned are read where they are assigned. [`Quoted`] keeps every other word until the script is read, and
//! `Reader::read_quoted` reads those that could be taken in. Which value reaches which index is left out on
//! purpose, and so is what a program would write: `a=$(curl -s https://host/x); ((a))`.

use crate::programs::program::{Builtin, Program};
use crate::programs::word::Field;
use crate::shell::words::without_quotes;

/// The most words that are kept.
pub(super) const WORDS_MAX: usize = 64;

/// What could be expanded once more.
#[derive(Default)]
pub(super) struct Quoted {
    pub(super) texts: Vec<String>,
    /// How many were kept and read already.
    pub(super) count: usize,
    /// Whether the script computes a sum or an index of its own.
    pub(super) has_sums: bool,
    /// Whether code is put together by a format.
    pub(super) has_format: bool,
}

impl Quoted {
    /// Takes in that the script computes something.
    pub(super) fn computes(&mut self) {
        self.has_sums = true;
    }

    /// Takes in how a word is written, or a text in which variables are replaced.
    pub(super) fn look_for_sums(&mut self, written: &str) {
        self.has_sums = self.has_sums || has_sums(written);
    }

    /// Takes in the words of a program. `printf` puts some of them into its first: `printf 'b[$(%s x)]' rm`.
    pub(super) fn look_at_words(&mut self, program: &Program, arguments: &[Field]) {
        let is_format =
            |word: &Field| word.quotes_code && word.text.contains('%') && may_run_within(&word.text);
        self.has_format |= program.is(Builtin::Formats) && arguments.iter().any(is_format);
        self.has_sums |= program.is(Builtin::Sums);
    }

    /// Keeps a word that quotes code.
    pub(super) fn keep(&mut self, field: &Field) {
        if field.quotes_code && may_run_within(&field.text) {
            let plain = without_quotes(&field.text);
            if plain != field.text && !field.is_certain() {
                self.push(plain);
            }
            self.push(field.text.clone());
        }
    }

    /// Keeps a text that a command reads, if it holds an index as bash takes it in. Texts are long, and quote
    /// much that no index ever sees.
    pub(super) fn keep_text(&mut self, text: &str) {
        if has_index_with_code(text) {
            self.push(text.replace("\\$", "$").replace("\\`", "`"));
        }
    }

    fn push(&mut self, text: String) {
        self.count = self.count.saturating_add(1);
        if self.count <= WORDS_MAX {
            self.texts.push(text);
        }
    }
}

/// Whether a value that is not known whole, or that others may be added to, may run something once it is expanded.
pub(super) fn may_run_within(value: &str) -> bool {
    value.contains("$(") || value.contains('`') || is_piece_of_index(value) || hides_code(value)
}

/// Whether a value is written in a way that we do not decode, and may be code: `$'b[\x{24}(rm x)]'`.
pub(super) fn hides_code(value: &str) -> bool {
    let is_large = |digits: &str| {
        let mut digits = digits.bytes();
        matches!(digits.next(), Some(b'4'..=b'7'))
            && digits.next().is_some_and(|digit| digit.is_ascii_digit())
    };
    value.contains("$'")
        && value.contains('\\')
        && (value.contains('(') || value.contains("\\x{") || value.split('\\').skip(1).any(is_large))
}

/// Whether a value is the beginning of an index that runs something once it is whole: `a[$` before `(rm x)]`.
pub(super) fn is_piece_of_index(value: &str) -> bool {
    value.ends_with('$') && value.matches('[').count() > value.matches(']').count()
}

/// Whether a word computes a sum, an index or a place in a text, or finds a variable by its name.
fn has_sums(word: &str) -> bool {
    if word.contains("\\\n") {
        return has_sums(&word.replace("\\\n", ""));
    }
    let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    if !word.contains('$') || inner.is_some_and(|inner| !inner.contains('\'')) {
        return false;
    }
    // `${c[a]}` and `${c:a}`, but not `${c:-a}`.
    let computes = |parameter: &str| {
        let parameter = parameter.split('}').next().unwrap_or_default();
        let place = parameter.split_once(':').map(|(_, place)| place);
        parameter.contains('[') || place.is_some_and(|place| !place.starts_with(['-', '=', '?', '+']))
    };
    ["$((", "$[", "${!"].iter().any(|sign| word.contains(sign)) || word.split("${").skip(1).any(computes)
}

/// Whether a text has the index of a name, and code in there: `b[$(rm x)]`.
pub(super) fn has_index_with_code(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut starts = text
        .match_indices('[')
        .filter(|(at, _)| text.get(..*at).is_some_and(|before| before.ends_with(is_name)));
    starts.any(|(at, _)| {
        let index = text.get(at..).unwrap_or_default();
        let line = index.split('\n').next().unwrap_or_default();
        line.contains("$(") || line.contains('`')
    })
}
