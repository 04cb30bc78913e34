//! Texts in pictures: tokens as dots, and hostile names made printable.

/// Up to this many tokens are drawn one by one, more as a number.
pub(super) const DOTS_MAX: u64 = 4;

/// Tokens as text: dots or a number, and nothing for none.
pub(super) fn tokens_text(tokens: u64) -> String {
    match tokens {
        0..=DOTS_MAX => "●".repeat(tokens as usize),
        _ => tokens.to_string(),
    }
}

/// Text without characters that break a line, are not allowed in XML, or make a reader see letters in
/// another order than they are written.
pub(super) fn printable(text: &str) -> impl Iterator<Item = char> + '_ {
    let misleads = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{FFFE}' | '\u{FFFF}')
    };
    text.chars().map(move |c| if misleads(c) { char::REPLACEMENT_CHARACTER } else { c })
}
