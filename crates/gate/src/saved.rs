//! A session at rest: JSON that outlives the process and the policy it was made under.
//!
//! State is kept per rule, by the rule's key and the names of places, never by number. Loading under an edited
//! policy never refunds: a changed limit keeps what was spent, a rule that is gone keeps its state for the day
//! it comes back, and a hand-written net whose places no longer fit is refused instead of guessed at.

use std::{collections::BTreeMap, sync::Arc};

use lockgate_call::{About, Call, Time};
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{Policy, Rule, RuleId, Statement};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::session::{Asked, Counts, Flight, Notes, Session, Waiting};

/// The version of the saved form.
const VERSION: u32 = 1;

/// Why a saved session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is not a saved session, or a damaged one.
    #[error("not a saved session: {0}; use the file that `--save` wrote, or start a new session")]
    Unreadable(#[from] serde_json::Error),
    /// It was saved by another version of Lockgate.
    #[error("saved in form {found}, but this Lockgate reads form {VERSION}; start a new session")]
    OtherVersion {
        /// The version it names.
        found: u32,
    },
    /// A net was redrawn under a session that had moved in it.
    #[error(
        "net `{net}` no longer has the place `{place}` in which this session stands; keep the old net or start a new session"
    )]
    Redrawn {
        /// The net.
        net: String,
        /// The place that is gone.
        place: String,
    },
}

/// One rule's state: tokens by place, and for a limit how many it started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedNet {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    marking: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    overspent: u64,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    notes: Notes,
    #[serde(default, skip_serializing_if = "is_false")]
    inactive: bool,
}

