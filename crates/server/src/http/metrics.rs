//! What is counted, as Prometheus reads it. No session, tool, input or person is a label.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

type Labels = Vec<(&'static str, String)>;

/// The counters of a server.
pub(super) struct Metrics {
    registry: Registry,
    decisions: Family<Labels, Counter>,
    requests: Family<Labels, Counter>,
    questions: Gauge<u64, AtomicU64>,
}

impl Metrics {
    /// Counters that stand at zero.
    pub(super) fn new(policy: &str) -> Self {
        let mut registry = Registry::with_prefix("lockgate");
        let (decisions, requests) = (Family::default(), Family::default());
        let questions = Gauge::default();
        registry.register("decisions", "Verdicts given", decisions.clone());
        registry.register("requests", "Requests by route and status", requests.clone());
        registry.register("questions_open", "Questions that wait for a human", questions.clone());
        let about = Info::new(vec![("hash", policy.to_owned())]);
        registry.register("policy", "The policy in force", about);
        Self { registry, decisions, requests, questions }
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

    /// All of them as text.
    pub(super) fn text(&self, questions: u64) -> String {
        self.questions.set(questions);
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
