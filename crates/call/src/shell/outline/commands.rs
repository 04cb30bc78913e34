//! How our own scanner reads commands, and the files they are connected to.

use std::mem::take;

use super::scanner::{Around, CLOSERS, DEPTH_MAX, Heredoc, RESERVED, Scanner, is_function_name, is_name};
use crate::programs::program::Builtin;
use crate::programs::table;

/// Every method gives nothing where the scanner gives up.
impl<'t> Scanner<'t> {
    /// Reads commands up to what ends them, and says whether there was one.
    pub(super) fn list(&mut self) -> Option<bool> {
        let mut is_any = false;
        loop {
            self.lines()?;
            if self.ends_list() {
                return Some(is_any);
            }
            self.chain()?;
            is_any = true;
            self.blanks();
            match (self.byte(), self.byte_after(1)) {
                (b';', b';' | b'&') => return Some(true),
                (b';', _) => self.operator(1)?,
                (b'&', _) => {
                    self.outline.mark('&');
                    self.operator(1)?;
                }
                (b'\n' | b'#', _) => {}
                _ => return Some(true),
            }
        }
    }

    pub(super) fn filled_list(&mut self) -> Option<()> {
        self.list()?.then_some(())
    }

    pub(super) fn ends_list(&self) -> bool {
        matches!(self.byte(), 0 | b')')
            || self.follows(";;")
            || self.follows(";&")
            || CLOSERS.contains(&self.keyword())
    }

    /// Reads `a && b || c`.
    pub(super) fn chain(&mut self) -> Option<()> {
        loop {
            self.pipeline()?;
            self.blanks();
            match (self.byte(), self.byte_after(1)) {
                (b'&', b'&') => self.outline.mark('A'),
                (b'|', b'|') => self.outline.mark('O'),
                _ => return Some(()),
            }
            self.operator(2)?;
            self.lines()?;
        }
    }

    pub(super) fn pipeline(&mut self) -> Option<()> {
        let (mut is_negated, mut timed) = (false, None);
        loop {
            match self.keyword() {
                "!" if !is_negated && self.byte_after(1) != b'(' => {
                    is_negated = true;
                    self.at += 1;
                }
                "time" if timed.is_none() => {
                    self.at += "time".len();
                    self.blanks();
                    timed = Some(self.expect_keyword("-p").map_or('T', |()| 'P'));
                }
                "!" | "time" => return None,
                // It belongs to `time`, in one shell or another.
                option if timed.is_some() && option.starts_with('-') => return None,
                _ => break,
            }
            self.blanks();
        }
        if is_negated {
            self.outline.mark('!');
        }
        timed.into_iter().for_each(|mark| self.outline.mark(mark));
        loop {
            self.command()?;
            self.blanks();
            match (self.byte(), self.byte_after(1)) {
                (b'|', b'|') => return Some(()),
                (b'|', b'&') => {
                    self.outline.mark('B');
                    self.operator(2)?;
                }
                (b'|', _) => {
                    self.outline.mark('|');
                    self.operator(1)?;
                }
                _ => return Some(()),
            }
            self.lines()?;
            if matches!(self.keyword(), "!" | "time") {
                return None;
            }
        }
    }

    pub(super) fn command(&mut self) -> Option<()> {
        self.deeper(|scanner| match scanner.keyword() {
            "function" => {
                scanner.at += "function".len();
                scanner.blanks();
                scanner.function()
            }
            "coproc" => scanner.coproc(),
            word if CLOSERS.contains(&word) => None,
            _ if scanner.starts_compound() => scanner.compound(),
            name if is_function_name(name) && scanner.after(name).starts_with('(') => scanner.function(),
            _ => scanner.simple(),
        })
    }

    pub(super) fn starts_compound(&self) -> bool {
        self.byte() == b'('
            || matches!(self.keyword(), "if" | "while" | "until" | "for" | "select" | "case" | "{" | "[[")
    }

