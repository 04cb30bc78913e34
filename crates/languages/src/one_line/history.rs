//! `after …`: what happened earlier in the session; hours; and the values that must be the same.

use lockgate_policy::{
    condition::{Condition, DayOfWeek, Operator, Schedule, Subject, Test, TimeOfDay},
    past::{Measure, Outcome},
};

use super::{
    calls::name,
    conditions::{amount, number, subject, subject_of, test},
    lead::Mistake,
    parser::Parser,
    tokens::{Reader, Token, TokenKind},
};
use crate::{
    draft::spoken::{Clearing, Names, SpokenPart, SpokenPast},
    hours::{day_of, minutes},
};

/// The longest time a sentence may name: a hundred years.
const SECONDS_MAX: u64 = 3_153_600_000;

/// The most earlier calls that a sentence may count.
const COUNT_MAX: u64 = 10_000;

/// `for the same KEYS` and `for each KEYS`: the value of an earlier call, and of this one.
pub(super) type Keys = Vec<(Subject, Subject)>;

impl Parser<'_> {
    /// `after X … and not after Y …`, if it stands here.
    pub(super) fn history(&self, reader: &mut Reader, closes: bool) -> Result<Vec<SpokenPart>, Mistake> {
        let mut parts = Vec::new();
        while reader.is("after") || (reader.is("not") && reader.ahead(1) == "after") {
            let is_negated = reader.take(&["not"]);
            let past = self.past(reader, closes != is_negated)?;
            parts.push(if is_negated {
                SpokenPart::NotPast(Box::new(past))
            } else {
                SpokenPart::Past(Box::new(past))
            });
            let goes_on =
                reader.ahead(1) == "after" || (reader.ahead(1) == "not" && reader.ahead(2) == "after");
            if !(goes_on && reader.take(&["and"])) {
                break;
            }
        }
        if !parts.is_empty() && reader.ahead(1) != "human-approval" && reader.take(&["until"]) {
            let clearing = self.until(reader)?;
            for part in &mut parts {
                if let SpokenPart::Past(past) | SpokenPart::NotPast(past) = part {
                    past.cleared_by.push(clearing.clone());
                }
            }
        }
        Ok(parts)
    }

    fn until(&self, reader: &mut Reader) -> Result<Clearing, Mistake> {
        let (calls, _) = self.calls(reader)?;
        let outcome = outcome(reader).unwrap_or(Outcome::Ok);
        Ok(Clearing {
            calls,
            is_others: false,
            outcome,
            tests: Vec::new(),
            keys: Vec::new(),
            is_since: false,
            lasts: false,
        })
    }

    fn past(&self, reader: &mut Reader, closes: bool) -> Result<SpokenPast, Mistake> {
        reader.expect("after", "write `after TOOL`")?;
        let is_right = reader.take(&["right"]);
        let (mut measure, mut value) = (Measure::Count, None);
        let mut keep = 1;
        let mut least = Operator::AtLeast(1.into());
        let calls = if reader.take(&["sum", "of"]) {
            measure = Measure::Sum;
            let (calls, subject) = self.value(reader)?;
            value = Some(subject);
            least = self.amount(reader)?;
            calls
        } else {
            let is_counted = if reader.take(&["exactly"]) {
                Some(Operator::Equals(number(reader)?.into()))
            } else if let Some(operator) = amount(reader)? {
                Some(operator)
            } else if reader.ahead(0).starts_with(|c: char| c.is_ascii_digit()) {
                Some(Operator::AtLeast(number(reader)?))
            } else {
                None
            };
            if let Some(operator) = is_counted {
                keep = self.kept(&operator, reader)?;
                least = operator;
            }
            if reader.take(&["different"]) {
                measure = Measure::Different;
                value = Some(subject(reader)?);
                reader.expect("of", "write `after 3 different id of read_record`")?;
            }
            self.calls(reader)?.0
        };
        let fallback = if closes { Outcome::Asked } else { Outcome::Ok };
        let outcome = outcome(reader).unwrap_or(fallback);
        let tests = tests_of(reader, closes)?;
        let within_ms = within(reader)?;
        let keys = self.same(reader, &calls)?;
        let mut cleared_by = Vec::new();
        while reader.is("with") && ["no", "only"].contains(&reader.ahead(1)) && reader.take(&["with"]) {
            let is_others = reader.take(&["only"]);
            if !is_others {
                reader.expect("no", "write `with no TOOL since`")?;
            }
            let (calls, _) = self.calls(reader)?;
            let clearing = calls.clone();
            let said = self::outcome(reader);
            // `asked` is a moment; without an outcome the call is feared until it ends.
            let (outcome, lasts) = (said.unwrap_or(Outcome::Asked), said.is_none());
            // What clears has the other polarity: it opens where the rest closes.
            let tests = if is_others { Vec::new() } else { tests_of(reader, !closes)? };
            let keys = self.same(reader, &clearing)?.into_iter().map(|(then, _)| then).collect();
            reader.expect("since", "write `with no TOOL since`")?;
            cleared_by.push(Clearing { calls, is_others, outcome, tests, keys, is_since: true, lasts });
        }
        Ok(SpokenPast {
            calls,
            outcome,
            tests,
            within_ms,
            keys,
            measure,
            value,
            amount: Test::plain(least),
            keep,
            cleared_by,
            is_right,
            is_credit: !closes,
            counts_itself: false,
        })
    }

    fn amount(&self, reader: &mut Reader) -> Result<Operator, Mistake> {
        let _ = reader.take(&["is"]);
        if reader.take(&["exactly"]) {
            return Ok(Operator::Equals(number(reader)?.into()));
        }
        let operator = amount(reader)?;
        let expected = ["over", "under", "at least", "at most"];
        operator.ok_or_else(|| reader.mistake(&expected, "write `over 1000`"))
    }

    /// How many entries are enough to tell what a test of their number says.
    fn kept(&self, operator: &Operator, reader: &Reader) -> Result<usize, Mistake> {
        let asked = match operator {
            Operator::Equals(value) => value.as_u64(),
            Operator::Above(n) | Operator::AtLeast(n) | Operator::Below(n) | Operator::AtMost(n) => {
                n.as_u64()
            }
            _ => None,
        };
        let asked = asked.filter(|count| *count <= COUNT_MAX);
        asked.and_then(|count| usize::try_from(count).ok()).map(|count| count.max(1) + 1).ok_or_else(|| {
            Mistake {
                code: "bad-count",
                span: reader.here(),
                message: format!("calls are counted in whole numbers up to {COUNT_MAX}"),
                label: "behind such a number".into(),
                remedy: "write a whole number, as in `after 3 query_db`".into(),
            }
        })
    }

    /// `TOOL.FIELD`, split at the first dot.
    pub(super) fn value(&self, reader: &mut Reader) -> Result<(Names, Subject), Mistake> {
        let token = name(reader)?;
        let split = match token.kind {
            TokenKind::Quoted => token.text.rsplit_once('.'),
            _ => token.text.split_once('.'),
        };
        let Some((tool, field)) = split.filter(|(tool, field)| !tool.is_empty() && !field.is_empty()) else {
            return Err(Mistake {
                code: "missing-field",
                span: token.span,
                message: format!("expected <tool>.<field>, got '{}'", token.text),
                label: "which field of its input?".into(),
                remedy: "write the tool, a dot and the field, as in `pay.amount`".into(),
            });
        };
        let mut calls = Names::default();
        match self.groups.iter().find(|(group, _)| group == tool) {
            Some((_, members)) => calls = members.clone(),
            None => calls.names.push(tool.to_owned()),
        }
        let field = Token { text: field.to_owned(), ..token.clone() };
        Ok((calls, subject_of(&field)?))
    }

    /// `for the same KEYS`, where it stands.
    fn same(&self, reader: &mut Reader, earlier: &Names) -> Result<Keys, Mistake> {
        if reader.is("for") && reader.ahead(1) == "the" {
            let _ = reader.take(&["for", "the"]);
            reader.expect("same", "write `for the same FIELD`")?;
            // `any call` is this call, whatever it is.
            let is_earlier =
                |calls: &Names| !calls.is_every && calls.names.iter().all(|it| earlier.names.contains(it));
            return self.keys(reader, &is_earlier);
        }
        Ok(Vec::new())
    }

    /// `a and b, which is c in X`; `is_earlier` says whether X is the earlier call, or this one.
    pub(super) fn keys(
        &self,
        reader: &mut Reader,
        is_earlier: &dyn Fn(&Names) -> bool,
    ) -> Result<Keys, Mistake> {
        let mut keys: Keys = Vec::new();
        loop {
            let subject = subject(reader)?;
            keys.push((subject.clone(), subject));
            // Some other sentence may go on with `and after`.
            if reader.is("and") && ["after", "not"].contains(&reader.ahead(1)) {
                break;
            }
            if !reader.take(&["and"]) {
                break;
            }
        }
        while reader.is_comma() && reader.ahead(1) == "which" && reader.take_comma() {
            let _ = reader.take(&["which"]);
            reader.expect("is", "write `, which is FIELD in TOOL`")?;
            let other = subject(reader)?;
            reader.expect("in", "write `, which is FIELD in TOOL`")?;
            let (calls, _) = self.calls(reader)?;
            match keys.last_mut() {
                Some((then, _)) if is_earlier(&calls) => *then = other,
                Some((_, now)) => *now = other,
                None => {}
            }
        }
        Ok(keys)
    }

    /// Whether a word is the name of hours.
    pub(super) fn is_hours(&self, word: &str) -> bool {
        self.hours.iter().any(|(known, _)| known == word) || day_of(word).is_some() || minutes(word).is_some()
    }

    /// `during HOURS` or `outside HOURS`.
    pub(super) fn schedule(&self, reader: &mut Reader) -> Result<Option<SpokenPart>, Mistake> {
        let is_outside = reader.is("outside");
        if !(is_outside || reader.is("during")) {
            return Ok(None);
        }
        let _ = reader.next();
        let hours = match self.hours.iter().find(|(known, _)| *known == reader.ahead(0)) {
            Some((_, hours)) => {
                let hours = hours.clone();
                let _ = reader.next();
                hours
            }
            None => self.read_hours(reader)?,
        };
        Ok(Some(SpokenPart::Holds(if is_outside { Condition::Not(Box::new(hours)) } else { hours })))
    }

    /// `Mon-Fri 09:00-18:00 [Europe/Berlin]`: days, times or both.
    pub(super) fn read_hours(&self, reader: &mut Reader) -> Result<Condition, Mistake> {
        const REMEDY: &str = "write days and times, as in `Mon-Fri 09:00-18:00`, the name of an `hours` line, or a folder, as in `./src`";
        let mut schedule = Schedule { time: None, days: None, zone: self.zone.clone() };
        let mut days = [false; 7];
        while let Some(found) = reader.peek().and_then(|token| day_of(&token.text)) {
            days.iter_mut().zip(found).for_each(|(day, is_meant)| *day |= is_meant);
            schedule.days = Some(DayOfWeek { is_negated: false, days });
            let _ = reader.next();
            let is_listed = reader.is_comma() && day_of(reader.ahead(1)).is_some();
            let _ = (is_listed && reader.take_comma()) || reader.take(&["and"]);
        }
        if let Some((from_minute, end)) = reader.peek().and_then(|token| minutes(&token.text)) {
            // `09:00-18:00` ends when it is six, not a minute later.
            let to_minute = end.checked_sub(1).unwrap_or(24 * 60 - 1);
            schedule.time = Some(TimeOfDay { is_negated: false, from_minute, to_minute });
            let _ = reader.next();
        }
        if schedule.days.is_none() && schedule.time.is_none() {
            return Err(reader.mistake(&["days", "times"], REMEDY));
        }
        if reader.ahead(0).contains('/') || reader.is("UTC") {
            schedule.zone = Some(zone(reader)?);
        }
        Ok(whole_nights(schedule))
    }
}

