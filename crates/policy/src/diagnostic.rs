//! What we tell the author of a policy: mistakes that stop it from loading, and findings that do not.
//!
//! Every front end collects [`Diagnostic`]s instead of failing, so one run shows them all. The code is
//! the stable name of a kind of finding; the message is for people. How a diagnostic looks with the
//! text it is about is not decided here: [`render`](crate::render()) draws it.

use std::fmt;

use crate::source::{Source, Span};

/// The codes of all findings about what a policy means: every warning and note there is, and what is proved wrong. Each
/// has a page in `docs/findings` or a row in the page of its language. Other codes are mistakes that keep a policy from
/// loading.
pub const FINDINGS: [&str; 84] = [
    "both-must-hold",
    "broad",
    "broken-claim",
    "broken-example",
    "circular",
    "claims-not-used",
    "closed-stage",
    "compares-text",
    "contradiction",
    "dead-evidence",
    "dead-stage",
    "dead-tool",
    "dead-transition",
    "disabled-guard",
    "disabled-rule",
    "doubtful-folder",
    "duplicate-rule",
    "duplicate-script",
    "empty-text",
    "endless-stage",
    "evadable",
    "every-tool",
    "exhausted",
    "glob-as-name",
    "hidden-map",
    "hidden-tool",
    "idle-acceptance",
    "idle-allow",
    "idle-approval",
    "idle-condition",
    "idle-placeholder",
    "idle-sandbox",
    "idle-strategy",
    "idle-test",
    "idle-timeout",
    "idle-tools",
    "impossible-pattern",
    "inherits-off",
    "literal-name",
    "locked-and-idle",
    "looks-like-keyword",
    "looks-like-path",
    "looks-like-regex",
    "looks-like-time",
    "matches-nothing",
    "missing-message",
    "misspelt",
    "mode-weakened",
    "never-holds",
    "no-first-call",
    "no-rules",
    "not-from-start",
    "not-linear",
    "not-used",
    "odd-tool-name",
    "open-timeout",
    "other-default",
    "permission-syntax",
    "program-name",
    "read-as-glob",
    "read-as-regex",
    "redact-without-pattern",
    "redundant",
    "rule-overridden",
    "self-limit",
    "self-requirement",
    "shadowed",
    "shared-limit",
    "stage-trap",
    "stuck",
    "tools-not-used",
    "trap",
    "two-readings",
    "unbounded",
    "undecided",
    "unguarded-effect",
    "unknown-field",
    "unknown-tool",
    "unreachable-approval",
    "unreachable-limit",
    "unreadable-allowed",
    "unused-map",
    "unused-script",
    "usual-script",
];

/// The findings that a statement which could not be read might have kept away: they say that something is missing.
const OF_WHOLE_FILES: [&str; 6] =
    ["evadable", "idle-acceptance", "misspelt", "missing-message", "unused-map", "unused-script"];

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not what the author means; the policy still runs.
    Warning,
    /// The policy does not run.
    Error,
}

/// One thing to tell the author, with its place and, where there is one, a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable name of this kind of finding, such as `unknown-keyword`.
    pub code: &'static str,
    /// Whether the policy still runs.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The file it is about.
    pub source: Source,
    /// The text it is about.
    pub span: Span,
    /// A few words under the underlined text; may be empty.
    pub label: String,
    /// What to do about it, in one sentence without a full stop.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// A mistake: the policy does not run.
    pub fn error(code: &'static str, source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, source, span, message.into())
    }

    /// Something the author probably does not mean; the policy still runs.
    pub fn warning(code: &'static str, source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, source, span, message.into())
    }

    /// Something worth knowing.
    pub fn note(code: &'static str, source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, source, span, message.into())
    }

    fn new(severity: Severity, code: &'static str, source: &Source, span: Span, message: String) -> Self {
        #[cfg(test)]
        assert!(severity == Severity::Error || FINDINGS.contains(&code), "`{code}` is missing in `FINDINGS`");
        Self { code, severity, message, source: source.clone(), span, label: String::new(), remedy: None }
    }

    /// Whether it holds whatever else the file says, so that it can be reported beside mistakes.
    pub fn is_local(&self) -> bool {
        !OF_WHOLE_FILES.contains(&self.code)
    }

    /// The same with a few words under the underlined text.
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// The same with what to do about it; reads on after `try:`.
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// One line for logs: `file:line:column: error[code]: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, message, source, span, .. } = self;
        write!(f, "{}: {severity}[{code}]: {}", source.place(*span), harmless(message))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The text without what a terminal would obey: a policy may quote escape sequences, and a message quotes
/// the policy.
pub fn harmless(text: &str) -> String {
    annotate_snippets::normalize_untrusted_str(text)
}

/// The candidate that `word` is most likely a slip of: other case, or at most two letters away and not more
/// than a third of them.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let slips_max = slips_max(candidate);
            // Far lengths first: a hostile word may be a megabyte long.
            let near = word.len().abs_diff(candidate.len()) <= 4 * slips_max;
            let slips = near.then(|| strsim::osa_distance(&word, &candidate.to_lowercase()))?;
            (slips <= slips_max).then_some((slips, candidate))
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

fn slips_max(word: &str) -> usize {
    word.chars().count().div_ceil(3).min(2)
}
