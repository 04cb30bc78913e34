//! The form of rows in Redis: hashes of named fields, and the arguments of the scripts.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{
    audit::{Hash, from_hex, to_hex},
    strands::{AnswerRow, EngineError, Position, Seal, SealedHead, SharedRow, StrandRecord, StrandRow},
};

/// A hash, or the fields of an entry of a stream.
pub(super) type Fields = HashMap<String, Vec<u8>>;

/// An entry of a stream: its id and its fields.
pub(super) type Entry = (String, Fields);

/// The arguments of a script. A list is its length and its parts.
#[derive(Default)]
pub(super) struct Arguments(pub(super) Vec<Vec<u8>>);

impl Arguments {
    pub(super) fn add(&mut self, argument: impl Into<Vec<u8>>) {
        self.0.push(argument.into());
    }

    pub(super) fn list(&mut self, parts: Vec<Vec<u8>>) {
        self.add(parts.len().to_string());
        self.0.extend(parts);
    }

    pub(super) fn lists(&mut self, lists: Vec<Vec<Vec<u8>>>) {
        self.add(lists.len().to_string());
        lists.into_iter().for_each(|list| self.list(list));
    }
}

fn damaged() -> EngineError {
    EngineError::Failed("has a row of another form: it was changed outside of Lockgate".to_owned())
}

fn number<T: std::str::FromStr>(fields: &Fields, name: &str) -> Result<T, EngineError> {
    let text = fields.get(name).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok()).ok_or_else(damaged)
}

fn fixed<const N: usize>(fields: &Fields, name: &str) -> Result<[u8; N], EngineError> {
    fields.get(name).and_then(|bytes| bytes.as_slice().try_into().ok()).ok_or_else(damaged)
}

fn bytes(fields: &Fields, name: &str) -> Result<Vec<u8>, EngineError> {
    fields.get(name).cloned().ok_or_else(damaged)
}

fn text(fields: &Fields, name: &str) -> Result<String, EngineError> {
    String::from_utf8(bytes(fields, name)?).map_err(|_| damaged())
}

fn pairs(fields: &[(&str, Vec<u8>)]) -> Vec<Vec<u8>> {
    fields.iter().flat_map(|(name, value)| [name.as_bytes().to_vec(), value.clone()]).collect()
}

fn decimal(number: impl std::fmt::Display) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// A session row as field names and values.
pub(super) fn of_row(row: &StrandRow) -> Vec<Vec<u8>> {
    let mut fields = vec![
        ("version", decimal(row.version)),
        ("clock", decimal(row.clock)),
        ("questions", decimal(row.questions)),
        ("length", decimal(row.length)),
        ("head", row.head.to_vec()),
        ("answers", decimal(row.answers)),
        ("shared", decimal(row.shared)),
        ("seals", decimal(row.seals)),
        ("token", row.token.to_vec()),
        ("seal", row.seal.clone()),
    ];
    fields.extend(row.bytes.clone().map(|bytes| ("bytes", bytes)));
    pairs(&fields)
}

/// The session row of a hash; none if there is none.
pub(super) fn strand_row(fields: &Fields) -> Result<Option<StrandRow>, EngineError> {
    if fields.is_empty() {
        return Ok(None);
    }
    Ok(Some(StrandRow {
        version: number(fields, "version")?,
        bytes: fields.get("bytes").cloned(),
        clock: number(fields, "clock")?,
        questions: number(fields, "questions")?,
        length: number(fields, "length")?,
        head: fixed(fields, "head")?,
        answers: number(fields, "answers")?,
        shared: number(fields, "shared")?,
        seals: number(fields, "seals")?,
        token: fixed(fields, "token")?,
        seal: bytes(fields, "seal")?,
    }))
}

/// The row of the shared state as field names and values.
pub(super) fn of_shared(row: &SharedRow) -> Vec<Vec<u8>> {
    let mut fields = vec![("version", decimal(row.version)), ("seal", row.seal.clone())];
    fields.extend(row.bytes.clone().map(|bytes| ("bytes", bytes)));
    fields.extend(row.human_key.clone().map(|key| ("human_key", key)));
    pairs(&fields)
}

