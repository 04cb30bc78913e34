//! The guardian: `lockgate serve --guardian`, its clients and its installation, with the real binary.
//!
//! Most tests run everything as one user, in a scratch root. The last ones need root: they make two users of the system, run
//! the guardian as one and the agent as the other, and are skipped loudly elsewhere.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lockgate_testkit::human::{self, Desk, PASSPHRASE, Typed};
use serde_json::{Value, json};

use crate::{
    guarded_gate::{try_lines, try_proxy},
    world::{Said, folder},
};

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");
const POLICY: &str = "block Forbidden\nlimit Spend to 1 per session\nrequire human-approval before deploy\n";

/// A scratch root with a guardian, and a project and a home of the agent's.
pub(crate) struct Guarded {
    top: PathBuf,
    program: PathBuf,
    /// Who runs the agent and the guardian; none for the user who runs the tests.
    pub(crate) agent: Option<u32>,
    guardian: Option<u32>,
    daemon: Option<Child>,
}

impl Guarded {
    /// Everything as one user.
    #[track_caller]
    pub(crate) fn alone(name: &str) -> Self {
        Self::new(folder(name), PathBuf::from(LOCKGATE), None)
    }

    fn new(top: PathBuf, program: PathBuf, users: Option<(&str, &str)>) -> Self {
        let top = fs::canonicalize(top).unwrap();
        for folder in ["project", "home", "home/.config/lockgate"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::write(top.join("home/.config/lockgate/policy.rules"), POLICY).unwrap();
        fs::write(
            top.join("home/.config/lockgate/lockgate.toml"),
            "[hook]\nask = \"wait\"\ndeadline = \"60s\"\n",
        )
        .unwrap();
        human::set_up(&top.join("home"));
        let (agent, guardian) = match users {
            Some((agent, guardian)) => (Some(id(agent)), Some(id(guardian))),
            None => (None, None),
        };
        let this = Self { top, program, agent, guardian, daemon: None };
        if let (Some(user), Some((agent, guardian))) = (agent, users) {
            for folder in ["home", "project"] {
                let owned =
                    Command::new("chown").args(["-R", &user.to_string()]).arg(this.path(folder)).status();
                assert!(owned.unwrap().success());
                fs::set_permissions(this.path(folder), fs::Permissions::from_mode(0o700)).unwrap();
            }
            let words = ["--user", agent, "--as", guardian, "--yes"];
            this.install(&words);
        } else {
            this.install(&["--yes"]);
        }
        // The machine that tests run on may be busy.
        let machine = fs::read_to_string(this.machine()).unwrap();
        fs::write(this.machine(), format!("{machine}deadline = \"60s\"\n")).unwrap();
        this
    }

    fn install(&self, words: &[&str]) {
        let root = self.path("root").display().to_string();
        let all: Vec<&str> = ["guardian", "install", "--root", &root].iter().chain(words).copied().collect();
        let said = Said(self.command(None, &all).output().unwrap());
        assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    pub(crate) fn machine(&self) -> PathBuf {
        self.path("root/etc/lockgate/guardian.toml")
    }

    fn socket(&self) -> PathBuf {
        self.path("root/run/lockgate/guardian.sock")
    }

    /// What belongs to the agent's user, with the guardian.
    pub(crate) fn data(&self) -> PathBuf {
        let user = self.agent.unwrap_or_else(own_id);
        self.path(&format!("root/var/lib/lockgate/users/{user}/lockgate"))
    }

    fn policy(&self) -> PathBuf {
        let user = self.agent.unwrap_or_else(own_id);
        self.path(&format!("root/etc/lockgate/users/{user}/lockgate/policy.rules"))
    }

    /// Our program, run by a user.
    pub(crate) fn command(&self, user: Option<u32>, words: &[&str]) -> Command {
        let mut command = match user {
            Some(user) => as_user(user, &self.program),
            None => Command::new(&self.program),
        };
        command.args(words);
        self.at_home(&mut command);
        command
    }

    fn at_home(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn with_machine<'w>(&self, words: &[&'w str], machine: &'w str) -> Vec<&'w str> {
        ["--machine", machine].into_iter().chain(words.iter().copied()).collect()
    }

    /// Starts the guardian, and waits until it listens.
    pub(crate) fn serve(&mut self) {
        let machine = self.machine().display().to_string();
        let words = self.with_machine(&["serve", "--guardian"], &machine);
        let mut command = self.command(self.guardian, &words);
        let daemon = command.current_dir("/").stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        self.daemon = Some(daemon);
        for _ in 0..600 {
            if UnixStream::connect(self.socket()).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("the guardian does not listen");
    }

    /// Ends the guardian as its service would; its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let mut daemon = self.daemon.take()?;
        let killed = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status();
        assert!(killed.unwrap().success());
        daemon.wait().unwrap().code()
    }

    pub(crate) fn spawn(&self, user: Option<u32>, words: &[&str], input: &str) -> Child {
        let machine = self.machine().display().to_string();
        let mut child = self.command(user, &self.with_machine(words, &machine)).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child
    }

    /// Runs our program as the agent's user.
    pub(crate) fn agent(&self, words: &[&str]) -> Said {
        Said::of(self.spawn(self.agent, words, ""))
    }

    /// Runs our program as the user who runs the tests, which is root where there are two others.
    pub(crate) fn root(&self, words: &[&str]) -> Said {
        Said::of(self.spawn(None, words, ""))
    }

    /// What the guardian says to a message of the agent's user.
    pub(crate) fn sent_by_agent(&self, body: &str) -> String {
        let script = "import socket,struct,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nb=sys.argv[2].encode()\ns.sendall(struct.pack('>I',len(b))+b)\nn=struct.unpack('>I',s.recv(4))[0]\nprint(s.recv(n).decode())";
        let mut command = as_user(self.agent.unwrap(), Path::new("/usr/bin/python3"));
        command.args(["-c", script]).arg(self.socket()).arg(body);
        let said = Said(command.output().unwrap());
        format!("{}{}", said.out(), said.err())
    }

    fn event(&self, session: &str, id: &str, tool: &str, input: &Value) -> String {
        json!({"session_id": session, "hook_event_name": "PreToolUse", "cwd": self.path("project"),
               "tool_name": tool, "tool_input": input, "tool_use_id": id})
        .to_string()
    }

    /// What the hook answers: `pass`, or why not.
    pub(crate) fn ask(&self, session: &str, id: &str, tool: &str) -> String {
        self.ask_about(session, id, tool, &json!({}))
    }

    fn ask_about(&self, session: &str, id: &str, tool: &str, input: &Value) -> String {
        let event = self.event(session, id, tool, input);
        told(&Said::of(self.spawn(self.agent, &["hook", "claude-code"], &event)))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn told(said: &Said) -> String {
    let reply: Value = serde_json::from_str(said.out().trim()).unwrap_or_default();
    let part = |name: &str| reply["hookSpecificOutput"][name].as_str().unwrap_or_default().to_owned();
    match (said.code(), part("permissionDecision").as_str()) {
        (Some(0), "") => "pass".to_owned(),
        (Some(0), "allow") => "pass".to_owned(),
        (Some(0), word) => format!("{word}: {}", part("permissionDecisionReason")),
        _ => said.err(),
    }
}

fn as_user(user: u32, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    let user = user.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--no-new-privs", "--"]).arg(program);
    command
}

fn id(name: &str) -> u32 {
    let said = Command::new("id").args(["-u", name]).output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
}

fn own_id() -> u32 {
    let said = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn hooks_are_answered_by_the_guardian_and_its_policy_counts() {
    let mut world = Guarded::alone("answers");
    world.serve();
    assert_eq!(world.ask("s", "1", "Read"), "pass");
    assert!(world.ask("s", "2", "Forbidden").contains("Forbidden"), "{}", world.ask("s", "2", "Forbidden"));
    // A limit is counted in the guardian's database, and the user's own stays without one.
    assert_eq!(world.ask("s", "3", "Spend"), "pass");
    assert!(world.ask("s", "4", "Spend").starts_with("deny"), "{}", world.ask("s", "4", "Spend"));
    assert!(world.data().join("lockgate.db").exists());
    assert!(!world.path("home/.local/share/lockgate/lockgate.db").exists());
    // The user's own settings switch nothing off.
    fs::write(world.path("home/.config/lockgate/policy.rules"), "block nothing\n").unwrap();
    fs::write(world.path("home/.config/lockgate/lockgate.toml"), "mode = \"observe\"\nprotect = false\n")
        .unwrap();
    assert!(world.ask("new", "1", "Forbidden").starts_with("deny"));
    // The guardian's policy is read again when it changes.
    fs::write(world.policy(), format!("{POLICY}block Extra\n")).unwrap();
    assert!(world.ask("newer", "1", "Extra").starts_with("deny"));
    // What is looked up in a call is seen by the client: links, and what git would do.
    std::os::unix::fs::symlink(world.data(), world.path("project/innocent")).unwrap();
    let input = json!({"command": "rm innocent/lockgate.db"});
    let answer = world.ask_about("s", "5", "Bash", &input);
    assert!(answer.starts_with("deny"), "{answer}");
    assert_eq!(world.end(), Some(0));
    assert!(!world.socket().exists(), "the socket is taken away");
}

#[test]
fn a_project_only_narrows_until_root_trusts_it() {
    let mut world = Guarded::alone("project");
    fs::create_dir_all(world.path("project/.lockgate")).unwrap();
    fs::write(world.path("project/.lockgate/p.rules"), "block Local\n").unwrap();
    fs::write(world.path("project/.lockgate/lockgate.toml"), "mode = \"observe\"\nprotect = false\n")
        .unwrap();
    world.serve();
    assert!(world.ask("s", "1", "Local").starts_with("deny"));
    assert!(world.ask("s", "2", "Forbidden").starts_with("deny"));
    // A session stays under the folder it began in, which the client looks at when it is asked to.
    let below = world.path("project/below");
    fs::create_dir_all(&below).unwrap();
    let event = world
        .event("s", "3", "Local", &json!({}))
        .replace(&format!("\"{}\"", world.path("project").display()), &format!("\"{}\"", below.display()));
    let said = Said::of(world.spawn(None, &["hook", "claude-code"], &event));
    assert!(told(&said).starts_with("deny"), "{}", told(&said));
    // A policy that is gone blocks.
    fs::rename(world.path("project/.lockgate"), world.path("away")).unwrap();
    let answer = world.ask("s", "4", "Read");
    assert!(answer.contains("which is gone"), "{answer}");
    fs::rename(world.path("away"), world.path("project/.lockgate")).unwrap();
    assert_eq!(world.ask("s", "5", "Read"), "pass");
}

#[test]
fn without_a_guardian_that_answers_every_call_is_blocked() {
    let world = Guarded::alone("down");
    let machine = fs::read_to_string(world.machine()).unwrap().replace("60s", "1s");
    fs::write(world.machine(), &machine).unwrap();
    // It is down: no socket, and then a socket at which nobody listens.
    let answer = world.ask("s", "1", "Read");
    assert!(answer.contains("the guardian does not answer"), "{answer}");
    drop(UnixListener::bind(world.socket()).unwrap());
    assert!(world.ask("s", "2", "Read").contains("the guardian does not answer"));
    fs::remove_file(world.socket()).unwrap();
    // It says nothing, nonsense, too much, or closes.
    let listener = UnixListener::bind(world.socket()).unwrap();
    let says: [&'static [u8]; 5] = [
        b"",
        b"\0\0\0\x02{}",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x10{\"patience\": 1}",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ];
    for (number, words) in says.into_iter().enumerate() {
        let guardian = thread::spawn({
            let listener = listener.try_clone().unwrap();
            move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(words).unwrap();
                // One says nothing and stays, the others wait for the client to leave.
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest);
            }
        });
        let answer = world.ask("s", &format!("x{number}"), "Read");
        assert!(answer.contains("the guardian"), "{number}: {answer}");
        assert!(answer.contains("blocked"), "{number}: {answer}");
        guardian.join().unwrap();
    }
    drop(listener);
    // Settings of the machine that cannot be used block too, and so do those that others can write.
    for (text, mode) in [("socket = 1\n", 0o644), (machine.as_str(), 0o666)] {
        fs::write(world.machine(), text).unwrap();
        fs::set_permissions(world.machine(), fs::Permissions::from_mode(mode)).unwrap();
        let answer = world.ask("s", "9", "Read");
        assert!(answer.contains("the settings of the guardian cannot be used"), "{answer}");
    }
}

#[test]
fn one_client_does_not_keep_others_waiting_and_nonsense_is_refused() {
    let mut world = Guarded::alone("clients");
    world.serve();
    // Clients that connect and say nothing, or half of something.
    let slow: Vec<UnixStream> = (0..20)
        .map(|number: u32| {
            let mut stream = UnixStream::connect(world.socket()).unwrap();
            stream.write_all(&[0, 0, 1][..usize::try_from(number % 4).unwrap_or_default().min(3)]).unwrap();
            stream
        })
        .collect();
    assert_eq!(world.ask("s", "1", "Read"), "pass");
    drop(slow);
    let version = lockgate_agents::guardian::VERSION;
    for (frame, expected) in [
        ("{}".to_owned(), "not understood"),
        ("[1, 2".to_owned(), "not understood"),
        (r#"{"version": "0/0", "wants": {"errand": "ping"}}"#.to_owned(), "the guardian of version"),
        (format!(r#"{{"version": "{version}", "wants": {{"errand": "ping"}}}}"#), "\"data\""),
        (
            format!(r#"{{"version": "{version}", "user": 0, "wants": {{"errand": "ping"}}}}"#),
            "not understood",
        ),
        (format!(r#"{{"version": "{version}", "wants": {{"hook": {{"agent": "x"}}}}}}"#), "not understood"),
    ] {
        let answer = exchange(&world.socket(), &u32::try_from(frame.len()).unwrap().to_be_bytes(), &frame);
        assert!(answer.contains(expected), "{frame}: {answer}");
    }
    let answer = exchange(&world.socket(), &[0xff, 0xff, 0xff, 0xff], "");
    assert!(answer.contains("too long"), "{answer}");
    // Another one does not take its place.
    let machine = world.machine().display().to_string();
    let second =
        Said(world.command(None, &world.with_machine(&["serve", "--guardian"], &machine)).output().unwrap());
    assert_eq!(second.code(), Some(2));
    assert!(second.err().contains("answers at"), "{}", second.err());
    assert_eq!(world.ask("s", "2", "Read"), "pass");
    // Calls at once are counted one by one.
    let spent: Vec<Child> = (0..6)
        .map(|number| {
            let event = world.event("race", &format!("r{number}"), "Spend", &json!({}));
            world.spawn(None, &["hook", "claude-code"], &event)
        })
        .collect();
    let passed = spent.into_iter().filter_map(|it| (told(&Said::of(it)) == "pass").then_some(())).count();
    assert_eq!(passed, 1);
}

fn exchange(socket: &Path, head: &[u8], body: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(head).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let (mut length, mut answer) = ([0; 4], Vec::new());
    stream.read_exact(&mut length).unwrap();
    stream.take(u64::from(u32::from_be_bytes(length))).read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn an_installation_is_shown_before_it_is_made_and_taken_away_again() {
    let world = Guarded::alone("install");
    let root = world.path("other").display().to_string();
    let said = world.agent(&["guardian", "install", "--root", &root, "--dry-run"]);
    assert!(said.out().contains("guardian.toml") && said.out().contains("systemctl"), "{}", said.out());
    assert!(said.err().contains("nothing was done") && !world.path("other").exists(), "{}", said.err());
    // Policy and keys were taken over, with rights that fit.
    assert_eq!(fs::read_to_string(world.policy()).unwrap(), POLICY);
    for (path, mode) in [
        ("root/etc/lockgate/guardian.toml", 0o644),
        ("root/var/lib/lockgate", 0o700),
        ("root/run/lockgate", 0o755),
    ] {
        let data = fs::metadata(world.path(path)).unwrap();
        assert_eq!(data.permissions().mode() & 0o777, mode, "{path}");
    }
    assert_eq!(fs::metadata(world.data().join("human.key")).unwrap().permissions().mode() & 0o777, 0o600);
    let unit = fs::read_to_string(world.path("root/etc/systemd/system/lockgate-guardian.service"));
    let unit = unit.unwrap_or_else(|_| "serve --guardian".to_owned());
    assert!(unit.contains("serve --guardian"), "{unit}");
    // Installing again keeps what the guardian has by now.
    fs::write(world.policy(), "block Kept\n").unwrap();
    world.install(&["--yes"]);
    assert_eq!(fs::read_to_string(world.policy()).unwrap(), "block Kept\n");
    let root = world.path("root").display().to_string();
    let said =
        Said(world.command(None, &["guardian", "uninstall", "--root", &root, "--yes"]).output().unwrap());
    assert_eq!(said.code(), Some(0), "{}", said.err());
    assert!(!world.machine().exists() && world.policy().exists(), "{}", said.out());
}

#[test]
fn containers_are_known_by_their_token_alone() {
    let mut world = Guarded::alone("containers");
    let root = world.path("root").display().to_string();
    let words = ["guardian", "install", "--root", &root, "--containers", "--yes"];
    assert_eq!(Said(world.command(None, &words).output().unwrap()).code(), Some(0));
    let machine = fs::read_to_string(world.machine()).unwrap();
    fs::write(world.machine(), format!("{machine}deadline = \"60s\"\n")).unwrap();
    world.serve();
    let user = own_id();
    let token = fs::read_to_string(world.path(&format!("root/var/lib/lockgate/users/{user}/token"))).unwrap();
    let container = world.path("container.toml");
    let text = fs::read_to_string(world.machine()).unwrap().replace("guardian.sock", "containers.sock");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("container_socket"))
        .map(|it| format!("{it}\n"))
        .collect();
    fs::write(&container, format!("{text}token_file = {:?}\n", world.path("token"))).unwrap();
    let ask = |id: &str| {
        let machine = container.display().to_string();
        let words = world.with_machine(&["hook", "claude-code"], &machine);
        let mut child = world.command(None, &words).spawn().unwrap();
        child.stdin.take().unwrap().write_all(world.event("c", id, "Read", &json!({})).as_bytes()).unwrap();
        told(&Said::of(child))
    };
    assert!(ask("1").contains("the guardian does not answer"), "{}", ask("1"));
    for (kept, expected) in [("x".repeat(64), "not that of any user"), (token, "pass")] {
        fs::write(world.path("token"), &kept).unwrap();
        assert!(ask(&kept).contains(expected), "{}", ask(&kept));
    }
    let body =
        format!(r#"{{"version": "{}", "wants": {{"errand": "ping"}}}}"#, lockgate_agents::guardian::VERSION);
    let head = u32::try_from(body.len()).unwrap().to_be_bytes();
    let answer = exchange(&world.path("root/run/lockgate/containers.sock"), &head, &body);
    assert!(answer.contains("shows no token"), "{answer}");
}

/// Two users of the system, taken away at the end.
struct Users {
    agent: String,
    guardian: String,
}

impl Users {
    /// None where this process is not root, or the machine has no `useradd`; that is said.
    fn make(top: &Path) -> Option<Self> {
        let has = |program: &str| {
            ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|it| Path::new(it).join(program).exists())
        };
        if own_id() != 0 || !has("useradd") || !has("setpriv") {
            let mut stderr = std::io::stderr();
            let _ = writeln!(
                stderr,
                "SKIPPED: the guardian with two real users needs root, `useradd` and `setpriv`; nothing was tried"
            );
            return None;
        }
        let number = std::process::id();
        let users = Self { agent: format!("lgt-a{number}"), guardian: format!("lgt-g{number}") };
        let home = top.join("home").display().to_string();
        for (name, words) in [(&users.agent, ["--home-dir", &home]), (&users.guardian, ["--home-dir", "/"])] {
            let made = Command::new("useradd")
                .args(["--system", "--user-group", "--no-create-home", "--shell", "/bin/sh"])
                .args(words)
                .arg(name)
                .status();
            assert!(made.unwrap().success(), "useradd {name}");
        }
        Some(users)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        for name in [&self.agent, &self.guardian] {
            let _ = Command::new("userdel").arg(name).stderr(Stdio::null()).status();
        }
    }
}

/// One test, because users of the system are made for it.
#[test]
fn an_agent_of_another_user_can_neither_read_nor_write_nor_answer() {
    // Not below the folder of the build, which another user may not look into.
    let top = std::env::temp_dir().join(format!("lockgate-guardian-{}", std::process::id()));
    let _ = fs::remove_dir_all(&top);
    fs::create_dir_all(&top).unwrap();
    fs::set_permissions(&top, fs::Permissions::from_mode(0o755)).unwrap();
    let top = fs::canonicalize(top).unwrap();
    if let Some(users) = Users::make(&top) {
        let program = top.join("lockgate");
        fs::copy(LOCKGATE, &program).unwrap();
        let mut world = Guarded::new(top.clone(), program, Some((&users.agent, &users.guardian)));
        world.serve();
        try_as_agent(&world);
        try_to_answer(&world);
        try_lines(&world);
        try_proxy(&world);
        assert_eq!(world.end(), Some(0));
        let answer = world.ask("s", "late", "Read");
        assert!(answer.contains("the guardian does not answer"), "{answer}");
    }
    let _ = fs::remove_dir_all(&top);
}

/// What the agent's user tries, by whatever program.
fn try_as_agent(world: &Guarded) {
    assert_eq!(world.ask("s", "1", "Read"), "pass");
    assert_eq!(world.ask("s", "2", "Spend"), "pass");
    assert!(world.ask("s", "3", "Spend").starts_with("deny"));
    assert!(world.ask("s", "4", "Forbidden").starts_with("deny"));
    let (data, policy) = (world.data().display().to_string(), world.policy().display().to_string());
    let (machine, socket) = (world.machine().display().to_string(), world.socket().display().to_string());
    let program = world.program.display().to_string();
    let run = socket.rsplit_once('/').unwrap().0.to_owned();
    for script in [
        format!("cat {data}/lockgate.key"),
        format!("cat {data}/human.key"),
        format!("ls {data}"),
        format!("cp {data}/lockgate.db /tmp/x"),
        format!("echo x >> {data}/lockgate.db"),
        format!("rm -f {data}/lockgate.db && test ! -e {data}/lockgate.db && ls {data}"),
        format!("echo 'block nothing' > {policy}"),
        format!("rm -f {policy}; test ! -e {policy}"),
        format!("echo > {machine}"),
        format!("mv {machine} {machine}.away"),
        format!("rm -f {socket}; test ! -e {socket}"),
        format!("mv {run} {run}.away"),
        format!("echo x > {program}"),
        format!("LOCKGATE_WARD=$(id -u) {program} --machine {machine} approve --all --yes"),
        format!("LOCKGATE_WARD=$(id -u) {program} --machine {machine} status"),
        format!("XDG_DATA_HOME=$HOME/mine {program} --machine {machine} status"),
        format!("{program} --machine {machine} resume"),
        format!("{program} --machine {machine} passphrase set"),
        format!("{program} --machine {machine} passphrase reset"),
        format!("{program} --machine {machine} trust"),
        format!("{program} --machine {machine} accept-policy --all"),
        format!("{program} --machine {machine} audit prune --keep 0"),
        format!("{program} --machine {machine} guardian uninstall --yes"),
        format!(
            "{program} --machine {machine} guardian uninstall --root {} --yes && test ! -e {machine}",
            world.path("root").display()
        ),
        format!("{program} --machine {machine} serve --guardian"),
    ] {
        let mut command = as_user(world.agent.unwrap(), Path::new("/bin/sh"));
        world.at_home(command.args(["-c", &script]));
        let said = Said(command.stdin(Stdio::null()).output().unwrap());
        assert_ne!(said.code(), Some(0), "{script}: {}{}", said.out(), said.err());
    }
    // Everything is as it was.
    assert!(world.ask("s", "5", "Spend").starts_with("deny"));
    assert!(world.ask("fresh", "1", "Forbidden").starts_with("deny"));
    assert_eq!(world.ask("s", "6", "Read"), "pass");
    let verified = world.root(&["audit", "verify"]);
    assert_eq!(verified.code(), Some(0), "{}{}", verified.out(), verified.err());
    let status = world.agent(&["guardian", "status", "--json"]);
    assert_eq!(status.code(), Some(0), "{}{}", status.out(), status.err());
    let trials = status.json()["trials"].as_array().unwrap().len();
    assert!(trials >= 7, "{}", status.out());
    // A user whom the guardian does not guard gets nothing from it.
    let body = format!(
        r#"{{"version": "{}", "wants": {{"errand": "pending"}}}}"#,
        lockgate_agents::guardian::VERSION
    );
    let answer = exchange(&world.socket(), &u32::try_from(body.len()).unwrap().to_be_bytes(), &body);
    assert!(answer.contains("does not guard user 0"), "{answer}");
}

/// A question: the agent cannot answer it, the human can by the passphrase, and root can.
fn try_to_answer(world: &Guarded) {
    let machine = world.machine().display().to_string();
    let first_question = || -> Value {
        for _ in 0..600 {
            let said = world.agent(&["pending", "--json"]);
            if said.code() == Some(0)
                && let Some(question) = said.json()["questions"].get(0)
            {
                return question.clone();
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("nobody asked anything");
    };
    let ask = |id: &str| {
        let event = world.event("s", id, "deploy", &json!({}));
        world.spawn(world.agent, &["hook", "claude-code"], &event)
    };
    // Root.
    let waiting = ask("d1");
    let name = first_question()["approval"].as_str().unwrap().to_owned();
    for words in [&["approve", "--all", "--yes"][..], &["approve", &name], &["approve", "1"]] {
        let said = world.agent(words);
        assert_eq!(said.code(), Some(2), "{words:?}: {}{}", said.out(), said.err());
    }
    let version = lockgate_agents::guardian::VERSION;
    for passphrase in ["null", "\"\"", "\"wrong one\""] {
        let body = format!(
            r#"{{"version": "{version}", "wants": {{"errand": {{"answer": {{"questions": ["{name}"], "granted": true, "by": "me", "passphrase": {passphrase}}}}}}}}}"#
        );
        let said = world.sent_by_agent(&body);
        assert!(said.contains("refused"), "{passphrase}: {said}");
    }
    assert_eq!(first_question()["answer"], Value::Null);
    let said = world.root(&["approve", &name]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    assert!(said.out().contains("granted by root"), "{}", said.out());
    assert_eq!(told(&Said::of(waiting)), "pass");
    // The human, at a terminal of the agent's user, with the passphrase that the guardian has the key of.
    let waiting = ask("d2");
    let name = first_question()["approval"].as_str().unwrap().to_owned();
    let user = world.agent.unwrap().to_string();
    let words = ["--reuid", &user, "--regid", &user, "--clear-groups", "--"];
    let program = world.program.display().to_string();
    let words: Vec<&str> =
        words.into_iter().chain([program.as_str(), "--machine", &machine, "approve", &name]).collect();
    let mut desk = Desk::new(Path::new("/usr/bin/setpriv"), &words);
    let stdin = [Stdio::piped(), Stdio::piped()];
    desk.command.current_dir(world.path("project")).env_clear().env("HOME", world.path("home"));
    let [out, err] = stdin;
    desk.command.env("PATH", "/usr/bin:/bin").stdout(out).stderr(err);
    let ran = desk.run(Typed::Text(PASSPHRASE));
    let said = Said(ran.output);
    assert_eq!(said.code(), Some(0), "{}{}{}", said.out(), said.err(), ran.terminal);
    assert_eq!(told(&Said::of(waiting)), "pass");
    // A no needs nothing.
    let waiting = ask("d3");
    let name = first_question()["approval"].as_str().unwrap().to_owned();
    let said = world.agent(&["refuse", &name]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    assert!(told(&Said::of(waiting)).starts_with("deny"));
    // Anyone may stop everything; only root goes on.
    assert_eq!(world.agent(&["halt", "stop"]).code(), Some(0));
    assert!(world.ask("s", "h", "Read").contains("stop"));
    assert_eq!(world.agent(&["resume"]).code(), Some(2));
    assert_eq!(world.root(&["resume"]).code(), Some(0));
    assert_eq!(world.ask("s", "i", "Read"), "pass");
    let verified = world.root(&["audit", "verify"]);
    assert_eq!(verified.code(), Some(0), "{}{}", verified.out(), verified.err());
}
