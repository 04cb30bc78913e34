//! Answers: a session that shows it, the rules that rule it out, or an honest "not decided".
//!
//! Every question is of the form "is there a session that …?". A [`Trace`] says a part that happens a
//! million times once, with the number.

use super::{label::Label, structure::RuleId};

/// The answer to "is there a session that …?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this one.
    Yes(Trace),
    /// No, for this reason.
    No(Reason),
    /// Unknown: the search ended at its bounds.
    Undecided(Explored),
}

impl Answer {
    /// The session, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Yes(trace) => Some(trace),
            Self::No(_) | Self::Undecided(_) => None,
        }
    }

    /// Whether it is a proof that there is no such session.
    pub fn is_no(&self) -> bool {
        matches!(self, Self::No(_))
    }

    /// Whether the search ended at its bounds.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Undecided(_))
    }
}

/// The rules that suffice to rule something out: with them alone the answer would be the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// In ascending order.
    pub rules: Vec<RuleId>,
}

/// How far a search went before it gave up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// States that were looked at in the last search.
    pub states: usize,
    /// How many rules that search took into account.
    pub rules: usize,
}

/// A session: labels in order, with repeated parts told once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    runs: Vec<Run>,
    shortest: bool,
}

/// A part of a session and how often it happens in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The labels in order.
    pub labels: Vec<Label>,
    /// How many times.
    pub times: u64,
}

impl Trace {
    pub(super) fn shortest(labels: Vec<Label>) -> Self {
        Self::new([Run { labels, times: 1 }], true)
    }

    pub(super) fn new(runs: impl IntoIterator<Item = Run>, shortest: bool) -> Self {
        let mut trace = Self { runs: Vec::new(), shortest };
        runs.into_iter().for_each(|run| trace.push(run));
        trace
    }

    /// Adds a run, told as part of the rounds before or after it where it is one.
    fn push(&mut self, mut run: Run) {
        if let Some(last) = self.runs.last_mut().filter(|last| last.times > 1) {
            while !run.labels.is_empty() && run.times == 1 && run.labels.starts_with(&last.labels) {
                run.labels.drain(..last.labels.len());
                last.times = last.times.saturating_add(1);
            }
        }
        if run.times == 0 || run.labels.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.labels == run.labels => last.times = last.times.saturating_add(run.times),
            Some(last) if last.times == 1 && run.times == 1 => last.labels.extend(run.labels),
            Some(last) if last.times == 1 => {
                while last.labels.ends_with(&run.labels) {
                    last.labels.truncate(last.labels.len() - run.labels.len());
                    run.times = run.times.saturating_add(1);
                }
                if last.labels.is_empty() {
                    self.runs.pop();
                }
                self.runs.push(run);
            }
            _ => self.runs.push(run),
        }
    }

    pub(super) fn proved_shortest(self, shortest: bool) -> Self {
        Self { shortest, ..self }
    }

    /// The same and then more, of which nothing is proved.
    pub(super) fn then(&self, more: &[Run]) -> Self {
        Self::new(self.runs.iter().chain(more).cloned(), false)
    }

    /// The same without its last label, of which nothing is proved.
    pub(super) fn without_last(&self) -> Self {
        let mut runs = self.runs.clone();
        if let Some(Run { labels, times }) = runs.pop() {
            let shorter = labels.iter().take(labels.len().saturating_sub(1)).copied().collect();
            runs.push(Run { labels, times: times - 1 });
            runs.push(Run { labels: shorter, times: 1 });
        }
        Self::new(runs, false)
    }

    /// The same with other labels; none if one of them has no other. Nothing is proved of it.
    pub fn translated(&self, to: impl Fn(Label) -> Option<Label>) -> Option<Self> {
        let run = |run: &Run| {
            let labels = run.labels.iter().map(|label| to(*label)).collect::<Option<_>>()?;
            Some(Run { labels, times: run.times })
        };
        Some(Self { runs: self.runs.iter().map(run).collect::<Option<_>>()?, shortest: false })
    }

    /// The parts in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether it is proved that no session with the same end is shorter.
    pub fn is_shortest(&self) -> bool {
        self.shortest
    }

    /// How many labels it has, repetitions counted.
    pub fn len(&self) -> u64 {
        let length = |run: &Run| (run.labels.len() as u64).saturating_mul(run.times);
        self.runs.iter().map(length).fold(0, u64::saturating_add)
    }

    /// Whether it is the session in which nothing happens.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All labels one by one, repetitions written out: for short traces.
    pub fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        self.runs.iter().flat_map(|run| (0..run.times).flat_map(|_| run.labels.iter().copied()))
    }

    /// The last label.
    pub fn last(&self) -> Option<Label> {
        self.runs.last().and_then(|run| run.labels.last()).copied()
    }
}
