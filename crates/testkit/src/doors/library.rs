//! The library itself, called without the line protocol.
//!
//! The answers are put into the protocol's words here and not by the server's code: what the server loses or
//! renames on its way out would otherwise be missing in both doors alike.

use std::{collections::HashMap, sync::Arc};

use lockgate::engine::{
    About, Call, Gate, Mode, Obstacle, Outcome, Source, Time, Verdict,
    gate::{ApprovalId, GateBuilder},
    policy::{Workflow, workflow::OperatorMove},
};
use serde_json::{Map, Value, json};

use crate::{Door, Options, PolicyFile};

/// Calls [`Gate`] for each line.
#[derive(Default)]
pub struct LibraryDoor {
    open: Option<Open>,
}

pub(super) struct Open {
    pub(super) gate: Arc<Gate>,
    /// The questions asked so far by their names, each with the id of the call it is about.
    pub(super) questions: HashMap<String, (ApprovalId, String)>,
}

impl Door for LibraryDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        self.open = Some(Open::new(build_gate(policy, options)?));
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let open = self.open.as_mut().ok_or("the door is not open")?;
        let (kind, body) = line.as_object().and_then(|line| line.iter().next()).ok_or("an empty line")?;
        let at = line.get("at").and_then(Value::as_u64).map_or(Time(0), Time);
        // Whatever goes wrong behind the door is an answer, as it is in lines.
        Ok(open.respond(kind, &Body(body), at).unwrap_or_else(|error| json!({ "error": error })))
    }
}

/// A gate under this policy, in memory.
pub(super) fn build_gate(policy: &[PolicyFile], options: &Options) -> Result<Gate, String> {
    gate_builder(policy, options)?.build().map_err(|error| error.to_string())
}

/// The same, for whoever has something to add.
pub(super) fn gate_builder(policy: &[PolicyFile], options: &Options) -> Result<GateBuilder, String> {
    let sources: Vec<_> = policy.iter().map(|file| Source::new(&*file.name, &*file.text)).collect();
    let (policy, diagnostics) = lockgate::engine::languages::read(&sources);
    let policy =
        policy.ok_or_else(|| diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mode = if options.observe { Mode::Observe } else { Mode::Enforce };
    Ok(Gate::builder(policy).mode(mode))
}

/// What a line says.
pub(super) struct Body<'a>(pub(super) &'a Value);

impl Body<'_> {
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    pub(super) fn id(&self) -> String {
        self.text("id").unwrap_or_default().to_owned()
    }

    pub(super) fn session(&self) -> &str {
        self.text("session").unwrap_or("default")
    }

    pub(super) fn says_yes(&self, field: &str) -> bool {
        self.0.get(field) == Some(&Value::Bool(true))
    }
}

impl Open {
    pub(super) fn new(gate: impl Into<Arc<Gate>>) -> Self {
        Self { gate: gate.into(), questions: HashMap::new() }
    }

    pub(super) fn respond(&mut self, kind: &str, body: &Body<'_>, at: Time) -> Result<Value, String> {
        match kind {
            "call" => Ok(self.call(body, at)),
            "answer" => self.answer(body, at),
            "result" => self.result(body, at),
            "net" => self.switch(body),
            "halt" => {
                let halted =
                    self.gate.halt(body.text("session"), body.text("reason").unwrap_or_default(), at);
                halted.map(|()| json!({})).map_err(|error| error.to_string())
            }
            "resume" => {
                let resumed = self.gate.resume(body.text("session"), at);
                resumed.map(|()| json!({})).map_err(|error| error.to_string())
            }
            "session" => {
                let attributes = body.0.get("attributes").and_then(Value::as_object).cloned();
                let described = self.gate.describe(&body.id(), attributes.unwrap_or_default());
                described.map(|()| json!({})).map_err(|error| error.to_string())
            }
            "user" => {
                let heard = self.gate.hear(body.session(), body.text("says").unwrap_or_default(), at);
                heard.map(|()| json!({})).map_err(|error| error.to_string())
            }
            "untaint" => {
                let untainted = self.gate.untaint(body.session());
                untainted.map(|()| json!({})).map_err(|error| error.to_string())
            }
            "stage" => self.move_stage(body, at),
            "status" => self.status(body, at),
            other => Err(format!("no step of a page says `{other}`")),
        }
    }

    fn call(&mut self, body: &Body<'_>, at: Time) -> Value {
        let call = Call {
            session: body.session().to_owned(),
            id: body.id(),
            tool: body.text("tool").unwrap_or_default().to_owned(),
            input: body.0.get("input").and_then(Value::as_object).cloned().unwrap_or_default(),
            at,
            about: About {
                sender: body.0.get("sender").cloned(),
                context: body.0.get("context").cloned(),
                principal: body.0.get("principal").cloned(),
                metadata: body.0.get("metadata").cloned(),
                environment: body.text("environment").map(str::to_owned),
                cwd: body.text("cwd").map(str::to_owned),
                ..About::default()
            },
        };
        let verdict = match body.text("ask") {
            Some("none") => self.gate.call_unattended(&call),
            _ => self.gate.call(&call),
        };
        self.tell(&call.session, &call.id, &verdict)
    }

