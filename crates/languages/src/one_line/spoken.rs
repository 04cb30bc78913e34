//! Sentences about calls and values: each is read here into rules of the draft. Limits are read in `limits.rs`, words that other
//! lines use in `definitions.rs`.
//!
//! The old shapes of `require`, `limit` and `block` are read in `rules.rs` and mean what they always meant; only a line
//! that has none of these shapes comes here.

use lockgate_policy::{
    Boundaries, Decision, DraftRule, Mode, Statement, Tail as NetTail, ToolName, Tools,
    clause::{PerValue, PerValueForm, RankKind},
    closest,
    condition::{Condition, Operator, Subject, Test},
    is_phrase,
    past::{Measure, Outcome},
};

use super::{
    conditions::{broken, outside, places},
    effects::joined_tokens,
    history::{Keys, within},
    kinds::kinds,
    lead::Mistake,
    parser::{Line, Parser},
    provenance,
    tails::Tail,
    tokens::{Reader, tokens},
    words::Word,
};
use crate::draft::{
    spoken::{Clearing, Names, Spoken, SpokenPart, SpokenPast},
    when_then::DraftOutput,
};

pub(super) const ALLOW: &str = "allow <tool>";
pub(super) const ASK: &str = "ask about <tool>";
pub(super) const OTHERWISE: &str = "otherwise <block|ask>";
pub(super) const KEEP: &str = "keep <tool> inside <folder>";
pub(super) const MASK: &str = "mask sensitive data in results of <tool>";
pub(super) const WITHHOLD: &str = "withhold results of <tool>";

/// Words that only a sentence with a tail or a list has.
const GROWN: [&str; 20] = [
    "when",
    "unless",
    "after",
    "during",
    "outside",
    "inside",
    "within",
    "for",
    "because",
    "else",
    "any",
    "sum",
    "different",
    "since",
    "over",
    "or",
    "and",
    "running",
    "say",
    "except",
];

/// Whether a line of an old keyword that has none of its old shapes is one of the longer sentences.
pub(super) fn is_grown(words: &[Word<'_>]) -> bool {
    let is_word = |word: &Word<'_>| GROWN.contains(&word.text);
    let is_listed = words.iter().rev().skip(1).any(|word| word.text.ends_with(','));
    let is_timed = words.windows(2).any(|pair| {
        let [per, count] = pair else { return false };
        per.text == "per" && count.text.starts_with(|c: char| c.is_ascii_digit()) && words.len() > 6
    });
    let is_slip =
        |word: &Word<'_>| closest(word.text, ["when", "unless", "after", "because", "during"]).is_some();
    // `block fetch to evil.example`; a limit has its own `to`.
    let is_sent = words.first().is_some_and(|first| first.text == "block")
        && words.get(2).is_some_and(|word| word.text == "to");
    is_listed || is_timed || is_sent || words.iter().skip(1).any(is_word) || words.iter().skip(2).any(is_slip)
}

/// `block CALLS TAIL`, `allow CALLS TAIL`, `ask about CALLS TAIL`.
pub(super) fn block<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| verdict(parser, line, reader, Decision::Block));
}

pub(super) fn allow<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| verdict(parser, line, reader, Decision::Allow));
}

pub(super) fn ask<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        reader.expect("about", "write `ask about TOOL`")?;
        verdict(parser, line, reader, Decision::Ask)
    });
}

fn verdict(
    parser: &mut Parser<'_>,
    line: Line<'_, '_>,
    reader: &mut Reader,
    wants: Decision,
) -> Result<(), Mistake> {
    let (calls, text) = parser.calls(reader)?;
    let place = place(parser, reader, &calls, wants != Decision::Allow)?;
    let mut tail = parser.tail_until(reader, wants != Decision::Allow, &calls)?;
    tail.parts.extend(place);
    if tail.until_human {
        until_human(line, &mut tail, &calls, wants)?;
    }
    if tail.asks && wants != Decision::Block {
        return Err(Mistake {
            code: "expected-word",
            span: line.span,
            message: "this sentence says already what happens".into(),
            label: "`, else ask` belongs to lines that block".into(),
            remedy: "leave `, else ask` out".into(),
        });
    }
    if tail.is_empty() && !calls.is_every && wants != Decision::Allow {
        for tool in calls.names {
            let statement = match wants {
                Decision::Ask => Statement::Approval { tool },
                _ => Statement::Block { tool },
            };
            parser.rule(line, statement);
        }
        return Ok(());
    }
    let wants = if tail.asks || tail.until_human { Decision::Ask } else { wants };
    let key = format!("{} {text}", wants.word());
    let closed = closed_for_good(&tail, wants).filter(|_| !calls.is_every);
    let (keys, then) = (tail.keys.clone(), calls.names.clone());
    parser.spoken(line, wants, calls, tail, (RankKind::Check, key));
    if let Some(after) = closed {
        parser.each(&keys, PerValueForm::Close { after, then });
    }
    Ok(())
}

