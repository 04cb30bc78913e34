//! Plays one case through the library and finds its first difference.
//!
//! A call that is let pass succeeds at once, and so does one that a human lets pass. There is no table of excuses in
//! here: what differs, differs.

use std::collections::HashMap;

use jiff::{Timestamp, tz::TimeZone};
use lockgate::engine::{
    ApprovalId, Call, Decision, Gate, Mode, Outcome, Policy, Severity, Source, Time, Verdict,
    gate::OutputDecision,
};
use serde_json::{Map, Value, json};

use super::{Case, Engine, Step, yaml};

/// The moment a case starts where it names none: a Wednesday.
const START: &str = "2026-03-04T12:00:00Z";

/// A difference whose case and line the caller knows.
pub(super) struct Differs {
    pub(super) step: String,
    pub(super) expected: String,
    pub(super) got: String,
}

/// Plays a case up to its first difference.
pub(super) fn play(case: &Case, steps: &mut usize) -> Result<(), Differs> {
    let as_a_whole = |expected: &str, got: String| {
        Err(Differs { step: "the policy".into(), expected: expected.into(), got })
    };
    let text = policy_text(&case.policy, &case.engine);
    let is_refused_by_promise = case.steps.iter().any(|step| step.promise() == Some("load error"));
    let policy = match (read(&text), case.expect_load_error.is_some() || is_refused_by_promise) {
        (Ok(policy), false) => policy,
        (Err(_), true) => return Ok(()),
        (Ok(_), true) => return as_a_whole("a load error", "a policy".into()),
        (Err(mistake), false) => return as_a_whole("a policy", format!("load error ({mistake})")),
    };
    let gate = match gate(policy, case) {
        Ok(gate) => gate,
        Err(why) => return as_a_whole("a gate", why),
    };
    let start_ms = match case.start.as_deref().unwrap_or(START).parse::<Timestamp>() {
        Ok(start) => start.as_millisecond(),
        Err(error) => return as_a_whole("a moment to start at", error.to_string()),
    };
    let mut player = Player {
        case,
        gate,
        start_ms,
        now: Time(u64::try_from(start_ms).unwrap_or_default()),
        calls: 0,
        questions: HashMap::new(),
        rules: rules_of(&case.policy),
    };
    for (index, step) in case.steps.iter().enumerate() {
        *steps += 1;
        player.step(index, step).map_err(|(expected, got)| {
            let name = step.op.as_deref().or(step.tool.as_deref()).unwrap_or("nothing");
            Differs { step: format!("step {} ({})", index + 1, name.trim_end()), expected, got }
        })?;
    }
    Ok(())
}

/// The policy with what the other gate was told beside it.
fn policy_text(policy: &str, engine: &Engine) -> String {
    let mut text = policy.trim_end_matches('\n').to_owned();
    text.push('\n');
    let sections = [
        ("approval_strategy", engine.approval_cache.as_ref().map(|strategy| json!(strategy))),
        ("rate_limits", engine.rate_limits.clone()),
        ("sanitizer", engine.sanitizer.clone()),
    ];
    // JSON is YAML in one line.
    for (key, value) in sections.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        text.push_str(&format!("{key}: {value}\n"));
    }
    text
}

fn read(text: &str) -> Result<Policy, String> {
    let (policy, diagnostics) = lockgate::engine::languages::read(&[Source::new("policy.yaml", text)]);
    let mistake = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    match (policy, mistake) {
        (Some(policy), None) => Ok(policy),
        (_, Some(mistake)) => Err(mistake.message.clone()),
        (None, None) => Err("no policy, and no mistake".into()),
    }
}

fn gate(policy: Policy, case: &Case) -> Result<Gate, String> {
    let mode = match case.engine.mode.as_deref() {
        None | Some("ENFORCE") => Mode::Enforce,
        Some("AUDIT") => Mode::Observe,
        Some(other) => return Err(format!("no mode is called `{other}`")),
    };
    let zone = case.process_tz.as_deref().map_or(Ok(TimeZone::UTC), TimeZone::get);
    let zone = zone.map_err(|error| error.to_string())?;
    Gate::builder(policy).mode(mode).zone(zone).build().map_err(|error| error.to_string())
}

/// The messages of the rules, by id.
fn rules_of(policy: &str) -> HashMap<String, String> {
    let rules = yaml::read(policy).ok().and_then(|root| root.get("rules")?.as_array().cloned());
    let named = rules.unwrap_or_default().into_iter().filter_map(|rule| {
        Some((rule.get("id")?.as_str()?.to_owned(), rule.get("message")?.as_str()?.to_owned()))
    });
    named.collect()
}

