//! What we answer otherwise than was recorded, and why: always because the recorded answer is unsafe, or silent about
//! a mistake.
//!
//! One row a case, in the order of the recording. Nothing here changes what is compared.

const NEGATION: &str = "a `!` before a sender would be taken for a negation that is none, so it is a mistake";
const DAYS: &str = "a day is known by its English name, in any case and length, or it is a mistake: a schedule that is \
                    always or never open is worse than none";
const DAY_LIST: &str =
    "days as a list were an error that opened everything; they are taken for what they say";
const UNKNOWN: &str = "a key or a word nobody knows is a mistake with a place, never silence";
const WRONG_TYPE: &str =
    "a value of the wrong type is a mistake with a place, and not a rule without conditions";
const DISABLED: &str =
    "a gate that is switched off is no gate; `observe` lets everything pass and still sees it";

/// Cases that differ on purpose, each with the reason.
pub(super) const ON_PURPOSE: &[(&str, &str)] = &[
    ("tool-07", "`*` takes every tool, as everybody means it"),
    ("tool-08", "a name with `*` is a glob, as the manual's own samples mean it"),
    ("tool-17", "`(?i)` at the start of a pattern works"),
    ("tool-23", "a rule for no tool at all is a mistake"),
    ("tool-26", "a `tool` beside `when` was ignored in silence"),
    (
        "args-03",
        "several fields in one rule must all hold, as recorded; the manual's comments read otherwise",
    ),
    ("args-06", "`eq: 5` compares with the number"),
    ("args-15", "all operators of a field must hold, and none is dropped in silence"),
    ("args-18", "a list was taken for a set of letters; `in` says what is meant"),
    ("args-20", "no test is no test: `exists: false` says what is meant"),
    ("args-21", UNKNOWN),
    ("args-23", "`contains` looks for text and is no pattern"),
    ("args-26", "a key with dots reaches into nested values"),
    ("args-30", "two spellings of one key cannot both be meant"),
    ("sess-09", UNKNOWN),
    ("sess-12", WRONG_TYPE),
    ("sess-15", "a session that is in use keeps its history, as in the later version"),
    ("send-01", "a sender has a name; the text that Python prints for a mapping is nobody's name"),
    ("send-05", "a list of senders means one of them"),
    ("send-07", NEGATION),
    ("chain-15", "a step takes patterns, as every other tool name does"),
    ("chain-18", UNKNOWN),
    ("ctx-14", "a time that is none is a mistake"),
    ("ctx-15", "a time that is none is a mistake"),
    ("ctx-23", DAYS),
    ("ctx-24", DAYS),
    ("ctx-26", DAY_LIST),
    ("ctx-27", DAY_LIST),
    ("ctx-44", WRONG_TYPE),
    ("ctx-45", WRONG_TYPE),
    ("def-04", "a default that asks asks"),
    ("parse-03", "a rule without a `then` is a mistake: nobody means to allow by leaving out a word"),
    ("parse-04", "a rule without a `then` is a mistake: nobody means to allow by leaving out a word"),
    ("parse-06", "a rule that says two things is a mistake"),
    ("parse-12", "a file without a rule would let every call pass"),
    ("parse-17", "a file without a rule would let every call pass"),
    ("parse-23", WRONG_TYPE),
    (
        "ext-02",
        "a child keeps the conditions of its parent that it does not replace, as in the later version",
    ),
    ("red-07", "keys can hold sensitive data like values"),
    ("red-08", "keys and passwords are sensitive data"),
    ("app-06", "an answer stands from the moment it is given, whoever looks"),
    ("app-12", "a standing answer ends after an hour"),
    ("mode-02", "a gate that observes changes nothing, the input included"),
    ("mode-04", DISABLED),
    ("kill-03", DISABLED),
    (
        "out-01",
        "the `then` of a rule on results is honoured: `redact` masks what was found and passes on the rest",
    ),
    ("out-03", "masked JSON stays JSON"),
    ("out-04", "lists are looked at like everything else"),
    ("rl-02", "each limit counts for itself"),
    ("san-02", "rules see the whole text: padding hides nothing"),
    ("san-03", "rules see every key: fillers hide nothing"),
    ("fail-02", DAY_LIST),
    ("fail-03", DAY_LIST),
];

/// Reasons for cases that are known only by their name and their behaviour.
pub(super) const FORESEEN: &[(&str, &str)] = &[
    ("tool-06", "a name with `*` is a glob, as the manual's own samples mean it"),
    ("tool-09", "a pattern takes whole names, alternatives included"),
    ("tool-12", "every pattern works, whatever characters it has"),
    ("tool-15", "every pattern works, whatever characters it has"),
    ("tool-24", UNKNOWN),
    ("tool-27", UNKNOWN),
    ("tool-33", "a name with a line end behind it is another name, for every rule alike"),
    ("args-07", "a value that is no text is compared as what it is"),
    ("args-13", "an operator does what its name says"),
    ("args-31", WRONG_TYPE),
    ("sess-01", "attributes of a session come from whoever runs the gate, and a recording has none"),
    ("chain-07", "a verdict in a chain is known in any case of its letters"),
    ("chain-10", "a chain can look for what was asked about, as for what was blocked"),
    ("chain-16", "the manual calls `within_seconds` required"),
    ("chain-19", "a count below one would hold always, so it is a mistake"),
    ("chain-22", "a chain counts as far as its author wants"),
    ("chain-31", "what ran under observation did run, and counts"),
    ("ctx-13", "spaces around the dash of a time mean nothing"),
    ("ctx-16", "a time that is none is a mistake"),
    ("ctx-25", DAYS),
    ("ctx-28", DAYS),
    ("def-05", "a default that masks masks"),
    ("parse-19", "limits written into a file of rules are in force"),
    ("parse-25", "a key that is there twice is a mistake: only one of the two can be meant"),
    ("red-06", "a number can be sensitive data like a text"),
    ("red-15", "what overlaps is masked as one, and nothing shows again"),
    ("app-10", UNKNOWN),
    ("app-13", "the first answer stands"),
    ("app-16", "a grant is for one call and is spent by it"),
    ("out-02", "a pattern that is none is a mistake of the file, and not one of the first result"),
    ("rl-05", "each limit counts for itself"),
    ("fail-01", "a rule with a mistake is not loaded, so nothing can fail open"),
];
