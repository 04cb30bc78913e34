//! `cargo xtask bench`: one command for each question a user asks before taking us in.
//!
//! [`Bench::run`] asks the questions, one after the other: everybody is measured in the same run, on the same core, with
//! the same work. What comes out is [`line::Line`]s, of which tables and, once recorded, the report are made. A casual run
//! changes nothing in the repository; `--record` does. How long something takes is measured by runners and never in here,
//! save for whole processes, which nobody inside of them could time.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};

use crate::report;
use desk::{Desk, Effort};
use line::{Line, is_of};
use pin::Pinned;

mod agentdojo;
mod cited;
mod decide;
mod desk;
mod field;
mod hook;
pub(crate) mod line;
mod machine;
mod mcp;
mod pin;
pub(crate) mod reading;
mod runners;
mod session;
mod shell;
pub(crate) mod table;
mod verify;

pub(crate) use cited::{ELSEWHERE, SOURCE};
pub(crate) use hook::DECIDING;
pub(crate) use mcp::play_role;
pub(crate) use session::LOOKING_BACK;
pub(crate) use verify::{LINKED, PROVING, READING};

/// Where recorded figures are kept.
pub(crate) const FIGURES: &str = "docs/benchmarks/figures.jsonl";

/// Measure how long people wait, us and our peers on the same work in the same run
///
/// Prints a table with the ratios; the exit code is 1 where somebody decided wrongly or we could not be measured.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench decide                 one decision, against the number of rules
  cargo xtask bench decide --only regex    only the work that has this word in its name
  cargo xtask bench all --quick            a rough look at everything, in minutes
  cargo xtask bench all --record           measure for the report, on an idle machine
  cargo xtask bench field calls.jsonl      what policies stop of these calls
  cargo xtask bench agentdojo DIR          what policies leave of recorded sessions under attack
  cargo xtask bench --report               write docs/benchmarks.md from what was recorded")]
pub(crate) struct Bench {
    /// The question
    #[arg(value_enum, required_unless_present = "report")]
    question: Option<Question>,

    /// Files of calls for `field`, folders of sessions for `agentdojo`; e.g. `bench field crates/testkit/field/dangerous.jsonl`
    #[arg(value_name = "FILE.jsonl")]
    files: Vec<PathBuf>,

    /// Judge by these policy files instead of ours, for `field` and `agentdojo`; e.g. `--policy banking.rules`
    #[arg(long, value_name = "FILES", num_args = 1..)]
    policy: Vec<PathBuf>,

    /// Print what is judged otherwise than it says for `field`, what is refused for `agentdojo`; e.g. `bench agentdojo --show`
    #[arg(long)]
    show: bool,

    /// Take short samples and leave out the largest sizes; e.g. `bench decide --quick`
    #[arg(long)]
    quick: bool,

    /// Only works with this in their name, or if none has it only peers; e.g. `--only regex`, `--only cedar`
    #[arg(long, value_name = "WORD")]
    only: Option<String>,

    /// Leave the peers out, which have to be fetched and built once; e.g. `bench session --without-peers`
    #[arg(long)]
    without_peers: bool,

    /// Print one line of JSON a figure instead of tables, or write them to FILE beside tables; e.g. `--json=out.jsonl`
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Keep the figures for the report, instead of those kept before; e.g. `bench decide --record`
    #[arg(long, requires = "question", conflicts_with_all = ["quick", "only", "without_peers"])]
    record: bool,

    /// Where peers are kept once they are fetched [default: lockgate-bench in the user's cache]; e.g. `--cache /tmp/peers`
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Write docs/benchmarks.md, its plots and README.md's figures from what was recorded; e.g. `bench --report`
    #[arg(long)]
    report: bool,
}

/// What users ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Question {
    /// How long does one decision take, and with more rules?
    Decide,
    /// How long does a coding agent wait for its hook?
    Hook,
    /// What does a long session cost?
    Session,
    /// How long does it take to read a policy, and to prove it?
    Verify,
    /// How long does it take to see what a shell script does?
    Shell,
    /// How much longer does a call take through the proxy?
    Mcp,
    /// What do policies stop of calls that others collected?
    Field,
    /// What do policies leave of sessions, with and without an attack?
    Agentdojo,
    /// All of these but `field` and `agentdojo`
    All,
}

impl Question {
    /// The questions themselves, in the order of the report.
    pub(crate) const EACH: [Self; 6] =
        [Self::Decide, Self::Hook, Self::Session, Self::Verify, Self::Shell, Self::Mcp];

