//! Nets in PNML whose state spaces are known: a folder with a table, `manifest.tsv`, and the files it names.
//!
//! Every fact that the table gives about a net is compared with what an exploration finds, and a marking in which
//! nothing fires is reached once more by really firing. Only columns with these names are read, and a fact that is
//! not given, or given as unknown, is not compared.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::Path,
    time::{Duration, Instant},
};

use lockgate::engine::petri::{Exploration, Limits, Net, Reach, StateSpace, from_pnml};

/// More markings than this are not visited for one net.
const MARKINGS_MAX: usize = 100_000_000;

/// What came of a folder of nets.
#[derive(Clone, Debug, Default)]
pub struct NetsReport {
    /// How many nets the table names.
    pub cases: usize,
    /// How many facts about them were compared.
    pub facts: usize,
    /// The nets that are not as the table says, each with all differences.
    pub failures: Vec<(String, Vec<String>)>,
    /// How many markings were visited.
    pub markings: usize,
    /// How many firings were followed.
    pub firings: usize,
    /// How many bytes the markings took, all nets together.
    pub bytes: usize,
    /// How long that took, reading and comparing left out.
    pub duration: Duration,
}

/// One line of the table, by the names of its columns.
type Facts<'a> = BTreeMap<&'a str, &'a str>;

/// Compares every net of a folder with what its table says.
///
/// # Errors
/// When the table cannot be read, or is none.
pub fn petri(folder: &Path) -> io::Result<NetsReport> {
    let table = fs::read_to_string(folder.join("manifest.tsv"))?;
    let mut lines = table.lines();
    // `firings(edges)` is the column `firings`, with a remark.
    let header = lines.next().unwrap_or_default();
    let columns: Vec<&str> =
        header.split('\t').map(|column| column.split('(').next().unwrap_or(column)).collect();
    let wanted = ["file", "reachable_markings"];
    if wanted.iter().any(|column| !columns.contains(column)) {
        let why =
            format!("the first line of `manifest.tsv` does not name the columns {}", wanted.join(" and "));
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let mut report = NetsReport::default();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let facts: Facts<'_> = columns.iter().copied().zip(line.split('\t')).collect();
        let file = facts.get("file").copied().unwrap_or_default();
        let differences = match read(&folder.join(file)) {
            Ok(net) => report.compare(&net, &facts),
            Err(why) => vec![why],
        };
        report.cases += 1;
        if !differences.is_empty() {
            report.failures.push((file.to_owned(), differences));
        }
    }
    Ok(report)
}

fn read(path: &Path) -> Result<Net, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    from_pnml(&text).map_err(|error| error.to_string())
}

impl NetsReport {
    /// Whether all nets are as the table says; nothing, where it names none.
    pub fn holds(&self) -> Option<bool> {
        (self.cases > 0).then_some(self.failures.is_empty())
    }

    fn compare(&mut self, net: &Net, facts: &Facts<'_>) -> Vec<String> {
        let limits = Limits { states_max: MARKINGS_MAX, depth_max: usize::MAX };
        let start = Instant::now();
        let space = Exploration::new(net, limits).run();
        self.duration += start.elapsed();
        self.markings += space.states();
        self.firings += space.edges();
        self.bytes += space.bytes();

        let arcs = net.transitions().map(|it| net.inputs(it).len() + net.outputs(it).len()).sum::<usize>();
        let most = net.places().map(|place| space.bound(place)).max().flatten();
        let has_end = space.terminal().len() > 0;
        let is_quasi_live = space.dead_transitions().map(|dead| dead.is_empty());
        let mut found = vec![
            ("places", Some(net.places().len().to_string())),
            ("transitions", Some(net.transitions().len().to_string())),
            ("arcs", Some(arcs.to_string())),
            ("reachable_markings", space.is_complete().then(|| space.states().to_string())),
            ("firings", space.is_complete().then(|| space.edges().to_string())),
            ("max_tokens_in_place", most.map(|most| most.to_string())),
            ("has_deadlock", (space.is_complete() || has_end).then(|| truth(has_end))),
            ("quasi_live", is_quasi_live.map(truth)),
            ("one_safe", space.is_one_safe().map(truth)),
        ];
        if is_given(facts, "live") {
            found.push(("live", is_live(net, &space, limits).map(truth)));
        }
        let found: Vec<_> = found.into_iter().filter(|(column, _)| is_given(facts, column)).collect();
        self.facts += found.len();
        let differs = |(column, got): (&str, Option<String>)| {
            let expected = facts.get(column).copied().unwrap_or_default();
            let got = got.unwrap_or_else(|| format!("unknown: stopped at {} markings", space.states()));
            (got != expected).then(|| format!("{column}: expected {expected}, got {got}"))
        };
        let mut differences: Vec<String> = found.into_iter().filter_map(differs).collect();
        differences.extend(unconfirmed_end(net, &space));
        differences
    }
}

fn is_given(facts: &Facts<'_>, column: &str) -> bool {
    facts.get(column).is_some_and(|fact| !matches!(*fact, "" | "-" | "?" | "-1"))
}

fn truth(is_so: bool) -> String {
    if is_so { "TRUE" } else { "FALSE" }.to_owned()
}

/// Whether every transition can always fire again.
fn is_live(net: &Net, space: &StateSpace<'_>, limits: Limits) -> Option<bool> {
    // Where that is told already nothing needs to be walked again.
    if space.terminal().len() > 0 || !space.dead_transitions()?.is_empty() {
        return Some(net.transitions().len() == 0);
    }
    let again = Exploration::new(net, limits).keeping_firings().run();
    again.lost_transitions().map(|lost| lost.is_empty())
}

/// What is wrong with the way to the nearest marking in which nothing fires.
fn unconfirmed_end(net: &Net, space: &StateSpace<'_>) -> Option<String> {
    let Reach::By(trace) = space.shortest_trace_to_terminal() else { return None };
    let mut marking = net.initial().clone();
    let is_fired = trace.iter().all(|transition| net.fire(&mut marking, *transition).is_ok());
    let is_end = net.enabled(&marking).next().is_none();
    (!is_fired || !is_end).then(|| format!("the way of {} firings to an end leads nowhere", trace.len()))
}

impl fmt::Display for NetsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, differences) in &self.failures {
            writeln!(f, "failing: {name}: {}", differences.join("; "))?;
        }
        writeln!(f, "{} facts", self.facts)?;
        writeln!(
            f,
            "{} markings and {} firings in {:.1} s: {:.0} markings a second, {:.1} bytes each",
            self.markings,
            self.firings,
            self.duration.as_secs_f64(),
            self.markings as f64 / self.duration.as_secs_f64().max(f64::EPSILON),
            self.bytes as f64 / self.markings.max(1) as f64,
        )?;
        write!(f, "{}/{}", self.cases - self.failures.len(), self.cases)
    }
}
