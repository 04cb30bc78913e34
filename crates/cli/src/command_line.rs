//! The command line: its commands, its help, and which file does what it says.
//!
//! Each command owns its arguments, in a file of `commands/`. [`GROUPS`] is the order in which `lockgate --help` lists the
//! commands. There are no environment variables that change a verdict.

use std::{io::ErrorKind, path::PathBuf};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    commands::{
        accept_policy, audit, check, completions, demo, diff, doctor, explain, fmt, gate, graph, guarded,
        guardian, halt, hook, init, learn, lsp, man, mcp, migrate, net_file, passphrase, pending, prompt,
        questions, replay, see, serve, states, status, trust, try_command, uninstall, upgrade, verify, watch,
    },
    console::{CommandError, Console, Ending, wrapped, wrong},
    version::VERSION,
};

/// A gate between AI agents and their tools
#[derive(Debug, Parser)]
#[command(name = "lockgate", version = VERSION, arg_required_else_help = true, max_term_width = 80, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The name of the command.
    #[arg(skip)]
    pub(crate) name: String,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Where a guardian is installed, as root: whose state is meant
    #[arg(long = "for", value_name = "USER", global = true, hide = true)]
    pub(crate) whom: Option<String>,
    /// The settings of the guardian, where /etc/lockgate/guardian.toml is missing
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) machine: Option<PathBuf>,
}

impl Arguments {
    /// Reads the command line of this process; ends the process where it asks for help or has a mistake.
    pub(crate) fn read() -> Self {
        let matches = command().get_matches();
        let arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self { name: matches.subcommand_name().unwrap_or_default().to_owned(), ..arguments }
    }

    /// Whether the command has stdin and stdout to itself: nothing else may hold them then.
    pub(crate) fn speaks_itself(&self) -> bool {
        match &self.command {
            Command::Mcp(mcp) => mcp.command.is_none(),
            Command::Lsp(_) => true,
            _ => false,
        }
    }

    /// Whether the output is for programs.
    pub(crate) fn prints_data(&self) -> bool {
        match self.command {
            Command::Gate(_)
            | Command::Hook(_)
            | Command::Graph(_)
            | Command::Lsp(_)
            | Command::Completions(_)
            | Command::Man(_) => true,
            Command::Mcp(_) => self.json,
            Command::Demo
            | Command::Init(_)
            | Command::Uninstall(_)
            | Command::Upgrade(_)
            | Command::Try(_)
            | Command::Diff(_)
            | Command::Check(_)
            | Command::Explain(_)
            | Command::Status(_)
            | Command::Prompt(_)
            | Command::Migrate(_)
            | Command::Fmt(_)
            | Command::Learn(_)
            | Command::See(_)
            | Command::Replay(_)
            | Command::Pending(_)
            | Command::Approve(_)
            | Command::Refuse(_)
            | Command::Halt(_)
            | Command::Resume(_)
            | Command::Trust(_)
            | Command::Passphrase(_)
            | Command::AcceptPolicy(_)
            | Command::Guardian(_)
            | Command::Serve(_)
            | Command::Doctor(_) => self.json,
            Command::Verify(ref verify) => self.json || verify.format != verify::ReportFormat::Text,
            Command::Audit(ref audit) => self.json || audit.prints_data(),
        }
    }
}

/// The commands as `lockgate --help` groups them.
const GROUPS: &[(&str, &[&str])] = &[
    ("First steps", &["demo", "init", "passphrase", "trust", "try", "doctor", "upgrade", "uninstall"]),
    (
        "Write policies",
        &["verify", "fmt", "learn", "migrate", "check", "explain", "diff", "graph", "see", "lsp"],
    ),
    ("Watch and answer", &["pending", "approve", "refuse", "halt", "resume", "accept-policy", "status"]),
    ("Connect agents", &["hook", "mcp", "gate", "serve", "prompt"]),
    ("Guard with another user", &["guardian"]),
    ("Audit", &["audit", "replay"]),
    ("Terminal", &["completions", "man", "help"]),
];

