//! What the prover says about a policy, held against all its sessions played through the judge.
//!
//! Small policies of every family are doubted once a run, and each test reads one row of what came out: `cargo test -p
//! lockgate-testkit --test all proofs::rulesets::` runs the rows of a family, `-- --nocapture counts` shows what was
//! counted. `PROPTEST_RNG_SEED=7` doubts other worlds, `WORLDS=10` ten times as many.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop a test"
)]

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
    sync::{LazyLock, Mutex, OnceLock},
};

use lockgate::engine::{
    Answer, Call, Gate, Outcome, Scripted, Severity, Source,
    gate::{Human, Rulebook, judge},
    policy::{Decision, Property, RuleId, Statement},
};
use lockgate_testkit::{
    generate::proofs::{COUNTS_MAX, Family, Language, SmallPolicy, edited, policies},
    oracle::{Bounds, Letter, Meaning, Move, Places, Space, Stage, Walked},
};
use proptest::{
    prelude::*,
    sample::Index,
    strategy::ValueTree,
    test_runner::{RngSeed, TestRunner},
};
use prover::{Direction, SaidChange, SaidClaim, SaidFinding, ShownDifference};

/// All contact with the prover: what it says, in the words of these tests.
mod prover {
    pub(super) use lockgate::engine::prover::DifferenceKind as Direction;
    use lockgate::engine::{
        Call, Time,
        gate::Rulebook,
        policy::{Property, RuleId, Severity},
        prover::{CallEnd, Finding, Part, diff as diff_policies, prove as prove_policy},
    };
    use lockgate_testkit::oracle::{HOUR_MS, Letter};

    /// The longest session that is written out.
    const SHOWN_MAX: u64 = 1_000;

    #[derive(Debug)]
    pub(super) struct Said {
        pub(super) claims: Vec<SaidClaim>,
        pub(super) findings: Vec<SaidFinding>,
        pub(super) undecided: usize,
        pub(super) left_out: usize,
    }

    #[derive(Debug)]
    pub(super) struct SaidClaim {
        pub(super) text: String,
        pub(super) file: String,
        pub(super) says: Property,
        pub(super) holds: Option<bool>,
        pub(super) shown: Option<ShownDifference>,
        pub(super) is_shortest: bool,
    }

    #[derive(Debug)]
    pub(super) struct SaidFinding {
        pub(super) code: &'static str,
        pub(super) message: String,
        pub(super) is_loud: bool,
        pub(super) rules: Vec<RuleId>,
        pub(super) tools: Vec<String>,
        pub(super) shown: Option<ShownDifference>,
    }

    #[derive(Debug)]
    pub(super) struct SaidDiff {
        pub(super) changes: Vec<SaidChange>,
        pub(super) undecided: usize,
    }

    #[derive(Debug)]
    pub(super) struct SaidChange {
        pub(super) direction: Direction,
        pub(super) shown: Option<ShownDifference>,
        pub(super) is_shortest: bool,
    }

    /// A session that the prover shows: what happens in it, by the numbers of its calls.
    #[derive(Clone, Debug, Default)]
    pub(super) struct ShownDifference {
        pub(super) calls: Vec<Call>,
        pub(super) letters: Vec<Letter>,
    }

    pub(super) fn prove(rulebook: &Rulebook) -> Said {
        let proved = prove_policy(rulebook);
        let claims = proved.claims.iter().map(|it| SaidClaim {
            text: it.report.claim.source.slice(it.report.claim.span).to_owned(),
            file: it.report.claim.source.name().to_owned(),
            says: it.report.claim.property.clone(),
            holds: it.report.holds,
            shown: shown(&it.session),
            is_shortest: it.report.is_shortest,
        });
        let finding = |it: &Finding| SaidFinding {
            code: it.diagnostic.code,
            message: it.diagnostic.message.clone(),
            is_loud: it.diagnostic.severity >= Severity::Warning,
            rules: it.rules.clone(),
            tools: it.tools.iter().map(ToString::to_string).collect(),
            shown: shown(&it.session),
        };
        let undecided = proved.claims.iter().filter(|it| it.report.holds.is_none()).count();
        Said {
            claims: claims.collect(),
            findings: proved.findings.iter().map(finding).collect(),
            undecided: undecided + proved.undecided.len(),
            left_out: proved.left_out.len(),
        }
    }

    /// None where there are more rules than the prover takes.
    pub(super) fn diff(old: &Rulebook, new: &Rulebook) -> Option<SaidDiff> {
        let said = diff_policies(old, new).ok()?;
        let changes = said.shown.iter().map(|it| SaidChange {
            direction: it.kind,
            shown: shown(&it.session),
            is_shortest: it.is_shortest,
        });
        Some(SaidDiff { changes: changes.collect(), undecided: said.undecided.len() })
    }

    /// A session written out; none where there is none, or it is too long.
    fn shown(parts: &[Part]) -> Option<ShownDifference> {
        let length: u64 = parts.iter().map(|it| it.steps.len() as u64 * it.times).sum();
        if length == 0 || length > SHOWN_MAX {
            return None;
        }
        let mut shown = ShownDifference::default();
        for step in parts.iter().flat_map(|it| (0..it.times).flat_map(|_| &it.steps)) {
            let call = Call { id: "1".to_owned(), at: Time(0), ..step.call.clone() };
            let known = shown.calls.iter().position(|it| *it == call);
            let number = known.unwrap_or_else(|| {
                shown.calls.push(call);
                shown.calls.len() - 1
            });
            shown.letters.extend((0..step.waited_ms.div_ceil(HOUR_MS)).map(|_| Letter::AnHour));
            shown.letters.push(match step.ended {
                CallEnd::Success | CallEnd::Refused => Letter::Succeeds(number),
                CallEnd::Failure => Letter::Fails(number),
                CallEnd::Open => Letter::StaysOpen(number),
                CallEnd::LateSuccess => Letter::Lands(number),
            });
        }
        Some(shown)
    }
}

/// What is checked; each is a test of each family.
mod checks {
    pub(super) const NEVER_BEFORE: &str = "never B before A";
    pub(super) const NEVER_WITHOUT: &str = "never B without A since C";
    pub(super) const NEVER_AFTER: &str = "never B after A";
    pub(super) const NEVER_TOGETHER: &str = "never A and B in one session";
    pub(super) const AT_MOST: &str = "at most N B";
    pub(super) const POSSIBLE: &str = "B possible";
    pub(super) const IMPOSSIBLE: &str = "B impossible";
    pub(super) const STAYS_POSSIBLE: &str = "B stays possible";
    pub(super) const HUMAN_BEFORE: &str = "human before B";
    pub(super) const CLAIM_SHORTEST: &str = "claims are shown by the shortest";
    pub(super) const MENTIONS: &str = "what scripts may do";
    pub(super) const DEAD: &str = "dead tools are dead";
    pub(super) const ALL_DEAD: &str = "all dead tools are found";
    pub(super) const REDUNDANT: &str = "redundant rules change nothing";
    pub(super) const LOST: &str = "what is lost stays lost";
    pub(super) const SAME: &str = "nothing tells two policies apart";
    pub(super) const REFUSALS: &str = "what refusals leave behind";
    pub(super) const CHANGES: &str = "changes are as shown";
    pub(super) const DIRECTIONS: &str = "every direction is found";
    pub(super) const SHORTEST: &str = "changes are the shortest";
}

