//! Calls that tell two policies apart by what rules look at, played through the judge.
//!
//! [`Sampled::told_apart`] tries the calls that were made up for a changed rule in both policies, and keeps those
//! that the rule decides about in one of them. That nothing was found proves nothing. Nothing is tried here that the
//! prover has a session for.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    sync::Arc,
};

use lockgate_call::Call;
use lockgate_gate::{Rulebook, Verdict};
use lockgate_policy::{Decision, Policy, RuleId};

use crate::{
    play::{Part, Rehearsal, Step, runs_of},
    proof::{Approach, Change, Run, Sample, Sampler, Side, merged},
    shown::{DifferenceKind, ShownDifference},
};

/// How many rules of the same name are looked at beside a changed one.
const BESIDE_MAX: usize = 16;

/// How many samples of a rule are tried again behind the calls that another rule asks for.
const APPROACHED_MAX: usize = 32;

/// How many calls like the one that was meant are tried.
const ALIKE_MAX: usize = 64;

/// Two policies, and which of their rules have changed.
pub(crate) struct Sampled<'a> {
    old: &'a Rulebook,
    new: &'a Rulebook,
    samplers: [Sampler<'a>; 2],
    changed: BTreeMap<&'a str, Vec<(Side, RuleId)>>,
    approach: OnceCell<Option<Approach>>,
    ways: RefCell<BTreeMap<String, Option<Vec<Run>>>>,
}

/// What both decide about the last call of a sample, or the first one they decide differently about.
struct Pair {
    parts: Vec<Part>,
    tool: Arc<str>,
    was: Verdict,
    is: Verdict,
}

impl<'a> Sampled<'a> {
    pub(crate) fn new(old: &'a Rulebook, new: &'a Rulebook, changes: &[Change]) -> Self {
        let mut changed: BTreeMap<&str, Vec<(Side, RuleId)>> = BTreeMap::new();
        for Change { stricter: side, rule, .. } in changes {
            let policy = if *side == Side::Old { &old.policy } else { &new.policy };
            if let Some(found) = policy.rule(*rule) {
                changed.entry(found.name.as_str()).or_default().push((*side, *rule));
            }
        }
        let samplers = [Sampler::new(&old.policy), Sampler::new(&new.policy)];
        Self { old, new, samplers, changed, approach: OnceCell::new(), ways: RefCell::default() }
    }

