//! What the guardian does for commands of the users whose agents it guards.
//!
//! Such a command runs as the user whose agents could have started it, so it can only look, narrow, or show the passphrase.

use std::path::Path;

use lockgate::engine::call::visible;
use lockgate_agents::{
    Environment,
    guardian::{Desk, Errand, GuardedLine, Peer, WardState},
    human_key::{self, Attempts, HumanKeyError, HumanSetup, SealedKey},
    now,
    settings::{self, Approvals, Settings},
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{guarded_lines, guarded_proxy};
use crate::{
    commands::{
        halt,
        questions::{Named, keep_all, named, open_questions},
    },
    console::{CommandError, Console},
    human::{Opening, Proof, log},
    serve::Clock,
    session_index::SessionIndex,
};

/// The longest passphrase, and the longest text of any other kind, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// The most questions that one answer is for.
const QUESTIONS_MAX: usize = 1000;

/// The desk of `lockgate serve --guardian`.
pub(super) struct GuardianDesk {
    /// What time it is for lines of the line protocol.
    pub(super) clock: Clock,
}

impl Desk for GuardianDesk {
    fn serve(&self, ward: &WardState, _: Peer, errand: Errand) -> Result<Value, String> {
        let environment = ward.environment();
        let settings = settings::find(Path::new("/"), environment).map_err(|error| error.to_string())?;
        let backend = ward.backend(&settings)?;
        let index = SessionIndex::of_ward(backend, environment);
        let served = match errand {
            Errand::Ping => Ok(Value::Null),
            Errand::Pending => pending(&index),
            Errand::Answer { questions, granted, by, passphrase } => {
                let passphrase = passphrase.map(|typed| Zeroizing::new(typed.into_bytes()));
                let texts = questions.iter().chain([&by]);
                if questions.len() > QUESTIONS_MAX || texts.into_iter().any(|it| it.len() > TEXT_BYTES_MAX) {
                    return Err("the answer is too long".to_owned());
                }
                answer(&index, &settings, environment, (&questions, granted, &by), passphrase.as_ref())
            }
            Errand::Halt { session, reason } => {
                let reason: String = reason.chars().take(TEXT_BYTES_MAX).collect();
                halt::switch(&index, session.as_deref(), Some(&reason)).map(|()| json!({ "halted": session }))
            }
        };
        served.map_err(|error| error.to_string())
    }

    fn line(&self, line: &GuardedLine<'_>) -> Result<String, String> {
        match guarded_proxy::answer(line) {
            Some(answer) => answer.map_err(|error| error.to_string()),
            None => guarded_lines::answer(line, self.clock).map_err(|error| error.to_string()),
        }
    }
}

fn pending(index: &SessionIndex) -> Result<Value, CommandError> {
    let open = open_questions(index, now(), &mut silent(&mut Vec::new(), &mut Vec::new()))?;
    Ok(json!({ "questions": open.questions, "is_whole": open.is_whole }))
}

fn answer(
    index: &SessionIndex,
    settings: &Settings,
    environment: &Environment,
    (questions, granted, by): (&[String], bool, &str),
    passphrase: Option<&Zeroizing<Vec<u8>>>,
) -> Result<Value, CommandError> {
    let names: Vec<Named> = named(questions, index)?;
    let proof = match granted {
        // A no only narrows.
        false => Proof::Unprotected,
        true => proved(index, settings, environment, passphrase)?,
    };
    let taken = keep_all(index, &names, (granted, by), &proof)?;
    Ok(json!({ "answers": taken }))
}

/// The key that the passphrase unlocks. Settings that want no proof mean the user's own; here an agent could be that user.
fn proved(
    index: &SessionIndex,
    settings: &Settings,
    environment: &Environment,
    passphrase: Option<&Zeroizing<Vec<u8>>>,
) -> Result<Proof, CommandError> {
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::Said(format!(
            "the guardian takes a yes from root (`sudo lockgate approve`) or with your passphrase: {why}; nothing was done"
        ))
    };
    let opening = Opening { command: "approve", deed: "", shown: "", state: &settings.state };
    let noted = |act: &str, count: &str| {
        let about = [("command", "approve"), ("attempts", count)];
        log(&opening, act, &about, environment).map_err(CommandError::said)
    };
    let Some(passphrase) = passphrase.filter(|typed| typed.len() <= TEXT_BYTES_MAX) else {
        noted("refused-command", "0")?;
        return Err(refused(&"none was typed"));
    };
    let recorded = index.backend().human_key().map_err(CommandError::said)?;
    let setup = human_key::look(Approvals::Protected, environment, recorded);
    let sealed = SealedKey::read(environment).map_err(CommandError::said)?;
    let (HumanSetup::Known(_) | HumanSetup::New(_), Some(sealed)) = (&setup, sealed) else {
        let told = match setup {
            HumanSetup::Missing => "none is set; run `sudo lockgate passphrase set`".to_owned(),
            setup => setup.to_string(),
        };
        return Err(refused(&told));
    };
    let attempts = Attempts::of(environment).ok_or(HumanKeyError::NoHome).map_err(CommandError::said)?;
    // Counted before it is tried: a process that ends in between has used it up.
    let count = attempts.begin(now()).map_err(|error| refused(&error))?;
    match sealed.unlock(passphrase) {
        Ok(key) => {
            attempts.succeeded().map_err(CommandError::said)?;
            if let HumanSetup::New(public) = setup {
                human_key::record(index.backend(), public, "first used").map_err(CommandError::said)?;
            }
            Ok(Proof::Key(Box::new(key)))
        }
        Err(HumanKeyError::WrongPassphrase) => {
            noted("wrong-passphrase", &count.to_string())?;
            Err(refused(&"that is not the passphrase"))
        }
        Err(error) => Err(CommandError::said(visible(&error.to_string()))),
    }
}

fn silent<'a>(out: &'a mut Vec<u8>, err: &'a mut Vec<u8>) -> Console<'a> {
    Console { out, err }
}
