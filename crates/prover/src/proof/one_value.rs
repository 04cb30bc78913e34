//! Whether one value can be such that several tests of it come out as wanted.
//!
//! [`can_be`] says no only where that is proved: there is neither a value nor a missing one of which all of it holds.
//! Numbers stand between the numbers that tests name, texts are those that tests name or any other, and what a test
//! says of any other is left open, unless another test says the opposite. That two patterns match one text is never
//! ruled out here: missing on purpose, because that would take too long.

mod spelled;
mod truths;

use std::cmp::Ordering;

use lockgate_pattern::Pattern;
use lockgate_policy::{
    Truth,
    condition::{Coercion, Operator, PrincipalField, Test},
};
use serde_json::{Number, Value};
use spelled::{Spelled, in_order};

use super::literals::{Part, Place, truth_at};

pub(super) use truths::Truths;

/// Where a value stands, as one language looks for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) place: Place,
    /// Whether it is a key with dots or the way that it may mean, or both: only one of the languages reads it so.
    pub(super) is_either: bool,
}

impl Spot {
    /// Whether several values may stand there, which are a doubt where they differ.
    fn may_be_several(&self) -> bool {
        let has_wildcard = |way: &lockgate_call::Selector| way.to_string().contains('*');
        self.is_either
            || match &self.place {
                Place::Way(way) | Place::Metadata(way) | Place::Principal(PrincipalField::Claims(way)) => {
                    has_wildcard(way)
                }
                _ => false,
            }
    }
}

/// What a test of one value is to come out as.
#[derive(Clone, Debug)]
pub(super) struct WantedTruth<'a> {
    pub(super) spot: Spot,
    pub(super) test: &'a Test,
    pub(super) wanted: Truths,
}

impl WantedTruth<'_> {
    /// Whether it is as wanted where there is no value.
    pub(super) fn is_met_by_nothing(&self) -> bool {
        // There always is an environment.
        self.spot.place != Place::Environment && self.is_met_by(&Value::Null)
    }

    fn is_met_by(&self, value: &Value) -> bool {
        self.wanted.has(truth_at(&self.spot.place, self.test, value))
    }
}