    /// Reads a compound command and its files.
    pub(super) fn compound(&mut self) -> Option<()> {
        match self.keyword() {
            "if" => self.condition()?,
            "while" => self.repeat('W')?,
            "until" => self.repeat('U')?,
            "for" => self.loop_over('F')?,
            "select" => self.loop_over('S')?,
            "case" => self.case()?,
            "[[" => self.test()?,
            "{" => {
                self.at += 1;
                self.outline.mark('{');
                self.filled_list()?;
                self.expect_keyword("}")?;
                self.outline.mark('}');
            }
            _ if self.follows("((") => {
                self.at += 2;
                let sum = self.sum(false)?;
                self.outline.write(sum);
                self.outline.mark('s');
            }
            _ => {
                self.expect("(")?;
                self.outline.mark('(');
                self.filled_list()?;
                self.expect(")")?;
                self.outline.mark(')');
            }
        }
        loop {
            self.blanks();
            if !self.redirection()? {
                // Compound commands write their files right behind them.
                let files = take(&mut self.outline.files);
                self.outline.text.push_str(&files);
                return Some(());
            }
        }
    }

    pub(super) fn condition(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            // `if` the first time, `elif` later: the grammar nests those.
            self.at += self.keyword().len();
            self.outline.mark('I');
            open += 1;
            self.filled_list()?;
            self.expect_keyword("then")?;
            self.outline.mark('t');
            self.filled_list()?;
            if self.keyword() != "elif" {
                break;
            }
            self.outline.mark('e');
        }
        if self.expect_keyword("else").is_some() {
            self.outline.mark('e');
            self.filled_list()?;
        }
        self.expect_keyword("fi")?;
        (0..open).for_each(|_| self.outline.mark('f'));
        Some(())
    }

    pub(super) fn repeat(&mut self, mark: char) -> Option<()> {
        self.at += self.keyword().len();
        self.outline.mark(mark);
        self.filled_list()?;
        self.loop_body(false)
    }

    pub(super) fn loop_body(&mut self, may_be_braces: bool) -> Option<()> {
        let end = match self.keyword() {
            "do" => "done",
            "{" if may_be_braces => "}",
            _ => return None,
        };
        self.at += self.keyword().len();
        self.outline.mark('d');
        self.filled_list()?;
        self.expect_keyword(end)?;
        self.outline.mark('D');
        Some(())
    }

    pub(super) fn loop_over(&mut self, mark: char) -> Option<()> {
        self.at += self.keyword().len();
        self.blanks();
        if mark == 'F' && self.follows("((") {
            self.at += 2;
            let mut parts = self.sum(true)?.split(';');
            for _ in 0..3 {
                // So the grammar writes what is left out.
                let part = parts.next()?.trim_start();
                self.outline.write(if part.is_empty() { "1" } else { part });
                self.outline.mark(';');
            }
            parts.next().is_none().then(|| self.blanks())?;
        } else {
            let name = self.keyword();
            is_name(name).then_some(())?;
            self.at += name.len();
            self.outline.mark(mark);
            self.outline.write(name);
            self.outline.mark('n');
            self.lines()?;
            if self.expect_keyword("in").is_some() {
                loop {
                    self.blanks();
                    if matches!(self.byte(), b';' | b'\n' | b'#') {
                        break;
                    }
                    self.word(false)?;
                    self.outline.mark('w');
                }
            } else {
                self.outline.write("\"$@\"");
                self.outline.mark('w');
            }
        }
        if self.byte() == b';' {
            self.operator(1)?;
        }
        self.lines()?;
        self.loop_body(true)
    }

    pub(super) fn case(&mut self) -> Option<()> {
        self.at += self.keyword().len();
        self.outline.mark('C');
        self.blanks();
        self.word(false)?;
        self.outline.mark('w');
        self.lines()?;
        self.expect_keyword("in")?;
        loop {
            self.lines()?;
            if self.expect_keyword("esac").is_some() {
                self.outline.mark('E');
                return Some(());
            }
            if self.byte() == b'(' {
                self.operator(1)?;
            }
            loop {
                self.blanks();
                if self.keyword() == "esac" {
                    return None;
                }
                self.word(false)?;
                self.outline.mark('p');
                self.blanks();
                match self.byte() {
                    b'|' => self.operator(1)?,
                    b')' => break,
                    _ => return None,
                }
            }
            self.operator(1)?;
            self.list()?;
            let end = [";;&", ";;", ";&"].into_iter().find(|end| self.follows(end));
            if end.is_none() && self.keyword() != "esac" {
                return None;
            }
            self.operator(end.map_or(0, str::len))?;
            self.outline.write(end.unwrap_or(";;"));
            self.outline.mark(';');
        }
    }

    /// Reads a function from its name on.
    pub(super) fn function(&mut self) -> Option<()> {
        let name = self.keyword();
        (is_function_name(name) && !RESERVED.contains(&name)).then_some(())?;
        self.at += name.len();
        self.outline.write(name);
        self.outline.mark('N');
        self.blanks();
        if self.byte() == b'(' {
            self.at += 1;
            self.blanks();
            self.expect(")")?;
        }
        self.lines()?;
        self.starts_compound().then_some(())?;
        self.compound()
    }

    /// Reads `coproc` before words: other forms give names.
    pub(super) fn coproc(&mut self) -> Option<()> {
        self.at += "coproc".len();
        self.blanks();
        let first = self.keyword();
        if first.contains('=') || RESERVED.contains(&first) || self.byte() == b'(' {
            return None;
        }
        self.outline.mark('Q');
        self.simple()
    }

    /// Reads assignments, words and files.
    pub(super) fn simple(&mut self) -> Option<()> {
        let (mut words, mut others, mut declares) = (0_usize, 0_usize, false);
        loop {
            self.blanks();
            if self.redirection()? {
                others += 1;
                continue;
            }
            match self.byte() {
                0 | b'\n' | b';' | b'&' | b'|' | b')' | b'#' => break,
                b'(' => return None,
                _ => {}
            }
            let start = self.at;
            // Only right at the start does a shell look for these.
            if words == 0 && others > 0 && RESERVED.contains(&self.keyword()) {
                return None;
            }
            let assigns = self.word(words == 0 || declares)?;
            if words == 0 && assigns {
                others += 1;
                self.outline.mark('a');
                continue;
            }
            let word = self.since(start);
            // A broken keyword is one all the same.
            if words == 0 && word.contains("\\\n") && RESERVED.contains(&word.replace("\\\n", "").as_str()) {
                return None;
            }
            declares |= words == 0 && table::program(word).is_some_and(|row| row.is(Builtin::Declares));
            words += 1;
            self.outline.mark('w');
        }
        self.outline.end_command();
        (words + others > 0).then_some(())
    }

    // `[[ … ]]`

    pub(super) fn test(&mut self) -> Option<()> {
        self.at += "[[".len();
        self.outline.mark('[');
        let mut open = 0_usize;
        let mut is_any = false;
        loop {
            self.blanks();
            if self.keyword() == "]]" {
                self.at += "]]".len();
                self.outline.mark(']');
                return (open == 0 && is_any).then_some(());
            }
            is_any = true;
            let operators = ["&&", "||", "(", ")", "<", ">"];
            let operator = operators.into_iter().find(|operator| self.follows(operator));
            match operator.filter(|_| !self.follows("<(") && !self.follows(">(")) {
                Some(operator) => {
                    self.operator(operator.len())?;
                    match operator {
                        "(" => open += 1,
                        ")" => open = open.checked_sub(1)?,
                        _ => {}
                    }
                    self.outline.term(operator);
                    if matches!(operator, "&&" | "||") && self.pending.is_empty() {
                        self.lines()?;
                    }
                }
                None => {
                    let keyword = self.keyword();
                    // Written by hand: a term that is `-n` is left out.
                    if keyword == "-n" {
                        self.at += keyword.len();
                    } else {
                        self.word(false)?;
                        self.outline.mark('k');
                    }
                    if keyword == "=~" {
                        self.blanks();
                        self.regex()?;
                    }
                }
            }
        }
    }

    /// Reads a regular expression, in which brackets are no metacharacters.
    pub(super) fn regex(&mut self) -> Option<()> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.byte() {
                b' ' | b'\t' if open == 0 => break,
                b')' if open == 0 => break,
                0 | b' ' | b'\t' | b'\n' | b'<' | b'>' | b';' | b'&' => return None,
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' => {
                    open -= 1;
                    self.at += 1;
                }
                b'|' => self.at += 1,
                _ => self.piece()?,
            }
        }
        let regex = self.since(start);
        self.outline.write(regex);
        self.outline.mark('k');
        (!regex.is_empty() && !regex.contains("\\\n")).then_some(())
    }

    /// Reads a redirection, if one starts here.
    pub(super) fn redirection(&mut self) -> Option<bool> {
        // Most words start otherwise.
        if !matches!(self.byte(), b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') {
            return Some(false);
        }
        let rest = self.rest();
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let name = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
        let name = name.filter(|name| is_name(name));
        let prefix = name.map_or(number, |name| name.len() + 2);
        let after = rest.get(prefix..)?;
        if after.starts_with("<(") || after.starts_with(">(") {
            // A process substitution, unless a number stands before it.
            return (prefix == 0).then_some(false);
        }
        const OPERATORS: [&str; 12] =
            ["<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"];
        let Some(operator) = OPERATORS.into_iter().find(|operator| after.starts_with(operator)) else {
            return Some(false);
        };
        if operator.starts_with('&') && prefix > 0 {
            return Some(false);
        }
        self.at += prefix;
        self.operator(operator.len())?;
        self.blanks();
        self.outline.turn();
        let is_close = matches!(operator, "<&" | ">&") && self.keyword().ends_with('-');
        if is_close {
            // To close it is nothing to us; to move it is not understood.
            self.expect_keyword("-")?;
            self.outline.write("-");
            self.outline.mark('r');
        } else {
            if let Some(number) = rest.get(..prefix).filter(|_| number > 0) {
                let is_usual = number.len() < 5 && (number == "0" || !number.starts_with('0'));
                is_usual.then(|| self.outline.write(number))?;
            }
            if let Some(name) = name {
                self.outline.write(name);
                self.outline.mark('v');
            }
            if matches!(operator, "<<" | "<<-") {
                self.delimiter(operator == "<<-", name.is_some())?;
            } else {
                self.outline.write(operator);
                self.word(false)?;
                self.outline.mark('r');
            }
        }
        self.outline.turn();
        Some(true)
    }

    /// Reads the word that ends a heredoc: a plain one, or one that is quoted as a whole.
    pub(super) fn delimiter(&mut self, strips_tabs: bool, has_name: bool) -> Option<()> {
        let quote = match self.byte() {
            quote @ (b'\'' | b'"' | b'\\') => Some(quote),
            _ => None,
        };
        self.at += usize::from(quote.is_some());
        let start = self.at;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+,:%@^~=".contains(&byte);
        let is_in_quotes = |byte: u8| is_plain(byte) || b" !*?#/;()[]{}<>|&".contains(&byte);
        let in_quotes = matches!(quote, Some(b'\'' | b'"'));
        while is_plain(self.byte()) || in_quotes && is_in_quotes(self.byte()) {
            self.at += 1;
        }
        let delimiter = self.since(start);
        if in_quotes {
            let quote = quote.filter(|quote| *quote == self.byte())?;
            self.at += usize::from(quote != 0);
        }
        let is_end =
            matches!(self.byte(), 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>');
        if delimiter.is_empty() || !is_end || has_name {
            return None;
        }
        self.outline.mark(if strips_tabs { '-' } else { '<' });
        self.outline.mark(if quote.is_some() { '\'' } else { '$' });
        self.pending.push(Heredoc { delimiter, strips_tabs, expands: quote.is_none() });
        Some(())
    }

    /// Reads the body of a heredoc.
    pub(super) fn heredoc(&mut self, heredoc: &Heredoc<'_>) -> Option<()> {
        let mut body = String::new();
        let mut is_continued = false;
        loop {
            let rest = self.rest();
            let (line, has_end) = rest.split_once('\n').map_or((rest, false), |(line, _)| (line, true));
            let kept = if heredoc.strips_tabs { line.trim_start_matches('\t') } else { line };
            self.at += line.len() + usize::from(has_end);
            if kept == heredoc.delimiter {
                if is_continued {
                    return None;
                }
                break;
            }
            if !has_end {
                return None;
            }
            body.push_str(kept);
            body.push('\n');
            is_continued = heredoc.expands && line.ends_with('\\');
        }
        self.outline.write_body(&body);
        if heredoc.expands {
            let mut inner = Scanner::new(&body, self.depth + 1, self.level);
            inner.body()?;
            self.take_over(inner);
        }
        Some(())
    }

    /// Reads text that is expanded and has no quotes.
    pub(super) fn body(&mut self) -> Option<()> {
        if self.depth > DEPTH_MAX {
            return None;
        }
        loop {
            match self.byte() {
                b'\\' => self.skip_escaped()?,
                b'$' => self.dollar(Around::Heredoc)?,
                b'`' => self.backticks(Around::Heredoc)?,
                0 => return (self.at == self.text.len()).then_some(()),
                _ => self.at += 1,
            }
        }
    }
}
