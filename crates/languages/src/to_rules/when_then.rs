//! When/then files, such as PolicyShield's, rule by rule.

use lockgate_policy::{
    Decision, Mode, Source, ToolName, Tools,
    condition::{Operator, Test},
};
use serde_json::Value;

use super::line::{Line, name, quoted, unsaid};
use crate::{
    detect::{Language, detect},
    draft::when_then::DraftClause,
    when_then,
};

/// The rules of a when/then file; none where it is something else or has mistakes.
pub(super) fn lines(source: &Source) -> Option<Vec<Line>> {
    if detect(source) != Language::WhenThen {
        return None;
    }
    let (draft, mistakes) = when_then::parse(source);
    if !mistakes.is_empty() {
        return None;
    }
    let file = &draft.when_then;
    let mut lines: Vec<Line> = file.rules.iter().map(|rule| said(rule, source)).collect();
    if file.mode == Mode::Observe {
        lines.push(Ok("mode observe".to_owned()));
    }
    match file.default_verdict {
        Some((Decision::Block, _)) => lines.push(Ok("otherwise block".to_owned())),
        Some((Decision::Ask, _)) => lines.push(Ok("otherwise ask".to_owned())),
        _ => {}
    }
    let others = [
        ("honeypots", !file.honeypots.is_empty()),
        ("taint_chain", file.taint_chain.is_some()),
        ("output_rules", !file.outputs.is_empty()),
        ("sanitizer", file.sanitizer.is_some()),
        ("rate_limits", !file.rate_limits.is_empty()),
        ("include", !file.includes.is_empty()),
    ];
    for (what, is_there) in others {
        if is_there {
            lines.push(unsaid(what, "keep it in its file beside these rules"));
        }
    }
    lines.extend(draft.claims.iter().map(|claim| Ok(format!("claim {}", claim.property))));
    Some(lines)
}

fn said(rule: &DraftClause, source: &Source) -> Line {
    let what = source.slice(rule.span);
    let cannot = |why: &str| unsaid(what, why);
    if rule.enabled == Some(false) {
        return cannot("it is switched off");
    }
    if rule.extends.is_some() {
        return cannot("it takes over another rule");
    }
    if !rule.session.is_empty() || !rule.sender.is_empty() || !rule.context.is_empty() {
        return cannot("it asks about the session, the sender or the context");
    }
    if rule.time_of_day.is_some() || rule.day_of_week.is_some() || rule.chain.is_some() {
        return cannot("it asks about the time or earlier calls");
    }
    if rule.approval_strategy.is_some() {
        return cannot("its answers stand for longer than one call");
    }
    let verb = match rule.then {
        Some(Decision::Block) => "block",
        Some(Decision::Ask) => "ask about",
        Some(Decision::Allow) => "allow",
        _ => return cannot("it masks its input"),
    };
    let calls = match (&rule.tools, &rule.effects) {
        (None | Some(Tools::Every), Some(effects)) => effects.join(" or "),
        (_, Some(_)) => return cannot("it asks for a tool and for what it does"),
        (None | Some(Tools::Every), None) => "any call".to_owned(),
        (Some(Tools::Any(names)), None) => {
            let exact = |tool: &ToolName| match tool {
                ToolName::Exact(tool) => Some(name(tool)),
                ToolName::Matching(_) => None,
            };
            match names.iter().map(exact).collect::<Option<Vec<String>>>() {
                Some(names) => names.join(" or "),
                None => return cannot("it names tools by a pattern"),
            }
        }
    };
    let tests = rule.args.iter().flat_map(|(field, tests)| tests.iter().map(move |test| (field, test)));
    let tests: Option<Vec<String>> = tests.map(|(field, test)| test_of(field, test)).collect();
    let Some(tests) = tests else { return cannot("a test of its input has no sentence that says the same") };
    let mut line = format!("{verb} {calls}");
    if !tests.is_empty() {
        line.push_str(&format!(" when {}", tests.join(" and ")));
    }
    if let Some(message) = rule.message.as_ref().filter(|message| !message.contains(['{', '\n'])) {
        line.push_str(&format!(" because {}", quoted(message)));
    }
    Ok(match rule.mode {
        Some(Mode::Observe) => format!("observe {line}"),
        _ => line,
    })
}

/// A test in words; none where a sentence would mean something else for a list, a number or a missing value.
fn test_of(field: &str, test: &Test) -> Option<String> {
    if test.is_negated || field.contains(['.', ' ', ',']) {
        return None;
    }
    let field = name(field);
    let number = |word: &str, number: &serde_json::Number| Some(format!("{field} is {word} {number}"));
    match &test.operator {
        Operator::Above(limit) => number("over", limit),
        Operator::AtLeast(limit) => number("at least", limit),
        Operator::Below(limit) => number("under", limit),
        Operator::AtMost(limit) => number("at most", limit),
        Operator::Equals(Value::String(text)) => Some(format!("{field} is {}", quoted(text))),
        Operator::Equals(value @ (Value::Number(_) | Value::Bool(_))) => Some(format!("{field} is {value}")),
        Operator::Exists(true) => Some(format!("{field} is present")),
        Operator::Exists(false) => Some(format!("{field} is missing")),
        Operator::Contains(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| quoted(part)).collect();
            Some(format!("{field} contains {}", parts.join(" or ")))
        }
        Operator::StartsWith(part) => Some(format!("{field} starts with {}", quoted(part))),
        Operator::EndsWith(part) => Some(format!("{field} ends with {}", quoted(part))),
        _ => None,
    }
}
