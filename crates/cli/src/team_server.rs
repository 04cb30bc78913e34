//! A team server, asked by doors of this machine: hooks and the MCP proxy.
//!
//! Doors know no server, and the server no door: here its client becomes the [`TeamServer`] that they ask. What it does not answer in time,
//! or in a form that is understood, is a block.

use std::{fs, path::Path, time::Duration};

use lockgate::engine::{Call, Outcome};
use lockgate_agents::{
    hook::{TeamReview, TeamServer, TeamVerdict},
    settings::TeamServerSettings,
};
use lockgate_server::{Client, ServerUrl};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::platform;

/// The longest wait for a human in one request.
const WAIT_SECONDS_MAX: u64 = 30;

/// A client with the token of a file that no other user can read.
///
/// # Errors
/// When the URL is not one of a server, or a file cannot be used, in a line for people.
pub(crate) fn client(url: &str, token_file: &Path, ca: Option<&Path>) -> Result<Client, String> {
    let url = ServerUrl::parse(url).map_err(|error| error.to_string())?;
    let name = token_file.display();
    let cannot = |error: std::io::Error| format!("cannot read `{name}`: {error}");
    let metadata = fs::metadata(token_file).map_err(cannot)?;
    if platform::mode(&metadata).is_some_and(|mode| mode & 0o077 != 0) {
        return Err(format!("other users can read the token in `{name}`; run `chmod go= {name}`"));
    }
    let text = Zeroizing::new(fs::read_to_string(token_file).map_err(cannot)?);
    let token = Zeroizing::new(text.trim().to_owned());
    Client::new(url, token, ca).map_err(|error| error.to_string())
}

/// The team server of the settings.
///
/// # Errors
/// As [`client`].
pub(crate) fn connect(settings: &TeamServerSettings) -> Result<Box<dyn TeamServer>, String> {
    let TeamServerSettings { url, token_file, ca, session_prefix } = settings;
    let client = client(url, token_file, ca.as_deref())
        .map_err(|error| format!("the team server cannot be asked: {error}"))?;
    Ok(Box::new(AskedServer { client, session_prefix: session_prefix.clone() }))
}

/// A server that is asked.
struct AskedServer {
    client: Client,
    session_prefix: String,
}

impl AskedServer {
    fn session(&self, session: &str) -> String {
        format!("{}{session}", self.session_prefix)
    }

    /// A call, as the line protocol writes it.
    fn form(&self, call: &Call) -> Map<String, Value> {
        let mut form = Map::new();
        form.insert("id".to_owned(), Value::from(call.id.as_str()));
        form.insert("tool".to_owned(), Value::from(call.tool.as_str()));
        form.insert("input".to_owned(), Value::Object(call.input.clone()));
        form.insert("session".to_owned(), Value::from(self.session(&call.session)));
        if let Some(cwd) = &call.about.cwd {
            form.insert("cwd".to_owned(), Value::from(cwd.as_str()));
        }
        if let Some(key) = &call.about.duplicate_key {
            let door = json!({ "name": &*key.door, "by": key.identifying_fields });
            form.insert("door".to_owned(), door);
        }
        form
    }
}

impl TeamServer for AskedServer {
    fn judge(&self, call: &Call, asks: bool) -> TeamVerdict {
        if let Some(objection) = &call.about.objection {
            return TeamVerdict::Block { reason: objection.clone() };
        }
        let mut form = self.form(call);
        form.insert("ask".to_owned(), Value::from(if asks { "wait" } else { "none" }));
        let (answer, _) = self.client.answer(&json!({ "call": form }).to_string());
        verdict_of(&answer)
    }

    fn collect(&self, approval: &str, wait: Duration, ends: bool) -> Option<TeamVerdict> {
        let wait = wait.as_secs().min(WAIT_SECONDS_MAX);
        match self.client.collect(approval, wait, ends) {
            Ok(answer) => answer.map(|answer| verdict_of(&answer)),
            Err(error) => Some(undecided(&error.to_string())),
        }
    }

    fn settle(&self, outcome: &Outcome) -> Result<TeamReview, String> {
        let mut form = Map::new();
        form.insert("session".to_owned(), Value::from(self.session(&outcome.session)));
        form.insert("ok".to_owned(), Value::from(outcome.ok));
        form.insert("output".to_owned(), outcome.output.clone().unwrap_or_default());
        match &outcome.like {
            Some(call) => form.insert("call".to_owned(), Value::Object(self.form(call))),
            None => form.insert("id".to_owned(), Value::from(outcome.id.as_str())),
        };
        let (answer, _) = self.client.answer(&json!({ "result": form }).to_string());
        review_of(&answer)
    }
}

fn undecided(why: &str) -> TeamVerdict {
    let reason = format!("The team server could not decide ({why}), so the call is blocked.");
    TeamVerdict::Block { reason }
}

/// What a verdict says; anything that is not one blocks.
fn verdict_of(line: &str) -> TeamVerdict {
    let nonsense = || undecided("its answer is not understood");
    let Ok(Value::Object(mut answer)) = serde_json::from_str(line) else { return nonsense() };
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let reason = match text("reason") {
        reason if reason.trim().is_empty() => "The team server blocks this call.".to_owned(),
        reason => reason,
    };
    match (text("verdict").as_str(), text("approval")) {
        ("allow", _) => TeamVerdict::Allow,
        ("ask", approval) if !approval.is_empty() => TeamVerdict::Ask { approval },
        ("block", _) => TeamVerdict::Block { reason },
        ("redact", _) => match answer.remove("input") {
            Some(Value::Object(input)) => TeamVerdict::Redact { input, reason },
            _ => nonsense(),
        },
        _ => match answer.get("error").and_then(Value::as_str) {
            Some(error) => undecided(error),
            None => nonsense(),
        },
    }
}

fn review_of(line: &str) -> Result<TeamReview, String> {
    let nonsense = || "the answer of the team server is not understood".to_owned();
    let Ok(Value::Object(mut answer)) = serde_json::from_str(line) else { return Err(nonsense()) };
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (verdict, reason) = (text("verdict"), text("reason"));
    match verdict.as_str() {
        "allow" | "warn" => Ok(TeamReview::Whole),
        "redact" => match answer.remove("output") {
            Some(output) => Ok(TeamReview::Replaced { output, reason }),
            None => Ok(TeamReview::Withheld { reason }),
        },
        "block" => Ok(TeamReview::Withheld { reason }),
        _ => match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(format!("the team server was not told the result: {error}")),
            None => Err(nonsense()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verdict_that_lets_pass_lets_pass() {
        assert_eq!(verdict_of(r#"{"verdict":"allow"}"#), TeamVerdict::Allow);
        for line in [
            "",
            "[]",
            "null",
            r#"{"verdict":"ALLOW"}"#,
            r#"{"verdict":"ask"}"#,
            r#"{"verdict":"redact","input":[]}"#,
            r#"{"verdict":"block"}"#,
            r#"{"error":"no"}"#,
            r#"{"granted":true}"#,
        ] {
            assert!(
                matches!(verdict_of(line), TeamVerdict::Block { reason } if !reason.is_empty()),
                "{line}"
            );
        }
        assert_eq!(review_of(r#"{"verdict":"allow","settled":true}"#), Ok(TeamReview::Whole));
        assert!(matches!(review_of(r#"{"verdict":"redact"}"#), Ok(TeamReview::Withheld { .. })));
        assert!(review_of(r#"{"error":"x"}"#).is_err() && review_of("{}").is_err());
    }
}