/// Hours over midnight belong to the day on which they begin.
fn whole_nights(schedule: Schedule) -> Condition {
    let (Some(time), Some(days)) = (schedule.time, schedule.days) else {
        return Condition::Schedule(schedule);
    };
    if time.from_minute <= time.to_minute {
        return Condition::Schedule(schedule);
    }
    let mut mornings = days;
    mornings.days.rotate_right(1);
    let evening = TimeOfDay { to_minute: 24 * 60 - 1, ..time };
    let morning = TimeOfDay { from_minute: 0, ..time };
    let part = |time, days| {
        Condition::Schedule(Schedule { time: Some(time), days: Some(days), zone: schedule.zone.clone() })
    };
    Condition::Any(vec![part(evening, days), part(morning, mornings)])
}

/// A time zone by its name.
pub(super) fn zone(reader: &mut Reader) -> Result<jiff::tz::TimeZone, Mistake> {
    let found = jiff::tz::TimeZone::get(reader.ahead(0)).ok();
    let city = format!("/{}", reader.ahead(0));
    let meant = jiff::tz::db().available().map(|zone| zone.to_string()).find(|zone| zone.ends_with(&city));
    let remedy = match meant.filter(|_| city.len() > 1) {
        Some(zone) => format!("write `{zone}`"),
        None => "write a name such as `Europe/Berlin` or `UTC`".to_owned(),
    };
    let mistake = reader.mistake(&["a time zone"], &remedy);
    let _ = reader.next();
    found.ok_or(mistake)
}

