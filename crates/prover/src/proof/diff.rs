//! What two policies let happen differently, with sessions that tell them apart.
//!
//! Up to its last call a session that tells two policies apart is let pass by both. So for each rule that only one of
//! them has, the shortest session of the other one that it refuses is looked for; if there is none for any rule, no
//! session tells them apart. Rules that look at more than what was called are compared as they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate_pattern::Match;
use lockgate_petri::prove::{Answer, Explored, Label, LabelSet, Prover, System, TooManyRules, Trace};
use lockgate_policy::{
    Decision, Policy, RuleId, ToolName,
    clause::{Clause, Standing},
};

use super::{
    compose::{Composed, Played, Requirements, Why},
    fingerprint::fingerprint,
    labels::{Act, End, Labels, Late},
    samples::Naming,
};

/// One way in which two policies may differ, to be played.
#[derive(Clone, Debug)]
pub struct Change {
    /// The policy whose rule makes the difference: it is stricter there.
    pub stricter: Side,
    /// The rule.
    pub rule: RuleId,
    /// Whether the stricter one asks a human; otherwise it refuses.
    pub asks: bool,
    /// The names the last call may have.
    pub tools: Vec<Arc<str>>,
    /// The session that shows it, its last call decided differently; none where it was not decided.
    pub session: Option<Vec<Played>>,
    /// Whether it is proved that no session that shows it is shorter.
    pub is_shortest: bool,
    /// Why it was not decided.
    pub undecided: Option<String>,
}

/// One of two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that was.
    Old,
    /// The one that is to be.
    New,
}

/// All ways in which two policies may differ.
#[derive(Debug)]
pub struct Difference {
    /// For each rule that only one of them has and that makes, or may make, a difference.
    pub changes: Vec<Change>,
    /// Tools of which there are too many ways to look at all.
    pub cut: Vec<Arc<str>>,
}

/// Compares two policies.
///
/// # Errors
/// When there are more rules than the engine takes.
pub fn diff(old: &Policy, new: &Policy) -> Result<Difference, TooManyRules> {
    let (labels, late) = Labels::both(&[old, new]);
    let late = late.as_ref();
    let of = |side, number, policy| {
        let composed = Composed::compared(&labels, number, policy)?;
        let late = late.map(|late| Composed::compared(late, number, policy)).transpose()?;
        let counts_calls = labels.counts_calls() && late.is_none() && composed.left_out.is_empty();
        Ok(Compared { side, policy, composed, late, counts_calls })
    };
    let (old, new) = (of(Side::Old, 0, old)?, of(Side::New, 1, new)?);
    let mut changes = old.refuses_more_than(&new);
    changes.extend(new.refuses_more_than(&old));
    changes.extend(old.asks_more_than(&new)?);
    changes.extend(new.asks_more_than(&old)?);
    changes.extend(old.looks_otherwise_than(&new));
    changes.extend(new.looks_otherwise_than(&old));
    Ok(Difference { changes, cut: labels.ways.cut.clone() })
}

struct Compared<'p> {
    side: Side,
    policy: &'p Policy,
    /// Calls one after another.
    composed: Composed,
    /// The same where results may come late, if that matters.
    late: Option<Composed>,
    /// Whether the shortest session is the shortest of calls.
    counts_calls: bool,
}

/// A rule that has to be compared as it is written.
struct Loose {
    rule: RuleId,
    fingerprint: String,
    tools: Vec<Arc<str>>,
    why: &'static str,
}

