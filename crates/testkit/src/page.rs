//! Reads the pages of `spec/`: prose for people, policies and tables of steps for the [runner](crate::play).
//!
//! [`Page::parse`] reports every mistake of a page with its line and never plays half a page: a word it does
//! not know would otherwise be a promise nobody checks. The format itself is told in `spec/README.md`.
//! Nothing here knows what a policy means or what the right answer is.

use std::{fmt, fs, path::Path};

use serde_json::{Map, Value};

/// One page: what it is about and the stories that show it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file's name, for messages.
    pub name: String,
    /// The first heading.
    pub title: String,
    /// The stories, from top to bottom.
    pub stories: Vec<Story>,
}

/// A policy and what then happens, step by step, in fresh sessions.
#[derive(Clone, Debug)]
pub struct Story {
    /// Its heading.
    pub heading: String,
    /// The line of the heading, from 1.
    pub line: usize,
    /// The policy files in order; the page's own if the story shows none.
    pub policy: Vec<PolicyFile>,
    /// Whether the gate only watches.
    pub observe: bool,
    /// What happens.
    pub rows: Vec<Row>,
}

/// One file of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// The name messages call it by.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// One row of a table of steps.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its line in the page, from 1.
    pub line: usize,
    /// What happens.
    pub step: Step,
    /// How often it happens.
    pub times: usize,
    /// Where it happens; nothing means the gate's own session.
    pub session: Option<String>,
    /// What the row says about the answer.
    pub expected: Expected,
}

/// Something that happens to the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An agent asks for a call.
    Call(Box<CallStep>),
    /// The tool of an earlier call has finished.
    Result {
        /// The call's id.
        id: String,
        /// Whether it succeeded.
        ok: bool,
        /// What it gave.
        output: Option<Value>,
    },
    /// A human answers the question about an earlier call.
    Answer {
        /// The call's id.
        id: String,
        /// Whether the call may run.
        granted: bool,
        /// How the tool ends if the call is let through.
        outcome: Outcome,
    },
    /// Time passes.
    Wait {
        /// How much.
        ms: u64,
    },
    /// It is this moment now, be it later or earlier.
    At {
        /// In milliseconds since 1970.
        ms: u64,
    },
    /// The trusted caller says something about the session.
    Describe {
        /// What it says.
        attributes: Map<String, Value>,
    },
    /// The user says something to the agent.
    UserSays {
        /// The words.
        text: String,
    },
    /// A human has looked at the sensitive data that the session has seen.
    Untaint,
    /// A net is switched on or off.
    Switch {
        /// Its name.
        net: String,
        /// On or off.
        active: bool,
    },
    /// An operator moves the session to a stage of a workflow.
    Move {
        /// The workflow.
        workflow: String,
        /// The stage.
        stage: String,
        /// Whether what was shown and agreed to from there on is forgotten.
        forgets: bool,
    },
    /// Everything stops, or the one session the row names.
    Halt {
        /// Why.
        reason: String,
    },
    /// What was halted goes on.
    Resume,
    /// Nothing happens; the row only says where the session stands.
    Status,
}

/// What a page may say about a call beside its sender and context: keys of the line protocol.
const ABOUT: [&str; 4] = ["principal", "metadata", "environment", "cwd"];

/// A call an agent asks for, and what then becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStep {
    /// Its id; the runner invents one where the page gives none.
    pub id: Option<String>,
    /// The tool as the agent calls it.
    pub tool: String,
    /// The tool's input.
    pub input: Map<String, Value>,
    /// Who stands behind it.
    pub sender: Option<Value>,
    /// What the host says about it.
    pub context: Option<Map<String, Value>>,
    /// What else the host says about it, in the words of the line protocol.
    pub about: Map<String, Value>,
    /// What the human does at once; nothing means the question stays open.
    pub human: Option<Human>,
    /// How the tool ends if the call is let through.
    pub outcome: Outcome,
}

/// What a human does who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Human {
    /// Says yes.
    Grants,
    /// Says no.
    Refuses,
    /// Is not there: the call says that nobody can be asked.
    Absent,
}

/// How a tool ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Outcome {
    /// Its success is told right after the row.
    #[default]
    Succeeds,
    /// Its success is told right after the row, with what it gave.
    Gives(Value),
    /// Its failure is told right after the row.
    Fails,
    /// It stays in flight.
    Runs,
}

