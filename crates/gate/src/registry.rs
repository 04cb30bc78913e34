//! The nets of one session, to be activated and deactivated, under names of one's own.
//!
//! A rule that is not active takes no part in judgements and keeps its marking; results it waited for still land.
//! [`Names`] says what can be switched: every net by its name, every file as a whole, and what the operator named. The
//! messages are the documented ones. Switching is for whoever runs the gate, never for the agent: no tool call leads
//! here.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_call::Time;
use lockgate_policy::{Policy, Rule, RuleId};

use crate::{event::Event, gate::Gate, store::StoreError};

/// What can be switched on and off under which name, and what is off when a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// In the order in which they were given.
    own: Vec<(String, BTreeSet<RuleId>)>,
    off_at_first: BTreeSet<RuleId>,
}

/// The nets of one session.
#[derive(Debug)]
pub struct Registry<'a> {
    gate: &'a Gate,
    session: &'a str,
}

/// Why a net could not be activated or deactivated.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The policy has no such net.
    #[error("Unknown net '{name}'. Available: {available}")]
    Unknown {
        /// The name given.
        name: String,
        /// The nets there are.
        available: String,
    },
    /// It takes part already.
    #[error("'{0}' is already active")]
    AlreadyActive(String),
    /// It takes no part anyway.
    #[error("'{name}' is not active. Active: {active}")]
    NotActive {
        /// The name given.
        name: String,
        /// The nets that take part.
        active: String,
    },
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A name that stands for nothing in the policy, or for more than one file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is called `{name}`; there are: {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

impl Names {
    /// The names of an operator's own, each for nets, files or names given before it, and what is active when a session
    /// begins; none is everything.
    ///
    /// # Errors
    /// When a name stands for nothing: a switch that switches nothing must not look like one.
    pub(crate) fn new(
        policy: &Policy,
        named: &[(String, Vec<String>)],
        active: Option<&[String]>,
    ) -> Result<Self, UnknownName> {
        let mut names = Self::default();
        for (name, members) in named {
            let rules = names.all_of(policy, members)?;
            match names.own.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.extend(rules),
                None => names.own.push((name.clone(), rules)),
            }
        }
        if let Some(active) = active {
            let on = names.all_of(policy, active)?;
            // Without names of one's own the nets are the registry. What no name covers stays active, so that a rule is
            // never off by being forgotten.
            let switched: BTreeSet<RuleId> = match names.own.is_empty() {
                true => policy.nets().iter().map(|rule| rule.id).collect(),
                false => names.own.iter().flat_map(|(_, rules)| rules.iter().copied()).collect(),
            };
            names.off_at_first = switched.difference(&on).copied().collect();
        }
        Ok(names)
    }

    /// What is off when a session begins.
    pub(crate) fn off_at_first(&self) -> &BTreeSet<RuleId> {
        &self.off_at_first
    }

    /// How a net is called where the operator named it: by that name, where the name stands for it alone.
    pub(crate) fn name_of(&self, rule: &Rule) -> Option<String> {
        let (name, rules) = self.own.iter().find(|(_, rules)| rules.contains(&rule.id))?;
        Some(if rules.len() == 1 { name.clone() } else { format!("{name}/{}", rule.name) })
    }

    /// The rules a name stands for: a name of the operator's, a net, a whole file.
    pub(crate) fn find(&self, policy: &Policy, name: &str) -> BTreeSet<RuleId> {
        if let Some((_, rules)) = self.own.iter().find(|(own, _)| own == name) {
            return rules.clone();
        }
        // Rules written twice share a name and are switched together.
        let nets: BTreeSet<RuleId> =
            policy.nets().iter().filter(|rule| rule.name == name).map(|rule| rule.id).collect();
        if !nets.is_empty() {
            return nets;
        }
        let mut files: BTreeMap<&str, BTreeSet<RuleId>> = BTreeMap::new();
        for rule in policy.rules().filter(|rule| is_file(&rule.place.file, name)) {
            files.entry(&rule.place.file).or_default().insert(rule.id);
        }
        if let Some(exact) = files.remove(name) {
            return exact;
        }
        // A short name that fits several files stands for none: the wrong one might be switched off.
        if files.len() == 1 { files.into_values().next().unwrap_or_default() } else { BTreeSet::new() }
    }

    fn all_of(&self, policy: &Policy, names: &[String]) -> Result<BTreeSet<RuleId>, UnknownName> {
        let mut all = BTreeSet::new();
        for name in names {
            let found = self.find(policy, name);
            if found.is_empty() {
                let known =
                    self.known(policy).into_iter().chain(files(policy)).collect::<Vec<_>>().join(", ");
                return Err(UnknownName { name: name.clone(), known });
            }
            all.extend(found);
        }
        Ok(all)
    }

    /// Every name that can be switched and its rules: the operator's, and nets that these do not cover.
    fn switches(&self, policy: &Policy) -> Vec<(String, BTreeSet<RuleId>)> {
        let mut switches = self.own.clone();
        for rule in policy.nets() {
            if self.own.iter().any(|(_, rules)| rules.contains(&rule.id)) {
                continue;
            }
            match switches.iter_mut().find(|(name, _)| *name == rule.name) {
                Some((_, rules)) => _ = rules.insert(rule.id),
                None => switches.push((rule.name.clone(), BTreeSet::from([rule.id]))),
            }
        }
        switches
    }

    fn known(&self, policy: &Policy) -> Vec<String> {
        self.switches(policy).into_iter().map(|(name, _)| name).collect()
    }
}

