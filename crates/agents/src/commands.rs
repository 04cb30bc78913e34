//! The commands of Lockgate, in one table: who may have each carried out, and which are about state that the guardian keeps.
//!
//! Protection blocks calls of agents by it, and commands of root become the guardian's by it. A test of `cli` fails for a command
//! that has no row.

/// Who may have Lockgate carry out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Agents as well: it changes nothing.
    Anyone,
    /// A human: it refuses agents by itself, and calls that mention it are blocked in every spelling.
    Human,
    /// Humans, and programs that they have set up: calls of agents that run it are blocked if they can be read.
    Operator,
}

/// A command, or a command of a command.
#[derive(Clone, Copy, Debug)]
pub struct OwnCommand {
    /// Its words behind `lockgate`.
    pub name: &'static str,
    /// The words by which a text mentions it.
    pub spoken: &'static str,
    /// Who may run it.
    pub caller: Caller,
    /// Whether it is about state, keys or trust.
    pub uses_state: bool,
}

const fn row(name: &'static str, caller: Caller) -> OwnCommand {
    OwnCommand { name, spoken: name, caller, uses_state: false }
}

const fn with_state(name: &'static str, caller: Caller) -> OwnCommand {
    OwnCommand { uses_state: true, ..row(name, caller) }
}

/// All of them.
pub const COMMANDS: &[OwnCommand] = &[
    row("demo", Caller::Anyone),
    row("init", Caller::Operator),
    with_state("passphrase", Caller::Human),
    with_state("trust", Caller::Human),
    row("try", Caller::Operator),
    row("doctor", Caller::Operator),
    row("upgrade", Caller::Human),
    row("uninstall", Caller::Human),
    row("verify", Caller::Anyone),
    row("fmt", Caller::Operator),
    row("migrate", Caller::Operator),
    with_state("learn", Caller::Operator),
    row("lsp", Caller::Operator),
    row("check", Caller::Anyone),
    row("explain", Caller::Anyone),
    row("diff", Caller::Anyone),
    row("graph", Caller::Anyone),
    row("see", Caller::Anyone),
    with_state("pending", Caller::Anyone),
    with_state("approve", Caller::Human),
    with_state("refuse", Caller::Human),
    with_state("halt", Caller::Operator),
    with_state("resume", Caller::Human),
    with_state("accept-policy", Caller::Human),
    with_state("status", Caller::Anyone),
    row("hook", Caller::Operator),
    row("mcp", Caller::Operator),
    // `accept` alone: a script may compute the word before it.
    OwnCommand { spoken: "accept", ..row("mcp accept", Caller::Human) },
    row("gate", Caller::Operator),
    row("serve", Caller::Operator),
    // Many a text has a token in it, so both words are wanted.
    row("serve token", Caller::Human),
    row("prompt", Caller::Operator),
    row("guardian", Caller::Operator),
    with_state("audit", Caller::Operator),
    row("replay", Caller::Operator),
    row("completions", Caller::Anyone),
    row("man", Caller::Operator),
    row("help", Caller::Anyone),
];

/// The words by which texts mention commands that only these may run.
pub(crate) fn spoken_of(caller: Caller) -> Vec<&'static str> {
    COMMANDS.iter().filter(|command| command.caller == caller).map(|command| command.spoken).collect()
}

/// Whether the command of this name is about state, keys or trust.
pub fn uses_state(name: &str) -> bool {
    COMMANDS.iter().any(|command| command.name == name && command.uses_state)
}