/// What a row says about the answer; an empty cell says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// `allow`, `redact`, `ask`, `block`; for a result `settled` or `ignored`; for any line `error`.
    pub verdict: Option<String>,
    /// The sentence, or the text of the error.
    pub because: Option<Sentence>,
    /// The rules of all obstacles, the leading one first.
    pub rule: Option<Vec<String>>,
    /// Where those rules stand, as `file:line`.
    pub place: Option<Vec<String>>,
    /// What the agent could call next.
    pub next: Option<Vec<String>>,
    /// What the call amounts to, in any order; a possible deed ends with `?`.
    pub deeds: Option<Vec<String>>,
    /// The rules that only observe and would have refused or asked.
    pub observed: Option<Vec<String>>,
    /// Where nets stand after the row, as `name: place:count, …`.
    pub marking: Option<Vec<String>>,
    /// The rules that say yes.
    pub allowed_by: Option<Vec<String>>,
    /// The tags of the leading obstacle.
    pub tags: Option<Vec<String>>,
    /// The input with its sensitive data masked.
    pub input: Option<Value>,
    /// What is decided about what the tool gave.
    pub result: Option<String>,
    /// What may be passed on of what the tool gave.
    pub output: Option<Value>,
    /// Where the session stands in workflows after the row, as `workflow: stage`.
    pub stage: Option<Vec<String>>,
}

/// A sentence, or a part of one where `…` stands for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence(String);

impl Sentence {
    /// Whether this is what was said.
    pub fn fits(&self, said: &str) -> bool {
        let (open_start, text) =
            self.0.strip_prefix('…').map_or((false, self.0.as_str()), |rest| (true, rest));
        let (open_end, text) = text.strip_suffix('…').map_or((false, text), |rest| (true, rest));
        match (open_start, open_end) {
            (false, false) => said == text,
            (false, true) => said.starts_with(text),
            (true, false) => said.ends_with(text),
            (true, true) => said.contains(text),
        }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something wrong with a page itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The page's file name.
    pub page: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.page, self.line, self.message)
    }
}

impl Page {
    /// Fetches the policy files that blocks only name: `templates/x.yaml` over nothing is that file of the project.
    fn fetch_files(&mut self, project: &Path) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for story in &mut self.stories {
            let named = |file: &&mut PolicyFile| file.name.contains('/') && file.text.trim().is_empty();
            for file in story.policy.iter_mut().filter(named) {
                match fs::read_to_string(project.join(&file.name)) {
                    Ok(text) => {
                        file.text = text;
                        file.name = file.name.rsplit('/').next().unwrap_or_default().to_owned();
                    }
                    Err(error) => mistakes.push(Mistake {
                        page: self.name.clone(),
                        line: story.line,
                        message: format!("`{}` cannot be read: {error}", file.name),
                    }),
                }
            }
        }
        mistakes
    }
}

/// Reads all pages of a folder in the order of their names; `README.md` explains the others and is none.
pub fn read_pages(folder: &Path) -> Result<Vec<Page>, Vec<Mistake>> {
    let unreadable = |path: &Path, error: &std::io::Error| Mistake {
        page: path.display().to_string(),
        line: 0,
        message: format!("cannot be read: {error}"),
    };
    let entries = fs::read_dir(folder).map_err(|error| vec![unreadable(folder, &error)])?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("README.md"));
    paths.sort();

    let mut pages = Vec::new();
    let mut mistakes = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match fs::read_to_string(&path).map_err(|error| vec![unreadable(&path, &error)]) {
            Ok(text) => match Page::parse(&name, &text) {
                Ok(mut page) => {
                    mistakes.extend(page.fetch_files(folder.parent().unwrap_or(folder)));
                    pages.push(page);
                }
                Err(found) => mistakes.extend(found),
            },
            Err(found) => mistakes.extend(found),
        }
    }
    if mistakes.is_empty() { Ok(pages) } else { Err(mistakes) }
}

impl Page {
    /// Reads a page, or says everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            reader.line(index + 1, line);
        }
        reader.finish(name)
    }
}

/// A page as far as it has been read.
#[derive(Default)]
struct Reader {
    title: Option<String>,
    /// The page's own policy: what is shown before the first story.
    shared: Policy,
    sections: Vec<Section>,
    fence: Option<Fence>,
    /// The columns of the table being read.
    columns: Option<Vec<Column>>,
    mistakes: Vec<(usize, String)>,
}

