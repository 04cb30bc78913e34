//! Writes stay under one folder.
//!
//! The net has a single place and never changes; what decides is its validator, which looks at the path of
//! the call. A path is compared by its text: symbolic links are the file system's to tell.
//!
//! `cargo run -p lockgate --example write_path_guard`

mod show;

use lockgate::{DraftNet, DraftTransition, Gate, Policy, is_under};
use serde_json::Value;
use show::{call, play};

/// A gate that lets `write` and `edit` pass under this folder only.
pub(crate) fn gate(folder: &'static str) -> Result<Gate, Box<dyn std::error::Error>> {
    let net = DraftNet::new("write-path-guard")
        .place("open", 1)
        .transition(DraftTransition::new("write", &["open"], &["open"]).tools(&["write", "edit"]))
        .free(&["read"]);
    let gate = Gate::builder(Policy::builder().net(net).load()?)
        .validate("write-path-guard", move |attempt, _| {
            let Some(Value::String(target)) = attempt.call.input.get("path") else {
                return Err("say which file, in `path`".to_owned());
            };
            if is_under(target, folder, attempt.call.about.cwd.as_deref()) {
                Ok(())
            } else {
                Err(format!("`{target}` is outside of `{folder}`: write inside of it"))
            }
        })
        .build()?;
    Ok(gate)
}

/// What an agent that tries its luck is told.
pub(crate) fn session() -> Result<String, Box<dyn std::error::Error>> {
    let steps = vec![
        call("read", "path", "/etc/passwd", true),
        call("write", "path", "src/main.rs", true),
        call("write", "path", "/etc/passwd", true),
        call("edit", "path", "src/../../.ssh/config", true),
        call("write", "path", "srcs/main.rs", true),
        call("write", "file", "src/main.rs", true),
    ];
    play(&gate("src")?, &[], steps)
}

#[expect(clippy::print_stdout, reason = "an example is there to be seen")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", session()?);
    Ok(())
}
