//! What assignments set, and what values will run wherever they are used.

use std::mem::take;

use rable::{Node, NodeKind};

use super::names::short;
use super::quoted::{is_piece_of_index, may_run_within};
use super::settings::scripts_of_settings;
use super::{Input, Reader, SETS_MAX};
use crate::programs::word::{Field, Known, Word};
use crate::shell::environment;
use crate::shell::scan::Place;
use crate::shell::written::Content;

impl Reader {
    /// Takes in `name=value`, for the script or for one program alone.
    pub(super) fn assign(
        &mut self,
        assignment: &Node,
        fields: &[Field],
        is_ours: bool,
    ) -> Option<(String, Word)> {
        let NodeKind::Word { value: source, .. } = &assignment.kind else {
            return None;
        };
        let name = source.split(['=', '[', '+']).next().unwrap_or_default();
        let is_plain = source.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        let value = match fields {
            [field] => match field.text.split_once('=') {
                Some((_, text)) => Field { text: text.to_owned(), ..*field },
                None => Field { quotes_code: field.quotes_code, ..Field::uncertain(&field.text) },
            },
            // Braces and blanks make no words of their own in an assignment.
            _ => {
                let texts: Vec<&str> = fields.iter().map(|field| field.text.as_str()).collect();
                let quotes_code = fields.iter().any(|field| field.quotes_code);
                Field { quotes_code, ..Field::uncertain(texts.join(" ")) }
            }
        };
        self.set(name, &value);
        if let Some(items) =
            source.split_once("=(").map(|(_, items)| items).filter(|it| it.contains(['*', '?', '[']))
        {
            let items = items.trim_end_matches(')').split_whitespace();
            let is_pattern = |item: &&str| item.contains(['*', '?', '[']) && !item.starts_with(['\'', '"']);
            let pattern = |item: &str| Field { known: Known::Glob, ..Field::certain(item) };
            let items: Vec<Field> = items.filter(is_pattern).map(pattern).collect();
            self.list_patterns(&items);
        }
        let index = source.get(name.len()..).filter(|rest| rest.starts_with('['));
        if index.is_some() {
            self.quoted.computes();
        }
        // With an index it looks like a glob, so its value is not certain although it is quoted.
        if index.is_some() && source.contains('\'') && value.text.contains(['$', '`']) {
            self.perhaps(|reader| reader.apart(|reader| reader.text(&value.text, Place::Quoted)));
        }
        if environment::is_table_of_commands(name, index) {
            self.doubt_what_runs(name);
        }
        if is_ours {
            let value = (is_plain && value.is_certain()).then(|| value.text.clone());
            self.variables.assign(name, value);
        }
        Some((name.to_owned(), value.into()))
    }

    /// Looks at a value for what it will run wherever it is used.
    pub(super) fn set(&mut self, name: &str, value: &Field) {
        self.sets(name);
        let attached = take(&mut self.attached);
        self.look_at_value(name, value);
        self.attached = attached;
    }

    /// Takes in that a variable is set.
    pub(super) fn sets(&mut self, name: &str) {
        self.variables.sets(name);
        self.loops.iter_mut().for_each(|it| it.sets(name));
        let is_known = self.found.sets.iter().any(|set| set == name);
        if !is_known && self.found.sets.len() >= SETS_MAX {
            return self.doubt("the script sets too many variables to list");
        }
        if !is_known {
            self.found.sets.push(name.to_owned());
        }
    }

    pub(super) fn look_at_value(&mut self, name: &str, value: &Field) {
        let around = || format!("{}=", short(name));
        let may_be_piece = match value.known {
            Known::Unknown => value.quotes_code && may_run_within(&value.text),
            _ => is_piece_of_index(&value.text),
        };
        if may_be_piece {
            return self.doubt("the script puts an expression together when it runs");
        }
        // What looks like a glob is none in an assignment.
        let is_text = value.known != Known::Unknown;
        let runs_within = is_text && (value.text.contains("$(") || value.text.contains('`'));
        match environment::meaning(name) {
            // Once more in a sum, a prompt or an `eval`: `x='a[$(rm y)]'; ((x))`.
            None | Some(environment::Meaning::Prompt | environment::Meaning::File) if runs_within => {
                let read = |reader: &mut Self| reader.apart(|reader| reader.text(&value.text, Place::Quoted));
                self.perhaps(|reader| reader.within(around(), read));
            }
            Some(environment::Meaning::Script) if value.is_certain() => {
                let script = value.text.trim_start_matches(['|', '-', '!']).to_owned();
                let read = |reader: &mut Self| reader.foreign_script(&script, &Input::Given);
                self.perhaps(|reader| reader.within(around(), read));
            }
            Some(environment::Meaning::File)
                if value.text.contains("/dev/") || value.text.contains("/proc/") =>
            {
                self.doubt_what_runs(name);
            }
            Some(environment::Meaning::File) if value.is_certain() => {
                match self.written.read(value, &self.found.commands, &self.open) {
                    Content::Text(text) => {
                        let read = |reader: &mut Self| reader.foreign_script(&text, &Input::Given);
                        self.perhaps(|reader| reader.within(around(), read));
                    }
                    Content::Unknown => self.doubt_what_runs(name),
                    Content::Foreign | Content::Read => {}
                }
            }
            Some(environment::Meaning::Settings) => {
                let file = Field { text: value.text.clone(), ..value.clone() };
                let text = match self.written.read(&file, &self.found.commands, &self.open) {
                    Content::Text(text) => text,
                    Content::Unknown => return self.doubt_what_runs(name),
                    Content::Foreign | Content::Read => return,
                };
                let scripts: Vec<String> = scripts_of_settings(&text).collect();
                for script in scripts {
                    let read = |reader: &mut Self| reader.foreign_script(&script, &Input::Given);
                    self.perhaps(|reader| reader.within(around(), read));
                }
            }
            Some(environment::Meaning::Options(program)) if value.is_certain() => {
                // Options of make may stand without a dash.
                let words = value.text.split_whitespace().map(Field::certain);
                let words: Vec<Field> = std::iter::once(Field::certain(program)).chain(words).collect();
                let read = |reader: &mut Self| reader.deeper(|reader| reader.run(words, &Input::Given));
                self.perhaps(|reader| reader.within(around(), read));
            }
            Some(environment::Meaning::Loading(options)) if value.is_certain() => {
                let loads = |word: &str| options.iter().any(|option| word.starts_with(option));
                if value.text.split_whitespace().any(loads) {
                    self.doubt_what_runs(name);
                }
            }
            Some(environment::Meaning::Loading(_)) => {}
            Some(environment::Meaning::Prompt) if value.is_certain() => {}
            Some(_) if !value.text.is_empty() => self.doubt_what_runs(name),
            _ => {}
        }
    }
}