/// The calls after which others are closed for the same value, where the tail says nothing else.
fn closed_for_good(tail: &Tail, wants: Decision) -> Option<Vec<String>> {
    let [SpokenPart::Past(past)] = tail.parts.as_slice() else { return None };
    let is_plain = past.keep == 1
        && past.measure == Measure::Count
        && past.tests.is_empty()
        && past.within_ms.is_none()
        && past.cleared_by.is_empty()
        && past.outcome == Outcome::Asked
        && !past.is_right
        && !past.calls.is_every;
    let is_each = wants == Decision::Block && !tail.keys.is_empty() && past.keys == tail.keys;
    (is_plain && is_each).then(|| past.calls.names.clone())
}

/// `inside PLACES`, `outside PLACES` or `[except] to HOSTS` behind a tool, if it stands here.
fn place(
    parser: &Parser<'_>,
    reader: &mut Reader,
    calls: &Names,
    closes: bool,
) -> Result<Option<SpokenPart>, Mistake> {
    let span = reader.here();
    let next = &*reader.ahead(1).to_owned();
    let is_folder = next.starts_with(['.', '/', '~', '*']) || next.contains('/') && !parser.is_hours(next);
    let is_place = is_folder || PLACES.contains(&next) && !parser.is_hours(next);
    let (places, is_inside) = if reader.take(&["inside"]) {
        (Some(places(reader, "folder")?), true)
    } else if reader.is("outside") && is_place && reader.take(&["outside"]) {
        (Some(places(reader, "folder")?), false)
    } else if reader.take(&["except", "to"]) {
        (None, false)
    } else if reader.is("to") && next.contains('.') && reader.take(&["to"]) {
        (None, true)
    } else {
        return Ok(None);
    };
    let boundaries = match places {
        // What closes inside of a place closes what may touch it; what opens there opens what certainly stays there.
        Some(places) if is_inside == closes => Boundaries { not_within: places, ..Boundaries::default() },
        Some(places) => Boundaries { within: places, ..Boundaries::default() },
        None => {
            let hosts = self::places(reader, "host")?;
            match is_inside == closes {
                true => Boundaries { not_domains: hosts, ..Boundaries::default() },
                false => Boundaries { domains: Some(hosts), ..Boundaries::default() },
            }
        }
    };
    if calls.is_every || calls.names.len() > 1 {
        return Err(Mistake {
            code: "expected-word",
            span,
            message: "a place belongs to one tool".into(),
            label: "of which of them?".into(),
            remedy: "write one line for each tool, or `when FIELD is inside …`".into(),
        });
    }
    let reaches = outside(boundaries, span)?;
    Ok(Some(SpokenPart::Holds(if closes { reaches } else { Condition::Not(Box::new(reaches)) })))
}

/// Places that have a name.
const PLACES: [&str; 7] = ["project", "home", "temp", "system", "secrets", "startup", "artifacts"];

/// `block X after Y until human-approval`: a human who lets one X pass has opened them all, until the next Y.
fn until_human(line: Line<'_, '_>, tail: &mut Tail, calls: &Names, wants: Decision) -> Result<(), Mistake> {
    let tests = tail.parts.iter().filter_map(|part| match part {
        SpokenPart::Holds(condition) => Some(condition.clone()),
        _ => None,
    });
    let tests: Vec<Condition> = tests.collect();
    let others = tail.parts.len() - tests.len();
    let is_plain = |past: &SpokenPast| {
        past.keep == 1 && past.measure == Measure::Count && past.keys.is_empty() && !past.is_right
    };
    match tail.parts.iter_mut().find(|part| !matches!(part, SpokenPart::Holds(_))) {
        Some(SpokenPart::Past(past)) if others == 1 && wants == Decision::Block && is_plain(past) => {
            past.cleared_by.push(Clearing {
                calls: calls.clone(),
                is_others: false,
                outcome: Outcome::Called,
                tests,
                keys: Vec::new(),
                is_since: false,
                lasts: false,
            });
            Ok(())
        }
        _ => Err(Mistake {
            code: "expected-word",
            span: line.span,
            message: "`until human-approval` belongs to `block TOOL after TOOL`".into(),
            label: "cannot be meant".into(),
            remedy: "write `, else ask` at the end instead, so that a human opens each call".into(),
        }),
    }
}

