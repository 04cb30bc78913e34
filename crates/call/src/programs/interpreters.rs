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

/// Where an interpreter takes its code from.
pub(crate) enum Source {
    /// These words, and what to call the option.
    Inline(Vec<Field>, &'static str),
    File(Field),
    Input,
    /// A makefile of the usual name.
    Makefile,
    /// A module, a project or a prompt: nothing we could read.
    Elsewhere,
}

impl Interpreter {
    pub(crate) const PLAIN: Self = Self {
        code: "",
        valued: "",
        glued: "",
        elsewhere: "",
        operand: false,
        input: true,
        data: 0,
        stays: false,
        stays_with: "",
        leaves_with: "",
        talks_with: "--version --help -version -help",
        shells: "",
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

    /// Where the code comes from.
    pub(crate) fn source(&self, arguments: &[Field]) -> Source {
        let mut words = arguments.iter();
        let mut code = Vec::new();
        let mut label = "";
        let mut file = None;
        let mut data = self.data;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if self.dialect == Dialect::Make && matches!(text, "-f" | "--file" | "--makefile") {
                file = words.next();
                continue;
            }
            let is_code = |text: &str| {
                text.starts_with("-e")
                    || matches!(self.option(text), Meaning::Code(_, glued) if !glued.is_empty())
            };
            if !text.starts_with('-') || text == "-" || !word.is_certain() && !is_code(text) {
                if has(self.elsewhere, text) {
                    return Source::Elsewhere;
                }
                if has(self.code, text) {
                    code.extend(words.next().cloned());
                }
                if self.dialect == Dialect::Make || !code.is_empty() {
                    continue;
                }
                if data > 0 && !(self.data == usize::MAX && is_input(text)) {
                    data = data.saturating_sub(1);
                    continue;
                }
                file = file.or(Some(word));
                // Where options may follow files, code may still come.
                if self.dialect == Dialect::Sed {
                    continue;
                }
                break;
            }
            match self.option(text) {
                Meaning::Code(option, "") => {
                    code.extend(words.next().cloned());
                    label = option;
                }
                Meaning::Code(option, glued) => {
                    code.push(Field { text: glued.to_owned(), ..word.clone() });
                    label = option;
                }
                Meaning::Elsewhere => return Source::Elsewhere,
                Meaning::ValueFollows => drop(words.next()),
                Meaning::Flag => {}
            }
        }
        match file {
            _ if !code.is_empty() => Source::Inline(code, label),
            // A name with such characters is more likely code behind an option we misread.
            Some(word) if self.operand || word.text.contains(['(', ';', '"', '`']) => {
                Source::Inline(vec![word.clone()], "")
            }
            Some(word) if is_input(&word.text) => Source::Input,
            Some(word) => Source::File(word.clone()),
            None if self.dialect == Dialect::Make => Source::Makefile,
            None if self.takes_none(arguments) => Source::Elsewhere,
            None if self.input => Source::Input,
            None => Source::Elsewhere,
        }
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
                if has(self.code, &option) || has(self.glued, &option) || has(self.valued, &option) {
                    break;
                }
            }
            match self.option(text) {
                _ if !is_option => {}
                Meaning::Code(_, "") | Meaning::ValueFollows => drop(words.next()),
                // Some modules are prompts.
                Meaning::Elsewhere => return words.next().is_some_and(|module| has(PROMPTS, &module.text)),
                Meaning::Code(..) | Meaning::Flag => {}
            }
        }
        false
    }

    fn option<'a>(&self, text: &'a str) -> Meaning<'a> {
        // Long options may be cut short: `--expr`.
        let named = |list: &'static str, name: &str| {
            let is_cut = self.is_filter() && name.len() > 2 && name.starts_with("--");
            let is = |item: &&str| *item == name || is_cut && item.starts_with(name);
            list.split_ascii_whitespace().find(is)
        };
        let (name, value) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, value),
            None => (text, ""),
        };
        if let Some(option) = named(self.code, name) {
            return Meaning::Code(option, value);
        } else if named(self.elsewhere, name).is_some() {
            return Meaning::Elsewhere;
        } else if named(self.valued, name).is_some() && value.is_empty() {
            return Meaning::ValueFollows;
        } else if text.starts_with("--") {
            return Meaning::Flag;
        }
        // Letters may be glued together, and a value to the last of them: `-lane 'print'`.
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let glued = text.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if let Some(option) = named(self.code, &name) {
                return Meaning::Code(option, glued);
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

/// What an option of an interpreter means.
enum Meaning<'a> {
    Flag,
    ValueFollows,
    Elsewhere,
    /// Its value is code, here if it is glued.
    Code(&'static str, &'a str),
}
