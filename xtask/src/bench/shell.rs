//! How long does it take to see what a shell script does?
//!
//! The lines are commands that people asked for and wrote. Our runner sees all of them once and answers with the
//! nanoseconds of that; nobody beside us takes scripts apart, so nobody else is asked.

use std::path::PathBuf;

use lockgate_bench::job::{Job, Pace, Task};

use super::desk::{Cell, Desk};

/// The one work there is.
pub(crate) const SEEING: &str = "seeing what a line of shell does";

/// Asks our runner.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    let data = std::env::var_os("LOCKGATE_DATA").map(PathBuf::from);
    let data = data.ok_or("LOCKGATE_DATA is not set: the lines to see are in its shell/nl2bash.txt")?;
    let file = data.join("shell/nl2bash.txt");
    let cell = Cell { work: SEEING, size: None, who: "Lockgate", against: None };
    let job = Job { files: vec![file], ..Job::of(Task::See, desk.effort.budget_ms) };
    if let Some(done) = desk.ask_ours_alone(&cell, &job) {
        let lines = done.count.unwrap_or_default();
        let note = format!("{lines} lines of the NL2Bash corpus");
        desk.put(&cell, "per second", per_second(done.pace, lines), &done.version, Some(note));
    }
    Ok(())
}

/// How many a second, from the nanoseconds of all of them: the most are the best.
pub(crate) fn per_second(pace: Pace, count: u64) -> Pace {
    let rate = |ns: f64| if ns > 0.0 { count as f64 * 1e9 / ns } else { 0.0 };
    Pace { min: rate(pace.min), median: rate(pace.median), p99: rate(pace.p99), samples: pace.samples }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_a_second_come_from_the_time_of_all_lines() {
        let all = Pace { min: 1e9, median: 2e9, p99: 4e9, samples: 9 };
        let rate = per_second(all, 12_000);
        assert_eq!((rate.min, rate.median, rate.p99, rate.samples), (12_000.0, 6_000.0, 3_000.0, 9));
    }
}
