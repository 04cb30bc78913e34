//! The report: `docs/benchmarks.md`, its plots, and the figures in README.md and docs/compare.md, from what was recorded and from nowhere else.
//!
//! [`pages`] is a function of the recorded lines alone, so that a test can hold the pages against them: a figure that was
//! edited by hand fails it. Nothing is measured in here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::bench::{
    ELSEWHERE, FIGURES, Question, SOURCE, cannot,
    line::{self, Head, Line, is_of},
    table::{self, Table},
};

mod headlines;
mod plot;

const PAGE: &str = "docs/benchmarks.md";
const PLOTS: &str = "docs/benchmarks";
/// Pages that show a few figures, and how they link to all of them.
const SHOWING: [(&str, &str); 2] =
    [("README.md", "docs/benchmarks.md"), ("docs/compare.md", "benchmarks.md")];
const LINE_MAX: usize = 120;

/// Writes all pages.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let file = root.join(FIGURES);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let lines = line::read(&text).map_err(|error| format!("`{FIGURES}`: {error}"))?;
    if !lines.iter().any(|line| matches!(line, Line::Figure(_))) {
        return Err(format!(
            "there are no figures in `{FIGURES}`; try `cargo xtask bench all --record` on an idle machine first"
        ));
    }
    let showing = showing(root)?;
    remove_plots(root)?;
    for (name, text) in pages(&lines, &showing)? {
        let file = root.join(&name);
        fs::write(&file, text).map_err(|error| cannot("write", &file, &error))?;
        eprintln!("wrote {}", name.display());
    }
    Ok(())
}

/// The pages that show a few figures, as they are.
fn showing(root: &Path) -> Result<[String; 2], String> {
    let read = |name: &str| {
        let file = root.join(name);
        fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))
    };
    let [(readme, _), (compare, _)] = SHOWING;
    Ok([read(readme)?, read(compare)?])
}

/// A work that is measured no more leaves no plot behind.
fn remove_plots(root: &Path) -> Result<(), String> {
    for file in plots_in(root) {
        fs::remove_file(&file).map_err(|error| cannot("remove", &file, &error))?;
    }
    Ok(())
}

fn plots_in(root: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(root.join(PLOTS)).into_iter().flatten();
    let files = files.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    files.filter(|file| file.extension().is_some_and(|ending| ending == "svg")).collect()
}

/// Every page as it has to be: its place in the repository, and its text.
fn pages(lines: &[Line], showing: &[String; 2]) -> Result<Vec<(PathBuf, String)>, String> {
    let mut pages = vec![(PathBuf::from(PAGE), page(lines))];
    for ((name, link), text) in SHOWING.iter().zip(showing) {
        let block = headlines::block(lines, link);
        let put = headlines::put_into(text, &block).map_err(|error| format!("`{name}`: {error}"))?;
        pages.push((PathBuf::from(name), put));
    }
    for table in table::tables(lines).iter().filter(|table| has_plot(table)) {
        pages.push((Path::new("docs").join(plot_name(table)), plot::svg(table, &plot::Colours::of(lines))?));
    }
    Ok(pages)
}

/// One point would be no line.
fn has_plot(table: &Table<'_>) -> bool {
    table.sizes().len() > 1
}

/// Where a plot is, as seen from the page.
fn plot_name(table: &Table<'_>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let work: String = table.work.chars().map(plain).collect();
    format!("benchmarks/{}-{work}.svg", table.bench)
}

