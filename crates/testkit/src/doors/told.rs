//! What doors share that tell a page's lines in the words of another protocol.
//!
//! What such a door answers is read from what its client would be told, and has to agree with what the gate decided;
//! what a client is never told (deeds, all rules, markings) is taken from the gate. Operators speak to the gate as
//! `lockgate halt` and the like do. What a page says and the protocol cannot say goes there too, and is counted under
//! its reason in a [`Tally`]. How lines become events or messages is the door's own affair.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};

use lockgate::engine::{Decision, Gate, Time, Verdict};
use serde_json::{Value, json};

use super::library::{Body, Open as Operator};
use crate::contract::{MemoryRest, Rest};

/// How the lines of the pages were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that were told in the protocol's words.
    pub told: usize,
    /// What operators did.
    pub operator: usize,
    /// Calls, answers and results that the protocol cannot tell, by the reason.
    pub unsayable: BTreeMap<&'static str, usize>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} told, {} steps of operators", self.told, self.operator)?;
        self.unsayable.iter().try_for_each(|(reason, count)| write!(f, ", {count} NOT SAYABLE: {reason}"))
    }
}

/// The name of a call: its session and its id.
pub(super) type Name = (String, String);

/// What a client is told, in one form for all protocols.
#[derive(Debug)]
pub(super) enum Spoken {
    Pass,
    /// It runs, or is shown, like this.
    Changed(Value),
    /// Somebody is asked, now or before it comes again.
    Asked(String),
    Blocked(String),
}

/// What was told so far in a story, and the gate for everything else.
pub(super) struct Told {
    pub(super) operator: Operator,
    pub(super) rest: MemoryRest,
    /// What the names of sessions begin with.
    prefix: String,
    /// The calls that were told, as the page says them.
    pub(super) calls: HashMap<Name, Value>,
    /// The calls that were not.
    besides: HashSet<Name>,
}

/// A door that tells lines in the words of another protocol.
pub(super) trait Teller {
    /// What was told so far.
    fn told(&mut self) -> &mut Told;

    /// Why a call, an answer or a result cannot be said.
    fn why_not(&self, kind: &str, body: &Value) -> Option<&'static str>;

    /// Says it, and tells in the page's words what comes back.
    fn say(&mut self, kind: &str, name: &Name, body: &Value, at: Time) -> Result<Value, String>;

    /// Says a line as far as the protocol can.
    fn respond(&mut self, kind: &str, body: &Value, at: Time, tally: &mut Tally) -> Result<Value, String> {
        if !matches!(kind, "call" | "answer" | "result") {
            tally.operator += 1;
            return Ok(self.told().besides(kind, body, at));
        }
        let name = (Body(body).session().to_owned(), Body(body).id());
        if let Some(reason) = self.why_not(kind, body) {
            *tally.unsayable.entry(reason).or_default() += 1;
            if kind == "call" {
                self.told().besides.insert(name);
            }
            return Ok(self.told().besides(kind, body, at));
        }
        tally.told += 1;
        if kind != "call" {
            return self.say(kind, &name, body, at);
        }
        self.told().besides.remove(&name);
        let before = self.told().calls.insert(name.clone(), body.clone());
        let answer = self.say(kind, &name, body, at)?;
        // The id may belong to a call that is still on its way.
        if let (Some(before), Some("block")) = (before, answer.get("verdict").and_then(Value::as_str)) {
            self.told().calls.insert(name, before);
        }
        Ok(answer)
    }
}

impl Told {
    /// Nothing yet. `prefix` is what the protocol's sessions are called by before their own names.
    pub(super) fn new(gate: impl Into<Arc<Gate>>, rest: MemoryRest, prefix: String) -> Self {
        let operator = Operator::new(gate);
        Self { operator, rest, prefix, calls: HashMap::new(), besides: HashSet::new() }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.operator.gate
    }

    /// Says a line to the gate itself.
    fn besides(&mut self, kind: &str, body: &Value, at: Time) -> Value {
        let mut body = body.clone();
        let field = if kind == "session" { "id" } else { "session" };
        let is_for_all = matches!(kind, "halt" | "resume") && body.get(field).is_none();
        if let Some(object) = body.as_object_mut().filter(|_| !is_for_all) {
            let session = object.get(field).and_then(Value::as_str).unwrap_or("default").to_owned();
            object.insert(field.to_owned(), json!(self.whole(&session)));
        }
        let answer = self.operator.respond(kind, &Body(&body), at);
        let mut answer = answer.unwrap_or_else(|error| json!({ "error": error }));
        if let Some(session) = answer.get("session").and_then(Value::as_str).map(|it| self.bare(it)) {
            set(&mut answer, "session", json!(session));
        }
        answer
    }

    pub(super) fn whole(&self, session: &str) -> String {
        format!("{}{session}", self.prefix)
    }

    pub(super) fn bare(&self, session: &str) -> String {
        session.strip_prefix(&self.prefix).unwrap_or(session).to_owned()
    }

