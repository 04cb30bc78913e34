//! Python regular expressions in the syntax of the Rust engines.
//!
//! [`Expression`] holds one as a tree and writes it for an engine. Look-around, references and the like need
//! the backtracking one. So does `$` unless nothing comes after it: it also matches before a last newline,
//! which the linear engine can only say by reading that newline. How the tree is read, the parser decides.
//! Missing on purpose: a Python mistake that lets `(?a:\S)` at the very start follow other rules than `(?a)\S`.

mod glance;
mod parser;
mod tree;

pub(crate) use glance::Glance;
pub(crate) use tree::WORD;
use tree::{Anchor, Manner, Node, WORD_ASCII};

use crate::{characters::push_character, error::PatternError};

/// The longest expression of a tool that PolicyShield takes, in characters.
pub const PYTHON_CHARS_MAX: usize = 500;

/// Says so if an expression is longer than [`PYTHON_CHARS_MAX`] characters.
pub fn python_length(text: &str) -> Result<(), PatternError> {
    match text.char_indices().nth(PYTHON_CHARS_MAX) {
        None => Ok(()),
        Some((end, _)) => Err(PatternError {
            message: format!("the expression is longer than {PYTHON_CHARS_MAX} characters: split it in two"),
            at: Some(end..text.len()),
        }),
    }
}

/// What an expression is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any part of the text.
    Part,
    /// All of the text, and `.` is any character.
    Whole,
}

/// An expression as Python reads it.
pub(crate) struct Expression {
    root: Node,
    reach: Reach,
}

impl Expression {
    pub(crate) fn parse(text: &str, reach: Reach) -> Result<Self, PatternError> {
        let root = parser::parse(text, reach == Reach::Whole)?;
        Ok(Self { root, reach })
    }

    /// The expression for a linear engine; none if only a backtracking one can run it.
    pub(crate) fn linear(&self) -> Option<String> {
        let mut out = String::new();
        self.root.write_linear(&mut out, Some(self.reach)).then(|| self.framed(&out))
    }

    pub(crate) fn backtracking(&self) -> String {
        let mut out = String::new();
        self.root.write_backtracking(&mut out);
        self.framed(&out)
    }

    /// Whether it asks for an edge of a word, which Python and a linear engine see at different characters.
    pub(crate) fn has_edges(&self) -> bool {
        self.root.any(&|node| matches!(node, Node::At(Anchor::Edge { .. } | Anchor::NoEdge { .. })))
    }

    fn framed(&self, text: &str) -> String {
        match self.reach {
            Reach::Part => text.into(),
            Reach::Whole => format!(r"\A(?:{text})\z"),
        }
    }
}

