//! Findings about when/then rules that load: readings that may surprise, tests that let something slip.
//!
//! [`lint`] wants files that were [resolved](super::resolve) without an error. What an inherited test says is reported
//! at the rule that inherits it too, because there it may be a slip when it is none where it is written.

mod evadable;

use std::collections::BTreeSet;

use lockgate_pattern::Pattern;
use lockgate_policy::{
    Decision, Diagnostic, Mode, Span, ToolName, Tools,
    condition::{Operator, Test},
};
use serde_json::Value as Json;

use super::names::{NameReading, reading};
use crate::draft::{Draft, when_then::DraftClause};

/// Words that a comment begins with when it says what a rule does.
const ORDERS: [&str; 8] = ["ask", "block", "deny", "forbid", "mask", "redact", "refuse", "reject"];

/// Everything worth telling about a file of when/then rules, in file order.
pub(crate) fn lint(draft: &Draft) -> Vec<Diagnostic> {
    let file = &draft.when_then;
    let mut linter = Linter { draft, read: BTreeSet::new(), findings: Vec::new() };
    for rule in &file.rules {
        linter.tools(rule);
        linter.args(rule);
        linter.session(rule);
        linter.chain(rule);
        linter.strategy(rule);
        linter.both_must_hold(rule);
    }
    linter.missing_messages();
    for output in &file.outputs {
        linter.names(output.span, &output.tools);
        output.patterns.iter().for_each(|pattern| linter.pattern(output.span, output.span, pattern));
    }
    for limit in &file.rate_limits {
        linter.names(limit.span, &limit.tools);
    }
    if let Some(sanitizer) = &file.sanitizer {
        sanitizer
            .attack
            .blocked_patterns
            .iter()
            .for_each(|pattern| linter.pattern(sanitizer.span, sanitizer.span, pattern));
    }
    let mut findings = linter.findings;
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

struct Linter<'d> {
    draft: &'d Draft,
    /// Names whose reading has been told.
    read: BTreeSet<String>,
    findings: Vec<Diagnostic>,
}

