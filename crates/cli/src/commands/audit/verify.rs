//! `lockgate audit verify`: whether the audit log and the state of sessions, or an export of the log, are as they were
//! written.
//!
//! What is looked at and how is the store's; this tells what came of it, and the head, to be noted elsewhere. An
//! export without a head ends anywhere, so it cannot be known whether it is whole.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::{
    SealNote,
    call::visible,
    store::{Anchor, Problem, Verified, from_hex, to_hex, verify_lines},
};
use serde::Serialize;

use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending, bold, dim, wrong},
    progress::Progress,
    protocol::encode,
    state::open_database,
    when,
};

pub(crate) const AUDIT_VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate audit verify
  lockgate audit verify --expect 1204:5f1c…      the head that you noted earlier
  lockgate audit verify log.jsonl --key 9b0e…    an export, and your key
  lockgate audit verify --store 'postgres://gate@db/lockgate?key=/k'

The database is checked with the state of its sessions: rows that were changed,
deleted or brought back are named. Note the head that this prints, in
a place that the database's users cannot change, or let the setting `anchor` do
so. Only then can you find an older copy or a rewritten log.
Exit 0: intact, 1: something is wrong, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArguments {
    /// An exported log [default: the database]
    #[arg(value_name = "FILE", conflicts_with = "state")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// A store that machines share: postgres://USER@HOST/DATABASE?key=FILE, or redis://HOST/NUMBER?key=FILE
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "state"])]
    pub(crate) store: Option<String>,
    /// The head that you noted: the number of a record, or of a seal, and its hash
    #[arg(long, value_name = "N:HASH", value_parser = anchor)]
    pub(crate) expect: Option<Anchor>,
    /// The public key that you noted
    #[arg(long, value_name = "HEX", value_parser = public_key)]
    pub(crate) key: Option<PublicKey>,
}

/// The public half of the key that signs an audit log.
pub(crate) type PublicKey = [u8; 32];

fn anchor(text: &str) -> Result<Anchor, String> {
    let read = || {
        let (n, hash) = text.split_once(':')?;
        Some(Anchor { n: n.parse().ok()?, hash: from_hex(hash)? })
    };
    read().ok_or_else(|| {
        "not a head; write a record's number, a colon and the 64 hex digits of its hash, as `audit verify` prints them"
            .to_owned()
    })
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    from_hex(text).ok_or_else(|| "not a key; write the 64 hex digits that `audit verify` prints".to_owned())
}

pub(super) fn run(
    arguments: &AuditVerifyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let checked = match &arguments.file {
        Some(file) => Checked::file(file, arguments, json)?,
        None => Checked::database(arguments, json)?,
    };
    if json {
        writeln!(console.out, "{}", encode(&Answer::new(&checked)))?;
    } else {
        checked.write(console)?;
    }
    Ok(checked.ending())
}

/// What was looked at, and what came of it.
struct Checked {
    what: String,
    verified: Verified,
    /// The last seal of a store that machines share.
    seal: Option<SealNote>,
    /// Whether its end is known to be the end.
    is_signed: bool,
    /// Another key signs than the one that was noted.
    has_other_key: bool,
    /// It is not known which key should have signed.
    trusts_any_key: bool,
    expects: Option<u64>,
    /// A database, which holds the state of sessions too.
    has_state: bool,
}

impl Checked {
    fn database(arguments: &AuditVerifyArguments, json: bool) -> Result<Self, CommandError> {
        let store = open_database(arguments.store.as_deref(), arguments.state.state.as_deref())?;
        let progress = Progress::start("verifying", json);
        let mut tell = |now: lockgate::engine::store::Progress| progress.tell(now.done, now.of);
        let found = store.verify(arguments.expect, &mut tell).map_err(CommandError::said)?;
        let what = format!("the audit log in {}", store.place());
        let has_other_key = arguments.key.is_some_and(|key| key != store.public_key());
        let mut checked = Self::new(what, found.verified, arguments, has_other_key);
        (checked.seal, checked.is_signed) = (found.seal, found.is_signed);
        Ok(checked)
    }

    fn file(file: &Path, arguments: &AuditVerifyArguments, json: bool) -> Result<Self, CommandError> {
        let cannot =
            |error: io::Error| CommandError::Said(format!("cannot read `{}`: {error}", file.display()));
        let progress = Progress::start("verifying", json);
        let opened = File::open(file).map_err(cannot)?;
        let of = opened.metadata().map_err(cannot)?.len();
        let lines = BufReader::new(Counted { inner: opened, done: 0, of, progress: &progress });
        let key = arguments.key.as_ref();
        let verified = verify_lines(lines, key, arguments.expect).map_err(cannot)?;
        let mut checked = Self::new(file.display().to_string(), verified, arguments, false);
        checked.trusts_any_key = arguments.key.is_none();
        Ok(checked)
    }

    fn new(what: String, verified: Verified, arguments: &AuditVerifyArguments, has_other_key: bool) -> Self {
        let expects = arguments.expect.map(|anchor| anchor.n);
        let (has_state, is_signed) = (arguments.file.is_none(), verified.head.is_some());
        Self {
            what,
            verified,
            seal: None,
            is_signed,
            has_other_key,
            trusts_any_key: false,
            expects,
            has_state,
        }
    }

