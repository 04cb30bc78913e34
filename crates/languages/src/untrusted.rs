//! What counts of a policy file that no human has trusted: whatever restricts, and nothing else.
//!
//! [`restrict`] takes out of a draft, or turns into its strict form, everything that would open something: in the file's
//! own rules or in those of others. What does not certainly restrict is treated as widening. Each of these is reported as
//! [`Waiting`]. Two more are decided where they are used: an `allow` below the default verdict of the trusted files does
//! not count (when/then rules are lowered), and programs of conditions are not run (the gate asks for the file's layer).

use lockgate_policy::{Mode, Span, Waiting, clause::Standing, workflow::exec_conditions};

use crate::draft::{Draft, ruleset::TimeoutAction};

/// An `allow` (or the like) that would lift a stricter default of a trusted file.
pub(crate) const CREDIT: &str = "a rule that allows more than the default of the user's policy";

const OBSERVES: &str = "`observe`: rules that only watch";
const STANDS: &str = "`approval_strategy`: answers that stand for later calls";
const OPEN_TIMEOUT: &str = "`timeout_action: allow`: calls that run when no human answers";
const PATTERNS: &str = "`pii_patterns`: further kinds of sensitive data";
const TOOLS: &str = "`tools`: what tools are declared to do";
const EXEC: &str = "`exec`: programs that conditions run";

/// Leaves of an untrusted draft what restricts, and lists what waits: each kind once, at its first place.
pub(crate) fn restrict(draft: &mut Draft) -> Vec<Waiting> {
    let mut found: Vec<(Span, &'static str)> = Vec::new();
    for rule in draft.rules.iter_mut().filter(|rule| rule.mode == Mode::Observe) {
        rule.mode = Mode::Enforce;
        found.push((rule.span, OBSERVES));
    }
    for rule in draft.sentences.rules.iter_mut().filter(|rule| rule.mode == Mode::Observe) {
        rule.mode = Mode::Enforce;
        found.push((rule.span, OBSERVES));
    }
    restrict_when_then(draft, &mut found);
    restrict_ruleset(draft, &mut found);
    let stages = draft.workflow.iter().map(|workflow| workflow.stages.as_slice());
    found.extend(stages.flat_map(exec_conditions).map(|requirement| (requirement.span, EXEC)));
    let mut waiting: Vec<Waiting> = Vec::new();
    for (span, what) in found {
        if !waiting.iter().any(|known| known.what == what) {
            waiting.push(Waiting { source: draft.source.clone(), span, what });
        }
    }
    waiting
}

fn restrict_when_then(draft: &mut Draft, found: &mut Vec<(Span, &'static str)>) {
    let file = &mut draft.when_then;
    if file.mode == Mode::Observe {
        file.mode = Mode::Enforce;
        found.push((Span::default(), OBSERVES));
    }
    if file.approval_strategy.take().is_some_and(|standing| standing != Standing::Once) {
        found.push((Span::default(), STANDS));
    }
    if !std::mem::take(&mut file.patterns).is_empty() {
        // They are looked for everywhere, and a rule may ask for exactly the kinds that were seen.
        found.push((Span::default(), PATTERNS));
    }
    for rule in &mut file.rules {
        if rule.mode.take() == Some(Mode::Observe) {
            found.push((rule.span, OBSERVES));
        }
        if rule.approval_strategy.take().is_some_and(|standing| standing != Standing::Once) {
            found.push((rule.span, STANDS));
        }
    }
}

fn restrict_ruleset(draft: &mut Draft, found: &mut Vec<(Span, &'static str)>) {
    let Some(ruleset) = &mut draft.ruleset else { return };
    if ruleset.mode == Mode::Observe || ruleset.observe_alongside {
        found.push((ruleset.span, OBSERVES));
    }
    (ruleset.mode, ruleset.observe_alongside) = (Mode::Enforce, false);
    // A declaration may turn a refusal of another file into a warning, or a call into evidence for it.
    if let Some(tool) = std::mem::take(&mut ruleset.tools).first() {
        found.push((tool.span, TOOLS));
    }
    for rule in &mut ruleset.rules {
        if rule.mode.take() == Some(Mode::Observe) {
            found.push((rule.id_span, OBSERVES));
        }
        if rule.timeout_action == TimeoutAction::Allow {
            rule.timeout_action = TimeoutAction::Block;
            found.push((rule.id_span, OPEN_TIMEOUT));
        }
    }
}
