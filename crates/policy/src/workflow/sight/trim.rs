//! Scripts without the space around them.

/// A script without the space around it, as a shell sees it: other characters that look like space belong to words, and
/// so does what stands behind a backslash.
pub(super) fn trimmed(script: &str) -> &str {
    const BLANKS: [char; 3] = [' ', '\t', '\n'];
    let script = script.trim_start_matches(BLANKS);
    let end = script.trim_end_matches(BLANKS).len();
    let end = if script.get(..end).is_some_and(|kept| kept.ends_with('\\')) { end + 1 } else { end };
    script.get(..end).unwrap_or(script)
}
