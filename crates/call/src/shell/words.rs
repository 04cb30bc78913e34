//! The words of a command as they would reach a program.
//!
//! [`resolve`] takes quotes off, puts in what is certain and leaves the rest as it is written, marked as
//! uncertain. What a word would run while it is expanded is handed back as [`Inside`], to be read by the
//! caller. Globs are not matched against files: a word with one is known to be one, and no more.

use rable::{Node, NodeKind};

use crate::programs::word::{Field, Known};
use crate::shell::scan::{Place, substitutions};
use crate::shell::variables::Variables;

/// The most words that braces may make of one word.
const BRACE_WORDS_MAX: usize = 64;

/// Characters that mean themselves wherever they stand in a word.
const PLAIN: &[u8] = b"_-./,:=@%+^";

/// Characters that make a glob, or end one begun before.
const GLOB: [char; 5] = ['*', '?', '[', ']', '('];

/// Characters that begin a substitution.
const CODE: [char; 2] = ['$', '`'];

/// Characters that keep the choices of braces from being plain text.
const SYNTAX: [char; 6] = ['{', '$', '`', '\\', '\'', '"'];

/// What a word runs while it is expanded.
pub(crate) enum Inside<'a> {
    /// A script the grammar has read, and what stands around it.
    Node(&'a Node, &'static str),
    /// A script still to be read, and what stands around it.
    Text(String, &'static str),
    /// Something that cannot be told.
    Unknown,
}

/// What stands around a script that runs only if a variable is set, or is not.
pub(crate) const IN_PARAMETER: &str = "${…}";

/// What stands around a script whose output becomes part of a word.
pub(crate) const IN_WORD: &str = "$(…)";

/// Adds the fields one word becomes: none, one or several.
pub(crate) fn resolve<'a>(
    word: &'a Node,
    variables: &mut Variables,
    inside: &mut Vec<Inside<'a>>,
    fields: &mut Vec<Field>,
) {
    let NodeKind::Word { value, parts, .. } = &word.kind else {
        inside.push(Inside::Unknown);
        return fields.push(Field::uncertain(""));
    };
    if value.bytes().all(|byte| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte)) {
        return fields.push(Field::certain(value));
    }
    if !is_well_read(value, parts) {
        look_into(value, Place::Word, IN_WORD, inside);
        // It may assign.
        variables.forget();
        let quotes_code = quotes_code(value);
        return fields.push(Field { quotes_code, ..Field::uncertain(value) });
    }
    let mut resolver = Resolver::new(variables, fields);
    let mut rest = value.as_str();
    for (i, part) in parts.iter().enumerate() {
        let (source, after) = split_source(parts.get(i..).unwrap_or_default(), rest);
        resolver.part(part, source, inside);
        rest = after;
    }
    resolver.close();
}

/// Whether the grammar's parts of a word say all that it would run.
fn is_well_read(value: &str, parts: &[Node]) -> bool {
    // In backticks a backslash goes away before the script is read; the grammar keeps it.
    let is_literal = |part: &Node| matches!(part.kind, NodeKind::WordLiteral { .. });
    if value.contains('`') && value.contains('\\') && !parts.iter().all(is_literal) {
        return false;
    }
    let mut quotes = Quotes::default();
    parts.iter().all(|part| match &part.kind {
        NodeKind::WordLiteral { value } => {
            let mut before = None;
            value.chars().all(|c| {
                let escaped = quotes.escaped;
                let active = quotes.step(c) != Meaning::Single && !escaped;
                let opens = match before {
                    Some('$') => matches!(c, '(' | '[' | '{' | '`'),
                    Some('<' | '>') => matches!(c, '(' | '`'),
                    _ => c == '`',
                };
                before = active.then_some(c);
                !(active && opens)
            })
        }
        // What runs within a sum is left as text, and `$((a) )` is taken for a sum though it runs `a`.
        NodeKind::ArithmeticExpansion { .. } => false,
        _ => true,
    })
}

/// Hands back every script that the text would run while it is expanded.
pub(crate) fn look_into(text: &str, place: Place, around: &'static str, inside: &mut Vec<Inside<'_>>) {
    if !text.contains(['$', '`', '<', '>']) {
        return;
    }
    // In a sum bash writes `case` down without an opening bracket, then counts them, and runs the sum as a command.
    if text.contains("((") && text.contains("esac") {
        inside.push(Inside::Unknown);
    }
    // Within `"${x:-…}"` bash takes quotes off before it looks: `$""(rm x)` runs.
    let opens = |text: &str| text.matches("$(").count();
    if text.contains("$\"") && opens(&text.replace('"', "")) > opens(text) {
        inside.push(Inside::Unknown);
    }
    match substitutions(text, place) {
        Some(scripts) => inside.extend(scripts.into_iter().map(|script| Inside::Text(script, around))),
        None => inside.push(Inside::Unknown),
    }
}

