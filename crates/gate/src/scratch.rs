//! A session as it would be, without changing it.
//!
//! Judging happens on a [`Scratch`]: it reads through to the session and keeps what would move. Dropping it
//! undoes everything, which is why a refusal can never leave half a change behind.

use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{NetRule, Policy, RuleId};

use crate::state::{Move, Moves, Notes, Session};

pub(crate) struct Scratch<'a> {
    policy: &'a Policy,
    session: &'a Session,
    moves: Moves,
    notes: Vec<(RuleId, Notes)>,
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(policy: &'a Policy, session: &'a Session) -> Self {
        Self { policy, session, moves: Moves::new(), notes: Vec::new() }
    }

    pub(crate) fn marking<'b>(&'b self, rule: &'b NetRule) -> &'b Marking {
        let moved = self.moves.iter().find(|it| it.rule == rule.id).map(|it| &it.marking);
        moved.or_else(|| self.session.markings.get(&rule.id)).unwrap_or_else(|| rule.net.start())
    }

    /// Fires a transition and whatever then fires by itself. What is not enabled, or would not come to rest,
    /// changes nothing.
    pub(crate) fn fire(&mut self, rule: &NetRule, transition: TransitionId) -> bool {
        let mut marking = self.marking(rule).clone();
        let net = rule.net.net();
        let fired = net.fire(&mut marking, transition).is_ok() && net.advance(&mut marking);
        if fired {
            self.put(rule, marking);
        }
        fired
    }

    /// Takes what a transition would consume, for as long as a human decides.
    pub(crate) fn take(&mut self, rule: &NetRule, transition: TransitionId) -> bool {
        let mut marking = self.marking(rule).clone();
        let taken = rule.net.net().take(&mut marking, transition).is_ok();
        if taken {
            self.put(rule, marking);
        }
        taken
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&mut self, taken: &[(RuleId, TransitionId)]) {
        for (rule, transition) in taken {
            if let Some(rule) = self.policy.net(*rule) {
                let mut marking = self.marking(rule).clone();
                rule.net.net().give_back(&mut marking, *transition);
                // What is cut short here goes on at the next firing; until then less is open, not more.
                rule.net.net().advance(&mut marking);
                self.put(rule, marking);
            }
        }
    }

    /// Lets a closure change a net's notes; the change is kept only if the closure agrees.
    pub(crate) fn with_notes<T, E>(
        &mut self,
        rule: RuleId,
        change: impl FnOnce(&mut Notes) -> Result<T, E>,
    ) -> Result<T, E> {
        let known = self.notes.iter().find(|(id, _)| *id == rule).map(|(_, notes)| notes);
        let mut notes = known.or_else(|| self.session.notes.get(&rule)).cloned().unwrap_or_default();
        let answer = change(&mut notes)?;
        self.notes.retain(|(id, _)| *id != rule);
        self.notes.push((rule, notes));
        Ok(answer)
    }

    pub(crate) fn moves(&self) -> Moves {
        self.moves.clone()
    }

    pub(crate) fn into_changes(self) -> (Moves, Vec<(RuleId, Notes)>) {
        (self.moves, self.notes)
    }

    fn put(&mut self, rule: &NetRule, marking: Marking) {
        if *self.marking(rule) == marking {
            return;
        }
        match self.moves.iter_mut().find(|it| it.rule == rule.id) {
            Some(known) => known.marking = marking,
            None => self.moves.push(Move { rule: rule.id, marking }),
        }
    }
}
