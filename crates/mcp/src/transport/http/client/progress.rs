//! How far a stream has come that may be opened several times.

use std::time::Duration;

use tokio::time::sleep;

use crate::transport::http::sse::Reader;

/// How often in a row a stream is opened again without anything coming of it.
pub(crate) const ATTEMPTS_MAX: u32 = 5;

/// How long to wait before a stream is opened again, where the server does not say; longer with each attempt.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The longest wait before a stream is opened again, whatever the server says.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// How far a stream has come that may be opened several times.
#[derive(Default)]
pub(super) struct StreamProgress {
    pub(super) last_id: Option<String>,
    retry: Option<Duration>,
    /// Something came since it was opened last.
    pub(super) advanced: bool,
    attempts: u32,
}

impl StreamProgress {
    pub(super) fn note(&mut self, reader: &Reader) {
        if let Some(id) = reader.last_id() {
            self.advanced |= self.last_id.as_deref() != Some(id);
            self.last_id = Some(id.to_owned());
        }
        self.retry = reader.retry().or(self.retry);
    }

    /// Waits until the stream may be opened again; false when that was tried often enough.
    pub(super) async fn wait(&mut self) -> bool {
        if std::mem::take(&mut self.advanced) {
            self.attempts = 0;
        }
        self.attempts += 1;
        if self.attempts > ATTEMPTS_MAX {
            return false;
        }
        let pause = self.retry.unwrap_or(RETRY_PAUSE * self.attempts);
        // Even a server that wants no wait at all gets one: otherwise it could keep us busy for nothing.
        sleep(pause.clamp(RETRY_PAUSE / 10, RETRY_PAUSE_MAX)).await;
        true
    }
}
