//! Takes wrappers off a command.
//!
//! [`unwrap`] says what a command hands on: words to run, a script to read, a file, or its standard input. A
//! wrapper is not listed beside what it runs, except where it does something of its own: `find` walks,
//! `ssh` leaves the machine. After an option we do not know, both readings of the next word are given: its
//! value and the command. Options are not checked: a wrong command line is read like a right one.

use super::consoles::{screen, tmux};
use super::git;
use super::grammars::{alias, blur, file, find, shell, source, trap};
use super::inner::{Inner, Unwrapped};
use super::loose::{somewhere, tmux_scripts};
use super::names::has;
use super::program::{Grammar, Program};
use super::word::{Field, Known};
use super::wrappers::{Rest, Wrapper, script_of_setting};

/// What the command runs; none for an ordinary program.
pub(crate) fn unwrap(program: &Program, words: &[Field]) -> Option<Unwrapped> {
    let arguments = words.get(1..).unwrap_or_default();
    let plain = Unwrapped::default();
    match program.grammar {
        Grammar::Shell(language) => {
            let (inner, assignments) = shell(arguments, language);
            let has_option = inner.iter().any(|inner| matches!(inner, Inner::Script(_)));
            return Some(Unwrapped { inner, assignments, label: has_option.then_some("-c"), ..plain });
        }
        Grammar::Find => {
            let inner = find(arguments);
            return Some(Unwrapped { inner, label: Some("-exec"), own: true, repeats: true, ..plain });
        }
        Grammar::Alias => {
            return Some(Unwrapped { inner: alias(arguments), own: true, repeats: true, ..plain });
        }
        Grammar::Trap => return Some(Unwrapped { inner: trap(arguments), repeats: true, ..plain }),
        // It runs a line of the history, except where it lists them.
        Grammar::History if !arguments.iter().any(|word| word.text.starts_with("-l")) => {
            return Some(Unwrapped { inner: vec![Inner::Unknown], own: true, ..plain });
        }
        Grammar::Source => return Some(Unwrapped { inner: source(arguments), ..plain }),
        Grammar::History
        | Grammar::Letters
        | Grammar::Git
        | Grammar::Tmux
        | Grammar::Screen
        | Grammar::Plain => {}
    }
    let mut all: Option<Unwrapped> = None;
    // Written the old way, its letters take the words after them in turn: `tar cIf id out x`.
    let is_bundle = |word: &Field| !word.text.starts_with('-') && word.text.contains(['I', 'F']);
    if program.grammar == Grammar::Letters && arguments.first().is_some_and(is_bundle) {
        all = Some(Unwrapped { inner: vec![Inner::Unknown], own: true, ..Unwrapped::default() });
    }
    for wrapper in program.wrappers.iter().filter(|wrapper| wrapper.is_meant(arguments)) {
        let Some(arguments) = after_verb(wrapper.verb, arguments) else { continue };
        let all = all.get_or_insert_with(Unwrapped::default);
        wrapper.unwrap(arguments, all);
        all.own |= wrapper.own;
        all.repeats |= wrapper.repeats;
    }
    if program.grammar == Grammar::Git {
        let found = git::runs(program, arguments);
        if !found.is_empty() {
            let all = all.get_or_insert_with(Unwrapped::default);
            all.inner.extend(found);
            all.own = true;
        }
    }
    if program.grammar == Grammar::Tmux {
        let all = all.get_or_insert_with(|| Unwrapped { own: true, ..Unwrapped::default() });
        all.inner.extend(tmux_scripts(arguments));
    }
    if takes_commands(program, arguments) {
        let all = all.get_or_insert_with(Unwrapped::default);
        all.inner.push(Inner::Typed);
        all.own = true;
    }
    all
}

/// Whether a program goes on to take commands from its terminal.
fn takes_commands(program: &Program, arguments: &[Field]) -> bool {
    match program.grammar {
        Grammar::Tmux => tmux(arguments),
        Grammar::Screen => screen(arguments),
        _ => program.consoles.iter().any(|console| console.is_one(arguments)),
    }
}

/// The words after the verb; none without it. What stands before it may be options with values, so it may
/// stand anywhere.
fn after_verb<'a>(verb: &str, arguments: &'a [Field]) -> Option<&'a [Field]> {
    if verb.is_empty() {
        return Some(arguments);
    }
    let length = verb.split(' ').count();
    let is_verb = |words: &[Field]| verb.split(' ').eq(words.iter().map(|word| word.text.as_str()));
    let at = arguments.windows(length).position(is_verb)?;
    arguments.get(at.saturating_add(length)..)
}

