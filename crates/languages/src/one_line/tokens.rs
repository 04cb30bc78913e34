//! The words of a sentence with a tail: names, texts in quotes, regular expressions and commas.
//!
//! [`Reader`] walks over them and says what it expected where something else stands.

use lockgate_policy::{Span, closest};

use super::{lead::Mistake, words::FLAGS};

/// Words behind which a text in quotes or a regular expression may stand.
const TEXT_LEADS: [&str; 14] = [
    "because", "is", "not", "be", "with", "contain", "contains", "match", "matches", "or", "and", "says",
    "include", ",",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Without its quotes.
    pub(super) text: String,
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Quoted,
    Comma,
    Regex,
}

/// The tokens of a line, and where it ends before its comment.
pub(super) fn tokens(line: &str, start: usize) -> Result<Vec<Token>, Mistake> {
    let mut found: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() || first == '\u{feff}' {
            at += first.len_utf8();
            continue;
        }
        let lead = found.last().map_or("", |token| token.text.as_str());
        let takes_text =
            TEXT_LEADS.contains(&lead) || found.last().is_some_and(|it| it.kind == TokenKind::Comma);
        if first == '#' {
            break;
        }
        let (length, token) = if first == ',' {
            (1, (",".to_owned(), TokenKind::Comma))
        } else if first == '"' {
            let Some((length, text)) = quoted(rest) else {
                return Err(Mistake {
                    code: "open-quote",
                    span: Span::new(start + at, start + line.len()),
                    message: "this text has no closing quote".into(),
                    label: "starts here".into(),
                    remedy: "end the text with `\"`, and write `\\\"` for a quote within it".into(),
                });
            };
            (length, (text, TokenKind::Quoted))
        } else if let (true, '/', Some(length)) = (takes_text, first, regex_end(rest)) {
            (length, (rest.get(..length).unwrap_or_default().to_owned(), TokenKind::Regex))
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            // A comma within a word belongs to it: `1,200`.
            let length = if word.len() > 1 { word.trim_end_matches(',').len().max(1) } else { word.len() };
            (length, (word.get(..length).unwrap_or_default().to_owned(), TokenKind::Word))
        };
        let span = Span::new(start + at, start + at + length);
        let (text, kind) = token;
        found.push(Token { text, kind, span });
        at += length;
    }
    Ok(found)
}

/// The length of a text with its quotes, and what it says.
fn quoted(rest: &str) -> Option<(usize, String)> {
    let mut text = String::new();
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            c if is_escaped => {
                is_escaped = false;
                text.push(c);
            }
            '\\' => is_escaped = true,
            '"' => return Some((at + 1, text)),
            c => text.push(c),
        }
    }
    None
}

/// The length of a regular expression with its flags.
fn regex_end(rest: &str) -> Option<usize> {
    let (mut is_escaped, mut is_in_class) = (false, false);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '/' if !is_in_class => {
                let flags = rest.get(at + 1..)?;
                let length = flags.find(|c: char| !FLAGS.contains(c)).unwrap_or(flags.len());
                let after = flags.get(length..)?.chars().next();
                return after
                    .is_none_or(|c| c.is_whitespace() || ",#".contains(c))
                    .then_some(at + 1 + length);
            }
            _ => {}
        }
    }
    None
}

/// Walks over the tokens of a line.
pub(super) struct Reader {
    tokens: Vec<Token>,
    at: usize,
    /// The whole line, for what is missing at its end.
    pub(super) span: Span,
}

impl Reader {
    pub(super) fn new(tokens: Vec<Token>, span: Span) -> Self {
        Self { tokens, at: 0, span }
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn ahead(&self, by: usize) -> &str {
        self.tokens
            .get(self.at + by)
            .filter(|it| it.kind == TokenKind::Word)
            .map_or("", |it| it.text.as_str())
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.ahead(0) == word
    }

    pub(super) fn is_comma(&self) -> bool {
        self.peek().is_some_and(|it| it.kind == TokenKind::Comma)
    }

    /// Takes these words if they all stand here.
    pub(super) fn take(&mut self, words: &[&str]) -> bool {
        let is_there = words.iter().enumerate().all(|(by, word)| self.ahead(by) == *word);
        if is_there {
            self.at += words.len();
        }
        is_there
    }

    pub(super) fn take_comma(&mut self) -> bool {
        let is_comma = self.is_comma();
        self.at += usize::from(is_comma);
        is_comma
    }

    pub(super) fn expect(&mut self, word: &str, remedy: &str) -> Result<(), Mistake> {
        if self.take(&[word]) {
            return Ok(());
        }
        Err(self.mistake(&[word], remedy))
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn here(&self) -> Span {
        self.peek().map_or(Span::new(self.span.end, self.span.end), |token| token.span)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// What stands here is none of these words.
    pub(super) fn mistake(&self, expected: &[&str], remedy: &str) -> Mistake {
        let listed: Vec<String> = expected.iter().map(|word| format!("'{word}'")).collect();
        let listed = listed.join(" or ");
        match self.peek() {
            Some(token) => Mistake {
                code: "expected-word",
                span: token.span,
                message: format!("expected {listed}, got '{}'", token.text),
                label: closest(&token.text, expected.iter().copied())
                    .map_or_else(|| format!("expected {listed}"), |meant| format!("did you mean `{meant}`?")),
                remedy: remedy.to_owned(),
            },
            None => Mistake {
                code: "expected-word",
                span: self.span,
                message: format!("expected {listed} at the end of the line"),
                label: "something is missing here".into(),
                remedy: remedy.to_owned(),
            },
        }
    }

    /// The rest of the line is not part of the sentence.
    pub(super) fn end(&self, allowed: &[&str], remedy: &str) -> Result<(), Mistake> {
        if self.is_done() { Ok(()) } else { Err(self.mistake(allowed, remedy)) }
    }
}
