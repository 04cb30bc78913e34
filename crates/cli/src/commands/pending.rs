//! `lockgate pending`: the open questions, one line each; all of one; or a list that stays up to date.
//!
//! A line is cut at the edge of a terminal, so it says where to see the whole call. `--watch` looks at the database
//! twice a second. A new question rings the bell of the terminal and shows a desktop notification; where there is no
//! bell and no desktop, nothing happens and nothing fails. Nothing is answered here.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    process::{Child, Command, Stdio},
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use clap::Args;
use lockgate::engine::{ApprovalId, call::visible};
use lockgate_agents::now;
use serde_json::{Value, json};

use super::{
    guarded,
    questions::{NOTHING_WAITS, Open, Question, named, open_questions, write_question},
    watch::{CLEAR, interruption},
};
use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending, bold, cut, lasting, wrong},
    platform,
    protocol::encode,
    session_index::SessionIndex,
};

pub(crate) const PENDING_EXAMPLES: &str = "\
Examples:
  lockgate pending                    one line for each question
  lockgate pending 3                  question 3: the whole call, the rules
  lockgate pending --watch            a live list, with a bell and notifications
  lockgate pending --json | jq '.questions[].short_id'

Exit 0: done, with or without questions, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct PendingArguments {
    /// Show all of these questions, by short id or whole name
    #[arg(value_name = "ID", conflicts_with = "watch")]
    pub(crate) questions: Vec<String>,
    /// Keep the list up to date until Ctrl-C; ring the bell and notify when a question arrives
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: no bell and no notification
    #[arg(long, requires = "watch")]
    pub(crate) quiet: bool,
    /// With --watch: end after this many changes; for scripts and tests
    #[arg(long, value_name = "N", requires = "watch", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

/// How long `--watch` waits between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// How often `--watch` draws again on a terminal when nothing has changed but the clock, in looks.
const REDRAW_LOOKS: u32 = 2;

/// How much of a session's name a line shows.
const SESSION_COLUMNS: usize = 24;

/// How much of a call a notification shows.
const NOTIFIED_COLUMNS: usize = 120;

pub(crate) fn run(
    arguments: &PendingArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if arguments.watch {
        return watch(arguments, json, console);
    }
    let guarded = guarded::open_questions(arguments.state.state.as_deref())?;
    let (mut open, wanted) = match guarded {
        Some(open) => {
            let wanted = guarded::named(&arguments.questions, &open)?;
            (open, wanted)
        }
        None => {
            let Some(index) = SessionIndex::open_if_there(arguments.state.state.as_deref())? else {
                return write_nothing_yet(arguments, json, console);
            };
            (open_questions(&index, now(), console)?, named(&arguments.questions, &index)?)
        }
    };
    if !arguments.questions.is_empty() {
        let found = |it: &super::questions::Named| open.questions.iter().any(|known| known.name == it.name);
        if let Some(closed) = wanted.iter().find(|it| !found(it)) {
            return Err(CommandError::Said(format!(
                "question {} is not open; `lockgate pending` lists the open ones",
                visible(&closed.name.to_string())
            )));
        }
        open.questions.retain(|question| wanted.iter().any(|it| it.name == question.name));
    }
    if json {
        writeln!(console.out, "{}", encode(&json!({ "questions": open.questions })))?;
    } else if open.questions.is_empty() {
        writeln!(console.out, "{NOTHING_WAITS}")?;
    } else if arguments.questions.is_empty() {
        write_list(&open.questions, console)?;
    } else {
        open.questions.iter().try_for_each(|question| write_question(console, question))?;
    }
    Ok(if open.is_whole { Ending::Yes } else { Ending::CouldNotTell })
}

/// Where no database is, no agent has asked anything.
fn write_nothing_yet(
    arguments: &PendingArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if let Some(first) = arguments.questions.first() {
        return Err(CommandError::Said(format!(
            "no question has the id `{}`: Lockgate has not judged a call here yet",
            visible(first)
        )));
    }
    if json {
        writeln!(console.out, "{}", encode(&json!({ "questions": [] })))?;
    } else {
        writeln!(console.out, "{NOTHING_WAITS}")?;
        writeln!(
            console.err,
            "note: Lockgate has not judged a call here yet; `lockgate doctor` checks the hooks of your agents"
        )?;
    }
    Ok(Ending::Yes)
}

/// Writes a line for each question, and how to answer.
fn write_list(questions: &[Question], console: &mut Console<'_>) -> Result<(), CommandError> {
    let columns = platform::terminal_columns();
    let mut lines = lines(questions, now().0).into_iter();
    if let Some(heading) = lines.next() {
        writeln!(console.out, "{}", bold(fitted(&heading, columns)))?;
    }
    for line in lines {
        writeln!(console.out, "{}", fitted(&line, columns))?;
    }
    if let Some(question) = questions.first() {
        let id = question.called();
        writeln!(
            console.err,
            "answer with `lockgate approve {id}` or `lockgate refuse {id}`; `lockgate pending {id}` shows the whole call"
        )?;
    }
    Ok(())
}

/// The heading and a line for each question, in columns that line up.
fn lines(questions: &[Question], at: u64) -> Vec<String> {
    let heading = ["id", "asked", "state", "session", "tool"].map(str::to_owned);
    let rows = questions.iter().map(|question| {
        [
            question.called(),
            format!("{} ago", lasting(at.saturating_sub(question.asked_at))),
            question.state_briefly(at),
            cut(&visible(&question.session), SESSION_COLUMNS),
            visible(&question.tool),
        ]
    });
    let rows: Vec<[String; 5]> = std::iter::once(heading).chain(rows).collect();
    let calls = std::iter::once("input".to_owned()).chain(questions.iter().map(call_text));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let line = |(row, call): (&[String; 5], String)| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (text, width))| match column {
            0 => format!("{text:>width$}"),
            _ => format!("{text:<width$}"),
        });
        cells.chain([call]).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().zip(calls).map(line).collect()
}

