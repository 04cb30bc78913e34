//! Findings about rulesets that load: tests that are slipped past, words that do nothing.
//!
//! [`lint`] wants a file that was read without an error. It looks at one ruleset alone.

use lockgate_call::path;
use lockgate_policy::{
    Diagnostic, Mode, Span,
    condition::{Condition, Leaf, Operator, Subject, ValueTest, typed},
};

use crate::draft::Draft;
use crate::draft::ruleset::{
    Action, Boundaries, DraftRulesetRule, Limits, Observability, RuleKind, Ruleset, TimeoutAction,
};
use crate::linter::Linter;

/// Everything worth telling about a ruleset, in file order.
pub(crate) fn lint(draft: &Draft) -> Vec<Diagnostic> {
    let Some(ruleset) = &draft.ruleset else { return Vec::new() };
    let mut linter = Linter::new(draft);
    linter.tools(ruleset);
    linter.observability(ruleset);
    for rule in &ruleset.rules {
        linter.rule(rule);
        match &rule.kind {
            RuleKind::Pre { when } | RuleKind::Post { when } => {
                when.leaves().iter().for_each(|leaf| linter.leaf(leaf));
                linter.evadable(rule, when);
                if rule.action == Action::Redact && when.output_patterns().is_empty() {
                    linter.nothing_to_redact(rule);
                }
            }
            RuleKind::Session(limits) => linter.limits(rule, limits),
            RuleKind::Sandbox(boundaries) => linter.boundaries(rule, boundaries),
        }
    }
    linter.finish()
}

