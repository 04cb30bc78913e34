//! Lockgate as one library: a gate between AI agents and their tools.
//!
//! Before a tool call runs, the gate answers **run, ask a human, or block**, by rules that remember what happened earlier in
//! the session. This page is a tutorial of ten short steps, and every snippet is run as a test. The policies of the
//! snippets are strings so that you can see them; [`Gate::open`] reads files and folders.
//!
//! # 1. A policy, a session, a call
//!
//! [`Session::call`] returns a [`Ruling`]. A [`Permit`] owns the input to run the tool with and is the only way to it;
//! [`Permit::settle`] takes the result and returns what may be passed on.
//!
//! ```
//! use lockgate::{Gate, Policy, Ruling, ToolResult};
//! use serde_json::json;
//!
//! let gate = Gate::new(Policy::rules("require backup before delete")?);
//! let session = gate.session("s1");
//!
//! match session.call("delete", json!({"path": "data"}))? {
//!     Ruling::Run(permit) => {
//!         let output = delete(permit.input());
//!         let output = permit.settle(output)?;
//!         println!("{:?}", output.value());
//!     }
//!     Ruling::Ask(question) => println!("{}", question.text()),
//!     Ruling::Block(refusal) => {
//!         assert_eq!(refusal.reason(), "delete requires a successful call to backup first.");
//!         assert_eq!(refusal.next().collect::<Vec<_>>(), ["backup"]);
//!     }
//! }
//! # fn delete(_: &serde_json::Map<String, serde_json::Value>) -> ToolResult { ToolResult::success("deleted") }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A policy with mistakes is not in force. The error shows all of them, each with its place and a remedy.
//!
//! ```
//! let error = lockgate::Policy::rules("requier backup before delete\nblock").unwrap_err();
//! assert!(error.to_string().contains("did you mean `require`?"));
//! assert!(error.to_string().contains("'block <tool>' expects 2 tokens, got 1"));
//! ```
//!
//! # 2. Results open the gate
//!
//! What permits something takes effect when the tool succeeds. What spends something takes effect when the call is let
//! pass, whatever becomes of it. A permit that is dropped without a result counts as a failure.
//!
//! ```
//! use lockgate::{Gate, Policy, Ruling, ToolResult};
//! use serde_json::{Value, json};
//!
//! let gate = Gate::new(Policy::rules("require backup before delete")?);
//! let session = gate.session("s1");
//! let permit = |tool: &str| session.call(tool, Value::Null).map(Ruling::permit);
//!
//! let backup = permit("backup")?.ok_or("backup is open")?;
//! assert!(permit("delete")?.is_none(), "the backup still runs");
//! backup.settle(ToolResult::success("12 files"))?;
//! let delete = permit("delete")?.ok_or("the backup succeeded")?;
//! delete.settle(ToolResult::success(json!(null)))?;
//! assert!(permit("delete")?.is_none(), "each delete spends one backup");
//!
//! drop(permit("backup")?);
//! assert!(permit("delete")?.is_none(), "a backup without a result is a failure");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. Limits
//!
//! A limit counts calls that were let pass, also those that fail. `per session` is for good; `per read` gives one back with
//! each call of `read`.
//!
//! ```
//! use lockgate::{Gate, Policy, Ruling};
//! use serde_json::Value;
//!
//! let session = Gate::new(Policy::rules("limit send to 2 per read")?).session("s1");
//! let passes = |tool: &str| session.call(tool, Value::Null).is_ok_and(|ruling| ruling.permit().is_some());
//!
//! assert!(passes("send") && passes("send") && !passes("send"));
//! assert!(passes("read"));
//! assert!(passes("send") && !passes("send"));
//! # Ok::<(), lockgate::PolicyError>(())
//! ```
//!
//! # 4. Asking a human
//!
//! While a human decides, the call holds what it would spend, so two calls are never granted one token. The first answer
//! stands. [`Question::wait`] waits for an answer from elsewhere: another thread, or `lockgate approve` in another process
//! that shares the [SQLite file](GateBuilder::sqlite).
//!
//! ```
//! use std::{thread, time::Duration};
//!
//! use lockgate::{Gate, Policy, Ruling};
//! use serde_json::json;
//!
//! let gate = Gate::new(Policy::rules(
//!     "require human-approval before deploy
//!      limit deploy to 2 per session",
//! )?);
//! let session = gate.session("s1");
//! let deploy = || session.call("deploy", json!({"to": "production"}));
//!
//! let Ruling::Ask(question) = deploy()? else { panic!("a human must be asked") };
//! assert!(question.text().contains(r#"input: {"to":"production"}"#));
//! assert!(matches!(question.answer(true, "ada")?, Ruling::Run(_)));
//! assert!(question.answer(true, "bob").is_err(), "the first answer stands");
//!
//! let Ruling::Ask(question) = deploy()? else { panic!("a human must be asked") };
//! assert!(matches!(deploy()?, Ruling::Block(_)), "the last token is held");
//! let (elsewhere, id) = (gate.clone(), question.id().clone());
//! thread::spawn(move || elsewhere.answer(&id, false, "bob"));
//! let Ruling::Block(refusal) = question.wait(Duration::from_secs(60))? else { panic!("refused") };
//! assert_eq!(refusal.reason(), "deploy was rejected by human review.");
//!
//! // Where no human can be asked, what needs one is blocked.
//! let alone = gate.session("nightly").unattended();
//! assert!(matches!(alone.call("deploy", json!({}))?, Ruling::Block(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 5. Maps and scripts
//!
//! A map gives some calls of a tool a name of their own, for the rules of its file. A script is read command by command, so
//! one call can be several **deeds**. A restriction binds on what a call may do; only what it certainly does counts in its
//! favour.
//!
//! ```
//! use lockgate::{Gate, Policy, Ruling, ToolResult};
//! use serde_json::json;
//!
//! let session = Gate::new(Policy::rules(
//!     "map bash.command cp as backup
//!      map bash.command rm as delete
//!      require backup before delete",
//! )?)
//! .session("s1");
//! let runs = |command: &str| {
//!     let permit = session.call("bash", json!({"command": command}))?.permit();
//!     let ran = permit.is_some();
//!     permit.map(|permit| permit.settle(ToolResult::success(""))).transpose()?;
//!     Ok::<bool, Box<dyn std::error::Error>>(ran)
//! };
//!
//! assert!(!runs("ls && sudo rm -rf data")?, "a command behind another one is seen");
//! assert!(runs("echo cp")?, "no harm in a mention");
//! assert!(!runs("rm -rf data")?, "and no credit either");
//! assert!(!runs("cp -r data /mnt; rm -rf data")?, "this copy has not succeeded yet");
//! assert!(runs("cp -r data /mnt")?);
//! assert!(runs("rm -rf data")?);
//! assert!(!runs("$tool -rf data")?, "a script that cannot be read may be anything");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 6. Who calls, when, and with what
//!
//! Rules in YAML test a call: its input, its sender, its time, what came before. A [`ToolCall`] carries what the host knows.
//! Time comes from the gate's [`Clock`], never from the caller.
//!
//! ```
//! use std::time::Duration;
//!
//! use lockgate::{Gate, ManualClock, Policy, Ruling, ToolCall};
//! use serde_json::json;
//!
//! let policy = Policy::builder()
//!     .text(
//!         "policy.yaml",
//!         r#"
//! rules:
//!   - {id: interns, when: {tool: deploy, sender: "intern-*"}, then: approve}
//!   - id: no-exfiltration
//!     when: {tool: send_email, chain: [{tool: read_database, within_seconds: 120}]}
//!     then: block
//! "#,
//!     )
//!     .load()?;
//! let clock = ManualClock::default();
//! let session = Gate::builder(policy).clock(clock.clone()).build()?.session("s1");
//!
//! let deploy = ToolCall::new("deploy", json!({})).sender("intern-7");
//! assert!(matches!(session.request(deploy)?, Ruling::Ask(_)));
//!
//! let passes = |tool: &str| session.call(tool, json!({})).is_ok_and(|ruling| ruling.permit().is_some());
//! assert!(passes("read_database"));
//! clock.advance(Duration::from_secs(60));
//! assert!(!passes("send_email"));
//! clock.advance(Duration::from_secs(61));
//! assert!(passes("send_email"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 7. Masked inputs and outputs
//!
//! With `then: redact` the permit's input is masked, and so is the output.
//!
//! ```
//! use lockgate::{Gate, Policy, ToolResult};
//! use serde_json::json;
//!
//! let policy = "mask: label\nrules: [{id: mask, when: {tool: search_web}, then: redact}]";
//! let gate = Gate::new(Policy::builder().text("policy.yaml", policy).load()?);
//! let ruling = gate.session("s1").call("search_web", json!({"query": "who is ada@example.com"}))?;
//!
//! let permit = ruling.permit().ok_or("blocked")?;
//! assert_eq!(permit.input()["query"], "who is [EMAIL]");
//! let output = permit.settle(ToolResult::success("found bob@example.com"))?;
//! assert_eq!(output.value(), Some(&json!("found [EMAIL]")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 8. Nets of your own
//!
//! A one-line rule is a small Petri net. Where no statement says what you mean, draw the net: in a file (`kind: Net`) or from
//! code. From code it may have a validator, which sees the call and the marking, and a result hook, which sees successes;
//! both may keep notes. If anything refuses the call, its notes are dropped.
//!
//! ```
//! use lockgate::{DraftNet, DraftTransition, Gate, Policy, Ruling, ToolResult};
//! use serde_json::json;
//!
//! let net = DraftNet::new("read-before-write")
//!     .place("fresh", 1)
//!     .place("read", 0)
//!     .transition(DraftTransition::new("read", &["fresh"], &["read"]).tools(&["read"]).deferred())
//!     .transition(DraftTransition::new("write", &["read"], &["fresh"]).tools(&["write"]));
//! let policy = Policy::builder().rules("limit write to 9 per session").net(net).load()?;
//! let gate = Gate::builder(policy)
//!     .on_result("read-before-write", |success, notes| {
//!         notes.insert("path".into(), success.call.input["path"].clone());
//!     })
//!     .validate("read-before-write", |attempt, notes| {
//!         match attempt.transition == "write" && notes.get("path") != attempt.call.input.get("path") {
//!             true => Err("write only what you have read".into()),
//!             false => Ok(()),
//!         }
//!     })
//!     .build()?;
//!
//! let session = gate.session("s1");
//! let read = session.call("read", json!({"path": "a"}))?.permit().ok_or("blocked")?;
//! read.settle(ToolResult::success("text"))?;
//! let Ruling::Block(refusal) = session.call("write", json!({"path": "b"}))? else { panic!("not read") };
//! assert_eq!(refusal.reason(), "write only what you have read");
//! assert!(session.call("write", json!({"path": "a"}))?.permit().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 9. Watching, switching, stopping
//!
//! `observe` before a rule, `mode observe` in a file, or [`GateBuilder::mode`] for everything: rules then only say what they
//! would have done. A listener gets every verdict after it was stored. Each rule can be switched off for one session, and
//! [`Gate::halt`] blocks everything.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use lockgate::{Gate, Policy};
//! use serde_json::Value;
//!
//! let lines = Arc::new(Mutex::new(Vec::new()));
//! let log = lines.clone();
//! let gate = Gate::builder(Policy::rules("block shutdown\nobserve limit send to 1 per session")?)
//!     .on_decision(move |call, verdict| {
//!         let would: Vec<&str> = verdict.observed.iter().map(|it| it.name.as_str()).collect();
//!         log.lock().unwrap().push(format!("{} {} {would:?}", verdict.decision.word(), call.tool));
//!     })
//!     .build()?;
//! let session = gate.session("s1");
//! let passes = |tool: &str| session.call(tool, Value::Null).is_ok_and(|ruling| ruling.permit().is_some());
//!
//! assert!(passes("send") && passes("send") && !passes("shutdown"));
//! let expected = ["allow send []", r#"allow send ["limit-send-1"]"#, "block shutdown []"];
//! assert_eq!(*lines.lock().unwrap(), expected);
//!
//! session.registry().deactivate("block-shutdown")?;
//! assert!(passes("shutdown"));
//! gate.halt("an incident")?;
//! assert_eq!(session.call("read", Value::Null)?.verdict().reason, "everything is halted: an incident");
//! gate.resume()?;
//! assert!(passes("read"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 10. What the model should know, and what is proved
//!
//! [`Session::prompt`] says where a session stands, in words for a system prompt. [`Policy::verify`] proves the author's
//! claims over all sessions, or shows the shortest one that breaks them.
//!
//! ```
//! use lockgate::{Gate, Policy};
//!
//! let policy = Policy::rules(
//!     "require test before deploy
//!      limit send to 3 per session
//!      claim never deploy before test",
//! )?;
//! let verified = policy.verify();
//! assert_eq!(verified.claims().iter().map(|claim| claim.report.holds).collect::<Vec<_>>(), [Some(true)]);
//!
//! let prompt = Gate::new(policy).session("s1").prompt()?;
//! assert!(prompt.contains("- `send` 3 times more this session"));
//! assert!(prompt.contains("- `deploy`: a successful `test` opens it"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rulings, outputs, statuses, verifications, diffs and audit records serialise with serde to the JSON of
//! `docs/protocol.md`, byte for byte what `lockgate gate` and the other commands print.
//!
//! From here: `docs/semantics.md` says what a verdict means, `docs/rules.md` is the reference of the one-line language,
//! `docs/when-then.md` that of when/then rules, `docs/nets.md` that of nets in files, and `examples/` beside this crate has
//! three nets from code.