    fn answer(&mut self, body: &Body<'_>, at: Time) -> Result<Value, String> {
        let question = body.text("approval").and_then(|name| self.questions.get(name));
        let (approval, id) = question.cloned().ok_or("nobody asked that")?;
        let verdict = self.gate.answer(&approval, body.says_yes("granted"), at);
        verdict.map(|verdict| self.tell(&approval.session, &id, &verdict)).map_err(|error| error.to_string())
    }

    fn result(&self, body: &Body<'_>, at: Time) -> Result<Value, String> {
        let outcome = Outcome {
            session: body.session().to_owned(),
            id: body.id(),
            ok: body.says_yes("ok"),
            output: body.0.get("output").cloned(),
            at,
            ..Outcome::default()
        };
        let settlement = self.gate.result(&outcome).map_err(|error| error.to_string())?;
        let mut answer = json!({
            "id": outcome.id,
            "session": outcome.session,
            "settled": settlement.settled,
            "verdict": settlement.decision.word(),
            "reason": settlement.reason,
            "warnings": settlement.warnings,
        });
        // Null is an output too.
        if let (Some(answer), Some(output)) = (answer.as_object_mut(), settlement.output) {
            answer.insert("output".into(), output);
        }
        Ok(answer)
    }

    fn switch(&self, body: &Body<'_>) -> Result<Value, String> {
        let registry = self.gate.registry(body.session());
        let switched = match body.text("activate") {
            Some(net) => registry.activate(net),
            None => registry.deactivate(body.text("deactivate").unwrap_or_default()),
        };
        switched.map(|text| json!({ "text": text })).map_err(|error| error.to_string())
    }

    fn move_stage(&self, body: &Body<'_>, at: Time) -> Result<Value, String> {
        let (how, stage) = match body.text("reset") {
            Some(stage) => (OperatorMove::Reset, stage),
            None => (OperatorMove::Set, body.text("set").unwrap_or_default()),
        };
        let workflow = body.text("workflow").unwrap_or_default();
        let moved = self.gate.move_stage(body.session(), workflow, how, stage, at);
        moved.map(|()| json!({})).map_err(|error| error.to_string())
    }

    /// Where a session stands in each workflow; in the first stage, before its first call.
    fn stages(&self, session: &str) -> Result<Vec<Value>, String> {
        let session = self.gate.session(session).map_err(|error| error.to_string())?;
        let stage = |workflow: &Workflow| match session.progress(workflow.id) {
            Some(progress) => progress.active_stage.to_string(),
            None => workflow.stages.first().map(|stage| stage.id.to_string()).unwrap_or_default(),
        };
        let workflows = self.gate.policy().workflows().iter();
        Ok(workflows.map(|it| json!({"name": it.name, "active_stage": stage(it)})).collect())
    }

    fn status(&self, body: &Body<'_>, at: Time) -> Result<Value, String> {
        let status = self.gate.status(body.session(), at).map_err(|error| error.to_string())?;
        let nets = status.nets.iter().map(|net| {
            let marking: Map<_, _> =
                net.marking.iter().map(|(place, tokens)| (place.clone(), json!(tokens))).collect();
            json!({"name": net.name, "active": net.active, "marking": marking})
        });
        let workflows = self.stages(body.session())?;
        Ok(json!({"nets": nets.collect::<Vec<_>>(), "text": status.text(), "workflows": workflows}))
    }

    /// A verdict in the protocol's words; its question is kept for the answer.
    pub(super) fn tell(&mut self, session: &str, id: &str, verdict: &Verdict) -> Value {
        let approval = verdict.approval.as_ref().map(|approval| {
            let name = format!("question {}", self.questions.len() + 1);
            self.questions.insert(name.clone(), (approval.clone(), id.to_owned()));
            name
        });
        let deeds = verdict.deeds.iter().map(|deed| json!({"name": &*deed.name, "certain": deed.certain}));
        let allowing = verdict.allowed_by.iter().filter(|rule| rule.mode == Mode::Enforce);
        json!({
            "id": id,
            "session": session,
            "verdict": verdict.decision.word(),
            "reason": verdict.reason,
            "obstacles": obstacles(&verdict.obstacles),
            "observed": obstacles(&verdict.observed),
            "allowed_by": allowing.map(|rule| rule.name.as_str()).collect::<Vec<_>>(),
            "input": verdict.input,
            "next": verdict.next.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "approval": approval,
            "deeds": deeds.collect::<Vec<_>>(),
        })
    }
}

fn obstacles(obstacles: &[Obstacle]) -> Vec<Value> {
    let written = obstacles.iter().map(|it| {
        json!({"rule": it.name, "file": &*it.file, "line": it.line, "verdict": it.decision.word(), "reason": it.reason, "tags": it.tags})
    });
    written.collect()
}
