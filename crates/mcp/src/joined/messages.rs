//! What becomes of each message, and of time that passes.

use std::mem;

use super::state::{JoinedAction, JoinedServers, Open, PATIENCE_TICKS, State, key};
use crate::{
    message::{Id, Kind, Message},
    protocol::{INVALID_REQUEST, error},
};

impl JoinedServers {
    /// Takes in a message of the client.
    pub fn from_client(&mut self, text: &str) -> Vec<JoinedAction> {
        match Message::read(text) {
            Err(malformed) => self.tell(error(None, INVALID_REQUEST, &malformed.to_string())),
            Ok(message) => match &message.kind {
                Kind::Request { id, method } => self.request(id, method, &message, text),
                Kind::Notice { method } => self.notice(method, &message, text),
                Kind::Answer { id } => self.answer(id.as_ref(), message.members),
            },
        }
        mem::take(&mut self.actions)
    }

    /// Takes in a message of a server.
    pub fn from_server(&mut self, server: usize, text: &str) -> Vec<JoinedAction> {
        if self.is_out(server) {
            return Vec::new();
        }
        match Message::read(text) {
            Err(malformed) => {
                self.log_of(server, &format!("it sent an invalid message: {malformed}"));
                // The client must not wait for what is not passed on.
                if let Some(id) = Message::answered(text) {
                    self.lose(server, &id, &format!("its answer is invalid: {malformed}"));
                }
            }
            Ok(message) => match &message.kind {
                Kind::Request { id, .. } => self.question(server, id.clone(), message),
                Kind::Notice { method } => self.notice_of(server, method, &message, text),
                Kind::Answer { id: Some(id) } => self.answer_of(server, id, &message, text),
                Kind::Answer { id: None } => self.log_of(server, "it could not read a message"),
            },
        }
        mem::take(&mut self.actions)
    }

    /// A server has ended: what it was to answer fails, and what it offered vanishes.
    pub fn server_gone(&mut self, server: usize, reason: &str) -> Vec<JoinedAction> {
        if !self.is_out(server) {
            let was_up = self.servers.get(server).is_some_and(|server| server.state == State::Up);
            self.leave_out(server, reason);
            let mut lost: Vec<Id> = self.routed_to(server).cloned().collect();
            lost.extend(self.asked.iter().filter(|(_, asked)| asked.server == server).map(key));
            lost.sort_unstable();
            for id in lost {
                self.lose(server, &id, reason);
            }
            self.withdraw_questions(server, reason);
            if was_up {
                self.tell_changed(server);
            }
        }
        mem::take(&mut self.actions)
    }

    /// One request to a server is lost, though the server is not.
    pub fn request_lost(&mut self, server: usize, id: &Id, reason: &str) -> Vec<JoinedAction> {
        self.lose(server, id, reason);
        mem::take(&mut self.actions)
    }

    /// Time passes: gives up servers that take too long to answer a request to all.
    pub fn tick(&mut self) -> Vec<JoinedAction> {
        let mut late = Vec::new();
        for (id, open) in &mut self.open {
            if let Open::Gathering(gathering) = open {
                gathering.ticks += 1;
                if gathering.ticks >= PATIENCE_TICKS {
                    late.push(id.clone());
                }
            }
        }
        for request in late {
            for (server, id) in self.asked_for(&request) {
                self.lose(server, &id, "it took too long to answer");
            }
        }
        mem::take(&mut self.actions)
    }
}