type Tally = BTreeMap<String, usize>;

fn count(tally: &mut Tally, what: impl Into<String>) {
    *tally.entry(what.into()).or_default() += 1;
}

/// Something the prover says, and sessions do not bear out.
#[derive(Clone, Debug)]
struct Wrong {
    check: &'static str,
    what: String,
}

fn load(files: &[(String, String)]) -> Result<Rulebook, String> {
    let sources: Vec<Source> =
        files.iter().map(|(name, text)| Source::new(name.as_str(), text.as_str())).collect();
    let (policy, mistakes) = lockgate::engine::languages::read(&sources);
    policy.map(Rulebook::new).ok_or_else(|| lockgate::engine::languages::render(&mistakes, false))
}

/// What a call is to the rules of a file about a name.
#[derive(Clone, Copy, Debug, Default)]
struct Meant {
    is: Places,
    may_be: Places,
    earns: bool,
}

/// What calls are to the rules of a file about a name, by file, name and whether an action of it is named beside.
type Meanings = HashMap<(usize, String, bool), Rc<Vec<Meant>>>;

/// A small policy with all its sessions.
struct World<'a> {
    small: &'a SmallPolicy,
    rulebook: Rulebook,
    calls: Vec<Call>,
    /// One call after another.
    turns: Space,
    /// With calls in flight.
    flights: Space,
    meanings: RefCell<Meanings>,
}

impl<'a> World<'a> {
    fn new(small: &'a SmallPolicy, calls: Vec<Call>) -> Result<Self, String> {
        let rulebook = load(&small.texts())?;
        let turns = Space::explore(&rulebook, &calls, turns(small));
        let flights = Space::explore(&rulebook, &calls, flights(small));
        Ok(Self { small, rulebook, calls, turns, flights, meanings: RefCell::default() })
    }

    /// What each call is to the rules of a file about a name.
    fn meaning(&self, file: usize, name: &str, beside: &[&str], calls: &[Call]) -> Vec<Meant> {
        let text = self.small.files.get(file).map(|it| it.text(file));
        let meaning = Meaning::new(text.as_deref().unwrap_or_default(), name, beside);
        let meant = |call: &Call| {
            meaning.as_ref().map_or_else(Meant::default, |it| Meant {
                is: it.is(call),
                may_be: it.may_be(call),
                earns: it.is_earned_by(call),
            })
        };
        calls.iter().map(meant).collect()
    }

    fn meant(&self, file: usize, name: &str, beside: &[&str]) -> Rc<Vec<Meant>> {
        let action = format!("{name}.");
        let key = (file, name.to_owned(), beside.iter().any(|it| it.starts_with(&action)));
        let known = self.meanings.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let meant = Rc::new(self.meaning(file, name, beside, &self.calls));
            self.meanings.borrow_mut().insert(key, meant.clone());
            meant
        })
    }

    fn is_closed(&self) -> bool {
        self.turns.is_closed() && self.flights.is_closed()
    }

    /// What sessions do about a claim: one call after another, and in flight.
    fn about(&self, file: usize, says: &Property, may_be: bool) -> [Option<Walked>; 2] {
        let is_of = |call: usize, name: &str| {
            let meant = self.meant(file, name, &says.names())[call];
            if may_be { meant.may_be } else { meant.is }
        };
        let earns = |call: usize, name: &str| self.meant(file, name, &says.names())[call].earns;
        [&self.turns, &self.flights].map(|space| space.about(says, is_of, earns))
    }

    /// Whether a call of a name passes in some session, as a rule sees it that names these beside it; none if too
    /// little was seen.
    fn lives(&self, file: usize, name: &str, beside: &[&str]) -> Option<bool> {
        let meant = self.meant(file, name, beside);
        let is_it = |letter: Letter| letter.called().is_some_and(|call| meant[call].is.any());
        let happens =
            |space: &Space| space.walk((), |(), letter, _| (!is_it(letter)).then_some(())).happens();
        match (happens(&self.turns), happens(&self.flights)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    }

    /// The names a rule speaks of.
    fn names_of(&self, rule: RuleId) -> Vec<std::sync::Arc<str>> {
        self.rulebook.policy.net(rule).map(|rule| rule.net.names()).unwrap_or_default()
    }

    fn place(&self, rule: RuleId) -> Option<(usize, usize)> {
        let place = &self.rulebook.policy.rule(rule)?.place;
        Some((self.small.file(&place.file)?, place.line))
    }
}

fn turns(small: &SmallPolicy) -> Bounds {
    let has_hours = small.has_hours();
    Bounds { has_hours, counts_max: COUNTS_MAX, ..Bounds::in_turn(80, 12) }
}

fn flights(small: &SmallPolicy) -> Bounds {
    Bounds { open_max: 2, states_max: 60, ..turns(small) }
}

/// Something that happened in a session that was played.
#[derive(Clone, Copy, Debug)]
enum Happened {
    /// A call was let pass, and whether a human said so.
    Called(usize, bool),
    Succeeded(usize),
}

/// A session that was played.
struct Replayed {
    happened: Vec<Happened>,
    end: Stage,
    /// What became of the last letter.
    last: Option<Move>,
    /// How many letters were let pass.
    passed: usize,
}

impl ShownDifference {
    /// Whether each call ends before the next one, and no time passes.
    fn is_in_turn(&self) -> bool {
        self.letters.iter().all(|it| matches!(it, Letter::Succeeds(_) | Letter::Fails(_)))
    }
}

/// Plays a session up to the first call that is refused.
fn replay(rulebook: &Rulebook, shown: &ShownDifference) -> Replayed {
    let mut replayed = Replayed { happened: Vec::new(), end: Stage::default(), last: None, passed: 0 };
    for letter in &shown.letters {
        let Some((it, next)) = replayed.end.play(rulebook, &shown.calls, *letter) else { break };
        replayed.last = Some(it);
        if !it.passes {
            break;
        }
        replayed.passed += 1;
        replayed.end = next;
        replayed.happened.extend(letter.called().map(|call| Happened::Called(call, it.has_human)));
        replayed.happened.extend(letter.succeeded().map(Happened::Succeeded));
    }
    replayed
}

