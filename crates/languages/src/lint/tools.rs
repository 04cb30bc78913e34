//! Names that no tool has.
//!
//! [`check_names`] compares every name that a file means a tool by with the tools that are known: those of a list, and
//! those of the agents the policy is for. A name that a map of the same file gives is not a tool; `tool.action` is an
//! action of the tool; a pattern has to take at least one tool of a list. Traps are left alone: no honest tool has their
//! name. Where the tools are known, what the linter only guessed from the names is taken back or becomes an error.
//! [`odd_names`] is the part of it that needs no tools: names of programs, permissions of agents, other cases.
//! Missing on purpose: where the list comes from.

use std::collections::BTreeSet;

use lockgate_call::{AgentTools, Program, agent_tool_names, is_agent_tool, program, shell_tools};
use lockgate_pattern::Match;
use lockgate_policy::{Diagnostic, Policy, Severity, Source, Span, closest};

use super::{
    fields::unknown_fields,
    file::{NAME_COMPARED_BYTES_MAX, NAMES_COMPARED_MAX},
    human::{Confidence, human_word},
    listed::{ListedTool, ListedTools},
    mentions::{Mention, Mentions, ToolReference},
    unguarded::unguarded,
};
use crate::{
    draft::Draft,
    one_line::{permission_remedy, permitted_tool},
    parse::parse,
    ruleset::CustomNames,
};

/// The code of what is found here, and of what the linter guesses.
const CODE: &str = "misspelt";

/// The tools that are known.
#[derive(Clone, Debug, Default)]
pub struct KnownTools {
    /// All tools there are, where a list of them is given.
    pub listed: Option<ListedTools>,
    /// The agents that the policy is for.
    pub agents: Vec<&'static AgentTools>,
}

impl KnownTools {
    /// All tools there are, where only their names are known.
    pub fn named<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        let listed = names.into_iter().map(|name| (name.into(), ListedTool::default())).collect();
        Self { listed: Some(listed), agents: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.listed.is_none() && self.agents.is_empty()
    }

    /// Whether a tool has this name, or may have it: which servers an agent has is not known here.
    fn has(&self, name: &str) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.contains_key(name))
            || self.agents.iter().any(|agent| agent.has(name) || agent.may_be_of_server(name))
    }

    pub(super) fn names<'k>(&'k self) -> impl Iterator<Item = &'k str> {
        let listed = self.listed.iter().flat_map(|listed| listed.keys()).map(String::as_str);
        let own = self.agents.iter().flat_map(|agent| agent.names()).map(|name| -> &'k str { name });
        listed.chain(own)
    }

    /// Whose tools they are, for a sentence: ` of claude-code`.
    fn owners(&self) -> String {
        match (&self.listed, self.agents.as_slice()) {
            (Some(_), _) | (None, []) => String::new(),
            (None, agents) => {
                let names: Vec<&str> = agents.iter().map(|agent| agent.agent).collect();
                format!(" of {}", names.join(" or "))
            }
        }
    }
}

/// Adds what is wrong with names, seen that these are the tools that are known. `policy` is what the sources became, if
/// they load.
pub fn check_names(
    findings: &mut Vec<Diagnostic>,
    sources: &[Source],
    known: &KnownTools,
    policy: Option<&Policy>,
) {
    let mut told: Vec<Diagnostic> = Vec::new();
    if !known.is_empty() {
        for source in sources {
            let (draft, _) = parse(source, sources, &CustomNames::default());
            told.extend(unknown_names(&draft, known));
        }
        told.extend(policy.into_iter().flat_map(|policy| unreached(policy, sources, known)));
    }
    if let Some(policy) = policy {
        let none = ListedTools::new();
        let listed = known.listed.as_ref().unwrap_or(&none);
        told.extend(unknown_fields(policy, listed));
        told.extend(unguarded(policy, sources, listed));
    }
    findings.retain(|finding| {
        let is_answered = || {
            known.has(finding.source.slice(finding.span))
                || told.iter().any(|other| {
                    let is_inside =
                        finding.span.start <= other.span.start && other.span.end <= finding.span.end;
                    other.source == finding.source && is_inside
                })
        };
        !NAMES_GUESSED.contains(&finding.code) || !is_answered()
    });
    for finding in &mut *findings {
        // A guess from the linter is as good as certain once no tool is known that has the name.
        let is_certain = match finding.code {
            "looks-like-time" | "literal-name" => true,
            "looks-like-keyword" => {
                human_word(finding.source.slice(finding.span)) != Some(Confidence::Probably)
            }
            _ => false,
        };
        if is_certain {
            finding.severity = Severity::Error;
        }
    }
    findings.extend(told);
}

