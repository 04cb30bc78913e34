//! Long chains, trees, stars and grids: what is found in systems of thousands of rules.
//!
//! Each shape is a list of requirements between deeds, the success of a deed an even label and its failure the next odd
//! one. Nothing in here looks at a clock: a shape that takes time in proportion to the cube does not come to an end.

use lockgate_petri::prove::{Answer, Label, LabelSet, Prover, Rule, RuleId, System};

const LARGE: u32 = 2_000;

fn ok(deed: u32) -> LabelSet {
    Label(2 * deed).into()
}

fn calls(deed: u32) -> LabelSet {
    [Label(2 * deed), Label(2 * deed + 1)].into()
}

fn require((before, then): (u32, u32)) -> Rule {
    Rule::Require { before: ok(before), then: calls(then), latched: false }
}

fn limit(deed: u32, count: u64) -> Rule {
    Rule::Limit { spend: calls(deed), count }
}

fn chain(links: u32) -> Vec<(u32, u32)> {
    (0..links).map(|deed| (deed, deed + 1)).collect()
}

fn tree(links: u32) -> Vec<(u32, u32)> {
    (0..links).map(|deed| (deed / 2, deed + 1)).collect()
}

fn star(links: u32) -> Vec<(u32, u32)> {
    (0..links).map(|deed| (0, deed + 1)).collect()
}

/// A square of deeds, each of which waits for the one above and the one to the left.
fn grid(side: u32) -> Vec<(u32, u32)> {
    let below = (0..side * (side - 1)).map(|deed| (deed, deed + side));
    let beside = (0..side * side).filter(|deed| deed % side + 1 < side).map(|deed| (deed, deed + 1));
    below.chain(beside).collect()
}

fn n_deeds(links: &[(u32, u32)]) -> u32 {
    links.iter().map(|(_, then)| then + 1).max().unwrap()
}

fn system(links: &[(u32, u32)], more: impl IntoIterator<Item = Rule>) -> System {
    System::new(links.iter().copied().map(require).chain(more).collect()).unwrap()
}

fn length(answer: &Answer) -> u64 {
    let trace = answer.trace().unwrap_or_else(|| panic!("{answer:?}"));
    assert!(trace.is_shortest());
    trace.len()
}

/// How many deeds come before one, itself included.
fn before(links: &[(u32, u32)], deed: u32) -> u64 {
    let mut found = vec![deed];
    let mut next = 0;
    while let Some(deed) = found.get(next).copied() {
        next += 1;
        for (before, _) in links.iter().filter(|(_, then)| *then == deed) {
            if !found.contains(before) {
                found.push(*before);
            }
        }
    }
    found.len() as u64
}

#[test]
fn everything_in_a_large_shape_is_possible_stays_so_and_every_requirement_matters() {
    for links in [chain(LARGE), tree(LARGE), star(LARGE), grid(32)] {
        let system = system(&links, []);
        let prover = Prover::new(&system);
        assert_eq!(prover.seen_to_happen().len(), system.labels().len());
        assert!(prover.all_can_matter().iter().all(|answer| answer.trace().is_some()));
        let goals: Vec<LabelSet> = (0..n_deeds(&links)).map(calls).collect();
        assert!(prover.all_can_lose(&goals).iter().all(Answer::is_no));
        let last = n_deeds(&links) - 1;
        assert_eq!(length(&prover.can_call(&calls(last))), before(&links, last));
    }
}

#[test]
fn a_limit_on_every_deed_of_a_large_shape_is_reached_at_the_root_alone() {
    for links in [chain(LARGE), tree(LARGE), star(LARGE), grid(32)] {
        let deeds = n_deeds(&links);
        let system = system(&links, (0..deeds).map(|deed| limit(deed, 3)));
        let prover = Prover::new(&system);
        let answers = prover.all_can_matter();
        for (answer, (_, then)) in answers.iter().zip(&links) {
            assert!(answer.trace().is_some(), "{then}: {answer:?}");
        }
        // Each waits for another that is called as often, so two rules are reason enough.
        let (root, others) = answers[links.len()..].split_first().unwrap();
        assert_eq!(length(root), 4);
        for (deed, answer) in (1..).zip(others) {
            let Answer::No(reason) = answer else { panic!("{deed}: {answer:?}") };
            assert_eq!(reason.rules.len(), 2, "{deed}");
            assert!(reason.rules.iter().all(|rule| rule.0 < links.len() || rule.0 - links.len() < deed));
        }
        // Three failures of the root, and nothing else is ever possible.
        let goals: Vec<LabelSet> = (1..deeds).map(calls).collect();
        for (deed, answer) in (1..).zip(prover.all_can_lose(&goals)) {
            assert_eq!(
                answer.trace().map(|trace| trace.labels().collect()),
                Some(vec![Label(1); 3]),
                "{deed}"
            );
        }
        assert!(prover.can_lose(&calls(0)).is_no());
    }
}

