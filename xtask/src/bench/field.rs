//! `cargo xtask bench field`: what policies stop of calls that others collected.
//!
//! For each policy and each file it prints how many dangerous and how many benign lines are blocked and asked about, how
//! many cannot be read, and the time a line takes; then the same by group. Nothing is measured against peers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lockgate_testkit::field::{FieldCount, FieldPolicy, FieldReport, read_lines, run};

use super::cannot;

/// Prints what happens to the lines of these files.
pub(super) fn print(root: &Path, files: &[PathBuf], policy: &[PathBuf], shows: bool) -> Result<bool, String> {
    // `--policy a.rules calls.jsonl`: a file of calls is never a policy.
    let is_calls = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "jsonl");
    let files: Vec<&PathBuf> = files.iter().chain(policy.iter().filter(is_calls)).collect();
    let policy: Vec<PathBuf> = policy.iter().filter(|file| !is_calls(file)).cloned().collect();
    if files.is_empty() {
        return Err("there is no file of calls; try `cargo xtask bench field calls.jsonl`".to_owned());
    }
    let policies = policies(root, &policy)?;
    for file in files {
        let text = fs::read_to_string(file).map_err(|error| cannot("read", file, &error))?;
        let lines = read_lines(&text).map_err(|error| format!("`{}`: {error}", file.display()))?;
        for policy in &policies {
            let report = run(policy, &lines)?;
            println!("{} under {}", file.display(), policy.name);
            let time = report.took.as_secs_f64() * 1e6 / lines.len().max(1) as f64;
            for (word, dangerous) in [("dangerous", true), ("benign", false)] {
                println!("  {word:<30} {}", said(&report.all(dangerous)));
            }
            println!("  time per line {time:.1} µs");
            groups(&report);
            report.wrong.iter().filter(|_| shows).for_each(|mistake| println!("    {}", mistake.line()));
        }
    }
    Ok(true)
}

fn groups(report: &FieldReport) {
    for ((dangerous, group), count) in &report.groups {
        let word = if *dangerous { "dangerous" } else { "benign" };
        println!("    {:<28} {}", format!("{word} {group}"), said(count));
    }
}

fn said(count: &FieldCount) -> String {
    let share = 100.0 * count.stopped() as f64 / count.lines.max(1) as f64;
    format!(
        "{:>6} lines, {:>6} stopped ({share:.1} %): {} blocked, {} asked; {} unreadable",
        count.lines,
        count.stopped(),
        count.blocked,
        count.asked,
        count.unreadable
    )
}

/// The policies to judge by: those of the caller, or the first policy and two templates.
fn policies(root: &Path, files: &[PathBuf]) -> Result<Vec<FieldPolicy>, String> {
    let read = |file: &Path| fs::read_to_string(file).map_err(|error| cannot("read", file, &error));
    if files.is_empty() {
        let template = |name: &str| {
            Ok::<_, String>(FieldPolicy::template(name, read(&root.join(format!("templates/{name}.yaml")))?))
        };
        return Ok(vec![FieldPolicy::starter(), template("coding-agent")?, template("devops-agent")?]);
    }
    let mut texts = Vec::new();
    for file in files {
        texts.push((file.display().to_string(), read(file)?));
    }
    let name = texts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ");
    Ok(vec![FieldPolicy { name, files: texts, shell: None, folder: None }])
}
