//! Firing, reserving and advancing, as tables of behaviour.

use super::nets::{builder, net};
use lockgate_petri::{
    ADVANCE_FIRINGS_MAX, CannotFire, Firing::Called, Marking, Net, NetError, PLACES_MAX, TRANSITIONS_MAX,
};

fn fired(net: &Net, name: &str) -> Result<Vec<u64>, CannotFire> {
    let mut marking = net.initial().clone();
    let result = net.fire(&mut marking, net.transition(name).unwrap());
    if result.is_err() {
        assert_eq!(&marking, net.initial(), "a refused firing changed the marking");
    }
    result.map(|()| marking.as_slice().to_vec())
}

fn advanced(text: &str) -> Vec<u64> {
    let net = net(text);
    let mut marking = net.initial().clone();
    assert!(net.advance(&mut marking), "{text}");
    marking.as_slice().to_vec()
}

#[test]
fn firing_moves_all_tokens_of_a_transition_or_none() {
    let table: [(&str, Option<&[u64]>); 7] = [
        ("a:1 b:0 | t!: a -> b", Some(&[0, 1])),
        ("a:0 b:0 | t!: a -> b", None),
        ("a:1 b:0 | t!: a a -> b", None),
        ("a:2 b:0 | t!: a a -> b b b", Some(&[0, 3])),
        ("a:1 b:0 | t!: a b -> a", None),
        ("a:1 b:1 | t!: a b -> a", Some(&[1, 0])),
        ("a:0 | t!: -> a", Some(&[1])),
    ];
    for (text, expected) in table {
        assert_eq!(fired(&net(text), "t").ok().as_deref(), expected, "{text}");
    }
}

#[test]
fn a_place_holds_every_u64_and_not_one_more() {
    let full = |outputs| {
        Net::builder()
            .place("full", u64::MAX)
            .place("other", 5)
            .weighted("t", Called, &[("full", u64::MAX), ("other", 1)], outputs)
            .build()
            .unwrap()
    };
    assert_eq!(
        fired(&full(&[("full", u64::MAX)]), "t"),
        Ok(vec![u64::MAX, 4]),
        "what is only read never overflows"
    );

    let net = Net::builder().place("full", u64::MAX).place("other", 5).transition(
        "t",
        Called,
        &["other"],
        &["full"],
    );
    let net = net.build().unwrap();
    let (t, place) = (net.transition("t").unwrap(), net.place("full").unwrap());
    assert_eq!(fired(&net, "t"), Err(CannotFire::Overflow(t, place)));
}

#[test]
fn a_reservation_takes_what_would_be_used_up_and_leaves_what_is_only_read() {
    let net = net("ready:1 budget:2 spent:0 | send!: ready budget -> ready spent");
    let send = net.transition("send").unwrap();
    let mut marking = net.initial().clone();
    net.take(&mut marking, send).unwrap();
    assert_eq!(marking.as_slice(), [1, 1, 0]);
    net.take(&mut marking, send).unwrap();
    assert_eq!(net.take(&mut marking, send), Err(CannotFire::NotEnabled(send)));
    net.give_back(&mut marking, send);
    net.give_back(&mut marking, send);
    assert_eq!(&marking, net.initial());
}

#[test]
fn structural_transitions_fire_by_themselves_and_conflicting_ones_wait() {
    let table: [(&str, &[u64]); 11] = [
        ("idle:1 ready:0 | start: idle -> ready", &[0, 1]),
        ("a:1 b:0 c:0 | t: a -> b | u: b -> c", &[0, 0, 1]),
        ("a:1 b:0 | t!: a -> b", &[1, 0]),
        ("a:1 b:0 c:0 | t: a -> b | u: a -> c", &[1, 0, 0]),
        ("a:2 b:0 c:0 | t: a -> b | u: a -> c", &[0, 1, 1]),
        ("a:3 b:0 c:0 | t: a -> b | u: a -> c", &[1, 1, 1]),
        ("a:1 b:1 c:0 | join: a b -> c", &[0, 0, 1]),
        ("a:1 b:0 c:0 | join: a b -> c", &[1, 0, 0]),
        ("a:5 b:0 | t: a a -> b", &[1, 2]),
        // Each pair of three fits, so they take turns in the order they were declared.
        ("a:2 b:0 c:0 d:0 | t: a -> b | u: a -> c | v: a -> d", &[0, 1, 1, 0]),
        // Waiting in one place keeps a transition from the other.
        ("a:1 b:9 c:0 | t: a b -> c | u: a -> c", &[1, 9, 0]),
    ];
    for (text, expected) in table {
        assert_eq!(advanced(text), expected, "{text}");
    }
}

#[test]
fn advancing_a_flood_of_tokens_stops_at_the_bound_and_goes_on_when_asked_again() {
    let most = ADVANCE_FIRINGS_MAX as u64;
    for (tokens, at_rest) in [(most, true), (most + 1, false)] {
        let net = net(&format!("a:{tokens} b:0 | t: a -> b"));
        let mut marking = net.initial().clone();
        assert_eq!(net.advance(&mut marking), at_rest);
        assert_eq!(marking.as_slice(), [tokens - most, most]);
        assert!(net.advance(&mut marking));
        assert_eq!(marking.as_slice(), [0, tokens]);
    }
}

