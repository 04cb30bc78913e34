//! Calls with inputs that certain conditions look for: attacks, sensitive data, paths out of a sandbox.

use lockgate_call::{Call, Selector};
use lockgate_pattern::Pattern;
use lockgate_policy::{
    Boundaries,
    condition::{AttackPatterns, PrincipalField, SenderField},
};
use serde_json::{Map, Value};

use crate::proof::literals::Place;

/// Texts that look like attacks, one or more for each kind.
const ATTACKS: [&str; 10] = [
    "../../../../etc/passwd",
    "x; rm -rf / #",
    "$(id)",
    "' OR '1'='1' --",
    "x'; DROP TABLE users; --",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "AKIAIOSFODNN7EXAMPLE",
    "password=hunter2hunter2",
];

/// Sensitive data that a result may hold.
pub(in crate::proof) const SENSITIVE: &str =
    "jane.doe@example.com, 4111 1111 1111 1111, 078-05-1120, +1 212 555 0187";

/// The deepest input that is made up.
pub(in crate::proof) const DEEP_MAX: u64 = 100;

/// The longest text and the largest input that is made up for a limit on them.
pub(in crate::proof) const LARGE_MAX: u64 = 100_000;

/// A call of a tool in which these values stand in these places, and what is said about its session.
pub(in crate::proof) fn call_with(
    tool: &str,
    input: &Map<String, Value>,
    values: &[(&Place, &Value)],
) -> (Call, Map<String, Value>) {
    let mut call = Call { input: input.clone(), ..Call::new("", tool) };
    let mut attributes = Map::new();
    let about = &mut call.about;
    for (place, value) in values.iter().filter(|(_, value)| !value.is_null()) {
        let value = (*value).clone();
        match place {
            Place::Key(key) => drop(call.input.insert(key.clone(), value)),
            Place::Way(way) => {
                way.put(&mut call.input, value);
            }
            Place::Sender(SenderField::Name) => put(&mut about.sender, "name", value),
            Place::Sender(SenderField::Key(key)) => put(&mut about.sender, key, value),
            Place::Context(key) => put(&mut about.context, key, value),
            Place::Attribute(name) => drop(attributes.insert(name.clone(), value)),
            Place::Principal(field) => match field {
                PrincipalField::UserId => put(&mut about.principal, "user_id", value),
                PrincipalField::ServiceId => put(&mut about.principal, "service_id", value),
                PrincipalField::OrgId => put(&mut about.principal, "org_id", value),
                PrincipalField::Role => put(&mut about.principal, "role", value),
                PrincipalField::TicketRef => put(&mut about.principal, "ticket_ref", value),
                PrincipalField::Claims(way) => {
                    let mut claims = object_in(&mut about.principal, "claims");
                    way.put(&mut claims, value);
                    put(&mut about.principal, "claims", Value::Object(claims));
                }
            },
            Place::Environment => about.environment = value.as_str().map(str::to_owned),
            Place::Metadata(way) => put_at(&mut about.metadata, way, value),
            Place::Tool => value.as_str().into_iter().for_each(|tool| tool.clone_into(&mut call.tool)),
        }
    }
    (call, attributes)
}

/// A call with what another one has besides.
pub fn merged(call: &Call, other: &Call) -> Call {
    let mut both = call.clone();
    for (key, value) in &other.input {
        both.input.entry(key).or_insert_with(|| value.clone());
    }
    let (mine, theirs) = (&mut both.about, &other.about);
    mine.sender = mine.sender.take().or_else(|| theirs.sender.clone());
    mine.principal = mine.principal.take().or_else(|| theirs.principal.clone());
    mine.context = mine.context.take().or_else(|| theirs.context.clone());
    mine.metadata = mine.metadata.take().or_else(|| theirs.metadata.clone());
    mine.environment = mine.environment.take().or_else(|| theirs.environment.clone());
    both
}

fn put(object: &mut Option<Value>, key: &str, value: Value) {
    let whole = object.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = whole.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn put_at(object: &mut Option<Value>, way: &Selector, value: Value) {
    let whole = object.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = whole.as_object_mut() {
        way.put(fields, value);
    }
}

fn object_in(object: &mut Option<Value>, key: &str) -> Map<String, Value> {
    let inner = object.as_ref().and_then(|whole| whole.get(key)).and_then(Value::as_object);
    inner.cloned().unwrap_or_default()
}

/// Inputs that reach what boundaries speak of, and what they do not speak of.
pub(in crate::proof) fn reaching(boundaries: &Boundaries) -> Vec<Map<String, Value>> {
    let one = |key: &str, text: String| Map::from_iter([(key.to_owned(), Value::from(text))]);
    let mut inputs = Vec::new();
    let Boundaries { within, not_within, commands, domains, not_domains } = boundaries;
    let program = commands.iter().flatten().next().map_or("cat", String::as_str);
    let mut folders: Vec<String> = Vec::new();
    for folder in within.iter().chain(not_within) {
        let folder = folder.trim_end_matches('/');
        folders.extend([format!("{folder}/file"), format!("{folder}-beside/file")]);
    }
    if !folders.is_empty() {
        folders.push("/outside/file".to_owned());
    }
    for path in folders {
        inputs.extend([one("path", path.clone()), one("command", format!("{program} {path}"))]);
    }
    if let Some(commands) = commands {
        inputs.extend(commands.iter().map(|command| one("command", command.clone())));
        inputs.push(one("command", "outside".to_owned()));
    }
    let hosts: Vec<&String> = domains.iter().flatten().chain(not_domains).collect();
    if !hosts.is_empty() {
        inputs.push(one("url", "https://outside.example/".to_owned()));
    }
    for host in hosts {
        let bare = host.replace("*.", "").replace(['*', '?'], "x");
        inputs.extend([one("url", format!("https://{bare}/")), one("url", format!("https://a.{bare}/"))]);
    }
    inputs
}

/// An input with a script that cannot be read.
pub(in crate::proof) fn unreadable() -> Map<String, Value> {
    Map::from_iter([("command".to_owned(), Value::from("$PROGRAM"))])
}

/// Inputs that a sanitizer speaks of.
pub(in crate::proof) fn attacks(sanitizer: &AttackPatterns) -> Vec<Map<String, Value>> {
    let one = |value: Value| Map::from_iter([("text".to_owned(), value)]);
    let mut inputs: Vec<Map<String, Value>> = ATTACKS.iter().map(|text| one(Value::from(*text))).collect();
    let blocked = sanitizer.blocked_patterns.iter().flat_map(Pattern::samples);
    inputs.extend(blocked.map(|text| one(Value::from(text))));
    let past = |limit: Option<u64>, most: u64| limit.filter(|limit| *limit < most).map(|limit| limit + 1);
    if let Some(chars) = past(sanitizer.string_chars_max, LARGE_MAX) {
        inputs.push(one(Value::from("x".repeat(usize::try_from(chars).unwrap_or_default()))));
    }
    if let Some(keys) = past(sanitizer.keys_max, LARGE_MAX) {
        inputs.push((0..keys).map(|key| (format!("k{key}"), Value::from(1))).collect());
    }
    if let Some(depth) = past(sanitizer.depth_max, DEEP_MAX) {
        let nested = (0..depth).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
        inputs.push(one(nested));
    }
    inputs
}
