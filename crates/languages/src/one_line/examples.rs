//! The words of examples.
//!
//! [`read_example`] knows nothing of files: a line of rules and an entry of a list in YAML mean the same, because both are
//! read here. `,` and `->` part what they stand between even without a space, because `backup,delete` read as one strange
//! tool would be played and prove nothing.

use lockgate_policy::{Decision, EXAMPLES_MAX, Example, ExampleCall, ExampleStep, STEPS_MAX, Span, closest};
use serde_json::Value;

use super::{
    effects::joined,
    lead::{Lead, Mistake},
    meant::{did_you_mean, synonym},
    parser::{Line, Parser},
    words::{Word, Words, is_space, span_of},
};

const EXAMPLE: &str = "<tool> [{…}] [ok|failed] [granted|refused], … -> <allow|redact|ask|block>";

/// What people write for a verdict, and what we call it.
const VERDICT_SYNONYMS: [(&str, &str); 8] = [
    ("approve", "ask"),
    ("deny", "block"),
    ("forbid", "block"),
    ("reject", "block"),
    ("refuse", "block"),
    ("permit", "allow"),
    ("pass", "allow"),
    ("mask", "redact"),
];

/// What people write for how a call ends, and what we call it.
const OUTCOME_SYNONYMS: [(&str, &str); 8] = [
    ("success", "ok"),
    ("succeeds", "ok"),
    ("passes", "ok"),
    ("error", "failed"),
    ("approved", "granted"),
    ("yes", "granted"),
    ("denied", "refused"),
    ("rejected", "refused"),
];

/// `example: …`; the colon may touch the first word.
pub(super) fn example<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let Some(lead) = line.words.first() else { return };
    let start = lead.start + "example:".len();
    let text: &'t str = parser.source.text().get(start..).unwrap_or_default();
    let said = said(text.split('\n').next().unwrap_or_default(), start, true);
    // A phrase stands behind a word of the sentence, which is the lead for the first step.
    let led: Words<'t> = std::iter::once(*lead).chain(said).collect();
    let said: Words<'t> = joined(parser.source.text(), led).into_iter().skip(1).collect();
    let span = if said.is_empty() { span_of(line.words) } else { span_of(&said) };
    if parser.no_groups("a step of an example", &said).is_none() {
        return;
    }
    match read_example(&said, span, Lead::Word) {
        Ok(_) if parser.draft.examples.len() >= EXAMPLES_MAX => {
            parser.too_many("too-many-examples", "examples", EXAMPLES_MAX, span);
        }
        Ok((steps, verdict)) => {
            let source = parser.source.clone();
            parser.draft.examples.push(Example { steps, verdict, source, span });
        }
        Err(mistakes) => mistakes.into_iter().for_each(|mistake| parser.mistaken(mistake)),
    }
}

/// Reads steps as they stand in an example, without its verdict: the line of a session that somebody tries.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn read_steps(line: &str) -> Result<Vec<ExampleStep>, String> {
    let text = format!("example: {line}");
    let lead = Word { text: "example:", start: 0 };
    let start = lead.text.len() + 1;
    let led: Words<'_> = std::iter::once(lead).chain(said(line, start, true)).collect();
    let words: Words<'_> = joined(&text, led).into_iter().skip(1).collect();
    let told = |mistake: Mistake| format!("{}; {}", mistake.message, mistake.remedy);
    words
        .split(|word| word.text == ",")
        .map(|it| step(it, span_of(&words), Lead::Key).map_err(told))
        .collect()
}

