//! Numbers that belong to a person: cards, accounts, papers, phones, dates, addresses of version 4.
//!
//! The text is cut into groups of digits once, and every row of [`SHAPES`] is held against the groups at each
//! place; so a number is found behind any other number, and each place is looked at a fixed number of times.
//! Where a number has a checksum it must hold, for otherwise ordinary ids would be taken for papers. Digits
//! other than 0 to 9, and numbers written in words, are missing on purpose.

use std::ops::{Range, RangeInclusive};

use super::found::{Found, Label, Sort, after, before, is_wordy};
use super::iban::{IBAN_LENGTHS, is_iban};

/// How one kind of number is written.
struct Shape {
    sort: Sort,
    /// How many digits each group has.
    groups: &'static [RangeInclusive<usize>],
    /// What may stand between two groups, the same everywhere.
    marks: &'static [char],
    /// Marks that make it part of a longer number when yet another digit follows.
    joints: &'static [char],
    /// Whether the digits make sense.
    holds: fn(&Written<'_>) -> bool,
}

const HYPHENS: &[char] = &['-', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2212}'];
const SPACES: &[char] = &[' ', '\u{a0}', '\u{2007}', '\u{2009}', '\u{202f}'];
const DATE_MARKS: &[char] = &['-', '.', '/'];
const JOINTS: &[char] = &['-', '.'];

const SHAPES: &[Shape] = &[
    Shape { sort: Sort::Ssn, groups: &[3..=3, 2..=2, 4..=4], marks: HYPHENS, joints: JOINTS, holds: is_ssn },
    Shape {
        sort: Sort::IpAddress,
        groups: &[1..=3, 1..=3, 1..=3, 1..=3],
        marks: &['.'],
        joints: &['.'],
        holds: is_ipv4,
    },
    Shape {
        sort: Sort::DateOfBirth,
        groups: &[4..=4, 1..=2, 1..=2],
        marks: DATE_MARKS,
        joints: DATE_MARKS,
        holds: is_date,
    },
    Shape {
        sort: Sort::DateOfBirth,
        groups: &[1..=2, 1..=2, 4..=4],
        marks: DATE_MARKS,
        joints: DATE_MARKS,
        holds: is_date,
    },
    Shape {
        sort: Sort::DateOfBirth,
        groups: &[1..=2, 1..=2, 2..=2],
        marks: DATE_MARKS,
        joints: DATE_MARKS,
        holds: is_date,
    },
    Shape { sort: Sort::Inn, groups: &[10..=10], marks: &[], joints: JOINTS, holds: is_inn },
    Shape { sort: Sort::Inn, groups: &[12..=12], marks: &[], joints: JOINTS, holds: is_inn },
    Shape { sort: Sort::Snils, groups: &[11..=11], marks: &[], joints: JOINTS, holds: is_snils },
    Shape {
        sort: Sort::RuPassport,
        groups: &[2..=2, 2..=2, 6..=6],
        marks: SPACES,
        joints: JOINTS,
        holds: is_ru_passport,
    },
    Shape {
        sort: Sort::RuPassport,
        groups: &[4..=4, 6..=6],
        marks: SPACES,
        joints: JOINTS,
        holds: is_ru_passport,
    },
];

/// What may follow a date although it begins with a letter: midnight, which is how a day is written as a moment.
const MIDNIGHTS: &[&str] = &["T00:00", "t00:00"];

/// First digits of payment cards and how many digits such a card has.
const ISSUERS: &[(RangeInclusive<u32>, RangeInclusive<usize>)] = &[
    (2200..=2204, 16..=19),
    (2221..=2720, 16..=16),
    (3000..=3059, 14..=19),
    (3095..=3095, 14..=19),
    (3400..=3499, 15..=15),
    (3528..=3589, 16..=19),
    (3600..=3699, 14..=19),
    (3700..=3799, 15..=15),
    (3800..=3999, 14..=19),
    (4000..=4999, 13..=13),
    (4000..=4999, 16..=16),
    (4000..=4999, 19..=19),
    (5000..=5099, 13..=19),
    (5100..=5599, 16..=16),
    (5600..=6999, 13..=19),
    (8100..=8299, 16..=19),
    (9792..=9792, 16..=16),
];

const CARD_DIGITS: RangeInclusive<usize> = 13..=19;
const PHONE_DIGITS: RangeInclusive<usize> = 8..=15;

/// How a Russian phone number is cut into groups when it begins with 8 and not with +7.
const RU_PHONE_GROUPS: &[&[usize]] = &[
    &[11],
    &[1, 10],
    &[1, 3, 7],
    &[1, 3, 3, 4],
    &[1, 3, 3, 2, 2],
    &[4, 7],
    &[4, 3, 4],
    &[4, 3, 2, 2],
    &[1, 4, 2, 2, 2],
    &[1, 4, 6],
];

/// Finds all of them.
pub(super) fn find(text: &str, label: Label<'_>, found: &mut Vec<Found>) {
    let groups = groups(text);
    for at in 0..groups.len() {
        let groups = groups.get(at..).unwrap_or_default();
        let numbers = Numbers { text, groups, label };
        let shapes = SHAPES.iter().filter_map(|shape| Some((shape.sort, numbers.shaped(shape)?)));
        let others = [
            (Sort::CreditCard, numbers.card()),
            (Sort::Phone, numbers.phone()),
            (Sort::RuPhone, numbers.ru_phone()),
            (Sort::Snils, numbers.snils()),
            (Sort::Iban, numbers.iban()),
            (Sort::Passport, numbers.passport()),
        ];
        let others = others.into_iter().filter_map(|(sort, range)| Some((sort, range?)));
        let all = shapes.chain(others).filter(|(_, range)| !is_in_uuid(text, range));
        found.extend(all.map(|(sort, range)| Found { sort, range }));
    }
}

/// Every stretch of digits.
fn groups(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_digit() {
            match groups.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
    }
    groups
}

/// The groups of digits from one place on.
struct Numbers<'t> {
    text: &'t str,
    groups: &'t [Range<usize>],
    label: Label<'t>,
}

