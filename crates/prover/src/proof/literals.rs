//! What a clause asks of single values, and values that pass.
//!
//! [`conjunctions`] writes the conditions of a clause as lists of single tests, each list enough for the clause;
//! [`values_for`] finds values that pass all tests of a place. What looks at a whole input, at a session or at the
//! clock is missing on purpose: `samples.rs` knows those.

use lockgate_call::Selector;
use lockgate_pattern::{Match, Pattern};
use serde_json::{Number, Value};

use lockgate_policy::{
    Truth,
    condition::{Attribute, Condition, Field, Operator, PrincipalField, SenderField, Shape, Subject, Test},
};

/// The most lists of tests for one clause.
const CONJUNCTIONS_MAX: usize = 64;

/// The most values for one place.
const VALUES_MAX: usize = 48;

/// The most values that are looked at for one place.
const TRIED_MAX: usize = 2_000;

/// The most values of one test that are tried where another test decides.
const VALUES_EACH_MAX: usize = 4;

/// The most patterns of one place that are distinguished.
const PATTERNS_MAX: usize = 8;

/// Where a value stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// In the input, under this key.
    Key(String),
    /// In the input, where this points.
    Way(Selector),
    /// In what is known about the sender.
    Sender(SenderField),
    /// In what the host said about the call.
    Context(String),
    /// In what the trusted caller said about the session.
    Attribute(String),
    /// In what is known about who stands behind the call.
    Principal(PrincipalField),
    /// The deployment the agent runs in.
    Environment,
    /// In the facts about the call.
    Metadata(Selector),
    /// The tool's own name.
    Tool,
}

/// One test of one value.
#[derive(Clone, Debug)]
pub(super) struct Literal<'a> {
    pub(super) place: Place,
    pub(super) test: &'a Test,
    /// Whether it must pass; otherwise it must not.
    pub(super) wanted: bool,
}

/// Where in a text a part of it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Start,
    Middle,
    End,
}

/// Lists of tests, each of which is enough for all conditions to hold, as far as they look at single values.
pub(super) fn conjunctions(conditions: &[Condition]) -> Vec<Vec<Literal<'_>>> {
    let mut found: Vec<Vec<Literal<'_>>> = vec![Vec::new()];
    for condition in conditions {
        found = joined(&found, &ways(condition, true));
    }
    found
}

fn joined<'a>(before: &[Vec<Literal<'a>>], choices: &[Vec<Literal<'a>>]) -> Vec<Vec<Literal<'a>>> {
    let both = before
        .iter()
        .flat_map(|list| choices.iter().map(move |choice| list.iter().chain(choice).cloned().collect()));
    both.take(CONJUNCTIONS_MAX).collect()
}

/// Where a value stands that a call can be given; none where only the session, the result or the host decides.
pub(super) fn place_of(subject: &Subject) -> Option<Place> {
    Some(match subject {
        Subject::Input(field) => of_field(field),
        Subject::Argument(way) => of_field(&Field::at(way)),
        Subject::Session(Attribute::Named(name)) => Place::Attribute(name.clone()),
        Subject::Sender(field) => Place::Sender(field.clone()),
        Subject::Context(key) => Place::Context(key.clone()),
        Subject::Principal(field) => Place::Principal(field.clone()),
        Subject::Environment => Place::Environment,
        Subject::ToolName => Place::Tool,
        Subject::Metadata(way) => Place::Metadata(way.clone()),
        Subject::Session(_)
        | Subject::Variable(_)
        | Subject::OutputText
        | Subject::Result(_)
        | Subject::Custom { .. } => return None,
    })
}

/// Where a field stands.
fn of_field(field: &Field) -> Place {
    field.nested.as_ref().map_or_else(|| Place::Key(field.text.clone()), |way| Place::Way(way.clone()))
}

/// Lists of tests, each of which is enough for a condition to hold, or not to hold.
fn ways(condition: &Condition, wanted: bool) -> Vec<Vec<Literal<'_>>> {
    match condition {
        Condition::Not(part) => ways(part, !wanted),
        Condition::All(parts) if wanted => all_of(parts, wanted),
        Condition::Any(parts) if !wanted => all_of(parts, wanted),
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().flat_map(|part| ways(part, wanted)).take(CONJUNCTIONS_MAX).collect()
        }
        Condition::Value(value) => {
            let literal = place_of(&value.subject).map(|place| Literal { place, test: &value.test, wanted });
            vec![literal.into_iter().collect()]
        }
        _ => vec![Vec::new()],
    }
}

fn all_of(parts: &[Condition], wanted: bool) -> Vec<Vec<Literal<'_>>> {
    parts.iter().fold(vec![Vec::new()], |found, part| joined(&found, &ways(part, wanted)))
}

