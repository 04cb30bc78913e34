//! What the proxy says on stderr.

use std::io::{self, Write};

/// Says something to the user of the proxy; stdout is the client's.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "lockgate: {line}");
}
