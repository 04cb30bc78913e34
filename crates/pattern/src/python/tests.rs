use super::*;
use crate::{Match, Pattern, limits::GROUPS_DEPTH_MAX};

/// The texts of a row are separated by `␣`, and `∅` is the empty one.
fn check(read: fn(&str) -> Result<Pattern, PatternError>, rows: &[(&str, &str, &str)]) {
    let texts = |row: &str| -> Vec<String> {
        row.split('␣').filter(|text| !text.is_empty()).map(|text| text.replace('∅', "")).collect()
    };
    for (expression, matching, others) in rows {
        let pattern = read(expression).unwrap();
        for text in texts(matching) {
            assert!(matches!(pattern.find(&text), Match::At(_)), "{pattern} should match {text:?}");
        }
        for text in texts(others) {
            assert_eq!(pattern.find(&text), Match::No, "{pattern} should not match {text:?}");
        }
    }
}

/// Rows were filled in by `re.search` of Python 3.11: what matches, and what does not.
#[test]
fn an_expression_means_what_python_means() {
    check(
        Pattern::python,
        &[
            ("rm", "rm␣format", "RM␣∅"),
            ("^rm", "rm x", "x rm␣\nrm"),
            ("rm$", "rm␣rm\n", "rm\n\n␣rm\nx"),
            (r"rm\Z", "rm", "rm\n"),
            ("(rm|ls)$", "ls\n", "ls x"),
            (r"rm$\n", "rm\n", "rm"),
            ("(a$)+", "a\n", "a\n\n"),
            ("a$|b", "a\n␣b c", "a c"),
            ("(?m)^b$", "a\nb\nc␣b\n", "ab"),
            (r"\Arm", "rm", "\nrm"),
            ("a.b", "a-b␣a\u{d}b␣a\u{2028}b", "a\nb"),
            ("(?s)a.b", "a\nb", "ab"),
            (r"\d", "1␣\u{661}", "²"),
            (r"^\w+$", "az_09é日²", "a\u{301}␣a\u{200d}␣a-␣a\u{203f}"),
            (r"\s", " ␣\u{a0}␣\u{1c}␣\u{85}␣\u{2028}", "\u{200b}␣\u{feff}"),
            (r"\brm\b", "rm␣rm\u{301}␣rm\u{200d}␣\u{203f}rm", "érm␣rmé␣_rm␣rm1␣rm²"),
            (r"\Bm", "rm␣²m", "m␣\u{301}m"),
            (r"\B", "-", "∅␣a"),
            (r"(?a)\brm\b", "érm", "rm1"),
            (r"(?a)\w", "e", "é"),
            ("(?i)rm", "RM␣Rm", "rn"),
            ("(?i)k", "K␣\u{212a}", ""),
            ("(?i)i", "I␣ı␣İ", "\u{390}"),
            ("(?i)[^s]", "t", "S␣ſ"),
            ("(?i)ß", "\u{1e9e}", "ss"),
            ("(?i)σ", "Σ␣ς", ""),
            ("(?ai)s", "S", "ſ"),
            ("(?i:r)m", "Rm", "RM"),
            ("(?i)(?-i:r)m", "rM", "RM"),
            ("(?i)(?s)a.", "A\n", "b"),
            ("a{", "a{", "a"),
            ("^a{,2}$", "∅␣aa", "aaa␣a{,2}"),
            ("^a{,}$", "aaa", "b"),
            ("^a{2,}$", "aaa", "a"),
            ("^a{2}?$", "aa", "a"),
            ("x{}", "x{}", "x"),
            ("a{1", "a{1", "a"),
            ("{", "{", "a"),
            ("]}", "]}", "]"),
            ("[a&&b]", "&␣a␣b", "c"),
            ("[+--]", ",␣-", "b"),
            ("[+--a]", "a␣,␣-", "b"),
            ("[a||b]", "|", "c"),
            ("[~~a]", "~", "b"),
            ("[[a]", "[␣a", "]"),
            ("[[:alpha:]]", ":]␣a]", "a"),
            ("[]a]", "]␣a", "b"),
            ("[^]a]", "b", "]"),
            (r"[\]\[^]", "]␣[␣^", "a"),
            (r"[\b]", "\u{8}", "b"),
            (r"[\d-]", "-␣5", "a"),
            (r"[^\W\d]", "a␣_", "5␣-"),
            (r"\x41\u0042\U00000043", "ABC", "abc"),
            (r"\0\012\141", "\u{0}\na", "a"),
            (r"[\12\141]", "\n␣a", "1"),
            (r"\a\f\v\t", "\u{7}\u{c}\u{b}\t", "afvt"),
            (r"\-\/\ \é", "-/ é", "-"),
            ("x#y z", "x#y z", "x"),
            ("(?x) r m # no\n [ ] \\# ", "rm #", "r m #"),
            ("(?x:r m) x", "rm x", "rmx"),
            (r"r(?#not \) this)m", "rm", "r"),
            ("(?P<q>['\"])x(?P=q)", "'x'", "'x\""),
            (r"(a)|\1b", "a", "b"),
            (r"(é)(?i:\1)", "éÉ", "ée"),
            ("^(<)?a(?(1)>|!)$", "<a>␣a!", "<a␣a>"),
            ("^(?P<o><)?a(?(o)>)$", "<a>␣a", "a>"),
            ("(?<=git )push", "git push", "git  push"),
            ("(?<!no|on)x", "x␣ox", "nox␣onx"),
            ("^(?!.*safe).*rm", "rm", "safe rm"),
            ("(?=a)*b", "b", "a"),
            ("(?>a+)ab", "", "aab"),
            ("a++b", "aab␣ab", "b"),
            ("a++a", "", "aaa"),
            ("(?:^)*a", "ba", ""),
            ("", "∅␣a", ""),
            ("a|", "b", ""),
        ],
    );
}

