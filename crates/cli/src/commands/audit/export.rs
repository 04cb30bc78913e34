//! `lockgate audit --export`: the whole audit log as lines, with its signed head as the last.
//!
//! A part of the audit log cannot be verified, because it cannot be known what was left out; so a part is never called an
//! export. A file is written beside its place first: an export that fails leaves an older one as it was.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use lockgate::engine::store::{Query, Sqlite};

use super::{
    records::links,
    select::{AuditListArguments, selection},
};
use crate::{
    console::{CommandError, Console, Ending},
    platform,
    progress::Progress,
    state::open_state,
};

pub(super) fn run(
    arguments: &AuditListArguments,
    file: &Path,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if arguments.limit.is_some() || !selection(arguments)?.is_everything() {
        return Err(CommandError::said(
            "an export of some entries cannot be verified, because the missing ones cannot be known; leave the \
             filters out, or use --json for a listing",
        ));
    }
    let store = open_state(arguments.state.state.as_deref())?;
    if file == Path::new("-") {
        write(&store, console.out)?;
        return Ok(Ending::Yes);
    }
    let cannot = |error: io::Error| CommandError::Said(format!("cannot write `{}`: {error}", file.display()));
    let draft = Draft::new(file).map_err(cannot)?;
    let mut out = BufWriter::new(&draft.file);
    let records = write(&store, &mut out)?;
    out.flush().map_err(cannot)?;
    drop(out);
    draft.keep(file).map_err(cannot)?;
    writeln!(console.err, "{records} records and the head written to `{}`", file.display())?;
    Ok(Ending::Yes)
}

/// Writes the audit log as it stands now; how many records.
fn write(store: &Sqlite, out: &mut dyn Write) -> Result<u64, CommandError> {
    let progress = Progress::start("exporting", false);
    // What is appended while we write comes after the head that we have.
    let head = store.head().map_err(CommandError::said)?;
    let mut last = head.pruned;
    for link in links(store, Query { after_n: head.pruned, ..Query::default() }) {
        let link = link?;
        if link.n > head.n {
            break;
        }
        if link.n != last + 1 {
            let text = format!(
                "record {} is missing: it was pruned meanwhile, or the audit log was changed; see `audit verify`",
                last + 1
            );
            return Err(CommandError::Said(text));
        }
        writeln!(out, "{}", link.to_line())?;
        last = link.n;
        progress.tell(last - head.pruned, head.n - head.pruned);
    }
    if last != head.n {
        let text = format!("the audit log ends with record {last} instead of {}; see `audit verify`", head.n);
        return Err(CommandError::Said(text));
    }
    writeln!(out, "{}", head.to_line())?;
    out.flush()?;
    Ok(head.n - head.pruned)
}

/// A file that has not got its name yet, and is taken away if it never gets it.
struct Draft {
    file: File,
    path: Option<PathBuf>,
}

impl Draft {
    fn new(place: &Path) -> io::Result<Self> {
        let name = place.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let mut beside = name.to_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        let path = place.with_file_name(beside);
        let mut options = File::options();
        options.write(true).create_new(true);
        // The audit log says what agents did and for whom: like the database, it is its owner's alone.
        platform::keep_private(&mut options);
        Ok(Self { file: options.open(&path)?, path: Some(path) })
    }

    fn keep(mut self, place: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(path) = &self.path {
            fs::rename(path, place)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
