//! What is seen in a call, and that it is found once.

use serde_json::json;

use super::*;
use crate::places::path::normalise;

/// A machine on which `/desk/link` leads to `/etc`.
struct Linked;

impl Files for Linked {
    fn canonical(&self, path: &str) -> Option<String> {
        let path = normalise(path, None).ok()?;
        Some(path.strip_prefix("/desk/link").map_or(path.clone(), |rest| format!("/etc{rest}")))
    }
}

fn call(input: &Value) -> Call {
    let mut call = Call { input: input.as_object().cloned().unwrap_or_default(), ..Call::new("1", "t") };
    call.about.cwd = Some("/desk".into());
    call
}

#[test]
fn what_was_looked_at_leads_where_it_did_then() {
    let rows = [
        (json!({ "path": "link/passwd" }), false),
        (json!({ "path": "/desk/x/../link/passwd" }), false),
        (json!({ "command": "cat link/passwd" }), false),
        (json!({ "options": [{ "path": "link" }] }), false),
        (json!({ "code": "cat link/passwd" }), false),
        (json!({ "path": "a" }), true),
    ];
    for (input, is_inside) in rows {
        let seen = SeenCall::look(call(&input), Some(&Linked));
        let touched = &seen.reading(&ScriptFields::Likely).paths().touched;
        assert!(touched.iter().all(|path| path.is_under("/desk", None)), "{input}");
        let links = seen.links().map(|links| links as &dyn Files);
        let all = touched.iter().all(|path| path.is_under("/desk", links));
        assert_eq!(all, is_inside, "{input}");
    }
    assert_eq!(SeenCall::from(call(&json!({ "path": "link" }))).links(), None);
}

#[test]
fn a_name_is_looked_up_for_those_who_do_not_take_its_field_for_a_script() {
    for field in ["code", "commands", "text"] {
        let seen = SeenCall::look(call(&json!({ field: "link" })), Some(&Linked));
        let mut links = seen.links().unwrap().iter();
        assert!(links.any(|link| link == ("/desk/link", Some("/etc"))), "{field}");
    }
}

/// A view of the files that has a bug.
struct Broken;

impl Files for Broken {
    fn canonical(&self, _: &str) -> Option<String> {
        panic!("a bug in the eyes")
    }
}

#[test]
fn a_call_that_cannot_be_looked_at_without_a_panic_has_an_objection() {
    let seen = SeenCall::look(call(&json!({ "path": "a" })), Some(&Broken));
    let why = "Lockgate panicked while it looked at this call, so the call is blocked.";
    assert_eq!((seen.about.objection.as_deref(), seen.links()), (Some(why), None));
    let mut objected = call(&json!({ "path": "a" }));
    objected.about.objection = Some("the tool has changed".to_owned());
    let seen = SeenCall::look(objected, Some(&Broken));
    assert_eq!(seen.about.objection.as_deref(), Some("the tool has changed"));
}

#[test]
fn what_is_past_the_limit_cannot_be_told() {
    let many = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("f{i}")).collect();
        let seen = SeenCall::look(call(&json!({ "x": names, "path": "z" })), Some(&Linked));
        let unknown = seen.links().unwrap().iter().filter(|(_, real)| real.is_none()).count();
        (unknown, seen.links().unwrap().is_overfull())
    };
    // The working folder and the path are looked up as well.
    assert_eq!((many(998), many(999)), ((0, false), (1, true)));
}

#[test]
fn an_input_is_walked_once_for_all_who_take_the_same_of_its_fields_for_scripts() {
    let sets = || {
        let declared = ScriptFields::declared(vec!["todo".to_owned()]);
        [ScriptFields::Customary, declared, ScriptFields::Likely, ScriptFields::LikelyShell]
    };
    let rows = [
        (json!({}), 1),
        (json!({ "command": "ls", "description": "list" }), 1),
        (json!({ "todo": "ls" }), 2),
        (json!({ "commands": ["ls"] }), 2),
        (json!({ "code": "ls" }), 2),
        (json!({ "a": [{ "code": "ls", "todo": "rm x", "bash": "ps" }] }), 4),
    ];
    for (input, expected) in rows {
        let seen = SeenCall::from(call(&input));
        let mut walks: Vec<*const Found> = sets().iter().map(|set| seen.reading(set).found as _).collect();
        let again: Vec<*const Found> = sets().iter().map(|set| seen.reading(set).found as _).collect();
        assert_eq!(walks, again, "{input}");
        for set in sets() {
            let fresh = SeenCall::from(call(&input));
            let (kept, fresh) = (seen.reading(&set), fresh.reading(&set));
            assert_eq!(Vec::from_iter(kept.script_texts()), Vec::from_iter(fresh.script_texts()), "{input}");
            assert_eq!(Vec::from_iter(kept.strings()), Vec::from_iter(fresh.strings()), "{input}");
            assert_eq!(kept.paths(), fresh.paths(), "{input}");
        }
        walks.sort_unstable();
        walks.dedup();
        assert_eq!(walks.len(), expected, "{input}");
    }
}

#[test]
fn an_input_with_many_keys_is_walked_for_each_set() {
    let walks = |n: usize| {
        let input: serde_json::Map<String, Value> = (0..n).map(|i| (format!("f{i}"), json!(1))).collect();
        let seen = SeenCall::from(call(&Value::Object(input)));
        let found = |set| std::ptr::from_ref(seen.reading(&set).found);
        usize::from(found(ScriptFields::Customary) != found(ScriptFields::Likely)) + 1
    };
    assert_eq!((walks(64), walks(65)), (1, 2));
}

#[test]
fn a_script_is_parsed_once_and_a_copy_starts_anew() {
    let seen = SeenCall::from(call(&json!({ "command": "rm x" })));
    let first = seen.script("rm x");
    let in_reading = seen.reading(&ScriptFields::Likely);
    assert!(std::ptr::eq(&*first, in_reading.scripts().next().unwrap().1));
    assert!(Arc::ptr_eq(&first, &seen.script_in(&json!("rm x")).unwrap().0));
    let renamed = seen.with_id("2".to_owned());
    assert!(Arc::ptr_eq(&first, &renamed.script("rm x")));
    assert_eq!((renamed.id.as_str(), &renamed.input), ("2", &seen.input));
    assert!(!Arc::ptr_eq(&first, &seen.clone().script("rm x")));
    assert_eq!(seen.clone(), seen);
    assert!(Arc::ptr_eq(&first, &seen.at(Time(7)).script("rm x")));
}

#[test]
fn a_list_of_words_is_a_script_and_other_values_are_not() {
    let seen = SeenCall::from(Call::new("1", "t"));
    let text = |value: Value| seen.script_in(&value).map(|(_, text)| text.into_owned());
    assert_eq!(text(json!(["rm", "a b"])).as_deref(), Some("rm a b"));
    for value in [json!(["rm", 1]), json!({ "a": "rm" }), json!(1), json!(null)] {
        assert_eq!(text(value.clone()), None, "{value}");
    }
}
