//! The page of the API for programs: OpenAPI 3.1, made from the table of routes.
//!
//! Bodies and answers are those of `docs/protocol.md`; their fields are not listed here.

use serde_json::{Map, Value, json};

use super::{
    exchange::Reply,
    routes::{Face, Route, Verb},
};

/// The page about these routes.
pub(super) fn page(routes: &[Route]) -> Reply {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes.iter().filter(|route| route.face != Face::Page) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        let method = match route.method {
            Verb::Get => "get",
            Verb::Post => "post",
        };
        if let Some(path) = path.as_object_mut() {
            path.insert(method.to_owned(), operation(route));
        }
    }
    Reply::of(&json!({
        "openapi": "3.1.0",
        "info": { "title": "Lockgate", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Problem": {
                "type": "object",
                "required": ["type", "title", "status", "detail"],
                "properties": {
                    "type": { "type": "string" },
                    "title": { "type": "string" },
                    "status": { "type": "integer" },
                    "detail": { "type": "string", "description": "What happened, and what to do" },
                },
            } },
        },
    }))
}

fn operation(route: &Route) -> Value {
    let scopes: Vec<&str> = route.scopes.iter().map(|scope| scope.word()).collect();
    let object = json!({ "application/json": { "schema": { "type": "object" } } });
    let problem =
        json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let mut operation = json!({
        "summary": route.about,
        "responses": {
            "200": { "description": "As docs/server.md says", "content": object },
            "default": { "description": "It was not carried out", "content": problem },
        },
    });
    if let Some(fields) = operation.as_object_mut() {
        if !scopes.is_empty() {
            fields.insert("security".to_owned(), json!([{ "token": [] }]));
            fields.insert("x-scopes".to_owned(), json!(scopes));
        }
        if route.method == Verb::Post {
            fields.insert("requestBody".to_owned(), json!({ "required": true, "content": object }));
        }
    }
    operation
}
