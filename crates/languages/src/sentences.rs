//! From sentences to what the gate asks: clauses, windows and logs.
//!
//! A name means the calls that the rules of its file know by it: the tool, or what the file's maps call so. Where no map
//! is concerned, the name of the tool decides alone.

use std::sync::Arc;

use lockgate_policy::{
    Builder, Counting, Decision, Diagnostic, FileId, FoundBy, Head, Retention, Rule, Sandbox, Source,
    ToolName, Tools, Waiting, Watcher,
    clause::{Clause, Rank},
    condition::{Condition, Subject},
    is_phrase,
    past::{Action, Measure, Outcome, Past, Recorder},
    window::WindowId,
};

use crate::{
    draft::{
        Draft,
        spoken::{Clearing, Names, Sentences, Spoken, SpokenPart, SpokenPast},
    },
    untrusted,
    when_then::DefaultVerdict,
};

/// The longest name of a rule, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Adds the sentences of one file to a policy.
pub(crate) fn lower(
    sentences: Sentences,
    draft: &Draft,
    default: &DefaultVerdict,
    policy: &mut Builder,
    mistakes: &mut Vec<Diagnostic>,
) {
    let file = policy.next_file();
    let source = draft.source.clone();
    let mut lowering = Lowering { draft, source, file, default, policy, mistakes };
    sentences.rules.into_iter().for_each(|rule| lowering.rule(rule));
}

struct Lowering<'a> {
    draft: &'a Draft,
    source: Source,
    file: FileId,
    default: &'a DefaultVerdict,
    policy: &'a mut Builder,
    mistakes: &'a mut Vec<Diagnostic>,
}

