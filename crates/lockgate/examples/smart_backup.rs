//! Only what a backup covers is destroyed, and each destruction uses up one backup.
//!
//! The net counts backups; its notes say what they cover. A backup counts once its result says success
//! (`deferred`, `on_result`); a destruction takes its backup away when it is let pass, because a call that
//! fails may still have destroyed something. Paths are absolute and come from a field of their own: relative
//! ones mean something else after `cd`, and words of a shell script are no place to read paths from.
//!
//! `cargo run -p lockgate --example smart_backup`

mod show;

use lockgate::{Attempt, DraftNet, DraftTransition, Gate, Notes, Policy, Success, is_under};
use serde_json::Value;
use show::{call, play};

/// How many backups may be in store at once. A net with a bound can be explored whole.
const BACKUPS_MAX: u64 = 10;

/// A gate over the tools `backup` and `destroy`.
pub(crate) fn gate() -> Result<Gate, Box<dyn std::error::Error>> {
    let backup = DraftTransition::new("backup", &["room"], &["backups"]).tools(&["backup"]);
    let destroy = DraftTransition::new("destroy", &["backups"], &["room"]).tools(&["destroy"]);
    let net = DraftNet::new("smart-backup")
        .place("room", BACKUPS_MAX)
        .place("backups", 0)
        .transition(backup.deferred())
        .transition(destroy);
    let gate = Gate::builder(Policy::builder().net(net).load()?)
        .validate("smart-backup", is_covered)
        .on_result("smart-backup", remember)
        .build()?;
    Ok(gate)
}

/// Notes what a successful backup covers.
fn remember(success: &Success<'_>, notes: &mut Notes) {
    if let Value::Array(covered) = notes.entry("covered").or_insert_with(|| Value::Array(Vec::new())) {
        covered.extend(success.call.input.get("path").cloned());
    }
}

/// Lets a destruction pass that one of the noted backups covers, and strikes that backup out.
fn is_covered(attempt: &Attempt<'_>, notes: &mut Notes) -> Result<(), String> {
    let path = attempt.call.input.get("path").and_then(Value::as_str);
    let Some(target) = path.filter(|path| path.starts_with('/')) else {
        return Err("say which folder, as an absolute path in `path`".to_owned());
    };
    if attempt.deed == "backup" {
        return Ok(());
    }
    let nothing = &mut Vec::new();
    let covered = notes.get_mut("covered").and_then(Value::as_array_mut).unwrap_or(nothing);
    let covers = |backup: &Value| backup.as_str().is_some_and(|folder| is_under(target, folder, None));
    match covered.iter().position(covers) {
        Some(used) => {
            covered.remove(used);
            Ok(())
        }
        None => {
            let list: Vec<&str> = covered.iter().filter_map(Value::as_str).collect();
            let list = list.join(", ");
            Err(format!("`{target}` is not covered by any backup: there are backups of {list}"))
        }
    }
}

/// What an agent that cleans up is told.
pub(crate) fn session() -> Result<String, Box<dyn std::error::Error>> {
    let backup = |path, succeeds| call("backup", "path", path, succeeds);
    let destroy = |path, succeeds| call("destroy", "path", path, succeeds);
    let steps = vec![
        destroy("/data/old", true),
        backup("data", true),
        backup("/data", false),
        destroy("/data/old", true),
        backup("/data", true),
        destroy("/logs", true),
        destroy("/data/../logs", true),
        destroy("/data/old", true),
        destroy("/data/new", true),
        backup("/data/new", true),
        backup("/logs", true),
        destroy("/logs", false),
        destroy("/logs", true),
        destroy("/data/new", true),
    ];
    play(&gate()?, &[], steps)
}

#[expect(clippy::print_stdout, reason = "an example is there to be seen")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", session()?);
    Ok(())
}
