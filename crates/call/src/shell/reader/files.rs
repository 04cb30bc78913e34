//! What redirections read, write and run.

use std::mem::replace;

use rable::{Node, NodeKind};

use super::{Attached, Input, Reader};
use crate::programs::word::{Field, Known, Word};
use crate::shell::scan::Place;
use crate::shell::script::{Redirection, RedirectionKind};
use crate::shell::written::Content;

impl Reader {
    /// Reads what the redirections of a compound command run, and lists its files.
    pub(super) fn group_files(&mut self, redirects: &[Node], input: &Input) -> Input {
        if redirects.is_empty() {
            return input.clone();
        }
        let (input, files) = self.redirected(redirects, input);
        self.write_files(redirects, &Input::Computed);
        self.attached.redirections.extend(files);
        self.attached.is_group = true;
        self.list_files();
        self.attached.is_group = false;
        input
    }

    /// Lists the files of something that is no program of its own.
    pub(super) fn list_files(&mut self) {
        if !self.attached.redirections.is_empty() {
            self.list(Vec::new(), None, false, None);
        }
    }

    /// Lists the folders in which patterns look whose names are no words of a command: `for i in /etc/*`.
    pub(super) fn list_patterns(&mut self, words: &[Field]) {
        let is_told = |word: &&Field| word.known == Known::Glob && word.text.contains(['/', '~']);
        let patterns: Vec<Word> = words.iter().filter(is_told).cloned().map(Word::from).collect();
        if !patterns.is_empty() {
            let attached =
                replace(&mut self.attached, Attached { wrapper_places: patterns, ..Attached::default() });
            self.list(Vec::new(), None, false, None);
            self.attached = attached;
        }
    }

    /// Reads what redirections run; gives the standard input they leave a command with, and the files.
    pub(super) fn redirected(&mut self, redirects: &[Node], input: &Input) -> (Input, Vec<Redirection>) {
        let mut files = Vec::new();
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted: true, .. } => self.quoted.keep_text(content),
                NodeKind::HereDoc { content, .. } => {
                    if content.contains('\\') {
                        self.quoted.keep_text(content);
                    }
                    self.text(content, Place::Quoted);
                }
                NodeKind::Redirect { op, target, varfd, .. } => {
                    if let Some(name) = varfd {
                        self.sets(name);
                    }
                    let targets = self.words(std::slice::from_ref(target));
                    // Bash expands the file of `>&` a second time.
                    let expands_again =
                        |target: &Field| target.is_certain() && target.text.contains(['$', '`', '<', '>']);
                    if op == ">&" && targets.iter().any(expands_again) {
                        self.doubt("the script contains a redirection that cannot be read");
                    }
                    for target in targets.iter().filter(|target| is_file(op, target)) {
                        let kinds: &[RedirectionKind] = match op.as_str() {
                            "<" => &[RedirectionKind::Reads],
                            "<>" => &[RedirectionKind::Reads, RedirectionKind::Writes],
                            ">>" | "&>>" => &[RedirectionKind::Appends],
                            _ => &[RedirectionKind::Writes],
                        };
                        files.extend(
                            kinds
                                .iter()
                                .map(|kind| Redirection { kind: *kind, target: target.clone().into() }),
                        );
                    }
                }
                _ => self.doubt("the script contains a redirection that cannot be read"),
            }
        }
        (self.input_after(redirects, input), files)
    }

    /// Remembers what redirections write.
    pub(super) fn write_files(&mut self, redirects: &[Node], output: &Input) {
        for redirect in redirects {
            let NodeKind::Redirect { op, target, fd, .. } = &redirect.kind else { continue };
            let text = match output {
                // In a branch or a loop it may be written never, or twice.
                Input::Text(text) if matches!(fd, -1 | 1) && !self.is_conditional => Some(text.clone()),
                _ => None,
            };
            for target in self.peek(std::slice::from_ref(target)) {
                if is_file(op, &target) && op != "<" {
                    self.written.write(&target, text.clone(), op.ends_with(">>"));
                }
            }
        }
    }

    pub(super) fn input_after(&mut self, redirects: &[Node], input: &Input) -> Input {
        let mut input = input.clone();
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, fd: -1 | 0, .. } => {
                    let expands = !quoted && content.contains(['$', '`', '\\']);
                    input = if expands { Input::Computed } else { Input::Text(content.clone()) };
                }
                NodeKind::Redirect { op, target, fd: -1 | 0, .. } if op.starts_with('<') => {
                    let fields = self.peek(std::slice::from_ref(target));
                    match (op.as_str(), fields.as_slice()) {
                        ("<<<", [field]) if field.is_certain() => input = Input::Text(field.text.clone()),
                        ("<", [field]) if field.is_certain() && !field.text.starts_with("/dev/") => {
                            input = match self.written.read(field, &[], &[]) {
                                Content::Text(text) => Input::Text(text),
                                Content::Foreign => Input::Given,
                                Content::Read | Content::Unknown => Input::Computed,
                            };
                        }
                        ("<<<" | "<" | "<>" | "<&", _) => input = Input::Computed,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        input
    }
}

/// Whether a redirection connects to a file: `2>&1` and `<<<` do not, and a substitution is a command.
fn is_file(op: &str, target: &Field) -> bool {
    let is_descriptor = || target.text.bytes().all(|byte| byte.is_ascii_digit());
    match op {
        "<<<" | ">&-" | "<&" => false,
        ">&" if is_descriptor() => false,
        _ => !target.text.starts_with("<(") && !target.text.starts_with(">("),
    }
}
