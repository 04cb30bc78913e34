//! How a request is answered.
//!
//! [`router`] makes the routes of [`ROUTES`] answer: each request is admitted by its head, its token is looked up, its scope
//! compared with the route's, its rate counted, and only then is its body read, strictly and within bounds. Whatever fails
//! about a call is a verdict that blocks it. Pages are for those who are signed in: [`identify`] finds the login by the cookie and
//! the key in the path, and a form needs the text that only our pages have.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Extension, Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri, header},
    routing::{MethodFilter, on},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use lockgate::{Clock as _, SystemClock, engine::Time};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{
    answers::wait_of,
    authzen,
    door::{Via, bearer, check_content, check_origin, cookie},
    events,
    exchange::{Exchange, Reply},
    logins::Login,
    openapi, pages,
    problem::Problem,
    routes::{Face, Failure, Handler, ROUTES, Route, Run, Verb},
    service::Service,
};
use crate::{
    protocol::{blocked_call, read_object},
    tokens::{Caller, is_same},
};

/// The largest body, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(20);
/// How long a request may take to be carried out.
const WORK_TIME_MAX: Duration = Duration::from_secs(30);
/// How often an answer is looked for that another process may have stored.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// By which clients of AuthZEN find the answer to their request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The routes in front of a service.
pub(super) fn router(service: &Arc<Service>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let service = Arc::clone(service);
        let filter = match route.method {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let handler = move |Extension(via): Extension<Via>, request: Request| {
            let service = Arc::clone(&service);
            async move {
                let echoed =
                    request.headers().get(&REQUEST_ID).filter(|_| route.face == Face::Authzen).cloned();
                let started = Instant::now();
                let mut response = answer(&service, route, via, request).await;
                service.metrics.answered(route.path, response.status().as_u16());
                if !matches!(route.run, Run::Waiting(_) | Run::Events) {
                    service.metrics.took(route.path, started.elapsed());
                }
                if let Some(request_id) = echoed {
                    response.headers_mut().insert(REQUEST_ID, request_id);
                }
                finish(response)
            }
        };
        router = router.route(route.path, on(filter, handler));
    }
    let lost = async || {
        finish(Problem::new(StatusCode::NOT_FOUND, "there is no such route; see docs/server.md").respond())
    };
    let other = async || {
        finish(
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this route has another method; see docs/server.md")
                .respond(),
        )
    };
    router.fallback(lost).method_not_allowed_fallback(other)
}

/// The same headers on every response.
fn finish(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn answer(service: &Arc<Service>, route: &'static Route, via: Via, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let admitted = service
        .door
        .admit(via, &parts.uri, &parts.headers, route.is_front())
        .and_then(|()| identify(service, route, &parts.uri, &parts.headers));
    let (caller, login) = match admitted {
        Ok(known) => known,
        Err(problem) => return refused(route, None, &problem),
    };
    if !route.scopes.is_empty() && !service.rates.take(&caller.id, Instant::now()) {
        let problem =
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "this token makes too many requests; wait a second");
        return failed(route, (&caller, login.as_ref()), &Map::new(), &problem);
    }
    let read = async {
        let wanted = match route.face {
            Face::Api | Face::Authzen => "application/json",
            Face::Page => "application/x-www-form-urlencoded",
        };
        check_content(&parts.method, &parts.headers, wanted).map_err(|problem| match route.face {
            Face::Authzen => Problem::bad(problem.detail),
            _ => problem,
        })?;
        let (query, at) = read_query(service, parts.uri.query().unwrap_or_default())?;
        let body = match (route.method, route.face) {
            (Verb::Get, _) => Map::new(),
            (Verb::Post, Face::Api | Face::Authzen) => read_object(&read_text(body).await?)?,
            (Verb::Post, Face::Page) => {
                check_origin(&parts.headers)?;
                read_form(&read_text(body).await?, login.as_ref())?
            }
        };
        Ok::<_, Problem>((query, at, body))
    };
    let (query, at, body) = match read.await {
        Ok(read) => read,
        Err(problem) => return refused(route, login.as_ref(), &problem),
    };
    if let Run::Events = route.run {
        let streamed = events::stream(service, (caller, login), &parts.headers, &query).await;
        return streamed.unwrap_or_else(|problem| problem.respond());
    }
    let origin = origin(service, &parts.headers);
    let asked = Arc::new(Asked { caller, login, origin, query, at, body });
    match carry_out(service, route, &asked).await {
        Ok(reply) => response_of(&reply),
        Err(problem) => failed(route, (&asked.caller, asked.login.as_ref()), &asked.body, &problem),
    }
}

