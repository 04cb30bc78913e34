//! Recorded sessions and inputs of the one-line rules.
//!
//! A line with `steps` is a session: it is played through the line protocol, and every verdict, reason and
//! marking is compared. A line with `input` is a text: its nets and their states, or its first mistake, are
//! compared. Both may stand in one file.

use lockgate::engine::{Severity, Source, prover::verify};
use serde_json::{Value, json};

use super::{BadRecording, Difference, Report};
use crate::{Door, LinesDoor, Options, PolicyFile};

/// What we answer differently on purpose: the input, our answer, and why.
const DIFFERENCES: [(&str, &str, &str); 12] = [
    ("allow everything", "", "`allow` is a sentence here"),
    ("block *", "Line 1: `*` is not the name of a tool", "a rule that no call can match is a mistake"),
    ("block a.*", "Line 1: `a.*` is not the name of a tool", "a rule that no call can match is a mistake"),
    (
        "limit a to 3abc per session",
        "Line 1: limit count must be a positive integer, got '3abc'",
        "a count is the number on the page or a mistake",
    ),
    (
        "limit a to 3.9 per session",
        "Line 1: limit count must be a positive integer, got '3.9'",
        "a count is the number on the page or a mistake",
    ),
    (
        "limit a to 1e3 per session",
        "Line 1: limit count must be a positive integer, got '1e3'",
        "a count is the number on the page or a mistake",
    ),
    ("limit a to 9999 per session", "limit-a-9999: 10001", "limits go up to 2^63"),
    ("limit a to 10000 per session", "limit-a-10000: 10002", "limits go up to 2^63"),
    ("limit a to 9999 per b", "limit-a-9999-per-b: 10001", "limits go up to 2^63"),
    (
        "limit a to 99999999999999999999 per session",
        "Line 1: limit count must be at most 9223372036854775808, got '99999999999999999999'",
        "a limit that no counter holds would limit nothing",
    ),
    (
        "map bash.command /(/ as x",
        r"Line 1: invalid regular expression: `(` is never closed: write `\(` for the character",
        "the reason is our engine's, and it has a line",
    ),
    ("map bash.command /a#b/ as x", "", "a `#` between slashes is part of the pattern"),
];

/// Plays recorded cases of the one-line rules.
///
/// # Errors
/// When a line is no recorded case, or there is none at all.
pub fn petriflow(text: &str) -> Result<Report, BadRecording> {
    let mut report = Report::default();
    for (index, line) in text.lines().enumerate() {
        let bad = |why: String| BadRecording { line: index + 1, why };
        let case: Value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        let played = match (case.get("steps"), case.get("input")) {
            (Some(_), None) => play_session(&case, &mut report).map_err(bad)?,
            (None, Some(_)) => compare_input(&case, &mut report).map_err(bad)?,
            _ => return Err(bad("a case has either `steps` or an `input`".into())),
        };
        report.cases += 1;
        if let Err(Differs { step, expected, got }) = played {
            report.failures.push(Difference { line: index + 1, step, expected, got });
        }
    }
    if report.cases == 0 {
        return Err(BadRecording { line: 1, why: "there is no case in this file".into() });
    }
    Ok(report)
}

/// A difference whose line the caller knows.
struct Differs {
    step: String,
    expected: String,
    got: String,
}

/// Nothing, or the first difference of a case; the error outside is a case that cannot be read.
type Played = Result<Result<(), Differs>, String>;

