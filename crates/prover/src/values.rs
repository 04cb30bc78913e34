//! Claims over all values: what a policy with rules `for each` value can and cannot do.
//!
//! A rule for each value is one small net for each value, moved only by calls with that value; values are compared for
//! equality and in no other way. [`decide`] searches two systems. In the first, one value is tracked and *others* stand
//! for all else: no rule for each value binds them, so it does at least what any session does, and what it cannot do is
//! proved. The second has a few values of which each is bound; a session that breaks the claim there is played through the
//! judge with fresh texts. `docs/proof.md` says when a few values decide for all of them.
//!
//! Everything else that a policy says is left out, so more is possible here than at the gate, never less.

mod system;

use std::sync::Arc;

use lockgate_call::Call;
use lockgate_gate::Rulebook;
use lockgate_policy::Property;

use crate::{
    play::{CallEnd, Part, Rehearsal},
    proof::ClaimReport,
};
use system::{Act, Found, System};

/// The most values that a claim which counts is searched with.
const VALUES_MAX: u64 = 8;

/// The values that other claims are searched with.
const VALUES_FEW: u64 = 4;

/// Decides a claim that speaks of values, or that was left open beside rules for each value; none where values say nothing
/// about it.
pub(crate) fn decide(rulebook: &Rulebook, report: &ClaimReport) -> Option<(ClaimReport, Vec<Part>)> {
    let claim = &report.claim;
    let system = System::of(&rulebook.policy, claim)?;
    let answer = |holds: Option<bool>, undecided: Option<String>, session: Vec<Part>| {
        let rules = if holds == Some(true) { system.rules() } else { Vec::new() };
        let report = ClaimReport { holds, undecided, rules, session: Vec::new(), ..report.clone() };
        Some((report, session))
    };
    if system.search_others() == Found::Nothing {
        return answer(Some(true), None, Vec::new());
    }
    let most = match claim.property {
        Property::AtMost { count, .. } if claim.each.is_empty() => count.saturating_add(1).min(VALUES_MAX),
        _ => VALUES_FEW,
    };
    let mut why = None;
    for values in 1..=most {
        match system.search(values as usize, false) {
            Found::Nothing => {}
            Found::TooMuch => {
                why = Some(format!("there are more states than can be looked at with {values} values"));
                break;
            }
            Found::Session(acts) => match played(rulebook, &system, &acts) {
                Ok(session) => return answer(Some(false), None, session),
                Err(reason) => {
                    why = Some(format!("the session that was found is not let pass: {reason}"));
                    break;
                }
            },
        }
    }
    // Two values decide where rules for each value only wait for successes and count, and the claim does not count over values.
    let counts = matches!(claim.property, Property::AtMost { .. }) && claim.each.is_empty();
    let closing = system.closing();
    if why.is_none() && !counts && closing.is_none() && system.search(2, true) == Found::Nothing {
        return answer(Some(true), None, Vec::new());
    }
    let why = why.unwrap_or_else(|| match closing {
        Some(rule) => {
            format!("`{rule}` closes for good for each value, so more values may be needed than were tried")
        }
        None if counts => "it counts over all values, and some rule counts for each value".to_owned(),
        None => "results that come late may break it".to_owned(),
    });
    match claim.each.is_empty() {
        true => None,
        false => answer(None, Some(why), Vec::new()),
    }
}

/// Plays a session with fresh texts for its values.
fn played(rulebook: &Rulebook, system: &System<'_>, acts: &[Act]) -> Result<Vec<Part>, String> {
    let mut stage = Rehearsal::new(rulebook);
    let mut steps = Vec::new();
    for act in acts {
        let tool = system.tool(act.tool);
        let mut call = Call::new(stage.next_id().as_str(), tool);
        for key in system.keys() {
            call = call.with(key.as_str(), format!("{key}-{}", act.value + 1));
        }
        let (step, verdict) = stage.call(call, Arc::from(tool), Some(true), Some(act.succeeds));
        let passes = step.ended != CallEnd::Refused;
        steps.push(step);
        if !passes {
            return Err(verdict.reason);
        }
    }
    Ok(vec![Part { steps, times: 1 }])
}

/// Whether a policy has rules for each value.
pub(crate) fn has_rules(rulebook: &Rulebook) -> bool {
    rulebook.policy.clauses().iter().any(|clause| clause.per_value.is_some())
}
