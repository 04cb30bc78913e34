//! Draws diagnostics the way `rustc` does: title, place, the text underlined, a label, a remedy.
//!
//! [`render`] takes any diagnostic, whatever its span: a place that does not fit its file is moved to the
//! nearest that does, because a message about a mistake must not be lost to another one. It decides nothing
//! about where the text goes or whether a terminal wants colour.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use lockgate_policy::{Diagnostic, Severity, harmless};

/// Draws the diagnostics in the given order with an empty line between two of them.
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    drawn(&renderer, diagnostics, |_| None)
}

/// The same for a terminal: in colour, and each code leads to its page, where one is known.
pub fn render_linked(diagnostics: &[Diagnostic], page: impl Fn(&str) -> Option<String>) -> String {
    drawn(&Renderer::styled(), diagnostics, page)
}

fn drawn(renderer: &Renderer, diagnostics: &[Diagnostic], page: impl Fn(&str) -> Option<String>) -> String {
    let each = diagnostics.iter().map(|diagnostic| draw(renderer, diagnostic, page(diagnostic.code)));
    each.collect::<Vec<_>>().join("\n\n")
}

fn draw(renderer: &Renderer, diagnostic: &Diagnostic, page: Option<String>) -> String {
    let Excerpt { text, start, end } = excerpt(diagnostic);
    let label = (!diagnostic.label.is_empty()).then(|| harmless(&diagnostic.label));
    let snippet = Snippet::source(text)
        .path(diagnostic.source.name())
        .line_start(diagnostic.source.place(diagnostic.span).line)
        .annotation(AnnotationKind::Primary.span(start..end).label(label));
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let remedy =
        diagnostic.remedy.as_deref().map(|remedy| Level::HELP.with_name("try").message(harmless(remedy)));
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code);
    let title = match page {
        Some(page) => title.id_url(page),
        None => title,
    };
    let report = title.element(snippet).elements(remedy);
    renderer.render(&[report])
}

/// The lines a diagnostic is about, and the bytes in them to underline.
struct Excerpt<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

/// Only these lines are handed on: the whole file for each of a thousand mistakes would be read a thousand
/// times.
fn excerpt(diagnostic: &Diagnostic) -> Excerpt<'_> {
    let all = diagnostic.source.text();
    let start = all.floor_char_boundary(diagnostic.span.start);
    let end = all.floor_char_boundary(diagnostic.span.end).max(start);
    let (before, after) = (all.get(..start).unwrap_or_default(), all.get(end..).unwrap_or_default());
    let first = before.rfind('\n').map_or(0, |newline| newline + 1);
    let last = end + after.find('\n').unwrap_or(after.len());
    let text = all.get(first..last).unwrap_or_default().trim_end_matches('\r');
    Excerpt { text, start: (start - first).min(text.len()), end: (end - first).min(text.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_policy::{Source, Span};

    fn about(text: &str, span: Span) -> Diagnostic {
        Diagnostic::error("odd", &Source::new("a.rules", text), span, "odd").label("here")
    }

    #[test]
    fn a_diagnostic_has_title_place_text_label_and_remedy() {
        let source = Source::new("ci.rules", "block a\r\n\tblok 字 é\r\n");
        let unknown =
            Diagnostic::error("unknown-keyword", &source, Span::new(10, 14), "unknown keyword 'blok'");
        let both = [
            unknown.label("did you mean `block`?").remedy("write `block 字`"),
            Diagnostic::note("not-used", &source, Span::new(21, 21), "the line ends here"),
        ];
        insta::assert_snapshot!(render(&both, false), @"
        error[unknown-keyword]: unknown keyword 'blok'
         --> ci.rules:2:2
          |
        2 |     blok 字 é
          |     ^^^^ did you mean `block`?
          |
          = try: write `block 字`

        note[not-used]: the line ends here
         --> ci.rules:2:10
          |
        2 |     blok 字 é
          |              ^
        ");
        insta::assert_snapshot!(both[0], @"ci.rules:2:2: error[unknown-keyword]: unknown keyword 'blok'");
    }

    #[test]
    fn only_colour_needs_escape_sequences_and_none_of_the_authors_gets_through() {
        let odd = [about("block \u{1b}[31m", Span::new(6, 11)).label("\u{1b}[31m").remedy("\u{1b}[31m")];
        assert!(!render(&odd, false).contains('\u{1b}'));
        assert!(!odd[0].to_string().contains('\u{1b}'));
        assert!(render(&odd, true).contains('\u{1b}'));
    }

    proptest::proptest! {
        #[test]
        fn any_span_is_drawn(text in "[ab#é字\t\r\n]{0,40}", start in 0..60usize, end in 0..60usize) {
            assert!(render(&[about(&text, Span::new(start, end))], false).contains("error[odd]: odd"));
        }
    }
}
