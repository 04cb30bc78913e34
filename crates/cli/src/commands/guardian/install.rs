//! `lockgate guardian install`.

use std::{
    env, fs,
    io::{self, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lockgate_agents::{
    Environment,
    machine::{self, FILE, Machine},
};

use super::{
    arguments::InstallArguments,
    export::{self, Exported, Kind},
    steps::{Owner, Step, Way, settle},
};
use crate::{
    console::{CommandError, Console, Ending},
    platform,
    service::{Service, ServiceFacts},
};

/// Where the program is put if it lies where others can change it.
const PROGRAM: &str = "/usr/local/bin/lockgate";
const POLICIES: &str = "/etc/lockgate/users";
const DATA: &str = "/var/lib/lockgate";
const RUN: &str = "/run/lockgate";
const ROOT: Owner = Owner { user: 0, group: 0 };
/// The number that stands for a user who is not there yet, until they are.
const NOBODY_YET: u32 = u32::MAX;

pub(super) fn run(
    arguments: &InstallArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let Some(service) = platform::SERVICE else {
        return Err(CommandError::Said("the guardian is not supported on this system yet".to_owned()));
    };
    let is_real = arguments.root.is_none();
    if is_real && platform::user() != Some(0) && !arguments.dry_run {
        return Err(CommandError::Said(
            "only root can install the guardian; run it with `sudo`, or look with `--dry-run`".to_owned(),
        ));
    }
    // The user has to be there before files can be given to them.
    if is_real && machine::user_named(&arguments.guardian).is_none() && !arguments.dry_run {
        let words = service.make_user(&arguments.guardian, Path::new(DATA));
        let way = Way { dry_run: false, yes: arguments.yes, runs: true, next: &[] };
        let made = settle(&[Step::Run { words, user: None, may_fail: false }], &way, false, console)?;
        if made != Ending::Yes {
            return Ok(made);
        }
    }
    let installation = Installation::new(arguments, service)?;
    let steps = installation.steps(arguments)?;
    let next = installation.next();
    let way = Way { dry_run: arguments.dry_run, yes: arguments.yes, runs: is_real, next: &next };
    settle(&steps, &way, json, console)
}

/// What is installed, for whom and where.
struct Installation {
    service: Service,
    /// Before every path.
    root: Option<PathBuf>,
    guardian: Owner,
    guardian_name: String,
    users: Vec<(String, Owner)>,
    /// The program that hooks and the service run, and where it is copied from if it is not there yet.
    program: (PathBuf, Option<PathBuf>),
}

impl Installation {
    fn new(arguments: &InstallArguments, service: Service) -> Result<Self, CommandError> {
        let root = arguments.root.as_ref().map(std::path::absolute).transpose()?;
        let own = platform::user().unwrap_or_default();
        let guardian = match (machine::user_named(&arguments.guardian), &root) {
            (Some((user, group)), _) => Owner { user, group },
            // In a scratch folder without such a user, the one who runs this stands for it.
            (None, Some(_)) => {
                Owner { user: own, group: machine::name_of(own).map_or(own, |(_, group)| group) }
            }
            (None, None) => Owner { user: NOBODY_YET, group: NOBODY_YET },
        };
        let mut users = Vec::new();
        for name in named_users(arguments, own)? {
            let found = machine::user_named(&name).or_else(|| {
                let user: u32 = name.parse().ok()?;
                Some((user, machine::name_of(user)?.1))
            });
            let Some((user, group)) = found else {
                return Err(CommandError::Said(format!("there is no user `{name}`; name one with `--user`")));
            };
            let is_same = user == guardian.user || user == 0;
            if is_same && root.is_none() {
                return Err(CommandError::Said(format!(
                    "agents of `{name}` cannot be guarded, because that user can change everything; run agents as another \
                     user, and name it with `--user`"
                )));
            }
            users.push((name, Owner { user, group }));
        }
        let running = env::current_exe()?;
        let program = match root.is_some() || is_safe(&running) {
            true => (running, None),
            false => (PathBuf::from(PROGRAM), Some(running)),
        };
        let guardian_name = arguments.guardian.clone();
        Ok(Self { service, root, guardian, guardian_name, users, program })
    }

    /// A path below the root.
    fn at(&self, path: &str) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }

    fn machine(&self, arguments: &InstallArguments) -> Machine {
        Machine {
            socket: self.at(RUN).join("guardian.sock"),
            user: self.guardian.user,
            users: self.users.iter().map(|(_, owner)| owner.user).collect(),
            policies: self.at(POLICIES),
            data: self.at(DATA),
            container_socket: arguments.containers.then(|| self.at(RUN).join("containers.sock")),
            token_file: None,
            deadline: None,
            file: self.at(FILE),
        }
    }

    fn steps(&self, arguments: &InstallArguments) -> Result<Vec<Step>, CommandError> {
        let machine = self.machine(arguments);
        let folder = |path: PathBuf, owner, mode| Step::Folder { path, owner, mode };
        let mut steps = Vec::new();
        if let (program, Some(from)) = &self.program {
            steps.push(Step::Program { from: from.clone(), to: program.clone() });
        }
        steps.push(folder(self.at("/etc/lockgate"), ROOT, 0o755));
        steps.push(folder(machine.policies.clone(), ROOT, 0o755));
        steps.push(folder(machine.data.clone(), self.guardian, 0o700));
        steps.push(folder(machine.data.join("users"), self.guardian, 0o700));
        if self.root.is_some() || self.service == Service::Launchd {
            // Systemd makes it when it starts the service.
            steps.push(folder(self.at(RUN), self.guardian, 0o755));
        }
        for (name, owner) in &self.users {
            steps.extend(self.steps_of(name, *owner, &machine, arguments)?);
        }
        let text = machine
            .text()
            .ok_or_else(|| CommandError::Said("the folder's name is not Unicode".to_owned()))?;
        steps.push(Step::File {
            path: machine.file.clone(),
            bytes: text.into_bytes(),
            owner: ROOT,
            mode: 0o644,
        });
        let facts = ServiceFacts {
            program: &self.program.0,
            user: &self.guardian_name,
            data: &machine.data,
            run: &self.at(RUN),
        };
        let unit = self.at(&self.service.file().display().to_string());
        if let Some(parent) = unit.parent().filter(|_| self.root.is_some()) {
            steps.push(folder(parent.to_path_buf(), ROOT, 0o755));
        }
        let bytes = self.service.text(&facts).into_bytes();
        steps.push(Step::File { path: unit, bytes, owner: ROOT, mode: 0o644 });
        let starts = self.service.start().into_iter();
        steps.extend(starts.map(|words| Step::Run { words, user: None, may_fail: false }));
        Ok(steps)
    }

    /// Policy, state and hooks of one user.
    fn steps_of(
        &self,
        name: &str,
        owner: Owner,
        machine: &Machine,
        arguments: &InstallArguments,
    ) -> Result<Vec<Step>, CommandError> {
        let exported = self.exported(owner).map_err(|error| {
            CommandError::Said(format!(
                "what `{name}` has cannot be read: {error}; mend it, or name another user"
            ))
        })?;
        let config = machine.config_of(owner.user).join("lockgate");
        let data = machine.data_of(owner.user).join("lockgate");
        let has_own = fs::read_dir(&config).is_ok_and(|mut entries| entries.next().is_some());
        let has_state = data.join("lockgate.db").exists();
        let mut steps = Vec::new();
        if let (program, Some(_)) = &self.program {
            let words = |agent: &String| {
                let words = [&program.display().to_string(), "init", agent, "--user", "--yes"];
                words.iter().map(|word| (*word).to_owned()).collect()
            };
            let init = |agent| Step::Run { words: words(agent), user: Some(owner), may_fail: true };
            steps.extend(exported.agents.iter().map(init));
        }
        let guardian = self.guardian;
        // A folder of settings without a policy is a mistake; without the folder the built-in policy is in force.
        let has_policy = exported.files.iter().any(|file| file.kind == Kind::Policy);
        if has_policy || has_own {
            let path = machine.config_of(owner.user);
            steps.push(Step::Folder { path: path.clone(), owner: ROOT, mode: 0o755 });
            steps.push(Step::Folder { path: path.join("lockgate"), owner: ROOT, mode: 0o755 });
        }
        for path in [machine.data_of(owner.user), data.clone()] {
            steps.push(Step::Folder { path, owner: guardian, mode: 0o700 });
        }
        for file in exported.files {
            // What the guardian has by now is never replaced by what an agent could have changed since.
            let (top, owner, folder_mode, mode) = match file.kind {
                Kind::Policy if has_own => continue,
                // But for what `init` has recorded since about hooks: root installs what there is now.
                Kind::State if (has_state || arguments.fresh) && !file.path.starts_with("hooks") => continue,
                Kind::Policy => (&config, ROOT, 0o755, 0o644),
                Kind::State => (&data, guardian, 0o700, 0o600),
            };
            let parents = file.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
            let mut parents: Vec<PathBuf> = parents.map(|path| top.join(path)).collect();
            parents.reverse();
            for path in parents {
                let is_known =
                    |step: &Step| matches!(step, Step::Folder { path: known, .. } if *known == path);
                if !steps.iter().any(is_known) {
                    steps.push(Step::Folder { path, owner, mode: folder_mode });
                }
            }
            steps.push(Step::File { path: top.join(file.path), bytes: file.bytes, owner, mode });
        }
        if arguments.containers && !machine.token_of(owner.user).exists() {
            let (path, bytes) = (machine.token_of(owner.user), token()?.into_bytes());
            steps.push(Step::File { path, bytes, owner: guardian, mode: 0o600 });
        }
        Ok(steps)
    }

    /// What a user has, read with that user's rights.
    fn exported(&self, owner: Owner) -> io::Result<Exported> {
        if platform::user() == Some(owner.user) {
            return export::of_user(&Environment { ward: None, ..Environment::of_process() });
        }
        if platform::user() != Some(0) {
            return Err(io::Error::other("only root can look at what another user has"));
        }
        let home =
            machine::home_of(owner.user).ok_or_else(|| io::Error::other("the user has no home folder"))?;
        let mut child = Command::new(env::current_exe()?);
        child.args(["guardian", "export"]).env_clear().env("HOME", home).current_dir("/");
        platform::as_user(&mut child, owner.user, owner.group);
        let mut child = child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
        let read = Exported::read(BufReader::new(out));
        let status = child.wait()?;
        match status.success() {
            true => read,
            false => Err(io::Error::other(format!("reading it as that user ended with {status}"))),
        }
    }

    fn next(&self) -> Vec<String> {
        let machine = self.at(FILE).display().to_string();
        let mut next = Vec::new();
        match &self.root {
            Some(_) => {
                next.push(format!("written; serve it with `lockgate --machine {machine} serve --guardian`"))
            }
            None => {
                let names: Vec<&str> = self.users.iter().map(|(name, _)| name.as_str()).collect();
                next.push(format!("the guardian guards the agents of {}", names.join(", ")));
                next.push(
                    "look with `lockgate guardian status`, as that user; answer with `sudo lockgate approve`"
                        .to_owned(),
                );
                next.push(format!("policies are in {POLICIES}, and only root changes them"));
            }
        }
        next
    }
}

fn named_users(arguments: &InstallArguments, own: u32) -> Result<Vec<String>, CommandError> {
    if !arguments.users.is_empty() {
        return Ok(arguments.users.clone());
    }
    let by_sudo = env::var("SUDO_USER").ok().filter(|name| !name.is_empty() && own == 0);
    match by_sudo {
        Some(name) => Ok(Vec::from([name])),
        None if own != 0 || arguments.root.is_some() => Ok(Vec::from([own.to_string()])),
        None => Err(CommandError::Said("say whose agents are to be guarded, with `--user NAME`".to_owned())),
    }
}

/// Whether only root can change a program.
fn is_safe(program: &Path) -> bool {
    program.ancestors().all(|path| {
        fs::symlink_metadata(path).is_ok_and(|data| {
            platform::owner(&data) == Some(0) && platform::mode(&data).is_some_and(|mode| mode & 0o022 == 0)
        })
    })
}

/// 32 random bytes in hexadecimal digits.
fn token() -> Result<String, CommandError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(CommandError::said)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
