//! What the machine says about itself: folders, programs, variables, the user and the time.
//!
//! [`Environment`] is a value, so that tests can say otherwise. No variable in it changes a verdict; variables only say
//! where folders are.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use lockgate::engine::Time;

use crate::platform;

/// The machine as one process sees it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The folders programs are looked for in.
    pub path: Vec<PathBuf>,
    /// The variables of the process.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's number, where users have one.
    pub user: Option<u32>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        Self {
            home: env::home_dir().filter(|home| home.is_absolute()),
            path: env::split_paths(&path).filter(|folder| folder.is_absolute()).collect(),
            variables: env::vars_os().collect(),
            user: platform::user(),
        }
    }

    /// A variable that is set to something.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The folder of the user's settings. Tried on Linux only; the others are what their makers document.
    pub fn config_folder(&self) -> Option<PathBuf> {
        self.folder("XDG_CONFIG_HOME", platform::CONFIG_FOLDER)
    }

    /// The folder of the user's data. Tried on Linux only; the others are what their makers document.
    pub fn data_folder(&self) -> Option<PathBuf> {
        self.folder("XDG_DATA_HOME", platform::DATA_FOLDER)
    }

    fn folder(&self, variable: &str, own: &str) -> Option<PathBuf> {
        // Relative ones do not count, as the specification of these variables says.
        let set = self.variable(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
        set.or_else(|| Some(self.home.as_ref()?.join(own)))
    }
}

/// The machine's time; 0 where its clock is set before 1970.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
