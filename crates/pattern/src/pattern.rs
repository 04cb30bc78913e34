//! What a text is compared with: a bare word, a text, a glob, a JavaScript or a Python regular expression.
//!
//! [`Pattern::find`] says where a text matches, as its language would, and never takes long about it: a plain
//! expression runs on a linear engine; look-around, back-references and the like run on a backtracking
//! one that gives up at a bound and answers [`Match::Unsure`]. What JavaScript reads as something its author
//! cannot have meant (`\u{61}` is 61 times `u`) is refused. Missing on purpose: UTF-16 (a character outside
//! the basic plane counts as one here and as two in JavaScript, which shows in `/^.$/` and the like), groups that
//! forget what they held when an outer group repeats, and look-around inside a look-behind.

use std::fmt;

use crate::{
    characters::{all, push_character, set_text},
    error::PatternError,
    found::Match,
    javascript::{Dialect, Flags, translate},
    limits::{
        BACKTRACKING_TEXT_BYTES_MAX, BACKTRACKS_MAX, CHARACTER_STATES_MAX, PROGRAM_BYTES_MAX,
        PYTHON_PROGRAM_BYTES_MAX, RANGE_STATES_MAX, REGEX_BYTES_MAX,
    },
    linear::{Linear, is_small, too_large},
    python::{Expression, Glance, Reach},
    sample::{accepts_nothing, only_first, variants, write_sample},
    word_edges::{self, Edges},
};

/// A bare word, a text, a glob, or a regular expression of JavaScript or Python.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    language: Language,
    engine: Engine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Language {
    Word,
    Literal,
    Glob,
    /// With its flags.
    JavaScript(String),
    Python(Reach),
}

#[derive(Clone, Debug)]
enum Engine {
    Word,
    /// With the text as the linear engine writes it.
    Literal(String),
    Linear(Linear),
    /// A linear engine, and another for the texts in which it sees other word edges than Python.
    Edges(Linear, Edges),
    Backtracking(fancy_regex::Regex),
}

impl Pattern {
    /// A bare word: it matches where the text has it whole. A side of the word that ends in a letter, digit or
    /// underscore (ASCII) must not have another one beside it; a side that does not, such as the left one of
    /// `--force` and `.env`, may have anything beside it.
    pub fn word(text: &str) -> Self {
        Self { text: text.into(), language: Language::Word, engine: Engine::Word }
    }

    /// A JavaScript regular expression with any of the flags `i`, `m` and `s`.
    pub fn regex(body: &str, flags: &str) -> Result<Self, PatternError> {
        check_length(body)?;
        let engine = compile(body, Flags::parse(flags)?)?;
        Ok(Self { text: body.into(), language: Language::JavaScript(flags.into()), engine })
    }

    /// A Python regular expression that may match any part of a text, as `re.search` has it.
    pub fn python(text: &str) -> Result<Self, PatternError> {
        Self::python_reaching(text, Reach::Part)
    }

    /// A Python regular expression that must match all of a text, each of its alternatives too, as
    /// `re.fullmatch` has it with `re.DOTALL`: a newline at the end is not forgiven, and `.*` is any text.
    pub fn python_full(text: &str) -> Result<Self, PatternError> {
        Self::python_reaching(text, Reach::Whole)
    }

    fn python_reaching(text: &str, reach: Reach) -> Result<Self, PatternError> {
        check_length(text)?;
        let expression = Expression::parse(text, reach)?;
        let Some(source) = expression.linear() else {
            let engine = build_backtracking(&expression.backtracking(), PYTHON_PROGRAM_BYTES_MAX)?;
            return Ok(Self {
                text: text.into(),
                language: Language::Python(reach),
                engine: Engine::Backtracking(engine),
            });
        };
        let small = expression.glance().filter(|glance| is_small(glance, PYTHON_PROGRAM_BYTES_MAX));
        let linear = match small {
            Some(small) => Linear::small(&source, PYTHON_PROGRAM_BYTES_MAX, small.is_surely_possible),
            None => Linear::new(&source, PYTHON_PROGRAM_BYTES_MAX)?,
        };
        let engine = if expression.has_edges() {
            let edges = Edges::new(linear.source.clone(), PYTHON_PROGRAM_BYTES_MAX);
            if small.is_none() && !edges.can_be_built() {
                return Err(too_large(PYTHON_PROGRAM_BYTES_MAX));
            }
            Engine::Edges(linear, edges)
        } else {
            Engine::Linear(linear)
        };
        Ok(Self { text: text.into(), language: Language::Python(reach), engine })
    }

