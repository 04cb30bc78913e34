//! Where the files of agents are.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// For one project, or for everything a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project.
    Project,
    /// Everything that the user does.
    User,
}

/// The folders in which an agent looks for its files.
pub(crate) struct Places<'a> {
    pub(crate) project: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) environment: &'a Environment,
    pub(crate) scope: Scope,
}

impl Places<'_> {
    /// A path in the project, or one at home.
    pub(crate) fn choose(&self, in_project: &str, in_home: &str) -> PathBuf {
        match self.scope {
            Scope::Project => self.project.join(in_project),
            Scope::User => self.home.join(in_home),
        }
    }

    /// A folder that a variable names, or one at home.
    pub(crate) fn named_by(&self, variable: &str, in_home: &str) -> PathBuf {
        self.environment.variable(variable).map_or_else(|| self.home.join(in_home), PathBuf::from)
    }
}
