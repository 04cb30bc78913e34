//! What a text is compared with: a bare word, a text, a glob, a JavaScript or a Python regular expression.
//!
//! [`Pattern::find`] says where a text matches, as its language would, and never takes long about it: a plain
//! expression runs on a linear engine; look-around, back-references and the like run on a backtracking
//! one that gives up at a bound and answers [`Match::Unsure`]. What JavaScript reads as something its author
//! cannot have meant (`\u{61}` is 61 times `u`) is refused. Missing on purpose: UTF-16 (a character outside
//! the basic plane counts as one here and as two in JavaScript, which shows in `/^.$/` and the like), groups that
//! forget what they held when an outer group repeats, and look-around inside a look-behind.

use std::fmt;

use crate::{
    characters::{all, push_character, set_text},
    error::PatternError,
    found::Match,
    javascript::{Dialect, Flags, translate},
    limits::{
        BACKTRACKING_TEXT_BYTES_MAX, BACKTRACKS_MAX, CHARACTER_STATES_MAX, PROGRAM_BYTES_MAX,
        PYTHON_PROGRAM_BYTES_MAX, RANGE_STATES_MAX, REGEX_BYTES_MAX,
    },
    linear::{Linear, is_small, too_large},
    python::{Expression, Glance, Reach},
    sample::{accepts_nothing, only_first, variants, write_sample},
    word_edges::{self, Edges},
};

/// A bare word, a text, a glob, or a regular expression of JavaScript or Python.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    language: Language,
    engine: Engine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Language {
    Word,
    Literal,
    Glob,
    /// With its flags.
    JavaScript(String),
    Python(Reach),
}

#[derive(Clone, Debug)]
enum Engine {
    Word,
    /// With the text as the linear engine writes it.
    Literal(String),
    Linear(Linear),
    /// A linear engine, and another for the texts in which it sees other word edges than Python.
    Edges(Linear, Edges),
    Backtracking(fancy_regex::Regex),
}

impl Pattern {
    /// A bare word: it matches where the text has it whole. A side of the word that ends in a letter, digit or
    /// underscore (ASCII) must not have another one beside it; a side that does not, such as the left one of
    /// `--force` and `.env`, may have anything beside it.
    pub fn word(text: &str) -> Self {
        Self { text: text.into(), language: Language::Word, engine: Engine::Word }
    }

    /// A JavaScript regular expression with any of the flags `i`, `m` and `s`.
    pub fn regex(body: &str, flags: &str) -> Result<Self, PatternError> {
        check_length(body)?;
        let engine = compile(body, Flags::parse(flags)?)?;
        Ok(Self { text: body.into(), language: Language::JavaScript(flags.into()), engine })
    }

    /// A Python regular expression that may match any part of a text, as `re.search` has it.
    pub fn python(text: &str) -> Result<Self, PatternError> {
        Self::python_reaching(text, Reach::Part)
    }

    /// A Python regular expression that must match all of a text, each of its alternatives too, as
    /// `re.fullmatch` has it with `re.DOTALL`: a newline at the end is not forgiven, and `.*` is any text.
    pub fn python_full(text: &str) -> Result<Self, PatternError> {
        Self::python_reaching(text, Reach::Whole)
    }

    fn python_reaching(text: &str, reach: Reach) -> Result<Self, PatternError> {
        check_length(text)?;
        let expression = Expression::parse(text, reach)?;
        let Some(source) = expression.linear() else {
            let engine = build_backtracking(&expression.backtracking(), PYTHON_PROGRAM_BYTES_MAX)?;
            return Ok(Self {
                text: text.into(),
                language: Language::Python(reach),
                engine: Engine::Backtracking(engine),
            });
        };
        let small = expression.glance().filter(|glance| is_small(glance, PYTHON_PROGRAM_BYTES_MAX));
        let linear = match small {
            Some(small) => Linear::small(&source, PYTHON_PROGRAM_BYTES_MAX, small.is_surely_possible),
            None => Linear::new(&source, PYTHON_PROGRAM_BYTES_MAX)?,
        };
        let engine = if expression.has_edges() {
            let edges = Edges::new(linear.source.clone(), PYTHON_PROGRAM_BYTES_MAX);
            if small.is_none() && !edges.can_be_built() {
                return Err(too_large(PYTHON_PROGRAM_BYTES_MAX));
            }
            Engine::Edges(linear, edges)
        } else {
            Engine::Linear(linear)
        };
        Ok(Self { text: text.into(), language: Language::Python(reach), engine })
    }

