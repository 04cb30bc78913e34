//! Sessions, answers and the audit log in a store that many gates share.
//!
//! One head for the whole audit log would make every decision wait for the one before it. So each session has a chain of its
//! own, a [strand](engine::StrandRow): its head is in the session's row, which the decision writes anyway, under the
//! row's MAC. About every second the heads that changed are joined by a signed [`Seal`], a Merkle tree over them that names the seal
//! before it. A [`StrandStore`] is a [`Backend`](lockgate_gate::Backend) over any [`Engine`](engine::Engine) that can compare and set
//! a row; engines know rows and nothing else.
//!
//! A session row is never deleted: a session that is forgotten loses its bytes and keeps its strand. What a program with write
//! access to the database, but without the key, can do unnoticed by the gate: bring back an older row of a session. `verify`
//! finds that as soon as a seal lies in between.
//!
//! Reading order: `engine.rs`, `backend.rs`, `sealing.rs`, `merkle.rs`, `verify.rs`.

mod backend;
mod columns;
mod engine;
mod forget;
mod merkle;
mod sealing;
mod verify;

pub use backend::StrandStore;
pub(crate) use engine::{
    AnswerRow, AnswerWrite, Engine, EngineError, ForgottenRow, MakeSeal, Record, RowLock, Rows, SharedRow,
    StrandRow, Write,
};
pub use engine::{Position, StrandRecord};
pub use sealing::Seal;
pub(crate) use sealing::SealedHead;
pub use verify::VerifiedStrands;