/// A number as it is written.
struct Written<'t> {
    parts: Vec<&'t str>,
    range: Range<usize>,
    text: &'t str,
    label: Label<'t>,
}

impl Written<'_> {
    fn digits(&self) -> Vec<u32> {
        self.parts.iter().flat_map(|part| part.chars()).filter_map(|c| c.to_digit(10)).collect()
    }

    fn values(&self) -> Vec<u32> {
        self.parts.iter().filter_map(|part| part.parse().ok()).collect()
    }

    /// Whether the word right before it, or the key above it, is one of these.
    fn is_called(&self, names: &[&str]) -> bool {
        let before = self.text.get(..self.range.start).unwrap_or_default();
        let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        let start = before.rfind(|c: char| !c.is_alphabetic()).unwrap_or(0);
        let word = before.get(start..).unwrap_or_default().trim_start_matches(|c: char| !c.is_alphabetic());
        let is_one = |name: &str| names.contains(&name.to_lowercase().as_str());
        is_one(word) || self.label.key.split(|c: char| !c.is_alphabetic()).any(is_one)
    }
}

impl<'t> Numbers<'t> {
    fn text_of(&self, group: &Range<usize>) -> &'t str {
        self.text.get(group.clone()).unwrap_or_default()
    }

    /// The one character between two groups, if it is one.
    fn mark(&self, one: &Range<usize>, next: &Range<usize>) -> Option<char> {
        let mut between = self.text.get(one.end..next.start)?.chars();
        between.next().filter(|_| between.next().is_none())
    }

    fn written(&self, groups: &[Range<usize>]) -> Option<Written<'t>> {
        let range = groups.first()?.start..groups.last()?.end;
        let parts = groups.iter().map(|group| self.text_of(group)).collect();
        Some(Written { parts, range, text: self.text, label: self.label })
    }

    fn shaped(&self, shape: &Shape) -> Option<Range<usize>> {
        let groups = self.groups.get(..shape.groups.len())?;
        let mut lengths = groups.iter().zip(shape.groups);
        if !lengths.all(|(group, length)| length.contains(&group.len())) {
            return None;
        }
        let first = groups.first().zip(groups.get(1)).and_then(|(one, next)| self.mark(one, next));
        let mut pairs = groups.iter().zip(groups.iter().skip(1));
        let is_marked = pairs.all(|(one, next)| {
            let mark = self.mark(one, next);
            mark == first && mark.is_some_and(|mark| shape.marks.contains(&mark))
        });
        if !is_marked {
            return None;
        }
        let written = self.written(groups)?;
        let is_free = self.is_free(&written.range, shape, first);
        (is_free && (shape.holds)(&written)).then_some(written.range)
    }

    /// Whether it stands alone, as a whole.
    fn is_free(&self, range: &Range<usize>, shape: &Shape, mark: Option<char>) -> bool {
        let (left, right) = (before(self.text, range.start), after(self.text, range.end));
        let goes_on = self.text.get(range.end..).is_some_and(|rest| {
            shape.sort == Sort::DateOfBirth && MIDNIGHTS.iter().any(|midnight| rest.starts_with(midnight))
        });
        let beyond_left =
            left.and_then(|c| before(self.text, range.start - c.len_utf8())).filter(char::is_ascii_digit);
        let beyond_right =
            right.and_then(|c| after(self.text, range.end + c.len_utf8())).filter(char::is_ascii_digit);
        let is_joint = |c: Option<char>, beyond: Option<char>| {
            // `logs/2026/03/04/` is a folder.
            let is_path = mark == Some('/') && c == mark;
            is_path || (beyond.is_some() && c.is_some_and(|c| shape.joints.contains(&c)))
        };
        !is_wordy(left)
            && left != Some('+')
            && (goes_on || !is_wordy(right))
            && !is_joint(left, beyond_left)
            && !is_joint(right, beyond_right)
    }

    /// Groups from here on, as long as they are joined by one mark for cards and do not grow too long.
    fn card(&self) -> Option<Range<usize>> {
        let first = self.groups.first()?;
        if first.len() < 4 || is_wordy(before(self.text, first.start)) || self.is_fraction(first) {
            return None;
        }
        let mut best = None;
        let mut count = 0;
        for (i, group) in self.groups.iter().enumerate() {
            let last = i.checked_sub(1).and_then(|i| self.groups.get(i));
            let is_joined = last.is_none_or(|last| {
                let mark = self.mark(last, group);
                mark.is_some_and(|mark| SPACES.contains(&mark) || HYPHENS.contains(&mark))
                    && (i == 1 || last.len() >= 3)
            });
            count += group.len();
            if !is_joined || count > *CARD_DIGITS.end() {
                break;
            }
            let is_end = !is_wordy(after(self.text, group.end)) && !self.is_number_behind(group);
            if is_end && CARD_DIGITS.contains(&count) {
                let written = self.written(self.groups.get(..=i)?)?;
                best = is_card(&written.digits()).then_some(written.range).or(best);
            }
        }
        best
    }

    /// Whether the group stands behind the point of a number.
    fn is_fraction(&self, group: &Range<usize>) -> bool {
        let is_point = matches!(before(self.text, group.start), Some('.' | ','));
        is_point && before(self.text, group.start - 1).is_some_and(|c| c.is_ascii_digit())
    }

    /// Whether a point and more digits follow the group.
    fn is_number_behind(&self, group: &Range<usize>) -> bool {
        let is_point = matches!(after(self.text, group.end), Some('.' | ','));
        is_point && after(self.text, group.end + 1).is_some_and(|c| c.is_ascii_digit())
    }

    fn phone(&self) -> Option<Range<usize>> {
        let first = self.groups.first()?;
        let start = self.plus()?;
        let is_short = matches!(self.text_of(first).chars().next(), Some('1' | '7'));
        let digits = if is_short { 11..=11 } else { PHONE_DIGITS };
        let (count, end) =
            self.phone_groups(*digits.end()).or_else(|| self.phone_groups(*PHONE_DIGITS.end()))?;
        (PHONE_DIGITS.contains(&count) && !self.text_of(first).starts_with('0')).then_some(start..end)
    }

    /// Where the `+` of the first group stands.
    fn plus(&self) -> Option<usize> {
        let start = self.groups.first()?.start.checked_sub(1)?;
        (after(self.text, start) == Some('+') && !is_wordy(before(self.text, start))).then_some(start)
    }

    /// As many groups as are joined like those of a phone number and have no more digits; their digits and end.
    fn phone_groups(&self, digits_max: usize) -> Option<(usize, usize)> {
        let mut count = 0;
        let mut end = 0;
        for (i, group) in self.groups.iter().enumerate() {
            let last = i.checked_sub(1).and_then(|i| self.groups.get(i));
            let is_joined = last.is_none_or(|last| {
                let between = self.text.get(last.end..group.start).unwrap_or_default();
                group.len() >= 2 && is_phone_mark(between)
            });
            if !is_joined || count + group.len() > digits_max {
                break;
            }
            count += group.len();
            end = group.end;
        }
        (count > 0 && !is_wordy(after(self.text, end))).then_some((count, end))
    }

    fn ru_phone(&self) -> Option<Range<usize>> {
        let first = self.groups.first()?;
        if !self.text_of(first).starts_with(['7', '8']) {
            return None;
        }
        let (count, end) = self.phone_groups(11)?;
        let within = self.groups.iter().take_while(|group| group.end <= end);
        let lengths: Vec<usize> = within.clone().map(Range::len).collect();
        let digits: String = within.map(|group| self.text_of(group)).collect();
        let start = match self.plus() {
            Some(start) if digits.starts_with('7') => start,
            None if digits.starts_with('8') && RU_PHONE_GROUPS.contains(&lengths.as_slice()) => {
                let is_free = !is_wordy(before(self.text, first.start)) && !self.is_fraction(first);
                // Without marks only a mobile number can be told from an ordinary id.
                let is_likely = lengths.len() > 1 || digits.starts_with("89");
                (is_free && is_likely && before(self.text, first.start) != Some('-'))
                    .then_some(first.start)?
            }
            _ => return None,
        };
        let area = digits.chars().nth(1);
        (count == 11 && matches!(area, Some('3' | '4' | '8' | '9'))).then_some(start..end)
    }

    /// `112-233-445 95`: the last mark is another one.
    fn snils(&self) -> Option<Range<usize>> {
        let groups = self.groups.get(..4)?;
        if !groups.iter().map(Range::len).eq([3, 3, 3, 2]) {
            return None;
        }
        let mut pairs = groups.iter().zip(groups.iter().skip(1));
        let is_marked = pairs.all(|(one, next)| {
            let mark = self.mark(one, next);
            mark.is_some_and(|mark| SPACES.contains(&mark) || HYPHENS.contains(&mark))
        });
        let written = self.written(groups)?;
        let is_free = !is_wordy(before(self.text, written.range.start))
            && !is_wordy(after(self.text, written.range.end));
        (is_marked && is_free && is_snils(&written)).then_some(written.range)
    }

    /// Two letters, and the first group right behind them.
    fn letters(&self) -> Option<(&'t str, usize)> {
        let start = self.groups.first()?.start;
        let letters = self.text.get(start.checked_sub(2)?..start)?;
        let is_whole =
            letters.bytes().all(|b| b.is_ascii_alphabetic()) && !is_wordy(before(self.text, start - 2));
        is_whole.then_some((letters, start - 2))
    }

    fn passport(&self) -> Option<Range<usize>> {
        let (letters, start) = self.letters()?;
        let group = self.groups.first()?;
        let is_passport = letters.bytes().all(|b| b.is_ascii_uppercase()) && group.len() == 7;
        (is_passport && !is_wordy(after(self.text, group.end))).then_some(start..group.end)
    }

    fn iban(&self) -> Option<Range<usize>> {
        let (country, start) = self.letters()?;
        let (_, length) = IBAN_LENGTHS.iter().find(|(code, _)| code.eq_ignore_ascii_case(country))?;
        let mut account = String::with_capacity(*length);
        let mut end = start;
        let mut is_marked = true;
        for (at, c) in self.text.get(start..)?.char_indices() {
            if c.is_ascii_alphanumeric() {
                account.push(c);
                end = start + at + 1;
                is_marked = false;
            } else if is_marked || !(SPACES.contains(&c) || HYPHENS.contains(&c)) {
                break;
            } else {
                is_marked = true;
            }
            if account.len() == *length {
                break;
            }
        }
        let is_whole = account.len() == *length && !is_wordy(after(self.text, end));
        (is_whole && is_iban(&account)).then_some(start..end)
    }
}

