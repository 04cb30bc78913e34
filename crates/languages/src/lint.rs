//! Findings about a file that loads: rules that do nothing, names that look misspelt, maps that hide.
//!
//! [`lint`] looks at one [`Draft`] and says what its author probably does not mean. Of a draft whose file has mistakes only
//! [local](Diagnostic::is_local) findings count: what a broken line would have said is not there to be counted. It reads names
//! and statements alone; what only shows when rules act together is the prover's to find.

mod fields;
mod file;
mod human;
mod listed;
mod literal;
mod maps;
mod mentions;
mod misspelt;
mod tools;
mod unguarded;

use file::{File, NAME_COMPARED_BYTES_MAX, names_of};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use human::human_word;
use lockgate_policy::{
    Diagnostic, DraftRule, Map, Mode, Scope, Span, Statement, closest, provenance::ResultSource,
};
use maps::{covers, subject_of};
use smallvec::SmallVec;

use crate::{draft::Draft, one_line::period_seconds, ruleset, workflow};

pub use listed::{ListedTool, ListedTools};
pub use tools::{KnownTools, check_names};

/// What people write for the user.
const USERS: [&str; 8] = ["users", "human", "humans", "person", "owner", "me", "prompt", "operator"];

/// How many earlier maps of the same field or program a map is compared with.
const MAPS_COMPARED_MAX: usize = 256;

