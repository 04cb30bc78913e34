//! The words of the command line.
//!
//! This is the only file that knows how options are spelt; each command gets its arguments as values. [`GROUPS`] is the
//! order in which `lockgate --help` lists the commands. There are no environment variables that change a verdict.

use std::path::PathBuf;

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use lockgate::{
    Mode, Time,
    store::{Anchor, from_hex},
};
use lockgate_agents::{Agent, settings::Registry};

use crate::{console::wrapped, protocol::PromptForm, serve::Clock, when};

/// A gate between AI agents and their tools
#[derive(Debug, Parser)]
#[command(name = "lockgate", version, arg_required_else_help = true, max_term_width = 80, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Arguments {
    /// Reads the command line of this process; ends the process where it asks for help or has a mistake.
    pub(crate) fn read() -> Self {
        let matches = command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Whether the command has stdin and stdout to itself: nothing else may hold them then.
    pub(crate) fn speaks_itself(&self) -> bool {
        matches!(&self.command, Command::Mcp(mcp) if mcp.command.is_none())
    }

    /// Whether the output is for programs.
    pub(crate) fn prints_data(&self) -> bool {
        match self.command {
            Command::Gate(_)
            | Command::Hook(_)
            | Command::Graph(_)
            | Command::Completions(_)
            | Command::Man(_) => true,
            Command::Mcp(_) => self.json,
            Command::Demo
            | Command::Init(_)
            | Command::Uninstall(_)
            | Command::Try(_)
            | Command::Diff(_)
            | Command::Check(_)
            | Command::Explain(_)
            | Command::Status(_)
            | Command::Prompt(_)
            | Command::Migrate(_)
            | Command::See(_)
            | Command::Replay(_)
            | Command::Pending(_)
            | Command::Approve(_)
            | Command::Refuse(_)
            | Command::Halt(_)
            | Command::Resume(_)
            | Command::Trust(_)
            | Command::Doctor(_) => self.json,
            Command::Verify(ref verify) => self.json || verify.format != ReportFormat::Text,
            Command::Audit(ref audit) => self.json || audit.prints_data(),
        }
    }
}

/// The commands as `lockgate --help` groups them.
const GROUPS: &[(&str, &[&str])] = &[
    ("First steps", &["demo", "init", "trust", "try", "doctor", "uninstall"]),
    ("Write policies", &["verify", "migrate", "check", "explain", "diff", "graph", "see"]),
    ("Watch and answer", &["pending", "approve", "refuse", "halt", "resume", "status"]),
    ("Connect agents", &["hook", "mcp", "gate", "prompt"]),
    ("Audit", &["audit", "replay"]),
    ("Terminal", &["completions", "man", "help"]),
];

/// The columns in which the name of a command stands, with the space before and behind it.
const NAME_COLUMNS: usize = 15;

/// The whole command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        groups(&command)
    );
    command.help_template(template)
}

/// One line for each command, below the name of its group.
fn groups(command: &clap::Command) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{group}:\n"));
        for name in *names {
            let found = command.get_subcommands().find(|it| it.get_name() == *name);
            let about = match found {
                Some(found) => {
                    let aliases: Vec<&str> = found.get_visible_aliases().collect();
                    let about = found.get_about().map(ToString::to_string).unwrap_or_default();
                    if aliases.is_empty() { about } else { format!("{about} (also: {})", aliases.join(", ")) }
                }
                // The parser adds this one by itself.
                None => "Show the help of a command".to_owned(),
            };
            let mut name = format!("  {name}");
            for line in wrapped(&about, NAME_COLUMNS) {
                text.push_str(&format!("{name:<NAME_COLUMNS$}{line}\n"));
                name.clear();
            }
        }
        text.push('\n');
    }
    text
}

const EXAMPLES: &str = "\
Examples:
  lockgate demo                       see it work
  lockgate init                       protect the agents that you use
  lockgate try \"rm -rf /\"             what would happen to this command?
  lockgate verify                     check the policy in force
  lockgate pending                    see what waits for your answer

