//! The other systems that we measure ourselves beside: how each comes onto this machine, and how it is asked.
//!
//! Each is fetched in a fixed version into a folder of the cache, by the tool of its own language; nothing here names a
//! registry. A system that cannot be fetched is an error in words, and whoever measures goes on without it. No runner
//! is trusted to end: each has a time limit.

mod package;

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use lockgate_bench::{
    job::{Answer, Job, Request, Task},
    work::Language,
};
use serde_json::Value;

/// Whoever has not answered by then is too slow for the table.
const ASK_MAX: Duration = Duration::from_secs(60);

/// An answer longer than this is none.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// As much of what went wrong is told.
const TOLD_CHARS_MAX: usize = 300;

/// How often a runner that has answered is looked at until it ends.
const END_POLL: Duration = Duration::from_millis(2);

/// Tells that a folder was filled to the end, and with what.
const IS_COMPLETE: &str = "complete";

/// A system that is measured.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// What its policies are written in.
    pub(crate) language: Language,
    /// What it can do. Asked for anything else, its runner says why it cannot.
    pub(crate) tasks: &'static [Task],
    kind: Kind,
}

/// How a system is fetched and run.
#[derive(Debug)]
enum Kind {
    /// A package of Python, in a virtual environment of its own.
    Python { package: &'static str, version: &'static str, stem: &'static str, hook: Option<MakeHook> },
    /// A program of a cargo workspace of its own, in `bench/peers/rust`.
    Rust { folder: &'static str, program: &'static str },
    /// One of our own packages, built from source.
    Ours(&'static package::Package),
}

/// From a folder of programs, a policy and a call to the command that decides it.
type MakeHook = fn(&Path, &Path, &Request) -> Hook;

/// Everybody we measure.
pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "Edictum (Python)",
        language: Language::Ruleset,
        tasks: &[Task::Judge, Task::Commit, Task::Load, Task::Recall],
        kind: Kind::Python { package: "edictum", version: "0.19.0", stem: "edictum", hook: None },
    },
    Peer {
        name: "PolicyShield",
        language: Language::WhenThen,
        tasks: &[Task::Commit, Task::Load, Task::Recall],
        kind: Kind::Python {
            package: "policyshield",
            version: "0.14.0",
            stem: "policyshield",
            hook: Some(policyshield_check),
        },
    },
    Peer {
        name: "Invariant",
        language: Language::Invariant,
        tasks: &[Task::Judge, Task::Load, Task::Recall],
        kind: Kind::Python { package: "invariant-ai", version: "0.3.5", stem: "invariant", hook: None },
    },
    Peer {
        name: "Cedar",
        language: Language::Cedar,
        tasks: &[Task::Judge, Task::Load],
        kind: Kind::Rust { folder: "cedar", program: "cedar-runner" },
    },
    Peer {
        name: "Dogwood",
        language: Language::Dogwood,
        tasks: &[Task::Commit, Task::Store, Task::Load, Task::Recall],
        kind: Kind::Rust { folder: "dogwood", program: "dogwood-runner" },
    },
    Peer {
        name: "Lockgate from Python",
        language: Language::Ruleset,
        tasks: &[Task::Commit],
        kind: Kind::Ours(&package::PYTHON),
    },
    Peer {
        name: "Lockgate from Node",
        language: Language::Ruleset,
        tasks: &[Task::Commit],
        kind: Kind::Ours(&package::NODE),
    },
];

/// A system that is not measured.
#[derive(Debug)]
pub(crate) struct LeftOut {
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// Why, in a few words for the table's footnote.
    pub(crate) reason: &'static str,
}

/// Everybody we would measure if we could.
pub(crate) const LEFT_OUT: &[LeftOut] = &[
    LeftOut { name: "Edictum (TypeScript)", reason: "npm finds no package `@edictum/core`" },
    LeftOut { name: "PetriFlow", reason: "is in no package registry" },
];

/// A system that can be asked.
#[derive(Debug)]
pub(crate) struct Installed {
    program: PathBuf,
    args: Vec<OsString>,
    /// Where its own programs are, and what makes a command of them.
    hook: Option<(PathBuf, MakeHook)>,
    time_limit: Duration,
}

/// What a coding agent would run for one call of a tool: a process that decides it and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) args: Vec<OsString>,
    /// What it reads.
    pub(crate) stdin: Vec<u8>,
}

