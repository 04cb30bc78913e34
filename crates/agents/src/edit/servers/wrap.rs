//! One file of servers, wrapped and unwrapped byte for byte.
//!
//! [`wrapped`] puts words in front of those that an entry has, and [`unwrapped`] cuts them out again: the command that
//! was there stands among the words as it was written, so nothing has to be remembered elsewhere. `--name=NAME` in one
//! word says that the entry had no `args` before. What was wrapped stays known when a client has written its file
//! anew. An entry that runs `lockgate mcp` in words of its user's own is neither wrapped nor touched.

use std::ops::Range;

use serde_json::Value;

use super::{
    super::{
        command::is_program,
        json::{line_at, line_end},
        mistake::Mistake,
    },
    form::{Form, Guard, GuardedServer, Server, Skipped},
    tree::{Field, Node, Syntax, read},
};

/// What an entry over HTTP may say and be served by the proxy all the same. Anything else may be how a client proves
/// who it is.
const HARMLESS: [&str; 17] = [
    "type",
    "disabled",
    "enabled",
    "timeout",
    "tools",
    "alwaysAllow",
    "autoApprove",
    "trust",
    "description",
    "includeTools",
    "excludeTools",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
    "enabled_tools",
    "disabled_tools",
    "required",
];

/// The text with Lockgate before every server, and the servers for which that cannot be.
pub(crate) fn wrapped(text: &str, form: &Form, guard: &Guard<'_>) -> Result<(String, Vec<Skipped>), Mistake> {
    // What an older installation wrapped is wrapped anew: the program may lie elsewhere now.
    let text = unwrapped(text, form)?;
    let root = read(&text, form.syntax)?;
    let mut edits = Vec::new();
    let mut left = Vec::new();
    for entry in entries(&root, form) {
        match (Editor { text: &text, form }).wrap(entry, guard) {
            Ok(own) => edits.extend(own),
            Err(why) => left.push(Skipped { name: entry.name.clone(), why }),
        }
    }
    let after = apply(&text, edits);
    // What cannot be taken away again must not be put there.
    if unwrapped(&after, form)? != text {
        let reason = "the servers in a file like this cannot be wrapped so that it can be undone";
        return Err(Mistake::new(1, reason, "put `lockgate mcp` before them by hand"));
    }
    Ok((after, left))
}

/// The text without Lockgate before any server.
pub(crate) fn unwrapped(text: &str, form: &Form) -> Result<String, Mistake> {
    let root = read(text, form.syntax)?;
    let mut edits = Vec::new();
    for entry in entries(&root, form) {
        edits.extend(Editor { text, form }.unwrap(entry)?);
    }
    Ok(apply(text, edits))
}

/// The servers that Lockgate stands before.
pub(crate) fn guarded(text: &str, form: &Form) -> Result<Vec<GuardedServer>, Mistake> {
    let root = read(text, form.syntax)?;
    let server = |entry| {
        let Ours { program, words, mark, .. } = ours(entry, form)?;
        let behind = words.get(mark.at + 1)?.text()?.to_owned();
        let server = if mark.is_address { Server::Address(behind) } else { Server::Command(behind) };
        Some(GuardedServer { name: entry.name.clone(), program: program.into(), server })
    };
    Ok(entries(&root, form).into_iter().filter_map(server).collect())
}

/// The entries of all servers, where they are.
fn entries<'n>(root: &'n Node, form: &Form) -> Vec<&'n Field> {
    let mut found = Vec::new();
    for place in form.places {
        let mut tables = Vec::from([root]);
        for step in *place {
            let is_step = |field: &&Field| *step == "*" || field.name == *step;
            let below = |table: &'n Node| table.fields().iter().filter(is_step).map(|field| &field.value);
            tables = tables.into_iter().flat_map(below).collect();
        }
        found.extend(tables.into_iter().flat_map(Node::fields));
    }
    found
}

/// A place, and what stands there afterwards.
type Edit = (Range<usize>, String);

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, new) in edits {
        text.replace_range(range, &new);
    }
    text
}

