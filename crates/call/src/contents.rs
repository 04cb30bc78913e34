//! The strings and scripts of an input, wherever they stand in it.
//!
//! [`Contents::of`] walks an input to the end, through lists and objects, and reads every script in it. What it did not
//! look at is listed as [`Unseen`]. What a string means is missing on purpose: the finders of paths and hosts say that.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::fields::{ScriptFields, key_words};
use crate::json::selector::{Selector, Step};
use crate::shell::cache::ScriptCache;
use crate::shell::read::{is_script_field, shell_script};
use crate::shell::script::Script;

/// The most values of one input that are looked at, and how deep they may be nested.
const VALUES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 64;

/// The most scripts of one input that are read.
const SCRIPTS_MAX: usize = 16;

/// Fields that hold the arguments of the program beside them.
const ARGUMENT_FIELDS: &[&str] = &["args", "arguments", "argv"];

/// The most keys of one input that are noted; with more of them, a reading serves only those who take the same fields.
const KEYS_MAX: usize = 64;

/// The most places that are listed for one call.
pub(crate) const TOUCHED_MAX: usize = 1_000;

/// The strings and scripts of one input.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) texts: Vec<Text>,
    pub(crate) scripts: Vec<ReadScript>,
    pub(crate) unseen: Vec<Unseen>,
    /// Each key that does not hold a script by custom, and whether it was taken for one that does; none where there
    /// are too many.
    keys: Option<Vec<(String, bool)>>,
}

/// One string of an input, be it a value or a key.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The words of the key it stands under, as [`key_words`] gives them; lists are looked through.
    pub(crate) key: String,
    pub(crate) kind: TextKind,
    pub(crate) selector: Selector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    Key,
    String,
    Number,
}

/// A script of an input, and its text: a command that is given as a list of words as a shell would be given it.
#[derive(Debug)]
pub(crate) struct ReadScript {
    pub(crate) source: String,
    pub(crate) selector: Selector,
    pub(crate) script: Arc<Script>,
}

/// Where in a call a place is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a field of the input, or as the name of one.
    Field(Selector),
    /// In a word of a script's command; both are counted from zero, the program is word zero.
    Word {
        /// The field that holds the script.
        field: Selector,
        /// Which command.
        command: usize,
        /// Which of its words.
        word: usize,
    },
    /// In a redirection or an assignment of a script's command.
    Around {
        /// The field that holds the script.
        field: Selector,
        /// Which command.
        command: usize,
    },
}

/// Why a call may touch more than is listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unseen {
    /// More values than we look at.
    #[error("the input has too many values to look at")]
    TooManyValues,
    /// Values nested deeper than we look.
    #[error("the input is nested too deeply to look at")]
    TooDeep,
    /// More places than we list.
    #[error("the call names too many places to list")]
    TooManyPlaces,
    /// A text longer than we search.
    #[error("the text in `{0}` is too long to be searched")]
    TooLong(Selector),
    /// A script that may do more than can be read in it.
    #[error("the script in `{0}` may do more than can be read in it")]
    OpaqueScript(Selector),
}

impl Contents {
    /// Walks an input; each script in it is parsed once for all who share the cache.
    pub(crate) fn of(input: &Map<String, Value>, fields: &ScriptFields, scripts: &ScriptCache) -> Self {
        let contents =
            Self { texts: Vec::new(), scripts: Vec::new(), unseen: Vec::new(), keys: Some(Vec::new()) };
        let mut walk = Walk { contents, steps: Vec::new(), values: 0, fields, scripts };
        walk.object(input);
        walk.contents
    }

    /// Whether a walk with these fields would give the same: they take the same of this input's keys for scripts.
    pub(crate) fn would_be_same(&self, fields: &ScriptFields) -> bool {
        let is_same = |(key, is_script): &(String, bool)| fields.has(key, &key_words(key)) == *is_script;
        self.keys.as_ref().is_some_and(|keys| keys.iter().all(is_same))
    }
}

struct Walk<'w> {
    contents: Contents,
    steps: Vec<Step>,
    values: usize,
    fields: &'w ScriptFields,
    scripts: &'w ScriptCache,
}