impl Linter<'_> {
    fn tools(&mut self, ruleset: &Ruleset) {
        for tool in ruleset.tools.iter().filter(|tool| is_glob(&tool.name)) {
            let message = format!("`{}` in `tools` is an exact name, not a glob", tool.name);
            self.warning("glob-as-name", tool.span, message, "name each tool");
        }
    }

    fn observability(&mut self, ruleset: &Ruleset) {
        let text = self.draft.source.text();
        let key = "observability";
        if let (true, Some(start)) = (ruleset.observability != Observability::default(), text.find(key)) {
            let message = "`observability` is read and checked, and sends nothing so far".to_owned();
            let remedy =
                "take the verdicts from the line protocol, or with `GateBuilder::on_decision` in the library";
            self.note("not-used", Span::new(start, start + key.len()), message, remedy);
        }
    }

    fn rule(&mut self, rule: &DraftRulesetRule) {
        for glob in
            rule.tools.iter().filter(|glob| glob.text().contains('{') || glob.text().trim() != glob.text())
        {
            let message = format!("the tool `{}` is taken letter by letter", glob.text());
            let remedy = "globs have `*`, `?` and `[…]`, and spaces count: write one rule for each tool";
            self.warning("odd-tool-name", rule.id_span, message, remedy);
        }
        if rule.has_timeout && rule.action == Action::Block {
            let message = format!("`{}` blocks at once and does not wait for a human", rule.id);
            self.warning("idle-timeout", rule.id_span, message, "leave `timeout` out, or ask a human");
        }
        if rule.action == Action::Ask && rule.timeout_action == TimeoutAction::Allow {
            let message = format!("`{}` lets the call run when no human answers", rule.id);
            self.warning(
                "open-timeout",
                rule.id_span,
                message,
                "write `timeout_action: block` unless that is meant",
            );
        }
        if rule.locked && !rule.enabled {
            let message = format!("`{}` is locked and disabled: it never acts", rule.id);
            self.warning("locked-and-idle", rule.id_span, message, "leave one of the two out");
        } else if rule.locked && rule.mode == Some(Mode::Observe) {
            let message = format!("`{}` is locked, and only observes", rule.id);
            self.warning("locked-and-idle", rule.id_span, message, "leave `mode` or `locked` out");
        }
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) {
        let ValueTest { subject, test, span } = leaf.value;
        let span = *span;
        match &test.operator {
            Operator::Equals(value) if value.is_null() => {
                let message = "a field that is null counts as missing, so this test never holds".to_owned();
                self.warning("idle-test", span, message, "write `exists: false`");
            }
            Operator::OneOf(values) if !test.is_negated && values.iter().any(serde_json::Value::is_null) => {
                let message = "a field that is null counts as missing, so it is never in a list".to_owned();
                self.warning("idle-test", span, message, "write `exists: false` as a test of its own");
            }
            Operator::StartsWith(text) | Operator::EndsWith(text) if text.is_empty() => {
                let message = "an empty text is part of every text".to_owned();
                self.warning("empty-text", span, message, "write `exists: true` if that is meant");
            }
            Operator::Contains(texts) if texts.iter().any(String::is_empty) => {
                let message = "an empty text is part of every text".to_owned();
                let remedy = match texts.len() {
                    1 => "write `exists: true` if that is meant",
                    _ => "take the empty text out of the list",
                };
                self.warning("empty-text", span, message, remedy);
            }
            _ => {}
        }
        if let (Subject::Variable(name), Operator::Equals(serde_json::Value::String(text)), false) =
            (subject, &test.operator, test.is_negated)
            && typed(text) != serde_json::Value::String(text.clone())
        {
            let message = format!("`env.{name}` gives `{text}` as a number or truth value, never as a text");
            self.warning("idle-test", span, message, "write the value without quotes");
        }
        for pattern in test.operator.patterns() {
            if pattern.is_impossible() {
                let message = format!("no text matches `{pattern}`");
                self.warning("impossible-pattern", span, message, "look for a slip in the expression");
            } else if !pattern.is_linear() {
                let message = format!(
                    "`{pattern}` needs an engine that may give up; a text it gives up on counts as a match"
                );
                let remedy = "write it without look-around and back-references if you can";
                self.note("not-linear", span, message, remedy);
            }
        }
    }

    /// A test that a call gets around: it says what a value must not be like, and no value is like nothing. Told once
    /// a rule.
    fn evadable(&mut self, rule: &DraftRulesetRule, when: &Condition) {
        if rule.mode == Some(Mode::Observe) || rule.action == Action::Warn {
            return;
        }
        let leaves = when.leaves();
        let is_evadable = |leaf: &&Leaf<'_>| {
            !matches!(leaf.value.subject, Subject::Environment | Subject::ToolName)
                && leaf.value.test.is_negated
                && !leaf.is_negated
                && !guards_absence(&leaves, leaf)
        };
        if let Some(leaf) = leaves.iter().find(is_evadable) {
            let message = format!("a call without the field gets around `{}`", rule.id);
            let remedy = "add a test for it: `any: [{FIELD: {exists: false}}, {FIELD: {…}}]`";
            self.note("evadable", leaf.value.span, message, remedy);
        }
    }

    fn nothing_to_redact(&mut self, rule: &DraftRulesetRule) {
        let message =
            format!("`{}` has no regular expression over the result, so all of it is masked", rule.id);
        let remedy = "say what to mask with `output.text: {matches: …}`, or write `action: block`";
        self.warning("redact-without-pattern", rule.id_span, message, remedy);
    }

    fn limits(&mut self, rule: &DraftRulesetRule, limits: &Limits) {
        for (tool, limit) in &limits.max_calls_per_tool {
            if is_glob(tool) {
                let message = format!("the tools of `{tool}` share one limit of {limit} calls");
                self.note(
                    "shared-limit",
                    rule.id_span,
                    message,
                    "name each tool to give it a limit of its own",
                );
            }
            if limits.max_tool_calls.is_some_and(|all| all < *limit) {
                let message = format!("the limit of `{tool}` is out of reach: `max_tool_calls` is lower");
                self.warning("unreachable-limit", rule.id_span, message, "lower the one, or raise the other");
            }
        }
        if let (Some(calls), Some(attempts)) = (limits.max_tool_calls, limits.max_attempts)
            && attempts < calls
        {
            let message = "`max_tool_calls` is out of reach: `max_attempts` is lower".to_owned();
            self.warning("unreachable-limit", rule.id_span, message, "lower the one, or raise the other");
        }
        if rule.message.text().contains('{') && rule.message.text().contains('}') {
            let message = format!("the message of `{}` is shown as it is written", rule.id);
            self.note(
                "idle-placeholder",
                rule.id_span,
                message,
                "session rules have no placeholders: write it out",
            );
        }
    }

    fn boundaries(&mut self, rule: &DraftRulesetRule, boundaries: &Boundaries) {
        let Boundaries { within, not_within, commands, domains, .. } = boundaries;
        if within.is_empty() && commands.is_none() && domains.is_none() {
            let message = format!("`{}` allows nothing and confines nothing", rule.id);
            self.warning("idle-sandbox", rule.id_span, message, "name folders, `commands` or `domains`");
        }
        for folder in within.iter().chain(not_within) {
            if !folder.starts_with('/') || path::normalise(folder, Some("/")).is_err() {
                let message = format!("the folder `{folder}` depends on where the agent runs");
                self.warning("doubtful-folder", rule.id_span, message, "write it out, from `/`");
            }
        }
    }
}

/// Whether the rule asks somewhere whether the field is there.
fn guards_absence(leaves: &[Leaf<'_>], leaf: &Leaf<'_>) -> bool {
    leaves.iter().any(|other| {
        matches!(other.value.test.operator, Operator::Exists(_)) && other.value.subject == leaf.value.subject
    })
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '['])
}