/// `otherwise block` or `otherwise ask`.
pub(super) fn otherwise<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let wants = if reader.take(&["block"]) {
            Decision::Block
        } else {
            let remedy = match reader.is("allow") {
                true => "leave the line out: what no line restricts is allowed anyway",
                false => "write `otherwise block` or `otherwise ask`",
            };
            reader.expect("ask", remedy)?;
            Decision::Ask
        };
        reader
            .end(&["the end of the line"], "write `otherwise block`, and what is allowed in `allow` lines")?;
        if let Some((_, first)) = parser.draft.when_then.default_verdict {
            let first = parser.source.place(first).line;
            return Err(Mistake {
                code: "second-definition",
                span: line.span,
                message: "this file says twice what happens otherwise".into(),
                label: format!("first said in line {first}"),
                remedy: "keep one `otherwise` line".into(),
            });
        }
        parser.draft.when_then.default_verdict = Some((wants, line.span));
        Ok(())
    });
}

/// `TOOL.FIELD and TOOL.FIELD must DEMAND TAIL`.
pub(super) fn must<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let Ok(found) = parser.tokens(line) else {
        return read(parser, line, |_, _| Ok(()));
    };
    let mut reader = Reader::new(found, line.span);
    let result = demand(parser, line, &mut reader);
    result.unwrap_or_else(|mistake| parser.mistaken(mistake));
}

fn demand(parser: &mut Parser<'_>, line: Line<'_, '_>, reader: &mut Reader) -> Result<(), Mistake> {
    let only_links = reader.take(&["links", "in"]);
    let mut values = vec![parser.value(reader)?];
    while reader.take(&["and"]) || reader.take_comma() {
        let _ = reader.take(&["and"]);
        values.push(parser.value(reader)?);
    }
    reader.expect("must", "write `TOOL.FIELD must …`")?;
    if reader.take(&["come", "from"]) {
        return provenance::come_from(parser, line, reader, (values, only_links));
    }
    if only_links {
        return Err(reader.mistake(&["come from"], "write `links in TOOL.FIELD must come from user`"));
    }
    if reader.is("not") && reader.ahead(1) == "come" {
        let remedy = "say where they must come from, as in `must come from user`: a text can be changed on its way, and then \
                      it comes from nowhere";
        return Err(reader.mistake(&["come from"], remedy));
    }
    let start = reader.position();
    for (number, (calls, subject)) in values.into_iter().enumerate() {
        reader.rewind(start);
        let part = broken(reader, &subject)?;
        let mut tail = parser.tail(reader, true, &calls)?;
        tail.parts.insert(0, part);
        let wants = if tail.asks { Decision::Ask } else { Decision::Block };
        let key = format!("must {} {number}", calls.names.join(" "));
        let kind = if matches!(tail.parts.first(), Some(SpokenPart::Holds(_))) {
            RankKind::Check
        } else {
            RankKind::Sandbox
        };
        parser.spoken(line, wants, calls, tail, (kind, key));
    }
    Ok(())
}

/// `keep CALLS inside FOLDERS`, `out of FOLDERS`, `to programs NAMES`, `to hosts NAMES`.
pub(super) fn keep<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let (calls, text) = parser.calls(reader)?;
        let mut boundaries = Boundaries::default();
        let what = if reader.take(&["inside"]) {
            boundaries.within = places(reader, "folder")?;
            "inside"
        } else if reader.take(&["out", "of"]) {
            boundaries.not_within = places(reader, "folder")?;
            "out of"
        } else if reader.take(&["to", "programs"]) {
            boundaries.commands = Some(places(reader, "program")?);
            "to programs"
        } else if reader.take(&["to", "hosts"]) {
            boundaries.domains = Some(places(reader, "host")?);
            "to hosts"
        } else {
            let remedy = "write `keep TOOL inside ./src`, `out of FOLDER`, `to programs git` or `to hosts api.example.com`";
            return Err(reader.mistake(&["inside", "out of", "to programs", "to hosts"], remedy));
        };
        let mut tail = parser.tail(reader, true, &calls)?;
        tail.parts.push(SpokenPart::Reaches(boundaries));
        let wants = if tail.asks { Decision::Ask } else { Decision::Block };
        parser.spoken(line, wants, calls, tail, (RankKind::Sandbox, format!("keep {text} {what}")));
        Ok(())
    });
}

