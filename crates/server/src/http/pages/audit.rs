//! *Audit*: the log by filters, whether it is whole, and the whole of it to take away.

use axum::http::{StatusCode, header};
use jiff::{civil::DateTime, tz::TimeZone};
use lockgate::{
    AuditQuery, Decision,
    engine::{
        AuditFilter, Time,
        call::visible,
        store::{Query, to_hex},
    },
};
use maud::{Markup, html};

use super::{
    layout::{Tab, page},
    newest::newest,
    parts::{badge, encoded, moment, records},
};
use crate::http::{
    exchange::{Exchange, Reply},
    problem::Problem,
};

/// How many records a page shows.
const ROWS: usize = 100;
/// How many records an export over HTTP has at most: it is made in memory.
const EXPORT_MAX: u64 = 100_000;
/// The fields of the filter.
const FIELDS: [&str; 6] = ["session", "tool", "rule", "verdict", "since", "until"];
const VERDICTS: [Decision; 4] = [Decision::Allow, Decision::Redact, Decision::Ask, Decision::Block];

pub(in crate::http) fn audit(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["session", "tool", "rule", "verdict", "since", "until", "before"])?;
    let found = newest(exchange, &filter_of(exchange)?, exchange.number("before")?, ROWS, |_| true)?;
    let main = html! {
        h1 { "Audit" }
        (filter_form(exchange))
        div #records data-live {
            @if found.records.is_empty() { p.quiet { "No record is meant." } } @else { (records(&found.records, true)) }
        }
        nav.pager aria-label="Parts of the log" {
            @if let Some(before) = found.before { a href=(older(exchange, before)) { "Older records" } }
        }
        @if exchange.caller.may_enter_all() { (whole_log()) }
    };
    Ok(page(exchange, Tab::Audit, "Audit", &main))
}

/// A field of the filter; a form also sends those that were left empty.
fn given<'a>(exchange: &'a Exchange<'_>, name: &str) -> Option<&'a str> {
    exchange.parameter(name).map(str::trim).filter(|value| !value.is_empty())
}

fn filter_of(exchange: &Exchange<'_>) -> Result<AuditFilter, Problem> {
    let mut query = AuditQuery::default();
    if let Some(session) = given(exchange, "session") {
        query = query.session(session);
    }
    if let Some(tool) = given(exchange, "tool") {
        query = query.tool(tool);
    }
    if let Some(rule) = given(exchange, "rule") {
        query = query.rule(rule);
    }
    if let Some(word) = given(exchange, "verdict") {
        let verdict = VERDICTS.into_iter().find(|decision| decision.word() == word);
        let wrong =
            || Problem::bad(format!("`verdict` is allow, redact, ask or block, not `{}`", visible(word)));
        query = query.verdict(verdict.ok_or_else(wrong)?);
    }
    if let Some(since) = given(exchange, "since") {
        query = query.since(moment_of(since)?);
    }
    if let Some(until) = given(exchange, "until") {
        query = query.until(moment_of(until)?);
    }
    query.filter().map_err(|error| Problem::bad(error.to_string()))
}

/// A moment as a form says it.
fn moment_of(text: &str) -> Result<Time, Problem> {
    let read = text.parse::<DateTime>().and_then(|civil| civil.to_zoned(TimeZone::UTC));
    let ms = read.ok().and_then(|zoned| u64::try_from(zoned.timestamp().as_millisecond()).ok());
    let wrong = || Problem::bad(format!("`{}` is not a moment such as 2026-01-31T13:00", visible(text)));
    ms.map(Time).ok_or_else(wrong)
}

fn older(exchange: &Exchange<'_>, before: u64) -> String {
    let kept = FIELDS.iter().filter_map(|name| Some(format!("{name}={}&", encoded(given(exchange, name)?))));
    format!("audit?{}before={before}", kept.collect::<String>())
}

