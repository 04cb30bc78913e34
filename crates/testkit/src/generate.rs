//! Worlds to try: random policies of one-line rules and random histories of sessions under them.
//!
//! Names come from a small alphabet, so that rules meet calls and each other, and so do ids, so that
//! they are used twice, settled twice and settled unasked. What a policy's author is warned about
//! (a rule about a name and itself, the same rule twice) is left out: it has no meaning worth comparing.

pub mod proofs;
pub mod workflows;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};
use serde_json::{Value, json};

/// Something that happens in a session.
#[derive(Clone, Debug)]
pub enum Happening {
    /// An agent asks for a call.
    Call {
        /// The call's id.
        id: &'static str,
        /// The tool.
        tool: &'static str,
        /// Its input, a JSON object.
        input: Value,
        /// Whether a human can be asked.
        can_ask: bool,
    },
    /// A tool has finished, or somebody says so.
    Result {
        /// The call's id.
        id: &'static str,
        /// Whether it says success.
        ok: bool,
    },
    /// A human answers about a call, or tries to.
    Answer {
        /// The call's id.
        id: &'static str,
        /// Whether the call may run.
        granted: bool,
    },
    /// A rule is switched on or off.
    Switch {
        /// Which one, counted over the policy's rules and around again.
        rule: prop::sample::Index,
        /// On or off.
        active: bool,
    },
}

/// A policy and a history that speak of the same few names, so that rules pile up on one call.
pub fn worlds() -> impl Strategy<Value = (String, Vec<Happening>)> {
    let few = subsequence(NAMES.to_vec(), 2..=4);
    few.prop_flat_map(|names| (policies_over(names.clone()), histories_over(names)))
}

/// The same with scripts of several commands, which are beyond the naive model's reach.
pub fn worlds_of_scripts() -> impl Strategy<Value = (String, Vec<Happening>)> {
    let tails = vec((select(&[" && ", "; ", " || ", " | ", " & ", "\n"][..]), select(&COMMANDS[..])), 0..4);
    (worlds(), vec(tails, 1..8)).prop_map(|((policy, mut history), tails)| {
        let mut tails = tails.iter().cycle();
        for happening in &mut history {
            if let Happening::Call { input, .. } = happening
                && let Some(Value::String(command)) = input.get_mut("command")
            {
                let tail = tails.next().into_iter().flatten();
                command.extend(tail.flat_map(|(operator, next)| [*operator, *next]));
            }
        }
        (policy, history)
    })
}

/// Policies of one to eight different statements, one a line.
pub fn policies() -> impl Strategy<Value = String> {
    policies_over(NAMES.to_vec())
}

/// Histories of up to thirty calls, most of them answered and settled some calls later, and strays between
/// them: double results, results for nobody, answers to no question, rules switched off and on.
pub fn histories() -> impl Strategy<Value = Vec<Happening>> {
    histories_over(NAMES.to_vec())
}

fn policies_over(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let statement = prop_oneof![4 => rules(names), 1 => maps()];
    vec(statement, 1..=8).prop_map(|mut statements| {
        let mut seen = Vec::new();
        statements.retain(|statement| {
            !seen.contains(statement) && {
                seen.push(statement.clone());
                true
            }
        });
        statements.join("\n")
    })
}

fn histories_over(names: Vec<&'static str>) -> impl Strategy<Value = Vec<Happening>> {
    let call = (calls(names), 1_usize..8, prop::bool::weighted(0.7), 1_usize..8, prop::bool::weighted(0.75))
        .prop_map(|((id, call), answer_delay, granted, result_delay, ok)| {
            let answer = Happening::Answer { id, granted };
            vec![
                (0, call),
                (answer_delay, answer),
                (answer_delay + result_delay, Happening::Result { id, ok }),
            ]
        });
    let stray = prop_oneof![
        (ids(), any::<bool>()).prop_map(|(id, ok)| Happening::Result { id, ok }),
        (ids(), any::<bool>()).prop_map(|(id, granted)| Happening::Answer { id, granted }),
        (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(rule, active)| Happening::Switch { rule, active }),
    ];
    let lonely = stray.prop_map(|stray| vec![(0, stray)]);
    vec(prop_oneof![4 => call, 1 => lonely], 0..=30).prop_map(|groups| {
        let timed = groups.into_iter().enumerate();
        let mut timed: Vec<_> = timed
            .flat_map(|(start, group)| {
                group.into_iter().map(move |(delay, happening)| (2 * start + delay, happening))
            })
            .collect();
        timed.sort_by_key(|(time, _)| *time);
        timed.into_iter().map(|(_, happening)| happening).collect()
    })
}

/// The names rules speak of: plain, dotted, a dotted one's base, and names that maps give.
const NAMES: [&str; 9] = ["a", "b", "c", "d", "d.x", "d.y", "bash", "backup", "delete"];

const MAPS: [&str; 9] = [
    "map bash.command cp as backup",
    "map bash.command rm as delete",
    "map bash.command /^ls/ as a",
    r"map bash.command /git\s+push/ as c",
    "map bash running rm as delete",
    "map bash running git push as b",
    "map bash running docker run as a",
    "map d.action x as b",
    "map write.path .env as delete",
];

/// Single plain commands only: some are what a map means, some mention it, some only look like it.
const COMMANDS: [&str; 10] = [
    "cp a b",
    "rm -rf x",
    "ls -la",
    "git  push",
    "git -C x push y",
    "git pull push",
    "echo cp",
    "docker run --rm x",
    "format",
    "xrm",
];

fn rules(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let one = select(names);
    let two = (one.clone(), one.clone()).prop_filter("two different names", |(a, b)| a != b);
    let count = 1_u8..=3;
    prop_oneof![
        4 => two.clone().prop_map(|(a, b)| format!("require {a} before {b}")),
        4 => one.clone().prop_map(|a| format!("require human-approval before {a}")),
        1 => one.clone().prop_map(|a| format!("block {a}")),
        2 => (one, count.clone()).prop_map(|(a, n)| format!("limit {a} to {n} per session")),
        3 => (two, count).prop_map(|((a, r), n)| format!("limit {a} to {n} per {r}")),
    ]
}

fn maps() -> impl Strategy<Value = String> {
    select(&MAPS[..]).prop_map(String::from)
}

fn calls(names: Vec<&'static str>) -> impl Strategy<Value = (&'static str, Happening)> {
    let named = select(names).prop_map(|tool| (tool, json!({})));
    let action = select(&["x", "y", "z"][..]).prop_map(|action| ("d", json!({"action": action})));
    let command = select(&COMMANDS[..]).prop_map(|command| ("bash", json!({"command": command})));
    let path = select(&[".env", "a.txt"][..]).prop_map(|path| ("write", json!({"path": path})));
    let odd = Just(("bash", json!({"command": 5})));
    let what = prop_oneof![6 => named, 3 => action, 5 => command, 1 => path, 1 => odd];
    (ids(), what, prop::bool::weighted(0.8)).prop_map(|(id, (tool, input), can_ask)| {
        let call = Happening::Call { id, tool, input, can_ask };
        (id, call)
    })
}

fn ids() -> impl Strategy<Value = &'static str> {
    select(&["1", "2", "3", "4", "5", "6", "7", "8"][..])
}
