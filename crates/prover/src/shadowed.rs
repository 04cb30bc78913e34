//! Rules that look and can make no difference, because another rule always decides first.
//!
//! All rules are asked and the strictest wins, whatever their priorities. So a rule is *shadowed* where, whenever it
//! applies, another one applies that is at least as strict; and an `allow` that a `block` shadows is a
//! *contradiction*, because its author says in so many words that the call may run. [`shadowed`] compares what is
//! written: the tools, and facts that are the same to the letter. Missing on purpose: whether one expression implies
//! another, and rules that remember; those are the prover's.

mod facts;

use facts::{Facts, Numbers};
use lockgate_pattern::Match;
use lockgate_policy::{
    Decision, Diagnostic, HashMap, Mode, Policy, Rule, Span, ToolName, Tools,
    clause::{Clause, Standing},
    condition::{Attribute, Condition, Subject, ValueTest},
    tool_index::{Certainty, ToolIndex},
};

/// How many tools and rules one finding names.
const NAMED_MAX: usize = 3;

/// Which rules that look never decide, in file order.
pub(crate) fn shadowed(policy: &Policy) -> Vec<Diagnostic> {
    let mut overlaps = Overlaps::read(policy);
    let mut findings: Vec<Diagnostic> = Vec::new();
    // Later rules first: of two that say the same, the later one is reported. A reported rule shadows nothing any more, so
    // that all reported rules may be taken out together.
    for at in (0..overlaps.looks.len()).rev() {
        if let Some(finding) = overlaps.finding(at) {
            findings.push(finding);
            overlaps.looks.get_mut(at).into_iter().for_each(|look| look.is_told = true);
        }
    }
    findings.reverse();
    findings
}

/// A clause, ready to be compared with others.
struct Look<'p> {
    clause: &'p Clause,
    /// How it names its tools; none is every tool.
    ways: Vec<Option<ToolName>>,
    /// What must hold, by number.
    needs: Vec<usize>,
    /// What holds, or is a doubt, wherever it applies; sorted.
    implies: Vec<usize>,
    is_told: bool,
}

struct Overlaps<'p> {
    policy: &'p Policy,
    looks: Vec<Look<'p>>,
    /// The clauses without facts, by tool.
    unconditional: ToolIndex<Vec<usize>>,
    /// The others, by one of their facts.
    by_fact: HashMap<usize, Vec<usize>>,
    /// What is decided where no rule speaks.
    default: Decision,
}

/// What always decides in the place of a rule.
#[derive(Clone, Copy)]
struct Shadow<'p> {
    rule: &'p Rule,
    wants: Decision,
}

impl<'p> Overlaps<'p> {
    fn read(policy: &'p Policy) -> Self {
        let mut numbers = Numbers::default();
        let mut ways = policy.ways_of_clauses().into_iter();
        let looks: Vec<Look<'p>> = policy
            .clauses()
            .iter()
            .map(|clause| {
                let Facts { needs, implies } = numbers.of(clause);
                Look { clause, ways: ways.next().unwrap_or_default(), needs, implies, is_told: false }
            })
            .collect();
        let default = policy.default_clause().map_or(Decision::Allow, |clause| clause.wants);
        let mut overlaps =
            Self { policy, looks, unconditional: ToolIndex::default(), by_fact: HashMap::default(), default };
        for (at, look) in
            overlaps.looks.iter().enumerate().filter(|(_, look)| look.clause.mode == Mode::Enforce)
        {
            // The rarest of its facts keeps the lists short.
            match look.needs.iter().min_by_key(|fact| numbers.uses(**fact)) {
                Some(fact) => overlaps.by_fact.entry(*fact).or_default().push(at),
                None => {
                    for way in &look.ways {
                        put(&mut overlaps.unconditional, way.as_ref(), at);
                    }
                }
            }
        }
        overlaps.unconditional.finish();
        overlaps
    }

