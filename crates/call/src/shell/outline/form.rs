//! What a reading of a script is written down as.

use std::mem::swap;

/// What our own scanner reads in a text.
pub(crate) struct Reading {
    /// The outlines of the script and of all scripts in its substitutions.
    pub(crate) outlines: Vec<String>,
    /// How deep its substitutions are nested.
    pub(crate) levels: usize,
}

/// An outline being written. A NUL starts a mark: it cannot stand in a script.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) text: String,
    /// The files of the command being written: they stand after its words, wherever they were written.
    pub(super) files: String,
    /// The bodies of heredocs, in the order of their operators. They stand at the end.
    pub(super) bodies: String,
}

impl Outline {
    /// One that need not grow for most scripts of this length: it holds little more than the script.
    pub(super) fn with_room_for(text: &str) -> Self {
        Self { text: String::with_capacity(text.len() + text.len() / 2 + 16), ..Self::default() }
    }

    pub(super) fn mark(&mut self, mark: char) {
        self.text.push('\0');
        self.text.push(mark);
    }

    /// Writes text without its line continuations: the grammar drops most of them.
    pub(super) fn write(&mut self, text: &str) {
        write_joined(&mut self.text, text);
    }

    pub(super) fn write_body(&mut self, text: &str) {
        write_joined(&mut self.bodies, text);
        self.bodies.push('\0');
    }

    /// Changes between writing words and writing files.
    pub(super) fn turn(&mut self) {
        swap(&mut self.text, &mut self.files);
    }

    /// Ends a simple command: its files follow its words.
    pub(super) fn end_command(&mut self) {
        self.text.push_str(&self.files);
        self.files.clear();
        self.mark('.');
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push_str(&self.bodies);
        self.text
    }
}

pub(super) fn write_joined(out: &mut String, text: &str) {
    if text.contains("\\\n") {
        text.split("\\\n").for_each(|part| out.push_str(part));
    } else {
        out.push_str(text);
    }
}
