//! How long does one decision take, and how does that grow with the rules?
//!
//! Each work is decided by us and by every peer whose language can say it. A peer is held against us doing the same: its
//! own language where we read it too, and remembering against remembering.

use lockgate_bench::{
    job::{Job, Task},
    work::{Language, Work},
};

use super::{
    desk::{self, Cell, Desk},
    runners::Runner,
};

const SIZES: [u64; 5] = [4, 10, 100, 1_000, 10_000];

/// What a decision can be, from the least to the most.
const WAYS: [Task; 3] = [Task::Judge, Task::Commit, Task::Store];

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    who: String,
    /// Its place among the peers; none for us.
    peer: Option<usize>,
    language: Language,
    task: Task,
    against: Option<String>,
}

/// Asks everybody.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    let sizes = desk.sizes(&SIZES);
    for work in desk.wanted(&Work::ALL, Work::name) {
        let (rows, silent) = rows(work, &desk.peers, &desk.wanted_peers());
        for who in silent {
            desk.remark(Some(work.name()), None, &who, "its language cannot say this");
        }
        for size in &sizes {
            for row in &rows {
                ask(desk, work, *size, row)?;
            }
        }
    }
    Ok(())
}

fn ask(desk: &mut Desk<'_>, work: Work, size: u64, row: &Row) -> Result<(), String> {
    let n_rules = usize::try_from(size).unwrap_or(usize::MAX);
    let Some((_folder, files)) = desk::policy_of(work, row.language, n_rules)? else { return Ok(()) };
    let job = Job {
        files,
        earlier: work.earlier(n_rules),
        call: Some(work.call(n_rules)),
        expect: Some(work.expect()),
        ..Job::of(row.task, desk.effort.budget_ms)
    };
    let cell = Cell { work: work.name(), size: Some(size), who: &row.who, against: row.against.as_deref() };
    match row.peer {
        None => desk.ask_ours(&cell, &job),
        Some(peer) => desk.ask_peer(peer, &cell, &job),
    }
    Ok(())
}

