//! Findings about workflows that load: conditions that ask nothing, expressions that match nothing.
//!
//! [`lint`] wants a file that was read without an error. It looks at one workflow alone.

use lockgate_pattern::Pattern;
use lockgate_policy::{
    Diagnostic, Span,
    workflow::{Check, Condition, Requirement, Stage},
};

use crate::draft::Draft;
use crate::draft::workflow::DraftWorkflow;
use crate::linter::Linter;

/// Everything worth telling about a workflow, in file order.
pub(crate) fn lint(draft: &Draft) -> Vec<Diagnostic> {
    let Some(workflow) = &draft.workflow else { return Vec::new() };
    let mut linter = Linter::new(draft);
    for (at, stage) in workflow.stages.iter().enumerate() {
        linter.stage(stage);
        if let Some(next) = workflow.stages.get(at + 1).filter(|_| never_ends(&workflow.stages, at)) {
            let message = format!("no call ends `{}`, so `{}` never begins", stage.id, next.id);
            let remedy = "say with `exit` or `approval` when it ends";
            linter.warning("endless-stage", stage.span, message, remedy);
        }
        stage.checks.iter().for_each(|check| linter.check(check));
        for requirement in &stage.entry {
            linter.requirement(workflow, at, requirement);
            if let (Condition::CommandNotMatches(_), true) = (&requirement.condition, at > 0) {
                let message =
                    format!("`{}` has run no command before it begins, so this always holds", stage.id);
                let remedy = "move the condition to the `exit` of the stage before";
                linter.warning("idle-condition", requirement.span, message, remedy);
            }
        }
        for requirement in &stage.exit {
            linter.requirement(workflow, at, requirement);
            if let (Condition::CommandNotMatches(_), true) = (&requirement.condition, stage.is_boundary()) {
                let message = format!("no command ever runs in `{}`, so this always holds", stage.id);
                let remedy = "move the condition to the `exit` of the stage before";
                linter.warning("idle-condition", requirement.span, message, remedy);
            }
        }
    }
    linter.finish()
}

impl Linter<'_> {
    fn stage(&mut self, stage: &Stage) {
        for glob in stage.tools.iter().flatten() {
            if glob.text().contains('{') || glob.text().trim() != glob.text() {
                let message = format!("the tool `{}` is taken letter by letter", glob.text());
                let remedy = "globs have `*`, `?` and `[…]`, and spaces count: name each tool";
                self.warning("odd-tool-name", stage.span, message, remedy);
            }
        }
        if !stage.is_terminal {
            return;
        }
        if stage.exit.is_empty() && (stage.tools.is_some() || !stage.checks.is_empty()) {
            let message =
                format!("the workflow is complete where `{}` begins: no tool is open in it", stage.id);
            let remedy = "give it an `exit`: its tools are open until that holds; or leave its tools out";
            self.warning("idle-tools", stage.span, message, remedy);
        }
        if !stage.exit.is_empty() && stage.tools.is_none() {
            let message = format!(
                "no tool is open in the terminal stage `{}`, whether its `exit` holds or not",
                stage.id
            );
            self.warning("idle-condition", stage.span, message, "give it `tools`, or leave `exit` out");
        }
        if stage.approval.is_some() {
            let message = format!("no human is asked at the end of `{}`: nothing comes after it", stage.id);
            let remedy = "move `approval` to the stage before";
            self.warning("idle-approval", stage.span, message, remedy);
        }
    }

    fn check(&mut self, check: &Check) {
        self.pattern(&check.pattern, check.span);
    }

    fn requirement(&mut self, workflow: &DraftWorkflow, at: usize, requirement: &Requirement) {
        let span = requirement.span;
        match &requirement.condition {
            Condition::CommandMatches(pattern) => {
                self.pattern(pattern, span);
                if !begins_at_start(&pattern.to_string()) && !pattern.is_impossible() {
                    let message = format!("`{pattern}` is shown only by a command that begins with it");
                    let remedy = "write `^` in front of it, so that readers see that too";
                    self.note("not-from-start", span, message, remedy);
                }
            }
            Condition::CommandNotMatches(pattern) => self.pattern(pattern, span),
            Condition::FileRead(path) if path.contains(['*', '?']) => {
                let message = format!("`{path}` is the name of one file, not a glob");
                self.warning("glob-as-name", span, message, "name each file in a condition of its own");
            }
            Condition::ResultMatches { tool, .. } if tool.contains(['*', '?']) => {
                let message = format!("`{tool}` is the name of one tool, not a glob");
                self.warning("glob-as-name", span, message, "name the tool whose result is meant");
            }
            Condition::ResultMatches { tool, .. } => {
                // What the first entry asks for may be called before anything is open.
                let is_asked_first = |stage: &Stage| {
                    stage.entry.iter().any(|first| matches!(&first.condition, Condition::ResultMatches { tool: asked, .. } if asked == tool))
                };
                let is_open = workflow.stages.iter().take(at + 1).any(|stage| stage.opens(tool))
                    || workflow.stages.first().is_some_and(is_asked_first);
                if !is_open {
                    let message =
                        format!("`{tool}` is open in no stage up to here, so it cannot have a result");
                    self.warning("idle-condition", span, message, "add it to the `tools` of a stage");
                }
            }
            Condition::StageComplete(_)
            | Condition::Approval(_)
            | Condition::FileRead(_)
            | Condition::Exec(_) => {}
        }
    }

    fn pattern(&mut self, pattern: &Pattern, span: Span) {
        if pattern.is_impossible() {
            let message = format!("no text matches `{pattern}`");
            self.warning("impossible-pattern", span, message, "look for a slip in the expression");
        } else if !pattern.is_linear() {
            let message =
                format!("`{pattern}` needs an engine that may give up; a text it gives up on opens nothing");
            let remedy = "write it without look-around and back-references if you can";
            self.note("not-linear", span, message, remedy);
        }
    }
}

/// Whether no call could end a stage: nothing marks its end, and it takes whatever would begin a later one.
fn never_ends(stages: &[Stage], at: usize) -> bool {
    let Some((stage, later)) = stages.get(at..).and_then(<[Stage]>::split_first) else { return false };
    let has_end = stage.approval.is_some() || !stage.exit.is_empty();
    let Some(next) = later.first().filter(|_| !has_end && !stage.is_terminal) else { return false };
    let Some(target) = later.iter().find(|later| !later.is_boundary()) else { return true };
    if stage.has_wildcard() && !target.is_terminal {
        return true;
    }
    // A call that a check forbids ends the stage only where the next one is there for just such commands.
    let claims = next.checks.iter().any(|check| !check.forbids);
    let may_refuse = stage.checks.iter().any(|check| !check.forbids || claims);
    let takes_tools = match (&stage.tools, &target.tools) {
        (None, _) => true,
        (Some(_), Some(tools)) => {
            !target.is_terminal && tools.iter().all(|it| it.exact().is_some_and(|tool| stage.opens(&tool)))
        }
        (Some(_), None) => false,
    };
    takes_tools && !may_refuse
}

/// Whether an expression says itself that it begins where the text does; flags may come first.
fn begins_at_start(expression: &str) -> bool {
    let bare = match expression.strip_prefix("(?").and_then(|rest| rest.split_once(')')) {
        Some((flags, rest)) if flags.chars().all(|flag| flag.is_ascii_alphabetic()) => rest,
        _ => expression,
    };
    bare.starts_with('^') || bare.starts_with("\\A")
}