/// Rows were filled in by `re.fullmatch` of Python 3.11 with `re.DOTALL`.
#[test]
fn a_full_match_takes_all_of_the_text() {
    check(
        Pattern::python_full,
        &[
            ("exec|shell", "exec␣shell", "executor␣myshell␣exec\n␣exec|shell"),
            ("exec", "exec", "exec\n␣\nexec"),
            ("^exec$", "exec", "exec\n"),
            (".*", "∅␣a\nb␣a\n␣\n", ""),
            ("a.c", "a\nc", "a\nc\n"),
            ("exec.", "exec\n", "exec"),
            ("(?!exec$).*", "execs␣a\nexec", "exec"),
            ("(?i)exec", "EXEC", "EXECS"),
            ("a|ab", "ab", "abc"),
            (r"a$\n", "a\n", "a"),
            ("(?-s:.*)", "a", "a\nb"),
        ],
    );
}

#[test]
fn a_match_begins_where_it_begins() {
    for (expression, text, start) in [
        ("rm", "é rm", 3),
        (r"\brm\b", "a\u{301}rm farm rm\u{301}", 3),
        (r"(?=m)m", "rm", 1),
        (r"\bx*y|z", "\u{301}xxyz", 2),
        (r"\b", "\u{301}\u{301}²", 4),
    ] {
        assert_eq!(Pattern::python(expression).unwrap().find(text), Match::At(start), "{expression}");
    }
}

