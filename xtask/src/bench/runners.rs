//! Who is asked: our own runner, and those of the peers.
//!
//! A runner is a process for each job, in whatever language its system is written in. Peers are fetched and built by
//! `peers`; in here they only become something that takes a job and answers.

use std::{
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use lockgate_bench::{
    job::{Answer, Job, Request, Task},
    work::Language,
};

use super::{Question, line::Remark};
use crate::peers::{Hook, Installed, LEFT_OUT, PEERS, Peer};

/// Takes a job, answers when it is done.
pub(crate) type Ask<'a> = Box<dyn FnMut(&Job) -> Result<Answer, String> + 'a>;

/// From a policy and a call to the process that decides it.
pub(crate) type MakeHook<'a> = Box<dyn Fn(&Path, &Request) -> Option<Hook> + 'a>;

/// A peer that is there.
pub(crate) struct Runner<'a> {
    /// What it is called in tables.
    pub(crate) name: String,
    /// What its policies are written in.
    pub(crate) language: Language,
    /// What it can do.
    pub(crate) tasks: Vec<Task>,
    /// Does it.
    pub(crate) ask: Ask<'a>,
    /// What a coding agent would run before a call under a policy, where the peer has such a thing.
    pub(crate) hook: MakeHook<'a>,
}

/// All peers, fetched and built if need be, or why one is not there; only those that the word names, where it names any.
pub(crate) fn peers(
    question: Question,
    cache: &Path,
    only: Option<&str>,
) -> Vec<Result<Runner<'static>, Remark>> {
    let is_named = |name: &str| only.is_some_and(|word| name.to_lowercase().contains(&word.to_lowercase()));
    let has_name = PEERS.iter().any(|peer| is_named(peer.name));
    let missing = |who: &str, remark: &str| Remark {
        bench: question.name().to_owned(),
        work: None,
        size: None,
        who: who.to_owned(),
        remark: remark.to_owned(),
    };
    let wanted = PEERS.iter().filter(|peer| !has_name || is_named(peer.name));
    let installed = wanted.map(|peer| match peer.install(cache) {
        Ok(installed) => Ok(runner_of(peer, installed)),
        Err(error) => Err(missing(peer.name, &error)),
    });
    installed.chain(LEFT_OUT.iter().map(|left| Err(missing(left.name, left.reason)))).collect()
}

fn runner_of(peer: &Peer, installed: Installed) -> Runner<'static> {
    let installed = Rc::new(installed);
    let hooked = Rc::clone(&installed);
    Runner {
        name: peer.name.to_owned(),
        language: peer.language,
        tasks: peer.tasks.to_vec(),
        ask: Box::new(move |job| installed.ask(job)),
        hook: Box::new(move |policy, call| hooked.hook(policy, call)),
    }
}

/// Our own runner, built if need be; `LOCKGATE_RUNNER=/path/to/it` measures another one.
///
/// Questions about whole processes need the program itself instead, which is built too.
pub(crate) fn ours(question: Question) -> Result<Ask<'static>, String> {
    if matches!(question, Question::Hook | Question::Mcp) {
        lockgate_bench::program()
            .ok_or("`lockgate` does not build; try `cargo build --profile dist -p lockgate-cli`")?;
        return Ok(Box::new(|_: &Job| Err("whole processes have no runner".to_owned())));
    }
    let runner = Installed::at(build_runner()?);
    Ok(Box::new(move |job: &Job| runner.ask(job)))
}

fn build_runner() -> Result<PathBuf, String> {
    if let Some(runner) = std::env::var_os("LOCKGATE_RUNNER") {
        return Ok(runner.into());
    }
    let root = super::root();
    let mut cargo = Command::new(env!("CARGO"));
    let words = ["build", "--profile", "dist", "--quiet", "-p", "lockgate-bench", "--bin", "lockgate-runner"];
    if !cargo.args(words).current_dir(&root).status().is_ok_and(|built| built.success()) {
        return Err(format!("our runner does not build; try `cargo {}`", words.join(" ")));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("dist/lockgate-runner"))
}
