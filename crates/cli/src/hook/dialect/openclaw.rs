//! OpenClaw: the plain form, spoken by our plugin `assets/openclaw-plugin`. The host asks people itself.

use std::time::Duration;

use super::{Asking, Dialect, Event, Misread, Reply, Said, Told, plain};
use crate::install::OPENCLAW_LIMIT;

/// OpenClaw, by way of our plugin.
pub(crate) struct OpenClaw;

impl Dialect for OpenClaw {
    fn name(&self) -> &'static str {
        "openclaw"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Host
    }

    fn waits_for(&self, _: &Told) -> Duration {
        OPENCLAW_LIMIT
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        plain::decode(event)
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        plain::encode(event, said, true)
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        plain::fault(event, line)
    }
}
