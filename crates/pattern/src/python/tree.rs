//! What expressions are made of.

/// What Python takes for a letter, digit or underscore, as members of a class.
pub(crate) const WORD: &str = r"\p{L}\p{N}_";
pub(super) const WORD_ASCII: &str = "0-9A-Za-z_";

/// A part of an expression.
#[derive(Clone)]
pub(super) enum Node {
    /// This one character.
    Character(char),
    /// One character of a set.
    One(Set),
    At(Anchor),
    Plain(Box<Node>),
    Capturing(Box<Node>),
    Atomic(Box<Node>),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat {
        of: Box<Node>,
        least: u32,
        most: Option<u32>,
        manner: Manner,
    },
    Look {
        sign: &'static str,
        of: Box<Node>,
    },
    Reference {
        group: usize,
        ignore_case: bool,
    },
    Condition {
        group: usize,
        yes: Box<Node>,
        no: Box<Node>,
    },
}

/// A set of characters.
#[derive(Clone)]
pub(super) struct Set {
    /// As the engines write it.
    pub(super) text: String,
    /// How many states an automaton needs for it at most; none where it is not certain that it has a character.
    pub(super) states_max: Option<usize>,
}

/// A place between characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    TextStart,
    TextEnd,
    /// The end of the text or before its last newline.
    End,
    LineStart,
    LineEnd,
    Edge {
        is_ascii: bool,
    },
    NoEdge {
        is_ascii: bool,
    },
}

/// How much of the text a repetition takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Greedy,
    Lazy,
    Possessive,
}
