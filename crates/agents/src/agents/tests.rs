//! The events and answers of each agent, to the letter, and what the agent then does.
//!
//! [`effect`] is a model of every agent's own treatment of a hook's answer, as it was seen when the agents were run; what
//! happens before a tool runs is in [`Agent::reaction`]. The laws below hold all agents against it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Agent, codex::has_only};
use crate::{
    coding_agent::Reaction,
    event::{Answer, Ask, Event, HookReply, Message, ToolCall, same_shape, withheld},
};

/// A secret that stands in every output below.
const SECRET: &str = "topsecretvalue";

/// Hosts, and their events of a call before it ran.
const BEFORE: &[(&str, &str)] = &[
    (
        "claude-code",
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","description":"w"},"tool_use_id":"toolu_1"}"#,
    ),
    (
        "claude-code",
        r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-16T10:29:09.946Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
    ),
    (
        "claude-code",
        r#"{"conversation_id":"s","hook_event_name":"preToolUse","cursor_version":"3.9.16","tool_name":"Shell","tool_input":{"command":"ls","cwd":""},"tool_use_id":"t"}"#,
    ),
    (
        "codex",
        r#"{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":"/p","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_1"}"#,
    ),
    (
        "gemini-cli",
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"BeforeTool","timestamp":"2026-11-15T19:52:59.125Z","tool_name":"run_shell_command","tool_input":{"command":"ls","description":"w"}}"#,
    ),
    (
        "copilot",
        r#"{"sessionId":"s","timestamp":1794773404205,"cwd":"/p","toolName":"bash","toolArgs":{"command":"ls"}}"#,
    ),
    (
        "copilot",
        r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-16T10:29:09.946Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","generation_id":"g","hook_event_name":"preToolUse","cursor_version":"3.9.16","workspace_roots":["/p"],"session_id":"s","tool_name":"Shell","tool_input":{"command":"ls","cwd":"","timeout":1},"tool_use_id":"t"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"beforeShellExecution","command":"ls","cwd":"/p","sandbox":false}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"query","tool_input":"{\"sql\":\"x\"}","url":"http://h"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"beforeReadFile","file_path":"/p/a","content":"c","attachments":[]}"#,
    ),
    (
        "opencode",
        r#"{"event":"before","session":"s","call":"c","tool":"bash","input":{"command":"ls"},"cwd":"/p"}"#,
    ),
    (
        "openclaw",
        r#"{"event":"before","session":"s","call":"c","tool":"exec","input":{"command":"ls"},"agent":"a"}"#,
    ),
    ("generic", r#"{"event":"before","session":"s","tool":"t","input":{"command":"ls"}}"#),
];

/// Hosts, and their events of an output that can be changed.
const AFTER: &[(&str, &str)] = &[
    (
        "claude-code",
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1","tool_response":{"stdout":"topsecretvalue","stderr":"","interrupted":false,"isImage":false}}"#,
    ),
    (
        "claude-code",
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"mcp__s__leak","tool_input":{},"tool_use_id":"toolu_1","tool_response":[{"type":"text","text":"topsecretvalue"}]}"#,
    ),
    (
        "claude-code",
        r#"{"hook_event_name":"PostToolUse","session_id":"s","timestamp":"2026-11-16T10:29:12.121Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"ls"},"tool_result":{"result_type":"success","text_result_for_llm":"topsecretvalue\n<shellId: 0 completed with exit code 0>"}}"#,
    ),
    (
        "codex",
        r#"{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"topsecretvalue\n","tool_use_id":"call_1"}"#,
    ),
    (
        "gemini-cli",
        r#"{"session_id":"s","cwd":"/p","hook_event_name":"AfterTool","timestamp":"2026-11-16T10:33:01.213Z","tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{"llmContent":"<untrusted_context>\nOutput: topsecretvalue\nProcess Group PGID: 1\n</untrusted_context>","returnDisplay":"topsecretvalue"}}"#,
    ),
    (
        "copilot",
        r#"{"sessionId":"s","timestamp":1,"cwd":"/p","toolName":"bash","toolArgs":{"command":"ls"},"toolResult":{"resultType":"success","textResultForLlm":"topsecretvalue\n<shellId: 0 completed with exit code 0>"}}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"postToolUse","tool_name":"MCP:query","tool_input":"{\"sql\":\"x\"}","tool_output":"{\"content\":[{\"type\":\"text\",\"text\":\"topsecretvalue\"}]}","tool_use_id":"t"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"afterMCPExecution","tool_name":"query","tool_input":"{\"sql\":\"x\"}","result_json":"{\"content\":[{\"type\":\"text\",\"text\":\"topsecretvalue\"}]}"}"#,
    ),
    (
        "opencode",
        r#"{"event":"after","session":"s","call":"c","tool":"bash","input":{"command":"ls"},"ok":true,"output":"topsecretvalue"}"#,
    ),
    (
        "openclaw",
        r#"{"event":"after","session":"s","call":"c","tool":"exec","input":{},"ok":true,"output":{"role":"toolResult","content":[{"type":"text","text":"topsecretvalue"}]}}"#,
    ),
    (
        "generic",
        r#"{"event":"after","session":"s","tool":"t","input":{},"ok":true,"output":"topsecretvalue"}"#,
    ),
];

