//! The naive model of workflows: what stages, evidence and approvals mean, slow and obvious.
//!
//! [`WorkflowModel`] follows one session through one workflow with a few sets. It shares no code with the machine it
//! is compared with, not even the reader of the file, and is checked against recorded sessions of the format. But it
//! was written with the machine in view and takes its steps in the same order. Where the format is silent (the entry
//! of the first stage, missing approvals that are asked for, results and answers from before a move) or we depart from
//! it on purpose (tools that run nothing satisfy every check of commands, what may have acted counts before its
//! result), it follows the gate, and there its agreement proves little. It takes every call for a [`Deed`]: a tool,
//! perhaps one plain command, perhaps one path. Programs of conditions stand in the exit of the last stage only, and all
//! end alike. There are no scripts, no links and no clock in here.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use crate::conformance::read_yaml;

/// Said of a call whose tool is not open in the active stage.
const NOT_ALLOWED: &str = "Tool is not allowed in this workflow stage";

/// Said of every call after the end.
const COMPLETE: &str = "workflow complete — no further tool calls are accepted";

/// Tools that run no commands.
const QUIET_TOOLS: [&str; 3] = ["Read", "Edit", "Write"];

/// One session in one workflow.
#[derive(Clone, Debug)]
pub struct WorkflowModel {
    stages: Vec<Stage>,
    /// The stage the session is in; empty once the last one has ended.
    pub active: String,
    /// The stages that have ended, in that order.
    pub completed: Vec<String>,
    /// The stages whose end a human has agreed to.
    pub approved: BTreeSet<String>,
    /// The files that were read.
    pub reads: BTreeSet<String>,
    /// The commands that succeeded, each with the stage it was let pass in.
    pub succeeded: BTreeSet<(String, String)>,
    /// The commands that were let pass, each with its stage.
    pub passed: BTreeSet<(String, String)>,
    /// The fields of results, each with its tool and its value as text.
    pub results: BTreeSet<(String, String, String)>,
    /// Whether the programs of conditions end as they should.
    pub programs_succeed: bool,
    /// How often they were run.
    pub programs_run: usize,
    /// How they ended, as far as they were run for this decision.
    ended_well: Option<bool>,
    /// Whether a call has succeeded in the last stage since programs were last asked about its end.
    has_worked: bool,
    /// How often an operator has moved the session.
    moves: usize,
    /// Whether an operator put it where it is, so that no entry is asked for.
    is_placed: bool,
    in_flight: BTreeMap<String, InFlight>,
    asked: BTreeMap<String, Asked>,
}

/// A call as the model sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deed {
    /// The tool.
    pub tool: String,
    /// The command it runs.
    pub command: Option<String>,
    /// The file it reads.
    pub path: Option<String>,
}

/// What the model says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It may run.
    Allow,
    /// A human is asked this first.
    Ask(String),
    /// It must not run, because of this.
    Block(String),
}

#[derive(Clone, Debug)]
struct InFlight {
    deed: Deed,
    /// The stage it was let pass in; empty where it crossed the last line.
    stage: String,
    /// Whether that stage had not begun: the call was let pass to give what its entry asks for.
    is_entry: bool,
    moves: usize,
}

#[derive(Clone, Debug)]
struct Asked {
    deed: Deed,
    /// The stage whose end the human is asked about.
    stage: String,
    moves: usize,
}

#[derive(Clone, Debug)]
struct Stage {
    id: String,
    entry: Vec<Gate>,
    tools: Option<Vec<String>>,
    checks: Vec<Check>,
    exit: Vec<Gate>,
    approval: Option<String>,
    is_terminal: bool,
}

/// A condition for entering or leaving a stage, and what is said while it does not hold.
#[derive(Clone, Debug)]
struct Gate {
    /// The stage it stands in.
    stage: String,
    condition: Condition,
    message: String,
}

#[derive(Clone, Debug)]
enum Condition {
    StageComplete(String),
    FileRead(String),
    Approval(String),
    CommandMatches(Regex),
    CommandNotMatches(Regex),
    ResultMatches(String, String, String),
    Program,
}

#[derive(Clone, Debug)]
struct Check {
    pattern: Regex,
    forbids: bool,
    message: String,
}

/// Why a stage does not take a call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// No call is ever made in it.
    Boundary,
    Tool,
    /// A command that every call has to match does not.
    Demanded(String),
    /// A command matches that none may match.
    Prohibited(String),
}

