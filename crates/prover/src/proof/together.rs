//! Which conditions on a call can hold together.
//!
//! A call passes if each rule that looks at it and would close it has a condition that does not hold, and if somebody speaks
//! for it where silence is not a yes. [`Classes::of`] gathers what that takes, for all calls of a tool; [`Classes::passing`]
//! looks for a combination. That there is none is said only where it is proved: what the call does not show
//! alone (hours, counters, sandboxes, variables) may always be as one likes. Whether a combination really is a call is
//! not said here: `openers.rs` makes one up.

use std::collections::BTreeSet;

use lockgate_gate::Human;
use lockgate_policy::{
    Decision, Mode, Policy, RuleId, Truth,
    clause::Clause,
    condition::{Condition, Subject, ValueTest},
};

use super::{
    literals::{Literal, place_of},
    one_value::{Spot, Truths, WantedTruth, can_be},
};

/// The most combinations by which one rule is passed; beyond them it may be passed as one likes.
pub(super) const COMBINATIONS_MAX: usize = 64;

/// The most rules about one tool that are looked at together.
pub(super) const DEMANDS_MAX: usize = 128;

/// The most combinations that are tried for one tool.
const STEPS_MAX: usize = 50_000;

/// Whether a clause closes the calls it applies to. A human who can be asked agrees to everything.
pub(super) fn is_refused_by(human: Human, clause: &Clause) -> bool {
    match clause.wants {
        Decision::Block => true,
        // Where silence is a yes, no human has to agree.
        Decision::Ask => human == Human::Absent && !clause.timeout.as_ref().is_some_and(|it| it.allows),
        Decision::Allow | Decision::Redact => false,
    }
}

/// Conditions that hold together.
type Combination<'a> = Vec<WantedTruth<'a>>;

/// What it takes to get past one rule: one of these.
struct Demand<'a> {
    rule: RuleId,
    ways: Vec<Combination<'a>>,
}

/// What it takes for a call of one tool to pass.
pub(super) struct Classes<'a> {
    demands: Vec<Demand<'a>>,
}

/// Whether a call of a tool can pass.
pub(super) enum Passing<'a> {
    /// Where all of this holds, as far as is known.
    Where(Combination<'a>),
    /// None can, and these rules suffice for that.
    Never(Vec<RuleId>),
    /// Not found out.
    Unknown,
}

impl<'a> Classes<'a> {
    /// For the calls of a tool. None where a rule closes them all in so many words.
    pub(super) fn of(policy: &'a Policy, tool: &'a str, human: Human) -> Option<Self> {
        let mut demands = Vec::new();
        let about = || policy.clauses_about(tool);
        for clause in about().filter(|clause| clause.acts() && is_refused_by(human, clause)) {
            let demand = past(clause, tool);
            if demand.ways.is_empty() && is_plain(clause) {
                return None;
            }
            demands.push(demand);
        }
        let default = policy.default_clause().filter(|it| it.acts() && is_refused_by(human, it));
        if let Some(default) = default {
            let speaks =
                |it: &&Clause| it.speaks_for_default && it.mode == Mode::Enforce && !is_refused_by(human, it);
            let mut speakers = about().filter(speaks).peekable();
            speakers.peek()?;
            let ways = speakers.flat_map(|speaker| applies(speaker, tool)).collect();
            demands.push(Demand { rule: default.id, ways });
        }
        // What may be as one likes asks for nothing.
        demands.retain(|demand| demand.ways.iter().all(|way| !way.is_empty()));
        for demand in &mut demands {
            // The shortest call first.
            demand.ways.sort_by_cached_key(|way| !way.iter().all(WantedTruth::is_met_by_nothing));
        }
        demands.sort_by_key(|demand| demand.ways.len());
        demands.truncate(DEMANDS_MAX);
        Some(Self { demands })
    }

    /// Looks for a combination with which a call passes.
    pub(super) fn passing(&self) -> Passing<'a> {
        passing(self.demands.iter().collect())
    }
}

/// Rules that look at the calls of one tool and block some of them, to be held against each other.
pub(super) struct Blocks<'a> {
    tool: &'a str,
    demands: Vec<Demand<'a>>,
}

impl<'a> Blocks<'a> {
    /// The rules of a tool; none where they are too many.
    pub(super) fn of(policy: &'a Policy, tool: &'a str) -> Option<Self> {
        let blocks = policy.clauses_about(tool).filter(|it| it.acts() && it.wants == Decision::Block);
        let demands: Vec<Demand<'a>> = blocks.take(DEMANDS_MAX + 1).map(|it| past(it, tool)).collect();
        (demands.len() <= DEMANDS_MAX).then_some(Self { tool, demands })
    }

