//! What the words of git run: aliases among its settings, remotes that are programs, and verbs that are not its own.
//!
//! The verb is found by git's own grammar. What a push does by a cluster of letters, the beginning of an option or a sign
//! before a branch is handed on once more in the plain words that rules name. Settings that name programs are read where
//! settings are (`wrappers.rs`).

use super::inner::Inner;
use super::names::has;
use super::program::{Program, Verbs};
use super::word::Field;

/// What a command of git hands on beside what its settings and options name.
pub(super) fn runs(program: &Program, arguments: &[Field]) -> Vec<Inner> {
    let Some(verbs) = program.verbs else { return Vec::new() };
    let at = verb_at(verbs, arguments);
    let (before, rest) = arguments.split_at_checked(at).unwrap_or((arguments, &[]));
    let (verb, rest) = match rest.split_first() {
        Some((verb, rest)) => (Some(verb), rest),
        None => (None, rest),
    };
    let name = program.names;
    let mut found: Vec<Inner> = arguments.iter().filter_map(remote_program).collect();
    for setting in before.iter().filter(|word| word.text.contains('=')) {
        found.extend(alias(name, setting, rest));
        found.extend(push_by_setting(name, setting));
    }
    let Some(verb) = verb else { return found };
    match verb.text.as_str() {
        "config" => {
            let set = rest.windows(2).filter_map(|words| match words {
                [key, value] if key.text.to_ascii_lowercase().starts_with("alias.") => {
                    Some(Field { text: format!("{}={}", key.text, value.text), ..value.clone() })
                }
                _ => None,
            });
            found.extend(set.filter_map(|setting| alias(name, &setting, &[])));
        }
        "push" | "send-pack" | "http-push" => found.extend(plain_push(name, &verb.text, rest)),
        // A program of that name, if the script wrote one.
        own if verb.is_certain() && !has(verbs.own, own) => {
            found.push(Inner::File(Field::certain(format!("{name}-{own}"))));
        }
        _ => {}
    }
    found
}

/// Where the verb stands: the first word that is neither an option nor the value of one.
fn verb_at(verbs: &Verbs, arguments: &[Field]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if verbs.takes_value(&word.text) {
            at = at.saturating_add(2);
        } else if word.text.starts_with('-') {
            at = at.saturating_add(1);
        } else {
            break;
        }
    }
    at
}

/// What an alias stands for that is another command of git: `alias.p=push --force`.
fn alias(name: &str, setting: &Field, rest: &[Field]) -> Option<Inner> {
    let (key, value) = setting.text.split_once('=')?;
    let key = key.trim_start_matches("-c").to_ascii_lowercase();
    if !key.starts_with("alias.") || value.starts_with('!') {
        return None;
    }
    if !setting.is_certain() || value.contains(['\'', '"', '\\']) {
        return Some(Inner::Unknown);
    }
    let words = std::iter::once(name).chain(value.split_whitespace()).map(Field::certain);
    Some(Inner::Perhaps(words.chain(rest.iter().cloned()).collect()))
}

/// What a setting makes of a push: all branches, or one by force.
fn push_by_setting(name: &str, setting: &Field) -> Option<Inner> {
    let (key, value) = setting.text.split_once('=')?;
    let key = key.to_ascii_lowercase();
    let plain = match key.rsplit('.').next()? {
        "mirror" if key.contains("remote.") && value != "false" => "--mirror",
        "push" if key.contains("remote.") && value.starts_with('+') => "--force",
        _ => return None,
    };
    Some(plain_words(name, &[plain]))
}

/// A push in the words that rules name, where it is written in others.
fn plain_push(name: &str, verb: &str, rest: &[Field]) -> Option<Inner> {
    let is_short = |text: &str| {
        text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.len() > 1)
    };
    let begins = |text: &str, option: &str, least: usize| {
        text != option && text.len() >= least && option.starts_with(text)
    };
    let mut plain: Vec<&str> = Vec::new();
    for word in rest {
        let text = word.text.as_str();
        let letter = |letter: char| is_short(text) && text.contains(letter);
        // In a cluster the letter `o` takes the rest as its value.
        if letter('f') || begins(text, "--force", 4) || text.starts_with('+') {
            plain.extend(["--force", "-f"]);
        }
        if begins(text, "--mirror", 4) {
            plain.push("--mirror");
        }
        if letter('d') || begins(text, "--delete", 4) || text.starts_with(':') && text.len() > 1 {
            plain.extend(["--delete", "-d"]);
        }
        if verb != "push" && matches!(text, "--force" | "-f" | "--mirror") {
            plain.push(text);
        }
    }
    (!plain.is_empty()).then(|| plain_words(name, &plain))
}

fn plain_words(name: &str, options: &[&str]) -> Inner {
    let words = [name, "push"].into_iter().chain(options.iter().copied());
    Inner::Perhaps(words.map(Field::certain).collect())
}

/// The program that a remote names: `ext::sh -c rm% x`.
fn remote_program(word: &Field) -> Option<Inner> {
    let (_, script) = word.text.split_once("ext::")?;
    // A percent sign keeps the blank behind it within a word.
    let script = script.replace("%%", "%").replace("% ", "\\ ").replace("%S", "git-upload-pack");
    Some(Inner::Script(Field { text: script, ..word.clone() }))
}
