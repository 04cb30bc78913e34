//! The words of claims.
//!
//! [`read_claim`] knows nothing of files: a line of rules and an entry of a list in YAML mean the same, because both are
//! read here. A claim is recognised by its fixed words alone, so a tool may be called `never` or `per`.

use lockgate_policy::{CLAIMS_MAX, Claim, LIMIT_MAX, Property, Span, closest};

use super::{
    lead::{Lead, Mistake},
    meant::{did_you_mean, probable_count},
    parser::{Line, Parser},
    shape::corrected,
    words::{Word, span_of},
};

/// The shapes of a claim. No words have two of them.
const SHAPES: [&str; 10] = [
    "never <tool> before <tool>",
    "never <tool> without <tool> since <tool>",
    "never <tool> after <tool>",
    "never <tool> and <tool> in one session",
    "at most <N> <tool>",
    "at most <N> <tool> per session",
    "<tool> possible",
    "<tool> impossible",
    "<tool> stays possible",
    "human before <tool>",
];

/// `claim …`
pub(super) fn claim<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let [_, rest @ ..] = line.words else { return };
    let span = if rest.is_empty() { span_of(line.words) } else { span_of(rest) };
    if parser.no_groups("a claim", rest).is_none() {
        return;
    }
    match read_claim(rest, span, Lead::Word) {
        Ok(_) if parser.draft.claims.len() >= CLAIMS_MAX => {
            parser.too_many("too-many-claims", "claims", CLAIMS_MAX, span);
        }
        Ok((property, each)) => {
            parser.draft.claims.push(Claim { property, each, source: parser.source.clone(), span });
        }
        Err(mistake) => parser.mistaken(mistake),
    }
}

/// Reads the words of a claim, and the fields that it is stated for; `whole` is where they stand, also when there are none.
pub(crate) fn read_claim(
    words: &[Word<'_>],
    whole: Span,
    lead: Lead,
) -> Result<(Property, Vec<String>), Mistake> {
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [of, each] if of.text == "for" && each.text == "each"));
    let Some((stated, keys)) = at.and_then(|at| words.split_at_checked(at)) else {
        return Ok((property(words, whole, lead)?, Vec::new()));
    };
    let property = property(stated, whole, lead)?;
    let keys: Vec<&Word<'_>> = keys.iter().skip(2).collect();
    let is_joined = keys.iter().skip(1).step_by(2).all(|word| word.text == "and");
    let each: Vec<String> = keys.iter().step_by(2).map(|word| word.text.to_owned()).collect();
    let bad = |span, message: &str, label: &str, remedy: String| {
        Err(Mistake { code: "unknown-claim", span, message: message.into(), label: label.into(), remedy })
    };
    if each.is_empty() || keys.len().is_multiple_of(2) || !is_joined {
        let remedy = format!("write {}", lead.claim(&format!("{property} for each path")));
        return bad(whole, "expected fields behind `for each`", "which fields?", remedy);
    }
    match property {
        Property::Possible(_)
        | Property::Impossible(_)
        | Property::StaysPossible(_)
        | Property::HumanBefore(_) => {
            let remedy = format!("write {}", lead.claim(&property.to_string()));
            bad(whole, "such a claim is the same for each value", "leave `for each` out", remedy)
        }
        property => Ok((property, each)),
    }
}

fn property(words: &[Word<'_>], whole: Span, lead: Lead) -> Result<Property, Mistake> {
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    let owned = |text: &&str| (*text).to_owned();
    let says = match texts.as_slice() {
        ["never", call, "before", needs] => Property::NeverBefore { call: owned(call), needs: owned(needs) },
        ["never", call, "without", needs, "since", since] => {
            Property::NeverWithoutSince { call: owned(call), needs: owned(needs), since: owned(since) }
        }
        ["never", call, "after", after] => Property::NeverAfter { call: owned(call), after: owned(after) },
        ["never", one, "and", other, "in", "one", "session"] => {
            Property::NeverTogether(owned(one), owned(other))
        }
        ["at", "most", _, call] | ["at", "most", _, call, "per", "session"] => {
            let count = words.get(2).map_or(Ok(0), |word| count(*word, call, lead))?;
            Property::AtMost { count, call: owned(call) }
        }
        ["human", "before", call] => Property::HumanBefore(owned(call)),
        [call, "stays", "possible"] => Property::StaysPossible(owned(call)),
        [call, "possible"] => Property::Possible(owned(call)),
        [call, "impossible"] => Property::Impossible(owned(call)),
        _ => return Err(unknown_claim(words, whole, lead)),
    };
    match about_itself(&says, whole, lead) {
        Some(mistake) => Err(mistake),
        None => Ok(says),
    }
}

/// Decimal digits with an optional `+`, as in a limit; zero is a number of calls like any other.
fn count(word: Word<'_>, call: &str, lead: Lead) -> Result<u64, Mistake> {
    let text = word.text;
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        let remedy = match probable_count(text).filter(|_| !text.starts_with('-')) {
            Some(probable) => {
                format!("write {}, if that is meant", lead.claim(&format!("at most {probable} {call}")))
            }
            None => format!("write a number of calls, as in {}", lead.claim(&format!("at most 3 {call}"))),
        };
        return Err(Mistake {
            code: "bad-count",
            span: word.span(),
            message: format!("a claim counts whole calls, got '{text}'"),
            label: "not a whole number".into(),
            remedy,
        });
    }
    digits.parse().ok().filter(|count| *count <= LIMIT_MAX).ok_or_else(|| Mistake {
        code: "limit-too-large",
        span: word.span(),
        message: format!("a claim counts at most {LIMIT_MAX} calls, got '{text}'"),
        label: "more than a limit can count".into(),
        remedy: format!("write `{LIMIT_MAX}` or less, or leave the claim out"),
    })
}

