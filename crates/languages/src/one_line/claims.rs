//! The words of claims and examples.
//!
//! [`claimed`] and [`example`] read words and know nothing of files: a line of rules and an entry of a list in YAML
//! mean the same, because both are read here. A claim is told by its fixed words alone, so a tool may be called
//! `never` or `per`. In an example `,` and `->` part what they stand between even without a space, because
//! `backup,delete` read as one strange tool would be played and prove nothing.

use lockgate_policy::{
    CLAIMS_MAX, Claim, Claimed, Decision, EXAMPLES_MAX, Example, ExampleStep, LIMIT_MAX, STEPS_MAX, Span,
    closest,
};

use super::{Parser, Word, corrected, did_you_mean, probable_count, span_of};

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

const EXAMPLE: &str = "<tool> [ok|failed] [granted|refused], … -> <allow|redact|ask|block>";

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

/// What leads a claim or an example in. The words behind it are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// `claim` or `example:` at the start of a line.
    Word,
    /// Nothing: a key of the file has said what the texts of its list are.
    Key,
}

impl Lead {
    /// A claim as it would have to be written here.
    fn claim(self, text: &str) -> String {
        match self {
            Self::Word => format!("`claim {text}`"),
            Self::Key => format!("`{text}`"),
        }
    }

    /// The same for an example.
    fn example(self, text: &str) -> String {
        match self {
            Self::Word => format!("`example: {text}`"),
            Self::Key => format!("`{text}`"),
        }
    }
}

/// What is wrong with a claim or an example.
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    /// The words it is about, counted as they are.
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) remedy: String,
}

