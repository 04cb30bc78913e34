//! Workflows to try: random files of one to five stages, and random sessions under them.
//!
//! Tools, commands, paths and results come from a small alphabet, so that calls meet stages and conditions are met. A
//! command either is what a pattern means or has nothing of it: what is evidence in a script is told elsewhere. Each
//! condition has a message of its own, so that a reason tells which one was in the way.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

use crate::Deed;

/// Something that happens in a session under a workflow.
#[derive(Clone, Debug)]
pub enum Happening {
    /// An agent asks for a call.
    Call {
        /// The call's id.
        id: String,
        /// The tool.
        tool: &'static str,
        /// Its input, a JSON object.
        input: Value,
    },
    /// A tool has finished, or somebody says so.
    Result {
        /// The call's id.
        id: String,
        /// Whether it says success.
        ok: bool,
        /// What it gave.
        output: Value,
    },
    /// A human answers about a call, or tries to.
    Answer {
        /// The call's id.
        id: String,
        /// Whether the call may run.
        granted: bool,
    },
    /// An operator moves the session to a stage.
    Move {
        /// Which stage, counted over all stages and around again.
        stage: Index,
        /// Whether what was shown from there on is forgotten.
        forgets: bool,
    },
}

/// A workflow as YAML, and a session under it.
pub fn worlds() -> impl Strategy<Value = (String, Vec<Happening>)> {
    (workflows(), histories())
}

/// The same, where a program decides about the end of the last stage too.
pub fn worlds_with_programs() -> impl Strategy<Value = (String, Vec<Happening>)> {
    (workflows_of(stages_before_a_program()), histories())
}

/// What the model sees of a call.
pub fn deed(tool: &str, input: &Value) -> Deed {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    Deed { tool: tool.to_owned(), command: text("command"), path: text("file_path") }
}

const STAGES: [&str; 5] = ["one", "two", "three", "four", "five"];

const TOOLS: [&str; 10] = [
    "[Read]",
    "[Edit]",
    "[Read, Edit]",
    "[Bash]",
    "[Bash, Read]",
    "[Bash]",
    "[mcp__ci]",
    "[\"mcp__*\"]",
    "[\"mcp__*\", Read]",
    "[\"*\"]",
];

const PATTERNS: [&str; 5] = ["^make", "^make test$", "^make lint$", "^git push", "^git push origin main$"];

const COMMANDS: [&str; 5] = ["make test", "make lint", "git push origin main", "git push origin side", "ls"];

const PATHS: [&str; 2] = ["/desk/a.md", "/desk/b.md"];

/// Workflows as YAML text.
pub fn workflows() -> impl Strategy<Value = String> {
    workflows_of((1..=STAGES.len()).prop_flat_map(|count| vec(stages(), count)))
}

/// Some stages, the last of which ends by a program as well.
fn stages_before_a_program() -> impl Strategy<Value = Vec<Stage>> {
    (vec(stages(), 1..=3), prop::bool::weighted(0.2)).prop_map(|(mut stages, is_first)| {
        if let Some(last) = stages.last_mut() {
            let at = if is_first { 0 } else { last.exit.len() };
            last.exit.insert(at, Condition::Fixed("exec(\"make check\")".into()));
        }
        stages
    })
}

fn workflows_of(stages: impl Strategy<Value = Vec<Stage>>) -> impl Strategy<Value = String> {
    (stages, any::<bool>()).prop_map(|(stages, has_terminal)| {
        let head = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: work}\nstages:\n";
        let count = stages.len();
        let written = stages.iter().enumerate();
        let written = written.map(|(at, stage)| stage.written(at, has_terminal && at + 1 == count));
        head.to_owned() + &written.collect::<String>()
    })
}

