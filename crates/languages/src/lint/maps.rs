//! Maps and script fields that do not do what their author means.

use lockgate_call::is_script_field;
use lockgate_policy::{Decision, Diagnostic, Map, Mode, ScriptField, Span, Takes, closest};

use super::file::File;
use crate::draft::Draft;

impl<'d> File<'d> {
    /// `line` are the maps of all tools of the same line.
    pub(super) fn unused_map(&self, map: &Map, line: &[Map]) -> Option<Diagnostic> {
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
            None => finding.label("renames calls for no rule").remedy(
                "write the rule into this file: maps rename calls only for the rules of their own file",
            ),
        })
    }

    pub(super) fn hidden_map(&self, map: &Map, winner: &Map) -> Diagnostic {
        let line = self.line(winner.span);
        let label = match &winner.takes {
            Takes::Field { .. } => format!("line {line} has the same pattern and comes first"),
            Takes::Running { .. } => format!("line {line} takes all of them and comes first"),
        };
        self.warning("hidden-map", map.span, "this map is never used: an earlier one takes its calls".into())
            .label(label)
            .remedy(format!("leave one of them out, or name `{}` in the rules", winner.name))
    }

    pub(super) fn doubtful_pattern(&self, map: &Map) -> Option<Diagnostic> {
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
    pub(super) fn idle_script(&self, script: &ScriptField) -> Option<Diagnostic> {
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
                .label("read by no map")
                .remedy(format!("write a map for it, as in `map {tool} running rm as delete`"))
        })
    }

    pub(super) fn duplicate_script(&self, script: &ScriptField, first: Span) -> Diagnostic {
        let message = format!("`{}.{}` is declared twice", script.tool, script.field);
        self.warning("duplicate-script", script.span, message)
            .label(format!("first in line {}", self.line(first)))
            .remedy("leave one of them out")
    }

    /// Who lets pass what cannot be read should know what the rules on mapped names are worth then.
    pub(super) fn unreadable_allowed(&self, draft: &Draft) -> Option<Diagnostic> {
        let line = draft.unreadable.as_ref().filter(|line| line.wants == Decision::Allow)?;
        (!draft.maps.is_empty() && line.mode == Mode::Enforce).then(|| {
            let message = "scripts that cannot be read pass every rule on a mapped name";
            self.note("unreadable-allowed", line.span, message.to_owned())
                .label("also those that compute the names of their programs")
                .remedy("write `unreadable scripts: ask`, unless that is meant; claims on mapped names are proved of readable scripts alone")
        })
    }
}

/// What a map is about: a field, or a program.
pub(super) fn subject_of(takes: &Takes) -> (bool, &str) {
    match takes {
        Takes::Field { field, .. } => (false, field),
        Takes::Running { program, .. } => (true, program),
    }
}

/// Whether one map takes everything that another on the same subject takes.
pub(super) fn covers(takes: &Takes, other: &Takes) -> bool {
    match (takes, other) {
        (Takes::Field { pattern, .. }, Takes::Field { pattern: other, .. }) => pattern == other,
        (Takes::Running { words, .. }, Takes::Running { words: others, .. }) => {
            let mut others = others.iter();
            words.iter().all(|word| others.any(|other| other == word))
        }
        _ => false,
    }
}
