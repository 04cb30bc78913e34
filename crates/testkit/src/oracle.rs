//! All sessions of a small policy, played through the real judge.
//!
//! [`Space::explore`] calls whatever there is to call in every state, lets humans agree and lets each call end well
//! and badly, or stay open and end well later, breadth first; questions are then walks over what was seen. It shares
//! nothing with the prover: it knows no rules, only calls and verdicts. Humans who refuse, operators and results that
//! hold something are left out on purpose: they open nothing.

#![expect(clippy::indexing_slicing, reason = "states, letters and calls are numbered as they are pushed")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    fmt::Write,
    hash::Hash,
};

use lockgate::engine::{
    Call, Decision, Outcome, Policy, Session, Source, Time, Verdict,
    gate::{Flight, Human, Rulebook, judge, judge_answer, settle},
    petri::Marking,
    policy::{Audience, Condition, Deed, Property, Subject, condition::Attribute},
};
use serde_json::Value;

/// What happens next: one of the calls that there are, or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Letter {
    /// A call, by its number, that succeeds at once.
    Succeeds(usize),
    /// A call whose result says failure.
    Fails(usize),
    /// A call whose result is still open.
    StaysOpen(usize),
    /// The oldest open call of this kind succeeds.
    Lands(usize),
    /// An hour passes: windows empty, leases and standing answers end.
    AnHour,
}

impl Letter {
    /// The call that is judged, if one is.
    pub fn called(self) -> Option<usize> {
        match self {
            Self::Succeeds(call) | Self::Fails(call) | Self::StaysOpen(call) => Some(call),
            Self::Lands(_) | Self::AnHour => None,
        }
    }

    /// The call that succeeds, if one does.
    pub fn succeeded(self) -> Option<usize> {
        match self {
            Self::Succeeds(call) | Self::Lands(call) => Some(call),
            Self::Fails(_) | Self::StaysOpen(_) | Self::AnHour => None,
        }
    }
}

/// What is explored, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// States that are expanded.
    pub states_max: usize,
    /// Letters from the start.
    pub depth_max: usize,
    /// Calls that are open at the same time; with none, each call ends before the next one.
    pub open_max: usize,
    /// Whether time passes.
    pub has_hours: bool,
    /// The greatest number that no rule tells from the next one: counters are told apart up to here.
    pub counts_max: u64,
}

impl Bounds {
    /// One call after another, while time stands still.
    pub const fn in_turn(states_max: usize, depth_max: usize) -> Self {
        Self { states_max, depth_max, open_max: 0, has_hours: false, counts_max: u64::MAX }
    }
}

/// The states that sessions reach, and what each letter leads to.
#[derive(Debug)]
pub struct Space {
    letters: Vec<Letter>,
    states: Vec<State>,
}

#[derive(Debug)]
struct State {
    depth: usize,
    /// By letter; none where nobody looked.
    moves: Option<Vec<Move>>,
}

/// What became of a letter in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What was decided before anybody answered; allow where nothing was called.
    pub decision: Decision,
    /// Whether the call was let pass, if need be by a human.
    pub passes: bool,
    /// Whether a human was asked, or had said yes to such calls before.
    pub has_human: bool,
    /// Where it leads; none where the letter has no meaning.
    to: Option<usize>,
}

/// What a walk came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// The shortest session that does it has so many letters.
    Shortest(usize),
    /// Some session of so many letters does it; a shorter one may exist.
    Some(usize),
    /// No session does.
    Never,
    /// None of up to so many letters does.
    NotWithin(usize),
}

impl Walked {
    /// Whether a session does it, as far as that was seen.
    pub fn happens(self) -> Option<bool> {
        match self {
            Self::Shortest(_) | Self::Some(_) => Some(true),
            Self::Never => Some(false),
            Self::NotWithin(_) => None,
        }
    }

    fn found(length: usize, unseen_from: Option<usize>) -> Self {
        match unseen_from {
            Some(from) if from < length => Self::Some(length),
            _ => Self::Shortest(length),
        }
    }

    fn not_found(unseen_from: Option<usize>) -> Self {
        unseen_from.map_or(Self::Never, Self::NotWithin)
    }
}

impl Space {
    /// Plays every session of the calls.
    pub fn explore(rulebook: &Rulebook, calls: &[Call], bounds: Bounds) -> Self {
        Self::explore_after(rulebook, calls, bounds, Stage::default())
    }

