//! What people do with the dashboard.

use std::{path::Path, thread};

use serde_json::{Value, json};

use crate::{
    driver::{Browser, Driver, Setting, wait_until},
    look::faults,
    team::Team,
};

/// Where a story is played.
pub(crate) struct Scene<'a> {
    pub(crate) driver: &'a Driver,
    /// For stories that need no setting of their own. A server has a port of its own, and so has what the browser knows about it.
    pub(crate) browser: &'a Browser,
    pub(crate) team: &'a Team,
    pub(crate) pictures: &'a Path,
}

type Story = fn(&Scene<'_>) -> Result<(), String>;

/// Every story, by its name.
pub(crate) const STORIES: &[(&str, Story)] = &[
    ("a_person_signs_in_and_an_agent_cannot", signing_in),
    ("a_question_arrives_live_and_the_agent_goes_on", approving),
    ("a_halt_blocks_until_an_admin_resumes", halting),
    ("a_session_is_redrawn_when_a_call_happens", watching),
    ("a_draft_with_a_circle_shows_its_finding_while_one_writes", drafting),
    ("a_phone_is_wide_enough_for_approvals", on_a_phone),
    ("the_keyboard_is_enough", by_keyboard),
    ("forms_are_enough", without_script),
    ("many_tabs_share_one_stream", many_tabs),
    ("every_page_can_be_read_in_light_and_dark", reading),
];

/// Keys as WebDriver writes them.
pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";

impl Scene<'_> {
    fn sign_in(&self, browser: &Browser, token: &str) -> Result<(), String> {
        browser.go(&self.team.url())?;
        browser.fill("#token", token)?;
        browser.click("button[type=submit]")?;
        browser.wait_for("h1", "Now")
    }

    fn picture(&self, browser: &Browser, name: &str) -> Result<(), String> {
        browser.picture(&self.pictures.join(format!("{name}.png")))
    }

    /// The page of this login with this name.
    fn page(&self, browser: &Browser, name: &str) -> Result<(), String> {
        let url = browser.url()?;
        let path = url.split('?').next().unwrap_or_default();
        let (base, _) = path.rsplit_once('/').ok_or("the page has no path")?;
        browser.go(&format!("{base}/{name}"))?;
        browser
            .text("header.top")
            .map_err(|_| format!("`{name}` is not shown: {:?}", browser.text("main")))
            .map(|_| ())
    }

    fn ask(&self, id: &str) -> Result<(), String> {
        let command = format!("kubectl apply -f shop.yaml\necho {}the-end", "long ".repeat(200));
        let input = json!({ "command": command, "to": "production" });
        let asked = self.team.call("shop/7", id, "deploy", &input)?;
        expect("the call asks", asked.get("verdict"), "ask")
    }
}

pub(crate) fn expect(what: &str, found: Option<&Value>, wanted: &str) -> Result<(), String> {
    match found.and_then(Value::as_str) {
        Some(found) if found == wanted => Ok(()),
        found => Err(format!("{what}: {found:?} instead of {wanted}")),
    }
}

pub(crate) fn ensure(is_so: bool, what: impl Into<String>) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what.into()) }
}

/// Nothing that the browser would have to complain about, such as content that the policy forbids.
pub(crate) fn no_complaints(browser: &Browser) -> Result<(), String> {
    let told = browser.complaints()?;
    ensure(told.is_empty(), format!("the browser complains: {told:?}"))
}

fn signing_in(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    browser.go(&scene.team.url())?;
    scene.picture(browser, "1-sign-in")?;
    for (token, notice) in [("lgt_00000000_wrong", "unknown"), (&scene.team.agent, "cannot sign in here")] {
        browser.fill("#token", token)?;
        browser.click("button[type=submit]")?;
        browser.wait_for(".notice", notice)?;
    }
    let is_refusal = |told: &String| told.contains("401") || told.contains("403");
    let others: Vec<String> = browser.complaints()?.into_iter().filter(|told| !is_refusal(told)).collect();
    ensure(others.is_empty(), format!("{others:?}"))?;
    scene.sign_in(browser, &scene.team.approver)?;
    let cookie = browser.run("return document.cookie")?;
    expect("scripts see no cookie", Some(&cookie), "")?;
    // Another tab finds the way back, without the token.
    let first = browser.tab()?;
    browser.new_tab()?;
    browser.go(&scene.team.url())?;
    browser.wait_for("h1", "Now")?;
    browser.click("form[action=sign-out] button")?;
    browser.wait_for(".notice", "not signed in")?;
    browser.go(&scene.team.url())?;
    browser.wait_for("button", "Sign in")?;
    browser.close_tab()?;
    // The tab that was left behind notices it by itself.
    browser.switch_to(&first)?;
    browser.wait_for(".notice", "not signed in")?;
    browser.complaints().map(|_| ())
}