/// What stands under one `##`.
struct Section {
    heading: String,
    line: usize,
    policy: Policy,
    rows: Vec<Row>,
}

#[derive(Default)]
struct Policy {
    files: Vec<PolicyFile>,
    observe: bool,
}

/// A fenced block that is still open.
struct Fence {
    line: usize,
    mark: String,
    /// Nothing where the block is only an illustration.
    file_name: Option<String>,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Step,
    Verdict,
    Because,
    Rule,
    Place,
    Next,
    Deeds,
    Observed,
    Marking,
    AllowedBy,
    Tags,
    Input,
    Result,
    Output,
    Stage,
}

const COLUMNS: [(&str, Column); 15] = [
    ("step", Column::Step),
    ("verdict", Column::Verdict),
    ("because", Column::Because),
    ("rule", Column::Rule),
    ("where", Column::Place),
    ("next", Column::Next),
    ("deeds", Column::Deeds),
    ("observed", Column::Observed),
    ("marking", Column::Marking),
    ("allowed by", Column::AllowedBy),
    ("tags", Column::Tags),
    ("input", Column::Input),
    ("result", Column::Result),
    ("output", Column::Output),
    ("stage", Column::Stage),
];

const VERDICTS: [&str; 7] = ["allow", "redact", "ask", "block", "settled", "ignored", "error"];
const RESULTS: [&str; 4] = ["allow", "warn", "redact", "block"];

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        if let Some(mut fence) = self.fence.take() {
            if line.trim() == fence.mark {
                self.close(fence);
            } else {
                fence.text.push_str(line);
                fence.text.push('\n');
                self.fence = Some(fence);
            }
            return;
        }
        let read = if line.starts_with("```") {
            self.open(number, line)
        } else if let Some(cells) = cells(line) {
            self.row(number, &cells)
        } else {
            self.columns = None;
            self.prose(number, line)
        };
        if let Err(message) = read {
            self.mistakes.push((number, message));
        }
    }

    fn prose(&mut self, line: usize, text: &str) -> Result<(), String> {
        if let Some(heading) = text.strip_prefix("## ") {
            let heading = heading.trim().to_owned();
            self.sections.push(Section { heading, line, policy: Policy::default(), rows: Vec::new() });
        } else if let Some(title) = text.strip_prefix("# ")
            && self.title.replace(title.trim().to_owned()).is_some()
        {
            return Err("a page has one title; start a story with `##`".into());
        }
        Ok(())
    }

    fn open(&mut self, line: usize, text: &str) -> Result<(), String> {
        let info = text.trim_start_matches('`');
        let mark = "`".repeat(text.chars().take_while(|c| *c == '`').count());
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let mut fence = Fence { line, mark, file_name: None, text: String::new() };
        let read = match language {
            "rules" | "yaml" | "json" => {
                words.try_fold(format!("policy.{language}"), |name, word| match word {
                    "observe" => {
                        self.policy().observe = true;
                        Ok(name)
                    }
                    file if file.contains('.') => Ok(file.to_owned()),
                    other => Err(format!("`{other}` is neither a file name nor `observe`")),
                })
            }
            "text" => {
                self.fence = Some(fence);
                return Ok(());
            }
            other => Err(format!("a block is `rules`, `yaml`, `json` or `text`, not `{other}`")),
        };
        // A block that is not understood is still read to its end, or its lines would be taken for prose.
        fence.file_name = read.as_ref().ok().cloned();
        self.fence = Some(fence);
        read.map(|_| ())
    }

    fn close(&mut self, fence: Fence) {
        let Some(name) = fence.file_name else { return };
        let files = &mut self.policy().files;
        if files.iter().any(|file| file.name == name) {
            self.mistakes
                .push((fence.line, format!("`{name}` is there already; give this file another name")));
        } else {
            files.push(PolicyFile { name, text: fence.text });
        }
    }

    /// The policy that a block here belongs to.
    fn policy(&mut self) -> &mut Policy {
        self.sections.last_mut().map_or(&mut self.shared, |section| &mut section.policy)
    }

    fn row(&mut self, line: usize, cells: &[String]) -> Result<(), String> {
        let Some(columns) = &self.columns else {
            // A header with a mistake still opens its table, or each row would be blamed as a header.
            let (columns, unknown): (Vec<_>, Vec<_>) =
                cells.iter().map(|cell| column(cell)).partition(Result::is_ok);
            let columns: Vec<Column> = columns.into_iter().flatten().collect();
            let has_steps = columns.contains(&Column::Step);
            self.columns = Some(if unknown.is_empty() { columns } else { Vec::new() });
            return match unknown.into_iter().find_map(Result::err) {
                Some(message) => Err(message),
                None if !has_steps => Err("the table has no column `step`".into()),
                None => Ok(()),
            };
        };
        let is_rule = |cell: &String| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':');
        if columns.is_empty() || cells.iter().all(is_rule) {
            return Ok(());
        }
        if columns.len() != cells.len() {
            return Err(format!("the row has {} cells and the table {} columns", cells.len(), columns.len()));
        }
        let row = row(line, columns, cells)?;
        let section = self.sections.last_mut().ok_or("a table belongs to a story; start one with `##`")?;
        section.rows.push(row);
        Ok(())
    }

    fn finish(mut self, name: &str) -> Result<Page, Vec<Mistake>> {
        if let Some(fence) = &self.fence {
            self.mistakes.push((fence.line, "the block is never closed".into()));
        }
        let title = self.title.take().unwrap_or_default();
        if title.is_empty() {
            self.mistakes.push((1, "a page starts with a title: `# What it is about`".into()));
        }
        let mut stories = Vec::new();
        for section in self.sections {
            let Section { heading, line, policy, rows } = section;
            let policy = match (policy.files.is_empty(), rows.is_empty()) {
                (true, true) => continue, // only prose
                (false, true) => {
                    self.mistakes.push((line, format!("`{heading}` has a policy and no table of steps")));
                    continue;
                }
                (true, false) => &self.shared,
                (false, false) => &policy,
            };
            if policy.files.is_empty() {
                self.mistakes.push((line, format!("`{heading}` has steps and no policy")));
            }
            stories.push(Story {
                heading,
                line,
                policy: policy.files.clone(),
                observe: policy.observe,
                rows,
            });
        }
        if stories.is_empty() {
            self.mistakes.push((1, "the page has no story".into()));
        }
        if self.mistakes.is_empty() {
            return Ok(Page { name: name.into(), title, stories });
        }
        self.mistakes.sort();
        let mistake = |(line, message)| Mistake { page: name.into(), line, message };
        Err(self.mistakes.into_iter().map(mistake).collect())
    }
}

