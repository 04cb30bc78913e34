//! The words of the command line.
//!
//! This is the only file that knows how options are spelt; each command gets its arguments as values. There
//! are no environment variables that change a verdict.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use lockgate::{
    Mode, Time,
    store::{Anchor, from_hex},
};

use crate::{hook::dialect, install::Agent, serve::Clock, when};

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
    /// Whether the command has stdin and stdout to itself: nobody may hold them then.
    pub(crate) fn speaks_itself(&self) -> bool {
        matches!(&self.command, Command::Mcp(mcp) if mcp.command.is_none())
    }

    /// Whether the output is for programs.
    pub(crate) fn prints_data(&self) -> bool {
        match self.command {
            Command::Gate(_) | Command::Hook(_) | Command::Graph(_) | Command::Completions(_) => true,
            Command::Mcp(_) => self.json,
            Command::Demo
            | Command::Init(_)
            | Command::Uninstall(_)
            | Command::Verify(_)
            | Command::Diff(_)
            | Command::Check(_)
            | Command::Explain(_)
            | Command::Status(_)
            | Command::See(_)
            | Command::Replay(_)
            | Command::Pending(_)
            | Command::Approve(_)
            | Command::Refuse(_)
            | Command::Halt(_)
            | Command::Resume(_)
            | Command::Doctor(_) => self.json,
            Command::Audit(ref audit) => self.json || audit.prints_data(),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  lockgate demo                       see it work
  lockgate init                       put it before the agents you use
  lockgate verify ops.rules           what the rules say, and what is wrong
  lockgate check ops.rules --call '{\"tool\": \"deploy\"}'
  lockgate gate ops.rules             judge calls from stdin, one JSON object a line

Exit 0 is yes, 1 is no, 2 is could not tell.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove an example policy and play a session through it
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Put Lockgate into the hooks of coding agents, with a first policy
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArguments),
    /// Take Lockgate out of the hooks of coding agents
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArguments),
    /// Answer one event of a coding agent; `lockgate init` installs it
    #[command(after_help = HOOK_EXAMPLES)]
    Hook(HookArguments),
    /// Stand before MCP servers, and judge every tool call
    #[command(after_help = MCP_EXAMPLES, override_usage = MCP_USAGE, args_conflicts_with_subcommands = true)]
    Mcp(Box<McpArguments>),
    /// Check that the hooks of coding agents run, and that they block
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// List the questions that wait for a human
    #[command(after_help = PENDING_EXAMPLES)]
    Pending(PendingArguments),
    /// Say yes to questions
    #[command(after_help = APPROVE_EXAMPLES)]
    Approve(AnswerArguments),
    /// Say no to questions
    #[command(after_help = REFUSE_EXAMPLES)]
    Refuse(AnswerArguments),
    /// Block every further call, of one session or of all, until `lockgate resume`
    #[command(after_help = HALT_EXAMPLES)]
    Halt(HaltArguments),
    /// Judge calls again after `lockgate halt`
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArguments),
    /// Look at a policy: its rules, their states, and what is wrong
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// Compare two policies: the shortest sessions that tell them apart
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArguments),
    /// Judge one call
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Judge calls from stdin: one JSON object a line in, one a line out
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArguments),
    /// Play calls and say why each verdict, rule by rule; or say what a finding means
    #[command(after_help = EXPLAIN_EXAMPLES, override_usage = EXPLAIN_USAGE)]
    Explain(ExplainArguments),
    /// Where sessions stand: their stages, and what is open and closed
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArguments),
    /// Read the audit trail: list, follow, export; verify or prune it
    #[command(after_help = AUDIT_EXAMPLES, args_conflicts_with_subcommands = true)]
    Audit(Box<AuditArguments>),
    /// Play recorded sessions through a policy: which verdicts would be others
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArguments),
    /// Show what the gate sees in a call
    #[command(after_help = SEE_EXAMPLES)]
    See(SeeArguments),
    /// Draw the nets of a policy
    #[command(after_help = GRAPH_EXAMPLES)]
    Graph(GraphArguments),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  lockgate demo
  lockgate demo --json | jq .answer.verdict";

const INIT_EXAMPLES: &str = "\
Examples:
  lockgate init                       the agents in use here, after a question
  lockgate init claude-code --user    Claude Code, in all projects
  lockgate init --dry-run             only show what would be changed
  lockgate init --policy-only --yes   only .lockgate/policy.rules
  lockgate init --mcp                 stand before MCP servers, too
  lockgate init --mcp-only --user     only before the user's MCP servers

