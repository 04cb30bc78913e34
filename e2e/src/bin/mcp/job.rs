//! What every test needs, and the stage it is played on.

use std::path::Path;

use crate::{peers::Peers, stage::Stage};

/// What came of a test; otherwise why it failed.
pub(crate) type Outcome = Result<(), String>;

/// What every test needs.
pub(crate) struct Job<'a> {
    pub(crate) peers: &'a Peers,
    pub(crate) lockgate: &'a Path,
    /// This program, which can be a tap.
    pub(crate) this_program: String,
}

impl Job<'_> {
    /// Plays something on a stage of its own, which stays behind only where it failed.
    pub(crate) fn on_stage(&self, play: impl FnOnce(&Stage) -> Outcome) -> Outcome {
        let stage = Stage::set_up(self.peers.programs())?;
        let outcome = play(&stage);
        match &outcome {
            Ok(()) => stage.clear(),
            Err(_) => {
                stage.end_all();
            }
        }
        outcome.map_err(|error| format!("{error}\nits folder: {}", stage.root().display()))
    }
}