    /// Plays every way on from where a session stands.
    pub fn explore_after(rulebook: &Rulebook, calls: &[Call], bounds: Bounds, start: Stage) -> Self {
        let letters = letters(calls.len(), bounds);
        let looks = Looks::of(&rulebook.policy, bounds.counts_max);
        let mut numbers = HashMap::from([(looks.key(&rulebook.policy, &start), 0)]);
        let mut states = vec![State { depth: 0, moves: None }];
        let mut queue = VecDeque::from([(0, start)]);
        let mut expanded = 0;
        while let Some((number, stage)) = queue.pop_front() {
            let depth = states[number].depth;
            if expanded == bounds.states_max || depth == bounds.depth_max {
                continue;
            }
            expanded += 1;
            let mut reach = |next: Stage| {
                *numbers.entry(looks.key(&rulebook.policy, &next)).or_insert_with(|| {
                    states.push(State { depth: depth + 1, moves: None });
                    queue.push_back((states.len() - 1, next));
                    states.len() - 1
                })
            };
            let mut moves = Vec::with_capacity(letters.len());
            // All ends of one call begin with the same judgement.
            let mut judged: Option<(usize, Judged)> = None;
            for letter in &letters {
                let Some(call) = letter.called() else {
                    let to = stage.passes_time(rulebook, calls, *letter).map(&mut reach);
                    moves.push(Move { decision: Decision::Allow, passes: true, has_human: false, to });
                    continue;
                };
                if judged.as_ref().is_none_or(|(of, _)| *of != call) {
                    judged = Some((call, stage.judge(rulebook, call, &calls[call])));
                }
                let Some((_, judged)) = &judged else { continue };
                // What nobody waits for may as well have failed.
                let is_idle =
                    matches!(letter, Letter::StaysOpen(_)) && !judged.is_waited_for(&rulebook.policy);
                let end = || judged.ends(rulebook, &calls[call], *letter, bounds.open_max);
                let to = (!is_idle).then(end).flatten().map(&mut reach);
                let Judged { decision, passes, has_human, .. } = *judged;
                moves.push(Move { decision, passes, has_human, to });
            }
            states[number].moves = Some(moves);
        }
        Self { letters, states }
    }

    /// Whether everything that sessions can do was seen.
    pub fn is_closed(&self) -> bool {
        self.states.iter().all(|state| state.moves.is_some())
    }

    /// How many states were seen.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether nothing was seen, which never happens.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The shortest session at whose end a watcher says so. It starts with `watch` and sees everything that
    /// happens, refusals excepted; it answers none to end the session there.
    pub fn walk<W: Clone + Eq + Hash>(
        &self,
        watch: W,
        mut see: impl FnMut(&W, Letter, &Move) -> Option<W>,
    ) -> Walked {
        let mut seen = HashSet::from([(0, watch.clone())]);
        let mut queue = VecDeque::from([(0, 0, watch)]);
        let mut unseen_from = None;
        while let Some((length, number, watch)) = queue.pop_front() {
            let Some(moves) = &self.states[number].moves else {
                unseen_from.get_or_insert(length);
                continue;
            };
            for (letter, it) in self.letters.iter().zip(moves) {
                let Some(to) = it.to else { continue };
                let next = if it.passes { see(&watch, *letter, it) } else { Some(watch.clone()) };
                let Some(next) = next else { return Walked::found(length + 1, unseen_from) };
                if seen.insert((to, next.clone())) {
                    queue.push_back((length + 1, to, next));
                }
            }
        }
        Walked::not_found(unseen_from)
    }

    /// The shortest session after which no call of a kind can ever pass again, itself without any of that kind.
    /// None if not everything was seen.
    pub fn loses(&self, is_goal: impl Fn(usize) -> bool) -> Option<Walked> {
        if !self.is_closed() {
            return None;
        }
        let is_goal = |letter: Letter| letter.called().is_some_and(&is_goal);
        let moves = |number: usize| self.letters.iter().zip(self.states[number].moves.iter().flatten());
        let mut can = vec![false; self.states.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for number in 0..self.states.len() {
                let does = |(letter, it): (&Letter, &Move)| {
                    it.to.is_some_and(|to| (it.passes && is_goal(*letter)) || can[to])
                };
                if !can[number] && moves(number).any(does) {
                    can[number] = true;
                    changed = true;
                }
            }
        }
        if !can[0] {
            return Some(Walked::Shortest(0));
        }
        Some(self.walk(false, |is_over, letter, it| {
            let is_over = *is_over || is_goal(letter);
            let is_lost = !is_over && it.to.is_some_and(|to| !can[to]);
            (!is_lost).then_some(is_over)
        }))
    }

