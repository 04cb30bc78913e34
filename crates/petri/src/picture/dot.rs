//! Pictures in the DOT language of Graphviz.

use super::{
    net::{Picture, Style},
    text::{printable, tokens_text},
};

pub(super) const MARKED: &str = r##", color="#2563eb", fillcolor="#dbeafe""##;
const ENABLED: &str = r##", color="#16a34a", fillcolor="#dcfce7""##;

impl Picture<'_> {
    /// The picture as a Graphviz digraph.
    pub fn to_dot(&self) -> String {
        let mut dot = vec!["digraph net {".to_owned(), "  rankdir=LR;".to_owned()];
        if !self.title.is_empty() {
            dot.push(format!(r#"  label="{}"; labelloc=t;"#, escaped(self.title)));
        }
        dot.push(r#"  node [fontname="Helvetica", style=filled, fillcolor=white];"#.to_owned());
        for place in self.net.places() {
            let (id, tokens) = (place.index(), self.tokens(place));
            let label = lines(self.net.place_name(place), &tokens_text(tokens));
            let color = if tokens > 0 { MARKED } else { "" };
            dot.push(format!(r#"  p{id} [shape=circle, label="{label}"{color}];"#));
        }
        for transition in self.net.transitions() {
            let id = transition.index();
            let label = lines(self.net.transition_name(transition), self.caption(transition));
            let border = match self.style(transition) {
                Style::Plain => "style=\"rounded,filled\"",
                Style::Deferred => "style=\"rounded,filled,dashed\"",
                Style::Manual => "style=\"rounded,filled\", peripheries=2",
            };
            let color = if self.is_enabled(transition) { ENABLED } else { "" };
            dot.push(format!(r#"  t{id} [shape=box, label="{label}", {border}{color}];"#));
        }
        for arrow in self.arrows() {
            let attributes = match (arrow.both_ways, arrow.weight) {
                (false, 1) => String::new(),
                (true, 1) => " [dir=both]".to_owned(),
                (false, weight) => format!(" [label={weight}]"),
                (true, weight) => format!(" [dir=both, label={weight}]"),
            };
            dot.push(format!("  {} -> {}{attributes};", arrow.from, arrow.to));
        }
        dot.push("}\n".to_owned());
        dot.join("\n")
    }
}

fn lines(name: &str, below: &str) -> String {
    match below {
        "" => escaped(name),
        below => format!(r"{}\n{}", escaped(name), escaped(below)),
    }
}

/// Text inside double quotes, where Graphviz knows escapes with `\` and entities with `&`.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text) {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '&' => escaped.push_str("&amp;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
