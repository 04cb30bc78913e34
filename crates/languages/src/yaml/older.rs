//! Words that files written for other readers use: YAML 1.1, and programs that are lenient about types.
//!
//! A word that YAML 1.1 reads differently is never guessed at: where a text is wanted, [`Reader::text_strict`]
//! asks for quotes. Missing on purpose: numbers in base 8 and 60, and dates; no policy needs them.

use std::time::Duration;

use super::{
    reader::{Reader, shortened},
    scalar::{Plain, is_odd_number},
    tree::{Node, Value},
};

/// The longest time a file may name, in seconds.
pub(crate) const SECONDS_MAX: u64 = 366 * 24 * 60 * 60;

impl Reader<'_> {
    /// A text that is not empty and that older YAML does not read as something else.
    pub(crate) fn text_strict(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.text(node, what)?;
        let reading = match &node.value {
            Value::Scalar { quoted: false, text } => older_reading(text),
            _ => None,
        };
        if let Some(reading) = reading {
            let message = format!("older YAML reads `{}` as {reading}", shortened(&text));
            self.error("yaml-older", node.span, message, "put it in quotes to make it a text");
            return None;
        }
        Some(text)
    }

    /// A boolean in any of the words people use for it, in any case, quoted or not.
    pub(crate) fn lenient_boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        let word = match &node.value {
            Value::Scalar { text, .. } => text.to_ascii_lowercase(),
            _ => String::new(),
        };
        match word.as_str() {
            "true" | "yes" | "on" | "y" | "t" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "f" | "0" => Some(false),
            _ => self.wrong(node, what, "`true` or `false`", "write `true` or `false`"),
        }
    }

    /// A span of time in seconds, as a number or as a text that is one; in milliseconds, begun ones in full.
    pub(crate) fn seconds(&mut self, node: &Node, what: &str) -> Option<u64> {
        let seconds = match Plain::of(node) {
            Some(Plain::Number(number)) => number.as_f64(),
            Some(Plain::Text(text)) if is_decimal(text) => text.parse().ok(),
            _ => None,
        };
        let Some(seconds) = seconds.filter(|seconds: &f64| seconds.is_finite()) else {
            return self.wrong(
                node,
                what,
                "a number of seconds",
                "write it in digits, such as `60` or `0.5`",
            );
        };
        let time = Duration::try_from_secs_f64(seconds).ok();
        let Some(time) = time.filter(|time| !time.is_zero() && *time <= Duration::from_secs(SECONDS_MAX))
        else {
            let message =
                format!("{what} must be more than 0 and at most {SECONDS_MAX} seconds, not `{seconds}`");
            self.error("out-of-range", node.span, message, "write a number of seconds up to 366 days");
            return None;
        };
        u64::try_from(time.as_nanos().div_ceil(1_000_000)).ok()
    }
}

/// What YAML 1.1 takes an unquoted text for, if not for a text.
pub(crate) fn older_reading(text: &str) -> Option<&'static str> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some("true"),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some("false"),
        "=" => Some("a default value"),
        "<<" => Some("a merge key"),
        text if is_older_number(text) => Some("a number"),
        text if is_date(text) => Some("a date"),
        _ => None,
    }
}

/// Numbers with `_` between digits, in base 2, or in base 60: `1_000`, `0b11`, `12:30`.
fn is_older_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let unsigned = plain.trim_start_matches(['+', '-']);
    if !text.trim_start_matches(['+', '-']).starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        return false;
    }
    let in_base_2 =
        unsigned.strip_prefix("0b").is_some_and(|digits| digits.chars().all(|digit| digit.is_digit(2)));
    let in_base_10 = text.contains('_') && (is_decimal(&plain) || is_odd_number(&plain));
    let mut parts = unsigned.split(':');
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let starts_well = parts.next().is_some_and(is_whole);
    let places: Vec<&str> = parts.collect();
    let is_place = |place: &&str| {
        let (whole, fraction) = place.split_once('.').unwrap_or((place, ""));
        whole.len() <= 2
            && is_whole(whole)
            && whole.parse().is_ok_and(|value: u8| value < 60)
            && fraction.bytes().all(|byte| byte.is_ascii_digit())
    };
    // Without a fraction, a leading zero makes it a text again.
    let in_base_60 = starts_well
        && !places.is_empty()
        && places.iter().all(is_place)
        && (!unsigned.starts_with('0') || unsigned.contains('.'));
    in_base_2 || in_base_10 || in_base_60
}

/// `2024-01-02`, alone or with a time of day.
fn is_date(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ', '\t']) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    };
    let lengths: Vec<usize> = date.split('-').map(str::len).collect();
    let is_short = |length: &usize| (1..=2).contains(length);
    date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && match lengths.as_slice() {
            [4, 2, 2] if time.is_empty() => true,
            [4, month, day] => {
                let time = time.trim_start_matches(['T', 't', ' ', '\t']);
                is_short(month) && is_short(day) && time.starts_with(|first: char| first.is_ascii_digit())
            }
            _ => false,
        }
}

