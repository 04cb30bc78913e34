//! How far the parser goes down.

use std::mem::replace;

/// How far the parser goes down for a text, at most. A bracket or a keyword takes several calls, what joins
/// commands one: lists are nested to the left.
pub(super) fn parser_steps(text: &str) -> usize {
    const DEEP: usize = 4;
    const KEYWORDS: [&str; 9] =
        ["if", "while", "until", "for", "case", "select", "function", "coproc", "time"];
    let has_sums = text.contains("((");
    let mut steps = 0_usize;
    let mut word_start = 0;
    let mut before = b' ';
    for (at, byte) in text.bytes().enumerate() {
        let previous = replace(&mut before, byte);
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            continue;
        }
        let word = text.get(word_start..at).unwrap_or_default();
        let is_keyword = word.len() > 1 && KEYWORDS.contains(&word);
        word_start = at.saturating_add(1);
        let here = match byte {
            b'(' | b'{' | b'[' | b'`' | b'!' => DEEP,
            b'-' | b'+' | b'~' | b'?' | b':' | b'=' | b',' | b'*' if has_sums => DEEP,
            // A broken line may hide a keyword.
            b'\n' if previous == b'\\' => DEEP,
            b';' | b'&' | b'|' | b'\n' => 1,
            _ => 0,
        };
        steps = steps.saturating_add(here).saturating_add(if is_keyword { DEEP } else { 0 });
    }
    steps
}
