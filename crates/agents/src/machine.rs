//! The settings of the machine: whose agents the guardian guards, and where it is reached.
//!
//! [`Machine::read`] reads [`FILE`], which only root can write, so no user can switch the guardian off. A file that is there
//! and cannot be used is an error, and hooks block then. [`choose`] names another file for tests and for containers; it
//! counts only where [`FILE`] is missing.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use lockgate::engine::call::plain_mistake;
use serde::{Deserialize, Serialize};

use crate::{platform, text::duration};

/// The settings of the machine.
pub const FILE: &str = "/etc/lockgate/guardian.toml";

/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// How long a client waits for the first word of the guardian, unless the settings say otherwise.
const DEADLINE: Duration = Duration::from_secs(5);

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Names the file that counts where [`FILE`] is missing; once for a process.
pub fn choose(file: &Path) {
    let _ = CHOSEN.set(file.to_path_buf());
}

/// How the guardian of this machine is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The socket on which hooks reach the guardian.
    pub socket: PathBuf,
    /// The number of the user that the guardian runs as.
    pub user: u32,
    /// The numbers of the users whose agents it guards.
    pub users: Vec<u32>,
    /// The folder of the policies, one folder for each of these users; root owns it.
    pub policies: PathBuf,
    /// The folder of keys, state and logs, one folder for each of these users; the guardian owns it.
    pub data: PathBuf,
    /// A second socket for containers: users are known there by their token alone, and root is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_socket: Option<PathBuf>,
    /// The file of the token that a container shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// How long a client waits for the first word of the guardian, as in "5s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// The file these settings are from.
    #[serde(skip)]
    pub file: PathBuf,
}

/// Settings of the machine that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings of the guardian cannot be used, so everything is blocked: {}: {reason}; {remedy}", .file.display())]
pub struct MachineError {
    file: PathBuf,
    reason: String,
    remedy: &'static str,
}

impl MachineError {
    fn new(file: &Path, reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { file: file.to_path_buf(), reason: reason.into(), remedy }
    }

    fn io(file: &Path, error: &io::Error) -> Self {
        Self::new(file, format!("it cannot be read: {error}"), "let every user read it")
    }
}

impl Machine {
    /// The settings of this machine; none where no guardian is installed.
    ///
    /// # Errors
    /// When the file is there and cannot be used, or could have been written by a user who is not root.
    pub fn read() -> Result<Option<Self>, MachineError> {
        let installed = Self::of(Path::new(FILE), false)?;
        match (installed, CHOSEN.get()) {
            (Some(machine), _) => Ok(Some(machine)),
            (None, Some(file)) => Self::of(file, true)?.map_or_else(
                || Err(MachineError::new(file, "it is missing", "name another file")),
                |machine| Ok(Some(machine)),
            ),
            (None, None) => Ok(None),
        }
    }

    /// The settings in a file; `may_be_own` lets the file be that of the user who runs this process.
    fn of(file: &Path, may_be_own: bool) -> Result<Option<Self>, MachineError> {
        let data = match fs::symlink_metadata(file) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A folder in the place of a file, or one that cannot be looked into, may hide a guardian.
            Err(error) => return Err(MachineError::io(file, &error)),
        };
        if !data.is_file() || data.len() > FILE_BYTES_MAX {
            return Err(MachineError::new(
                file,
                "it is not a regular file",
                "run `lockgate guardian install` again",
            ));
        }
        for path in file.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            check_owner(path, may_be_own)?;
        }
        let text = fs::read_to_string(file).map_err(|error| MachineError::io(file, &error))?;
        let machine: Self = toml::from_str(&text).map_err(|error| {
            let remedy = "docs/guardian.md lists what may stand in it";
            MachineError::new(file, plain_mistake(error.message()), remedy)
        })?;
        let machine = Self { file: file.to_path_buf(), ..machine };
        machine.check().map_err(|reason| MachineError::new(file, reason, "correct it as root"))?;
        Ok(Some(machine))
    }

    fn check(&self) -> Result<(), String> {
        let paths =
            [Some(&self.socket), Some(&self.policies), Some(&self.data), self.container_socket.as_ref()];
        let paths = paths.into_iter().flatten().chain(&self.token_file);
        if let Some(path) = paths.into_iter().find(|path| !path.is_absolute()) {
            return Err(format!("`{}` is not an absolute path", path.display()));
        }
        if let Some(text) = &self.deadline {
            let bounds = Duration::from_millis(100)..=Duration::from_secs(60);
            if !duration(text).is_some_and(|time| bounds.contains(&time)) {
                return Err(format!("`deadline = \"{text}\"` is out of range; use 100ms to 60s"));
            }
        }
        Ok(())
    }

    /// The text of the file. Only paths in Unicode can be written.
    pub fn text(&self) -> Option<String> {
        // Strings of JSON are strings of TOML.
        let line =
            |name: &str, path: &Path| Some(format!("{name} = {}\n", serde_json::Value::from(path.to_str()?)));
        let users: Vec<String> = self.users.iter().map(ToString::to_string).collect();
        let mut text = String::from(
            "# Written by `lockgate guardian install`. Only root may change it: see docs/guardian.md.\n",
        );
        text.push_str(&line("socket", &self.socket)?);
        text.push_str(&format!("user = {}\nusers = [{}]\n", self.user, users.join(", ")));
        text.push_str(&line("policies", &self.policies)?);
        text.push_str(&line("data", &self.data)?);
        for (name, path) in [("container_socket", &self.container_socket), ("token_file", &self.token_file)] {
            if let Some(path) = path {
                text.push_str(&line(name, path)?);
            }
        }
        if let Some(deadline) = &self.deadline {
            text.push_str(&format!("deadline = \"{deadline}\"\n"));
        }
        Some(text)
    }

    /// Whether the guardian guards the agents of a user.
    pub fn serves(&self, user: u32) -> bool {
        self.users.contains(&user)
    }

    /// How long a client waits for the first word of the guardian.
    pub fn patience(&self) -> Duration {
        self.deadline.as_deref().and_then(duration).unwrap_or(DEADLINE)
    }

    /// The folder in which the settings of a user are, as `.config` is for others.
    pub fn config_of(&self, user: u32) -> PathBuf {
        self.policies.join(user.to_string())
    }

    /// The folder in which keys, state and log of a user are, as `.local/share` is for others.
    pub fn data_of(&self, user: u32) -> PathBuf {
        self.data.join("users").join(user.to_string())
    }

    /// The file of the token by which containers of a user are known.
    pub fn token_of(&self, user: u32) -> PathBuf {
        self.data_of(user).join("token")
    }
}

