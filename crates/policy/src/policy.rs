//! All rules of all files together, compiled: the only thing the gate and the prover read.
//!
//! [`Policy::compile`] joins drafts. Afterwards nothing changes any more, and everything the gate asks is
//! answered by an index: [`Policy::deeds`] says what a call amounts to, [`Policy::watches`] which rules
//! know such a deed. Sessions, clocks and storage are not known here.

use std::{fmt, sync::Arc};

use lockgate_call::Call;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::{
    deed::{Deed, Deeds, FileMaps, Scripts},
    diagnostic::{Diagnostic, Severity},
    draft::{Draft, DraftRule, Mode, Scope, Statement},
    hash::HashMap,
    names::{FileId, Names, Watch},
    net::{self, GuardNet},
    source::{Place, Source, Span},
};

/// All rules of all files together.
#[derive(Debug)]
pub struct Policy {
    hash: PolicyHash,
    rules: Vec<Rule>,
    names: Names,
    /// The maps of each file.
    maps: Vec<FileMaps>,
}

/// One rule, compiled.
#[derive(Debug)]
pub struct Rule {
    /// Its number in this policy.
    pub id: RuleId,
    /// What it is called in messages and answers: the net's name.
    pub name: String,
    /// What its state is kept under: the same after a count was edited, and no other rule's.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// Whether it acts.
    pub mode: Mode,
    /// What it says, as understood.
    pub statement: Statement,
    /// What it became.
    pub net: GuardNet,
    /// The file it stands in.
    pub source: Source,
    /// Where in that file.
    pub span: Span,
}

/// A rule's number in its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u32);

/// The fingerprint of a policy: the same text in the same order gives the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyHash([u8; 32]);

/// The rules a group of deeds concerns: those of one file whose maps renamed the call, or those of all
/// other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience(Option<FileId>);

