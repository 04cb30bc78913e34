//! The records of the audit log, as they are read from the database.

use lockgate::engine::{
    call::line_mistake,
    gate::audit_log::LogEntry,
    store::{Link, Query, Sqlite},
};

use crate::console::CommandError;

/// What a record says.
pub(in crate::commands) fn entry_of(link: &Link) -> Result<LogEntry, CommandError> {
    serde_json::from_str(&link.entry).map_err(|error| {
        let (n, mistake) = (link.n, line_mistake(&error));
        let text = format!("record {n} of the audit log cannot be read ({mistake}); see `audit verify`");
        CommandError::Said(text)
    })
}

/// The records that a query asks for.
pub(in crate::commands) fn links(
    store: &Sqlite,
    query: Query,
) -> impl Iterator<Item = Result<Link, CommandError>> + use<'_> {
    store.audit_log(query).map(|link| link.map_err(CommandError::said))
}
