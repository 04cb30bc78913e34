//! Takes wrappers off a command.
//!
//! [`unwrap`] says what a command hands on: words to run, a script to read, or its standard input. A
//! wrapper is not listed beside what it runs, except where it does something of its own: `find` walks,
//! `ssh` leaves the machine. Options we do not know count as flags.

use crate::words::Field;
use crate::wrappers::{Rest, Wrapper, has, is_shell, wrapper};

/// Something a command runs.
pub(crate) enum Inner {
    /// A program and its arguments.
    Words(Vec<Field>),
    /// A script.
    Script(Field),
    /// Whatever comes on standard input, as a script.
    Input,
    /// Something unknown before the script runs.
    Unknown,
}

/// What a command hands on, and whether it does something of its own beside.
pub(crate) struct Unwrapped {
    pub(crate) inner: Vec<Inner>,
    pub(crate) own: bool,
}

/// What the command runs; none for an ordinary program.
pub(crate) fn unwrap(program: &str, words: &[Field]) -> Option<Unwrapped> {
    let arguments = words.get(1..).unwrap_or_default();
    let listed = |inner| Some(Unwrapped { inner, own: true });
    let alone = |inner| Some(Unwrapped { inner, own: false });
    let name = match program {
        _ if is_shell(program) => return shell(arguments).and_then(|inner| alone(vec![inner])),
        "find" => return listed(find(arguments)),
        "alias" => return listed(alias(arguments)),
        "trap" => return alone(trap(arguments)),
        "source" | "." => {
            return arguments.first().and_then(file).and_then(|inner| alone(vec![inner]));
        }
        // With a user given as an option it takes a command as `sudo` does, else as `su` does.
        "runuser" if arguments.iter().any(|word| word.text.starts_with("-u")) => "sudo",
        "runuser" => "su",
        other => other,
    };
    let wrapper = wrapper(name)?;
    Some(Unwrapped { inner: wrapper.unwrap(arguments), own: wrapper.own })
}

/// What an option means for the words after it.
enum Meaning<'a> {
    Flag,
    Query,
    ValueFollows,
    ScriptFollows,
    Replaces(&'a str),
    Script(&'a str),
}

impl Wrapper {
    fn unwrap(&self, arguments: &[Field]) -> Vec<Inner> {
        let mut words = arguments.iter();
        let mut inner = Vec::new();
        let mut script = None;
        let mut replaced = None;
        let mut rest = Vec::new();
        let mut operands = self.operands;
        let mut options = true;
        let glues = matches!(self.rest, Rest::WordsOfScript);
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let mut skipped = Some(word);
            if options && word.certain && text.starts_with('-') && !(script.is_some() && glues) {
                match self.meaning(text) {
                    Meaning::Flag => options = text != "--" || matches!(self.rest, Rest::Shell),
                    Meaning::Query => return vec![],
                    Meaning::ScriptFollows => {
                        script = Some(words.next().cloned().unwrap_or(Field::uncertain("")));
                    }
                    Meaning::Script(text) => script = Some(Field::certain(text)),
                    Meaning::Replaces(mark) => replaced = Some(mark),
                    Meaning::ValueFollows => {
                        skipped = words.next();
                        if text.ends_with('I') {
                            replaced = skipped.map(|mark| mark.text.as_str());
                        }
                    }
                }
            } else if self.assignments && script.is_none() && text.contains('=')
                || matches!(self.rest, Rest::Shell)
            {
                // Nothing to run in here.
            } else if operands > 0 {
                operands = operands.saturating_sub(1);
            } else {
                rest.push(word.clone());
                rest.extend(words.by_ref().cloned());
                skipped = None;
            }
            // What may be several words may hold the command.
            if skipped.is_some_and(|word| word.splits) {
                inner.push(Inner::Unknown);
            }
        }
        match script {
            // The script is cut into words that take the option's place, before those that follow it.
            Some(script) if glues => {
                let quoted =
                    |word: &Field| Field { text: format!("'{}'", word.text.replace('\'', r"'\''")), ..*word };
                let head = [Field::certain("env"), script];
                let words: Vec<Field> = head.into_iter().chain(rest.iter().map(quoted)).collect();
                inner.push(Inner::Script(join(&words)));
            }
            Some(script) => inner.push(Inner::Script(script)),
            None => inner.extend(self.run(rest, replaced)),
        }
        inner
    }

    fn meaning<'a>(&self, option: &'a str) -> Meaning<'a> {
        if option.starts_with("--") {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            // Long options may be cut short: `--sig KILL`.
            let is = |list: &str| name != "--" && list.split(' ').any(|item| item.starts_with(name));
            return match value {
                None if is(self.scripts) => Meaning::ScriptFollows,
                Some(script) if is(self.scripts) => Meaning::Script(script),
                None if is(self.valued) => Meaning::ValueFollows,
                value if is("--replace") => Meaning::Replaces(value.unwrap_or("{}")),
                _ => Meaning::Flag,
            };
        }
        // Letters may be glued together, and a value to the last of them: `-qc 'rm x'`, `-0I{}`, `-n5`.
        for (at, letter) in option.char_indices().skip(1) {
            let name = format!("-{letter}");
            let is = |list| has(list, &name);
            let glued = option.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if is(self.queries) {
                return Meaning::Query;
            } else if is(self.scripts) {
                return if glued.is_empty() { Meaning::ScriptFollows } else { Meaning::Script(glued) };
            } else if is(self.valued) {
                return match (glued, letter) {
                    ("", _) => Meaning::ValueFollows,
                    (mark, 'I') => Meaning::Replaces(mark),
                    _ => Meaning::Flag,
                };
            } else if letter == 'i' && matches!(self.rest, Rest::WordsAndInput) {
                return Meaning::Replaces(if glued.is_empty() { "{}" } else { glued });
            }
        }
        Meaning::Flag
    }

    fn run(&self, mut rest: Vec<Field>, replaced: Option<&str>) -> Vec<Inner> {
        match self.rest {
            Rest::ScriptAndInput => parallel(&rest),
            Rest::WordsOrShell | Rest::ScriptOrShell | Rest::Shell if rest.is_empty() => vec![Inner::Input],
            _ if rest.is_empty() => vec![],
            Rest::Words | Rest::WordsOrShell | Rest::WordsOfScript | Rest::Shell => vec![Inner::Words(rest)],
            Rest::Script | Rest::ScriptOrShell => vec![Inner::Script(join(&rest))],
            Rest::WordsAndInput => {
                match replaced {
                    Some(mark) => blur(&mut rest, mark),
                    None => rest.push(Field::uncertain("")),
                }
                vec![Inner::Words(rest)]
            }
        }
    }
}

