//! What each rule's net can do by itself.
//!
//! [`verify`] counts the states of every net and reports what the author of a hand-written net or a workflow should
//! know. It looks at one net at a time; a workflow also hears which tools are blocked whatever the call, and rules that
//! look are compared with each other as they are written. What all rules together can let happen is a different
//! question.

use lockgate_petri::{Growth, Limits, Net, StateSpace, TransitionId, explore, growth};
use lockgate_policy::{Diagnostic, GuardNet, NetRule, Policy, Scope, Severity, Statement};

use crate::{report::NetReport, shadowed::shadowed, workflow};

/// How many states of one hand-written net are looked at.
const STATES_MAX: usize = 100_000;

/// How many transitions of a sequence are named in a finding.
const TRANSITIONS_NAMED_MAX: usize = 12;

/// Looks at every net of a policy by itself: one report for each net and each workflow, in file order.
pub fn verify(policy: &Policy) -> (Vec<NetReport>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut reports: Vec<NetReport> = policy.nets().iter().map(|rule| report(rule, &mut findings)).collect();
    for workflow in policy.workflows() {
        let (report, further) = workflow::prove(workflow, policy);
        reports.push(report);
        findings.extend(further);
    }
    reports.sort_by_key(|report| report.rule);
    findings.extend(shadowed(policy));
    (reports, findings)
}

fn report(rule: &NetRule, findings: &mut Vec<Diagnostic>) -> NetReport {
    let (states, is_exact) = match &rule.statement {
        Statement::Limit { tool, count, scope } => (states_of_limit(tool, count.get(), scope), true),
        statement => {
            let space = explore(rule.net.net(), Limits { states_max: STATES_MAX, depth_max: STATES_MAX });
            if matches!(statement, Statement::Net(_)) {
                findings.extend(findings_of(rule, &space));
            }
            (space.states() as u64, space.is_complete())
        }
    };
    NetReport { rule: rule.id, name: rule.name.clone(), states, is_exact }
}

/// The states of a limit, in constant time.
///
/// Once `start` has fired, the only thing that changes is how much budget is left, and every amount from all
/// to none is reached by spending one at a time. So a limit of N has exactly N - n states more than a limit of
/// n, and exploring a small one gives the count of any.
fn states_of_limit(tool: &str, count: u64, scope: &Scope) -> u64 {
    const SMALL: u64 = 2;
    let explored = std::num::NonZeroU64::new(count.min(SMALL)).map(|small| {
        let statement = Statement::Limit { tool: tool.to_owned(), count: small, scope: scope.clone() };
        GuardNet::of(&statement).map_or(0, |net| {
            explore(net.net(), Limits { states_max: STATES_MAX, depth_max: STATES_MAX }).states() as u64
        })
    });
    explored.unwrap_or(0).saturating_add(count.saturating_sub(SMALL))
}

/// What the author of a hand-written net should know about it.
fn findings_of(rule: &NetRule, space: &StateSpace<'_>) -> Vec<Diagnostic> {
    let net = rule.net.net();
    let finding = |code, severity, message, remedy: &str| Diagnostic {
        code,
        severity,
        message,
        source: rule.source.clone(),
        span: rule.span,
        label: String::new(),
        remedy: Some(remedy.to_owned()),
    };
    let mut findings = Vec::new();
    if !space.is_complete() {
        let message = match growth(net) {
            Some(growth) => {
                format!("net `{}` grows without bound: {}", rule.name, growth_text(net, &growth))
            }
            None => {
                format!("net `{}` has more than {STATES_MAX} states and may grow without bound", rule.name)
            }
        };
        findings.push(finding(
            "unbounded",
            Severity::Warning,
            message,
            "bound it with a place that tokens come from",
        ));
    }
    for transition in space.dead_transitions().unwrap_or_default() {
        let message =
            format!("transition `{}` of net `{}` can never fire", net.transition_name(transition), rule.name);
        let remedy = "give its input places tokens, or remove it";
        findings.push(finding("dead-transition", Severity::Warning, message, remedy));
    }
    let terminal_places: Vec<_> =
        rule.net.terminal_places().iter().filter_map(|name| net.place(name)).collect();
    let stuck = |marking: &lockgate_petri::Marking| {
        !terminal_places.is_empty() && terminal_places.iter().all(|place| marking.tokens(*place) == 0)
    };
    if let Some(marking) = space.terminal().find(stuck) {
        let text = rule.net.marking_text(&marking);
        let message = format!("net `{}` can get stuck at `{text}`, which is not a terminal place", rule.name);
        findings.push(finding(
            "stuck",
            Severity::Warning,
            message,
            "add the place to `terminal_places`, or a way on",
        ));
    }
    findings
}