/// Reads the words of a claim; `whole` is where they stand, also when there are none.
pub(crate) fn claimed(words: &[Word<'_>], whole: Span, lead: Lead) -> Result<Claimed, Mistake> {
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    let owned = |text: &&str| (*text).to_owned();
    let says = match texts.as_slice() {
        ["never", call, "before", needs] => Claimed::NeverBefore { call: owned(call), needs: owned(needs) },
        ["never", call, "without", needs, "since", since] => {
            Claimed::NeverWithoutSince { call: owned(call), needs: owned(needs), since: owned(since) }
        }
        ["never", call, "after", after] => Claimed::NeverAfter { call: owned(call), after: owned(after) },
        ["never", one, "and", other, "in", "one", "session"] => {
            Claimed::NeverTogether(owned(one), owned(other))
        }
        ["at", "most", _, call] | ["at", "most", _, call, "per", "session"] => {
            let count = words.get(2).map_or(Ok(0), |word| count(*word, call, lead))?;
            Claimed::AtMost { count, call: owned(call) }
        }
        ["human", "before", call] => Claimed::HumanBefore(owned(call)),
        [call, "stays", "possible"] => Claimed::StaysPossible(owned(call)),
        [call, "possible"] => Claimed::Possible(owned(call)),
        [call, "impossible"] => Claimed::Impossible(owned(call)),
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

/// A claim that names one tool where it speaks of two: whoever writes it means something that is said otherwise.
fn about_itself(says: &Claimed, whole: Span, lead: Lead) -> Option<Mistake> {
    let (call, message, remedy) = match says {
        Claimed::NeverTogether(one, other) if one == other => (
            one,
            format!("`{one}` and `{one}` are one tool, so this may mean two things"),
            format!(
                "write {} if it must not be called twice, {} if it must not be called at all",
                lead.claim(&format!("at most 1 {one}")),
                lead.claim(&format!("{one} impossible"))
            ),
        ),
        Claimed::NeverBefore { call, needs } | Claimed::NeverWithoutSince { call, needs, .. }
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

/// The claim of whoever says it in words that are not ours.
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

/// Reads the words of an example; `whole` is where they stand, also when there are none.
pub(crate) fn example(
    words: &[Word<'_>],
    whole: Span,
    lead: Lead,
) -> Result<(Vec<ExampleStep>, Decision), Vec<Mistake>> {
    let parts = parted(words);
    let (before, behind) = match arrow(&parts, whole, lead) {
        Ok(sides) => sides,
        Err(mistake) => return Err(vec![mistake]),
    };
    let mut mistakes = Vec::new();
    let mut steps = Vec::new();
    for (at, said) in before.split(|part| part.text == ",").enumerate() {
        // Also a bound on what is told: each of a million steps may have a mistake.
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
    if let (Ok(decision), Some((last, said))) = (&decision, steps.last()) {
        mistakes.extend(idle_words(last, span_of(said), *decision));
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

/// The words, with every `,` and `->` as one of its own.
fn parted<'t>(words: &[Word<'t>]) -> Vec<Word<'t>> {
    let mut parts = Vec::new();
    for word in words {
        let mut start = word.start;
        // One pass for each mark: looking for the nearer of the two would read a long line again and again.
        for (side, text) in word.text.split("->").enumerate() {
            if side > 0 {
                parts.push(Word { text: "->", start });
                start += "->".len();
            }
            for (item, text) in text.split(',').enumerate() {
                if item > 0 {
                    parts.push(Word { text: ",", start });
                    start += ",".len();
                }
                parts.push(Word { text, start });
                start += text.len();
            }
        }
    }
    parts.retain(|part| !part.text.is_empty());
    parts
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
            message: "behind the '->' of an example stands one verdict".into(),
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

fn synonym(word: &str, synonyms: &[(&str, &'static str)]) -> Option<&'static str> {
    synonyms.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(word)).map(|(_, ours)| *ours)
}

/// `NAME [ok|failed] [granted|refused]`; the first word is the name, whatever it is.
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
    let mut step = ExampleStep { call: call.text.into(), ok: None, granted: None };
    for word in rest {
        let (says, value, words) = match word.text {
            "ok" => (&mut step.ok, true, "`ok` and `failed`"),
            "failed" | "fails" => (&mut step.ok, false, "`ok` and `failed`"),
            "granted" => (&mut step.granted, true, "`granted` and `refused`"),
            "refused" => (&mut step.granted, false, "`granted` and `refused`"),
            other => {
                let known = ["ok", "failed", "granted", "refused"];
                let meant = synonym(other, &OUTCOME_SYNONYMS).or_else(|| closest(other, known));
                return bad(
                    word.span(),
                    format!("a call of an example ends 'ok' or 'failed', not '{other}'"),
                    meant.map_or("not an outcome".into(), did_you_mean),
                    "put a `,` between calls; behind a call stand only `ok`, `failed`, `granted` and `refused`"
                        .into(),
                );
            }
        };
        if says.replace(value).is_some() {
            let message = format!("this call of `{}` has two of {words}", call.text);
            return bad(word.span(), message, "said already".into(), format!("keep one of {words}"));
        }
    }
    if step.granted == Some(false) && step.ok.is_some() {
        let message = format!("a call of `{}` that is refused does not run, so it ends in no way", call.text);
        let remedy = "leave out `refused`, or how the call ends";
        return bad(span_of(words), message, "refused, and yet it ends".into(), remedy.into());
    }
    Ok(step)
}

/// Words behind the last call that its verdict contradicts: the verdict comes before a human answers and before the
/// call runs.
fn idle_words(last: &ExampleStep, span: Span, decision: Decision) -> Option<Mistake> {
    let word = decision.word();
    let (message, remedy) = match (last.ok, last.granted, decision) {
        (_, Some(_), Decision::Allow | Decision::Redact | Decision::Block) => (
            format!("a call that gets `{word}` is put to no human, so nobody answers"),
            "write `-> ask`: the verdict is the one before anybody answers; or leave the answer out",
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

impl<'t> Parser<'t> {
    /// `claim …`
    pub(crate) fn claim(&mut self, words: &[Word<'t>]) {
        let [_, rest @ ..] = words else { return };
        let span = if rest.is_empty() { span_of(words) } else { span_of(rest) };
        match claimed(rest, span, Lead::Word) {
            Ok(_) if self.draft.claims.len() >= CLAIMS_MAX => {
                self.too_many("too-many-claims", "claims", CLAIMS_MAX, span);
            }
            Ok(says) => self.draft.claims.push(Claim { says, source: self.source.clone(), span }),
            Err(mistake) => self.mistaken(mistake),
        }
    }

    /// `example: …`; the colon may touch the first word.
    pub(crate) fn example(&mut self, words: &[Word<'t>]) {
        let Some((lead, rest)) = words.split_first() else { return };
        let touching = lead.text.strip_prefix("example:").filter(|text| !text.is_empty());
        let touching = touching.map(|text| Word { text, start: lead.span().end.saturating_sub(text.len()) });
        let said: Vec<Word<'t>> = touching.into_iter().chain(rest.iter().copied()).collect();
        let span = if said.is_empty() { span_of(words) } else { span_of(&said) };
        match example(&said, span, Lead::Word) {
            Ok(_) if self.draft.examples.len() >= EXAMPLES_MAX => {
                self.too_many("too-many-examples", "examples", EXAMPLES_MAX, span);
            }
            Ok((steps, verdict)) => {
                self.draft.examples.push(Example { steps, verdict, source: self.source.clone(), span });
            }
            Err(mistakes) => mistakes.into_iter().for_each(|mistake| self.mistaken(mistake)),
        }
    }

    fn mistaken(&mut self, mistake: Mistake) {
        let Mistake { code, span, message, label, remedy } = mistake;
        self.report(self.error(code, span, message).label(label).remedy(remedy));
    }

    /// Told once: the first of too many stands for the others.
    fn too_many(&mut self, code: &'static str, what: &str, max: usize, span: Span) {
        if self.diagnostics.iter().all(|diagnostic| diagnostic.code != code) {
            let message = format!("a file has at most {max} {what}");
            let label = "one more than that";
            self.report(self.error(code, span, message).label(label).remedy("put some into another file"));
        }
    }
}
