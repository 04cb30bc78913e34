//! What every rule says to a call: free, abstain, gated, blocked, wanted or not met.
//!
//! The judgement is the join of these; this is for people who want to see the parts. It looks at each rule by
//! itself and changes nothing.

use std::sync::Arc;

use lockgate_call::SeenCall;
use lockgate_policy::{
    Decision, Deed, Mode, NetRule, RuleId, Truth, View, Watch, Workflow, workflow::Outcome as Says,
};

use crate::{
    hearing::choose,
    rulebook::Rulebook,
    stages::Staged,
    state::{Session, Stand},
    verdict::{blocked_sentence, guessed_sentence, human_sentence, running_sentence, stage_sentence},
};

/// One net's view of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetView {
    /// The rule.
    pub rule: RuleId,
    /// The deed it looked at; the tool itself where it knows none.
    pub deed: Arc<str>,
    /// What it says.
    pub says: NetVerdict,
}

/// What a net says to a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetVerdict {
    /// It always lets this tool pass.
    Free,
    /// It does not know the deed, or is not active.
    Abstain,
    /// It lets the deed pass by this transition.
    Gated {
        /// The transition.
        transition: String,
        /// Whether a human has to agree, and why.
        human: Option<String>,
        /// When it fires.
        fires: Fires,
    },
    /// The call belongs to this stage of a workflow, perhaps after others have ended.
    Staged {
        /// The stage; empty for the call that crosses the last line.
        stage: Arc<str>,
    },
    /// It knows the deed and has no enabled transition for it.
    Blocked {
        /// Its sentence.
        reason: String,
    },
    /// All its facts hold, or no other rule covers the call: this is its verdict.
    Wants {
        /// What.
        decision: Decision,
        /// Its sentence.
        reason: String,
        /// Whether it cannot be told that they hold, which is enough to restrict.
        is_doubtful: bool,
    },
    /// It is about this tool, but a fact does not hold.
    Unmet {
        /// The first fact that does not, in words.
        fact: String,
        /// Whether it cannot be told, which is not enough to open something.
        is_doubtful: bool,
    },
}

/// When a transition fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fires {
    /// When the call is let pass.
    AtOnce,
    /// When the result says success.
    OnSuccess,
    /// Not at all: it is not certain that a success of the call is a success of the deed.
    Never,
}

/// What every net says to a call, in file order.
pub fn explain<'a>(rulebook: &Rulebook, stand: impl Into<Stand<'a>>, call: &SeenCall) -> Vec<NetView> {
    let policy = &rulebook.policy;
    let stand = stand.into();
    let session = stand.session;
    let mut views: Vec<NetView> = clause_views(rulebook, stand, call);
    views.extend(workflow_views(rulebook, stand, call));
    let groups = policy.deeds(call);
    let now = call.at.max(session.clock);
    let (around, memory) = (&rulebook.around, &stand);
    let seen = View { call, output: None, now, around, memory, deeds: Some(&groups) };
    for (audience, deeds) in &groups {
        for deed in deeds {
            for watch in policy.watches(*audience, deed) {
                if let (true, Some(rule)) = (session.is_active(watch.rule), policy.net(watch.rule)) {
                    if rule.is_eased() && watch.refuses && !rule.speaks_of(&seen) {
                        continue;
                    }
                    let says = view(session, rule, watch, deed);
                    views.push(NetView { rule: rule.id, deed: watch.name.clone(), says });
                }
            }
        }
    }
    let itself: Arc<str> = Arc::from(call.tool.as_str());
    for rule in policy.rules() {
        if !views.iter().any(|view| view.rule == rule.id) {
            views.push(NetView { rule: rule.id, deed: itself.clone(), says: NetVerdict::Abstain });
        }
    }
    views.sort_by_key(|view| view.rule);
    views
}

