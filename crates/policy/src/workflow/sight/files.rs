//! The files that a call has certainly read once it succeeds.
//!
//! Known are tools whose names say so and a few programs of the shell, with options under which they show at least
//! some of each file. A file counts by its name: who reads a link has read what the name stands for. Only where a
//! path climbs back (`x/../a`) and a door has looked, the file behind it must be the one the text says.

use std::{collections::BTreeSet, sync::Arc};

use lockgate_call::{
    Access, Command, Files, Known, Links, Place, Reading, Script, SeenCall, Shows, Spot, TouchedPath,
    may_answer_early, path::normalise,
};

/// Fields of a reading tool that hold the file's path.
const PATH_FIELDS: &[&str] = &[
    "absolute_path",
    "file",
    "filePath",
    "file_path",
    "filename",
    "filepath",
    "notebook_path",
    "path",
    "target_file",
];

/// The files that a success of the call has read.
pub(super) fn read_by(
    call: &SeenCall,
    reading: Reading<'_>,
    reads_one_file: bool,
    is_surely_run: bool,
) -> Vec<String> {
    if !reading.unseen().is_empty() || may_answer_early(&call.input) {
        return Vec::new();
    }
    let touched = &reading.paths().touched;
    if reads_one_file {
        return read_by_tool(touched, call).into_iter().collect();
    }
    // With several scripts it is not known which one the tool runs.
    let mut scripts = reading.scripts();
    let (Some((field, script)), None, true) = (scripts.next(), scripts.next(), is_surely_run) else {
        return Vec::new();
    };
    let shown = script.commands.iter().enumerate().flat_map(|(at, command)| {
        let words = shown_words(command).unwrap_or_default();
        words.into_iter().map(move |word| Place::Word { field: field.clone(), command: at, word })
    });
    let paths = shown.map(|place| {
        let mut named = touched.iter().filter(|path| path.place == place);
        let path = named.next().filter(|path| path.access == Access::Reads && !path.is_guess)?;
        only_spot(path, call)
    });
    paths.flatten().collect()
}

/// The one file that a reading tool was given. With two different ones it is not known which it takes.
fn read_by_tool(touched: &[TouchedPath], call: &SeenCall) -> Option<String> {
    let named = touched.iter().filter(|path| !path.is_guess);
    let mut paths = BTreeSet::new();
    for path in named {
        let Place::Field(field) = &path.place else { return None };
        let keys: Vec<&str> = field.keys().collect();
        if !matches!(keys.as_slice(), [key] if PATH_FIELDS.contains(key)) {
            return None;
        }
        paths.insert(only_spot(path, call)?);
    }
    let first = paths.pop_first()?;
    paths.is_empty().then_some(first)
}

/// The one place a path certainly leads to.
fn only_spot(path: &TouchedPath, call: &SeenCall) -> Option<String> {
    let [spot] = path.spots.as_ref().ok()?.as_slice() else { return None };
    let climbs = path.text.split('/').any(|part| part == "..");
    let is_there = !climbs || call.links().is_none_or(|links| is_where_it_says(spot, call, links));
    (!spot.is_pattern && is_there).then(|| spot.path.clone())
}

/// Whether the file behind a path is the one its text says, in the working folder as it really is.
fn is_where_it_says(spot: &Spot, call: &SeenCall, links: &Links) -> bool {
    // The door does not know the fields that a policy declares, so it may not have looked at this path.
    let Some(real) = spot.canonical(links).filter(|_| links.has(spot)) else { return false };
    let below = call.about.cwd.as_deref().and_then(|cwd| {
        let real_cwd = links.canonical(cwd)?;
        Some(format!("{real_cwd}/{}", below(&spot.path, &normalise(cwd, None).ok()?)?))
    });
    real == spot.path || Some(real) == below
}

/// Whether a call whose commands show files does nothing else.
pub(super) fn only_reads(reading: Reading<'_>, reads_one_file: bool) -> bool {
    let mut scripts = reading.scripts();
    if reads_one_file {
        return scripts.next().is_none();
    }
    let shows_only = |script: &Script| script.commands.iter().all(|it| shown_words(it).is_some());
    let Some((_, script)) = scripts.next() else { return false };
    let is_only = scripts.next().is_none() && !script.opaque && script.sets.is_empty() && shows_only(script);
    let shown: usize = script.commands.iter().filter_map(shown_words).map(|words| words.len()).sum();
    // Whatever else the call names would be a file that is not shown.
    is_only && reading.paths().touched.len() == shown
}

/// Which words of a command are files that it certainly shows; none if it may do another thing.
fn shown_words(command: &Command) -> Option<Vec<usize>> {
    let shows = command.row()?.files().shows()?;
    // Output that goes into a file is not shown.
    let is_open = command.redirections.is_empty() && command.assignments.is_empty();
    let is_certain = command.words.iter().all(|word| word.known == Known::Certain);
    if !(command.is_confirmed && is_open && is_certain) {
        return None;
    }
    let mut files = Vec::new();
    let mut words = command.words.iter().enumerate().skip(1);
    let mut options_end = false;
    while let Some((at, word)) = words.next() {
        let text = word.text.as_str();
        match text.strip_prefix('-').filter(|_| !options_end) {
            Some("-") => options_end = true,
            // `less +G a` starts at the end of `a`.
            None if options_end || !(text.is_empty() || text.starts_with('+')) => files.push(at),
            Some("n" | "c") if shows.counts => {
                words.next().filter(|(_, count)| is_count(&count.text))?;
            }
            Some(option) if still_shows(shows, option) => {}
            _ => return None,
        }
    }
    (!files.is_empty()).then_some(files)
}

/// Whether a program still shows something of each file with this option, whose dash is taken off.
fn still_shows(shows: Shows, option: &str) -> bool {
    let is_flags = !option.is_empty() && option.chars().all(|letter| shows.flags.contains(letter));
    let count = option.strip_prefix(['n', 'c']).unwrap_or(option);
    is_flags || (shows.counts && is_count(count))
}

/// A count of which something is shown: `head -n 0` opens a file and shows nothing.
fn is_count(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0')
}

/// A path as it is kept: from the root if it lies in there.
pub(super) fn kept(path: &str, root: Option<&str>) -> Arc<str> {
    let root = root.and_then(|root| normalise(root, None).ok());
    let inside = root.as_deref().and_then(|root| below(path, root));
    inside.map_or_else(|| Arc::from(path), Arc::from)
}

/// Whether a file that was read is the one a condition names; both may start at the session's folder.
pub(crate) fn is_same_file(read: &str, path: &str, root: Option<&str>) -> bool {
    match (normalise(read, root), normalise(path, root)) {
        (Ok(read), Ok(path)) => read == path,
        _ => false,
    }
}

/// The first path that the call names, for people.
pub(super) fn first_named(reading: Reading<'_>) -> Option<String> {
    reading.paths().touched.iter().find(|path| !path.is_guess).map(|path| path.text.clone())
}

/// The part of a path below a folder; both are clean.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}
