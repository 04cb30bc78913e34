//! One call before the rules: every rule that knows a deed of it is asked, in order.

use std::sync::Arc;

use lockgate_call::Call;
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{
    Applying, Basis, Clause, Decision, Deed, Deeds, Groups, Mode, NetRule, Rule, RuleId, Statement, View,
    Watch, clause::Timeout, unreadable_sentence, workflow::Outcome as Says,
};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::{
    next::next_steps,
    record::{Consent, Record},
    rulebook::{Attempt, PendingCall, Rulebook},
    scratch::Scratch,
    stages::{self, Staged, Wanted},
    state::{ApprovalId, Asked, Boundary, Event, Flight, Remembered, Session, Sighted, Stand, Waiting},
    verdict::{
        About, Obstacle, Verdict, blocked_sentence, doubtful_sentence, guessed_sentence, human_sentence,
        refused_before_sentence, restless_sentence, running_sentence, stage_sentence, unattended_sentence,
    },
};

/// What every rule but the workflows says.
pub(crate) fn heard<'a>(
    rulebook: &'a Rulebook,
    stand: Stand<'a>,
    call: &'a Call,
    consent: Consent<'a>,
) -> (Groups, Hearing<'a>) {
    let policy = &rulebook.policy;
    let session = stand.session;
    let (groups, doubts) = policy.look_at(call);
    let mut hearing = Hearing {
        rulebook,
        stand,
        call,
        consent,
        scratch: Scratch::new(policy, session),
        obstacles: Vec::new(),
        waiting: SmallVec::new(),
        fired: SmallVec::new(),
        staged: Vec::new(),
        wants: None,
    };
    hearing.hear_door();
    hearing.hear_protection();
    hearing.hear_clauses();
    // What was seen comes before what is only guessed: a guess must not use up what the former needs.
    for guesses in [false, true] {
        for (audience, deeds) in &groups {
            for deed in deeds.iter().filter(|deed| (deed.basis == Basis::Guessed) == guesses) {
                for watch in policy.watches(*audience, deed) {
                    if let (true, Some(rule)) = (session.is_active(watch.rule), policy.net(watch.rule)) {
                        let before = hearing.obstacles.len();
                        hearing.hear(rule, watch, deed);
                        hearing.soften(before, watch, deed);
                    }
                }
            }
        }
        if doubts.is_empty() {
            break;
        }
    }
    hearing.tell_unreadable(&doubts);
    (groups, hearing)
}

/// One call before the rules.
pub(crate) struct Hearing<'a> {
    rulebook: &'a Rulebook,
    stand: Stand<'a>,
    call: &'a Call,
    consent: Consent<'a>,
    scratch: Scratch<'a>,
    obstacles: Vec<Obstacle>,
    waiting: SmallVec<[Waiting; 1]>,
    fired: SmallVec<[(RuleId, TransitionId); 2]>,
    staged: Vec<Staged<'a>>,
    pub(crate) wants: Option<Wanted>,
}