#[cfg(feature = "store")]
mod archive;
#[cfg(feature = "store")]
mod audit;
mod clock;
mod core;
#[cfg(feature = "store")]
mod database;
#[cfg(not(feature = "store"))]
#[path = "database/none.rs"]
mod database;
mod diff;
#[doc(hidden)]
pub mod engine;
mod files;
mod gate;
mod net;
mod permit;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
mod policy;
mod policy_error;
mod program;
mod refusal;
mod rule_view;
mod ruling;
mod runner;
mod session;
pub mod sight;
mod sources;
#[cfg(feature = "store")]
mod store_url;
mod tool_call;
mod track;
mod verification;
mod versions;

#[cfg(feature = "store")]
pub use audit::{AuditError, AuditQuery, AuditRecord};
pub use clock::{Clock, ManualClock, SystemClock};
pub use diff::PolicyDiff;
pub use files::{LocalEyes, LocalFiles};
pub use gate::{BuildError, Gate, GateBuilder};
pub use lockgate_call::{Call, EffectKind, Files, Time, path::is_under};
pub use lockgate_gate::{
    AnswerError, ApprovalId, Attempt, Counts, Fires, NetVerdict, Notes, Obstacle, OutputDecision, Past,
    PolicyChanges, Registry, RegistryError, SavedError, Settlement, StageError, Status, StoreError, Success,
    TimeZone, UnknownNet, Verdict,
};
pub use lockgate_languages::ruleset::CustomNames;
pub use lockgate_policy::{
    Decision, Diagnostic, DraftNet, DraftTransition, Mode, Module, Pattern, Severity, Source,
    workflow::{OperatorMove as StageMove, Progress as StageProgress},
};
pub use lockgate_prover::{Differences, NetReport, ProvedClaim, TooManyRules};
#[cfg(feature = "store")]
pub use lockgate_store::OpenError;
pub use net::{Net, NetStates, Transition};
pub use permit::{Output, Permit, SettleError};
pub use policy::{Policy, PolicyBuilder};
pub use policy_error::PolicyError;
pub use refusal::Refusal;
pub use rule_view::RuleView;
pub use ruling::{Question, Ruling};
pub use session::{ExplainError, Session};
pub use sight::Sight;
#[cfg(feature = "store")]
pub use store_url::StoreUrlError;
pub use tool_call::{CallError, ToolCall, ToolResult};
pub use verification::{LeftOutRule, Verification};

/// The snippets of the pages in `docs/`, run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/semantics.md")]
    mod semantics {}
    #[doc = include_str!("../../../docs/from/petriflow.md")]
    mod from_petriflow {}
}