Exit 0 is yes, 1 is no, 2 means that Lockgate could not tell.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove an example policy and play a session through it
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Install hooks for your coding agents and write a first policy
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArguments),
    /// Judge a command under the policy in force
    #[command(after_help = TRY_EXAMPLES)]
    Try(TryArguments),
    /// Check that the installed hooks run and that they block
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// Remove the hooks from your coding agents
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArguments),
    /// Trust a project's policy and settings as they are now
    #[command(after_help = TRUST_EXAMPLES)]
    Trust(TrustArguments),
    /// Check a policy for mistakes and prove its claims
    #[command(after_help = VERIFY_EXAMPLES, visible_aliases = ["validate", "lint", "test"])]
    Verify(VerifyArguments),
    /// Rewrite the old words of a policy file
    #[command(after_help = MIGRATE_EXAMPLES)]
    Migrate(MigrateArguments),
    /// Judge one call
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Explain verdicts rule by rule, or explain a finding
    #[command(after_help = EXPLAIN_EXAMPLES, override_usage = EXPLAIN_USAGE)]
    Explain(ExplainArguments),
    /// Compare two policies and show the sessions that they judge differently
    #[command(after_help = DIFF_EXAMPLES, override_usage = DIFF_USAGE)]
    Diff(DiffArguments),
    /// Print what the model should know about a session
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArguments),
    /// Draw the nets of a policy
    #[command(after_help = GRAPH_EXAMPLES)]
    Graph(GraphArguments),
    /// Show what Lockgate sees in a call
    #[command(after_help = SEE_EXAMPLES)]
    See(SeeArguments),
    /// List the questions that wait for a human
    #[command(after_help = PENDING_EXAMPLES)]
    Pending(PendingArguments),
    /// Answer questions with yes
    #[command(after_help = APPROVE_EXAMPLES)]
    Approve(AnswerArguments),
    /// Answer questions with no
    #[command(after_help = REFUSE_EXAMPLES)]
    Refuse(AnswerArguments),
    /// Block every further call until `lockgate resume`
    #[command(after_help = HALT_EXAMPLES)]
    Halt(HaltArguments),
    /// End a halt
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArguments),
    /// Show the policy in force and the state of each session
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArguments),
    /// Answer one hook event of a coding agent; `lockgate init` installs this
    #[command(after_help = HOOK_EXAMPLES)]
    Hook(HookArguments),
    /// Run a proxy in front of MCP servers and judge every tool call
    #[command(after_help = MCP_EXAMPLES, override_usage = MCP_USAGE, args_conflicts_with_subcommands = true)]
    Mcp(Box<McpArguments>),
    /// Judge calls from stdin, one JSON object per line
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArguments),
    /// List, follow, export, verify or prune the audit log
    #[command(after_help = AUDIT_EXAMPLES, args_conflicts_with_subcommands = true)]
    Audit(Box<AuditArguments>),
    /// Replay recorded sessions and list the verdicts that would change
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArguments),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Print the manual page, or write all manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArguments),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  lockgate demo
  lockgate demo --json | jq .answer.verdict";

const INIT_EXAMPLES: &str = "\
Examples:
  lockgate init                       the agents in use here; asks first
  lockgate init claude-code --user    Claude Code, in all projects
  lockgate init --dry-run             only show the changes
  lockgate init --exclude             keep the files out of version control
  lockgate init --policy-only --yes   only write .lockgate/policy.rules
  lockgate init --mcp                 also put the proxy in front of MCP servers
  lockgate init --mcp-only --user     only the user's MCP servers

With --mcp, a server that runs as `npx -y x` then runs as
`lockgate mcp … -- npx -y x`. Servers that need a sign-in stay as they are;
init lists them.

Lockgate checks every file before it writes the first one. It never changes a
policy that already exists. Exit 0: done or nothing to do, 1: you said no,
2: could not.";

const TRY_EXAMPLES: &str = "\
Examples:
  lockgate try \"rm -rf /\"
  lockgate try \"git push --force\" --agent codex
  lockgate try .env --tool Read
  lockgate try '{\"file_path\": \"/etc/hosts\"}' --tool Write --json

Nothing runs and nothing is recorded: the call is judged as the first one of a
new session. Exit 0: allowed, 1: blocked or a human is asked, 2: could not tell.";

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  lockgate uninstall                  all agents, in this project
  lockgate uninstall codex --user     Codex, in the user's settings
  lockgate uninstall --all            also delete the policy and the sessions

You confirm at the terminal by typing a word that it shows. MCP servers get back
their old entries, byte for byte.
Exit 0: done or nothing to do, 1: you said no, 2: could not.";

