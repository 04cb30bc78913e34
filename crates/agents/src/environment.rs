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

use crate::{
    machine::{self, Machine},
    platform,
};

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
    /// Where the guardian keeps what others keep in their home; none where no guardian guards this user.
    pub ward: Option<Ward>,
}

/// The folders of a user whose agents the guardian guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ward {
    /// In the place of the user's folder of settings.
    pub config: PathBuf,
    /// In the place of the user's folder of data; none for everyone but the guardian.
    pub data: Option<PathBuf>,
}

/// The variable by which root's commands say whose state they mean. It counts only for the guardian's own user.
pub const WARD: &str = "LOCKGATE_WARD";

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let plain = Self {
            home: env::home_dir().filter(|home| home.is_absolute()),
            path: env::split_paths(&path).filter(|folder| folder.is_absolute()).collect(),
            variables: env::vars_os().collect(),
            user: platform::user(),
            ward: None,
        };
        // Settings of the machine that cannot be used stop every command before it comes here.
        let (Ok(Some(machine)), Some(user)) = (Machine::read(), plain.user) else { return plain };
        let meant = plain.variable(WARD).and_then(|text| text.to_str()?.parse::<u32>().ok());
        match meant.filter(|meant| user == machine.user && machine.serves(*meant)) {
            Some(meant) => Self::of_ward(&machine, meant),
            None if machine.serves(user) => {
                Self { ward: Some(Ward { config: machine.config_of(user), data: None }), ..plain }
            }
            None => plain,
        }
    }

    /// The environment in which the guardian decides about calls of a user's agents.
    pub fn of_ward(machine: &Machine, user: u32) -> Self {
        Self {
            home: machine::home_of(user).filter(|home| home.is_absolute()),
            path: Vec::new(),
            variables: BTreeMap::new(),
            user: platform::user(),
            ward: Some(Ward { config: machine.config_of(user), data: Some(machine.data_of(user)) }),
        }
    }

    /// Whether this is the guardian itself, or a command of root in its name.
    pub fn is_guardian(&self) -> bool {
        self.ward.as_ref().is_some_and(|ward| ward.data.is_some())
    }

    /// Whether the guardian owns policy, keys and state of this user.
    pub fn is_guarded(&self) -> bool {
        self.ward.as_ref().is_some_and(|ward| ward.data.is_none())
    }

    /// Where the guardian keeps what its clients saw of folders; none for everyone else.
    pub fn views_folder(&self) -> Option<PathBuf> {
        Some(self.ward.as_ref()?.data.as_ref()?.join("lockgate").join("views"))
    }

    /// A variable that is set to something.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The folder of the user's settings. Tried on Linux only; the others are what their makers document.
    pub fn config_folder(&self) -> Option<PathBuf> {
        if let Some(ward) = &self.ward {
            return Some(ward.config.clone());
        }
        self.folder("XDG_CONFIG_HOME", platform::CONFIG_FOLDER)
    }

    /// The folder of the user's data. Tried on Linux only; the others are what their makers document.
    pub fn data_folder(&self) -> Option<PathBuf> {
        if let Some(data) = self.ward.as_ref().and_then(|ward| ward.data.clone()) {
            return Some(data);
        }
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