    /// A glob that must match all of a text: `*` is any run of characters, `?` any one, newlines included, and
    /// everything else is itself.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        check_length(text)?;
        let any = set_text(&all());
        let mut expression = String::from(r"\A");
        let mut glance = Glance { states_max: CHARACTER_STATES_MAX, is_surely_possible: true };
        let mut last = None;
        for character in text.chars() {
            glance.states_max += RANGE_STATES_MAX;
            match character {
                '*' if last == Some('*') => {}
                '*' => expression.extend([&any, "*"]),
                '?' => expression.push_str(&any),
                other => push_character(&mut expression, other),
            }
            last = Some(character);
        }
        expression.push_str(r"\z");
        let linear = match is_small(&glance, PROGRAM_BYTES_MAX) {
            true => Linear::small(&expression, PROGRAM_BYTES_MAX, glance.is_surely_possible),
            false => Linear::new(&expression, PROGRAM_BYTES_MAX)?,
        };
        Ok(Self { text: text.into(), language: Language::Glob, engine: Engine::Linear(linear) })
    }

    /// A text: it matches wherever a text has it, whole word or not.
    pub fn literal(text: &str) -> Self {
        let engine = Engine::Literal(regex::escape(text));
        Self { text: text.into(), language: Language::Literal, engine }
    }

    /// A text that matches from its start, as short as is easily found; none where that takes more than a look.
    pub fn sample(&self) -> Option<String> {
        let text = match self.language {
            Language::Word | Language::Literal => self.text.clone(),
            Language::Glob | Language::JavaScript(_) | Language::Python(_) => {
                let mut text = String::new();
                write_sample(&regex_syntax::parse(self.linear_source()?).ok()?, &mut text)?;
                text
            }
        };
        (self.find(&text) == Match::At(0)).then_some(text)
    }

    /// Texts that it matches, each in another of the ways it has, the plainest first; fewer than there are, and none
    /// where that takes more than a look. What may stand around a match stands around some of them.
    pub fn samples(&self) -> Vec<String> {
        let texts = match self.language {
            Language::Word | Language::Literal => vec![self.text.clone()],
            Language::Glob | Language::JavaScript(_) | Language::Python(_) => {
                let parsed = self.linear_source().and_then(|source| regex_syntax::parse(source).ok());
                parsed.and_then(|hir| variants(&hir)).unwrap_or_default()
            }
        };
        let around = texts.first().into_iter().flat_map(|text| {
            [
                format!("{text}x"),
                format!("x{text}"),
                format!("x {text} x"),
                text.to_uppercase(),
                format!("x\n{text}"),
            ]
        });
        let mut found: Vec<String> = Vec::new();
        for text in texts.iter().cloned().chain(around) {
            if matches!(self.find(&text), Match::At(_)) && !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }

    /// A short text that this one matches and the other one does not, where both are of the linear kind and small.
    pub fn sample_without(&self, other: &Self) -> Option<String> {
        let text = only_first(self.linear_source()?, other.linear_source()?)?;
        (self.find(&text) != Match::No && other.find(&text) == Match::No).then_some(text)
    }

    /// What distinguishes it: the same text means one thing as a glob and another as an expression.
    pub fn key(&self) -> String {
        format!("{:?} {}", self.language, self.text)
    }

    /// Where the leftmost match begins.
    pub fn find(&self, text: &str) -> Match {
        let found = match &self.engine {
            Engine::Word => find_word(&self.text, text),
            Engine::Literal(_) => text.find(&self.text),
            Engine::Edges(_, edges) if !word_edges::agree(text) => return edges.find(text),
            Engine::Linear(linear) | Engine::Edges(linear, _) => return linear.find(text),
            Engine::Backtracking(_) if text.len() > BACKTRACKING_TEXT_BYTES_MAX => return Match::Unsure,
            Engine::Backtracking(regex) => match regex.find(text) {
                Ok(found) => found.map(|found| found.start()),
                Err(_) => return Match::Unsure,
            },
        };
        found.map_or(Match::No, Match::At)
    }

    /// Whether a match certainly begins with the first character of the text.
    pub fn matches_at_start(&self, text: &str) -> bool {
        self.find(text) == Match::At(0)
    }

    /// Whether certainly no text at all can match. Patterns that would take long to decide count as possible.
    pub fn is_impossible(&self) -> bool {
        match &self.engine {
            Engine::Linear(linear) => !linear.is_surely_possible && accepts_nothing(&linear.source),
            Engine::Word | Engine::Literal(_) | Engine::Edges(..) | Engine::Backtracking(_) => false,
        }
    }

    /// Whether the time it takes grows only with the length of the text.
    pub fn is_linear(&self) -> bool {
        !matches!(self.engine, Engine::Backtracking(_))
    }

    /// The pattern as the crate `regex` writes it, so that many can be asked at once in a set; none if that
    /// engine cannot run it. A set gives the right answer for the texts that [`Pattern::suits_set`].
    pub fn linear_source(&self) -> Option<&str> {
        match &self.engine {
            Engine::Literal(source) => Some(source),
            Engine::Linear(linear) | Engine::Edges(linear, _) => Some(&linear.source),
            Engine::Word | Engine::Backtracking(_) => None,
        }
    }

    /// Whether a set made of [`Pattern::linear_source`] answers for this text as [`Pattern::find`] does. It does
    /// not for an empty text, nor for one with a character that the engine takes for part of a word and Python
    /// does not, or the other way round: ask each pattern alone then.
    pub fn suits_set(text: &str) -> bool {
        word_edges::agree(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.language == other.language
    }
}

impl Eq for Pattern {}

/// What it says; that some engine was built meanwhile makes no other pattern of it.
impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pattern({})", self.key())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.language {
            Language::JavaScript(flags) => write!(out, "/{}/{flags}", self.text),
            _ => out.write_str(&self.text),
        }
    }
}

