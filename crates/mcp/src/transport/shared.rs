//! One server process for many stateless clients.
//!
//! Over HTTP each modern request is a conversation of its own, and a process cannot be started for each: a
//! [`SharedServer`] lets them all speak with one. Requests and progress get names of the shared_server's on their way
//! to the server, because two clients may choose the same. Messages without a request go to all clients. Requests of
//! the server itself are left out: the stateless revision has none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokio::sync::mpsc;

use super::link::{Incoming, Link, Outgoing, TransportEnd, pipe};
use crate::message::{Id, Kind, Members, Message, to_raw, to_text};

/// How many requests of all clients may be open at once; the next ones fail.
const OPEN_MAX: usize = 4096;

/// Lets many clients speak with one server.
#[derive(Clone, Debug)]
pub struct SharedServer {
    to: mpsc::Sender<Outgoing>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    next: u64,
    clients: HashMap<u64, mpsc::Sender<Incoming>>,
    /// By the shared_server's name: whose it is, and what they call it.
    open: HashMap<i64, Open>,
    /// Why there is no server any more.
    gone: Option<String>,
}

#[derive(Clone, Debug)]
struct Open {
    client: u64,
    id: Id,
    /// The client's own token for progress.
    token: Option<Value>,
}

/// What becomes of a client's message.
enum Outward {
    Message(Outgoing),
    /// A request that cannot be taken.
    Full(Id),
    /// It would mean nothing to the server.
    Nothing,
}

