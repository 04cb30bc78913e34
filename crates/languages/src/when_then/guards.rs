//! What a file says beside its rules: honeypots, tainted sessions, results, the look of inputs, rates, kinds of
//! sensitive data.

use std::collections::BTreeMap;

use lockgate_call::sensitive::AttackPattern;
use lockgate_pattern::Pattern;
use lockgate_policy::{Decision, Span, ToolName, Tools, condition::AttackPatterns, window::CHAIN_COUNT_MAX};

use super::File;
use crate::draft::when_then::{CustomPattern, DraftOutput, Honeypot, RateLimit, Sanitizer, TaintChain};
use crate::yaml::{Fields, Node, did_you_mean};

const OUTPUT_KEYS: [&str; 8] =
    ["id", "tool", "max_size", "block_patterns", "then", "message", "severity", "description"];
const SANITIZER_KEYS: [&str; 8] = [
    "enabled",
    "max_string_length",
    "blocked_patterns",
    "builtin_detectors",
    "max_args_depth",
    "max_depth",
    "max_keys",
    "max_total_keys",
];
const RATE_KEYS: [&str; 5] = ["tool", "max_calls", "window_seconds", "per_session", "message"];
const DETECTORS: [&str; 6] =
    ["path_traversal", "shell_injection", "sql_injection", "ssrf", "url_schemes", "secret_detection"];

