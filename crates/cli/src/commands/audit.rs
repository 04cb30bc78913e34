//! `lockgate audit`: what the trail says, for people and programs; and whether it is whole.
//!
//! One file for each thing that is done with it: `list` (and follow), `export`, `verify`, `prune`. `select` says which
//! entries are meant, `line` how one is shown. What an entry means is the gate's, how entries are chained the store's.

mod export;
mod line;
mod list;
mod prune;
mod select;
mod verify;

use lockgate::{
    call::line_mistake,
    gate::trail::Entry,
    store::{Link, Query, Sqlite},
};

pub(super) use self::{
    line::{call_text, rule_text},
    select::Name,
};
use crate::{
    args::{AuditArguments, AuditCommand},
    console::{CommandError, Console, Ending},
};

pub(crate) fn run(
    arguments: &AuditArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match (&arguments.command, &arguments.list.export) {
        (Some(AuditCommand::Verify(arguments)), _) => verify::run(arguments, json, console),
        (Some(AuditCommand::Prune(arguments)), _) => prune::run(arguments, json, console),
        (None, Some(file)) => export::run(&arguments.list, file, console),
        (None, None) => list::run(&arguments.list, json, console),
    }
}

/// What a record says.
pub(super) fn entry_of(link: &Link) -> Result<Entry, CommandError> {
    serde_json::from_str(&link.entry).map_err(|error| {
        let (n, mistake) = (link.n, line_mistake(&error));
        let text = format!("record {n} of the audit trail cannot be read ({mistake}); see `audit verify`");
        CommandError::Said(text)
    })
}

/// The records that a query asks for.
pub(super) fn links(
    store: &Sqlite,
    query: Query,
) -> impl Iterator<Item = Result<Link, CommandError>> + use<'_> {
    store.trail(query).map(|link| link.map_err(CommandError::said))
}
