//! How policies do in the field: files of dangerous and benign calls, judged line by line.
//!
//! A line is `{"tool": "bash", "input": {"command": …}, "cwd": …, "home": …, "dangerous": true|false, "group": …}`.
//! [`run`] judges each in a session of its own and counts what is stopped, by group. `cwd`, `home` and `group` may be
//! missing. What ought to be stopped is decided by the author of the file.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use lockgate::engine::{Call, Decision, Gate, SeenCall, Source, languages, policy::unreadable_scripts};
use lockgate_agents::{Agent, settings::starter_policy};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One call, and whether it ought to be stopped.
#[derive(Debug, Deserialize)]
pub struct FieldLine {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// The folder that it runs in.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The home of its user.
    #[serde(default)]
    pub home: Option<String>,
    /// Whether it does harm.
    pub dangerous: bool,
    /// What it is about.
    #[serde(default)]
    pub group: Option<String>,
}

/// A policy to judge by.
#[derive(Clone, Debug)]
pub struct FieldPolicy {
    /// What it is called in tables.
    pub name: String,
    /// Its files: names and texts.
    pub files: Vec<(String, String)>,
    /// What shells are called in it, where it knows one name alone.
    pub shell: Option<&'static str>,
    /// The folder in its text that stands for the session's folder.
    pub folder: Option<&'static str>,
}

/// What happened to the lines of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldCount {
    /// How many there are.
    pub lines: usize,
    /// How many are blocked.
    pub blocked: usize,
    /// How many a human is asked about.
    pub asked: usize,
    /// How many hold a script that cannot be read.
    pub unreadable: usize,
}

/// What happened to the lines of a file under a policy.
#[derive(Debug, Default)]
pub struct FieldReport {
    /// By whether they are dangerous, and their group.
    pub groups: BTreeMap<(bool, String), FieldCount>,
    /// Dangerous lines that pass and benign lines that are stopped.
    pub wrong: Vec<FieldMistake>,
    /// The time for all of them.
    pub took: Duration,
}

/// A dangerous line that passes, or a benign line that is stopped.
#[derive(Clone, Debug)]
pub struct FieldMistake {
    /// Whether it does harm.
    pub dangerous: bool,
    /// What it is about.
    pub group: String,
    /// Its command, or its whole input.
    pub text: String,
    /// The sentence of the obstacle that stops it; empty where it passes.
    pub reason: String,
}

impl FieldMistake {
    /// One line for a table.
    #[must_use]
    pub fn line(&self) -> String {
        let word = if self.dangerous { "passes" } else { "stopped" };
        let reason = if self.reason.is_empty() { String::new() } else { format!("  # {}", self.reason) };
        format!("{word} [{}] {}{reason}", self.group, self.text).replace('\n', "⏎")
    }
}

impl FieldPolicy {
    /// The first policy that `lockgate init` writes.
    #[must_use]
    pub fn starter() -> Self {
        let files = vec![("policy.rules".to_owned(), starter_policy(Agent::ALL))];
        Self { name: "starter".to_owned(), files, shell: None, folder: None }
    }

    /// A template of ours, by its text.
    #[must_use]
    pub fn template(name: &str, text: String) -> Self {
        let (shell, folder) =
            if name.contains("devops") { ("shell", "/srv/deploy") } else { ("Bash", "/workspace") };
        let files = vec![(format!("{name}.yaml"), text)];
        Self { name: name.to_owned(), files, shell: Some(shell), folder: Some(folder) }
    }

    fn gate(&self, cwd: &str) -> Result<Gate, String> {
        let text =
            |text: &String| self.folder.map_or_else(|| text.clone(), |folder| text.replace(folder, cwd));
        let sources: Vec<Source> =
            self.files.iter().map(|(name, content)| Source::new(name.clone(), text(content))).collect();
        let (policy, diagnostics) = languages::read(&sources);
        let policy = policy.ok_or_else(|| {
            let said: Vec<String> = diagnostics.iter().map(|it| it.message.clone()).collect();
            format!("`{}` is not a policy: {}", self.name, said.join("; "))
        })?;
        Gate::builder(policy).build().map_err(|error| error.to_string())
    }
}

impl FieldCount {
    /// How many are blocked or asked about.
    #[must_use]
    pub fn stopped(&self) -> usize {
        self.blocked + self.asked
    }

    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.blocked += other.blocked;
        self.asked += other.asked;
        self.unreadable += other.unreadable;
    }
}

impl FieldReport {
    /// All lines of one kind.
    #[must_use]
    pub fn all(&self, dangerous: bool) -> FieldCount {
        let mut all = FieldCount::default();
        self.groups.iter().filter(|((is, _), _)| *is == dangerous).for_each(|(_, count)| all.add(*count));
        all
    }
}

/// The lines of a file. Empty lines are skipped.
///
/// # Errors
/// The first line that is not a call, with its number and what a line must have.
pub fn read_lines(text: &str) -> Result<Vec<FieldLine>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read =
        |(at, line): (usize, &str)| serde_json::from_str(line).map_err(|error| bad_line(at + 1, &error));
    lines.map(read).collect()
}

/// What is wrong with a line. serde counts lines within the text it is given, which is always one.
fn bad_line(number: usize, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or_default();
    format!(
        "line {number}, column {}: {what}; write `{{\"tool\": \"bash\", \"input\": {{\"command\": \"ls\"}}, \"dangerous\": false}}`",
        error.column()
    )
}

/// Judges each line in a session of its own.
///
/// # Errors
/// When the policy cannot be read.
pub fn run(policy: &FieldPolicy, lines: &[FieldLine]) -> Result<FieldReport, String> {
    let mut gates: BTreeMap<String, Gate> = BTreeMap::new();
    let mut report = FieldReport::default();
    for (at, line) in lines.iter().enumerate() {
        let cwd = line.cwd.clone().unwrap_or_else(|| "/home/me/project".to_owned());
        let folder = if policy.folder.is_some() { cwd.clone() } else { String::new() };
        let gate = match gates.entry(folder) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(policy.gate(&cwd)?),
        };
        let is_shell = lockgate::engine::call::shell_tools().contains(&line.tool.as_str());
        let tool = policy.shell.filter(|_| is_shell).unwrap_or(&line.tool);
        let mut call = Call::new("1", tool);
        call.session = at.to_string();
        call.input.clone_from(&line.input);
        call.about.cwd = Some(cwd);
        let home = line.home.clone().unwrap_or_else(|| "/home/me".to_owned());
        call.about.context = Some(json!({ "env": { "HOME": home } }));
        let start = Instant::now();
        let verdict = gate.call(&call);
        let decision = verdict.decision;
        report.took += start.elapsed();
        let is_unreadable = !unreadable_scripts(&SeenCall::from(call), &[]).is_empty();
        let group = line.group.clone().unwrap_or_default();
        let count = report.groups.entry((line.dangerous, group.clone())).or_default();
        count.add(FieldCount {
            lines: 1,
            blocked: usize::from(decision == Decision::Block),
            asked: usize::from(decision == Decision::Ask),
            unreadable: usize::from(is_unreadable),
        });
        let is_stopped = matches!(decision, Decision::Block | Decision::Ask);
        if is_stopped != line.dangerous {
            let text = line.input.get("command").and_then(Value::as_str);
            let text = text.map_or_else(|| Value::Object(line.input.clone()).to_string(), str::to_owned);
            let mistake = FieldMistake { dangerous: line.dangerous, group, text, reason: verdict.reason };
            report.wrong.push(mistake);
        }
    }
    Ok(report)
}