impl SharedServer {
    /// Speaks with a server. Must be called within a tokio runtime.
    pub fn new(server: Link) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let Link { to, from } = server;
        tokio::spawn(hear(from, Arc::clone(&shared)));
        Self { to, shared }
    }

    /// Whether the server is gone: a new shared_server is wanted then.
    pub fn is_gone(&self) -> bool {
        self.shared().gone.is_some()
    }

    /// A client's own link to the server.
    pub fn connect(&self) -> Link {
        let (link, ends) = pipe();
        let client = {
            let mut shared = self.shared();
            shared.next += 1;
            let client = shared.next;
            shared.clients.insert(client, ends.say.clone());
            client
        };
        let shared_server = self.clone();
        let TransportEnd { say, mut hear } = ends;
        tokio::spawn(async move {
            while let Some(said) = hear.recv().await {
                let is_heard = match shared_server.outward(client, said) {
                    Outward::Message(message) => shared_server.to.send(message).await.is_ok(),
                    Outward::Full(id) => {
                        let reason = "too many requests wait for it already".to_owned();
                        say.send(Incoming::Gone { reason, about: Some(id) }).await.is_ok()
                    }
                    Outward::Nothing => true,
                };
                if !is_heard {
                    break;
                }
            }
            shared_server.leave(client).await;
        });
        link
    }

    /// A message with the shared_server's names in it.
    fn outward(&self, client: u64, said: Outgoing) -> Outward {
        let Some(message) = Message::read(&said.text).ok() else { return Outward::Nothing };
        let mut members = message.members.clone();
        match &message.kind {
            Kind::Request { id, .. } => {
                let mut params = message.params().and_then(|raw| Members::read(raw.get()).ok());
                let mut meta = params.as_ref().and_then(|params| params.object("_meta").ok().flatten());
                let token = meta.as_ref().and_then(|meta| meta.get("progressToken").cloned());
                let number = {
                    let mut shared = self.shared();
                    if shared.open.len() >= OPEN_MAX {
                        return Outward::Full(id.clone());
                    }
                    shared.next += 1;
                    let Ok(number) = i64::try_from(shared.next) else { return Outward::Full(id.clone()) };
                    shared.open.insert(number, Open { client, id: id.clone(), token: token.clone() });
                    number
                };
                members.set("id", to_raw(&number));
                if let (Some(params), Some(meta), Some(_)) = (&mut params, &mut meta, token) {
                    meta.insert("progressToken".to_owned(), number.into());
                    params.set("_meta", to_raw(meta));
                    members.set("params", params.to_raw());
                }
            }
            Kind::Notice { method } if method == "notifications/cancelled" => {
                let Some(params) = self.cancelling(client, &message) else { return Outward::Nothing };
                members.set("params", params.to_raw());
            }
            Kind::Notice { .. } | Kind::Answer { .. } => {}
        }
        Outward::Message(Outgoing { text: members.to_text(), ..said })
    }

    /// What a client cancels, by the shared_server's name for it; none where it is not open.
    fn cancelling<'m>(&self, client: u64, message: &'m Message<'_>) -> Option<Members<'m>> {
        let mut params = message.params().and_then(|raw| Members::read(raw.get()).ok())?;
        let id = Id::of(&serde_json::from_str(params.get("requestId")?.get()).ok()?)?;
        params.set("requestId", to_raw(&self.named(client, &id)?));
        Some(params)
    }

    fn named(&self, client: u64, id: &Id) -> Option<i64> {
        let shared = self.shared();
        shared
            .open
            .iter()
            .find(|(_, open)| open.client == client && open.id == *id)
            .map(|(number, _)| *number)
    }

    /// A client has left: its open requests are cancelled at the server.
    async fn leave(&self, client: u64) {
        let left: Vec<i64> = {
            let mut shared = self.shared();
            shared.clients.remove(&client);
            let left = shared.open.iter().filter(|(_, open)| open.client == client);
            let left: Vec<i64> = left.map(|(number, _)| *number).collect();
            left.iter().for_each(|number| drop(shared.open.remove(number)));
            left
        };
        for number in left {
            let text = to_text(&serde_json::json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": number },
            }));
            let _ = self.to.send(Outgoing { text, ..Outgoing::default() }).await;
        }
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn hear(mut from: mpsc::Receiver<Incoming>, shared: Arc<Mutex<Shared>>) {
    let locked = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reason = "it has ended".to_owned();
    while let Some(heard) = from.recv().await {
        let (clients, message) = match heard {
            Incoming::Message(text) => match inward(&text, &mut locked()) {
                Some(sent) => sent,
                None => continue,
            },
            Incoming::Gone { reason, about: Some(Id::Number(number)) } => {
                let mut shared = locked();
                let Some(open) = shared.open.remove(&number) else { continue };
                let client = shared.clients.get(&open.client).cloned();
                (client.into_iter().collect(), Incoming::Gone { reason, about: Some(open.id) })
            }
            Incoming::Unreadable(_) | Incoming::Gone { about: Some(_), .. } => continue,
            Incoming::Gone { reason: why, about: None } => {
                reason = why;
                break;
            }
        };
        for client in clients {
            let _ = client.send(message.clone()).await;
        }
    }
    let clients: Vec<_> = {
        let mut shared = locked();
        shared.gone = Some(reason.clone());
        shared.open.clear();
        shared.clients.drain().map(|(_, client)| client).collect()
    };
    for client in clients {
        let _ = client.send(Incoming::Gone { reason: reason.clone(), about: None }).await;
    }
}

