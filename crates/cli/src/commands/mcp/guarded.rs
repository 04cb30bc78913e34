//! The proxy where a guardian guards this user: it looks at calls, and the guardian decides.

use lockgate::engine::{
    ApprovalId, Call, Decision, SeenCall, Time,
    gate::{Human, Outcome},
};
use lockgate_agents::guardian::LineClient;
use lockgate_mcp::{Decider, ReviewedResult, Ruling, Undecided};
use serde::de::DeserializeOwned;

use crate::{
    protocol::encode,
    proxy_line::{ProxyCall, ProxyLine, ProxyWish, ReviewLine, RulingLine},
};

/// Asks the guardian. What it does not decide is blocked.
pub(super) struct GuardianDecider(pub(super) LineClient);

impl GuardianDecider {
    fn ask<T: DeserializeOwned>(&self, wish: ProxyWish, call: Option<Call>) -> Result<T, Undecided> {
        let line = encode(&ProxyLine { proxy: wish });
        let answer = self.0.ask(&line, call).map_err(|error| Undecided(error.to_string()))?;
        serde_json::from_str(&answer).map_err(|_| nonsense())
    }
}

fn nonsense() -> Undecided {
    Undecided("the guardian's answer is not understood".to_owned())
}

fn read(line: RulingLine) -> Result<Ruling, Undecided> {
    line.read().ok_or_else(nonsense)
}

impl Decider for GuardianDecider {
    fn judge(&self, call: &SeenCall, human: Human) -> Ruling {
        let wish = ProxyWish::Judge { call: ProxyCall::of(call), is_attended: human == Human::Reachable };
        let plain: &Call = call;
        self.ask(wish, Some(plain.clone())).and_then(read).unwrap_or_else(|error| Ruling {
            decision: Decision::Block,
            sentence: format!("Lockgate could not decide ({error}), so the call is blocked."),
            input: None,
            approval: None,
            question: String::new(),
        })
    }

    fn asked_at_host(&self, call: &Call) -> Option<ApprovalId> {
        let wish = ProxyWish::AskedAtHost { call: ProxyCall::of(call) };
        ApprovalId::parse(&self.ask::<Option<String>>(wish, None).ok()??)
    }

    fn answer(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: &str,
        call: &Call,
    ) -> Result<Ruling, Undecided> {
        let (approval, by) = (approval.to_string(), by.to_owned());
        let wish = ProxyWish::Answer { approval, granted, by, call: ProxyCall::of(call) };
        self.ask(wish, None).and_then(read)
    }

    fn by_now(&self, approval: &ApprovalId, is_over: bool, call: &Call) -> Option<Result<Ruling, Undecided>> {
        let wish = ProxyWish::ByNow { approval: approval.to_string(), is_over, call: ProxyCall::of(call) };
        match self.ask::<Option<RulingLine>>(wish, None) {
            Ok(ruling) => Some(read(ruling?)),
            // It may come back before the time is over.
            Err(error) => is_over.then_some(Err(error)),
        }
    }

    fn give_up(&self, approval: &ApprovalId, why: &str, _: Time) {
        let wish = ProxyWish::GiveUp { approval: approval.to_string(), why: why.to_owned() };
        // A question that is not given up is refused when its time is over.
        let _ = self.ask::<()>(wish, None);
    }

    fn settle(&self, outcome: &Outcome) -> Result<ReviewedResult, Undecided> {
        let call = match &outcome.like {
            Some(call) => ProxyCall::of(call),
            None => ProxyCall::of(&Call {
                session: outcome.session.clone(),
                id: outcome.id.clone(),
                ..Call::default()
            }),
        };
        let wish = ProxyWish::Settle { call, ok: outcome.ok, output: outcome.output.clone() };
        Ok(ReviewedResult::from(self.ask::<ReviewLine>(wish, None)?))
    }

    fn is_durable(&self) -> bool {
        true
    }
}