/// Who is asked for a work, and whose language cannot say it.
fn rows(work: Work, peers: &[Runner<'_>], wanted: &[usize]) -> (Vec<Row>, Vec<String>) {
    let first = ours_first(work);
    let mut ours: Vec<Row> = WAYS.map(|task| our_row(first, first, task)).to_vec();
    if work.policy(Language::WhenThen, 1).is_some() {
        ours.push(our_row(first, Language::WhenThen, Task::Judge));
    }
    let (mut theirs, mut silent) = (Vec::new(), Vec::new());
    for (at, peer) in wanted.iter().filter_map(|at| Some((*at, peers.get(*at)?))) {
        let Some(task) = WAYS.into_iter().find(|task| peer.tasks.contains(task)) else { continue };
        if work.policy(peer.language, 1).is_none() {
            silent.push(peer.name.clone());
            continue;
        }
        let same = our_row(first, if is_ours(peer.language) { peer.language } else { first }, task);
        let who = match task {
            Task::Commit => format!("{}, in memory", peer.name),
            Task::Store => format!("{}, on disk", peer.name),
            _ => peer.name.clone(),
        };
        theirs.push(Row {
            who,
            peer: Some(at),
            language: peer.language,
            task,
            against: Some(same.who.clone()),
        });
        if !ours.contains(&same) {
            ours.push(same);
        }
    }
    ours.extend(theirs);
    (ours, silent)
}

/// The language in which we are measured first.
fn ours_first(work: Work) -> Language {
    if work == Work::Sequence { Language::Rules } else { Language::Ruleset }
}

/// Whether we read this language too.
pub(crate) fn is_ours(language: Language) -> bool {
    matches!(language, Language::Rules | Language::WhenThen | Language::Ruleset)
}

fn our_row(first: Language, language: Language, task: Task) -> Row {
    let way = match task {
        Task::Commit => "in memory",
        Task::Store => "SQLite",
        _ => "judge",
    };
    let who = match language {
        _ if language == first => format!("Lockgate, {way}"),
        Language::WhenThen if task == Task::Judge => "Lockgate, when/then".to_owned(),
        Language::WhenThen => format!("Lockgate, when/then, {way}"),
        _ => format!("Lockgate, {language:?}, {way}").to_lowercase().replacen('l', "L", 1),
    };
    Row { who, peer: None, language, task, against: None }
}

#[cfg(test)]
mod tests {
    use lockgate_bench::job::{Answer, Done, Pace, Told};

    use super::{super::Question, super::desk::Effort, super::line::Line, *};

    const PACE: Pace = Pace { min: 90.0, median: 100.0, p99: 200.0, samples: 7 };

    fn peer<'a>(
        name: &str,
        language: Language,
        tasks: &[Task],
        ask: impl FnMut(&Job) -> Result<Answer, String> + 'a,
    ) -> Runner<'a> {
        Runner {
            name: name.to_owned(),
            language,
            tasks: tasks.to_vec(),
            ask: Box::new(ask),
            hook: Box::new(|_, _| None),
        }
    }

    fn done(verdict: Option<Told>) -> Result<Answer, String> {
        Ok(Answer::Done(Done { version: "1.0".to_owned(), verdict, ..Done::of(PACE) }))
    }

    fn desk<'a>(only: &str, peers: Vec<Runner<'a>>) -> Desk<'a> {
        let only = (!only.is_empty()).then(|| only.to_owned());
        let ours = Box::new(|_: &Job| done(Some(Told::Allow)));
        Desk::new(Question::Decide, Effort::QUICK, only, ours, peers.into_iter().map(Ok).collect())
    }

    #[test]
    fn a_peer_is_held_against_us_doing_the_same() {
        let peers = [
            peer("judges rulesets", Language::Ruleset, &[Task::Load, Task::Judge, Task::Commit], |_| {
                done(None)
            }),
            peer("remembers", Language::Ruleset, &[Task::Commit], |_| done(None)),
            peer("judges files", Language::WhenThen, &[Task::Judge], |_| done(None)),
            peer("remembers files", Language::WhenThen, &[Task::Commit], |_| done(None)),
            peer("only loads", Language::Ruleset, &[Task::Load], |_| done(None)),
        ];
        let (rows, silent) = rows(Work::One, &peers, &[0, 1, 2, 3, 4]);
        assert!(silent.is_empty());
        let rows: Vec<_> = rows.iter().map(|row| (row.who.as_str(), row.against.as_deref())).collect();
        assert_eq!(
            rows,
            [
                ("Lockgate, judge", None),
                ("Lockgate, in memory", None),
                ("Lockgate, SQLite", None),
                ("Lockgate, when/then", None),
                ("Lockgate, when/then, in memory", None),
                ("judges rulesets", Some("Lockgate, judge")),
                ("remembers, in memory", Some("Lockgate, in memory")),
                ("judges files", Some("Lockgate, when/then")),
                ("remembers files, in memory", Some("Lockgate, when/then, in memory")),
            ]
        );
    }

    #[test]
    fn a_work_that_a_language_cannot_say_is_told_and_not_asked() {
        let mut desk = desk(
            "came before",
            vec![peer("stateless", Language::Ruleset, &[Task::Judge], |_| panic!("asked"))],
        );
        measure(&mut desk).unwrap();
        let (lines, is_right) = desk.done();
        assert!(is_right);
        let remarks = lines.iter().filter(|line| matches!(line, Line::Remark(_))).count();
        let figures = lines.iter().filter(|line| matches!(line, Line::Figure(_))).count();
        assert_eq!((remarks, figures), (1, 4 * 3), "three ways of ours at four sizes of a quick run");
    }

    #[test]
    fn a_wrong_decision_is_no_figure_and_is_told() {
        for verdict in [Some(Told::Block), None] {
            let hasty = peer("hasty", Language::Ruleset, &[Task::Judge], move |_| done(verdict));
            let mut desk = desk("regex", vec![hasty]);
            measure(&mut desk).unwrap();
            let (lines, is_right) = desk.done();
            assert!(!is_right);
            let of_hasty = |line: &&Line| match line {
                Line::Figure(figure) => figure.who == "hasty",
                Line::Remark(remark) => remark.who == "hasty" && remark.remark != "decided wrongly",
                Line::Head(_) => false,
            };
            assert_eq!(lines.iter().find(of_hasty), None);
        }
    }

    #[test]
    fn whoever_fails_or_cannot_is_told_and_whoever_fails_is_not_asked_again() {
        let (mut n_failing, mut n_unable) = (0, 0);
        let failing = |_: &Job| {
            n_failing += 1;
            Err("\n  killed: no memory \nlong trace".to_owned())
        };
        let unable = |_: &Job| {
            n_unable += 1;
            Ok(Answer::Cannot { cannot: "no such thing".to_owned() })
        };
        let mut desk = desk(
            "a word",
            vec![
                peer("failing", Language::Ruleset, &[Task::Judge], failing),
                peer("unable", Language::Ruleset, &[Task::Judge], unable),
            ],
        );
        measure(&mut desk).unwrap();
        let (lines, is_right) = desk.done();
        assert!(is_right, "a peer's failure is a footnote");
        let remarks: Vec<_> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Remark(it) if it.who == "failing" => Some((it.size.unwrap(), it.remark.as_str())),
                _ => None,
            })
            .collect();
        let skipped = "not asked: a smaller size took too long or failed";
        assert_eq!(remarks, [(4, "killed: no memory"), (10, skipped), (100, skipped), (1_000, skipped)]);
        assert_eq!((n_failing, n_unable), (1, 4));
    }

    #[test]
    fn a_failure_of_our_own_is_an_error() {
        let ours = Box::new(|_: &Job| Err("no runner".to_owned()));
        let mut desk = Desk::new(Question::Decide, Effort::QUICK, None, ours, Vec::new());
        measure(&mut desk).unwrap();
        assert!(!desk.done().1);
    }

    #[test]
    fn a_word_chooses_works_or_else_peers() {
        let two = || {
            vec![
                peer("Regex (Python)", Language::Ruleset, &[Task::Judge], |_| done(Some(Told::Allow))),
                peer("Cedar", Language::Ruleset, &[Task::Judge], |_| done(Some(Told::Allow))),
            ]
        };
        for (word, works, peers) in [
            ("", 5, vec![0, 1]),
            ("REGEX", 1, vec![0]),
            ("cedar", 5, vec![1]),
            ("word", 1, vec![0, 1]),
            ("unheard of", 5, vec![0, 1]),
        ] {
            let desk = desk(word, two());
            assert_eq!(desk.wanted(&Work::ALL, Work::name).len(), works, "{word}");
            assert_eq!(desk.wanted_peers(), peers, "{word}");
        }
    }
}