impl Peer {
    /// Fetches it into the cache, unless it is there.
    pub(crate) fn install(&self, cache: &Path) -> Result<Installed, String> {
        let installed = match &self.kind {
            Kind::Python { package, version, stem, hook } => {
                let folder = cache.join(format!("{package}-{version}"));
                let python = runners().join("python");
                make_environment(
                    self.name,
                    &folder,
                    &python.join("requirements").join(format!("{stem}.txt")),
                )?;
                let programs = folder.join("bin");
                Installed {
                    program: programs.join("python"),
                    // Without `-B`, Python would write what it compiled into our sources.
                    args: vec!["-B".into(), python.join(format!("{stem}_runner.py")).into()],
                    hook: hook.map(|hook| (programs, hook)),
                    time_limit: ASK_MAX,
                }
            }
            Kind::Rust { folder, program } => {
                let target = cache.join(program);
                build(self.name, folder, &target)?;
                Installed::at(target.join("release").join(program))
            }
            Kind::Ours(package) => return package.lay_out(&cache.join(package.crate_name)),
        };
        match installed.program.exists() {
            true => Ok(installed),
            false => Err(format!("{}: {} is not there", self.name, installed.program.display())),
        }
    }
}

impl Installed {
    /// A runner that is there already.
    pub(crate) fn at(program: PathBuf) -> Self {
        Self { program, args: Vec::new(), hook: None, time_limit: ASK_MAX }
    }

    /// Has one job done, by a process of its own.
    pub(crate) fn ask(&self, job: &Job) -> Result<Answer, String> {
        let mut question =
            serde_json::to_vec(job).map_err(|error| format!("the job has no JSON: {error}"))?;
        question.push(b'\n');
        let mut runner = Command::new(&self.program)
            .args(&self.args)
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONHOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} cannot be run: {error}", self.program.display()))?;
        let until = Instant::now() + self.time_limit;
        let answer = converse(&mut runner, question, until);
        // Whoever is still running by now was too slow, or goes on after its answer.
        let _ = runner.kill();
        let _ = runner.wait();
        answer.map_err(|failure| match failure {
            Failure::TooSlow => format!("too slow: no answer within {} s", self.time_limit.as_secs_f32()),
            Failure::Told(told) => told,
        })
    }

    /// What a coding agent would run for a call, where the system ships such a program.
    pub(crate) fn hook(&self, policy: &Path, call: &Request) -> Option<Hook> {
        self.hook.as_ref().map(|(programs, hook)| hook(programs, policy, call))
    }
}

/// Ends with 0 where the tool may run, and with 2 where it may not.
fn policyshield_check(programs: &Path, policy: &Path, call: &Request) -> Hook {
    let input = Value::Object(call.input.clone()).to_string();
    Hook {
        program: programs.join("policyshield"),
        args: vec![
            "check".into(),
            "--rules".into(),
            policy.into(),
            "--tool".into(),
            call.tool.clone().into(),
            "--args".into(),
            input.into(),
            "--json".into(),
        ],
        stdin: Vec::new(),
    }
}

/// Where the runners' sources are.
fn runners() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers")
}

/// A virtual environment with all that is required, unless it is there.
fn make_environment(name: &str, folder: &Path, requirements: &Path) -> Result<(), String> {
    let required = fs::read_to_string(requirements).map_err(in_place(requirements))?;
    if is_complete(folder, &required) {
        return Ok(());
    }
    say(&format!("fetching {name} …"));
    // Half of an earlier try would be taken for the whole.
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(in_place(folder))?;
    }
    let is_missing = "fetches it; `apt-get install python3 python3-venv` brings it";
    run(Command::new("python3").args(["-m", "venv"]).arg(folder), "python3", is_missing)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--requirement",
    ]);
    run(pip.arg(requirements), "pip", is_missing)?;
    let mark = folder.join(IS_COMPLETE);
    fs::write(&mark, required).map_err(in_place(&mark))
}

/// Whether all of it was fetched, and nothing else was required then.
fn is_complete(folder: &Path, required: &str) -> bool {
    fs::read_to_string(folder.join(IS_COMPLETE)).is_ok_and(|complete| complete == required)
}

/// The folder of the programs in Rust. Cargo itself knows what is left to do.
fn build(name: &str, folder: &str, target: &Path) -> Result<(), String> {
    let manifest = runners().join("rust").join(folder).join("Cargo.toml");
    say(&format!("building {name} …"));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]).arg(&manifest);
    run(cargo.env("CARGO_TARGET_DIR", target), "cargo", "builds it")
}

/// Runs a tool to its end.
fn run(command: &mut Command, tool: &str, is_for: &str) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("there is no {tool} here, which {is_for}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{tool} failed: {}", why(&output))),
    }
}

/// What a tool said last: some complain on the wrong stream.
fn why(output: &Output) -> String {
    let streams = [&output.stderr, &output.stdout];
    let last = streams.iter().find_map(|stream| last_line(stream));
    last.unwrap_or_else(|| output.status.to_string())
}

