//! The one table of routes: what each does, and whose tokens may use it.
//!
//! The router, the page of the API and the tests are made from [`ROUTES`], so that a route without a row does not exist, and
//! a test can try every route with the token of every scope.

use Scope::{Admin, Agent, Approver, Author, Host, Viewer};
use Verb::{Get, Post};

use super::{
    answers, authzen, authzen_requests, deliveries, drafts,
    exchange::{Exchange, Reply},
    looking, messages, pages,
    problem::Problem,
    tokens,
};
use crate::scope::Scope;

/// What a route does.
pub(crate) type Handler = fn(&Exchange<'_>) -> Result<Reply, Problem>;

/// How a route is carried out.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// On a thread that may wait for the database.
    Work(Handler),
    /// The same, one at a time: it takes long.
    LongWork(Handler),
    /// Again whenever something has changed, for as long as the request says.
    Waiting(Handler),
    /// As a stream of events.
    Events,
    /// As the page about this table.
    Table,
}

/// Who a route is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// Programs: they show a token, and send and get JSON.
    Api,
    /// Programs that speak AuthZEN: as [`Face::Api`], but with that standard's statuses and headers.
    Authzen,
    /// People with a browser: they are signed in, send forms and get pages.
    Page,
}

/// Whether a route is about calls: what fails there is a verdict, because a client could take an error for something that
/// it may pass over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Problem,
    Block,
}

/// One route.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) face: Face,
    pub(crate) method: Verb,
    pub(crate) path: &'static str,
    /// Whose tokens or logins may use it; empty: none is needed.
    pub(crate) scopes: &'static [Scope],
    pub(crate) run: Run,
    pub(crate) failure: Failure,
    /// What it does, for the page of the API.
    pub(crate) about: &'static str,
}

/// The methods that routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
}

const CALLERS: &[Scope] = &[Agent, Host, Admin];
const HOSTS: &[Scope] = &[Host, Admin];
const LOOKERS: &[Scope] = &[Viewer, Approver, Author, Admin];
const ALL: &[Scope] = &[Agent, Host, Viewer, Approver, Author, Admin];
/// An agent must not say for whom it acts, so its token does not do.
const DECIDERS: &[Scope] = &[Host, Viewer, Approver, Author, Admin];
const APPROVERS: &[Scope] = &[Approver, Admin];
const AUTHORS: &[Scope] = &[Author, Admin];
const ADMINS: &[Scope] = &[Admin];

const fn route(
    method: Verb,
    path: &'static str,
    scopes: &'static [Scope],
    run: Run,
    about: &'static str,
) -> Route {
    Route { face: Face::Api, method, path, scopes, run, failure: Failure::Problem, about }
}

const fn page(
    method: Verb,
    path: &'static str,
    scopes: &'static [Scope],
    run: Run,
    about: &'static str,
) -> Route {
    Route { face: Face::Page, ..route(method, path, scopes, run, about) }
}

const fn authzen_route(
    method: Verb,
    path: &'static str,
    scopes: &'static [Scope],
    handler: Handler,
    about: &'static str,
) -> Route {
    Route { face: Face::Authzen, ..route(method, path, scopes, Run::Work(handler), about) }
}

impl Route {
    /// Whether anyone may look at it.
    pub(crate) fn is_front(&self) -> bool {
        self.face == Face::Page && self.scopes.is_empty() && self.method == Get
    }
}

