//! The open questions, and `lockgate approve` and `refuse`, which answer them.
//!
//! [`open_questions`] finds them for every command; how they are listed is in [`super::pending`]. People name a question
//! by a short id such as `3`, programs by its whole name; see [`named`]. An answer is stored for the agent that asked;
//! the hook that waits for it collects it and judges the call again. The first answer stands. A question that is not
//! open takes no answer: an answer that came before its question would be a key under the mat.

use std::{borrow::Cow, io, sync::Arc};

use clap::Args;
use lockgate::engine::{
    ApprovalId, Policy, Time,
    call::visible,
    gate::{
        Asked, Backend, BackendAnswers, StoredAnswer,
        audit_log::{LogEntry, LogEvent, TIMEOUT},
    },
};
use lockgate_agents::{Agent, Ask, Environment, Message, now};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending, WIDTH, bold, cut, dim, lasting, wrong},
    human::{self, Opening, Proof},
    protocol::encode,
    report::note,
    session_index::{FolderGate, SessionIndex},
};

pub(crate) const APPROVE_EXAMPLES: &str = "\
Examples:
  lockgate approve 3                  question 3 of `lockgate pending`
  lockgate approve a1@codex/3f2a…     by its whole name
  lockgate approve --all              all open questions

You prove who you are by the passphrase of `lockgate passphrase set`, typed at
the terminal; an agent cannot. The first answer stands. Exit 0: stored,
1: someone answered before, or you said no, 2: the question is not open.";

pub(crate) const REFUSE_EXAMPLES: &str = "\
Examples:
  lockgate refuse 3                   question 3 of `lockgate pending`
  lockgate refuse a1@codex/3f2a…      by its whole name
  lockgate refuse --all               all open questions

A no needs no passphrase. The first answer stands. Exit 0: stored, 1: someone
answered before, 2: the question is not open.";

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The questions: short ids as `lockgate pending` shows them, or whole names such as a1@codex/3f2a…
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) questions: Vec<String>,
    /// All open questions that have no answer yet
    #[arg(long, conflicts_with = "questions")]
    pub(crate) all: bool,
    /// With `approvals = "unprotected"` in the settings: do not ask at the terminal
    #[arg(long, requires = "all")]
    pub(crate) yes: bool,
    /// Who answers, for the audit log [default: the user who runs this]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

/// An open question, as it is shown.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "ShownQuestion")]
pub(super) struct Question {
    /// What people call it; none where the database cannot store one.
    pub(super) short_id: Option<u64>,
    pub(super) approval: String,
    pub(super) session: String,
    /// The id of the call.
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    /// Whether parts of the input are masked.
    pub(super) masked: bool,
    pub(super) rules: Vec<RuleText>,
    pub(super) asked_at: u64,
    pub(super) open_until: u64,
    /// Who asks the human: `agent`, `hook` or `deferred`; none where that is not known.
    pub(super) asked_by: Option<Cow<'static, str>>,
    /// Until when a hook waits for the answer, where one does.
    pub(super) waits_until: Option<u64>,
    /// An answer that the agent has not collected yet.
    pub(super) answer: Option<AnswerText>,
    #[serde(skip)]
    pub(super) name: ApprovalId,
}

/// The same as it is read from JSON, without its name.
#[derive(Deserialize)]
struct ShownQuestion {
    short_id: Option<u64>,
    approval: String,
    session: String,
    id: String,
    tool: String,
    input: Map<String, Value>,
    masked: bool,
    rules: Vec<RuleText>,
    asked_at: u64,
    open_until: u64,
    asked_by: Option<Cow<'static, str>>,
    waits_until: Option<u64>,
    answer: Option<AnswerText>,
}