/// Whether what happened breaks a claim, by the words of the claim; for what is claimed to be possible, does it.
fn is_broken(
    says: &Property,
    happened: &[Happened],
    is_of: impl Fn(usize, &str) -> Places,
    earns: impl Fn(usize, &str) -> bool,
) -> bool {
    let places = |it: &Happened, name: &str| match it {
        Happened::Called(call, _) => is_of(*call, name),
        _ => Places::default(),
    };
    let called = |it: &Happened, name: &str| places(it, name).any();
    let succeeded = |it: &Happened, name: &str| matches!(it, Happened::Succeeded(call) if earns(*call, name));
    let times = |name: &str| happened.iter().map(|it| places(it, name).count()).sum::<u32>();
    let calls_of = |name: &str| -> Vec<usize> {
        (0..happened.len()).filter(|number| called(&happened[*number], name)).collect()
    };
    match says {
        Property::NeverBefore { call, needs } => {
            calls_of(call).into_iter().any(|number| !happened[..number].iter().any(|it| succeeded(it, needs)))
        }
        Property::NeverWithoutSince { call, needs, since } => calls_of(call).into_iter().any(|number| {
            let here = &happened[number];
            let latest = happened[..number].iter().rposition(|it| called(it, since)).unwrap_or(0);
            places(here, call).any_after(places(here, since))
                || !happened[latest..number].iter().any(|it| succeeded(it, needs))
        }),
        Property::NeverAfter { call, after } => calls_of(call).into_iter().any(|number| {
            let here = &happened[number];
            places(here, call).any_after(places(here, after))
                || happened[..number].iter().any(|it| called(it, after))
        }),
        Property::AtMost { count, call } => u64::from(times(call)) > *count,
        Property::Impossible(call) | Property::Possible(call) => times(call) > 0,
        Property::NeverTogether(one, other) => times(one) > 0 && times(other) > 0,
        Property::HumanBefore(name) => happened
            .iter()
            .any(|it| matches!(it, Happened::Called(call, human) if !human && is_of(*call, name).any())),
        Property::StaysPossible(_) => false,
    }
}

fn check_of(says: &Property) -> &'static str {
    match says {
        Property::NeverBefore { .. } => checks::NEVER_BEFORE,
        Property::NeverWithoutSince { .. } => checks::NEVER_WITHOUT,
        Property::NeverAfter { .. } => checks::NEVER_AFTER,
        Property::NeverTogether(..) => checks::NEVER_TOGETHER,
        Property::AtMost { .. } => checks::AT_MOST,
        Property::Possible(_) => checks::POSSIBLE,
        Property::Impossible(_) => checks::IMPOSSIBLE,
        Property::StaysPossible(_) => checks::STAYS_POSSIBLE,
        Property::HumanBefore(_) => checks::HUMAN_BEFORE,
    }
}

/// How one statement of a policy is edited.
type Edit = (Index, Index, Index);

/// Everything the prover says about a policy and an edit of it, and their sessions do not bear out.
fn doubt(small: &SmallPolicy, edit: &Edit, tally: &mut Tally) -> Vec<Wrong> {
    let new = edited(small, edit.0, edit.1, edit.2);
    let mut calls = small.calls();
    let more: Vec<Call> = new.calls().into_iter().filter(|call| !calls.contains(call)).collect();
    calls.extend(more);
    let world = match World::new(small, calls.clone()) {
        Ok(world) => world,
        Err(mistakes) => {
            count(
                tally,
                format!("policies that do not load: {}", mistakes.lines().next().unwrap_or_default()),
            );
            return Vec::new();
        }
    };
    count(tally, if world.is_closed() { "policies seen whole" } else { "policies seen in part" });
    let said = prover::prove(&world.rulebook);
    count(tally, if said.left_out == 0 { "policies proved whole" } else { "policies proved in part" });
    let mut wrong = Vec::new();
    for claim in &said.claims {
        wrong.extend(doubt_claim(&world, claim, tally));
    }
    for finding in &said.findings {
        wrong.extend(doubt_finding(&world, finding, tally));
    }
    wrong.extend(doubt_living(&world, &said, tally));
    if new != *small {
        match World::new(&new, calls) {
            Ok(new) => wrong.extend(doubt_diff(&world, &new, tally)),
            Err(_) => count(tally, "edits that do not load"),
        }
    }
    wrong
}

fn doubt_claim(world: &World<'_>, claim: &SaidClaim, tally: &mut Tally) -> Vec<Wrong> {
    let check = check_of(&claim.says);
    let file = world.small.file(&claim.file).unwrap();
    let Some(holds) = claim.holds else {
        count(tally, format!("{check}: undecided"));
        return Vec::new();
    };
    count(tally, format!("{check}: {}", if holds { "holds" } else { "does not" }));
    let wrong = |what: String| vec![Wrong { check, what: format!("claim {}: {what}", claim.text) }];
    let [turns, flights] = world.about(file, &claim.says, false);
    let happens = |walked: Option<Walked>| walked.and_then(Walked::happens);
    let is_shown = matches!(claim.says, Property::Possible(_)) == holds;
    if !is_shown {
        for (walked, how) in [(turns, "one after another"), (flights, "in flight")] {
            if happens(walked) == Some(true) {
                return wrong(format!("proof says {holds}, but with calls {how} {walked:?}"));
            }
        }
        let is_safety = !matches!(claim.says, Property::Possible(_) | Property::StaysPossible(_));
        let [turns, flights] = world.about(file, &claim.says, true);
        return match is_safety && (happens(turns) == Some(true) || happens(flights) == Some(true)) {
            true => vec![Wrong {
                check: checks::MENTIONS,
                what: format!(
                    "claim {}: proved, but what may be one is let pass: {turns:?} {flights:?}",
                    claim.text
                ),
            }],
            false => Vec::new(),
        };
    }
    let Some(shown) = &claim.shown else {
        // What is dead from the start, and what a stranger can do, needs no session.
        let is_plain = match claim.says {
            Property::StaysPossible(_) => turns == Some(Walked::Shortest(0)) || turns.is_none(),
            Property::Possible(_) => happens(turns) != Some(false) || happens(flights) != Some(false),
            _ => false,
        };
        return if is_plain {
            Vec::new()
        } else {
            wrong(format!("proof says {holds}, but shows nothing: {turns:?}"))
        };
    };
    let replayed = replay(&world.rulebook, shown);
    if replayed.passed < shown.letters.len() {
        return wrong(format!("the session shown is refused at {}: {shown:?}", replayed.passed + 1));
    }
    if !is_borne_out(world, file, &claim.says, shown, replayed) {
        return wrong(format!("the session shown does not show it: {shown:?}"));
    }
    count(tally, "sessions of claims that were replayed");
    match turns {
        Some(Walked::Shortest(shortest))
            if claim.is_shortest && shown.is_in_turn() && shown.letters.len() > shortest =>
        {
            let what =
                format!("shown as shortest by {} calls, but {turns:?}: {shown:?}", shown.letters.len());
            vec![Wrong { check: checks::CLAIM_SHORTEST, what: format!("claim {}: {what}", claim.text) }]
        }
        _ => Vec::new(),
    }
}

