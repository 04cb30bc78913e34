//! Rules that look and can make no difference, because another rule always decides first.
//!
//! All rules are asked and the strictest wins, whatever their priorities. So a rule is *shadowed* where, whenever it
//! applies, another one applies that is at least as strict; and an `allow` that a `block` shadows is a
//! *contradiction*, because its author says in so many words that the call may run. [`shadowed`] compares what is
//! written: the tools, and facts that are the same to the letter. Missing on purpose: whether one expression implies
//! another, and rules that remember; those are the prover's.

use lockgate_pattern::{Match, Pattern};
use lockgate_policy::{
    Decision, Diagnostic, HashMap, Mode, Policy, Rule, Span, ToolName, Tools,
    clause::{Clause, Standing},
    condition::{Attribute, Coercion, Condition, Operator, Subject, ValueTest},
    tool_index::{Certainty, ToolIndex},
};

/// How many tools and rules one finding names.
const NAMED_MAX: usize = 3;

/// Which rules that look never decide, in file order.
pub(crate) fn shadowed(policy: &Policy) -> Vec<Diagnostic> {
    let mut overlaps = Overlaps::read(policy);
    let mut findings: Vec<Diagnostic> = Vec::new();
    // Later rules first: of two that say the same, the later one is told. What is told shadows nothing any more, so
    // that all that is told may be taken out together.
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
            // That it allows what is allowed anyway is told as such.
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
    /// Whether it is a rule that somebody wrote down to decide something now. A limit has others beside it in one
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
    let message = format!("`{}` never decides: {by} {does} whatever it speaks of", clause.name);
    finding("shadowed", clause, message).remedy(
        "take it out, or let the other rule speak of less: the strictest rule wins, whatever the priorities",
    )
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
        "let the rule that blocks speak of less, or take the other out: an allow makes no exception, whatever its priority",
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

/// The facts of a clause, by number.
#[derive(Default)]
struct Facts {
    needs: Vec<usize>,
    implies: Vec<usize>,
}

/// Numbers for facts: the same fact has the same number.
#[derive(Default)]
struct Numbers {
    by_text: HashMap<String, usize>,
    uses: Vec<usize>,
}

impl Numbers {
    fn of(&mut self, clause: &Clause) -> Facts {
        let mut facts = Facts::default();
        for (at, condition) in clause.conditions.iter().enumerate() {
            match condition {
                Condition::All(_) | Condition::Any(_) | Condition::Not(_) => {
                    self.add_expression(condition, &mut facts);
                }
                Condition::Value(value) if value.test.coercion == Coercion::Typed => {
                    self.add_expression(condition, &mut facts);
                }
                condition => {
                    let number = self.number(text_of_condition(clause, at, condition));
                    facts.needs.push(number);
                    facts.implies.push(number);
                }
            }
        }
        facts.implies.sort_unstable();
        facts.implies.dedup();
        facts
    }

    /// A doubt ends the question where it is met, so the parts of an expression count in their order: what begins
    /// with all parts of another applies only where that does, and what has the same parts elsewhere may not.
    fn add_expression(&mut self, expression: &Condition, facts: &mut Facts) {
        let mut parts = Vec::new();
        flatten(expression, &mut parts);
        let mut so_far = None;
        for part in parts {
            let number = self.number(format!("after {so_far:?} {}", text_of(part)));
            so_far = Some(number);
            facts.implies.push(number);
        }
        facts.needs.extend(so_far);
    }

    fn number(&mut self, text: String) -> usize {
        let next = self.uses.len();
        let number = *self.by_text.entry(text).or_insert(next);
        match self.uses.get_mut(number) {
            Some(uses) => *uses += 1,
            None => self.uses.push(1),
        }
        number
    }

    fn uses(&self, number: usize) -> usize {
        self.uses.get(number).copied().unwrap_or(0)
    }
}

/// The parts that must all hold, in their order.
fn flatten<'e>(expression: &'e Condition, parts: &mut Vec<&'e Condition>) {
    match expression {
        Condition::All(all) => all.iter().for_each(|part| flatten(part, parts)),
        part => parts.push(part),
    }
}