/// An entry that was wrapped here.
struct Ours<'n> {
    program: &'n str,
    /// The words behind the program.
    words: &'n [Node],
    mark: Mark,
}

/// What our words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// Where `--` or `--url` stands among them.
    at: usize,
    is_address: bool,
    /// Whether there was no list of arguments before.
    is_made: bool,
}

fn ours<'n>(entry: &'n Field, form: &Form) -> Option<Ours<'n>> {
    let command = &entry.value.field("command")?.value;
    let (program, words) = match form.is_one_list {
        true => {
            let (first, rest) = command.items().split_first()?;
            (first.text()?, rest)
        }
        false => (command.text()?, entry.value.field("args")?.value.items()),
    };
    let texts: Option<Vec<&str>> = words.iter().map(Node::text).collect();
    let mark = mark(&texts?)?;
    is_program(program).then_some(Ours { program, words, mark })
}

fn mark(words: &[&str]) -> Option<Mark> {
    let (is_made, named) = match words {
        ["mcp", "--name", _, ..] => (false, 3),
        ["mcp", name, ..] if name.starts_with("--name=") => (true, 2),
        _ => return None,
    };
    let at = if words.get(named) == Some(&"--host") { named + 2 } else { named };
    let is_address = match *words.get(at)? {
        "--" => false,
        "--url" => true,
        _ => return None,
    };
    // Behind an address there is nothing, and behind `--` there is a command.
    let is_whole = words.len() > at + 1 && (!is_address || words.len() == at + 2);
    is_whole.then_some(Mark { at, is_address, is_made })
}

/// Whether an entry runs Lockgate already, in whatever words.
fn is_guarded(entry: &Field, form: &Form) -> bool {
    let Some(command) = entry.value.field("command") else { return false };
    let words = match form.is_one_list {
        true => command.value.texts(),
        false => {
            let rest = entry.value.field("args").and_then(|args| args.value.texts()).unwrap_or_default();
            command.value.text().map(|program| std::iter::once(program).chain(rest).collect())
        }
    };
    matches!(words.as_deref(), Some([program, "mcp", ..]) if is_program(program))
}

/// Finds what has to be changed in one text.
struct Editor<'a> {
    text: &'a str,
    form: &'a Form,
}

