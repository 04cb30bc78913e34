//! Names in rules that no tool of an agent has.

use std::sync::Arc;

use lockgate_call::{AgentTools, Program, program};

use super::Policy;
use crate::maps::FileMaps;

/// A name in a policy that no tool of an agent has and that surely means one: in another case, or the name of a program,
/// which agents run with their shell tool. A rule about it sees no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisnamedTool {
    /// The name.
    pub name: Arc<str>,
    /// The file that it is in.
    pub file: Arc<str>,
    /// The tool that is meant; none where the name is that of a program.
    pub meant: Option<&'static str>,
}

impl Policy {
    /// The names that no tool of this agent has and that surely mean one. A file that names the right tool too is written
    /// for several agents.
    pub fn misnamed(&self, agent: &AgentTools) -> Vec<MisnamedTool> {
        let given: Vec<&str> = self.maps.iter().flat_map(FileMaps::names).collect();
        let is_foreign =
            |name: &str| !agent.has(name) && !agent.may_be_of_server(name) && !given.contains(&name);
        let known =
            self.names.iter().filter(|known| !known.watches.is_empty() || !known.renamed_in.is_empty());
        let of_clauses = self.clauses().iter().flat_map(|clause| &clause.tools);
        let mut names: Vec<Arc<str>> = known.map(|known| known.name.clone()).collect();
        names.extend(of_clauses.map(|name| Arc::from(name.as_str())));
        let mut found: Vec<MisnamedTool> = Vec::new();
        for name in names.into_iter().filter(|name| is_foreign(name)) {
            let meant = agent.names().find(|tool| tool.eq_ignore_ascii_case(&name));
            if meant.is_none() && !program(&name).is_some_and(Program::is_only_a_program) {
                continue;
            }
            let right = meant.map(|tool| self.files_naming(tool)).unwrap_or_default();
            for file in self.files_naming(&name).into_iter().filter(|file| !right.contains(file)) {
                let misnamed = MisnamedTool { name: name.clone(), file, meant };
                if !found.contains(&misnamed) {
                    found.push(misnamed);
                }
            }
        }
        found
    }

    /// The files whose rules or maps name this tool.
    fn files_naming(&self, tool: &str) -> Vec<Arc<str>> {
        let id = self.names.find(tool);
        let rules = self.names.watches(id).iter().filter_map(|watch| self.rule(watch.rule));
        let rules = rules.map(|rule| rule.place.file.clone());
        let maps = self.renamed_in(tool).iter().filter_map(|file| self.sources.get(file.0 as usize));
        let maps = maps.map(|source| Arc::from(source.name()));
        let clauses = self.clauses().iter().filter(|clause| clause.tools.iter().any(|it| it == tool));
        rules.chain(maps).chain(clauses.map(|clause| clause.place.file.clone())).collect()
    }
}