impl WorkflowModel {
    /// A fresh session under the workflow in this YAML text.
    ///
    /// # Panics
    /// If the text is no workflow.
    #[expect(clippy::expect_used, reason = "a workflow of a test is the test's own mistake")]
    pub fn new(text: &str) -> Self {
        Self::of(&read_yaml(text).expect("a workflow is YAML"))
    }

    /// A fresh session under a workflow that was read already.
    ///
    /// # Panics
    /// If it is no workflow.
    pub fn of(workflow: &Value) -> Self {
        let stages: Vec<Stage> = list(workflow.get("stages")).iter().map(Stage::of).collect();
        let first = stages.first().map(|stage| stage.id.clone()).unwrap_or_default();
        Self {
            stages,
            active: first,
            completed: Vec::new(),
            approved: BTreeSet::new(),
            reads: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            passed: BTreeSet::new(),
            results: BTreeSet::new(),
            programs_succeed: false,
            programs_run: 0,
            ended_well: None,
            has_worked: false,
            moves: 0,
            is_placed: false,
            in_flight: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// The names of the stages, in order.
    pub fn stage_names(&self) -> Vec<String> {
        self.stages.iter().map(|stage| stage.id.clone()).collect()
    }

    /// Judges a call.
    pub fn call(&mut self, id: &str, deed: Deed) -> Said {
        if self.in_flight.contains_key(id) || self.asked.contains_key(id) {
            return Said::Block("the id is in use".into());
        }
        self.decide(id, deed)
    }

    /// Takes in a human's answer about a call; nothing comes of it if nobody was asked.
    pub fn answer(&mut self, id: &str, granted: bool) -> Option<Said> {
        let Asked { deed, stage, moves } = self.asked.remove(id)?;
        if !granted {
            return Some(Said::Block("a human refused".into()));
        }
        // Whoever agreed before the session was moved has agreed to something else.
        if moves == self.moves {
            self.approved.insert(stage);
        }
        Some(self.decide(id, deed))
    }

    /// Takes in a result; says whether there was a call it belongs to.
    pub fn result(&mut self, id: &str, ok: bool, output: &Value) -> bool {
        let Some(InFlight { deed, stage, is_entry, moves }) = self.in_flight.remove(id) else { return false };
        // What belongs to no stage shows nothing, and what was done before a move nothing after it.
        if !ok || stage.is_empty() || moves != self.moves {
            return true;
        }
        self.has_worked |= stage == self.active && !is_entry;
        self.reads.extend(deed.path.filter(|_| deed.tool == "Read"));
        self.succeeded.extend(deed.command.map(|command| (stage, command)));
        for (field, value) in output.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.results.insert((deed.tool.clone(), field.clone(), value));
        }
        if let Some(last) = self.stages.last().cloned()
            && last.id == self.active
            && !last.is_terminal
            && last.has_end()
            && self.unmet(&last.exit).is_none()
            && (last.approval.is_none() || self.approved.contains(&last.id))
        {
            self.end(&last, "");
        }
        true
    }

    /// An operator sends the session back: what was shown and agreed to from there on is forgotten.
    pub fn reset(&mut self, stage: &str) {
        self.set(stage);
        self.is_placed = false;
        let earlier = self.completed.clone();
        let is_earlier = |stage: &String| earlier.contains(stage);
        self.approved.retain(is_earlier);
        self.succeeded.retain(|(stage, _)| is_earlier(stage));
        self.passed.retain(|(stage, _)| is_earlier(stage));
        let later: Vec<&Stage> = self.stages.iter().filter(|stage| !is_earlier(&stage.id)).collect();
        self.results.retain(|(tool, ..)| {
            let is_theirs = |stage: &&Stage| stage.opens(tool);
            !earlier.is_empty() && !later.iter().any(is_theirs)
        });
        if earlier.is_empty() {
            self.reads.clear();
        }
    }

    /// An operator puts the session into a stage, with all that was shown.
    pub fn set(&mut self, stage: &str) {
        self.active = stage.to_owned();
        self.completed = self.stage_names().into_iter().take_while(|id| id != stage).collect();
        self.moves += 1;
        self.has_worked = false;
        self.is_placed = true;
    }

    fn decide(&mut self, id: &str, deed: Deed) -> Said {
        self.ended_well = None;
        let considered = self.consider(&deed);
        // What a program came to counts for this decision alone.
        self.ended_well = None;
        match considered {
            Ok(Place { stage, is_entry }) => {
                self.passed.extend(deed.command.clone().map(|command| (stage.clone(), command)));
                self.in_flight.insert(id.to_owned(), InFlight { deed, stage, is_entry, moves: self.moves });
                Said::Allow
            }
            Err(Hindrance::Refuses(reason)) => Said::Block(reason),
            Err(Hindrance::Asks { stage, message }) => {
                self.asked.insert(id.to_owned(), Asked { deed, stage, moves: self.moves });
                Said::Ask(message)
            }
        }
    }

    /// Moves on as far as this call leads, and says in which stage it may run.
    fn consider(&mut self, deed: &Deed) -> Result<Place, Hindrance> {
        loop {
            let Some(at) = self.stages.iter().position(|stage| stage.id == self.active) else {
                return Err(Hindrance::Refuses(COMPLETE.into()));
            };
            let (stage, next) = (self.stages.get(at).cloned(), self.stages.get(at + 1).cloned());
            let Some(stage) = stage else { return Err(Hindrance::Refuses(COMPLETE.into())) };
            if stage.is_terminal && !stage.asks_programs() && self.unmet(&stage.exit).is_none() {
                return Err(Hindrance::Refuses(COMPLETE.into()));
            }
            // The first stage is entered like every other; what its entry asks for must be possible before.
            if at == 0
                && !self.is_placed
                && let Some(gate) = self.unmet(&stage.entry)
            {
                let is_wanted = |gate: &&Gate| !self.holds(gate) && gate.is_given_by(deed, &stage);
                return match stage.entry.iter().find(is_wanted) {
                    Some(_) => Ok(Place { stage: stage.id, is_entry: true }),
                    None => Err(gate.hindrance()),
                };
            }
            let Some(why) = stage.refuses(deed) else {
                return Ok(Place { stage: stage.id, is_entry: false });
            };
            let Some(next) = next else {
                if stage.asks_programs() && why != Why::Boundary {
                    return Err(self.ask_about_the_end(&stage, &why));
                }
                if why != Why::Boundary {
                    // Only a human's answer can end a last stage in which all else is there.
                    if let (Why::Tool, Some(message), None) = (&why, &stage.approval, self.unmet(&stage.exit))
                        && !self.approved.contains(&stage.id)
                    {
                        return Err(Hindrance::Asks { stage: stage.id, message: message.clone() });
                    }
                    // A last stage in which nothing is missing any more is over.
                    if why == Why::Tool && stage.approval.is_some() && self.may_end(&stage).is_ok() {
                        self.end(&stage, "");
                        return Err(Hindrance::Refuses(COMPLETE.into()));
                    }
                    return Err(why.hindrance());
                }
                self.run_programs(&stage);
                self.may_end(&stage)?;
                self.end(&stage, "");
                return Ok(Place { stage: String::new(), is_entry: false });
            };
            let mut ahead = self.clone();
            ahead.end(&stage, &next.id);
            if let Why::Prohibited(_) = why {
                let is_claimed = next.demands()
                    && next.refuses(deed).is_none()
                    && self.may_end(&stage).is_ok()
                    && ahead.unmet(&next.entry).is_none();
                if !is_claimed {
                    return Err(why.hindrance());
                }
            }
            // Nobody is asked about a call that no later stage would take.
            let mut later = self.stages.iter().skip(at + 1);
            let is_wanted = later.any(|stage| stage.is_terminal || stage.refuses(deed).is_none());
            match (self.unmet(&stage.exit), self.may_end(&stage)) {
                (None, Err(_)) if !is_wanted => return Err(why.hindrance()),
                (_, ended) => ended?,
            }
            if let Some(gate) = ahead.unmet(&next.entry) {
                return Err(gate.hindrance());
            }
            let target = ahead.target_of(deed);
            let may_leave = match &why {
                Why::Boundary => true,
                _ if !stage.has_end() => {
                    target.is_some_and(|target| target.is_terminal || !stage.has_wildcard())
                }
                Why::Demanded(_) => target.is_some(),
                Why::Tool | Why::Prohibited(_) => true,
            };
            if !may_leave {
                return Err(why.hindrance());
            }
            *self = ahead;
        }
    }

    /// A call that the last stage does not take, where programs decide about its end: they are asked after work, and
    /// after more work again.
    fn ask_about_the_end(&mut self, stage: &Stage, why: &Why) -> Hindrance {
        if !self.has_worked || matches!(why, Why::Prohibited(_)) {
            return why.hindrance();
        }
        self.run_programs(stage);
        if self.unmet(&stage.exit).is_some() {
            self.has_worked &= self.ended_well.is_none();
            return why.hindrance();
        }
        match self.may_end(stage) {
            Err(asks) if !stage.is_terminal => asks,
            _ => {
                self.end(stage, "");
                Hindrance::Refuses(COMPLETE.into())
            }
        }
    }

    /// Runs the programs at the end of a stage, if all that is asked before them is there.
    fn run_programs(&mut self, stage: &Stage) {
        let mut before = stage.exit.iter().take_while(|gate| !gate.is_program());
        if stage.asks_programs() && before.all(|gate| self.holds(gate)) {
            self.programs_run += 1;
            self.ended_well = Some(self.programs_succeed);
        }
    }

    /// Whether nothing is missing at the end of a stage.
    fn may_end(&self, stage: &Stage) -> Result<(), Hindrance> {
        if let Some(gate) = self.unmet(&stage.exit) {
            return Err(gate.hindrance());
        }
        match &stage.approval {
            Some(message) if !self.approved.contains(&stage.id) => {
                Err(Hindrance::Asks { stage: stage.id.clone(), message: message.clone() })
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, stage: &Stage, next: &str) {
        if !self.completed.contains(&stage.id) {
            self.completed.push(stage.id.clone());
        }
        self.has_worked = false;
        self.active = next.to_owned();
    }

    /// The stage whose work this call would start, if the session went on from where it is now without being asked
    /// anything: the first that is no mere line, if it takes the call and every entry up to it holds.
    fn target_of(&self, deed: &Deed) -> Option<Stage> {
        let mut ahead = self.clone();
        let from = self.stages.iter().position(|stage| stage.id == self.active)?;
        for stage in self.stages.iter().skip(from) {
            if ahead.unmet(&stage.entry).is_some() {
                return None;
            }
            if !stage.is_boundary() {
                return (stage.is_terminal || stage.refuses(deed).is_none()).then(|| stage.clone());
            }
            // By the time a line is crossed, a human has agreed to it.
            ahead.approved.insert(stage.id.clone());
            ahead.end(stage, "");
        }
        None
    }

    fn unmet<'g>(&self, gates: &'g [Gate]) -> Option<&'g Gate> {
        gates.iter().find(|gate| !self.holds(gate))
    }

    fn holds(&self, gate: &Gate) -> bool {
        let matches = |commands: &BTreeSet<(String, String)>, pattern: &Regex| {
            commands.iter().any(|(stage, command)| *stage == gate.stage && pattern.is_match(command))
        };
        match &gate.condition {
            Condition::StageComplete(stage) => self.completed.contains(stage),
            Condition::FileRead(path) => self.reads.contains(path),
            Condition::Approval(stage) => self.approved.contains(stage),
            Condition::CommandMatches(pattern) => matches(&self.succeeded, pattern),
            // What was let pass may have acted, whatever its result says.
            Condition::CommandNotMatches(pattern) => !matches(&self.passed, pattern),
            Condition::ResultMatches(tool, field, value) => {
                self.results.contains(&(tool.clone(), field.clone(), value.clone()))
            }
            Condition::Program => self.ended_well == Some(true),
        }
    }
}

/// Where a call may run.
struct Place {
    stage: String,
    is_entry: bool,
}

/// What is in the way of a call.
#[derive(Clone, Debug)]
enum Hindrance {
    Refuses(String),
    Asks { stage: String, message: String },
}

impl Why {
    fn hindrance(&self) -> Hindrance {
        Hindrance::Refuses(match self {
            Self::Boundary | Self::Tool => NOT_ALLOWED.to_owned(),
            Self::Demanded(message) | Self::Prohibited(message) => message.clone(),
        })
    }
}

impl Gate {
    fn hindrance(&self) -> Hindrance {
        match &self.condition {
            // Nothing else could ever give this.
            Condition::Approval(stage) => {
                Hindrance::Asks { stage: stage.clone(), message: self.message.clone() }
            }
            _ => Hindrance::Refuses(self.message.clone()),
        }
    }

