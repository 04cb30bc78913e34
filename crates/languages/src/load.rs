//! From the texts of policy files to a policy.
//!
//! Each file is read in its language, files of one layer are composed with each other, and everything is lowered into
//! one policy. [`load`] never stops at a mistake: it collects [`Diagnostic`]s, and without a policy there is at least
//! one error.

use lockgate_policy::{Builder, Diagnostic, Module, Policy, Severity, Source, Waiting};

use crate::{
    draft::Draft,
    includes::unread_includes,
    lint::lint,
    lost_words::LostWords,
    parse::parse,
    ruleset::{self, CustomNames},
    sentences, untrusted,
    void::{void_file, void_policy},
    when_then, workflow,
};

/// What is read besides the files, and how.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Names that a host adds to the language of rulesets.
    pub custom: Option<&'a CustomNames>,
    /// Modules that come from code. They come last, like files behind the others.
    pub modules: Vec<Module>,
    /// Whether to leave out what authors should know and what is not an error: some of that takes longer than everything
    /// else.
    pub is_unlinted: bool,
}

/// Reads policy files of any language and joins them.
pub fn read(sources: &[Source]) -> (Option<Policy>, Vec<Diagnostic>) {
    load(sources, Options::default())
}

/// The same with options.
pub fn load(sources: &[Source], options: Options<'_>) -> (Option<Policy>, Vec<Diagnostic>) {
    let none = CustomNames::default();
    let custom = options.custom.unwrap_or(&none);
    let mut drafts = Vec::with_capacity(sources.len() + options.modules.len());
    let mut diagnostics = Vec::new();
    for source in sources {
        let (draft, mut mistakes) = parse(source, sources, custom);
        let is_whole = is_sound(&mistakes);
        if is_whole {
            mistakes.extend(void_file(&draft));
        }
        if !options.is_unlinted {
            let lost = if is_whole { LostWords::default() } else { LostWords::of(source, &mistakes) };
            let is_certain = |it: &Diagnostic| is_whole || it.is_local() || lost.leave(it);
            diagnostics.extend(lint(&draft).into_iter().filter(is_certain));
        }
        drafts.push(draft);
        diagnostics.extend(mistakes);
    }
    drafts.extend(options.modules.into_iter().map(Draft::from));
    diagnostics.extend(unread_includes(&drafts));
    let waiting = compose(&mut drafts, &mut diagnostics);
    if !options.is_unlinted {
        let written = drafts.iter().filter(|draft| draft.when_then.is_written);
        // These files are composed with each other, and with no other ones.
        let is_theirs = |it: &Diagnostic| written.clone().any(|draft| draft.source == it.source);
        let is_whole = diagnostics.iter().all(|it| it.severity < Severity::Error || !is_theirs(it));
        let findings: Vec<Diagnostic> =
            written.clone().flat_map(when_then::lint).filter(|it| is_whole || it.is_local()).collect();
        diagnostics.extend(findings);
    }
    let policy = lower(drafts, waiting, &mut diagnostics);
    if is_sound(&diagnostics) {
        diagnostics.extend(void_policy(&policy, sources));
    }
    (is_sound(&diagnostics).then_some(policy), diagnostics)
}

/// Joins drafts into one policy. A rule whose net is wrong is left out and reported as an error.
pub fn compile(mut drafts: Vec<Draft>) -> (Policy, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let waiting = compose(&mut drafts, &mut diagnostics);
    let policy = lower(drafts, waiting, &mut diagnostics);
    (policy, diagnostics)
}

/// Composes the files of each layer with each other, the user's first, and takes out of untrusted ones what does not
/// restrict.
fn compose(drafts: &mut [Draft], diagnostics: &mut Vec<Diagnostic>) -> Vec<Waiting> {
    // Rules that want the same key get it in this order, so a project's rule never takes over the state of a user's.
    drafts.sort_by_key(|draft| draft.source.layer());
    let mut waiting = Vec::new();
    for layer in drafts.chunk_by_mut(|one, other| one.source.layer() == other.source.layer()) {
        for draft in layer.iter_mut().filter(|draft| !draft.source.is_trusted()) {
            waiting.extend(untrusted::restrict(draft));
        }
        diagnostics.extend(when_then::resolve(layer));
        diagnostics.extend(ruleset::compose(layer));
    }
    waiting
}

/// Lowers drafts that have taken from each other what they wanted.
fn lower(drafts: Vec<Draft>, waiting: Vec<Waiting>, mistakes: &mut Vec<Diagnostic>) -> Policy {
    let sources = drafts.iter().map(|draft| draft.source.clone()).collect();
    let mut policy = Builder::new(sources, waiting);
    let default = when_then::DefaultVerdict::of(&drafts);
    for mut draft in drafts {
        let when_then = std::mem::take(&mut draft.when_then);
        when_then::lower(when_then, &draft.source, &default, &mut policy);
        let sentences = std::mem::take(&mut draft.sentences);
        sentences::lower(sentences, &draft, &default, &mut policy, mistakes);
        if let Some(ruleset) = draft.ruleset.take() {
            ruleset::lower(ruleset, &mut policy, mistakes);
        }
        if let Some(workflow) = draft.workflow.take() {
            workflow::lower(workflow, &draft.source, &mut policy);
        }
        policy.module(draft.module, mistakes);
    }
    policy.finish()
}

fn is_sound(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error)
}
