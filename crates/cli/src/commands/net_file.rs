//! `lockgate verify NET.pnml`: what a Petri net of another tool can do.
//!
//! The net is explored from its initial marking, within bounds on markings and memory. What was not decided within them
//! is reported as undecided, and the exit code is 2.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use lockgate::engine::{
    call::visible,
    petri::{
        Exploration, Growth, Limits, Net, PNML_BYTES_MAX, PlaceId, Reach, StateSpace, TransitionId,
        from_pnml, growth,
    },
};
use serde::Serialize;

use super::verify::{ReportFormat, VerifyArguments};
use crate::{
    console::{CommandError, Console, Ending, bold},
    progress::Progress,
    protocol::encode,
};

/// How far a net is explored.
const LIMITS: Limits = Limits { states_max: 10_000_000, depth_max: usize::MAX };

/// How far a net is explored of which it is known that it has no end.
const ENDLESS_LIMITS: Limits = Limits { states_max: 100_000, ..LIMITS };

/// The most bytes that its markings take.
const MARKINGS_BYTES_MAX: usize = 1 << 30;

/// The most names that one line lists.
const NAMES_MAX: usize = 20;

/// Whether the arguments name nets instead of a policy.
pub(crate) fn is_wanted(files: &[PathBuf]) -> bool {
    files.iter().any(|file| is_net(file))
}

fn is_net(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pnml"))
}

pub(crate) fn run(
    arguments: &VerifyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let files = &arguments.policy.files;
    if let Some(other) = files.iter().find(|file| !is_net(file)) {
        let text = format!("`{}` is not a PNML file; verify nets and policies separately", other.display());
        return Err(CommandError::Said(text));
    }
    let format = if json { ReportFormat::Json } else { arguments.format };
    if arguments.watch || arguments.fix || !matches!(format, ReportFormat::Text | ReportFormat::Json) {
        let text =
            "`--watch`, `--fix`, `--format sarif` and `--format github` are for policies, not for nets";
        return Err(CommandError::said(text));
    }
    let mut ending = Ending::Yes;
    for file in files {
        let net = read(file)?;
        let progress = Progress::start("exploring", format == ReportFormat::Json);
        let grows = growth(&net);
        let limits = if grows.is_some() { ENDLESS_LIMITS } else { LIMITS };
        let space = Exploration::new(&net, limits).bytes_max(MARKINGS_BYTES_MAX).run();
        let report = Report::new(file, &net, &space, grows);
        drop(progress);
        match format {
            ReportFormat::Json => writeln!(console.out, "{}", encode(&report))?,
            _ => report.write(console.out)?,
        }
        ending = match (ending, report.ending(arguments.strict)) {
            (Ending::No, _) | (_, Ending::No) => Ending::No,
            (Ending::CouldNotTell, _) | (_, Ending::CouldNotTell) => Ending::CouldNotTell,
            (Ending::Yes, Ending::Yes) => Ending::Yes,
        };
    }
    Ok(ending)
}

/// Reads a net, and never more of a file than a net may have.
fn read(file: &Path) -> Result<Net, CommandError> {
    let cannot = |error: &dyn std::fmt::Display| {
        CommandError::Said(format!("cannot read `{}`: {error}", visible(&file.display().to_string())))
    };
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(|error| cannot(&error))?;
    opened.take(PNML_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(|error| cannot(&error))?;
    from_pnml(&text).map_err(|error| cannot(&visible(&error.to_string())))
}

/// What is known of a net. What is null was not decided.
#[derive(Debug, Serialize)]
struct Report {
    net: String,
    places: usize,
    transitions: usize,
    /// The markings that were reached, which are all if `complete`.
    states: usize,
    complete: bool,
    /// The markings in which nothing can fire, of those that were reached.
    deadlocks: usize,
    /// The shortest way to one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<String>>,
    dead: Option<Vec<String>>,
    bounded: Option<bool>,
    /// The most tokens on one place.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<u64>,
    /// What can be repeated for ever, and the places that it fills.
    #[serde(skip_serializing_if = "Option::is_none")]
    grows: Option<Grows>,
    safe: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Grows {
    repeated: Vec<String>,
    places: Vec<String>,
}

impl Report {
    fn new(file: &Path, net: &Net, space: &StateSpace<'_>, grows: Option<Growth>) -> Self {
        let names = |them: Vec<TransitionId>| -> Vec<String> {
            them.into_iter().map(|it| net.transition_name(it).to_owned()).collect()
        };
        let place_names =
            |them: Vec<PlaceId>| them.into_iter().map(|it| net.place_name(it).to_owned()).collect();
        let complete = space.is_complete();
        Self {
            net: file.display().to_string(),
            places: net.places().len(),
            transitions: net.transitions().len(),
            states: space.states(),
            complete,
            deadlocks: space.terminal().len(),
            trace: match space.shortest_trace_to_terminal() {
                Reach::By(trace) => Some(names(trace)),
                Reach::Never | Reach::Unknown => None,
            },
            dead: space.dead_transitions().map(names),
            bounded: if complete { Some(true) } else { grows.is_some().then_some(false) },
            bound: if complete { net.places().filter_map(|place| space.bound(place)).max() } else { None },
            safe: space.is_one_safe().or(grows.is_some().then_some(false)),
            grows: grows.map(|it| Grows { repeated: names(it.repeated), places: place_names(it.places) }),
        }
    }

    fn ending(&self, strict: bool) -> Ending {
        let is_wrong = self.deadlocks > 0
            || self.bounded == Some(false)
            || self.dead.as_ref().is_some_and(|dead| !dead.is_empty());
        match (strict && is_wrong, self.complete) {
            (true, _) => Ending::No,
            (false, false) => Ending::CouldNotTell,
            (false, true) => Ending::Yes,
        }
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let heading = format!("{}: {} places, {} transitions", self.net, self.places, self.transitions);
        writeln!(out, "{}", bold(visible(&heading)))?;
        let at_least = if self.complete { "" } else { "at least " };
        let deadlocks = match (self.deadlocks, &self.trace) {
            (0, _) if self.complete => "none".to_owned(),
            (0, _) => "undecided".to_owned(),
            (count, Some(trace)) if trace.is_empty() => format!("{at_least}{count}, one at the start"),
            (count, trace) => {
                let trace = trace.as_deref().unwrap_or_default();
                format!("{at_least}{count}, the nearest after {}", listed(trace))
            }
        };
        let dead = match &self.dead {
            None => "undecided".to_owned(),
            Some(dead) if dead.is_empty() => "none".to_owned(),
            Some(dead) => listed(dead),
        };
        let bounded = match (self.bounded, &self.grows) {
            (Some(true), _) => format!("yes, at most {} on one place", self.bound.unwrap_or_default()),
            (_, Some(Grows { repeated, places })) => {
                format!("no, {} can be repeated for ever and fills {}", listed(repeated), listed(places))
            }
            (_, None) => "undecided".to_owned(),
        };
        let safe = self.safe.map_or("undecided", |safe| if safe { "yes" } else { "no" });
        let rows = [
            ("states", format!("{at_least}{}", self.states)),
            ("deadlocks", deadlocks),
            ("dead transitions", dead),
            ("bounded", bounded),
            ("1-safe", safe.to_owned()),
        ];
        rows.iter().try_for_each(|(name, text)| writeln!(out, "  {name:<16}  {}", visible(text)))
    }
}

/// The names in backticks, as many as one reads.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
