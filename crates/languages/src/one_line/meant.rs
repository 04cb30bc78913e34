//! What authors mean by words that are not ours.

use lockgate_policy::LIMIT_MAX;

/// A label for a word that is a slip of another.
pub(super) fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

/// Our word for a word of another language.
pub(super) fn synonym(word: &str, synonyms: &[(&str, &'static str)]) -> Option<&'static str> {
    synonyms.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(word)).map(|(_, ours)| *ours)
}

/// Whether a word means the human of `human-approval`, in lower case.
pub(crate) fn is_human(word: &str) -> bool {
    ["human", "humans", "approval", "approvals"].contains(&word)
}

/// How many seconds a period has that an author may mean by a word after `per`: `hour`, `days`, `24h`.
pub(crate) fn period_seconds(word: &str) -> Option<u64> {
    let word = word.to_lowercase();
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = word.split_at_checked(digits)?;
    let unit = unit.trim_start_matches(['-', '_']);
    let seconds = match unit {
        "second" | "seconds" | "sec" | "secs" => 1,
        "minute" | "minutes" | "min" | "mins" => 60,
        "hour" | "hours" | "hr" | "hrs" | "hourly" => 3_600,
        "day" | "days" | "daily" => 86_400,
        "week" | "weeks" | "weekly" => 604_800,
        "month" | "months" | "monthly" => 2_592_000,
        "year" | "years" | "yearly" => 31_536_000,
        // Single letters are units only behind a number.
        "s" if digits > 0 => 1,
        "m" if digits > 0 => 60,
        "h" if digits > 0 => 3_600,
        "d" if digits > 0 => 86_400,
        "w" if digits > 0 => 604_800,
        _ => return None,
    };
    let number = if number.is_empty() { 1 } else { number.parse::<u64>().ok()? };
    number.checked_mul(seconds)
}

/// The number someone probably means who writes `3abc`, `3.9`, `1e3`, `1_000` or `0x10`; 0 for less than 1.
pub(super) fn probable_count(text: &str) -> Option<u64> {
    // Beyond this doubles skip numbers, and we would propose another one than was written.
    const DOUBLE_MAX: f64 = 9_007_199_254_740_992.0;
    let plain = text.replace(['_', ',', '\''], "");
    if let Some(digits) = plain.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|count| *count <= LIMIT_MAX);
    }
    match plain.parse::<f64>() {
        Ok(value) => (value <= DOUBLE_MAX).then_some(value.max(0.0) as u64),
        Err(_) => plain
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
            .filter(|count| *count <= LIMIT_MAX),
    }
}