/// A message with the client's own names in it, and who gets it.
fn inward(text: &str, shared: &mut Shared) -> Option<(Vec<mpsc::Sender<Incoming>>, Incoming)> {
    let message = match Message::read(text) {
        Ok(message) => message,
        Err(malformed) => {
            // The client must not wait for what is not passed on.
            let Some(Id::Number(number)) = Message::answered(text) else { return None };
            let open = shared.open.remove(&number)?;
            let client = shared.clients.get(&open.client).cloned();
            let reason = format!("its answer is invalid: {malformed}");
            return Some((client.into_iter().collect(), Incoming::Gone { reason, about: Some(open.id) }));
        }
    };
    let mut members = message.members.clone();
    let open = match &message.kind {
        Kind::Answer { id: Some(Id::Number(number)) } => {
            let open = shared.open.remove(number)?;
            members.set("id", to_raw(&open.id));
            open
        }
        Kind::Answer { .. } | Kind::Request { .. } => return None,
        Kind::Notice { method } if method == "notifications/progress" => {
            let mut params = Members::read(message.params()?.get()).ok()?;
            let number: i64 = serde_json::from_str(params.get("progressToken")?.get()).ok()?;
            let open = shared.open.get(&number)?.clone();
            params.set("progressToken", to_raw(open.token.as_ref()?));
            members.set("params", params.to_raw());
            open
        }
        Kind::Notice { .. } => {
            let all = shared.clients.values().cloned().collect();
            return Some((all, Incoming::Message(text.to_owned())));
        }
    };
    let client = shared.clients.get(&open.client)?.clone();
    Some((vec![client], Incoming::Message(members.to_text())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn heard(ends: &mut TransportEnd) -> Value {
        serde_json::from_str(&ends.hear.recv().await.unwrap().text).unwrap()
    }

    async fn got(link: &mut Link) -> Value {
        match link.from.recv().await.unwrap() {
            Incoming::Message(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn say(link: &Link, message: Value) {
        link.to.send(Outgoing { text: message.to_string(), ..Outgoing::default() }).await.unwrap();
    }

    #[tokio::test]
    async fn clients_that_choose_the_same_names_get_their_own_answers() {
        let (server, mut ends) = pipe();
        let shared_server = SharedServer::new(server);
        let (mut one, mut two) = (shared_server.connect(), shared_server.connect());
        let request = |arguments| {
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": arguments, "_meta": { "progressToken": "p" } } })
        };
        say(&one, request("one")).await;
        let first = heard(&mut ends).await;
        say(&two, request("two")).await;
        let second = heard(&mut ends).await;
        assert_ne!(first["id"], second["id"]);
        for (asked, link) in [(&second, &mut two), (&first, &mut one)] {
            let token = &asked["params"]["_meta"]["progressToken"];
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": 1 } });
            ends.say.send(Incoming::Message(progress.to_string())).await.unwrap();
            assert_eq!(got(link).await["params"]["progressToken"], "p");
            let answer =
                json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "for": asked["params"]["name"] } });
            ends.say.send(Incoming::Message(answer.to_string())).await.unwrap();
            let answer = got(link).await;
            assert_eq!((&answer["id"], &answer["result"]["for"]), (&json!(1), &asked["params"]["name"]));
        }
    }

    #[tokio::test]
    async fn one_request_too_many_fails_at_once() {
        let (server, mut ends) = pipe();
        let mut client = SharedServer::new(server).connect();
        for id in 0..=OPEN_MAX {
            say(&client, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call" })).await;
            if id < OPEN_MAX {
                heard(&mut ends).await;
            }
        }
        let last = Id::Number(i64::try_from(OPEN_MAX).unwrap());
        assert!(
            matches!(client.from.recv().await, Some(Incoming::Gone { about: Some(id), .. }) if id == last)
        );
    }

    #[tokio::test]
    async fn who_leaves_cancels_and_a_server_that_ends_is_told_to_all() {
        let (server, mut ends) = pipe();
        let shared_server = SharedServer::new(server);
        let (one, mut two) = (shared_server.connect(), shared_server.connect());
        say(&one, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" })).await;
        let asked = heard(&mut ends).await;
        drop(one);
        let cancelled = heard(&mut ends).await;
        assert_eq!(
            (&cancelled["method"], &cancelled["params"]["requestId"]),
            (&json!("notifications/cancelled"), &asked["id"])
        );
        ends.say.send(Incoming::Gone { reason: "it crashed".into(), about: None }).await.unwrap();
        assert!(
            matches!(two.from.recv().await, Some(Incoming::Gone { reason, about: None }) if reason == "it crashed")
        );
        assert!(shared_server.is_gone());
    }
}
