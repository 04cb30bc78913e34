//! The hook door without a process around it: events of a host in, what the process would print out.
//!
//! [`HookDoor`] reads, asks and writes with the very code of `lockgate hook`, so that the pages of `spec/` can be
//! played through it with a clock and a shelf of their own. What belongs to the process is missing on purpose:
//! settings, the folder of a session, the watchdog and the answer to a panic.

use std::time::{Duration, Instant};

use lockgate::{Gate, Time, gate::Shelf};
use serde_json::{Map, Value};

use super::{
    desk::Desk,
    dialect::{self, Reply},
    run::asking,
};
use crate::settings::Ask;

/// Where events of one host are answered.
pub struct HookDoor<'a> {
    /// The host, by its name on the command line.
    pub host: &'a str,
    /// Who decides.
    pub gate: &'a Gate,
    /// Where the gate's sessions rest, and the answers of humans.
    pub shelf: &'a dyn Shelf,
    /// How humans are asked.
    pub asks: HookAsks,
    /// How long a hook waits for them.
    pub patience: Duration,
    /// What time it is.
    pub clock: &'a dyn Fn() -> Time,
}

/// How a hook asks humans: the setting `ask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAsks {
    /// By the host, where it can.
    Host,
    /// By `lockgate approve`, for which the hook waits.
    Wait,
    /// By ending the host's run, where it can go on later.
    Defer,
    /// Not at all.
    Nobody,
}

/// What a hook prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookReply {
    /// What the host reads.
    pub stdout: String,
    /// What people read, and some hosts.
    pub stderr: String,
    /// How the process ends.
    pub code: u8,
}

impl HookDoor<'_> {
    /// Answers an event; none where no host has this name.
    pub fn answer(&self, event: &Map<String, Value>) -> Option<HookReply> {
        let dialect = dialect::named(self.host)?;
        let ask = match self.asks {
            HookAsks::Host => Ask::Host,
            HookAsks::Wait => Ask::Wait,
            HookAsks::Defer => Ask::Defer,
            HookAsks::Nobody => Ask::Block,
        };
        let desk = Desk {
            gate: self.gate,
            shelf: self.shelf,
            host: dialect.host(event),
            asking: asking(ask, dialect, event),
            folder: None,
            deadline: Instant::now() + self.patience,
            clock: self.clock,
        };
        let said = dialect.decode(event).map_err(|error| error.to_string());
        let said = said.and_then(|told| desk.answer(told).map_err(|error| error.to_string()));
        let Reply { stdout, stderr, code } = match said {
            Ok(said) => dialect.encode(event, &said),
            Err(line) => dialect.fault(Some(event), &line),
        };
        Some(HookReply { stdout, stderr, code })
    }
}