    fn finding(&self, at: usize) -> Option<Diagnostic> {
        let look = self.looks.get(at).filter(|look| look.may_be_told())?;
        let shadows: Vec<Option<Shadow<'p>>> =
            look.ways.iter().map(|way| self.shadow(at, look, way.as_ref())).collect();
        if look.clause.wants == Decision::Allow {
            let blocked: Vec<(&Option<ToolName>, Shadow<'p>)> = look
                .ways
                .iter()
                .zip(&shadows)
                .filter_map(|(way, shadow)| Some((way, (*shadow)?)))
                .filter(|(_, shadow)| shadow.wants == Decision::Block)
                .collect();
            if !blocked.is_empty() {
                return Some(contradiction(look.clause, &blocked));
            }
            // That it allows what is allowed anyway is reported as such.
            if self.default == Decision::Allow {
                return None;
            }
        }
        let shadows: Vec<Shadow<'p>> = shadows.into_iter().collect::<Option<_>>()?;
        (!shadows.is_empty()).then(|| never_decides(look.clause, &shadows))
    }

    /// What always decides about some of the tools that a rule names; the strictest, and of those the first.
    fn shadow(&self, at: usize, look: &Look<'p>, way: Option<&ToolName>) -> Option<Shadow<'p>> {
        let mut candidates = self.without_facts(way);
        for fact in &look.implies {
            let anchored = self.by_fact.get(fact).into_iter().flatten().copied();
            candidates.extend(
                anchored.filter(|other| self.looks.get(*other).is_some_and(|other| other.covers(way))),
            );
        }
        candidates.sort_unstable();
        candidates.dedup();
        let others =
            candidates.into_iter().filter(|other| *other != at).filter_map(|other| self.looks.get(other));
        let others = others
            .filter(|other| !other.is_told && other.asks_no_more_than(look) && self.outdoes(other, look));
        let clauses = others.map(|other| Shadow { rule: other.clause, wants: other.clause.wants });
        let named = match way {
            Some(ToolName::Exact(tool)) => Some(tool),
            _ => None,
        };
        let net = named.and_then(|tool| self.policy.net_blocker(tool)).map(|net| &**net);
        let trap = named.and_then(|tool| self.policy.trap(tool)).map(|trap| &**trap);
        let blockers = net.into_iter().chain(trap).map(|rule| Shadow { rule, wants: Decision::Block });
        let all: Vec<Shadow<'p>> = blockers.chain(clauses).collect();
        let strictest = all.iter().map(|shadow| shadow.wants).max()?;
        all.into_iter().filter(|shadow| shadow.wants == strictest).min_by_key(|shadow| shadow.rule.id)
    }

    /// The clauses that want something of every call of these tools.
    fn without_facts(&self, way: Option<&ToolName>) -> Vec<usize> {
        match way {
            Some(ToolName::Exact(tool)) => {
                let certain =
                    self.unconditional.of(tool).filter(|(certainty, _)| *certainty == Certainty::Certain);
                certain.flat_map(|(_, found)| found).copied().collect()
            }
            way => {
                let fits = |(other, _): &(Option<ToolName>, &Vec<usize>)| covers(other.as_ref(), way);
                self.unconditional.ways().filter(fits).flat_map(|(_, found)| found).copied().collect()
            }
        }
    }

    /// Whether a rule that applies wherever another does leaves that one nothing to decide.
    fn outdoes(&self, look: &Look<'_>, other: &Look<'_>) -> bool {
        let (one, other) = (look.clause, other.clause);
        // Only when/then rules speak in the place of a strict default. Without the other rule the default would decide.
        let speaks = self.default == Decision::Allow || one.speaks_for_default || !other.speaks_for_default;
        match (one.wants, other.wants) {
            (Decision::Block, _) => true,
            // A yes that stands answers one rule alone, so each of the two asks on its own.
            (Decision::Ask, Decision::Ask) => {
                speaks
                    && (one.standing, other.standing) == (Standing::Once, Standing::Once)
                    && one.timeout == other.timeout
            }
            // What a human has agreed to is masked all the same.
            (Decision::Redact, Decision::Redact) | (_, Decision::Allow) => speaks,
            _ => false,
        }
    }
}

impl Look<'_> {
    /// Whether it is a rule that an author wrote to decide something now. A limit has others beside it in one
    /// rule, and whether it is ever reached is the prover's to say.
    fn may_be_told(&self) -> bool {
        let Clause { rule, conditions, .. } = self.clause;
        let is_guard = rule.name.starts_with("__") && rule.name.ends_with("__");
        let is_limit = rule.key.starts_with("ruleset ")
            && conditions.iter().any(|condition| {
                matches!(
                    condition,
                    Condition::Value(ValueTest {
                        subject: Subject::Session(
                            Attribute::Calls | Attribute::Attempts | Attribute::CallsOf(_)
                        ),
                        ..
                    })
                )
            });
        rule.mode == Mode::Enforce && !is_guard && !is_limit
    }

    fn covers(&self, way: Option<&ToolName>) -> bool {
        self.ways.iter().any(|own| covers(own.as_ref(), way))
    }

    /// Whether it applies wherever another does, as far as facts go.
    fn asks_no_more_than(&self, other: &Self) -> bool {
        self.needs.iter().all(|fact| other.implies.binary_search(fact).is_ok())
    }
}

/// Whether one way of naming tools certainly takes all tools of another.
fn covers(way: Option<&ToolName>, other: Option<&ToolName>) -> bool {
    match (way, other) {
        (None, _) => true,
        (Some(ToolName::Exact(one)), Some(ToolName::Exact(other))) => one == other,
        (Some(ToolName::Matching(pattern)), Some(ToolName::Exact(name))) => {
            matches!(pattern.find(name), Match::At(_))
        }
        (Some(ToolName::Matching(one)), Some(ToolName::Matching(other))) => one == other,
        _ => false,
    }
}

fn put(index: &mut ToolIndex<Vec<usize>>, way: Option<&ToolName>, at: usize) {
    match way {
        None => index.put(&Tools::Every, |kept| kept.push(at)),
        Some(name) => index.put_name(name, |kept| kept.push(at)),
    }
}

fn never_decides(clause: &Clause, shadows: &[Shadow<'_>]) -> Diagnostic {
    let wants = shadows.iter().map(|shadow| shadow.wants).min().unwrap_or(clause.wants);
    let (by, many) = listed_rules(shadows.iter().map(|shadow| shadow.rule));
    let does = match (wants, many) {
        (Decision::Allow, false) => "allows",
        (Decision::Allow, true) => "allow",
        (Decision::Redact, false) => "masks",
        (Decision::Redact, true) => "mask",
        (Decision::Ask, false) => "asks about",
        (Decision::Ask, true) => "ask about",
        (Decision::Block, false) => "blocks",
        (Decision::Block, true) => "block",
    };
    let message = format!("`{}` has no effect: {by} already {does} every call it matches", clause.name);
    finding("shadowed", clause, message)
        .remedy("take it out, or narrow the other rule: the strictest rule wins, whatever the priorities")
}

fn contradiction(clause: &Clause, blocked: &[(&Option<ToolName>, Shadow<'_>)]) -> Diagnostic {
    let tools = blocked.iter().map(|(way, _)| match way {
        Some(name) => format!("`{name}`"),
        None => "every tool".to_owned(),
    });
    let tools = listed(tools.collect());
    let (by, many) = listed_rules(blocked.iter().map(|(_, shadow)| shadow.rule));
    let blocks = if many { "block" } else { "blocks" };
    let message = format!("`{}` allows {tools}, and {by} {blocks} it all the same", clause.name);
    finding("contradiction", clause, message).remedy(
        "narrow the rule that blocks, or remove the other: an allow makes no exception, whatever its priority",
    )
}

fn finding(code: &'static str, clause: &Clause, message: String) -> Diagnostic {
    Diagnostic::warning(code, &clause.source, span_of_name(clause), message)
}

/// Where a rule says its name; otherwise the whole rule, which may have many lines.
fn span_of_name(rule: &Rule) -> Span {
    rule.source.span_of_word(rule.span, &rule.name).unwrap_or(rule.span)
}

/// Rules by name and place, and whether there are several.
fn listed_rules<'r>(rules: impl Iterator<Item = &'r Rule>) -> (String, bool) {
    let mut rules: Vec<&Rule> = rules.collect();
    rules.sort_by_key(|rule| rule.id);
    rules.dedup_by_key(|rule| rule.id);
    let words = |rule: &&Rule| format!("`{}` ({}:{})", rule.name, rule.place.file, rule.place.line);
    (listed(rules.iter().map(words).collect()), rules.len() > 1)
}

fn listed(mut words: Vec<String>) -> String {
    let more = words.len().saturating_sub(NAMED_MAX);
    words.truncate(NAMED_MAX);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.concat(),
    }
}

#[cfg(test)]
mod tests;
