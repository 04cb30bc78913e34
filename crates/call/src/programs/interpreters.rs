//! Programs that run code in another language than the shell's, and what that code hands on.
//!
//! We do not parse these languages. [`Interpreter::handed_on`] looks for calls of functions that start a shell or
//! a program: what they are given in plain literals is read on, anything else is a doubt. Code that mentions no
//! such function is a deed of its own. Names built at run time from pieces (`getattr(os, "sys" + "tem")`) are
//! doubts where they go through a function of the table, and not seen otherwise.

mod code;

use super::names::has;
use super::word::Field;

/// Commands that end an editor or a debugger.
const ENDINGS: &str = "q qa qall quit quitall wq wqa wqall x xa xall exit cq";

/// Modules of Python that are a prompt.
const PROMPTS: &str = "pdb code asyncio IPython ptpython bpython";

/// How an interpreter's command line and its language are built. Lists are words with spaces between them.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// Options whose value is code.
    pub(crate) code: &'static str,
    /// Options whose value is the next word.
    pub(crate) valued: &'static str,
    /// Options whose value, if any, is glued to them.
    pub(crate) glued: &'static str,
    /// Options whose value is a file of code.
    pub(crate) files: &'static str,
    /// Options whose value is a file of code that it runs beside its own.
    pub(crate) loads: &'static str,
    /// Whether what it reads counts only where it is known: numbers to compute with, texts to set.
    pub(crate) trusts_input: bool,
    /// Whether its options are whole words behind one dash, so that its letters are never written together.
    pub(crate) whole_options: bool,
    /// Whether what stands behind its code is for the code alone.
    pub(crate) ends_with_code: bool,
    /// Whether the word behind such an option is a module, which may take code as well.
    pub(crate) has_modules: bool,
    /// Whether the name of a file may be a command: `perl -ne 1 'rm x |'`.
    pub(crate) opens_pipes: bool,
    /// Options that name what is run, so that neither standard input nor a file is code.
    pub(crate) elsewhere: &'static str,
    /// Whether the first word that is no option is code, not a file.
    pub(crate) operand: bool,
    /// Whether standard input is code when nothing else is.
    pub(crate) input: bool,
    /// How many words that are no options name what it works on, before one could name its code: `sqlite3 x.db`.
    pub(crate) data: usize,
    /// Whether it takes commands from its standard input after all it was given, until one of them ends it.
    pub(crate) stays: bool,
    /// Options and words with which it does so: `python -i x.py`.
    pub(crate) stays_with: &'static str,
    /// Options with which it does nothing of the kind, and takes none from there at all.
    pub(crate) leaves_with: &'static str,
    /// Options with which, where they stand alone, it only talks about itself.
    pub(crate) talks_with: &'static str,
    /// Functions that run a shell or a program.
    pub(crate) shells: &'static str,
    /// Names that code may use without doing anything but print: of others nothing is known.
    pub(crate) harmless: &'static str,
    /// Functions that take code from a terminal.
    pub(crate) typed: &'static str,
    /// Functions that run code of the same language, or find a function by its name: a plain literal says all.
    pub(crate) evals: &'static str,
    /// Modules of such functions: any function of theirs counts.
    pub(crate) modules: &'static str,
    /// Whether functions are called without brackets too.
    pub(crate) bare: bool,
    /// Whether backticks run a command.
    pub(crate) backticks: bool,
    /// Whether variables are put into double quotes.
    pub(crate) interpolates: bool,
    /// What the language does beside calling functions.
    pub(crate) dialect: Dialect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Plain,
    /// A pipe in the code runs a command.
    Awk,
    /// The command `e`, and the flag of that name.
    Sed,
    /// Lines that start with a tab are scripts.
    Make,
    /// What follows a `!` is a script.
    Editor,
}

