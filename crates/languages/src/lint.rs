//! Findings about a file that loads: rules that do nothing, names that look misspelt, maps that hide.
//!
//! [`lint`] looks at one [`Draft`] and says what its author probably does not mean. Of a draft whose file has mistakes only
//! [local](Diagnostic::is_local) findings count: what a broken line would have said is not there to be counted. It reads names
//! and statements alone; what only shows when rules act together is the prover's to find.

mod file;
mod human;
mod tools;

use std::cmp::Ordering;

use file::{File, NAME_COMPARED_BYTES_MAX, Name, names_of};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use human::{human_word, parts};
use lockgate_call::{AGENTS, is_script_field};
use lockgate_policy::{
    Decision, Diagnostic, DraftRule, Map, Mode, Scope, ScriptField, Span, Statement, Takes, closest,
};
use smallvec::SmallVec;
pub use tools::{KnownTools, check_names};

use crate::{draft::Draft, one_line::period_seconds, ruleset, workflow};

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
        .label("limits count per session or per call of a tool, not per time")
        .remedy(format!(
            "write `limit {tool} to {count} per session`, or into a `.yaml` file `rate_limits: [{{tool: {tool}, \
             max_calls: {count}, window_seconds: {seconds}}}]`, unless a tool is really called `{word}`"
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
        let names = names_of(&rule.statement);
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

    /// `line` are the maps of all tools of the same line.
    fn unused_map(&self, map: &Map, line: &[Map]) -> Option<Diagnostic> {
        let name = self.name(&map.name).filter(|name| !name.is_in_rule)?;
        let message = format!("no rule of this file names `{}`", map.name);
        let end = map.span.end;
        let name_span = Span::new(end.saturating_sub(map.name.len()), end);
        // Other languages may not write the name last.
        let span = if self.draft.source.slice(name_span) == map.name { name_span } else { map.span };
        if let Some(kept) = line.iter().find(|map| self.is_in_rule(&map.tool)) {
            let label = format!("only keeps these calls from the rules on `{}`", kept.tool);
            return Some(self.note("unused-map", span, message).label(label));
        }
        let finding = self.warning("unused-map", span, message);
        let in_rules = self.compared().iter().filter(|other| other.is_in_rule && other.is_near(name));
        Some(match closest(name.text, in_rules.map(|other| other.text)) {
            Some(meant) => finding
                .label(format!("did you mean `{meant}`?"))
                .remedy(format!(
                "write `as {meant}`, or the rule into this file: maps rename calls only for the rules of their own file"
            )),
            None => finding.label("renames calls for nobody").remedy(
                "write the rule into this file: maps rename calls only for the rules of their own file",
            ),
        })
    }

    fn hidden_map(&self, map: &Map, winner: &Map) -> Diagnostic {
        let line = self.line(winner.span);
        let label = match &winner.takes {
            Takes::Field { .. } => format!("line {line} has the same pattern and comes first"),
            Takes::Running { .. } => format!("line {line} takes all of them and comes first"),
        };
        self.warning("hidden-map", map.span, "this map is never used: an earlier one takes its calls".into())
            .label(label)
            .remedy(format!("leave one of them out, or name `{}` in the rules", winner.name))
    }

    fn doubtful_pattern(&self, map: &Map) -> Option<Diagnostic> {
        let Takes::Field { pattern, .. } = &map.takes else { return None };
        if pattern.is_impossible() {
            return Some(
                self.warning(
                    "impossible-pattern",
                    map.span,
                    "the pattern of this map matches no text at all".into(),
                )
                .label("renames nothing")
                .remedy("write what the field contains, as a plain word or between slashes"),
            );
        }
        (!pattern.is_linear()).then(|| {
            self.note(
                "not-linear",
                map.span,
                "the pattern of this map has look-around or back-references".into(),
            )
            .label("runs on an engine that may give up")
            .remedy(
                "do without them if you can: a text the engine gives up on is restricted and earns nothing",
            )
        })
    }

    /// A script field that need not be declared, or that no map reads.
    fn idle_script(&self, script: &ScriptField) -> Option<Diagnostic> {
        let ScriptField { tool, field, span } = script;
        if is_script_field(field) {
            return Some(
                self.note("usual-script", *span, format!("`{field}` is read as a script anyway"))
                    .label("says nothing new")
                    .remedy("leave the line out"),
            );
        }
        let is_read = [Some(field.as_str()), None]
            .iter()
            .any(|field| self.looked_at.contains(&(tool.as_str(), *field)));
        (!is_read).then(|| {
            self.warning("unused-script", *span, format!("no map of this file looks at `{tool}.{field}`"))
                .label("read by nobody")
                .remedy(format!("write a map for it, as in `map {tool} running rm as delete`"))
        })
    }

    /// Who lets pass what cannot be read should know what the rules on mapped names are worth then.
    fn unreadable_allowed(&self, draft: &Draft) -> Option<Diagnostic> {
        let line = draft.unreadable.as_ref().filter(|line| line.wants == Decision::Allow)?;
        (!draft.maps.is_empty() && line.mode == Mode::Enforce).then(|| {
            let message = "scripts that cannot be read pass every rule on a mapped name";
            self.note("unreadable-allowed", line.span, message.to_owned())
                .label("also those that compute the names of their programs")
                .remedy("write `unreadable scripts: ask`, unless that is meant; claims on mapped names are proved of readable scripts alone")
        })
    }

    fn duplicate_script(&self, script: &ScriptField, first: Span) -> Diagnostic {
        let message = format!("`{}.{}` is declared twice", script.tool, script.field);
        self.warning("duplicate-script", script.span, message)
            .label(format!("first in line {}", self.line(first)))
            .remedy("leave one of them out")
    }

    /// A name that only makes sense in a language with quotes, wildcards or lists.
    fn literal_name(&self, name: &Name<'d>) -> Option<Diagnostic> {
        let label = taken_literally(name.text)?;
        Some(
            self.warning(
                "literal-name",
                self.span_in(name.statement, name.text),
                "this name is taken letter by letter".into(),
            )
            .label(label)
            .remedy("write the name as the tool spells it"),
        )
    }

    /// The same for the words of what runs: they are compared with words a shell has already unquoted.
    fn literal_word(&self, map: &Map) -> Option<Diagnostic> {
        let Takes::Running { program, words } = &map.takes else { return None };
        let (word, label) =
            std::iter::once(program).chain(words).find_map(|word| Some((word, taken_literally(word)?)))?;
        Some(
            self.warning(
                "literal-name",
                self.span_in(map.span, word),
                "this word is taken letter by letter".into(),
            )
            .label(label)
            .remedy("write the word as the program gets it"),
        )
    }

    /// A name that another one is probably meant by: one that is used more often, or that the usual slips of a typist
    /// lead from.
    fn misspelt(&self, name: &Name<'d>) -> Option<Diagnostic> {
        let near = self.compared().iter().filter(|other| other.is_near(name));
        let alike = near.filter(|other| match other.uses.cmp(&name.uses) {
            Ordering::Greater => is_slip(name.text, other.text),
            // Of two names that are used alike, the later one is told, or the one with a letter less.
            Ordering::Equal => is_typo(name.text, other.text) && self.is_likelier(other, name),
            Ordering::Less => false,
        });
        let meant = alike.max_by_key(|other| other.uses)?;
        Some(
            self.warning(
                "misspelt",
                self.span_in(name.statement, name.text),
                format!("`{}` looks like a misspelt `{}`", name.text, meant.text),
            )
            .label(format!("used {}, `{}` {}", times(name.uses), meant.text, times(meant.uses)))
            .remedy(format!("write `{}`, unless both are tools", meant.text)),
        )
    }

    /// Whether the first of two names is the likelier one to be right.
    fn is_likelier(&self, name: &Name<'d>, other: &Name<'d>) -> bool {
        match name.text.len().cmp(&other.text.len()) {
            Ordering::Equal => self.by_name.get(name.text) < self.by_name.get(other.text),
            longer => longer == Ordering::Greater,
        }
    }
}

/// Why a name or word can hardly be meant as it is written.
fn taken_literally(text: &str) -> Option<String> {
    let is_invisible =
        |c: char| c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}');
    Some(if text.contains(is_invisible) {
        format!("`{}` has an invisible character", text.escape_debug())
    } else if text.contains('*') {
        "there are no wildcards".into()
    } else if text.contains(['"', '\'', '`']) {
        "quotes are part of the name".into()
    } else if text.ends_with([',', ';']) {
        "the last character is part of the name".into()
    } else {
        return None;
    })
}

