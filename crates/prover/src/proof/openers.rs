//! Calls of a way that no condition refuses, made up from what the conditions look at.
//!
//! [`openers`] gives some that are worth a try where the plainest call is refused; whether one passes is seen when it is
//! judged. [`is_open`] finds out for which ways one certainly passes, whatever the session. What only a session or an
//! operator can change (attributes, hours, counters) is missing on purpose.

use std::sync::Arc;

use lockgate_call::{Call, SeenCall};
use lockgate_gate::Human;
use lockgate_policy::{
    Mode, Policy, Reached, RuleId, Surroundings, Truth, View,
    clause::Clause,
    condition::{Condition, Subject},
};
use serde_json::{Map, Value};

use super::{
    literals::{Place, value_for, values_for},
    sample::{is_seen, sample},
    samples::{Sampler, call_with, merged, reaching},
    together::{Classes, Passing, is_refused_by, literals_of},
    ways::Way,
};

/// The most calls that are worth a try.
pub const OPENERS_MAX: usize = 64;

/// Calls that all policies see as these ways, with inputs that rules tell apart: the plainest first, those that rules
/// may let pass next.
pub fn openers(ways: &[&Way], policies: &[&Policy], id: &str) -> Vec<Call> {
    let Some(bare) = sample(ways, policies, id) else { return Vec::new() };
    let mut calls = Vec::new();
    let inputs = inputs_of(policies, &bare.tool);
    for policy in policies {
        for human in [Human::Absent, Human::Reachable] {
            if let Some(call) = combined(policy, ways, human) {
                calls.push(merged(&bare, &call));
                calls.extend(inputs.iter().map(|input| {
                    let beside = Call { input: input.clone(), ..Call::new("", bare.tool.as_str()) };
                    merged(&merged(&bare, &call), &beside)
                }));
            }
        }
        calls.extend(Sampler::new(policy).calls_of(&bare.tool).iter().map(|call| merged(&bare, call)));
    }
    let cwd = policies.iter().find_map(|policy| Sampler::new(policy).folder());
    let mut kept = vec![SeenCall::from(bare)];
    for mut call in calls {
        // A sandbox has doubts about a call without a working folder.
        call.about.cwd.clone_from(&cwd);
        let is_new = !kept.iter().any(|it| it.input == call.input && it.about == call.about);
        let call = SeenCall::from(call);
        if is_new && kept.len() < OPENERS_MAX && policies.iter().all(|policy| is_seen(&call, ways, policy)) {
            kept.push(call);
        }
    }
    kept.into_iter().map(SeenCall::into_call).collect()
}

/// A call with which all conditions come out as they have to; none where no such values are known.
fn combined(policy: &Policy, ways: &[&Way], human: Human) -> Option<Call> {
    let tool = &ways.first()?.tool;
    let mut values: Vec<(Place, Value)> = Vec::new();
    if let Some(Passing::Where(combination)) = Classes::of(policy, tool, human).map(|it| it.passing()) {
        let found = values_for(&literals_of(&combination), &[])?;
        values.extend(
            found.into_iter().filter_map(|(place, values)| Some((place, values.into_iter().next()?))),
        );
    }
    let names: Vec<Arc<str>> = ways.iter().flat_map(|way| [way.deed(), way.tool.clone()]).collect();
    let asked = policy.nets().iter().filter(|rule| rule.mode == Mode::Enforce);
    let guards = asked.flat_map(|rule| rule.net.guards());
    let met = guards.filter(|guard| guard.tools.iter().any(|tool| names.contains(tool)));
    for check in met.flat_map(|guard| &guard.checks) {
        let place = Place::Key(check.field.clone());
        if values.iter().all(|(known, _)| *known != place) {
            values.extend(value_for(&check.test).map(|value| (place, value)));
        }
    }
    let values: Vec<(&Place, &Value)> = values.iter().map(|(place, value)| (place, value)).collect();
    Some(call_with(tool, &Map::new(), &values).0)
}

/// Inputs that stay inside of sandboxes, or reach out of them.
fn inputs_of(policies: &[&Policy], tool: &str) -> Vec<Map<String, Value>> {
    let clauses = policies.iter().flat_map(|policy| policy.clauses_about(tool));
    let conditions = clauses.flat_map(|clause| &clause.conditions);
    let inputs = conditions.flat_map(|condition| match condition {
        Condition::Outside(sandbox) => reaching(sandbox.boundaries()),
        _ => Vec::new(),
    });
    inputs.take(OPENERS_MAX).collect()
}