/// The cells of a table row; a `\|` is a bar inside a cell, also in code.
fn cells(line: &str) -> Option<Vec<String>> {
    const BAR: &str = "\u{0}";
    let inner = line.trim().replace("\\|", BAR);
    let inner = inner.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect())
}

fn column(heading: &str) -> Result<Column, String> {
    let known = || COLUMNS.map(|(name, _)| format!("`{name}`")).join(", ");
    let column = COLUMNS.iter().find(|(name, _)| *name == heading).map(|(_, column)| *column);
    column.ok_or_else(|| format!("no column is called `{heading}`; there are {}", known()))
}

fn row(line: usize, columns: &[Column], cells: &[String]) -> Result<Row, String> {
    let mut expected = Expected::default();
    let mut step = None;
    for (column, cell) in columns.iter().zip(cells) {
        match column {
            Column::Step => step = Some(read_step(cell)?),
            _ if cell.is_empty() => {}
            Column::Verdict => expected.verdict = Some(word(cell, "verdict", &VERDICTS)?),
            Column::Result => expected.result = Some(word(cell, "result", &RESULTS)?),
            Column::Because => expected.because = Some(Sentence(cell.clone())),
            Column::Rule => expected.rule = Some(list(cell)),
            Column::Place => expected.place = Some(list(cell)),
            Column::Next => expected.next = Some(list(cell)),
            Column::Deeds => expected.deeds = Some(list(cell)),
            Column::Observed => expected.observed = Some(list(cell)),
            Column::Marking => expected.marking = Some(markings(cell)?),
            Column::AllowedBy => expected.allowed_by = Some(list(cell)),
            Column::Tags => expected.tags = Some(list(cell)),
            Column::Input => expected.input = Some(value(cell.trim_matches('`'))?),
            Column::Output => expected.output = Some(value(cell.trim_matches('`'))?),
            Column::Stage => expected.stage = Some(stages(cell)?),
        }
    }
    let (step, times, session) = step.ok_or("the row has no step")?;
    Ok(Row { line, step, times, session, expected })
}

