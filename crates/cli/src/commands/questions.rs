//! `lockgate pending`, `approve` and `refuse`: what agents ask of humans, and what humans say.
//!
//! An answer is kept for whoever asked; the hook that waits for it collects it and judges the call again. The first
//! answer stands. Nothing can be said to a question that is not open: an answer that came before its question would be
//! a key under the mat.

use std::io;

use lockgate::{
    ApprovalId, Policy, Time,
    call::visible,
    gate::{
        Asked, KeptAnswer, Shelf,
        trail::{Entry, What},
    },
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    args::{AnswerArguments, PendingArguments},
    books::{Book, Books},
    console::{CommandError, Console, Ending, WIDTH, bold, cut, dim, lasting, wrong},
    hook::{
        self,
        dialect::{self, Asking, Event},
    },
    human::{self, Opening},
    protocol::encode,
    report::note,
    serve::now,
    settings::Environment,
};

/// An open question, as it is shown.
#[derive(Debug, Serialize)]
struct Question {
    approval: String,
    session: String,
    id: String,
    tool: String,
    input: Map<String, Value>,
    /// Whether the input is not shown as it is.
    masked: bool,
    rules: Vec<RuleText>,
    asked_at: u64,
    open_until: u64,
    /// Who puts it to a human: `agent`, `hook` or `deferred`; none where that cannot be told.
    asked_by: Option<&'static str>,
    /// Until when a hook waits for the answer, where one does.
    waits_until: Option<u64>,
    /// What was answered and waits to be collected.
    answer: Option<AnswerText>,
    #[serde(skip)]
    name: ApprovalId,
}

#[derive(Debug, Serialize)]
struct RuleText {
    rule: String,
    place: String,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct AnswerText {
    granted: bool,
    by: String,
    at: u64,
}

impl From<KeptAnswer> for AnswerText {
    fn from(KeptAnswer { granted, by, at }: KeptAnswer) -> Self {
        Self { granted, by, at: at.0 }
    }
}

/// `lockgate pending`.
pub(crate) fn pending(
    arguments: &PendingArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let books = Books::open(arguments.state.state.as_deref())?;
    let open = open_questions(&books, now(), console)?;
    if json {
        writeln!(console.out, "{}", encode(&serde_json::json!({ "questions": open.questions })))?;
    } else if open.questions.is_empty() {
        writeln!(console.out, "nobody waits for a human")?;
    } else {
        open.questions.iter().try_for_each(|question| write(console, question))?;
    }
    Ok(if open.is_whole { Ending::Yes } else { Ending::CouldNotTell })
}

/// All questions that are open, those asked first first.
struct Open {
    questions: Vec<Question>,
    /// Whether every session could be read.
    is_whole: bool,
}

fn open_questions(books: &Books, at: Time, console: &mut Console<'_>) -> Result<Open, CommandError> {
    let mut open = Open { questions: Vec::new(), is_whole: true };
    let labels = books.shelf().sessions().map_err(CommandError::said)?;
    for label in labels.iter().filter(|label| label.questions > 0) {
        match books.session(&label.session) {
            Ok((session, book)) => {
                for (number, asked) in session.asked().iter().filter(|(_, asked)| asked.deadline > at) {
                    let name = ApprovalId { session: label.session.clone(), number: *number };
                    open.questions.push(Question::new(books, &book, name, asked)?);
                }
            }
            Err(error) => {
                let text = visible(&format!("session {}: {error}", label.session));
                writeln!(console.err, "{}: {text}", wrong("error"))?;
                open.is_whole = false;
            }
        }
    }
    open.questions.sort_by_key(|question| question.asked_at);
    Ok(open)
}

impl Question {
    fn new(books: &Books, book: &Book, name: ApprovalId, asked: &Asked) -> Result<Self, CommandError> {
        let answer = books.shelf().answer(&name.session, name.number).map_err(CommandError::said)?;
        let asked_by = asked_by(book, &name.session);
        Ok(Self {
            approval: name.to_string(),
            session: name.session.clone(),
            id: asked.call.id.clone(),
            tool: asked.call.tool.clone(),
            input: asked.shown.as_deref().unwrap_or(&asked.call.input).clone(),
            masked: asked.shown.is_some(),
            rules: rules(book.gate.policy(), asked),
            asked_at: asked.call.at.0,
            open_until: asked.deadline.0,
            asked_by,
            waits_until: book.settings.as_ref().filter(|_| asked_by == Some("hook")).map(|settings| {
                let wait = u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX);
                asked.call.at.after_ms(wait).min(asked.deadline).0
            }),
            answer: answer.map(AnswerText::from),
            name,
        })
    }
}