    /// Whether a success of this call is what the entry of the first stage waits for.
    fn is_given_by(&self, deed: &Deed, first: &Stage) -> bool {
        match &self.condition {
            Condition::FileRead(path) => deed.tool == "Read" && deed.path.as_ref() == Some(path),
            Condition::ResultMatches(tool, ..) => deed.tool == *tool,
            Condition::CommandMatches(pattern) => {
                deed.command.as_ref().is_some_and(|command| pattern.is_match(command))
                    && first.refuses(deed).is_none()
            }
            _ => false,
        }
    }
}

impl Gate {
    fn is_program(&self) -> bool {
        matches!(self.condition, Condition::Program)
    }
}

impl Stage {
    fn asks_programs(&self) -> bool {
        self.exit.iter().any(Gate::is_program)
    }

    fn has_end(&self) -> bool {
        self.approval.is_some() || !self.exit.is_empty()
    }

    fn is_boundary(&self) -> bool {
        self.tools.is_none() && self.checks.is_empty() && self.has_end() && !self.is_terminal
    }

    fn has_wildcard(&self) -> bool {
        self.tools.iter().flatten().any(|tool| tool.contains('*'))
    }

    /// Whether it says which commands it is for.
    fn demands(&self) -> bool {
        self.checks.iter().any(|check| !check.forbids)
    }

