//! Edits of JSON files.

use proptest::prelude::*;

use super::*;

const GROUPED: Layout = Layout { grouped: true, versioned: false };
const FLAT: Layout = Layout { grouped: false, versioned: true };
const AGENT: &str = "codex";

fn entries(layout: Layout) -> Vec<Entry> {
    let handler = json!({"command": "/bin/lockgate hook codex"});
    let value = if layout.grouped { json!({"hooks": [handler]}) } else { handler };
    ["before", "after"].map(|event| Entry { event, value: value.clone() }).to_vec()
}

fn added(text: &str, layout: Layout) -> String {
    add(Some(text), &entries(layout), layout, AGENT).unwrap()
}

#[test]
fn entries_come_last_and_nothing_else_moves() {
    for (before, after) in [
        (
            "{\n  \"a\": 1 // one\n}\n",
            "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"before\": [\n      GROUP\n    ],\n    \"after\": [\n      GROUP\n    ]\n  }\n}\n",
        ),
        (
            "{\n\t\"hooks\": {\n\t\t\"before\": [\n\t\t\t\"mine\", // first\n\t\t],\n\t},\n}",
            "{\n\t\"hooks\": {\n\t\t\"before\": [\n\t\t\t\"mine\", // first\n\t\t\tGROUP,\n\t\t],\n\t\t\"after\": [\n\t\t\tGROUP\n\t\t],\n\t},\n}",
        ),
        (
            "{\"hooks\": {\"after\": []}, \"z\": [1, 2]}",
            "{\"hooks\": {\"after\": [\n\n  GROUP\n],\n  \"before\": [\n    GROUP\n  ]}, \"z\": [1, 2]}",
        ),
    ] {
        let group = one_line(&entries(GROUPED)[0].value);
        assert_eq!(added(before, GROUPED), after.replace("GROUP", &group), "{before}");
    }
}

#[test]
fn what_is_ours_alone_goes_away_whole() {
    for layout in [GROUPED, FLAT] {
        let ours = add(None, &entries(layout), layout, AGENT).unwrap();
        assert_eq!(remove(&ours, layout, AGENT), Ok(None), "{ours}");
        assert_eq!(added(&ours, layout), ours);
    }
}

#[test]
fn older_entries_are_replaced_and_others_are_kept() {
    let old = r#"{"hooks": {"gone": [{"hooks": [{"command": "lockgate hook codex --old"}]}],
            "before": [{"matcher": "x", "hooks": [{"command": "mine"}, {"command": "lockgate hook codex"}]}]}}"#;
    let new = whole(&added(old, GROUPED)).unwrap();
    let group = &entries(GROUPED)[0].value;
    let mine = json!({"matcher": "x", "hooks": [{"command": "mine"}]});
    assert_eq!(Value::Object(new), json!({"hooks": {"before": [mine, group], "after": [group]}}));
}

#[test]
fn what_cannot_be_edited_is_told_with_its_line() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(SETTINGS_BYTES_MAX));
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(600), "]".repeat(600));
    for (text, line, reason) in [
        ("", 1, "it is empty"),
        ("// nothing\n", 1, "it is empty"),
        ("[]", 1, "it is not a JSON object"),
        ("{\n\"a\": }", 2, "it is not JSON"),
        ("{\n'a': 1}", 2, "it is not JSON"),
        ("{}\n{}", 2, "it is not JSON"),
        ("{\"a\": 1,\n\"a\": 2}", 2, "`a` appears twice"),
        ("{\"hooks\": {\"before\": [],\n\"before\": []}}", 2, "`before` appears twice"),
        ("{\"hooks\":\n[]}", 2, "`hooks` is not an object"),
        ("{\"hooks\": {\n\"before\": {}}}", 2, "`hooks.before` is not a list"),
        ("\u{feff}{}", 1, "it starts with a byte order mark"),
        (&long, 1, "it is larger than"),
        (&deep, 1, "it is not JSON"),
    ] {
        let mistake = add(Some(text), &entries(GROUPED), GROUPED, AGENT).unwrap_err();
        assert_eq!(mistake.line, line, "{text:.60}: {mistake}");
        assert!(mistake.reason.starts_with(reason), "{text:.60}: {mistake}");
    }
    let mistake = add(Some("{}"), &entries(FLAT), FLAT, AGENT).unwrap_err();
    assert!(mistake.reason.contains("version"), "{mistake}");
}

