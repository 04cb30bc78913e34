//! What is wrong with a policy as a whole, in the words of its author.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use lockgate_pattern::ToolGlob;
use lockgate_petri::prove::{
    Answer, Label, LabelSet, Onward, Rule as Form, RuleId as FormId, State, System, Trace,
};
use lockgate_policy::{
    Decision, Diagnostic, Policy, Rule, RuleId, Severity, Statement, ToolName,
    clause::Clause,
    condition::{Condition, Subject},
};

use super::{
    claims::{ClaimReport, decide},
    compose::{Asked, Both, Composed, LeftOut, Played, Requirements},
    labels::Labels,
    samples::Naming,
    together::Blocks,
};

/// How many rules a message names; of more, the first ones and how many there are. The finding itself has all of them.
const RULES_LISTED_MAX: usize = 20;

/// Something about the policy as a whole.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is told, and where.
    pub diagnostic: Diagnostic,
    /// The rules it rests on, the first one first.
    pub rules: Vec<RuleId>,
    /// The tools it is about.
    pub tools: Vec<Arc<str>>,
    /// The session that shows it, where there is one.
    pub trace: Vec<Played>,
}

/// All that was proved about a policy.
#[derive(Debug)]
pub struct Proof {
    /// What its author should know.
    pub findings: Vec<Finding>,
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
    let late = late.map(|(labels, composed)| Asked::new(labels, composed));
    let both = Both { plain: Asked::new(&labels, &composed), late };
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

/// A name as some rules see it.
#[derive(Clone, Debug)]
struct Named {
    name: Arc<str>,
    /// The ways it is called.
    ways: Vec<usize>,
    /// The rules that see it so.
    by: BTreeSet<RuleId>,
}

/// The names that rules speak of, each once for all rules that mean the same by it.
fn names(policy: &Policy, labels: &Labels<'_>) -> Vec<Named> {
    let mut names: BTreeMap<(Arc<str>, Option<RuleId>), Vec<usize>> = BTreeMap::new();
    let mut add = |name: &Arc<str>, rule: Option<RuleId>, way: usize| {
        let ways = names.entry((name.clone(), rule)).or_default();
        if ways.last() != Some(&way) {
            ways.push(way);
        }
    };
    let named: BTreeSet<&str> =
        policy.clauses().iter().flat_map(|clause| &clause.tools).map(String::as_str).collect();
    let staged: BTreeSet<String> = policy
        .workflows()
        .iter()
        .flat_map(|workflow| &workflow.stages)
        .flat_map(|stage| stage.tools.iter().flatten().filter_map(ToolGlob::exact))
        .collect();
    for (index, way) in labels.ways() {
        labels.view(0, index).iter().for_each(|watch| add(&watch.name, Some(watch.rule), index));
        if !way.is_further && (named.contains(&*way.tool) || staged.contains(&*way.tool)) {
            add(&way.tool, None, index);
        }
    }
    let mut unique: BTreeMap<(Arc<str>, Vec<usize>), BTreeSet<RuleId>> = BTreeMap::new();
    for ((name, rule), ways) in names {
        unique.entry((name, ways)).or_default().extend(rule);
    }
    unique.into_iter().map(|((name, ways), by)| Named { name, ways, by }).collect()
}

struct Proving<'a, 'b, 'p> {
    policy: &'a Policy,
    both: &'a Both<'b, 'p>,
    /// Calls one after another.
    composed: &'a Composed,
    names: Vec<Named>,
    findings: Vec<Finding>,
    undecided: Vec<String>,
}

