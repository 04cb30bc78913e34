//! What becomes of the author's claims: proved over all sessions, or refuted by the shortest one.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use lockgate_call::Call;
use lockgate_petri::prove::{
    Answer, Component, Explored, Label, LabelSet, Prover, Reason, Rule as Form, Table,
};
use lockgate_policy::{Claim, Deed, FileId, Policy, Property, RuleId};

use super::{
    compose::{Composed, LeftOut, LeftOutReason, Played, ProofModel, ProofModels},
    labels::{Labels, LateResults},
    openers::is_open,
    ways::is_itself,
};

/// What became of a claim.
#[derive(Clone, Debug)]
pub struct ClaimReport {
    /// The claim.
    pub claim: Claim,
    /// Whether it holds; none where that was not decided.
    pub holds: Option<bool>,
    /// The session that shows it: one that breaks the claim, or for what is claimed to be possible, one that does it.
    pub session: Vec<Played>,
    /// Whether it is proved that no session that shows it is shorter.
    pub is_shortest: bool,
    /// The rules that suffice for it to hold, where no session shows it.
    pub rules: Vec<RuleId>,
    /// Why it was not decided.
    pub undecided: Option<String>,
}

/// Decides every claim of a policy.
pub(super) fn decide(policy: &Policy, both: &ProofModels<'_, '_>) -> Vec<ClaimReport> {
    let is_since =
        |(_, claim): &(FileId, &Claim)| matches!(claim.property, Property::NeverWithoutSince { .. });
    let deciding = Deciding::new(policy, both);
    let mut reports: Vec<Option<ClaimReport>> =
        policy.claims_by_file().map(|it| (!is_since(&it)).then(|| deciding.claim(it.0, it.1))).collect();
    if reports.iter().any(Option::is_none) {
        let labels = Labels::of(&[policy], LateResults::ByClaims);
        // Nothing is decided about what cannot be composed; the proof says so as a whole.
        let Ok(composed) = Composed::of(&labels, 0, policy) else {
            return reports.into_iter().flatten().collect();
        };
        let ProofModel { labels: plain, composed: plain_composed, .. } = both.plain;
        let late = Some(ProofModel::new(&labels, &composed));
        let both = ProofModels { plain: ProofModel::new(plain, plain_composed), late };
        let deciding = Deciding::new(policy, &both);
        for (report, (file, claim)) in reports.iter_mut().zip(policy.claims_by_file()) {
            report.get_or_insert_with(|| deciding.claim(file, claim));
        }
    }
    reports.into_iter().flatten().collect()
}

struct Deciding<'a, 'b, 'p> {
    policy: &'a Policy,
    both: &'a ProofModels<'b, 'p>,
    /// Groups of rules that have nothing to do with each other, with what may close something in them.
    groups: OnceCell<Vec<(Component, OnceCell<Option<String>>)>>,
    /// Which of them each label is in.
    group_of: OnceCell<BTreeMap<Label, usize>>,
}

/// Whether a session is what makes a claim true or what breaks it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Witness {
    True,
    False,
}

impl<'a, 'b, 'p> Deciding<'a, 'b, 'p> {
    fn new(policy: &'a Policy, both: &'a ProofModels<'b, 'p>) -> Self {
        Self { policy, both, groups: OnceCell::new(), group_of: OnceCell::new() }
    }

    fn claim(&self, file: FileId, claim: &Claim) -> ClaimReport {
        if !claim.each.is_empty() {
            // What holds for each value is decided with values (`values.rs`).
            return ClaimReport {
                claim: claim.clone(),
                holds: None,
                session: Vec::new(),
                is_shortest: false,
                rules: Vec::new(),
                undecided: Some("it was not searched with values".to_owned()),
            };
        }
        let shows = match &claim.property {
            Property::StaysPossible(call) => return self.stays_possible(file, claim, call),
            Property::Possible(_) => Witness::True,
            _ => Witness::False,
        };
        let (answer, asked) = self.both.ask(|asked| self.ask(asked, file, claim));
        self.report(asked, claim, answer, shows, |_| None)
    }