impl Lowering<'_> {
    fn rule(&mut self, spoken: Spoken) {
        let Spoken { span, mode, wants, calls, parts, because, kind, key, per_value } = spoken;
        let text = self.source.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.strip_prefix("observe ").unwrap_or(&text).to_owned();
        let name = rule_name(&text);
        let rule = self.policy.rule(Head { name, key, span, mode }, &self.source);
        let (tools, known) = self.tools(&calls);
        let mut windows = Vec::new();
        let mut conditions: Vec<Condition> = known.into_iter().collect();
        // What opens a call must be all that the call is: `git status; rm x` is more than `git status`.
        if wants == Decision::Allow && !conditions.is_empty() {
            let (phrases, names) = arcs(&calls).into_iter().partition(|name| is_phrase(name));
            conditions.push(Condition::Only { file: self.file, names, phrases });
        }
        for part in parts {
            match self.condition(part, &rule, &calls, &mut windows) {
                Ok(condition) => conditions.push(condition),
                Err(message) => {
                    let mistake = Diagnostic::error("bad-boundary", &self.source, span, message);
                    self.mistakes.push(mistake.remedy("write what the boundary is meant to be"));
                    return;
                }
            }
        }
        let floor = if self.source.is_trusted() { Decision::Allow } else { self.default.floor };
        // Only what opens something speaks in the place of the default: a line that closes allows nothing by being
        // silent, and nothing by speaking either.
        let speaks_for_default = wants == Decision::Allow && wants >= floor;
        if wants == Decision::Allow && !speaks_for_default {
            self.policy.wait(Waiting { source: self.source.clone(), span, what: untrusted::CREDIT });
        }
        let names = match &tools {
            Tools::Any(names) => names.iter().map(ToString::to_string).collect(),
            Tools::Every => Vec::new(),
        };
        // Where a value comes from, and what the user said, is told by the condition itself.
        let tells = |it: &Condition| matches!(it, Condition::Untraced(_) | Condition::Unsaid(_));
        let sentence = match conditions.iter().any(tells) {
            true => String::new(),
            false => format!("the rule says: {text}."),
        };
        let clause = Clause {
            conditions,
            rank: Rank { kind, ..Rank::default() },
            is_credit: wants == Decision::Allow && wants < self.default.verdict,
            speaks_for_default,
            template: because,
            windows,
            tools: names,
            per_value,
            ..Clause::new(rule, wants, sentence)
        };
        self.policy.clause(clause, FoundBy::Tools(&tools));
    }

    /// The tools whose calls may be meant by these names, and what else must hold of them.
    fn tools(&mut self, calls: &Names) -> (Tools, Option<Condition>) {
        if calls.is_every {
            return (Tools::Every, None);
        }
        let mut tools: Vec<&str> = Vec::new();
        let mut is_plain = true;
        if calls.names.iter().any(|name| is_phrase(name)) {
            // What a call does or runs is seen in the call, whatever its tool.
            calls.names.iter().for_each(|name| self.policy.action(name));
            return (Tools::Every, Some(self.deed(calls)));
        }
        for name in &calls.names {
            let base = name.split_once('.').map_or(name.as_str(), |(base, _)| base);
            let maps = &self.draft.module.maps;
            let given = maps.iter().filter(|map| map.name == *name).map(|map| map.tool.as_str());
            for tool in given.chain([name.as_str(), base]) {
                // With other tools beside it, what each call amounts to decides.
                is_plain &= tool == name && !maps.iter().any(|map| map.tool == tool || map.name == tool);
                if !tools.contains(&tool) {
                    tools.push(tool);
                }
            }
            self.policy.action(name);
        }
        let names = tools.iter().map(|tool| ToolName::Exact((*tool).to_owned())).collect();
        (Tools::Any(names), (!is_plain).then(|| self.deed(calls)))
    }

    fn deed(&self, calls: &Names) -> Condition {
        Condition::Deed { file: self.file, names: arcs(calls) }
    }

    fn condition(
        &mut self,
        part: SpokenPart,
        rule: &Rule,
        calls: &Names,
        windows: &mut Vec<String>,
    ) -> Result<Condition, String> {
        Ok(match part {
            SpokenPart::Holds(condition) => condition,
            SpokenPart::Reaches(boundaries) => {
                let sandbox = Sandbox::of_places(boundaries).map_err(|error| error.to_string())?;
                Condition::Outside(Box::new(sandbox))
            }
            SpokenPart::Either(parts) => {
                let parts = parts.into_iter().map(|part| self.condition(part, rule, calls, windows));
                Condition::Any(parts.collect::<Result<_, _>>()?)
            }
            SpokenPart::Past(past) => Condition::Past(Box::new(self.past(*past, rule, windows))),
            SpokenPart::NotPast(past) => {
                Condition::Not(Box::new(Condition::Past(Box::new(self.past(*past, rule, windows)))))
            }
            SpokenPart::Rate { count, within_ms, is_shared } => {
                let window = next_window(rule, windows, "calls");
                let counts = Counting::Unless(rule.id);
                let watcher = Watcher { window, counts, keeps: Retention::Last(count), is_shared };
                let (tools, _) = self.tools(calls);
                self.policy.watch(&tools, &watcher);
                Condition::Called { window, count, within_ms, is_end_included: false, is_shared }
            }
        })
    }

    /// The question about earlier calls, and what answers it.
    fn past(&mut self, past: SpokenPast, rule: &Rule, windows: &mut Vec<String>) -> Past {
        let SpokenPast { calls, outcome, tests, within_ms, keys, measure, value, amount, keep, .. } = past;
        let SpokenPast { cleared_by, is_right, is_credit, counts_itself, .. } = past;
        let window = next_window(rule, windows, &calls.names.join(" "));
        let (then, now): (Vec<Subject>, Vec<Subject>) = keys.into_iter().unzip();
        let is_since = cleared_by.iter().any(|it| it.is_since);
        let blank = Recorder {
            window,
            conditions: Vec::new(),
            outcome,
            action: Action::Enter,
            keys: then,
            value: value.clone(),
            measure,
            keep,
            within_ms,
            is_credit,
            earned: (is_credit && !calls.is_every).then(|| (self.file, arcs(&calls))),
            is_since,
            lasts: false,
        };
        if is_right {
            let outcome = if outcome.is_of_result() { Outcome::Answered } else { Outcome::Asked };
            let recorder = Recorder { action: Action::Supersede, outcome, earned: None, ..blank.clone() };
            self.policy.record(&Tools::Every, &recorder);
        }
        let asked = calls.clone();
        for clearing in cleared_by {
            if clearing.is_others {
                self.cleared_by_others(clearing, &asked, &blank);
                continue;
            }
            let Clearing { calls, outcome, tests, keys, lasts, .. } = clearing;
            let (tools, known) = self.tools(&calls);
            let conditions = known.into_iter().chain(tests).collect();
            // Where the log closes, what clears it opens something.
            let earned = (!is_credit).then(|| (self.file, arcs(&calls)));
            let recorder =
                Recorder { action: Action::Clear, conditions, outcome, keys, earned, lasts, ..blank.clone() };
            self.policy.record(&tools, &recorder);
        }
        let (tools, known) = self.tools(&calls);
        let recorder = Recorder { conditions: known.into_iter().chain(tests).collect(), ..blank };
        self.policy.record(&tools, &recorder);
        let itself = counts_itself.then_some(value).map(|value| value.filter(|_| measure != Measure::Count));
        Past { window, measure, amount, within_ms, keys: now, itself, is_credit }
    }

    /// `with only X since`: every call clears that is not X, and X with other values does, too.
    fn cleared_by_others(&mut self, clearing: Clearing, asked: &Names, blank: &Recorder) {
        let Clearing { calls, outcome, keys, .. } = clearing;
        let clear =
            Recorder { action: Action::Clear, outcome, keys: Vec::new(), earned: None, ..blank.clone() };
        let names = calls.names.iter().chain(&asked.names).cloned().collect();
        let known = self.deed(&Names { names, is_every: false });
        let conditions = vec![Condition::Not(Box::new(known))];
        self.policy.record(&Tools::Every, &Recorder { conditions, ..clear.clone() });
        // What is asked for is an entry of its own when it ends, but clears the others when it begins.
        let again: Vec<String> = asked.names.iter().filter(|it| !calls.names.contains(it)).cloned().collect();
        if !again.is_empty() {
            let (tools, known) = self.tools(&Names { names: again, is_every: false });
            let conditions = known.into_iter().collect();
            self.policy.record(&tools, &Recorder { conditions, outcome: Outcome::Called, ..clear.clone() });
        }
        if !keys.is_empty() {
            let (tools, known) = self.tools(&calls);
            let conditions = known.into_iter().collect();
            self.policy.record(&tools, &Recorder { action: Action::KeepSame, conditions, keys, ..clear });
        }
    }
}

fn arcs(calls: &Names) -> Vec<Arc<str>> {
    calls.names.iter().map(|name| Arc::from(name.as_str())).collect()
}

fn next_window(rule: &Rule, windows: &mut Vec<String>, what: &str) -> WindowId {
    let step = u16::try_from(windows.len()).unwrap_or(u16::MAX);
    windows.push(format!("{step} {what}"));
    WindowId { rule: rule.id, step }
}

/// What a rule is called: its words, with hyphens between them.
fn rule_name(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_alphanumeric() || "._".contains(c) { c } else { ' ' }).collect();
    let name = plain.split_whitespace().collect::<Vec<_>>().join("-");
    name.chars().take(NAME_CHARS_MAX).collect()
}
