//! The dashboard from outside: who may see which page, and what forms need.

use super::*;
use crate::http::routes::{Face, ROUTES, Route, Run, Verb};

/// A browser that is signed in, or not.
struct Browser<'w> {
    world: &'w World,
    cookie: String,
    key: String,
    form: String,
}

/// A response as a browser sees it.
struct Shown {
    status: u16,
    head: String,
    body: String,
}

impl Shown {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

fn send(world: &World, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Shown {
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nconnection: close\r\nhost: {}\r\ncontent-length: {}\r\n",
        world.address,
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    let mut stream = TcpStream::connect(world.address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Shown { status, head: head.to_owned(), body: body.to_owned() }
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

impl World {
    fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    fn sign_in(&self, token: &str) -> Shown {
        let origin = self.origin();
        send(self, "POST", "/sign-in", &[FORM, ("origin", &origin)], &format!("token={token}"))
    }

    fn browser(&self, token: &str) -> Browser<'_> {
        let shown = self.sign_in(token);
        assert_eq!(shown.status, 303, "{}", shown.body);
        let cookie = shown.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let key = shown.header("location").unwrap().split('/').nth(2).unwrap().to_owned();
        let mut browser = Browser { world: self, cookie, key, form: String::new() };
        let now = browser.get("now");
        assert_eq!(now.status, 200, "{}", now.body);
        let form = now.body.split("name=\"form\" value=\"").nth(1).unwrap();
        browser.form = form.split('"').next().unwrap().to_owned();
        browser
    }
}

impl Browser<'_> {
    fn path(&self, page: &str) -> String {
        format!("/d/{}/{page}", self.key)
    }

    fn get(&self, page: &str) -> Shown {
        send(self.world, "GET", &self.path(page), &[("cookie", &self.cookie)], "")
    }

    fn post(&self, page: &str, fields: &str) -> Shown {
        let origin = self.world.origin();
        let headers = [FORM, ("origin", &origin), ("cookie", &self.cookie)];
        send(self.world, "POST", &self.path(page), &headers, &format!("form={}&{fields}", self.form))
    }

    fn open(&self, route: &Route) -> Shown {
        let page = route.path.trim_start_matches("/d/{key}/");
        match (route.method, route.run) {
            // A stream has no end; it refuses a parameter that it does not have only after it has let the login in.
            (Verb::Get, Run::Events) => self.get(&format!("{page}?x=1")),
            (Verb::Get, _) => self.get(page),
            (Verb::Post, _) => self.post(page, ""),
        }
    }
}

fn keyed() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.face == Face::Page && !route.scopes.is_empty())
}

#[test]
fn every_page_takes_the_scopes_of_its_row_and_no_others() {
    let world = World::new();
    for scope in [Scope::Viewer, Scope::Approver, Scope::Author, Scope::Admin] {
        let token = world.token_of(scope);
        for route in keyed() {
            // One that signs out is not signed in any more.
            let browser = world.browser(&token);
            let shown = browser.open(route);
            let place = format!("{} {} {}", scope.word(), route.path, shown.status);
            assert_eq!(shown.status != 403, route.scopes.contains(&scope), "{place} {}", shown.body);
            assert!(shown.status < 500 && shown.status != 401, "{place} {}", shown.body);
        }
    }
}

#[test]
fn the_token_of_an_agent_or_a_host_gets_no_page() {
    let world = World::new();
    for scope in [Scope::Agent, Scope::Host] {
        let token = world.token_of(scope);
        let shown = world.sign_in(&token);
        assert_eq!((shown.status, shown.header("set-cookie")), (403, None), "{}", shown.body);
        let bearer = format!("Bearer {token}");
        for route in keyed() {
            let path = route.path.replace("{key}", "x");
            let origin = world.origin();
            let (method, headers): (&str, &[(&str, &str)]) = match route.method {
                Verb::Get => ("GET", &[("authorization", &bearer)]),
                Verb::Post => ("POST", &[FORM, ("origin", &origin), ("authorization", &bearer)]),
            };
            let shown = send(&world, method, &path, headers, "");
            let is_sent_away = match route.method {
                Verb::Get => shown.status == 303 && shown.header("location") == Some("/?ended"),
                Verb::Post => shown.status == 401,
            };
            assert!(is_sent_away, "{path} {} {}", shown.status, shown.body);
        }
    }
    // Nor does the token of a person open a page without a login, or a login the API.
    let admin = world.token_of(Scope::Admin);
    let bearer = format!("Bearer {admin}");
    assert_eq!(send(&world, "GET", "/d/x/now", &[("authorization", &bearer)], "").status, 303);
    let browser = world.browser(&admin);
    assert_eq!(send(&world, "GET", "/v1/sessions", &[("cookie", &browser.cookie)], "").status, 401);
    for wrong in ["", "x", "lgt_00000000_00"] {
        let shown = world.sign_in(wrong);
        assert_eq!((shown.status, shown.header("set-cookie")), (401, None));
        assert!(!shown.body.contains("lgt_0"), "what was typed is not repeated");
    }
}

