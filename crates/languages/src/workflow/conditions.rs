//! Conditions of workflows, which are written as `file_read("notes.md")`.
//!
//! [`parse`] reads one and tells the first thing that is wrong with it; [`spelled`] writes it in its one spelling. Texts
//! stand in double quotes and have the escapes of Python. Whether a stage exists is not asked here. Missing on
//! purpose: `and`, `or` and `not`; a list of conditions holds when all of them do.

use std::{ops::Range, sync::Arc};

use lockgate_pattern::Pattern;
use lockgate_policy::{
    closest,
    workflow::{Condition, Exec},
};

use super::exec;

/// How a program may end.
pub(super) const EXIT_CODE_MAX: i32 = 255;

/// What is wrong with a condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) remedy: String,
    /// The bytes of the condition it is about.
    pub(super) at: Range<usize>,
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

/// Reads a condition of this stage.
pub(super) fn parse(text: &str, stage: &Arc<str>) -> Result<Condition, Mistake> {
    let mut cursor = Cursor { text, at: 0 };
    let function = cursor.function()?;
    let arguments = cursor.arguments(&function)?;
    cursor.end()?;
    function.condition(arguments, stage)
}

/// A condition in one spelling.
pub(super) fn spelled(condition: &Condition) -> String {
    match condition {
        Condition::StageComplete(stage) => format!("stage_complete({})", quoted(stage)),
        Condition::FileRead(path) => format!("file_read({})", quoted(path)),
        Condition::Approval(stage) => format!("approval({})", quoted(stage)),
        Condition::CommandMatches(pattern) => format!("command_matches({})", quoted(&pattern.to_string())),
        Condition::CommandNotMatches(pattern) => {
            format!("command_not_matches({})", quoted(&pattern.to_string()))
        }
        Condition::Exec(Exec { words, exit_code: 0 }) => format!("exec({})", quoted(&exec::joined(words))),
        Condition::Exec(Exec { words, exit_code }) => {
            format!("exec({}, exit_code={exit_code})", quoted(&exec::joined(words)))
        }
        Condition::ResultMatches { tool, field, value } => {
            format!("mcp_result_matches({}, {}, {})", quoted(tool), quoted(field), quoted(value))
        }
    }
}

