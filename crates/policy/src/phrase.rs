//! Names that are phrases: `any deletion outside ./build`, `bash running git push --force`.
//!
//! A phrase is one more name of a call, beside that of its tool and those that maps give. What effects a call has is decided in
//! `effects.rs`, what its scripts run in `maps.rs`.

use lockgate_call::{EffectPattern, shell_tools};

/// `TOOL running PROGRAM [ARG…]`: calls of a tool whose script runs a program.
#[derive(Clone, Debug)]
pub struct RunningPhrase {
    /// The tools; several where it says `any shell`.
    pub tools: Vec<String>,
    /// The program, without a folder.
    pub program: String,
    /// Words that its arguments have in this order.
    pub words: Vec<String>,
}

impl RunningPhrase {
    /// The word between the tool and the program.
    pub const WORD: &'static str = "running";

    /// Reads a phrase; none where it is something else.
    #[must_use]
    pub fn parse(phrase: &str) -> Option<Self> {
        if !phrase.contains(" running ") {
            return None;
        }
        let words: Vec<&str> = phrase.split_whitespace().collect();
        let (tools, rest) = match words.as_slice() {
            ["any", "shell", Self::WORD, rest @ ..] => {
                (shell_tools().into_iter().map(str::to_owned).collect(), rest)
            }
            [tool, Self::WORD, rest @ ..] => (vec![(*tool).to_owned()], rest),
            _ => return None,
        };
        let unquoted = |word: &&str| word.trim_matches('"').to_owned();
        let (program, words) = rest.split_first()?;
        Some(Self { tools, program: unquoted(program), words: words.iter().map(unquoted).collect() })
    }
}

/// The tool and the action of a name such as `git.push`. A phrase may have a dot in it, and names no action.
#[must_use]
pub fn tool_and_action(name: &str) -> Option<(&str, &str)> {
    name.split_once('.').filter(|_| !is_phrase(name))
}

/// Whether a name is a phrase, and not that of a tool.
#[must_use]
pub fn is_phrase(name: &str) -> bool {
    name.contains(' ') && (EffectPattern::parse(name).is_some() || RunningPhrase::parse(name).is_some())
}
