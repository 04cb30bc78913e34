//! Which conditions on a call can hold together.
//!
//! A call passes if each rule that looks at it and would close it has a condition that does not hold, and if somebody speaks
//! for it where silence is not a yes. [`Classes::of`] gathers what that takes, for all calls of a tool; [`Classes::passing`]
//! looks for a combination. That there is none is said only where it is proved: what nobody can tell from the call
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

/// Ways for a condition to come out so: of several parts, the first that does not go on decides. What nobody can tell
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
mod tests {
    use lockgate_call::{Call, Time};
    use proptest::{collection::vec, prelude::*, sample::select};
    use serde_json::{Value, json};

    use super::*;
    use lockgate_policy::{Source, Surroundings, View, view::NewSession};

    const RULESET: &str =
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n";

    /// One rule: `w` and what a when/then rule looks at, or `r` and what a ruleset does, and what it wants.
    fn policy(head: &str, rules: &[(&str, &str, &str)]) -> Option<Policy> {
        let (mut when_then, mut ruleset) = (String::new(), String::new());
        for (number, (language, when, wants)) in rules.iter().enumerate() {
            match *language {
                "w" => {
                    when_then += &format!("  - {{id: w{number}, when: {{tool: t, {when}}}, then: {wants}}}\n")
                }
                _ => {
                    let wants = if *wants == "approve" { "ask" } else { wants };
                    ruleset += &format!(
                        "  - {{id: r{number}, type: pre, tool: t, when: {{{when}}}, then: {{action: {wants}, message: m}}}}\n"
                    );
                }
            }
        }
        let mut sources = vec![];
        if !when_then.is_empty() || !head.is_empty() {
            let rules =
                if when_then.is_empty() { "rules: []\n".to_owned() } else { format!("rules:\n{when_then}") };
            sources.push(Source::new("w.yaml", format!("{head}{rules}")));
        }
        if !ruleset.is_empty() {
            sources.push(Source::new("r.yaml", format!("{RULESET}{ruleset}")));
        }
        lockgate_languages::read(&sources).0
    }

    fn read(head: &str, rules: &[(&str, &str, &str)]) -> Policy {
        policy(head, rules).unwrap_or_else(|| panic!("{rules:?}"))
    }

    /// The rules that close `t` together; none where they do not.
    fn closing(policy: &Policy, human: Human) -> Option<Vec<String>> {
        match Classes::of(policy, "t", human)?.passing() {
            Passing::Never(rules) => {
                Some(rules.iter().filter_map(|rule| policy.rule(*rule)).map(|it| it.name.clone()).collect())
            }
            Passing::Where(_) | Passing::Unknown => None,
        }
    }