const HOOK_EXAMPLES: &str = "\
Examples:
  lockgate hook claude-code < event.json
  echo '{\"event\": \"before\", \"session\": \"s\", \"tool\": \"deploy\", \"input\": {}}' |
    lockgate hook generic

The answer has the form that the agent expects. When Lockgate itself fails, the
agent blocks the call: exit 2, and one line on stderr.";

const MCP_USAGE: &str = "\
lockgate mcp [OPTIONS] -- <COMMAND>...
       lockgate mcp [OPTIONS] --url <URL>
       lockgate mcp [OPTIONS] --config <FILE>
       lockgate mcp accept [NAME] [TOOL]...";

const MCP_EXAMPLES: &str = "\
Examples:
  lockgate mcp -- npx -y @modelcontextprotocol/server-filesystem .
  lockgate mcp --policy ops.rules --name docs --url http://127.0.0.1:8000/mcp
  lockgate mcp --config .mcp.json --listen 127.0.0.1:7070
  lockgate mcp accept                 review changed tool definitions

The proxy speaks on stdin and stdout, or over HTTP with --listen. The server
never sees a blocked call; the model gets a sentence that says why.
Exit 0: the client ended, 2: could not start, or the server ended.";

const MCP_ACCEPT_EXAMPLES: &str = "\
Examples:
  lockgate mcp accept                 all changes
  lockgate mcp accept fs read_file    one tool of one server
  lockgate mcp accept --json          only show the changes

Lockgate pins each tool definition when it first sees it. A tool that changed
since, or that is new, stays blocked until you accept the change. You confirm
at the terminal by typing a word that it shows.
Exit 0: done or nothing to accept, 1: you said no, 2: could not.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate verify                     the policy in force in this folder
  lockgate verify ops.rules
  lockgate verify policies/ --json | jq '.findings[].message'
  lockgate verify ops.rules --watch   again after every change, until Ctrl-C
  lockgate verify ops.rules --tools tools.json    does every tool name exist?
  lockgate verify ops.rules --agent claude-code   names Claude Code lacks
  lockgate verify ops.rules --strict --format github

Exit 0: no errors and every claim holds, 1: an error, a broken claim, or with
--strict a warning, 2: a claim was not decided, or a file could not be read.";

const DIFF_USAGE: &str = "lockgate diff [OPTIONS] [OLD] <NEW>";

const MIGRATE_EXAMPLES: &str = "\
Examples:
  lockgate migrate bundle.yaml > ruleset.yaml
  lockgate migrate bundle.yaml --write          in place
  lockgate migrate *.yaml --json | jq '.changes[]'

Comments and layout stay. Exit 0: done or nothing was old, 1: the file has other
mistakes or would mean something else, 2: a file could not be read.";

const DIFF_EXAMPLES: &str = "\
Examples:
  lockgate diff old.rules new.rules
  lockgate diff new.rules             compare it with the policy in force
  lockgate diff main/policies policies --json | jq '.changes[].kind'

Exit 0: no session is judged differently, 1: some are, 2: could not tell.";

const CHECK_EXAMPLES: &str = "\
Examples:
  lockgate check --call '{\"tool\": \"deploy\"}'      the policy in force
  lockgate check ops.rules \\
    --call '{\"tool\": \"bash\", \"input\": {\"command\": \"rm -rf data\"}}'
  lockgate check ops.rules --session day.json --save \\
    --call '{\"tool\": \"test\", \"ok\": true}'

Exit 0: allowed, 1: blocked or a human is asked, 2: could not tell.";

const EXPLAIN_USAGE: &str = "\
lockgate explain [OPTIONS] [POLICY]... <CALLS>
       lockgate explain [OPTIONS] <CODE>";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  lockgate explain ops.rules calls.jsonl
  lockgate explain calls.jsonl        under the policy in force
  lockgate explain dead-tool          what this finding means
  echo '{\"tool\": \"deploy\"}' | lockgate explain ops.rules -

Each line is a line of `lockgate gate`, or a call alone. A call alone succeeds
unless it says \"ok\": false. `at` sets the time, in milliseconds since 1970;
the clock starts at 0.";

