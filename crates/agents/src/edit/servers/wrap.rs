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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        agents::{
            claude_code::SERVERS as CLAUDE_CODE, codex::SERVERS as CODEX, copilot::SERVERS as COPILOT,
            gemini_cli::SERVERS as GEMINI_CLI, opencode::SERVERS as OPENCODE,
        },
        install::CLAUDE_DESKTOP,
    };

    const MOST: Form = Form::of_most();

    const GUARD: Guard<'_> = Guard { program: "/opt/my tools/lockgate", host: Some("claude-code") };

    fn wrapped_text(text: &str, form: &Form) -> String {
        wrapped(text, form, &GUARD).unwrap().0
    }

    #[test]
    fn a_server_that_is_run_is_run_by_lockgate_and_all_else_stays() {
        let text = r#"{
  // what I use
  "mcpServers": {
    "fs": {
      "command": "npx", // from npm
      "args": ["-y", "x"],
      "env": {"TOKEN": "t"},
    },
    "bare": {"type": "stdio", "command": "srv"},
    "multi": {"args": [
      "a"
    ], "command": "s\u0072v"},
    "none": {"command": "srv", "args": []}
  }
}
"#;
        insta::assert_snapshot!(wrapped_text(text, &MOST).replace(", \n", ",\n"), @r#"
        {
          // what I use
          "mcpServers": {
            "fs": {
              "command": "/opt/my tools/lockgate", // from npm
              "args": ["mcp", "--name", "fs", "--host", "claude-code", "--", "npx", "-y", "x"],
              "env": {"TOKEN": "t"},
            },
            "bare": {"type": "stdio", "command": "/opt/my tools/lockgate", "args": ["mcp", "--name=bare", "--host", "claude-code", "--", "srv"]},
            "multi": {"args": ["mcp", "--name", "multi", "--host", "claude-code", "--", "s\u0072v",
              "a"
            ], "command": "/opt/my tools/lockgate"},
            "none": {"command": "/opt/my tools/lockgate", "args": ["mcp", "--name", "none", "--host", "claude-code", "--", "srv"]}
          }
        }
        "#);
    }

    #[test]
    fn toml_is_wrapped_like_json() {
        let text = r#"model = "x"
[mcp_servers.fs]
command = 'npx' # from npm
args = [
  "-y", # yes
  "x",
]
env = { TOKEN = "t" }

[mcp_servers."a b"]
  command = "srv"
[mcp_servers.local]
url = "http://127.0.0.1:8000/mcp"
tool_timeout_sec = 5
[mcp_servers]
inline = { command = "srv" }
dotted.command = "srv"
dotted.args = []
"#;
        insta::assert_snapshot!(wrapped_text(text, &CODEX).replace(", \n", ",\n"), @r#"
        model = "x"
        [mcp_servers.fs]
        command = "/opt/my tools/lockgate" # from npm
        args = ["mcp", "--name", "fs", "--host", "claude-code", "--", 'npx',
          "-y", # yes
          "x",
        ]
        env = { TOKEN = "t" }

        [mcp_servers."a b"]
          args = ["mcp", "--name=a b", "--host", "claude-code", "--", "srv"]
          command = "/opt/my tools/lockgate"
        [mcp_servers.local]
        command = "/opt/my tools/lockgate"
        args = ["mcp", "--name", "local", "--host", "claude-code", "--url", "http://127.0.0.1:8000/mcp"]
        tool_timeout_sec = 5
        [mcp_servers]
        inline = { args = ["mcp", "--name=inline", "--host", "claude-code", "--", "srv"], command = "/opt/my tools/lockgate" }
        dotted.command = "/opt/my tools/lockgate"
        dotted.args = ["mcp", "--name", "dotted", "--host", "claude-code", "--", "srv"]
        "#);
        assert_eq!(unwrapped(&wrapped_text(text, &CODEX), &CODEX).unwrap(), text);
    }

    #[test]
    fn a_server_of_this_machine_is_reached_by_lockgate() {
        let rows = [
            (
                &MOST,
                r#"{"mcpServers": {"a": {"type": "http", "url" : "http://localhost:1/mcp", "timeout": 5}}}"#,
                r#"{"mcpServers": {"a": {"type": "stdio", "command": "L", "args" : ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://localhost:1/mcp"], "timeout": 5}}}"#,
            ),
            (
                &COPILOT,
                r#"{"mcpServers": {"a": {"type": "http", "url": "http://[::1]:1/mcp", "tools": ["*"]}}}"#,
                r#"{"mcpServers": {"a": {"type": "local", "command": "L", "args": ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://[::1]:1/mcp"], "tools": ["*"]}}}"#,
            ),
            (
                &GEMINI_CLI,
                r#"{"mcpServers": {"a": {"httpUrl": "http://127.0.0.1/mcp"}}}"#,
                r#"{"mcpServers": {"a": {"command": "L", "args": ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://127.0.0.1/mcp"]}}}"#,
            ),
            (
                &OPENCODE,
                r#"{"mcp": {"a": {"type": "remote", "url": "http://localhost/mcp", "enabled": true}}}"#,
                r#"{"mcp": {"a": {"type": "local", "command": ["L", "mcp", "--name", "a", "--host", "claude-code", "--url", "http://localhost/mcp"], "enabled": true}}}"#,
            ),
            (
                &OPENCODE,
                r#"{"mcp": {"a": {"type": "local", "command": ["npx", "x"], "environment": {}}}}"#,
                r#"{"mcp": {"a": {"type": "local", "command": ["L", "mcp", "--name", "a", "--host", "claude-code", "--", "npx", "x"], "environment": {}}}}"#,
            ),
            (
                &CLAUDE_CODE,
                r#"{"projects": {"/p": {"mcpServers": {"a": {"command": "x"}}}}, "mcpServers": {}}"#,
                r#"{"projects": {"/p": {"mcpServers": {"a": {"command": "L", "args": ["mcp", "--name=a", "--host", "claude-code", "--", "x"]}}}}, "mcpServers": {}}"#,
            ),
        ];
        for (form, before, after) in rows {
            assert_eq!(wrapped_text(before, form), after.replace("\"L\"", &literal(GUARD.program)));
            assert_eq!(unwrapped(&wrapped_text(before, form), form).unwrap(), before);
        }
    }

    #[test]
    fn what_only_the_client_can_do_is_left_and_named() {
        let rows = [
            (&MOST, r#"{"url": "https://example.com/mcp"}"#, "sign in"),
            (&MOST, r#"{"url": "http://localhost.example.com/mcp"}"#, "sign in"),
            (&MOST, r#"{"url": "http://localhost@example.com/mcp"}"#, "sign in"),
            (&MOST, r#"{"url": "http://${HOST}/mcp"}"#, "sign in"),
            (&MOST, r#"{"url": "http://localhost/mcp", "headers": {}}"#, "`headers`"),
            (&MOST, r#"{"url": "http://localhost/mcp", "oauth": {}}"#, "`oauth`"),
            (&MOST, r#"{"url": "http://localhost/mcp", "type": "sse"}"#, "`sse`"),
            (&MOST, r#"{"url": "http://localhost/mcp", "command": "x"}"#, "both"),
            (&MOST, r#"{"\u0075rl": "http://localhost/mcp"}"#, "unusual"),
            (&MOST, r#"{"url": 1}"#, "not a string"),
            (&MOST, r#"{"command": ["x"]}"#, "not a string"),
            (&MOST, r#"{"command": ""}"#, "not a string"),
            (&MOST, r#"{"command": "x", "args": [1]}"#, "not a list"),
            (&MOST, r#"{"command": "x", "args": null}"#, "not a list"),
            (&MOST, r#"{}"#, "neither"),
            (&MOST, r#"null"#, "neither"),
            (&GEMINI_CLI, r#"{"url": "http://localhost/sse"}"#, "neither"),
            (&CLAUDE_DESKTOP, r#"{"url": "http://localhost/mcp"}"#, "neither"),
        ];
        for (form, entry, why) in rows {
            let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
            let (after, left) = wrapped(&text, form, &GUARD).unwrap();
            assert_eq!(after, text);
            assert!(
                matches!(left.as_slice(), [it] if it.name == "a" && it.why.contains(why)),
                "{entry}: {left:?}"
            );
        }
        for name in ["", "-x", "a\\nb"] {
            let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#);
            assert_eq!(wrapped(&text, &MOST, &GUARD).unwrap().1.len(), 1, "{name}");
        }
        let dotted = "mcp_servers.a.command = \"x\"\n";
        let (after, left) = wrapped(dotted, &CODEX, &GUARD).unwrap();
        assert!(after == dotted && left.len() == 1, "{after} {left:?}");
    }

    #[test]
    fn words_of_a_user_s_own_are_not_touched() {
        for args in [
            r#"["mcp", "--policy", "x", "--", "npx"]"#,
            r#"["mcp", "--config", "f"]"#,
            r#"["mcp", "--name", "a", "--url", "u", "--memory"]"#,
        ] {
            let text = format!(r#"{{"mcpServers": {{"a": {{"command": "lockgate", "args": {args}}}}}}}"#);
            assert_eq!(wrapped(&text, &MOST, &GUARD).unwrap(), (text.clone(), Vec::new()));
            assert_eq!(unwrapped(&text, &MOST).unwrap(), text);
        }
    }

    #[test]
    fn another_program_is_put_in_the_older_one_s_place() {
        let text = r#"{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}"#;
        let older = Guard { program: "/old/lockgate", host: None };
        let (older, _) = wrapped(text, &MOST, &older).unwrap();
        assert!(older.contains("/old/lockgate"));
        assert_eq!(wrapped_text(&older, &MOST), wrapped_text(text, &MOST));
    }

    #[test]
    fn what_a_client_has_written_anew_is_still_unwrapped() {
        let text = r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}, "b": {"command": "y"}, "c": {"type": "http", "url": "http://localhost"}, "d": {"command": "z", "args": []}}}"#;
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let anew = serde_json::to_string_pretty(&value(&wrapped_text(text, &MOST))).unwrap();
        assert_eq!(value(&unwrapped(&anew, &MOST).unwrap()), value(text));
        let anew = anew.replace("\"x\"\n", "\"x\",\n").replace("\"y\"\n", "\"y\" , // why\n");
        let read = |text: &str| crate::edit::whole(text).unwrap();
        assert_eq!(Value::Object(read(&unwrapped(&anew, &MOST).unwrap())), value(text));
    }

    #[test]
    fn a_file_that_cannot_be_read_in_one_way_is_told() {
        for (text, form, line, reason) in [
            ("{\n\"mcpServers\": ", &MOST, 2, "it is not JSON"),
            ("{\"mcpServers\": {\"a\": {},\n\"a\": {}}}", &MOST, 2, "`a` stands there twice"),
            (
                "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"command\": \"y\"}}}",
                &MOST,
                2,
                "`command` stands",
            ),
            ("[mcp_servers.a]\ncommand = ", &CODEX, 2, "it is not TOML"),
        ] {
            let mistake = wrapped(text, form, &GUARD).unwrap_err();
            assert!(mistake.line == line && mistake.reason.starts_with(reason), "{text}: {mistake:?}");
        }
        for text in ["{}", "{\"mcpServers\": []}", "{\"mcpServers\": {}}", "{\"projects\": {\"p\": 1}}"] {
            assert_eq!(wrapped(text, &CLAUDE_CODE, &GUARD).unwrap(), (text.to_owned(), Vec::new()));
        }
    }

    /// White space and comments, as people leave them.
    fn blank() -> impl Strategy<Value = String> {
        let part =
            prop::sample::select(vec!["", " ", "  ", "\n", "\t", "\r\n  ", "/* ], \" */", "// \" , ä\n"]);
        prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
    }

    fn entry() -> impl Strategy<Value = String> {
        let word = || {
            let words = vec![
                "\"npx\"",
                "\"-y\"",
                "\"--\"",
                "\"a b\"",
                "\"\\u0041\"",
                "\"--url\"",
                "\"mcp\"",
                "\"--name\"",
                "\"/x/lockgate\"",
            ];
            prop::sample::select(words).prop_map(str::to_owned)
        };
        let args = (prop::collection::vec((blank(), word(), blank()), 0..4), any::<bool>(), blank())
            .prop_map(|(words, comma, tail)| {
                let words: Vec<String> =
                    words.into_iter().map(|(a, word, b)| format!("{a}{word}{b}")).collect();
                let comma = if comma && !words.is_empty() { "," } else { "" };
                format!("\"args\":[{}{comma}{tail}]", words.join(","))
            });
        let command = (blank(), word()).prop_map(|(a, word)| format!("\"command\"{a}:{word}"));
        let address = prop::sample::select(vec!["http://localhost:1", "https://far"]);
        let address = (blank(), address).prop_map(|(a, url)| format!("\"url\":{a}\"{url}\""));
        let kind = prop::sample::select(vec!["http", "stdio", "sse"])
            .prop_map(|kind| format!("\"type\": \"{kind}\""));
        let other = Just("\"env\": {\"A\": [1, {}]}".to_owned());
        let some = |it: BoxedStrategy<String>| prop::option::of(it);
        let fields = (
            some(command.boxed()),
            some(args.boxed()),
            some(address.boxed()),
            some(kind.boxed()),
            some(other.boxed()),
        );
        let fields =
            fields.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect::<Vec<_>>());
        (fields.prop_shuffle(), blank(), blank(), any::<bool>()).prop_map(|(fields, a, b, comma)| {
            let comma = if comma && !fields.is_empty() { "," } else { "" };
            format!("{{{a}{}{b}{comma}}}", fields.join(&format!("{b},{a}")))
        })
    }

    fn settings() -> impl Strategy<Value = String> {
        prop::collection::vec((blank(), entry()), 0..4).prop_map(|entries| {
            let entries =
                entries.iter().enumerate().map(|(at, (blank, entry))| format!("{blank}\"s{at}\":{entry}"));
            format!("{{\"mcpServers\": {{{}}}}}", entries.collect::<Vec<_>>().join(","))
        })
    }

    /// A TOML file of servers, each with a command, some with arguments.
    fn toml_settings() -> impl Strategy<Value = String> {
        let word =
            || prop::sample::select(vec!["\"npx\"", "'-y'", "\"\"\"a\nb\"\"\"", "'''--'''", "\"\\u0041\""]);
        let blank = || prop::sample::select(vec!["", " ", "\n", "\t# ], \" ä\n", "\r\n  "]);
        let args = (prop::collection::vec((blank(), word(), blank()), 0..4), any::<bool>(), blank())
            .prop_map(|(words, comma, tail)| {
                let words: Vec<String> =
                    words.into_iter().map(|(a, word, b)| format!("{a}{word}{b}")).collect();
                let comma = if comma && !words.is_empty() { "," } else { "" };
                format!("args = [{}{comma}{tail}]", words.join(","))
            });
        let indent = prop::sample::select(vec!["", "  ", "\t"]);
        let end = prop::sample::select(vec!["\n", "\r\n", " # c\n", "\n\n"]);
        let server = (word(), prop::option::of(args), any::<bool>(), any::<bool>(), indent, end).prop_map(
            |(command, args, is_first, is_inline, indent, end)| {
                let mut fields = Vec::from([format!("command = {command}")]);
                fields.extend(args);
                if is_first {
                    fields.reverse();
                }
                (fields, is_inline, indent, end)
            },
        );
        prop::collection::vec(server, 0..4).prop_map(|servers| {
            let mut text = "model = \"x\"\n[mcp_servers]\n".to_owned();
            let (inline, tables): (Vec<_>, Vec<_>) =
                servers.into_iter().partition(|(_, is_inline, ..)| *is_inline);
            for (at, (fields, _, indent, end)) in inline.into_iter().enumerate() {
                text += &format!(
                    "{indent}i{at} = {{{indent}{}{indent}}}{end}",
                    fields.join(&format!(",{indent}"))
                );
            }
            for (at, (fields, _, indent, end)) in tables.into_iter().enumerate() {
                text += &format!("[mcp_servers.s{at}]{end}");
                text.extend(fields.iter().map(|field| format!("{indent}{field}{end}")));
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_file_that_was_wrapped_and_unwrapped_is_the_file_it_was(text in settings()) {
            let text = unwrapped(&text, &MOST).unwrap();
            let after = wrapped_text(&text, &MOST);
            prop_assert_eq!(wrapped_text(&after, &MOST), after.clone(), "twice is once");
            prop_assert_eq!(unwrapped(&after, &MOST).unwrap(), text);
        }

        #[test]
        fn so_is_one_in_toml(text in toml_settings()) {
            let after = wrapped_text(&text, &CODEX);
            prop_assert_eq!(wrapped_text(&after, &CODEX), after.clone(), "twice is once");
            prop_assert_eq!(unwrapped(&after, &CODEX).unwrap(), text);
        }

        #[test]
        fn what_was_run_is_still_run_behind_our_words(text in settings()) {
            let text = unwrapped(&text, &MOST).unwrap();
            let read = |text: &str| crate::edit::whole(text).unwrap();
            let (before, after) = (read(&text), read(&wrapped_text(&text, &MOST)));
            for (name, entry) in before["mcpServers"].as_object().unwrap() {
                let new = &after["mcpServers"][name];
                let args = new["args"].as_array().cloned().unwrap_or_default();
                if new == entry || entry.get("command").is_none() {
                    continue;
                }
                prop_assert_eq!(&new["command"], GUARD.program);
                let run: Vec<Value> = std::iter::once(entry["command"].clone())
                    .chain(entry["args"].as_array().cloned().unwrap_or_default()).collect();
                let at = args.iter().position(|word| word == "--").unwrap();
                prop_assert_eq!(&args[at + 1..], run.as_slice());
                prop_assert_eq!(&new["env"], &entry["env"]);
            }
        }
    }
}