/// Whether a session that was let pass breaks a claim, or does what is claimed to be possible.
fn is_borne_out(
    world: &World<'_>,
    file: usize,
    says: &Property,
    shown: &ShownDifference,
    replayed: Replayed,
) -> bool {
    let names: HashMap<&str, Vec<Meant>> = says
        .names()
        .into_iter()
        .map(|name| (name, world.meaning(file, name, &says.names(), &shown.calls)))
        .collect();
    let is_of = |call: usize, name: &str| names[name][call].is;
    let earns = |call: usize, name: &str| names[name][call].earns;
    let Property::StaysPossible(name) = says else {
        return is_broken(says, &replayed.happened, is_of, earns);
    };
    let is_before = !replayed
        .happened
        .iter()
        .any(|it| matches!(it, Happened::Called(call, _) if is_of(*call, name).any()));
    is_before && never_again(world, &world.meant(file, name, &[]), replayed.end)
}

/// Whether no call of a name passes from here on, as far as that is seen.
fn never_again(world: &World<'_>, meant: &[Meant], end: Stage) -> bool {
    let after = Space::explore_after(&world.rulebook, &world.calls, flights(world.small), end);
    let is_it = |letter: Letter| letter.called().is_some_and(|call| meant[call].is.any());
    after.walk((), |(), letter, _| (!is_it(letter)).then_some(())).happens() != Some(true)
}

fn doubt_finding(world: &World<'_>, finding: &SaidFinding, tally: &mut Tally) -> Vec<Wrong> {
    count(tally, format!("found: {}", finding.code));
    let wrong = |check: &'static str, what: String| {
        vec![Wrong { check, what: format!("{} ({}): {what}", finding.code, finding.message) }]
    };
    let Some(rule) = finding.rules.first() else { return Vec::new() };
    let Some((file, line)) = world.place(*rule) else { return Vec::new() };
    let beside = world.names_of(*rule);
    let beside: Vec<&str> = beside.iter().map(|name| &**name).collect();
    match finding.code {
        "dead-tool" | "circular" | "unreachable-approval" => {
            let living = finding.tools.iter().find(|tool| world.lives(file, tool, &beside) == Some(true));
            living.map_or_else(Vec::new, |tool| wrong(checks::DEAD, format!("a session calls `{tool}`")))
        }
        "redundant" | "unreachable-limit" => {
            let without = match world.small.files[file].statement_at(file, line) {
                Some(statement) => world.small.without(file, statement),
                None => world.small.without_file(file),
            };
            let Ok(without) = World::new(&without, world.calls.clone()) else {
                count(tally, "redundant rules that cannot be taken out alone");
                return Vec::new();
            };
            let differ =
                |one: &Move, other: &Move| (one.decision, one.passes) != (other.decision, other.passes);
            for (with, without) in [(&world.turns, &without.turns), (&world.flights, &without.flights)] {
                let walked = with.differs(without, false, differ);
                if walked.happens() == Some(true) {
                    return wrong(checks::REDUNDANT, format!("without it {walked:?} is decided otherwise"));
                }
            }
            Vec::new()
        }
        "trap" | "exhausted" => {
            let Some(shown) = &finding.shown else {
                return wrong(checks::LOST, "nothing is shown".to_owned());
            };
            let replayed = replay(&world.rulebook, shown);
            if replayed.passed < shown.letters.len() {
                return wrong(
                    checks::LOST,
                    format!("the session is refused at {}: {shown:?}", replayed.passed + 1),
                );
            }
            let back = finding
                .tools
                .iter()
                .find(|tool| !never_again(world, &world.meant(file, tool, &beside), replayed.end.clone()));
            back.map_or_else(Vec::new, |tool| wrong(checks::LOST, format!("`{tool}` passes after {shown:?}")))
        }
        _ => Vec::new(),
    }
}

/// Whatever no session can call is found, unless somebody blocks it in so many words.
fn doubt_living(world: &World<'_>, said: &prover::Said, tally: &mut Tally) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (number, file) in world.small.files.iter().enumerate() {
        if file.language != Language::Rules {
            continue;
        }
        for name in world.small.names.iter().filter(|name| file.knows(name)) {
            let lives = world.lives(number, name, &[]);
            count(
                tally,
                match lives {
                    Some(true) => "names: living",
                    Some(false) => "names: dead",
                    None => "names: not seen whole",
                },
            );
            if lives != Some(false) || is_plainly_blocked(world, number, name) {
                continue;
            }
            let is_it =
                |it: &SaidFinding| ["dead-tool", "circular"].contains(&it.code) && it.tools.contains(name);
            if !said.findings.iter().any(is_it) {
                if said.undecided + said.left_out > 0 {
                    count(tally, "names: dead, perhaps undecided");
                } else {
                    let what = format!("no session calls `{name}` of file {number}, and nothing says so");
                    wrong.push(Wrong { check: checks::ALL_DEAD, what });
                }
            }
        }
    }
    wrong
}

fn is_plainly_blocked(world: &World<'_>, file: usize, name: &str) -> bool {
    let policy = &world.rulebook.policy;
    let is_plain = |rule: RuleId| {
        let blocks = policy.net(rule).is_some_and(|net| matches!(net.statement, Statement::Block { .. }));
        let clause = policy.clause(rule);
        blocks || clause.is_some_and(|clause| clause.wants == Decision::Block)
    };
    let meant = world.meant(file, name, &[]);
    let mut calls = world.calls.iter().zip(meant.iter()).filter(|(_, meant)| meant.is.any());
    calls.all(|(call, _)| {
        let call = call.clone().into();
        let verdict =
            judge(&world.rulebook, &lockgate::engine::Session::default(), &call, Human::Reachable).verdict;
        verdict.obstacles.iter().filter_map(|it| it.rule).any(is_plain)
    })
}

