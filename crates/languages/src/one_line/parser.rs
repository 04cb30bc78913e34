//! A file of one-line rules while it is read, and what a sentence is to the parser.
//!
//! A [`Sentence`] is one row of the table in `sentences.rs`: how it starts, how it is written, and the function that
//! reads it into the draft. Nothing here knows a single one of them.

use jiff::tz::TimeZone;
use lockgate_policy::{Condition, Diagnostic, DraftRule, Mode, Source, Span, Statement};

use super::{
    lead::Mistake,
    origin::Origin,
    words::{Word, texts},
};
use crate::draft::{Draft, spoken::Names};

/// A file while it is read.
pub(super) struct Parser<'t> {
    pub(super) source: &'t Source,
    /// All sentences of the language.
    pub(super) sentences: &'static [Sentence],
    pub(super) draft: Draft,
    /// What the `mode` line says, and where.
    pub(super) mode: Option<(Mode, Span)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Groups of tools by name.
    pub(super) groups: Vec<(String, Names)>,
    /// The words that were defined so far.
    pub(super) defined: Vec<String>,
    /// Hours by name.
    pub(super) hours: Vec<(String, Condition)>,
    /// Where values may come from, by name.
    pub(super) origins: Vec<(String, Origin)>,
    /// The zone of hours that name none.
    pub(super) zone: Option<TimeZone>,
}

/// One kind of line.
pub(super) struct Sentence {
    pub(super) start: Start,
    /// How it is written: fixed words, and `<…>` for the author's own. It starts with the keyword.
    pub(super) shape: &'static str,
    pub(super) kind: SentenceKind,
    pub(super) read: for<'t> fn(&mut Parser<'t>, Line<'_, 't>),
}

/// How a sentence is recognised.
pub(super) enum Start {
    /// By the first word of its shape. One that ends with a colon may touch the word behind it.
    Keyword,
    /// By a word behind the first, where the first starts no other sentence.
    Has(&'static str),
    /// By all its words, with `|` between two spellings of one.
    Words(&'static [&'static str]),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SentenceKind {
    /// Decides about calls, and may stand behind `observe`.
    Rule,
    /// Says something else, and reads its words whatever they are.
    Other,
}

/// The words of one line, as its sentence reads them.
#[derive(Clone, Copy)]
pub(super) struct Line<'w, 't> {
    pub(super) words: &'w [Word<'t>],
    /// All of it, a prefix included.
    pub(super) span: Span,
    pub(super) mode: Mode,
}

impl Sentence {
    /// The word it starts with, if that alone decides.
    pub(super) fn keyword(&self) -> Option<&'static str> {
        match self.start {
            Start::Keyword => self.shape.split(' ').next(),
            Start::Words(_) | Start::Has(_) => None,
        }
    }

    /// Whether a line is one of these.
    pub(super) fn is_start_of(&self, words: &[Word<'_>]) -> bool {
        match (&self.start, self.keyword(), words) {
            (Start::Words(expected), ..) => {
                let is_one = |(word, spellings): (&str, &&str)| spellings.split('|').any(|one| one == word);
                words.len() == expected.len() && texts(words).zip(*expected).all(is_one)
            }
            (Start::Has(wanted), _, [first, rest @ ..]) => {
                first.text.contains('.') && rest.iter().any(|word| word.text == *wanted)
            }
            (Start::Keyword, Some(keyword), [first, ..]) => {
                first.text == keyword || keyword.ends_with(':') && first.text.starts_with(keyword)
            }
            _ => false,
        }
    }
}

/// A word of this file counts before one of the same name of an included file.
pub(super) fn define_word<T>(words: &mut Vec<(String, T)>, name: String, meaning: T) {
    words.retain(|(known, _)| *known != name);
    words.push((name, meaning));
}

impl<'t> Parser<'t> {
    pub(super) fn new(
        source: &'t Source,
        sentences: &'static [Sentence],
        draft: Draft,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        Self {
            source,
            sentences,
            draft,
            mode: None,
            diagnostics,
            groups: Vec::new(),
            defined: Vec::new(),
            hours: Vec::new(),
            origins: Vec::new(),
            zone: None,
        }
    }
}

impl Parser<'_> {
    /// Adds a rule to the draft.
    pub(super) fn rule(&mut self, line: Line<'_, '_>, statement: Statement) {
        self.draft.rules.push(DraftRule { statement, span: line.span, mode: line.mode, tail: None });
    }

    /// Reports a mistake: what is wrong, a word at the place itself, and what to write instead.
    pub(super) fn mistake(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.diagnostics
            .push(Diagnostic::error(code, self.source, span, message).label(label).remedy(remedy));
    }

    /// Reports a mistake of a claim or an example.
    pub(super) fn mistaken(&mut self, mistake: Mistake) {
        let Mistake { code, span, message, label, remedy } = mistake;
        self.mistake(code, span, message, label, remedy);
    }

    /// Reported once: the first of too many stands for the others.
    pub(super) fn too_many(&mut self, code: &'static str, what: &str, max: usize, span: Span) {
        if self.diagnostics.iter().all(|diagnostic| diagnostic.code != code) {
            let message = format!("a file has at most {max} {what}");
            self.mistake(code, span, message, "one more than that", "put some into another file");
        }
    }
}
