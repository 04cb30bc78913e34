//! What a YAML file says, step by step, in the order of its text.
//!
//! [`steps`] asks the parser.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};
use lockgate_policy::{Source, Span};

/// How deep lists and mappings may be nested.
pub(crate) const DEPTH_MAX: usize = 64;

/// One thing that a file says, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Step<'s> {
    pub(crate) kind: StepKind<'s>,
    pub(crate) span: Span,
    /// The parser's number for the anchor at it.
    pub(crate) anchor: Option<usize>,
    /// The tag at it, as written.
    pub(crate) tag: Option<(String, Span)>,
}

/// What a step is.
#[derive(Debug, PartialEq)]
pub(crate) enum StepKind<'s> {
    /// A document begins.
    Document,
    /// A word, a number or a text; empty where nothing is written.
    Scalar { text: Cow<'s, str>, quoted: bool },
    /// A list begins.
    List,
    /// A mapping begins.
    Map,
    /// What began last, and has not ended, ends.
    End,
    /// The same as at this anchor.
    Alias(usize),
    /// The same as at an anchor that there is not.
    UnknownAlias(Cow<'s, str>),
}

/// The text cannot be followed from here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Break {
    pub(crate) at: usize,
    pub(crate) reason: String,
}

/// What a file says, from its start, to its end or to where it cannot be followed.
pub(crate) fn steps(source: &Source) -> impl Iterator<Item = Result<Step<'_>, Break>> {
    let mut parser = parser(source.text());
    std::iter::from_fn(move || {
        loop {
            match parser.next()? {
                Ok((event, at)) => {
                    if let Some(step) = parsed(event, &at) {
                        return Some(Ok(step));
                    }
                }
                Err(error) => {
                    let at = error.marker().byte_offset().unwrap_or_default();
                    return Some(Err(Break { at, reason: error.info().to_owned() }));
                }
            }
        }
    })
}

fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        // One more than ours, so that our own message comes first.
        flow_nesting_limit: DEPTH_MAX + 1,
        block_nesting_limit: DEPTH_MAX + 1,
    };
    Parser::new_from_str_with_options(text, options)
}

/// What an event of the parser says; none where it says nothing to us.
fn parsed<'s>(event: Event<'s>, at: &granit_parser::Span) -> Option<Step<'s>> {
    let whole = span(at);
    let anchor = event.anchor_id();
    let tag = event.tag().map(|tag| (tag.original(), at.tag_span().map_or(whole, |tag| span(&tag))));
    let kind = match event {
        Event::DocumentStart(..) => StepKind::Document,
        Event::Scalar(text, style, ..) => {
            let quoted = style != ScalarStyle::Plain;
            // The parser writes `~` where nothing is written.
            let text = if whole.start == whole.end && !quoted { Cow::Borrowed("") } else { text };
            StepKind::Scalar { text, quoted }
        }
        Event::SequenceStart(..) => StepKind::List,
        Event::MappingStart(..) => StepKind::Map,
        Event::SequenceEnd | Event::MappingEnd => StepKind::End,
        Event::Alias(anchor) => StepKind::Alias(anchor),
        Event::UnresolvedAlias(name) => StepKind::UnknownAlias(name),
        _ => return None,
    };
    Some(Step { kind, span: whole, anchor, tag })
}

fn span(span: &granit_parser::Span) -> Span {
    let start = span.start.byte_offset().unwrap_or_default();
    Span::new(start, span.end.byte_offset().unwrap_or_default().max(start))
}
