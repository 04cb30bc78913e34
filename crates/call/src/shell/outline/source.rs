//! The outline of a script by our own scanner, straight from its text.
//!
//! [`script`] follows bash's grammar from the first byte to the last. Wherever a shell might read the text in another
//! way (quotes in odd places, broken operators, metacharacters in arrays and sums, a heredoc without an end) it gives
//! up, which makes the script unreadable: it never guesses. Substitutions are read in place and get outlines of their
//! own. It knows nothing of what words mean.

use super::form::Reading;
use super::scanner::Scanner;

/// Reads a script; none where it cannot be told how a shell reads it.
pub(super) fn script(text: &str) -> Option<Reading> {
    let mut scanner = Scanner::new(text, 0, 0);
    scanner.script()?;
    Some(Reading { outlines: scanner.found, levels: scanner.deepest })
}

/// Reads a text that is expanded, but in which quotes mean nothing.
pub(super) fn quoted(text: &str) -> Option<Reading> {
    let mut scanner = Scanner::new(text, 0, 0);
    scanner.body()?;
    Some(Reading { outlines: scanner.found, levels: scanner.deepest })
}
