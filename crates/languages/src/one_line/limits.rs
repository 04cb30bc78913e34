//! Limits with a tail, over a time, of a sum or of different values.

use std::num::NonZeroU64;

use lockgate_policy::{
    Decision, LIMIT_MAX, Scope, Statement,
    clause::{PerValueForm, RankKind},
    condition::{Attribute, Condition, Operator, Subject, Test},
    past::{Measure, Outcome},
};

use super::{
    conditions::{number, subject},
    history::{duration, unit},
    lead::Mistake,
    parser::{Line, Parser},
    spoken::{plain_past, read},
    tails::Tail,
    tokens::TokenKind,
};
use crate::draft::spoken::{Names, SpokenPart};

/// `limit SPENT to N per PERIOD TAIL`.
pub(super) fn limit<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    read(parser, line, |parser, reader| {
        let (measure, (calls, text), value) = if reader.take(&["sum", "of"]) {
            let (calls, value) = parser.value(reader)?;
            let text = format!("sum of {} {value:?}", calls.names.join(" "));
            (Measure::Sum, (calls, text), Some(value))
        } else if reader.take(&["different"]) {
            let value = subject(reader)?;
            reader.expect("of", "write `limit different id of read_record to 50 per 1 hour`")?;
            let (calls, text) = parser.calls(reader)?;
            (Measure::Different, (calls, format!("different {value:?} of {text}")), Some(value))
        } else {
            (Measure::Count, parser.calls(reader)?, None)
        };
        reader.expect("to", "write `limit TOOL to N per session`")?;
        let amount = number(reader)?;
        reader.expect("per", "write `per session`, `per 10 minutes` or `per TOOL`")?;
        let (within_ms, scope) = match reader.peek() {
            Some(token) if token.kind == TokenKind::Word && token.text == "session" => {
                let _ = reader.next();
                (None, None)
            }
            Some(token)
                if unit(&token.text).is_some() || token.text.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                (Some(duration(reader)?), None)
            }
            _ => (None, Some(parser.calls(reader)?)),
        };
        let is_shared = reader.take(&["over", "all", "sessions"]);
        let tail = parser.tail(reader, true, &calls)?;
        let spent = Spent { measure, calls, text, value, amount, within_ms, scope, is_shared };
        parser.limited(line, spent, tail)
    });
}

/// What a limit counts.
struct Spent {
    measure: Measure,
    calls: Names,
    text: String,
    value: Option<Subject>,
    amount: serde_json::Number,
    within_ms: Option<u64>,
    scope: Option<(Names, String)>,
    is_shared: bool,
}

impl Parser<'_> {
    fn limited(&mut self, line: Line<'_, '_>, spent: Spent, tail: Tail) -> Result<(), Mistake> {
        let Spent { measure, calls, text, value, amount, within_ms, scope, is_shared } = spent;
        let mistake = |message: &str, remedy: &str| Mistake {
            code: "bad-count",
            span: line.span,
            message: message.to_owned(),
            label: "cannot be counted".into(),
            remedy: remedy.to_owned(),
        };
        let count = amount.as_u64().filter(|count| (1..=LIMIT_MAX).contains(count)).and_then(NonZeroU64::new);
        let whole = || {
            count.ok_or_else(|| {
                mistake("limit count must be a positive integer", "write a whole number of calls")
            })
        };
        let wants = if tail.asks { Decision::Ask } else { Decision::Block };
        let is_plain = measure == Measure::Count && tail.keys.is_empty() && !tail.has_history;
        if is_shared && !(is_plain && within_ms.is_some() && tail.parts.is_empty()) {
            let remedy = "write `limit TOOL to N per 10 minutes over all sessions`";
            return Err(mistake("only calls in a time are counted over all sessions", remedy));
        }
        if let (Some(within_ms), true, true) = (within_ms, is_plain, tail.parts.is_empty()) {
            let count = u32::try_from(whole()?.get()).ok().filter(|count| *count <= 10_000);
            let count =
                count.ok_or_else(|| mistake("at most 10000 calls are counted in a time", "write less"))?;
            let shared = if is_shared { " over all sessions" } else { "" };
            let key = format!("limit {text} in {within_ms} ms{shared}");
            let mut tail = tail;
            tail.parts.push(SpokenPart::Rate { count, within_ms, is_shared });
            self.spoken(line, wants, calls, tail, (RankKind::Session, key));
            return Ok(());
        }
        if let (None, true) = (within_ms, is_plain) {
            if calls.is_every && scope.is_none() {
                let reached = Test::text(Operator::AtLeast(whole()?.get().into()));
                let mut tail = tail;
                tail.parts
                    .push(SpokenPart::Holds(Condition::value(Subject::Session(Attribute::Calls), reached)));
                self.spoken(line, wants, calls, tail, (RankKind::Session, "limit any call".to_owned()));
                return Ok(());
            }
            let count = whole()?;
            let mut groups = vec![(text.clone(), calls)];
            let scope = match scope {
                None => Scope::Session,
                Some((names, action)) => {
                    groups.push((action.clone(), names));
                    Scope::Action(action)
                }
            };
            return self.net(line, Statement::Limit { tool: text, count, scope }, &groups, tail);
        }
        if scope.is_some() {
            let remedy = "write `per session` or `per 10 minutes`";
            return Err(mistake("such a limit is not given back by calls", remedy));
        }
        // The call itself counts, so the limit is reached when it would be passed.
        let mut past = plain_past(calls.clone(), Outcome::Called, false);
        past.measure = measure;
        past.value = value;
        past.within_ms = within_ms;
        past.keys.clone_from(&tail.keys);
        past.amount = Test::plain(Operator::Above(amount));
        past.counts_itself = true;
        past.tests = tail.conditions().unwrap_or_default();
        past.keep = match measure {
            Measure::Count => usize::try_from(whole()?.get())
                .ok()
                .filter(|count| *count <= 10_000)
                .ok_or_else(|| mistake("at most 10000 calls of one value are counted", "write less"))?,
            Measure::Different | Measure::Sum => 1,
        };
        let mut tail = tail;
        let is_each = tail.parts.is_empty() && wants == Decision::Block && within_ms.is_none();
        let each = (is_each && measure == Measure::Count && !calls.is_every).then_some(count).flatten();
        let (keys, names) = (tail.keys.clone(), calls.names.clone());
        tail.parts.push(SpokenPart::Past(Box::new(past)));
        let period = within_ms.map_or_else(|| "session".to_owned(), |ms| format!("{ms} ms"));
        self.spoken(
            line,
            wants,
            calls,
            tail,
            (RankKind::Session, format!("limit {text} per {period} apart")),
        );
        if let Some(count) = each {
            self.each(&keys, PerValueForm::Limit { calls: names, count: count.get() });
        }
        Ok(())
    }
}
