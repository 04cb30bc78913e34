//! The private module of the Python package: the public API of `lockgate`, translated.
//!
//! Nothing is decided here. Each class holds the Rust value of the same name; inputs and outputs cross the border as plain
//! JSON values (`convert`). The lock of the interpreter is released around everything that may wait for a session, because
//! callbacks take it while the session is locked (`callbacks`).

mod callbacks;
mod convert;
mod error;
mod gate;
mod policy;
mod ruling;
mod session;

/// The module as Python sees it.
#[pyo3::pymodule(gil_used = false)]
mod _lockgate {
    #[pymodule_export]
    use crate::{
        gate::{Gate, ManualClock},
        policy::{Policy, read_data},
        ruling::{Output, Permit, Question, Refusal},
        session::Session,
    };
}
