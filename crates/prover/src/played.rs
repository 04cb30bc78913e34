//! Proofs that were seen: every session the prover shows is played through the judge before it is reported.
//!
//! The prover knows at least what sessions can do, and not always the texts that do it. So a session it finds may
//! still be refused; one that is, proves nothing, and its question counts as not decided. The examples of the policy
//! are played here, too.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

use lockgate_call::Call;
use lockgate_gate::{Outcome, Rulebook};
use lockgate_petri::prove::TooManyRules;
use lockgate_policy::{Diagnostic, Example, ExampleStep, Policy, Property, RuleId, Severity};

use crate::{
    play::{CallEnd, Inputs, Part, PlayedSession, Rehearsal, play},
    proof::{self, Calls, Change, ClaimReport, LeftOut, Played, Proof, Side},
    sampled::Sampled,
    shown::{DifferenceKind, ShownDifference},
    values,
};

/// All that was proved about a policy, and seen.
#[derive(Debug)]
pub struct Proved {
    /// What its author should know.
    pub findings: Vec<Finding>,
    /// What became of its claims, in file order.
    pub claims: Vec<ProvedClaim>,
    /// How many of its examples were played.
    pub examples: usize,
    /// Groups of rules that have nothing to do with each other.
    pub components: usize,
    /// What the proof does not look at.
    pub left_out: Vec<LeftOut>,
    /// What was not decided, beside claims.
    pub undecided: Vec<String>,
}

/// Something about the policy as a whole.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The message and its place.
    pub diagnostic: Diagnostic,
    /// The rules it rests on, the first one first.
    pub rules: Vec<RuleId>,
    /// The tools it is about.
    pub tools: Vec<Arc<str>>,
    /// The session that shows it, as it was played; empty where none does.
    pub session: Arc<[Part]>,
}

/// What became of a claim.
#[derive(Clone, Debug)]
pub struct ProvedClaim {
    /// What the prover says, as far as it was seen.
    pub report: ClaimReport,
    /// The session that shows it, as it was played; empty where none does.
    pub session: Arc<[Part]>,
}

impl Proved {
    /// Whether what it says holds to the letter: every rule was looked at whole, and every question decided.
    pub fn is_exact(&self) -> bool {
        self.left_out.is_empty()
            && self.undecided.is_empty()
            && self.claims.iter().all(|it| it.report.holds.is_some())
    }
}

/// Proves what there is to prove about a policy, and plays what it shows.
pub fn prove(rulebook: &Rulebook) -> Proved {
    let policy = &*rulebook.policy;
    let Proof { findings, claims, components, left_out, mut undecided } = proof::prove(policy);
    let mut kept = Vec::new();
    // One session may show many findings.
    let mut played: HashMap<Vec<Played>, Option<Arc<[Part]>>> = HashMap::new();
    for proof::ProofFinding { diagnostic, rules, tools, trace } in findings {
        let session = match trace {
            trace if trace.is_empty() => Some(Arc::default()),
            trace => match played.entry(trace) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => {
                    let seen = play(rulebook, new.key(), &[policy], Inputs::Passing);
                    new.insert(seen.filter(|seen| seen.passes).map(|seen| seen.parts.into())).clone()
                }
            },
        };
        let Some(session) = session else {
            undecided.push(format!("{} (no call was found that shows it)", diagnostic.message));
            continue;
        };
        kept.push(Finding { diagnostic, rules, tools, session });
    }
    let calls = Calls::new(policy);
    for example in policy.examples() {
        kept.extend(broken(rulebook, &calls, example));
    }
    let has_values = values::has_rules(rulebook);
    let with_values = |claim: ProvedClaim| match claim.report.holds {
        None if has_values || !claim.report.claim.each.is_empty() => {
            let decided = values::decide(rulebook, &claim.report);
            decided.map_or(claim, |(report, session)| ProvedClaim { report, session: session.into() })
        }
        _ => claim,
    };
    let claims: Vec<ProvedClaim> =
        claims.into_iter().map(|report| with_values(seen(rulebook, report))).collect();
    kept.extend(claims.iter().filter(|claim| claim.report.holds == Some(false)).map(refuted));
    Proved { findings: kept, claims, examples: policy.examples().len(), components, left_out, undecided }
}