A server that is run as `npx -y x` is then run as `lockgate mcp … -- npx -y x`.
Those that a client has to sign in to are left as they are, and named.

Every file is checked before the first is written; a policy that is there is
never touched. Exit 0: done or nothing to do, 1: you said no, 2: could not.";

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  lockgate uninstall                  all agents, in this project
  lockgate uninstall codex --user     Codex, for the user
  lockgate uninstall --all            the policy and its sessions, too

You confirm at the terminal by typing a word that is shown there.

MCP servers that `lockgate init --mcp` has put Lockgate before are given back as
they were, to the byte.
Exit 0: done or nothing to do, 1: you said no, 2: could not.";

const HOOK_EXAMPLES: &str = "\
Examples:
  lockgate hook claude-code < event.json
  echo '{\"event\": \"before\", \"session\": \"s\", \"tool\": \"deploy\", \"input\": {}}' |
    lockgate hook generic

The answer is in the host's own form. When Lockgate itself fails, the host is
made to block: exit 2, and a line on stderr.";

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
  lockgate mcp accept                 definitions of tools that have changed

It speaks on stdin and stdout, or with --listen over HTTP. A call that is
blocked is answered with a sentence for the model; the server never sees it.
Exit 0: the client has ended, 2: could not start, or the server has ended.";

const MCP_ACCEPT_EXAMPLES: &str = "\
Examples:
  lockgate mcp accept                 all that waits; you confirm at the terminal
  lockgate mcp accept fs read_file    one tool of one server
  lockgate mcp accept --json          only show what waits

A tool is pinned when it is seen first. One that has changed since, or has a new
name, is shown to clients as blocked until its change is accepted.
Exit 0: done or nothing waits, 1: you said no, 2: could not.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate verify ops.rules
  lockgate verify policies/ --json | jq '.findings[].message'
  lockgate verify ops.rules --watch   again after every change, until Ctrl-C
  lockgate verify ops.rules --tools tools.json    is every name a tool's?

Exit 0: no errors and every claim holds, 1: an error or a broken claim,
2: a claim was not decided, or a file could not be read.";

const DIFF_EXAMPLES: &str = "\
Examples:
  lockgate diff old.rules new.rules
  lockgate diff main/policies policies --json | jq '.changes[].kind'

Exit 0: no session tells them apart, 1: some does, 2: could not tell.";

const CHECK_EXAMPLES: &str = "\
Examples:
  lockgate check ops.rules \\
    --call '{\"tool\": \"bash\", \"input\": {\"command\": \"rm -rf data\"}}'
  lockgate check ops.rules --session day.json --save \\
    --call '{\"tool\": \"test\", \"ok\": true}'

Exit 0: allowed, 1: blocked or a human is wanted, 2: could not tell.";

const EXPLAIN_USAGE: &str = "\
lockgate explain [OPTIONS] <POLICY>... <CALLS>
       lockgate explain [OPTIONS] <CODE>";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  lockgate explain ops.rules calls.jsonl
  lockgate explain dead-tool          what this finding of `lockgate verify` means
  echo '{\"tool\": \"deploy\"}' | lockgate explain ops.rules -

A line is one of `lockgate gate`, or a call by itself, which succeeds unless it
says \"ok\": false. `at` says when, in milliseconds since 1970; it is 0 at first.";

const STATUS_EXAMPLES: &str = "\
Examples:
  lockgate status                                     what counts here, and all sessions
  lockgate status --session claude-code/3f2a…         one of them, in words
  lockgate status delivery.yaml                       before the first call
  lockgate status delivery.yaml --session day.json    a session that `check` saved";

const AUDIT_EXAMPLES: &str = "\
Examples:
  lockgate audit                      the last 50 entries
  lockgate audit --verdict block --since 2h
  lockgate audit --session 'claude-code/*' --tool bash --follow
  lockgate audit --json | jq -r '.entry.reason // empty'
  lockgate audit --export trail.jsonl
  lockgate audit verify               was anything changed?

WHEN is a moment like 2026-03-01T12:00:00Z, a day like 2026-03-01, or how long
ago: 90s, 30m, 2h, 3d. NAME may have * and ? in it.";

const AUDIT_VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate audit verify
  lockgate audit verify --expect 1204:5f1c…      the head as you noted it then
  lockgate audit verify trail.jsonl --key 9b0e…  an export, and the key you noted

Note the head that it prints where nobody who can change the database can change
the note: only so an older copy, or a trail written anew, is found.
Exit 0: whole, 1: something is wrong, 2: could not tell.";

