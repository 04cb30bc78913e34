//! From what rulesets say to what the gate asks: clauses, counters, sandboxes and rules on results.
//!
//! Everything is read and joined by now; only a sandbox whose boundaries mean nothing is still a mistake. No rule
//! of a ruleset opens anything, so every doubt counts against the call.

use std::sync::Arc;

use lockgate_pattern::Pattern;
use lockgate_policy::{
    Builder, Decision, Diagnostic, FoundBy, Head, HitAction, OutputRule, OutputSearch, Rule, Sandbox,
    ToolName, Tools,
    clause::{Clause, Rank, RankKind, Timeout},
    condition::{Attribute, Condition, Operator, Subject, Test, ValueTest},
};

use crate::draft::ruleset::{
    Action, DraftRulesetRule, Limits, RuleKind, Ruleset, SideEffect, TimeoutAction, ToolGlob,
};

/// Adds the rules of a ruleset to a policy.
pub(crate) fn lower(mut ruleset: Ruleset, policy: &mut Builder, mistakes: &mut Vec<Diagnostic>) {
    for tool in &ruleset.tools {
        if tool.side_effect.has_acted() {
            policy.acting(&tool.name);
        }
        if tool.side_effect == SideEffect::Read {
            policy.reader(&tool.name);
        }
    }
    let rules = std::mem::take(&mut ruleset.rules);
    let mut lowering = Lowering { ruleset: &ruleset, policy, mistakes };
    rules.into_iter().filter(|rule| rule.enabled).for_each(|rule| lowering.rule(rule));
}

struct Lowering<'a> {
    ruleset: &'a Ruleset,
    policy: &'a mut Builder,
    mistakes: &'a mut Vec<Diagnostic>,
}

