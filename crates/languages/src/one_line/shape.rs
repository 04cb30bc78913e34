//! Compares the words of a line with the shape of its sentence.
//!
//! A shape is text such as `limit <tool> to <N> per <scope>`: fixed words, and `<…>` for the author's own. Remedies are
//! made from it: the line put right, or completed.

use lockgate_policy::closest;

use super::{
    meant::{did_you_mean, is_human, period_seconds},
    parser::Parser,
    words::{Word, span_of, texts},
};

impl<'t> Parser<'t> {
    /// The words of a statement, if there are as many as its shape has. Fixed words that differ are
    /// reported, but do not keep the other words from being looked at.
    pub(super) fn shaped<'w, const N: usize>(
        &mut self,
        words: &'w [Word<'t>],
        shape: &str,
    ) -> Option<&'w [Word<'t>; N]> {
        let Ok(exact) = <&[Word<'t>; N]>::try_from(words) else {
            self.wrong_count(words, shape, N);
            return None;
        };
        for (position, (word, expected)) in words.iter().zip(shape.split(' ')).enumerate() {
            if !expected.starts_with('<') && word.text != expected && position > 0 {
                self.wrong_word(words, shape, position, *word, expected);
            }
        }
        Some(exact)
    }

    fn wrong_count(&mut self, words: &[Word<'t>], shape: &str, expected: usize) {
        let got = words.len();
        let surplus = words.get(expected..).unwrap_or_default();
        let (span, label, remedy) = if surplus.is_empty() {
            let missing = expected.saturating_sub(got);
            (span_of(words), format!("{missing} too few"), self.remedy_for_too_few(words, shape))
        } else {
            let remedy = self.remedy_for_too_many(words, surplus);
            (span_of(surplus), format!("{} too many", surplus.len()), remedy)
        };
        let message = format!("'{shape}' expects {expected} tokens, got {got}");
        self.mistake("token-count", span, message, label, remedy);
    }

    fn remedy_for_too_few(&self, words: &[Word<'t>], shape: &str) -> String {
        let end = span_of(words).end;
        let cut_by_comment = self.source.text().get(end..).is_some_and(|rest| rest.starts_with('#'));
        match words {
            [keyword, _, pattern] if keyword.text == "map" && cut_by_comment => {
                format!("write `/{}#…/`: outside of slashes a `#` starts a comment", pattern.text)
            }
            _ => format!("write `{}`", completed(texts(words), shape)),
        }
    }

    fn remedy_for_too_many(&self, words: &[Word<'_>], surplus: &[Word<'_>]) -> String {
        let keyword = words.first().map_or("", |word| word.text);
        let is_open_regex = |word: &Word<'_>| word.text.starts_with('/') && word.text.rfind('/') == Some(0);
        if keyword == "map" && words.get(2).is_some_and(is_open_regex) {
            "write `\\s` for a space within a pattern, as in `/git\\spush/`".into()
        } else if keyword == "require" && words.iter().skip(1).any(|word| is_human(&word.text.to_lowercase()))
        {
            let tool = words.last().map_or("deploy", |word| word.text);
            format!("write `require human-approval before {tool}`, with a hyphen")
        } else if keyword == "limit" && surplus.last().is_some_and(|word| period_seconds(word.text).is_some())
        {
            "write `per session`, or a time with its number, as in `per 1 hour`".into()
        } else if words.iter().any(|word| word.text.contains(['"', '\''])) {
            "write names without spaces and quotes; a name ends at the next space".into()
        } else if surplus.iter().any(|word| self.is_keyword(word.text)) {
            "write one statement a line".into()
        } else if keyword == "block" {
            "write one `block` line for each tool".into()
        } else {
            "put a `#` before what is meant as a comment".into()
        }
    }

    fn is_keyword(&self, text: &str) -> bool {
        self.sentences.iter().any(|sentence| sentence.keyword() == Some(text))
    }

    fn wrong_word(
        &mut self,
        words: &[Word<'t>],
        shape: &str,
        position: usize,
        word: Word<'t>,
        expected: &str,
    ) {
        let statement = corrected(words, shape);
        let remedy = match words {
            // Never a bare correction here: an author who writes `after` means the other way round.
            [_, first, _, second] if expected == "before" => {
                format!("write `{statement}`, if `{}` has to wait for `{}`", second.text, first.text)
            }
            _ => format!("write `{statement}`"),
        };
        let meant = closest(word.text, [expected]);
        self.mistake(
            "expected-word",
            word.span(),
            format!("expected '{expected}' at position {}, got '{}'", position + 1, word.text),
            meant.map_or_else(|| format!("expected `{expected}`"), did_you_mean),
            remedy,
        );
    }
}

/// The statement with its fixed words put right.
pub(super) fn corrected(words: &[Word<'_>], shape: &str) -> String {
    let right = |(word, expected): (&Word<'_>, &str)| match expected.starts_with('<') {
        true => word.text.to_owned(),
        false => expected.to_owned(),
    };
    words.iter().zip(shape.split(' ')).map(right).collect::<Vec<_>>().join(" ")
}

/// The statement with what it lacks filled in, or its bare shape where the words do not fit into it.
pub(super) fn completed<'t>(words: impl Iterator<Item = &'t str>, shape: &'t str) -> String {
    let mut rest = words.peekable();
    let mut filled = Vec::new();
    let mut slots = shape.split(' ').peekable();
    while let Some(slot) = slots.next() {
        let is_fixed = !slot.starts_with('<');
        let next_fixed = slots.peek().copied();
        match rest.next_if(|word| if is_fixed { *word == slot } else { Some(*word) != next_fixed }) {
            Some(word) => filled.push(word),
            None => filled.push(slot),
        }
    }
    if rest.peek().is_some() { shape.to_owned() } else { filled.join(" ") }
}
