//! Any other host: the plain form, documented in `docs/hooks.md`. Questions wait in the hook.

use super::{Asking, Dialect, Event, Misread, Reply, Said, Told, plain};

/// A host without a dialect of its own.
pub(crate) struct Generic;

impl Dialect for Generic {
    fn name(&self) -> &'static str {
        "generic"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Wait
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        plain::decode(event)
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        plain::encode(event, said, false)
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        plain::fault(event, line)
    }
}
