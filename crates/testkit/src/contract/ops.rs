//! Histories nobody thought of: what can be done to a shelf, at random.

use lockgate::{
    Time,
    gate::{KeptAnswer, Put, Reach, Resting, Shelf},
};
use proptest::prelude::*;

use super::{Rest, entry};

/// One thing that is done to a shelf.
#[derive(Clone, Debug)]
pub enum Op {
    /// A session is taken down and something is put back.
    Put {
        /// Which.
        session: u8,
        /// How far it reaches.
        reach: u8,
        /// Its bytes, moment and open questions, if it changes.
        rests: Option<(Vec<u8>, u64, u64)>,
        /// What all share, if it changes.
        commons: Option<Vec<u8>>,
        /// The entries; one may be none.
        entries: Vec<Option<u8>>,
    },
    /// A session is taken down and let go.
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
            |(session, reach, rests, commons, entries)| Op::Put { session, reach, rests, commons, entries }
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
        let (shelf, other) = if *handle == 0 { (first, second) } else { (second, first) };
        let done = act(rest, &**shelf, op);
        seen.push(format!("{op:?}: {done}\n{}", state(rest, &**other)));
    }
    seen
}

fn act(rest: &dyn Rest, shelf: &dyn Shelf, op: &Op) -> String {
    match op {
        Op::Put { session, reach, rests, commons, entries } => {
            let reach = match reach {
                0 => Reach::Look,
                1 => Reach::Session,
                _ => Reach::Commons,
            };
            let entries: Vec<_> =
                entries.iter().map(|it| it.map_or_else(|| "none".to_owned(), entry)).collect();
            let session = session.to_string();
            let Ok(taken) = shelf.take(&session, reach) else { return "not taken".to_owned() };
            let rests = rests.as_ref().map(|(bytes, clock, questions)| Resting {
                bytes,
                clock: Time(*clock),
                questions: *questions,
            });
            let put = Put { session: rests, commons: commons.as_deref(), entries: &entries };
            taken.put(&put).is_ok().to_string()
        }
        Op::LetGo { session } => shelf.take(&session.to_string(), Reach::Commons).is_ok().to_string(),
        Op::Answer { session, number, granted, at } => {
            let answer = KeptAnswer { granted: *granted, by: at.to_string(), at: Time(*at) };
            format!("{:?}", shelf.keep_answer(&session.to_string(), *number, &answer, &entry(at)).ok())
        }
        Op::Forget { before } => rest.forget(Time(*before), &entry("forget")).to_string(),
        Op::Reopen => String::new(),
    }
}

/// All that anybody can see.
fn state(rest: &dyn Rest, shelf: &dyn Shelf) -> String {
    let mut state = format!("{:?}\n{:?}\n", shelf.sessions().ok(), rest.trail());
    for session in ["0", "1", "2", "3"] {
        let taken = shelf.take(session, Reach::Look).ok();
        let taken = taken.as_ref().map(|taken| (taken.session(), taken.commons()));
        let answers = [0, 1, 2].map(|number| shelf.answer(session, number).ok());
        state += &format!("{taken:?} {answers:?}\n");
    }
    state
}
