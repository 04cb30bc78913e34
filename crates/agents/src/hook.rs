//! The hook door: coding agents start a process for every event, and do what it answers.
//!
//! `lockgate hook AGENT` reads one event on stdin. The agent's own file reads it and writes the answer, `decision` asks
//! the gate, `answering` does everything around that, `process` is the process around both with `responder` for its one answer: whatever fails on the way, the
//! agent is made to block. `session` keeps a session under the policy it began with, `protection` lists what an agent must
//! leave alone, `team` asks a team server as well. `in_process` is the door without the process.

mod answering;
mod decision;
mod forgetting;
mod gate;
mod in_process;
mod process;
mod protection;
mod responder;
mod session;
mod session_folder;
mod team;

pub(crate) use self::{
    answering::{Occasion, Surroundings},
    decision::call_of,
    gate::{build_gate, not_in_force, policy_of},
    process::{read_event, respond},
    responder::Responder,
    session::{began_in, in_folder},
    session_folder::gone,
};
pub use self::{
    forgetting::{FORGET_BATCH, forgotten, operator},
    gate::{SETTINGS_PLACE, bound, in_short, user_part},
    in_process::HookDoor,
    process::{Connect, refuse, run},
    protection::{of as protection_of, of_files as protection_of_files, pins_folder},
    session::{accept_database, check_database, folder_of_session, other_database, remember, under},
    team::{TeamReview, TeamServer, TeamVerdict},
};
