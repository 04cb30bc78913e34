//! The behaviour of a policy, to be looked at: its independent groups of rules, state by state, in words.
//!
//! [`behaviours`] gives a [`Chart`] of each group that has few enough states; of a larger one it gives only the rules.
//! What a call meets beyond what was called before (inputs, hours, humans) is not in the system and not in the chart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_petri::{
    Chart, Passage, Spot,
    prove::{Behaviour, Component, Label, LabelSet, Rule as Form, RuleId as FormId, Standing},
};
use lockgate_policy::RuleId;

use super::compose::Composed;

/// The most states that are drawn: more than these are too many for a reader.
pub const STATES_DRAWN_MAX: usize = 60;

/// How many names a title lists; of more, only how many there are.
const TITLE_NAMES_MAX: usize = 4;

/// Rules that have to do with each other.
#[derive(Clone, Debug)]
pub struct Group {
    /// The names they know, in short.
    pub title: String,
    /// The rules, each once.
    pub rules: Vec<RuleId>,
    /// How many rules of the same group were left out, because with them there are too many states. They may refuse
    /// some of what is drawn.
    pub without: usize,
    /// The states; none if there are more than [`STATES_DRAWN_MAX`].
    pub chart: Option<Chart>,
}

/// The groups of a policy, in the order of their first rules. With `about`, only the one that knows a name: all of it
/// if it can be drawn, otherwise the rules that know the name themselves. Without it, rules that refuse whatever
/// happens are left out: they have no states.
pub fn behaviours(composed: &Composed, about: Option<&str>) -> Vec<Group> {
    let components = composed.system().components();
    match about {
        None => {
            let moving = components.iter().filter(|component| has_states(composed, component));
            moving.map(|component| group(composed, &component.rules, 0)).collect()
        }
        Some(name) => components.iter().filter_map(|component| narrowed(composed, component, name)).collect(),
    }
}

fn has_states(composed: &Composed, component: &Component) -> bool {
    let mut forms = component.rules.iter().filter_map(|rule| composed.system().rules().get(rule.0));
    forms.any(|form| !matches!(form, Form::Block(_)))
}

/// A group as far as it can be drawn, if it knows a name.
fn narrowed(composed: &Composed, component: &Component, name: &str) -> Option<Group> {
    let is_meant =
        |label: Label| *composed.label_name(label) == *name || *composed.label_tool(label) == *name;
    if !component.labels.iter().any(|label| is_meant(*label)) {
        return None;
    }
    let all = group(composed, &component.rules, 0);
    if all.chart.is_some() {
        return Some(all);
    }
    let knows = |rule: &&FormId| {
        let form = composed.system().rules().get(rule.0);
        form.is_some_and(|form| form.alphabet().iter().any(is_meant))
    };
    let about: Vec<FormId> = component.rules.iter().filter(knows).copied().collect();
    Some(group(composed, &about, component.rules.len() - about.len()))
}

fn group(composed: &Composed, forms: &[FormId], without: usize) -> Group {
    let labels: LabelSet = forms
        .iter()
        .filter_map(|form| composed.system().rules().get(form.0))
        .flat_map(|form| form.alphabet().iter().collect::<Vec<_>>())
        .collect();
    let title = listed(&names(composed, &labels));
    let behaviour = composed.system().behaviour(forms, STATES_DRAWN_MAX).ok();
    let chart = behaviour.map(|behaviour| chart(composed, &behaviour, title.clone()));
    let mut rules: Vec<RuleId> = forms.iter().flat_map(|form| composed.rules_of(*form)).copied().collect();
    rules.sort_unstable();
    rules.dedup();
    Group { title, rules, without, chart }
}

fn chart(composed: &Composed, behaviour: &Behaviour, title: String) -> Chart {
    let spots = (0..behaviour.states()).map(|state| {
        let said = behaviour.standing(state).filter_map(|(_, standing)| said(composed, &standing));
        let mut lines: Vec<String> = Vec::new();
        for line in said {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            lines.push("all open".to_owned());
        }
        let name = if state == 0 { "start".to_owned() } else { state.to_string() };
        Spot { name, lines }
    });
    let passages = behaviour.moves().iter().map(|it| Passage {
        from: it.from,
        to: it.to,
        lines: happenings(composed, &it.labels),
    });
    Chart { title, spots: spots.collect(), passages: passages.collect() }
}

/// What a rule says in a state; nothing if it lets pass whatever it knows.
fn said(composed: &Composed, standing: &Standing) -> Option<String> {
    let names = |labels: &LabelSet, word: &str| names(composed, labels).join(word);
    Some(match standing {
        Standing::Open => return None,
        Standing::Waits { closed, needs } => {
            format!("{} needs {}", names(closed, ", "), names(needs, " or "))
        }
        Standing::Closed(labels) => format!("{} closed", names(labels, ", ")),
        Standing::Shut(labels) => format!("{} closed for good", names(labels, ", ")),
        Standing::Left { spend, left, count } => format!("{} {left} of {count} left", names(spend, ", ")),
    })
}

/// The names of some labels, each once, in the order of the labels.
fn names(composed: &Composed, labels: &LabelSet) -> Vec<Arc<str>> {
    let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
    let names = labels.iter().map(|label| composed.label_name(label));
    names.filter(|name| seen.insert(name.clone())).collect()
}

fn listed(names: &[Arc<str>]) -> String {
    if names.len() <= TITLE_NAMES_MAX {
        return names.join(", ");
    }
    let more = names.len() - (TITLE_NAMES_MAX - 1);
    let first: Vec<&str> = names.iter().take(TITLE_NAMES_MAX - 1).map(|name| &**name).collect();
    format!("{} and {more} more", first.join(", "))
}

/// What happens by some labels, line by line: a name alone where it does not matter how the call ends.
fn happenings(composed: &Composed, labels: &LabelSet) -> Vec<String> {
    let mut by_name: BTreeMap<Arc<str>, Vec<Label>> = BTreeMap::new();
    for label in labels.iter() {
        by_name.entry(composed.label_name(label)).or_default().push(label);
    }
    let mut lines = Vec::new();
    for name in names(composed, labels) {
        let labels = by_name.remove(&name).unwrap_or_default();
        let ends = |succeeds| labels.iter().any(|label| composed.label_succeeds(*label) == succeeds);
        let is_either = labels.iter().all(|label| composed.ends_either_way(*label));
        if is_either || (ends(true) && ends(false)) {
            lines.push(name.to_string());
        } else {
            lines.extend(labels.iter().map(|label| composed.label_text(*label)));
        }
    }
    lines
}
