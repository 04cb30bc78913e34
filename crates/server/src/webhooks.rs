//! Webhooks: who is told that a human is asked, and what each of them is sent.
//!
//! [`Webhooks::read`] reads the file of settings, and [`Webhook::message`] writes what a receiver expects: signed JSON, or the form of Slack,
//! Teams or Telegram. Secrets are in no message of an error. Sending is done in `http/outbox.rs`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use lockgate::engine::{NamePattern, call::visible};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use url::Url;

/// How many webhooks a server has at most.
pub const WEBHOOKS_MAX: usize = 20;
/// The longest input that is shown in a chat, in characters.
const SHOWN_MAX: usize = 1_500;
/// Where bots of Telegram are spoken to.
const TELEGRAM: &str = "https://api.telegram.org";

/// Why a file of webhooks cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebhookError(String);

/// Who is told.
#[derive(Clone, Debug, Default)]
pub struct Webhooks {
    /// The address of the dashboard, for people who are told.
    pub link: Option<Url>,
    /// Each of them.
    pub all: Vec<Webhook>,
}

/// One receiver.
#[derive(Clone)]
pub struct Webhook {
    /// What people call it.
    pub name: String,
    form: Form,
    url: Url,
    sessions: Vec<NamePattern>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest of it may be secret.
        formatter.debug_struct("Webhook").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a receiver expects.
#[derive(Clone)]
enum Form {
    /// JSON, signed with each of these keys.
    Signed(Vec<Vec<u8>>),
    Slack,
    Teams,
    Telegram {
        chat: String,
    },
}

/// What is told about a question.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// What distinguishes it from all others.
    pub id: &'a str,
    /// When it is sent, in seconds since 1970.
    pub at_seconds: u64,
    /// The question, as `GET /v1/questions` has it.
    pub question: &'a Value,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// To where.
    pub url: Url,
    /// Beside the media type, which is JSON.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    link: Option<String>,
    #[serde(default)]
    webhook: Vec<WrittenWebhook>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWebhook {
    name: String,
    #[serde(default)]
    kind: Kind,
    url: Option<String>,
    #[serde(default)]
    secrets: Vec<String>,
    bot_token: Option<String>,
    chat: Option<String>,
    sessions: Option<Vec<String>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Signed,
    Slack,
    Teams,
    Telegram,
}

impl Webhooks {
    /// Reads a file of webhooks.
    ///
    /// # Errors
    /// When it is not one: a receiver that is misspelt would never be told.
    pub fn read(text: &str) -> Result<Self, WebhookError> {
        // The parser repeats what stands in the file, which may be a secret.
        let written: WrittenFile = toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = text.get(..error.span().unwrap_or_default().start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            wrong(format!("line {line} is not understood; docs/server.md lists what may stand in it"))
        })?;
        if written.webhook.len() > WEBHOOKS_MAX {
            return Err(wrong(format!("there are at most {WEBHOOKS_MAX} webhooks")));
        }
        let link = written.link.as_deref().map(|link| address(link, "link")).transpose()?;
        let mut all: Vec<Webhook> = Vec::new();
        for webhook in written.webhook {
            let webhook = Webhook::read(webhook)?;
            if all.iter().any(|other| other.name == webhook.name) {
                return Err(wrong(format!("two webhooks are called `{}`", webhook.name)));
            }
            all.push(webhook);
        }
        Ok(Self { link, all })
    }
}