/// Reads the words of an example; `whole` is where they stand, also when there are none.
pub(crate) fn read_example(
    words: &[Word<'_>],
    whole: Span,
    lead: Lead,
) -> Result<(Vec<ExampleStep>, Decision), Vec<Mistake>> {
    let parts = words.to_vec();
    let (before, behind) = match arrow(&parts, whole, lead) {
        Ok(sides) => sides,
        Err(mistake) => return Err(vec![mistake]),
    };
    let mut mistakes = Vec::new();
    let mut steps = Vec::new();
    for (at, said) in before.split(|part| part.text == ",").enumerate() {
        // Also a bound on the report: each of a million steps may have a mistake.
        if at == STEPS_MAX {
            mistakes.push(too_many_steps(if said.is_empty() { &parts } else { said }));
            break;
        }
        match step(said, whole, lead) {
            Ok(step) => steps.push((step, said)),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let decision = verdict(behind, whole, lead);
    match (&decision, steps.last()) {
        (Ok(decision), Some((ExampleStep::Call(last), said))) => {
            mistakes.extend(idle_words(last, span_of(said), *decision));
        }
        (_, Some((ExampleStep::UserSays(_) | ExampleStep::Wait(_), said))) => mistakes.push(Mistake {
            code: "bad-example",
            span: span_of(said),
            message: "an example ends with a call".into(),
            label: "not a call".into(),
            remedy: format!(
                "write {}",
                lead.example("user says \"wipe a\", delete {\"path\": \"a\"} -> allow")
            ),
        }),
        _ => {}
    }
    match decision {
        Ok(decision) if mistakes.is_empty() => {
            Ok((steps.into_iter().map(|(step, _)| step).collect(), decision))
        }
        Ok(_) => Err(mistakes),
        Err(mistake) => {
            mistakes.push(mistake);
            Err(mistakes)
        }
    }
}

/// The words of a text, with every `,` and `->` as one of its own, and each text in quotes and each JSON value as one.
pub(crate) fn said(text: &str, start: usize, has_comments: bool) -> Words<'_> {
    let mut words = Words::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else { break };
        let length = match first {
            first if is_space(first) => {
                at += first.len_utf8();
                continue;
            }
            '#' if has_comments => break,
            ',' => 1,
            // A step begins with a name, whatever it is. What is not JSON behind it is told as far as the arrow.
            '{' | '[' if words.last().is_some_and(|before| before.text != ",") => value_length(rest)
                .unwrap_or_else(|| {
                    let before = rest.split("->").next().unwrap_or(rest).trim_end();
                    before.len().max(first.len_utf8())
                }),
            '"' => value_length(rest).unwrap_or_else(|| word_length(rest, has_comments)),
            _ if rest.starts_with("->") => 2,
            _ => word_length(rest, has_comments),
        };
        words.push(Word { text: rest.get(..length).unwrap_or(rest), start: start + at });
        at += length;
    }
    words
}

fn word_length(rest: &str, has_comments: bool) -> usize {
    let ends = |(at, c): (usize, char)| {
        let is_end = is_space(c) || c == ',' || (c == '#' && has_comments);
        (is_end || (c == '-' && rest.get(at..).is_some_and(|it| it.starts_with("->")))).then_some(at)
    };
    rest.char_indices().find_map(ends).unwrap_or(rest.len())
}

/// The length of the JSON value that a text starts with.
fn value_length(rest: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// What stands before the arrow, and what behind it.
fn arrow<'p, 't>(
    parts: &'p [Word<'t>],
    whole: Span,
    lead: Lead,
) -> Result<(&'p [Word<'t>], &'p [Word<'t>]), Mistake> {
    let bad = |span, message: String, label: &str, remedy: String| Mistake {
        code: "bad-example",
        span,
        message,
        label: label.into(),
        remedy,
    };
    let mut sides = parts.split(|part| part.text == "->");
    let (before, behind) = (sides.next().unwrap_or_default(), sides.next());
    let model = lead.example("backup ok, delete -> allow");
    let Some(behind) = behind else {
        let foreign = parts.iter().find(|part| ["=>", "→", "-->", "⇒", ":"].contains(&part.text));
        if let Some(foreign) = foreign {
            let message = format!("the arrow of an example is '->', not '{}'", foreign.text);
            return Err(bad(foreign.span(), message, "write `->`", format!("write {model}")));
        }
        let remedy = match lead {
            Lead::Word => format!("write {model}"),
            Lead::Key => format!("write {model}, in quotes: between `[` and `]` a bare comma ends an entry"),
        };
        return Err(bad(whole, format!("an example is '{EXAMPLE}'"), "no `->` and no verdict", remedy));
    };
    if sides.next().is_some() {
        let message = "an example tells the verdict of its last call alone".to_owned();
        let remedy = "write an example of its own for each verdict".to_owned();
        return Err(bad(whole, message, "more than one `->`", remedy));
    }
    if before.is_empty() {
        let message = "an example calls something".to_owned();
        return Err(bad(whole, message, "no call before `->`", format!("write {model}")));
    }
    Ok((before, behind))
}