impl Hearing<'_> {
    /// A door may know what no rule can, such as a tool that is no longer what it was.
    fn hear_door(&mut self) {
        if let Some(reason) = &self.call.about.objection {
            self.obstacles.push(Obstacle::of_gate("door", reason.clone()));
        }
    }

    /// Lockgate's own files and switches are not for agents.
    fn hear_protection(&mut self) {
        let protection = self.rulebook.protection.as_deref();
        if let Some(reason) = protection.and_then(|protection| protection.objection(self.call)) {
            self.obstacles.push(Obstacle::of_gate("self-protection", reason));
        }
    }

    /// Asks the clauses about the call, and where none that acts has a say, what is decided without one.
    fn hear_clauses(&mut self) {
        let Self { rulebook, stand, call, .. } = *self;
        if rulebook.policy.clauses().is_empty() {
            return;
        }
        let now = call.at.max(stand.session.clock);
        let view = View { call, output: None, now, around: &rulebook.around, memory: &stand };
        let tool = rulebook.policy.name(&call.tool);
        let mut is_spoken_of = false;
        for Applying { clause, truth } in rulebook.policy.applying(&view) {
            if stand.session.is_active(clause.id) {
                is_spoken_of |= clause.mode == Mode::Enforce && clause.speaks(truth);
                self.want(clause, &view, &tool);
            }
        }
        if let (false, Some(default)) = (is_spoken_of, rulebook.policy.default_clause()) {
            self.want(default, &view, &tool);
        }
    }

    /// A clause applies: it wants something, or says yes.
    fn want(&mut self, clause: &Clause, view: &View<'_>, tool: &Arc<str>) {
        let before = match clause.wants {
            Decision::Ask => self.stand.answer(clause.standing, clause.id, tool, view.now),
            Decision::Allow | Decision::Redact | Decision::Block => None,
        };
        let (decision, reason) = match (clause.wants, before, self.consent) {
            (Decision::Ask, Some(false), _) => (Decision::Block, refused_before_sentence(tool)),
            (Decision::Ask, Some(true), _) => (Decision::Allow, clause.says(view)),
            (Decision::Ask, None, Consent::Given(rules)) if rules.contains(&clause.id) => {
                (Decision::Allow, clause.says(view))
            }
            (Decision::Ask, None, Consent::Absent) => {
                (Decision::Block, unattended_sentence(&clause.says(view)))
            }
            (wants, ..) => (wants, clause.says(view)),
        };
        let mut obstacle = self.obstacle(clause, tool, decision, reason);
        obstacle.rank = clause.rank;
        obstacle.tags.clone_from(&clause.tags);
        obstacle.severity = clause.severity;
        obstacle.is_human = clause.wants == Decision::Ask;
        if clause.acts_always {
            obstacle.mode = Mode::Enforce;
        }
        if clause.is_about_unreadable() {
            obstacle.about = About::Unreadable;
        }
        self.obstacles.push(obstacle);
    }

    /// Asks one rule about one deed.
    fn hear(&mut self, rule: &NetRule, watch: &Watch, deed: &Deed) {
        if watch.is_free {
            return;
        }
        match choose(rule, watch, deed, self.scratch.marking(rule)) {
            Some(transition) => self.pass(rule, transition, &watch.name, deed),
            None if watch.refuses => {
                self.object(rule, &watch.name, Decision::Block, blocked_sentence(rule, &watch.name));
            }
            None => {
                // A rule never refuses what it only watches. Its success may still count by the time it is
                // known, because what is in the way now may be a question still open.
                let deferred = watch.transitions.iter().find(|it| rule.net.guard(**it).is_deferred);
                if let (true, Some(transition)) = (deed.earns(), deferred) {
                    self.wait(rule, *transition, &watch.name);
                }
            }
        }
    }

    /// Looks at what a rule has just said about a deed that was not seen but follows from a script that cannot be read.
    /// A human decides about what is only guessed, unless the rule's file says that none does.
    fn soften(&mut self, before: usize, watch: &Watch, deed: &Deed) {
        if deed.basis == Basis::Seen || before == self.obstacles.len() {
            return;
        }
        let said: Vec<Obstacle> = self.obstacles.drain(before..).collect();
        let is_final = self.rulebook.policy.unreadable_in_file_of(watch) == Some(Decision::Block);
        for mut obstacle in said {
            obstacle.about = About::Guessed;
            if deed.basis == Basis::Guessed {
                obstacle.reason = guessed_sentence(&watch.name, &obstacle.reason);
                if !is_final {
                    obstacle.is_human = true;
                    obstacle.decision = match self.consent {
                        Consent::Given(rules) if rules.contains(&watch.rule) => continue,
                        Consent::Given(_) | Consent::Open => Decision::Ask,
                        Consent::Absent => Decision::Block,
                    };
                }
            }
            self.obstacles.push(obstacle);
        }
    }

    /// Where rules object to what a script may be, the reason is that it cannot be read; what it may be comes after.
    fn tell_unreadable(&mut self, doubts: &[String]) {
        for mode in [Mode::Enforce, Mode::Observe] {
            let of_mode = || self.obstacles.iter().filter(|obstacle| obstacle.mode == mode);
            let guessed = || of_mode().filter(|obstacle| obstacle.about == About::Guessed);
            let Some(leading) = guessed().max_by_key(|it| (it.decision, !it.is_human)) else { continue };
            let (decision, is_human) = (leading.decision, leading.is_human);
            let is_told = |it: &Obstacle| it.about == About::Unreadable && it.decision >= decision;
            if of_mode().any(is_told) {
                continue;
            }
            let sentence = unreadable_sentence(doubts);
            let is_unattended = is_human && matches!(self.consent, Consent::Absent);
            let reason = if is_unattended { unattended_sentence(&sentence) } else { sentence };
            let mut obstacle = Obstacle::of_gate("unreadable-script", reason);
            obstacle.decision = decision;
            obstacle.mode = mode;
            obstacle.deed = self.rulebook.policy.name(&self.call.tool);
            obstacle.is_human = is_human;
            obstacle.about = About::Unreadable;
            self.obstacles.push(obstacle);
        }
    }

    /// The marking lets the deed pass; the conditions, the author's code and a human may still object.
    fn pass(&mut self, rule: &NetRule, transition: TransitionId, name: &Arc<str>, deed: &Deed) {
        let guard = rule.net.guard(transition);
        for check in &guard.checks {
            if !check.holds(&self.call.input, self.call.about.cwd.as_deref()) {
                self.object(rule, name, Decision::Block, check.message.clone());
            }
        }
        if let Some(validate) = self.rulebook.hooks.validator(rule.id) {
            let net = rule.net.net();
            let marking = self.scratch.marking(rule);
            let attempt = Attempt {
                call: self.call,
                deed: name,
                transition: net.transition_name(transition),
                marking: net.places().map(|place| (net.place_name(place), marking.tokens(place))).collect(),
                pending: pending(self.stand.session, rule),
            };
            if let Err(refusal) = self.scratch.with_notes(rule.id, |notes| validate(&attempt, notes)) {
                self.object(rule, name, Decision::Block, refusal);
            }
        }
        if guard.is_manual {
            self.want_human(rule, name);
        }
        if guard.is_deferred {
            if deed.earns() {
                self.wait(rule, transition, name);
            }
        } else if !deed.certain && is_hand_written(rule) && !is_standstill(rule, transition) {
            // Firing might give what was not earned, and not firing might spare what was spent.
            self.object(rule, name, Decision::Block, doubtful_sentence(name));
        } else if self.scratch.fire(rule, transition) {
            self.fired.push((rule.id, transition));
        } else {
            self.object(rule, name, Decision::Block, restless_sentence(name));
        }
    }

    fn wait(&mut self, rule: &NetRule, transition: TransitionId, name: &Arc<str>) {
        self.waiting.push(Waiting { rule: rule.id, transition, deed: name.clone() });
    }

    fn want_human(&mut self, rule: &NetRule, name: &Arc<str>) {
        let decision = match self.consent {
            Consent::Given(rules) if rules.contains(&rule.id) => return,
            Consent::Given(_) | Consent::Open => Decision::Ask,
            Consent::Absent => Decision::Block,
        };
        self.object(rule, name, decision, human_sentence(rule, name));
        if let Some(last) = self.obstacles.last_mut() {
            last.is_human = true;
        }
    }

    fn object(&mut self, rule: &NetRule, name: &Arc<str>, decision: Decision, reason: String) {
        self.obstacles.push(self.obstacle(rule, name, decision, reason));
    }

    fn obstacle(&self, rule: &Rule, name: &Arc<str>, decision: Decision, reason: String) -> Obstacle {
        let mut obstacle = Obstacle::of_rule(rule, name, decision, reason);
        obstacle.mode = obstacle.mode.min(self.rulebook.terms.mode);
        obstacle
    }

    /// Asks the workflows. They come last, because only where nothing else is in the way may they want a program
    /// to be run.
    pub(crate) fn hear_workflows(&mut self) {
        let Self { rulebook, stand, call, .. } = *self;
        let policy = &rulebook.policy;
        if policy.workflows().is_empty() {
            return;
        }
        let tool = policy.name(&call.tool);
        let sight = policy.sight(call);
        for workflow in policy.workflows().iter().filter(|workflow| stand.session.is_active(workflow.id)) {
            let observes = workflow.mode.min(rulebook.terms.mode) == Mode::Observe;
            let may_run = rulebook.terms.runs_programs && !observes;
            let mut staged = Staged::consider(workflow, stand, call, &sight, observes, may_run);
            staged.is_unattended = matches!(self.consent, Consent::Absent);
            let asks = if staged.is_unattended { Decision::Block } else { Decision::Ask };
            let obstacle = match &staged.says {
                Says::Accepted { .. } => None,
                Says::Blocked { stage, reason, .. } => {
                    let reason = stage_sentence(workflow, stage, reason);
                    Some((Decision::Block, reason))
                }
                Says::Asks { stage, message } => Some((asks, stage_sentence(workflow, stage, message))),
                Says::Runs(_) => {
                    self.wants = self.wants.take().or_else(|| staged.wants());
                    None
                }
            };
            if let Some((decision, reason)) = obstacle {
                let mut obstacle = self.obstacle(workflow, &tool, decision, reason);
                obstacle.is_human = matches!(staged.says, Says::Asks { .. });
                self.obstacles.push(obstacle);
            }
            self.staged.push(staged);
        }
    }

    /// Joins what was said into a verdict, and says what the session has to take in.
    pub(crate) fn close(self, deeds: Deeds, record: &mut Record) -> Verdict {
        let Self { rulebook, stand, call, scratch, obstacles, waiting, fired, staged, wants, .. } = self;
        let session = stand.session;
        let mut verdict = Verdict::join(deeds, obstacles);
        if verdict.decision < Decision::Block {
            verdict.input = masked(rulebook, call, &verdict);
        }
        if let (Some(wanted), true) = (wants, verdict.decision < Decision::Block) {
            let verdict = Verdict::refused_by_gate("condition", running_sentence(&wanted.exec.words));
            record.wants = Some(wanted);
            return verdict;
        }
        let tool = rulebook.policy.name(&call.tool);
        record.steps = stages::take_in(&staged, &verdict, &tool, call.at.max(session.clock));
        match verdict.decision {
            Decision::Allow | Decision::Redact => {
                let (moves, notes) = scratch.into_changes();
                let is_told = waiting.iter().any(|it| rulebook.hooks.result_hook(it.rule).is_some())
                    || rulebook.policy.outputs_look_at_calls(&call.tool);
                let flight = Flight {
                    tool,
                    decision: verdict.decision,
                    waiting,
                    shows: stages::shows(&staged),
                    parent: call.about.parent.as_deref().map(Arc::from),
                    call: is_told.then(|| Arc::new(call.clone())),
                    sighted: Sighted::first(call, verdict.input.as_deref()),
                    deadline: call.at.max(session.clock).after_ms(rulebook.terms.lease_ms),
                };
                let remembered = record.remembered(rulebook, stand, &verdict, call);
                let id = Arc::from(call.id.as_str());
                record.events.push(Event::Allowed { id, at: call.at, flight, moves, notes, remembered });
            }
            Decision::Ask if session.asked.len() >= rulebook.terms.asked_max => {
                // Nothing was asked, so no stage has come to its question.
                record.steps.clear();
                let reason = format!(
                    "{} questions of this session wait for a human: answer them first.",
                    session.asked.len()
                );
                return Verdict::refused_by_gate("questions-waiting", reason);
            }
            Decision::Ask => {
                let number = session.approvals_made + 1;
                verdict.approval = Some(ApprovalId { session: call.session.clone(), number });
                let remembered = record.remembered(rulebook, stand, &verdict, call);
                let about = AskedAbout { fired: &fired, boundaries: stages::boundaries(&staged) };
                record.events.push(ask(rulebook, session, call, number, &verdict, about, remembered));
            }
            Decision::Block => {
                verdict.next = next_steps(rulebook, session, &verdict.obstacles);
            }
        }
        verdict
    }
}

