//! Weeks of bad luck in a moment: processes that die, events that come twice, late or never, answers that race, a
//! store that fails. All of it from one number.
//!
//! [`simulate`] plays one seed on any [`Rest`] and holds every verdict, every marking and the audit log against the
//! naive [`Model`]. Nothing here waits or depends on the machine, so a seed that fails fails again: its story is the
//! error. Races between threads are missing on purpose; they are in the contract of the stores.

#![expect(clippy::indexing_slicing, reason = "a simulation that goes wrong stops the test that plays it")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use fastrand::Rng;
use lockgate::engine::{
    Call, Decision, Gate, Outcome, Terms, Time,
    gate::{
        AnswerError, ApprovalId, Backend, LockedRow, Reach, RowWrite, SessionListing, StoreError,
        StoredAnswer,
        audit_log::{LogEntry, LogEvent},
    },
    languages::one_line,
    policy::{Severity, Source},
};
use serde_json::Map;

use crate::{
    contract::Rest,
    model::{Model, Verdict},
};

/// How many things happen in one story.
const STEPS: usize = 60;

/// How many processes there are at a time.
const PROCESSES: usize = 3;

const TOOLS: [&str; 4] = ["a", "b", "c", "d"];

const LEASE_MS: u64 = 10_000;
const APPROVAL_MS: u64 = 5_000;

/// Plays one seed.
///
/// # Errors
/// The story up to where something was not as the model says.
pub fn simulate(seed: u64, rest: &dyn Rest) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let policy = policy(&mut rng);
    let luck = Luck::default();
    let mut simulation = Simulation {
        rest,
        gates: Vec::new(),
        luck,
        model: Model::new(&policy),
        flights: BTreeMap::new(),
        asked: BTreeMap::new(),
        stored: 0,
        ids: 0,
        now: 1_000,
        story: format!("seed {seed}\n{policy}\n"),
        policy,
        rng,
    };
    simulation.run().map_err(|wrong| format!("{}\n=> {wrong}", simulation.story))
}

fn policy(rng: &mut Rng) -> String {
    let mut lines = BTreeSet::new();
    for _ in 0..rng.usize(1..5) {
        let tool = |rng: &mut Rng| TOOLS[rng.usize(0..TOOLS.len())];
        let (one, other) = (tool(rng), tool(rng));
        lines.insert(match rng.u8(0..6) {
            0 | 1 if one != other => format!("require {one} before {other}"),
            2 => format!("limit {one} to {} per session", rng.u8(1..4)),
            3 if one != other => format!("limit {one} to {} per {other}", rng.u8(1..3)),
            4 => format!("require human-approval before {one}"),
            5 if rng.bool() => format!("block {one}"),
            _ => format!("limit {one} to 2 per session"),
        });
    }
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

/// What goes wrong with the next thing that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfortune {
    /// The store does not answer.
    Away,
    /// Somebody else was first, so often.
    Conflict(u8),
    /// It is stored, and the process dies before it can say so.
    Untold,
    /// It is not stored, and the process dies.
    Unstored,
}

#[derive(Clone, Default)]
struct Luck(Arc<Mutex<(Option<Misfortune>, bool)>>);

impl Luck {
    fn with<T>(&self, change: impl FnOnce(&mut (Option<Misfortune>, bool)) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What goes wrong now, if anything does.
    fn strike(&self) -> Option<Misfortune> {
        self.with(|(next, _)| match *next {
            Some(Misfortune::Conflict(left)) => {
                *next = (left > 1).then_some(Misfortune::Conflict(left - 1));
                Some(Misfortune::Conflict(left))
            }
            other => {
                *next = None;
                other
            }
        })
    }

    fn stored(&self) {
        self.with(|(_, is_stored)| *is_stored = true);
    }
}

/// A backend that has bad luck now and then.
struct Unlucky {
    backend: Box<dyn Backend>,
    luck: Luck,
}

struct UnluckyTaken<'a> {
    row: Box<dyn LockedRow + 'a>,
    luck: &'a Luck,
}

