//! `require`, `limit` and `block`.

use std::num::NonZeroU64;

use lockgate_policy::{LIMIT_MAX, Scope, Statement};

use crate::draft::spoken::Names;

use super::{
    limits,
    meant::probable_count,
    parser::{Line, Parser},
    spoken::{self, is_grown},
    words::Word,
};

pub(super) const SEQUENCE: &str = "require <tool> before <tool>";
pub(super) const APPROVAL: &str = "require human-approval before <tool>";
pub(super) const LIMIT: &str = "limit <tool> to <N> per <scope>";
pub(super) const BLOCK: &str = "block <tool>";

pub(super) fn require<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    if parser.is_spoken(line.words, 4) {
        return spoken::require(parser, line);
    }
    // Only the second word makes it an approval: a tool that has to wait may well be called `human-approval`.
    let is_approval = line.words.get(1).is_some_and(|word| word.text == "human-approval");
    let statement = if is_approval { approval(parser, line) } else { sequence(parser, line) };
    statement.into_iter().for_each(|statement| parser.rule(line, statement));
}

fn approval<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) -> Option<Statement> {
    let [_, _, _, tool] = parser.shaped(line.words, APPROVAL)?;
    parser.no_wildcards(&[*tool])?;
    Some(Statement::Approval { tool: tool.text.into() })
}

fn sequence<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) -> Option<Statement> {
    let [_, prerequisite, _, dependent] = parser.shaped(line.words, SEQUENCE)?;
    parser.no_wildcards(&[*prerequisite, *dependent])?;
    Some(Statement::Sequence { prerequisite: prerequisite.text.into(), dependent: dependent.text.into() })
}

pub(super) fn block<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    if parser.is_spoken(line.words, 2) {
        return spoken::block(parser, line);
    }
    if let Some([_, tool]) = parser.shaped(line.words, BLOCK)
        && parser.no_wildcards(&[*tool]).is_some()
    {
        parser.rule(line, Statement::Block { tool: tool.text.into() });
    }
}

pub(super) fn limit<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    if parser.is_spoken(line.words, 6) {
        return limits::limit(parser, line);
    }
    let Some([_, tool, _, count, _, scope]) = parser.shaped(line.words, LIMIT) else { return };
    let Some(count) = parser.count(*count, *tool) else { return };
    if parser.no_wildcards(&[*tool, *scope]).is_none() {
        return;
    }
    let scope = match scope.text {
        "session" => Scope::Session,
        action => Scope::Action(action.into()),
    };
    parser.rule(line, Statement::Limit { tool: tool.text.into(), count, scope });
}

impl<'t> Parser<'t> {
    /// Whether a line is one of the longer sentences. `length` is how many words the short one has. A name of several tools
    /// or in quotes makes a line long, whatever its length: a short sentence would take it for a tool that is never called.
    fn is_spoken(&self, words: &[Word<'t>], length: usize) -> bool {
        let is_quoted = |text: &str| text.len() > 2 && text.starts_with('"') && text.ends_with('"');
        // The tool of `TOOL running PROGRAM` may stand for several, too.
        let tool = |text: &'t str| text.split_once(" running ").map_or(text, |(tool, _)| tool);
        let is_long = |word: &Word<'t>| is_quoted(word.text) || self.group(tool(word.text)).is_some();
        words.iter().skip(1).any(is_long) || words.len() != length && is_grown(words)
    }

    /// The tools that a name stands for, if it is one of several tools.
    pub(super) fn group(&self, name: &str) -> Option<&Names> {
        self.groups.iter().find(|(group, _)| group == name).map(|(_, names)| names)
    }

    /// A tool, or the tools that a name stands for. A name for every call stays as it is.
    pub(super) fn one_or_group(&self, name: &str) -> Vec<String> {
        match self.group(name).filter(|group| !group.is_every) {
            Some(group) => group.names.clone(),
            None => vec![name.to_owned()],
        }
    }

    /// Reports a name of several tools where one tool must stand. Gives nothing where there is one.
    pub(super) fn no_groups(&mut self, what: &str, words: &[Word<'t>]) -> Option<()> {
        let group = |word: &Word<'t>| Some((*word, self.group(word.text.trim_end_matches(','))?));
        let Some((word, names)) = words.iter().find_map(group) else { return Some(()) };
        let tools = names.names.join("`, `");
        self.mistake(
            "expected-word",
            word.span(),
            format!("`{}` stands for several tools, and {what} is about one", word.text),
            "several tools",
            format!("write a line for each of `{tools}`"),
        );
        None
    }

    /// Names are taken letter by letter, so a rule about `file_*` would never see a call. Gives nothing where there is one.
    pub(super) fn no_wildcards(&mut self, names: &[Word<'t>]) -> Option<()> {
        let Some(name) =
            names.iter().find(|name| name.text.contains('*') && !name.text.contains(' ')).copied()
        else {
            return Some(());
        };
        let remedy = match name.text {
            "*" => {
                "write `default_verdict: block` into a `.yaml` file to close every tool that no rule opens"
                    .to_owned()
            }
            text => format!(
                "write one line for each tool, or a rule with `when: {{tool: \"{text}\"}}` into a `.yaml` file"
            ),
        };
        let message = format!("`{}` is not the name of a tool", name.text);
        self.mistake("wildcard", name.span(), message, "there are no wildcards in names", remedy);
        None
    }

    /// Decimal digits with an optional `+`. Nothing is cut off or rounded: a limit that is not the one on
    /// the page is worse than none.
    fn count(&mut self, word: Word<'t>, tool: Word<'t>) -> Option<NonZeroU64> {
        let text = word.text;
        let digits = text.strip_prefix('+').unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let value = digits.parse::<u64>().ok().filter(|value| *value <= LIMIT_MAX);
        if is_number && value.is_none() {
            let message = format!("limit count must be at most {LIMIT_MAX}, got '{text}'");
            let remedy = format!("write `{LIMIT_MAX}` or less, or leave the limit out");
            self.mistake("limit-too-large", word.span(), message, "more than a limit can count", remedy);
            return None;
        }
        let count = value.filter(|_| is_number).and_then(NonZeroU64::new);
        if count.is_none() {
            let remedy = match probable_count(text) {
                Some(0) => format!("write `block {}` to forbid it altogether", tool.text),
                Some(probable) => format!("write `{probable}`, if that is the number you mean"),
                None => "write a whole number of calls, as in `limit send to 3 per session`".into(),
            };
            let message = format!("limit count must be a positive integer, got '{text}'");
            self.mistake("bad-count", word.span(), message, "not a whole number from 1", remedy);
        }
        count
    }
}
