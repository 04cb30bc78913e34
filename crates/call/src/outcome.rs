//! What a result says about how the work ended.
//!
//! [`says_failure`] looks for exit codes and signs of an error in the places where hosts and servers put them. A
//! host may call such a result a success, for the tool did answer; what the tool ran has failed all the same.
//! Reading prose is left out on purpose: a file that was read may begin with any words.

use serde_json::{Map, Value};

/// Fields that hold the exit code of what was run.
const CODES: &[&str] =
    &["exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status", "exitStatus"];

/// Fields that say by a yes that it failed or was cut short.
const SIGNS: &[&str] = &["isError", "is_error", "interrupted", "timed_out", "timedOut"];

/// Fields that hold a result within a result.
const INNER: &[&str] = &["metadata", "structuredContent", "result"];

/// How deep results within results are looked for.
const DEPTH_MAX: usize = 4;

/// Whether a result says that the work failed, whatever the host calls it.
#[must_use]
pub fn says_failure(output: &Value) -> bool {
    match output {
        Value::Object(object) => object_says(object, DEPTH_MAX),
        Value::String(text) => {
            let parsed = serde_json::from_str::<Map<String, Value>>(text);
            parsed.is_ok_and(|object| object_says(&object, DEPTH_MAX))
        }
        _ => false,
    }
}

fn object_says(object: &Map<String, Value>, depth_left: usize) -> bool {
    let says = |fields: &[&str], means: fn(&Value) -> bool| {
        fields.iter().any(|field| object.get(*field).is_some_and(means))
    };
    let inner = || INNER.iter().filter_map(|field| object.get(*field)?.as_object());
    says(CODES, is_failing_code)
        || says(SIGNS, is_yes)
        || inner().any(|inner| depth_left == 0 || object_says(inner, depth_left - 1))
}

/// A code that is neither zero nor absent. What is no number is a doubt, and so no success.
fn is_failing_code(code: &Value) -> bool {
    match code {
        Value::Null => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => text.trim().parse::<f64>().ok() != Some(0.0),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

fn is_yes(sign: &Value) -> bool {
    match sign {
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => ["true", "yes", "1"].iter().any(|yes| text.eq_ignore_ascii_case(yes)),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_that_carries_a_failure_says_so() {
        let failures = [
            json!({ "exit_code": 1 }),
            json!({ "exitCode": -1, "stdout": "ok" }),
            json!({ "returncode": "1" }),
            json!({ "return_code": " 2 " }),
            json!({ "exit_status": 0.5 }),
            json!({ "exitStatus": "killed" }),
            json!({ "exit_code": true }),
            json!({ "metadata": { "exit_code": 1 } }),
            json!({ "structuredContent": { "exitCode": 127 }, "content": [] }),
            json!({ "result": { "metadata": { "exit_code": 1 } } }),
            json!({ "isError": true }),
            json!({ "is_error": "true" }),
            json!({ "interrupted": true }),
            json!({ "timed_out": true }),
            json!({ "exit_code": 0, "isError": true }),
            json!("{\"output\": \"\", \"metadata\": {\"exit_code\": 1}}"),
        ];
        for output in failures {
            assert!(says_failure(&output), "{output}");
        }
    }

    #[test]
    fn a_result_without_a_failure_says_none() {
        let others = [
            json!(null),
            json!("exit_code: 1"),
            json!("exit_code"),
            json!({}),
            json!({ "exit_code": 0 }),
            json!({ "exit_code": "0" }),
            json!({ "exit_code": 0.0 }),
            json!({ "exit_code": null }),
            json!({ "isError": false, "interrupted": false }),
            json!({ "stdout": "exit_code 1" }),
            json!({ "data": { "exit_code": 1 } }),
            json!({ "metadata": "exit_code" }),
            json!([{ "exit_code": 1 }]),
        ];
        for output in others {
            assert!(!says_failure(&output), "{output}");
        }
    }

    #[test]
    fn a_result_nested_past_the_limit_is_no_success() {
        let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "result": inner }));
        assert!(!says_failure(&nested(DEPTH_MAX)));
        assert!(says_failure(&nested(DEPTH_MAX + 1)));
    }
}
