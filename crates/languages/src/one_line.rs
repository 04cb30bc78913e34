//! The one-line language: one statement a line, plain words, `#` for comments.
//!
//! ```text
//! map bash.command rm as delete          # calls of `bash` that say `rm` are known as `delete`
//! map bash running git push as push      # commands of its scripts that run it, not those that mention it
//! map any shell running rm as delete     # the same for the shell tools of all agents that are known
//! script python.code                     # this field holds a script, too
//! require backup before delete           # each delete spends one successful backup
//! require human-approval before deploy
//! limit send to 3 per session            # or `per read`: each read gives one back
//! block shutdown
//! block any upload except to api.example.com   # whatever tool or command sends something
//! send_email is an upload, message       # what a tool does
//! observe block email                    # only record what the rule would have done
//! mode observe                           # the same for every rule of this file
//! unreadable scripts: block              # or `ask`, `allow`: what happens to scripts that cannot be read
//! claim never delete before backup       # proved over all sessions, or refuted with the shortest one
//! example: backup ok, delete -> allow    # one session, played when the policy is verified
//! ```
//!
//! [`parse`] never fails and never stops at a mistake: each line is read on its own, and every mistake
//! comes with the text it is about and a remedy. Names are any text without white space, keywords
//! included; there are no quotes, wildcards or line continuations. What is legal but odd is reported by
//! [`lint`](crate::lint()), not here.

mod calls;
pub(crate) mod claims;
mod conditions;
mod definitions;
mod effects;
pub(crate) mod examples;
mod history;
mod kinds;
mod layout;
pub(crate) mod lead;
mod limits;
mod maps;
mod meant;
mod mend;
mod origin;
mod parser;
mod pattern;
mod permission;
mod provenance;
mod rules;
mod sentences;
mod settings;
mod shape;
mod spoken;
mod tails;
mod tokens;
pub(crate) mod words;

use lockgate_policy::{Diagnostic, Mode, Severity, Source, Span};

use self::{
    definitions::define,
    parser::{Line, Parser},
    sentences::{SENTENCES, sentence},
    words::{lines, span_of, words_of},
};
use crate::{draft::Draft, includes::included_name};

pub use self::examples::read_steps;
pub(crate) use self::{
    effects::ends_phrase as ends_command,
    layout::laid_out,
    meant::{is_human, period_seconds},
    permission::{permission_remedy, permitted_tool},
    words::comment_start,
};

/// How many mistakes one file may have before the rest of it is left unread: a file of another language
/// would otherwise be answered by a report many times its size.
pub const MISTAKES_MAX: usize = 1_000;

/// Of how many lines with mistakes the closest that can be meant is looked for.
const MENDED_MAX: usize = 50;

/// How long a file of one-line statements may be, in bytes.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// The names of the files that a file includes.
pub(crate) fn includes(source: &Source) -> Vec<String> {
    let file = |(line, start): (&str, usize)| {
        let words = words_of(line, start);
        let [include, file] = words.as_slice() else { return None };
        (include.text == "include")
            .then(|| included_name(source.name(), file.text.trim_matches('"')).ok())
            .flatten()
    };
    lines(source.text()).filter_map(file).collect()
}

/// Reads a file of one-line statements and reports all its mistakes, in file order.
pub fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    parse_beside(source, &[])
}

