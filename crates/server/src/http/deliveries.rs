//! Deliveries: receivers are told of each question to a human.
//!
//! The audit log is the outbox: a question is in it as soon as it is asked, and each receiver has a place in it ([`Outbox`]) up to which it
//! was told. So nothing is lost by a crash, and something may be told twice. A delivery that fails is tried again ([`PAUSES`]) for as long as
//! the question is open; then it is a dead letter, which an admin can see and have sent again. No decision waits for any of this.
//!
//! [`Outbox`]: super::outbox::Outbox

use std::{sync::Arc, time::Duration};

use lockgate::{
    Clock as _, SystemClock,
    engine::{ApprovalId, gate::audit_log::LogEvent, store::Query},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    answers::question,
    exchange::{Exchange, Reply},
    looking::read_entry,
    outbox::{DeadLetter, Place},
    problem::Problem,
    service::Service,
};
use crate::{
    outgoing::{connector, post},
    protocol::read_body,
    webhooks::{Told, Webhook},
};

/// How long is waited before a delivery is tried again.
const PAUSES: [Duration; 7] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(15),
    Duration::from_secs(60),
    Duration::from_secs(300),
    Duration::from_secs(900),
    Duration::from_secs(3600),
];
/// How many records are read at once.
const BATCH: u64 = 200;
/// How often the log is looked at that other processes may have written to.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What became of a delivery.
enum Delivery {
    Done,
    /// No one needs it any more.
    Idle,
    Failed {
        tries: u32,
        why: String,
    },
}

/// Tells one receiver of each question, until the server ends.
pub(super) async fn tell(service: Arc<Service>, webhook: Webhook) {
    loop {
        let changed = service.changed.notified();
        // Where the log or the disk cannot be used, calls are blocked meanwhile, and it is tried again.
        let was_behind = next(&service, &webhook).await.unwrap_or(false);
        if service.is_ending() {
            return;
        }
        if !was_behind {
            // Nothing is lost if this ends early or late: it only looks again.
            let _ = timeout(LOOK_EVERY, changed).await;
        }
    }
}

/// Tells a receiver of what comes next, and says whether there may be more.
async fn next(service: &Arc<Service>, webhook: &Webhook) -> Result<bool, Problem> {
    let name = webhook.name.as_str();
    let (own, own_name) = (Arc::clone(service), webhook.clone());
    let read = tokio::task::spawn_blocking(move || questions_after(&own, &own_name));
    let (found, read_to) = read.await.map_err(|_| Problem::panicked())??;
    for (n, id) in &found {
        let delivery = deliver(service, webhook, *n, id).await;
        if service.is_ending() && !matches!(delivery, Delivery::Done | Delivery::Idle) {
            // It is tried again after the next start.
            return Ok(false);
        }
        let dead = match delivery {
            Delivery::Done | Delivery::Idle => None,
            Delivery::Failed { tries, why } => {
                let (approval, at) = (id.to_string(), SystemClock.now().0);
                Some(DeadLetter { n: *n, approval, at, tries, why })
            }
        };
        service.outbox.change(name, |place| place.settle(*n, dead))?;
    }
    if found.is_empty() {
        let place = service.outbox.place(name);
        if place.after < read_to || !place.again.is_empty() {
            service.outbox.change(name, |place| {
                place.again.clear();
                place.after = place.after.max(read_to);
            })?;
        }
    }
    Ok(!found.is_empty())
}

type Found = (Vec<(u64, ApprovalId)>, u64);

/// The questions that a receiver was not told of yet, and up to which record was read.
fn questions_after(service: &Service, webhook: &Webhook) -> Result<Found, Problem> {
    let place = service.outbox.place(&webhook.name);
    let mut found = Vec::new();
    let mut take = |query: Query| {
        let mut read_to = query.after_n;
        for link in service.store.audit_log(query) {
            let link = link?;
            read_to = link.n;
            let LogEvent::Call { decided, .. } = read_entry(&link)?.what else { continue };
            let id = decided.approval.as_deref().and_then(ApprovalId::parse);
            if let Some(id) = id.filter(|id| webhook.is_about(&id.session)) {
                found.push((link.n, id));
            }
        }
        Ok::<u64, Problem>(read_to)
    };
    for n in &place.again {
        take(Query { after_n: n.saturating_sub(1), limit: Some(1), ..Query::default() })?;
    }
    let read_to = take(Query { after_n: place.after, limit: Some(BATCH), ..Query::default() })?;
    Ok((found, read_to))
}

/// Tells a receiver of a question, as often as it takes and as long as it is open.
async fn deliver(service: &Arc<Service>, webhook: &Webhook, n: u64, id: &ApprovalId) -> Delivery {
    let Ok(connector) = connector(None) else {
        return Delivery::Failed { tries: 0, why: "TLS cannot be used".to_owned() };
    };
    let (mut tries, mut why) = (0, String::new());
    loop {
        let (own, own_id) = (Arc::clone(service), id.clone());
        let asked = tokio::task::spawn_blocking(move || question(&own, &own_id)).await;
        let open = match asked {
            Ok(Ok(open)) => open,
            _ => return Delivery::Failed { tries, why: "the question cannot be read".to_owned() },
        };
        let Some(open) = open.filter(|open| open.answer.is_none()) else {
            // It was answered, or its time is over.
            return if tries == 0 { Delivery::Idle } else { Delivery::Failed { tries, why } };
        };
        let (question, at_seconds) = (json!(open), SystemClock.now().0 / 1000);
        let told_id = format!("q{n}");
        let told = Told { id: &told_id, at_seconds, question: &question };
        let message = webhook.message(&told, service.outbox.webhooks.link.as_ref());
        tries += 1;
        why = match post(&connector, &message.url, &message.headers, message.body).await {
            Ok(status) if status.is_success() => return Delivery::Done,
            Ok(status) => format!("it answered {}", status.as_u16()),
            Err(error) => error.to_string(),
        };
        let pause = usize::try_from(tries - 1).ok().and_then(|tries| PAUSES.get(tries));
        let Some(pause) = pause else { return Delivery::Failed { tries, why } };
        for _ in 0..pause.as_secs() {
            if service.is_ending() {
                return Delivery::Failed { tries, why };
            }
            sleep(Duration::from_secs(1)).await;
        }
    }
}

/// `GET /v1/deliveries`.
pub(super) fn list(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let service = exchange.service;
    let mut all: Vec<Value> = Vec::new();
    for webhook in &service.outbox.webhooks.all {
        let Place { after, dead, again } = service.outbox.place(&webhook.name);
        all.push(json!({ "webhook": webhook.name, "after": after, "dead": dead, "again": again }));
    }
    Ok(Reply::of(&json!({ "webhooks": all })))
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryMessage {
    webhook: String,
    n: u64,
}

/// `POST /v1/deliveries/retry`.
pub(super) fn retry(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let RetryMessage { webhook, n } = read_body("retry", Value::Object(exchange.body.clone()))?;
    let outbox = &exchange.service.outbox;
    let is_known = outbox.webhooks.all.iter().any(|known| known.name == webhook);
    let lost = || Problem::new(axum::http::StatusCode::NOT_FOUND, "there is no such dead letter");
    if !is_known {
        return Err(lost());
    }
    let place = outbox.place(&webhook);
    if !place.dead.iter().any(|letter| letter.n == n) {
        return Err(lost());
    }
    outbox.change(&webhook, |place| {
        place.dead.retain(|letter| letter.n != n);
        place.again.push(n);
    })?;
    exchange.service.changed.notify_waiters();
    Ok(Reply::of(&json!({ "webhook": webhook, "n": n })))
}
