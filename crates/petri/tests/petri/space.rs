//! State spaces and invariants of small nets, as tables of behaviour.

use crate::nets::{APPROVAL, BLOCK, SEQUENCE, limit, limit_per, net};
use lockgate_petri::{
    Firing::Called, INVARIANT_ROWS_MAX, Limits, Marking, Net, Reach, StateSpace, explore, invariants,
};

const ALL: Limits = Limits { states_max: 100_000, depth_max: usize::MAX };

fn names(net: &Net, reach: Reach) -> String {
    match reach {
        Reach::By(trace) => trace.iter().map(|t| net.transition_name(*t)).collect::<Vec<_>>().join(" "),
        Reach::Never => "never".into(),
        Reach::Unknown => "unknown".into(),
    }
}

#[test]
fn the_nets_of_the_one_line_rules_have_their_documented_state_counts() {
    for (text, states, edges, terminal) in [
        (SEQUENCE.to_owned(), 3, 4, 0),
        (APPROVAL.to_owned(), 2, 2, 0),
        (BLOCK.to_owned(), 2, 1, 1),
        (limit(1), 3, 2, 1),
        (limit(3), 5, 4, 1),
        (limit(9_999), 10_001, 10_000, 1),
        (limit_per(1), 3, 5, 0),
        (limit_per(3), 5, 11, 0),
    ] {
        let net = net(&text);
        let space = explore(&net, ALL);
        assert!(space.is_complete(), "{text}");
        let found = (space.states(), space.edges(), space.terminal().count());
        assert_eq!(found, (states, edges, terminal), "{text}");
    }
}

