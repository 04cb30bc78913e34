//! Lines and words of the one-line language.
//!
//! A line ends at `\n` and nowhere else, a word at what JavaScript calls white space, and a comment starts
//! at the first `#`, except between the slashes of a map's pattern. Nothing here knows what a word means.

use smallvec::SmallVec;

use lockgate_policy::Span;

/// A word and where it starts in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
}

impl Word<'_> {
    pub(crate) fn span(&self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }
}

/// The words of a line; most statements have at most seven.
pub(crate) type Words<'t> = SmallVec<[Word<'t>; 8]>;

/// The lines of a file, each with the byte it starts at.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.split('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len() + 1;
        Some((line, start))
    })
}

/// The words of a line up to its comment.
pub(crate) fn words_of(line: &str, line_start: usize) -> Words<'_> {
    words_and_comment(line, line_start).0
}

/// Where the comment of a line starts.
pub(crate) fn comment_start(line: &str) -> Option<usize> {
    words_and_comment(line, 0).1
}

fn words_and_comment(line: &str, line_start: usize) -> (Words<'_>, Option<usize>) {
    let mut words = Words::new();
    let mut start = line_start;
    for chunk in line.split_inclusive(is_space) {
        let text = chunk.trim_end_matches(is_space);
        let is_pattern = match words.as_slice() {
            [map, _] => map.text == "map",
            [map, any, shell] => map.text == "map" && any.text == "any" && shell.text.starts_with("shell."),
            _ => false,
        };
        let comment =
            if is_pattern && text.starts_with('/') { comment_after_regex(text) } else { text.find('#') };
        let kept = comment.and_then(|at| text.get(..at)).unwrap_or(text);
        if !kept.is_empty() {
            words.push(Word { text: kept, start });
        }
        if let Some(at) = comment {
            return (words, Some(start + at));
        }
        start += chunk.len();
    }
    (words, None)
}

/// The words of a text that has no comments, counted from its start.
pub(crate) fn plain_words(text: &str) -> Words<'_> {
    let mut words = Words::new();
    let mut start = 0;
    for chunk in text.split_inclusive(is_space) {
        let text = chunk.trim_end_matches(is_space);
        if !text.is_empty() {
            words.push(Word { text, start });
        }
        start += chunk.len();
    }
    words
}

/// White space as JavaScript's `\s` has it: Unicode's, without U+0085 and with the byte order mark.
pub(super) fn is_space(c: char) -> bool {
    match c {
        '\t'..='\r' | ' ' | '\u{feff}' => true,
        '\u{85}' => false,
        _ => !c.is_ascii() && c.is_whitespace(),
    }
}

/// Where the comment starts in a word that starts with `/`: at a `#` that no slash follows, or that follows
/// a finished regular expression, as in `/rm/i#really`. A slash that is escaped or in a class finishes none.
fn comment_after_regex(word: &str) -> Option<usize> {
    let last_slash = word.rfind('/')?;
    let mut is_escaped = false;
    let mut is_in_class = false;
    let mut is_finished = false;
    for (at, c) in word.char_indices().skip(1) {
        if c == '#' && (is_finished || at > last_slash) {
            return Some(at);
        }
        is_finished = match c {
            '/' => !is_escaped && !is_in_class,
            flag => is_finished && FLAGS.contains(flag),
        };
        match c {
            _ if is_escaped => {}
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// The flags of a regular expression of JavaScript.
pub(super) const FLAGS: &str = "dgimsuvy";

/// The texts of some words.
pub(super) fn texts<'t>(words: &[Word<'t>]) -> impl Iterator<Item = &'t str> {
    words.iter().map(|word| word.text)
}

/// From the first to the last of these words.
pub(super) fn span_of(words: &[Word<'_>]) -> Span {
    let start = words.first().map_or(0, |word| word.start);
    Span::new(start, words.last().map_or(start, |word| word.span().end))
}
