//! How an event is answered, by a hook process itself or by the guardian for it.
//!
//! [`Occasion::answer`] finds the settings, opens the gate and asks it. What differs is behind [`Surroundings`]: where the
//! policy is found, which database and gate are open already, and who looks at files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Call, Gate, Policy, SeenCall,
    call::{agent_tools, visible},
    gate::{AnswerTrust, HUMAN_APPROVAL},
    policy::MisnamedTool,
    store::Sqlite,
};

use super::{
    decision::Decider,
    gate::{LAST_WORD, forget_old_sessions},
    session::{log_once, remember},
    team::{Joined, TeamServer},
};
use crate::{
    agents::Agent,
    environment::{Environment, now},
    event::{Answer, Ask, Event, HookReply, Message, Phase},
    settings::{Settings, waiting_line, waiting_line_of_files},
};

/// What an answer needs and what a hook process and the guardian have in different ways. Every error is a line for people.
pub(crate) trait Surroundings {
    /// The folder whose policy counts for a session, and the settings that count there.
    fn under(&self, session: &str, folder: Option<&str>) -> Result<(PathBuf, Settings), String>;

    /// Remembers the process of the agent, so that commands for humans refuse below it.
    fn note_agent(&self, settings: &Settings) -> Result<(), String>;

    /// The database.
    fn backend(&self, settings: &Settings, deadline: Instant) -> Result<Arc<Sqlite>, String>;

    /// The gate.
    fn gate(
        &self,
        settings: &Settings,
        home: &Path,
        backend: &Arc<Sqlite>,
        deadline: Instant,
    ) -> Result<Arc<Gate>, String>;

    /// What is not installed any more as it was.
    fn changed_entry(&self, agent: Agent, home: &Path) -> Option<String>;

    /// Looks at a call where the tools run.
    fn look(&self, call: Call) -> SeenCall;

    /// Where calls run whose agent does not say.
    fn folder(&self) -> Option<String>;

    /// The team server that is asked as well.
    fn server(&self, settings: &Settings) -> Result<Option<Box<dyn TeamServer>>, String> {
        match &settings.server {
            None => Ok(None),
            Some(server) => Err(format!(
                "the settings name the team server {}, and only hooks without a guardian ask one; take `[server]` out",
                visible(&server.url)
            )),
        }
    }

    /// A human is asked elsewhere, and the answer may take so long.
    fn waits(&self, _left: Duration) {}
}

/// An event that is to be answered.
#[derive(Clone, Copy)]
pub(crate) struct Occasion<'a> {
    pub(crate) agent: Agent,
    pub(crate) message: &'a Message,
    pub(crate) environment: &'a Environment,
    pub(crate) started: Instant,
    /// Told how long the answer may take, as soon as that is known.
    pub(crate) watch: &'a dyn Fn(Duration),
}

