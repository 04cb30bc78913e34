//! What the disk takes: one turn of a process with its database, and one `fsync`, which no durable decision can be
//! faster than.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Time,
    gate::{Backend, Reach, RowWrite, SessionRow},
    store::{Durability, Options, Sqlite},
};

/// The parts of a turn, in the order of [`turn`].
pub const PARTS: [&str; 4] = ["open", "take", "put", "close"];

/// How long each part of a turn takes; `is_synced` waits for the disk, as hooks do.
pub fn turn(file: &Path, is_synced: bool) -> Result<[Duration; 4], String> {
    let durability = if is_synced { Durability::Full } else { Durability::Normal };
    let mut last = Instant::now();
    let mut lap = || std::mem::replace(&mut last, Instant::now()).elapsed();
    let options = Options { durability, ..Options::default() };
    let store = Sqlite::open(file, options).map_err(|error| error.to_string())?;
    let open = lap();
    let row = store.lock("s", Reach::Session).map_err(|error| error.to_string())?;
    let take = lap();
    let session = Some(SessionRow { bytes: &[b'x'; 2_000], clock: Time(1), questions: 0 });
    let entry = r#"{"at":1,"session":"s","what":"operator","act":"bench"}"#.to_owned();
    row.write(&RowWrite { session, shared_state: None, entries: &[entry] })
        .map_err(|error| error.to_string())?;
    let write = lap();
    drop(store);
    Ok([open, take, write, lap()])
}

/// How long a page takes to be on the disk.
pub fn sync(file: &mut File) -> io::Result<Duration> {
    let started = Instant::now();
    file.write_all(&[0; 4096])?;
    file.sync_all()?;
    Ok(started.elapsed())
}
