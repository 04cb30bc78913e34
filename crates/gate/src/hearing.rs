//! One call before the rules: every rule that knows a deed of it is asked, in order.
//!
//! What follows from their answers is decided in `closing.rs`, once all of them were asked.

mod closing;

use std::sync::Arc;

use lockgate_call::SeenCall;
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{
    Applying, Basis, Clause, Decision, Deed, Groups, Mode, NetRule, Rule, RuleId, Statement, View, Watch,
    unreadable_sentence, workflow::Outcome as Says,
};
use smallvec::SmallVec;

use crate::{
    human::Human,
    rulebook::{Attempt, PendingCall, Rulebook},
    scratch::Scratch,
    stages::{Staged, WantedRun},
    state::{Session, Stand, Waiting},
    verdict::{
        About, Obstacle, blocked_sentence, doubtful_sentence, guessed_sentence, human_sentence,
        refused_before_sentence, restless_sentence, stage_sentence, unattended_sentence,
    },
};

/// What every rule but the workflows says.
pub(crate) fn heard<'a>(
    rulebook: &'a Rulebook,
    stand: Stand<'a>,
    call: &'a SeenCall,
    (human, granted, imposed): (Human, &'a [RuleId], Option<&Obstacle>),
) -> (Groups, Hearing<'a>) {
    let policy = &rulebook.policy;
    let session = stand.session;
    let (groups, doubts) = policy.look_at(call);
    let mut hearing = Hearing {
        rulebook,
        stand,
        call,
        human,
        granted,
        scratch: Scratch::new(policy, session),
        obstacles: imposed.into_iter().cloned().collect(),
        waiting: SmallVec::new(),
        fired: SmallVec::new(),
        staged: Vec::new(),
        wants: None,
    };
    hearing.hear_door();
    hearing.hear_protection();
    hearing.hear_clauses(&groups);
    // What was seen comes before what is only guessed: a guess must not use up what the former needs.
    for guesses in [false, true] {
        for (audience, deeds) in &groups {
            for deed in deeds.iter().filter(|deed| deed.basis.is_guess() == guesses) {
                for watch in policy.watches(*audience, deed) {
                    if let (true, Some(rule)) = (session.is_active(watch.rule), policy.net(watch.rule)) {
                        let before = hearing.obstacles.len();
                        hearing.hear(rule, watch, deed, &groups);
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
    call: &'a SeenCall,
    human: Human,
    /// The rules whose questions a human has granted.
    granted: &'a [RuleId],
    scratch: Scratch<'a>,
    obstacles: Vec<Obstacle>,
    waiting: SmallVec<[Waiting; 1]>,
    fired: SmallVec<[(RuleId, TransitionId); 2]>,
    staged: Vec<Staged<'a>>,
    pub(crate) wants: Option<WantedRun>,
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
    fn hear_clauses(&mut self, groups: &Groups) {
        let Self { rulebook, stand, call, .. } = *self;
        if rulebook.policy.clauses().is_empty() {
            return;
        }
        let now = call.at.max(stand.session.clock);
        let view =
            View { call, output: None, now, around: &rulebook.around, memory: &stand, deeds: Some(groups) };
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
            Decision::Ask => self.answered_before(clause, tool, view),
            Decision::Allow | Decision::Redact | Decision::Block => None,
        };
        let (decision, reason) = match (clause.wants, before, self.human) {
            (Decision::Ask, Some(false), _) => (Decision::Block, refused_before_sentence(tool)),
            (Decision::Ask, Some(true), _) => (Decision::Allow, clause.says(view)),
            (Decision::Ask, None, _) if self.granted.contains(&clause.id) => {
                (Decision::Allow, clause.says(view))
            }
            (Decision::Ask, None, Human::Absent) => {
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

    /// What a human has said about this before, as far as it still stands and its proof counts.
    fn answered_before(&self, clause: &Clause, tool: &Arc<str>, view: &View<'_>) -> Option<bool> {
        let Rulebook { policy, terms, answer_trust, .. } = self.rulebook;
        let answer = self.stand.answer(clause.standing, clause.id, tool, view.now)?;
        let counts = answer_trust.counts(answer, &self.call.session, policy, terms.standing_ms);
        counts.then_some(answer.granted)
    }

    /// Asks one rule about one deed.
    fn hear(&mut self, rule: &NetRule, watch: &Watch, deed: &Deed, groups: &Groups) {
        if watch.is_free {
            return;
        }
        if rule.is_eased() && watch.refuses && !self.is_spoken_of(rule, groups) {
            return;
        }
        match choose(rule, watch, deed, self.scratch.marking(rule)) {
            Some(transition) => self.pass(rule, transition, &watch.name, deed),
            None if watch.refuses => {
                let reason =
                    self.because(rule, groups).unwrap_or_else(|| blocked_sentence(rule, &watch.name));
                if rule.tail.as_ref().is_some_and(|tail| tail.asks) {
                    self.want_human(rule, &watch.name, reason);
                } else {
                    self.object(rule, &watch.name, Decision::Block, reason);
                }
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
        let unreadable = self.rulebook.policy.unreadable_in_file_of(watch);
        // A file that lets unreadable scripts pass does not guess what they are.
        if deed.basis.is_guess() && unreadable == Some(Decision::Allow)
            || deed.basis == Basis::Typed && self.rulebook.policy.excepts_consoles_in_file_of(watch)
        {
            return;
        }
        let is_final = unreadable == Some(Decision::Block);
        for mut obstacle in said {
            obstacle.about = About::Guessed;
            if deed.basis.is_guess() {
                obstacle.reason = guessed_sentence(&watch.name, &obstacle.reason);
                if !is_final {
                    obstacle.is_human = true;
                    if self.granted.contains(&watch.rule) {
                        continue;
                    }
                    obstacle.decision = self.asks();
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
            let is_unattended = is_human && self.human == Human::Absent;
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
            self.want_human(rule, name, human_sentence(rule, name));
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

    fn view<'v>(&'v self, groups: &'v Groups) -> View<'v> {
        let Self { rulebook, stand, call, .. } = self;
        let now = call.at.max(stand.session.clock);
        View { call, output: None, now, around: &rulebook.around, memory: stand, deeds: Some(groups) }
    }

    /// Whether the conditions of a rule let it apply to this call.
    fn is_spoken_of(&self, rule: &NetRule, groups: &Groups) -> bool {
        rule.speaks_of(&self.view(groups))
    }

    /// What its author lets a rule say.
    fn because(&self, rule: &NetRule, groups: &Groups) -> Option<String> {
        let because = rule.tail.as_ref()?.because.as_ref()?;
        Some(because.expand(&self.view(groups)))
    }

    fn want_human(&mut self, rule: &NetRule, name: &Arc<str>, reason: String) {
        if self.granted.contains(&rule.id) {
            return;
        }
        self.object(rule, name, self.asks(), reason);
        if let Some(last) = self.obstacles.last_mut() {
            last.is_human = true;
        }
    }

    /// What a rule that asks comes to.
    fn asks(&self) -> Decision {
        match self.human {
            Human::Reachable => Decision::Ask,
            Human::Absent => Decision::Block,
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
            staged.is_unattended = self.human == Human::Absent;
            let obstacle = match &staged.says {
                Says::Accepted { .. } => None,
                Says::Blocked { stage, reason, .. } => {
                    let reason = stage_sentence(workflow, stage, reason);
                    Some((Decision::Block, reason))
                }
                Says::Asks { stage, message } => {
                    Some((self.asks(), stage_sentence(workflow, stage, message)))
                }
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
}

/// The transition by which a rule lets a deed pass: the first that is enabled, and credits only for what earns.
pub(crate) fn choose(rule: &NetRule, watch: &Watch, deed: &Deed, marking: &Marking) -> Option<TransitionId> {
    let mut open = watch.transitions.iter().filter(|it| deed.earns() || !rule.net.guard(**it).is_credit);
    open.find(|transition| rule.net.net().is_enabled(marking, **transition)).copied()
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