impl Node {
    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Character(_) | Self::One(_) | Self::At(_) | Self::Reference { .. } => Vec::new(),
            Self::Plain(of) | Self::Capturing(of) | Self::Atomic(of) => vec![of],
            Self::Repeat { of, .. } | Self::Look { of, .. } => vec![of],
            Self::Sequence(nodes) | Self::Choice(nodes) => nodes.iter().collect(),
            Self::Condition { yes, no, .. } => vec![yes, no],
        }
    }

    fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.children().iter().any(|child| child.any(is))
    }

    /// The least and the most characters it matches; no most if there is none.
    fn width(&self) -> (u64, Option<u64>) {
        let sum = |a: (u64, Option<u64>), b: (u64, Option<u64>)| {
            (a.0.saturating_add(b.0), a.1.zip(b.1).and_then(|(a, b)| a.checked_add(b)))
        };
        let either = |a: (u64, Option<u64>), b: (u64, Option<u64>)| {
            (a.0.min(b.0), a.1.zip(b.1).map(|(a, b)| a.max(b)))
        };
        match self {
            Self::Character(_) | Self::One(_) => (1, Some(1)),
            Self::At(_) | Self::Look { .. } => (0, Some(0)),
            Self::Plain(of) | Self::Capturing(of) | Self::Atomic(of) => of.width(),
            Self::Sequence(nodes) => nodes.iter().map(Self::width).fold((0, Some(0)), sum),
            Self::Choice(nodes) => nodes.iter().map(Self::width).reduce(either).unwrap_or((0, Some(0))),
            Self::Repeat { of, least, most, .. } => {
                let (shortest, longest) = of.width();
                let longest = match (longest, most) {
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    (longest, most) => {
                        longest.zip(*most).and_then(|(longest, most)| longest.checked_mul(u64::from(most)))
                    }
                };
                (shortest.saturating_mul(u64::from(*least)), longest)
            }
            Self::Reference { .. } => (0, None),
            Self::Condition { yes, no, .. } => either(yes.width(), no.width()),
        }
    }

    /// Writes it without captures and says whether it could. `tail` is the expression's reach where nothing can
    /// come after this node, and none elsewhere.
    fn write_linear(&self, out: &mut String, tail: Option<Reach>) -> bool {
        match self {
            Self::Character(character) => push_character(out, *character),
            Self::One(set) => out.push_str(&set.text),
            Self::At(anchor) => out.push_str(match (anchor, tail) {
                (Anchor::TextStart, _) => r"\A",
                (Anchor::TextEnd, _) | (Anchor::End, Some(Reach::Whole)) => r"\z",
                (Anchor::End, Some(Reach::Part)) => r"(?:\n?\z)",
                (Anchor::End, None) => return false,
                (Anchor::LineStart, _) => "(?m:^)",
                (Anchor::LineEnd, _) => "(?m:$)",
                (Anchor::Edge { is_ascii: false }, _) => r"\b",
                (Anchor::Edge { is_ascii: true }, _) => r"(?-u:\b)",
                (Anchor::NoEdge { is_ascii: false }, _) => r"\B",
                (Anchor::NoEdge { is_ascii: true }, _) => r"(?-u:\B)",
            }),
            Self::Plain(of) | Self::Capturing(of) => {
                out.push_str("(?:");
                let could = of.write_linear(out, tail);
                out.push(')');
                return could;
            }
            Self::Sequence(nodes) => {
                let ends =
                    nodes.iter().rev().take_while(|node| matches!(node, Self::At(Anchor::End))).count();
                return nodes.iter().enumerate().all(|(index, node)| {
                    let is_last = index + 1 + ends >= nodes.len();
                    node.write_linear(out, tail.filter(|_| is_last))
                });
            }
            Self::Choice(nodes) => {
                return nodes.iter().enumerate().all(|(index, node)| {
                    if index > 0 {
                        out.push('|');
                    }
                    node.write_linear(out, tail)
                });
            }
            Self::Repeat { manner: Manner::Possessive, .. } => return false,
            Self::Repeat { of, least, most, manner } => {
                if let Some(simpler) = self.without_idle_repetition() {
                    return simpler.write_linear(out, tail);
                }
                let could = of.write_linear(out, tail.filter(|_| *most == Some(1)));
                push_counts(out, *least, *most, *manner == Manner::Lazy);
                return could;
            }
            Self::Atomic(_) | Self::Look { .. } | Self::Reference { .. } | Self::Condition { .. } => {
                return false;
            }
        }
        true
    }

    fn write_backtracking(&self, out: &mut String) {
        match self {
            Self::Character(character) => push_character(out, *character),
            Self::One(set) => out.push_str(&set.text),
            Self::At(anchor) => out.push_str(&match anchor {
                Anchor::TextStart => r"\A".into(),
                Anchor::TextEnd => r"\z".into(),
                Anchor::End => r"(?=\n?\z)".into(),
                Anchor::LineStart => "(?m:^)".into(),
                Anchor::LineEnd => "(?m:$)".into(),
                Anchor::Edge { is_ascii } => {
                    let word = if *is_ascii { WORD_ASCII } else { WORD };
                    format!("(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))")
                }
                // In an empty text there is no edge, and no place that is not an edge either.
                Anchor::NoEdge { is_ascii } => {
                    let word = if *is_ascii { WORD_ASCII } else { WORD };
                    let inside = format!("(?<=[{word}])(?=[{word}])");
                    let outside = format!("(?<=[^{word}])(?![{word}])|(?<![{word}])(?=[^{word}])");
                    format!("(?:{inside}|{outside})")
                }
            }),
            Self::Plain(of) => push_group(out, "(?:", of),
            Self::Capturing(of) => push_group(out, "(", of),
            Self::Atomic(of) => push_group(out, "(?>", of),
            Self::Look { sign, of } => push_group(out, sign, of),
            Self::Sequence(nodes) => nodes.iter().for_each(|node| node.write_backtracking(out)),
            Self::Choice(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    if index > 0 {
                        out.push('|');
                    }
                    node.write_backtracking(out);
                }
            }
            Self::Repeat { of, least, most, manner } => {
                if let Some(simpler) = self.without_idle_repetition() {
                    return simpler.write_backtracking(out);
                }
                if *manner == Manner::Possessive {
                    out.push_str("(?>");
                }
                of.write_backtracking(out);
                push_counts(out, *least, *most, *manner == Manner::Lazy);
                if *manner == Manner::Possessive {
                    out.push(')');
                }
            }
            Self::Reference { group, ignore_case } => {
                let flag = if *ignore_case { "i" } else { "" };
                out.push_str(&format!(r"(?{flag}:\{group})"));
            }
            Self::Condition { group, yes, no } => {
                out.push_str(&format!("(?({group})"));
                push_group(out, "(?:", yes);
                out.push('|');
                push_group(out, "(?:", no);
                out.push(')');
            }
        }
    }

    /// What a repetition comes to when what it repeats is as wide as nothing: engines refuse to repeat that.
    fn without_idle_repetition(&self) -> Option<Self> {
        let Self::Repeat { of, least, manner, .. } = self else { return None };
        if of.width().1 != Some(0) {
            return None;
        }
        let (once, never) = (of.as_ref().clone(), Self::Sequence(Vec::new()));
        Some(match (least, manner) {
            (1.., Manner::Possessive) => Self::Atomic(of.clone()),
            (1.., _) => once,
            (0, _) if !of.any(&|node| matches!(node, Self::Capturing(_))) => never,
            (0, Manner::Greedy) => Self::Plain(Box::new(Self::Choice(vec![once, never]))),
            (0, Manner::Lazy) => Self::Plain(Box::new(Self::Choice(vec![never, once]))),
            (0, Manner::Possessive) => Self::Atomic(Box::new(Self::Choice(vec![once, never]))),
        })
    }
}

fn push_group(out: &mut String, sign: &str, of: &Node) {
    out.push_str(sign);
    of.write_backtracking(out);
    out.push(')');
}

fn push_counts(out: &mut String, least: u32, most: Option<u32>, is_lazy: bool) {
    match (least, most) {
        (0, None) => out.push('*'),
        (1, None) => out.push('+'),
        (0, Some(1)) => out.push('?'),
        (least, most) => {
            let most = most.map(|most| most.to_string()).unwrap_or_default();
            out.push_str(&format!("{{{least},{most}}}"));
        }
    }
    if is_lazy {
        out.push('?');
    }
}

#[cfg(test)]
mod tests;
