//! The team server: one policy, one database, many agents, over HTTP.

use std::{
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use lockgate::engine::{
    Database, Gate, Mode, PolicyChanges,
    call::visible,
    gate::BoundPolicy,
    open_store,
    store::{Options, Sqlite},
};
use lockgate_agents::{
    Environment,
    hook::protection_of_files,
    now,
    settings::{self, Registry, accepted_rulebook},
};
use lockgate_server::{
    DataFolder, NewToken, Scope, Tokens,
    http::{Listeners, Server, Service, ServiceOptions, TlsFiles},
    webhooks::Webhooks,
};
use serde_json::json;

use crate::{
    arguments::{ExecArguments, KnownToolsArguments, RegistryArguments, mode, words},
    commands::opening,
    console::{CommandError, Console, Ending},
    human::{self, Opening},
    platform,
    serve::Clock,
};

/// Where the server listens if the command line does not say it.
const ADDRESS: &str = "127.0.0.1:7878";

#[derive(Debug, Args)]
pub(crate) struct TeamArguments {
    /// The address [default: 127.0.0.1:7878, or none with --socket]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "guardian")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where to store sessions, for many servers: postgres://USER@HOST/DATABASE?key=FILE, or redis://HOST/NUMBER?key=FILE
    /// [default: a file in the folder of --data]
    #[arg(long, value_name = "URL", conflicts_with = "guardian")]
    pub(crate) store: Option<String>,
    /// A name under which others reach the server, as the `Host` header says it
    #[arg(long = "host", value_name = "NAME", conflicts_with = "guardian")]
    pub(crate) hosts: Vec<String>,
    /// The certificate of the server in PEM, with those between it and its authority: speak TLS at the address
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with_all = ["guardian", "behind_proxy"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// With --tls-cert: its private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// With --tls-cert: each client must show a certificate of one of these authorities
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// A proxy with TLS is in front: allow an address that other machines can reach
    #[arg(long, conflicts_with = "guardian")]
    pub(crate) behind_proxy: bool,
    /// Who is told when a human is asked: a file of webhooks that only you can read
    #[arg(long, value_name = "FILE", conflicts_with = "guardian")]
    pub(crate) webhooks: Option<PathBuf>,
    /// How many requests each token may make in a second; twice as many at once
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: u32,
    /// Check that the server could start, and end
    #[arg(long, conflicts_with = "guardian")]
    pub(crate) check: bool,
    /// The clock: the machine's, or the `at` of each request, for tests
    #[arg(long, value_parser = words([Clock::Real, Clock::Lines], Clock::word), default_value = "real", hide = true)]
    pub(crate) clock: Clock,
    /// Enforce the rules, or let every call pass and only say what the verdict would be
    #[arg(long, value_parser = mode(), default_value = "enforce")]
    pub(crate) mode: Mode,
    /// Block calls that would change the files of this policy, the state or Lockgate on this machine
    #[arg(long, conflicts_with = "guardian")]
    pub(crate) protect: bool,
    /// What happens to stored sessions if the policy is another than the one they began under: what it opens waits for
    /// `lockgate accept-policy`, or it counts at once
    #[arg(long, value_name = "HOW", value_parser = words([PolicyChanges::Hold, PolicyChanges::Follow], PolicyChanges::word), default_value = "hold")]
    pub(crate) policy_changes: PolicyChanges,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

/// What to serve, and where.
pub(super) struct TeamServer<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) socket: Option<&'a Path>,
    pub(super) data: Option<&'a Path>,
    pub(super) team: &'a TeamArguments,
}

pub(super) fn run(arguments: &TeamServer<'_>, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let team = arguments.team;
    let listeners = listeners(arguments)?;
    let data = data_folder(arguments.data)?;
    let service = service(arguments, &listeners, &data, console)?;
    let tokens = Tokens::of(&data);
    let is_first = tokens.list().map_err(CommandError::said)?.is_empty();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(service, &listeners).await.map_err(CommandError::said)?;
        // Without a terminal or a log, no one can be told.
        let server = server.on_notice(|text| drop(writeln!(io::stderr(), "{}", visible(text))));
        if team.check {
            writeln!(console.out, "the server can start")?;
            return Ok(Ending::Yes);
        }
        if is_first {
            first_token(&tokens, &data, console)?;
        }
        for place in places(&server, &listeners) {
            writeln!(console.err, "the server listens at {place}")?;
        }
        // The text of a panic may hold anything; the request is refused, and that is said to its client.
        std::panic::set_hook(Box::new(|_| {}));
        match listeners.tls {
            // A hang-up means that the files of TLS have changed.
            Some(_) => server.run(platform::told_to_stop()).await,
            None => server.run(platform::told_to_end()).await,
        }
        writeln!(console.err, "the server has ended")?;
        Ok(Ending::Yes)
    })
}

