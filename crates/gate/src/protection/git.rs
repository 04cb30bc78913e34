//! What git does to whole folders by its words alone, where no door has seen which files would change.

use lockgate_call::{Command, Known, Verbs};

use super::reach::{REMOVES, Reach};

/// What a command of git does to whole folders.
pub(super) fn git(verbs: &Verbs, command: &Command) -> Option<Reach> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at = at.saturating_add(if verbs.takes_value(word) { 2 } else { 1 });
    }
    let verb = *words.get(at)?;
    if !verbs.is_own(verb) {
        return Some(Reach::Alias("may bring back another version of any file in"));
    }
    let reach = git_verb(verb, command, &words, at.saturating_add(1))?;
    let names_tree = |word: &str| word.starts_with("--work-tree") || word.starts_with("--git-dir");
    let is_elsewhere = words.iter().take(at).any(|word| names_tree(word))
        || command.assignments.iter().any(|(name, _)| name.starts_with("GIT_"));
    Some(if is_elsewhere { Reach::Elsewhere("may change any file in") } else { reach })
}

/// What git does to whole folders by its verb; `first` is the place of the word behind it.
fn git_verb(verb: &str, command: &Command, words: &[&str], first: usize) -> Option<Reach> {
    let rest = words.get(first..).unwrap_or_default();
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    let is_value = |i: usize| {
        verb == "clean" && i > 0 && matches!(rest.get(i.saturating_sub(1)), Some(&("-e" | "--exclude")))
    };
    let operands: Vec<usize> = rest
        .iter()
        .enumerate()
        .filter(|(i, word)| !word.starts_with('-') && !is_value(*i))
        .map(|(i, _)| first.saturating_add(i))
        .collect();
    let all = Some(Reach::Tracked("may bring back another version of any file in"));
    let lists_paths = rest.iter().any(|word| word.starts_with("--pathspec-from-file"));
    match verb {
        "checkout" | "switch"
            if has(&["-b", "-B", "-c", "-C", "--create", "--orphan"]) && operands.len() <= 1 =>
        {
            None
        }
        "checkout" | "restore" | "rm" | "stash" if lists_paths => Some(Reach::Here("may change any file in")),
        "checkout" => match rest.iter().position(|word| *word == "--") {
            Some(end) => {
                let end = first.saturating_add(end);
                named(operands.into_iter().filter(|operand| *operand > end).collect(), command)
            }
            None => all,
        },
        "restore" if has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) => None,
        "restore" | "rm" | "mv" if has(&["--cached", "-n", "--dry-run"]) => None,
        "restore" | "rm" | "mv" => named(operands, command),
        "reset" if !has(&["--hard", "--keep", "--merge"]) => None,
        "worktree" if rest.first() != Some(&"add") => None,
        "switch" | "reset" | "revert" | "cherry-pick" | "merge" | "rebase" | "pull" | "am" | "read-tree"
        | "checkout-index" | "bisect" | "sparse-checkout" => all,
        "stash" => match rest.iter().find(|word| !word.starts_with('-')) {
            Some(&("list" | "show" | "drop" | "clear" | "create" | "store")) => None,
            _ if rest.iter().any(|word| {
                ["--include-untracked", "--all"].contains(word)
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains(['u', 'a']))
            }) =>
            {
                Some(Reach::Here("moves away files in"))
            }
            _ => all,
        },
        "clean" if has(&["-n", "--dry-run"]) => None,
        "clean" if operands.is_empty() => Some(Reach::Here(REMOVES)),
        "clean" => named(operands, command),
        "apply" if has(&["--check", "--stat", "--numstat", "--summary", "--cached"]) => None,
        "apply" => Some(Reach::Here("may change any file in")),
        "config" if rest.iter().any(|word| word.to_lowercase().starts_with("core.worktree")) => {
            Some(Reach::Elsewhere("would make git change files in"))
        }
        _ => None,
    }
}

/// Folders that are named for git; patterns, `:/` and its like reach everything.
fn named(operands: Vec<usize>, command: &Command) -> Option<Reach> {
    let is_wide = |at: &usize| {
        command.words.get(*at).is_none_or(|word| {
            word.text.starts_with(':') || word.known == Known::Unknown || word.text.contains(['*', '?', '['])
        })
    };
    if operands.iter().any(is_wide) {
        return Some(Reach::Here("may change any file in"));
    }
    (!operands.is_empty()).then_some(Reach::Words(operands, "may change any file in"))
}
