//! `cargo xtask playground`: Lockgate in a browser, as one file that needs no server.
//!
//! The crate `playground` is compiled to WebAssembly and put into its page with the style and the scripts. The page may run these scripts
//! and nothing else, and may connect to nowhere: its content policy names them by hash.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

/// What the crate is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// Build the playground, a page that needs no server
#[derive(Debug, clap::Args)]
pub(crate) struct Playground {
    /// The file to write
    #[arg(long, default_value = "target/playground/index.html")]
    out: PathBuf,
    /// The profile of Cargo.toml to compile with
    #[arg(long, default_value = "web")]
    profile: String,
}

impl Playground {
    pub(crate) fn run(&self) -> ExitCode {
        match self.build() {
            Ok(bytes) => {
                println!("{}: {} KB", self.out.display(), bytes / 1_000);
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("error: {why}");
                ExitCode::from(2)
            }
        }
    }

    fn build(&self) -> Result<usize, String> {
        let engine = compile(&self.profile)?;
        let page = joined(Path::new("playground/page"), &engine)?;
        let folder = self.out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&self.out, &page));
        made.map_err(|why| format!("cannot write {}: {why}", self.out.display()))?;
        Ok(page.len())
    }
}

/// The crate as WebAssembly.
fn compile(profile: &str) -> Result<Vec<u8>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--locked",
            "--package",
            "lockgate-playground",
            "--lib",
            "--target",
            TARGET,
            "--profile",
            profile,
        ])
        .status()
        .map_err(|why| format!("cargo does not start: {why}"))?;
    if !status.success() {
        return Err(format!(
            "the crate does not compile for {TARGET}; `rustup target add {TARGET}` brings the target"
        ));
    }
    let builds = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let folder = if profile == "dev" { "debug" } else { profile };
    let file = builds.join(TARGET).join(folder).join("lockgate_playground.wasm");
    fs::read(&file).map_err(|why| format!("cannot read {}: {why}", file.display()))
}

/// The page with everything it needs in it.
fn joined(folder: &Path, engine: &[u8]) -> Result<String, String> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file).map_err(|why| format!("cannot read {}: {why}", file.display()))
    };
    let (style, script) = (read("style.css")?, read("page.js")?);
    let policy = content_policy(&style, &script);
    let parts = [
        ("@POLICY@", policy),
        ("@STYLE@", style),
        ("@WORKER@", read("worker.js")?),
        ("@EXAMPLES@", read("examples.json")?),
        ("@SCRIPT@", script),
        ("@ENGINE@", STANDARD.encode(engine)),
    ];
    let mut page = read("index.html")?;
    for (mark, part) in parts {
        if part.contains("</script") || part.contains("</style") {
            return Err(format!("what stands for {mark} would end its element"));
        }
        if page.matches(mark).count() != 1 {
            return Err(format!("index.html does not have {mark} once"));
        }
        page = page.replacen(mark, &part, 1);
    }
    Ok(page)
}

/// Only this style and these scripts; pictures that are part of the page; no connection at all.
fn content_policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {} 'wasm-unsafe-eval'; worker-src blob:; img-src data:; \
         base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_names_its_scripts() {
        let page =
            joined(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../playground/page")), b"engine").unwrap();
        assert!(!["@POLICY@", "@STYLE@", "@SCRIPT@", "@ENGINE@"].iter().any(|mark| page.contains(mark)));
        assert!(page.contains(&STANDARD.encode(b"engine")) && page.contains("sha256-"));
        // Whatever the page loads would have to be fetched.
        assert!(!page.contains("src=\"http") && !page.contains("url(http"));
    }
}