fn died() -> StoreError {
    StoreError::Unavailable("the process died".to_owned())
}

impl Backend for Unlucky {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        let is_away = self.luck.with(|(next, _)| *next == Some(Misfortune::Away));
        if is_away && reach != Reach::Look {
            self.luck.strike();
            return Err(StoreError::Unavailable("it is away".to_owned()));
        }
        Ok(Box::new(UnluckyTaken { row: self.backend.lock(session, reach)?, luck: &self.luck }))
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.backend.keep_answer(session, number, answer, entry)
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        self.backend.answer(session, number)
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.backend.reject_answer(session, number, answer, entry)
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        self.backend.sessions()
    }
}

impl LockedRow for UnluckyTaken<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.row.session()
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.row.shared_state()
    }

    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        match self.luck.strike() {
            Some(Misfortune::Conflict(_)) => return Err(StoreError::Conflict),
            Some(Misfortune::Unstored | Misfortune::Away) => return Err(died()),
            Some(Misfortune::Untold) => {
                self.row.write(write)?;
                self.luck.stored();
                return Err(died());
            }
            None => self.row.write(write)?,
        }
        self.luck.stored();
        Ok(())
    }
}

struct Simulation<'a> {
    rest: &'a dyn Rest,
    gates: Vec<Gate>,
    luck: Luck,
    rng: Rng,
    policy: String,
    model: Model,
    /// Calls that run, each with when it is given up.
    flights: BTreeMap<String, u64>,
    /// Questions that are open: the call, its number and when it lapses.
    asked: BTreeMap<String, (u64, u64)>,
    /// How many verdicts were stored.
    stored: usize,
    ids: usize,
    now: u64,
    story: String,
}

