//! How tools and senders are named: exactly, by a glob, or by a regular expression on the whole name.
//!
//! A text without any character that means something in a regular expression is the name itself. If `*` and `?`
//! are the only such characters, it is a glob, because `delete_*` is never meant as "delete and underscores". All
//! else is a regular expression, also `fs.read`, in which the dot stands for any character. An entry of a list is
//! read just as a single name is.

use lockgate_pattern::Pattern;
use lockgate_policy::{ToolName, Tools, condition::SenderField};

use super::{File, values::is_blank};
use crate::yaml::{Node, Value};

/// The longest name or pattern of a tool or sender, in characters.
pub(super) const NAME_CHARS_MAX: usize = 500;

/// How a name is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameReading {
    Exact,
    Glob,
    Regex,
}

pub(super) fn reading(text: &str) -> NameReading {
    if text.contains(|c| ".^$+{}[]()|\\".contains(c)) {
        NameReading::Regex
    } else if text.contains(['*', '?']) {
        NameReading::Glob
    } else {
        NameReading::Exact
    }
}

impl File<'_> {
    /// One name, glob or regular expression, or a list of them; blank means every tool.
    pub(super) fn tools(&mut self, node: &Node, what: &str) -> Option<Tools> {
        if is_blank(node) {
            return Some(Tools::Every);
        }
        self.named_tools(node, what)
    }

    /// The same where a blank is a mistake.
    pub(super) fn named_tools(&mut self, node: &Node, what: &str) -> Option<Tools> {
        let items = match &node.value {
            Value::List(_) => {
                let remedy = "name at least one tool; `.*` stands for all";
                self.filled_list(node, what, remedy)?
            }
            _ => std::slice::from_ref(node),
        };
        let names: Vec<Option<ToolName>> = items.iter().map(|item| self.tool_name(item, what)).collect();
        Some(Tools::Any(names.into_iter().collect::<Option<_>>()?))
    }

    pub(super) fn tool_name(&mut self, node: &Node, what: &str) -> Option<ToolName> {
        let text = self.name(node, what)?;
        match reading(&text) {
            NameReading::Exact => Some(ToolName::Exact(text)),
            _ => self.name_pattern(node, &text).map(ToolName::Matching),
        }
    }

    /// A name that is not a pattern: what it stands for is looked up.
    pub(super) fn exact_name(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.name(node, what)?;
        if text.contains(|c| "*?^$+{}[]()|\\".contains(c)) {
            let message = format!("{what} must be one name, and `{text}` looks like a pattern");
            let remedy = "write the names out: patterns are for the `tool` of rules";
            self.reader.error("not-a-name", node.span, message, remedy);
            return None;
        }
        Some(text)
    }

    /// Who must stand behind a call: a text, a list of them, or a mapping to either.
    pub(super) fn sender(&mut self, node: &Node) -> Vec<(SenderField, Vec<Pattern>)> {
        let Value::Map(entries) = &node.value else {
            let patterns = self.sender_patterns(node, "`sender`");
            return patterns.map(|patterns| (SenderField::Name, patterns)).into_iter().collect();
        };
        let mut fields = Vec::new();
        for entry in entries {
            let field = match entry.key.as_str() {
                "name" => SenderField::Name,
                key => SenderField::Key(key.to_owned()),
            };
            let patterns = self.sender_patterns(&entry.value, &format!("`{}` of `sender`", entry.key));
            fields.extend(patterns.map(|patterns| (field, patterns)));
        }
        fields
    }

    fn sender_patterns(&mut self, node: &Node, what: &str) -> Option<Vec<Pattern>> {
        let items = match &node.value {
            Value::List(_) => self.filled_list(node, what, "name at least one sender, or leave it out")?,
            _ => std::slice::from_ref(node),
        };
        let patterns: Vec<Option<Pattern>> =
            items.iter().map(|item| self.sender_pattern(item, what)).collect();
        patterns.into_iter().collect()
    }

    fn sender_pattern(&mut self, node: &Node, what: &str) -> Option<Pattern> {
        let text = self.name(node, what)?;
        if let Some(name) = text.strip_prefix('!') {
            let message = format!("a `!` does not turn {what} round");
            let remedy = format!("name the senders that are meant, or write the expression `(?!{name}$).*`");
            self.reader.error("no-negation", node.span, message, remedy);
            return None;
        }
        self.name_pattern(node, &text)
    }

    fn name(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.reader.text_strict(node, what)?;
        if text.chars().nth(NAME_CHARS_MAX).is_some() {
            let message = format!("{what} is longer than {NAME_CHARS_MAX} characters");
            self.reader.error("bad-pattern", node.span, message, "write a list of shorter ones");
            return None;
        }
        Some(text)
    }

    /// A pattern for a whole name. A glob without wildcards is the name itself.
    fn name_pattern(&mut self, node: &Node, text: &str) -> Option<Pattern> {
        match reading(text) {
            NameReading::Exact | NameReading::Glob => {
                self.compiled(node, text, Pattern::glob(text), "write it shorter")
            }
            NameReading::Regex => {
                let remedy = "write a regular expression as Python has it; `*` alone stands for anything only in \
                              names without dots and other signs";
                self.compiled(node, text, Pattern::python_full(text), remedy)
            }
        }
    }
}
