//! Days of the week and times of day, as words: for all languages.

/// The days, Monday first.
pub(crate) const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The days of a word such as `Mon` or `Mon-Fri`.
pub(crate) fn day_of(word: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    take_days(word, &mut days).ok().map(|()| days)
}

/// The two times of a word such as `09:00-18:00`, in minutes; `24:00` is the end of the day.
pub(crate) fn minutes(word: &str) -> Option<(u16, u16)> {
    let (from, to) = word.split_once('-')?;
    Some((minute(from)?, if to == "24:00" { 0 } else { minute(to)? }))
}

/// A time such as `9:05`, in minutes since midnight.
pub(crate) fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str, lengths: std::ops::RangeInclusive<usize>, below: u16| {
        let is_number = lengths.contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|number| is_number && *number < below)
    };
    Some(number(hour, 1..=2, 24)? * 60 + number(minute, 2..=2, 60)?)
}

/// Marks one day or a range of days, which may go over Sunday. Otherwise the word that is not a day.
pub(crate) fn take_days(part: &str, days: &mut [bool; 7]) -> Result<(), String> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (day(first)?, day(last)?);
    let length = (last + 7 - first) % 7 + 1;
    for (index, is_meant) in days.iter_mut().enumerate() {
        *is_meant |= (index + 7 - first) % 7 < length;
    }
    Ok(())
}

/// The number of a day, Monday first: three letters or the whole name, in any case.
fn day(word: &str) -> Result<usize, String> {
    let word = word.trim().to_lowercase();
    let is_it = |day: &&str| *day == word || day.get(..3).is_some_and(|short| short == word);
    DAYS.iter().position(is_it).ok_or(word)
}
