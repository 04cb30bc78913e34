//! Collects what the linters of single languages find in a file.

use lockgate_policy::{Diagnostic, Span};

use crate::draft::Draft;

/// What was found in a file so far.
pub(crate) struct Linter<'d> {
    pub(crate) draft: &'d Draft,
    findings: Vec<Diagnostic>,
}

impl<'d> Linter<'d> {
    pub(crate) fn new(draft: &'d Draft) -> Self {
        Self { draft, findings: Vec::new() }
    }

    pub(crate) fn warning(&mut self, code: &'static str, span: Span, message: String, remedy: &str) {
        self.findings.push(Diagnostic::warning(code, &self.draft.source, span, message).remedy(remedy));
    }

    pub(crate) fn note(&mut self, code: &'static str, span: Span, message: String, remedy: &str) {
        self.findings.push(Diagnostic::note(code, &self.draft.source, span, message).remedy(remedy));
    }

    /// Everything that was found, in file order.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.span.start);
        self.findings
    }
}