const STATUS_EXAMPLES: &str = "\
Examples:
  lockgate status                     the policy in force, all sessions
  lockgate status --session claude-code/3f2a…         one session, in words
  lockgate status delivery.yaml       a policy before the first call
  lockgate status delivery.yaml --session day.json    one saved by `check`";

const PROMPT_EXAMPLES: &str = "\
Examples:
  lockgate prompt ops.rules                       at the beginning of a session
  lockgate prompt ops.rules --session day.json    a session that `check` saved
  lockgate prompt --session claude-code/3f2a…     a session of hooks
  lockgate prompt ops.rules --form nets           PetriFlow's formatSystemPrompt";

const AUDIT_EXAMPLES: &str = "\
Examples:
  lockgate audit                      the last 50 entries
  lockgate audit --verdict block --since 2h
  lockgate audit --session 'claude-code/*' --tool bash --follow
  lockgate audit --json | jq -r '.entry.reason // empty'
  lockgate audit --export log.jsonl
  lockgate audit verify               was anything changed?

WHEN is a time such as 2026-03-01T12:00:00Z, a day such as 2026-03-01, or an
age such as 90s, 30m, 2h or 3d. NAME may contain * and ?.";

const AUDIT_VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate audit verify
  lockgate audit verify --expect 1204:5f1c…      the head that you noted earlier
  lockgate audit verify log.jsonl --key 9b0e…    an export, and your key

Note the head that this prints, in a place that the database's users cannot
change. Only then can you find an older copy or a rewritten log.
Exit 0: intact, 1: something is wrong, 2: could not tell.";

const AUDIT_PRUNE_EXAMPLES: &str = "\
Examples:
  lockgate audit --export 2026.jsonl && lockgate audit prune --before 90d
  lockgate audit prune --before 2026-01-01 --yes

This also forgets sessions that were not used since; their limits start again.
The audit log records what was pruned. Exit 0: done or nothing to do, 1: you
said no, 2: could not.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  lockgate replay                     all sessions, under the policy in force
  lockgate replay new.rules --since 7d
  lockgate replay new.rules --file log.jsonl --json | jq '.flips[].new'

Exit 0: every verdict stays the same, 1: some change, 2: could not tell.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  lockgate doctor                     agents with hooks here, or in use
  lockgate doctor claude-code         one agent
  lockgate doctor --json | jq '.agents[].checks[] | select(.result != \"ok\")'

Doctor runs each installed hook on made-up calls and made-up faults, in
temporary folders. It runs no tool and touches no session.
Exit 0: everything is enforced, 1: something is not, 2: could not tell.";

const PENDING_EXAMPLES: &str = "\
Examples:
  lockgate pending                    one line for each question
  lockgate pending 3                  question 3: the whole call, the rules
  lockgate pending --watch            a live list, with a bell and notifications
  lockgate pending --json | jq '.questions[].short_id'

Exit 0: done, with or without questions, 2: could not tell.";

const APPROVE_EXAMPLES: &str = "\
Examples:
  lockgate approve 3                  question 3 of `lockgate pending`
  lockgate approve a1@codex/3f2a…     by its whole name
  lockgate approve --all              all open questions

You confirm at the terminal by typing a word that it shows; an agent cannot.
The first answer stands. Exit 0: stored, 1: someone answered before, or you
said no, 2: the question is not open.";

const REFUSE_EXAMPLES: &str = "\
Examples:
  lockgate refuse 3                   question 3 of `lockgate pending`
  lockgate refuse a1@codex/3f2a…      by its whole name
  lockgate refuse --all               all open questions

You confirm at the terminal by typing a word that it shows; an agent cannot.
The first answer stands. Exit 0: stored, 1: someone answered before, or you
said no, 2: the question is not open.";

const HALT_EXAMPLES: &str = "\
Examples:
  lockgate halt                       everything
  lockgate halt \"deploys are frozen\"  everything, and tell the agents why
  lockgate halt --session claude-code/3f2a… \"let me look first\"

A call that already runs is not stopped; the next one is.";

const RESUME_EXAMPLES: &str = "\
Examples:
  lockgate resume
  lockgate resume --session claude-code/3f2a…

You confirm at the terminal by typing a word that it shows.";

const TRUST_EXAMPLES: &str = "\
Examples:
  lockgate trust                      this folder's project; asks first
  lockgate trust --list               list the trusted projects
  lockgate trust --revoke             stop trusting this project
  lockgate trust --json               show what it would trust, and do not ask

