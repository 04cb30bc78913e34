//! What can be switched on and off under which name.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_policy::{Policy, Rule, RuleId};

/// What can be switched on and off under which name, and what is off when a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// In the order in which they were given.
    own: Vec<(String, BTreeSet<RuleId>)>,
    off_at_first: BTreeSet<RuleId>,
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
    pub(crate) fn switches(&self, policy: &Policy) -> Vec<(String, BTreeSet<RuleId>)> {
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

    pub(crate) fn known(&self, policy: &Policy) -> Vec<String> {
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