/// For each place the values that pass all tests of it, the plainest first; none if a place has none. Null is no
/// value. What the conditions beside say of the same place is tried as well.
pub(super) fn values_for(
    literals: &[Literal<'_>],
    beside: &[&Condition],
) -> Option<Vec<(Place, Vec<Value>)>> {
    let others = literals_in(beside.iter().copied());
    let mut places: Vec<&Place> = Vec::new();
    for literal in literals {
        if !places.contains(&&literal.place) {
            places.push(&literal.place);
        }
    }
    let of = |place: &Place| {
        let own: Vec<&Literal<'_>> = literals.iter().filter(|it| it.place == *place).collect();
        let theirs: Vec<&Literal<'_>> = others.iter().filter(|it| it.place == *place).collect();
        let values = passing(&own, &theirs);
        (!values.is_empty()).then(|| (place.clone(), values))
    };
    places.into_iter().map(of).collect()
}

/// A value that a test of a net asks for; none where it asks for none.
pub(super) fn value_for(test: &Test) -> Option<Value> {
    Some(match &test.operator {
        Operator::Under(folders) => format!("{}/file", folders.first()?.trim_end_matches('/')).into(),
        Operator::Equals(value) => value.clone(),
        Operator::OneOf(values) => values.first()?.clone(),
        Operator::Matches(patterns) if test.is_negated => {
            let other = |text: &&str| patterns.iter().all(|pattern| pattern.find(text) == Match::No);
            Value::from(*["x", "0", "-", ""].iter().find(|text| other(text))?)
        }
        Operator::Matches(patterns) => patterns.iter().find_map(Pattern::sample)?.into(),
        Operator::Contains(parts) => parts.first()?.as_str().into(),
        Operator::StartsWith(part) | Operator::EndsWith(part) => part.as_str().into(),
        Operator::Exists(wanted) => wanted.then(|| Value::from("x"))?,
        Operator::Shape(shape) => shaped(*shape).into_iter().next()?,
        Operator::AtMost(number)
        | Operator::AtLeast(number)
        | Operator::Above(number)
        | Operator::Below(number) => Value::Number(number.clone()),
    })
}

/// The values that conditions look at, whether they pass or not; few of each place.
pub(super) fn values_in(conditions: &[Condition]) -> Vec<(Place, Value)> {
    let mut found = Vec::new();
    for literal in literals_in(conditions) {
        let values = values_of(literal.test).into_iter().take(VALUES_EACH_MAX);
        found.extend(values.chain([Value::from("x")]).map(|value| (literal.place.clone(), value)));
    }
    found
}

fn literals_in<'a>(conditions: impl IntoIterator<Item = &'a Condition>) -> Vec<Literal<'a>> {
    let of = |condition: &'a Condition| match condition {
        Condition::Value(_) => ways(condition, true),
        condition => ways(condition, true).into_iter().chain(ways(condition, false)).collect(),
    };
    conditions.into_iter().flat_map(of).flatten().collect()
}

fn passing(own: &[&Literal<'_>], theirs: &[&Literal<'_>]) -> Vec<Value> {
    let mut tried: Vec<Value> = own.iter().flat_map(|it| values_of(it.test)).collect();
    tried.extend(put_together(own, theirs));
    tried.extend(told_apart(own, theirs).into_iter().map(Value::from));
    tried.extend(theirs.iter().flat_map(|it| values_of(it.test)));
    tried.extend([Value::from("x"), Value::from(0), Value::from(1), Value::from(""), Value::Null]);
    let mut values: Vec<Value> = Vec::new();
    for value in tried.into_iter().take(TRIED_MAX) {
        if !values.contains(&value) && own.iter().all(|it| it.passes(&value)) {
            values.push(value);
        }
    }
    // What others do not take is what tells them apart.
    let is_taken = |value: &Value| theirs.iter().all(|it| it.passes(value));
    if let Some((_, rest)) = values.split_first_mut() {
        rest.sort_by_cached_key(is_taken);
    }
    values.truncate(VALUES_MAX);
    values
}

/// Texts that have all parts in them that are asked for, alone and with a part that others speak of.
fn put_together(own: &[&Literal<'_>], theirs: &[&Literal<'_>]) -> Vec<Value> {
    let own: Vec<(Part, String)> = own.iter().filter(|it| it.wanted).filter_map(|it| part(it.test)).collect();
    let theirs = theirs.iter().filter_map(|it| part(it.test).or_else(|| part_left_out(it.test)));
    let more = theirs.take(PATTERNS_MAX).map(|part| own.iter().cloned().chain([part]).collect());
    let lists: Vec<Vec<(Part, String)>> = std::iter::once(own.clone()).chain(more).collect();
    let mut found = Vec::new();
    for parts in lists.iter().filter(|parts| parts.len() > 1) {
        let all = |wanted: Part| {
            parts.iter().filter(move |(part, _)| *part == wanted).map(|(_, text)| text.as_str())
        };
        let texts: Vec<&str> = all(Part::Start).chain(all(Part::Middle)).chain(all(Part::End)).collect();
        found.extend([Value::from(texts.concat()), Value::from(texts.join(" "))]);
    }
    found
}

