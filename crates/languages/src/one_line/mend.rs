//! What a line that cannot be meant is most likely meant to be.
//!
//! [`mended`] rewrites the words of the line by [`SLIPS`], words of other languages and of everyday speech, and proposes
//! the first result that this language can read. So a proposal is never a guess that is wrong in turn.

use std::sync::LazyLock;

use lockgate_policy::closest;
use regex::Regex;

/// The longest line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 400;

/// How many rewritings of a line are tried, and how many may come together.
const TRIED_MAX: usize = 160;
const STEPS_MAX: usize = 3;

/// What people write, as a regular expression, and what it is here. A line break stands for two lines.
const SLIPS: &[(&str, &str)] = &[
    // What happens.
    ("^(?:never|no|do not|disallow|prohibit|stop|prevent|ban|deny|forbid|reject) ", "block "),
    ("^(?:confirm|approve|check with a human before) ", "ask about "),
    ("^permit ", "allow "),
    ("^(?:block|deny) everything else$", "otherwise block"),
    ("^(?:ask about|ask for) everything else$", "otherwise ask"),
    ("^otherwise (?:deny|refuse|forbid|reject|stop)$", "otherwise block"),
    ("^otherwise (?:confirm|approve)$", "otherwise ask"),
    ("^ask (?:human|me|user|the user|a human) (?:about|before) ", "ask about "),
    ("^ask (?:before|for|on) ", "ask about "),
    (r"^ask ((?:[^a]|a[^b]|ab[^o])\S*)$", "ask about $1"),
    (r"^any ", "block any "),
    // Tests.
    (r"\bif\b", "when"),
    (r"\b(when|unless|and) not (\S+) is ", "$1 $2 is not "),
    (r"\bcaller (role|user|service|org|ticket)\b", "caller.$1"),
    (r" (?:is )?>= ?", " is at least "),
    (r" (?:is )?<= ?", " is at most "),
    (r" (?:is )?> ?", " is over "),
    (r" (?:is )?< ?", " is under "),
    (r" (?:==?|equals?|eq) ", " is "),
    (r" (?:!=|is unlike|differs from) ", " is not "),
    (r"\b(?:more|greater|higher|larger|bigger) than ", "over "),
    (r"\b(?:less|fewer|lower|smaller) than ", "under "),
    (r"\babove ", "over "),
    (r"\bbelow ", "under "),
    (r" exceeds ", " is over "),
    (r"\b(when|unless|and) (\S+) (over|under|at least|at most) ", "$1 $2 is $3 "),
    (r" is (not )?(?:in|one of|either) ", " is $1"),
    (r"\b(when|unless|and) (\S+) in ", "$1 $2 is "),
    (r"\b(when|unless|and) (\S+) not in ", "$1 $2 is not "),
    (r"\b(when|unless|and) (\S+) is between (\S+) and (\S+)", "$1 $2 is at least $3 and $2 is at most $4"),
    (r"^(.* when) (.+) or (.+)$", "$1 $2\n$1 $3"),
    (r"\b(when|unless) (\w+)$", "$1 caller.role is $2"),
    (r"[$€£](\d)", "$1"),
    (r"\b(\d+)k\b", "${1}000"),
    // Demands.
    (r" (?:should|shall|has to|needs to|ought to) ", " must "),
    (r" must be is ", " must be "),
    (r" must (?:equal|equals|==?|is) ", " must be "),
    (r" must not exceed ", " must be at most "),
    (r" must exceed ", " must be over "),
    (r" must be (?:one of|in|either) ", " must be "),
    (r"^(\S+) must be between (\S+) and (\S+)(.*)$", "$1 must be at least $2$4\n$1 must be at most $3$4"),
    (r" (?:must|may|can) (?:come only|only come|be only|only be) from ", " must come from "),
    (r" must (?:be|originate|derive|stem) from ", " must come from "),
    (r" from the ", " from "),
    // Places.
    (r"\boutside of ", "outside "),
    (r" (?:in|within|under|below) ([./~]\S*)", " inside $1"),
    (r"\binside ([A-Za-z_][\w-]*)$", "inside ./$1"),
    (r"\bany ([a-z-]+) in ", "any $1 inside "),
    (r"\bany ([a-z-]+) except ", "any $1 except to "),
    // Time.
    (r" (?:a|an|every|each) (second|minute|hour|day)\b", " per 1 $1"),
    (r"\bwithin (?:an|a|one) ", "within 1 "),
    (r" in (\d+) ?(second|minute|hour|day)", " within $1 $2"),
    (r"\b(\d+) ?(?:s|sec|secs)\b", "$1 seconds"),
    (r"\b(\d+) ?(?:m|min|mins)\b", "$1 minutes"),
    (r"\b(\d+) ?(?:h|hr|hrs)\b", "$1 hours"),
    (r"\b(\d+) ?d\b", "$1 days"),
    (r"\bone week\b|\b1 week\b", "7 days"),
    (r"\bon weekends\b", "during Sat, Sun"),
    (r"\bon weekdays\b", "during Mon-Fri"),
    (r"\boutside weekdays\b", "outside Mon-Fri"),
    (r"\b(\d)-(\d\d)\b", "0$1:00-$2:00"),
    (r"\b(\d\d)-(\d\d)\b", "$1:00-$2:00"),
    (r"\b(\d)am-", "0$1:00-"),
    (r"-4pm\b", "-16:00"),
    (r"-5pm\b", "-17:00"),
    (r"-6pm\b", "-18:00"),
    (r"-8pm\b", "-20:00"),
    // Counts.
    (r"\b(\d+) (?:times|calls)\b", "$1"),
    (r"\bafter (\S+) failed twice", "after 2 $1 failed"),
    (r"\btwo\b", "2"),
    (r"\bthree\b", "3"),
    (r"\bfive\b", "5"),
    (r"\bten\b", "10"),
    (r"^limit (\d+) (\S+) per ", "limit $2 to $1 per "),
    (r"^limit (\S+) (\d+) per ", "limit $1 to $2 per "),
    (r"^limit sum ([^ .]+\.)", "limit sum of $1"),
    (r"^limit different (\S+) ([^ ]+) to ", "limit different $1 of $2 to "),
    (r" (?:globally|in total|overall|across all sessions)$", " over all sessions"),
    // The same value.
    (r" for (?:every|all|any|the same) (\w+)$", " for each $1"),
    (r"^((?:require|block) .*) (?:per|by|with the same|of the same) (\w+)$", "$1 for each $2"),
    // What comes first.
    (r"^block (\S+) (?:before|without|until) (\S+)$", "require $2 before $1"),
    (r"^require (\S+) before (\S+) before (\S+)$", "require $1 before $2\nrequire $2 before $3"),
    (r"^require the user ", "require user "),
    (r"\brequire user (?:says|said|saying|say) ", "require user to say "),
    // What runs.
    (r"^(block|allow|ask about) (\S+): ?(\S)", "$1 $2 running $3"),
    (r"^(block|allow|ask about) (\S+) (?:run|runs|with|calling|executing|doing) ", "$1 $2 running "),
    (r"^(block|allow|ask about) ([a-z][\w.-]*) (-\S*(?: \S+)*)$", "$1 any shell running $2 $3"),
    (r"^map (\S+) as (\S+)$", "map any shell running $1 as $2"),
    // Tails.
    (r#"\bbecause ([^"\s].*)$"#, "because \"$1\""),
    (r"\belse ask .+$", "else ask"),
    // Words that other lines use.
    (r"^(source|tools|hours) (\w[\w-]*):? ([^=\s].*)$", "$1 $2 = $3"),
    (r"^(\S+) is ([aeiou][a-z-]*(?:,? .*)?)$", "$1 is an $2"),
    (r"^(\S+) is ([a-z][a-z-]*(?:,? .*)?)$", "$1 is a $2"),
    // Sandboxes and results.
    (r"^keep (.+?) (?:in|within|under) ", "keep $1 inside "),
    (r"^keep (.+?) (?:away from|from|outside|off) ", "keep $1 out of "),
    (r"^keep (\S+) to (\S+\.\S+.*)$", "keep $1 to hosts $2"),
    (r"^keep (\S+) to ([\w-]+(?:,? .*)?)$", "keep $1 to programs $2"),
    (r"^(?:hide|redact|censor|anonymi[sz]e) ", "mask "),
    (r"^mask (results of .*)$", "mask sensitive data in $1"),
    (r"^withhold (\S+)$", "withhold results of $1"),
    // Claims and examples.
    (r"^claim (\S+) (?:requires|needs) (\S+)$", "claim never $1 before $2"),
    (r"\b(?:succeeds|succeeded|success|successful)\b", "ok"),
    (r"-> ?(?:deny|denied|refuse|reject)\b", "-> block"),
    (r"-> ?(?:approve|confirm)\b", "-> ask"),
    (r"([{,]) ?([A-Za-z_]\w*):", "$1\"$2\":"),
    (r#"user says ([^",]+)"#, "user says \"$1\""),
];

/// Words of the language, of which another word may be a slip.
const FIXED: &[&str] = &[
    "require",
    "before",
    "since",
    "limit",
    "session",
    "block",
    "allow",
    "about",
    "otherwise",
    "when",
    "unless",
    "after",
    "until",
    "during",
    "outside",
    "inside",
    "within",
    "because",
    "must",
    "present",
    "missing",
    "starts",
    "ends",
    "contains",
    "matches",
    "running",
    "programs",
    "hosts",
    "results",
    "sensitive",
    "email",
    "phone",
    "credit-card",
    "password",
    "minutes",
    "hours",
    "seconds",
    "days",
    "human-approval",
    "impossible",
    "possible",
    "returns",
    "granted",
    "refused",
    "failed",
    "user",
    "over",
    "under",
    "least",
    "most",
    "each",
    "else",
    "different",
    "sessions",
];

static READ: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let read = |(slip, meant): &(&str, &'static str)| Some((Regex::new(slip).ok()?, *meant));
    SLIPS.iter().filter_map(read).collect()
});

/// The line as it can be read; of several rewritings the one with the fewest steps.
pub(super) fn mended(line: &str, is_read: &dyn Fn(&str) -> bool) -> Option<String> {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let mut tried: Vec<String> = vec![line];
    let mut begin = 0;
    for _ in 0..STEPS_MAX {
        let end = tried.len();
        for at in begin..end {
            let Some(text) = tried.get(at).cloned() else { break };
            for next in rewritten(&text) {
                if tried.contains(&next) || tried.len() >= TRIED_MAX {
                    continue;
                }
                if next.lines().all(is_read) {
                    return Some(next);
                }
                tried.push(next);
            }
        }
        begin = end;
    }
    None
}

/// A text with one slip put right, in every way.
fn rewritten(text: &str) -> Vec<String> {
    let by_table = READ.iter().filter(|(slip, _)| slip.is_match(text));
    let mut found: Vec<String> =
        by_table.map(|(slip, meant)| slip.replace(text, *meant).into_owned()).collect();
    let words: Vec<&str> = text.split(' ').collect();
    for (at, word) in words.iter().enumerate() {
        let is_plain = word.len() > 3 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if let Some(meant) = closest(word, FIXED.iter().copied()).filter(|meant| is_plain && meant != word) {
            let mut words = words.clone();
            words.splice(at..=at, [meant]);
            found.push(words.join(" "));
        }
    }
    found.retain(|next| next != text && !next.contains('\u{0}'));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slip_can_be_read() {
        for (slip, _) in SLIPS {
            assert!(Regex::new(slip).is_ok(), "{slip}");
        }
    }

    #[test]
    fn a_rewriting_that_cannot_be_read_is_not_proposed() {
        assert_eq!(mended("deny x", &|_| false), None);
        assert_eq!(mended("deny x", &|line| line == "block x").as_deref(), Some("block x"));
        assert_eq!(mended(&"deny ".repeat(100), &|_| true), None);
    }
}