    /// The rules one of which blocks whatever a clause applies to, without these; none if there may be a call that they
    /// leave out. A clause that never applies needs no other.
    pub(super) fn instead_of(&self, clause: &'a Clause, without: &BTreeSet<RuleId>) -> Option<Vec<RuleId>> {
        let applies = |condition| Demand { rule: clause.id, ways: condition_may_be(condition, self.tool) };
        let own: Vec<Demand<'a>> = clause.conditions.iter().map(applies).collect();
        let others = self.demands.iter().filter(|it| it.rule != clause.id && !without.contains(&it.rule));
        let is_asking = |it: &&Demand<'a>| it.ways.iter().all(|way| !way.is_empty());
        match passing(own.iter().chain(others).filter(is_asking).collect()) {
            // What the others close by themselves is reported as such.
            Passing::Never(rules) if rules.contains(&clause.id) => {
                Some(rules.into_iter().filter(|rule| *rule != clause.id).collect())
            }
            Passing::Never(_) | Passing::Where(_) | Passing::Unknown => None,
        }
    }
}

/// What it takes to get past a clause: one of its conditions does not hold.
fn past<'a>(clause: &'a Clause, tool: &'a str) -> Demand<'a> {
    let ways = clause.conditions.iter().flat_map(|condition| condition_is(condition, Truth::No, tool));
    Demand { rule: clause.id, ways: ways.collect() }
}

fn passing<'a>(all: Vec<&Demand<'a>>) -> Passing<'a> {
    let is_bare = |demand: &&Demand<'a>| {
        demand.ways.first().is_some_and(|way| way.iter().all(WantedTruth::is_met_by_nothing))
    };
    if all.iter().all(is_bare) {
        return Passing::Where(all.iter().filter_map(|it| it.ways.first()).flatten().cloned().collect());
    }
    let mut steps = STEPS_MAX;
    match chosen(&all, &mut steps) {
        None => Passing::Unknown,
        Some(Some(found)) => Passing::Where(found.into_iter().cloned().collect()),
        Some(None) => {
            // What the others rule out by themselves is not told.
            let mut kept = all.clone();
            for demand in all {
                let others: Vec<&Demand<'a>> =
                    kept.iter().copied().filter(|it| it.rule != demand.rule).collect();
                if matches!(chosen(&others, &mut steps), Some(None)) {
                    kept = others;
                }
            }
            let mut rules: Vec<RuleId> = kept.iter().map(|demand| demand.rule).collect();
            rules.sort();
            rules.dedup();
            Passing::Never(rules)
        }
    }
}

/// A combination for each of these, all of which can hold together. The outer one is none where too many were tried.
fn chosen<'b, 'a>(demands: &[&'b Demand<'a>], steps: &mut usize) -> Option<Option<Vec<&'b WantedTruth<'a>>>> {
    let mut so_far: Vec<&'b WantedTruth<'a>> = Vec::new();
    let mut open: Vec<Vec<&'b Combination<'a>>> =
        demands.iter().map(|demand| demand.ways.iter().collect()).collect();
    // What leaves no choice comes first, and leaves less of a choice to the others.
    while let Some(at) = open.iter().position(|ways| ways.len() <= 1) {
        let ways = open.swap_remove(at);
        let Some(way) = ways.first() else { return Some(None) };
        so_far.extend(*way);
        if !way.iter().all(|it| can_be_with(it, &so_far)) {
            return Some(None);
        }
        for ways in &mut open {
            *steps = steps.checked_sub(ways.len())?;
            ways.retain(|way| {
                let with: Vec<&WantedTruth<'a>> = so_far.iter().copied().chain(*way).collect();
                way.iter().all(|it| can_be_with(it, &with))
            });
        }
    }
    open.sort_by_key(Vec::len);
    Some(extend(&open, &mut so_far, steps)?.then_some(so_far))
}

fn extend<'b, 'a>(
    open: &[Vec<&'b Combination<'a>>],
    so_far: &mut Vec<&'b WantedTruth<'a>>,
    steps: &mut usize,
) -> Option<bool> {
    let Some((ways, rest)) = open.split_first() else { return Some(true) };
    for way in ways {
        *steps = steps.checked_sub(1)?;
        let before = so_far.len();
        so_far.extend(*way);
        if way.iter().all(|it| can_be_with(it, so_far)) && extend(rest, so_far, steps)? {
            return Some(true);
        }
        so_far.truncate(before);
    }
    Some(false)
}

