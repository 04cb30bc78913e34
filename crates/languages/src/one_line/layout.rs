//! The layout of a file of one-line rules: one way to write it, with every word and every comment kept.
//!
//! [`laid_out`] changes white space alone. Inside quotes, patterns and JSON white space may mean something, so between the words of
//! such a line nothing is changed.

use super::words::{comment_start, is_space, texts, words_of};

/// What stands between a line and the comment behind it.
const BEFORE_COMMENT: &str = "  ";

/// One line, taken apart.
struct Row {
    code: String,
    comment: Option<String>,
}

/// The text with one space between words, comments of neighbouring lines below each other, no white space around
/// lines, at most one empty line in a row, none at either end of the file, and an end of the last line.
pub(crate) fn laid_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let rows: Vec<Row> = text.split('\n').map(row).collect();
    let is_empty = |row: &Row| row.code.is_empty() && row.comment.is_none();
    for block in rows.split(is_empty).filter(|block| !block.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        let commented = || block.iter().filter(|row| row.comment.is_some() && !row.code.is_empty());
        let width = commented().map(|row| row.code.chars().count()).max().unwrap_or(0);
        for row in block {
            out.push_str(&row.code);
            if let Some(comment) = &row.comment {
                if !row.code.is_empty() {
                    let missing = width.saturating_sub(row.code.chars().count());
                    out.push_str(&" ".repeat(missing));
                    out.push_str(BEFORE_COMMENT);
                }
                out.push_str(comment);
            }
            out.push('\n');
        }
    }
    out
}

fn row(line: &str) -> Row {
    let line = line.trim_matches(is_space);
    // Where white space may mean something, a `#` may be part of a text, too.
    if line.contains(['"', '\'', '`', '/', '{']) && !line.starts_with('#') {
        return Row { code: line.to_owned(), comment: None };
    }
    let comment = comment_start(line).and_then(|at| line.get(at..)).map(str::to_owned);
    let words = words_of(line, 0);
    Row { code: texts(&words).collect::<Vec<_>>().join(" "), comment }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_changes_and_doing_it_twice_changes_nothing() {
        let rows = [
            ("", ""),
            ("\n\n", ""),
            ("block   a", "block a\n"),
            ("\tblock a  \r\nblock b", "block a\nblock b\n"),
            ("\n\nblock a\n\n\n\nblock b\n\n", "block a\n\nblock b\n"),
            (
                "block a # one\nlimit send  to 3 per session   #two\n\nblock b #three",
                "block a                      # one\nlimit send to 3 per session  #two\n\nblock b  #three\n",
            ),
            ("  # head\nblock a", "# head\nblock a\n"),
            (
                "block  pay   because  \"two  spaces # here\"  ",
                "block  pay   because  \"two  spaces # here\"\n",
            ),
            ("map bash.command /a  b/ as c  # x", "map bash.command /a  b/ as c  # x\n"),
            ("example: a {\"x\":  1} ->  allow", "example: a {\"x\":  1} ->  allow\n"),
        ];
        for (text, wanted) in rows {
            let once = laid_out(text);
            assert_eq!(once, wanted);
            assert_eq!(laid_out(&once), once);
        }
    }

    #[test]
    fn every_word_stays() {
        proptest::proptest!(|(text in "([a-c#\"/{ \t\r\n\u{85}\u{a0}]|block a\n){0,40}")| {
            let words = |text: &str| {
                let lines: Vec<String> = text.split('\n').map(|line| line.trim_matches(is_space).to_owned()).collect();
                let of = |line: &String| texts(&words_of(line, 0)).map(ToOwned::to_owned).collect::<Vec<_>>();
                lines.iter().map(of).filter(|words| !words.is_empty()).collect::<Vec<_>>()
            };
            let once = laid_out(&text);
            proptest::prop_assert_eq!(words(&once), words(&text));
            proptest::prop_assert_eq!(&laid_out(&once), &once);
        });
    }
}
