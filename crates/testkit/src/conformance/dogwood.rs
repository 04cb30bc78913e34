//! Cases of Dogwood's temporal policies, played in sentences.
//!
//! Each case has rules in a normal form; sentences are made from it, and its events are calls and results of a gate that
//! only observes, so that every event happens, as in the recording. Where we answer otherwise on purpose, [`ON_PURPOSE`]
//! says why; a row of it that is no difference any more is a failure.

use std::collections::HashMap;

use lockgate::engine::{Call, Decision, Gate, Mode, Outcome, Severity, Source, Time};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{BadRecording, Difference, Report};

/// Cases that we answer otherwise, by how their names begin, and what our sentences cannot say, with the reasons.
const ON_PURPOSE: &[(&str, &str)] = &[
    ("0403_", "what began before the event that ends it does not count after it, whenever its result comes"),
    (ITSELF_IN_SUM, "`after` asks for earlier calls; a sum that holds the call itself is a `limit sum of`"),
    (OTHER_VALUES, "what ends it is compared by the values of `for the same`, and not by others"),
];

const ITSELF_IN_SUM: &str = "the call itself is part of the sum";
const OTHER_VALUES: &str = "what ends it has other values in common";

/// The step of a case that cannot be said.
const AS_SENTENCES: &str = "as sentences";

/// Plays cases of temporal policies.
///
/// # Errors
/// When a line is not a case.
pub fn dogwood(text: &str) -> Result<Report, BadRecording> {
    let mut report = Report::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = index + 1;
        let case: Case = serde_json::from_str(line)
            .map_err(|error| BadRecording { line: line_number, why: error.to_string() })?;
        report.cases += 1;
        let played = play(&case, &mut report.steps);
        let is_unsaid =
            |known: &str| matches!(&played, Err((step, _, why)) if step == AS_SENTENCES && why == known);
        let is_meant = |known: &str| case.case.starts_with(known) || is_unsaid(known);
        let reason = ON_PURPOSE.iter().find(|(known, _)| is_meant(known)).map(|(_, reason)| *reason);
        match (played, reason) {
            (Ok(()), None) => {}
            (Ok(()), Some(reason)) => report.failures.push(Difference {
                line: line_number,
                step: case.case.clone(),
                expected: format!("a difference, because {reason}"),
                got: "none: its row in the table is stale".into(),
            }),
            (Err((step, _, got)), Some(reason)) => {
                report.on_purpose.push(format!("{}, {step}: {got}: {reason}", case.case));
            }
            (Err((step, expected, got)), None) => {
                let step = format!("{}, {step}", case.case);
                report.failures.push(Difference { line: line_number, step, expected, got });
            }
        }
    }
    Ok(report)
}

