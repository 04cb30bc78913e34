//! Names that no tool has, for whoever knows all tools.
//!
//! [`check_names`] compares every name that a file means a tool by with a list of the tools there are. A name that a
//! map of the same file gives is no tool; `tool.action` is an action of the tool; a pattern has to take at least one
//! of them. Traps are left alone: no honest tool has their name. Where the list answers, what the linter only
//! guessed from the names among themselves is taken back. Missing on purpose: where the list comes from.

use std::collections::BTreeSet;

use super::{File, NAME_COMPARED_BYTES_MAX, NAMES_COMPARED_MAX, names_of, span_of_word};
use crate::{
    diagnostic::{Diagnostic, closest},
    draft::Draft,
    language::parse,
    pattern::{Match, Pattern},
    ruleset::{
        CustomNames,
        draft::{RuleKind, ToolGlob},
    },
    source::{Source, Span},
    when_then::draft::{DraftClause, ToolName, Tools},
    workflow::{Condition, Stage},
};

/// The code of what is found here, and of what the linter guesses.
const CODE: &str = "misspelt";

/// Adds what is wrong with names, seen that these are all tools there are.
pub fn check_names(findings: &mut Vec<Diagnostic>, sources: &[Source], tools: &BTreeSet<String>) {
    let mut told: Vec<Diagnostic> = Vec::new();
    for source in sources {
        let (draft, _) = parse(source, &CustomNames::default());
        told.extend(unknown_names(&draft, tools));
    }
    findings.retain(|finding| {
        let is_answered = || {
            tools.contains(finding.source.slice(finding.span))
                || told.iter().any(|other| {
                    let is_inside =
                        finding.span.start <= other.span.start && other.span.end <= finding.span.end;
                    other.source == finding.source && is_inside
                })
        };
        finding.code != CODE || !is_answered()
    });
    findings.extend(told);
}

/// The names of one file that no tool has, each once.
fn unknown_names(draft: &Draft, tools: &BTreeSet<String>) -> Vec<Diagnostic> {
    let mut spoken = Spoken { draft, names: Vec::new() };
    spoken.one_line_rules();
    spoken.when_then();
    spoken.ruleset();
    spoken.workflow();
    let given: BTreeSet<&str> = draft.maps.iter().map(|map| map.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for Named { name, span } in spoken.names {
        if name.is_tool(tools) || given.contains(name.text().as_str()) || !seen.insert(name.text()) {
            continue;
        }
        let meant = name
            .exact()
            .filter(|name| name.len() <= NAME_COMPARED_BYTES_MAX && findings.len() < NAMES_COMPARED_MAX);
        let meant = meant.and_then(|name| meant_by(name, tools));
        findings.push(finding(draft, &name, span, meant.as_deref()));
    }
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

/// The tool that a name is most likely a slip of, with the action where it has one.
fn meant_by(name: &str, tools: &BTreeSet<String>) -> Option<String> {
    let near = |name: &str| closest(name, tools.iter().map(String::as_str));
    let of_base = || {
        let (base, action) = name.split_once('.')?;
        Some(format!("{}.{action}", near(base)?))
    };
    near(name).map(str::to_owned).or_else(of_base)
}

fn finding(draft: &Draft, name: &Name, span: Span, meant: Option<&str>) -> Diagnostic {
    let text = name.text();
    let message = match name {
        Name::Exact(_) => format!("no tool is called `{text}`"),
        Name::Matching(_) | Name::Glob(_) => format!("no tool fits `{text}`"),
    };
    let finding = Diagnostic::warning(CODE, &draft.source, span, message);
    match meant {
        Some(meant) => finding.label(format!("closest is `{meant}`")).remedy(format!("write `{meant}`")),
        None => finding
            .label("not in the list of tools")
            .remedy("write the name as the tool spells it, or bring the list of tools up to date"),
    }
}

/// A name, and where it stands.
struct Named {
    name: Name,
    span: Span,
}

/// How tools are named.
enum Name {
    Exact(String),
    Matching(Pattern),
    Glob(ToolGlob),
}

impl Name {
    fn text(&self) -> String {
        match self {
            Self::Exact(name) => name.clone(),
            Self::Matching(pattern) => pattern.to_string(),
            Self::Glob(glob) => glob.text().to_owned(),
        }
    }

    fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(name) => Some(name),
            Self::Matching(_) | Self::Glob(_) => None,
        }
    }

    /// Whether it means one of these tools, as far as that can be told.
    fn is_tool(&self, tools: &BTreeSet<String>) -> bool {
        match self {
            Self::Exact(name) => {
                let base = name.split_once('.').map(|(base, _)| base);
                tools.contains(name) || base.is_some_and(|base| tools.contains(base))
            }
            Self::Matching(pattern) => tools.iter().any(|tool| pattern.find(tool) != Match::No),
            Self::Glob(glob) => tools.iter().any(|tool| glob.fits(tool)),
        }
    }
}

