//! What is counted, as Prometheus reads it. No session, tool, input or person is a label.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};

type Labels = Vec<(&'static str, String)>;

/// From half a millisecond, which is less than a disk needs, to the time in which a decision must be there.
fn latencies() -> Histogram {
    Histogram::new([
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ])
}

/// The counters of a server.
pub(super) struct Metrics {
    registry: Registry,
    decisions: Family<Labels, Counter>,
    requests: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
    questions: Gauge<u64, AtomicU64>,
}

impl Metrics {
    /// Counters that stand at zero.
    pub(super) fn new(policy: &str) -> Self {
        let mut registry = Registry::with_prefix("lockgate");
        let (decisions, requests) = (Family::default(), Family::default());
        let seconds: Family<Labels, Histogram, fn() -> Histogram> = Family::new_with_constructor(latencies);
        let questions = Gauge::default();
        registry.register("decisions", "Verdicts given", decisions.clone());
        registry.register("requests", "Requests by route and status", requests.clone());
        registry.register("request_seconds", "How long requests took, by route", seconds.clone());
        registry.register("questions_open", "Questions that wait for a human", questions.clone());
        let about = Info::new(vec![("hash", policy.to_owned())]);
        registry.register("policy", "The policy in force", about);
        Self { registry, decisions, requests, seconds, questions }
    }

    /// A verdict was told.
    pub(super) fn decided(&self, verdict: &'static str) {
        self.decisions.get_or_create(&vec![("verdict", verdict.to_owned())]).inc();
    }

    /// A request was answered.
    pub(super) fn answered(&self, route: &'static str, status: u16) {
        let labels = vec![("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    /// A request that waits for no human took so long.
    pub(super) fn took(&self, route: &'static str, time: Duration) {
        self.seconds.get_or_create(&vec![("route", route.to_owned())]).observe(time.as_secs_f64());
    }

    /// All of them as text.
    pub(super) fn text(&self, questions: u64) -> String {
        self.questions.set(questions);
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
