//! What may be passed on of a tool's output.
//!
//! [`check_output`] looks at the whole output, however long and of whatever shape, and gives it back as it is,
//! masked, or not at all. Masked JSON stays JSON.

use std::{borrow::Cow, cmp::Reverse, sync::Arc};

use lockgate_call::{SeenCall, sensitive::Mask};
use lockgate_policy::{
    HitAction, Match, Mode, OutputRule, OutputSearch, Truth, View, clause::Gravity, mask_kinds,
};
use serde::Serialize;
use serde_json::Value;

use crate::rulebook::Rulebook;

/// What is decided about an output; the later one is the stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputDecision {
    /// It may be passed on.
    #[default]
    Allow,
    /// It may be passed on, with a warning.
    Warn,
    /// It may be passed on with something masked.
    Redact,
    /// It must not be passed on.
    Block,
}

impl OutputDecision {
    /// The word every door and the audit log use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Redact => "redact",
            Self::Block => "block",
        }
    }
}

/// What came of looking at an output.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) decision: OutputDecision,
    pub(crate) reason: Option<String>,
    pub(crate) output: Option<Value>,
    pub(crate) warnings: Vec<String>,
    pub(crate) found: Vec<Arc<str>>,
    pub(crate) rules: Vec<OutputHit>,
}

/// A rule on results that had something to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OutputHit {
    /// The rule's name.
    #[serde(rename = "rule")]
    pub name: String,
    /// The file it stands in.
    pub file: Arc<str>,
    /// The line it stands in.
    pub line: usize,
    /// What it did.
    #[serde(rename = "verdict")]
    pub decision: OutputDecision,
    /// Its sentence.
    pub reason: String,
    /// Whether it acts or only observes.
    pub mode: Mode,
    /// Words that travel with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How grave its author says it is, where that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Gravity>,
}

/// Looks at an output; `masks` is whether the call itself was let pass with its sensitive data masked. Where the
/// tool is not known, it may be any.
pub(crate) fn check_output(
    rulebook: &Rulebook,
    tool: Option<&str>,
    call: &SeenCall,
    output: Option<&Value>,
    masks: bool,
) -> Checked {
    let policy = &rulebook.policy;
    let Some(output) = output else { return Checked::default() };
    let mut checked = Checked::default();
    let masking = policy.masking();
    if policy.watches_taints() || masks {
        checked.found = masking.detectors.kinds_in(output).distinct();
    }
    let mut shown = Cow::Borrowed(output);
    let rules: Vec<&OutputRule> = match tool {
        Some(tool) => policy.outputs_of(tool).collect(),
        None => policy.outputs().iter().collect(),
    };
    for rule in rules {
        if !is_hit(rulebook, rule, call, output) {
            continue;
        }
        let sentence = rule.says(&rulebook.around, call, output);
        let observes = rule.mode.min(rulebook.terms.mode) == Mode::Observe;
        if observes || rule.spares_what_acted && tool.is_some_and(|tool| policy.has_acted(tool)) {
            checked.warn(&sentence);
            checked.hit(rule, OutputDecision::Warn, observes, sentence);
            continue;
        }
        match hide(rule, &shown, masking.mask) {
            Hidden::Nothing if matches!(rule.on_hit, HitAction::Warn) => {
                checked.warn(&sentence);
                checked.hit(rule, OutputDecision::Warn, false, sentence);
            }
            Hidden::Nothing => {}
            Hidden::Some(hidden) => {
                shown = Cow::Owned(hidden);
                checked.decide(OutputDecision::Redact, &sentence);
                checked.hit(rule, OutputDecision::Redact, false, sentence);
            }
            Hidden::All => {
                checked.decide(OutputDecision::Block, &sentence);
                shown = Cow::Owned(suppressed(&sentence));
                checked.hit(rule, OutputDecision::Block, false, sentence);
                break;
            }
        }
    }
    if masks
        && checked.decision < OutputDecision::Block
        && rulebook.terms.mode == Mode::Enforce
        && let (Some(masked), _) = masking.detectors.mask_value(&shown, masking.mask)
    {
        shown = Cow::Owned(masked);
        checked.decide(OutputDecision::Redact, "the result contained sensitive data, which was masked.");
    }
    if let Cow::Owned(shown) = shown {
        checked.output = Some(shown);
    }
    // The strictest leads; a stable sort keeps the order of the files among equals.
    checked.rules.sort_by_key(|hit| (Reverse(hit.mode), Reverse(hit.decision)));
    checked
}

impl Checked {
    fn decide(&mut self, decision: OutputDecision, reason: &str) {
        if decision > self.decision {
            self.decision = decision;
            self.reason = Some(reason.to_owned());
        }
    }

