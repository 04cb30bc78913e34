//! State spaces: against numbers known from elsewhere, and against a search that tries everything.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop and say so")]

use std::ops::ControlFlow;

use lockgate::engine::petri::{
    Exploration, Limits, Marking, Net, Progress, Reach, StateSpace, Stop, TransitionId, explore, from_pnml,
    to_pnml,
};
use lockgate_testkit::{
    survey::PlainNet,
    yardsticks::{YARDSTICKS, kanban, philosophers, swimming_pool},
};
use proptest::{collection::vec, prelude::*};

const ALL: Limits = Limits { states_max: usize::MAX, depth_max: usize::MAX };
/// Larger yardsticks are left to the benches.
const YARDSTICK_MARKINGS_MAX: usize = 600_000;
/// More than this takes the naive search too long.
const MARKINGS_MAX: usize = 120;

#[test]
fn every_yardstick_has_its_known_numbers() {
    for it in YARDSTICKS.iter().filter(|it| it.markings <= YARDSTICK_MARKINGS_MAX) {
        let net = (it.family)(it.size);
        let space = explore(&net, ALL);
        let name = format!("{}-{}", it.name, it.size);
        assert_eq!((space.states(), space.stop()), (it.markings, None), "{name}");
        assert!(it.firings.is_none_or(|firings| firings == space.edges()), "{name}: {}", space.edges());
        assert_eq!(space.dead_transitions().unwrap().len(), it.dead, "{name}");
        assert_eq!(space.terminal().len() > 0, it.can_end, "{name}");
    }
}

#[test]
fn philosophers_stop_in_two_ways_and_nothing_of_theirs_is_dead_before() {
    let net = philosophers(7);
    let space = Exploration::new(&net, ALL).keeping_firings().run();
    assert_eq!(space.terminal().len(), 2);
    let Reach::By(trace) = space.shortest_trace_to_terminal() else { panic!("they can stop") };
    assert_eq!(trace.len(), 7, "each takes one fork");
    assert!(net.enabled(&fired(&net, &trace)).next().is_none());
    assert_eq!(space.dead_transitions(), Some(vec![]));
    assert_eq!(space.lost_transitions().unwrap().len(), net.transitions().len());
    assert_eq!(space.is_one_safe(), Some(true));
}

#[test]
fn a_factory_never_loses_a_transition() {
    let net = kanban(3);
    let space = Exploration::new(&net, ALL).keeping_firings().run();
    assert_eq!(space.lost_transitions(), Some(vec![]));
    assert_eq!(space.is_one_safe(), Some(false));
    assert_eq!(net.places().map(|place| space.bound(place)).max(), Some(Some(3)));
    assert_eq!(explore(&net, ALL).lost_transitions(), None, "nobody asked for it beforehand");
}

#[test]
fn an_exploration_that_stops_says_why_and_keeps_to_its_limits() {
    let net = swimming_pool(1);
    let run = |exploration: Exploration<'_>| {
        let space = exploration.run();
        assert_eq!((space.bound(net.places().next().unwrap()), space.dead_transitions()), (None, None));
        (space.states(), space.stop(), space.bytes())
    };
    let (states, stop, _) = run(Exploration::new(&net, Limits { states_max: 1_000, depth_max: usize::MAX }));
    assert_eq!((states, stop), (1_000, Some(Stop::States)));
    let (_, stop, _) = run(Exploration::new(&net, Limits { states_max: usize::MAX, depth_max: 3 }));
    assert_eq!(stop, Some(Stop::Depth));
    for bytes_max in [1, 1_000, 100_000] {
        let (states, stop, bytes) = run(Exploration::new(&net, ALL).bytes_max(bytes_max));
        assert_eq!(stop, Some(Stop::Bytes));
        // What is there at the very start is taken in any case.
        assert!(states >= 1 && bytes <= bytes_max.max(1_000), "{bytes} of {bytes_max}");
    }

    // Without an end, and wider again and again.
    let growing = PlainNet { tokens: vec![0; 3], transitions: vec![(vec![0; 3], vec![1, 2, 3])] }.build();
    let space = Exploration::new(&growing, ALL).bytes_max(100_000).run();
    assert_eq!(space.stop(), Some(Stop::Bytes));
    assert!(space.bytes() <= 100_000 && space.states() > 1_000, "{} in {}", space.states(), space.bytes());

    let enough = explore(&net, ALL).bytes() * 2;
    let space = Exploration::new(&net, ALL).bytes_max(enough).keeping_firings().run();
    assert_eq!(
        (space.is_complete(), space.lost_transitions()),
        (true, None),
        "firings are dropped before markings"
    );
}

#[test]
fn whoever_waits_is_told_and_may_stop_it() {
    let net = swimming_pool(1);
    let mut told = Vec::new();
    let mut tell = |progress: Progress| {
        told.push(progress);
        ControlFlow::Break(())
    };
    let space = Exploration::new(&net, ALL).run_telling(&mut tell);
    assert_eq!(space.stop(), Some(Stop::Told));
    assert!(told.len() == 1 && told[0].looked_at < space.states() && told[0].bytes > 0);
    let mut count = 0;
    let mut tell = |_| {
        count += 1;
        ControlFlow::Continue(())
    };
    assert!(Exploration::new(&net, ALL).run_telling(&mut tell).is_complete());
    assert_eq!(count, 1);
}

