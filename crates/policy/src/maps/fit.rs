//! How a map meets a command: certainly, possibly or not at all.

use lockgate_call::{Command, Known, OptionFit, OptionTable, Script, Word};
use lockgate_pattern::{Match, Pattern};

use crate::idle::works_unless;
use crate::statement::Takes;

/// How a map meets a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    /// The command cannot be read, so it may be what the map looks for.
    Unread,
    /// The command mentions what the map looks for, or may turn out to be it.
    Possible,
    /// The command is what the map looks for.
    Certain,
}

impl Takes {
    /// The same for two that take the same.
    pub fn key(&self) -> String {
        match self {
            Self::Field { field, pattern } => format!("{field} {}", pattern.key()),
            Self::Running { program, words } => format!("running {program} {words:?}"),
        }
    }

    pub(super) fn looks_at(&self, script: &str) -> bool {
        match self {
            Self::Field { field, .. } => field == script,
            Self::Running { .. } => true,
        }
    }

    pub(super) fn fit(&self, command: &Command) -> Fit {
        match self {
            Self::Field { pattern, .. } => match fit_of_pattern(pattern, command) {
                // Its text is not all of what it runs.
                Fit::No if command.opaque => Fit::Unread,
                fit => fit,
            },
            Self::Running { program, words } => match may_run(command, program) {
                Fit::Certain => fit_of_words(program, words, command.words.get(1..).unwrap_or_default()),
                // What else runs has words of its own.
                doubt => doubt,
            },
        }
    }

    /// Whether a command that the map takes does its work, and does not only talk about it. What the map itself asks for
    /// is work.
    pub(super) fn is_work(&self, command: &Command) -> bool {
        match self {
            Self::Field { pattern, .. } => works_unless(command, |option| pattern.key().contains(option)),
            Self::Running { words, .. } => {
                works_unless(command, |option| words.iter().any(|word| word == option))
            }
        }
    }

    /// Whether a script as a whole shows what none of its commands is: the text crosses from one command to the
    /// next, or a wrapper was taken off. Both are only possible: a wrapper must not hide what it runs from later maps.
    pub(super) fn shows_in(&self, script: &Script, text: &str) -> bool {
        match self {
            Self::Field { pattern, .. } => pattern.find(text) != Match::No,
            // It was looked at itself.
            Self::Running { program, .. }
                if lockgate_call::program(program).is_some_and(lockgate_call::Program::is_listed) =>
            {
                false
            }
            Self::Running { program, .. } => {
                let is_wrapper = |around: &String| {
                    let first = around.split(' ').next().unwrap_or_default();
                    first.rsplit('/').next() == Some(program)
                };
                script.commands.iter().any(|command| command.reached_by.iter().any(is_wrapper))
            }
        }
    }
}

/// Where a pattern meets a command: at its very start, somewhere else, or not.
fn fit_of_pattern(pattern: &Pattern, command: &Command) -> Fit {
    // The program may be written with its folder and the pattern with or without it; both readings count.
    match (pattern.find(&command.text), pattern.find(&command.text_with_path)) {
        (Match::At(0), _) | (_, Match::At(0)) => Fit::Certain,
        (Match::No, Match::No) => Fit::No,
        _ => Fit::Possible,
    }
}

/// Whether a command is a run of this program, or may turn out to run it.
fn may_run(command: &Command, program: &str) -> Fit {
    // Code in another language that names the program may well start it.
    let is_named = |code: &String| {
        code.split(|c: char| !c.is_alphanumeric() && !"_-.+".contains(c)).any(|it| it == program)
    };
    match &command.program {
        Some(known) if known == program => Fit::Certain,
        _ if command.code.as_ref().is_some_and(is_named) => Fit::Possible,
        _ if !command.may_run(program) => Fit::No,
        // The names that fit a glob are few; what is computed may be any.
        _ if command.program_glob().is_some() => Fit::Possible,
        _ => Fit::Unread,
    }
}

/// Whether the arguments have these words in this order, whatever stands between them. Options may be spelt and placed
/// otherwise: `-fr` and `--force -r` are `-rf`.
fn fit_of_words(program: &str, words: &[String], arguments: &[Word]) -> Fit {
    let is_certain =
        |argument: &Word, word: &String| argument.known == Known::Certain && argument.text == *word;
    if has_in_order(words, arguments, is_certain) {
        return Fit::Certain;
    }
    let verb = subcommand(program, arguments);
    // `git commit -m "$(…)"` is a commit, whatever its message turns out to be.
    if let (Some(first), Some(known)) = (words.first(), verb)
        && known != first
    {
        return Fit::No;
    }
    let spelt = fit_of_options(OptionTable::of(program, words.first().map(String::as_str)), words, arguments);
    if spelt == Fit::Certain {
        return spelt;
    }
    // What is computed when the script runs may become any number of words.
    let is_unknown = arguments.iter().any(|argument| argument.known == Known::Unknown);
    if is_unknown || has_in_order(words, arguments, |argument, word| may_be(argument, word)) {
        return Fit::Possible;
    }
    spelt
}