#[test]
fn a_broken_expression_is_refused_with_its_place() {
    let broken = [
        r"*a",
        r"a**",
        r"a{2}{3}",
        r"^+",
        r"\b*",
        r"(a",
        r"a)",
        r"[a",
        r"[]",
        r"[z-a]",
        r"[\d-z]",
        r"[a-\w]",
        r"a\",
        r"a{2,1}",
        r"x{99999999999}",
        r"{2}",
        r"\x4",
        r"\u41",
        r"\U00110000",
        r"\ud800",
        r"\400",
        r"\8",
        r"\q",
        r"[\A]",
        r"\N{BULLET}",
        r"\p{L}",
        r"a(?i)b",
        r"|(?i)b",
        r"((?i)a)",
        r"(?-i)a",
        r"(?z:a)",
        r"(?i-i:a)",
        r"(?au:a)",
        r"(?L:a)",
        r"(?P<1>a)",
        r"(?P<a>x)(?P<a>y)",
        r"(?P=b)",
        r"(?P>a)",
        r"(?<a>b)",
        r"(?",
        r"(?#a",
        r"(?<=a*)b",
        r"(?<=a|bc)d",
        r"\1(a)",
        r"(a\1)",
        r"(?(1)a)",
        r"(?(0)a)",
        r"(a)(?(1)b|c|d)",
        r"(a)(?<=\1)",
    ];
    let told = broken.map(|text| {
        let error = Pattern::python(text).unwrap_err();
        format!("{text}  {}  {error}", text.get(error.at.clone().unwrap()).unwrap())
    });
    insta::assert_snapshot!(told.join("\n"), @r"
    *a  *  nothing to repeat before `*`: write `\*` for the character
    a**  *  `*` repeats a repetition: put what it repeats into `(?:…)`
    a{2}{3}  {3}  `{3}` repeats a repetition: put what it repeats into `(?:…)`
    ^+  +  nothing to repeat before `+`: write `\+` for the character
    \b*  *  nothing to repeat before `*`: write `\*` for the character
    (a  (a  `(` is never closed: write `\(` for the character
    a)  )  `)` closes no group: write `\)` for the character
    [a  [a  `[` is never closed: write `\[` for the character
    []  []  `[` is never closed: write `\[` for the character
    [z-a]  z-a  the range is out of order: the smaller end comes first
    [\d-z]  \d-z  a range needs a character at each end: put the `-` last, or write `\-`
    [a-\w]  a-\w  a range needs a character at each end: put the `-` last, or write `\-`
    a\  \  `\` at the end escapes nothing: write `\\` for the character
    a{2,1}  {2,1}  the counts are out of order: the smaller one comes first
    x{99999999999}  {99999999999}  the count is too large
    {2}  {2}  nothing to repeat before `{2}`: write `\{2}` for the character
    \x4  \x4  2 hexadecimal digits must follow
    \u41  \u41  4 hexadecimal digits must follow
    \U00110000  \U00110000  no such character exists: no text holds it
    \ud800  \ud800  no such character exists: no text holds it
    \400  \400  the octal number is larger than `\377`: write `\uXXXX`
    \8  \8  no group 8 comes before this place
    \q  \q  `\q` means nothing here: write `q` for the character
    [\A]  \A  `\A` means nothing here: write `A` for the character
    \N{BULLET}  \N  characters cannot be named here: write `\uXXXX` or the character itself
    \p{L}  \p  `\p` means nothing here: write `p` for the character
    a(?i)b  (?i)  flags for all of it stand at the very start: move them there, or write `(?i:…)` around what they are for
    |(?i)b  (?i)  flags for all of it stand at the very start: move them there, or write `(?i:…)` around what they are for
    ((?i)a)  (?i)  flags for all of it stand at the very start: move them there, or write `(?i:…)` around what they are for
    (?-i)a  (?-i)  these flags mean nothing: turn on `i`, `m`, `s`, `x`, `a` and `u` with `(?i:…)`, turn off `i`, `m`, `s` and `x` with `(?-i:…)`
    (?z:a)  (?z  these flags mean nothing: turn on `i`, `m`, `s`, `x`, `a` and `u` with `(?i:…)`, turn off `i`, `m`, `s` and `x` with `(?-i:…)`
    (?i-i:a)  (?i-i  the flag `i` is turned on and off
    (?au:a)  (?au  the flags `a` and `u` exclude each other: keep one
    (?L:a)  (?L  these flags mean nothing: turn on `i`, `m`, `s`, `x`, `a` and `u` with `(?i:…)`, turn off `i`, `m`, `s` and `x` with `(?-i:…)`
    (?P<1>a)  (?P<1>  a group's name is letters, digits and `_`, begins with no digit, and ends with `>`
    (?P<a>x)(?P<a>y)  (?P<a>  two groups are called `a`: rename one
    (?P=b)  (?P=b)  no group before this one is called `b`
    (?P>a)  (?P  unknown kind of group after `(?`: known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>`, `(?P<name>`, `(?P=name)`, `(?(1)a|b)`, `(?i:` and `(?#`
    (?<a>b)  (?<  unknown kind of group after `(?`: known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>`, `(?P<name>`, `(?P=name)`, `(?(1)a|b)`, `(?i:` and `(?#`
    (?  (?  unknown kind of group after `(?`: known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>`, `(?P<name>`, `(?P=name)`, `(?(1)a|b)`, `(?i:` and `(?#`
    (?#a  (?#a  the comment is never closed: end it with `)`
    (?<=a*)b  (?<=a*)  a look-behind must be of one length: repeat a set number of times, and make alternatives equally long
    (?<=a|bc)d  (?<=a|bc)  a look-behind must be of one length: repeat a set number of times, and make alternatives equally long
    \1(a)  \1  no group 1 comes before this place
    (a\1)  \1  group 1 is still open here: close it first
    (?(1)a)  (?(1)  no group 1 comes before this place
    (?(0)a)  (?(0)  no group 0 comes before this place
    (a)(?(1)b|c|d)  (?(1)b|c  a condition has two branches: put more into `(?:…)`
    (a)(?<=\1)  \1  a look-behind cannot hold references or conditions: move them outside
    ");
}

#[test]
fn every_bound_holds_one_past_it() {
    assert!(python_length(&"é".repeat(PYTHON_CHARS_MAX)).is_ok());
    assert!(python_length(&"é".repeat(PYTHON_CHARS_MAX + 1)).is_err());
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Pattern::python(&nested(GROUPS_DEPTH_MAX)).is_ok());
    assert!(Pattern::python(&nested(GROUPS_DEPTH_MAX + 1)).is_err());
}

#[test]
fn expressions_that_ruin_a_backtracking_engine_are_linear() {
    for expression in
        ["^(a+)+$", "(a|aa)+$", "^(a|a?)+$", "(.*a){20}$", r"\b(a+)+\b!!", "(?i)(a*)*c", "(a+)+$"]
    {
        let pattern = Pattern::python(expression).unwrap();
        assert!(pattern.is_linear(), "{expression}");
        assert_eq!(pattern.find(&format!("{}!", "a".repeat(10_000))), Match::No, "{expression}");
    }
    assert!(!Pattern::python("^(?!/workspace/).*").unwrap().is_linear());
}

proptest::proptest! {
    #[test]
    fn no_expression_and_no_text_makes_it_panic(expression in r"[a(){}\[\]?*+<=!|\\^$.,:P>#i0-9uxNUbBdwWAZé \n-]{0,24}", text in ".{0,40}") {
        for pattern in [Pattern::python(&expression), Pattern::python_full(&expression), Pattern::glob(&expression)] {
            match pattern {
                Ok(pattern) => drop(pattern.find(&text)),
                Err(error) => {
                    let at = error.at.unwrap_or_default();
                    proptest::prop_assert!(expression.get(at).is_some());
                }
            }
        }
    }

    #[test]
    fn a_set_of_sources_answers_like_each_pattern(text in r"[a-cxé\n\u{301}² .-]{0,12}", literal in "[a-c.]{0,3}", glob in "[a-c*?]{0,4}") {
        let patterns = [
            Pattern::literal(&literal),
            Pattern::glob(&glob).unwrap(),
            Pattern::python(r"\b[ab]+\b").unwrap(),
            Pattern::python(r"\w.$").unwrap(),
            Pattern::python_full(r"a|\Bc|.*x").unwrap(),
        ];
        if Pattern::suits_set(&text) {
            let set = regex::RegexSet::new(patterns.iter().map(|pattern| pattern.linear_source().unwrap())).unwrap();
            let each = patterns.iter().map(|pattern| pattern.find(&text) != Match::No);
            proptest::prop_assert_eq!((0..patterns.len()).map(|index| set.matches(&text).matched(index)).collect::<Vec<_>>(), each.collect::<Vec<_>>());
        }
    }

    #[test]
    fn both_linear_engines_agree_where_they_should(text in r"[a-c_1é -]{1,12}") {
        for expression in [r"\b[ab]+\b", r"\B.", r"a*\b", r"(?:a|ab)\b.?c?$", r"\b\w\b|bb"] {
            let source = Expression::parse(expression, Reach::Part).unwrap().linear().unwrap();
            let edges = crate::word_edges::Edges::new(source.into(), 1 << 20);
            proptest::prop_assert_eq!(edges.find(&text), Pattern::python(expression).unwrap().find(&text));
        }
    }
}
