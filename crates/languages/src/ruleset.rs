//! Rulesets: YAML or JSON files that say `kind: Ruleset`.
//!
//! [`parse_with`] reads one file and reports every mistake at once, [`compose`] joins all of them, [`lint`](crate::lint()) says
//! what their authors probably do not mean, and [`schema`] describes the format. An expression says what it
//! thinks of a call with [`Condition::truth`](lockgate_policy::Condition::truth). Where the programs the format was made for differ, the meaning is the one
//! its conformance cases ask for; what those programs ignore in silence (an unknown selector, a key given twice)
//! is a mistake here. Missing on purpose: custom operators, and reading files, which is a door's to do.

use std::num::NonZeroU64;

use lockgate_policy::{Diagnostic, HashMap, LIMIT_MAX, Mode, Source, Span};
use serde_json::{Map, Value as Json};

use crate::{
    draft::Draft,
    listed::read_listed,
    renew::renew_ruleset,
    yaml::{self, Dialect, Fields, MISTAKES_MAX, Node, Reader, Value},
};

mod compose;
mod expression;
mod keys;
mod lint;
mod lower;
mod rule;
mod schema;
#[cfg(test)]
mod tests;
mod words;

pub use compose::{EXTENDS_DEPTH_MAX, compose};
pub(crate) use lint::lint;
pub(crate) use lower::lower;
pub use schema::schema;

use crate::draft::ruleset::{DeclaredTool, DraftRulesetRule, Observability, Otel, Ruleset, SideEffect};
use keys::{KeyRule, OLD_WORDS, Table};

/// The largest ruleset, in bytes.
pub const RULESET_BYTES_MAX: usize = 1 << 20;

/// Names that a host adds to the language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomNames {
    /// First words of selectors that the host answers itself; the words of the language stay the language's.
    pub selectors: Vec<String>,
}

/// Reads a ruleset. A file with mistakes gives a draft that holds what could be read.
pub fn parse_with(source: &Source, custom: &CustomNames) -> (Draft, Vec<Diagnostic>) {
    let mut draft = Draft::of(source);
    if source.text().len() > RULESET_BYTES_MAX {
        let message = format!("a ruleset has at most {RULESET_BYTES_MAX} bytes");
        let mistake = Diagnostic::error("file-too-large", source, Span::new(0, 0), message);
        return (draft, vec![mistake.remedy("split it into several files")]);
    }
    let (mut root, diagnostics) = yaml::parse(source, Dialect { anchors: true });
    if let Some(root) = root.as_mut().filter(|root| is_old(root)) {
        renew_ruleset(root, &mut |_, _| {});
    }
    let mut file = File {
        reader: Reader { source, diagnostics },
        custom,
        ids: HashMap::default(),
        warnings: Vec::new(),
    };
    if let Some(root) = &root {
        file.warn_of_other_readings(root);
        draft.ruleset = file.ruleset(root, &mut draft);
    }
    let mut diagnostics = file.reader.diagnostics;
    diagnostics.extend(file.warnings);
    // The keys are asked for in our order, the author reads the file in theirs.
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    (draft, diagnostics)
}

/// Whether a file says that it is of the old format, whose words are then read. In a file of the present format they are
/// mistakes.
fn is_old(root: &Node) -> bool {
    let Value::Map(entries) = &root.value else { return false };
    let kind = entries.iter().find(|entry| entry.key == "kind").map(|entry| &entry.value.value);
    matches!(kind, Some(Value::Scalar { text, .. }) if text == "ContractBundle")
}

/// A file being read.
struct File<'s> {
    reader: Reader<'s>,
    custom: &'s CustomNames,
    /// The ids of the rules so far.
    ids: HashMap<String, Span>,
    /// Apart from the mistakes, which are counted.
    warnings: Vec<Diagnostic>,
}

