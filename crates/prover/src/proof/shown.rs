//! What a composed system is called by those who list or draw it.

use std::sync::Arc;

use lockgate_petri::prove::Label;

use super::{act::End, compose::Composed};

impl Composed {
    /// What a label stands for, with how it ends: `test ok`, `delete by bash fails`.
    pub fn label_text(&self, label: Label) -> String {
        let Some(act) = self.act(label) else { return String::new() };
        let (tool, deed) = (&act.way.tool, act.way.deed());
        let by = if deed.starts_with(&**tool) { String::new() } else { format!(" by {tool}") };
        let ends = match act.end {
            End::Success => "ok",
            End::NoSuccess => "fails",
            End::LateSuccess => "succeeds late",
        };
        format!("{deed}{by} {ends}")
    }

    /// The name that rules know a label by, without how it ends; empty if there is no such label.
    pub(super) fn label_name(&self, label: Label) -> Arc<str> {
        self.act(label).map(|act| act.way.deed()).unwrap_or_default()
    }

    /// The tool that is called; it may have another name than what rules know.
    pub(super) fn label_tool(&self, label: Label) -> Arc<str> {
        self.act(label).map(|act| act.way.tool.clone()).unwrap_or_default()
    }

    /// Whether what a label stands for succeeds.
    pub(super) fn label_succeeds(&self, label: Label) -> bool {
        self.act(label).is_some_and(|act| act.end != End::NoSuccess)
    }

    /// Whether a label stands for a call however it ends, since no rule counts its successes.
    pub(super) fn ends_either_way(&self, label: Label) -> bool {
        let fails = |way| self.acts.iter().any(|act| act.end == End::NoSuccess && act.way == way);
        self.act(label).is_some_and(|act| act.end == End::Success && !fails(act.way.clone()))
    }
}
