//! `cargo xtask bench agentdojo`: what policies leave of recorded sessions, with and without an attack.
//!
//! For each suite, and for all, it prints a row for our policy and one for each baseline. The folder of sessions has the form of
//! AgentDojo's recordings: `sessions.jsonl`, `results.jsonl` and `tools.jsonl`.

use std::path::{Path, PathBuf};

use lockgate_bench::agentdojo::{Baseline, Recordings, Score};

use super::cannot;

/// Where our policies are, one file a suite.
const POLICIES: &str = "examples/agentdojo";

/// Prints what becomes of the sessions in these folders.
pub(super) fn print(
    root: &Path,
    folders: &[PathBuf],
    policies: &[PathBuf],
    shows: bool,
) -> Result<bool, String> {
    let folders = match folders {
        [] => vec![recorded()?],
        folders => folders.to_vec(),
    };
    for folder in &folders {
        let recordings = Recordings::read(folder).map_err(|error| error.to_string())?;
        head();
        let mut all: Vec<(&str, Score)> = Vec::new();
        for suite in recordings.suites() {
            let mut rows = Vec::new();
            for baseline in Baseline::EACH {
                let rules = baseline.rules(suite, recordings.tools(suite));
                rows.push((baseline.name(), recordings.score(suite, &rules, |_| {})?));
            }
            let rules = rules(root, policies, suite)?;
            let tell = |line: &str| {
                if shows {
                    eprintln!("{line}");
                }
            };
            rows.push(("lockgate", recordings.score(suite, &rules, tell)?));
            rows.iter().for_each(|(name, score)| row(suite, name, *score));
            for (name, score) in rows {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum = sum.and(score),
                    None => all.push((name, score)),
                }
            }
        }
        all.iter().for_each(|(name, score)| row("all", name, *score));
    }
    Ok(true)
}

fn head() {
    println!(
        "| suite | policy | benign utility | ASR | careless ASR | utility under attack | questions a task |"
    );
    println!("|---|---|---|---|---|---|---|");
}

fn row(suite: &str, policy: &str, score: Score) {
    let [benign, attacks, careless, attacked, asked] = score.rates();
    println!(
        "| {suite} | {policy} | {benign:.3} | {attacks:.3} | {careless:.3} | {attacked:.3} | {asked:.3} |"
    );
}

/// The rules for a suite: a file of the caller with its name, or ours.
fn rules(root: &Path, files: &[PathBuf], suite: &str) -> Result<String, String> {
    let is_of_suite = |file: &&PathBuf| file.file_stem().is_some_and(|stem| stem == suite);
    let ours = root.join(POLICIES).join(format!("{suite}.rules"));
    let file = if files.is_empty() { Some(&ours) } else { files.iter().find(is_of_suite) };
    let Some(file) = file else {
        return Err(format!("there is no policy for `{suite}`; try `--policy {suite}.rules`"));
    };
    std::fs::read_to_string(file).map_err(|error| cannot("read", file, &error))
}

fn recorded() -> Result<PathBuf, String> {
    let data = std::env::var_os("LOCKGATE_DATA").map(|data| PathBuf::from(data).join("agentdojo"));
    data.ok_or_else(|| {
        "there is no folder of sessions; try `cargo xtask bench agentdojo DIR`, or set LOCKGATE_DATA"
            .to_owned()
    })
}
