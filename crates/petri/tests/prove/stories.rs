//! What the prover says, told in small systems.

use lockgate_petri::prove::{
    Answer, BadTable, Bounds, LOSE_STATES_MAX, Label, LabelSet, Prover, RULES_MAX, Rule, RuleId, State,
    System, TABLE_CELLS_MAX, TABLE_STATES_MAX, Table,
};

const MILLION: u64 = 1_000_000;

/// Reads rules as one would say them. A label is a letter; a capital letter is its failure.
pub(crate) fn system(text: &str) -> System {
    System::new(text.split(';').map(rule).collect()).unwrap()
}

fn rule(text: &str) -> Rule {
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = |word: &str| word.parse().unwrap();
    match words[..] {
        ["require", before, "before", then] => {
            Rule::Require { before: set(before), then: set(then), latched: false }
        }
        ["require", before, "once", "before", then] => {
            Rule::Require { before: set(before), then: set(then), latched: true }
        }
        ["block", labels] => Rule::Block(set(labels)),
        ["limit", spend, "to", n] => Rule::Limit { spend: set(spend), count: count(n) },
        ["limit", spend, "to", n, "per", refill] => {
            Rule::LimitPer { spend: set(spend), count: count(n), refill: set(refill) }
        }
        ["after", after, "never", then] => Rule::Never { after: set(after), then: set(then) },
        [then, "needs", needs, "since", clears] => {
            Rule::Since { needs: set(needs), clears: set(clears), then: set(then) }
        }
        _ => panic!("no such rule: {text}"),
    }
}

fn set(text: &str) -> LabelSet {
    text.chars().map(|letter| Label(u32::from(letter))).collect()
}

/// Tells an answer in one line.
fn told(answer: &Answer) -> String {
    match answer {
        Answer::Yes(trace) => {
            let runs = trace.runs().iter().map(|run| {
                let labels: Vec<String> =
                    run.labels.iter().map(|label| char::from_u32(label.0).unwrap().to_string()).collect();
                match (labels.join(" "), run.times) {
                    (labels, 1) => labels,
                    (labels, times) => format!("({labels})^{times}"),
                }
            });
            let runs = runs.collect::<Vec<_>>().join(" ");
            if trace.is_shortest() { runs } else { format!("{runs}, perhaps not the shortest") }
        }
        Answer::No(reason) => {
            let rules: Vec<String> = reason.rules.iter().map(|rule| (rule.0 + 1).to_string()).collect();
            format!("no: {}", rules.join(" "))
        }
        Answer::Undecided(_) => "undecided".into(),
    }
}

#[test]
fn a_label_is_called_after_what_it_waits_for() {
    for (rules, label, answer) in [
        ("require t before d; require d before p", "p", "t d p"),
        ("require t before d; block t", "d", "no: 1 2"),
        ("require a before b; require b before a", "a", "no: 1 2"),
        ("require ab before c; block a", "c", "b c"),
        ("require a before c; require b before c; after a never b", "c", "b a c"),
        ("require a before c; require b before c; after a never b; after b never a", "c", "no: 1 2 3 4"),
        ("require b before a; require c before b; after c never a", "a", "no: 1 2 3"),
        ("d needs t since e; require e before d", "d", "e t d"),
        ("require a before bc; limit a to 1; require b before c", "c", "no: 1 2 3"),
        // The only earner that lasts must not be used up early just because it is needed anyway.
        (
            "require pq before y; require y before a; require a before b; b needs y since a; require b before g; \
             require p before g; limit p to 1; after y never q",
            "g",
            "q y p a y b g",
        ),
        // Nor must a budget be spent early on what is needed anyway, where the refill comes late.
        (
            "limit xy to 2 per q; require y before a; require a before b; b needs y since a; require b before q; \
             require x before g; require b before g",
            "g",
            "y a y b q x g",
        ),
        ("limit a to 0", "a", "no: 1"),
        ("limit a to 0 per b", "a", "no: 1"),
        ("block a", "z", "z"),
    ] {
        let system = system(rules);
        assert_eq!(told(&Prover::new(&system).can_call(&set(label))), answer, "{rules}: {label}");
    }
}