fn play_session(case: &Value, report: &mut Report) -> Played {
    let text = field(case, "rules")?.as_str().ok_or("`rules` is no text")?;
    let steps = field(case, "steps")?.as_array().ok_or("`steps` is no list")?;
    let expected = nets_of(field(case, "states")?)?;
    let got = answer_to(text);
    if got != expected {
        return Ok(Err(Differs { step: "verify".into(), expected, got }));
    }
    let mut door = LinesDoor::default();
    let policy = PolicyFile { name: "policy.rules".into(), text: text.into() };
    door.open(&[policy], &Options::default())?;
    for step in steps {
        report.steps += 1;
        let (expected, got) = match step.get("result") {
            Some(id) => {
                let line = json!({"result": {"id": id, "ok": field(step, "ok")?}, "at": 0});
                door.line(line)?;
                (vec![], vec![])
            }
            None => {
                let answer = call(&mut door, step)?;
                let allowed = answer.get("verdict") == Some(&json!("allow"));
                let reason = answer.get("reason").filter(|reason| **reason != "").cloned();
                let expected = vec![field(step, "allowed")?.clone(), field(step, "reason")?.clone()];
                (expected, vec![json!(allowed), json!(reason)])
            }
        };
        let status = door.line(json!({"status": {}, "at": 0}))?;
        let text = status.get("text").cloned().unwrap_or(status);
        let told = |answers: Vec<Value>, marking: &Value| {
            answers.iter().chain([marking]).map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let (expected, got) = (told(expected, field(step, "marking")?), told(got, &text));
        if expected != got {
            return Ok(Err(Differs { step: step.to_string(), expected, got }));
        }
    }
    Ok(Ok(()))
}

/// Asks for a recorded call; the human answers as recorded.
fn call(door: &mut LinesDoor, step: &Value) -> Result<Value, String> {
    let human = field(step, "human")?.as_str().ok_or("`human` is no text")?;
    let ask = if human == "absent" { "none" } else { "wait" };
    let call = json!({"id": field(step, "call")?, "tool": field(step, "tool")?, "input": field(step, "input")?, "ask": ask});
    let answer = door.line(json!({"call": call, "at": 0}))?;
    match answer.get("approval") {
        Some(approval) => {
            let granted = human == "approves";
            door.line(json!({"answer": {"approval": approval, "granted": granted}, "at": 0}))
        }
        None => Ok(answer),
    }
}

fn compare_input(case: &Value, report: &mut Report) -> Played {
    let input = match field(case, "input")? {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            let texts: Option<Vec<_>> = texts.iter().map(Value::as_str).collect();
            texts.ok_or("`input` has something that is no text")?.join("\n")
        }
        _ => return Err("`input` is neither a text nor a list of texts".into()),
    };
    report.steps += 1;
    let got = answer_to(&input);
    let recorded = match case.get("error") {
        Some(error) => error.as_str().ok_or("`error` is no text")?.to_owned(),
        None => nets_of(field(case, "verification")?)?,
    };
    let agrees = got == recorded || (case.get("error").is_some() && states_the_fact(&got, &recorded));
    let Some((_, ours, reason)) = DIFFERENCES.iter().find(|(text, ..)| *text == input) else {
        return Ok(if agrees {
            Ok(())
        } else {
            Err(Differs { step: format!("{input:?}"), expected: recorded, got })
        });
    };
    report.on_purpose.push(format!("{input}: {reason}"));
    // A row that is no difference any more has to leave the table.
    let is_true = got == *ours && !agrees;
    let expected = format!("{ours}, which was not recorded");
    Ok(if is_true { Ok(()) } else { Err(Differs { step: format!("{input:?}"), expected, got }) })
}

/// Whether a message of ours says what the recorded one says, about the same line.
fn states_the_fact(ours: &str, recorded: &str) -> bool {
    match (ours.split_once(": "), recorded.split_once(": ")) {
        (Some((our_line, our_fact)), Some((line, fact))) => our_line == line && our_fact.contains(fact),
        _ => false,
    }
}

/// Our answer in the words of the recorded ones: the first mistake with its line, or the nets with their states.
fn answer_to(text: &str) -> String {
    let (policy, diagnostics) = lockgate::engine::languages::read(&[Source::new("policy.rules", text)]);
    let mistake = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    match (policy, mistake) {
        (Some(policy), None) => {
            let (reports, _) = verify(&policy);
            reports.iter().map(|net| format!("{}: {}", net.name, net.states)).collect::<Vec<_>>().join(", ")
        }
        // A text without a rule has no nets. That no door opens with it is shown elsewhere.
        (_, Some(mistake)) if mistake.code == "no-rules" => String::new(),
        (_, Some(mistake)) => {
            format!("Line {}: {}", mistake.source.place(mistake.span).line, mistake.message)
        }
        (None, None) => "no policy, and no mistake".into(),
    }
}

/// Recorded nets in the same words.
fn nets_of(recorded: &Value) -> Result<String, String> {
    let nets = recorded.as_array().ok_or("the nets are no list")?.iter().map(|net| {
        let name = field(net, "name")?.as_str().ok_or("a net's `name` is no text")?;
        Ok(format!("{name}: {}", field(net, "reachableStates")?))
    });
    nets.collect::<Result<Vec<_>, String>>().map(|nets| nets.join(", "))
}

fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value, String> {
    value.get(name).ok_or_else(|| format!("there is no `{name}`"))
}
