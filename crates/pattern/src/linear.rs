//! The engine that takes time in proportion to the text, and what can be said of an expression at a glance.

use std::sync::{Arc, OnceLock};

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::{
    error::PatternError,
    found::Match,
    limits::{RANGE_STATES_MAX, STATE_BYTES_MAX},
    python::Glance,
};

/// A linear engine, built when it is first asked: a policy holds many that no call ever needs.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) source: Arc<str>,
    bytes_max: usize,
    /// Whether some text is seen to match without an automaton.
    pub(crate) is_surely_possible: bool,
    built: Arc<OnceLock<Option<regex::Regex>>>,
}

impl Linear {
    /// Looks closely, so that an engine that cannot be built is a mistake at once.
    pub(crate) fn new(expression: &str, bytes_max: usize) -> Result<Self, PatternError> {
        let parsed = regex_syntax::parse(expression).map_err(|_| too_large(bytes_max))?;
        let glance =
            Glance { states_max: states_at_most(&parsed), is_surely_possible: is_surely_possible(&parsed) };
        let linear = Self::small(expression, bytes_max, glance.is_surely_possible);
        // Building is by far the dearest part of loading, and most expressions are small at a glance. Whether
        // another fits is known only once the engine is there.
        let fits = is_small(&glance, bytes_max) || linear.engine().is_some();
        if fits { Ok(linear) } else { Err(too_large(bytes_max)) }
    }

    /// For an expression that [`is_small`]: its engine can surely be built.
    pub(crate) fn small(expression: &str, bytes_max: usize, is_surely_possible: bool) -> Self {
        Self { source: Arc::from(expression), bytes_max, is_surely_possible, built: Arc::default() }
    }

    pub(crate) fn engine(&self) -> Option<&regex::Regex> {
        let build = || regex::RegexBuilder::new(&self.source).size_limit(self.bytes_max).build().ok();
        self.built.get_or_init(build).as_ref()
    }

    pub(crate) fn find(&self, text: &str) -> Match {
        match self.engine() {
            Some(regex) => regex.find(text).map_or(Match::No, |found| Match::At(found.start())),
            None => Match::Unsure,
        }
    }
}

pub(crate) fn is_small(glance: &Glance, bytes_max: usize) -> bool {
    glance.states_max.saturating_mul(STATE_BYTES_MAX) <= bytes_max
}

pub(crate) fn too_large(bytes_max: usize) -> PatternError {
    let remedy = "use smaller repetitions";
    PatternError::whole(format!("the expression takes more than {bytes_max} bytes when compiled: {remedy}"))
}

/// How many states an automaton for it has at most, as far as a glance shows.
fn states_at_most(parsed: &Hir) -> usize {
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len().saturating_add(1),
        // A range of characters is at most a few sequences of bytes.
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(RANGE_STATES_MAX),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len().saturating_add(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            states_at_most(&repetition.sub).saturating_add(2).saturating_mul(times.saturating_add(1))
        }
        HirKind::Capture(capture) => states_at_most(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(1, |sum: usize, part| sum.saturating_add(states_at_most(part)).saturating_add(1)),
    }
}

/// Whether some text matches, seen from the shape alone: only an empty set of characters, or an edge where none can
/// be, is in the way of every text. A start at the front and an end at the back are not.
fn is_surely_possible(parsed: &Hir) -> bool {
    let HirKind::Concat(parts) = parsed.kind() else {
        return is_plain(parsed) || ends_well(parsed);
    };
    let is_start = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::Start));
    let starts = parts.iter().take_while(|part| is_start(part)).count();
    match parts.get(starts..).and_then(<[Hir]>::split_last) {
        Some((last, before)) => before.iter().all(is_plain) && ends_well(last),
        None => true,
    }
}

/// Whether it asks for no edges, and for no character that there is none of.
fn is_plain(part: &Hir) -> bool {
    part.properties().look_set().is_empty() && part.properties().minimum_len().is_some()
}

/// Whether it can match at the end of a text.
fn ends_well(part: &Hir) -> bool {
    match part.kind() {
        HirKind::Look(look) => *look == Look::End,
        HirKind::Concat(parts) => {
            parts.split_last().is_none_or(|(last, before)| before.iter().all(is_plain) && ends_well(last))
        }
        HirKind::Alternation(ways) => ways.iter().any(ends_well),
        HirKind::Repetition(repetition) => repetition.min == 0 || is_plain(part),
        HirKind::Capture(capture) => ends_well(&capture.sub),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => is_plain(part),
    }
}
