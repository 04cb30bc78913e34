//! *Policies*: the one in force with what is proved about it, and the editor of a draft.

use lockgate::engine::call::visible;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{
    layout::{Tab, form_token, page},
    parts::{badge, sentence, short_input},
};
use crate::{
    http::{
        exchange::{Exchange, Reply},
        problem::Problem,
    },
    scope::Scope,
};

/// A file of a policy.
pub(super) struct PolicyText {
    pub(super) name: String,
    pub(super) text: String,
}

pub(in crate::http) fn policies(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let compiled = exchange.service.policy.compiled();
    let files: Vec<PolicyText> = compiled
        .sources()
        .iter()
        .map(|source| PolicyText { name: source.name().to_owned(), text: source.text().to_owned() })
        .collect();
    Ok(policies_page(exchange, &files, &html! { p.quiet { "Nothing was checked yet." } }))
}

/// The page, with a draft and what is known about it.
pub(super) fn policies_page(exchange: &Exchange<'_>, draft: &[PolicyText], results: &Markup) -> Reply {
    let service = exchange.service;
    let verified = service.verified();
    let number = |name: &str| verified.get(name).and_then(Value::as_u64).unwrap_or(0);
    let is_author = matches!(exchange.caller.scope, Scope::Author | Scope::Admin);
    let main = html! {
        h1 { "Policies" }
        section aria-labelledby="active-title" {
            h2 #active-title { "In force" }
            dl.facts {
                dt { "hash" } dd { code { (service.policy.hash()) } }
                dt { "rules" } dd { (number("rules")) }
                dt { "proof" } dd { @if verified.get("exact") == Some(&Value::Bool(true)) { "exact" } @else { "some questions are undecided" } }
            }
            (proved(verified))
            @for source in service.policy.compiled().sources() {
                details { summary { code { (visible(source.name())) } } pre.policy tabindex="0" { (visible_lines(source.text())) } }
            }
        }
        section aria-labelledby="draft-title" {
            h2 #draft-title { "Draft" }
            @if is_author {
                p.quiet {
                    "Edit and see what is proved, before an agent meets it. Nothing here changes the policy in force: to activate a draft, save it to the policy files of the server and start "
                    code { "lockgate serve" } " again. Sessions that began before stay under the stricter of both until an admin accepts the new policy."
                }
                form #draft.stack method="post" action="check#results" data-check {
                    (form_token(exchange))
                    @for (place, file) in draft.iter().enumerate() {
                        input type="hidden" name=(format!("name-{place}")) value=(file.name);
                        label for=(format!("text-{place}")) { code { (visible(&file.name)) } }
                        textarea.editor id=(format!("text-{place}")) name=(format!("text-{place}")) rows="14" spellcheck="false" autocapitalize="off" {
                            // Browsers leave out the first line break.
                            "\n" (file.text)
                        }
                    }
                    div.buttons {
                        button.primary type="submit" { "Check" }
                        button type="submit" name="compare" value="yes" { "Check and compare with the policy in force" }
                    }
                }
                div #results aria-live="polite" tabindex="-1" { (results) }
            } @else {
                p.quiet { "An author or an admin can check drafts." }
            }
        }
    };
    page(exchange, Tab::Policies, "Policies", &main)
}

/// Findings and claims, from the JSON of a verification.
pub(super) fn proved(verified: &Value) -> Markup {
    let list = |name: &str| verified.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (findings, claims) = (list("findings"), list("claims"));
    html! {
        h3 { "Findings" }
        @if findings.is_empty() { p.quiet { "There are none." } }
        ul.findings { @for finding in &findings { (finding_item(finding)) } }
        @if !claims.is_empty() {
            h3 { "Claims" }
            ul.findings { @for claim in &claims { (claim_item(claim)) } }
        }
        @for text in list("undecided").iter().filter_map(Value::as_str) { p { (badge("undecided")) " " (sentence(text)) } }
        @if !list("left_out").is_empty() {
            details {
                summary { (list("left_out").len()) " rules are not part of the proof" }
                ul.rules {
                    @for rule in &list("left_out") { li { code { (text(rule, "rule")) } " " (text(rule, "why")) } }
                }
            }
        }
    }
}

fn finding_item(finding: &Value) -> Markup {
    let place = finding.pointer("/where/0").map(|place| {
        let line = place.get("line").and_then(Value::as_u64).unwrap_or(0);
        format!("{}:{line}", text(place, "file"))
    });
    html! {
        li.finding {
            (badge(&text(finding, "severity"))) " " (sentence(&text(finding, "message"))) " "
            @if let Some(place) = place { span.quiet { (place) } }
            @if finding.get("remedy").is_some() { p.remedy { "Try: " (sentence(&text(finding, "remedy"))) } }
            (steps(finding))
        }
    }
}

fn claim_item(claim: &Value) -> Markup {
    let word = match claim.get("holds") {
        Some(Value::Bool(true)) => "holds",
        Some(Value::Bool(false)) => "broken",
        _ => "undecided",
    };
    html! {
        li.finding {
            (badge(word)) " " code { (text(claim, "text")) }
            @if claim.get("undecided").is_some() { p.quiet { (sentence(&text(claim, "undecided"))) } }
            (steps(claim))
        }
    }
}

/// A session that shows something, step by step.
pub(super) fn steps(of: &Value) -> Markup {
    let steps = of.get("trace").and_then(Value::as_array).cloned().unwrap_or_default();
    html! {
        @if !steps.is_empty() {
            p.label { "A session that shows it" }
            ol.steps {
                @for step in &steps {
                    li {
                        code.tool { (text(step, "tool")) } " "
                        @if let Some(input) = step.get("input").and_then(Value::as_object) { code.quiet { (short_input(input)) } " " }
                        (badge(&text(step, "verdict")))
                        @if step.get("human").is_some() { span.quiet { " the human says " (text(step, "human")) } }
                        @if step.get("result").is_some() { span.quiet { " ends in " (text(step, "result")) } }
                        @if let Some(ms) = step.get("waited_ms").and_then(Value::as_u64) { span.quiet { " after " (ms / 1000) " s" } }
                        @if let Some(times) = step.get("times").and_then(Value::as_u64) { span.quiet { " " (times) " times" } }
                    }
                }
            }
        }
    }
}

/// A field of an object, as people may be shown it.
pub(super) fn text(of: &Value, field: &str) -> String {
    let empty = Map::new();
    visible(of.as_object().unwrap_or(&empty).get(field).and_then(Value::as_str).unwrap_or_default())
}

fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}