    /// The shortest session that both let pass up to its last call, about which `differ` says that the two differ.
    /// Both must have been explored with the same calls and bounds. With `has_refusals` calls that both refuse may
    /// come before it: some leave something behind.
    pub fn differs(&self, other: &Self, has_refusals: bool, differ: impl Fn(&Move, &Move) -> bool) -> Walked {
        let mut seen = HashSet::from([(0, 0)]);
        let mut queue = VecDeque::from([(0, 0, 0)]);
        let mut unseen_from = None;
        while let Some((length, one, two)) = queue.pop_front() {
            let (Some(ones), Some(twos)) = (&self.states[one].moves, &other.states[two].moves) else {
                unseen_from.get_or_insert(length);
                continue;
            };
            for ((letter, one), two) in self.letters.iter().zip(ones).zip(twos) {
                if letter.called().is_some() && differ(one, two) {
                    return Walked::found(length + 1, unseen_from);
                }
                // What only one of them lets stay open cannot end in both.
                if let (Some(to), Some(too)) = (one.to, two.to)
                    && one.passes == two.passes
                    && (one.passes || has_refusals)
                    && seen.insert((to, too))
                {
                    queue.push_back((length + 1, to, too));
                }
            }
        }
        Walked::not_found(unseen_from)
    }

    /// The shortest session that breaks a claim, or for what is claimed to be possible, does it. `is_of` tells
    /// which deeds of a call are of a name, `earns` whether a success of it is one of the name.
    pub fn about(
        &self,
        claim: &Property,
        is_of: impl Fn(usize, &str) -> Places,
        earns: impl Fn(usize, &str) -> bool,
    ) -> Option<Walked> {
        let places = |letter: Letter, name: &str| letter.called().map_or(Places(0), |call| is_of(call, name));
        let called = |letter: Letter, name: &str| places(letter, name).any();
        let earned = |letter: Letter, name: &str| letter.succeeded().is_some_and(|call| earns(call, name));
        Some(match claim {
            Property::Possible(call) | Property::Impossible(call) => {
                self.walk((), |(), letter, _| (!called(letter, call)).then_some(()))
            }
            Property::HumanBefore(call) => {
                self.walk((), |(), letter, it| (!called(letter, call) || it.has_human).then_some(()))
            }
            Property::NeverBefore { call, needs } => self.walk(false, |has, letter, _| {
                (*has || !called(letter, call)).then(|| *has || earned(letter, needs))
            }),
            Property::NeverWithoutSince { call, needs, since } => self.walk(false, |has, letter, _| {
                // The call of `since` comes before its own result.
                let after = || (*has && !called(letter, since)) || earned(letter, needs);
                let is_cleared = places(letter, call).any_after(places(letter, since));
                ((*has && !is_cleared) || !called(letter, call)).then(after)
            }),
            Property::NeverAfter { call, after } => self.walk(false, |is_after, letter, _| {
                let is_after = *is_after || places(letter, call).any_after(places(letter, after));
                (!is_after || !called(letter, call)).then(|| is_after || called(letter, after))
            }),
            Property::AtMost { count, call } => self.walk(0, |so_far, letter, _| {
                let now = so_far + u64::from(places(letter, call).count());
                (now <= *count).then_some(now)
            }),
            Property::NeverTogether(one, other) => self.walk((false, false), |(ones, others), letter, _| {
                let both = (*ones || called(letter, one), *others || called(letter, other));
                (both != (true, true)).then_some(both)
            }),
            Property::StaysPossible(call) => return self.loses(|letter| is_of(letter, call).any()),
        })
    }
}

/// Which deeds of a call are meant, by their places in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places(pub u64);

impl Places {
    /// Whether there is one.
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether one of these comes after one of others in the same call.
    pub fn any_after(self, others: Self) -> bool {
        others.any() && self.0.checked_shr(others.0.trailing_zeros() + 1).unwrap_or(0) != 0
    }
}

