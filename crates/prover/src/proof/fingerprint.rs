//! What a rule says, so that it can be compared with a rule of another policy.
//!
//! [`fingerprint`] is the same for two rules that say the same, wherever and in whichever order they are written. Two
//! that mean the same in other words are not seen to; what a rule tells the agent, and where it stands among others,
//! is missing on purpose.

use lockgate_policy::{
    Boundaries, Decision, DraftTransition, Policy, RuleId, Span, Statement, ToolName,
    clause::Clause,
    condition::{Condition, Subject, ValueTest},
    past::Past,
    window::WindowId,
};

use super::samples::Naming;

/// The same for two rules that say the same, as far as that is seen.
pub(super) fn fingerprint(policy: &Policy, naming: &Naming, rule: RuleId) -> String {
    if let Some(workflow) = policy.workflow(rule) {
        return format!("workflow {}", workflow.fingerprint);
    }
    if let Some(net) = policy.net(rule) {
        return match &net.statement {
            Statement::Net(drawn) => {
                let mut drawn = drawn.clone();
                drawn.transitions = drawn.transitions.into_iter().map(without_place).collect();
                format!("{drawn:?}")
            }
            statement => {
                let tail = net.tail.as_ref().filter(|_| net.is_eased());
                let conditions = tail.map(|tail| (&tail.conditions, tail.asks));
                let groups = net.tail.as_ref().map(|tail| &tail.groups).filter(|groups| !groups.is_empty());
                match (conditions, groups) {
                    (None, None) => format!("{statement:?}"),
                    tail => format!("{statement:?} {tail:?}"),
                }
            }
        };
    }
    policy.clause(rule).map(|clause| of_clause(policy, naming, clause)).unwrap_or_default()
}

/// Where it stands and what it tells the agent decide nothing.
fn without_place(mut transition: DraftTransition) -> DraftTransition {
    transition.span = Span::default();
    transition.checks.iter_mut().for_each(|check| check.message.clear());
    transition
}

fn of_clause(policy: &Policy, naming: &Naming, clause: &Clause) -> String {
    let mut conditions: Vec<String> =
        clause.conditions.iter().map(|condition| of_condition(policy, condition)).collect();
    conditions.sort();
    let is_default = policy.default_clause().is_some_and(|default| default.id == clause.id);
    let asks = (clause.wants == Decision::Ask).then_some((clause.standing, clause.timeout));
    let tools = (is_default, naming.trap(clause.id), names(naming.of_clause(clause.id)));
    format!("{:?} {asks:?} {} {tools:?} {conditions:?}", clause.wants, clause.speaks_for_default)
}

/// Names of tools; a pattern differs from a name.
fn names(names: &[Option<ToolName>]) -> Vec<String> {
    let mut names: Vec<String> = names
        .iter()
        .map(|name| match name {
            None => "every".to_owned(),
            Some(ToolName::Exact(name)) => format!("name {name}"),
            Some(ToolName::Matching(pattern)) => pattern.key(),
        })
        .collect();
    names.sort();
    names
}

fn of_condition(policy: &Policy, condition: &Condition) -> String {
    match condition {
        Condition::Value(ValueTest { subject: Subject::Input(field), test, .. }) => {
            format!("input {:?} {test:?}", field.text)
        }
        Condition::Called { window, count, within_ms, is_end_included, is_shared } => {
            let terms = (count, within_ms, is_end_included, is_shared);
            format!("called {} {terms:?}", of_window(policy, *window))
        }
        Condition::CalledInOrder { window, within_ms } => {
            let behind = u16::try_from(within_ms.len().saturating_sub(1)).unwrap_or(u16::MAX);
            let steps = window.step.saturating_sub(behind)..=window.step;
            let steps: Vec<String> =
                steps.map(|step| of_window(policy, WindowId { step, ..*window })).collect();
            format!("called in order {steps:?} {within_ms:?}")
        }
        Condition::Earned { earned, decided } => {
            let all = |conditions: &[Condition]| {
                conditions.iter().map(|condition| of_condition(policy, condition)).collect::<Vec<_>>()
            };
            format!("earned {:?} {:?}", all(earned), all(decided))
        }
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Value(_) => {
            format!("expression {}", of_expression(policy, condition))
        }
        Condition::Outside(sandbox) => {
            format!("outside {} {:?}", sandbox.has_places(), sorted(sandbox.boundaries()))
        }
        Condition::Attack(attack) => format!("{attack:?}"),
        Condition::Schedule(schedule) => {
            format!("{schedule} {:?}", (schedule.time, schedule.days, &schedule.zone))
        }
        Condition::Tainted | Condition::Unreadable(_) | Condition::Untraced(_) | Condition::Unsaid(_) => {
            format!("{condition:?}")
        }
        Condition::Past(past) => {
            let Past { window, measure, amount, within_ms, keys, itself, is_credit } = &**past;
            let terms = (measure, amount, within_ms, keys, itself, is_credit);
            format!("past {} {terms:?}", policy.recorded(*window).join("; "))
        }
        Condition::Deed { names, .. } => format!("deed {names:?} {}", policy.hash()),
        Condition::Only { names, phrases, .. } => format!("only {names:?} {phrases:?} {}", policy.hash()),
    }
}

/// Windows are numbered through the whole policy; what they count is compared instead.
fn of_window(policy: &Policy, window: WindowId) -> String {
    let watched = policy.watched(window).into_iter().map(|(way, counts)| {
        let counts = match counts {
            lockgate_policy::Counting::Unless(_) => "unless refused".to_owned(),
            counts => format!("{counts:?}"),
        };
        (names(&[way]), counts)
    });
    format!("{:?}", watched.collect::<Vec<_>>())
}

/// The order of its parts counts; where they stand in the file does not.
fn of_expression(policy: &Policy, when: &Condition) -> String {
    let list = |parts: &[Condition]| {
        parts.iter().map(|part| of_expression(policy, part)).collect::<Vec<_>>().join(", ")
    };
    match when {
        Condition::All(parts) => format!("all [{}]", list(parts)),
        Condition::Any(parts) => format!("any [{}]", list(parts)),
        Condition::Not(part) => format!("not {}", of_expression(policy, part)),
        Condition::Value(ValueTest { subject, test, .. }) => format!("{subject:?} {test:?}"),
        other => of_condition(policy, other),
    }
}

fn sorted(boundaries: &Boundaries) -> Boundaries {
    let mut sorted = boundaries.clone();
    let Boundaries { within, not_within, commands, domains, not_domains } = &mut sorted;
    for list in [within, not_within, not_domains].into_iter().chain(commands).chain(domains) {
        list.sort();
        list.dedup();
    }
    sorted
}
