//! The one table of routes: what each does, and whose tokens may use it.
//!
//! The router, the page of the API and the tests are made from [`ROUTES`], so that a route without a row does not exist, and
//! a test can try every route with the token of every scope.

use Scope::{Admin, Agent, Approver, Author, Host, Viewer};
use Verb::{Get, Post};

use super::{
    answers, drafts,
    exchange::{Exchange, Reply},
    looking, messages,
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
    pub(crate) method: Verb,
    pub(crate) path: &'static str,
    /// Whose tokens may use it; empty: no token is needed.
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
    Route { method, path, scopes, run, failure: Failure::Problem, about }
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
    route(Get, "/openapi.json", &[], Run::Table, "This page"),
    route(Get, "/livez", &[], Run::Work(looking::livez), "Whether the process answers"),
    route(Get, "/readyz", &[], Run::Work(looking::readyz), "Whether calls can be judged"),
];
