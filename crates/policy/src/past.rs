//! Which calls are remembered with their values, and what they do to a log.
//!
//! A [`Recorder`] looks at every call that is decided about and at every result, and says how its log changes. What a rule
//! asks the log is a [`Past`].

use std::sync::Arc;

use crate::{
    audience::earns,
    condition::{Condition, Subject, key_of, value_of},
    decision::{Decision, Truth},
    names::FileId,
    view::View,
    window::WindowId,
};

pub use crate::{
    condition::Past,
    log::{ClearingCall, Entry, Keeps, LOG_ENTRIES_MAX, Log, LogChange, Measure},
};

/// Which calls a log takes.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The log.
    pub window: WindowId,
    /// What must hold of the call and, once it has come, of its result.
    pub conditions: Vec<Condition>,
    /// What must have become of it.
    pub outcome: Outcome,
    /// What happens to the log.
    pub action: Action,
    /// The values by which entries are told apart.
    pub keys: Vec<Subject>,
    /// The value that is summed up, or of which different ones are counted.
    pub value: Option<Subject>,
    /// What is measured.
    pub measure: Measure,
    /// How many entries of one key are asked for.
    pub keep: usize,
    /// How long entries are asked for.
    pub within_ms: Option<u64>,
    /// Whether the log opens something: then nothing doubtful is taken.
    pub is_credit: bool,
    /// The names that the call must certainly amount to for its success to be earned, to the rules of a file.
    pub earned: Option<(FileId, Vec<Arc<str>>)>,
    /// Whether the call must also have begun after everything that clears the log.
    pub is_since: bool,
    /// Whether a call that clears the log does so for as long as it runs.
    pub lasts: bool,
}

/// What must have become of an earlier call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Anything: it was asked for.
    Asked,
    /// It was let pass.
    Called,
    /// It has a result.
    Answered,
    /// It succeeded.
    Ok,
    /// It failed.
    Failed,
}

/// What a call does to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is an entry.
    Enter,
    /// It clears the entries of the same values.
    Clear,
    /// It clears the entries of other values.
    KeepSame,
    /// It clears all entries, whatever it is: only the call just before is asked for.
    Supersede,
}

/// A call that was decided about, or that has ended.
#[derive(Clone, Copy)]
pub struct Witnessed<'a> {
    /// The call and, where it has come, its result.
    pub view: View<'a>,
    /// What happened.
    pub moment: Moment,
}

/// What happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// This was decided.
    Decided(Decision),
    /// A result came.
    Ended {
        /// Whether it says success.
        is_ok: bool,
    },
}

impl Recorder {
    /// How a call changes the log, if it does.
    pub(crate) fn change(&self, witnessed: &Witnessed<'_>) -> Option<LogChange> {
        let Witnessed { view, moment } = witnessed;
        let begins = self.is_since && matches!(moment, Moment::Decided(Decision::Allow | Decision::Redact));
        let ends = self.is_since && matches!(moment, Moment::Ended { .. });
        let id = || view.call.id.clone();
        let is_end = |outcome| matches!(outcome, Outcome::Answered | Outcome::Ok | Outcome::Failed);
        let waits = begins && is_end(self.outcome);
        let lands = ends && is_end(self.outcome);
        let forget = || lands.then(|| LogChange::End { id: id(), entry: None, keeps: self.keeps() });
        if self.action == Action::Enter && !waits && !self.outcome.is(*moment) {
            return forget();
        }
        // What clears a log is feared when it begins, and again when it ends.
        if self.action != Action::Enter && *moment == Moment::Decided(Decision::Ask) {
            return None;
        }
        // The result of the call just before does not make another call of it.
        if self.action == Action::Supersede && !self.outcome.is_of_result() && ends_only(*moment) {
            return None;
        }
        if matches!(self.action, Action::Clear | Action::KeepSame)
            && !matches!(self.outcome, Outcome::Asked)
            && !self.outcome.is(*moment)
        {
            return None;
        }
        // What opens something by its success has to be certain of it.
        if let (Some((file, names)), Moment::Ended { is_ok: true }) = (&self.earned, moment)
            && !view.deeds.is_some_and(|deeds| earns(deeds, *file, names))
        {
            return forget();
        }
        let truth = self.conditions.iter().fold(Truth::Yes, |so_far, it| so_far.and(it.truth(view)));
        // Where something only opens, a doubt enters nothing and clears everything; where something closes, it enters and
        // clears nothing.
        let counts = match (self.action, self.is_credit) {
            // What its result says is not known yet.
            (_, _) if waits => true,
            (Action::Enter, true) | (Action::Clear | Action::KeepSame, false) => truth == Truth::Yes,
            _ => truth != Truth::No,
        };
        if !counts {
            return forget();
        }
        let key = key_of(&self.keys, view, self.is_credit);
        match self.action {
            Action::Supersede => Some(LogChange::Clear(None)),
            // What opens stays closed for as long as such a call runs: it is not known what it has done so far.
            Action::Clear if self.is_credit && self.lasts && (begins || ends) => {
                let call = ClearingCall { id: id(), key: key.filter(|_| !self.keys.is_empty()) };
                Some(if begins { LogChange::ClearWhileRunning(call) } else { LogChange::ClearAtEnd(call) })
            }
            Action::Clear if self.keys.is_empty() => Some(LogChange::Clear(None)),
            Action::Clear if self.is_credit || key.is_some() => Some(LogChange::Clear(key)),
            Action::KeepSame if key.is_some() => key.map(LogChange::Keep),
            Action::KeepSame if self.is_credit => Some(LogChange::Clear(None)),
            Action::Clear | Action::KeepSame => None,
            Action::Enter if key.is_none() && self.is_credit => forget(),
            Action::Enter => {
                let entry = Entry {
                    at_ms: view.now.0,
                    key,
                    value: self.value.as_ref().and_then(|subject| value_of(subject, view)),
                    is_possible: truth == Truth::Doubt && !waits,
                    awaited: waits.then(id),
                };
                let keeps = self.keeps();
                Some(match lands {
                    true => LogChange::End { id: id(), entry: Some(entry), keeps },
                    false => LogChange::Enter { entry, keeps },
                })
            }
        }
    }

    fn keeps(&self) -> Keeps {
        let Self { measure, keep, within_ms, is_credit, .. } = *self;
        Keeps { measure, count: keep, within_ms, is_credit }
    }
}

fn ends_only(moment: Moment) -> bool {
    matches!(moment, Moment::Ended { .. })
}

impl Outcome {
    fn is(self, moment: Moment) -> bool {
        match (self, moment) {
            (Self::Asked, Moment::Decided(decision)) => decision != Decision::Ask,
            (Self::Called, Moment::Decided(decision)) => decision < Decision::Ask,
            (Self::Answered, Moment::Ended { .. }) => true,
            (Self::Ok, Moment::Ended { is_ok }) => is_ok,
            (Self::Failed, Moment::Ended { is_ok }) => !is_ok,
            _ => false,
        }
    }

    /// Whether it is known only from the result.
    pub fn is_of_result(self) -> bool {
        matches!(self, Self::Answered | Self::Ok | Self::Failed)
    }
}

/// Whether the results of a call are asked for by some recorder.
pub(crate) fn looks_at_call(recorder: &Recorder) -> bool {
    recorder.outcome.is_of_result() || recorder.action != Action::Enter
}
