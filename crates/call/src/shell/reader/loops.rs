//! Variables that a loop bounds: in `for f in src/*.ts; do wc -l "$f"; done`, `"$f"` is one of `src/*.ts`.
//!
//! The body is read once for each word, and [`Loop`] is kept only while it is, for the only loop of a script that says nothing of
//! setting variables, over a few words that are known. If the body sets them nevertheless, the script is doubted. What is read as a script of its own does not see it.

use crate::programs::{
    table::alike::SETTERS,
    word::{Field, Known},
};

/// A loop whose body is read.
pub(super) struct Loop {
    variable: String,
    value: Field,
    /// Whether a word was replaced by the value.
    pub(super) is_used: bool,
    /// Whether the variable was set in the body.
    pub(super) is_broken: bool,
}

impl Loop {
    /// The loop over these words, once for each, if the script leaves its variable alone and has no other loop; none where
    /// nothing bounds it.
    pub(super) fn over(variable: &str, words: &[Field], script: &mut Source) -> Vec<Self> {
        let is_known = |word: &Field| word.known == Known::Glob || word.is_certain();
        let is_short =
            words.len() == 1 || words.len() <= VALUES_MAX && script.text.len() <= REPEATED_BYTES_MAX;
        if !is_short || !words.iter().all(is_known) || !script.has_one_loop() {
            return Vec::new();
        }
        let text = script.text.as_str();
        let sets = |word: &str| SETTERS.contains(&word);
        let names = [format!("{variable}="), format!("{variable}+="), format!("{variable}[")];
        let is_plain = !names.iter().any(|name| text.contains(name))
            && !SIGNS.iter().any(|sign| text.contains(sign))
            && !text.split(is_end).any(sets);
        let bound = |value: &Field| Self {
            variable: variable.to_owned(),
            value: value.clone(),
            is_used: false,
            is_broken: false,
        };
        if is_plain { words.iter().map(bound).collect() } else { Vec::new() }
    }

    /// Takes in that a variable is set.
    pub(super) fn sets(&mut self, name: &str) {
        self.is_broken |= name == self.variable;
    }

    /// What a word is, where it is nothing but the quoted variable.
    pub(super) fn bound(&mut self, field: &Field) -> Option<Field> {
        let name = field.text.strip_prefix('$')?;
        let name = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(name);
        let is_bound = field.known == Known::Unknown && !field.splits && name == self.variable;
        self.is_used |= is_bound;
        is_bound.then(|| Field { text: self.value.text.clone(), known: self.value.known, ..field.clone() })
    }
}

/// The most words for which a body is read again, and the longest script in which it is.
const VALUES_MAX: usize = 8;
const REPEATED_BYTES_MAX: usize = 512;

/// The text that is read.
#[derive(Default)]
pub(super) struct Source {
    text: String,
    /// Whether it has one loop alone, once that was asked: every loop asks, and must not read the whole text each time.
    has_one_loop: Option<bool>,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), has_one_loop: None }
    }

    fn has_one_loop(&mut self) -> bool {
        let text = self.text.as_str();
        let count = || text.split(is_end).filter(|word| *word == "for").take(2).count();
        *self.has_one_loop.get_or_insert_with(|| count() == 1)
    }
}

fn is_end(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// Signs in scripts that may set variables, or that this does not read.
const SIGNS: &[&str] = &["((", "$[", ":=", "()", "\\\n", "`", "<<", "${!"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::read::read_script;

    /// Whether the file that a script shows is known to be one of the loop's.
    fn is_bound(script: &str) -> bool {
        let read = read_script(script);
        let shows = |program: &Option<String>| program.as_deref() == Some("cat");
        let mut shown = read.commands.iter().filter(|command| shows(&command.program));
        !read.opaque
            && shown.all(|command| command.words.iter().skip(1).all(|word| word.known != Known::Unknown))
    }

    #[test]
    fn a_quoted_variable_of_a_loop_is_one_of_its_files() {
        assert!(is_bound("for f in src/*; do cat \"$f\"; done"));
        assert!(is_bound("for f in a b; do cat \"$f\"; done"));
        assert!(is_bound("for f in src/* x; do cat \"$f\"; done"));
        assert!(is_bound("for f in *.md; do echo \"== $f\"; cat \"${f}\"; done"));
        // By its assignment, not by the loop.
        assert!(is_bound("for f in src/*; do f=x; cat \"$f\"; done"));
        for body in [
            "cat $f",
            "cat \"$f/..\"",
            "r\\ead f < p; cat \"$f\"",
            "p''rintf -v f %s ..; cat \"$f\"",
            "ma''pfile f; cat \"$f\"",
            "wa''it -p f; cat \"$f\"",
            "de''clare \"f\"=x; cat \"$f\"",
            "e''val \"f\"'=x'; cat \"$f\"",
            ". ./x; cat \"$f\"",
            "bash -c 'cat \"$f\"'",
            "for g in 1; do cat \"$f\"; done",
        ] {
            assert!(!is_bound(&format!("for f in src/*; do {body}; done")), "{body}");
        }
        assert!(!is_bound("cat \"$f\"; for f in src/*; do :; done"));
        assert!(!is_bound("for f in src/*; do :; done; cat \"$f\""));
        assert!(!is_bound("for f in src/* $x; do cat \"$f\"; done"));
        assert!(!is_bound("for f in 1 2 3 4 5 6 7 8 9; do cat \"$f\"; done"));
    }
}
