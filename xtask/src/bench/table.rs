//! Lines as tables, for a terminal and for a page.
//!
//! One table for each work: a row for everybody, a column for each size, the best sample in a cell, and behind it how many times
//! as long as we take for the same. Everybody is a row and not a column, because there are more of them than sizes, and
//! their names are long. What is missing is said below the table, and where we lose is computed here and nowhere else.

use lockgate_bench::figure::Figure;

use super::{
    cited::MARK,
    line::{Head, Line, Remark},
    reading::{is_more_better, thousands, times, told},
};

/// One table: everything that was found out about a work.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// The question.
    pub(crate) bench: &'a str,
    /// What was done.
    pub(crate) work: &'a str,
    /// In the order in which they were measured.
    pub(crate) figures: Vec<&'a Figure>,
    remarks: Vec<&'a Remark>,
}

/// All tables of some lines, in the order in which works were measured.
pub(crate) fn tables(lines: &[Line]) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for line in lines {
        let (bench, work) = match line {
            Line::Figure(figure) => (&figure.bench, Some(&figure.work)),
            Line::Remark(remark) => (&remark.bench, remark.work.as_ref()),
            Line::Head(_) => continue,
        };
        let Some(work) = work else { continue };
        let at = tables.iter().position(|table| table.bench == bench && table.work == work);
        let at = at.unwrap_or_else(|| {
            tables.push(Table { bench, work, figures: Vec::new(), remarks: Vec::new() });
            tables.len() - 1
        });
        match (tables.get_mut(at), line) {
            (Some(table), Line::Figure(figure)) => table.figures.push(figure),
            (Some(table), Line::Remark(remark)) => table.remarks.push(remark),
            _ => {}
        }
    }
    tables
}

impl<'a> Table<'a> {
    /// Everybody, once.
    pub(crate) fn everybody(&self) -> Vec<&'a str> {
        distinct(self.figures.iter().map(|figure| figure.who.as_str()))
    }

    /// All sizes, once, ascending; empty where the work has none.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let mut sizes = distinct(self.figures.iter().filter_map(|figure| figure.size));
        sizes.sort_unstable();
        sizes
    }

    /// The figure of somebody.
    pub(crate) fn figure(&self, who: &str, size: Option<u64>) -> Option<&'a Figure> {
        self.figures.iter().copied().find(|figure| figure.who == who && figure.size == size)
    }

    /// How many times as much as we need for the same; none for ourselves and for what is cited.
    pub(crate) fn ratio(&self, figure: &Figure) -> Option<f64> {
        let ours = self.figure(figure.against.as_deref()?, figure.size)?;
        (ours.shown() > 0.0 && figure.shown() > 0.0).then(|| figure.shown() / ours.shown())
    }

    /// As rows of text, the first of which names the columns.
    fn rows(&self) -> Vec<Vec<String>> {
        let sizes = self.sizes();
        if sizes.is_empty() { self.rows_without_sizes() } else { self.rows_by_size(&sizes) }
    }

    fn rows_by_size(&self, sizes: &[u64]) -> Vec<Vec<String>> {
        let noun = noun(self.work);
        let column = |(at, size): (usize, &u64)| {
            let size = thousands(*size as f64);
            if at == 0 { format!("{size} {noun}") } else { size }
        };
        let mut head = vec![String::new()];
        head.extend(sizes.iter().enumerate().map(column));
        let mut rows = vec![head];
        for who in self.everybody() {
            let cell =
                |size: &u64| self.figure(who, Some(*size)).map_or("–".to_owned(), |it| self.cell(it));
            rows.push(std::iter::once(who.to_owned()).chain(sizes.iter().map(cell)).collect());
        }
        rows
    }

    fn rows_without_sizes(&self) -> Vec<Vec<String>> {
        let mut rows =
            vec![["", "median", "best", "one in 100 is worse than", ""].map(str::to_owned).to_vec()];
        for figure in &self.figures {
            let value = |value: f64| told(value, &figure.unit);
            rows.push(vec![
                figure.who.clone(),
                self.cell(figure),
                value(figure.min),
                figure.p99.map(value).unwrap_or_default(),
                figure.note.clone().unwrap_or_default(),
            ]);
        }
        rows
    }

    fn cell(&self, figure: &Figure) -> String {
        let value = told(figure.shown(), &figure.unit);
        match self.ratio(figure) {
            _ if is_cited(figure) => format!("≈ {value}"),
            Some(ratio) => format!("{value} ({})", times(ratio)),
            None => value,
        }
    }

    /// What has to be said below it.
    pub(crate) fn footnotes(&self) -> Vec<String> {
        let noun = noun(self.work);
        let mut notes: Vec<(String, Vec<u64>)> = Vec::new();
        for remark in &self.remarks {
            let text = format!("{}: {}", remark.who, remark.remark);
            match notes.iter_mut().find(|(known, _)| *known == text) {
                Some((_, sizes)) => sizes.extend(remark.size),
                None => notes.push((text, Vec::from_iter(remark.size))),
            }
        }
        let mut told: Vec<String> = notes
            .into_iter()
            .map(|(text, sizes)| match sizes.as_slice() {
                [] => text,
                sizes => {
                    let sizes: Vec<String> = sizes.iter().map(|size| thousands(*size as f64)).collect();
                    format!("{text} ({} {noun})", sizes.join(", "))
                }
            })
            .collect();
        let with_sizes = self.figures.iter().filter(|figure| figure.size.is_some());
        told.extend(with_sizes.filter_map(|figure| {
            let note = figure.note.as_ref()?;
            Some(format!("{}: {}", figure.who, note.strip_prefix(MARK).unwrap_or(note)))
        }));
        distinct(told)
    }

    /// Where somebody needs less than we do.
    pub(crate) fn losses(&self) -> Vec<String> {
        let lost = |figure: &&&Figure| {
            let is_less = |ratio: f64| if is_more_better(&figure.unit) { ratio > 1.0 } else { ratio < 1.0 };
            self.ratio(figure).is_some_and(is_less)
        };
        let tell = |figure: &&Figure| {
            let ours = self.figure(figure.against.as_deref()?, figure.size)?;
            let size = figure.size.map(|size| format!(", {} {}", thousands(size as f64), noun(self.work)));
            Some(format!(
                "{}{}: {} {}, {} {} ({})",
                self.work,
                size.unwrap_or_default(),
                figure.who,
                told(figure.shown(), &figure.unit),
                ours.who,
                told(ours.shown(), &ours.unit),
                times(self.ratio(figure)?),
            ))
        };
        self.figures.iter().filter(lost).filter_map(tell).collect()
    }

    /// Whether there is anything to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// For a page.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for (at, row) in used_columns(&self.rows()).iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
            if at == 0 {
                text.push_str(&format!("|---|{}\n", "---:|".repeat(row.len().saturating_sub(1))));
            }
        }
        text
    }

    fn plain(&self) -> String {
        let rows = used_columns(&self.rows());
        let columns = rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n", self.work);
        // Where there is nothing, a line of headings would only ask for it.
        for row in rows.iter().filter(|_| !self.is_empty()) {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(at, (cell, width))| {
                        if at == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text.push_str(&format!("  {}\n", cells.join("   ").trim_end()));
        }
        self.footnotes().iter().for_each(|note| text.push_str(&format!("  * {note}\n")));
        text
    }
}

