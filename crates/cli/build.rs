//! Tells the program which commit it was built from.
//!
//! Only where it is optimised: a developer's build would be compiled again after every commit. Where there is no git, as in a
//! crate that was downloaded, the version says it alone. A release may say it through `LOCKGATE_COMMIT`, as `HASH DATE`.
#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::{env, path::Path, process::Command};

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_optimised { env::var("LOCKGATE_COMMIT").ok().or_else(commit) } else { None };
    let version = match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=LOCKGATE_VERSION={version}");
    println!("cargo::rerun-if-env-changed=LOCKGATE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let moves = Path::new("../../.git/logs/HEAD");
    if is_optimised && moves.is_file() {
        println!("cargo::rerun-if-changed={}", moves.display());
    }
}

/// The hash and the date of the commit, as `git` tells them of this repository and of no other around it.
fn commit() -> Option<String> {
    if !Path::new("../../.git").exists() {
        return None;
    }
    let output = Command::new("git").args(["log", "-1", "--abbrev=10", "--format=%h %cs"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let is_plain = |text: &str| {
        text.len() == 21 && text.chars().all(|sign| sign.is_ascii_alphanumeric() || " -".contains(sign))
    };
    Some(text.trim().to_owned()).filter(|text| output.status.success() && is_plain(text))
}
