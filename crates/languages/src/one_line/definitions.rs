//! Words that other lines use: groups of tools, hours, sources, the zone, and files that are included.

use super::{
    calls::name,
    conditions::places,
    effects::joined_tokens,
    history::zone,
    lead::Mistake,
    parser::{Line, Parser, define_word},
    provenance,
    spoken::read,
    tokens::{Reader, tokens},
    words::Word,
};

pub(super) const TOOLS: &str = "tools <name> = <tools>";
pub(super) const HOURS: &str = "hours <name> = <days> <times>";
pub(super) const TIMEZONE: &str = "timezone <zone>";
pub(super) const INCLUDE: &str = "include <file>";

/// Reads the words that other lines use: groups, hours and the zone.
pub(super) fn define(parser: &mut Parser<'_>, words: &[Word<'_>], keywords: &[&str]) {
    let Some(first) = words.first().filter(|first| keywords.contains(&first.text)) else {
        return;
    };
    let span = super::words::span_of(words);
    let line = parser.source.slice(span).to_owned();
    let Ok(found) = tokens(&line, span.start) else { return };
    let mut reader = Reader::new(joined_tokens(words, found), span);
    let _ = reader.next();
    // What is wrong with them is reported when the line itself is read.
    let _ = match first.text {
        "tools" => group(parser, &mut reader),
        "hours" => hours_named(parser, &mut reader),
        "source" => provenance::define(parser, &mut reader),
        _ => zone(&mut reader).map(|zone| parser.zone = Some(zone)),
    };
}

fn group(parser: &mut Parser<'_>, reader: &mut Reader) -> Result<(), Mistake> {
    let name = name(reader)?;
    reader.expect("=", "write `tools network = curl, wget`")?;
    let (calls, _) = parser.calls(reader)?;
    reader.end(&["or"], "write the tools with commas between them")?;
    define_word(&mut parser.groups, name.text, calls);
    Ok(())
}

fn hours_named(parser: &mut Parser<'_>, reader: &mut Reader) -> Result<(), Mistake> {
    let name = name(reader)?;
    reader.expect("=", "write `hours office = Mon-Fri 09:00-18:00`")?;
    let hours = parser.read_hours(reader)?;
    reader
        .end(&["a time zone"], "write days, times and a zone, as in `Mon-Fri 09:00-18:00 Europe/Berlin`")?;
    define_word(&mut parser.hours, name.text, hours);
    Ok(())
}

pub(super) fn tools<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let span = reader.here();
        let word = reader.ahead(0).to_owned();
        let is_second = parser.groups.iter().filter(|(known, _)| *known == word).count() == 1
            && parser.defined.contains(&word);
        parser.defined.push(word.clone());
        if is_second {
            return Err(second(span, &word, "tools"));
        }
        group(parser, reader)
    });
}

pub(super) fn hours<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let (span, word) = (reader.here(), format!("hours {}", reader.ahead(0)));
        if parser.defined.contains(&word) {
            return Err(second(span, reader.ahead(0), "hours"));
        }
        parser.defined.push(word);
        hours_named(parser, reader)
    });
}

fn second(span: lockgate_policy::Span, word: &str, kind: &str) -> Mistake {
    Mistake {
        code: "second-definition",
        span,
        message: format!("`{word}` is defined twice"),
        label: "defined above already".into(),
        remedy: format!("keep one `{kind}` line for each name"),
    }
}

pub(super) fn source<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let (span, word) = (reader.here(), format!("source {}", reader.ahead(0)));
        if parser.defined.contains(&word) {
            return Err(second(span, reader.ahead(0), "source"));
        }
        parser.defined.push(word);
        provenance::define(parser, reader)
    });
}

pub(super) fn timezone<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |_, reader| {
        zone(reader)?;
        reader.end(&["the end of the line"], "write `timezone Europe/Berlin`")
    });
}

pub(super) fn include<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let span = reader.here();
        let file = places(reader, "file")?;
        reader.end(&["the end of the line"], "write one file a line, as in `include base.rules`")?;
        match file.as_slice() {
            [file] => parser.draft.when_then.includes.push((file.clone(), span)),
            _ => return Err(reader.mistake(&["one file"], "write one `include` line for each file")),
        }
        Ok(())
    });
}
