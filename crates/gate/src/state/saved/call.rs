//! A call at rest, in a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_call::{About, Call, DuplicateKey, SeenCall, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Serialize, Deserialize)]
pub(super) struct SavedCall {
    session: String,
    id: String,
    tool: String,
    input: Map<String, Value>,
    at_ms: u64,
    #[serde(default)]
    sender: Option<Value>,
    #[serde(default)]
    principal: Option<Value>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    environment: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    versions: Option<BTreeMap<String, Option<Vec<String>>>>,
    #[serde(rename = "sighting", default, skip_serializing_if = "Option::is_none")]
    duplicate_key: Option<SavedDuplicateKey>,
}

/// The door that saw a call first, and what tells it apart from others.
#[derive(Serialize, Deserialize)]
struct SavedDuplicateKey {
    door: Arc<str>,
    #[serde(rename = "told_apart_by", default, skip_serializing_if = "Vec::is_empty")]
    identifying_fields: Vec<String>,
}

impl SavedCall {
    pub(super) fn of(call: &SeenCall) -> Self {
        // What a door objects to is blocked, so nothing that is kept has an objection.
        let About {
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
            duplicate_key,
            objection: _,
        } = call.about.clone();
        let owned = |(path, real): (&str, Option<&str>)| (path.to_owned(), real.map(ToOwned::to_owned));
        let asked = |(question, paths): (&str, Option<&[String]>)| {
            (question.to_owned(), paths.map(<[String]>::to_vec))
        };
        Self {
            session: call.session.clone(),
            id: call.id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
            at_ms: call.at.0,
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
            links: call.links().map(|links| links.iter().map(owned).collect()),
            versions: call.versions().map(|versions| versions.iter().map(asked).collect()),
            duplicate_key: duplicate_key.map(|DuplicateKey { door, identifying_fields }| SavedDuplicateKey {
                door,
                identifying_fields,
            }),
        }
    }

    pub(super) fn into_call(self) -> SeenCall {
        let Self {
            session,
            id,
            tool,
            input,
            at_ms,
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
            links,
            versions,
            duplicate_key,
        } = self;
        let links = links.map(|links| links.into_iter().collect());
        let versions = versions.map(|versions| versions.into_iter().collect());
        let duplicate_key = duplicate_key
            .map(|SavedDuplicateKey { door, identifying_fields }| DuplicateKey { door, identifying_fields });
        let objection = None;
        let about = About {
            sender,
            principal,
            context,
            metadata,
            environment,
            cwd,
            parent,
            duplicate_key,
            objection,
        };
        SeenCall::looked_at(Call { session, id, tool, input, at: Time(at_ms), about }, links)
            .with_versions(versions)
    }
}

#[cfg(test)]
mod tests {
    use lockgate_call::{Links, Versions};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_saved_call_is_the_same_call_when_it_is_read_again() {
        let links: Links = [("/desk/a".to_owned(), Some("/etc".to_owned())), ("/desk/b".to_owned(), None)]
            .into_iter()
            .collect();
        let mut call = Call::new("1", "bash").with("command", "ls").at(Time(7));
        call.about = About {
            sender: Some(json!("me")),
            principal: Some(json!({ "role": "dev" })),
            context: Some(json!(1)),
            metadata: Some(json!([2])),
            environment: Some("test".into()),
            cwd: Some("/desk".into()),
            parent: Some("0".into()),
            duplicate_key: Some(DuplicateKey {
                door: "hook".into(),
                identifying_fields: vec!["command".into()],
            }),
            objection: None,
        };
        let versions: Versions =
            [("/desk: x".to_owned(), Some(vec!["/desk/a".to_owned()])), ("y".to_owned(), None)]
                .into_iter()
                .collect();
        let looked_at = SeenCall::looked_at(call, Some(links)).with_versions(Some(versions));
        for call in [looked_at, Call::new("2", "ls").into()] {
            let saved = serde_json::to_string(&SavedCall::of(&call)).unwrap();
            let read: SavedCall = serde_json::from_str(&saved).unwrap();
            assert_eq!(read.into_call(), call);
        }
    }
}
