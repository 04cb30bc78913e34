//! A draft, checked and compared with the policy in force.

use lockgate::PolicyBuilder;
use lockgate::engine::call::visible;
use maud::{Markup, html};
use serde_json::Value;

use super::{
    parts::{badge, sentence},
    policies::{PolicyText, policies_page, proved, steps, text},
};
use crate::http::{
    drafts::builder_of,
    exchange::{Exchange, Reply},
    problem::Problem,
};

/// How many files a draft has at most.
const FILES_MAX: usize = 100;

pub(in crate::http) fn check(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let files = files_of(exchange);
    let results = results(exchange, &files)?;
    Ok(policies_page(exchange, &files, &results))
}

fn files_of(exchange: &Exchange<'_>) -> Vec<PolicyText> {
    let file = |place: usize| {
        let name = exchange.body.get(&format!("name-{place}"))?.as_str()?;
        // Forms send every line break as two characters.
        let text = exchange.field(&format!("text-{place}")).replace("\r\n", "\n");
        Some(PolicyText { name: name.to_owned(), text })
    };
    (0..FILES_MAX).map_while(file).collect()
}

fn results(exchange: &Exchange<'_>, files: &[PolicyText]) -> Result<Markup, Problem> {
    let builder = || -> Result<PolicyBuilder, Problem> {
        builder_of(files.iter().map(|file| (file.name.clone(), file.text.clone())).collect())
    };
    let verified = builder()?.verify();
    let verified = match verified {
        Ok(verified) => serde_json::to_value(verified).map_err(|_| Problem::panicked())?,
        Err(error) => {
            return Ok(html! { p.alarm { "The draft cannot be used: " (visible(&error.to_string())) } });
        }
    };
    let is_readable = verified.get("policy").is_some_and(Value::is_string);
    let wants_diff = !exchange.field("compare").is_empty();
    let findings = verified.get("findings").and_then(Value::as_array);
    let is_error = |finding: &Value| text(finding, "severity") == "error";
    let has_errors = findings.is_some_and(|findings| findings.iter().any(is_error));
    let rules = verified.get("rules").and_then(Value::as_u64).unwrap_or(0);
    Ok(html! {
        p {
            (badge(if has_errors { "error" } else { "ok" })) " "
            @if is_readable { "The draft can be read, with " (rules) " rules." } @else { "The draft has mistakes." }
        }
        (proved(&verified))
        @if wants_diff && is_readable { (compared(exchange, builder()?)) }
    })
}

fn compared(exchange: &Exchange<'_>, draft: PolicyBuilder) -> Markup {
    let compared = draft
        .load()
        .map_err(|error| error.to_string())
        .and_then(|new| exchange.service.policy.diff(&new).map_err(|error| error.to_string()))
        .and_then(|diff| serde_json::to_value(diff).map_err(|error| error.to_string()));
    let diff = match compared {
        Ok(diff) => diff,
        Err(error) => return html! { p.alarm { "The draft cannot be compared: " (visible(&error)) } },
    };
    let list = |name: &str| diff.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    html! {
        h3 { "Compared with the policy in force" }
        @match diff.get("same") {
            Some(Value::Bool(true)) => p { (badge("ok")) " No session distinguishes them." },
            Some(Value::Bool(false)) => p { (list("changes").len()) " differences, each with a session that shows it." },
            _ => p { (badge("undecided")) " No difference was found, and not every question was decided." },
        }
        ul.findings {
            @for change in &list("changes") {
                li.finding {
                    code.tool { (text(change, "tool")) } ": " (badge(&text(change, "old"))) " in force, "
                    (badge(&text(change, "new"))) " in the draft"
                    @if change.get("rule").is_some_and(Value::is_string) { span.quiet { " by " (text(change, "rule")) } }
                    p { (sentence(&text(change, "reason"))) }
                    (steps(change))
                }
            }
        }
        @for open in &list("undecided") {
            p { (badge("undecided")) " " code { (text(open, "rule")) } " " (sentence(&text(open, "why"))) }
        }
    }
}
