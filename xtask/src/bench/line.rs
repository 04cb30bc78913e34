//! What a bench has found out, line by line, and the file in which lines are kept.
//!
//! A line is JSON: under which conditions a bench ran, one figure, or why there is none. The file keeps the lines of every
//! bench's latest recorded run, in the order of the questions; nobody edits it.

use std::{fs, path::Path};

use lockgate_bench::figure::Figure;
use serde::{Deserialize, Serialize};

use super::{Question, cannot};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// A number.
    Figure(Figure),
    /// Why there is no number.
    Remark(Remark),
    /// Under which conditions all that follows was measured.
    Head(Head),
}

/// What has to be known before a number is believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    /// The question.
    pub(crate) bench: String,
    /// The day, as `2026-01-31`.
    pub(crate) date: String,
    /// Processor, number of cores, kernel.
    pub(crate) machine: String,
    /// The compiler that built us.
    pub(crate) rustc: String,
    /// On which core.
    pub(crate) pinned: String,
    /// The command to repeat it.
    pub(crate) command: String,
}

/// Why a number is missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remark {
    /// The question.
    pub(crate) bench: String,
    /// The work; none where it goes for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) work: Option<String>,
    /// The size; none where it goes for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Who was asked.
    pub(crate) who: String,
    /// The reason, in a few words.
    pub(crate) remark: String,
}

/// Whether a line belongs to a question.
pub(crate) fn is_of(line: &Line, question: Question) -> bool {
    let bench = match line {
        Line::Figure(figure) => &figure.bench,
        Line::Remark(remark) => &remark.bench,
        Line::Head(head) => &head.bench,
    };
    bench == question.name()
}

/// Lines as text.
pub(crate) fn write(lines: &[Line]) -> String {
    // Nothing in a line can fail to be written: it is text and finite numbers.
    lines.iter().filter_map(|line| serde_json::to_string(line).ok()).map(|line| line + "\n").collect()
}

/// Text as lines.
pub(crate) fn read(text: &str) -> Result<Vec<Line>, String> {
    let line = |(number, text): (usize, &str)| {
        let known: Result<Line, _> = serde_json::from_str(text);
        known.map_err(|_| format!("line {} is no figure; measure again with `--record`", number + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// Puts a bench's lines in the place of those it had.
pub(crate) fn record(file: &Path, question: Question, lines: &[Line]) -> Result<(), String> {
    let kept = if file.exists() {
        fs::read_to_string(file).map_err(|error| cannot("read", file, &error))?
    } else {
        String::new()
    };
    let kept = read(&kept).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|error| cannot("create", folder, &error))?;
    fs::write(file, write(&replaced(&kept, question, lines))).map_err(|error| cannot("write", file, &error))
}

fn replaced(kept: &[Line], question: Question, lines: &[Line]) -> Vec<Line> {
    let of = |one: Question| {
        let from = if one == question { lines } else { kept };
        from.iter().filter(move |line| is_of(line, one)).cloned()
    };
    Question::EACH.into_iter().flat_map(of).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A figure for tests: who took how long for what.
    pub(crate) fn figure(work: &str, size: u64, who: &str, against: Option<&str>, best: f64) -> Line {
        Line::Figure(Figure {
            bench: "decide".to_owned(),
            work: work.to_owned(),
            size: Some(size),
            who: who.to_owned(),
            against: against.map(str::to_owned),
            unit: "ns".to_owned(),
            min: best,
            median: best * 1.1,
            p99: Some(best * 2.0),
            samples: 100,
            version: "1.0".to_owned(),
            note: None,
        })
    }

    /// A remark for tests.
    pub(crate) fn remark(work: Option<&str>, size: Option<u64>, who: &str, remark: &str) -> Line {
        Line::Remark(Remark {
            bench: "decide".to_owned(),
            work: work.map(str::to_owned),
            size,
            who: who.to_owned(),
            remark: remark.to_owned(),
        })
    }

    /// A head for tests.
    pub(crate) fn head(bench: &str) -> Line {
        Line::Head(Head {
            bench: bench.to_owned(),
            date: "2001-02-03".to_owned(),
            machine: "a processor of tests, 2 cores, Linux 1.0".to_owned(),
            rustc: "rustc 1.0".to_owned(),
            pinned: "core 1".to_owned(),
            command: format!("cargo xtask bench {bench} --record"),
        })
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let lines = vec![
            head("decide"),
            figure("w", 4, "Lockgate, judge", None, 412.5),
            figure("w", 4, "Peer", Some("Lockgate, judge"), 1e9 / 3.0),
            remark(Some("w"), Some(10), "Peer", "gave up"),
            remark(None, None, "Other", "is not there"),
        ];
        assert_eq!(read(&write(&lines)).unwrap(), lines);
    }

    #[test]
    fn a_line_that_is_no_figure_is_named() {
        let text = format!("{}{{\"bench\":\"decide\"}}\n", write(&[head("decide")]));
        assert_eq!(read(&text).unwrap_err(), "line 2 is no figure; measure again with `--record`");
    }

    #[test]
    fn recording_one_bench_keeps_the_others_and_the_order_of_the_questions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("docs/figures.jsonl");
        let old = [head("decide"), figure("w", 4, "Lockgate, judge", None, 9.0)];
        record(&file, Question::Mcp, &[head("mcp")]).unwrap();
        record(&file, Question::Decide, &old).unwrap();
        record(&file, Question::Hook, &[head("hook")]).unwrap();
        record(&file, Question::Decide, &[head("decide")]).unwrap();
        let kept = read(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(kept, [head("decide"), head("hook"), head("mcp")]);
    }
}
