//! What two policies let happen differently, with sessions that tell them apart.
//!
//! Up to its last call a session that tells two policies apart is let pass by both. So for each rule that only one of
//! them has, the shortest session of the other one that it refuses is looked for; if there is none for any rule, no
//! session tells them apart. Rules that look at more than what was called are compared as they are written.

mod approach;
mod loose;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_petri::prove::{
    Answer, Explored, Label, LabelSet, Prover, Rule as Form, System, TooManyRules, Trace,
};
use lockgate_policy::{Policy, RuleId, clause::Standing};

use super::{
    compose::{Composed, Played, Requirements, is_as_strict},
    labels::Labels,
};

pub use approach::Approach;

/// One way in which two policies may differ, to be played.
#[derive(Clone, Debug)]
pub struct Change {
    /// The policy whose rule makes the difference: it is stricter there.
    pub stricter: Side,
    /// The rule.
    pub rule: RuleId,
    /// Whether the stricter one asks a human; otherwise it refuses.
    pub asks: bool,
    /// The names the last call may have.
    pub tools: Vec<Arc<str>>,
    /// The session that shows it, its last call decided differently; none where it was not decided.
    pub session: Option<Vec<Played>>,
    /// Whether it is proved that no session that shows it is shorter.
    pub is_shortest: bool,
    /// Why it was not decided.
    pub undecided: Option<String>,
}

/// One of two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that was.
    Old,
    /// The one that is to be.
    New,
}

impl Side {
    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

/// All ways in which two policies may differ.
#[derive(Debug)]
pub struct Difference {
    /// For each rule that only one of them has and that makes, or may make, a difference.
    pub changes: Vec<Change>,
    /// Tools of which there are too many ways to look at all.
    pub cut: Vec<Arc<str>>,
}

/// Compares two policies.
///
/// # Errors
/// When there are more rules than the engine takes.
pub fn diff(old: &Policy, new: &Policy) -> Result<Difference, TooManyRules> {
    let (labels, late) = Labels::both(&[old, new]);
    let late = late.as_ref();
    let of = |side, number, policy| {
        let composed = Composed::compared(&labels, number, policy)?;
        let late = late.map(|late| Composed::compared(late, number, policy)).transpose()?;
        let counts_calls = labels.counts_calls() && late.is_none() && composed.left_out.is_empty();
        Ok(ComparedPolicy { side, policy, composed, late, counts_calls })
    };
    let (old, new) = (of(Side::Old, 0, old)?, of(Side::New, 1, new)?);
    let mut changes = old.refuses_more_than(&new);
    changes.extend(new.refuses_more_than(&old));
    changes.extend(old.asks_more_than(&new)?);
    changes.extend(new.asks_more_than(&old)?);
    changes.extend(old.looks_otherwise_than(&new));
    changes.extend(new.looks_otherwise_than(&old));
    Ok(Difference { changes, cut: labels.ways.cut.clone() })
}

struct ComparedPolicy<'p> {
    side: Side,
    policy: &'p Policy,
    /// Calls one after another.
    composed: Composed,
    /// The same where results may come late, if that matters.
    late: Option<Composed>,
    /// Whether the shortest session is the shortest of calls.
    counts_calls: bool,
}

