//! What patterns find.

use super::*;
use crate::{
    limits::{GROUPS_DEPTH_MAX, STATE_BYTES_MAX},
    sample::VARIANTS_MAX,
};

#[test]
fn samples_are_matched_and_show_each_choice() {
    let rows = [
        ("rm|del", "rm, del, rmx, xrm, x rm x, x\nrm"),
        ("^rm$", "rm, rm\n"),
        (r"^ab?\Z", "a, ab"),
        ("[ab]z", "az, bz, azx, xaz, x az x, x\naz"),
        ("(?i)a", "A, a, Ax, xA, x A x, x\nA"),
    ];
    for (text, expected) in rows {
        let pattern = Pattern::python(text).unwrap();
        let samples = pattern.samples();
        assert!(samples.iter().all(|sample| pattern.find(sample) != Match::No), "{text}");
        assert_eq!(samples.join(", "), expected, "{text}");
    }
    let words: Vec<String> = (0..=VARIANTS_MAX).map(|number| format!("w{number}")).collect();
    let made = |count: usize| {
        variants(
            &regex_syntax::parse(&words.iter().take(count).cloned().collect::<Vec<_>>().join("|")).unwrap(),
        )
        .unwrap()
        .len()
    };
    assert_eq!(made(VARIANTS_MAX + 1), VARIANTS_MAX);
    assert!(made(3) < VARIANTS_MAX);
}

#[test]
fn a_text_tells_two_expressions_apart_if_there_is_one() {
    let rows = [
        ("a+b", "a*b", None),
        ("a*b", "a+b", Some("b")),
        ("^ok", "^okay", Some("ok")),
        (r"rm\s+-rf", r"rm\s-rf", Some("rm  -rf")),
        (r"\brm\b", "rm", None),
        ("rm", r"\brm\b", Some("arm")),
        ("[a-g]z", "[a-f]z", Some("gz")),
        ("(?i)rm", "rm", Some("rM")),
        ("a", "a", None),
    ];
    for (one, other, expected) in rows {
        let pattern = |text: &str| Pattern::python(text).unwrap();
        assert_eq!(pattern(one).sample_without(&pattern(other)).as_deref(), expected, "{one} {other}");
    }
}

#[test]
fn a_bare_word_has_edges_only_beside_its_word_characters() {
    let cases = [
        ("rm", "rm rm; (rm) `rm` $(rm) /bin/rm ./rm -rm- rm.txt rm/x a/rm x=rm --rm érm rmé", true),
        ("rm", "format _rm rm_ rm1 RM Rm", false),
        ("--force", "--force x--force ---force --force=yes", true),
        ("--force", "--forced -force", false),
        (".env", ".env /app/.env prod.env .env.local", true),
        (".env", "x.environment .envs", false),
        ("a-a", "xa-a-a", true),
        ("é", "caféx", true),
        ("/", "a/b", true),
    ];
    for (word, texts, expected) in cases {
        for text in texts.split(' ') {
            let found = Pattern::word(word).find(text) != Match::No;
            assert_eq!(found, expected, "`{word}` in `{text}`");
        }
    }
    assert_eq!(Pattern::word("rm").find("\nrm x"), Match::At(1));
    assert_eq!(Pattern::word("rm").find("format; sudo rm"), Match::At(13));
}

