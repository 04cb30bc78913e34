//! `lockgate replay`: what a policy would have said to sessions that were recorded.
//!
//! `world` judges; this reads the records, from the database or an export, and tells which verdicts would be others.
//! All that came before a call is played, whatever is asked for: only what is compared is chosen. Whether the records
//! are as they were written is not looked at; `audit verify` does that.

mod world;

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    env,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use lockgate::engine::{
    Mode, NamePattern, Policy, Time,
    call::{line_mistake, visible},
    gate::audit_log::{LogEntry, LoggedCall, LoggedDecision},
    store::{LINE_BYTES_MAX, Query, Sqlite},
};
use lockgate_agents::{Environment, settings};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use self::world::{Counted, Flip, World};
use super::audit::{call_text, entry_of, links, rule_text};
use crate::{
    arguments::{FilterArguments, StateArguments, mode},
    console::{CommandError, Console, Ending, bold, dim},
    progress::Progress,
    protocol::encode,
    state::open_state,
    when,
};

pub(crate) const REPLAY_EXAMPLES: &str = "\
Examples:
  lockgate replay                     all sessions, under the policy in force
  lockgate replay new.rules --since 7d
  lockgate replay new.rules --file log.jsonl --json | jq '.flips[].new'

Exit 0: every verdict stays the same, 1: some change, 2: could not tell.";

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
    #[arg(long, value_parser = mode())]
    pub(crate) mode: Option<Mode>,
}

pub(crate) fn run(
    arguments: &ReplayArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (policy, mode) = policy_of(arguments)?;
    let hash = policy.hash().to_string();
    let records = match &arguments.file {
        Some(file) => Records::File(file),
        None => Records::Database(Box::new(open_state(arguments.state.state.as_deref())?)),
    };
    let mut replay = Replay::new(policy, mode, &arguments.filter)?;
    let progress = Progress::start("replaying", json);
    records.each(&progress, &mut |n, entry| replay.take(n, entry))?;
    drop(progress);
    if json {
        writeln!(console.out, "{}", encode(&Answer::new(&replay, &hash)))?;
    } else {
        replay.write(console)?;
    }
    replay.ending()
}

/// The policy to judge by, and whether it acts.
fn policy_of(arguments: &ReplayArguments) -> Result<(Arc<Policy>, Mode), CommandError> {
    let mode = arguments.mode;
    if !arguments.files.is_empty() {
        return Ok((super::opening::open(&arguments.files)?.compiled(), mode.unwrap_or(Mode::Enforce)));
    }
    let settings =
        settings::find(&env::current_dir()?, &Environment::of_process()).map_err(CommandError::said)?;
    let opened = settings.sources().and_then(|sources| lockgate::Policy::builder().sources(&sources).load());
    Ok((opened.map_err(CommandError::from)?.compiled(), mode.unwrap_or(settings.mode)))
}

/// Where records come from.
enum Records<'a> {
    Database(Box<Sqlite>),
    File(&'a Path),
}

impl Records<'_> {
    /// Hands on every entry, in order.
    fn each(&self, progress: &Progress, visit: &mut dyn FnMut(u64, LogEntry)) -> Result<(), CommandError> {
        match self {
            Self::Database(store) => {
                let head = store.head().map_err(CommandError::said)?;
                for link in links(store, Query::default()) {
                    let link = link?;
                    progress.tell(link.n.saturating_sub(head.pruned), head.n - head.pruned);
                    visit(link.n, entry_of(&link)?);
                }
                Ok(())
            }
            Self::File(path) => each_line(path, progress, visit),
        }
    }
}

/// A line of an export, as far as it matters here.
#[derive(Deserialize)]
struct Line {
    n: Option<u64>,
    entry: Option<LogEntry>,
    head: Option<IgnoredAny>,
}

