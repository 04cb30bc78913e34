//! A session at rest: JSON that outlives the process and the policy it was made under.
//!
//! State is kept per rule, by the rule's key and the names of places, never by number. Loading under an edited
//! policy never refunds: a changed limit keeps what was spent, a rule that is gone keeps its state for the day
//! it comes back, and a hand-written net whose places no longer fit is refused instead of guessed at.

mod answer;
mod call;
mod changed;
mod shared;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_call::{Time, json_mistake};
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{
    Decision, NetRule, Policy, Rule, RuleId, Statement,
    past::Log,
    provenance::Origins,
    window::{Window, WindowId},
    workflow::progress::Shown,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use self::{answer::SavedAnswer, call::SavedCall};
use super::{
    binding::BoundState,
    parts::{Asked, Boundary, Counts, Flight, Passage, SavedNet, Shows, Table, Waiting, is_false},
    session::Session,
};
use crate::signed_answer::{RuleMark, mark};

/// The version of the saved form.
const VERSION: u32 = 1;

/// Why a saved session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is not a saved session, or a damaged one.
    #[error("not a saved session: {}; use the file that `--save` wrote, or start a new session", json_mistake(.0))]
    Unreadable(#[from] serde_json::Error),
    /// It was saved by another version of Lockgate.
    #[error(
        "saved in format {found}, but this version of Lockgate reads format {VERSION}; start a new session"
    )]
    OtherVersion {
        /// The version it names.
        found: u32,
    },
    /// A net was redrawn under a session that had moved in it.
    #[error(
        "net `{net}` no longer has the place `{place}` in which this session is; keep the old net or start a new session"
    )]
    Redrawn {
        /// The net.
        net: String,
        /// The place that is gone.
        place: String,
    },
}

