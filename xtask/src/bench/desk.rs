//! Where questions are put and answers are written down.
//!
//! A [`Desk`] holds everybody who can be asked. It says on stderr what it waits for, checks every verdict, keeps the
//! figures, and says why one is missing. It does not know what is measured.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use lockgate_bench::{
    figure::Figure,
    job::{Answer, Done, Job, Pace, Told},
    work::{Language, Work},
};

use super::{
    Question,
    line::{Line, Remark},
    runners::{Ask, Runner},
};

/// Whoever takes longer for a size is not asked for the larger ones.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many processes do the same job.
const PROCESSES: u64 = 3;

/// How thorough a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How long to measure one figure.
    pub(crate) budget_ms: u64,
    /// The largest size.
    pub(crate) size_max: u64,
    /// How many cold processes for one figure.
    pub(crate) processes: usize,
    /// How many calls through a proxy for one figure.
    pub(crate) calls: usize,
}

impl Effort {
    /// For the report.
    pub(crate) const FULL: Self = Self { budget_ms: 600, size_max: u64::MAX, processes: 300, calls: 5_000 };
    /// To see whether something has changed for much.
    pub(crate) const QUICK: Self = Self { budget_ms: 50, size_max: 1_000, processes: 20, calls: 500 };
}

/// One place in a table, before it has a number.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    /// The table.
    pub(crate) work: &'a str,
    /// The column.
    pub(crate) size: Option<u64>,
    /// The row.
    pub(crate) who: &'a str,
    /// Who of us does the same.
    pub(crate) against: Option<&'a str>,
}

/// Everybody who is measured for one question.
pub(crate) struct Desk<'a> {
    question: Question,
    /// How thorough to be.
    pub(crate) effort: Effort,
    only: Option<String>,
    ours: Ask<'a>,
    /// Those beside us.
    pub(crate) peers: Vec<Runner<'a>>,
    lines: Vec<Line>,
    /// Who took too long for which work.
    slow: BTreeSet<(String, String)>,
    is_right: bool,
}

impl<'a> Desk<'a> {
    /// A desk for one question.
    pub(crate) fn new(
        question: Question,
        effort: Effort,
        only: Option<String>,
        ours: Ask<'a>,
        peers: Vec<Result<Runner<'a>, Remark>>,
    ) -> Self {
        let mut desk = Self {
            question,
            effort,
            only: only.map(|word| word.to_lowercase()),
            ours,
            peers: Vec::new(),
            lines: Vec::new(),
            slow: BTreeSet::new(),
            is_right: true,
        };
        for peer in peers {
            match peer {
                Ok(peer) => desk.peers.push(peer),
                Err(why) => desk.remark(None, None, &why.who, &why.remark),
            }
        }
        desk
    }

    /// What was found out, and whether everybody was right and we could be measured.
    pub(crate) fn done(self) -> (Vec<Line>, bool) {
        (self.lines, self.is_right)
    }

    /// The works that are wanted; all of them where the word names no work.
    pub(crate) fn wanted<T: Copy>(&self, works: &[T], name: impl Fn(T) -> &'static str) -> Vec<T> {
        let has = |work: &T| self.only.as_ref().is_none_or(|word| name(*work).to_lowercase().contains(word));
        let wanted: Vec<T> = works.iter().copied().filter(has).collect();
        if wanted.is_empty() { works.to_vec() } else { wanted }
    }

    /// The peers that are wanted, by their place; all of them where the word names none.
    pub(crate) fn wanted_peers(&self) -> Vec<usize> {
        let has =
            |peer: &Runner<'_>| self.only.as_ref().is_none_or(|word| peer.name.to_lowercase().contains(word));
        let all = 0..self.peers.len();
        let wanted: Vec<usize> = all.clone().filter(|at| self.peers.get(*at).is_some_and(has)).collect();
        if wanted.is_empty() { all.collect() } else { wanted }
    }

    /// Those of these sizes that a run of this effort measures.
    pub(crate) fn sizes(&self, sizes: &[u64]) -> Vec<u64> {
        sizes.iter().copied().filter(|size| *size <= self.effort.size_max).collect()
    }

    /// Asks our own runner.
    pub(crate) fn ask_ours(&mut self, cell: &Cell<'_>, job: &Job) {
        if self.is_skipped(cell) {
            return;
        }
        let (answer, taken) = fastest(&mut self.ours, job);
        self.remember_slowness(cell, taken);
        if let Some(done) = self.our_answer(cell, job.expect, answer) {
            self.put(cell, "ns", done.pace, &done.version, None);
        }
    }

