//! What texts are made of once all signs and encodings are gone: the parts that a tool could join again.
//!
//! The agent can give a tool an address in two fields, in other letters or encoded, and the tool puts it together. So a value counts
//! as brought in by the agent if all its letters can be joined from parts that the agent wrote, in any order.
//! Taking too much for the agent's only ever closes. A tool that changes letters in another way is not seen through.

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use lockgate_call::{Piece, scan_atoms};

/// How often a text is decoded again.
const ROUNDS_MAX: usize = 3;

/// The longest part that is tried at every place of a value.
const JOINED_MAX: usize = 64;

/// The shortest text that is taken for an encoded one.
const ENCODED_MIN: usize = 8;

/// Base64 with or without padding; the two signs that differ between alphabets are made alike before.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Hands on every part of a text: its letters and digits in lower case, between all other signs, as written and decoded.
pub(super) fn each_part(text: &str, take: &mut dyn FnMut(&str)) {
    each_form(text, &mut |form| {
        plain_parts(form, take);
        for word in form.split(|c: char| !(c.is_ascii_alphanumeric() || "+/-_=".contains(c))) {
            if let Some(hidden) = unpacked(word) {
                each_form(&hidden, &mut |form| plain_parts(form, take));
            }
        }
    });
}

/// Whether all letters of a value can be joined from parts.
pub(super) fn is_joined(value: &str, has: &dyn Fn(&str) -> bool) -> bool {
    let mut is_joined = false;
    each_form(value, &mut |form| {
        let (mut has_any, mut has_all) = (false, true);
        plain_parts(form, &mut |part| {
            has_any = true;
            has_all = has_all && (has(part) || joins(part, has));
        });
        is_joined |= has_any && has_all;
    });
    is_joined
}

/// Whether a part is made of others, one behind the other.
fn joins(part: &str, has: &dyn Fn(&str) -> bool) -> bool {
    let mut reached = vec![0];
    let ends = || part.char_indices().map(|(at, letter)| at + letter.len_utf8());
    for end in ends() {
        let is_end = |start: &usize| end - start <= JOINED_MAX && part.get(*start..end).is_some_and(has);
        if reached.iter().any(is_end) {
            reached.push(end);
        }
    }
    reached.last() == Some(&part.len())
}

/// The parts of a text and of its atoms: an atom has one spelling, such as `1200.5` for `1,200.50`.
fn plain_parts(text: &str, take: &mut dyn FnMut(&str)) {
    scan_atoms(text, |piece| {
        let Piece::Atom { text, .. } = piece else { return };
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).for_each(&mut *take);
    });
}

/// Hands on a text, and what it becomes as long as there is something to decode.
fn each_form(text: &str, take: &mut dyn FnMut(&str)) {
    take(text);
    let mut form = Cow::Borrowed(text);
    for _ in 0..ROUNDS_MAX {
        let next = decoded(&form);
        if next == form {
            return;
        }
        take(&next);
        form = Cow::Owned(next);
    }
}

/// A text with its escapes read: `%40`, `=40`, `\u0040`, `\x40`, `&#64;`, `&#x40;` and labels such as `xn--e1aybc`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (letter, length) = escaped(rest).unwrap_or((Unit::Letter(first), first.len_utf8()));
        match letter {
            Unit::Byte(byte) => bytes.push(byte),
            Unit::Letter(letter) => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    without_punycode(&String::from_utf8_lossy(&bytes))
}

enum Unit {
    Byte(u8),
    Letter(char),
}