/// Everything `diff` says about two policies and their sessions do not bear out.
fn doubt_diff(old: &World<'_>, new: &World<'_>, tally: &mut Tally) -> Vec<Wrong> {
    let said = prover::diff(&old.rulebook, &new.rulebook).unwrap();
    let mut wrong: Vec<Wrong> =
        said.changes.iter().filter_map(|change| doubt_change(old, new, change)).collect();
    if said.undecided > 0 {
        count(tally, "differences: undecided");
        return wrong;
    }
    for direction in DIRECTIONS {
        let differ = |old: &Move, new: &Move| is_change(direction, old, new);
        let [turns, flights] = [(&old.turns, &new.turns), (&old.flights, &new.flights)]
            .map(|(old, new)| old.differs(new, false, differ));
        let shown = said.changes.iter().filter(|change| change.direction == direction);
        let refused = old.turns.differs(&new.turns, true, differ);
        if said.changes.is_empty() && turns.happens() == Some(false) && refused.happens() == Some(true) {
            let what = format!("{direction:?} after refusals is not told: {refused:?}");
            wrong.push(Wrong { check: checks::REFUSALS, what });
        }
        let is_shortest = |change: &&SaidChange| change.is_shortest;
        let sessions = shown.clone().filter(is_shortest).filter_map(|change| change.shown.as_ref());
        let shortest = sessions.filter(|it| it.is_in_turn()).map(|it| it.letters.len()).min();
        let happens = [turns, flights].map(Walked::happens);
        let none = shown.clone().next().is_none();
        count(tally, format!("differences: {}{direction:?}", if none { "not " } else { "" }));
        if none && happens.contains(&Some(true)) {
            let check = if said.changes.is_empty() { checks::SAME } else { checks::DIRECTIONS };
            wrong.push(Wrong { check, what: format!("{direction:?} is not told: {turns:?} {flights:?}") });
        }
        if let (Some(shown), Walked::Shortest(seen)) = (shortest, turns)
            && shown > seen
        {
            let what = format!("{direction:?}: shown by {shown} calls, but {turns:?}");
            wrong.push(Wrong { check: checks::SHORTEST, what });
        }
    }
    let texts =
        |world: &World<'_>| -> String { world.small.texts().into_iter().map(|(_, text)| text).collect() };
    wrong.iter_mut().for_each(|it| it.what += &format!("\nold:\n{}new:\n{}", texts(old), texts(new)));
    wrong
}

const DIRECTIONS: [Direction; 4] =
    [Direction::NewlyAllowed, Direction::NewlyBlocked, Direction::NewlyAsked, Direction::NoLongerAsked];

/// Whether the same call is decided differently, in this direction.
fn is_change(direction: Direction, old: &Move, new: &Move) -> bool {
    let passes = |it: &Move| it.decision < Decision::Ask;
    match direction {
        Direction::NewlyAllowed => old.decision == Decision::Block && new.decision != Decision::Block,
        Direction::NewlyBlocked => old.decision != Decision::Block && new.decision == Decision::Block,
        Direction::NewlyAsked => passes(old) && new.decision == Decision::Ask,
        Direction::NoLongerAsked => old.decision == Decision::Ask && passes(new),
    }
}

fn doubt_change(old: &World<'_>, new: &World<'_>, change: &SaidChange) -> Option<Wrong> {
    let wrong = |what: String| {
        Some(Wrong { check: checks::CHANGES, what: format!("{:?}: {what}", change.direction) })
    };
    let Some(shown) = &change.shown else { return wrong("no session is shown".to_owned()) };
    let [olds, news] = [old, new].map(|world| replay(&world.rulebook, shown));
    let all = shown.letters.len();
    if olds.passed + 1 < all || news.passed + 1 < all {
        return wrong(format!("refused at {} and {}: {shown:?}", olds.passed + 1, news.passed + 1));
    }
    match (olds.last, news.last) {
        (Some(old), Some(new)) if is_change(change.direction, &old, &new) => None,
        lasts => wrong(format!("the last call is no such change: {lasts:?} in {shown:?}")),
    }
}

/// What came of doubting a family.
struct Report {
    tally: Tally,
    wrong: BTreeMap<&'static str, String>,
}

/// How many policies of a family are doubted.
fn worlds(family: Family) -> u64 {
    let times = std::env::var("WORLDS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    times
        * match family {
            Family::OneLine => 800,
            Family::Nets | Family::Mixtures => 600,
            Family::WhenThen | Family::Rulesets | Family::Workflows | Family::Conditions => 400,
        }
}

fn report(family: Family) -> &'static Report {
    static REPORTS: LazyLock<Mutex<BTreeMap<Family, &'static OnceLock<Report>>>> =
        LazyLock::new(Mutex::default);
    let cell = *REPORTS.lock().unwrap().entry(family).or_insert_with(|| Box::leak(Box::default()));
    cell.get_or_init(|| doubt_family(family))
}

/// Doubts the policies of a family on two threads; of each check the first failure is made smaller and kept.
fn doubt_family(family: Family) -> Report {
    let first = match ProptestConfig::default().rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => 1,
    } << 32;
    let half = |of: u64| {
        let mut report = Report { tally: Tally::new(), wrong: BTreeMap::new() };
        for seed in (0..worlds(family)).filter(|seed| seed % 2 == of) {
            let (small, edit) = world_of(family, first + seed);
            for wrong in doubt(&small, &edit, &mut report.tally) {
                count(&mut report.tally, format!("WRONG: {}", wrong.check));
                report.wrong.entry(wrong.check).or_insert_with(|| shrunk(small.clone(), &edit, wrong));
            }
        }
        report
    };
    let mut report = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut report = half(0);
        let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        other.tally.into_iter().for_each(|(what, count)| *report.tally.entry(what).or_default() += count);
        other.wrong.into_iter().for_each(|(check, what)| {
            report.wrong.entry(check).or_insert(what);
        });
        report
    });
    report.tally.insert("policies".to_owned(), usize::try_from(worlds(family)).unwrap());
    report
}

fn world_of(family: Family, seed: u64) -> (SmallPolicy, Edit) {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let worlds = (policies(family), any::<Edit>());
    worlds.new_tree(&mut TestRunner::new(config)).unwrap().current()
}

/// The same disagreement about a policy that cannot be made smaller.
fn shrunk(mut small: SmallPolicy, edit: &Edit, mut wrong: Wrong) -> String {
    let mut tries = 40;
    'smaller: while tries > 0 {
        for smaller in small.smaller() {
            tries -= 1;
            let same =
                doubt(&smaller, edit, &mut Tally::new()).into_iter().find(|it| it.check == wrong.check);
            if let Some(same) = same {
                (small, wrong) = (smaller, same);
                continue 'smaller;
            }
            if tries == 0 {
                break;
            }
        }
        break;
    }
    let files: String = small.texts().iter().map(|(name, text)| format!("--- {name}\n{text}")).collect();
    format!("{}\n{files}", wrong.what)
}

/// No policy of a family disagrees with its sessions about this.
fn agrees(family: Family, check: &'static str) {
    if let Some(wrong) = report(family).wrong.get(check) {
        panic!("{check}\n{wrong}");
    }
}

