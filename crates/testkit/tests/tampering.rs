//! Whatever somebody does to the rows of a database between two calls, no session has more left than the naive model says.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "this is a test")]

use std::{path::Path, sync::Arc};

use fastrand::Rng;
use lockgate::engine::{Call, Decision, Gate, Source, Time, gate::Backend, languages::one_line};
use lockgate_store::{Durability, Options, Sqlite};
use lockgate_testkit::{Model, Verdict};
use rusqlite::Connection;
use serde_json::Map;

const POLICY: &str =
    "limit a to 3 per session\nlimit b to 1 per session\nrequire human-approval before c\nlimit d to 2 per a";
const TOOLS: [&str; 4] = ["a", "b", "c", "d"];
const SESSIONS: [&str; 3] = ["s0", "s1", "s2"];
const SEEDS: u64 = 60;
const CALLS: u64 = 25;

/// What is done to the rows; `past` is a copy of the database from earlier.
const DEEDS: [&str; 14] = [
    "DELETE FROM session WHERE name = 's0'",
    "DELETE FROM session",
    "DELETE FROM session; DELETE FROM trail; DELETE FROM roster",
    "UPDATE session SET bytes = (SELECT bytes FROM session WHERE name = 's1') WHERE name = 's0'",
    "UPDATE session SET (version, clock, questions, bytes, seal) = \
     (SELECT version, clock, questions, bytes, seal FROM session WHERE name = 's2') WHERE name = 's0'",
    "INSERT OR REPLACE INTO session SELECT * FROM past.session",
    "INSERT OR REPLACE INTO session SELECT * FROM past.session WHERE name = 's1'",
    "INSERT OR REPLACE INTO session SELECT * FROM past.session; INSERT OR REPLACE INTO roster SELECT * FROM past.roster",
    "DELETE FROM trail WHERE n > (SELECT n FROM past.head); INSERT OR REPLACE INTO session SELECT * FROM past.session",
    "DELETE FROM trail WHERE n > (SELECT n FROM past.head); UPDATE head SET (n, hash) = (SELECT n, hash FROM past.head)",
    "UPDATE head SET roster = (SELECT roster FROM past.head), state = (SELECT state FROM past.head)",
    "INSERT OR REPLACE INTO answer(session, number, granted, by, at) VALUES ('s0', 1, 1, 'ann', 1), ('s1', 1, 1, 'ann', 1)",
    "UPDATE answer SET granted = 1",
    "UPDATE session SET name = name || 'x'",
];

fn gate(file: &Path) -> Result<(Gate, Arc<Sqlite>), String> {
    let (draft, _) = one_line::parse(&Source::new("story.rules", POLICY));
    let (policy, _) = lockgate::engine::languages::compile(vec![draft]);
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Arc::new(Sqlite::open(file, options).map_err(|error| error.to_string())?);
    let gate =
        Gate::builder(policy).backend(Arc::clone(&store)).build().map_err(|error| error.to_string())?;
    Ok((gate, store))
}

fn play(seed: u64) -> Result<bool, String> {
    let mut rng = Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let (file, past) = (folder.path().join("gate.db"), folder.path().join("past.db"));
    let mut models = SESSIONS.map(|_| Model::new(POLICY));
    let (honest, _store) = gate(&file)?;
    let mut is_tampered = false;
    let (past_at, tampered_at) = (rng.u64(1..8), rng.u64(9..18));
    let mut story = format!("seed {seed}\n");
    for n in 0..CALLS {
        if n == past_at {
            Connection::open(&file).unwrap().execute("VACUUM INTO ?1", [past.to_str().unwrap()]).unwrap();
        }
        if n == tampered_at || (is_tampered && rng.u8(0..4) == 0) {
            let deed = DEEDS[rng.usize(0..DEEDS.len())];
            let sql = format!("ATTACH '{}' AS past; {deed}", past.display());
            Connection::open(&file).unwrap().execute_batch(&sql).ok();
            story += &format!("{deed}\n");
            is_tampered = true;
        }
        let (session, tool) = (rng.usize(0..SESSIONS.len()), TOOLS[rng.usize(0..TOOLS.len())]);
        let id = format!("c{n}");
        let call = Call::new(id.as_str(), tool).in_session(SESSIONS[session]).at(Time(1_000 + n));
        // Whoever was there before, or a process that has just come.
        let decision = match rng.bool().then(|| gate(&file)) {
            None => honest.call(&call).decision,
            Some(Ok((new, _))) => new.call(&call).decision,
            Some(Err(_)) => Decision::Block,
        };
        story += &format!("{} {tool}: {decision:?}\n", SESSIONS[session]);
        let mut after = models[session].clone();
        let expected = after.call(&id, tool, &Map::new(), true).verdict;
        match (decision, expected) {
            (Decision::Allow, Verdict::Allow) | (Decision::Ask, Verdict::Ask) => models[session] = after,
            (Decision::Block, Verdict::Block) => {}
            (Decision::Block, _) if is_tampered => {}
            _ => return Err(format!("{story}=> the model says {expected:?}")),
        }
        if let Ok((_, store)) = gate(&file) {
            for session in SESSIONS {
                for number in 0..4 {
                    if store.answer(session, number).is_ok_and(|answer| answer.is_some()) {
                        return Err(format!("{story}=> an answer that no human gave"));
                    }
                }
            }
        }
    }
    let is_whole = honest_end(&file);
    Ok(is_tampered && !is_whole)
}

fn honest_end(file: &Path) -> bool {
    gate(file).is_ok_and(|(_, store)| store.verify_trail(None, &mut |_| {}).is_ok_and(|it| it.is_whole()))
}

#[test]
fn no_session_has_more_left_than_the_model_says() {
    let mut noticed = 0;
    for seed in 0..SEEDS {
        match play(seed) {
            Ok(is_noticed) => noticed += u64::from(is_noticed),
            Err(story) => panic!("{story}"),
        }
    }
    // Some deeds change nothing: an answer that is not there cannot be changed.
    assert!(noticed * 2 > SEEDS, "{noticed}");
}
