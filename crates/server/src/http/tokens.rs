//! Tokens, for an admin: to list, make and revoke them.

use lockgate::engine::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    exchange::{Exchange, Reply},
    problem::Problem,
};
use crate::{
    protocol::read_body,
    scope::Scope,
    tokens::{NewToken, Token},
};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenMessage {
    name: String,
    scope: Scope,
    sessions: Vec<String>,
    /// When it ends, in milliseconds since 1970.
    expires: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokeMessage {
    name: String,
}

pub(super) fn list(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let tokens: Vec<Value> = exchange.service.tokens.list()?.iter().map(shown).collect();
    Ok(Reply::of(&json!({ "tokens": tokens })))
}

pub(super) fn create(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let TokenMessage { name, scope, sessions, expires } =
        read_body("tokens", Value::Object(exchange.body.clone()))?;
    if sessions.is_empty() {
        return Err(Problem::bad(
            "`sessions` names the sessions of the token, such as [\"ci/*\"], or [\"*\"] for all",
        ));
    }
    let (by, about) =
        (exchange.caller.name.clone(), json!({ "name": name, "scope": scope, "sessions": sessions }));
    let new = NewToken { name, scope, sessions, expires: expires.map(Time) };
    let token = exchange.service.tokens.create(new, exchange.moment())?;
    note(exchange, "token-created", &by, &about)?;
    Ok(Reply::of(&json!({ "token": token })))
}

pub(super) fn revoke(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let RevokeMessage { name } = read_body("revoke", Value::Object(exchange.body.clone()))?;
    let revoked = exchange.service.tokens.revoke(&name)?;
    note(exchange, "token-revoked", &exchange.caller.name, &json!({ "name": revoked.name }))?;
    Ok(Reply::of(&json!({ "revoked": revoked.name })))
}

fn note(exchange: &Exchange<'_>, act: &str, by: &str, about: &Value) -> Result<(), Problem> {
    let mut about = about.as_object().cloned().unwrap_or_default();
    about.insert("by".to_owned(), Value::from(by));
    Ok(exchange.service.log(act, None, about)?)
}

/// Without its hash: no route gives out what tokens are compared with.
fn shown(token: &Token) -> Value {
    let Token { id, name, scope, sessions, made_at, expires, .. } = token;
    json!({ "id": id, "name": name, "scope": scope, "sessions": sessions, "made_at": made_at, "expires": expires })
}
