//! Calls that a clause is about, made up from what it looks for.
//!
//! [`Sampler::samples_of`] gives several, at the edges of what the clause says, each with the session that comes before it.
//! Whether a clause really decides about its sample is seen when it is played; nothing here promises it. Variables of
//! the gate's environment and what the host says under names of its own are missing on purpose: no caller can make
//! those up.

mod inputs;
mod maker;
mod naming;
mod run;

use jiff::tz::TimeZone;
use lockgate_call::Call;
use lockgate_policy::{Policy, RuleId, ToolName, condition::Condition};
use maker::{CALLS_MAX, Maker, TOOLS_MAX};
use serde_json::Map;

use super::literals::values_in;

pub use inputs::merged;
pub use maker::{BEFORE_MAX, SAMPLES_MAX};
pub use run::{Run, Sample};

pub(super) use inputs::{call_with, reaching};
pub(super) use naming::Naming;

/// Makes up calls for the clauses of a policy.
#[derive(Debug)]
pub struct Sampler<'p> {
    policy: &'p Policy,
    naming: Naming,
}

impl<'p> Sampler<'p> {
    /// For this policy.
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, naming: Naming::of(policy) }
    }

    /// Sessions that end with calls a clause is about, at the edges of what it says and of what these say beside it.
    pub fn samples_of(&self, rule: RuleId, beside: &[(&Self, RuleId)], zone: &TimeZone) -> Vec<Sample> {
        let Some(clause) = self.policy.clause(rule) else { return Vec::new() };
        let names = beside.iter().flat_map(|(sampler, rule)| sampler.naming.of_clause(*rule));
        let patterns = names.filter_map(|name| match name {
            Some(ToolName::Matching(pattern)) => Some(pattern.clone()),
            Some(ToolName::Exact(_)) | None => None,
        });
        let patterns = patterns.take(TOOLS_MAX).collect();
        let beside = beside.iter().filter_map(|(sampler, rule)| sampler.policy.clause(*rule)).collect();
        let mut samples =
            Maker { policy: self.policy, naming: &self.naming, clause, beside, patterns, zone }.samples();
        // A sandbox has doubts about a call without a working folder.
        let cwd = self.folder();
        for run in samples.iter_mut().flat_map(|sample| &mut sample.runs) {
            run.call.about.cwd.clone_from(&cwd);
        }
        samples
    }

    /// A folder that some sandbox is about.
    pub(super) fn folder(&self) -> Option<String> {
        let mut conditions = self.policy.clauses().iter().flat_map(|clause| &clause.conditions);
        conditions.find_map(|condition| match condition {
            Condition::Outside(sandbox) => sandbox.boundaries().within.first().cloned(),
            _ => None,
        })
    }
}

impl Sampler<'_> {
    /// Calls of a tool that some clause tells apart from others, each by one value.
    pub fn calls_of(&self, tool: &str) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for clause in self.policy.clauses_about(tool) {
            for (place, value) in values_in(&clause.conditions) {
                let (call, _) = call_with(tool, &Map::new(), &[(&place, &value)]);
                if calls.len() < CALLS_MAX && !calls.contains(&call) && call.tool == tool {
                    calls.push(call);
                }
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::{
        inputs::{DEEP_MAX, LARGE_MAX},
        maker::LONG_SAMPLES_MAX,
        *,
    };
    use lockgate_policy::Source;

    fn policy(text: &str) -> Policy {
        let (policy, mistakes) = lockgate_languages::read(&[Source::new("a.yaml", text)]);
        policy.unwrap_or_else(|| panic!("{mistakes:?}\n{text}"))
    }

    /// The samples of the first clause.
    fn samples(text: &str) -> Vec<Sample> {
        let policy = policy(text);
        let rule = policy.clauses().first().unwrap().id;
        Sampler::new(&policy).samples_of(rule, &[], &TimeZone::UTC)
    }

    fn when_then(when: &str) -> String {
        format!("version: 1\nrules:\n  - {{id: a, when: {when}, then: block}}\n")
    }

    fn listed(count: usize) -> String {
        (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn no_more_tools_are_tried_than_the_limit_says() {
        for (count, tried) in
            [(TOOLS_MAX - 1, TOOLS_MAX - 1), (TOOLS_MAX, TOOLS_MAX), (TOOLS_MAX + 1, TOOLS_MAX)]
        {
            assert_eq!(samples(&when_then(&format!("{{tool: [{}]}}", listed(count)))).len(), tried);
        }
    }

    #[test]
    fn no_more_samples_are_made_than_the_limit_says() {
        let fields: Vec<String> =
            (0..20).map(|field| format!("f{field}: {{in: [{}]}}", listed(40))).collect();
        let made = samples(&when_then(&format!("{{tool: a, args_match: {{{}}}}}", fields.join(", "))));
        assert_eq!(made.len(), SAMPLES_MAX);
    }

    #[test]
    fn no_session_before_a_call_is_longer_than_the_limit_says() {
        let counted = |count: u64| {
            samples(&when_then(&format!("{{tool: a, session: {{total_calls: {{gte: {count}}}}}}}")))
        };
        let calls = |sample: &Sample| sample.runs.iter().map(|run| run.times).sum::<u64>();
        assert_eq!(counted(BEFORE_MAX).iter().map(calls).max(), Some(BEFORE_MAX + 1));
        assert!(counted(BEFORE_MAX + 1).is_empty());
        // Few are made where they are long.
        assert!(counted(BEFORE_MAX).len() <= LONG_SAMPLES_MAX);
    }

    #[test]
    fn no_input_is_larger_or_deeper_than_the_limit_says() {
        let largest = |key: &str, limit: u64| {
            let made = samples(&format!("version: 1\nrules: []\nsanitizer: {{{key}: {limit}}}\n"));
            let size = |sample: &Sample| {
                serde_json::to_string(&sample.runs.last().unwrap().call.input).unwrap().len()
            };
            made.iter().map(size).max().unwrap_or_default()
        };
        assert!(largest("max_string_length", LARGE_MAX - 1) > 99_999);
        assert_eq!(largest("max_string_length", LARGE_MAX), 0);
        assert!(largest("max_depth", DEEP_MAX - 1) > 100);
        assert_eq!(largest("max_depth", DEEP_MAX), 0);
    }

    #[test]
    fn no_more_calls_like_another_are_made_than_the_limit_says() {
        let fields: Vec<String> = (0..40).map(|field| format!("f{field}: {{in: [a, b]}}")).collect();
        let policy = policy(&when_then(&format!("{{tool: a, args_match: {{{}}}}}", fields.join(", "))));
        assert_eq!(Sampler::new(&policy).calls_of("a").len(), CALLS_MAX);
    }
}
