//! The format as a JSON schema, for editors and for checks outside of Lockgate.
//!
//! [`schema`] is made from the tables the reader uses. It says all that can be said about shapes; whether an
//! expression compiles, an id is taken or a selector is known to a host, only the reader can tell.

use serde_json::{Map, Value, json};

use super::keys::{
    self, ID_PATTERN, KeyRule, MESSAGE_CHARS_MAX, NAME_PATTERN, OPERATORS, Operand, Shape, TIMEOUT_S_MAX,
    Table,
};

/// The format of rulesets as a JSON schema of draft 2020-12.
pub fn schema() -> Value {
    let Value::Object(mut root) = table(&keys::RULESET) else { return Value::Null };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), "Ruleset".into());
    schema.append(&mut root);
    schema.insert("$defs".to_owned(), json!({ "rule": rule(), "expression": expression(), "test": test() }));
    Value::Object(schema)
}

fn table(table: &Table) -> Value {
    let required: Vec<&str> = table.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    let properties: Map<String, Value> =
        table.keys.iter().map(|key| (key.name.to_owned(), shape(key.name, &key.shape))).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let Value::Object(fields) = &mut schema else { return schema };
    if !required.is_empty() {
        fields.insert("required".to_owned(), json!(required));
    }
    let bonds: Vec<Value> = table.bonds.iter().map(bond).collect();
    if !bonds.is_empty() {
        fields.insert("allOf".to_owned(), Value::Array(bonds));
    }
    schema
}

fn bond(bond: &KeyRule) -> Value {
    let has = |key: &&str| match *key {
        // A ruleset that extends nothing has rules of its own.
        "rules" => json!({ "required": ["rules"], "properties": { "rules": { "minItems": 1 } } }),
        key => json!({ "required": [key] }),
    };
    match bond {
        KeyRule::AtLeastOne(keys) => json!({ "anyOf": keys.iter().map(has).collect::<Vec<_>>() }),
        KeyRule::NotBoth(one, other) => json!({ "not": { "required": [one, other] } }),
        KeyRule::Needs(one, other) => json!({ "anyOf": [{ "not": has(one) }, has(other)] }),
    }
}

fn shape(name: &str, shape: &Shape) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    match shape {
        Shape::Word(word) => json!({ "const": word }),
        Shape::Choice(choices) => json!({ "enum": choices }),
        Shape::Name => json!({ "type": "string", "pattern": NAME_PATTERN }),
        Shape::Id => json!({ "type": "string", "pattern": ID_PATTERN }),
        Shape::Text => text(),
        Shape::TextOrNull => json!({ "type": ["string", "null"] }),
        Shape::Message => json!({ "type": "string", "minLength": 1, "maxLength": MESSAGE_CHARS_MAX }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Whole if name == "timeout" => whole(TIMEOUT_S_MAX),
        Shape::Whole => whole(lockgate_policy::LIMIT_MAX),
        Shape::Anything => json!({ "type": "object" }),
        Shape::Texts { may_be_empty: true } => json!({ "type": "array", "items": text() }),
        Shape::Texts { may_be_empty: false } => json!({ "type": "array", "minItems": 1, "items": text() }),
        Shape::WholeByTool => {
            let limit = whole(lockgate_policy::LIMIT_MAX);
            json!({ "type": "object", "minProperties": 1, "additionalProperties": limit })
        }
        Shape::Table(inner) => table(inner),
        Shape::TableByTool(inner) => json!({ "type": "object", "additionalProperties": table(inner) }),
        Shape::Expression => json!({ "$ref": "#/$defs/expression" }),
        Shape::Rules => json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } }),
    }
}

fn whole(max: u64) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": max })
}

fn rule() -> Value {
    json!({ "oneOf": [table(&keys::PRE), table(&keys::POST), table(&keys::SESSION), table(&keys::SANDBOX)] })
}

fn expression() -> Value {
    let parts = json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/expression" } });
    let text = json!({ "type": "string", "minLength": 1 });
    let effect = json!({ "oneOf": [text.clone(), { "type": "array", "minItems": 1, "items": text }] });
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": { "all": parts.clone(), "any": parts, "not": { "$ref": "#/$defs/expression" }, "effect": effect },
        "additionalProperties": { "$ref": "#/$defs/test" },
    })
}

fn test() -> Value {
    let operators: Map<String, Value> =
        OPERATORS.iter().map(|(name, takes)| ((*name).to_owned(), operand(*takes))).collect();
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": operators,
        "additionalProperties": false,
    })
}

fn operand(operand: Operand) -> Value {
    match operand {
        Operand::Boolean => json!({ "type": "boolean" }),
        Operand::Anything => json!({}),
        Operand::Anythings => json!({ "type": "array", "minItems": 1 }),
        Operand::Text => json!({ "type": "string" }),
        Operand::Texts => json!({ "type": "array", "minItems": 1, "items": { "type": "string" } }),
        Operand::Expression => json!({ "type": "string", "minLength": 1 }),
        Operand::Expressions => {
            json!({ "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } })
        }
        Operand::Number => json!({ "type": "number" }),
    }
}
