//! Lockgate as one library: a gate between AI agents and their tools.
//!
//! Before a tool call runs, the gate answers **allow, redact, ask or block**, from rules that remember what
//! happened earlier in the session. This page is a tutorial of eleven short steps; every snippet is run as a test. The
//! policies of the snippets stand in strings to be seen; [`open`] reads them from files and folders.
//!
//! # 1. Rules, and a first call
//!
//! A policy is one statement a line. [`rules`] reads it; [`Gate::call`] judges a call.
//!
//! ```
//! use lockgate::{Call, Decision, Gate};
//!
//! let gate = Gate::new(lockgate::rules("require backup before delete")?);
//!
//! let verdict = gate.call(&Call::new("1", "delete"));
//! assert_eq!(verdict.decision, Decision::Block);
//! assert_eq!(verdict.reason, "delete requires a successful call to backup first.");
//! assert_eq!((verdict.obstacles[0].line, verdict.next[0].as_ref()), (1, "backup"));
//!
//! assert!(gate.call(&Call::new("2", "read")).lets_pass(), "what no rule names passes");
//! # Ok::<(), lockgate::OpenError>(())
//! ```
//!
//! A policy with mistakes is not in force. The error shows all of them, each with its place and a remedy.
//!
//! ```
//! let error = lockgate::rules("requier backup before delete\nblock").unwrap_err();
//! assert!(error.to_string().contains("did you mean `require`?"));
//! assert!(error.to_string().contains("'block <tool>' expects 2 tokens, got 1"));
//! ```
//!
//! # 2. A result opens the gate
//!
//! What permits something takes effect when the tool's result says success; what spends something takes
//! effect when the call is let pass, whatever becomes of it. So deliver every result, also a failure.
//!
//! ```
//! use lockgate::{Call, Gate, Outcome};
//!
//! let gate = Gate::new(lockgate::rules("require backup before delete")?);
//! let result = |id: &str, ok| {
//!     gate.result(&Outcome { session: "default".into(), id: id.into(), ok, ..Outcome::default() })
//! };
//!
//! assert!(gate.call(&Call::new("1", "backup")).lets_pass());
//! assert!(!gate.call(&Call::new("2", "delete")).lets_pass(), "the backup still runs");
//! result("1", true)?;
//! assert!(gate.call(&Call::new("3", "delete")).lets_pass());
//! assert!(!gate.call(&Call::new("4", "delete")).lets_pass(), "each delete spends one backup");
//!
//! assert!(gate.call(&Call::new("5", "backup")).lets_pass());
//! result("5", false)?;
//! assert!(!gate.call(&Call::new("6", "delete")).lets_pass(), "a backup that failed is none");
//!
//! assert!(!result("5", true)?.settled, "a second result for a call changes nothing");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. Limits
//!
//! A limit counts calls that were let pass, also those that fail. `per session` is for good; `per read`
//! gives one back with each call of `read`.
//!
//! ```
//! use lockgate::{Call, Gate};
//!
//! let gate = Gate::new(lockgate::rules("limit send to 2 per read")?);
//! let passes = |id: &str, tool: &str| gate.call(&Call::new(id, tool)).lets_pass();
//!
//! assert!(passes("1", "send") && passes("2", "send") && !passes("3", "send"));
//! assert!(passes("4", "read"));
//! assert!(passes("5", "send") && !passes("6", "send"));
//! # Ok::<(), lockgate::OpenError>(())
//! ```
//!
//! # 4. Asking a human
//!
//! Who waits for the answer hands in an [`Approver`]: [`Prompt`] asks on a terminal, [`Scripted`] answers
//! from a list, [`Nobody`] is not there. The question shows all rules that ask, and the whole input.
//!
//! ```
//! use lockgate::{Answer, Call, Gate, Nobody, Prompt, Scripted};
//!
//! let gate = Gate::new(lockgate::rules("require human-approval before deploy")?);
//! let deploy = |id: &str| Call::new(id, "deploy").with("to", "production");
//!
//! let mut human = Scripted::new([Answer::Granted, Answer::Refused]);
//! assert!(gate.call_with(&deploy("1"), &mut human).lets_pass());
//! let verdict = gate.call_with(&deploy("2"), &mut human);
//! assert_eq!(verdict.reason, "deploy was rejected by human review.");
//!
//! let (keyboard, mut screen) = (&b"yes\n"[..], Vec::new());
//! assert!(gate.call_with(&deploy("3"), &mut Prompt::new(keyboard, &mut screen)).lets_pass());
//! assert!(String::from_utf8_lossy(&screen).contains(r#"input: {"to":"production"}"#));
//!
//! assert!(!gate.call_with(&deploy("4"), &mut Nobody).lets_pass());
//! # Ok::<(), lockgate::OpenError>(())
//! ```
//!
//! Where the answer comes later, from a web page or another process, [`Gate::call`] answers `ask` with the
//! name of the question, and [`Gate::answer`] goes on. While the human thinks, what the call would spend is
//! taken, so two calls are never granted one token.
//!
//! ```
//! use lockgate::{Call, Decision, Gate, Time};
//!
//! let gate = Gate::new(lockgate::rules(
//!     "require human-approval before deploy
//!      limit deploy to 1 per session",
//! )?);
//!
//! let asked = gate.call(&Call::new("1", "deploy"));
//! assert_eq!(asked.decision, Decision::Ask);
//! assert_eq!(gate.call(&Call::new("2", "deploy")).decision, Decision::Block, "the one token is taken");
//!
//! let question = asked.approval.ok_or("asked without a question")?;
//! assert!(gate.answer(&question, true, Time(0))?.lets_pass());
//! assert!(gate.answer(&question, true, Time(0)).is_err(), "the first answer stands");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 5. Maps and scripts
//!
//! A map gives some calls of a tool a name of their own, for the rules of its file. A script is read command
//! by command, so one call can be several **deeds**. A restriction binds on what a call may do; only what it
//! certainly does counts in its favour.
//!
//! ```
//! use lockgate::{Call, Gate, Outcome};
//!
//! let gate = Gate::new(lockgate::rules(
//!     "map bash.command cp as backup
//!      map bash.command rm as delete
//!      require backup before delete",
//! )?);
//! let run = |id: &str, command: &str| {
//!     let passed = gate.call(&Call::new(id, "bash").with("command", command)).lets_pass();
//!     gate.result(&Outcome { session: "default".into(), id: id.into(), ok: true, ..Outcome::default() })?;
//!     Ok::<bool, lockgate::gate::StoreError>(passed)
//! };
//!
//! assert!(!run("1", "ls && sudo rm -rf data")?, "a command behind another one is seen");
//! assert!(run("2", "echo cp")?, "no harm in a mention");
//! assert!(!run("3", "rm -rf data")?, "and no credit either");
//! assert!(!run("4", "cp -r data /mnt; rm -rf data")?, "this copy has not succeeded yet");
//! assert!(run("5", "cp -r data /mnt")?);
//! assert!(run("6", "rm -rf data")?);
//! assert!(!run("7", "$tool -rf data")?, "what cannot be read may be anything");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 6. Watching before acting
//!
//! `observe` before a rule, `mode observe` in a file, or [`GateBuilder::mode`] for everything: rules then only
//! say what they would have done. The listener hears every verdict, after it was stored.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use lockgate::{Call, Gate};
//!
//! let heard = Arc::new(Mutex::new(Vec::new()));
//! let log = heard.clone();
//! let gate = Gate::builder(lockgate::rules("block shutdown\nobserve limit send to 1 per session")?)
//!     .on_decision(move |call, verdict| {
//!         let would: Vec<&str> = verdict.observed.iter().map(|it| it.name.as_str()).collect();
//!         let line = format!("{} {} {would:?}", verdict.decision.word(), call.tool);
//!         log.lock().unwrap().push(line);
//!     })
//!     .build()?;
//!
//! for (id, tool) in [("1", "send"), ("2", "send"), ("3", "shutdown")] {
//!     gate.call(&Call::new(id, tool));
//! }
//! let expected = ["allow send []", r#"allow send ["limit-send-1"]"#, "block shutdown []"];
//! assert_eq!(*heard.lock().unwrap(), expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 7. Switches
//!
//! Each rule can be switched off and on for one session; its state is kept meanwhile. The kill switch refuses
//! everything, for one session or for all.
//!
//! ```
//! use lockgate::{Call, Gate, Time};
//!
//! let gate = Gate::new(lockgate::rules("block deploy")?);
//! let passes = |id: &str| gate.call(&Call::new(id, "deploy")).lets_pass();
//!
//! assert!(!passes("1"));
//! assert_eq!(gate.registry("default").deactivate("block-deploy")?, "Deactivated 'block-deploy' (state preserved)");
//! assert!(passes("2"));
//! gate.registry("default").activate("block-deploy")?;
//! assert!(!passes("3"));
//!
//! gate.halt(None, "an incident", Time(7))?;
//! assert_eq!(gate.call(&Call::new("4", "read")).reason, "everything is halted: an incident");
//! gate.resume(None, Time(8))?;
//! assert!(gate.call(&Call::new("5", "read")).lets_pass());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 8. Nets of your own
//!
//! A one-line rule is a small Petri net. Where no statement says what you mean, draw the net: in a file
//! (`kind: Net`) or from code. From code it may have a validator, which looks at the call, and a result hook,
//! which takes in successes; both may keep notes. If anything refuses the call, its notes are forgotten.
//!
//! ```
//! use lockgate::{Call, DraftNet, DraftTransition, Gate, Module, Outcome};
//!
//! let net = DraftNet::new("read-before-write")
//!     .place("fresh", 1)
//!     .place("read", 0)
//!     .transition(DraftTransition::new("read", &["fresh"], &["read"]).tools(&["read"]).deferred())
//!     .transition(DraftTransition::new("write", &["read"], &["fresh"]).tools(&["write"]))
//!     .free(&["list"]);
//! let gate = Gate::builder(lockgate::net(Module::of_net(net))?)
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
//! assert!(gate.call(&Call::new("1", "read").with("path", "a")).lets_pass());
//! gate.result(&Outcome { session: "default".into(), id: "1".into(), ok: true, ..Outcome::default() })?;
//! let verdict = gate.call(&Call::new("2", "write").with("path", "b"));
//! assert_eq!(verdict.reason, "write only what you have read");
//! assert!(gate.call(&Call::new("3", "write").with("path", "a")).lets_pass());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 9. History, and sessions that outlive the process
//!
//! [`Gate::replay`] takes in what ran before the gate was there. [`Session::to_json`] keeps a session and
//! [`Session::from_json`] reads it again, under an edited policy too: what was spent stays spent.
//!
//! ```
//! use lockgate::{Call, Gate, MemoryStore, Past, Session, Time};
//!
//! let gate = Gate::new(lockgate::rules("limit send to 3 per session")?);
//! gate.replay("default", &[Past::success("send"), Past::success("send")], Time(0))?;
//! let kept = gate.session("default")?.to_json(gate.policy());
//!
//! let raised = lockgate::rules("limit send to 4 per session")?;
//! let session = Session::from_json(&kept, &raised)?;
//! let gate = Gate::builder(raised).store(MemoryStore::with_session("default", session)).build()?;
//! let passes = |id: &str| gate.call(&Call::new(id, "send")).lets_pass();
//! assert!(passes("3") && passes("4") && !passes("5"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 10. What the model is told
//!
//! [`Status`] says where a session stands: as values, as a line a net, and in words for a system prompt. It
//! changes only when the session does.
//!
//! ```
//! use lockgate::{Gate, Time};
//!
//! let gate = Gate::new(lockgate::rules(
//!     "require test before deploy
//!      require human-approval before deploy
//!      limit send to 3 per session",
//! )?);
//! let status = gate.status("default", Time(0))?;
//!
//! assert_eq!(status.text(), "\
//! require-test-before-deploy: ready:1
//! approve-before-deploy: ready:1
//! limit-send-3: ready:1, budget:3");
//! let prompt = status.prompt();
//! assert_eq!(prompt.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(), [
//!     "## Tool rules",
//!     "Every tool call is checked before it runs. Tools not named here are open.",
//!     "### Open now",
//!     "- `send` 3 times more this session",
//!     "### Closed now",
//!     "- `deploy`: a successful `test` opens it",
//!     "### A human decides",
//!     "- `deploy`, each time",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 11. When/then rules
//!
//! Rules in YAML look at a call: its input, who sent it, when it comes, what the host knows about the session, and
//! what was called before. [`when_then`] reads them from a text.
//!
//! ```
//! use lockgate::{Call, Decision, Gate};
//! use serde_json::json;
//!
//! let gate = Gate::new(lockgate::when_then(r#"
//! rules:
//!   - id: no-destruction
//!     when: {tool: [exec, shell], args_match: {command: {regex: 'rm\s+-rf'}}}
//!     then: block
//!     message: Destructive commands are not run here.
//!   - {id: bots-only, when: {tool: deploy, sender: "intern-*"}, then: approve}
//!   - {id: admin-only-delete, when: {tool: "delete_*", context: {role: "!admin"}}, then: block}
//!   - {id: trusted, when: {tool: drop_table, session: {user_role: "!admin"}}, then: block}
//! "#)?);
//! let decide = |call: &Call| gate.call(call).decision;
//!
//! let verdict = gate.call(&Call::new("1", "exec").with("command", "rm -rf /"));
//! assert_eq!(verdict.reason, "Destructive commands are not run here.");
//! assert_eq!(verdict.obstacles[0].name, "no-destruction");
//!
//! // Who stands behind a call and what the host knows about it travel with the call.
//! let mut deploy = Call::new("2", "deploy");
//! deploy.about.sender = Some(json!("intern-7"));
//! assert_eq!(decide(&deploy), Decision::Ask);
//! let mut delete = Call::new("3", "delete_user");
//! assert_eq!(decide(&delete), Decision::Block);
//! (delete.id, delete.about.context) = ("4".into(), Some(json!({"role": "admin"})));
//! assert_eq!(decide(&delete), Decision::Allow);
//!
//! // What is known about the session is told once, by the host and never by the agent.
//! assert_eq!(decide(&Call::new("5", "drop_table")), Decision::Block);
//! gate.describe("default", [("user_role".to_owned(), json!("admin"))].into_iter().collect())?;
//! assert_eq!(decide(&Call::new("6", "drop_table")), Decision::Allow);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With `then: redact` the call is let pass on another input: run the tool with [`Verdict::input`]. A `chain` asks
//! what was called before, and for how long ago.
//!
//! ```
//! use lockgate::{Call, Decision, Gate, Outcome, OutputDecision, Time};
//! use serde_json::json;
//!
//! let gate = Gate::new(lockgate::when_then(r#"
//! mask: label
//! rules:
//!   - {id: mask, when: {tool: search_web}, then: redact}
//!   - id: no-exfiltration
//!     when: {tool: send_email, chain: [{tool: read_database, within_seconds: 120}]}
//!     then: block
//! "#)?);
//!
//! let search = Call::new("1", "search_web").with("query", "who is ada@example.com");
//! let verdict = gate.call(&search);
//! assert_eq!((verdict.decision, verdict.lets_pass()), (Decision::Redact, true));
//! assert_eq!(verdict.input.ok_or("no input")?["query"], "who is [EMAIL]");
//! // What such a call returns is masked too.
//! let result = Outcome { output: Some(json!("found bob@example.com")), ..Outcome::success(&search) };
//! let settled = gate.result(&result)?;
//! assert_eq!((settled.decision, settled.output), (OutputDecision::Redact, Some(json!("found [EMAIL]"))));
//!
//! let at = |id: &str, tool: &str, seconds: u64| gate.call(&Call::new(id, tool).at(Time(seconds * 1000)));
//! assert!(at("2", "send_email", 10).lets_pass());
//! assert!(at("3", "read_database", 20).lets_pass());
//! assert!(!at("4", "send_email", 60).lets_pass());
//! assert!(at("5", "send_email", 141).lets_pass());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From here: `docs/semantics.md` says what a verdict means, `docs/rules.md` is the reference of the one-line
//! language, `docs/when-then.md` that of when/then rules, `docs/nets.md` that of nets in files, and `examples/` beside this crate has three nets from code.

