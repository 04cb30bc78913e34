//! What stands behind the proxy: one server, or several seen as one; and the processes that were started for it.

use std::{
    env, fs, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use lockgate_mcp::{
    Child, HttpTarget, Link, Restart, ServerCommand, ServerSpec, as_one, connect, read_servers, start,
    start_as,
};

use super::{arguments::McpServeArguments, say::say};
use crate::console::{CommandError, Console};

/// The largest file of servers or of a token that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What stands behind the proxy.
#[derive(Clone)]
pub(super) struct Servers {
    specs: Vec<(String, ServerSpec)>,
    /// Whether there may be several, whose tools need names of their own.
    is_fleet: bool,
}

/// The processes of one conversation. Dropping them ends them at once.
#[derive(Clone, Default)]
pub(super) struct Running(Arc<Mutex<Vec<Child>>>);

impl Running {
    fn add(&self, child: Child) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }

    /// Lets them end by themselves first.
    pub(super) async fn end(&self) {
        let children = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for child in children {
            child.end().await;
        }
    }
}

impl Servers {
    pub(super) fn chosen(
        arguments: &McpServeArguments,
        console: &mut Console<'_>,
    ) -> Result<Self, CommandError> {
        let only = |spec| vec![(arguments.name.clone().unwrap_or_default(), spec)];
        let (specs, is_fleet) = match (&arguments.url, &arguments.config, arguments.server.split_first()) {
            (Some(url), _, _) => (only(ServerSpec::Http { url: url.clone(), headers: Vec::new() }), false),
            (_, Some(file), _) => {
                let wrong = |error: &dyn std::fmt::Display| {
                    CommandError::Said(format!("{}: {error}", file.display()))
                };
                let text = read(file)?;
                let variable = |name: &str| env::var(name).ok();
                let read = read_servers(&text, variable).map_err(|error| wrong(&error))?;
                for note in &read.notes {
                    writeln!(console.err, "note: {note}")?;
                }
                (read.servers, true)
            }
            (_, _, Some((program, args))) => {
                let (program, args) = (program.clone(), args.to_vec());
                (
                    only(ServerSpec::Command(ServerCommand { program, args, env: Vec::new(), folder: None })),
                    false,
                )
            }
            (None, None, None) => {
                let text = "no server was named: `lockgate mcp -- COMMAND`, `--url URL` or `--config FILE`";
                return Err(CommandError::Said(text.to_owned()));
            }
        };
        Ok(Self { specs, is_fleet })
    }

    /// What its pinned definitions are kept under: its name is not enough, since every project has its own `fs`.
    pub(super) fn key(&self, arguments: &McpServeArguments) -> String {
        let what = match (&arguments.config, self.specs.as_slice()) {
            (Some(file), _) => fs::canonicalize(file).unwrap_or_else(|_| file.clone()).display().to_string(),
            (None, [(_, ServerSpec::Http { url, .. }), ..]) => url.clone(),
            (None, _) => arguments.server.join(" "),
        };
        match &arguments.name {
            Some(name) => format!("{name}: {what}"),
            None => what,
        }
    }

    /// Whether it is one process, which settles on a revision by the first message it gets.
    pub(super) fn pins_itself(&self) -> bool {
        !self.is_fleet && matches!(self.specs.as_slice(), [(_, ServerSpec::Command(_))])
    }

    pub(super) fn start(&self, running: &Running) -> io::Result<Link> {
        let mut links = Vec::with_capacity(self.specs.len());
        for (name, spec) in &self.specs {
            match self.start_one(name, spec, running) {
                Ok(link) => links.push((name.clone(), link)),
                Err(error) if self.is_fleet => {
                    say(&format!("the server `{name}` could not be started: {error}"))
                }
                Err(error) => return Err(error),
            }
        }
        match links.len() {
            0 => Err(io::Error::other("no server could be started")),
            1 if !self.is_fleet => Ok(links.swap_remove(0).1),
            _ => Ok(as_one(links, say)),
        }
    }

    fn start_one(&self, name: &str, spec: &ServerSpec, running: &Running) -> io::Result<Link> {
        match spec {
            ServerSpec::Command(command) => {
                let started = if self.is_fleet { start_as(name, command) } else { start(command) };
                let (link, child) = started.map_err(|error| {
                    io::Error::other(format!("`{}` cannot be run: {error}", command.program))
                })?;
                running.add(child);
                Ok(link)
            }
            ServerSpec::Http { url, headers } => {
                connect(&HttpTarget { url: url.clone(), headers: headers.clone() }).map_err(io::Error::other)
            }
        }
    }

    pub(super) fn restart(&self, running: &Running) -> Option<Restart> {
        if !self.pins_itself() {
            return None;
        }
        let (servers, running) = (self.clone(), running.clone());
        Some(Box::new(move || {
            let (servers, running) = (servers.clone(), running.clone());
            Box::pin(async move {
                running.end().await;
                servers.start(&running)
            })
        }))
    }
}

/// The text of a file that is not too large.
pub(super) fn read(file: &Path) -> Result<String, CommandError> {
    let wrong = |reason: &dyn std::fmt::Display| CommandError::Said(format!("{}: {reason}", file.display()));
    let data = fs::metadata(file).map_err(|error| wrong(&error))?;
    if data.len() > FILE_BYTES_MAX {
        return Err(wrong(&format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    fs::read_to_string(file).map_err(|error| wrong(&error))
}