/// Whether the plain words stand among the arguments in their order, and each option in some spelling behind the first of
/// them.
fn fit_of_options(options: OptionTable, words: &[String], arguments: &[Word]) -> Fit {
    let is_option = |word: &&String| word.len() > 1 && word.starts_with('-');
    let (wanted, plain): (Vec<&String>, Vec<&String>) = words.iter().partition(is_option);
    if wanted.is_empty() {
        return Fit::No;
    }
    let mut rest = arguments.iter();
    let mut behind = 0;
    for (at, word) in plain.into_iter().enumerate() {
        let Some(found) = rest.position(|it| it.known == Known::Certain && it.text == *word) else {
            return Fit::No;
        };
        if at == 0 && words.first() == Some(word) {
            behind = found + 1;
        }
    }
    let arguments = arguments.get(behind..).unwrap_or_default();
    match wanted.iter().map(|option| options.fit(arguments, option)).min() {
        Some(OptionFit::Certain) => Fit::Certain,
        Some(OptionFit::Possible) => Fit::Possible,
        Some(OptionFit::No) | None => Fit::No,
    }
}

/// The subcommand that a program is given, if that is certain.
fn subcommand<'a>(program: &str, arguments: &'a [Word]) -> Option<&'a String> {
    let verbs = lockgate_call::program(program)?.verbs()?;
    let mut words = arguments.iter();
    loop {
        let word = words.next().filter(|word| word.known == Known::Certain)?;
        match word.text.as_str() {
            option if verbs.takes_value(option) => {
                // A value that may become several words may hold what is looked for.
                words.next().filter(|value| value.known == Known::Certain || value.text == "{}")?;
            }
            option if verbs.is_flag(option) => {}
            // An option that is not known here may have a value or not.
            option if option.starts_with('-') => return None,
            _ => return Some(&word.text),
        }
    }
}

fn has_in_order(words: &[String], arguments: &[Word], is: impl Fn(&Word, &String) -> bool) -> bool {
    let mut missing = words.iter().peekable();
    for argument in arguments {
        // One argument that is a glob may become several words.
        while missing.next_if(|word| is(argument, word)).is_some() && argument.known != Known::Certain {}
    }
    missing.peek().is_none()
}

/// Whether an argument may reach the program as this word. Of a glob only its plain ends are compared.
fn may_be(argument: &Word, word: &str) -> bool {
    let text = argument.text.as_str();
    match argument.known {
        Known::Certain => text == word,
        Known::Unknown => true,
        Known::Glob => {
            let start = text.split(GLOB).next().unwrap_or_default();
            let end = text.rsplit(GLOB).next().unwrap_or_default();
            word.len() >= start.len() + end.len() && word.starts_with(start) && word.ends_with(end)
        }
    }
}

/// Characters that a glob may begin or end with, extended ones included.
const GLOB: [char; 12] = ['*', '?', '[', ']', '(', ')', '{', '}', '@', '+', '!', '~'];

#[cfg(test)]
mod tests {

    use super::*;

    fn words(text: &str) -> Vec<Word> {
        let known = |word: &str| match word {
            word if word.contains('$') => Known::Unknown,
            word if word.contains('*') || word.contains('?') || word.contains('(') => Known::Glob,
            _ => Known::Certain,
        };
        text.split_whitespace().map(|word| Word { text: word.into(), known: known(word) }).collect()
    }

    #[test]
    fn words_stand_in_order_and_a_doubt_is_only_possible() {
        let table = [
            ("push", "push", Fit::Certain),
            ("push", "-C x push origin", Fit::Certain),
            ("push --force", "push origin --force", Fit::Certain),
            ("push --force", "--force push", Fit::No),
            ("push --force -x", "push -x --force", Fit::Certain),
            ("push -xf", "push a -f -x", Fit::Possible),
            ("push -f", "push -xf", Fit::Possible),
            ("push -f", "push -- -f", Fit::Certain),
            ("push push", "push", Fit::No),
            ("push push", "push x push", Fit::Certain),
            ("", "", Fit::Certain),
            ("", "$x", Fit::Certain),
            ("push", "", Fit::No),
            ("push", "$x", Fit::Possible),
            ("push --force", "$x", Fit::Possible),
            ("push", "$x push", Fit::Certain),
            // Files may be called like words, and the shell lists them all.
            ("push", "add *", Fit::Possible),
            ("push", "add *.rs", Fit::No),
            ("push", "pu*h", Fit::Possible),
            ("push", "pus*sh", Fit::No),
            ("push", "@(push|pull)", Fit::Possible),
            ("-f push", "*", Fit::Possible),
            ("push -f", "push* *", Fit::Possible),
            ("push -f", "*.rs push", Fit::No),
        ];
        for (wanted, arguments, expected) in table {
            let wanted: Vec<String> = wanted.split_whitespace().map(str::to_owned).collect();
            assert_eq!(
                fit_of_words("prog", &wanted, &words(arguments)),
                expected,
                "{wanted:?} in `{arguments}`"
            );
        }
    }

    #[test]
    fn a_wrapper_is_possible_beside_what_it_runs() {
        let mut script = lockgate_call::read_script("rm x");
        script.commands[0].reached_by = vec!["/usr/bin/sudo -u me".into(), "bash -c".into()];
        for (program, expected) in [("sudo", true), ("bash", true), ("me", false), ("rm", false)] {
            let takes = Takes::Running { program: program.into(), words: Vec::new() };
            assert_eq!(takes.shows_in(&script, "sudo -u me bash -c 'rm x'"), expected, "{program}");
        }
    }
}
