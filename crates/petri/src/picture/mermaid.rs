//! Pictures as Mermaid flowcharts, which code hosts and wikis draw inside Markdown.

use super::{
    net::{Picture, Style},
    text::{printable, tokens_text},
};

const CLASSES: &str = "  classDef marked stroke:#2563eb,stroke-width:3px
  classDef enabled stroke:#16a34a,stroke-width:3px
  classDef deferred stroke-dasharray:5 3
  classDef enabledDeferred stroke:#16a34a,stroke-width:3px,stroke-dasharray:5 3
";

impl Picture<'_> {
    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        let mut mermaid = Vec::new();
        if !self.title.is_empty() {
            mermaid.push(format!("---\ntitle: \"{}\"\n---", escaped(self.title)));
        }
        mermaid.push("flowchart LR".to_owned());
        for place in self.net.places() {
            let (id, tokens) = (place.index(), self.tokens(place));
            let label = lines(self.net.place_name(place), &tokens_text(tokens));
            let class = if tokens > 0 { ":::marked" } else { "" };
            mermaid.push(format!(r#"  p{id}(("{label}")){class}"#));
        }
        for transition in self.net.transitions() {
            let id = transition.index();
            let label = lines(self.net.transition_name(transition), self.caption(transition));
            let class = match (self.is_enabled(transition), self.style(transition)) {
                (true, Style::Deferred) => ":::enabledDeferred",
                (true, Style::Plain | Style::Manual) => ":::enabled",
                (false, Style::Deferred) => ":::deferred",
                (false, Style::Plain | Style::Manual) => "",
            };
            mermaid.push(match self.style(transition) {
                Style::Manual => format!(r#"  t{id}[["{label}"]]{class}"#),
                Style::Plain | Style::Deferred => format!(r#"  t{id}["{label}"]{class}"#),
            });
        }
        for arrow in self.arrows() {
            let line = if arrow.both_ways { "<-->" } else { "-->" };
            let weight = match arrow.weight {
                1 => String::new(),
                weight => format!("|{weight}|"),
            };
            mermaid.push(format!("  {} {line}{weight} {}", arrow.from, arrow.to));
        }
        mermaid.push(CLASSES.to_owned());
        mermaid.join("\n")
    }
}

fn lines(name: &str, below: &str) -> String {
    match below {
        "" => escaped(name),
        below => format!("{}<br/>{}", escaped(name), escaped(below)),
    }
}

/// Text inside double quotes. Mermaid finds Markdown, HTML, directives and its own entities even
/// there, so only what is surely plain stays as it is.
pub(super) fn escaped(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " ._-/●".contains(c);
    let escape = |c| {
        if is_plain(c) { String::from(c) } else { format!("#{};", u32::from(c)) }
    };
    let escaped: String = printable(text).map(escape).collect();
    // A label must not be empty.
    if escaped.is_empty() { " ".to_owned() } else { escaped }
}
