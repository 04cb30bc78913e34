//! Names as they are shown.

/// The longest name that is shown.
const NAME_CHARS_MAX: usize = 60;

/// A name as it is shown: no longer than needed to find it again.
pub(super) fn short(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}
