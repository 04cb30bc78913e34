//! The records of the audit log, as they are read from the database.

use lockgate::{
    call::line_mistake,
    gate::trail::Entry,
    store::{Link, Query, Sqlite},
};

use crate::console::CommandError;

/// What a record says.
pub(in crate::commands) fn entry_of(link: &Link) -> Result<Entry, CommandError> {
    serde_json::from_str(&link.entry).map_err(|error| {
        let (n, mistake) = (link.n, line_mistake(&error));
        let text = format!("record {n} of the audit trail cannot be read ({mistake}); see `audit verify`");
        CommandError::Said(text)
    })
}

/// The records that a query asks for.
pub(in crate::commands) fn links(
    store: &Sqlite,
    query: Query,
) -> impl Iterator<Item = Result<Link, CommandError>> + use<'_> {
    store.trail(query).map(|link| link.map_err(CommandError::said))
}
