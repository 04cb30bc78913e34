//! The list of servers that users already have for their agent.
//!
//! [`read_servers`] understands `{"mcpServers": {…}}` (Claude, Cursor, Gemini and most others) and VS Code's
//! `{"servers": {…}}`, comments and trailing commas included. What would change which server is reached, or how, is an
//! error; what is merely unknown is noted. Questions to the user (`${input:…}`) and folders of an editor
//! (`${workspaceFolder}`) cannot be filled in here and are errors.

use std::path::PathBuf;

use lockgate::engine::call::{StrictJson, json_mistake};
use serde_json::{Map, Value};
use url::Url;

use crate::transport::ServerCommand;

/// How many servers one file may name.
pub const SERVERS_MAX: usize = 64;

/// The longest name of a server, in bytes.
const SERVER_NAME_BYTES_MAX: usize = 64;

/// The longest file, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerSpec {
    /// As a process.
    Command(ServerCommand),
    /// Over streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// What is sent along with each request.
        headers: Vec<(String, String)>,
    },
}

/// The servers of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Each with its name, in the order of the file; at least one.
    pub servers: Vec<(String, ServerSpec)>,
    /// What was left out of account, for people.
    pub notes: Vec<String>,
}

/// Why a list of servers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServersError(String);

/// Reads a list of servers. `variable` gives the value of an environment variable.
///
/// # Errors
/// When it is no such list, or one of its servers cannot be reached as it is described.
pub fn read_servers(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Servers, ServersError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(ServersError(format!("the file is longer than {FILE_BYTES_MAX} bytes")));
    }
    let read = serde_json::from_str::<StrictJson>(&without_comments(text));
    let StrictJson(file) =
        read.map_err(|error| ServersError(format!("the file is not JSON: {}", json_mistake(&error))))?;
    let entries = entries_of(&file)?;
    if entries.len() > SERVERS_MAX {
        return Err(ServersError(format!(
            "{} servers are named, and at most {SERVERS_MAX} can be",
            entries.len()
        )));
    }
    let mut found = Servers::default();
    for (name, entry) in entries {
        let fault = |what: String| ServersError(format!("server `{name}`: {what}"));
        check_server_name(name).map_err(fault)?;
        let entry = Entry {
            members: entry.as_object().ok_or_else(|| fault("it is not an object".into()))?,
            variable: &variable,
        };
        match entry.read().map_err(fault)? {
            Some(spec) => found.servers.push((name.clone(), spec)),
            None => found.notes.push(format!("server `{name}` is disabled and left out")),
        }
        let ignored =
            entry.unknown_keys().map(|key| format!("server `{name}`: `{key}` is not known and ignored"));
        found.notes.extend(ignored);
    }
    if found.servers.is_empty() {
        return Err(ServersError("no server is left: name one, or enable one that is disabled".into()));
    }
    Ok(found)
}

/// Whether this name can be the prefix of tool names, as in `name__tool`.
///
/// # Errors
/// Says what the name must be like.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > SERVER_NAME_BYTES_MAX || !name.bytes().all(plain) {
        return Err(format!("a name has 1 to {SERVER_NAME_BYTES_MAX} letters, digits, `-` or `_`"));
    }
    // `a_` with the tool `b` would read like `a` with the tool `_b`.
    if name.contains("__") || name.ends_with('_') {
        return Err("a name neither holds `__` nor ends in `_`: `__` separates a server and its tool".into());
    }
    Ok(())
}

fn entries_of(file: &Value) -> Result<&Map<String, Value>, ServersError> {
    let (key, entries) = match (file.get("mcpServers"), file.get("servers")) {
        (Some(_), Some(_)) => {
            return Err(ServersError(
                "the file has both `mcpServers` and `servers`: keep one of them".into(),
            ));
        }
        (Some(entries), None) => ("mcpServers", entries),
        (None, Some(entries)) => ("servers", entries),
        (None, None) => return Err(ServersError("the file has neither `mcpServers` nor `servers`".into())),
    };
    entries.as_object().ok_or_else(|| ServersError(format!("`{key}` is not an object")))
}

/// One server of the file.
struct Entry<'a, V> {
    members: &'a Map<String, Value>,
    variable: &'a V,
}