/// Whether some value, or none, can be such that all of these come out as wanted. All are about one spot.
pub(super) fn can_be(conditions: &[&WantedTruth<'_>]) -> bool {
    let Some(first) = conditions.first() else { return true };
    if conditions.iter().all(|it| it.is_met_by_nothing())
        || conditions.iter().all(|it| it.wanted.has(Truth::Doubt))
    {
        return true;
    }
    // Of several values that agree, one alone is enough; where they differ, the answer is unknown.
    let is_several = first.spot.may_be_several();
    let known: Vec<&WantedTruth<'_>> =
        conditions.iter().copied().filter(|it| !(is_several && it.wanted.has(Truth::Doubt))).collect();
    let mut texts: Vec<Value> = Vec::new();
    let mut numbers: Vec<&Number> = Vec::new();
    for value in known.iter().flat_map(|it| named(it.test)) {
        match value {
            NamedValue::Value(Value::String(text)) => texts.push(Value::from(text.as_str())),
            NamedValue::Value(Value::Number(number)) => numbers.push(number),
            NamedValue::Number(number) => numbers.push(number),
            NamedValue::Value(_) => {}
        }
    }
    let is_met = |value: &Value| known.iter().all(|it| it.is_met_by(value));
    if texts.iter().any(is_met) || [Value::from(true), Value::from(false)].iter().any(is_met) {
        return true;
    }
    let Some(numbers) = in_order(numbers) else { return true };
    let at = (0..=2 * numbers.len()).map(|at| Spelled { at, numbers: &numbers });
    let shapes = at.flat_map(|number| [Shape::Number(number), Shape::Text(Some(number))]);
    shapes.chain([Shape::Text(None), Shape::Compound]).any(|shape| is_conceivable(&known, &shape))
}

/// What kind of value it is, of those that no test names.
enum Shape<'a> {
    Number(Spelled<'a>),
    /// A text, and the number that it spells.
    Text(Option<Spelled<'a>>),
    /// A list or an object.
    Compound,
}

/// What a test may say of any value of a shape.
enum TestMeaning<'a> {
    /// One of these.
    Known(Truths),
    /// Whatever this says of the value.
    As(Atom<'a>),
    /// The opposite of it.
    Not(Atom<'a>),
    /// Yes where one of these does.
    Any(Vec<Atom<'a>>),
    /// The opposite of that.
    None(Vec<Atom<'a>>),
}

/// What depends on more of a value than its shape.
#[derive(Clone, Debug, PartialEq)]
enum Atom<'a> {
    /// Its text has this in it.
    Has(Part, &'a str),
    /// Its text matches.
    Matches(&'a Pattern),
    /// Its text is this.
    Is(&'a str),
    /// It is this value.
    Same(&'a Value),
}

impl Atom<'_> {
    /// What it can come to.
    fn truths(&self) -> Truths {
        match self {
            Self::Has(..) | Self::Is(_) | Self::Same(_) => Truths::YES.or(Truths::NO),
            _ => Truths::YES.or(Truths::NO).or(Truths::DOUBT),
        }
    }
}

fn is_conceivable(conditions: &[&WantedTruth<'_>], shape: &Shape<'_>) -> bool {
    let mut needs = NeededTruths::default();
    conditions.iter().all(|it| match says(&it.spot.place, it.test, shape) {
        TestMeaning::Known(truths) => it.wanted.meets(truths),
        TestMeaning::As(atom) => needs.add(atom, it.wanted),
        TestMeaning::Not(atom) => needs.add(atom, it.wanted.opposite()),
        TestMeaning::Any(atoms) => needs.add_any(atoms, it.wanted),
        TestMeaning::None(atoms) => needs.add_any(atoms, it.wanted.opposite()),
    }) && needs.agree()
}

/// What is asked of one value beyond its shape.
#[derive(Default)]
struct NeededTruths<'a> {
    all: Vec<(Atom<'a>, Truths)>,
    /// Of each list, one must be more than a no.
    some: Vec<Vec<Atom<'a>>>,
}

impl<'a> NeededTruths<'a> {
    /// Whether that is possible beside what is asked of the very same.
    fn add(&mut self, atom: Atom<'a>, wanted: Truths) -> bool {
        let wanted = wanted.and(atom.truths());
        match self.all.iter_mut().find(|(known, _)| *known == atom) {
            Some((_, known)) => {
                *known = known.and(wanted);
                *known != Truths::NONE
            }
            None => {
                self.all.push((atom, wanted));
                wanted != Truths::NONE
            }
        }
    }

    /// The same for what is yes where one of these is, no where none of them is, and a doubt otherwise.
    fn add_any(&mut self, atoms: Vec<Atom<'a>>, wanted: Truths) -> bool {
        if wanted == Truths::NO {
            return atoms.into_iter().all(|atom| self.add(atom, Truths::NO));
        }
        if !wanted.has(Truth::No) {
            self.some.push(atoms);
        }
        true
    }

    /// Whether nothing that is asked rules out something else that is asked.
    fn agree(&self) -> bool {
        let (is_true, is_false) = (
            |atom: &Atom<'a>| self.all.iter().any(|(it, truths)| it == atom && *truths == Truths::YES),
            |atom: &Atom<'a>| self.all.iter().any(|(it, truths)| it == atom && *truths == Truths::NO),
        );
        let asked: Vec<&Atom<'a>> =
            self.all.iter().filter(|(atom, _)| is_true(atom)).map(|(atom, _)| atom).collect();
        let denied: Vec<&Atom<'a>> =
            self.all.iter().filter(|(atom, _)| is_false(atom)).map(|(atom, _)| atom).collect();
        let is_denied = |atom: &Atom<'a>| denied.contains(&atom) || denied.iter().any(|it| implies(atom, it));
        !asked.iter().any(|one| denied.iter().any(|other| implies(one, other)))
            && !denied.iter().any(|it| matches!(it, Atom::Has(_, "")))
            && !asked.iter().any(|one| asked.iter().any(|other| excludes(one, other)))
            && !self.some.iter().any(|atoms| atoms.iter().all(is_denied))
    }
}

/// Whether one of two holds of every text of which the other does.
fn implies(one: &Atom<'_>, other: &Atom<'_>) -> bool {
    let Atom::Has(place, part) = other else { return false };
    match (one, place) {
        (Atom::Has(_, text), Part::Middle) => text.contains(part),
        (Atom::Has(Part::Start, text), Part::Start) => text.starts_with(part),
        (Atom::Has(Part::End, text), Part::End) => text.ends_with(part),
        (Atom::Is(text), place) => has(text, *place, part),
        _ => false,
    }
}

/// Whether no text is both.
fn excludes(one: &Atom<'_>, other: &Atom<'_>) -> bool {
    match (one, other) {
        (Atom::Has(Part::Start, one), Atom::Has(Part::Start, other)) => {
            !one.starts_with(other) && !other.starts_with(one)
        }
        (Atom::Has(Part::End, one), Atom::Has(Part::End, other)) => {
            !one.ends_with(other) && !other.ends_with(one)
        }
        (Atom::Is(one), Atom::Is(other)) => one != other,
        (Atom::Is(text), Atom::Has(place, part)) => !has(text, *place, part),
        _ => false,
    }
}

fn has(text: &str, place: Part, part: &str) -> bool {
    match place {
        Part::Start => text.starts_with(part),
        Part::Middle => text.contains(part),
        Part::End => text.ends_with(part),
    }
}

fn says<'a>(place: &Place, test: &'a Test, shape: &Shape<'_>) -> TestMeaning<'a> {
    // Only a text names a sender.
    let is_text = matches!(shape, Shape::Text(_));
    if matches!(place, Place::Sender(_)) && !is_text {
        return TestMeaning::Known(Truths::NO);
    }
    let says = operator_says(&test.operator, test.coercion, shape);
    if test.is_negated { says.opposite() } else { says }
}

impl TestMeaning<'_> {
    fn opposite(self) -> Self {
        match self {
            Self::Known(truths) => Self::Known(truths.opposite()),
            Self::As(atom) => Self::Not(atom),
            Self::Not(atom) => Self::As(atom),
            Self::Any(atoms) => Self::None(atoms),
            Self::None(atoms) => Self::Any(atoms),
        }
    }
}

fn operator_says<'a>(operator: &'a Operator, coercion: Coercion, shape: &Shape<'_>) -> TestMeaning<'a> {
    let takes_texts = matches!(coercion, Coercion::Text | Coercion::Plain);
    // Items that all say the same are like one value; otherwise each test says that or is in doubt.
    if coercion == Coercion::Plain
        && matches!((shape, operator), (Shape::Compound, op) if !matches!(op, Operator::Exists(_) | Operator::Shape(_)))
    {
        return TestMeaning::Known(Truths::DOUBT);
    }
    let ordered = |limit: &Number, is_meant: fn(Ordering) -> bool| {
        TestMeaning::Known(match shape {
            Shape::Number(number) => number.is_ordered(limit, is_meant),
            Shape::Text(Some(number)) if takes_texts => number.is_ordered(limit, is_meant),
            Shape::Text(_) | Shape::Compound => Truths::DOUBT,
        })
    };
    let of_text = |mut atoms: Vec<Atom<'a>>| match (shape, atoms.pop()) {
        (Shape::Number(_) | Shape::Compound, _) if !takes_texts => TestMeaning::Known(Truths::DOUBT),
        (_, Some(atom)) if atoms.is_empty() => TestMeaning::As(atom),
        (_, last) => TestMeaning::Any(atoms.into_iter().chain(last).collect()),
    };
    let is: fn(&Value, &Shape<'_>) -> Option<Truths> = if takes_texts { equal } else { same };
    match operator {
        Operator::Exists(wanted) => TestMeaning::Known((*wanted).into()),
        Operator::Equals(expected) => {
            let same = if takes_texts { atom(expected) } else { Atom::Same(expected) };
            is(expected, shape).map_or(TestMeaning::As(same), TestMeaning::Known)
        }
        Operator::OneOf(expected) => match one_of(expected, shape, is) {
            Ok(truths) => TestMeaning::Known(truths),
            Err(atoms) => TestMeaning::Any(atoms),
        },
        Operator::Contains(parts) => {
            of_text(parts.iter().map(|part| Atom::Has(Part::Middle, part)).collect())
        }
        Operator::StartsWith(part) => of_text(vec![Atom::Has(Part::Start, part)]),
        Operator::EndsWith(part) => of_text(vec![Atom::Has(Part::End, part)]),
        Operator::Matches(patterns) => of_text(patterns.iter().map(Atom::Matches).collect()),
        Operator::Above(limit) => ordered(limit, Ordering::is_gt),
        Operator::AtLeast(limit) => ordered(limit, Ordering::is_ge),
        Operator::Below(limit) => ordered(limit, Ordering::is_lt),
        Operator::AtMost(limit) => ordered(limit, Ordering::is_le),
        Operator::Under(_) | Operator::Shape(_) => {
            TestMeaning::Known(Truths::YES.or(Truths::NO).or(Truths::DOUBT))
        }
    }
}

/// What a list of values says: known where each of them is; otherwise what one of which has to be a yes.
fn one_of<'a>(
    expected: &'a [Value],
    shape: &Shape<'_>,
    is: fn(&Value, &Shape<'_>) -> Option<Truths>,
) -> Result<Truths, Vec<Atom<'a>>> {
    let mut known = Truths::NO;
    let mut open = Vec::new();
    for value in expected {
        match is(value, shape) {
            Some(Truths::YES) => return Ok(Truths::YES),
            Some(truths) => known = known.or(truths),
            None => open.push(atom(value)),
        }
    }
    match known {
        Truths::NO if !open.is_empty() => Err(open),
        known if open.is_empty() => Ok(known),
        known => Ok(known.or(Truths::YES)),
    }
}

/// That a value is this one, where only its text or all of it tells.
fn atom(expected: &Value) -> Atom<'_> {
    expected.as_str().map_or(Atom::Same(expected), Atom::Is)
}

/// Whether a value of a shape is this one where texts are compared; none where that depends on the value.
fn equal(expected: &Value, shape: &Shape<'_>) -> Option<Truths> {
    Some(match (expected, shape) {
        (Value::String(_), Shape::Text(_)) => Truths::NO,
        // The text of a number begins like one, and that of a list or an object with a bracket.
        (Value::String(text), Shape::Number(_))
            if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) =>
        {
            Truths::NO
        }
        (Value::String(text), Shape::Compound) if !text.starts_with(['[', '{']) => Truths::NO,
        (Value::String(_), _) => return None,
        (Value::Number(number), Shape::Number(it) | Shape::Text(Some(it))) => it.is(number),
        // The word in capitals is a doubt.
        (Value::Bool(_), Shape::Text(_)) => Truths::NO.or(Truths::DOUBT),
        (Value::Array(_) | Value::Object(_), Shape::Compound) => return None,
        _ => Truths::NO,
    })
}

/// The same where types count.
fn same(expected: &Value, shape: &Shape<'_>) -> Option<Truths> {
    Some(match (expected, shape) {
        (Value::Number(number), Shape::Number(it)) => it.is(number),
        (Value::Array(_) | Value::Object(_), Shape::Compound) => return None,
        _ => Truths::NO,
    })
}

/// A value that a test names.
enum NamedValue<'a> {
    Number(&'a Number),
    Value(&'a Value),
}

/// The values that a test tells from all others.
fn named(test: &Test) -> Vec<NamedValue<'_>> {
    match &test.operator {
        Operator::Equals(value) => vec![NamedValue::Value(value)],
        Operator::OneOf(values) => values.iter().map(NamedValue::Value).collect(),
        Operator::Above(number)
        | Operator::AtLeast(number)
        | Operator::Below(number)
        | Operator::AtMost(number) => vec![NamedValue::Number(number)],
        _ => Vec::new(),
    }
}