/// The home folder of a user, by the system's own list and not by a variable.
pub fn home_of(user: u32) -> Option<PathBuf> {
    account(|fields| Some(fields.get(2)?.parse() == Ok(user)))
        .and_then(|fields| Some(PathBuf::from(fields.get(5)?)))
}

/// The number and the main group of a user, by name.
pub fn user_named(name: &str) -> Option<(u32, u32)> {
    let fields = account(|fields| Some(*fields.first()? == name))?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// The name and the main group of a user.
pub fn name_of(user: u32) -> Option<(String, u32)> {
    let fields = account(|fields| Some(fields.get(2)?.parse() == Ok(user)))?;
    Some((fields.first()?.clone(), fields.get(3)?.parse().ok()?))
}

fn account(is_wanted: impl Fn(&[&str]) -> Option<bool>) -> Option<Vec<String>> {
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let rows = list.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    let row = rows.into_iter().find(|fields| is_wanted(fields) == Some(true))?;
    Some(row.into_iter().map(ToOwned::to_owned).collect())
}

fn check_owner(path: &Path, may_be_own: bool) -> Result<(), MachineError> {
    const ROOT: u32 = 0;
    const STICKY: u32 = 0o1000;
    let data = fs::symlink_metadata(path).map_err(|error| MachineError::io(path, &error))?;
    let Some((owner, mode)) = platform::owner_and_mode(&data) else {
        return Err(MachineError::new(path, "this system does not tell who owns it", "take it away"));
    };
    let is_own = may_be_own && Some(owner) == platform::user();
    // In a folder like `/tmp` only the owner of an entry can replace it.
    let is_shared = may_be_own && data.is_dir() && mode & STICKY != 0;
    if (owner != ROOT && !is_own) || (mode & 0o022 != 0 && !is_shared) {
        let reason = "users who are not root can change it";
        return Err(MachineError::new(path, reason, "run `chown root` and `chmod go-w` on it"));
    }
    Ok(())
}

/// What a file of a token says; tokens are one line.
pub(crate) fn read_token(file: &Path) -> io::Result<String> {
    let data = fs::metadata(file)?;
    if !data.is_file() || data.len() > FILE_BYTES_MAX {
        return Err(io::Error::other("not a short regular file"));
    }
    let text = fs::read_to_string(file)?.trim().to_owned();
    if text.len() < 32 { Err(io::Error::other("a token has at least 32 characters")) } else { Ok(text) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn text() -> String {
        "socket = \"/run/lockgate/guardian.sock\"\nuser = 990\nusers = [1000]\npolicies = \"/etc/lockgate/users\"\n\
         data = \"/var/lib/lockgate\"\n"
            .to_owned()
    }

    #[test]
    fn a_file_that_others_could_have_written_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("guardian.toml");
        let told = |may_be_own| match Machine::of(&file, may_be_own) {
            Ok(Some(machine)) => format!("{:?}", machine.users),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(told(true), "none");
        fs::write(&file, text()).unwrap();
        assert_eq!(told(true), "[1000]");
        // Its folder is below one that everybody may write to.
        assert!(told(false).contains("not root can change it"), "{}", told(false));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(told(true).contains("not root can change it"), "{}", told(true));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        for (wrong, reason) in [
            ("socket = 1".to_owned(), "is needed"),
            (format!("{}off = true\n", text()), "docs/guardian.md lists"),
            (text().replace("\"/run", "\"run"), "not an absolute path"),
            (format!("{}deadline = \"5\"\n", text()), "out of range"),
            (format!("{}deadline = \"2h\"\n", text()), "out of range"),
            (String::new(), "docs/guardian.md lists"),
        ] {
            fs::write(&file, &wrong).unwrap();
            assert!(told(true).contains(reason), "{wrong}: {}", told(true));
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(told(true).contains("not a regular file"), "{}", told(true));
    }

    #[test]
    fn users_are_found_in_the_list_of_the_system() {
        assert_eq!(user_named("root"), Some((0, 0)));
        assert_eq!(name_of(0), Some(("root".to_owned(), 0)));
        assert!(home_of(0).is_some());
        assert_eq!(home_of(u32::MAX), None);
    }
}
