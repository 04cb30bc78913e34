//! What is around every page: head, navigation, and who is signed in.

use axum::http::{HeaderName, StatusCode, header};
use maud::{DOCTYPE, Markup, html};

use super::parts::sentence;
use crate::{
    http::{
        exchange::{Exchange, Reply},
        logins::Login,
        problem::Problem,
    },
    scope::Scope,
};

/// What pages may load: our own script, style and pictures, and nothing that stands in the page itself.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                       form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The pages that the navigation has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Now,
    Sessions,
    Policies,
    Audit,
    Field,
}

impl Tab {
    const ALL: [Self; 5] = [Self::Now, Self::Sessions, Self::Policies, Self::Audit, Self::Field];

    fn name(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Sessions => "Sessions",
            Self::Policies => "Policies",
            Self::Audit => "Audit",
            Self::Field => "Field",
        }
    }

    /// Beside all other pages of this login.
    fn path(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Sessions => "sessions",
            Self::Policies => "policies",
            Self::Audit => "audit",
            Self::Field => "field",
        }
    }
}

/// A page for a person who is signed in.
pub(super) fn page(exchange: &Exchange<'_>, tab: Tab, title: &str, main: &Markup) -> Reply {
    let caller = exchange.caller;
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.top {
            a.brand href="now" { "Lockgate" }
            nav aria-label="Pages" {
                ul {
                    @for other in Tab::ALL {
                        li { a href=(other.path()) aria-current=[(other == tab).then_some("page")] { (other.name()) } }
                    }
                }
            }
            div.who {
                span #live role="status" hidden { "live" }
                span { (caller.name) " " span.quiet { "(" (caller.scope.word()) ")" } }
                form method="post" action="sign-out" {
                    (form_token(exchange))
                    button.plain type="submit" { "Sign out" }
                }
            }
        }
        main #main tabindex="-1" { (main) }
    };
    document(StatusCode::OK, title, &body)
}

/// A page for those who are not signed in.
pub(super) fn bare_page(status: StatusCode, title: &str, main: &Markup) -> Reply {
    document(status, title, &html! { main #main.bare { (main) } })
}

/// Says why a page cannot be shown, or why something was not done.
pub(in crate::http) fn problem_page(problem: &Problem, login: Option<&Login>) -> Reply {
    let title = problem.status.canonical_reason().unwrap_or("Error");
    let (back, words) = match login {
        Some(_) => ("now", "Go back to Now"),
        None => ("/", "Go to the first page"),
    };
    let main = html! {
        h1 { (title) }
        p role="alert" { (sentence(&problem.detail)) }
        p { a href=(back) { (words) } }
    };
    bare_page(problem.status, title, &main)
}

/// What each form carries.
pub(super) fn form_token(exchange: &Exchange<'_>) -> Markup {
    let form = exchange.login.map(|login| login.form.as_str()).unwrap_or_default();
    html! { input type="hidden" name="form" value=(form); }
}

/// Whether the one who is signed in may answer questions and halt.
pub(super) fn is_approver(exchange: &Exchange<'_>) -> bool {
    matches!(exchange.caller.scope, Scope::Approver | Scope::Admin)
}

/// Goes to another page.
pub(super) fn go_to(place: &str) -> Reply {
    let headers = vec![(header::LOCATION, place.to_owned())];
    Reply { status: StatusCode::SEE_OTHER, headers, ..html_reply(String::new()) }
}

fn document(status: StatusCode, title: &str, body: &Markup) -> Reply {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Lockgate" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body { (body) }
        }
    };
    Reply { status, ..html_reply(document.into_string()) }
}

fn html_reply(body: String) -> Reply {
    let headers: Vec<(HeaderName, String)> = vec![
        (header::CONTENT_SECURITY_POLICY, CONTENT.to_owned()),
        // Forms say where they come from only with a policy that lets them say it to ourselves.
        (header::REFERRER_POLICY, "same-origin".to_owned()),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin".to_owned()),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin".to_owned()),
    ];
    Reply { media_type: "text/html; charset=utf-8", headers, ..Reply::text(body) }
}
