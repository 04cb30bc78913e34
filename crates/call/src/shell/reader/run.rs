//! What the words of a command run: the program itself, what it wraps, or code it is given.

use super::names::short;
use super::settings::{scripts_of_settings, scripts_of_table};
use super::{Input, READINGS_MAX, Reader};
use crate::programs::files::Output;
use crate::programs::grammars::variable_of_option;
use crate::programs::inner::{Inner, Unwrapped};
use crate::programs::loose::unwrap_unknown;
use crate::programs::names::{has, is_trusted};
use crate::programs::program::{Builtin, Grammar, Program};
use crate::programs::table::{self, is_shell, programs_fitting};
use crate::programs::unwrap::unwrap;
use crate::programs::word::{Field, Known, Word};
use crate::shell::environment;
use crate::shell::scan::Place;
use crate::shell::written::{Content, is_fetched};

/// The longest glob that is compared with names.
const GLOB_BYTES_MAX: usize = 64;

/// What a wrapper makes us look at next.
enum Next<'a> {
    Words(Vec<Field>),
    Script(String, &'a Input),
}

/// The verb of git that a program of this name does.
fn git_verb(program: &str) -> Option<&str> {
    let verb = program.strip_prefix("git-")?;
    table::program("git")?.verbs()?.is_own(verb).then_some(verb)
}

impl Reader {
    /// Lists what the words run: the program itself, or what it wraps.
    pub(crate) fn run(&mut self, words: Vec<Field>, input: &Input) {
        let Some(first) = words.first() else { return self.list_files() };
        // One shell reads `=rm` as the path of `rm`.
        let program = first.text.rsplit('/').next().unwrap_or_default().trim_start_matches('=').to_owned();
        if !first.is_certain() || program.starts_with('-') {
            return self.run_unknown(&program, words);
        }
        let row = table::program(&program);
        if let Some(verb) = git_verb(&program).filter(|_| row.is_none()) {
            // Git's own programs for its verbs: `git-push`.
            let head = ["git", verb].map(Field::certain);
            return self.run(head.into_iter().chain(words.into_iter().skip(1)).collect(), input);
        }
        // A file that the script wrote, by a name that is known: `./env`.
        let is_written = self.written.holds(&program)
            && (!is_trusted(&first.text) || self.found.sets.iter().any(|name| name == "PATH"));
        if is_written && (row.is_some() || !is_trusted(&first.text)) {
            let inner = vec![Inner::File(first.clone())];
            let unwrapped = Unwrapped { inner, own: true, ..Unwrapped::default() };
            return self.hand_on(program, words, unwrapped, None, input);
        }
        if let Some(row) = row {
            self.take_in(row, &program, &words, input);
        }
        if self.aliases.contains(&first.text) && !self.around.iter().any(|around| around == "alias") {
            // What stands behind it may be its argument, or a command of its own. In an alias of that name it is not
            // replaced again.
            self.doubt_what_runs(&program);
        }
        let mut unwrapped = match row {
            Some(row) => unwrap(row, &words),
            None => unwrap_unknown(&words),
        };
        if let Some(row) = row.filter(|_| !self.written.is_empty()) {
            let found = self.settings_files(row, words.get(1..).unwrap_or_default());
            if !found.is_empty() {
                let all = unwrapped.get_or_insert_with(Unwrapped::default);
                all.inner.extend(found);
                all.own = true;
            }
        }
        if let Some(interpreter) = row.and_then(|row| row.interpreter) {
            return self.interpret(interpreter, program, words, unwrapped.unwrap_or_default(), input);
        }
        let unwrapped = match unwrapped {
            // `./sudo` may do anything beside what it is given.
            Some(unwrapped) => Unwrapped { own: unwrapped.own || !is_trusted(&first.text), ..unwrapped },
            // Its own name may be that of a file the script wrote.
            None if self.written.holds(&program) => {
                Unwrapped { inner: vec![Inner::File(first.clone())], own: true, ..Unwrapped::default() }
            }
            // What came from elsewhere may do anything: `curl -O https://host/s; ./s`.
            None if !is_trusted(&first.text) && is_fetched(&program, &self.found.commands) => {
                Unwrapped { inner: vec![Inner::Unknown], own: true, ..Unwrapped::default() }
            }
            None => return self.list(words, Some(program), false, None),
        };
        self.hand_on(program, words, unwrapped, None, input);
    }