/// What a map is about: a field, or a program.
fn subject_of(takes: &Takes) -> (bool, &str) {
    match takes {
        Takes::Field { field, .. } => (false, field),
        Takes::Running { program, .. } => (true, program),
    }
}

/// Whether one map takes everything that another on the same subject takes.
fn covers(takes: &Takes, other: &Takes) -> bool {
    match (takes, other) {
        (Takes::Field { pattern, .. }, Takes::Field { pattern: other, .. }) => pattern == other,
        (Takes::Running { words, .. }, Takes::Running { words: others, .. }) => {
            let mut others = others.iter();
            words.iter().all(|word| others.any(|other| other == word))
        }
        _ => false,
    }
}

/// What makes two rules the same. Nets are not compared: their names are, where files are joined.
fn key_of(rule: &DraftRule) -> Option<(&'static str, SmallVec<[&str; 2]>, u64, Mode)> {
    let (kind, count) = match &rule.statement {
        Statement::Sequence { .. } => ("sequence", 0),
        Statement::Approval { .. } => ("approval", 0),
        Statement::Block { .. } => ("block", 0),
        Statement::Limit { count, .. } => ("limit", count.get()),
        Statement::Net(_) => return None,
    };
    Some((kind, names_of(&rule.statement), count, rule.mode))
}

