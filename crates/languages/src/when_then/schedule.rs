//! `time_of_day` and `day_of_week`: when a rule counts.
//!
//! Both are read into plain numbers here; what they mean together, and in which zone, is not decided here. A
//! schedule that no moment fits is a mistake.

use lockgate_policy::{
    closest,
    condition::{DayOfWeek, TimeOfDay},
};

use super::File;
use crate::{
    hours::{DAYS, minute, take_days},
    yaml::{Node, Value},
};

const TIME_REMEDY: &str =
    "write it as `\"09:00-18:00\"`, from 00:00 to 23:59, with a `!` in front for any other time";
const DAY_REMEDY: &str = "write days as `Mon-Fri` or `Sat,Sun`, with a `!` in front for all the others";

impl File<'_> {
    pub(super) fn time_of_day(&mut self, node: &Node) -> Option<TimeOfDay> {
        let text = self.reader.text_strict(node, "`time_of_day`")?;
        let Some(time) = time_of_day(&text) else {
            let message = format!("`{}` is not a time of day", text.escape_debug());
            self.reader.error("bad-time", node.span, message, TIME_REMEDY);
            return None;
        };
        let minutes = (u32::from(time.to_minute) + 24 * 60 - u32::from(time.from_minute)) % (24 * 60) + 1;
        if time.is_negated && minutes == 24 * 60 {
            self.never(node, "every minute of the day is left out");
        }
        Some(time)
    }

    pub(super) fn day_of_week(&mut self, node: &Node) -> Option<DayOfWeek> {
        let texts = match &node.value {
            Value::List(_) => {
                let items = self.filled_list(node, "`day_of_week`", DAY_REMEDY)?;
                let texts = items.iter().map(|item| self.reader.text_strict(item, "a day of `day_of_week`"));
                texts.collect::<Vec<_>>().into_iter().collect::<Option<Vec<String>>>()?
            }
            _ => vec![self.reader.text_strict(node, "`day_of_week`")?],
        };
        let is_list = matches!(node.value, Value::List(_));
        let is_negated = !is_list && texts.iter().any(|text| text.starts_with('!'));
        let mut days = [false; 7];
        for part in texts
            .iter()
            .flat_map(|text| text.strip_prefix('!').filter(|_| is_negated).unwrap_or(text).split(','))
        {
            if let Err(word) = take_days(part, &mut days) {
                let remedy = closest(&word, DAYS).map(|day| format!("did you mean `{day}`?"));
                let message = format!("`{}` is not a day of the week", word.escape_debug());
                self.reader.error(
                    "bad-day",
                    node.span,
                    message,
                    remedy.unwrap_or_else(|| DAY_REMEDY.to_owned()),
                );
                return None;
            }
        }
        if is_negated && days == [true; 7] {
            self.never(node, "every day of the week is left out");
        }
        Some(DayOfWeek { is_negated, days })
    }

    fn never(&mut self, node: &Node, why: &str) {
        let message = format!("this never holds: {why}");
        self.reader.error("never-holds", node.span, message, "leave it out, or leave fewer of them out");
    }
}

/// `[!]HH:MM-HH:MM`; one digit is enough for the hour, and spaces beside the dash do no harm.
fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let (is_negated, range) = match text.strip_prefix('!') {
        Some(range) => (true, range),
        None => (false, text),
    };
    let (from, to) = range.split_once('-')?;
    Some(TimeOfDay { is_negated, from_minute: minute(from.trim())?, to_minute: minute(to.trim())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_two_times_and_a_dash() {
        let rows = [
            ("09:00-18:00", Some((false, 540, 1080))),
            ("!09:00-18:00", Some((true, 540, 1080))),
            ("9:00-18:00", Some((false, 540, 1080))),
            ("09:00 - 18:00", Some((false, 540, 1080))),
            ("! 22:00-6:00", Some((true, 1320, 360))),
            ("12:00-12:00", Some((false, 720, 720))),
            ("00:00-23:59", Some((false, 0, 1439))),
            ("00:00-24:00", None),
            ("25:99-26:00", None),
            ("09:60-10:00", None),
            ("9:0-10:00", None),
            ("009:00-10:00", None),
            ("+9:00-10:00", None),
            ("09:00-10:00-11:00", None),
            ("09:00–18:00", None),
            ("!!09:00-18:00", None),
            ("٠٩:00-18:00", None),
            ("noon", None),
            ("!noon", None),
            ("930", None),
            ("-", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let read = time_of_day(text).map(|time| (time.is_negated, time.from_minute, time.to_minute));
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn days_are_names_and_ranges_in_any_case() {
        let rows = [
            ("Mon-Fri", Some("1111100")),
            ("mon-fri", Some("1111100")),
            ("Monday-FRIDAY", Some("1111100")),
            ("Fri-Mon", Some("1000111")),
            ("Sat-Sat", Some("0000010")),
            (" Sun ", Some("0000001")),
            ("Mon - Wed", Some("1110000")),
            ("Mo", None),
            ("Mond", None),
            ("", None),
            ("Mon-", None),
            ("Mon-Tue-Wed", None),
            ("!Mon", None),
        ];
        for (part, expected) in rows {
            let mut days = [false; 7];
            let read = take_days(part, &mut days);
            let drawn: String = days.iter().map(|day| if *day { '1' } else { '0' }).collect();
            assert_eq!(read.ok().map(|()| drawn), expected.map(str::to_owned), "{part}");
        }
    }
}