/// What the linter finds by names alone, and a list of tools answers.
const NAMES_GUESSED: [&str; 4] = [CODE, "looks-like-keyword", "looks-like-time", "program-name"];

/// `matches-nothing`: the policy has rules, and none of them can match a call of an agent's own tools.
fn unreached(policy: &Policy, sources: &[Source], known: &KnownTools) -> Vec<Diagnostic> {
    let Some(source) = sources.first() else { return Vec::new() };
    let finding = |whose: &str| {
        let message =
            format!("no rule of this policy can match a tool of {whose}, so it lets everything pass there");
        let end = source.text().find('\n').unwrap_or(source.text().len());
        let finding = Diagnostic::warning("matches-nothing", source, Span::new(0, end), message);
        Diagnostic { severity: Severity::Error, ..finding }.label("every name in it is unknown there").remedy(
            "write the names as the agent spells its tools, or name what its shell runs: `map any shell running rm as \
             delete`",
        )
    };
    let is_unreached = |agent: &&&AgentTools| !policy.may_match(agent);
    let listed = known.listed.iter().filter(|tools| {
        policy.names().all(|name| !tools.contains_key(&**name))
            && !tools.keys().any(|tool| policy.concerns(tool))
    });
    let agents = known.agents.iter().filter(is_unreached).map(|agent| finding(agent.agent));
    // With a list, the agents have further tools.
    let agents: Vec<Diagnostic> = if known.listed.is_none() { agents.collect() } else { Vec::new() };
    agents.into_iter().chain(listed.map(|_| finding("the list"))).collect()
}

/// What is odd about the names of one file whatever tools there are.
pub(super) fn odd_names(draft: &Draft) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (name, span) in named(draft) {
        let text = name.text();
        if let Some(tool) = permitted_tool(&text).filter(|_| text.ends_with(')')) {
            let message = format!("`{text}` is a permission of an agent, not the name of a tool");
            let remedy = match permission_remedy(&text) {
                Some((map, _)) => format!("write `{map}` and a rule about that name into a `.rules` file"),
                None => format!("write `{tool}`, and test its input with the conditions of the rule"),
            };
            findings.push(
                Diagnostic::warning("permission-syntax", &draft.source, span, message)
                    .label("a name has no brackets here")
                    .remedy(remedy),
            );
        } else if let Some(program) = name.exact().filter(|name| is_program(draft, name)) {
            findings.push(program_name(draft, program, span, Severity::Warning));
        } else if let Some(spelt) = name.exact().filter(|name| !is_plain_word(name)).and_then(other_case) {
            let message = format!("`{text}` is the tool `{spelt}` but for its case");
            findings.push(
                Diagnostic::warning(CODE, &draft.source, span, message)
                    .label(format!("agents call it `{spelt}`"))
                    .remedy(format!("write `{spelt}`, unless a tool of your own is called `{text}`")),
            );
        }
    }
    findings
}

/// Whether a name is one word in lower case, as tools of one's own often are.
fn is_plain_word(name: &str) -> bool {
    name.chars().all(|c| c.is_lowercase() || c.is_ascii_digit())
}

/// Whether a name is that of a program, and not that of a tool whose calls the file maps.
fn is_program(draft: &Draft, name: &str) -> bool {
    let is_mapped = || draft.maps.iter().any(|map| map.tool == name);
    program(name).is_some_and(Program::is_only_a_program)
        && !is_mapped()
        && draft.scripts.iter().all(|script| script.tool != name)
}

fn program_name(draft: &Draft, program: &str, span: Span, severity: Severity) -> Diagnostic {
    let message =
        format!("`{program}` is a program, not a tool: this sees no command that a shell tool runs");
    let finding = Diagnostic::warning("program-name", &draft.source, span, message)
        .label("agents run programs with their shell tool")
        .remedy(match draft.when_then.is_written || draft.ruleset.is_some() || draft.workflow.is_some() {
            true => format!(
                "write `map any shell running {program} as {program}` and a rule about `{program}` into a `.rules` file"
            ),
            false => format!("add `map any shell running {program} as {program}`"),
        });
    Diagnostic { severity, ..finding }
}

