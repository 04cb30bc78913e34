//! *Field*: what the rules do in practice, by the audit log.

use std::collections::BTreeMap;

use lockgate::engine::{
    AuditFilter,
    call::visible,
    gate::audit_log::{LogEntry, LogEvent},
    policy::Rule,
};
use maud::{Markup, html};

use super::{
    layout::{Tab, page},
    newest::newest,
    parts::{encoded, moment},
};
use crate::http::{
    exchange::{Exchange, Reply},
    problem::Problem,
};

/// How many calls are looked at.
const CALLS_MAX: usize = 50_000;

/// What a rule had to say about calls.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    asks: u64,
    blocks: u64,
    others: u64,
    last_at: u64,
}

impl Tally {
    fn total(&self) -> u64 {
        self.asks + self.blocks + self.others
    }
}

pub(in crate::http) fn field(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let is_call = |entry: &LogEntry| matches!(entry.what, LogEvent::Call { .. });
    let calls = newest(exchange, &AuditFilter::default(), None, CALLS_MAX, is_call)?;
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for record in &calls.records {
        let LogEvent::Call { decided, .. } = &record.entry.what else { continue };
        for rule in &decided.rules {
            let tally = tallies.entry(rule.rule.clone()).or_default();
            match rule.wants.as_str() {
                "ask" => tally.asks += 1,
                "block" => tally.blocks += 1,
                _ => tally.others += 1,
            }
            tally.last_at = tally.last_at.max(record.entry.at);
        }
    }
    let compiled = exchange.service.policy.compiled();
    let mut silent: Vec<&Rule> = compiled.rules().filter(|rule| !tallies.contains_key(&rule.name)).collect();
    // A rule that is lowered to several is one for its author.
    silent.dedup_by(|one, other| one.name == other.name);
    let mut spoke: Vec<(&String, &Tally)> = tallies.iter().collect();
    spoke.sort_by_key(|(name, tally)| (std::cmp::Reverse((tally.asks, tally.total())), *name));
    let main = html! {
        h1 { "Field" }
        p.quiet {
            "What the rules did in the latest " (calls.records.len()) " calls of the audit log"
            @if let Some(first) = calls.records.last() { ", since " (moment(first.entry.at)) }
            "."
        }
        section aria-labelledby="spoke-title" {
            h2 #spoke-title { "Rules that had a say, those that ask most first" }
            (spoken(&spoke))
        }
        section aria-labelledby="silent-title" {
            h2 #silent-title { "Rules that never fired" }
            p.quiet { "They had nothing against any of these calls. They may be idle, misspelt, or guard against what has not happened." }
            ul.rules {
                @for rule in &silent {
                    li { code { (visible(rule.text().trim())) } span.quiet { " " (rule.place.file) ":" (rule.place.line) } }
                }
            }
            @if silent.is_empty() { p.quiet { "There are none." } }
        }
    };
    Ok(page(exchange, Tab::Field, "Field", &main))
}

fn spoken(spoke: &[(&String, &Tally)]) -> Markup {
    html! {
        @if spoke.is_empty() {
            p.quiet { "No rule had a say yet." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Rules" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Rule" }
                            th scope="col" { "Asked" }
                            th scope="col" { "Blocked" }
                            th scope="col" { "Other" }
                            th scope="col" { "Last" }
                        }
                    }
                    tbody {
                        @for (name, tally) in spoke {
                            tr {
                                td { a href=(format!("audit?rule={}", encoded(name))) { code { (visible(name)) } } }
                                td.number { (tally.asks) }
                                td.number { (tally.blocks) }
                                td.number { (tally.others) }
                                td.when { (moment(tally.last_at)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