    fn hit(&mut self, rule: &OutputRule, decision: OutputDecision, observes: bool, reason: String) {
        self.rules.push(OutputHit {
            name: rule.name.clone(),
            file: rule.place.file.clone(),
            line: rule.place.line,
            decision,
            reason,
            mode: if observes { Mode::Observe } else { Mode::Enforce },
            tags: rule.tags.clone(),
            severity: rule.severity,
        });
    }

    fn warn(&mut self, sentence: &str) {
        self.decide(OutputDecision::Warn, sentence);
        self.warnings.push(sentence.to_owned());
    }
}

/// What is passed on in the place of an output.
pub(crate) fn suppressed(sentence: &str) -> Value {
    Value::from(format!("[OUTPUT SUPPRESSED] {sentence}"))
}

/// What a rule leaves of an output.
enum Hidden {
    Nothing,
    Some(Value),
    All,
}

fn hide(rule: &OutputRule, shown: &Value, mask: Mask) -> Hidden {
    match &rule.on_hit {
        HitAction::Warn => Hidden::Nothing,
        HitAction::Withhold => Hidden::All,
        // What is too large is too large with its secrets masked.
        HitAction::Mask(_) if is_too_large(rule, shown) => Hidden::All,
        HitAction::Mask(detectors) => {
            // What an author forbids by a pattern is hidden wholly.
            let mask = if mask == Mask::Edges { Mask::Stars } else { mask };
            match detectors.mask_value(shown, mask).0 {
                Some(masked) if !has_pattern(rule, &masked) => Hidden::Some(masked),
                None if !has_pattern(rule, shown) => Hidden::Nothing,
                // What the mask cannot reach, such as a pattern across two values, is not shown at all.
                _ => Hidden::All,
            }
        }
        HitAction::MaskKinds(kinds) => {
            let mask = if mask == Mask::Edges { Mask::Stars } else { mask };
            mask_kinds(shown, kinds, mask).map_or(Hidden::Nothing, Hidden::Some)
        }
        HitAction::Replace(regexes) => {
            let mut replaced = shown.clone();
            replace(&mut replaced, regexes);
            let text = text_of(&replaced);
            let is_clean = replaced != *shown && !regexes.iter().any(|regex| regex.is_match(&text));
            Hidden::Some(if is_clean { replaced } else { Value::from(REPLACED) })
        }
    }
}

/// What stands where something was replaced.
const REPLACED: &str = "[REDACTED]";

/// Replaces what the expressions match, in every text and key.
fn replace(value: &mut Value, regexes: &[regex::Regex]) {
    let replaced = |text: &str| {
        let mut text = text.to_owned();
        for regex in regexes {
            text = regex.replace_all(&text, regex::NoExpand(REPLACED)).into_owned();
        }
        text
    };
    match value {
        Value::String(text) => *text = replaced(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, regexes)),
        Value::Object(object) => {
            let entries = std::mem::take(object).into_iter().map(|(key, mut value)| {
                replace(&mut value, regexes);
                (replaced(&key), value)
            });
            *object = entries.collect();
        }
        _ => {}
    }
}

fn is_hit(rulebook: &Rulebook, rule: &OutputRule, call: &SeenCall, output: &Value) -> bool {
    match &rule.looks_for {
        OutputSearch::Text { bytes_max, patterns } => {
            let masks_whatever = patterns.is_empty() && bytes_max.is_none();
            is_too_large(rule, output) || masks_whatever || has_pattern(rule, output)
        }
        // What cannot be told is taken for a hit.
        OutputSearch::Condition(when) => {
            when.truth(&View::of_result(call, Some(output), &rulebook.around)) != Truth::No
        }
    }
}

fn is_too_large(rule: &OutputRule, output: &Value) -> bool {
    match &rule.looks_for {
        OutputSearch::Text { bytes_max: Some(most), .. } => text_of(output).len() as u64 > *most,
        _ => false,
    }
}

/// JSON writes quotes and line ends otherwise than they are, so texts are also looked at by themselves. A pattern
/// the engine gave up on is taken for a hit.
fn has_pattern(rule: &OutputRule, output: &Value) -> bool {
    let OutputSearch::Text { patterns, .. } = &rule.looks_for else { return false };
    let is_found = |text: &str| patterns.iter().any(|pattern| pattern.find(text) != Match::No);
    is_found(&text_of(output)) || is_inside(output, &is_found)
}

fn is_inside(value: &Value, is_found: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_found(text),
        Value::Array(items) => items.iter().any(|item| is_inside(item, is_found)),
        Value::Object(object) => {
            object.iter().any(|(key, value)| is_found(key) || is_inside(value, is_found))
        }
        _ => false,
    }
}

/// A text as it is, anything else as JSON.
fn text_of(output: &Value) -> Cow<'_, str> {
    output.as_str().map_or_else(|| Cow::Owned(output.to_string()), Cow::Borrowed)
}
