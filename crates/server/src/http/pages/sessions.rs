//! *Sessions*: all of them, and one with its timeline, its nets and stages, and what is open in it.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use lockgate::{
    AuditQuery, Net,
    engine::{
        Decision, Status,
        call::visible,
        gate::{Backend as _, Openness, Session},
        petri::without_style,
        track,
    },
};
use maud::{Markup, PreEscaped, html};

use super::{
    layout::{Tab, page},
    newest::newest,
    now::halt_forms,
    parts::{badge, encoded, moment, records, sentence, session_link},
};
use crate::http::{
    exchange::{Exchange, Reply},
    problem::Problem,
};

/// How many sessions a page lists, and how many records of one it shows.
const ROWS: usize = 50;
/// How many nets are drawn; of others only the tokens are told.
const NETS_MAX: usize = 24;

pub(in crate::http) fn sessions(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["offset"])?;
    let offset = usize::try_from(exchange.number("offset")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let listed = exchange.service.backend.sessions()?;
    let mut entered =
        listed.into_iter().filter(|listing| exchange.caller.may_enter(&listing.session)).skip(offset);
    let shown: Vec<_> = entered.by_ref().take(ROWS).collect();
    let has_more = entered.next().is_some();
    let main = html! {
        h1 { "Sessions" }
        div #sessions data-live {
            @if shown.is_empty() {
                p.quiet { "There are no sessions " @if offset > 0 { "here." } @else { "yet." } }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Sessions" {
                    table {
                        thead { tr { th scope="col" { "Session" } th scope="col" { "Last used" } th scope="col" { "Questions" } } }
                        tbody {
                            @for listing in &shown {
                                tr {
                                    td { (session_link(&listing.session)) }
                                    td.when { (moment(listing.clock.0)) }
                                    td { @if listing.questions > 0 { span.badge.wait { (listing.questions) " open" } } }
                                }
                            }
                        }
                    }
                }
            }
        }
        nav.pager aria-label="Parts of the list" {
            @if offset > 0 { a href=(format!("sessions?offset={}", offset.saturating_sub(ROWS))) { "Newer sessions" } }
            @if has_more { a href=(format!("sessions?offset={}", offset.saturating_add(ROWS))) { "Older sessions" } }
        }
    };
    Ok(page(exchange, Tab::Sessions, "Sessions", &main))
}

pub(in crate::http) fn session(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["name", "before"])?;
    let name = exchange.parameter("name").unwrap_or_default();
    exchange.enter(name)?;
    let (service, before) = (exchange.service, exchange.number("before")?);
    // A name that was never used has no row; its page would look like one of a session that did nothing.
    if !service.backend.sessions()?.iter().any(|listing| listing.session == name) {
        let detail = format!("no session is called `{}`", visible(name));
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    let status = service.gate.status(name, exchange.moment())?;
    let session = service.gate.session(name)?;
    // A name with `*` in it is read as a pattern, so each record is looked at again.
    let filter = AuditQuery::default().session(name).filter();
    let filter = filter.map_err(|error| Problem::bad(error.to_string()))?;
    let timeline = newest(exchange, &filter, before, ROWS, |entry| entry.session.as_deref() == Some(name))?;
    let is_held = service.gate.held(name)?.is_some();
    let main = html! {
        h1 { "Session " code { (visible(name)) } }
        div #standing data-live { (standing(&status, is_held)) }
        section aria-labelledby="open-title" {
            h2 #open-title { "What is open" }
            div #openness data-live { (openness(&status)) }
        }
        section aria-labelledby="nets-title" {
            h2 #nets-title { "Nets and stages" }
            p.quiet { "Dots are tokens; a green box can happen now, a double border asks a human, a dashed one waits for success." }
            div #nets data-live { (pictures(exchange, &session, &status)) }
        }
        section aria-labelledby="timeline-title" {
            h2 #timeline-title { "Timeline" }
            div #timeline data-live { (records(&timeline.records, false)) }
            @if let Some(before) = timeline.before {
                nav.pager aria-label="Parts of the timeline" {
                    a href=(format!("session?name={}&before={before}", encoded(name))) { "Older records" }
                }
            }
        }
        div #halting data-live { (halt_forms(exchange, Some(name), status.halted.is_some())) }
    };
    let main = html! { div data-session=(name) { (main) } };
    Ok(page(exchange, Tab::Sessions, &format!("Session {}", visible(name)), &main))
}