impl Walk<'_> {
    fn object(&mut self, object: &Map<String, Value>) {
        for (key, value) in object {
            let words = key_words(key);
            self.steps.push(Step::Key(key.clone()));
            if key.contains(['/', '\\', '~', ':']) {
                self.text(key.clone(), "", TextKind::Key);
            }
            if self.is_script(key, &words) {
                let is_read = self.program_with_arguments(value, object);
                if !is_read {
                    self.script(value, &words);
                }
            } else {
                self.value(value, &words);
            }
            self.steps.pop();
        }
    }

    fn is_script(&mut self, key: &str, words: &str) -> bool {
        let is_script = self.fields.has(key, words);
        if !is_script_field(words)
            && let Some(keys) = &mut self.contents.keys
            && !keys.iter().any(|(known, _)| known == key)
        {
            if keys.len() < KEYS_MAX {
                keys.push((key.to_owned(), is_script));
            } else {
                self.contents.keys = None;
            }
        }
        is_script
    }

    fn value(&mut self, value: &Value, key: &str) {
        self.values += 1;
        if self.values > VALUES_MAX {
            return unseen(&mut self.contents.unseen, Unseen::TooManyValues);
        }
        if self.steps.len() > DEPTH_MAX {
            return unseen(&mut self.contents.unseen, Unseen::TooDeep);
        }
        match value {
            Value::String(text) => self.text(text.clone(), key, TextKind::String),
            Value::Number(number) => self.text(number.to_string(), key, TextKind::Number),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.steps.push(Step::Index(i));
                    self.value(item, key);
                    self.steps.pop();
                }
            }
            Value::Object(object) => self.object(object),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn text(&mut self, text: String, key: &str, kind: TextKind) {
        let selector = self.selector();
        self.contents.texts.push(Text { text, key: key.to_owned(), kind, selector });
    }

    /// Reads a script, or a command given as a list of words.
    fn script(&mut self, value: &Value, key: &str) {
        match value {
            Value::String(text) => self.read_text(text),
            Value::Array(_) => match strings(value) {
                Some(words) => self.read_words(&words),
                None => self.value(value, key),
            },
            other => self.value(other, key),
        }
    }

    /// Reads a command whose arguments stand in a field of their own, and says whether that is all of it: a
    /// tool may hand anything but a plain name to a shell.
    fn program_with_arguments(&mut self, program: &Value, object: &Map<String, Value>) -> bool {
        let text = ARGUMENT_FIELDS.iter().find_map(|name| object.get(*name)?.as_str());
        if let (Value::String(program), Some(text)) = (program, text) {
            self.read_text(&format!("{program} {text}"));
        }
        let arguments = ARGUMENT_FIELDS.iter().find_map(|name| strings(object.get(*name)?));
        let (Value::String(program), Some(arguments)) = (program, arguments) else {
            return false;
        };
        let words: Vec<String> = std::iter::once(program.clone()).chain(arguments).collect();
        self.read_words(&words);
        let is_plain = program.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        if !is_plain {
            self.read_text(&words.join(" "));
        }
        is_plain
    }

    fn read_text(&mut self, text: &str) {
        if self.has_room() {
            let script = self.scripts.script(text);
            self.add(text.to_owned(), script);
        }
    }

    fn read_words(&mut self, words: &[String]) {
        if self.has_room() {
            let script = self.scripts.words(words);
            self.add(text_of_words(words), script);
        }
    }

    /// Whether one more script is read; where it is not, that is said.
    fn has_room(&mut self) -> bool {
        let has_room = self.contents.scripts.len() < SCRIPTS_MAX;
        if !has_room {
            let selector = self.selector();
            unseen(&mut self.contents.unseen, Unseen::OpaqueScript(selector));
        }
        has_room
    }

    fn add(&mut self, source: String, script: Arc<Script>) {
        let selector = self.selector();
        if script.opaque {
            unseen(&mut self.contents.unseen, Unseen::OpaqueScript(selector.clone()));
        }
        self.contents.scripts.push(ReadScript { source, selector, script });
    }

    fn selector(&self) -> Selector {
        Selector { steps: self.steps.clone() }
    }
}

/// A command given as words, as text that a shell reads as the same command: a script that is handed to a shell is
/// that script, and a word that is not plain is quoted.
fn text_of_words(words: &[String]) -> String {
    if let Some(script) = shell_script(words) {
        return script.to_owned();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The strings of a list of nothing else.
fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(ToOwned::to_owned)).collect()
}

/// Each reason once.
pub(crate) fn unseen(reasons: &mut Vec<Unseen>, reason: Unseen) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => write!(f, "{field}"),
            Self::Word { field, command, word } => write!(f, "{field}: command {command}, word {word}"),
            Self::Around { field, command } => write!(f, "{field}: around command {command}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_given_as_words_is_told_as_a_shell_would_read_it() {
        let text =
            |words: &[&str]| text_of_words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(text(&["npm", "run", "a:b"]), "npm run a:b");
        assert_eq!(text(&["echo", "a; rm x", "", "it's"]), r"echo 'a; rm x' '' 'it'\''s'");
        assert_eq!(text(&["/bin/sh", "-c", "a; b"]), "a; b");
    }

    #[test]
    fn an_input_past_the_limits_is_said_to_be_unseen() {
        let mut nested = Value::from("/etc/passwd");
        for _ in 0..DEPTH_MAX - 1 {
            nested = Value::from(vec![nested]);
        }
        let unseen = |value: Value| {
            let input = [("a".to_owned(), value)].into_iter().collect();
            Contents::of(&input, &ScriptFields::Customary, &ScriptCache::default()).unseen
        };
        let deep = |value: &Value| unseen(value.clone());
        assert_eq!(deep(&nested), []);
        assert_eq!(deep(&Value::from(vec![nested])), [Unseen::TooDeep]);

        assert_eq!(deep(&Value::from(vec![Value::Null; VALUES_MAX - 1])), []);
        assert_eq!(deep(&Value::from(vec![Value::Null; VALUES_MAX])), [Unseen::TooManyValues]);

        let scripts = |n: usize| unseen(Value::from(vec![serde_json::json!({ "cmd": "ls" }); n])).len();
        assert_eq!((scripts(SCRIPTS_MAX), scripts(SCRIPTS_MAX + 1)), (0, 1));
    }
}
