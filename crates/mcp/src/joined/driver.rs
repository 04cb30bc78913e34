//! Moves the messages of joined servers.
//!
//! A side that takes nothing for a while holds up neither the others nor itself: what is meant for it waits, and only
//! when much waits for a server is the client not heard any more. This prevents a deadlock.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    sync::mpsc::{
        self,
        error::{SendError, TrySendError},
    },
    time::{MissedTickBehavior, interval},
};

use super::state::{JoinedAction, JoinedServers};
use crate::transport::link::{Incoming, Link, Outgoing, TransportEnd, WAITING_MAX, pipe};

/// How often [`JoinedServers::tick`] is called.
const TICK: Duration = Duration::from_secs(1);

/// How many ticks a server that hears nothing any more may take to say why it ends.
const DEAF_TICKS: u32 = 3;

/// Several servers as one. Names must pass [`crate::check_server_name`]; `log` gets
/// what people should know.
///
/// Must be called within a tokio runtime.
pub fn as_one(links: Vec<(String, Link)>, log: impl Fn(&str) + Send + 'static) -> Link {
    let (link, ends) = pipe();
    let joined = JoinedServers::new(links.iter().map(|(name, _)| name.clone()));
    let servers = links.into_iter().map(|(_, link)| Some((Outlet::new(link.to), link.from))).collect();
    let driver = Driver {
        joined,
        client: Outlet::new(ends.say.clone()),
        servers,
        next: 0,
        last: "there was none with a name that can be used".to_owned(),
    };
    tokio::spawn(driver.run(ends, log));
    link
}

struct Driver {
    joined: JoinedServers,
    client: Outlet<Incoming>,
    servers: Vec<Option<(Outlet<Outgoing>, mpsc::Receiver<Incoming>)>>,
    /// The server that is polled first, so that none is always polled last.
    next: usize,
    /// Why the latest server has ended.
    last: String,
}

/// What happens next.
enum Event {
    FromClient(Option<Outgoing>),
    FromServer(usize, Option<Incoming>),
    ClientLeft,
    Tick,
}