/// The tests of a family: no check finds a policy that disagrees, and enough policies were seen whole.
macro_rules! doubts {
    ($($module:ident: $family:expr, $whole:expr;)*) => {
        $(mod $module {
            use super::{agrees, checks, report};
            use lockgate_testkit::generate::proofs::Family;

            doubts! { $family;
                no_session_comes_before_what_a_proof_puts_first: NEVER_BEFORE,
                no_session_goes_without_what_a_proof_wants_again: NEVER_WITHOUT,
                no_session_goes_on_after_what_a_proof_ends: NEVER_AFTER,
                no_session_joins_what_a_proof_keeps_apart: NEVER_TOGETHER,
                no_session_calls_more_often_than_a_proof_lets_it: AT_MOST,
                what_is_proved_possible_is_done_by_a_session: POSSIBLE,
                what_is_proved_impossible_is_done_by_none: IMPOSSIBLE,
                what_is_proved_to_stay_possible_stays_so: STAYS_POSSIBLE,
                no_session_goes_round_a_human_that_is_proved: HUMAN_BEFORE,
                a_claim_is_shown_by_a_shortest_session: CLAIM_SHORTEST,
                no_script_may_do_what_a_proof_rules_out: MENTIONS,
                dead_tools_are_dead: DEAD,
                all_dead_tools_are_found: ALL_DEAD,
                redundant_rules_change_nothing: REDUNDANT,
                what_is_lost_stays_lost: LOST,
                what_is_called_the_same_is_told_apart_by_no_session: SAME,
                refusals_leave_nothing_behind_that_tells_them_apart: REFUSALS,
                a_change_is_as_it_is_shown: CHANGES,
                a_change_is_found_in_each_direction: DIRECTIONS,
                a_change_is_shown_by_a_shortest_session: SHORTEST,
            }

            #[test]
            fn counts() {
                let tally = &report($family).tally;
                println!("{}: {tally:#?}", stringify!($module));
                for (what, least) in [("policies seen whole", $whole), ("sessions of claims that were replayed", 500)] {
                    let seen = tally.get(what).copied().unwrap_or_default();
                    assert!(seen >= least, "only {seen} {what}: {tally:#?}");
                }
            }
        })*
    };
    ($family:expr; $($name:ident: $check:ident,)*) => {
        $(#[test] fn $name() { agrees($family, checks::$check); })*
    };
}

doubts! {
    one_line_rules: Family::OneLine, 300;
    drawn_nets: Family::Nets, 300;
    when_then_rules: Family::WhenThen, 150;
    rulesets: Family::Rulesets, 150;
    workflows: Family::Workflows, 30;
    mixtures: Family::Mixtures, 130;
    conditions: Family::Conditions, 100;
}

#[test]
fn what_rules_that_look_at_inputs_let_pass_is_mostly_decided() {
    let tally = &report(Family::Conditions).tally;
    for check in [checks::POSSIBLE, checks::IMPOSSIBLE, checks::HUMAN_BEFORE] {
        let of = |end: &str| tally.get(&format!("{check}: {end}")).copied().unwrap_or_default();
        let (open, all) = (of("undecided"), of("undecided") + of("holds") + of("does not"));
        assert!(all > 50 && open * 20 < all, "{open} of {all} undecided: {tally:#?}");
    }
}

/// Every file of the examples that is a policy by itself.
fn examples() -> Vec<(String, String)> {
    let mut folders =
        vec![std::path::PathBuf::from(format!("{}/../../examples", env!("CARGO_MANIFEST_DIR")))];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if ["rules", "yaml", "json"].contains(&ending) {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.file_name().unwrap().to_str().unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

/// Every statement of a text by its lines, dropped or weakened: what it was, where it stood, and the text after.
fn mutants(name: &str, text: &str) -> Vec<(String, std::ops::Range<usize>, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let replaced = |range: std::ops::Range<usize>, by: Option<String>| -> String {
        let before = lines[..range.start].iter().map(ToString::to_string);
        let after = lines[range.end..].iter().map(ToString::to_string);
        before.chain(by).chain(after).map(|line| line + "\n").collect()
    };
    let mut mutants = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if name.ends_with(".rules") {
            let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
            if !["require", "limit", "block"].contains(words.first().unwrap_or(&"")) {
                continue;
            }
            mutants.push((format!("without `{line}`"), at..at + 1, replaced(at..at + 1, None)));
            if let ["limit", tool, "to", count, "per", scope] = words.as_slice() {
                let weaker = format!("limit {tool} to {} per {scope}", count.parse::<u64>().unwrap() + 1);
                mutants.push((format!("`{line}` weakened"), at..at + 1, replaced(at..at + 1, Some(weaker))));
            }
        } else if line.starts_with("  - ") {
            let goes_on = |line: &&&str| line.starts_with("   ") || line.trim().is_empty();
            let end = at + 1 + lines[at + 1..].iter().take_while(goes_on).count();
            mutants.push((format!("without `{line}`"), at..end, replaced(at..end, None)));
        }
    }
    mutants
}

#[test]
fn every_mutant_of_an_example_is_told_apart_unless_the_rule_is_redundant() {
    let mut tally = Tally::new();
    let mut missed = Vec::new();
    for (name, text) in examples() {
        let Ok(original) = load(&[(name.clone(), text.clone())]) else {
            count(&mut tally, "examples that need another file");
            continue;
        };
        let proved = prover::prove(&original);
        for (mutant, lines, weaker) in mutants(&name, &text) {
            let Ok(weaker) = load(&[(name.clone(), weaker)]) else {
                count(&mut tally, "mutants that do not load");
                continue;
            };
            let said = prover::diff(&original, &weaker).unwrap();
            let stands_there = |rule: &RuleId| {
                original.policy.rule(*rule).is_some_and(|rule| lines.contains(&(rule.place.line - 1)))
            };
            let is_idle = proved.findings.iter().any(|finding| {
                let codes =
                    ["redundant", "unreachable-limit", "dead-tool", "circular", "unreachable-approval"];
                codes.contains(&finding.code) && finding.rules.iter().any(stands_there)
            });
            let is_told = !said.changes.is_empty();
            match (is_told, is_idle, said.undecided > 0) {
                (true, ..) => count(&mut tally, "mutants told apart"),
                (_, true, _) => count(&mut tally, "mutants of redundant rules"),
                (_, _, true) => count(&mut tally, "mutants undecided"),
                _ => missed.push(format!("{name}: {mutant}: {:?}", said.changes)),
            }
        }
    }
    println!("{tally:#?}");
    assert!(missed.is_empty(), "not told apart:\n{}", missed.join("\n"));
    assert!(tally["mutants told apart"] > 80, "{tally:#?}");
}

/// The codes that an example says it is about, in its line `# finds: CODE, CODE`; none where it is about nothing.
fn expected(text: &str) -> Option<Vec<&str>> {
    let line = text.lines().find_map(|line| line.strip_prefix("# finds:"))?;
    let mut codes: Vec<&str> = line.split(',').map(str::trim).filter(|code| *code != "nothing").collect();
    codes.sort_unstable();
    Some(codes)
}

/// The examples of what is proved, each a file or a folder: its files by name.
fn classics() -> Vec<(String, Vec<(String, String)>)> {
    let folder = format!("{}/../../examples/proofs", env!("CARGO_MANIFEST_DIR"));
    let read = |path: &std::path::Path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    let mut classics = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let mut files = Vec::new();
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| read(&entry.unwrap().path())));
            files.sort();
        } else if path.extension().is_none_or(|it| it != "md") {
            files.push(read(&path));
        }
        if !files.is_empty() {
            classics.push((read_name(&path), files));
        }
    }
    classics.sort();
    classics
}

