//! The few figures that README.md and docs/compare.md show, between two marks that nobody sees.

use crate::bench::{
    DECIDING, LINKED, LOOKING_BACK, PROVING, READING,
    line::Line,
    reading::{times, told},
    table::{self, Table, is_cited, is_ours},
};

const BEGIN: &str = "<!-- figures:";
const END: &str = "<!-- end -->";

/// What a newcomer wants to know first: what it is called, the work, the size.
const HEADLINES: [(&str, &str, Option<u64>); 8] = [
    ("one decision, 10 rules about other tools", "rules about other tools", Some(10)),
    ("one decision, one of 1,000 rules has a say", "one rule about this tool", Some(1_000)),
    ("one decision, 1,000 rules with a regex each", "every rule has a regex", Some(1_000)),
    ("a cold hook that decides under 100 rules", DECIDING, None),
    ("a decision that looks back over 10,000 calls", LOOKING_BACK, Some(10_000)),
    ("reading 1,000 rules", READING, Some(1_000)),
    ("reading and proving 1,000 rules", PROVING, Some(1_000)),
    ("reading and proving 2,000 linked rules with limits and approvals", LINKED, Some(2_000)),
];

/// The text between the marks, with a link to all figures; empty where nothing was measured.
pub(crate) fn block(lines: &[Line], link: &str) -> String {
    let tables = table::tables(lines);
    let row = |(name, work, size): &(&str, &str, Option<u64>)| {
        let table = tables.iter().find(|table| table.work == *work)?;
        row(name, table, *size)
    };
    let rows: String = HEADLINES.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let machine = lines.iter().find_map(|line| match line {
        Line::Head(head) => Some(format!("{}, {}", head.machine, head.date)),
        _ => None,
    });
    format!(
        "| what | Lockgate | beside it |\n|---|---|---|\n{rows}\nThe best of many samples, of whole processes the median, on {}; in brackets, how many times as long as Lockgate \
         takes for the same. [docs/benchmarks.md]({link}) has all figures, how they were taken, and where we lose.\n",
        machine.unwrap_or_default()
    )
}

fn row(name: &str, table: &Table<'_>, size: Option<u64>) -> Option<String> {
    let here = || table.figures.iter().copied().filter(|figure| figure.size == size);
    let ours = here().find(|figure| is_ours(&figure.who))?;
    let mut others: Vec<_> = here().filter(|figure| !is_ours(&figure.who) && !is_cited(figure)).collect();
    others.sort_by(|one, other| one.shown().total_cmp(&other.shown()));
    let other = |figure: &&_| {
        let figure: &lockgate_bench::figure::Figure = figure;
        let ratio = table.ratio(figure).map(|ratio| format!(" ({})", times(ratio)));
        format!(
            "{} {}{}",
            table::system(&figure.who),
            told(figure.shown(), &figure.unit),
            ratio.unwrap_or_default()
        )
    };
    let others: Vec<String> = others.iter().map(other).collect();
    Some(format!("| {name} | {} | {} |\n", told(ours.shown(), &ours.unit), others.join(", ")))
}

/// The page with the block between its marks.
pub(crate) fn put_into(page: &str, block: &str) -> Result<String, String> {
    let missing =
        || format!("the page has no block that begins with a line `{BEGIN} … -->` and ends with `{END}`");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (words, rest) = rest.split_once("-->\n").ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    // Tables need an empty line around them.
    let block = if block.is_empty() { String::new() } else { format!("\n{block}\n") };
    Ok(format!("{before}{BEGIN}{words}-->\n{block}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use lockgate_bench::work::Work;

    use super::*;
    use crate::bench::line::tests::{figure, head};

    #[test]
    fn the_block_names_everybody_from_the_fastest() {
        let us = Some("Lockgate, judge");
        let lines = [
            head("decide"),
            figure("every rule has a regex", 1_000, "Lockgate, judge", None, 400.0),
            figure("every rule has a regex", 1_000, "Lockgate, in memory", None, 500.0),
            figure("every rule has a regex", 1_000, "Slow, in memory", Some("Lockgate, in memory"), 95e3),
            figure("every rule has a regex", 1_000, "Quick", us, 300.0),
            figure("every rule has a regex", 10, "Other size", us, 300.0),
            figure("no headline", 1_000, "Lockgate, judge", None, 400.0),
        ];
        assert_eq!(
            block(&lines, "docs/benchmarks.md"),
            "| what | Lockgate | beside it |\n|---|---|---|\n\
            | one decision, 1,000 rules with a regex each | 400 ns | Quick 300 ns (0.75×), Slow 95 µs (190×) |\n\n\
            The best of many samples, of whole processes the median, on a processor of tests, 2 cores, Linux 1.0, 2001-02-03; in brackets, how many times as long as Lockgate \
            takes for the same. [docs/benchmarks.md](docs/benchmarks.md) has all figures, how they were taken, and where we \
            lose.\n"
        );
        assert_eq!(block(&[], "x"), "");
    }

    #[test]
    fn every_headline_is_of_a_work_that_is_measured() {
        let works =
            Work::ALL.map(Work::name).into_iter().chain([DECIDING, LOOKING_BACK, READING, PROVING, LINKED]);
        let works: Vec<&str> = works.collect();
        assert_eq!(HEADLINES.iter().find(|(_, work, _)| !works.contains(work)), None);
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = "a\n<!-- figures: x -->\nold\n<!-- end -->\nb <!-- end -->\n";
        let with = put_into(page, "new\n").unwrap();
        assert_eq!(with, "a\n<!-- figures: x -->\n\nnew\n\n<!-- end -->\nb <!-- end -->\n");
        assert_eq!(put_into(&with, "new\n").unwrap(), with);
        assert_eq!(put_into(&with, "").unwrap(), "a\n<!-- figures: x -->\n<!-- end -->\nb <!-- end -->\n");
        for bad in ["", "<!-- figures: x -->\n", "<!-- end -->"] {
            assert!(put_into(bad, "new").unwrap_err().contains("<!-- figures:"));
        }
    }
}