/// What an escape at the start of a text stands for, and how long it is.
fn escaped(text: &str) -> Option<(Unit, usize)> {
    let hex = |from: usize, to: usize| u32::from_str_radix(text.get(from..to)?, 16).ok();
    let byte = |from: usize| Some(Unit::Byte(u8::try_from(hex(from, from + 2)?).ok()?));
    if text.starts_with(['%', '=']) {
        return Some((byte(1)?, 3));
    }
    if text.starts_with("\\x") {
        return Some((byte(2)?, 4));
    }
    if text.starts_with("\\u") {
        let unit = hex(2, 6)?;
        let pair = (0xd800..0xdc00).contains(&unit) && text.get(6..8) == Some("\\u");
        if let Some(low) = hex(8, 12).filter(|low| pair && (0xdc00..0xe000).contains(low)) {
            let letter = char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?;
            return Some((Unit::Letter(letter), 12));
        }
        return Some((Unit::Letter(char::from_u32(unit)?), 6));
    }
    if let Some(behind) = text.strip_prefix('\\') {
        return behind.starts_with(['n', 'r', 't', 'b', 'f']).then_some((Unit::Letter(' '), 2));
    }
    let number = text.strip_prefix("&#")?.split(';').next().filter(|it| it.len() < 8)?;
    let letter = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some((Unit::Letter(char::from_u32(letter)?), "&#".len() + number.len() + 1))
}

fn without_punycode(text: &str) -> String {
    if !text.to_ascii_lowercase().contains("xn--") {
        return text.to_owned();
    }
    let is_between = |c: char| !(c.is_alphanumeric() || c == '-');
    let label = |label: &str| {
        let (word, between) = match label.char_indices().next_back() {
            Some((at, sign)) if is_between(sign) => label.split_at_checked(at).unwrap_or((label, "")),
            _ => (label, ""),
        };
        let lower = word.to_ascii_lowercase();
        let plain = lower.strip_prefix("xn--").and_then(idna::punycode::decode_to_string);
        format!("{}{between}", plain.as_deref().unwrap_or(word))
    };
    text.split_inclusive(is_between).map(label).collect()
}

/// The text that a word hides in base 64 or base 16.
fn unpacked(word: &str) -> Option<String> {
    if word.len() < ENCODED_MIN {
        return None;
    }
    let digits =
        || word.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let bytes: Option<Vec<u8>> = if word.len().is_multiple_of(2) { digits().collect() } else { None };
    let readable = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    bytes
        .and_then(readable)
        .or_else(|| readable(BASE64.decode(word.replace('-', "+").replace('_', "/")).ok()?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_value_is_joined_from_what_the_agent_wrote() {
        let rows = [
            ("eve@evil.example", "eve@evil.example", true),
            ("eve and evil and example", "eve@evil.example", true),
            ("EVE@EVIL.EXAMPLE", "eve@evil.example", true),
            ("ev then e@ev then il.ex then ample", "eve@evil.example", true),
            ("eve%40evil.example", "eve@evil.example", true),
            ("eve%2540evil.example", "eve@evil.example", true),
            ("{\"to\": \"x\\neve\\u0040evil.example\"}", "eve@evil.example", true),
            ("eve&#64;evil.example and &#x41;1", "eve@evil.example", true),
            ("=65ve=40evil.example", "eve@evil.example", true),
            ("ZXZlQGV2aWwuZXhhbXBsZQ==", "eve@evil.example", true),
            ("6576654065766 96c", "eve@evil", false),
            ("657665406576696c", "eve@evil", true),
            ("xn--e1aybc.example", "тест.example", true),
            ("тест.example", "xn--e1aybc.example", true),
            ("DE89 3704 0044 and 0532 0130 00", "DE89370400440532013000", true),
            ("1,200.50", "1200.5", true),
            ("eve@evil", "eve@evil.example", false),
            ("adam@evil.example", "eve@evil.example", false),
            ("", "eve", false),
            ("eve", "", false),
        ];
        for (written, value, wanted) in rows {
            let mut parts = HashSet::new();
            each_part(written, &mut |part| {
                parts.insert(part.to_owned());
            });
            assert_eq!(
                is_joined(value, &|part| parts.contains(part)),
                wanted,
                "{written}: {value} of {parts:?}"
            );
        }
    }
}