/// The columns in which the name of a command stands, with the space before and behind it.
const NAME_COLUMNS: usize = 16;

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
    #[command(after_help = demo::DEMO_EXAMPLES)]
    Demo,
    /// Install hooks for your coding agents and write a first policy
    #[command(after_help = init::INIT_EXAMPLES)]
    Init(init::InitArguments),
    /// Judge a command under the policy in force
    #[command(after_help = try_command::TRY_EXAMPLES)]
    Try(try_command::TryArguments),
    /// Check that the installed hooks run and that they block
    #[command(after_help = doctor::DOCTOR_EXAMPLES)]
    Doctor(doctor::DoctorArguments),
    /// Have installed hooks run this program
    #[command(after_help = upgrade::UPGRADE_EXAMPLES)]
    Upgrade(upgrade::UpgradeArguments),
    /// Remove the hooks from your coding agents
    #[command(after_help = uninstall::UNINSTALL_EXAMPLES)]
    Uninstall(uninstall::UninstallArguments),
    /// Set or change the passphrase that approvals need
    #[command(after_help = passphrase::PASSPHRASE_EXAMPLES)]
    Passphrase(passphrase::PassphraseArguments),
    /// Trust a project's policy and settings as they are now
    #[command(after_help = trust::TRUST_EXAMPLES)]
    Trust(trust::TrustArguments),
    /// Check a policy for mistakes and prove its claims
    #[command(after_help = verify::VERIFY_EXAMPLES, visible_aliases = ["validate", "lint", "test"])]
    Verify(verify::VerifyArguments),
    /// Format files of one-line rules
    #[command(after_help = fmt::FMT_EXAMPLES)]
    Fmt(fmt::FmtArguments),
    /// Draft a policy from recorded calls
    #[command(after_help = learn::LEARN_EXAMPLES)]
    Learn(learn::LearnArguments),
    /// Serve an editor: mistakes, meanings, completion and fixes of one-line rules
    #[command(after_help = lsp::LSP_EXAMPLES)]
    Lsp(lsp::LspArguments),
    /// Rewrite the old words of a policy file
    #[command(after_help = migrate::MIGRATE_EXAMPLES)]
    Migrate(migrate::MigrateArguments),
    /// Judge one call
    #[command(after_help = check::CHECK_EXAMPLES)]
    Check(check::CheckArguments),
    /// Explain verdicts rule by rule, or explain a finding
    #[command(after_help = explain::EXPLAIN_EXAMPLES, override_usage = explain::EXPLAIN_USAGE)]
    Explain(explain::ExplainArguments),
    /// Compare two policies and show the sessions that they judge differently
    #[command(after_help = diff::DIFF_EXAMPLES, override_usage = diff::DIFF_USAGE)]
    Diff(diff::DiffArguments),
    /// Print what the model should know about a session
    #[command(after_help = prompt::PROMPT_EXAMPLES)]
    Prompt(prompt::PromptArguments),
    /// Draw the nets of a policy
    #[command(after_help = graph::GRAPH_EXAMPLES)]
    Graph(graph::GraphArguments),
    /// Show what Lockgate sees in a call
    #[command(after_help = see::SEE_EXAMPLES)]
    See(see::SeeArguments),
    /// List the questions that wait for a human
    #[command(after_help = pending::PENDING_EXAMPLES)]
    Pending(pending::PendingArguments),
    /// Answer questions with yes
    #[command(after_help = questions::APPROVE_EXAMPLES)]
    Approve(questions::AnswerArguments),
    /// Answer questions with no
    #[command(after_help = questions::REFUSE_EXAMPLES)]
    Refuse(questions::AnswerArguments),
    /// Block every further call until `lockgate resume`
    #[command(after_help = halt::HALT_EXAMPLES)]
    Halt(halt::HaltArguments),
    /// End a halt
    #[command(after_help = halt::RESUME_EXAMPLES)]
    Resume(halt::ResumeArguments),
    /// Let running sessions go on under a changed policy
    #[command(after_help = accept_policy::ACCEPT_POLICY_EXAMPLES)]
    AcceptPolicy(accept_policy::AcceptPolicyArguments),
    /// Show the policy in force and the state of each session
    #[command(after_help = status::STATUS_EXAMPLES)]
    Status(status::StatusArguments),
    /// Answer one hook event of a coding agent; `lockgate init` installs this
    #[command(after_help = hook::HOOK_EXAMPLES)]
    Hook(hook::HookArguments),
    /// Run a proxy in front of MCP servers and judge every tool call
    #[command(after_help = mcp::MCP_EXAMPLES, override_usage = mcp::MCP_USAGE, args_conflicts_with_subcommands = true)]
    Mcp(Box<mcp::McpArguments>),
    /// Judge calls from stdin, one JSON object per line
    #[command(after_help = gate::GATE_EXAMPLES)]
    Gate(gate::GateArguments),
    /// Have another user of the system own policy, keys, state and log
    #[command(after_help = guardian::GUARDIAN_EXAMPLES)]
    Guardian(guardian::GuardianArguments),
    /// Run the team server, manage its tokens, or run the guardian
    #[command(after_help = serve::SERVE_EXAMPLES, args_conflicts_with_subcommands = true)]
    Serve(Box<serve::ServeArguments>),
    /// List, follow, export, verify or prune the audit log
    #[command(after_help = audit::AUDIT_EXAMPLES, args_conflicts_with_subcommands = true)]
    Audit(Box<audit::AuditArguments>),
    /// Replay recorded sessions and list the verdicts that would change
    #[command(after_help = replay::REPLAY_EXAMPLES)]
    Replay(replay::ReplayArguments),
    /// Print a completion script for a shell
    #[command(after_help = completions::COMPLETIONS_EXAMPLES)]
    Completions(completions::CompletionsArguments),
    /// Print the manual page, or write all manual pages
    #[command(after_help = man::MAN_EXAMPLES)]
    Man(man::ManArguments),
}

