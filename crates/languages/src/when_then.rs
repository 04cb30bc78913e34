//! When/then rules: YAML files with `rules:`, each with a `when` and a `then`.
//!
//! `parse` reads one file, `resolve` joins all of them (a rule may extend one of another file), `lint` says
//! what their authors probably do not mean. The meaning is that of the language's manual, also where the program
//! it was written for does something else; what that program ignores in silence (a misspelt key, an unknown
//! operator, a time that is none) is a mistake here. Keys of features that Lockgate does not run are refused by
//! name. Missing on purpose: reading included files, which is the opener's to do, from [`includes`].

use jiff::tz::TimeZone;
use lockgate_policy::{
    Decision, Diagnostic, Mode, Source, Span,
    clause::{Gravity, Standing},
    closest,
};

use crate::{
    detect::{Language, detect},
    draft::Draft,
    listed::read_listed,
    renew::renew_when_then,
    yaml::{self, Dialect, Fields, Node, Reader, Value},
};

mod conditions;
mod guards;
mod lint;
mod lower;
mod names;
mod not_run;
mod resolve;
mod rule;
mod schedule;
#[cfg(test)]
mod tests;
mod values;

use crate::draft::when_then::WhenThen;
pub(crate) use lint::lint;
pub(crate) use lower::{DefaultVerdict, lower};
pub(crate) use resolve::resolve;

/// Files of this language repeat themselves by anchors.
const DIALECT: Dialect = Dialect { anchors: true };
const FILE_KEYS: [&str; 17] = [
    "shield_name",
    "version",
    "default_verdict",
    "rules",
    "include",
    "honeypots",
    "taint_chain",
    "output_rules",
    "sanitizer",
    "rate_limits",
    "pii_patterns",
    "timezone",
    "mode",
    "mask",
    "approval_strategy",
    "claims",
    "examples",
];

/// The files that a file includes, as written, and where it says so. Mistakes are left for the reading to tell.
pub fn includes(source: &Source) -> Vec<(String, Span)> {
    // Looking for the word first spares most files a second reading.
    if !source.text().contains("include") || detect(source) != Language::WhenThen {
        return Vec::new();
    }
    let Some(Node { value: Value::Map(entries), .. }) = yaml::parse(source, DIALECT).0 else {
        return Vec::new();
    };
    let mut file = File { reader: Reader::new(source) };
    let entry = entries.iter().find(|entry| entry.key == "include");
    entry.map(|entry| file.includes(&entry.value)).unwrap_or_default()
}

/// Reads a file of when/then rules.
pub(crate) fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    let mut draft = Draft::of(source);
    let (mut root, diagnostics) = yaml::parse(source, DIALECT);
    if let Some(root) = &mut root {
        renew_when_then(root);
    }
    let mut file = File { reader: Reader { source, diagnostics } };
    if let Some(root) = &root
        && let Some(fields) = file.file_fields(root)
    {
        draft.when_then = file.when_then(&fields);
        read_listed(&fields, &mut file.reader, &mut draft);
    }
    // The keys are asked for in our order, the author reads the file in theirs.
    let mut diagnostics = file.reader.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    (draft, diagnostics)
}

/// A file being read.
struct File<'s> {
    reader: Reader<'s>,
}