#[test]
fn a_structural_transition_that_would_overflow_waits() {
    let text = format!("a:1 b:{} | t: a -> b", u64::MAX);
    assert_eq!(advanced(&text), [1, u64::MAX]);
}

#[test]
fn ids_and_markings_of_another_net_open_nothing() {
    let (small, large) = (net("a:1 | t!: a -> a"), net("a:0 b:1 c:0 | s!: a -> a | t!: -> c"));
    let foreign = large.transition("t").unwrap();
    assert!(!small.is_enabled(small.initial(), foreign));
    assert!(large.fire(&mut small.initial().clone(), foreign).is_err());
    assert!(large.fire(&mut Marking::from_tokens([]), large.transition("s").unwrap()).is_err());
    assert_eq!((small.transition_name(foreign), small.place_name(large.place("c").unwrap())), ("", ""));
}

#[test]
fn a_net_that_never_rests_is_refused() {
    let table = [
        ("a:0 | source: -> a", "source"),
        ("a:0 | source: -> ", "source"),
        ("a:1 | loop: a -> a", "loop"),
        ("a:1 | grow: a -> a a", "grow"),
        ("a:1 b:0 | there: a -> b | back: b -> a", "there back"),
        ("a:1 b:0 c:0 | in: a -> b | x: b -> c | y: c -> b | out: b -> ", "x y out"),
        // Loses a token each time round, so it would stop; refused all the same.
        ("a:8 b:0 | halve: a a -> b | back: b -> a", "halve back"),
    ];
    for (text, expected) in table {
        let transitions = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(builder(text).build().unwrap_err(), [NetError::NeverRests { transitions }], "{text}");
    }
    for accepted in [
        "a:1 b:0 | there: a -> b | back!: b -> a",
        "a:9 lock:1 b:0 | t: a lock -> lock b",
        "a:9 b:0 | t: a a -> a b",
        "a:1 b:0 c:0 | t: a -> b | u: b -> c c c | v: c c ->",
    ] {
        assert!(builder(accepted).build().is_ok(), "{accepted}");
    }
}

#[test]
fn every_mistake_of_a_net_is_reported_at_once() {
    let errors = Net::builder()
        .place("ready", 1)
        .place("budget", 3)
        .place("ready", 0)
        .transition("send", Called, &["redy"], &["x"])
        .weighted("send", Called, &[("budget", 0)], &[("budget", u64::MAX), ("budget", 1)])
        .build()
        .unwrap_err();
    let errors = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(errors, @r"
    place `ready` is declared twice; rename one of them
    transition `send` is declared twice; rename one of them
    transition `send` names the place `redy`, which is not declared; did you mean `ready`?
    transition `send` names the place `x`, which is not declared; declare it
    transition `send` has an arc of weight 0 with `budget`; remove it or give it a weight
    the net has more than 18446744073709551615 tokens on one arc; split it into several nets
    ");
    let error = builder("a:1 b:0 | there: a -> b | back: b -> a").build().unwrap_err().remove(0);
    insta::assert_snapshot!(error, @"structural transitions may fire for ever: `there`, `back`; let each use up tokens that none of them puts back, or let one of them be called");
}

#[test]
fn a_net_holds_so_many_places_and_transitions_and_not_one_more() {
    let places = |count: usize| (0..count).fold(Net::builder(), |builder, i| builder.place(i.to_string(), 0));
    let transitions = |count: usize| {
        (0..count).fold(Net::builder(), |builder, i| builder.transition(i.to_string(), Called, &[], &[]))
    };
    assert!(places(PLACES_MAX).build().is_ok());
    assert!(transitions(TRANSITIONS_MAX).build().is_ok());
    let too_large = |what, most: usize| vec![NetError::TooLarge { what, most: most as u64 }];
    assert_eq!(places(PLACES_MAX + 1).build().unwrap_err(), too_large("places", PLACES_MAX));
    assert_eq!(
        transitions(TRANSITIONS_MAX + 1).build().unwrap_err(),
        too_large("transitions", TRANSITIONS_MAX)
    );
}

#[test]
fn guesses_at_misspelt_places_are_bounded_and_errors_are_not() {
    let closest = |error: &NetError| match error {
        NetError::UndeclaredPlace { closest, .. } => closest.is_some(),
        other => panic!("{other}"),
    };
    for (letters, guessed) in [(64, true), (65, false)] {
        let (declared, named) = ("x".repeat(letters), "x".repeat(letters - 1));
        let net = Net::builder().place(declared, 0).transition("t", Called, &[&named], &[]);
        assert_eq!(closest(&net.build().unwrap_err()[0]), guessed, "{letters}");
    }
    let misspelt = vec!["redy"; 100_001];
    let net = Net::builder().place("ready", 0).transition("t", Called, &misspelt, &[]);
    let errors = net.build().unwrap_err();
    assert_eq!(errors.len(), 100_001);
    assert_eq!(errors.iter().map(closest).filter(|guessed| *guessed).count(), 100_000);
}