/// Where an interpreter takes its code from: from all of these.
#[derive(Default)]
pub(crate) struct Sources {
    /// These words.
    pub(crate) inline: Vec<Field>,
    /// What to call the option that they stand behind.
    pub(crate) label: &'static str,
    /// These files.
    pub(crate) files: Vec<Field>,
    /// These files beside.
    pub(crate) loads: Vec<Field>,
    /// Its standard input.
    pub(crate) input: bool,
    /// A makefile of the usual name.
    pub(crate) makefile: bool,
    /// A module of this name, and words that may be code for it.
    pub(crate) module: Option<(Field, Vec<Field>)>,
    /// Commands in its words: values of variables that name programs, files that are pipes.
    pub(crate) commands: Vec<Field>,
}

impl Interpreter {
    pub(crate) const PLAIN: Self = Self {
        code: "",
        valued: "",
        glued: "",
        files: "",
        loads: "",
        trusts_input: false,
        whole_options: false,
        ends_with_code: false,
        has_modules: false,
        opens_pipes: false,
        elsewhere: "",
        operand: false,
        input: true,
        data: 0,
        stays: false,
        stays_with: "",
        leaves_with: "",
        talks_with: "--version --help -version -help",
        shells: "",
        harmless: "",
        typed: "",
        evals: "",
        modules: "",
        bare: false,
        backticks: false,
        interpolates: false,
        dialect: Dialect::Plain,
    };

    /// Whether code that is partly unknown is still read as it stands: in `sed "s/$a/b/"` the unknown is data.
    pub(crate) fn is_filter(&self) -> bool {
        matches!(self.dialect, Dialect::Awk | Dialect::Sed)
    }

    /// Whether its code is mostly text, in which the name of a program says nothing.
    pub(crate) fn is_text(&self) -> bool {
        self.dialect == Dialect::Sed
    }

