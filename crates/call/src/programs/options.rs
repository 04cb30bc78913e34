//! Whether a command is given an option, in whatever spelling: `-fr`, `-r -f` and `--recursive --force` are the same.
//!
//! [`OptionTable::of`] finds what `table/options.rs` says about a program, and [`OptionTable::fit`] looks for an option among
//! words. Values of options are never taken for options: `git commit -m -f` is not forced.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::table::{OPTIONS, VERBAL};
use super::word::{Known, Word};
use crate::glob::fits;

/// Whether a command is given an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionFit {
    /// It is not.
    No,
    /// It may be: what its program does with the word is not known.
    Possible,
    /// It is.
    Certain,
}

/// The options of a program, or of one of its verbs, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct OptionTable {
    groups: &'static [Vec<&'static str>],
}

type Groups = Vec<Vec<&'static str>>;
type Tables = HashMap<&'static str, Vec<(&'static str, Groups)>, FixedState>;

/// By program, each verb with its options.
static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables::default();
    for (head, groups) in OPTIONS.lines().filter_map(|line| line.split_once(": ")) {
        let groups: Groups =
            groups.split(';').map(|group| group.split_ascii_whitespace().collect()).collect();
        for (program, verb) in heads(head) {
            tables.entry(program).or_default().push((verb, groups.clone()));
        }
    }
    tables
});

/// The programs of a line's head, each with its verb: of names that have verbs, the last word is one.
fn heads(head: &'static str) -> Vec<(&'static str, &'static str)> {
    let names: Vec<&str> = head.split_ascii_whitespace().collect();
    match names.as_slice() {
        [programs @ .., verb] if programs.iter().any(|name| VERBAL.contains(name)) => {
            programs.iter().map(|name| (*name, *verb)).collect()
        }
        _ => names.iter().map(|name| (*name, "")).collect(),
    }
}

impl OptionTable {
    /// What is known about the options of a program that is told this.
    #[must_use]
    pub fn of(program: &str, verb: Option<&str>) -> Self {
        let verbs = TABLES.get(program).map(Vec::as_slice).unwrap_or_default();
        let is_meant = |(known, _): &&(&str, Groups)| known.is_empty() || verb == Some(*known);
        Self { groups: verbs.iter().find(is_meant).map(|(_, groups)| groups.as_slice()).unwrap_or_default() }
    }