    fn is_whole(&self) -> bool {
        self.verified.is_whole() && !self.has_other_key
    }

    fn ending(&self) -> Ending {
        match (self.is_whole(), self.is_signed) {
            (false, _) => Ending::No,
            (true, true) => Ending::Yes,
            (true, false) => Ending::CouldNotTell,
        }
    }

    fn write(&self, console: &mut Console<'_>) -> Result<(), CommandError> {
        let Self { what, verified, .. } = self;
        let out = &mut *console.out;
        let Verified { records, rows, first, head, problems, problems_untold } = verified;
        let from = first.map(|first| format!(", from record {first} on")).unwrap_or_default();
        writeln!(out, "{}: {} looked at{from}", bold(visible(what)), counted(*records, "record"))?;
        if self.has_state {
            writeln!(out, "the state of sessions beside it: {} looked at", counted(*rows, "row"))?;
        }
        for Problem { n, sentence, .. } in problems {
            let n = n.map(|n| n.to_string()).unwrap_or_default();
            writeln!(out, "{:>8}  {} {}", n, wrong("wrong:"), visible(sentence))?;
        }
        if *problems_untold > 0 {
            writeln!(out, "{:>8}  {} and {problems_untold} more", "", wrong("wrong:"))?;
        }
        if self.has_other_key {
            writeln!(
                out,
                "{:>8}  {} another key signs this audit log than the one you noted",
                "",
                wrong("wrong:")
            )?;
        }
        if !self.is_signed {
            writeln!(
                console.err,
                "{}: its end has no signed head, so its end cannot be checked; export it whole",
                wrong("error")
            )?;
            return Ok(());
        }
        match (self.is_whole(), self.has_state) {
            (true, true) => {
                writeln!(
                    out,
                    "whole: every record and every row is as it was written, and {} signed",
                    if head.is_some() { "the head is" } else { "seals are" }
                )?;
            }
            (true, false) => {
                writeln!(out, "whole: every record is as it was written, and the head is signed")?;
            }
            (false, _) => {}
        }
        if let (true, Some(n)) = (self.is_whole(), self.expects) {
            let what = if head.is_some() { "record" } else { "seal" };
            writeln!(out, "{what} {n} is the one you noted, and so is all before it")?;
        }
        if self.trusts_any_key {
            let text =
                "the writer of this file may have signed it too: compare the key, or give it with --key";
            writeln!(out, "{}", dim(text))?;
        }
        if let Some(head) = head {
            writeln!(out, "\nto note elsewhere:")?;
            writeln!(out, "  head  {}:{}", head.n, to_hex(&head.hash))?;
            writeln!(out, "  key   {}", to_hex(&head.public_key))?;
            writeln!(out, "  {}", dim(format!("written {}, {} pruned", when::local(head.at), head.pruned)))?;
        }
        if let Some(seal) = &self.seal {
            writeln!(out, "\nto note elsewhere:")?;
            writeln!(out, "  seal  {}:{}", seal.n, to_hex(&seal.hash))?;
            writeln!(out, "  key   {}", to_hex(&seal.key))?;
            writeln!(out, "  {}", dim(format!("made {}", when::local(seal.at))))?;
        }
        Ok(())
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Tells how much of a file was read.
struct Counted<'a> {
    inner: File,
    done: u64,
    of: u64,
    progress: &'a Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.done = self.done.saturating_add(read as u64);
        self.progress.tell(self.done, self.of);
        Ok(read)
    }
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    /// None where that is not known.
    whole: Option<bool>,
    records: u64,
    /// Rows of state; 0 for an export, which has none.
    rows: u64,
    first: Option<u64>,
    problems: &'a [Problem],
    problems_untold: u64,
    other_key: bool,
    head: Option<HeadAnswer>,
    /// Of a store that machines share.
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<SealAnswer>,
}

#[derive(Debug, Serialize)]
struct SealAnswer {
    n: u64,
    hash: String,
    at: u64,
    key: String,
}

#[derive(Debug, Serialize)]
struct HeadAnswer {
    n: u64,
    hash: String,
    at: u64,
    pruned: u64,
    key: String,
}

impl<'a> Answer<'a> {
    fn new(checked: &'a Checked) -> Self {
        let Verified { records, rows, first, head, problems, problems_untold } = &checked.verified;
        let key = |key: &PublicKey| to_hex(key);
        Self {
            whole: match checked.ending() {
                Ending::Yes => Some(true),
                Ending::No => Some(false),
                Ending::CouldNotTell => None,
            },
            records: *records,
            rows: *rows,
            first: *first,
            problems,
            problems_untold: *problems_untold,
            other_key: checked.has_other_key,
            head: head.as_ref().map(|head| HeadAnswer {
                n: head.n,
                hash: to_hex(&head.hash),
                at: head.at.0,
                pruned: head.pruned,
                key: key(&head.public_key),
            }),
            seal: checked.seal.as_ref().map(|seal| SealAnswer {
                n: seal.n,
                hash: to_hex(&seal.hash),
                at: seal.at.0,
                key: key(&seal.key),
            }),
        }
    }
}