/// Rows were compared with a JavaScript engine; the texts of a row are separated by `␣`.
#[test]
fn a_regular_expression_means_what_javascript_means() {
    let cases = [
        (r"rm", "", "rm␣format", "RM"),
        (r"^rm", "", "rm x", "x rm␣\nrm"),
        (r"rm$", "", "rm", "rm\n"),
        (r"\brm\b", "", "rm␣érm␣rmé", "_rm␣rm1"),
        (r"\Bé", "", "é", "aé"),
        (r"^\w+$", "", "az_09", "é␣"),
        (r"\d", "", "1", "١␣²"),
        (r"\s", "", "\u{feff}␣\u{a0}␣\u{2028}␣\u{b}", "\u{200b}␣\u{85}␣\u{180e}"),
        (r"a.b", "", "a-b", "a\nb␣a\rb␣a\u{2028}b"),
        (r"a.b", "s", "a\nb␣a\u{2029}b", "ab"),
        (r"^b", "m", "b␣a\nb␣a\rb␣a\u{2028}b", "ab"),
        (r"a$", "m", "a␣a\r\nb", "ab"),
        (r"[^]", "", "\n", ""),
        (r"[]", "", "", "a␣[]"),
        (r"a{,2}", "", "a{,2}", "aa"),
        (r"a{2}?", "", "aa", "a"),
        (r"{", "", "{", "a"),
        (r"]}", "", "]}", "]"),
        (r"\cA", "", "\u{1}", "A"),
        (r"\x41\u0042", "", "AB", "ab"),
        (r"\x4\u41", "", "x4u41", "A"),
        (r"\uD83D\uDE00", "", "😀", "😁"),
        (r"\0", "", "\0", "0"),
        (r"\141\8", "", "a8", "141"),
        (r"\/\-\a\<", "", "/-a<", "/"),
        (r"[\b]", "", "\u{8}", "b"),
        (r"[\d-x]", "", "-␣x␣5", "b"),
        (r"[a-]", "", "-", "b"),
        (r"[a&&b]", "", "&␣a", "c"),
        (r"x#y z", "", "x#y z", "x"),
        (r"k", "i", "k␣K", "\u{212a}"),
        (r"\u017f", "i", "ſ", "s␣S"),
        (r"ß", "i", "ß", "ẞ␣ss"),
        (r"σ", "i", "Σ␣ς", "s"),
        (r"[^é]", "i", "e", "É"),
        (r"ω", "i", "Ω", "\u{2126}"),
        (r"\w", "i", "K", "\u{212a}"),
        (r"(?<=^|;)\s*rm", "", "rm␣a; rm", "farm"),
        (r"^(?!.*safe).*rm", "", "rm", "safe rm"),
        (r"\brm\b(?!.*--dry)", "", "érm x", "rm --dry␣arm"),
        (r"(?<=\bgit )push", "", "git push", "legit push"),
        (r"(a)\1", "", "aa", "ab"),
        (r"(?:(a)|b)\1c", "", "bc␣aac", "ac"),
        (r"(é)\1", "i", "éÉ", "ée"),
        (r"(?<q>['\x22])x\k<q>", "", "'x'", "'x\""),
        (r"\k<q>", "", "k<q>", "q"),
    ];
    for (body, flags, matching, others) in cases {
        let pattern = Pattern::regex(body, flags).unwrap();
        for text in matching.split('␣').filter(|text| !text.is_empty()) {
            assert!(matches!(pattern.find(text), Match::At(_)), "{pattern} should match {text:?}");
        }
        for text in others.split('␣') {
            assert_eq!(pattern.find(text), Match::No, "{pattern} should not match {text:?}");
        }
    }
}