/// What the call wants, in one line: the command first, and behind it whatever else the input holds.
fn call_text(question: &Question) -> String {
    let mut rest = question.input.clone();
    let command = match rest.get("command") {
        Some(Value::String(command)) => Some(command.clone()),
        _ => None,
    };
    if command.is_some() {
        rest.remove("command");
    }
    let rest = (!rest.is_empty()).then(|| Value::Object(rest).to_string());
    visible(&command.into_iter().chain(rest).collect::<Vec<_>>().join("  "))
}

/// A line that fits into a terminal; whole where there is none.
fn fitted(line: &str, columns: Option<usize>) -> String {
    columns.map_or_else(|| line.to_owned(), |columns| cut(line, columns))
}

/// Keeps the list up to date until interrupted.
fn watch(
    arguments: &PendingArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let interrupted = interruption()?;
    let mut shown: Option<Shown> = None;
    let mut notifier = Notifier::default();
    let mut looks_alike = 0;
    let mut rounds = 0;
    let ending = loop {
        let seen = look(arguments, console)?;
        let is_new = shown.as_ref().is_none_or(|shown| !shown.is_like(&seen));
        looks_alike = if is_new { 0 } else { looks_alike + 1 };
        let is_due = io::stdout().is_terminal() && !json && looks_alike >= REDRAW_LOOKS;
        if is_new || is_due {
            looks_alike = 0;
            seen.write(shown.as_ref(), json, console)?;
            let new = notifier.new_ones(seen.questions());
            if !arguments.quiet && !new.is_empty() {
                notifier.notify(&new, console)?;
            }
        }
        let ending = if seen.is_whole() { Ending::Yes } else { Ending::CouldNotTell };
        if is_new {
            shown = Some(seen);
            rounds += 1;
        }
        if interrupted.load(Ordering::Relaxed) || arguments.rounds.is_some_and(|wanted| rounds >= wanted) {
            break ending;
        }
        thread::sleep(PAUSE);
        if interrupted.load(Ordering::Relaxed) {
            break ending;
        }
    };
    notifier.finish();
    Ok(ending)
}

/// What one look at the database found.
enum Shown {
    Open(Open),
    /// It could not be read, and why.
    Fault(String),
}

fn look(arguments: &PendingArguments, console: &mut Console<'_>) -> Result<Shown, CommandError> {
    let mut read = || -> Result<Open, CommandError> {
        if let Some(open) = guarded::open_questions(arguments.state.state.as_deref())? {
            return Ok(open);
        }
        match SessionIndex::open_if_there(arguments.state.state.as_deref())? {
            Some(index) => open_questions(&index, now(), console),
            None => Ok(Open { questions: Vec::new(), is_whole: true }),
        }
    };
    match read() {
        Ok(open) => Ok(Shown::Open(open)),
        Err(CommandError::Io(error)) => Err(CommandError::Io(error)),
        Err(error) => Ok(Shown::Fault(error.to_string())),
    }
}