const AUDIT_PRUNE_EXAMPLES: &str = "\
Examples:
  lockgate audit --export 2026.jsonl && lockgate audit prune --before 90d
  lockgate audit prune --before 2026-01-01 --yes

Sessions that nobody has used since are forgotten: what they have spent is spent
no more. The trail says what was pruned. Exit 0: done or nothing to do, 1: you
said no, 2: could not.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  lockgate replay                     the policy in force, through all there is
  lockgate replay new.rules --since 7d
  lockgate replay new.rules --file trail.jsonl --json | jq '.flips[].new'

Exit 0: every verdict stays, 1: some would be others, 2: could not tell.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  lockgate doctor                     the agents that have hooks here, or are in use
  lockgate doctor claude-code         one agent
  lockgate doctor --json | jq '.agents[].checks[] | select(.result != \"ok\")'

Each hook is run as it is installed, on made-up calls and on made-up faults, in
folders that are thrown away. No tool is run and no session is touched.
Exit 0: all is enforced, 1: something is not, 2: could not tell.";

const PENDING_EXAMPLES: &str = "\
Examples:
  lockgate pending
  lockgate pending --json | jq '.questions[].approval'

Exit 0: none or some, 2: could not tell.";

const APPROVE_EXAMPLES: &str = "\
Examples:
  lockgate approve a1@codex/3f2a…     as `lockgate pending` and the agent name it
  lockgate approve --all              all that are open

You confirm at the terminal by typing a word that is shown there; an agent
cannot. The first answer stands. Exit 0: taken, 1: somebody was first, or you said no,
2: no such question is open.";

const REFUSE_EXAMPLES: &str = "\
Examples:
  lockgate refuse a1@codex/3f2a…      as `lockgate pending` and the agent name it
  lockgate refuse --all               all that are open

You confirm at the terminal by typing a word that is shown there; an agent
cannot. The first answer stands. Exit 0: taken, 1: somebody was first, or you said no,
2: no such question is open.";

const HALT_EXAMPLES: &str = "\
Examples:
  lockgate halt \"deploys are frozen\"
  lockgate halt --session claude-code/3f2a… \"look at this first\"

A call that is running already is not stopped; the next one is.";

const RESUME_EXAMPLES: &str = "\
Examples:
  lockgate resume
  lockgate resume --session claude-code/3f2a…

You confirm at the terminal by typing a word that is shown there.";

const SEE_EXAMPLES: &str = "\
Examples:
  lockgate see --tool bash --input '{\"command\": \"cd /srv && sudo rm -rf data\"}'
  lockgate see ops.rules --tool bash --input '{\"command\": \"cp a b; rm a\"}'

Exit 0: everything can be told, 1: there are doubts, 2: no such call.";

const GRAPH_EXAMPLES: &str = "\
Examples:
  lockgate graph ops.rules --out ops.svg
  lockgate graph ops.rules --net limit-deploy-3 --format dot | dot -Tpng
  lockgate graph ops.rules --out pictures/    one file for each net
  lockgate graph ops.rules --states --format mermaid
  lockgate graph ops.rules --states --about deploy --out deploy.svg

With --states, rules that have to do with each other are drawn together: each
state says what is closed or what is left, each arrow what happens. What changes
nothing is left out, and so are groups of more than 60 states.";

const COMPLETIONS_EXAMPLES: &str = "\
Example:
  lockgate completions bash > ~/.local/share/bash-completion/completions/lockgate";

/// Where the policy is.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// Policy files, or folders of them
    #[arg(required = true, value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
}

/// Which settings of agents are changed, and how.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// The agents; without any, those that are found
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// In the settings of the user, for all projects, instead of those of this folder
    #[arg(long)]
    pub(crate) user: bool,
    /// Write without a question; taking Lockgate out still takes a human at a terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Show what would be changed, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// Whose event it is
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(dialect::names()))]
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
    /// Look at definitions of tools that have changed, and let them count
    #[command(after_help = MCP_ACCEPT_EXAMPLES)]
    Accept(McpAcceptArguments),
}