#[test]
fn a_rule_matters_where_it_alone_refuses() {
    for (rules, nth, answer) in [
        ("require a before c; require c before b; require a before b", 3, "a c a b c b"),
        ("require a once before c; require c once before b; require a once before b", 3, "no: 1 2"),
        ("limit b to 5; require b before a; limit a to 1000000", 3, "no: 1 2"),
        ("limit a to 1000000", 1, "(a)^1000001"),
        ("limit a to 1000000; limit a to 1000001", 2, "no: 1"),
        ("limit a to 1000000 per b; limit a to 2000000 per bc", 2, "no: 1"),
        ("require b before a; limit a to 1000000", 2, "(b a)^1000001"),
        ("require b once before a; limit a to 1000000", 2, "b (a)^1000001"),
        ("limit a to 10 per b; limit a to 1000000", 2, "(a)^10 (b a)^999991"),
        ("require r before a; limit a to 1000000 per r", 2, "no: 1"),
        // What refills the one refills the other: only one more is ever had in advance.
        ("require c before a; limit c to 500000 per r; limit a to 500001 per r", 3, "no: 1 2"),
        // A refill that comes too late is none.
        ("limit a to 300000; limit a to 100000 per r; require k before r; after k never a", 1, "no: 2 3 4"),
        ("block a; block a", 2, "no: 1"),
        ("block a; limit a to 3", 2, "no: 1"),
    ] {
        let system = system(rules);
        assert_eq!(told(&Prover::new(&system).can_matter(RuleId(nth - 1))), answer, "{rules}: {nth}");
    }
}

#[test]
fn a_further_rule_is_violated_or_holds() {
    for (rules, further, answer) in [
        ("require t before d", "require t before d", "no: 1"),
        ("require t before d", "require t once before d", "no: 1"),
        ("require t once before d", "require t before d", "t d d"),
        ("d needs t since e", "require t once before d", "no: 1"),
        ("require t before d", "d needs t since e", "t e d"),
        ("block x", "block y", "y"),
        ("block x", "limit y to 3", "(y)^4"),
        ("require t before d; block t", "block d", "no: 1 2"),
    ] {
        let system = system(rules);
        assert_eq!(told(&Prover::new(&system).can_violate(&rule(further))), answer, "{rules}: {further}");
    }
}

#[test]
fn something_is_lost_where_there_is_no_way_back() {
    for (rules, goal, answer) in [
        ("after r never s", "s", "r"),
        ("require t before s", "s", "no: 1"),
        ("require t before s; limit t to 2; after t never x", "s", "no: 1 2"),
        ("require r before s; after s never r", "s", "no: 1 2"),
        ("require t before s; limit t to 2; s needs t since e", "s", "t t e"),
        ("limit p to 2 per q; require p before q; require p before g", "g", "no: 1 2 3"),
        ("limit p to 2 per q; q needs p since e; g needs p since e", "g", "p p e"),
        ("limit pP to 1000000", "p", "(P)^1000000, perhaps not the shortest"),
        (
            "limit pP to 1000000 per q; limit qQ to 900000",
            "p",
            "(P)^1000000 (Q)^900000, perhaps not the shortest",
        ),
        ("limit pP to 1000000", "pP", "no: 1"),
        ("block s", "s", ""),
        ("block x", "s", "no: "),
    ] {
        let system = system(rules);
        assert_eq!(told(&Prover::new(&system).can_lose(&set(goal))), answer, "{rules}: {goal}");
    }
}

#[test]
fn a_system_gets_stuck_when_every_label_is_refused() {
    for (rules, answer) in [
        ("limit a to 2", "a a"),
        ("limit a to 2; block b; limit c to 1", "a a c"),
        ("limit a to 2 per b", "no: "),
        ("require a before b; block a", ""),
    ] {
        let system = system(rules);
        let all = system.labels().iter().copied().collect();
        assert_eq!(told(&Prover::new(&system).can_get_stuck(&all)), answer, "{rules}");
    }
}

