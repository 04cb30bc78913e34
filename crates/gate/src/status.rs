//! Where a session stands: as values, as the documented lines, and in words for the model.
//!
//! [`Status::prompt`] tells the model what is open now, what is closed and what would open it; it is short and
//! changes only when the session does, so that it can stand in a system prompt. What is *going to* be decided
//! is never promised: only a judgement decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Not,
    sync::Arc,
};

use lockgate_policy::{
    Clause, Condition, Decision, Mode, NetRule, Policy, Scope, Statement, Workflow,
    clause::Standing,
    workflow::{Line, Progress},
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    rulebook::Rulebook,
    stages::stand_in,
    state::{ApprovalId, Counts, Session, Stand},
    value_status::{RuleValues, values_of},
};

/// Where a session stands. It serialises to the documented JSON of a status.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// The session.
    pub session: String,
    /// Every net, in file order.
    pub nets: Vec<NetStatus>,
    text: String,
    /// How often the session called.
    pub counters: SessionCounters,
    /// What rules remember of single values, in file order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<RuleValues>,
    /// Every workflow, in file order.
    pub workflows: Vec<WorkflowStatus>,
    /// Ids of calls in flight, sorted.
    pub pending: Vec<String>,
    /// Questions that wait for a human.
    pub approvals: Vec<ApprovalStatus>,
    /// What the trusted caller said about it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
    /// The kinds of sensitive data it has seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Arc<str>>,
    /// Whether that has closed tools.
    #[serde(rename = "tainted", skip_serializing_if = "Not::not")]
    pub is_tainted: bool,
    /// Why it is halted, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// What rules that look at calls say about tools whatever the call.
    #[serde(skip)]
    pub standing_words: Vec<Words>,
    /// The tools that a human is asked about each time, by name.
    #[serde(skip)]
    pub asking: Vec<Arc<str>>,
    /// What is decided where no rule has a say; none where no rule looks at calls.
    #[serde(skip)]
    pub otherwise: Option<Decision>,
}

/// How often a session called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SessionCounters {
    /// All calls.
    #[serde(flatten)]
    pub counts: Counts,
    /// Calls of tools whose calls some rule counts, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_tool: BTreeMap<String, u64>,
}

/// Where one net stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NetStatus {
    /// Its name.
    pub name: String,
    /// What the operator calls it, where they named it.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub own_name: Option<String>,
    /// Whether it takes part.
    pub active: bool,
    /// Tokens by place, empty places left out, in the order of declaration.
    #[serde(serialize_with = "write_marking")]
    pub marking: Vec<(String, u64)>,
    /// The marking as documented: `ready:1, budget:2`.
    #[serde(skip)]
    pub text: String,
    /// Tools of transitions that are enabled now, in order.
    #[serde(skip)]
    pub open_tools: Vec<Arc<str>>,
    /// Tools it always lets pass.
    #[serde(skip)]
    pub free_tools: Vec<Arc<str>>,
    /// Tokens by place, empty places too, in the order of declaration.
    #[serde(skip)]
    pub places: Vec<(String, u64)>,
    /// Where it stands, in words.
    #[serde(skip)]
    pub words: Vec<Words>,
}

fn write_marking<S: Serializer>(marking: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(marking.iter().map(|(place, tokens)| (place, tokens)))
}

/// Where a session stands in one workflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkflowStatus {
    /// Its name.
    pub name: String,
    /// Its edition, in its author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it takes part.
    pub active: bool,
    /// What the session remembers.
    #[serde(flatten)]
    pub progress: Progress,
    /// The same for people.
    #[serde(flatten)]
    pub line: Line,
}

/// What a rule says about some tools as the session stands, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// What they are.
    pub openness: Openness,
    /// The tools.
    pub tools: Vec<Arc<str>>,
    /// What is said behind their names.
    tail: String,
}

/// Whether tools are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Openness {
    /// They are.
    Open,
    /// They are not, and the words say what would open them.
    Closed,
    /// A human is asked each time.
    Human,
}

impl Words {
    fn of(openness: Openness, tool: &str, tail: impl Into<String>) -> Self {
        Self { openness, tools: vec![Arc::from(tool)], tail: tail.into() }
    }

