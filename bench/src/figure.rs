//! One measured number, as a line of JSON: what tables, plots and pages are made of.

use serde::{Deserialize, Serialize};

/// A number with all that is needed to read it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The question: `decide`, `hook`, `session`, `verify`, `shell`, `mcp`.
    pub bench: String,
    /// What was done: one table and one plot for each.
    pub work: String,
    /// Of which size, where the work has one: rules, earlier calls, sessions. A column of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Who did it, and how: `Lockgate, judge`, `Edictum (Python)`. A row of the table.
    pub who: String,
    /// Who of us did the same, for the ratio: a peer that remembers is held against us remembering. None for ourselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// What the numbers are: `ns`, `bytes`, `per second`.
    pub unit: String,
    /// The best.
    pub min: f64,
    /// The middle one.
    pub median: f64,
    /// One in a hundred is worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// How many samples there were.
    pub samples: usize,
    /// The release, with what it runs on.
    pub version: String,
    /// What has to be said beside it: cited and from where, or only part of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Figure {
    /// What tables show. The best where a work has sizes: on a machine that is shared with others the middle jumps by
    /// half from one minute to the next, and the best does not. The middle of whole processes, because people wait for
    /// those.
    pub fn shown(&self) -> f64 {
        if self.size.is_some() { self.min } else { self.median }
    }
}
