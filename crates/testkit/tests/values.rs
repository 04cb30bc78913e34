//! Rules for each value, held against every session of small policies with three and four values.
//!
//! A naive model says what each rule means by counting over the whole session; the gate has to answer as it does at every call.
//! What the prover says about a claim is compared with what the sessions show: a claim that is proved is broken by
//! none, and one that is false by some session that is no longer than the one that was shown.

#![expect(clippy::panic, reason = "helpers of tests may stop a test")]

use lockgate::engine::{
    Call, Decision, Outcome, Session, Source,
    gate::{Human, Rulebook, SharedState, Stand, judge, settle},
    languages::read,
    prover::prove,
};

/// What happened: a call of a tool with a value, whether it was let pass, and whether it succeeded.
#[derive(Clone, Copy, Debug)]
struct Happened {
    tool: char,
    value: usize,
    passed: bool,
    ok: bool,
}

/// A rule or a claim in the words of the model.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Each of the second spends a success of the first; for each value or over all.
    Require(char, char, bool),
    /// So many calls.
    Limit(char, usize, bool),
    /// None of the first after the second was asked for.
    Close(char, char, bool),
}

impl Law {
    /// Whether a call may pass after all this, counted anew each time.
    fn allows(self, past: &[Happened], tool: char, value: usize) -> bool {
        let same = |it: &&Happened, each: bool| !each || it.value == value;
        match self {
            Self::Require(first, then, each) if then == tool => {
                let mut credit = false;
                for it in past.iter().filter(|it| same(it, each)) {
                    if it.passed && it.tool == then {
                        credit = false;
                    }
                    if it.ok && it.tool == first {
                        credit = true;
                    }
                }
                credit
            }
            Self::Limit(limited, count, each) if limited == tool => {
                past.iter().filter(|it| same(it, each) && it.passed && it.tool == tool).count() < count
            }
            Self::Close(closed, after, each) if closed == tool => {
                !past.iter().filter(|it| same(it, each)).any(|it| it.tool == after)
            }
            _ => true,
        }
    }
}

/// A claim, and whether a call that passes breaks it.
type Breaks = fn(&[Happened], Happened) -> bool;

/// Plays every session and says how long the shortest one is that breaks the claim.
fn shortest(rulebook: &Rulebook, laws: &[Law], breaks: Breaks, values: usize, depth: usize) -> Option<usize> {
    let mut found = None;
    let state = State { session: Session::default(), shared: SharedState::default(), past: Vec::new() };
    walk(rulebook, laws, breaks, (values, depth), &state, &mut found);
    found
}

#[derive(Clone)]
struct State {
    session: Session,
    shared: SharedState,
    past: Vec<Happened>,
}

fn walk(
    rulebook: &Rulebook,
    laws: &[Law],
    breaks: Breaks,
    (values, depth): (usize, usize),
    state: &State,
    found: &mut Option<usize>,
) {
    if state.past.len() == depth {
        return;
    }
    // Values are alike, so a new one is always the next.
    let known = state.past.iter().map(|it| it.value + 1).max().unwrap_or_default();
    for tool in ['a', 'b', 'c'] {
        for value in 0..values.min(known + 1) {
            let id = format!("c{}", state.past.len());
            let call = Call::new(id, tool.to_string()).with("v", format!("v-{value}"));
            let stand = Stand { shared_state: &state.shared, ..Stand::from(&state.session) };
            let judged = judge(rulebook, stand, &call.clone().into(), Human::Reachable);
            let passed = judged.verdict.decision == Decision::Allow;
            let expected = laws.iter().all(|law| law.allows(&state.past, tool, value));
            assert_eq!(passed, expected, "{laws:?}: {tool}({value}) after {:?}", state.past);
            let mut next = state.clone();
            judged.events.iter().for_each(|event| next.session.apply(event));
            judged.shared.iter().for_each(|event| next.shared.apply(event));
            if !passed {
                next.past.push(Happened { tool, value, passed, ok: false });
                walk(rulebook, laws, breaks, (values, depth), &next, found);
                continue;
            }
            let happened = Happened { tool, value, passed, ok: false };
            if breaks(&state.past, happened) {
                let length = state.past.iter().filter(|it| it.passed).count() + 1;
                *found = Some(found.map_or(length, |known| known.min(length)));
            }
            for ok in [true, false] {
                let mut ended = next.clone();
                let outcome = Outcome { ok, ..Outcome::success(&call) };
                let stand = Stand { shared_state: &ended.shared, ..Stand::from(&ended.session) };
                let settled = settle(rulebook, stand, &outcome);
                settled.events.iter().for_each(|event| ended.session.apply(event));
                settled.shared.iter().for_each(|event| ended.shared.apply(event));
                ended.past.push(Happened { ok, ..happened });
                walk(rulebook, laws, breaks, (values, depth), &ended, found);
            }
        }
    }
}

/// The rules as sentences, as laws; the claim as a sentence and as what breaks it.
struct Case {
    rules: &'static [&'static str],
    laws: &'static [Law],
    claim: &'static str,
    breaks: Breaks,
    /// What the prover says of it.
    holds: Option<bool>,
}