/// One line of progress.
#[expect(clippy::print_stderr, reason = "whoever waits sees what for")]
fn say(progress: &str) {
    eprintln!("{progress}");
}

fn in_place(place: &Path) -> impl FnOnce(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", place.display())
}

/// Why there is no answer.
enum Failure {
    TooSlow,
    Told(String),
}

/// Asks the question and hears the answer.
///
/// The three streams have a thread each, because a runner may fill one while we look at another. They are not waited
/// for: a process that the runner left behind could hold a stream open for ever.
fn converse(runner: &mut Child, question: Vec<u8>, until: Instant) -> Result<Answer, Failure> {
    let (Some(mut input), Some(output), Some(complaints)) =
        (runner.stdin.take(), runner.stdout.take(), runner.stderr.take())
    else {
        return Err(Failure::Told("the runner has no streams".to_owned()));
    };
    // A runner that died does not read; how it died is told below.
    thread::spawn(move || input.write_all(&question));
    let answer = hear(move || {
        let mut line = Vec::new();
        let _ = BufReader::new(output.take(ANSWER_BYTES_MAX)).read_until(b'\n', &mut line);
        line
    });
    let complaint = hear(move || last_line_of(complaints));
    let line = answer.recv_timeout(left(until)).map_err(|_| Failure::TooSlow)?;
    let is_well = ends_well(runner, until)?;
    if !is_well || line.trim_ascii().is_empty() {
        let complaint = complaint.recv_timeout(left(until)).ok().flatten();
        let complaint = complaint.unwrap_or_else(|| "it said nothing".to_owned());
        return Err(Failure::Told(format!("the runner died without an answer: {complaint}")));
    }
    serde_json::from_slice(&line).map_err(|_| {
        let line = shorten(String::from_utf8_lossy(&line).trim());
        Failure::Told(format!("the runner's answer cannot be read: {line}"))
    })
}

/// What comes out of work that may never end.
fn hear<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || tell.send(work()));
    heard
}

