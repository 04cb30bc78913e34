//! One line: its chunks between white space, and account numbers that are written in several of them.

use super::{
    chunk,
    piece::{AtomKind, Joined},
};

/// The fewest groups of four digits that are one number.
const GROUPS_MIN: usize = 3;

/// How long an IBAN is.
const IBAN: std::ops::RangeInclusive<usize> = 15..=34;

pub(super) fn scan_line(line: &str, joined: &mut Joined<'_>) {
    let mut chunks = line.split_whitespace();
    loop {
        let ahead = chunks.clone();
        let Some(first) = chunks.next() else { return };
        if let Some((account, used, ends_run)) = grouped(ahead) {
            joined.atom(AtomKind::Account, &account);
            (1..used).for_each(|_| {
                chunks.next();
            });
            if ends_run {
                joined.end_run();
            }
        } else {
            chunk::scan_chunk(first, joined);
        }
    }
}

/// An account number that is written in groups: what it is, in how many chunks, and whether a run ends with it.
fn grouped<'t>(chunks: impl Iterator<Item = &'t str> + Clone) -> Option<(String, usize, bool)> {
    let first = chunks.clone().next().map(chunk::trim_start)?;
    let is_country = first.len() == 4
        && first.bytes().take(2).all(|b| b.is_ascii_alphabetic())
        && is_digits(first.get(2..)?);
    if is_country { iban(chunks) } else { fours(chunks) }
}

fn iban<'t>(chunks: impl Iterator<Item = &'t str>) -> Option<(String, usize, bool)> {
    let mut account = String::new();
    let mut best = None;
    for (index, chunk) in chunks.enumerate() {
        let (group, ends) = ending(chunk);
        let is_group = (1..=4).contains(&group.len())
            && group.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || index == 0);
        if !is_group {
            break;
        }
        account.push_str(&group.to_ascii_uppercase());
        if IBAN.contains(&account.len()) && account.bytes().filter(u8::is_ascii_digit).count() > 8 {
            best = Some((account.clone(), index + 1, ends.ends_run));
        }
        if ends.is_over || group.len() < 4 || account.len() > *IBAN.end() {
            break;
        }
    }
    best
}

fn fours<'t>(chunks: impl Iterator<Item = &'t str>) -> Option<(String, usize, bool)> {
    let mut account = String::new();
    let (mut used, mut ends_run) = (0, false);
    for chunk in chunks {
        let (group, ends) = ending(chunk);
        if group.len() != 4 || !is_digits(group) {
            break;
        }
        account.push_str(group);
        (used, ends_run) = (used + 1, ends.ends_run);
        if ends.is_over {
            break;
        }
    }
    (used >= GROUPS_MIN).then_some((account, used, ends_run))
}

/// What stands behind a group.
struct Ending {
    /// Something does, so no further group belongs to it.
    is_over: bool,
    ends_run: bool,
}

fn ending(chunk: &str) -> (&str, Ending) {
    let (group, ends_run) = chunk::trim(chunk);
    let is_over = chunk::trim_start(chunk).len() != group.len();
    (group, Ending { is_over, ends_run })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