    /// Why no protocol can tell a call.
    pub(super) fn why_not_call(body: &Value) -> Option<&'static str> {
        let has = |field: &str| body.get(field).is_some();
        match () {
            () if has("sender") => Some("a call's sender"),
            () if has("context") => Some("a call's context"),
            () if has("principal") => Some("a call's principal"),
            () if has("metadata") => Some("a call's metadata"),
            () if has("environment") => Some("a call's environment"),
            () => None,
        }
    }

    /// Why no protocol can tell a result.
    pub(super) fn why_not_result(&self, name: &Name) -> Option<&'static str> {
        match () {
            () if self.besides.contains(name) => Some("the result of a call that was not told"),
            () if !self.calls.contains_key(name) => Some("the result of a call that nobody made"),
            () => None,
        }
    }

    /// Why no protocol can tell an answer.
    pub(super) fn why_not_answer(&self, body: &Value) -> Option<&'static str> {
        let Some((_, name)) = self.question(body) else { return Some("an answer to what nobody asked") };
        self.besides.contains(&name).then_some("an answer about a call that was not told")
    }

    /// The name of the question that an answer is to, and of the call that it is about.
    pub(super) fn question(&self, answer: &Value) -> Option<(String, Name)> {
        let question = answer.get("approval")?.as_str()?;
        let (approval, id) = self.operator.questions.get(question)?;
        Some((question.to_owned(), (self.bare(&approval.session), id.clone())))
    }

    /// The verdict as the page's words, after it was compared with what the client is told.
    pub(super) fn agreed(
        &mut self,
        name: &Name,
        verdict: &Verdict,
        spoken: &Spoken,
    ) -> Result<Value, String> {
        let input = self.calls.get(name).and_then(|told| told.get("input")).cloned().unwrap_or(json!({}));
        let given = verdict.input.as_deref().map(|input| Value::Object(input.clone()));
        let agrees = match (spoken, verdict.decision) {
            (Spoken::Pass, Decision::Allow) => true,
            (Spoken::Pass, Decision::Redact) => given == Some(input),
            (Spoken::Changed(changed), Decision::Redact) => given.as_ref() == Some(changed),
            (Spoken::Asked(reason), Decision::Ask) | (Spoken::Blocked(reason), Decision::Block) => {
                // The first few are told by name, each once.
                let told = verdict.obstacles.iter().take(5).enumerate();
                let mut named = told.filter(|(at, it)| *at == 0 || it.reason != verdict.reason);
                reason.starts_with(&verdict.reason)
                    && named.all(|(_, it)| {
                        it.file.is_empty()
                            || it.decision < Decision::Ask
                            || reason.contains(&format!("(rule {}, {}:{})", it.name, it.file, it.line))
                    })
                    && verdict.next.iter().all(|next| reason.contains(next.as_ref()))
            }
            _ => false,
        };
        if !agrees {
            let decided = verdict.decision.word();
            return Err(format!(
                "the door said {spoken:?} where the gate decided `{decided}`: {}",
                verdict.reason
            ));
        }
        Ok(self.tell(name, verdict))
    }

    pub(super) fn tell(&mut self, name: &Name, verdict: &Verdict) -> Value {
        self.operator.tell(&name.0, &name.1, verdict)
    }

    /// What the audit log tells of the latest result, as the page's words, after it was compared with what is shown of it.
    /// `is_alike`: a masked output and one that was withheld look alike.
    pub(super) fn settled(&self, name: &Name, spoken: Spoken, is_alike: bool) -> Result<Value, String> {
        let trail = self.rest.audit_log();
        let entries = trail.iter().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut results = entries.filter(|entry| entry.get("what") == Some(&json!("result")));
        let entry = results.next().ok_or("the audit log tells of no result")?;
        let decided = entry.get("output").and_then(Value::as_str).unwrap_or_default();
        let agrees = match &spoken {
            Spoken::Pass => matches!(decided, "allow" | "warn"),
            Spoken::Changed(_) => decided == "redact" || decided == "block" && is_alike,
            Spoken::Blocked(_) => matches!(decided, "block" | "redact"),
            Spoken::Asked(_) => false,
        };
        if !agrees {
            return Err(format!("the door said {spoken:?} where the gate decided `{decided}`"));
        }
        let mut answer = json!({
            "id": name.1,
            "session": name.0,
            "settled": entry.get("settled"),
            "verdict": decided,
            "reason": entry.get("reason"),
        });
        let reason = entry.get("reason").and_then(Value::as_str).unwrap_or_default();
        match (spoken, decided) {
            (Spoken::Changed(output), "redact") => set(&mut answer, "output", output),
            (Spoken::Changed(shown), _) if !shown.to_string().contains(reason) => {
                return Err(format!("the client shows {shown} and no reason"));
            }
            (Spoken::Changed(_), _) => set(&mut answer, "output", suppressed(reason)),
            (Spoken::Blocked(said), _) => {
                let rule = entry.pointer("/rules/0").cloned().unwrap_or_default();
                let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
                let source = format!(" (rule {}, {})", text("rule"), text("place"));
                let is_settled = entry.get("settled") == Some(&json!(true));
                if is_settled && rule.get("wants") == Some(&json!(decided)) && !said.ends_with(&source) {
                    return Err(format!("the client shows `{said}` and not `{source}`"));
                }
                set(&mut answer, "output", suppressed(said.strip_suffix(&source).unwrap_or(&said)));
            }
            (Spoken::Pass | Spoken::Asked(_), _) => {}
        }
        Ok(answer)
    }
}

/// What pages show where an output is kept back.
fn suppressed(reason: &str) -> Value {
    json!(format!("[OUTPUT SUPPRESSED] {reason}"))
}

pub(super) fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}
