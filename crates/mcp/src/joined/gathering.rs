//! What several servers are asked for one request of the client, and how their answers become one.
//!
//! A server that fails is left out of the answer; only where all fail is the answer an error.

use serde_json::{Value, json, value::RawValue};

use super::{
    lists::{self, Greeting, List, renamed},
    state::{
        BETWEEN, Gathering, GatheringKind, ITEMS_BYTES_MAX, ITEMS_MAX, JoinedAction, JoinedServers, Open,
        PAGES_MAX, PartOutcome, RESOURCE_NOT_FOUND, SentRequest, ServerPart, State, UNSUPPORTED_VERSION,
    },
};
use crate::{
    message::{Id, Members, Message, to_raw, to_text},
    protocol::{INTERNAL_ERROR, answer, error},
};

impl JoinedServers {
    pub(super) fn gather(
        &mut self,
        id: &Id,
        what: GatheringKind,
        params: Option<&RawValue>,
        parts: Vec<(usize, Option<List>)>,
    ) {
        let part = |(server, list)| ServerPart {
            server,
            list,
            items: Vec::new(),
            pages: 0,
            outcome: PartOutcome::Waiting,
        };
        let parts = parts.into_iter().map(part).collect();
        let params = params.map(ToOwned::to_owned);
        let mut gathering = Gathering { what, params, parts, items: 0, bytes: 0, ticks: 0 };
        for place in 0..gathering.parts.len() {
            self.ask(id, &mut gathering, place, None);
        }
        self.keep_or_finish(id, gathering);
    }

    /// Asks one server for its part, or the next page of it.
    fn ask(&mut self, request: &Id, gathering: &mut Gathering, place: usize, cursor: Option<&RawValue>) {
        let Some(part) = gathering.parts.get_mut(place) else { return };
        part.pages += 1;
        let method = match (part.list, &gathering.what) {
            (Some(list), _) => list.method(),
            (None, GatheringKind::Level) => "logging/setLevel",
            (None, _) => "initialize",
        };
        let id = self.new_id();
        let mut message = Members::default();
        message.set("jsonrpc", to_raw(&"2.0"));
        message.set("id", to_raw(&id));
        message.set("method", to_raw(&method));
        match (cursor, &gathering.params) {
            (None, None) => {}
            (None, Some(params)) => message.set("params", params.clone()),
            (Some(cursor), params) => {
                let params = params.as_ref().and_then(|params| Members::read(params.get()).ok());
                let mut params = params.unwrap_or_default();
                params.set("cursor", cursor.to_owned());
                message.set("params", params.to_raw());
            }
        }
        self.actions.push(JoinedAction::ToServer(part.server, message.to_text()));
        self.asked.insert(id, SentRequest { server: part.server, request: request.clone(), part: place });
    }

    pub(super) fn take_part(&mut self, asked: &SentRequest, message: &Message<'_>) {
        let Some(Open::Gathering(mut gathering)) = self.open.remove(&asked.request) else { return };
        let list = gathering.parts.get(asked.part).and_then(|part| part.list);
        let outcome = match (message.members.get("result"), list) {
            (None, _) => failed_with(message.members.get("error")),
            (Some(result), None) => PartOutcome::Done(result.to_owned()),
            (Some(result), Some(list)) => match self.take_page(asked, &mut gathering, list, result) {
                Ok(outcome) => outcome,
                Err(reason) => PartOutcome::Failed { reason, error: None },
            },
        };
        if let Some(part) = gathering.parts.get_mut(asked.part) {
            part.outcome = outcome;
        }
        self.keep_or_finish(&asked.request, gathering);
    }

