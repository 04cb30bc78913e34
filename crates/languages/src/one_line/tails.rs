//! What stands behind a sentence, in one order: tests, history, hours, `for each`, `, else ask`, `because "…"`.

use lockgate_policy::{
    Template,
    condition::{Condition, Subject},
};

use super::{
    conditions::{conditions, subject_of},
    history::Keys,
    lead::Mistake,
    parser::Parser,
    tokens::{Reader, Token, TokenKind},
};
use crate::draft::spoken::SpokenPart;

/// What stands behind a sentence.
#[derive(Default)]
pub(super) struct Tail {
    pub(super) parts: Vec<SpokenPart>,
    /// Whether `parts` ask about earlier calls.
    pub(super) has_history: bool,
    pub(super) keys: Keys,
    pub(super) asks: bool,
    pub(super) because: Option<Template>,
}

impl Tail {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.keys.is_empty() && !self.asks && self.because.is_none()
    }

    /// Its conditions on the call, where it has nothing else that must hold.
    pub(super) fn conditions(&self) -> Option<Vec<Condition>> {
        let of = |part: &SpokenPart| match part {
            SpokenPart::Holds(condition) => Some(condition.clone()),
            _ => None,
        };
        self.parts.iter().map(of).collect()
    }
}

const WORDS: [&str; 8] =
    ["when", "unless", "after", "during", "outside", "for each", ", else ask", "because"];
const REMEDY: &str = "tails come in this order: `when` or `unless`, `after`, `during` or `outside`, `for each`, `, else \
                      ask`, `because \"…\"`";

impl Parser<'_> {
    /// Reads the tail of a sentence up to the end of the line.
    pub(super) fn tail(&self, reader: &mut Reader, closes: bool) -> Result<Tail, Mistake> {
        let mut tail = Tail { parts: conditions(reader, closes)?, ..Tail::default() };
        let history = self.history(reader, closes)?;
        tail.has_history = !history.is_empty();
        tail.parts.extend(history);
        tail.parts.extend(self.schedule(reader)?);
        if reader.take(&["for", "each"]) {
            tail.keys = self.keys(reader)?;
        }
        if reader.is_comma() && reader.ahead(1) == "else" && reader.take_comma() || reader.is("else") {
            let _ = reader.take(&["else"]);
            if reader.take(&["ask"]) {
                tail.asks = true;
            } else {
                reader.expect("block", "write `, else ask` or `, else block`")?;
            }
        }
        if reader.take(&["because"]) {
            tail.because = Some(because(reader)?);
        }
        reader.end(&WORDS, REMEDY)?;
        // `block approve after submit for each request_id`: the earlier call has the same values.
        for part in &mut tail.parts {
            if let SpokenPart::Past(past) | SpokenPart::NotPast(past) = part
                && past.keys.is_empty()
            {
                past.keys.clone_from(&tail.keys);
            }
        }
        Ok(tail)
    }
}

/// The text for the agent; `{path}` stands for a field.
fn because(reader: &mut Reader) -> Result<Template, Mistake> {
    let text = match reader.peek() {
        Some(token) if token.kind == TokenKind::Quoted && !token.text.is_empty() => token.text.clone(),
        _ => return Err(reader.mistake(&["a text"], "write the reason in quotes: `because \"…\"`")),
    };
    let span = reader.here();
    let _ = reader.next();
    let read = |written: &str| -> Result<Subject, Option<String>> {
        let token = Token { text: written.to_owned(), kind: TokenKind::Word, span };
        subject_of(&token).map_err(|mistake| Some(mistake.remedy))
    };
    Ok(Template::parse(&text, read).0)
}