/// Digits with an optional sign, point and exponent.
fn is_decimal(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    text.bytes().all(is_part) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Dialect, parse, told};
    use lockgate_policy::Source;

    /// What a helper reads, or what it says, from a file that is one value.
    fn read<T: std::fmt::Debug>(text: &str, read: impl Fn(&mut Reader<'_>, &Node) -> Option<T>) -> String {
        let source = Source::new("x", text);
        let node = parse(&source, Dialect::default()).0.unwrap();
        let mut reader = Reader::new(&source);
        match read(&mut reader, &node) {
            Some(value) => format!("{value:?}"),
            None => told(&reader.diagnostics),
        }
    }

    /// What YAML 1.1 makes of each word was asked of PyYAML, which takes `y` and `n` for texts, and so do we.
    #[test]
    fn a_word_that_older_yaml_reads_differently_needs_quotes() {
        let rows = [
            ("as true", "yes Yes YES on On ON"),
            ("as false", "no No NO off Off OFF"),
            (
                "as a number",
                "12:30 1:30 1:30:59 190:20:30.15 0:30.5 1_000 +1_0 1_000.5 0b101 -0b1_1 .5_0 1_0:30",
            ),
            ("as a date", "2024-01-01 2024-1-2T03:04:05Z 2024-01-01t1:00:00"),
            ("as a default", "="),
            ("as a merge key", "<<"),
            ("must be a text", "010 0x1F 12 1.5 true ~"),
        ];
        for (expected, words) in rows {
            for word in words.split(' ') {
                let told = read(word, |reader, node| reader.text_strict(node, "it"));
                assert!(told.contains(expected), "{word}: {told}");
            }
        }
        let texts = "yEs nO noo o 1.2.3 08:30 0:30 12:60 12:3x a:b 1__x _1 2024-01 2024-1-1 2024-01-01x 12-30 v1_0 - 0b2 1:";
        for word in texts.split(' ').filter(|word| !["-", "1:"].contains(word)) {
            assert_eq!(read(word, |reader, node| reader.text_strict(node, "it")), format!("{word:?}"));
        }
        for quoted in ["'no'", "\"12:30\"", "'010'", "'2024-01-01'", "|\n  no"] {
            assert!(read(quoted, |reader, node| reader.text_strict(node, "it")).starts_with('"'), "{quoted}");
        }
        insta::assert_snapshot!(read("no", |reader, node| reader.text_strict(node, "it")), @"1:1 yaml-older older YAML reads `no` as false | put it in quotes to make it a text");
    }

    #[test]
    fn a_boolean_has_many_words() {
        for (expected, words) in [
            ("true", "true True TRUE 'true' yes YES on y Y t T 1 '1' \"On\""),
            ("false", "false FALSE no 'No' off n F 0"),
        ] {
            for word in words.split(' ') {
                assert_eq!(read(word, |reader, node| reader.lenient_boolean(node, "it")), expected, "{word}");
            }
        }
        for word in ["2", "01", "1.0", "maybe", "''", "~", "[true]", "{}", "truee", "' true'"] {
            let told = read(word, |reader, node| reader.lenient_boolean(node, "it"));
            assert!(told.contains("it must be `true` or `false`"), "{word}: {told}");
        }
    }

    #[test]
    fn seconds_become_milliseconds_up_to_a_bound() {
        let seconds = |text: &str| read(text, |reader, node| reader.seconds(node, "it"));
        for (text, expected) in [
            ("60", "60000"),
            ("'60'", "60000"),
            ("0.5", "500"),
            ("\"0.5\"", "500"),
            ("1e3", "1000000"),
            ("0.3", "300"),
            ("0.0001", "1"),
            ("31622400", "31622400000"),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        assert_eq!(SECONDS_MAX, 31_622_400);
        for (text, expected) in [
            ("31622400.001", "at most"),
            ("0", "at most"),
            ("-0.0", "at most"),
            ("31622401", "at most"),
            ("-1", "at most"),
            ("'-0.5'", "at most"),
            ("1e300", "at most"),
            ("'1e999'", "a number of seconds"),
            ("1e999", "a number of seconds"),
            (".nan", "a number of seconds"),
            ("'nan'", "a number of seconds"),
            ("'inf'", "a number of seconds"),
            (".inf", "a number of seconds"),
            ("010", "a number of seconds"),
            ("12:30", "a number of seconds"),
            ("1_000", "a number of seconds"),
            ("60s", "a number of seconds"),
            ("''", "a number of seconds"),
            ("true", "a number of seconds"),
            ("[1]", "a number of seconds"),
        ] {
            assert!(seconds(text).contains(expected), "{text}: {}", seconds(text));
        }
    }
}
