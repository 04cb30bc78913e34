//! Policies from files and folders.
//!
//! [`open`] reads them all or none: a policy of which one file is missing or wrong is not in force. What a file
//! includes is read before it, and every file once, however many name it.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use lockgate_call::path::normalise;
use lockgate_languages::{Options, included_name, render, ruleset::CustomNames, when_then::includes};
use lockgate_policy::{Diagnostic, Module, Policy, Severity, Source, Span};

use crate::files::LocalFiles;

/// The endings of policy files that are looked for in a folder.
const ENDINGS: [&str; 4] = ["rules", "yaml", "yml", "json"];
/// The largest policy file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many files may include one another in a row.
const INCLUDES_DEPTH_MAX: usize = 32;
/// How many files are read because others include them.
const INCLUDED_FILES_MAX: usize = 1_000;

/// A policy, and what its author should know about it.
#[derive(Debug)]
pub struct Opened {
    /// The policy.
    pub policy: Policy,
    /// Warnings and notes; none of them an error.
    pub findings: Vec<Diagnostic>,
}

/// Why a policy is not in force.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or folder could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder holds no policy file: an empty policy would let everything pass.
    #[error("no policy file in `{}`: looked for names ending in .rules, .yaml, .yml or .json", .0.display())]
    Empty(PathBuf),
    /// No file is named at all: an empty policy would let everything pass.
    #[error("no policy is named; name a policy file, or a folder of them")]
    NoFiles,
    /// The policy has mistakes.
    #[error("{}", render(.0, false))]
    Mistaken(Vec<Diagnostic>),
}

/// Reads and joins policy files; folders stand for the policy files in them, in the order of their names.
///
/// # Errors
/// When a file cannot be read, a folder has none, or anything in them is wrong: all mistakes are in the error.
pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Opened, OpenError> {
    join(&read_sources(paths)?)
}

/// The same for rulesets that look at what the host says about calls under names of its own; what that is, the
/// gate is told by [`GateBuilder::describe_calls`](crate::GateBuilder::describe_calls).
///
/// # Errors
/// As [`open`].
pub fn open_with<P: AsRef<Path>>(paths: &[P], custom: &CustomNames) -> Result<Opened, OpenError> {
    join_with(&read_sources(paths)?, custom)
}

/// Joins policy files that were read before.
///
/// # Errors
/// When anything in them is wrong: all mistakes are in the error.
pub fn open_sources(sources: &[Source]) -> Result<Opened, OpenError> {
    join(sources)
}

/// The policy of files that were read before, without findings: sooner there, for whoever judges one call and shows
/// nobody what the author should know.
///
/// # Errors
/// As [`open_sources`].
pub fn open_unlinted(sources: &[Source]) -> Result<Policy, OpenError> {
    if sources.is_empty() {
        return Err(OpenError::NoFiles);
    }
    opened(lockgate_languages::load(sources, Options { is_unlinted: true, ..Options::default() }))
        .map(|opened| opened.policy)
}

/// Reads one-line rules from a text.
///
/// # Errors
/// When anything in it is wrong: all mistakes are in the error.
pub fn rules(text: &str) -> Result<Policy, OpenError> {
    join(&[Source::new("policy.rules", text)]).map(|opened| opened.policy)
}

/// Reads when/then rules from a text. What the text includes is not read, so it must not include anything:
/// [`open`] reads files with all they include.
///
/// # Errors
/// When anything in it is wrong: all mistakes are in the error.
pub fn when_then(text: &str) -> Result<Policy, OpenError> {
    join(&[Source::new("policy.yaml", text)]).map(|opened| opened.policy)
}

/// Takes a hand-written net that comes from code instead of a file.
///
/// # Errors
/// When the net is wrong: all mistakes are in the error.
pub fn net(module: Module) -> Result<Policy, OpenError> {
    match lockgate_languages::compile(vec![module.into()]) {
        (policy, mistakes) if mistakes.is_empty() => Ok(policy),
        (_, mistakes) => Err(OpenError::Mistaken(mistakes)),
    }
}

