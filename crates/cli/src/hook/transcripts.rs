//! The policy of a hook process, whose files in YAML were parsed by the first process that read them.
//!
//! What the parser told of a file rests beside the sessions as a memo, for its text and for this build of this program;
//! docs/hooks.md says what that spares. Everything else is done in every process: finding the files, reading their
//! texts, understanding and checking them.

use std::{env, time::UNIX_EPOCH};

use lockgate::{
    OpenError, Policy, Source,
    store::{MEMOS_MAX, Memos, Sqlite},
};

use crate::settings::Settings;

/// Reads the policy and its texts. Nobody reads findings here, and looking for them may take longer than all the rest.
pub(crate) fn open_policy(settings: &Settings, shelf: &Sqlite) -> Result<(Policy, Vec<Source>), OpenError> {
    let memos = this_build().map(|build| shelf.memos(&build));
    let recall = |source: Source| match memos.as_ref().and_then(|memos| recalled(memos, &source)) {
        Some(transcript) => source.with_transcript(transcript),
        None => source,
    };
    let sources = settings.sources_recalling(&recall)?;
    let policy = lockgate::open_unlinted(&sources)?;
    // Of more files than are kept, each process would forget what the next one wants.
    if let Some(memos) = memos.filter(|_| sources.len() <= MEMOS_MAX) {
        let new = sources.iter().filter(|source| source.is_yaml() && source.transcript().is_none());
        memos.keep(new.map(|source| (source.text(), source.make_transcript())));
    }
    Ok((policy, sources))
}

fn recalled(memos: &Memos, source: &Source) -> Option<Vec<u8>> {
    if source.is_yaml() { memos.recall(source.text()) } else { None }
}

/// What no other build of this program has: one that reads YAML otherwise must not find our transcripts. None where it
/// cannot be told, and then nothing is kept.
fn this_build() -> Option<String> {
    let file = env::current_exe().ok()?.metadata().ok()?;
    let changed = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("lockgate {} {} {}", env!("CARGO_PKG_VERSION"), file.len(), changed.as_nanos()))
}
