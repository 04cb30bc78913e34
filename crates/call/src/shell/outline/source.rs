//! The outline of a script by our own scanner, straight from its text.
//!
//! [`script`] follows bash's grammar from the first byte to the last. Wherever a shell might read the text in another
//! way (quotes in odd places, broken operators, metacharacters in arrays and sums, a heredoc without an end) it gives
//! up, which makes the script unreadable: it never guesses. Substitutions are read in place and get outlines of their
//! own. It knows nothing of what words mean.

use std::mem::{replace, take};

use super::{Outline, Reading};

/// How deep brackets, quotes and commands may be nested: deeper than is listed, so that the reader says so first.
const DEPTH_MAX: usize = 128;

/// Words that the grammar treats as brackets where a command may start.
const RESERVED: [&str; 21] = [
    "!", "time", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "coproc", "{", "}", "[[", "]]",
];

/// Those of them that end what another has begun.
const CLOSERS: [&str; 9] = ["then", "else", "elif", "fi", "do", "done", "esac", "}", "]]"];

/// Builtins whose arguments may be arrays.
const DECLARERS: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// Reads a script; none where it cannot be told how a shell reads it.
pub(super) fn script(text: &str) -> Option<Reading> {
    let mut scanner = Scanner::new(text, 0, 0);
    scanner.script()?;
    Some(Reading { outlines: scanner.found, levels: scanner.deepest })
}

/// Reads a text that is expanded, but in which quotes mean nothing.
pub(super) fn quoted(text: &str) -> Option<Reading> {
    let mut scanner = Scanner::new(text, 0, 0);
    scanner.body()?;
    Some(Reading { outlines: scanner.found, levels: scanner.deepest })
}

/// What stands around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// A bare word.
    Nothing,
    /// Double quotes.
    Quotes,
    /// A heredoc: double quotes mean nothing.
    Heredoc,
}

struct Heredoc<'t> {
    delimiter: &'t str,
    strips_tabs: bool,
    expands: bool,
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// How many substitutions stand around, and how many at most.
    level: usize,
    deepest: usize,
    outline: Outline,
    found: Vec<String>,
    /// Heredocs whose bodies start behind the line.
    pending: Vec<Heredoc<'t>>,
}

/// Every method gives nothing where the scanner gives up.
impl<'t> Scanner<'t> {
    fn new(text: &'t str, depth: usize, level: usize) -> Self {
        let (outline, found, pending) = (Outline::with_room_for(text), Vec::new(), Vec::new());
        Self { text, at: 0, depth, level, deepest: level, outline, found, pending }
    }

    /// Takes over what a scanner of a part has found.
    fn take_over(&mut self, mut part: Scanner<'_>) {
        self.found.append(&mut part.found);
        self.deepest = self.deepest.max(part.deepest);
    }

    fn script(&mut self) -> Option<()> {
        self.list()?;
        let outline = take(&mut self.outline).finish();
        self.found.push(outline);
        // Nothing may be left over.
        (self.at == self.text.len() && self.pending.is_empty()).then_some(())
    }

    // Bytes. The end of the text is a NUL, which cannot stand in it.

    fn byte(&self) -> u8 {
        self.byte_after(0)
    }

    fn byte_after(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    fn follows(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Goes past the next character.
    fn skip(&mut self) -> Option<()> {
        self.at += self.rest().chars().next()?.len_utf8();
        Some(())
    }

    /// Goes past a backslash and what it quotes.
    fn skip_escaped(&mut self) -> Option<()> {
        self.at += 1;
        self.skip()
    }

    fn skip_past(&mut self, end: u8) -> Option<()> {
        self.at += self.rest().bytes().position(|byte| byte == end)? + 1;
        Some(())
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.follows(text).then(|| self.at += text.len())
    }

    /// Goes past an operator. One that is broken by a line continuation could be a longer one.
    fn operator(&mut self, length: usize) -> Option<()> {
        self.at += length;
        let rest = self.rest();
        let joined = rest.trim_start_matches("\\\n");
        let is_broken = joined.len() < rest.len() && joined.starts_with(['|', '&', ';', '<', '>', '(', ')']);
        (!is_broken).then_some(())
    }

    fn blanks(&mut self) {
        loop {
            match self.byte() {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.byte_after(1) == b'\n' => self.at += 2,
                _ => return,
            }
        }
    }

    /// Goes past blanks, comments and ends of lines.
    fn lines(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.byte() {
                b'#' => self.comment(),
                b'\n' => self.end_line()?,
                _ => return Some(()),
            }
        }
    }

    fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn end_line(&mut self) -> Option<()> {
        self.at += 1;
        take(&mut self.pending).iter().try_for_each(|heredoc| self.heredoc(heredoc))
    }

    /// The word that starts here, if it is written without quotes: for telling reserved words.
    fn keyword(&self) -> &'t str {
        let is_end = |c: char| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>');
        let rest = self.rest();
        rest.get(..rest.find(is_end).unwrap_or(rest.len())).unwrap_or_default()
    }

