//! The dashboard: pages for people, rendered here.
//!
//! Each page is a handler as the routes of the API are, and uses what they use; it decides nothing of its own. `layout.rs` is
//! around every page, `parts.rs` has what several of them show, and `assets.rs` the style and the script. Every page works without the
//! script, which only asks for a page again when something has happened, and shows the parts that differ.

mod assets;
mod audit;
mod editor;
mod field;
mod layout;
mod newest;
mod now;
mod parts;
mod policies;
mod sessions;
mod sign_in;

pub(super) use self::{
    assets::{icon, script, style},
    audit::{audit, export, verify},
    editor::check,
    field::field,
    layout::problem_page,
    now::{answer, halt, now, resume},
    policies::policies,
    sessions::{session, sessions},
    sign_in::{front, sign_in, sign_out},
};
