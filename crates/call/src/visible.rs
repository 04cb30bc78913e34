//! Text as a person may safely be shown it.

/// Text with nothing hidden in it. Control and direction characters in an input could redraw a terminal, or turn
/// the reading around, and show another call than the one that is judged; they are spelt out instead.
pub fn visible(text: &str) -> String {
    let hides = |c: char| {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}');
        c.is_control() || turns || c == '\u{feff}'
    };
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if hides(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[test]
fn what_a_terminal_would_obey_is_spelt_out() {
    assert_eq!(visible("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
    assert_eq!(visible("grün 三"), "grün 三");
}
