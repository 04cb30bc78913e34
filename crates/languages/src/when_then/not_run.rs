//! Settings that files of this language may carry for other programs, and that Lockgate does not run.
//!
//! Each has its own sentence: an author who relied on it has to learn what to do instead, and must not be left to
//! think that it works.

use lockgate_policy::Diagnostic;

/// The key, and what to do instead.
const NOT_RUN: [(&str, &str); 34] = [
    ("alerts", "watch the audit log, which has every verdict with its rule"),
    ("api_token", "set tokens where the gate is started: a policy is not a place for secrets"),
    ("approval", "say how humans are asked where the gate is started"),
    ("approvals", "say how humans are asked where the gate is started"),
    ("budget", "limit calls with `rate_limits`, or with `limit TOOL to N per session` in a `.rules` file"),
    ("canary", "write `mode: observe` into new rules, and take it out once the audit log looks right"),
    ("circuit_breaker", "leave it out: a gate that cannot decide blocks"),
    ("compliance", "write the rules out, or include the file that has them"),
    ("cost", "limit calls with `rate_limits`: what a call costs is not known here"),
    ("dashboard", "leave it out: a policy opens no ports"),
    ("engine", "leave it out: how the gate runs is said where it is started"),
    ("fail_mode", "leave it out: a gate that fails blocks, always"),
    ("fail_open", "leave it out: a gate that fails blocks, always"),
    ("idempotency", "leave it out: a call id that is used twice is blocked"),
    ("kill_switch", "halt sessions through the gate: a policy is not the place for it"),
    ("llm_guard", "write rules for what must not happen: no model is asked about a call"),
    ("logging", "say where logs go where the gate is started"),
    ("metrics", "read the numbers from the audit log"),
    ("notifications", "watch the audit log, which has every question and answer"),
    ("otel", "say where telemetry goes where the gate is started"),
    ("pii", "leave it out: rules with `then: redact` look for sensitive data; add kinds with `pii_patterns`"),
    ("plugins", "write rules instead: no foreign code runs inside the gate"),
    (
        "remote_rules",
        "fetch the file yourself and name it in the policy: rules are never loaded over the network",
    ),
    ("server", "leave it out: a policy opens no ports"),
    ("shadow", "write `mode: observe` into the rules that shall only record"),
    ("shadow_rules", "put them under `rules` with `mode: observe`"),
    ("slack", "say how humans are asked where the gate is started"),
    ("telegram", "say how humans are asked where the gate is started"),
    ("telemetry", "say where telemetry goes where the gate is started"),
    ("tests", "keep tests in a file of their own"),
    ("trace", "leave it out: every verdict is in the audit log"),
    ("watch", "reload the policy through the gate: files are not watched"),
    ("webhook", "watch the audit log: a verdict never waits for another server"),
    ("webhooks", "watch the audit log: a verdict never waits for another server"),
];

/// Turns the report of an unknown key into one that tells why it is not run, if it is one of these.
pub(super) fn explain(diagnostic: &mut Diagnostic) {
    let written = diagnostic.source.slice(diagnostic.span).trim_matches(['"', '\'']);
    let Some((key, instead)) = NOT_RUN.iter().find(|(key, _)| *key == written) else {
        return;
    };
    if diagnostic.code == "unknown-key" {
        diagnostic.code = "not-run";
        diagnostic.message = format!("`{key}` is nothing that Lockgate runs");
        diagnostic.remedy = Some((*instead).to_owned());
    }
}
