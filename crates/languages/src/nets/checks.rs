//! Checks of a transition: what the input of a call must satisfy.

use lockgate_call::path;
use lockgate_policy::{
    InputCheck,
    condition::{Operator, Test, demand},
};

use super::file::NetFile;
use crate::yaml::{Fields, Node, Value};

const TESTS: [&str; 9] =
    ["under", "equals", "one_of", "matches", "not_matches", "contains", "exists", "at_most", "at_least"];

impl NetFile<'_> {
    pub(super) fn checks(&mut self, fields: &Fields<'_>) -> Vec<InputCheck> {
        let Some(node) = fields.get("checks") else {
            return Vec::new();
        };
        let items = self.reader.list(node, "`checks`").unwrap_or_default();
        items.iter().filter_map(|item| self.check(item)).collect()
    }

    fn check(&mut self, node: &Node) -> Option<InputCheck> {
        let fields = self.reader.fields(node, "a check", &[&["field", "message"], &TESTS[..]].concat())?;
        let field = self.required_text(&fields, "field");
        let message = fields.get("message").and_then(|node| self.reader.text(node, "`message`"));
        let (test, node) = self.only_one(&fields, node.span, "a check", &TESTS)?;
        let test = self.test(test, node)?;
        let field = field?;
        let message = message.unwrap_or_else(|| demand(&field, &test));
        Some(InputCheck { field, test, message })
    }

    fn test(&mut self, key: &str, node: &Node) -> Option<Test> {
        let operator = match key {
            "under" => Operator::Under(self.folders(node)?),
            "equals" => Operator::Equals(self.reader.json(node, "`equals`")?),
            "one_of" => {
                let items = self.reader.list(node, "`one_of`")?;
                self.is_filled(node, items)?;
                Operator::OneOf(
                    items.iter().map(|item| self.reader.json(item, "`one_of`")).collect::<Option<_>>()?,
                )
            }
            "matches" | "not_matches" => Operator::Matches(vec![self.pattern(node, &format!("`{key}`"))?]),
            "contains" => Operator::Contains(vec![self.reader.text(node, "`contains`")?]),
            "exists" => Operator::Exists(self.reader.boolean(node, "`exists`")?),
            "at_most" => Operator::AtMost(self.reader.number(node, "`at_most`")?),
            _ => Operator::AtLeast(self.reader.number(node, "`at_least`")?),
        };
        let test = Test::strict(operator);
        Some(if key == "not_matches" { test.negated() } else { test })
    }

    /// One folder or a list of them. A folder that leaves a doubt would never hold, so it is a mistake.
    fn folders(&mut self, node: &Node) -> Option<Vec<String>> {
        let items = match &node.value {
            Value::Scalar { .. } => std::slice::from_ref(node),
            _ => self.reader.list(node, "`under`")?,
        };
        self.is_filled(node, items)?;
        let mut folders = Vec::new();
        for item in items {
            let folder = self.reader.text(item, "a folder in `under`")?;
            if folder.contains(['$', '\\']) || path::normalise(&folder, Some("/")).is_err() {
                let message = format!("nothing is certainly under `{}`", folder.escape_debug());
                let remedy = "write the folder out, with `/`, without `~`, variables and control characters";
                self.reader.error("doubtful-folder", item.span, message, remedy);
                return None;
            }
            folders.push(folder);
        }
        Some(folders)
    }
}