    /// The sentence.
    pub fn text(&self) -> String {
        let tools: Vec<String> = self.tools.iter().map(|tool| format!("`{tool}`")).collect();
        tools.join(", ") + &self.tail
    }
}

/// Which tools are not plainly open, whatever single rules say of them.
#[derive(Default)]
struct Restraints {
    closed: BTreeSet<Arc<str>>,
    human: BTreeSet<Arc<str>>,
    /// Those that some rule asks or objects about, depending on the call.
    doubtful: BTreeSet<Arc<str>>,
}

impl Restraints {
    fn of<'w>(words: impl Iterator<Item = &'w Words>, policy: &Policy, session: &Session) -> Self {
        let mut restraints = Self::default();
        for words in words {
            let tools = words.tools.iter().cloned();
            match words.openness {
                Openness::Open => {}
                Openness::Closed => restraints.closed.extend(tools),
                Openness::Human => restraints.human.extend(tools),
            }
        }
        let may_object = |clause: &&Clause| {
            clause.mode == Mode::Enforce && clause.wants >= Decision::Ask && session.is_active(clause.id)
        };
        for clause in policy.clauses().iter().filter(may_object) {
            restraints.doubtful.extend(clause.tools.iter().map(|tool| Arc::from(tool.as_str())));
        }
        restraints
    }

    /// What is left of one rule's words: a tool is open only if no rule closes it and none asks a human.
    fn join(&self, words: Vec<Words>) -> Vec<Words> {
        let mut joined = Vec::with_capacity(words.len());
        for Words { openness, tools, tail } in words {
            if openness != Openness::Open {
                joined.push(Words { openness, tools, tail });
                continue;
            }
            let is_open = |tool: &Arc<str>| !self.closed.contains(tool);
            let (human, open): (Vec<_>, Vec<_>) =
                tools.into_iter().filter(is_open).partition(|tool| self.human.contains(tool));
            let (doubtful, open): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|tool| self.doubtful.contains(tool));
            let parts = [
                (Openness::Open, open, tail.clone()),
                (
                    Openness::Open,
                    doubtful,
                    format!("{tail}, unless a rule asks a human about the call or refuses it"),
                ),
                (Openness::Human, human, format!("{tail}; needs approval")),
            ];
            let parts = parts.into_iter().filter(|(_, tools, _)| !tools.is_empty());
            joined.extend(parts.map(|(openness, tools, tail)| Words { openness, tools, tail }));
        }
        joined
    }
}

