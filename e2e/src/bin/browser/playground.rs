//! What people do in the playground, which is one file and is opened from its folder.

use std::path::Path;

use serde_json::Value;

use crate::{
    driver::{Browser, wait_until},
    look::faults,
    stories::{TAB, ensure, expect, no_complaints},
};

/// Where a story is played.
pub(crate) struct Scene<'a> {
    pub(crate) browser: &'a Browser,
    pub(crate) page: &'a Path,
    pub(crate) pictures: &'a Path,
}

type Story = fn(&Scene<'_>) -> Result<(), String>;

/// Every story, by its name.
pub(crate) const STORIES: &[(&str, Story)] = &[
    ("a_circle_is_found_while_one_types", typing_a_circle),
    ("calls_are_played_and_move_the_nets", playing),
    ("an_address_shares_what_is_written", sharing),
    ("a_hostile_address_is_only_text", reading_hostile_text),
    ("a_hard_text_is_given_up_and_the_page_lives_on", giving_up),
    ("the_keyboard_is_enough", by_keyboard),
    ("the_page_can_be_read_in_light_and_dark_and_on_a_phone", reading),
];

impl Scene<'_> {
    /// Opens the page and waits until Lockgate has answered for the first time.
    fn open(&self, fragment: &str) -> Result<(), String> {
        self.browser.go("about:blank")?;
        self.browser.go(&format!("file://{}{fragment}", self.page.display()))?;
        wait_until("Lockgate answers", || Ok(self.browser.text("#summary")?.contains("error")))
    }

    fn picture(&self, name: &str) -> Result<(), String> {
        self.browser.picture(&self.pictures.join(format!("{name}.png")))
    }

    /// What the first net looks like.
    fn drawn(&self) -> Result<String, String> {
        let found = self.browser.run("return document.querySelector('#pictures img')?.src || ''")?;
        Ok(found.as_str().unwrap_or_default().to_owned())
    }
}

fn typing_a_circle(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    browser.fill("#policy", "require a before b\nrequire b before a")?;
    browser.wait_for("#findings", "circular")?;
    browser.wait_for("#findings", "error")?;
    scene.picture("circle")?;
    // The place of a finding leads into the text.
    browser.click("#findings .place")?;
    let selected = browser.run(
        "const it = document.activeElement; return it.value.slice(it.selectionStart, it.selectionEnd)",
    )?;
    ensure(
        selected.as_str().is_some_and(|it| it.starts_with("require ")),
        format!("{selected:?} is selected"),
    )?;
    browser.fill("#policy", "requier a before b")?;
    browser.wait_for("#findings", "unknown-keyword")?;
    browser.fill("#policy", "require a before b\nclaim never b before a")?;
    browser.wait_for("#claims", "proved")?;
    browser.wait_for("#summary", "0 errors")?;
    no_complaints(browser)
}

fn playing(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    browser.fill("#policy", "map bash.command rm as delete\nrequire backup before delete")?;
    browser.fill("#session", "bash $ sudo rm -rf data")?;
    browser.wait_for("#verdicts", "block")?;
    browser.wait_for("#verdicts", "delete requires a successful call to backup first")?;
    let before = scene.drawn()?;
    browser.fill("#session", "backup\nbash $ sudo rm -rf data")?;
    wait_until("both calls pass", || {
        let told = browser.text("#verdicts")?;
        Ok(told.matches("allow").count() == 2 && !told.contains("block"))
    })?;
    browser.fill("#session", "backup")?;
    wait_until("the net has moved", || Ok(scene.drawn()? != before))?;
    let is_shown = browser.run(
        "const it = document.querySelector('#pictures img'); return it.complete && it.naturalWidth > 0",
    )?;
    ensure(is_shown == Value::Bool(true), "the net is not drawn")?;
    scene.picture("session")?;
    browser.fill("#session", "deploy maybe")?;
    browser.wait_for("#verdicts", "line 1")?;
    no_complaints(browser)
}

