//! What does a long session cost: the next decision, and the memory?
//!
//! The rule looks back at a backup that was made before everything else, so that whoever walks over the session walks over
//! all of it.

use lockgate_bench::{
    job::{Earlier, Job, Pace, Task},
    work::{Language, Work, request},
};

use super::desk::{self, Cell, Desk};

/// The decision after all that happened earlier.
pub(crate) const LOOKING_BACK: &str = "looking back over a session";

/// What a session of so many calls takes.
pub(crate) const MEMORY: &str = "memory of one session";

/// What one of so many sessions takes.
pub(crate) const SESSIONS: &str = "memory of one of many sessions";

/// A decision in one of so many sessions.
pub(crate) const AMONG: &str = "one decision among many sessions";

const SIZES: [u64; 6] = [4, 10, 100, 1_000, 10_000, 100_000];

const RULES: usize = 10;

/// Asks everybody who looks back.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    for work in desk.wanted(&[LOOKING_BACK, MEMORY, SESSIONS], |work| work) {
        match work {
            LOOKING_BACK => look_back(desk)?,
            _ => memory(desk, work)?,
        }
    }
    Ok(())
}

fn look_back(desk: &mut Desk<'_>) -> Result<(), String> {
    let peers = desk.wanted_peers();
    let languages: Vec<_> = peers
        .into_iter()
        .filter_map(|at| Some((at, desk.peers.get(at)?)))
        .filter(|(_, peer)| peer.tasks.contains(&Task::Recall))
        .map(|(at, peer)| (Some(at), peer.name.clone(), peer.language))
        .collect();
    let us = (None, "Lockgate".to_owned(), Language::Rules);
    for size in desk.sizes(&SIZES) {
        for (peer, who, language) in std::iter::once(&us).chain(&languages) {
            let against = peer.map(|_| "Lockgate");
            let cell = Cell { work: LOOKING_BACK, size: Some(size), who, against };
            let Some((_folder, files)) = desk::policy_of(Work::Sequence, *language, RULES)? else {
                desk.remark(Some(LOOKING_BACK), Some(size), who, "its language cannot say this");
                continue;
            };
            let job = Job {
                files,
                earlier: earlier(size),
                call: Some(Work::Sequence.call(RULES)),
                expect: Some(Work::Sequence.expect()),
                ..Job::of(Task::Recall, desk.effort.budget_ms)
            };
            match peer {
                None => desk.ask_ours(&cell, &job),
                Some(peer) => desk.ask_peer(*peer, &cell, &job),
            }
        }
    }
    Ok(())
}

/// The backup first, then calls that no rule minds.
fn earlier(calls: u64) -> Vec<Earlier> {
    let mut earlier = Work::Sequence.earlier(RULES);
    let times = usize::try_from(calls).unwrap_or(usize::MAX).saturating_sub(1);
    earlier.push(Earlier { call: request("read_file", "path", "/srv/data/old.db"), times });
    earlier
}

/// The bytes that our sessions take, in a process that holds many of them; peers cannot be asked.
fn memory(desk: &mut Desk<'_>, work: &'static str) -> Result<(), String> {
    let policy = Work::Sequence.policy(Language::Rules, RULES).unwrap_or_default();
    let (_folder, file) = desk::policy(Language::Rules.file_name(), &policy)?;
    let many = if work == MEMORY { [1, 100, 10_000] } else { [1_000, 100_000, 1_000_000] };
    for size in desk.sizes(&many) {
        // As many calls in all whatever the size, so that small sessions are not lost in what the process takes anyway.
        let (sessions, calls) = if work == MEMORY { (1_000_000 / size.max(10), size) } else { (size, 1) };
        let job = Job {
            files: vec![file.clone()],
            earlier: earlier(calls),
            call: Some(Work::Sequence.call(RULES)),
            expect: Some(Work::Sequence.expect()),
            sessions: usize::try_from(sessions).unwrap_or(usize::MAX),
            ..Job::of(Task::Sessions, desk.effort.budget_ms)
        };
        let cell = Cell { work, size: Some(size), who: "Lockgate", against: None };
        let Some(done) = desk.ask_ours_alone(&cell, &job) else { continue };
        let bytes = done.bytes.unwrap_or_default() as f64;
        // Memory is counted once, and has no worst case in a hundred.
        desk.put(
            &cell,
            "bytes",
            Pace { min: bytes, median: bytes, p99: 0.0, samples: 1 },
            &done.version,
            None,
        );
        if work == SESSIONS {
            desk.put(&Cell { work: AMONG, ..cell }, "ns", done.pace, &done.version, None);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_calls_are_as_many_as_the_size_says_and_the_backup_is_the_first() {
        for size in [4, 100_000] {
            let earlier = earlier(size);
            assert_eq!(earlier.iter().map(|earlier| earlier.times as u64).sum::<u64>(), size);
            assert_eq!(
                earlier.first().map(|first| (first.call.tool.as_str(), first.times)),
                Some(("backup_9", 1))
            );
        }
    }
}