/// One of some words.
fn word(cell: &str, what: &str, known: &[&str]) -> Result<String, String> {
    if known.contains(&cell) {
        return Ok(cell.to_owned());
    }
    let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    Err(format!("`{cell}` is not a {what}; there are {}", known.join(", ")))
}

/// JSON where it begins like an object, a list or a quoted text; otherwise the text itself.
fn value(text: &str) -> Result<Value, String> {
    if text.starts_with(['{', '[', '"']) {
        serde_json::from_str(text).map_err(|error| format!("`{text}` is not JSON: {error}"))
    } else {
        Ok(Value::from(text))
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` is not a JSON object: {error}"))
}

/// `a, b` or, for an empty list, `none`.
fn list(cell: &str) -> Vec<String> {
    if cell == "none" {
        return Vec::new();
    }
    cell.split(',').map(|item| item.trim().trim_matches('`').to_owned()).collect()
}

/// One net a line, lines parted by `<br>`.
fn markings(cell: &str) -> Result<Vec<String>, String> {
    let one = |line: &str| {
        let line = line.trim().trim_matches('`');
        match line.split_once(':') {
            Some(_) => Ok(line.to_owned()),
            None => Err(format!("`{line}` is not a marking; write `net: place:count`")),
        }
    };
    cell.split("<br>").map(one).collect()
}

/// One workflow a line, lines parted by `<br>`.
fn stages(cell: &str) -> Result<Vec<String>, String> {
    let one = |line: &str| {
        let line = line.trim().trim_matches('`');
        match line.split_once(": ") {
            Some(_) => Ok(line.to_owned()),
            None => Err(format!("`{line}` is not a stage; write `workflow: stage`")),
        }
    };
    cell.split("<br>").map(one).collect()
}

/// The words of a step; commas between them are for the reader only.
struct Words<'a>(std::iter::Peekable<std::vec::IntoIter<Word<'a>>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Plain(&'a str),
    Code(&'a str),
    Id(&'a str),
}

impl<'a> Words<'a> {
    fn of(cell: &'a str) -> Self {
        let mut words = Vec::new();
        // Code and plain text take turns: every second part stands between backticks.
        for (index, part) in cell.split('`').enumerate() {
            if index % 2 == 1 {
                words.push(Word::Code(part));
                continue;
            }
            let plain = part.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
            words.extend(plain.map(|word| word.strip_prefix('#').map_or(Word::Plain(word), Word::Id)));
        }
        Self(words.into_iter().peekable())
    }

    fn code(&mut self, meaning: &str) -> Result<&'a str, String> {
        match self.0.next() {
            Some(Word::Code(text)) => Ok(text),
            _ => Err(format!("expected {meaning} between backticks")),
        }
    }

    fn id(&mut self) -> Result<String, String> {
        match self.0.next() {
            Some(Word::Id(id)) => Ok(id.to_owned()),
            _ => Err("expected a call's id, such as `#1`".into()),
        }
    }

    fn plain(&mut self, meaning: &str) -> Result<&'a str, String> {
        match self.0.next() {
            Some(Word::Plain(word)) => Ok(word),
            _ => Err(format!("expected {meaning}")),
        }
    }

    /// `3 times`, or once where nothing is said.
    fn times(&mut self) -> Result<usize, String> {
        let number = |word: &Word<'_>| match word {
            Word::Plain(word) => word.parse::<usize>().ok(),
            Word::Code(_) | Word::Id(_) => None,
        };
        let Some(times) = self.0.peek().and_then(number) else { return Ok(1) };
        self.0.next();
        if self.takes("times") { Ok(times) } else { Err(format!("`{times}` what? write `{times} times`")) }
    }

    /// Takes the next word if it is this one.
    fn takes(&mut self, word: &'static str) -> bool {
        self.0.next_if_eq(&Word::Plain(word)).is_some()
    }

    /// A value between backticks, where there is one.
    fn value(&mut self) -> Result<Option<Value>, String> {
        match self.0.next_if(|word| matches!(word, Word::Code(_))) {
            Some(Word::Code(text)) => value(text).map(Some),
            _ => Ok(None),
        }
    }

    fn outcome(&mut self) -> Result<Outcome, String> {
        if self.takes("fails") {
            return Ok(Outcome::Fails);
        }
        if self.takes("runs") {
            return Ok(Outcome::Runs);
        }
        if self.takes("gives") {
            return Ok(Outcome::Gives(value(self.code("what the tool gives")?)?));
        }
        Ok(Outcome::Succeeds)
    }

    /// The last words of every step: `in SESSION`, and nothing after it.
    fn session(mut self) -> Result<Option<String>, String> {
        let session =
            if self.takes("in") { Some(self.plain("the name of a session")?.to_owned()) } else { None };
        match self.0.next() {
            None => Ok(session),
            Some(Word::Plain(word) | Word::Code(word) | Word::Id(word)) => {
                Err(format!("`{word}` is not expected here; see the steps in README.md"))
            }
        }
    }
}

