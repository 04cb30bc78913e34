//! The rules of a policy as counters over a few values, and a search for a session that breaks a claim.

use std::collections::{HashMap, VecDeque};

use lockgate_policy::{
    Claim, Mode, Policy, Property, RuleId, Scope, Statement, clause::PerValueForm, is_phrase,
};

/// The most states that are looked at.
const STATES_MAX: usize = 200_000;

/// The largest limit that is counted.
const COUNT_MAX: u64 = 64;

/// Results that are awaited at once; more count as arbitrarily many.
const AWAITED_MAX: u8 = 3;

/// A call with a value, and whether it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) tool: usize,
    pub(super) value: usize,
    pub(super) succeeds: bool,
    /// Whether it is the late success of a call that was made before.
    is_late: bool,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No session breaks the claim.
    Nothing,
    /// This one does.
    Session(Vec<Act>),
    /// There are too many states.
    TooMuch,
}

/// The rules that matter for a claim.
pub(super) struct System<'p> {
    claim: &'p Claim,
    tools: Vec<String>,
    keys: Vec<String>,
    rules: Vec<Rule>,
}

/// One rule, by the numbers of its tools.
struct Rule {
    id: RuleId,
    name: String,
    form: Form,
    /// Whether there is one for each value.
    is_each: bool,
}

enum Form {
    Require { first: Vec<usize>, then: Vec<usize> },
    Limit { calls: Vec<usize>, count: u8 },
    Close { after: Vec<usize>, then: Vec<usize> },
}

/// Where a search stands: a counter for each rule and value, for each result that is awaited, and for the claim.
type State = Vec<u8>;

impl<'p> System<'p> {
    /// None where no rule for each value has to do with the claim, or it is about something else.
    pub(super) fn of(policy: &'p Policy, claim: &'p Claim) -> Option<Self> {
        if matches!(
            claim.property,
            Property::Possible(_)
                | Property::Impossible(_)
                | Property::StaysPossible(_)
                | Property::HumanBefore(_)
        ) {
            return None;
        }
        // What is counted here has an end.
        if matches!(claim.property, Property::AtMost { count, .. } if count > COUNT_MAX) {
            return None;
        }
        let is_plain =
            |name: &str| !is_phrase(name) && !name.contains('.') && policy.renamed_in(name).is_empty();
        if !claim.property.names().iter().all(|name| is_plain(name)) {
            return None;
        }
        let keys = keys_of(claim, policy);
        let mut system = Self { claim, tools: Vec::new(), keys: keys.clone(), rules: Vec::new() };
        for name in claim.property.names() {
            system.number(name);
        }
        let enforced = policy.clauses().iter().filter(|clause| clause.rule.mode == Mode::Enforce);
        let each = enforced.filter_map(|clause| Some((clause, clause.per_value.as_ref()?)));
        for (clause, rule) in each.filter(|(_, rule)| rule.keys == keys) {
            if names(&rule.form).into_iter().all(|name| is_plain(name)) {
                let form = system.form(&rule.form);
                let name = clause.rule.name.clone();
                system.rules.extend(form.map(|form| Rule { id: clause.rule.id, name, form, is_each: true }));
            }
        }
        if system.rules.is_empty() && claim.each.is_empty() {
            return None;
        }
        for net in policy.nets().iter().filter(|net| net.mode == Mode::Enforce && net.tail.is_none()) {
            let form = match &net.statement {
                Statement::Sequence { prerequisite, dependent } if prerequisite != dependent => {
                    PerValueForm::Require { first: vec![prerequisite.clone()], then: vec![dependent.clone()] }
                }
                Statement::Limit { tool, count, scope: Scope::Session } => {
                    PerValueForm::Limit { calls: vec![tool.clone()], count: count.get() }
                }
                Statement::Block { tool } => PerValueForm::Limit { calls: vec![tool.clone()], count: 0 },
                _ => continue,
            };
            if names(&form).into_iter().all(|name| is_plain(name)) {
                let form = system.form(&form);
                let name = net.name.clone();
                system.rules.extend(form.map(|form| Rule { id: net.id, name, form, is_each: false }));
            }
        }
        Some(system)
    }

    fn number(&mut self, name: &str) -> usize {
        let known = self.tools.iter().position(|tool| tool == name);
        known.unwrap_or_else(|| {
            self.tools.push(name.to_owned());
            self.tools.len() - 1
        })
    }

