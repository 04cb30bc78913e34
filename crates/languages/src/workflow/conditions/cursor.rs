//! Reads the text of a condition: a function's name and its arguments in brackets.
//!
//! Which arguments a function takes is not known here.

use std::ops::Range;

use lockgate_policy::closest;

/// What is wrong with a condition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConditionMistake {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: String,
    /// The bytes of the condition it is about.
    pub(crate) at: Range<usize>,
}

/// Every function with how it is written.
const FUNCTIONS: [(&str, &str); 7] = [
    ("stage_complete", "stage_complete(\"stage\")"),
    ("file_read", "file_read(\"path\")"),
    ("approval", "approval()` or `approval(\"stage\")"),
    ("command_matches", "command_matches(\"expression\")"),
    ("command_not_matches", "command_not_matches(\"expression\")"),
    ("exec", "exec(\"command\")` or `exec(\"command\", exit_code=1)"),
    ("mcp_result_matches", "mcp_result_matches(\"tool\", \"field\", \"value\")"),
];

/// A function that a condition calls.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) usage: &'static str,
    /// From its name to its closing bracket.
    pub(super) at: Range<usize>,
}

pub(super) enum Argument {
    Text {
        value: String,
        /// The bytes between the quotes.
        at: Range<usize>,
        has_escapes: bool,
    },
    Named {
        name: String,
        value: String,
        at: Range<usize>,
    },
}

pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes a character if it comes next, after any spaces.
    fn takes(&mut self, character: char) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(character);
        self.at += if found { character.len_utf8() } else { 0 };
        found
    }

    /// Takes letters, digits and underscores.
    fn word(&mut self) -> &'t str {
        self.skip_spaces();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    pub(super) fn function(&mut self) -> Result<Function, ConditionMistake> {
        self.skip_spaces();
        let start = self.at;
        let word = self.word();
        let known = FUNCTIONS.iter().find(|(name, _)| *name == word);
        let Some((name, usage)) = known else {
            return Err(self.unknown_function(word, start));
        };
        if !self.takes('(') {
            let message = format!("`{name}` needs brackets behind it");
            return Err(mistake("bad-condition", message, format!("write `{usage}`"), start..self.at));
        }
        Ok(Function { name, usage, at: start..self.text.len() })
    }

    fn unknown_function(&mut self, word: &str, start: usize) -> ConditionMistake {
        let at = start..self.at;
        if word.is_empty() {
            let end = self.text.trim_end().len().max(start);
            let message = "a condition begins with the name of a function".to_owned();
            return mistake("bad-condition", message, known_functions(), start..end);
        }
        let message = format!("no condition is called `{}`", brief(word));
        let remedy = match closest(word, FUNCTIONS.iter().map(|(name, _)| *name)) {
            Some(name) => format!("did you mean `{name}`?"),
            None if ["not", "any", "all"].contains(&word) => {
                format!("conditions are not joined: all of a list must hold; {}", known_functions())
            }
            None => known_functions(),
        };
        mistake("unknown-condition", message, remedy, at)
    }

    /// Takes the arguments and the bracket behind them.
    pub(super) fn arguments(&mut self, function: &Function) -> Result<Vec<Argument>, ConditionMistake> {
        let mut arguments = Vec::new();
        if self.takes(')') {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument(function)?);
            if self.takes(')') {
                return Ok(arguments);
            }
            if !self.takes(',') {
                let message = format!("`{}` is not closed", function.name);
                let remedy = format!("write `{}`", function.usage);
                return Err(mistake("bad-condition", message, remedy, self.at..self.text.len()));
            }
        }
    }

    fn argument(&mut self, function: &Function) -> Result<Argument, ConditionMistake> {
        self.skip_spaces();
        let start = self.at;
        if self.takes('"') {
            return self.quoted(start);
        }
        let name = self.word();
        if !name.is_empty() && self.takes('=') {
            self.skip_spaces();
            let rest = self.rest();
            let end = rest.find([',', ')']).unwrap_or(rest.len());
            self.at += end;
            let value = rest.get(..end).unwrap_or_default().trim_end().to_owned();
            return Ok(Argument::Named { name: name.to_owned(), value, at: start..self.at });
        }
        let rest = self.text.get(start..).unwrap_or_default();
        let bare = rest.split([',', ')']).next().unwrap_or_default().trim_end();
        let at = start..start + bare.len();
        let usage = || format!("write `{}`", function.usage);
        Err(if bare.is_empty() {
            mistake("bad-condition", format!("`{}` lacks an argument here", function.name), usage(), at)
        } else {
            let message = match bare.starts_with('\'') {
                true => "texts stand in double quotes, not in single ones".to_owned(),
                false => format!("`{}` must stand in double quotes", brief(bare)),
            };
            let remedy = format!("write `\"{}\"`", brief(bare.trim_matches('\'')));
            mistake("bad-condition", message, remedy, at)
        })
    }

    /// Takes a text up to its closing quote; the opening one is behind us.
    pub(super) fn quoted(&mut self, start: usize) -> Result<Argument, ConditionMistake> {
        let begin = self.at;
        let mut value = String::new();
        let mut has_escapes = false;
        loop {
            let from = self.at;
            let Some(character) = self.next() else {
                let message = "a double quote is missing at the end of the text".to_owned();
                return Err(mistake("bad-condition", message, "close the quote".into(), start..self.at));
            };
            match character {
                '"' => return Ok(Argument::Text { value, at: begin..from, has_escapes }),
                '\\' => {
                    has_escapes = true;
                    self.escape(from, &mut value)?;
                }
                character if is_control(character) => return Err(self.control(from, character)),
                character => value.push(character),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Takes what follows a backslash, as Python reads it: one that means nothing stays.
    fn escape(&mut self, from: usize, value: &mut String) -> Result<(), ConditionMistake> {
        let character = match self.next() {
            None => return Ok(()),
            Some(plain @ ('\\' | '"' | '\'')) => plain,
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('x') => self.coded(from, 2)?,
            Some('u') => self.coded(from, 4)?,
            Some('U') => self.coded(from, 8)?,
            Some('N') => {
                let message = "`\\N{…}` is not read here".to_owned();
                let remedy = "write the character itself, or its number as `\\u0041`".to_owned();
                return Err(mistake("bad-condition", message, remedy, from..self.at));
            }
            Some(digit @ '0'..='7') => self.octal(digit),
            Some(other) => {
                value.push('\\');
                other
            }
        };
        if is_control(character) {
            return Err(self.control(from, character));
        }
        value.push(character);
        Ok(())
    }

    /// A character by its number, in so many digits of base 16.
    fn coded(&mut self, from: usize, digits: usize) -> Result<char, ConditionMistake> {
        let code = self.rest().get(..digits).filter(|code| code.chars().all(|c| c.is_ascii_hexdigit()));
        let character = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        let Some(character) = character else {
            let message = "this escape is not a character".to_owned();
            let remedy =
                format!("write {digits} digits of base 16 that are one, or `\\\\` for a backslash itself");
            return Err(mistake("bad-condition", message, remedy, from..self.at));
        };
        self.at += digits;
        Ok(character)
    }

    /// A character by its number, in up to three digits of base 8.
    fn octal(&mut self, first: char) -> char {
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let Some(digit) = self.rest().chars().next().and_then(|next| next.to_digit(8)) else { break };
            code = code * 8 + digit;
            self.at += 1;
        }
        char::from_u32(code).unwrap_or_default()
    }

    fn control(&self, from: usize, character: char) -> ConditionMistake {
        let written = self.text.get(from..self.at).unwrap_or_default();
        let (message, remedy) = if written.starts_with('\\') {
            let remedy = format!("for a backslash itself write two: `\\{written}`");
            (format!("`{written}` is a control character here"), remedy)
        } else {
            let message = format!("the text holds the control character `{}`", character.escape_debug());
            (message, "take it out".to_owned())
        };
        mistake("bad-condition", message, remedy, from..self.at)
    }

    /// Nothing but spaces may be left.
    pub(super) fn end(&mut self) -> Result<(), ConditionMistake> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        let message = "a condition ends with its closing bracket".to_owned();
        let remedy = "write each condition as an entry of its own; all of a list must hold".to_owned();
        Err(mistake("bad-condition", message, remedy, self.at..self.text.trim_end().len()))
    }
}

pub(super) fn mistake(
    code: &'static str,
    message: String,
    remedy: String,
    at: Range<usize>,
) -> ConditionMistake {
    ConditionMistake { code, message, remedy, at }
}

fn known_functions() -> String {
    let names: Vec<String> = FUNCTIONS.iter().map(|(name, _)| format!("`{name}`")).collect();
    format!("write one of {}", names.join(", "))
}

/// Whether a character would move the cursor of a terminal or end a line.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control() || ['\u{2028}', '\u{2029}'].contains(&character)
}

/// As much of a text as fits into a message.
pub(super) fn brief(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
