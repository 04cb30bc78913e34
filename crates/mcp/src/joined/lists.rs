//! How what several servers say becomes one.
//! The greeting joins those of all servers; lists keep every entry unchanged except for its name. This file does not
//! know the owners of entries.

use std::collections::HashMap;

use serde_json::{Map, Value, json, value::RawValue};

use crate::message::{Members, Message, read_object, to_raw};

/// The longest instructions that one server may add, in bytes.
pub(super) const INSTRUCTIONS_BYTES_MAX: usize = 64 * 1024;

/// What servers list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
    Tasks,
}

impl List {
    const ALL: [Self; 5] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates, Self::Tasks];

    pub(super) fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    pub(super) fn of_change(method: &str) -> Option<Self> {
        [Self::Tools, Self::Prompts, Self::Resources].into_iter().find(|list| list.change() == method)
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Tasks => "tasks/list",
        }
    }

    /// The notification that the list has changed. There is none for tasks.
    pub(super) fn change(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
            Self::Tasks => "",
        }
    }

    /// What holds the entries in an answer.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Tasks => "tasks",
        }
    }

    /// What a server says it has if it can be asked for the list.
    pub(super) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
            Self::Tasks => "tasks",
        }
    }
}

/// What identifies an entry.
pub(super) fn name_of(list: List, item: &RawValue) -> Option<String> {
    let key = match list {
        List::Tools | List::Prompts => "name",
        List::Resources => "uri",
        List::Templates => "uriTemplate",
        List::Tasks => "taskId",
    };
    Members::read(item.get()).ok()?.text(key).ok()?
}

/// The entry under another name.
pub(super) fn renamed(item: &RawValue, name: &str) -> Option<Box<RawValue>> {
    let mut members = Members::read(item.get()).ok()?;
    members.set("name", to_raw(&name));
    Some(members.to_raw())
}

/// The task that an answer says was started.
pub(super) fn task_in(message: &Message<'_>) -> Option<String> {
    let result = message.members.get("result")?;
    if !result.get().contains("taskId") {
        return None;
    }
    let result = Members::read(result.get()).ok()?;
    let inside = |raw: &RawValue| Members::read(raw.get()).ok()?.text("taskId").ok()?;
    result.get("task").and_then(inside).or_else(|| result.text("taskId").ok()?)
}

/// Whose template an address was made from: the one that says most of it. None where two servers say as much.
pub(super) fn owner_by_template(templates: &HashMap<String, usize>, uri: &str) -> Option<usize> {
    let said = |template: &str| {
        let (before, rest) = template.split_once('{')?;
        let (_, after) = rest.rsplit_once('}')?;
        let is_like = !before.is_empty() && uri.strip_prefix(before)?.ends_with(after);
        is_like.then_some(before.len() + after.len())
    };
    let fitting = templates.iter().filter_map(|(template, server)| Some((said(template)?, *server)));
    let fitting: Vec<(usize, usize)> = fitting.collect();
    let most = fitting.iter().map(|(said, _)| *said).max()?;
    let mut owners = fitting.into_iter().filter(|(said, _)| *said == most).map(|(_, server)| server);
    let owner = owners.next()?;
    owners.all(|other| other == owner).then_some(owner)
}

/// How a server answers `initialize`.
#[derive(Clone, Debug)]
pub(super) struct Greeting {
    version: String,
    pub(super) capabilities: Map<String, Value>,
    instructions: Option<String>,
}

impl Greeting {
    pub(super) fn read(result: &RawValue) -> Result<Self, String> {
        let greeting = read_object("result", result).map_err(|malformed| malformed.to_string())?;
        let version =
            greeting.get("protocolVersion").and_then(Value::as_str).filter(|version| is_date(version));
        let version = version.ok_or("it names no revision of the protocol")?.to_owned();
        let capabilities = match greeting.get("capabilities") {
            Some(Value::Object(capabilities)) => capabilities.clone(),
            _ => return Err("it does not say what it can do".to_owned()),
        };
        let instructions = greeting.get("instructions").and_then(Value::as_str).map(str::to_owned);
        if instructions.as_ref().is_some_and(|text| text.len() > INSTRUCTIONS_BYTES_MAX) {
            return Err(format!("its instructions are longer than {INSTRUCTIONS_BYTES_MAX} bytes"));
        }
        Ok(Self { version, capabilities, instructions })
    }
}

/// Revisions are days, so that the lower one is the older one.
fn is_date(version: &str) -> bool {
    let like = |(byte, like): (u8, u8)| if like == b'-' { byte == b'-' } else { byte.is_ascii_digit() };
    version.len() == 10 && version.bytes().zip(*b"0000-00-00").all(like)
}

/// The greetings of servers as one; none where there are none.
pub(super) fn greeting(greetings: &[(String, Greeting)]) -> Option<Value> {
    let version = greetings.iter().map(|(_, greeting)| &greeting.version).min()?;
    let mut capabilities = Map::new();
    let mut instructions = Vec::new();
    for (name, greeting) in greetings {
        unite(&mut capabilities, &greeting.capabilities);
        instructions
            .extend(greeting.instructions.as_ref().map(|text| format!("# {name}\n\n{}", text.trim())));
    }
    for list in [List::Tools, List::Prompts, List::Resources] {
        // Any of them may end, and then its entries vanish.
        if let Some(Value::Object(has)) = capabilities.get_mut(list.capability()) {
            has.insert("listChanged".to_owned(), true.into());
        }
    }
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": { "name": "lockgate", "version": env!("CARGO_PKG_VERSION") },
    });
    if let (false, Value::Object(result)) = (instructions.is_empty(), &mut result) {
        result.insert("instructions".to_owned(), instructions.join("\n\n").into());
    }
    Some(result)
}

/// Adds what another one can do.
fn unite(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (all.get_mut(name), value) {
            (Some(Value::Object(all)), Value::Object(more)) => unite(all, more),
            (Some(Value::Bool(all)), Value::Bool(more)) => *all |= more,
            (Some(_), _) => {}
            (None, _) => {
                all.insert(name.clone(), value.clone());
            }
        }
    }
}