    fn form(&mut self, form: &PerValueForm) -> Option<Form> {
        let mut numbers = |names: &[String]| names.iter().map(|name| self.number(name)).collect();
        Some(match form {
            PerValueForm::Require { first, then } => {
                Form::Require { first: numbers(first), then: numbers(then) }
            }
            PerValueForm::Close { after, then } => Form::Close { after: numbers(after), then: numbers(then) },
            // A limit that is never reached here only lets more happen.
            PerValueForm::Limit { count, .. } if *count > COUNT_MAX => return None,
            PerValueForm::Limit { calls, count } => {
                Form::Limit { calls: numbers(calls), count: u8::try_from(*count).ok()? }
            }
        })
    }

    pub(super) fn tool(&self, number: usize) -> &str {
        self.tools.get(number).map_or("", String::as_str)
    }

    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The rules that it is made of.
    pub(super) fn rules(&self) -> Vec<RuleId> {
        self.rules.iter().map(|rule| rule.id).collect()
    }

    /// A rule for each value that closes for good.
    pub(super) fn closing(&self) -> Option<&str> {
        let closes = |rule: &&Rule| rule.is_each && matches!(rule.form, Form::Close { .. });
        self.rules.iter().find(closes).map(|rule| rule.name.as_str())
    }

    /// Searches with one value and others that no rule for each value binds.
    pub(super) fn search_others(&self) -> Found {
        Search { system: self, bound: 1, values: 2, has_late: true }.run()
    }

    /// Searches with so many values, each bound.
    pub(super) fn search(&self, values: usize, has_late: bool) -> Found {
        Search { system: self, bound: values, values, has_late }.run()
    }
}

struct Search<'s, 'p> {
    system: &'s System<'p>,
    /// How many values rules for each value bind: the first ones.
    bound: usize,
    values: usize,
    has_late: bool,
}

impl Search<'_, '_> {
    fn run(&self) -> Found {
        let start = vec![0; self.size()];
        let mut from: HashMap<State, Option<(State, Act)>> = HashMap::new();
        let mut next = VecDeque::from([start.clone()]);
        from.insert(start, None);
        while let Some(state) = next.pop_front() {
            for act in self.acts() {
                let Some(after) = self.after(&state, act) else { continue };
                if self.breaks(&state, act) {
                    return Found::Session(session(&from, state, act));
                }
                if from.contains_key(&after) {
                    continue;
                }
                if from.len() >= STATES_MAX {
                    return Found::TooMuch;
                }
                from.insert(after.clone(), Some((state.clone(), act)));
                next.push_back(after);
            }
        }
        Found::Nothing
    }

