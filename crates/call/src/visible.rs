//! Text as a person may safely be shown it.

/// Text with nothing hidden in it. Control and direction characters in an input could redraw a terminal, or turn
/// the reading around, and show another call than the one that is judged; they are spelt out instead.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Whether a character shows nothing of itself: it moves or turns what stands around it, or has no shape at all. The
/// letters at U+E0000 are the alphabet once more, without a shape: models read them, people do not.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[test]
fn what_a_terminal_would_obey_is_spelt_out() {
    assert_eq!(visible("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
    assert_eq!(visible("grün 三"), "grün 三");
}

#[test]
fn what_only_a_model_reads_is_spelt_out() {
    for hidden in
        ["\u{ad}", "\u{200b}", "\u{2066}", "\u{3164}", "\u{fe0f}", "\u{e0041}", "\u{e0101}", "\u{2800}"]
    {
        assert!(visible(hidden).starts_with("\\u{"), "{hidden:?}");
    }
    for seen in ["a", "é", "ß", "三", "🔒", "ก", "\u{a0}"] {
        assert_eq!(visible(seen), seen);
    }
}
