//! Many questions at once, on as many cores as there are.
//!
//! Each question is answered by itself, so the answers are the same whatever the number of threads; they
//! come in the order of the questions.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    answer::Answer,
    label::{Label, LabelSet},
    prover::Prover,
    rule::{Cell, Rule},
    scratch::Scratch,
    structure::{RuleId, System},
    tour::tour,
    verdict::states_of_each,
};

/// How many questions a thread takes at once.
const QUESTIONS_AT_ONCE: usize = 16;

/// So few questions per thread are answered sooner than a thread is started.
const QUESTIONS_PER_THREAD_MIN: usize = 64;

/// A rule that one system has and another has not, and whether that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The rule, by its place in the system that has it.
    pub rule: RuleId,
    /// Is there a session of the other system that this rule refuses at its last label?
    pub answer: Answer,
}

impl Prover<'_> {
    /// For each label of the system: is there a session that ends with it?
    pub fn all_can_call(&self) -> Vec<(Label, Answer)> {
        let labels = self.system.labels();
        let answers = self.many(labels, |label, scratch| self.can_call_in(&LabelSet::from(*label), scratch));
        labels.iter().copied().zip(answers).collect()
    }

    /// The labels that were seen to happen on one long session; of the others, nothing is said.
    pub fn seen_to_happen(&self) -> LabelSet {
        let start = |_: usize, cell: &Cell| Some(cell.start());
        let tour = tour(self.system, start);
        tour.order.into_iter().filter_map(|label| self.system.labels().get(label)).copied().collect()
    }

    /// For each rule of the system: is there a session that only this rule refuses?
    pub fn all_can_matter(&self) -> Vec<Answer> {
        let ids: Vec<RuleId> = (0..self.system.rules().len()).map(RuleId).collect();
        self.many(&ids, |id, scratch| self.can_matter_in(*id, scratch))
    }

    /// For each of these sets: is there a session that ends with this label, for each of its labels up to the first that
    /// is not ruled out. Labels that can never happen because of what they wait for are answered together.
    pub fn all_can_call_one_by_one(&self, sets: &[LabelSet]) -> Vec<Vec<Answer>> {
        self.each(sets, |labels, scratch| {
            if self.wait_for_ever(labels) {
                return vec![self.can_call_in(labels, scratch)];
            }
            let mut answers = Vec::new();
            for label in labels.iter() {
                answers.push(self.can_call_in(&label.into(), scratch));
                if answers.last().is_some_and(|answer| !answer.is_no()) {
                    break;
                }
            }
            answers
        })
    }

    /// Whether none of these labels can ever happen, because of what they wait for.
    pub fn wait_for_ever(&self, labels: &LabelSet) -> bool {
        labels.iter().all(|label| self.system.position(label).is_some_and(|it| self.waiting.is_dead(it)))
    }

    /// For each of these further rules and the rule of the system in whose place it stands: whether it is proved that
    /// no session of all other rules is refused by it, at its last label. No session is shown, so the first that comes
    /// along will do.
    pub fn all_never_violate_instead(&self, rules: &[(Rule, RuleId)]) -> Vec<bool> {
        let states_max = states_of_each(rules.len());
        self.each(rules, |(rule, of), scratch| self.never_violates_instead_in(rule, *of, states_max, scratch))
    }

    /// For each of these further rules: is there a session that it refuses at its last label?
    pub fn all_can_violate(&self, rules: &[Rule]) -> Vec<Answer> {
        self.many(rules, |rule, scratch| self.can_violate_in(rule, scratch))
    }

    /// For each of these goals: is there a session after which it is out of reach?
    pub fn all_can_lose(&self, goals: &[LabelSet]) -> Vec<Answer> {
        self.many(goals, |goal, scratch| self.can_lose_in(goal, scratch))
    }

    /// What this system allows and another one refuses: for each rule that only the other one has, a session
    /// that shows it. If all answers are no, whatever this system allows the other one allows too.
    pub fn refused_by(&self, other: &System) -> Vec<Difference> {
        let only_there = |(_, rule): &(usize, &Rule)| !self.has(rule);
        let (ids, rules): (Vec<RuleId>, Vec<&Rule>) =
            other.rules().iter().enumerate().filter(only_there).map(|(id, rule)| (RuleId(id), rule)).unzip();
        let answers = self.many(&rules, |rule, scratch| self.can_violate_in(rule, scratch));
        ids.into_iter().zip(answers).map(|(rule, answer)| Difference { rule, answer }).collect()
    }

    fn many<Q: Sync>(&self, questions: &[Q], ask: impl Fn(&Q, &mut Scratch) -> Answer + Sync) -> Vec<Answer> {
        self.each(questions, ask)
    }

    fn each<Q: Sync, A: Send>(&self, questions: &[Q], ask: impl Fn(&Q, &mut Scratch) -> A + Sync) -> Vec<A> {
        let threads = self.bounds.threads.min(questions.len() / QUESTIONS_PER_THREAD_MIN);
        if threads < 2 {
            let mut scratch = Scratch::default();
            return questions.iter().map(|question| ask(question, &mut scratch)).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut scratch, mut done) = (Scratch::default(), Vec::new());
            loop {
                let from = next.fetch_add(QUESTIONS_AT_ONCE, Ordering::Relaxed);
                let to = questions.len().min(from.saturating_add(QUESTIONS_AT_ONCE));
                let Some(mine) = questions.get(from..to).filter(|mine| !mine.is_empty()) else { return done };
                let answers: Vec<_> = mine.iter().map(|question| ask(question, &mut scratch)).collect();
                done.push((from, answers));
            }
        };
        let mut parts: Vec<(usize, Vec<A>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        parts.sort_by_key(|(from, _)| *from);
        parts.into_iter().flat_map(|(_, answers)| answers).collect()
    }
}