/// Texts that one of the patterns matches and another does not.
fn told_apart(own: &[&Literal<'_>], theirs: &[&Literal<'_>]) -> Vec<String> {
    let patterns = |of: &[&Literal<'_>]| -> Vec<Pattern> {
        of.iter().flat_map(|it| it.test.operator.patterns()).take(PATTERNS_MAX).cloned().collect()
    };
    let (own, theirs) = (patterns(own), patterns(theirs));
    let mut texts = Vec::new();
    for one in &own {
        for other in theirs.iter().filter(|other| *other != one) {
            texts.extend(one.sample_without(other));
            texts.extend(other.sample_without(one));
        }
    }
    texts
}

impl Literal<'_> {
    fn passes(&self, value: &Value) -> bool {
        truth_at(&self.place, self.test, value) == if self.wanted { Truth::Yes } else { Truth::No }
    }
}

/// What a test says of a value that stands somewhere; null is a missing one.
pub(super) fn truth_at(place: &Place, test: &Test, value: &Value) -> Truth {
    match place {
        // It may be the one that is asked about.
        Place::Attribute(_) | Place::Context(_) if value.is_null() && test.is_negated => Truth::Doubt,
        // Only a text names a sender.
        Place::Sender(_) if value.as_str().is_none_or(str::is_empty) => Truth::No,
        _ => test.truth(value),
    }
}

/// Values of interest: at the edges of a test, on both sides.
fn values_of(test: &Test) -> Vec<Value> {
    match &test.operator {
        Operator::Exists(_) => Vec::new(),
        Operator::Equals(value) => vec![value.clone(), another(value)],
        Operator::OneOf(values) => match values.as_slice() {
            [value] => vec![value.clone(), another(value)],
            values => values.to_vec(),
        },
        Operator::Contains(parts) => {
            let plain = parts.iter().map(|part| Value::from(part.as_str()));
            plain.chain(parts.first().into_iter().flat_map(|part| around(part))).collect()
        }
        Operator::StartsWith(part) | Operator::EndsWith(part) => around(part),
        Operator::Matches(patterns) => {
            // The plainest of each first.
            let all: Vec<Vec<String>> = patterns.iter().map(Pattern::samples).collect();
            let firsts = all.iter().filter_map(|texts| texts.first().cloned());
            texts(firsts.chain(all.iter().flatten().cloned()).collect())
        }
        Operator::Above(number)
        | Operator::AtLeast(number)
        | Operator::Below(number)
        | Operator::AtMost(number) => numbers(number),
        Operator::Under(folders) => folders.iter().map(|folder| Value::from(folder.as_str())).collect(),
        Operator::Shape(shape) => shaped(*shape),
    }
}

/// Values that are like this, and one that is not.
fn shaped(shape: Shape) -> Vec<Value> {
    let list = |count: u64| {
        let items = (0..count.min(SHAPED_ITEMS_MAX)).map(|at| Value::from(format!("x{at}")));
        Value::from(items.collect::<Vec<_>>())
    };
    match shape {
        Shape::Text => vec![Value::from("x"), Value::from(1)],
        Shape::Number => vec![Value::from(1.5), Value::from("x")],
        Shape::WholeNumber => vec![Value::from(1), Value::from("x")],
        Shape::Boolean => vec![Value::from(true), Value::from("x")],
        Shape::List => vec![list(1), Value::from("x")],
        Shape::Object => vec![Value::Object(serde_json::Map::new()), Value::from("x")],
        Shape::Items { least, most } => vec![list(least), list(most.saturating_add(1))],
    }
}

/// The longest list that is made up.
const SHAPED_ITEMS_MAX: u64 = 1_000;

/// What a text must have in it, where it must have just one thing.
fn part(test: &Test) -> Option<(Part, String)> {
    if test.is_negated { None } else { part_named(&test.operator) }
}

/// What a text must not have in it.
fn part_left_out(test: &Test) -> Option<(Part, String)> {
    if test.is_negated { part_named(&test.operator) } else { None }
}

fn part_named(operator: &Operator) -> Option<(Part, String)> {
    Some(match operator {
        Operator::StartsWith(text) => (Part::Start, text.clone()),
        Operator::EndsWith(text) => (Part::End, text.clone()),
        Operator::Contains(texts) => (Part::Middle, texts.first()?.clone()),
        Operator::Matches(patterns) => {
            let first = patterns.iter().find_map(|pattern| pattern.samples().into_iter().next());
            (Part::Middle, first?)
        }
        _ => return None,
    })
}

