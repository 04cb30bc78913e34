//! What the words of the language mean, in a few words each.

/// Words that start a sentence, how it is written, and what it means.
pub(super) const KEYWORDS: [(&str, &str, &str); 22] = [
    (
        "require",
        "require A before B",
        "Each B spends one success of A. `human-approval` in the place of A: a human agrees to each B.",
    ),
    (
        "limit",
        "limit A to N per session",
        "At most N calls; failed ones count. `per 10 minutes` counts in a sliding time, `per TOOL` gives one back.",
    ),
    ("block", "block A", "These calls are blocked, where the tail holds."),
    ("allow", "allow A", "Lifts `otherwise` for these calls, and nothing else."),
    ("ask", "ask about A", "A human agrees to each of these calls."),
    ("otherwise", "otherwise block", "What happens to calls that no `allow` takes."),
    ("keep", "keep A inside ./src", "Everything that the call reaches lies there, links followed."),
    ("mask", "mask sensitive data in results of A", "Data is masked before the agent sees it."),
    ("withhold", "withhold results of A", "The agent does not see the results."),
    ("tools", "tools NAME = a, b or c", "A name for several tools."),
    ("source", "source NAME = user, TOOL.FIELD", "A name for where values may come from."),
    ("hours", "hours NAME = Mon-Fri 09:00-18:00", "A name for hours."),
    ("timezone", "timezone Europe/Berlin", "The zone of hours that name none."),
    ("include", "include FILE", "Another policy file; words that it defines are known here."),
    ("map", "map TOOL running PROGRAM as NAME", "Gives calls another name, for the rules of this file."),
    ("script", "script TOOL.FIELD", "The field holds a shell script."),
    ("observe", "observe RULE", "The rule only reports what it would have done."),
    ("mode", "mode observe", "Whether the rules of this file act."),
    ("unreadable", "unreadable scripts: ask", "What happens to scripts that cannot be read."),
    (
        "links",
        "links in TOOL.FIELD must come from user",
        "Every link, mail address and account in the text comes from there.",
    ),
    ("claim", "claim never B before A", "Proved over all sessions, or refuted with the shortest one."),
    ("example:", "example: a ok, b -> allow", "One session, played when the policy is verified."),
];

/// Words that may follow, and what they mean.
pub(super) const TAILS: [(&str, &str); 12] = [
    ("before", "what waits"),
    ("when", "only calls of which the tests hold"),
    ("unless", "only calls of which not all tests hold"),
    ("after", "only if this happened earlier"),
    ("within", "not longer ago"),
    ("during", "only in these hours"),
    ("outside", "only out of these hours"),
    ("for each", "for each value apart"),
    ("must", "what a value must be like"),
    ("per session", "counted in a session"),
    ("human-approval", "a human agrees"),
    ("because", "what the agent is told"),
];

/// What the sentence of a line means.
pub(super) fn meaning(line: &str) -> Option<&'static str> {
    let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let first = *words.first()?;
    let known =
        KEYWORDS.iter().find(|(word, ..)| first == *word || word.ends_with(':') && first.starts_with(word));
    if let Some((_, _, meaning)) = known {
        return Some(meaning);
    }
    match words.as_slice() {
        [_, "is", "a" | "an", ..] => Some("Says what the tool does: one more name for its calls."),
        words if words.windows(2).any(|it| it == ["come", "from"]) => {
            Some("Each value was said by the user, stood whole in a source, or was agreed to by a human.")
        }
        words if words.contains(&"must") => Some(
            "Broken by a value that is missing, of another type, or bad in one item of a list; then the call is blocked.",
        ),
        _ => None,
    }
}