impl Compared<'_> {
    /// What this one refuses and the other one does not.
    fn refuses_more_than(&self, other: &Self) -> Vec<Change> {
        let prover = Prover::new(&other.composed.system);
        let late = self.late.as_ref().zip(other.late.as_ref());
        let late = late.map(|(mine, theirs)| (mine, Prover::new(&theirs.system)));
        let requirements = Requirements::of(&other.composed.system);
        let mut changes = Vec::new();
        for difference in prover.refused_by(&self.composed.system) {
            let (form, Some(rule)) = (difference.rule, self.composed.rule(difference.rule)) else { continue };
            // A rule's forms have the same numbers in both systems, so a no can be asked again.
            let (composed, answer) = match (difference.answer, &late) {
                (Answer::No(_), Some((mine, prover))) => {
                    let strict = mine.system.rules().get(form.0).map(|form| mine.strict(form));
                    let answer = strict.map(|strict| prover.can_violate(&strict));
                    (*mine, answer.unwrap_or(Answer::Undecided(Explored::default())))
                }
                (answer, _) => (&self.composed, answer),
            };
            let own = self.composed.system.rules().get(form.0);
            if answer.is_no() && own.is_some_and(|own| requirements.entangle(own)) {
                let why = "a result that comes late may count for one and not for the other".to_owned();
                changes.push(self.undecided(rule, false, Vec::new(), why));
                continue;
            }
            match answer {
                // A call that a workflow refuses may end a stage of it, one that another rule refuses may not.
                Answer::No(_)
                    if !self.policy.workflows().is_empty() || !other.policy.workflows().is_empty() =>
                {
                    let why = "what is refused with it and without it may still move a workflow".to_owned();
                    changes.push(self.undecided(rule, false, Vec::new(), why));
                }
                Answer::No(_) => {}
                Answer::Yes(trace) => changes.push(self.change(composed, rule, false, &trace)),
                Answer::Undecided(explored) => {
                    let why = format!("not decided within {} states", explored.states);
                    changes.push(self.undecided(rule, false, Vec::new(), why));
                }
            }
        }
        changes
    }

    /// What this one asks a human about and the other one does not, where both let it happen.
    fn asks_more_than(&self, other: &Self) -> Result<Vec<Change>, TooManyRules> {
        let found = asked_by((self.policy, &self.composed), (other.policy, &other.composed))?;
        let late = match self.late.as_ref().zip(other.late.as_ref()) {
            Some((mine, theirs)) => Some((mine, asked_by((self.policy, mine), (other.policy, theirs))?)),
            None => None,
        };
        let mut changes = Vec::new();
        for (name, (rule, answer)) in &found {
            let (composed, answer) = match (answer, &late) {
                (Answer::No(_), Some((composed, late))) => {
                    (*composed, late.get(name).map_or(answer, |(_, answer)| answer))
                }
                _ => (&self.composed, answer),
            };
            match answer {
                Answer::Yes(trace) => {
                    let mut change = self.change(composed, *rule, true, trace);
                    let last = change.session.as_mut().and_then(|session| session.last_mut());
                    // Where both ask at first, the second call tells whether the answer stands.
                    if let (true, Some(last)) = (other.asks_sometimes(trace), last) {
                        last.acts.extend(last.acts.last().cloned());
                        change.is_shortest = false;
                    }
                    changes.push(change);
                }
                Answer::No(_) => {}
                Answer::Undecided(explored) => {
                    let why = format!("not decided within {} states", explored.states);
                    changes.push(self.undecided(*rule, true, vec![name.clone()], why));
                }
            }
        }
        Ok(changes)
    }

    /// Whether some rule asks about the last label of a trace, if only until a human has answered.
    fn asks_sometimes(&self, trace: &Trace) -> bool {
        let last = trace.last();
        self.composed.human.iter().any(|(_, labels)| last.is_some_and(|last| labels.contains(last)))
    }

    /// The rules of this one that the system does not know to the letter and the other one does not have.
    fn looks_otherwise_than(&self, other: &Self) -> Vec<Change> {
        let mut theirs: Vec<String> =
            other.loose_rules(self).iter().map(|loose| loose.fingerprint.clone()).collect();
        let mut changes = Vec::new();
        let covers = self.always_in_both(other);
        let naming = Naming::of(self.policy);
        for Loose { rule, fingerprint, tools, why } in self.loose_rules(other) {
            let clause = self.policy.clause(rule);
            let is_idle = |clause| {
                covers.iter().any(|it| is_covered(clause, it, &naming))
                    || self.is_the_default(clause, &naming) && other.is_the_default(clause, &naming)
            };
            if clause.is_some_and(is_idle) {
                continue;
            }
            // What lets pass decides nothing where silence is a yes, and is no news where both say it.
            let is_yes = |clause: &Clause| clause.wants < Decision::Ask;
            if clause.is_some_and(is_yes) && other.says(&fingerprint) {
                continue;
            }
            match theirs.iter().position(|it| *it == fingerprint) {
                Some(place) => drop(theirs.swap_remove(place)),
                None => {
                    let asks = self.policy.clause(rule).is_some_and(|clause| clause.wants == Decision::Ask);
                    changes.push(self.undecided(rule, asks, tools, why.to_owned()));
                }
            }
        }
        changes
    }

    /// The clauses of both that want something whatever the call.
    fn always_in_both(&self, other: &Self) -> Vec<&Clause> {
        let always = |of: &'_ Self| {
            let naming = Naming::of(of.policy);
            let default = of.policy.default_clause().map(|clause| clause.id);
            // Whoever lets an answer stand asks less often than somebody who does not.
            let asks_each_time = |clause: &Clause| {
                clause.wants == Decision::Ask
                    && clause.standing == Standing::Once
                    && !clause.timeout.as_ref().is_some_and(|timeout| timeout.allows)
            };
            let is_it = |clause: &&Clause| {
                clause.acts()
                    && clause.conditions.is_empty()
                    && (clause.wants == Decision::Block || asks_each_time(clause))
                    && Some(clause.id) != default
            };
            let clauses = of.policy.clauses().iter().filter(is_it);
            clauses.map(|clause| (clause.id, fingerprint(of.policy, &naming, clause.id))).collect::<Vec<_>>()
        };
        let theirs: BTreeSet<String> =
            always(other).into_iter().map(|(_, fingerprint)| fingerprint).collect();
        let mine = always(self).into_iter().filter(|(_, fingerprint)| theirs.contains(fingerprint));
        mine.filter_map(|(rule, _)| self.policy.clause(rule)).collect()
    }

    /// Whether a clause wants what is decided without it: the default, which nobody opens for these tools.
    fn is_the_default(&self, clause: &Clause, naming: &Naming) -> bool {
        let Some(default) = self.policy.default_clause().filter(|default| default.acts()) else {
            return false;
        };
        let opens = |it: &Clause| it.wants < default.wants;
        let is_open = match naming.of_clause(clause.id) {
            [] => true,
            names => names.iter().any(|name| match name {
                Some(ToolName::Exact(name)) => self.policy.clauses_about(name).any(opens),
                Some(ToolName::Matching(_)) | None => self.policy.clauses().iter().any(opens),
            }),
        };
        let is_plain = clause.standing == Standing::Once && clause.timeout.is_none();
        clause.id != default.id && clause.wants == default.wants && is_plain && !is_open
    }

    /// What has to be compared as it is written.
    /// Whether some clause says just this.
    fn says(&self, wanted: &str) -> bool {
        let naming = Naming::of(self.policy);
        self.policy.clauses().iter().any(|clause| fingerprint(self.policy, &naming, clause.id) == wanted)
    }

    fn loose_rules(&self, other: &Self) -> Vec<Loose> {
        let naming = Naming::of(self.policy);
        let mut found: Vec<Loose> = Vec::new();
        let mut known: BTreeSet<RuleId> = BTreeSet::new();
        for left in self.composed.left_out.iter().filter(|left| known.insert(left.rule)) {
            // A net or a workflow knows calls by their names, and maps may give others.
            let seen = if self.policy.clause(left.rule).is_some() {
                String::new()
            } else {
                format!("{:?}", left.labels)
            };
            let names = left.labels.iter().filter_map(|label| Some(self.composed.act(label)?.way.deed()));
            let tools: BTreeSet<Arc<str>> = names.collect();
            found.push(Loose {
                rule: left.rule,
                fingerprint: format!("{seen}{}", fingerprint(self.policy, &naming, left.rule)),
                tools: tools.into_iter().collect(),
                why: left.why.words(),
            });
        }
        let has_default = |policy: &Policy| {
            policy.default_clause().is_some_and(|clause| clause.acts() && clause.wants >= Decision::Ask)
        };
        let has_default = has_default(self.policy) && has_default(other.policy);
        for clause in self.policy.clauses().iter().filter(|it| it.acts() && !known.contains(&it.id)) {
            let Some(why) = why_loose(clause, &naming, has_default) else { continue };
            let tools = clause.tools.iter().map(|tool| Arc::from(tool.as_str())).collect();
            let fingerprint = fingerprint(self.policy, &naming, clause.id);
            found.push(Loose { rule: clause.id, fingerprint, tools, why });
        }
        found
    }

    fn change(&self, composed: &Composed, rule: RuleId, asks: bool, trace: &Trace) -> Change {
        let last = trace.last().and_then(|label| composed.act(label)).map(|act| act.way.deed());
        Change {
            stricter: self.side,
            rule,
            asks,
            tools: last.into_iter().collect(),
            session: Some(composed.played(trace)),
            is_shortest: trace.is_shortest() && self.counts_calls,
            undecided: None,
        }
    }

    fn undecided(&self, rule: RuleId, asks: bool, tools: Vec<Arc<str>>, why: String) -> Change {
        let stricter = self.side;
        Change { stricter, rule, asks, tools, session: None, is_shortest: false, undecided: Some(why) }
    }
}

