//! Names that look like another name of the same file.
//!
//! Guesses alone: a name that no tool has is found only where the tools are known, in [`super::tools`].

use std::cmp::Ordering;

use lockgate_call::is_agent_tool;
use lockgate_policy::Diagnostic;

use super::{
    file::{File, Name},
    human::parts,
};

impl<'d> File<'d> {
    /// A name that another one is probably meant by: one that is used more often, or that the usual slips of a typist
    /// lead from.
    pub(super) fn misspelt(&self, name: &Name<'d>) -> Option<Diagnostic> {
        let near = self.compared().iter().filter(|other| other.is_near(name));
        let alike = near.filter(|other| match other.uses.cmp(&name.uses) {
            Ordering::Greater => is_slip(name.text, other.text),
            // Of two names that are used alike, the later one is reported, or the one with a letter less.
            Ordering::Equal => is_typo(name.text, other.text) && self.is_likelier(other, name),
            Ordering::Less => false,
        });
        let meant = alike.max_by_key(|other| other.uses)?;
        Some(
            self.warning(
                "misspelt",
                self.span_in(name.statement, name.text),
                format!("`{}` looks like a misspelt `{}`", name.text, meant.text),
            )
            .label(format!("used {}, `{}` {}", times(name.uses), meant.text, times(meant.uses)))
            .remedy(format!("write `{}`, unless both are tools", meant.text)),
        )
    }

    /// Whether the first of two names is the likelier one to be right.
    fn is_likelier(&self, name: &Name<'d>, other: &Name<'d>) -> bool {
        match name.text.len().cmp(&other.text.len()) {
            Ordering::Equal => self.by_name.get(name.text) < self.by_name.get(other.text),
            longer => longer == Ordering::Greater,
        }
    }
}

/// Whether one name is likely the other with a slip. Names are compared part by part, and only long parts
/// can have slips: `chat.send` and `chat.read`, `getUser` and `setUser` are neighbours, not misspellings.
/// So are `stage1` and `stage2`.
fn is_slip(name: &str, other: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if name.eq_ignore_ascii_case(other) {
        return true;
    }
    if digits(name) != digits(other) {
        return false;
    }
    let (name, other) = (parts(name), parts(other));
    if name.concat() == other.concat() {
        return true;
    }
    let mut differing = name.iter().zip(&other).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differing.next(), differing.next()) else {
        return false;
    };
    let slips_max = match a.chars().count().min(b.chars().count()) {
        0..5 => 0,
        5..8 => 1,
        _ => 2,
    };
    name.len() == other.len() && strsim::osa_distance(a, b) <= slips_max
}

/// Whether two names that are used alike differ by a slip of the fingers: a letter dropped or doubled within a word, two
/// letters swapped, or one taken for its neighbour on the keyboard or for another vowel. Endings and first letters say
/// something (`deploys`, `undeploy`), and so do most other letters (`charge`, `change`): those are two names.
fn is_typo(name: &str, other: &str) -> bool {
    if is_agent_tool(name) && is_agent_tool(other) || !is_slip(name, other) {
        return false;
    }
    if name.eq_ignore_ascii_case(other) {
        return true;
    }
    let (name, other) = (parts(name), parts(other));
    let mut differing = name.iter().zip(&other).filter(|(one, other)| one != other);
    let Some((one, two)) = differing.next() else { return false };
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let (long, short) = if one.len() < two.len() { (two, one) } else { (one, two) };
    let start = long.iter().zip(&short).take_while(|(a, b)| a == b).count();
    let end = long.iter().rev().zip(short.iter().rev()).take_while(|(a, b)| a == b).count();
    if long.len() != short.len() {
        // Within the word, or a last letter that was typed twice.
        let is_doubled = long.len() >= 2 && long.last() == long.get(long.len() - 2);
        return long.len() == short.len() + 1 && start > 0 && (start < short.len() || is_doubled);
    }
    let middle = start..(long.len() - end).max(start);
    match (long.get(middle.clone()), short.get(middle)) {
        (Some([a, b]), Some([c, d])) => a == d && b == c,
        (Some([a]), Some([b])) => start > 0 && end > 0 && are_mistaken(*a, *b),
        _ => false,
    }
}

/// Whether one letter is easily typed for another.
fn are_mistaken(one: char, other: char) -> bool {
    let is_vowel = |c: char| "aeiouy".contains(c);
    let are_beside = |row: &str| {
        row.chars().zip(row.chars().skip(1)).any(|pair| pair == (one, other) || pair == (other, one))
    };
    is_vowel(one) && is_vowel(other)
        || ["qwertyuiop", "asdfghjkl", "zxcvbnm"].iter().any(|row| are_beside(row))
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}
