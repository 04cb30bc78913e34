//! Signing in with a token, and out again.

use axum::http::{StatusCode, header};
use lockgate::{Clock as _, SystemClock};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::layout::{bare_page, go_to};
use crate::{
    http::{
        exchange::{Exchange, Reply},
        problem::Problem,
    },
    scope::Scope,
};

/// The page for those who are not signed in.
pub(in crate::http) fn front(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["ended"])?;
    let notice = exchange.parameter("ended").map(|_| "You are not signed in, or no longer.");
    Ok(bare_page(StatusCode::OK, "Sign in", &form(notice)))
}

fn form(notice: Option<&str>) -> Markup {
    html! {
        h1 { "Lockgate" }
        p.quiet { "A gate between agents and their tools. Sign in with your token." }
        @if let Some(notice) = notice { p.notice role="alert" { (notice) } }
        form.stack method="post" action="/sign-in" {
            // Password managers keep the token under this name.
            input type="text" autocomplete="username" value="lockgate" readonly hidden;
            label for="token" { "Token" }
            input #token name="token" type="password" autocomplete="current-password" required autofocus
                spellcheck="false" placeholder="lgt_…" aria-describedby="token-help";
            p #token-help.quiet {
                "A token of a viewer, an approver, an author or an admin; "
                code { "lockgate serve token create" } " makes one."
            }
            button.primary type="submit" { "Sign in" }
        }
    }
}

/// Takes a token and gives the browser a login for it.
pub(in crate::http) fn sign_in(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let service = exchange.service;
    let shown = exchange.field("token").trim();
    let at = SystemClock.now();
    let refused = |status, notice: &str| Ok(bare_page(status, "Sign in", &form(Some(notice))));
    let Some(caller) = service.tokens.find(shown, at)? else {
        return refused(StatusCode::UNAUTHORIZED, "The token is unknown, was revoked, or has ended.");
    };
    if matches!(caller.scope, Scope::Agent | Scope::Host) {
        let notice = "The token of an agent or its host cannot sign in here. Use the token of a person.";
        return refused(StatusCode::FORBIDDEN, notice);
    }
    let login = service.logins.open(&caller.id, at).map_err(|_| Problem::panicked())?;
    let mut about = Map::new();
    about.insert("by".to_owned(), Value::from(caller.name));
    service.log("sign-in", None, about)?;
    let mut reply = go_to(&format!("/d/{}/now", login.key));
    // Without an age: the browser keeps it in memory, and the server knows when it ends.
    reply.headers.push((header::SET_COOKIE, service.cookie(&login.secret)));
    Ok(reply)
}

/// Ends the login.
pub(in crate::http) fn sign_out(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    if let Some(login) = exchange.login {
        exchange.service.logins.end(login);
    }
    let mut reply = go_to("/?ended");
    reply.headers.push((header::SET_COOKIE, format!("{}; Max-Age=0", exchange.service.cookie(""))));
    Ok(reply)
}
