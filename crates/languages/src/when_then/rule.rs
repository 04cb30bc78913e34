//! One rule: its `when`, its `then`, and what else it says.

use lockgate_policy::{
    Decision, Diagnostic, Span,
    window::{CHAIN_COUNT_MAX, ORDERED_CALLS_MAX},
};

use super::{File, values::is_null};
use crate::draft::when_then::{Chain, ChainStep, DraftClause};
use crate::yaml::{Fields, Node, Value};

/// The most steps of a chain: each has a window of its own in every session.
pub(super) const CHAIN_STEPS_MAX: usize = 64;

const RULE_KEYS: [&str; 14] = [
    "id",
    "description",
    "when",
    "tool",
    "chain",
    "then",
    "verdict",
    "severity",
    "message",
    "enabled",
    "approval_strategy",
    "priority",
    "extends",
    "mode",
];
const WHEN_KEYS: [&str; 8] =
    ["tool", "effect", "args", "args_match", "session", "sender", "context", "chain"];
const STEP_KEYS: [&str; 4] = ["tool", "within_seconds", "min_count", "verdict"];

/// Keys that people write into rules, and what they mean by them.
const MEANT_IN_RULES: [(&str, &str); 17] = [
    ("action", "write it as `then`"),
    ("effect", "write it as `then`"),
    ("decision", "write it as `then`"),
    ("args", "write it under `when`, as `args_match`"),
    ("args_match", "write it under `when`"),
    ("blocked_args_patterns", "write `args_match: {FIELD: {regex: …}}` under `when`"),
    ("conditions", "write them under `when`"),
    ("context", "write it under `when`"),
    ("if", "write it as `when`"),
    ("name", "write it as `id`, or as `description` for people"),
    ("reason", "write it as `message`"),
    ("sender", "write it under `when`"),
    ("session", "write it under `when`"),
    ("tool_name", "write `when: {tool: …}`"),
    ("tool_pattern", "write `when: {tool: …}`"),
    ("tools", "write `when: {tool: […]}`"),
    ("match", "write it as `when`"),
];
/// The same under `when`.
const MEANT_IN_WHEN: [(&str, &str); 8] = [
    ("effects", "write it as `effect`, which takes a list too"),
    ("tools", "write it as `tool`, which takes a list too"),
    ("tool_name", "write it as `tool`"),
    ("tool_pattern", "write it as `tool`"),
    ("arguments", "write it as `args_match`"),
    ("time_of_day", "write it under `context`"),
    ("day_of_week", "write it under `context`"),
    ("blocked_args_patterns", "write `args_match: {FIELD: {regex: …}}`"),
];

/// The same in a step of a chain.
const MEANT_IN_STEPS: [(&str, &str); 7] = [
    ("name", "write it as `tool`"),
    ("tool_name", "write it as `tool`"),
    ("count", "write it as `min_count`"),
    ("seconds", "write it as `within_seconds`"),
    ("within", "write it as `within_seconds`"),
    ("within_secs", "write it as `within_seconds`"),
    ("window_seconds", "write it as `within_seconds`"),
];