fn approving(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.sign_in(browser, &scene.team.approver)?;
    browser.wait_for("#waiting", "No question waits")?;
    browser.wait_for("#live", "live")?;
    scene.ask("1")?;
    browser.wait_for("#waiting", "1 question waits")?;
    browser.wait_for("#questions", "the-end")?;
    browser.wait_for("#questions", "require human-approval before deploy")?;
    // What one writes stays when another question arrives.
    browser.fill("article textarea", "looks right")?;
    scene.ask("2")?;
    browser.wait_for("#waiting", "2 questions wait")?;
    let kept = browser.run("return document.querySelector('article textarea').value")?;
    expect("the comment is kept", Some(&kept), "looks right")?;
    scene.picture(browser, "2-now")?;
    let verdict = thread::scope(|scope| {
        let waits =
            scope.spawn(|| scene.team.send("/v1/collect", &json!({ "approval": "a1@shop/7", "wait": 20 })));
        browser.click("article button[value=yes]")?;
        waits.join().map_err(|_| "the agent panicked".to_owned())?
    })?;
    expect("the agent goes on", verdict.get("verdict"), "allow")?;
    browser.wait_for(".notice", "Approved")?;
    browser.wait_for("#verdicts", "allow")?;
    browser.click("article button[value=no]")?;
    browser.wait_for(".notice", "Refused")?;
    let verdict = scene.team.send("/v1/collect", &json!({ "approval": "a2@shop/7" }))?;
    expect("the agent is told no", verdict.get("verdict"), "block")?;
    browser.wait_for("#waiting", "No question waits")?;
    no_complaints(browser)
}

fn halting(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.sign_in(browser, &scene.team.admin)?;
    browser.fill("section.halt input[name=reason]", "the shop is on fire")?;
    browser.click("section.halt button.bad")?;
    browser.wait_for(".alarm", "the shop is on fire")?;
    scene.picture(browser, "3-halted")?;
    let blocked = scene.team.call("shop/7", "1", "read", &json!({}))?;
    expect("a call is blocked", blocked.get("verdict"), "block")?;
    browser.click("form[action=resume] button")?;
    browser.wait_for(".notice", "Resumed")?;
    let open = scene.team.call("shop/7", "2", "read", &json!({}))?;
    expect("a call passes", open.get("verdict"), "allow")?;
    no_complaints(browser)
}

fn watching(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.team.call("shop/7", "1", "push", &json!({ "branch": "main" }))?;
    scene.sign_in(browser, &scene.team.approver)?;
    scene.page(browser, "sessions")?;
    browser.wait_for("#sessions", "shop/7")?;
    browser.click("#sessions a")?;
    browser.wait_for("#openness", "push 2 times more")?;
    browser.wait_for("#openness", "a successful backup opens it")?;
    let drawn =
        "return [...document.querySelectorAll('#nets svg title')].map((it) => it.textContent).join('; ')";
    let has = |text: &'static str| {
        let is_drawn = || Ok(browser.run(drawn)?.as_str().unwrap_or_default().contains(text));
        wait_until(text, is_drawn)
    };
    has("budget: 2 tokens")?;
    scene.team.call("shop/7", "2", "push", &json!({ "branch": "main" }))?;
    has("budget: 1 token;")?;
    browser.wait_for("#openness", "push once more")?;
    scene.team.call("shop/7", "3", "delete", &json!({ "path": "orders" }))?;
    browser.wait_for("#timeline", "delete requires a successful call to backup first.")?;
    scene.picture(browser, "4-session")?;
    no_complaints(browser)
}

fn drafting(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.sign_in(browser, &scene.team.admin)?;
    scene.page(browser, "policies")?;
    browser.wait_for("main", "rm impossible")?;
    browser.click("textarea.editor")?;
    // An author sees what it comes to while writing, without a button.
    browser.run("const text = document.querySelector('textarea.editor'); text.setSelectionRange(text.value.length, text.value.length)")?;
    browser.press("require delete before backup\n")?;
    browser.wait_for("#results", "The draft can be read, with 5 rules")?;
    browser.wait_for("#results", "backup and delete wait for each other in a circle")?;
    browser.press("limit push to 1 per session")?;
    browser.click("button[name=compare]")?;
    browser.wait_for("#results", "Compared with the policy in force")?;
    browser.wait_for("#results", "in force, block in the draft")?;
    browser.wait_for("#results > ul.findings:last-of-type", "push: allow in force, block in the draft")?;
    browser.text("#results > ul.findings:last-of-type .steps")?;
    scene.picture(browser, "5-policies")?;
    no_complaints(browser)
}

