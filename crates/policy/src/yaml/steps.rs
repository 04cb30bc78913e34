//! What a YAML file says, step by step, in the order of its text.
//!
//! [`steps`] asks the parser. That is most of the work of reading a policy, so what the parser told can be kept
//! ([`keep`]) and given to the next process with the text ([`Source::with_transcript`]), which then asks no parser. Only the
//! parser is left out: whatever looks at steps looks at these as well. Of files with tags, anchors or mistakes nothing is
//! kept but that.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};
use serde::{Deserialize, Serialize};

use super::DEPTH_MAX;
use crate::source::{Source, Span};

/// One thing that a file says, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Step<'s> {
    pub(crate) says: Says<'s>,
    pub(crate) span: Span,
    /// The parser's number for the anchor at it.
    pub(crate) anchor: Option<usize>,
    /// The tag at it, as written.
    pub(crate) tag: Option<(String, Span)>,
}

/// What a step says.
#[derive(Debug, PartialEq)]
pub(crate) enum Says<'s> {
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
pub(crate) struct Broken {
    pub(crate) at: usize,
    pub(crate) reason: String,
}

/// What a file says, from its start, to its end or to where it cannot be followed.
pub(crate) fn steps(source: &Source) -> Steps<'_> {
    match source.transcript() {
        Some([WHOLE, steps @ ..]) => Steps::Kept { text: source.text(), rest: steps },
        _ => Steps::Parsed(Box::new(parser(source.text()))),
    }
}

/// Begins a transcript that has all steps.
const WHOLE: u8 = 1;

/// The transcript of a text of which the parser tells more than plain values: it has to be asked each time.
const ASK: &[u8] = &[0];

/// What the parser tells of a text, as bytes to be kept.
pub(crate) fn keep(text: &str) -> Vec<u8> {
    let all = |kept: Vec<u8>, step: Result<Step<'_>, Broken>| {
        postcard::to_extend(&KeptStep::of(&step.ok()?, text)?, kept).ok()
    };
    Steps::Parsed(Box::new(parser(text))).try_fold(vec![WHOLE], all).unwrap_or_else(|| ASK.to_vec())
}

/// Whether bytes that were kept can be what the parser told of a text: each step is one, and lies in the text.
pub(crate) fn fits(text: &str, transcript: &[u8]) -> bool {
    match transcript {
        [WHOLE, steps @ ..] => Steps::Kept { text, rest: steps }.all(|step| step.is_ok()),
        transcript => transcript == ASK,
    }
}

/// Where steps come from.
pub(crate) enum Steps<'s> {
    Parsed(Box<Parser<'s, StrInput<'s>>>),
    Kept { text: &'s str, rest: &'s [u8] },
}

impl<'s> Iterator for Steps<'s> {
    type Item = Result<Step<'s>, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Parsed(parser) => loop {
                match parser.next()? {
                    Ok((event, at)) => {
                        if let Some(step) = parsed(event, &at) {
                            return Some(Ok(step));
                        }
                    }
                    Err(error) => {
                        let at = error.marker().byte_offset().unwrap_or_default();
                        return Some(Err(Broken { at, reason: error.info().to_owned() }));
                    }
                }
            },
            Self::Kept { rest: [], .. } => None,
            Self::Kept { text, rest } => {
                let taken = postcard::take_from_bytes::<KeptStep<'s>>(rest).ok();
                let step = taken.and_then(|(kept, after)| {
                    *rest = after;
                    kept.step(text)
                });
                Some(step.ok_or_else(|| {
                    *rest = &[];
                    Broken { at: 0, reason: "what was kept of this file is not of this file".to_owned() }
                }))
            }
        }
    }
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
    let says = match event {
        Event::DocumentStart(..) => Says::Document,
        Event::Scalar(text, style, ..) => {
            let quoted = style != ScalarStyle::Plain;
            // The parser writes `~` where nothing is written.
            let text = if whole.start == whole.end && !quoted { Cow::Borrowed("") } else { text };
            Says::Scalar { text, quoted }
        }
        Event::SequenceStart(..) => Says::List,
        Event::MappingStart(..) => Says::Map,
        Event::SequenceEnd | Event::MappingEnd => Says::End,
        Event::Alias(anchor) => Says::Alias(anchor),
        Event::UnresolvedAlias(name) => Says::UnknownAlias(name),
        _ => return None,
    };
    Some(Step { says, span: whole, anchor, tag })
}

fn span(span: &granit_parser::Span) -> Span {
    let start = span.start.byte_offset().unwrap_or_default();
    Span::new(start, span.end.byte_offset().unwrap_or_default().max(start))
}

/// A step at rest: where it begins, how long it is, and what it says.
#[derive(Serialize, Deserialize)]
struct KeptStep<'k>(u32, u32, #[serde(borrow)] KeptSays<'k>);

#[derive(Serialize, Deserialize)]
enum KeptSays<'k> {
    Document,
    /// The text it covers.
    Plain,
    /// The text it covers, without the quotes around.
    Quoted,
    /// A text that is written otherwise in the file.
    Other {
        quoted: bool,
        text: &'k str,
    },
    List,
    Map,
    End,
}