    /// Whether these arguments have an option; letters behind one dash must all be there, together or apart.
    #[must_use]
    pub fn fit(self, arguments: &[Word], option: &str) -> OptionFit {
        let letters = option.strip_prefix('-').filter(|it| it.len() > 1 && !it.starts_with('-'));
        match letters.filter(|_| self.group(option).is_none()) {
            Some(letters) if letters.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
                let each = letters.chars().map(|letter| self.one(arguments, &format!("-{letter}")));
                // Of a program in no line it may as well be one option.
                let most = if self.groups.is_empty() { OptionFit::Possible } else { OptionFit::Certain };
                each.min().unwrap_or(OptionFit::No).min(most)
            }
            _ => self.one(arguments, option),
        }
    }

    /// The spellings of the option that is also spelt like this.
    fn group(self, spelling: &str) -> Option<&'static [&'static str]> {
        let is = |item: &&str| item.strip_suffix('=').unwrap_or(item) == spelling;
        self.groups.iter().find(|group| group.iter().any(is)).map(Vec::as_slice)
    }

    fn has_value(self, spelling: &str) -> bool {
        self.group(spelling).is_some_and(|group| group.iter().any(|item| item.ends_with('=')))
    }

    /// Whether one option is among the arguments.
    fn one(self, arguments: &[Word], option: &str) -> OptionFit {
        let alone = [option];
        let wanted = self.group(option).unwrap_or(&alone);
        let is_wanted = |text: &str| wanted.iter().any(|item| item.strip_suffix('=').unwrap_or(item) == text);
        // Without a row, nothing says whether a letter is an option of its own or the value of another.
        let glued = if self.groups.is_empty() { OptionFit::Possible } else { OptionFit::Certain };
        let mut best = OptionFit::No;
        let mut words = arguments.iter();
        while let Some(word) = words.next().filter(|word| word.text != "--") {
            let text = word.text.as_str();
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let found = match word.known {
                _ if !text.starts_with('-') || text == "-" => {
                    let is_glob = |item: &&str| !item.starts_with('-') && fits(item, text);
                    if wanted.iter().any(is_glob) { OptionFit::Certain } else { OptionFit::No }
                }
                _ if is_wanted(name) => OptionFit::Certain,
                _ if name.starts_with("--") => self.cut_short(name, wanted),
                _ if self.group(name).is_some() => OptionFit::No,
                _ => {
                    let letters = text.strip_prefix('-').unwrap_or_default();
                    if self.letters(letters).any(|letter| is_wanted(&letter)) { glued } else { OptionFit::No }
                }
            };
            best =
                best.max(if word.known == Known::Certain { found } else { found.min(OptionFit::Possible) });
            if value.is_none() && self.takes_next(text) {
                words.next();
            }
        }
        best
    }

    /// Whether a long option that is cut short is one of these: `--forc`.
    fn cut_short(self, name: &str, wanted: &[&str]) -> OptionFit {
        let is_cut = |item: &str| name.len() > 3 && item.starts_with(name);
        if !wanted.iter().any(|item| is_cut(item)) {
            return OptionFit::No;
        }
        if self.groups.is_empty() { OptionFit::Possible } else { OptionFit::Certain }
    }

    /// The letters of a cluster as options, up to the first that has a value.
    fn letters(self, letters: &str) -> impl Iterator<Item = String> {
        let mut ended = false;
        letters.chars().map_while(move |letter| {
            let name = format!("-{letter}");
            let is_on = !ended && letter.is_ascii_alphanumeric();
            ended |= self.has_value(&name);
            is_on.then_some(name)
        })
    }

    /// Whether the next word is the value of this one.
    fn takes_next(self, text: &str) -> bool {
        if text.starts_with("--") || self.group(text).is_some() {
            return self.has_value(text);
        }
        let Some(letters) = text.strip_prefix('-') else { return false };
        let last = letters.chars().last().map(|letter| format!("-{letter}"));
        self.letters(letters).count() == letters.chars().count()
            && last.is_some_and(|last| self.has_value(&last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_known_in_every_spelling() {
        let rows = [
            ("rm", "-rf", "-fr x", OptionFit::Certain),
            ("rm", "-rf", "-r -f x", OptionFit::Certain),
            ("rm", "-rf", "--recursive --force x", OptionFit::Certain),
            ("rm", "-rf", "--recurs x -Rfv", OptionFit::Certain),
            ("rm", "-rf", "-r x", OptionFit::No),
            ("rm", "-rf", "-r -- -f", OptionFit::No),
            ("rm", "-r", "-R x", OptionFit::Certain),
            ("git push", "--force", "-uf origin main", OptionFit::Certain),
            ("git push", "--force", "--forc", OptionFit::Certain),
            ("git push", "--force", "origin +main", OptionFit::Certain),
            ("git push", "-f", "--force", OptionFit::Certain),
            ("git push", "--force", "--force-with-lease", OptionFit::No),
            ("git push", "--force", "-o -f origin", OptionFit::No),
            ("git push", "--force", "origin main", OptionFit::No),
            ("git commit", "-n", "-m -n", OptionFit::No),
            ("git commit", "-n", "-mn", OptionFit::No),
            ("git commit", "-n", "-anm x", OptionFit::Certain),
            ("kubectl delete", "-n", "--namespace=a pod b", OptionFit::Certain),
            ("terraform apply", "-auto-approve", "--auto-approve", OptionFit::Certain),
            ("unknown", "-f", "-xf", OptionFit::Possible),
            ("unknown", "-xf", "-f -x", OptionFit::Possible),
            ("unknown", "--force", "--for", OptionFit::Possible),
            ("unknown", "--force", "--force=yes", OptionFit::Certain),
        ];
        for (command, option, arguments, expected) in rows {
            let (program, verb) =
                command.split_once(' ').map_or((command, None), |(it, verb)| (it, Some(verb)));
            let words: Vec<Word> =
                arguments.split(' ').map(|text| Word { text: text.into(), known: Known::Certain }).collect();
            let fit = OptionTable::of(program, verb).fit(&words, option);
            assert_eq!(fit, expected, "{command} {arguments}: {option}");
        }
    }
}
