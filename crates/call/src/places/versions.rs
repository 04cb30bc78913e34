//! What version control and patches would change, as a door on the same machine saw it.
//!
//! A command such as `git checkout main` does not say which files it changes. [`VersionChange`] is the question, which a door
//! that can look answers with the paths ([`Files::changed_by`]); [`Versions`] keeps the answers of one call. A question is asked
//! only if nothing before the command can change the answer; everything else is missing on purpose and stays a doubt.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::places::git::{self, Quiet};
use crate::places::patches::patched_files;
use crate::places::path::normalise;
use crate::places::paths::{Files, TouchedPath};
use crate::places::version_change::VersionChange;
use crate::programs::word::{Known, Word};
use crate::shell::script::{Command, RedirectionKind, Script};

/// The most folders that a command may stand in for a question about it.
const FOLDERS_MAX: usize = 4;

/// The most questions of one call.
const QUESTIONS_MAX: usize = 16;

/// What version control and patches would change, by question; none where that could not be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions(BTreeMap<String, Option<Vec<String>>>);

impl Versions {
    /// Has a door look at what the commands of a script would change.
    pub(crate) fn look(
        &mut self,
        source: &str,
        script: &Script,
        standing: &dyn Fn(usize) -> Option<TouchedPath>,
        files: &dyn Files,
    ) {
        for index in 0..script.commands.len() {
            if !is_asked_about(script.commands.get(index)) {
                continue;
            }
            let Some(place) = standing(index) else { continue };
            for (folder, change) in questions(source, script, index, &place).unwrap_or_default() {
                if self.0.len() >= QUESTIONS_MAX {
                    return;
                }
                let key = key(&folder, &change);
                self.0.entry(key).or_insert_with(|| answer(source, &folder, &change, files));
            }
        }
    }

    /// The absolute paths that a command would change, as the door saw it; none where that cannot be told.
    #[must_use]
    pub fn changed_by(
        &self,
        source: &str,
        script: &Script,
        index: usize,
        standing: &TouchedPath,
    ) -> Option<Vec<&str>> {
        let mut paths = Vec::new();
        for (folder, change) in questions(source, script, index, standing)? {
            paths.extend(self.0.get(&key(&folder, &change))?.as_ref()?.iter().map(String::as_str));
        }
        Some(paths)
    }

    /// Each question and its answer, to be kept.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&[String]>)> {
        self.0.iter().map(|(question, paths)| (question.as_str(), paths.as_deref()))
    }

    /// Whether nothing was asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Option<Vec<String>>)> for Versions {
    fn from_iter<T: IntoIterator<Item = (String, Option<Vec<String>>)>>(answers: T) -> Self {
        Self(answers.into_iter().collect())
    }
}

fn key(folder: &str, change: &impl Debug) -> String {
    format!("{folder}: {change:?}")
}

fn answer(source: &str, folder: &str, change: &VersionChange, files: &dyn Files) -> Option<Vec<String>> {
    let VersionChange::Patch { file } = change else { return files.changed_by(folder, change) };
    let text = match file {
        Some(file) => files.text(file)?,
        None => source.to_owned(),
    };
    let names = patched_files(&text);
    // What names no file may be a patch of another form.
    if names.is_empty() {
        return None;
    }
    let mut paths = Vec::new();
    for name in names {
        // Options say how many folders of a name are left out, and git counts from its work tree.
        let rests = name.match_indices('/').filter_map(|(at, _)| name.get(at.saturating_add(1)..));
        for rest in std::iter::once(name).chain(rests) {
            let above = folder.match_indices('/').filter_map(|(at, _)| folder.get(..at));
            for start in above.chain(std::iter::once(folder)) {
                paths.extend(normalise(rest, Some(if start.is_empty() { "/" } else { start })).ok());
            }
        }
    }
    paths.sort();
    paths.dedup();
    Some(paths)
}

fn is_asked_about(command: Option<&Command>) -> bool {
    command.is_some_and(|command| matches!(command.program.as_deref(), Some("git" | "patch")))
}

