//! Old words of the YAML languages, and the present ones.
//!
//! [`migrate`] rewrites a file: only the words change, comments and layout stay. Most old words are also read as they
//! are: `renew.rs` puts the present words into a tree before it is read, so that an old
//! file and its migrated form mean the same. Missing on purpose: anything that is not a plain rename or move. Such a file
//! keeps its mistakes, each with its remedy.

use std::collections::BTreeMap;

use lockgate_policy::{Diagnostic, Place, Severity, Source, Span};

use crate::{
    detect::{Language, detect},
    renew::{moves, rename_key, renew_ruleset, steps_of},
    yaml::{self, Dialect, Entry, Node, Value},
};

/// A file with present words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The whole text.
    pub text: String,
    /// What was rewritten, in the order of the file; none where nothing was old.
    pub changes: Vec<Rewrite>,
}

/// One word that was rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Where it stood.
    pub place: Place,
    /// The old word.
    pub old: String,
    /// The present one.
    pub new: String,
}

/// Rewrites the old words of a file. Files of languages without old words stay as they are.
///
/// # Errors
/// When the text cannot be read as YAML: the mistakes.
pub fn migrate(source: &Source) -> Result<Migration, Vec<Diagnostic>> {
    let mut edits = Edits { source, edits: BTreeMap::new(), changes: BTreeMap::new() };
    let language = detect(source);
    if language != Language::OneLine {
        let (root, mistakes) = yaml::parse(source, Dialect { anchors: true });
        let Some(mut root) = root else {
            return Err(mistakes.into_iter().filter(|it| it.severity == Severity::Error).collect());
        };
        match language {
            Language::Ruleset => renew_ruleset(&mut root, &mut |span, new| edits.rename(span, new)),
            Language::WhenThen => edits.when_then(&root),
            _ => {}
        }
    }
    Ok(edits.apply())
}

/// The changes of a text, by the place they begin at; no two overlap.
struct Edits<'s> {
    source: &'s Source,
    edits: BTreeMap<(usize, usize), String>,
    changes: BTreeMap<usize, (String, String)>,
}

