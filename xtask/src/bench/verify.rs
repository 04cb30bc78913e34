//! How long does it take to read a policy until it could decide, and to prove what can be proved before an agent starts?
//!
//! We are measured in each of our languages, peers in theirs. State spaces are explored alone too, on nets that others
//! measure themselves on.

use std::path::PathBuf;

use lockgate_bench::{
    Guards, Links,
    job::{Job, Task},
    linked, rules,
    work::{Language, Work},
};
use tempfile::TempDir;

use super::{
    decide::is_ours,
    desk::{self, Cell, Desk},
    shell::per_second,
};

/// Reading alone.
pub(crate) const READING: &str = "reading a policy";

/// Reading and proving.
pub(crate) const PROVING: &str = "reading and proving a policy";

/// Reading and proving where all rules hang together.
pub(crate) const LINKED: &str = "reading and proving linked rules";

/// Every marking of one net.
pub(crate) const SPACES: &str = "exploring every marking of a net";

/// Smaller nets are explored before the clock has moved.
const MARKINGS_MIN: u64 = 100_000;

const SIZES: [u64; 4] = [10, 100, 1_000, 10_000];

const LINKED_SIZES: [u64; 3] = [200, 1_000, 2_000];

/// What hangs together how, the row that README.md shows first.
const SHAPES: [(Links, Guards, &str); 12] = [
    (Links::Chain, Guards::Limited, "Lockgate, a chain with limits and approvals"),
    (Links::Chain, Guards::Mixed, "Lockgate, a chain with limits, limits per tool and approvals"),
    (Links::Chain, Guards::Bare, "Lockgate, a chain"),
    (Links::Tree, Guards::Limited, "Lockgate, a tree with limits and approvals"),
    (Links::Tree, Guards::Mixed, "Lockgate, a tree with limits, limits per tool and approvals"),
    (Links::Tree, Guards::Bare, "Lockgate, a tree"),
    (Links::Star, Guards::Limited, "Lockgate, a star with limits and approvals"),
    (Links::Star, Guards::Mixed, "Lockgate, a star with limits, limits per tool and approvals"),
    (Links::Star, Guards::Bare, "Lockgate, a star"),
    (Links::Grid, Guards::Limited, "Lockgate, a grid with limits and approvals"),
    (Links::Grid, Guards::Mixed, "Lockgate, a grid with limits, limits per tool and approvals"),
    (Links::Grid, Guards::Bare, "Lockgate, a grid"),
];

const OURS: [(Language, &str); 3] = [
    (Language::Rules, "Lockgate, one-line rules"),
    (Language::Ruleset, "Lockgate, ruleset"),
    (Language::WhenThen, "Lockgate, when/then"),
];

/// Asks everybody.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    for work in desk.wanted(&[READING, PROVING, LINKED, SPACES], |work| work) {
        match work {
            READING => read(desk, work, Task::Load)?,
            PROVING => read(desk, work, Task::Prove)?,
            LINKED => prove_linked(desk)?,
            _ => spaces(desk)?,
        }
    }
    Ok(())
}

fn read(desk: &mut Desk<'_>, work: &'static str, task: Task) -> Result<(), String> {
    let peers: Vec<_> = desk
        .wanted_peers()
        .into_iter()
        .filter_map(|at| Some((at, desk.peers.get(at)?)))
        .filter(|(_, peer)| peer.tasks.contains(&task))
        .map(|(at, peer)| (at, peer.name.clone(), peer.language))
        .collect();
    for size in desk.sizes(&SIZES) {
        for (language, who) in OURS {
            let cell = Cell { work, size: Some(size), who, against: None };
            ask(desk, None, language, &cell, task)?;
        }
        for (at, who, language) in &peers {
            let cell = Cell { work, size: Some(size), who, against: Some(same(*language)) };
            ask(desk, Some(*at), *language, &cell, task)?;
        }
    }
    Ok(())
}

/// Rules of which each waits for another. No peer proves what rules do together.
fn prove_linked(desk: &mut Desk<'_>) -> Result<(), String> {
    for size in desk.sizes(&LINKED_SIZES) {
        let n_rules = usize::try_from(size).unwrap_or(usize::MAX);
        for (links, guards, who) in SHAPES {
            let (_folder, file) = desk::policy(Language::Rules.file_name(), &linked(links, n_rules, guards))?;
            let cell = Cell { work: LINKED, size: Some(size), who, against: None };
            let job = Job { files: vec![file], ..Job::of(Task::Prove, desk.effort.budget_ms) };
            desk.ask_ours(&cell, &job);
        }
    }
    Ok(())
}