/// What a shell runs; none when it is a script file, which is that program's own deed.
fn shell(arguments: &[Field]) -> Option<Inner> {
    let mut words = arguments.iter();
    let (mut from_option, mut from_input) = (false, false);
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let is_option = word.certain && text.starts_with(['-', '+']) && text != "-";
        match text {
            "--" if word.certain => break,
            "--rcfile" | "--init-file" if words.next().is_some_and(|word| file(word).is_none()) => {}
            "--rcfile" | "--init-file" => return Some(Inner::Unknown),
            _ if text.starts_with("--command") => return Some(Inner::Unknown),
            _ if is_option && text.starts_with("--") => {}
            _ if is_option => {
                from_option |= text.contains('c');
                from_input |= text.contains('s');
                // Each `o` takes a word, wherever it stands among the letters.
                words.by_ref().take(text.matches(['o', 'O']).count()).for_each(drop);
            }
            _ if from_option => return Some(Inner::Script(word.clone())),
            // It might be `-c`, with the script behind it.
            _ if !word.certain && (word.splits || !text.contains('/')) => return Some(Inner::Unknown),
            _ if from_input => return Some(Inner::Input),
            _ => return file(word),
        }
    }
    match words.next() {
        Some(word) if from_option => Some(Inner::Script(word.clone())),
        None if from_option => Some(Inner::Unknown),
        Some(word) if !from_input => file(word),
        _ => Some(Inner::Input),
    }
}

/// What reading a file as a script runs; none for a plain file.
fn file(word: &Field) -> Option<Inner> {
    match word.text.as_str() {
        "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => Some(Inner::Input),
        text if text.contains("/dev/") || text.contains("/proc/") => Some(Inner::Unknown),
        text if text.contains("<(") => Some(Inner::Unknown),
        // A file whose name is unknown is still a file, though it may be `/dev/stdin`.
        _ if !word.certain => Some(Inner::Input),
        _ => None,
    }
}

fn find(arguments: &[Field]) -> Vec<Inner> {
    let runs = |word: &Field| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &Field| matches!(word.text.as_str(), ";" | "+");
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while words.by_ref().any(runs) {
        let mut inner: Vec<_> = words.by_ref().take_while(|word| !ends(word)).cloned().collect();
        blur(&mut inner, "{}");
        found.push(Inner::Words(inner));
    }
    // Something that looks like the end of a command whose beginning is not to be seen.
    let marks = |word: &Field| ends(word) || word.text.contains("{}");
    if found.is_empty() && arguments.iter().any(marks) && arguments.iter().any(|word| !word.certain) {
        found.push(Inner::Unknown);
    }
    found
}

fn parallel(rest: &[Field]) -> Vec<Inner> {
    let mut sides = rest.splitn(2, |word| word.text.starts_with(":::"));
    let (command, given) = (sides.next().unwrap_or_default(), sides.next());
    match (command, given) {
        // Each argument is a command line, and so is each line of standard input.
        ([], Some(given)) => given.iter().cloned().map(Inner::Script).collect(),
        ([], None) => vec![Inner::Unknown],
        (command, _) => {
            // The arguments are quoted before they are put in: they stay one word, an unknown one.
            let script = join(command);
            vec![Inner::Script(Field {
                text: PARALLEL_MARKS.iter().fold(script.text, |text, mark| text.replace(mark, "\"$1\"")),
                ..script
            })]
        }
    }
}

/// Where `parallel` puts its arguments.
const PARALLEL_MARKS: &[&str] = &["{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}"];

fn trap(arguments: &[Field]) -> Vec<Inner> {
    let mut words = arguments.iter().skip_while(|word| word.text == "--");
    match words.next() {
        Some(word) if !matches!(word.text.as_str(), "-" | "-l" | "-p" | "-lp") && words.next().is_some() => {
            vec![Inner::Script(word.clone())]
        }
        _ => vec![],
    }
}

fn alias(arguments: &[Field]) -> Vec<Inner> {
    let script = |word: &Field| {
        let (_, value) = word.text.split_once('=')?;
        Some(Inner::Script(Field { text: value.to_owned(), ..*word }))
    };
    arguments.iter().filter_map(script).collect()
}

fn join(words: &[Field]) -> Field {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Field {
        text: texts.join(" "),
        certain: words.iter().all(|word| word.certain),
        splits: words.iter().any(|word| word.splits),
    }
}

/// Marks the words in which the wrapper will put something of its own.
fn blur(words: &mut [Field], mark: &str) {
    for word in words {
        word.certain &= !word.text.contains(mark);
    }
}