    /// Is there a session that breaks the claim, or does what is claimed to be possible?
    fn ask(&self, asked: &ProofModel<'b, 'p>, file: FileId, claim: &Claim) -> Answer {
        let names = claim.property.names();
        let ways = |name: &str| asked.labels.named(name, self.policy, file, &names);
        let calls = |name: &str| asked.labels.calls(ways(name));
        let successes = |name: &str| asked.labels.successes(ways(name));
        let form = match &claim.property {
            Property::Possible(call) | Property::Impossible(call) | Property::StaysPossible(call) => {
                return asked.prover.can_call(&calls(call));
            }
            Property::HumanBefore(call) => return self.without_human(asked, &calls(call)),
            Property::NeverBefore { call, needs } => {
                Some(Form::Require { before: successes(needs), then: calls(call), latched: true })
            }
            Property::NeverWithoutSince { call, needs, since } => {
                since_form(&calls(call), &successes(needs), &calls(since))
            }
            Property::NeverAfter { call, after } => {
                Some(Form::Never { after: calls(after), then: calls(call) })
            }
            Property::AtMost { count, call } => Some(Form::Limit { spend: calls(call), count: *count }),
            Property::NeverTogether(one, other) => {
                let (one, other) = (calls(one), calls(other));
                if one.without(&other) == one {
                    return together(asked, &one, &other);
                }
                together_form(&one, &other)
            }
        };
        form.map_or(Answer::Undecided(Explored::default()), |form| asked.prover.can_violate(&form))
    }

    /// Can one of these be called without a human agreeing to it?
    fn without_human(&self, asked: &ProofModel<'b, 'p>, calls: &LabelSet) -> Answer {
        // Where only rules that always ask want a human, what they ask about is refused and all else is as it was.
        if asked.composed.asks_always(self.policy) {
            let is_asked = |label: &Label| asked.composed.asked.contains(*label);
            match calls.iter().filter(is_asked).count() {
                0 => {
                    return match asked.prover.can_call(calls) {
                        Answer::No(_) => Answer::No(Reason::default()),
                        answer => answer,
                    };
                }
                asked if asked == calls.len() => return Answer::No(Reason::default()),
                _ => {}
            }
        }
        match Composed::unattended(asked.labels, 0, self.policy, calls) {
            Ok(unattended) => match Prover::new(&unattended.system).can_call(calls) {
                // The rules of the other system have other numbers.
                Answer::No(_) => Answer::No(Reason::default()),
                answer => answer,
            },
            Err(_) => Answer::Undecided(Explored::default()),
        }
    }

    /// That something stays possible rests on every rule on the way to it letting it pass, so every one has to be
    /// known to the letter.
    fn stays_possible(&self, file: FileId, claim: &Claim, call: &str) -> ClaimReport {
        let calls = |asked: &ProofModel<'b, 'p>| {
            asked.labels.calls(asked.labels.named(call, self.policy, file, &[call]))
        };
        let plain = &self.both.plain;
        let answer = plain.prover.can_lose(&calls(plain));
        if let (Answer::Yes(trace), Some(late)) = (&answer, &self.both.late)
            && !self.both.stays_closed(trace, &calls(late))
        {
            let doubt = |_: &Reason| Some("a result that comes late may open it again".to_owned());
            return self.report(plain, claim, Answer::No(Reason::default()), Witness::False, doubt);
        }
        self.report(plain, claim, answer, Witness::False, |_| self.in_the_way(&calls(plain)))
    }

    /// Why it is not certain that what the system lets pass is let pass.
    fn in_the_way(&self, calls: &LabelSet) -> Option<String> {
        let components = || self.both.plain.composed.system.components();
        let groups = self
            .groups
            .get_or_init(|| components().into_iter().map(|component| (component, OnceCell::new())).collect());
        let group_of = self.group_of.get_or_init(|| {
            let labels = groups.iter().enumerate();
            labels.flat_map(|(group, (it, _))| it.labels.iter().map(move |label| (*label, group))).collect()
        });
        let in_groups: BTreeSet<Option<usize>> =
            calls.iter().map(|label| group_of.get(&label).copied()).collect();
        let first = in_groups.iter().flatten().next().and_then(|group| groups.get(*group));
        match first {
            // What is in the way of one label of a group is in the way of all.
            Some((component, known)) if in_groups.len() == 1 => {
                known.get_or_init(|| self.in_the_way_of(Some(component), calls)).clone()
            }
            _ => self.in_the_way_of(first.map(|(component, _)| component), calls),
        }
    }