/// What a session shows counts as far as it was seen.
fn seen(rulebook: &Rulebook, mut report: ClaimReport) -> ProvedClaim {
    if report.session.is_empty() {
        return ProvedClaim { report, session: Arc::default() };
    }
    let asks_nobody = |seen: &PlayedSession| seen.last().is_some_and(|step| step.granted.is_none());
    let breaks = |seen: &PlayedSession| proof::shows(&rulebook.policy, &report.claim, &seen.moments());
    let shows = |seen: &PlayedSession| match report.claim.property {
        Property::HumanBefore(_) => seen.passes && breaks(seen) && asks_nobody(seen),
        _ => seen.passes && breaks(seen),
    };
    let inputs = match report.claim.property {
        Property::HumanBefore(_) => Inputs::Unasked,
        _ => Inputs::Passing,
    };
    match play(rulebook, &report.session, &[&*rulebook.policy], inputs) {
        Some(seen) if shows(&seen) => ProvedClaim { report, session: seen.parts.into() },
        Some(seen) => {
            report.holds = None;
            report.undecided = Some(match seen.passes {
                true => "the session that was found does not show it".to_owned(),
                false => format!("the session that was found is not let pass: {}", seen.verdict.reason),
            });
            ProvedClaim { report, session: Arc::default() }
        }
        None => {
            report.holds = None;
            report.undecided = Some("no calls were found that make up the session".to_owned());
            ProvedClaim { report, session: Arc::default() }
        }
    }
}

fn refuted(claim: &ProvedClaim) -> Finding {
    let (source, span) = (&claim.report.claim.source, claim.report.claim.span);
    let said = source.slice(span);
    let message = match &*claim.session {
        [] => format!("the claim `{said}` does not hold: no session does that"),
        _ => format!("the claim `{said}` does not hold: this session breaks it"),
    };
    let diagnostic = Diagnostic::error("broken-claim", source, span, message)
        .remedy("change the rules so that it holds, or take the claim out");
    let rules = claim.report.rules.clone();
    Finding { diagnostic, rules, tools: Vec::new(), session: claim.session.clone() }
}

/// An example whose last call is decided otherwise, or which cannot be played.
fn broken(rulebook: &Rulebook, calls: &Calls<'_>, example: &Example) -> Option<Finding> {
    let mut stage = Rehearsal::hurried(rulebook);
    let mut steps = Vec::new();
    for (index, step) in example.steps.iter().enumerate() {
        let step = match step {
            ExampleStep::Call(call) => call,
            ExampleStep::UserSays(text) => {
                stage.hear(text);
                continue;
            }
            ExampleStep::Wait(ms) => {
                stage.wait(*ms);
                continue;
            }
        };
        let find = |message: String, remedy: &str, rules: Vec<RuleId>, session: Vec<Part>| {
            let diagnostic = Diagnostic {
                severity: Severity::Error,
                ..Diagnostic::error("broken-example", &example.source, example.span, message)
            };
            Finding {
                diagnostic: diagnostic.remedy(remedy),
                rules,
                tools: Vec::new(),
                session: session.into(),
            }
        };
        let id = stage.next_id();
        let named = match &step.input {
            // Said with an input, the name is that of the tool.
            Some(input) => Some(Call { input: input.clone(), ..Call::new(id.as_str(), step.call.as_str()) }),
            None => calls.named(&step.call, &example.source, &id),
        };
        let Some(call) = named else {
            let message =
                format!("no call is known that is a `{}`, so this example cannot be played", step.call);
            return Some(find(
                message,
                "name a tool, or map a command that can be made up",
                Vec::new(),
                Vec::new(),
            ));
        };
        let is_last = index + 1 == example.steps.len();
        let granted = if is_last { step.granted } else { Some(step.granted.unwrap_or(true)) };
        let end = Outcome { ok: step.ok.unwrap_or(true), output: step.output.clone(), ..Outcome::default() };
        let (played, verdict) = stage.call_ending(call, Arc::from(step.call.as_str()), granted, end);
        let is_refused = played.ended == CallEnd::Refused;
        steps.push(played);
        let rules = || verdict.obstacles.iter().filter_map(|obstacle| obstacle.rule).collect();
        // A refusal on the way is nothing the author spoke of, unless a human was to refuse.
        if is_refused && !is_last && step.granted != Some(false) {
            let message = format!("this example does not get past `{}`: {}", step.call, verdict.reason);
            let session = vec![Part { steps, times: 1 }];
            return Some(find(message, "change the rules, or the example", rules(), session));
        }
        if is_last && verdict.decision != example.verdict {
            let (is, said) = (verdict.decision.word(), example.verdict.word());
            let message = match verdict.reason.as_str() {
                "" => format!("this example ends with {is}, not {said}"),
                reason => format!("this example ends with {is}, not {said}: {reason}"),
            };
            let session = vec![Part { steps, times: 1 }];
            let remedy = "change the rules, or say what the example really ends with";
            return Some(find(message, remedy, rules(), session));
        }
    }
    None
}