/// A condition as a text that only the same condition has.
fn text_of_condition(clause: &Clause, at: usize, condition: &Condition) -> String {
    match condition {
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Value(_) => text_of(condition),
        Condition::Schedule(schedule) => format!("schedule {schedule:?}"),
        Condition::Tainted => "tainted".to_owned(),
        Condition::Unreadable { declared } => format!("unreadable {declared:?}"),
        // What is counted, and how, belongs to one rule; sandboxes and detectors are hardly ever written twice.
        Condition::Called { .. }
        | Condition::CalledInOrder { .. }
        | Condition::Earned { .. }
        | Condition::Outside(_)
        | Condition::Suspicious(_) => format!("own {:?} {at}", clause.id),
    }
}

fn text_of(expression: &Condition) -> String {
    let texts = |parts: &[Condition]| parts.iter().map(text_of).collect::<Vec<_>>().join(", ");
    match expression {
        Condition::All(parts) => format!("all({})", texts(parts)),
        Condition::Any(parts) => format!("any({})", texts(parts)),
        Condition::Not(part) => format!("not({})", text_of(part)),
        Condition::Value(ValueTest { subject, test, .. }) => {
            let not = if test.is_negated { "not " } else { "" };
            format!("{subject:?} {:?} {not}{}", test.coercion, text_of_operator(&test.operator))
        }
        other => format!("{other:?}"),
    }
}

fn text_of_operator(operator: &Operator) -> String {
    match operator {
        Operator::Matches(patterns) => format!("matches {}", keys(patterns)),
        other => format!("{other:?}"),
    }
}

