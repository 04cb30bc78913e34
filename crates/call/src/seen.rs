//! One look at a call: its strings and scripts, found once for all who look for places in them.
//!
//! [`SeenCall`] walks a call's input to the end, through lists and objects, and reads every script in it; each script
//! is parsed once for a call, whoever looks ([`crate::ScriptCache`]). What it did not look at is said as [`Unseen`].
//! What a string means is missing on purpose: that is for [`SeenCall::paths`] and [`SeenCall::hosts`] to say, and
//! where links lead for [`crate::Links`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::Call;
use crate::json::selector::{Selector, Step};
use crate::shell::read::{is_script_field, shell_script};
use crate::shell::script::Script;

/// The most values of one input that are looked at, and how deep they may be nested.
const VALUES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 64;

/// The most scripts of one input that are read.
const SCRIPTS_MAX: usize = 16;

/// Fields that hold the arguments of the program beside them.
const ARGUMENT_FIELDS: &[&str] = &["args", "arguments", "argv"];

/// The most places that are listed for one call.
pub(crate) const TOUCHED_MAX: usize = 1_000;

/// A call with its strings and scripts laid out.
#[derive(Clone, Debug)]
pub struct SeenCall<'a> {
    pub(crate) call: &'a Call,
    pub(crate) texts: Vec<Text<'a>>,
    pub(crate) scripts: Vec<ReadScript<'a>>,
    pub(crate) unseen: Vec<Unseen>,
}

/// One string of an input, be it a value or a key.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
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

#[derive(Clone, Debug)]
pub(crate) struct ReadScript<'a> {
    pub(crate) source: Cow<'a, str>,
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

impl<'a> SeenCall<'a> {
    /// Reads a call whose scripts stand in the fields that hold one by custom.
    #[must_use]
    pub fn of(call: &'a Call) -> Self {
        Self::with_script_fields(call, |_| false)
    }

    /// Reads a call that has scripts in other fields as well, by their names.
    pub fn with_script_fields(call: &'a Call, is_script: impl Fn(&str) -> bool) -> Self {
        let reading = Self { call, texts: Vec::new(), scripts: Vec::new(), unseen: Vec::new() };
        let mut walk = Walk { reading, steps: Vec::new(), values: 0, is_script: &is_script };
        walk.object(&call.input);
        walk.reading
    }
}

impl SeenCall<'_> {
    /// The scripts of the call, each with the field it stands in.
    pub fn scripts(&self) -> impl Iterator<Item = (&Selector, &Script)> {
        self.scripts.iter().map(|read| (&read.selector, &*read.script))
    }

    /// The same, each with its text: a command that is given as a list of words as a shell would be given it.
    pub fn script_texts(&self) -> impl Iterator<Item = (&str, &Script)> {
        self.scripts.iter().map(|read| (&*read.source, &*read.script))
    }

    /// The strings of the call that are in no script field.
    pub fn strings(&self) -> impl Iterator<Item = (&Selector, &str)> {
        let strings = self.texts.iter().filter(|text| text.kind == TextKind::String);
        strings.map(|text| (&text.selector, &*text.text))
    }

    /// Why some of the call was not looked at, or not understood.
    #[must_use]
    pub fn unseen(&self) -> &[Unseen] {
        &self.unseen
    }
}

/// Whether a field of this name may hold a script or a command, though not by custom: `commands`, `build-script`,
/// `bash`, `code`. Where that is taken for one, a rule sees more than it must.
#[must_use]
pub fn may_hold_a_script(key: &str) -> bool {
    let words = key_words(key);
    let last = words.rsplit('_').next().unwrap_or_default();
    let singular = last.strip_suffix('s').unwrap_or(last);
    ["command", "cmd", "script", "cmdline", "commandline", "bash", "executable", "interpreter"]
        .contains(&singular)
        || [
            "command_line",
            "argv",
            "code",
            "exec",
            "execute",
            "eval",
            "program",
            "run",
            "sh",
            "zsh",
            "powershell",
        ]
        .contains(&words.as_str())
}

struct Walk<'a, 'w> {
    reading: SeenCall<'a>,
    steps: Vec<Step>,
    values: usize,
    is_script: &'w dyn Fn(&str) -> bool,
}