/// Which servers stand behind the proxy, and who speaks with it.
#[derive(Debug, Args)]
pub(crate) struct McpServeArguments {
    /// Policy files, or folders of them; otherwise the policy that counts in this folder
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// The name under which the client knows this server; rules then see its tools as the client's hooks do, such as
    /// mcp__NAME__tool
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// The agent that is the client: sessions and names of tools are then those of its hooks
    #[arg(long, value_enum, value_name = "AGENT", requires = "name", conflicts_with = "listen")]
    pub(crate) host: Option<Agent>,
    /// The session that calls belong to; otherwise that of the host, or one of this process
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// A server that is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "server"])]
    pub(crate) url: Option<String>,
    /// A file of servers as clients have them, under `mcpServers` or `servers`: all of them behind one proxy
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) config: Option<PathBuf>,
    /// Serve clients over HTTP at this address, such as 127.0.0.1:7070, instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The file with the token that clients over HTTP must show; wanted where others can reach the address
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// The database of sessions; otherwise the one that counts here
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Keep sessions in memory: nothing is remembered after this process
    #[arg(long, conflicts_with = "state")]
    pub(crate) memory: bool,
    /// What the client sees of tools that the rules never let it call
    #[arg(long, value_enum, default_value = "mark")]
    pub(crate) dead_tools: DeadToolsArgument,
    /// How long a call waits for a human, 1 to 3600
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) ask_for: u64,
    /// Act, or let everything pass; otherwise as the settings say
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArgument>,
    /// The server to start, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) server: Vec<String>,
}

/// What is shown of tools that no session can ever call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeadToolsArgument {
    /// As the server describes them
    Show,
    /// With a remark in front of their description
    Mark,
    /// Not at all
    Hide,
}

#[derive(Debug, Args)]
pub(crate) struct McpAcceptArguments {
    /// The server, by its name or command as `lockgate mcp accept` lists it; without one, all
    #[arg(value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Its tools; without any, all that wait
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
    /// Write a first policy, and no hooks
    #[arg(long, conflicts_with = "agents")]
    pub(crate) policy_only: bool,
    /// Put Lockgate before the MCP servers of these agents, too; without any, of all clients that are known
    #[arg(long, conflicts_with = "policy_only")]
    pub(crate) mcp: bool,
    /// Put Lockgate before MCP servers, and write no hooks
    #[arg(long, conflicts_with_all = ["policy_only", "mcp"])]
    pub(crate) mcp_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
    /// Delete the folders of Lockgate too: policies, settings, sessions
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// Verify again whenever a file of the policy changes, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: end after so many rounds; for scripts and tests
    #[arg(long, value_name = "N", requires = "watch", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
    /// All tools there are, to find misspelt names: what an MCP server answers to `tools/list`, a JSON array of names,
    /// or one name a line
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}

/// Whether conditions of workflows may run programs.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// Let workflow conditions run their programs, with the rights of this command; off unless said
    #[arg(long)]
    pub(crate) exec: bool,
    /// With --exec: how long each program may take, 1 to 3600 [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "exec", value_parser = clap::value_parser!(u64).range(1..=EXEC_SECONDS_MAX))]
    pub(crate) exec_limit: Option<u64>,
}

const EXEC_SECONDS_MAX: u64 = 3600;

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The policy as it was: a file, or a folder of them
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The policy as it is going to be
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The call: `tool`, and perhaps `input`, `sender`, `context`, … as in a `call` line; `ok` says how it ends,
    /// `at` when it happens, in milliseconds since 1970
    #[arg(long, value_name = "JSON")]
    pub(crate) call: String,
    /// The file of a saved session; a file that is not there yet is a fresh session
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Save the session with this call in it
    #[arg(long, requires = "session")]
    pub(crate) save: bool,
    /// Ask every rule about a first call, without a session and without a human; nothing is stored
    #[arg(long, conflicts_with_all = ["session", "exec"])]
    pub(crate) dry_run: bool,
    /// With --dry-run: what the tool would answer, as JSON or as text, to see what may be passed on of it
    #[arg(long, value_name = "OUTPUT", requires = "dry_run")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Policy files or folders, and last the calls: a file with one a line, or - for stdin. Or by itself the code of
    /// a finding of the proof
    #[arg(required = true, value_name = "POLICY… CALLS | CODE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show the rules that have no say, too
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Policy files, or folders of them; without any, the sessions of hooks
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// With a policy: the file of a saved session; without one, where every session begins. Without a policy: the name
    /// of a session
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) session: Option<PathBuf>,
    /// The database of sessions; otherwise the one that counts here
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) state: Option<PathBuf>,
}