/// The counts at the edges of a test.
pub(super) fn numbers_of(test: &Test) -> Vec<u64> {
    values_of(test).iter().filter_map(Value::as_u64).collect()
}

fn texts(texts: Vec<String>) -> Vec<Value> {
    texts.into_iter().map(Value::from).collect()
}

/// A text, and the same with something before it, behind it, and both.
fn around(part: &str) -> Vec<Value> {
    texts(vec![part.to_owned(), format!("{part}x"), format!("x{part}"), format!("x{part}x")])
}

/// The value itself is at the edge, and its neighbours are on both sides.
fn numbers(number: &Number) -> Vec<Value> {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => {
            [whole, whole.saturating_add(1), whole.saturating_sub(1)].into_iter().map(Value::from).collect()
        }
        (None, Some(float)) => {
            let plain = Value::Number(number.clone());
            std::iter::once(plain).chain([float + 1.0, float - 1.0].map(Value::from)).collect()
        }
        (None, None) => vec![Value::Number(number.clone())],
    }
}

/// Something else.
fn another(value: &Value) -> Value {
    match value {
        Value::Bool(it) => Value::Bool(!it),
        Value::Number(number) => numbers(number).into_iter().nth(1).unwrap_or(Value::Null),
        Value::String(text) => Value::from(format!("{text}x")),
        Value::Null | Value::Array(_) | Value::Object(_) => Value::from("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_policy::{Policy, Source};

    fn facts(when: &str) -> Policy {
        let head = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\n";
        let rule = format!(
            "rules:\n  - {{id: a, type: pre, tool: t, when: {{{when}}}, then: {{action: block, message: m}}}}\n"
        );
        let (policy, mistakes) = lockgate_languages::read(&[Source::new("a.yaml", format!("{head}{rule}"))]);
        policy.unwrap_or_else(|| panic!("{mistakes:?}"))
    }

    /// How many lists of tests there are, and how many values the first place of the first has; of the lists, those
    /// that no values pass are not counted.
    fn found(when: &str) -> (usize, usize) {
        let policy = facts(when);
        let lists = conjunctions(&policy.clauses().first().unwrap().conditions);
        let values: Vec<_> = lists.iter().filter_map(|list| values_for(list, &[])).collect();
        (values.len(), values.first().and_then(|it| it.first()).map_or(0, |(_, values)| values.len()))
    }

    #[test]
    fn an_expression_is_as_many_lists_of_tests_as_it_has_ways_to_hold() {
        let any = |count: usize| {
            let parts: Vec<String> =
                (0..count).map(|number| format!("{{args.f{number}: {{equals: 1}}}}")).collect();
            format!("any: [{}]", parts.join(", "))
        };
        let rows = [
            ("args.a: {equals: 1}".to_owned(), 1),
            ("all: [{args.a: {gt: 1}}, {args.b: {exists: true}}]".to_owned(), 1),
            ("any: [{args.a: {gt: 1}}, {args.b: {exists: true}}]".to_owned(), 2),
            ("not: {all: [{args.a: {gt: 1}}, {args.b: {exists: true}}]}".to_owned(), 2),
            ("not: {any: [{args.a: {gt: 1}}, {args.b: {exists: true}}]}".to_owned(), 1),
            // Both cannot hold.
            ("all: [{args.a: {gt: 5}}, {args.a: {lt: 3}}]".to_owned(), 0),
            (any(CONJUNCTIONS_MAX), CONJUNCTIONS_MAX),
            (any(CONJUNCTIONS_MAX + 1), CONJUNCTIONS_MAX),
        ];
        for (when, expected) in rows {
            assert_eq!(found(&when).0, expected, "{when}");
        }
    }

    #[test]
    fn no_more_values_are_kept_than_the_limit_says() {
        for (count, kept) in
            [(VALUES_MAX - 1, VALUES_MAX - 1), (VALUES_MAX, VALUES_MAX), (VALUES_MAX + 1, VALUES_MAX)]
        {
            let values: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
            assert_eq!(found(&format!("args.a: {{in: [{}]}}", values.join(", "))).1, kept);
        }
    }

    #[test]
    fn values_pass_every_operator() {
        let rows = [
            "exists: true",
            "exists: false",
            "equals: a",
            "not_equals: a",
            "in: [a, 2]",
            "not_in: [a, x]",
            "contains: ab",
            "contains_any: [ab, cd]",
            "starts_with: ab",
            "ends_with: ab",
            "matches: '^a[0-9]{3}$'",
            "matches_any: ['^b+$', c]",
            "gt: 5",
            "gte: 5",
            "lt: -5",
            "lte: 0.5",
        ];
        for row in rows {
            for when in [format!("args.a.b: {{{row}}}"), format!("not: {{args.a.b: {{{row}}}}}")] {
                assert!(found(&when).1 > 0, "{when}");
            }
        }
    }
}
