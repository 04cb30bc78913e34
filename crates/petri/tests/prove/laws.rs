//! The prover against plain enumeration: the same verdicts and the same lengths.

use std::collections::BTreeSet;

use lockgate_petri::prove::{
    Answer, Bounds, Label, LabelSet, Prover, Reason, Rule, RuleId, State, System, Trace,
};
use proptest::prelude::*;

use super::{
    brute::{Brute, Plain},
    worlds::{World, worlds, worlds_of_large_limits},
};

const CASES: u32 = 1_500;

/// Compares an answer with the length of a shortest session, and has the session walked.
fn check(what: &str, answer: &Answer, shortest: Option<usize>, walk: impl Fn(&Trace)) {
    match (answer, shortest) {
        (Answer::Yes(trace), Some(length)) => {
            assert_eq!(trace.len(), length as u64, "{what}: {trace:?}");
            assert!(trace.is_shortest(), "{what}");
            walk(trace);
        }
        (Answer::No(_), None) => {}
        (answer, shortest) => panic!("{what}: {answer:?}, but the shortest has {shortest:?}"),
    }
}

/// The same where it is not always known that a session is the shortest, or whether there is one.
fn check_large(what: &str, answer: &Answer, shortest: Option<usize>, walk: impl Fn(&Trace)) {
    match (answer, shortest) {
        (Answer::Yes(trace), Some(length)) if !trace.is_shortest() => {
            assert!(trace.len() >= length as u64, "{what}: {trace:?}, but the shortest has {length}");
            walk(trace);
        }
        (Answer::Undecided(_), _) => {}
        (answer, shortest) => check(what, answer, shortest, walk),
    }
}

/// One that searches where few rules are in the way, and one that always counts first.
fn provers(system: &System) -> [Prover<'_>; 2] {
    let counting = Bounds { searched_at_once_max: 0, ..Bounds::default() };
    [Prover::new(system), Prover::with_bounds(system, counting)]
}

fn plain<'a>(world: &'a World, without: Option<usize>) -> Brute<'a> {
    let rules = world.rules.iter().enumerate().filter(|(id, _)| Some(*id) != without);
    Brute::new(rules.map(|(_, rule)| rule), &world.labels)
}