/// The input without its sensitive data, where a rule that acts wants that.
fn masked(rulebook: &Rulebook, call: &Call, verdict: &Verdict) -> Option<Box<Map<String, Value>>> {
    let is_wanted = verdict.obstacles.iter().any(|obstacle| obstacle.decision == Decision::Redact);
    let masking = rulebook.policy.masking();
    is_wanted.then(|| {
        let (masked, _) = masking.detectors.mask_object(&call.input, masking.mask);
        Box::new(masked.unwrap_or_else(|| call.input.clone()))
    })
}

/// The transition by which a rule lets a deed pass: the first that is enabled, and credits only for what earns.
pub(crate) fn choose(rule: &NetRule, watch: &Watch, deed: &Deed, marking: &Marking) -> Option<TransitionId> {
    let mut open = watch.transitions.iter().filter(|it| deed.earns() || !rule.net.guard(**it).is_credit);
    open.find(|transition| rule.net.net().is_enabled(marking, **transition)).copied()
}

/// What waits for a human's answer beside the call itself.
struct AskedAbout<'a> {
    fired: &'a [(RuleId, TransitionId)],
    boundaries: Vec<Boundary>,
}

/// The question to a human: the tokens of the call are taken until the answer.
fn ask(
    rulebook: &Rulebook,
    session: &Session,
    call: &Call,
    number: u64,
    verdict: &Verdict,
    about: AskedAbout<'_>,
    remembered: Option<Box<Remembered>>,
) -> Event {
    let AskedAbout { fired, boundaries } = about;
    let at = call.at.max(session.clock);
    let mut scratch = Scratch::new(&rulebook.policy, session);
    let taken = fired.iter().copied().filter(|(id, transition)| {
        // A second deed may live on what the first one gives; that is not there to be taken yet.
        rulebook.policy.net(*id).is_some_and(|rule| scratch.take(rule, *transition))
    });
    let asking = verdict.obstacles.iter().filter(|it| it.decision == Decision::Ask).filter_map(|it| it.rule);
    let timeouts: Vec<Option<Timeout>> =
        asking.map(|rule| rulebook.policy.clause(rule).and_then(|clause| clause.timeout)).collect();
    // The most impatient rule decides how long is waited.
    let wait_ms = timeouts.iter().map(|it| it.map_or(rulebook.terms.approval_ms, |it| it.ms)).min();
    let asked = Asked {
        call: call.clone(),
        shown: verdict.input.clone(),
        taken: taken.collect(),
        boundaries,
        rules: verdict
            .obstacles
            .iter()
            .filter(|it| it.decision == Decision::Ask)
            .filter_map(|it| it.rule)
            .collect(),
        deadline: at.after_ms(wait_ms.unwrap_or(rulebook.terms.approval_ms)),
        allows_late: !timeouts.is_empty()
            && timeouts.iter().all(|timeout| timeout.is_some_and(|it| it.allows)),
    };
    let (moves, _) = scratch.into_changes();
    Event::Asked { at, number, asked: Box::new(asked), moves, remembered }
}

/// The calls in flight whose success a net waits for, sorted, so that judging again sees the same.
fn pending<'a>(session: &'a Session, rule: &'a NetRule) -> Vec<PendingCall<'a>> {
    let calls = session.flights().flat_map(|(id, flight)| {
        flight.waiting.iter().filter(|waiting| waiting.rule == rule.id).map(|waiting| PendingCall {
            id,
            deed: &waiting.deed,
            transition: rule.net.net().transition_name(waiting.transition),
        })
    });
    let mut calls: Vec<PendingCall<'a>> = calls.collect();
    calls.sort_by_key(|call| call.id);
    calls
}

fn is_hand_written(rule: &NetRule) -> bool {
    matches!(rule.statement, Statement::Net(_))
}

/// Whether firing a transition changes no marking.
fn is_standstill(rule: &NetRule, transition: TransitionId) -> bool {
    rule.net.net().inputs(transition) == rule.net.net().outputs(transition)
}