Until you trust a project, its policy counts only as far as it restricts. Trust
covers the contents of every policy and settings file, so an edit ends it. Only
a human at a terminal can trust a project.
Exit 0: trusted, 1: not trusted, or nothing was revoked, 2: could not.";

const SEE_EXAMPLES: &str = "\
Examples:
  lockgate see --tool bash --input '{\"command\": \"cd /srv && sudo rm -rf data\"}'
  lockgate see ops.rules --tool bash --input '{\"command\": \"cp a b; rm a\"}'

Exit 0: Lockgate understands all of it, 1: there are doubts, 2: not a call.";

const GRAPH_EXAMPLES: &str = "\
Examples:
  lockgate graph --out policy.svg     the policy in force
  lockgate graph ops.rules --out ops.svg
  lockgate graph ops.rules --net limit-deploy-3 --format dot | dot -Tpng
  lockgate graph ops.rules --out pictures/    one file for each net
  lockgate graph ops.rules --states --format mermaid
  lockgate graph ops.rules --states --about deploy --out deploy.svg

With --states, related rules share one picture. A state shows what is closed or
what is left, an arrow what happens. Lockgate leaves out calls that change
nothing, and groups with more than 60 states.";

const COMPLETIONS_EXAMPLES: &str = "\
Example:
  lockgate completions fish > ~/.config/fish/completions/lockgate.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  lockgate man | man -l -             read the main page
  lockgate man --out ~/.local/share/man/man1    write a page for each command";

/// Where the policy is.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
}

/// Which settings of agents are changed, and how.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// The agents [default: the ones in use here]
    #[arg(value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// Change the user's settings, for all projects, instead of this folder's
    #[arg(long)]
    pub(crate) user: bool,
    /// Write without asking; `uninstall` still needs a human at a terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// The agent that sends the event
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(Agent::with_hooks().map(Agent::name)))]
    pub(crate) agent: String,
}

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) serve: McpServeArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Review changed tool definitions and accept them
    #[command(after_help = MCP_ACCEPT_EXAMPLES)]
    Accept(McpAcceptArguments),
}

/// The servers behind the proxy, and its clients.
#[derive(Debug, Args)]
pub(crate) struct McpServeArguments {
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// The client's name for this server; rules then see its tools as mcp__NAME__tool, as the client's hooks do
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// The agent that is the client; the proxy then uses the sessions and tool names of its hooks
    #[arg(long, value_parser = agent(), value_name = "AGENT", requires = "name", conflicts_with = "listen")]
    pub(crate) host: Option<Agent>,
    /// The session of all calls [default: the agent's session, or one for this process]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// The address of a server that speaks HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "server"])]
    pub(crate) url: Option<String>,
    /// A client's file of servers, under `mcpServers` or `servers`; one proxy serves all of them
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) config: Option<PathBuf>,
    /// Serve clients over HTTP at this address, such as 127.0.0.1:7070, instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The file with the token that HTTP clients must send; required where others can reach the address
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Keep sessions in memory; they end with this process
    #[arg(long, conflicts_with = "state")]
    pub(crate) memory: bool,
    /// How to list tools that the rules never allow
    #[arg(long, value_enum, default_value = "mark")]
    pub(crate) dead_tools: DeadToolsArgument,
    /// How long a call waits for a human, in seconds, 1 to 3600
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) ask_for: u64,
    /// Enforce the rules, or only observe [default: as the settings say]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArgument>,
    /// The server to start, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) server: Vec<String>,
}

/// How a tool is listed that no session can ever call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeadToolsArgument {
    /// As the server describes it
    Show,
    /// With a remark before its description
    Mark,
    /// Not at all
    Hide,
}

