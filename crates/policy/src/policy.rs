//! All rules of all files together, compiled: the only thing the gate and the prover read.
//!
//! [`Policy::compile`] joins drafts. Afterwards nothing changes any more, and everything the gate asks is
//! answered by an index: [`Policy::deeds`] says what a call amounts to, [`Policy::watches`] which rules
//! know such a deed. Sessions, clocks and storage are not known here.

use std::{fmt, ops::Deref, sync::Arc};

use lockgate_call::{AgentTools, Call, Files, may_answer_early, may_run_another};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::{
    claim::{Claim, Example},
    clause::{Applying, Clause},
    clauses::{Clauses, Counted, Counting, Heard, LooksFor, Masking, OutputRule},
    condition::Condition,
    decision::Decision,
    deed::{Deed, Deeds, FileMaps, Scripts},
    diagnostic::{Diagnostic, Severity},
    draft::{Draft, DraftRule, Scope, Statement, Takes, UnreadableLine},
    hash::HashMap,
    names::{FileId, Known, NameId, Names, Watch},
    net::{self, GuardNet},
    rule::{Head, Mode, Rule, RuleId},
    ruleset::{self, CustomNames},
    source::{Place, Source, Span},
    tools::{ToolName, Tools},
    untrusted::{self, Waiting},
    view::{Memory, View},
    void::{void_file, void_policy},
    when_then,
    window::WindowId,
    workflow::{self, Workflow},
};

/// All rules of all files together.
#[derive(Debug)]
pub struct Policy {
    hash: PolicyHash,
    /// Where each rule is kept, by its number: rules are numbered in file order, whatever they became.
    rules: Vec<Kept>,
    keys: Keys,
    nets: Vec<NetRule>,
    clauses: Clauses,
    workflows: Vec<Workflow>,
    names: Names,
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
enum Kept {
    Net(usize),
    Clause(usize),
    Output(usize),
    Workflow(usize),
}

/// How a clause is found.
#[derive(Clone, Copy)]
pub(crate) enum FoundBy<'a> {
    /// By the tools it is about.
    Tools(&'a Tools),
    /// By this tool, whatever its case.
    Honeypot(&'a str),
    /// Where no other clause applies.
    Default,
}

/// A rule that became a net: it remembers by its marking.
#[derive(Debug)]
pub struct NetRule {
    rule: Rule,
    /// What it says, as understood.
    pub statement: Statement,
    /// What it became.
    pub net: GuardNet,
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

/// The rules a group of deeds concerns: those of one file whose maps renamed the call, or those of all
/// other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience(Option<FileId>);

/// What a call amounts to, and to whose rules.
pub type Groups = SmallVec<[(Audience, Deeds); 1]>;

impl Policy {
    /// Reads policy files of any language and joins them. Without a policy there is at least one error.
    pub fn read(sources: &[Source]) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_with(sources, &CustomNames::default())
    }

    /// The same for files that look at what the host says about calls under names of its own.
    pub fn read_with(sources: &[Source], custom: &CustomNames) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_and(true, sources, custom)
    }

    /// Reads policy files without looking for what their authors should know: some of that takes longer than
    /// everything else. What is wrong is told as ever, because the linter only warns.
    pub fn read_unlinted(sources: &[Source]) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_and(false, sources, &CustomNames::default())
    }