#[test]
fn a_limit_deep_in_a_chain_is_used_up_by_a_long_session() {
    let (links, deep) = (chain(LARGE), LARGE / 2);
    let system = system(&links, [limit(deep, 1)]);
    let prover = Prover::new(&system);
    assert!(prover.can_lose(&calls(deep - 1)).is_no());
    assert!(prover.can_lose(&calls(deep)).is_no());
    let answer = prover.can_lose(&calls(LARGE));
    assert_eq!(length(&answer), u64::from(deep) + 1);
    assert_eq!(answer.trace().unwrap().last(), Some(Label(2 * deep + 1)));
    let matters = prover.can_matter(RuleId(links.len()));
    assert_eq!(length(&matters), 2 * (u64::from(deep) + 1));
    assert_eq!(system.replay(matters.trace().unwrap()), Err(vec![RuleId(links.len())]));
}

#[test]
fn what_a_chain_rules_out_holds_and_what_it_does_not_is_broken_by_the_shortest_session() {
    let system = system(&chain(LARGE), []);
    let prover = Prover::new(&system);
    let never_before = |call, needs| Rule::Require { before: ok(needs), then: calls(call), latched: true };
    let never_after = |call, after| Rule::Never { after: calls(after), then: calls(call) };
    for deed in (1..=LARGE).step_by(97) {
        let Answer::No(reason) = prover.can_violate(&never_before(deed, 0)) else { panic!("{deed}") };
        assert_eq!(reason.rules, (0..deed as usize).map(RuleId).collect::<Vec<_>>());
        // Up to the second, and then again up to the first.
        let again = prover.can_violate(&never_after(deed - 1, deed));
        assert_eq!(length(&again), u64::from(2 * deed + 1), "{deed}");
        let often = prover.can_violate(&limit(deed, 2));
        assert_eq!(length(&often), 3 * (u64::from(deed) + 1), "{deed}");
    }
}

#[test]
fn refills_on_every_deed_of_a_large_shape_change_nothing() {
    for links in [chain(LARGE), tree(LARGE), star(LARGE), grid(32)] {
        let per = |(before, then): &(u32, u32)| Rule::LimitPer {
            spend: calls(*then),
            count: 3,
            refill: calls(*before),
        };
        let system = system(&links, links.iter().map(per));
        let prover = Prover::new(&system);
        // Whoever waits for what refills its limit never uses it up.
        let idle: Vec<bool> = prover.all_can_matter().iter().map(Answer::is_no).collect();
        let expected = (0..2 * links.len()).map(|rule| rule >= links.len());
        assert!(idle.into_iter().eq(expected));
        let goals: Vec<LabelSet> = (0..n_deeds(&links)).map(calls).collect();
        assert!(prover.all_can_lose(&goals).iter().all(Answer::is_no));
    }
}

#[test]
fn a_circle_in_a_long_chain_is_found_and_all_behind_it_is_dead() {
    let middle = LARGE / 2;
    let system = system(&chain(LARGE), [require((middle + 5, middle))]);
    let cycles = system.cycles();
    let waits: Vec<usize> = cycles.iter().map(|cycle| cycle.waits.len()).collect();
    assert_eq!(waits, [6]);
    let prover = Prover::new(&system);
    // No rule knows the failure of the first one.
    assert_eq!(prover.seen_to_happen().len(), 2 * middle as usize - 1);
    let Answer::No(reason) = prover.can_call(&calls(LARGE)) else { panic!("it is behind the circle") };
    // From the last one back to the circle, and once round.
    assert_eq!(reason.rules.len(), (LARGE - middle) as usize + 1);
}

#[test]
fn a_reason_holds_every_rule_it_rests_on() {
    let label = |number: u32| LabelSet::from(Label(number));
    let require = |before, then| Rule::Require { before: label(before), then: label(then), latched: false };
    let never = |after, then| Rule::Never { after: label(after), then: label(then) };
    for (name, rules, further) in [
        (
            "a refill that waits for itself",
            vec![
                require(0, 0),
                Rule::LimitPer { spend: label(1), count: 1, refill: label(0) },
                require(1, 3),
            ],
            never(3, 1),
        ),
        (
            "what is used up was earned on the way",
            vec![never(0, 0), require(2, 3), require(0, 2), require(1, 2)],
            require(1, 3),
        ),
    ] {
        let system = System::new(rules.clone()).unwrap();
        let Answer::No(reason) = Prover::new(&system).can_violate(&further) else { panic!("{name}") };
        let few: Vec<Rule> = reason.rules.iter().map(|rule| rules[rule.0].clone()).collect();
        let few = System::new(few).unwrap();
        assert!(Prover::new(&few).can_violate(&further).is_no(), "{name}: {reason:?}");
    }
}

#[test]
fn a_verdict_about_one_of_thousands_of_mixed_rules_is_true() {
    for links in [chain(LARGE), tree(LARGE), star(LARGE), grid(32)] {
        let per = |(before, then): &(u32, u32)| Rule::LimitPer {
            spend: calls(*then),
            count: 2,
            refill: calls(*before),
        };
        let limits = (0..n_deeds(&links)).map(|deed| limit(deed, 3));
        let system = system(&links, links.iter().map(per).chain(limits));
        let prover = Prover::new(&system);
        let rules: Vec<(Rule, RuleId)> = system.rules().iter().cloned().zip((0..).map(RuleId)).collect();
        let verdicts = prover.all_never_violate_instead(&rules);
        assert!(verdicts.iter().any(|is_never| *is_never), "a limit behind a limit is never reached");
        for ((_, id), is_never) in rules.iter().zip(verdicts).step_by(97) {
            assert!(!is_never || prover.can_matter(*id).trace().is_none(), "{id:?}");
        }
    }
}
