//! Lists of tools, as the client and the model see them.
//!
//! A definition that has changed since it was first seen is kept from the model until a human has looked at it; a tool
//! that no session can ever call is marked or removed. What a server says about its tools can add restrictions, never
//! lift them. An unchanged list passes byte for byte.

use lockgate::engine::call::{visible, warnings};
use serde_json::{Map, Value};

use super::{
    config::DeadTools,
    context::{TOOLS_MAX, ToolFacts},
    state::{Action, Handling, Relay, to_client},
};
use crate::{
    message::{Id, Malformed, Members, Message, read_value, to_raw},
    pins::ShownTool,
    protocol::{INTERNAL_ERROR, error},
};

/// Names the argument; the transport adds the prefix of the HTTP header.
const HEADER_KEY: &str = "x-mcp-header";

impl Relay {
    /// A page of the server's tools.
    pub(super) fn listed(
        &mut self,
        id: &Id,
        is_first: bool,
        message: &Message<'_>,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let Some(raw) = message.members.get("result") else { return Handling::Pass };
        let changed = Members::read(raw.get()).and_then(|result| self.shown(is_first, result));
        match changed {
            Ok(None) => Handling::Pass,
            Ok(Some(result)) => {
                let mut members = message.members.clone();
                members.set("result", result.to_raw());
                actions.push(to_client(members.to_text(), Some(id)));
                Handling::Done
            }
            Err(malformed) => {
                let reason = format!("Lockgate: the server's list of tools cannot be shown: {malformed}");
                self.context.log(&visible(&reason));
                actions.push(to_client(error(Some(id), INTERNAL_ERROR, &reason), Some(id)));
                Handling::Done
            }
        }
    }

    /// The page as the client may see it; none where that is the page itself.
    fn shown<'m>(
        &mut self,
        is_first: bool,
        mut result: Members<'m>,
    ) -> Result<Option<Members<'m>>, Malformed> {
        let tools = tools(&result)?;
        let is_last = result.get("nextCursor").is_none_or(|cursor| cursor.get() == "null");
        self.remember(&tools, is_first, is_last);
        let shown = match self.context.pins() {
            None => tools.iter().map(|_| ShownTool::AsIs).collect(),
            Some(mut pins) => pins.take_in(&tools, is_first).map_err(|error| Malformed(error.to_string()))?,
        };
        let config = &self.context.config;
        let names: Vec<String> = tools.iter().map(|tool| config.naming.judged(name_of(tool))).collect();
        let dead = match config.dead_tools {
            DeadTools::Show => names.iter().map(|_| None).collect(),
            DeadTools::Mark | DeadTools::Hide => config.environment.dead(&names),
        };
        let mut is_changed = false;
        let mut seen = Vec::with_capacity(tools.len());
        for ((tool, shown), dead) in tools.into_iter().zip(shown).zip(dead) {
            let mut tool = match shown {
                ShownTool::AsIs => tool,
                ShownTool::Instead(other) => {
                    is_changed = true;
                    other
                }
            };
            if let Some(why) = dead {
                is_changed = true;
                if config.dead_tools == DeadTools::Hide {
                    continue;
                }
                mark(&mut tool, &why);
            }
            seen.push(tool);
        }
        if !is_changed {
            return Ok(None);
        }
        result.set("tools", to_raw(&seen));
        if result.get("cacheScope").is_some() {
            // What is left of a list is for this client, under this policy.
            result.set("cacheScope", to_raw(&"private"));
        }
        Ok(Some(result))
    }

    fn remember(&mut self, tools: &[Map<String, Value>], is_first: bool, is_last: bool) {
        if is_first {
            self.tools.clear();
        }
        let config = &self.context.config;
        for tool in tools {
            self.context.remember_tool(name_of(tool), facts_of(tool));
            if self.tools.len() < TOOLS_MAX {
                self.tools.push(config.naming.judged(name_of(tool)));
            }
        }
        if is_last {
            config.environment.listed(&self.tools);
        }
    }
}

fn mark(tool: &mut Map<String, Value>, why: &str) {
    let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
    let marked = format!("[Lockgate never lets this tool run: {why}] {description}");
    tool.insert("description".to_owned(), marked.trim_end().into());
}

fn tools(result: &Members<'_>) -> Result<Vec<Map<String, Value>>, Malformed> {
    let Some(raw) = result.get("tools") else { return Err(Malformed("`tools` is missing".into())) };
    let Value::Array(tools) = read_value("tools", raw)? else {
        return Err(Malformed("`tools` is not a list".into()));
    };
    let object = |tool| match tool {
        Value::Object(tool) if !name_of(&tool).is_empty() => Ok(tool),
        _ => Err(Malformed("a tool has no name".into())),
    };
    tools.into_iter().map(object).collect()
}

fn name_of(tool: &Map<String, Value>) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn facts_of(tool: &Map<String, Value>) -> ToolFacts {
    let says = |hint: &str| tool.get("annotations").and_then(|it| it.get(hint)?.as_bool());
    let properties = tool.get("inputSchema").and_then(|schema| schema.get("properties")?.as_object());
    let header = |(argument, schema): (&String, &Value)| {
        Some((argument.clone(), schema.get(HEADER_KEY)?.as_str()?.to_owned()))
    };
    ToolFacts {
        warnings: warnings(says).collect(),
        mirrored: properties.into_iter().flatten().filter_map(header).collect(),
    }
}