#[derive(Debug, Args)]
pub(crate) struct McpAcceptArguments {
    /// The server, by the name or command that `lockgate mcp accept` lists [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Its tools [default: all that changed]
    #[arg(value_name = "TOOL", requires = "server")]
    pub(crate) tools: Vec<String>,
    /// With --json: accept, after a human has confirmed at the terminal
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
    /// Write a first policy and no hooks
    #[arg(long, conflicts_with = "agents")]
    pub(crate) policy_only: bool,
    /// Also put the proxy in front of the MCP servers of these agents [default: of all known clients]
    #[arg(long, conflicts_with = "policy_only")]
    pub(crate) mcp: bool,
    /// Put the proxy in front of MCP servers and write no hooks
    #[arg(long, conflicts_with_all = ["policy_only", "mcp"])]
    pub(crate) mcp_only: bool,
    /// Keep the new files out of version control, in `.git/info/exclude` [default: ask]
    #[arg(long, conflicts_with_all = ["no_exclude", "user"])]
    pub(crate) exclude: bool,
    /// Leave `.git/info/exclude` as it is
    #[arg(long)]
    pub(crate) no_exclude: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// The command, in quotes; with --tool, the file to read or the tool's input as JSON
    #[arg(value_name = "COMMAND")]
    pub(crate) text: String,
    /// The tool that is called [default: the agent's shell tool]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) tool: Option<String>,
    /// The agent that calls it [default: the agent that has hooks here, or claude-code]
    #[arg(long, value_parser = agent(), value_name = "AGENT")]
    pub(crate) agent: Option<Agent>,
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
    /// Also delete Lockgate's own folders: policies, settings, sessions
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// Verify again whenever a file of the policy changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: end after this many rounds; for scripts and tests
    #[arg(long, value_name = "N", requires = "watch", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    /// Fail on warnings, too: exit 1
    #[arg(long)]
    pub(crate) strict: bool,
    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub(crate) format: ReportFormat,
    /// Rewrite old words in the files first, as `lockgate migrate --write`
    #[arg(long, conflicts_with = "watch")]
    pub(crate) fix: bool,
}

/// Which tools there are, to find names that no tool has.
#[derive(Debug, Args)]
pub(crate) struct KnownToolsArguments {
    /// The agents the policy is for; by default those whose hooks use it
    #[arg(long = "agent", value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// A list of all tools, to find misspelt names: an MCP server's answer to `tools/list`, a JSON array of names, or
    /// one name per line
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object, as with --json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
}

/// Whether conditions of workflows may run programs.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// Let workflow conditions run their programs, with the rights of this command
    #[arg(long)]
    pub(crate) exec: bool,
    /// With --exec: how long each program may run, in seconds, 1 to 3600 [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "exec", value_parser = clap::value_parser!(u64).range(1..=EXEC_SECONDS_MAX))]
    pub(crate) exec_limit: Option<u64>,
}

const EXEC_SECONDS_MAX: u64 = 3600;

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The old policy, a file or a folder [default: the policy in force in this folder], and the new one
    #[arg(required = true, num_args = 1..=2, value_name = "POLICY")]
    pub(crate) policies: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The call: `tool`, and optionally `input`, `sender`, `context`, … as in a `call` line of `lockgate gate`; `ok` is
    /// its result, `at` its time in milliseconds since 1970
    #[arg(long, value_name = "JSON")]
    pub(crate) call: String,
    /// The file of a saved session; a missing file is a new session
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Save the session with this call in it
    #[arg(long, requires = "session")]
    pub(crate) save: bool,
    /// Ask every rule about the call as the first one, without a human; store nothing
    #[arg(long, conflicts_with_all = ["session", "exec"])]
    pub(crate) dry_run: bool,
    /// With --dry-run: the tool's output, as JSON or text, to see what output rules do with it
    #[arg(long, value_name = "OUTPUT", requires = "dry_run")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Policy files or folders [default: the policy in force in this folder], then the file of calls, or - for stdin.
    /// Or, alone, the code of a finding
    #[arg(required = true, value_name = "POLICY… CALLS | CODE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also show the rules that have no say
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Policy files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Rewrite the files in place instead of printing them
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArguments {
    #[command(flatten)]
    pub(crate) of: StatusArguments,
    /// In words, or net by net
    #[arg(long, value_enum, default_value = "words")]
    pub(crate) form: PromptForm,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Policy files or folders; without them, status shows the policy in force and the sessions of hooks
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// With POLICY: the file of a saved session [default: a new session]. Without: the name of a session
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) session: Option<PathBuf>,
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) state: Option<PathBuf>,
}

