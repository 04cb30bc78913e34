//! Many clauses that search one field for something, asked all at once.

use lockgate_pattern::{Pattern, python_text};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    condition::{Coercion, Condition, Field, Found, Operator, Subject},
    tool_index::LazySet,
    view::View,
};

/// From how many searches of one field on they are put together: below, one after another is as fast.
const SEARCHES_TOGETHER_MIN: usize = 4;

/// The clauses of one way of naming tools.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// Those to be asked one by one.
    pub(super) plain: Vec<usize>,
    /// Those that search one field for something, together.
    pub(super) searches: Vec<Search>,
}

impl Bucket {
    pub(super) fn search_for(&mut self, place: &SearchedField, source: &str, clause: usize) {
        match self.searches.iter_mut().find(|search| search.place == *place) {
            Some(search) => {
                search.sources.push(source.to_owned());
                search.clauses.push(clause);
            }
            None => self.searches.push(Search {
                place: place.clone(),
                sources: vec![source.to_owned()],
                clauses: vec![clause],
                set: LazySet::default(),
            }),
        }
    }

    /// Puts the searches of one field together, unless they are few.
    pub(super) fn finish(&mut self) {
        for mut search in std::mem::take(&mut self.searches) {
            if search.clauses.len() < SEARCHES_TOGETHER_MIN {
                self.plain.extend(search.clauses);
            } else {
                search.set = LazySet::of(std::mem::take(&mut search.sources));
                self.searches.push(search);
            }
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        let searched = self.searches.iter().flat_map(|search| &search.clauses);
        self.plain.iter().chain(searched).copied()
    }
}

/// SearchedField something is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchedField {
    field: Field,
    /// Whether anything but a text is a doubt to the clauses; to others everything has a text.
    only_texts: bool,
}

/// Clauses that can only apply where a field has something in it.
#[derive(Debug)]
pub(super) struct Search {
    place: SearchedField,
    /// What each clause searches for, until they are put together.
    sources: Vec<String>,
    pub(super) clauses: Vec<usize>,
    set: LazySet,
}

impl Search {
    /// The clauses whose pattern is found in the field; all of them where the set cannot tell.
    pub(super) fn candidates(&self, view: &View<'_>, found: &mut SmallVec<[usize; 8]>) {
        let mut search = |value: &Value| {
            if value.is_null() {
                return true;
            }
            if self.place.only_texts && !value.is_string() {
                return false;
            }
            let text = python_text(value);
            let set = if Pattern::suits_set(&text) { self.set.get() } else { None };
            let Some(set) = set else { return false };
            let indices = set.matches(&text);
            found.extend(indices.into_iter().filter_map(|index| self.clauses.get(index).copied()));
            true
        };
        let is_known = match self.place.field.look(&view.call.input) {
            Found::Missing => true,
            Found::Value(value) => search(value),
            Found::Values(values) => values.into_iter().all(search),
            _ => false,
        };
        if !is_known {
            found.extend_from_slice(&self.clauses);
        }
    }
}

/// What a field must have in it for a condition to hold, as an expression that many can be put together of. Of
/// several parts the first counts: where that does not hold, the others are not asked.
pub(super) fn searched(condition: &Condition) -> Option<(SearchedField, String)> {
    let value = match condition {
        Condition::All(parts) => return searched(parts.first()?),
        Condition::Value(value) if !value.test.is_negated => value,
        _ => return None,
    };
    let field = match &value.subject {
        Subject::Input(field) => field.clone(),
        Subject::Argument(way) => Field::at(way),
        _ => return None,
    };
    let linear = |pattern: &Pattern| pattern.linear_source().map(|source| format!("(?:{source})"));
    let sources: Option<Vec<String>> = match &value.test.operator {
        Operator::Contains(parts) => Some(parts.iter().map(|part| regex::escape(part)).collect()),
        Operator::Matches(patterns) => patterns.iter().map(linear).collect(),
        _ => None,
    };
    Some((SearchedField { field, only_texts: value.test.coercion != Coercion::Text }, sources?.join("|")))
}
