//! The pages on findings, for `lockgate explain CODE`, and where they are on the web: a terminal shows each code as a link.
//!
//! They are those of `docs/findings`, word for word, so that a terminal without the repository has them too. What is
//! plain from its example has no page of its own but a row in the page of its language, and that row is shown.

use std::borrow::Cow;

use lockgate::engine::{Diagnostic, languages::render_linked};

/// Each code that has a page with the page, in the order of the alphabet.
pub(crate) const PAGES: [(&str, &str); 44] = [
    ("both-must-hold", include_str!("../../../docs/findings/both-must-hold.md")),
    ("broad", include_str!("../../../docs/findings/broad.md")),
    ("broken-claim", include_str!("../../../docs/findings/broken-claim.md")),
    ("broken-example", include_str!("../../../docs/findings/broken-example.md")),
    ("circular", include_str!("../../../docs/findings/circular.md")),
    ("claims-not-used", include_str!("../../../docs/findings/claims-not-used.md")),
    ("closed-stage", include_str!("../../../docs/findings/closed-stage.md")),
    ("contradiction", include_str!("../../../docs/findings/contradiction.md")),
    ("dead-evidence", include_str!("../../../docs/findings/dead-evidence.md")),
    ("dead-stage", include_str!("../../../docs/findings/dead-stage.md")),
    ("dead-tool", include_str!("../../../docs/findings/dead-tool.md")),
    ("evadable", include_str!("../../../docs/findings/evadable.md")),
    ("exhausted", include_str!("../../../docs/findings/exhausted.md")),
    ("hidden-map", include_str!("../../../docs/findings/hidden-map.md")),
    ("hidden-tool", include_str!("../../../docs/findings/hidden-tool.md")),
    ("idle-acceptance", include_str!("../../../docs/findings/idle-acceptance.md")),
    ("inherits-off", include_str!("../../../docs/findings/inherits-off.md")),
    ("looks-like-time", include_str!("../../../docs/findings/looks-like-time.md")),
    ("matches-nothing", include_str!("../../../docs/findings/matches-nothing.md")),
    ("missing-message", include_str!("../../../docs/findings/missing-message.md")),
    ("misspelt", include_str!("../../../docs/findings/misspelt.md")),
    ("mode-weakened", include_str!("../../../docs/findings/mode-weakened.md")),
    ("no-rules", include_str!("../../../docs/findings/no-rules.md")),
    ("not-linear", include_str!("../../../docs/findings/not-linear.md")),
    ("not-used", include_str!("../../../docs/findings/not-used.md")),
    ("other-default", include_str!("../../../docs/findings/other-default.md")),
    ("permission-syntax", include_str!("../../../docs/findings/permission-syntax.md")),
    ("program-name", include_str!("../../../docs/findings/program-name.md")),
    ("redundant", include_str!("../../../docs/findings/redundant.md")),
    ("rule-overridden", include_str!("../../../docs/findings/rule-overridden.md")),
    ("self-requirement", include_str!("../../../docs/findings/self-requirement.md")),
    ("shadowed", include_str!("../../../docs/findings/shadowed.md")),
    ("stage-trap", include_str!("../../../docs/findings/stage-trap.md")),
    ("stuck", include_str!("../../../docs/findings/stuck.md")),
    ("tools-not-used", include_str!("../../../docs/findings/tools-not-used.md")),
    ("trap", include_str!("../../../docs/findings/trap.md")),
    ("unbounded", include_str!("../../../docs/findings/unbounded.md")),
    ("undecided", include_str!("../../../docs/findings/undecided.md")),
    ("unguarded-effect", include_str!("../../../docs/findings/unguarded-effect.md")),
    ("unknown-field", include_str!("../../../docs/findings/unknown-field.md")),
    ("unknown-tool", include_str!("../../../docs/findings/unknown-tool.md")),
    ("unreachable-approval", include_str!("../../../docs/findings/unreachable-approval.md")),
    ("unreachable-limit", include_str!("../../../docs/findings/unreachable-limit.md")),
    ("unused-map", include_str!("../../../docs/findings/unused-map.md")),
];

/// The pages of the languages, whose tables have a row for each of the other codes.
const LANGUAGES: [(&str, &str, &str); 5] = [
    ("one-line rules", "rules.md", include_str!("../../../docs/rules.md")),
    ("nets", "nets.md", include_str!("../../../docs/nets.md")),
    ("when/then rules", "when-then.md", include_str!("../../../docs/when-then.md")),
    ("rulesets", "rulesets.md", include_str!("../../../docs/rulesets.md")),
    ("workflows", "workflows.md", include_str!("../../../docs/workflows.md")),
];

