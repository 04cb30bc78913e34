//! Policies from files and texts, and what is proved about them.

use lockgate::{CustomNames, Net, ToolCall};
use lockgate_bindings::{findings, mistakes, rules_about};
use napi::{Result, bindgen_prelude::AsyncTask};
use napi_derive::napi;
use serde_json::{Map, Value, json};

use crate::{error, later::Later, session::read_call};

/// A value of the library as its documented JSON.
pub(crate) fn form(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| error::misuse(&error))
}

/// Rules that were read and compiled.
#[napi]
pub struct Policy(pub(crate) lockgate::Policy);

/// JSON from another thread.
type LaterText = AsyncTask<Later<String, String>>;

#[napi]
impl Policy {
    /// Reads files and folders, and then texts with the names that stand for their files. `selectors` are names that the
    /// host describes calls under.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        files: Vec<String>,
        names: Vec<String>,
        texts: Vec<String>,
        selectors: Vec<String>,
    ) -> Result<Self> {
        let mut builder = lockgate::Policy::builder().files(files).custom_names(CustomNames { selectors });
        for (name, text) in names.iter().zip(texts) {
            builder = builder.text(name, text);
        }
        builder.load().map(Self).map_err(|error| error::policy(&error, &mistakes(&error)))
    }

    /// The hash of the policy: the same if and only if the same files are read in the same order.
    #[napi(getter, catch_unwind)]
    pub fn hash(&self) -> String {
        self.0.hash()
    }

    /// The names of the rules, in file order.
    #[napi(getter, catch_unwind)]
    pub fn rule_names(&self) -> Vec<String> {
        self.0.rule_names().into_iter().map(ToOwned::to_owned).collect()
    }

    /// Warnings and notes for the author.
    #[napi(getter, catch_unwind)]
    pub fn findings(&self) -> String {
        findings(&self.0).to_string()
    }

    /// The nets of the rules that remember, each explored by itself.
    #[napi(catch_unwind)]
    pub fn nets(&self, states_max: u32) -> String {
        self.0.nets().map(|net| net_form(&net, states_max as usize)).collect::<Value>().to_string()
    }

    /// What `lockgate verify --json` prints; with the names of all tools, names that are none of them are findings.
    #[napi(catch_unwind)]
    pub fn verify(&self, tools: Option<Vec<String>>) -> LaterText {
        let policy = self.0.clone();
        Later::promise(
            move || match tools {
                Some(tools) => form(&policy.verify_for(tools)),
                None => form(&policy.verify()),
            },
            |text| text,
        )
    }

    /// The shortest sessions that tell this policy from a newer one.
    #[napi(catch_unwind)]
    pub fn diff(&self, newer: &Policy) -> LaterText {
        let (older, newer) = (self.0.clone(), newer.0.clone());
        Later::promise(move || form(&older.diff(&newer).map_err(|error| error::misuse(&error))?), |text| text)
    }

    /// The rules that look at calls of a tool or at their results, in file order.
    #[napi(catch_unwind)]
    pub fn rules_about(&self, tool: String) -> String {
        rules_about(&self.0, &tool).to_string()
    }

    /// What the gate sees in a call. Nothing is judged.
    #[napi(catch_unwind)]
    pub fn see(&self, tool: String, input: String, about: Option<String>) -> Result<String> {
        let call: ToolCall = read_call(&tool, &input, about.as_deref())?;
        form(&self.0.see(call).map_err(|error| error::input(&error))?)
    }
}

fn net_form(net: &Net<'_>, states_max: usize) -> Value {
    let marking: Map<String, Value> =
        net.places().map(|(place, tokens)| (place.to_owned(), Value::from(tokens))).collect();
    let transitions = net.transitions().map(|it| {
        json!({
            "name": it.name,
            "type": if it.is_manual { "manual" } else { "auto" },
            "inputs": arcs(&it.inputs),
            "outputs": arcs(&it.outputs),
            "tools": it.tools,
            "deferred": it.is_deferred,
        })
    });
    let transitions: Vec<Value> = transitions.collect();
    let space = net.explore(states_max);
    json!({
        "name": net.name(),
        "text": net.text(),
        "places": net.places().map(|(place, _)| place).collect::<Vec<_>>(),
        "marking": marking,
        "transitions": transitions,
        "states": space.states(),
        "isComplete": space.is_complete(),
    })
}

/// Places by name, each as often as it has tokens to give or to take.
fn arcs(arcs: &[(&str, u64)]) -> Vec<String> {
    let times =
        |(place, count): &(&str, u64)| vec![(*place).to_owned(); usize::try_from(*count).unwrap_or(0)];
    arcs.iter().flat_map(times).collect()
}
