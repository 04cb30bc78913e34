//! The chain as lines of JSON, to be kept or checked elsewhere.
//!
//! [`Link::to_line`] writes a record with its entry to the byte, [`Head::to_line`](crate::Head::to_line) the signed
//! end as the last line. [`verify_lines`] checks such a file without the database. An export of some records only
//! (of one session, say) has gaps, and they are told: who left something out cannot be seen from the rest.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    chain::{Anchor, Head, HeadLine, Link, START, from_hex, to_hex},
    entry::ENTRY_BYTES_MAX,
    walk::{ProblemKind, Verified, Walk},
};

/// A line may be so long: an entry, and its number and hashes.
pub const LINE_BYTES_MAX: usize = ENTRY_BYTES_MAX + 1024;

impl Link {
    /// The record as one line of an export.
    pub fn to_line(&self) -> String {
        let Self { n, prev, hash, entry } = self;
        format!(r#"{{"n":{n},"prev":"{}","hash":"{}","entry":{entry}}}"#, to_hex(prev), to_hex(hash))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    n: Option<u64>,
    #[serde(borrow)]
    prev: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hash: Option<Cow<'a, str>>,
    #[serde(borrow)]
    entry: Option<&'a RawValue>,
    head: Option<HeadLine>,
}

enum Readable<'a> {
    Record { n: u64, prev: [u8; 32], hash: [u8; 32], entry: &'a str },
    Head(Head),
}

/// Checks an export. Without a head at its end nothing vouches for where it ends, and without a public key that you
/// noted elsewhere, the writer of the file may have signed it too: see [`Verified::head`].
///
/// # Errors
/// When the lines cannot be read.
pub fn verify_lines(
    mut lines: impl BufRead,
    public_key: Option<&[u8; 32]>,
    expected: Option<Anchor>,
) -> io::Result<Verified> {
    let mut walk: Option<Walk> = None;
    let mut verified = Verified::default();
    let mut head: Option<Head> = None;
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        // One byte more than may be, to tell a line that is too long from one that just fits.
        let read = lines.by_ref().take(LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let problems = walk.as_mut().map_or(&mut verified, |walk| &mut walk.verified);
        if text.len() > LINE_BYTES_MAX {
            problems.add(
                None,
                ProblemKind::Unreadable,
                format!(
                    "line {number} is longer than {LINE_BYTES_MAX} bytes; the rest of the file was not checked"
                ),
            );
            break;
        }
        match read_line(text) {
            _ if head.is_some() => {
                problems.add(None, ProblemKind::Unreadable, format!("line {number} comes after the head"));
                break;
            }
            None => problems.add(
                None,
                ProblemKind::Unreadable,
                format!("line {number} is neither a record nor a head of an audit log"),
            ),
            Some(Readable::Head(found)) => head = Some(found),
            Some(Readable::Record { n, prev, hash, entry }) => {
                let walk = walk.get_or_insert_with(|| {
                    // Nothing before the first line can be looked at, but what it follows on is known.
                    let mut walk =
                        Walk::new(std::mem::take(&mut verified), n, (n == 1).then_some(START), expected);
                    walk.see(n.saturating_sub(1), Some(prev));
                    walk
                });
                walk.step(n, &prev, &hash, entry.as_bytes());
            }
        }
    }
    let next = head.as_ref().map_or(1, |head| head.pruned + 1);
    let mut walk = walk.unwrap_or_else(|| Walk::new(verified, next, None, expected));
    if let Some(head) = &head {
        check_head(head, public_key, &mut walk.verified);
    }
    Ok(walk.end(head))
}

fn check_head(head: &Head, public_key: Option<&[u8; 32]>, verified: &mut Verified) {
    if !head.is_signed_by(public_key.unwrap_or(&head.public_key)) {
        let sentence = "the head was not signed by the key it should be signed by";
        verified.add(head.n, ProblemKind::ForgedHead, sentence);
    }
    if let Some(first) = verified.first.filter(|first| *first > head.pruned + 1) {
        let (from, to) = (head.pruned + 1, first - 1);
        let sentence = format!("records {from} to {to} are not in the file, and have not been pruned");
        verified.add(from, ProblemKind::Missing, sentence);
    }
}

fn read_line(text: &[u8]) -> Option<Readable<'_>> {
    match serde_json::from_slice(text).ok()? {
        Line { n: None, prev: None, hash: None, entry: None, head: Some(head) } => {
            head.read().filter(|head| head.pruned <= head.n && head.n < i64::MAX as u64).map(Readable::Head)
        }
        Line { n: Some(n), prev: Some(prev), hash: Some(hash), entry: Some(entry), head: None } => {
            let (prev, hash) = (from_hex(&prev)?, from_hex(&hash)?);
            Some(Readable::Record { n, prev, hash, entry: entry.get() })
        }
        _ => None,
    }
}