/// A stage that does not know yet where it stands.
#[derive(Clone, Debug)]
struct Stage {
    entry: Vec<Condition>,
    tools: Option<&'static str>,
    checks: Vec<(bool, &'static str)>,
    exit: Vec<Condition>,
    has_approval: bool,
}

#[derive(Clone, Debug)]
enum Condition {
    /// Of a stage before this one.
    StageComplete(Index),
    /// Of a stage up to this one; nothing is written for this one.
    Approval(Option<Index>),
    /// That a command has succeeded.
    Command(&'static str),
    /// One that is the same wherever it stands.
    Fixed(String),
}

fn stages() -> impl Strategy<Value = Stage> {
    let some = |none, one, two| prop_oneof![none => vec(conditions(), 0..=0), one => vec(conditions(), 1..=1), two => vec(conditions(), 2..=2)];
    let (entry, exit) = (some(12, 2, 1), some(6, 5, 1));
    let check = || (prop::bool::weighted(0.4), select(&PATTERNS[..]));
    let checks = prop_oneof![4 => vec(check(), 0..=0), 2 => vec(check(), 1..=1), 1 => vec(check(), 2..=2)];
    let tools = proptest::option::weighted(0.7, select(&TOOLS[..]));
    (entry, tools, checks, exit, prop::bool::weighted(0.3)).prop_map(
        |(entry, tools, checks, exit, has_approval)| Stage { entry, tools, checks, exit, has_approval },
    )
}

fn conditions() -> impl Strategy<Value = Condition> {
    let quoted = |name: &'static str, texts: &'static [&'static str]| {
        select(texts).prop_map(move |text| Condition::Fixed(format!("{name}(\"{text}\")")))
    };
    let result = Just(Condition::Fixed("mcp_result_matches(\"mcp__ci\", \"status\", \"green\")".into()));
    prop_oneof![
        2 => any::<Index>().prop_map(Condition::StageComplete),
        1 => proptest::option::of(any::<Index>()).prop_map(Condition::Approval),
        4 => quoted("file_read", &PATHS),
        4 => select(&PATTERNS[..]).prop_map(Condition::Command),
        2 => quoted("command_not_matches", &PATTERNS),
        2 => result,
    ]
}

impl Stage {
    fn written(&self, at: usize, is_terminal: bool) -> String {
        let id = name(at);
        let mut lines = vec![format!("  - id: {id}")];
        if let Some(tools) = self.tools {
            lines.push(format!("    tools: {tools}"));
        }
        for (word, conditions) in [("entry", &self.entry), ("exit", &self.exit)] {
            let runs_commands = match word {
                "entry" => at == 0,
                _ => self.tools.is_some() || (!self.checks.is_empty() && !is_terminal),
            };
            let mut seen: Vec<String> = Vec::new();
            for condition in conditions.iter().map(|condition| condition.written(at, runs_commands)) {
                if !seen.contains(&condition) {
                    seen.push(condition);
                }
            }
            if !seen.is_empty() {
                lines.push(format!("    {word}:"));
            }
            lines.extend(seen.iter().enumerate().map(|(number, condition)| {
                format!("      - {{condition: '{condition}', message: {word} {number} of {id}}}")
            }));
        }
        if !self.checks.is_empty() {
            lines.push("    checks:".to_owned());
        }
        lines.extend(self.checks.iter().enumerate().map(|(number, (forbids, pattern))| {
            let word = if *forbids { "command_not_matches" } else { "command_matches" };
            format!("      - {{{word}: '{pattern}', message: check {number} of {id}}}")
        }));
        // What is agreed to at the beginning must not count at the end as well.
        let is_own = |condition: &Condition| match condition {
            Condition::Approval(stage) => stage.is_none_or(|stage| stage.index(at + 1) == at),
            _ => false,
        };
        if self.has_approval && !is_terminal && !self.entry.iter().any(is_own) {
            lines.push(format!("    approval: {{message: end of {id}}}"));
        }
        if is_terminal {
            lines.push("    terminal: true".to_owned());
        }
        lines.join("\n") + "\n"
    }
}

impl Condition {
    /// The condition, or another one where it could never hold: that is a mistake of the file.
    fn written(&self, at: usize, runs_commands: bool) -> String {
        match self {
            Self::Fixed(text) => text.clone(),
            Self::Command(pattern) if runs_commands => format!("command_matches(\"{pattern}\")"),
            Self::StageComplete(stage) if at > 0 => {
                format!("stage_complete(\"{}\")", name(stage.index(at)))
            }
            Self::Command(_) | Self::StageComplete(_) => "file_read(\"/desk/a.md\")".to_owned(),
            Self::Approval(None) => "approval()".to_owned(),
            Self::Approval(Some(stage)) => format!("approval(\"{}\")", name(stage.index(at + 1))),
        }
    }
}

fn name(at: usize) -> &'static str {
    STAGES.get(at).copied().unwrap_or("none")
}

/// Sessions of up to sixty calls, most of them answered and settled some calls later, results in any order, and
/// between them answers and results that nobody waits for, and operators that move the session.
pub fn histories() -> impl Strategy<Value = Vec<Happening>> {
    let delays = (0_usize..6, 0_usize..6);
    let call = (calls(), delays, prop::bool::weighted(0.75), prop::bool::weighted(0.85), outputs());
    let group = prop_oneof![
        24 => call.prop_map(Group::Call),
        1 => (0_usize..40, any::<bool>()).prop_map(|(number, granted)| Group::Answer { number, granted }),
        1 => (0_usize..40, any::<bool>(), outputs()).prop_map(|(number, ok, output)| Group::Result { number, ok, output }),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(stage, forgets)| Group::Move { stage, forgets }),
    ];
    vec(group, 0..=60).prop_map(|groups| {
        let mut timed: Vec<(usize, Happening)> =
            groups.into_iter().enumerate().flat_map(|(number, group)| group.timed(number)).collect();
        timed.sort_by_key(|(time, _)| *time);
        timed.into_iter().map(|(_, happening)| happening).collect()
    })
}