    /// Where the code comes from. What was found is never dropped because of a later word.
    pub(crate) fn sources(&self, arguments: &[Field]) -> Sources {
        let mut words = arguments.iter();
        let mut found = Sources::default();
        let mut file = None;
        let mut data = self.data;
        let mut is_elsewhere = false;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let is_code = |text: &str| {
                text.starts_with("-e")
                    || matches!(self.option(text), Meaning::Code(_, glued) if !glued.is_empty())
            };
            if text == "--" && word.is_certain() && self.dialect == Dialect::Plain && !found.inline.is_empty()
            {
                break;
            }
            if !text.starts_with('-') || text == "-" || !word.is_certain() && !is_code(text) {
                found.commands.extend(self.command_in(word));
                if has(self.elsewhere, text) && found.inline.is_empty() {
                    is_elsewhere = true;
                    break;
                }
                if has(self.code, text) {
                    found.inline.extend(words.next().cloned());
                }
                if self.dialect == Dialect::Make || !found.inline.is_empty() || !found.files.is_empty() {
                    continue;
                }
                // An editor's command may stand before its file.
                if let Some(command) =
                    text.strip_prefix('+').filter(|it| self.data == usize::MAX && !it.is_empty())
                {
                    found.inline.push(Field { text: command.to_owned(), ..word.clone() });
                    continue;
                }
                if data > 0 && !(self.data == usize::MAX && is_input(text)) {
                    data = data.saturating_sub(1);
                    continue;
                }
                file = file.or(Some(word));
                // Where options may follow files, code may still come.
                if self.dialect == Dialect::Sed || self.operand {
                    continue;
                }
                break;
            }
            match self.option(text) {
                Meaning::Code(option, "") => {
                    found.inline.extend(words.next().cloned());
                    found.label = option;
                    if self.ends_with_code {
                        break;
                    }
                }
                Meaning::Code(option, glued) => {
                    found.inline.push(Field { text: glued.to_owned(), ..word.clone() });
                    found.label = option;
                    if self.ends_with_code {
                        break;
                    }
                }
                Meaning::FileFollows(true) => found.files.extend(words.next().cloned()),
                Meaning::FileFollows(false) => found.loads.extend(words.next().cloned()),
                Meaning::File(is_own, glued) => {
                    let file = Field { text: glued.to_owned(), ..word.clone() };
                    if is_own { &mut found.files } else { &mut found.loads }.push(file);
                }
                Meaning::Elsewhere if found.inline.is_empty() => {
                    is_elsewhere = true;
                    if self.has_modules {
                        let glued = text.split_once('m').map_or("", |(_, glued)| glued);
                        let module = match glued.is_empty() {
                            true => words.next().cloned(),
                            false => Some(Field { text: glued.to_owned(), ..word.clone() }),
                        };
                        found.module = module.map(|module| (module, words.cloned().collect()));
                    }
                    break;
                }
                Meaning::Elsewhere | Meaning::Flag => {}
                Meaning::ValueFollows => {
                    // Where the value looks like the option that takes code, it is that option.
                    let is_option = |next: &&Field| has(self.code, &next.text) && next.text.starts_with('-');
                    if !words.as_slice().first().is_some_and(|next| is_option(&next)) {
                        words.next();
                    }
                }
            }
        }
        if self.opens_pipes {
            found.commands.extend(arguments.iter().filter_map(pipe));
        }
        let has_files = !found.files.is_empty();
        found.input |= found.files.iter().any(|file| is_input(&file.text));
        found.files.retain(|file| !is_input(&file.text));
        match file {
            _ if !found.inline.is_empty() || has_files => {}
            // A name with such characters is more likely code behind an option we misread.
            Some(word) if self.operand || word.text.contains(['(', ';', '"', '`']) => {
                found.inline.push(word.clone());
            }
            Some(word) if is_input(&word.text) => found.input = true,
            Some(word) => found.files.push(word.clone()),
            None if is_elsewhere => {}
            None if self.dialect == Dialect::Make => found.makefile = true,
            None if self.takes_none(arguments) => {}
            None => found.input |= self.input,
        }
        found
    }

    /// The command that a word is which is not an option: `make CC='rm x #'`, `ed '!rm x'`.
    fn command_in(&self, word: &Field) -> Option<Field> {
        if let Some(command) = word.text.strip_prefix('!').filter(|_| self.dialect == Dialect::Editor) {
            return Some(Field { text: command.to_owned(), ..word.clone() });
        }
        let (name, value) = word.text.split_once('=').filter(|_| self.dialect == Dialect::Make)?;
        let name = name.trim_end_matches([':', '+', '?', '!']);
        (has(PROGRAM_VARIABLES, name) && !value.is_empty())
            .then(|| Field { text: value.to_owned(), ..word.clone() })
    }

    /// Whether it takes commands from its standard input after what it was given, this code among it.
    pub(crate) fn goes_on(&self, arguments: &[Field], code: &str) -> bool {
        let ends = |line: &str| has(ENDINGS, line.trim().trim_start_matches(':').trim_end_matches('!'));
        if self.is_given(self.stays_with, arguments) {
            return true;
        }
        self.stays && !self.takes_none(arguments) && !code.lines().any(ends)
    }

    /// Whether its options say that it takes no commands from its standard input.
    fn takes_none(&self, arguments: &[Field]) -> bool {
        let alone = matches!(arguments, [only] if only.is_certain() && has(self.talks_with, &only.text));
        alone || self.is_given(self.leaves_with, arguments) && !self.is_given(self.stays_with, arguments)
    }

    /// Whether one of these stands among the options, or right behind them.
    fn is_given(&self, list: &str, arguments: &[Field]) -> bool {
        if list.is_empty() {
            return false;
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let name = text.split('=').next().unwrap_or_default();
            let is_option = text.starts_with('-') && text != "--";
            // What follows is for a file or a module: `python x.py -i`.
            if has(list, name) || !is_option && self.data == 0 {
                return has(list, name);
            }
            for letter in text.chars().skip(1).take_while(|_| is_option && !text.starts_with("--")) {
                let option = format!("-{letter}");
                if has(list, &option) && !text.contains(':') {
                    return true;
                }
                let takes = |list: &str| has(list, &option);
                if self.whole_options
                    || [self.code, self.glued, self.valued, self.files, self.loads].into_iter().any(takes)
                {
                    break;
                }
            }
            match self.option(text) {
                _ if !is_option => {}
                Meaning::Code(_, "") | Meaning::ValueFollows | Meaning::FileFollows(_) => drop(words.next()),
                // Some modules are prompts.
                Meaning::Elsewhere => return words.next().is_some_and(|module| has(PROMPTS, &module.text)),
                Meaning::Code(..) | Meaning::Flag | Meaning::File(..) => {}
            }
        }
        false
    }

    fn option<'a>(&self, text: &'a str) -> Meaning<'a> {
        // Long options may be cut short: `--expr`.
        let named = |list: &'static str, name: &str| {
            let is_cut = (self.is_filter() || self.dialect == Dialect::Make)
                && name.len() > 2
                && name.starts_with("--");
            let is = |item: &&str| *item == name || is_cut && item.starts_with(name);
            list.split_ascii_whitespace().find(is)
        };
        let (name, value) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, value),
            None => (text, ""),
        };
        if let Some(option) = named(self.code, name) {
            return Meaning::Code(option, value);
        } else if let Some(option) = named(self.files, name).or_else(|| named(self.loads, name)) {
            let is_own = has(self.files, option);
            return if value.is_empty() {
                Meaning::FileFollows(is_own)
            } else {
                Meaning::File(is_own, value)
            };
        } else if named(self.elsewhere, name).is_some() {
            return Meaning::Elsewhere;
        } else if named(self.valued, name).is_some() && value.is_empty() {
            return Meaning::ValueFollows;
        } else if text.starts_with("--") || self.whole_options {
            return Meaning::Flag;
        }
        // Letters may be glued together, and a value to the last of them: `-lane 'print'`.
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let glued = text.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if let Some(option) = named(self.code, &name) {
                return Meaning::Code(option, glued);
            } else if has(self.files, &name) || has(self.loads, &name) {
                let is_own = has(self.files, &name);
                return if glued.is_empty() {
                    Meaning::FileFollows(is_own)
                } else {
                    Meaning::File(is_own, glued)
                };
            } else if has(self.elsewhere, &name) {
                return Meaning::Elsewhere;
            } else if has(self.valued, &name) {
                return if glued.is_empty() { Meaning::ValueFollows } else { Meaning::Flag };
            } else if has(self.glued, &name) {
                return Meaning::Flag;
            }
        }
        Meaning::Flag
    }
}