    fn acts(&self) -> impl Iterator<Item = Act> + '_ {
        let tools = 0..self.system.tools.len();
        tools.flat_map(move |tool| {
            (0..self.values).flat_map(move |value| {
                let act = |succeeds, is_late| Act { tool, value, succeeds, is_late };
                [act(true, false), act(false, false), act(true, true)]
                    .into_iter()
                    .filter(|it| !it.is_late || self.has_late)
            })
        })
    }

    /// A counter for each rule and value, one for each tool and value, two for the claim and each value.
    fn size(&self) -> usize {
        (self.system.rules.len() + self.system.tools.len() + 2) * self.values
    }

    fn rule_at(&self, rule: usize, value: usize) -> Option<usize> {
        let is_each = self.system.rules.get(rule)?.is_each;
        // Others are bound by no rule for each value.
        if is_each && value >= self.bound {
            return None;
        }
        Some(rule * self.values + if is_each { value } else { 0 })
    }

    fn awaited_at(&self, act: Act) -> usize {
        (self.system.rules.len() + act.tool) * self.values + act.value
    }

    /// Where an act leads; none where some rule refuses it.
    fn after(&self, state: &State, act: Act) -> Option<State> {
        let mut after = state.clone();
        let awaited = after.get_mut(self.awaited_at(act))?;
        if act.is_late {
            if *awaited == 0 {
                return None;
            }
            // Arbitrarily many are never used up.
            *awaited -= u8::from(*awaited < AWAITED_MAX);
        } else if !act.succeeds && self.has_late {
            *awaited = (*awaited + 1).min(AWAITED_MAX);
        }
        for (number, rule) in self.system.rules.iter().enumerate() {
            let Some(place) = self.rule_at(number, act.value) else { continue };
            let counter = after.get_mut(place)?;
            match &rule.form {
                Form::Require { first, then } => {
                    if !act.is_late && then.contains(&act.tool) {
                        *counter = counter.checked_sub(1)?;
                    }
                    if act.succeeds && first.contains(&act.tool) {
                        *counter = 1;
                    }
                }
                Form::Limit { calls, count } if !act.is_late && calls.contains(&act.tool) => {
                    if *counter >= *count {
                        return None;
                    }
                    *counter += 1;
                }
                Form::Close { after: closing, then } if !act.is_late => {
                    if *counter > 0 && then.contains(&act.tool) {
                        return None;
                    }
                    *counter |= u8::from(closing.contains(&act.tool));
                }
                Form::Limit { .. } | Form::Close { .. } => {}
            }
        }
        self.watch(&mut after, act)?;
        Some(after)
    }

    /// The two counters of the claim for a value; those of all values where it speaks of none.
    fn claim_at(&self, value: usize) -> (usize, usize) {
        let value = if self.system.claim.each.is_empty() { 0 } else { value };
        let first = (self.system.rules.len() + self.system.tools.len()) * self.values;
        (first + value, first + self.values + value)
    }

    /// Takes in what the claim has to know.
    fn watch(&self, state: &mut State, act: Act) -> Option<()> {
        let (one, other) = self.claim_at(act.value);
        let tool = self.system.tool(act.tool);
        let mut set = |place: usize, value: u8| state.get_mut(place).map(|it| *it = value);
        match &self.system.claim.property {
            Property::NeverBefore { needs, .. } if act.succeeds && tool == needs => set(one, 1),
            Property::NeverWithoutSince { needs, since, .. } => {
                if !act.is_late && tool == since {
                    set(one, 0)?;
                }
                if act.succeeds && tool == needs { set(one, 1) } else { Some(()) }
            }
            Property::NeverAfter { after, .. } if !act.is_late && tool == after => set(one, 1),
            Property::NeverTogether(first, second) if !act.is_late => {
                if tool == first {
                    set(one, 1)?;
                }
                if tool == second { set(other, 1) } else { Some(()) }
            }
            Property::AtMost { call, count } if !act.is_late && tool == call => {
                let most = u8::try_from((*count).min(COUNT_MAX)).unwrap_or(u8::MAX);
                let counter = state.get_mut(one)?;
                *counter = counter.saturating_add(1).min(most.saturating_add(1));
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Whether an act that can happen breaks the claim: with the value that is tracked, as any value may be that one.
    fn breaks(&self, state: &State, act: Act) -> bool {
        if act.is_late || act.value >= self.bound {
            return false;
        }
        let (one, other) = self.claim_at(act.value);
        let at = |place: usize| state.get(place).copied().unwrap_or_default();
        let tool = self.system.tool(act.tool);
        match &self.system.claim.property {
            Property::NeverBefore { call, .. } => tool == call && at(one) == 0,
            // The call itself may be what starts it anew.
            Property::NeverWithoutSince { call, .. } => tool == call && at(one) == 0,
            Property::NeverAfter { call, .. } => tool == call && at(one) > 0,
            Property::NeverTogether(first, second) => {
                tool == first && at(other) > 0 || tool == second && at(one) > 0
            }
            Property::AtMost { call, count } => tool == call && u64::from(at(one)) >= *count,
            _ => false,
        }
    }
}

fn session(from: &HashMap<State, Option<(State, Act)>>, mut state: State, last: Act) -> Vec<Act> {
    let mut acts = vec![last];
    while let Some(Some((before, act))) = from.get(&state) {
        acts.push(*act);
        state = before.clone();
    }
    acts.reverse();
    acts
}

/// The names that a rule for each value speaks of.
fn names(form: &PerValueForm) -> Vec<&String> {
    match form {
        PerValueForm::Require { first, then } => first.iter().chain(then).collect(),
        PerValueForm::Close { after, then } => after.iter().chain(then).collect(),
        PerValueForm::Limit { calls, .. } => calls.iter().collect(),
    }
}

/// The fields that a claim is about; those of the rules where it names none.
fn keys_of(claim: &Claim, policy: &Policy) -> Vec<String> {
    match claim.each.is_empty() {
        false => claim.each.clone(),
        true => {
            let first = policy.clauses().iter().find_map(|clause| clause.per_value.as_ref());
            first.map(|rule| rule.keys.clone()).unwrap_or_default()
        }
    }
}
