//! The official conformance package finds the same with the gate as without it.
//!
//! Each of its scenarios is a test. What a scenario finds wrong with our server is not the question; that it finds the
//! same through the gate is.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde_json::Value;

use crate::{
    gate::{Behind, Gate, url},
    job::{Job, Outcome},
    peers::{Server, Suite},
    stage::{Stage, free_port},
};

/// How long a suite may take.
const SUITE_MAX: Duration = Duration::from_secs(300);

/// How many checks of a scenario ended how, by the name of the check and the word for its end.
type Checks = BTreeMap<(String, String), usize>;

/// What a suite found, by scenario.
type Found = BTreeMap<String, Checks>;

/// What one scenario found without the gate and with it, in words, and whether that is the same.
pub(crate) struct Row {
    pub(crate) suite: &'static str,
    pub(crate) scenario: String,
    pub(crate) without: String,
    pub(crate) with: String,
    pub(crate) outcome: Outcome,
}

/// Runs a suite twice.
pub(crate) fn run(job: &Job, suite: &'static Suite) -> Vec<Row> {
    let mut rows = Vec::new();
    let outcome = job.on_stage(|stage| {
        rows = compare(suite, both(job, stage, suite)?);
        let failed: Vec<&str> =
            rows.iter().filter(|row| row.outcome.is_err()).map(|row| row.scenario.as_str()).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
    });
    if rows.is_empty() {
        let outcome = outcome.and_then(|()| Err("the package ran no scenario".to_owned()));
        let nothing = || "-".to_owned();
        rows.push(Row {
            suite: suite.name,
            scenario: "the suite runs".to_owned(),
            without: nothing(),
            with: nothing(),
            outcome,
        });
    }
    rows
}

fn both(job: &Job, stage: &Stage, suite: &Suite) -> Result<(Found, Found), String> {
    let once = |name: &str, port: u16| {
        let results = stage.folder(name)?;
        stage.run(&suite.command(job.peers, port, &results), SUITE_MAX)?;
        read(&results)
    };
    let (server_port, gate_port) = (free_port()?, free_port()?);
    let server = Server::Rig.command(job.peers, stage, Some(server_port));
    let _server = stage.serve(&server, server_port)?;
    let without = once("without", server_port)?;
    let gate = Gate::silent(job.lockgate, stage)?;
    let _gate = stage.serve(&gate.command(Some(gate_port), &Behind::Url(url(server_port))), gate_port)?;
    Ok((without, once("with", gate_port)?))
}

/// Each scenario has a folder named after it and the time, with its checks.
fn read(results: &Path) -> Result<Found, String> {
    let mut found = Found::new();
    for entry in fs::read_dir(results).map_err(|error| error.to_string())?.flatten() {
        let scenario = scenario_of(&entry.file_name().to_string_lossy());
        let text = fs::read_to_string(entry.path().join("checks.json")).map_err(|error| error.to_string())?;
        let checks: Vec<Value> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let scenario = found.entry(scenario).or_default();
        for check in checks {
            let word = |name: &str| check.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
            // Only told, neither good nor bad.
            if word("status") != "INFO" {
                *scenario.entry((word("id"), word("status"))).or_default() += 1;
            }
        }
    }
    Ok(found)
}

/// `server-ping-2026-11-16T13-39-46-136Z` is of `ping`.
fn scenario_of(folder: &str) -> String {
    const DASHES_OF_TIME: usize = 6;
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    name.rsplitn(DASHES_OF_TIME + 1, '-').last().unwrap_or(name).to_owned()
}

fn compare(suite: &'static Suite, (without, with): (Found, Found)) -> Vec<Row> {
    let mut names: Vec<&String> = without.keys().chain(with.keys()).collect();
    names.sort();
    names.dedup();
    let row = |name: &String| {
        let (first, second) = (without.get(name), with.get(name));
        Row {
            suite: suite.name,
            scenario: name.clone(),
            without: in_words(first),
            with: in_words(second),
            outcome: judge(first, second),
        }
    };
    names.into_iter().map(row).collect()
}

fn judge(without: Option<&Checks>, with: Option<&Checks>) -> Outcome {
    let (Some(without), Some(with)) = (without, with) else { return Err("only run once".to_owned()) };
    if without == with { Ok(()) } else { Err(differences(without, with)) }
}

fn in_words(checks: Option<&Checks>) -> String {
    let Some(checks) = checks else { return "not run".to_owned() };
    let count = |wanted: &str| -> usize {
        checks.iter().filter(|((_, status), _)| status == wanted).map(|(_, count)| count).sum()
    };
    let (passed, failed) = (count("SUCCESS"), count("FAILURE"));
    let others = checks.values().sum::<usize>() - passed - failed;
    match others {
        0 => format!("{passed} passed, {failed} failed"),
        others => format!("{passed} passed, {failed} failed, {others} other"),
    }
}

fn differences(without: &Checks, with: &Checks) -> String {
    let only = |one: &Checks, other: &Checks, which: &str| -> Vec<String> {
        let differs = one.iter().filter(|(check, count)| other.get(check) != Some(count));
        differs.map(|((id, status), count)| format!("{which} the gate: {id} {status} ({count})")).collect()
    };
    [only(without, with, "without"), only(with, without, "with")].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::SUITES;

    #[test]
    fn the_time_is_no_part_of_a_scenario() {
        assert_eq!(scenario_of("server-ping-2026-11-16T13-39-46-136Z"), "ping");
        assert_eq!(scenario_of("server-server-sse-polling-2026-11-16T13-39-46-136Z"), "server-sse-polling");
    }

    #[test]
    fn a_check_that_ends_otherwise_or_is_missing_is_told() {
        let found = |checks: &[(&str, &str)]| -> Found {
            let name = |(id, status): &(&str, &str)| (((*id).to_owned(), (*status).to_owned()), 1);
            Found::from([("ping".to_owned(), checks.iter().map(name).collect())])
        };
        let suite = SUITES.first().unwrap();
        let told = |with: Found| {
            let rows = compare(suite, (found(&[("a", "SUCCESS")]), with));
            rows.into_iter().map(|row| row.outcome.err().unwrap_or_default()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(told(found(&[("a", "SUCCESS")])), "");
        insta::assert_snapshot!(told(found(&[("a", "FAILURE")])), @r"
        without the gate: a SUCCESS (1)
        with the gate: a FAILURE (1)
        ");
        insta::assert_snapshot!(told(Found::new()), @"only run once");
        assert!(!told(found(&[("b", "WARNING"), ("a", "SUCCESS")])).is_empty());
    }
}