fn clause_views(rulebook: &Rulebook, stand: Stand<'_>, call: &SeenCall) -> Vec<NetView> {
    let policy = &rulebook.policy;
    let tool: Arc<str> = policy.name(&call.tool);
    let now = call.at.max(stand.session.clock);
    let groups = policy.deeds(call);
    let (around, memory) = (&rulebook.around, &stand);
    let view = View { call, output: None, now, around, memory, deeds: Some(&groups) };
    let mut is_spoken_of = false;
    let mut views = Vec::new();
    for clause in policy.clauses_about(&call.tool).filter(|clause| stand.session.is_active(clause.id)) {
        let truth = clause.truth(&view);
        let says = if clause.applies(truth) {
            is_spoken_of |= clause.mode == Mode::Enforce && clause.speaks(truth);
            let (decision, reason) = (clause.wants, clause.says(&view));
            NetVerdict::Wants { decision, reason, is_doubtful: truth == Truth::Doubt }
        } else {
            let unmet = clause.unmet(&view);
            NetVerdict::Unmet {
                fact: unmet.map(|(fact, _)| clause.words(fact)).unwrap_or_default(),
                is_doubtful: unmet.is_some_and(|(_, truth)| truth == Truth::Doubt),
            }
        };
        views.push(NetView { rule: clause.id, deed: tool.clone(), says });
    }
    if let (false, Some(clause)) = (is_spoken_of, policy.default_clause()) {
        let (decision, reason) = (clause.wants, clause.says(&view));
        let says = NetVerdict::Wants { decision, reason, is_doubtful: false };
        views.push(NetView { rule: clause.id, deed: tool, says });
    }
    views
}

fn workflow_views(rulebook: &Rulebook, stand: Stand<'_>, call: &SeenCall) -> Vec<NetView> {
    let policy = &rulebook.policy;
    let tool: Arc<str> = policy.name(&call.tool);
    let sight = policy.sight(call);
    let active = policy.workflows().iter().filter(|workflow| stand.session.is_active(workflow.id));
    let view = |workflow: &Workflow| {
        let wants = |decision, reason| NetVerdict::Wants { decision, reason, is_doubtful: false };
        let says = match Staged::consider(workflow, stand, call, &sight, false, true).says {
            Says::Accepted { stage } => NetVerdict::Staged { stage },
            Says::Blocked { stage, reason, .. } => {
                wants(Decision::Block, stage_sentence(workflow, &stage, &reason))
            }
            Says::Asks { stage, message } => wants(Decision::Ask, stage_sentence(workflow, &stage, &message)),
            Says::Runs(exec) => wants(Decision::Block, running_sentence(&exec.words)),
        };
        NetView { rule: workflow.id, deed: tool.clone(), says }
    };
    active.map(view).collect()
}

fn view(session: &Session, rule: &NetRule, watch: &Watch, deed: &Deed) -> NetVerdict {
    if watch.is_free {
        return NetVerdict::Free;
    }
    let marking = session.markings.get(&rule.id).unwrap_or_else(|| rule.net.start());
    let chosen = choose(rule, watch, deed, marking);
    if chosen.is_none() && watch.refuses {
        let reason = blocked_sentence(rule, &watch.name);
        let is_guessed = deed.basis.is_guess();
        let reason = if is_guessed { guessed_sentence(&watch.name, &reason) } else { reason };
        return NetVerdict::Blocked { reason };
    }
    // A credit that is open but not earned is worth showing: it is what the agent may have hoped for.
    let hoped_for = || watch.transitions.iter().copied().find(|it| rule.net.net().is_enabled(marking, *it));
    let Some(transition) = chosen.or_else(hoped_for) else { return NetVerdict::Abstain };
    let guard = rule.net.guard(transition);
    NetVerdict::Gated {
        transition: rule.net.net().transition_name(transition).to_owned(),
        human: guard.is_manual.then(|| human_sentence(rule, &watch.name)),
        fires: match (guard.is_deferred || guard.is_credit, deed.earns()) {
            (true, false) => Fires::Never,
            (true, true) if guard.is_deferred => Fires::OnSuccess,
            _ => Fires::AtOnce,
        },
    }
}
