//! A policy from files, texts and nets of your own.
//!
//! [`Policy::builder`] is the one loader: it reads all parts or none, and reports every mistake of every part at once.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use lockgate_call::Time;
use lockgate_gate::Rulebook;
use lockgate_languages::{KnownTools, Options, check_names, ruleset::CustomNames};
use lockgate_policy::{Diagnostic, Module, Severity, Source};
use lockgate_prover::TooManyRules;
use serde_json::{Map, Value};

use crate::{
    diff::PolicyDiff,
    files::LocalFiles,
    net::Net,
    policy_error::PolicyError,
    sight::Sight,
    sources::read_sources,
    tool_call::{CallError, ToolCall},
    verification::Verification,
};

/// Rules that were read and compiled, and what their author should know about them.
#[derive(Clone, Debug)]
pub struct Policy {
    compiled: Arc<lockgate_policy::Policy>,
    findings: Arc<[Diagnostic]>,
    sources: Arc<[Source]>,
}

impl Policy {
    /// A policy of several parts, which all must agree to a call.
    ///
    /// ```
    /// use lockgate::{DraftNet, DraftTransition, Policy};
    ///
    /// let guard = DraftNet::new("write-guard")
    ///     .place("ready", 1)
    ///     .transition(DraftTransition::new("write", &["ready"], &["ready"]).tools(&["write"]));
    /// let policy = Policy::builder().rules("require backup before delete").net(guard).load()?;
    /// assert_eq!(policy.rule_names(), ["require-backup-before-delete", "write-guard"]);
    /// # Ok::<(), lockgate::PolicyError>(())
    /// ```
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// The policy of a file, or of the policy files of a folder.
    ///
    /// # Errors
    /// When a file cannot be read, a folder has none, or the policy has mistakes: all of them are in the error.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        Self::builder().file(path).load()
    }

    /// One-line rules from a text.
    ///
    /// # Errors
    /// When the policy has mistakes: all of them are in the error.
    pub fn rules(text: &str) -> Result<Self, PolicyError> {
        Self::builder().rules(text).load()
    }

    /// Warnings and notes for the author; none of them is an error.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The names of the rules, in file order.
    pub fn rule_names(&self) -> Vec<&str> {
        self.compiled.rules().map(|rule| rule.name.as_str()).collect()
    }

    /// The `metadata` that the author of a ruleset gave to a rule.
    pub fn metadata(&self, rule: &str) -> Option<&Map<String, Value>> {
        self.compiled.clauses().iter().find(|clause| clause.name == rule).map(|clause| &clause.metadata)
    }

    /// The nets of the rules that remember, in file order.
    pub fn nets(&self) -> impl Iterator<Item = Net<'_>> {
        self.compiled.nets().iter().map(Net::of)
    }

    /// The net of this name.
    pub fn net(&self, name: &str) -> Option<Net<'_>> {
        self.compiled.net_named(name).map(Net::of)
    }

    /// The hash of the policy: it is the same if and only if the same files are read in the same order.
    pub fn hash(&self) -> String {
        self.compiled.hash().to_string()
    }

    /// Explores every net by itself, and proves the claims and findings about all rules together.
    pub fn verify(&self) -> Verification {
        Verification::of(Some(&Rulebook::new(self.compiled.clone())), self.findings.to_vec(), &self.sources)
    }

    /// The same where all tools are known: a name in the policy that is not one of them is a finding.
    pub fn verify_for<T: Into<String>>(&self, tools: impl IntoIterator<Item = T>) -> Verification {
        let known = KnownTools::named(tools);
        let mut findings = self.findings.to_vec();
        check_names(&mut findings, &self.sources, &known, Some(&self.compiled));
        Verification::of(Some(&Rulebook::new(self.compiled.clone())), findings, &self.sources)
    }

    /// What the gate sees in a call: commands, paths, hosts, sensitive data, what it amounts to, and every doubt. Nothing is
    /// judged.
    ///
    /// # Errors
    /// When there is nothing to look at: the tool has no name, or the input is not an object.
    pub fn see(&self, call: ToolCall) -> Result<Sight, CallError> {
        let call = call.into_call("see", Time(0), || "see".to_owned())?;
        Ok(Sight::of(&call.into(), Some(&self.compiled)))
    }

    /// The shortest sessions that tell this policy from a newer one.
    ///
    /// # Errors
    /// When there are more rules than the prover takes.
    pub fn diff(&self, newer: &Self) -> Result<PolicyDiff, TooManyRules> {
        PolicyDiff::between(self.compiled(), newer.compiled())
    }

    /// The compiled form, which gate and prover read; for the doors of this repository.
    #[doc(hidden)]
    pub fn compiled(&self) -> Arc<lockgate_policy::Policy> {
        self.compiled.clone()
    }
}