    /// The same for labels of which some are in one group of rules.
    fn in_the_way_of(&self, component: Option<&Component>, calls: &LabelSet) -> Option<String> {
        let ProofModel { labels, composed, .. } = &self.both.plain;
        let together: LabelSet = match component {
            Some(component) => component.labels.iter().copied().chain(calls.iter()).collect(),
            None => calls.clone(),
        };
        let is_looked_at = |rule: RuleId| composed.left_out.iter().any(|left| left.rule == rule);
        // Where some call of a way passes whatever the session, conditions on calls close nothing for good.
        let mut open: BTreeMap<usize, bool> = BTreeMap::new();
        let mut is_open = |label: Label| {
            let Some((number, way)) = labels.way_of(label) else { return false };
            *open.entry(number).or_insert_with(|| is_open(self.policy, way, &is_looked_at))
        };
        let closes = |left: &&LeftOut| {
            let is_clause = self.policy.clause(left.rule).is_some();
            let mut met = left.labels.iter().filter(|label| together.contains(*label));
            left.why != LeftOutReason::Asks && met.any(|label| !(is_clause && is_open(label)))
        };
        if let Some(left) = composed.left_out.iter().find(closes) {
            let rule = self.policy.rule(left.rule).map(|rule| rule.name.clone()).unwrap_or_default();
            return Some(format!("`{rule}` may close it: {}", left.why.words()));
        }
        if labels.is_further(&together) {
            return Some("what one script does may be closed to the next".to_owned());
        }
        if self.both.late.as_ref().is_some_and(|late| late.labels.is_late(labels, &together)) {
            return Some("a result that comes late may close it".to_owned());
        }
        let forms = component.iter().flat_map(|component| &component.rules);
        let mut limits = forms.filter_map(|form| match composed.system.rules().get(form.0) {
            Some(Form::Limit { spend, .. }) => Some(spend),
            _ => None,
        });
        let earning: LabelSet = labels.earning_calls();
        limits
            .any(|spend| spend.iter().any(|label| earning.contains(label)))
            .then(|| "calls in flight may use up what it needs".to_owned())
    }

    /// Whether what is shortest in the system is shortest at the gate.
    fn is_exact(&self, asked: &ProofModel<'b, 'p>) -> bool {
        let Composed { left_out, cut, .. } = asked.composed;
        left_out.is_empty() && cut.is_empty() && asked.labels.counts_calls()
    }

    fn report(
        &self,
        asked: &ProofModel<'b, 'p>,
        claim: &Claim,
        answer: Answer,
        shows: Witness,
        doubt: impl Fn(&Reason) -> Option<String>,
    ) -> ClaimReport {
        let mut report = ClaimReport {
            claim: claim.clone(),
            holds: None,
            session: Vec::new(),
            is_shortest: false,
            rules: Vec::new(),
            undecided: None,
        };
        match answer {
            Answer::Yes(trace) => {
                report.holds = Some(shows == Witness::True);
                report.is_shortest = trace.is_shortest() && self.is_exact(asked);
                report.session = asked.composed.played(&trace);
            }
            Answer::No(reason) => {
                let cut = asked.composed.cut.first();
                let cut = cut.map(|tool| format!("`{tool}` can be seen in more ways than can be looked at"));
                report.undecided = cut.or_else(|| doubt(&reason));
                if report.undecided.is_none() {
                    report.holds = Some(shows == Witness::False);
                    let rules = reason.rules.iter().flat_map(|form| asked.composed.rules_of(*form)).copied();
                    report.rules = rules.collect::<BTreeSet<_>>().into_iter().collect();
                }
            }
            Answer::Undecided(explored) => {
                report.undecided = Some(format!("not decided within {} states", explored.states));
            }
        }
        report
    }
}

/// Can both be called in one session? Whichever comes first, then the other is refused.
fn together(asked: &ProofModel<'_, '_>, one: &LabelSet, other: &LabelSet) -> Answer {
    let second = |after: &LabelSet, then: &LabelSet| {
        asked.prover.can_violate(&Form::Never { after: after.clone(), then: then.clone() })
    };
    match (second(one, other), second(other, one)) {
        (Answer::Yes(first), Answer::Yes(second)) if second.len() < first.len() => Answer::Yes(second),
        (Answer::Yes(trace), Answer::Yes(_) | Answer::No(_)) | (Answer::No(_), Answer::Yes(trace)) => {
            Answer::Yes(trace)
        }
        // A shorter one may have been missed.
        (Answer::Yes(trace), Answer::Undecided(_)) | (Answer::Undecided(_), Answer::Yes(trace)) => {
            trace.translated(Some).map_or(Answer::Undecided(Explored::default()), Answer::Yes)
        }
        (Answer::No(first), Answer::No(second)) => {
            let rules: BTreeSet<_> = first.rules.into_iter().chain(second.rules).collect();
            Answer::No(Reason { rules: rules.into_iter().collect() })
        }
        (Answer::Undecided(explored), _) | (_, Answer::Undecided(explored)) => Answer::Undecided(explored),
    }
}