#[derive(Serialize, Deserialize)]
struct SavedSession {
    version: u32,
    policy: String,
    nets: BTreeMap<String, SavedNet>,
    flights: BTreeMap<String, SavedFlight>,
    asked: BTreeMap<u64, SavedAsked>,
    halted: Option<String>,
    approvals_made: u64,
    attempts: u64,
    tool_calls: u64,
    clock_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedFlight {
    tool: String,
    waiting: Vec<SavedWaiting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<SavedCall>,
    deadline_ms: u64,
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
    rules: Vec<String>,
    taken: Vec<(String, String)>,
    deadline_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedCall {
    session: String,
    id: String,
    tool: String,
    input: Map<String, Value>,
    at_ms: u64,
    #[serde(default)]
    sender: Option<Value>,
    #[serde(default)]
    principal: Option<Value>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    environment: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    parent: Option<String>,
}

impl Session {
    /// The session as JSON text, to be kept.
    pub fn to_json(&self, policy: &Policy) -> String {
        let names = |(rule, transition): (RuleId, TransitionId)| {
            let rule = policy.rule(rule)?;
            Some((rule.key.clone(), rule.net.net().transition_name(transition).to_owned()))
        };
        let mut nets = self.strangers.clone();
        for rule in policy.rules() {
            let saved = self.saved_net(rule);
            if saved != SavedNet::default() {
                nets.insert(rule.key.clone(), saved);
            }
        }
        let flights = self.flights.iter().map(|(id, flight)| {
            let waiting = flight.waiting.iter().filter_map(|it| {
                let (rule, transition) = names((it.rule, it.transition))?;
                Some(SavedWaiting { rule, transition, deed: it.deed.to_string() })
            });
            let saved = SavedFlight {
                tool: flight.tool.to_string(),
                waiting: waiting.collect(),
                call: flight.call.as_deref().map(SavedCall::of),
                deadline_ms: flight.deadline.0,
            };
            (id.to_string(), saved)
        });
        let asked = self.asked.iter().map(|(number, asked)| {
            let key = |rule: &RuleId| policy.rule(*rule).map(|rule| rule.key.clone());
            let saved = SavedAsked {
                call: SavedCall::of(&asked.call),
                rules: asked.rules.iter().filter_map(key).collect(),
                taken: asked.taken.iter().copied().filter_map(names).collect(),
                deadline_ms: asked.deadline.0,
            };
            (*number, saved)
        });
        let saved = SavedSession {
            version: VERSION,
            policy: policy.hash().to_string(),
            nets,
            flights: flights.collect(),
            asked: asked.collect(),
            halted: self.halted.clone(),
            approvals_made: self.approvals_made,
            attempts: self.counts.attempts,
            tool_calls: self.counts.tool_calls,
            clock_ms: self.clock.0,
        };
        // Maps with text keys and plain values always have a JSON form.
        serde_json::to_string_pretty(&saved).unwrap_or_default()
    }

    /// Reads a kept session under a policy, which may be an edited one.
    ///
    /// # Errors
    /// When the text is no saved session of this version, or a net was redrawn so that its state fits no more.
    pub fn from_json(text: &str, policy: &Policy) -> Result<Self, SavedError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(SavedError::OtherVersion { found: version });
        }
        let saved: SavedSession = serde_json::from_str(text)?;
        let rules: BTreeMap<&str, &Rule> =
            policy.rules().iter().map(|rule| (rule.key.as_str(), rule)).collect();
        let mut session = Self {
            halted: saved.halted,
            approvals_made: saved.approvals_made,
            counts: Counts { attempts: saved.attempts, tool_calls: saved.tool_calls },
            clock: Time(saved.clock_ms),
            ..Self::default()
        };
        for (key, net) in saved.nets {
            match rules.get(key.as_str()) {
                Some(rule) => {
                    // Of a limit, only its own tool spends; a refill that waits for a human holds no budget.
                    let taken = saved.asked.values().flat_map(|asked| &asked.taken);
                    let spends =
                        taken.filter(|(key, transition)| *key == rule.key && transition.starts_with("do-"));
                    session.restore_net(rule, &net, spends.count() as u64)?;
                }
                None => {
                    session.strangers.insert(key, net);
                }
            }
        }
        let find = |key: &str, transition: &str| {
            let rule = rules.get(key)?;
            Some((rule.id, rule.net.net().transition(transition)?))
        };
        for (id, flight) in saved.flights {
            // What a rule that is gone waited for is not waited for any more: nothing is earned by it.
            let waiting = flight.waiting.iter().filter_map(|it| {
                let (rule, transition) = find(&it.rule, &it.transition)?;
                Some(Waiting { rule, transition, deed: it.deed.as_str().into() })
            });
            let deadline = Time(flight.deadline_ms);
            let id: Arc<str> = id.into();
            session.leases.0.push_back((deadline, id.clone()));
            let call = flight.call.map(|call| Arc::new(call.into_call()));
            let flight = Flight { tool: flight.tool.into(), waiting: waiting.collect(), call, deadline };
            session.flights.insert(id, flight);
        }
        session.leases.0.make_contiguous().sort();
        for (number, asked) in saved.asked {
            let mut taken: SmallVec<_> = asked.taken.iter().filter_map(|(key, it)| find(key, it)).collect();
            // Of an edited limit there may be less to take now; what was not taken is not given back.
            taken.retain(|(id, transition)| match (policy.rule(*id), session.markings.get_mut(id)) {
                (Some(rule), Some(marking)) if limit_of(rule).is_some() => {
                    rule.net.net().take(marking, *transition).is_ok()
                }
                _ => true,
            });
            let asked = Asked {
                call: asked.call.into_call(),
                rules: asked
                    .rules
                    .iter()
                    .filter_map(|key| rules.get(key.as_str()))
                    .map(|rule| rule.id)
                    .collect(),
                taken,
                deadline: Time(asked.deadline_ms),
            };
            session.asked.insert(number, asked);
        }
        Ok(session)
    }

    fn saved_net(&self, rule: &Rule) -> SavedNet {
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
            inactive: self.inactive.contains(&rule.id),
        }
    }

    /// Restores a net's state; of a limit without the `held` tokens that questions hold.
    fn restore_net(&mut self, rule: &Rule, saved: &SavedNet, held: u64) -> Result<(), SavedError> {
        if saved.inactive {
            self.inactive.insert(rule.id);
        }
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

fn limit_of(rule: &Rule) -> Option<u64> {
    match &rule.statement {
        Statement::Limit { count, .. } => Some(count.get()),
        _ => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl SavedCall {
    fn of(call: &Call) -> Self {
        let About { sender, principal, context, metadata, environment, cwd, parent } = call.about.clone();
        Self {
            session: call.session.clone(),
            id: call.id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
            at_ms: call.at.0,
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
        }
    }

    fn into_call(self) -> Call {
        let Self {
            session,
            id,
            tool,
            input,
            at_ms,
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
        } = self;
        let about = About { sender, principal, context, metadata, environment, cwd, parent };
        Call { session, id, tool, input, at: Time(at_ms), about }
    }
}
