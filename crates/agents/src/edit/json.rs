//! Adds hook entries to a JSON settings file and takes them out again, byte for byte.
//!
//! [`add`] only ever inserts text and [`remove`] only ever cuts out what was inserted, so comments, order and
//! formatting of everything else stay, and a file that was given an entry and lost it again is the file it was. To know
//! afterwards which lists were there before, an entry that is put into an empty list or object of another author is
//! set off by an empty line; what we made ourselves has none and goes away with its last entry. Nothing is reformatted,
//! and a file that is not JSON (with comments and trailing commas, which hosts read) is left alone.
//!
//! The editor of `jsonc-parser` (`cst`) cannot keep this promise: of `["x" /* mine */]` an entry that comes and goes takes
//! the comment with it, and `[1, 2]` comes back with another line. So only its reader is used.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value as Node},
    common::Ranged,
    parse_to_ast,
};
use serde_json::{Map, Value, json};

use super::{command::is_ours, mistake::Mistake};

/// How a host lays out its hooks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Whether handlers stand in groups with a matcher.
    pub(crate) grouped: bool,
    /// Whether the file has to say `"version": 1`.
    pub(crate) versioned: bool,
}

/// What is added to the list of one event.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) event: &'static str,
    pub(crate) value: Value,
}

/// The largest settings file that is edited, in bytes.
pub(crate) const SETTINGS_BYTES_MAX: usize = 4 * 1024 * 1024;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Adds the entries; entries of ours that were there already, perhaps of an older version, are replaced.
pub(crate) fn add(
    text: Option<&str>,
    entries: &[Entry],
    layout: Layout,
    agent: &str,
) -> Result<String, Mistake> {
    let Some(text) = text else { return Ok(fresh(entries, layout)) };
    if is_complete(text, entries, layout, agent)? {
        return Ok(text.to_owned());
    }
    let Some(mut edited) = remove(text, layout, agent)? else { return Ok(fresh(entries, layout)) };
    if layout.versioned && whole(&edited)?.get("version").is_none() {
        let reason = "there is no `version`, and without it the host reads no hooks";
        return Err(Mistake::new(1, reason, "write `\"version\": 1` into it"));
    }
    if whole(&edited)?.get("hooks").is_none() {
        let item = property("hooks", &hooks_value(entries));
        edited = with_parsed(&edited, |text, root| Ok(insert(text, &Container::of_object(root), &item)))?;
    } else {
        for entry in entries {
            edited = with_parsed(&edited, |text, root| push(text, root, entry))?;
        }
    }
    // What we could not read back would be a gate that is not there.
    if is_complete(&edited, entries, layout, agent)? {
        return Ok(edited);
    }
    Err(Mistake::new(
        1,
        "the hooks cannot be added to a file like this",
        "add them by hand, or simplify the file",
    ))
}

/// Takes out all entries of ours; none is left of the file where there was nothing else in it.
pub(crate) fn remove(text: &str, layout: Layout, agent: &str) -> Result<Option<String>, Mistake> {
    let mut text = text.to_owned();
    // The last one first: the empty line that tells of what was there before stands above the first one.
    loop {
        let cut = with_parsed(&text, |text, root| last_of_ours(text, root, layout, agent))?;
        match cut {
            Cut::Nothing => return Ok(Some(text)),
            Cut::WholeFile => return Ok(None),
            Cut::Parts(mut parts) => {
                parts.sort_by_key(|part| std::cmp::Reverse(part.start));
                for part in parts {
                    text.replace_range(part, "");
                }
            }
        }
    }
}

/// The value of a whole file, for looking at; a mistake where it is none that can be edited.
pub(crate) fn whole(text: &str) -> Result<Map<String, Value>, Mistake> {
    with_parsed(text, |_, root| Ok(to_map(root)))
}

