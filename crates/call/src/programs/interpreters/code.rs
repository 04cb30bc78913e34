//! What code in another language hands on to be run, and which files it opens.

use super::{Dialect, Interpreter};
use crate::programs::inner::Inner;
use crate::programs::names::has;
use crate::programs::sed;
use crate::programs::word::Field;

/// The names in code, with what is joined to them by dots; none where a string is not a plain one.
fn names_in(code: &str) -> Option<Vec<&str>> {
    let is_name = |c: char| c.is_alphanumeric() || "_$.".contains(c);
    let mut names = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if first == '\'' || first == '"' {
            // An escape may end it elsewhere, and a letter before it gives it another meaning.
            let (text, after) = rest.get(1..)?.split_once(first)?;
            if text.contains(['\\', '\n']) || after.starts_with(first) {
                return None;
            }
            rest = after;
        } else if is_name(first) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at_checked(end)?;
            // `f'{x}'` and `r''` are not plain.
            if after.starts_with(['\'', '"', '`']) {
                return None;
            }
            let is_number = name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_digit() || c == '.');
            names.extend((!is_number).then_some(name));
            rest = after;
        // Square brackets find functions by their names: `''['constructor']`.
        } else if first.is_ascii_whitespace() || "(),;:+-*/%<>=!".contains(first) {
            rest = rest.get(1..)?;
        } else {
            return None;
        }
    }
    Some(names)
}