/// Runs a command and gives its exit code.
pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> u8 {
    end(carry_out(arguments, console), console)
}

/// Says why a command could not tell, and gives its exit code.
pub(crate) fn end(ended: Result<Ending, CommandError>, console: &mut Console<'_>) -> u8 {
    // Nothing can be done when the terminal itself fails.
    let mut say = |text: &str| {
        let _ = writeln!(console.err, "{text}");
    };
    match ended {
        Ok(ending) => return ending.code(),
        // The reader of our output has seen enough.
        Err(CommandError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => return Ending::Yes.code(),
        Err(CommandError::Drawn(text)) => say(&text),
        Err(error) => say(&format!("{}: {error}", wrong("error"))),
    }
    Ending::CouldNotTell.code()
}

/// Has the command's own file do what it says.
fn carry_out(arguments: &Arguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let json = arguments.json;
    match &arguments.command {
        Command::Demo => demo::run(json, console),
        Command::Verify(arguments) if net_file::is_wanted(&arguments.policy.files) => {
            net_file::run(arguments, json, console)
        }
        Command::Verify(arguments) if arguments.watch => watch::run(arguments, json, console),
        Command::Verify(arguments) => verify::run(arguments, json, console),
        Command::Init(arguments) => init::run(arguments, json, console),
        Command::Upgrade(arguments) => upgrade::run(arguments, json, console),
        Command::Uninstall(arguments) => uninstall::run(arguments, json, console),
        Command::Try(arguments) => try_command::run(arguments, json, console),
        Command::Diff(arguments) => diff::run(arguments, json, console),
        Command::Check(arguments) => check::run(arguments, json, console),
        Command::Explain(arguments) => explain::run(arguments, json, console),
        Command::See(arguments) => see::run(arguments, json, console),
        Command::Status(arguments) => status::run(arguments, json, console),
        Command::Fmt(arguments) => fmt::run(arguments, json, console),
        Command::Lsp(arguments) => lsp::run(arguments),
        Command::Learn(arguments) => learn::run(arguments, json, console),
        Command::Migrate(arguments) => migrate::run(arguments, json, console),
        Command::Prompt(arguments) => prompt::run(arguments, json, console),
        Command::Audit(arguments) => audit::run(arguments, json, console),
        Command::Replay(arguments) => replay::run(arguments, json, console),
        Command::Pending(arguments) => pending::run(arguments, json, console),
        Command::Approve(arguments) => guarded::answer(arguments, true, json, console),
        Command::Refuse(arguments) => guarded::answer(arguments, false, json, console),
        Command::Halt(arguments) => halt::halt(arguments, json, console),
        Command::Resume(arguments) => halt::resume(arguments, json, console),
        Command::Trust(arguments) => trust::run(arguments, json, console),
        Command::Passphrase(arguments) => passphrase::run(arguments, console),
        Command::AcceptPolicy(arguments) => accept_policy::run(arguments, json, console),
        Command::Mcp(arguments) => mcp::run(arguments, json, console),
        Command::Doctor(arguments) => doctor::run(arguments, json, console),
        Command::Graph(arguments) if arguments.states => states::run(arguments, json, console),
        Command::Graph(arguments) => graph::run(arguments, json, console),
        Command::Completions(arguments) => completions::run(arguments, command(), console),
        Command::Man(arguments) => man::run(arguments, command(), console),
        // A hook's watchdog prints as well, so stdout must not be held by then: see `lockgate_cli::run`.
        Command::Hook(arguments) => {
            Err(CommandError::Said(format!("no agent is called `{}`", arguments.agent)))
        }
        // It speaks nothing but JSON anyway.
        Command::Gate(arguments) => gate::run(arguments, console),
        Command::Guardian(arguments) => guardian::run(arguments, json, console),
        Command::Serve(arguments) => serve::run(arguments, json, console),
    }
}

#[cfg(test)]
mod tests {
    use lockgate_agents::commands::COMMANDS;

    use crate::commands::opening::runner_from;

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

    /// Every row of a table with the column `shown by` names a command that exists, a page or a test; and every command
    /// on these pages exists.
    #[test]
    fn what_the_pages_for_newcomers_say_is_there_is_there() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/from");
        let (mut rows, mut commands) = (0, 0);
        for page in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let text = std::fs::read_to_string(&page).unwrap();
            let mut is_shown = false;
            for line in text.lines() {
                let spans: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
                for words in spans.iter().filter_map(|span| span.strip_prefix("lockgate ")) {
                    commands += 1;
                    if !words.contains(' ') {
                        let is_there = Arguments::command().find_subcommand(words).is_some();
                        assert!(is_there, "{}: `{words}`", page.display());
                        continue;
                    }
                    let words = std::iter::once("lockgate").chain(words.split(' '));
                    let parsed = Arguments::try_parse_from(words);
                    assert!(parsed.is_ok(), "{}: {line}\n{}", page.display(), parsed.unwrap_err());
                }
                let cells: Vec<&str> = line.split(" | ").collect();
                let Some(last) = cells.last().filter(|_| line.starts_with('|')) else {
                    is_shown = false;
                    continue;
                };
                if last.trim_end_matches(" |") == "shown by" {
                    is_shown = true;
                } else if is_shown && !line.starts_with("|--") {
                    let is_named = ["](", "`lockgate ", "::"].iter().any(|mark| last.contains(mark));
                    assert!(is_named, "{}: {line}", page.display());
                    rows += 1;
                }
            }
        }
        assert!(
            rows > 100 && commands > 60,
            "the pages have lost their tables: {rows} rows, {commands} commands"
        );
    }

    #[test]
    fn every_command_has_a_row_that_says_who_may_run_it() {
        let own = Arguments::command();
        let find = |name: &str| {
            name.split(' ').try_fold(&own, |command, word| command.find_subcommand(word)).is_some()
        };
        for command in COMMANDS.iter().filter(|it| it.name != "help") {
            assert!(find(command.name), "no command is called `{}`", command.name);
        }
        for command in own.get_subcommands() {
            let has_row = COMMANDS.iter().any(|it| it.name == command.get_name());
            assert!(has_row, "`{}` has no row in `lockgate_agents::commands`", command.get_name());
        }
    }

    #[test]
    fn programs_are_run_only_where_the_command_line_says_so() {
        let judging = [&["check", "a.rules", "--call", "{}"][..], &["gate", "a.rules"]];
        let limits = |seconds| Some(format!("limit: {seconds}s"));
        for (options, limit) in [
            (&[][..], None),
            (&["--exec"], limits(60)),
            (&["--exec", "--exec-limit", "1"], limits(1)),
            (&["--exec", "--exec-limit", "3600"], limits(3600)),
        ] {
            for command in judging {
                let words = ["lockgate"].iter().chain(command).chain(options);
                let exec = match Arguments::try_parse_from(words).unwrap().command {
                    Command::Check(arguments) => arguments.exec,
                    Command::Gate(arguments) => arguments.exec,
                    other => panic!("{other:?}"),
                };
                let runner = runner_from(&exec).map(|runner| format!("{runner:?}"));
                assert_eq!(runner.is_some(), limit.is_some(), "{options:?}");
                assert!(runner.zip(limit.clone()).is_none_or(|(runner, limit)| runner.contains(&limit)));
            }
        }
        for wrong in [
            &["--exec-limit", "5"][..],
            &["--exec", "--exec-limit", "0"],
            &["--exec", "--exec-limit", "3601"],
            &["--exec", "--exec-limit", "soon"],
        ] {
            for command in judging {
                let words = ["lockgate"].iter().chain(command).chain(wrong);
                assert!(Arguments::try_parse_from(words).is_err(), "{wrong:?}");
            }
        }
    }
}
