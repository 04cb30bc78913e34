//! A server as a process of ours.
//!
//! [`start`] gives a [`Link`] to it and the [`Child`] that ends it. It gets a process group of its own, and nothing of
//! that group outlives the server or the [`Child`]: a process that gets a signal to end drops it or calls
//! [`Child::end`]. A process that leaves the group on purpose gets away, and when this process is killed outright the
//! server only sees its input end: a signal from the system would need code between fork and exec, which is unsafe.

use std::{
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    process::{ChildStdout, Command},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    link::{Incoming, Link, TransportEnd, pipe},
    stdio::{ReadEnd, read_lines, read_to_break, write_lines},
};
use crate::platform::{self, Group};

/// How long a server may take to end by itself once its input is closed.
const CLOSED_FOR: Duration = Duration::from_secs(2);

/// How long it may take after SIGTERM.
const TERMINATED_FOR: Duration = Duration::from_secs(3);

/// How long the rest of its group may take once the server itself has ended.
const LEFT_FOR: Duration = Duration::from_millis(500);

/// How often it is looked whether anything of the group is left.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long its output may stay silent and open once it has ended: a process outside the group holds it.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// The longest line that is passed on from its standard error, in bytes; a longer one comes in pieces.
const STDERR_LINE_BYTES_MAX: usize = 8 * 1024;

/// How to start a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: String,
    /// What it is given.
    pub args: Vec<String>,
    /// Variables on top of our own.
    pub env: Vec<(String, String)>,
    /// Where it runs; by default in the current folder.
    pub folder: Option<PathBuf>,
}

/// A server process and everything in its group.
#[derive(Debug)]
pub struct Child {
    group: Group,
    close: Option<oneshot::Sender<()>>,
    ended: watch::Receiver<Option<String>>,
    keeper: JoinHandle<()>,
    errors: JoinHandle<()>,
}

/// Starts a server.
///
/// # Errors
/// When there is no such program or it cannot be run.
pub fn start(command: &ServerCommand) -> io::Result<(Link, Child)> {
    launch(command, None)
}

/// Starts one of several servers: its name is the prefix of each line that it writes to standard error.
///
/// # Errors
/// When there is no such program or it cannot be run.
pub fn start_as(name: &str, command: &ServerCommand) -> io::Result<(Link, Child)> {
    launch(command, Some(name))
}

impl Child {
    /// Ends the server and its group: closes its input, then terminates it, then kills it, with a while to
    /// obey after each. What it prints meanwhile can still be read from its link.
    pub async fn end(mut self) {
        drop(self.close.take());
        if timeout(CLOSED_FOR, &mut self.keeper).await.is_err() {
            self.group.terminate();
            if timeout(TERMINATED_FOR, &mut self.keeper).await.is_err() {
                self.group.kill();
                let _ = timeout(LEFT_FOR, &mut self.keeper).await;
            }
        }
        let _ = timeout(LEFT_FOR, &mut self.errors).await;
    }