impl File<'_> {
    fn ruleset(&mut self, root: &Node, draft: &mut Draft) -> Option<Ruleset> {
        let fields = self.table(root, &keys::RULESET)?;
        if let Some(node) = fields.get("apiVersion") {
            self.reader.choice(node, "`apiVersion`", &["edictum/v1"]);
        }
        if let Some(node) = fields.get("kind") {
            self.choice(node, "`kind`", &["Ruleset"]);
        }
        let metadata = fields.get("metadata").and_then(|node| self.table(node, &keys::METADATA));
        let name = metadata.as_ref().and_then(|fields| self.name(fields));
        let description = metadata.as_ref().and_then(|fields| self.text_or_null(fields, "description"));
        let mode = fields.get("defaults").and_then(|node| self.table(node, &keys::DEFAULTS));
        let mode = mode.and_then(|fields| self.mode(&fields));
        let extends = fields
            .get("extends")
            .and_then(|node| self.reader.text(node, "`extends`").map(|parent| (parent, node.span)));
        let rules = self.rules(&fields);
        read_listed(&fields, &mut self.reader, draft);
        Some(Ruleset {
            name: name.unwrap_or_default(),
            description,
            mode: mode.unwrap_or_default(),
            tools: self.tools(&fields),
            rules,
            extends,
            observe_alongside: self.boolean(&fields, "observe_alongside").unwrap_or(false),
            observability: self.observability(&fields),
            span: root.span,
        })
    }

    /// A mapping with the keys of a table: whatever is unknown, missing or at odds is reported.
    fn table<'n>(&mut self, node: &'n Node, table: &'static Table) -> Option<Fields<'n>> {
        let told = self.reader.diagnostics.len();
        let fields = self.reader.fields(node, table.what, &table.names())?;
        for mistake in self.reader.diagnostics.iter_mut().skip(told) {
            let word = self.reader.source.slice(mistake.span).trim_matches(['"', '\'']);
            if let Some((_, remedy)) = OLD_WORDS.iter().find(|(old, _)| *old == word) {
                mistake.remedy = Some((*remedy).to_owned());
            }
        }
        for key in table.keys.iter().filter(|key| key.is_required) {
            fields.require(&mut self.reader, key.name);
        }
        for bond in table.bonds {
            self.bond(node.span, &fields, table.what, bond);
        }
        Some(fields)
    }

    fn bond(&mut self, span: Span, fields: &Fields<'_>, what: &str, bond: &KeyRule) {
        match bond {
            KeyRule::AtLeastOne(keys) if keys.iter().all(|key| fields.get(key).is_none()) => {
                let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                let message = format!("{what} has none of {}", listed.join(", "));
                self.reader.error(
                    "missing-key",
                    Span::new(span.start, span.start),
                    message,
                    "add one of them",
                );
            }
            KeyRule::NotBoth(one, other) => {
                if let (Some(_), Some(node)) = (fields.get(one), fields.get(other)) {
                    let message = format!("{what} cannot have both `{one}` and `{other}`");
                    self.reader.error("one-of-keys", node.span, message, format!("keep only `{one}`"));
                }
            }
            KeyRule::Needs(one, other) => {
                if let (Some(node), None) = (fields.get(one), fields.get(other)) {
                    let message = format!("{what} has `{one}` without `{other}`");
                    let remedy = format!("add `{other}`: `{one}` only takes away from it");
                    self.reader.error("missing-key", node.span, message, remedy);
                }
            }
            KeyRule::AtLeastOne(_) => {}
        }
    }

    fn warn_of_other_readings(&mut self, root: &Node) {
        for (span, word, reading) in words::other_readings(root) {
            let message = format!("`{word}` is {reading} to programs that follow YAML 1.1, and not here");
            let warning = Diagnostic::warning("two-readings", self.reader.source, span, message);
            self.warnings.push(warning.remedy(format!("write `\"{word}\"` for the text, or another value")));
        }
    }

    fn name(&mut self, fields: &Fields<'_>) -> Option<String> {
        let node = fields.get("name")?;
        let name = self.reader.text(node, "`name`")?;
        self.is_well_formed(node, "`name`", &name, "._-").then_some(name)
    }

    /// Whether a name is lower-case letters, digits and some other characters.
    fn is_well_formed(&mut self, node: &Node, what: &str, name: &str, others: &str) -> bool {
        let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
        let is_well_formed = name.starts_with(plain)
            && name.chars().all(|character| plain(character) || others.contains(character));
        if !is_well_formed {
            let listed: Vec<String> = others.chars().map(|other| format!("`{other}`")).collect();
            let message = format!("{what} cannot be `{}`", name.escape_debug());
            let remedy = format!(
                "use lower-case letters, digits and {}, and begin with a letter or digit",
                listed.join(", ")
            );
            self.reader.error("bad-name", node.span, message, remedy);
        }
        is_well_formed
    }

    fn tools(&mut self, fields: &Fields<'_>) -> Vec<DeclaredTool> {
        let Some(node) = fields.get("tools") else { return Vec::new() };
        let mut tools = Vec::new();
        for entry in self.reader.map(node, "`tools`").unwrap_or_default() {
            let Some(fields) = self.table(&entry.value, &keys::TOOL) else { continue };
            let side_effect = fields
                .get("side_effect")
                .and_then(|node| self.choice(node, "`side_effect`", keys::SIDE_EFFECTS));
            let is_idempotent = self.boolean(&fields, "idempotent").unwrap_or(false);
            let side_effect = match side_effect {
                Some("pure") => SideEffect::Pure,
                Some("read") => SideEffect::Read,
                Some("write") => SideEffect::Write,
                Some(_) => SideEffect::Irreversible,
                None => continue,
            };
            tools.push(DeclaredTool {
                name: entry.key.clone(),
                side_effect,
                is_idempotent,
                source: self.reader.source.clone(),
                span: entry.key_span,
            });
        }
        tools
    }

    fn observability(&mut self, fields: &Fields<'_>) -> Observability {
        let Some(fields) =
            fields.get("observability").and_then(|node| self.table(node, &keys::OBSERVABILITY))
        else {
            return Observability::default();
        };
        let otel = fields.get("otel").and_then(|node| self.table(node, &keys::OTEL));
        Observability {
            otel: otel.map(|fields| self.otel(&fields)),
            stdout: self.boolean(&fields, "stdout"),
            file: self.text_or_null(&fields, "file"),
        }
    }

    fn otel(&mut self, fields: &Fields<'_>) -> Otel {
        let protocols = keys::OTEL.choices("protocol");
        let protocol = fields.get("protocol").and_then(|node| self.choice(node, "`protocol`", protocols));
        Otel {
            enabled: self.boolean(fields, "enabled"),
            endpoint: self.text(fields, "endpoint"),
            protocol: protocol.map(str::to_owned),
            service_name: self.text(fields, "service_name"),
            insecure: self.boolean(fields, "insecure"),
            resource_attributes: self.object(fields, "resource_attributes"),
        }
    }

    fn rules(&mut self, fields: &Fields<'_>) -> Vec<DraftRulesetRule> {
        let Some(node) = fields.get("rules") else { return Vec::new() };
        let items = self.reader.list(node, "`rules`").unwrap_or_default();
        if items.is_empty() && fields.get("extends").is_none() && matches!(node.value, Value::List(_)) {
            let remedy = "write at least one rule, or name another ruleset with `extends`";
            self.reader.error("empty-list", node.span, "`rules` holds no rule", remedy);
        }
        items.iter().filter_map(|item| self.rule(item)).collect()
    }

    /// Whether an id is still free; otherwise that is reported, with both places.
    fn is_free(&mut self, id: &str, span: Span) -> bool {
        let Some(first) = self.ids.insert(id.to_owned(), span) else { return true };
        // Finding a line looks through the file.
        if self.reader.diagnostics.len() <= MISTAKES_MAX {
            let line = self.reader.source.place(first).line;
            let message = format!("the `id` `{id}` is already taken, in line {line}");
            self.reader.error("duplicate-id", span, message, "leave one of the two rules out, or rename it");
        }
        false
    }

    fn mode(&mut self, fields: &Fields<'_>) -> Option<Mode> {
        let node = fields.get("mode")?;
        Some(match self.choice(node, "`mode`", keys::MODES)? {
            "observe" => Mode::Observe,
            _ => Mode::Enforce,
        })
    }

    /// One of some words; for a word of the old format, the new one is proposed.
    fn choice<'c>(&mut self, node: &Node, what: &str, choices: &[&'c str]) -> Option<&'c str> {
        let told = self.reader.diagnostics.len();
        let chosen = self.reader.choice(node, what, choices);
        if let Value::Scalar { text, .. } = &node.value
            && let Some((_, remedy)) = OLD_WORDS.iter().find(|(old, _)| old == text)
            && let Some(mistake) = self.reader.diagnostics.get_mut(told)
        {
            mistake.remedy = Some((*remedy).to_owned());
        }
        chosen
    }

    fn boolean(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
        self.reader.boolean(fields.get(key)?, &format!("`{key}`"))
    }

    fn text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        self.reader.text(fields.get(key)?, &format!("`{key}`"))
    }

    /// A text that may be empty, or null, which is the same as leaving the key out.
    fn text_or_null(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let node = fields.get(key)?;
        match &node.value {
            Value::Scalar { text, quoted: false } if ["", "~", "null"].contains(&text.as_str()) => None,
            Value::Scalar { text, quoted: true } if text.is_empty() => Some(String::new()),
            _ => self.text(fields, key),
        }
    }

    /// A list of texts, none of them empty.
    fn texts(&mut self, node: &Node, key: &str, may_be_empty: bool) -> Vec<String> {
        let items = self.reader.list(node, &format!("`{key}`")).unwrap_or_default();
        if items.is_empty() && !may_be_empty && matches!(node.value, Value::List(_)) {
            let message = format!("`{key}` is an empty list");
            self.reader.error("empty-list", node.span, message, "name at least one, or leave the key out");
        }
        items.iter().filter_map(|item| self.reader.text(item, &format!("an entry of `{key}`"))).collect()
    }

    /// A whole number from 1 to a bound. `3.0` is one.
    fn whole(&mut self, node: &Node, key: &str, max: u64) -> Option<NonZeroU64> {
        let what = format!("`{key}`");
        let number = self.reader.number(node, &what)?;
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (1.0..1e15).contains(float));
        let whole = number.as_u64().or_else(|| float.map(|float| float as u64));
        let whole = whole.filter(|whole| *whole <= max).and_then(NonZeroU64::new);
        if whole.is_none() {
            let message = format!("{what} must be a whole number from 1 to {max}, not {number}");
            self.reader.error("out-of-range", node.span, message, "write how many, in digits");
        }
        whole
    }

    fn limit(&mut self, node: &Node, key: &str) -> Option<NonZeroU64> {
        self.whole(node, key, LIMIT_MAX)
    }

    /// A mapping with whatever in it.
    fn object(&mut self, fields: &Fields<'_>, key: &str) -> Map<String, Json> {
        let what = format!("`{key}`");
        let Some(node) = fields.get(key) else { return Map::new() };
        if self.reader.map(node, &what).is_none() {
            return Map::new();
        }
        match self.reader.json(node, &what) {
            Some(Json::Object(object)) => object,
            _ => Map::new(),
        }
    }
}