fn rules(policy: &Policy, asked: &Asked) -> Vec<RuleText> {
    let rules = asked.rules.iter().filter_map(|rule| policy.rule(*rule));
    let text = |rule: &lockgate::policy::Rule| RuleText {
        rule: rule.name.clone(),
        place: format!("{}:{}", rule.place.file, rule.place.line),
        text: rule
            .source
            .text()
            .lines()
            .nth(rule.place.line.saturating_sub(1))
            .unwrap_or("")
            .trim()
            .to_owned(),
    };
    rules.map(text).collect()
}

fn asked_by(book: &Book, session: &str) -> Option<&'static str> {
    let (host, _) = session.split_once('/')?;
    let (dialect, settings) = (dialect::named(host)?, book.settings.as_ref()?);
    match hook::asking(settings.ask, dialect, &Event::new()) {
        Asking::Host => Some("agent"),
        Asking::Wait => Some("hook"),
        Asking::Defer => Some("deferred"),
        Asking::Nobody => None,
    }
}

fn write(console: &mut Console<'_>, question: &Question) -> Result<(), CommandError> {
    let at = now().0;
    let (ago, left) = (lasting(at.saturating_sub(question.asked_at)), question.open_until.saturating_sub(at));
    let when = format!("asked {ago} ago, open for {}", lasting(left));
    writeln!(console.out, "{}  {}", bold(visible(&question.approval)), dim(when))?;
    let input = Value::Object(question.input.clone()).to_string();
    note(console.out, "tool", &question.tool)?;
    // The whole input: nobody can agree to what is not shown.
    note(console.out, "input", &input)?;
    if question.masked {
        note(console.out, "masked", "parts of the input are hidden, as rules want it")?;
    }
    for RuleText { rule, place, text } in &question.rules {
        note(console.out, "rule", &format!("{rule} ({place}): {}", cut(text, WIDTH * 2)))?;
    }
    if question.rules.is_empty() {
        note(console.out, "rule", "of a policy that is not to be found now")?;
    }
    match (&question.answer, question.asked_by) {
        (Some(AnswerText { granted, by, .. }), _) => {
            let word = if *granted { "granted" } else { "refused" };
            note(console.out, "answer", &format!("{word} by {by}; the agent has not collected it yet"))?;
        }
        (None, Some("agent")) => note(console.out, "asks", "the agent asks its own human")?,
        (None, Some("deferred")) => note(console.out, "asks", "the agent has put the call off")?,
        (None, Some(_)) => {
            let left = question.waits_until.unwrap_or_default().saturating_sub(at);
            let told = match left {
                0 => "its hook has ended; an answer counts if the agent asks again".to_owned(),
                left => format!("the hook waits for an answer, for {} more", lasting(left)),
            };
            note(console.out, "asks", &told)?;
        }
        (None, None) => {}
    }
    Ok(())
}

/// What became of one answer.
#[derive(Debug, Serialize)]
struct Taken {
    approval: String,
    /// `taken`, `late` or `not-open`.
    result: &'static str,
    /// The answer that stands.
    answer: Option<AnswerText>,
}

/// `lockgate approve` and `lockgate refuse`.
pub(crate) fn answer(
    arguments: &AnswerArguments,
    granted: bool,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let names = named(&arguments.questions)?;
    let books = Books::open(arguments.state.state.as_deref())?;
    let by = arguments.by.clone().unwrap_or_else(|| user(&Environment::of_process()));
    let open = open_questions(&books, now(), console)?.questions;
    let names = match arguments.all {
        false => names,
        true => open.iter().filter(|it| it.answer.is_none()).map(|it| it.name.clone()).collect(),
    };
    let asked: Vec<&Question> =
        open.iter().filter(|it| it.answer.is_none() && names.contains(&it.name)).collect();
    if !asked.is_empty() && !agrees(&asked, granted, &books)? {
        writeln!(console.err, "nothing was answered")?;
        return Ok(Ending::No);
    }
    let mut taken = Vec::new();
    for name in &names {
        taken.push(keep(&books, name, &KeptAnswer { granted, by: by.clone(), at: now() })?);
    }
    if json {
        writeln!(console.out, "{}", encode(&serde_json::json!({ "answers": taken })))?;
    } else {
        if taken.is_empty() {
            writeln!(console.out, "nobody waits for a human")?;
        }
        taken.iter().try_for_each(|taken| tell(console, taken))?;
    }
    let is = |result| taken.iter().any(|taken| taken.result == result);
    Ok(match (is("not-open"), is("late")) {
        (true, _) => Ending::CouldNotTell,
        (false, true) => Ending::No,
        (false, false) => Ending::Yes,
    })
}