    /// Why the server has ended; none while it runs.
    pub fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Kills the whole group at once.
    pub fn kill(&self) {
        self.group.kill();
        // Without process groups, dropping the process kills it.
        if !platform::HAS_GROUPS {
            self.keeper.abort();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(command: &ServerCommand, name: Option<&str>) -> io::Result<(Link, Child)> {
    let mut process = Command::new(&command.program);
    process.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value)));
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    platform::start_in_group(&mut process);
    let mut process = process.spawn()?;
    let group = Group::of(&process);
    let taken = (process.stdin.take(), process.stdout.take(), process.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = taken else {
        return Err(io::Error::other("the server has no pipes"));
    };

    let (link, TransportEnd { say, hear }) = pipe();
    let (tell_ended, ended) = watch::channel(None);
    let (close, closing) = oneshot::channel::<()>();
    tokio::spawn(write_lines(stdin, hear, async {
        let _ = closing.await;
    }));
    tokio::spawn(hear_out(stdout, say, ended.clone()));
    let errors = tokio::spawn(pass_on(stderr, tokio::io::stderr(), name.map(str::to_owned)));
    let keeper = tokio::spawn(keep(process, group.clone(), tell_ended));
    Ok((link, Child { group, close: Some(close), ended, keeper, errors }))
}

/// Waits for the server to end, and sees to it that the rest of its group ends too.
async fn keep(mut process: tokio::process::Child, group: Group, tell_ended: watch::Sender<Option<String>>) {
    let status = process.wait().await;
    group.outlast(LEFT_FOR, LOOK_EVERY).await;
    tell_ended.send_replace(Some(match status {
        Ok(status) => sentence_of(status),
        Err(error) => format!("the server cannot be waited for: {error}"),
    }));
}

fn sentence_of(status: ExitStatus) -> String {
    if let Some(signal) = platform::signal_of(status) {
        return format!("the server was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("the server ended with exit code {code}"),
        None => "the server ended".to_owned(),
    }
}

/// Reads the server's output until it ends, and then reports why.
async fn hear_out(
    stdout: ChildStdout,
    say: mpsc::Sender<Incoming>,
    mut ended: watch::Receiver<Option<String>>,
) {
    let silent = || {
        let mut ended = ended.clone();
        async move {
            let _ = ended.wait_for(Option::is_some).await;
            sleep(SILENT_FOR).await;
        }
    };
    let instead = match read_lines(stdout, &say, silent).await {
        ReadEnd::Unheard => return,
        ReadEnd::Failed(error) => format!("the output of the server cannot be read: {error}"),
        ReadEnd::Closed | ReadEnd::Cut => "the server closed its output".to_owned(),
    };
    let known = timeout(CLOSED_FOR, ended.wait_for(Option::is_some)).await;
    let known = known.ok().and_then(Result::ok).and_then(|reason| reason.clone());
    let _ = say.send(Incoming::Gone { reason: known.unwrap_or(instead), about: None }).await;
}

/// Passes lines on, each in one piece so that several servers do not write into each other's lines.
async fn pass_on(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, name: Option<String>) {
    let mut from = BufReader::new(from);
    let prefix = name.map(|name| format!("[{name}] ")).unwrap_or_default();
    let mut line = Vec::new();
    loop {
        line.clear();
        line.extend_from_slice(prefix.as_bytes());
        match read_to_break(&mut from, &mut line, STDERR_LINE_BYTES_MAX).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // A closed stderr must not stop the server.
        let _ = to.write_all(&line).await;
        let _ = to.flush().await;
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::transport::link::Outgoing;

    fn shell(script: &str) -> ServerCommand {
        ServerCommand {
            program: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            ..Default::default()
        }
    }

    async fn all_of(link: &mut Link) -> (Vec<String>, Option<String>) {
        let mut said = Vec::new();
        while let Some(incoming) = link.from.recv().await {
            match incoming {
                Incoming::Message(text) | Incoming::Unreadable(text) => said.push(text),
                Incoming::Gone { reason, about } => {
                    assert_eq!(about, None);
                    return (said, Some(reason));
                }
            }
        }
        (said, None)
    }

    async fn first_of(link: &mut Link) -> String {
        match link.from.recv().await {
            Some(Incoming::Message(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_server_hears_and_says_lines() {
        let (mut link, child) =
            start(&ServerCommand { program: "cat".to_owned(), ..Default::default() }).unwrap();
        for n in 0..200 {
            let text = format!("{{\"n\":{n}}}");
            link.to.send(Outgoing { text: text.clone(), ..Outgoing::default() }).await.unwrap();
            assert_eq!(first_of(&mut link).await, text);
        }
        child.end().await;
        assert_eq!(all_of(&mut link).await, (vec![], Some("the server ended with exit code 0".to_owned())));
    }

    #[tokio::test]
    async fn the_end_of_a_server_is_told_after_all_it_said() {
        let table: [(&str, &[&str], &str); 5] = [
            ("echo 1; echo 2; exit 1", &["1", "2"], "the server ended with exit code 1"),
            ("exit 0", &[], "the server ended with exit code 0"),
            ("printf last; exit 7", &["last"], "the server ended with exit code 7"),
            ("echo 1; kill -9 $$", &["1"], "the server was ended by signal 9"),
            // A helper that inherits the output does not keep the conversation open.
            ("sleep 1000 & echo 1; exit 3", &["1"], "the server ended with exit code 3"),
        ];
        for (script, said, reason) in table {
            let (mut link, _child) = start(&shell(script)).unwrap();
            let said: Vec<_> = said.iter().map(ToString::to_string).collect();
            assert_eq!(all_of(&mut link).await, (said, Some(reason.to_owned())), "{script}");
        }
    }

    #[tokio::test]
    async fn a_server_without_output_is_gone_though_it_runs() {
        let (mut link, child) = start(&shell("exec >&-; sleep 1000")).unwrap();
        assert_eq!(all_of(&mut link).await, (vec![], Some("the server closed its output".to_owned())));
        assert_eq!(child.ended(), None);
    }

    #[tokio::test]
    async fn variables_arguments_and_the_folder_are_as_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = shell("echo $1; echo $OF_TEST; echo ${PATH:+inherited}; pwd -P");
        command.args.extend(["sh".to_owned(), "one two".to_owned()]);
        command.env.push(("OF_TEST".to_owned(), "told".to_owned()));
        command.folder = Some(folder.path().to_owned());
        let (mut link, _child) = start(&command).unwrap();
        let place = folder.path().canonicalize().unwrap().display().to_string();
        assert_eq!(all_of(&mut link).await.0, ["one two", "told", "inherited", &place]);
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error() {
        let missing = ServerCommand { program: "/no/such/program".to_owned(), ..Default::default() };
        assert_eq!(start(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn nothing_of_a_server_outlives_its_end_however_stubborn() {
        let table = [
            // Ends when its input is closed, and leaves a process behind.
            "sleep 1000 & echo $!; cat >/dev/null",
            // Only ends when told, as does its helper.
            "sleep 1000 & echo $!; wait",
            // Neither it nor its helper listens to anything.
            "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait; while :; do sleep 1; done",
        ];
        for script in table {
            let (mut link, child) = start(&shell(script)).unwrap();
            let helper = first_of(&mut link).await;
            assert!(runs(&helper), "{script}");
            child.end().await;
            assert!(!runs(&helper), "{script}");
            assert!(all_of(&mut link).await.1.is_some(), "{script}");
        }
    }

    #[tokio::test]
    async fn nothing_of_a_server_outlives_what_holds_it() {
        let (mut link, child) = start(&shell("sh -c 'echo $$; sleep 1000' & wait")).unwrap();
        let helper = first_of(&mut link).await;
        drop(child);
        assert_eq!(all_of(&mut link).await.1.as_deref(), Some("the server was ended by signal 9"));
        assert!(!runs(&helper));
    }

    /// Whether a process runs; one that is dead and only waits to be asked about does not.
    fn runs(id: &str) -> bool {
        let asked = std::process::Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
        let state = String::from_utf8(asked.stdout).unwrap();
        !state.trim().is_empty() && !state.trim_start().starts_with('Z')
    }

    #[tokio::test]
    async fn errors_are_passed_on_line_by_line_in_bounded_pieces() {
        let long = "x".repeat(STDERR_LINE_BYTES_MAX);
        let table = [
            ("a\nb\n".to_owned(), None, "a\nb\n".to_owned()),
            ("a\n\nb".to_owned(), Some("git"), "[git] a\n[git] \n[git] b\n".to_owned()),
            (format!("{long}y\n"), Some("git"), format!("[git] {long}\n[git] y\n")),
        ];
        for (from, name, expected) in table {
            let mut to = Vec::new();
            pass_on(from.as_bytes(), &mut to, name.map(str::to_owned)).await;
            assert_eq!(String::from_utf8(to).unwrap(), expected);
        }
    }
}
