//! Runs an installed hook on everything it has to withstand, as its agent would.

use std::time::Duration;

use lockgate_agents::{Agent, HookReply, Message, Reaction, install::InstalledCommand, settings::Settings};
use serde_json::Value;

use super::{
    check::{Check, ROUNDS},
    trial::{Fault, World},
};

/// What stands for the reason of a verdict.
const REASON: &str = "for whatever reason";

/// Runs a hook on everything it has to withstand.
pub(super) fn trials_of(
    agent: Agent,
    command: &InstalledCommand,
    settings: Option<&Settings>,
    hook_ms: &mut Option<u64>,
) -> Vec<Check> {
    // Without settings there is nothing to try a hook with: it blocks everything.
    let Some(settings) = settings else { return Vec::new() };
    let trial = HookTrial { agent, command, settings };
    let mut checks = Vec::from([trial.passes(hook_ms), trial.guards()]);
    checks.push(trial.blocks("bad event", Fault::None, Some("{\"session_id\": \"s\", ")));
    checks.push(trial.blocks("bad policy", Fault::BrokenPolicy, None));
    checks.push(trial.blocks("bad database", Fault::CorruptDatabase, None));
    checks.push(trial.blocks("no state", Fault::NoState, None));
    checks
}

struct HookTrial<'a> {
    agent: Agent,
    command: &'a InstalledCommand,
    settings: &'a Settings,
}

impl HookTrial<'_> {
    fn event(&self, round: usize, command: &str, world: &World) -> Message {
        // A session of its own each time: a call that comes twice in one is blocked for that.
        let session = format!("lockgate-doctor-{round}");
        self.agent.trial(&session, command, &world.project().to_string_lossy())
    }

    /// A harmless call is answered as one, and how long that takes.
    fn passes(&self, hook_ms: &mut Option<u64>) -> Check {
        let world = match World::new(self.settings, Fault::None) {
            Ok(world) => world,
            Err(error) => return Check::unknown("pass", format!("nothing could be tried: {error}")),
        };
        let event = self.event(0, "ls", &world);
        let mut times: Vec<Duration> = Vec::new();
        let mut first = None;
        let rounds = if hook_ms.is_none() { ROUNDS } else { 1 };
        for round in 0..rounds {
            let event = Value::Object(self.event(round, "ls", &world)).to_string();
            match world.run(self.command, &event) {
                Ok((reply, took)) => {
                    times.push(took);
                    first.get_or_insert(reply);
                }
                Err(error) => return Check::wrong("pass", format!("it cannot be run: {error}")),
            }
        }
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        hook_ms.get_or_insert(u64::try_from(median.as_millis()).unwrap_or(u64::MAX));
        let reply = first.unwrap_or_default();
        let pass = self.agent.pass(&event);
        match self.agent.reaction(&reply) {
            // Silence of a program that failed looks the same to some agents.
            Reaction::AsWithoutUs if reply.code == 0 && reply.stdout.trim() == pass.stdout.trim() => {
                Check::ok("pass", "")
            }
            _ if self.is_refusal(&event, &reply) => Check::ok("pass", "answered; the policy blocks `ls`"),
            _ => Check::wrong("pass", format!("`ls` was answered by {}", shown(&reply))),
        }
    }

    /// A call that would delete the policy is blocked by a verdict, not by a fault.
    fn guards(&self) -> Check {
        if !self.settings.protect {
            return Check::wrong("guard", "`protect` is false, so an agent may change its own policy");
        }
        let answered = World::new(self.settings, Fault::None).and_then(|world| {
            let guarded = world.guarded.to_string_lossy().replace('\'', r"'\''");
            let event = self.event(0, &format!("rm -rf '{guarded}'"), &world);
            let (reply, _) = world.run(self.command, &Value::Object(event.clone()).to_string())?;
            Ok((event, reply))
        });
        match answered {
            Ok((event, reply)) if self.is_refusal(&event, &reply) => Check::ok("guard", ""),
            Ok((_, reply)) => {
                Check::wrong("guard", format!("deleting the policy was answered by {}", shown(&reply)))
            }
            Err(error) => Check::wrong("guard", format!("it cannot be run: {error}")),
        }
    }

    /// Whether it is a block by a verdict, in the form of this agent. That the agent would block is not enough: some
    /// block on silence, which any program can say.
    fn is_refusal(&self, event: &Message, reply: &HookReply) -> bool {
        let refusal = self.agent.block(event, REASON);
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let is_alike = match (read(&refusal.stdout), read(&reply.stdout)) {
            (Some(wanted), Some(said)) => alike(&wanted, &said),
            _ => false,
        };
        is_alike && reply.code == 0 && self.agent.reaction(reply) == Reaction::Blocks
    }

    /// A fault is answered by a block.
    fn blocks(&self, check: &'static str, fault: Fault, event: Option<&str>) -> Check {
        let answered = World::new(self.settings, fault).and_then(|world| {
            let canary = self.event(0, "ls", &world);
            let text = Value::Object(canary.clone()).to_string();
            Ok((canary, world.run(self.command, event.unwrap_or(&text))?.0))
        });
        match answered {
            // A program that is not there or says nothing is not a block of ours, though some agents do block then.
            Ok((canary, reply))
                if reply.stderr.trim().is_empty() || reply.code != 2 && !self.is_refusal(&canary, &reply) =>
            {
                Check::wrong(check, format!("it was answered by {}", shown(&reply)))
            }
            Ok((_, reply)) => match self.agent.reaction(&reply) {
                Reaction::Blocks => Check::ok(check, ""),
                _ => Check::wrong(check, format!("it was answered by {}, and the tool runs", shown(&reply))),
            },
            Err(error) => Check::wrong(check, format!("it cannot be run: {error}")),
        }
    }
}

/// Whether two answers differ in nothing but the reason.
fn alike(wanted: &Value, said: &Value) -> bool {
    match (wanted, said) {
        (Value::Object(wanted), Value::Object(said)) => {
            let has_alike =
                |(key, value): (&String, &Value)| said.get(key).is_some_and(|it| alike(value, it));
            wanted.len() == said.len() && wanted.iter().all(has_alike)
        }
        (Value::String(wanted), Value::String(said)) if wanted.contains(REASON) => !said.trim().is_empty(),
        (wanted, said) => wanted == said,
    }
}

fn shown(reply: &HookReply) -> String {
    let said = [&reply.stdout, &reply.stderr].map(|text| text.trim().to_owned()).join(" ");
    format!("exit {} and `{}`", reply.code, crate::console::cut(said.trim(), 200))
}
