//! Things found by a tool's name: by the name itself, by patterns that take it, or always.
//!
//! All linear patterns are tried in one pass, so that a thousand of them cost little more than one. Patterns
//! that only the backtracking engine can run are tried one after another; where it gives up, what they stand for
//! is found with a doubt, and the caller decides what that means.

use std::sync::OnceLock;

use lockgate_pattern::{Match, Pattern};
use regex::{RegexSet, RegexSetBuilder};

use crate::{
    hash::HashMap,
    tools::{ToolName, Tools},
};

/// The most memory all patterns of one index may take together, in bytes.
pub const SET_BYTES_MAX: usize = 64 << 20;

/// Whether a tool certainly is one of those meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It is.
    Certain,
    /// It may be: an engine gave up.
    Doubtful,
}

/// Things by the tools they are about.
#[derive(Debug)]
pub struct ToolIndex<T> {
    named: HashMap<String, T>,
    patterns: HashMap<String, usize>,
    matching: Vec<(Pattern, T)>,
    every: T,
    /// All linear patterns in one, with the number of each in `matching`.
    set: LazySet,
    in_set: Vec<usize>,
    /// The patterns that are not in the set.
    alone: Vec<usize>,
    /// All patterns.
    all: Vec<usize>,
}

impl<T: Default> Default for ToolIndex<T> {
    fn default() -> Self {
        Self {
            named: HashMap::default(),
            patterns: HashMap::default(),
            matching: Vec::new(),
            every: T::default(),
            set: LazySet::default(),
            in_set: Vec::new(),
            alone: Vec::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Default> ToolIndex<T> {
    /// Changes what is kept for tools; each way of naming them has a place of its own.
    pub fn put(&mut self, tools: &Tools, mut change: impl FnMut(&mut T)) {
        match tools {
            Tools::Every => change(&mut self.every),
            Tools::Any(names) => names.iter().for_each(|name| self.put_name(name, &mut change)),
        }
    }

    /// The same for one name.
    pub fn put_name(&mut self, name: &ToolName, mut change: impl FnMut(&mut T)) {
        match name {
            ToolName::Exact(name) => change(self.named.entry(name.clone()).or_default()),
            ToolName::Matching(pattern) => {
                let next = self.matching.len();
                let number = *self.patterns.entry(pattern.key()).or_insert(next);
                if number == next {
                    self.matching.push((pattern.clone(), T::default()));
                }
                if let Some((_, kept)) = self.matching.get_mut(number) {
                    change(kept);
                }
            }
        }
    }

    /// Puts the patterns together; to be called once, when everything is in.
    pub fn finish(&mut self) {
        let sources = self.matching.iter().map(|(pattern, _)| pattern.linear_source());
        let linear: Vec<(usize, &str)> =
            sources.enumerate().filter_map(|(number, source)| Some((number, source?))).collect();
        self.set = LazySet::of(linear.iter().map(|(_, source)| (*source).to_owned()).collect());
        self.in_set = linear.iter().map(|(number, _)| *number).collect();
        self.all = (0..self.matching.len()).collect();
        self.alone = (0..self.matching.len()).filter(|number| !self.in_set.contains(number)).collect();
    }

    /// Everything kept for a tool, each with whether it is certain that the tool is meant.
    pub fn of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = (Certainty, &'a T)> + 'a {
        // Where the set may see word edges otherwise than each pattern by itself, each is asked by itself.
        // A set of nothing would be asked all the same, and most policies name their tools.
        let has_set = !self.in_set.is_empty() && Pattern::suits_set(tool);
        let set = if has_set { self.set.get() } else { None };
        let found = set.map(|set| set.matches(tool));
        let in_set =
            found.into_iter().flatten().filter_map(|index| self.matching.get(*self.in_set.get(index)?));
        let in_set = in_set.map(|(_, kept)| (Certainty::Certain, kept));
        let alone = if set.is_some() { &self.alone } else { &self.all };
        let alone = alone.iter().filter_map(|number| self.matching.get(*number));
        let alone = alone.filter_map(move |(pattern, kept)| match pattern.find(tool) {
            Match::No => None,
            Match::At(_) => Some((Certainty::Certain, kept)),
            Match::Unsure => Some((Certainty::Doubtful, kept)),
        });
        let named = self.named.get(tool).into_iter().chain([&self.every]);
        named.map(|kept| (Certainty::Certain, kept)).chain(in_set).chain(alone)
    }

    /// Everything kept, with how its tools are named; none is every tool.
    pub fn ways(&self) -> impl Iterator<Item = (Option<ToolName>, &T)> {
        let named = self.named.iter().map(|(name, kept)| (Some(ToolName::Exact(name.clone())), kept));
        let matching =
            self.matching.iter().map(|(pattern, kept)| (Some(ToolName::Matching(pattern.clone())), kept));
        named.chain(matching).chain(std::iter::once((None, &self.every)))
    }

    /// Everything kept, for whatever tool.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let matching = self.matching.iter_mut().map(|(_, kept)| kept);
        self.named.values_mut().chain(matching).chain(std::iter::once(&mut self.every))
    }
}

/// Many linear patterns as one, put together when it is first asked: loading a policy does not wait for tools
/// that are never called.
#[derive(Debug, Default)]
pub struct LazySet {
    sources: Vec<String>,
    built: OnceLock<Option<RegexSet>>,
}

impl LazySet {
    /// These patterns as one.
    pub fn of(sources: Vec<String>) -> Self {
        Self { sources, built: OnceLock::new() }
    }

    /// The set; none if the patterns are too large together.
    pub fn get(&self) -> Option<&RegexSet> {
        let build = || {
            let mut builder = RegexSetBuilder::new(&self.sources);
            builder.size_limit(SET_BYTES_MAX).dfa_size_limit(SET_BYTES_MAX).build().ok()
        };
        self.built.get_or_init(build).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_in_two_languages_is_two_patterns() {
        let mut index: ToolIndex<Vec<&str>> = ToolIndex::default();
        index.put_name(&ToolName::Matching(Pattern::glob("a*").unwrap()), |kept| kept.push("glob"));
        index.put_name(&ToolName::Matching(Pattern::python_full("a*").unwrap()), |kept| kept.push("regex"));
        index.finish();
        let found = |tool: &str| index.of(tool).flat_map(|(_, kept)| kept.clone()).collect::<Vec<_>>();
        assert_eq!(found("ab"), ["glob"]);
        assert_eq!(found("aa"), ["glob", "regex"]);
        assert_eq!(found("b"), [""; 0]);
    }
}