/// What stands behind the `?` of a request.
type Query = Vec<(String, String)>;

/// A request that was read.
struct Asked {
    caller: Caller,
    login: Option<Login>,
    origin: String,
    query: Query,
    at: Option<Time>,
    body: Map<String, Value>,
}

/// Who sends a request, and by which login.
fn identify(
    service: &Service,
    route: &Route,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(Caller, Option<Login>), Problem> {
    if route.scopes.is_empty() {
        return Ok((Caller::anonymous(), None));
    }
    let (caller, login) = match route.face {
        Face::Api | Face::Authzen => (authenticate(service, headers)?, None),
        Face::Page => {
            let (caller, login) = signed_in(service, uri, headers)?;
            (caller, Some(login))
        }
    };
    if !route.scopes.contains(&caller.scope) {
        let wanted: Vec<&str> = route.scopes.iter().map(|scope| scope.word()).collect();
        let detail = format!(
            "a token of scope `{}` may not use this route; it needs one of: {}",
            caller.scope.word(),
            wanted.join(", ")
        );
        return Err(Problem::forbidden(detail));
    }
    Ok((caller, login))
}

/// The login of a cookie and of the key in the path; its token must still count.
fn signed_in(service: &Service, uri: &Uri, headers: &HeaderMap) -> Result<(Caller, Login), Problem> {
    let unknown = || Problem::new(StatusCode::UNAUTHORIZED, "you are not signed in, or no longer");
    let secret = cookie(headers, service.cookie_name())?.ok_or_else(unknown)?;
    let key = uri.path().split('/').nth(2).unwrap_or_default();
    let at = SystemClock.now();
    let login = service.logins.find(secret, key, at).ok_or_else(unknown)?;
    match service.tokens.caller(&login.token, at)? {
        Some(caller) => Ok((caller, login)),
        None => {
            service.logins.end(&login);
            Err(unknown())
        }
    }
}

fn authenticate(service: &Service, headers: &HeaderMap) -> Result<Caller, Problem> {
    let unknown = "this route needs a token: send it as `Authorization: Bearer …`; `lockgate serve token create` makes one";
    let shown = bearer(headers)?.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, unknown))?;
    let found = service.tokens.find(shown, SystemClock.now())?;
    found.ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "the token is unknown, was revoked, or has ended")
    })
}

/// The address of this server as the client knows it. That it is ours was looked at before.
fn origin(service: &Service, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("{}://{host}", service.scheme())
}

/// The parameters of a request, and its `at` where requests may say what time it is.
fn read_query(service: &Service, text: &str) -> Result<(Query, Option<Time>), Problem> {
    let mut query: Query = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let at = query.iter().position(|(name, _)| name == "at" && service.takes_time());
    let at = at.map(|place| query.remove(place).1);
    let at =
        at.map(|text| text.parse().map_err(|_| Problem::bad("`at` is a number of milliseconds since 1970")));
    Ok((query, at.transpose()?.map(Time)))
}

/// The fields of a form. One of a page that is signed in carries the text that only this page has.
fn read_form(text: &str, login: Option<&Login>) -> Result<Map<String, Value>, Problem> {
    let mut fields = Map::new();
    for (name, value) in url::form_urlencoded::parse(text.as_bytes()).into_owned() {
        if fields.insert(name, Value::from(value)).is_some() {
            return Err(Problem::bad("a field of the form appears twice"));
        }
    }
    let shown = fields.remove("form");
    let shown = shown.as_ref().and_then(Value::as_str).unwrap_or_default();
    match login {
        Some(login) if !is_same(&login.form, shown) => {
            Err(Problem::forbidden("this form was not made for you; load the page again"))
        }
        _ => Ok(fields),
    }
}

async fn read_text(body: Body) -> Result<String, Problem> {
    let read = timeout(BODY_TIME_MAX, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
    let bytes = read.map_err(late)?.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => {
            let detail = format!("the body is longer than {BODY_BYTES_MAX} bytes");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        None => Problem::bad("the body could not be read"),
    })?;
    let bytes = bytes.to_bytes();
    String::from_utf8(bytes.into()).map_err(|_| Problem::bad("the body is not UTF-8"))
}