    /// Lists a command whose program is not certain.
    fn run_unknown(&mut self, program: &str, mut words: Vec<Field>) {
        self.may_have_stopped = true;
        let Some(first) = words.first() else { return };
        // After `shopt -s nullglob` a glob may be no word at all, and the next one the program.
        let is_glob = first.known == Known::Glob
            && !program.starts_with('-')
            && program.len() <= GLOB_BYTES_MAX
            && !self.variables.is_frozen()
            && !may_run_others(program, &words);
        // A glob is a doubt about this command alone: it runs one of the programs that fit.
        if !is_glob {
            self.doubt(&format!("the program `{}` is only known when the script runs", short(&first.text)));
        }
        if let Some(first) = words.first_mut().filter(|_| !is_glob) {
            first.known = Known::Unknown;
        }
        self.list(words, None, true, None);
    }

    /// Looks at programs that change what we know, or expand their arguments once more.
    fn take_in(&mut self, row: &Program, program: &str, words: &[Field], input: &Input) {
        self.variables.after_running(row);
        self.may_have_stopped |= row.is(Builtin::Stops);
        let is = |word: &Field, option: &str| word.text == option;
        let arguments = words.get(1..).unwrap_or_default();
        self.written.copy(row, arguments, given(input, self.is_conditional));
        self.quoted.look_at_words(row, arguments);
        if row.files.output == Output::Tee {
            let text = match input {
                Input::Text(text) if !self.is_conditional => Some(text),
                _ => None,
            };
            let appends = arguments.iter().any(|word| is(word, "-a") || is(word, "--append"));
            for file in arguments.iter().filter(|word| !word.text.starts_with('-')) {
                self.written.write(file, text.cloned(), appends);
            }
        }
        if has(row.names, "split") {
            // It names its files itself.
            self.written.write(&Field::uncertain(""), None, false);
        }
        if row.grammar == Grammar::Alias {
            self.take_in_aliases(arguments);
        }
        if row.is(Builtin::Options) {
            for word in arguments {
                let names =
                    if word.is_certain() { variable_of_option(&word.text) } else { Some("GLOBIGNORE=") };
                names.into_iter().for_each(|name| self.sets(name.trim_end_matches('=')));
                if !word.is_certain() {
                    self.sets("CDPATH");
                }
            }
        }
        let may_expand = |word: &Field| word.text.contains(['$', '`', '<', '>']);
        // `hash -p /bin/rm ls`, `hash ls=/bin/rm`, `enable -f x.so ls` give a name another program.
        if row.is(Builtin::Expands) && arguments.iter().any(may_expand)
            || row.is(Builtin::Renames) && arguments.iter().any(gives_a_name)
        {
            self.doubt_what_runs(program);
        }
        let is_format = row.is(Builtin::Formats);
        let is_test = row.is(Builtin::Tests);
        let takes_names = row.is(Builtin::Names)
            || is_format && arguments.first().is_some_and(|word| word.text.starts_with("-v"))
            || is_test && arguments.iter().any(|word| is(word, "-v") || is(word, "-R"));
        if !takes_names {
            return;
        }
        // A name that is only known when the script runs may have an index; a number is a sum.
        if arguments.iter().any(|word| !word.is_certain() || is(word, "-i")) {
            self.quoted.computes();
        }
        for argument in arguments {
            match argument.text.split_once('=') {
                Some((name, value)) if !row.is(Builtin::Sums) => {
                    if argument.is_certain() && name.contains('[') {
                        self.apart(|reader| reader.text(name, Place::Quoted));
                    } else if has_computed_index(name) {
                        self.doubt_what_runs(program);
                    }
                    let value = Field { text: value.to_owned(), ..*argument };
                    self.set(name, &value);
                    if environment::leads_elsewhere(name) {
                        self.attached.assignments.push((name.to_owned(), value.into()));
                    }
                }
                _ => {
                    let name = argument.text.strip_prefix("-v").unwrap_or(&argument.text);
                    if !name.is_empty() && !name.starts_with('-') && !is_test {
                        self.sets(name);
                    }
                    if argument.is_certain() {
                        self.apart(|reader| reader.text(&argument.text, Place::Quoted));
                    } else if has_computed_index(name) {
                        self.doubt_what_runs(program);
                    }
                }
            }
        }
    }

