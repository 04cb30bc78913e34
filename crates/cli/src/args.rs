//! The words of the command line.
//!
//! This is the only file that knows how options are spelt; each command gets its arguments as values. There
//! are no environment variables that change a verdict.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lockgate::Mode;

use crate::serve::Clock;

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
    /// Whether the output is for programs.
    pub(crate) fn prints_data(&self) -> bool {
        match self.command {
            Command::Gate(_) | Command::Graph(_) | Command::Completions(_) => true,
            Command::Demo
            | Command::Verify(_)
            | Command::Diff(_)
            | Command::Check(_)
            | Command::Explain(_)
            | Command::Status(_)
            | Command::See(_) => self.json,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  lockgate demo                       see it work
  lockgate verify ops.rules           what the rules say, and what is wrong
  lockgate check ops.rules --call '{\"tool\": \"deploy\"}'
  lockgate gate ops.rules             judge calls from stdin, one JSON object a line

Exit 0 is yes, 1 is no, 2 is could not tell.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove an example policy and play a session through it
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
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
    /// Where a session stands: its stages, and what is open and closed
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArguments),
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
  lockgate status delivery.yaml                       before the first call
  lockgate status delivery.yaml --session day.json    a session that `check` saved";

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
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The file of a saved session; without one, where every session begins
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
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
