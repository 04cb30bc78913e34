//! Short ids of questions: `3` instead of `a1@claude-code/3f2a…`.
//!
//! [`Sqlite::short_ids`] numbers questions in the order in which they are first listed, [`Sqlite::question_of`] finds
//! the question again. One database never gives an id twice, not even after the question and its session are
//! forgotten: someone who types an id from memory answers the question they saw, or none. There is no id before a
//! question is listed, because only people need one.

use lockgate_gate::StoreError;
use rusqlite::{OptionalExtension, params};

use super::{backend::Sqlite, columns::question, rows::Moment};
use crate::error::Fault;

impl Sqlite {
    /// The short ids of questions, each named by its session and its number there, in the same order. A question that
    /// has none yet gets the next one.
    ///
    /// # Errors
    /// When the database cannot be read, or new ids cannot be stored.
    pub fn short_ids(&self, questions: &[(&str, u64)]) -> Result<Vec<u64>, StoreError> {
        let known = self.read_state(|moment| {
            questions.iter().map(|(session, number)| id_of(&moment, session, *number)).collect()
        })?;
        let known: Option<Vec<u64>> = known;
        if let Some(known) = known {
            return Ok(known);
        }
        self.change(|change| {
            let give = |(session, number): &(&str, u64)| {
                // Someone else may have given it one since we looked.
                match id_of(&change.moment(), session, *number)? {
                    Some(id) => Ok(id),
                    None => change.write_short_id(session, *number),
                }
            };
            let ids: Vec<u64> = questions.iter().map(give).collect::<Result<_, Fault>>()?;
            Ok((ids, true))
        })
    }

    /// The question with a short id: its session, and its number there.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn question_of(&self, id: u64) -> Result<Option<(String, u64)>, StoreError> {
        // No id is that high.
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        self.read_state(|moment| moment.question_of(id))
    }
}

fn id_of(moment: &Moment<'_>, session: &str, number: u64) -> Result<Option<u64>, Fault> {
    let mut statement =
        moment.connection.prepare_cached("SELECT id FROM short WHERE session = ?1 AND number = ?2")?;
    let id: Option<i64> =
        statement.query_row(params![session, question(number)?], |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(None) };
    // Found by its question, so it has to name that one.
    let names = moment.question_of(id)?;
    Ok(names.filter(|names| names.0 == session && names.1 == number).and_then(|_| u64::try_from(id).ok()))
}

#[cfg(test)]
mod tests {
    use lockgate_gate::{Backend, Reach, RowWrite, SessionRow, Time};

    use super::*;
    use crate::Options;

    #[test]
    fn a_short_id_names_one_question_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.db");
        let store = Sqlite::open(&path, Options::default()).unwrap();
        let ids = |store: &Sqlite, questions: &[(&str, u64)]| store.short_ids(questions).unwrap();
        assert!(ids(&store, &[]).is_empty());
        assert_eq!(ids(&store, &[("a", 1), ("b", 1)]), [1, 2]);
        // Another process, another order, one more: each keeps its own.
        let other = Sqlite::open(&path, Options::default()).unwrap();
        assert_eq!(ids(&other, &[("b", 1), ("a", 2), ("a", 1)]), [2, 3, 1]);
        assert_eq!(store.question_of(3).unwrap(), Some(("a".to_owned(), 2)));
        for unknown in [0, 4, u64::MAX] {
            assert_eq!(store.question_of(unknown).unwrap(), None);
        }
    }

    #[test]
    fn what_is_forgotten_gives_no_id_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path().join("gate.db"), Options::default()).unwrap();
        let use_session = || {
            let session = Some(SessionRow { bytes: b"1", clock: Time(1), questions: 0 });
            store
                .lock("a", Reach::Session)
                .unwrap()
                .write(&RowWrite { session, ..RowWrite::default() })
                .unwrap();
        };
        use_session();
        assert_eq!(store.short_ids(&[("a", 1)]).unwrap(), [1]);
        let entry = |_: &[String]| r#"{"at":9,"what":"forget","sessions":1}"#.to_owned();
        assert_eq!(store.forget(Time(9), 10, &entry).unwrap(), 1);
        assert_eq!(store.question_of(1).unwrap(), None);
        // A session of the same name asks again: that is another question.
        use_session();
        assert_eq!(store.short_ids(&[("a", 1)]).unwrap(), [2]);
    }

    #[test]
    fn many_who_list_at_once_see_the_same_ids() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.db");
        let questions: Vec<(&str, u64)> = (1..=20).map(|number| ("a", number)).collect();
        let open = || Sqlite::open(&path, Options::default()).unwrap();
        open();
        let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| open().short_ids(&questions).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|ids| ids == &all[0]), "{all:?}");
        let mut ids = all[0].clone();
        ids.dedup();
        assert_eq!(ids.len(), 20);
    }
}
