//! What the agent could call now to get closer to what it wanted.
//!
//! [`next_steps`] looks at the obstacles of one refusal and walks back along what they need until it finds
//! something that is open. It proposes; only a judgement decides, and one proposal may turn out refused for
//! a reason that the marking does not show.

use std::{collections::VecDeque, sync::Arc};

use lockgate_petri::{Limits, Reach, explore_from};
use lockgate_policy::{Decision, NetRule, RuleId, Scope, Statement};

use crate::{rulebook::Rulebook, state::Session, verdict::Obstacle};

/// How many states of one hand-written net are looked at for a way on.
const NET_STATES_MAX: usize = 1_000;
/// How many names are followed backwards before giving up.
const NAMES_MAX: usize = 64;

/// The names to call now; empty when some obstacle cannot be lifted by any call.
pub(crate) fn next_steps(rulebook: &Rulebook, session: &Session, obstacles: &[Obstacle]) -> Vec<Arc<str>> {
    let mut wanted: VecDeque<Arc<str>> = VecDeque::new();
    let mut seen: Vec<Arc<str>> = Vec::new();
    let mut open: Vec<Arc<str>> = Vec::new();
    for obstacle in obstacles.iter().filter(|obstacle| obstacle.decision == Decision::Block) {
        let rule = obstacle.rule.and_then(|id| rulebook.policy.net(id));
        match rule.and_then(|rule| step_towards(rule, session, &obstacle.deed)) {
            Some(name) => wanted.push_back(name),
            None => return Vec::new(),
        }
    }
    while let Some(name) = wanted.pop_front() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name.clone());
        if seen.len() > NAMES_MAX {
            return Vec::new();
        }
        let blockers = blockers(rulebook, session, &name);
        if blockers.is_empty() {
            open.push(name);
            continue;
        }
        for blocker in blockers {
            let rule = rulebook.policy.net(blocker);
            match rule.and_then(|rule| step_towards(rule, session, &name)) {
                Some(earlier) => wanted.push_back(earlier),
                // What this step needs is closed for good, so nothing leads on from here.
                None => return Vec::new(),
            }
        }
    }
    open
}

/// The rules whose marking refuses a name now.
fn blockers(rulebook: &Rulebook, session: &Session, name: &Arc<str>) -> Vec<RuleId> {
    let policy = &rulebook.policy;
    let refuses = |rule: &NetRule| {
        let Some(marking) = session.marking(policy, rule.id) else { return false };
        let mut listed = rule.net.transitions_of(name).peekable();
        let is_watched_only =
            rule.net.transitions_of(name).all(|transition| rule.net.guard(transition).is_credit);
        session.is_active(rule.id)
            && !rule.net.free_tools().contains(name)
            && listed.peek().is_some()
            && !is_watched_only
            && !listed.any(|transition| rule.net.net().is_enabled(marking, transition))
    };
    policy.watching(name).filter(|rule| refuses(rule)).map(|rule| rule.id).collect()
}

/// The first call on the shortest way to what a rule wants before a deed.
fn step_towards(rule: &NetRule, session: &Session, deed: &str) -> Option<Arc<str>> {
    match &rule.statement {
        Statement::Sequence { prerequisite, .. } => Some(Arc::from(prerequisite.as_str())),
        Statement::Limit { scope: Scope::Action(action), .. } => Some(Arc::from(action.as_str())),
        Statement::Limit { scope: Scope::Session, .. }
        | Statement::Block { .. }
        | Statement::Approval { .. } => None,
        Statement::Net(_) => step_in_net(rule, session, deed),
    }
}

fn step_in_net(rule: &NetRule, session: &Session, deed: &str) -> Option<Arc<str>> {
    let net = rule.net.net();
    let here = session.markings.get(&rule.id).unwrap_or_else(|| rule.net.start());
    let space = explore_from(net, here, Limits { states_max: NET_STATES_MAX, depth_max: NET_STATES_MAX });
    let is_open = |marking: &_| rule.net.transitions_of(deed).any(|it| net.is_enabled(marking, it));
    let Reach::By(trace) = space.shortest_trace_to(is_open) else { return None };
    trace.iter().find_map(|transition| rule.net.guard(*transition).tools.first().cloned())
}
