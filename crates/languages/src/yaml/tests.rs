use lockgate_policy::{Severity, Source, Span};

use super::{
    mapping::{MappingKeys, SCANNED_MAX},
    parse::{FILE_BYTES_MAX, NODES_MAX},
    steps::DEPTH_MAX,
    *,
};

fn mistakes(text: &str) -> String {
    told(&parse(&Source::new("x", text), Dialect::default()).1)
}

/// The tree on one line; quoted texts keep quotes.
fn drawn(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, quoted: true } => format!("{text:?}"),
        Value::Scalar { text, .. } => text.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(drawn).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|entry| format!("{}: {}", entry.key, drawn(&entry.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Refused => "refused".into(),
    }
}

#[test]
fn yaml_and_json_give_the_same_tree() {
    let rows = [
        ("a: 1\nb: [x, 'y']\nc:\n  - d: null\n  -\n", r#"{a: 1, b: [x, "y"], c: [{d: null}, ]}"#),
        ("{\n\t\"a\": 1,\n\t\"b\": [true, \"x\\u0041\"]\n}", r#"{a: 1, b: [true, "xA"]}"#),
        ("\u{feff}a: é\r\nb: |\r\n  two\r\n  lines\r\n", "{a: é, b: \"two\\nlines\\n\"}"),
        ("# only\n---\nword\n...\n", "word"),
    ];
    for (text, tree) in rows {
        let (root, diagnostics) = parse(&Source::new("x", text), Dialect::default());
        assert_eq!(told(&diagnostics), "", "{text}");
        assert_eq!(drawn(&root.unwrap()), tree, "{text}");
    }
}

#[test]
fn every_node_knows_its_place() {
    let source = Source::new("x", "é: 'ü'\nlist:\n  - a\n  - {b: c}\nlast: x # comment\n");
    let (root, _) = parse(&source, Dialect::default());
    let Some(Node { span, value: Value::Map(entries) }) = root else { panic!("no mapping") };
    assert_eq!(source.slice(span), "é: 'ü'\nlist:\n  - a\n  - {b: c}\nlast: x");
    let slices: Vec<&str> = entries
        .iter()
        .flat_map(|entry| [source.slice(entry.key_span), source.slice(entry.value.span)])
        .collect();
    assert_eq!(slices, ["é", "'ü'", "list", "- a\n  - {b: c}", "last", "x"]);
}

#[test]
fn what_hides_a_meaning_is_refused() {
    let text = "a: &x 1\nb: *x\nc: *unknown\n<<: {d: 1}\ne: !!str 7\nf: !mine {}\na: 2\n[1]: 3\n";
    insta::assert_snapshot!(mistakes(text), @"
        1:7 yaml-anchor anchors are not read in policies | leave the anchor out, and write the value out where it is needed
        2:4 yaml-alias aliases are not read in policies | write the value out where it is needed
        3:4 yaml-alias aliases are not read in policies | write the value out where it is needed
        4:1 yaml-merge merge keys are not read in policies | write the keys out where they are needed
        5:4 yaml-tag the tag `!!str` is not read in policies | leave the tag out; put a text in quotes instead
        6:4 yaml-tag the tag `!mine` is not read in policies | leave the tag out; put a text in quotes instead
        7:1 duplicate-key `a` is already in this mapping, in line 1 | leave one of the two out, or rename it
        8:1 wrong-type a key must be a text | write a word or a quoted text before the `:`
        ");
}

#[test]
fn a_key_is_taken_however_many_there_are() {
    for count in [1, SCANNED_MAX - 1, SCANNED_MAX, SCANNED_MAX + 1, 10 * SCANNED_MAX] {
        let keys: String = (0..count).map(|key| format!("k{key}: 1\n")).collect();
        assert_eq!(mistakes(&keys), "", "{count}");
        for again in [0, count / 2, count - 1] {
            // Each time the place that counts is named, not that of one refused before.
            let told = mistakes(&format!("{keys}k{again}: 2\nlast: 3\nk{again}: 4\n"));
            let expected = [count + 1, count + 3].map(|line| {
                let first = again + 1;
                format!(
                    "{line}:1 duplicate-key `k{again}` is already in this mapping, in line {first} | \
                         leave one of the two out, or rename it"
                )
            });
            assert_eq!(told, expected.join("\n"), "{count}");
        }
    }
}

/// Otherwise the time for a mapping would grow with the square of its keys.
#[test]
fn only_few_keys_are_looked_through() {
    let (mut taken, mut entries) = (MappingKeys::default(), Vec::new());
    let (span, value) = (Span::new(0, 1), Value::Refused);
    for number in 0..10 * SCANNED_MAX {
        let key = format!("k{number}");
        assert_eq!(taken.take(&entries, &key, span), None);
        let value = Node { span, value: value.clone() };
        entries.push(Entry { key, key_span: span, value, has_used_anchor: false });
        let in_table = if number < SCANNED_MAX { 0 } else { entries.len() };
        assert_eq!(taken.many.len(), in_table, "{number}");
    }
}

const ANCHORS: Dialect = Dialect { anchors: true };

fn mistakes_with_anchors(text: &str) -> String {
    told(&parse(&Source::new("x", text), ANCHORS).1)
}

#[test]
fn anchors_and_merge_keys_are_copied_where_a_language_has_them() {
    let rows = [
        ("a: &x 1\nb: *x\n", "{a: 1, b: 1}"),
        ("a: &x [1, {c: d}]\nb: [*x, *x]\n", "{a: [1, {c: d}], b: [[1, {c: d}], [1, {c: d}]]}"),
        ("a: &x 'no'\n*x : 1\n", r#"{a: "no", no: 1}"#),
        ("a: &x 1\nb: &x 2\nc: *x\n", "{a: 1, b: 2, c: 2}"),
        ("a: &x\nb: *x\n", "{a: , b: }"),
        ("a: &x {b: &y 1, c: *y}\nd: *x\n", "{a: {b: 1, c: 1}, d: {b: 1, c: 1}}"),
        ("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x, r: 4}\n", "{a: {p: 1, q: 2}, b: {p: 1, q: 3, r: 4}}"),
        (
            "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n",
            "{a: {p: 1}, b: {p: 2, q: 2}, c: {p: 1, q: 2}}",
        ),
        ("a: {<<: {p: 1}, p: 2}\n", "{a: {p: 2}}"),
        (
            "a: &x {p: 1}\nb: &y {<<: *x, q: 2}\nc: {<<: *y, p: 3}\n",
            "{a: {p: 1}, b: {p: 1, q: 2}, c: {q: 2, p: 3}}",
        ),
        ("a: {'<<': 1}\n", "{a: {<<: 1}}"),
        ("- &unused 1\n", "[1]"),
    ];
    for (text, tree) in rows {
        let (root, diagnostics) = parse(&Source::new("x", text), ANCHORS);
        assert_eq!(told(&diagnostics), "", "{text}");
        assert_eq!(drawn(&root.unwrap()), tree, "{text}");
    }
}

#[test]
fn an_alias_that_cannot_be_followed_is_told_with_its_place() {
    let text = "a: &x {b: *x}\nc: *unknown\nd: {<<: 1}\ne: {<<: [{f: 1}, [2]]}\ng: {<<: {}, <<: {}}\nh: !!str 7\ni: &y [*y]\nj: {<<: {}, '<<': 1}\nk: {'<<': 1, <<: {}}\n";
    insta::assert_snapshot!(mistakes_with_anchors(text), @"
        1:11 yaml-alias the alias is inside its own anchor | a value cannot hold itself: write out what is meant
        2:4 yaml-alias no anchor before this place is called `unknown` | write `&unknown` before the value that is meant
        3:9 yaml-merge only mappings can be merged | write `<<: *name` or `<<: [*name, *other]`
        4:18 yaml-merge only mappings can be merged | write `<<: *name` or `<<: [*name, *other]`
        5:13 duplicate-key `<<` is already in this mapping, in line 5 | leave one of the two out, or rename it
        6:4 yaml-tag the tag `!!str` is not read in policies | leave the tag out; put a text in quotes instead
        7:8 yaml-alias the alias is inside its own anchor | a value cannot hold itself: write out what is meant
        8:13 duplicate-key `<<` is already in this mapping, in line 8 | leave one of the two out, or rename it
        9:14 duplicate-key `<<` is already in this mapping, in line 9 | leave one of the two out, or rename it
        ");
}

#[test]
fn a_copy_knows_where_its_anchor_was_written() {
    let source = Source::new("x", "a: &x {b: c}\nd:\n  - *x\ne:\n  <<: *x\n  f: *x\ng: 1\n");
    let (root, _) = parse(&source, ANCHORS);
    let Some(Node { span, value: Value::Map(entries) }) = root else { panic!("no mapping") };
    assert_eq!(source.slice(span), source.text().trim_end());
    let slices: Vec<&str> = entries.iter().map(|entry| source.slice(entry.value.span)).collect();
    assert_eq!(slices, ["{b: c}", "- *x", "<<: *x\n  f: *x", "1"]);
    let Value::List(items) = &entries[1].value.value else { panic!("no list") };
    assert_eq!(items[0].span, entries[0].value.span);
}

#[test]
fn a_key_of_the_file_may_only_carry_anchors() {
    let fields = |text: &str| {
        let source = Source::new("x", text);
        let (root, diagnostics) = parse(&source, ANCHORS);
        assert_eq!(told(&diagnostics), "");
        let mut reader = Reader::new(&source);
        reader.outermost_fields(&root.unwrap(), "a file", &["rules"]);
        told(&reader.diagnostics)
    };
    for text in [
        "x: &x 1\nrules: *x\n",
        "base:\n  deep: [&x {a: 1}]\nrules: {<<: *x}\n",
        "x: &x 1\ny: &y [*x]\nrules: *y\n",
    ] {
        assert_eq!(fields(text), "", "{text}");
    }
    let refused = [
        "x: &x 1\nrules: 1\n",
        "x: &x 1\nrules: 1\nuses: *x\n",
        "&x x: 1\nrules: *x\n",
        "rulse: &x 1\nrules: *x\n",
        "rules: &x {bad: {deep: &y 1}, also: *y}\n<<: *x\n",
    ];
    insta::assert_snapshot!(refused.map(fields).join("\n"), @"
        1:1 unknown-key a file has no key `x` | leave it out; the keys are `rules`
        3:1 unknown-key a file has no key `uses` | did you mean `rules`?
        1:4 unknown-key a file has no key `x` | leave it out; the keys are `rules`
        1:1 unknown-key a file has no key `rulse` | did you mean `rules`?
        1:12 unknown-key a file has no key `bad` | leave it out; the keys are `rules`
        1:31 unknown-key a file has no key `also` | leave it out; the keys are `rules`
        ");
}

#[test]
fn copies_count_towards_the_bounds() {
    // The outermost mapping, two keys, the list and its items; an alias counts as all it copies.
    let copied = |items: usize, aliases: usize| {
        mistakes_with_anchors(&format!("a: &x [{}]\nb: [{}]\n", "1,".repeat(items), "*x,".repeat(aliases)))
    };
    let aliases = 9;
    let items = (NODES_MAX - 4) / (aliases + 1) - 1;
    let rest = NODES_MAX - 4 - (items + 1) * (aliases + 1);
    assert_eq!(copied(items, aliases), "");
    assert!(rest < items + 1 && copied(items, aliases + 1).contains("file-too-large"));
    let exactly = |spare: usize| {
        let text =
            format!("a: &x [{}]\nb: [{}{}]\n", "1,".repeat(items), "*x,".repeat(aliases), "1,".repeat(spare));
        mistakes_with_anchors(&text)
    };
    assert_eq!(exactly(rest), "");
    assert!(exactly(rest + 1).contains("file-too-large"));

    let laughs: String = (1..30)
        .map(|level| format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(9)))
        .collect();
    assert!(mistakes_with_anchors(&format!("a0: &a0 x\n{laughs}")).contains("file-too-large"));
    let nested: String = (0..30).map(|level| format!("&n{level} [")).collect();
    let uses: String = (0..30).map(|level| format!(",*n{level}")).collect();
    let text = format!("[{nested}{}{}{uses}]", "1,".repeat(NODES_MAX / 20), "]".repeat(30));
    assert!(mistakes_with_anchors(&text).contains("file-too-large"));

    let lists = |depth: usize, inside: &str| format!("{}{inside}{}", "[".repeat(depth), "]".repeat(depth));
    let half = DEPTH_MAX / 2;
    let deep = |depth: usize| {
        mistakes_with_anchors(&format!("- &x {}\n- {}\n", lists(half, ""), lists(depth, "*x")))
    };
    assert_eq!(deep(DEPTH_MAX - half - 1), "");
    assert!(deep(DEPTH_MAX - half).contains("file-too-large"));
}

#[test]
fn no_number_of_warnings_hides_a_mistake() {
    let source = Source::new("x", "a");
    let mut reader = Reader::new(&source);
    for _ in 0..=MISTAKES_MAX {
        reader.warning("two-readings", Span::new(0, 1), "two-readings", "look");
    }
    reader.error("wrong", Span::new(0, 1), "wrong", "look again");
    let (warnings, others): (Vec<_>, Vec<_>) =
        reader.diagnostics.iter().partition(|diagnostic| diagnostic.severity == Severity::Warning);
    assert_eq!(warnings.len(), MISTAKES_MAX);
    assert_eq!(others.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>(), ["wrong"]);
}

#[test]
fn a_text_that_breaks_off_is_told_with_its_place() {
    insta::assert_snapshot!(mistakes("a: [1, 2\nb: 3\n"), @"
        2:2 yaml-syntax this cannot be read as YAML: illegal placement of ':' indicator | look for a wrong indentation, a missing quote or bracket just before this place
        ");
    insta::assert_snapshot!(mistakes("a: 1\n---\nb: 2\n"), @"
        2:1 second-document a second document begins here | keep one document, and put the others into files of their own
        ");
    insta::assert_snapshot!(mistakes("# nothing\n"), @"
        1:1 file-empty the file says nothing | write a mapping such as `kind: Net`
        ");
}

#[test]
fn words_mean_what_yaml_1_2_says() {
    let rows = [
        ("no", "no"),
        ("yes", "yes"),
        ("inf", "inf"),
        ("1.2.3", "1.2.3"),
        ("2024-01-02", "2024-01-02"),
        ("'1'", "1"),
        ("~", "a text, not nothing"),
        ("true", "quotes"),
        ("12", "quotes"),
        ("-1.5e3", "quotes"),
        ("0x1F", "quotes"),
        ("007", "quotes"),
        ("+1", "quotes"),
        (".5", "quotes"),
        (".inf", "quotes"),
        ("1e999", "quotes"),
        ("''", "an empty text"),
        ("[a]", "a list"),
    ];
    for (text, expected) in rows {
        let source = Source::new("x", text);
        let node = parse(&source, Dialect::default()).0.unwrap();
        let mut reader = Reader::new(&source);
        match reader.text(&node, "it") {
            Some(read) => assert_eq!(read, expected),
            None => {
                assert!(told(&reader.diagnostics).contains(expected), "{}", told(&reader.diagnostics))
            }
        }
    }
}

#[test]
fn every_bound_holds_one_past_it() {
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(mistakes(&lists(DEPTH_MAX)), "");
    assert!(mistakes(&lists(DEPTH_MAX + 1)).contains("file-too-large"));
    let mixed = format!("{}{}", "- ".repeat(DEPTH_MAX / 2 + 1), lists(DEPTH_MAX / 2));
    assert!(mistakes(&mixed).contains("file-too-large"));

    let items = |count: usize| format!("[{}]", "1,".repeat(count));
    assert_eq!(mistakes(&items(NODES_MAX - 1)), "");
    assert!(mistakes(&items(NODES_MAX)).contains("file-too-large"));

    let aliases = |count: usize| mistakes(&format!("[{}]", "*a,".repeat(count))).lines().count();
    assert_eq!(aliases(MISTAKES_MAX), MISTAKES_MAX);
    assert_eq!(aliases(MISTAKES_MAX + 9), MISTAKES_MAX + 1);

    let text = |bytes: usize| format!("a{}", "#".repeat(bytes - 1));
    assert_eq!(mistakes(&text(FILE_BYTES_MAX)), "");
    assert!(mistakes(&text(FILE_BYTES_MAX + 1)).contains("file-too-large"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"[a\[\]{}:,'\x22&*!|>%#?~é\t <-]{0,40}|.{0,40}|(a: |- |\n|  |\[|\]|b|&x |\*x|<<: ){0,40}") {
        let source = Source::new("x", text);
        let diagnostics = [Dialect::default(), ANCHORS].map(|dialect| parse(&source, dialect).1);
        for diagnostic in diagnostics.into_iter().flatten() {
            proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
        }
    }
}
