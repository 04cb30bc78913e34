//! How large expressions and texts may be.

/// The deepest nesting of groups in an expression.
pub(crate) const GROUPS_DEPTH_MAX: usize = 64;

/// The longest regular expression, in bytes.
pub(crate) const REGEX_BYTES_MAX: usize = 4 * 1024;
/// The most memory a compiled regular expression may take, in bytes.
pub(crate) const PROGRAM_BYTES_MAX: usize = 1 << 20;
/// The most for an expression of Python, whose `\w` alone takes 48 KB: it knows the letters of every script.
pub(crate) const PYTHON_PROGRAM_BYTES_MAX: usize = 8 << 20;
/// How often the backtracking engine may turn back before it gives up on a text.
pub(crate) const BACKTRACKS_MAX: usize = 100_000;
/// The longest text the backtracking engine looks at, in bytes: between two steps back it may read all of it,
/// so the time grows with the square of this, to a third of a second for the slowest expression tried.
pub(crate) const BACKTRACKING_TEXT_BYTES_MAX: usize = 8 * 1024;
/// More than a state of the engine's automaton takes, in bytes, with what belongs to it.
pub(crate) const STATE_BYTES_MAX: usize = 256;
/// More states than one range of characters needs.
pub(crate) const RANGE_STATES_MAX: usize = 64;
/// More states than one character needs, by itself or in a set.
pub(crate) const CHARACTER_STATES_MAX: usize = 8;
/// The most memory spent on finding out that a pattern can never match, in bytes.
pub(crate) const IMPOSSIBLE_BYTES_MAX: usize = 1 << 18;
