//! The proxy where a team server is asked as well: the stricter of both counts.
//!
//! The server is asked first. What it lets pass is judged here as always; if the gate here blocks the call, the server is told that it
//! has failed. A question of the server is answered there alone: its name begins with [`AT_SERVER`], which no session of this machine does.

use std::{sync::Arc, time::Duration};

use lockgate::engine::{
    ApprovalId, Call, Decision, SeenCall, Time,
    gate::{Human, Outcome},
};
use lockgate_agents::hook::{TeamReview, TeamServer, TeamVerdict};
use lockgate_mcp::{Decider, ReviewedResult, Ruling, Undecided};
use serde_json::{Map, Value};

use super::surroundings::look;

/// How the sessions of questions at the server begin.
const AT_SERVER: &str = "\0team server/";

/// A decider of this machine and a team server, as one.
pub(super) struct JoinedDecider {
    pub(super) here: Box<dyn Decider>,
    pub(super) server: Arc<dyn TeamServer>,
}

impl JoinedDecider {
    /// What comes of a verdict of the server.
    fn join(&self, verdict: TeamVerdict, call: &SeenCall, human: Human) -> Ruling {
        match verdict {
            TeamVerdict::Block { reason } => blocked(reason),
            TeamVerdict::Ask { approval } => match ApprovalId::parse(&approval) {
                Some(id) => asking(&id, call),
                None => {
                    blocked("The team server asks a question without a name, so the call is blocked.".into())
                }
            },
            TeamVerdict::Allow => self.judged(call, human, None),
            TeamVerdict::Redact { input, reason } => {
                let changed = Call { input: input.clone(), ..Call::clone(call) };
                self.judged(&look(changed), human, Some((input, reason)))
            }
        }
    }

    fn judged(&self, call: &SeenCall, human: Human, changed: Option<(Map<String, Value>, String)>) -> Ruling {
        let mut ruling = self.here.judge(call, human);
        match (ruling.decision, changed) {
            (Decision::Block, _) => {
                // A server that is not told lets the call run out.
                let _ = self.server.settle(&Outcome::failure(call));
            }
            (Decision::Allow, Some((input, reason))) => {
                ruling.decision = Decision::Redact;
                ruling.sentence = reason;
                ruling.input = Some(input);
            }
            // The human here answers about the input that the server has masked.
            (Decision::Ask, Some((input, _))) => ruling.input = ruling.input.or(Some(input)),
            _ => {}
        }
        ruling
    }
}

fn blocked(sentence: String) -> Ruling {
    Ruling { decision: Decision::Block, sentence, input: None, approval: None, question: String::new() }
}

fn asking(at_server: &ApprovalId, call: &Call) -> Ruling {
    let approval =
        ApprovalId { session: format!("{AT_SERVER}{}", at_server.session), number: at_server.number };
    let sentence = format!("A human has to approve `{}` at the team server first.", call.tool);
    Ruling {
        decision: Decision::Ask,
        question: format!("{sentence} The question is `{at_server}`."),
        sentence,
        input: None,
        approval: Some(approval),
    }
}

/// The question at the server, if it is one.
fn at_server(approval: &ApprovalId) -> Option<ApprovalId> {
    let session = approval.session.strip_prefix(AT_SERVER)?.to_owned();
    Some(ApprovalId { session, number: approval.number })
}

impl Decider for JoinedDecider {
    fn judge(&self, call: &SeenCall, human: Human) -> Ruling {
        let verdict = self.server.judge(call, human == Human::Reachable);
        self.join(verdict, call, human)
    }

    fn asked_at_host(&self, call: &Call) -> Option<ApprovalId> {
        self.here.asked_at_host(call)
    }

    fn answer(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: &str,
        call: &Call,
    ) -> Result<Ruling, Undecided> {
        match at_server(approval) {
            None => self.here.answer(approval, granted, by, call),
            // A no narrows, and needs no proof.
            Some(open) if !granted => {
                self.server.collect(&open.to_string(), Duration::ZERO, true);
                Ok(blocked("The human has refused this call.".to_owned()))
            }
            Some(open) => Err(Undecided(format!("`{open}` is answered at the team server, not here"))),
        }
    }

    fn by_now(&self, approval: &ApprovalId, is_over: bool, call: &Call) -> Option<Result<Ruling, Undecided>> {
        let Some(open) = at_server(approval) else { return self.here.by_now(approval, is_over, call) };
        let verdict = self.server.collect(&open.to_string(), Duration::ZERO, is_over)?;
        // The question here, if there is one now, is put like any other.
        let call = look(call.clone());
        Some(Ok(self.join(verdict, &call, Human::Reachable)))
    }

    fn give_up(&self, approval: &ApprovalId, why: &str, at: Time) {
        match at_server(approval) {
            None => self.here.give_up(approval, why, at),
            Some(open) => drop(self.server.collect(&open.to_string(), Duration::ZERO, true)),
        }
    }

    fn settle(&self, outcome: &Outcome) -> Result<ReviewedResult, Undecided> {
        let reviewed = self.server.settle(outcome);
        let mut outcome = outcome.clone();
        let replaced = match &reviewed {
            Ok(TeamReview::Replaced { output, reason }) => {
                outcome.output = Some(output.clone());
                Some((output.clone(), reason.clone()))
            }
            _ => None,
        };
        // The gate here learns how the call has ended, whatever the server says.
        let here = self.here.settle(&outcome)?;
        match reviewed.map_err(Undecided)? {
            TeamReview::Withheld { reason } => {
                Ok(ReviewedResult { is_whole: false, output: None, reason: Some(reason) })
            }
            _ => Ok(match replaced {
                Some((output, reason)) if here.is_whole => {
                    ReviewedResult { is_whole: false, output: Some(output), reason: Some(reason) }
                }
                _ => here,
            }),
        }
    }

    fn is_durable(&self) -> bool {
        true
    }
}