fn read_name(path: &std::path::Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn the_classics_are_proved_as_they_say() {
    let classics = classics();
    let page =
        std::fs::read_to_string(format!("{}/../../examples/proofs/README.md", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
    let mut wrong = Vec::new();
    for (name, files) in &classics {
        assert!(page.contains(&format!("`{name}`")), "the page says what {name} shows");
        let texts: String = files.iter().map(|(_, text)| text.as_str()).collect();
        assert!(
            texts.contains("\nclaim ") && texts.contains("\nexample:"),
            "{name} claims something and shows it"
        );
        let expected = files
            .iter()
            .find_map(|(_, text)| expected(text))
            .unwrap_or_else(|| panic!("{name} says what it finds"));
        let rulebook = load(files).unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
        let proved = prover::prove(&rulebook);
        let mut found: Vec<&str> = proved.findings.iter().filter(|it| it.is_loud).map(|it| it.code).collect();
        // What each net and workflow comes to by itself is told beside.
        let alone = lockgate::engine::verify(&rulebook.policy).1;
        found.extend(alone.iter().filter(|it| it.severity >= Severity::Warning).map(|it| it.code));
        found.sort_unstable();
        if found != expected {
            wrong.push(format!("{name}: {expected:?} is expected, {found:?} found"));
        }
        let undecided: Vec<&str> =
            proved.claims.iter().filter(|it| it.holds.is_none()).map(|it| it.text.as_str()).collect();
        if !undecided.is_empty() {
            wrong.push(format!("{name}: {undecided:?} undecided"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(classics.len() >= 6, "{}", classics.len());
}

#[test]
fn the_operations_desk_has_as_many_rules_as_it_says() {
    let (_, files) = classics().into_iter().find(|(name, _)| name == "operations.rules").unwrap();
    let count = |word: &str| files[0].1.lines().filter(|line| line.split(' ').next() == Some(word)).count();
    let rules = ["require", "limit", "block"].map(count).into_iter().sum::<usize>();
    assert_eq!((rules, count("claim") >= 15, count("example:") >= 5), (56, true, true));
    assert!(files[0].1.contains("56 rules"), "and says so");
}

fn book(files: &[(&str, &str)]) -> Rulebook {
    let files: Vec<_> = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    load(&files).unwrap_or_else(|mistakes| panic!("{files:?}\n{mistakes}"))
}

/// Whether the only claim of a policy holds.
fn holds(files: &[(&str, &str)]) -> Option<bool> {
    let proved = prover::prove(&book(files));
    let [claim] = proved.claims.as_slice() else { panic!("one claim") };
    claim.holds
}

/// How many of these calls the gate lets pass in one session, humans agreeing and each ending well.
fn passing(files: &[(&str, &str)], calls: &[Call]) -> Vec<bool> {
    let gate = Gate::new(std::sync::Arc::into_inner(book(files).policy).unwrap());
    let play = |(number, call): (usize, &Call)| {
        let call = Call { id: number.to_string(), ..call.clone() };
        let passes = gate.call_with(&call, &mut Scripted::new([Answer::Granted])).lets_pass();
        if passes {
            gate.result(&Outcome::success(&call)).unwrap();
        }
        passes
    };
    calls.iter().enumerate().map(play).collect()
}

fn bash(command: &str) -> Call {
    Call::new("1", "bash").with("command", command)
}

#[test]
fn a_claim_about_a_name_that_no_rule_knows_is_about_an_open_tool() {
    for claim in
        ["stranger impossible", "never stranger before a", "at most 0 stranger", "never stranger after a"]
    {
        let text = format!("require a before b\nclaim {claim}");
        let files = [("p.rules", text.as_str())];
        assert_eq!(passing(&files, &[Call::new("1", "a"), Call::new("1", "stranger")]), [true, true]);
        assert_ne!(holds(&files), Some(true), "{claim}");
    }
}

#[test]
fn one_script_earns_twice_and_is_one_call_for_the_rules_of_another_file() {
    let files = [
        (
            "1.rules",
            "map bash.command cp as backup\nmap bash.command pytest as test\nrequire backup before deploy\n\
             require test before deploy\nclaim deploy impossible",
        ),
        ("2.rules", "limit bash to 1 per session\nblock backup\nblock test"),
    ];
    assert_eq!(passing(&files, &[bash("cp a b && pytest"), Call::new("1", "deploy")]), [true, true]);
    assert_ne!(holds(&files), Some(true));
}

#[test]
fn one_command_has_a_name_in_each_file() {
    let files = [
        ("1.rules", "map bash.command cp as backup\nrequire backup before deploy\nclaim deploy impossible"),
        ("2.rules", "map bash.command cp as copy\nrequire copy before deploy"),
        ("3.rules", "limit bash to 1 per session\nblock backup\nblock copy"),
    ];
    assert_eq!(passing(&files, &[bash("cp a b"), Call::new("1", "deploy")]), [true, true]);
    assert_ne!(holds(&files), Some(true));
}

#[test]
fn a_claim_means_what_the_rules_of_its_own_file_mean() {
    let files = [
        ("1.rules", "map bash.command cp as backup\nblock zz"),
        ("2.rules", "require a before bash\nclaim at most 0 bash"),
    ];
    let files_without = [
        ("1.rules", "map bash.command cp as backup\nblock zz"),
        ("2.rules", "block x\nclaim never bash before a"),
    ];
    assert_eq!(passing(&files_without, &[bash("cp a b")]), [true]);
    assert_ne!(holds(&files), Some(true));
    assert_ne!(holds(&files_without), Some(true));
    let blocked = [
        ("1.rules", "map bash.command cp as backup\nblock bash"),
        ("2.rules", "limit bash to 9 per session\nclaim bash impossible"),
    ];
    assert_eq!(passing(&blocked, &[bash("cp a b")]), [true]);
    assert_ne!(holds(&blocked), Some(true));
}

#[test]
fn a_tool_whose_own_name_has_a_dot_is_no_action_of_another() {
    let files = [("p.rules", "limit d.x to 3 per session\nblock d\nclaim d.x impossible")];
    let passes = passing(&files, &[Call::new("1", "d.x")]) == [true];
    assert!(
        !passes || holds(&files) != Some(true),
        "the gate lets `d.x` pass, the proof calls it impossible"
    );
}

#[test]
fn a_session_with_an_action_is_played_as_one() {
    let files =
        [("p.rules", "require d before a\nlimit d.y to 3 per session\nclaim never a and d.y in one session")];
    let calls = [Call::new("1", "d").with("action", "y"), Call::new("1", "a")];
    assert_eq!(passing(&files, &calls), [true, true]);
    assert_eq!(holds(&files), Some(false));
}

#[test]
fn an_action_of_a_tool_is_a_call_of_the_tool() {
    let net = "kind: Net\nname: n\nplaces: [p]\nmarking: {p: 1}\ntransitions:\n  \
               - {name: t, inputs: [p], outputs: [p], tools: [d.x]}\n  \
               - {name: u, inputs: [p, p], outputs: [p], tools: [d]}";
    let files = [("p.rules", "limit d to 3 per session\nclaim d impossible"), ("n.yaml", net)];
    assert_eq!(passing(&files, &[Call::new("1", "d").with("action", "x")]), [true]);
    assert_ne!(holds(&files), Some(true));
}

#[test]
fn an_action_that_no_rule_speaks_of_earns_for_its_tool() {
    let text = "require d before d.y\nrequire d.y before d\nrequire d before b\nclaim b impossible";
    let files = [("p.rules", text)];
    let calls = [Call::new("1", "d").with("action", "other"), Call::new("1", "b")];
    assert_eq!(passing(&files, &calls), [true, true]);
    assert_ne!(holds(&files), Some(true));
}

#[test]
fn what_stays_possible_is_asked_until_the_first_call() {
    let files = [("p.rules", "limit b to 1 per session\nclaim b stays possible")];
    assert_eq!(passing(&files, &[Call::new("1", "b"), Call::new("1", "b")]), [true, false]);
    assert_eq!(holds(&files), Some(true));
}

#[test]
fn a_default_verdict_closes_what_no_rule_speaks_of() {
    let when = "default_verdict: block\nrules: [{id: x, when: {tool: x}, then: allow}]";
    for claim in ["a possible", "stranger possible", "a stays possible"] {
        let text = format!("limit a to 3 per session\nclaim {claim}");
        let files = [("p.rules", text.as_str()), ("w.yaml", when)];
        assert_eq!(passing(&files, &[Call::new("1", "a"), Call::new("1", "stranger")]), [false, false]);
        assert_ne!(holds(&files), Some(true), "{claim}");
    }
}

#[test]
fn an_answer_that_stands_is_a_human_before_each_call() {
    let when = "rules: [{id: x, when: {tool: x}, then: approve, approval_strategy: per_session}]";
    let files = [("p.rules", "limit x to 3 per session\nclaim human before x"), ("w.yaml", when)];
    let gate = Gate::new(std::sync::Arc::into_inner(book(&files).policy).unwrap());
    let mut human = Scripted::new([Answer::Granted]);
    let decided = ["1", "2"].map(|id| gate.call_with(&Call::new(id, "x"), &mut human).lets_pass());
    assert_eq!(decided, [true, true], "asked once, passed twice");
    assert_eq!(holds(&files), Some(true));
}

#[test]
fn calls_in_flight_do_no_more_than_calls_one_after_another() {
    let net = "kind: Net\nname: n\nplaces: [p, q]\nmarking: {p: 1}\ntransitions:\n  \
               - {name: t, inputs: [p], outputs: [p], tools: [test]}\n  \
               - {name: e, inputs: [p], outputs: [q], tools: [edit]}\n  \
               - {name: d, inputs: [q], outputs: [q], tools: [deploy]}";
    let files = [("p.rules", "require test before deploy\nclaim at most 1 deploy"), ("n.yaml", net)];
    let gate = Gate::new(std::sync::Arc::into_inner(book(&files).policy).unwrap());
    let mut calls = 0;
    let mut call = |tool: &str| {
        calls += 1;
        let call = Call::new(calls.to_string(), tool);
        (gate.call(&call).lets_pass(), call)
    };
    let (one, two) = (call("test"), call("test"));
    gate.result(&Outcome::success(&one.1)).unwrap();
    assert!(call("edit").0);
    let first = call("deploy").0;
    gate.result(&Outcome::success(&two.1)).unwrap();
    let second = call("deploy").0;
    assert!(!(first && second) || holds(&files) != Some(true), "two deployments, and at most one is proved");
}

#[test]
fn nobody_is_newly_asked_about_what_is_newly_blocked() {
    let old = book(&[("p.rules", "limit a to 2 per session")]);
    let new = book(&[("p.rules", "limit a to 2 per session\nblock a\nrequire human-approval before a")]);
    let changes = prover::diff(&old, &new).unwrap().changes;
    assert!(changes.iter().all(|change| change.direction == Direction::NewlyBlocked), "{changes:?}");
}

#[test]
fn a_map_that_only_one_policy_has_opens_what_the_other_blocks() {
    let (old, new) = ("block bash", "map bash.command cp as backup\nblock bash");
    assert_eq!(passing(&[("p.rules", old)], &[bash("cp a b")]), [false]);
    assert_eq!(passing(&[("p.rules", new)], &[bash("cp a b")]), [true]);
    let directions = |old: &str, new: &str| -> Vec<Direction> {
        let changes = prover::diff(&book(&[("p.rules", old)]), &book(&[("p.rules", new)])).unwrap().changes;
        changes.iter().map(|change| change.direction).collect()
    };
    assert_eq!(directions(old, new), [Direction::NewlyAllowed]);
    assert_eq!(directions(new, old), [Direction::NewlyBlocked]);
}

#[test]
fn an_action_that_only_one_policy_speaks_of_is_a_call_of_the_tool_to_the_other() {
    let (old, new) = ("block d", "block d\nlimit d.y to 1 per session");
    let changes = prover::diff(&book(&[("p.rules", old)]), &book(&[("p.rules", new)])).unwrap().changes;
    let action = [Call::new("1", "d").with("action", "y")];
    assert_eq!(passing(&[("p.rules", old)], &action), passing(&[("p.rules", new)], &action));
    let mut calls = changes.iter().flat_map(|change| &change.shown.as_ref().unwrap().calls);
    assert!(calls.all(|call| call.tool == "d.y"), "both block the action: {changes:?}");
}

#[test]
fn a_name_that_only_one_policy_speaks_of_is_open_under_the_other() {
    let (old, new) = ("limit b to 1 per session", "limit b to 1 per session\nblock a");
    let changes = prover::diff(&book(&[("p.rules", old)]), &book(&[("p.rules", new)])).unwrap().changes;
    let directions: Vec<_> = changes.iter().map(|change| change.direction).collect();
    assert_eq!(directions, [Direction::NewlyBlocked]);
}

#[test]
fn a_default_verdict_is_part_of_the_difference() {
    let when = "rules: [{id: x, when: {tool: x}, then: allow}]";
    let strict = format!("default_verdict: block\n{when}");
    let of = |text: &str| book(&[("p.rules", "limit a to 3 per session"), ("w.yaml", text)]);
    let said = prover::diff(&of(when), &of(&strict)).unwrap();
    assert!(!said.changes.is_empty() || said.undecided > 0, "`a` is newly blocked, and nothing says so");
}

#[test]
fn a_result_comes_after_its_own_call() {
    // Whoever calls `b` after a success of `a` has one since the latest call of `a`: it takes a failure to lose it.
    let proved = prover::prove(&book(&[("p.rules", "require a before b\nclaim never b without a since a")]));
    let shown = proved.claims[0].shown.as_ref().unwrap();
    assert_eq!(shown.letters.len(), 3, "{shown:?}");
}