/// What to ask about a command, for each folder it may stand in; none where the answers could be others when it runs.
fn questions(
    source: &str,
    script: &Script,
    index: usize,
    standing: &TouchedPath,
) -> Option<Vec<(String, VersionChange)>> {
    let command = script.commands.get(index).filter(|command| is_asked_about(Some(command)))?;
    let spots = standing.spots.as_ref().ok().filter(|spots| spots.len() <= FOLDERS_MAX)?;
    let folders: Option<Vec<&str>> =
        spots.iter().map(|spot| spot.walked.starts_with('/').then_some(spot.walked.as_str())).collect();
    let folders = folders.filter(|folders| !folders.is_empty())?;
    if !command.is_trusted() || !command.wrapper_places.is_empty() || command.is_fed() {
        return None;
    }
    let sets =
        script.sets.iter().map(String::as_str).chain(command.assignments.iter().map(|it| it.0.as_str()));
    if sets
        .into_iter()
        .any(|name| name.starts_with("GIT_") || ["HOME", "PATH", "XDG_CONFIG_HOME"].contains(&name))
    {
        return None;
    }
    let words = certain(&command.words)?;
    let changes = match command.program.as_deref() {
        Some("git") => match git::patch_files(&words) {
            Some(files) => patches(source, script, command, &files)?,
            None => git::changes(&words)?,
        },
        _ => patches(source, script, command, &git::files_of_patch(&words)?)?,
    };
    let quiet = match changes.as_slice() {
        // Only settings can change the answer.
        [VersionChange::Alias { .. }] if !source.contains("alias") => Quiet::Reads,
        _ => quiet(source, script, index)?,
    };
    if quiet == Quiet::Commits && changes.iter().any(is_relative) {
        return None;
    }
    let for_each = |folder: &&str| {
        let folder = (*folder).to_owned();
        changes.iter().map(move |change| (folder.clone(), in_folder(change, &folder))).collect::<Vec<_>>()
    };
    Some(folders.iter().flat_map(for_each).collect())
}

/// The question with the whole name of the file it is about.
fn in_folder(change: &VersionChange, folder: &str) -> VersionChange {
    match change {
        VersionChange::Patch { file: Some(file) } => {
            let whole = normalise(file, Some(folder)).unwrap_or_else(|_| file.clone());
            VersionChange::Patch { file: Some(whole) }
        }
        other => other.clone(),
    }
}

fn certain(words: &[Word]) -> Option<Vec<&str>> {
    words.iter().map(|word| (word.known == Known::Certain).then_some(word.text.as_str())).collect()
}

/// Where a command takes its patches from: the files that it names, its standard input, or the script.
fn patches(source: &str, script: &Script, command: &Command, named: &[&str]) -> Option<Vec<VersionChange>> {
    let of = |file: &str| VersionChange::Patch { file: Some(file.to_owned()) };
    let mut files: Vec<VersionChange> =
        named.iter().filter(|file| **file != "-").map(|file| of(file)).collect();
    let reads_input = files.len() < named.len() || named.is_empty();
    let inputs = command.redirections.iter().filter(|it| it.kind == RedirectionKind::Reads);
    let inputs: Vec<&Word> = inputs.map(|it| &it.target).collect();
    match *inputs.as_slice() {
        _ if !reads_input => {}
        [input] if input.known == Known::Certain => files.push(of(&input.text)),
        [] if script.commands.len() == 1 && is_quoted_document(source) => {
            files.push(VersionChange::Patch { file: None });
        }
        _ => return None,
    }
    Some(files)
}

/// Whether a script has one here-document, in which nothing is expanded.
fn is_quoted_document(source: &str) -> bool {
    let mut parts = source.split("<<");
    parts.next();
    let (Some(document), None) = (parts.next(), parts.next()) else { return false };
    document.trim_start_matches(['-', ' ']).starts_with(['\'', '"', '\\']) && !source.contains('|')
}

/// Whether what a version is depends on where the branch stands.
fn is_relative(change: &VersionChange) -> bool {
    let is_plain = |version: &str| {
        !version.contains(['~', '^', '@', ':']) && version != "-" && !version.ends_with("HEAD")
    };
    match change {
        VersionChange::Version { version, .. } => !is_plain(version),
        VersionChange::VersionOrPath { first, .. } => !is_plain(first),
        VersionChange::Index { .. } | VersionChange::Untracked { .. } | VersionChange::Tracked { .. } => {
            false
        }
        VersionChange::Patch { .. } | VersionChange::Alias { .. } => false,
        VersionChange::Stash { .. } | VersionChange::Commits { .. } => true,
    }
}

/// How quiet everything is that may run before or beside a command; none where it may change anything.
fn quiet(source: &str, script: &Script, index: usize) -> Option<Quiet> {
    if script.opaque {
        return None;
    }
    let bare =
        ["&&", "||", ">&", "&>", ">|"].iter().fold(source.to_owned(), |text, sign| text.replace(sign, " "));
    let is_ordered = !bare.contains(['|', '&']) && !source.contains("done") && !source.contains("()");
    let mut all = Quiet::Reads;
    for (other, command) in script.commands.iter().enumerate() {
        if other == index || (is_ordered && other > index) {
            continue;
        }
        all = all.max(quietness(command)?);
    }
    Some(all)
}

fn quietness(command: &Command) -> Option<Quiet> {
    let is_kept = |it: &crate::shell::script::Redirection| {
        it.kind == RedirectionKind::Reads || it.target.text == "/dev/null"
    };
    if command.opaque || command.code.is_some() || !command.redirections.iter().all(is_kept) {
        return None;
    }
    if command.words.is_empty() {
        return Some(Quiet::Reads);
    }
    let row = command.row()?;
    if command.program.as_deref() == Some("git") {
        return git::quietness(&certain(&command.words)?);
    }
    let is_harmless = row.files.change <= crate::programs::files::Change::Reads || row.files.moves_into();
    (is_harmless && command.is_trusted()).then_some(Quiet::Reads)
}
