//! How a workflow file is read.
//!
//! [`parse`] takes a file apart and reports every mistake at once; what no session could ever do is a mistake too, and
//! is reported by [`super::impossible`]. Missing on purpose: branches and parallel stages, which the format does not have.

use std::{collections::BTreeMap, sync::Arc};

use lockgate_pattern::{Pattern, ToolGlob, python_text};
use lockgate_policy::{
    Diagnostic, Source, Span,
    workflow::{Check, Requirement, Stage},
};

use super::{
    conditions::{self, ConditionMistake, is_control},
    impossible,
};
use crate::draft::workflow::DraftWorkflow;
use crate::{
    draft::Draft,
    listed::read_listed,
    yaml::{self, Dialect, Fields, Node, Reader, Value, older::older_reading},
};

/// The largest workflow, in bytes.
pub const WORKFLOW_BYTES_MAX: usize = 1 << 20;
/// How many stages a workflow may have.
pub const STAGES_MAX: usize = 256;
/// How many conditions may stand in one `entry` or `exit`.
pub const REQUIREMENTS_MAX: usize = 64;
/// How many checks a stage may have.
pub const CHECKS_MAX: usize = 64;
/// How many tools a stage may name.
pub const TOOLS_MAX: usize = 256;
/// The longest message, in characters.
pub const MESSAGE_CHARS_MAX: usize = 4_096;

const WORKFLOW_KEYS: [&str; 6] = ["apiVersion", "kind", "metadata", "stages", "claims", "examples"];
const METADATA_KEYS: [&str; 3] = ["name", "version", "description"];
const STAGE_KEYS: [&str; 8] =
    ["id", "description", "entry", "tools", "checks", "exit", "approval", "terminal"];
const REQUIREMENT_KEYS: [&str; 2] = ["condition", "message"];
const CHECK_KEYS: [&str; 3] = ["command_matches", "command_not_matches", "message"];

/// Reads a workflow. A file with mistakes gives a draft that holds what could be read.
pub fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    let mut draft = Draft::of(source);
    if source.text().len() > WORKFLOW_BYTES_MAX {
        let message = format!("a workflow has at most {WORKFLOW_BYTES_MAX} bytes");
        let mistake = Diagnostic::error("file-too-large", source, Span::new(0, 0), message);
        return (draft, vec![mistake.remedy("split it into several workflows")]);
    }
    let (root, diagnostics) = yaml::parse(source, Dialect { anchors: true });
    let mut file = File { reader: Reader { source, diagnostics } };
    if let Some(root) = &root {
        draft.workflow = file.workflow(root, &mut draft);
    }
    let mut diagnostics = file.reader.diagnostics;
    // The keys are asked for in our order, the author reads the file in theirs.
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    (draft, diagnostics)
}

/// A file being read.
struct File<'s> {
    reader: Reader<'s>,
}

