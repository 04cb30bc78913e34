//! Results that a policy trusts as the origin of values.

use std::sync::Arc;

use serde_json::Value;

use super::leaves::{each_leaf, said_by_tool};

/// The results of a tool, or one field of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResultSource {
    /// The tool as the agent calls it.
    pub tool: String,
    /// The field, at any depth; none where the whole result is running text.
    pub field: Option<String>,
}

impl ResultSource {
    /// The name it is kept under.
    pub fn key(&self) -> Arc<str> {
        match &self.field {
            Some(field) => format!("{}.{field}", self.tool).into(),
            None => self.tool.as_str().into(),
        }
    }

    /// Hands on every value of a result that is one of this source.
    pub(crate) fn each_value(&self, output: &Value, take: &mut dyn FnMut(&str)) {
        let Some(field) = &self.field else { return said_by_tool(output, &mut |said| each_leaf(said, take)) };
        said_by_tool(output, &mut |said| in_field(said, field, take));
    }
}

fn in_field(value: &Value, field: &str, take: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| in_field(item, field, take)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if name != field {
                    in_field(value, field, take);
                    continue;
                }
                each_leaf(value, take);
                // The keys of an object are values of the field that holds it.
                if let Value::Object(inner) = value {
                    inner.keys().for_each(|key| take(key));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a policy wants to know about origins.
#[derive(Clone, Debug, Default)]
pub struct TrustedSources {
    /// Results that some rule trusts.
    results: Vec<ResultSource>,
    /// Whether some rule asks where values come from.
    traces: bool,
    /// The words that some rule wants the user to say.
    words: Vec<Arc<str>>,
}

impl TrustedSources {
    pub(crate) fn trust(&mut self, sources: &[ResultSource]) {
        self.traces = true;
        for source in sources {
            if !self.results.contains(source) {
                self.results.push(source.clone());
            }
        }
    }

    pub(crate) fn want_said(&mut self, words: &[Arc<str>]) {
        for word in words {
            if !self.words.contains(word) {
                self.words.push(word.clone());
            }
        }
    }

    /// Whether some rule asks where values come from.
    pub fn traces(&self) -> bool {
        self.traces
    }

    /// Whether some rule wants to hear the user.
    pub fn listens(&self) -> bool {
        self.traces || !self.words.is_empty()
    }

    /// Whether results can be an origin at all: only then it matters what the agent brought in itself.
    pub fn trusts_results(&self) -> bool {
        !self.results.is_empty()
    }

    /// The sources among the results of a tool.
    pub fn of_tool<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a ResultSource> {
        self.results.iter().filter(move |source| source.tool == tool)
    }

    /// The words that some rule wants the user to say.
    pub fn words(&self) -> &[Arc<str>] {
        &self.words
    }
}
