//! Policies from files and texts, and what is proved about them.

use std::path::PathBuf;

use lockgate::CustomNames;
use lockgate_bindings::{data, findings, mistakes, rules_about};
use pyo3::{prelude::*, types::PyDict};

use crate::{convert::to_python, error, ruling::form, session::tool_call};

/// Rules that were read and compiled.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Policy(pub(crate) lockgate::Policy);

/// What a text in YAML or JSON holds, by the parser that reads policies.
#[pyfunction]
pub(crate) fn read_data<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let read = data(name, text).map_err(|error| error::policy(&error.to_string(), &mistakes(&error)))?;
    to_python(py, &read)
}

#[pymethods]
impl Policy {
    /// Reads files and folders, and then texts with the names that stand for their files. `selectors` are names that the
    /// host describes calls under.
    #[new]
    #[pyo3(signature = (files = Vec::new(), texts = Vec::new(), selectors = Vec::new()))]
    fn new(
        py: Python<'_>,
        files: Vec<PathBuf>,
        texts: Vec<(String, String)>,
        selectors: Vec<String>,
    ) -> PyResult<Self> {
        let loaded = py.detach(|| {
            let mut builder =
                lockgate::Policy::builder().files(files).custom_names(CustomNames { selectors });
            for (name, text) in texts {
                builder = builder.text(&name, text);
            }
            builder.load()
        });
        loaded.map(Self).map_err(|error| error::policy(&error.to_string(), &mistakes(&error)))
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
        to_python(py, &findings(&self.0))
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

    /// The rules that look at calls of a tool or at their results, in file order.
    fn rules_about<'py>(&self, py: Python<'py>, tool: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &rules_about(&self.0, tool))
    }

    /// What the gate sees in a call. Nothing is judged.
    #[pyo3(signature = (tool, input = None, **about))]
    fn see<'py>(
        &self,
        py: Python<'py>,
        tool: &str,
        input: Option<&Bound<'py, PyAny>>,
        about: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = tool_call(tool, input, about)?;
        let sight = py.detach(|| self.0.see(call).map(|sight| form(&sight)));
        to_python(py, &sight.map_err(|error| error::input(error.to_string()))?)
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Policy of {} rules, {}>", self.0.rule_names().len(), self.0.hash())
    }
}