/// `mask sensitive data in [results of] CALLS`.
pub(super) fn mask<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let span = reader.here();
        let kinds = kinds(reader)?;
        reader.expect("in", "write `mask sensitive data in results of TOOL`")?;
        let is_result = reader.take(&["results", "of"]);
        let (calls, text) = parser.calls(reader)?;
        if is_result {
            reader
                .end(&["the end of the line"], "leave the rest out: results are masked whatever the call")?;
            return parser.output(line, &calls, &text, Some(kinds));
        }
        if !kinds.is_empty() {
            return Err(Mistake {
                code: "expected-word",
                span,
                message: "all kinds of sensitive data in an input are masked together".into(),
                label: "some kinds alone are masked in results".into(),
                remedy: format!("write `mask sensitive data in {text}`, or `in results of {text}`"),
            });
        }
        let tail = parser.tail(reader, true, &calls)?;
        parser.spoken(line, Decision::Redact, calls, tail, (RankKind::Check, format!("mask {text}")));
        Ok(())
    });
}

/// `withhold results of CALLS`.
pub(super) fn withhold<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        if !reader.take(&["results", "of"]) {
            return Err(reader.mistake(&["results of"], "write `withhold results of TOOL`"));
        }
        let (calls, text) = parser.calls(reader)?;
        reader.end(&["the end of the line"], "leave the rest out: results are withheld whatever the call")?;
        parser.output(line, &calls, &text, None)
    });
}

/// `require A before B TAIL`, `require human-approval before B TAIL`, `require A since C before B`.
pub(super) fn require<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        if reader.take(&["human-approval"]) {
            reader.expect("before", "write `require human-approval before TOOL`")?;
            return verdict(parser, line, reader, Decision::Ask);
        }
        if reader.take(&["user", "to"]) {
            return provenance::user_to_say(parser, line, reader);
        }
        let (first, first_text) = parser.calls(reader)?;
        let since = match reader.take(&["since"]) {
            true => Some(parser.calls(reader)?),
            false => None,
        };
        reader.expect("before", "write `require TOOL before TOOL`")?;
        let (then, then_text) = parser.calls(reader)?;
        let within_ms = within(reader)?;
        let tail = parser.tail(reader, true, &then)?;
        if since.is_none() && within_ms.is_none() && tail.keys.is_empty() && !tail.has_history {
            let statement =
                Statement::Sequence { prerequisite: first_text.clone(), dependent: then_text.clone() };
            return parser.net(line, statement, &[(first_text, first), (then_text, then)], tail);
        }
        let mut past = plain_past(first, Outcome::Ok, true);
        past.within_ms = within_ms;
        past.keys.clone_from(&tail.keys);
        let key = match &since {
            Some((_, since)) => format!("require {first_text} since {since} before {then_text}"),
            None => format!("require {first_text} before {then_text} apart"),
        };
        let cleared = |calls: Names, outcome, is_since| Clearing {
            calls,
            is_others: false,
            outcome,
            tests: Vec::new(),
            keys: Vec::new(),
            is_since,
            lasts: is_since,
        };
        match since {
            // What was tested is what is there now, however often it is used.
            Some((since, _)) => past.cleared_by.push(cleared(since, Outcome::Asked, true)),
            // Each use spends one success.
            None => {
                let keys = tail.keys.iter().map(|(_, now)| now.clone()).collect();
                past.cleared_by.push(Clearing { keys, ..cleared(then.clone(), Outcome::Called, false) });
            }
        }
        let mut tail = tail;
        let is_each =
            tail.parts.is_empty() && !tail.keys.is_empty() && !tail.asks && past.within_ms.is_none();
        let is_each = is_each && key.ends_with(" apart") && !past.calls.is_every && !then.is_every;
        let (keys, first) = (tail.keys.clone(), past.calls.names.clone());
        tail.parts.push(SpokenPart::NotPast(Box::new(past)));
        let wants = if tail.asks { Decision::Ask } else { Decision::Block };
        let later = then.names.clone();
        parser.spoken(line, wants, then, tail, (RankKind::Check, key));
        if is_each {
            parser.each(&keys, PerValueForm::Require { first, then: later });
        }
        Ok(())
    });
}