impl<'k> KeptStep<'k> {
    /// None where it has to be told each time.
    fn of(step: &'k Step<'_>, text: &str) -> Option<Self> {
        let Step { says, span, anchor: None, tag: None } = step else { return None };
        let says = match says {
            Says::Document => KeptSays::Document,
            Says::Scalar { text: said, quoted: false } if text.get(span.start..span.end)? == said => {
                KeptSays::Plain
            }
            Says::Scalar { text: said, quoted: true } if inside(text, *span) == Some(said) => {
                KeptSays::Quoted
            }
            Says::Scalar { text, quoted } => KeptSays::Other { quoted: *quoted, text },
            Says::List => KeptSays::List,
            Says::Map => KeptSays::Map,
            Says::End => KeptSays::End,
            Says::Alias(_) | Says::UnknownAlias(_) => return None,
        };
        let start = u32::try_from(span.start).ok()?;
        Some(Self(start, u32::try_from(span.end.checked_sub(span.start)?).ok()?, says))
    }

    fn step<'s>(self, text: &'s str) -> Option<Step<'s>>
    where
        'k: 's,
    {
        let Self(start, length, says) = self;
        let start = usize::try_from(start).ok()?;
        let span = Span::new(start, start.checked_add(usize::try_from(length).ok()?)?);
        let covered = text.get(span.start..span.end)?;
        let scalar = |text: &'s str, quoted| Says::Scalar { text: Cow::Borrowed(text), quoted };
        let says = match says {
            KeptSays::Document => Says::Document,
            KeptSays::Plain => scalar(covered, false),
            KeptSays::Quoted => scalar(inside(text, span)?, true),
            KeptSays::Other { quoted, text } => scalar(text, quoted),
            KeptSays::List => Says::List,
            KeptSays::Map => Says::Map,
            KeptSays::End => Says::End,
        };
        Some(Step { says, span, anchor: None, tag: None })
    }
}

/// What stands between the quotes of a text.
fn inside(text: &str, span: Span) -> Option<&str> {
    text.get(span.start.checked_add(1)?..span.end.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::{Dialect, comment_starts, parse, top_level_keys, top_level_word};

    fn source(text: &str) -> Source {
        Source::new("x.yaml", text)
    }

    /// All that is ever read from a file.
    fn read(source: &Source) -> String {
        let trees = [false, true].map(|anchors| parse(source, Dialect { anchors }));
        let steps: Vec<_> = steps(source).collect();
        let words = (top_level_word(source, "kind"), top_level_keys(source), comment_starts(source));
        format!("{steps:?} {trees:?} {words:?}")
    }

    #[test]
    fn what_was_kept_reads_as_what_is_told() {
        for text in [
            "a: 1",
            "kind: Net\nb: [x, 'y', \"z\"]\nc:\n  - d: null\n  -\n",
            "{\"a\": [true, \"x\\u0041\", \"é\"]}",
            "a: 'it''s'\nb: \"\"\nc: ''\nd: ~\n? e\n: f\n",
            "a: |\n  two\n  lines\nb: >-\n  folded\n  line\nc: plain\n  folded\n",
            "# why\na: b # because\n---\nc: d\n",
            "a: 1\na: 2\nb: {a: 1, a: 2}\n",
            "[]",
            "word",
            "",
        ] {
            let plain = source(text);
            let kept = plain.clone().with_transcript(keep(text));
            assert!(matches!(steps(&kept), Steps::Kept { .. }), "{text:?}");
            assert_eq!(read(&kept), read(&plain), "{text:?}");
        }
    }

    #[test]
    fn what_says_more_than_plain_values_is_not_kept() {
        for text in ["a: &x 1", "a: &x 1\nb: *x", "a: *x", "a: !t 1", "a: 'open", "a: [1", "a: b: c"] {
            assert_eq!(keep(text), ASK, "{text:?}");
            let kept = source(text).with_transcript(keep(text));
            assert!(kept.transcript().is_some() && matches!(steps(&kept), Steps::Parsed(_)), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_of_a_text_is_left_aside() {
        let text = "a: 'bé'\nc: d";
        let kept = keep(text);
        assert!(source(text).with_transcript(kept.clone()).transcript().is_some());
        let cut = kept.get(..kept.len() - 1).unwrap().to_vec();
        for (text, kept) in [
            (text, cut),
            (text, Vec::new()),
            (text, b"\x00\x00".to_vec()),
            (text, b"\x01\xff\xff\xff\xff\xff\xff".to_vec()),
            ("a: 'b'", kept.clone()),
            ("a: bcdéfgh", kept),
        ] {
            let source = source(text).with_transcript(kept);
            assert_eq!(source.transcript(), None, "{text:?}");
            assert_eq!(read(&source), read(&self::source(text)));
        }
    }

    proptest! {
        #[test]
        fn whatever_is_kept_reads_as_what_is_told(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "b: ", "- ", "\n", "\n  ", "\n    ", "'c'", "\"d\\n\"", "[", "]", "{", "}", ", ", "|\n  ",
                    ">-\n  ", "# e", " ", "? ", ": ", "é", "---\n", "...\n", "~", "\"", "'", "&x ", "*x", "!t ", "\r\n", "\t",
                ]),
                0..24,
            ),
        ) {
            let text = parts.concat();
            let plain = source(&text);
            let kept = plain.clone().with_transcript(keep(&text));
            assert!(kept.transcript().is_some());
            assert_eq!(read(&kept), read(&plain));
        }

        #[test]
        fn no_bytes_make_a_transcript_panic(text in "[a-c:' \né-]{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            read(&source(&text).with_transcript(bytes));
        }
    }
}
