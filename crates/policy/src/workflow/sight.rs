//! What a workflow sees of a call: the commands it runs and the files it reads.
//!
//! A doubt never opens a stage: evidence is only what a success of the call proves ([`proof`]), what is forbidden is
//! whatever the call may do ([`commands`]). The call is read when it is first asked about. Where files
//! really are is not looked up in here.

mod commands;
mod files;
mod kept;
mod proof;
mod trim;

use std::{cell::OnceCell, sync::Arc};

use lockgate_call::{
    Call, Reading, ScriptFields, SeenCall, may_answer_early, may_run_another, reads_one_file, runs_nothing,
    visible,
};

use lockgate_pattern::Pattern;

pub(crate) use files::is_same_file;
pub(crate) use kept::{field_text, is_folded, result_object};
use trim::trimmed;

/// The longest summary, in characters.
const SUMMARY_CHARACTERS_MAX: usize = 200;

/// A call as a workflow sees it.
#[derive(Debug)]
pub struct Sight<'c> {
    call: &'c SeenCall,
    fields: ScriptFields,
    /// Whether the policy says that the tool only reads.
    is_declared_reader: bool,
    reading: OnceCell<Reading<'c>>,
}

impl<'c> Sight<'c> {
    /// Looks at a call, in which these fields hold scripts.
    pub fn of(call: &'c SeenCall, fields: ScriptFields) -> Self {
        Self { call, fields, is_declared_reader: false, reading: OnceCell::new() }
    }

    /// The same for a tool of which the policy says whether it only reads.
    #[must_use]
    pub fn declared_reader(mut self, is_declared_reader: bool) -> Self {
        self.is_declared_reader = is_declared_reader;
        self
    }

    /// Looks at a command that was kept as text.
    pub(crate) fn of_text<T>(text: &str, look: impl FnOnce(&Sight<'_>) -> T) -> T {
        let call = SeenCall::from(Call::new("", "Bash").with("command", text));
        look(&Sight::of(&call, ScriptFields::Customary))
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// Whether every command of the call matches, and it surely runs nothing else.
    pub(crate) fn only_matches(&self, pattern: &Pattern) -> bool {
        let reading = self.reading();
        let mut scripts = reading.script_texts().peekable();
        if scripts.peek().is_none() {
            return runs_nothing(self.tool());
        }
        reading.unseen().is_empty()
            && !may_run_another(&self.call.input)
            && self.loose_texts().next().is_none()
            && scripts.all(|(text, script)| commands::only_matches(pattern, text, script))
    }

    /// Whether some command of the call matches, or may.
    pub(crate) fn may_match(&self, pattern: &Pattern) -> bool {
        let reading = self.reading();
        if runs_nothing(self.tool()) && reading.script_texts().next().is_none() {
            return false;
        }
        !reading.unseen().is_empty()
            || reading.script_texts().any(|(text, script)| commands::may_match(pattern, text, script))
            || commands::may_match_loosely(pattern, self.loose_texts(), self.call)
    }

    /// Whether a success of the call proves the success of a command that matches.
    pub(crate) fn proves(&self, pattern: &Pattern) -> bool {
        let mut scripts = self.reading().script_texts();
        match (scripts.next(), scripts.next()) {
            (Some((text, script)), None) if self.is_surely_run() => proof::proves(pattern, text, script),
            // With several scripts it is not known which one the tool runs.
            _ => false,
        }
    }

    /// The commands it runs as they are kept: as text, or where that is too long by its hash. What a success does not
    /// prove says so in its text, for it may be weighed again.
    pub(crate) fn commands(&self) -> Vec<Arc<str>> {
        let is_proof = self.is_surely_run() && self.reading().script_texts().count() == 1;
        let mut commands: Vec<Arc<str>> = Vec::new();
        for (text, _) in self.reading().script_texts() {
            let kept = if is_proof { kept::command(text) } else { kept::doubtful_command(text) };
            if !kept.is_empty() && !commands.contains(&kept) {
                commands.push(kept);
            }
        }
        commands
    }

    /// The files that a success of the call has read, as they are kept: each from the session's folder, or from the
    /// call's where that one is not known, if it lies in there.
    pub(crate) fn reads(&self, root: Option<&str>) -> Vec<Arc<str>> {
        let root = root.or(self.call.about.cwd.as_deref());
        let mut reads: Vec<Arc<str>> = Vec::new();
        for path in files::read_by(self.call, self.reading(), self.reads_one_file(), self.is_surely_run()) {
            let kept = files::kept(&path, root);
            if !reads.contains(&kept) {
                reads.push(kept);
            }
        }
        reads
    }

    /// Whether a success of the call has read this file.
    pub(crate) fn has_read(&self, path: &str, root: Option<&str>) -> bool {
        self.reads(root).iter().any(|read| is_same_file(read, path, root))
    }

    /// Whether the call does nothing but read this file.
    pub(crate) fn only_reads(&self, path: &str, root: Option<&str>) -> bool {
        let reads = self.reads(root);
        !reads.is_empty()
            && reads.iter().all(|read| is_same_file(read, path, root))
            && (runs_nothing(self.tool()) || self.is_declared_reader || self.loose_texts().next().is_none())
            && files::only_reads(self.reading(), self.reads_one_file())
    }

    /// What the call wants, in one line without secrets.
    pub fn summary(&self) -> String {
        let reading = self.reading();
        let script =
            reading.script_texts().map(|(text, _)| trimmed(text).to_owned()).find(|it| !it.is_empty());
        let wanted = script.or_else(|| files::first_named(reading)).unwrap_or_default();
        let shown = visible(&kept::without_secrets(&wanted));
        if shown.chars().count() <= SUMMARY_CHARACTERS_MAX {
            return shown;
        }
        shown.chars().take(SUMMARY_CHARACTERS_MAX - 1).chain(['…']).collect()
    }

    fn reads_one_file(&self) -> bool {
        self.is_declared_reader || reads_one_file(self.tool())
    }

    fn reading(&self) -> Reading<'c> {
        *self.reading.get_or_init(|| self.call.reading(&self.fields))
    }

    /// Texts that may be commands although no field says so: those in fields with a telling name, and where a tool
    /// shows no script at all, any.
    fn loose_texts(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        let reading = self.reading();
        let has_script = reading.script_texts().next().is_some();
        let is_known = runs_nothing(self.tool());
        let strings = reading.strings().filter(move |(field, _)| {
            !is_known && (!has_script || field.keys().any(lockgate_call::may_hold_a_script))
        });
        strings.map(|(_, text)| text).filter(|text| !text.trim().is_empty())
    }

    /// Whether the tool runs the commands of the call, as they are, before it answers; as far as its name and its
    /// input tell.
    fn is_surely_run(&self) -> bool {
        let input = &self.call.input;
        !(runs_nothing(self.tool()) || may_answer_early(input) || may_run_another(input))
    }
}

#[cfg(test)]
mod tests;