fn ask(
    desk: &mut Desk<'_>,
    peer: Option<usize>,
    language: Language,
    cell: &Cell<'_>,
    task: Task,
) -> Result<(), String> {
    let n_rules = usize::try_from(cell.size.unwrap_or_default()).unwrap_or(usize::MAX);
    let Some((_folder, files)) = policy(language, n_rules)? else {
        desk.remark(Some(cell.work), cell.size, cell.who, "its language cannot say this");
        return Ok(());
    };
    let job = Job { files, ..Job::of(task, desk.effort.budget_ms) };
    match peer {
        None => desk.ask_ours(cell, &job),
        Some(peer) => desk.ask_peer(peer, cell, &job),
    }
    Ok(())
}

/// One-line rules of every kind; elsewhere, rules about a tool each, or about what came before where there is nothing else.
fn policy(language: Language, n_rules: usize) -> Result<Option<(TempDir, Vec<PathBuf>)>, String> {
    match language {
        Language::Rules => {
            let (folder, file) = desk::policy(language.file_name(), &rules(n_rules))?;
            Ok(Some((folder, vec![file])))
        }
        Language::Invariant => desk::policy_of(Work::Sequence, language, n_rules),
        _ => desk::policy_of(Work::One, language, n_rules),
    }
}

/// Which of ours reads the same, or the nearest to it.
fn same(language: Language) -> &'static str {
    let read = if is_ours(language) { language } else { Language::Ruleset };
    OURS.iter().find(|(ours, _)| *ours == read).map_or("Lockgate, ruleset", |(_, who)| *who)
}

/// The larger nets of `$LOCKGATE_DATA/petri`, whose numbers of markings are known. Without the data they are left out, and
/// said.
fn spaces(desk: &mut Desk<'_>) -> Result<(), String> {
    let Some(data) = std::env::var_os("LOCKGATE_DATA").map(PathBuf::from) else {
        desk.remark(Some(SPACES), None, "Lockgate", "not measured: LOCKGATE_DATA is not set");
        return Ok(());
    };
    let folder = data.join("petri");
    let table = folder.join("manifest.tsv");
    let known = std::fs::read_to_string(&table).map_err(|error| super::cannot("read", &table, &error))?;
    for (file, markings) in large(&known)? {
        let cell = Cell { work: SPACES, size: None, who: file.trim_end_matches(".pnml"), against: None };
        let job = Job { files: vec![folder.join(file)], ..Job::of(Task::Explore, desk.effort.budget_ms) };
        let Some(done) = desk.ask_ours_alone(&cell, &job) else { continue };
        if done.count != Some(markings) {
            desk.complain(&cell, &format!("found {:?} markings, and there are {markings}", done.count));
            continue;
        }
        let bytes = done.bytes.unwrap_or_default() as f64 / markings as f64;
        let note = format!("{markings} markings, all of them found; {bytes:.1} bytes each");
        desk.put(&cell, "per second", per_second(done.pace, markings), &done.version, Some(note));
    }
    Ok(())
}

/// The nets of a table that have enough markings to measure on, and how many.
fn large(table: &str) -> Result<Vec<(&str, u64)>, String> {
    let mut rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = rows.next().unwrap_or_default();
    let column = |name: &str| head.iter().position(|it| *it == name);
    let (Some(file), Some(markings)) = (column("file"), column("reachable_markings")) else {
        return Err("the table of nets does not name `file` and `reachable_markings`".to_owned());
    };
    Ok(rows
        .filter_map(|row| Some((*row.get(file)?, row.get(markings)?.parse().ok()?)))
        .filter(|(_, markings)| *markings >= MARKINGS_MIN)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_held_against_the_same_language_or_against_a_ruleset() {
        for (language, who) in [
            (Language::WhenThen, "Lockgate, when/then"),
            (Language::Ruleset, "Lockgate, ruleset"),
            (Language::Rules, "Lockgate, one-line rules"),
            (Language::Cedar, "Lockgate, ruleset"),
        ] {
            assert_eq!(same(language), who);
        }
    }

    #[test]
    fn only_nets_large_enough_to_measure_on_are_taken() {
        let table = "file\tinstance\treachable_markings\nsmall.pnml\tx\t99999\nlarge.pnml\ty\t100000\n";
        assert_eq!(large(table), Ok(vec![("large.pnml", 100_000)]));
        assert!(large("name\tmarkings").is_err());
    }

    #[test]
    fn every_shape_is_measured_with_every_mixture_of_rules() {
        for links in Links::ALL {
            let rows: Vec<Guards> = SHAPES.iter().filter(|it| it.0 == links).map(|it| it.1).collect();
            assert_eq!(rows, [Guards::Limited, Guards::Mixed, Guards::Bare]);
        }
    }

    #[test]
    fn every_language_of_ours_has_policies_of_every_size() {
        for (language, _) in OURS {
            let lines = |size| {
                let (_folder, files) = policy(language, size).unwrap().unwrap();
                std::fs::read_to_string(&files[0]).unwrap().lines().count()
            };
            assert!(lines(100) >= lines(10) + 90);
        }
    }
}