    fn rulebook(&self, side: Side) -> &'a Rulebook {
        if side == Side::Old { self.old } else { self.new }
    }

    fn sampler(&self, side: Side) -> &Sampler<'a> {
        let [old, new] = &self.samplers;
        if side == Side::Old { old } else { new }
    }

    /// What a changed rule decides otherwise, one session of each kind.
    pub(crate) fn told_apart(&self, change: &Change) -> Vec<ShownDifference> {
        let samples = self.samples(change);
        let mut shown: Vec<ShownDifference> = Vec::new();
        for sample in &samples {
            let pair = self.play(sample);
            keep(&mut shown, pair.and_then(|pair| self.shown(change, pair)));
        }
        if shown.is_empty() {
            // Another rule may decide about these calls in any case, and not about others like them.
            for sample in samples.iter().take(APPROACHED_MAX) {
                for sample in self.approached(sample).into_iter().chain(self.alike(sample)) {
                    let pair = self.play(&sample);
                    keep(&mut shown, pair.and_then(|pair| self.shown(change, pair)));
                }
            }
        }
        shown
    }

    /// What a rule closes that other rules let pass only for some calls: the session that was found for it, with
    /// calls like its own.
    pub(crate) fn opened(&self, change: &Change) -> Vec<ShownDifference> {
        let mut shown = Vec::new();
        let policies: [&Policy; 2] = [&self.old.policy, &self.new.policy];
        let runs = change.session.as_ref().and_then(|session| runs_of(session, &policies));
        let Some(runs) = runs else { return shown };
        for sample in self.alike(&Sample::of(runs)) {
            let pair = self.play(&sample);
            keep(&mut shown, pair.and_then(|pair| self.shown(change, pair)));
        }
        shown
    }

    fn samples(&self, change: &Change) -> Vec<Sample> {
        let rulebook = self.rulebook(change.stricter);
        let name = rulebook.policy.rule(change.rule).map_or("", |rule| rule.name.as_str());
        let beside = self.changed.get(name).into_iter().flatten();
        let beside = beside.filter(|it| **it != (change.stricter, change.rule)).take(BESIDE_MAX);
        let beside: Vec<_> = beside.map(|(side, rule)| (self.sampler(*side), *rule)).collect();
        self.sampler(change.stricter).samples_of(change.rule, &beside, &rulebook.around.zone)
    }

    /// Plays a sample in both, up to the first call they decide differently about.
    fn play(&self, sample: &Sample) -> Option<Pair> {
        let stage = |rulebook| Rehearsal::starting(rulebook, sample.start, sample.attributes.clone());
        let (mut old, mut new) = (stage(self.old), stage(self.new));
        let (mut parts, mut last) = (Vec::new(), None);
        for run in &sample.runs {
            old.wait(run.wait_ms);
            new.wait(run.wait_ms);
            let mut first: Option<(Step, u64)> = None;
            for time in 0..run.times {
                let call = Call { id: old.next_id(), ..run.call.clone() };
                let deed: Arc<str> = Arc::from(call.tool.as_str());
                let (_, was) = old.call_now(call.clone(), deed.clone(), Some(true), run.output.clone());
                let (step, is) = new.call_now(call, deed.clone(), Some(true), run.output.clone());
                let differs = was.decision != is.decision;
                // A session holds what was let pass.
                if !differs && was.decision == Decision::Block {
                    return None;
                }
                last = Some((was, is, deed));
                let waited_ms = if time == 0 { run.wait_ms } else { 0 };
                let step = Step { waited_ms, ..step };
                if differs {
                    parts.extend(first.map(|(step, times)| Part { steps: vec![step], times }));
                    parts.push(Part { steps: vec![step], times: 1 });
                    return last.map(|(was, is, tool)| Pair { parts, tool, was, is });
                }
                first = Some(first.map_or((step, 1), |(step, times)| (step, times + 1)));
            }
            parts.extend(first.map(|(step, times)| Part { steps: vec![step], times }));
        }
        last.map(|(was, is, tool)| Pair { parts, tool, was, is })
    }

    /// What a pair shows, if it is the changed rule that decides.
    fn shown(&self, change: &Change, pair: Pair) -> Option<ShownDifference> {
        let Pair { parts, tool, was, is } = pair;
        let kind = DifferenceKind::of(was.decision, is.decision)?;
        let (stricter, verdict) =
            if was.decision > is.decision { (Side::Old, &was) } else { (Side::New, &is) };
        let decides = if stricter == change.stricter {
            self.closes(change, verdict)
        } else {
            self.opens(change, verdict, stricter)
        };
        let is_shortest = parts.len() == 1;
        decides.then(|| ShownDifference {
            kind,
            tool,
            stricter: change.stricter,
            rule: change.rule,
            old: was.decision,
            new: is.decision,
            reason: verdict.reason.clone(),
            session: parts,
            is_shortest,
        })
    }

    /// Whether a rule is among those that decide.
    fn closes(&self, change: &Change, verdict: &Verdict) -> bool {
        let rule = self.rulebook(change.stricter).policy.rule(change.rule);
        let strictest = verdict.obstacles.iter().filter(|it| it.decision == verdict.decision);
        // Several limits of one rule that say the same are reported as one obstacle.
        rule.is_some_and(|rule| {
            let is_it = |name: &str, line| name == rule.name && line == rule.place.line;
            strictest.into_iter().any(|it| it.rule == Some(rule.id) || is_it(&it.name, it.line))
        })
    }

    /// Whether a rule opens in its own policy what the default of the other one closes.
    fn opens(&self, change: &Change, verdict: &Verdict, stricter: Side) -> bool {
        let opener = self.rulebook(change.stricter).policy.clause(change.rule);
        let default = self.rulebook(stricter).policy.default_clause();
        opener.zip(default).is_some_and(|(opener, default)| {
            opener.is_credit && verdict.obstacles.iter().any(|it| it.rule == Some(default.id))
        })
    }

    /// The same session with other calls of its last tool: with one value more that some rule looks at.
    fn alike(&self, sample: &Sample) -> Vec<Sample> {
        let Some(tool) = sample.runs.last().map(|run| run.call.tool.clone()) else { return Vec::new() };
        let mut calls: Vec<Call> = self.samplers.iter().flat_map(|sampler| sampler.calls_of(&tool)).collect();
        calls.truncate(ALIKE_MAX);
        let with = |other: &Call| {
            let runs = sample.runs.iter().map(|run| match run.call.tool == tool {
                true => Run { call: merged(&run.call, other), ..run.clone() },
                false => run.clone(),
            });
            Sample { runs: runs.collect(), ..sample.clone() }
        };
        calls.iter().map(with).collect()
    }

    /// A sample behind the calls that other rules of both policies ask for.
    fn approached(&self, sample: &Sample) -> Option<Sample> {
        let last = sample.runs.last()?;
        let tool = last.call.tool.clone();
        let mut ways = self.ways.borrow_mut();
        let way = ways.entry(tool).or_insert_with_key(|tool| {
            let policies: [&Policy; 2] = [&self.old.policy, &self.new.policy];
            let approach =
                self.approach.get_or_init(|| Approach::new(&self.old.policy, &self.new.policy).ok());
            let played = approach.as_ref()?.to(tool)?;
            runs_of(&played, &policies).filter(|runs| !runs.is_empty())
        });
        let (_, before) = sample.runs.split_last()?;
        let runs = before.iter().chain(way.as_ref()?).chain([last]).cloned().collect();
        Some(Sample { runs, ..sample.clone() })
    }
}

/// One of each kind is enough, and the shorter one is the better.
fn keep(shown: &mut Vec<ShownDifference>, found: Option<ShownDifference>) {
    let Some(found) = found else { return };
    match shown.iter_mut().find(|it| it.kind == found.kind) {
        Some(known) if known.session.len() > found.session.len() => *known = found,
        Some(_) => {}
        None => shown.push(found),
    }
}