mod files;
mod open;
mod runner;

pub use lockgate_call as call;
pub use lockgate_gate as gate;
pub use lockgate_languages as languages;
pub use lockgate_pattern as pattern;
pub use lockgate_petri as petri;
pub use lockgate_policy as policy;
pub use lockgate_prover as prover;
pub use lockgate_store as store;

pub use files::{LocalFiles, look_at_links};
pub use lockgate_call::{
    About, Call, Time,
    sensitive::{Detectors, Mask},
};
pub use lockgate_gate::{
    Answer, ApprovalId, Approver, Attempt, Counts, Decision, Gate, GateBuilder, MemoryStore, NetVerdict,
    NetView, Nobody, Notes, Obstacle, OneNet, Outcome, OutputDecision, Past, Prompt, Question, Registry,
    RegistryError, Scripted, Session, Settlement, Status, Store, StoreError, Success, Terms, TimeZone,
    Verdict, question_text,
};
pub use lockgate_policy::{
    Diagnostic, DraftNet, DraftTransition, Mode, Module, Pattern, Policy, Severity, Source,
};
pub use lockgate_prover::verify;
pub use open::{
    OpenError, Opened, net, open, open_sources, open_unlinted, open_with, policy_files, read_sources, rules,
    rules_and_nets, sources_and_nets, when_then,
};
pub use runner::LocalRunner;

/// The snippets of the pages in `docs/`, run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/semantics.md")]
    mod semantics {}
    #[doc = include_str!("../../../docs/from/petriflow.md")]
    mod from_petriflow {}
}