#[derive(Serialize, Deserialize)]
struct SavedSession {
    version: u32,
    policy: String,
    nets: BTreeMap<String, SavedNet>,
    flights: BTreeMap<String, SavedFlight>,
    asked: BTreeMap<u64, SavedAsked>,
    halted: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    has_begun: bool,
    approvals_made: u64,
    attempts: u64,
    tool_calls: u64,
    #[serde(default)]
    per_tool: BTreeMap<String, u64>,
    #[serde(default)]
    attributes: Map<String, Value>,
    #[serde(default)]
    taints: Vec<String>,
    #[serde(default)]
    is_tainted: bool,
    #[serde(default)]
    answers: Vec<SavedAnswer>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bound: BTreeMap<String, BoundState>,
    #[serde(default, skip_serializing_if = "holds_nothing")]
    origins: Arc<Origins>,
    clock_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedFlight {
    tool: String,
    #[serde(default, skip_serializing_if = "is_false")]
    is_redacted: bool,
    waiting: Vec<SavedWaiting>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shows: Vec<SavedShows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<SavedCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Arc<str>>,
    #[serde(rename = "sighted", default, skip_serializing_if = "Option::is_none")]
    passage: Option<SavedPassage>,
    deadline_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedPassage {
    doors: Vec<Arc<str>>,
    content: Arc<str>,
}

#[derive(Serialize, Deserialize)]
struct SavedShows {
    rule: String,
    round: u64,
    shown: Shown,
}

#[derive(Serialize, Deserialize)]
struct SavedBoundary {
    rule: String,
    stage: Arc<str>,
    round: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedWaiting {
    rule: String,
    transition: String,
    deed: String,
}

#[derive(Serialize, Deserialize)]
struct SavedAsked {
    call: SavedCall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Box<Map<String, Value>>>,
    rules: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    boundaries: Vec<SavedBoundary>,
    taken: Vec<(String, String)>,
    deadline_ms: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    allows_late: bool,
    /// The hash of the policy under which it is asked; empty where an older Lockgate asked.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    policy: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<RuleMark>,
}

impl Session {
    /// The session as JSON text, to be kept where people may look at it.
    pub fn to_json(&self, policy: &Policy) -> String {
        // Maps with text keys and plain values always have a JSON form.
        serde_json::to_string_pretty(&self.saved(policy)).unwrap_or_default()
    }

    /// The session as bytes, to be kept.
    pub fn to_bytes(&self, policy: &Policy) -> Vec<u8> {
        serde_json::to_vec(&self.saved(policy)).unwrap_or_default()
    }

    fn saved(&self, policy: &Policy) -> SavedSession {
        let names = |(rule, transition): (RuleId, TransitionId)| {
            let rule = policy.net(rule)?;
            Some((rule.key.clone(), rule.net.net().transition_name(transition).to_owned()))
        };
        let key = |rule: &RuleId| policy.rule(*rule).map(|rule| rule.key.clone());
        let saved_shows =
            |it: &Shows| Some(SavedShows { rule: key(&it.rule)?, round: it.round, shown: it.shown.clone() });
        let saved_boundary = |it: &Boundary| {
            Some(SavedBoundary { rule: key(&it.rule)?, stage: it.stage.clone(), round: it.round })
        };
        let mut nets = self.strangers.clone();
        for rule in self.remembering().iter().filter_map(|rule| policy.rule(*rule)) {
            nets.insert(rule.key.clone(), self.saved_rule(policy, rule));
        }
        let flights = self.flights.iter().map(|(id, flight)| {
            let waiting = flight.waiting.iter().filter_map(|it| {
                let (rule, transition) = names((it.rule, it.transition))?;
                Some(SavedWaiting { rule, transition, deed: it.deed.to_string() })
            });
            let saved = SavedFlight {
                tool: flight.tool.to_string(),
                is_redacted: flight.decision == Decision::Redact,
                waiting: waiting.collect(),
                shows: flight.shows.iter().filter_map(saved_shows).collect(),
                call: flight.call.as_deref().map(SavedCall::of),
                parent: flight.parent.clone(),
                passage: flight.passage.as_deref().map(|Passage { doors, content }| SavedPassage {
                    doors: doors.clone(),
                    content: content.clone(),
                }),
                deadline_ms: flight.deadline.0,
            };
            (id.to_string(), saved)
        });
        let asked = self.asked.iter().map(|(number, asked)| {
            let saved = SavedAsked {
                call: SavedCall::of(&asked.call),
                shown: asked.shown.clone(),
                rules: asked.rules.iter().filter_map(key).collect(),
                boundaries: asked.boundaries.iter().filter_map(saved_boundary).collect(),
                taken: asked.taken.iter().copied().filter_map(names).collect(),
                deadline_ms: asked.deadline.0,
                allows_late: asked.allows_late,
                policy: asked.policy.clone(),
                marks: asked.marks.clone(),
            };
            (*number, saved)
        });
        SavedSession {
            version: VERSION,
            policy: policy.hash().to_string(),
            nets,
            flights: flights.collect(),
            asked: asked.collect(),
            halted: self.halted.clone(),
            has_begun: self.has_begun,
            approvals_made: self.approvals_made,
            attempts: self.counts.attempts,
            tool_calls: self.counts.tool_calls,
            per_tool: self.per_tool.iter().map(|(tool, calls)| (tool.to_string(), *calls)).collect(),
            attributes: self.attributes.clone(),
            taints: self.taints.iter().map(ToString::to_string).collect(),
            is_tainted: self.is_tainted,
            answers: self.answers.iter().map(|answer| SavedAnswer::of(answer, policy)).collect(),
            bound: self.bound.clone(),
            origins: self.origins.clone(),
            clock_ms: self.clock.0,
        }
    }

    /// Reads a kept session under a policy, which may be an edited one.
    ///
    /// # Errors
    /// When the text is no saved session of this version, or a net was redrawn so that its state fits no more.
    pub fn from_json(text: &str, policy: &Policy) -> Result<Self, SavedError> {
        Self::from_bytes(text.as_bytes(), policy)
    }

    /// Reads a session kept as bytes, under a policy which may be an edited one.
    ///
    /// # Errors
    /// As [`Session::from_json`].
    pub fn from_bytes(bytes: &[u8], policy: &Policy) -> Result<Self, SavedError> {
        let saved: SavedSession = of_this_version(bytes)?;
        let mut session = Self {
            halted: saved.halted,
            has_begun: saved.has_begun,
            approvals_made: saved.approvals_made,
            counts: Counts { attempts: saved.attempts, tool_calls: saved.tool_calls },
            per_tool: saved.per_tool.into_iter().map(|(tool, calls)| (Arc::from(tool), calls)).collect(),
            attributes: saved.attributes,
            taints: saved.taints.into_iter().map(Arc::from).collect(),
            is_tainted: saved.is_tainted,
            clock: Time(saved.clock_ms),
            bound: saved.bound,
            origins: saved.origins,
            ..Self::default()
        };
        for (key, net) in saved.nets {
            match policy.rule_kept_under(&key) {
                Some(rule) => {
                    // Of a limit, only its own tool spends; a refill that waits for a human holds no budget.
                    let taken = saved.asked.values().flat_map(|asked| &asked.taken);
                    let spends =
                        taken.filter(|(key, transition)| *key == rule.key && transition.starts_with("do-"));
                    session.restore_rule(policy, rule, &net, spends.count() as u64)?;
                }
                None => {
                    session.strangers.insert(key, net);
                }
            }
        }
        let find = |key: &str, transition: &str| {
            let net = policy.net(policy.rule_kept_under(key)?.id)?;
            Some((net.id, net.net.net().transition(transition)?))
        };
        session.answers = saved.answers.into_iter().filter_map(|answer| answer.restored(policy)).collect();
        for (id, flight) in saved.flights {
            // What a rule that is gone waited for is not waited for any more: nothing is earned by it.
            let waiting = flight.waiting.iter().filter_map(|it| {
                let (rule, transition) = find(&it.rule, &it.transition)?;
                Some(Waiting { rule, transition, deed: it.deed.as_str().into() })
            });
            let deadline = Time(flight.deadline_ms);
            let id: Arc<str> = id.into();
            let call = flight.call.map(|call| Arc::new(call.into_call()));
            let decision = if flight.is_redacted { Decision::Redact } else { Decision::Allow };
            let waiting = waiting.collect();
            let shows = flight.shows.into_iter().filter_map(|it| {
                let rule = policy.rule_kept_under(&it.rule)?.id;
                Some(Shows { rule, round: it.round, shown: it.shown })
            });
            let (shows, parent) = (shows.collect(), flight.parent);
            let passage =
                flight.passage.map(|SavedPassage { doors, content }| Box::new(Passage { doors, content }));
            let tool = flight.tool.into();
            let flight = Flight { tool, decision, waiting, shows, call, parent, passage, deadline };
            session.flights.insert(id, flight);
        }
        session.flights.sort();
        for (number, asked) in saved.asked {
            let mut taken: SmallVec<_> = asked.taken.iter().filter_map(|(key, it)| find(key, it)).collect();
            // Of an edited limit there may be less to take now; what was not taken is not given back.
            taken.retain(|(id, transition)| match (policy.net(*id), session.markings.get_mut(id)) {
                (Some(rule), Some(marking)) if limit_of(rule).is_some() => {
                    rule.net.net().take(marking, *transition).is_ok()
                }
                _ => true,
            });
            let asked = Asked {
                call: asked.call.into_call(),
                shown: asked.shown,
                rules: asked
                    .rules
                    .iter()
                    .filter_map(|key| policy.rule_kept_under(key))
                    // An answer is about what the rule said when it asked; one that says something else asks again.
                    .filter(|rule| asked.marks.is_empty() || asked.marks.contains(&mark(policy, rule)))
                    .map(|rule| rule.id)
                    .collect(),
                boundaries: asked
                    .boundaries
                    .into_iter()
                    .filter_map(|it| {
                        let rule = policy.rule_kept_under(&it.rule)?.id;
                        Some(Boundary { rule, stage: it.stage, round: it.round })
                    })
                    .collect(),
                taken,
                deadline: Time(asked.deadline_ms),
                allows_late: asked.allows_late,
                policy: asked.policy,
                marks: asked.marks,
            };
            session.asked.insert(number, asked);
        }
        Ok(session)
    }

    /// The rules that this session is not as fresh for as any other.
    fn remembering(&self) -> BTreeSet<RuleId> {
        let windows = self.windows.keys().map(|window| window.rule);
        let rules = self.markings.keys().chain(self.notes.keys()).chain(self.overspent.keys());
        let rules = rules.chain(&self.inactive).chain(self.progress.keys());
        rules.copied().chain(windows).collect()
    }

    fn saved_rule(&self, policy: &Policy, rule: &Rule) -> SavedNet {
        let mut saved = policy.net(rule.id).map(|net| self.saved_net(net)).unwrap_or_default();
        saved.inactive = self.inactive.contains(&rule.id);
        saved.progress = self.progress.get(&rule.id).cloned();
        saved.windows = saved_windows(policy, rule, &self.windows);
        saved.logs = windows_of(policy, rule)
            .filter_map(|(key, id)| Some((key.clone(), self.windows.get(&id)?.log.clone())))
            .filter(|(_, log)| *log != Log::default())
            .collect();
        saved
    }

    fn restore_rule(
        &mut self,
        policy: &Policy,
        rule: &Rule,
        saved: &SavedNet,
        held: u64,
    ) -> Result<(), SavedError> {
        if saved.inactive {
            self.inactive.insert(rule.id);
        }
        if let Some(progress) = &saved.progress {
            self.progress.insert(rule.id, progress.clone());
        }
        for (key, id) in windows_of(policy, rule) {
            if let Some(times) = saved.windows.get(key) {
                let times = times.iter().copied().map(Time).collect();
                self.windows.insert(id, Window { times, ..Window::default() });
            }
            if let Some(log) = saved.logs.get(key) {
                self.windows.entry(id).or_default().log = log.clone();
            }
        }
        policy.net(rule.id).map_or(Ok(()), |net| self.restore_net(net, saved, held))
    }

    fn saved_net(&self, rule: &NetRule) -> SavedNet {
        let net = rule.net.net();
        let marking = self.markings.get(&rule.id);
        let by_place = |marking: &Marking| {
            net.places().map(|place| (net.place_name(place).to_owned(), marking.tokens(place))).collect()
        };
        SavedNet {
            marking: marking.map(by_place).unwrap_or_default(),
            limit: marking.and_then(|_| limit_of(rule)),
            overspent: self.overspent.get(&rule.id).copied().unwrap_or(0),
            notes: self.notes.get(&rule.id).cloned().unwrap_or_default(),
            ..SavedNet::default()
        }
    }

    /// Restores a net's state; of a limit without the `held` tokens that questions hold.
    fn restore_net(&mut self, rule: &NetRule, saved: &SavedNet, held: u64) -> Result<(), SavedError> {
        if !saved.notes.is_empty() {
            self.notes.insert(rule.id, saved.notes.clone());
        }
        if saved.marking.is_empty() {
            return Ok(());
        }
        let net = rule.net.net();
        if let Some(place) = saved.marking.keys().find(|place| net.place(place).is_none()) {
            return Err(SavedError::Redrawn { net: rule.name.clone(), place: place.clone() });
        }
        let tokens = |place| saved.marking.get(net.place_name(place)).copied().unwrap_or(0);
        let marking = match (limit_of(rule), saved.limit) {
            // Raised or lowered, a limit keeps what was spent, also what the lower one could not have given.
            (Some(now), Some(then)) => {
                let left = saved.marking.get("budget").copied().unwrap_or(0).saturating_add(held);
                let spent = then.saturating_sub(left).saturating_add(saved.overspent);
                if spent > now {
                    self.overspent.insert(rule.id, spent - now);
                }
                Marking::from_tokens(net.places().map(|place| match net.place_name(place) {
                    "budget" => now.saturating_sub(spent),
                    "spent" => spent.min(now),
                    _ => tokens(place),
                }))
            }
            _ => Marking::from_tokens(net.places().map(tokens)),
        };
        self.markings.insert(rule.id, marking);
        Ok(())
    }
}

fn holds_nothing(origins: &Arc<Origins>) -> bool {
    origins.is_empty()
}

/// Reads what was kept in the form of this version. It is read once: only what cannot be read is asked for its version.
fn of_this_version<T: DeserializeOwned + Versioned>(bytes: &[u8]) -> Result<T, SavedError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let read = serde_json::from_slice::<T>(bytes);
    let found = match &read {
        Ok(saved) => saved.version(),
        Err(_) => serde_json::from_slice::<Version>(bytes)?.version,
    };
    if found != VERSION {
        return Err(SavedError::OtherVersion { found });
    }
    Ok(read?)
}

/// A form at rest that says its version.
trait Versioned {
    fn version(&self) -> u32;
}

impl Versioned for SavedSession {
    fn version(&self) -> u32 {
        self.version
    }
}

fn saved_windows(
    policy: &Policy,
    rule: &Rule,
    windows: &Table<WindowId, Window>,
) -> BTreeMap<String, Vec<u64>> {
    let moments = |window: &Window| window.times.iter().map(|time| time.0).collect();
    windows_of(policy, rule)
        .filter_map(|(key, id)| Some((key.clone(), windows.get(&id).map(moments)?)))
        .collect()
}

/// The windows of a rule by the names they are kept under.
fn windows_of<'p>(policy: &'p Policy, rule: &Rule) -> impl Iterator<Item = (&'p String, WindowId)> {
    let id = rule.id;
    let keys = policy.clause(id).map(|clause| clause.windows.as_slice()).unwrap_or_default();
    keys.iter().zip(0..).map(move |(key, step)| (key, WindowId { rule: id, step }))
}

fn limit_of(rule: &NetRule) -> Option<u64> {
    match &rule.statement {
        Statement::Limit { count, .. } => Some(count.get()),
        _ => None,
    }
}
