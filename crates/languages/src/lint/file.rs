//! The names of a file, looked up rather than searched for.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use lockgate_policy::{Diagnostic, DraftRule, ExampleStep, Map, Scope, Span, Statement, Takes};
use smallvec::{SmallVec, smallvec};

use crate::draft::Draft;

/// How many different names of a file are compared with each other; a file with more goes without
/// proposals for its names, because the work grows with the square.
pub(super) const NAMES_COMPARED_MAX: usize = 2_000;

/// The longest name, in bytes, that is compared with others.
pub(super) const NAME_COMPARED_BYTES_MAX: usize = 64;

/// A file's names, looked up rather than searched for.
pub(super) struct File<'d> {
    pub(super) draft: &'d Draft,
    /// Each name once, in the order of first use: rules first, then maps.
    pub(super) names: Vec<Name<'d>>,
    /// Where in `names` a name stands.
    pub(super) by_name: Table<'d, usize>,
    /// The first map of each tool that gives it another name.
    pub(super) renamed: Table<'d, &'d Map>,
    /// The names that rules restrict or that maps give: their author knows them as names.
    pub(super) restricted: HashSet<&'d str, RandomState>,
    /// The tools and fields that maps look at; without a field, all scripts of the tool.
    pub(super) looked_at: HashSet<(&'d str, Option<&'d str>), RandomState>,
    /// The byte at which each line but the first starts.
    pub(super) line_starts: Vec<usize>,
}

pub(super) type Table<'d, V> = HashMap<&'d str, V, RandomState>;

pub(super) struct Name<'d> {
    pub(super) text: &'d str,
    pub(super) uses: usize,
    pub(super) is_in_rule: bool,
    /// The statement that uses it first.
    pub(super) statement: Span,
    /// One bit for each letter it has: two names that differ in more bits are too far apart to measure.
    pub(super) letters: u64,
}

impl Name<'_> {
    /// Whether measuring how far apart two names are is worth its time: two slips change at most four letters.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        (self.letters ^ other.letters).count_ones() <= 4
            && self.text.len().max(other.text.len()) <= NAME_COMPARED_BYTES_MAX
            && self.text != other.text
    }
}

impl<'d> File<'d> {
    pub(super) fn read(draft: &'d Draft) -> Self {
        let newlines = draft.source.text().bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut file = Self {
            draft,
            names: Vec::new(),
            by_name: Table::default(),
            renamed: Table::default(),
            restricted: HashSet::default(),
            looked_at: HashSet::default(),
            line_starts: newlines.map(|(at, _)| at + 1).collect(),
        };
        for rule in &draft.rules {
            for name in names_of(rule) {
                file.count(name, rule.span, true);
            }
            let restricted = restricted_by(&rule.statement).into_iter();
            file.restricted.extend(restricted.flat_map(|name| members(rule, name)));
        }
        for rule in &draft.sentences.rules {
            rule.names().into_iter().for_each(|name| file.count(name, rule.span, true));
            file.restricted.extend(rule.calls.names.iter().map(String::as_str));
        }
        file.restricted.extend(draft.maps.iter().map(|map| map.name.as_str()));
        // What is stated about a name is a use of it like any other: a slip there proves something else.
        for claim in &draft.claims {
            claim.property.names().into_iter().for_each(|name| file.count(name, claim.span, true));
        }
        for example in &draft.examples {
            example.steps.iter().filter_map(ExampleStep::call).for_each(|step| {
                file.count(&step.call, example.span, true);
            });
        }
        let mut line = None;
        for map in &draft.maps {
            // The author did not write the names that `any shell` stands for, and wrote the new name once a line.
            if !map.is_any_shell {
                file.count(&map.tool, map.span, false);
            }
            if line != Some(map.span) {
                file.count(&map.name, map.span, false);
            }
            line = Some(map.span).filter(|span| span.start < span.end);
            file.looked_at.insert(match &map.takes {
                Takes::Field { field, .. } => (&map.tool, Some(field)),
                Takes::Running { .. } => (&map.tool, None),
            });
            if map.name != map.tool {
                file.renamed.entry(&map.tool).or_insert(map);
            }
        }
        file
    }

    pub(super) fn count(&mut self, text: &'d str, statement: Span, is_in_rule: bool) {
        let at = *self.by_name.entry(text).or_insert(self.names.len());
        match self.names.get_mut(at) {
            Some(name) => name.uses += 1,
            None => self.names.push(Name { text, uses: 1, is_in_rule, statement, letters: letters(text) }),
        }
    }

    pub(super) fn name(&self, text: &str) -> Option<&Name<'d>> {
        self.names.get(*self.by_name.get(text)?)
    }

    pub(super) fn is_in_rule(&self, text: &str) -> bool {
        self.name(text).is_some_and(|name| name.is_in_rule)
    }

    pub(super) fn line(&self, span: Span) -> usize {
        self.line_starts.partition_point(|start| *start <= span.start) + 1
    }

    /// The names that others are compared with.
    pub(super) fn compared(&self) -> &[Name<'d>] {
        if self.names.len() <= NAMES_COMPARED_MAX { &self.names } else { &[] }
    }

    /// Where a statement writes a name, or the whole statement: other languages write it in other ways.
    pub(super) fn span_in(&self, statement: Span, name: &str) -> Span {
        let text = self.draft.source.slice(statement);
        let mut start = statement.start;
        // The first word is a keyword, even where it is also the name.
        for (position, chunk) in text.split_inclusive(char::is_whitespace).enumerate() {
            let word = chunk.trim_end();
            if position > 0
                && word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            {
                return Span::new(start, start + name.len());
            }
            start += chunk.len();
        }
        statement
    }

    pub(super) fn warning(&self, code: &'static str, span: Span, message: String) -> Diagnostic {
        Diagnostic::warning(code, &self.draft.source, span, message)
    }

    pub(super) fn note(&self, code: &'static str, span: Span, message: String) -> Diagnostic {
        Diagnostic::note(code, &self.draft.source, span, message)
    }
}

/// The names of tools that a statement is about.
pub(super) fn names_of(rule: &DraftRule) -> SmallVec<[&str; 2]> {
    names_in(&rule.statement).into_iter().flat_map(|name| members(rule, name)).collect()
}

/// The names that a name of a statement stands for.
fn members<'d>(rule: &'d DraftRule, name: &'d str) -> Vec<&'d str> {
    rule.tail.as_ref().map_or_else(|| vec![name], |tail| tail.members(name))
}

fn names_in(statement: &Statement) -> SmallVec<[&str; 2]> {
    match statement {
        Statement::Sequence { prerequisite, dependent } => {
            smallvec![prerequisite.as_str(), dependent.as_str()]
        }
        Statement::Approval { tool }
        | Statement::Block { tool }
        | Statement::Limit { tool, scope: Scope::Session, .. } => smallvec![tool.as_str()],
        Statement::Limit { tool, scope: Scope::Action(action), .. } => {
            smallvec![tool.as_str(), action.as_str()]
        }
        Statement::Net(net) => {
            let tools = net.transitions.iter().flat_map(|transition| &transition.tools);
            tools.chain(&net.free_tools).map(String::as_str).collect()
        }
    }
}

/// The name that a rule may refuse.
pub(super) fn restricted_by(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::Sequence { dependent: tool, .. }
        | Statement::Approval { tool }
        | Statement::Block { tool }
        | Statement::Limit { tool, .. } => Some(tool),
        Statement::Net(_) => None,
    }
}

pub(super) fn letters(text: &str) -> u64 {
    text.chars().flat_map(char::to_lowercase).fold(0, |letters, c| letters | 1 << (u32::from(c) % 64))
}