    /// Asks our own runner for what only it can do; none where it does not answer.
    pub(crate) fn ask_ours_alone(&mut self, cell: &Cell<'_>, job: &Job) -> Option<Done> {
        self.say(cell);
        let answer = (self.ours)(job);
        self.our_answer(cell, job.expect, answer)
    }

    /// Asks a peer.
    pub(crate) fn ask_peer(&mut self, peer: usize, cell: &Cell<'_>, job: &Job) {
        if self.is_skipped(cell) {
            return;
        }
        let Some(runner) = self.peers.get_mut(peer) else { return };
        let (answer, taken) = fastest(&mut runner.ask, job);
        self.remember_slowness(cell, taken);
        match answer {
            Ok(Answer::Done(done)) if self.is_right_of(cell, job.expect, &done) => {
                self.put(cell, "ns", done.pace, &done.version, None);
            }
            Ok(Answer::Done(_)) => {}
            Ok(Answer::Cannot { cannot }) => self.remark(Some(cell.work), cell.size, cell.who, &cannot),
            Err(error) => {
                // Whoever has failed at a size fails at the larger ones too, and takes its time for that.
                self.slow.insert((cell.work.to_owned(), cell.who.to_owned()));
                self.remark(Some(cell.work), cell.size, cell.who, &first_line(&error));
            }
        }
    }

    /// Writes a figure down that was measured elsewhere.
    pub(crate) fn put(
        &mut self,
        cell: &Cell<'_>,
        unit: &str,
        pace: Pace,
        version: &str,
        note: Option<String>,
    ) {
        self.lines.push(Line::Figure(Figure {
            bench: self.question.name().to_owned(),
            work: cell.work.to_owned(),
            size: cell.size,
            who: cell.who.to_owned(),
            against: cell.against.map(str::to_owned),
            unit: unit.to_owned(),
            min: pace.min,
            median: pace.median,
            p99: (pace.p99 > 0.0).then_some(pace.p99),
            samples: pace.samples,
            version: version.to_owned(),
            note,
        }));
    }

    /// Says why there is no figure.
    pub(crate) fn remark(&mut self, work: Option<&str>, size: Option<u64>, who: &str, remark: &str) {
        let remark = Remark {
            bench: self.question.name().to_owned(),
            work: work.map(str::to_owned),
            size,
            who: who.to_owned(),
            remark: remark.to_owned(),
        };
        self.lines.push(Line::Remark(remark));
    }

    /// Says that something is wrong: the run goes on, is not recorded and ends with 1.
    pub(crate) fn complain(&mut self, cell: &Cell<'_>, what: &str) {
        eprintln!("error: {}: {what}", place(cell));
        self.is_right = false;
        self.remark(Some(cell.work), cell.size, cell.who, what);
    }

    /// Says on stderr what is measured now.
    pub(crate) fn say(&self, cell: &Cell<'_>) {
        eprintln!("{}: {}", self.question.name(), place(cell));
    }

    /// The question that is measured.
    pub(crate) fn question(&self) -> Question {
        self.question
    }

    /// What was written down so far.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn our_answer(
        &mut self,
        cell: &Cell<'_>,
        expect: Option<Told>,
        answer: Result<Answer, String>,
    ) -> Option<Done> {
        match answer {
            Ok(Answer::Done(done)) => self.is_right_of(cell, expect, &done).then_some(done),
            Ok(Answer::Cannot { cannot }) => {
                self.complain(cell, &cannot);
                None
            }
            Err(error) => {
                self.complain(cell, &first_line(&error));
                None
            }
        }
    }

    fn is_right_of(&mut self, cell: &Cell<'_>, expect: Option<Told>, done: &Done) -> bool {
        let is_right = expect.is_none() || expect == done.verdict;
        if !is_right {
            self.complain(cell, "decided wrongly");
        }
        is_right
    }

    fn is_skipped(&mut self, cell: &Cell<'_>) -> bool {
        let is_slow = self.slow.contains(&(cell.work.to_owned(), cell.who.to_owned()));
        if is_slow {
            self.remark(
                Some(cell.work),
                cell.size,
                cell.who,
                "not asked: a smaller size took too long or failed",
            );
        } else {
            self.say(cell);
        }
        is_slow
    }

    fn remember_slowness(&mut self, cell: &Cell<'_>, taken: Duration) {
        if taken > PATIENCE {
            self.slow.insert((cell.work.to_owned(), cell.who.to_owned()));
        }
    }
}

