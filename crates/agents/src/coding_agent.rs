//! What Lockgate has to know about a coding agent.
//!
//! [`CodingAgent`] is implemented once for each agent, in a file of its own in `agents/`: how it writes events and obeys
//! answers, where its settings are, and by what its processes are known ([`Facts`]). An agent decides nothing, reads no
//! file and knows no clock. Its tools are rows of the table in `call/src/tools/`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::{
    edit::{Form, HookCommand, Mistake, Places, Scope},
    event::{Answer, Ask, Event, EventError, HookReply, Message},
};

/// How long an agent waits for our answer about a call: long enough for a human to be asked meanwhile. Some agents run
/// the tool when this time is over, so a hook process has to end well before.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(600);

/// How long an agent waits for our answer to anything else.
pub(crate) const OTHER_LIMIT: Duration = Duration::from_secs(60);

/// What is said of an agent that does not tell its hooks what the user wrote.
pub(crate) const NEVER_HEARS_USER: &str = "it does not tell Lockgate what the user writes: rules with `must come from user` \
                                           or `require user to say` ask a human or block";

/// What differs from agent to agent.
pub(crate) trait CodingAgent: Sync {
    fn facts(&self) -> &'static Facts;

    /// The agent that sent the event, for the names of its sessions. It is another than the one the hook was
    /// installed for where that other runs the same configuration: Copilot and Cursor read `.claude/settings.json`.
    fn sender(&self, _message: &Message) -> &'static str {
        self.facts().name
    }

    /// How a question reaches a human under this agent, unless settings are stricter. Under one that cannot ask, the
    /// hook waits for `lockgate approve`.
    fn asking(&self, _message: &Message) -> Ask {
        Ask::Wait
    }

    /// Whether the agent can put a call off until a human has answered.
    fn can_defer(&self, _message: &Message) -> bool {
        false
    }

    /// How long the agent waits for the hook, as `lockgate init` installs it.
    fn waits_for(&self, event: &Event) -> Duration {
        match event {
            Event::Call(_) => CALL_LIMIT,
            Event::Result(_)
            | Event::Refused(_)
            | Event::Session { .. }
            | Event::Prompt(_)
            | Event::Other => OTHER_LIMIT,
        }
    }

    /// Reads an event. An event of an unknown kind that carries a tool call is an [`EventError`]: it is blocked.
    fn decode(&self, message: &Message) -> Result<Event, EventError>;

    /// Writes an answer to an event that was read, in the form that makes this agent obey.
    fn encode(&self, message: &Message, answer: &Answer) -> HookReply;

    /// Writes that Lockgate itself has failed, so that the agent blocks; the message is none where it could not be
    /// read. The line is one clear sentence, never empty.
    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply;

    /// What the agent does with a reply to the event before a tool runs, as it was seen when the agent was run. An
    /// agent whose hooks fail closed in the form that `lockgate init` writes is taken to be installed so.
    fn reaction(&self, reply: &HookReply) -> Reaction;

    /// The event of a made-up shell command that has not run, as the agent would write it.
    fn trial(&self, session: &str, command: &str, folder: &str) -> Value;

    /// The files that hold the hooks; none where the agent cannot be reached in this scope.
    fn files(&self, _places: &Places<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The text of a file with our hooks in it. `file` is one of [`CodingAgent::files`].
    fn installed(&self, _file: &Path, text: Option<&str>, _command: &HookCommand) -> Result<String, Mistake> {
        Ok(text.unwrap_or_default().to_owned())
    }

    /// The text without them; none where the file was ours alone.
    fn removed(&self, _file: &Path, text: &str) -> Result<Option<String>, Mistake> {
        Ok(Some(text.to_owned()))
    }

    /// Other files in which hooks may be turned off.
    fn switch_files(&self, _places: &Places<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether such a file leaves them on.
    fn leaves_on(&self, _text: &str) -> Result<(), Mistake> {
        Ok(())
    }

    /// The files in which the agent keeps its MCP servers, and how it writes them down.
    fn server_files(&self, _places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        Vec::new()
    }

    /// What has to be done by hand after an installation.
    fn next_steps(&self, _scope: Scope) -> &'static [&'static str] {
        &[]
    }
}

/// What an agent does with a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Reaction {
    /// It goes on as it would without a hook.
    AsWithoutUs,
    /// It does not run the tool.
    Blocks,
    /// It asks its human.
    Asks,
    /// It runs the tool with this input.
    RunsWith(Value),
    /// It goes on where it would have asked.
    SkipsItsPrompt,
    /// It waits for ever.
    Hangs,
}

impl Reaction {
    /// The reaction to a reply that may rewrite the input.
    pub(crate) fn to_input(input: Option<&Value>) -> Self {
        match input {
            Some(input) if input.is_object() => Self::RunsWith(input.clone()),
            _ => Self::AsWithoutUs,
        }
    }
}

/// The object that a hook printed on stdout; null where it printed something else.
pub(crate) fn printed_object(reply: &HookReply) -> Value {
    let object: Option<Value> = serde_json::from_str(reply.stdout.trim()).ok().filter(Value::is_object);
    object.unwrap_or_default()
}

/// What is the same for every session of an agent.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Its name on the command line and in the names of its sessions.
    pub(crate) name: &'static str,
    pub(crate) signs: Signs,
    pub(crate) processes: Processes,
    /// The variable that holds the name of the session, for MCP servers that the agent starts.
    pub(crate) session_variable: Option<&'static str>,
    /// Its settings of hooks and of MCP servers, in the project and at home; each may be there or not.
    pub(crate) switches: &'static [&'static str],
    /// Texts that name these settings where a call cannot be read whole; all of a row together.
    pub(crate) marks: &'static [&'static [&'static str]],
    /// Words of command lines and settings that start the agent without its hooks.
    pub(crate) switch_words: &'static [&'static str],
    /// What no hook can help, and what only a human can look at.
    pub(crate) limits: &'static [&'static str],
}

impl Facts {
    /// An agent of which only the name is known.
    pub(crate) const fn of(name: &'static str) -> Self {
        Self {
            name,
            signs: Signs { project: &[], home: &[], programs: &[] },
            processes: Processes { programs: &[], packages: &[], variables: &[] },
            session_variable: None,
            switches: &[],
            marks: &[],
            switch_words: &[],
            limits: &[],
        }
    }
}

/// By what an agent is known to be in use.
#[derive(Debug)]
pub(crate) struct Signs {
    pub(crate) project: &'static [&'static str],
    pub(crate) home: &'static [&'static str],
    pub(crate) programs: &'static [&'static str],
}

/// By what the processes of an agent are known.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) programs: &'static [&'static str],
    /// Parts of paths, where an interpreter runs it.
    pub(crate) packages: &'static [&'static str],
    /// Variables that it sets for what it starts, and no other program sets.
    pub(crate) variables: &'static [&'static str],
}
