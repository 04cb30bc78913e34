//! OpenCode: the plain form, spoken by our plugin `assets/opencode-plugin.js`, which throws to block.

use super::{Asking, Dialect, Event, Misread, Reply, Said, Told, plain};

/// OpenCode, by way of our plugin.
pub(crate) struct OpenCode;

impl Dialect for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
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