impl ComparedPolicy<'_> {
    /// What this one refuses and the other one does not.
    fn refuses_more_than(&self, other: &Self) -> Vec<Change> {
        let prover = Prover::new(&other.composed.system);
        let late = self.late.as_ref().zip(other.late.as_ref());
        let late = late.map(|(mine, theirs)| (mine, Prover::new(&theirs.system)));
        let requirements = Requirements::of(&other.composed.system);
        let mut changes = Vec::new();
        for difference in prover.refused_by(&self.composed.system) {
            let (form, Some(rule)) = (difference.rule, self.composed.rule(difference.rule)) else { continue };
            // A rule's forms have the same numbers in both systems, so a no can be asked again.
            let (composed, answer) = match (difference.answer, &late) {
                (Answer::No(_), Some((mine, prover))) => {
                    let strict = mine.system.rules().get(form.0).map(|form| mine.strict(form));
                    let answer = strict.map(|strict| prover.can_violate(&strict));
                    (*mine, answer.unwrap_or(Answer::Undecided(Explored::default())))
                }
                (answer, _) => (&self.composed, answer),
            };
            let own = self.composed.system.rules().get(form.0);
            if answer.is_no() && own.is_some_and(|own| requirements.entangle(own)) {
                let why = "a result that comes late may count for one and not for the other".to_owned();
                changes.push(self.undecided(rule, false, Vec::new(), why));
                continue;
            }
            let is_doubted = |own: &Form| {
                let theirs = other.composed.system.rules();
                let strictest =
                    self.composed.doubted(own).filter(|_| !theirs.iter().any(|it| is_as_strict(it, own)));
                strictest.is_some_and(|strictest| {
                    let late = late.as_ref().map(|(_, late)| late.can_violate(&strictest));
                    !prover.can_violate(&strictest).is_no() || late.is_some_and(|answer| !answer.is_no())
                })
            };
            if answer.is_no() && own.is_some_and(is_doubted) {
                let why = "a call that may not do what it is named for counts for one and not for the other"
                    .to_owned();
                changes.push(self.undecided(rule, false, Vec::new(), why));
                continue;
            }
            match answer {
                // A call that a workflow refuses may end a stage of it, one that another rule refuses may not.
                Answer::No(_)
                    if !self.policy.workflows().is_empty() || !other.policy.workflows().is_empty() =>
                {
                    let why = "what is refused with it and without it may still move a workflow".to_owned();
                    changes.push(self.undecided(rule, false, Vec::new(), why));
                }
                Answer::No(_) => {}
                Answer::Yes(trace) => changes.push(self.change(composed, rule, false, &trace)),
                Answer::Undecided(explored) => {
                    let why = format!("not decided within {} states", explored.states);
                    changes.push(self.undecided(rule, false, Vec::new(), why));
                }
            }
        }
        changes
    }

    /// What this one asks a human about and the other one does not, where both let it happen.
    fn asks_more_than(&self, other: &Self) -> Result<Vec<Change>, TooManyRules> {
        let found = asked_by((self.policy, &self.composed), (other.policy, &other.composed))?;
        let late = match self.late.as_ref().zip(other.late.as_ref()) {
            Some((mine, theirs)) => Some((mine, asked_by((self.policy, mine), (other.policy, theirs))?)),
            None => None,
        };
        let mut changes = Vec::new();
        for (name, (rule, answer)) in &found {
            let (composed, answer) = match (answer, &late) {
                (Answer::No(_), Some((composed, late))) => {
                    (*composed, late.get(name).map_or(answer, |(_, answer)| answer))
                }
                _ => (&self.composed, answer),
            };
            match answer {
                Answer::Yes(trace) => {
                    let mut change = self.change(composed, *rule, true, trace);
                    let last = change.session.as_mut().and_then(|session| session.last_mut());
                    // Where both ask at first, the second call shows whether the answer stands.
                    if let (true, Some(last)) = (other.asks_sometimes(trace), last) {
                        last.acts.extend(last.acts.last().cloned());
                        change.is_shortest = false;
                    }
                    changes.push(change);
                }
                Answer::No(_) => {}
                Answer::Undecided(explored) => {
                    let why = format!("not decided within {} states", explored.states);
                    changes.push(self.undecided(*rule, true, vec![name.clone()], why));
                }
            }
        }
        Ok(changes)
    }

    /// Whether some rule asks about the last label of a trace, if only until a human has answered.
    fn asks_sometimes(&self, trace: &Trace) -> bool {
        let last = trace.last();
        self.composed.human.iter().any(|(_, labels)| last.is_some_and(|last| labels.contains(last)))
    }

    fn change(&self, composed: &Composed, rule: RuleId, asks: bool, trace: &Trace) -> Change {
        let last = trace.last().and_then(|label| composed.act(label)).map(|act| act.way.deed());
        Change {
            stricter: self.side,
            rule,
            asks,
            tools: last.into_iter().collect(),
            session: Some(composed.played(trace)),
            is_shortest: trace.is_shortest() && self.counts_calls,
            undecided: None,
        }
    }

    fn undecided(&self, rule: RuleId, asks: bool, tools: Vec<Arc<str>>, why: String) -> Change {
        let stricter = self.side;
        Change { stricter, rule, asks, tools, session: None, is_shortest: false, undecided: Some(why) }
    }
}

/// For each name that one asks a human about and the other does not: is there a session of both that calls it?
fn asked_by(
    (my_policy, mine): (&Policy, &Composed),
    (their_policy, theirs): (&Policy, &Composed),
) -> Result<BTreeMap<Arc<str>, (RuleId, Answer)>, TooManyRules> {
    // A rule that asks each time asks as often as possible.
    let each_time = theirs.human.iter().filter(|(rule, _)| standing(their_policy, *rule) == Standing::Once);
    let known: BTreeSet<Label> =
        each_time.flat_map(|(_, labels)| labels.iter().collect::<Vec<_>>()).collect();
    let is_theirs = |rule: RuleId, labels: &LabelSet| {
        let alike = |other: &(RuleId, LabelSet)| {
            other.1 == *labels && standing(their_policy, other.0) == standing(my_policy, rule)
        };
        theirs.human.iter().any(alike)
    };
    let mut by_name: BTreeMap<Arc<str>, (RuleId, Vec<Label>)> = BTreeMap::new();
    for (rule, labels) in mine.human.iter().filter(|(rule, labels)| !is_theirs(*rule, labels)) {
        for label in labels.iter().filter(|label| !known.contains(label)) {
            if let Some(act) = mine.act(label) {
                by_name.entry(act.way.deed()).or_insert_with(|| (*rule, Vec::new())).1.push(label);
            }
        }
    }
    let both = System::new(mine.system.rules().iter().chain(theirs.system.rules()).cloned().collect())?;
    let prover = Prover::new(&both);
    let ask = |labels: Vec<Label>| prover.can_call(&labels.into_iter().collect());
    Ok(by_name.into_iter().map(|(name, (rule, labels))| (name, (rule, ask(labels)))).collect())
}

/// How long an answer to a rule stands.
fn standing(policy: &Policy, rule: RuleId) -> Standing {
    policy.clause(rule).map_or(Standing::Once, |clause| clause.standing)
}