impl<'b, 'p> Proving<'_, 'b, 'p> {
    fn calls(&self, named: &Named) -> LabelSet {
        calls_in(&self.both.plain, named)
    }

    /// `circular`: requirements that wait for each other.
    fn cycles(&mut self, dead: &[Dead]) {
        let mut dead_by_label: BTreeMap<Label, Vec<&Arc<str>>> = BTreeMap::new();
        for it in dead {
            for label in self.calls(&it.named).iter() {
                dead_by_label.entry(label).or_default().push(&it.named.name);
            }
        }
        for cycle in self.composed.system.cycles() {
            let rules = self.rules(cycle.waits.iter().map(|(_, rule)| *rule));
            let on_it = cycle.labels.iter().filter_map(|label| dead_by_label.get(label)).flatten();
            let names: BTreeSet<Arc<str>> = on_it.map(|name| Arc::clone(name)).collect();
            let names: Vec<Arc<str>> = names.into_iter().collect();
            // What holds of results alone is no rule of anybody's.
            if rules.is_empty() || names.is_empty() {
                continue;
            }
            let listed = listed(&names);
            let message = match names.len() {
                1 => format!("{listed} waits for itself, so it can never be called"),
                _ => format!("{listed} wait for each other in a circle, so none of them can ever be called"),
            };
            let remedy = "take one of these rules out, or let one of them wait for something else";
            self.find(Found { rules, tools: names, ..Found::error("circular", message, remedy) });
        }
    }

    /// The names that no session can ever call.
    fn dead(&mut self) -> Vec<Dead> {
        let prover = &self.both.plain.prover;
        // Most names are seen to be called on one long session: only the others need a question each.
        let seen = prover.seen_to_happen();
        let is_seen = |labels: &LabelSet| labels.iter().any(|label| seen.contains(label));
        let names: Vec<(Named, LabelSet)> =
            self.names.iter().map(|it| (it.clone(), self.calls(it))).collect();
        let names = names.into_iter().filter(|(_, labels)| !labels.is_empty() && !is_seen(labels));
        let (names, calls): (Vec<Named>, Vec<LabelSet>) = names.unzip();
        let searched = calls.iter().filter(|labels| !prover.wait_for_ever(labels)).cloned();
        let mut answers = prover.all_can_call_one_by_one(&searched.collect::<Vec<_>>()).into_iter();
        let mut dead = Vec::new();
        for (named, labels) in names.into_iter().zip(calls) {
            let mut reasons: Option<Vec<FormId>> = None;
            let mut is_dead = self.composed.cut.is_empty();
            let answers = if prover.wait_for_ever(&labels) { None } else { answers.next() };
            for answer in answers.into_iter().flatten() {
                match answer {
                    Answer::No(reason) => reasons.get_or_insert_default().extend(&reason.rules),
                    Answer::Undecided(_) => {
                        is_dead = false;
                        self.undecided.push(format!("whether `{}` can be called", named.name));
                        break;
                    }
                    Answer::Yes(_) => {
                        is_dead = false;
                        break;
                    }
                }
            }
            if let Some(reasons) = &mut reasons {
                reasons.sort_unstable();
                reasons.dedup();
            }
            if let (true, Some(late)) = (is_dead, self.both.late_for(&labels))
                && !late.prover.can_call(&calls_in(late, &named)).is_no()
            {
                is_dead = false;
                self.undecided.push(format!("whether `{}` can be called when results come late", named.name));
            }
            if is_dead {
                dead.push(Dead { named, reasons });
            }
        }
        dead
    }

    /// `dead-tool`: a name that rules speak of and no session can ever call.
    fn dead_tools(&mut self, dead: &[Dead]) {
        let circular = self.findings.iter().filter(|found| found.diagnostic.code == "circular");
        let circular: BTreeSet<Arc<str>> = circular.flat_map(|found| found.tools.iter().cloned()).collect();
        // What the author blocks in so many words is no news, and neither is a circle that was told.
        for Dead { named, reasons } in dead.iter().filter(|it| !circular.contains(&it.named.name)) {
            let (name, labels) = (&named.name, self.calls(named));
            let waited: Vec<FormId>;
            let reasons = match reasons {
                Some(reasons) => reasons,
                None => {
                    waited = match self.both.plain.prover.can_call(&labels) {
                        Answer::No(reason) => reason.rules,
                        Answer::Yes(_) | Answer::Undecided(_) => continue,
                    };
                    &waited
                }
            };
            let rules = self.rules_about(named, reasons);
            let blocked: BTreeSet<Label> = reasons
                .iter()
                .filter_map(|form| match self.composed.system.rules().get(form.0) {
                    Some(Form::Block(blocked)) if !self.composed.covers.contains_key(form) => Some(blocked),
                    _ => None,
                })
                .flat_map(|blocked| blocked.iter().collect::<Vec<_>>())
                .collect();
            let is_blocked = labels.iter().all(|label| blocked.contains(&label));
            if is_blocked || rules.is_empty() {
                continue;
            }
            let because = self.listed_rules(&rules);
            let message = match rules.len() {
                1 => format!("no session can ever call `{name}`: {because} rules it out"),
                _ => format!("no session can ever call `{name}`: {because} together rule it out"),
            };
            let remedy = "take out or change one of these rules, or block it in so many words";
            let tools = vec![name.clone()];
            self.find(Found { rules, tools, ..Found::error("dead-tool", message, remedy) });
        }
    }

    /// `unreachable-approval`: a human who will never be asked.
    fn unreachable_approvals(&mut self, dead: &BTreeSet<Label>) {
        for (rule, labels) in &self.composed.human {
            let names = match self.names_of_rule(*rule) {
                names if names.is_empty() => self.names_of_labels(labels),
                names => names,
            };
            if names.is_empty() || labels.is_empty() || !labels.iter().all(|label| dead.contains(&label)) {
                continue;
            }
            let message =
                format!("nobody will ever be asked about {}: it can never be called", listed(&names));
            let remedy = "take the rule out, or open the way to the tool";
            let found = Found::warning("unreachable-approval", message, remedy);
            self.find(Found { rules: vec![*rule], tools: names, ..found });
        }
    }

    /// `redundant` and `unreachable-limit`: rules that change no verdict in any session.
    fn redundant(&mut self, dead: &BTreeSet<Label>) {
        let mut forms: BTreeMap<RuleId, usize> = BTreeMap::new();
        let is_own = |form: &FormId| !self.composed.covers.contains_key(form);
        for rule in (0..self.composed.rules.len()).map(FormId).filter(is_own) {
            self.composed.rule(rule).into_iter().for_each(|rule| *forms.entry(rule).or_default() += 1);
        }
        // What rules block whatever the session, in so many words.
        let blocked: BTreeSet<Label> = (0..self.composed.rules.len())
            .map(FormId)
            .filter(is_own)
            .filter_map(|form| match self.composed.system.rules().get(form.0) {
                Some(Form::Block(labels)) => Some(labels.iter().collect::<Vec<_>>()),
                _ => None,
            })
            .flatten()
            .collect();
        let requirements = Requirements::of(&self.composed.system);
        let answers = self.both.plain.prover.all_can_matter();
        let idle =
            answers.iter().zip(0..).filter(|(answer, _)| answer.is_no()).map(|(_, number)| FormId(number));
        let late = self.matter_late(idle.filter(is_own));
        for (number, answer) in answers.into_iter().enumerate() {
            let form = FormId(number);
            let Some(rule) = self.composed.rule(form).filter(|_| is_own(&form)) else { continue };
            // What is not known to the letter may refuse more than is seen here.
            if !self.composed.is_exact(rule) || forms.get(&rule) != Some(&1) || !self.composed.cut.is_empty()
            {
                continue;
            }
            let Some(head) = self.policy.rule(rule) else { continue };
            let reason = match answer {
                Answer::Yes(_) => continue,
                Answer::Undecided(_) => {
                    self.undecided.push(format!("whether `{}` ever changes a verdict", head.name));
                    continue;
                }
                Answer::No(reason) => reason,
            };
            let own = self.composed.system.rules().get(number);
            let is_entangled = own.is_some_and(|own| requirements.entangle(own));
            if is_entangled || late.contains(&form) {
                self.undecided.push(format!("whether `{}` matters when results come late", head.name));
                continue;
            }
            let others: Vec<RuleId> = self.rules(reason.rules.iter().copied().filter(|it| *it != form));
            let names = self.names_of_rule(rule);
            // A tool that can never be called is told as such; that its rules are idle follows. What is blocked in so
            // many words is not told, so there the idle rule is.
            let restricted = restricted(self.composed.system.rules().get(number));
            let is_dead = restricted.is_some_and(|labels| labels.iter().any(|label| dead.contains(&label)));
            // Of two rules that block the same, neither is told: one of them has to stay.
            let is_block = matches!(self.composed.system.rules().get(number), Some(Form::Block(_)));
            let is_blocked = !is_block
                && restricted.is_some_and(|labels| labels.iter().all(|label| blocked.contains(&label)));
            if is_dead && !is_blocked {
                continue;
            }
            let is_limit = !is_blocked
                && matches!(
                    self.composed.system.rules().get(number),
                    Some(Form::Limit { .. } | Form::LimitPer { .. })
                );
            let name = &head.name;
            let by = self.already_said_by(&others);
            let (code, message) = if is_limit {
                ("unreachable-limit", format!("`{name}` can never be reached{by}"))
            } else {
                ("redundant", format!("`{name}` changes no verdict in any session{by}"))
            };
            let rules = std::iter::once(rule).chain(others).collect();
            let remedy = "take the rule out, or say what it is meant to add";
            self.find(Found { rules, tools: names, ..Found::warning(code, message, remedy) });
        }
    }

    /// Those of some forms of which it is not proved that they change nothing when results come late.
    fn matter_late(&self, forms: impl Iterator<Item = FormId>) -> BTreeSet<FormId> {
        let Some(late) = &self.both.late else { return BTreeSet::new() };
        let rules = self.composed.system.rules();
        let is_near = |form: &FormId| {
            rules.get(form.0).is_some_and(|own| self.both.late_for(&own.alphabet()).is_some())
        };
        let (mut asked, mut found) = (Vec::new(), BTreeSet::new());
        for form in forms.filter(is_near) {
            match late.composed.system.rules().get(form.0) {
                Some(own) => asked.push((late.composed.strict(own), form)),
                None => drop(found.insert(form)),
            }
        }
        let is_idle = late.prover.all_never_violate_instead(&asked);
        found.extend(asked.iter().zip(is_idle).filter(|(_, is_idle)| !is_idle).map(|((_, form), _)| *form));
        found
    }

    /// `redundant`: rules that look at calls, and block only what other such rules block.
    fn redundant_conditions(&mut self, dead: &BTreeSet<Label>) {
        let policy = self.policy;
        let naming = Naming::of(policy);
        let mut blocks: BTreeMap<&str, Option<Blocks<'_>>> = BTreeMap::new();
        let living: BTreeSet<Arc<str>> = self.living(dead).into_iter().map(|named| named.name).collect();
        let mut told: BTreeSet<RuleId> = BTreeSet::new();
        let looks =
            |it: &&Clause| it.acts() && it.wants == Decision::Block && it.conditions.iter().any(is_of_call);
        // Later rules first, and what is told makes nothing else redundant: all of it may be taken out together.
        for clause in policy.clauses().iter().rev().filter(looks) {
            let names = naming.of_clause(clause.id);
            let exact = names.iter().map(|name| match name {
                Some(ToolName::Exact(tool)) => Some(tool.as_str()),
                Some(ToolName::Matching(_)) | None => None,
            });
            let Some(tools) = exact.collect::<Option<Vec<&str>>>().filter(|tools| !tools.is_empty()) else {
                continue;
            };
            if tools.iter().any(|tool| !living.contains(*tool)) {
                continue;
            }
            let mut others: BTreeSet<RuleId> = BTreeSet::new();
            let is_idle = tools.iter().all(|tool| {
                let blocks = blocks.entry(tool).or_insert_with(|| Blocks::of(policy, tool));
                let instead = blocks.as_ref().and_then(|it| it.instead_of(clause, &told));
                others.extend(instead.iter().flatten());
                instead.is_some()
            });
            if !is_idle {
                continue;
            }
            told.insert(clause.id);
            let others: Vec<RuleId> = others.into_iter().collect();
            let by = self.already_said_by(&others);
            let message = format!("`{}` changes no verdict in any session{by}", clause.name);
            let remedy = "take the rule out, or say what it is meant to add";
            let rules = std::iter::once(clause.id).chain(others).collect();
            let tools = tools.into_iter().map(Arc::from).collect();
            self.find(Found { rules, tools, ..Found::warning("redundant", message, remedy) });
        }
    }

    fn already_said_by(&self, rules: &[RuleId]) -> String {
        match rules {
            [] => String::new(),
            [_] => format!(": {} already says so", self.listed_rules(rules)),
            _ => format!(": {} already say so", self.listed_rules(rules)),
        }
    }

    /// `trap` and `exhausted`: sessions after which something that was possible never is again.
    fn lost(&mut self, dead: &BTreeSet<Label>) {
        let names = self.living(dead);
        let goals: Vec<LabelSet> = names.iter().map(|named| self.calls(named)).collect();
        let answers = self.both.plain.prover.all_can_lose(&goals);
        let mut last: Option<Lost<'_>> = None;
        for ((named, goal), answer) in names.iter().zip(&goals).zip(answers) {
            let name = &named.name;
            let trace = match answer {
                Answer::No(_) => continue,
                Answer::Undecided(_) => {
                    self.undecided.push(format!("whether `{name}` stays possible"));
                    continue;
                }
                Answer::Yes(trace) => trace,
            };
            // Many names are lost by one session.
            let lost = match &mut last {
                Some(known) if known.trace == trace => known,
                _ => last.insert(Lost::by(trace, &self.composed.system)),
            };
            // That nothing opens it again has to hold for late results, too.
            if let Some(late) = self.both.late_for(goal)
                && !lost.stays_closed(self.both, &calls_in(late, named))
            {
                self.undecided.push(format!("whether `{name}` stays possible when results come late"));
                continue;
            }
            let refusing = lost.closed.refusing(goal);
            let rules = self.rules_about(named, &refusing);
            let is_own = |form: &FormId| match self.composed.system.rules().get(form.0) {
                Some(Form::Limit { spend, .. }) => goal.iter().any(|label| spend.contains(label)),
                _ => false,
            };
            // That a limit ends what it limits is what it is there for.
            if refusing.iter().any(is_own) || rules.is_empty() {
                continue;
            }
            let is_limit = |form: &FormId| {
                let form = self.composed.system.rules().get(form.0);
                matches!(form, Some(Form::Limit { .. } | Form::LimitPer { .. }))
            };
            let because = self.listed_rules(&rules);
            let found = if refusing.iter().any(is_limit) {
                let message = format!(
                    "a session can use up what `{name}` needs: then {because} keeps it closed for good"
                );
                Found::note("exhausted", message, "raise the limit, if that is not meant")
            } else {
                let message = format!(
                    "a session can get where `{name}` is never possible again: {because} keeps it closed"
                );
                Found::warning("trap", message, "open a way back, or forbid the way in")
            };
            let trace = self.composed.played(&lost.trace);
            self.find(Found { rules, tools: vec![name.clone()], trace, ..found });
        }
    }

    /// `stuck`: sessions after which nothing that rules speak of can be called any more.
    fn stuck(&mut self, dead: &BTreeSet<Label>) {
        let living = self.living(dead);
        if living.is_empty() {
            return;
        }
        let calls =
            |names: &[Named]| names.iter().flat_map(|it| self.calls(it).iter().collect::<Vec<_>>()).collect();
        let all: LabelSet = calls(&self.names);
        let trace = match self.both.plain.prover.can_get_stuck(&all) {
            // Beside rules under which late results matter, nobody knows.
            Answer::Yes(_) if self.both.late.is_some() => return,
            Answer::Yes(trace) if !trace.is_empty() => trace,
            Answer::Yes(_) | Answer::No(_) => return,
            Answer::Undecided(_) => {
                self.undecided.push("whether a session can get stuck".to_owned());
                return;
            }
        };
        let goal: LabelSet = calls(&living);
        let refusing = Closed::after(&self.composed.system, &trace).refusing(&goal);
        let rules = self.rules(refusing);
        let message = format!(
            "a session can get where nothing that the rules speak of can be called any more: {}",
            self.listed_rules(&rules)
        );
        let remedy = "raise a limit or open a way back, if sessions are meant to go on";
        let trace = self.composed.played(&trace);
        let tools = living.into_iter().map(|named| named.name).collect();
        self.find(Found { rules, tools, trace, ..Found::note("stuck", message, remedy) });
    }

    /// The names that some session can call.
    fn living(&self, dead: &BTreeSet<Label>) -> Vec<Named> {
        let lives = |named: &&Named| self.calls(named).iter().any(|label| !dead.contains(&label));
        self.names.iter().filter(lives).cloned().collect()
    }

    fn rules(&self, forms: impl IntoIterator<Item = FormId>) -> Vec<RuleId> {
        let mut rules: Vec<RuleId> =
            forms.into_iter().flat_map(|form| self.composed.rules_of(form)).copied().collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// The same, those first that know a name as it is meant, then those that close it.
    fn rules_about(&self, named: &Named, forms: &[FormId]) -> Vec<RuleId> {
        let goal = self.calls(named);
        let closes = |form: &&FormId| {
            let labels = restricted(self.composed.system.rules().get(form.0));
            labels.is_none_or(|labels| goal.iter().any(|label| labels.contains(label)))
        };
        let closing: BTreeSet<RuleId> =
            forms.iter().filter(closes).flat_map(|form| self.composed.rules_of(*form)).copied().collect();
        let mut parts: [Vec<RuleId>; 4] = Default::default();
        for rule in self.rules(forms.iter().copied()) {
            let part = match (named.by.contains(&rule), closing.contains(&rule)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            parts.get_mut(part).into_iter().for_each(|part| part.push(rule));
        }
        parts.concat()
    }

    fn names_of_labels(&self, labels: &LabelSet) -> Vec<Arc<str>> {
        let deed = |label: Label| self.composed.act(label).map(|act| act.way.deed());
        let names: BTreeSet<Arc<str>> = labels.iter().filter_map(deed).collect();
        names.into_iter().collect()
    }

    /// The names that a rule restricts.
    fn names_of_rule(&self, rule: RuleId) -> Vec<Arc<str>> {
        if let Some(clause) = self.policy.clause(rule) {
            return clause.tools.iter().map(|tool| Arc::from(tool.as_str())).collect();
        }
        let Some(net) = self.policy.net(rule) else { return Vec::new() };
        match &net.statement {
            Statement::Sequence { dependent, .. } => vec![Arc::from(dependent.as_str())],
            Statement::Approval { tool } | Statement::Block { tool } | Statement::Limit { tool, .. } => {
                vec![Arc::from(tool.as_str())]
            }
            Statement::Net(_) => net.net.names(),
        }
    }

    fn listed_rules(&self, rules: &[RuleId]) -> String {
        let words = |rule: &Rule| format!("`{}` ({}:{})", rule.name, rule.place.file, rule.place.line);
        let known = rules.iter().filter_map(|rule| self.policy.rule(*rule));
        let mut names: Vec<String> = known.take(RULES_LISTED_MAX).map(words).collect();
        if rules.len() > RULES_LISTED_MAX {
            names.push(format!("and {} more", rules.len() - RULES_LISTED_MAX));
        }
        names.join(", ")
    }

    fn find(&mut self, found: Found) {
        let Some(rule) = found.rules.first().and_then(|rule| self.policy.rule(*rule)) else { return };
        let diagnostic = Diagnostic {
            code: found.code,
            severity: found.severity,
            message: found.message.clone(),
            source: rule.source.clone(),
            span: rule.span,
            label: String::new(),
            remedy: Some(found.remedy.to_owned()),
        };
        let Found { rules, tools, trace, .. } = found;
        self.findings.push(Finding { diagnostic, rules, tools, trace });
    }
}

/// Whether a condition is about the call, and not about the session or the hour.
fn is_of_call(condition: &Condition) -> bool {
    match condition {
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) => true,
        Condition::Value(value) => !matches!(value.subject, Subject::Session(_)),
        _ => false,
    }
}

