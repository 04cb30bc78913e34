//! Moments as people write and read them.
//!
//! [`parse`] reads a moment of RFC 3339, a day, or how long ago; [`local`] shows one in the machine's time zone. A
//! moment without a zone is not taken: it would mean something else on another machine.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lockgate::engine::Time;
use lockgate_agents::{duration, now};

/// Reads a moment.
pub(crate) fn parse(text: &str) -> Result<Time, String> {
    parse_at(text, now(), TimeZone::system())
}

fn parse_at(text: &str, now: Time, zone: TimeZone) -> Result<Time, String> {
    if let Some(ago) = duration(text) {
        let ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
        return Ok(Time(now.0.saturating_sub(ms)));
    }
    let day =
        || Some(text.parse::<Date>().ok().filter(|_| text.len() == 10)?.to_zoned(zone).ok()?.timestamp());
    let moment = day().or_else(|| text.parse::<Timestamp>().ok());
    let since = moment.and_then(|moment| u64::try_from(moment.as_millisecond()).ok());
    since.map(Time).ok_or_else(|| {
        "write a moment like 2026-03-01T12:00:00Z, a day like 2026-03-01, or how long ago, like 2h or 3d"
            .to_owned()
    })
}

/// A moment in the machine's time zone, to the second.
pub(crate) fn local(at: Time) -> String {
    shown(at, |moment| moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// A moment as RFC 3339 writes it.
pub(crate) fn utc(at: Time) -> String {
    shown(at, |moment| moment.to_string())
}

/// What no calendar reaches is told in milliseconds since 1970.
fn shown(at: Time, show: impl Fn(Timestamp) -> String) -> String {
    let moment = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    moment.map_or_else(|| at.0.to_string(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_three_ways_and_no_other() {
        let now = Time(1_767_225_600_000);
        let zone = || TimeZone::fixed(jiff::tz::offset(2));
        for (text, at) in [
            ("2h", now.0 - 2 * 3_600_000),
            ("3d", now.0 - 3 * 86_400_000),
            ("500ms", now.0 - 500),
            ("999999d", 0),
            ("2026-01-01T00:00:00Z", now.0),
            ("2026-01-01T02:00:00.250+02:00", now.0 + 250),
            ("2026-01-01", now.0 - 2 * 3_600_000),
        ] {
            assert_eq!(parse_at(text, now, zone()), Ok(Time(at)), "{text}");
        }
        for wrong in
            ["", "2", "h", "-2h", "yesterday", "2026-01-01T00:00:00", "2026-13-01", "1960-01-01", "2h "]
        {
            assert!(parse_at(wrong, now, zone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_moment_that_no_calendar_reaches_is_a_number() {
        assert_eq!(utc(Time(1_767_225_600_250)), "2026-01-01T00:00:00.25Z");
        assert_eq!(utc(Time(u64::MAX)), u64::MAX.to_string());
        assert_eq!(local(Time(i64::MAX as u64)), i64::MAX.to_string());
    }
}
