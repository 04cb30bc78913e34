//! Commands of a user whose agents the guardian guards: the state is not theirs, so they ask the guardian.
//!
//! Looking at questions, refusing them and halting need nothing. A yes needs the passphrase, typed at a terminal; the guardian
//! has the key that it unlocks, and counts the attempts. Everything else is for root (`sudo lockgate …`).

use std::path::Path;

use lockgate::engine::{ApprovalId, call::visible};
use lockgate_agents::{
    Environment,
    guardian::{ClientError, Errand, errand},
    machine::Machine,
};
use serde_json::Value;
use zeroize::Zeroizing;

use super::questions::{
    self, AnswerArguments, Named, Open, Question, Taken, not_a_name, shown, tell_all, user,
};
use crate::{
    console::{CommandError, Console, Ending},
    human::{self, Opening, unusable_terminal},
};

/// The open questions, where the guardian has them; none where this user has their own database, or named one.
pub(super) fn open_questions(state: Option<&Path>) -> Result<Option<Open>, CommandError> {
    if state.is_some() || !Environment::of_process().is_guarded() {
        return Ok(None);
    }
    let answer = ask(Errand::Pending)?;
    let unreadable = |_| CommandError::Said("the guardian's list of questions is not understood".to_owned());
    let questions = answer.get("questions").cloned().unwrap_or_default();
    let questions: Vec<Question> = serde_json::from_value(questions).map_err(unreadable)?;
    let is_whole = answer.get("is_whole").and_then(Value::as_bool).unwrap_or_default();
    Ok(Some(Open { questions, is_whole }))
}

/// Finds questions by their short ids or their whole names.
pub(super) fn named(texts: &[String], open: &Open) -> Result<Vec<Named>, CommandError> {
    let mut all: Vec<Named> = Vec::new();
    for text in texts {
        let known = open.questions.iter().find(|it| it.called() == *text || it.approval == *text);
        let named = match known {
            Some(question) => Named { name: question.name.clone(), short_id: question.short_id },
            None if text.parse::<u64>().is_ok() => {
                return Err(CommandError::Said(format!(
                    "no open question has the id {text}; `lockgate pending` lists the open ones"
                )));
            }
            None => Named { name: ApprovalId::parse(text).ok_or_else(|| not_a_name(text))?, short_id: None },
        };
        if !all.iter().any(|known| known.name == named.name) {
            all.push(named);
        }
    }
    Ok(all)
}

/// `lockgate approve` and `lockgate refuse`, whoever has the state.
pub(crate) fn answer(
    arguments: &AnswerArguments,
    granted: bool,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let environment = Environment::of_process();
    if !environment.is_guarded() || arguments.state.state.is_some() {
        return questions::answer(arguments, granted, json, console);
    }
    let open = open_questions(None)?.unwrap_or(Open { questions: Vec::new(), is_whole: false });
    let names = named(&arguments.questions, &open)?;
    let is_meant = |it: &&Question| {
        it.answer.is_none() && (arguments.all || names.iter().any(|named| named.name == it.name))
    };
    let asked: Vec<&Question> = open.questions.iter().filter(is_meant).collect();
    let passphrase = match granted && !asked.is_empty() {
        true => match typed(&asked, &environment)? {
            Some(typed) => Some(typed),
            None => {
                writeln!(console.err, "nothing was answered")?;
                return Ok(Ending::No);
            }
        },
        false => None,
    };
    let questions = match arguments.all {
        // Those that were shown, and none that came meanwhile.
        true => asked.iter().map(|it| it.approval.clone()).collect(),
        false => names.iter().map(|it| it.name.to_string()).collect(),
    };
    let by = arguments.by.clone().unwrap_or_else(|| user(&environment));
    let passphrase = passphrase.map(|typed| String::from_utf8_lossy(&typed).into_owned());
    let answer = ask(Errand::Answer { questions, granted, by, passphrase })?;
    let unreadable = |_| CommandError::Said("the guardian's answer is not understood".to_owned());
    let answers = answer.get("answers").cloned().unwrap_or_default();
    let taken: Vec<Taken> = serde_json::from_value(answers).map_err(unreadable)?;
    tell_all(&taken, json, console)
}

/// Shows the questions at the terminal and has the passphrase typed; none if the human leaves it.
fn typed(asked: &[&Question], environment: &Environment) -> Result<Option<Zeroizing<Vec<u8>>>, CommandError> {
    let (shown, deed) = shown(asked)?;
    let state = environment.data_folder().unwrap_or_default().join("lockgate").join("lockgate.db");
    let opening = Opening { command: "approve", deed: &deed, shown: &shown, state: &state };
    let mut terminal = human::fence_of(&opening, environment)?;
    terminal.show(opening.shown).map_err(unusable_terminal)?;
    let prompt = format!("Passphrase to {deed}, or only Enter to leave it");
    let typed = terminal.ask_hidden(&prompt).map_err(unusable_terminal)?;
    Ok(Some(typed).filter(|typed| !typed.is_empty()))
}

/// `lockgate halt`.
pub(super) fn halt(session: Option<&str>, reason: &str) -> Result<(), CommandError> {
    let (session, reason) = (session.map(ToOwned::to_owned), reason.to_owned());
    ask(Errand::Halt { session, reason }).map(|_| ())
}

fn ask(wanted: Errand) -> Result<Value, CommandError> {
    let machine = Machine::read().map_err(CommandError::said)?;
    let machine = machine.ok_or_else(|| CommandError::Said("no guardian is installed here".to_owned()))?;
    errand(&machine, wanted).map_err(|error| match error {
        ClientError::Refused(line) => CommandError::Said(visible(&line)),
        error => CommandError::said(error),
    })
}
