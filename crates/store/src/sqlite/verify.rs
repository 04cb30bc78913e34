//! What was done to the audit log and the state behind our back.
//!
//! [`Sqlite::verify_trail`] walks the whole chain as it stands at one moment and tells every problem with the number
//! of its record; `verify_state.rs` does the same with the rows of the state. It finds what was changed, left out, put in, reordered or cut off without the
//! key. A program with the key can write a new chain, and an old copy of all files can be brought back: that is found
//! only with an [`Anchor`] that was noted elsewhere. It never mends anything.

use lockgate_gate::StoreError;
use rusqlite::{Connection, OptionalExtension};

use super::{
    backend::Sqlite,
    columns::{bytes, fixed, number},
    log,
    rows::stored_answer,
    schema,
    state::Signer,
    verify_state::verify_state,
};
use crate::{
    audit::{
        Anchor, AnswerWalk, CHECKPOINT_EVERY, Checkpoint, Hash, Head, PROBLEMS_MAX, ProblemKind, Progress,
        Verified, Walk, entry_key, to_hex,
    },
    error::Fault,
};

impl Sqlite {
    /// Walks the chain as it stands now, while others go on writing. With an anchor it also tells whether that
    /// record is in it. Every thousand records it says how far it has come.
    ///
    /// # Errors
    /// When the database cannot be read to the end: then nothing was verified.
    pub fn verify_trail(
        &self,
        expected: Option<Anchor>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Verified, StoreError> {
        // A connection of its own, so that one moment can be held on to however long it takes.
        let connection = self.connect()?;
        let mut walk = || {
            connection.execute_batch("BEGIN")?;
            verify(&connection, &self.signer, expected, progress)
        };
        walk().map_err(|fault| self.told(fault))
    }
}

fn verify(
    connection: &Connection,
    signer: &Signer,
    expected: Option<Anchor>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Verified, Fault> {
    let mut verified = Verified::default();
    let public_key = &signer.public_key();
    let stored = log::stored_head(connection)?;
    let has_foreign_schema = !check_schema(connection, &mut verified)?;
    let head = stored.head.clone();
    let is_signed = head.is_signed_by(public_key);
    if !is_signed {
        let sentence =
            "the head of the chain was not signed by the key beside the database: one of them was exchanged";
        verified.add(head.n, ProblemKind::ForgedHead, sentence);
    }
    let state = match signer.trusted(stored) {
        Ok(state) => Some(state),
        Err(_) => {
            if is_signed {
                let sentence =
                    "the row of the signed head was changed: what it says about the state is not known";
                verified.add(head.n, ProblemKind::ForgedHead, sentence);
            }
            None
        }
    };
    match verify_state(connection, signer, state.as_ref(), &mut verified) {
        // Where tables are not ours that is what is wrong, and the chain is looked at all the same.
        Err(Fault::Sql(error)) if has_foreign_schema => {
            let sentence = format!("the rows of the state cannot be read: {error}");
            verified.add(None, ProblemKind::ForeignSchema, sentence);
        }
        done => done?,
    }
    let checkpoints = checkpoints(connection, public_key, &head, &mut verified)?;
    let before = log::hash_before_first(connection, &head)?;
    let mut walk = Walk::new(verified, head.pruned + 1, before, expected);
    walk.see(head.pruned, before);
    let mut checkpoints = checkpoints.into_iter().filter(|(n, _)| *n > head.pruned).peekable();
    let mut statement =
        connection.prepare("SELECT n, prev, hash, entry, at, session FROM trail ORDER BY n")?;
    let mut rows = statement.query([])?;
    let mut answers = AnswerWalk::default();
    while let Some(row) = rows.next()? {
        let n: i64 = row.get(0)?;
        let Ok(n) = u64::try_from(n) else {
            walk.verified.add(
                None,
                ProblemKind::OutOfOrder,
                format!("there is a record {n} before the first"),
            );
            continue;
        };
        walk.step(n, bytes(row, 1), bytes(row, 2), bytes(row, 3));
        answers.step(n, bytes(row, 3), &mut walk.verified);
        check_label(
            n,
            bytes(row, 3),
            row.get(4)?,
            row.get_ref(5)?.as_bytes_or_null().unwrap_or(Some(b"")),
            &mut walk.verified,
        );
        while let Some((at, hash)) = checkpoints.next_if(|(at, _)| *at <= n) {
            if at == n && fixed::<32>(row, 2) != Some(hash) {
                let sentence = format!("record {n} is not the one that was signed as a checkpoint");
                walk.verified.add(n, ProblemKind::BadCheckpoint, sentence);
            }
        }
        if walk.verified.records.is_multiple_of(CHECKPOINT_EVERY) {
            progress(Progress { done: walk.verified.records, of: head.n - head.pruned });
        }
    }
    if head.pruned == 0 {
        check_answers(connection, &answers, &mut walk.verified)?;
    }
    Ok(walk.end(Some(head)))
}

/// Whether every stored yes is one that the human signed, where one is set up. Of a pruned log it cannot be told.
fn check_answers(
    connection: &Connection,
    answers: &AnswerWalk,
    verified: &mut Verified,
) -> Result<(), Fault> {
    let key = connection.query_row("SELECT key FROM human WHERE one = 1", [], |row| Ok(fixed::<32>(row, 0)));
    let key = key.optional()?.flatten().map(|key| to_hex(&key));
    answers.compare_key(key.as_deref(), verified);
    let Some(key) = key else { return Ok(()) };
    let mut statement = connection
        .prepare("SELECT granted, by, at, proof, session, number FROM answer ORDER BY session, number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let approval = format!("a{}@{}", number(row, 5)?, row.get::<_, String>(4)?);
        let proof: String = row.get(3)?;
        let answer = stored_answer(row.get(0)?, row.get(1)?, row.get(2)?, &proof);
        answers.compare(&approval, &answer, &key, verified);
    }
    Ok(())
}

/// What records are found by must be what their entries say, or a listing would leave some out.
fn check_label(n: u64, entry: &[u8], at: i64, session: Option<&[u8]>, verified: &mut Verified) {
    let key = std::str::from_utf8(entry).ok().and_then(|entry| entry_key(entry).ok());
    let agrees = key.is_some_and(|key| {
        key.at as i64 == at && key.session.as_ref().map(|session| session.as_bytes()) == session
    });
    if !agrees {
        let sentence = format!("record {n} is filed under another moment or session than its entry names");
        verified.add(n, ProblemKind::Mislabelled, sentence);
    }
}

/// The checkpoints that are as they should be; the others are told.
fn checkpoints(
    connection: &Connection,
    public_key: &[u8; 32],
    head: &Head,
    verified: &mut Verified,
) -> Result<Vec<(u64, Hash)>, Fault> {
    let mut statement = connection.prepare("SELECT n, hash, at, signature FROM checkpoint ORDER BY n")?;
    let mut rows = statement.query([])?;
    let mut good = Vec::new();
    while let Some(row) = rows.next()? {
        let n = number(row, 0)?;
        let at = lockgate_gate::Time(number(row, 2)?);
        let is_genuine = |hash: Hash| {
            let signature = fixed(row, 3)?;
            let checkpoint = Checkpoint { n, hash, at, signature };
            checkpoint.is_signed_by(public_key, &head.database).then_some((n, hash))
        };
        match fixed(row, 1).and_then(is_genuine).filter(|_| n <= head.n) {
            Some(checkpoint) => good.push(checkpoint),
            None => {
                let sentence =
                    format!("the checkpoint at record {n} was not signed by the key beside the database");
                verified.add(n, ProblemKind::BadCheckpoint, sentence);
            }
        }
    }
    let pruned = Some(head.pruned).filter(|pruned| *pruned > 0);
    let first_due = (head.pruned / CHECKPOINT_EVERY + 1).saturating_mul(CHECKPOINT_EVERY);
    let due = (first_due..=head.n).step_by(CHECKPOINT_EVERY as usize);
    let mut found = good.iter().map(|(n, _)| *n).peekable();
    // A forged head may name any number: what is due is no longer counted once enough is missing.
    let mut missing = 0;
    for n in pruned.into_iter().chain(due) {
        while found.next_if(|found| *found < n).is_some() {}
        if found.peek() != Some(&n) {
            verified.add(n, ProblemKind::BadCheckpoint, format!("the checkpoint at record {n} is missing"));
            missing += 1;
        }
        if missing > PROBLEMS_MAX {
            break;
        }
    }
    Ok(good)
}

/// Whether the tables are ours: a view in a table's place could show a log that is not there.
fn check_schema(connection: &Connection, verified: &mut Verified) -> Result<bool, Fault> {
    let is_ours = schema::objects(connection)? == schema::expected()?;
    if !is_ours {
        let sentence = "the tables of the database are not those that Lockgate made";
        verified.add(None, ProblemKind::ForeignSchema, sentence);
    }
    Ok(is_ours)
}