#[test]
fn labels_are_all_refused_at_some_moment_or_never() {
    for (rules, labels, answer) in [
        ("require a before b", "b", ""),
        ("limit a to 2; after c never b; require c before d", "ab", "a a c"),
        ("limit a to 2 per b", "a", "a a"),
        ("limit a to 2 per b", "az", "no: "),
        ("limit a to 1; require b before c; after a never b; after d never c", "abc", "a"),
    ] {
        let system = system(rules);
        assert_eq!(told(&Prover::new(&system).can_get_stuck(&set(labels))), answer, "{rules}: {labels}");
    }
}

#[test]
fn what_can_be_lost_is_not_decided_without_room() {
    let system = system("require t before s; limit t to 2; s needs t since e");
    let told_within = |lose_states_max| {
        let prover = Prover::with_bounds(&system, Bounds { lose_states_max, ..Bounds::default() });
        (told(&prover.can_lose(&set("s"))), told(&prover.can_get_stuck(&set("s"))))
    };
    assert_eq!(told_within(0), ("undecided".into(), "undecided".into()));
    let enough = (0..LOSE_STATES_MAX).find(|states| told_within(*states).0 != "undecided").unwrap();
    assert_eq!(told_within(enough), ("t t e".into(), String::new()));
}

#[test]
fn a_table_says_what_a_label_waits_for() {
    // First a, then b, then a again.
    let [a, b] = [Label(u32::from('a')), Label(u32::from('b'))];
    let turns = Rule::Table(Table::new(2, 0, [a, b].into(), [(0, a, 1), (1, b, 0)]).unwrap());
    for (rules, label, answer) in [
        ("require b before c", "c", "a b c"),
        ("block a", "b", "no: 1 2"),
        ("require b before a", "b", "no: 1 2"),
    ] {
        let rules: Vec<Rule> = rules.split(';').map(rule).chain([turns.clone()]).collect();
        let system = System::new(rules.clone()).unwrap();
        assert_eq!(told(&Prover::new(&system).can_call(&set(label))), answer, "{rules:?}: {label}");
    }
    let circle = System::new(vec![rule("require b before a"), turns]).unwrap().cycles();
    assert_eq!(circle.iter().map(|cycle| cycle.labels.clone()).collect::<Vec<_>>(), [vec![a, b]]);
}

#[test]
fn a_difference_is_told_for_each_rule_that_only_one_has() {
    let old = system("require t before d; limit d to 3");
    let new = system("limit d to 3; require t before d; block x; limit d to 5");
    let told = |differences: Vec<lockgate_petri::prove::Difference>| -> Vec<String> {
        differences
            .iter()
            .map(|difference| format!("{} {}", difference.rule.0 + 1, told(&difference.answer)))
            .collect()
    };
    assert_eq!(told(Prover::new(&old).refused_by(&new)), ["3 x", "4 no: 2"]);
    assert_eq!(told(Prover::new(&new).refused_by(&old)), [""; 0]);
}

#[test]
fn a_circle_of_requirements_is_told_as_a_way_round() {
    let system = system("require c before a; require a before b; require b before c; require a before d");
    let cycles = system.cycles();
    let waits: Vec<String> = cycles
        .iter()
        .flat_map(|cycle| &cycle.waits)
        .map(|(label, rule)| format!("{} {}", char::from_u32(label.0).unwrap(), rule.0 + 1))
        .collect();
    assert_eq!(waits, ["a 1", "c 3", "b 2"]);
    assert_eq!(cycles[0].labels.len(), 3, "d waits for the circle and is not on it");
}

