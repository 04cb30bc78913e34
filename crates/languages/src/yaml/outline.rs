//! What the outermost mapping of a YAML file has, and where comments are, without a tree.
//!
//! A file whose language is not known yet is read here, so nothing is reported and nothing is refused.

use std::borrow::Cow;

use lockgate_policy::Source;

use super::steps::{StepKind, steps};

/// Visits the outermost mapping of a file for as long as `visit` wants more: each key alone, and again with its value if
/// that is a scalar.
pub(crate) fn walk_outermost(source: &Source, mut visit: impl FnMut(&str, Option<&str>) -> bool) -> WalkEnd {
    let (mut depth, mut is_key, mut key) = (0_usize, true, None::<Cow<'_, str>>);
    let mut is_scalar = false;
    for step in steps(source) {
        let Ok(step) = step else { return WalkEnd::Broken { is_scalar } };
        match step.kind {
            StepKind::Scalar { text, .. } if depth == 1 => {
                let wants_more = match &key {
                    _ if is_key => visit(&text, None),
                    Some(key) => visit(key, Some(&text)),
                    None => true,
                };
                if !wants_more {
                    return WalkEnd::Read;
                }
                key = is_key.then_some(text);
            }
            StepKind::List if depth == 0 => return WalkEnd::Read,
            StepKind::Map | StepKind::List => {
                depth += 1;
                continue;
            }
            StepKind::End => depth = depth.saturating_sub(1),
            StepKind::Scalar { .. } => is_scalar |= depth == 0,
            StepKind::Alias(_) | StepKind::UnknownAlias(_) => {}
            StepKind::Document => continue,
        }
        // A whole node has ended: in the outermost mapping, keys and values take turns.
        if depth == 1 {
            is_key = !is_key;
            if is_key {
                key = None;
            }
        }
    }
    WalkEnd::Read
}

/// How a walk over the outermost mapping ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// All of it was read, or as much as was wanted.
    Read,
    /// The text breaks off. `is_scalar` says whether the file begins with a text instead of a mapping.
    Broken { is_scalar: bool },
}

/// Where comments start, in order. Of a text that breaks off, only those before that place are listed.
pub(crate) fn comment_starts(source: &Source) -> Vec<usize> {
    let scalars = steps(source).map_while(Result::ok).filter_map(|step| match step.kind {
        StepKind::Scalar { .. } => Some(step.span),
        _ => None,
    });
    let text = source.text();
    let mut starts: Vec<usize> = Vec::new();
    // Invariant: nothing but scalars can hold a `#` with white space before it, and they come in file order.
    let mut from = 0;
    for scalar in scalars {
        starts.extend(comments_between(text, from, scalar.start));
        from = from.max(scalar.end);
    }
    starts.extend(comments_between(text, from, text.len()));
    starts
}

/// Where comments start in a part of a file that has no scalars.
fn comments_between(text: &str, from: usize, to: usize) -> impl Iterator<Item = usize> {
    let part = text.get(from..to).unwrap_or_default();
    let mut line_end = 0;
    part.match_indices('#').filter_map(move |(at, _)| {
        let before = text.get(..from + at)?.chars().next_back();
        let is_start = at >= line_end && before.is_none_or(|before| " \t\n\r\u{feff}".contains(before));
        if is_start {
            line_end = part.get(at..)?.find('\n').map_or(part.len(), |length| at + length);
        }
        is_start.then_some(from + at)
    })
}
