//! Policies from files and texts, and what is proved about them.

use std::path::PathBuf;

use lockgate::{Diagnostic, PolicyError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::{convert::to_python, error, ruling::form};

/// Rules that were read and compiled.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Policy(pub(crate) lockgate::Policy);

#[pymethods]
impl Policy {
    /// Reads files and folders, and then texts with the names that stand for their files.
    #[new]
    #[pyo3(signature = (files = Vec::new(), texts = Vec::new()))]
    fn new(py: Python<'_>, files: Vec<PathBuf>, texts: Vec<(String, String)>) -> PyResult<Self> {
        let loaded = py.detach(|| {
            let mut builder = lockgate::Policy::builder().files(files);
            for (name, text) in texts {
                builder = builder.text(&name, text);
            }
            builder.load()
        });
        loaded.map(Self).map_err(|error| {
            let mistakes = match &error {
                PolicyError::Mistaken(mistakes) => diagnostics(mistakes),
                _ => Value::Array(Vec::new()),
            };
            error::policy(&error.to_string(), &mistakes)
        })
    }

    /// The hash of the policy: the same if and only if the same files are read in the same order.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    /// The names of the rules, in file order.
    #[getter]
    fn rule_names(&self) -> Vec<&str> {
        self.0.rule_names()
    }

    /// Warnings and notes for the author.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &diagnostics(self.0.findings()))
    }

    /// Explores every net and proves the claims, as `lockgate verify --json` prints it.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = py.detach(|| form(&self.0.verify()));
        to_python(py, &report)
    }

    /// The shortest sessions that tell this policy from a newer one.
    fn diff<'py>(&self, py: Python<'py>, newer: &Self) -> PyResult<Bound<'py, PyAny>> {
        let differences = py.detach(|| self.0.diff(&newer.0).map(|differences| form(&differences)));
        to_python(py, &differences.map_err(|error| error::misuse(error.to_string()))?)
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Policy of {} rules, {}>", self.0.rule_names().len(), self.0.hash())
    }
}

/// What is known about a policy, as data: the message, its place and what to do.
fn diagnostics(all: &[Diagnostic]) -> Value {
    let one = |it: &Diagnostic| {
        let place = it.source.place(it.span);
        json!({
            "code": it.code,
            "severity": it.severity.to_string(),
            "message": it.message,
            "file": it.source.name(),
            "line": place.line,
            "column": place.column,
            "remedy": it.remedy,
        })
    };
    all.iter().map(one).collect()
}
