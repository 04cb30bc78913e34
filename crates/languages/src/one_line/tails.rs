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
use crate::draft::spoken::{Names, SpokenPart};

/// What stands behind a sentence.
#[derive(Default)]
pub(super) struct Tail {
    pub(super) parts: Vec<SpokenPart>,
    /// Whether `parts` ask about earlier calls.
    pub(super) has_history: bool,
    pub(super) keys: Keys,
    pub(super) asks: bool,
    pub(super) because: Option<Template>,
    /// Whether a human's yes forgets what `parts` ask about.
    pub(super) until_human: bool,
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
    /// Reads the tail of a sentence up to the end of the line. `now` are the calls that the sentence is about.
    pub(super) fn tail(&self, reader: &mut Reader, closes: bool, now: &Names) -> Result<Tail, Mistake> {
        let span = reader.here();
        let tail = self.tail_until(reader, closes, now)?;
        if tail.until_human {
            return Err(Mistake {
                code: "expected-word",
                span,
                message: "`until human-approval` belongs to `block TOOL after TOOL`".into(),
                label: "has no place here".into(),
                remedy: "write `, else ask` at the end instead, so that a human opens each call".into(),
            });
        }
        Ok(tail)
    }

    /// The same, where `until human-approval` may stand.
    pub(super) fn tail_until(&self, reader: &mut Reader, closes: bool, now: &Names) -> Result<Tail, Mistake> {
        let mut tail = Tail { parts: conditions(reader, closes)?, ..Tail::default() };
        let history = self.history(reader, closes)?;
        tail.has_history = !history.is_empty();
        tail.parts.extend(history);
        tail.until_human = tail.has_history && reader.take(&["until", "human-approval"]);
        tail.parts.extend(self.schedule(reader)?);
        if reader.take(&["for", "each"]) {
            let is_now =
                |calls: &Names| calls.is_every || calls.names.iter().any(|it| now.names.contains(it));
            let is_earlier = |calls: &Names| !now.is_every && !is_now(calls);
            tail.keys = self.keys(reader, &is_earlier)?;
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