/// Where sessions of hooks rest.
#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    /// The database of sessions; otherwise the one that counts here
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PendingArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The questions, such as a1@codex/3f2a…
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) questions: Vec<String>,
    /// All that are open and not answered yet
    #[arg(long, conflicts_with = "questions")]
    pub(crate) all: bool,
    /// Accepted for old scripts and without effect: a human confirms every answer at a terminal
    #[arg(long, requires = "all")]
    pub(crate) yes: bool,
    /// Who answers, for the audit trail; otherwise the user who runs this
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct HaltArguments {
    /// Why, for the agents that are blocked
    #[arg(value_name = "REASON", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: String,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The agents; without any, those that have hooks here or are in use
    #[arg(value_enum, value_name = "AGENT")]
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
    /// Look for what was changed, lost or put into the trail behind its back
    #[command(after_help = AUDIT_VERIFY_EXAMPLES)]
    Verify(AuditVerifyArguments),
    /// Forget old sessions and the old part of the trail
    #[command(after_help = AUDIT_PRUNE_EXAMPLES)]
    Prune(AuditPruneArguments),
}

/// Which entries of the trail are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Not before this moment
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) since: Option<Time>,
    /// Before this moment
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
    /// Only calls that were decided so
    #[arg(long, value_enum)]
    pub(crate) verdict: Option<VerdictArgument>,
    /// Only calls that this rule had a say about
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
    /// Only the last N; 50 where nothing else is said, and all as JSON or CSV
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print as CSV
    #[arg(long, conflicts_with = "export")]
    pub(crate) csv: bool,
    /// Go on with what comes, until interrupted
    #[arg(long, conflicts_with = "export")]
    pub(crate) follow: bool,
    /// Write the whole trail as JSON lines to a file, or to stdout with -; its last line is the signed head
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
    /// An export; otherwise the database is verified
    #[arg(value_name = "FILE", conflicts_with = "state")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// A head that was noted elsewhere: the record's number and its hash
    #[arg(long, value_name = "N:HASH", value_parser = anchor)]
    pub(crate) expect: Option<Anchor>,
    /// The public key that was noted elsewhere
    #[arg(long, value_name = "HEX", value_parser = public_key)]
    pub(crate) key: Option<PublicKey>,
}

/// The public half of the key that signs a trail.
pub(crate) type PublicKey = [u8; 32];

fn anchor(text: &str) -> Result<Anchor, String> {
    let read = || {
        let (n, hash) = text.split_once(':')?;
        Some(Anchor { n: n.parse().ok()?, hash: from_hex(hash)? })
    };
    read().ok_or_else(|| {
        "a record's number, a colon and the 64 hex digits of its hash, as `audit verify` prints them"
            .to_owned()
    })
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    from_hex(text).ok_or_else(|| "64 hex digits, as `audit verify` prints them".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct AuditPruneArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// What is older than this goes
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) before: Time,
    /// Prune without a question
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// Policy files, or folders of them; otherwise the policy that counts in this folder
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// Sessions from an export instead of the database
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Act, or let everything pass; otherwise as the settings say, and `enforce` for policies that are named here
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArgument>,
}

#[derive(Debug, Args)]
pub(crate) struct SeeArguments {
    /// Policy files, or folders of them, to see the deeds under
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// The tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// The tool's input
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// The folder relative paths start from
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// How to draw; otherwise as the ending of --out says, or svg
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Draw only this net
    #[arg(long, value_name = "NAME")]
    pub(crate) net: Option<String>,
    /// Draw what the rules do together, state by state, instead of their nets
    #[arg(long, conflicts_with = "net")]
    pub(crate) states: bool,
    /// With --states: only the rules that have to do with this name
    #[arg(long, value_name = "NAME", requires = "states")]
    pub(crate) about: Option<String>,
    /// Write to this file, or into this folder one file for each net
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
pub(crate) struct GateArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// Where sessions are kept
    #[arg(long, value_name = "URL", default_value = "memory")]
    pub(crate) store: String,
    /// The session of lines that name none
    #[arg(long, value_name = "ID", default_value = "default", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// What time it is: the machine's, or the `at` of each line in milliseconds since 1970
    #[arg(long, value_enum, default_value = "real")]
    pub(crate) clock: ClockArgument,
    /// Act, or let everything pass and only say what would have been decided
    #[arg(long, value_enum, default_value = "enforce")]
    pub(crate) mode: ModeArgument,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
}

const GATE_EXAMPLES: &str = "\
Example:
  $ lockgate gate ops.rules
  {\"call\": {\"id\": \"1\", \"tool\": \"test\"}}
  {\"id\":\"1\",\"session\":\"default\",\"verdict\":\"allow\",\"reason\":\"\", …}
  {\"result\": {\"id\": \"1\", \"ok\": true}}
  {\"id\":\"1\",\"session\":\"default\",\"settled\":true,\"verdict\":\"allow\"}

Lines: call, result, answer, session, stage, net, halt, resume, untaint, status.
Exit 0, or 2 if any line was not understood.";

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