fn ends_well(runner: &mut Child, until: Instant) -> Result<bool, Failure> {
    loop {
        match runner.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() >= until => return Err(Failure::TooSlow),
            Ok(None) => thread::sleep(END_POLL),
            Err(error) => return Err(Failure::Told(format!("the runner cannot be waited for: {error}"))),
        }
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// The last line that says something, without keeping what came before.
fn last_line_of(stream: impl Read) -> Option<String> {
    BufReader::new(stream).split(b'\n').map_while(Result::ok).filter_map(|line| last_line(&line)).last()
}

fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(shorten)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(TOLD_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use lockgate_bench::work::request;
    use tempfile::tempdir;

    use super::*;

    fn shell(script: &str, time_limit: Duration) -> Installed {
        let args = vec!["-c".into(), script.into()];
        Installed { program: "/bin/sh".into(), args, hook: None, time_limit }
    }

    fn a_job() -> Job {
        Job {
            files: vec!["policy.rules".into()],
            call: Some(request("exec", "command", "ls")),
            ..Job::of(Task::Judge, 1)
        }
    }

    #[test]
    fn a_runner_gets_the_job_and_its_answer_is_heard() {
        // The answer is the task that was asked for, so the question arrived.
        let script =
            r#"read job; task=${job#*'"task":"'}; echo "{\"cannot\": \"${task%%\"*}\"}"; echo noise >&2"#;
        match shell(script, ASK_MAX).ask(&a_job()) {
            Ok(Answer::Cannot { cannot }) => assert_eq!(cannot, "judge"),
            other => panic!("{other:?}"),
        }
        let done = r#"echo '{"version": "1, sh", "verdict": "block", "min": 1, "median": 2.5, "p99": 3, "samples": 5}'"#;
        match shell(done, ASK_MAX).ask(&a_job()) {
            Ok(Answer::Done(done)) => assert_eq!((done.version.as_str(), done.pace.median), ("1, sh", 2.5)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_runner_that_fails_is_told_in_words() {
        let long = format!("the runner's answer cannot be read: {}…", "x".repeat(TOLD_CHARS_MAX));
        let table = [
            (
                "echo first >&2; echo 'no such module' >&2; echo >&2; exit 1",
                "died without an answer: no such module",
            ),
            ("exit 0", "died without an answer: it said nothing"),
            ("kill -9 $$", "died without an answer: it said nothing"),
            (r#"echo '{"cannot": "half"}'; echo late >&2; exit 3"#, "died without an answer: late"),
            ("echo rubbish", "the runner's answer cannot be read: rubbish"),
            (r#"echo '{"version": "1"}'"#, r#"the runner's answer cannot be read: {"version": "1"}"#),
            ("head -c 301 /dev/zero | tr '\\0' x", long.as_str()),
        ];
        for (script, told) in table {
            let error = shell(script, ASK_MAX).ask(&a_job()).unwrap_err();
            assert!(error.contains(told), "{script}: {error}");
        }
        let missing = Installed { program: "/no/such/program".into(), ..shell("", ASK_MAX) };
        let error = missing.ask(&a_job()).unwrap_err();
        assert!(error.starts_with("/no/such/program cannot be run: "), "{error}");
    }

    #[test]
    fn a_runner_that_hangs_is_ended_and_called_too_slow() {
        let limit = Duration::from_millis(200);
        for script in ["exec sleep 1000", r#"echo '{"cannot": "end"}'; exec sleep 1000"#] {
            let error = shell(script, limit).ask(&a_job()).unwrap_err();
            assert_eq!(error, "too slow: no answer within 0.2 s", "{script}");
        }
        // Whoever floods a stream is not waited for, either.
        let error = shell("exec yes >&2", limit).ask(&a_job()).unwrap_err();
        assert_eq!(error, "too slow: no answer within 0.2 s");
    }

    #[test]
    fn a_job_larger_than_a_pipe_does_not_stop_a_runner_that_never_reads() {
        let job = Job { call: Some(request("exec", "command", &"x".repeat(1 << 20))), ..a_job() };
        let answer = shell(r#"echo '{"cannot": "read"}'"#, ASK_MAX).ask(&job);
        assert!(matches!(answer, Ok(Answer::Cannot { .. })), "{answer:?}");
    }

    #[test]
    fn an_environment_that_is_complete_is_not_made_again_and_any_other_is() {
        let folder = tempdir().unwrap();
        let requirements = folder.path().join("requirements.txt");
        let environment = folder.path().join("peer-1");
        fs::create_dir(&environment).unwrap();
        fs::write(&requirements, "peer==1\n").unwrap();
        assert!(!is_complete(&environment, "peer==1\n"), "nothing marks it");
        fs::write(environment.join(IS_COMPLETE), "peer==1\n").unwrap();
        assert!(!is_complete(&environment, "peer==2\n"), "it was made for something else");

        make_environment("peer", &environment, &requirements).unwrap();
        assert!(!environment.join("bin").exists());
    }

    #[test]
    fn a_tool_that_is_missing_or_fails_is_named() {
        let error = run(&mut Command::new("/no/such/tool"), "tool", "fetches it").unwrap_err();
        assert!(error.starts_with("there is no tool here, which fetches it: "), "{error}");
        for script in ["echo much; echo 'no network' >&2; exit 1", "echo 'no network'; exit 1"] {
            let error = run(Command::new("/bin/sh").args(["-c", script]), "tool", "fetches it").unwrap_err();
            assert_eq!(error, "tool failed: no network", "{script}");
        }
    }

    #[test]
    fn every_runner_and_its_requirements_are_there_and_pinned() {
        for peer in PEERS {
            let Kind::Python { package, version, stem, .. } = &peer.kind else { continue };
            let python = runners().join("python");
            assert!(python.join(format!("{stem}_runner.py")).exists(), "{}", peer.name);
            let requirements =
                fs::read_to_string(python.join("requirements").join(format!("{stem}.txt"))).unwrap();
            let mut names = Vec::new();
            for line in requirements.lines() {
                let (name, pin) = line.split_once("==").expect(line);
                names.push((name.split('[').next().unwrap(), pin));
            }
            assert!(names.contains(&(*package, *version)), "{}: {requirements}", peer.name);
        }
    }

    #[test]
    fn a_peer_that_ships_a_command_is_asked_with_the_call() {
        let installed =
            Installed { hook: Some((PathBuf::from("/env/bin"), policyshield_check)), ..shell("", ASK_MAX) };
        let call = request("exec", "command", "it's \"quoted\"");
        let hook = installed.hook(Path::new("policy.yaml"), &call).unwrap();
        assert_eq!(hook.program, Path::new("/env/bin/policyshield"));
        let args: Vec<_> = hook.args.iter().map(|arg| arg.to_str().unwrap()).collect();
        let wanted = ["check", "--rules", "policy.yaml", "--tool", "exec", "--args"];
        assert_eq!(args[..6], wanted);
        let input: Value = serde_json::from_str(args[6]).unwrap();
        assert_eq!(input["command"], "it's \"quoted\"");
        assert!(shell("", ASK_MAX).hook(Path::new("policy.yaml"), &call).is_none());
    }
}
