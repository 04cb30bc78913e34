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
mod layout;
pub(crate) mod lead;
mod limits;
mod maps;
mod meant;
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

use lockgate_policy::{Diagnostic, Mode, Source, Span};

use self::{
    definitions::define,
    parser::{Line, Parser},
    sentences::{SENTENCES, sentence},
    words::{lines, span_of, words_of},
};
use crate::draft::Draft;

pub(crate) use self::{
    layout::laid_out,
    meant::{is_human, period_seconds},
    permission::{permission_remedy, permitted_tool},
    words::comment_start,
};

/// How many mistakes one file may have before the rest of it is left unread: a file of another language
/// would otherwise be answered by a report many times its size.
pub const MISTAKES_MAX: usize = 1_000;

/// How long a file of one-line statements may be, in bytes.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Reads a file of one-line statements and reports all its mistakes, in file order.
pub fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    let (draft, diagnostics) = (Draft::of(source), Vec::new());
    if source.text().len() > FILE_BYTES_MAX {
        let first_line = Span::new(0, source.text().find('\n').unwrap_or_default());
        let message = format!("the file is longer than {FILE_BYTES_MAX} bytes");
        let too_large = Diagnostic::error("file-too-large", source, first_line, message)
            .label("not read at all")
            .remedy("put some of its rules into another file");
        return (draft, vec![too_large]);
    }
    let mut parser = Parser {
        source,
        sentences: SENTENCES,
        draft,
        mode: None,
        diagnostics,
        groups: Vec::new(),
        defined: Vec::new(),
        hours: Vec::new(),
        origins: Vec::new(),
        zone: None,
    };
    // Words may be defined below the lines that use them.
    for words in [&["timezone"][..], &["tools", "hours", "source"]] {
        for (line, start) in lines(source.text()) {
            define(&mut parser, &words_of(line, start), words);
        }
    }
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
        sentence(&mut parser, Line { words: &words, span, mode: Mode::Enforce });
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

#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod tests;