impl Editor<'_> {
    fn wrap(&self, entry: &Field, guard: &Guard<'_>) -> Result<Vec<Edit>, String> {
        if is_guarded(entry, self.form) {
            return Ok(Vec::new());
        }
        let name = entry.name.as_str();
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_control) {
            return Err("its name cannot stand on a command line".into());
        }
        let address = self.form.address.and_then(|key| entry.value.field(key));
        match (entry.value.field("command"), address) {
            (Some(_), Some(_)) => Err("it has both a command and an address".into()),
            (Some(command), None) if self.form.is_one_list => self.wrap_list(name, command, guard),
            (Some(command), None) => self.wrap_command(name, command, entry.value.field("args"), guard),
            (None, Some(address)) => self.wrap_address(entry, address, guard),
            (None, None) => Err("it has neither a command nor an address that Lockgate can reach".into()),
        }
    }

    fn wrap_list(&self, name: &str, command: &Field, guard: &Guard<'_>) -> Result<Vec<Edit>, String> {
        if command.value.texts().is_none_or(|words| words.is_empty()) {
            return Err("its `command` is not a list of strings".into());
        }
        let words = [literal(guard.program), words(name, guard, false), literal("--")].join(", ");
        Ok(Vec::from([(self.inside_start(&command.value)?, format!("{words}, "))]))
    }

    fn wrap_command(
        &self,
        name: &str,
        command: &Field,
        args: Option<&Field>,
        guard: &Guard<'_>,
    ) -> Result<Vec<Edit>, String> {
        if command.value.text().is_none_or(str::is_empty) {
            return Err("its `command` is not a string".into());
        }
        let run = [words(name, guard, args.is_none()), literal("--"), self.raw(&command.value)].join(", ");
        let program = (command.value.range.clone(), literal(guard.program));
        if let Some(args) = args {
            let Some(old) = args.value.texts() else {
                return Err("its `args` is not a list of strings".into());
            };
            let comma = if old.is_empty() { "" } else { ", " };
            return Ok(Vec::from([program, (self.inside_start(&args.value)?, format!("{run}{comma}"))]));
        }
        let (range, program) = program;
        Ok(match self.form.syntax {
            Syntax::Json => Vec::from([(range, format!("{program}, \"args\": [{run}]"))]),
            Syntax::Toml => {
                let made = format!("args = [{run}]{}", self.separator(command)?);
                Vec::from([(range, program), (command.key.start..command.key.start, made)])
            }
        })
    }

    fn wrap_address(&self, entry: &Field, address: &Field, guard: &Guard<'_>) -> Result<Vec<Edit>, String> {
        let Some(url) = address.value.text() else { return Err("its address is not a string".into()) };
        let is_known = |field: &&Field| field.name == address.name || HARMLESS.contains(&field.name.as_str());
        if let Some(other) = entry.value.fields().iter().find(|field| !is_known(field)) {
            return Err(format!("what `{}` says is for the client alone", other.name));
        }
        if !is_on_this_machine(url) {
            return Err("whether the client has to sign in there is known to the client alone".into());
        }
        let kind = entry.value.field("type");
        let kind = match (kind, self.form.kinds) {
            (None, _) => None,
            (Some(kind), Some((remote, local))) if self.raw(&kind.value) == remote => {
                Some((kind.value.range.clone(), local.to_owned()))
            }
            (Some(kind), _) => {
                let kind = kind.value.text().unwrap_or("something else");
                return Err(format!("its type is `{kind}`"));
            }
        };
        if self.text.get(address.key.clone()) != Some(&self.key(&address.name)) {
            return Err(format!("`{}` is written in an unusual way", address.name));
        }
        let words = [words(&entry.name, guard, false), literal("--url"), self.raw(&address.value)].join(", ");
        let program = literal(guard.program);
        let (key, value, before) = match self.form.is_one_list {
            true => ("command", format!("[{program}, {words}]"), String::new()),
            false => {
                let before = format!("{}{program}{}", self.assigned("command"), self.separator(address)?);
                ("args", format!("[{words}]"), before)
            }
        };
        let edits = [
            (address.key.clone(), format!("{before}{}", self.key(key))),
            (address.value.range.clone(), value),
        ];
        Ok(edits.into_iter().chain(kind).collect())
    }

    fn unwrap(&self, entry: &Field) -> Result<Vec<Edit>, Mistake> {
        let Some(Ours { words, mark, .. }) = ours(entry, self.form) else { return Ok(Vec::new()) };
        let (Some(command), Some(own)) = (entry.value.field("command"), words.get(mark.at + 1)) else {
            return Ok(Vec::new());
        };
        let list = match entry.value.field("args") {
            Some(args) if !self.form.is_one_list => args,
            _ => command,
        };
        if mark.is_address {
            return self.unwrap_address(entry, command, list, own);
        }
        let raw = self.raw(own);
        if self.form.is_one_list {
            // The command itself stays in the list.
            return Ok(words
                .get(mark.at)
                .map(|last| self.cut_front(&list.value, last, true))
                .into_iter()
                .collect());
        }
        let is_next = |first: &Field, second: &Field| {
            let fields = entry.value.fields();
            let at = |field: &Field| fields.iter().position(|it| it.key == field.key);
            at(first).map(|at| at + 1) == at(second)
        };
        let has_more = words.len() > mark.at + 2;
        Ok(match self.form.syntax {
            Syntax::Json if mark.is_made && !has_more && is_next(command, list) => {
                Vec::from([(command.value.range.start..list.value.range.end, raw)])
            }
            Syntax::Toml if mark.is_made && !has_more && is_next(list, command) => Vec::from([
                (list.key.start..command.key.start, String::new()),
                (command.value.range.clone(), raw),
            ]),
            _ => Vec::from([(command.value.range.clone(), raw), self.cut_front(&list.value, own, has_more)]),
        })
    }

    fn unwrap_address(
        &self,
        entry: &Field,
        command: &Field,
        list: &Field,
        own: &Node,
    ) -> Result<Vec<Edit>, Mistake> {
        let Some(address) = self.form.address else { return Ok(Vec::new()) };
        let mut edits =
            Vec::from([(list.key.clone(), self.key(address)), (list.value.range.clone(), self.raw(own))]);
        if !self.form.is_one_list {
            let fields = entry.value.fields();
            let is_command = |field: &Field| field.key == command.key;
            let next = fields.iter().position(is_command).and_then(|at| fields.get(at + 1));
            if next.is_none_or(|next| next.key != list.key) {
                let reason =
                    format!("`command` and `args` of `{}` do not stand together any more", entry.name);
                let line = line_at(self.text, command.key.start);
                return Err(Mistake::new(line, reason, "put `args` right behind `command`"));
            }
            if let Some((key, _)) = edits.first_mut() {
                key.start = command.key.start;
            }
        }
        if let (Some(kind), Some((remote, local))) = (entry.value.field("type"), self.form.kinds)
            && self.raw(&kind.value) == local
        {
            edits.push((kind.value.range.clone(), remote.to_owned()));
        }
        Ok(edits)
    }

    /// Cuts our words off the front of a list, with the comma and the blank that were put behind them.
    fn cut_front(&self, list: &Node, last: &Node, has_more: bool) -> Edit {
        let behind = self.text.get(last.range.end..list.range.end).unwrap_or_default();
        let next = list.items().iter().find(|item| item.range.start >= last.range.end);
        let end = match (behind.strip_prefix(','), next) {
            (Some(rest), _) => last.range.end + 1 + usize::from(has_more && rest.starts_with(' ')),
            // The list was written anew, with something before the comma.
            (None, Some(next)) => next.range.start,
            (None, None) => last.range.end,
        };
        (list.range.start + 1..end, String::new())
    }

    /// Where the first item of a list may be put.
    fn inside_start(&self, list: &Node) -> Result<Range<usize>, String> {
        let start = list.range.start + 1;
        match self.text.get(list.range.start..start) {
            Some("[") => Ok(start..start),
            _ => Err("its list of words is written in an unusual way".into()),
        }
    }

    /// A value as it is written.
    fn raw(&self, value: &Node) -> String {
        self.text.get(value.range.clone()).unwrap_or_default().to_owned()
    }

    fn key(&self, name: &str) -> String {
        match self.form.syntax {
            Syntax::Json => literal(name),
            Syntax::Toml => name.to_owned(),
        }
    }

    fn assigned(&self, name: &str) -> String {
        match self.form.syntax {
            Syntax::Json => format!("{}: ", self.key(name)),
            Syntax::Toml => format!("{name} = "),
        }
    }

    /// What stands between a field that is put before this one and this one.
    fn separator(&self, field: &Field) -> Result<String, String> {
        if self.form.syntax == Syntax::Json {
            return Ok(", ".into());
        }
        let before = self.text.get(..field.key.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        match line.trim_end_matches([' ', '\t']) {
            "" => Ok(format!("{}{line}", line_end(self.text))),
            inline if inline.ends_with(['{', ',']) => Ok(", ".into()),
            _ => Err("it is written with dotted keys".into()),
        }
    }
}

/// Our words up to the mark, as they stand in a list.
fn words(name: &str, guard: &Guard<'_>, is_made: bool) -> String {
    let named = if is_made {
        Vec::from([format!("--name={name}")])
    } else {
        Vec::from(["--name".to_owned(), name.to_owned()])
    };
    let host = guard.host.into_iter().flat_map(|host| ["--host".to_owned(), host.to_owned()]);
    let all = std::iter::once("mcp".to_owned()).chain(named).chain(host);
    all.map(|word| literal(&word)).collect::<Vec<_>>().join(", ")
}

/// A text as both JSON and TOML write it.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether an address is one of this machine's own, where no sign-in is needed.
fn is_on_this_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return false;
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|sign| sign.is_ascii_digit()) => host,
        _ => authority,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}

#[cfg(test)]
mod tests;
