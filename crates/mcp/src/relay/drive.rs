//! Moves the messages of one conversation.
//!
//! [`drive`] waits for whichever side speaks, asks the [`Relay`] what becomes of it, and sends that. A side that reads
//! slowly slows the other down and nothing piles up. But a side may always speak while it does not listen: it may not
//! listen because it cannot speak.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::{Pin, pin},
    time::Duration,
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::{MissedTickBehavior, interval, timeout},
};

use super::state::{Action, Relay};
use crate::transport::link::{Incoming, Link, Outgoing, WAITING_MAX};

/// How often answers of humans are looked for while a call waits for one.
const TICK: Duration = Duration::from_millis(100);

/// How long a side that is about to end is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts the server anew.
pub type Restart = Box<dyn FnMut() -> Pin<Box<dyn Future<Output = io::Result<Link>> + Send>> + Send>;

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationEnd {
    /// The client has left.
    Client,
    /// The server has ended, and why.
    Server(String),
}

/// Moves messages until one side has ended, or `closing` ends: then open calls are settled as if the
/// client had left.
pub async fn drive(
    mut relay: Relay,
    mut client: Link,
    mut server: Link,
    mut restart: Option<Restart>,
    closing: impl Future<Output = ()>,
) -> ConversationEnd {
    let mut closing = pin!(closing);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let is_durable = relay.context.is_durable();
    let (mut to_client, mut to_server) = (VecDeque::new(), VecDeque::new());
    loop {
        let has_room = to_client.len() < WAITING_MAX;
        let heard = tokio::select! {
            room = client.to.reserve(), if !to_client.is_empty() => match (room, to_client.pop_front()) {
                (Ok(room), Some(message)) => {
                    room.send(message);
                    continue;
                }
                _ => Event::Client(None),
            },
            room = server.to.reserve(), if !to_server.is_empty() => match (room, to_server.pop_front()) {
                (Ok(room), Some(message)) => {
                    room.send(message);
                    continue;
                }
                // Why it takes nothing more is the last thing it says.
                _ => Event::ServerDeaf,
            },
            heard = client.from.recv(), if has_room && to_server.len() < WAITING_MAX => Event::Client(heard),
            heard = server.from.recv(), if has_room => Event::Server(heard),
            _ = ticks.tick(), if relay.is_waiting() => Event::Tick,
            () = &mut closing => Event::Client(None),
        };
        let (actions, ended) = match heard {
            Event::ServerDeaf => (Vec::new(), Some(ConversationEnd::Server(last_words(&mut server).await))),
            heard => deciding(is_durable, || take_in(&mut relay, heard)),
        };
        for out in actions {
            match (out, &mut restart) {
                (Action::Client(message), _) => to_client.push_back(message),
                (Action::Server(message), _) => to_server.push_back(message),
                (Action::Restart, None) => {}
                (Action::Restart, Some(restart)) => match restart().await {
                    Ok(link) => {
                        server = link;
                        to_server.clear();
                    }
                    Err(error) => {
                        let ended =
                            ConversationEnd::Server(format!("it could not be started again: {error}"));
                        return end(relay, client, to_client, ended).await;
                    }
                },
            }
        }
        if let Some(ended) = ended {
            return end(relay, client, to_client, ended).await;
        }
    }
}

/// Why a server that takes no more messages has ended.
async fn last_words(server: &mut Link) -> String {
    let reason = async {
        while let Some(heard) = server.from.recv().await {
            if let Incoming::Gone { reason, about: None } = heard {
                return reason;
            }
        }
        "it does not take messages any more".to_owned()
    };
    timeout(LAST_WORDS, reason).await.unwrap_or_else(|_| "it does not take messages any more".to_owned())
}

enum Event {
    Client(Option<Incoming>),
    Server(Option<Incoming>),
    ServerDeaf,
    Tick,
}

fn take_in(relay: &mut Relay, event: Event) -> (Vec<Action>, Option<ConversationEnd>) {
    let nothing = Vec::new();
    match event {
        Event::Tick => (relay.tick(), None),
        Event::ServerDeaf => {
            (nothing, Some(ConversationEnd::Server("it does not take messages any more".to_owned())))
        }
        Event::Client(Some(Incoming::Message(text))) => (relay.from_client(text), None),
        Event::Client(Some(Incoming::Unreadable(reason))) => (relay.unreadable(&reason), None),
        Event::Client(Some(Incoming::Gone { reason, about: Some(_) })) => (relay.unreadable(&reason), None),
        Event::Client(None | Some(Incoming::Gone { about: None, .. })) => {
            (nothing, Some(ConversationEnd::Client))
        }
        Event::Server(Some(Incoming::Message(text))) => (relay.from_server(text), None),
        Event::Server(Some(Incoming::Unreadable(reason))) => {
            relay.context.log(&format!("the server sent an invalid message: {reason}"));
            (nothing, None)
        }
        Event::Server(Some(Incoming::Gone { reason, about: Some(id) })) => {
            (relay.server_gone(Some(&id), &reason), None)
        }
        Event::Server(Some(Incoming::Gone { reason, about: None })) => {
            (nothing, Some(ConversationEnd::Server(reason)))
        }
        Event::Server(None) => (nothing, Some(ConversationEnd::Server("it has ended".to_owned()))),
    }
}

/// Where decisions wait for a disk, other conversations go on meanwhile; a runtime of one thread has no others.
fn deciding<T>(is_durable: bool, decide: impl FnOnce() -> T) -> T {
    let has_others = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if is_durable && has_others() { tokio::task::block_in_place(decide) } else { decide() }
}

/// Sends the last messages, and settles every open call.
async fn end(
    mut relay: Relay,
    client: Link,
    mut to_client: VecDeque<Outgoing>,
    ended: ConversationEnd,
) -> ConversationEnd {
    let is_durable = relay.context.is_durable();
    if let ConversationEnd::Server(reason) = &ended {
        for out in deciding(is_durable, || relay.server_gone(None, reason)) {
            if let Action::Client(message) = out {
                to_client.push_back(message);
            }
        }
    }
    deciding(is_durable, || relay.client_gone());
    for message in to_client {
        if !matches!(timeout(LAST_WORDS, client.to.send(message)).await, Ok(Ok(()))) {
            break;
        }
    }
    ended
}