/// All names by which a file means tools.
struct Spoken<'d> {
    draft: &'d Draft,
    names: Vec<Named>,
}

impl Spoken<'_> {
    fn exact(&mut self, name: &str, span: Span) {
        self.names.push(Named { name: Name::Exact(name.to_owned()), span });
    }

    fn one_line_rules(&mut self) {
        let draft = self.draft;
        let file = File::read(draft);
        for rule in &draft.rules {
            for name in names_of(&rule.statement) {
                self.exact(name, file.span_in(rule.span, name));
            }
        }
        for map in draft.maps.iter().filter(|map| !map.is_any_shell) {
            self.exact(&map.tool, self.place(map.span, &map.tool, file.span_in(map.span, &map.tool)));
        }
        for script in &draft.scripts {
            self.exact(&script.tool, file.span_in(script.span, &script.tool));
        }
        for claim in &draft.claims {
            for name in claim.says.names() {
                self.exact(name, self.place(claim.span, name, claim.span));
            }
        }
        for example in &draft.examples {
            for step in &example.steps {
                self.exact(&step.call, self.place(example.span, &step.call, example.span));
            }
        }
    }

    fn when_then(&mut self) {
        let file = &self.draft.when_then;
        for rule in file.rules.iter().filter(|rule| rule.enabled != Some(false)) {
            if let Some(tools) = &rule.tools {
                self.tools(tools, rule.span, rule.id_span);
            }
            self.memory(rule);
        }
        for output in &file.outputs {
            self.tools(&output.tools, output.span, output.span);
        }
        for limit in &file.rate_limits {
            self.tools(&limit.tools, limit.span, limit.span);
        }
        if let Some(chain) = &file.taint_chain {
            for tool in &chain.outgoing_tools {
                self.exact(tool, self.place(chain.span, tool, chain.span));
            }
        }
    }

    /// The tools whose earlier calls a rule looks at.
    fn memory(&mut self, rule: &DraftClause) {
        for tool in rule.session.iter().filter_map(|(key, _)| key.strip_prefix("tool_count.")) {
            self.exact(tool, self.place(rule.span, tool, rule.id_span));
        }
        for step in rule.chain.iter().flat_map(|chain| &chain.steps) {
            self.tool(&step.tools, rule.span, rule.id_span);
        }
    }

    fn tools(&mut self, tools: &Tools, part: Span, otherwise: Span) {
        if let Tools::Any(names) = tools {
            names.iter().for_each(|name| self.tool(name, part, otherwise));
        }
    }

    fn tool(&mut self, name: &ToolName, part: Span, otherwise: Span) {
        let span = self.place(part, &name.to_string(), otherwise);
        let name = match name {
            ToolName::Exact(name) => Name::Exact(name.clone()),
            ToolName::Matching(pattern) => Name::Matching(pattern.clone()),
        };
        self.names.push(Named { name, span });
    }

    fn ruleset(&mut self) {
        let Some(ruleset) = &self.draft.ruleset else { return };
        for tool in &ruleset.tools {
            self.exact(&tool.name, tool.span);
        }
        for rule in ruleset.rules.iter().filter(|rule| rule.enabled) {
            for glob in &rule.tools {
                self.glob(glob, rule.span, rule.id_span);
            }
            if let RuleKind::Session(limits) = &rule.kind {
                for (tool, _) in &limits.max_calls_per_tool {
                    self.glob(&ToolGlob::new(tool.as_str()), rule.span, rule.id_span);
                }
            }
        }
    }

    fn workflow(&mut self) {
        let Some(workflow) = &self.draft.workflow else { return };
        let end = self.draft.source.text().len();
        for stage in &workflow.stages {
            // A stage says where its id is, and its tools come after that or before the next one.
            let part = Span::new(stage.span.start, end);
            for glob in stage.tools.iter().flatten() {
                self.glob(glob, part, stage.span);
            }
            self.results(stage);
        }
    }

    fn results(&mut self, stage: &Stage) {
        for requirement in stage.entry.iter().chain(&stage.exit) {
            if let Condition::ResultMatches { tool, .. } = &requirement.condition {
                self.exact(tool, self.place(requirement.span, tool, requirement.span));
            }
        }
    }

    fn glob(&mut self, glob: &ToolGlob, part: Span, otherwise: Span) {
        let span = self.place(part, glob.text(), otherwise);
        let name = match glob.exact() {
            Some(name) => Name::Exact(name),
            None => Name::Glob(glob.clone()),
        };
        self.names.push(Named { name, span });
    }

    fn place(&self, part: Span, name: &str, otherwise: Span) -> Span {
        span_of_word(&self.draft.source, part, name).unwrap_or(otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn told(files: &[(&str, &str)], tools: &[&str]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
        let (policy, mut findings) = Policy::read(&sources);
        assert!(policy.is_some(), "{findings:?}");
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        check_names(&mut findings, &sources, &tools);
        let of_names = findings.iter().filter(|finding| finding.code == CODE);
        of_names
            .map(|finding| {
                let at = finding.source.place(finding.span);
                let slice = finding.source.slice(finding.span);
                format!("{} {slice}: {} ({})", at.line, finding.message, finding.label)
            })
            .collect()
    }

    #[test]
    fn a_name_that_no_tool_has_is_told_once_with_the_closest() {
        let tools = ["test", "deploy", "bash", "fs_read", "fs_write"];
        let none = "not in the list of tools";
        let rows: [(&str, &str, Vec<String>); 19] = [
            ("a.rules", "require test before deploy\n", vec![]),
            (
                "a.rules",
                "require tset before deploy\nblock tset\n",
                vec!["1 tset: no tool is called `tset` (closest is `test`)".into()],
            ),
            ("a.rules", "block shell\n", vec![format!("1 shell: no tool is called `shell` ({none})")]),
            (
                "a.rules",
                "block bash.push\nblock Bash.push\n",
                vec!["2 Bash.push: no tool is called `Bash.push` (closest is `bash.push`)".into()],
            ),
            // A name that a map gives is no tool, but the map's own tool has to be one.
            ("a.rules", "map bash.command rm as delete\nblock delete\n", vec![]),
            (
                "a.rules",
                "map bahs.command rm as delete\nblock delete\nscript shell.text\n",
                vec![
                    "1 bahs: no tool is called `bahs` (closest is `bash`)".into(),
                    format!("3 shell: no tool is called `shell` ({none})"),
                ],
            ),
            // A name that looks misspelt and is not: the list answers what the linter guesses.
            (
                "a.rules",
                "limit fs_read to 3 per session\nblock fs_write\nrequire fs_write before fs_read\n",
                vec![],
            ),
            (
                "a.rules",
                "block deploy\nclaim deplyo impossible\nexample: tets ok, deploy -> block\n",
                vec![
                    "2 deplyo: no tool is called `deplyo` (closest is `deploy`)".into(),
                    "3 tets: no tool is called `tets` (closest is `test`)".into(),
                ],
            ),
            ("a.yaml", "rules:\n  - {id: r, then: block, when: {tool: 'fs_*'}}\n", vec![]),
            (
                "a.yaml",
                "rules:\n  - {id: r, then: block, when: {tool: 'db_*'}}\n",
                vec![format!("2 db_*: no tool fits `db_*` ({none})")],
            ),
            ("a.yaml", "rules:\n  - {id: r, then: block, when: {tool: 'deploy|bash'}}\n", vec![]),
            (
                "a.yaml",
                "rules:\n  - {id: r, then: block, when: {tool: [deploy, shell]}}\n",
                vec![format!("2 shell: no tool is called `shell` ({none})")],
            ),
            (
                "a.yaml",
                "rules:\n  - {id: r, then: block, when: {tool: deploy, session: {tool_count.tset: {gt: 2}}}}\n",
                vec!["2 tset: no tool is called `tset` (closest is `test`)".into()],
            ),
            (
                "a.yaml",
                "rules:\n  - {id: r, then: block, when: {tool: deploy, chain: [{tool: bsh, within_seconds: 5}]}}\n",
                vec!["2 bsh: no tool is called `bsh` (closest is `bash`)".into()],
            ),
            // A rule that is off speaks of nothing, and a trap is no tool.
            ("a.yaml", "rules:\n  - {id: r, enabled: false, then: block, when: {tool: nope}}\n", vec![]),
            ("a.yaml", "honeypots: [{name: nope}]\nrules: []\n", vec![]),
            (
                "a.yaml",
                "taint_chain: {enabled: true, outgoing_tools: [send]}\nrate_limits: [{tool: send2, max_calls: 1, window_seconds: 1}]\nrules: []\n",
                vec![
                    format!("1 send: no tool is called `send` ({none})"),
                    format!("2 send2: no tool is called `send2` ({none})"),
                ],
            ),
            (
                "a.yaml",
                "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: a}\ndefaults: {mode: enforce}\nrules:\n  - {id: a, type: session, limits: {max_calls_per_tool: {'fs_*': 9, 'gs_*': 9, deplo: 2}}, then: {action: block, message: m}}\n",
                vec![
                    format!("6 gs_*: no tool fits `gs_*` ({none})"),
                    "6 deplo: no tool is called `deplo` (closest is `deploy`)".into(),
                ],
            ),
            (
                "a.yaml",
                "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: a}\nstages:\n  - {id: one, tools: [bash, tes], exit: [{condition: 'mcp_result_matches(\"ci\", \"a\", \"b\")'}]}\n  - {id: two, tools: [deploy]}\n",
                vec![
                    "5 tes: no tool is called `tes` (closest is `test`)".into(),
                    format!("5 ci: no tool is called `ci` ({none})"),
                ],
            ),
        ];
        for (file, text, expected) in rows {
            assert_eq!(told(&[(file, text)], &tools), expected, "{text}");
        }
    }

    #[test]
    fn a_map_renames_only_in_its_own_file() {
        let files =
            [("a.rules", "map bash.command rm as delete\nblock delete\n"), ("b.rules", "block delete\n")];
        assert_eq!(
            told(&files, &["bash"]),
            ["1 delete: no tool is called `delete` (not in the list of tools)"]
        );
    }

    #[test]
    fn what_the_linter_guesses_stays_where_the_list_cannot_answer() {
        let text = "map bash.command rm as delete\nmap bash.command del as delet\nblock delete\nlimit delete to 3 per session\nblock delet\n";
        let told = told(&[("a.rules", text)], &["bash"]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("looks like a misspelt"), "{told:?}");
    }
}