impl Shown {
    fn questions(&self) -> &[Question] {
        match self {
            Self::Open(open) => &open.questions,
            Self::Fault(_) => &[],
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self, Self::Open(open) if open.is_whole)
    }

    /// Whether both show the same questions in the same state, but for the time that has gone by.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fault(one), Self::Fault(other)) => one == other,
            (Self::Open(_), Self::Open(_)) => {
                let key = |it: &Question| (it.name.clone(), it.answer.as_ref().map(|it| it.granted));
                self.questions().iter().map(key).eq(other.questions().iter().map(key))
            }
            (Self::Open(_), Self::Fault(_)) | (Self::Fault(_), Self::Open(_)) => false,
        }
    }

    fn write(
        &self,
        before: Option<&Self>,
        json: bool,
        console: &mut Console<'_>,
    ) -> Result<(), CommandError> {
        let is_terminal = io::stdout().is_terminal();
        match self {
            Self::Fault(fault) if json => writeln!(console.out, "{}", encode(&json!({ "error": fault })))?,
            Self::Fault(fault) => writeln!(console.err, "{}: {}", wrong("error"), visible(fault))?,
            Self::Open(open) if json => {
                writeln!(console.out, "{}", encode(&json!({ "questions": open.questions })))?;
            }
            Self::Open(open) if is_terminal => {
                write!(console.out, "{CLEAR}")?;
                match open.questions.as_slice() {
                    [] => writeln!(console.out, "{NOTHING_WAITS}; Ctrl-C ends this list")?,
                    questions => write_list(questions, console)?,
                }
            }
            // Where nothing can be drawn again, only what changes is said.
            Self::Open(open) => {
                let is_shown = |it: &Question| {
                    before.is_some_and(|before| before.questions().iter().any(|known| known.name == it.name))
                };
                for (question, line) in
                    open.questions.iter().zip(lines(&open.questions, now().0).iter().skip(1))
                {
                    if !is_shown(question) || question.answer.is_some() {
                        writeln!(console.out, "{line}")?;
                    }
                }
                for gone in before.iter().flat_map(|before| before.questions()) {
                    if !open.questions.iter().any(|it| it.name == gone.name) {
                        writeln!(console.out, "{}  closed", gone.called())?;
                    }
                }
                if open.questions.is_empty() {
                    writeln!(console.out, "{NOTHING_WAITS}")?;
                }
            }
        }
        console.out.flush()?;
        Ok(())
    }
}

/// Tells the human that a question waits, where there is a way to.
#[derive(Default)]
struct Notifier {
    /// The questions it was asked about already: a database that is busy for a moment makes none of them new.
    known: BTreeSet<ApprovalId>,
    /// Notifications whose program has not ended yet.
    running: Vec<Child>,
}

impl Notifier {
    /// The questions that have no answer yet and were not there before.
    fn new_ones<'a>(&mut self, questions: &'a [Question]) -> Vec<&'a Question> {
        let is_new = |it: &&Question| it.answer.is_none() && self.known.insert(it.name.clone());
        questions.iter().filter(is_new).collect()
    }

    fn notify(&mut self, new: &[&Question], console: &mut Console<'_>) -> Result<(), CommandError> {
        if io::stdout().is_terminal() {
            write!(console.out, "\u{7}")?;
            console.out.flush()?;
        }
        let (title, body) = match new {
            [question] => {
                let id = question.called();
                let call = format!("{}  {}", visible(&question.tool), call_text(question));
                let call = cut(&call, NOTIFIED_COLUMNS);
                (format!("Lockgate: question {id} waits for you"), format!("{call}\nlockgate pending {id}"))
            }
            many => {
                (format!("Lockgate: {} questions wait for you", many.len()), "lockgate pending".to_owned())
            }
        };
        self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        for mut command in commands(&title, &body) {
            let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Ok(child) = quiet.spawn() {
                self.running.push(child);
                break;
            }
        }
        Ok(())
    }

    /// Waits a moment for the last notification, so that it is not lost; never for one that hangs.
    fn finish(mut self) {
        for _ in 0..10 {
            self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            if self.running.is_empty() {
                return;
            }
            thread::sleep(PAUSE / 10);
        }
    }
}

