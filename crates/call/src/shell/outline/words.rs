//! How our own scanner reads words, and what is expanded in them.

use std::mem::{replace, take};

use super::scanner::{Around, DEPTH_MAX, Scanner, is_name};

/// Every method gives nothing where the scanner gives up.
impl<'t> Scanner<'t> {
    /// Reads one word and writes it; says whether it assigns, where it may.
    pub(super) fn word(&mut self, may_assign: bool) -> Option<bool> {
        let start = self.at;
        let mut written = start;
        let mut assigns = false;
        // Where the name and the index of what is assigned end.
        let mut target_end = None;
        loop {
            // Most letters mean themselves.
            while self.byte().is_ascii_alphanumeric() || b"_-./,:%".contains(&self.byte()) {
                self.at += 1;
            }
            let so_far = self.since(start);
            match self.byte() {
                0 | b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b')' => break,
                b'<' | b'>' if self.byte_after(1) == b'(' => {
                    self.at += 2;
                    self.substitution()?;
                }
                b'<' | b'>' => break,
                b'=' if may_assign && !assigns => {
                    let target = so_far.strip_suffix('+').unwrap_or(so_far);
                    assigns = is_name(target) || target_end == Some(start + target.len());
                    self.at += 1;
                    if self.byte() == b'(' && assigns {
                        let before = self.since(written);
                        self.outline.write(before);
                        self.array()?;
                        written = self.at;
                        // Nothing may be glued to it.
                        if !matches!(self.byte(), 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') {
                            return None;
                        }
                    }
                    // What does not assign here never will: `a-b=c`.
                    if !assigns {
                        target_end = Some(usize::MAX);
                    }
                }
                b'[' if may_assign && !assigns && is_name(so_far) => {
                    self.index()?;
                    target_end = Some(self.at);
                }
                b'(' if so_far.ends_with(['@', '?', '+']) => self.pattern()?,
                b'(' => break,
                _ => self.piece()?,
            }
        }
        if self.at == start {
            return None;
        }
        let rest = self.since(written);
        // What is broken by a line continuation may be one token with the bracket behind it: `2\` before `> x`.
        if matches!(self.byte(), b'<' | b'>' | b'(') && self.since(start).contains("\\\n") {
            return None;
        }
        // A body that is still to come would start at the first end of a line.
        if !self.pending.is_empty() && self.since(start).contains('\n') {
            return None;
        }
        self.outline.write(rest);
        Some(assigns)
    }

    /// Reads a quote, an expansion or a character of a word.
    pub(super) fn piece(&mut self) -> Option<()> {
        match self.byte() {
            b'\\' => self.skip_escaped(),
            b'\'' => {
                self.at += 1;
                self.skip_past(b'\'')
            }
            b'"' => self.quotes(),
            b'$' => self.dollar(Around::Nothing),
            b'`' => self.backticks(Around::Nothing),
            _ => self.skip(),
        }
    }

    pub(super) fn quotes(&mut self) -> Option<()> {
        self.at += 1;
        self.deeper(|scanner| {
            loop {
                match scanner.byte() {
                    b'"' => break,
                    b'\\' => scanner.skip_escaped()?,
                    b'$' => scanner.dollar(Around::Quotes)?,
                    b'`' => scanner.backticks(Around::Quotes)?,
                    0 => return None,
                    _ => scanner.at += 1,
                }
            }
            scanner.at += 1;
            Some(())
        })
    }

