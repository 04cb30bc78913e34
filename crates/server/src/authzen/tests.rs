//! What is read, and which call it means.

use super::*;

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("not an object: {value}") };
    fields
}

fn whole() -> Value {
    json!({"subject": {"type": "user", "id": "alice"}, "action": {"name": "read"},
           "resource": {"type": "record", "id": "record-1"}})
}

#[test]
fn what_is_missing_or_mistyped_is_named() {
    for (path, value, mistake) in [
        ("/subject", json!(null), "`subject` is missing"),
        ("/subject", json!("alice"), "`subject` is a JSON object"),
        ("/subject", json!(["user", "alice"]), "`subject` is a JSON object"),
        ("/subject", json!({"id": "alice"}), "`subject.type` is missing"),
        ("/subject/id", json!(""), "`subject.id` is a text that is not empty"),
        ("/action", json!({}), "`action.name` is missing"),
        ("/action/name", json!(123), "`action.name` is a text that is not empty"),
        ("/resource", json!({"type": "record"}), "`resource.id` is missing"),
        (
            "/resource",
            json!({"type": "record", "id": "1", "properties": []}),
            "`resource.properties` is a JSON object",
        ),
        ("/context", json!([]), "`context` is a JSON object"),
        ("/context", json!({"call_id": 7}), "`context.call_id` is a text that is not empty"),
        ("/context", json!({"call_id": null}), "`context.call_id` is a text that is not empty"),
        ("/context", json!({"session": ""}), "`context.session` is a text that is not empty"),
        ("/context", json!({"approval": {"id": 1}}), "`context.approval.id` is a text"),
    ] {
        let mut request = whole();
        request["context"] = json!({});
        *request.pointer_mut(path).unwrap() = value;
        let told = Evaluation::read(&fields(request)).unwrap_err().to_string();
        assert_eq!(told, mistake, "{path}");
    }
    let mut request = whole();
    request["future"] = json!({"nested": true});
    request["subject"]["future"] = json!(1);
    assert!(Evaluation::read(&fields(request)).is_ok(), "unknown fields are passed over");
}

#[test]
fn a_tool_of_mcp_is_the_tool_and_anything_else_is_named_after_its_resource() {
    let request = json!({
        "subject": {"type": "identity", "id": "alice", "properties": {"role": "admin", "user_id": "root", "type": "x"}},
        "action": {"name": "tools/call"}, "resource": {"type": "tool", "id": "deploy"},
        "context": {"agent": "a", "arguments": {"to": "prod"}, "call_id": "c1", "session": "s"}});
    let evaluation = Evaluation::read(&fields(request)).unwrap();
    assert_eq!((evaluation.call_id(), evaluation.session()), (Some("c1"), Some("s")));
    let call = evaluation.into_call("s");
    assert_eq!(
        (call.tool.as_str(), call.id.as_str(), json!(call.input)),
        ("deploy", "c1", json!({"to": "prod"}))
    );
    let principal = call.principal.unwrap();
    assert_eq!((&principal["user_id"], &principal["role"]), (&json!("alice"), &json!("admin")));
    assert_eq!(principal["type"], "identity", "properties do not say who it is");
    let request = json!({
        "subject": {"type": "user", "id": "alice"}, "action": {"name": "delete", "properties": {"soft": true}},
        "resource": {"type": "record", "id": "record-1", "properties": {"id": "other", "status": "archived"}}});
    let call = Evaluation::read(&fields(request)).unwrap().into_call("s");
    assert_eq!(call.tool, "record.delete");
    let input = json!({"id": "record-1", "properties": {"id": "other", "status": "archived"}, "action": {"soft": true}});
    assert_eq!(json!(call.input), input);
}

#[test]
fn a_batch_takes_defaults_by_the_entity_and_refuses_its_bad_items_alone() {
    let request = json!({
        "subject": {"type": "user", "id": "alice"}, "action": {"name": "write"},
        "resource": {"type": "record", "properties": {"status": "active"}}, "context": {"time": "t"},
        "options": {"evaluations_semantic": "deny_on_first_deny"},
        "evaluations": [{"resource": {"id": "1"}}, {}, 5, {"action": {"name": "read"}, "resource": {"id": "2"}, "context": {}}]});
    let batch = Batch::read(&fields(request)).unwrap().unwrap();
    assert_eq!(batch.semantic, Semantic::DenyOnFirstDeny);
    let [first, second, third, last] = batch.evaluations.as_slice() else { panic!("four") };
    let first = first.clone().unwrap();
    assert!(first.resource.properties.is_empty() && first.resource.kind == "record", "{first:?}");
    assert_eq!(first.context["time"], "t");
    assert_eq!(second.clone().unwrap_err().to_string(), "`resource.id` is missing");
    assert!(third.is_err());
    let last = last.clone().unwrap();
    assert!(last.action == "read" && last.context.is_empty(), "{last:?}");
    assert_eq!(Batch::read(&fields(json!({"evaluations": []}))), Ok(None));
    for bad in [
        json!({"evaluations": {}}),
        json!({"evaluations": [{}], "options": {"evaluations_semantic": "some"}}),
        json!({"evaluations": [{}], "options": 1}),
        json!({"evaluations": vec![json!({}); EVALUATIONS_MAX + 1]}),
    ] {
        assert!(Batch::read(&fields(bad)).is_err());
    }
}