/// Where the sessions of hooks are stored.
#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PendingArguments {
    /// Show all of these questions, by short id or whole name
    #[arg(value_name = "ID", conflicts_with = "watch")]
    pub(crate) questions: Vec<String>,
    /// Keep the list up to date until Ctrl-C; ring the bell and notify when a question arrives
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: no bell and no notification
    #[arg(long, requires = "watch")]
    pub(crate) quiet: bool,
    /// With --watch: end after this many changes; for scripts and tests
    #[arg(long, value_name = "N", requires = "watch", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The questions: short ids as `lockgate pending` shows them, or whole names such as a1@codex/3f2a…
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) questions: Vec<String>,
    /// All open questions that have no answer yet
    #[arg(long, conflicts_with = "questions")]
    pub(crate) all: bool,
    /// Without effect; a human confirms every answer at a terminal
    #[arg(long, requires = "all")]
    pub(crate) yes: bool,
    /// Who answers, for the audit log [default: the user who runs this]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct HaltArguments {
    /// Why; the blocked agents are told
    #[arg(value_name = "REASON", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// Halt only this session [default: everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// End the halt of this session [default: the halt of everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The agents [default: the ones that have hooks here or are in use]
    #[arg(value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    #[command(flatten)]
    pub(crate) list: AuditListArguments,
}