fn page(lines: &[Line]) -> String {
    let mut text = String::from(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench --report` from `docs/benchmarks/figures.jsonl`, which `cargo xtask bench all --record`\n\
         writes; a test fails if this page says anything else. Peers run in the same run, on the same core, with policies that\n\
         mean the same in their own languages, and every decision that is timed is checked first: a system that decides wrongly has no\n\
         figure. Numbers are the best of many samples in three processes, because others work on the same machine and the middle jumps with what they do;\n\
         of whole processes they are medians, and the figures have both. In brackets: how many times as long as Lockgate takes for\n\
         the same. A peer that remembers a call is held against Lockgate remembering it, and one whose files Lockgate reads against Lockgate reading the same file.\n",
    );
    for question in Question::EACH {
        let of: Vec<Line> = lines.iter().filter(|line| is_of(line, question)).cloned().collect();
        if of.iter().any(|line| matches!(line, Line::Figure(_))) {
            text.push_str(&section(question, &of));
        }
    }
    text.push_str(&cited());
    text
}

fn section(question: Question, lines: &[Line]) -> String {
    let words = words(question);
    let mut text = format!("\n## {}\n\n{}", words.asked, wrapped(words.how));
    let tables = table::tables(lines);
    for table in tables.iter() {
        text.push_str(&format!("\n### {}\n", capital(table.work)));
        if !table.is_empty() {
            text.push_str(&format!("\n{}", table.markdown()));
        }
        if has_plot(table) {
            text.push_str(&format!("\n![{}]({})\n", capital(table.work), plot_name(table)));
        }
        text.push_str(&list(&table.footnotes()));
    }
    let absent = list(&table::remarks(lines));
    if !absent.is_empty() {
        text.push_str(&format!("\n**Not in these tables.**\n{absent}"));
    }
    text.push_str(&lost(&tables));
    text.push_str(&format!("\n{}", wrapped(&format!("**Not measured.** {}", words.missing))));
    for line in lines {
        if let Line::Head(head) = line {
            text.push_str(&repeat(head, lines));
        }
    }
    text
}

fn lost(tables: &[Table<'_>]) -> String {
    let losses: Vec<String> = tables.iter().flat_map(Table::losses).collect();
    let is_compared = tables.iter().flat_map(|table| &table.figures).any(|figure| figure.against.is_some());
    match losses.as_slice() {
        [] if is_compared => "\n**Where we lose.** Nowhere in these tables.\n".to_owned(),
        [] => String::new(),
        losses => format!("\n**Where we lose.**\n{}", list(losses)),
    }
}

fn repeat(head: &Head, lines: &[Line]) -> String {
    let text = format!(
        "**To repeat it:** `{}`. Measured on {}, {}, {}, {}; {}.",
        head.command,
        head.date,
        head.machine,
        head.pinned,
        head.rustc,
        table::versions(lines).join("; ")
    );
    format!("\n{}", wrapped(&text))
}

fn cited() -> String {
    let text = format!(
        "What is marked with ≈ is {SOURCE}. It stands here because that system is in no registry and \
         cannot be run beside us, and it takes part in no ratio. What else was recorded of it:"
    );
    format!("\n## Figures of others\n\n{}{}", wrapped(&text), list(&ELSEWHERE.map(str::to_owned)))
}

/// What a section says besides its figures.
struct Words {
    asked: &'static str,
    how: &'static str,
    missing: &'static str,
}

fn words(question: Question) -> Words {
    match question {
        Question::Decide => Words {
            asked: "How long does one decision take?",
            how: "One call is decided over and over under more and more rules. *Judge* decides and remembers nothing, *in memory* \
                  remembers as a program that holds its sessions does, *SQLite* has the decision on disk before it is told. \
                  Lockgate runs a ruleset, and as *when/then* the very file that PolicyShield runs; where what came before \
                  counts, it runs one-line rules.",
            missing: "Calls that several rules cover at once; several sessions at once; peers that can only be reached over a \
                      network.",
        },
        Question::Hook => Words {
            asked: "How long does a coding agent wait for its hook?",
            how: "A hook is a process for every event, so these are whole processes, from starting one to its end, one after the \
                  other. Decisions of ours are stored before they are told; what is below the decisions is what the disk takes of \
                  that.",
            missing: "What the agent does before it starts the process and after it has ended; a disk that is busy with other \
                      work.",
        },
        Question::Session => Words {
            asked: "What does a long session cost?",
            how: "A deletion is decided that needs a backup; the backup was the first call of the session, and since then there \
                  were others that no rule minds. A system that scans the session scans all of it.",
            missing: "Memory of peers: what their languages' runtimes take cannot be told apart from what a session takes.",
        },
        Question::Verify => Words {
            asked: "How long does it take to read a policy, and to prove it?",
            how: "Reading is everything from the file to where a call could be decided; proving adds what `lockgate verify` looks \
                  for: tools that can never be called, circles, rules that never matter, traps.",
            missing: "How much is proved: no peer here proves anything about all sessions, so proving stands beside reading alone.",
        },
        Question::Shell => Words {
            asked: "How long does it take to see what a shell script does?",
            how: "Every command line of a corpus that people wrote is taken apart into the commands, paths and hosts in it.",
            missing: "Peers: those that look at commands search their text.",
        },
        Question::Mcp => Words {
            asked: "How much longer does a call take through the MCP proxy?",
            how: "A server that answers at once is called over pipes, one call after the other, under 100 rules.",
            missing: "Servers over HTTP; several calls at once; other proxies.",
        },
        Question::Field | Question::Agentdojo | Question::All => Words { asked: "", how: "", missing: "" },
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    format!("\n{items}")
}

/// Lines of a width that is read without turning the head.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE_MAX => {
                line.push_str(&format!(" {word}"));
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::bench::{
        line::tests::{figure, head, remark},
        root,
    };

    use super::*;

    /// Made-up figures of all kinds; never written anywhere but into folders of tests.
    pub(crate) fn made_up() -> Vec<Line> {
        let mut lines = vec![head("decide")];
        let whos: [(&str, Option<&str>, f64, f64); 8] = [
            ("Lockgate, judge", None, 310.0, 0.01),
            ("Lockgate, in memory", None, 520.0, 0.01),
            ("Lockgate, SQLite", None, 210e3, 0.001),
            ("Lockgate, when/then", None, 290.0, 0.02),
            ("Cedar", Some("Lockgate, judge"), 260.0, 0.9),
            ("Edictum (Python)", Some("Lockgate, judge"), 61e3, 0.8),
            ("PolicyShield, in memory", Some("Lockgate, when/then"), 74e3, 0.85),
            ("Invariant", Some("Lockgate, judge"), 690e3, 1.0),
        ];
        for work in ["rules about other tools", "every rule has a regex"] {
            for size in [4, 10, 100, 1_000, 10_000] {
                for (who, against, first, slope) in whos {
                    if who == "Invariant" && size == 10_000 {
                        lines.push(remark(Some(work), Some(size), who, "too slow: no answer within 120 s"));
                        continue;
                    }
                    let median = first * (size as f64 / 4.0).powf(slope);
                    lines.push(figure(work, size, who, against, median));
                }
            }
        }
        lines.push(remark(None, None, "Edictum (TypeScript)", "npm finds no such package"));
        let mut cited = figure("rules about other tools", 1_000, "PetriFlow, cited", None, 100e3);
        if let Line::Figure(figure) = &mut cited {
            figure.note = Some(SOURCE.to_owned());
        }
        lines.push(cited);
        lines
    }

    const EMPTY: &str = "# X\n\n<!-- figures: by a command -->\n<!-- end -->\n\nmore\n";

    #[test]
    fn the_report_is_what_the_recorded_figures_give() {
        let root = root();
        let showing = showing(&root).unwrap();
        let Ok(text) = fs::read_to_string(root.join(FIGURES)) else {
            let again =
                "without recorded figures there is no report; measure with `cargo xtask bench all --record`";
            assert!(!root.join(PAGE).exists(), "{again}");
            assert_eq!(plots_in(&root), Vec::<PathBuf>::new(), "{again}");
            showing
                .iter()
                .for_each(|page| assert_eq!(headlines::put_into(page, "").unwrap(), *page, "{again}"));
            return;
        };
        let pages = pages(&line::read(&text).unwrap(), &showing).unwrap();
        for (name, text) in &pages {
            let there = fs::read_to_string(root.join(name)).unwrap_or_default();
            assert!(there == *text, "{} was edited; run `cargo xtask bench --report`", name.display());
        }
        let plots: Vec<PathBuf> = pages.into_iter().map(|(name, _)| root.join(name)).collect();
        assert!(
            plots_in(&root).iter().all(|plot| plots.contains(plot)),
            "a plot of nothing that is measured"
        );
    }

    #[test]
    fn the_same_figures_give_the_same_report() {
        let lines = made_up();
        let empty = [EMPTY.to_owned(), EMPTY.to_owned()];
        let first = pages(&lines, &empty).unwrap();
        let names: Vec<_> = first.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "docs/benchmarks.md",
                "README.md",
                "docs/compare.md",
                "docs/benchmarks/decide-rules-about-other-tools.svg",
                "docs/benchmarks/decide-every-rule-has-a-regex.svg"
            ]
        );
        assert_eq!(pages(&lines, &empty).unwrap(), first);
        let written: Vec<Line> = line::read(&line::write(&lines)).unwrap();
        assert_eq!(pages(&written, &empty).unwrap(), first, "writing lines down changes nothing");
    }

    #[test]
    fn a_report_is_written_again_without_a_change_and_leaves_no_old_plot() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join(PLOTS)).unwrap();
        SHOWING.iter().for_each(|(page, _)| fs::write(root.join(page), EMPTY).unwrap());
        fs::write(root.join(FIGURES), line::write(&made_up())).unwrap();
        fs::write(root.join(PLOTS).join("old.svg"), "").unwrap();
        write(root).unwrap();
        let page = fs::read_to_string(root.join(PAGE)).unwrap();
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        assert!(readme.contains("Cedar") && readme.ends_with("<!-- end -->\n\nmore\n"), "{readme}");
        assert_eq!(plots_in(root).len(), 2);
        write(root).unwrap();
        assert_eq!(fs::read_to_string(root.join(PAGE)).unwrap(), page);
        assert_eq!(fs::read_to_string(root.join("README.md")).unwrap(), readme);
    }

    #[test]
    fn without_figures_there_is_no_report_but_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let none = write(folder.path()).unwrap_err();
        assert!(none.ends_with("try `cargo xtask bench all --record` on an idle machine first"), "{none}");
        fs::create_dir_all(folder.path().join(PLOTS)).unwrap();
        fs::write(folder.path().join(FIGURES), line::write(&[head("decide")])).unwrap();
        assert_eq!(write(folder.path()).unwrap_err(), none);
    }

    #[test]
    fn a_page_says_where_we_lose_what_is_missing_and_how_to_repeat_it() {
        let page = page(&made_up());
        for said in [
            "## How long does one decision take?",
            "| Cedar | 260 ns (0.84×) |",
            "**Where we lose.**\n\n- rules about other tools, 4 rules: Cedar 260 ns, Lockgate, judge 310 ns (0.84×)\n",
            "- Invariant: too slow: no answer within 120 s (10,000 rules)\n",
            "- Edictum (TypeScript): npm finds no such package\n",
            "**Not measured.**",
            "**Not in these tables.**\n\n- Edictum (TypeScript)",
            "**To repeat it:** `cargo xtask bench decide --record`. Measured on 2001-02-03, a processor of tests",
            "![Every rule has a regex](benchmarks/decide-every-rule-has-a-regex.svg)",
            "≈ 100 µs",
        ] {
            assert!(page.contains(said), "{said}\n---\n{page}");
        }
        assert!(!page.contains("## How much longer"), "what was not measured has no section");
    }

    #[test]
    fn lines_end_where_the_next_word_has_no_room() {
        let words = |n: usize| vec!["word"; n].join(" ");
        assert_eq!(wrapped(&words(24)), format!("{}\n", words(24)), "119 letters");
        assert_eq!(wrapped(&words(25)), format!("{}\n{}\n", words(24), words(1)));
        assert_eq!(wrapped(&"x".repeat(LINE_MAX + 1)).lines().count(), 1, "a word is never cut");
    }
}
