//! Patterns of maps: a plain word, or a regular expression between slashes.

use lockgate_pattern::Pattern;
use lockgate_policy::{Diagnostic, Span};

use super::{
    parser::Parser,
    words::{FLAGS, Word},
};

/// The flags of a regular expression that mean something here.
const REGEX_FLAGS: [char; 3] = ['i', 'm', 's'];

/// What the pattern of a map is, by its text alone.
///
/// A pattern is a regular expression if it starts with `/`, has another `/`, and nothing but flags of
/// JavaScript follows the last one, each at most once. All else is a plain word: `/`, `/etc`,
/// `/usr/bin/rm`, and `/bin/dd` too. Two readings remain that an author may not expect, and the parser
/// warns of both: `/rm/q` is a word, and `/opt/lib/s` is the expression `opt/lib`. A path such as `/bin/su`
/// has flags that JavaScript knows and we do not, and is refused rather than guessed at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PatternText<'t> {
    Word,
    Regex { body: &'t str, flags: &'t str },
}

impl<'t> PatternText<'t> {
    pub(crate) fn read(text: &'t str) -> Self {
        match text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) {
            Some((body, flags)) if Self::are_flags(flags) => Self::Regex { body, flags },
            _ => Self::Word,
        }
    }

    pub(crate) fn are_flags(text: &str) -> bool {
        // More letters than there are flags repeat one; the check also keeps what follows short.
        text.len() <= FLAGS.len()
            && text.char_indices().all(|(at, flag)| {
                FLAGS.contains(flag) && text.get(..at).is_some_and(|before| !before.contains(flag))
            })
    }

    /// Whether a slash in the body is not escaped; within a JavaScript program it would have ended it.
    pub(crate) fn has_bare_slash(body: &str) -> bool {
        let mut is_escaped = false;
        body.chars().any(|c| {
            let is_bare = c == '/' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_bare
        })
    }
}

impl<'t> Parser<'t> {
    /// Reads the pattern of a map.
    pub(super) fn pattern(&mut self, word: Word<'t>) -> Option<Pattern> {
        let (body, flags) = match PatternText::read(word.text) {
            PatternText::Word => {
                self.warn_of_flags_misread(word);
                return Some(Pattern::word(word.text));
            }
            PatternText::Regex { body: "", .. } => {
                let remedy = "write what the field has to contain, as in `/^rm/`, or `/./` for any text";
                self.mistake("empty-regex", word.span(), "empty regex pattern", "matches every text", remedy);
                return None;
            }
            PatternText::Regex { body, flags } => (body, flags),
        };
        let body_start = word.start + 1;
        if flags.contains(|flag| !REGEX_FLAGS.contains(&flag)) {
            self.unknown_flags(word, body, flags);
            return None;
        }
        if !flags.is_empty() && PatternText::has_bare_slash(body) {
            self.diagnostics.push(
                Diagnostic::warning(
                    "looks-like-path",
                    self.source,
                    word.span(),
                    format!("`{}` is read as a regular expression with the flags `{flags}`", word.text),
                )
                .label("or is this a path?")
                .remedy(format!(
                    "write `/{}/` for the path, or `\\/` for each slash within the regular expression",
                    escape_slashes(word.text)
                )),
            );
        }
        Pattern::regex(body, flags)
            .map_err(|error| {
                // Kept within the body whatever the engine says: it may count in a translated text.
                let at = error.at.unwrap_or(0..body.len());
                let start = body.floor_char_boundary(at.start);
                let end = body.floor_char_boundary(at.end).max(start);
                let at = Span::new(body_start + start, body_start + end);
                let message = format!("invalid regular expression: {}", error.message);
                let remedy = "put a `\\` before a character that is meant literally, or write a plain word without slashes";
                self.mistake("invalid-regex", at, message, "here", remedy);
            })
            .ok()
    }

    fn unknown_flags(&mut self, word: Word<'t>, body: &str, flags: &str) {
        let (known, unknown): (String, String) = flags.chars().partition(|flag| REGEX_FLAGS.contains(flag));
        let end = word.span().end;
        self.mistake(
            "unknown-regex-flag",
            Span::new(end.saturating_sub(flags.len()), end),
            format!("unknown regex flag '{unknown}'. Supported flags are 'i', 'm', and 's'"),
            "not supported here",
            format!("write `/{body}/{known}`, or `/{}/` if it is a path", escape_slashes(word.text)),
        );
    }

    /// `/rm/q` and `/rm/I` are plain words, and so are `/bin/rm` and `/usr/bin/dd`; only the former look
    /// as if flags were meant.
    fn warn_of_flags_misread(&mut self, word: Word<'t>) {
        let Some((body, flags)) = word.text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) else {
            return;
        };
        let looks_like_flags =
            flags.chars().count() == 1 || PatternText::are_flags(&flags.to_ascii_lowercase());
        if looks_like_flags {
            self.diagnostics.push(
                Diagnostic::warning(
                    "looks-like-regex",
                    self.source,
                    word.span(),
                    format!("`{}` is read as plain text: `{flags}` is not a regex flag", word.text),
                )
                .label("matches this text, slashes included")
                .remedy(format!(
                    "write `/{body}/i` for a regular expression; the flags are `i`, `m` and `s`"
                )),
            );
        }
    }
}

fn escape_slashes(text: &str) -> String {
    text.replace('/', "\\/")
}
