//! What rules reach together, written out: in small systems, and against plain enumeration.

use std::collections::BTreeSet;

use lockgate_petri::prove::{
    Behaviour, Label, LabelSet, Rule, RuleId, Standing, System, Table, TooManyStates,
};
use proptest::prelude::*;

use super::{brute::Brute, stories::system, worlds::worlds};

fn all(system: &System) -> Vec<RuleId> {
    (0..system.rules().len()).map(RuleId).collect()
}

fn letters(labels: &LabelSet) -> String {
    labels.iter().map(|label| char::from_u32(label.0).unwrap()).collect()
}

/// Each state with what is said of it, and what leads on.
fn told(behaviour: &Behaviour) -> Vec<String> {
    let said = |(rule, standing): (RuleId, Standing)| {
        let said = match standing {
            Standing::Open => return None,
            Standing::Waits { closed, needs } => format!("{} needs {}", letters(&closed), letters(&needs)),
            Standing::Closed(labels) => format!("{} closed", letters(&labels)),
            Standing::Shut(labels) => format!("{} shut", letters(&labels)),
            Standing::Left { spend, left, count } => format!("{} {left}/{count}", letters(&spend)),
        };
        Some(format!("[{}: {said}]", rule.0))
    };
    let state = |state: usize| {
        let words: Vec<String> = behaviour.standing(state).filter_map(said).collect();
        let leaving = behaviour.moves().iter().filter(|it| it.from == state);
        let leaving: Vec<String> = leaving.map(|it| format!("{}>{}", letters(&it.labels), it.to)).collect();
        [vec![state.to_string()], words, leaving].concat().join(" ")
    };
    (0..behaviour.states()).map(state).collect()
}

#[test]
fn states_say_what_each_rule_is_about_and_moves_are_joined() {
    for (rules, states) in [
        ("require t before dD", &["0 [0: Dd needs t] t>1", "1 dD>0"][..]),
        ("require t once before d", &["0 [0: d needs t] t>1", "1"]),
        ("limit pP to 2", &["0 [0: Pp 2/2] Pp>1", "1 [0: Pp 1/2] Pp>2", "2 [0: Pp 0/2]"]),
        ("limit p to 1 per r", &["0 [0: p 1/1] p>1", "1 [0: p 0/1] r>0"]),
        ("block x", &["0 [0: x shut]"]),
        ("after a never t", &["0 a>1", "1 [0: t shut]"]),
        ("t needs n since c", &["0 [0: t needs n] n>1", "1 c>0"]),
        ("require a before b;require b before a", &["0 [0: b needs a] [1: a needs b]"]),
        // What earns and spends at once earns nothing.
        ("require a before a", &["0 [0: a shut]"]),
        (
            "require t before d;limit t to 1",
            &["0 [0: d needs t] [1: t 1/1] t>1", "1 [1: t 0/1] d>2", "2 [0: d needs t] [1: t 0/1]"],
        ),
    ] {
        let system = system(rules);
        let behaviour = system.behaviour(&all(&system), 10).unwrap();
        let states: Vec<String> = states.iter().map(|state| state.replace("dD>", "Dd>")).collect();
        assert_eq!(told(&behaviour), states, "{rules}");
    }
}

#[test]
fn a_table_says_what_it_refuses_now() {
    let [a, b] = [Label(u32::from('a')), Label(u32::from('b'))];
    let table = Table::new(2, 0, LabelSet::from([a, b]), [(0, a, 1), (1, a, 1), (1, b, 0)]).unwrap();
    let system = System::new(vec![Rule::Table(table)]).unwrap();
    let behaviour = system.behaviour(&all(&system), 10).unwrap();
    assert_eq!(told(&behaviour), ["0 [0: b closed] a>1", "1 b>0"]);
}

#[test]
fn one_state_too_many_is_too_many_and_large_counts_are_found_out_at_once() {
    for (rules, max, states) in [
        ("limit p to 59", 60, Ok(60)),
        ("limit p to 60", 60, Err(TooManyStates(60))),
        ("limit p to 18446744073709551615 per r", 60, Err(TooManyStates(60))),
        ("limit a to 1000000000;limit ab to 1000000000 per c", 60, Err(TooManyStates(60))),
        ("block x", 1, Ok(1)),
        ("block x", 0, Err(TooManyStates(0))),
    ] {
        let system = system(rules);
        assert_eq!(system.behaviour(&all(&system), max).map(|it| it.states()), states, "{rules}");
    }
}

#[test]
fn a_part_of_the_rules_is_walked_by_itself_and_keeps_its_numbers() {
    let system = system("limit a to 1000000000;require a before b;limit c to 1");
    let part = system.behaviour(&[RuleId(2), RuleId(1), RuleId(2), RuleId(9)], 4).unwrap();
    assert_eq!(part.rules(), [RuleId(1), RuleId(2)]);
    assert_eq!(letters(&part.labels().iter().copied().collect()), "abc");
    assert_eq!(
        told(&part),
        [
            "0 [1: b needs a] [2: c 1/1] a>1 c>2",
            "1 [2: c 1/1] b>0 c>3",
            "2 [1: b needs a] [2: c 0/1] a>3",
            "3 [2: c 0/1] b>2"
        ]
    );
    assert_eq!(part.standing(4).count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_state_and_move_is_there_and_no_other(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        let Some((states, moves)) = Brute::new(&world.rules, &world.labels).moves() else { return Ok(()) };
        let behaviour = system.behaviour(&all(&system), states).unwrap();
        let found: BTreeSet<(usize, usize, Label)> = behaviour
            .moves()
            .iter()
            .flat_map(|it| it.labels.iter().map(|label| (it.from, it.to, label)))
            .collect();
        prop_assert_eq!(behaviour.states(), states);
        prop_assert_eq!(found, moves);
        let pairs: BTreeSet<(usize, usize)> = behaviour.moves().iter().map(|it| (it.from, it.to)).collect();
        prop_assert_eq!(pairs.len(), behaviour.moves().len(), "two moves between the same states");
        if states > 1 {
            prop_assert_eq!(system.behaviour(&all(&system), states - 1).unwrap_err(), TooManyStates(states - 1));
        }
    }
}
