//! Claims and examples in YAML: two keys at the top of a file, each with a list of texts.
//!
//! A text is what would stand behind `claim` or `example:` on a line of rules, and is read by the same parser. Only
//! comments are missing on purpose: YAML has its own, so a `#` inside of a text is part of a word.

use lockgate_policy::{CLAIMS_MAX, Claim, EXAMPLES_MAX, Example, Source, Span};

use crate::{
    draft::Draft,
    one_line::{
        claims::read_claim,
        examples::{read_example, said},
        lead::{Lead, Mistake},
        words::plain_words,
    },
    yaml::{Fields, Node, Reader, Value},
};

/// Reads what a file claims and the examples it gives.
pub(crate) fn read_listed(fields: &Fields<'_>, reader: &mut Reader<'_>, draft: &mut Draft) {
    let source = reader.source;
    for (text, place) in texts(fields, reader, "claims", CLAIMS_MAX) {
        match read_claim(&plain_words(&text), Span::new(0, text.len()), Lead::Key) {
            Ok((property, each)) => {
                draft.claims.push(Claim { property, each, source: source.clone(), span: place.whole() });
            }
            Err(mistake) => report(reader, mistake, place),
        }
    }
    for (text, place) in texts(fields, reader, "examples", EXAMPLES_MAX) {
        match read_example(&said(&text, 0, false), Span::new(0, text.len()), Lead::Key) {
            Ok((steps, verdict)) => {
                let (source, span) = (source.clone(), place.whole());
                draft.examples.push(Example { steps, verdict, source, span });
            }
            Err(mistakes) => mistakes.into_iter().for_each(|mistake| report(reader, mistake, place)),
        }
    }
}

/// The texts of a list, each with its place.
fn texts(fields: &Fields<'_>, reader: &mut Reader<'_>, key: &str, max: usize) -> Vec<(String, TextPlace)> {
    let Some(node) = fields.get(key) else { return Vec::new() };
    let items = reader.list(node, &format!("`{key}`")).unwrap_or_default();
    if let Some(past) = items.get(max) {
        let message = format!("`{key}` holds more than {max} entries");
        reader.error("out-of-range", past.span, message, "put some into another file");
    }
    let mut texts = Vec::new();
    for item in items.iter().take(max) {
        if let Some(text) = reader.text(item, &format!("an entry of `{key}`")) {
            let place = TextPlace::of(item, &text, reader.source);
            texts.push((text, place));
        }
    }
    texts
}

fn report(reader: &mut Reader<'_>, mistake: Mistake, place: TextPlace) {
    let Mistake { code, span, message, label: _, remedy } = mistake;
    reader.error(code, place.of_part(span), message, remedy);
}

/// Where a text of a YAML file stands.
#[derive(Clone, Copy)]
enum TextPlace {
    /// Letter by letter from here on.
    Exact(Span),
    /// Written otherwise, with escapes or over several lines: all of it is pointed at.
    Whole(Span),
}

impl TextPlace {
    fn of(node: &Node, text: &str, source: &Source) -> Self {
        let written = source.slice(node.span);
        let is_quoted = matches!(node.value, Value::Scalar { quoted: true, .. });
        let inner = ['"', '\''].into_iter().find_map(|quote| {
            let inner = written.strip_prefix(quote)?.strip_suffix(quote)?;
            (is_quoted && inner == text).then_some(Span::new(node.span.start + 1, node.span.end - 1))
        });
        match inner.or((!is_quoted && written == text).then_some(node.span)) {
            Some(span) => Self::Exact(span),
            None => Self::Whole(node.span),
        }
    }

    /// All of it, in the file.
    fn whole(self) -> Span {
        match self {
            Self::Exact(span) | Self::Whole(span) => span,
        }
    }

    /// The place in the file of a part, which is counted from the start of the text.
    fn of_part(self, part: Span) -> Span {
        match self {
            Self::Exact(span) => Span::new(span.start + part.start, span.start + part.end),
            Self::Whole(span) => span,
        }
    }
}