async fn carry_out(service: &Arc<Service>, route: &Route, asked: &Arc<Asked>) -> Result<Reply, Problem> {
    match route.run {
        Run::Work(handler) => {
            let done = work(service, handler, asked).await;
            if route.method == Verb::Post {
                service.changed.notify_waiters();
            }
            done
        }
        Run::Table => Ok(openapi::page(ROUTES)),
        // It was answered before: it is not one reply.
        Run::Events => Err(Problem::panicked()),
        Run::LongWork(handler) => {
            let permit = Arc::clone(&service.long_work).try_acquire_owned().map_err(|_| {
                let detail = "another long check is running; try again when it has ended";
                Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
            })?;
            let (service, asked) = (Arc::clone(service), Arc::clone(asked));
            let task = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                handler(&asked.exchange(&service))
            });
            task.await.unwrap_or_else(|_| Err(Problem::panicked()))
        }
        Run::Waiting(handler) => {
            let until = Instant::now() + Duration::from_secs(wait_of(&asked.body));
            loop {
                let changed = service.changed.notified();
                let reply = work(service, handler, asked).await?;
                let left = until.saturating_duration_since(Instant::now());
                if reply.status != StatusCode::ACCEPTED {
                    service.changed.notify_waiters();
                    return Ok(reply);
                }
                // One that only looked wakes no one: two that wait would wake each other for ever.
                if left.is_zero() || service.is_ending() {
                    return Ok(reply);
                }
                // Nothing is lost if this ends early or late: it only looks again.
                let _ = timeout(left.min(LOOK_EVERY), changed).await;
            }
        }
    }
}

/// Carries a request out on a thread that may wait for the database.
async fn work(service: &Arc<Service>, handler: Handler, asked: &Arc<Asked>) -> Result<Reply, Problem> {
    let (own, asked) = (Arc::clone(service), Arc::clone(asked));
    let work = async {
        let permit = Arc::clone(&service.work).acquire_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            handler(&asked.exchange(&own))
        });
        task.await.unwrap_or_else(|_| Err(Problem::panicked()))
    };
    let late = |_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Lockgate did not decide in time");
    timeout(WORK_TIME_MAX, work).await.map_err(late)?
}

impl Asked {
    fn exchange<'a>(&'a self, service: &'a Service) -> Exchange<'a> {
        let Self { caller, login, origin, query, at, body } = self;
        Exchange { service, caller, login: login.as_ref(), origin, at: *at, query, body }
    }
}

fn response_of(reply: &Reply) -> Response<Body> {
    let mut response = Response::new(Body::from(reply.body.clone()));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.media_type));
    for (name, value) in &reply.headers {
        // What we write into headers has no line breaks; one that had is left out.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(name, value);
        }
    }
    response
}

/// Says to a program or to a person why a request is not carried out.
fn refused(route: &Route, login: Option<&Login>, problem: &Problem) -> Response<Body> {
    match route.face {
        Face::Api | Face::Authzen => problem.respond(),
        Face::Page if problem.status == StatusCode::UNAUTHORIZED && route.method == Verb::Get => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/?ended"));
            response
        }
        Face::Page => response_of(&pages::problem_page(problem, login)),
    }
}

/// What did not work out. About a call it is a verdict: a client that passes over errors must still find a block. Mistakes of
/// the client and missing rights are errors everywhere.
fn failed(
    route: &Route,
    (caller, login): (&Caller, Option<&Login>),
    body: &Map<String, Value>,
    problem: &Problem,
) -> Response<Body> {
    let is_ours = problem.status.is_server_error() || problem.status == StatusCode::TOO_MANY_REQUESTS;
    if route.failure == Failure::Problem || !is_ours {
        return refused(route, login, problem);
    }
    let text = |field: &str| body.get(field).and_then(Value::as_str);
    let session = text("session").unwrap_or_else(|| caller.own_session());
    let reason = format!("Lockgate could not decide ({}), so the call is blocked.", problem.detail);
    if route.face == Face::Authzen {
        return response_of(&authzen::closed(&reason));
    }
    response_of(&Reply::text(blocked_call(text("id").unwrap_or_default(), session, &reason)))
}
