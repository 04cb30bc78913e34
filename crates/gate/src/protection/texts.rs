//! Words and texts that mention something protected, where no path is read in them.

use lockgate_call::{
    Change, Command, Known, SeenCall, Word, fits_glob, patched_files,
    path::{is_under, normalise},
    visible,
};

use super::look::Look;
use super::tables::SIGNALLERS;
use super::{Guarded, Protection, openings};

impl Protection {
    /// A word of a command that names something protected in a way that is not read as a path, such as `of=.lockgate/x`.
    pub(super) fn marked_word<'c>(&self, command: &'c Command) -> Option<&'c str> {
        let program = command.program.as_deref().unwrap_or_default();
        let is_ours = self.programs.iter().any(|(name, _)| program == name);
        // The code of another language is looked at where a doubt is.
        let only_reads = command.row().is_some_and(|row| row.files().change() <= Change::Reads);
        if only_reads || is_ours || command.code.is_some() {
            return None;
        }
        let is_marked = |word: &&Word| {
            let text = word.text.to_lowercase();
            let names = |mark: &Vec<String>| mark.iter().all(|part| text.contains(part));
            // Prose has blanks; what only mentions a path in an address is not one.
            !text.contains(char::is_whitespace) && !text.contains("://") && self.marks.iter().any(names)
        };
        let is_glued = |word: &&Word| word.text.starts_with('-') || word.text.contains('=');
        let mut words = command.words.iter().skip(1);
        words.find(|word| is_glued(word) && is_marked(word)).map(|word| word.text.as_str())
    }

    /// A patch in a text of the call that would change something protected.
    pub(super) fn patched(&self, look: &Look<'_>, call: &SeenCall) -> Option<String> {
        if look.reads_only {
            return None;
        }
        let cwd = call.about.cwd.as_deref();
        for name in look.texts().flat_map(patched_files) {
            let path = normalise(name, cwd).unwrap_or_else(|_| name.to_owned()).to_lowercase();
            let is_own = |own: &&String| path.split('/').any(|part| part == own.as_str());
            let is_met = |it: &&Guarded| is_under(&path, &it.folded, None);
            let protected = self.named.iter().find(is_own).map(String::as_str);
            let protected = protected.or_else(|| {
                self.unchanged.iter().chain(&self.untouched).find(is_met).map(|it| it.path.as_str())
            });
            if let Some(protected) = protected {
                let (name, protected) = (visible(name), visible(protected));
                return Some(format!(
                    "a patch in the call would change `{name}`: `{protected}` is what an agent must leave alone."
                ));
            }
        }
        None
    }

    /// The beginning of a command line that an agent must not run.
    pub(super) fn forbidden_run(&self, command: &Command) -> Option<String> {
        let is_switch = |text: &str| {
            let text = text.to_lowercase();
            self.switches.iter().any(|switch| text.contains(switch))
        };
        let assigned = command.assignments.iter().map(|(_, word)| word);
        if let Some(word) = command.words.iter().chain(assigned).find(|word| is_switch(&word.text)) {
            return Some(word.text.clone());
        }
        let (_, harmless) = self.programs.iter().find(|(name, _)| command.program.as_ref() == Some(name))?;
        let first = command.words.get(1);
        let is_harmless = |word: &Word| word.known == Known::Certain && harmless.contains(&word.text);
        let runs_others = command.words.iter().any(|word| word.text.starts_with("--exec"));
        if first.is_none_or(is_harmless) && !runs_others {
            return None;
        }
        Some(command.words.iter().take(2).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    }

    /// The program of ours that a call may signal or look into, so that its hooks do not answer.
    pub(super) fn signalled(&self, look: &Look<'_>) -> Option<&str> {
        let is_signaller =
            |command: &Command| command.program.as_deref().is_some_and(|it| SIGNALLERS.contains(&it));
        if !look.commands().any(is_signaller) {
            return None;
        }
        let is_named = |name: &&String| look.texts().any(|text| openings::names(text, name));
        self.programs.iter().map(|(name, _)| name).find(is_named).map(String::as_str)
    }

    /// Whether a script goes through hidden files whose names are not spelt out, and a protected one may be among them:
    /// `for f in .*`.
    pub(super) fn loops_over_hidden(&self, look: &Look<'_>) -> bool {
        let hidden = |it: &Guarded| -> Vec<String> {
            it.folded.split('/').filter(|part| part.starts_with('.')).map(ToOwned::to_owned).collect()
        };
        let hidden: Vec<String> = self.unchanged.iter().flat_map(hidden).collect();
        let is_hidden = |word: &str| {
            let word = word.trim_end_matches(';').trim_start_matches("./").to_lowercase();
            let first = word.split('/').next().unwrap_or_default();
            first.starts_with('.')
                && first.contains(['*', '?', '['])
                && hidden.iter().any(|name| fits_glob(first, name))
        };
        look.reading.script_texts().any(|(text, _)| {
            let behind = text.split_whitespace().skip_while(|word| *word != "in").skip(1);
            behind.take_while(|word| *word != "do").any(is_hidden)
        })
    }

    /// Whether the texts of a call, taken together, mention something protected.
    pub(super) fn is_marked(&self, look: &Look<'_>) -> bool {
        let mut all = String::new();
        for text in look.texts() {
            all.push_str(text);
            all.push('\n');
        }
        let all = all.to_lowercase();
        self.marks.iter().any(|mark| mark.iter().all(|part| all.contains(part)))
    }
}
