//! How one rule is read.
//!
//! What a rule may have depends on its type, so that is read first; a rule without one is checked for what every rule
//! needs, and no more.

use lockgate_policy::{Diagnostic, Span};

use super::{
    File,
    expression::Place,
    keys::{self, MESSAGE_CHARS_MAX, TIMEOUT_S_MAX, Table},
};
use crate::draft::ruleset::{
    Action, Boundaries, DraftRulesetRule, Limits, RuleKind, TIMEOUT_MS_DEFAULT, Template, TimeoutAction,
    ToolGlob,
};
use crate::yaml::{Fields, Node, Value};

impl File<'_> {
    pub(super) fn rule(&mut self, node: &Node) -> Option<DraftRulesetRule> {
        let entries = self.reader.map(node, "a rule")?;
        let kind = entries.iter().find(|entry| entry.key == "type");
        match kind.and_then(|kind| self.choice(&kind.value, "`type`", keys::TYPES)) {
            Some("pre") => self.looking(node, &keys::PRE, &keys::PRE_THEN, Place::Pre),
            Some("post") => self.looking(node, &keys::POST, &keys::POST_THEN, Place::Post),
            Some("session") => self.session(node),
            Some(_) => self.sandbox(node),
            None => {
                // A wrong type was reported already; a missing one is reported here. Other keys depend on it.
                let known: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                let fields = self.reader.fields(node, keys::RULE.what, &known)?;
                fields.require(&mut self.reader, "id");
                fields.require(&mut self.reader, "type");
                self.common(&fields, node.span);
                None
            }
        }
    }

    /// A rule that looks at a call or at its result.
    fn looking(
        &mut self,
        node: &Node,
        table: &'static Table,
        then: &'static Table,
        place: Place,
    ) -> Option<DraftRulesetRule> {
        let fields = self.table(node, table)?;
        let mut rule = self.common(&fields, node.span);
        rule.tools = self.text(&fields, "tool").map(ToolGlob::new).into_iter().collect();
        let when = fields.get("when").and_then(|node| self.expression(node, place));
        self.then(&fields, then, place, &mut rule);
        rule.kind = match (place, when?) {
            (Place::Post, when) => RuleKind::Post { when },
            (_, when) => RuleKind::Pre { when },
        };
        Some(rule)
    }

    fn session(&mut self, node: &Node) -> Option<DraftRulesetRule> {
        let fields = self.table(node, &keys::SESSION)?;
        let mut rule = self.common(&fields, node.span);
        let limits = fields.get("limits").and_then(|node| self.limits(node));
        self.then(&fields, &keys::SESSION_THEN, Place::Session, &mut rule);
        rule.kind = RuleKind::Session(limits?);
        Some(rule)
    }

    fn limits(&mut self, node: &Node) -> Option<Limits> {
        let fields = self.table(node, &keys::LIMITS)?;
        let mut limit = |key: &str| fields.get(key).and_then(|node| self.limit(node, key));
        let (max_tool_calls, max_attempts) = (limit("max_tool_calls"), limit("max_attempts"));
        let mut max_calls_per_tool = Vec::new();
        if let Some(node) = fields.get("max_calls_per_tool") {
            let entries = self.reader.map(node, "`max_calls_per_tool`").unwrap_or_default();
            if entries.is_empty() && matches!(node.value, Value::Map(_)) {
                let remedy = "name at least one tool, or leave the key out";
                self.reader.error("empty-list", node.span, "`max_calls_per_tool` names no tool", remedy);
            }
            for entry in entries {
                let what = format!("max_calls_per_tool.{}", entry.key);
                let limit = self.limit(&entry.value, &what);
                max_calls_per_tool.extend(limit.map(|limit| (entry.key.clone(), limit)));
            }
        }
        Some(Limits { max_tool_calls, max_attempts, max_calls_per_tool })
    }

    fn sandbox(&mut self, node: &Node) -> Option<DraftRulesetRule> {
        let fields = self.table(node, &keys::SANDBOX)?;
        let mut rule = self.common(&fields, node.span);
        let mut tools: Vec<String> = self.text(&fields, "tool").into_iter().collect();
        tools.extend(self.optional_texts(&fields, "tools", false).unwrap_or_default());
        let has_tools = !tools.is_empty();
        rule.tools = tools.into_iter().map(ToolGlob::new).collect();
        let allows = fields.get("allows").and_then(|node| self.table(node, &keys::ALLOWS));
        let not_allows = fields.get("not_allows").and_then(|node| self.table(node, &keys::NOT_ALLOWS));
        let allowed = |file: &mut Self, key: &str| {
            allows.as_ref().and_then(|fields| file.optional_texts(fields, key, false))
        };
        let (commands, domains) = (allowed(self, "commands"), allowed(self, "domains"));
        if let Some(node) = not_allows.as_ref().and_then(|fields| fields.get("domains"))
            && allows.as_ref().is_some_and(|fields| fields.get("domains").is_none())
        {
            let message = "`not_allows.domains` has no `allows.domains` to take away from";
            let remedy = "add `allows: {domains: [\"*\"]}`, or the hosts that are meant";
            self.reader.error("missing-key", node.span, message, remedy);
        }
        let not_domains =
            not_allows.and_then(|fields| self.optional_texts(&fields, "domains", false)).unwrap_or_default();
        let boundaries = Boundaries {
            within: self.optional_texts(&fields, "within", false).unwrap_or_default(),
            not_within: self.optional_texts(&fields, "not_within", true).unwrap_or_default(),
            commands,
            domains,
            not_domains,
        };
        rule.action = match fields.get("outside").map(|node| (node, keys::SANDBOX.choices("outside"))) {
            Some((node, choices)) => match self.choice(node, "`outside`", choices) {
                Some("ask" | "approve") => Action::Ask,
                _ => Action::Block,
            },
            None => Action::Block,
        };
        rule.message = self.message(&fields, Place::Sandbox).unwrap_or_default();
        self.timeout(&fields, &mut rule);
        rule.kind = RuleKind::Sandbox(boundaries);
        // Without tools it would be about every tool: a mistake, which was reported.
        has_tools.then_some(rule)
    }

    fn optional_texts(&mut self, fields: &Fields<'_>, key: &str, may_be_empty: bool) -> Option<Vec<String>> {
        fields.get(key).map(|node| self.texts(node, key, may_be_empty))
    }

    /// What every rule has. Its kind is filled in by the caller.
    fn common(&mut self, fields: &Fields<'_>, span: Span) -> DraftRulesetRule {
        let id = fields.get("id").and_then(|node| {
            let id = self.reader.text(node, "`id`")?;
            (self.is_well_formed(node, "`id`", &id, "_-") && self.is_free(&id, node.span)).then_some(id)
        });
        DraftRulesetRule {
            id: id.unwrap_or_default(),
            kind: RuleKind::Session(Limits::default()),
            tools: Vec::new(),
            mode: self.mode(fields),
            enabled: self.boolean(fields, "enabled").unwrap_or(true),
            locked: self.boolean(fields, "locked").unwrap_or(false),
            message: Template::default(),
            tags: Vec::new(),
            metadata: serde_json::Map::new(),
            action: Action::Block,
            timeout_ms: TIMEOUT_MS_DEFAULT,
            timeout_action: TimeoutAction::default(),
            has_timeout: false,
            source: self.reader.source.clone(),
            id_span: fields.get("id").map_or(Span::new(span.start, span.start), |node| node.span),
            span,
        }
    }

    fn then(
        &mut self,
        fields: &Fields<'_>,
        table: &'static Table,
        place: Place,
        rule: &mut DraftRulesetRule,
    ) {
        let Some(fields) = fields.get("then").and_then(|node| self.table(node, table)) else {
            return;
        };
        let action =
            fields.get("action").and_then(|node| self.choice(node, "`action`", table.choices("action")));
        rule.action = match action {
            Some("ask") => Action::Ask,
            Some("warn") => Action::Warn,
            Some("redact") => Action::Redact,
            _ => Action::Block,
        };
        rule.message = self.message(&fields, place).unwrap_or_default();
        rule.tags = self.optional_texts(&fields, "tags", true).unwrap_or_default();
        rule.metadata = self.object(&fields, "metadata");
        self.timeout(&fields, rule);
    }

    fn timeout(&mut self, fields: &Fields<'_>, rule: &mut DraftRulesetRule) {
        let timeout = fields.get("timeout").and_then(|node| self.whole(node, "timeout", TIMEOUT_S_MAX));
        rule.timeout_ms = timeout.map_or(TIMEOUT_MS_DEFAULT, |seconds| seconds.get().saturating_mul(1_000));
        for key in ["timeout_action", "timeout_effect"] {
            let node = fields.get(key);
            rule.has_timeout |= node.is_some();
            if let Some("allow") =
                node.and_then(|node| self.choice(node, &format!("`{key}`"), &["block", "allow"]))
            {
                rule.timeout_action = TimeoutAction::Allow;
            }
        }
        rule.has_timeout |= fields.get("timeout").is_some();
    }

    fn message(&mut self, fields: &Fields<'_>, place: Place) -> Option<Template> {
        let node = fields.get("message")?;
        let text = self.reader.text(node, "`message`")?;
        let chars = text.chars().count();
        if chars > MESSAGE_CHARS_MAX {
            let message =
                format!("`message` has {chars} characters, and at most {MESSAGE_CHARS_MAX} are shown");
            self.reader.error("out-of-range", node.span, message, "shorten it");
            return None;
        }
        if place == Place::Session {
            return Some(Template::plain(text));
        }
        let (template, odd) = Template::parse(&text, |written| self.placeholder(written, place));
        for (written, remedy) in odd {
            let message = format!("the placeholder `{{{written}}}` of `message` will stay as it is written");
            let warning = Diagnostic::warning("idle-placeholder", self.reader.source, node.span, message);
            self.warnings.push(warning.remedy(remedy));
        }
        Some(template)
    }
}