impl Webhook {
    fn read(written: WrittenWebhook) -> Result<Self, WebhookError> {
        let WrittenWebhook { name, kind, url, secrets, bot_token, chat, sessions } = written;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(wrong("`name` of a webhook is 1 to 64 letters, digits, `.`, `_` or `-`"));
        }
        let of = |what: &str| wrong(format!("the webhook `{name}` {what}"));
        if (kind == Kind::Signed) == secrets.is_empty() {
            return Err(of("needs `secrets` if it is `signed`, and has none otherwise"));
        }
        let is_whole = match kind {
            Kind::Telegram => bot_token.is_some() && chat.is_some(),
            _ => bot_token.is_none() && chat.is_none(),
        };
        if !is_whole {
            return Err(of("needs `bot_token` and `chat` if it is `telegram`, and has none otherwise"));
        }
        let url = match (url, bot_token) {
            (url, Some(token)) => {
                let url = address(url.as_deref().unwrap_or(TELEGRAM), "url")?;
                let is_token = |c: char| c.is_ascii_alphanumeric() || ":_-".contains(c);
                if !token.chars().all(is_token) {
                    return Err(of("has a `bot_token` that is not one"));
                }
                url.join(&format!("/bot{token}/sendMessage"))
                    .map_err(|_| of("has a `url` that is not one"))?
            }
            (Some(url), None) => address(&url, "url")?,
            (None, None) => return Err(of("needs a `url`")),
        };
        let form = match (kind, chat) {
            (Kind::Slack, _) => Form::Slack,
            (Kind::Teams, _) => Form::Teams,
            (Kind::Telegram, chat) => Form::Telegram { chat: chat.unwrap_or_default() },
            (Kind::Signed, _) => {
                let keys: Option<Vec<Vec<u8>>> = secrets.iter().map(|secret| key(secret)).collect();
                let form = "has a secret that is not one: write `whsec_` and 24 to 64 bytes in base64";
                Form::Signed(keys.ok_or_else(|| of(form))?)
            }
        };
        let sessions = sessions.unwrap_or_else(|| vec!["*".to_owned()]);
        let sessions: Result<Vec<NamePattern>, _> =
            sessions.iter().map(|text| NamePattern::parse(text)).collect();
        let sessions = sessions.map_err(|_| of("has `sessions` that are not patterns"))?;
        Ok(Self { name, form, url, sessions })
    }

    /// Whether it is told about a session.
    pub fn is_about(&self, session: &str) -> bool {
        self.sessions.iter().any(|pattern| pattern.is(session))
    }

    /// What it is sent about a question.
    pub fn message(&self, told: &Told<'_>, link: Option<&Url>) -> Message {
        let (mut headers, url) = (Vec::new(), self.url.clone());
        let text = || shown(told.question, link);
        let body = match &self.form {
            Form::Signed(keys) => {
                let body = json!({ "type": "question.asked", "timestamp": told.at_seconds, "data": told.question,
                                   "link": link.map(Url::as_str) });
                let (body, at) = (body.to_string(), told.at_seconds.to_string());
                let signatures: Vec<String> =
                    keys.iter().map(|key| format!("v1,{}", signature(key, told.id, &at, &body))).collect();
                headers.push(("webhook-id", told.id.to_owned()));
                headers.push(("webhook-timestamp", at));
                headers.push(("webhook-signature", signatures.join(" ")));
                return Message { url, headers, body };
            }
            Form::Slack => {
                // The three characters that Slack reads as its own.
                let text = text().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                json!({ "text": text })
            }
            Form::Teams => {
                let block = json!({ "type": "TextBlock", "text": text(), "wrap": true });
                let actions: Vec<Value> = link
                    .map(|link| json!({ "type": "Action.OpenUrl", "title": "Open", "url": link.as_str() }))
                    .into_iter()
                    .collect();
                let card = json!({ "type": "AdaptiveCard", "version": "1.4", "body": [block], "actions": actions,
                                   "$schema": "http://adaptivecards.io/schemas/adaptive-card.json" });
                json!({ "type": "message", "attachments": [
                    { "contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": card },
                ] })
            }
            Form::Telegram { chat } => {
                json!({ "chat_id": chat, "text": text(), "link_preview_options": { "is_disabled": true } })
            }
        };
        Message { url, headers, body: body.to_string() }
    }
}

/// The signature of Standard Webhooks.
fn signature(key: &[u8], id: &str, at: &str, body: &str) -> String {
    // A key of any length makes a code.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    for part in [id, ".", at, ".", body] {
        code.update(part.as_bytes());
    }
    STANDARD.encode(code.finalize().into_bytes())
}

fn key(secret: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(secret.strip_prefix("whsec_")?).ok()?;
    (24..=64).contains(&bytes.len()).then_some(bytes)
}

/// A URL to which secrets may travel.
fn address(text: &str, of: &str) -> Result<Url, WebhookError> {
    let url = Url::parse(text).map_err(|_| wrong(format!("a `{of}` is not a URL")))?;
    let is_near = match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" if url.host().is_some() => Ok(url),
        "http" if is_near => Ok(url),
        _ => Err(wrong(format!("a `{of}` begins with https://; only this machine is reached by http://"))),
    }
}

/// A question as a chat shows it: whole lines, and nothing that would hide or turn a text.
fn shown(question: &Value, link: Option<&Url>) -> String {
    let text = |name: &str| visible(question.get(name).and_then(Value::as_str).unwrap_or_default());
    let mut lines =
        vec![format!("Lockgate asks: may `{}` run in session {}?", text("tool"), text("session"))];
    let empty = Map::new();
    for (name, value) in question.get("input").and_then(Value::as_object).unwrap_or(&empty) {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        lines.push(format!("{}: {}", visible(name), visible(&value)));
    }
    let mut whole: String = lines.join("\n");
    if let Some((cut, _)) = whole.char_indices().nth(SHOWN_MAX) {
        whole.truncate(cut);
        whole.push_str("…\nThe input is longer; read it whole before you answer.");
    }
    let rules = question.get("rules").and_then(Value::as_array).into_iter().flatten();
    for rule in rules.filter_map(|rule| rule.get("text").and_then(Value::as_str)) {
        whole.push_str(&format!("\nRule: {}", visible(rule)));
    }
    whole.push_str(&format!("\nQuestion {}", text("approval")));
    if let Some(link) = link {
        whole.push_str(&format!("\nSign in to answer: {link}"));
    }
    whole
}

fn wrong(text: impl Into<String>) -> WebhookError {
    WebhookError(text.into())
}

#[cfg(test)]
mod tests;
