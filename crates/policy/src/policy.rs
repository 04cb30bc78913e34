//! All rules of all files together, compiled: the only thing the gate and the prover read.
//!
//! A [`Builder`] puts it together. Afterwards nothing changes any more, and everything the gate asks is
//! answered by an index: [`Policy::deeds`] says what a call amounts to, [`Policy::watches`] which rules
//! know such a deed. Sessions, clocks and storage are not known here.

mod analysis;
mod builder;
mod keys;
mod misnamed;

use std::{fmt, ops::Deref, sync::Arc};

use keys::Keys;
use lockgate_call::{AgentTools, Effects, Files, ScriptFields, SeenCall, may_answer_early, may_run_another};
use smallvec::SmallVec;

use crate::{
    audience::{Audience, Groups},
    claim::{Claim, Example},
    clause::{Applying, Clause},
    clauses::{Clauses, DecidedCall, Masking, OutputRule, OutputSearch, WindowMarks},
    decision::{Decision, Truth},
    deed::Deed,
    effects::EffectNames,
    maps::FileMaps,
    names::{FileId, NameId, Names, Watch},
    net::GuardNet,
    past::Witnessed,
    provenance::TrustedSources,
    rule::{Rule, RuleId},
    scripts::{Scripts, unreadable_scripts},
    source::Source,
    statement::{Statement, Tail},
    tools::ToolName,
    view::{Memory, View},
    waiting::Waiting,
    window::Marks,
    workflow::{self, Workflow},
};

pub use builder::{Builder, FoundBy};
pub use misnamed::MisnamedTool;

/// All rules of all files together.
#[derive(Debug)]
pub struct Policy {
    hash: PolicyHash,
    /// Where each rule is kept, by its number: rules are numbered in file order, whatever they became.
    rules: Vec<RuleTable>,
    keys: Keys,
    nets: Vec<NetRule>,
    clauses: Clauses,
    workflows: Vec<Workflow>,
    names: Names,
    effects: EffectNames,
    /// The maps of each file.
    maps: Vec<FileMaps>,
    /// The files themselves.
    sources: Vec<Source>,
    claims: Vec<Claim>,
    /// The file of each claim.
    claim_files: Vec<FileId>,
    examples: Vec<Example>,
    waiting: Vec<Waiting>,
}

/// In which table a rule is kept.
#[derive(Clone, Copy, Debug)]
enum RuleTable {
    Net(usize),
    Clause(usize),
    Output(usize),
    Workflow(usize),
}

/// A rule that became a net: it remembers by its marking.
#[derive(Debug)]
pub struct NetRule {
    rule: Rule,
    /// What it says, as understood.
    pub statement: Statement,
    /// What it became.
    pub net: GuardNet,
    /// What stands behind it, where something does.
    pub tail: Option<Box<Tail>>,
}

impl NetRule {
    /// The names that a name of its statement stands for.
    pub fn members<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.tail.as_ref().map_or_else(|| vec![name], |tail| tail.members(name))
    }

    /// Whether it refuses less than its net does: only some calls, or nothing that a human agrees to.
    pub fn is_eased(&self) -> bool {
        self.tail.as_ref().is_some_and(|tail| tail.asks || !tail.conditions.is_empty())
    }

    /// Whether it covers a call that its net would refuse. A doubt counts as yes.
    pub fn speaks_of(&self, view: &View<'_>) -> bool {
        let mut conditions = self.tail.iter().flat_map(|tail| &tail.conditions);
        conditions.all(|condition| condition.truth(view) != Truth::No)
    }
}

impl Deref for NetRule {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

/// The fingerprint of a policy: the same text in the same order gives the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyHash([u8; 32]);

impl Policy {
    /// The policy's fingerprint.
    pub fn hash(&self) -> PolicyHash {
        self.hash
    }

    /// The files it was made of, in order.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// All rules, in file order.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter_map(|kept| self.kept(*kept))
    }

