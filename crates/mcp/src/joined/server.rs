//! Messages of the servers to the client, under ids that no two servers share.

use super::{
    lists::{self, List},
    state::{
        JoinedAction, JoinedServers, Open, QUESTIONS_MAX, Question, key, meta_token, params_of, request_id,
    },
};
use crate::{
    message::{Id, Message, to_raw},
    protocol::{INTERNAL_ERROR, INVALID_REQUEST, error},
};

impl JoinedServers {
    pub(super) fn question(&mut self, server: usize, id: Id, message: Message<'_>) {
        let is_open = |question: &Question| question.server == server && question.id == id;
        if self.questions.len() >= QUESTIONS_MAX || self.questions.values().any(is_open) {
            self.log_of(server, "a request of it was left out: its id is in use, or too many are open");
            let sentence = "the id is in use, or too many requests are open";
            return self.actions.push(JoinedAction::ToServer(server, error(None, INVALID_REQUEST, sentence)));
        }
        let progress_token = params_of(&message).and_then(|params| meta_token(&params));
        let ours = self.new_id();
        let mut members = message.members;
        members.set("id", to_raw(&ours));
        self.tell(members.to_text());
        self.questions.insert(ours, Question { server, id, progress_token });
    }

    pub(super) fn notice_of(&mut self, server: usize, method: &str, message: &Message<'_>, text: &str) {
        if method == "notifications/cancelled" {
            let Some(request) = request_id(message) else { return };
            let is_it = |question: &Question| question.server == server && question.id == request;
            let ours = self.questions.iter().find(|(_, question)| is_it(question)).map(key);
            let Some(ours) = ours else { return };
            self.questions.remove(&ours);
            let mut params = params_of(message).unwrap_or_default();
            params.set("requestId", to_raw(&ours));
            let mut members = message.members.clone();
            members.set("params", params.to_raw());
            return self.tell(members.to_text());
        }
        // Before there is a list, none is out of date; and once is enough until the client has looked again.
        match List::of_change(method) {
            Some(list) if !self.is_ready || !self.stale.insert(list) => {}
            _ => self.tell(text.to_owned()),
        }
    }

    pub(super) fn answer_of(&mut self, server: usize, id: &Id, message: &Message<'_>, text: &str) {
        if self.asked.get(id).is_some_and(|asked| asked.server == server)
            && let Some(asked) = self.asked.remove(id)
        {
            return self.take_part(&asked, message);
        }
        match self.open.get(id) {
            Some(Open::Routed { server: own, may_start_task, .. }) if *own == server => {
                let may_start_task = *may_start_task;
                self.open.remove(id);
                match lists::task_in(message).filter(|_| may_start_task) {
                    Some(task) if !self.remember_task(&task, server) => {
                        let sentence = "the server gave its task a name that another server uses";
                        self.log_of(server, sentence);
                        self.tell(error(Some(id), INTERNAL_ERROR, sentence));
                    }
                    _ => self.tell(text.to_owned()),
                }
            }
            _ => self.log_of(server, &format!("it answered `{id}`, which it was not asked")),
        }
    }
}