/// What an option means for the words after it.
enum Meaning<'a> {
    Flag,
    Query,
    ValueFollows,
    ScriptFollows,
    SettingFollows,
    Replaces(&'a str),
    Script(&'a str),
    Setting(&'a str),
    FileFollows,
    File(&'a str),
    WrittenFollows,
    Written(&'a str),
    Opaque,
    /// In no list: perhaps a flag, perhaps its value follows.
    Unknown,
}

impl Wrapper {
    /// Whether the words ask for this way of running others, where there are two.
    fn is_meant(&self, arguments: &[Field]) -> bool {
        let is_given = |start: &str| arguments.iter().any(|word| word.text.starts_with(start));
        (self.only_with.is_empty() || is_given(self.only_with))
            && (self.never_with.is_empty() || !is_given(self.never_with))
    }

    fn unwrap(&self, arguments: &[Field], all: &mut Unwrapped) {
        if matches!(self.rest, Rest::Somewhere) {
            return all.inner.extend(somewhere(arguments));
        }
        let mut words = arguments.iter();
        let mut script = None;
        let mut replaced = None;
        let mut table = None;
        let mut rest = Vec::new();
        let mut operands = self.operands;
        let mut options = true;
        // Whether the next word may be the value of an option we do not know.
        let mut unsure = false;
        let glues = matches!(self.rest, Rest::WordsOfScript);
        let takes_no_words = matches!(self.rest, Rest::Shell | Rest::Nothing | Rest::Input | Rest::Timetable);
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let mut skipped = Some(word);
            let mut goes = false;
            if options && !word.is_certain() && text.starts_with('-') {
                all.inner.extend(self.glued(word));
            }
            if options && word.is_certain() && text.starts_with('-') && !(script.is_some() && glues) {
                unsure = false;
                match self.meaning(text) {
                    Meaning::Flag => options = text != "--" || matches!(self.rest, Rest::Shell),
                    Meaning::Unknown => unsure = true,
                    Meaning::Query => return,
                    Meaning::ScriptFollows => {
                        let follows = words.next().cloned().unwrap_or(Field::uncertain(""));
                        all.inner.extend(script.replace(follows).map(Inner::Script));
                    }
                    Meaning::Script(text) => {
                        all.inner.extend(script.replace(Field::certain(text)).map(Inner::Script));
                    }
                    Meaning::SettingFollows => {
                        skipped = words.next();
                        all.inner.extend(skipped.and_then(setting));
                    }
                    Meaning::Setting(text) => all.inner.extend(setting(&Field::certain(text))),
                    Meaning::FileFollows => {
                        skipped = words.next();
                        all.inner.extend(skipped.map(file));
                    }
                    Meaning::File(text) => all.inner.push(file(&Field::certain(text))),
                    Meaning::WrittenFollows => {
                        skipped = words.next();
                        all.writes.extend(skipped.cloned());
                    }
                    Meaning::Written(text) => all.writes.push(Field::certain(text)),
                    Meaning::Opaque => all.inner.push(Inner::Unknown),
                    Meaning::Replaces(mark) => replaced = Some(mark),
                    Meaning::ValueFollows => {
                        all.places.extend(may_be_place(word).then(|| word.clone()));
                        goes = matches!(text, "-C" | "-D" | "--chdir" | "--wd" | "--workdir" | "--cwd");
                        skipped = words.next();
                        if text.ends_with('I') {
                            replaced = skipped.map(|mark| mark.text.as_str());
                        }
                    }
                }
            } else if self.assignments && script.is_none() && text.contains('=') {
                all.assignments.push(word.clone());
            } else if matches!(self.rest, Rest::Timetable) {
                table = Some(word.clone());
            } else if takes_no_words {
                // Nothing to run in here.
            } else if operands > 0 {
                operands = operands.saturating_sub(1);
                if has(self.writes, ".") {
                    all.writes.push(word.clone());
                }
                if std::mem::take(&mut unsure) {
                    operands = operands.saturating_add(1);
                    // Were the word the operand, the command would stand here already.
                    if let [_, ..] = words.as_slice() {
                        self.run(words.as_slice().to_vec(), replaced, all);
                    }
                }
            } else {
                rest.push(word.clone());
                rest.extend(words.by_ref().cloned());
                skipped = None;
            }
            // What an own deed is given stands among its words.
            let place = skipped.filter(|word| !self.own && (goes || may_be_place(word)));
            all.places.extend(place.cloned());
            // What may be several words may hold the command.
            if !takes_no_words && !self.own && skipped.is_some_and(|word| word.splits) {
                all.inner.push(Inner::Unknown);
            }
        }
        match script {
            // The script is cut into words that take the option's place, before those that follow it.
            Some(script) if glues => {
                let quoted =
                    |word: &Field| Field { text: format!("'{}'", word.text.replace('\'', r"'\''")), ..*word };
                let head = [Field::certain("env"), script];
                let words: Vec<Field> = head.into_iter().chain(rest.iter().map(quoted)).collect();
                all.inner.push(Inner::Script(join(&words)));
            }
            Some(script) => all.inner.push(Inner::Script(script)),
            None if matches!(self.rest, Rest::Timetable) => {
                let file = table.filter(|file| file.text != "-" && !file.text.starts_with("/dev/"));
                all.inner.push(Inner::Timetable(file));
            }
            None => {
                if unsure
                    && let [_, after @ ..] = rest.as_slice()
                    && !after.is_empty()
                {
                    self.run(after.to_vec(), replaced, all);
                }
                if !rest.is_empty() || !self.starts_no_shell(arguments) {
                    self.run(rest, replaced, all);
                }
            }
        }
    }

    /// What an option that is not known whole runs, where a script is glued to it: `mapfile -C'rm x'$y`.
    fn glued(&self, word: &Field) -> Option<Inner> {
        let value = |text: &str| Field { text: text.to_owned(), ..*word };
        match self.meaning(&word.text) {
            Meaning::Script(script) => Some(Inner::Script(value(script))),
            Meaning::Setting(text) => setting(&value(text)),
            Meaning::Opaque => Some(Inner::Unknown),
            _ => None,
        }
    }

    /// Whether its options say that it starts no shell where no command is given: `ssh -N host`, `sudo -v`.
    fn starts_no_shell(&self, arguments: &[Field]) -> bool {
        let options = || arguments.iter().filter(|word| word.is_certain()).map(|word| word.text.as_str());
        let is_given = |list: &str| {
            options().any(|option| {
                let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
                has(list, option)
                    || letters.is_some_and(|it| it.chars().any(|letter| has(list, &format!("-{letter}"))))
            })
        };
        let talks = matches!(arguments, [only] if has("--version --help", &only.text) && only.is_certain());
        let last = arguments.last().filter(|word| word.is_certain());
        let is_guest = self.guest.is_some_and(|guest| last.is_some_and(|word| word.text.starts_with(guest)));
        talks
            || is_guest
            || is_given(self.shellless)
            || !self.shell_only_with.is_empty() && !is_given(self.shell_only_with)
    }

    fn meaning<'a>(&self, option: &'a str) -> Meaning<'a> {
        if option.starts_with("--") {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            // Long options may be cut short: `--sig KILL`.
            let is =
                |list: &str| name != "--" && list.split_ascii_whitespace().any(|item| item.starts_with(name));
            return match value {
                Some(_) if is(self.opaque) => Meaning::Opaque,
                None if has(self.opaque, name) => Meaning::Opaque,
                None if is(self.files) => Meaning::FileFollows,
                Some(file) if is(self.files) => Meaning::File(file),
                None if is(self.writes) => Meaning::WrittenFollows,
                Some(file) if is(self.writes) => Meaning::Written(file),
                None if is(self.scripts) => Meaning::ScriptFollows,
                Some(script) if is(self.scripts) => Meaning::Script(script),
                None if is(self.settings) => Meaning::SettingFollows,
                Some(setting) if is(self.settings) => Meaning::Setting(setting),
                None if is(self.valued) => Meaning::ValueFollows,
                value if is("--replace") => Meaning::Replaces(value.unwrap_or("{}")),
                None if name != "--" && !is(self.flags) => Meaning::Unknown,
                _ => Meaning::Flag,
            };
        }
        // Some write whole names behind one dash: `-exec rm`, `-exec=rm`.
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if name.len() > 2 && has(self.scripts, name) {
            return if value.is_empty() { Meaning::ScriptFollows } else { Meaning::Script(value) };
        }
        if name.len() > 2 && has(self.opaque, name) {
            return Meaning::Opaque;
        }
        // Letters may be glued together, and a value to the last of them: `-qc 'rm x'`, `-0I{}`, `-n5`.
        for (at, letter) in option.char_indices().skip(1) {
            let name = format!("-{letter}");
            let is = |list| has(list, &name);
            let glued = option.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if is(self.queries) {
                return Meaning::Query;
            } else if is(self.opaque) {
                return Meaning::Opaque;
            } else if is(self.files) {
                return if glued.is_empty() { Meaning::FileFollows } else { Meaning::File(glued) };
            } else if is(self.writes) {
                return if glued.is_empty() { Meaning::WrittenFollows } else { Meaning::Written(glued) };
            } else if is(self.scripts) {
                return if glued.is_empty() { Meaning::ScriptFollows } else { Meaning::Script(glued) };
            } else if is(self.settings) {
                return if glued.is_empty() { Meaning::SettingFollows } else { Meaning::Setting(glued) };
            } else if is(self.valued) {
                return match (glued, letter) {
                    ("", _) => Meaning::ValueFollows,
                    (mark, 'I') => Meaning::Replaces(mark),
                    _ => Meaning::Flag,
                };
            } else if letter == 'i' && matches!(self.rest, Rest::WordsAndInput) {
                return Meaning::Replaces(if glued.is_empty() { "{}" } else { glued });
            } else if glued.is_empty() && !is(self.flags) && !letter.is_ascii_digit() {
                return Meaning::Unknown;
            }
        }
        Meaning::Flag
    }

    fn run(&self, mut rest: Vec<Field>, replaced: Option<&str>, all: &mut Unwrapped) {
        let inner = match self.rest {
            Rest::ScriptAndInput => return all.inner.extend(parallel(&rest, replaced)),
            Rest::Input => Inner::Input,
            Rest::WordsOrShell | Rest::ScriptOrShell | Rest::Shell if rest.is_empty() => Inner::Input,
            Rest::WordsOrEntry if rest.is_empty() => Inner::Typed,
            Rest::Nothing | Rest::Timetable | Rest::Somewhere => return,
            _ if rest.is_empty() => return,
            Rest::Words | Rest::WordsOrShell | Rest::WordsOrEntry | Rest::WordsOfScript | Rest::Shell => {
                Inner::Words(rest)
            }
            Rest::Script | Rest::ScriptOrShell => Inner::Script(join(&rest)),
            Rest::Scripts => return all.inner.extend(rest.into_iter().map(Inner::Script)),
            Rest::Setting => {
                let joined = Field { text: join(&rest).text.replacen(' ', "=", 1), ..join(&rest) };
                return all.inner.extend(setting(&joined));
            }
            Rest::WordsAndInput => {
                match replaced {
                    Some(mark) => blur(&mut rest, mark),
                    None => rest.push(Field::uncertain("")),
                }
                Inner::Words(rest)
            }
        };
        all.inner.push(inner);
    }
}

/// Whether a word of a wrapper may name a place other than where it stands.
fn may_be_place(word: &Field) -> bool {
    word.text.contains('/') || word.text.contains("..") || word.text.starts_with('~')
}

/// What a setting of the form `key=value` or `key value` makes its program run.
fn setting(word: &Field) -> Option<Inner> {
    let (key, value) = word.text.split_once(['=', ' '])?;
    let script = script_of_setting(key, value)?;
    Some(Inner::Script(Field { text: script.to_owned(), ..*word }))
}

fn parallel(rest: &[Field], replaced: Option<&str>) -> Vec<Inner> {
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
                text: PARALLEL_MARKS
                    .iter()
                    .copied()
                    .chain(replaced.filter(|mark| !mark.is_empty()))
                    .fold(script.text, |text, mark| text.replace(mark, "\"$1\"")),
                ..script
            })]
        }
    }
}

/// Where `parallel` puts its arguments.
const PARALLEL_MARKS: &[&str] = &["{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}"];

fn join(words: &[Field]) -> Field {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Field {
        text: texts.join(" "),
        known: if words.iter().all(Field::is_certain) { Known::Certain } else { Known::Unknown },
        splits: words.iter().any(|word| word.splits),
        quotes_code: words.iter().any(|word| word.quotes_code),
    }
}