#[test]
fn no_net_is_too_wide() {
    // A token that walks through many places: a word holds 64 of them, and a marking has over a thousand words.
    let places = 65_536;
    let names: Vec<String> = (0..places).map(|place| format!("p{place}")).collect();
    let builder = names.iter().fold(Net::builder(), |net, name| net.place(name, u64::from(name == "p0")));
    let net = names.windows(2).step_by(997).fold(builder, |net, pair| {
        let firing = lockgate::engine::petri::Firing::Called;
        net.transition(format!("from {}", pair[0]), firing, &[&pair[0]], &[&pair[1]])
    });
    let net = net.build().unwrap();
    let space = explore(&net, ALL);
    assert_eq!((space.states(), space.dead_transitions().unwrap().len()), (2, net.transitions().len() - 1));
}

fn fired(net: &Net, trace: &[TransitionId]) -> Marking {
    let mut marking = net.initial().clone();
    trace.iter().for_each(|transition| net.fire(&mut marking, *transition).unwrap());
    marking
}

/// Small nets with a bit of everything; scaled, so that counts need one bit, many, or whole words, and spread over
/// many idle places, so that markings need one word or several.
fn plain_nets() -> impl Strategy<Value = PlainNet> {
    let scales = prop_oneof![4 => Just(1_u64), 1 => Just(5), 1 => Just(1 << 20), 1 => Just(1 << 61), 1 => Just(1 << 62)];
    let spreads = prop_oneof![3 => Just(1_usize), 1 => Just(9), 1 => Just(70), 1 => Just(300)];
    (1..=5_usize, scales, spreads).prop_flat_map(|(places, scale, spread)| {
        let weights = || vec(prop_oneof![5 => Just(0_u64), 3 => Just(1), 1 => Just(2)], places);
        let transitions = vec((weights(), weights()), 0..=5);
        (vec(0_u64..=2, places), transitions).prop_map(move |(tokens, transitions)| {
            let wide = |few: Vec<u64>| -> Vec<u64> {
                let idle = std::iter::repeat_n(0, spread - 1);
                few.into_iter()
                    .flat_map(|number| std::iter::once(number * scale).chain(idle.clone()))
                    .collect()
            };
            let transitions =
                transitions.into_iter().map(|(takes, puts)| (wide(takes), wide(puts))).collect();
            PlainNet { tokens: wide(tokens), transitions }
        })
    })
}

fn numbers(transitions: Option<Vec<TransitionId>>) -> Vec<usize> {
    transitions.unwrap().into_iter().map(TransitionId::index).collect()
}

proptest! {
    #[test]
    fn an_exploration_finds_what_trying_everything_finds(plain in plain_nets()) {
        let net = plain.build();
        let limits = Limits { states_max: MARKINGS_MAX, depth_max: usize::MAX };
        let space = Exploration::new(&net, limits).keeping_firings().run();
        let survey = plain.survey(MARKINGS_MAX);
        prop_assert_eq!(space.is_complete(), survey.is_some());
        let Some(survey) = survey else { return Ok(()) };

        prop_assert_eq!(space.states(), survey.distances.len());
        prop_assert_eq!(space.edges(), survey.firings);
        prop_assert_eq!(numbers(space.dead_transitions()), survey.dead);
        prop_assert_eq!(numbers(space.lost_transitions()), survey.lost);
        prop_assert_eq!(space.is_one_safe(), Some(survey.most.iter().all(|most| *most <= 1)));
        let most: Option<Vec<u64>> = net.places().map(|place| space.bound(place)).collect();
        prop_assert_eq!(most, Some(survey.most));
        let length = |reach: Reach| if let Reach::By(trace) = reach { Some(trace.len()) } else { None };
        prop_assert_eq!(length(space.shortest_trace_to_terminal()), survey.ends.first().copied());
        prop_assert_eq!(space.terminal().len(), survey.ends.len());
        for (tokens, distance) in &survey.distances {
            let goal = Marking::from_tokens(tokens.iter().copied());
            let Reach::By(trace) = space.shortest_trace_to_marking(&goal) else {
                panic!("{tokens:?} was not reached");
            };
            prop_assert_eq!(trace.len(), *distance);
            prop_assert_eq!(fired(&net, &trace), goal);
        }
    }

    #[test]
    fn an_exploration_that_was_cut_knows_a_part_of_the_whole(plain in plain_nets(), states_max in 1_usize..40) {
        let net = plain.build();
        let Some(survey) = plain.survey(MARKINGS_MAX) else { return Ok(()) };
        let space: StateSpace<'_> = explore(&net, Limits { states_max, depth_max: usize::MAX });
        prop_assert_eq!(space.states(), states_max.min(survey.distances.len()));
        prop_assert_eq!(space.is_complete(), survey.distances.len() <= states_max);
        for marking in space.markings() {
            prop_assert!(survey.distances.contains_key(marking.as_slice()));
        }
    }

    #[test]
    fn a_net_that_is_written_and_read_again_is_the_same(plain in plain_nets()) {
        let net = plain.build();
        let again = from_pnml(&to_pnml(&net).unwrap()).unwrap();
        prop_assert_eq!(format!("{net:?}"), format!("{again:?}"));
    }
}
