//! Conditions of workflows, which are written as `file_read("notes.md")`.
//!
//! [`parse`] reads one and tells the first thing that is wrong with it; [`spelled`] writes it in its one spelling. Texts
//! stand in double quotes and have the escapes of Python. Whether a stage exists is not asked here. Missing on
//! purpose: `and`, `or` and `not`; a list of conditions holds when all of them do.

mod cursor;

use std::{ops::Range, sync::Arc};

use cursor::{Argument, Cursor, Function, brief, mistake};
use lockgate_pattern::Pattern;
use lockgate_policy::workflow::{Condition, Exec};

use super::exec;

pub(super) use cursor::{ConditionMistake, is_control};

/// How a program may end.
pub(super) const EXIT_CODE_MAX: i32 = 255;

/// Reads a condition of this stage.
pub(super) fn parse(text: &str, stage: &Arc<str>) -> Result<Condition, ConditionMistake> {
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

impl Function {
    fn condition(self, arguments: Vec<Argument>, stage: &Arc<str>) -> Result<Condition, ConditionMistake> {
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
    fn exit_code(&self, arguments: &[Argument]) -> Result<i32, ConditionMistake> {
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
    fn filled<'a>(
        &self,
        (text, at, _): &'a (String, Range<usize>, bool),
    ) -> Result<&'a str, ConditionMistake> {
        if text.trim().is_empty() {
            let message = format!("`{}` is asked about an empty text", self.name);
            return Err(mistake("bad-condition", message, format!("write `{}`", self.usage), at.clone()));
        }
        Ok(text)
    }

    fn pattern(&self, text: &(String, Range<usize>, bool)) -> Result<Pattern, ConditionMistake> {
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
