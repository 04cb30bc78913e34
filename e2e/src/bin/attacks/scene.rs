//! A scene: a project, a home folder and a folder of the attacker's, in which an agent works behind the real hook.
//!
//! [`Scene::new`] sets it once and keeps a copy; [`Scene::restore`] brings the copy back to the same place, because records of
//! the gate hold absolute paths. Everything lies below one folder that is removed at the end.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::guard::{Guard, Users};

const SCENE: &str = include_str!("scene.sh");

/// How long a command of a line may run.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// How long the gate may take to answer; a gate that takes longer does not block.
const GATE_LIMIT: Duration = Duration::from_secs(60);

/// A variable by which processes of a scene are known.
const MARK: &str = "LOCKGATE_ATTACK_SCENE";

/// A place where attacks are tried.
pub(crate) struct Scene {
    root: PathBuf,
    copy: PathBuf,
    bin: PathBuf,
    source: PathBuf,
    program: (u64, i64, u32),
    next_id: u32,
    guard: Option<Guard>,
}

/// What the hook answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The tool may run.
    Pass,
    /// The tool does not run, or a human is asked.
    Stop(String),
}

impl Scene {
    /// Sets a scene below a folder, with a copy of the program.
    ///
    /// # Errors
    /// When that fails, for example because there is no git.
    pub(crate) fn new(folder: &Path, lockgate: &Path, users: Option<&Users>) -> io::Result<Self> {
        let (root, copy, bin) = (folder.join("scene"), folder.join("copy"), folder.join("bin"));
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&bin)?;
        let (program, guard) = (0, users.map(|users| Guard::new(folder, lockgate, users)).transpose()?);
        let source = guard.as_ref().map_or_else(|| lockgate.to_owned(), |guard| guard.wrapper.clone());
        if let Some(guard) = &guard {
            guard.give(&root)?;
        }
        let program = (program, 0, 0);
        let mut scene = Self { root, copy, bin, source, program, next_id: 0, guard };
        scene.put_program()?;
        let built = scene.run(Command::new("bash").args(["-c", SCENE]), &scene.root, b"", COMMAND_LIMIT)?;
        if !built.0.is_some_and(|status| status.success()) {
            return Err(io::Error::other(format!("the scene could not be set: {}", built.1)));
        }
        let project = scene.path("project");
        let installed = scene.lockgate(&["init", "claude-code", "--yes"])?;
        if !project.join(".claude/settings.local.json").exists() {
            return Err(io::Error::other(format!("the hook could not be installed: {}", installed.1)));
        }
        scene.expect("s1", "Read", &json!({"file_path": "a.txt"}), true)?;
        match &scene.guard {
            // There is nothing that an agent could have copied.
            Some(_) => fs::write(scene.path("scratch/old.db"), "")?,
            None => {
                fs::copy(scene.path("home/.local/share/lockgate/lockgate.db"), scene.path("scratch/old.db"))?;
            }
        }
        scene.expect("s1", "Spend", &json!({}), true)?;
        for tool in ["Spend", "Forbidden", "deploy"] {
            scene.expect("s1", tool, &json!({}), false)?;
        }
        copy_tree(&scene.root, &scene.copy)?;
        if let Some(guard) = &mut scene.guard {
            guard.keep()?;
        }
        Ok(scene)
    }

    /// Whether a guardian decides in this scene.
    pub(crate) fn has_guardian(&self) -> bool {
        self.guard.is_some()
    }

    /// Changes files with the rights of the agent's user, by a process of its own.
    pub(crate) fn perform_as_agent(&self, tool: &str, input: &Value) {
        let Ok(program) = std::env::current_exe() else { return };
        let mut command = Command::new(program);
        command.arg("--perform").arg(&self.root).arg(tool).arg(input.to_string());
        let _ = self.run(&mut command, &self.root, b"", COMMAND_LIMIT);
    }

    /// Runs our program in the project, as one who may see the state.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn operator(&self, words: &[&str]) -> io::Result<(Option<ExitStatus>, String)> {
        match &self.guard {
            None => self.lockgate(words),
            Some(guard) => {
                let said = Command::new(&guard.wrapper).args(words).current_dir("/").output()?;
                let text = [said.stdout, said.stderr].concat();
                Ok((Some(said.status), String::from_utf8_lossy(&text).into_owned()))
            }
        }
    }

    fn expect(&mut self, session: &str, tool: &str, input: &Value, passes: bool) -> io::Result<()> {
        let answer = self.ask(session, "project", tool, input)?;
        if (answer == Answer::Pass) == passes {
            return Ok(());
        }
        Err(io::Error::other(format!("the scene is not as it should be: {tool} was answered {answer:?}")))
    }

    /// A path in the scene.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Brings everything back as it was in the beginning.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        self.end_processes();
        if fs::remove_dir_all(&self.root).is_err() {
            let _ =
                Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.root).stderr(Stdio::null()).status();
            fs::remove_dir_all(&self.root)?;
        }
        copy_tree(&self.copy, &self.root)?;
        if !self.has_program() || fs::read_dir(&self.bin)?.count() != 1 {
            fs::remove_dir_all(&self.bin)?;
            fs::create_dir_all(&self.bin)?;
            self.put_program()?;
        }
        match &mut self.guard {
            Some(guard) => guard.restore(),
            None => Ok(()),
        }
    }

    /// Puts the program back where it was.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn put_program(&mut self) -> io::Result<()> {
        let (program, draft) = (self.bin.join("lockgate"), self.bin.with_file_name("draft"));
        fs::create_dir_all(&self.bin)?;
        fs::copy(&self.source, &draft)?;
        fs::rename(&draft, &program)?;
        let data = fs::metadata(&program)?;
        self.program = (data.len(), data.mtime_nsec(), data.mode());
        Ok(())
    }

    /// Whether the program is the one that was put there.
    pub(crate) fn has_program(&self) -> bool {
        let data = fs::symlink_metadata(self.bin.join("lockgate"));
        data.is_ok_and(|data| (data.len(), data.mtime_nsec(), data.mode()) == self.program)
    }

    /// A text with the folders of this scene in it.
    pub(crate) fn filled(&self, text: &str) -> String {
        let path = |path: &str| self.path(path).display().to_string();
        text.replace("@P", &path("project"))
            .replace("@D", &path("scratch"))
            .replace("@U", &path("home"))
            .replace("@H", &path("home/.local/share/lockgate"))
            .replace("@L", &self.bin.join("lockgate").display().to_string())
            .replace("@B", &self.bin.display().to_string())
    }

    /// Asks the hook about a call, as the agent would before it runs the tool.
    ///
    /// # Errors
    /// When the hook cannot be started.
    pub(crate) fn ask(
        &mut self,
        session: &str,
        folder: &str,
        tool: &str,
        input: &Value,
    ) -> io::Result<Answer> {
        self.next_id = self.next_id.wrapping_add(1);
        let event = json!({"session_id": session, "hook_event_name": "PreToolUse", "cwd": self.path(folder),
            "tool_name": tool, "tool_input": input, "tool_use_id": format!("t{}", self.next_id)});
        let mut hook = Command::new(self.bin.join("lockgate"));
        let folder = [self.path(folder), self.root.clone()].into_iter().find(|it| it.is_dir());
        let folder = folder.unwrap_or_else(|| PathBuf::from("/"));
        let ran =
            self.run(hook.args(["hook", "claude-code"]), &folder, event.to_string().as_bytes(), GATE_LIMIT);
        let Ok((Some(status), text)) = ran else {
            // An agent runs the tool where its hook cannot be started or takes too long.
            return Ok(Answer::Pass);
        };
        let reply: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default();
        let said = |key: &str| {
            let value = reply.pointer(&format!("/hookSpecificOutput/{key}"));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Ok(match (status.code(), said("permissionDecision").as_str()) {
            (Some(2), _) => Answer::Stop(text),
            (Some(0), "deny" | "ask") => Answer::Stop(said("permissionDecisionReason")),
            _ => Answer::Pass,
        })
    }

    /// Runs our program in the project.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn lockgate(&self, words: &[&str]) -> io::Result<(Option<ExitStatus>, String)> {
        let project = self.path("project");
        let folder = if project.is_dir() { project } else { self.root.clone() };
        let mut command = Command::new(self.bin.join("lockgate"));
        match self.run(command.args(words), &folder, b"", GATE_LIMIT) {
            // It may have been moved away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, error.to_string())),
            ran => ran,
        }
    }

    /// Runs a script in a bash of its own, without a terminal.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn bash(&self, script: &str, folder: &Path) -> io::Result<(Option<ExitStatus>, String)> {
        // `setsid` takes the terminal away, and its process stays the first of all that the script starts.
        self.run(Command::new("setsid").args(["bash", "-c", script]), folder, b"", COMMAND_LIMIT)
    }

    /// Runs a program with the scene's environment; its status if it ended in time, and all that it wrote.
    fn run(
        &self,
        command: &mut Command,
        folder: &Path,
        stdin: &[u8],
        limit: Duration,
    ) -> io::Result<(Option<ExitStatus>, String)> {
        let output = self.bin.with_file_name("output");
        // What a line has left running may still write to the last one.
        let _ = fs::remove_file(&output);
        let written = fs::File::create(&output)?;
        let mut wrapped = self.guard.as_ref().map(|guard| guard.as_agent(command));
        let command = wrapped.as_mut().unwrap_or(command);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin.display()))
            .env("LANG", "C.UTF-8")
            .env("USER", "me")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
            .env(MARK, &self.root)
            .current_dir(folder)
            .stdin(if stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stderr(written.try_clone()?)
            .stdout(written);
        let mut child = loop {
            match command.spawn() {
                // Another thread has just forked while a copy of the program was being written.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    thread::sleep(Duration::from_millis(5));
                }
                spawned => break spawned?,
            }
        };
        if let Some(mut pipe) = child.stdin.take() {
            let _ = pipe.write_all(stdin);
        }
        let status = wait(&mut child, limit)?;
        if status.is_none() {
            self.end_processes();
            let _ = child.kill();
            let _ = child.wait();
        }
        Ok((status, String::from_utf8_lossy(&fs::read(&output)?).into_owned()))
    }

    /// Ends what lines have left running, known by the scene in its environment.
    pub(crate) fn end_processes(&self) {
        let mark = format!("{MARK}={}", self.root.display());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
                && let Some(process) = rustix::process::Pid::from_raw(id)
            {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
    }
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("`cp -a` failed")) }
}