/// What sizes of a work are.
pub(crate) fn noun(work: &str) -> &'static str {
    use super::session::{AMONG, LOOKING_BACK, MEMORY, SESSIONS};
    match work {
        LOOKING_BACK => "earlier calls",
        MEMORY => "calls",
        SESSIONS | AMONG => "sessions",
        _ => "rules",
    }
}

/// Whether a figure was measured by somebody else, elsewhere.
pub(crate) fn is_cited(figure: &Figure) -> bool {
    figure.note.as_ref().is_some_and(|note| note.starts_with(MARK))
}

/// Whether a figure is of ourselves.
pub(crate) fn is_ours(who: &str) -> bool {
    who.starts_with("Lockgate")
}

/// What goes for all works of a bench.
pub(crate) fn remarks(lines: &[Line]) -> Vec<String> {
    let remark = |line: &Line| match line {
        Line::Remark(remark) if remark.work.is_none() => Some(format!("{}: {}", remark.who, remark.remark)),
        _ => None,
    };
    lines.iter().filter_map(remark).collect()
}

/// The releases that were measured.
pub(crate) fn versions(lines: &[Line]) -> Vec<String> {
    let version = |line: &Line| match line {
        // What is neither ours nor held against us is a part of the machine, or cited.
        Line::Figure(figure) if is_ours(&figure.who) || figure.against.is_some() => {
            Some(format!("{} {}", system(&figure.who), figure.version).trim_end().to_owned())
        }
        _ => None,
    };
    distinct(lines.iter().filter_map(version))
}

/// Who it is, without how it was done.
pub(crate) fn system(who: &str) -> &str {
    who.split(',').next().unwrap_or(who)
}