/// Why the system does not know all of what a clause says, though it does not say so.
fn why_loose(clause: &Clause, naming: &Naming, has_default: bool) -> Option<&'static str> {
    match clause.wants {
        // These matter where they speak in the place of the default.
        Decision::Allow | Decision::Redact => {
            (has_default && clause.speaks_for_default).then(|| Why::Looks.words())
        }
        Decision::Ask if clause.standing != Standing::Once => {
            Some("a human's answer to it stands for later calls")
        }
        Decision::Ask if clause.timeout.is_some_and(|timeout| timeout.allows) => {
            Some("nobody's answer to it is a yes")
        }
        Decision::Ask | Decision::Block => {
            let names = naming.of_clause(clause.id);
            let is_exact = |name: &Option<ToolName>| matches!(name, Some(ToolName::Exact(_)));
            let is_known = !names.is_empty() && names.iter().all(is_exact);
            // A trap, the default and whoever names tools by a pattern speak of tools that nobody names.
            let is_known = is_known && naming.trap(clause.id).is_none();
            (!is_known).then_some("it is about tools that no rule names")
        }
    }
}

/// Whether a clause makes no difference beside another one that always wants as much, of the same tools.
fn is_covered(clause: &Clause, by: &Clause, naming: &Naming) -> bool {
    let is_as_strict = by.wants >= clause.wants && (by.wants == Decision::Block || by.speaks_for_default);
    if clause.id == by.id || !is_as_strict {
        return false;
    }
    let covering = naming.of_clause(by.id);
    let is_every = |name: &Option<ToolName>| match name {
        None => true,
        Some(ToolName::Matching(pattern)) => pattern.to_string() == "*",
        Some(ToolName::Exact(_)) => false,
    };
    let is_taken = |name: &Option<ToolName>| match name {
        Some(ToolName::Exact(name)) => covering.iter().flatten().any(|it| match it {
            ToolName::Exact(other) => other == name,
            ToolName::Matching(pattern) => matches!(pattern.find(name), Match::At(_)),
        }),
        Some(ToolName::Matching(pattern)) => covering.iter().flatten().any(|it| match it {
            ToolName::Exact(_) => false,
            ToolName::Matching(other) => other.key() == pattern.key(),
        }),
        None => false,
    };
    let names = naming.of_clause(clause.id);
    covering.iter().any(is_every) || !names.is_empty() && names.iter().all(is_taken)
}