/// A claim that names one tool where it speaks of two: its author means something that is written differently.
fn about_itself(says: &Property, whole: Span, lead: Lead) -> Option<Mistake> {
    let (call, message, remedy) = match says {
        Property::NeverTogether(one, other) if one == other => (
            one,
            format!("`{one}` and `{one}` are one tool, so this may mean two things"),
            format!(
                "write {} if it must not be called twice, {} if it must not be called at all",
                lead.claim(&format!("at most 1 {one}")),
                lead.claim(&format!("{one} impossible"))
            ),
        ),
        Property::NeverBefore { call, needs } | Property::NeverWithoutSince { call, needs, .. }
            if call == needs =>
        {
            (
                call,
                format!(
                    "the first `{call}` of a session comes after no other, so this says that there is none"
                ),
                format!(
                    "write {} if it must not be called at all, or name what has to succeed first",
                    lead.claim(&format!("{call} impossible"))
                ),
            )
        }
        _ => return None,
    };
    let label = format!("names `{call}` twice");
    Some(Mistake { code: "self-claim", span: whole, message, label, remedy })
}

fn unknown_claim(words: &[Word<'_>], whole: Span, lead: Lead) -> Mistake {
    let unknown = |span, label: String, remedy| Mistake {
        code: "unknown-claim",
        span,
        message: "this claims nothing we know how to prove".into(),
        label,
        remedy,
    };
    if let Some((slip, right, expected)) = slip(words) {
        return unknown(slip.span(), did_you_mean(expected), format!("write {}", lead.claim(&right)));
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    if let [value, "only", "from", sources @ ..] = texts.as_slice() {
        let remedy = format!(
            "write the rule `{value} must come from {}`; the gate holds every call to it",
            sources.join(" ")
        );
        return unknown(whole, "a rule says where values come from, not a claim".into(), remedy);
    }
    if let [call, "impossible", "when" | "unless", ..] = texts.as_slice() {
        let remedy =
            format!("write an example with the input: {}", lead.example(&format!("{call} {{…}} -> block")));
        return unknown(whole, "a claim has no tests".into(), remedy);
    }
    let remedy = match meant(&texts) {
        Some(meant) => format!("write {}, if that is meant", lead.claim(&meant)),
        None => {
            let (first, none) = (texts.first().copied().unwrap_or_default(), "<tool>");
            let is_alike =
                |shape: &&&str| shape.split(' ').next().is_some_and(|word| word == first && word != none);
            let mut shapes: Vec<&&str> = SHAPES.iter().filter(is_alike).collect();
            if shapes.is_empty() {
                shapes = SHAPES.iter().collect();
            }
            let shapes: Vec<String> = shapes.into_iter().map(|shape| lead.claim(shape)).collect();
            format!("write {}{}", if shapes.len() > 1 { "one of " } else { "" }, shapes.join(", "))
        }
    };
    unknown(whole, "no claim looks like this".into(), remedy)
}

/// The one fixed word that is misspelt, the claim put right, and the word that was meant.
fn slip<'w, 't>(words: &'w [Word<'t>]) -> Option<(&'w Word<'t>, String, &'static str)> {
    SHAPES.iter().filter(|shape| shape.split(' ').count() == words.len()).find_map(|shape| {
        let pairs = words.iter().zip(shape.split(' '));
        let mut wrong = pairs.filter(|(word, fixed)| !fixed.starts_with('<') && word.text != *fixed);
        let (word, fixed) = wrong.next()?;
        let is_slip = wrong.next().is_none() && closest(word.text, [fixed]).is_some();
        is_slip.then(|| (word, corrected(words, shape), fixed))
    })
}

/// The claim of an author who writes it in words that are not ours.
fn meant(texts: &[&str]) -> Option<String> {
    Some(match texts {
        // In a list the key has said it already.
        ["claim" | "claim:", rest @ ..] if !rest.is_empty() => rest.join(" "),
        ["human-approval", "before", call] | ["human", "approval", "before", call] => {
            format!("human before {call}")
        }
        [needs, "before", call] | [call, "after", needs] => format!("never {call} before {needs}"),
        ["never", call] | [call, "never"] | [call, "never", "possible"] => format!("{call} impossible"),
        [call, "always", "possible"] | ["always", call, "possible"] => format!("{call} stays possible"),
        ["at", "most", count, call, "per", _] => format!("at most {count} {call} per session"),
        ["never", one, "and", other, ..] if texts.len() < 7 => {
            format!("never {one} and {other} in one session")
        }
        ["never", call, "without", needs] => format!("never {call} before {needs}"),
        _ => return None,
    })
}