    /// A glob that must match all of a text: `*` is any run of characters, `?` any one, newlines included, and
    /// everything else is itself.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        check_length(text)?;
        let any = set_text(&all());
        let mut expression = String::from(r"\A");
        let mut glance = Glance { states_max: CHARACTER_STATES_MAX, is_surely_possible: true };
        let mut last = None;
        for character in text.chars() {
            glance.states_max += RANGE_STATES_MAX;
            match character {
                '*' if last == Some('*') => {}
                '*' => expression.extend([&any, "*"]),
                '?' => expression.push_str(&any),
                other => push_character(&mut expression, other),
            }
            last = Some(character);
        }
        expression.push_str(r"\z");
        let linear = match is_small(&glance, PROGRAM_BYTES_MAX) {
            true => Linear::small(&expression, PROGRAM_BYTES_MAX, glance.is_surely_possible),
            false => Linear::new(&expression, PROGRAM_BYTES_MAX)?,
        };
        Ok(Self { text: text.into(), language: Language::Glob, engine: Engine::Linear(linear) })
    }

    /// A text: it matches wherever a text has it, whole word or not.
    pub fn literal(text: &str) -> Self {
        let engine = Engine::Literal(regex::escape(text));
        Self { text: text.into(), language: Language::Literal, engine }
    }

    /// A text that matches from its start, as short as is easily found; none where that takes more than a look.
    pub fn sample(&self) -> Option<String> {
        let text = match self.language {
            Language::Word | Language::Literal => self.text.clone(),
            Language::Glob | Language::JavaScript(_) | Language::Python(_) => {
                let mut text = String::new();
                write_sample(&regex_syntax::parse(self.linear_source()?).ok()?, &mut text)?;
                text
            }
        };
        (self.find(&text) == Match::At(0)).then_some(text)
    }

    /// Texts that it matches, each in another of the ways it has, the plainest first; fewer than there are, and none
    /// where that takes more than a look. What may stand around a match stands around some of them.
    pub fn samples(&self) -> Vec<String> {
        let texts = match self.language {
            Language::Word | Language::Literal => vec![self.text.clone()],
            Language::Glob | Language::JavaScript(_) | Language::Python(_) => {
                let parsed = self.linear_source().and_then(|source| regex_syntax::parse(source).ok());
                parsed.and_then(|hir| variants(&hir)).unwrap_or_default()
            }
        };
        let around = texts.first().into_iter().flat_map(|text| {
            [
                format!("{text}x"),
                format!("x{text}"),
                format!("x {text} x"),
                text.to_uppercase(),
                format!("x\n{text}"),
            ]
        });
        let mut found: Vec<String> = Vec::new();
        for text in texts.iter().cloned().chain(around) {
            if matches!(self.find(&text), Match::At(_)) && !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }

    /// A short text that this one matches and the other one does not, where both are of the linear kind and small.
    pub fn sample_without(&self, other: &Self) -> Option<String> {
        let text = only_first(self.linear_source()?, other.linear_source()?)?;
        (self.find(&text) != Match::No && other.find(&text) == Match::No).then_some(text)
    }

    /// What distinguishes it: the same text means one thing as a glob and another as an expression.
    pub fn key(&self) -> String {
        format!("{:?} {}", self.language, self.text)
    }

    /// Where the leftmost match begins.
    pub fn find(&self, text: &str) -> Match {
        let found = match &self.engine {
            Engine::Word => find_word(&self.text, text),
            Engine::Literal(_) => text.find(&self.text),
            Engine::Edges(_, edges) if !word_edges::agree(text) => return edges.find(text),
            Engine::Linear(linear) | Engine::Edges(linear, _) => return linear.find(text),
            Engine::Backtracking(_) if text.len() > BACKTRACKING_TEXT_BYTES_MAX => return Match::Unsure,
            Engine::Backtracking(regex) => match regex.find(text) {
                Ok(found) => found.map(|found| found.start()),
                Err(_) => return Match::Unsure,
            },
        };
        found.map_or(Match::No, Match::At)
    }

    /// Whether a match certainly begins with the first character of the text.
    pub fn matches_at_start(&self, text: &str) -> bool {
        self.find(text) == Match::At(0)
    }

    /// Whether certainly no text at all can match. Patterns that would take long to decide count as possible.
    pub fn is_impossible(&self) -> bool {
        match &self.engine {
            Engine::Linear(linear) => !linear.is_surely_possible && accepts_nothing(&linear.source),
            Engine::Word | Engine::Literal(_) | Engine::Edges(..) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether the time it takes grows only with the length of the text.
    pub fn is_linear(&self) -> bool {
        !matches!(self.engine, Engine::Backtracking(_))
    }

    /// The pattern as the crate `regex` writes it, so that many can be asked at once in a set; none if that
    /// engine cannot run it. A set gives the right answer for the texts that [`Pattern::suits_set`].
    pub fn linear_source(&self) -> Option<&str> {
        match &self.engine {
            Engine::Literal(source) => Some(source),
            Engine::Linear(linear) | Engine::Edges(linear, _) => Some(&linear.source),
            Engine::Word | Engine::Backtracking(_) => None,
        }
    }

    /// Whether a set made of [`Pattern::linear_source`] answers for this text as [`Pattern::find`] does. It does
    /// not for an empty text, nor for one with a character that the engine takes for part of a word and Python
    /// does not, or the other way round: ask each pattern alone then.
    pub fn suits_set(text: &str) -> bool {
        word_edges::agree(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.language == other.language
    }
}

impl Eq for Pattern {}

/// What it says; that some engine was built meanwhile makes no other pattern of it.
impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pattern({})", self.key())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.language {
            Language::JavaScript(flags) => write!(out, "/{}/{flags}", self.text),
            _ => out.write_str(&self.text),
        }
    }
}