fn verdict(behind: &[Word<'_>], whole: Span, lead: Lead) -> Result<Decision, Mistake> {
    let words = ["allow", "redact", "ask", "block"];
    let remedy = "write `allow`, `redact`, `ask` or `block`";
    let [word] = behind else {
        let (span, label) = match behind.get(1..).filter(|surplus| !surplus.is_empty()) {
            Some(surplus) => (span_of(surplus), "more than a verdict"),
            None => (whole, "no verdict behind `->`"),
        };
        return Err(Mistake {
            code: "bad-example",
            span,
            message: "an example has one verdict after '->'".into(),
            label: label.into(),
            remedy: format!("{remedy}, as in {}", lead.example("backup ok, delete -> allow")),
        });
    };
    Ok(match word.text {
        "allow" => Decision::Allow,
        "redact" => Decision::Redact,
        "ask" => Decision::Ask,
        "block" => Decision::Block,
        other => {
            let meant = synonym(other, &VERDICT_SYNONYMS).or_else(|| closest(other, words));
            return Err(Mistake {
                code: "unknown-verdict",
                span: word.span(),
                message: format!("no verdict is called '{other}'"),
                label: meant.map_or("not a verdict".into(), did_you_mean),
                remedy: remedy.into(),
            });
        }
    })
}

/// `NAME [JSON] [ok|failed] [granted|refused] [returns JSON]`, `user says "…"` or `wait 5 minutes`. The first word is the
/// name, whatever it is.
fn step(words: &[Word<'_>], whole: Span, lead: Lead) -> Result<ExampleStep, Mistake> {
    let bad = |span, message: String, label: String, remedy: String| {
        Err(Mistake { code: "bad-example", span, message, label, remedy })
    };
    let Some((call, rest)) = words.split_first() else {
        let (message, label) = ("an example has a step without a call", "nothing between two commas");
        return bad(whole, message.into(), label.into(), "write what is called between the commas".into());
    };
    if call.text == "example:" && lead == Lead::Key && !rest.is_empty() {
        let message = "an entry of `examples` is the example alone".into();
        return bad(call.span(), message, "not part of it".into(), "leave `example:` out".into());
    }
    match (call.text, rest) {
        ("user", [says, text]) if says.text == "says" => {
            return match serde_json::from_str(text.text) {
                Ok(text) => Ok(ExampleStep::UserSays(text)),
                Err(_) => {
                    let remedy = "write the user's words in quotes: `user says \"…\"`";
                    bad(
                        text.span(),
                        "what the user says is a text".into(),
                        "not in quotes".into(),
                        remedy.into(),
                    )
                }
            };
        }
        ("wait", [count, unit]) if super::history::unit(unit.text).is_some() => {
            let seconds = super::history::unit(unit.text).zip(count.text.parse::<u64>().ok());
            let Some(ms) = seconds.and_then(|(unit, count)| unit.checked_mul(count)?.checked_mul(1000))
            else {
                let remedy = "write a number and a unit, as in `wait 5 minutes`".into();
                return bad(span_of(rest), "this is not a time".into(), "how long?".into(), remedy);
            };
            return Ok(ExampleStep::Wait(ms));
        }
        _ => {}
    }
    let name: Option<String> = serde_json::from_str(call.text).ok().filter(|_| call.text.starts_with('"'));
    let mut step = ExampleCall::new(name.as_deref().unwrap_or(call.text));
    let mut rest = rest;
    if let Some((input, after)) = rest.split_first().filter(|(input, _)| input.text.starts_with('{')) {
        let input = json(input, "write one JSON object, as in `{\"path\": \"a\"}`")?;
        step.input = input.as_object().cloned();
        rest = after;
    }
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if let ("returns", Some((value, after))) = (word.text, after.split_first()) {
            step.output = Some(json(value, "write JSON, as in `returns {\"id\": 1}` or `returns \"text\"`")?);
            rest = after;
            continue;
        }
        let (says, value, words) = match word.text {
            "ok" => (&mut step.ok, true, "`ok` and `failed`"),
            "failed" | "fails" => (&mut step.ok, false, "`ok` and `failed`"),
            "granted" => (&mut step.granted, true, "`granted` and `refused`"),
            "refused" => (&mut step.granted, false, "`granted` and `refused`"),
            other => {
                let known = ["ok", "failed", "granted", "refused", "returns"];
                let meant = synonym(other, &OUTCOME_SYNONYMS).or_else(|| closest(other, known));
                return bad(
                    word.span(),
                    format!("a call of an example ends 'ok' or 'failed', not '{other}'"),
                    meant.map_or("not an outcome".into(), did_you_mean),
                    "put a `,` between calls; after a call write only its input as JSON, `ok`, `failed`, `granted`, \
                     `refused` and `returns` with JSON"
                        .into(),
                );
            }
        };
        if says.replace(value).is_some() {
            let message = format!("this call of `{}` has two of {words}", call.text);
            return bad(word.span(), message, "said already".into(), format!("keep one of {words}"));
        }
    }
    if step.granted == Some(false) && (step.ok.is_some() || step.output.is_some()) {
        let message = format!("a call of `{}` that is refused does not run, so it ends in no way", call.text);
        let remedy = "leave out `refused`, or how the call ends";
        return bad(span_of(words), message, "refused, and yet it ends".into(), remedy.into());
    }
    Ok(ExampleStep::Call(step))
}

/// The JSON that a word is.
fn json(word: &Word<'_>, remedy: &str) -> Result<Value, Mistake> {
    serde_json::from_str(word.text).map_err(|error| Mistake {
        code: "bad-example",
        span: word.span(),
        message: format!("this is not what JSON looks like: {error}"),
        label: "not JSON".into(),
        remedy: remedy.into(),
    })
}

/// Words behind the last call that its verdict contradicts: the verdict comes before a human answers and before the
/// call runs.
fn idle_words(last: &ExampleCall, span: Span, decision: Decision) -> Option<Mistake> {
    let word = decision.word();
    let (message, remedy) = match (last.ok, last.granted, decision) {
        (_, Some(_), Decision::Allow | Decision::Redact | Decision::Block) => (
            format!("a call that gets `{word}` is not put to a human, so there is no answer"),
            "write `-> ask`: the verdict is the one before a human answers; or leave the answer out",
        ),
        (Some(_), _, Decision::Block) => (
            "a call that is blocked does not run, so it ends in no way".to_owned(),
            "leave out how the last call ends",
        ),
        _ => return None,
    };
    let label = format!("ends with `{word}`");
    Some(Mistake { code: "bad-example", span, message, label, remedy: remedy.into() })
}

fn too_many_steps(said: &[Word<'_>]) -> Mistake {
    Mistake {
        code: "too-many-steps",
        span: span_of(said),
        message: format!("an example has at most {STEPS_MAX} calls"),
        label: "not read from here on".into(),
        remedy: "leave out calls that change nothing".into(),
    }
}
