//! What a page asks, and what it is told.

use lockgate::{
    Net, Policy, Status,
    engine::{petri::Marking, track},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::play::{Played, play};

/// The name that stands for the file in messages. A file of when/then rules is told by its name.
fn file_of(policy: &str) -> &'static str {
    if policy.lines().any(|line| line.starts_with("rules:")) { "policy.yaml" } else { "policy" }
}

/// How many nets and workflows are drawn; of more, how many there are.
const PICTURES_MAX: usize = 40;

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    /// What does each step of this session get, and where does everything stand then?
    Play { policy: String, session: String },
    /// What is there to know about the policy? The answer is that of `lockgate verify --json`.
    Verify { policy: String },
}

/// Answers a question of the page; one that cannot be read is told so.
pub fn answer(question: &str) -> String {
    let answer = match serde_json::from_str(question) {
        Ok(Question::Play { policy, session }) => played(&policy, &session),
        Ok(Question::Verify { policy }) => verified(&policy),
        Err(error) => Err(format!("this is not a question: {error}")),
    };
    answer.unwrap_or_else(|error| json!({ "error": error })).to_string()
}

fn verified(text: &str) -> Result<Value, String> {
    let verification =
        Policy::builder().text(file_of(text), text).verify().map_err(|error| error.to_string())?;
    serde_json::to_value(&verification).map_err(|error| error.to_string())
}

fn played(text: &str, session: &str) -> Result<Value, String> {
    // What is wrong with it is the answer to the other question, with places and remedies.
    let Ok(policy) = Policy::builder().text(file_of(text), text).without_findings().load() else {
        return Ok(json!({ "loads": false, "steps": [], "pictures": [], "more": 0 }));
    };
    let Played { steps, status } = play(&policy, session)?;
    let mut pictures = pictures(&policy, &status);
    let more = pictures.len().saturating_sub(PICTURES_MAX);
    pictures.truncate(PICTURES_MAX);
    let prompt = status.prompt();
    Ok(json!({ "loads": true, "steps": steps, "pictures": pictures, "more": more, "prompt": prompt }))
}

/// A net or a workflow as it stands after the session.
#[derive(Debug, Serialize)]
struct Picture {
    name: String,
    /// The rule as it is written; empty where the picture says as much.
    text: String,
    svg: String,
}

fn pictures(policy: &Policy, status: &Status) -> Vec<Picture> {
    let compiled = policy.compiled();
    let workflows = compiled.workflows().iter().zip(&status.workflows).map(|(workflow, stand)| Picture {
        name: workflow.name.clone(),
        text: String::new(),
        svg: track(workflow, Some(&stand.progress.active_stage)).to_svg(),
    });
    let nets = compiled.nets().iter().zip(&status.nets).map(|(rule, stand)| {
        let marking = Marking::from_tokens(stand.places.iter().map(|(_, tokens)| *tokens));
        Picture {
            name: rule.name.clone(),
            text: rule.text().trim().to_owned(),
            svg: Net::of(rule).to_svg_at(&marking),
        }
    });
    workflows.chain(nets).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ask(question: &Value) -> Value {
        serde_json::from_str(&answer(&question.to_string())).unwrap()
    }

    /// The verdicts of a session, one word a step, after a human's answer where there is one.
    fn verdicts(policy: &str, session: &str) -> Vec<String> {
        let played = ask(&json!({"do": "play", "policy": policy, "session": session}));
        let word = |step: &Value| {
            let answer = step.get("then").or(step.get("answer")).and_then(|answer| answer.get("verdict"));
            let word = answer.or(step.get("mistake")).or(step.get("note")).and_then(Value::as_str);
            word.unwrap_or_default().to_owned()
        };
        played["steps"].as_array().unwrap().iter().map(word).collect()
    }

    #[test]
    fn a_session_gets_its_verdicts() {
        let rules = "
            map bash.command rm as delete
            require backup before delete
            require human-approval before deploy
            limit send to 1 per session";
        for (session, expected) in [
            ("", vec![]),
            (
                "delete\nbackup failed\ndelete\nbackup\ndelete\ndelete",
                vec!["block", "allow", "block", "allow", "allow", "block"],
            ),
            (
                "bash $ cd /srv && rm -rf data\nbackup\nbash {\"command\": \"rm -rf data\"}",
                vec!["block", "allow", "allow"],
            ),
            ("deploy", vec!["ask"]),
            ("deploy granted\ndeploy refused", vec!["allow", "block"]),
            ("send, send  # both at once", vec!["allow", "block"]),
        ] {
            assert_eq!(verdicts(rules, session), expected, "{session}");
        }
    }

    #[test]
    fn a_line_that_is_no_step_is_told_with_a_remedy() {
        let told = verdicts("block x", "x maybe");
        assert!(told[0].contains("not 'maybe'") && told[0].contains("; "), "{told:?}");
    }

    #[test]
    fn a_circle_is_a_finding_and_its_nets_are_drawn() {
        let policy = "require a before b\nrequire b before a";
        let verified = ask(&json!({"do": "verify", "policy": policy}));
        let codes: Vec<&str> =
            verified["findings"].as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect();
        assert!(codes.contains(&"circular"), "{codes:?}");
        let played = ask(&json!({"do": "play", "policy": policy, "session": "a"}));
        assert_eq!(played["pictures"].as_array().unwrap().len(), 2);
        assert!(played["pictures"][0]["svg"].as_str().unwrap().starts_with("<svg "));
    }

    #[test]
    fn a_policy_with_mistakes_has_them_as_findings_and_plays_nothing() {
        let verified = ask(&json!({"do": "verify", "policy": "requier a before b"}));
        assert_eq!(verified["findings"][0]["code"], "unknown-keyword");
        let played = ask(&json!({"do": "play", "policy": "requier a before b", "session": "a"}));
        assert_eq!(played["loads"], false);
    }

    #[test]
    fn every_example_of_the_page_loads_and_is_played() {
        let examples: Vec<Value> = serde_json::from_str(include_str!("../page/examples.json")).unwrap();
        assert!(examples.len() > 3);
        for example in examples {
            let (policy, session) = (&example["policy"], &example["session"]);
            let played = ask(&json!({"do": "play", "policy": policy, "session": session}));
            assert_eq!(played["loads"], true, "{}", example["name"]);
            let steps = played["steps"].as_array().unwrap();
            assert!(steps.iter().all(|step| step["mistake"].is_null()), "{steps:?}");
            let verdicts: BTreeSet<&str> =
                steps.iter().filter_map(|step| step["answer"]["verdict"].as_str()).collect();
            // An example in which everything passes shows little.
            assert!(verdicts.contains("block"), "{}: {verdicts:?}", example["name"]);
        }
    }

    #[test]
    fn what_is_no_question_is_told_so() {
        for text in ["", "{}", "[]", r#"{"do": "play"}"#, r#"{"do": "verify", "policy": "", "more": 1}"#] {
            assert!(answer(text).contains("this is not a question"), "{text}");
        }
    }

    #[test]
    fn time_passes_and_the_user_is_heard() {
        let rules = "limit send to 1 per 1 hour\nrequire user to say delete before delete";
        let session = "send\nsend\nwait 2 hours\nsend\ndelete\nuser says \"delete a\"\ndelete";
        let expected = ["allow", "block", "2 h later", "allow", "block", "heard", "allow"];
        assert_eq!(verdicts(rules, session), expected);
    }
}