/// Joins one-line rules from a text with nets that come from code; all must agree.
///
/// ```
/// use lockgate::{Call, DraftNet, DraftTransition, Gate};
///
/// let guard = DraftNet::new("write-path-guard")
///     .place("ready", 1)
///     .transition(DraftTransition::new("write", &["ready"], &["ready"]).tools(&["write"]));
/// let policy = lockgate::rules_and_nets("require backup before delete", [guard])?;
/// let gate = Gate::builder(policy)
///     .validate("write-path-guard", |attempt, _| match attempt.call.input["path"].as_str() {
///         Some(path) if path.starts_with("/workspace/") => Ok(()),
///         _ => Err("write outside of /workspace".into()),
///     })
///     .build()?;
/// assert!(!gate.call(&Call::new("1", "write").with("path", "/etc/passwd")).lets_pass());
/// assert!(gate.call(&Call::new("2", "write").with("path", "/workspace/a")).lets_pass());
/// assert!(!gate.call(&Call::new("3", "delete")).lets_pass());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When anything in the text or a net is wrong: all mistakes are in the error.
pub fn rules_and_nets<N: Into<Module>>(
    text: &str,
    nets: impl IntoIterator<Item = N>,
) -> Result<Policy, OpenError> {
    sources_and_nets(&[Source::new("policy.rules", text)], nets).map(|opened| opened.policy)
}

/// The same for files of any language that were read before.
///
/// # Errors
/// As [`rules_and_nets`].
pub fn sources_and_nets<N: Into<Module>>(
    sources: &[Source],
    nets: impl IntoIterator<Item = N>,
) -> Result<Opened, OpenError> {
    let modules = nets.into_iter().map(Into::into).collect();
    opened(lockgate_languages::load(sources, Options { modules, ..Options::default() }))
}

/// Reads policy files, and what they include, without looking further at what they say.
///
/// # Errors
/// When a file cannot be read, a folder has none, or files include one another in a circle.
pub fn read_sources<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Source>, OpenError> {
    let mut shelf = Shelf::default();
    for file in policy_files(paths)? {
        shelf.put(&file)?;
    }
    if shelf.mistakes.is_empty() { Ok(shelf.sources) } else { Err(OpenError::Mistaken(shelf.mistakes)) }
}

/// The policy files that paths stand for, without what they include: a folder stands for the policy files in it, in the
/// order of their names.
///
/// # Errors
/// When a path cannot be read, or a folder has no policy file.
pub fn policy_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, OpenError> {
    let mut found = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let unreadable = |source| OpenError::Unreadable { path: path.to_path_buf(), source };
        if !fs::metadata(path).map_err(unreadable)?.is_dir() {
            found.push(path.to_path_buf());
            continue;
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if ENDINGS.contains(&ending) && file.is_file() {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(OpenError::Empty(path.to_path_buf()));
        }
        files.sort();
        found.append(&mut files);
    }
    Ok(found)
}

/// Files in the order in which they were read.
#[derive(Default)]
struct Shelf {
    sources: Vec<Source>,
    /// Folded names of the files that were read or are being read.
    known: HashSet<String>,
    included: usize,
    mistakes: Vec<Diagnostic>,
}

/// An `include` of a file that is being read.
struct Include<'a> {
    source: &'a Source,
    path: String,
    span: Span,
}

impl Shelf {
    /// Reads a file that somebody named, unless it is there already.
    fn put(&mut self, path: &Path) -> Result<(), OpenError> {
        let name = path.display().to_string();
        let folded = normalise(&name, None).unwrap_or(name);
        if self.known.insert(folded.clone()) {
            let source = read_source(path)?;
            self.put_after_its_includes(source, &mut vec![folded]);
        }
        Ok(())
    }

    /// `way` are the files from the one that somebody named to this one, folded.
    fn put_after_its_includes(&mut self, source: Source, way: &mut Vec<String>) {
        for (path, span) in includes(&source) {
            if let Err(mistake) = self.include(&Include { source: &source, path, span }, way) {
                self.mistakes.push(*mistake);
            }
        }
        self.sources.push(source);
    }

