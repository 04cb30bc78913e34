//! What an input must not look like.

use lockgate_call::sensitive::{AttackPattern, find_attack};
use lockgate_pattern::{Match, Pattern};
use serde_json::{Map, Value};

/// What an input must not look like, and how large it may be.
#[derive(Clone, Debug)]
pub struct AttackPatterns {
    /// The detectors to run.
    pub detectors: Vec<AttackPattern>,
    /// Texts that must not be in any value.
    pub blocked_patterns: Vec<Pattern>,
    /// The longest text, in characters.
    pub string_chars_max: Option<u64>,
    /// The most keys in all.
    pub keys_max: Option<u64>,
    /// The deepest nesting.
    pub depth_max: Option<u64>,
}

impl AttackPatterns {
    /// Why an input is refused.
    pub fn refuses(&self, input: &Map<String, Value>) -> Option<String> {
        let mut size = Size::default();
        input.iter().for_each(|(key, value)| size.add(key, value, 1));
        let over = |what: &str, found: u64, most: Option<u64>| {
            most.filter(|most| found > *most)
                .map(|most| format!("{what} ({found}, and at most {most} are allowed)"))
        };
        let is_blocked = || {
            let texts = &size.texts;
            let blocked = |pattern: &&Pattern| texts.iter().any(|text| pattern.find(text) != Match::No);
            self.blocked_patterns.iter().find(blocked).map(|pattern| format!("something like `{pattern}`"))
        };
        // Many programs drop such a character, and then read a word that no rule has seen.
        let is_hidden = |c: char| c.is_control() && !['\t', '\n', '\r'].contains(&c);
        let has_hidden = || {
            let hidden = size.texts.iter().find_map(|text| text.chars().find(|c| is_hidden(*c)));
            hidden.map(|hidden| format!("a text has the control character U+{:04X}", u32::from(hidden)))
        };
        over("a text is too long", size.chars, self.string_chars_max)
            .or_else(|| over("there are too many keys", size.keys, self.keys_max))
            .or_else(|| over("values are nested too deeply", size.depth, self.depth_max))
            .or_else(has_hidden)
            .or_else(is_blocked)
            .or_else(|| find_attack(input, &self.detectors).map(|(kind, text)| format!("{kind} in `{text}`")))
    }
}

/// How large an input is, and every text in it.
#[derive(Default)]
struct Size<'a> {
    chars: u64,
    keys: u64,
    depth: u64,
    texts: Vec<&'a str>,
}

impl<'a> Size<'a> {
    fn add(&mut self, key: &'a str, value: &'a Value, depth: u64) {
        self.keys += 1;
        self.text(key);
        self.value(value, depth);
    }

    // Invariant: doors bound how deep an input may be nested, so this ends.
    fn value(&mut self, value: &'a Value, depth: u64) {
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item, depth + 1)),
            Value::Object(object) => object.iter().for_each(|(key, value)| self.add(key, value, depth + 1)),
            _ => {}
        }
    }

    fn text(&mut self, text: &'a str) {
        self.chars = self.chars.max(text.chars().count() as u64);
        self.texts.push(text);
    }
}