/// For each name that one asks a human about and the other does not: is there a session of both that calls it?
fn asked_by(
    (my_policy, mine): (&Policy, &Composed),
    (their_policy, theirs): (&Policy, &Composed),
) -> Result<BTreeMap<Arc<str>, (RuleId, Answer)>, TooManyRules> {
    // Whoever asks each time asks as often as anybody could.
    let each_time = theirs.human.iter().filter(|(rule, _)| standing(their_policy, *rule) == Standing::Once);
    let known: BTreeSet<Label> =
        each_time.flat_map(|(_, labels)| labels.iter().collect::<Vec<_>>()).collect();
    let is_theirs = |rule: RuleId, labels: &LabelSet| {
        let alike = |other: &(RuleId, LabelSet)| {
            other.1 == *labels && standing(their_policy, other.0) == standing(my_policy, rule)
        };
        theirs.human.iter().any(alike)
    };
    let mut by_name: BTreeMap<Arc<str>, (RuleId, Vec<Label>)> = BTreeMap::new();
    for (rule, labels) in mine.human.iter().filter(|(rule, labels)| !is_theirs(*rule, labels)) {
        for label in labels.iter().filter(|label| !known.contains(label)) {
            if let Some(act) = mine.act(label) {
                by_name.entry(act.way.deed()).or_insert_with(|| (*rule, Vec::new())).1.push(label);
            }
        }
    }
    let both = System::new(mine.system.rules().iter().chain(theirs.system.rules()).cloned().collect())?;
    let prover = Prover::new(&both);
    let ask = |labels: Vec<Label>| prover.can_call(&labels.into_iter().collect());
    Ok(by_name.into_iter().map(|(name, (rule, labels))| (name, (rule, ask(labels)))).collect())
}

