//! Two readings of one script, compared.
//!
//! A parser that reads a script differently from the shell lists the wrong commands without noticing. So every script
//! is read twice: by the grammar of [`rable`], whose tree the rest of this crate walks, and by [`source`], a small
//! scanner of our own that shares nothing with it and gives up on whatever is unusual. Each reading is written down as
//! an outline: the commands, words, files and brackets, in order. Where the outlines differ, or the scanner gave up,
//! the script counts as unreadable. Neither reading runs, expands or resolves anything.

mod source;
mod tree;

use std::mem::swap;

use rable::Node;

/// What our own scanner reads in a text.
pub(crate) struct Reading {
    /// The outlines of the script and of all scripts in its substitutions.
    pub(crate) outlines: Vec<String>,
    /// How deep its substitutions are nested.
    pub(crate) levels: usize,
}

/// Reads a script by our own scanner; none if it gave up.
pub(crate) fn of_script(text: &str) -> Option<Reading> {
    source::script(text)
}

/// Reads the scripts in a text that is expanded like one in double quotes; none if the scanner gave up.
pub(crate) fn of_quoted(text: &str) -> Option<Reading> {
    source::quoted(text)
}

/// The outline of one script, by the grammar. What stands in its substitutions has outlines of its own.
pub(crate) fn of_nodes(nodes: &[Node]) -> String {
    tree::outline(nodes)
}

/// An outline being written. A NUL starts a mark: it cannot stand in a script.
#[derive(Default)]
struct Outline {
    text: String,
    /// The files of the command being written: they stand after its words, wherever they were written.
    files: String,
    /// The bodies of heredocs, in the order of their operators. They stand at the end.
    bodies: String,
}

impl Outline {
    /// One that need not grow for most scripts of this length: it holds little more than the script.
    fn with_room_for(text: &str) -> Self {
        Self { text: String::with_capacity(text.len() + text.len() / 2 + 16), ..Self::default() }
    }

    fn mark(&mut self, mark: char) {
        self.text.push('\0');
        self.text.push(mark);
    }

    /// Writes text without its line continuations: the grammar drops most of them.
    fn write(&mut self, text: &str) {
        write_joined(&mut self.text, text);
    }

    fn write_body(&mut self, text: &str) {
        write_joined(&mut self.bodies, text);
        self.bodies.push('\0');
    }

    /// Changes between writing words and writing files.
    fn turn(&mut self) {
        swap(&mut self.text, &mut self.files);
    }

    /// Ends a simple command: its files follow its words.
    fn end_command(&mut self) {
        self.text.push_str(&self.files);
        self.files.clear();
        self.mark('.');
    }

    fn finish(mut self) -> String {
        self.text.push_str(&self.bodies);
        self.text
    }
}

fn write_joined(out: &mut String, text: &str) {
    if text.contains("\\\n") {
        text.split("\\\n").for_each(|part| out.push_str(part));
    } else {
        out.push_str(text);
    }
}
