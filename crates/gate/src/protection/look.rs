//! What the protection knows of a call.

use lockgate_call::{Command, Links, Place, Reading, Script, SeenCall, Selector, TouchedPath, Versions};

/// What is known of a call.
pub(super) struct Look<'l> {
    /// Whether it does nothing to the files that it names but read them.
    pub(super) reads_only: bool,
    /// The words of the tool's name.
    pub(super) tool: Vec<String>,
    pub(super) links: Option<&'l Links>,
    versions: Option<&'l Versions>,
    pub(super) reading: Reading<'l>,
}

impl<'l> Look<'l> {
    /// Looks at a call; `is_reader` says whether its tool only reads what its fields name.
    pub(super) fn new(call: &'l SeenCall, reading: Reading<'l>, is_reader: bool) -> Self {
        Self {
            reads_only: is_reader && reading.scripts().next().is_none(),
            tool: tool_words(&call.tool),
            links: call.links(),
            versions: call.versions(),
            reading,
        }
    }

    /// The commands of all its scripts.
    pub(super) fn commands(&self) -> impl Iterator<Item = &'l Command> + use<'l> {
        self.reading.scripts().flat_map(|(_, script)| &script.commands)
    }

    /// The command that is given the word at a place, or stands there.
    pub(super) fn command_of(&self, place: &Place) -> Option<&'l Command> {
        let (field, command) = index_of(place)?;
        let mut scripts = self.reading.scripts().filter(|(selector, _)| *selector == field);
        scripts.find_map(|(_, script)| script.commands.get(command))
    }

    /// The script of a field, with its text.
    pub(super) fn script_of(&self, field: &Selector) -> Option<(&'l str, &'l Script)> {
        let mut scripts = self.reading.scripts().zip(self.reading.script_texts());
        scripts.find(|((selector, _), _)| *selector == field).map(|(_, script)| script)
    }

    /// The folder that the command at a place stands in.
    pub(super) fn standing(&self, place: &Place) -> Option<&'l TouchedPath> {
        let (field, index) = match place {
            Place::Word { field, command, .. } | Place::Around { field, command } => (field, *command),
            _ => return None,
        };
        let mut all = self.reading.standing().iter();
        all.find(|standing| index_of(&standing.place) == Some((field, index)))
    }

    /// The files that a command of version control or a patch would change, where the door saw it.
    pub(super) fn foreseen(&self, standing: &TouchedPath) -> Option<Vec<&'l str>> {
        let (field, index) = index_of(&standing.place)?;
        let (source, script) = self.script_of(field)?;
        self.versions?.changed_by(source, script, index, standing)
    }

    /// Its texts, in scripts or not.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'l str> + use<'l> {
        let strings = self.reading.strings().map(|(_, text)| text);
        strings.chain(self.reading.script_texts().map(|(text, _)| text))
    }
}

/// The field and the number of the command that a word belongs to.
pub(super) fn index_of(place: &Place) -> Option<(&Selector, usize)> {
    match place {
        Place::Word { field, command, .. } => Some((field, *command)),
        _ => None,
    }
}

/// The words of a tool's name, in small letters: `mcp__fs__moveFile` is `mcp`, `fs`, `move`, `file`.
fn tool_words(tool: &str) -> Vec<String> {
    let mut words = Vec::from([String::new()]);
    let mut after_small = false;
    for c in tool.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        after_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