/// A session after which something is never possible again.
struct Lost<'a> {
    trace: Trace,
    closed: Closed<'a>,
    /// What can follow it where results come late, once somebody has asked.
    onward: Option<Option<Onward<'a>>>,
}

impl<'a> Lost<'a> {
    fn by(trace: Trace, system: &'a System) -> Self {
        Self { closed: Closed::after(system, &trace), trace, onward: None }
    }

    /// Whether late results open none of these calls.
    fn stays_closed(&mut self, both: &'a Both<'_, '_>, calls: &LabelSet) -> bool {
        let onward = self.onward.get_or_insert_with(|| both.onward(&self.trace));
        onward.as_ref().is_some_and(|onward| onward.can_call(calls).is_no())
    }
}

/// Where a session stands, and what is closed there.
struct Closed<'a> {
    system: &'a System,
    state: State,
    /// The rules that refuse each label, as far as somebody has asked.
    refusing: HashMap<Label, Vec<FormId>, RandomState>,
}

impl<'a> Closed<'a> {
    fn after(system: &'a System, trace: &Trace) -> Self {
        Self { system, state: system.replay(trace).unwrap_or_default(), refusing: HashMap::default() }
    }

    /// The rules that refuse all ways of a goal, and all ways of what those rules wait for, in ascending order.
    fn refusing(&mut self, goal: &LabelSet) -> Vec<FormId> {
        let Self { system, state, refusing } = self;
        let mut found: Vec<FormId> = Vec::new();
        let mut wanted: Vec<Label> = goal.iter().collect();
        let mut seen: HashSet<Label, RandomState> = goal.iter().collect();
        while let Some(label) = wanted.pop() {
            let forms = refusing.entry(label).or_insert_with(|| system.refusing(state, label).collect());
            for form in forms {
                found.push(*form);
                let waits_for = match system.rules().get(form.0) {
                    Some(Form::Require { before, .. }) => before,
                    Some(Form::Since { needs, .. }) => needs,
                    Some(Form::LimitPer { refill, .. }) => refill,
                    _ => continue,
                };
                wanted.extend(waits_for.iter().filter(|label| seen.insert(*label)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// A name that no session can call, and why.
struct Dead {
    named: Named,
    /// In ascending order; none where it waits for ever, and nobody has asked for what.
    reasons: Option<Vec<FormId>>,
}

fn calls_in(asked: &Asked<'_, '_>, named: &Named) -> LabelSet {
    asked.labels.calls(named.ways.iter().copied())
}

/// What a form may refuse; none where that depends on its state.
fn restricted(form: Option<&Form>) -> Option<&LabelSet> {
    match form? {
        Form::Require { then, .. } | Form::Never { then, .. } | Form::Since { then, .. } => Some(then),
        Form::Block(labels) | Form::Limit { spend: labels, .. } | Form::LimitPer { spend: labels, .. } => {
            Some(labels)
        }
        Form::Table(_) => None,
    }
}

/// A finding on its way.
struct Found {
    code: &'static str,
    severity: Severity,
    message: String,
    remedy: &'static str,
    rules: Vec<RuleId>,
    tools: Vec<Arc<str>>,
    trace: Vec<Played>,
}

impl Found {
    fn new(severity: Severity, code: &'static str, message: String, remedy: &'static str) -> Self {
        Self { code, severity, message, remedy, rules: Vec::new(), tools: Vec::new(), trace: Vec::new() }
    }

    fn error(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Error, code, message, remedy)
    }

    fn warning(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Warning, code, message, remedy)
    }

    fn note(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Note, code, message, remedy)
    }
}

fn listed(names: &[Arc<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.join(", "),
    }
}