#[derive(Deserialize)]
struct Case {
    case: String,
    rules: Vec<Rule>,
    session: Vec<(String, String)>,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
struct Rule {
    effect: String,
    scope: HashMap<String, (String, Value)>,
    lits: Vec<Lit>,
}

#[derive(Deserialize)]
struct Lit {
    kind: String,
    pred: Option<Pred>,
    no: Option<Pred>,
    only: Option<Pred>,
    within: Option<u64>,
    #[serde(default)]
    neg: bool,
    value: Option<bool>,
    op: Option<String>,
    n: Option<Value>,
    of: Option<String>,
    a: Option<Value>,
    b: Option<Value>,
}

#[derive(Deserialize)]
struct Pred {
    action: String,
    kind: String,
    same: Vec<(String, String)>,
    is: Vec<(String, Value)>,
    any: Vec<String>,
}

#[derive(Deserialize)]
struct Trace {
    events: Vec<Event>,
    verdicts: Vec<(usize, String)>,
}

#[derive(Deserialize)]
struct Event {
    at: u64,
    action: String,
    kind: String,
    fields: Map<String, Value>,
    ctx: Option<Map<String, Value>>,
    principal: Option<Value>,
    resource: Option<Value>,
}

type Differs = (String, String, String);

fn play(case: &Case, steps: &mut usize) -> Result<(), Differs> {
    let unsaid = |why: String| (AS_SENTENCES.to_owned(), "a policy".to_owned(), why);
    let text = sentences(case).map_err(unsaid)?;
    let (policy, diagnostics) =
        lockgate::engine::languages::read(&[Source::new("policy.rules", text.as_str())]);
    drop(policy);
    if let Some(mistake) = diagnostics.iter().find(|it| it.severity == Severity::Error) {
        return Err(unsaid(format!("{} in\n{text}", mistake.message)));
    }
    for (number, trace) in case.traces.iter().enumerate() {
        let (policy, _) = lockgate::engine::languages::read(&[Source::new("policy.rules", text.as_str())]);
        let policy = policy.ok_or_else(|| unsaid("no policy".into()))?;
        let gate = Gate::builder(policy).mode(Mode::Observe).build().map_err(|it| unsaid(it.to_string()))?;
        play_trace(case, &gate, trace, steps).map_err(|(step, expected, got)| {
            (format!("trace {number}, {step}"), expected, format!("{got} by\n{text}"))
        })?;
    }
    Ok(())
}

fn play_trace(case: &Case, gate: &Gate, trace: &Trace, steps: &mut usize) -> Result<(), Differs> {
    let mut open: Vec<(String, String, String)> = Vec::new();
    for (number, event) in trace.events.iter().enumerate() {
        let at = Time(1_767_225_600_000 + event.at * 1000);
        let session: Vec<String> = case
            .session
            .iter()
            .map(|(field, _)| found(&input(event), field).map_or_else(String::new, |it| it.to_string()))
            .collect();
        let session = format!("s{}", session.join("|"));
        let id = format!("c{number}");
        let request = event.fields.get("requestId").map(Value::to_string).unwrap_or_default();
        let failed = |why: String| (format!("event {number}"), "an answer".to_owned(), why);
        if event.kind == "request" {
            let mut call = Call::new(id.as_str(), last(&event.action)).in_session(session.as_str()).at(at);
            for (key, value) in input(event) {
                call = call.with(&key, value);
            }
            let verdict = gate.call(&call);
            open.push((request, last(&event.action), id));
            let is_refused = verdict.observed.iter().any(|it| it.decision >= Decision::Ask)
                || verdict.decision >= Decision::Ask;
            let got = if is_refused { "block" } else { "allow" };
            if let Some((_, expected)) = trace.verdicts.iter().find(|(of, _)| *of == number) {
                *steps += 1;
                if expected != got {
                    return Err((
                        format!("event {number} ({})", last(&event.action)),
                        expected.clone(),
                        got.to_owned(),
                    ));
                }
            }
        } else {
            let action = last(&event.action);
            let is_it = |it: &(String, String, String)| it.0 == request && it.1 == action;
            let place = open.iter().position(is_it);
            let id = match place {
                Some(place) => open.remove(place).2,
                // A result without its call: the call is made now, which no sentence of these cases asks about.
                None => return Err(failed("a result without a call".into())),
            };
            let output = event.fields.get("output").map(plain).unwrap_or(Value::Null);
            let outcome = Outcome { session, id, ok: true, output: Some(output), at, ..Outcome::default() };
            gate.result(&outcome).map_err(|error| failed(error.to_string()))?;
        }
    }
    Ok(())
}

/// All that is known of an event, as the input of a call.
fn input(event: &Event) -> Map<String, Value> {
    let mut input = Map::new();
    for (key, value) in event.ctx.iter().flatten().chain(&event.fields) {
        match (key.as_str(), value) {
            ("input", Value::Object(fields)) => {
                input.extend(fields.iter().map(|(key, value)| (key.clone(), plain(value))));
            }
            ("output" | "requestId", _) => {}
            (key, value) => drop(input.insert(key.to_owned(), plain(value))),
        }
    }
    for (key, value) in [("callerPrincipal", &event.principal), ("callerResource", &event.resource)] {
        if let Some(value) = value {
            input.entry(key).or_insert_with(|| plain(value));
        }
    }
    input
}

fn found(input: &Map<String, Value>, field: &str) -> Option<Value> {
    input.get(field).cloned()
}

/// Entities are texts, decimals numbers.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => match (object.get("ent"), object.get("dec").and_then(Value::as_str)) {
            (Some(entity), _) => entity.clone(),
            // `02.5` is 2.5, and `-0.0` is 0.
            (_, Some(decimal)) => {
                decimal.parse().map_or_else(|_| Value::from(decimal), |it: f64| (it + 0.0).into())
            }
            _ => Value::Object(object.iter().map(|(key, value)| (key.clone(), plain(value))).collect()),
        },
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

