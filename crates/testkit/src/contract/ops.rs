//! Histories nobody thought of: what can be done to a backend, at random.

use lockgate::engine::{
    Time,
    gate::{Backend, Reach, RowWrite, SessionRow, StoredAnswer},
};
use proptest::prelude::*;

use super::{Rest, entry};

/// One thing that is done to a backend.
#[derive(Clone, Debug)]
pub enum Op {
    /// The row of a session is opened and written.
    RowWrite {
        /// Which.
        session: u8,
        /// How far it reaches.
        reach: u8,
        /// Its bytes, moment and open questions, if it changes.
        rests: Option<(Vec<u8>, u64, u64)>,
        /// What all share, if it changes.
        shared_state: Option<Vec<u8>>,
        /// The entries; one may be none.
        entries: Vec<Option<u8>>,
    },
    /// The row of a session is opened and dropped.
    LetGo {
        /// Which.
        session: u8,
    },
    /// A human answers.
    Answer {
        /// Which session.
        session: u8,
        /// Which question.
        number: u64,
        /// What.
        granted: bool,
        /// When.
        at: u64,
    },
    /// Sessions are forgotten.
    Forget {
        /// Since when they were not used.
        before: u64,
    },
    /// Everybody leaves and comes back.
    Reopen,
}

/// Histories of a few handles on a few sessions.
pub fn histories() -> impl Strategy<Value = Vec<(usize, Op)>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let entries = prop::collection::vec(prop::option::weighted(0.95, any::<u8>()), 0..4);
    let rests = prop::option::of((bytes(), 0..20_u64, 0..3_u64));
    let op = prop_oneof![
        8 => (0..4_u8, 0..3_u8, rests, prop::option::of(bytes()), entries).prop_map(
            |(session, reach, rests, shared_state, entries)| Op::RowWrite { session, reach, rests, shared_state, entries }
        ),
        1 => (0..4_u8).prop_map(|session| Op::LetGo { session }),
        3 => (0..4_u8, 0..3_u64, any::<bool>(), 0..20_u64)
            .prop_map(|(session, number, granted, at)| Op::Answer { session, number, granted, at }),
        2 => (0..20_u64).prop_map(|before| Op::Forget { before }),
        1 => Just(Op::Reopen),
    ];
    prop::collection::vec((0..2_usize, op), 0..24)
}

/// Plays a history and tells what can be seen after each step.
pub fn play(rest: &dyn Rest, ops: &[(usize, Op)]) -> Vec<String> {
    let mut handles = [rest.open(), rest.open()];
    let mut seen = Vec::new();
    for (handle, op) in ops {
        if matches!(op, Op::Reopen) {
            handles = [rest.open(), rest.open()];
        }
        let [first, second] = &handles;
        let (backend, other) = if *handle == 0 { (first, second) } else { (second, first) };
        let done = act(rest, &**backend, op);
        seen.push(format!("{op:?}: {done}\n{}", state(rest, &**other)));
    }
    seen
}

fn act(rest: &dyn Rest, backend: &dyn Backend, op: &Op) -> String {
    match op {
        Op::RowWrite { session, reach, rests, shared_state, entries } => {
            let reach = match reach {
                0 => Reach::Look,
                1 => Reach::Session,
                _ => Reach::SharedState,
            };
            let entries: Vec<_> =
                entries.iter().map(|it| it.map_or_else(|| "none".to_owned(), entry)).collect();
            let session = session.to_string();
            let Ok(row) = backend.lock(&session, reach) else { return "not opened".to_owned() };
            let rests = rests.as_ref().map(|(bytes, clock, questions)| SessionRow {
                bytes,
                clock: Time(*clock),
                questions: *questions,
            });
            let write = RowWrite { session: rests, shared_state: shared_state.as_deref(), entries: &entries };
            row.write(&write).is_ok().to_string()
        }
        Op::LetGo { session } => backend.lock(&session.to_string(), Reach::SharedState).is_ok().to_string(),
        Op::Answer { session, number, granted, at } => {
            let answer = StoredAnswer::unsigned(*granted, at.to_string(), Time(*at));
            format!("{:?}", backend.keep_answer(&session.to_string(), *number, &answer, &entry(at)).ok())
        }
        Op::Forget { before } => rest.forget(Time(*before), &entry("forget")).to_string(),
        Op::Reopen => String::new(),
    }
}

/// All that anybody can see.
fn state(rest: &dyn Rest, backend: &dyn Backend) -> String {
    let mut state = format!("{:?}\n{:?}\n", backend.sessions().ok(), rest.audit_log());
    for session in ["0", "1", "2", "3"] {
        let row = backend.lock(session, Reach::Look).ok();
        let row = row.as_ref().map(|row| (row.session(), row.shared_state()));
        let answers = [0, 1, 2].map(|number| backend.answer(session, number).ok());
        state += &format!("{row:?} {answers:?}\n");
    }
    state
}