fn before_each(past: &[Happened], now: Happened) -> bool {
    now.tool == 'b' && !past.iter().any(|it| it.ok && it.tool == 'a' && it.value == now.value)
}

fn before(past: &[Happened], now: Happened) -> bool {
    now.tool == 'b' && !past.iter().any(|it| it.ok && it.tool == 'a')
}

fn after_each(past: &[Happened], now: Happened) -> bool {
    now.tool == 'b' && past.iter().any(|it| it.passed && it.tool == 'a' && it.value == now.value)
}

fn over_two(past: &[Happened], now: Happened) -> bool {
    now.tool == 'b' && past.iter().filter(|it| it.passed && it.tool == 'b').count() >= 2
}

fn over_one_each(past: &[Happened], now: Happened) -> bool {
    now.tool == 'b' && past.iter().any(|it| it.passed && it.tool == 'b' && it.value == now.value)
}

const CASES: &[Case] = &[
    Case {
        rules: &["require a before b for each v"],
        laws: &[Law::Require('a', 'b', true)],
        claim: "never b before a for each v",
        breaks: before_each,
        holds: Some(true),
    },
    Case {
        rules: &["require a before b"],
        laws: &[Law::Require('a', 'b', false)],
        claim: "never b before a for each v",
        breaks: before_each,
        holds: Some(false),
    },
    Case {
        rules: &["require a before b for each v"],
        laws: &[Law::Require('a', 'b', true)],
        claim: "never b before a",
        breaks: before,
        holds: Some(true),
    },
    Case {
        rules: &["require a before c for each v", "require c before b for each v"],
        laws: &[Law::Require('a', 'c', true), Law::Require('c', 'b', true)],
        claim: "never b before a for each v",
        breaks: before_each,
        holds: Some(true),
    },
    Case {
        rules: &["require a before c for each v", "require c before b"],
        laws: &[Law::Require('a', 'c', true), Law::Require('c', 'b', false)],
        claim: "never b before a for each v",
        breaks: before_each,
        holds: Some(false),
    },
    Case {
        rules: &["block b after a for each v"],
        laws: &[Law::Close('b', 'a', true)],
        claim: "never b after a for each v",
        breaks: after_each,
        holds: Some(true),
    },
    Case {
        rules: &["limit b to 1 per session for each v"],
        laws: &[Law::Limit('b', 1, true)],
        claim: "at most 2 b",
        breaks: over_two,
        holds: Some(false),
    },
    Case {
        rules: &["limit b to 1 per session for each v"],
        laws: &[Law::Limit('b', 1, true)],
        claim: "at most 1 b for each v",
        breaks: over_one_each,
        holds: Some(true),
    },
    Case {
        rules: &["require a before b for each v", "limit a to 1 per session"],
        laws: &[Law::Require('a', 'b', true), Law::Limit('a', 1, false)],
        claim: "at most 1 b for each v",
        breaks: over_one_each,
        holds: Some(true),
    },
    // Two values are too few here: a(y), c(z), b(x).
    Case {
        rules: &[
            "block c after a for each v",
            "block b after c for each v",
            "require a before c",
            "require c before b",
        ],
        laws: &[
            Law::Close('c', 'a', true),
            Law::Close('b', 'c', true),
            Law::Require('a', 'c', false),
            Law::Require('c', 'b', false),
        ],
        claim: "never b before a for each v",
        breaks: before_each,
        holds: Some(false),
    },
];

fn rulebook(case: &Case) -> Rulebook {
    let text = format!("{}\nclaim {}\n", case.rules.join("\n"), case.claim);
    let (policy, mistakes) = read(&[Source::new("policy.rules", text)]);
    Rulebook::new(policy.unwrap_or_else(|| panic!("{:?}: {mistakes:?}", case.rules)))
}

#[test]
fn every_session_with_three_and_four_values_is_as_the_gate_and_the_prover_say() {
    for case in CASES {
        let rulebook = rulebook(case);
        let proved = prove(&rulebook);
        let claim = &proved.claims[0];
        assert_eq!(
            claim.report.holds, case.holds,
            "{:?}: {}: {:?}",
            case.rules, case.claim, claim.report.undecided
        );
        let shown: u64 = claim.session.iter().map(|part| part.steps.len() as u64 * part.times).sum();
        for (values, depth) in [(3, 4), (4, 3)] {
            let found = shortest(&rulebook, case.laws, case.breaks, values, depth);
            match case.holds {
                Some(true) => assert_eq!(found, None, "{:?}: {}", case.rules, case.claim),
                Some(false) if shown as usize <= depth => {
                    assert_eq!(found.map(|it| it as u64), Some(shown), "{:?}: {}", case.rules, case.claim);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn what_stays_open_says_which_rule_closes() {
    let text = "block b after a for each v\nblock c after b for each v\nrequire c before a\nclaim never c before b for each v\n";
    let (policy, _) = read(&[Source::new("policy.rules", text)]);
    let proved = prove(&Rulebook::new(policy.unwrap()));
    let report = &proved.claims[0].report;
    // Either a session breaks it, or the answer names a rule; it is never proved by trying.
    assert!(report.holds == Some(false) || report.undecided.is_some(), "{report:?}");
}
