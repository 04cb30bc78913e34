//! State spaces of small nets, as tables of behaviour.

use super::nets::{APPROVAL, BLOCK, SEQUENCE, limit, limit_per, net};
use lockgate_petri::{Firing::Called, Limits, Marking, Net, Reach, StateSpace, explore};

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
