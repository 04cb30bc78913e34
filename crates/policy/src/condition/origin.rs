//! Whether every value of a field comes from where it may.

use lockgate_call::{AtomKind, Piece, scan_atoms, visible};
use serde_json::Value;

use super::{
    found::Found,
    subject::{Field, Subject},
};
use crate::{
    decision::Truth,
    provenance::{Hashed, Origins, ResultSource, each_leaf},
    view::View,
};

/// How much of a value is shown to the agent.
const SHOWN_MAX: usize = 60;

/// `T.f must come from S`: which values, and from where.
#[derive(Clone, Debug)]
pub struct OriginTest {
    /// The field of the input.
    pub field: Field,
    /// Whether only web and mail addresses and account numbers in it are traced.
    pub only_links: bool,
    /// Whether the user may have said it.
    pub from_user: bool,
    /// Results it may have stood in.
    pub sources: Vec<ResultSource>,
    /// Values that the policy names itself.
    pub constants: Vec<String>,
    /// Attributes of the session that hold it.
    pub attributes: Vec<String>,
}

/// A value without an origin that counts.
struct Untraced {
    /// The value, shortened.
    shown: String,
    /// The tool and the call in whose result it first stood.
    first_sighting: Option<(String, String)>,
}

impl OriginTest {
    /// Whether some value has no origin that counts.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        match self.find(view) {
            Ok(None) => Truth::No,
            Ok(Some(_)) => Truth::Yes,
            Err(Unclear) => Truth::Doubt,
        }
    }

    /// What the agent is told about a call that fails.
    pub fn says(&self, view: &View<'_>) -> String {
        let field = &self.field.text;
        let Ok(Some(Untraced { shown, first_sighting })) = self.find(view) else {
            return format!("`{field}` cannot be traced: give it as a plain field.");
        };
        let stood = first_sighting.map_or_else(String::new, |(tool, call)| {
            format!("; it first stood in the result of {tool} (call {call})")
        });
        let wanted = match (self.from_user, self.sources.is_empty()) {
            (true, true) => "was not named by the user".to_owned(),
            (true, false) => format!("was not named by the user and is not in {}", self.source_names()),
            (false, true) => "is not one of the values that the policy names".to_owned(),
            (false, false) => format!("is not in {}", self.source_names()),
        };
        let next = if self.from_user { " Ask the user for it." } else { "" };
        format!("`{field}` \"{shown}\" {wanted}{stood}.{next}")
    }

    fn source_names(&self) -> String {
        let names: Vec<String> = self.sources.iter().map(|source| source.key().to_string()).collect();
        names.join(", ")
    }

    /// The first value without an origin that counts.
    fn find(&self, view: &View<'_>) -> Result<Option<Untraced>, Unclear> {
        let nothing = Origins::default();
        let origins = view.memory.origins().unwrap_or(&nothing);
        let mut untraced = None;
        let mut look = |value: &Value| {
            each_traced(value, &mut |text, traced| {
                if untraced.is_none() && !self.comes_from(text, traced, origins, view) {
                    let sighting = origins.first_sighting(text);
                    let first_sighting = sighting.map(|it| (it.tool.to_string(), it.call.to_string()));
                    untraced = Some(Untraced { shown: shortened(text), first_sighting });
                }
            })
        };
        match Subject::Input(self.field.clone()).look(view) {
            Found::Missing => {}
            Found::Value(value) => look(value),
            Found::Values(values) => values.into_iter().for_each(look),
            Found::Own(value) => look(&value),
            Found::Text(text) => look(&Value::from(text)),
            Found::Unclear | Found::Output(_) | Found::Kinds(_) => return Err(Unclear),
        }
        Ok(untraced)
    }

    fn comes_from(&self, text: &str, traced: Part, origins: &Origins, view: &View<'_>) -> bool {
        if text.trim().is_empty() {
            return true;
        }
        if traced == Part::Addresses || self.only_links {
            let mut all = true;
            scan_atoms(text, |piece| {
                if let Piece::Atom { kind, text } = piece
                    && kind.is_address()
                {
                    all &= self.admits(&origins.hash_of_atom(text), origins, view)
                        || (kind == AtomKind::Link && self.is_host_of_admitted(text));
                }
            });
            return all;
        }
        let value = origins.hashed(text);
        !value.atoms.is_empty() && self.admits(&value, origins, view)
    }

    fn admits(&self, value: &Hashed<'_>, origins: &Origins, view: &View<'_>) -> bool {
        let is_value = |text: &str| origins.hashed(text).atoms == value.atoms;
        self.constants.iter().any(|constant| is_value(constant))
            || self.attributes.iter().any(|name| {
                let mut is_there = false;
                if let Some(attribute) = view.memory.attribute(name) {
                    each_leaf(attribute, &mut |text| is_there |= is_value(text));
                }
                is_there
            })
            || origins.admits(value, self.from_user, &self.sources)
    }

    /// A constant that is a host stands for everything on it, where links in a text are traced.
    fn is_host_of_admitted(&self, link: &str) -> bool {
        let host = link.split(['/', '?', '#']).next().unwrap_or(link);
        !host.contains('@') && self.constants.iter().any(|constant| constant.eq_ignore_ascii_case(host))
    }
}

/// It cannot be told what the field holds.
struct Unclear;

/// What of a text is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    All,
    /// Names of fields are the tool's, unless they are addresses.
    Addresses,
}

fn each_traced(value: &Value, take: &mut dyn FnMut(&str, Part)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_traced(item, take)),
        Value::Object(fields) => {
            for (name, value) in fields {
                take(name, Part::Addresses);
                each_traced(value, take);
            }
        }
        Value::Null => {}
        leaf => each_leaf(leaf, &mut |text| take(text, Part::All)),
    }
}

/// What an invisible character hides is shown, too.
fn shortened(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_MAX).collect();
    let end = if start.len() < text.len() { "…" } else { "" };
    format!("{}{end}", visible(&start))
}
