//! Opens a store in Redis: the URL, what the server must keep, the first rows.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use lockgate_gate::StoreError;
use redis::{Client, Connection, ConnectionAddr, IntoConnectionInfo, Script, cmd};

use super::engine::{PREFIX, RedisEngine, run};
use crate::{
    StrandStore,
    strands::{EngineError, Founded, Ground, Pool, SharedRow, StoreUrl, settle, unavailable},
};

/// How a store in Redis is used.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// How long one decision waits for the server; then it is blocked.
    pub wait: Duration,
    /// How many connections one process has.
    pub connections_max: usize,
}

impl Default for RedisOptions {
    fn default() -> Self {
        // The server has one thread, and writes to its disk once for all that wait: more connections cost it little.
        Self { wait: Duration::from_secs(5), connections_max: 32 }
    }
}

/// What may be lost of what was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Nothing, while this node lives.
    Always,
    /// The last second, when the server crashes; and what a replica did not get, when it takes over.
    EverySecond,
    /// Anything.
    Any,
}

impl Durability {
    fn read(word: Option<&str>) -> Result<Self, StoreError> {
        match word {
            None | Some("always") => Ok(Self::Always),
            Some("everysec") => Ok(Self::EverySecond),
            Some("any") => Ok(Self::Any),
            Some(other) => Err(unavailable(
                "the Redis URL",
                format!("says `durability={other}`; it can be always, everysec or any"),
            )),
        }
    }
}

impl StrandStore {
    /// Opens the store of a URL such as `redis://db.example/0?key=/etc/lockgate/store.key`, or `redis+unix:///run/redis.sock?key=…`. The key
    /// is as in [`StrandStore::open_postgres`](crate::StrandStore::open_postgres). A server that can lose what it has confirmed is
    /// refused, unless the URL says `durability=everysec` or `durability=any`.
    ///
    /// # Errors
    /// When the URL, the key or the server cannot be used; nothing is replaced.
    pub fn open_redis(url: &str, options: &RedisOptions) -> Result<Self, StoreError> {
        let url = StoreUrl::read(url, &["durability"])?;
        let durability = Durability::read(url.value("durability"))?;
        let info = url.url.as_str().into_connection_info();
        let info = info.map_err(|error| unavailable("the Redis URL", format!("cannot be read: {error}")))?;
        let place = match info.addr() {
            ConnectionAddr::Unix(path) => format!("redis+unix://{}", path.display()),
            other => format!("redis://{other}/{}", info.redis_settings().db()),
        };
        let client = Client::open(info).map_err(|error| unavailable(&place, error))?;
        let open = move |deadline| connect(&client, durability, deadline);
        let pool = Pool::new(options.wait, options.connections_max, open);
        let (key, id) = settle(&pool, &place, &url.key)?;
        Self::new(Box::new(RedisEngine::new(pool, place)), key, id)
    }
}

/// Opens a connection. The settings are looked at each time: a server that was started again may have others.
fn connect(client: &Client, durability: Durability, deadline: Instant) -> Result<Connection, EngineError> {
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let cannot = |error| EngineError::Failed(format!("cannot be reached: {error}"));
    let mut connection = client.get_connection_with_timeout(left()).map_err(cannot)?;
    connection.set_read_timeout(Some(left())).map_err(cannot)?;
    if durability != Durability::Any {
        look(&mut connection, durability)?;
    }
    Ok(connection)
}

/// Refuses a server that can lose what it has confirmed.
fn look(connection: &mut Connection, durability: Durability) -> Result<(), EngineError> {
    let refused = |why: &str, remedy: &str| {
        let sentence = format!("{why}, so verdicts that were told can be lost; {remedy}");
        EngineError::Failed(sentence)
    };
    let any = "or say `durability=any` in the URL to accept that";
    let settings: HashMap<String, String> = cmd("CONFIG")
        .arg("GET")
        .arg("append*")
        .query(connection)
        .and_then(|settings: HashMap<String, String>| {
            let policy: HashMap<String, String> =
                cmd("CONFIG").arg("GET").arg("maxmemory-policy").query(connection)?;
            Ok(settings.into_iter().chain(policy).collect())
        })
        .map_err(|error| refused(&format!("does not tell how it writes to its disk ({error})"), any))?;
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|found| found == value);
    if !is("appendonly", "yes") {
        return Err(refused("has not the setting `appendonly yes`", &format!("set it, {any}")));
    }
    if !is("maxmemory-policy", "noeviction") {
        let remedy = format!("set it, {any}");
        return Err(refused("has not the setting `maxmemory-policy noeviction` and forgets rows", &remedy));
    }
    if durability == Durability::EverySecond {
        return Ok(());
    }
    let accept = "or say `durability=everysec` in the URL to accept that";
    if !is("appendfsync", "always") {
        return Err(refused("has not the setting `appendfsync always`", &format!("set it, {accept}")));
    }
    let replication: String = cmd("INFO")
        .arg("replication")
        .query(connection)
        .map_err(|error| refused(&format!("does not tell whether it has replicas ({error})"), accept))?;
    if !replication.contains("role:master") || !replication.contains("connected_slaves:0") {
        let why = "is a replica or has some, and one that takes over has not all that was told";
        return Err(EngineError::Failed(format!("{why}; use a server without replicas, {accept}")));
    }
    Ok(())
}

impl Ground for Pool<Connection> {
    fn find(&self) -> Result<Option<Founded>, EngineError> {
        type Fields = (Option<i32>, Option<Vec<u8>>, Option<Vec<u8>>);
        let (form, id, public_key): Fields = run(self, |connection| {
            let mut command = cmd("HMGET");
            command.arg(format!("{PREFIX}store")).arg("form").arg("id").arg("public_key").query(connection)
        })?;
        Ok(match (form, id, public_key) {
            (Some(form), Some(id), Some(public_key)) => Some(Founded { form, id, public_key }),
            _ => None,
        })
    }

    fn found(&self, store: Founded, shared: SharedRow) -> Result<bool, EngineError> {
        let told: String = run(self, |connection| {
            let script = Script::new(include_str!("found.lua"));
            let mut invocation = script.key(PREFIX);
            invocation.arg(store.form).arg(store.id).arg(store.public_key);
            invocation.arg(shared.version).arg(shared.seal).invoke(connection)
        })?;
        Ok(told == "stored")
    }
}