/// Whether a text can stand between two groups of a phone number: a mark, and a bracket beside it.
fn is_phone_mark(between: &str) -> bool {
    let is_mark = |c: char| SPACES.contains(&c) || HYPHENS.contains(&c) || c == '.';
    let plain: String = between.chars().filter(|c| !is_mark(*c)).collect();
    between.chars().count() <= 2
        && between.chars().filter(|c| is_mark(*c)).count() <= 1
        && plain.len() <= 1
        && matches!(plain.as_str(), "" | "(" | ")")
        && !between.is_empty()
}

/// Whether a stretch is part of a UUID, whose groups are often nothing but digits.
fn is_in_uuid(text: &str, range: &Range<usize>) -> bool {
    const UUID_BYTES: usize = 36;
    let is_part = |b: &&u8| b.is_ascii_hexdigit() || **b == b'-';
    let (left, right) = (text.as_bytes().get(..range.start), text.as_bytes().get(range.end..));
    let left = left.unwrap_or_default().iter().rev().take(UUID_BYTES).take_while(is_part).count();
    let right = right.unwrap_or_default().iter().take(UUID_BYTES).take_while(is_part).count();
    let whole = text.get(range.start - left..range.end + right).unwrap_or_default();
    whole.len() == UUID_BYTES && whole.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

fn is_card(digits: &[u32]) -> bool {
    let start = digits.iter().take(4).fold(0, |start, digit| start * 10 + digit);
    let is_issued =
        ISSUERS.iter().any(|(starts, lengths)| starts.contains(&start) && lengths.contains(&digits.len()));
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, digit)| match digit * if i % 2 == 0 { 1 } else { 2 } {
            doubled @ 10.. => doubled - 9,
            digit => digit,
        })
        .sum();
    is_issued && sum.is_multiple_of(10)
}