fn fresh(entries: &[Entry], layout: Layout) -> String {
    let mut root = Map::new();
    // In front: hooks that were added to another author's file stand last, which distinguishes the two.
    root.insert("hooks".to_owned(), hooks_value(entries));
    if layout.versioned {
        root.insert("version".to_owned(), json!(1));
    }
    format!("{}\n", pretty(&Value::Object(root), UNIT))
}

fn hooks_value(entries: &[Entry]) -> Value {
    let mut events = Map::new();
    for entry in entries {
        let list = events.entry(entry.event).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(entry.value.clone());
        }
    }
    Value::Object(events)
}

/// Whether all entries are there as they are meant, and no others of ours.
fn is_complete(text: &str, entries: &[Entry], layout: Layout, agent: &str) -> Result<bool, Mistake> {
    let root = whole(text)?;
    let hooks = root.get("hooks").and_then(Value::as_object);
    let list_of = |event: &str| hooks.and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
    let has = |entry: &Entry| list_of(entry.event).is_some_and(|list| list.contains(&entry.value));
    let lists = hooks.into_iter().flat_map(Map::values).filter_map(Value::as_array).flatten();
    let ours = lists.map(|element| handlers(element, layout).filter(|it| is_ours(it, agent)).count());
    Ok(entries.iter().all(has) && ours.sum::<usize>() == entries.len())
}

fn handlers(element: &Value, layout: Layout) -> Box<dyn Iterator<Item = &Value> + '_> {
    if !layout.grouped {
        return Box::new(std::iter::once(element));
    }
    Box::new(element.get("hooks").and_then(Value::as_array).into_iter().flatten())
}

/// Puts one entry into `hooks`, which is there.
fn push(text: &str, root: &Object<'_>, entry: &Entry) -> Result<String, Mistake> {
    let hooks = hooks_of(text, root)?;
    Ok(match hooks.and_then(|hooks| hooks.get(entry.event)) {
        None => {
            let Some(hooks) = hooks else { return Ok(text.to_owned()) };
            let item = property(entry.event, &json!([entry.value]));
            insert(text, &Container::of_object(hooks), &item)
        }
        Some(event) => match &event.value {
            Node::Array(list) => {
                insert(text, &Container::of_array(list), &Item::Element(entry.value.clone()))
            }
            other => return Err(no_list(text, entry.event, other)),
        },
    })
}

fn hooks_of<'r, 'a>(text: &str, root: &'r Object<'a>) -> Result<Option<&'r Object<'a>>, Mistake> {
    match root.get("hooks").map(|property| &property.value) {
        None => Ok(None),
        Some(Node::Object(hooks)) => Ok(Some(hooks)),
        Some(other) => {
            let line = line_at(text, other.range().start);
            Err(Mistake::new(line, "`hooks` is not an object", "make it `{}`, or take it out"))
        }
    }
}

fn no_list(text: &str, event: &str, node: &Node<'_>) -> Mistake {
    let line = line_at(text, node.range().start);
    Mistake::new(line, format!("`hooks.{event}` is not a list"), "make it `[]`, or take it out")
}

// --- inserting ---

/// What is put into a list or an object.
enum Item {
    Property(&'static str, Value),
    Element(Value),
}

fn property(name: &'static str, value: &Value) -> Item {
    Item::Property(name, value.clone())
}

impl Item {
    fn text(&self, unit: &str) -> String {
        match self {
            Self::Element(value) => one_line(value),
            Self::Property(name, value) => format!("\"{name}\": {}", pretty(value, unit)),
        }
    }
}

/// The places of a list or an object.
struct Container {
    /// With its brackets.
    range: Range<usize>,
    children: Vec<Range<usize>>,
}

impl Container {
    fn of_object(object: &Object<'_>) -> Self {
        let children = object.properties.iter().map(|child| child.range.start..child.range.end).collect();
        Self { range: object.range.start..object.range.end, children }
    }

    fn of_array(array: &Array<'_>) -> Self {
        let children = array.elements.iter().map(Ranged::range).map(|range| range.start..range.end).collect();
        Self { range: array.range.start..array.range.end, children }
    }