/// Refuses `call` unless `needs` has happened since the last of `since`. A call's success comes after the call.
fn since_form(call: &LabelSet, needs: &LabelSet, since: &LabelSet) -> Option<Form> {
    if needs.without(since).without(call) == *needs {
        let (needs, clears, then) = (needs.clone(), since.clone(), call.clone());
        return Some(Form::Since { needs, clears, then });
    }
    let alphabet = call.and(needs).and(since);
    let after = |state: u32, label| match (needs.contains(label), since.contains(label)) {
        (true, _) => 1,
        (false, true) => 0,
        (false, false) => state,
    };
    let moves = [0, 1].into_iter().flat_map(|state| {
        let passes = move |label: &_| state == 1 || !call.contains(*label);
        let after = &after;
        alphabet
            .iter()
            .filter(passes)
            .map(move |label| (state, label, after(state, label)))
            .collect::<Vec<_>>()
    });
    let moves: Vec<_> = moves.collect();
    Table::new(2, 0, alphabet, moves).ok().map(Form::Table)
}

/// Refuses what comes second of two that must not be in one session. A call that is both is refused at once.
fn together_form(one: &LabelSet, other: &LabelSet) -> Option<Form> {
    let moves =
        one.without(other).iter().flat_map(|label| [(0, label, 1), (1, label, 1)]).collect::<Vec<_>>();
    let others =
        other.without(one).iter().flat_map(|label| [(0, label, 2), (2, label, 2)]).collect::<Vec<_>>();
    Table::new(3, 0, one.and(other), moves.into_iter().chain(others)).ok().map(Form::Table)
}

/// Something that happens in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A call is let pass.
    Called,
    /// A call that was let pass succeeds.
    Succeeded,
}

/// Whether a session breaks a claim, or for what is claimed to be possible, does it. Of what can never happen again,
/// and of who was asked, a list of calls says nothing.
pub fn shows(policy: &Policy, claim: &Claim, session: &[(&Call, Moment)]) -> bool {
    let Some(file) = policy.file_of(&claim.source) else { return false };
    let names = claim.property.names();
    let (mut one, mut two, mut times) = (false, false, 0_u64);
    for (call, moment) in session {
        for deed in policy.deeds_seen_in(file, &(*call).clone().into()) {
            let is_named = |name: &str| is_named(policy, call, &deed, name, &names);
            let is = |name: &str| *moment == Moment::Called && is_named(name);
            let succeeds = |name: &str| *moment == Moment::Succeeded && deed.earns() && is_named(name);
            let is_shown = match &claim.property {
                Property::StaysPossible(_) => true,
                Property::Possible(name) | Property::Impossible(name) | Property::HumanBefore(name) => {
                    is(name)
                }
                Property::NeverBefore { call, .. } | Property::NeverWithoutSince { call, .. } => {
                    is(call) && !one
                }
                Property::NeverAfter { call, .. } => is(call) && one,
                Property::AtMost { count, call } => {
                    times += u64::from(is(call));
                    times > *count
                }
                Property::NeverTogether(first, second) => (one || is(first)) && (two || is(second)),
            };
            if is_shown {
                return true;
            }
            match &claim.property {
                Property::NeverBefore { needs, .. } => one |= succeeds(needs),
                Property::NeverWithoutSince { needs, since, .. } => {
                    one = (one && !is(since)) || succeeds(needs)
                }
                Property::NeverAfter { after, .. } => one |= is(after),
                Property::NeverTogether(first, second) => (one, two) = (one || is(first), two || is(second)),
                _ => {}
            }
        }
    }
    matches!(claim.property, Property::StaysPossible(_))
}

/// Whether a deed of a call has a name that is used together with others.
fn is_named(policy: &Policy, call: &Call, deed: &Deed, name: &str, together: &[&str]) -> bool {
    let action = call.input.get("action").and_then(|action| action.as_str());
    let itself = policy.own_deed(&call.tool, action);
    if deed.name != itself.name {
        return *deed.name == *name;
    }
    is_itself(&call.tool, action, name, together)
}
