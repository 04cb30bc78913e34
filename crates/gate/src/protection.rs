//! Lockgate protects itself: calls that would change its policy, its state or the switches that hosts have for
//! hooks are refused, whatever the tool or the command line, and so are calls that mention a command for humans.
//!
//! The `call` room says what a call certainly or possibly touches, and where links lead if the door looked. Where that
//! cannot be told whole, a call is refused only if it mentions something protected: a gate that refused every script it
//! cannot read to the end would be switched off. So an agent that hides a name from every reader gets past this;
//! permissions of the system do not have that hole, and the manual says how to use them.

mod folders;
mod git;
mod look;
mod openings;
mod paths;
mod reach;
mod tables;
mod texts;
mod wide;

use lockgate_call::{ScriptFields, SeenCall, visible, without_server};

use look::Look;

/// What an agent must leave alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    unchanged: Vec<Guarded>,
    untouched: Vec<Guarded>,
    named: Vec<String>,
    file_names: Vec<String>,
    repositories: Vec<Guarded>,
    marks: Vec<Vec<String>>,
    switches: Vec<String>,
    readers: Vec<String>,
    programs: Vec<(String, Vec<String>)>,
    for_humans: Vec<(String, Vec<String>)>,
    home: Option<String>,
}

/// A protected place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Guarded {
    path: String,
    folded: String,
}

impl Guarded {
    fn new(path: String) -> Self {
        Self { folded: path.to_lowercase(), path }
    }
}

impl Protection {
    /// Nothing is protected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file or folder that may be read and not changed; an absolute path without links.
    #[must_use]
    pub fn unchanged(mut self, path: impl Into<String>) -> Self {
        self.unchanged.push(Guarded::new(path.into()));
        self
    }

    /// A file or folder that may not even be read.
    #[must_use]
    pub fn untouched(mut self, path: impl Into<String>) -> Self {
        self.untouched.push(Guarded::new(path.into()));
        self
    }

    /// A name that a file or folder may have anywhere and that is ours then: it may be read and not made, changed or
    /// removed.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.named.push(name.to_lowercase());
        self
    }

    /// The user's home folder, which `~` stands for.
    #[must_use]
    pub fn home(mut self, folder: impl Into<String>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// The name of a protected file, for paths of which only the end is known.
    #[must_use]
    pub fn file_name(mut self, name: &str) -> Self {
        self.file_names.push(name.to_lowercase());
        self
    }

    /// A folder whose version control holds protected files, so that it can bring back other versions of them.
    #[must_use]
    pub fn tracked(mut self, folder: impl Into<String>) -> Self {
        self.repositories.push(Guarded::new(folder.into()));
        self
    }

    /// A program and those of its verbs that only a human may use: calls that mention both are refused.
    #[must_use]
    pub fn for_humans(mut self, program: &str, verbs: &[&str]) -> Self {
        let verbs = verbs.iter().map(|verb| verb.to_lowercase()).collect();
        self.for_humans.push((program.to_lowercase(), verbs));
        self
    }

    /// Texts that, all together in one call that cannot be told whole, are taken for a try at something protected.
    #[must_use]
    pub fn mark(mut self, texts: &[&str]) -> Self {
        self.marks.push(texts.iter().map(|text| text.to_lowercase()).collect());
        self
    }

    /// A word of a command line that switches hooks off.
    #[must_use]
    pub fn switch(mut self, text: &str) -> Self {
        self.switches.push(text.to_lowercase());
        self
    }

    /// Tools that only read the files their fields name.
    #[must_use]
    pub fn readers(mut self, tools: &[&str]) -> Self {
        self.readers.extend(tools.iter().map(|tool| (*tool).to_owned()));
        self
    }

    /// A program that an agent may run only with one of these as its first word.
    #[must_use]
    pub fn program(mut self, name: &str, harmless: &[&str]) -> Self {
        self.programs.push((name.to_owned(), harmless.iter().map(|word| (*word).to_owned()).collect()));
        self
    }

    /// Why a call is refused, if it is.
    pub(crate) fn objection(&self, call: &SeenCall) -> Option<String> {
        for (program, verbs) in &self.for_humans {
            if let Some(verb) = openings::found(&call.input, program, verbs) {
                return Some(format!(
                    "the call mentions `{program}` and `{verb}` together, and only a human may run `{program} {verb}`. \
                     If it is only text, leave one of the two words out; otherwise ask the human to run it."
                ));
            }
        }
        let reading = call.reading(&ScriptFields::Likely);
        let look = Look::new(call, reading, self.is_reader(&call.tool));
        if let Some(word) = look.commands().find_map(|command| self.forbidden_run(command)) {
            return Some(format!("`{}` is for humans, not for agents.", visible(&word)));
        }
        if let Some(program) = self.signalled(&look) {
            return Some(format!("signals to `{program}` are for humans, not for agents."));
        }
        if let Some(reason) = self.wide(&look).or_else(|| self.patched(&look, call)) {
            return Some(reason);
        }
        let (found, names) = (reading.paths(), reading.names());
        let may_hide = !found.unseen.is_empty() || names.is_err();
        let mut has_doubt =
            may_hide || look.commands().any(|command| command.opaque || command.code.is_some());
        let paths = found.touched.iter().map(|path| (path, true));
        let names = names.unwrap_or_default().iter().map(|name| (name, false));
        for (path, is_path) in paths.chain(names) {
            match self.touched(&look, path, is_path) {
                Ok(is_told) => has_doubt |= !is_told,
                Err(reason) => return Some(reason),
            }
        }
        if let Some(word) = look.commands().find_map(|command| self.marked_word(command)) {
            let word = visible(word);
            return Some(format!("`{word}` names what an agent must leave alone: leave it to a human."));
        }
        if has_doubt && (self.is_marked(&look) || self.loops_over_hidden(&look)) {
            return Some(
                "the call mentions a protected file and cannot be fully analysed. Use plain \
                 commands, or leave it to a human."
                    .to_owned(),
            );
        }
        None
    }

    fn is_reader(&self, tool: &str) -> bool {
        self.readers.iter().any(|reader| reader == without_server(tool))
    }
}