    /// What stands between the brackets.
    fn inside(&self) -> Range<usize> {
        self.range.start.saturating_add(1)..self.range.end.saturating_sub(1)
    }
}

const UNIT: &str = "  ";

fn insert(text: &str, container: &Container, item: &Item) -> String {
    let line_end = line_end(text);
    let indent = child_indent(text, container);
    let lines = item.text(&unit(text)).replace('\n', &format!("{line_end}{indent}"));
    let mut edited = text.to_owned();
    let Some(last) = container.children.last() else {
        let closing = line_indent(text, container.range.start);
        let added = format!("{line_end}{line_end}{indent}{lines}{line_end}{closing}");
        edited.insert_str(container.inside().start, &added);
        return edited;
    };
    let tail = Between::read(text, last.end..container.inside().end);
    let added = format!("{line_end}{indent}{lines}");
    match tail.comma {
        Some(comma) => edited.insert_str(tail.comments_end.max(comma + 1), &format!("{added},")),
        None => {
            edited.insert_str(tail.comments_end, &added);
            edited.insert(last.end, ',');
        }
    }
    edited
}

/// What stands between two children, or behind the last: white space, comments, perhaps a comma.
struct Between {
    comma: Option<usize>,
    /// Where the last comment ends; where it all starts, if there is none.
    comments_end: usize,
}

impl Between {
    fn read(text: &str, range: Range<usize>) -> Self {
        let mut read = Self { comma: None, comments_end: range.start };
        let mut rest = text.get(range.clone()).unwrap_or_default();
        while let Some(sign) = rest.chars().next() {
            let here = range.end - rest.len();
            let length = if rest.starts_with("//") {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.match_indices("*/")
                    .map(|(end, _)| end)
                    .find(|end| *end >= 2)
                    .map_or(rest.len(), |end| end + 2)
            } else {
                sign.len_utf8()
            };
            match sign {
                '/' => read.comments_end = here + length,
                ',' => read.comma = read.comma.or(Some(here)),
                _ => {}
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        read
    }
}

// --- cutting ---

/// What has to be cut out of a text.
enum Cut {
    Nothing,
    WholeFile,
    Parts(Vec<Range<usize>>),
}

/// The last handler of ours, with whatever we made around it alone.
fn last_of_ours(text: &str, root: &Object<'_>, layout: Layout, agent: &str) -> Result<Cut, Mistake> {
    let Some(hooks) = hooks_of(text, root)? else { return Ok(Cut::Nothing) };
    for (at, event) in hooks.properties.iter().enumerate().rev() {
        let Node::Array(list) = &event.value else { continue };
        let Some((mut way, is_alone)) = last_in(list, layout, agent) else { continue };
        // From the inside out, as long as there is nothing else in what we made.
        if is_alone && is_made_for(text, &Container::of_array(list)) {
            way = Way { container: Container::of_object(hooks), child: at };
            if is_made_for(text, &way.container) {
                let at = root.properties.iter().position(|it| it.name.as_str() == "hooks");
                way = Way { container: Container::of_object(root), child: at.unwrap_or_default() };
                if is_file_of_ours(text, root, &way, layout) {
                    return Ok(Cut::WholeFile);
                }
            }
        }
        return Ok(Cut::Parts(parts(text, &way)));
    }
    Ok(Cut::Nothing)
}

/// A child of a list or an object.
struct Way {
    container: Container,
    child: usize,
}

/// The last handler in the list of an event, or its group where nothing else is in it; and whether the list has only
/// that.
fn last_in(list: &Array<'_>, layout: Layout, agent: &str) -> Option<(Way, bool)> {
    let found = |node: &Node<'_>| is_ours(&to_value(node), agent);
    for (at, element) in list.elements.iter().enumerate().rev() {
        let in_list = || (Way { container: Container::of_array(list), child: at }, list.elements.len() == 1);
        if !layout.grouped {
            if found(element) {
                return Some(in_list());
            }
            continue;
        }
        let Node::Object(group) = element else { continue };
        let Some(Node::Array(hooks)) = group.get("hooks").map(|property| &property.value) else { continue };
        let Some(inner) = hooks.elements.iter().rposition(found) else { continue };
        let known = ["matcher", "sequential", "hooks"];
        let is_plain = group.properties.iter().all(|property| known.contains(&property.name.as_str()));
        if hooks.elements.len() == 1 && is_plain {
            return Some(in_list());
        }
        return Some((Way { container: Container::of_array(hooks), child: inner }, false));
    }
    None
}

/// Whether a list or an object has one child and was made for it.
fn is_made_for(text: &str, container: &Container) -> bool {
    let [child] = container.children.as_slice() else { return false };
    let inside = container.inside();
    let before = text.get(inside.start..child.start).unwrap_or_default();
    let behind = text.get(child.end..inside.end).unwrap_or_default();
    let is_blank = |text: &str| text.chars().all(char::is_whitespace);
    is_blank(before) && is_blank(behind) && before.matches('\n').count() < 2
}

fn is_file_of_ours(text: &str, root: &Object<'_>, way: &Way, layout: Layout) -> bool {
    let around = |range: Range<usize>| text.get(range).unwrap_or_default().trim().is_empty();
    let is_all = around(0..root.range.start) && around(root.range.end..text.len());
    if !layout.versioned {
        return is_all && is_made_for(text, &way.container);
    }
    let names: Vec<&str> = root.properties.iter().map(|property| property.name.as_str()).collect();
    is_all && names == ["hooks", "version"]
}

fn parts(text: &str, Way { container, child }: &Way) -> Vec<Range<usize>> {
    let Some(range) = container.children.get(*child) else { return Vec::new() };
    let inside = container.inside();
    if container.children.len() == 1 {
        // Where it was put into an empty list, the lines around it were made for it. They tell themselves how far in
        // they were set: the line of the bracket may have become another since.
        let before = text.get(inside.start..range.start).unwrap_or_default();
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let closing = format!("{}{}", line_end(text), indent.strip_suffix(&unit(text)).unwrap_or_default());
        let behind = text.get(range.end..inside.end).unwrap_or_default();
        if before.trim().is_empty() && behind.starts_with(&closing) {
            return one(inside.start..range.end + closing.len());
        }
    }
    let next = container.children.get(child + 1).map_or(inside.end, |next| next.start);
    let start = line_start_before(text, range.start).max(inside.start);
    match Between::read(text, range.end..next).comma {
        Some(comma) if comma == range.end => one(start..comma + 1),
        Some(comma) => Vec::from([start..range.end, comma..comma + 1]),
        None => {
            let previous = child.checked_sub(1).and_then(|before| container.children.get(before));
            let comma = previous.and_then(|it| Between::read(text, it.end..range.start).comma);
            let comma = comma.map(|comma| comma..comma + 1);
            // The comma may stand right before the white space that goes too.
            comma.into_iter().chain(one(start..range.end)).collect()
        }
    }
}

fn one(range: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(range).collect()
}

/// The start of the white space before a place, up to and with one line end.
fn line_start_before(text: &str, place: usize) -> usize {
    let before = text.get(..place).unwrap_or_default();
    let bare = before.trim_end_matches([' ', '\t']);
    let bare = bare.strip_suffix('\n').map_or(bare, |bare| bare.strip_suffix('\r').unwrap_or(bare));
    bare.len()
}

// --- reading ---

const JSON_OF_HOSTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Looks at the object a text is.
pub(crate) fn with_parsed<T>(
    text: &str,
    look: impl FnOnce(&str, &Object<'_>) -> Result<T, Mistake>,
) -> Result<T, Mistake> {
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(Mistake::new(1, "it starts with a byte order mark", "save it as UTF-8 without one"));
    }
    if text.len() > SETTINGS_BYTES_MAX {
        let reason = format!("it is larger than {SETTINGS_BYTES_MAX} bytes");
        return Err(Mistake::new(1, reason, "check that this is the host's settings file"));
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &JSON_OF_HOSTS).map_err(|error| {
        let reason = format!("it is not JSON: {}", error.kind());
        Mistake::new(error.line_display(), reason, "mend it, or move it away")
    })?;
    match &parsed.value {
        Some(Node::Object(root)) => {
            unambiguous(text, root)?;
            look(text, root)
        }
        Some(_) => Err(Mistake::new(1, "it is not a JSON object", "mend it, or move it away")),
        None => Err(Mistake::new(1, "it is empty", "write `{}` into it, or delete it")),
    }
}

/// Of two properties with one name hosts take either, so nothing could be promised about them.
fn unambiguous(text: &str, object: &Object<'_>) -> Result<(), Mistake> {
    let mut seen = std::collections::HashSet::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if !seen.insert(name) {
            let line = line_at(text, property.range.start);
            return Err(Mistake::new(line, format!("`{name}` appears twice"), "keep one of them"));
        }
        if let ("hooks", Node::Object(hooks)) = (name, &property.value) {
            unambiguous(text, hooks)?;
        }
    }
    Ok(())
}

fn to_map(object: &Object<'_>) -> Map<String, Value> {
    object.properties.iter().map(|it| (it.name.as_str().to_owned(), to_value(&it.value))).collect()
}

fn to_value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        // Whatever serde_json does not read as a number is one that no entry of ours has.
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        Node::BooleanLit(truth) => Value::Bool(truth.value),
        Node::Object(object) => Value::Object(to_map(object)),
        Node::Array(array) => Value::Array(array.elements.iter().map(to_value).collect()),
        Node::NullKeyword(_) => Value::Null,
    }
}