/// `with TEST and TEST`, where it stands.
fn tests_of(reader: &mut Reader, closes: bool) -> Result<Vec<Condition>, Mistake> {
    let mut tests = Vec::new();
    if reader.is("with") && !["no", "only"].contains(&reader.ahead(1)) && reader.take(&["with"]) {
        tests.push(test(reader, closes)?);
        while reader.is("and") && !["after", "not"].contains(&reader.ahead(1)) && reader.take(&["and"]) {
            tests.push(test(reader, closes)?);
        }
    }
    Ok(tests)
}

/// `asked`, `called`, `answered`, `ok` or `failed`.
fn outcome(reader: &mut Reader) -> Option<Outcome> {
    let words = [
        ("asked", Outcome::Asked),
        ("called", Outcome::Called),
        ("answered", Outcome::Answered),
        ("ok", Outcome::Ok),
        ("failed", Outcome::Failed),
    ];
    words.into_iter().find(|(word, _)| reader.take(&[word])).map(|(_, outcome)| outcome)
}

/// `within 5 minutes`, where it stands.
pub(super) fn within(reader: &mut Reader) -> Result<Option<u64>, Mistake> {
    if !reader.take(&["within"]) {
        return Ok(None);
    }
    duration(reader).map(Some)
}

/// `5 minutes`, in milliseconds.
pub(super) fn duration(reader: &mut Reader) -> Result<u64, Mistake> {
    const REMEDY: &str = "write a number and `seconds`, `minutes`, `hours` or `days`, as in `10 minutes`";
    let count: Option<u64> = reader.ahead(0).parse().ok();
    let Some(count) = count.filter(|count| *count > 0) else {
        let remedy = match unit(reader.ahead(0)) {
            Some(_) => format!("write `1 {}`", reader.ahead(0)),
            None => REMEDY.to_owned(),
        };
        return Err(reader.mistake(&["a number"], &remedy));
    };
    let _ = reader.next();
    let Some(seconds) = unit(reader.ahead(0)) else {
        return Err(reader.mistake(&["seconds", "minutes", "hours", "days"], REMEDY));
    };
    let total = count.checked_mul(seconds).filter(|total| *total <= SECONDS_MAX);
    let Some(total) = total else {
        return Err(reader.mistake(&["a shorter time"], "write at most 36500 days"));
    };
    let _ = reader.next();
    Ok(total * 1000)
}

/// The seconds of a unit.
pub(super) fn unit(word: &str) -> Option<u64> {
    Some(match word {
        "second" | "seconds" => 1,
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3_600,
        "day" | "days" => 86_400,
        _ => return None,
    })
}