#[test]
fn a_login_needs_its_cookie_and_its_key_and_ends() {
    let mut world = World::new();
    let (admin, viewer) = (world.token_of(Scope::Admin), world.token_of(Scope::Viewer));
    {
        let (one, other) = (world.browser(&admin), world.browser(&viewer));
        let at = |cookie: &str, key: &str| {
            send(&world, "GET", &format!("/d/{key}/now"), &[("cookie", cookie)], "").status
        };
        assert_eq!(at(&one.cookie, &one.key), 200);
        assert_eq!(at(&one.cookie, &other.key), 303, "another program of this host may be sent the cookie");
        assert_eq!(at(&other.cookie, &one.key), 303, "a link shows the key");
        assert_eq!(at("", &one.key), 303);
        assert_eq!(at(&format!("{}; {}", one.cookie, other.cookie), &one.key), 303, "two cookies");
        let shown = one.post("sign-out", "");
        assert_eq!((shown.status, shown.header("location")), (303, Some("/?ended")));
        assert!(shown.header("set-cookie").unwrap().ends_with("Max-Age=0"));
        assert_eq!(at(&one.cookie, &one.key), 303, "signed out");
        assert_eq!(at(&other.cookie, &other.key), 200);
        Tokens::of(&world.data()).revoke("viewer").unwrap();
        assert_eq!(at(&other.cookie, &other.key), 303, "revoked");
    }
    let (cookie, key) = {
        let browser = world.browser(&admin);
        (browser.cookie.clone(), browser.key.clone())
    };
    world.end();
    let folder = std::mem::replace(&mut world.folder, tempfile::tempdir().unwrap());
    let again = World::over(folder, ServiceOptions::default());
    let shown = send(&again, "GET", &format!("/d/{key}/now"), &[("cookie", &cookie)], "");
    assert_eq!(shown.status, 303, "a restart ends every login");
}

#[test]
fn a_stream_of_a_page_ends_with_its_login() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    let browser = world.browser(&world.token_of(Scope::Viewer));
    let head = format!(
        "GET {} HTTP/1.1\r\nconnection: close\r\nhost: {}\r\ncookie: {}\r\n\r\n",
        browser.path("live"),
        world.address,
        browser.cookie
    );
    let mut stream = TcpStream::connect(world.address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    let mut part = [0; 4096];
    world.call(&agent, "before", "read", "s");
    while !text.contains("before") {
        let read = stream.read(&mut part).unwrap();
        assert_ne!(read, 0, "the stream has ended: {text}");
        text.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    assert_eq!(browser.post("sign-out", "").status, 303);
    // It has no other reason to end.
    stream.read_to_string(&mut text).unwrap();
}

#[test]
fn a_form_of_another_page_changes_nothing() {
    let world = World::new();
    let browser = world.browser(&world.token_of(Scope::Admin));
    let (origin, path) = (world.origin(), browser.path("halt"));
    let cookie = ("cookie", browser.cookie.as_str());
    let good = format!("form={}&reason=stop", browser.form);
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, u16);
    let cases: &[Case<'_>] = &[
        (&[FORM, cookie], &good, 403),
        (&[FORM, cookie, ("origin", "null")], &good, 403),
        (&[FORM, cookie, ("origin", "http://evil.example")], &good, 403),
        (&[FORM, cookie, ("origin", &origin), ("sec-fetch-site", "same-site")], &good, 403),
        (&[FORM, cookie, ("origin", &origin)], "reason=stop", 403),
        (&[FORM, cookie, ("origin", &origin)], "form=&reason=stop", 403),
        (&[FORM, cookie, ("origin", &origin)], &format!("{good}&reason=x"), 400),
        (&[("content-type", "application/json"), cookie, ("origin", &origin)], "{}", 415),
        (&[("content-type", "text/plain"), cookie, ("origin", &origin)], &good, 415),
        (&[FORM, ("origin", &origin)], &good, 401),
        (&[FORM, cookie, ("origin", &origin)], &good, 303),
    ];
    let is_halted = || browser.get("now").body.contains("Everything is halted");
    for (headers, body, status) in cases {
        assert!(!is_halted(), "{headers:?} {body}");
        let shown = send(&world, "POST", &path, headers, body);
        assert_eq!(shown.status, *status, "{headers:?} {body} {}", shown.body);
    }
    assert!(is_halted());
    assert_eq!(browser.post("resume", "").status, 303);
    assert!(!is_halted());
    // Without `Origin` not even a right token signs in.
    let token = world.token_of(Scope::Viewer);
    assert_eq!(send(&world, "POST", "/sign-in", &[FORM], &format!("token={token}")).status, 403);
}