    fn include(&mut self, include: &Include<'_>, way: &mut Vec<String>) -> Result<(), Box<Diagnostic>> {
        let name = included_name(include.source.name(), &include.path).map_err(|doubt| {
            let message = format!("it cannot be told which file this is: {doubt}");
            include.mistake("unreadable-include", message, "write a plain path, from the folder of this file")
        })?;
        if let Some(first) = way.iter().position(|known| *known == name) {
            let circle: Vec<String> = way.iter().skip(first).map(|known| format!("`{known}`")).collect();
            let message = format!("files include one another in a circle: {}, `{name}`", circle.join(", "));
            return Err(include.mistake("include-circle", message, "leave one of these includes out"));
        }
        if !self.known.insert(name.clone()) {
            return Ok(());
        }
        self.included += 1;
        if way.len() > INCLUDES_DEPTH_MAX || self.included > INCLUDED_FILES_MAX {
            let message = format!(
                "more than {INCLUDES_DEPTH_MAX} files include one another in a row, or more than \
                 {INCLUDED_FILES_MAX} files in all"
            );
            return Err(include.mistake(
                "too-many-includes",
                message,
                "name the files in the policy instead",
            ));
        }
        let source = read_source(Path::new(&name)).map_err(|error| {
            let remedy =
                "put the file there, or leave the include out; the path starts at the folder of this file";
            include.mistake("unreadable-include", error.to_string(), remedy)
        })?;
        way.push(name);
        self.put_after_its_includes(source, way);
        way.pop();
        Ok(())
    }
}

impl Include<'_> {
    fn mistake(&self, code: &'static str, message: String, remedy: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, self.source, self.span, message).remedy(remedy))
    }
}

fn read_source(path: &Path) -> Result<Source, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_path_buf(), source };
    if fs::metadata(path).map_err(unreadable)?.len() > FILE_BYTES_MAX {
        let too_large = format!("larger than {FILE_BYTES_MAX} bytes");
        return Err(unreadable(std::io::Error::other(too_large)));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok(Source::new(path.display().to_string(), text))
}

fn join(sources: &[Source]) -> Result<Opened, OpenError> {
    join_with(sources, &CustomNames::default())
}

fn join_with(sources: &[Source], custom: &CustomNames) -> Result<Opened, OpenError> {
    if sources.is_empty() {
        return Err(OpenError::NoFiles);
    }
    opened(lockgate_languages::load(sources, Options { custom: Some(custom), ..Options::default() }))
}