/// Hosts, and their events of an output that they show whatever is answered.
const SHOWN: &[(&str, &str)] = &[
    (
        "claude-code",
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1","error":"Exit code 3\ntopsecretvalue","is_interrupt":false}"#,
    ),
    (
        "copilot",
        r#"{"sessionId":"s","timestamp":1,"cwd":"/p","toolName":"view","toolArgs":{"path":"a"},"error":"topsecretvalue"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"postToolUse","tool_name":"Shell","tool_input":{"command":"ls"},"tool_output":"{\"output\":\"topsecretvalue\",\"exitCode\":0}","tool_use_id":"t"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"postToolUseFailure","tool_name":"Shell","tool_input":{"command":"ls"},"error_message":"topsecretvalue","tool_use_id":"t"}"#,
    ),
    (
        "cursor",
        r#"{"conversation_id":"s","hook_event_name":"afterShellExecution","command":"ls","output":"topsecretvalue","duration":1}"#,
    ),
];

/// What a host does with an answer.
#[derive(Clone, Debug, PartialEq)]
enum Effect {
    AsWithoutUs,
    Blocks,
    Asks,
    RunsWith(Value),
    Shows(Value),
    /// It goes on where it would have asked.
    SkipsItsPrompt,
    Hangs,
}

fn effect(host: &str, event: &Message, reply: &HookReply) -> Effect {
    let after = ["tool_response", "tool_result", "toolResult", "tool_output", "result_json", "output"]
        .into_iter()
        .find_map(|key| event.get(key));
    let Some(told) = after else { return agent(host).reaction(reply).into() };
    let object: Option<Value> = serde_json::from_str(reply.stdout.trim()).ok().filter(Value::is_object);
    let stdout = object.unwrap_or_default();
    let complains = !reply.stderr.trim().is_empty();
    match host {
        "claude-code" => {
            let output = &stdout["hookSpecificOutput"]["updatedToolOutput"];
            shown(told, (reply.code == 0 && same_shape(told, output)).then_some(output))
        }
        "codex" => match (reply.code, stdout["decision"].as_str(), stdout["reason"].as_str()) {
            (2, ..) if complains => Effect::Shows(Value::from(reply.stderr.clone())),
            (0, Some("block"), Some(reason))
                if !reason.trim().is_empty() && has_only(&stdout, &["decision", "reason"]) =>
            {
                Effect::Shows(Value::from(reason))
            }
            _ => Effect::Shows(told.clone()),
        },
        "gemini-cli" => gemini_after(reply, told),
        "copilot" => {
            let result = &stdout["modifiedResult"];
            let is_taken = reply.code == 0
                && result["resultType"] == "success"
                && result["textResultForLlm"].is_string();
            shown(told, is_taken.then_some(result))
        }
        "cursor" => {
            let output = &stdout["updated_mcp_tool_output"];
            let is_mcp = event["hook_event_name"] == "afterMCPExecution"
                || event["tool_name"].as_str().is_some_and(|tool| tool.starts_with("MCP:"));
            shown(told, (reply.code == 0 && is_mcp && output.is_object()).then_some(output))
        }
        // Our own scripts.
        _ => match (reply.code, stdout["decision"].as_str()) {
            (0, Some("pass")) => Effect::Shows(told.clone()),
            (0, Some("replace")) => Effect::Shows(stdout["output"].clone()),
            _ => Effect::Shows(Value::from("withheld")),
        },
    }
}

impl From<Reaction> for Effect {
    fn from(reaction: Reaction) -> Self {
        match reaction {
            Reaction::AsWithoutUs => Self::AsWithoutUs,
            Reaction::Blocks => Self::Blocks,
            Reaction::Asks => Self::Asks,
            Reaction::RunsWith(input) => Self::RunsWith(input),
            Reaction::SkipsItsPrompt => Self::SkipsItsPrompt,
            Reaction::Hangs => Self::Hangs,
        }
    }
}

fn gemini_after(reply: &HookReply, told: &Value) -> Effect {
    let said = if reply.stdout.trim().is_empty() { reply.stderr.trim() } else { reply.stdout.trim() };
    match serde_json::from_str::<Value>(said) {
        Ok(object) if object.is_object() => match object["decision"].as_str() {
            Some("deny" | "block") => {
                Effect::Shows(Value::from(object["reason"].as_str().unwrap_or_default()))
            }
            Some("ask") => Effect::Hangs,
            _ => Effect::Shows(told.clone()),
        },
        Err(_) if !said.is_empty() && reply.code > 1 => Effect::Shows(Value::from(said)),
        _ => Effect::Shows(told.clone()),
    }
}

fn shown(told: &Value, instead: Option<&Value>) -> Effect {
    Effect::Shows(instead.unwrap_or(told).clone())
}

