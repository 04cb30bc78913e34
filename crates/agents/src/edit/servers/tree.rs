//! JSON and TOML as one kind of tree that knows where each part stands in the text.
//!
//! An edit at these places keeps everything else as it is: comments, order, white space. Numbers, dates and the
//! like are not read: no entry of ours has one. `toml_edit` would write line ends and dotted keys anew, so only spans are
//! taken from the reader of TOML.

use std::{collections::HashSet, ops::Range};

use jsonc_parser::{
    ast::{Object, Value as Json},
    common::Ranged,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::super::{
    json::{SETTINGS_BYTES_MAX, line_at, with_parsed},
    mistake::Mistake,
};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// With comments and trailing commas.
    Json,
    Toml,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Table(Vec<Field>),
    Other,
}

/// A name and its value.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// Where the name stands.
    pub(super) key: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The fields, where it is a table.
    pub(super) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Table(fields) => fields,
            _ => &[],
        }
    }

    /// The texts that it lists; none where it is not a list, or lists anything else.
    pub(super) fn texts(&self) -> Option<Vec<&str>> {
        match &self.kind {
            Kind::List(items) => items.iter().map(Self::text).collect(),
            _ => None,
        }
    }

    /// The items that it lists.
    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }
}

/// Reads a whole file.
pub(super) fn read(text: &str, syntax: Syntax) -> Result<Node, Mistake> {
    match syntax {
        Syntax::Json => with_parsed(text, of_object),
        Syntax::Toml => {
            if text.len() > SETTINGS_BYTES_MAX {
                let reason = format!("it is larger than {SETTINGS_BYTES_MAX} bytes");
                return Err(Mistake::new(1, reason, "check that this is the client's settings file"));
            }
            let root = DeTable::parse(text).map_err(|error| {
                let line = error.span().map_or(1, |span| line_at(text, span.start));
                Mistake::new(line, format!("it is not TOML: {}", error.message()), "mend it, or move it away")
            })?;
            Ok(Node { range: root.span(), kind: of_table(root.get_ref()) })
        }
    }
}

fn of_object(text: &str, object: &Object<'_>) -> Result<Node, Mistake> {
    let mut names = HashSet::new();
    let mut fields = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        let key = property.name.range();
        if !names.insert(name) {
            let line = line_at(text, key.start);
            return Err(Mistake::new(line, format!("`{name}` appears twice"), "keep one of them"));
        }
        let (name, key) = (name.to_owned(), key.start..key.end);
        fields.push(Field { name, key, value: of_json(text, &property.value)? });
    }
    Ok(Node { range: object.range.start..object.range.end, kind: Kind::Table(fields) })
}

fn of_json(text: &str, value: &Json<'_>) -> Result<Node, Mistake> {
    let range = value.range();
    let kind = match value {
        Json::Object(object) => return of_object(text, object),
        Json::Array(array) => {
            Kind::List(array.elements.iter().map(|item| of_json(text, item)).collect::<Result<_, _>>()?)
        }
        Json::StringLit(literal) => Kind::Text(literal.value.to_string()),
        Json::NumberLit(_) | Json::BooleanLit(_) | Json::NullKeyword(_) => Kind::Other,
    };
    Ok(Node { range: range.start..range.end, kind })
}

fn of_table(table: &DeTable<'_>) -> Kind {
    let field = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Field {
        name: AsRef::<str>::as_ref(key.get_ref()).to_owned(),
        key: key.span(),
        value: of_toml(value),
    };
    let mut fields: Vec<Field> = table.iter().map(field).collect();
    fields.sort_by_key(|field| field.key.start);
    Kind::Table(fields)
}

fn of_toml(value: &Spanned<DeValue<'_>>) -> Node {
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Array(items) => Kind::List(items.iter().map(of_toml).collect()),
        DeValue::Table(table) => of_table(table),
        _ => Kind::Other,
    };
    Node { range: value.span(), kind }
}