fn letters(calls: usize, bounds: Bounds) -> Vec<Letter> {
    let mut letters = Vec::new();
    for call in 0..calls {
        letters.extend([Letter::Succeeds(call), Letter::Fails(call)]);
        if bounds.open_max > 0 {
            letters.extend([Letter::StaysOpen(call), Letter::Lands(call)]);
        }
    }
    letters.extend(bounds.has_hours.then_some(Letter::AnHour));
    letters
}

/// Where a session stands: what it remembers, and which calls of it are open, the oldest first.
#[derive(Clone, Debug)]
pub struct Stage {
    session: Session,
    open: Vec<Open>,
    now: Time,
    calls: u64,
}

#[derive(Clone, Debug)]
struct Open {
    call: usize,
    id: String,
}

impl Default for Stage {
    fn default() -> Self {
        Self { session: Session::default(), open: Vec::new(), now: Time(1), calls: 0 }
    }
}

/// A call that was judged, and where the session stands until it ends.
#[derive(Debug)]
struct Judged {
    decision: Decision,
    passes: bool,
    has_human: bool,
    number: usize,
    id: String,
    after: Stage,
}

/// How long an hour is.
pub const HOUR_MS: u64 = 60 * 60 * 1000;

impl Stage {
    /// One letter: what became of it, and where the session stands after it. None where it has no meaning.
    pub fn play(&self, rulebook: &Rulebook, calls: &[Call], letter: Letter) -> Option<(Move, Self)> {
        let Some(call) = letter.called() else {
            let next = self.passes_time(rulebook, calls, letter)?;
            return Some((
                Move { decision: Decision::Allow, passes: true, has_human: false, to: None },
                next,
            ));
        };
        let judged = self.judge(rulebook, call, &calls[call]);
        let Judged { decision, passes, has_human, .. } = judged;
        let next = judged.ends(rulebook, &calls[call], letter, usize::MAX)?;
        Some((Move { decision, passes, has_human, to: None }, next))
    }

    fn judge(&self, rulebook: &Rulebook, number: usize, call: &Call) -> Judged {
        let mut after = self.clone();
        after.calls += 1;
        let id = after.calls.to_string();
        let call = Call { id: id.clone(), at: self.now, ..call.clone() }.into();
        let judged = judge(rulebook, &self.session, &call, Human::Reachable);
        judged.events.iter().for_each(|event| after.session.apply(event));
        let decision = judged.verdict.decision;
        let mut passes = judged.verdict.lets_pass();
        let mut has_human = decision == Decision::Ask || has_standing_yes(&rulebook.policy, &judged.verdict);
        // A workflow may ask once more, about the next stage.
        let mut asked = judged.verdict.approval;
        while let Some(approval) = asked.take() {
            let answered = judge_answer(rulebook, &after.session, approval.number, true, self.now);
            let Some(answered) = answered else { break };
            answered.events.iter().for_each(|event| after.session.apply(event));
            passes = answered.verdict.lets_pass();
            has_human = true;
            asked = answered.verdict.approval;
        }
        Judged { decision, passes, has_human, number, id, after }
    }

    /// An open call succeeds, or an hour passes.
    fn passes_time(&self, rulebook: &Rulebook, calls: &[Call], letter: Letter) -> Option<Self> {
        let oldest = |call: usize| self.open.iter().position(|open| open.call == call);
        let landing = match letter {
            Letter::Lands(call) => Some((call, oldest(call)?)),
            _ => None,
        };
        let mut next = self.clone();
        match landing {
            Some((call, at)) => {
                let id = next.open.remove(at).id;
                let call = Call { id, at: self.now, ..calls[call].clone() };
                next.settle(rulebook, &Outcome::success(&call));
            }
            None => {
                next.now = self.now.after_ms(HOUR_MS);
                // Whatever was open has lapsed by then; a result for nobody tells the session so.
                let nobody = Outcome { id: "nobody".into(), at: next.now, ..Outcome::default() };
                next.settle(rulebook, &nobody);
                next.open.clear();
            }
        }
        Some(next)
    }

    fn settle(&mut self, rulebook: &Rulebook, outcome: &Outcome) {
        let settled = settle(rulebook, &self.session, outcome);
        settled.events.iter().for_each(|event| self.session.apply(event));
    }
}