fn each_line(
    path: &Path,
    progress: &Progress,
    visit: &mut dyn FnMut(u64, LogEntry),
) -> Result<(), CommandError> {
    let cannot = |error: io::Error| CommandError::Said(format!("cannot read `{}`: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    let of = file.metadata().map_err(cannot)?.len();
    let mut lines = BufReader::new(file);
    let (mut line, mut done) = (Vec::new(), 0);
    for number in 1_u64.. {
        line.clear();
        // One byte more than may be, to tell a line that is too long from one that just fits.
        let read = lines.by_ref().take(LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line);
        let read = read.map_err(cannot)?;
        if read == 0 {
            break;
        }
        done += read as u64;
        progress.tell(done, of);
        let strange = |why: String| {
            let path = path.display();
            CommandError::Said(format!(
                "`{path}`, line {number}: {why}; replay needs what `audit --export` writes"
            ))
        };
        if line.len() > LINE_BYTES_MAX + 1 {
            return Err(strange(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        match serde_json::from_slice(&line).map_err(|error| strange(line_mistake(&error)))? {
            Line { n: Some(n), entry: Some(entry), head: None } => visit(n, entry),
            Line { head: Some(_), n: None, entry: None } => {}
            _ => return Err(strange("it is neither a record nor a head".to_owned())),
        }
    }
    Ok(())
}

/// A replay, and what it came to so far.
struct Replay {
    world: World,
    session: Option<NamePattern>,
    since: Option<Time>,
    until: Option<Time>,
    /// Whether sessions that were not asked about may matter to others.
    is_shared: bool,
    first: Option<u64>,
    sessions: HashSet<String>,
    /// By session, in the order of their first flips.
    flips: Vec<(String, Vec<Flip>)>,
    /// Where a session stands among them.
    places: HashMap<String, usize>,
}

impl Replay {
    fn new(policy: Arc<Policy>, mode: Mode, filter: &FilterArguments) -> Result<Self, CommandError> {
        let FilterArguments { session, since, until } = filter;
        Ok(Self {
            is_shared: policy.shares(),
            world: World::new(policy, mode),
            session: session.as_deref().map(NamePattern::parse).transpose().map_err(CommandError::said)?,
            since: *since,
            until: *until,
            first: None,
            sessions: HashSet::new(),
            flips: Vec::new(),
            places: HashMap::new(),
        })
    }

    fn take(&mut self, n: u64, entry: LogEntry) {
        self.first.get_or_insert(n);
        let is_wanted = match (&self.session, &entry.session) {
            (Some(wanted), Some(session)) => wanted.is(session),
            (None, _) | (Some(_), None) => true,
        };
        let is_in_time = self.since.is_none_or(|since| entry.time() >= since)
            && self.until.is_none_or(|until| entry.time() < until);
        if !is_wanted && !self.is_shared {
            return;
        }
        let calls = self.world.counted().calls;
        let session = entry.session.clone();
        let flip = self.world.take(n, entry, is_wanted && is_in_time);
        if let (true, Some(session)) = (self.world.counted().calls > calls, session) {
            self.sessions.insert(session);
        }
        let Some(flip) = flip else { return };
        let place = *self.places.entry(flip.session.clone()).or_insert(self.flips.len());
        match self.flips.get_mut(place) {
            Some((_, flips)) => flips.push(flip),
            None => self.flips.push((flip.session.clone(), Vec::from([flip]))),
        }
    }

    fn flips(&self) -> impl Iterator<Item = &Flip> {
        self.flips.iter().flat_map(|(_, flips)| flips)
    }

    fn newly(&self, verdict: &str) -> usize {
        self.flips().filter(|flip| flip.new.verdict == verdict).count()
    }

    /// Where nothing was compared, nothing can be said.
    fn ending(&self) -> Result<Ending, CommandError> {
        match (self.world.counted().calls, self.flips.is_empty()) {
            (0, _) => Err(CommandError::said(
                "no recorded call was compared; look at what there is with `lockgate audit`",
            )),
            (_, true) => Ok(Ending::Yes),
            (_, false) => Ok(Ending::No),
        }
    }

    fn write(&self, console: &mut Console<'_>) -> Result<(), CommandError> {
        let out = &mut *console.out;
        for (session, flips) in &self.flips {
            writeln!(out, "{}", bold(visible(session)))?;
            flips.iter().try_for_each(|flip| write_flip(out, flip))?;
            writeln!(out)?;
        }
        let Counted { calls, masked, not_of_policy, acts_left_out } = self.world.counted();
        if calls == 0 {
            return Ok(());
        }
        let count = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let newly: Vec<String> =
            [("allow", "allowed"), ("redact", "masked"), ("ask", "asked"), ("block", "blocked")]
                .into_iter()
                .filter_map(|(verdict, word)| match self.newly(verdict) {
                    0 => None,
                    count => Some(format!("{count} newly {word}")),
                })
                .collect();
        let (calls, sessions) = (count(calls, "call"), count(self.sessions.len() as u64, "session"));
        match newly.is_empty() {
            true => writeln!(out, "{calls} of {sessions}: every verdict stays")?,
            false => {
                let flips = count(self.flips().count() as u64, "verdict");
                writeln!(out, "{calls} of {sessions}: {flips} would flip ({})", newly.join(", "))?;
            }
        }
        if masked > 0 {
            let text = "judged as the audit log shows them, with something masked in their inputs: a rule that looks \
                        there may say something else";
            writeln!(out, "{}", dim(format!("{} {text}", count(masked, "call"))))?;
        }
        if not_of_policy > 0 {
            let text = "refused by Lockgate itself, whatever the policy, and not compared";
            writeln!(out, "{}", dim(format!("{} {text}", count(not_of_policy, "call"))))?;
        }
        if acts_left_out > 0 {
            let text = "of operators left out, because this policy has no such rule or the act is not known";
            writeln!(out, "{}", dim(format!("{} {text}", count(acts_left_out, "act"))))?;
        }
        if self.is_cut() {
            let text =
                "the beginning of the audit log was pruned: sessions from before it are played without it";
            writeln!(out, "{}", dim(text))?;
        }
        Ok(())
    }

    /// Whether sessions may have begun before the first record.
    fn is_cut(&self) -> bool {
        self.first.is_some_and(|first| first > 1)
    }
}

fn write_flip(out: &mut dyn io::Write, flip: &Flip) -> io::Result<()> {
    let Flip { n, at, call, old, new, ran, .. } = flip;
    let (was, is) = (visible(&old.verdict), visible(&new.verdict));
    write!(out, "{n:>6}  {}  {} → {}  {}", dim(when::local(*at)), was, bold(is), call_text(call))?;
    writeln!(out, "{}", if call.is_masked { "  (masked)" } else { "" })?;
    let mut note = |word: &str, decided: &LoggedDecision| {
        let said = match (rule_text(decided), &decided.reason) {
            (rule, reason) if rule.is_empty() => reason.clone(),
            (rule, reason) if reason.is_empty() => rule,
            (rule, reason) => format!("{rule}: {reason}"),
        };
        match said.is_empty() {
            true => Ok(()),
            false => writeln!(out, "{:8}{} {}", "", dim(word), visible(&said)),
        }
    };
    note("was", old)?;
    note("now", new)?;
    if *ran {
        writeln!(out, "{:8}{}", "", dim("it ran, so what follows is judged as if it had been let pass"))?;
    }
    Ok(())
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    policy: &'a str,
    calls: u64,
    sessions: usize,
    masked: u64,
    not_of_policy: u64,
    acts_left_out: u64,
    /// Whether the beginning of the audit log is gone.
    cut: bool,
    newly: NewlyAnswer,
    flips: Vec<FlipAnswer<'a>>,
}

#[derive(Debug, Serialize)]
struct NewlyAnswer {
    allow: usize,
    redact: usize,
    ask: usize,
    block: usize,
}

#[derive(Debug, Serialize)]
struct FlipAnswer<'a> {
    n: u64,
    at: u64,
    session: &'a str,
    call: &'a LoggedCall,
    old: &'a LoggedDecision,
    new: &'a LoggedDecision,
    ran: bool,
}

impl<'a> Answer<'a> {
    fn new(replay: &'a Replay, policy: &'a str) -> Self {
        let Counted { calls, masked, not_of_policy, acts_left_out } = replay.world.counted();
        let flip = |flip: &'a Flip| FlipAnswer {
            n: flip.n,
            at: flip.at.0,
            session: &flip.session,
            call: &flip.call,
            old: &flip.old,
            new: &flip.new,
            ran: flip.ran,
        };
        Self {
            policy,
            calls,
            sessions: replay.sessions.len(),
            masked,
            not_of_policy,
            acts_left_out,
            cut: replay.is_cut(),
            newly: NewlyAnswer {
                allow: replay.newly("allow"),
                redact: replay.newly("redact"),
                ask: replay.newly("ask"),
                block: replay.newly("block"),
            },
            flips: replay.flips().map(flip).collect(),
        }
    }
}