#[test]
fn rules_that_share_no_label_are_components_of_their_own() {
    let parts = system("require a before b; block x; limit b to 3; block y; limit xy to 4").components();
    let rules: Vec<Vec<usize>> =
        parts.iter().map(|part| part.rules.iter().map(|rule| rule.0).collect()).collect();
    assert_eq!(rules, [vec![0, 2], vec![1, 3, 4]]);
    assert_eq!(parts[0].labels, set("ab").iter().collect::<Vec<_>>());
}

#[test]
fn a_label_on_both_sides_of_a_rule_spends_and_does_not_earn() {
    for (rules, session, refused_at) in [
        ("require ab before a", "aba", 0),
        ("require ab before a", "baa", 2),
        ("limit a to 1 per ab", "aa", 1),
        ("d needs ab since a", "bad", 2),
        ("after a never a", "aa", 1),
    ] {
        let system = system(rules);
        let mut state = State::default();
        for (place, label) in session.chars().map(|letter| Label(u32::from(letter))).enumerate() {
            match system.step(&state, label) {
                Ok(next) => state = next,
                Err(refusing) => {
                    assert_eq!((place, refusing), (refused_at, vec![RuleId(0)]), "{rules}: {session}");
                    break;
                }
            }
            assert!(place < refused_at, "{rules}: {session}");
        }
    }
}

#[test]
fn a_search_without_room_says_that_nothing_is_decided() {
    let system = system("require a before b; require b before c");
    let prover = |states_max| Prover::with_bounds(&system, Bounds { states_max, ..Bounds::default() });
    assert_eq!(told(&prover(2).can_call(&set("c"))), "undecided");
    assert_eq!(told(&prover(3).can_call(&set("c"))), "a b c");
}

#[test]
fn what_is_too_much_to_tell_is_not_decided() {
    let system = system(&format!("limit a to {}", u64::MAX));
    assert_eq!(told(&Prover::new(&system).can_matter(RuleId(0))), "undecided");
    assert_eq!(told(&Prover::new(&system).can_call(&set("a"))), "a");
}

#[test]
fn limits_of_a_thousand_million_are_walked_in_rounds() {
    let system = system(&format!("limit a to {} per b; require b before c", 1000 * MILLION));
    let answer = Prover::new(&system).can_matter(RuleId(0));
    assert_eq!(told(&answer), "(a)^1000000001");
    assert_eq!(system.replay(answer.trace().unwrap()), Err(vec![RuleId(0)]));
}

#[test]
fn tables_and_systems_have_bounds() {
    let label = Label(1);
    let states = |n: usize| Table::new(u32::try_from(n).unwrap(), 0, label.into(), []);
    assert!(states(TABLE_STATES_MAX).is_ok());
    assert_eq!(states(TABLE_STATES_MAX + 1), Err(BadTable::TooLarge));

    let letters = |n: usize| Table::new(1_000, 0, (0..u32::try_from(n).unwrap()).map(Label).collect(), []);
    assert!(letters(TABLE_CELLS_MAX / 1_000).is_ok());
    assert_eq!(letters(TABLE_CELLS_MAX / 1_000 + 1), Err(BadTable::TooLarge));

    let rules = |n: usize| System::new(vec![Rule::Block(label.into()); n]);
    assert!(rules(RULES_MAX).is_ok());
    assert!(rules(RULES_MAX + 1).is_err());
}

#[test]
fn a_table_that_makes_no_sense_is_not_accepted() {
    let (a, b) = (Label(1), Label(2));
    for (start, moves, mistake) in [
        (2, vec![], BadTable::NoSuchState(2)),
        (0, vec![(0, a, 2)], BadTable::NoSuchState(2)),
        (0, vec![(2, a, 0)], BadTable::NoSuchState(2)),
        (0, vec![(0, b, 1)], BadTable::NotInAlphabet(b)),
        (0, vec![(0, a, 1), (0, a, 0)], BadTable::TwoMoves(0, a)),
    ] {
        assert_eq!(Table::new(2, start, a.into(), moves), Err(mistake));
    }
}