impl<'a> Walk<'a, '_> {
    fn object(&mut self, object: &'a Map<String, Value>) {
        for (key, value) in object {
            let words = key_words(key);
            self.steps.push(Step::Key(key.clone()));
            if key.contains(['/', '\\', '~', ':']) {
                self.text(Cow::Borrowed(key), "", TextKind::Key);
            }
            if is_script_field(&words) || (self.is_script)(key) {
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

    fn value(&mut self, value: &'a Value, key: &str) {
        self.values += 1;
        if self.values > VALUES_MAX {
            return unseen(&mut self.reading.unseen, Unseen::TooManyValues);
        }
        if self.steps.len() > DEPTH_MAX {
            return unseen(&mut self.reading.unseen, Unseen::TooDeep);
        }
        match value {
            Value::String(text) => self.text(Cow::Borrowed(text), key, TextKind::String),
            Value::Number(number) => self.text(Cow::Owned(number.to_string()), key, TextKind::Number),
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

    fn text(&mut self, text: Cow<'a, str>, key: &str, kind: TextKind) {
        let selector = self.selector();
        self.reading.texts.push(Text { text, key: key.to_owned(), kind, selector });
    }

    /// Reads a script, or a command given as a list of words.
    fn script(&mut self, value: &'a Value, key: &str) {
        match value {
            Value::String(text) => self.read_text(Cow::Borrowed(text)),
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
            self.read_text(Cow::Owned(format!("{program} {text}")));
        }
        let arguments = ARGUMENT_FIELDS.iter().find_map(|name| strings(object.get(*name)?));
        let (Value::String(program), Some(arguments)) = (program, arguments) else {
            return false;
        };
        let words: Vec<String> = std::iter::once(program.clone()).chain(arguments).collect();
        self.read_words(&words);
        let is_plain = program.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        if !is_plain {
            self.read_text(Cow::Owned(words.join(" ")));
        }
        is_plain
    }

    fn read_text(&mut self, text: Cow<'a, str>) {
        if self.has_room() {
            let script = self.reading.call.about.scripts.script(&text);
            self.add(text, script);
        }
    }

    fn read_words(&mut self, words: &[String]) {
        if self.has_room() {
            let script = self.reading.call.about.scripts.words(words);
            self.add(Cow::Owned(text_of_words(words)), script);
        }
    }

    /// Whether one more script is read; where it is not, that is said.
    fn has_room(&mut self) -> bool {
        let has_room = self.reading.scripts.len() < SCRIPTS_MAX;
        if !has_room {
            let selector = self.selector();
            unseen(&mut self.reading.unseen, Unseen::OpaqueScript(selector));
        }
        has_room
    }

    fn add(&mut self, source: Cow<'a, str>, script: Arc<Script>) {
        let selector = self.selector();
        if script.opaque {
            unseen(&mut self.reading.unseen, Unseen::OpaqueScript(selector.clone()));
        }
        self.reading.scripts.push(ReadScript { source, selector, script });
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

/// The words of a key, in one spelling: `filePath`, `file-path` and `File_Path` are all `file_path`.
pub(crate) fn key_words(key: &str) -> String {
    let mut words = String::with_capacity(key.len() + 4);
    let mut after_lower = false;
    for c in key.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && after_lower {
                words.push('_');
            }
            words.extend(c.to_lowercase());
        } else if !words.is_empty() && !words.ends_with('_') {
            words.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.truncate(words.trim_end_matches('_').len());
    words
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
    fn a_key_is_known_in_every_spelling() {
        let rows = [
            ("file_path", "file_path"),
            ("filePath", "file_path"),
            ("File-Path", "file_path"),
            ("FILE_PATH", "file_path"),
            ("file path ", "file_path"),
            ("__path", "path"),
            ("PATH", "path"),
            ("", ""),
        ];
        for (key, words) in rows {
            assert_eq!(key_words(key), words, "{key}");
        }
    }

    #[test]
    fn a_field_that_may_hold_a_script_is_known_by_its_name() {
        for key in ["commands", "cmds", "buildScript", "Bash", "code", "command-line", "run", "PreCommand"] {
            assert!(may_hold_a_script(key), "{key}");
        }
        for key in
            ["description", "transcript", "subscription", "language_code", "run_id", "shell", "path", ""]
        {
            assert!(!may_hold_a_script(key), "{key}");
        }
    }

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
        let deep = |value: &Value| {
            let call = Call::new("1", "t").with("a", value.clone());
            SeenCall::of(&call).unseen
        };
        assert_eq!(deep(&nested), []);
        assert_eq!(deep(&Value::from(vec![nested])), [Unseen::TooDeep]);

        assert_eq!(deep(&Value::from(vec![Value::Null; VALUES_MAX - 1])), []);
        assert_eq!(deep(&Value::from(vec![Value::Null; VALUES_MAX])), [Unseen::TooManyValues]);

        let scripts = |n: usize| {
            let call = Call::new("1", "t").with("a", vec![serde_json::json!({ "cmd": "ls" }); n]);
            SeenCall::of(&call).unseen.len()
        };
        assert_eq!((scripts(SCRIPTS_MAX), scripts(SCRIPTS_MAX + 1)), (0, 1));
    }
}
