//! Each crate has one program of integration tests, and every test file is a module of it.
//!
//! Cargo makes a program of each file in `tests/` and links all libraries for it again, so crates with several files switch that
//! off and have `tests/all.rs`. A file that is missing there would never be compiled, which this test notices.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_test_file_is_part_of_the_one_test_program_of_its_crate() {
    let mut wrong = Vec::new();
    let mut modules = 0;
    for folder in crates() {
        let names = modules_of(&folder.join("tests"));
        // Without `all.rs`, cargo finds a single file by itself.
        if names.len() < 2 {
            continue;
        }
        modules += names.len();
        let program = fs::read_to_string(folder.join("tests/all.rs")).unwrap_or_default();
        let missing = names.iter().filter(|name| !program.lines().any(|line| line == format!("mod {name};")));
        wrong.extend(missing.map(|name| format!("{}/tests/all.rs has no `mod {name};`", folder.display())));
        if !fs::read_to_string(folder.join("Cargo.toml")).unwrap().contains("\nautotests = false\n") {
            wrong.push(format!("{}/Cargo.toml has no `autotests = false`", folder.display()));
        }
    }
    assert_eq!(wrong, [""; 0]);
    // If no files were found, nothing was compared.
    assert!(modules > 50, "{modules}");
}

/// The names of test files and folders, without the program itself.
fn modules_of(tests: &Path) -> Vec<String> {
    let files = fs::read_dir(tests).into_iter().flatten().map(|entry| entry.unwrap().path());
    let modules =
        files.filter(|path| path.extension().is_some_and(|it| it == "rs") || path.join("mod.rs").exists());
    let names = modules.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    names.filter(|name| name != "all").collect()
}

fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [root.join("crates"), root].into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    folders.map(|entry| entry.unwrap().path()).filter(|path| path.join("Cargo.toml").exists()).collect()
}