    /// Remembers what stands for something else from now on. One that ends with a blank makes the next word one too.
    fn take_in_aliases(&mut self, arguments: &[Field]) {
        // With these options of zsh an alias counts anywhere in a line.
        let is_wide = |word: &Field| word.text.starts_with('-') && word.text.contains(['g', 's']);
        if arguments.first().is_some_and(is_wide) {
            self.doubt_what_runs("alias");
        }
        for argument in arguments {
            match argument.text.split_once('=') {
                Some((name, value)) if argument.is_certain() => {
                    self.aliases.push(name.to_owned());
                    if value.is_empty() || value.ends_with([' ', '\t']) {
                        self.doubt_what_runs("alias");
                    }
                }
                None if argument.is_certain() => {}
                _ => self.doubt_what_runs("alias"),
            }
        }
    }

    /// Lists a command that runs others, and reads those.
    pub(super) fn hand_on(
        &mut self,
        program: String,
        words: Vec<Field>,
        unwrapped: Unwrapped,
        code: Option<String>,
        input: &Input,
    ) {
        let Unwrapped { inner, assignments, label, own, repeats, places, writes } = unwrapped;
        writes.iter().for_each(|file| self.written.write(file, None, false));
        self.attached.wrapper_places.extend(places.into_iter().map(Word::from));
        let around = match label.filter(|label| !label.is_empty()) {
            Some(label) => format!("{program} {label}"),
            None => program.clone(),
        };
        for assignment in assignments {
            if let Some((name, value)) = assignment.text.split_once('=') {
                let value = Field { text: value.to_owned(), ..assignment };
                self.set(name, &value);
                self.attached.assignments.push((name.to_owned(), value.into()));
            }
        }
        let mut opaque = false;
        let mut waits = false;
        let mut listed = own || inner.is_empty();
        let mut next = Vec::new();
        let mut perhaps = Vec::new();
        for inner in inner {
            match (inner, input) {
                (Inner::Words(inner), _) => next.push(Next::Words(inner)),
                (Inner::Perhaps(inner), _) => {
                    self.readings = self.readings.saturating_add(1);
                    if self.readings > READINGS_MAX {
                        opaque = true;
                    } else {
                        perhaps.push(Next::Words(inner));
                    }
                }
                (Inner::Settings(file), _) => {
                    listed = true;
                    match self.written.read(&file, &self.found.commands, &self.open) {
                        Content::Text(text) => {
                            next.extend(scripts_of_settings(&text).map(|it| Next::Script(it, input)))
                        }
                        Content::Unknown => opaque = true,
                        Content::Foreign | Content::Read => {}
                    }
                }
                (Inner::Timetable(Some(file)), _) => {
                    listed = true;
                    match self.written.read(&file, &self.found.commands, &self.open) {
                        Content::Text(text) => next.push(Next::Script(scripts_of_table(&text), input)),
                        Content::Unknown => opaque = true,
                        Content::Foreign | Content::Read => {}
                    }
                }
                (Inner::Timetable(None), Input::Text(text)) => {
                    next.push(Next::Script(scripts_of_table(text), &Input::Given));
                }
                (Inner::Timetable(None), Input::Given) => listed = true,
                (Inner::Timetable(None), _) => opaque = true,
                (Inner::ProgramUnlessFile(inner), _) => {
                    let is_file = inner.first().is_some_and(|first| self.written.holds(&first.text));
                    next.extend((!is_file).then_some(Next::Words(inner)));
                }
                (Inner::Script(script), _) if script.is_certain() => {
                    next.push(Next::Script(script.text, input))
                }
                (Inner::File(file), _) => {
                    listed = true;
                    match self.written.read(&file, &self.found.commands, &self.open) {
                        Content::Text(text) if is_foreign_language(&text) => opaque = true,
                        Content::Text(text) => next.push(Next::Script(text, input)),
                        Content::Unknown => opaque = true,
                        // A file whose name is unknown is still a file, though it may be `/dev/stdin`.
                        Content::Foreign if !file.is_certain() => match input {
                            Input::Text(text) => next.push(Next::Script(text.clone(), &Input::Given)),
                            Input::Computed | Input::Around => opaque = true,
                            Input::Open | Input::Given => {}
                        },
                        Content::Foreign | Content::Read => {}
                    }
                }
                // Whoever reads on in the same input finds nothing that is not listed.
                (Inner::Input, Input::Text(text)) => next.push(Next::Script(text.clone(), &Input::Given)),
                (Inner::Input, Input::Given) => listed = true,
                (Inner::Typed, Input::Given | Input::Text(_) | Input::Computed | Input::Around) => {
                    listed = true
                }
                // Whoever holds the terminal writes what runs, after it was judged.
                (Inner::Input | Inner::Typed, Input::Open) => waits = true,
                (Inner::Script(script), _) if self.prints_settings(&script.text) => listed = true,
                (Inner::Script(_) | Inner::Unknown | Inner::Input, _) => opaque = true,
            }
        }
        if opaque {
            self.may_have_stopped = true;
            self.doubt_what_runs(&program);
        } else if waits {
            self.may_have_stopped = true;
            self.doubt_what_is_typed(&program, &words);
        }
        let open = self.open.len();
        if listed || opaque || waits {
            self.open.push(self.found.commands.len());
            self.list(words, Some(program), opaque || waits, code);
        }
        let before = self.is_conditional;
        self.is_conditional |= repeats || !perhaps.is_empty();
        for inner in next.into_iter().chain(perhaps) {
            let around = around.clone();
            match inner {
                Next::Words(words) => {
                    self.within(around, |reader| reader.deeper(|reader| reader.run(words, input)));
                }
                Next::Script(script, input) => {
                    self.within(around, |reader| reader.foreign_script(&script, input));
                }
            }
        }
        self.open.truncate(open);
        self.is_conditional = before;
    }