fn sharing(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    browser.fill("#policy", "block größe # ✓")?;
    browser.fill("#session", "größe")?;
    browser.wait_for("#verdicts", "größe is blocked")?;
    let address = browser.url()?;
    let (_, fragment) = address.split_once('#').ok_or("the address has nothing behind `#`")?;
    scene.open(&format!("#{fragment}"))?;
    let written = browser.run("return document.getElementById('policy').value")?;
    expect("the policy came along", Some(&written), "block größe # ✓")?;
    browser.wait_for("#verdicts", "größe is blocked")?;
    // What is no writing of ours opens the page as it is without.
    scene.open("#%%%")?;
    browser.wait_for("#verdicts", "allow")?;
    no_complaints(browser)
}

fn reading_hostile_text(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    let name = "<img/src=x/onerror=document.title=1>";
    browser.fill(
        "#policy",
        &format!("require {name} before b\nblock </script><script>document.title=1</script>"),
    )?;
    browser.fill("#session", &format!("b\n{name}"))?;
    browser.wait_for("#verdicts", "onerror")?;
    let title = browser.run("return document.title")?;
    expect("no script has run", Some(&title), "Lockgate playground")?;
    no_complaints(browser)
}

/// A page that hangs is closed; one that gives up goes on with the next text.
fn giving_up(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    // Far more states than are looked at.
    let hard = "{kind: Net, name: n, places: {a: 900, b: 900, c: 900, d: 0}, transitions: [{name: t, inputs: [a], outputs: [d], tools: [x]}, \
                {name: u, inputs: [b], tools: [y]}, {name: v, inputs: [c], tools: [z]}]}";
    let write = "const it = document.getElementById('policy'); it.value = arguments[0]; it.dispatchEvent(new Event('input'))";
    browser.run(&write.replace("arguments[0]", &Value::from(hard).to_string()))?;
    browser.fill("#policy", "block x")?;
    browser.fill("#session", "x")?;
    browser.wait_for("#verdicts", "x is blocked")?;
    // What the worker says when Lockgate breaks off in it.
    browser.run("worker.onmessage({ data: { broken: 'unreachable' } })")?;
    browser.wait_for("#summary", "broke off")?;
    browser.fill("#policy", "block y")?;
    browser.fill("#session", "y")?;
    browser.wait_for("#verdicts", "y is blocked")?;
    browser.wait_for("#summary", "1 rule")?;
    no_complaints(browser)
}

fn by_keyboard(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    let focused = || browser.run("return document.activeElement.id");
    let mut seen = Vec::new();
    for _ in 0..5 {
        browser.press(TAB)?;
        seen.push(focused()?.as_str().unwrap_or_default().to_owned());
    }
    ensure(
        seen.starts_with(&["example", "share", "policy", "session"].map(str::to_owned)),
        format!("{seen:?} in turn"),
    )?;
    browser.run("document.getElementById('policy').select()")?;
    browser.run("document.getElementById('policy').focus()")?;
    browser.press("block deploy")?;
    browser.wait_for("#summary", "1 rule")?;
    no_complaints(browser)
}

fn reading(scene: &Scene<'_>) -> Result<(), String> {
    let browser = scene.browser;
    scene.open("")?;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme)?;
        browser.fill(
            "#policy",
            "require a before b\nrequire b before a\nlimit c to 2 per session\nclaim never c before a",
        )?;
        browser.fill("#session", "a\nb\nc\nd maybe")?;
        browser.wait_for("#verdicts", "line 4")?;
        browser.wait_for("#claims", "false")?;
        scene.picture(scheme)?;
        let faults = faults(browser)?;
        ensure(faults.is_empty(), format!("{scheme}: {faults:?}"))?;
    }
    browser.be_a_phone()?;
    let width =
        browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")?;
    scene.picture("phone")?;
    ensure(width.as_i64() == Some(0), format!("{width} pixels do not fit on a phone"))?;
    no_complaints(browser)
}