fn places(server: &Server, listeners: &Listeners) -> Vec<String> {
    let scheme = if listeners.tls.is_some() { "https" } else { "http" };
    let address = server.address().map(|address| format!("{scheme}://{address}"));
    address
        .into_iter()
        .chain(listeners.socket.as_ref().map(|path| format!("unix:{}", path.display())))
        .collect()
}

/// Where the server listens. Without TLS, tokens must not travel between machines.
fn listeners(arguments: &TeamServer<'_>) -> Result<Listeners, CommandError> {
    let team = arguments.team;
    let tcp = match (team.listen, arguments.socket) {
        (Some(address), _) => Some(address),
        (None, Some(_)) => None,
        (None, None) => Some(ADDRESS.parse().map_err(CommandError::said)?),
    };
    let tls = tls_files(team);
    if tls.is_some() && tcp.is_none() {
        return Err(CommandError::said(
            "TLS is for an address; add `--listen ADDRESS`, or leave `--tls-cert` out",
        ));
    }
    if let Some(address) = tcp
        && !address.ip().is_loopback()
        && !team.behind_proxy
        && tls.is_none()
    {
        return Err(CommandError::Said(format!(
            "other machines can reach `{address}`, and tokens would travel unencrypted; listen at 127.0.0.1, name a \
             certificate with `--tls-cert` and `--tls-key`, or put a proxy with TLS in front and say `--behind-proxy`"
        )));
    }
    let socket = arguments.socket.map(std::path::absolute).transpose()?;
    Ok(Listeners { tcp, tls, socket })
}

fn tls_files(team: &TeamArguments) -> Option<TlsFiles> {
    let (certificate, key) = (team.tls_cert.clone()?, team.tls_key.clone()?);
    Some(TlsFiles { certificate, key, client_authorities: team.tls_client_ca.clone() })
}

/// The folder of the server: the one that was named, or the usual one.
pub(super) fn data_folder(named: Option<&Path>) -> Result<DataFolder, CommandError> {
    let usual = || Some(Environment::of_process().data_folder()?.join("lockgate").join("server"));
    let path = match named {
        Some(path) => std::path::absolute(path)?,
        None => usual().ok_or_else(|| {
            CommandError::Said("the home folder is not known; name a folder with `--data DIR`".to_owned())
        })?,
    };
    DataFolder::open(path).map_err(CommandError::said)
}

fn service(
    arguments: &TeamServer<'_>,
    listeners: &Listeners,
    data: &DataFolder,
    console: &mut Console<'_>,
) -> Result<Service, CommandError> {
    let team = arguments.team;
    let policy = opening::open_telling(arguments.files, &team.known, console)?;
    if !team.exec.exec
        && let Some(line) = settings::exec_not_run(&policy.compiled(), "run `lockgate serve` with `--exec`")
    {
        writeln!(console.err, "warning: {}", visible(&line))?;
    }
    let store = store(team.store.as_deref(), data)?;
    let mut builder = Gate::builder(policy.clone()).mode(team.mode);
    if team.protect {
        builder = builder.protect(protection_of_files(arguments.files, Some(data.path())));
    }
    let registry = team.registry.registry();
    let bound = bound(&policy, arguments, &registry, data, &store);
    let builder = registry.lend(builder.bound_backend(store.backend(), bound));
    let builder = opening::lend_runner(builder, &team.exec);
    let is_near = !team.behind_proxy && listeners.tcp.is_none_or(|address| address.ip().is_loopback());
    let options = ServiceOptions {
        hosts: team.hosts.clone(),
        rate: team.rate,
        clock: team.clock,
        // Tools of other machines see other files than this process does.
        follows_links: is_near,
        webhooks: team.webhooks.as_deref().map_or_else(|| Ok(Webhooks::default()), webhooks)?,
        has_tls: team.behind_proxy || listeners.tls.is_some(),
    };
    Service::new(builder, policy, store, data, options).map_err(CommandError::said)
}

