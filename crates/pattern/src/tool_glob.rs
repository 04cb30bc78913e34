//! Tool names with wildcards, as Python's `fnmatch` reads them.
//!
//! `*` is any run of characters, `?` any one, `[ab]`, `[a-c]` and `[!a]` are sets; a `[` that is never closed is
//! itself. Case matters on every machine. Missing on purpose: braces, and a `*` that stops at `/`.

/// A tool's name, or a glob that stands for many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolGlob {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// `*`
    Run,
    /// `?`
    Any,
    One(char),
    Set {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl ToolGlob {
    /// Reads a name; every text is one.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut pieces = Vec::with_capacity(text.len());
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            pieces.push(match character {
                '*' if pieces.last() == Some(&Piece::Run) => continue,
                '*' => Piece::Run,
                '?' => Piece::Any,
                '[' => match set(rest.as_str()) {
                    Some((set, after)) => {
                        rest = after.chars();
                        set
                    }
                    None => Piece::One('['),
                },
                other => Piece::One(other),
            });
        }
        Self { text, pieces }
    }

    /// The name as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it stands for every tool.
    pub fn is_every(&self) -> bool {
        self.pieces == [Piece::Run]
    }

    /// The one name it stands for, if it is one.
    pub fn exact(&self) -> Option<String> {
        let one = |piece: &Piece| match piece {
            Piece::One(character) => Some(*character),
            _ => None,
        };
        self.pieces.iter().map(one).collect()
    }

    /// Whether a tool is meant. Takes at most as long as both texts multiplied.
    pub fn fits(&self, tool: &str) -> bool {
        let name: Vec<char> = tool.chars().collect();
        let (mut piece_at, mut char_at) = (0, 0);
        // Where to go on if what came after the last `*` does not fit: the `*` takes one character more.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match (self.pieces.get(piece_at), name.get(char_at)) {
                (Some(Piece::Run), _) => {
                    piece_at += 1;
                    retry = Some((piece_at, char_at));
                }
                (Some(piece), Some(character)) if piece.takes(*character) => {
                    piece_at += 1;
                    char_at += 1;
                }
                (None, None) => return true,
                _ => {
                    let Some((piece, start)) = retry.filter(|(_, start)| *start < name.len()) else {
                        return false;
                    };
                    retry = Some((piece, start + 1));
                    (piece_at, char_at) = (piece, start + 1);
                }
            }
        }
    }

    /// The same as a regular expression of Python that has to match all of a name.
    pub fn expression(&self) -> String {
        let escaped = |character: char| format!("\\U{:08x}", u32::from(character));
        let piece = |piece: &Piece| match piece {
            Piece::Run => "(?s:.)*".to_owned(),
            Piece::Any => "(?s:.)".to_owned(),
            Piece::One(character) if character.is_ascii_alphanumeric() => character.to_string(),
            Piece::One(character) => escaped(*character),
            Piece::Set { is_negated, ranges } => {
                let ranges = ranges.iter().filter(|(first, last)| first <= last);
                let ranges: String =
                    ranges.map(|(first, last)| format!("{}-{}", escaped(*first), escaped(*last))).collect();
                match (is_negated, ranges.is_empty()) {
                    (true, true) => "(?s:.)".to_owned(),
                    (false, true) => "(?!)".to_owned(),
                    (true, false) => format!("[^{ranges}]"),
                    (false, false) => format!("[{ranges}]"),
                }
            }
        };
        self.pieces.iter().map(piece).collect()
    }
}

impl Piece {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Run => false,
            Self::Any => true,
            Self::One(one) => *one == character,
            Self::Set { is_negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != *is_negated
            }
        }
    }
}

/// Reads what follows a `[`, up to its `]`; a `]` that comes first is a member.
fn set(text: &str) -> Option<(Piece, &str)> {
    let (is_negated, body) = text.strip_prefix('!').map_or((false, text), |body| (true, body));
    let skipped = if body.starts_with(']') { 1 } else { 0 };
    let end = body.get(skipped..)?.find(']')? + skipped;
    let (members, after) = (body.get(..end)?, body.get(end + 1..)?);
    let members: Vec<char> = members.chars().collect();
    let mut ranges = Vec::new();
    let mut rest = members.as_slice();
    while let Some((first, others)) = rest.split_first() {
        rest = match others {
            ['-', last, others @ ..] => {
                ranges.push((*first, *last));
                others
            }
            others => {
                ranges.push((*first, *first));
                others
            }
        };
    }
    Some((Piece::Set { is_negated, ranges }, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Match, Pattern};

    /// Rows were compared with Python's `fnmatch.fnmatchcase`.
    #[test]
    fn a_glob_means_what_fnmatch_means() {
        let rows = [
            ("*", "Bash  mcp/a", ""),
            ("mcp_*", "mcp_ mcp_a mcp_/a/b", "mcp xmcp_a MCP_a"),
            ("?ash", "Bash bash", "ash BBash"),
            ("[BW]*", "Bash Write W", "Read bash"),
            ("[!a-c]x", "dx -x", "ax bx x"),
            ("[]]", "]", "["),
            ("[!]]", "a", "]"),
            ("[a-]", "a -", "b"),
            ("[a", "[a", "a"),
            ("a[", "a[", "a"),
            ("[c-a]", "", "a b c -"),
            ("{a,b}", "{a,b}", "a b"),
            ("a.b", "a.b", "axb"),
            ("*a*b*", "ab xaxbx aab", "ba a b"),
            ("***a", "a xa", "ax"),
            ("é?", "éa éé", "e é"),
        ];
        for (glob, fitting, others) in rows {
            let glob = ToolGlob::new(glob);
            for name in fitting.split(' ').filter(|name| !name.is_empty()) {
                assert!(glob.fits(name), "{} should fit {name}", glob.text());
            }
            for name in others.split(' ').filter(|name| !name.is_empty()) {
                assert!(!glob.fits(name), "{} should not fit {name}", glob.text());
            }
        }
        assert!(ToolGlob::new("**").is_every() && !ToolGlob::new("*a").is_every());
        assert_eq!(ToolGlob::new("Bash").exact().as_deref(), Some("Bash"));
        assert_eq!(ToolGlob::new("B?sh").exact(), None);
        assert!(!ToolGlob::new("*a".repeat(200)).fits(&"a".repeat(10_000).replace('a', "b")));
    }

    proptest::proptest! {
        #[test]
        fn the_expression_of_a_glob_fits_the_same_names(glob in r"[ab*?\[\]!é.-]{0,8}", name in "[abé.!\\[\n-]{0,8}") {
            let glob = ToolGlob::new(glob);
            let expression = Pattern::python_full(&glob.expression()).unwrap();
            proptest::prop_assert_eq!(expression.find(&name) != Match::No, glob.fits(&name), "{}", glob.expression());
        }
    }
}