impl Policy {
    /// Reads policy files of any language and joins them. Without a policy there is at least one error.
    pub fn read(sources: &[Source]) -> (Option<Self>, Vec<Diagnostic>) {
        let mut drafts = Vec::with_capacity(sources.len());
        let mut diagnostics = Vec::new();
        for source in sources {
            let (draft, mistakes) = crate::language::parse(source);
            if mistakes.iter().all(|mistake| mistake.severity < Severity::Error) {
                diagnostics.extend(crate::lint::lint(&draft));
            }
            drafts.push(draft);
            diagnostics.extend(mistakes);
        }
        let (policy, mistakes) = Self::compile(drafts);
        diagnostics.extend(mistakes);
        let is_sound = diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error);
        (is_sound.then_some(policy), diagnostics)
    }

    /// Joins drafts into one policy. A rule whose net is wrong is left out and reported as an error.
    pub fn compile(drafts: Vec<Draft>) -> (Self, Vec<Diagnostic>) {
        let mut policy = Self {
            hash: PolicyHash::of(&drafts),
            rules: Vec::new(),
            names: Names::default(),
            maps: Vec::with_capacity(drafts.len()),
        };
        let mut mistakes = Vec::new();
        let mut keys = Keys::default();
        for draft in drafts {
            policy.add_file(draft, &mut keys, &mut mistakes);
        }
        (policy, mistakes)
    }

    /// The policy's fingerprint.
    pub fn hash(&self) -> PolicyHash {
        self.hash
    }

    /// All rules, in file order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with this number; none if the number is another policy's.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0 as usize)
    }

    /// The rule with this name; the first, where rules share a name.
    pub fn rule_named(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// Every name some rule knows, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter().filter(|known| !known.watches.is_empty()).map(|known| &known.name)
    }

    /// The rules that know a name, in file order.
    pub fn watching(&self, name: &str) -> impl Iterator<Item = &Rule> {
        self.names.watches(self.names.find(name)).iter().filter_map(|watch| self.rule(watch.rule))
    }

    /// What a call amounts to, and to whose rules. The last group is what everybody sees whose file has no
    /// map for this tool.
    pub fn deeds(&self, call: &Call) -> SmallVec<[(Audience, Deeds); 1]> {
        let tool = self.names.find(&call.tool);
        let itself = Deed::of_tool(call, tool, &self.names);
        let mut groups: SmallVec<[(Audience, Deeds); 1]> = SmallVec::new();
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
        groups
    }

    /// The rules that know a deed, as far as they belong to its audience.
    pub fn watches<'a>(&'a self, audience: Audience, deed: &'a Deed) -> impl Iterator<Item = &'a Watch> {
        // Everybody sees the tool itself, so its maps tell whose rules do not.
        let tool = deed.tool.or(deed.id).filter(|_| audience.0.is_none());
        let renamed_in = tool.and_then(|tool| self.names.get(tool)).map(|known| known.renamed_in.as_slice());
        let is_meant = move |watch: &&Watch| match audience.0 {
            Some(file) => watch.file == file,
            None => !renamed_in.unwrap_or_default().contains(&watch.file),
        };
        // A rule that names some action of a tool sees its calls by action alone.
        let plain = self.names.watches(deed.tool).iter().filter(|watch| !watch.names_actions);
        self.names.watches(deed.id).iter().chain(plain).filter(is_meant)
    }

    /// Whether some file says that this field of a tool holds a script.
    pub fn declares_script(&self, tool: &str, field: &str) -> bool {
        self.names
            .find(tool)
            .is_some_and(|tool| self.maps.iter().any(|maps| maps.declares_script(tool, field)))
    }

    /// The policy's own copy of a name where it has one, so that a known name costs no allocation.
    pub fn name(&self, name: &str) -> Arc<str> {
        let known = self.names.find(name).and_then(|id| self.names.get(id));
        known.map_or_else(|| Arc::from(name), |known| known.name.clone())
    }

    fn add_file(&mut self, draft: Draft, keys: &mut Keys, mistakes: &mut Vec<Diagnostic>) {
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
                Ok(net) => self.add_rule(rule, net, file, &mut lines, keys),
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
    }

    fn add_rule(
        &mut self,
        rule: DraftRule,
        net: GuardNet,
        file: FileId,
        lines: &mut Lines<'_>,
        keys: &mut Keys,
    ) {
        let id = RuleId(u32::try_from(self.rules.len()).unwrap_or(u32::MAX));
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
        let key = keys.unique(key_of(&rule.statement));
        self.rules.push(Rule {
            id,
            name: name_of(&rule.statement),
            key,
            place: lines.place(rule.span),
            mode: rule.mode,
            statement: rule.statement,
            net,
            source: lines.source.clone(),
            span: rule.span,
        });
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

impl Rule {
    /// What it says, as written.
    pub fn text(&self) -> &str {
        self.source.slice(self.span)
    }
}

impl Audience {
    /// Whether this is everybody whose file has no map for the tool.
    pub fn is_everybody(self) -> bool {
        self.0.is_none()
    }
}

impl RuleId {
    /// The number, for tables indexed by rule.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PolicyHash {
    fn of(drafts: &[Draft]) -> Self {
        let mut hasher = Sha256::new();
        for draft in drafts {
            // Lengths go first, so that moving a line from one file to the next is another policy.
            hasher.update((draft.source.text().len() as u64).to_le_bytes());
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

/// Keys that no two rules share.
#[derive(Default)]
struct Keys {
    uses: HashMap<String, u32>,
}

impl Keys {
    fn unique(&mut self, key: String) -> String {
        let uses = self.uses.entry(key.clone()).or_insert(0);
        *uses += 1;
        if *uses == 1 { key } else { format!("{key} #{uses}") }
    }
}

/// Places of spans that come in file order, without counting the file's lines anew for each.
struct Lines<'a> {
    source: &'a Source,
    counted_to: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(source: &'a Source) -> Self {
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
