//! How a policy is put together: rule by rule, file by file.
//!
//! A front end says what its files mean as clauses, rules on results, workflows and windows, and hands in each file's
//! [`Module`] of statements. Rules are numbered in the order in which they come.

use std::sync::Arc;

use lockgate_call::sensitive::{Detectors, Mask};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use super::{NetRule, Policy, PolicyHash, RuleTable, keys::Keys};
use crate::{
    clause::Clause,
    clauses::{Clauses, OutputRule, Watcher},
    condition::Condition,
    diagnostic::{Diagnostic, Severity},
    effects::EffectNames,
    maps::FileMaps,
    names::{FileId, Names, Watch},
    net::{self, GuardNet},
    past::Recorder,
    phrase::{is_phrase, tool_and_action},
    rule::{Head, Rule, RuleId},
    scripts::UnreadableTest,
    source::Source,
    statement::{DraftRule, Module, Scope, Statement, Tail, UnreadableLine},
    tools::Tools,
    waiting::Waiting,
    workflow::Workflow,
};

/// A policy that is being put together.
#[derive(Debug)]
pub struct Builder {
    policy: Policy,
    /// More kinds of sensitive data, from all files.
    patterns: Vec<(String, regex::Regex)>,
}

/// How a clause is found.
#[derive(Clone, Copy)]
pub enum FoundBy<'a> {
    /// By the tools it is about.
    Tools(&'a Tools),
    /// By this tool, whatever its case.
    Honeypot(&'a str),
    /// Where no other clause applies.
    Default,
}

impl Builder {
    /// A policy of these files, which has no rules yet.
    pub fn new(sources: Vec<Source>, waiting: Vec<Waiting>) -> Self {
        let policy = Policy {
            hash: PolicyHash::of(&sources),
            rules: Vec::new(),
            keys: Keys::default(),
            nets: Vec::new(),
            clauses: Clauses::default(),
            workflows: Vec::new(),
            names: Names::default(),
            effects: EffectNames::default(),
            maps: Vec::with_capacity(sources.len()),
            sources,
            claims: Vec::new(),
            claim_files: Vec::new(),
            examples: Vec::new(),
            waiting,
        };
        Self { policy, patterns: Vec::new() }
    }

    /// The head of the next rule, which the caller keeps at once: as many rules are numbered as are kept.
    pub fn rule(&mut self, head: Head, source: &Source) -> Rule {
        let id = self.next_id();
        Rule {
            id,
            name: head.name,
            key: self.policy.keys.give(&head.key, id),
            place: source.place(head.span),
            mode: head.mode,
            source: source.clone(),
            span: head.span,
        }
    }

    /// Keeps a clause.
    pub fn clause(&mut self, clause: Clause, found_by: FoundBy<'_>) {
        let index = match found_by {
            FoundBy::Tools(tools) => self.policy.clauses.push(clause, tools),
            FoundBy::Honeypot(tool) => self.policy.clauses.push_honeypot(clause, tool),
            FoundBy::Default => self.policy.clauses.push_default(clause),
        };
        self.policy.rules.push(RuleTable::Clause(index));
    }

    /// Keeps a rule on results.
    pub fn output(&mut self, output: OutputRule, tools: &Tools) {
        let index = self.policy.clauses.push_output(output, tools);
        self.policy.rules.push(RuleTable::Output(index));
    }

    /// Keeps a workflow.
    pub fn workflow(&mut self, workflow: Workflow) {
        self.policy.rules.push(RuleTable::Workflow(self.policy.workflows.len()));
        self.policy.workflows.push(workflow);
    }

    /// Lets calls of tools count for a window.
    pub fn watch(&mut self, tools: &Tools, watcher: &Watcher) {
        self.policy.clauses.watch(tools, watcher);
    }

    /// Lets calls of tools change a log.
    pub fn record(&mut self, tools: &Tools, recorder: &Recorder) {
        self.policy.clauses.record(tools, recorder);
    }

    /// The number that the file of the next module gets.
    pub fn next_file(&self) -> FileId {
        FileId(u32::try_from(self.policy.maps.len()).unwrap_or(u32::MAX))
    }

    /// Takes in that some rule names an action of a tool, `tool.action`, or an effect.
    pub fn action(&mut self, name: &str) {
        if is_phrase(name) {
            let id = self.policy.names.add(name);
            self.policy.effects.add(name, id);
        } else if let Some((base, _)) = tool_and_action(name) {
            let base = self.policy.names.add(base);
            self.policy.names.get_mut(base).into_iter().for_each(|known| known.has_actions = true);
        }
    }

    /// Lets calls of tools count for a counter.
    pub fn count(&mut self, tools: &Tools, counter: &Arc<str>) {
        self.policy.clauses.count(tools, counter);
    }

    /// Whether some file has said what is decided where no clause applies.
    pub fn has_default(&self) -> bool {
        self.policy.default_clause().is_some()
    }

    /// Keeps something that does not count until a human trusts its file; each kind once a file.
    pub fn wait(&mut self, waiting: Waiting) {
        let is_known = |known: &Waiting| known.what == waiting.what && known.source == waiting.source;
        if !self.policy.waiting.iter().any(is_known) {
            self.policy.waiting.push(waiting);
        }
    }

    /// Takes in that a tool is declared to leave something behind.
    pub fn acting(&mut self, tool: &str) {
        self.policy.clauses.acting.push(tool.to_owned());
    }

    /// Takes in that a tool is declared to read and to do nothing else.
    pub fn reader(&mut self, tool: &str) {
        self.policy.clauses.readers.push(tool.to_owned());
    }

    /// Takes in that some rule looks at a variable of the environment.
    pub fn variable(&mut self, name: &str) {
        if !self.policy.clauses.variables.iter().any(|known| known == name) {
            self.policy.clauses.variables.push(name.to_owned());
        }
    }

    /// Takes in more kinds of sensitive data, by name.
    pub fn sensitive(&mut self, patterns: impl IntoIterator<Item = (String, regex::Regex)>) {
        self.patterns.extend(patterns);
    }

    /// Takes in how sensitive data is masked. Of several files, the one that shows least decides.
    pub fn mask(&mut self, mask: Mask) {
        let known = &mut self.policy.clauses.masking.mask;
        *known = match (*known, mask) {
            (Mask::Edges, mask) | (mask, Mask::Edges) => mask,
            (Mask::Label, _) | (_, Mask::Label) => Mask::Label,
            (Mask::Stars, Mask::Stars) => Mask::Stars,
        };
    }

    /// Adds the statements of one file. A rule whose net is wrong is left out and reported.
    pub fn module(&mut self, mut module: Module, mistakes: &mut Vec<Diagnostic>) {
        let file = self.next_file();
        self.policy.claim_files.extend(module.claims.iter().map(|_| file));
        self.policy.claims.append(&mut module.claims);
        self.policy.examples.append(&mut module.examples);
        let maps = FileMaps::new(&module, &mut self.policy.names);
        for tool in maps.tools() {
            if let Some(known) = self.policy.names.get_mut(tool) {
                known.renamed_in.push(file);
            }
        }
        self.policy.maps.push(maps);
        for declared in &module.declared {
            self.policy.effects.declare(declared, module.source.is_trusted());
        }
        for rule in module.rules {
            match GuardNet::grouped(&rule.statement, rule.tail.as_deref()) {
                Ok(net) => self.net(rule, net, file, &module.source),
                Err(errors) => mistakes.extend(errors.into_iter().map(|error| Diagnostic {
                    code: net::code_of(&error),
                    severity: Severity::Error,
                    message: error.to_string(),
                    source: module.source.clone(),
                    span: rule.span,
                    label: String::new(),
                    remedy: None,
                })),
            }
        }
        if let Some(line) = module.unreadable {
            let declared = module.scripts.iter().map(|it| (it.tool.clone(), it.field.clone())).collect();
            self.unreadable(&line, declared, &module.source);
        }
    }

    /// The policy, with all its indices.
    pub fn finish(mut self) -> Policy {
        if !self.patterns.is_empty() {
            self.policy.clauses.masking.detectors = Detectors::with_patterns(self.patterns);
        }
        self.policy.clauses.finish();
        self.policy
    }

    /// `unreadable scripts: …` is about every tool, whether or not a map looks into its scripts.
    fn unreadable(&mut self, line: &UnreadableLine, declared: Vec<(String, String)>, source: &Source) {
        let (name, key) = ("unreadable-scripts".to_owned(), "unreadable scripts".to_owned());
        let rule = self.rule(Head { name, key, span: line.span, mode: line.mode }, source);
        let clause = Clause {
            conditions: vec![Condition::Unreadable(UnreadableTest {
                declared,
                except_consoles: line.except_consoles,
            })],
            ..Clause::new(rule, line.wants, String::new())
        };
        self.clause(clause, FoundBy::Tools(&Tools::Every));
    }

    fn net(&mut self, rule: DraftRule, net: GuardNet, file: FileId, source: &Source) {
        let id = self.next_id();
        let known = net.names();
        if let Some(tail) = &rule.tail {
            let parts = || tail.conditions.iter().flat_map(Condition::parts);
            let is_local =
                |it: &Condition| matches!(it, Condition::Schedule(schedule) if schedule.zone.is_none());
            self.policy.clauses.wants_zone |= parts().any(is_local);
        }
        let bases: SmallVec<[&str; 2]> =
            known.iter().filter_map(|name| Some(tool_and_action(name)?.0)).collect();
        for base in &bases {
            let base = self.policy.names.add(base);
            self.policy.names.get_mut(base).into_iter().for_each(|known| known.has_actions = true);
        }
        for name in &known {
            let transitions: SmallVec<_> = net.transitions_of(name).collect();
            let name_id = self.policy.names.add(name);
            self.policy.effects.add(name, name_id);
            if let Some(known) = self.policy.names.get_mut(name_id) {
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
            key: key_of(&rule.statement) + &conditions_key(rule.tail.as_deref()),
            span: rule.span,
            mode: rule.mode,
        };
        let head = self.rule(head, source);
        self.policy.rules.push(RuleTable::Net(self.policy.nets.len()));
        self.policy.nets.push(NetRule { rule: head, statement: rule.statement, net, tail: rule.tail });
    }

    fn next_id(&self) -> RuleId {
        RuleId(u32::try_from(self.policy.rules.len()).unwrap_or(u32::MAX))
    }
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

/// Two limits of one tool that count different calls are kept apart, wherever they stand.
fn conditions_key(tail: Option<&Tail>) -> String {
    let conditions = tail.map(|tail| tail.conditions.as_slice()).unwrap_or_default();
    if conditions.is_empty() {
        return String::new();
    }
    let hash = Sha256::digest(format!("{conditions:?}"));
    hash.iter().take(4).fold(" if ".to_owned(), |key, byte| format!("{key}{byte:02x}"))
}

impl PolicyHash {
    fn of(sources: &[Source]) -> Self {
        let mut hasher = Sha256::new();
        for source in sources {
            // Lengths go first, so that moving a line from one file to the next is another policy.
            hasher.update((source.text().len() as u64).to_le_bytes());
            // The same text means less in an untrusted file.
            if !source.is_trusted() {
                hasher.update(b"untrusted");
            }
            hasher.update(source.text());
        }
        Self(hasher.finalize().into())
    }
}