/// The programs that show a notification, best first. The texts are arguments and never part of a script: the agent
/// chose some of their words.
fn commands(title: &str, body: &str) -> [Command; 2] {
    let mut freedesktop = Command::new("notify-send");
    // Some desktops read the body as markup.
    let escaped = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    freedesktop.args(["--app-name=Lockgate", "--"]).args([title, &escaped]);
    let mut macos = Command::new("osascript");
    let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    macos.args(["-e", script, title, body]);
    [freedesktop, macos]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::questions::AnswerText;

    fn question(short_id: u64, tool: &str, input: &Value) -> Question {
        let name = ApprovalId { session: "claude-code/3f2a6c1e-8b1d-4a57".to_owned(), number: short_id };
        Question {
            short_id: Some(short_id),
            approval: name.to_string(),
            session: name.session.clone(),
            id: "c1".to_owned(),
            tool: tool.to_owned(),
            input: input.as_object().cloned().unwrap_or_default(),
            masked: false,
            rules: Vec::new(),
            asked_at: 1_000,
            open_until: 301_000,
            asked_by: Some("hook".into()),
            waits_until: Some(31_000),
            answer: None,
            name,
        }
    }

    #[test]
    fn each_question_is_one_line() {
        let questions = [
            question(9, "Bash", &json!({"command": "rm -rf build\necho done", "description": "tidy up"})),
            question(10, "deploy", &json!({"to": "prod"})),
            question(11, "logout", &json!({})),
        ];
        insta::assert_snapshot!(lines(&questions, 13_000).join("\n"), @r#"
        id  asked     state       session                   tool    input
         9  12 s ago  waits 18 s  claude-code/3f2a6c1e-8b…  Bash    rm -rf build\necho done  {"description":"tidy up"}
        10  12 s ago  waits 18 s  claude-code/3f2a6c1e-8b…  deploy  {"to":"prod"}
        11  12 s ago  waits 18 s  claude-code/3f2a6c1e-8b…  logout
        "#);
    }

    #[test]
    fn a_line_that_does_not_fit_says_so() {
        assert_eq!(fitted("rm -rf build", Some(6)), "rm -r…");
        assert_eq!(fitted("rm -rf build", None), "rm -rf build");
    }

    #[test]
    fn a_question_is_announced_once_and_only_while_it_has_no_answer() {
        let mut notifier = Notifier::default();
        let mut new = |ids: &[u64], answered: Option<u64>| -> Vec<u64> {
            let questions: Vec<Question> = ids.iter().map(|id| question(*id, "deploy", &json!({}))).collect();
            let answer = || Some(AnswerText { granted: true, by: "ada".to_owned(), at: 2 });
            let questions: Vec<Question> = questions
                .into_iter()
                .map(|it| Question { answer: answer().filter(|_| it.short_id == answered), ..it })
                .collect();
            notifier.new_ones(&questions).iter().filter_map(|question| question.short_id).collect()
        };
        assert_eq!(new(&[1, 2], None), [1, 2]);
        assert!(new(&[], None).is_empty());
        assert_eq!(new(&[2, 3, 4], Some(4)), [3]);
    }

    #[test]
    fn the_list_is_drawn_again_when_a_question_comes_goes_or_is_answered() {
        let open = |answer: Option<AnswerText>| {
            let questions = vec![Question { answer, ..question(4, "deploy", &json!({})) }];
            Shown::Open(Open { questions, is_whole: true })
        };
        let answered = || Some(AnswerText { granted: true, by: "ada".to_owned(), at: 2 });
        let empty = Shown::Open(Open { questions: Vec::new(), is_whole: true });
        assert!(open(None).is_like(&open(None)) && empty.is_like(&empty));
        assert!(!open(answered()).is_like(&open(None)));
        assert!(!empty.is_like(&open(None)) && !empty.is_like(&Shown::Fault("busy".to_owned())));
    }

    #[test]
    fn what_an_agent_says_is_never_part_of_a_script() {
        for command in commands("-e title", "\"; do shell script \"id\" <b>&") {
            let words: Vec<String> =
                command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            match command.get_program().to_str() {
                Some("notify-send") => assert_eq!(
                    words,
                    ["--app-name=Lockgate", "--", "-e title", "\"; do shell script \"id\" &lt;b&gt;&amp;"]
                ),
                _ => {
                    assert_eq!(words.len(), 4);
                    assert!(!words[1].contains("do shell script"), "{words:?}");
                }
            }
        }
    }
}