impl File<'_> {
    pub(super) fn honeypots(&mut self, node: &Node) -> Vec<Honeypot> {
        let items = self.reader.list(node, "`honeypots`").unwrap_or_default();
        items.iter().filter_map(|item| self.honeypot(item)).collect()
    }

    fn honeypot(&mut self, node: &Node) -> Option<Honeypot> {
        let fields = self.reader.fields(node, "a honeypot", &["name", "tool", "alert", "severity"])?;
        let name = fields.either(&mut self.reader, "name", "tool");
        let name = match name {
            Some(name) => self.exact_name(name, "the name of a honeypot"),
            None => fields.require(&mut self.reader, "name").and(None),
        };
        let alert = self.optional_words(&fields, "alert");
        let severity = fields.get("severity").and_then(|node| self.severity(node));
        Some(Honeypot { name: name?, alert, severity, span: node.span })
    }

    /// Only a chain that is on: it is off unless it says otherwise.
    pub(super) fn taint_chain(&mut self, node: &Node) -> Option<TaintChain> {
        let fields = self.reader.fields(node, "`taint_chain`", &["enabled", "outgoing_tools"])?;
        let enabled = fields.get("enabled").map(|node| self.reader.lenient_boolean(node, "`enabled`"));
        let tools = fields.get("outgoing_tools");
        let items = tools.and_then(|node| self.reader.list(node, "`outgoing_tools`")).unwrap_or_default();
        let names: Vec<Option<String>> =
            items.iter().map(|item| self.exact_name(item, "a tool in `outgoing_tools`")).collect();
        match enabled {
            Some(enabled) => {
                if enabled? && items.is_empty() {
                    let message = "`taint_chain` closes no tool";
                    let remedy = "name the tools that send data out, as in `outgoing_tools: [send_email]`";
                    self.reader.error("empty-list", tools.unwrap_or(node).span, message, remedy);
                }
                let outgoing_tools = names.into_iter().collect::<Option<Vec<String>>>()?;
                enabled?.then_some(TaintChain { outgoing_tools, span: node.span })
            }
            None => {
                let message = "`taint_chain` is off unless it says `enabled: true`";
                self.reader.warning(
                    "disabled-guard",
                    node.span,
                    message,
                    "add `enabled: true`, or leave it out",
                );
                None
            }
        }
    }

    pub(super) fn outputs(&mut self, node: &Node) -> Vec<DraftOutput> {
        let mut ids: BTreeMap<String, Span> = BTreeMap::new();
        let mut outputs = Vec::new();
        for (index, item) in self.reader.list(node, "`output_rules`").unwrap_or_default().iter().enumerate() {
            let Some(fields) = self.reader.fields(item, "an output rule", &OUTPUT_KEYS) else { continue };
            let id = fields.get("id").map(|node| (self.reader.text_strict(node, "`id`"), node.span));
            if let Some((Some(id), span)) = &id
                && let Some(first) = ids.insert(id.clone(), *span)
            {
                self.reader.twice("duplicate-id", id, "`output_rules`", first, *span);
            }
            let id = id.and_then(|(id, _)| id).unwrap_or_else(|| format!("output rule {}", index + 1));
            outputs.extend(self.output(&fields, id, item.span));
        }
        outputs
    }

    fn output(&mut self, fields: &Fields<'_>, id: String, span: Span) -> Option<DraftOutput> {
        let tools = fields.require(&mut self.reader, "tool").map(|node| self.named_tools(node, "`tool`"));
        let bytes_max = fields.get("max_size").map(|node| self.reader.count(node, "`max_size`"));
        let patterns = fields.get("block_patterns").map(|node| self.patterns(node, "`block_patterns`"));
        let then = fields.get("then").map(|node| (self.decision(node, "`then`"), node.span));
        let message = self.optional_words(fields, "message");
        self.optional_words(fields, "description");
        let severity = fields.get("severity").and_then(|node| self.severity(node));
        if let Some((Some(Decision::Allow | Decision::Ask), span)) = then {
            let message = "a result can be withheld or masked, and nothing else";
            self.reader.error("unknown-value", span, message, "write `then: block` or `then: redact`");
        }
        let masks = matches!(then, Some((Some(Decision::Redact), _)));
        if bytes_max.is_none() && patterns.is_none() && !masks {
            let message = format!("the output rule `{id}` looks for nothing");
            let remedy = "add `max_size` or `block_patterns`, or `then: redact` to mask all sensitive data";
            self.reader.error("missing-key", Span::new(span.start, span.start), message, remedy);
        }
        let patterns = patterns.map_or(Some(Vec::new()), |read| read)?;
        Some(DraftOutput {
            id,
            tools: tools??,
            bytes_max: bytes_max.flatten(),
            severity,
            patterns,
            masks,
            kinds: Vec::new(),
            mode: None,
            message,
            span,
        })
    }

    fn patterns(&mut self, node: &Node, what: &str) -> Option<Vec<Pattern>> {
        let items = self.filled_list(node, what, "name at least one pattern, or leave it out")?;
        let entry = format!("an entry of {what}");
        let patterns: Vec<Option<Pattern>> = items.iter().map(|item| self.regex(item, &entry)).collect();
        patterns.into_iter().collect()
    }

    /// Only a sanitizer that is on: it is on unless it says otherwise.
    pub(super) fn sanitizer(&mut self, node: &Node) -> Option<Sanitizer> {
        let fields = self.reader.fields(node, "`sanitizer`", &SANITIZER_KEYS)?;
        let enabled = fields.get("enabled").map(|node| self.reader.lenient_boolean(node, "`enabled`"));
        let detectors = fields.get("builtin_detectors").map(|node| self.detectors(node)).unwrap_or_default();
        let blocked_patterns = fields.get("blocked_patterns");
        let blocked_patterns =
            blocked_patterns.and_then(|node| self.patterns(node, "`blocked_patterns`")).unwrap_or_default();
        let string_chars_max = self.bound(fields.get("max_string_length"), "`max_string_length`");
        let keys = fields.either(&mut self.reader, "max_keys", "max_total_keys");
        let keys_max = self.bound(keys, "`max_keys`");
        let depth = fields.either(&mut self.reader, "max_args_depth", "max_depth");
        let depth_max = self.bound(depth, "`max_args_depth`");
        let looks_for = SANITIZER_KEYS.iter().skip(1).any(|key| fields.get(key).is_some());
        let is_on = enabled.unwrap_or(Some(true))?;
        if is_on && !looks_for {
            let message = "`sanitizer` looks for nothing";
            let remedy = format!("add `builtin_detectors: [{}]`", DETECTORS.join(", "));
            self.reader.error("missing-key", node.span, message, remedy);
        }
        let span = node.span;
        let attack = AttackPatterns { detectors, blocked_patterns, string_chars_max, keys_max, depth_max };
        is_on.then_some(Sanitizer { attack, span })
    }

    fn bound(&mut self, node: Option<&Node>, what: &str) -> Option<u64> {
        let bound = self.count_to(node?, what, u32::MAX, "leave it out for no bound");
        bound.map(|bound| u64::from(bound.get()))
    }

    fn detectors(&mut self, node: &Node) -> Vec<AttackPattern> {
        let mut detectors = Vec::new();
        for (name, span) in self.reader.names(node, "`builtin_detectors`") {
            match AttackPattern::from_name(&name) {
                Some(detector) => detectors.push(detector),
                None => {
                    let remedy = did_you_mean(&name, DETECTORS)
                        .unwrap_or_else(|| format!("the detectors are `{}`", DETECTORS.join("`, `")));
                    self.reader.error(
                        "unknown-value",
                        span,
                        format!("no detector is called `{name}`"),
                        remedy,
                    );
                }
            }
        }
        detectors
    }

    pub(super) fn rate_limits(&mut self, node: &Node) -> Vec<RateLimit> {
        let items = self.reader.list(node, "`rate_limits`").unwrap_or_default();
        items.iter().filter_map(|item| self.rate_limit(item)).collect()
    }

    fn rate_limit(&mut self, node: &Node) -> Option<RateLimit> {
        let fields = self.reader.fields(node, "a rate limit", &RATE_KEYS)?;
        let tool = fields.require(&mut self.reader, "tool");
        let name = tool.and_then(|node| self.tool_name(node, "the `tool` of a rate limit"));
        let calls_max = fields.require(&mut self.reader, "max_calls").and_then(|node| {
            let remedy = "write a rule with `then: block` for a tool that must not be called at all";
            self.count_to(node, "`max_calls`", CHAIN_COUNT_MAX, remedy)
        });
        let window = fields.require(&mut self.reader, "window_seconds");
        let window_ms = window.and_then(|node| self.reader.seconds(node, "`window_seconds`"));
        let per_session =
            fields.get("per_session").map(|node| self.reader.lenient_boolean(node, "`per_session`"));
        let message = self.optional_words(&fields, "message");
        let (text, tools) = match name? {
            ToolName::Exact(name) => (name.clone(), Tools::Any(vec![ToolName::Exact(name)])),
            ToolName::Matching(pattern) => match pattern.to_string() {
                text if text == "*" => (text, Tools::Every),
                text => (text, Tools::Any(vec![ToolName::Matching(pattern)])),
            },
        };
        Some(RateLimit {
            text,
            tools,
            calls_max: calls_max?,
            window_ms: window_ms?,
            is_per_session: per_session.unwrap_or(Some(true))?,
            message,
            span: node.span,
        })
    }

    pub(super) fn custom_patterns(&mut self, node: &Node) -> Vec<CustomPattern> {
        let mut names: BTreeMap<String, Span> = BTreeMap::new();
        let mut patterns = Vec::new();
        for item in self.reader.list(node, "`pii_patterns`").unwrap_or_default() {
            let Some(fields) = self.reader.fields(item, "a pattern", &["name", "pattern", "regex"]) else {
                continue;
            };
            let name = fields.require(&mut self.reader, "name");
            let name = name.and_then(|node| Some((self.reader.text_strict(node, "`name`")?, node.span)));
            if let Some((name, span)) = &name
                && let Some(first) = names.insert(name.clone(), *span)
            {
                self.reader.twice("duplicate-name", name, "`pii_patterns`", first, *span);
            }
            let pattern = match fields.either(&mut self.reader, "pattern", "regex") {
                Some(node) => self.sensitive_regex(node),
                None => fields.require(&mut self.reader, "pattern").and(None),
            };
            if let (Some((name, _)), Some(regex)) = (name, pattern) {
                patterns.push(CustomPattern { name, regex });
            }
        }
        patterns
    }

    /// An expression that finds sensitive data in long texts, so it must be quick and must find something.
    fn sensitive_regex(&mut self, node: &Node) -> Option<regex::Regex> {
        let pattern = self.regex(node, "`pattern`")?;
        let Some(regex) = pattern.linear_source().and_then(|source| regex::Regex::new(source).ok()) else {
            let message = "sensitive data cannot be looked for with look-around or back-references";
            self.reader.error("bad-pattern", node.span, message, "do without them");
            return None;
        };
        if regex.is_match("") {
            let message = "this finds something in every text, even in an empty one";
            let remedy = "make sure that at least one character has to be there: `+` instead of `*`";
            self.reader.error("bad-pattern", node.span, message, remedy);
            return None;
        }
        Some(regex)
    }
}
