//! Where a session stands: as values, as the documented lines, and in words for the model.
//!
//! [`Status::prompt`] tells the model what is open now, what is closed and what would open it; it is short and
//! changes only when the session does, so that it can stand in a system prompt. What is *going to* be decided
//! is never promised: only a judgement decides.

use std::{collections::BTreeMap, sync::Arc};

use lockgate_policy::{
    Clause, Decision, Mode, NetRule, Policy, Scope, Statement, Workflow,
    clause::{Fact, Standing},
    workflow::{Line, Progress},
};

use crate::{
    commons::Stand,
    rulebook::Rulebook,
    session::{ApprovalId, Counts, Session},
    stages::stand_in,
};

/// Where a session stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The session.
    pub session: String,
    /// Every net, in file order.
    pub nets: Vec<NetStatus>,
    /// Every workflow, in file order.
    pub workflows: Vec<WorkflowStatus>,
    /// Ids of calls in flight, sorted.
    pub pending: Vec<String>,
    /// Questions that wait for a human.
    pub approvals: Vec<ApprovalStatus>,
    /// How often the session called.
    pub counts: Counts,
    /// How often it called tools whose calls some rule counts, by name.
    pub per_tool: Vec<(String, u64)>,
    /// What the trusted caller said about it.
    pub attributes: serde_json::Map<String, serde_json::Value>,
    /// The kinds of sensitive data it has seen.
    pub taints: Vec<Arc<str>>,
    /// Whether that has closed tools.
    pub is_tainted: bool,
    /// Why it is halted, if it is.
    pub halted: Option<String>,
    /// What rules that look at calls say about tools whatever the call, in words.
    pub standing_words: Vec<Words>,
    /// What is decided where no rule has a say; none where no rule looks at calls.
    pub otherwise: Option<Decision>,
}

/// Where one net stands.
#[derive(Clone, Debug, PartialEq)]
pub struct NetStatus {
    /// Its name.
    pub name: String,
    /// Whether it takes part.
    pub active: bool,
    /// Tokens by place, empty places left out, in the order of declaration.
    pub marking: Vec<(String, u64)>,
    /// The marking as documented: `ready:1, budget:2`.
    pub text: String,
    /// Tools of transitions that are enabled now, in order.
    pub open_tools: Vec<Arc<str>>,
    /// Tools it always lets pass.
    pub free_tools: Vec<Arc<str>>,
    /// Where it stands, in words.
    pub words: Option<Words>,
}

/// Where a session stands in one workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowStatus {
    /// Its name.
    pub name: String,
    /// Its edition, in its author's words.
    pub version: Option<String>,
    /// Whether it takes part.
    pub active: bool,
    /// What the session remembers.
    pub progress: Progress,
    /// The same for people.
    pub line: Line,
}

/// Where a net stands, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// Something is open.
    Open(String),
    /// Something is closed, and what would open it.
    Closed(String),
    /// Something waits for a human each time.
    Human(String),
}

/// A question that waits for a human.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalStatus {
    /// Its name.
    pub approval: ApprovalId,
    /// The call's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input the human is asked about.
    pub input: serde_json::Map<String, serde_json::Value>,
    /// The rules that want the human.
    pub rules: Vec<String>,
}

impl Status {
    pub(crate) fn of(rulebook: &Rulebook, id: &str, stand: Stand<'_>) -> Self {
        let Stand { session, commons, .. } = stand;
        let policy = &rulebook.policy;
        let mut pending: Vec<String> = session.flights().map(|(id, _)| id.to_string()).collect();
        pending.sort();
        let mut per_tool: Vec<_> =
            session.per_tool().map(|(tool, calls)| (tool.to_string(), calls)).collect();
        per_tool.sort();
        let name_of = |rule: &lockgate_policy::RuleId| policy.rule(*rule).map(|rule| rule.name.clone());
        let approvals = session.asked().iter().map(|(number, asked)| ApprovalStatus {
            approval: ApprovalId { session: id.to_owned(), number: *number },
            id: asked.call.id.clone(),
            tool: asked.call.tool.clone(),
            input: asked.shown.as_deref().unwrap_or(&asked.call.input).clone(),
            rules: asked.rules.iter().filter_map(name_of).collect(),
        });
        Self {
            session: id.to_owned(),
            nets: policy.nets().iter().map(|rule| NetStatus::of(rule, session)).collect(),
            workflows: policy.workflows().iter().map(|it| WorkflowStatus::of(it, session)).collect(),
            pending,
            approvals: approvals.collect(),
            counts: session.counts(),
            per_tool,
            attributes: session.attributes.clone(),
            taints: session.taints.clone(),
            is_tainted: session.is_tainted,
            halted: commons.halted().or(session.halted()).map(str::to_owned),
            standing_words: standing_words(policy, session),
            otherwise: (!policy.clauses().is_empty())
                .then(|| policy.default_clause().map_or(Decision::Allow, |clause| clause.wants)),
        }
    }

