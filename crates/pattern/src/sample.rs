//! Texts that an expression matches.
//!
//! [`write_sample`] finds one, [`variants`] one for each choice of the expression, and [`only_first`] one that another
//! expression does not match. [`accepts_nothing`] says that there is none.

use std::collections::BTreeSet;

use regex_automata::{
    Input,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson,
};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::limits::IMPOSSIBLE_BYTES_MAX;

/// The longest text that is made up for a pattern, in bytes.
const SAMPLE_BYTES_MAX: usize = 4 * 1024;

/// Adds a short text that an expression matches. What stands around it is not looked at.
pub(crate) fn write_sample(hir: &Hir, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            let readable = |ranges: &regex_syntax::hir::ClassUnicodeRange| {
                [('a', 'z'), ('0', '9'), ('A', 'Z'), ('!', '~')]
                    .iter()
                    .map(|(from, to)| ((*from).max(ranges.start()), (*to).min(ranges.end())))
                    .find_map(|(from, to)| (from <= to).then_some(from))
            };
            let any = class.ranges().iter().find_map(readable);
            text.push(
                any.or_else(|| class.ranges().first().map(regex_syntax::hir::ClassUnicodeRange::start))?,
            );
        }
        HirKind::Class(Class::Bytes(class)) => text.push(char::from(class.ranges().first()?.start())),
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                write_sample(&repetition.sub, text)?;
                if text.len() > SAMPLE_BYTES_MAX {
                    return None;
                }
            }
        }
        HirKind::Capture(capture) => write_sample(&capture.sub, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write_sample(part, text))?,
        HirKind::Alternation(parts) => {
            let before = text.len();
            parts.iter().find_map(|part| {
                text.truncate(before);
                write_sample(part, text)
            })?;
        }
    }
    (text.len() <= SAMPLE_BYTES_MAX).then_some(())
}

/// The most texts that are made up for one expression.
pub(crate) const VARIANTS_MAX: usize = 24;

/// The most ranges of one class that a character is taken from.
const RANGES_TRIED_MAX: usize = 4;

/// Texts that an expression matches: for each choice it leaves one in which that choice falls otherwise than in the
/// first text. What stands around them is not looked at.
pub(crate) fn variants(hir: &Hir) -> Option<Vec<String>> {
    let mut found = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![String::new()],
        HirKind::Literal(literal) => vec![std::str::from_utf8(&literal.0).ok()?.to_owned()],
        HirKind::Class(_) => {
            let mut first = String::new();
            write_sample(hir, &mut first)?;
            let mut texts = vec![first];
            if let HirKind::Class(Class::Unicode(class)) = hir.kind() {
                let ends = class.ranges().iter().take(RANGES_TRIED_MAX).flat_map(|it| [it.start(), it.end()]);
                texts.extend(ends.filter(|c| (' '..='~').contains(c)).map(String::from));
            }
            texts
        }
        HirKind::Repetition(repetition) => {
            let texts = variants(&repetition.sub)?;
            let most = repetition.max.unwrap_or(u32::MAX);
            let counts = [repetition.min, repetition.min.saturating_add(1).min(most)];
            let times = |count: u32, text: &String| {
                let count = usize::try_from(count).ok()?;
                (text.len().saturating_mul(count) <= SAMPLE_BYTES_MAX).then(|| text.repeat(count))
            };
            let all = counts.iter().flat_map(|count| texts.iter().map(move |text| times(*count, text)));
            all.flatten().collect()
        }
        HirKind::Capture(capture) => variants(&capture.sub)?,
        HirKind::Concat(parts) => {
            let parts = parts.iter().map(variants).collect::<Option<Vec<_>>>()?;
            one_at_a_time(&parts)?
        }
        HirKind::Alternation(parts) => {
            // Turn by turn, so that every branch is among the first.
            let branches: Vec<Vec<String>> = parts.iter().filter_map(variants).collect();
            let longest = branches.iter().map(Vec::len).max().unwrap_or_default();
            let turns = (0..longest).flat_map(|turn| branches.iter().filter_map(move |it| it.get(turn)));
            turns.cloned().collect()
        }
    };
    let mut seen = BTreeSet::new();
    found.retain(|text| text.len() <= SAMPLE_BYTES_MAX && seen.insert(text.clone()));
    found.truncate(VARIANTS_MAX);
    (!found.is_empty()).then_some(found)
}