impl Interpreter {
    /// The files its code opens by itself; none if that cannot be told.
    pub(crate) fn opens<'c>(&self, code: &'c str) -> Option<Vec<&'c str>> {
        match self.dialect {
            Dialect::Sed => {
                let file = |deed| match deed {
                    sed::Deed::Opens(file) => Some(file),
                    sed::Deed::Runs(_) => None,
                };
                Some(sed::deeds(code)?.into_iter().filter_map(file).collect())
            }
            Dialect::Awk => awk_opens_none(code).then(Vec::new),
            _ => None,
        }
    }

    /// Whether code uses nothing but literals, signs and names that do nothing but print.
    pub(crate) fn is_harmless(&self, code: &str) -> bool {
        let Some(names) = names_in(code).filter(|_| !self.harmless.is_empty()) else { return false };
        names.iter().all(|name| has(self.harmless, name))
    }

    /// What the code runs.
    pub(crate) fn handed_on(&self, code: &str) -> Vec<Inner> {
        let mut found = match self.dialect {
            Dialect::Plain => vec![],
            Dialect::Awk => awk(code),
            Dialect::Sed => sed(code),
            Dialect::Make => make(code),
            Dialect::Editor => editor(code),
        };
        let mut looked_at = 0_usize;
        for (list, kind) in [
            (self.shells, Kind::Shell),
            (self.typed, Kind::Typed),
            (self.evals, Kind::Eval),
            (self.modules, Kind::Module),
        ] {
            for name in list.split_ascii_whitespace().filter(|name| code.contains(*name)) {
                for (before, after) in mentions(code, name) {
                    looked_at = looked_at.saturating_add(1);
                    if looked_at > CALLS_MAX {
                        found.push(Inner::Unknown);
                        return found;
                    }
                    found.extend(self.call(kind, before, after));
                }
            }
        }
        if self.backticks && code.contains('`') {
            found.extend(code.split('`').skip(1).step_by(2).take(CALLS_MAX).map(|script| {
                if script.contains(['$', '#', '@', '\\']) { Inner::Unknown } else { script_of(script) }
            }));
        }
        found
    }

    /// What one mention of a function or module runs.
    fn call(&self, kind: Kind, before: &str, after: &str) -> Option<Inner> {
        let after = after.trim_start_matches([' ', '\t']);
        if kind == Kind::Module {
            return self.module(before, after);
        }
        if kind == Kind::Typed {
            return Some(Inner::Typed);
        }
        let bracket = after.strip_prefix('(');
        let is_named =
            before.ends_with('.') || before.ends_with("::") || before.trim_end().ends_with("import");
        let given = match bracket {
            Some(inner) => inner,
            None if self.bare
                && after.starts_with(['"', '\'', '[', '{', '$', '/', '%', '<', '(', '@', ',']) =>
            {
                after
            }
            None if self.bare && kind == Kind::Shell && after.starts_with(|c: char| c.is_alphanumeric()) => {
                return Some(Inner::Unknown);
            }
            // A function that is only named may be called later by another name.
            None => {
                let finds_by_name = kind == Kind::Eval && after.starts_with('[');
                return (is_named && (kind == Kind::Shell || finds_by_name)).then_some(Inner::Unknown);
            }
        };
        let (fields, is_list) = self.arguments(given);
        match (kind, fields.as_slice()) {
            (Kind::Shell, []) => None,
            (Kind::Shell, [first, ..]) if !first.is_certain() => Some(Inner::Unknown),
            (Kind::Shell, [only]) if !is_list => Some(Inner::Script(only.clone())),
            (Kind::Shell, [first, ..]) if !is_list && first.text.contains(' ') => {
                Some(Inner::Script(first.clone()))
            }
            (Kind::Shell, _) => Some(Inner::Words(fields)),
            // The scan of the whole code has seen what stands in the literal.
            (Kind::Eval, fields) => (!fields.iter().all(Field::is_certain)).then_some(Inner::Unknown),
            (Kind::Module | Kind::Typed, _) => None,
        }
    }

    /// What a mention of a module runs: `subprocess.run(["rm"])` does, `import subprocess` does not yet.
    fn module(&self, before: &str, after: &str) -> Option<Inner> {
        let after = after.trim_start_matches(['"', '\'', ')', ' ']);
        let ends = after.is_empty() || after.starts_with([';', ',', '\n']);
        if ends && before.trim_end().ends_with([',', 't']) && before.contains("import") {
            return None;
        }
        let name_end =
            |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        match after.strip_prefix('.').map(|rest| rest.split_at_checked(name_end(rest))) {
            // Names in capitals are constants and errors.
            Some(Some((name, _))) if name.starts_with(|c: char| c.is_uppercase()) && name != "Popen" => None,
            Some(Some((_, rest))) => self.call(Kind::Shell, ".", rest),
            _ => Some(Inner::Unknown),
        }
    }

    /// The arguments of a call as far as they are plain literals, and whether they are a list.
    fn arguments(&self, given: &str) -> (Vec<Field>, bool) {
        // A literal that is cut off does not end, so it is none.
        let mut rest =
            given.get(..given.floor_char_boundary(CALL_BYTES_MAX)).unwrap_or_default().trim_start();
        let is_list = rest.starts_with(['[', '{']) || rest.starts_with("(\"") || rest.starts_with("('");
        let mut fields = Vec::new();
        while fields.len() < ARGUMENTS_MAX {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '('));
            match rest.chars().next() {
                None | Some(')' | ']' | '}' | ';') => break,
                _ => {}
            }
            let (field, after) = match self.literal(rest) {
                Some((text, after)) => (Field::certain(text), after),
                None => {
                    let end = rest.find([',', ')', ']', ';', '\n']).unwrap_or(rest.len());
                    let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    if text.contains(['=', ':', '{', '}']) && !fields.is_empty() {
                        // A named argument or an object of settings; no word of the command.
                        rest = after.trim_start_matches(['}', ' ']);
                        if rest.is_empty() || rest == after && !rest.starts_with([',', ')', ']', ';', '\n']) {
                            break;
                        }
                        continue;
                    }
                    (Field::uncertain(text), after)
                }
            };
            fields.push(field);
            rest = after;
            if rest.trim_start().starts_with([')', ';', '}']) || rest.starts_with('\n') && self.bare {
                break;
            }
        }
        let is_cut = given.len() > CALL_BYTES_MAX && rest.trim_start().is_empty();
        if is_cut || fields.len() >= ARGUMENTS_MAX {
            // What comes after them may be what is run.
            return (vec![Field::uncertain("")], is_list);
        }
        (fields, is_list)
    }

    /// A plain literal at the start of the text and what follows it: nothing is put in, nothing is added.
    fn literal<'c>(&self, text: &'c str) -> Option<(&'c str, &'c str)> {
        let unprefixed = text.trim_start_matches(['r', 'R', 'b', 'B', 'u', 'U', 'f', 'F']);
        let prefix = text.get(..text.len().saturating_sub(unprefixed.len())).unwrap_or_default();
        let quote =
            ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| unprefixed.starts_with(quote))?;
        let inner = unprefixed.strip_prefix(quote)?;
        let (inner, after) = inner.split_once(quote)?;
        let puts_in = inner.contains('\\')
            || prefix.contains(['f', 'F']) && inner.contains('{')
            || quote == "`" && inner.contains('$')
            || self.interpolates && quote == "\"" && inner.contains(['$', '@', '#']);
        let follows = after.trim_start();
        let ends = follows.is_empty()
            || follows.starts_with([')', ']', '}', ',', ';', '\n'])
            || after.starts_with(char::is_whitespace)
                && follows.starts_with(|c: char| c.is_ascii_lowercase() && c != 'x');
        (!puts_in && ends).then_some((inner, after))
    }
}