impl Occasion<'_> {
    /// Finds the policy that the event is under, and asks the gate. Every error is a line for people.
    pub(crate) fn answer(&self, around: &dyn Surroundings) -> Result<HookReply, String> {
        let Self { agent, message, environment, started, watch } = *self;
        let event = agent.decode(message).map_err(|error| error.to_string())?;
        let sender = agent.sender(message);
        let (session, folder) = match &event {
            Event::Other => return Ok(agent.encode(message, &Answer::Pass)),
            Event::Session { session, .. } => (session, None),
            Event::Call(call) => (&call.session, call.cwd.as_deref()),
            Event::Result(result) => (&result.call.session, result.call.cwd.as_deref()),
            Event::Refused(call) => (&call.session, call.cwd.as_deref()),
            Event::Prompt(prompt) => (&prompt.session, prompt.cwd.as_deref()),
        };
        let session = format!("{sender}/{session}");
        let (home, mut settings) = around.under(&session, folder)?;
        around.note_agent(&settings)?;
        // Most agents run the tool when a hook takes too long: the answer must be there well before.
        let limit = settings.deadline.min(agent.waits_for(&event) * 6 / 10);
        let deadline = started + limit;
        watch(limit);
        if let Event::Session { phase, .. } = event {
            // No tool waits for this answer.
            if phase == Phase::Started && settings.state.exists() {
                forget_old_sessions(&settings, &*around.backend(&settings, deadline)?)?;
            }
            remember(environment, &session, &settings, None)?;
            let mut reply = agent.encode(message, &Answer::Pass);
            if let (Phase::Started | Phase::Resumed, Some(waiting)) =
                (phase, waiting_line_of_files(&settings))
            {
                reply.stderr = format!("{}lockgate: {waiting}", reply.stderr);
            }
            return Ok(reply);
        }
        let backend = around.backend(&settings, deadline)?;
        let gate = around.gate(&settings, &home, &backend, deadline)?;
        remember(environment, &session, &settings, Some(&gate.policy().hash().to_string()))?;
        let held = gate.held(&session).map_err(|error| format!("Lockgate could not decide: {error}"))?;
        if let Some((bound, _)) = &held {
            settings.hold(&bound.settings);
        }
        let limit = settings.deadline.min(limit);
        let deadline = started + limit;
        watch(limit);
        let changed_entry = around.changed_entry(agent, &home);
        if let Some(told) = &changed_entry {
            log_once(environment, &backend, &session, told)?;
        }
        let wanted = agent.asking(settings.ask, message);
        let (asking, unanswerable) = match (wanted, &gate.rulebook().answer_trust) {
            // No answer that comes by `lockgate approve` would count, so waiting for one is in vain.
            (Ask::Wait | Ask::Defer, AnswerTrust::Nobody(why)) => (Ask::Block, Some(why)),
            (asking, _) => (asking, None),
        };
        let deadline = deadline.checked_sub(LAST_WORD).unwrap_or(started);
        let (look, waits) = (|call: Call| around.look(call), |left: Duration| around.waits(left));
        let decider = Decider {
            gate: &gate,
            backend: &*backend,
            host: sender,
            asking,
            folder: around.folder(),
            deadline,
            clock: &now,
            look: &look,
            waits: &waits,
        };
        let answered = match around.server(&settings)? {
            None => decider.answer(event),
            Some(server) => {
                Joined { here: &decider, server: &*server, asks: wanted != Ask::Block }.answer(event)
            }
        };
        let mut answer = answered.map_err(|error| format!("Lockgate could not decide: {error}"))?;
        if let (Answer::Block { reason }, Some(why)) = (&mut answer, unanswerable)
            && reason.contains(HUMAN_APPROVAL)
        {
            *reason = format!("{reason} (For the human: {why}.)");
        }
        if let (Answer::Block { reason } | Answer::Ask { reason }, Some(waiting)) =
            (&mut answer, waiting_line(&settings, gate.policy()))
        {
            *reason = format!("{reason} (For the human: {waiting}.)");
        }
        let news: Vec<&str> = held.iter().map(|_| POLICY_CHANGED).chain(changed_entry.as_deref()).collect();
        if let (Answer::Block { reason } | Answer::Ask { reason }, false) = (&mut answer, news.is_empty()) {
            *reason = format!("{reason} (For the human: {}.)", news.join("; "));
        }
        let mut reply = loudly(agent.encode(message, &answer), sender, gate.policy());
        if reply.code == 0 {
            for line in news {
                let end = if reply.stderr.is_empty() || reply.stderr.ends_with('\n') { "" } else { "\n" };
                reply.stderr = format!("{}{end}lockgate: {line}\n", reply.stderr);
            }
        }
        Ok(reply)
    }
}

/// What an operator is told while both policies decide.
const POLICY_CHANGED: &str = "the policy or its settings have changed since they were accepted; what they open \
                              waits until you run `lockgate accept-policy`";

/// Adds to an answer that lets pass what keeps rules of the policy from seeing a call of this agent. It is said on stderr:
/// no agent takes that for part of an answer that succeeds.
fn loudly(reply: HookReply, agent: &str, policy: &Policy) -> HookReply {
    let Some(tools) = agent_tools(agent).filter(|_| reply.code == 0 && reply.stderr.is_empty()) else {
        return reply;
    };
    let told = if policy.may_match(tools) {
        match misnamed_line(&policy.misnamed(tools), agent) {
            Some(line) => line,
            None => return reply,
        }
    } else {
        format!("no rule of this policy can match a tool of {agent}, so every call passes")
    };
    HookReply { stderr: format!("lockgate: {told}; run `lockgate doctor {agent}`"), ..reply }
}

/// Why rules see no call of this agent: they name what is not a tool of it.
fn misnamed_line(misnamed: &[MisnamedTool], agent: &str) -> Option<String> {
    let (MisnamedTool { name, file, meant }, others) = misnamed.split_first()?;
    let right = match meant {
        Some(meant) => format!("its name is `{meant}`"),
        None => format!("write `map any shell running {name} as {name}`"),
    };
    let more = match others.len() {
        0 => String::new(),
        more => format!("; {more} more names are wrong"),
    };
    let told =
        format!("`{name}` in `{file}` is not a tool of {agent}, so its rules see no call: {right}{more}");
    Some(visible(&told))
}