fn filter_form(exchange: &Exchange<'_>) -> Markup {
    let chosen = given(exchange, "verdict").unwrap_or_default();
    let value = |name: &str| given(exchange, name).unwrap_or_default().to_owned();
    html! {
        form.filter method="get" action="audit" role="search" aria-label="Filter" {
            @for (name, label) in [("session", "Session"), ("tool", "Tool"), ("rule", "Rule")] {
                label { (label) input name=(name) value=(value(name)) placeholder="any, or a*"; }
            }
            label {
                "Verdict"
                select name="verdict" {
                    option value="" { "any" }
                    @for verdict in VERDICTS {
                        option value=(verdict.word()) selected[verdict.word() == chosen] { (verdict.word()) }
                    }
                }
            }
            label { "Since (UTC)" input type="datetime-local" name="since" value=(value("since")); }
            label { "Until (UTC)" input type="datetime-local" name="until" value=(value("until")); }
            button type="submit" { "Filter" }
        }
    }
}

fn whole_log() -> Markup {
    html! {
        section aria-labelledby="whole-title" {
            h2 #whole-title { "The whole log" }
            p.quiet {
                "Each record has the hash of the one before it, and the head is signed. An export ends with the signed head, so that "
                code { "lockgate audit verify FILE" } " can check it anywhere."
            }
            div.buttons {
                form method="get" action="audit-verify" { button type="submit" { "Verify" } }
                form method="get" action="audit-export" { button type="submit" { "Export" } }
            }
        }
    }
}

pub(in crate::http) fn verify(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let found = exchange.service.store.verify(None, &mut |_| ())?;
    let (verified, is_whole) = (&found.verified, found.is_whole());
    let main = html! {
        h1 { "Audit" }
        section aria-labelledby="verified-title" {
            h2 #verified-title { "Verification" }
            p role="status" {
                (badge(if is_whole { "ok" } else { "broken" })) " "
                @if is_whole { "The log and the state are as they were written: " (verified.records) " records, " (verified.rows) " rows." }
                @else { "The log or the state was changed outside of Lockgate." }
            }
            ul.findings { @for problem in &verified.problems { li.finding { (visible(&problem.sentence)) } } }
            @if let Some(head) = &verified.head {
                dl.facts {
                    dt { "last record" } dd { (head.n) }
                    dt { "its hash" } dd { code { (to_hex(&head.hash)) } }
                    dt { "written" } dd { (moment(head.at.0)) }
                    dt { "signed with" } dd { code { (to_hex(&head.public_key)) } }
                }
            }
            @if let Some(seal) = &found.seal {
                dl.facts {
                    dt { "last seal" } dd { (seal.n) }
                    dt { "its hash" } dd { code { (to_hex(&seal.hash)) } }
                    dt { "made" } dd { (moment(seal.at.0)) }
                    dt { "signed with" } dd { code { (to_hex(&seal.key)) } }
                }
            }
            p { a href="audit" { "Back to the records" } }
        }
    };
    Ok(page(exchange, Tab::Audit, "Verification", &main))
}

/// The whole log as `lockgate audit --export` writes it.
pub(in crate::http) fn export(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let Some(backend) = exchange.service.store.sqlite() else {
        let detail = "a store that servers share has a chain for each session, and no export yet; read `GET /v1/audit`";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, detail));
    };
    // What is appended meanwhile comes after the head that we have.
    let head = backend.head()?;
    if head.n.saturating_sub(head.pruned) > EXPORT_MAX {
        let detail = format!(
            "the log has more than {EXPORT_MAX} records; run `lockgate audit --export FILE --state DIR/state.db` where the server runs"
        );
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    let (mut lines, mut last) = (String::new(), head.pruned);
    for link in backend.audit_log(Query { after_n: head.pruned, ..Query::default() }) {
        let link = link?;
        if link.n > head.n {
            break;
        }
        if link.n != last.saturating_add(1) {
            break;
        }
        last = link.n;
        lines.push_str(&link.to_line());
        lines.push('\n');
    }
    if last != head.n {
        let detail = "records are missing: they were pruned meanwhile, or the log was changed; verify it";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
    }
    lines.push_str(&head.to_line());
    lines.push('\n');
    let headers =
        vec![(header::CONTENT_DISPOSITION, "attachment; filename=\"lockgate-audit.jsonl\"".to_owned())];
    Ok(Reply { media_type: "application/x-ndjson", headers, ..Reply::text(lines) })
}
