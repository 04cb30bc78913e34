//! Old words of the YAML languages that are read as they are.
//!
//! [`renew_ruleset`] and [`renew_when_then`] put the present words into a tree before it is read, so that an old file and
//! its migrated form mean the same.

use lockgate_policy::Span;

use crate::yaml::{Entry, Node, Value};

/// Gives a ruleset its present words; `renamed` is called for each.
pub(crate) fn renew_ruleset(root: &mut Node, renamed: &mut dyn FnMut(Span, &'static str)) {
    let Value::Map(entries) = &mut root.value else { return };
    rename_key(entries, "contracts", "rules", renamed);
    for entry in entries {
        match (entry.key.as_str(), &mut entry.value.value) {
            ("kind", _) => rename_word(&mut entry.value, &[("ContractBundle", "Ruleset")], renamed),
            ("rules", Value::List(rules)) => rules.iter_mut().for_each(|rule| renew_rule(rule, renamed)),
            ("tools", Value::Map(tools)) => {
                for tool in tools {
                    if let Value::Map(keys) = &mut tool.value.value {
                        rename_key(keys, "side_action", "side_effect", renamed);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The words of what a rule wants, as they were and are.
const ACTIONS: [(&str, &str); 2] = [("deny", "block"), ("approve", "ask")];

fn renew_rule(rule: &mut Node, renamed: &mut dyn FnMut(Span, &'static str)) {
    let Value::Map(entries) = &mut rule.value else { return };
    renew_timeout(entries, renamed);
    for entry in entries {
        match (entry.key.as_str(), &mut entry.value.value) {
            ("outside", _) => rename_word(&mut entry.value, &ACTIONS, renamed),
            ("then", Value::Map(then)) => {
                rename_key(then, "effect", "action", renamed);
                renew_timeout(then, renamed);
                for entry in then.iter_mut().filter(|entry| entry.key == "action") {
                    rename_word(&mut entry.value, &ACTIONS, renamed);
                }
            }
            _ => {}
        }
    }
}

fn renew_timeout(entries: &mut [Entry], renamed: &mut dyn FnMut(Span, &'static str)) {
    rename_key(entries, "timeout_effect", "timeout_action", renamed);
    for entry in entries.iter_mut().filter(|entry| entry.key == "timeout_action") {
        rename_word(&mut entry.value, &[("deny", "block")], renamed);
    }
}

/// Renames a key, unless the present one is there too: then it is left for the reading to report.
pub(crate) fn rename_key(
    entries: &mut [Entry],
    old: &str,
    new: &'static str,
    renamed: &mut dyn FnMut(Span, &'static str),
) {
    if entries.iter().any(|entry| entry.key == new) {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.key == old) {
        new.clone_into(&mut entry.key);
        renamed(entry.key_span, new);
    }
}

fn rename_word(node: &mut Node, words: &[(&str, &'static str)], renamed: &mut dyn FnMut(Span, &'static str)) {
    if let Value::Scalar { text, .. } = &mut node.value
        && let Some((_, new)) = words.iter().find(|(old, _)| old == text)
    {
        (*new).clone_into(text);
        renamed(node.span, new);
    }
}

/// Keys of a rule that belong under `when`, and what they are called there.
const MOVED: [(&str, &str); 2] = [("tool_name", "tool"), ("blocked_args_patterns", "args_match")];

/// Gives when/then rules their present words: what some files write beside `when` is put into it.
pub(crate) fn renew_when_then(root: &mut Node) {
    let Value::Map(entries) = &mut root.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == "rules") {
        let Value::List(rules) = &mut entry.value.value else { continue };
        for rule in rules {
            let Value::Map(rule) = &mut rule.value else { continue };
            let moves = moves(rule);
            let mut moved: Vec<Entry> = Vec::new();
            for (old, new) in moves {
                if let Some(at) = rule.iter().position(|entry| entry.key == old) {
                    let entry = rule.remove(at);
                    moved.push(Entry { key: new.to_owned(), ..entry });
                }
            }
            if let Some(first) = moved.first() {
                let (key_span, span) = (first.key_span, first.value.span);
                if !rule.iter().any(|entry| entry.key == "when") {
                    let value = Node { span, value: Value::Map(Vec::new()) };
                    rule.push(Entry { key: "when".into(), key_span, value, has_used_anchor: false });
                }
            }
            for entry in rule.iter_mut() {
                match (entry.key.as_str(), &mut entry.value.value) {
                    ("when", Value::Map(when)) => {
                        when.append(&mut moved);
                        rename_key(when, "tool_name", "tool", &mut |_, _| {});
                        when.iter_mut().filter(|entry| entry.key == "chain").for_each(renew_chain);
                    }
                    ("chain", _) => renew_chain(entry),
                    _ => {}
                }
            }
        }
    }
}

fn renew_chain(chain: &mut Entry) {
    steps_of(&mut chain.value, &mut |step| rename_key(step, "tool_name", "tool", &mut |_, _| {}));
}

pub(crate) fn steps_of(chain: &mut Node, step: &mut dyn FnMut(&mut Vec<Entry>)) {
    match &mut chain.value {
        Value::List(steps) => {
            for node in steps {
                if let Value::Map(entries) = &mut node.value {
                    step(entries);
                }
            }
        }
        Value::Map(entries) => {
            for entry in entries.iter_mut().filter(|entry| entry.key == "steps") {
                steps_of(&mut entry.value, step);
            }
        }
        Value::Scalar { .. } | Value::Refused => {}
    }
}

/// What of a rule is put under `when`. What `when` has already is left for the reading to report.
pub(crate) fn moves(rule: &[Entry]) -> Vec<(&'static str, &'static str)> {
    let has = |entries: &[Entry], key: &str| entries.iter().any(|entry| entry.key == key);
    let when = rule.iter().find(|entry| entry.key == "when").map(|entry| &entry.value.value);
    let when: &[Entry] = match when {
        None => &[],
        Some(Value::Map(entries)) => entries,
        Some(_) => return Vec::new(),
    };
    let is_free = |(old, new): &(&str, &str)| match *old {
        "tool_name" => !has(when, new) && !has(when, old) && !has(rule, "tool"),
        _ => {
            let is_map = |entry: &Entry| entry.key == *old && matches!(entry.value.value, Value::Map(_));
            !has(when, new) && !has(when, "args") && rule.iter().any(is_map)
        }
    };
    MOVED.into_iter().filter(|(old, _)| has(rule, old)).filter(is_free).collect()
}