/// What can be repeated for ever, in words.
fn growth_text(net: &Net, growth: &Growth) -> String {
    let names = |transitions: &[TransitionId]| {
        let named = transitions.iter().take(TRANSITIONS_NAMED_MAX);
        let mut names: Vec<String> =
            named.map(|transition| format!("`{}`", net.transition_name(*transition))).collect();
        if transitions.len() > TRANSITIONS_NAMED_MAX {
            names.push("…".to_owned());
        }
        names.join(", ")
    };
    let after = match growth.way.as_slice() {
        [] => String::new(),
        way => format!("after {}, ", names(way)),
    };
    let places: Vec<String> =
        growth.places.iter().map(|place| format!("`{}`", net.place_name(*place))).collect();
    let more = places.join(", ");
    format!(
        "{after}{} can be repeated for ever, and leaves more in {more} each time",
        names(&growth.repeated)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_policy::Source;

    fn unbounded(net: &str) -> Vec<String> {
        let text = format!("{{kind: Net, name: n, {net}}}");
        let (policy, findings) = lockgate_languages::read(&[Source::new("n.yaml", text.as_str())]);
        let policy = policy.unwrap_or_else(|| panic!("{findings:?}"));
        let told = verify(&policy).1.into_iter().filter(|finding| finding.code == "unbounded");
        told.map(|finding| finding.message).collect()
    }

    #[test]
    fn a_net_that_grows_is_told_with_what_can_be_repeated() {
        let rows = [
            (
                "places: {a: 1, b: 0}, transitions: [{name: t, inputs: [a], outputs: [a, b], tools: [x]}]",
                vec![
                    "net `n` grows without bound: `t` can be repeated for ever, and leaves more in `b` each time",
                ],
            ),
            (
                "places: {a: 1, b: 0, c: 0}, transitions: [{name: go, inputs: [a], outputs: [b], tools: [x]}, \
                 {name: out, inputs: [b], outputs: [a, c], tools: [y]}]",
                vec![
                    "net `n` grows without bound: `go`, `out` can be repeated for ever, and leaves more in `c` each time",
                ],
            ),
            (
                "places: {a: 1, b: 0, c: 0}, transitions: [{name: go, inputs: [a], outputs: [b], tools: [x]}, \
                 {name: more, inputs: [b], outputs: [b, c], tools: [y]}]",
                vec![
                    "net `n` grows without bound: after `go`, `more` can be repeated for ever, and leaves more in `c` each time",
                ],
            ),
            ("places: {a: 5, b: 0}, transitions: [{name: t, inputs: [a], outputs: [b], tools: [x]}]", vec![]),
            // More states than are looked at, and yet bounded.
            (
                "places: {a: 400, b: 400, c: 0}, transitions: [{name: t, inputs: [a], outputs: [c], tools: [x]}, \
                 {name: u, inputs: [b], tools: [y]}]",
                vec!["net `n` has more than 100000 states and may grow without bound"],
            ),
        ];
        for (net, expected) in rows {
            assert_eq!(unbounded(net), expected, "{net}");
        }
    }
}