    /// The documented status text: `name: marking`, one line a net. Once a net was deactivated, each line says
    /// which are active.
    pub fn text(&self) -> String {
        let all_active = self.nets.iter().all(|net| net.active);
        let line = |net: &NetStatus| match (all_active, net.active) {
            (true, _) => format!("{}: {}", net.name, net.text),
            (false, true) => format!("{} (active): {}", net.name, net.text),
            (false, false) => format!("{} (inactive): {}", net.name, net.text),
        };
        self.nets.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What the model should know, in Markdown: what is open, what is closed and what would open it.
    pub fn prompt(&self) -> String {
        let mut open: BTreeMap<&str, ()> = BTreeMap::new();
        let mut closed: BTreeMap<&str, ()> = BTreeMap::new();
        let mut human: BTreeMap<&str, ()> = BTreeMap::new();
        let of_nets = self.nets.iter().filter(|net| net.active).filter_map(|net| net.words.as_ref());
        for words in of_nets.chain(&self.standing_words) {
            match words {
                Words::Open(text) => open.insert(text, ()),
                Words::Closed(text) => closed.insert(text, ()),
                Words::Human(text) => human.insert(text, ()),
            };
        }
        let others = match self.otherwise {
            None => "Tools not named here are open.",
            Some(Decision::Allow) => {
                "Other calls are open, unless a rule objects to what they say, when they come or what came before \
                 them."
            }
            Some(Decision::Redact) => {
                "In other calls sensitive data is masked, unless a rule says otherwise."
            }
            Some(Decision::Ask) => "A human decides about other calls, unless a rule allows or refuses them.",
            Some(Decision::Block) => "Other calls are closed, unless a rule allows them.",
        };
        let mut text = format!("## Tool rules\n\nEvery tool call is checked before it runs. {others}\n");
        if let Some(reason) = &self.halted {
            text.push_str(&format!("\nEverything is halted: {reason}\n"));
        }
        for (title, lines) in [("Open now", open), ("Closed now", closed), ("A human decides", human)] {
            if !lines.is_empty() {
                text.push_str(&format!("\n### {title}\n\n"));
                lines.keys().for_each(|line| text.push_str(&format!("- {line}\n")));
            }
        }
        for workflow in self.workflows.iter().filter(|workflow| workflow.active) {
            text.push_str(&format!("\n### Workflow\n\n{}\n\n- {}\n", workflow.line, workflow.line.words()));
        }
        text
    }

    /// The documented system prompt: every active net with its tools and its marking.
    pub fn prompt_with_markings(&self) -> String {
        let section = |net: &NetStatus| {
            let open = if net.open_tools.is_empty() { "none".to_owned() } else { net.open_tools.join(", ") };
            let free = net.free_tools.join(", ");
            format!(
                "### {}\nAvailable gated tools: {open}\nFree tools: {free}\nState: {}",
                net.name, net.text
            )
        };
        let sections: Vec<String> = self.nets.iter().filter(|net| net.active).map(section).collect();
        format!("## Active Petri Nets (composed)\n{}", sections.join("\n\n"))
    }
}

impl WorkflowStatus {
    fn of(workflow: &Workflow, session: &Session) -> Self {
        let progress = stand_in(workflow, session, None).0.into_owned();
        Self {
            name: workflow.name.clone(),
            version: workflow.version.clone(),
            active: session.is_active(workflow.id),
            line: workflow.line(&progress),
            progress,
        }
    }
}

impl NetStatus {
    fn of(rule: &NetRule, session: &Session) -> Self {
        let net = rule.net.net();
        let marking = session.markings.get(&rule.id).unwrap_or_else(|| rule.net.start());
        let held = net.places().filter(|place| marking.tokens(*place) > 0);
        let enabled = net.enabled(marking);
        Self {
            name: rule.name.clone(),
            active: session.is_active(rule.id),
            marking: held.map(|place| (net.place_name(place).to_owned(), marking.tokens(place))).collect(),
            text: rule.net.marking_text(marking),
            open_tools: enabled.flat_map(|transition| rule.net.guard(transition).tools.clone()).collect(),
            free_tools: rule.net.free_tools().to_vec(),
            words: words(rule, marking),
        }
    }
}

/// What clauses say about the tools they name, whatever the call: only that can be told without one.
fn standing_words(policy: &Policy, session: &Session) -> Vec<Words> {
    let acts = |clause: &&Clause| clause.mode == Mode::Enforce && session.is_active(clause.id);
    let is_met = |fact: &Fact| matches!(fact, Fact::Tainted) && session.is_tainted;
    let standing = policy.clauses().iter().filter(acts).filter(|clause| clause.facts.iter().all(is_met));
    let mut named: BTreeMap<&str, &Clause> = BTreeMap::new();
    for clause in standing {
        for tool in &clause.tools {
            let strictest = named.entry(tool).or_insert(clause);
            if clause.wants > strictest.wants {
                *strictest = clause;
            }
        }
    }
    let words = |(tool, clause): (&str, &Clause)| match (clause.wants, clause.standing) {
        // Where everything is open, saying so of some tools would be no news.
        (Decision::Allow, _) => clause.is_credit.then(|| Words::Open(format!("`{tool}`"))),
        (Decision::Redact, _) => Some(Words::Open(format!("`{tool}`, with its sensitive data masked"))),
        (Decision::Ask, Standing::Once) => Some(Words::Human(format!("`{tool}`, each time"))),
        (Decision::Ask, _) => Some(Words::Human(format!("`{tool}`; the answer stands for a while"))),
        (Decision::Block, _) if clause.facts.is_empty() => Some(Words::Closed(format!("`{tool}`: for good"))),
        (Decision::Block, _) => Some(Words::Closed(format!(
            "`{tool}`: this session has seen sensitive data; a human can open it"
        ))),
    };
    named.into_iter().filter_map(words).collect()
}

/// Where a rule stands, in words the model can act on.
fn words(rule: &NetRule, marking: &lockgate_petri::Marking) -> Option<Words> {
    let tokens = |place: &str| rule.net.net().place(place).map_or(0, |place| marking.tokens(place));
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    Some(match &rule.statement {
        Statement::Sequence { prerequisite, dependent } if tokens("gate") > 0 => {
            Words::Open(format!("`{dependent}` once; it then needs another successful `{prerequisite}`"))
        }
        Statement::Sequence { prerequisite, dependent } => {
            Words::Closed(format!("`{dependent}`: a successful `{prerequisite}` opens it"))
        }
        Statement::Approval { tool } => Words::Human(format!("`{tool}`, each time")),
        Statement::Block { tool } => Words::Closed(format!("`{tool}`: for good")),
        Statement::Limit { tool, count, scope } => {
            let left = tokens("budget");
            match scope {
                Scope::Session if left == 0 => {
                    Words::Closed(format!("`{tool}`: its limit of {count} is used up for this session"))
                }
                Scope::Session => Words::Open(format!("`{tool}` {} more this session", times(left))),
                Scope::Action(action) if left == 0 => Words::Closed(format!(
                    "`{tool}`: its limit of {count} is used up; each `{action}` gives one back"
                )),
                Scope::Action(action) => {
                    Words::Open(format!("`{tool}` {} more; each `{action}` gives one back", times(left)))
                }
            }
        }
        Statement::Net(draft) => return words_of_net(rule, marking, &draft.name),
    })
}

fn words_of_net(rule: &NetRule, marking: &lockgate_petri::Marking, name: &str) -> Option<Words> {
    let net = rule.net.net();
    let is_open = |tool: &Arc<str>| rule.net.transitions_of(tool).any(|it| net.is_enabled(marking, it));
    let gated: Vec<Arc<str>> =
        rule.net.names().into_iter().filter(|tool| !rule.net.free_tools().contains(tool)).collect();
    let list =
        |tools: Vec<&Arc<str>>| tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
    let (open, closed): (Vec<_>, Vec<_>) = gated.iter().partition(|tool| is_open(tool));
    match (open.is_empty(), closed.is_empty()) {
        (true, true) => None,
        (true, false) => Some(Words::Closed(format!("{} (net {name})", list(closed)))),
        (false, true) => Some(Words::Open(format!("{} (net {name})", list(open)))),
        (false, false) => {
            Some(Words::Open(format!("{} (net {name}; closed now: {})", list(open), list(closed))))
        }
    }
}