#[test]
fn pages_have_strict_headers_and_nothing_inline() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    world.call(&agent, "1", "deploy", "s");
    let browser = world.browser(&world.token_of(Scope::Admin));
    let front = send(&world, "GET", "/", &[("sec-fetch-site", "cross-site")], "");
    let mut pages = vec![front];
    for page in ["now", "sessions", "session?name=s", "policies", "audit", "audit-verify", "field"] {
        pages.push(browser.get(page));
    }
    pages.push(browser.post("check", "name-0=a.rules&text-0=blok+rm"));
    for shown in &pages {
        assert_eq!(shown.status, 200, "{}", shown.body);
        let content = shown.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
        {
            assert!(content.contains(part), "{content}");
        }
        assert!(!content.contains("unsafe") && shown.header("referrer-policy") == Some("same-origin"));
        for inline in ["<style", " style=", " onclick", "<script>", "javascript:", "http://", "https://"] {
            let body = shown.body.replace("http://www.w3.org/2000/svg", "");
            assert!(!body.contains(inline), "{inline} in {body}");
        }
        assert_eq!(shown.body.matches("<h1>").count(), 1);
    }
    let secure = World::with(ServiceOptions { has_tls: true, ..ServiceOptions::default() });
    for (world, expected) in [
        (&world, "; HttpOnly; SameSite=Strict; Path=/"),
        (&secure, "; HttpOnly; SameSite=Strict; Path=/; Secure"),
    ] {
        let shown = world.sign_in(&world.token("cookie", Scope::Viewer, "*"));
        let cookie = shown.header("set-cookie").unwrap();
        assert!(cookie.ends_with(expected), "{cookie}");
        assert_eq!(cookie.starts_with("__Host-"), expected.ends_with("Secure"));
    }
}

#[test]
fn a_question_shows_its_whole_input_and_is_answered_by_a_form() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    let long = format!("echo {}end", "x".repeat(3_000));
    let input = json!({"command": format!("{long}\nrm -rf /\u{202e}tmp"), "<b>": "<script>alert(1)</script>\u{7}", "env": "kept=1 key=sk-live0123456789abcdefghij"});
    let call = json!({"id": "1", "tool": "deploy", "session": "s", "input": input});
    assert_eq!(world.post("/v1/call", &agent, &call).1["verdict"], "ask");
    let viewer = world.browser(&world.token_of(Scope::Viewer)).get("now").body;
    let browser = world.browser(&world.token("ada", Scope::Approver, "*"));
    let shown = browser.get("now").body;
    for text in [
        &long,
        "rm -rf /\\u{202e}tmp",
        "&lt;script&gt;alert(1)&lt;/script&gt;\\u{7}",
        "&lt;b&gt;",
        "require human-approval before deploy",
        "1 question waits",
    ] {
        assert!(shown.contains(text) && viewer.contains(text), "{text} is missing in {shown}");
    }
    assert!(shown.contains("kept=") && !shown.contains("sk-live0123"), "masked as the log masks it: {shown}");
    assert!(shown.contains("value=\"yes\"") && !viewer.contains("value=\"yes\""), "a viewer has no buttons");
    for (fields, status) in [
        ("approval=a1@s&granted=maybe", 400),
        ("approval=a9@s&granted=yes", 409),
        ("approval=a1@s&granted=yes&comment=looks+right", 303),
        ("approval=a1@s&granted=no", 409),
    ] {
        assert_eq!(browser.post("answer", fields).status, status, "{fields}");
    }
    assert!(browser.get("now").body.contains("Approved by ada"));
    let (_, verdict) = world.post("/v1/collect", &agent, &json!({"approval": "a1@s"}));
    assert_eq!(verdict["verdict"], "allow", "{verdict}");
    let audit = browser.get("audit").body;
    assert!(audit.contains("looks right") && audit.contains("by ada"), "{audit}");
}