/// For the doors of this repository, which stand on the engine.
#[doc(hidden)]
impl From<Policy> for Arc<lockgate_policy::Policy> {
    fn from(policy: Policy) -> Self {
        policy.compiled
    }
}

/// Collects the parts of a [`Policy`].
#[derive(Debug, Default)]
#[must_use = "nothing is read before `load`"]
pub struct PolicyBuilder {
    parts: Vec<Part>,
    modules: Vec<Module>,
    custom: CustomNames,
    is_unlinted: bool,
}

#[derive(Debug)]
enum Part {
    File(PathBuf),
    Source(Source),
}

impl PolicyBuilder {
    /// A policy file with all it includes, or the policy files of a folder in the order of their names.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.parts.push(Part::File(path.as_ref().to_path_buf()));
        self
    }

    /// Several policy files or folders. A file that is included or named more than once is read once.
    pub fn files<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.parts.extend(paths.into_iter().map(|path| Part::File(path.as_ref().to_path_buf())));
        self
    }

    /// One-line rules from a text.
    pub fn rules(self, text: impl Into<Arc<str>>) -> Self {
        self.text("policy.rules", text)
    }

    /// A policy of any language from a text; `name` stands for its file in messages. It must not include other files.
    pub fn text(self, name: &str, text: impl Into<Arc<str>>) -> Self {
        self.source(Source::new(name, text))
    }

    /// A file that was read before.
    pub fn source(mut self, source: Source) -> Self {
        self.parts.push(Part::Source(source));
        self
    }

    /// Files that were read before.
    pub fn sources(mut self, sources: &[Source]) -> Self {
        self.parts.extend(sources.iter().cloned().map(Part::Source));
        self
    }

    /// A net from code. Nets come behind all files.
    pub fn net(mut self, net: impl Into<Module>) -> Self {
        self.modules.push(net.into());
        self
    }

    /// Names that rulesets may look at because the host describes calls under them; see
    /// [`GateBuilder::describe_calls`](crate::GateBuilder::describe_calls).
    pub fn custom_names(mut self, custom: CustomNames) -> Self {
        self.custom = custom;
        self
    }

    /// Leaves out the findings, which take longer than reading: for a process that judges one call.
    pub fn without_findings(mut self) -> Self {
        self.is_unlinted = true;
        self
    }

    /// Reads and compiles all parts.
    ///
    /// # Errors
    /// When a file cannot be read, a folder has none, there is no part at all, or the policy has mistakes: all of them are
    /// in the error.
    pub fn load(self) -> Result<Policy, PolicyError> {
        let Loaded { sources, compiled, diagnostics } = self.read()?;
        match compiled {
            Some(mut compiled) => {
                // Sandboxes are drawn around where their folders really are.
                compiled.resolve_folders(&LocalFiles);
                let (compiled, findings) = (Arc::new(compiled), diagnostics.into());
                Ok(Policy { compiled, findings, sources: sources.into() })
            }
            None => {
                let mistakes = diagnostics.into_iter().filter(|it| it.severity == Severity::Error);
                Err(PolicyError::Mistaken(mistakes.collect()))
            }
        }
    }

    /// Reads and verifies all parts. A policy with mistakes has them as findings.
    ///
    /// # Errors
    /// When a file cannot be read, a folder has none, or there is no part at all.
    pub fn verify(self) -> Result<Verification, PolicyError> {
        let Loaded { sources, compiled, diagnostics } = self.read()?;
        Ok(Verification::of(compiled.map(Rulebook::new).as_ref(), diagnostics, &sources))
    }

    fn read(self) -> Result<Loaded, PolicyError> {
        let Self { parts, modules, custom, is_unlinted } = self;
        if parts.is_empty() && modules.is_empty() {
            return Err(PolicyError::NoFiles);
        }
        let mut sources = Vec::new();
        // Files that stand together are read together, so that each is read once.
        let mut paths: Vec<PathBuf> = Vec::new();
        for part in parts {
            match part {
                Part::File(path) => paths.push(path),
                Part::Source(source) => {
                    sources.extend(read_sources(&std::mem::take(&mut paths))?);
                    sources.push(source);
                }
            }
        }
        sources.extend(read_sources(&paths)?);
        let options = Options { custom: Some(&custom), modules, is_unlinted };
        let (compiled, diagnostics) = lockgate_languages::load(&sources, options);
        Ok(Loaded { sources, compiled, diagnostics })
    }
}

/// All parts as they were read. Without a policy there is at least one mistake.
struct Loaded {
    sources: Vec<Source>,
    compiled: Option<lockgate_policy::Policy>,
    diagnostics: Vec<Diagnostic>,
}