#[test]
fn a_broken_expression_is_refused_with_its_place() {
    let broken = [
        "*a",
        "a**",
        "^+",
        "(a",
        "a)",
        "[a",
        "[z-a]",
        r"a\",
        "a{2,1}",
        "x{99999999999}",
        r"\u{61}",
        r"\p{L}",
        r"\c1",
        r"\uD83D",
        "(?i)a",
        "(?<1>a)",
        "(?<a>x)(?<a>y)",
        r"(?<a>x)\k<b>",
        "(?=a)*",
        r"(?<=(?=a))",
        r"(?<=\b.*)x",
        r"\1(a)",
    ];
    let told: Vec<String> = broken
        .iter()
        .map(|body| {
            let error = Pattern::regex(body, "").unwrap_err();
            format!("{body}  {}  {error}", body.get(error.at.clone().unwrap()).unwrap())
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
        *a  *  nothing to repeat before `*`: write `\*` for the character
        a**  *  nothing to repeat before `*`: write `\*` for the character
        ^+  +  nothing to repeat before `+`: write `\+` for the character
        (a  (a  `(` is never closed: write `\(` for the character
        a)  )  `)` closes no group: write `\)` for the character
        [a  [a  `[` is never closed: write `\[` for the character
        [z-a]  z-a  the range is out of order: the smaller end comes first
        a\  \  `\` at the end escapes nothing: write `\\` for the character
        a{2,1}  {2,1}  the counts are out of order: the smaller one comes first
        x{99999999999}  {99999999999}  the count is too large
        \u{61}  \u  `\u{…}` has no meaning without the flag `u`: write `\uXXXX`
        \p{L}  \p  `\p{…}` has no meaning without the flag `u`: list the characters in `[…]`
        \c1  \c  `\c` needs a letter: `\cA` is the first control character
        \uD83D  \uD83D  half of a UTF-16 pair matches no text: write the whole character
        (?i)a  (  unknown kind of group after `(?`: known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` and `(?<name>`
        (?<1>a)  (?<1>  a group's name is letters, digits and `_`, begins with no digit, and ends with `>`
        (?<a>x)(?<a>y)  (?<a>  two groups are called `a`: rename one
        (?<a>x)\k<b>  \k  `\k` must name a group of this expression: `\k<name>`
        (?=a)*  *  nothing to repeat before `*`: write `\*` for the character
        (?<=(?=a))  (?=  a look-behind cannot hold look-around or back-references: move it outside
        (?<=\b.*)x  *  a look-behind with an edge such as `\b` must be of one length: no `|`, no repetition
        \1(a)  \1  a back-reference matches nothing before its group is closed: move it behind the group
        ");
    for (flags, message) in [
        ("g", "unknown flag `g`: the flags are `i`, `m` and `s`"),
        ("ii", "the flag `i` is given twice: leave one out"),
    ] {
        assert_eq!(Pattern::regex("a", flags).unwrap_err().message, message);
    }
}

#[test]
fn a_pattern_that_no_text_can_match_is_found_out() {
    for (body, impossible) in [
        ("[]", true),
        ("x[]y", true),
        ("a^b", true),
        ("a$b", true),
        (r"\w\b\w", true),
        ("$.", true),
        ("[]|a", false),
        ("$^", false),
        ("(?!)", false),
        ("[01]*1[01]{12}$a", false), // Too large to decide.
    ] {
        assert_eq!(Pattern::regex(body, "").unwrap().is_impossible(), impossible, "{body}");
    }
    assert!(!Pattern::word("--force").is_impossible());
}

#[test]
fn an_engine_that_cannot_be_built_is_a_mistake_at_once() {
    // Forwards it fits, backwards it does not.
    assert!(Pattern::regex("[^a-z]{1,1000}rm\u{e9}\u{5b57}", "i").is_err());
    let large = Pattern::regex("[^a-z]{1,100}rm", "i").unwrap();
    assert_eq!(large.find("1RM"), Match::At(0));
}

#[test]
fn what_people_write_is_seen_at_a_glance() {
    for (text, is_surely_possible) in [
        (r"rm +-rf +/x1$", true),
        (r"^git\s+push\s+(-f|--force)$", true),
        (r"(?i)drop\s+table", true),
        (r"\d{3}-\d{2}-\d{4}", true),
        (r"[^\s']{8,}", true),
        (r"^\w+=\W", true),
        ("(?m)^a|b$", true),
        ("^$", true),
        ("(a|b$)", true),
        ("a^b", false),
        ("(^|;)rm", false),
    ] {
        let glance = Expression::parse(text, Reach::Part).unwrap().glance().unwrap();
        assert!(is_small(&glance, PYTHON_PROGRAM_BYTES_MAX), "{text}");
        assert_eq!(glance.is_surely_possible, is_surely_possible, "{text}");
    }
    for text in ["(?=a)", "a++", r"[^\s\S]"] {
        assert!(Expression::parse(text, Reach::Part).unwrap().glance().is_none(), "{text}");
    }
}

#[test]
fn an_expression_of_python_whose_engine_cannot_be_built_is_a_mistake_at_once() {
    // Each level is a group, a choice, a row and a repetition to the engine, which reads 250 levels.
    let starred = |depth: usize| format!("{}c{}", "(?:ab|a".repeat(depth), ")*".repeat(depth));
    assert!(Pattern::python(&starred(40)).is_ok());
    assert!(Pattern::python(&starred(GROUPS_DEPTH_MAX)).is_err());
    assert!(Pattern::python(&format!(r"\b{}", starred(GROUPS_DEPTH_MAX))).is_err());
    assert!(Pattern::python(r"(?:[^\s]{1,100}){1,1000}").is_err());
    assert!(Pattern::python(r"\b(?:[^\s]{1,100}){1,1000}").is_err());
}

/// Expressions of Python that a linear engine may run.
fn expressions() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let leaf = proptest::sample::select(vec![
        "a",
        "b",
        "é",
        "字",
        "😀",
        ".",
        r"\s",
        r"\S",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        "[^a]",
        r"[^\s']",
        "[a-zé-字]",
        r"[^\d\S]",
        r"[^\s\S]",
        "(?i:k)",
        "(?s:.)",
        r"(?a:\w)",
        r"(?a:\W)",
        "^",
        "$",
        r"\A",
        r"\Z",
        "(?m:^)",
        "(?m:$)",
        "",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 24, 4, |inner| {
        let times = proptest::sample::select(vec!["*", "+", "?", "{2}", "{0,3}", "{2,}", "{0}", "*?"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            proptest::collection::vec(inner.clone(), 1..5).prop_map(|ways| format!("({})", ways.join("|"))),
            (inner, times).prop_map(|(of, times)| format!("(?:{of}){times}")),
        ]
    })
}

#[test]
fn a_match_at_the_start_begins_with_the_first_character() {
    for (body, text, expected) in
        [("cp", "cp a", true), ("cp", "echo cp", false), ("", "x", true), ("(?=c)c", "c", true)]
    {
        assert_eq!(Pattern::regex(body, "").unwrap().matches_at_start(text), expected, "{body} in {text}");
    }
}

#[test]
fn every_bound_holds_one_past_it() {
    assert!(Pattern::regex(&"a".repeat(REGEX_BYTES_MAX), "").is_ok());
    assert!(Pattern::regex(&"a".repeat(REGEX_BYTES_MAX + 1), "").is_err());

    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Pattern::regex(&nested(GROUPS_DEPTH_MAX), "").is_ok());
    assert!(Pattern::regex(&nested(GROUPS_DEPTH_MAX + 1), "").is_err());
    assert!(Pattern::regex(&format!("(?=a){}", nested(GROUPS_DEPTH_MAX + 1)), "").is_err());

    assert!(Pattern::regex("(?:a{1000}){1000}", "").is_err());
    assert!(Pattern::regex("(?=a)(?:a{1000}){1000}", "").is_err());

    assert!(Pattern::python(r"ghp_\w{36}").is_ok());
    assert!(Pattern::python(r"\w{1000}").is_err());
    assert!(Pattern::python(r"\b\w{1000}").is_err());
    assert!(Pattern::python(&"a".repeat(REGEX_BYTES_MAX + 1)).is_err());
    assert!(Pattern::glob(&"a".repeat(REGEX_BYTES_MAX)).is_ok());
    assert!(Pattern::glob(&"a".repeat(REGEX_BYTES_MAX + 1)).is_err());

    let looking = Pattern::regex("(?=a)b", "").unwrap();
    assert_eq!(looking.find(&"a".repeat(BACKTRACKING_TEXT_BYTES_MAX)), Match::No);
    assert_eq!(looking.find(&"a".repeat(BACKTRACKING_TEXT_BYTES_MAX + 1)), Match::Unsure);

    let slow = Pattern::regex(r"(.*)(.*)(.*)\1x", "").unwrap();
    assert_eq!(slow.find(&"a".repeat(10)), Match::No);
    assert_eq!(slow.find(&"a".repeat(1000)), Match::Unsure);
    assert!(!slow.is_linear());
    assert!(Pattern::regex("^(a+)+$", "").unwrap().is_linear());
}

#[test]
fn a_glob_and_a_text_mean_little() {
    for (glob, matching, others) in [
        ("read_*", "read_␣read_a␣read_a\nb␣read_\n", "read␣a read_␣READ_a"),
        ("a?c", "abc␣a\nc␣aéc", "ac␣abbc␣abc\n"),
        ("**", "␣a\n", ""),
        ("a.[b]{2}", "a.[b]{2}", "axb␣a.bb"),
        ("", "", "a␣\n"),
    ] {
        let pattern = Pattern::glob(glob).unwrap();
        assert!(matching.split('␣').all(|text| pattern.find(text) == Match::At(0)), "{glob}");
        assert!(
            others.split('␣').filter(|text| !text.is_empty()).all(|text| pattern.find(text) == Match::No),
            "{glob}"
        );
    }
    for (text, inside, found) in [
        ("a.c", "xa.c", Match::At(1)),
        ("a.c", "abc", Match::No),
        ("", "a", Match::At(0)),
        ("(", "é(", Match::At(2)),
    ] {
        assert_eq!(Pattern::literal(text).find(inside), found);
    }
}

#[test]
fn only_a_linear_pattern_has_a_source() {
    let sources = [
        Pattern::literal("a.b"),
        Pattern::python("a$").unwrap(),
        Pattern::python_full(r"\bé").unwrap(),
        Pattern::glob("a*").unwrap(),
        Pattern::python("(?=a)").unwrap(),
        Pattern::word("a"),
    ]
    .map(|pattern| pattern.linear_source().unwrap_or("none").to_owned());
    insta::assert_snapshot!(sources.join("\n"), @r"
        a\.b
        \x{61}(?:\n?\z)
        \A(?:\b\x{E9})\z
        \A\x{61}[\x{0}-\x{10FFFF}]*\z
        none
        none
        ");
}

#[test]
fn patterns_are_equal_when_written_alike() {
    let regex = |flags| Pattern::regex("rm", flags).unwrap();
    assert_eq!(regex(""), regex(""));
    assert_ne!(regex(""), regex("i"));
    assert_ne!(regex(""), Pattern::word("rm"));
    assert_ne!(Pattern::literal("rm"), Pattern::word("rm"));
    assert_ne!(Pattern::python("rm"), Pattern::python_full("rm"));
    assert_eq!(format!("{} {} {}", Pattern::word("rm"), regex(""), regex("i")), "rm /rm/ /rm/i");
}

proptest::proptest! {
    #[test]
    fn no_expression_and_no_text_makes_it_panic(body in r"[a(){}\[\]?*+<=!|\\^$.,:k0-9uxcbBdwé-]{0,24}", flags in "[ims]?", text in ".{0,40}") {
        if let Ok(pattern) = Pattern::regex(&body, &flags) {
            pattern.find(&text);
            pattern.is_impossible();
        }
        Pattern::word(&body).find(&text);
    }

    #[test]
    fn a_glance_promises_no_more_than_the_engine_keeps(text in expressions(), edge in r"(\\b)?", is_whole: bool) {
        let reach = if is_whole { Reach::Whole } else { Reach::Part };
        let expression = Expression::parse(&format!("{edge}{text}"), reach);
        if let Ok(expression) = expression
            && let (Some(source), Some(glance)) = (expression.linear(), expression.glance())
            && is_small(&glance, PYTHON_PROGRAM_BYTES_MAX)
        {
            let bytes_max = glance.states_max * STATE_BYTES_MAX;
            let built = regex::RegexBuilder::new(&source).size_limit(bytes_max).build();
            proptest::prop_assert!(built.is_ok(), "{source}");
            proptest::prop_assert!(Edges::new(source.as_str().into(), bytes_max).can_be_built(), "{source}");
            proptest::prop_assert!(!glance.is_surely_possible || !accepts_nothing(&source), "{source}");
        }
    }

    #[test]
    fn a_word_is_found_where_it_was_put(before in "[ ;/(]{0,9}", word in "[a-z.-]{1,9}", after in "[ ;/)]{0,9}") {
        proptest::prop_assert_ne!(Pattern::word(&word).find(&format!("{before}{word}{after}")), Match::No);
    }
}