impl Edits<'_> {
    /// A word in the place of another, in the same quotes.
    fn rename(&mut self, span: Span, new: &str) {
        let old = self.source.slice(span);
        let quote = old.chars().next().filter(|first| ['"', '\''].contains(first));
        let quote = quote.map(String::from).unwrap_or_default();
        let bare = old.trim_matches(['"', '\'']).to_owned();
        self.edits.insert((span.start, span.end), format!("{quote}{new}{quote}"));
        self.changes.insert(span.start, (bare, new.to_owned()));
    }

    fn when_then(&mut self, root: &Node) {
        let Value::Map(entries) = &root.value else { return };
        for entry in entries {
            match (entry.key.as_str(), &entry.value.value) {
                ("rules", Value::List(rules)) => rules.iter().for_each(|rule| self.clause(rule)),
                ("approval_strategy", _) => self.strategy(&entry.value),
                _ => {}
            }
        }
    }

    fn clause(&mut self, rule: &Node) {
        let Value::Map(entries) = &rule.value else { return };
        let has = |entries: &[Entry], key: &str| entries.iter().any(|entry| entry.key == key);
        for entry in entries {
            match (entry.key.as_str(), &entry.value.value) {
                ("verdict", _) if !has(entries, "then") => self.rename(entry.key_span, "then"),
                ("approval_strategy", _) => self.strategy(&entry.value),
                ("chain", _) => self.chain(&entry.value),
                ("when", Value::Map(when)) => {
                    for entry in when {
                        match entry.key.as_str() {
                            "args" if !has(when, "args_match") => self.rename(entry.key_span, "args_match"),
                            "tool_name" if !has(when, "tool") => self.rename(entry.key_span, "tool"),
                            "chain" => self.chain(&entry.value),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.move_under_when(rule, entries);
    }

    fn strategy(&mut self, node: &Node) {
        if matches!(&node.value, Value::Scalar { text, .. } if text == "per_call") {
            self.rename(node.span, "once");
        }
    }

    fn chain(&mut self, node: &Node) {
        let mut node = node.clone();
        let mut found = Vec::new();
        steps_of(&mut node, &mut |step| {
            rename_key(step, "tool_name", "tool", &mut |span, new| found.push((span, new)))
        });
        found.into_iter().for_each(|(span, new)| self.rename(span, new));
    }

    /// Moves what stands beside `when` into it. Where the layout leaves no plain way, nothing is moved: such a file is
    /// read as it is.
    fn move_under_when(&mut self, rule: &Node, entries: &[Entry]) {
        let moved: Vec<(&Entry, &'static str)> = moves(entries)
            .into_iter()
            .filter_map(|(old, new)| Some((entries.iter().find(|entry| entry.key == old)?, new)))
            .collect();
        let Some((first, _)) = moved.first() else { return };
        if self.source.slice(rule.span).starts_with('{') {
            return self.move_in_braces(entries, &moved);
        }
        let when = entries.iter().find(|entry| entry.key == "when").map(|entry| &entry.value);
        let when = when.filter(|when| matches!(&when.value, Value::Map(inner) if !inner.is_empty()));
        let inner = match when {
            Some(Node { value: Value::Map(inner), .. }) => inner.first(),
            _ => None,
        };
        let mut text = String::new();
        let indent = match inner {
            Some(inner) => self.column(inner.key_span.start),
            None => self.column(first.key_span.start) + 2,
        };
        for (entry, new) in &moved {
            text += &format!("{new}:{}\n{}", self.indented(entry, indent + 2), " ".repeat(indent));
        }
        let text = text.trim_end_matches([' ', '\n']).to_owned();
        match (inner, when.map(|when| self.source.slice(when.span).starts_with('{'))) {
            (Some(inner), Some(true)) => {
                // Between braces a value that goes over lines cannot be put.
                if moved.iter().any(|(entry, _)| self.is_block(entry)) || !self.can_cut(&moved) {
                    return;
                }
                let flat = moved.iter().map(|(entry, new)| format!("{new}: {}, ", self.value_text(entry)));
                let flat: String = flat.collect();
                self.insert(inner.key_span.start, flat);
                self.cut(&moved);
            }
            (Some(inner), _) => {
                if !self.can_cut(&moved) {
                    return;
                }
                self.insert(inner.key_span.start, format!("{text}\n{}", " ".repeat(indent)));
                self.cut(&moved);
            }
            (None, _) if entries.iter().any(|entry| entry.key == "when") => {}
            (None, _) => {
                let others = moved.get(1..).unwrap_or_default();
                if !self.can_cut(others) {
                    return;
                }
                let span = (first.key_span.start, self.end(first));
                self.edits.insert(span, format!("when:\n{}{text}", " ".repeat(indent)));
                self.cut(others);
            }
        }
        for (entry, new) in &moved {
            self.changes.insert(entry.key_span.start, (entry.key.clone(), format!("when.{new}")));
        }
    }

    fn move_in_braces(&mut self, entries: &[Entry], moved: &[(&Entry, &'static str)]) {
        let [(entry, new)] = moved else { return };
        if entries.iter().any(|entry| entry.key == "when") {
            return;
        }
        let text = format!("when: {{{new}: {}}}", self.value_text(entry));
        self.edits.insert((entry.key_span.start, self.end(entry)), text);
        self.changes.insert(entry.key_span.start, (entry.key.clone(), format!("when.{new}")));
    }

    fn insert(&mut self, at: usize, text: String) {
        self.edits.insert((at, at), text);
    }

    /// Whether entries have lines of their own.
    fn can_cut(&self, moved: &[(&Entry, &'static str)]) -> bool {
        moved.iter().all(|(entry, _)| {
            let before = self.source.text().get(..entry.key_span.start).unwrap_or_default();
            before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty())
        })
    }

    /// Takes entries out, with their lines unless a comment stands there.
    fn cut(&mut self, moved: &[(&Entry, &'static str)]) {
        let text = self.source.text();
        for (entry, _) in moved {
            let (start, end) = (entry.key_span.start, self.end(entry));
            let rest = text.get(end..).unwrap_or_default();
            let line_end = rest.find('\n').map_or(text.len(), |at| end + at + 1);
            let is_bare = text.get(end..line_end).unwrap_or_default().trim().is_empty();
            let span = match is_bare {
                true => (start - self.column(start), line_end),
                false => (start, end + rest.len() - rest.trim_start_matches(' ').len()),
            };
            self.edits.insert(span, String::new());
        }
    }

    /// How far from the beginning of its line something stands, in bytes.
    fn column(&self, at: usize) -> usize {
        let before = self.source.text().get(..at).unwrap_or_default();
        at - before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Where an entry ends, without the white space behind it.
    fn end(&self, entry: &Entry) -> usize {
        let Span { start, end } = entry.value.span;
        let text = self.source.text().get(start..end).unwrap_or_default();
        (start + text.trim_end().len()).max(entry.key_span.end)
    }

    fn value_text(&self, entry: &Entry) -> String {
        let text = self.source.text();
        text.get(entry.value.span.start..self.end(entry)).unwrap_or_default().to_owned()
    }

    /// Whether a value stands on lines of its own.
    fn is_block(&self, entry: &Entry) -> bool {
        let is_collection = matches!(entry.value.value, Value::List(_) | Value::Map(_));
        is_collection && !self.value_text(entry).starts_with(['{', '['])
    }

    /// A value behind its key, its lines indented so far.
    fn indented(&self, entry: &Entry, indent: usize) -> String {
        let text = self.value_text(entry);
        if !self.is_block(entry) {
            return format!(" {text}");
        }
        let column = self.column(entry.value.span.start);
        let margin = " ".repeat(column);
        let line = |line: &str| {
            let line = line.strip_prefix(&margin).unwrap_or(line);
            format!("\n{}{line}", " ".repeat(indent))
        };
        text.lines().map(line).collect()
    }

    fn apply(self) -> Migration {
        let text = self.source.text();
        let mut migrated = String::with_capacity(text.len());
        let mut done = 0;
        for ((start, end), new) in &self.edits {
            migrated += text.get(done..*start).unwrap_or_default();
            migrated += new;
            done = (*end).max(done);
        }
        migrated += text.get(done..).unwrap_or_default();
        let rewritten = |(at, (old, new)): (usize, (String, String))| Rewrite {
            place: self.source.place(Span::new(at, at)),
            old,
            new,
        };
        Migration { text: migrated, changes: self.changes.into_iter().map(rewritten).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Migrates a text; what comes of it is read without a mistake, and migrating it again changes nothing.
    fn check(name: &str, old: &str, expected: &str) {
        let migration = migrate(&Source::new(name, old)).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        assert_eq!(migration.text, expected);
        let source = Source::new(name, migration.text);
        let (policy, mistakes) = crate::read(std::slice::from_ref(&source));
        assert!(policy.is_some(), "{mistakes:?}\n{}", source.text());
        assert_eq!(migrate(&source).unwrap().changes, [], "{}", source.text());
    }

    #[test]
    fn the_old_words_of_rulesets_are_rewritten_and_nothing_else_is() {
        check(
            "a.yaml",
            r#"apiVersion: edictum/v1
kind: ContractBundle   # as it was
metadata: {name: old}
defaults:
  mode: enforce

# What must not happen.
contracts:
  - id: no-env
    type: pre
    tool: read_file
    when: {args.path: {contains: "deny"}}
    then:
      effect: "deny"   # deny
      message: "effect: deny {args.path}"
  - {id: ask, type: pre, tool: deploy, when: {args.env: {equals: prod}}, then: {effect: approve, message: m, timeout: 30, timeout_effect: deny}}
  - id: box
    type: sandbox
    tool: read_file
    within: [/tmp]
    outside: deny
    message: m
"#,
            r#"apiVersion: edictum/v1
kind: Ruleset   # as it was
metadata: {name: old}
defaults:
  mode: enforce

# What must not happen.
rules:
  - id: no-env
    type: pre
    tool: read_file
    when: {args.path: {contains: "deny"}}
    then:
      action: "block"   # deny
      message: "effect: deny {args.path}"
  - {id: ask, type: pre, tool: deploy, when: {args.env: {equals: prod}}, then: {action: ask, message: m, timeout: 30, timeout_action: block}}
  - id: box
    type: sandbox
    tool: read_file
    within: [/tmp]
    outside: block
    message: m
"#,
        );
    }

    #[test]
    fn what_when_then_files_write_beside_when_is_put_into_it() {
        check(
            "b.yaml",
            r#"shield_name: p
approval_strategy: per_call
rules:
  # No commands.
  - id: block-exec
    tool_name: "exec_command"   # every one
    then: BLOCK
  - id: traversal
    tool_name: read_file
    blocked_args_patterns:
      path: "\\.\\./"   # upwards
      other: x
    then: BLOCK
  - id: select
    tool_name: "execute_sql"
    when:
      args:
        query: "^SELECT"
    verdict: ALLOW
  - {id: flat, tool_name: a, then: block}
  - id: after
    when: {args_match: {x: y}}
    tool_name: [a, b]
    then: approve
    approval_strategy: per_call
    chain:
      - {tool_name: read, within_seconds: 5}
"#,
            r#"shield_name: p
approval_strategy: once
rules:
  # No commands.
  - id: block-exec
    when:
      tool: "exec_command"   # every one
    then: BLOCK
  - id: traversal
    when:
      tool: read_file
      args_match:
        path: "\\.\\./"   # upwards
        other: x
    then: BLOCK
  - id: select
    when:
      tool: "execute_sql"
      args_match:
        query: "^SELECT"
    then: ALLOW
  - {id: flat, when: {tool: a}, then: block}
  - id: after
    when: {tool: [a, b], args_match: {x: y}}
    then: approve
    approval_strategy: once
    chain:
      - {tool: read, within_seconds: 5}
"#,
        );
    }

    #[test]
    fn other_files_stay_as_they_are_and_what_is_no_yaml_is_told() {
        for (name, text) in
            [("a.rules", "block rm # old"), ("a.yaml", "rules: [{id: a, when: {tool: x}, then: block}]\n")]
        {
            let migration = migrate(&Source::new(name, text)).unwrap();
            assert_eq!((migration.text.as_str(), migration.changes.len()), (text, 0));
        }
        assert!(migrate(&Source::new("a.yaml", "rules: [")).is_err());
    }

    #[test]
    fn old_files_mean_what_their_migrated_form_means() {
        let old = "kind: ContractBundle\napiVersion: edictum/v1\nmetadata: {name: a}\ndefaults: {mode: enforce}\ncontracts:\n  - {id: a, type: pre, tool: x, when: {args.y: {exists: true}}, then: {effect: deny, message: m}}\n";
        let preset = "rules:\n  - {id: a, tool_name: 'search*', then: ALLOW}\n  - id: b\n    tool_name: read\n    blocked_args_patterns: {path: '\\.\\.'}\n    then: BLOCK\n";
        for text in [old, preset] {
            let read = |text: &str| {
                let (policy, mistakes) = crate::read(&[Source::new("a.yaml", text)]);
                let policy = policy.unwrap_or_else(|| panic!("{mistakes:?}\n{text}"));
                policy
                    .clauses()
                    .iter()
                    .map(|it| format!("{} {:?} {:?}", it.name, it.wants, it.tools))
                    .collect::<Vec<_>>()
            };
            let new = migrate(&Source::new("a.yaml", text)).unwrap().text;
            assert_ne!(new, text);
            assert_eq!(read(text), read(&new));
        }
    }
}