/// White space and comments, as people leave them.
fn blank() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\n\n",
        "\t",
        "\r\n  ",
        "\n    ",
        "/* ], }, \" */",
        "/*/ , */",
        "// ], \" ä  \n",
    ]);
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

fn container(
    (open, close): (&'static str, &'static str),
    child: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let children = prop::collection::vec((blank(), child, blank()), 0..4);
    (children, blank(), any::<bool>()).prop_map(move |(children, tail, comma)| {
        let last = children.len().saturating_sub(1);
        let mut text = open.to_owned();
        for (at, (before, child, behind)) in children.iter().enumerate() {
            let comma = if at < last || comma { "," } else { "" };
            text += &format!("{before}{child}{behind}{comma}");
        }
        text + &tail + close
    })
}

/// A list of handlers or groups of others.
fn list() -> impl Strategy<Value = String> {
    let element = prop::sample::select(vec![
        "{}",
        "\"x\"",
        "{\"matcher\": \"*\", \"hooks\": []}",
        "{\"matcher\": \"*\",\n \"hooks\": [{\"command\": \"mine\"}]}",
        "{\"command\": \"lockgate hook cursor\"}",
    ]);
    let element = element.prop_map(str::to_owned);
    container(("[", "]"), element)
}

fn settings(layout: Layout) -> impl Strategy<Value = String> {
    let names = prop::sample::subsequence(vec!["before", "other", "after", "more"], 0..=4).prop_shuffle();
    let hooks = names.prop_flat_map(|names| {
        let lists = prop::collection::vec((blank(), blank(), list(), blank()), names.len());
        (Just(names), lists, blank(), any::<bool>()).prop_map(|(names, lists, tail, comma)| {
            let parts: Vec<String> = names
                .iter()
                .zip(lists)
                .map(|(name, (a, b, list, c))| format!("{a}\"{name}\":{b}{list}{c}"))
                .collect();
            let comma = if comma && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{tail}}}", parts.join(","))
        })
    });
    let first = if layout.versioned { "\"version\": 1," } else { "" };
    (blank(), prop::option::of(hooks), prop::option::of(list()), blank(), blank()).prop_map(
        move |(before, hooks, other, inside, behind)| {
            let hooks = hooks.map(|hooks| format!("{inside}\"hooks\":{inside}{hooks}{inside}"));
            let other = other.map(|other| format!("{inside}\"other\": {other}"));
            let parts: Vec<String> = hooks.into_iter().chain(other).collect();
            let (first, rest) = match parts.is_empty() {
                true => (first.trim_end_matches(','), inside.clone()),
                false => (first, parts.join(",")),
            };
            format!("{before}{{{inside}{first}{rest}}}{behind}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_file_that_was_given_hooks_and_lost_them_is_the_file_it_was(text in settings(GROUPED)) {
        let with = added(&text, GROUPED);
        prop_assert_eq!(added(&with, GROUPED), with.clone());
        prop_assert_eq!(remove(&with, GROUPED, AGENT).unwrap(), Some(text));
    }

    #[test]
    fn so_is_one_without_groups(text in settings(FLAT)) {
        let with = added(&text, FLAT);
        prop_assert_eq!(added(&with, FLAT), with.clone());
        prop_assert_eq!(remove(&with, FLAT, AGENT).unwrap(), Some(text));
    }

    #[test]
    fn all_else_means_what_it_meant(text in settings(GROUPED)) {
        let (before, mut after) = (whole(&text).unwrap(), whole(&added(&text, GROUPED)).unwrap());
        let ours = &entries(GROUPED)[0].value;
        if let Some(Value::Object(hooks)) = after.get_mut("hooks") {
            for (event, list) in hooks.iter_mut() {
                if let ("before" | "after", Value::Array(list)) = (event.as_str(), list) {
                    prop_assert_eq!(list.pop(), Some(ours.clone()));
                }
            }
        }
        let full = |mut root: Map<String, Value>| {
            let hooks = root.entry("hooks").or_insert_with(|| json!({}));
            for event in ["before", "after"] {
                hooks.as_object_mut().unwrap().entry(event).or_insert_with(|| json!([]));
            }
            Value::Object(root)
        };
        prop_assert_eq!(full(after), full(before));
    }
}