fn standing(status: &Status, is_held: bool) -> Markup {
    let counts = &status.counters.counts;
    let counts = serde_json::to_value(counts).unwrap_or_default();
    html! {
        @if let Some(reason) = &status.halted { p.alarm role="alert" { strong { "Halted: " } (visible(reason)) } }
        @if is_held {
            p.notice {
                "Another policy is in force than the one this session began under. It is held to the stricter of both until an admin accepts the new one: "
                code { "POST /v1/accept-policy" } "."
            }
        }
        @if status.is_tainted { p.notice { "This session has seen sensitive data, which has closed tools." } }
        dl.facts {
            @for (name, value) in counts.as_object().into_iter().flatten() {
                dt { (name.replace('_', " ")) } dd { (value) }
            }
            dt { "calls in flight" } dd { (status.pending.len()) }
            dt { "open questions" } dd { (status.approvals.len()) }
            @for kind in &status.taints { dt { "has seen" } dd { (visible(kind)) } }
            @for (name, value) in &status.attributes { dt { (visible(name)) } dd { (visible(&value.to_string())) } }
        }
    }
}

/// What the rules say now, in the words that the model gets.
fn openness(status: &Status) -> Markup {
    let mut told: BTreeMap<Openness, BTreeSet<String>> = BTreeMap::new();
    let of_nets = status.nets.iter().filter(|net| net.active).flat_map(|net| &net.words);
    for words in of_nets.chain(&status.standing_words) {
        told.entry(words.openness).or_default().insert(words.text());
    }
    let others = match status.otherwise {
        None | Some(Decision::Allow) => {
            "Tools that are not named here are open, unless a rule objects to a call."
        }
        Some(Decision::Redact) => "In other calls sensitive data is masked.",
        Some(Decision::Ask) => "A human decides about other calls.",
        Some(Decision::Block) => "Other calls are closed, unless a rule allows them.",
    };
    html! {
        div.columns {
        @for (openness, title, word) in
            [(Openness::Open, "Open", "open"), (Openness::Human, "A human decides", "ask"), (Openness::Closed, "Closed", "closed")]
        {
            @if let Some(lines) = told.get(&openness) {
                div.column.(word) {
                    h3 { (title) }
                    ul { @for line in lines { li { (sentence(line)) } } }
                }
            }
        }
        @for workflow in status.workflows.iter().filter(|workflow| workflow.active) {
            div.column { h3 { (visible(&workflow.name)) } p { (sentence(&workflow.line.words())) } }
        }
        }
        p.quiet { (others) }
    }
}

fn pictures(exchange: &Exchange<'_>, session: &Session, status: &Status) -> Markup {
    let policy = exchange.service.gate.policy();
    let stage_of = |name: &str| {
        let found = status.workflows.iter().find(|workflow| workflow.name == name);
        found.map(|workflow| workflow.progress.active_stage.clone())
    };
    let mut nets: Vec<_> = policy
        .nets()
        .iter()
        .filter(|rule| session.is_active(rule.id))
        .filter_map(|rule| Some((rule, session.marking(policy, rule.id)?)))
        .collect();
    // What has moved says more about a session than what has not.
    nets.sort_by_key(|(rule, marking)| *marking == rule.net.start());
    html! {
        @if nets.is_empty() && policy.workflows().is_empty() {
            p.quiet { "The rules of this policy look at calls and have no nets to draw." }
        }
        div.pictures {
            @for workflow in policy.workflows() {
                figure tabindex="0" aria-label=(visible(&workflow.name)) { (drawn(&track(workflow, stage_of(&workflow.name).as_deref()).to_svg())) }
            }
            @for (rule, marking) in nets.iter().take(NETS_MAX) {
                figure tabindex="0" aria-label=(visible(&rule.name)) {
                    (drawn(&Net::of(rule).to_svg_at(marking)))
                    figcaption { code { (visible(rule.text().trim())) } }
                }
            }
        }
        @if nets.len() > NETS_MAX {
            details {
                summary { (nets.len() - NETS_MAX) " more nets" }
                ul.rules {
                    @for (rule, marking) in nets.iter().skip(NETS_MAX) {
                        li { code { (visible(&rule.name)) } " " (visible(&rule.net.marking_text(marking))) }
                    }
                }
            }
        }
        @if !status.pending.is_empty() {
            p { "Calls whose results have not come: " @for id in &status.pending { code { (visible(id)) } " " } }
        }
        @if !status.approvals.is_empty() {
            p { "Questions: " @for asked in &status.approvals { (badge("ask")) " " code { (visible(&asked.tool)) } " " } a href="now" { "answer on Now" } }
        }
    }
}

/// A picture of ours. It escapes names itself.
fn drawn(svg: &str) -> Markup {
    PreEscaped(without_style(svg))
}