impl<'a, V: Fn(&str) -> Option<String>> Entry<'a, V> {
    /// How to reach it; none where it is disabled.
    fn read(&self) -> Result<Option<ServerSpec>, String> {
        match self.members.get("disabled") {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => return Ok(None),
            Some(_) => return Err("`disabled` is not a boolean".into()),
        }
        let kind = self.plain_text("type")?;
        match (kind, self.members.contains_key("command"), self.members.contains_key("url")) {
            (_, true, true) => Err("it has both `command` and `url`: keep one of them".into()),
            (None | Some("stdio"), true, false) => self.command().map(Some),
            (None | Some("http" | "streamable-http" | "streamableHttp"), false, true) => self.http().map(Some),
            (Some("sse"), ..) => {
                Err("`sse` is the HTTP transport of 2024, which is not supported: use the server's `http` address".into())
            }
            (Some("stdio"), ..) => Err("it has no `command`".into()),
            (Some("http" | "streamable-http" | "streamableHttp"), ..) => Err("it has no `url`".into()),
            (Some(kind), ..) => Err(format!("type `{kind}` is not known: use `stdio` or `http`")),
            (None, false, false) => Err("it has neither `command` nor `url`".into()),
        }
    }

    fn command(&self) -> Result<ServerSpec, String> {
        let program = self.text("command")?.unwrap_or_default();
        if program.is_empty() {
            return Err("`command` is empty".into());
        }
        let env = self.pairs("env")?;
        if let Some((name, _)) = env.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(format!("`{name}` cannot be the name of a variable"));
        }
        let folder = self.text("cwd")?.map(PathBuf::from);
        Ok(ServerSpec::Command(ServerCommand { program, args: self.list("args")?, env, folder }))
    }

    fn http(&self) -> Result<ServerSpec, String> {
        let url = self.text("url")?.unwrap_or_default();
        // An address may hold a secret, so it is not repeated.
        let scheme = Url::parse(&url).map_err(|error| format!("`url` is not a URL: {error}"))?;
        if !matches!(scheme.scheme(), "http" | "https") {
            return Err("`url` does not begin with `http://` or `https://`".into());
        }
        Ok(ServerSpec::Http { url, headers: self.pairs("headers")? })
    }

    fn plain_text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let read = |value: &'a Value| value.as_str().ok_or_else(|| format!("`{key}` is not a string"));
        self.members.get(key).map(read).transpose()
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        self.plain_text(key)?.map(|text| self.filled_in(text)).transpose()
    }

    fn list(&self, key: &str) -> Result<Vec<String>, String> {
        let Some(value) = self.members.get(key) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| format!("`{key}` is not a list"))?;
        let read = |item: &Value| match item.as_str() {
            Some(text) => self.filled_in(text),
            None => Err(format!("`{key}` has an item that is not a string")),
        };
        items.iter().map(read).collect()
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let Some(value) = self.members.get(key) else { return Ok(Vec::new()) };
        let members = value.as_object().ok_or_else(|| format!("`{key}` is not an object"))?;
        let read = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) => Ok((name.clone(), self.filled_in(text)?)),
            None => Err(format!("`{key}`: `{name}` is not a string")),
        };
        members.iter().map(read).collect()
    }

    /// The text with `${NAME}` and `${NAME:-otherwise}` replaced once; values are not looked into again.
    fn filled_in(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let Some((wanted, after)) = after.split_once('}') else {
                filled.push_str("${");
                rest = after;
                continue;
            };
            filled.push_str(&self.value_of(wanted)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value_of(&self, wanted: &str) -> Result<String, String> {
        let (name, otherwise) = match wanted.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (wanted, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(format!(
                "`${{{wanted}}}` cannot be filled in here: use a variable of the environment"
            ));
        }
        let value = (self.variable)(name).or_else(|| otherwise.map(str::to_owned));
        value
            .ok_or_else(|| format!("variable `{name}` is not set: set it, or write `${{{name}:-otherwise}}`"))
    }

    fn unknown_keys(&self) -> impl Iterator<Item = &'a String> {
        let known: &[&str] = match self.members.contains_key("command") {
            true => &["type", "disabled", "command", "args", "env", "cwd"],
            false => &["type", "disabled", "url", "headers"],
        };
        self.members.keys().filter(|key| !known.contains(&key.as_str()))
    }
}

/// The text with comments and trailing commas made blank, so that places in it stay the same.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    // The place of the last comma that only blanks and comments follow.
    let mut comma: Option<usize> = None;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if let Some(inside) = rest.strip_prefix("/*") => {
                inside.find("*/").map_or(rest.len(), |at| at + 4)
            }
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let is_comment = first == '/' && length > 1;
        if matches!(first, '}' | ']')
            && let Some(at) = comma
        {
            plain.replace_range(at..=at, " ");
        }
        if first == ',' {
            comma = Some(plain.len());
        } else if !first.is_ascii_whitespace() && !is_comment {
            comma = None;
        }
        if is_comment {
            plain.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            plain.push_str(piece);
        }
        rest = after;
    }
    plain
}

