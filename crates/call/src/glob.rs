//! Whether a name fits a glob.
//!
//! [`fits`] errs towards yes: letters fit in either case, and a set with a range, a class or a negation fits every
//! character, because locales and shell options change what those mean. Extended globs are not understood, on
//! purpose: words that hold one are unknown.

/// Whether the shell could take the name for a match of the glob.
#[must_use]
pub fn fits(glob: &str, name: &str) -> bool {
    let pieces = pieces(glob);
    let name: Vec<char> = name.chars().collect();
    // Which beginnings of the name the pieces so far can stand for; a walk without a way back.
    let mut reached = vec![false; name.len().saturating_add(1)];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for piece in pieces {
        let mut next = vec![false; reached.len()];
        let mut open = false;
        for (at, was) in reached.iter().enumerate() {
            match &piece {
                Piece::Any => {
                    open |= *was;
                    if let Some(next) = next.get_mut(at) {
                        *next = open;
                    }
                }
                Piece::One(set) if *was => {
                    let fits = name.get(at).is_some_and(|c| set.is_none_or(|set| has_letter(set, *c)));
                    if let Some(next) = next.get_mut(at.saturating_add(1)).filter(|_| fits) {
                        *next = true;
                    }
                }
                Piece::One(_) => {}
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

enum Piece<'g> {
    /// `*`
    Any,
    /// One of these characters, or any.
    One(Option<&'g str>),
}

fn pieces(glob: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        pieces.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One(None),
            '[' => match set(rest) {
                // Where a class ends is hard to tell; from here on everything fits.
                Some(set) if set.contains('[') => {
                    length = rest.len();
                    Piece::Any
                }
                Some(set) => {
                    length = set.len().saturating_add("[]".len());
                    let is_plain = !set.starts_with(['!', '^']) && !set.contains(['-', '\\']);
                    Piece::One(is_plain.then_some(set))
                }
                None => Piece::One(rest.get(..length)),
            },
            _ => Piece::One(rest.get(..length)),
        });
        rest = rest.get(length..).unwrap_or_default();
    }
    pieces
}

/// What stands between the brackets at the start of the text; a `]` at once is one of the characters.
fn set(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let skip = inner.chars().take_while(|c| matches!(c, '!' | '^')).count();
    let first_end = skip.saturating_add(1);
    let at = inner.get(first_end..)?.find(']')?;
    inner.get(..first_end.saturating_add(at))
}

fn has_letter(set: &str, letter: char) -> bool {
    set.chars().any(|c| c == letter || c.to_lowercase().eq(letter.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_name_fits_a_glob_or_may() {
        let rows = [
            ("rm", "rm", true),
            ("r?", "rm", true),
            ("r?", "rmd", false),
            ("r*", "rm", true),
            ("*", "rm", true),
            ("*m*", "rm", true),
            ("r*m*d*", "rm", false),
            ("r[m]", "rm", true),
            ("r[xm]", "rm", true),
            ("r[xy]", "rm", false),
            ("r[!x]", "rm", true),
            ("r[a-z]", "rm", true),
            ("r[[:alpha:]]", "rm", true),
            ("R?", "rm", true),
            ("[", "[", true),
            ("[]r]m", "rm", true),
            ("l?", "rm", false),
            ("", "", true),
            ("é?", "éa", true),
        ];
        for (glob, name, fit) in rows {
            assert_eq!(fits(glob, name), fit, "{glob} {name}");
        }
    }

    #[test]
    fn a_long_glob_takes_no_longer_than_its_length_says() {
        assert!(!fits(&"*a".repeat(5_000), &"a".repeat(500)));
    }
}
