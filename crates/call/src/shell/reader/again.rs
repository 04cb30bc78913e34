//! Reads what an index or a sum may have taken in.

use super::Reader;
use super::quoted::{WORDS_MAX, has_index_with_code, hides_code, is_piece_of_index};
use crate::shell::scan::Place;

impl Reader {
    /// Reads what an index or a sum may have taken in; comes last.
    pub(crate) fn read_quoted(&mut self) {
        let listed = self.found.commands.len();
        while let Some(text) = self.quoted.texts.pop() {
            if !self.quoted.has_sums && !has_index_with_code(&text) {
                continue;
            }
            if is_piece_of_index(&text) || hides_code(&text) {
                self.doubt("the script puts an expression together when it runs");
                continue;
            }
            let read = |reader: &mut Self| reader.apart(|reader| reader.text(&text, Place::Quoted));
            self.perhaps(|reader| reader.within("[…]", read));
        }
        if self.quoted.has_format && self.quoted.has_sums {
            self.doubt("the script puts an expression together when it runs");
        }
        if self.quoted.count > WORDS_MAX && self.quoted.has_sums {
            self.doubt("the script quotes too much to be read");
        }
        // Most of it was read where it stands: `unset 'a[$(rm x)]'`.
        let added = self.found.commands.split_off(listed.min(self.found.commands.len()));
        for command in added {
            if !self.found.commands.iter().any(|known| known.text_with_path == command.text_with_path) {
                self.found.commands.push(command);
            }
        }
        if self.found.opaque {
            self.found.commands.iter_mut().for_each(|command| command.is_confirmed = false);
        }
    }
}
