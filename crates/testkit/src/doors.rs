//! The ways into a gate that the pages of `spec/` are played through.
//!
//! [`LibraryDoor`] calls the library and writes the protocol itself, [`LinesDoor`] speaks to the server of the
//! line protocol in this process, [`ProcessDoor`] to a `lockgate gate` of its own, [`EventsDoor`] to the hook of a
//! coding agent, [`McpDoor`] to the MCP proxy, [`HttpDoor`] to the team server, [`GuardianDoor`] to the guardian. They share the pages and nothing that decides, so a mistake of one shows
//! beside the others. None of them retries.

mod events;
mod guardian;
mod http;
mod library;
mod lines;
mod mcp;
mod pipes;
mod process;
mod told;

use std::{fmt, path::Path};

pub use events::{EventsDoor, Host};
pub use guardian::GuardianDoor;
pub use http::{HttpDoor, make_team_token};
pub use library::LibraryDoor;
pub use lines::LinesDoor;
pub use mcp::McpDoor;
pub use process::ProcessDoor;
pub use told::Tally;

use crate::{Door, play, read_pages};

/// How much was played without a difference.
#[derive(Clone, Copy, Debug)]
pub struct PlayedPages {
    /// The pages.
    pub pages: usize,
    /// Their rows.
    pub rows: usize,
}

impl fmt::Display for PlayedPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pages, {} rows", self.pages, self.rows)
    }
}

/// Plays every page of a folder through a door.
///
/// # Errors
/// Every mistake of a page and every row that the door answers differently, one a line.
pub fn play_pages(folder: &Path, door: &mut dyn Door) -> Result<PlayedPages, String> {
    play_pages_but(folder, door, "")
}

/// The same for a door of another language, which cannot say everything. `differences` has a line for each row that it
/// answers differently, as the failure is told but without the number of the line, below comments with the reasons.
///
/// # Errors
/// As [`play_pages`], for all other rows; and every difference that there is not.
pub fn play_pages_but(folder: &Path, door: &mut dyn Door, differences: &str) -> Result<PlayedPages, String> {
    let pages = read_pages(folder).map_err(|mistakes| one_a_line(&mistakes))?;
    let (mut rows, mut failures) = (0, Vec::new());
    for page in &pages {
        let played = play(page, door);
        rows += played.rows;
        failures.extend(played.failures);
    }
    if rows == 0 {
        return Err(format!("no page in `{}` has a row", folder.display()));
    }
    let mut failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    for known in differences.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match failures.iter().position(|failure| without_line_number(failure) == known) {
            Some(place) => {
                failures.remove(place);
                rows -= 1;
            }
            None => failures.push(format!("not a difference any more: {known}")),
        }
    }
    if failures.is_empty() {
        Ok(PlayedPages { pages: pages.len(), rows })
    } else {
        Err(one_a_line(&failures))
    }
}

/// `page.md:12: text` as `page.md: text`.
fn without_line_number(failure: &str) -> String {
    let mut parts = failure.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(page), Some(_), Some(text)) => format!("{page}:{text}"),
        _ => failure.to_owned(),
    }
}

fn one_a_line(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
