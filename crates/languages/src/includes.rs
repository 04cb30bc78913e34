//! What an `include` of a policy file means: a path from the folder of the file that says it.
//!
//! Names are compared as texts, folded: nothing here looks at a disk, so two names of one file are two files.

use lockgate_call::path::{PathDoubt, normalise};
use lockgate_policy::{Diagnostic, HashSet, Source, Span};

use crate::draft::Draft;

/// The name of a file that another one includes.
///
/// # Errors
/// When the text does not settle which file is meant.
pub fn included_name(including: &str, path: &str) -> Result<String, PathDoubt> {
    match including.rsplit_once('/') {
        // The root itself would be an empty folder.
        Some(("", _)) => normalise(path, Some("/")),
        Some((folder, _)) => normalise(path, Some(folder)),
        None => normalise(path, None),
    }
}

/// The includes of drafts that are not among them: what is not read would be silently missing.
pub(crate) fn unread_includes(drafts: &[Draft]) -> Vec<Diagnostic> {
    if drafts.iter().all(|draft| draft.when_then.includes.is_empty()) {
        return Vec::new();
    }
    let known: HashSet<String> =
        drafts.iter().filter_map(|draft| normalise(draft.source.name(), None).ok()).collect();
    let mut mistakes = Vec::new();
    for draft in drafts {
        for (path, span) in &draft.when_then.includes {
            mistakes.extend(unread(&draft.source, path, *span, &known));
        }
    }
    mistakes
}

fn unread(source: &Source, path: &str, span: Span, known: &HashSet<String>) -> Option<Diagnostic> {
    let (message, remedy) = match included_name(source.name(), path) {
        Ok(name) if known.contains(&name) => return None,
        Ok(name) => (
            format!("`{name}` is included and was not read"),
            "open the policy from its files, or hand in the text of that file too",
        ),
        Err(doubt) => (format!("it is not certain which file this is: {doubt}"), "write a plain path"),
    };
    Some(Diagnostic::error("unread-include", source, span, message).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_starts_at_the_folder_of_its_file() {
        for (including, path, name) in [
            ("main.yaml", "base.yaml", Some("base.yaml")),
            ("main.yaml", "../base.yaml", Some("../base.yaml")),
            ("a/main.yaml", "base.yaml", Some("a/base.yaml")),
            ("a/main.yaml", "./../b//base.yaml", Some("b/base.yaml")),
            ("./main.yaml", "base.yaml", Some("base.yaml")),
            ("/etc/p/main.yaml", "../base.yaml", Some("/etc/base.yaml")),
            ("/main.yaml", "base.yaml", Some("/base.yaml")),
            ("a/main.yaml", "/etc/base.yaml", Some("/etc/base.yaml")),
            ("main.yaml", "", None),
            ("main.yaml", "~/base.yaml", None),
            ("main.yaml", "a\0b", None),
        ] {
            assert_eq!(included_name(including, path).ok().as_deref(), name, "{path} in {including}");
        }
    }

    #[test]
    fn what_is_included_must_be_among_the_files() {
        let of = |name: &str, includes: &[&str]| {
            let mut draft = Draft::of(&Source::new(name, "include: [x]\n"));
            draft.when_then.includes =
                includes.iter().map(|it| ((*it).to_owned(), Span::new(10, 11))).collect();
            draft
        };
        let codes = |drafts: &[Draft]| -> Vec<String> {
            unread_includes(drafts).iter().map(|it| format!("{it}")).collect()
        };
        assert_eq!(codes(&[of("a/main.yaml", &["base.yaml"]), of("./a/base.yaml", &[])]), [""; 0]);
        assert_eq!(
            codes(&[of("a/main.yaml", &["base.yaml", "~x"]), of("base.yaml", &[])]),
            [
                "a/main.yaml:1:11: error[unread-include]: `a/base.yaml` is included and was not read",
                "a/main.yaml:1:11: error[unread-include]: it is not certain which file this is: the path starts at \
                 a home folder, which is not known here"
            ]
        );
    }
}
