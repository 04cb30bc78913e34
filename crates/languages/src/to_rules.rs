//! Other people's rules as one-line rules, where they say the same.
//!
//! [`to_rules`] knows the permission files of coding agents and when/then files. What it cannot say is a comment in its place,
//! with the reason; nothing is left out in silence, and nothing is made wider than it was. Whether both mean the same is for
//! `diff` to tell.

mod gemini;
mod line;
mod permissions;
mod when_then;

use lockgate_policy::Source;

pub use line::Unsaid;

/// A file as one-line rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesText {
    /// The rules.
    pub text: String,
    /// What could not be said, and why.
    pub unsaid: Vec<Unsaid>,
}

/// Turns a file into one-line rules; none where it is of a kind that is not known here.
pub fn to_rules(source: &Source) -> Option<RulesText> {
    let lines = permissions::lines(source.text())
        .or_else(|| gemini::lines(source.text()))
        .or_else(|| when_then::lines(source))?;
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
