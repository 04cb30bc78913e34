//! The steps of an installation: each is shown before any is done.

use std::{
    fs, io,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::Command,
};

use lockgate::engine::call::visible;
use serde_json::{Value, json};

use crate::{
    console::{CommandError, Console, Ending, bold, dim},
    platform,
    protocol::encode,
};

/// Who owns what a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// One step.
pub(super) enum Step {
    /// Makes a folder, or sets the owner and the rights of one that is there.
    Folder { path: PathBuf, owner: Owner, mode: u32 },
    /// Writes a file whole.
    File { path: PathBuf, bytes: Vec<u8>, owner: Owner, mode: u32 },
    /// Copies a program.
    Program { from: PathBuf, to: PathBuf },
    /// Deletes a file.
    Delete(PathBuf),
    /// Deletes a folder with all that is in it.
    DeleteFolder(PathBuf),
    /// Runs a program; as a user, if one is given.
    Run { words: Vec<String>, user: Option<Owner>, may_fail: bool },
}

impl Step {
    fn told(&self) -> String {
        match self {
            Self::Folder { path, owner, mode } => {
                format!("make folder {} (user {}, mode {mode:o})", path.display(), owner.user)
            }
            Self::File { path, bytes, owner, mode } => {
                let size = bytes.len();
                format!("write {} ({size} bytes, user {}, mode {mode:o})", path.display(), owner.user)
            }
            Self::Program { from, to } => format!("copy {} to {}", from.display(), to.display()),
            Self::Delete(path) => format!("delete {}", path.display()),
            Self::DeleteFolder(path) => format!("delete {} and all that is in it", path.display()),
            Self::Run { words, user: None, .. } => format!("run {}", words.join(" ")),
            Self::Run { words, user: Some(owner), .. } => {
                format!("run {} as user {}", words.join(" "), owner.user)
            }
        }
    }

    fn carry_out(&self) -> io::Result<()> {
        match self {
            Self::Folder { path, owner, mode } => {
                fs::create_dir_all(path)?;
                own(path, *owner, *mode)
            }
            Self::File { path, bytes, owner, mode } => {
                // Written whole under another name first, and private until it has its owner.
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".new");
                let draft = path.with_file_name(name);
                let _ = fs::remove_file(&draft);
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true);
                platform::keep_private(&mut options);
                let mut file = options.open(&draft)?;
                io::Write::write_all(&mut file, bytes)?;
                file.sync_all()?;
                own(&draft, *owner, *mode)?;
                fs::rename(&draft, path)
            }
            Self::Program { from, to } => {
                let draft = to.with_extension("new");
                fs::copy(from, &draft)?;
                own(&draft, Owner { user: 0, group: 0 }, 0o755)?;
                fs::rename(&draft, to)
            }
            Self::Delete(path) => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            Self::DeleteFolder(path) => match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            Self::Run { words, user, may_fail } => {
                let Some((program, rest)) = words.split_first() else { return Ok(()) };
                let mut command = Command::new(program);
                command.args(rest);
                if let Some(Owner { user, group }) = user {
                    platform::as_user(&mut command, *user, *group);
                }
                let status = command.status()?;
                match status.success() || *may_fail {
                    true => Ok(()),
                    false => Err(io::Error::other(format!("it ended with {status}"))),
                }
            }
        }
    }
}

/// Sets owner and rights. Only root can give a file away; in a scratch folder it stays with who made it.
fn own(path: &Path, owner: Owner, mode: u32) -> io::Result<()> {
    if platform::user() == Some(0) {
        platform::give(path, owner.user, owner.group)?;
    }
    platform::set_mode(path, mode)
}

/// How the steps are done.
pub(super) struct Way<'a> {
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    /// Whether programs are run; otherwise they are only listed.
    pub(super) runs: bool,
    /// What is said when all is done.
    pub(super) next: &'a [String],
}

/// Shows the steps, asks, and does them in order; the first that fails ends it.
pub(super) fn settle(
    steps: &[Step],
    way: &Way<'_>,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let is_skipped = |step: &Step| !way.runs && matches!(step, Step::Run { .. });
    if !json {
        for step in steps {
            let told = visible(&step.told());
            match is_skipped(step) {
                true => writeln!(console.out, "  {}", dim(format!("{told} (not with --root)")))?,
                false => writeln!(console.out, "  {told}")?,
            }
        }
    }
    let told: Vec<Value> =
        steps.iter().map(|step| json!({ "step": step.told(), "skipped": is_skipped(step) })).collect();
    if way.dry_run {
        match json {
            true => writeln!(console.out, "{}", encode(&json!({ "steps": told, "done": false })))?,
            false => writeln!(console.err, "nothing was done")?,
        }
        return Ok(Ending::Yes);
    }
    if !way.yes && !agreed(console)? {
        writeln!(console.err, "nothing was done")?;
        return Ok(Ending::No);
    }
    for step in steps.iter().filter(|step| !is_skipped(step)) {
        step.carry_out().map_err(|error| {
            CommandError::Said(format!(
                "this step failed: {}: {error}; mend it and run the command again, every step can be repeated",
                step.told()
            ))
        })?;
    }
    if json {
        writeln!(console.out, "{}", encode(&json!({ "steps": told, "done": true, "next": way.next })))?;
    } else {
        for line in way.next {
            writeln!(console.out, "{}", visible(line))?;
        }
    }
    Ok(Ending::Yes)
}

fn agreed(console: &mut Console<'_>) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::Said(
            "there is no terminal to ask at; run it with `--yes`, or with `--dry-run` first".to_owned(),
        ));
    }
    write!(console.err, "{} [y/N] ", bold("Do this?"))?;
    console.err.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}
