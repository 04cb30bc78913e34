//! Phrases in one-line rules: `any EFFECT [inside|outside PLACES] [[except] to HOSTS]` and `TOOL running PROGRAM [ARG…]`
//! where a tool may stand, and `TOOL is an EFFECT, EFFECT`.
//!
//! [`joined`] makes one word of each such phrase before a sentence is read, so that every statement, claim and example
//! takes it for a name. What it means is `policy`'s.

use lockgate_call::{EffectKind, EffectPattern};
use lockgate_policy::{Declared, RunningPhrase, closest, is_phrase};

use super::{
    calls::AFTER_CALLS,
    lead::Mistake,
    parser::{Line, Parser},
    tokens::{Token, TokenKind},
    words::{Word, Words},
};

/// The words of a line with each phrase as one of them.
pub(super) fn joined<'t>(text: &'t str, words: Words<'t>) -> Words<'t> {
    let is_lead = |word: &Word<'t>| matches!(word.text, EffectPattern::START | RunningPhrase::WORD);
    // A map has `running` for itself.
    if words.first().is_some_and(|first| first.text == "map") || !words.iter().any(is_lead) {
        return words;
    }
    let mut rest: &[Word<'t>] = &words;
    let mut joined = Words::new();
    while let Some((first, after)) = rest.split_first() {
        // `ask about any unreadable script` is a sentence of its own.
        let is_verdict = joined.last().is_some_and(|word| matches!(word.text, "about" | "block" | "allow"));
        let length = match running_length(after).filter(|_| !joined.is_empty()) {
            Some(length) => length,
            None if first.text == EffectPattern::START => length(after, is_verdict),
            None => 0,
        };
        let last = length.checked_sub(1).and_then(|last| after.get(last));
        match last.and_then(|last| text.get(first.start..last.span().end)) {
            Some(phrase) => {
                joined.push(Word { text: phrase.trim_end_matches(','), start: first.start });
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                joined.push(*first);
                rest = after;
            }
        }
    }
    joined
}

/// The tokens of a line with each such phrase as one of them.
pub(super) fn joined_tokens(words: &[Word<'_>], tokens: Vec<Token>) -> Vec<Token> {
    let is_phrase = |word: &&Word<'_>| is_phrase(word.text);
    let phrases: Vec<&Word<'_>> = words.iter().filter(is_phrase).collect();
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let within = phrases.iter().find(|phrase| {
            let span = phrase.span();
            span.start <= token.span.start && token.span.end <= span.end
        });
        match within {
            Some(phrase) if token.span.start == phrase.start => {
                let (text, span) = (phrase.text.to_owned(), phrase.span());
                joined.push(Token { text, kind: TokenKind::Word, span });
            }
            Some(_) => {}
            None => joined.push(token),
        }
    }
    joined
}

/// How many words behind a tool belong to `TOOL running PROGRAM [ARG…]`; none where that does not stand there.
fn running_length(words: &[Word<'_>]) -> Option<usize> {
    let is_shell = words.first().is_some_and(|word| word.text == "shell");
    let before = if is_shell { 2 } else { 1 };
    let has_program = |at: usize| words.get(at).is_some_and(|it| it.text != "," && !ends_phrase(it.text));
    if words.get(before - 1).is_none_or(|word| word.text != RunningPhrase::WORD) || !has_program(before) {
        return None;
    }
    let mut length = before;
    while has_program(length) {
        length += 1;
        // A comma ends the phrase and goes on with the list.
        if words.get(length - 1).is_some_and(|word| word.text.ends_with(',')) {
            break;
        }
    }
    Some(length)
}

/// Whether a word goes on with the sentence behind a command; as an argument it stands in quotes.
pub(crate) fn ends_phrase(word: &str) -> bool {
    AFTER_CALLS.contains(&word)
        || matches!(
            word,
            "or" | "and"
                | "possible"
                | "impossible"
                | "stays"
                | "without"
                | "->"
                | "granted"
                | "refused"
                | "returns"
        )
}

/// How many words behind `any` belong to the phrase; none where it is not a phrase.
fn length(words: &[Word<'_>], is_verdict: bool) -> usize {
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    let kind = match texts.as_slice() {
        ["unreadable", "script" | "scripts", ..] if !is_verdict => 2,
        [word, ..] if EffectKind::of_word(word.trim_end_matches(',')).is_some() => 1,
        _ => return 0,
    };
    if texts.get(kind - 1).is_some_and(|word| word.ends_with(',')) {
        return kind;
    }
    let rest = texts.get(kind..).unwrap_or_default();
    let before_list = match rest {
        ["inside" | "outside", _, ..] => 1,
        ["except", "to", _, ..] => 2,
        // `limit any upload to 3 per session`
        ["to", host, ..] if host.parse::<u64>().is_err() => 1,
        _ => return kind,
    };
    let mut end = kind + before_list;
    loop {
        // One name, and then whatever joins the next to it.
        end += 1;
        let ends_with_comma = texts.get(end - 1).is_some_and(|word| word.ends_with(','));
        match texts.get(end).copied() {
            Some("or" | "and") if texts.get(end + 1).is_some_and(|next| is_place(next)) => end += 1,
            Some(next) if ends_with_comma && is_place(next) => {}
            _ => return end,
        }
    }
}

/// Whether a word may be a place or a host: `or any upload` begins another phrase.
fn is_place(word: &str) -> bool {
    !matches!(word, "any" | "else" | "because" | "when" | "unless" | "per" | "to" | "before" | "after")
}

/// `any upload to https://a.example/x`: a place on a host is not a host.
pub(super) fn wrong_host(word: &Word<'_>) -> Option<Mistake> {
    let pattern = EffectPattern::parse(word.text)?;
    let host = pattern.wrong_host()?;
    let bare = host.rsplit("://").next().unwrap_or(host).split(['/', '?', '#']).next().unwrap_or(host);
    Some(Mistake {
        code: "bad-boundary",
        span: word.span(),
        message: format!("`{host}` is not a host"),
        label: "to which host?".to_owned(),
        remedy: match bare.is_empty() || bare == host {
            true => "write a host, as in `api.example.com` or `*.example.com`".to_owned(),
            false => format!("write `{bare}`"),
        },
    })
}

/// `TOOL is a|an EFFECT, EFFECT`. Says whether the line is one.
pub(super) fn declaration<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) -> bool {
    let [tool, is, article, effects @ ..] = line.words else { return false };
    if is.text != "is" || !matches!(article.text, "a" | "an") || effects.is_empty() {
        return false;
    }
    let mut known = Vec::new();
    for word in effects.iter().filter(|word| !matches!(word.text, "and" | "or" | "a" | "an")) {
        let text = word.text.trim_end_matches(',');
        match EffectKind::of_word(text) {
            Some(kind) => known.push(kind),
            None => {
                let words = EffectKind::ALL.map(EffectKind::word);
                let remedy = match closest(text, words) {
                    Some(meant) => format!("write `{meant}`"),
                    None => format!("write one of {}", words.map(|word| format!("`{word}`")).join(", ")),
                };
                let message = format!("`{text}` is not an effect");
                parser.mistake(
                    "unknown-effect",
                    word.span(),
                    message,
                    "not a word for what a tool does",
                    remedy,
                );
            }
        }
    }
    let declared =
        parser.one_or_group(tool.text).into_iter().map(|tool| Declared { tool, effects: known.clone() });
    parser.draft.declared.extend(declared);
    true
}

#[cfg(test)]
mod tests {
    use super::super::words::words_of;
    use super::*;

    #[test]
    fn a_phrase_is_one_word() {
        let rows = [
            ("block any deletion", vec!["block", "any deletion"]),
            (
                "block any upload except to api.example.com",
                vec!["block", "any upload except to api.example.com"],
            ),
            (
                "require human-approval before any deletion outside ./build, temp or **/dist",
                vec!["require", "human-approval", "before", "any deletion outside ./build, temp or **/dist"],
            ),
            ("limit any upload to 3 per session", vec!["limit", "any upload", "to", "3", "per", "session"]),
            ("ask about any unreadable script", vec!["ask", "about", "any", "unreadable", "script"]),
            ("map any shell running rm as x", vec!["map", "any", "shell", "running", "rm", "as", "x"]),
        ];
        for (text, expected) in rows {
            let words = joined(text, words_of(text, 0));
            assert_eq!(words.iter().map(|word| word.text).collect::<Vec<_>>(), expected);
        }
    }
}
