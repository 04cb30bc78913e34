//! Results of tools, from the store and back to it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lockgate_call::Call;

use super::failure::withheld;
use super::{Commit, Gate};
use crate::{
    audit_log,
    duplicate::question_about,
    settle::{Outcome, Settlement},
    state::{ApprovalId, Session},
    store::StoreError,
};

impl Gate {
    /// Takes in a tool's result.
    ///
    /// # Errors
    /// When the store fails: then the result was not taken in and may be sent again.
    pub fn result(&self, outcome: &Outcome) -> Result<Settlement, StoreError> {
        let settled = self.settle_unless(outcome, |_| false)?;
        Ok(settled.unwrap_or_else(|| withheld(Settlement::default())))
    }

    /// The same, unless a question about the call is open: its name is returned, and nothing is stored. The session is
    /// opened once.
    ///
    /// # Errors
    /// As [`Gate::result`].
    pub fn result_unless_asked(
        &self,
        call: &Call,
        outcome: &Outcome,
    ) -> Result<Result<Settlement, ApprovalId>, StoreError> {
        let mut open = None;
        let settled = self.settle_unless(outcome, |session| {
            open = question_about(session, call);
            open.is_some()
        })?;
        let name = |number| ApprovalId { session: call.session.clone(), number };
        Ok(open.map_or_else(
            || Ok(settled.unwrap_or_else(|| withheld(Settlement::default()))),
            |number| Err(name(number)),
        ))
    }

    fn settle_unless(
        &self,
        outcome: &Outcome,
        mut is_left: impl FnMut(&Session) -> bool,
    ) -> Result<Option<Settlement>, StoreError> {
        self.commit_with(&outcome.session, |rules, stand| {
            if is_left(stand.session) {
                return None;
            }
            let guarded =
                |outcome: &Outcome| catch_unwind(AssertUnwindSafe(|| rules.settle(stand, outcome))).ok();
            // A result hook that panics earns nothing: the call counts as failed. Where looking at the output
            // panics, nothing of it is passed on.
            let failure = || Outcome { ok: false, ..outcome.clone() };
            let blind = || Outcome { output: None, ..failure() };
            let (mut settlement, changed) =
                guarded(outcome).or_else(|| guarded(&failure())).unwrap_or_else(|| {
                    let (settlement, changed) = rules.settle(stand, &blind());
                    (withheld(settlement), changed)
                });
            let events = std::mem::take(&mut settlement.events);
            let shared = std::mem::take(&mut settlement.shared);
            let told = self.told(|| audit_log::settled(outcome, &settlement, &events));
            Some(Commit { events, changed, shared, told, at: outcome.at, ..Commit::answering(settlement) })
        })
    }
}
