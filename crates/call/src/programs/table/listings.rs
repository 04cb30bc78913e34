//! Programs that print names of files, or take them from others.

use crate::programs::word::{Field, Known};

/// Programs that run a command on the names that they are given.
pub(crate) const TAKES_LISTED: &[&str] = &["xargs", "gxargs"];

/// Whether a command prints names of files below the folders that it is given, and nothing else.
pub(crate) fn lists_files(fields: &[Field]) -> bool {
    let Some((program, arguments)) = fields.split_first() else { return false };
    if fields.iter().any(|field| field.known == Known::Unknown) {
        return false;
    }
    let says =
        |starts: &[&str]| arguments.iter().any(|it| starts.iter().any(|start| it.text.starts_with(start)));
    let is_letter = |it: &Field| {
        it.text
            .strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.contains(['l', 'L']))
    };
    match program.text.as_str() {
        "find" => !says(&["-printf", "-fprint", "-exec", "-ok", "-fls", "-ls"]),
        "ls" => true,
        "grep" | "egrep" | "fgrep" | "rg" => {
            (arguments.iter().any(is_letter) || says(&["--files"]))
                && !says(&["--label", "--pre", "-e", "-f"])
        }
        "fd" | "fdfind" => !says(&["-x", "-X", "--exec", "--format"]),
        "git" => arguments.first().is_some_and(|verb| verb.text == "ls-files") && !says(&["--format"]),
        _ => false,
    }
}
