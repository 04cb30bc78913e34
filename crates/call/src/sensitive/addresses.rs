//! E-mail addresses and addresses of version 6, found around their `@` and their colons.
//!
//! Whether an address exists is not asked.

use std::net::Ipv6Addr;

use super::found::{Found, Sort, after, before, is_wordy};

/// The longest address of version 6 as text: eight groups, the last two written as one of version 4.
const IPV6_BYTES_MAX: usize = 45;

/// Names before the `@` that stand for a service and never for a person.
const NOBODY: &[&str] = &["git"];

pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    emails(text, found);
    ipv6(text, found);
}

fn emails(text: &str, found: &mut Vec<Found>) {
    for (at, _) in text.match_indices('@') {
        let (Some(left), Some(right)) = (text.get(..at), text.get(at + 1..)) else { continue };
        // Neither side passes another `@`, so all of them together read the text once.
        let local = left.rfind(|c| !is_local(c)).map_or(left, |stop| {
            let next = stop + after(left, stop).map_or(1, char::len_utf8);
            left.get(next..).unwrap_or_default()
        });
        let local = local.trim_start_matches(['.', '-', '\'']);
        let host = right.find(|c| !is_host(c)).map_or(right, |end| right.get(..end).unwrap_or_default());
        let length = host_length(host);
        if local.is_empty() || length == 0 || NOBODY.contains(&local) {
            continue;
        }
        found.push(Found { sort: Sort::Email, range: at - local.len()..at + 1 + length });
    }
}

fn is_local(c: char) -> bool {
    c.is_alphanumeric() || "._%+-'".contains(c)
}

fn is_host(c: char) -> bool {
    c.is_alphanumeric() || ".-".contains(c)
}

/// How much of a text is the name of a host with at least two labels, the last of letters.
fn host_length(text: &str) -> usize {
    let mut length = 0;
    let mut end = 0;
    for (i, label) in text.split('.').enumerate() {
        let name = label.trim_end_matches('-');
        if name.is_empty() || name.starts_with('-') {
            break;
        }
        end += usize::from(i > 0);
        let letters = name.chars().take_while(|c| c.is_alphabetic()).count();
        let is_last = letters == name.chars().count() || name.starts_with("xn--");
        if i > 0 && is_last && letters >= 2 {
            length = end + name.len();
        }
        if name.len() < label.len() {
            break;
        }
        end += label.len();
    }
    length
}

fn ipv6(text: &str, found: &mut Vec<Found>) {
    let mut end = 0;
    for (colon, _) in text.match_indices(':') {
        if colon < end {
            continue;
        }
        let is_part = |b: u8| b.is_ascii_hexdigit() || b == b':' || b == b'.';
        let left = text.as_bytes().get(..colon).unwrap_or_default();
        let before_colon = left.iter().rev().take(IPV6_BYTES_MAX).take_while(|b| is_part(**b)).count();
        let right = text.as_bytes().get(colon..).unwrap_or_default();
        let start = colon - before_colon;
        end = colon + right.iter().take_while(|b| is_part(**b)).count();
        let run = text.get(start..end).unwrap_or_default();
        if run.len() <= 2 * IPV6_BYTES_MAX
            && let Some(address) = address_in(run)
        {
            let start = start + usize::from(run.starts_with(':') && !address.starts_with(':'));
            let end = start + address.len();
            if !is_wordy(before(text, start)) && !is_wordy(after(text, end)) {
                found.push(Found { sort: Sort::Ipv6, range: start..end });
            }
        }
    }
}

/// The address a run of its characters holds, once marks of the sentence around it are taken off.
fn address_in(run: &str) -> Option<&str> {
    let run = run.trim_end_matches('.');
    let run = if run.starts_with("::") { run } else { run.strip_prefix(':').unwrap_or(run) };
    let run = if run.ends_with("::") { run } else { run.strip_suffix(':').unwrap_or(run) };
    let _: Ipv6Addr = run.parse().ok()?;
    let mut groups = run.split(':').filter(|group| !group.is_empty());
    // `1::2` is a slice of a list and `a::b` a name in a program more often than an address.
    let is_telling = run.split(':').count() > 4 || groups.any(|group| group.len() >= 3) || run == "::1";
    (is_telling && run.bytes().any(|b| b.is_ascii_digit())).then_some(run)
}