/// What happens, how often, and in which session.
fn read_step(cell: &str) -> Result<(Step, usize, Option<String>), String> {
    let mut words = Words::of(cell);
    if let Some(Word::Code(call)) = words.0.peek().copied() {
        words.0.next();
        let times = words.times()?;
        let call = read_call(call, &mut words)?;
        return Ok((Step::Call(Box::new(call)), times, words.session()?));
    }
    let step = match words.plain("a step")? {
        "result" => {
            let id = words.id()?;
            let ok = match words.plain("`ok` or `fails`")? {
                "ok" => true,
                "fails" => false,
                other => return Err(format!("a result is `ok` or `fails`, not `{other}`")),
            };
            Step::Result { id, ok, output: words.value()? }
        }
        "grant" => Step::Answer { id: words.id()?, granted: true, outcome: words.outcome()? },
        "refuse" => Step::Answer { id: words.id()?, granted: false, outcome: Outcome::Succeeds },
        "wait" => Step::Wait { ms: read_wait(&mut words)? },
        "at" => Step::At { ms: read_moment(words.plain("a moment")?)? },
        "session" => Step::Describe { attributes: object(words.code("a JSON object")?)? },
        "user" if words.takes("says") => Step::UserSays { text: words.code("what the user says")?.into() },
        "untaint" => Step::Untaint,
        "activate" => Step::Switch { net: words.code("a net's name")?.into(), active: true },
        "deactivate" => Step::Switch { net: words.code("a net's name")?.into(), active: false },
        word @ ("reset" | "set") => {
            let workflow = words.code("a workflow's name")?.to_owned();
            if !words.takes("to") {
                return Err(format!("{word} `{workflow}` to which stage?"));
            }
            Step::Move { workflow, stage: words.code("a stage's name")?.to_owned(), forgets: word == "reset" }
        }
        "halt" => Step::Halt { reason: words.code("a reason")?.into() },
        "resume" => Step::Resume,
        "status" => Step::Status,
        other => {
            return Err(format!("no step starts with `{other}`; a call stands between backticks"));
        }
    };
    Ok((step, 1, words.session()?))
}

/// `tool`, `tool {"json": "input"}` or, for a script in the field `command`, `tool $ script`.
fn read_call(text: &str, words: &mut Words<'_>) -> Result<CallStep, String> {
    let (tool, rest) = text.split_once(' ').unwrap_or((text, ""));
    let input = if let Some(script) = rest.strip_prefix("$ ") {
        Map::from_iter([("command".to_owned(), Value::from(script))])
    } else if rest.is_empty() {
        Map::new()
    } else {
        object(rest)?
    };
    let id = if words.takes("as") { Some(words.id()?) } else { None };
    let sender = if words.takes("from") { Some(value(words.code("a sender")?)?) } else { None };
    let context = if words.takes("with") { Some(object(words.code("a JSON object")?)?) } else { None };
    let about = if words.takes("about") { object(words.code("a JSON object")?)? } else { Map::new() };
    if let Some(key) = about.keys().find(|key| !ABOUT.contains(&key.as_str())) {
        return Err(format!("a call is about `{}`, not `{key}`", ABOUT.join("`, `")));
    }
    let human = if words.takes("human") {
        Some(match words.plain("what the human does")? {
            "grants" => Human::Grants,
            "refuses" => Human::Refuses,
            "absent" => Human::Absent,
            other => {
                return Err(format!("a human `grants`, `refuses` or is `absent`, not `{other}`"));
            }
        })
    } else {
        None
    };
    let outcome = words.outcome()?;
    Ok(CallStep { id, tool: tool.into(), input, sender, context, about, human, outcome })
}

