//! Permissions as agents write them, such as `Bash(rm *)`, and what to write here instead.

use lockgate_call::{agent_tools, shell_tools};

use super::{
    parser::Parser,
    words::{Word, span_of, texts},
};

impl<'t> Parser<'t> {
    /// Reports what to write instead of `Bash(rm *)`, which is how agents write permissions.
    pub(super) fn is_permission(&mut self, words: &[Word<'t>]) -> bool {
        let Some(at) = words.iter().skip(1).position(|word| permitted_tool(word.text).is_some()) else {
            return false;
        };
        let (before, rest) = words.split_at(at + 1);
        let length = rest.iter().position(|word| word.text.ends_with(')')).map_or(rest.len(), |end| end + 1);
        let (permission, after) = rest.split_at(length);
        let span = span_of(permission);
        let text = self.source.slice(span).to_owned();
        let is_map = before.first().is_some_and(|word| word.text == "map");
        let remedy = match permission_remedy(&text) {
            Some((map, name)) if is_map => {
                let given = after.last().map_or(name.as_str(), |word| word.text);
                format!("write `{} as {given}`", map.trim_end_matches(&format!(" as {name}")))
            }
            Some((map, name)) => {
                let rule =
                    texts(before).chain([name.as_str()]).chain(texts(after)).collect::<Vec<_>>().join(" ");
                format!("write `{map}` and `{rule}`")
            }
            None => {
                "name the calls that are meant with `map TOOL.FIELD PATTERN as NAME`, and write NAME here"
                    .to_owned()
            }
        };
        let message = format!("`{text}` is a permission of an agent, not the name of a tool");
        self.mistake("permission-syntax", span, message, "a name has no brackets here", remedy);
        true
    }
}

/// The tool of a text such as `Bash(rm` or `Read(./.env)`, as the permissions of agents name calls.
pub(crate) fn permitted_tool(text: &str) -> Option<&str> {
    let (tool, _) = text.split_once('(')?;
    let is_known = shell_tools().contains(&tool)
        || tool.starts_with("mcp__")
        || agent_tools("claude-code").is_some_and(|agent| agent.has(tool));
    is_known.then_some(tool)
}

/// The map for a permission on a shell such as `Bash(git push:*)`, and the name it gives.
pub(crate) fn permission_remedy(text: &str) -> Option<(String, String)> {
    let (tool, inner) = text.split_once('(')?;
    let inner = inner.trim_end_matches(')').trim_end_matches('*').trim_end_matches(':');
    let words: Vec<&str> = inner.split_whitespace().filter(|word| !word.contains('*')).collect();
    if words.is_empty()
        || !shell_tools().contains(&tool)
        || words.iter().any(|word| word.contains(['/', '#']))
    {
        return None;
    }
    let name = words.iter().take(2).map(|word| word.trim_start_matches('-')).collect::<Vec<_>>().join("-");
    Some((format!("map any shell running {} as {name}", words.join(" ")), name))
}