fn last(action: &str) -> String {
    action.rsplit("::").next().unwrap_or(action).to_owned()
}

/// What one alternative of a rule asks for.
#[derive(Clone, Default)]
struct Alternative {
    when: Vec<String>,
    unless: Vec<Vec<String>>,
    past: Vec<String>,
    is_never: bool,
}

impl Alternative {
    fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.when.extend(other.when.iter().cloned());
        both.unless.extend(other.unless.iter().cloned());
        both.past.extend(other.past.iter().cloned());
        both.is_never |= other.is_never;
        both
    }

    fn when(tests: Vec<String>) -> Self {
        Self { when: tests, ..Self::default() }
    }

    fn unless(tests: Vec<String>) -> Self {
        Self { is_never: tests.is_empty(), unless: vec![tests], ..Self::default() }
    }
}

fn sentences(case: &Case) -> Result<String, String> {
    let mut lines = Vec::new();
    for rule in &case.rules {
        let (_, action) = rule.scope.get("action").ok_or("a rule about every action")?;
        let action = action.as_array().and_then(|parts| parts.last()?.as_str()).ok_or("no action")?;
        let verb = if rule.effect == "permit" { "allow" } else { "block" };
        let mut all = vec![Alternative::default()];
        if let Some((_, kind)) = rule.scope.get("resource") {
            let kind = kind.get(0).unwrap_or(kind).as_str().ok_or("a resource of no kind")?;
            let test = format!("callerResource starts with {kind}::");
            all = vec![Alternative::when(vec![test])];
        }
        for lit in &rule.lits {
            let more = literal(lit, action, rule.effect == "forbid")?;
            all = all.iter().flat_map(|one| more.iter().map(|other| one.and(other))).collect();
        }
        lines.extend(all.iter().filter(|it| !it.is_never).map(|it| sentence(verb, action, it)));
    }
    lines.push("otherwise block".to_owned());
    Ok(lines.join("\n"))
}

fn sentence(verb: &str, action: &str, alternative: &Alternative) -> String {
    let mut words = vec![verb.to_owned(), action.to_owned()];
    let mut when = alternative.when.clone();
    when.dedup();
    let mut unless = alternative.unless.clone();
    unless.dedup();
    // All but one have to be said otherwise.
    while unless.len() > 1 {
        if let Some(tests) = unless.pop() {
            let negated = tests
                .iter()
                .map(|test| test.replace(" is present", " is missing").replace(" is ", " is not "));
            when.extend(negated.map(|test| test.replace(" is not missing", " is missing")));
        }
    }
    if !when.is_empty() {
        words.push(format!("when {}", when.join(" and ")));
    }
    if let Some(tests) = unless.first() {
        words.push(format!("unless {}", tests.join(" and ")));
    }
    if !alternative.past.is_empty() {
        words.push(alternative.past.join(" and "));
    }
    words.join(" ")
}