    /// Takes in a page of a list, and asks for the next one.
    fn take_page(
        &mut self,
        asked: &SentRequest,
        gathering: &mut Gathering,
        list: List,
        result: &RawValue,
    ) -> Result<PartOutcome, String> {
        let page = Members::read(result.get()).map_err(|malformed| malformed.to_string())?;
        let items = page.get(list.key()).ok_or_else(|| format!("its answer has no `{}`", list.key()))?;
        let items: Vec<Box<RawValue>> =
            serde_json::from_str(items.get()).map_err(|_| format!("`{}` is not a list", list.key()))?;
        let done = Ok(PartOutcome::Done(RawValue::NULL.to_owned()));
        for item in items {
            if gathering.items >= ITEMS_MAX || gathering.bytes + item.get().len() > ITEMS_BYTES_MAX {
                self.log_of(asked.server, &format!("its {} were cut off: there are too many", list.key()));
                return done;
            }
            gathering.items += 1;
            gathering.bytes += item.get().len();
            if let Some(part) = gathering.parts.get_mut(asked.part) {
                part.items.push(item);
            }
        }
        let cursor = page.get("nextCursor").filter(|cursor| cursor.get() != "null");
        let Some(cursor) = cursor else { return done };
        if gathering.parts.get(asked.part).is_none_or(|part| part.pages >= PAGES_MAX) {
            self.log_of(asked.server, &format!("its {} were cut off: there are too many pages", list.key()));
            return done;
        }
        self.ask(&asked.request, gathering, asked.part, Some(cursor));
        Ok(PartOutcome::Waiting)
    }

    pub(super) fn keep_or_finish(&mut self, id: &Id, gathering: Gathering) {
        if gathering.parts.iter().any(|part| matches!(part.outcome, PartOutcome::Waiting)) {
            self.open.insert(id.clone(), Open::Gathering(gathering));
            return;
        }
        match &gathering.what {
            GatheringKind::Initialize => self.begin(id, &gathering.parts),
            GatheringKind::List(list) => self.tell_list(id, *list, &gathering.parts),
            GatheringKind::Level => self.tell_level(id, &gathering.parts),
            GatheringKind::Locate { uri, text } => {
                for list in [List::Resources, List::Templates] {
                    self.joined(list, &gathering.parts);
                }
                match self.owner_of(uri) {
                    Some(server) => self.route(id, server, text.clone(), false),
                    None => self.tell(error(Some(id), RESOURCE_NOT_FOUND, &format!("no server has `{uri}`"))),
                }
            }
        }
    }

    /// One request to a server is lost.
    pub(super) fn lose(&mut self, server: usize, id: &Id, reason: &str) {
        if let Some(asked) = self.asked.get(id).filter(|asked| asked.server == server) {
            let (request, place) = (asked.request.clone(), asked.part);
            self.asked.remove(id);
            let Some(Open::Gathering(mut gathering)) = self.open.remove(&request) else { return };
            if let Some(part) = gathering.parts.get_mut(place) {
                part.outcome = PartOutcome::Failed { reason: reason.to_owned(), error: None };
            }
            self.keep_or_finish(&request, gathering);
        } else if matches!(self.open.get(id), Some(Open::Routed { server: own, .. }) if *own == server) {
            self.open.remove(id);
            self.tell(error(Some(id), INTERNAL_ERROR, &format!("the server did not answer: {reason}")));
        }
    }

    /// All servers have said who they are, or why not.
    fn begin(&mut self, id: &Id, parts: &[ServerPart]) {
        let mut greetings = Vec::new();
        for part in parts {
            let greeting = match &part.outcome {
                PartOutcome::Done(result) => Greeting::read(result),
                PartOutcome::Failed { reason, .. } => Err(reason.clone()),
                PartOutcome::Waiting => Err("it did not answer".to_owned()),
            };
            match (greeting, self.servers.get_mut(part.server)) {
                (Ok(greeting), Some(server)) if server.state == State::New => {
                    server.state = State::Up;
                    server.capabilities = greeting.capabilities.clone();
                    greetings.push((server.name.clone(), greeting));
                }
                (Err(reason), _) => self.leave_out(part.server, &reason),
                _ => {}
            }
        }
        match lists::greeting(&greetings) {
            Some(result) => {
                self.is_ready = true;
                self.tell(answer(id, &result));
            }
            None => self.tell_failure(id, parts),
        }
    }