fn named(texts: &[String]) -> Result<Vec<ApprovalId>, CommandError> {
    let mut names: Vec<ApprovalId> = Vec::new();
    for text in texts {
        let name = ApprovalId::parse(text).ok_or_else(|| {
            CommandError::Said(format!(
                "`{}` is no question; they are called like a1@codex/3f2a, and `lockgate pending` lists them",
                visible(text)
            ))
        })?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Shows the questions at the terminal and has the human there confirm; see [`human::confirm`].
fn agrees(asked: &[&Question], granted: bool, books: &Books) -> Result<bool, CommandError> {
    let mut shown = Vec::new();
    let mut unheard = io::sink();
    let mut page = Console { out: &mut shown, err: &mut unheard };
    asked.iter().try_for_each(|question| write(&mut page, question))?;
    let shown = anstream::adapter::strip_bytes(&shown).into_vec();
    let word = if granted { "approve" } else { "refuse" };
    let deed = match asked.len() {
        1 => format!("{word} it"),
        count => format!("{word} all {count}"),
    };
    let opening = Opening {
        command: word,
        deed: &deed,
        shown: &String::from_utf8_lossy(&shown),
        state: books.shelf().path(),
    };
    human::confirm(&opening, &Environment::of_process())
}

fn keep(books: &Books, name: &ApprovalId, answer: &KeptAnswer) -> Result<Taken, CommandError> {
    let approval = name.to_string();
    let first = || books.shelf().answer(&name.session, name.number).map_err(CommandError::said);
    if let Some(first) = first()? {
        return Ok(Taken { approval, result: "late", answer: Some(first.into()) });
    }
    let is_open = |asked: &Asked| asked.deadline > answer.at;
    let (session, _) = books.session(&name.session)?;
    if !session.asked().get(&name.number).is_some_and(is_open) {
        return Ok(Taken { approval, result: "not-open", answer: None });
    }
    let KeptAnswer { granted, by, at } = answer.clone();
    let what = What::Answer { approval: approval.clone(), granted, by };
    let entry = Entry { at: at.0, session: Some(name.session.clone()), policy: None, what };
    let kept = books.shelf().keep_answer(&name.session, name.number, answer, &entry.to_json());
    Ok(match kept.map_err(CommandError::said)? {
        true => Taken { approval, result: "taken", answer: Some(answer.clone().into()) },
        false => Taken { approval, result: "late", answer: first()?.map(AnswerText::from) },
    })
}

fn tell(console: &mut Console<'_>, taken: &Taken) -> Result<(), CommandError> {
    let approval = visible(&taken.approval);
    match (taken.result, &taken.answer) {
        ("taken", Some(AnswerText { granted, by, .. })) => {
            let word = if *granted { "granted" } else { "refused" };
            writeln!(console.out, "{approval}: {word} by {}", visible(by))?;
        }
        ("late", Some(AnswerText { granted, by, at })) => {
            let word = if *granted { "granted" } else { "refused" };
            let ago = lasting(now().0.saturating_sub(*at));
            writeln!(
                console.err,
                "{approval}: {} had {word} it {ago} before; the first answer stands",
                visible(by)
            )?;
        }
        _ => writeln!(
            console.err,
            "{}: no question {approval} is open: it was answered at the agent, has lapsed, or was never asked; \
             `lockgate pending` lists those that are",
            wrong("error")
        )?,
    }
    Ok(())
}

/// The user who runs this, by the system's own list and not by a variable that anybody can set.
fn user(environment: &Environment) -> String {
    let Some(number) = environment.user else {
        let name = environment.variable("USERNAME").and_then(|name| name.to_str());
        return name.unwrap_or("somebody").to_owned();
    };
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("user {number}"))
}