/// Whether a word names the standard input.
fn is_input(word: &str) -> bool {
    matches!(word, "-" | "/dev/stdin" | "/dev/fd/0")
}

/// The command in the name of a file that is a pipe to perl and ruby: `rm x |`, `|rm x`.
fn pipe(word: &Field) -> Option<Field> {
    let text = word.text.trim();
    let command = text.strip_prefix('|').or_else(|| text.strip_suffix('|'))?;
    let is_option = command.is_empty() || command.starts_with('-');
    (!is_option).then(|| Field { text: command.to_owned(), ..word.clone() })
}

/// Variables of makefiles that name programs.
const PROGRAM_VARIABLES: &str = "CC CXX CPP LD AR AS FC F77 GO CARGO PYTHON SHELL MAKE INSTALL YACC LEX RM CP MV LN TEX \
    TANGLE WEAVE RUSTC NODE NPM DOCKER SUDO EXEC RUN CMD COMMAND WRAPPER LAUNCHER RUNNER EDITOR PAGER .SHELLFLAGS";

/// What an option of an interpreter means.
enum Meaning<'a> {
    /// Its value is a file of code: its own, or one beside.
    FileFollows(bool),
    File(bool, &'a str),
    Flag,
    ValueFollows,
    Elsewhere,
    /// Its value is code, here if it is glued.
    Code(&'static str, &'a str),
}
