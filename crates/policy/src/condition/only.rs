//! Whether a call does nothing but what a line that opens names.
//!
//! `allow bash running git status` opens a script that runs `git status` and nothing else: of several commands, each has to
//! be named. A command is named here only where it starts with these very words, without variables, wrappers or files
//! around it, because whatever stands between them may run something else. What effects a script has opens nothing: the table of
//! programs lists what programs are known to do, not that they do nothing besides.

use std::sync::Arc;

use lockgate_call::{Command, EffectPattern, Known, PlaceFit, ScriptFields, SeenCall};

use crate::{decision::Truth, phrase::RunningPhrase};

/// Whether all that a call does is named by these phrases.
pub(super) fn only(call: &SeenCall, phrases: &[Arc<str>]) -> Truth {
    let reading = call.reading(&ScriptFields::Likely);
    let mut scripts = reading.scripts().peekable();
    if scripts.peek().is_none() {
        let effects = reading.effects();
        let patterns: Vec<EffectPattern> = phrases.iter().filter_map(|it| EffectPattern::parse(it)).collect();
        let is_named = |effect: &lockgate_call::Effect| {
            let fits = |it: &EffectPattern| it.fit(effect, call, call.links()) == PlaceFit::Certain;
            effect.certain && patterns.iter().any(fits)
        };
        return (!effects.is_open && effects.found.iter().all(is_named)).into();
    }
    let running: Vec<RunningPhrase> = phrases
        .iter()
        .filter_map(|it| RunningPhrase::parse(it))
        .filter(|phrase| phrase.tools.contains(&call.tool))
        .collect();
    let is_named = |command: &Command| running.iter().any(|phrase| starts_with(command, phrase));
    let mut is_all = true;
    for (_, script) in scripts {
        is_all &= !script.opaque && !script.commands.is_empty() && script.commands.iter().all(is_named);
    }
    is_all.into()
}

/// Whether a command is these words and what follows them, and nothing stands around it.
fn starts_with(command: &Command, phrase: &RunningPhrase) -> bool {
    let RunningPhrase { program, words, .. } = phrase;
    let is_quiet = command.redirections.iter().all(|it| it.target.text == "/dev/null");
    let is_bare = command.assignments.is_empty()
        && command.wrapper_places.is_empty()
        && command.reached_by.is_empty()
        && command.code.is_none()
        && !command.opaque;
    let mut said = command.words.iter();
    let mut wanted = std::iter::once(program).chain(words);
    let is_said =
        wanted.all(|word| said.next().is_some_and(|it| it.known == Known::Certain && it.text == *word));
    is_quiet && is_bare && is_said
}