/// Whether some call of a way certainly passes these clauses, whatever the session.
pub(super) fn is_open(policy: &Policy, way: &Way, clauses: &dyn Fn(RuleId) -> bool) -> bool {
    openers(&[way], &[policy], "").into_iter().map(SeenCall::from).any(|call| {
        let passes = |clause: &Clause| {
            clause.conditions.iter().any(|condition| by_call(condition, &call) == Some(Truth::No))
        };
        let refuses = |clause: &&Clause| clauses(clause.id) && is_refused_by(Human::Reachable, clause);
        let about = || policy.clauses_about(&call.tool);
        let speaks = |clause: &Clause| {
            let is_certain =
                || clause.conditions.iter().all(|condition| by_call(condition, &call) == Some(Truth::Yes));
            clause.speaks_for_default
                && clause.mode == Mode::Enforce
                && !is_refused_by(Human::Reachable, clause)
                && is_certain()
        };
        let default = policy.default_clause().filter(refuses);
        about().filter(refuses).all(passes) && (default.is_none() || about().any(speaks))
    })
}

/// What a condition comes to where the call alone decides; none where something else may.
fn by_call(condition: &Condition, call: &SeenCall) -> Option<Truth> {
    let is_told_by_call = |subject: &Subject| {
        !matches!(subject, Subject::Variable(_) | Subject::Custom { .. } | Subject::Session(_))
    };
    match condition {
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Value(_) => {
            let is_known = condition.is_of_values()
                && condition.leaves().iter().all(|leaf| is_told_by_call(&leaf.value.subject));
            is_known.then(|| condition.truth(&View::of_result(call, None, &Surroundings::default())))
        }
        Condition::Outside(sandbox) => Some(match sandbox.judge(call) {
            Reached::Inside => Truth::No,
            Reached::Outside(_) => Truth::Yes,
            Reached::Doubt(_) => Truth::Doubt,
        }),
        Condition::Attack(attack) => Some(attack.refuses(&call.input).is_some().into()),
        Condition::Unreadable(test) => Some((!test.doubts(call).is_empty()).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::ways::Ways;
    use lockgate_policy::Source;

    fn policy(rules: &str) -> Policy {
        let (policy, mistakes) =
            lockgate_languages::read(&[Source::new("a.yaml", format!("rules:\n{rules}"))]);
        policy.unwrap_or_else(|| panic!("{mistakes:?}"))
    }

    fn openers_of(policy: &Policy) -> Vec<Call> {
        let ways = Ways::of(&[policy]);
        openers(&[ways.all.first().unwrap()], &[policy], "")
    }

    #[test]
    fn no_more_calls_are_tried_than_the_limit_says() {
        let rules = |count: usize| -> String {
            let rule = |it| {
                format!(
                    "  - {{id: r{it}, then: block, when: {{tool: t, args_match: {{f{it}: {{gt: {it}}}}}}}}}\n"
                )
            };
            (0..count).map(rule).collect()
        };
        let tried = |count: usize| openers_of(&policy(&rules(count))).len();
        assert!(tried(5) < OPENERS_MAX);
        assert_eq!((tried(16), tried(40)), (OPENERS_MAX, OPENERS_MAX));
    }

    #[test]
    fn a_way_is_open_where_some_call_of_it_passes_whatever_the_session() {
        let small = "  - {id: s, then: block, when: {tool: t, args_match: {a: {lt: 5}}}}\n";
        let none = "  - {id: n, then: block, when: {tool: t, args_match: {a: {exists: false}}}}\n";
        let large = "  - {id: l, then: block, when: {tool: t, args_match: {a: {gt: 4}}}}\n";
        let often = "  - {id: o, then: block, when: {tool: t, session: {total_calls: {gte: 3}}}}\n";
        let rows = [
            (vec![small, none], true),
            (vec![small, large], true),
            (vec![small, none, large], false),
            (vec![small, none, often], false),
        ];
        for (rules, expected) in rows {
            let policy = policy(&rules.concat());
            let ways = Ways::of(&[&policy]);
            assert_eq!(is_open(&policy, ways.all.first().unwrap(), &|_| true), expected, "{rules:?}");
        }
    }
}