/// The most calls looked at in one piece of code.
pub(super) const CALLS_MAX: usize = 64;

/// The most arguments looked at in one call, and the most text.
pub(super) const ARGUMENTS_MAX: usize = 64;

pub(super) const CALL_BYTES_MAX: usize = 4 * 1024;

/// What a function of the table does with what it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shell,
    Typed,
    Eval,
    Module,
}

/// What stands before and after each mention of a name that is no part of a longer one.
pub(super) fn mentions<'c>(code: &'c str, name: &str) -> impl Iterator<Item = (&'c str, &'c str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let needs_start = name.starts_with(is_letter);
    let length = name.len();
    let starts: Vec<usize> =
        code.match_indices(name).map(|(at, _)| at).take(CALLS_MAX.saturating_add(1)).collect();
    starts.into_iter().filter_map(move |at| {
        let (before, rest) = code.split_at_checked(at)?;
        let after = rest.get(length..)?;
        let is_part = after.starts_with(is_letter) || needs_start && before.ends_with(is_letter);
        (!is_part).then_some((before, after))
    })
}

pub(super) fn script_of(text: &str) -> Inner {
    Inner::Script(Field::certain(text))
}

/// Pipes: `print | "sort"`, `"date" | getline`.
pub(super) fn awk(code: &str) -> Vec<Inner> {
    let is_plain = |script: &str| !script.contains('\\');
    let command = |(left, right): (&str, &str)| {
        let (left, right) = (left.trim_end(), right.trim_start_matches('&').trim_start());
        if right.starts_with("getline") {
            let literal = left.strip_suffix('"').and_then(|left| left.rsplit_once('"'));
            // What stands before it may be added to it.
            let starts =
                |before: &str| before.trim_end().ends_with(['{', ';', '(', '\n']) || before.is_empty();
            return match literal {
                Some((before, script)) if is_plain(script) && starts(before) => script_of(script),
                _ => Inner::Unknown,
            };
        }
        let literal = right.strip_prefix('"').and_then(|right| right.split_once('"'));
        let ends = |after: &str| {
            let follows = after.trim_start_matches([' ', '\t']);
            follows.is_empty() || follows.starts_with([';', '}', '\n', ')'])
        };
        match literal {
            Some((script, after)) if is_plain(script) && ends(after) => script_of(script),
            _ => Inner::Unknown,
        }
    };
    let mut found: Vec<Inner> = pipes(code).into_iter().map(command).collect();
    // `@f(x)` calls the function whose name stands in `f`, and `@load` brings others in.
    found.extend(code.contains('@').then_some(Inner::Unknown));
    found
}

/// Whether awk code opens no files but those among the words of the command. Names of files are computed like any
/// text in there, so what might open one is not looked at any closer.
pub(super) fn awk_opens_none(code: &str) -> bool {
    let is_number_test = |after: &str| {
        let number = after.trim_start_matches(['=', ' ', '-']);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        number.starts_with(|c: char| c.is_ascii_digit())
            && (rest.is_empty() || rest.starts_with([')', '{', '&', '|', ';', '}']))
    };
    let writes = code.contains("print")
        && code
            .match_indices('>')
            .any(|(at, _)| !code.get(at.saturating_add(1)..).is_some_and(is_number_test));
    !writes && !["getline", "ARGV", "ARGC", "@"].iter().any(|word| code.contains(word))
}

