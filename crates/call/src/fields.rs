//! Fields of an input by their names, and which of them hold scripts.
//!
//! Names are compared in one spelling ([`key_words`]). How much is taken for a script depends on who asks: a restriction
//! takes more than a credit, so [`ScriptFields`] has a set for each. What a field holds is missing on purpose.

use crate::shell::read::is_script_field;

/// The fields that are taken for scripts, wherever in an input they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScriptFields {
    /// Those that hold a script by custom.
    #[default]
    Customary,
    /// Those by custom and these, which a policy declares.
    Declared(Vec<String>),
    /// Those by custom and every field that may hold a script or a command by its name.
    Likely,
    /// The same without fields for code, which need not be the shell's.
    LikelyShell,
}

impl ScriptFields {
    /// Those by custom and these.
    #[must_use]
    pub fn declared(names: Vec<String>) -> Self {
        if names.is_empty() { Self::Customary } else { Self::Declared(names) }
    }

    /// Whether a field is among them, by its name as it is written and in one spelling.
    pub(crate) fn has(&self, key: &str, words: &str) -> bool {
        is_script_field(words)
            || match self {
                Self::Customary => false,
                Self::Declared(names) => names.iter().any(|name| name == key),
                Self::Likely => may_hold(words),
                Self::LikelyShell => may_hold(words) && !is_code_field(key),
            }
    }
}

/// Whether a field of this name may hold a script or a command, though not by custom: `commands`, `build-script`,
/// `bash`, `code`. Where that is taken for one, a rule sees more than it must.
#[must_use]
pub fn may_hold_a_script(key: &str) -> bool {
    may_hold(&key_words(key))
}

fn may_hold(words: &str) -> bool {
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
        .contains(&words)
}

/// Whether a field of this name holds code that need not be the shell's.
fn is_code_field(key: &str) -> bool {
    ["code", "program", "run", "exec", "execute", "eval"].iter().any(|name| key.eq_ignore_ascii_case(name))
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
    fn each_set_takes_at_least_what_custom_does() {
        let declared = ScriptFields::declared(vec!["todo".to_owned()]);
        let sets = [&ScriptFields::Customary, &declared, &ScriptFields::Likely, &ScriptFields::LikelyShell];
        let rows = [
            ("command", [true, true, true, true]),
            ("Shell-Command", [true, true, true, true]),
            ("todo", [false, true, false, false]),
            ("Todo", [false, false, false, false]),
            ("commands", [false, false, true, true]),
            ("code", [false, false, true, false]),
            ("Run", [false, false, true, false]),
            ("path", [false, false, false, false]),
        ];
        for (key, expected) in rows {
            assert_eq!(sets.map(|set| set.has(key, &key_words(key))), expected, "{key}");
        }
        assert_eq!(ScriptFields::declared(Vec::new()), ScriptFields::Customary);
    }
}