/// The tool of some agent whose name is this one but for its case, where no agent has exactly this name.
fn other_case(name: &str) -> Option<&'static str> {
    let spelt = agent_tool_names().find(|tool| tool.eq_ignore_ascii_case(name));
    spelt.filter(|_| !is_agent_tool(name))
}

/// The names by which a file means tools, each once, without those that a map of the file gives.
fn named(draft: &Draft) -> Vec<(ToolReference, Span)> {
    let mut spoken = Mentions { draft, names: Vec::new() };
    spoken.one_line_rules();
    spoken.when_then();
    spoken.ruleset();
    spoken.workflow();
    let given: BTreeSet<&str> = draft.maps.iter().map(|map| map.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    let is_new = |named: &Mention| {
        let text = named.name.text();
        !given.contains(text.as_str()) && seen.insert(text)
    };
    spoken.names.into_iter().filter(is_new).map(|Mention { name, span }| (name, span)).collect()
}

/// The names of one file that no tool has, each once.
fn unknown_names(draft: &Draft, known: &KnownTools) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let names = named(draft);
    for (name, span) in &names {
        let span = *span;
        if name.is_known(known) || name.exact().is_some_and(|name| permitted_tool(name).is_some()) {
            continue;
        }
        // The row of an agent may lack a tool, so a pattern that takes none of them may still take one.
        if name.exact().is_none() && known.listed.is_none() {
            continue;
        }
        let compared = name
            .exact()
            .filter(|name| name.len() <= NAME_COMPARED_BYTES_MAX && findings.len() < NAMES_COMPARED_MAX);
        if let Some(program) = compared.filter(|name| is_program(draft, name)) {
            findings.push(program_name(draft, program, span, Severity::Error));
            continue;
        }
        let meant = compared.and_then(|name| meant_by(name, known));
        // A file for several agents names the tools of each: it is enough that it names the one that is meant here.
        let is_of_another = name.exact().is_some_and(is_agent_tool);
        let is_covered = names.iter().any(|(other, _)| match &meant {
            Some(meant) => other.exact() == Some(meant),
            None => other.is_known(known),
        });
        if known.listed.is_none() && is_of_another && is_covered {
            continue;
        }
        findings.push(finding(draft, name, span, meant.as_deref(), known));
    }
    findings.extend(shells_missing(draft, known));
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

/// `any shell` where none of the listed tools is a shell.
fn shells_missing(draft: &Draft, known: &KnownTools) -> Option<Diagnostic> {
    let map = draft.maps.iter().find(|map| map.is_any_shell)?;
    let has_shell = known.agents.iter().any(|agent| agent.shells().next().is_some())
        || known
            .listed
            .as_ref()
            .is_some_and(|listed| shell_tools().iter().any(|tool| listed.contains_key(*tool)));
    (!has_shell).then(|| {
        let message = "none of these tools is a shell that `any shell` stands for".to_owned();
        Diagnostic::warning("unknown-tool", &draft.source, map.span, message)
            .label("takes no call")
            .remedy("name the tool that runs scripts, as in `map run_script running rm as delete`")
    })
}

/// The tool that a name is most likely a slip of, with the action where it has one.
fn meant_by(name: &str, known: &KnownTools) -> Option<String> {
    let near = |name: &str| closest(name, known.names());
    let of_base = || {
        let (base, action) = name.split_once('.')?;
        Some(format!("{}.{action}", near(base)?))
    };
    near(name).map(str::to_owned).or_else(of_base)
}

fn finding(
    draft: &Draft,
    name: &ToolReference,
    span: Span,
    meant: Option<&str>,
    known: &KnownTools,
) -> Diagnostic {
    let text = name.text();
    let owners = known.owners();
    let message = match name {
        ToolReference::Exact(_) => format!("no tool{owners} is called `{text}`"),
        ToolReference::Matching(_) | ToolReference::Glob(_) => format!("no tool{owners} fits `{text}`"),
    };
    let Some(meant) = meant else {
        let (code, label) = match known.listed {
            Some(_) => (CODE, "not in the list of tools".to_owned()),
            None => ("unknown-tool", format!("not a tool{owners}, as far as Lockgate knows")),
        };
        let remedy = match known.listed {
            Some(_) => "write the name as the tool spells it, or bring the list of tools up to date",
            None => {
                "write the name as the agent spells it; tools of MCP servers have the server in their name"
            }
        };
        return Diagnostic::warning(code, &draft.source, span, message).label(label).remedy(remedy);
    };
    let finding = Diagnostic::warning(CODE, &draft.source, span, message);
    let finding = finding.label(format!("closest is `{meant}`")).remedy(format!("write `{meant}`"));
    // A name in another case is never meant: the rule would not see a single call.
    if meant.eq_ignore_ascii_case(&text) {
        return Diagnostic { severity: Severity::Error, ..finding }.label(format!("its name is `{meant}`"));
    }
    finding
}

impl ToolReference {
    /// Whether it means one of the tools that are known, as far as that is known.
    fn is_known(&self, known: &KnownTools) -> bool {
        match self {
            Self::Exact(name) => {
                let base = name.split_once('.').map(|(base, _)| base);
                known.has(name) || base.is_some_and(|base| known.has(base))
            }
            Self::Matching(pattern) => known.names().any(|tool| pattern.find(tool) != Match::No),
            Self::Glob(glob) => known.names().any(|tool| glob.fits(tool)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)], tools: &[&str]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
        let (policy, mut findings) = crate::read(&sources);
        assert!(policy.is_some(), "{findings:?}");
        let known = KnownTools::named(tools.iter().copied());
        check_names(&mut findings, &sources, &known, None);
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
        let rows: [(&str, &str, Vec<String>); 18] = [
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
                vec!["2 Bash.push: no tool is called `Bash.push` (its name is `bash.push`)".into()],
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
            (
                "a.yaml",
                "honeypots: [{name: nope}]\nrules:\n  - {id: r, enabled: false, then: block, when: {tool: nope}}\n",
                vec![],
            ),
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

    /// What is found about these tools of a list, code by code.
    fn found(text: &str, tools: &[(&str, &[&str])]) -> Vec<String> {
        let sources = [Source::new("a.rules", text)];
        let (policy, _) = crate::read(&sources);
        let listed = tools.iter().map(|(name, fields)| {
            let fields = Some(fields.iter().map(|it| (*it).to_owned()).collect());
            ((*name).to_owned(), ListedTool { fields, effects: Vec::new() })
        });
        let known = KnownTools { listed: Some(listed.collect()), agents: Vec::new() };
        let mut findings = Vec::new();
        check_names(&mut findings, &sources, &known, policy.as_ref());
        findings.iter().map(|it| format!("{} {}", it.code, it.message)).collect()
    }

    #[test]
    fn a_field_that_the_listed_tool_does_not_have_is_told() {
        let rows: [(&str, &[&str]); 6] = [
            ("block pay when amount is over 5\n", &[]),
            ("block pay when amuont is over 5\n", &["unknown-field `pay` has no field `amuont`"]),
            ("pay.to.iban must come from user\n", &[]),
            ("pay.country must be DE\n", &["unknown-field `pay` has no field `country`"]),
            ("links in pay.text must come from user\n", &["unknown-field `pay` has no field `text`"]),
            ("block any call when amuont is over 5\n", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(found(text, &[("pay", &["amount", "to"])]), expected, "{text}");
        }
    }

    #[test]
    fn a_tool_that_acts_and_that_no_rule_speaks_of_is_told() {
        let tools: [(&str, &[&str]); 3] = [("read_mail", &[]), ("send_mail", &[]), ("create_file", &[])];
        let rows: [(&str, &[&str]); 6] = [
            (
                "block send_mail\n",
                &["unguarded-effect no rule speaks of tools that act: `create_file` (write)"],
            ),
            ("block send_mail or create_file\n", &[]),
            ("ask about send_mail\nblock any write outside ./a\n", &[]),
            ("allow send_mail\notherwise ask\n", &[]),
            (
                "read_mail is an upload, message\nblock send_mail or create_file\n",
                &["unguarded-effect no rule speaks of tools that act: `read_mail` (upload, message)"],
            ),
            ("limit any call to 50 per session\n", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(found(text, &tools), expected, "{text}");
        }
    }
}
