//! Sentences about where values come from: `source`, `must come from`, `require user to say`.

use lockgate_policy::{
    Decision, Subject,
    clause::RankKind,
    condition::{Condition, OriginTest},
    provenance::{ResultSource, SaidWord},
};

use super::{
    calls::name,
    lead::Mistake,
    origin::Origin,
    parser::{Line, Parser, define_word},
    tokens::{Reader, TokenKind},
};
use crate::draft::spoken::{Names, SpokenPart};

pub(super) const SOURCE: &str = "source <name> = <sources>";

pub(super) const LINKS: &str = "links in <tool>.<field> must come from <sources>";

const SOURCES: &str =
    "write `user`, a tool, `TOOL.FIELD`, a text in quotes, `session.FIELD`, or the name of a `source` line";

impl Parser<'_> {
    /// `user, get_contacts.email or "me@example.com"`
    fn origin(&self, reader: &mut Reader) -> Result<Origin, Mistake> {
        let mut origin = self.one_origin(reader)?;
        while is_listed(reader) {
            origin.join(self.one_origin(reader)?);
        }
        Ok(origin)
    }

    fn one_origin(&self, reader: &mut Reader) -> Result<Origin, Mistake> {
        if reader.take(&["user"]) {
            return Ok(Origin { from_user: true, ..Origin::default() });
        }
        if let Some(token) = reader.peek().filter(|token| token.kind == TokenKind::Quoted).cloned() {
            let _ = reader.next();
            return Ok(Origin { constants: vec![token.text], ..Origin::default() });
        }
        if !reader.peek().is_some_and(|token| token.kind == TokenKind::Word) {
            return Err(reader.mistake(&["where the value comes from"], SOURCES));
        }
        let token = name(reader)?;
        if let Some((_, named)) = self.origins.iter().find(|(known, _)| *known == token.text) {
            return Ok(named.clone());
        }
        Ok(match token.text.split_once('.') {
            Some(("session", field)) => Origin { attributes: vec![field.to_owned()], ..Origin::default() },
            Some((tool, field)) => {
                let results = vec![ResultSource { tool: tool.to_owned(), field: Some(field.to_owned()) }];
                Origin { results, ..Origin::default() }
            }
            None => {
                Origin { results: vec![ResultSource { tool: token.text, field: None }], ..Origin::default() }
            }
        })
    }
}

/// Whether a list goes on; `, else` does not belong to it.
fn is_listed(reader: &mut Reader) -> bool {
    if reader.take(&["or"]) || reader.take(&["and"]) {
        return true;
    }
    let is_listed = reader.is_comma() && reader.ahead(1) != "else";
    if is_listed {
        let _ = reader.take_comma();
        let _ = reader.take(&["or"]) || reader.take(&["and"]);
    }
    is_listed
}

/// Reads `source NAME = SOURCES`, behind its first word.
pub(super) fn define(parser: &mut Parser<'_>, reader: &mut Reader) -> Result<(), Mistake> {
    let name = name(reader)?;
    reader.expect("=", "write `source known = get_contacts.email`")?;
    let origin = parser.origin(reader)?;
    reader.end(&["or"], "write the sources with commas between them")?;
    define_word(&mut parser.origins, name.text, origin);
    Ok(())
}

/// Reads the rest of `[links in] VALUES must come from SOURCES TAIL`, and adds a rule for each value.
pub(super) fn come_from(
    parser: &mut Parser<'_>,
    line: Line<'_, '_>,
    reader: &mut Reader,
    (values, only_links): (Vec<(Names, Subject)>, bool),
) -> Result<(), Mistake> {
    let start = reader.position();
    for (calls, subject) in values {
        reader.rewind(start);
        let Origin { from_user, results, constants, attributes } = parser.origin(reader)?;
        let mut tail = parser.tail(reader, true, &calls)?;
        let Subject::Input(field) = subject else {
            return Err(Mistake {
                code: "missing-field",
                span: line.span,
                message: "only fields of the input have an origin".into(),
                label: "not a field of the input".into(),
                remedy: "write the tool, a dot and the field, as in `send_email.recipients`".into(),
            });
        };
        let key = format!("come from {} {}", calls.names.join(" "), field.text);
        let test = OriginTest { field, only_links, from_user, sources: results, constants, attributes };
        tail.parts.insert(0, SpokenPart::Holds(Condition::Untraced(Box::new(test))));
        let wants = if tail.asks { Decision::Ask } else { Decision::Block };
        parser.spoken(line, wants, calls, tail, (RankKind::Check, key));
    }
    Ok(())
}

/// Reads the rest of `require user to say WORDS before CALLS TAIL`.
pub(super) fn user_to_say(
    parser: &mut Parser<'_>,
    line: Line<'_, '_>,
    reader: &mut Reader,
) -> Result<(), Mistake> {
    reader.expect("say", "write `require user to say delete or remove before delete_file`")?;
    let mut words = Vec::new();
    loop {
        let Some(token) =
            reader.peek().filter(|it| it.kind != TokenKind::Comma && it.text != "before").cloned()
        else {
            return Err(reader
                .mistake(&["a word"], "write the words that the user may say, as in `delete or remove`"));
        };
        let _ = reader.next();
        words.push(SaidWord::new(&token.text));
        if !is_listed(reader) {
            break;
        }
    }
    reader.expect("before", "write `require user to say WORDS before TOOL`")?;
    let (calls, text) = parser.calls(reader)?;
    let mut tail = parser.tail(reader, true, &calls)?;
    tail.parts.insert(0, SpokenPart::Holds(Condition::Unsaid(words)));
    let wants = if tail.asks { Decision::Ask } else { Decision::Block };
    parser.spoken(line, wants, calls, tail, (RankKind::Check, format!("user says before {text}")));
    Ok(())
}
