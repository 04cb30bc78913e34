//! What `find` puts in place of `{}`, as far as its words say.
//!
//! [`found_by`] gives the places below which everything lies that a `find` finds, narrowed by its `-name`: what
//! `find . -name '*.pyc' -delete` deletes is called `*.pyc`. Where a test may be turned around or joined with another by
//! `-o`, no name narrows anything.

use super::target::Target;
use crate::contents::{Place, ReadScript};
use crate::places::paths::TouchedPath;
use crate::programs::program::Grammar;
use crate::programs::word::{Known, Word};
use crate::shell::script::Command;

/// The places of what the only `find` of a script finds; none where there is none, or more than one.
pub(super) fn found_in(
    read: &ReadScript,
    touched: &[TouchedPath],
    standing: &[TouchedPath],
) -> Option<Vec<Target>> {
    let mut finds = read.script.commands.iter().enumerate().filter(|(_, command)| is_find(command));
    let (index, command) = finds.next()?;
    finds.next().is_none().then(|| found_by(read, index, command, touched, standing))
}

/// Whether a command is a `find`.
pub(super) fn is_find(command: &Command) -> bool {
    command.row().is_some_and(|row| row.grammar == Grammar::Find)
}

/// The places of what a `find` finds.
fn found_by(
    read: &ReadScript,
    index: usize,
    command: &Command,
    touched: &[TouchedPath],
    standing: &[TouchedPath],
) -> Vec<Target> {
    let arguments = command.words.get(1..).unwrap_or_default();
    let is_expression = |word: &Word| word.text.starts_with(['-', '(', ')', '!', ',']);
    let starts = arguments.iter().take_while(|word| !is_expression(word)).count();
    let name = name_of(arguments.get(starts..).unwrap_or_default());
    let at = |path: &TouchedPath, wanted: usize| {
        matches!(&path.place, Place::Word { field, command, word }
            if *command == index && *word == wanted && *field == read.selector)
    };
    let mut targets = Vec::new();
    for word in 1..=starts {
        match touched.iter().find(|path| at(path, word) && !path.is_guess) {
            Some(path) => targets.extend(below(path, name)),
            None => targets.push(Target::Unknown),
        }
    }
    // Options that name the starting points, or how links are followed, are in front of them.
    let leads =
        arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-L" | "-H" | "-files0-from"));
    if leads || starts == 0 && arguments.iter().any(|word| word.text == "-files0-from") {
        return vec![Target::Unknown];
    }
    if starts == 0 {
        let here = standing.iter().find(|path| at(path, 0));
        targets.extend(here.map_or_else(|| vec![Target::Unknown], |here| below(here, name)));
    }
    targets
}

/// A folder, or what lies below it with a name.
fn below(path: &TouchedPath, name: Option<&str>) -> Vec<Target> {
    match (name, &path.spots) {
        (Some(name), Ok(spots)) => spots
            .iter()
            .map(|spot| Target::At(format!("{}/{name}", spot.path.trim_end_matches('/'))))
            .collect(),
        _ => vec![Target::Path(path.clone())],
    }
}

/// The name that everything has which the tests of a `find` let through.
fn name_of(tests: &[Word]) -> Option<&str> {
    let turns = |word: &Word| matches!(word.text.as_str(), "-o" | "-or" | "!" | "-not" | "," | "(" | ")");
    let runs =
        |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-delete");
    if tests.iter().any(turns) {
        return None;
    }
    let tests = tests.get(..tests.iter().position(runs).unwrap_or(tests.len())).unwrap_or_default();
    if tests.iter().any(|word| word.known != Known::Certain) {
        return None;
    }
    let named = tests.windows(2).find_map(|words| match words {
        [test, name] if test.text == "-name" => Some(name.text.as_str()),
        _ => None,
    });
    named.filter(|name| !name.is_empty() && !name.contains('/') && *name != ".." && *name != ".")
}