impl From<ShownQuestion> for Question {
    fn from(shown: ShownQuestion) -> Self {
        let name = ApprovalId::parse(&shown.approval);
        let name = name.unwrap_or_else(|| ApprovalId { session: shown.session.clone(), number: 0 });
        Self {
            short_id: shown.short_id,
            approval: shown.approval,
            session: shown.session,
            id: shown.id,
            tool: shown.tool,
            input: shown.input,
            masked: shown.masked,
            rules: shown.rules,
            asked_at: shown.asked_at,
            open_until: shown.open_until,
            asked_by: shown.asked_by,
            waits_until: shown.waits_until,
            answer: shown.answer,
            name,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RuleText {
    pub(super) rule: String,
    pub(super) place: String,
    pub(super) text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AnswerText {
    pub(super) granted: bool,
    pub(super) by: String,
    pub(super) at: u64,
}

impl From<StoredAnswer> for AnswerText {
    fn from(StoredAnswer { granted, by, at, .. }: StoredAnswer) -> Self {
        Self { granted, by, at: at.0 }
    }
}

/// All open questions, the oldest first.
pub(super) struct Open {
    pub(super) questions: Vec<Question>,
    /// Whether every session could be read.
    pub(super) is_whole: bool,
}

/// Finds the open questions of all sessions.
pub(super) fn open_questions(
    index: &SessionIndex,
    at: Time,
    console: &mut Console<'_>,
) -> Result<Open, CommandError> {
    let mut open = Open { questions: Vec::new(), is_whole: true };
    let labels = index.backend().sessions().map_err(CommandError::said)?;
    for label in labels.iter().filter(|label| label.questions > 0) {
        match index.session(&label.session) {
            Ok((session, folder_gate)) => {
                for (number, asked) in session.asked().iter().filter(|(_, asked)| asked.deadline > at) {
                    let name = ApprovalId { session: label.session.clone(), number: *number };
                    match Question::new(index, &folder_gate, name.clone(), asked) {
                        Ok(question) => open.questions.push(question),
                        // One answer that somebody changed must not hide the other questions.
                        Err(error) => {
                            let text = visible(&format!("question {name}: {error}"));
                            writeln!(console.err, "{}: {text}", wrong("error"))?;
                            open.is_whole = false;
                        }
                    }
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
    let names: Vec<(&str, u64)> =
        open.questions.iter().map(|it| (it.name.session.as_str(), it.name.number)).collect();
    // A database that cannot be written to still shows its questions, by their whole names.
    let ids = index.backend().short_ids(&names).unwrap_or_default();
    for (question, id) in open.questions.iter_mut().zip(ids) {
        question.short_id = Some(id);
    }
    Ok(open)
}

impl Question {
    /// What people call it.
    pub(super) fn called(&self) -> String {
        self.short_id.map_or_else(|| visible(&self.approval), |id| id.to_string())
    }

    fn new(
        index: &SessionIndex,
        folder_gate: &FolderGate,
        name: ApprovalId,
        asked: &Asked,
    ) -> Result<Self, CommandError> {
        let answer = index.backend().answer(&name.session, name.number).map_err(CommandError::said)?;
        // One that does not count is not an answer, and the hook will reject it.
        let trust = &folder_gate.gate.rulebook().answer_trust;
        let answer = answer.filter(|answer| trust.check(&name, asked, answer, now()).is_ok());
        let asked_by = asked_by(folder_gate, &name.session).map(Cow::Borrowed);
        Ok(Self {
            short_id: None,
            approval: name.to_string(),
            session: name.session.clone(),
            id: asked.call.id.clone(),
            tool: asked.call.tool.clone(),
            input: asked.shown.as_deref().unwrap_or(&asked.call.input).clone(),
            masked: asked.shown.is_some(),
            rules: rules(folder_gate.gate.policy(), asked),
            asked_at: asked.call.at.0,
            open_until: asked.deadline.0,
            waits_until: folder_gate.settings.as_ref().filter(|_| asked_by.as_deref() == Some("hook")).map(
                |settings| {
                    let wait = u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX);
                    asked.call.at.after_ms(wait).min(asked.deadline).0
                },
            ),
            asked_by,
            answer: answer.map(AnswerText::from),
            name,
        })
    }
}

fn rules(policy: &Policy, asked: &Asked) -> Vec<RuleText> {
    let rules = asked.rules.iter().filter_map(|rule| policy.rule(*rule));
    let text = |rule: &lockgate::engine::policy::Rule| RuleText {
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

fn asked_by(folder_gate: &FolderGate, session: &str) -> Option<&'static str> {
    let (host, _) = session.split_once('/')?;
    let (agent, settings) = (Agent::named(host)?, folder_gate.settings.as_ref()?);
    match agent.asking(settings.ask, &Message::new()) {
        Ask::Host => Some("agent"),
        Ask::Wait => Some("hook"),
        Ask::Defer => Some("deferred"),
        Ask::Block => None,
    }
}

/// Writes all of a question: a human can only agree to what they have seen.
pub(super) fn write_question(console: &mut Console<'_>, question: &Question) -> Result<(), CommandError> {
    let at = now().0;
    let (ago, left) = (lasting(at.saturating_sub(question.asked_at)), question.open_until.saturating_sub(at));
    let when = format!("asked {ago} ago, open for {}", lasting(left));
    writeln!(console.out, "{}  {}", bold(question.called()), dim(when))?;
    note(console.out, "name", &question.approval)?;
    note(console.out, "tool", &question.tool)?;
    note(console.out, "input", &Value::Object(question.input.clone()).to_string())?;
    if question.masked {
        note(console.out, "masked", "a rule hides parts of the input")?;
    }
    for RuleText { rule, place, text } in &question.rules {
        note(console.out, "rule", &format!("{rule} ({place}): {}", cut(text, WIDTH * 2)))?;
    }
    if question.rules.is_empty() {
        note(console.out, "rule", "not in the policy any more")?;
    }
    if let Some(text) = question.state(at) {
        note(console.out, "state", &text)?;
    }
    Ok(())
}

impl Question {
    /// Who waits for the answer; none where that is not known.
    fn state(&self, at: u64) -> Option<String> {
        if let Some(AnswerText { granted, by, .. }) = &self.answer {
            let word = if *granted { "granted" } else { "refused" };
            return Some(format!("{word} by {by}; the agent has not collected the answer yet"));
        }
        Some(match self.asked_by.as_deref()? {
            "agent" => "the agent shows the question itself".to_owned(),
            "deferred" => "the agent has postponed the call".to_owned(),
            _ => match self.waits_until.unwrap_or_default().saturating_sub(at) {
                0 => "the hook no longer waits; an answer counts if the agent tries again".to_owned(),
                left => format!("the hook waits for {} more", lasting(left)),
            },
        })
    }

    /// The same in a few words, for a list.
    pub(super) fn state_briefly(&self, at: u64) -> String {
        if let Some(AnswerText { granted, by, .. }) = &self.answer {
            let word = if *granted { "granted" } else { "refused" };
            return format!("{word} by {}", visible(by));
        }
        match self.asked_by.as_deref() {
            None => "open".to_owned(),
            Some("agent") => "agent asks".to_owned(),
            Some("deferred") => "put off".to_owned(),
            Some(_) => match self.waits_until.unwrap_or_default().saturating_sub(at) {
                0 => "hook ended".to_owned(),
                left => format!("waits {}", lasting(left)),
            },
        }
    }
}

/// What became of one answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    short_id: Option<u64>,
    approval: String,
    /// `taken`, `late` or `not-open`.
    result: Cow<'static, str>,
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
    let environment = Environment::of_process();
    let index = SessionIndex::open(arguments.state.state.as_deref())?;
    let names = named(&arguments.questions, &index)?;
    let by = arguments.by.clone().unwrap_or_else(|| user(&environment));
    let open = open_questions(&index, now(), console)?.questions;
    let names = match arguments.all {
        false => names,
        true => {
            let unanswered = open.iter().filter(|it| it.answer.is_none());
            unanswered.map(|it| Named { name: it.name.clone(), short_id: it.short_id }).collect()
        }
    };
    let asked: Vec<&Question> = open
        .iter()
        .filter(|it| it.answer.is_none() && names.iter().any(|named| named.name == it.name))
        .collect();
    // A no only narrows: it needs no proof.
    let proof = match granted && !asked.is_empty() {
        true => agreed(&asked, &index, arguments.yes)?,
        false => Some(Proof::Unprotected),
    };
    let Some(proof) = proof else {
        writeln!(console.err, "nothing was answered")?;
        return Ok(Ending::No);
    };
    let taken = keep_all(&index, &names, (granted, &by), &proof)?;
    tell_all(&taken, json, console)
}

/// Stores the answers to questions.
pub(super) fn keep_all(
    index: &SessionIndex,
    names: &[Named],
    (granted, by): (bool, &str),
    proof: &Proof,
) -> Result<Vec<Taken>, CommandError> {
    let answer = || StoredAnswer::unsigned(granted, by.to_owned(), now());
    names.iter().map(|name| keep(index, name, answer(), proof)).collect()
}

/// Says what became of answers.
pub(super) fn tell_all(
    taken: &[Taken],
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if json {
        writeln!(console.out, "{}", encode(&serde_json::json!({ "answers": taken })))?;
    } else {
        if taken.is_empty() {
            writeln!(console.out, "{NOTHING_WAITS}")?;
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

/// What is said where no question is open.
pub(super) const NOTHING_WAITS: &str = "no questions are waiting for a human";

/// A question as someone named it.
pub(super) struct Named {
    pub(super) name: ApprovalId,
    /// Its short id, where that was given or is known.
    pub(super) short_id: Option<u64>,
}

/// Finds questions by their short ids or their whole names, each once.
pub(super) fn named(texts: &[String], index: &SessionIndex) -> Result<Vec<Named>, CommandError> {
    let mut all: Vec<Named> = Vec::new();
    for text in texts {
        let named = match text.parse::<u64>() {
            Ok(id) => Named { name: question_of(id, index)?, short_id: Some(id) },
            Err(_) => {
                Named { name: ApprovalId::parse(text).ok_or_else(|| not_a_name(text))?, short_id: None }
            }
        };
        if !all.iter().any(|known| known.name == named.name) {
            all.push(named);
        }
    }
    Ok(all)
}

fn question_of(id: u64, index: &SessionIndex) -> Result<ApprovalId, CommandError> {
    let found = index.backend().question_of(id).map_err(CommandError::said)?;
    let (session, number) = found.ok_or_else(|| {
        CommandError::Said(format!("no question has the id {id}; `lockgate pending` lists the open ones"))
    })?;
    Ok(ApprovalId { session, number })
}

pub(super) fn not_a_name(text: &str) -> CommandError {
    CommandError::Said(format!(
        "`{}` does not name a question; write a number that `lockgate pending` shows, or a whole name such as \
         a1@codex/3f2a",
        visible(text)
    ))
}

/// Shows the questions at the terminal and has the human there prove who they are; see [`human::prove`].
fn agreed(asked: &[&Question], index: &SessionIndex, yes: bool) -> Result<Option<Proof>, CommandError> {
    let (shown, deed) = shown(asked)?;
    let state = index.backend().path();
    let opening = Opening { command: "approve", deed: &deed, shown: &shown, state };
    human::prove(&opening, &Environment::of_process(), yes)
}

/// What a human sees before they agree, and what they agree to.
pub(super) fn shown(asked: &[&Question]) -> Result<(String, String), CommandError> {
    let mut shown = Vec::new();
    let mut unheard = io::sink();
    let mut page = Console { out: &mut shown, err: &mut unheard };
    asked.iter().try_for_each(|question| write_question(&mut page, question))?;
    let shown = anstream::adapter::strip_bytes(&shown).into_vec();
    let deed = match asked.len() {
        1 => "approve it".to_owned(),
        count => format!("approve all {count}"),
    };
    Ok((String::from_utf8_lossy(&shown).into_owned(), deed))
}

fn keep(
    index: &SessionIndex,
    named: &Named,
    mut answer: StoredAnswer,
    proof: &Proof,
) -> Result<Taken, CommandError> {
    let Named { name, short_id } = named;
    let (approval, short_id) = (name.to_string(), *short_id);
    let backend = index.backend();
    // A question that ran out of time was answered by no one: it is not open.
    let by_human = |stored: Option<StoredAnswer>| stored.filter(|answer| answer.by != TIMEOUT);
    let first = || backend.answer(&name.session, name.number).map(by_human).map_err(CommandError::said);
    let (session, folder_gate) = match (index.session(&name.session), first()?) {
        (Ok(read), _) => read,
        (Err(_), Some(first)) => {
            return Ok(Taken {
                short_id,
                approval,
                result: Cow::Borrowed("late"),
                answer: Some(first.into()),
            });
        }
        (Err(error), None) => return Err(error),
    };
    let asked = session.asked().get(&name.number).filter(|asked| asked.deadline > answer.at);
    let counted = match asked {
        // An answer that does not count is taken away here, so that it is not the first one.
        Some(_) => folder_gate
            .gate
            .counted_answer(&BackendAnswers(backend), name, answer.at)
            .map(by_human)
            .map_err(CommandError::said)?,
        None => first()?,
    };
    if let Some(first) = counted {
        return Ok(Taken { short_id, approval, result: Cow::Borrowed("late"), answer: Some(first.into()) });
    }
    let Some(asked) = asked else {
        return Ok(Taken { short_id, approval, result: Cow::Borrowed("not-open"), answer: None });
    };
    if let Proof::Key(key) = proof {
        let database = backend.database_id().map_err(CommandError::said)?;
        let claim = asked.claim(&database, name, answer.granted, &answer.by, answer.at);
        answer.proof = Some(Arc::new(claim.sign(key)));
    }
    let StoredAnswer { granted, by, at, proof } = answer.clone();
    let what = LogEvent::Answer { approval: approval.clone(), granted, by, proof };
    let entry = LogEntry { at: at.0, session: Some(name.session.clone()), policy: None, what };
    let kept = backend.keep_answer(&name.session, name.number, &answer, &entry.to_json());
    Ok(match kept.map_err(CommandError::said)? {
        true => Taken { short_id, approval, result: Cow::Borrowed("taken"), answer: Some(answer.into()) },
        false => Taken {
            short_id,
            approval,
            result: Cow::Borrowed("late"),
            answer: first()?.map(AnswerText::from),
        },
    })
}

fn tell(console: &mut Console<'_>, taken: &Taken) -> Result<(), CommandError> {
    let approval = match taken.short_id {
        Some(id) => format!("{id} ({})", visible(&taken.approval)),
        None => visible(&taken.approval),
    };
    match (&*taken.result, &taken.answer) {
        ("taken", Some(AnswerText { granted, by, .. })) => {
            let word = if *granted { "granted" } else { "refused" };
            writeln!(console.out, "{approval}: {word} by {}", visible(by))?;
        }
        ("late", Some(AnswerText { granted, by, at })) => {
            let word = if *granted { "granted" } else { "refused" };
            let ago = lasting(now().0.saturating_sub(*at));
            writeln!(
                console.err,
                "{approval}: {} already {word} it {ago} ago; the first answer stands",
                visible(by)
            )?;
        }
        _ => writeln!(
            console.err,
            "{}: question {approval} is not open: it was answered at the agent, it expired, or it was never asked; \
             `lockgate pending` lists the open ones",
            wrong("error")
        )?,
    }
    Ok(())
}

/// The user who runs this, by the system's own list and not by a variable that any process can set.
pub(super) fn user(environment: &Environment) -> String {
    if environment.is_guardian() {
        // Root runs this, and can say for whom.
        return match std::env::var("SUDO_USER") {
            Ok(name) if !name.is_empty() => format!("root ({name})"),
            _ => "root".to_owned(),
        };
    }
    let Some(number) = environment.user else {
        let name = environment.variable("USERNAME").and_then(|name| name.to_str());
        return name.unwrap_or("someone").to_owned();
    };
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("user {number}"))
}