/// A folder with the policy of a work, and what else the language wants to be told; none where it cannot say the work.
pub(crate) fn policy_of(
    work: Work,
    language: Language,
    n_rules: usize,
) -> Result<Option<(tempfile::TempDir, Vec<PathBuf>)>, String> {
    let Some(texts) = work.files(language, n_rules) else { return Ok(None) };
    let schema = work.schema(language, n_rules).map(|(name, text)| (name.to_owned(), text));
    let folder = folder()?;
    let mut files = Vec::new();
    for (name, text) in texts.into_iter().chain(schema) {
        let file = folder.path().join(name);
        std::fs::write(&file, text).map_err(|error| super::cannot("write", &file, &error))?;
        files.push(file);
    }
    Ok(Some((folder, files)))
}

/// A folder with one policy, which goes when it is dropped.
pub(crate) fn policy(file_name: &str, text: &str) -> Result<(tempfile::TempDir, PathBuf), String> {
    let folder = folder()?;
    let file = folder.path().join(file_name);
    std::fs::write(&file, text).map_err(|error| super::cannot("write", &file, &error))?;
    Ok((folder, file))
}

/// Asks several processes, each for its part of the time, and takes the fastest; also how long the slowest was at it. The
/// same process keeps its pace, and another one on the same machine may have another: where its memory lies, and whether
/// the machine was busy when it began, cannot be chosen. Whoever fails or decides wrongly once has done so.
fn fastest(ask: &mut Ask<'_>, job: &Job) -> (Result<Answer, String>, Duration) {
    let part = Job { budget_ms: job.budget_ms.div_ceil(PROCESSES), ..job.clone() };
    let (mut fastest, mut longest): (Option<Done>, _) = (None, Duration::ZERO);
    for _ in 0..PROCESSES {
        let started = Instant::now();
        let answer = ask(&part);
        longest = longest.max(started.elapsed());
        let done = match answer {
            Ok(Answer::Done(done)) if job.expect.is_none() || job.expect == done.verdict => done,
            answer => return (answer, longest),
        };
        if fastest.as_ref().is_none_or(|fastest| done.pace.min < fastest.pace.min) {
            fastest = Some(done);
        }
        // Nearly all of that was getting ready, and three times of it would be too much to wait for.
        if longest > Duration::from_millis(job.budget_ms) * 3 {
            break;
        }
    }
    (fastest.map(Answer::Done).ok_or_else(|| "nobody was asked".to_owned()), longest)
}

fn folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("cannot create a folder for a policy: {error}"))
}

fn place(cell: &Cell<'_>) -> String {
    let size = cell.size.map_or_else(String::new, |size| format!(", {size}"));
    format!("{}{size}: {}", cell.work, cell.who)
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no answer").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use lockgate_bench::job::{Pace, Task};

    use super::*;

    /// What comes of answers that a job is given one after the other, in which 0 is a failure and below it a wrong verdict.
    fn answered(answers: &[f64]) -> (Result<f64, String>, usize) {
        let mut given = 0;
        let mut ask: Ask<'_> = Box::new(|part: &Job| {
            assert_eq!(part.budget_ms, 10, "a third");
            let min = answers[given];
            given += 1;
            if min == 0.0 {
                return Err("failed".to_owned());
            }
            let verdict = Some(if min > 0.0 { Told::Allow } else { Told::Block });
            let pace = Pace { min, median: 1.0, p99: 1.0, samples: 5 };
            Ok(Answer::Done(Done { verdict, ..Done::of(pace) }))
        });
        let mut job = Job::of(Task::Judge, 30);
        job.expect = Some(Told::Allow);
        let answer = fastest(&mut ask, &job).0.map(|answer| match answer {
            Answer::Done(done) => done.pace.min,
            Answer::Cannot { .. } => unreachable!("nobody says so here"),
        });
        drop(ask);
        (answer, given)
    }

    #[test]
    fn the_fastest_of_three_processes_counts_unless_one_fails() {
        assert_eq!(answered(&[3.0, 1.0, 2.0]), (Ok(1.0), 3));
        assert_eq!(answered(&[3.0, 0.0, 2.0]), (Err("failed".to_owned()), 2));
        assert_eq!(answered(&[3.0, -1.0, 2.0]), (Ok(-1.0), 2), "for whoever checks the verdict");
    }
}
