//! All names by which a file means tools, each with its place.

use lockgate_pattern::{Pattern, ToolGlob};
use lockgate_policy::{
    ExampleStep, Span, ToolName, Tools, is_phrase,
    workflow::{Condition, Stage},
};

use super::file::{File, names_of};
use crate::draft::{Draft, ruleset::RuleKind, when_then::DraftClause};

/// A name, and where it stands.
pub(super) struct Mention {
    pub(super) name: ToolReference,
    pub(super) span: Span,
}

/// How tools are named.
pub(super) enum ToolReference {
    Exact(String),
    Matching(Pattern),
    Glob(ToolGlob),
}

impl ToolReference {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Exact(name) => name.clone(),
            Self::Matching(pattern) => pattern.to_string(),
            Self::Glob(glob) => glob.text().to_owned(),
        }
    }

    pub(super) fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(name) => Some(name),
            Self::Matching(_) | Self::Glob(_) => None,
        }
    }
}

/// All names by which a file means tools.
pub(super) struct Mentions<'d> {
    pub(super) draft: &'d Draft,
    pub(super) names: Vec<Mention>,
}

impl Mentions<'_> {
    fn exact(&mut self, name: &str, span: Span) {
        // `any deletion` is not a tool.
        if is_phrase(name) {
            return;
        }
        self.names.push(Mention { name: ToolReference::Exact(name.to_owned()), span });
    }

    pub(super) fn one_line_rules(&mut self) {
        let draft = self.draft;
        let file = File::read(draft);
        for rule in &draft.rules {
            for name in names_of(rule) {
                self.exact(name, file.span_in(rule.span, name));
            }
        }
        for rule in &draft.sentences.rules {
            for name in rule.names() {
                self.exact(name, file.span_in(rule.span, name));
            }
        }
        for map in draft.maps.iter().filter(|map| !map.is_any_shell) {
            self.exact(&map.tool, self.place(map.span, &map.tool, file.span_in(map.span, &map.tool)));
        }
        for script in &draft.scripts {
            self.exact(&script.tool, file.span_in(script.span, &script.tool));
        }
        for claim in &draft.claims {
            for name in claim.property.names() {
                self.exact(name, self.place(claim.span, name, claim.span));
            }
        }
        for example in &draft.examples {
            for step in example.steps.iter().filter_map(ExampleStep::call) {
                self.exact(&step.call, self.place(example.span, &step.call, example.span));
            }
        }
    }

    pub(super) fn when_then(&mut self) {
        let file = &self.draft.when_then;
        for rule in file.rules.iter().filter(|rule| rule.enabled != Some(false)) {
            if let Some(tools) = &rule.tools {
                self.tools(tools, rule.span, rule.id_span);
            }
            self.memory(rule);
        }
        for output in &file.outputs {
            self.tools(&output.tools, output.span, output.span);
        }
        for limit in &file.rate_limits {
            self.tools(&limit.tools, limit.span, limit.span);
        }
        if let Some(chain) = &file.taint_chain {
            for tool in &chain.outgoing_tools {
                self.exact(tool, self.place(chain.span, tool, chain.span));
            }
        }
    }

    /// The tools whose earlier calls a rule looks at.
    fn memory(&mut self, rule: &DraftClause) {
        for tool in rule.session.iter().filter_map(|(key, _)| key.strip_prefix("tool_count.")) {
            self.exact(tool, self.place(rule.span, tool, rule.id_span));
        }
        for step in rule.chain.iter().flat_map(|chain| &chain.steps) {
            self.tool(&step.tools, rule.span, rule.id_span);
        }
    }

    fn tools(&mut self, tools: &Tools, part: Span, otherwise: Span) {
        if let Tools::Any(names) = tools {
            names.iter().for_each(|name| self.tool(name, part, otherwise));
        }
    }

    fn tool(&mut self, name: &ToolName, part: Span, otherwise: Span) {
        let span = self.place(part, &name.to_string(), otherwise);
        let name = match name {
            ToolName::Exact(name) => ToolReference::Exact(name.clone()),
            ToolName::Matching(pattern) => ToolReference::Matching(pattern.clone()),
        };
        self.names.push(Mention { name, span });
    }

    pub(super) fn ruleset(&mut self) {
        let Some(ruleset) = &self.draft.ruleset else { return };
        for tool in &ruleset.tools {
            self.exact(&tool.name, tool.span);
        }
        for rule in ruleset.rules.iter().filter(|rule| rule.enabled) {
            for glob in &rule.tools {
                self.glob(glob, rule.span, rule.id_span);
            }
            if let RuleKind::Session(limits) = &rule.kind {
                for (tool, _) in &limits.max_calls_per_tool {
                    self.glob(&ToolGlob::new(tool.as_str()), rule.span, rule.id_span);
                }
            }
        }
    }

    pub(super) fn workflow(&mut self) {
        let Some(workflow) = &self.draft.workflow else { return };
        let end = self.draft.source.text().len();
        for stage in &workflow.stages {
            // A stage says where its id is, and its tools come after that or before the next one.
            let part = Span::new(stage.span.start, end);
            for glob in stage.tools.iter().flatten() {
                self.glob(glob, part, stage.span);
            }
            self.results(stage);
        }
    }

    fn results(&mut self, stage: &Stage) {
        for requirement in stage.entry.iter().chain(&stage.exit) {
            if let Condition::ResultMatches { tool, .. } = &requirement.condition {
                self.exact(tool, self.place(requirement.span, tool, requirement.span));
            }
        }
    }

    fn glob(&mut self, glob: &ToolGlob, part: Span, otherwise: Span) {
        let span = self.place(part, glob.text(), otherwise);
        let name = match glob.exact() {
            Some(name) => ToolReference::Exact(name),
            None => ToolReference::Glob(glob.clone()),
        };
        self.names.push(Mention { name, span });
    }

    fn place(&self, part: Span, name: &str, otherwise: Span) -> Span {
        self.draft.source.span_of_word(part, name).unwrap_or(otherwise)
    }
}
