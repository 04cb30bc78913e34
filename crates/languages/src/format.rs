//! One layout for files of one-line rules.

use lockgate_policy::Source;

use crate::{
    detect::{Language, detect},
    one_line::laid_out,
};

/// The text of a file of one-line rules in its one layout: only white space differs. None for a file of another language.
pub fn format(source: &Source) -> Option<String> {
    (detect(source) == Language::OneLine).then(|| laid_out(source.text()))
}
