//! `map` and `script`: which calls get another name, and which fields hold scripts.

use lockgate_call::shell_tools;
use lockgate_policy::{Map, ScriptField, Takes, without_folder};

use super::{
    parser::{Line, Parser},
    permission::permitted_tool,
    shape::completed,
    words::{Word, span_of, texts},
};

pub(super) const MAP: &str = "map <tool>.<field> <pattern> as <name>";
pub(super) const SCRIPT: &str = "script <tool>.<field>";
const RUNNING: &str = "map <tool> running <program> as <name>";

pub(super) fn map<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let words = line.words;
    if words.get(1).is_some_and(|tool| permitted_tool(tool.text).is_some()) && parser.is_permission(words) {
        return;
    }
    if words.get(1).is_some_and(|tool| tool.text.contains('*')) {
        parser.no_wildcards(words.get(1..2).unwrap_or_default());
        return;
    }
    let joined = parser.with_shell_as_one_word(words);
    let words = joined.as_deref().unwrap_or(words);
    // With a field, `running` in five words is a pattern like any other.
    if let [_, tool, running, ..] = words
        && running.text == "running"
        && (!tool.text.contains('.') || words.len() > 5)
    {
        return parser.running(words);
    }
    let Some([_, target, pattern, _, name]) = parser.shaped(words, MAP) else { return };
    let target = parser.target(*target);
    let pattern = parser.pattern(*pattern);
    if let (Some((tool, field)), Some(pattern)) = (target, pattern) {
        parser.add_maps(tool, &Takes::Field { field: field.into(), pattern }, *name, words);
    }
}

/// `script TOOL.FIELD`, anywhere in the file.
pub(super) fn script<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let Some([_, target]) = parser.shaped(line.words, SCRIPT) else { return };
    if let Some((tool, field)) = parser.target(*target) {
        for tool in parser.tools_named(tool, line.words) {
            let (field, span) = (field.to_owned(), span_of(line.words));
            parser.draft.scripts.push(ScriptField { tool, field, span });
        }
    }
}

impl<'t> Parser<'t> {
    /// The words of a map with `any shell` as one of them, in the place of the tool. A tool may still be called `any`:
    /// no map of such a tool has `shell` behind it.
    fn with_shell_as_one_word(&self, words: &[Word<'t>]) -> Option<Vec<Word<'t>>> {
        let [map, any, shell, rest @ ..] = words else { return None };
        let is_shell = shell.text == "shell" || shell.text.starts_with("shell.");
        if any.text != "any" || !is_shell {
            return None;
        }
        let text = self.source.text().get(any.start..shell.span().end)?;
        let shells = Word { text, start: any.start };
        Some([*map, shells].into_iter().chain(rest.iter().copied()).collect())
    }

    /// `map TOOL running PROGRAM [ARG…] as NAME`. Arguments may be any words, `as` included: the last one counts.
    fn running(&mut self, words: &[Word<'t>]) {
        let Some(([_, tool, _, program, arguments @ ..], [r#as, name])) = words.split_last_chunk() else {
            return self.too_few_for_running(words);
        };
        if r#as.text != "as" {
            self.mistake(
                "expected-word",
                r#as.span(),
                format!("expected 'as' at position {}, got '{}'", words.len() - 1, r#as.text),
                "expected `as`",
                format!("put `as` before the name, which is the last word: `… as {}`", name.text),
            );
        }
        if let Some((bare, _)) = tool.text.split_once('.') {
            let rest = words.get(2..).unwrap_or_default();
            let right: Vec<&str> = ["map", bare].into_iter().chain(texts(rest)).collect();
            self.mistake(
                "unexpected-field",
                tool.span(),
                format!("expected a tool without a field (e.g., bash), got '{}'", tool.text),
                "`running` looks at every script of the tool",
                format!("write `{}`", right.join(" ")),
            );
        }
        if program.text.contains('/') {
            self.mistake(
                "program-with-folder",
                program.span(),
                format!("a program is known by its name alone, not as '{}'", program.text),
                "neither a path nor a pattern",
                format!("write `{}`; it is taken from every folder", without_folder(program.text)),
            );
        }
        let arguments = texts(arguments).map(str::to_owned).collect();
        let takes = Takes::Running { program: program.text.into(), words: arguments };
        self.add_maps(tool.text, &takes, *name, words);
    }

    fn too_few_for_running(&mut self, words: &[Word<'t>]) {
        let expected = RUNNING.split(' ').count();
        let got = words.len();
        self.mistake(
            "token-count",
            span_of(words),
            format!("'{RUNNING}' expects at least {expected} tokens, got {got}"),
            format!("{} too few", expected.saturating_sub(got)),
            format!("write `{}`", completed(texts(words), RUNNING)),
        );
    }

    /// Adds a map for each tool that the statement names.
    fn add_maps(&mut self, tool: &str, takes: &Takes, name: Word<'t>, statement: &[Word<'t>]) {
        let span = span_of(statement);
        let is_any_shell = is_any_shell(tool);
        for tool in self.tools_named(tool, statement) {
            let (takes, name) = (takes.clone(), name.text.to_owned());
            self.draft.maps.push(Map { tool, takes, name, span, is_any_shell });
        }
    }

    /// The tools that stand in the place of one: `any shell`, a name of several tools, or several with `|` between them.
    fn tools_named(&mut self, text: &str, statement: &[Word<'t>]) -> Vec<String> {
        if is_any_shell(text) {
            return shell_tools().into_iter().map(str::to_owned).collect();
        }
        if text.split('|').any(str::is_empty) {
            self.mistake(
                "empty-target",
                statement.get(1).map_or_else(|| span_of(statement), Word::span),
                format!("a name is missing beside `|` in '{text}'"),
                "one of the tools has no name",
                "write the tools with one `|` between them, as in `Bash|Shell`",
            );
            return Vec::new();
        }
        let mut tools: Vec<String> = Vec::new();
        for tool in text.split('|').flat_map(|tool| self.one_or_group(tool)) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        tools
    }

    /// `TOOL.FIELD`, split at the first dot: the others belong to the field.
    fn target(&mut self, word: Word<'t>) -> Option<(&'t str, &'t str)> {
        let text = word.text;
        let Some((tool, field)) = text.split_once('.') else {
            let message = format!("expected <tool>.<field> (e.g., bash.command), got '{text}'");
            let remedy = format!("write `{text}.command`, if the field `command` is meant");
            self.mistake("missing-field", word.span(), message, "which field of its input?", remedy);
            return None;
        };
        if tool.is_empty() || field.is_empty() {
            let missing = if tool.is_empty() { "tool" } else { "field" };
            self.mistake(
                "empty-target",
                word.span(),
                format!("tool and field must be non-empty in '{text}'"),
                format!("the {missing} is missing"),
                "write the tool, a dot and the field of its input, as in `bash.command`",
            );
            return None;
        }
        Some((tool, field))
    }
}

/// Whether a tool is written as `any shell`: no single word has white space in it.
fn is_any_shell(tool: &str) -> bool {
    tool.contains(char::is_whitespace)
}
