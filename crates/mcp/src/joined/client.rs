//! Messages of the client: answered here, sent to one server, or sent to several.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    lists::List,
    state::{
        BETWEEN, Gathering, GatheringKind, JoinedAction, JoinedServers, OPEN_MAX, Open, Question, Refusal,
        State, cancelled, params_of, progress_token, request_id,
    },
};
use crate::{
    message::{Id, Members, Message, to_raw},
    protocol::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, answer, error},
};

impl JoinedServers {
    pub(super) fn request(&mut self, id: &Id, method: &str, message: &Message<'_>, text: &str) {
        if self.open.contains_key(id) || self.asked.contains_key(id) {
            return self.tell(error(None, INVALID_REQUEST, &format!("the id `{id}` is in use")));
        }
        if self.open.len() >= OPEN_MAX {
            self.open.retain(|_, open| !matches!(open, Open::Routed { is_cancelled: true, .. }));
        }
        let done = match method {
            "ping" => {
                self.tell(answer(id, &json!({})));
                Ok(())
            }
            "server/discover" => Err(Refusal(METHOD_NOT_FOUND, "begin with `initialize`".into())),
            _ if self.open.len() >= OPEN_MAX => {
                Err(Refusal(INVALID_REQUEST, "too many requests are open".into()))
            }
            "initialize" => self.initialize(id, message),
            _ if !self.is_ready => {
                Err(Refusal(INVALID_REQUEST, "a conversation begins with `initialize`".into()))
            }
            "tools/call" => self.send_by_name(id, message, true),
            "prompts/get" => self.send_by_name(id, message, false),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                self.send_by_address(id, message, text)
            }
            "completion/complete" => self.complete(id, message, text),
            "logging/setLevel" => self.set_level(id, message),
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                self.send_by_task(id, message, text)
            }
            _ => match List::of_method(method) {
                Some(list) => self.list(id, list, message),
                None => {
                    Err(Refusal(METHOD_NOT_FOUND, "this method is not supported for several servers".into()))
                }
            },
        };
        if let Err(Refusal(code, sentence)) = done {
            self.tell(error(Some(id), code, &sentence));
        }
    }

    fn initialize(&mut self, id: &Id, message: &Message<'_>) -> Result<(), Refusal> {
        let begun =
            |open: &Open| matches!(open, Open::Gathering(Gathering { what: GatheringKind::Initialize, .. }));
        if self.is_ready || self.open.values().any(begun) {
            return Err(Refusal(INVALID_REQUEST, "the conversation has already begun".into()));
        }
        let servers = self.places(|server| server.state == State::New);
        if servers.is_empty() {
            return Err(Refusal(INTERNAL_ERROR, "no server is left".into()));
        }
        let parts = servers.into_iter().map(|server| (server, None)).collect();
        self.gather(id, GatheringKind::Initialize, message.params(), parts);
        Ok(())
    }

    fn list(&mut self, id: &Id, list: List, message: &Message<'_>) -> Result<(), Refusal> {
        if !self.servers.iter().any(|server| server.has(list.capability())) {
            return Err(Refusal(METHOD_NOT_FOUND, format!("no server has {}", list.capability())));
        }
        if params_of(message)
            .is_some_and(|params| params.get("cursor").is_some_and(|raw| raw.get() != "null"))
        {
            return Err(Refusal(INVALID_PARAMS, "there is one page only".into()));
        }
        self.stale.remove(&list);
        let servers = self.places(|server| server.state == State::Up && server.has(list.capability()));
        let parts = servers.into_iter().map(|server| (server, Some(list))).collect();
        self.gather(id, GatheringKind::List(list), message.params(), parts);
        Ok(())
    }

    fn set_level(&mut self, id: &Id, message: &Message<'_>) -> Result<(), Refusal> {
        let servers = self.places(|server| server.state == State::Up && server.has("logging"));
        if servers.is_empty() {
            return Err(Refusal(METHOD_NOT_FOUND, "no server has logging".into()));
        }
        let parts = servers.into_iter().map(|server| (server, None)).collect();
        self.gather(id, GatheringKind::Level, message.params(), parts);
        Ok(())
    }

    /// Sends a request to the server in the prefix of the tool or prompt name.
    fn send_by_name(&mut self, id: &Id, message: &Message<'_>, may_start_task: bool) -> Result<(), Refusal> {
        let mut params = params_of(message).unwrap_or_default();
        let (server, own) = self.named_in(&params)?;
        params.set("name", to_raw(&own));
        let mut members = message.members.clone();
        members.set("params", params.to_raw());
        self.route(id, server, members.to_text(), may_start_task);
        Ok(())
    }

    /// The server in the prefix of a name, and the rest of the name.
    fn named_in(&self, members: &Members<'_>) -> Result<(usize, String), Refusal> {
        let wrong = |sentence: String| Refusal(INVALID_PARAMS, sentence);
        let name = members.text("name").map_err(|malformed| wrong(malformed.to_string()))?;
        let name = name.ok_or_else(|| wrong("`name` is missing".into()))?;
        let found = name.split_once(BETWEEN).and_then(|(server, own)| Some((self.place_of(server)?, own)));
        let (server, own) = found.ok_or_else(|| wrong(format!("no server has `{name}`")))?;
        if self.servers.get(server).is_none_or(|server| server.state != State::Up) {
            return Err(wrong(format!("the server of `{name}` is gone")));
        }
        Ok((server, own.to_owned()))
    }

    fn send_by_address(&mut self, id: &Id, message: &Message<'_>, text: &str) -> Result<(), Refusal> {
        let uri = params_of(message).and_then(|params| params.text("uri").ok().flatten());
        let uri = uri.ok_or_else(|| Refusal(INVALID_PARAMS, "`uri` is missing or not a string".into()))?;
        if let Some(server) = self.owner_of(&uri) {
            self.route(id, server, text.to_owned(), false);
            return Ok(());
        }
        let servers =
            self.places(|server| server.state == State::Up && server.has(List::Resources.capability()));
        if servers.is_empty() {
            return Err(Refusal(METHOD_NOT_FOUND, "no server has resources".into()));
        }
        let lists = [Some(List::Resources), Some(List::Templates)];
        let parts = servers.iter().flat_map(|server| lists.map(|list| (*server, list))).collect();
        self.gather(id, GatheringKind::Locate { uri, text: text.to_owned() }, None, parts);
        Ok(())
    }

    fn complete(&mut self, id: &Id, message: &Message<'_>, text: &str) -> Result<(), Refusal> {
        let wrong = || Refusal(INVALID_PARAMS, "`ref` names neither a prompt nor a resource".into());
        let mut params = params_of(message).ok_or_else(wrong)?;
        let about = params.get("ref").map(ToOwned::to_owned).ok_or_else(wrong)?;
        let mut about = Members::read(about.get()).map_err(|_| wrong())?;
        match about.text("type").ok().flatten().as_deref() {
            Some("ref/prompt") => {
                let (server, own) = self.named_in(&about)?;
                about.set("name", to_raw(&own));
                params.set("ref", about.to_raw());
                let mut members = message.members.clone();
                members.set("params", params.to_raw());
                self.route(id, server, members.to_text(), false);
                Ok(())
            }
            Some("ref/resource") => {
                let uri = about.text("uri").ok().flatten().ok_or_else(wrong)?;
                let server = self.templates.get(&uri).copied().or_else(|| self.owner_of(&uri));
                let server =
                    server.ok_or_else(|| Refusal(INVALID_PARAMS, format!("no server has `{uri}`")))?;
                self.route(id, server, text.to_owned(), false);
                Ok(())
            }
            _ => Err(wrong()),
        }
    }

    fn send_by_task(&mut self, id: &Id, message: &Message<'_>, text: &str) -> Result<(), Refusal> {
        let task = params_of(message).and_then(|params| params.text("taskId").ok().flatten());
        let task =
            task.ok_or_else(|| Refusal(INVALID_PARAMS, "`taskId` is missing or not a string".into()))?;
        let server = self.tasks.iter().find(|(own, _)| *own == task).map(|(_, server)| *server);
        let server = server.ok_or_else(|| Refusal(INVALID_PARAMS, format!("no task has the id `{task}`")))?;
        self.route(id, server, text.to_owned(), false);
        Ok(())
    }

    pub(super) fn notice(&mut self, method: &str, message: &Message<'_>, text: &str) {
        match method {
            "notifications/cancelled" => self.cancel(message, text),
            "notifications/progress" => {
                let token = progress_token(params_of(message).as_ref());
                let waits = |question: &&Question| token.is_some() && question.progress_token == token;
                let servers: BTreeSet<usize> =
                    self.questions.values().filter(waits).map(|it| it.server).collect();
                self.actions.extend(
                    servers.into_iter().map(|server| JoinedAction::ToServer(server, text.to_owned())),
                );
            }
            _ => {
                let servers = self.places(|server| server.state == State::Up);
                self.actions.extend(
                    servers.into_iter().map(|server| JoinedAction::ToServer(server, text.to_owned())),
                );
            }
        }
    }

    fn cancel(&mut self, message: &Message<'_>, text: &str) {
        let Some(request) = request_id(message) else { return };
        match self.open.get_mut(&request) {
            // A late answer may still come, and the relay has to see it.
            Some(Open::Routed { server, is_cancelled, .. }) => {
                *is_cancelled = true;
                self.actions.push(JoinedAction::ToServer(*server, text.to_owned()));
            }
            None | Some(Open::Gathering(Gathering { what: GatheringKind::Initialize, .. })) => {}
            Some(Open::Gathering(_)) => {
                self.open.remove(&request);
                for (server, id) in self.asked_for(&request) {
                    self.asked.remove(&id);
                    self.actions
                        .push(JoinedAction::ToServer(server, cancelled(&id, "the client cancelled it")));
                }
            }
        }
    }

    pub(super) fn answer(&mut self, id: Option<&Id>, mut members: Members<'_>) {
        match id.and_then(|id| self.questions.remove(id)) {
            Some(question) => {
                members.set("id", to_raw(&question.id));
                self.actions.push(JoinedAction::ToServer(question.server, members.to_text()));
            }
            None => self.actions.push(JoinedAction::Log("the client answered what no server asked".into())),
        }
    }
}