#[test]
fn a_session_is_drawn_with_its_tokens_and_a_tenant_sees_its_own_alone() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    for (id, tool, session) in [("1", "push", "a/1"), ("2", "delete", "a/1"), ("3", "push", "b/1")] {
        world.call(&agent, id, tool, session);
    }
    let browser = world.browser(&world.token("a", Scope::Admin, "a/*"));
    let shown = browser.get("session?name=a/1").body;
    for text in [
        "<code>push</code> 2 times more this session",
        "a successful <code>backup</code> opens it",
        "budget: 2 tokens",
        "<svg",
        "delete requires a successful call to backup first.",
    ] {
        assert!(shown.contains(text), "{text} is missing in {shown}");
    }
    for (page, status) in [
        ("session?name=b/1", 403),
        ("session?name=a/nothing", 404),
        ("session", 403),
        ("audit-verify", 403),
        ("audit-export", 403),
        ("sessions?offset=x", 400),
        ("audit?verdict=maybe", 400),
        ("audit?since=yesterday", 400),
        ("audit?x=1", 400),
    ] {
        assert_eq!(browser.get(page).status, status, "{page}");
    }
    assert_eq!(browser.post("halt", "reason=x").status, 403, "all sessions are not its own");
    assert_eq!(browser.post("halt", "reason=x&session=b/1").status, 403);
    assert_eq!(browser.post("halt", "reason=x&session=a/1").status, 303);
    for page in ["now", "sessions", "audit", "audit?session=b/1", "field", "session?name=a/1"] {
        let body = browser.get(page).body;
        assert!(!body.contains("b/1<"), "{page} {body}");
    }
}

#[test]
fn a_draft_is_checked_and_compared() {
    let world = World::new();
    let browser = world.browser(&world.token_of(Scope::Author));
    let circle = "name-0=a.rules&text-0=require+a+before+b%0D%0Arequire+b+before+a";
    let shown = browser.post("check", circle).body;
    assert!(
        shown.contains("The draft can be read") && shown.contains("require a before b\nrequire b before a")
    );
    let findings = shown.split("id=\"results\"").nth(1).unwrap();
    assert!(findings.contains("class=\"finding\""), "{findings}");
    assert!(!findings.contains("Compared with"), "only where it is asked for");
    let shown = browser.post("check", &format!("{circle}&compare=yes")).body;
    assert!(shown.contains("differences, each with a session that shows it"), "{shown}");
    let shown = browser.post("check", "name-0=a.rules&text-0=blok+rm").body;
    assert!(shown.contains("The draft has mistakes") && shown.contains("block"), "{shown}");
    assert_eq!(browser.post("check", "").status, 400);
}

#[test]
fn the_log_is_filtered_and_paged_and_an_export_is_whole() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    world.call(&agent, "first", "first", "s");
    for id in 0..130 {
        world.call(&agent, &id.to_string(), if id % 2 == 0 { "push" } else { "read" }, "s");
    }
    let browser = world.browser(&world.token_of(Scope::Viewer));
    let rows = |page: &str| browser.get(page).body.matches("<tr id=\"n").count();
    let first = browser.get("audit").body;
    assert_eq!(first.matches("<tr id=\"n").count(), 100);
    let older = first.split("href=\"audit?before=").nth(1).unwrap().split('"').next().unwrap();
    let all = 100 + rows(&format!("audit?before={older}"));
    assert_eq!(rows("audit?tool=read&verdict=&session="), 65);
    assert_eq!(rows("audit?verdict=block"), 62, "three of 65 are let pass");
    assert_eq!(rows("audit?tool=first"), 1, "however far back it is");
    assert_eq!(rows("audit?until=2020-01-01T00:00"), 0);
    assert_eq!(rows("session?name=s"), 50, "the newest ones of a session");
    let export = browser.get("audit-export");
    assert!(export.header("content-disposition").unwrap().starts_with("attachment"));
    assert!(export.body.lines().count() > all, "and the head");
    assert!(browser.get("audit-verify").body.contains("are as they were written"));
    let field = browser.get("field").body;
    assert!(field.contains("limit-push-3") && field.contains("require backup before delete"), "{field}");
}