fn opened(read: (Option<Policy>, Vec<Diagnostic>)) -> Result<Opened, OpenError> {
    match read {
        (Some(mut policy), findings) => {
            // Sandboxes are drawn around where their folders really are.
            policy.resolve_folders(&LocalFiles);
            Ok(Opened { policy, findings })
        }
        (None, diagnostics) => {
            let mistakes = diagnostics.into_iter().filter(|it| it.severity == Severity::Error);
            Err(OpenError::Mistaken(mistakes.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, gone at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn with(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("lockgate-open-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            for (file, text) in files {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Self(folder)
        }

        /// The names of what is read, or everything that is wrong, without the folder.
        fn read(&self, paths: &[&str]) -> Result<Vec<String>, String> {
            let paths: Vec<PathBuf> = paths.iter().map(|path| self.0.join(path)).collect();
            let folder = format!("{}/", self.0.display());
            match read_sources(&paths) {
                Ok(sources) => Ok(sources.iter().map(|it| it.name().replace(&folder, "")).collect()),
                Err(OpenError::Mistaken(mistakes)) => {
                    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                    Err(lines.join("\n").replace(&folder, ""))
                }
                Err(error) => Err(error.to_string().replace(&folder, "")),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn file(includes: &str) -> String {
        format!("include: [{includes}]\nrules: []\n")
    }

    #[test]
    fn what_a_file_includes_is_read_before_it_and_once() {
        let folder = Folder::with(
            "diamond",
            &[
                ("main.yaml", &file("left.yaml, sub/right.yaml")),
                ("left.yaml", &file("common/base.yaml")),
                ("sub/right.yaml", &file("../common/base.yaml, ./../common//ops.rules")),
                ("common/base.yaml", "rules: []"),
                ("common/ops.rules", "block format_disk"),
            ],
        );
        let all = ["common/base.yaml", "left.yaml", "common/ops.rules", "sub/right.yaml", "main.yaml"];
        assert_eq!(folder.read(&["main.yaml"]).unwrap(), all);
        assert_eq!(folder.read(&["main.yaml", "./left.yaml", "main.yaml"]).unwrap(), all);
        // A folder is read in the order of its names, but for what is wanted earlier.
        assert_eq!(
            folder.read(&[""]).unwrap(),
            ["common/base.yaml", "left.yaml", "common/ops.rules", "sub/right.yaml", "main.yaml"]
        );
        let absolute = folder.0.join("common/base.yaml").display().to_string();
        let outside = Folder::with("outside", &[("main.yaml", &file(&absolute))]);
        assert_eq!(outside.read(&["main.yaml"]).unwrap(), [absolute.as_str(), "main.yaml"]);
    }

    #[test]
    fn a_circle_is_told_with_the_way_round() {
        let folder = Folder::with(
            "circle",
            &[
                ("main.yaml", &file("a.yaml")),
                ("a.yaml", &file("b/b.yaml")),
                ("b/b.yaml", &file("../a.yaml")),
                ("self.yaml", &file("self.yaml")),
            ],
        );
        let folder_name = folder.0.display().to_string();
        let said = folder.read(&["main.yaml"]).unwrap_err();
        assert_eq!(
            said,
            "b/b.yaml:1:11: error[include-circle]: files include one another in a circle: `a.yaml`, `b/b.yaml`, `a.yaml`"
        );
        assert!(!said.contains(&folder_name));
        assert!(folder.read(&["self.yaml"]).unwrap_err().contains("circle: `self.yaml`, `self.yaml`"));
    }

    #[test]
    fn every_include_that_cannot_be_read_is_told_where_it_is_written() {
        let folder = Folder::with(
            "missing",
            &[
                (
                    "main.yaml",
                    "rules: []\ninclude:\n  - nowhere.yaml\n  - ~/x.yaml\n  - sub\n  - sub/x.yaml\n",
                ),
                ("sub/x.yaml", &file("nor-here.yaml")),
            ],
        );
        let said = folder.read(&["main.yaml"]).unwrap_err();
        let places: Vec<&str> = said.lines().map(|line| line.split(" error").next().unwrap()).collect();
        assert_eq!(
            places,
            ["main.yaml:3:5:", "main.yaml:4:5:", "main.yaml:5:5:", "sub/x.yaml:1:11:"],
            "{said}"
        );
        assert!(said.contains("error[unreadable-include]: cannot read `nowhere.yaml`: "), "{said}");
        assert!(said.contains("cannot read `sub/nor-here.yaml`: "), "{said}");
    }

    #[test]
    fn so_many_files_include_one_another_and_no_more() {
        let deep = |files: usize| {
            let names: Vec<String> = (0..=files).map(|it| format!("{it}.yaml")).collect();
            let texts: Vec<String> = (1..=files + 1).map(|it| file(&format!("{it}.yaml"))).collect();
            let mut rows: Vec<(&str, &str)> =
                names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
            rows.last_mut().unwrap().1 = "rules: []";
            Folder::with("deep", &rows).read(&["0.yaml"])
        };
        assert_eq!(deep(INCLUDES_DEPTH_MAX).unwrap().len(), INCLUDES_DEPTH_MAX + 1);
        assert!(deep(INCLUDES_DEPTH_MAX + 1).unwrap_err().contains("error[too-many-includes]"));
        let wide = |files: usize| {
            let names: Vec<String> = (0..files).map(|it| format!("{it}.yaml")).collect();
            let main = file(&names.join(", "));
            let mut rows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "rules: []")).collect();
            rows.push(("main.yaml", &main));
            Folder::with("wide", &rows).read(&["main.yaml"])
        };
        assert_eq!(wide(INCLUDED_FILES_MAX).unwrap().len(), INCLUDED_FILES_MAX + 1);
        assert!(wide(INCLUDED_FILES_MAX + 1).unwrap_err().contains("error[too-many-includes]"));
    }

    #[test]
    fn a_text_by_itself_includes_nothing() {
        let error = when_then(&file("base.yaml")).unwrap_err().to_string();
        assert!(error.contains("`base.yaml` is included and was not read"), "{error}");
    }
}
