//! Lockgate protects itself: calls that would change its policy, its state or the switches that hosts have for
//! hooks are refused, by whatever tool or command line.
//!
//! What a call certainly or possibly touches is told by the `call` room. Where that cannot be told whole, a call is
//! refused only if it mentions something protected: a gate that refused every script it cannot read to the end would
//! be switched off. So an agent that hides a name from every reader gets past this; permissions of the system do not
//! have that hole, and the manual says how to use them.

use lockgate_call::{
    Access, Call, Command, Known, Links, Place, Reading, Spot, TouchedPath, Word, may_hold_a_script,
    path::{PathDoubt, is_under},
    visible, without_server,
};

/// Programs that only make what they name, where it is not there yet.
const MAKERS: &[&str] = &["mkdir", "touch"];

/// Programs that never change what they name.
const READERS: &[&str] = &["grep", "egrep", "fgrep"];

/// What an agent must leave alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    unchanged: Vec<Guarded>,
    untouched: Vec<Guarded>,
    marks: Vec<Vec<String>>,
    switches: Vec<String>,
    readers: Vec<String>,
    programs: Vec<(String, Vec<String>)>,
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
    pub(crate) fn objection(&self, call: &Call) -> Option<String> {
        let reading = Reading::with_script_fields(call, may_hold_a_script);
        let commands = || reading.scripts().flat_map(|(_, script)| &script.commands);
        if let Some(word) = commands().find_map(|command| self.forbidden_run(command)) {
            return Some(format!("`{}` is for humans, not for agents.", visible(&word)));
        }
        let reads_only = self.is_reader(&call.tool) && reading.scripts().next().is_none();
        let found = reading.paths();
        let names = reading.names();
        let may_hide = !found.unseen.is_empty() || names.is_err();
        let links = call.about.links.as_ref();
        let touched = found.touched.into_iter().chain(names.unwrap_or_default());
        let mut has_doubt = may_hide || commands().any(|command| command.opaque || command.code.is_some());
        for path in touched {
            let spots = match &path.spots {
                // Where a relative path starts from nowhere that is known, it may lead anywhere.
                Ok(spots) if spots.iter().all(|spot| spot.path.starts_with('/')) => spots,
                // `rm -rf .*` may climb to anything.
                Err(PathDoubt::Glob) if path.access == Access::Writes => {
                    let path = visible(&path.text);
                    return Some(format!(
                        "`{path}` may reach what an agent must leave alone: name the files."
                    ));
                }
                _ => {
                    has_doubt = true;
                    continue;
                }
            };
            let program = program_of(&reading, &path.place);
            let runs = |programs: &[&str]| program.is_some_and(|program| programs.contains(&program));
            // What is harmless to run was looked at above.
            let is_ours = || self.programs.iter().any(|(name, _)| program == Some(name));
            let done = Done {
                is_read: reads_only || path.access == Access::Reads || runs(READERS) || is_ours(),
                is_moved: path.access == Access::Writes && !runs(MAKERS),
            };
            if let Some(protected) = spots.iter().find_map(|spot| self.met(&path, spot, links, done)) {
                let (path, protected) = (visible(&path.text), visible(protected));
                return Some(format!("`{path}` would reach `{protected}`, which an agent must leave alone."));
            }
        }
        if has_doubt {
            let text = everything(&reading).to_lowercase();
            if self.marks.iter().any(|mark| mark.iter().all(|part| text.contains(part))) {
                let why = "it speaks of what an agent must leave alone, and what it does cannot be told";
                return Some(format!("{why}: do it in plain commands, or leave it to a human."));
            }
        }
        None
    }

    fn is_reader(&self, tool: &str) -> bool {
        self.readers.iter().any(|reader| reader == without_server(tool))
    }

    /// The protected place that a path may reach; on systems that tell cases apart and on those that do not.
    fn met(&self, path: &TouchedPath, spot: &Spot, links: Option<&Links>, done: Done) -> Option<&str> {
        let Done { is_read, is_moved } = done;
        let real = links.and_then(|links| spot.canonical(links)).map(|real| real.to_lowercase());
        let text = spot.path.to_lowercase();
        let is_in = |path: &str, folder: &str| is_under(path, folder, None);
        let may_be = |protected: &&Guarded| {
            path.may_be_under(&protected.path, None)
                || real.as_ref().is_some_and(|real| is_in(real, &protected.folded))
                || is_in(&text, &protected.folded)
        };
        // Whoever removes or moves a folder, does so to all that lies in it.
        let takes_along = |protected: &&Guarded| {
            is_moved
                && (is_in(&protected.folded, &text)
                    || real.as_ref().is_some_and(|real| is_in(&protected.folded, real)))
        };
        let untouched = self.untouched.iter().find(may_be);
        let changed = || self.unchanged.iter().filter(|_| !is_read).find(may_be);
        let all = || self.untouched.iter().chain(&self.unchanged).find(takes_along);
        untouched.or_else(changed).or_else(all).map(|protected| protected.path.as_str())
    }

    /// The beginning of a command line that an agent must not run.
    fn forbidden_run(&self, command: &Command) -> Option<String> {
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
        if first.is_none_or(is_harmless) {
            return None;
        }
        Some(command.words.iter().take(2).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    }
}

/// What a call does to one path.
#[derive(Clone, Copy)]
struct Done {
    is_read: bool,
    is_moved: bool,
}

/// The program that is given the word at a place.
fn program_of<'r>(reading: &'r Reading<'_>, place: &Place) -> Option<&'r str> {
    let Place::Word { field, command, .. } = place else { return None };
    let (_, script) = reading.scripts().find(|(selector, _)| *selector == field)?;
    script.commands.get(*command)?.program.as_deref()
}

fn everything(reading: &Reading<'_>) -> String {
    let mut text = String::new();
    for part in reading.strings().map(|(_, text)| text).chain(reading.script_texts().map(|(text, _)| text)) {
        text.push_str(part);
        text.push('\n');
    }
    text
}
