//! Programs that start another one and end as it does: the table.
//!
//! `uv run pytest` succeeds only if `pytest` does. [`launched_at`] knows a launcher only where no option stands
//! between it and what it starts: with one it may start something else, or nothing.

use super::word::{Known, Word};

/// The words before the program that is started.
const LAUNCHERS: &[&[&str]] = &[
    &["bundle", "exec"],
    &["bunx"],
    &["hatch", "run"],
    &["mise", "exec", "--"],
    &["npm", "exec", "--"],
    &["npx"],
    &["pdm", "run"],
    &["pipenv", "run"],
    &["pnpm", "dlx"],
    &["pnpm", "exec"],
    &["poetry", "run"],
    &["python", "-m"],
    &["python3", "-m"],
    &["uv", "run"],
    &["yarn", "dlx"],
];

/// Which of the words is the program that a launcher starts; none where the first words are no launcher.
#[must_use]
pub fn launched_at(words: &[Word]) -> Option<usize> {
    let is = |word: &Word, text: &str| word.known == Known::Certain && word.text == text;
    let starts = |launcher: &&&[&str]| {
        words.len() > launcher.len() && words.iter().zip(**launcher).all(|(word, text)| is(word, text))
    };
    let at = LAUNCHERS.iter().find(starts)?.len();
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