/// Whether a `$` or a backtick stands for itself in a word, other than within what the word runs. In doubt it does.
fn quotes_code(word: &str) -> bool {
    if !word.contains(['\'', '\\']) || !word.contains(CODE) {
        return false;
    }
    let mut quotes = Quotes::default();
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        let is_escaped = quotes.escaped;
        let is_itself = quotes.step(c) == Meaning::Single || is_escaped;
        if !CODE.contains(&c) {
            continue;
        }
        let after = match c {
            _ if is_itself => return true,
            '`' => after_backticks(rest.as_str()),
            _ if rest.as_str().starts_with('(') => after_brackets(rest.as_str()),
            _ => continue,
        };
        let Some(after) = after else { return true };
        rest = after.chars();
    }
    false
}

/// What follows the script whose backtick was just opened.
fn after_backticks(text: &str) -> Option<&str> {
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            '`' => return Some(letters.as_str()),
            _ => {}
        }
    }
    None
}

/// What follows the bracket that is opened here; none where a quoted one may be counted.
fn after_brackets(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut quotes = Quotes::default();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (c, quotes.step(c)) {
            ('(', Meaning::Bare) => depth = depth.saturating_add(1),
            (')', Meaning::Bare) if depth <= 1 => return Some(letters.as_str()),
            (')', Meaning::Bare) => depth = depth.saturating_sub(1),
            ('(' | ')' | '#', _) => return None,
            _ => {}
        }
    }
    None
}

/// A text without its quotes, where it is taken whole although it is not split into parts.
pub(crate) fn without_quotes(text: &str) -> String {
    let mut quotes = Quotes::default();
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match quotes.step(c) {
            Meaning::Syntax => continue,
            Meaning::WithBackslash => plain.push('\\'),
            Meaning::Bare | Meaning::Quoted | Meaning::Single => {}
        }
        plain.push(c);
    }
    plain
}

/// Follows the quotes of a word from character to character.
#[derive(Default)]
struct Quotes {
    single: bool,
    double: bool,
    escaped: bool,
}

/// What a character of a word means.
#[derive(PartialEq, Eq)]
enum Meaning {
    /// A quote or a backslash that goes away.
    Syntax,
    /// Itself, and it may be a glob or a tilde.
    Bare,
    /// Itself, in double quotes or after a backslash.
    Quoted,
    /// Itself, in single quotes.
    Single,
    /// Itself, and so is the backslash before it: within double quotes it escapes only a few characters.
    WithBackslash,
}

impl Quotes {
    fn step(&mut self, c: char) -> Meaning {
        if self.single {
            self.single = c != '\'';
            return if self.single { Meaning::Single } else { Meaning::Syntax };
        }
        if self.escaped {
            self.escaped = false;
            let plain = self.double && !matches!(c, '$' | '`' | '"' | '\\' | '\n');
            return if plain { Meaning::WithBackslash } else { Meaning::Quoted };
        }
        match c {
            '\\' => self.escaped = true,
            '"' => self.double = !self.double,
            '\'' if !self.double => self.single = true,
            _ if self.double => return Meaning::Quoted,
            _ => return Meaning::Bare,
        }
        Meaning::Syntax
    }
}

/// Builds the fields of one word.
struct Resolver<'v> {
    variables: &'v mut Variables,
    quotes: Quotes,
    done: &'v mut Vec<Field>,
    /// The field being built, once for each choice of braces so far.
    open: Vec<Field>,
    /// Whether the open field exists even if it is empty, as `''` does.
    started: bool,
    /// Whether a `[` is waiting for its partner. Alone it is a program, together they are a glob.
    bracket: bool,
    /// Whether a character of globs stands for itself: without its quotes the text then says something else.
    quoted_glob: bool,
    /// Whether a character of substitutions stands for itself.
    quotes_code: bool,
}

impl<'v> Resolver<'v> {
    fn new(variables: &'v mut Variables, done: &'v mut Vec<Field>) -> Self {
        Self {
            variables,
            quotes: Quotes::default(),
            done,
            open: vec![Field::certain("")],
            started: false,
            bracket: false,
            quoted_glob: false,
            quotes_code: false,
        }
    }