    /// Reads policy files of any language and joins them with drafts that come from code.
    pub fn read_and_join(sources: &[Source], drafts: Vec<Draft>) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_all(true, sources, &CustomNames::default(), drafts)
    }

    fn read_and(lints: bool, sources: &[Source], custom: &CustomNames) -> (Option<Self>, Vec<Diagnostic>) {
        Self::read_all(lints, sources, custom, Vec::new())
    }

    /// The drafts given come last, like files behind the others.
    fn read_all(
        lints: bool,
        sources: &[Source],
        custom: &CustomNames,
        given: Vec<Draft>,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let mut drafts = Vec::with_capacity(sources.len() + given.len());
        let mut diagnostics = Vec::new();
        for source in sources {
            let (draft, mut mistakes) = crate::language::parse(source, custom);
            let is_whole = is_sound(&mistakes);
            if is_whole {
                mistakes.extend(void_file(&draft));
            }
            if lints {
                diagnostics
                    .extend(crate::lint::lint(&draft).into_iter().filter(|it| is_whole || it.is_local()));
            }
            drafts.push(draft);
            diagnostics.extend(mistakes);
        }
        drafts.extend(given);
        diagnostics.extend(crate::includes::unread_includes(&drafts));
        let waiting = compose(&mut drafts, &mut diagnostics);
        if lints {
            let is_whole = is_sound(&diagnostics);
            let written = drafts.iter().filter(|draft| draft.when_then.is_written);
            diagnostics.extend(written.flat_map(when_then::lint).filter(|it| is_whole || it.is_local()));
        }
        let (policy, mistakes) = Self::join(drafts, waiting);
        diagnostics.extend(mistakes);
        if is_sound(&diagnostics) {
            diagnostics.extend(void_policy(&policy, sources));
        }
        (is_sound(&diagnostics).then_some(policy), diagnostics)
    }

    /// Joins drafts into one policy. A rule whose net is wrong is left out and reported as an error.
    pub fn compile(mut drafts: Vec<Draft>) -> (Self, Vec<Diagnostic>) {
        let mut diagnostics = Vec::new();
        let waiting = compose(&mut drafts, &mut diagnostics);
        let (policy, mistakes) = Self::join(drafts, waiting);
        diagnostics.extend(mistakes);
        (policy, diagnostics)
    }

    /// Joins drafts that have taken from each other what they wanted.
    fn join(drafts: Vec<Draft>, waiting: Vec<Waiting>) -> (Self, Vec<Diagnostic>) {
        let mut policy = Self {
            hash: PolicyHash::of(&drafts),
            rules: Vec::new(),
            keys: Keys::default(),
            nets: Vec::new(),
            clauses: Clauses::default(),
            workflows: Vec::new(),
            names: Names::default(),
            maps: Vec::with_capacity(drafts.len()),
            sources: drafts.iter().map(|draft| draft.source.clone()).collect(),
            claims: Vec::new(),
            claim_files: Vec::new(),
            examples: Vec::new(),
            waiting,
        };
        let mut mistakes = Vec::new();
        let default = when_then::DefaultVerdict::of(&drafts);
        for mut draft in drafts {
            let when_then = std::mem::take(&mut draft.when_then);
            when_then::lower(when_then, &draft.source, &default, &mut policy);
            if let Some(ruleset) = draft.ruleset.take() {
                ruleset::lower(ruleset, &mut policy, &mut mistakes);
            }
            if let Some(workflow) = draft.workflow.take() {
                workflow::lower(workflow, &draft.source, &mut policy);
            }
            let file = FileId(u32::try_from(policy.maps.len()).unwrap_or(u32::MAX));
            policy.claim_files.extend(draft.claims.iter().map(|_| file));
            policy.claims.append(&mut draft.claims);
            policy.examples.append(&mut draft.examples);
            policy.add_file(draft, &mut mistakes);
        }
        policy.clauses.finish();
        (policy, mistakes)
    }

    /// The policy's fingerprint.
    pub fn hash(&self) -> PolicyHash {
        self.hash
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
            Kept::Net(index) => self.nets.get(*index),
            Kept::Clause(_) | Kept::Output(_) | Kept::Workflow(_) => None,
        }
    }

    /// The net with this name; the first, where nets share a name.
    pub fn net_named(&self, name: &str) -> Option<&NetRule> {
        self.nets.iter().find(|rule| rule.name == name)
    }

    /// The clause with this number; none if the rule is something else.
    pub fn clause(&self, id: RuleId) -> Option<&Clause> {
        match self.rules.get(id.index())? {
            Kept::Clause(index) => self.clauses.get(*index),
            Kept::Net(_) | Kept::Output(_) | Kept::Workflow(_) => None,
        }
    }

    /// The workflows, in file order.
    pub fn workflows(&self) -> &[Workflow] {
        &self.workflows
    }

    /// The workflow with this number; none if the rule is something else.
    pub fn workflow(&self, id: RuleId) -> Option<&Workflow> {
        match self.rules.get(id.index())? {
            Kept::Workflow(index) => self.workflows.get(*index),
            Kept::Net(_) | Kept::Clause(_) | Kept::Output(_) => None,
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

    pub(crate) fn waits(&mut self, waiting: Waiting) {
        let is_told = |known: &Waiting| known.what == waiting.what && known.source == waiting.source;
        if !self.waiting.iter().any(is_told) {
            self.waiting.push(waiting);
        }
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

    /// What is decided about calls that no clause speaks of, where a file says so.
    pub fn default_clause(&self) -> Option<&Clause> {
        self.clauses.default_clause()
    }

    /// The windows a call counts for, and what they hold from now on.
    pub fn marks(&self, heard: &Heard<'_>, memory: &dyn Memory) -> Counted {
        self.clauses.marks(heard, memory)
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

    /// Whether some rule remembers for all sessions together.
    pub fn shares(&self) -> bool {
        self.clauses.shares
    }

    /// Whether a tool is declared to leave something behind.
    pub fn has_acted(&self, tool: &str) -> bool {
        self.clauses.acting.iter().any(|acting| acting == tool)
    }

    /// What a workflow sees of a call, with what the files say about its tool.
    pub fn sight<'c>(&'c self, call: &'c Call) -> workflow::Sight<'c> {
        let is_reader = self.clauses.readers.contains(&call.tool);
        workflow::Sight::of(call, |field| self.declares_script(&call.tool, field)).declared_reader(is_reader)
    }

    /// Whether some rule on results of this tool looks at the call as well.
    pub fn outputs_look_at_calls(&self, tool: &str) -> bool {
        let looks =
            |rule: &OutputRule| matches!(rule.looks_for, LooksFor::Condition(_)) || rule.template.is_some();
        self.clauses.outputs_of(tool).any(looks)
    }

    /// The variables of the environment that some rule looks at.
    pub fn variables(&self) -> &[String] {
        &self.clauses.variables
    }

    /// Whether some rule asks where paths really lead.
    pub fn has_sandboxes(&self) -> bool {
        self.clauses.has_sandboxes
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
            || self.default_clause().is_some_and(|default| default.wants != Decision::Allow)
    }

    /// Whether some rule can have to do with a tool of this agent, as far as that can be told: an agent may have tools of
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
    pub fn deeds(&self, call: &Call) -> Groups {
        self.look_at(call).0
    }

    /// The same, and why the scripts that maps look into cannot be read, where that is so.
    pub fn look_at(&self, call: &Call) -> (Groups, Vec<String>) {
        let tool = self.names.find(&call.tool);
        let itself = Deed::of_tool(call, tool, &self.names);
        let mut groups = Groups::new();
        let mut scripts = Scripts::default();
        for file in tool.and_then(|tool| self.names.get(tool)).iter().flat_map(|known| &known.renamed_in) {
            if let Some(maps) = self.maps.get(file.0 as usize) {
                groups.push((Audience(Some(*file)), maps.deeds(call, itself.clone(), &mut scripts)));
            }
        }
        // Where every file has maps for this tool, nobody is left to see the call as it is.
        if groups.len() < self.maps.len() || groups.is_empty() {
            groups.push((Audience(None), SmallVec::from_iter([itself])));
        }
        // What may be answered before it is done, or may run another program than it says, proves nothing.
        let is_early = may_answer_early(&call.input);
        for (audience, deeds) in &mut groups {
            if is_early || (!audience.is_everybody() && may_run_another(&call.input)) {
                deeds.iter_mut().for_each(|deed| deed.is_confirmed = false);
            }
        }
        (groups, scripts.doubts())
    }

    /// What the file of a rule says about scripts that cannot be read.
    pub fn unreadable_in_file_of(&self, watch: &Watch) -> Option<Decision> {
        self.maps.get(watch.file.0 as usize)?.unreadable()
    }

    /// The rules that know a deed, as far as they belong to its audience.
    pub fn watches<'a>(&'a self, audience: Audience, deed: &'a Deed) -> impl Iterator<Item = &'a Watch> {
        self.watches_of(audience, deed.id, deed.tool)
    }

    pub(crate) fn watches_of(
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

    /// Everything the policy has to do with each name that it knows.
    pub(crate) fn known_names(&self) -> impl Iterator<Item = &Known> {
        self.names.iter()
    }

    /// The files whose maps rename calls of a tool.
    pub(crate) fn renamed_in(&self, tool: &str) -> &[FileId] {
        let known = self.names.find(tool).and_then(|tool| self.names.get(tool));
        known.map(|known| known.renamed_in.as_slice()).unwrap_or_default()
    }

    /// The maps of a file for a tool, in the order they are asked.
    pub(crate) fn maps_of(&self, file: FileId, tool: &str) -> Vec<(&Takes, &Arc<str>)> {
        let maps = self.maps.get(file.0 as usize).zip(self.names.find(tool));
        maps.map(|(maps, tool)| maps.of_tool(tool).collect()).unwrap_or_default()
    }

    /// Whether some map of a file looks into scripts of a tool.
    pub(crate) fn reads_scripts(&self, file: FileId, tool: &str) -> bool {
        let maps = self.maps.get(file.0 as usize).zip(self.names.find(tool));
        maps.is_some_and(|(maps, tool)| maps.reads_scripts(tool))
    }

    /// What a call of a tool with this action is to rules without maps.
    pub(crate) fn own_deed(&self, tool: &str, action: Option<&str>) -> Deed {
        let call = Call::new("", tool);
        let call = action.map_or_else(|| call.clone(), |action| call.clone().with("action", action));
        Deed::of_tool(&call, self.names.find(tool), &self.names)
    }

    /// What a map that gives this name makes of a call.
    pub(crate) fn mapped_deed(&self, name: &str) -> Deed {
        Deed::named(name, &self.names)
    }

    /// What a call amounts to, as the rules of one file see it.
    pub(crate) fn deeds_seen_in(&self, file: FileId, call: &Call) -> Deeds {
        let mut groups = self.deeds(call);
        let own = groups.iter().position(|(audience, _)| audience.file() == Some(file));
        let all = groups.iter().position(|(audience, _)| audience.is_everybody());
        own.or(all).map(|place| groups.swap_remove(place).1).unwrap_or_default()
    }

    /// The number of a file.
    pub(crate) fn file_of(&self, source: &Source) -> Option<FileId> {
        let place = self.sources.iter().position(|it| it == source)?;
        u32::try_from(place).ok().map(FileId)
    }

    /// What its authors state about all sessions, and in which file.
    pub(crate) fn claims_by_file(&self) -> impl Iterator<Item = (FileId, &Claim)> {
        self.claims.iter().zip(&self.claim_files).map(|(claim, file)| (*file, claim))
    }

    /// How each clause names its tools, by its place among [`Policy::clauses`].
    pub(crate) fn ways_of_clauses(&self) -> Vec<Vec<Option<ToolName>>> {
        self.clauses.ways()
    }

    /// The tools whose calls count for a window, and which of their calls do.
    pub(crate) fn watched(&self, window: WindowId) -> Vec<(Option<ToolName>, Counting)> {
        self.clauses.watched(window)
    }

    /// The tool of a trap in lower case, by its place among [`Policy::clauses`].
    pub(crate) fn traps(&self) -> impl Iterator<Item = (&str, usize)> {
        self.clauses.traps()
    }

    /// A trap by the name of the tool.
    pub(crate) fn trap(&self, tool: &str) -> Option<&Clause> {
        self.clauses.trap(tool)
    }

    /// A one-line rule that blocks a tool whatever the call and the session.
    pub(crate) fn net_blocker(&self, tool: &str) -> Option<&NetRule> {
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
    pub(crate) fn blocker(&self, tool: &str) -> Option<&Rule> {
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

    /// Whether some file says that this field of a tool holds a script.
    pub fn declares_script(&self, tool: &str, field: &str) -> bool {
        // A command in such a field may be evidence for a workflow of another file, so an untrusted file has no say.
        let trusted = || self.maps.iter().zip(&self.sources).filter(|it| it.1.is_trusted()).map(|it| it.0);
        self.names.find(tool).is_some_and(|tool| trusted().any(|maps| maps.declares_script(tool, field)))
    }

    /// The policy's own copy of a name where it has one, so that a known name costs no allocation.
    pub fn name(&self, name: &str) -> Arc<str> {
        let known = self.names.find(name).and_then(|id| self.names.get(id));
        known.map_or_else(|| Arc::from(name), |known| known.name.clone())
    }

    fn add_file(&mut self, draft: Draft, mistakes: &mut Vec<Diagnostic>) {
        let file = FileId(u32::try_from(self.maps.len()).unwrap_or(u32::MAX));
        let maps = FileMaps::new(&draft, &mut self.names);
        for tool in maps.tools() {
            if let Some(known) = self.names.get_mut(tool) {
                known.renamed_in.push(file);
            }
        }
        self.maps.push(maps);
        let mut lines = Lines::of(&draft.source);
        for rule in draft.rules {
            match GuardNet::of(&rule.statement) {
                Ok(net) => self.add_rule(rule, net, file, &mut lines),
                Err(errors) => mistakes.extend(errors.into_iter().map(|error| Diagnostic {
                    code: net::code_of(&error),
                    severity: Severity::Error,
                    message: error.to_string(),
                    source: draft.source.clone(),
                    span: rule.span,
                    label: String::new(),
                    remedy: None,
                })),
            }
        }
        if let Some(line) = draft.unreadable {
            let declared = draft.scripts.iter().map(|it| (it.tool.clone(), it.field.clone())).collect();
            // It may stand before rules that were counted already.
            self.add_unreadable(&line, declared, &mut Lines::of(&draft.source));
        }
    }

    /// `unreadable scripts: …` is about every tool, whether or not a map looks into its scripts.
    fn add_unreadable(
        &mut self,
        line: &UnreadableLine,
        declared: Vec<(String, String)>,
        lines: &mut Lines<'_>,
    ) {
        let (name, key) = ("unreadable-scripts".to_owned(), "unreadable scripts".to_owned());
        let rule = self.next_rule(Head { name, key, span: line.span, mode: line.mode }, lines);
        let clause = Clause {
            conditions: vec![Condition::Unreadable { declared }],
            ..Clause::new(rule, line.wants, String::new())
        };
        self.keep_clause(clause, FoundBy::Tools(&Tools::Every));
    }

    fn add_rule(&mut self, rule: DraftRule, net: GuardNet, file: FileId, lines: &mut Lines<'_>) {
        let id = self.next_id();
        let known = net.names();
        let bases: SmallVec<[&str; 2]> =
            known.iter().filter_map(|name| name.split_once('.').map(|(base, _)| base)).collect();
        for base in &bases {
            let base = self.names.add(base);
            self.names.get_mut(base).into_iter().for_each(|known| known.has_actions = true);
        }
        for name in &known {
            let transitions: SmallVec<_> = net.transitions_of(name).collect();
            let name_id = self.names.add(name);
            if let Some(known) = self.names.get_mut(name_id) {
                known.watches.push(Watch {
                    name: known.name.clone(),
                    rule: id,
                    is_free: net.free_tools().contains(name),
                    refuses: transitions.iter().any(|transition| !net.guard(*transition).is_credit),
                    transitions,
                    names_actions: bases.contains(&&**name),
                    file,
                });
            }
        }
        let head = Head {
            name: name_of(&rule.statement),
            key: key_of(&rule.statement),
            span: rule.span,
            mode: rule.mode,
        };
        let head = self.next_rule(head, lines);
        self.rules.push(Kept::Net(self.nets.len()));
        self.nets.push(NetRule { rule: head, statement: rule.statement, net });
    }

    /// The next rule, which the caller keeps at once: as many rules are numbered as are kept.
    pub(crate) fn next_rule(&mut self, head: Head, lines: &mut Lines<'_>) -> Rule {
        let id = self.next_id();
        Rule {
            id,
            name: head.name,
            key: self.keys.give(&head.key, id),
            place: lines.place(head.span),
            mode: head.mode,
            source: lines.source.clone(),
            span: head.span,
        }
    }

    pub(crate) fn keep_clause(&mut self, clause: Clause, found_by: FoundBy<'_>) {
        let index = match found_by {
            FoundBy::Tools(tools) => self.clauses.push(clause, tools),
            FoundBy::Honeypot(tool) => self.clauses.push_honeypot(clause, tool),
            FoundBy::Default => self.clauses.push_default(clause),
        };
        self.rules.push(Kept::Clause(index));
    }

    pub(crate) fn keep_output(&mut self, output: OutputRule, tools: &Tools) {
        let index = self.clauses.push_output(output, tools);
        self.rules.push(Kept::Output(index));
    }

    pub(crate) fn keep_workflow(&mut self, workflow: Workflow) {
        self.rules.push(Kept::Workflow(self.workflows.len()));
        self.workflows.push(workflow);
    }

    pub(crate) fn clauses_mut(&mut self) -> &mut Clauses {
        &mut self.clauses
    }

    fn next_id(&self) -> RuleId {
        RuleId(u32::try_from(self.rules.len()).unwrap_or(u32::MAX))
    }

    fn kept(&self, kept: Kept) -> Option<&Rule> {
        match kept {
            Kept::Net(index) => self.nets.get(index).map(|net| &net.rule),
            Kept::Clause(index) => self.clauses.get(index).map(|clause| &clause.rule),
            Kept::Output(index) => self.clauses.output(index).map(|output| &output.rule),
            Kept::Workflow(index) => self.workflows.get(index).map(|workflow| &workflow.rule),
        }
    }
}

/// Composes the files of each layer with each other, the user's first, and takes out of untrusted ones what does not
/// restrict.
fn compose(drafts: &mut [Draft], diagnostics: &mut Vec<Diagnostic>) -> Vec<Waiting> {
    // Rules that want the same key get it in this order, so a project's rule never takes over the state of a user's.
    drafts.sort_by_key(|draft| draft.source.layer());
    let mut waiting = Vec::new();
    for layer in drafts.chunk_by_mut(|one, other| one.source.layer() == other.source.layer()) {
        for draft in layer.iter_mut().filter(|draft| !draft.source.is_trusted()) {
            waiting.extend(untrusted::restrict(draft));
        }
        diagnostics.extend(when_then::resolve(layer));
        diagnostics.extend(ruleset::compose(layer));
    }
    waiting
}

fn is_sound(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error)
}

/// The name of a statement's net, as documented.
fn name_of(statement: &Statement) -> String {
    match statement {
        Statement::Sequence { prerequisite, dependent } => {
            format!("require-{prerequisite}-before-{dependent}")
        }
        Statement::Approval { tool } => format!("approve-before-{tool}"),
        Statement::Block { tool } => format!("block-{tool}"),
        Statement::Limit { tool, count, scope: Scope::Session } => format!("limit-{tool}-{count}"),
        Statement::Limit { tool, count, scope: Scope::Action(action) } => {
            format!("limit-{tool}-{count}-per-{action}")
        }
        Statement::Net(net) => net.name.clone(),
    }
}

/// What a statement's state is kept under. Without the count: raising a limit gives back nothing spent.
fn key_of(statement: &Statement) -> String {
    match statement {
        Statement::Sequence { prerequisite, dependent } => {
            format!("require {prerequisite} before {dependent}")
        }
        Statement::Approval { tool } => format!("require human-approval before {tool}"),
        Statement::Block { tool } => format!("block {tool}"),
        Statement::Limit { tool, scope: Scope::Session, .. } => format!("limit {tool} per session"),
        Statement::Limit { tool, scope: Scope::Action(action), .. } => {
            format!("limit {tool} per action {action}")
        }
        Statement::Net(net) => format!("net {}", net.name),
    }
}

impl Audience {
    pub(crate) fn of(file: FileId) -> Self {
        Self(Some(file))
    }

    pub(crate) fn everybody() -> Self {
        Self(None)
    }

    /// The file, if the rules of one are meant.
    pub(crate) fn file(self) -> Option<FileId> {
        self.0
    }

    /// Whether this is everybody whose file has no map for the tool.
    pub fn is_everybody(self) -> bool {
        self.0.is_none()
    }
}

impl PolicyHash {
    fn of(drafts: &[Draft]) -> Self {
        let mut hasher = Sha256::new();
        for draft in drafts {
            // Lengths go first, so that moving a line from one file to the next is another policy.
            hasher.update((draft.source.text().len() as u64).to_le_bytes());
            // The same text says less where nobody trusts it.
            if !draft.source.is_trusted() {
                hasher.update(b"untrusted");
            }
            hasher.update(draft.source.text());
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for PolicyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Whose each key is; no two rules share one.
#[derive(Debug, Default)]
struct Keys(HashMap<String, Owner>);

#[derive(Debug)]
struct Owner {
    rule: RuleId,
    /// How many rules wanted the key so far.
    wanted: u32,
}

impl Keys {
    /// Gives a rule the key it wants, or that key with a number that makes it no other rule's.
    fn give(&mut self, wanted: &str, rule: RuleId) -> String {
        let mut key = wanted.to_owned();
        // A rule may want what looks like a key with a number, so the next number may be taken as well.
        while self.0.contains_key(&key) {
            let Some(first) = self.0.get_mut(wanted) else { break };
            first.wanted += 1;
            key = format!("{wanted} #{}", first.wanted);
        }
        self.0.insert(key.clone(), Owner { rule, wanted: 1 });
        key
    }
}

/// Places of spans that come in file order, without counting the file's lines anew for each.
pub(crate) struct Lines<'a> {
    source: &'a Source,
    counted_to: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn source(&self) -> &'a Source {
        self.source
    }

    pub(crate) fn of(source: &'a Source) -> Self {
        Self { source, counted_to: 0, line: 1 }
    }

    fn place(&mut self, span: Span) -> Place {
        let Some(passed) = self.source.text().get(self.counted_to..span.start) else {
            return self.source.place(span);
        };
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.counted_to = span.start;
        let line_start =
            self.source.text().get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
        let column =
            self.source.text().get(line_start..span.start).map_or(0, |line| line.chars().count()) + 1;
        Place { file: Arc::from(self.source.name()), line: self.line, column }
    }
}