    /// Its word on the command line and in figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Hook => "hook",
            Self::Session => "session",
            Self::Verify => "verify",
            Self::Shell => "shell",
            Self::Mcp => "mcp",
            Self::Field => "field",
            Self::Agentdojo => "agentdojo",
            Self::All => "all",
        }
    }

    /// A proxy is three processes that work at the same time: on one core they would only wait for each other.
    fn is_pinned(self) -> bool {
        self != Self::Mcp
    }

    fn has_peers(self) -> bool {
        matches!(self, Self::Decide | Self::Hook | Self::Session | Self::Verify)
    }

    fn measure(self, desk: &mut Desk<'_>) -> Result<(), String> {
        match self {
            Self::Decide => decide::measure(desk),
            Self::Hook => hook::measure(desk),
            Self::Session => session::measure(desk),
            Self::Verify => verify::measure(desk),
            Self::Shell => shell::measure(desk),
            Self::Mcp => mcp::measure(desk),
            Self::Field | Self::Agentdojo => Ok(()),
            Self::All => Self::EACH.into_iter().try_for_each(|question| question.measure(desk)),
        }
    }
}

impl Bench {
    /// Measures, prints, and keeps what it was told to keep. Exit 0: done, 1: somebody was wrong, 2: could not.
    pub(crate) fn run(self) -> ExitCode {
        match self.try_run() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
        }
    }

    fn try_run(&self) -> Result<bool, String> {
        let root = root();
        if self.question == Some(Question::Field) {
            return field::print(&root, &self.files, &self.policy, self.show);
        }
        if self.question == Some(Question::Agentdojo) {
            return agentdojo::print(&root, &self.files, &self.policy, self.show);
        }
        self.look_for_data()?;
        let mut is_fine = true;
        let mut all = Vec::new();
        for question in self.questions() {
            let (lines, is_right) = self.measure(question)?;
            is_fine &= is_right;
            match &self.json {
                Some(file) if file.as_os_str() == "-" => print!("{}", line::write(&lines)),
                _ => println!("{}", table::plain(&lines)),
            }
            if self.record && is_right {
                line::record(&root.join(FIGURES), question, &lines)?;
            } else if self.record {
                eprintln!("not recorded: see the errors above");
            }
            all.extend(lines);
        }
        if let Some(file) = self.json.as_ref().filter(|file| file.as_os_str() != "-") {
            fs::write(file, line::write(&all)).map_err(|error| cannot("write", file, &error))?;
        }
        if self.report {
            report::write(&root)?;
        }
        Ok(is_fine)
    }

    /// Better now than after an hour.
    fn look_for_data(&self) -> Result<(), String> {
        let questions = self.questions();
        let is_needed =
            questions.contains(&Question::Shell) || (self.record && questions.contains(&Question::Verify));
        if is_needed && std::env::var_os("LOCKGATE_DATA").is_none() {
            return Err(
                "LOCKGATE_DATA is not set: it names the folder of recorded data, in which are shell/nl2bash.txt \
                 and petri/"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn questions(&self) -> Vec<Question> {
        match self.question {
            None => Vec::new(),
            Some(Question::All) => Question::EACH.to_vec(),
            Some(one) => vec![one],
        }
    }

    fn measure(&self, question: Question) -> Result<(Vec<Line>, bool), String> {
        let peers = if question.has_peers() && !self.without_peers {
            runners::peers(question, &self.cache_folder()?, self.only.as_deref())
        } else {
            Vec::new()
        };
        let ours = runners::ours(question)?;
        // Only now: what has to be built first may use every core.
        let pinned = if question.is_pinned() { Pinned::to_last_core() } else { Pinned::not() };
        let head = machine::head(question, &pinned, self.command(question));
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let mut desk = Desk::new(question, effort, self.only.clone(), ours, peers);
        question.measure(&mut desk)?;
        cited::add(&mut desk);
        let (mut lines, is_right) = desk.done();
        lines.insert(0, Line::Head(head));
        debug_assert!(lines.iter().all(|line| is_of(line, question)));
        Ok((lines, is_right))
    }

    /// The command as everybody would type it, without this machine's folders.
    fn command(&self, question: Question) -> String {
        let mut words = format!("cargo xtask bench {}", question.name());
        for (is_said, word) in
            [(self.quick, " --quick"), (self.without_peers, " --without-peers"), (self.record, " --record")]
        {
            words.push_str(if is_said { word } else { "" });
        }
        self.only.iter().for_each(|word| words.push_str(&format!(" --only '{word}'")));
        words
    }

    fn cache_folder(&self) -> Result<PathBuf, String> {
        let folder = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let cache = || folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
        let chosen = self.cache.clone().or_else(|| cache().map(|cache| cache.join("lockgate-bench")));
        chosen.ok_or_else(|| "there is no folder for peers: HOME is not set; try `--cache DIR`".to_owned())
    }
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// What is said of a file that does not let us.
pub(crate) fn cannot(act: &str, file: &Path, error: &std::io::Error) -> String {
    format!("cannot {act} `{}`: {error}", file.display())
}