/// How long the text in quotes is that this begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = true;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            // The first one opens.
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Servers, ServersError> {
        read_servers(text, |name| match name {
            "TOKEN" => Some("secret".to_owned()),
            "NESTED" => Some("${TOKEN}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    fn one(entry: &str) -> Result<ServerSpec, String> {
        let found =
            read(&format!("{{\"mcpServers\": {{\"git\": {entry}}}}}")).map_err(|error| error.to_string())?;
        Ok(found.servers.into_iter().next().unwrap().1)
    }

    fn command(program: &str, args: &[&str]) -> ServerSpec {
        let args = args.iter().map(ToString::to_string).collect();
        ServerSpec::Command(ServerCommand { program: program.to_owned(), args, ..Default::default() })
    }

    fn http(url: &str) -> ServerSpec {
        ServerSpec::Http { url: url.to_owned(), headers: vec![] }
    }

    #[test]
    fn servers_are_reached_as_the_file_says() {
        let full = ServerSpec::Command(ServerCommand {
            program: "npx".to_owned(),
            args: vec!["-y".to_owned(), "server".to_owned()],
            env: vec![("KEY".to_owned(), "a secret b".to_owned())],
            folder: Some(PathBuf::from("/tmp")),
        });
        let headers = vec![("Authorization".to_owned(), "Bearer secret".to_owned())];
        let table = [
            (r#"{"command": "cat"}"#, command("cat", &[])),
            (r#"{"type": "stdio", "command": "cat", "args": []}"#, command("cat", &[])),
            (
                r#"{"command": "npx", "args": ["-y", "server"], "env": {"KEY": "a ${TOKEN} b"}, "cwd": "/tmp"}"#,
                full,
            ),
            (r#"{"type": "http", "url": "https://a.example/mcp"}"#, http("https://a.example/mcp")),
            (r#"{"type": "streamable-http", "url": "http://localhost:1"}"#, http("http://localhost:1")),
            (
                r#"{"url": "https://a.example", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}"#,
                ServerSpec::Http { url: "https://a.example".to_owned(), headers },
            ),
        ];
        for (entry, expected) in table {
            assert_eq!(one(entry), Ok(expected), "{entry}");
        }
    }

    #[test]
    fn variables_are_filled_in_once() {
        let table = [
            ("${TOKEN}", "secret"),
            ("a${TOKEN}b${TOKEN}", "asecretbsecret"),
            ("${NONE:-other}", "other"),
            ("${NONE:-}", ""),
            ("${EMPTY:-other}", ""),
            ("${TOKEN:-other}", "secret"),
            ("${NESTED}", "${TOKEN}"),
            ("$TOKEN ${TOKEN", "$TOKEN ${TOKEN"),
            ("${NONE:-http://a:1}", "http://a:1"),
        ];
        for (written, expected) in table {
            assert_eq!(
                one(&format!(r#"{{"command": "x", "args": ["{written}"]}}"#)),
                Ok(command("x", &[expected]))
            );
        }
    }

    #[test]
    fn what_would_change_the_server_is_an_error() {
        let table = [
            ("[]", "it is not an object"),
            ("{}", "it has neither `command` nor `url`"),
            (r#"{"command": ""}"#, "`command` is empty"),
            (r#"{"command": 1}"#, "`command` is not a string"),
            (r#"{"command": "x", "args": "y"}"#, "`args` is not a list"),
            (r#"{"command": "x", "args": [1]}"#, "`args` has an item that is not a string"),
            (r#"{"command": "x", "env": {"A": 1}}"#, "`env`: `A` is not a string"),
            (r#"{"command": "x", "env": {"A=B": ""}}"#, "`A=B` cannot be the name of a variable"),
            (r#"{"command": "x", "env": []}"#, "`env` is not an object"),
            (r#"{"command": "x", "cwd": null}"#, "`cwd` is not a string"),
            (r#"{"command": "x", "disabled": "yes"}"#, "`disabled` is not a boolean"),
            (r#"{"command": "x", "url": "http://a"}"#, "it has both `command` and `url`: keep one of them"),
            (r#"{"type": "stdio", "url": "http://a"}"#, "it has no `command`"),
            (r#"{"type": "http", "command": "x"}"#, "it has no `url`"),
            (r#"{"type": "ws", "url": "http://a"}"#, "type `ws` is not known: use `stdio` or `http`"),
            (
                r#"{"type": "sse", "url": "http://a"}"#,
                "`sse` is the HTTP transport of 2024, which is not supported: use the server's `http` address",
            ),
            (r#"{"url": "file:///etc"}"#, "`url` does not begin with `http://` or `https://`"),
            (r#"{"url": "a.example"}"#, "`url` is not a URL: relative URL without a base"),
            (r#"{"url": "http://a", "headers": {"A": true}}"#, "`headers`: `A` is not a string"),
            (
                r#"{"command": "${NONE}"}"#,
                "variable `NONE` is not set: set it, or write `${NONE:-otherwise}`",
            ),
            (
                r#"{"command": "x", "args": ["${input:key}"]}"#,
                "`${input:key}` cannot be filled in here: use a variable of the environment",
            ),
        ];
        for (entry, what) in table {
            assert_eq!(one(entry), Err(format!("server `git`: {what}")), "{entry}");
        }
    }

    #[test]
    fn files_that_are_no_list_are_errors() {
        let many = |n: usize| {
            let entries: Vec<_> = (0..n).map(|n| format!("\"s{n}\": {{\"command\": \"x\"}}")).collect();
            format!("{{\"mcpServers\": {{{}}}}}", entries.join(","))
        };
        assert_eq!(read(&many(SERVERS_MAX)).unwrap().servers.len(), SERVERS_MAX);
        let padded = |bytes: usize| many(1) + &" ".repeat(bytes - many(1).len());
        assert!(read(&padded(FILE_BYTES_MAX)).is_ok());
        let table = [
            ("{}".to_owned(), "the file has neither `mcpServers` nor `servers`"),
            ("[]".to_owned(), "the file has neither `mcpServers` nor `servers`"),
            (
                r#"{"mcpServers": {}, "servers": {}}"#.to_owned(),
                "the file has both `mcpServers` and `servers`: keep one of them",
            ),
            (r#"{"mcpServers": []}"#.to_owned(), "`mcpServers` is not an object"),
            (
                r#"{"mcpServers": {}}"#.to_owned(),
                "no server is left: name one, or enable one that is disabled",
            ),
            (many(SERVERS_MAX + 1), "65 servers are named, and at most 64 can be"),
            (padded(FILE_BYTES_MAX + 1), "the file is longer than 1048576 bytes"),
        ];
        for (text, what) in table {
            assert_eq!(read(&text).unwrap_err().to_string(), what);
        }
        let twice = read(r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#).unwrap_err();
        assert!(twice.to_string().contains("appears twice"), "{twice}");
    }

    #[test]
    fn names_keep_servers_and_tools_apart() {
        let longest = "n".repeat(SERVER_NAME_BYTES_MAX);
        for good in ["a", "_a", "a-b_c9", "-", &longest] {
            assert_eq!(check_server_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a b", "a.b", "ä", "a__b", "__a", "a_", "_", "a/b", &format!("{longest}n")] {
            assert!(check_server_name(bad).is_err(), "{bad}");
        }
        let error = read(r#"{"mcpServers": {"my server": {"command": "x"}}}"#).unwrap_err();
        assert_eq!(error.to_string(), "server `my server`: a name has 1 to 64 letters, digits, `-` or `_`");
    }

    #[test]
    fn what_is_left_out_of_account_is_noted() {
        let text = r#"
            // Of an editor.
            {
                "inputs": [],
                "servers": {
                    "off": {"type": "http", "url": "${NONE}", "disabled": true},
                    "on": {"type": "stdio", "command": "x", "alwaysAllow": ["y"], "url2": 1, /*/ "so" */ "args": ["//", "/*", ",]", "\"}",],},
                }, // the end
            }
        "#;
        let found = read(text).unwrap();
        assert_eq!(found.servers, [("on".to_owned(), command("x", &["//", "/*", ",]", "\"}"]))]);
        assert_eq!(
            found.notes,
            [
                "server `off` is disabled and left out",
                "server `on`: `alwaysAllow` is not known and ignored",
                "server `on`: `url2` is not known and ignored",
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn files_without_comments_are_read_as_they_are(value in ".{0,20}", other in ".{0,20}") {
            let file = serde_json::json!({"a": value, "b": [other, 1, {"/*": "//"}]}).to_string();
            assert_eq!(without_comments(&file), file);
        }

        #[test]
        fn no_text_stops_the_reader(text in "[ \\n\"\\\\/*,{}\\[\\]a$:é-]{0,40}") {
            without_comments(&text);
            let _ = read(&text);
        }
    }
}