impl Judged {
    fn is_waited_for(&self, policy: &Policy) -> bool {
        let flight = self.after.session.flights().find(|(id, _)| ***id == *self.id);
        let waits = |flight: &Flight| !flight.waiting.is_empty() || !flight.shows.is_empty();
        !policy.clauses().is_empty() || flight.is_some_and(|(_, flight)| waits(flight))
    }

    /// Where the session stands after this end of the call; none if the call cannot stay open.
    fn ends(&self, rulebook: &Rulebook, call: &Call, letter: Letter, open_max: usize) -> Option<Stage> {
        if !self.passes {
            return Some(self.after.clone());
        }
        let mut after = self.after.clone();
        if let Letter::StaysOpen(_) = letter {
            after.open.push(Open { call: self.number, id: self.id.clone() });
            return (after.open.len() <= open_max).then_some(after);
        }
        let call = Call { id: self.id.clone(), at: after.now, ..call.clone() };
        let ok = matches!(letter, Letter::Succeeds(_));
        after.settle(rulebook, &Outcome { ok, ..Outcome::success(&call) });
        Some(after)
    }
}

/// Whether a human who was asked earlier said a yes that covers this call.
fn has_standing_yes(policy: &Policy, verdict: &Verdict) -> bool {
    let asks = |rule| policy.clause(rule).is_some_and(|clause| clause.wants == Decision::Ask);
    verdict.allowed_by.iter().filter_map(|it| it.rule).any(asks)
}

/// What of a session the rules of a policy look at.
#[derive(Clone, Copy, Debug)]
struct Looks {
    counts_max: u64,
    at_calls: bool,
    at_attempts: bool,
    at_moments: bool,
}

/// All that tells two sessions apart, as far as rules look.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    markings: Vec<Marking>,
    open: Vec<(usize, String)>,
    counts: Vec<u64>,
    per_tool: Vec<(String, u64)>,
    rest: String,
}

impl Looks {
    fn of(policy: &Policy, counts_max: u64) -> Self {
        let conditions = || policy.clauses().iter().flat_map(|clause| &clause.conditions);
        let counts = |wanted: &Attribute| {
            conditions()
                .flat_map(Condition::leaves)
                .any(|leaf| matches!(&leaf.value.subject, Subject::Session(of) if of == wanted))
        };
        let is_moment = |condition: &Condition| {
            matches!(
                condition,
                Condition::Called { .. } | Condition::CalledInOrder { .. } | Condition::Earned { .. }
            )
        };
        let stands = |clause: &lockgate::engine::policy::Clause| {
            clause.standing != lockgate::engine::policy::clause::Standing::Once
        };
        Self {
            counts_max,
            at_calls: counts(&Attribute::Calls),
            at_attempts: counts(&Attribute::Attempts),
            at_moments: conditions().any(is_moment) || policy.clauses().iter().any(stands),
        }
    }

    fn key(&self, policy: &Policy, stage: &Stage) -> Key {
        let session = &stage.session;
        let marking = |rule: &lockgate::engine::policy::NetRule| session.marking(policy, rule.id).cloned();
        let cap = |count: u64| count.min(self.counts_max);
        let mut per_tool: Vec<(String, u64)> =
            session.per_tool().map(|(tool, count)| (tool.to_string(), cap(count))).collect();
        per_tool.sort();
        let counts = session.counts();
        let counts = [(self.at_calls, counts.tool_calls), (self.at_attempts, counts.attempts)];
        let mut rest = String::new();
        for workflow in policy.workflows() {
            rest += &progress(session, workflow);
        }
        if self.at_moments {
            rest += &moments(policy, stage);
        }
        Key {
            markings: policy.nets().iter().filter_map(marking).collect(),
            open: stage.flights(),
            counts: counts.into_iter().filter(|(looks, _)| *looks).map(|(_, count)| cap(count)).collect(),
            per_tool,
            rest,
        }
    }
}

impl Stage {
    /// The open calls with what they wait for; the order counts only among calls of one kind.
    fn flights(&self) -> Vec<(usize, String)> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let flights: HashMap<&str, &Flight> =
            self.session.flights().map(|(id, flight)| (id.as_ref(), flight)).collect();
        let told = |open: &Open| {
            let flight = flights.get(open.id.as_str())?;
            Some((open.call, format!("{:?}{:?}", flight.waiting, flight.shows)))
        };
        let mut open: Vec<(usize, String)> = self.open.iter().filter_map(told).collect();
        open.sort_by_key(|(call, _)| *call);
        open
    }
}