/// The row of the shared state; none if there is none.
pub(super) fn shared_row(fields: &Fields) -> Result<Option<SharedRow>, EngineError> {
    if fields.is_empty() {
        return Ok(None);
    }
    Ok(Some(SharedRow {
        version: number(fields, "version")?,
        bytes: fields.get("bytes").cloned(),
        human_key: fields.get("human_key").cloned(),
        seal: bytes(fields, "seal")?,
    }))
}

/// An answer as one value.
pub(super) fn of_answer(row: &AnswerRow) -> Vec<u8> {
    let AnswerRow { version, granted, by, at, proof, seal } = row;
    let seal: Vec<&u8> = seal.iter().collect();
    json!([version, granted, by, at, proof, seal]).to_string().into_bytes()
}

/// The answer of a value.
pub(super) fn answer_row(value: &[u8]) -> Result<AnswerRow, EngineError> {
    let (version, granted, by, at, proof, seal) = serde_json::from_slice(value).map_err(|_| damaged())?;
    Ok(AnswerRow { version, granted, by, at, proof, seal })
}

/// The record of an entry of a strand's stream, and the session that it names.
pub(super) fn record(
    strand: &str,
    (id, fields): &Entry,
) -> Result<(StrandRecord, Option<String>), EngineError> {
    let session = fields.get("session").filter(|session| !session.is_empty());
    // The first byte tells a name that is empty from none.
    let session = session.map(|session| String::from_utf8(session.iter().skip(1).copied().collect()));
    let record = StrandRecord {
        position: position(&text(fields, "log")?)?,
        strand: strand.to_owned(),
        n: position(id)?.transaction,
        prev: fixed(fields, "prev")?,
        hash: fixed(fields, "hash")?,
        entry: text(fields, "entry")?,
    };
    Ok((record, session.transpose().map_err(|_| damaged())?))
}

/// The place that an id of a stream says.
pub(super) fn position(id: &str) -> Result<Position, EngineError> {
    let read = || {
        let (transaction, index) = id.split_once('-')?;
        Some(Position { transaction: transaction.parse().ok()?, index: index.parse().ok()? })
    };
    read().ok_or_else(damaged)
}

/// The strand and the number that an entry of the log is about.
pub(super) fn place_of(fields: &Fields) -> Result<(String, u64), EngineError> {
    Ok((text(fields, "strand")?, number(fields, "n")?))
}

/// A seal and the heads under it as field names and values.
pub(super) fn of_seal(seal: &Seal, heads: &[SealedHead]) -> Vec<Vec<u8>> {
    let Seal { at_ms, horizon, heads: count, shared_version, root, shared, previous, signature, .. } = seal;
    let list: Vec<Value> = heads
        .iter()
        .map(|SealedHead { strand, version, length, head }| json!([strand, version, length, to_hex(head)]))
        .collect();
    pairs(&[
        ("at", decimal(at_ms)),
        ("horizon", decimal(horizon)),
        ("heads", decimal(count)),
        ("shared_version", decimal(shared_version)),
        ("root", root.to_vec()),
        ("shared", shared.to_vec()),
        ("previous", previous.to_vec()),
        ("signature", signature.to_vec()),
        ("list", Value::Array(list).to_string().into_bytes()),
    ])
}

/// The seal of an entry of the seals' stream.
pub(super) fn seal((id, fields): &Entry) -> Result<Seal, EngineError> {
    Ok(Seal {
        n: position(id)?.transaction,
        at_ms: number(fields, "at")?,
        horizon: number(fields, "horizon")?,
        heads: number(fields, "heads")?,
        shared_version: number(fields, "shared_version")?,
        root: fixed(fields, "root")?,
        shared: fixed(fields, "shared")?,
        previous: fixed(fields, "previous")?,
        signature: fixed(fields, "signature")?,
    })
}

/// The heads under a seal.
pub(super) fn heads(fields: &Fields) -> Result<Vec<SealedHead>, EngineError> {
    let list: Vec<(String, u64, u64, String)> =
        serde_json::from_slice(&bytes(fields, "list")?).map_err(|_| damaged())?;
    list.into_iter()
        .map(|(strand, version, length, head)| {
            let head: Hash = from_hex(&head).ok_or_else(damaged)?;
            Ok(SealedHead { strand, version, length, head })
        })
        .collect()
}