impl File<'_> {
    pub(super) fn rules(&mut self, node: &Node) -> Vec<DraftClause> {
        let items = self.reader.list(node, "`rules`").unwrap_or_default();
        items.iter().filter_map(|item| self.rule(item)).collect()
    }

    fn rule(&mut self, node: &Node) -> Option<DraftClause> {
        let told = self.reader.diagnostics.len();
        let fields = self.fields_or(node, "a rule", &RULE_KEYS, &MEANT_IN_RULES)?;
        let mut clause = DraftClause { span: node.span, ..DraftClause::default() };
        let id = fields.require(&mut self.reader, "id");
        clause.id = id.and_then(|id| self.reader.text_strict(id, "`id`")).unwrap_or_default();
        clause.id_span = id.map_or(Span::new(node.span.start, node.span.start), |id| id.span);
        clause.extends = fields.get("extends").and_then(|parent| {
            let name = self.reader.text_strict(parent, "`extends`")?;
            Some((name, parent.span))
        });
        clause.description = self.optional_words(&fields, "description");
        // No message is what other programs write for a rule without one.
        let has_message = fields.get("message").is_some_and(|node| !is_null(node));
        clause.message = has_message.then(|| self.optional_words(&fields, "message")).flatten();
        clause.then = self.then(&fields);
        clause.severity = fields.get("severity").and_then(|node| self.severity(node));
        clause.priority = fields.get("priority").and_then(|node| self.priority(node));
        clause.enabled =
            fields.get("enabled").and_then(|node| self.reader.lenient_boolean(node, "`enabled`"));
        clause.approval_strategy = fields.get("approval_strategy").and_then(|node| self.standing(node));
        clause.mode = fields.get("mode").and_then(|node| self.mode(node, false));
        self.when(&fields, &mut clause);
        if clause.enabled == Some(false) {
            clause.held_back = self.hold_back_patterns(told);
        }
        Some(clause)
    }

    /// Takes back what was said about patterns: a rule that is off runs none.
    fn hold_back_patterns(&mut self, told: usize) -> Vec<Diagnostic> {
        let since = self.reader.diagnostics.split_off(told.min(self.reader.diagnostics.len()));
        let (patterns, others) = since.into_iter().partition(|diagnostic| diagnostic.code == "bad-pattern");
        self.reader.diagnostics.extend::<Vec<_>>(others);
        patterns
    }

    /// What the rule wants. What cannot be read is reported, and stands for the strictest.
    fn then(&mut self, fields: &Fields<'_>) -> Option<Decision> {
        let then = fields.get("then").map(|node| self.decision(node, "`then`"));
        let verdict = fields.get("verdict").map(|node| (self.decision(node, "`verdict`"), node.span));
        if let (Some(Some(then)), Some((Some(verdict), span))) = (then, verdict)
            && then != verdict
        {
            let message = "`then` and `verdict` say different things";
            self.reader.error("duplicate-key", span, message, "keep only `then`");
        }
        then.or(verdict.map(|(verdict, _)| verdict)).map(|read| read.unwrap_or(Decision::Block))
    }

    fn priority(&mut self, node: &Node) -> Option<i64> {
        let number = self.reader.number(node, "`priority`")?;
        if number.as_i64().is_none() {
            let message = format!("`priority` must be a whole number, not {number}");
            self.reader.error("wrong-type", node.span, message, "write -1, 0, 1, 2 …; the lowest leads");
        }
        number.as_i64()
    }

    fn when(&mut self, rule: &Fields<'_>, clause: &mut DraftClause) {
        let when = rule.get("when");
        let fields = when.and_then(|node| self.fields_or(node, "`when`", &WHEN_KEYS, &MEANT_IN_WHEN));
        let is_empty =
            when.is_none_or(|node| matches!(&node.value, Value::Map(entries) if entries.is_empty()));
        if let Some(tool) = rule.get("tool") {
            clause.tools = self.tools(tool, "`tool`");
            if !is_empty {
                let message = "a `tool` beside `when` would be ignored by other programs";
                self.reader.error("misplaced-key", tool.span, message, "move it into `when`");
            }
        }
        let mut chain = rule.get("chain");
        if let Some(fields) = fields {
            if let Some(tool) = fields.get("tool") {
                clause.tools = self.tools(tool, "`tool`");
            }
            if let Some(effect) = fields.get("effect") {
                clause.effects = self.reader.effects(effect);
            }
            if let Some(args) = fields.either(&mut self.reader, "args_match", "args") {
                clause.args = self.args(args, "`args_match`");
            }
            if let Some(session) = fields.get("session") {
                clause.session = self.session(session);
            }
            if let Some(sender) = fields.get("sender") {
                clause.sender = self.sender(sender);
            }
            if let Some(context) = fields.get("context") {
                self.context(context, clause);
            }
            if let (Some(inner), Some(outer)) = (fields.get("chain"), chain) {
                let message = "the rule has a `chain` here and another under `when`";
                self.reader.error("duplicate-key", outer.span, message, "keep the one under `when`");
                chain = Some(inner);
            }
            chain = fields.get("chain").or(chain);
        }
        clause.chain = chain.and_then(|node| self.chain(node));
    }

    /// What must have been called before: a list of steps in any order, or `{ordered: true, steps: […]}`.
    fn chain(&mut self, node: &Node) -> Option<Chain> {
        let (steps, is_ordered) = match &node.value {
            Value::Map(_) => {
                let fields = self.reader.fields(node, "`chain`", &["ordered", "steps"])?;
                let steps = fields.require(&mut self.reader, "steps");
                let ordered =
                    fields.get("ordered").map(|node| self.reader.lenient_boolean(node, "`ordered`"));
                (steps?, ordered.unwrap_or(Some(false))?)
            }
            _ => (node, false),
        };
        let items = self.reader.list(steps, "`chain`")?;
        if items.len() > CHAIN_STEPS_MAX {
            let message = format!("a chain cannot have more than {CHAIN_STEPS_MAX} steps");
            self.reader.error("out-of-range", steps.span, message, "split it into several rules");
            return None;
        }
        let read: Vec<Option<ChainStep>> = items.iter().map(|item| self.step(item)).collect();
        let steps = read.into_iter().collect::<Option<Vec<_>>>()?;
        let calls: u32 = steps.iter().map(|step| step.min_count.get()).fold(0, u32::saturating_add);
        if is_ordered && calls > ORDERED_CALLS_MAX {
            let message =
                format!("an ordered chain cannot ask for more than {ORDERED_CALLS_MAX} calls, not {calls}");
            self.reader.error(
                "out-of-range",
                node.span,
                message,
                "lower `min_count`, or leave `ordered` out",
            );
            return None;
        }
        Some(Chain { steps, is_ordered })
    }

    fn step(&mut self, node: &Node) -> Option<ChainStep> {
        let fields = self.fields_or(node, "a step of a chain", &STEP_KEYS, &MEANT_IN_STEPS)?;
        let tool = fields.require(&mut self.reader, "tool");
        let tools = tool.and_then(|node| self.tool_name(node, "the `tool` of a step"));
        let within = fields.require(&mut self.reader, "within_seconds");
        let within_ms = within.and_then(|node| self.reader.seconds(node, "`within_seconds`"));
        let min_count = fields.get("min_count").map(|node| {
            let remedy = "leave `min_count` out for one call, or leave the step out";
            self.count_to(node, "`min_count`", CHAIN_COUNT_MAX, remedy)
        });
        let verdict = fields.get("verdict").map(|node| self.decision(node, "`verdict`"));
        let Some(Node { value: Value::Scalar { text, .. }, .. }) = tool else { return None };
        Some(ChainStep {
            text: text.clone(),
            tools: tools?,
            within_ms: within_ms?,
            min_count: min_count.unwrap_or(Some(std::num::NonZeroU32::MIN))?,
            verdict: verdict.map_or(Some(None), |read| read.map(Some))?,
        })
    }

    /// A mapping with known keys, and words for those that are often written instead.
    fn fields_or<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
        meant: &[(&str, &str)],
    ) -> Option<Fields<'n>> {
        let told = self.reader.diagnostics.len();
        let fields = self.reader.fields(node, what, known)?;
        for diagnostic in self.reader.diagnostics.iter_mut().skip(told) {
            let written = diagnostic.source.slice(diagnostic.span).trim_matches(['"', '\'']);
            if let Some((_, remedy)) = meant.iter().find(|(key, _)| *key == written) {
                diagnostic.remedy = Some((*remedy).to_owned());
            }
        }
        Some(fields)
    }
}