#[derive(Clone, Debug)]
enum Group {
    Call(((&'static str, Value), (usize, usize), bool, bool, Value)),
    Answer { number: usize, granted: bool },
    Result { number: usize, ok: bool, output: Value },
    Move { stage: Index, forgets: bool },
}

impl Group {
    fn timed(self, start: usize) -> Vec<(usize, Happening)> {
        let time = 3 * start;
        match self {
            Self::Call(((tool, input), (answer_delay, result_delay), granted, ok, output)) => {
                let id = start.to_string();
                // A grant may bring up another question, so the answer is given more than once.
                let answer = |delay| (time + delay, Happening::Answer { id: id.clone(), granted });
                let result =
                    |delay| (time + delay, Happening::Result { id: id.clone(), ok, output: output.clone() });
                vec![
                    (time, Happening::Call { id: id.clone(), tool, input }),
                    answer(answer_delay),
                    answer(answer_delay + 1),
                    result(answer_delay + result_delay + 1),
                    result(answer_delay + result_delay + 20),
                ]
            }
            Self::Answer { number, granted } => {
                vec![(time, Happening::Answer { id: number.to_string(), granted })]
            }
            Self::Result { number, ok, output } => {
                vec![(time, Happening::Result { id: number.to_string(), ok, output })]
            }
            Self::Move { stage, forgets } => vec![(time, Happening::Move { stage, forgets })],
        }
    }
}

fn calls() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        4 => select(&PATHS[..]).prop_map(|path| ("Read", json!({"file_path": path}))),
        3 => Just(("Edit", json!({"file_path": "/desk/a.md"}))),
        6 => select(&COMMANDS[..]).prop_map(|command| ("Bash", json!({"command": command}))),
        3 => Just(("mcp__ci", json!({}))),
        1 => Just(("mcp__deploy", json!({}))),
        1 => Just(("Write", json!({}))),
    ]
}

fn outputs() -> impl Strategy<Value = Value> {
    prop_oneof![Just(json!({"status": "green"})), Just(json!({"status": "red"})), Just(json!("done"))]
}