/// The system that holds only the rules of a reason.
fn only(world: &World, reason: &Reason) -> System {
    System::new(reason.rules.iter().map(|rule| world.rules[rule.0].rule()).collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn a_label_is_called_by_a_shortest_session_or_not_at_all(world in worlds()) {
        let Some(callable) = plain(&world, None).callable() else { return Ok(()) };
        let system = System::new(world.rules()).unwrap();
        let [searching, counting] = provers(&system);
        for (prover, label) in [&searching, &counting].into_iter().flat_map(|it| world.labels.iter().map(move |label| (it, label))) {
            let answer = prover.can_call(&(*label).into());
            check("call", &answer, callable.get(label).copied(), |trace| {
                system.replay(trace).unwrap();
                assert_eq!(trace.last(), Some(*label));
            });
            if let Answer::No(reason) = &answer {
                let few = only(&world, reason);
                assert!(Prover::new(&few).can_call(&(*label).into()).is_no(), "{reason:?} does not suffice");
            }
        }
        assert!(searching.seen_to_happen().iter().all(|label| callable.contains_key(&label)));
        let pair: LabelSet = [world.labels[0], world.labels[1]].into();
        let nearest = world.labels[..2].iter().filter_map(|label| callable.get(label)).min();
        check("call one of two", &searching.can_call(&pair), nearest.copied(), |_| {});
    }

    #[test]
    fn a_rule_matters_by_a_shortest_session_or_not_at_all(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        for (id, rule) in world.rules.iter().enumerate() {
            let rest = plain(&world, Some(id));
            let Some(shortest) = rest.violates(rule) else { return Ok(()) };
            for prover in provers(&system) {
                check("matter", &prover.can_matter(RuleId(id)), shortest, |trace| {
                    assert_eq!(system.replay(trace), Err(vec![RuleId(id)]));
                });
                let is_never = prover.all_never_violate_instead(&[(rule.rule(), RuleId(id))]);
                assert_eq!(is_never, [shortest.is_none()]);
            }
        }
    }

    #[test]
    fn a_further_rule_is_violated_by_a_shortest_session_or_not_at_all(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        for (rule, prover) in world.further.iter().flat_map(|rule| provers(&system).map(|prover| (rule, prover))) {
            let Some(shortest) = plain(&world, None).violates(rule) else { return Ok(()) };
            let answer = prover.can_violate(&rule.rule());
            check("violate", &answer, shortest, |trace| {
                system.replay(trace).unwrap();
                let alone = System::new(vec![rule.rule()]).unwrap();
                assert_eq!(alone.replay(trace), Err(vec![RuleId(0)]));
            });
            if let Answer::No(reason) = &answer {
                let few = only(&world, reason);
                assert!(Prover::new(&few).can_violate(&rule.rule()).is_no(), "{reason:?} does not suffice");
            }
        }
    }

    #[test]
    fn a_label_is_lost_by_a_shortest_session_or_not_at_all(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        let single = world.labels.iter().map(|label| LabelSet::from(*label));
        for goals in single.chain([[world.labels[0], world.labels[1]].into()]) {
            let labels: Vec<Label> = goals.iter().collect();
            let Some(shortest) = plain(&world, None).loses(&labels) else { return Ok(()) };
            for prover in provers(&system) {
                check("lose", &prover.can_lose(&goals), shortest, |trace| {
                    system.replay(trace).unwrap();
                });
            }
        }
    }

    #[test]
    fn a_system_gets_stuck_by_a_shortest_session_or_not_at_all(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        let brute = plain(&world, None);
        for labels in [system.labels(), &world.labels[..1], &world.labels[1..4], &world.labels] {
            let Some(shortest) = brute.refuses_all(labels) else { return Ok(()) };
            check("stuck", &Prover::new(&system).can_get_stuck(&labels.iter().copied().collect()), shortest, |trace| {
                let state = system.replay(trace).unwrap();
                assert!(labels.iter().all(|label| system.step(&state, *label).is_err()));
            });
        }
    }

    #[test]
    fn circular_requirements_are_all_found(world in worlds()) {
        let system = System::new(world.rules()).unwrap();
        let cycles = system.cycles();
        let found: BTreeSet<Label> = cycles.iter().flat_map(|cycle| cycle.labels.iter().copied()).collect();
        assert_eq!(found, plain(&world, None).in_circles());
        for cycle in &cycles {
            let nexts = cycle.waits.iter().skip(1).chain(&cycle.waits[..1]);
            for ((label, rule), (next, _)) in cycle.waits.iter().zip(nexts) {
                assert!(system.step(&State::default(), *label).unwrap_err().contains(rule));
                assert!(world.rules[rule.0].rule().alphabet().contains(*next));
            }
        }
    }

    #[test]
    fn what_one_system_allows_and_another_refuses_is_found(one in worlds(), other in worlds()) {
        let labels = if one.labels.len() > other.labels.len() { &one.labels } else { &other.labels };
        let (first, second) = (System::new(one.rules()).unwrap(), System::new(other.rules()).unwrap());
        let all: Vec<&Plain> = one.rules.iter().collect();
        let brute = Brute { rules: all, labels: labels.clone() };
        for difference in Prover::new(&first).refused_by(&second) {
            let Some(shortest) = brute.violates(&other.rules[difference.rule.0]) else { return Ok(()) };
            check("diff", &difference.answer, shortest, |trace| {
                first.replay(trace).unwrap();
                assert!(second.replay(trace).is_err());
            });
        }
    }
}

proptest! {
    // Fewer: plain enumeration does count, and many rules are many questions.
    #![proptest_config(ProptestConfig { cases: CASES / 5, ..ProptestConfig::default() })]

    #[test]
    fn large_limits_are_used_up_by_going_round(world in worlds_of_large_limits()) {
        let system = System::new(world.rules()).unwrap();
        let prover = Prover::new(&system);
        for rule in &world.further {
            let Some(shortest) = plain(&world, None).violates(rule) else { return Ok(()) };
            check_large("violate", &prover.can_violate(&rule.rule()), shortest, |trace| {
                system.replay(trace).unwrap();
                let alone = System::new(vec![rule.rule()]).unwrap();
                assert_eq!(alone.replay(trace), Err(vec![RuleId(0)]));
            });
        }
        for (id, rule) in world.rules.iter().enumerate() {
            let Some(shortest) = plain(&world, Some(id)).violates(rule) else { return Ok(()) };
            check_large("matter", &prover.can_matter(RuleId(id)), shortest, |trace| {
                assert_eq!(system.replay(trace), Err(vec![RuleId(id)]));
            });
        }
        for label in &world.labels {
            let Some(shortest) = plain(&world, None).loses(&[*label]) else { return Ok(()) };
            check_large("lose", &prover.can_lose(&(*label).into()), shortest, |trace| {
                let state = system.replay(trace).unwrap();
                assert!(system.step(&state, *label).is_err());
            });
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_answer(world in worlds()) {
        let rules: Vec<Rule> = (0..64).flat_map(|_| world.rules()).collect();
        let system = System::new(rules).unwrap();
        let with = |threads| Prover::with_bounds(&system, Bounds { threads, ..Bounds::default() });
        assert_eq!(with(1).all_can_matter(), with(3).all_can_matter());
    }
}