/// How long an answer to a rule stands.
fn standing(policy: &Policy, rule: RuleId) -> Standing {
    policy.clause(rule).map_or(Standing::Once, |clause| clause.standing)
}

/// The way to tools through both of two policies.
#[derive(Debug)]
pub struct Approach {
    composed: Composed,
    both: System,
}

impl Approach {
    /// For these policies.
    ///
    /// # Errors
    /// When there are more rules than the engine takes.
    pub fn new(old: &Policy, new: &Policy) -> Result<Self, TooManyRules> {
        let labels = Labels::of(&[old, new], Late::Never);
        let (old, new) = (Composed::of(&labels, 0, old)?, Composed::of(&labels, 1, new)?);
        let both = System::new(old.system.rules().iter().chain(new.system.rules()).cloned().collect())?;
        Ok(Self { composed: old, both })
    }

    /// A short session that both let pass up to a call of this tool, without that call; none where none is known.
    pub fn to(&self, tool: &str) -> Option<Vec<Played>> {
        let is_it = |act: &Act| *act.way.tool == *tool && !act.way.is_further && act.end == End::Success;
        let numbered = self.composed.acts.iter().zip(0_u32..);
        let labels: LabelSet =
            numbered.filter(|(act, _)| is_it(act)).map(|(_, number)| Label(number)).collect();
        let Answer::Yes(trace) = Prover::new(&self.both).can_call(&labels) else { return None };
        let mut played = self.composed.played(&trace);
        // The call itself is the last act of all.
        match played.last_mut() {
            Some(last) if last.times == 1 => drop(last.acts.pop()),
            Some(_) | None => return None,
        }
        played.retain(|it| !it.acts.is_empty());
        Some(played)
    }
}
