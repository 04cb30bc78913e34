//! Sessions, answers and the audit log in a store that many gates share.
//!
//! One head for the whole audit log would make every decision wait for the one before it. So each session has a chain of its
//! own, a [strand](engine::StrandRow): its head is in the session's row, which the decision writes anyway, under the
//! row's MAC. About every second the heads that changed are joined by a signed [`Seal`], a Merkle tree over them that names the seal
//! before it. A [`StrandStore`] is a [`Backend`](lockgate_gate::Backend) over any [`Engine`](engine::Engine) that can compare and set
//! a row; engines know rows and nothing else.
//!
//! A session row is never deleted: a session that is forgotten loses its bytes and keeps its strand. The row of the shared state is
//! made with the tables. Each session row says how new the shared state, the seals and its answers were when it was written, so
//! bringing one of them back means bringing back all sessions written since. What a program with write access to the
//! database, but without the key, can still do unnoticed by the gate: bring back an older row of a session. `verify` finds that as
//! soon as a seal lies in between.
//!
//! //! Reading order: `engine.rs`, `backend.rs`, `answers.rs`, `known.rs`, `sealing.rs`, `merkle.rs`, `verify.rs`.

mod answers;
mod backend;
mod columns;
mod engine;
mod forget;
mod founding;
mod human;
mod known;
mod merkle;
mod pool;
mod reading;
mod sealing;
mod verify;

pub use backend::StrandStore;
pub(crate) use engine::{
    AnswerRow, AnswerWrite, Engine, EngineError, ForgottenRow, MakeSeal, Record, RowLock, Rows, SharedRow,
    StrandRow, ToSeal, Write,
};
pub use engine::{Position, StrandRecord};
pub(crate) use founding::{Founded, Ground, StoreUrl, settle, unavailable};
pub(crate) use pool::{Lent, Pool};
pub use reading::SharedLinks;
pub use sealing::Seal;
pub(crate) use sealing::SealedHead;
pub use verify::VerifiedStrands;