struct Player<'a> {
    case: &'a Case,
    gate: Gate,
    start_ms: i64,
    now: Time,
    calls: usize,
    /// What was asked, by the step that asked; and what a human answered.
    questions: HashMap<usize, (ApprovalId, Option<bool>)>,
    rules: HashMap<String, String>,
}

/// What was expected and what was got.
type Compared = Result<(), (String, String)>;

impl Player<'_> {
    fn step(&mut self, index: usize, step: &Step) -> Compared {
        if let Some(at) = step.at {
            self.now = self.moment(at);
        }
        match step.op.as_deref() {
            None => self.calls_of(index, step),
            Some("respond") => self.respond(step),
            Some("status") => self.status(step),
            Some("kill") => {
                self.told(|gate| gate.halt(None, step.reason.as_deref().unwrap_or("killed"), self.now))
            }
            Some("resume") => self.told(|gate| gate.resume(None, self.now)),
            Some("clear_taint" | "clear-taint") => self.told(|gate| gate.untaint(session(step))),
            Some("post_check") => self.check_output(step),
            Some(other) => Err(("a step we know".into(), format!("`{other}`"))),
        }
    }

    /// Fractions of a second count, down to the millisecond.
    #[expect(clippy::cast_possible_truncation, reason = "a case lasts days, not ages")]
    fn moment(&self, at_seconds: f64) -> Time {
        let ms = self.start_ms.saturating_add((at_seconds * 1_000.0).round() as i64);
        Time(u64::try_from(ms).unwrap_or_default())
    }

    fn told(&self, tell: impl Fn(&Gate) -> Result<(), lockgate::engine::StoreError>) -> Compared {
        tell(&self.gate).map_err(|error| ("nothing".into(), error.to_string()))
    }

    fn call(&mut self, step: &Step) -> Call {
        self.calls += 1;
        let tool = step.tool.as_deref().unwrap_or_default();
        let mut call = Call::new(self.calls.to_string(), tool).in_session(session(step)).at(self.now);
        call.input = step.args.clone().unwrap_or_default();
        call.about.sender = step.sender.clone();
        call.about.context = step.context.clone();
        call
    }

    fn calls_of(&mut self, index: usize, step: &Step) -> Compared {
        let mut compared = Ok(());
        for _ in 0..step.repeat.unwrap_or(1) {
            let call = self.call(step);
            let verdict = match self.case.engine.approval.as_deref() {
                None => self.gate.call_unattended(&call),
                Some(_) => self.gate.call(&call),
            };
            if let Some(approval) = &verdict.approval {
                self.questions.insert(index, (approval.clone(), None));
            }
            if verdict.lets_pass() {
                self.succeed(&call.session, &call.id, None)?;
            }
            compared = self.compare(step, &call, &verdict);
        }
        compared
    }

    fn succeed(
        &self,
        session: &str,
        id: &str,
        output: Option<Value>,
    ) -> Result<lockgate::engine::Settlement, (String, String)> {
        let outcome = Outcome {
            session: session.into(),
            id: id.into(),
            ok: true,
            output,
            at: self.now,
            ..Outcome::default()
        };
        let settlement = self.gate.result(&outcome).map_err(|error| error.to_string());
        match settlement {
            Ok(settlement) if settlement.settled => Ok(settlement),
            other => Err(("a result that is settled".into(), format!("{other:?}"))),
        }
    }

    fn compare(&self, step: &Step, call: &Call, verdict: &Verdict) -> Compared {
        let got = word(verdict.decision);
        let nothing = Map::new();
        let observed = step.expect.as_ref().unwrap_or(&nothing);
        let observed_word = observed.get("verdict").and_then(Value::as_str);
        if let Some(promise) = step.promise() {
            let promised = promise.split_whitespace().next().unwrap_or_default();
            same("verdict", promised, got)?;
            if promise.ends_with("with masked value") {
                let masked = verdict.input.as_deref().is_some_and(|input| *input != call.input);
                return same("masked value", &true.to_string(), &masked.to_string());
            }
            if observed_word != Some(promised) {
                return Ok(());
            }
        }
        for (field, expected) in observed {
            let got = match field.as_str() {
                "verdict" => json!(got),
                "rule_id" => json!(rule_of(verdict)),
                "modified_args" => json!(verdict.input),
                "pii_types" => json!(self.kinds_in(&Value::Object(call.input.clone()))),
                "approval_id" => json!(verdict.approval.is_some()),
                "message" => {
                    self.compare_message(step, verdict, expected.as_str().unwrap_or_default())?;
                    continue;
                }
                other => return Err(("an answer we know".into(), format!("`{other}`"))),
            };
            same(field, &expected.to_string(), &got.to_string())?;
        }
        Ok(())
    }

    /// What the rule's author wrote must reach the agent, where it did so before.
    fn compare_message(&self, step: &Step, verdict: &Verdict, expected: &str) -> Compared {
        let own = rule_of(verdict).and_then(|rule| self.rules.get(rule));
        let own = own.filter(|own| step.want_message && expected.contains(own.as_str()));
        match own {
            Some(own) if !verdict.reason.contains(own.as_str()) => Err((own.clone(), verdict.reason.clone())),
            _ => Ok(()),
        }
    }

    /// The kinds of sensitive data in a value, one for each hit.
    fn kinds_in(&self, value: &Value) -> Vec<String> {
        let masking = self.gate.policy().masking();
        let (_, kinds) = masking.detectors.mask_value(value, masking.mask);
        kinds.each().iter().map(ToString::to_string).collect()
    }

    fn respond(&mut self, step: &Step) -> Compared {
        let approved = step.approved.unwrap_or_default();
        let Some((approval, answered)) = step.asked_in.and_then(|index| self.questions.get_mut(&index))
        else {
            return Err(("a question".into(), "nobody was asked".into()));
        };
        let approval = approval.clone();
        let asked =
            self.gate.session(&approval.session).map_err(|error| ("a session".into(), error.to_string()))?;
        let id = asked.asked().get(&approval.number).map(|asked| asked.call.id.clone());
        // The first answer stands; a later one is heard by nobody.
        if let (Ok(verdict), Some(id)) = (self.gate.answer(&approval, approved, self.now), id) {
            *answered = Some(approved);
            if verdict.lets_pass() {
                self.succeed(&approval.session, &id, None)?;
            }
        }
        Ok(())
    }

    fn status(&self, step: &Step) -> Compared {
        let Some((approval, answered)) = step.asked_in.and_then(|index| self.questions.get(&index)) else {
            return Err(("a question".into(), "nobody was asked".into()));
        };
        let status = self.gate.status(&approval.session, self.now);
        let status = status.map_err(|error| ("a status".into(), error.to_string()))?;
        let is_open = status.approvals.iter().any(|open| open.approval == *approval);
        let got = match (is_open, answered) {
            (true, _) => "pending",
            (false, Some(true)) => "approved",
            (false, Some(false) | None) => "denied",
        };
        let expected = step.expect.as_ref().and_then(|expect| expect.get("status")).and_then(Value::as_str);
        same("status", expected.unwrap_or_default(), got)
    }

    /// A tool has run and given something.
    fn check_output(&mut self, step: &Step) -> Compared {
        let call = self.call(step);
        let verdict = self.gate.call(&call);
        if !verdict.lets_pass() {
            return Err(("a call that runs".into(), verdict.reason));
        }
        let output = step.result.clone().unwrap_or_default();
        let settlement = self.succeed(&call.session, &call.id, Some(output.clone()))?;
        let is_blocked = settlement.decision == OutputDecision::Block;
        let masking = self.gate.policy().masking();
        // What is withheld is not looked at any further.
        let masked = if is_blocked { None } else { masking.detectors.mask_value(&output, masking.mask).0 };
        let kinds = if is_blocked { Vec::new() } else { self.kinds_in(&output) };
        for (field, expected) in step.expect.iter().flatten() {
            let got = match field.as_str() {
                "blocked" => json!(is_blocked),
                "pii_types" => json!(kinds),
                "redacted_output" => json!(masked),
                other => return Err(("an answer we know".into(), format!("`{other}`"))),
            };
            same(field, &expected.to_string(), &got.to_string())?;
        }
        Ok(())
    }
}

fn session(step: &Step) -> &str {
    step.session.as_deref().unwrap_or("default")
}

fn same(what: &str, expected: &str, got: &str) -> Compared {
    let told = |text: &str| match what {
        "verdict" => text.trim_matches('"').to_owned(),
        _ => format!("{what} {text}"),
    };
    if expected == got { Ok(()) } else { Err((told(expected), told(got))) }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "ALLOW",
        Decision::Redact => "REDACT",
        Decision::Ask => "APPROVE",
        Decision::Block => "BLOCK",
    }
}

/// The rule that decided, by the name it has in a recording.
fn rule_of(verdict: &Verdict) -> Option<&str> {
    let leads = verdict.obstacles.first().or(verdict.observed.first()).or(verdict.allowed_by.first());
    match leads?.name.as_str() {
        "halted" => Some("__kill_switch__"),
        // A default that allows was never named.
        "__default__" if verdict.obstacles.is_empty() && verdict.observed.is_empty() => None,
        name => Some(name),
    }
}