/// What stands on either side of each pipe: a bar that is no part of a string, of a pattern or of `||`.
pub(super) fn pipes(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut within = None;
    let mut before = '\n';
    let mut chars = code.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (within, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(mark), _) if c == mark || c == '\n' => within = None,
            (Some(_), _) => {}
            (None, '"') => within = Some('"'),
            // After an operand it divides.
            (None, '/')
                if !before.is_alphanumeric() && !")]$_\"".contains(before) || follows_keyword(code, at) =>
            {
                within = Some('/');
            }
            (None, '#') => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            (None, '|') if chars.next_if(|(_, c)| *c == '|').is_some() => {}
            (None, '|') if found.len() <= CALLS_MAX => {
                let sides = code.split_at_checked(at).and_then(|(left, right)| Some((left, right.get(1..)?)));
                found.extend(sides);
            }
            _ => {}
        }
        if !matches!(c, ' ' | '\t') {
            before = c;
        }
    }
    found
}

/// Whether a word stands before a place in awk code behind which a slash begins a pattern: `print /"/`.
fn follows_keyword(code: &str, at: usize) -> bool {
    let before = code.get(..at).unwrap_or_default().trim_end();
    ["print", "printf", "return", "getline", "in", "else", "do", "delete", "exit", "case"].iter().any(
        |keyword| {
            let rest = before.strip_suffix(keyword);
            rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        },
    )
}

/// What `sed` runs: the command `e` and the flag `e` of `s`.
pub(super) fn sed(code: &str) -> Vec<Inner> {
    let Some(deeds) = sed::deeds(code) else { return vec![Inner::Unknown] };
    let run = |deed| match deed {
        sed::Deed::Runs(Some(script)) => Some(script_of(script)),
        sed::Deed::Runs(None) => Some(Inner::Unknown),
        sed::Deed::Opens(_) => None,
    };
    deeds.into_iter().filter_map(run).take(CALLS_MAX).collect()
}

/// Recipes, and `$(shell …)`.
pub(super) fn make(code: &str) -> Vec<Inner> {
    let mut found = Vec::new();
    if ["$(shell", "${shell", "!=", ".RECIPEPREFIX", "$(eval", "$(file"]
        .iter()
        .any(|mark| code.contains(mark))
    {
        found.push(Inner::Unknown);
    }
    for line in code.lines() {
        let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        let Some(recipe) = recipe.map(|recipe| recipe.trim_start_matches(['@', '-', '+', ' ', '\t'])) else {
            continue;
        };
        if found.len() >= CALLS_MAX {
            found.push(Inner::Unknown);
            break;
        }
        let shell = recipe.replace("$$", "\0");
        found.push(if shell.contains('$') { Inner::Unknown } else { script_of(&shell.replace('\0', "$")) });
    }
    found
}

/// `:!rm x`, `\! rm x`, `:r !ls`, `e !ls`; and behind a pipe `.once |ls`, `\o |ls`.
pub(super) fn editor(code: &str) -> Vec<Inner> {
    let mut found = Vec::new();
    for line in code.lines() {
        let is_command = line.trim_start().starts_with(['.', '\\']) || line.trim_start().starts_with("pager");
        for (at, part) in line.split('|').enumerate() {
            if found.len() > CALLS_MAX {
                found.push(Inner::Unknown);
                return found;
            }
            if at > 0 && is_command && !part.trim().is_empty() {
                found.push(script_of(part.trim()));
            }
            let Some((before, script)) = part.split_once('!') else { continue };
            let before = before.trim();
            // A place and a short command; a pattern or a text is longer.
            let runs = before.len() <= EDITOR_BYTES_MAX && !before.contains(['/', '"', '\'', '<', '>', '=']);
            // `:q!` and `:wq!` end with the mark.
            if runs && !script.trim().is_empty() && !script.starts_with('=') {
                found.push(script_of(script.trim()));
            }
        }
    }
    found
}

/// The longest text before the mark behind which an editor runs something.
const EDITOR_BYTES_MAX: usize = 12;