/// Every route.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        failure: Failure::Block,
        ..route(Post, "/v1/call", CALLERS, Run::Work(messages::call), "Judge a call")
    },
    route(Post, "/v1/result", CALLERS, Run::Work(messages::result), "Settle the result of a call"),
    route(
        Post,
        "/v1/collect",
        CALLERS,
        Run::Waiting(answers::collect),
        "Go on with a call that a human was asked about",
    ),
    route(Post, "/v1/prompt", ALL, Run::Work(messages::prompt), "What the model should know"),
    route(Post, "/v1/status", ALL, Run::Work(messages::status), "The state of a session"),
    route(Post, "/v1/user", HOSTS, Run::Work(messages::user), "What the user said to the agent"),
    route(Post, "/v1/session", HOSTS, Run::Work(messages::session), "Facts about a session"),
    route(Get, "/v1/questions", LOOKERS, Run::Work(answers::questions), "The open questions"),
    route(Post, "/v1/answer", APPROVERS, Run::Work(answers::answer), "Answer a question"),
    route(Post, "/v1/halt", APPROVERS, Run::Work(messages::halt), "Block every further call"),
    route(Post, "/v1/resume", ADMINS, Run::Work(messages::resume), "End a halt"),
    route(Post, "/v1/net", ADMINS, Run::Work(messages::net), "Switch a net on or off"),
    route(Post, "/v1/stage", ADMINS, Run::Work(messages::stage), "Move a workflow"),
    route(Post, "/v1/untaint", ADMINS, Run::Work(messages::untaint), "Reopen what sensitive data has closed"),
    route(
        Post,
        "/v1/accept-policy",
        ADMINS,
        Run::Work(looking::accept_policy),
        "Bind a session to the policy in force",
    ),
    route(Get, "/v1/sessions", LOOKERS, Run::Work(looking::sessions), "The sessions, those used last first"),
    route(
        Post,
        "/v1/explain",
        LOOKERS,
        Run::Work(looking::explain),
        "What each rule says to a call, without deciding",
    ),
    route(Get, "/v1/policy", LOOKERS, Run::Work(looking::policy), "The policy in force"),
    route(
        Get,
        "/v1/verify",
        LOOKERS,
        Run::LongWork(drafts::verify_active),
        "Findings and claims of the policy in force",
    ),
    route(Post, "/v1/verify", AUTHORS, Run::LongWork(drafts::verify), "Findings and claims of a draft"),
    route(
        Post,
        "/v1/diff",
        AUTHORS,
        Run::LongWork(drafts::diff),
        "The sessions that a draft judges differently",
    ),
    route(Get, "/v1/audit", LOOKERS, Run::Work(looking::audit), "Records of the audit log"),
    route(
        Get,
        "/v1/audit/verify",
        LOOKERS,
        Run::LongWork(looking::verify_audit),
        "Whether the audit log is as it was written",
    ),
    route(Get, "/v1/events", LOOKERS, Run::Events, "Records of the audit log as they are written"),
    route(Get, "/metrics", LOOKERS, Run::Work(looking::metrics), "Counters for Prometheus"),
    route(Get, "/v1/tokens", ADMINS, Run::Work(tokens::list), "The tokens, without their secrets"),
    route(Post, "/v1/tokens", ADMINS, Run::Work(tokens::create), "Make a token; the answer shows it once"),
    route(Post, "/v1/tokens/revoke", ADMINS, Run::Work(tokens::revoke), "Revoke a token"),
    route(
        Get,
        "/v1/deliveries",
        ADMINS,
        Run::Work(deliveries::list),
        "Who was told of questions, and who was not",
    ),
    route(Post, "/v1/deliveries/retry", ADMINS, Run::Work(deliveries::retry), "Tell a receiver again"),
    route(Get, "/openapi.json", &[], Run::Table, "This page"),
    route(Get, "/livez", &[], Run::Work(looking::livez), "Whether the process answers"),
    route(Get, "/readyz", &[], Run::Work(looking::readyz), "Whether calls can be judged"),
    Route {
        failure: Failure::Block,
        ..authzen_route(Post, "/access/v1/evaluation", DECIDERS, authzen::evaluation, "AuthZEN: decide")
    },
    authzen_route(Post, "/access/v1/evaluations", DECIDERS, authzen::evaluations, "AuthZEN: decide several"),
    authzen_route(Post, "/access/v1/requests", HOSTS, authzen_requests::create, "AuthZEN: request access"),
    authzen_route(
        Get,
        "/access/v1/requests",
        HOSTS,
        authzen_requests::state,
        "AuthZEN: the state of a request",
    ),
    authzen_route(
        Get,
        "/.well-known/authzen-configuration",
        &[],
        authzen::configuration,
        "AuthZEN: where its routes are",
    ),
    page(Get, "/", &[], Run::Work(pages::front), "Sign in"),
    page(Get, "/style.css", &[], Run::Work(pages::style), "The style of the pages"),
    page(Get, "/script.js", &[], Run::Work(pages::script), "The script of the pages"),
    page(Get, "/icon.svg", &[], Run::Work(pages::icon), "The icon of the pages"),
    page(Post, "/sign-in", &[], Run::Work(pages::sign_in), "Sign in with a token"),
    page(Post, "/d/{key}/sign-out", LOOKERS, Run::Work(pages::sign_out), "Sign out"),
    page(Get, "/d/{key}/now", LOOKERS, Run::Work(pages::now), "Questions and the latest verdicts"),
    page(Post, "/d/{key}/answer", APPROVERS, Run::Work(pages::answer), "Answer a question"),
    page(Post, "/d/{key}/halt", APPROVERS, Run::Work(pages::halt), "Block every further call"),
    page(Post, "/d/{key}/resume", ADMINS, Run::Work(pages::resume), "End a halt"),
    page(Get, "/d/{key}/live", LOOKERS, Run::Events, "Records as they are written"),
    page(Get, "/d/{key}/sessions", LOOKERS, Run::Work(pages::sessions), "The sessions"),
    page(Get, "/d/{key}/session", LOOKERS, Run::Work(pages::session), "One session"),
    page(Get, "/d/{key}/policies", LOOKERS, Run::Work(pages::policies), "The policy in force, and drafts"),
    page(Post, "/d/{key}/check", AUTHORS, Run::LongWork(pages::check), "Check a draft"),
    page(Get, "/d/{key}/audit", LOOKERS, Run::Work(pages::audit), "The audit log"),
    page(Get, "/d/{key}/audit-verify", LOOKERS, Run::LongWork(pages::verify), "Verify the audit log"),
    page(Get, "/d/{key}/audit-export", LOOKERS, Run::LongWork(pages::export), "The whole audit log"),
    page(Get, "/d/{key}/field", LOOKERS, Run::LongWork(pages::field), "What the rules do in practice"),
];