    /// What stands behind a word that starts here, and blanks.
    fn after(&self, word: &str) -> &'t str {
        self.rest().get(word.len()..).unwrap_or_default().trim_start_matches([' ', '\t'])
    }

    fn expect_keyword(&mut self, word: &str) -> Option<()> {
        (self.keyword() == word).then(|| self.at += word.len())
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        read(self)?;
        self.depth -= 1;
        Some(())
    }

    // Commands.

    /// Reads commands up to what ends them, and says whether there was one.
    fn list(&mut self) -> Option<bool> {
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

    fn filled_list(&mut self) -> Option<()> {
        self.list()?.then_some(())
    }

    fn ends_list(&self) -> bool {
        matches!(self.byte(), 0 | b')')
            || self.follows(";;")
            || self.follows(";&")
            || CLOSERS.contains(&self.keyword())
    }

    /// Reads `a && b || c`.
    fn chain(&mut self) -> Option<()> {
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

    fn pipeline(&mut self) -> Option<()> {
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

    fn command(&mut self) -> Option<()> {
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

    fn starts_compound(&self) -> bool {
        self.byte() == b'('
            || matches!(self.keyword(), "if" | "while" | "until" | "for" | "select" | "case" | "{" | "[[")
    }

    /// Reads a compound command and its files.
    fn compound(&mut self) -> Option<()> {
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

    fn condition(&mut self) -> Option<()> {
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

    fn repeat(&mut self, mark: char) -> Option<()> {
        self.at += self.keyword().len();
        self.outline.mark(mark);
        self.filled_list()?;
        self.loop_body(false)
    }

    fn loop_body(&mut self, may_be_braces: bool) -> Option<()> {
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

    fn loop_over(&mut self, mark: char) -> Option<()> {
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

    fn case(&mut self) -> Option<()> {
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
    fn function(&mut self) -> Option<()> {
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
    fn coproc(&mut self) -> Option<()> {
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
    fn simple(&mut self) -> Option<()> {
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
            declares |= words == 0 && DECLARERS.contains(&word);
            words += 1;
            self.outline.mark('w');
        }
        self.outline.end_command();
        (words + others > 0).then_some(())
    }

    // `[[ … ]]`

    fn test(&mut self) -> Option<()> {
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
    fn regex(&mut self) -> Option<()> {
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

    // Files.

    /// Reads a redirection, if one starts here.
    fn redirection(&mut self) -> Option<bool> {
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
    fn delimiter(&mut self, strips_tabs: bool, has_name: bool) -> Option<()> {
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
    fn heredoc(&mut self, heredoc: &Heredoc<'_>) -> Option<()> {
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
    fn body(&mut self) -> Option<()> {
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

    // Words.

    /// Reads one word and writes it; says whether it assigns, where it may.
    fn word(&mut self, may_assign: bool) -> Option<bool> {
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
    fn piece(&mut self) -> Option<()> {
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

    fn quotes(&mut self) -> Option<()> {
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
    fn dollar(&mut self, around: Around) -> Option<()> {
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
    fn substitution(&mut self) -> Option<()> {
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

    fn backticks(&mut self, around: Around) -> Option<()> {
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
        let mut inner = Scanner::new(&script, self.depth + 1, self.level + 1);
        inner.script()?;
        self.take_over(inner);
        Some(())
    }

    /// Reads `${…}` from behind its bracket.
    fn parameter(&mut self, around: Around) -> Option<()> {
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
    fn tame_quotes(&mut self, around: Around) -> Option<()> {
        self.at += 1;
        let start = self.at;
        self.skip_past(b'\'')?;
        let text = self.since(start).strip_suffix('\'')?;
        let may_end_it = around == Around::Quotes && text.contains('}');
        (!text.contains(['$', '`', '"']) && !text.ends_with('\\') && !may_end_it).then_some(())
    }

    /// Reads a sum up to the two brackets that end it. Only what cannot be commands is one for certain.
    fn sum(&mut self, is_loop: bool) -> Option<&'t str> {
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
    fn old_sum(&mut self) -> Option<()> {
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
    fn index(&mut self) -> Option<()> {
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
    fn pattern(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 1;
        while self.byte().is_ascii_alphanumeric() || b"_.*?|-[]".contains(&self.byte()) {
            self.at += 1;
        }
        self.expect(")")?;
        (self.at > start + 2).then_some(())
    }

    /// Reads the elements of an array: words, and nothing else that has a meaning.
    fn array(&mut self) -> Option<()> {
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

fn is_function_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:+@%".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