impl File<'_> {
    /// The outermost mapping. A key that only carries what other places repeat is nobody's mistake.
    fn file_fields<'n>(&mut self, root: &'n Node) -> Option<Fields<'n>> {
        let told = self.reader.diagnostics.len();
        let fields = self.reader.outermost_fields(root, "a file of when/then rules", &FILE_KEYS)?;
        for diagnostic in self.reader.diagnostics.iter_mut().skip(told) {
            not_run::explain(diagnostic);
        }
        Some(fields)
    }

    fn when_then(&mut self, fields: &Fields<'_>) -> WhenThen {
        if let Some(node) = fields.get("shield_name") {
            self.words(node, "`shield_name`");
        }
        if let Some(node) = fields.get("version") {
            self.version(node);
        }
        let default_verdict = fields.get("default_verdict").and_then(|node| {
            let decision = self.decision(node, "`default_verdict`")?;
            Some((decision, node.span))
        });
        WhenThen {
            is_written: true,
            default_verdict,
            zone: fields.get("timezone").and_then(|node| self.zone(node)),
            rules: fields.get("rules").map(|node| self.rules(node)).unwrap_or_default(),
            includes: fields.get("include").map(|node| self.includes(node)).unwrap_or_default(),
            honeypots: fields.get("honeypots").map(|node| self.honeypots(node)).unwrap_or_default(),
            taint_chain: fields.get("taint_chain").and_then(|node| self.taint_chain(node)),
            outputs: fields.get("output_rules").map(|node| self.outputs(node)).unwrap_or_default(),
            sanitizer: fields.get("sanitizer").and_then(|node| self.sanitizer(node)),
            rate_limits: fields.get("rate_limits").map(|node| self.rate_limits(node)).unwrap_or_default(),
            patterns: fields.get("pii_patterns").map(|node| self.custom_patterns(node)).unwrap_or_default(),
            mask: fields.get("mask").and_then(|node| self.mask(node)),
            mode: fields.get("mode").and_then(|node| self.mode(node, true)).unwrap_or_default(),
            approval_strategy: fields.get("approval_strategy").and_then(|node| self.standing(node)),
        }
    }

    /// The version of the author's own counting: checked, because a slip there may be one elsewhere, and not used.
    fn version(&mut self, node: &Node) {
        let is_text_of_one = matches!(&node.value, Value::Scalar { text, quoted: true }
            if !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit()));
        if !is_text_of_one {
            self.reader.count(node, "`version`");
        }
    }

    fn includes(&mut self, node: &Node) -> Vec<(String, Span)> {
        let items = self.reader.list(node, "`include`").unwrap_or_default();
        let named = |item: &Node| Some((self.reader.text_strict(item, "a file in `include`")?, item.span));
        items.iter().filter_map(named).collect()
    }

    fn zone(&mut self, node: &Node) -> Option<TimeZone> {
        let name = self.reader.text_strict(node, "`timezone`")?;
        let zone = TimeZone::get(&name).ok();
        if zone.is_none() {
            let known: Vec<String> = jiff::tz::db().available().map(|zone| zone.to_string()).collect();
            let remedy = match closest(&name, known.iter().map(String::as_str)) {
                Some(zone) => format!("did you mean `{zone}`?"),
                None => "write a region and a city, as in `Europe/Berlin`, or `UTC`".to_owned(),
            };
            self.reader.error("unknown-zone", node.span, format!("no time zone is called `{name}`"), remedy);
        }
        zone
    }

    fn mask(&mut self, node: &Node) -> Option<lockgate_call::sensitive::Mask> {
        use lockgate_call::sensitive::Mask;
        let masks = [("edges", Mask::Edges), ("stars", Mask::Stars), ("label", Mask::Label)];
        self.choice(node, "`mask`", &masks)
    }

    /// Whether rules act. Only a whole file has the other program's words for it.
    fn mode(&mut self, node: &Node, is_of_file: bool) -> Option<Mode> {
        let modes = [("enforce", Mode::Enforce), ("observe", Mode::Observe), ("audit", Mode::Observe)];
        let known = if is_of_file { &modes[..] } else { modes.get(..2).unwrap_or_default() };
        if is_of_file && is_word(node, "disabled") {
            let message = "a policy cannot turn itself off";
            let remedy = "take the file out of the policy, or write `mode: observe` to only record";
            self.reader.error("disabled-policy", node.span, message, remedy);
            return None;
        }
        self.choice(node, "`mode`", known)
    }

    fn standing(&mut self, node: &Node) -> Option<Standing> {
        let standings = [
            ("once", Standing::Once),
            ("per_call", Standing::Once),
            ("per_session", Standing::PerSession),
            ("per_rule", Standing::PerRule),
            ("per_tool", Standing::PerTool),
        ];
        self.choice(node, "`approval_strategy`", &standings)
    }

    fn severity(&mut self, node: &Node) -> Option<Gravity> {
        let severities = [
            ("low", Gravity::Low),
            ("medium", Gravity::Medium),
            ("high", Gravity::High),
            ("critical", Gravity::Critical),
        ];
        self.choice(node, "`severity`", &severities)
    }

    fn decision(&mut self, node: &Node, what: &str) -> Option<Decision> {
        let decisions = [
            ("allow", Decision::Allow),
            ("block", Decision::Block),
            ("redact", Decision::Redact),
            ("approve", Decision::Ask),
            ("ask", Decision::Ask),
        ];
        let synonyms = [
            ("deny", "block"),
            ("reject", "block"),
            ("refuse", "block"),
            ("forbid", "block"),
            ("permit", "allow"),
            ("pass", "allow"),
            ("mask", "redact"),
            ("confirm", "approve"),
            ("require_approval", "approve"),
        ];
        if let Some((word, meant)) = synonyms.iter().find(|(word, _)| is_word(node, word)) {
            let message = format!("{what} cannot be `{word}`");
            self.reader.error("unknown-value", node.span, message, format!("did you mean `{meant}`?"));
            return None;
        }
        self.choice(node, what, &decisions)
    }
}

/// Whether a value is this word, in any case.
fn is_word(node: &Node, word: &str) -> bool {
    matches!(&node.value, Value::Scalar { text, .. } if text.eq_ignore_ascii_case(word))
}