/// What two policies let happen differently, as it was seen.
#[derive(Debug)]
pub struct Differences {
    /// One session for each way they differ in, the shortest ones first.
    pub shown: Vec<ShownDifference>,
    /// Rules of which it was not decided whether they make a difference.
    pub undecided: Vec<Undecided>,
}

/// A rule of which it was not decided whether it makes a difference.
#[derive(Clone, Debug)]
pub struct Undecided {
    /// The policy it is of.
    pub side: Side,
    /// The rule.
    pub rule: RuleId,
    /// The names it may make a difference for.
    pub tools: Vec<Arc<str>>,
    /// Why.
    pub why: String,
    /// Whether some difference was shown that it makes, and there may be others.
    pub is_shown: bool,
}

impl Differences {
    /// Whether it is proved that no session tells them apart.
    pub fn is_none(&self) -> bool {
        self.shown.is_empty() && self.undecided.is_empty()
    }
}

/// Compares two policies, and plays what tells them apart.
///
/// # Errors
/// When there are more rules than the prover takes.
pub fn diff(old: &Rulebook, new: &Rulebook) -> Result<Differences, TooManyRules> {
    let proof::Difference { changes, cut } = proof::diff(&old.policy, &new.policy)?;
    let (mut shown, mut undecided) = (Vec::new(), Vec::new());
    let (played, looked): (Vec<Change>, Vec<Change>) =
        changes.into_iter().partition(|change| change.session.is_some());
    let mut told = BTreeSet::new();
    let sampled = Sampled::new(old, new, &looked);
    for change in &played {
        let found = told_apart(old, new, change).map_or_else(|| sampled.opened(change), |found| vec![found]);
        if found.is_empty() {
            undecided.push(doubt(change, "no calls were found that make up the session"));
        }
        let mut is_new = |it: &ShownDifference| told.insert((it.kind, it.tool.clone(), it.stricter, it.rule));
        shown.extend(found.into_iter().filter(|it| is_new(it)));
    }
    for change in &looked {
        let found = sampled.told_apart(change);
        // That one difference was seen does not mean that there is no other.
        undecided.push(Undecided {
            is_shown: !found.is_empty(),
            ..doubt(change, change.undecided.as_deref().unwrap_or_default())
        });
        // What a session of the prover shows needs no second one.
        let is_new = |it: &ShownDifference| {
            !shown.iter().any(|seen: &ShownDifference| {
                (seen.kind, seen.stricter, seen.rule) == (it.kind, it.stricter, it.rule)
            })
        };
        let found: Vec<ShownDifference> = found.into_iter().filter(is_new).collect();
        shown.extend(found);
    }
    only_doubts(old, new, &shown, &mut undecided);
    if let (Some(tool), Some(rule)) = (cut.first(), new.policy.rules().next()) {
        let why = format!("`{tool}` can be seen in more ways than can be looked at");
        undecided.push(Undecided {
            side: Side::New,
            rule: rule.id,
            tools: cut.clone(),
            why,
            is_shown: false,
        });
    }
    let length = |it: &ShownDifference| {
        it.session.iter().map(|part| part.steps.len() as u64 * part.times).sum::<u64>()
    };
    shown.sort_by_key(|it| (it.kind, length(it)));
    Ok(Differences { shown, undecided })
}

