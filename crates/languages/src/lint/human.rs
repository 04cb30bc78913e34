//! Words that speak of humans.

use crate::one_line::is_human;

/// How surely a name means a human who agrees, if it does.
pub(super) fn human_word(name: &str) -> Option<Confidence> {
    let parts = parts(name);
    let is_about_humans = |part: &String| {
        let word = part.as_str();
        is_human(word)
            || ["manual", "user", "review", "confirmation", "consent", "by", "of", "a", "the", "from"]
                .contains(&word)
    };
    if parts.iter().any(|part| is_human(part)) && parts.iter().all(is_about_humans) {
        return Some(Confidence::Certainly);
    }
    let weak = [
        "approve",
        "approved",
        "confirm",
        "confirmation",
        "consent",
        "humanapproval",
        "permission",
        "signoff",
    ];
    weak.contains(&parts.concat().as_str()).then_some(Confidence::Probably)
}

/// How sure a guess is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confidence {
    Certainly,
    Probably,
}

/// The words a name is made of, in lower case: `read_file`, `read.file` and `readFile` have the same.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