/// Whether a file is meant: by its path, its name, or its name without what follows the last dot.
fn is_file(file: &str, name: &str) -> bool {
    let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    !name.is_empty() && [file, last, stem].contains(&name)
}

/// The files of a policy, in order.
fn files(policy: &Policy) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for rule in policy.rules() {
        if !files.iter().any(|file| **file == *rule.place.file) {
            files.push(rule.place.file.to_string());
        }
    }
    files
}

impl<'a> Registry<'a> {
    pub(crate) fn new(gate: &'a Gate, session: &'a str) -> Self {
        Self { gate, session }
    }

    /// Lets a net, a whole file or what a name stands for take part again, where it left off.
    ///
    /// # Errors
    /// When there is no such net, it is active already, or the store fails.
    pub fn activate(&self, name: &str) -> Result<String, RegistryError> {
        let session = self.gate.session(self.session)?;
        let rules = self.find(name);
        if rules.is_empty() {
            return Err(RegistryError::Unknown { name: name.to_owned(), available: self.all().join(", ") });
        }
        if rules.iter().all(|rule| session.is_active(*rule)) {
            return Err(RegistryError::AlreadyActive(name.to_owned()));
        }
        let events = rules.iter().map(|rule| Event::Activated { rule: *rule });
        self.gate.record(self.session, events, Time(0))?;
        Ok(format!("Activated '{name}'"))
    }

    /// Lets a net, a whole file or what a name stands for take no part until it is activated again.
    ///
    /// # Errors
    /// When it is not active, there is no such net, or the store fails.
    pub fn deactivate(&self, name: &str) -> Result<String, RegistryError> {
        let session = self.gate.session(self.session)?;
        let rules = self.find(name);
        if !rules.iter().any(|rule| session.is_active(*rule)) {
            let active = self.active()?.join(", ");
            return Err(RegistryError::NotActive { name: name.to_owned(), active });
        }
        let events = rules.iter().map(|rule| Event::Deactivated { rule: *rule });
        self.gate.record(self.session, events, Time(0))?;
        Ok(format!("Deactivated '{name}' (state preserved)"))
    }

    /// Lets exactly these take part, of all that can be switched.
    ///
    /// # Errors
    /// When a name stands for nothing, or the store fails: then nothing was changed.
    pub fn set_active(&self, names: &[String]) -> Result<(), RegistryError> {
        let policy = self.gate.policy();
        let mut on = BTreeSet::new();
        for name in names {
            let rules = self.find(name);
            if rules.is_empty() {
                let available = self.all().join(", ");
                return Err(RegistryError::Unknown { name: name.to_owned(), available });
            }
            on.extend(rules);
        }
        let switched = self.gate.rulebook().names.switches(policy).into_iter().flat_map(|(_, rules)| rules);
        let switched: BTreeSet<RuleId> = switched.collect();
        let off = switched.difference(&on).map(|rule| Event::Deactivated { rule: *rule });
        let on = on.iter().map(|rule| Event::Activated { rule: *rule });
        let events: Vec<Event> = on.chain(off).collect();
        Ok(self.gate.record(self.session, events, Time(0))?)
    }

    /// What takes part of all that can be switched: names of one's own, and nets beside them, in file order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn active(&self) -> Result<Vec<String>, StoreError> {
        let session = self.gate.session(self.session)?;
        let switches = self.gate.rulebook().names.switches(self.gate.policy());
        let is_on = |rules: &BTreeSet<RuleId>| rules.iter().any(|rule| session.is_active(*rule));
        Ok(switches.into_iter().filter(|(_, rules)| is_on(rules)).map(|(name, _)| name).collect())
    }

    /// All names that can be switched, those of one's own first.
    pub fn all(&self) -> Vec<String> {
        self.gate.rulebook().names.known(self.gate.policy())
    }

    fn find(&self, name: &str) -> BTreeSet<RuleId> {
        self.gate.rulebook().names.find(self.gate.policy(), name)
    }
}
