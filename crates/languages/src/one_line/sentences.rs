//! All sentences of the language, one row each.
//!
//! A new sentence is a row here and a function that reads its words into the draft.

use lockgate_policy::{Mode, Span, closest};

use super::{
    claims, definitions, effects, examples, maps,
    meant::{did_you_mean, synonym},
    parser::{Line, Parser, Sentence, SentenceKind, Start},
    provenance, rules, settings,
    shape::completed,
    spoken,
    words::{Word, span_of, texts},
};

const OBSERVE: &str = "observe <rule>";

/// The first one that fits is meant, so what is recognised by all its words comes before keywords.
pub(super) const SENTENCES: &[Sentence] = &[
    words(&["ask", "about", "any", "unreadable", "script|scripts"], settings::ask_unreadable),
    words(&["block", "any", "unreadable", "script|scripts"], settings::block_unreadable),
    words(&["allow", "any", "unreadable", "script|scripts"], settings::allow_unreadable),
    rule(rules::SEQUENCE, rules::require),
    rule(rules::LIMIT, rules::limit),
    rule(rules::BLOCK, rules::block),
    rule(spoken::ALLOW, spoken::allow),
    rule(spoken::ASK, spoken::ask),
    rule(spoken::OTHERWISE, spoken::otherwise),
    rule(spoken::KEEP, spoken::keep),
    rule(spoken::MASK, spoken::mask),
    rule(spoken::WITHHOLD, spoken::withhold),
    other(definitions::TOOLS, definitions::tools),
    other(definitions::HOURS, definitions::hours),
    other(provenance::SOURCE, definitions::source),
    rule(provenance::LINKS, spoken::must),
    other(definitions::TIMEZONE, definitions::timezone),
    other(definitions::INCLUDE, definitions::include),
    other(maps::MAP, maps::map),
    other(maps::SCRIPT, maps::script),
    other(OBSERVE, observe),
    other(settings::MODE, settings::mode),
    rule(settings::UNREADABLE, settings::unreadable),
    other("claim <tool> possible", claims::claim),
    other("example: <tool> -> <verdict>", examples::example),
    Sentence { start: Start::Has("must"), shape: "", kind: SentenceKind::Rule, read: spoken::must },
];

type Read = for<'t> fn(&mut Parser<'t>, Line<'_, 't>);

const fn rule(shape: &'static str, read: Read) -> Sentence {
    Sentence { start: Start::Keyword, shape, kind: SentenceKind::Rule, read }
}

const fn other(shape: &'static str, read: Read) -> Sentence {
    Sentence { start: Start::Keyword, shape, kind: SentenceKind::Other, read }
}

/// A rule that is recognised by all its words, so that its first word can start others.
const fn words(words: &'static [&'static str], read: Read) -> Sentence {
    Sentence { start: Start::Words(words), shape: "", kind: SentenceKind::Rule, read }
}

/// What people write who know another rule language, and what we call it.
const SYNONYMS: [(&str, &str); 6] = [
    ("deny", "block"),
    ("forbid", "block"),
    ("need", "require"),
    ("alias", "map"),
    ("shadow", "observe"),
    ("max", "limit"),
];

/// Reads one line that is not empty.
pub(super) fn sentence<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    if effects::declaration(parser, line) {
        return;
    }
    if let Some(mistake) = line.words.iter().find_map(effects::wrong_host) {
        return parser.mistaken(mistake);
    }
    let found = SENTENCES.iter().find(|sentence| sentence.is_start_of(line.words));
    let reads_anything = found.is_some_and(|sentence| sentence.kind == SentenceKind::Other);
    if !reads_anything && parser.is_permission(line.words) {
        return;
    }
    match found {
        Some(sentence) => (sentence.read)(parser, line),
        None => unknown_keyword(parser, line.words),
    }
}

/// `observe RULE`. The rule's own words are counted from 1, as without the prefix.
fn observe<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    const CODE: &str = "observe-without-rule";
    let Some((prefix, words)) = line.words.split_first() else { return };
    let Some(first) = words.first() else {
        let message = format!("'{OBSERVE}' expects a rule, got none");
        let remedy = "write the rule behind it, as in `observe block deploy`";
        return parser.mistake(CODE, prefix.span(), message, "observe what?", remedy);
    };
    let is_other = |it: &&Sentence| it.kind == SentenceKind::Other && it.is_start_of(words);
    if SENTENCES.iter().any(|it| is_other(&it)) {
        let message = format!("'{OBSERVE}' expects a rule, got '{}'", first.text);
        let remedy =
            "write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file";
        return parser.mistake(CODE, first.span(), message, "not a rule", remedy);
    }
    let span = Span::new(prefix.start, span_of(words).end);
    sentence(parser, Line { words, span, mode: Mode::Observe });
}

fn unknown_keyword<'t>(parser: &mut Parser<'t>, words: &[Word<'t>]) {
    let Some((first, rest)) = words.split_first() else { return };
    let text = first.text;
    let keywords = || SENTENCES.iter().filter_map(|it| Some((it.keyword()?, it.shape)));
    if rest.first().is_some_and(|second| second.text == "must") {
        let demand: Vec<&str> = texts(rest).collect();
        let remedy = format!("write the tool and the field, as in `pay.{text} {}`", demand.join(" "));
        let message = format!("`{text}` is a tool or a field, and `must` wants both");
        return parser.mistake("missing-field", first.span(), message, "of which tool, which field?", remedy);
    }
    let meant = synonym(text, &SYNONYMS).or_else(|| closest(text, keywords().map(|(keyword, _)| keyword)));
    let meant = meant.and_then(|meant| keywords().find(|(keyword, _)| *keyword == meant));
    let remedy = match meant {
        // Neither has one shape, and both have a parser that reports what is wrong with the rest.
        Some((keyword @ ("claim" | "example:"), _)) if !rest.is_empty() => {
            let said: Vec<&str> = [keyword].into_iter().chain(texts(rest)).collect();
            format!("write `{}`", said.join(" "))
        }
        Some((keyword, shape)) => {
            format!("write `{}`", completed([keyword].into_iter().chain(texts(rest)), shape))
        }
        None => format!("start the line with {}, or with `#` for a comment", starts()),
    };
    parser.mistake(
        "unknown-keyword",
        first.span(),
        format!("unknown keyword '{text}'. Expected 'map', 'require', 'limit', or 'block'"),
        meant.map_or("no statement starts like this".into(), |(keyword, _)| did_you_mean(keyword)),
        remedy,
    );
}

/// How lines start, as a list: the fixed words at the start of each shape.
fn starts() -> String {
    let keywords = SENTENCES.iter().filter(|it| it.keyword().is_some());
    let start = |it: &Sentence| {
        let fixed = it.shape.split(' ').take_while(|word| !word.starts_with('<'));
        format!("`{}`", fixed.collect::<Vec<_>>().join(" "))
    };
    let starts: Vec<String> = keywords.map(start).collect();
    match starts.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => starts.concat(),
    }
}