impl File<'_> {
    fn workflow(&mut self, root: &Node, draft: &mut Draft) -> Option<DraftWorkflow> {
        let fields = self.reader.fields(root, "the workflow", &WORKFLOW_KEYS)?;
        if let Some(node) = fields.require(&mut self.reader, "apiVersion") {
            self.reader.choice(node, "`apiVersion`", &["edictum/v1"]);
        }
        if let Some(node) = fields.require(&mut self.reader, "kind") {
            self.reader.choice(node, "`kind`", &["Workflow"]);
        }
        let metadata = fields
            .require(&mut self.reader, "metadata")
            .and_then(|node| self.reader.fields(node, "`metadata`", &METADATA_KEYS));
        let name_node = metadata.as_ref().and_then(|fields| fields.require(&mut self.reader, "name"));
        let name = name_node.and_then(|node| self.slug(node, "`name`"));
        let version = metadata.as_ref().and_then(|fields| self.version(fields.get("version")?));
        let description = metadata.as_ref().and_then(|fields| self.optional_text(fields, "description"));
        let stages = self.stages(&fields);
        impossible::tell(&stages, &mut self.reader);
        read_listed(&fields, &mut self.reader, draft);
        Some(DraftWorkflow {
            name: name.unwrap_or_default(),
            version,
            description,
            stages,
            span: name_node.map_or(Span::new(root.span.start, root.span.start), |node| node.span),
        })
    }

    fn stages(&mut self, fields: &Fields<'_>) -> Vec<Stage> {
        let Some(node) = fields.require(&mut self.reader, "stages") else { return Vec::new() };
        let items = self.some_of(node, "`stages`", STAGES_MAX);
        let mut ids: BTreeMap<Arc<str>, Span> = BTreeMap::new();
        let mut stages = Vec::new();
        for item in items {
            let Some(stage) = self.stage(item) else { continue };
            let is_named = !stage.id.is_empty();
            match ids.get(&stage.id).filter(|_| is_named) {
                Some(first) => {
                    self.reader.twice("duplicate-id", &stage.id, "`stages`", *first, stage.span);
                }
                None => drop(ids.insert(stage.id.clone(), stage.span)),
            }
            stages.push(stage);
        }
        stages
    }

    fn stage(&mut self, node: &Node) -> Option<Stage> {
        let fields = self.reader.fields(node, "a stage", &STAGE_KEYS)?;
        let id_node = fields.require(&mut self.reader, "id");
        let id: Arc<str> = id_node.and_then(|node| self.slug(node, "`id`")).unwrap_or_default().into();
        Some(Stage {
            description: self.optional_text(&fields, "description"),
            entry: self.requirements(&fields, "entry", &id),
            tools: fields.get("tools").map(|node| self.tools(node)),
            checks: self.checks(&fields),
            exit: self.requirements(&fields, "exit", &id),
            approval: fields.get("approval").and_then(|node| self.approval(node)),
            is_terminal: fields
                .get("terminal")
                .and_then(|node| self.reader.boolean(node, "`terminal`"))
                .unwrap_or(false),
            span: id_node.map_or(Span::new(node.span.start, node.span.start), |node| node.span),
            id,
        })
    }

    fn requirements(&mut self, fields: &Fields<'_>, key: &str, stage: &Arc<str>) -> Vec<Requirement> {
        let Some(node) = fields.get(key) else { return Vec::new() };
        let items = self.some_of(node, &format!("`{key}`"), REQUIREMENTS_MAX);
        items.iter().filter_map(|item| self.requirement(item, stage)).collect()
    }

    fn requirement(&mut self, node: &Node, stage: &Arc<str>) -> Option<Requirement> {
        let fields = self.reader.fields(node, "a condition", &REQUIREMENT_KEYS)?;
        let message = self.message(&fields);
        let node = fields.require(&mut self.reader, "condition")?;
        let text = self.reader.text(node, "`condition`")?;
        match conditions::parse(&text, stage) {
            Ok(condition) => {
                let text: Arc<str> = conditions::spelled(&condition).into();
                let key = conditions::key(&condition, &text, stage);
                Some(Requirement { condition, text, key, message, span: node.span })
            }
            Err(ConditionMistake { code, message, remedy, at }) => {
                let span = self.part(node, &text, at);
                self.reader.error(code, span, message, remedy);
                None
            }
        }
    }

    fn tools(&mut self, node: &Node) -> Vec<ToolGlob> {
        let items = self.some_of(node, "`tools`", TOOLS_MAX);
        items.iter().filter_map(|item| self.tool(item)).collect()
    }

    fn tool(&mut self, node: &Node) -> Option<ToolGlob> {
        let tool = self.reader.text_strict(node, "an entry of `tools`")?;
        let refused = tool.chars().find(|c| ['/', '\\'].contains(c) || is_control(*c));
        if let Some(refused) = refused {
            let message = format!("no tool has `{}` in its name", refused.escape_debug());
            self.reader.error("bad-name", node.span, message, "write the tool's name as the agent calls it");
            return None;
        }
        if tool.trim().is_empty() {
            let message = "an entry of `tools` names no tool";
            self.reader.error("bad-name", node.span, message, "write the tool's name as the agent calls it");
            return None;
        }
        Some(ToolGlob::new(tool))
    }

    fn checks(&mut self, fields: &Fields<'_>) -> Vec<Check> {
        let Some(node) = fields.get("checks") else { return Vec::new() };
        let items = self.some_of(node, "`checks`", CHECKS_MAX);
        items.iter().filter_map(|item| self.check(item)).collect()
    }

    fn check(&mut self, node: &Node) -> Option<Check> {
        let fields = self.reader.fields(node, "a check", &CHECK_KEYS)?;
        let message = self.message(&fields);
        let (key, expression) = match (fields.get("command_matches"), fields.get("command_not_matches")) {
            (Some(only), None) => ("command_matches", only),
            (None, Some(not)) => ("command_not_matches", not),
            (Some(_), Some(not)) => {
                let message = "a check cannot have both `command_matches` and `command_not_matches`";
                self.reader.error("one-of-keys", not.span, message, "make two checks of it");
                return None;
            }
            (None, None) => {
                let start = Span::new(node.span.start, node.span.start);
                let message = "a check has none of `command_matches`, `command_not_matches`";
                self.reader.error("missing-key", start, message, "add one of them");
                return None;
            }
        };
        let pattern = self.pattern(expression, key)?;
        Some(Check { pattern, forbids: key == "command_not_matches", message, span: expression.span })
    }

    fn pattern(&mut self, node: &Node, key: &str) -> Option<Pattern> {
        let text = self.reader.text_strict(node, &format!("`{key}`"))?;
        match Pattern::python(&text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let span = error.at.map_or(node.span, |at| self.part(node, &text, at));
                let message = format!("`{key}`: {}", error.message);
                self.reader.error(
                    "bad-pattern",
                    span,
                    message,
                    "write a regular expression as Python has it",
                );
                None
            }
        }
    }

    /// What a human is asked at the end of a stage.
    fn approval(&mut self, node: &Node) -> Option<String> {
        let fields = self.reader.fields(node, "`approval`", &["message"])?;
        let node = fields.require(&mut self.reader, "message")?;
        let text = self.reader.text_strict(node, "`message`")?;
        self.is_short(node, &text).then_some(text)
    }

    /// The sentence for the agent; an empty text is the same as none.
    fn message(&mut self, fields: &Fields<'_>) -> Option<String> {
        let text = self.optional_text(fields, "message")?;
        let node = fields.get("message")?;
        self.is_short(node, &text).then_some(text)
    }

    fn is_short(&mut self, node: &Node, message: &str) -> bool {
        let chars = message.chars().count();
        if chars > MESSAGE_CHARS_MAX {
            let message = format!("`message` has {chars} characters, and may have {MESSAGE_CHARS_MAX}");
            self.reader.error("out-of-range", node.span, message, "shorten it");
        }
        chars <= MESSAGE_CHARS_MAX
    }

    /// A text that may be empty or null, which is the same as leaving the key out.
    fn optional_text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let node = fields.get(key)?;
        match &node.value {
            Value::Scalar { text, quoted: false } if ["", "~", "null"].contains(&text.as_str()) => None,
            Value::Scalar { text, quoted: true } if text.is_empty() => None,
            _ => self.reader.text_strict(node, &format!("`{key}`")),
        }
    }

    /// A text, or a number that is taken as it is written. Told where other programs read something else.
    fn version(&mut self, node: &Node) -> Option<String> {
        let Value::Scalar { text, quoted: false } = &node.value else {
            return self.reader.text(node, "`version`");
        };
        let number = serde_json::from_str::<serde_json::Number>(text).ok().map(serde_json::Value::Number);
        let reading = match &number {
            Some(number) => Some(python_text(number).into_owned()).filter(|there| there != text),
            None => older_reading(text).map(str::to_owned),
        };
        if let Some(reading) = &reading {
            let message = format!("`{text}` is {reading} to programs that follow YAML 1.1, and a text here");
            self.reader.warning("two-readings", node.span, message, format!("write `\"{text}\"`"));
        }
        if ["", "~", "null"].contains(&text.as_str()) {
            return None;
        }
        if number.is_some() || reading.is_some() {
            Some(text.clone())
        } else {
            self.reader.text(node, "`version`")
        }
    }

    /// A name of lower-case letters, digits, dots, underscores and hyphens.
    fn slug(&mut self, node: &Node, what: &str) -> Option<String> {
        let name = self.reader.text_strict(node, what)?;
        let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
        let is_well_formed = name.starts_with(plain)
            && name.chars().all(|character| plain(character) || "._-".contains(character));
        if !is_well_formed {
            let message = format!("{what} cannot be `{}`", name.escape_debug());
            let remedy = "use lower-case letters, digits, `.`, `_` and `-`, and begin with a letter or digit";
            self.reader.error("bad-name", node.span, message, remedy);
        }
        is_well_formed.then_some(name)
    }

    /// The items of a list that is not too long and, where that matters, not empty.
    fn some_of<'n>(&mut self, node: &'n Node, what: &str, max: usize) -> &'n [Node] {
        let Some(items) = self.reader.list(node, what) else { return &[] };
        // An empty list of conditions asks nothing; an empty list of tools could mean none, or every one.
        let needs_some = ["`stages`", "`tools`"].contains(&what);
        if items.is_empty() && needs_some {
            let message = format!("{what} is an empty list");
            let remedy = match what {
                "`stages`" => "write at least one stage",
                _ => "name a tool, or leave the key out to open every tool",
            };
            self.reader.error("empty-list", node.span, message, remedy);
        }
        if let Some(past) = items.get(max) {
            let message = format!("{what} holds more than {max} entries");
            self.reader.error("out-of-range", past.span, message, "make fewer of them");
        }
        items.get(..max).unwrap_or(items)
    }

    /// The place of some bytes of a text, exact where it stands in the file just as it is read.
    fn part(&self, node: &Node, text: &str, at: std::ops::Range<usize>) -> Span {
        match self.reader.source.slice(node.span).find(text) {
            Some(start) => Span::new(node.span.start + start + at.start, node.span.start + start + at.end),
            None => node.span,
        }
    }
}
