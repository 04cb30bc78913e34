//! A mapping while it is built: keys that are there twice, and keys that are merged into it.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use lockgate_policy::Span;

use super::{
    reader::Reader,
    tree::{Entry, Node, Value},
};

/// The key whose value is merged into the mapping.
pub(super) const MERGE: &str = "<<";

/// How many keys of a mapping are looked through to find one: a table would take longer to make.
pub(super) const SCANNED_MAX: usize = 16;

/// The keys that a mapping has so far.
#[derive(Default)]
pub(super) struct MappingKeys {
    /// Where it has a merge key.
    pub(super) merge: Option<Span>,
    /// The places of all other keys, once there are too many to look through.
    pub(super) many: BTreeMap<String, Span>,
}

impl MappingKeys {
    /// Takes a key, which then joins the entries; otherwise says where it stands already.
    pub(super) fn take(&mut self, entries: &[Entry], key: &str, span: Span) -> Option<Span> {
        if key == MERGE && self.merge.is_some() {
            return self.merge;
        }
        if entries.len() < SCANNED_MAX {
            return entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_span);
        }
        if self.many.is_empty() {
            self.many = entries.iter().map(|entry| (entry.key.clone(), entry.key_span)).collect();
        }
        match self.many.entry(key.to_owned()) {
            btree_map::Entry::Occupied(first) => Some(*first.get()),
            btree_map::Entry::Vacant(free) => {
                free.insert(span);
                None
            }
        }
    }
}

impl<'s> Reader<'s> {
    /// Adds the entries of the mapping or mappings behind a merge key to those merged before.
    pub(super) fn merge(&mut self, value: Node, merged: &mut Vec<Entry>) {
        let mappings = match value {
            Node { value: Value::List(items), .. } => items,
            other => vec![other],
        };
        for mapping in mappings {
            match mapping.value {
                Value::Map(entries) => {
                    merged.extend(entries.into_iter().map(|entry| Entry { has_used_anchor: false, ..entry }));
                }
                Value::Refused => {}
                _ => {
                    let remedy = "write `<<: *name` or `<<: [*name, *other]`";
                    self.error("yaml-merge", mapping.span, "only mappings can be merged", remedy);
                }
            }
        }
    }

    /// The entry for a key and its value, unless the key is none or is taken.
    pub(super) fn entry(
        &mut self,
        (taken, before): (&mut MappingKeys, &[Entry]),
        key: Node,
        value: Node,
        has_used_anchor: bool,
    ) -> Option<Entry> {
        let Node { span: key_span, value: Value::Scalar { text: key, quoted } } = key else {
            if !matches!(key.value, Value::Refused) {
                self.error(
                    "wrong-type",
                    key.span,
                    "a key must be a text",
                    "write a word or a quoted text before the `:`",
                );
            }
            return None;
        };
        if key == MERGE && !quoted {
            let remedy = "write the keys out where they are needed";
            self.error("yaml-merge", key_span, "merge keys are not read in policies", remedy);
            return None;
        }
        if let Some(first) = taken.take(before, &key, key_span) {
            self.twice("duplicate-key", &key, "this mapping", first, key_span);
            return None;
        }
        Some(Entry { key, key_span, value, has_used_anchor })
    }
}

/// A mapping's own entries after those merged into it, of which only what is not said again counts.
pub(super) fn joined(entries: Vec<Entry>, mut merged: Vec<Entry>) -> Vec<Entry> {
    if merged.is_empty() {
        return entries;
    }
    let mut taken: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    merged.retain(|entry| taken.insert(entry.key.clone()));
    merged.extend(entries);
    merged
}