fn find_word(word: &str, text: &str) -> Option<usize> {
    let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let before = |end: usize| text.get(..end).and_then(|text| text.bytes().next_back());
    let after = |start: usize| text.get(start..).and_then(|text| text.bytes().next());
    let (first, last) = (is_word(word.bytes().next()), is_word(word.bytes().next_back()));

    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find(word)?;
        let continues = first && is_word(before(start)) || last && is_word(after(start + word.len()));
        if !continues {
            return Some(start);
        }
        from = text.ceil_char_boundary(start + 1);
    }
}

fn check_length(expression: &str) -> Result<(), PatternError> {
    if expression.len() <= REGEX_BYTES_MAX {
        return Ok(());
    }
    Err(PatternError::whole(format!(
        "the expression is longer than {REGEX_BYTES_MAX} bytes: split it in two"
    )))
}

fn compile(body: &str, flags: Flags) -> Result<Engine, PatternError> {
    let linear = translate(body, flags, Dialect::Linear)?;
    if !linear.needs_backtracking {
        return Linear::new(&linear.text, PROGRAM_BYTES_MAX).map(Engine::Linear);
    }
    let backtracking = translate(body, flags, Dialect::Backtracking)?;
    build_backtracking(&backtracking.text, PROGRAM_BYTES_MAX).map(Engine::Backtracking)
}

fn build_backtracking(expression: &str, bytes_max: usize) -> Result<fancy_regex::Regex, PatternError> {
    fancy_regex::RegexBuilder::new(expression)
        .backtrack_limit(BACKTRACKS_MAX)
        .delegate_size_limit(bytes_max)
        .delegate_dfa_size_limit(bytes_max)
        .delegate_dfa_skip_cache_capacity_check(false)
        .max_prog_size(bytes_max / size_of::<usize>())
        .build()
        .map_err(|_| {
            let remedy = "use smaller repetitions, and do not repeat look-around";
            PatternError::whole(format!("the expression is too large or too entangled to be run: {remedy}"))
        })
}

#[cfg(test)]
mod tests {
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
                &regex_syntax::parse(&words.iter().take(count).cloned().collect::<Vec<_>>().join("|"))
                    .unwrap(),
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
                proptest::collection::vec(inner.clone(), 1..5)
                    .prop_map(|ways| format!("({})", ways.join("|"))),
                (inner, times).prop_map(|(of, times)| format!("(?:{of}){times}")),
            ]
        })
    }

    #[test]
    fn a_match_at_the_start_begins_with_the_first_character() {
        for (body, text, expected) in
            [("cp", "cp a", true), ("cp", "echo cp", false), ("", "x", true), ("(?=c)c", "c", true)]
        {
            assert_eq!(
                Pattern::regex(body, "").unwrap().matches_at_start(text),
                expected,
                "{body} in {text}"
            );
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
}