impl Linter<'_> {
    fn warning(&mut self, code: &'static str, span: Span, message: String, label: &str, remedy: String) {
        let finding = Diagnostic::warning(code, &self.draft.source, span, message);
        self.findings.push(finding.label(label).remedy(remedy));
    }

    fn note(&mut self, code: &'static str, span: Span, message: String, label: &str, remedy: String) {
        let finding = Diagnostic::note(code, &self.draft.source, span, message);
        self.findings.push(finding.label(label).remedy(remedy));
    }

    /// Where a text stands in a part of the file, or else another place: it may be inherited, or be written in
    /// another way than it is read.
    fn place(&self, part: Span, text: &str, otherwise: Span) -> Span {
        let slice = self.draft.source.slice(part);
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let whole = slice.match_indices(text).find(|(at, _)| {
            let before = slice.get(..*at).and_then(|before| before.chars().next_back());
            let after = slice.get(at + text.len()..).and_then(|after| after.chars().next());
            !text.is_empty() && !is_word(before) && !is_word(after)
        });
        whole.map_or(otherwise, |(at, _)| Span::new(part.start + at, part.start + at + text.len()))
    }

    fn tools(&mut self, rule: &DraftClause) {
        match &rule.tools {
            Some(Tools::Every) => self.warning(
                "every-tool",
                self.place(rule.span, "tool", rule.id_span),
                "a `tool` without a name is every tool".to_owned(),
                "names none",
                "write `tool: \".*\"` if every tool is meant".to_owned(),
            ),
            Some(tools) => {
                self.names(rule.span, tools);
                self.broad(rule, tools);
            }
            None => {}
        }
        for (_, patterns) in &rule.sender {
            for pattern in patterns {
                self.reading(rule.span, rule.id_span, pattern);
            }
        }
    }

    /// A pattern that takes every tool there is. With a condition beside it that may well be meant.
    fn broad(&mut self, rule: &DraftClause, tools: &Tools) {
        let Tools::Any(names) = tools else { return };
        let text = names.iter().map(ToString::to_string).find(|name| takes_every_tool(name));
        let Some(text) = text else { return };
        let span = self.place(rule.span, &text, rule.id_span);
        let message = format!("`{}` is about every tool: `{text}` takes every name", rule.id);
        let remedy = "name the tools that are meant".to_owned();
        if is_unconditional(rule) {
            self.warning("broad", span, message, "and about every call of them", remedy);
        } else {
            self.note("broad", span, message, "takes every name", remedy);
        }
    }

    /// Several tests of one rule must all hold, whatever its message says.
    fn both_must_hold(&mut self, rule: &DraftClause) {
        if rule.args.len() < 2 {
            return;
        }
        let texts = [rule.message.as_deref(), rule.description.as_deref()].into_iter().flatten();
        let comments = self.comments(rule);
        let said_there = comments.iter().map(|(_, comment)| comment.clone());
        let texts: Vec<String> = texts.map(str::to_lowercase).chain(said_there).collect();
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
        };
        let says = |word: &str| texts.iter().any(|text| words(text).iter().any(|it| it == word));
        // `# Block rm -rf commands` beside one test and `# Block access to /etc` beside the next. What stands beside
        // `then` speaks of the rule as a whole.
        let is_order = |(beside, comment): &&(&str, String)| {
            let first = words(comment).into_iter().find(|word| !word.is_empty());
            let is_verb = first.is_some_and(|first| ORDERS.contains(&first.as_str()));
            is_verb && !beside.trim_start().starts_with("then:")
        };
        let is_each_alone = comments.iter().filter(is_order).count() > 1;
        if !says("or") && !says("either") && !is_each_alone {
            return;
        }
        let keys: Vec<&str> = rule.args.iter().map(|(key, _)| key.as_str()).collect();
        let is_named = keys.iter().any(|key| words(&key.to_lowercase()).iter().all(|part| says(part)));
        let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let listed = quoted.join(" and ");
        let message = if is_each_alone {
            format!("{listed} must all hold, and the comments in `{}` speak of each alone", rule.id)
        } else {
            format!("{listed} must all hold, and the text of `{}` mentions either one", rule.id)
        };
        let span = self.place(rule.span, keys.first().unwrap_or(&""), rule.id_span);
        let label = "a call that meets only one of them gets past the rule";
        let remedy = "write one rule for each of them, if one is enough".to_owned();
        if says("either") || is_named || is_each_alone {
            self.warning("both-must-hold", span, message, label, remedy);
        } else {
            self.note("both-must-hold", span, message, label, remedy);
        }
    }

    /// The comments within a rule, in lower case, each after what stands before it in its line.
    fn comments(&self, rule: &DraftClause) -> Vec<(&str, String)> {
        let text = self.draft.source.slice(rule.span);
        let comment = |line| str::split_once(line, " #").map(|(before, said)| (before, said.to_lowercase()));
        text.lines().filter_map(comment).collect()
    }

    /// Rules that refuse without a word of their own. Told once a file: the agent then reads a general sentence.
    fn missing_messages(&mut self) {
        let refuses = |rule: &&DraftClause| {
            matches!(rule.then, Some(Decision::Block | Decision::Ask)) && rule.mode != Some(Mode::Observe)
        };
        let is_silent =
            |rule: &&DraftClause| rule.message.as_ref().is_none_or(|message| message.trim().is_empty());
        let silent: Vec<&DraftClause> =
            self.draft.when_then.rules.iter().filter(refuses).filter(is_silent).collect();
        let Some(first) = silent.first() else { return };
        let (span, message) = match silent.len() {
            1 => (first.id_span, format!("`{}` has no `message`", first.id)),
            many => (first.id_span, format!("`{}` and {} more rules have no `message`", first.id, many - 1)),
        };
        let remedy = "write a `message` that says what to do instead".to_owned();
        self.note("missing-message", span, message, "the agent reads a general sentence", remedy);
    }

    fn names(&mut self, part: Span, tools: &Tools) {
        let Tools::Any(names) = tools else { return };
        let otherwise = Span::new(part.start, part.start);
        for name in names {
            if let ToolName::Matching(pattern) = name {
                self.reading(part, otherwise, pattern);
            }
        }
    }

    /// How a name was read, where people expect another reading. Told once a file.
    fn reading(&mut self, part: Span, otherwise: Span, pattern: &Pattern) {
        let text = pattern.to_string();
        let span = self.place(part, &text, otherwise);
        match reading(&text) {
            NameReading::Glob if text != "*" && self.read.insert(text.clone()) => self.note(
                "read-as-glob",
                span,
                format!("`{text}` is read as a glob"),
                "`*` stands for anything, `?` for one character",
                format!("write `({text})` if a regular expression is meant"),
            ),
            NameReading::Regex => {
                let without_dots = text.replace('.', "");
                if reading(&without_dots) == NameReading::Exact
                    && !without_dots.is_empty()
                    && self.read.insert(text.clone())
                {
                    self.note(
                        "read-as-regex",
                        span,
                        format!("the dot in `{text}` stands for any character"),
                        "read as a regular expression",
                        format!("write `{}` if the dot is part of the name", text.replace('.', r"\.")),
                    );
                }
                self.pattern(part, otherwise, pattern);
            }
            _ => {}
        }
    }

    /// A pattern that no text matches, or that may take too long to be asked.
    fn pattern(&mut self, part: Span, otherwise: Span, pattern: &Pattern) {
        let span = self.place(part, &pattern.to_string(), otherwise);
        if pattern.is_impossible() {
            let message = "this pattern matches no text at all".to_owned();
            let remedy = "write what the text has in it, or leave the pattern out".to_owned();
            self.warning("impossible-pattern", span, message, "never matches", remedy);
        } else if !pattern.is_linear() {
            let message = "this pattern has look-around or back-references".to_owned();
            let remedy = "do without them if you can: a text the engine gives up on is restricted".to_owned();
            self.note("not-linear", span, message, "runs on an engine that may give up", remedy);
        }
    }

    fn args(&mut self, rule: &DraftClause) {
        for (key, tests) in &rule.args {
            let span = self.place(rule.span, key, rule.id_span);
            for test in tests {
                self.test(rule, span, key, test);
            }
        }
        self.evadable(rule);
    }

    fn test(&mut self, rule: &DraftClause, span: Span, key: &str, test: &Test) {
        match &test.operator {
            Operator::Matches(patterns) => {
                patterns.iter().for_each(|pattern| self.pattern(rule.span, span, pattern));
            }
            Operator::Equals(Json::String(text)) => {
                let (label, remedy) = match text.as_str() {
                    "true" => ("the JSON value is the text `True` here", "write `eq: true`"),
                    "false" => ("the JSON value is the text `False` here", "write `eq: false`"),
                    "null" => ("the JSON value counts as missing", "write `exists: false`"),
                    _ => return,
                };
                let message = format!("`{key}` is compared with the text `{text}`");
                self.note("compares-text", span, message, label, format!("{remedy} for the JSON value"));
            }
            _ => {}
        }
    }

    fn session(&mut self, rule: &DraftClause) {
        for (key, tests) in &rule.session {
            let span = self.place(rule.span, key, rule.id_span);
            let is_count = key == "total_calls" || key.starts_with("tool_count.");
            for test in tests {
                match &test.operator {
                    Operator::Below(bound) if is_count && bound.as_u64() == Some(0) => self.warning(
                        "never-holds",
                        span,
                        format!("`{key}` is never below 0"),
                        "the rule never counts",
                        "write a higher number".to_owned(),
                    ),
                    _ if key.starts_with("tool_count.") && holds_at_zero(test) => self.warning(
                        "no-first-call",
                        span,
                        format!("`{key}` is not there before the first call, so this does not hold then"),
                        "holds from the second call on, if at all",
                        format!("add a rule with `{key}: {{exists: false}}` for the first call"),
                    ),
                    _ if !is_count => self.test(rule, span, key, test),
                    _ => {}
                }
            }
        }
    }

    fn chain(&mut self, rule: &DraftClause) {
        for step in rule.chain.iter().flat_map(|chain| &chain.steps) {
            if let ToolName::Matching(pattern) = &step.tools {
                self.reading(rule.span, rule.id_span, pattern);
            }
        }
    }

    fn strategy(&mut self, rule: &DraftClause) {
        let span = self.place(rule.span, "approval_strategy", rule.span);
        if rule.approval_strategy.is_some() && rule.then != Some(Decision::Ask) && span != rule.span {
            self.warning(
                "idle-strategy",
                span,
                "`approval_strategy` has no effect where no human is asked".to_owned(),
                "changes nothing",
                "write `then: approve`, or leave it out".to_owned(),
            );
        }
    }
}

/// Whether a pattern on tools takes every name.
fn takes_every_tool(pattern: &str) -> bool {
    let bare = pattern.trim_start_matches('^').trim_end_matches('$');
    let bare = bare.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(bare);
    ["*", ".*", ".+", ".*?", ".+?", "[\\s\\S]*", "\\S+", "\\S*", "\\w+", "\\w*"].contains(&bare)
}

/// Whether a rule asks for nothing but the tool.
fn is_unconditional(rule: &DraftClause) -> bool {
    rule.args.is_empty()
        && rule.effects.is_none()
        && rule.session.is_empty()
        && rule.sender.is_empty()
        && rule.context.is_empty()
        && rule.time_of_day.is_none()
        && rule.day_of_week.is_none()
        && rule.chain.is_none()
}

/// Whether a counter that stands at zero would pass.
fn holds_at_zero(test: &Test) -> bool {
    let is_zero = |value: &Json| value.as_u64() == Some(0);
    match &test.operator {
        Operator::Equals(value) => is_zero(value),
        Operator::OneOf(values) => values.iter().any(is_zero) != test.is_negated,
        Operator::Below(_) | Operator::AtMost(_) => true,
        Operator::AtLeast(bound) => bound.as_u64() == Some(0),
        _ => false,
    }
}