/// Everything, for a terminal.
pub(crate) fn plain(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        if let Line::Head(head) = line {
            text.push_str(&conditions(head, lines));
        }
    }
    let tables = tables(lines);
    for table in tables.iter() {
        text.push_str(&format!("\n{}", table.plain()));
    }
    let remarks: String = remarks(lines).iter().map(|remark| format!("* {remark}\n")).collect();
    if !remarks.is_empty() {
        text.push_str(&format!("\n{remarks}"));
    }
    if tables.iter().any(|table| table.figures.iter().any(|figure| figure.against.is_some())) {
        text.push_str("\nThe best of many samples, of whole processes the median; in brackets, how many times as long as Lockgate takes for the same.\n");
    }
    let losses: Vec<String> = tables.iter().flat_map(Table::losses).collect();
    if !losses.is_empty() {
        text.push_str("\nWhere we lose\n");
        losses.iter().for_each(|loss| text.push_str(&format!("  {loss}\n")));
    }
    text
}

fn conditions(head: &Head, lines: &[Line]) -> String {
    format!(
        "{}\n{}; {}; {}; {}\n{}\n",
        head.command,
        head.machine,
        head.pinned,
        head.rustc,
        head.date,
        versions(lines).join("; ")
    )
}

/// Without columns in which nobody has anything.
fn used_columns(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let is_used = |column: usize| {
        column == 0 || rows.iter().skip(1).any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()))
    };
    let used = |row: &Vec<String>| {
        row.iter().enumerate().filter(|(column, _)| is_used(*column)).map(|(_, cell)| cell.clone()).collect()
    };
    rows.iter().map(used).collect()
}

fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::{
        super::line::tests::{figure, head, remark},
        *,
    };

    const US: Option<&str> = Some("Lockgate, judge");

    fn lines() -> Vec<Line> {
        let mut cited = figure("a work", 100, "Elder, cited", None, 100e3);
        if let Line::Figure(figure) = &mut cited {
            figure.note = Some(format!("{MARK}from elsewhere"));
        }
        vec![
            head("decide"),
            figure("a work", 4, "Lockgate, judge", None, 400.0),
            figure("a work", 4, "Lockgate, in memory", None, 500.0),
            figure("a work", 4, "Quick", US, 300.0),
            figure("a work", 4, "Slow, in memory", Some("Lockgate, in memory"), 95e3),
            figure("a work", 100, "Lockgate, judge", None, 440.0),
            figure("a work", 100, "Quick", US, 4_400.0),
            cited,
            remark(Some("a work"), Some(100), "Slow, in memory", "no answer"),
            remark(Some("a work"), Some(1_000), "Slow, in memory", "no answer"),
            remark(Some("a work"), None, "Mute", "cannot say this"),
            remark(None, None, "Absent", "is in no registry"),
            figure("b work", 4, "Quick", US, 1.0),
        ]
    }

    #[test]
    fn a_table_has_figures_ratios_footnotes_and_where_we_lose() {
        assert_eq!(
            plain(&lines()),
            "\
cargo xtask bench decide --record
a processor of tests, 2 cores, Linux 1.0; core 1; rustc 1.0; 2001-02-03
Lockgate 1.0; Quick 1.0; Slow 1.0

a work
                               4 rules            100
  Lockgate, judge               400 ns         440 ns
  Lockgate, in memory           500 ns              –
  Quick                 300 ns (0.75×)   4.4 µs (10×)
  Slow, in memory         95 µs (190×)              –
  Elder, cited                       –       ≈ 100 µs
  * Slow, in memory: no answer (100, 1,000 rules)
  * Mute: cannot say this
  * Elder, cited: from elsewhere

b work
          4 rules
  Quick    1.0 ns

* Absent: is in no registry

The best of many samples, of whole processes the median; in brackets, how many times as long as Lockgate takes for the same.

Where we lose
  a work, 4 rules: Quick 300 ns, Lockgate, judge 400 ns (0.75×)
"
        );
    }

    #[test]
    fn a_table_on_a_page_is_markdown() {
        let lines = lines();
        let tables = tables(&lines);
        let first: Vec<String> = tables[0].markdown().lines().take(3).map(str::to_owned).collect();
        assert_eq!(
            first,
            ["|  | 4 rules | 100 |", "|---|---:|---:|", "| Lockgate, judge | 400 ns | 440 ns |"]
        );
    }

    #[test]
    fn more_a_second_is_better_and_less_is_where_we_lose() {
        for (rate, losses) in [(90.0, 0), (110.0, 1)] {
            let mut lines =
                vec![figure("w", 4, "Lockgate, judge", None, 100.0), figure("w", 4, "Other", US, rate)];
            for line in &mut lines {
                if let Line::Figure(figure) = line {
                    figure.unit = "per second".to_owned();
                }
            }
            assert_eq!(tables(&lines)[0].losses().len(), losses);
        }
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let lines = [figure("w", 4, "Lockgate, judge", None, 0.0), figure("w", 4, "Other", US, 7.0)];
        let tables = tables(&lines);
        assert_eq!(tables[0].ratio(tables[0].figures[1]), None);
    }
}