fn doubt(change: &Change, why: &str) -> Undecided {
    let Change { stricter: side, rule, tools, .. } = change;
    Undecided { side: *side, rule: *rule, tools: tools.clone(), why: why.to_owned(), is_shown: false }
}

/// A rule that was seen to make a difference is doubted less, in the policy that is stricter and in the other one, where
/// it has the same name; and a rule that was edited needs one doubt, not two.
fn only_doubts(old: &Rulebook, new: &Rulebook, shown: &[ShownDifference], undecided: &mut Vec<Undecided>) {
    let name = |side: Side, rule: RuleId| {
        let rulebook = if side == Side::Old { old } else { new };
        rulebook.policy.rule(rule).map_or("", |rule| rule.name.as_str())
    };
    let mut seen: BTreeSet<(&str, Side, RuleId)> =
        shown.iter().map(|it| (name(it.stricter, it.rule), it.stricter, it.rule)).collect();
    // What a rule opens in one policy the default closes in the other.
    for it in shown {
        let (mine, other, side) =
            if it.stricter == Side::Old { (old, new, Side::New) } else { (new, old, Side::Old) };
        let is_credit = mine.policy.clause(it.rule).is_some_and(|clause| clause.is_credit);
        let default = other.policy.default_clause().filter(|_| is_credit);
        seen.extend(default.map(|default| (default.name.as_str(), side, default.id)));
    }
    let is_seen = |side: Side, rule: RuleId| {
        let mine = name(side, rule);
        seen.iter().any(|(name, of, it)| (*of, *it) == (side, rule) || *of != side && *name == mine)
    };
    for it in undecided.iter_mut() {
        it.is_shown |= is_seen(it.side, it.rule);
    }
    let in_new: Vec<&str> =
        undecided.iter().filter(|it| it.side == Side::New).map(|it| name(it.side, it.rule)).collect();
    let is_twin = |it: &Undecided| it.side == Side::Old && in_new.contains(&name(it.side, it.rule));
    undecided.retain(|it| !is_twin(it));
}

/// Plays the session of a change in both; none where it does not tell them apart.
fn told_apart(old: &Rulebook, new: &Rulebook, change: &Change) -> Option<ShownDifference> {
    let policies: [&Policy; 2] = [&old.policy, &new.policy];
    let session = change.session.as_ref()?;
    let play = |rulebook| play(rulebook, session, &policies, Inputs::Plain);
    let (before, after) = (play(old)?, play(new)?);
    let steps = |seen: &PlayedSession| {
        seen.parts.iter().map(|part| part.steps.len() as u64 * part.times).sum::<u64>()
    };
    if steps(&before) != steps(&after) || !is_at_once(&before, &after) {
        return None;
    }
    let (was, is) = (before.verdict.decision, after.verdict.decision);
    let kind = DifferenceKind::of(was, is)?;
    let (side, stricter) = if was > is { (Side::Old, &before) } else { (Side::New, &after) };
    // Where the other one is the stricter, another rule decides.
    if side != change.stricter {
        return None;
    }
    let tool = after.last().map(|step| step.deed.clone()).unwrap_or_default();
    Some(ShownDifference {
        kind,
        tool,
        stricter: change.stricter,
        rule: change.rule,
        old: was,
        new: is,
        reason: stricter.verdict.reason.clone(),
        session: after.parts,
        is_shortest: change.is_shortest,
    })
}

/// Whether two sessions wait alike. Where only one policy has to wait, they are not one session.
fn is_at_once(one: &PlayedSession, other: &PlayedSession) -> bool {
    fn waits(seen: &PlayedSession) -> impl Iterator<Item = u64> {
        let rounds = seen.parts.iter().flat_map(|part| (0..part.times).flat_map(|_| &part.steps));
        rounds.map(|step| step.waited_ms)
    }
    waits(one).eq(waits(other))
}
