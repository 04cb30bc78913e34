//! What starts the guardian with the machine: a unit of systemd, or a property list of launchd.

use std::path::{Path, PathBuf};

/// The name of the service.
const NAME: &str = "lockgate-guardian";
/// The same for launchd.
const LABEL: &str = "io.lockgate.guardian";

/// What starts services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "a system has at most one of them")]
pub(crate) enum Service {
    /// On most Linux systems.
    Systemd,
    /// On macOS.
    Launchd,
}

/// What a text of a service says.
pub(crate) struct ServiceFacts<'a> {
    /// The program.
    pub(crate) program: &'a Path,
    /// The guardian's user, by name.
    pub(crate) user: &'a str,
    /// The folder of keys, state and logs.
    pub(crate) data: &'a Path,
    /// The folder of the socket.
    pub(crate) run: &'a Path,
}

impl Service {
    /// The file that describes the service.
    pub(crate) fn file(self) -> PathBuf {
        match self {
            Self::Systemd => PathBuf::from(format!("/etc/systemd/system/{NAME}.service")),
            Self::Launchd => PathBuf::from(format!("/Library/LaunchDaemons/{LABEL}.plist")),
        }
    }

    /// What the file says.
    pub(crate) fn text(self, facts: &ServiceFacts<'_>) -> String {
        let ServiceFacts { program, user, data, run } = facts;
        let (program, data, run) = (program.display(), data.display(), run.display());
        match self {
            // It reads no home folder and no network: whatever a client says, there is nothing to be had from it.
            Self::Systemd => format!(
                "[Unit]\n\
                 Description=Lockgate's guardian: decides about the tool calls of coding agents\n\
                 Documentation=man:lockgate(1)\n\
                 \n\
                 [Service]\n\
                 ExecStart={program} serve --guardian\n\
                 User={user}\n\
                 Restart=always\n\
                 RestartSec=1\n\
                 RuntimeDirectory=lockgate\n\
                 RuntimeDirectoryMode=0755\n\
                 UMask=0077\n\
                 ReadWritePaths={data} {run}\n\
                 ProtectSystem=strict\n\
                 ProtectHome=yes\n\
                 PrivateTmp=yes\n\
                 PrivateDevices=yes\n\
                 PrivateNetwork=yes\n\
                 RestrictAddressFamilies=AF_UNIX\n\
                 NoNewPrivileges=yes\n\
                 CapabilityBoundingSet=\n\
                 ProtectKernelTunables=yes\n\
                 ProtectKernelModules=yes\n\
                 ProtectControlGroups=yes\n\
                 RestrictSUIDSGID=yes\n\
                 LockPersonality=yes\n\
                 MemoryMax=1G\n\
                 TasksMax=512\n\
                 \n\
                 [Install]\n\
                 WantedBy=multi-user.target\n"
            ),
            Self::Launchd => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                 \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\">\n\
                 <dict>\n\
                 \x20 <key>Label</key><string>{LABEL}</string>\n\
                 \x20 <key>ProgramArguments</key>\n\
                 \x20 <array><string>{program}</string><string>serve</string><string>--guardian</string></array>\n\
                 \x20 <key>UserName</key><string>{user}</string>\n\
                 \x20 <key>Umask</key><integer>63</integer>\n\
                 \x20 <key>RunAtLoad</key><true/>\n\
                 \x20 <key>KeepAlive</key><true/>\n\
                 </dict>\n\
                 </plist>\n"
            ),
        }
    }

    /// The commands that make the guardian's user, which has no password and no shell.
    pub(crate) fn make_user(self, user: &str, data: &Path) -> Vec<String> {
        match self {
            Self::Systemd => {
                let home = data.display().to_string();
                words(&["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", &home])
                    .into_iter()
                    .chain(words(&["--shell", "/usr/sbin/nologin", user]))
                    .collect()
            }
            Self::Launchd => words(&["sysadminctl", "-addUser", user, "-roleAccount"]),
        }
    }

    /// The commands that start it, now and with the machine.
    pub(crate) fn start(self) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => Vec::from([
                words(&["systemctl", "daemon-reload"]),
                words(&["systemctl", "enable", NAME]),
                words(&["systemctl", "restart", NAME]),
            ]),
            Self::Launchd => {
                let file = self.file().display().to_string();
                Vec::from([words(&["launchctl", "bootstrap", "system", &file])])
            }
        }
    }

    /// The commands that stop it, now and for good.
    pub(crate) fn stop(self) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => Vec::from([words(&["systemctl", "disable", "--now", NAME])]),
            Self::Launchd => Vec::from([words(&["launchctl", "bootout", &format!("system/{LABEL}")])]),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