pub(crate) fn line_at(text: &str, place: usize) -> usize {
    text.get(..place).unwrap_or_default().matches('\n').count() + 1
}

pub(crate) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// The white space the line of a place begins with.
fn line_indent(text: &str, place: usize) -> &str {
    let before = text.get(..place).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..).unwrap_or_default();
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blank).unwrap_or_default()
}

/// How deep one level is set in: as the first line that is set in at all.
fn unit(text: &str) -> String {
    let first = text.lines().map(|line| line_indent(line, 0)).find(|indent| !indent.is_empty());
    let first = first.unwrap_or(UNIT);
    if first.starts_with('\t') { "\t".to_owned() } else { " ".repeat(first.len().min(8)) }
}

/// The white space before a child: that of its brothers, where they begin lines.
fn child_indent(text: &str, container: &Container) -> String {
    let begins_line = |child: &&Range<usize>| {
        let before = text.get(container.range.start..child.start).unwrap_or_default();
        before.trim_end_matches([' ', '\t']).ends_with('\n')
    };
    match container.children.first().filter(begins_line) {
        Some(child) => line_indent(text, child.start).to_owned(),
        None => format!("{}{}", line_indent(text, container.range.start), unit(text)),
    }
}

/// Objects line by line, and each element of a list in one line: entries are read one by one.
fn pretty(value: &Value, unit: &str) -> String {
    let (open, close, lines) = match value {
        Value::Object(map) if !map.is_empty() => {
            let line = |(key, value): (&String, &Value)| {
                let value = pretty(value, unit).replace('\n', &format!("\n{unit}"));
                format!("{unit}{}: {value}", json!(key))
            };
            ('{', '}', map.iter().map(line).collect::<Vec<_>>())
        }
        Value::Array(list) if !list.is_empty() => {
            let line = |value: &Value| format!("{unit}{}", one_line(value));
            ('[', ']', list.iter().map(line).collect())
        }
        other => return other.to_string(),
    };
    format!("{open}\n{}\n{close}", lines.join(",\n"))
}

fn one_line(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(map) => {
            let part = |(key, value): (&String, &Value)| format!("{}: {}", json!(key), one_line(value));
            format!("{{{}}}", joined(map.iter().map(part).collect()))
        }
        Value::Array(list) => format!("[{}]", joined(list.iter().map(one_line).collect())),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
