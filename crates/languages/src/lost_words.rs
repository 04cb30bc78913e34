//! What lines with mistakes would have said.
//!
//! Some findings say that something is missing: a map that no rule uses, a name that occurs once. A line that could not be
//! read might have held what is missing. In one-line files each line stands alone, so such a finding is certain if no
//! broken line has a word of it. Other files are not read behind a mistake, and nothing is certain there.

use std::collections::HashSet;

use lockgate_policy::{Diagnostic, Severity, Source};

use crate::detect::is_yaml;

/// The findings that a line with one of their words could keep away, and no other line.
const DECIDED_BY_WORDS: [&str; 3] = ["misspelt", "unused-map", "unused-script"];

/// Words of the language: every statement has some of them.
const KEYWORDS: [&str; 16] = [
    "any", "as", "before", "block", "claim", "limit", "map", "mode", "observe", "per", "require", "running",
    "script", "session", "shell", "to",
];

/// The words of the lines of a file that have mistakes; none where they are not known.
#[derive(Default)]
pub(crate) struct LostWords<'s>(Option<HashSet<&'s str>>);

impl<'s> LostWords<'s> {
    pub(crate) fn of(source: &'s Source, mistakes: &[Diagnostic]) -> Self {
        if is_yaml(source) {
            return Self(None);
        }
        let errors = mistakes.iter().filter(|it| it.severity == Severity::Error);
        let lines = errors.map(|mistake| {
            let text = source.text();
            let start =
                text.get(..mistake.span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
            let end = text.get(mistake.span.end..).and_then(|rest| rest.find('\n'));
            text.get(start..end.map_or(text.len(), |end| mistake.span.end + end)).unwrap_or(text)
        });
        Self(Some(lines.flat_map(words).collect()))
    }

    /// Whether a finding holds whatever these lines would have said.
    pub(crate) fn leave(&self, finding: &Diagnostic) -> bool {
        let Self(Some(lost)) = self else { return false };
        let told = finding.source.slice(finding.span);
        DECIDED_BY_WORDS.contains(&finding.code) && words(told).all(|word| !lost.contains(word))
    }
}

/// The words of a text that are not the language's own.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_edge = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    text.split(is_edge).filter(|word| !word.is_empty() && !KEYWORDS.contains(word))
}

#[cfg(test)]
mod tests {
    use lockgate_policy::Source;

    fn codes(text: &str) -> Vec<&'static str> {
        crate::read(&[Source::new("t.rules", text)]).1.into_iter().map(|it| it.code).collect()
    }

    #[test]
    fn a_finding_about_what_is_missing_is_told_beside_a_mistake_that_cannot_change_it() {
        let typo = "require test before deploy\nlimit deply to 3 per session\n";
        let unused = "block rm2\nmap bash.command rm as delete\n";
        for (text, code, is_told) in [
            (format!("{typo}limit send to x per session\n"), "misspelt", true),
            // This line would have made the name one that is used twice.
            (format!("{typo}requier test before deply\n"), "misspelt", false),
            (format!("{unused}limit send to x per session\n"), "unused-map", true),
            (format!("{unused}requier backup before delete\n"), "unused-map", false),
        ] {
            let found = codes(&text);
            assert!(found.len() > usize::from(is_told), "{text}: {found:?}");
            assert_eq!(found.contains(&code), is_told, "{text}: {found:?}");
        }
    }
}