    /// The rule with this number; none if the number is another policy's.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.kept(*self.rules.get(id.index())?)
    }

    /// The rule whose state is kept under this key.
    pub fn rule_kept_under(&self, key: &str) -> Option<&Rule> {
        self.rule(self.keys.0.get(key)?.rule)
    }

    /// The rules that are nets, in file order.
    pub fn nets(&self) -> &[NetRule] {
        &self.nets
    }

    /// The net with this number; none if the rule is something else.
    pub fn net(&self, id: RuleId) -> Option<&NetRule> {
        match self.rules.get(id.index())? {
            RuleTable::Net(index) => self.nets.get(*index),
            RuleTable::Clause(_) | RuleTable::Output(_) | RuleTable::Workflow(_) => None,
        }
    }

    /// The net with this name; the first, where nets share a name.
    pub fn net_named(&self, name: &str) -> Option<&NetRule> {
        self.nets.iter().find(|rule| rule.name == name)
    }

    /// The clause with this number; none if the rule is something else.
    pub fn clause(&self, id: RuleId) -> Option<&Clause> {
        match self.rules.get(id.index())? {
            RuleTable::Clause(index) => self.clauses.get(*index),
            RuleTable::Net(_) | RuleTable::Output(_) | RuleTable::Workflow(_) => None,
        }
    }

    /// The workflows, in file order.
    pub fn workflows(&self) -> &[Workflow] {
        &self.workflows
    }

    /// The workflow with this number; none if the rule is something else.
    pub fn workflow(&self, id: RuleId) -> Option<&Workflow> {
        match self.rules.get(id.index())? {
            RuleTable::Workflow(index) => self.workflows.get(*index),
            RuleTable::Net(_) | RuleTable::Clause(_) | RuleTable::Output(_) => None,
        }
    }

    /// What its authors state about all sessions, in file order.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Sessions its authors give as examples, in file order.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// What untrusted files say and does not count until a human trusts them, in file order.
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// The clauses, in file order.
    pub fn clauses(&self) -> &[Clause] {
        self.clauses.all()
    }

    /// The clauses about a tool, whether they apply or not, in file order.
    pub fn clauses_about<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Clause> + 'a {
        self.clauses.about(tool)
    }

    /// The clauses that want something of a call, in file order, without the default.
    pub fn applying<'a>(&'a self, view: &View<'_>) -> SmallVec<[Applying<'a>; 4]> {
        self.clauses.applying(view)
    }

    /// The verdict for calls that no clause covers, if a file sets one.
    pub fn default_clause(&self) -> Option<&Clause> {
        self.clauses.default_clause()
    }

    /// The windows a call counts for, and what they hold from now on.
    pub fn marks(&self, heard: &DecidedCall<'_>, memory: &dyn Memory) -> WindowMarks {
        self.clauses.marks(heard, memory)
    }

    /// How the logs of earlier calls change by a call.
    pub fn records(&self, witnessed: &Witnessed<'_>) -> Marks {
        self.clauses.records(witnessed)
    }

    /// Whether some log asks for calls of a tool.
    pub fn is_recorded(&self, tool: &str) -> bool {
        self.clauses.is_recorded(tool)
    }

    /// Whether some log asks for calls of a tool once their results have come.
    pub fn results_are_recorded(&self, tool: &str) -> bool {
        self.clauses.results_are_recorded(tool)
    }

    /// The counters that a call of this tool counts for.
    pub fn counters(&self, tool: &str) -> SmallVec<[Arc<str>; 1]> {
        self.clauses.counters(tool)
    }

    /// The rules on results of all tools, in file order.
    pub fn outputs(&self) -> &[OutputRule] {
        self.clauses.outputs()
    }

    /// The rules on results of a tool, in file order.
    pub fn outputs_of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a OutputRule> + 'a {
        self.clauses.outputs_of(tool)
    }

    /// How sensitive data is found and masked.
    pub fn masking(&self) -> &Masking {
        &self.clauses.masking
    }

    /// Whether some rule asks what sensitive data the session has seen.
    pub fn watches_taints(&self) -> bool {
        self.clauses.watches_taints
    }

    /// What rules want to know about where values come from.
    pub fn trusted_sources(&self) -> &TrustedSources {
        &self.clauses.sources
    }

    /// Whether some rule remembers for all sessions together.
    pub fn shares(&self) -> bool {
        self.clauses.shares
    }

    /// Whether a tool is declared to leave something behind.
    pub fn has_acted(&self, tool: &str) -> bool {
        self.clauses.acting.iter().any(|acting| acting == tool)
    }

    /// What a workflow sees of a call, with what the files say about its tool.
    pub fn sight<'c>(&self, call: &'c SeenCall) -> workflow::Sight<'c> {
        let is_reader = self.clauses.readers.contains(&call.tool);
        workflow::Sight::of(call, self.script_fields(&call.tool)).declared_reader(is_reader)
    }

    /// The fields of a tool that hold scripts, by custom or because some file says so.
    pub fn script_fields(&self, tool: &str) -> ScriptFields {
        // A command in such a field may be evidence for a workflow of another file, so an untrusted file has no say.
        let trusted = || self.maps.iter().zip(&self.sources).filter(|it| it.1.is_trusted()).map(|it| it.0);
        let declared = |tool| trusted().flat_map(move |maps| maps.declared_scripts(tool)).cloned();
        let mut names: Vec<String> = self.names.find(tool).into_iter().flat_map(declared).collect();
        names.sort_unstable();
        names.dedup();
        ScriptFields::declared(names)
    }

    /// Whether some rule on results of this tool looks at the call as well.
    pub fn outputs_look_at_calls(&self, tool: &str) -> bool {
        let looks = |rule: &OutputRule| {
            matches!(rule.looks_for, OutputSearch::Condition(_)) || rule.template.is_some()
        };
        self.clauses.outputs_of(tool).any(looks)
    }

    /// The variables of the environment that some rule looks at.
    pub fn variables(&self) -> &[String] {
        &self.clauses.variables
    }

    /// Looks up where the folders of sandboxes really are.
    pub fn resolve_folders(&mut self, files: &dyn Files) {
        self.clauses.resolve_folders(files);
    }

    /// Whether some rule asks what time it is where the machine stands.
    pub fn wants_zone(&self) -> bool {
        self.clauses.wants_zone
    }

    /// Every name some rule knows, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter().filter(|known| !known.watches.is_empty()).map(|known| &known.name)
    }

    /// Whether some rule has to do with calls of this tool.
    pub fn concerns(&self, tool: &str) -> bool {
        let known = self.names.find(tool).and_then(|id| self.names.get(id));
        known.is_some_and(|it| !it.watches.is_empty() || it.has_actions || !it.renamed_in.is_empty())
            || self.clauses_about(tool).next().is_some()
            || self.outputs_of(tool).next().is_some()
            || !self.workflows.is_empty()
            || !self.effects.is_empty()
            || self.default_clause().is_some_and(|default| default.wants != Decision::Allow)
    }

    /// Whether some rule can have to do with a tool of this agent, as far as that is known: an agent may have tools of
    /// MCP servers, of which only the way they are named is known.
    pub fn may_match(&self, agent: &AgentTools) -> bool {
        let given: Vec<&str> = self.maps.iter().flat_map(FileMaps::names).collect();
        let is_of_server = |name: &str| agent.may_be_of_server(name) && !given.contains(&name);
        // A pattern without a wildcard takes only what it spells out.
        let may_take = |name: &Option<ToolName>| match name {
            None => true,
            Some(ToolName::Exact(name)) => is_of_server(name),
            Some(ToolName::Matching(pattern)) => {
                pattern.to_string().contains(['*', '+', '.', '?', '[', '\\'])
            }
        };
        agent.names().any(|tool| self.concerns(tool))
            || self.names().any(|name| is_of_server(name))
            || self.ways_of_clauses().iter().flatten().any(may_take)
    }

    /// The nets that know a name, in file order.
    pub fn watching(&self, name: &str) -> impl Iterator<Item = &NetRule> {
        self.names.watches(self.names.find(name)).iter().filter_map(|watch| self.net(watch.rule))
    }

    /// What a call amounts to, and to whose rules. The last group is what everybody sees whose file has no
    /// map for this tool.
    pub fn deeds(&self, call: &SeenCall) -> Groups {
        self.look_at(call).0
    }

    /// The same, and why the scripts that maps look into cannot be read, where that is so.
    pub fn look_at(&self, call: &SeenCall) -> (Groups, Vec<String>) {
        let tool = self.names.find(&call.tool);
        let itself = Deed::of_tool(call, tool, &self.names);
        let mut groups = Groups::new();
        let mut scripts = Scripts::default();
        for file in tool.and_then(|tool| self.names.get(tool)).iter().flat_map(|known| &known.renamed_in) {
            if let Some(maps) = self.maps.get(file.0 as usize) {
                groups.push((Audience(Some(*file)), maps.deeds(call, itself.clone(), &mut scripts)));
            }
        }
        // Where every file has maps for this tool, no rule is left to see the call as it is.
        if groups.len() < self.maps.len() || groups.is_empty() {
            groups.push((Audience(None), SmallVec::from_iter([itself])));
        }
        let effects = self.effects.deeds(call, &self.script_fields(&call.tool), &self.names);
        if !effects.is_empty() {
            // Effects are for every file's rules, whether or not its maps give the call a name.
            match groups.iter_mut().find(|(audience, _)| audience.is_everybody()) {
                Some((_, deeds)) => deeds.extend(effects),
                None => groups.push((Audience(None), effects.into_iter().collect())),
            }
        }
        // What may be answered before it is done, or may run another program than it says, proves nothing.
        let is_early = may_answer_early(&call.input);
        for (audience, deeds) in &mut groups {
            if is_early || (!audience.is_everybody() && may_run_another(&call.input)) {
                deeds.iter_mut().for_each(|deed| deed.is_confirmed = false);
            }
        }
        let mut doubts = scripts.doubts();
        let is_guessed = |deed: &Deed| deed.basis.is_guess();
        if doubts.is_empty() && groups.iter().any(|(_, deeds)| deeds.iter().any(is_guessed)) {
            doubts = unreadable_scripts(call, &[]);
        }
        (groups, doubts)
    }

    /// What a call does, by the tables of programs and tools and by what files declare: for people and logs. Rules see it as
    /// deeds.
    pub fn effects(&self, call: &SeenCall) -> Effects {
        self.effects.seen(call, &self.script_fields(&call.tool))
    }

    /// What the file of a rule says about scripts that cannot be read.
    pub fn unreadable_in_file_of(&self, watch: &Watch) -> Option<Decision> {
        self.maps.get(watch.file.0 as usize)?.unreadable()
    }

    /// Whether the file of a rule says that a console which is started in plain sight is no such script.
    pub fn excepts_consoles_in_file_of(&self, watch: &Watch) -> bool {
        self.maps.get(watch.file.0 as usize).is_some_and(FileMaps::excepts_consoles)
    }

    /// The rules that know a deed, as far as they belong to its audience.
    pub fn watches<'a>(&'a self, audience: Audience, deed: &'a Deed) -> impl Iterator<Item = &'a Watch> {
        self.watches_of(audience, deed.id, deed.tool)
    }

    /// The same by numbers.
    pub fn watches_of(
        &self,
        audience: Audience,
        id: Option<NameId>,
        tool_id: Option<NameId>,
    ) -> impl Iterator<Item = &Watch> {
        // Everybody sees the tool itself, so its maps tell whose rules do not.
        let tool = tool_id.or(id).filter(|_| audience.0.is_none());
        let renamed_in = tool.and_then(|tool| self.names.get(tool)).map(|known| known.renamed_in.as_slice());
        let is_meant = move |watch: &&Watch| match audience.0 {
            Some(file) => watch.file == file,
            None => !renamed_in.unwrap_or_default().contains(&watch.file),
        };
        // A rule that names some action of a tool sees its calls by action alone.
        let plain = self.names.watches(tool_id).iter().filter(|watch| !watch.names_actions);
        self.names.watches(id).iter().chain(plain).filter(is_meant)
    }

    fn kept(&self, kept: RuleTable) -> Option<&Rule> {
        match kept {
            RuleTable::Net(index) => self.nets.get(index).map(|net| &net.rule),
            RuleTable::Clause(index) => self.clauses.get(index).map(|clause| &clause.rule),
            RuleTable::Output(index) => self.clauses.output(index).map(|output| &output.rule),
            RuleTable::Workflow(index) => self.workflows.get(index).map(|workflow| &workflow.rule),
        }
    }
}

impl fmt::Display for PolicyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}