/// Whether one name is likely the other with a slip. Names are compared part by part, and only long parts
/// can have slips: `chat.send` and `chat.read`, `getUser` and `setUser` are neighbours, not misspellings.
/// So are `stage1` and `stage2`.
fn is_slip(name: &str, other: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if name.eq_ignore_ascii_case(other) {
        return true;
    }
    if digits(name) != digits(other) {
        return false;
    }
    let (name, other) = (parts(name), parts(other));
    if name.concat() == other.concat() {
        return true;
    }
    let mut differing = name.iter().zip(&other).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differing.next(), differing.next()) else {
        return false;
    };
    let slips_max = match a.chars().count().min(b.chars().count()) {
        0..5 => 0,
        5..8 => 1,
        _ => 2,
    };
    name.len() == other.len() && strsim::osa_distance(a, b) <= slips_max
}

/// Whether two names that are used alike differ by a slip of the fingers: a letter dropped or doubled within a word, two
/// letters swapped, or one taken for its neighbour on the keyboard or for another vowel. Endings and first letters say
/// something (`deploys`, `undeploy`), and so do most other letters (`charge`, `change`): those are two names.
fn is_typo(name: &str, other: &str) -> bool {
    let known = |name: &str| AGENTS.iter().any(|agent| agent.has(name));
    if known(name) && known(other) || !is_slip(name, other) {
        return false;
    }
    if name.eq_ignore_ascii_case(other) {
        return true;
    }
    let (name, other) = (parts(name), parts(other));
    let mut differing = name.iter().zip(&other).filter(|(one, other)| one != other);
    let Some((one, two)) = differing.next() else { return false };
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let (long, short) = if one.len() < two.len() { (two, one) } else { (one, two) };
    let start = long.iter().zip(&short).take_while(|(a, b)| a == b).count();
    let end = long.iter().rev().zip(short.iter().rev()).take_while(|(a, b)| a == b).count();
    if long.len() != short.len() {
        // Within the word, or a last letter that was typed twice.
        let is_doubled = long.len() >= 2 && long.last() == long.get(long.len() - 2);
        return long.len() == short.len() + 1 && start > 0 && (start < short.len() || is_doubled);
    }
    let middle = start..(long.len() - end).max(start);
    match (long.get(middle.clone()), short.get(middle)) {
        (Some([a, b]), Some([c, d])) => a == d && b == c,
        (Some([a]), Some([b])) => start > 0 && end > 0 && are_mistaken(*a, *b),
        _ => false,
    }
}

/// Whether one letter is easily typed for another.
fn are_mistaken(one: char, other: char) -> bool {
    let is_vowel = |c: char| "aeiouy".contains(c);
    let are_beside = |row: &str| {
        row.chars().zip(row.chars().skip(1)).any(|pair| pair == (one, other) || pair == (other, one))
    };
    is_vowel(one) && is_vowel(other)
        || ["qwertyuiop", "asdfghjkl", "zxcvbnm"].iter().any(|row| are_beside(row))
}

/// Enough of a text to tell whether it is `session`.
fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME_COMPARED_BYTES_MAX)).unwrap_or(text)
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests;