fn text_of(nets: &[NetStatus]) -> String {
    let is_plain = nets.iter().all(|net| net.active && net.own_name.is_none());
    let line = |net: &NetStatus| {
        let name = net.own_name.as_ref().unwrap_or(&net.name);
        match (is_plain, net.active) {
            (true, _) => format!("{name}: {}", net.text),
            (false, true) => format!("{name} (active): {}", net.text),
            (false, false) => format!("{name} (inactive): {}", net.text),
        }
    };
    nets.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A question that waits for a human.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApprovalStatus {
    /// Its name.
    pub approval: ApprovalId,
    /// The call's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input the human is asked about.
    pub input: Map<String, Value>,
    /// The rules that want the human.
    pub rules: Vec<String>,
}

impl Status {
    pub(crate) fn of(rulebook: &Rulebook, id: &str, stand: Stand<'_>) -> Self {
        let Stand { session, shared_state, .. } = stand;
        let policy = &rulebook.policy;
        let mut pending: Vec<String> = session.flights().map(|(id, _)| id.to_string()).collect();
        pending.sort();
        let per_tool = session.per_tool().map(|(tool, calls)| (tool.to_string(), calls)).collect();
        let name_of = |rule: &lockgate_policy::RuleId| policy.rule(*rule).map(|rule| rule.name.clone());
        let approvals = session.asked().iter().map(|(number, asked)| ApprovalStatus {
            approval: ApprovalId { session: id.to_owned(), number: *number },
            id: asked.call.id.clone(),
            tool: asked.call.tool.clone(),
            input: asked.shown.as_deref().unwrap_or(&asked.call.input).clone(),
            rules: asked.rules.iter().filter_map(name_of).collect(),
        });
        let mut nets: Vec<NetStatus> =
            policy.nets().iter().map(|rule| NetStatus::of(rule, rulebook, session)).collect();
        let standing_words = standing_words(policy, session);
        let of_nets = nets.iter().filter(|net| net.active).flat_map(|net| &net.words);
        let restraints = Restraints::of(of_nets.chain(&standing_words), policy, session);
        for net in &mut nets {
            net.words = restraints.join(std::mem::take(&mut net.words));
        }
        Self {
            session: id.to_owned(),
            text: text_of(&nets),
            nets,
            values: values_of(policy, stand),
            workflows: policy.workflows().iter().map(|it| WorkflowStatus::of(it, session)).collect(),
            pending,
            approvals: approvals.collect(),
            counters: SessionCounters { counts: session.counts(), per_tool },
            attributes: session.attributes.clone(),
            taints: session.taints.clone(),
            is_tainted: session.is_tainted,
            halted: shared_state.halted().or(session.halted()).map(str::to_owned),
            standing_words: restraints.join(standing_words),
            asking: restraints.human.into_iter().collect(),
            otherwise: (!policy.clauses().is_empty())
                .then(|| policy.default_clause().map_or(Decision::Allow, |clause| clause.wants)),
        }
    }

    /// The documented status text: `name: marking`, one line a net. Where nets were named, or one was deactivated, each
    /// line says whether it is active.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// What the model should know, in Markdown: what is open, what is closed and what would open it. What needs a
    /// human is never told as open.
    pub fn prompt(&self) -> String {
        let mut lines: BTreeMap<Openness, BTreeSet<String>> = BTreeMap::new();
        let of_nets = self.nets.iter().filter(|net| net.active).flat_map(|net| &net.words);
        for words in of_nets.chain(&self.standing_words) {
            lines.entry(words.openness).or_default().insert(words.text());
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
        for (openness, lines) in lines {
            let title = match openness {
                Openness::Open => "Open now",
                Openness::Closed => "Closed now",
                Openness::Human => "A human decides",
            };
            text.push_str(&format!("\n### {title}\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        }
        for workflow in self.workflows.iter().filter(|workflow| workflow.active) {
            let mut words = workflow.line.words();
            for tool in &self.asking {
                words = words.replace(&format!("`{tool}`"), &format!("`{tool}` (needs approval)"));
            }
            text.push_str(&format!("\n### Workflow\n\n{}\n\n- {words}\n", workflow.line));
        }
        text
    }

    /// The documented system prompt: every active net with its tools and its marking. What needs a human says so.
    pub fn prompt_with_markings(&self) -> String {
        let tool = |tool: &Arc<str>| {
            if self.asking.contains(tool) { format!("{tool} (needs approval)") } else { tool.to_string() }
        };
        let section = |net: &NetStatus| {
            let open: Vec<String> = net.open_tools.iter().map(tool).collect();
            let open = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
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
    fn of(rule: &NetRule, rulebook: &Rulebook, session: &Session) -> Self {
        let net = rule.net.net();
        let marking = session.markings.get(&rule.id).unwrap_or_else(|| rule.net.start());
        let held = net.places().filter(|place| marking.tokens(*place) > 0);
        let enabled = net.enabled(marking);
        Self {
            name: rule.name.clone(),
            own_name: rulebook.names.name_of(rule),
            active: session.is_active(rule.id),
            marking: held.map(|place| (net.place_name(place).to_owned(), marking.tokens(place))).collect(),
            text: rule.net.marking_text(marking),
            open_tools: enabled.flat_map(|transition| rule.net.guard(transition).tools.clone()).collect(),
            free_tools: rule.net.free_tools().to_vec(),
            places: net
                .places()
                .map(|place| (net.place_name(place).to_owned(), marking.tokens(place)))
                .collect(),
            words: words(rule, marking),
        }
    }

    /// The marking with its empty places, as documented: `ready:1, working:0`.
    pub fn format_marking(&self) -> String {
        let place = |(name, tokens): &(String, u64)| format!("{name}:{tokens}");
        self.places.iter().map(place).collect::<Vec<_>>().join(", ")
    }
}

/// What clauses say about the tools they name, whatever the call: only that can be told without one.
fn standing_words(policy: &Policy, session: &Session) -> Vec<Words> {
    let acts = |clause: &&Clause| clause.mode == Mode::Enforce && session.is_active(clause.id);
    let is_met = |condition: &Condition| matches!(condition, Condition::Tainted) && session.is_tainted;
    let standing = policy.clauses().iter().filter(acts).filter(|clause| clause.conditions.iter().all(is_met));
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
        (Decision::Allow, _) => clause.is_credit.then(|| Words::of(Openness::Open, tool, "")),
        (Decision::Redact, _) => Some(Words::of(Openness::Open, tool, ", with its sensitive data masked")),
        (Decision::Ask, Standing::Once) => Some(Words::of(Openness::Human, tool, ", each time")),
        (Decision::Ask, _) => Some(Words::of(Openness::Human, tool, "; the answer stands for a while")),
        (Decision::Block, _) if clause.conditions.is_empty() => {
            Some(Words::of(Openness::Closed, tool, ": for good"))
        }
        (Decision::Block, _) => Some(Words::of(
            Openness::Closed,
            tool,
            ": this session has seen sensitive data; a human can open it",
        )),
    };
    named.into_iter().filter_map(words).collect()
}

/// Where a rule stands, in words the model can act on.
fn words(rule: &NetRule, marking: &lockgate_petri::Marking) -> Vec<Words> {
    let tokens = |place: &str| rule.net.net().place(place).map_or(0, |place| marking.tokens(place));
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let words = match &rule.statement {
        Statement::Sequence { prerequisite, dependent } if tokens("gate") > 0 => {
            let tail = format!(" once; it then needs another successful `{prerequisite}`");
            Words::of(Openness::Open, dependent, tail)
        }
        Statement::Sequence { prerequisite, dependent } => {
            Words::of(Openness::Closed, dependent, format!(": a successful `{prerequisite}` opens it"))
        }
        Statement::Approval { tool } => Words::of(Openness::Human, tool, ", each time"),
        Statement::Block { tool } => Words::of(Openness::Closed, tool, ": for good"),
        Statement::Limit { tool, count, scope } => {
            let left = tokens("budget");
            let used_up = format!(": its limit of {count} is used up");
            match scope {
                Scope::Session if left == 0 => {
                    Words::of(Openness::Closed, tool, format!("{used_up} for this session"))
                }
                Scope::Session => {
                    Words::of(Openness::Open, tool, format!(" {} more this session", times(left)))
                }
                Scope::Action(action) if left == 0 => {
                    Words::of(Openness::Closed, tool, format!("{used_up}; each `{action}` gives one back"))
                }
                Scope::Action(action) => Words::of(
                    Openness::Open,
                    tool,
                    format!(" {} more; each `{action}` gives one back", times(left)),
                ),
            }
        }
        Statement::Net(draft) => return words_of_net(rule, marking, &draft.name),
    };
    vec![words]
}

/// What a net written by hand says: of each tool the first transition that is enabled counts, as for a call.
fn words_of_net(rule: &NetRule, marking: &lockgate_petri::Marking, name: &str) -> Vec<Words> {
    let net = rule.net.net();
    let openness = |tool: &Arc<str>| {
        let enabled = rule.net.transitions_of(tool).find(|it| net.is_enabled(marking, *it));
        match enabled {
            None => Openness::Closed,
            Some(transition) if rule.net.guard(transition).is_manual => Openness::Human,
            Some(_) => Openness::Open,
        }
    };
    let mut gated: BTreeMap<Openness, Vec<Arc<str>>> = BTreeMap::new();
    for tool in rule.net.names().into_iter().filter(|tool| !rule.net.free_tools().contains(tool)) {
        gated.entry(openness(&tool)).or_default().push(tool);
    }
    let words = |(openness, tools)| {
        let tail = match openness {
            Openness::Human => format!(" (net {name}): needs approval each time"),
            Openness::Open | Openness::Closed => format!(" (net {name})"),
        };
        Words { openness, tools, tail }
    };
    gated.into_iter().map(words).collect()
}