    fn blocks<'a>(looks: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str, &'a str)> {
        looks.iter().map(|(language, when)| (*language, *when, "block")).collect()
    }

    #[test]
    fn rules_that_leave_out_no_call_close_the_tool() {
        let missing = ("w", "args_match: {a: {exists: false}}");
        let rows: [&[(&str, &str)]; 14] = [
            &[("w", "args_match: {a: {gt: 100}}"), ("w", "args_match: {a: {lte: 100}}"), missing],
            &[("w", "args_match: {a: {gt: 5}}"), ("w", "args_match: {a: {lt: 7}}"), missing],
            &[("w", "args_match: {a: {contains: x}}"), ("w", "args_match: {a: {not_contains: x}}"), missing],
            &[
                ("w", "args_match: {a: {contains: x}}"),
                ("w", "args_match: {a: {not_contains: axb}}"),
                missing,
            ],
            &[
                ("w", "args_match: {a: {in: [x, y]}}"),
                ("w", "args_match: {a: {not_in: [x, y, z]}}"),
                ("w", "args_match: {a: z}"),
                missing,
            ],
            &[("w", "args_match: {a: {regex: 'x+'}}"), ("w", "args_match: {a: {not_regex: 'x+'}}"), missing],
            &[("w", "args_match: {a: {exists: true}}"), missing],
            &[("r", "args.a: {exists: true}"), ("r", "args.a: {exists: false}")],
            &[("r", "args.a: {equals: 1}"), ("r", "not: {args.a: {equals: 1}}")],
            &[("r", "args.a: {exists: true}"), missing],
            &[("r", "any: [{args.a: {exists: true}}, {args.a: {exists: false}}]")],
            &[
                ("r", "all: [{args.a: {gt: 3}}, {args.b: {contains: q}}]"),
                ("r", "not: {all: [{args.a: {gt: 3}}, {args.b: {contains: q}}]}"),
            ],
            &[("r", "args.a: {contains_any: [x, y]}"), ("r", "not: {args.a: {contains_any: [y, x]}}")],
            &[
                ("r", "principal.role: {equals: admin}"),
                ("r", "principal.role: {not_equals: admin}"),
                ("r", "principal.role: {exists: false}"),
            ],
        ];
        for rules in rows {
            let policy = read("", &blocks(rules));
            let closed = closing(&policy, Human::Reachable).unwrap_or_else(|| panic!("{rules:?}"));
            assert_eq!(closed.len(), rules.len(), "each of them is needed: {rules:?}");
        }
    }

    #[test]
    fn rules_that_leave_out_some_call_do_not() {
        let rows: [&[(&str, &str)]; 10] = [
            // A field that is missing is neither above nor below.
            &[("w", "args_match: {a: {gt: 100}}"), ("w", "args_match: {a: {lte: 100}}")],
            &[("r", "args.a: {equals: 1}"), ("r", "args.a: {not_equals: 1}")],
            &[
                ("w", "args_match: {a: {gt: 5}}"),
                ("w", "args_match: {a: {lt: 5}}"),
                ("w", "args_match: {a: {exists: false}}"),
            ],
            &[
                ("w", "args_match: {a: {in: [x]}}"),
                ("w", "args_match: {a: {not_in: [x, y]}}"),
                ("w", "args_match: {a: {exists: false}}"),
            ],
            &[
                ("w", "args_match: {a: {contains: axb}}"),
                ("w", "args_match: {a: {not_contains: x}}"),
                ("w", "args_match: {a: {exists: false}}"),
            ],
            &[("w", "args_match: {a: {exists: true}}"), ("w", "args_match: {b: {exists: false}}")],
            // A key with dots is read otherwise by a ruleset.
            &[("w", "args_match: {a.b: {exists: true}}"), ("r", "args.a.b: {exists: false}")],
            &[
                ("w", "args_match: {a: {regex: x}}"),
                ("w", "args_match: {a: {not_regex: 'x|y'}}"),
                ("w", "args_match: {a: {exists: false}}"),
            ],
            // Whether it is one of the host's is for the host to say.
            &[("r", "env.STAGE: {exists: true}"), ("r", "env.STAGE: {exists: false}")],
            &[("w", "context: {time_of_day: '09:00-18:00'}"), ("w", "args_match: {a: {exists: true}}")],
        ];
        for rules in rows {
            assert_eq!(closing(&read("", &blocks(rules)), Human::Reachable), None, "{rules:?}");
        }
    }

    #[test]
    fn who_asks_closes_only_where_nobody_is_there() {
        let rules = [
            ("w", "args_match: {a: {exists: true}}", "approve"),
            ("w", "args_match: {a: {exists: false}}", "block"),
        ];
        let policy = read("", &rules);
        assert_eq!(closing(&policy, Human::Reachable), None);
        assert_eq!(closing(&policy, Human::Absent), Some(vec!["w0".to_owned(), "w1".to_owned()]));
    }

    #[test]
    fn where_silence_is_no_yes_somebody_has_to_speak() {
        let closed = "default_verdict: block\n";
        let allow = ("w", "args_match: {a: {gt: 5}}", "allow");
        let open = read(closed, &[allow]);
        assert_eq!(closing(&open, Human::Reachable), None);
        let shut = read(closed, &[allow, ("w", "args_match: {a: {gte: 0}}", "block")]);
        assert_eq!(closing(&shut, Human::Reachable).map(|rules| rules.len()), Some(2));
        let never = read(closed, &[("w", "args_match: {a: {gt: 5, lt: 3}}", "allow")]);
        assert_eq!(closing(&never, Human::Reachable).map(|rules| rules.len()), Some(1));
    }

    #[test]
    fn no_more_is_looked_at_than_the_limits_say() {
        let missing = ("r", "args.a: {exists: false}");
        let all = |count: usize| format!("all: [{}]", vec!["{args.a: {exists: true}}"; count].join(", "));
        for (count, is_closed) in [(COMBINATIONS_MAX, true), (COMBINATIONS_MAX + 1, false)] {
            let when = all(count);
            let policy = read("", &blocks(&[("r", &when), missing]));
            assert_eq!(closing(&policy, Human::Reachable).is_some(), is_closed, "{count} combinations");
        }
        for (count, is_closed) in [(DEMANDS_MAX - 2, true), (DEMANDS_MAX - 1, false)] {
            let fields: Vec<String> = (0..count).map(|it| format!("args.f{it}: {{exists: true}}")).collect();
            let mut rules: Vec<(&str, &str)> = fields.iter().map(|when| ("r", when.as_str())).collect();
            rules.extend([missing, ("r", "args.a: {exists: true}")]);
            assert_eq!(
                closing(&read("", &blocks(&rules)), Human::Reachable).is_some(),
                is_closed,
                "{count} rules"
            );
        }
        // Fields of which no two may have the same of a few values: there are too many ways to try.
        for (fields, is_closed) in [(3, true), (7, false)] {
            let mut rules: Vec<String> = Vec::new();
            let values: Vec<String> = (1..fields).map(|it| it.to_string()).collect();
            for one in 0..fields {
                rules.push(format!("not: {{args.f{one}: {{in: [{}]}}}}", values.join(", ")));
                for other in 0..one {
                    rules.extend(values.iter().map(|value| {
                        format!("all: [{{args.f{one}: {{equals: {value}}}}}, {{args.f{other}: {{equals: {value}}}}}]")
                    }));
                }
            }
            let rules: Vec<(&str, &str)> = rules.iter().map(|when| ("r", when.as_str())).collect();
            assert_eq!(
                closing(&read("", &blocks(&rules)), Human::Reachable).is_some(),
                is_closed,
                "{fields} fields"
            );
        }
    }

    /// Tests in both languages that say something about a few values.
    fn looks() -> impl Strategy<Value = (&'static str, String)> {
        let field = || select(&["a", "b"][..]);
        let value = || select(&["1", "2", "x", "xy", "true", "'1'", "[1]"][..]);
        let number = || select(&["1", "1.5", "2"][..]);
        let text = || select(&["x", "xy", "y", "1", ""][..]);
        let test = |field: &str, test: &str| format!("{field}: {{{test}}}");
        let when_then = prop_oneof![
            (select(&["gt", "gte", "lt", "lte"][..]), number()).prop_map(|(op, n)| format!("{op}: {n}")),
            (
                select(&["contains", "not_contains", "starts_with", "ends_with", "regex", "not_regex"][..]),
                text()
            )
                .prop_map(|(op, t)| format!("{op}: '{t}'")),
            value().prop_map(|v| format!("eq: {v}")),
            (select(&["in", "not_in"][..]), vec(value(), 1..3))
                .prop_map(|(op, v)| format!("{op}: [{}]", v.join(", "))),
            any::<bool>().prop_map(|wanted| format!("exists: {wanted}")),
        ];
        let when_then = vec((field(), when_then), 1..3).prop_map(move |tests| {
            // A key may stand there once.
            let mut tests = tests;
            tests.dedup_by_key(|(field, _)| *field);
            let tests: Vec<String> = tests.iter().map(|(field, it)| test(field, it)).collect();
            ("w", format!("args_match: {{{}}}", tests.join(", ")))
        });
        let leaf = prop_oneof![
            (select(&["gt", "gte", "lt", "lte"][..]), number()).prop_map(|(op, n)| format!("{op}: {n}")),
            (select(&["contains", "starts_with", "ends_with", "matches"][..]), text())
                .prop_map(|(op, t)| format!("{op}: '{t}'")),
            vec(text(), 1..3).prop_map(|t| format!("contains_any: ['{}']", t.join("', '"))),
            (select(&["equals", "not_equals"][..]), value()).prop_map(|(op, v)| format!("{op}: {v}")),
            (select(&["in", "not_in"][..]), vec(value(), 1..3))
                .prop_map(|(op, v)| format!("{op}: [{}]", v.join(", "))),
            any::<bool>().prop_map(|wanted| format!("exists: {wanted}")),
        ];
        let leaf = (field(), leaf).prop_map(move |(field, it)| format!("args.{}", test(field, &it)));
        let ruleset = leaf.prop_recursive(2, 6, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|part| format!("not: {{{part}}}")),
                (select(&["all", "any"][..]), vec(inner, 1..3))
                    .prop_map(|(word, parts)| format!("{word}: [{{{}}}]", parts.join("}, {"))),
            ]
        });
        prop_oneof![when_then, ruleset.prop_map(|when| ("r", when))]
    }

    fn inputs() -> Vec<serde_json::Map<String, Value>> {
        let values = [
            None,
            Some(json!(null)),
            Some(json!(0)),
            Some(json!(1)),
            Some(json!(1.5)),
            Some(json!(1.7)),
            Some(json!(2)),
            Some(json!(3)),
            Some(json!("x")),
            Some(json!("xy")),
            Some(json!("y")),
            Some(json!("yx")),
            Some(json!("")),
            Some(json!("1")),
            Some(json!("1.7")),
            Some(json!("q")),
            Some(json!(true)),
            Some(json!(false)),
            Some(json!([1])),
            Some(json!(["x"])),
            Some(json!([])),
            Some(json!({"x": 1})),
            Some(json!(12)),
            Some(json!("True")),
        ];
        let mut inputs = Vec::new();
        for a in &values {
            for b in &values {
                let fields = [("a", a), ("b", b)];
                let there =
                    fields.iter().filter_map(|(key, value)| Some(((*key).to_owned(), (*value).clone()?)));
                inputs.push(there.collect());
            }
        }
        inputs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// What is said to be closed is closed to every call.
        #[test]
        fn no_call_passes_where_none_is_said_to(rules in vec((looks(), select(&["block", "block", "approve", "allow"][..])), 1..10), is_closed in prop::bool::weighted(0.3)) {
            let rules: Vec<(&str, &str, &str)> = rules
                .iter()
                .filter(|((language, _), wants)| *language == "w" || *wants != "allow")
                .map(|((language, when), wants)| (*language, when.as_str(), *wants))
                .collect();
            // Some tests are mistakes: nothing is above an empty text.
            let policy = policy(if is_closed { "default_verdict: block\n" } else { "" }, &rules);
            prop_assume!(policy.is_some());
            let policy = policy.unwrap();
            let around = Surroundings::default();
            for human in [Human::Reachable, Human::Absent] {
                let Some(closing) = closing(&policy, human) else { continue };
                for input in inputs() {
                    let call = Call { input, ..Call::new("1", "t") }.into();
                    let view = View { call: &call, now: Time(0), around: &around, output: None, memory: &NewSession };
                    let applying = policy.applying(&view);
                    let is_spoken_of = applying.iter().any(|it| it.clause.speaks(it.truth));
                    let default = policy.default_clause().filter(|_| !is_spoken_of);
                    let mut all = applying.iter().map(|it| it.clause).chain(default);
                    prop_assert!(all.any(|clause| is_refused_by(human, clause)), "{closing:?} {rules:?}\n{call:?}");
                }
            }
        }
    }
}
