//! One net by itself, without composition: the tool it does not know is refused.
//!
//! In a [`Gate`] a net abstains from tools it does not know, because others may know them. [`OneNet`] has no
//! others, so what it does not know is blocked. Everything else is the gate's own judgement.

use std::sync::Arc;

use lockgate_call::{Call, Time};
use lockgate_policy::{Decision, Deeds, NetRule, Policy};

use crate::{
    approver::Approver,
    explain::NetVerdict,
    gate::Gate,
    settle::{Outcome, Settlement},
    status::NetStatus,
    store::StoreError,
    verdict::{Obstacle, Verdict, blocked_sentence},
};

/// One net and where it stands, in memory.
#[derive(Debug)]
pub struct OneNet {
    gate: Gate,
}

/// A policy with no net or several is not one net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one net was wanted, but the policy has {found}; put several into a gate")]
pub struct NotOneNet {
    found: usize,
}

impl OneNet {
    /// Takes the gate of a policy with exactly one net.
    ///
    /// # Errors
    /// When it has none or several.
    pub fn new(gate: Gate) -> Result<Self, NotOneNet> {
        let found = gate.policy().nets().len();
        if found == 1 { Ok(Self { gate }) } else { Err(NotOneNet { found }) }
    }

    /// Decides about a call, and asks where a human is wanted.
    pub fn call(&self, call: &Call, approver: &mut dyn Approver) -> Verdict {
        let call = Call { session: String::new(), ..call.clone() };
        let knows = |rule: &NetRule| {
            let views = self.gate.explain(&call).unwrap_or_default();
            views.iter().any(|view| view.rule == rule.id && view.says != NetVerdict::Abstain)
        };
        match self.rule() {
            Some(rule) if !knows(rule) => {
                let tool: Arc<str> = Arc::from(call.tool.as_str());
                let reason = blocked_sentence(rule, &call.tool);
                Verdict::join(Deeds::new(), vec![Obstacle::of_rule(rule, &tool, Decision::Block, reason)])
            }
            _ => self.gate.call_with(&call, approver),
        }
    }

    /// Takes in a tool's result.
    ///
    /// # Errors
    /// When the store fails, which memory does not.
    pub fn result(&self, outcome: &Outcome) -> Result<Settlement, StoreError> {
        self.gate.result(&Outcome { session: String::new(), ..outcome.clone() })
    }

    /// Where the net stands: its marking, and the tools it would let pass now.
    pub fn status(&self) -> Option<NetStatus> {
        self.gate.status("", Time(0)).ok()?.nets.into_iter().next()
    }

    fn rule(&self) -> Option<&NetRule> {
        let policy: &Policy = self.gate.policy();
        policy.nets().first()
    }
}