fn read_moment(text: &str) -> Result<u64, String> {
    let moment = text.parse::<jiff::Timestamp>().ok();
    let ms = moment.and_then(|moment| u64::try_from(moment.as_millisecond()).ok());
    ms.ok_or_else(|| format!("`{text}` is not a time; write `2026-03-04T22:00:00Z`"))
}

fn read_wait(words: &mut Words<'_>) -> Result<u64, String> {
    let count = words.plain("a number")?;
    let count: u64 = count.parse().map_err(|_| format!("`{count}` is not a number"))?;
    let unit = match words.plain("a unit of time")? {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => {
            return Err(format!("a unit of time is `ms`, `s`, `min`, `h` or `d`, not `{other}`"));
        }
    };
    count.checked_mul(unit).ok_or_else(|| format!("`{count}` is too long to wait"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(story: &str) -> String {
        format!("# Title\n\n## Story\n\n```rules\nblock rm\n```\n\n{story}")
    }

    fn mistakes(text: &str) -> String {
        let found = Page::parse("page.md", text).expect_err("the page is wrong");
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn step(cell: &str) -> Step {
        read_step(cell).expect(cell).0
    }

    #[test]
    fn a_story_is_a_policy_and_a_table() {
        let text =
            page("| step | verdict | because |\n|---|---|---|\n| `rm` | block | … cannot be called. |\n");
        let page = Page::parse("page.md", &text).expect("a right page");
        let story = &page.stories[0];
        assert_eq!((page.title.as_str(), story.heading.as_str(), story.line), ("Title", "Story", 3));
        assert_eq!(story.policy, [PolicyFile { name: "policy.rules".into(), text: "block rm\n".into() }]);
        assert_eq!(story.rows[0].line, 11);
        assert_eq!(story.rows[0].expected.verdict.as_deref(), Some("block"));
    }

    #[test]
    fn a_story_without_a_policy_takes_the_pages_own() {
        let text = "# T\n```rules shared.rules observe\nblock rm\n```\n## One\n| step |\n|---|\n| `rm` |\n## Two\n\
                    ```rules\nblock cp\n```\n| step |\n|---|\n| `rm` |\n";
        let page = Page::parse("page.md", text).expect("a right page");
        let told = page.stories.iter().map(|story| (story.policy[0].name.as_str(), story.observe));
        assert_eq!(told.collect::<Vec<_>>(), [("shared.rules", true), ("policy.rules", false)]);
    }

    #[test]
    fn steps_read_like_sentences() {
        let call = |tool: &str, input: Value, id: Option<&str>, human, outcome| {
            Step::Call(Box::new(CallStep {
                id: id.map(Into::into),
                tool: tool.into(),
                input: input.as_object().cloned().unwrap_or_default(),
                sender: None,
                context: None,
                about: Map::new(),
                human,
                outcome,
            }))
        };
        let nothing = || serde_json::json!({});
        let script = serde_json::json!({"command": "ls | wc"});
        let table = [
            ("`cp`", call("cp", nothing(), None, None, Outcome::Succeeds)),
            ("`cp` as #1, fails", call("cp", nothing(), Some("1"), None, Outcome::Fails)),
            ("`cp` human refuses", call("cp", nothing(), None, Some(Human::Refuses), Outcome::Succeeds)),
            (
                "`cp` as #b human grants, runs",
                call("cp", nothing(), Some("b"), Some(Human::Grants), Outcome::Runs),
            ),
            ("`bash $ ls | wc`", call("bash", script, None, None, Outcome::Succeeds)),
            ("`x {\"a\": 1}`", call("x", serde_json::json!({"a": 1}), None, None, Outcome::Succeeds)),
            ("result #1 ok", Step::Result { id: "1".into(), ok: true, output: None }),
            (
                "result #1 fails `[1]`",
                Step::Result { id: "1".into(), ok: false, output: Some(serde_json::json!([1])) },
            ),
            (
                "`cp` from `bot`, with `{\"a\": 1}`, about `{\"cwd\": \"/\"}`, gives `x: y`",
                Step::Call(Box::new(CallStep {
                    id: None,
                    tool: "cp".into(),
                    input: Map::new(),
                    sender: Some("bot".into()),
                    context: serde_json::json!({"a": 1}).as_object().cloned(),
                    about: serde_json::json!({"cwd": "/"}).as_object().cloned().unwrap_or_default(),
                    human: None,
                    outcome: Outcome::Gives("x: y".into()),
                })),
            ),
            ("at 1970-01-01T01:00:00+00:00", Step::At { ms: 3_600_000 }),
            ("session `{}`", Step::Describe { attributes: Map::new() }),
            ("user says `pay bob`", Step::UserSays { text: "pay bob".into() }),
            ("untaint", Step::Untaint),
            ("grant #1, fails", Step::Answer { id: "1".into(), granted: true, outcome: Outcome::Fails }),
            ("refuse #1", Step::Answer { id: "1".into(), granted: false, outcome: Outcome::Succeeds }),
            ("wait 2 min", Step::Wait { ms: 120_000 }),
            ("deactivate `n`", Step::Switch { net: "n".into(), active: false }),
            ("reset `w` to `s`", Step::Move { workflow: "w".into(), stage: "s".into(), forgets: true }),
            ("set `w` to `s`", Step::Move { workflow: "w".into(), stage: "s".into(), forgets: false }),
            ("halt `too much`", Step::Halt { reason: "too much".into() }),
            ("resume", Step::Resume),
        ];
        for (cell, expected) in table {
            assert_eq!(step(cell), expected, "{cell}");
        }
        assert_eq!(read_step("`cp` runs, in monday").expect("a session").2.as_deref(), Some("monday"));
        assert_eq!(read_step("`cp` 3 times, fails").expect("a number").1, 3);
        assert_eq!(read_step("`cp` 3").expect_err("no word"), "`3` what? write `3 times`");
    }

    #[test]
    fn three_dots_stand_for_the_rest_of_a_sentence() {
        let table = [
            ("a b", true),
            ("a…", true),
            ("…b", true),
            ("… …", true),
            ("a", false),
            ("…a", false),
            ("b…", false),
        ];
        for (written, fits) in table {
            assert_eq!(Sentence(written.into()).fits("a b"), fits, "{written}");
        }
    }

    #[test]
    fn all_mistakes_of_a_page_are_told_with_their_lines() {
        let text = page(
            "| step | verdict |\n|---|---|\n| rm | block |\n| `rm` | maybe |\n| `rm` loudly | block |\n\
             | `rm` {} |\n| wait 2 weeks | |\n| result 1 ok | |\n| `rm {` | |\n| `rm` human sleeps | |\n| at noon | |\n\
             | `rm` about `{\"mood\": 1}` | |\n| set `w` stage `s` | |\n\n\
             | step | mood |\n|---|---|\n| `rm` | glad |\n\n| step | stage |\n|---|---|\n| status | s |\n\n## Idle\n```rules\nblock a\n```\n```python\n```\n```rules\n",
        );
        insta::assert_snapshot!(mistakes(&text), @"
        page.md:1: the page has no story
        page.md:3: `Story` has a policy and no table of steps
        page.md:11: no step starts with `rm`; a call stands between backticks
        page.md:12: `maybe` is not a verdict; there are `allow`, `redact`, `ask`, `block`, `settled`, `ignored`, `error`
        page.md:13: `loudly` is not expected here; see the steps in README.md
        page.md:14: the row has 1 cells and the table 2 columns
        page.md:15: a unit of time is `ms`, `s`, `min`, `h` or `d`, not `weeks`
        page.md:16: expected a call's id, such as `#1`
        page.md:17: `{` is not a JSON object: EOF while parsing an object at line 1 column 1
        page.md:18: a human `grants`, `refuses` or is `absent`, not `sleeps`
        page.md:19: `noon` is not a time; write `2026-03-04T22:00:00Z`
        page.md:20: a call is about `principal`, `metadata`, `environment`, `cwd`, not `mood`
        page.md:21: set `w` to which stage?
        page.md:23: no column is called `mood`; there are `step`, `verdict`, `because`, `rule`, `where`, `next`, `deeds`, `observed`, `marking`, `allowed by`, `tags`, `input`, `result`, `output`, `stage`
        page.md:29: `s` is not a stage; write `workflow: stage`
        page.md:31: `Idle` has a policy and no table of steps
        page.md:35: a block is `rules`, `yaml`, `json` or `text`, not `python`
        page.md:37: the block is never closed
        ");
    }

    #[test]
    fn a_page_without_a_story_or_a_title_is_no_page() {
        insta::assert_snapshot!(mistakes("just words\n"), @"
        page.md:1: a page starts with a title: `# What it is about`
        page.md:1: the page has no story
        ");
    }
}