    /// Whether a script is what a program prints that is known to print nothing but settings: `eval "$(ssh-agent -s)"`.
    /// Where the script itself may have given its name another meaning, it is not.
    fn prints_settings(&self, script: &str) -> bool {
        const PRINTERS: &[&str] = &[
            "ssh-agent",
            "dircolors",
            "brew shellenv",
            "pyenv init",
            "rbenv init",
            "fnm env",
            "direnv hook",
            "zoxide init",
            "starship init",
            "atuin init",
            "mcfly init",
            "opam env",
            "nodenv init",
            "minikube docker-env",
            "docker-machine env",
        ];
        let Some(inner) = script.trim().strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) else {
            return false;
        };
        let is_plain = inner.chars().all(|c| c.is_ascii_alphanumeric() || " -_".contains(c));
        let is_printer =
            |it: &&str| inner == *it || inner.strip_prefix(*it).is_some_and(|rest| rest.starts_with(' '));
        let renames = |by: &String| by.starts_with("function") || by.starts_with("alias");
        let is_renamed = self.found.commands.iter().any(|command| command.reached_by.iter().any(renames));
        is_plain && PRINTERS.iter().any(is_printer) && self.found.sets.is_empty() && !is_renamed
    }

    /// Reads a script for a shell of its own, which knows nothing of our variables.
    pub(super) fn foreign_script(&mut self, script: &str, input: &Input) {
        self.subshell(|reader| {
            reader.variables.forget();
            reader.apart(|reader| reader.script(script, input));
        });
    }
}

/// Whether a word of `hash` or `enable` makes a name mean another program.
fn gives_a_name(word: &Field) -> bool {
    let letters = word.text.strip_prefix('-');
    !word.is_certain()
        || word.text.contains('=')
        || letters.is_some_and(|letters| letters.contains(['p', 'f']))
}

/// What a command certainly reads from its standard input.
fn given(input: &Input, is_conditional: bool) -> Option<&str> {
    match input {
        Input::Text(text) if !is_conditional => Some(text),
        _ => None,
    }
}

/// Whether a program of this glob may be one that runs what stands in its arguments.
fn may_run_others(glob: &str, words: &[Field]) -> bool {
    let unwraps = |row: &Program| unwrap(row, words).is_some_and(|unwrapped| !unwrapped.inner.is_empty());
    programs_fitting(glob).any(|row| row.interpreter.is_some() || row.runs_by_words() && unwraps(row))
}

/// Whether a file says by its first line that it is no shell script.
fn is_foreign_language(text: &str) -> bool {
    let Some(interpreter) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return false;
    };
    !interpreter.split_whitespace().any(|word| is_shell(word.rsplit('/').next().unwrap_or_default()))
}

/// Whether a name that is not known whole has an index that runs something: `read $x'b[$(rm x)]'`.
fn has_computed_index(name: &str) -> bool {
    name.split_once('[').is_some_and(|(_, index)| index.contains("$(") || index.contains('`'))
}