/// Patterns are told apart by text and language; whether one was already put together says nothing.
fn keys(patterns: &[Pattern]) -> String {
    patterns.iter().map(|pattern| format!("{:?}", pattern.key())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use lockgate_call::Call;

    use super::*;
    use crate::verify;
    use lockgate_policy::{Source, Surroundings, View, view::NewSession};

    const RULESET: &str =
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: a}\ndefaults: {mode: enforce}\n";

    /// What is told about some files, as `code id: who decides`.
    fn told(files: &[(&str, String)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(name, text)| Source::new(*name, text.as_str())).collect();
        let (policy, findings) = lockgate_languages::read(&sources);
        let policy = policy.unwrap_or_else(|| panic!("{findings:?}"));
        let findings = verify(&policy).1.into_iter();
        let findings = findings.filter(|finding| ["shadowed", "contradiction"].contains(&finding.code));
        findings.map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
    }

    /// The ids of the rules that are told, each with `!` where it is a contradiction.
    fn ids(files: &[(&str, String)]) -> Vec<String> {
        let id = |line: &String| {
            let id = line.split('`').nth(1).unwrap_or_default().to_owned();
            if line.starts_with("contradiction") { format!("{id}!") } else { id }
        };
        told(files).iter().map(id).collect()
    }

    fn when_then(rules: &str) -> Vec<String> {
        ids(&[("a.yaml", format!("rules:\n{}", listed_as_yaml(rules)))])
    }

    fn listed_as_yaml(rules: &str) -> String {
        rules.lines().map(str::trim).filter(|it| !it.is_empty()).map(|it| format!("  - {{{it}}}\n")).collect()
    }

    #[test]
    fn a_rule_is_told_where_another_always_decides() {
        let rows = [
            // Unconditional and stricter, whatever the priorities and the order.
            (
                "id: s, then: block, when: {tool: x}
              id: r, then: approve, priority: -9, when: {tool: x, sender: ada}",
                vec!["r"],
            ),
            (
                "id: r, then: redact, when: {tool: x}
              id: s, then: block, when: {tool: x}",
                vec!["r"],
            ),
            // Of two that say the same the later one is told, and only one.
            (
                "id: a, then: block, when: {tool: x}
              id: b, then: block, when: {tool: x}
              id: c, then: block, when: {tool: x}",
                vec!["b", "c"],
            ),
            (
                "id: r, then: block, when: {tool: x, args_match: {a: {regex: z}, b: {eq: 'y'}}}
              id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}",
                vec!["r"],
            ),
            // Another names the tools by a pattern, or all of them.
            (
                "id: r, then: block, when: {tool: delete_user}
              id: s, then: block, when: {tool: 'delete_*'}",
                vec!["r"],
            ),
            (
                "id: r, then: approve, when: {tool: 'delete_*'}
              id: s, then: block",
                vec!["r"],
            ),
            // Two rules together decide about all tools of a third.
            (
                "id: r, then: approve, when: {tool: [x, y]}
              id: s, then: block, when: {tool: x}
              id: t, then: block, when: {tool: y}",
                vec!["r"],
            ),
        ];
        for (rules, expected) in rows {
            assert_eq!(when_then(rules), expected, "{rules}");
        }
    }

    #[test]
    fn a_rule_that_only_looks_shadowed_is_left_alone() {
        let rows = [
            // Less strict.
            "id: s, then: approve, when: {tool: x}
             id: r, then: block, when: {tool: x, sender: ada}",
            // Another tool, another field, another value, another test.
            "id: s, then: block, when: {tool: x}
             id: r, then: block, when: {tool: y}",
            "id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}
             id: r, then: block, when: {tool: x, args_match: {b: {regex: z}}}",
            "id: s, then: block, when: {tool: x, args_match: {a: {regex: z}}}
             id: r, then: block, when: {tool: x, args_match: {a: {contains: z}}}",
            // A name in one language is a pattern in another.
            "id: s, then: block, when: {tool: x, args_match: {a: {eq: '1'}}}
             id: r, then: block, when: {tool: x, args_match: {a: {eq: 1}}}",
            // Only some of its tools.
            "id: s, then: block, when: {tool: x}
             id: r, then: approve, when: {tool: [x, y]}",
            "id: s, then: block, when: {tool: 'delete_*'}
             id: r, then: approve, when: {tool: 'delete.*'}",
            // Who observes decides nothing, and is not meant to.
            "id: s, then: block, mode: observe, when: {tool: x}
             id: r, then: approve, when: {tool: x}",
            "id: s, then: block, when: {tool: x}
             id: r, then: approve, mode: observe, when: {tool: x}",
            "id: s, then: block, enabled: false, when: {tool: x}
             id: r, then: approve, when: {tool: x}",
            // A yes that stands answers one rule alone.
            "id: s, then: approve, approval_strategy: per_session, when: {tool: x}
             id: r, then: approve, approval_strategy: per_session, when: {tool: x, sender: ada}",
            "id: s, then: approve, approval_strategy: per_session, when: {tool: x}
             id: r, then: approve, when: {tool: x, sender: ada}",
            // What a human agrees to is masked all the same.
            "id: s, then: approve, when: {tool: x}
             id: r, then: redact, when: {tool: x}",
            // Each counts for itself.
            "id: s, then: block, when: {tool: x, chain: [{tool: y, within_seconds: 9}]}
             id: r, then: block, when: {tool: x, chain: [{tool: y, within_seconds: 8}]}",
        ];
        for rules in rows {
            assert_eq!(when_then(rules), [""; 0], "{rules}");
        }
    }

    #[test]
    fn what_is_told_may_all_be_taken_out_together() {
        let rules = "id: a, then: block, when: {tool: [x, y]}
                     id: b, then: block, when: {tool: [y, z]}
                     id: c, then: block, when: {tool: [x, z]}";
        assert_eq!(when_then(rules), ["c"]);
    }

    #[test]
    fn an_allow_that_is_always_blocked_is_a_contradiction() {
        let rows = [
            (
                "id: r, then: allow, priority: 1, when: {tool: x}
              id: s, then: block, when: {tool: x}",
                vec!["r!"],
            ),
            (
                "id: r, then: allow, when: {tool: x, sender: ada}
              id: s, then: block, when: {tool: x}",
                vec!["r!"],
            ),
            (
                "id: r, then: allow, when: {tool: x, sender: ada}
              id: s, then: block, when: {tool: 'x*', sender: ada}",
                vec!["r!"],
            ),
            // One of the tools it names.
            (
                "id: r, then: allow, when: {tool: [x, y]}
              id: s, then: block, when: {tool: y}",
                vec!["r!"],
            ),
            // An exception in a rule that allows more is how policies are written.
            (
                "id: r, then: allow
              id: s, then: block, when: {tool: x}",
                vec![],
            ),
            (
                "id: r, then: allow, when: {tool: 'x*'}
              id: s, then: block, when: {tool: xy}",
                vec![],
            ),
            (
                "id: r, then: allow, when: {tool: x}
              id: s, then: block, when: {tool: x, sender: ada}",
                vec![],
            ),
            (
                "id: r, then: allow, when: {tool: x}
              id: s, then: block, mode: observe, when: {tool: x}",
                vec![],
            ),
            // It opens nothing where everything is open; that is told under another code.
            (
                "id: r, then: allow, when: {tool: x}
              id: s, then: allow, when: {tool: x}",
                vec![],
            ),
        ];
        for (rules, expected) in rows {
            assert_eq!(when_then(rules), expected, "{rules}");
        }
    }

    #[test]
    fn under_a_strict_default_an_allow_may_shadow_another() {
        let closed = |rules: &str| {
            ids(&[("a.yaml", format!("default_verdict: block\nrules:\n{}", listed_as_yaml(rules)))])
        };
        let rows = [
            (
                "id: s, then: allow, when: {tool: x}
              id: r, then: allow, when: {tool: x, sender: ada}",
                vec!["r"],
            ),
            (
                "id: s, then: approve, when: {tool: x}
              id: r, then: allow, when: {tool: x, sender: ada}",
                vec!["r"],
            ),
            (
                "id: s, then: allow, when: {tool: x, sender: ada}
              id: r, then: allow, when: {tool: x}",
                vec!["s"],
            ),
            (
                "id: s, then: allow, when: {tool: x, sender: eve}
              id: r, then: allow, when: {tool: x, sender: ada}",
                vec![],
            ),
        ];
        for (rules, expected) in rows {
            assert_eq!(closed(rules), expected, "{rules}");
        }
        // A ruleset does not speak in the place of the default, so without the other rule nothing would be asked.
        let ruleset = format!(
            "{RULESET}rules:\n  - {{id: s, type: pre, tool: x, when: {{tool.name: {{exists: true}}}}, then: {{action: ask, message: m}}}}\n"
        );
        let rule = "default_verdict: block\nrules:\n  - {id: r, then: approve, when: {tool: x}}\n".to_owned();
        assert_eq!(ids(&[("a.yaml", rule), ("b.yaml", ruleset)]), [""; 0]);
    }

    #[test]
    fn tests_of_a_ruleset_count_in_their_order() {
        let rule = |id: &str, all: &str, action: &str| {
            format!(
                "  - {{id: {id}, type: pre, tool: x, when: {{all: [{all}]}}, then: {{action: {action}, message: m}}}}\n"
            )
        };
        let (a, b, c) = ("{args.a: {contains: p}}", "{args.b: {equals: q}}", "{args.c: {gt: 3}}");
        let rows = [
            // Where `a` is a doubt, the first applies whatever `b` is; and so does the second.
            (format!("{a}, {b}, {c}"), format!("{a}, {b}"), vec!["r"]),
            (format!("{a}, {b}"), a.to_owned(), vec!["r"]),
            (format!("{{all: [{a}, {b}]}}, {c}"), format!("{a}, {b}"), vec!["r"]),
            // Where `a` is a doubt and `b` does not hold, the first applies and the second does not.
            (format!("{a}, {b}, {c}"), format!("{b}, {a}"), vec![]),
            (format!("{a}, {b}"), b.to_owned(), vec![]),
        ];
        for (narrow, wide, expected) in rows {
            let text = format!("{RULESET}rules:\n{}{}", rule("r", &narrow, "ask"), rule("s", &wide, "block"));
            assert_eq!(ids(&[("a.yaml", text.clone())]), expected, "{text}");
        }
    }

    #[test]
    fn one_line_rules_and_traps_decide_too() {
        let rule =
            |then: &str| format!("rules:\n  - {{id: r, then: {then}, when: {{tool: x, sender: ada}}}}\n");
        let rows = [
            ("approve", "block x\n", vec!["r"]),
            ("allow", "block x\n", vec!["r!"]),
            ("approve", "observe block x\n", vec![]),
            ("approve", "block y\n", vec![]),
            ("approve", "limit x to 1 per session\n", vec![]),
            // The one-line rule does not see the calls that its file renames.
            ("approve", "map x.command ls as look\nblock x\nlimit look to 3 per session\n", vec![]),
        ];
        for (then, rules, expected) in rows {
            let files = [("a.yaml", rule(then)), ("b.rules", rules.to_owned())];
            assert_eq!(ids(&files), expected, "{then} {rules}");
        }
        let trap = format!("honeypots: [{{name: X}}]\n{}", rule("allow"));
        assert_eq!(ids(&[("a.yaml", trap)]), ["r!"]);
    }

    #[test]
    fn the_finding_names_who_decides() {
        let files = [
            ("a.yaml", "rules:\n  - {id: r, then: allow, when: {tool: [x, y]}}\n  - {id: q, then: approve, when: {tool: [x, y]}}\n".to_owned()),
            ("b.rules", "block x\nblock y\n".to_owned()),
        ];
        insta::assert_snapshot!(told(&files).join("\n"), @"
        contradiction: `r` allows `x` and `y`, and `block-x` (b.rules:1) and `block-y` (b.rules:2) block it all the same
        shadowed: `q` never decides: `block-x` (b.rules:1) and `block-y` (b.rules:2) block whatever it speaks of
        ");
    }

    proptest::proptest! {
        /// What is told makes no difference: whatever is called, the verdicts are the same without it.
        #[test]
        fn a_rule_that_is_told_changes_no_verdict(rules in proptest::collection::vec((0..4usize, 0..4usize, 0..4usize), 1..6), default in 0..3usize) {
            let wants = ["allow", "redact", "approve", "block"];
            let tools = ["x", "y", "'[xy]'", "[x, y]"];
            let facts = ["", ", args_match: {a: {contains: p}}", ", args_match: {b: {contains: q}}", ", args_match: {a: {contains: p}, b: {contains: q}}"];
            let default = ["allow", "approve", "block"][default];
            let text = |without: Option<&str>| {
                let mut text = format!("default_verdict: {default}\nrules:\n");
                for (number, (want, tool, fact)) in rules.iter().enumerate() {
                    let id = format!("r{number}");
                    if Some(id.as_str()) != without {
                        text.push_str(&format!("  - {{id: {id}, then: {}, when: {{tool: {}{}}}}}\n", wants[*want], tools[*tool], facts[*fact]));
                    }
                }
                if text.ends_with("rules:\n") { text.push_str("  []\n"); }
                text
            };
            let read = |text: String| lockgate_languages::read(&[Source::new("a.yaml", text.as_str())]).0.unwrap();
            let whole = read(text(None));
            for line in told(&[("a.yaml", text(None))]) {
                let id = line.split('`').nth(1).unwrap();
                let without = read(text(Some(id)));
                let is_allow = line.starts_with("contradiction");
                let names = line.split(", and ").next().unwrap();
                for (tool, input) in calls() {
                    let call = Call { input, ..Call::new("1", tool) };
                    let (with, without) = (wanted(&whole, &call), wanted(&without, &call));
                    if !is_allow {
                        assert_eq!(with, without, "{line}\n{}", text(None));
                    } else if applies(&whole, id, &call) && names.contains(&format!("`{tool}`")) {
                        assert_eq!(with, Decision::Block, "{line}\n{}", text(None));
                    }
                }
            }
        }
    }

    fn calls() -> Vec<(&'static str, serde_json::Map<String, serde_json::Value>)> {
        let inputs = [
            r#"{}"#,
            r#"{"a": "p"}"#,
            r#"{"b": "q"}"#,
            r#"{"a": "p", "b": "q"}"#,
            r#"{"a": ["p", 1], "b": "-"}"#,
        ];
        let calls = ["x", "y", "z"].into_iter().flat_map(|tool| inputs.map(|input| (tool, input)));
        calls.map(|(tool, input)| (tool, serde_json::from_str(input).unwrap())).collect()
    }

    fn applies(policy: &Policy, id: &str, call: &Call) -> bool {
        policy.applying(&view(call, &Surroundings::default())).iter().any(|it| it.clause.name == id)
    }

    fn view<'a>(call: &'a Call, around: &'a Surroundings) -> View<'a> {
        View { call, now: lockgate_call::Time(0), around, output: None, memory: &NewSession }
    }

    /// What the rules that look want of a first call.
    fn wanted(policy: &Policy, call: &Call) -> Decision {
        let around = Surroundings::default();
        let applying = policy.applying(&view(call, &around));
        let is_spoken_of = applying.iter().any(|it| it.clause.speaks(it.truth));
        let default = policy.default_clause().filter(|_| !is_spoken_of).map(|clause| clause.wants);
        applying.iter().map(|it| it.clause.wants).chain(default).max().unwrap_or_default()
    }
}