impl Parser<'_> {
    /// Keeps a rule that became a clause.
    pub(super) fn spoken(
        &mut self,
        line: Line<'_, '_>,
        wants: Decision,
        calls: Names,
        tail: Tail,
        (kind, key): (RankKind, String),
    ) {
        let Tail { parts, because, .. } = tail;
        let Line { span, mode, .. } = line;
        let per_value = None;
        let rule = Spoken { span, mode, wants, calls, parts, because, kind, key, per_value };
        self.draft.sentences.rules.push(rule);
    }

    /// Says of the last rule what it says for each value apart, where that is all it says.
    pub(super) fn each(&mut self, keys: &Keys, form: PerValueForm) {
        let own = |(then, now): &(Subject, Subject)| match (then, now) {
            (Subject::Input(then), Subject::Input(now)) if then.text == now.text => Some(then.text.clone()),
            _ => None,
        };
        let keys: Option<Vec<String>> = keys.iter().map(own).collect();
        if let (Some(keys), Some(rule)) = (keys, self.draft.sentences.rules.last_mut()) {
            rule.per_value = Some(PerValue { form, keys });
        }
    }

    /// Keeps a rule that became a net, with its tail.
    pub(super) fn net(
        &mut self,
        line: Line<'_, '_>,
        statement: Statement,
        groups: &[(String, Names)],
        tail: Tail,
    ) -> Result<(), Mistake> {
        let mistake = |message: &str, remedy: &str| Mistake {
            code: "expected-word",
            span: line.span,
            message: message.to_owned(),
            label: "cannot be meant".into(),
            remedy: remedy.to_owned(),
        };
        if groups.iter().any(|(_, names)| names.is_every) {
            return Err(mistake("`any call` has no place here", "name the tools"));
        }
        let conditions = tail.conditions().filter(|_| !tail.has_history);
        let Some(conditions) = conditions else {
            return Err(mistake(
                "`after` has no place behind this sentence",
                "write a `block` line with `after` beside it",
            ));
        };
        let groups: Vec<(String, Vec<String>)> = groups
            .iter()
            .filter(|(text, names)| names.names != [text.clone()])
            .map(|(text, names)| (text.clone(), names.names.clone()))
            .collect();
        let Tail { because, asks, .. } = tail;
        let tail = NetTail { conditions, because, asks, groups };
        self.draft.rules.push(DraftRule {
            statement,
            span: line.span,
            mode: line.mode,
            tail: Some(Box::new(tail)),
        });
        Ok(())
    }

    /// Keeps a rule about results: they are masked, or withheld where no kinds are given.
    fn output(
        &mut self,
        line: Line<'_, '_>,
        calls: &Names,
        text: &str,
        masked: Option<Vec<&'static str>>,
    ) -> Result<(), Mistake> {
        if let Some(phrase) = calls.names.iter().find(|name| is_phrase(name)) {
            return Err(Mistake {
                code: "expected-word",
                span: line.span,
                message: format!("results are known by their tool, not by `{phrase}`"),
                label: "not a tool".into(),
                remedy: "name the tools whose results are meant".into(),
            });
        }
        let names = calls.names.iter().cloned().map(ToolName::Exact).collect();
        let masks = masked.is_some();
        let kinds = masked.unwrap_or_default();
        let verb = if masks { "mask" } else { "withhold" };
        let what = kinds.iter().map(|kind| format!("-{}", kind.to_lowercase())).collect::<String>();
        self.draft.when_then.outputs.push(DraftOutput {
            id: format!("{verb}{what}-results-of-{text}").replace(' ', "-"),
            tools: if calls.is_every { Tools::Every } else { Tools::Any(names) },
            bytes_max: (!masks).then_some(0),
            severity: None,
            patterns: Vec::new(),
            masks,
            kinds,
            mode: (line.mode == Mode::Observe).then_some(Mode::Observe),
            message: None,
            span: line.span,
        });
        Ok(())
    }

    fn tokens(&self, line: Line<'_, '_>) -> Result<Vec<super::tokens::Token>, Mistake> {
        let first = line.words.first().map_or(line.span.start, |word| word.start);
        let rest = self.source.text().get(first..).unwrap_or_default();
        let found = tokens(rest.split('\n').next().unwrap_or_default(), first)?;
        Ok(joined_tokens(line.words, found))
    }
}

pub(super) fn plain_past(calls: Names, outcome: Outcome, is_credit: bool) -> SpokenPast {
    SpokenPast {
        calls,
        outcome,
        tests: Vec::new(),
        within_ms: None,
        keys: Vec::new(),
        measure: Measure::Count,
        value: None,
        amount: Test::plain(Operator::AtLeast(1.into())),
        keep: 1,
        cleared_by: Vec::new(),
        is_right: false,
        is_credit,
        counts_itself: false,
    }
}

/// Reads a sentence behind its first word, and reports what is wrong with it.
pub(super) fn read<'t>(
    parser: &mut Parser<'t>,
    line: Line<'_, 't>,
    sentence: impl FnOnce(&mut Parser<'t>, &mut Reader) -> Result<(), Mistake>,
) {
    let result = parser.tokens(line).and_then(|tokens| {
        let mut reader = Reader::new(tokens, line.span);
        let _ = reader.next();
        sentence(parser, &mut reader)
    });
    result.unwrap_or_else(|mistake| parser.mistaken(mistake));
}
