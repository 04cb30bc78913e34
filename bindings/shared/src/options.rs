//! What a gate is built with besides its policy and the functions of the host.

use std::{collections::HashMap, error::Error, time::Duration};

use lockgate::{Gate, GateBuilder, Mode, Policy, StoreUrlError};
use serde::Deserialize;

/// What a gate is built with, as both packages write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    store: Option<String>,
    mode: String,
    names: Vec<(String, Vec<String>)>,
    active: Option<Vec<String>>,
    answer_seconds: Option<f64>,
    result_seconds: Option<f64>,
    run_programs: bool,
    restore: HashMap<String, String>,
}

impl Options {
    /// A gate under this policy that still takes the functions of the host.
    ///
    /// # Errors
    /// When the store cannot be opened, or an option has a value that it cannot have.
    pub fn builder(self, policy: &Policy) -> Result<GateBuilder, OptionError> {
        let mut builder = Gate::builder(policy.clone()).mode(mode(&self.mode)?);
        if let Some(url) = &self.store {
            builder = builder.store(url).map_err(OptionError::Store)?;
        }
        for (session, saved) in &self.restore {
            builder = builder.restore(session, saved).map_err(|error| OptionError::Saved(error.into()))?;
        }
        for (name, members) in self.names {
            builder = builder.name(&name, members);
        }
        if let Some(active) = self.active {
            builder = builder.active(active);
        }
        if let Some(time) = self.answer_seconds {
            builder = builder.answer_time(seconds(time)?);
        }
        if let Some(time) = self.result_seconds {
            builder = builder.result_time(seconds(time)?);
        }
        Ok(if self.run_programs { builder.run_programs() } else { builder })
    }
}

/// A gate cannot be built with these options.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// Sessions cannot be stored there.
    #[error(transparent)]
    Store(StoreUrlError),
    /// A session that was saved cannot be read.
    #[error("{0}")]
    Saved(#[source] Box<dyn Error + Send + Sync>),
    /// There is no such mode.
    #[error("`{0}` is not a mode; use `enforce` or `observe`")]
    Mode(String),
    /// There is no such time.
    #[error("{0} is not a number of seconds")]
    Seconds(f64),
}

fn mode(word: &str) -> Result<Mode, OptionError> {
    match word {
        "enforce" => Ok(Mode::Enforce),
        "observe" => Ok(Mode::Observe),
        other => Err(OptionError::Mode(other.to_owned())),
    }
}

/// A number of seconds as the host wrote it.
pub(crate) fn seconds(time: f64) -> Result<Duration, OptionError> {
    Duration::try_from_secs_f64(time).map_err(|_| OptionError::Seconds(time))
}
