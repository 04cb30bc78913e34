//! Times of day and days of the week.

use std::fmt;

use jiff::{Timestamp, tz::TimeZone};
use lockgate_call::Time;

use crate::decision::Truth;

/// A time of day and days of the week: one schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The time of day.
    pub time: Option<TimeOfDay>,
    /// The days.
    pub days: Option<DayOfWeek>,
    /// The zone, where the file names one.
    pub zone: Option<TimeZone>,
}

/// A time of day, both ends included, in minutes since midnight; over midnight if the end is before the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    /// Whether it must be any other time.
    pub is_negated: bool,
    /// The first minute.
    pub from_minute: u16,
    /// The last minute.
    pub to_minute: u16,
}

/// Days of the week, Monday first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayOfWeek {
    /// Whether it must be any other day.
    pub is_negated: bool,
    /// The days meant.
    pub days: [bool; 7],
}

impl Schedule {
    /// Whether it is such a time.
    pub fn truth(&self, now: Time, local: &TimeZone) -> Truth {
        let Ok(timestamp) = i64::try_from(now.0).map(Timestamp::from_millisecond) else {
            return Truth::Doubt;
        };
        let Ok(timestamp) = timestamp else { return Truth::Doubt };
        let moment = timestamp.to_zoned(self.zone.as_ref().unwrap_or(local).clone());
        let minute = u16::try_from(i32::from(moment.hour()) * 60 + i32::from(moment.minute())).unwrap_or(0);
        let in_time = self.time.map(|time| {
            let (from, to) = (time.from_minute, time.to_minute);
            let is_in =
                if from <= to { (from..=to).contains(&minute) } else { minute >= from || minute <= to };
            (time.is_negated, is_in)
        });
        let in_days = self.days.map(|days| {
            let today = usize::try_from(moment.weekday().to_monday_zero_offset()).unwrap_or(0);
            (days.is_negated, days.days.get(today).copied().unwrap_or(false))
        });
        let holds = |(is_negated, is_in): (bool, bool)| is_in != is_negated;
        match (in_time, in_days) {
            // Both negated: outside of the schedule that the two describe together.
            (Some((true, in_time)), Some((true, in_days))) => (!(in_time && in_days)).into(),
            (in_time, in_days) => (in_time.is_none_or(holds) && in_days.is_none_or(holds)).into(),
        }
    }
}

/// When it is, in words: `it is Mon, Tue at 09:00-18:00 (Europe/Berlin)`.
impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let time =
            self.time.map(|it| (it.is_negated, format!("{}-{}", clock(it.from_minute), clock(it.to_minute))));
        let days = self.days.map(|it| {
            let meant = DAYS.iter().zip(it.days).filter(|(_, is_meant)| *is_meant).map(|(day, _)| *day);
            let meant: Vec<&str> = meant.collect();
            // Three and more in a row are a range.
            let text = match meant.as_slice() {
                [first, _, .., last] if meant.len() > 2 && DAYS.join(" ").contains(&meant.join(" ")) => {
                    format!("{first}-{last}")
                }
                _ => meant.join(", "),
            };
            (it.is_negated, text)
        });
        let not = |is_negated: bool| if is_negated { "not " } else { "" };
        match (days, time) {
            (Some((true, days)), Some((true, time))) => write!(out, "it is outside of {days} at {time}")?,
            (Some((no_days, days)), Some((no_time, time))) => {
                write!(out, "it is {}{days}, and {}{time}", not(no_days), not(no_time))?;
            }
            (Some((is_negated, when)), None) | (None, Some((is_negated, when))) => {
                write!(out, "it is {}{when}", not(is_negated))?;
            }
            (None, None) => write!(out, "it is any time")?,
        }
        match self.zone.as_ref().and_then(TimeZone::iana_name) {
            Some(zone) => write!(out, " in {zone}"),
            None => Ok(()),
        }
    }
}
