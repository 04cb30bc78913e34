//! Other people's rules as one-line rules, where they say the same.
//!
//! [`to_rules`] knows the permission files of coding agents and when/then files. What it cannot say is a comment in its place,
//! with the reason; nothing is left out in silence, and nothing is made wider than it was. Whether both mean the same is for
//! `diff` to tell.

mod permissions;
mod when_then;

use lockgate_policy::Source;

/// A file as one-line rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesText {
    /// The rules.
    pub text: String,
    /// What could not be said, and why.
    pub unsaid: Vec<Unsaid>,
}

/// Something that one-line rules could not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaid {
    /// What it is, as it is written.
    pub what: String,
    /// Why it could not be said.
    pub why: String,
}

/// Turns a file into one-line rules; none where it is of a kind that is not known here.
pub fn to_rules(source: &Source) -> Option<RulesText> {
    let lines = permissions::lines(source.text()).or_else(|| when_then::lines(source))?;
    let mut rules = RulesText { text: format!("# From `{}`.\n", source.name()), unsaid: Vec::new() };
    for line in lines {
        match line {
            Ok(line) => rules.text.push_str(&line),
            Err(unsaid) => {
                rules.text.push_str(&format!("# not said: {} ({})", one_line(&unsaid.what), unsaid.why));
                rules.unsaid.push(unsaid);
            }
        }
        rules.text.push('\n');
    }
    Some(rules)
}

/// One rule, or what could not be said.
type Line = Result<String, Unsaid>;

fn unsaid(what: impl Into<String>, why: impl Into<String>) -> Line {
    Err(Unsaid { what: what.into(), why: why.into() })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A name as a sentence writes it: in quotes where it has odd letters.
fn name(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:".contains(c));
    if is_plain { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests;
