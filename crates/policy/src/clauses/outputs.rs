//! Rules about what a tool gives back.

use lockgate_call::{
    SeenCall,
    sensitive::{Detectors, Kind, Mask},
};
use lockgate_pattern::Pattern;
use serde_json::Value;

use crate::{
    clause::Gravity,
    condition::Condition,
    rule::Rule,
    template::Template,
    view::{Surroundings, View},
};

/// How sensitive data is found and masked.
#[derive(Debug)]
pub struct Masking {
    /// What finds it.
    pub detectors: Detectors,
    /// What it is replaced by.
    pub mask: Mask,
}

impl Default for Masking {
    fn default() -> Self {
        Self { detectors: Detectors::standard().clone(), mask: Mask::default() }
    }
}

/// A rule on results.
#[derive(Debug)]
pub struct OutputRule {
    /// What every rule has.
    pub rule: Rule,
    /// What it looks for.
    pub looks_for: OutputSearch,
    /// What it does with a result that has it.
    pub on_hit: HitAction,
    /// Whether it only warns of tools that are declared to have acted: keeping their result back undoes nothing.
    pub spares_what_acted: bool,
    /// What it says.
    pub sentence: String,
    /// What it says where that depends on the call.
    pub template: Option<Template>,
    /// Words that travel with what is decided.
    pub tags: Vec<String>,
    /// How grave its author says it is, where that is said.
    pub severity: Option<Gravity>,
}

/// What a rule on results looks for.
#[derive(Debug)]
pub enum OutputSearch {
    /// A text that is too large or has something in it; whatever its mask finds, where it names neither.
    Text {
        /// The largest result, in bytes of its text.
        bytes_max: Option<u64>,
        /// What must not be in it.
        patterns: Vec<Pattern>,
    },
    /// A condition on the call and its result.
    Condition(Box<Condition>),
}

/// What a rule does with a result.
#[derive(Debug)]
pub enum HitAction {
    /// It says so.
    Warn,
    /// It masks what these find.
    Mask(Detectors),
    /// It masks the texts in which something of these kinds is found.
    MaskKinds(Vec<Kind>),
    /// It replaces what these match; all of it, where there are none.
    Replace(Vec<regex::Regex>),
    /// It withholds the result.
    Withhold,
}

impl OutputRule {
    /// What it says about a result.
    pub fn says(&self, around: &Surroundings, call: &SeenCall, output: &Value) -> String {
        let expand = |template: &Template| template.expand(&View::of_result(call, Some(output), around));
        self.template.as_ref().map_or_else(|| self.sentence.clone(), expand)
    }
}

/// A value with what is of these kinds masked; none where nothing is. A text that holds other kinds besides is masked with
/// them: what is masked too much only hides.
pub fn mask_kinds(value: &Value, kinds: &[Kind], mask: Mask) -> Option<Value> {
    masked_under(value, None, kinds, mask).map(|(_, value)| value)
}

/// The same for a value under a key, which may be masked itself.
fn masked_under(value: &Value, key: Option<&str>, kinds: &[Kind], mask: Mask) -> Option<(String, Value)> {
    let own_key = || key.unwrap_or_default().to_owned();
    match value {
        Value::Array(items) => {
            let masked: Vec<Option<Value>> =
                items.iter().map(|item| Some(masked_under(item, key, kinds, mask)?.1)).collect();
            let is_changed = masked.iter().any(Option::is_some);
            let items =
                masked.into_iter().zip(items).map(|(masked, item)| masked.unwrap_or_else(|| item.clone()));
            is_changed.then(|| (own_key(), Value::from(items.collect::<Vec<_>>())))
        }
        Value::Object(fields) => {
            let masked: Vec<Option<(String, Value)>> =
                fields.iter().map(|(key, value)| masked_under(value, Some(key), kinds, mask)).collect();
            let is_changed = masked.iter().any(Option::is_some);
            let fields = masked.into_iter().zip(fields);
            let fields =
                fields.map(|(masked, (key, value))| masked.unwrap_or_else(|| (key.clone(), value.clone())));
            is_changed.then(|| (own_key(), Value::Object(fields.collect())))
        }
        leaf => {
            // What a field is called tells what its number is.
            let whole = match key {
                Some(key) => Value::Object([(key.to_owned(), leaf.clone())].into_iter().collect()),
                None => leaf.clone(),
            };
            let (masked, found) = Detectors::standard().mask_value(&whole, mask);
            let masked = masked.filter(|_| found.each().iter().any(|kind| kinds.contains(kind)))?;
            match masked {
                Value::Object(fields) => fields.into_iter().next(),
                value => Some((own_key(), value)),
            }
        }
    }
}

impl std::ops::Deref for OutputRule {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}