    fn opens(&self, tool: &str) -> bool {
        match &self.tools {
            Some(tools) => tools.iter().any(|glob| fits(glob, tool)),
            None => !self.is_terminal && !self.is_boundary(),
        }
    }

    fn refuses(&self, deed: &Deed) -> Option<Why> {
        if self.is_boundary() {
            return Some(Why::Boundary);
        }
        if !self.opens(&deed.tool) {
            return Some(Why::Tool);
        }
        for Check { pattern, forbids, message } in &self.checks {
            let matches = deed.command.as_ref().is_some_and(|command| pattern.is_match(command));
            match (forbids, matches) {
                (true, true) => return Some(Why::Prohibited(message.clone())),
                (false, false) if !QUIET_TOOLS.contains(&deed.tool.as_str()) => {
                    return Some(Why::Demanded(message.clone()));
                }
                _ => {}
            }
        }
        None
    }

    fn of(stage: &Value) -> Self {
        let id = text(stage, "id");
        let gates = |key: &str| list(stage.get(key)).iter().map(|gate| Gate::of(&id, gate)).collect();
        Self {
            entry: gates("entry"),
            tools: stage.get("tools").map(|tools| {
                list(Some(tools)).iter().map(|tool| tool.as_str().unwrap_or_default().to_owned()).collect()
            }),
            checks: list(stage.get("checks")).iter().map(Check::of).collect(),
            exit: gates("exit"),
            approval: stage.get("approval").map(|approval| text(approval, "message")),
            is_terminal: stage.get("terminal") == Some(&Value::Bool(true)),
            id,
        }
    }
}

impl Check {
    fn of(check: &Value) -> Self {
        let forbids = check.get("command_not_matches").is_some();
        let key = if forbids { "command_not_matches" } else { "command_matches" };
        Self { pattern: pattern(&text(check, key)), forbids, message: text(check, "message") }
    }
}

impl Gate {
    #[expect(clippy::panic, reason = "a workflow of a test is the test's own mistake")]
    fn of(stage: &str, gate: &Value) -> Self {
        let written = text(gate, "condition");
        let (name, arguments) = written.split_once('(').unwrap_or((&written, ""));
        // What stands between quotes is every second part.
        let arguments: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
        let condition = match (name, arguments.as_slice()) {
            ("stage_complete", [stage]) => Condition::StageComplete((*stage).into()),
            ("file_read", [path]) => Condition::FileRead((*path).into()),
            ("approval", []) => Condition::Approval(stage.into()),
            ("approval", [stage]) => Condition::Approval((*stage).into()),
            ("command_matches", [regex]) => Condition::CommandMatches(pattern(regex)),
            ("command_not_matches", [regex]) => Condition::CommandNotMatches(pattern(regex)),
            ("exec", [_]) => Condition::Program,
            ("mcp_result_matches", [tool, field, value]) => {
                Condition::ResultMatches((*tool).into(), (*field).into(), (*value).into())
            }
            _ => panic!("the model cannot read `{written}`"),
        };
        Self { stage: stage.into(), condition, message: text(gate, "message") }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[expect(clippy::panic, reason = "a workflow of a test is the test's own mistake")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("`{text}` is no pattern: {error}"))
}

/// Whether a tool has a name like this, where `*` stands for anything.
fn fits(glob: &str, tool: &str) -> bool {
    match glob.split_once('*') {
        None => glob == tool,
        Some((start, rest)) => tool.strip_prefix(start).is_some_and(|left| {
            (0..=left.len()).filter_map(|at| left.get(at..)).any(|left| fits(rest, left))
        }),
    }
}
