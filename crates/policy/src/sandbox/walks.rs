//! Commands that go into all that lies below a folder.

use lockgate_call::{Command, Program, Search, Walks};

/// Whether a command goes into the folders below those it is given.
pub(super) fn walks(command: &Command) -> bool {
    let has = |letters: &[char], options: &[&str]| {
        command.words.iter().skip(1).any(|word| {
            let given = word.text.strip_prefix('-').filter(|given| !given.starts_with('-'));
            given.is_some_and(|given| given.contains(letters)) || options.contains(&word.text.as_str())
        })
    };
    match command.row().map_or(Walks::Never, |row| row.files().walks()) {
        Walks::Never => false,
        Walks::IfRecursive => has(&['r', 'R', 'a'], &["--recursive", "--dereference-recursive", "--archive"]),
        Walks::IfListing => has(&['R'], &["--recursive"]),
        Walks::Always => true,
    }
}

/// Whether a command goes into the folder it stands in, because it is given no other.
pub(super) fn walks_here(command: &Command) -> bool {
    let Some(files) = command.row().map(Program::files).filter(|files| files.walks_here()) else {
        return false;
    };
    let search = files.search();
    let mut words = command.words.iter().skip(1).map(|word| word.text.as_str());
    let mut operands = 0_usize;
    let mut has_pattern = false;
    while let Some(word) = words.next() {
        if search.takes_value(word) {
            words.next();
        } else if search.is_pattern(word) {
            has_pattern = true;
            words.next();
        } else if word.starts_with('-') {
            // What it is to look for, not where.
            if search == Search::Expression {
                break;
            }
        } else {
            operands += 1;
        }
    }
    walks(command) && operands <= usize::from(search.takes_pattern() && !has_pattern)
}
