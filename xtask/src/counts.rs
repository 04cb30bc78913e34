//! `cargo xtask counts`: how many instructions the things take that people wait for, and what changed.
//!
//! Time is noisy and instructions are not: the same work takes the same number of them within a percent, however busy
//! the machine. `bench/counts.json` holds what was accepted; [`guard`] says what became dearer, [`explain`] by which
//! functions, [`accept`] writes the file anew. A count knows nothing of caches and waiting, so it takes the place of no
//! bench.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tables are what it is for")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Args;
use serde_json::{Value, json};

use self::{
    accepted::{Accepted, Machine},
    compare::{Difference, Row, State},
    profile::Profile,
};

mod accepted;
mod callgrind;
mod compare;
mod profile;

/// More of them say what matters less.
const EXPLAINED_MAX: usize = 15;

/// A type's name can be a page long.
const NAME_SHOWN_MAX: usize = 110;

/// Count the instructions of judging and seeing, and compare them with the accepted counts
#[derive(Args, Debug)]
#[command(after_help = "Exit 0: all within their budgets, 1: one is not, 2: could not compare.")]
pub(crate) struct Counts {
    /// Only cases that have one of these words in their name
    #[arg(value_name = "CASE")]
    words: Vec<String>,
    /// Say which functions make the difference, of the cases named or else of those that changed
    #[arg(long, conflicts_with = "accept")]
    explain: bool,
    /// Make what is counted now the accepted counts; of the cases named, or of all that changed
    #[arg(long, conflicts_with = "json")]
    accept: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
    /// Count nothing, and only say whether counts from here can be compared
    #[arg(long, exclusive = true)]
    comparable: bool,
}

impl Counts {
    /// Does what was asked on the command line.
    pub(crate) fn run(self) -> ExitCode {
        match self.answer() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => {
                eprintln!("error: {why}");
                ExitCode::from(2)
            }
        }
    }

    fn answer(&self) -> Result<bool, String> {
        let here = Machine::here()?;
        let file = workspace()?.join(accepted::FILE);
        let known = Accepted::read(&file)?;
        if self.accept {
            return self.accept_at(&file, here, known).map(|()| true);
        }
        let known =
            known.ok_or("there are no accepted counts yet; make them with `cargo xtask counts --accept`")?;
        here.compare(&known.machine)?;
        if self.comparable {
            return Ok(true);
        }
        let now = self.count(known.cases.keys())?;
        let rows = guard(&self.chosen(known.cases.clone()), &now);
        let explained = if self.explain { self.explained(&rows, &known.cases, &now) } else { Vec::new() };
        if self.json {
            println!("{:#}", as_json(&here, &rows, &explained));
        } else {
            print!("{}", table(&rows));
            explained.iter().for_each(|(row, differences)| print!("{}", told(row, differences)));
            println!("{}", summary(&rows));
        }
        Ok(rows.iter().all(|row| row.state.is_fine()))
    }

    fn accept_at(&self, file: &Path, here: Machine, known: Option<Accepted>) -> Result<(), String> {
        let kept = match known {
            Some(known) if known.machine == here => known.cases,
            Some(known) if !self.words.is_empty() => {
                let why = here.compare(&known.machine).err().unwrap_or_default();
                return Err(format!("{why}\ntry: accept all cases at once, without naming any"));
            }
            _ => BTreeMap::new(),
        };
        let now = self.count(kept.keys())?;
        let new = accept(here, kept, now, &self.words);
        new.write(file)?;
        println!("{} cases are accepted in {}", new.cases.len(), accepted::FILE);
        Ok(())
    }

    /// Builds and runs the cases that were chosen, telling which one is on.
    fn count<'a>(
        &self,
        known: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeMap<String, Profile>, String> {
        let program = build()?;
        let listed = callgrind::cases(&program)?;
        if let Some(word) = self.words.iter().find(|word| !listed.iter().any(|name| name.contains(*word))) {
            let known: BTreeSet<_> = known.filter(|name| name.contains(word)).collect();
            if known.is_empty() {
                return Err(format!("no case has `{word}` in its name; there are: {}", listed.join(", ")));
            }
        }
        let mut counted = BTreeMap::new();
        for name in listed.into_iter().filter(|name| self.has_chosen(name)) {
            if !self.json {
                eprintln!("counting {name}");
            }
            let profile =
                callgrind::count(&program, &name).map_err(|why| format!("cannot count `{name}`: {why}"))?;
            counted.insert(name, profile);
        }
        Ok(counted)
    }

    fn explained(
        &self,
        rows: &[Row],
        before: &BTreeMap<String, Profile>,
        now: &BTreeMap<String, Profile>,
    ) -> Vec<(Row, Vec<Difference>)> {
        let asked = rows.iter().filter(|row| !self.words.is_empty() || row.state != State::Within);
        asked
            .filter_map(|row| {
                let (before, now) = (before.get(&row.case)?, now.get(&row.case)?);
                Some((row.clone(), explain(before, now)))
            })
            .collect()
    }

    fn chosen<T>(&self, cases: BTreeMap<String, T>) -> BTreeMap<String, T> {
        cases.into_iter().filter(|(name, _)| self.has_chosen(name)).collect()
    }

    fn has_chosen(&self, name: &str) -> bool {
        is_chosen(&self.words, name)
    }
}