    /// Takes in one part and how it is written.
    fn part<'a>(&mut self, part: &'a Node, source: &str, inside: &mut Vec<Inside<'a>>) {
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => {
                // Bash cuts at NUL, wraps large octal numbers and knows `\x{72}`; the decoder does not.
                if decoded.chars().all(|c| c.is_ascii() && c != '\0' && c != '\\') {
                    self.started = true;
                    self.push_quoted(decoded);
                } else {
                    self.quotes_code = true;
                    self.unknown(source);
                }
            }
            NodeKind::LocaleString { inner, .. } => {
                look_into(inner, Place::Quoted, IN_WORD, inside);
                if inner.contains(['$', '`', '\\']) {
                    self.variables.forget();
                    self.unknown(source);
                } else {
                    self.started = true;
                    self.push_quoted(inner);
                }
            }
            NodeKind::ParamExpansion { param, op: None, arg: None } => self.variable(param, source, inside),
            NodeKind::ParamExpansion { param, op, arg } | NodeKind::ParamIndirect { param, op, arg } => {
                // `${x:=value}` assigns, here or further inside.
                if [op, arg].into_iter().flatten().any(|text| text.contains('=')) {
                    self.variables.forget();
                }
                // `${x@P}` expands the value like a prompt, and runs what stands in it.
                if op.as_deref() == Some("@") && arg.as_deref() == Some("P") {
                    inside.push(Inside::Unknown);
                }
                for text in [Some(param), op.as_ref(), arg.as_ref()].into_iter().flatten() {
                    look_into(text, Place::Quoted, IN_PARAMETER, inside);
                }
                let is_direct = matches!(part.kind, NodeKind::ParamExpansion { .. });
                match self.default(param, op.as_deref(), arg.as_deref()).filter(|_| is_direct) {
                    Some(value) => self.value(&value, source),
                    None => self.unknown(source),
                }
            }
            NodeKind::BraceExpansion { content } => self.braces(content, inside),
            NodeKind::CommandSubstitution { command, .. } => {
                inside.push(Inside::Node(command, IN_WORD));
                self.unknown(source);
            }
            NodeKind::ProcessSubstitution { command, direction } => {
                inside.push(Inside::Node(command, if direction == ">" { ">(…)" } else { "<(…)" }));
                self.unknown(source);
            }
            NodeKind::ParamLength { param } => {
                look_into(param, Place::Quoted, IN_PARAMETER, inside);
                self.unknown(source);
            }
            _ => {
                inside.push(Inside::Unknown);
                self.unknown(source);
            }
        }
    }

    fn literal(&mut self, text: &str) {
        for c in text.chars() {
            let meaning = self.quotes.step(c);
            self.started = true;
            match meaning {
                Meaning::Syntax => continue,
                Meaning::WithBackslash => self.push_quoted("\\"),
                Meaning::Bare => {
                    // A bracket follows `@`, `+` or `!` of an extended glob.
                    if c == '(' {
                        self.doubt(Known::Unknown, true);
                    } else if matches!(c, '*' | '?') || self.bracket && c == ']' {
                        self.doubt(Known::Glob, true);
                    }
                    self.bracket |= c == '[';
                }
                Meaning::Quoted | Meaning::Single => {
                    self.quoted_glob |= GLOB.contains(&c);
                    self.quotes_code |= CODE.contains(&c);
                }
            }
            self.push(c.encode_utf8(&mut [0; 4]));
        }
    }

    fn variable(&mut self, name: &str, source: &str, inside: &mut Vec<Inside<'_>>) {
        if name.starts_with([' ', '\t', '\n', '|']) {
            // `${ list; }` runs a list of commands.
            inside.push(Inside::Text(name.trim_start_matches('|').to_owned(), IN_WORD));
            return self.unknown(source);
        }
        look_into(name, Place::Quoted, IN_PARAMETER, inside);
        match self.variables.expand(name) {
            Some(value) => self.value(&value, source),
            None => self.unknown(source),
        }
    }

    /// What `${name:-word}` and its kin become, where the variable is certain and the word is plain.
    fn default(&mut self, name: &str, op: Option<&str>, word: Option<&str>) -> Option<String> {
        let value = self.variables.expand(name)?;
        let word = word.unwrap_or_default();
        let is_plain = !word.contains(SYNTAX) && !word.contains(GLOB) && !word.contains('~');
        match op? {
            ":-" | ":=" | ":?" if !value.is_empty() => Some(value),
            "-" | "=" | "?" => Some(value),
            ":-" if is_plain => Some(word.to_owned()),
            ":+" if value.is_empty() => Some(value),
            ":+" | "+" if is_plain => Some(word.to_owned()),
            _ => None,
        }
    }

    /// Puts in the value of a variable.
    fn value(&mut self, value: &str, source: &str) {
        if self.quotes.double {
            self.push_quoted(value);
        } else if value.contains(GLOB) || self.open.len() > 1 {
            self.unknown(source);
        } else {
            self.split(value);
        }
    }

    /// Puts in the value of a bare variable, which white space cuts into fields.
    fn split(&mut self, value: &str) {
        self.quotes_code |= value.contains(CODE);
        for c in value.chars() {
            if matches!(c, ' ' | '\t' | '\n') {
                self.close();
            } else {
                self.started = true;
                self.push(c.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn braces(&mut self, content: &str, inside: &mut Vec<Inside<'_>>) {
        look_into(content, Place::Quoted, IN_WORD, inside);
        self.started = true;
        let choices: Option<Vec<&str>> = content
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|inner| inner.contains(',') && !inner.contains(GLOB) && !inner.contains(SYNTAX))
            .map(|inner| inner.split(',').collect());
        match choices {
            Some(choices) if choices.len().saturating_mul(self.open.len()) <= BRACE_WORDS_MAX => {
                let with = |field: &Field, choice: &&str| Field {
                    text: format!("{}{choice}", field.text),
                    ..*field
                };
                self.open = self
                    .open
                    .iter()
                    .flat_map(|field| choices.iter().map(move |choice| with(field, choice)))
                    .collect();
            }
            _ => self.unknown(content),
        }
    }

    fn unknown(&mut self, source: &str) {
        self.started = true;
        self.push(source);
        // `"$@"` and its kin become several words even in quotes.
        self.doubt(Known::Unknown, !self.quotes.double || source.contains('@'));
    }

    fn doubt(&mut self, known: Known, splits: bool) {
        for field in &mut self.open {
            if field.known != Known::Unknown {
                field.known = known;
            }
            field.splits |= splits;
        }
    }

    fn push_quoted(&mut self, text: &str) {
        self.quoted_glob |= text.contains(GLOB) || text.contains('\\');
        self.quotes_code |= text.contains(CODE);
        self.push(text);
    }

    fn push(&mut self, text: &str) {
        self.open.iter_mut().for_each(|field| field.text.push_str(text));
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.quoted_glob) && self.open.iter().any(|field| field.known == Known::Glob) {
            self.doubt(Known::Unknown, true);
        }
        if std::mem::take(&mut self.quotes_code) {
            self.open.iter_mut().for_each(|field| field.quotes_code = true);
        }
        let open = std::mem::replace(&mut self.open, vec![Field::certain("")]);
        if std::mem::take(&mut self.started) {
            // `{,rm}` is one word: an empty choice leaves none.
            let choices = open.len() > 1;
            self.done.extend(open.into_iter().filter(|field| !(choices && field.text.is_empty())));
        }
    }
}

/// Cuts the source of the first part off the rest of its word. The grammar gives no places for parts: where
/// no length follows from them, a part ends where the next literal starts. Only wording hangs on it.
fn split_source<'s>(parts: &[Node], rest: &'s str) -> (&'s str, &'s str) {
    let Some((first, following)) = parts.split_first() else {
        return (rest, "");
    };
    let braces = rest.starts_with("${");
    let before_following = || {
        let after: usize = following.iter().map(source_bytes).sum::<Option<usize>>()?;
        rest.len().checked_sub(after)
    };
    let before_literal = || match &following.first()?.kind {
        NodeKind::WordLiteral { value } => rest.find(value.as_str()),
        _ => None,
    };
    let end = match &first.kind {
        NodeKind::ParamExpansion { param, op: None, .. } => {
            param.len().checked_add(if braces { 3 } else { 1 })
        }
        _ => source_bytes(first),
    };
    end.or_else(before_following)
        .or_else(before_literal)
        .and_then(|end| rest.split_at_checked(end))
        .unwrap_or((rest, rest))
}

/// How long a part is in the source, where the part alone says so.
fn source_bytes(part: &Node) -> Option<usize> {
    match &part.kind {
        NodeKind::WordLiteral { value: text } | NodeKind::BraceExpansion { content: text } => {
            Some(text.len())
        }
        NodeKind::AnsiCQuote { content, .. } => content.len().checked_add("$''".len()),
        NodeKind::LocaleString { content, .. } => content.len().checked_add("$".len()),
        _ => None,
    }
}