/// The database that was named, or the one in the folder.
fn store(url: Option<&str>, data: &DataFolder) -> Result<Database, CommandError> {
    match url.map(open_store) {
        None => {
            let file = Sqlite::open(data.state(), Options::default()).map_err(CommandError::said)?;
            Ok(Database::Sqlite(Arc::new(file)))
        }
        Some(opened) => opened.map_err(CommandError::said)?.ok_or_else(|| {
            CommandError::Said("a server stores sessions; leave `--store` out, or name a database".to_owned())
        }),
    }
}

/// The webhooks of a file. It has secrets, so no other user may read it.
fn webhooks(file: &Path) -> Result<Webhooks, CommandError> {
    let name = file.display();
    let cannot = |error: io::Error| CommandError::Said(format!("cannot read `{name}`: {error}"));
    if platform::mode(&fs::metadata(file).map_err(cannot)?).is_some_and(|mode| mode & 0o077 != 0) {
        return Err(CommandError::Said(format!(
            "other users can read the secrets in `{name}`; run `chmod go= {name}`"
        )));
    }
    let text = fs::read_to_string(file).map_err(cannot)?;
    Webhooks::read(&text).map_err(|error| CommandError::Said(format!("`{name}` cannot be used: {error}")))
}

/// What binds the sessions of the database to this policy and these arguments.
fn bound(
    policy: &lockgate::Policy,
    arguments: &TeamServer<'_>,
    registry: &Registry,
    data: &DataFolder,
    store: &Database,
) -> BoundPolicy {
    let team = arguments.team;
    let settings = json!({
        "mode": team.mode.word(),
        "protect": team.protect,
        "exec": team.exec.exec,
        "registry": { "names": registry.names, "active": registry.active },
    });
    let settings = settings.as_object().cloned().unwrap_or_default();
    let (files, folder): (Vec<PathBuf>, PathBuf) = (arguments.files.to_vec(), data.path().to_path_buf());
    store.bound_policy(policy, "serve", settings, team.policy_changes, move |policy, bound| {
        accepted_rulebook(policy, bound, || protection_of_files(&files, Some(&folder)))
    })
}

/// Makes the token of the first admin and shows it on the terminal, once. Logs of services must not have it.
fn first_token(tokens: &Tokens, data: &DataFolder, console: &mut Console<'_>) -> Result<(), CommandError> {
    let state = data.state();
    let opening =
        Opening { command: "serve", deed: "make the token of the first admin", shown: "", state: &state };
    let Ok(mut terminal) = human::fence(&opening, &Environment::of_process()) else {
        let text = "no one can use this server yet; make a token at a terminal: lockgate serve token create admin --scope admin \
                    --sessions '*'";
        writeln!(console.err, "warning: {text} --data {}", data.path().display())?;
        return Ok(());
    };
    let new = NewToken {
        name: "admin".to_owned(),
        scope: Scope::Admin,
        sessions: vec!["*".to_owned()],
        expires: None,
    };
    let token = tokens.create(new, now()).map_err(CommandError::said)?;
    let text = format!(
        "The token of the admin, shown this once:\n  {token}\nSend it as `Authorization: Bearer …`, or sign in with it in a browser."
    );
    terminal.show(&text).map_err(|error: io::Error| human::unusable_terminal(error))
}