/// The first text of every part, and all in which one part is another of its texts.
fn one_at_a_time(parts: &[Vec<String>]) -> Option<Vec<String>> {
    let plain = parts.iter().map(|texts| texts.first().map(String::as_str)).collect::<Option<Vec<_>>>()?;
    let mut found = vec![plain.concat()];
    for (place, texts) in parts.iter().enumerate() {
        for text in texts.iter().skip(1) {
            let mut words = plain.clone();
            words.get_mut(place).into_iter().for_each(|word| *word = text.as_str());
            found.push(words.concat());
        }
    }
    Some(found)
}

/// Whether an automaton for the expression, too small to be slow, has no way into a matching state.
pub(crate) fn accepts_nothing(expression: &str) -> bool {
    let Some(automaton) = built(expression, dense::Config::new()) else { return false };
    let Ok(start) = automaton.start_state_forward(&Input::new("")) else {
        return false;
    };

    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(state) = open.pop() {
        if automaton.is_match_state(state) || automaton.is_match_state(automaton.next_eoi_state(state)) {
            return false;
        }
        let next = (0..=u8::MAX).map(|byte| automaton.next_state(state, byte));
        open.extend(next.filter(|state| seen.insert(*state)));
    }
    true
}

/// The most pairs of states that are looked at for a text that tells two expressions apart.
const PAIRS_MAX: usize = 50_000;

/// A short text that only the first of two expressions matches.
pub(crate) fn only_first(one: &str, other: &str) -> Option<String> {
    let (one, other) = (automaton(one)?, automaton(other)?);
    let start = |of: &dense::DFA<Vec<u32>>| of.start_state_forward(&Input::new("")).ok();
    let begin = (start(&one)?, start(&other)?);
    let matched = |of: &dense::DFA<Vec<u32>>, at| of.is_match_state(of.next_eoi_state(at));
    // Each pair of states with the pair before it and the byte between them, in the order they were found.
    let mut found = vec![(begin, 0, 0_u8)];
    let mut seen = BTreeSet::from([begin]);
    let mut next = 0;
    while let Some(&(at, ..)) = found.get(next) {
        if matched(&one, at.0) && !matched(&other, at.1) {
            // A sample that stops within a character is not a text; a longer one may be.
            if let Some(text) = spelled(&found, next) {
                return Some(text);
            }
        }
        for byte in readable_first() {
            let pair = (one.next_state(at.0, byte), other.next_state(at.1, byte));
            let goes_on =
                !one.is_dead_state(pair.0) && !one.is_quit_state(pair.0) && !other.is_quit_state(pair.1);
            if goes_on && found.len() < PAIRS_MAX && seen.insert(pair) {
                found.push((pair, next, byte));
            }
        }
        next += 1;
    }
    None
}

/// All bytes a text may have, those that are easily read first.
fn readable_first() -> impl Iterator<Item = u8> {
    let is_other = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b' ';
    (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain([b' ']).chain((1..=u8::MAX).filter(is_other))
}

/// The text on the way to a pair.
fn spelled<T>(found: &[(T, usize, u8)], mut at: usize) -> Option<String> {
    let mut bytes = Vec::new();
    while at > 0 {
        let (_, before, byte) = found.get(at)?;
        bytes.push(*byte);
        at = *before;
    }
    bytes.reverse();
    String::from_utf8(bytes).ok()
}

/// An automaton that is in a matching state at the end of a text exactly if the expression matches somewhere in it;
/// none if it would be too large.
fn automaton(expression: &str) -> Option<dense::DFA<Vec<u32>>> {
    // Whatever follows a match does not undo it. What must follow or not follow it is part of the expression.
    built(&format!("(?s:(?:{expression}).*)"), dense::Config::new().unicode_word_boundary(true))
}

fn built(expression: &str, config: dense::Config) -> Option<dense::DFA<Vec<u32>>> {
    dense::Builder::new()
        .configure(
            config
                .start_kind(StartKind::Unanchored)
                .accelerate(false)
                .dfa_size_limit(Some(IMPOSSIBLE_BYTES_MAX))
                .determinize_size_limit(Some(IMPOSSIBLE_BYTES_MAX)),
        )
        .thompson(thompson::Config::new().nfa_size_limit(Some(IMPOSSIBLE_BYTES_MAX)))
        .build(expression)
        .ok()
}
