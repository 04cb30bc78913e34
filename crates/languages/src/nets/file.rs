//! A net file while it is read, and the questions that all its parts ask.

use std::collections::BTreeSet;

use lockgate_pattern::Pattern;
use lockgate_policy::Span;

use crate::yaml::{Fields, Node, Reader};

pub(super) struct NetFile<'s> {
    pub(super) reader: Reader<'s>,
    /// The declared places; none while it is not known which are.
    pub(super) places: Option<BTreeSet<String>>,
}

impl NetFile<'_> {
    pub(super) fn required_text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let node = fields.require(&mut self.reader, key)?;
        self.reader.text(node, &format!("`{key}`"))
    }

    pub(super) fn names(&mut self, node: Option<&Node>, what: &str) -> Vec<(String, Span)> {
        node.map(|node| self.reader.names(node, what)).unwrap_or_default()
    }

    /// The one of these keys that is there; none or several are a mistake.
    pub(super) fn only_one<'n, 'k>(
        &mut self,
        fields: &Fields<'n>,
        span: Span,
        what: &str,
        keys: &[&'k str],
    ) -> Option<(&'k str, &'n Node)> {
        let mut given = keys.iter().filter_map(|key| Some((*key, fields.get(key)?)));
        match (given.next(), given.next()) {
            (Some(only), None) => return Some(only),
            (Some((first, _)), Some((second, node))) => {
                let message = format!("{what} cannot have both `{first}` and `{second}`");
                let remedy = "keep one, and give the other an entry of its own";
                self.reader.error("one-of-keys", node.span, message, remedy);
            }
            (None, _) => {
                let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                let message = format!("{what} needs one of {}", listed.join(", "));
                self.reader.error(
                    "one-of-keys",
                    Span::new(span.start, span.start),
                    message,
                    "add one of them",
                );
            }
        }
        None
    }

    pub(super) fn is_filled(&mut self, node: &Node, items: &[Node]) -> Option<()> {
        if items.is_empty() {
            let remedy = "name at least one, or leave the check out";
            self.reader.error("empty-list", node.span, "an empty list lets nothing pass", remedy);
            return None;
        }
        Some(())
    }

    /// A regular expression, bare or as `/expression/flags`. A leading `/` always opens the second form, so
    /// that no author's `/rm/i` is read as five letters.
    pub(super) fn pattern(&mut self, node: &Node, what: &str) -> Option<Pattern> {
        let text = self.reader.text(node, what)?;
        let (body, flags) = match text.strip_prefix('/') {
            None => (text.as_str(), ""),
            Some(inside) => match inside.rsplit_once('/') {
                Some(parts) => parts,
                None => {
                    let remedy =
                        format!(r"close it as `{text}/`, or write `\{text}` to match a leading slash");
                    self.reader.error("bad-pattern", node.span, "the expression is never closed", remedy);
                    return None;
                }
            },
        };
        match Pattern::regex(body, flags) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                // The place is exact where the expression stands in the file just as it is read.
                let start = self.reader.source.slice(node.span).find(body).map(|at| node.span.start + at);
                let span = match (start, error.at) {
                    (Some(start), Some(at)) => Span::new(start + at.start, start + at.end),
                    _ => node.span,
                };
                let remedy = match text.starts_with('/') {
                    true => r"a leading `/` opens `/expression/flags`: correct it, or write `\/` for a slash",
                    false => "write a regular expression as JavaScript has it",
                };
                self.reader.error("bad-pattern", span, error.message, remedy);
                None
            }
        }
    }
}

pub(super) fn bare(names: Vec<(String, Span)>) -> Vec<String> {
    names.into_iter().map(|(name, _)| name).collect()
}