/// What the evidence of a condition is kept under: commands count only in their own stage.
pub(super) fn key(condition: &Condition, text: &Arc<str>, stage: &str) -> Arc<str> {
    match condition {
        Condition::CommandMatches(_) | Condition::CommandNotMatches(_) => {
            Arc::from(format!("{stage}: {text}"))
        }
        _ => text.clone(),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A function that a condition calls.
struct Function {
    name: &'static str,
    usage: &'static str,
    /// From its name to its closing bracket.
    at: Range<usize>,
}

enum Argument {
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

struct Cursor<'t> {
    text: &'t str,
    at: usize,
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

    fn function(&mut self) -> Result<Function, Mistake> {
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

    fn unknown_function(&mut self, word: &str, start: usize) -> Mistake {
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
    fn arguments(&mut self, function: &Function) -> Result<Vec<Argument>, Mistake> {
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

    fn argument(&mut self, function: &Function) -> Result<Argument, Mistake> {
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
    fn quoted(&mut self, start: usize) -> Result<Argument, Mistake> {
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
    fn escape(&mut self, from: usize, value: &mut String) -> Result<(), Mistake> {
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
    fn coded(&mut self, from: usize, digits: usize) -> Result<char, Mistake> {
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

    fn control(&self, from: usize, character: char) -> Mistake {
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
    fn end(&mut self) -> Result<(), Mistake> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        let message = "a condition ends with its closing bracket".to_owned();
        let remedy = "write each condition as an entry of its own; all of a list must hold".to_owned();
        Err(mistake("bad-condition", message, remedy, self.at..self.text.trim_end().len()))
    }
}

impl Function {
    fn condition(self, arguments: Vec<Argument>, stage: &Arc<str>) -> Result<Condition, Mistake> {
        let exit_code = self.exit_code(&arguments)?;
        let mut texts = Vec::new();
        for argument in arguments {
            if let Argument::Text { value, at, has_escapes } = argument {
                texts.push((value, at, has_escapes));
            }
        }
        Ok(match (self.name, texts.as_slice()) {
            ("approval", []) => Condition::Approval(stage.clone()),
            ("approval", [text]) => Condition::Approval(Arc::from(self.filled(text)?)),
            ("stage_complete", [text]) => Condition::StageComplete(Arc::from(self.filled(text)?)),
            ("file_read", [text]) => Condition::FileRead(self.filled(text)?.to_owned()),
            ("command_matches", [text]) => Condition::CommandMatches(self.pattern(text)?),
            ("command_not_matches", [text]) => Condition::CommandNotMatches(self.pattern(text)?),
            ("exec", [(command, at, _)]) => {
                let words = exec::words(command)
                    .map_err(|(message, remedy)| mistake("bad-command", message, remedy, at.clone()))?;
                Condition::Exec(Exec { words, exit_code })
            }
            ("mcp_result_matches", [tool, field, value]) => {
                for (text, at, has_escapes) in [tool, field, value] {
                    if *has_escapes || text.contains(['"', '\\']) {
                        let message = format!("`{}` takes no quotes and no backslashes", self.name);
                        let remedy = "compare with a text that has none".to_owned();
                        return Err(mistake("bad-condition", message, remedy, at.clone()));
                    }
                }
                let (tool, field) = (self.filled(tool)?.to_owned(), self.filled(field)?.to_owned());
                Condition::ResultMatches { tool, field, value: value.0.clone() }
            }
            (_, texts) => {
                let message = match texts.len() {
                    0 => format!("`{}` needs a text", self.name),
                    1 => format!("`{}` needs more than one text", self.name),
                    found => format!("`{}` does not take {found} texts", self.name),
                };
                let remedy = format!("write `{}`", self.usage);
                return Err(mistake("bad-condition", message, remedy, self.at));
            }
        })
    }

    /// How the program of `exec` must end. No other function has a named argument.
    fn exit_code(&self, arguments: &[Argument]) -> Result<i32, Mistake> {
        let mut found = None;
        for (index, argument) in arguments.iter().enumerate() {
            let Argument::Named { name, value, at } = argument else { continue };
            let usage = || format!("write `{}`", self.usage);
            if self.name != "exec" || name != "exit_code" {
                let message = format!("`{}` has no argument `{}`", self.name, brief(name));
                return Err(mistake("bad-condition", message, usage(), at.clone()));
            }
            if index == 0 || found.is_some() {
                let message = "`exit_code` stands once, behind the command".to_owned();
                return Err(mistake("bad-condition", message, usage(), at.clone()));
            }
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let code = value.parse().ok().filter(|code| is_number && (0..=EXIT_CODE_MAX).contains(code));
            let Some(code) = code else {
                let message =
                    format!("`exit_code` must be a number from 0 to {EXIT_CODE_MAX}, not `{}`", brief(value));
                return Err(mistake("out-of-range", message, usage(), at.clone()));
            };
            found = Some(code);
        }
        Ok(found.unwrap_or(0))
    }

    /// A text that is not empty.
    fn filled<'a>(&self, (text, at, _): &'a (String, Range<usize>, bool)) -> Result<&'a str, Mistake> {
        if text.trim().is_empty() {
            let message = format!("`{}` is asked about an empty text", self.name);
            return Err(mistake("bad-condition", message, format!("write `{}`", self.usage), at.clone()));
        }
        Ok(text)
    }

    fn pattern(&self, text: &(String, Range<usize>, bool)) -> Result<Pattern, Mistake> {
        let expression = self.filled(text)?;
        let (_, at, has_escapes) = text;
        Pattern::python(expression).map_err(|error| {
            // The place is exact where the expression stands just as it is read.
            let at = match error.at {
                Some(part) if !has_escapes => at.start + part.start..at.start + part.end,
                _ => at.clone(),
            };
            let remedy = "write a regular expression as Python has it".to_owned();
            mistake("bad-pattern", format!("`{}`: {}", self.name, error.message), remedy, at)
        })
    }
}

fn mistake(code: &'static str, message: String, remedy: String, at: Range<usize>) -> Mistake {
    Mistake { code, message, remedy, at }
}

fn known_functions() -> String {
    let names: Vec<String> = FUNCTIONS.iter().map(|(name, _)| format!("`{name}`")).collect();
    format!("write one of {}", names.join(", "))
}

/// Whether a character would move the cursor of a terminal or end a line.
pub(super) fn is_control(character: char) -> bool {
    character.is_control() || ['\u{2028}', '\u{2029}'].contains(&character)
}

/// As much of a text as fits into a message.
fn brief(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
