//! The commands: one file each, and here what they share.

mod audit;
mod changes;
mod check;
mod completions;
mod demo;
mod diff;
mod doctor;
mod explain;
mod gate;
mod graph;
mod halt;
mod in_force;
mod init;
mod man;
mod mcp;
mod migrate;
mod pending;
mod prompt;
mod questions;
mod replay;
mod see;
mod states;
mod status;
mod trust;
mod try_command;
mod uninstall;
mod verify;
mod watch;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use lockgate::{GateBuilder, LocalRunner, OpenError, Opened, Policy, policy::render};

use crate::{
    args::{Arguments, Command, ExecArguments, KnownToolsArguments},
    console::{CommandError, Console, Ending, wrong},
    known_tools::{doubts, known_tools, lines},
};


/// Runs a command and gives its exit code.
pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> u8 {
    let json = arguments.json;
    let ended = match &arguments.command {
        Command::Demo => demo::run(json, console),
        Command::Verify(arguments) if arguments.watch => watch::run(arguments, json, console),
        Command::Verify(arguments) => verify::run(arguments, json, console),
        Command::Init(arguments) => init::run(arguments, json, console),
        Command::Uninstall(arguments) => uninstall::run(arguments, json, console),
        Command::Try(arguments) => try_command::run(arguments, json, console),
        Command::Diff(arguments) => diff::run(arguments, json, console),
        Command::Check(arguments) => check::run(arguments, json, console),
        Command::Explain(arguments) => explain::run(arguments, json, console),
        Command::See(arguments) => see::run(arguments, json, console),
        Command::Status(arguments) => status::run(arguments, json, console),
        Command::Migrate(arguments) => migrate::run(arguments, json, console),
        Command::Prompt(arguments) => prompt::run(arguments, json, console),
        Command::Audit(arguments) => audit::run(arguments, json, console),
        Command::Replay(arguments) => replay::run(arguments, json, console),
        Command::Pending(arguments) => pending::run(arguments, json, console),
        Command::Approve(arguments) => questions::answer(arguments, true, json, console),
        Command::Refuse(arguments) => questions::answer(arguments, false, json, console),
        Command::Halt(arguments) => halt::halt(arguments, json, console),
        Command::Resume(arguments) => halt::resume(arguments, json, console),
        Command::Trust(arguments) => trust::run(arguments, json, console),
        Command::Mcp(arguments) => mcp::run(arguments, json, console),
        Command::Doctor(arguments) => doctor::run(arguments, json, console),
        Command::Graph(arguments) if arguments.states => states::run(arguments, json, console),
        Command::Graph(arguments) => graph::run(arguments, json, console),
        Command::Completions(arguments) => completions::run(arguments, console),
        Command::Man(arguments) => man::run(arguments, console),
        // A hook's watchdog prints as well, so nobody may hold stdout by then: see `lockgate_cli::run`.
        Command::Hook(arguments) => {
            Err(CommandError::Said(format!("no host is called `{}`", arguments.agent)))
        }
        // It speaks nothing but JSON anyway.
        Command::Gate(arguments) => gate::run(arguments, console),
    };
    // Nothing can be done when the terminal itself fails.
    let mut say = |text: &str| {
        let _ = writeln!(console.err, "{text}");
    };
    match ended {
        Ok(ending) => return ending.code(),
        // Whoever read our output has seen enough.
        Err(CommandError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => return Ending::Yes.code(),
        Err(CommandError::Drawn(text)) => say(&text),
        Err(error) => say(&format!("{}: {error}", wrong("error"))),
    }
    Ending::CouldNotTell.code()
}

/// Opens a policy, or draws everything that is wrong with it.
fn open(files: &[impl AsRef<Path>]) -> Result<Opened, CommandError> {
    lockgate::open(files).map_err(told)
}

/// Opens a policy and tells its warnings: whoever judges calls has to hear them as well as whoever verifies.
fn open_telling(
    files: &[PathBuf],
    known: &KnownToolsArguments,
    console: &mut Console<'_>,
) -> Result<Policy, CommandError> {
    let sources = in_force::sources(files, console)?;
    let opened = lockgate::open_sources(&sources).map_err(told)?;
    let known = known_tools(known, files)?;
    for line in lines(&doubts(&opened.policy, opened.findings, &sources, &known)) {
        writeln!(console.err, "{line}")?;
    }
    Ok(opened.policy)
}

/// Lends a gate whoever may run the programs of conditions.
fn lend_runner(builder: GateBuilder, options: &ExecArguments) -> GateBuilder {
    match runner_from(options) {
        Some(runner) => builder.runner(runner),
        None => builder,
    }
}

/// Who runs the programs of conditions: nobody, unless the command line allows it.
fn runner_from(options: &ExecArguments) -> Option<LocalRunner> {
    let runner = options.exec.then(LocalRunner::new)?;
    Some(match options.exec_limit {
        Some(seconds) => runner.limit(Duration::from_secs(seconds)),
        None => runner,
    })
}

fn told(error: OpenError) -> CommandError {
    match error {
        OpenError::Mistaken(mistakes) => CommandError::Drawn(render(&mistakes, true)),
        error => CommandError::said(error),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Arguments, Command, runner_from};

    /// Every row of a table with the column `shown by` names a command that exists, or a page; and every command on
    /// these pages exists.
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
                    assert!(last.contains("](") || last.contains("`lockgate "), "{}: {line}", page.display());
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
