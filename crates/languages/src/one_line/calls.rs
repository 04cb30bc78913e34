//! The calls a sentence is about: `a, b or c`, a group, `any call`, `any shell`, phrases.
//!
//! [`Parser::calls`] is the only place where the words of a call are read. A word of the language that is meant as a
//! name stands in quotes.

use lockgate_call::{EffectKind, shell_tools};
use lockgate_policy::{RunningPhrase, closest, is_phrase};

use super::{
    lead::Mistake,
    parser::Parser,
    tokens::{Reader, Token, TokenKind},
};
use crate::draft::spoken::Names;

/// Words behind the calls of a sentence.
pub(super) const AFTER_CALLS: [&str; 24] = [
    "when", "unless", "after", "not", "during", "outside", "inside", "within", "for", "because", "before",
    "to", "per", "until", "with", "else", "over", "asked", "called", "answered", "ok", "failed", "since",
    "running",
];

impl Parser<'_> {
    /// Reads a list of calls; groups are taken apart.
    pub(super) fn calls(&self, reader: &mut Reader) -> Result<(Names, String), Mistake> {
        let mut calls = Names::default();
        let mut text: Vec<String> = Vec::new();
        loop {
            text.push(self.call(reader, &mut calls)?);
            let is_joined = reader.is("and") && !["not", "after"].contains(&reader.ahead(1));
            let is_more = reader.take(&["or"]) || (is_joined && reader.take(&["and"])) || {
                let is_listed = reader.is_comma() && reader.ahead(1) != "else" && reader.ahead(1) != "which";
                is_listed && reader.take_comma() && {
                    let _ = reader.take(&["or"]) || reader.take(&["and"]);
                    true
                }
            };
            if !is_more {
                break;
            }
        }
        let text = match text.split_last() {
            Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
            _ => text.concat(),
        };
        Ok((calls, text))
    }

    /// Reads one call. Effects and places belong here.
    fn call(&self, reader: &mut Reader, calls: &mut Names) -> Result<String, Mistake> {
        if reader.take(&["any", "call"]) {
            calls.is_every = true;
            return Ok("any call".to_owned());
        }
        if reader.take(&["any", "shell"]) {
            calls.names.extend(shell_tools().into_iter().map(str::to_owned));
            return Ok("any shell".to_owned());
        }
        if reader.is("any") && !reader.ahead(1).is_empty() && !AFTER_CALLS.contains(&reader.ahead(1)) {
            return Err(unknown_effect(reader));
        }
        let name = name(reader)?;
        if reader.is(RunningPhrase::WORD) {
            return Err(Mistake {
                code: "expected-word",
                span: reader.here(),
                message: "expected a program behind `running`".into(),
                label: "running what?".into(),
                remedy: format!("write the program, as in `{} running git push`", name.text),
            });
        }
        if let Some((tool, command)) = name.text.split_once(" running ")
            && let Some(group) = self.group(tool)
        {
            calls.names.extend(group.names.iter().map(|tool| format!("{tool} running {command}")));
            return Ok(name.text);
        }
        match self.groups.iter().find(|(group, _)| *group == name.text) {
            Some((_, members)) => {
                calls.names.extend(members.names.iter().cloned());
                calls.is_every |= members.is_every;
            }
            None => calls.names.push(name.text.clone()),
        }
        calls.names.dedup();
        Ok(name.text)
    }
}

/// `any WORD`, and the word is not one for what calls do.
fn unknown_effect(reader: &Reader) -> Mistake {
    let (span, word) = (reader.here(), reader.ahead(1));
    let words = EffectKind::ALL.map(EffectKind::word);
    let start = word.get(..4).unwrap_or(word);
    let meant = closest(word, words).or_else(|| words.into_iter().find(|known| known.starts_with(start)));
    let remedy = match meant {
        Some(meant) => format!("write `any {meant}`"),
        None => format!("write `any call`, `any shell` or `any` with one of {}", words.join(", ")),
    };
    Mistake {
        code: "unknown-effect",
        span,
        message: format!("`{word}` is not an effect"),
        label: "any what?".to_owned(),
        remedy,
    }
}

/// Reads a name: any word that is not one of the language, or a text in quotes.
pub(super) fn name(reader: &mut Reader) -> Result<Token, Mistake> {
    let span = reader.here();
    let bad = |label: &str, message: String, remedy: String| Mistake {
        code: "expected-word",
        span,
        message,
        label: label.to_owned(),
        remedy,
    };
    match reader.peek() {
        Some(token) if token.kind == TokenKind::Quoted && !token.text.is_empty() => {}
        Some(token) if is_phrase(&token.text) => {}
        Some(token) if token.kind == TokenKind::Word && AFTER_CALLS.contains(&token.text.as_str()) => {
            let message = format!("expected the name of a tool, got '{}'", token.text);
            let remedy = format!("write a name before it, or `\"{}\"` if a tool is called so", token.text);
            return Err(bad("a word of the language", message, remedy));
        }
        Some(token) if token.kind == TokenKind::Word && token.text.contains('*') => {
            let message = format!("`{}` is not the name of a tool", token.text);
            let remedy = "write `any call` for all tools, or name each: `block a, b or c`".to_owned();
            return Err(bad("there are no wildcards in names", message, remedy));
        }
        Some(token) if token.kind == TokenKind::Word && token.text.contains('(') => {
            let (tool, field) = token.text.split_once('(').unwrap_or_default();
            let field = field.trim_end_matches(')');
            let message = format!("`{}` is not the name of a tool", token.text);
            let remedy = format!("write `{tool}`, and `for each {field}` at the end of the line");
            return Err(bad("a name has no brackets here", message, remedy));
        }
        Some(token) if token.kind == TokenKind::Word && is_run_together(&token.text) => {
            let message = format!("`{}` is read as one name", token.text);
            let remedy = format!("write `{}`", token.text.replace(',', ", "));
            return Err(bad("a comma needs a space behind it", message, remedy));
        }
        Some(token) if token.kind == TokenKind::Word => {}
        _ => {
            let message = "expected the name of a tool".to_owned();
            return Err(bad("a name belongs here", message, "name a tool, as in `block deploy`".into()));
        }
    }
    // Something stands here, as was just seen.
    reader
        .next()
        .ok_or_else(|| bad("a name belongs here", "expected the name of a tool".into(), String::new()))
}

fn is_run_together(text: &str) -> bool {
    text.split(',').filter(|part| !part.is_empty()).count() > 1
}
