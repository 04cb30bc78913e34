//! What several pages show: moments, verdicts, inputs, records.
//!
//! Texts of agents are hostile. They are escaped by the templates, and what would hide or turn them is spelt out.

use jiff::Timestamp;
use lockgate::engine::{
    call::visible,
    gate::audit_log::{LogEvent, LoggedRule},
};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::newest::Record;

/// A moment. The script turns it into local time.
pub(super) fn moment(at: u64) -> Markup {
    let read = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    match read {
        Some(moment) => html! {
            time datetime=(moment.to_string()) data-ms=(at) { (moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()) }
        },
        None => html! { (at) " ms" },
    }
}

/// A verdict, or another word that says how something ended.
pub(super) fn badge(word: &str) -> Markup {
    let kind = match word {
        "allow" | "yes" | "ok" | "holds" | "success" => "good",
        "redact" | "ask" | "open" | "warning" | "undecided" => "wait",
        "block" | "no" | "failed" | "error" | "broken" | "failure" => "bad",
        _ => "plain",
    };
    html! { span.badge.(kind) { (word) } }
}

/// A sentence whose names stand in backticks.
pub(super) fn sentence(text: &str) -> Markup {
    let shown = visible(text);
    html! {
        @for (place, part) in shown.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The page of a session.
pub(super) fn session_link(session: &str) -> Markup {
    html! { a.session href=(session_path(session)) { (visible(session)) } }
}

pub(super) fn session_path(session: &str) -> String {
    format!("session?name={}", encoded(session))
}

/// A text as a parameter of a link.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The whole input of a call, field by field.
pub(super) fn input(input: &Map<String, Value>) -> Markup {
    html! {
        @if input.is_empty() {
            p.quiet { "no input" }
        } @else {
            dl.input {
                @for (name, value) in input {
                    dt { (visible(name)) }
                    dd { (lines(value)) }
                }
            }
        }
    }
}

/// A value line by line. Each line of a text is an element of its own, so no text can look like another field.
fn lines(value: &Value) -> Markup {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let is_long = lines.len() > 1;
    html! {
        pre.lines.numbered[is_long] tabindex="0" {
            @for line in &lines { span.line { (visible(line)) "\n" } }
        }
    }
}

/// The same in one line, cut: the whole input is one click away.
pub(super) fn short_input(input: &Map<String, Value>) -> String {
    const LETTERS_MAX: usize = 120;
    let text = match (input.len(), input.values().next()) {
        (1, Some(Value::String(text))) => text.clone(),
        (0, _) => String::new(),
        _ => serde_json::to_string(input).unwrap_or_default(),
    };
    let shown = visible(&text);
    match shown.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

/// Rules that had a say.
fn rules(rules: &[LoggedRule]) -> Markup {
    html! {
        @if !rules.is_empty() {
            ul.rules {
                @for rule in rules {
                    li {
                        code { (visible(&rule.rule)) } " wants " (rule.wants)
                        @if rule.observed { " (observed only)" }
                        @if !rule.place.is_empty() { span.quiet { " " (visible(&rule.place)) } }
                    }
                }
            }
        }
    }
}

/// A table of records. `has_session` says whether they are of several sessions.
pub(super) fn records(records: &[Record], has_session: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Records" {
            table.records {
                thead {
                    tr {
                        th scope="col" { "Record" }
                        th scope="col" { "When" }
                        @if has_session { th scope="col" { "Session" } }
                        th scope="col" { "What" }
                        th scope="col" { "Verdict" }
                        th scope="col" { "Reason" }
                    }
                }
                tbody { @for record in records { (row(record, has_session)) } }
            }
        }
    }
}

fn row(record: &Record, has_session: bool) -> Markup {
    let entry = &record.entry;
    let Told { what, verdict, reason, more } = told(&entry.what);
    html! {
        tr id=(format!("n{}", record.n)) {
            td.number { (record.n) }
            td.when { (moment(entry.at)) }
            @if has_session {
                td { @if let Some(session) = &entry.session { (session_link(session)) } @else { span.quiet { "all" } } }
            }
            td.what { (what) (more) }
            td { @if let Some(word) = &verdict { (badge(word)) } }
            td.reason { (reason) }
        }
    }
}

/// A record in words.
struct Told {
    what: Markup,
    verdict: Option<String>,
    reason: Markup,
    more: Markup,
}

fn told(what: &LogEvent) -> Told {
    let plain = |what: Markup, verdict: Option<&str>, reason: Markup| Told {
        what,
        verdict: verdict.map(str::to_owned),
        reason,
        more: html! {},
    };
    match what {
        LogEvent::Call { call, decided } => Told {
            what: html! { code.tool { (visible(&call.tool)) } },
            verdict: Some(decided.verdict.clone()),
            reason: html! { (sentence(&decided.reason)) },
            more: html! {
                @if !call.input.is_empty() || !decided.rules.is_empty() {
                    details {
                        summary { (short_input(&call.input)) @if call.input.is_empty() { "rules" } }
                        (input(&call.input))
                        @if call.is_masked { p.quiet { "Parts of the input are masked or left out." } }
                        (rules(&decided.rules))
                    }
                }
            },
        },
        LogEvent::Answer { approval, granted, by, .. } => plain(
            html! { "answer to " code { (visible(approval)) } },
            Some(if *granted { "yes" } else { "no" }),
            html! { "by " (visible(by)) },
        ),
        LogEvent::Duplicate { id, door } => plain(
            html! { "call " code { (visible(id)) } " again" },
            None,
            html! { "by the door " (visible(door)) },
        ),
        LogEvent::Result { id, tool, ok, output, reason, rules: said, .. } => Told {
            what: html! {
                "result of "
                @if let Some(tool) = tool { code.tool { (visible(tool)) } } @else { code { (visible(id)) } }
            },
            verdict: Some(if *ok { "ok" } else { "failed" }.to_owned()),
            reason: html! {
                @if output != "allow" { "output: " (output) " " }
                @if let Some(reason) = reason { (sentence(reason)) }
            },
            more: rules(said),
        },
        LogEvent::Lapsed { id, approval } => plain(
            html! { "call " code { (visible(id)) } " lapsed" },
            None,
            match approval {
                Some(approval) => {
                    html! { "the question " code { (visible(approval)) } " had no answer in time" }
                }
                None => html! { "its result never came" },
            },
        ),
        LogEvent::Operator { act, about } => plain(
            html! { (visible(act)) },
            None,
            html! {
                @for (name, value) in about {
                    span.fact { span.quiet { (visible(name)) ": " } (short_value(value)) " " }
                }
            },
        ),
    }
}

fn short_value(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        other => visible(&other.to_string()),
    }
}
