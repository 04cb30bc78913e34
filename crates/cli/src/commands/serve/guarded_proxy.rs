//! The MCP proxy at the guardian's socket: the guardian judges, settles and counts, by the code of a proxy that decides itself.

use std::sync::Arc;

use lockgate::engine::{
    ApprovalId,
    gate::{Ask, Human},
};
use lockgate_agents::{guardian::GuardedLine, now};
use lockgate_mcp::{Decider, LocalDecider, Undecided};
use serde::Serialize;

use crate::{
    protocol::encode,
    proxy_line::{ProxyLine, ProxyWish, ReviewLine, RulingLine, outcome_of},
};

/// Answers a line of a proxy; none where it is not one.
pub(super) fn answer(around: &GuardedLine<'_>) -> Option<Result<String, Undecided>> {
    // Only the beginning is looked at first: lines of agents are long.
    if !around.line().starts_with("{\"proxy\":") {
        return None;
    }
    let read = serde_json::from_str::<ProxyLine>(around.line());
    Some(match read {
        Ok(line) => decide(around, line.proxy),
        // What stands in it may be secret, and parsers like to cite.
        Err(_) => Err(Undecided("a line of the proxy is not understood".to_owned())),
    })
}

fn decide(around: &GuardedLine<'_>, wish: ProxyWish) -> Result<String, Undecided> {
    let session = wish.session().ok_or_else(|| Undecided("the question is of another session".to_owned()))?;
    let guarded = around.gate(Some(&session)).map_err(Undecided)?;
    let (ask, at) = (guarded.ask, now());
    let decider = LocalDecider::new(guarded.gate, Some(guarded.backend as Arc<_>));
    let question = |name: &str| {
        ApprovalId::parse(name).ok_or_else(|| Undecided(format!("no question is called `{name}`")))
    };
    match wish {
        ProxyWish::Judge { call, is_attended } => {
            let call = around.look(call.into_call(at));
            let human = if is_attended { Human::Reachable } else { Human::Absent };
            Ok(told(&RulingLine::from(decider.judge(&call, human))))
        }
        ProxyWish::AskedAtHost { call } => {
            let approval = decider.asked_at_host(&call.into_call(at));
            Ok(told(&approval.map(|approval| approval.to_string())))
        }
        ProxyWish::Answer { approval, granted, by, call } => {
            let may_answer = matches!(ask, Ask::Host | Ask::Defer) || around.peer().is_operator;
            if granted && !may_answer {
                return Err(Undecided(
                    "the guardian's settings take no answer of the client; run `lockgate approve`".to_owned(),
                ));
            }
            let by: String = by.chars().take(200).collect();
            let ruling = decider.answer(&question(&approval)?, granted, &by, &call.into_call(at))?;
            Ok(told(&RulingLine::from(ruling)))
        }
        ProxyWish::ByNow { approval, is_over, call } => {
            let by_now = decider.by_now(&question(&approval)?, is_over, &call.into_call(at)).transpose()?;
            Ok(told(&by_now.map(RulingLine::from)))
        }
        ProxyWish::GiveUp { approval, why } => {
            let why: String = why.chars().take(200).collect();
            decider.give_up(&question(&approval)?, &why, at);
            Ok(told(&()))
        }
        ProxyWish::Settle { call, ok, output } => {
            let outcome = outcome_of(&call.into_call(at), ok, output);
            Ok(told(&ReviewLine::from(decider.settle(&outcome)?)))
        }
    }
}

fn told<T: Serialize>(answer: &T) -> String {
    encode(answer)
}
