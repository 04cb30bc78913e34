//! Chains, limits and standing answers, against a model that keeps the whole past and looks through all of it.
//!
//! The gate keeps only as many moments as some rule asks for, and of an ordered chain only the latest way through
//! it. The model knows nothing of such thrift.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may stop a test")]

use lockgate::engine::{Call, Decision, Gate, MemoryStore, Outcome, Policy, Session, Source, Time, Verdict};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

const SESSION: &str = "s";
/// Late enough for clocks to be set back.
const START_MS: u64 = 1_000_000;

fn cases(cases: u32) -> ProptestConfig {
    // A case that fails becomes a row of a page, not a file of seeds.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn chains_limits_and_quotas_hold_as_if_the_whole_past_were_kept(
        world in worlds(),
        history in vec(happenings(), 0..40),
    ) {
        let gate = gate(&world.policy());
        let mut model = Model::default();
        for (number, happening) in history.iter().enumerate() {
            let at = model.clock_after(happening.later_ms);
            let call = Call::new(number.to_string(), happening.tool).in_session(SESSION).at(at);
            let verdict = gate.call(&call);
            prop_assert_eq!(verdict.decision, model.judge(&world, happening.tool), "call {}\n{}", number, world.policy());
            if verdict.lets_pass() && happening.ends.is_some() {
                let ok = happening.ends == Some(true);
                gate.result(&Outcome { ok, ..Outcome::success(&call) }).unwrap();
            }
        }
    }

    #[test]
    fn what_a_chain_opens_was_earned_by_successes(
        chain in chains(select(vec![None, Some("allow")]).boxed()),
        history in vec((select(vec!["a", "b", "c", "door"]), -5_000_i64..12_000, option::of(any::<bool>()), any::<bool>()), 0..40),
    ) {
        let policy = format!(
            "default_verdict: block\nrules:\n- {{id: free, when: {{tool: 'a|b|c'}}, then: allow}}\n\
             - {{id: key, when: {{tool: door, chain: {chain}}}, then: allow}}\n",
            chain = chain.written()
        );
        let gate = gate(&policy);
        let (mut model, mut running) = (Model::default(), Vec::new());
        for (number, (tool, later_ms, ends, is_late)) in history.into_iter().enumerate() {
            let at = model.clock_after(later_ms);
            let call = Call::new(number.to_string(), tool).in_session(SESSION).at(at);
            let is_open = model.holds(&chain);
            let verdict = gate.call(&call);
            prop_assert_eq!(verdict.lets_pass(), tool != "door" || is_open, "call {}\n{}", number, policy);
            if verdict.lets_pass() {
                running.push((call, ends));
            }
            // Results come in whatever order, and some never do.
            let done = if is_late { running.len().min(1) } else { running.len() };
            for (call, ends) in running.drain(..done) {
                let Some(ok) = ends else { continue };
                gate.result(&Outcome { ok, at, ..Outcome::success(&call) }).unwrap();
                if ok {
                    let tool = TOOLS.iter().find(|tool| **tool == call.tool).copied().unwrap_or("door");
                    model.past.push(Past { at_ms: model.clock_ms, tool, decision: Decision::Allow });
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_session_of_when_then_rules_goes_on_after_a_rest_as_if_nothing_had_happened(
        history in vec(turns(), 1..30),
        rest in any::<prop::sample::Index>(),
    ) {
        let rest = rest.index(history.len());
        let mut live = Play::new(gate(RICH));
        history[..rest].iter().for_each(|turn| drop(live.turn(turn)));
        let saved = live.saved();
        let session = Session::from_json(&saved, live.gate.policy()).unwrap();
        prop_assert_eq!(&session, &live.gate.session(SESSION).unwrap());
        let store = MemoryStore::with_session(SESSION, session);
        let mut rested = Play { gate: Gate::builder(read(RICH)).store(store).build().unwrap(), ..live };
        let mut live = Play::new(gate(RICH));
        history[..rest].iter().for_each(|turn| drop(live.turn(turn)));
        for turn in &history[rest..] {
            prop_assert_eq!(live.turn(turn), rested.turn(turn));
            prop_assert_eq!(live.saved(), rested.saved());
        }
    }
}

#[test]
fn an_edited_policy_keeps_what_was_counted() {
    let storm = |count: u32, within_s: u32| {
        format!(
            "{{id: storm, when: {{tool: a, chain: [{{tool: a, within_seconds: {within_s}, min_count: {count}}}]}}, then: block}}"
        )
    };
    let before =
        format!("rules:\n- {}\nrate_limits: [{{tool: b, max_calls: 4, window_seconds: 60}}]\n", storm(5, 60));
    // How many more calls of `a` and of `b` pass, after three of each.
    let table = [
        ("nothing changed", before.clone(), 2, 1),
        (
            "a lower count",
            before.replace("min_count: 5", "min_count: 4").replace("calls: 4", "calls: 3"),
            1,
            0,
        ),
        ("a count below what was made", before.replace("min_count: 5", "min_count: 2"), 0, 1),
        ("a longer window", before.replace("within_seconds: 60", "within_seconds: 600"), 2, 1),
        ("a shorter window", before.replace("within_seconds: 60", "within_seconds: 5"), 5, 1),
        (
            "a rule before it",
            before.replace("rules:\n", "rules:\n- {id: new, when: {tool: c}, then: block}\n"),
            2,
            1,
        ),
        ("another message", before.replace("then: block", "then: block, message: no more"), 2, 1),
    ];
    let call = |gate: &Gate, number: usize, tool: &str, at_ms: u64| {
        gate.call(&Call::new(format!("{at_ms}-{number}-{tool}"), tool).in_session(SESSION).at(Time(at_ms)))
            .lets_pass()
    };
    for (edit, after, more_a, more_b) in table {
        let first = gate(&before);
        for number in 0..3 {
            assert!(call(&first, number, "a", START_MS) && call(&first, number, "b", START_MS));
        }
        let saved = first.session(SESSION).unwrap().to_json(first.policy());
        let session = Session::from_json(&saved, &read(&after)).unwrap();
        let store = MemoryStore::with_session(SESSION, session);
        let second = Gate::builder(read(&after)).store(store).build().unwrap();
        let passed = ["a", "b"]
            .map(|tool| (0..9).filter(|number| call(&second, *number, tool, START_MS + 10_000)).count());
        assert_eq!(passed, [more_a, more_b], "{edit}");
    }
}

const TOOLS: [&str; 4] = ["a", "b", "c", "never"];

/// Some rules of each kind, over few tools, so that they meet.
#[derive(Clone, Debug)]
struct World {
    /// Each blocks its tool.
    chains: Vec<(&'static str, Chain)>,
    limits: Vec<Limit>,
    /// How many calls a session may make.
    quota: Option<usize>,
}

#[derive(Clone, Debug)]
struct Chain {
    steps: Vec<ChainStep>,
    is_ordered: bool,
}

#[derive(Clone, Debug)]
struct ChainStep {
    tool: &'static str,
    within_ms: u64,
    min_count: usize,
    verdict: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Limit {
    tool: &'static str,
    calls_max: usize,
    window_ms: u64,
}

fn worlds() -> impl Strategy<Value = World> {
    let limit = (select(TOOLS[..3].to_vec()), 1_usize..4, 1_u64..20);
    let limit = limit.prop_map(|(tool, calls_max, s)| Limit { tool, calls_max, window_ms: s * 1_000 });
    let verdicts = select(vec![None, None, Some("allow"), Some("BLOCK")]).boxed();
    let chains = vec((select(TOOLS[..3].to_vec()), chains(verdicts)), 0..4);
    (chains, vec(limit, 0..2), option::of(3_usize..20)).prop_map(|(chains, limits, quota)| World {
        chains,
        limits,
        quota,
    })
}

fn chains(verdicts: BoxedStrategy<Option<&'static str>>) -> impl Strategy<Value = Chain> {
    let step = (select(TOOLS.to_vec()), 1_u64..20, 1_usize..4, verdicts);
    let step = step.prop_map(|(tool, s, min_count, verdict)| ChainStep {
        tool,
        within_ms: s * 1_000,
        min_count,
        verdict,
    });
    (vec(step, 1..4), any::<bool>()).prop_map(|(steps, is_ordered)| Chain { steps, is_ordered })
}

impl World {
    fn policy(&self) -> String {
        let mut text = "rules:\n- {id: never, when: {tool: never}, then: block}\n".to_owned();
        for (number, (tool, chain)) in self.chains.iter().enumerate() {
            let chain = chain.written();
            text.push_str(&format!(
                "- {{id: chain-{number}, when: {{tool: {tool}, chain: {chain}}}, then: block}}\n"
            ));
        }
        if let Some(quota) = self.quota {
            text.push_str(&format!(
                "- {{id: quota, when: {{session: {{total_calls: {{gte: {quota}}}}}}}, then: block}}\n"
            ));
        }
        if !self.limits.is_empty() {
            text.push_str("rate_limits:\n");
        }
        for Limit { tool, calls_max, window_ms } in &self.limits {
            let seconds = window_ms / 1_000;
            text.push_str(&format!(
                "- {{tool: {tool}, max_calls: {calls_max}, window_seconds: {seconds}}}\n"
            ));
        }
        text
    }
}

impl Chain {
    fn written(&self) -> Value {
        let steps = self.steps.iter().map(|step| {
            let verdict = step.verdict.map(|verdict| json!({"verdict": verdict})).unwrap_or_default();
            let written = json!({"tool": step.tool, "within_seconds": step.within_ms / 1_000, "min_count": step.min_count});
            let fields = [written, verdict].into_iter().filter_map(|part| part.as_object().cloned()).flatten();
            Value::Object(fields.collect())
        });
        json!({"ordered": self.is_ordered, "steps": steps.collect::<Vec<_>>()})
    }
}

/// A call, how much later it comes than the one before, and how it ends, if it does.
#[derive(Clone, Debug)]
struct Happening {
    tool: &'static str,
    later_ms: i64,
    ends: Option<bool>,
}

fn happenings() -> impl Strategy<Value = Happening> {
    // Whole seconds, so that the very end of a window is met; and clocks are set back now and then.
    (
        select(TOOLS.to_vec()),
        select(vec![-5_000, 0, 0, 1, 999, 1_000, 3_000, 7_000]),
        option::of(any::<bool>()),
    )
        .prop_map(|(tool, later_ms, ends)| Happening { tool, later_ms, ends })
}

/// All that ever happened, and nothing else.
#[derive(Default)]
struct Model {
    past: Vec<Past>,
    /// The calls each limit counts.
    counted: Vec<(usize, u64)>,
    passed: usize,
    /// What the caller's clock says, and the latest it ever said.
    said_ms: Option<u64>,
    clock_ms: u64,
}

#[derive(Clone, Copy)]
struct Past {
    at_ms: u64,
    tool: &'static str,
    decision: Decision,
}

impl Model {
    fn clock_after(&mut self, later_ms: i64) -> Time {
        let said_ms = self.said_ms.map_or(START_MS, |said| said.saturating_add_signed(later_ms));
        self.said_ms = Some(said_ms);
        self.clock_ms = self.clock_ms.max(said_ms);
        Time(said_ms)
    }

    fn judge(&mut self, world: &World, tool: &'static str) -> Decision {
        let is_refused = tool == "never"
            || world.quota.is_some_and(|quota| self.passed >= quota)
            || world.chains.iter().any(|(of, chain)| *of == tool && self.holds(chain));
        let mut is_limited = false;
        for (number, limit) in world.limits.iter().enumerate().filter(|(_, limit)| limit.tool == tool) {
            let is_recent = |at_ms: u64| self.clock_ms - at_ms < limit.window_ms;
            let count = self.counted.iter().filter(|(of, at_ms)| *of == number && is_recent(*at_ms)).count();
            if count >= limit.calls_max {
                is_limited = true;
            } else {
                self.counted.push((number, self.clock_ms));
            }
        }
        let decision = if is_refused || is_limited { Decision::Block } else { Decision::Allow };
        self.passed += usize::from(decision == Decision::Allow);
        self.past.push(Past { at_ms: self.clock_ms, tool, decision });
        decision
    }

    fn holds(&self, chain: &Chain) -> bool {
        if chain.is_ordered {
            let steps: Vec<&ChainStep> =
                chain.steps.iter().flat_map(|step| std::iter::repeat_n(step, step.min_count)).collect();
            return self.is_way(&steps, &self.past);
        }
        let taken = |step: &ChainStep| self.past.iter().filter(|past| self.takes(past, step)).count();
        chain.steps.iter().all(|step| taken(step) >= step.min_count)
    }

    /// Whether the steps were taken one after another, by some of these calls.
    fn is_way(&self, steps: &[&ChainStep], past: &[Past]) -> bool {
        let Some((first, rest)) = steps.split_first() else { return true };
        // The first call that takes a step leaves most calls for the steps after it.
        let found = past.iter().position(|past| self.takes(past, first));
        found.and_then(|index| past.get(index + 1..)).is_some_and(|later| self.is_way(rest, later))
    }

    fn takes(&self, past: &Past, step: &ChainStep) -> bool {
        let is_meant = match step.verdict {
            None => true,
            Some("allow") => past.decision == Decision::Allow,
            Some(_) => past.decision == Decision::Block,
        };
        past.tool == step.tool && is_meant && self.clock_ms - past.at_ms <= step.within_ms
    }
}

/// A policy that makes a session remember a bit of everything.
const RICH: &str = "
approval_strategy: per_session
taint_chain: {enabled: true, outgoing_tools: [send]}
rate_limits:
  - {tool: read, max_calls: 3, window_seconds: 20}
rules:
  - {id: guests, when: {tool: write, session: {role: '!staff'}}, then: block}
  - {id: seen, when: {tool: write, session: {taints: {contains: EMAIL}}}, then: redact}
  - {id: ask, when: {tool: deploy}, then: approve}
  - {id: ask-tool, when: {tool: pay}, then: approve, approval_strategy: per_tool}
  - {id: storm, when: {tool: write, chain: [{tool: write, within_seconds: 10, min_count: 2}]}, then: block}
  - {id: way, when: {tool: send, chain: {ordered: true, steps: [{tool: read, within_seconds: 60}, {tool: write, within_seconds: 30}]}}, then: block}
  - {id: often, when: {tool: deploy, session: {tool_count.deploy: {gte: 3}}}, then: block}
";

#[derive(Clone, Debug)]
enum Turn {
    Call { tool: &'static str, later_ms: u64, answer: Option<bool>, gives: Option<&'static str> },
    Describe { role: Option<&'static str> },
    Untaint,
}

fn turns() -> impl Strategy<Value = Turn> {
    let tools = vec!["read", "write", "deploy", "pay", "send"];
    let outputs = vec![None, Some("nothing"), Some("to ann@example.com")];
    let call =
        (select(tools), select(vec![0, 1_000, 9_000, 1_800_000]), option::of(any::<bool>()), select(outputs));
    let call = call.prop_map(|(tool, later_ms, answer, gives)| Turn::Call { tool, later_ms, answer, gives });
    let role = select(vec![Some("staff"), Some("guest"), None]).prop_map(|role| Turn::Describe { role });
    prop_oneof![12 => call, 2 => role, 1 => Just(Turn::Untaint)]
}

/// A gate, and how far its story has come.
struct Play {
    gate: Gate,
    calls: usize,
    at: Time,
}

impl Play {
    fn new(gate: Gate) -> Self {
        Self { gate, calls: 0, at: Time(START_MS) }
    }

    fn turn(&mut self, turn: &Turn) -> Option<Verdict> {
        match turn {
            Turn::Call { tool, later_ms, answer, gives } => {
                self.calls += 1;
                self.at = self.at.after_ms(*later_ms);
                let call = Call::new(self.calls.to_string(), *tool).in_session(SESSION).at(self.at);
                let mut verdict = self.gate.call(&call);
                if let (Some(approval), Some(granted)) = (&verdict.approval, answer) {
                    verdict = self.gate.answer(approval, *granted, self.at).unwrap();
                }
                if let (true, Some(output)) = (verdict.lets_pass(), gives) {
                    let outcome = Outcome { output: Some(Value::from(*output)), ..Outcome::success(&call) };
                    self.gate.result(&outcome).unwrap();
                }
                Some(verdict)
            }
            Turn::Describe { role } => {
                let attributes = json!({"role": role}).as_object().cloned().unwrap();
                self.gate.describe(SESSION, attributes).unwrap();
                None
            }
            Turn::Untaint => {
                self.gate.untaint(SESSION).unwrap();
                None
            }
        }
    }

    fn saved(&self) -> String {
        self.gate.session(SESSION).unwrap().to_json(self.gate.policy())
    }
}

fn read(text: &str) -> Policy {
    let (policy, diagnostics) = lockgate::engine::languages::read(&[Source::new("policy.yaml", text)]);
    policy.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

fn gate(text: &str) -> Gate {
    Gate::new(read(text))
}