    /// Reads what a dollar sign starts.
    pub(super) fn dollar(&mut self, around: Around) -> Option<()> {
        self.at += 1;
        match self.byte() {
            b'(' if self.byte_after(1) == b'(' => {
                self.at += 2;
                self.sum(false).map(drop)
            }
            b'(' => {
                self.at += 1;
                self.substitution()
            }
            b'{' => {
                self.at += 1;
                self.deeper(|scanner| scanner.parameter(around))
            }
            b'[' => {
                self.at += 1;
                self.old_sum()
            }
            b'\'' if around == Around::Nothing => {
                self.at += 1;
                while self.byte() != b'\'' {
                    if self.byte() == b'\\' { self.skip_escaped()? } else { self.skip()? }
                }
                self.at += 1;
                Some(())
            }
            b'"' if around == Around::Nothing => self.quotes(),
            b'\\' if self.byte_after(1) == b'\n' => None,
            b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-' => {
                self.at += 1;
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Reads a script up to the bracket that ends it, as one of its own.
    pub(super) fn substitution(&mut self) -> Option<()> {
        let start = self.at;
        let outer = take(&mut self.outline);
        let pending = take(&mut self.pending);
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        self.deeper(|scanner| scanner.list().map(drop))?;
        self.level -= 1;
        let is_line = pending.is_empty() || !self.since(start).contains('\n');
        (is_line && self.pending.is_empty()).then_some(())?;
        self.expect(")")?;
        self.pending = pending;
        let outline = replace(&mut self.outline, outer).finish();
        self.found.push(outline);
        Some(())
    }

    pub(super) fn backticks(&mut self, around: Around) -> Option<()> {
        self.at += 1;
        let mut script = String::new();
        loop {
            let (byte, next) = (self.byte(), self.byte_after(1));
            match byte {
                b'`' => break,
                b'\\' => {
                    let goes = match next {
                        b'$' | b'`' | b'\\' => true,
                        b'"' if around == Around::Heredoc => return None,
                        b'"' => around == Around::Quotes,
                        _ => false,
                    };
                    let start = self.at + usize::from(goes);
                    self.skip_escaped()?;
                    script.push_str(self.since(start));
                }
                _ => {
                    let start = self.at;
                    self.skip()?;
                    script.push_str(self.since(start));
                }
            }
        }
        self.at += 1;
        if self.depth >= DEPTH_MAX || !self.pending.is_empty() && script.contains('\n') {
            return None;
        }
        // The shell joins these lines before it reads the script, even between single quotes.
        if script.contains("\\\n") && script.contains('\'') {
            return None;
        }
        let mut inner = Scanner::new(&script, self.depth + 1, self.level + 1);
        inner.script()?;
        self.take_over(inner);
        Some(())
    }

    /// Reads `${…}` from behind its bracket.
    pub(super) fn parameter(&mut self, around: Around) -> Option<()> {
        // With a blank or a bar it is a list of commands.
        if matches!(self.byte(), b' ' | b'\t' | b'\n' | b'|' | b'(') {
            return None;
        }
        // Within double quotes a single quote means nothing in a word, and quotes in a pattern.
        let name_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let operator = self.rest().trim_start_matches(['!', '#']).trim_start_matches(|c| !name_end(c));
        let operator = operator.strip_prefix(':').unwrap_or(operator);
        let has_word = operator.starts_with(['-', '=', '?', '+']);
        loop {
            match (self.byte(), around) {
                (b'}', _) => break,
                (b'\'', Around::Quotes) if has_word => self.at += 1,
                (b'\'' | b'"', Around::Heredoc) => return None,
                // In an index or a sum it hides nothing, whatever stands around.
                (b'\'', _) => self.tame_quotes(around)?,
                (b'$', _) => self.dollar(around)?,
                (b'`', _) => self.backticks(around)?,
                (b'<' | b'>', Around::Nothing) if self.byte_after(1) == b'(' => return None,
                // It is expanded like a prompt.
                (b'@', _) if self.follows("@P}") => return None,
                _ => self.piece()?,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads single quotes around text that runs nothing with or without them.
    pub(super) fn tame_quotes(&mut self, around: Around) -> Option<()> {
        self.at += 1;
        let start = self.at;
        self.skip_past(b'\'')?;
        let text = self.since(start).strip_suffix('\'')?;
        let may_end_it = around == Around::Quotes && text.contains('}');
        (!text.contains(['$', '`', '"']) && !text.ends_with('\\') && !may_end_it).then_some(())
    }

    /// Reads a sum up to the two brackets that end it. Only what cannot be commands is one for certain.
    pub(super) fn sum(&mut self, is_loop: bool) -> Option<&'t str> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.byte() {
                b')' if open == 0 => break,
                b')' => {
                    open -= 1;
                    self.at += 1;
                }
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b'$' => self.dollar(Around::Quotes)?,
                b'`' => self.backticks(Around::Quotes)?,
                b'"' => self.quotes()?,
                b'#' if self.since(start).ends_with(|c: char| c.is_ascii_digit()) => self.at += 1,
                b';' if is_loop => self.at += 1,
                byte if byte.is_ascii_alphanumeric() || b" \t_+-*/%<>=!&|^~?:,.@[]".contains(&byte) => {
                    self.at += 1;
                }
                _ => return None,
            }
        }
        let sum = self.since(start);
        self.expect("))")?;
        Some(sum)
    }

    /// Reads `$[…]` from behind its bracket.
    pub(super) fn old_sum(&mut self) -> Option<()> {
        loop {
            match self.byte() {
                b']' => break,
                b'$' => self.dollar(Around::Quotes)?,
                byte if byte.is_ascii_alphanumeric() || b" \t_+-*/%()".contains(&byte) => self.at += 1,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads the index of what is assigned: `[i+1]`, `[$(f)]`.
    pub(super) fn index(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.byte() {
                b']' => break,
                b'$' | b'"' => self.piece()?,
                byte if byte.is_ascii_alphanumeric() || b"_+-*/%@.,:".contains(&byte) => self.at += 1,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads the rest of an extended glob that holds plain text.
    pub(super) fn pattern(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 1;
        while self.byte().is_ascii_alphanumeric() || b"_.*?|-[]".contains(&self.byte()) {
            self.at += 1;
        }
        self.expect(")")?;
        (self.at > start + 2).then_some(())
    }

    /// Reads the elements of an array: words, and nothing else that has a meaning.
    pub(super) fn array(&mut self) -> Option<()> {
        self.at += 1;
        self.outline.write("(");
        let mut is_first = true;
        loop {
            self.blanks();
            match self.byte() {
                b')' => break,
                b'#' => self.comment(),
                b'\n' if self.pending.is_empty() => self.at += 1,
                _ => {
                    if !replace(&mut is_first, false) {
                        self.outline.write(" ");
                    }
                    let start = self.at;
                    self.word(false)?;
                    let element = self.since(start);
                    let is_broken_index = element.starts_with('[') && !element.contains(']');
                    if is_broken_index || matches!(self.byte(), b'(' | b'<' | b'>' | b';' | b'&' | b'|') {
                        return None;
                    }
                }
            }
        }
        self.at += 1;
        self.outline.write(")");
        Some(())
    }
}