/// Where a session stands in a workflow, without what is only told to people.
fn progress(session: &Session, workflow: &lockgate::engine::policy::Workflow) -> String {
    let Some(it) = session.progress(workflow.id) else { return String::new() };
    let evidence = &it.evidence;
    let reads: BTreeSet<_> = evidence.reads.iter().collect();
    let commands: BTreeMap<_, BTreeSet<_>> =
        evidence.stage_calls.iter().map(|(stage, calls)| (stage, calls.iter().collect())).collect();
    let mut text = String::new();
    let _ = write!(
        text,
        "{}{:?}{:?}{reads:?}{commands:?}{:?}{:?}{:?}{}{}",
        it.active_stage,
        it.completed_stages,
        it.approvals,
        evidence.mcp_results,
        evidence.met,
        evidence.spoiled,
        it.is_placed,
        it.has_worked,
    );
    text
}

/// Windows and standing answers, by how long ago or ahead their moments are: an hour is as good as ever.
fn moments(policy: &Policy, stage: &Stage) -> String {
    let saved: Value = serde_json::from_str(&stage.session.to_json(policy)).unwrap_or_default();
    let now = stage.now.0;
    let ago = |moment: &Value| moment.as_u64().map(|moment| now.saturating_sub(moment).min(HOUR_MS));
    let mut text = String::new();
    for (key, net) in saved["nets"].as_object().into_iter().flatten() {
        for (step, window) in net["windows"].as_object().into_iter().flatten() {
            let recent: Vec<u64> = window
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(ago)
                .filter(|ago| *ago < HOUR_MS)
                .collect();
            if !recent.is_empty() {
                let _ = write!(text, "{key} {step} {recent:?};");
            }
        }
    }
    for answer in saved["answers"].as_array().into_iter().flatten() {
        if answer["until_ms"].as_u64().is_some_and(|until| until > now) {
            let _ = write!(text, "{}{}{};", answer["rule"], answer["tool"], answer["granted"]);
        }
    }
    text
}

/// A name as the rules of one file mean it.
#[derive(Debug)]
pub struct Meaning {
    /// The maps of that file, and one rule about the name.
    policy: Policy,
    name: String,
}

impl Meaning {
    /// What a rule about this name means in a file of one-line rules, if it names these beside it: a rule that names
    /// an action of a tool sees calls with an action by their action alone.
    pub fn new(file: &str, name: &str, beside: &[&str]) -> Option<Self> {
        let is_map = |line: &&str| line.starts_with("map ") || line.starts_with("script ");
        let maps: String = file.lines().filter(is_map).map(|line| format!("{line}\n")).collect();
        let base = format!("{name}.");
        let action = beside.iter().find(|it| it.starts_with(&base));
        let text = format!("{maps}limit {name} to 9 per {}", action.unwrap_or(&"session"));
        let policy = lockgate::engine::languages::read(&[Source::new("meaning.rules", text.as_str())]).0?;
        Some(Self { policy, name: name.to_owned() })
    }

    /// The deeds of a call that are of the name, or may be.
    pub fn may_be(&self, call: &Call) -> Places {
        self.places(call, |_| true)
    }

    /// The deeds of a call that are of the name for certain.
    pub fn is(&self, call: &Call) -> Places {
        self.places(call, |deed| deed.certain)
    }

    /// Whether a success of a call is a success of the name.
    pub fn is_earned_by(&self, call: &Call) -> bool {
        self.places(call, Deed::earns).any()
    }

    fn places(&self, call: &Call, counts: impl Fn(&Deed) -> bool) -> Places {
        let is_seen = |audience: Audience, deed: &Deed| {
            self.policy.watches(audience, deed).any(|watch| *watch.name == *self.name)
        };
        let mut places = 0;
        for (audience, deeds) in self.policy.deeds(&call.clone().into()) {
            for (deed, place) in deeds.iter().zip(0..64) {
                places |= u64::from(counts(deed) && is_seen(audience, deed)) << place;
            }
        }
        Places(places)
    }
}