/// Everything worth telling about a file that its parser accepted, in file order.
pub fn lint(draft: &Draft) -> Vec<Diagnostic> {
    let file = File::read(draft);
    let mut findings = ruleset::lint(draft);
    findings.extend(workflow::lint(draft));
    let mut firsts = HashMap::with_hasher(RandomState::default());
    for rule in &draft.rules {
        findings.extend(file.idle_rule(rule));
        findings.extend(file.misread_word(rule));
        findings.extend(file.hidden_tools(rule));
        if let Some(key) = key_of(rule) {
            let first = *firsts.entry(key).or_insert(rule.span);
            findings.extend((first != rule.span).then(|| file.duplicate(rule, first)));
        }
    }
    for rule in &draft.sentences.rules {
        findings.extend(rule.sources().filter_map(|source| file.misread_user(rule.span, source)));
    }
    let mut earlier: HashMap<_, SmallVec<[&Map; 4]>, _> = HashMap::with_hasher(RandomState::default());
    // One line may give several tools the same map.
    for line in draft.maps.chunk_by(|one, next| one.span == next.span && one.span.start < one.span.end) {
        let Some(map) = line.first() else { continue };
        findings.extend(file.unused_map(map, line));
        findings.extend(file.doubtful_pattern(map));
        findings.extend(file.literal_word(map));
        let mut winners = Vec::with_capacity(line.len());
        for map in line {
            let rivals = earlier.entry((map.tool.as_str(), subject_of(&map.takes))).or_default();
            winners.extend(rivals.iter().find(|rival| covers(&rival.takes, &map.takes)).copied());
            if rivals.len() < MAPS_COMPARED_MAX {
                rivals.push(map);
            }
        }
        // Where an earlier map takes the calls of some tools only, the line is still used for the others.
        let winner = winners.first().filter(|_| winners.len() == line.len());
        findings.extend(winner.map(|winner| file.hidden_map(map, winner)));
    }
    let mut declared: HashMap<_, Span, _> = HashMap::with_hasher(RandomState::default());
    for script in &draft.scripts {
        let first = *declared.entry((script.tool.as_str(), script.field.as_str())).or_insert(script.span);
        findings.extend(match first == script.span {
            true => file.idle_script(script),
            false => Some(file.duplicate_script(script, first)),
        });
    }
    findings.extend(file.unreadable_allowed(draft));
    for name in &file.names {
        findings.extend(file.literal_name(name));
        findings.extend(file.misspelt(name));
    }
    findings.extend(tools::odd_names(draft));
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

impl<'d> File<'d> {
    /// A rule that lifts its own restriction.
    fn idle_rule(&self, rule: &DraftRule) -> Option<Diagnostic> {
        match &rule.statement {
            Statement::Limit { tool, count, scope: Scope::Action(action) } if action == tool => Some(
                self.warning(
                    "self-limit",
                    rule.span,
                    format!("a limit of `{tool}` per `{tool}` never refuses a call"),
                )
                .label("each call gives back what it spends")
                .remedy(format!(
                    "write `limit {tool} to {count} per session`, or name another tool after `per`"
                )),
            ),
            Statement::Sequence { prerequisite, dependent } if prerequisite == dependent => Some(
                self.warning(
                    "self-requirement",
                    rule.span,
                    format!("`{dependent}` is required before itself"),
                )
                .label("never refuses a call")
                .remedy("name the tool that has to come first, or leave the rule out"),
            ),
            _ => None,
        }
    }

    /// A word with a meaning of its own that is taken as a tool's name: `per hour`, `require approval before`. A name
    /// that another statement restricts, or that a map gives, is a tool's to its author.
    fn misread_word(&self, rule: &DraftRule) -> Option<Diagnostic> {
        let phrase = |name: &str| match EVERYTHING.contains(&name) {
            true => Some("any call".to_owned()),
            false => EFFECTS.contains(&name).then(|| format!("any {name}")),
        };
        let is_free = |name: &str| !self.renamed.values().any(|map| map.name == name);
        let found = names_of(rule).into_iter().filter(|name| is_free(name));
        if let Some((word, meant)) = found.into_iter().find_map(|name| Some((name, phrase(name)?))) {
            return Some(
                self.warning(
                    "looks-like-keyword",
                    self.span_in(rule.span, word),
                    format!("`{word}` is taken as the name of a tool"),
                )
                .label(format!("did you mean `{meant}`?"))
                .remedy(format!("write `{meant}`, unless a tool is really called `{word}`")),
            );
        }
        let (word, meant) = match &rule.statement {
            Statement::Limit { tool, count, scope: Scope::Action(word) } => {
                if let Some(seconds) =
                    period_seconds(word).filter(|_| !self.restricted.contains(word.as_str()))
                {
                    return Some(self.misread_period(rule, (tool, count.get()), word, seconds));
                }
                let is_session = strsim::osa_distance(&shortened(word).to_lowercase(), "session") <= 1;
                (word, is_session.then_some("session")?)
            }
            Statement::Sequence { prerequisite, .. } => {
                let is_free = !self.restricted.contains(prerequisite.as_str());
                let slip = || closest(prerequisite, ["human-approval"]);
                let word = (is_free && human_word(prerequisite).is_some()).then_some("human-approval");
                (prerequisite, word.or_else(slip)?)
            }
            _ => return None,
        };
        let statement = match &rule.statement {
            Statement::Sequence { dependent, .. } => format!("require {meant} before {dependent}"),
            _ => meant.to_owned(),
        };
        Some(
            self.warning(
                "looks-like-keyword",
                self.span_in(rule.span, word),
                format!("`{word}` is taken as the name of a tool"),
            )
            .label(format!("did you mean `{meant}`?"))
            .remedy(format!("write `{statement}`, unless a tool is really called `{word}`")),
        )
    }

    /// `must come from usr`: a tool of that name is trusted, and no word of the user is.
    fn misread_user(&self, rule: Span, source: &ResultSource) -> Option<Diagnostic> {
        let word = source.tool.as_str();
        let is_meant = USERS.contains(&word.to_lowercase().as_str())
            || strsim::osa_distance(&word.to_lowercase(), "user") == 1;
        let is_alone = source.field.is_none() && !self.restricted.contains(word);
        (is_meant && is_alone).then(|| {
            self.warning(
                "looks-like-keyword",
                self.span_in(rule, word),
                format!("`{word}` is taken as the name of a tool, and what it returns is trusted"),
            )
            .label("did you mean `user`?")
            .remedy(format!("write `user`, unless a tool is really called `{word}`"))
        })
    }

    fn misread_period(
        &self,
        rule: &DraftRule,
        (tool, count): (&str, u64),
        word: &str,
        seconds: u64,
    ) -> Diagnostic {
        self.warning(
            "looks-like-time",
            self.span_in(rule.span, word),
            format!("`{word}` is taken as the name of a tool whose calls give `{tool}` back"),
        )
        .label("a time needs its number")
        .remedy(format!(
            "write `limit {tool} to {count} per {}`, unless a tool is really called `{word}`",
            period(seconds)
        ))
    }

    fn duplicate(&self, rule: &DraftRule, first: Span) -> Diagnostic {
        let text = self.draft.source.slice(first);
        self.warning("duplicate-rule", rule.span, format!("`{text}` is written twice"))
            .label(format!("the same rule as in line {}", self.line(first)))
            .remedy("leave one of them out")
    }

    /// Rules on a tool do not see its calls that a map gives another name. Only a note: together with
    /// `block` this is how an allow-list is written.
    fn hidden_tools(&self, rule: &DraftRule) -> Option<Diagnostic> {
        let names = names_of(rule);
        let (tool, map) = names.iter().find_map(|name| {
            let tool = name.split('.').next()?;
            let map = self.renamed.get(name).or_else(|| self.renamed.get(tool))?;
            (map.name != *name).then_some((map.tool.as_str(), *map))
        })?;
        Some(
            self.note(
                "hidden-tool",
                self.span_in(rule.span, tool),
                format!("this rule does not see the calls of `{tool}` that a map renames"),
            )
            .label(format!("line {} renames some to `{}`", self.line(map.span), map.name))
            .remedy(format!("write a rule for `{}` too, unless those calls are meant to pass", map.name)),
        )
    }
}

/// What makes two rules the same. Nets are not compared: their names are, where files are joined.
fn key_of(rule: &DraftRule) -> Option<(&'static str, SmallVec<[&str; 2]>, u64, Mode)> {
    // What stands behind two of them may differ.
    if rule.tail.is_some() {
        return None;
    }
    let (kind, count) = match &rule.statement {
        Statement::Sequence { .. } => ("sequence", 0),
        Statement::Approval { .. } => ("approval", 0),
        Statement::Block { .. } => ("block", 0),
        Statement::Limit { count, .. } => ("limit", count.get()),
        Statement::Net(_) => return None,
    };
    Some((kind, names_of(rule), count, rule.mode))
}

/// What people write for every call.
const EVERYTHING: [&str; 6] = ["all", "any", "anything", "everything", "every", "all-tools"];

/// Effects that hardly a tool is called like.
const EFFECTS: [&str; 6] =
    ["deletion", "secret-read", "publication", "history-change", "elevation", "disruption"];

/// A time as a sentence names it.
fn period(seconds: u64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let found = units.into_iter().find(|(size, _)| seconds.is_multiple_of(*size));
    let (size, unit) = found.unwrap_or((1, "second"));
    let count = seconds / size;
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// Enough of a text to compare it with `session`.
fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME_COMPARED_BYTES_MAX)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