#[test]
fn a_state_space_knows_bounds_dead_transitions_and_shortest_traces() {
    let text = limit_per(2);
    let limit = net(&text);
    let space = explore(&limit, ALL);
    let bounds: Vec<_> = limit.places().map(|place| space.bound(place)).collect();
    assert_eq!(bounds, [Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(space.dead_transitions(), Some(vec![]));
    let to = |tokens: [u64; 4]| names(&limit, space.shortest_trace_to_marking(&Marking::from_tokens(tokens)));
    assert_eq!(to([1, 0, 2, 0]), "");
    assert_eq!(to([0, 1, 0, 2]), "start do-A do-A");
    assert_eq!(to([0, 1, 1, 2]), "never");
    assert_eq!(
        names(&limit, space.shortest_trace_to_enabled(limit.transition("refill").unwrap())),
        "start do-A"
    );

    let block = net(BLOCK);
    let space = explore(&block, ALL);
    let dead = block.transition("do-A").unwrap();
    assert_eq!(space.dead_transitions(), Some(vec![dead]));
    assert_eq!(space.shortest_trace_to_enabled(dead), Reach::Never);
    assert_eq!(space.terminal().collect::<Vec<_>>(), [Marking::from_tokens([0, 1, 0])]);
}

#[test]
fn an_exploration_that_was_cut_claims_nothing() {
    let growing = net("a:0 b:1 | grow!: -> a | dead!: b b ->");
    let limits = |states_max, depth_max| Limits { states_max, depth_max };
    let facts = |space: &StateSpace<'_>| {
        let a = growing.place("a").unwrap();
        let trace = |tokens| names(&growing, space.shortest_trace_to(|marking| marking.tokens(a) == tokens));
        (space.states(), space.is_complete(), space.bound(a), space.dead_transitions(), trace(2), trace(9))
    };
    let cut = (4, false, None, None, "grow grow".to_owned(), "unknown".to_owned());
    assert_eq!(facts(&explore(&growing, limits(4, usize::MAX))), cut);
    assert_eq!(facts(&explore(&growing, limits(100, 3))), cut);

    // Exactly enough room is enough, one less is not.
    let text = limit(3);
    let five = net(&text);
    for (states_max, depth_max, states, complete) in
        [(5, 4, 5, true), (4, 4, 4, false), (5, 3, 4, false), (0, 0, 1, false)]
    {
        let space = explore(&five, limits(states_max, depth_max));
        assert_eq!((space.states(), space.is_complete()), (states, complete), "{states_max} {depth_max}");
    }
}

#[test]
fn what_would_overflow_never_fires() {
    let net = net(&format!("a:1 full:{} | t!: a -> full", u64::MAX));
    let space = explore(&net, ALL);
    assert_eq!((space.states(), space.dead_transitions().unwrap().len()), (1, 1));
}

fn sums(net: &Net) -> String {
    let found = invariants(net);
    let side = |invariant: &lockgate_petri::Invariant| {
        let term = |(place, weight): &(_, u64)| match (weight, net.place_name(*place)) {
            (1, name) => name.to_owned(),
            (weight, name) => format!("{weight}·{name}"),
        };
        let terms: Vec<_> = invariant.weights().iter().map(term).collect();
        format!("{} = {}", terms.join(" + "), invariant.sum())
    };
    let sums = found.iter().map(side).collect::<Vec<_>>().join(", ");
    if found.is_complete() { sums } else { format!("{sums} …") }
}

#[test]
fn invariants_are_the_sums_no_firing_changes() {
    let huge = 1 << 63;
    for (text, expected) in [
        (SEQUENCE.to_owned(), "idle + ready + gate = 1".to_owned()),
        (BLOCK.to_owned(), "idle + ready = 1, locked = 0".to_owned()),
        (limit(3), "idle + ready = 1".to_owned()),
        (limit_per(huge), format!("idle + ready = 1, budget + spent = {huge}")),
        ("a:6 b:1 | t!: a a a -> b b".to_owned(), "2·a + 3·b = 15".to_owned()),
        ("a:0 | t!: -> a".to_owned(), String::new()),
        // `a + b + c + d` is kept too, but says no more than these two.
        ("a:1 b:1 c:0 d:0 | t!: a b -> c d | u!: a c -> b d".to_owned(), "a + d = 1, b + c = 1".to_owned()),
        // Two ways through from `a` to `d`: one sum for each.
        (
            "a:1 b:0 c:0 d:0 | fork!: a -> b c | join!: b c -> d".to_owned(),
            "a + b + d = 1, a + c + d = 1".to_owned(),
        ),
    ] {
        assert_eq!(sums(&net(&text)), expected, "{text}");
    }
}

#[test]
fn invariants_bound_a_budget_of_any_size_without_walking_it() {
    let net = net(&limit_per(1 << 63));
    let found = invariants(&net);
    assert_eq!(found.bound(net.place("spent").unwrap()), Some(1 << 63));
    assert_eq!(found.bound(net.place("ready").unwrap()), Some(1));
}

#[test]
fn a_search_for_invariants_that_was_cut_says_so() {
    let lonely = |places: usize| {
        (0..places).fold(Net::builder(), |builder, i| builder.place(i.to_string(), 0)).build().unwrap()
    };
    assert!(invariants(&lonely(INVARIANT_ROWS_MAX)).is_complete());
    assert!(!invariants(&lonely(INVARIANT_ROWS_MAX + 1)).is_complete());

    // Each of these forks doubles the number of sums: 2¹⁴ in the end.
    let doubling = |stages: usize| {
        let start = Net::builder().place("0a", 1).place("0b", 1);
        let net = (1..=stages).fold(start, |builder, i| {
            let [from_a, from_b] = [format!("{}a", i - 1), format!("{}b", i - 1)];
            let [a, b] = [format!("{i}a"), format!("{i}b")];
            builder.place(&a, 0).place(&b, 0).transition(
                i.to_string(),
                Called,
                &[&from_a, &from_b],
                &[&a, &b],
            )
        });
        net.build().unwrap()
    };
    let small = invariants(&doubling(3));
    assert!(small.is_complete());
    let large = doubling(14);
    let cut = invariants(&large);
    assert!(!cut.is_complete());
    for invariant in cut.iter() {
        let mut weights = vec![0; large.places().len()];
        invariant.weights().iter().for_each(|(place, weight)| weights[place.index()] = *weight as i64);
        assert!(large.holds(&weights));
    }
}

#[test]
fn a_sum_holds_only_if_every_transition_keeps_it() {
    let net = net(SEQUENCE);
    assert!(net.holds(&[1, 1, 1]));
    assert!(net.holds(&[-2, -2, -2]));
    assert!(net.holds(&[]));
    assert!(!net.holds(&[1, 1]));
    let weights = &[("a", u64::MAX), ("b", u64::MAX)];
    let heavy =
        Net::builder().place("a", 0).place("b", 0).weighted("t", Called, weights, weights).build().unwrap();
    assert!(heavy.holds(&[1, 1]));
    assert!(!heavy.holds(&[i64::MAX, i64::MAX]), "too large to tell is no");
}
