//! `effect: deletion outside ./build`: what a call does, as a key of the YAML languages.
//!
//! The words are those of one-line rules, without their `any`.

use std::sync::Arc;

use lockgate_call::{EffectKind, EffectPattern};
use lockgate_policy::closest;

use super::{
    reader::Reader,
    tree::{Node, Value},
};

const FORM: &str = "write an effect and perhaps a place, as in `deletion outside ./build` or `upload except to api.example.com`";

impl Reader<'_> {
    /// One effect or a list of them, as the names that rules know them by: `any deletion outside ./build`.
    pub(crate) fn effects(&mut self, node: &Node) -> Option<Vec<Arc<str>>> {
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if items.is_empty() {
            self.error("empty-list", node.span, "`effect` is an empty list", FORM);
            return None;
        }
        let read: Vec<Option<Arc<str>>> = items.iter().map(|item| self.effect(item)).collect();
        read.into_iter().collect()
    }

    fn effect(&mut self, node: &Node) -> Option<Arc<str>> {
        let text = self.text(node, "`effect`")?;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bare = words.strip_prefix("any ").unwrap_or(&words);
        let phrase = format!("{} {bare}", EffectPattern::START);
        let Some(pattern) = EffectPattern::parse(&phrase) else {
            let first = bare.split(' ').next().unwrap_or_default();
            let known = EffectKind::ALL.map(EffectKind::word);
            let remedy = match (EffectKind::of_word(first), closest(first, known)) {
                (Some(_), _) => FORM.to_owned(),
                (None, Some(meant)) => format!("did you mean `{meant}`?"),
                (None, None) => {
                    format!("the effects are {}", known.map(|word| format!("`{word}`")).join(", "))
                }
            };
            self.error("unknown-effect", node.span, format!("`{text}` is not an effect"), remedy);
            return None;
        };
        if let Some(host) = pattern.wrong_host() {
            let message = format!("`{host}` is not a host");
            self.error(
                "bad-boundary",
                node.span,
                message,
                "write a host alone, as in `api.example.com` or `*.example.com`",
            );
            return None;
        }
        Some(Arc::from(phrase))
    }
}
