//! Maps and script fields of a net file: which calls get another name, and which fields hold scripts.

use lockgate_pattern::Pattern;
use lockgate_policy::{Map, ScriptField, Span, Takes, without_folder};

use super::file::NetFile;
use crate::yaml::{Fields, Node};

const MAP_KEYS: [&str; 6] = ["tool", "field", "pattern", "word", "running", "as"];

impl NetFile<'_> {
    pub(super) fn maps(&mut self, fields: &Fields<'_>) -> Vec<Map> {
        let Some(node) = fields.get("maps") else {
            return Vec::new();
        };
        let items = self.reader.list(node, "`maps`").unwrap_or_default();
        items.iter().filter_map(|item| self.map(item)).collect()
    }

    pub(super) fn map(&mut self, node: &Node) -> Option<Map> {
        let fields = self.reader.fields(node, "a map", &MAP_KEYS)?;
        let tool = self.required_text(&fields, "tool");
        let takes = self.takes(&fields, node.span);
        let name = self.required_text(&fields, "as");
        Some(Map { tool: tool?, takes: takes?, name: name?, span: node.span, is_any_shell: false })
    }

    pub(super) fn takes(&mut self, fields: &Fields<'_>, span: Span) -> Option<Takes> {
        let taken = self.only_one(fields, span, "a map", &["pattern", "word", "running"]);
        if let Some(running) = fields.get("running") {
            taken?;
            if let Some(field) = fields.get("field") {
                let message = "`running` looks at every script of the tool, not at one `field`";
                self.reader.error("unexpected-field", field.span, message, "leave `field` out");
            }
            return self.running(running);
        }
        let field = self.required_text(fields, "field");
        let pattern = match taken? {
            ("word", node) => Pattern::word(&self.reader.text(node, "`word`")?),
            (_, node) => self.pattern(node, "`pattern`")?,
        };
        Some(Takes::Field { field: field?, pattern })
    }

    /// A program and words of its arguments: `[git, push]`.
    fn running(&mut self, node: &Node) -> Option<Takes> {
        let items = self.reader.list(node, "`running`")?;
        let Some((program, words)) = items.split_first() else {
            let remedy = "name the program, as in `[git, push]`";
            self.reader.error("empty-list", node.span, "an empty list names no program", remedy);
            return None;
        };
        let words = words.iter().map(|word| self.reader.text(word, "a word in `running`"));
        let words: Vec<Option<String>> = words.collect();
        let name = self.reader.text(program, "the program in `running`")?;
        if name.contains('/') {
            let message = format!("a program is known by its name alone, not as `{name}`");
            let remedy = format!("write `{}`; it is taken from every folder", without_folder(&name));
            self.reader.error("program-with-folder", program.span, message, remedy);
            return None;
        }
        Some(Takes::Running { program: name, words: words.into_iter().collect::<Option<_>>()? })
    }

    /// Fields that hold scripts: `[tool.field]`.
    pub(super) fn scripts(&mut self, fields: &Fields<'_>) -> Vec<ScriptField> {
        let mut scripts = Vec::new();
        for (name, span) in self.names(fields.get("scripts"), "`scripts`") {
            match name.split_once('.').filter(|(tool, field)| !tool.is_empty() && !field.is_empty()) {
                Some((tool, field)) => {
                    scripts.push(ScriptField { tool: tool.to_owned(), field: field.to_owned(), span });
                }
                None => {
                    let message = format!("`{name}` does not say which field of which tool");
                    let remedy = "write the tool, a dot and the field of its input, as in `bash.code`";
                    self.reader.error("missing-field", span, message, remedy);
                }
            }
        }
        scripts
    }
}