impl Simulation<'_> {
    fn run(&mut self) -> Result<(), String> {
        for _ in 0..PROCESSES {
            let gate = self.start()?;
            self.gates.push(gate);
        }
        for _ in 0..STEPS {
            self.step()?;
            self.compare()?;
        }
        self.read_trail()
    }

    /// A process that has just started.
    fn start(&self) -> Result<Gate, String> {
        // A made-up policy may have no rule, which only code can have.
        let (draft, mistakes) = one_line::parse(&Source::new("story.rules", self.policy.as_str()));
        if mistakes.iter().any(|it| it.severity == Severity::Error) {
            return Err(format!("{mistakes:?}"));
        }
        let (policy, _) = lockgate::engine::languages::compile(vec![draft]);
        let terms = Terms { lease_ms: LEASE_MS, approval_ms: APPROVAL_MS, ..Terms::default() };
        let backend = Unlucky { backend: self.rest.open(), luck: self.luck.clone() };
        Gate::builder(policy).terms(terms).backend(backend).build().map_err(|error| error.to_string())
    }

    fn tell(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.story, "{:>6} {line}", self.now);
    }

    fn step(&mut self) -> Result<(), String> {
        match self.rng.u8(0..20) {
            0 => {
                // Time passes, perhaps more than a lease or a question lasts.
                self.now += [1, 700, APPROVAL_MS, LEASE_MS][self.rng.usize(0..4)];
                self.tell("time has passed");
            }
            1 => {
                let process = self.rng.usize(0..PROCESSES);
                self.gates[process] = self.start()?;
                self.tell(format!("process {process} died and was started anew"));
            }
            2..=10 => self.call(false)?,
            11 => self.call(true)?,
            12..=16 => self.result()?,
            _ => self.answer()?,
        }
        self.now += self.rng.u64(0..3);
        Ok(())
    }

    /// Bad luck for the next thing that is stored, now and then.
    fn roll(&mut self) -> Option<Misfortune> {
        let next = match self.rng.u8(0..16) {
            0 => Some(Misfortune::Away),
            1 => Some(Misfortune::Conflict(self.rng.u8(1..4))),
            2 => Some(Misfortune::Untold),
            3 => Some(Misfortune::Unstored),
            _ => None,
        };
        self.luck.with(|luck| *luck = (next, false));
        next
    }

    fn was_stored(&self) -> bool {
        self.luck.with(|(next, is_stored)| {
            *next = None;
            *is_stored
        })
    }

    /// What the model takes in before anything is stored: what ran out by now.
    fn lapse(&mut self) {
        let now = self.now;
        let over: Vec<String> =
            self.flights.iter().filter(|(_, deadline)| **deadline <= now).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.flights.remove(&id);
            self.model.result(&id, false);
        }
        let over: Vec<String> = self
            .asked
            .iter()
            .filter(|(_, (_, deadline))| *deadline <= now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            self.asked.remove(&id);
            let _ = self.model.answer(&id, false);
        }
    }

    fn call(&mut self, is_repeated: bool) -> Result<(), String> {
        let known: Vec<String> = self.flights.keys().chain(self.asked.keys()).cloned().collect();
        let id = match known.get(self.rng.usize(0..known.len().max(1))) {
            Some(id) if is_repeated => id.clone(),
            _ => {
                self.ids += 1;
                format!("c{}", self.ids)
            }
        };
        let tool = TOOLS[self.rng.usize(0..TOOLS.len())];
        let process = self.rng.usize(0..PROCESSES);
        let luck = self.roll();
        let call = Call::new(id.as_str(), tool).at(Time(self.now));
        let verdict = self.gates[process].call(&call);
        let is_stored = self.was_stored();
        self.tell(format!("process {process}: {id} calls {tool}: {:?} {luck:?}", verdict.decision));
        if !is_stored {
            return expect("the verdict of what was not stored", verdict.decision, Decision::Block);
        }
        self.stored += 1;
        self.lapse();
        let judged = self.model.call(&id, tool, &Map::new(), true);
        let expected = decision(judged.verdict);
        if luck == Some(Misfortune::Untold) {
            expect("the verdict of a process that died", verdict.decision, Decision::Block)?;
        } else {
            expect("the verdict", verdict.decision, expected)?;
        }
        self.took(&id, judged.verdict)
    }

    /// Follows what a stored verdict has led to.
    fn took(&mut self, id: &str, verdict: Verdict) -> Result<(), String> {
        match verdict {
            Verdict::Allow => {
                self.flights.insert(id.to_owned(), self.now + LEASE_MS);
            }
            Verdict::Ask => {
                let session = self.session()?;
                let number = session.asked().iter().find(|(_, asked)| asked.call.id == id).map(|(it, _)| *it);
                let number = number.ok_or("the question is not there")?;
                self.asked.insert(id.to_owned(), (number, self.now + APPROVAL_MS));
            }
            Verdict::Block => {}
        }
        Ok(())
    }

    fn result(&mut self) -> Result<(), String> {
        let mut ids: Vec<String> = self.flights.keys().cloned().collect();
        // Results also come for what was settled before, and for what nobody knows.
        ids.extend((1..=self.ids).map(|number| format!("c{number}")).filter(|_| self.rng.u8(0..8) == 0));
        ids.push("nobody".to_owned());
        let id = ids[self.rng.usize(0..ids.len())].clone();
        let ok = self.rng.u8(0..3) > 0;
        let process = self.rng.usize(0..PROCESSES);
        let luck = self.roll();
        let outcome = Outcome {
            session: "default".into(),
            id: id.clone(),
            ok,
            at: Time(self.now),
            ..Outcome::default()
        };
        let settled = self.gates[process].result(&outcome);
        let is_stored = self.was_stored();
        let told = settled.as_ref().ok().map(|settlement| settlement.settled);
        self.tell(format!("process {process}: {id} ended {ok}: {told:?} {luck:?}"));
        if !is_stored {
            return expect("a result that was not stored", told, None);
        }
        self.lapse();
        self.flights.remove(&id);
        let expected = self.model.result(&id, ok);
        // Whoever hears nothing sends it again, and that must change nothing.
        expect("whether it was settled", told, (luck != Some(Misfortune::Untold)).then_some(expected))
    }

    fn answer(&mut self) -> Result<(), String> {
        let known: Vec<(String, u64)> =
            self.asked.iter().map(|(id, (number, _))| (id.clone(), *number)).collect();
        // Some answer what was never asked, or was answered before.
        let stale = ("nobody".to_owned(), self.rng.u64(1..9));
        let (id, number) = known.get(self.rng.usize(0..known.len() + 1)).cloned().unwrap_or(stale);
        let granted = self.rng.bool();
        let process = self.rng.usize(0..PROCESSES);
        let luck = self.roll();
        let approval = ApprovalId { session: "default".into(), number };
        let answered = self.gates[process].answer(&approval, granted, Time(self.now));
        let is_stored = self.was_stored();
        let told = answered.as_ref().map(|verdict| verdict.decision);
        self.tell(format!(
            "process {process}: question {number} ({id}) answered {granted}: {told:?} {luck:?}"
        ));
        if !is_stored {
            return match answered {
                Err(_) => Ok(()),
                Ok(verdict) => Err(format!("{:?} was told and not stored", verdict.decision)),
            };
        }
        let Some((id, _)) = self.asked.iter().find(|(_, (it, _))| *it == number) else {
            return Err("an answer to what nobody asks was stored".to_owned());
        };
        let id = id.clone();
        self.stored += 1;
        self.lapse();
        let judged = self.asked.remove(&id).and_then(|_| self.model.answer(&id, granted));
        let verdict = judged.map_or(Verdict::Block, |judged| judged.verdict);
        match (&answered, luck) {
            (Err(AnswerError::NotStored(_)), Some(Misfortune::Untold)) => {}
            (Ok(told), _) => expect("the verdict after the answer", told.decision, decision(verdict))?,
            (Err(error), _) => return Err(format!("stored, and told: {error}")),
        }
        self.took(&id, verdict)
    }

    fn session(&self) -> Result<lockgate::engine::Session, String> {
        self.gates[0].session("default").map_err(|error| error.to_string())
    }

    /// Every process sees what the model does.
    fn compare(&mut self) -> Result<(), String> {
        let process = self.rng.usize(0..PROCESSES);
        let session = self.gates[process].session("default").map_err(|error| error.to_string())?;
        let policy = self.gates[process].policy();
        let markings: Vec<String> = policy
            .nets()
            .iter()
            .map(|rule| {
                let net = rule.net.net();
                let marking = session.marking(policy, rule.id);
                let tokens = |place| marking.map_or(0, |marking| marking.tokens(place));
                let filled = net.places().filter(|place| tokens(*place) > 0);
                let text: Vec<String> =
                    filled.map(|place| format!("{}:{}", net.place_name(place), tokens(place))).collect();
                format!("{}: {}", rule.name, text.join(", "))
            })
            .collect();
        expect("where the rules stand", markings.join("\n"), self.model.markings())?;
        let running: BTreeSet<&str> = session.flights().map(|(id, _)| &**id).collect();
        let expected: BTreeSet<&str> = self.flights.keys().map(String::as_str).collect();
        expect("what runs", running, expected)
    }

    /// The audit log tells every verdict that was stored, once.
    fn read_trail(&self) -> Result<(), String> {
        let mut verdicts = 0;
        for entry in self.rest.audit_log() {
            let entry: LogEntry = serde_json::from_str(&entry).map_err(|error| error.to_string())?;
            verdicts += usize::from(matches!(entry.what, LogEvent::Call { .. }));
        }
        expect("how many verdicts the audit log tells", verdicts, self.stored)
    }
}

fn decision(verdict: Verdict) -> Decision {
    match verdict {
        Verdict::Allow => Decision::Allow,
        Verdict::Ask => Decision::Ask,
        Verdict::Block => Decision::Block,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "both are made for the comparison")]
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
}