impl Driver {
    async fn run(mut self, mut ends: TransportEnd, log: impl Fn(&str)) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.let_go();
            if self.joined.is_over() {
                let reason = format!("no server is left: {}", self.last);
                self.client.push(Incoming::Gone { reason, about: None });
                let _ = poll_fn(|context| self.client.poll_flush(context)).await;
                return;
            }
            let event = poll_fn(|context| {
                let event = self.poll_event(&mut ends.hear, context);
                if event.is_pending() && self.needs_time() && ticks.poll_tick(context).is_ready() {
                    return Poll::Ready(Event::Tick);
                }
                event
            });
            let actions = match event.await {
                Event::FromClient(None) | Event::ClientLeft => return,
                Event::FromClient(Some(message)) => self.joined.from_client(&message.text),
                Event::FromServer(server, incoming) => self.take_in(server, incoming),
                Event::Tick => self.tick(),
            };
            for out in actions {
                match out {
                    JoinedAction::ToClient(text) => self.client.push(Incoming::Message(text)),
                    JoinedAction::ToServer(server, text) => {
                        if let Some(Some((outlet, _))) = self.servers.get_mut(server) {
                            outlet.push(Outgoing { text, ..Outgoing::default() });
                        }
                    }
                    JoinedAction::Log(line) => log(&line),
                }
            }
        }
    }

    fn poll_event(&mut self, hear: &mut mpsc::Receiver<Outgoing>, context: &mut Context<'_>) -> Poll<Event> {
        let is_client_free = match self.client.poll_flush(context) {
            Poll::Ready(Err(_)) => return Poll::Ready(Event::ClientLeft),
            Poll::Ready(Ok(())) => true,
            Poll::Pending => false,
        };
        let count = self.servers.len();
        let mut is_backed_up = false;
        for place in (0..count).map(|n| (self.next + n) % count) {
            let Some(Some((outlet, from))) = self.servers.get_mut(place) else { continue };
            if let Poll::Ready(Err(_)) = outlet.poll_flush(context) {
                outlet.deaf_ticks.get_or_insert(0);
                outlet.waiting.clear();
            }
            is_backed_up |= outlet.waiting.len() >= WAITING_MAX;
            if is_client_free && let Poll::Ready(incoming) = from.poll_recv(context) {
                self.next = place + 1;
                return Poll::Ready(Event::FromServer(place, incoming));
            }
        }
        if is_backed_up || self.client.waiting.len() >= WAITING_MAX {
            return Poll::Pending;
        }
        hear.poll_recv(context).map(Event::FromClient)
    }

    fn take_in(&mut self, server: usize, incoming: Option<Incoming>) -> Vec<JoinedAction> {
        match incoming {
            Some(Incoming::Message(text)) => self.joined.from_server(server, &text),
            Some(Incoming::Unreadable(reason)) => {
                self.joined.log_of(server, &format!("it sent an invalid message: {reason}"));
                mem::take(&mut self.joined.actions)
            }
            Some(Incoming::Gone { reason, about: Some(id) }) => {
                self.joined.request_lost(server, &id, &reason)
            }
            Some(Incoming::Gone { reason, about: None }) => self.gone(server, reason),
            None => self.gone(server, "the connection ended".to_owned()),
        }
    }

    fn needs_time(&self) -> bool {
        let is_deaf = |outlet: &Outlet<Outgoing>| outlet.deaf_ticks.is_some();
        self.joined.is_waiting() || self.servers.iter().flatten().any(|(outlet, _)| is_deaf(outlet))
    }

    fn tick(&mut self) -> Vec<JoinedAction> {
        let mut actions = self.joined.tick();
        let mut deaf = Vec::new();
        for (place, server) in self.servers.iter_mut().enumerate() {
            if let Some((Outlet { deaf_ticks: Some(ticks), .. }, _)) = server {
                *ticks += 1;
                deaf.extend((*ticks >= DEAF_TICKS).then_some(place));
            }
        }
        for place in deaf {
            actions.extend(self.gone(place, "it does not take messages any more".to_owned()));
        }
        actions
    }

    fn gone(&mut self, server: usize, reason: String) -> Vec<JoinedAction> {
        let actions = self.joined.server_gone(server, &reason);
        self.last = reason;
        actions
    }

    /// Hangs up on servers that have no part any more.
    fn let_go(&mut self) {
        for (place, server) in self.servers.iter_mut().enumerate() {
            if server.is_some() && self.joined.is_out(place) {
                *server = None;
            }
        }
    }
}

type Permit<T> = Pin<Box<dyn Future<Output = Result<mpsc::OwnedPermit<T>, SendError<()>>> + Send>>;

/// A channel, and what waits because it is full.
struct Outlet<T> {
    to: mpsc::Sender<T>,
    waiting: VecDeque<T>,
    permit: Option<Permit<T>>,
    /// How long the receiver has been gone.
    deaf_ticks: Option<u32>,
}

impl<T: Send + 'static> Outlet<T> {
    fn new(to: mpsc::Sender<T>) -> Self {
        Self { to, waiting: VecDeque::new(), permit: None, deaf_ticks: None }
    }

    fn push(&mut self, message: T) {
        self.waiting.push_back(message);
    }

    /// Sends what waits; an error once the receiver is gone.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendError<()>>> {
        loop {
            if let Some(permit) = &mut self.permit {
                let Poll::Ready(permit) = permit.as_mut().poll(context) else { return Poll::Pending };
                self.permit = None;
                let permit = permit?;
                if let Some(message) = self.waiting.pop_front() {
                    permit.send(message);
                }
            }
            let Some(message) = self.waiting.pop_front() else { return Poll::Ready(Ok(())) };
            match self.to.try_send(message) {
                Ok(()) => {}
                Err(TrySendError::Closed(_)) => return Poll::Ready(Err(SendError(()))),
                Err(TrySendError::Full(message)) => {
                    self.waiting.push_front(message);
                    self.permit = Some(Box::pin(self.to.clone().reserve_owned()));
                }
            }
        }
    }
}
