//! What a selector finds, as tables.

use lockgate_call::{Selected, Selector, SelectorError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn see(selector: &str, value: &Value) -> String {
    let (Ok(selector), Some(object)) = (Selector::parse(selector), value.as_object()) else {
        return "no selector, or no object".into();
    };
    match selector.select(object) {
        Selected::Found(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Selected::Missing => "missing".into(),
        Selected::Null => "null".into(),
        Selected::WrongType { at } => format!("wrong type at `{at}`"),
        Selected::TooMany => "too many".into(),
    }
}

#[test]
fn a_selector_tells_what_is_there_from_what_is_not() {
    let value = json!({
        "a": { "b": [10, 20], "c.d": { "e": "dotted" }, "n": null, "say \"hi\"": 1 },
        "list": [{ "x": 1 }, { "x": null }, { "y": 3 }, 4],
        "": "empty",
        "none": [],
    });
    let rows = [
        ("a.b", "[10,20]"),
        ("a.b[1]", "20"),
        ("a.b[2]", "missing"),
        ("a.b[*]", "10 20"),
        ("a.\"c.d\".e", "\"dotted\""),
        ("a['c.d'].e", "\"dotted\""),
        ("a[\"c.d\"]['e']", "\"dotted\""),
        ("a.c.d.e", "missing"),
        ("a.\"say \\\"hi\\\"\"", "1"),
        ("\"\"", "\"empty\""),
        ("a.n", "null"),
        ("a.n.deeper", "null"),
        ("a.missing", "missing"),
        ("a.missing.deeper", "missing"),
        ("a.b.c", "wrong type at `a.b`"),
        ("a[0]", "wrong type at `a`"),
        ("a.b[0].c", "wrong type at `a.b[0]`"),
        ("[0]", "wrong type at ``"),
        ("list[*].x", "1 null"),
        ("list[1].x", "null"),
        ("list[*].z", "wrong type at `list[*]`"),
        ("list[3].z", "wrong type at `list[3]`"),
        ("none[*]", "missing"),
        ("*[*].x", "1 null"),
        ("a.b.*", "wrong type at `a.b`"),
    ];
    for (selector, seen) in rows {
        assert_eq!(see(selector, &value), seen, "{selector}");
    }
}

#[test]
fn what_is_no_selector_is_said_with_a_remedy() {
    let rows = [
        ("", SelectorError::EmptyName),
        ("a.", SelectorError::EmptyName),
        (".a", SelectorError::EmptyName),
        ("a..b", SelectorError::EmptyName),
        ("a.[0]", SelectorError::EmptyName),
        ("\"a", SelectorError::OpenQuote),
        ("\"a\\", SelectorError::OpenQuote),
        ("a[", SelectorError::BadBracket),
        ("a[]", SelectorError::BadBracket),
        ("a[-1]", SelectorError::BadBracket),
        ("a[+1]", SelectorError::BadBracket),
        ("a[x]", SelectorError::BadBracket),
        ("a['x'", SelectorError::BadBracket),
        ("a[99999999999999999999999]", SelectorError::BadBracket),
        ("a b", SelectorError::BadName),
        ("a[0]b", SelectorError::BadName),
        ("\"a\"b", SelectorError::BadName),
        ("a*", SelectorError::BadName),
    ];
    for (selector, error) in rows {
        assert_eq!(Selector::parse(selector), Err(error), "{selector}");
    }
}

#[test]
fn a_selector_past_its_limits_is_refused() {
    let steps = |n: usize| vec!["a"; n].join(".");
    assert!(Selector::parse(&steps(32)).is_ok());
    assert_eq!(Selector::parse(&steps(33)), Err(SelectorError::TooLong));
    assert!(Selector::parse(&"a".repeat(1_024)).is_ok());
    assert_eq!(Selector::parse(&"a".repeat(1_025)), Err(SelectorError::TooLong));

    let wide = json!({ "a": vec![vec![0; 100]; 100], "b": vec![vec![0; 101]; 100] });
    assert_ne!(see("a[*][*]", &wide), "too many");
    assert_eq!(see("b[*][*]", &wide), "too many");
}

proptest! {
    #[test]
    fn what_a_selector_shows_reads_back_as_itself(text in r#"([a-c*."\[\]0-9' \\]|"a\.b"|\[\*\]){0,12}"#) {
        if let Ok(selector) = Selector::parse(&text) {
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
    }
}

#[test]
fn what_is_put_is_found_again() {
    let rows = [
        ("a", "{}", true),
        ("a.b.c", "{}", true),
        ("a[2].b", "{}", true),
        ("a[*].b", "{}", true),
        ("*.b", "{}", true),
        ("a.b", r#"{"a": {"c": 1}}"#, true),
        ("a.b", r#"{"a": "text"}"#, false),
        ("a[63]", "{}", true),
        ("a[64]", "{}", false),
    ];
    for (text, before, is_put) in rows {
        let way = Selector::parse(text).unwrap();
        let mut object: serde_json::Map<String, Value> = serde_json::from_str(before).unwrap();
        let kept: Vec<String> = object.keys().cloned().collect();
        assert_eq!(way.put(&mut object, Value::from("here")), is_put, "{text}");
        assert!(kept.iter().all(|key| object.contains_key(key)), "{text}");
        let found = way.select(&object) == Selected::Found(vec![&Value::from("here")]);
        assert_eq!(found, is_put, "{text}: {object:?}");
    }
}
