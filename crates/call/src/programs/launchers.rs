//! Programs that start another one and end as it does.
//!
//! `uv run pytest` succeeds only if `pytest` does. [`launched_at`] knows a launcher only where no option stands
//! between it and what it starts: with one it may start something else, or nothing.

use super::table::program;
use super::word::{Known, Word};

/// Which of the words is the program that a launcher starts; none where the first words are not those of one.
#[must_use]
pub fn launched_at(words: &[Word]) -> Option<usize> {
    let (first, rest) = words.split_first().filter(|(first, _)| first.known == Known::Certain)?;
    let starts = |launcher: &&&str| {
        let is = |(text, word): (&str, &Word)| word.known == Known::Certain && word.text == text;
        let words = launcher.split_ascii_whitespace();
        words.clone().count() < rest.len() && words.zip(rest).all(is)
    };
    let launcher = program(&first.text)?.launches.iter().find(starts)?;
    let at = launcher.split_ascii_whitespace().count().saturating_add(1);
    let program = words.get(at)?;
    (program.known == Known::Certain && !program.text.starts_with('-')).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_launcher_starts_stands_right_behind_it() {
        let rows = [
            ("uv run pytest -q", Some(2)),
            ("python -m pytest", Some(2)),
            ("npx jest", Some(1)),
            ("npm exec -- jest", Some(3)),
            ("npm exec jest", None),
            ("npx -y jest", None),
            ("uv run --with x pytest", None),
            ("uv", None),
            ("uv run", None),
            ("uv run $x", None),
            ("./uv run pytest", None),
            ("npm test", None),
        ];
        for (script, at) in rows {
            let words = &crate::read_script(script).commands[0].words;
            assert_eq!(launched_at(words), at, "{script}");
        }
    }
}