fn event(json: &str) -> Message {
    serde_json::from_str(json).unwrap()
}

fn agent(name: &str) -> Agent {
    Agent::named(name).unwrap()
}

fn names() -> impl Iterator<Item = &'static str> {
    Agent::with_hooks().map(Agent::name)
}

/// What the host that really sent the event does.
fn outcome(name: &str, event: &Message, reply: &HookReply) -> Effect {
    effect(agent(name).sender(event), event, reply)
}

fn call_of(told: Event) -> ToolCall {
    match told {
        Event::Call(call) => *call,
        Event::Result(result) => result.call,
        other => panic!("{other:?} is not a call"),
    }
}

#[test]
fn every_name_finds_its_agent() {
    for name in names() {
        assert_eq!(agent(name).name(), name);
    }
    assert!(Agent::named("claude").is_none());
}

#[test]
fn events_are_told_in_our_words() {
    let table: &[(usize, &str)] = &[
        (0, r#"claude-code/s Bash {"command":"ls","description":"w"} id=toolu_1 at=PreToolUse by=[] cwd=/p"#),
        (1, r#"copilot/s Bash {"command":"ls"} id=- at=in .claude/settings.json by=[] cwd=/p"#),
        (
            2,
            r#"cursor/s Shell {"command":"ls","cwd":""} id=- at=in .claude/settings.json by=["command"] cwd=-"#,
        ),
        (3, r#"codex/s Bash {"command":"ls"} id=call_1 at=PreToolUse by=[] cwd=/p"#),
        (
            4,
            r#"gemini-cli/s run_shell_command {"command":"ls","description":"w"} id=- at=BeforeTool by=[] cwd=/p"#,
        ),
        (5, r#"copilot/s Bash {"command":"ls"} id=- at=preToolUse by=[] cwd=/p"#),
        (6, r#"copilot/s Bash {"command":"ls"} id=- at=PreToolUse by=[] cwd=/p"#),
        (
            7,
            r#"cursor/s Shell {"command":"ls","cwd":"","timeout":1} id=- at=preToolUse by=["command"] cwd=-"#,
        ),
        (8, r#"cursor/s Shell {"command":"ls"} id=- at=beforeShellExecution by=["command"] cwd=/p"#),
        (9, r#"cursor/s MCP:query {"sql":"x"} id=- at=beforeMCPExecution by=[] cwd=-"#),
        (10, r#"cursor/s Read {"file_path":"/p/a"} id=- at=beforeReadFile by=["file_path"] cwd=-"#),
        (11, r#"opencode/s bash {"command":"ls"} id=c at=before by=[] cwd=/p"#),
        (12, r#"openclaw/s exec {"command":"ls"} id=c at=before by=[] cwd=-"#),
        (13, r#"generic/s t {"command":"ls"} id=- at=before by=[] cwd=-"#),
    ];
    assert_eq!(table.len(), BEFORE.len());
    for (index, expected) in table {
        let (name, json) = BEFORE[*index];
        let event = event(json);
        let call = call_of(agent(name).decode(&event).unwrap());
        let told = format!(
            "{}/{} {} {} id={} at={} by={:?} cwd={}",
            agent(name).sender(&event),
            call.session,
            call.tool,
            Value::Object(call.input),
            call.id.as_deref().unwrap_or("-"),
            call.seen_at,
            call.distinct_by,
            call.cwd.as_deref().unwrap_or("-"),
        );
        assert_eq!(told, *expected);
    }
}

#[test]
fn success_is_told_only_where_the_host_says_how_it_ended() {
    let claude = |response: &str| {
        (
            "claude-code",
            format!(
                r#"{{"session_id":"s","transcript_path":"/t","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{}},"tool_use_id":"i","tool_response":{response}}}"#
            ),
        )
    };
    let copilot = |text: &str| {
        (
            "copilot",
            format!(
                r#"{{"sessionId":"s","toolName":"bash","toolArgs":{{}},"toolResult":{{"resultType":"success","textResultForLlm":"{text}"}}}}"#
            ),
        )
    };
    let gemini = |text: &str| {
        (
            "gemini-cli",
            format!(
                r#"{{"session_id":"s","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{{}},"tool_response":{{"llmContent":"{text}"}}}}"#
            ),
        )
    };
    let codex = |tool: &str, response: &str| {
        (
            "codex",
            format!(
                r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"{tool}","tool_input":{{}},"tool_use_id":"i","tool_response":{response}}}"#
            ),
        )
    };
    let cursor = |output: &str| {
        (
            "cursor",
            format!(
                r#"{{"conversation_id":"s","hook_event_name":"postToolUse","tool_name":"Shell","tool_input":{{}},"tool_output":"{output}"}}"#
            ),
        )
    };
    let table = [
        (claude(r#"{"stdout":"","interrupted":false}"#), true),
        (claude(r#"{"stdout":"","interrupted":true}"#), false),
        (claude(r#"{"stdout":"","interrupted":false,"backgroundTaskId":"b1"}"#), false),
        (copilot(r"x\n<shellId: 0 completed with exit code 0>"), true),
        (copilot(r"x\n<shellId: 0 completed with exit code 3>"), false),
        (copilot(r"<shellId: 0 completed with exit code 0>\n<shellId: 0 completed with exit code 3>"), false),
        (copilot("started"), false),
        (gemini(r"<untrusted_context>\nOutput: x\nProcess Group PGID: 1"), true),
        (gemini(r"<untrusted_context>\nOutput: x\nExit Code: 3\nProcess Group PGID: 1"), false),
        (gemini("Command moved to background"), false),
        (codex("Bash", r#""all tests passed""#), false),
        (codex("apply_patch", r#""Success. Updated the following files:\nM a""#), true),
        (codex("mcp__s__t", r#"{"content":[],"isError":false}"#), true),
        (codex("mcp__s__t", r#"{"content":[],"isError":true}"#), false),
        (cursor(r#"{\"output\":\"x\",\"exitCode\":0}"#), true),
        (cursor(r#"{\"output\":\"x\",\"exitCode\":1}"#), false),
        (cursor(r#"{\"output\":\"x\"}"#), false),
    ];
    for ((name, json), expected) in table {
        match agent(name).decode(&event(&json)).unwrap() {
            Event::Result(result) => assert_eq!(result.ok, expected, "{json}"),
            other => panic!("{other:?}"),
        }
    }
    for (name, json) in SHOWN.iter().filter(|(_, json)| !json.contains(r#"exitCode\":0"#)) {
        match agent(name).decode(&event(json)).unwrap() {
            Event::Result(result) => assert!(!result.ok, "{json}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn sessions_begin_go_on_shrink_and_end() {
    let table = [
        (
            "claude-code",
            r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#,
            "Started",
        ),
        ("claude-code", r#"{"hook_event_name":"SessionStart","session_id":"s","source":"clear"}"#, "Started"),
        (
            "claude-code",
            r#"{"hook_event_name":"SessionStart","session_id":"s","source":"resume"}"#,
            "Resumed",
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"SessionStart","session_id":"s","source":"compact"}"#,
            "Compacted",
        ),
        ("claude-code", r#"{"hook_event_name":"PreCompact","session_id":"s","trigger":"auto"}"#, "Compacted"),
        ("claude-code", r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}"#, "Ended"),
        ("codex", r#"{"hook_event_name":"SessionStart","session_id":"s","source":"resume"}"#, "Resumed"),
        ("codex", r#"{"hook_event_name":"PostCompact","session_id":"s"}"#, "Compacted"),
        ("gemini-cli", r#"{"hook_event_name":"PreCompress","session_id":"s"}"#, "Compacted"),
        ("gemini-cli", r#"{"hook_event_name":"SessionEnd","session_id":"s"}"#, "Ended"),
        (
            "copilot",
            r#"{"sessionId":"s","timestamp":1,"cwd":"/p","source":"new","initialPrompt":"go"}"#,
            "Started",
        ),
        ("copilot", r#"{"sessionId":"s","timestamp":1,"cwd":"/p","source":"resume"}"#, "Resumed"),
        ("copilot", r#"{"sessionId":"s","timestamp":1,"cwd":"/p","reason":"complete"}"#, "Ended"),
        ("copilot", r#"{"sessionId":"s","timestamp":1,"cwd":"/p","trigger":"auto"}"#, "Compacted"),
        ("cursor", r#"{"hook_event_name":"sessionStart","conversation_id":"s"}"#, "Started"),
        ("cursor", r#"{"hook_event_name":"preCompact","conversation_id":"s"}"#, "Compacted"),
        ("generic", r#"{"event":"resume","session":"s"}"#, "Resumed"),
        ("opencode", r#"{"event":"end","session":"s"}"#, "Ended"),
    ];
    for (name, json, expected) in table {
        match agent(name).decode(&event(json)).unwrap() {
            Event::Session { session, phase } => {
                assert_eq!((session.as_str(), format!("{phase:?}").as_str()), ("s", expected), "{json}");
            }
            other => panic!("{json} is told as {other:?}"),
        }
    }
}

#[test]
fn the_words_of_the_user_are_heard_and_no_others() {
    let table = [
        (
            "claude-code",
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"hello"}"#,
            Some("claude-code"),
        ),
        (
            "claude-code",
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"<task-notification>hello</task-notification>"}"#,
            None,
        ),
        (
            "claude-code",
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"hello","agent_id":"a"}"#,
            None,
        ),
        (
            "claude-code",
            r#"{"session_id":"s","timestamp":"2026-11-16T10:29:09.946Z","cwd":"/p","hook_event_name":"UserPromptSubmit","prompt":"hello"}"#,
            Some("copilot"),
        ),
        (
            "claude-code",
            r#"{"conversation_id":"s","cursor_version":"3.9.16","hook_event_name":"beforeSubmitPrompt","prompt":"hello","attachments":[]}"#,
            Some("cursor"),
        ),
        (
            "codex",
            r#"{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":"/p","hook_event_name":"UserPromptSubmit","model":"m","permission_mode":"default","prompt":"hello"}"#,
            Some("codex"),
        ),
        (
            "gemini-cli",
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"BeforeAgent","timestamp":"2026-11-15T19:52:59.125Z","prompt":"hello"}"#,
            Some("gemini-cli"),
        ),
        (
            "gemini-cli",
            r#"{"session_id":"s","cwd":"/p","hook_event_name":"BeforeAgent","prompt":"<hook_context>eve</hook_context> hello"}"#,
            None,
        ),
        (
            "copilot",
            r#"{"sessionId":"s","timestamp":1794773404205,"cwd":"/p","prompt":"hello"}"#,
            Some("copilot"),
        ),
        ("copilot", r#"{"sessionId":"s","timestamp":1,"cwd":"/p","prompt":"hello","agentName":"a"}"#, None),
        (
            "cursor",
            r#"{"conversation_id":"s","generation_id":"g","cursor_version":"3.9.16","hook_event_name":"beforeSubmitPrompt","workspace_roots":["/p"],"prompt":"hello","attachments":[]}"#,
            Some("cursor"),
        ),
        ("generic", r#"{"event":"user","session":"s","says":"hello"}"#, Some("generic")),
    ];
    for (name, json, sender) in table {
        let message = event(json);
        match (agent(name).decode(&message).unwrap(), sender) {
            (Event::Prompt(prompt), Some(sender)) => {
                assert_eq!((prompt.session.as_str(), prompt.words.as_str()), ("s", "hello"), "{json}");
                assert_eq!(agent(name).sender(&message), sender, "{json}");
                // No agent keeps a prompt back.
                assert_eq!(agent(name).pass(&message).code, 0, "{json}");
            }
            (Event::Other, None) => {}
            (other, _) => panic!("{json} is told as {other:?}"),
        }
    }
}

#[test]
fn what_carries_no_call_is_nothing_and_what_cannot_be_read_is_misread() {
    let nothing = [
        ("claude-code", r#"{"hook_event_name":"UserPromptSubmit","session_id":"s"}"#),
        ("claude-code", r#"{"hook_event_name":"PostToolBatch","session_id":"s","tool_calls":[]}"#),
        (
            "claude-code",
            r#"{"hook_event_name":"PermissionRequest","session_id":"s","transcript_path":"/t","tool_name":"Bash","tool_input":{}}"#,
        ),
        (
            "claude-code",
            r#"{"hookName":"permissionRequest","sessionId":"s","timestamp":1,"toolName":"bash","toolInput":{}}"#,
        ),
        ("claude-code", r#"{"hook_event_name":"OfTomorrow","session_id":"s"}"#),
        ("codex", r#"{"hook_event_name":"Stop","session_id":"s"}"#),
        (
            "gemini-cli",
            r#"{"hook_event_name":"BeforeModel","session_id":"s","llm_request":{"tools":[{"tool":1}]}}"#,
        ),
        ("copilot", r#"{"sessionId":"s","timestamp":1}"#),
        ("cursor", r#"{"hook_event_name":"subagentStart","conversation_id":"s","tool_call_id":"c"}"#),
        ("generic", r#"{"event":"hello"}"#),
    ];
    for (name, json) in nothing {
        assert_eq!(agent(name).decode(&event(json)), Ok(Event::Other), "{json}");
    }
    let misread = [
        ("claude-code", r#"{}"#, "the event has no field `hook_event_name`"),
        ("claude-code", r#"{"hook_event_name":7}"#, "is a number, and a text is expected"),
        (
            "claude-code",
            r#"{"hook_event_name":"Stop","Tool-Name":"x"}"#,
            "carries a tool call in `Tool-Name`",
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"OfTomorrow","what":[{"toolInput":{}}]}"#,
            "`OfTomorrow` is not known",
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"i","tool_name":"","tool_input":{}}"#,
            "`tool_name` of the event is empty",
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"i","tool_name":"t","tool_input":[]}"#,
            "`tool_input` of the event is a list",
        ),
        (
            "cursor",
            r#"{"hook_event_name":"beforeMCPExecution","conversation_id":"s","tool_name":"t","tool_input":"{"}"#,
            "is a string that is not a JSON object",
        ),
        (
            "cursor",
            r#"{"hook_event_name":"beforeRocketLaunch","conversation_id":"s"}"#,
            "comes before something runs",
        ),
        ("copilot", r#"{"sessionId":"s","toolArgs":{}}"#, "is not known and carries a tool call"),
        ("copilot", r#"{"sessionId":"s","toolName":"bash"}"#, "the event has no field"),
        ("generic", r#"{"event":"befor","session":"s","input":{}}"#, "carries a tool call in `input`"),
        ("generic", r#"{"event":"after","session":"s","tool":"t","input":{},"ok":"yes","output":1}"#, "`ok`"),
    ];
    for (name, json, part) in misread {
        let sentence = agent(name).decode(&event(json)).expect_err(json).to_string();
        assert!(sentence.contains(part), "{json}: {sentence}");
    }
}

#[test]
fn answers_are_given_to_the_letter() {
    let block = Answer::Block { reason: "no".into() };
    let ask = Answer::Ask { reason: "may it?".into() };
    let change =
        Answer::Change { input: event(r#"{"command":"id","description":"w"}"#), reason: "masked".into() };
    let table: &[(usize, &Answer, &str)] = &[
        (0, &Answer::Pass, ""),
        (
            0,
            &block,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
        ),
        (
            0,
            &ask,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"may it?"}}"#,
        ),
        (
            0,
            &change,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"id","description":"w"},"additionalContext":"masked"}}"#,
        ),
        (1, &Answer::Pass, ""),
        (1, &block, r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#),
        (3, &Answer::Pass, ""),
        (
            3,
            &ask,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"may it?"}}"#,
        ),
        (
            3,
            &change,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"id","description":"w"}}}"#,
        ),
        (4, &Answer::Pass, ""),
        (4, &block, r#"{"decision":"deny","reason":"no"}"#),
        (4, &ask, r#"{"decision":"deny","reason":"may it?"}"#),
        (
            4,
            &change,
            r#"{"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"id","description":"w"}}}"#,
        ),
        (5, &Answer::Pass, ""),
        (5, &ask, r#"{"permissionDecision":"ask","permissionDecisionReason":"may it?"}"#),
        (5, &change, r#"{"modifiedArgs":{"command":"id","description":"w"}}"#),
        (7, &Answer::Pass, r#"{"permission":"allow"}"#),
        (7, &block, r#"{"permission":"deny","user_message":"no","agent_message":"no"}"#),
        (7, &ask, r#"{"permission":"deny","user_message":"may it?","agent_message":"may it?"}"#),
        (7, &change, r#"{"permission":"allow","updated_input":{"command":"id","description":"w"}}"#),
        (8, &change, r#"{"permission":"deny","user_message":"masked","agent_message":"masked"}"#),
        (11, &Answer::Pass, r#"{"decision":"pass"}"#),
        (11, &ask, r#"{"decision":"block","reason":"may it?"}"#),
        (12, &ask, r#"{"decision":"ask","reason":"may it?"}"#),
        (13, &block, r#"{"decision":"block","reason":"no"}"#),
        (
            13,
            &change,
            r#"{"decision":"change","input":{"command":"id","description":"w"},"reason":"masked"}"#,
        ),
    ];
    for (index, said, expected) in table {
        let (name, json) = BEFORE[*index];
        let reply = agent(name).encode(&event(json), said);
        assert_eq!(reply.stdout.trim_end_matches('\n'), *expected, "{name} {said:?}");
        assert_eq!((reply.stderr.as_str(), reply.code), ("", 0), "{name} {said:?}");
    }
}

#[test]
fn a_failure_of_ours_is_a_line_on_stderr_and_a_refusal() {
    for (name, json) in BEFORE {
        for event in [Some(&event(json)), None] {
            let reply = agent(name).fault(event, "the policy\ncannot be read");
            assert_eq!(reply.stderr, "lockgate: the policy cannot be read\n", "{name}");
            // Copilot keeps the reason from the agent if it is refused by an exit code.
            let says_so = event.is_some_and(|event| agent(name).sender(event) == "copilot");
            assert_eq!(reply.code, if says_so { 0 } else { 2 }, "{name}");
            assert_eq!(reply.stdout.contains("deny"), says_so, "{name}");
        }
    }
}

#[test]
fn a_withheld_output_keeps_its_shape_and_nothing_else() {
    let table = [
        (json!("secret"), json!("why")),
        (
            json!({"stdout":"secret","stderr":"","interrupted":false}),
            json!({"stdout":"why","stderr":"","interrupted":false}),
        ),
        (
            json!([{"type":"text","text":"secret"},{"type":"secret","n":42}]),
            json!([{"type":"text","text":"why"},{"type":"[withheld]","n":0}]),
        ),
        (
            json!({"type":"text","file":{"content":"secret","numLines":3}}),
            json!({"type":"text","file":{"content":"why","numLines":0}}),
        ),
    ];
    for (output, expected) in table {
        assert_eq!(withheld(&output, "why"), expected);
        assert!(same_shape(&output, &expected));
    }
    let picture = withheld(&json!({"type":"image","file":{"base64":"c2VjcmV0","type":"image/jpeg"}}), "why");
    assert_eq!(picture["file"]["type"], "image/png");
    assert!(picture["file"]["base64"].as_str().unwrap().starts_with("iVBOR"));
}

#[test]
fn two_events_of_one_call_tell_the_same_call() {
    for (one, other) in [(1, 5), (1, 6), (5, 6), (7, 8), (2, 7)] {
        let call = |index: usize| {
            let (name, json) = BEFORE[index];
            (agent(name).sender(&event(json)), call_of(agent(name).decode(&event(json)).unwrap()))
        };
        let ((host, one), (other_host, other)) = (call(one), call(other));
        assert_eq!(
            (host, &one.session, &one.tool, &one.id),
            (other_host, &other.session, &other.tool, &other.id)
        );
        assert_ne!(one.seen_at, other.seen_at);
        assert_eq!(one.distinct_by, other.distinct_by);
        for field in one.distinct_by {
            assert_eq!(one.input[*field], other.input[*field]);
        }
    }
}

#[test]
fn what_cannot_be_hidden_is_said_to_be_seen() {
    for (name, json) in SHOWN {
        let event = event(json);
        for said in [
            Answer::Withhold { reason: "why.".into() },
            Answer::Replace { output: json!("x"), reason: "why.".into() },
        ] {
            let reply = agent(name).encode(&event, &said);
            assert!(reply.stdout.contains("why. Lockgate could not hide this output"), "{name}: {reply:?}");
            assert_eq!(reply.code, 0);
        }
        assert!(!agent(name).fault(Some(&event), "broken").stderr.is_empty());
    }
}

/// Sentences, and what hosts take for something else: nothing, blanks, JSON, several lines.
fn reasons() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n\t".to_owned()),
        Just("{}".to_owned()),
        Just(r#"{"decision":"allow"}"#.to_owned()),
        Just("\"\"\n{}".to_owned()),
        any::<String>(),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    let known = [
        "hook_event_name",
        "hookName",
        "event",
        "session_id",
        "sessionId",
        "conversation_id",
        "session",
        "tool_name",
        "toolName",
        "tool",
        "tool_input",
        "toolArgs",
        "input",
        "tool_use_id",
        "timestamp",
        "source",
        "reason",
        "error",
        "tool_response",
        "toolResult",
        "output",
        "ok",
        "cursor_version",
        "command",
    ];
    prop_oneof![8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-zA-Z_]{1,9}"]
}

fn event_names() -> impl Strategy<Value = Value> {
    let known = [
        "PreToolUse",
        "PostToolUse",
        "BeforeTool",
        "AfterTool",
        "preToolUse",
        "beforeShellExecution",
        "SessionStart",
        "Stop",
        "before",
        "after",
        "start",
        "Other",
    ];
    prop::sample::select(known.to_vec()).prop_map(Value::from)
}

fn events() -> impl Strategy<Value = Message> {
    let field = (keys(), prop_oneof![values(), event_names()]);
    prop::collection::vec(field, 0..10).prop_map(Map::from_iter)
}

/// An event of a host with one field dropped, spelled otherwise or of another type.
fn spoilt() -> impl Strategy<Value = (&'static str, Message)> {
    let all: Vec<(&str, &str)> = [BEFORE, AFTER, SHOWN].concat();
    (prop::sample::select(all), any::<prop::sample::Index>(), 0..6, values()).prop_map(
        |((name, json), at, how, value)| {
            let mut event = event(json);
            let key = event.keys().nth(at.index(event.len())).unwrap().clone();
            let old = event.remove(&key).unwrap();
            match how {
                0 => {}
                1 => drop(event.insert(key.to_uppercase(), old)),
                2 => drop(event.insert(key.replace('_', "-"), old)),
                3 => drop(event.insert(key.replace('_', ""), old)),
                4 => drop(event.insert(key, Value::from("OfTomorrow"))),
                _ => drop(event.insert(key, value)),
            }
            (name, event)
        },
    )
}

/// Whether people would say that the event holds a tool's name or input.
fn holds_a_call(name: &str, event: &Message) -> bool {
    event.keys().any(|key| {
        let key = key.to_lowercase().replace(['_', '-'], "");
        let plain =
            ["opencode", "openclaw", "generic"].contains(&name) && ["tool", "input"].contains(&key.as_str());
        plain || ["toolname", "toolinput", "toolargs"].contains(&key.as_str())
    })
}

/// Told twice on purpose: the same call was told before.
fn is_permission_request(event: &Message) -> bool {
    let names = ["hook_event_name", "hookName"].map(|key| event.get(key).cloned().unwrap_or_default());
    names.iter().any(|name| name == "PermissionRequest" || name == "permissionRequest")
}

proptest! {
    #[test]
    fn whatever_is_told_a_call_is_never_nothing(event in events()) {
        for name in names() {
            let told = agent(name).decode(&event);
            if holds_a_call(name, &event) && !is_permission_request(&event) {
                prop_assert_ne!(told, Ok(Event::Other), "{}", name);
            }
        }
    }

    #[test]
    fn a_spoilt_event_is_never_nothing_and_its_fault_blocks((name, event) in spoilt(), line in reasons()) {
        let told = agent(name).decode(&event);
        if holds_a_call(name, &event) {
            prop_assert_ne!(&told, &Ok(Event::Other));
        }
        let reply = agent(name).fault(Some(&event), &line);
        prop_assert_ne!(reply.code, 1);
        prop_assert!(!reply.stderr.trim().is_empty());
        if matches!(told, Ok(Event::Call(_))) {
            let blocked = agent(name).encode(&event, &Answer::Block { reason: line });
            prop_assert_eq!(outcome(name, &event, &blocked), Effect::Blocks);
            prop_assert_eq!(outcome(name, &event, &reply), Effect::Blocks);
        }
    }

    #[test]
    fn a_block_blocks_and_a_pass_changes_nothing(reason in reasons(), output in values()) {
        for (name, json) in BEFORE {
            let (agent, event) = (agent(name), event(json));
            let refusals = [
                agent.encode(&event, &Answer::Block { reason: reason.clone() }),
                agent.encode(&event, &Answer::Withhold { reason: reason.clone() }),
                agent.encode(&event, &Answer::Replace { output: output.clone(), reason: reason.clone() }),
                agent.fault(Some(&event), &reason),
                agent.fault(None, &reason),
            ];
            for reply in refusals {
                prop_assert_eq!(outcome(name, &event, &reply), Effect::Blocks, "{} {:?}", name, reply);
                prop_assert!(reply.stdout.matches('\n').count() <= 1);
                prop_assert!(reply.code == 2 || serde_json::from_str::<Message>(&reply.stdout).is_ok());
            }
            prop_assert_eq!(outcome(name, &event, &agent.encode(&event, &Answer::Pass)), Effect::AsWithoutUs, "{}", name);
            let asked = outcome(name, &event, &agent.encode(&event, &Answer::Ask { reason: reason.clone() }));
            let expected = if agent.asking(Ask::Host, &event) == Ask::Host { Effect::Asks } else { Effect::Blocks };
            prop_assert_eq!(asked, expected, "{}", name);
        }
    }

    #[test]
    fn a_changed_input_is_the_one_that_runs(reason in reasons(), command in any::<String>(), drops in any::<bool>()) {
        for (name, json) in BEFORE {
            let event = event(json);
            let mut input = call_of(agent(name).decode(&event).unwrap()).input;
            input.insert("command".to_owned(), Value::from(command.clone()));
            if drops {
                input.remove("description");
            }
            let reply = agent(name).encode(&event, &Answer::Change { input: input.clone(), reason: reason.clone() });
            let outcome = outcome(name, &event, &reply);
            prop_assert!(outcome == Effect::RunsWith(Value::Object(input)) || outcome == Effect::Blocks, "{} {:?}", name, outcome);
        }
    }

    #[test]
    fn a_withheld_output_is_not_seen(reason in reasons(), output in values()) {
        for (name, json) in AFTER {
            let (agent, event) = (agent(name), event(json));
            let replies = [
                agent.encode(&event, &Answer::Withhold { reason: reason.clone() }),
                agent.encode(&event, &Answer::Block { reason: reason.clone() }),
                agent.encode(&event, &Answer::Replace { output: output.clone(), reason: reason.clone() }),
                agent.fault(Some(&event), &reason),
            ];
            for reply in replies {
                let Effect::Shows(seen) = outcome(name, &event, &reply) else { panic!("{name} {reply:?}") };
                prop_assert!(!seen.to_string().contains(SECRET), "{} {:?}", name, reply);
            }
            let Effect::Shows(seen) = outcome(name, &event, &agent.encode(&event, &Answer::Pass))
            else { panic!("{name}") };
            prop_assert!(seen.to_string().contains(SECRET), "{}", name);
        }
    }
}

#[test]
fn a_long_name_of_an_unknown_event_is_cut_in_messages() {
    let named = |letters: usize| {
        let event = Message::from_iter([
            ("hook_event_name".to_owned(), Value::from("x".repeat(letters))),
            ("tool_name".to_owned(), Value::from("t")),
        ]);
        agent("codex").decode(&event).unwrap_err().to_string()
    };
    assert!(named(40).contains(&format!("`{}`", "x".repeat(40))));
    assert!(named(41).contains(&format!("`{}`", "x".repeat(40))));
}

#[test]
fn the_scripts_leave_room_for_the_program_and_the_deadline() {
    for script in [
        include_str!("../../assets/opencode-plugin.js"),
        include_str!("../../assets/openclaw-plugin/index.js"),
    ] {
        assert_eq!(script.matches("\"__LOCKGATE__\"").count(), 1);
        assert_eq!(script.matches("\"__DEADLINE_MS__\"").count(), 1);
    }
    let manifest: Value =
        serde_json::from_str(include_str!("../../assets/openclaw-plugin/openclaw.plugin.json")).unwrap();
    assert_eq!(manifest["id"], "lockgate");
}

#[test]
fn every_agent_understands_its_trial() {
    for name in names() {
        let event = agent(name).trial("s", "ls -l", "/p");
        assert_eq!(agent(name).sender(&event), name);
        match agent(name).decode(&event) {
            Ok(Event::Call(call)) => {
                assert_eq!(call.input.get("command"), Some(&json!("ls -l")), "{name}");
                assert_eq!(call.cwd.as_deref(), Some("/p"), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn the_table_of_tools_has_a_row_for_every_agent() {
    let known: Vec<&str> = lockgate::engine::call::AGENTS.iter().map(|row| row.agent).collect();
    assert_eq!(known, Agent::ALL.iter().map(|agent| agent.name()).collect::<Vec<_>>());
}