    fn tell_list(&mut self, id: &Id, list: List, parts: &[ServerPart]) {
        if !parts.is_empty() && parts.iter().all(|part| matches!(part.outcome, PartOutcome::Failed { .. })) {
            return self.tell_failure(id, parts);
        }
        self.log_failures(parts);
        let mut result = Members::default();
        result.set(list.key(), to_raw(&self.joined(list, parts)));
        let mut message = Members::default();
        message.set("jsonrpc", to_raw(&"2.0"));
        message.set("id", to_raw(id));
        message.set("result", result.to_raw());
        self.tell(message.to_text());
    }

    fn tell_level(&mut self, id: &Id, parts: &[ServerPart]) {
        if parts.iter().all(|part| matches!(part.outcome, PartOutcome::Failed { .. })) {
            return self.tell_failure(id, parts);
        }
        self.log_failures(parts);
        self.tell(answer(id, &json!({})));
    }

    /// The entries of all servers as the client sees them. Remembers whose they are.
    fn joined(&mut self, list: List, parts: &[ServerPart]) -> Vec<Box<RawValue>> {
        let mut joined = Vec::new();
        match list {
            List::Resources => self.resources.clear(),
            List::Templates => self.templates.clear(),
            List::Tools | List::Prompts | List::Tasks => {}
        }
        for part in parts.iter().filter(|part| part.list == Some(list)) {
            if self.is_out(part.server) {
                continue;
            }
            for item in &part.items {
                match self.taken_in(list, part.server, item) {
                    Ok(item) => joined.push(item),
                    Err(reason) => {
                        self.log_of(part.server, &format!("an entry of its {} {reason}", list.key()))
                    }
                }
            }
        }
        joined
    }

    fn taken_in(
        &mut self,
        list: List,
        server: usize,
        item: &RawValue,
    ) -> Result<Box<RawValue>, &'static str> {
        let name = lists::name_of(list, item).ok_or("has no name")?;
        let owner = match list {
            List::Tools | List::Prompts => {
                let prefix = self.servers.get(server).map(|server| server.name.as_str()).unwrap_or_default();
                return renamed(item, &format!("{prefix}{BETWEEN}{name}")).ok_or("has no name");
            }
            List::Resources => *self.resources.entry(name).or_insert(server),
            List::Templates => *self.templates.entry(name).or_insert(server),
            List::Tasks if self.remember_task(&name, server) => server,
            List::Tasks => return Err("belongs to another server"),
        };
        if owner == server { Ok(item.to_owned()) } else { Err("belongs to another server") }
    }

    fn tell_failure(&mut self, id: &Id, parts: &[ServerPart]) {
        self.log_failures(parts);
        let failed = parts.iter().find_map(|part| match &part.outcome {
            PartOutcome::Failed { reason, error } => Some((reason, error)),
            _ => None,
        });
        let text = match failed {
            Some((_, Some(error))) => to_text(
                &json!({ "jsonrpc": "2.0", "id": id, "error": serde_json::from_str::<Value>(error.get()).ok() }),
            ),
            Some((reason, None)) => error(Some(id), INTERNAL_ERROR, &format!("no server answered: {reason}")),
            None => error(Some(id), INTERNAL_ERROR, "no server answered as it should"),
        };
        self.tell(text);
    }

    fn log_failures(&mut self, parts: &[ServerPart]) {
        for part in parts {
            if let (PartOutcome::Failed { reason, .. }, false) = (&part.outcome, self.is_out(part.server)) {
                self.log_of(part.server, reason);
            }
        }
    }
}

fn failed_with(error: Option<&RawValue>) -> PartOutcome {
    let read = error.and_then(|error| serde_json::from_str::<Value>(error.get()).ok()).unwrap_or_default();
    let reason = match (read.get("code").and_then(Value::as_i64), read.get("message").and_then(Value::as_str))
    {
        (Some(UNSUPPORTED_VERSION), _) => {
            "it supports only the modern revision of the protocol: connect it alone, not among several"
                .to_owned()
        }
        (_, Some(message)) => message.to_owned(),
        _ => "it answered with an error".to_owned(),
    };
    PartOutcome::Failed { reason, error: error.map(ToOwned::to_owned) }
}
