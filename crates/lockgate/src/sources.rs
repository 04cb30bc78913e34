//! Reads policy files, and what they include.
//!
//! [`read_sources`] reads all files or none. What a file includes is read before it, and every file once, however many
//! name it. What the files say is not looked at here.

use std::{
    collections::HashSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use lockgate_call::path::normalise;
use lockgate_languages::{included_name, when_then::includes};
use lockgate_policy::{Diagnostic, Source, Span};

use crate::policy_error::PolicyError;

/// The endings of policy files that are looked for in a folder.
const ENDINGS: [&str; 4] = ["rules", "yaml", "yml", "json"];
/// The largest policy file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many files may include one another in a row.
const INCLUDES_DEPTH_MAX: usize = 32;
/// How many files are read because others include them.
const INCLUDED_FILES_MAX: usize = 1_000;

/// Reads policy files, and what they include, without looking further at what they say.
///
/// # Errors
/// When a file cannot be read, a folder has none, or files include one another in a circle.
pub fn read_sources<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Source>, PolicyError> {
    let mut reader = PolicyReader::default();
    for file in policy_files(paths)? {
        reader.put(&file)?;
    }
    if reader.mistakes.is_empty() { Ok(reader.sources) } else { Err(PolicyError::Mistaken(reader.mistakes)) }
}

/// The policy files that paths stand for, without what they include: a folder stands for the policy files in it, in the
/// order of their names.
///
/// # Errors
/// When a path cannot be read, or a folder has no policy file.
pub fn policy_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, PolicyError> {
    let mut found = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let unreadable = |source| PolicyError::Unreadable { path: path.to_path_buf(), source };
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
            return Err(PolicyError::Empty(path.to_path_buf()));
        }
        files.sort();
        found.append(&mut files);
    }
    Ok(found)
}

/// Files in the order in which they were read.
#[derive(Default)]
struct PolicyReader {
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

impl PolicyReader {
    /// Reads a file that was named, unless it has been read already.
    fn put(&mut self, path: &Path) -> Result<(), PolicyError> {
        let name = path.display().to_string();
        let folded = normalise(&name, None).unwrap_or(name);
        if self.known.insert(folded.clone()) {
            let source = read_source(path)?;
            self.put_after_its_includes(source, &mut vec![folded]);
        }
        Ok(())
    }

    /// `way` are the files from the one that was named to this one, folded.
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
            let message = format!("it is not certain which file this is: {doubt}");
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

fn read_source(path: &Path) -> Result<Source, PolicyError> {
    let unreadable = |source| PolicyError::Unreadable { path: path.to_path_buf(), source };
    // A pipe would keep the gate waiting, and a device may never end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(std::io::Error::other("not a regular file")));
    }
    let (file, mut bytes) = (fs::File::open(path).map_err(unreadable)?, Vec::new());
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let too_large = format!("larger than {FILE_BYTES_MAX} bytes");
        return Err(unreadable(std::io::Error::other(too_large)));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable(std::io::Error::other("not UTF-8")))?;
    Ok(Source::new(path.display().to_string(), text))
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
                Err(PolicyError::Mistaken(mistakes)) => {
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
        let error = crate::policy::Policy::builder()
            .text("policy.yaml", file("base.yaml"))
            .load()
            .unwrap_err()
            .to_string();
        assert!(error.contains("`base.yaml` is included and was not read"), "{error}");
    }
}
