//! What is wrong with a policy as a whole, in the words of its author.

mod dead;
mod lost;
mod proving;
mod redundant;

use std::collections::BTreeSet;

use lockgate_petri::prove::Label;
use lockgate_policy::Policy;
use proving::{Proving, names};

use super::{
    claims::{ClaimReport, decide},
    compose::{Composed, LeftOut, ProofModel, ProofModels},
    labels::Labels,
};

pub use proving::ProofFinding;

/// All that was proved about a policy.
#[derive(Debug)]
pub struct Proof {
    /// What its author should know.
    pub findings: Vec<ProofFinding>,
    /// What became of its claims, in file order.
    pub claims: Vec<ClaimReport>,
    /// Groups of rules that have nothing to do with each other.
    pub components: usize,
    /// What the proof does not look at.
    pub left_out: Vec<LeftOut>,
    /// Questions that were not decided, beside claims.
    pub undecided: Vec<String>,
}

/// Proves what there is to prove about a policy.
pub fn prove(policy: &Policy) -> Proof {
    let (labels, late_labels) = Labels::both(&[policy]);
    let composed = Composed::of(&labels, 0, policy);
    let late_composed = late_labels.as_ref().map(|late| Composed::of(late, 0, policy)).transpose();
    let (composed, late_composed) = match (composed, late_composed) {
        (Ok(composed), Ok(late)) => (composed, late),
        (Err(error), _) | (_, Err(error)) => {
            let (findings, claims, left_out) = (Vec::new(), Vec::new(), Vec::new());
            return Proof { findings, claims, components: 0, left_out, undecided: vec![error.to_string()] };
        }
    };
    let late = late_labels.as_ref().zip(late_composed.as_ref());
    let late = late.map(|(labels, composed)| ProofModel::new(labels, composed));
    let both = ProofModels { plain: ProofModel::new(&labels, &composed), late };
    let mut proving = Proving {
        policy,
        both: &both,
        composed: &composed,
        names: names(policy, &labels),
        findings: Vec::new(),
        undecided: Vec::new(),
    };
    let dead = proving.dead();
    proving.cycles(&dead);
    proving.dead_tools(&dead);
    let dead: BTreeSet<Label> =
        dead.iter().flat_map(|it| proving.calls(&it.named).iter().collect::<Vec<_>>()).collect();
    proving.unreachable_approvals(&dead);
    proving.redundant(&dead);
    proving.redundant_conditions(&dead);
    proving.lost(&dead);
    proving.stuck(&dead);
    let Proving { mut findings, mut undecided, .. } = proving;
    for tool in &composed.cut {
        undecided.push(format!("`{tool}` can be seen in more ways than can be looked at"));
    }
    let claims = decide(policy, &both);
    findings.sort_by_key(|finding| finding.rules.first().copied());
    let components = composed.components();
    Proof { findings, components, undecided, claims, left_out: composed.left_out.clone() }
}