/// Where the pages are, unless this variable names another place, or `none`.
const PLACE: (&str, &str) = ("LOCKGATE_DOCS", "https://github.com/lockgate/lockgate/blob/main/docs");

/// Draws what the author of a policy should know, for a terminal. Where the output is none, links and colours are taken out.
pub(crate) fn drawn(diagnostics: &[Diagnostic]) -> String {
    let (variable, place) = PLACE;
    let named = std::env::var(variable).unwrap_or_default();
    let place = if named.is_empty() { place } else { named.trim_end_matches('/') };
    // These two show the characters of a link instead of taking them.
    let takes_links = !matches!(std::env::var("TERM").as_deref(), Ok("dumb" | "linux"));
    let takes_links = takes_links && place.starts_with("https://");
    render_linked(diagnostics, |code| Some(format!("{place}/{}", file_on(code)?)).filter(|_| takes_links))
}

/// The file of docs/ that speaks of a code.
fn file_on(code: &str) -> Option<String> {
    if PAGES.iter().any(|(known, _)| *known == code) {
        return Some(format!("findings/{code}.md"));
    }
    let row = format!("| `{code}` | ");
    let mut languages = LANGUAGES.iter();
    languages.find(|(.., text)| text.contains(row.as_str())).map(|(_, file, _)| (*file).to_owned())
}

/// The page on a code, or what the languages say about it.
pub(crate) fn page_on(code: &str) -> Option<Cow<'static, str>> {
    let page = PAGES.iter().find(|(known, _)| *known == code).map(|(_, page)| Cow::Borrowed(*page));
    page.or_else(|| page_of_rows(code).map(Cow::Owned))
}

/// A page made of the rows on a code.
fn page_of_rows(code: &str) -> Option<String> {
    let start = format!("| `{code}` | ");
    let mut page = String::new();
    for (language, _, text) in LANGUAGES {
        for row in text.lines().filter_map(|line| line.strip_prefix(start.as_str())) {
            let mut cells = row.trim_end().trim_end_matches('|').split(" | ").map(str::trim);
            let (Some(example), Some(what)) = (cells.next(), cells.next()) else { continue };
            page.push_str(&format!("\nIn {language}: {what}.\n\n"));
            let lines = example.split('`').skip(1).step_by(2);
            lines.for_each(|line| page.push_str(&format!("    {line}\n")));
            if let Some(remedy) = cells.next().filter(|remedy| !remedy.is_empty()) {
                page.push_str(&format!("\nTry: {remedy}.\n"));
            }
        }
    }
    (!page.is_empty()).then(|| format!("# `{code}`\n{page}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use lockgate::engine::policy::FINDINGS;

    use super::{PAGES, file_on, page_on};

    #[test]
    fn every_page_of_the_folder_is_in_the_table_under_its_own_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings");
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let files = fs::read_dir(folder).unwrap().map(|entry| name(&entry.unwrap().path()));
        let files: BTreeSet<String> = files.filter(|name| name != "README").collect();
        let codes: BTreeSet<String> = PAGES.iter().map(|(code, _)| (*code).to_owned()).collect();
        assert_eq!(files, codes);
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# `{code}`\n")), "{code}");
        }
    }

    #[test]
    fn every_finding_is_explained() {
        for code in FINDINGS {
            let page = page_on(code);
            assert!(page.is_some_and(|page| page.starts_with(&format!("# `{code}`\n"))), "{code}");
        }
        assert_eq!(page_on("nothing-like-this"), None);
    }

    #[test]
    fn every_finding_has_a_file_of_the_docs() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for code in FINDINGS {
            assert!(docs.join(file_on(code).unwrap()).is_file(), "{code}");
        }
        assert_eq!(file_on("unknown-keyword").as_deref(), Some("rules.md"));
        assert_eq!(file_on("nothing-like-this"), None);
    }

    #[test]
    fn a_row_is_shown_with_its_example_and_its_remedy() {
        let page = page_on("duplicate-script").unwrap();
        for part in [
            "In one-line rules: declared twice.",
            "    script py.code\n    script py.code\n",
            "Try: leave one out.",
        ] {
            assert!(page.contains(part), "{page}");
        }
    }
}