fn is_chosen(words: &[String], name: &str) -> bool {
    words.is_empty() || words.iter().any(|word| name.contains(word))
}

/// What became of each case, in the order of their names.
pub(crate) fn guard(accepted: &BTreeMap<String, Profile>, now: &BTreeMap<String, Profile>) -> Vec<Row> {
    let names: BTreeSet<&String> = accepted.keys().chain(now.keys()).collect();
    let total = |cases: &BTreeMap<String, Profile>, name| cases.get(name).map(|profile| profile.total);
    names.into_iter().map(|name| Row::new(name, total(accepted, name), total(now, name))).collect()
}

/// Which functions make the difference between two counts of a case, the greatest first.
pub(crate) fn explain(before: &Profile, now: &Profile) -> Vec<Difference> {
    compare::differences(before, now)
}

/// The accepted counts from now on.
///
/// A case that is within its budget keeps the count it has, unless it is named: a percent again and again would
/// add up, and a diff is read by somebody. Without names, cases that are no more are forgotten.
pub(crate) fn accept(
    machine: Machine,
    mut kept: BTreeMap<String, Profile>,
    now: BTreeMap<String, Profile>,
    words: &[String],
) -> Accepted {
    kept.retain(|name, _| now.contains_key(name) || !is_chosen(words, name));
    for (name, profile) in now {
        let is_within = kept.get(&name).is_some_and(|kept| {
            Row::new(&name, Some(kept.total), Some(profile.total)).state == State::Within
        });
        if !is_within || !words.is_empty() {
            kept.insert(name, profile.greatest(accepted::FUNCTIONS_MAX));
        }
    }
    Accepted { machine, cases: kept }
}

fn workspace() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    folder.map(Path::to_owned).ok_or_else(|| "the workspace has no folder".to_owned())
}

/// Builds what is counted as it is shipped.
///
/// Together with this program: cargo would otherwise choose other features for the libraries, and build all of them
/// twice.
fn build() -> Result<PathBuf, String> {
    // The cargo of whoever runs this: the one that compiled us may be a bare toolchain, whose compilers then follow the
    // `rust-toolchain.toml` of a library.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--profile",
        "dist",
        "--locked",
        "--quiet",
        "--message-format=json-render-diagnostics",
    ]);
    cargo.args(["--package", "xtask", "--package", "lockgate-bench", "--bin", "counted"]);
    // Other flags make other instructions.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").current_dir(workspace()?);
    let built = cargo
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|why| format!("cannot start cargo: {why}"))?;
    if !built.status.success() {
        return Err("there is nothing to count, because the build failed".to_owned());
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let mut program = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    program.next_back().ok_or_else(|| "cargo does not say where it built `counted`".to_owned())
}