fn literal(lit: &Lit, scope: &str, closes: bool) -> Result<Vec<Alternative>, String> {
    let plain_past = |text: String| Alternative { past: vec![text], ..Alternative::default() };
    let pred = || lit.pred.as_ref().ok_or("no predicate");
    // Whether the call that is judged is such an event itself.
    let itself = |pred: &Pred| -> Result<Option<Vec<String>>, String> {
        if pred.kind != "request" || last(&pred.action) != scope {
            return Ok(None);
        }
        if pred.same.iter().any(|(then, now)| field(then) != field(now)) {
            return Err("compares two fields of one call".to_owned());
        }
        let present = pred.same.iter().map(|(then, _)| then).chain(&pred.any);
        let mut tests: Vec<String> = present.map(|it| format!("{} is present", field(it))).collect();
        tests.extend(pred.is.iter().map(|(of, value)| format!("{} is {}", field(of), written(value))));
        Ok(Some(tests))
    };
    // A value that is missing is a doubt for us, and closes; there it never fits.
    let keys_present = |pred: &Pred| -> Vec<String> {
        pred.same.iter().map(|(_, now)| format!("{} is present", field(now))).collect()
    };
    let asked = |lead: &str, pred: &Pred, value: Option<&str>| past(lead, pred, value, lit, closes);
    Ok(match lit.kind.as_str() {
        "const" => {
            let holds = lit.value.unwrap_or(true) != lit.neg;
            vec![Alternative { is_never: !holds, ..Alternative::default() }]
        }
        "now" => match (itself(pred()?)?, lit.neg) {
            (Some(tests), false) => vec![Alternative::when(tests)],
            (Some(tests), true) => vec![Alternative::unless(tests)],
            (None, neg) => vec![Alternative { is_never: !neg, ..Alternative::default() }],
        },
        "when" => vec![Alternative::when(vec![comparison(lit)?])],
        "once" | "prev" | "since" => {
            let pred = pred()?;
            let right = if lit.kind == "prev" { "right " } else { "" };
            let not = if lit.neg { "not " } else { "" };
            let text = format!("{not}after {right}{}", asked("", pred, None)?);
            let mut told = plain_past(text);
            if closes && !lit.neg {
                told.when = keys_present(pred);
            }
            if lit.kind == "prev" {
                return Ok(vec![told]);
            }
            // The call that is judged may itself end what is asked about.
            let (goes_on, is_over) = match (&lit.no, &lit.only) {
                (Some(no), _) => match itself(no)? {
                    Some(tests) => (Alternative::unless(tests.clone()), Some(Alternative::when(tests))),
                    None => (Alternative::default(), None),
                },
                (_, Some(only)) => match itself(only)? {
                    Some(tests) => (Alternative::when(tests.clone()), Some(Alternative::unless(tests))),
                    None => (
                        Alternative { is_never: true, ..Alternative::default() },
                        Some(Alternative::default()),
                    ),
                },
                (None, None) => (Alternative::default(), None),
            };
            match (itself(pred)?, lit.neg) {
                (None, false) => vec![told.and(&goes_on)],
                (Some(tests), false) => vec![told.and(&goes_on), Alternative::when(tests)],
                (own, true) => {
                    let is_not = own.map_or_else(Alternative::default, Alternative::unless);
                    [Some(told), is_over].into_iter().flatten().map(|it| it.and(&is_not)).collect()
                }
            }
        }
        "count" | "sum" => {
            let pred = pred()?;
            let own = itself(pred)?;
            let n = lit.n.clone().ok_or("no number")?;
            if lit.within.is_none() {
                return only_itself(lit, own, &n);
            }
            let not = if lit.neg { "not " } else { "" };
            let of = lit.of.as_deref().map(field);
            let ask = |n: &Value| -> Result<Alternative, String> {
                let amount = amount(lit.op.as_deref().unwrap_or_default(), n)?;
                let text = match &of {
                    Some(of) => format!("{not}after {}", past(&amount, pred, Some(of), lit, closes)?),
                    None => format!("{not}after {}", past(&amount, pred, None, lit, closes)?),
                };
                Ok(plain_past(text))
            };
            match (own, &of, n.as_i64()) {
                (None, ..) => vec![ask(&n)?],
                (Some(tests), None, Some(number)) => {
                    vec![
                        ask(&(number - 1).into())?.and(&Alternative::when(tests.clone())),
                        ask(&n)?.and(&Alternative::unless(tests)),
                    ]
                }
                _ => return Err(ITSELF_IN_SUM.to_owned()),
            }
        }
        other => return Err(format!("`{other}` is not a literal")),
    })
}

/// A count or a sum over no time: only the call that is judged counts.
fn only_itself(lit: &Lit, own: Option<Vec<String>>, n: &Value) -> Result<Vec<Alternative>, String> {
    let op = lit.op.as_deref().unwrap_or_default();
    let number = n.as_i64().ok_or("not a whole number")?;
    let holds = |count: i64| {
        let compared = match op {
            ">" => count > number,
            ">=" => count >= number,
            "<" => count < number,
            "<=" => count <= number,
            _ => count == number,
        };
        compared != lit.neg
    };
    let never = |is_never: bool, alternative: Alternative| Alternative { is_never, ..alternative };
    let Some(tests) = own else { return Ok(vec![never(!holds(0), Alternative::default())]) };
    let is_it = match &lit.of {
        None => never(!holds(1), Alternative::when(tests.clone())),
        Some(of) => {
            let not = if lit.neg { "not " } else { "" };
            let sum = format!("{} is {not}{}", field(of), amount(op, n)?);
            Alternative::when(tests.iter().cloned().chain([sum]).collect())
        }
    };
    // Without tests every such call is it.
    let is_other = never(!holds(0) || tests.is_empty(), Alternative::unless(tests));
    Ok(vec![is_it, is_other])
}

