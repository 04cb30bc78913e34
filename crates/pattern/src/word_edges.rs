//! Word edges where Python sees them, in linear time.
//!
//! The linear engine takes combining marks for parts of words and `²` for none, Python the other way round,
//! and no setting changes that. On texts without such characters the two agree ([`agree`]), so the fast
//! engine serves; for the others [`Edges`] walks the engine's automaton itself and asks its own question at
//! every edge. Missing on purpose: everything but where the leftmost match begins.

use std::sync::{Arc, LazyLock, OnceLock};

use regex_automata::{
    nfa::thompson::{self, NFA, State},
    util::{look::Look, primitives::StateID},
};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use crate::{characters::has, found::Match, python::WORD};

/// How many steps are taken for one text before giving up on it: about a fifth of a second.
const STEPS_MAX: usize = 20_000_000;

/// Whether Python and the linear engine see the same word edges in a text.
///
/// In an empty text Python sees no place that is not an edge.
pub(crate) fn agree(text: &str) -> bool {
    let disputed = |character: char| !character.is_ascii() && has(&DISPUTED, character);
    !text.is_empty() && (text.is_ascii() || !text.chars().any(disputed))
}

/// An expression of the linear engine whose word edges are Python's. Its automaton is built when it is first asked.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    source: Arc<str>,
    bytes_max: usize,
    built: Arc<OnceLock<Option<NFA>>>,
}

impl Edges {
    pub(crate) fn new(source: Arc<str>, bytes_max: usize) -> Self {
        Self { source, bytes_max, built: Arc::default() }
    }

    /// Not if the expression is broken or takes too much memory: then every text is a doubt.
    pub(crate) fn can_be_built(&self) -> bool {
        self.automaton().is_some()
    }

    /// Where the leftmost match begins.
    pub(crate) fn find(&self, text: &str) -> Match {
        self.find_within(STEPS_MAX, text)
    }

    fn automaton(&self) -> Option<&NFA> {
        let config = thompson::Config::new().nfa_size_limit(Some(self.bytes_max));
        let build = || NFA::compiler().configure(config).build(&self.source).ok();
        self.built.get_or_init(build).as_ref()
    }

    fn find_within(&self, steps_max: usize, text: &str) -> Match {
        let Some(automaton) = self.automaton() else { return Match::Unsure };
        let accepts = |thread: &Thread| matches!(automaton.state(thread.state), State::Match { .. });
        let mut walk = Walk::new(automaton, text);
        let mut found = None;
        for at in 0..=text.len() {
            if walk.steps > steps_max {
                return Match::Unsure;
            }
            if found.is_none() && text.is_char_boundary(at) {
                walk.open.push(automaton.start_anchored());
                walk.follow(at, at);
            }
            // Invariant: threads stand in the order of where they began, so a match beats all after it.
            if let Some(position) = walk.threads.iter().position(accepts) {
                found = walk.threads.get(position).map(|thread| thread.began);
                walk.threads.truncate(position);
            }
            if found.is_some() && walk.threads.is_empty() {
                break;
            }
            walk.read(at);
        }
        found.map_or(Match::No, Match::At)
    }
}

/// Every way through the automaton that is still open at one place of a text.
struct Walk<'a> {
    automaton: &'a NFA,
    text: &'a str,
    threads: Vec<Thread>,
    /// For each state, the place after which it was last entered.
    entered: Vec<Option<usize>>,
    open: Vec<StateID>,
    steps: usize,
}

#[derive(Clone, Copy)]
struct Thread {
    state: StateID,
    began: usize,
}

impl<'a> Walk<'a> {
    fn new(automaton: &'a NFA, text: &'a str) -> Self {
        let entered = vec![None; automaton.states().len()];
        Self { automaton, text, threads: Vec::new(), entered, open: Vec::new(), steps: 0 }
    }

    /// Moves every thread over the byte at this place.
    fn read(&mut self, at: usize) {
        let Some(byte) = self.text.as_bytes().get(at).copied() else { return };
        for thread in std::mem::take(&mut self.threads) {
            self.steps += 1;
            let next = match self.automaton.state(thread.state) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(transitions) => transitions.matches_byte(byte),
                State::Dense(transitions) => transitions.matches_byte(byte),
                _ => None,
            };
            self.open.extend(next);
            self.follow(at + 1, thread.began);
        }
    }

    /// Enters the open states and those that can be reached from them without reading.
    fn follow(&mut self, at: usize, began: usize) {
        while let Some(state) = self.open.pop() {
            self.steps += 1;
            let Some(entered) = self.entered.get_mut(state.as_usize()) else { continue };
            if entered.replace(at) == Some(at) {
                continue;
            }
            match self.automaton.state(state) {
                State::Look { look, next } if self.holds(*look, at) => self.open.push(*next),
                State::Union { alternates } => self.open.extend(alternates.iter().copied()),
                State::BinaryUnion { alt1, alt2 } => self.open.extend([*alt1, *alt2]),
                State::Capture { next, .. } => self.open.push(*next),
                State::Look { .. } | State::Fail => {}
                _ => self.threads.push(Thread { state, began }),
            }
        }
    }

    fn holds(&self, look: Look, at: usize) -> bool {
        match look {
            Look::WordUnicode => self.is_word_before(at) != self.is_word_after(at),
            Look::WordUnicodeNegate => {
                !self.text.is_empty()
                    && self.text.is_char_boundary(at)
                    && self.is_word_before(at) == self.is_word_after(at)
            }
            Look::WordAsciiNegate if self.text.is_empty() => false,
            look => self.automaton.look_matcher().matches(look, self.text.as_bytes(), at),
        }
    }

    fn is_word_before(&self, at: usize) -> bool {
        self.text.get(..at).and_then(|text| text.chars().next_back()).is_some_and(|last| has(&WORDS, last))
    }

    fn is_word_after(&self, at: usize) -> bool {
        self.text.get(at..).and_then(|text| text.chars().next()).is_some_and(|first| has(&WORDS, first))
    }
}

static WORDS: LazyLock<ClassUnicode> = LazyLock::new(|| class(&format!("[{WORD}]")));

/// The characters that only one of the two takes for parts of words.
static DISPUTED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let mut disputed = class(r"\w");
    disputed.symmetric_difference(&WORDS);
    disputed
});

/// The characters a class of the linear engine has.
pub(crate) fn class(expression: &str) -> ClassUnicode {
    match regex_syntax::parse(expression).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(set))) => set,
        _ => ClassUnicode::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_gives_up_one_past_its_bound() {
        let edges = Edges::new(r"\b(?:a?b?){9}c".into(), 1 << 20);
        let text = format!("\u{301}{}", "ab".repeat(99));
        let enough = (0..).find(|steps_max| edges.find_within(*steps_max, &text) != Match::Unsure).unwrap();
        assert!(enough > 0);
        assert_eq!(edges.find_within(enough, &text), Match::No);
        assert_eq!(edges.find_within(enough - 1, &text), Match::Unsure);
        assert_eq!(edges.find(&text), Match::No);
    }

    #[test]
    fn the_engines_disagree_about_few_characters() {
        for (text, expected) in [
            ("plain é 日本 ١", true),
            ("", false),
            ("a\u{301}", false),
            ("x²", false),
            ("zero\u{200d}width", false),
            ("a\u{203f}b", false),
        ] {
            assert_eq!(agree(text), expected, "{text:?}");
        }
    }
}