/// Whether what is asked where a condition looks can hold together.
fn can_be_with(condition: &WantedTruth<'_>, all: &[&WantedTruth<'_>]) -> bool {
    let there: Vec<&WantedTruth<'_>> = all.iter().copied().filter(|it| it.spot == condition.spot).collect();
    can_be(&there)
}

/// Whether a clause closes its tools in so many words, which others know.
fn is_plain(clause: &Clause) -> bool {
    match clause.conditions.as_slice() {
        [] => true,
        [condition] => condition.is_of_tool_name(),
        _ => false,
    }
}

/// What it takes for a clause to speak in the place of the default.
fn applies<'a>(clause: &'a Clause, tool: &'a str) -> Vec<Combination<'a>> {
    if !clause.is_credit {
        // A doubt is enough, and there is a doubt about almost anything.
        return vec![Vec::new()];
    }
    let conditions = clause.conditions.iter().map(|condition| condition_is(condition, Truth::Yes, tool));
    conditions.fold(vec![Vec::new()], |found, more| joined(&found, &more))
}

/// Ways for a condition to hold, or to be a doubt.
fn condition_may_be<'a>(condition: &'a Condition, tool: &'a str) -> Vec<Combination<'a>> {
    let either =
        [Truth::Yes, Truth::Doubt].into_iter().flat_map(|truth| condition_is(condition, truth, tool));
    either.collect()
}

/// Ways for a condition to come out so: of several parts, the first that does not go on decides. What the call does not show
/// may come out as one likes: that is a way that asks for nothing.
fn condition_is<'a>(condition: &'a Condition, truth: Truth, tool: &'a str) -> Vec<Combination<'a>> {
    match condition {
        Condition::Not(part) => condition_is(part, !truth, tool),
        Condition::All(parts) => first_is(parts, Truth::Yes, truth, tool),
        Condition::Any(parts) => first_is(parts, Truth::No, truth, tool),
        Condition::Value(ValueTest { subject, test, .. }) => {
            let known = |is: Truth| if is == truth { vec![Vec::new()] } else { Vec::new() };
            match subject {
                Subject::ToolName => return known(test.truth(&tool.into())),
                // There is no result yet.
                Subject::OutputText | Subject::Result(_) => {
                    return known(test.truth(&serde_json::Value::Null));
                }
                _ => {}
            }
            let Some(place) = place_of(subject) else { return vec![Vec::new()] };
            let is_either = matches!(subject, Subject::Input(field) if field.nested.is_some());
            let spot = Spot { place, is_either };
            vec![vec![WantedTruth { spot, test, wanted: truth.into() }]]
        }
        _ => vec![Vec::new()],
    }
}

fn first_is<'a>(parts: &'a [Condition], go_on: Truth, truth: Truth, tool: &'a str) -> Vec<Combination<'a>> {
    let mut found: Vec<Combination<'a>> = Vec::new();
    let mut before: Vec<Combination<'a>> = vec![Vec::new()];
    for part in parts {
        if truth != go_on {
            found.extend(joined(&before, &condition_is(part, truth, tool)));
        }
        before = joined(&before, &condition_is(part, go_on, tool));
    }
    if truth == go_on {
        found = before;
    }
    if found.len() > COMBINATIONS_MAX { vec![Vec::new()] } else { found }
}

/// Both; too many of them ask for nothing.
fn joined<'a>(before: &[Combination<'a>], more: &[Combination<'a>]) -> Vec<Combination<'a>> {
    if before.len().saturating_mul(more.len()) > COMBINATIONS_MAX {
        return vec![Vec::new()];
    }
    let both = before.iter().flat_map(|one| more.iter().map(move |other| [&one[..], other].concat()));
    both.collect()
}

/// The tests that a combination is made of, as far as they are to come out plainly.
pub(super) fn literals_of<'a>(combination: &[WantedTruth<'a>]) -> Vec<Literal<'a>> {
    let plain = |it: &WantedTruth<'a>| {
        let wanted = match it.wanted {
            Truths::YES => true,
            Truths::NO => false,
            _ => return None,
        };
        Some(Literal { place: it.spot.place.clone(), test: it.test, wanted })
    };
    combination.iter().filter_map(plain).collect()
}

#[cfg(test)]
mod tests;