/// `[amount] NAME asked [with tests] [within N seconds] [for the same KEYS] [with no X since]`.
fn past(lead: &str, pred: &Pred, value: Option<&str>, lit: &Lit, closes: bool) -> Result<String, String> {
    let mut words = Vec::new();
    match value {
        Some(value) => words.push(format!("sum of {}.{value} {lead}", last(&pred.action))),
        None => {
            if !lead.is_empty() {
                words.push(lead.to_owned());
            }
            words.push(last(&pred.action));
        }
    }
    words.push(if pred.kind == "request" { "asked" } else { "answered" }.to_owned());
    let mut tests: Vec<String> =
        pred.is.iter().map(|(of, value)| format!("{} is {}", field(of), written(value))).collect();
    let known = pred.same.iter().map(|(then, _)| then).filter(|_| closes != lit.neg);
    tests.extend(pred.any.iter().chain(known).map(|it| format!("{} is present", field(it))));
    if !tests.is_empty() {
        words.push(format!("with {}", tests.join(" and ")));
    }
    match lit.within {
        Some(0) => return Err("a window of no length".to_owned()),
        Some(seconds) => words.push(format!("within {seconds} seconds")),
        None => {}
    }
    words.extend(same(pred));
    for (lead, other) in [("with no", &lit.no), ("with only", &lit.only)] {
        let Some(other) = other else { continue };
        let nows = |pred: &Pred| pred.same.iter().map(|(_, now)| now.clone()).collect::<Vec<_>>();
        if !other.same.is_empty() && nows(other) != nows(pred) {
            return Err(OTHER_VALUES.to_owned());
        }
        let outcome = if other.kind == "request" { "asked" } else { "answered" };
        words.push(format!("{lead} {} {outcome}", last(&other.action)));
        let mut tests: Vec<String> =
            other.is.iter().map(|(of, value)| format!("{} is {}", field(of), written(value))).collect();
        tests.extend(other.any.iter().map(|it| format!("{} is present", field(it))));
        if !tests.is_empty() && lead == "with only" {
            return Err("what alone may come in between is told apart by values".to_owned());
        }
        if !tests.is_empty() {
            words.push(format!("with {}", tests.join(" and ")));
        }
        words.extend(same(other));
        words.push("since".to_owned());
    }
    Ok(words.join(" "))
}

fn same(pred: &Pred) -> Option<String> {
    if pred.same.is_empty() {
        return None;
    }
    let keys = pred.same.iter().map(|(then, now)| match (field(then), field(now)) {
        (then, now) if then == now => then,
        (then, now) => format!("{then}, which is {now} in any call"),
    });
    Some(format!("for the same {}", keys.collect::<Vec<_>>().join(" and ")))
}

/// A field as sentences name it.
fn field(path: &str) -> String {
    let path = path.strip_prefix("context.").unwrap_or(path);
    match path {
        "principal" => "callerPrincipal".to_owned(),
        "resource" => "callerResource".to_owned(),
        path => path.strip_prefix("input.").unwrap_or(path).to_owned(),
    }
}

fn comparison(lit: &Lit) -> Result<String, String> {
    let (Some(a), Some(b), Some(op)) = (&lit.a, &lit.b, lit.op.as_deref()) else {
        return Err("no comparison".into());
    };
    let of = |value: &Value| value.get("ctx").and_then(Value::as_str).map(field);
    let (of, value, op) = match (of(a), of(b)) {
        (Some(of), None) => (of, b, op),
        (None, Some(of)) => (
            of,
            a,
            match op {
                "<" => ">",
                ">" => "<",
                "<=" => ">=",
                ">=" => "<=",
                other => other,
            },
        ),
        _ => return Err("compares two fields of one call".to_owned()),
    };
    let not = if lit.neg { "not " } else { "" };
    Ok(match op {
        "==" => format!("{of} is {not}{}", written(value)),
        op => format!("{of} is {not}{}", amount(op, value)?),
    })
}

fn amount(op: &str, n: &Value) -> Result<String, String> {
    let word = match op {
        ">" => "over",
        ">=" => "at least",
        "<" => "under",
        "<=" => "at most",
        "==" => "exactly",
        other => return Err(format!("`{other}` is not compared")),
    };
    Ok(format!("{word} {n}"))
}

fn written(value: &Value) -> String {
    match plain(value) {
        Value::String(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        other => other.to_string(),
    }
}