fn find_word(word: &str, text: &str) -> Option<usize> {
    let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let before = |end: usize| text.get(..end).and_then(|text| text.bytes().next_back());
    let after = |start: usize| text.get(start..).and_then(|text| text.bytes().next());
    let (first, last) = (is_word(word.bytes().next()), is_word(word.bytes().next_back()));

    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find(word)?;
        let continues = first && is_word(before(start)) || last && is_word(after(start + word.len()));
        if !continues {
            return Some(start);
        }
        from = text.ceil_char_boundary(start + 1);
    }
}

fn check_length(expression: &str) -> Result<(), PatternError> {
    if expression.len() <= REGEX_BYTES_MAX {
        return Ok(());
    }
    Err(PatternError::whole(format!(
        "the expression is longer than {REGEX_BYTES_MAX} bytes: split it in two"
    )))
}

fn compile(body: &str, flags: Flags) -> Result<Engine, PatternError> {
    let linear = translate(body, flags, Dialect::Linear)?;
    if !linear.needs_backtracking {
        return Linear::new(&linear.text, PROGRAM_BYTES_MAX).map(Engine::Linear);
    }
    let backtracking = translate(body, flags, Dialect::Backtracking)?;
    build_backtracking(&backtracking.text, PROGRAM_BYTES_MAX).map(Engine::Backtracking)
}

fn build_backtracking(expression: &str, bytes_max: usize) -> Result<fancy_regex::Regex, PatternError> {
    fancy_regex::RegexBuilder::new(expression)
        .backtrack_limit(BACKTRACKS_MAX)
        .delegate_size_limit(bytes_max)
        .delegate_dfa_size_limit(bytes_max)
        .delegate_dfa_skip_cache_capacity_check(false)
        .max_prog_size(bytes_max / size_of::<usize>())
        .build()
        .map_err(|_| {
            let remedy = "use smaller repetitions, and do not repeat look-around";
            PatternError::whole(format!("the expression is too large or too entangled to be run: {remedy}"))
        })
}

#[cfg(test)]
mod tests;