fn is_ssn(written: &Written<'_>) -> bool {
    let [area, group, serial] = *written.values().as_slice() else { return false };
    !matches!(area, 0 | 666 | 900..) && group > 0 && serial > 0
}

fn is_ipv4(written: &Written<'_>) -> bool {
    // `name-1.2.3.4.tar.gz` is a file with its version.
    let left = before(written.text, written.range.start);
    let rest = written.text.get(written.range.end..).unwrap_or_default();
    let is_file = matches!(left, Some('-' | '_'))
        && rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    !is_file && written.values().iter().all(|octet| *octet <= 255)
}

fn is_date(written: &Written<'_>) -> bool {
    let [first, second, third] = *written.values().as_slice() else { return false };
    let is_year_first = written.parts.first().is_some_and(|part| part.len() == 4);
    let (year, one, two) = if is_year_first { (first, second, third) } else { (third, first, second) };
    let is_day = |month: u32, day: u32| (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_year = year < 100 || (1900..=2099).contains(&year);
    // `name@4.17.21` is a version.
    let is_version = before(written.text, written.range.start) == Some('@');
    is_year && !is_version && (is_day(one, two) || is_day(two, one) && !is_year_first)
}

fn is_inn(written: &Written<'_>) -> bool {
    let digits = written.digits();
    let control = |weights: &[u32]| {
        let sum: u32 = weights.iter().zip(&digits).map(|(weight, digit)| weight * digit).sum();
        digits.get(weights.len()) == Some(&(sum % 11 % 10))
    };
    match digits.len() {
        10 => {
            // Seconds since 1970 have ten digits too, and so have many ids that are numbers.
            let is_likely = !written.label.is_number && !matches!(digits.first(), Some(1 | 2));
            control(&[2, 4, 10, 3, 5, 9, 4, 6, 8]) && (is_likely || written.is_called(&["inn", "инн"]))
        }
        12 => control(&[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) && control(&[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]),
        _ => false,
    }
}

fn is_snils(written: &Written<'_>) -> bool {
    let digits = written.digits();
    let (number, control) = digits.split_at_checked(9).unwrap_or_default();
    let sum: u32 = number.iter().zip((1..=9).rev()).map(|(digit, weight): (&u32, u32)| digit * weight).sum();
    let given = control.iter().fold(0, |given, digit| given * 10 + digit);
    // Numbers below this one were given out before there was a checksum.
    let is_numbered = number.iter().fold(0, |all, digit| all * 10 + digit) > 1_001_998;
    is_numbered && given == sum % 101 % 100
}

/// The second pair of digits is the year of the form, and forms are in use since 1997.
fn is_ru_passport(written: &Written<'_>) -> bool {
    let digits = written.digits();
    let year = digits.iter().skip(2).take(2).fold(0, |year, digit| year * 10 + digit);
    let region = digits.iter().take(2).fold(0, |region, digit| region * 10 + digit);
    region > 0 && matches!(year, 97..=99 | 0..=39)
}
