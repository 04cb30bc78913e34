//! What two counts of a case say about each other. Which of them is right is not known here.

use super::profile::Profile;

/// How far a count may be off before it counts as a change.
///
/// Tables have random seeds, so the same program takes a few instructions more or fewer: a thousandth in 20 runs. Where the
/// same code is built beside other libraries, texts stand elsewhere in memory and compare faster or slower: three
/// thousandths.
pub(crate) const TOLERANCE_PERMILLE: u64 = 10;

/// The line of all functions that are too small to be listed.
const OTHERS: &str = "(all others)";

/// One case: what was accepted, and what is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) case: String,
    /// Its budget.
    pub(crate) accepted: Option<u64>,
    /// Its count.
    pub(crate) now: Option<u64>,
    /// How they compare.
    pub(crate) state: State,
}

/// How a count compares with its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The same, as far as that can be told.
    Within,
    /// Too many.
    Over,
    /// Fewer.
    Under,
    /// There is no budget.
    New,
    /// There is no count.
    Gone,
}

impl Row {
    /// Compares a count with its budget.
    pub(crate) fn new(case: &str, accepted: Option<u64>, now: Option<u64>) -> Self {
        let state = match (accepted, now) {
            (Some(accepted), Some(now)) if is_above(now, accepted) => State::Over,
            (Some(accepted), Some(now)) if is_above(accepted, now) => State::Under,
            (Some(_), Some(_)) => State::Within,
            (None, _) => State::New,
            (_, None) => State::Gone,
        };
        Self { case: case.to_owned(), accepted, now, state }
    }

    /// How much more it is, in percent of what was accepted.
    pub(crate) fn change_percent(&self) -> Option<f64> {
        let accepted = self.accepted.filter(|count| *count > 0)?;
        Some(difference(accepted, self.now?) as f64 * 100.0 / accepted as f64)
    }
}

impl State {
    /// Does the guard let it pass?
    pub(crate) fn is_fine(self) -> bool {
        matches!(self, Self::Within | Self::Under)
    }

    /// As JSON says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Over => "over",
            Self::Under => "under",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

fn is_above(count: u64, budget: u64) -> bool {
    u128::from(count) * 1000 > u128::from(budget) * u128::from(1000 + TOLERANCE_PERMILLE)
}

/// One function that takes more or fewer instructions than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Its name.
    pub(crate) function: String,
    /// Its count before; none where it was not among those that are kept.
    pub(crate) before: Option<u64>,
    /// Its count now.
    pub(crate) now: u64,
}

impl Difference {
    /// How many more.
    pub(crate) fn change(&self) -> i64 {
        difference(self.before.unwrap_or_default(), self.now)
    }
}

/// How many more instructions there are now.
pub(crate) fn difference(before: u64, now: u64) -> i64 {
    i64::try_from(i128::from(now) - i128::from(before)).unwrap_or(i64::MAX)
}

/// All functions that changed, the greatest change first; together they are the whole difference.
///
/// Before, only the greatest functions were kept. One that is among them now and was not is listed alone; all that
/// were too small before and still are stand in one line.
pub(crate) fn differences(before: &Profile, now: &Profile) -> Vec<Difference> {
    let unlisted_max =
        if before.unlisted() == 0 { 0 } else { before.functions.values().min().copied().unwrap_or(0) };
    let mut others = Difference { function: OTHERS.to_owned(), before: Some(before.unlisted()), now: 0 };
    let mut all = Vec::new();
    for (function, &count) in &now.functions {
        let known = before.functions.get(function).copied();
        if known.is_none() && count <= unlisted_max {
            others.now += count;
        } else {
            all.push(Difference { function: function.clone(), before: known, now: count });
        }
    }
    let gone = before.functions.iter().filter(|(function, _)| !now.functions.contains_key(*function));
    all.extend(gone.map(|(function, &count)| Difference {
        function: function.clone(),
        before: Some(count),
        now: 0,
    }));
    all.push(others);
    all.retain(|difference| difference.change() != 0);
    all.sort_by(|a, b| b.change().abs().cmp(&a.change().abs()).then_with(|| a.function.cmp(&b.function)));
    all
}
