//! What systems do differently is in one module of each shipped crate, `platform`, and nowhere else.
//!
//! `platform.rs` is for Unix and `platform/other.rs` for other systems; both have the same functions, so that no code above asks
//! which system it runs on. `./test platforms` compiles the crates for Windows and macOS. Tests may ask.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What only code for some system says.
const SIGNS: [&str; 10] = [
    "cfg(unix",
    "cfg(not(unix",
    "cfg!(unix",
    "cfg_attr(",
    "cfg(windows",
    "cfg!(windows",
    "target_os",
    "target_family",
    "std::os::",
    "rustix::",
];

#[test]
fn only_the_platform_modules_ask_for_the_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name() != "testkit" && entry.path().is_dir() {
            collect(&entry.path().join("src"), &mut files);
        }
    }
    let is_platform = |file: &PathBuf| {
        file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("platform"))
    };
    let (platform, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_platform);
    let found: Vec<String> = others.iter().flat_map(|file| asks(file)).collect();
    assert_eq!(found, [""; 0]);
    // If nothing was found where something is, nothing was looked at.
    assert!(platform.iter().any(|file| !asks(file).is_empty()));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs")
            && path.file_stem().is_some_and(|it| it != "tests")
        {
            files.push(path);
        }
    }
}

/// The lines of a file that ask, without its tests and comments.
fn asks(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("\n#[cfg(test)]\n#[cfg(unix)]\nmod tests {").next().unwrap();
    let code = code.lines().take_while(|line| *line != "mod tests {");
    let asking = code.filter(|line| {
        !line.trim_start().starts_with("//")
            && !line.contains("platform/other.rs")
            && SIGNS.iter().any(|sign| line.contains(sign))
    });
    asking.map(|line| format!("{}: {}", file.display(), line.trim())).collect()
}