fn on_a_phone(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.driver.open(Setting::default())?;
    browser.be_a_phone()?;
    scene.ask("1")?;
    scene.sign_in(&browser, &scene.team.approver)?;
    for page in ["now", "sessions", "session?name=shop/7", "policies", "audit", "field"] {
        scene.page(&browser, page)?;
        let over = browser
            .run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")?;
        ensure(over.as_i64() == Some(0), format!("{page} is wider than a phone by {over}"))?;
        scene.picture(&browser, &format!("6-phone-{}", page.split('?').next().unwrap_or_default()))?;
    }
    scene.page(&browser, "now")?;
    let height = browser
        .run("return document.querySelector('article button[value=yes]').getBoundingClientRect().height")?;
    ensure(height.as_f64().unwrap_or(0.0) >= 44.0, format!("the button is {height} high"))?;
    browser.click("article button[value=yes]")?;
    browser.wait_for(".notice", "Approved")?;
    no_complaints(&browser)
}

fn by_keyboard(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.ask("1")?;
    browser.go(&scene.team.url())?;
    // The field of the token has the focus from the start.
    browser.press(&scene.team.approver)?;
    let typed = browser.run("return document.activeElement.value")?;
    expect("the token is typed", Some(&typed), &scene.team.approver)?;
    browser.press(ENTER)?;
    browser.wait_for("h1", "Now")?;
    let focused = "const at = document.activeElement; const style = getComputedStyle(at);
                   return at.value === 'yes' ? 'approve' : style.outlineStyle === 'none' ? `no ring: ${at.outerHTML.slice(0, 60)}` : ''";
    for _ in 0..40 {
        browser.press(TAB)?;
        match browser.run(focused)?.as_str() {
            Some("approve") => {
                browser.press(ENTER)?;
                browser.wait_for(".notice", "Approved")?;
                return keeping_focus(scene);
            }
            Some("") => {}
            other => return Err(format!("the focus cannot be seen: {other:?}")),
        }
    }
    Err("the button is not reached".to_owned())
}

/// What happens elsewhere does not take the focus away.
fn keeping_focus(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    browser.run("document.querySelector('#verdicts summary').focus()")?;
    scene.team.call("shop/8", "9", "read", &json!({ "path": "prices" }))?;
    browser.wait_for("#verdicts", "prices")?;
    let focused = browser.run("return document.activeElement.textContent")?;
    let is_kept = focused.as_str().is_some_and(|text| text.contains("kubectl"));
    ensure(is_kept, format!("the focus went to {focused}"))?;
    no_complaints(browser)
}

fn without_script(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.driver.open(Setting { is_without_script: true })?;
    scene.ask("1")?;
    scene.sign_in(&browser, &scene.team.approver)?;
    browser.wait_for("#questions", "the-end")?;
    scene.picture(&browser, "7-without-script")?;
    browser.fill("article textarea", "by a form")?;
    browser.click("article button[value=yes]")?;
    browser.wait_for(".notice", "Approved")?;
    let verdict = scene.team.send("/v1/collect", &json!({ "approval": "a1@shop/7" }))?;
    expect("the agent goes on", verdict.get("verdict"), "allow")?;
    scene.page(&browser, "audit")?;
    browser.wait_for("main", "by a form")
}

fn many_tabs(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.driver.open(Setting::default())?;
    scene.sign_in(&browser, &scene.team.approver)?;
    let (url, first) = (browser.url()?, browser.tab()?);
    // A browser has six connections to a server, and a stream of events keeps one.
    let mut last = first.clone();
    for _ in 0..8 {
        last = browser.new_tab()?;
        browser.go(&url)?;
        browser.wait_for("h1", "Now")?;
    }
    scene.ask("1")?;
    browser.wait_for("#waiting", "1 question waits")?;
    // The tab with the stream goes away, and another takes over.
    browser.switch_to(&first)?;
    browser.close_tab()?;
    browser.switch_to(&last)?;
    scene.ask("2")?;
    browser.wait_for("#waiting", "2 questions wait")?;
    no_complaints(&browser)
}

fn reading(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.ask("1")?;
    for (id, tool) in [("2", "push"), ("3", "delete"), ("4", "rm")] {
        scene.team.call("shop/7", id, tool, &json!({ "path": "orders" }))?;
    }
    let mut wrong = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme)?;
        browser.go(&format!("{}?ended", scene.team.url()))?;
        wrong.extend(faults(browser)?.into_iter().map(|fault| format!("{scheme} sign-in: {fault}")));
        scene.sign_in(browser, &scene.team.admin)?;
        for page in ["now", "sessions", "session?name=shop/7", "policies", "audit", "audit-verify", "field"] {
            scene.page(browser, page)?;
            wrong.extend(faults(browser)?.into_iter().map(|fault| format!("{scheme} {page}: {fault}")));
            let name = page.split('?').next().unwrap_or_default();
            scene.picture(browser, &format!("8-{scheme}-{name}"))?;
        }
    }
    ensure(wrong.is_empty(), wrong.join("\n  "))?;
    no_complaints(browser)
}
