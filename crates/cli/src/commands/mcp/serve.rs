//! `lockgate mcp`: from the command line to a running proxy.
//!
//! Here it is decided which policy, which session and which servers; what becomes of messages is the business of
//! `lockgate_mcp`. The proxy speaks on stdin and stdout, so whatever it has to say goes to stderr.

use std::{
    env, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lockgate::engine::{
    Gate, LocalRunner, Source, bound_policy,
    gate::{AnswerTrust, Backend, BoundPolicy, PolicyPlace, Protection},
    read_sources,
    store::Sqlite,
};
use lockgate_agents::{
    Agent, Environment,
    guardian::LineClient,
    hook::{self, check_database, pins_folder, protection_of, remember, under},
    human_key,
    machine::Machine,
    processes,
    settings::{self, Settings, TeamServerSettings},
};
use lockgate_mcp::{
    Acceptor, Config, Context, ConversationEnd, ConversationKind, DeadTools, Decider, Link, LocalDecider,
    Naming, Pins, Relay, ServeOptions, SharedServer, drive, stdio,
};
use tokio::{runtime::Builder, sync::watch, task::JoinSet, time::timeout};

use super::{
    arguments::{DeadToolsArgument, McpServeArguments},
    guarded::GuardianDecider,
    joined::JoinedDecider,
    say::say,
    servers::{Running, Servers, read},
    surroundings::Surroundings,
};
use crate::{
    console::{CommandError, Console, Ending},
    known_tools::{doubts, lines, tools_of},
    platform,
};

/// How long a client may take to read what it was told last.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs the proxy until its client or its server has ended.
pub(crate) fn run(arguments: &McpServeArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let servers = Servers::chosen(arguments, console)?;
    let environment = Environment::of_process();
    let session = session(arguments, &environment)?;
    let context = Arc::new(context(arguments, &servers, session, &environment)?);
    // One conversation needs one thread: each change of thread would be a wait that the client notices.
    let mut threads =
        if arguments.listen.is_some() { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    let runtime = threads.enable_all().build()?;
    let ended = runtime.block_on(proxied(arguments, context, &servers));
    // A thread that still reads stdin must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn proxied(
    arguments: &McpServeArguments,
    context: Arc<Context>,
    servers: &Servers,
) -> Result<Ending, CommandError> {
    let Some(address) = arguments.listen else {
        let running = Running::default();
        let link = servers.start(&running).map_err(CommandError::said)?;
        let relay = Relay::new(context, servers.pins_itself());
        let (client, written) = stdio();
        let ended = drive(relay, client, link, servers.restart(&running), platform::told_to_end()).await;
        written.wait(LAST_WORDS).await;
        running.end().await;
        return match ended {
            ConversationEnd::Client => Ok(Ending::Yes),
            ConversationEnd::Server(reason) => {
                Err(CommandError::Said(format!("the server has ended: {reason}")))
            }
        };
    };
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    say(&format!("clients reach the proxy at http://{address}/mcp"));
    let options = ServeOptions { token, note: Arc::new(say) };
    let (close, closing) = watch::channel(());
    let conversations = Arc::new(Mutex::default());
    let board = Arc::new(Switchboard {
        context,
        servers: servers.clone(),
        shared_server: Mutex::default(),
        conversations: Arc::clone(&conversations),
        closing,
    });
    tokio::select! {
        served = lockgate_mcp::serve(listener, options, board) => served.map_err(CommandError::said)?,
        () = platform::told_to_end() => {}
    }
    drop(close);
    let mut conversations =
        std::mem::take(&mut *conversations.lock().unwrap_or_else(PoisonError::into_inner));
    // One that panicked must not keep the others from their end.
    let _ = timeout(LAST_WORDS, async { while conversations.join_next().await.is_some() {} }).await;
    Ok(Ending::Yes)
}

/// Begins a conversation for each client over HTTP.
struct Switchboard {
    context: Arc<Context>,
    servers: Servers,
    /// The one server of all stateless requests, where it is a process.
    shared_server: Mutex<Option<(SharedServer, Running)>>,
    conversations: Arc<Mutex<JoinSet<()>>>,
    /// Closed when all conversations are to end.
    closing: watch::Receiver<()>,
}

impl Acceptor for Switchboard {
    fn begin(&self, client: Link, talk: ConversationKind) {
        let relay = Relay::new(
            Arc::clone(&self.context),
            matches!(talk, ConversationKind::Session(_)) && self.servers.pins_itself(),
        );
        let running = Running::default();
        let (relay, server) = match talk {
            ConversationKind::Session(id) => {
                (relay.in_session(format!("mcp/{id}")), self.servers.start(&running))
            }
            ConversationKind::Request => (relay, self.shared(&running)),
        };
        let restart = self.servers.restart(&running);
        let server = match server {
            Ok(server) => server,
            Err(error) => return say(&format!("no server could be started for a client: {error}")),
        };
        let mut closing = self.closing.clone();
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are forgotten.
        while conversations.try_join_next().is_some() {}
        conversations.spawn(async move {
            let closed = async move { while closing.changed().await.is_ok() {} };
            drive(relay, client, server, restart, closed).await;
            running.end().await;
        });
    }

    fn mirrored(&self, text: &str) -> Vec<(String, Option<String>)> {
        self.context.mirrored(text)
    }
}

impl Switchboard {
    /// A link to the server that stateless requests share.
    fn shared(&self, running: &Running) -> io::Result<Link> {
        if !self.servers.pins_itself() {
            return self.servers.start(running);
        }
        let mut shared_server = self.shared_server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((shared_server, _)) =
            shared_server.as_ref().filter(|(shared_server, _)| !shared_server.is_gone())
        {
            return Ok(shared_server.connect());
        }
        let running = Running::default();
        let new = SharedServer::new(self.servers.start(&running)?);
        let link = new.connect();
        *shared_server = Some((new, running));
        Ok(link)
    }
}

fn context(
    arguments: &McpServeArguments,
    servers: &Servers,
    session: String,
    environment: &Environment,
) -> Result<Context, CommandError> {
    let here = env::current_dir()?;
    let is_guarded = environment.is_guarded();
    let (folder, settings) = if arguments.host.is_some() && !is_guarded {
        under(environment, &session, here.to_str()).map_err(CommandError::Said)?
    } else {
        let settings = settings::find(&here, environment).map_err(CommandError::said)?;
        if !is_guarded && arguments.state.is_none() && !arguments.memory {
            check_database(environment, &settings).map_err(CommandError::Said)?;
        }
        (here.clone(), settings)
    };
    let sources = sources(arguments, &settings)?;
    let opened = lockgate::Policy::builder().sources(&sources).load().map_err(CommandError::from)?;
    if arguments.policy.is_empty() {
        settings.check(&opened.compiled(), &sources).map_err(CommandError::Said)?;
    }
    if arguments.host.is_some() && !is_guarded {
        let hash = opened.compiled().hash().to_string();
        remember(environment, &session, &settings, Some(&hash)).map_err(CommandError::Said)?;
    }
    // A policy of the command line was chosen by its author.
    let waiting =
        settings::waiting_line(&settings, &opened.compiled()).filter(|_| arguments.policy.is_empty());
    waiting.iter().for_each(|waiting| say(waiting));
    if !settings.exec {
        settings::exec_not_run(&opened.compiled(), settings::EXEC_SETTING).iter().for_each(|line| say(line));
    }
    let known = tools_of(arguments.host.as_slice());
    lines(&doubts(&opened.compiled(), opened.findings().to_vec(), &sources, &known))
        .iter()
        .for_each(|line| say(line));
    let state = arguments.state.clone().unwrap_or_else(|| settings.state.clone());
    if !arguments.memory && arguments.listen.is_none() {
        // The client that starts a proxy is an agent's, and so is all else that it starts.
        processes::record(&state, environment).map_err(CommandError::said)?;
    }
    let decider: Box<dyn Decider> = if is_guarded {
        Box::new(guarded_decider(arguments, environment, &here, &session)?)
    } else {
        let place = (folder.as_path(), state.as_path());
        Box::new(local_decider(arguments, servers, &settings, &opened, environment, place)?)
    };
    let decider = match team_server(arguments, &settings) {
        Some(_) if is_guarded => {
            let told = "the guardian decides for this user, and asks no team server: leave `--server` and `[server]` out";
            return Err(CommandError::said(told));
        }
        Some(server) => {
            let server = crate::team_server::connect(&server).map_err(CommandError::Said)?;
            Box::new(JoinedDecider { here: decider, server: Arc::from(server) })
        }
        None => decider,
    };
    let key = servers.key(arguments);
    let pins = if arguments.memory { None } else { Some(pins(&state, &key)?) };
    let surroundings = Surroundings::new(sources, (!arguments.memory).then(|| era_file(&state, &key)));
    let naming = match (&arguments.name, arguments.host) {
        (None, _) => Naming::plain(),
        (Some(name), None) => Naming::of_server(name),
        (Some(name), Some(host)) => Naming::of_server(name).at_host(host.name()),
    };
    let config = Config {
        decider,
        environment: Box::new(surroundings),
        session,
        naming,
        ask: settings.ask,
        ask_for: Duration::from_secs(arguments.ask_for),
        dead_tools: match arguments.dead_tools {
            DeadToolsArgument::Show => DeadTools::Show,
            DeadToolsArgument::Mark => DeadTools::Mark,
            DeadToolsArgument::Hide => DeadTools::Hide,
        },
        folder: here.to_str().map(ToOwned::to_owned),
        pins,
    };
    Context::new(config).map_err(CommandError::said)
}

/// The team server of the command line, or that of the settings.
fn team_server(arguments: &McpServeArguments, settings: &Settings) -> Option<TeamServerSettings> {
    let named = arguments.team_server.clone().zip(arguments.server_token.clone());
    let named = named.map(|(url, token_file)| TeamServerSettings {
        url,
        token_file,
        ca: arguments.server_ca.clone(),
        session_prefix: String::new(),
    });
    named.or_else(|| settings.server.clone())
}

/// A gate in this process, with the state of this user.
fn local_decider(
    arguments: &McpServeArguments,
    servers: &Servers,
    settings: &Settings,
    opened: &lockgate::Policy,
    environment: &Environment,
    (folder, state): (&Path, &Path),
) -> Result<LocalDecider, CommandError> {
    let mut builder = Gate::builder(opened.clone()).mode(arguments.mode.unwrap_or(settings.mode));
    // Names of the settings are about the policy of the settings.
    if arguments.policy.is_empty() {
        builder = settings.registry.lend(builder);
    }
    if settings.exec {
        builder = builder.runner(LocalRunner::new());
    }
    let backend: Option<Arc<dyn Backend>> = if arguments.memory {
        None
    } else {
        let backend =
            Arc::new(Sqlite::open(state, settings.store_options(state)).map_err(CommandError::said)?);
        let trust = human_key::answer_trust(settings.approvals, environment, &backend);
        let trust = trust.map_err(CommandError::said)?;
        // No answer that comes by `lockgate approve` would count, so no call waits for one.
        let is_answerable = match &trust {
            AnswerTrust::Nobody(why) => {
                say(&format!("warning: {why}"));
                false
            }
            AnswerTrust::Store | AnswerTrust::Signed(_) => true,
        };
        let chosen = !arguments.policy.is_empty() || arguments.mode.is_some();
        let bound = if chosen {
            bound_by_arguments(opened, arguments, settings, state, &servers.key(arguments), &trust)
        } else {
            hook::bound(opened, settings, folder, environment, &trust)
        };
        builder = builder.bound_backend(Arc::clone(&backend), bound).answer_trust(trust);
        is_answerable.then_some(backend as Arc<dyn Backend>)
    };
    if settings.protect {
        builder = builder.protect(protection_of(settings, folder, environment));
    }
    Ok(LocalDecider::new(builder.build().map_err(CommandError::said)?, backend))
}

/// The guardian, which has policy, state and log. Policies of the command line can only narrow.
fn guarded_decider(
    arguments: &McpServeArguments,
    environment: &Environment,
    here: &Path,
    session: &str,
) -> Result<GuardianDecider, CommandError> {
    for (option, is_given) in [
        ("--memory", arguments.memory),
        ("--state", arguments.state.is_some()),
        ("--mode", arguments.mode.is_some()),
    ] {
        if is_given {
            return Err(CommandError::Said(format!(
                "the guardian decides for this user, and its own settings count: leave `{option}` out"
            )));
        }
    }
    let machine = Machine::read().map_err(CommandError::said)?;
    let machine = machine.ok_or_else(|| CommandError::Said("no guardian is installed here".to_owned()))?;
    let place = (here.to_path_buf(), arguments.policy.clone());
    Ok(GuardianDecider(LineClient::new(machine, environment.clone(), place, session.to_owned())))
}

/// What binds sessions to a policy of the command line, which is another place than that of the settings.
fn bound_by_arguments(
    policy: &lockgate::Policy,
    arguments: &McpServeArguments,
    settings: &Settings,
    state: &Path,
    key: &str,
    trust: &AnswerTrust,
) -> BoundPolicy {
    let mode = arguments.mode.unwrap_or(settings.mode);
    let settings = Settings { mode, ..settings.clone() };
    let (place, changes, trust) = (format!("mcp {key}"), settings.policy_changes, trust.clone());
    let origin = Some(PolicyPlace::alone(&place));
    let bound = bound_policy(policy, &place, settings.bound(), changes, state, move |policy, bound| {
        let mut rulebook = settings::accepted_rulebook(policy, bound, Protection::new)?;
        rulebook.answer_trust = trust.clone();
        Ok(rulebook)
    });
    BoundPolicy { origin, ..bound }
}

fn sources(arguments: &McpServeArguments, settings: &Settings) -> Result<Vec<Source>, CommandError> {
    let read = if arguments.policy.is_empty() { settings.sources() } else { read_sources(&arguments.policy) };
    read.map_err(CommandError::from)
}

fn pins(state: &Path, key: &str) -> Result<Pins, CommandError> {
    Pins::open(&pins_folder(state), key).map_err(CommandError::said)
}

/// Where it is kept which revisions a server speaks.
fn era_file(state: &Path, key: &str) -> PathBuf {
    use sha2::{Digest, Sha256};
    let name: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    state.with_file_name("mcp-eras").join(format!("{name}.json"))
}

/// The session of calls that name none: the host's, where it says so, or one of this process.
fn session(arguments: &McpServeArguments, environment: &Environment) -> Result<String, CommandError> {
    if let Some(session) = &arguments.session {
        return Ok(session.clone());
    }
    let variable = arguments.host.and_then(Agent::session_variable);
    let said = variable.and_then(|name| environment.variable(name)).and_then(|value| value.to_str());
    if let (Some(host), Some(said)) = (arguments.host, said) {
        return Ok(format!("{host}/{said}"));
    }
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(CommandError::said)?;
    Ok(format!("mcp/{:016x}", u64::from_be_bytes(bytes)))
}

fn read_token(file: &Path) -> Result<String, CommandError> {
    let token = read(file)?.trim().to_owned();
    if token.is_empty() {
        return Err(CommandError::Said(format!("{}: it holds no token", file.display())));
    }
    Ok(token)
}
