//! What the prover and the linter ask a policy: which names there are, which rules are about a tool, and by which maps.
//!
//! The gate asks none of this: it hands a call in and gets the rules that are about it.

use std::sync::Arc;

use lockgate_call::{Call, EffectKind, SeenCall};

use super::{NetRule, Policy};
use crate::{
    claim::Claim,
    clause::Clause,
    clauses::Counting,
    decision::Decision,
    deed::{Deed, Deeds},
    names::{FileId, Known},
    rule::{Mode, Rule},
    source::Source,
    statement::{Statement, Takes},
    tools::ToolName,
    window::WindowId,
};

impl Policy {
    /// Everything the policy has to do with each name that it knows.
    pub fn known_names(&self) -> impl Iterator<Item = &Known> {
        self.names.iter()
    }

    /// The files whose maps rename calls of a tool.
    pub fn renamed_in(&self, tool: &str) -> &[FileId] {
        let known = self.names.find(tool).and_then(|tool| self.names.get(tool));
        known.map(|known| known.renamed_in.as_slice()).unwrap_or_default()
    }

    /// The maps of a file for a tool, in the order they are asked.
    pub fn maps_of(&self, file: FileId, tool: &str) -> Vec<(&Takes, &Arc<str>)> {
        let maps = self.maps.get(file.0 as usize).zip(self.names.find(tool));
        maps.map(|(maps, tool)| maps.of_tool(tool).collect()).unwrap_or_default()
    }

    /// Whether some map of a file looks into scripts of a tool.
    pub fn reads_scripts(&self, file: FileId, tool: &str) -> bool {
        let maps = self.maps.get(file.0 as usize).zip(self.names.find(tool));
        maps.is_some_and(|(maps, tool)| maps.reads_scripts(tool))
    }

    /// What a call of a tool with this action is to rules without maps.
    pub fn own_deed(&self, tool: &str, action: Option<&str>) -> Deed {
        let call = Call::new("", tool);
        let call = action.map_or_else(|| call.clone(), |action| call.clone().with("action", action));
        Deed::of_tool(&call, self.names.find(tool), &self.names)
    }

    /// What a map that gives this name makes of a call.
    pub fn mapped_deed(&self, name: &str) -> Deed {
        Deed::named(name, &self.names)
    }

    /// What a call amounts to, as the rules of one file see it.
    pub fn deeds_seen_in(&self, file: FileId, call: &SeenCall) -> Deeds {
        let mut groups = self.deeds(call);
        let own = groups.iter().position(|(audience, _)| audience.file() == Some(file));
        let all = groups.iter().position(|(audience, _)| audience.is_everybody());
        own.or(all).map(|place| groups.swap_remove(place).1).unwrap_or_default()
    }

    /// What files say that tools do.
    pub fn declared_effects(&self) -> impl Iterator<Item = (&str, EffectKind)> {
        self.effects.declared()
    }

    /// The number of a file.
    pub fn file_of(&self, source: &Source) -> Option<FileId> {
        let place = self.sources.iter().position(|it| it == source)?;
        u32::try_from(place).ok().map(FileId)
    }

    /// What its authors state about all sessions, and in which file.
    pub fn claims_by_file(&self) -> impl Iterator<Item = (FileId, &Claim)> {
        self.claims.iter().zip(&self.claim_files).map(|(claim, file)| (*file, claim))
    }

    /// How each clause names its tools, by its place among [`Policy::clauses`].
    pub fn ways_of_clauses(&self) -> Vec<Vec<Option<ToolName>>> {
        self.clauses.ways()
    }

    /// The tools whose calls count for a window, and which of their calls do.
    pub fn watched(&self, window: WindowId) -> Vec<(Option<ToolName>, Counting)> {
        self.clauses.watched(window)
    }

    /// The calls that change a log, in words that do not depend on the numbers of rules.
    pub fn recorded(&self, window: WindowId) -> Vec<String> {
        self.clauses.recorded(window)
    }

    /// The tool of a trap in lower case, by its place among [`Policy::clauses`].
    pub fn traps(&self) -> impl Iterator<Item = (&str, usize)> {
        self.clauses.traps()
    }

    /// A trap by the name of the tool.
    pub fn trap(&self, tool: &str) -> Option<&Clause> {
        self.clauses.trap(tool)
    }

    /// A one-line rule that blocks a tool whatever the call and the session.
    pub fn net_blocker(&self, tool: &str) -> Option<&NetRule> {
        let known = self.names.find(tool).and_then(|id| self.names.get(id));
        // A rule does not see the calls that a map of its own file gives another name.
        let plain = known
            .into_iter()
            .flat_map(|known| known.watches.iter().filter(|watch| !known.renamed_in.contains(&watch.file)));
        let blocks =
            |net: &&NetRule| matches!(net.statement, Statement::Block { .. }) && net.mode == Mode::Enforce;
        plain.filter_map(|watch| self.net(watch.rule)).find(blocks)
    }

    /// A rule that blocks a tool whatever the call and the session.
    pub fn blocker(&self, tool: &str) -> Option<&Rule> {
        if let Some(net) = self.net_blocker(tool) {
            return Some(net);
        }
        let acts = |clause: &&Clause| {
            clause.wants == Decision::Block && (clause.mode == Mode::Enforce || clause.acts_always)
        };
        let always = |clause: &&Clause| acts(clause) && clause.conditions.is_empty();
        if let Some(id) = self.clauses_about(tool).find(always).map(|clause| clause.id) {
            return self.rule(id);
        }
        // Where a clause may speak in its place, the default is not what always happens.
        let is_spoken_of =
            || self.clauses_about(tool).any(|clause| clause.speaks_for_default && !acts(&clause));
        self.default_clause().filter(always).filter(|_| !is_spoken_of()).map(|clause| &**clause)
    }

    /// The policy's own copy of a name where it has one, so that a known name costs no allocation.
    pub fn name(&self, name: &str) -> Arc<str> {
        let known = self.names.find(name).and_then(|id| self.names.get(id));
        known.map_or_else(|| Arc::from(name), |known| known.name.clone())
    }
}