impl AuditArguments {
    fn prints_data(&self) -> bool {
        self.command.is_none() && (self.list.csv || self.list.export.is_some())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Find entries of the audit log that were changed, removed or added
    #[command(after_help = AUDIT_VERIFY_EXAMPLES)]
    Verify(AuditVerifyArguments),
    /// Delete old sessions and the old part of the audit log
    #[command(after_help = AUDIT_PRUNE_EXAMPLES)]
    Prune(AuditPruneArguments),
}

/// Which entries of the audit log are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// From this time on
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) since: Option<Time>,
    /// Before this time
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) until: Option<Time>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditListArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls with this verdict
    #[arg(long, value_enum)]
    pub(crate) verdict: Option<VerdictArgument>,
    /// Only calls that this rule decided about
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
    /// Only the last N entries [default: 50; with --json or --csv all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "export")]
    pub(crate) csv: bool,
    /// Keep printing new entries until Ctrl-C
    #[arg(long, conflicts_with = "export")]
    pub(crate) follow: bool,
    /// Write the whole log as JSON lines to a file, or to stdout with -; the last line is the signed head
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArgument {
    Allow,
    Redact,
    Ask,
    Block,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArguments {
    /// An exported log [default: the database]
    #[arg(value_name = "FILE", conflicts_with = "state")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// The head that you noted: a record's number and its hash
    #[arg(long, value_name = "N:HASH", value_parser = anchor)]
    pub(crate) expect: Option<Anchor>,
    /// The public key that you noted
    #[arg(long, value_name = "HEX", value_parser = public_key)]
    pub(crate) key: Option<PublicKey>,
}

/// The public half of the key that signs an audit log.
pub(crate) type PublicKey = [u8; 32];

fn anchor(text: &str) -> Result<Anchor, String> {
    let read = || {
        let (n, hash) = text.split_once(':')?;
        Some(Anchor { n: n.parse().ok()?, hash: from_hex(hash)? })
    };
    read().ok_or_else(|| {
        "not a head; write a record's number, a colon and the 64 hex digits of its hash, as `audit verify` prints them"
            .to_owned()
    })
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    from_hex(text).ok_or_else(|| "not a key; write the 64 hex digits that `audit verify` prints".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct AuditPruneArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// Delete what is older than this
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) before: Time,
    /// Delete without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// Take the sessions from an exported log instead of the database
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Enforce the rules, or only observe [default: as the settings say; with POLICY, enforce]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArgument>,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// The folder of the project [default: the nearest one, from this folder upwards]
    #[arg(value_name = "PROJECT", conflicts_with = "list")]
    pub(crate) project: Option<PathBuf>,
    /// List the trusted projects and whether they have changed since
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Stop trusting a project
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SeeArguments {
    /// Policy files or folders whose `map` lines name what the call does
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// The tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// The input of the tool
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// The folder that relative paths start from
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The format [default: the ending of --out, or svg]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Draw only this net
    #[arg(long, value_name = "NAME")]
    pub(crate) net: Option<String>,
    /// Draw the states of related rules together instead of each net
    #[arg(long, conflicts_with = "net")]
    pub(crate) states: bool,
    /// With --states: only the rules about this name
    #[arg(long, value_name = "NAME", requires = "states")]
    pub(crate) about: Option<String>,
    /// Write to this file, or one file for each net into this folder
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// How a net is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Svg,
    Dot,
    Mermaid,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GateArguments {
    /// Policy files or folders
    #[arg(required = true, value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// Where to store sessions: memory, or sqlite:FILE
    #[arg(long, value_name = "URL", default_value = "memory")]
    pub(crate) store: String,
    /// The session of lines that do not name one
    #[arg(long, value_name = "ID", default_value = "default", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// The clock: the machine's, or the `at` of each line in milliseconds since 1970
    #[arg(long, value_enum, default_value = "real")]
    pub(crate) clock: ClockArgument,
    /// Enforce the rules, or let every call pass and only say what the verdict would be
    #[arg(long, value_enum, default_value = "enforce")]
    pub(crate) mode: ModeArgument,
    /// Block calls that would change the files of this policy, the store or Lockgate, and calls that mention a command
    /// for humans
    #[arg(long)]
    pub(crate) protect: bool,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

/// What can be switched on and off, and what is on when a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct RegistryArguments {
    /// A name of your own for nets and whole files, to switch them together: safety=safety.rules,block-rm
    #[arg(long = "name", value_name = "NAME=MEMBER,…", value_parser = named)]
    pub(crate) names: Vec<(String, Vec<String>)>,
    /// What is active when a session begins: names, nets or files; all if this is left out
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) active: Option<Vec<String>>,
}

impl RegistryArguments {
    /// The same for a gate.
    pub(crate) fn registry(&self) -> Registry {
        Registry { names: self.names.clone(), active: self.active.clone() }
    }
}

/// Reads the name of an agent that hooks can be installed for.
fn agent() -> impl TypedValueParser<Value = Agent> {
    let names = PossibleValuesParser::new(Agent::ALL.iter().map(|agent| agent.name()));
    names.try_map(|name| Agent::named(&name).ok_or("it is not a known agent"))
}

fn named(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, members) = text.split_once('=').ok_or("write NAME=MEMBER, such as safety=safety.rules")?;
    let members: Vec<String> = members.split(',').map(str::trim).map(str::to_owned).collect();
    if name.is_empty() || members.iter().any(String::is_empty) {
        return Err("a name and its members must not be empty".to_owned());
    }
    Ok((name.to_owned(), members))
}

const GATE_EXAMPLES: &str = "\
Example:
  $ lockgate gate ops.rules
  {\"call\": {\"id\": \"1\", \"tool\": \"test\"}}
  {\"id\":\"1\",\"session\":\"default\",\"verdict\":\"allow\",\"reason\":\"\", …}
  {\"result\": {\"id\": \"1\", \"ok\": true}}
  {\"id\":\"1\",\"session\":\"default\",\"settled\":true,\"verdict\":\"allow\"}

Lines: call, result, answer, session, stage, net, halt, resume, untaint, status,
prompt.
Exit 0, or 2 if a line could not be read.";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClockArgument {
    Real,
    Lines,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModeArgument {
    Enforce,
    Observe,
}

impl From<ClockArgument> for Clock {
    fn from(argument: ClockArgument) -> Self {
        match argument {
            ClockArgument::Real => Self::Real,
            ClockArgument::Lines => Self::Lines,
        }
    }
}

impl From<ModeArgument> for Mode {
    fn from(argument: ModeArgument) -> Self {
        match argument {
            ModeArgument::Enforce => Self::Enforce,
            ModeArgument::Observe => Self::Observe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Arguments::command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut known: Vec<&str> = visible.map(clap::Command::get_name).chain(["help"]).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    /// An order to the tool: a verb first, a capital letter, no full stop; and no line runs over the edge.
    #[test]
    fn every_line_of_help_is_a_plain_order_that_fits() {
        fn look(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{about}");
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(!examples.is_empty(), "{} has no example", command.get_name());
            for line in examples.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
            for word in ["is no ", "whoever", "nobody", "somebody"] {
                let texts = command.get_arguments().filter_map(|it| it.get_help()).map(ToString::to_string);
                for text in texts.chain([about.clone(), examples.clone()]) {
                    assert!(!text.contains(word), "{}: {text}", command.get_name());
                }
            }
            command.get_subcommands().for_each(look);
        }
        look(&Arguments::command());
        let help = command().render_help().to_string();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}