impl Lowering<'_> {
    fn rule(&mut self, mut draft: DraftRulesetRule) {
        self.note_variables(&draft);
        let tools = tools(&draft.tools);
        match std::mem::replace(&mut draft.kind, RuleKind::Session(Limits::default())) {
            RuleKind::Pre { mut when } => {
                self.name_effects(&mut when);
                self.clause(draft, vec![when], &tools);
            }
            RuleKind::Post { when } => {
                let on_hit = match draft.action {
                    Action::Warn | Action::Ask => HitAction::Warn,
                    Action::Redact => replacing(&when.output_patterns()),
                    Action::Block => HitAction::Withhold,
                };
                let rule = self.head(&draft);
                let output = OutputRule {
                    rule,
                    looks_for: OutputSearch::Condition(Box::new(when)),
                    on_hit,
                    spares_what_acted: true,
                    sentence: draft.message.text().to_owned(),
                    template: Some(draft.message),
                    tags: draft.tags,
                    severity: None,
                };
                self.policy.output(output, &tools);
            }
            RuleKind::Session(limits) => self.limits(&draft, &limits),
            RuleKind::Sandbox(boundaries) => match Sandbox::new(boundaries) {
                Ok(sandbox) => {
                    self.clause(draft, vec![Condition::Outside(Box::new(sandbox))], &tools);
                }
                Err(error) => {
                    let message = format!("sandbox `{}`: {error}", draft.id);
                    let mistake = Diagnostic::error("bad-boundary", &draft.source, draft.id_span, message);
                    self.mistakes.push(mistake.remedy("write what the boundary is meant to be"));
                }
            },
        }
    }

    /// Tells the policy which effects an expression speaks of, and the expression whose they are.
    fn name_effects(&mut self, when: &mut Condition) {
        match when {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter_mut().for_each(|part| self.name_effects(part));
            }
            Condition::Not(part) => self.name_effects(part),
            Condition::Deed { file, names } => {
                *file = self.policy.next_file();
                names.iter().for_each(|name| self.policy.action(name));
            }
            _ => {}
        }
    }

    /// Each limit is a clause of its own under the rule's name. What it says does not depend on the call.
    fn limits(&mut self, draft: &DraftRulesetRule, limits: &Limits) {
        let reached = |of: Attribute, most: u64| {
            Condition::value(Subject::Session(of), Test::text(Operator::AtLeast(most.into())))
        };
        let whole = [(Attribute::Attempts, limits.max_attempts), (Attribute::Calls, limits.max_tool_calls)];
        for (of, most) in whole {
            if let Some(most) = most {
                self.clause_of_session(draft, vec![reached(of, most.get())], &Tools::Every);
            }
        }
        for (name, most) in &limits.max_calls_per_tool {
            let counter: Arc<str> = Arc::from(name.as_str());
            let tools = tools(&[ToolGlob::new(name.as_str())]);
            self.policy.count(&tools, &counter);
            let conditions = vec![reached(Attribute::CallsOf(counter), most.get())];
            self.clause_of_session(draft, conditions, &tools);
        }
    }

    fn clause_of_session(&mut self, draft: &DraftRulesetRule, conditions: Vec<Condition>, tools: &Tools) {
        let clause = Clause { template: None, ..self.clause_of(draft.clone(), conditions) };
        self.policy.clause(clause, FoundBy::Tools(tools));
    }

    fn clause(&mut self, draft: DraftRulesetRule, conditions: Vec<Condition>, tools: &Tools) {
        let clause = self.clause_of(draft, conditions);
        self.policy.clause(clause, FoundBy::Tools(tools));
    }

    fn clause_of(&mut self, draft: DraftRulesetRule, conditions: Vec<Condition>) -> Clause {
        let rule = self.head(&draft);
        let kind = match conditions.first() {
            Some(Condition::Outside(_)) => RankKind::Sandbox,
            Some(Condition::Value(ValueTest { subject: Subject::Session(_), .. })) => RankKind::Session,
            _ => RankKind::Check,
        };
        let wants = if draft.action == Action::Ask { Decision::Ask } else { Decision::Block };
        let sentence = draft.message.text().to_owned();
        Clause {
            conditions,
            rank: Rank { kind, ..Rank::default() },
            template: Some(draft.message),
            timeout: Some(Timeout {
                ms: draft.timeout_ms,
                allows: draft.timeout_action == TimeoutAction::Allow,
            }),
            tags: draft.tags,
            metadata: draft.metadata,
            tools: draft.tools.iter().filter_map(ToolGlob::exact).collect(),
            ..Clause::new(rule, wants, sentence)
        }
    }

    fn head(&mut self, draft: &DraftRulesetRule) -> Rule {
        let head = Head {
            name: draft.id.clone(),
            key: format!("ruleset {}", draft.id),
            span: draft.span,
            mode: self.ruleset.mode_of(draft),
        };
        self.policy.rule(head, &draft.source)
    }

    /// Which variables of the environment are looked at, so that a door can hand them to the gate.
    fn note_variables(&mut self, draft: &DraftRulesetRule) {
        let in_expression = draft.when().map(Condition::leaves).unwrap_or_default();
        let in_expression = in_expression.iter().map(|leaf| &leaf.value.subject);
        let in_message = draft.message.subjects();
        for subject in in_expression.chain(in_message) {
            if let Subject::Variable(name) = subject {
                self.policy.variable(name);
            }
        }
    }
}

/// The tools a list of globs means.
fn tools(globs: &[ToolGlob]) -> Tools {
    if globs.is_empty() || globs.iter().any(ToolGlob::is_every) {
        return Tools::Every;
    }
    let name = |glob: &ToolGlob| match glob.exact() {
        Some(name) => ToolName::Exact(name),
        // A glob always has an expression; should one be too large, every tool is meant rather than none.
        None => Pattern::python_full(&glob.expression())
            .map_or_else(|_| ToolName::Matching(Pattern::literal("")), ToolName::Matching),
    };
    Tools::Any(globs.iter().map(name).collect())
}

/// What replaces the matches of patterns; all of a result, where one of them only the backtracking engine can run.
fn replacing(patterns: &[&Pattern]) -> HitAction {
    let regexes = patterns.iter().map(|pattern| regex::Regex::new(pattern.linear_source()?).ok());
    HitAction::Replace(regexes.collect::<Option<Vec<_>>>().unwrap_or_default())
}