/// The same for a file that knows the words of others, which it includes.
pub(crate) fn parse_beside(source: &Source, included: &[&Source]) -> (Draft, Vec<Diagnostic>) {
    let (draft, diagnostics) = (Draft::of(source), Vec::new());
    if source.text().len() > FILE_BYTES_MAX {
        let first_line = Span::new(0, source.text().find('\n').unwrap_or_default());
        let message = format!("the file is longer than {FILE_BYTES_MAX} bytes");
        let too_large = Diagnostic::error("file-too-large", source, first_line, message)
            .label("not read at all")
            .remedy("put some of its rules into another file");
        return (draft, vec![too_large]);
    }
    let mut parser = Parser::new(source, SENTENCES, draft, diagnostics);
    // What is included first was included by a file that may define it anew.
    for file in included.iter().rev() {
        let mut other = Parser::new(file, SENTENCES, Draft::of(file), Vec::new());
        define_all(&mut other);
        parser.groups.extend(other.groups);
        parser.hours.extend(other.hours);
        parser.origins.extend(other.origins);
    }
    define_all(&mut parser);
    for (line, start) in lines(source.text()) {
        let words = effects::joined(source.text(), words_of(line, start));
        if words.is_empty() {
            continue;
        }
        let span = span_of(&words);
        if parser.diagnostics.len() >= MISTAKES_MAX {
            let message = format!("more than {MISTAKES_MAX} mistakes");
            let remedy = "mend the mistakes above first, or check that this is a file of one-line rules";
            parser.mistake("too-many-mistakes", span, message, "not read from here on", remedy);
            break;
        }
        let told = parser.diagnostics.len();
        sentence(&mut parser, Line { words: &words, span, mode: Mode::Enforce });
        if told < MENDED_MAX {
            propose(&mut parser, told, line, start);
        }
    }
    let Parser { mut draft, mode, mut diagnostics, .. } = parser;
    if let Some((Mode::Observe, _)) = mode {
        draft.rules.iter_mut().for_each(|rule| rule.mode = Mode::Observe);
        draft.unreadable.iter_mut().for_each(|line| line.mode = Mode::Observe);
        draft.sentences.rules.iter_mut().for_each(|rule| rule.mode = Mode::Observe);
        draft.when_then.mode = Mode::Observe;
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    (draft, diagnostics)
}

/// Where a line cannot be meant and no remedy says what could be, proposes the closest line that can.
fn propose(parser: &mut Parser<'_>, told: usize, line: &str, start: usize) {
    const MENDED: [&str; 7] = [
        "bad-count",
        "expected-word",
        "token-count",
        "unknown-keyword",
        "unknown-claim",
        "bad-example",
        "unknown-verdict",
    ];
    let Some(first) = parser.diagnostics.get(told) else { return };
    if !MENDED.contains(&first.code) || first.severity < Severity::Error {
        return;
    }
    let text = line.get(..comment_start(line).unwrap_or(line.len())).unwrap_or(line);
    let (observe, text) = match text.trim_start().strip_prefix("observe ") {
        Some(rest) => ("observe ", rest),
        None => ("", text),
    };
    let Some(meant) = mend::mended(text, &|line| can_read(parser, line)) else { return };
    let lines: Vec<String> = meant.lines().map(|line| format!("`{observe}{line}`")).collect();
    let at = start..start + line.len();
    let of_line = |it: &&mut Diagnostic| at.contains(&it.span.start) || it.span.start == at.end;
    // What is said already is said well.
    let is_said = |remedy: &str| lines.iter().all(|line| remedy.contains(line.as_str()));
    if parser.diagnostics.iter().skip(told).filter_map(|it| it.remedy.as_deref()).any(is_said) {
        return;
    }
    if let Some(first) = parser.diagnostics.iter_mut().skip(told).find(of_line) {
        first.remedy = Some(format!("write {}", lines.join(" and ")));
    }
}

/// Whether a line beside the others of a file has no mistake.
fn can_read(parser: &Parser<'_>, line: &str) -> bool {
    let source = Source::new("line", line);
    let mut other = Parser::new(&source, SENTENCES, Draft::of(&source), Vec::new());
    other.groups.clone_from(&parser.groups);
    other.hours.clone_from(&parser.hours);
    other.origins.clone_from(&parser.origins);
    other.zone.clone_from(&parser.zone);
    let words = effects::joined(source.text(), words_of(source.text(), 0));
    sentence(&mut other, Line { words: &words, span: span_of(&words), mode: Mode::Enforce });
    !words.is_empty() && other.diagnostics.is_empty()
}

/// Reads the words that a file defines, which may stand below the lines that use them.
fn define_all(parser: &mut Parser<'_>) {
    let text = parser.source.text();
    for words in [&["timezone"][..], &["tools", "hours", "source"]] {
        for (line, start) in lines(text) {
            define(parser, &effects::joined(text, words_of(line, start)), words);
        }
    }
}

#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod newcomers;
#[cfg(test)]
mod tests;