fn table(rows: &[Row]) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), grouped);
    let line = |case: &str, accepted: &str, now: &str, change: &str, hint: &str| {
        let line = format!("{case:<26}{accepted:>12}{now:>12}{change:>10}  {hint}");
        format!("{}\n", line.trim_end())
    };
    let head = line("case", "accepted", "now", "change", "");
    let body = rows.iter().map(|row| {
        let change =
            row.change_percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.2} %"));
        line(&row.case, &number(row.accepted), &number(row.now), &change, &hint(row))
    });
    std::iter::once(head).chain(body).collect()
}

fn hint(row: &Row) -> String {
    let case = &row.case;
    match row.state {
        State::Within => String::new(),
        State::Over => format!("OVER: `cargo xtask counts {case} --explain` says why"),
        State::Under => "lower: accept it with --accept, so that it cannot creep back".to_owned(),
        State::New => "NEW: it has no budget until it is accepted with --accept".to_owned(),
        State::Gone => "GONE: nobody counts it any more; accept that with --accept".to_owned(),
    }
}

/// One case, function by function.
fn told(row: &Row, differences: &[Difference]) -> String {
    let (before, now) = (row.accepted.unwrap_or_default(), row.now.unwrap_or_default());
    let change = signed(before, now);
    let mut text =
        format!("\n{}: {} before, {} now, {change} instructions\n", row.case, grouped(before), grouped(now));
    if differences.is_empty() {
        text.push_str("  no function takes more or fewer than before\n");
        return text;
    }
    text.push_str("        before         now  difference     share  function\n");
    let total = compare::difference(before, now);
    for difference in differences.iter().take(EXPLAINED_MAX) {
        let known = difference.before.map_or_else(|| "few or none".to_owned(), grouped);
        let change = signed(difference.before.unwrap_or_default(), difference.now);
        let share = percent_of(difference.change(), total);
        let name = shown(&difference.function);
        text.push_str(&format!(
            "  {known:>12}{:>12}{change:>12}{share:>10}  {name}\n",
            grouped(difference.now)
        ));
    }
    let (shown, rest) = differences.split_at(differences.len().min(EXPLAINED_MAX));
    let explained = percent_of(shown.iter().map(Difference::change).sum(), total);
    let (n_shown, n_rest) = (shown.len(), rest.len());
    text.push_str(&format!(
        "  these {n_shown} explain {explained} of the change; {n_rest} smaller ones are not shown\n"
    ));
    text
}

/// In the form of cargo's own tests, so that `./test` counts both.
fn summary(rows: &[Row]) -> String {
    let passed = rows.iter().filter(|row| row.state.is_fine()).count();
    let failed = rows.len() - passed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    format!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored")
}

fn as_json(here: &Machine, rows: &[Row], explained: &[(Row, Vec<Difference>)]) -> Value {
    let functions = |row: &Row| {
        let (_, differences) = explained.iter().find(|(explained, _)| explained.case == row.case)?;
        let functions = differences.iter().map(|it| {
            json!({"function": it.function, "before": it.before, "now": it.now, "difference": it.change()})
        });
        Some(functions.collect::<Vec<_>>())
    };
    let cases = rows.iter().map(|row| {
        json!({
            "case": row.case, "accepted": row.accepted, "now": row.now, "change_percent": row.change_percent(),
            "state": row.state.word(), "functions": functions(row),
        })
    });
    json!({"machine": here, "tolerance_permille": compare::TOLERANCE_PERMILLE, "cases": cases.collect::<Vec<_>>()})
}

fn percent_of(part: i64, whole: i64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.0} %", part as f64 * 100.0 / whole as f64) }
}

fn signed(before: u64, now: u64) -> String {
    let sign = if now < before { "-" } else { "+" };
    format!("{sign}{}", grouped(before.abs_diff(now)))
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn shown(name: &str) -> String {
    if name.chars().count() <= NAME_SHOWN_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_SHOWN_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
