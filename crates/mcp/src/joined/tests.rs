//! What a fleet does: stories, bounds, and laws over random servers.

use std::collections::BTreeMap;

use proptest::prelude::*;

use serde_json::{Value, json};

use super::{
    as_one,
    lists::{self, Greeting},
    state::*,
};
use crate::{
    message::{Id, to_raw},
    protocol::{INTERNAL_ERROR, answer},
    transport::link::{Incoming, Link, Outgoing, TransportEnd, pipe},
};

/// What every message begins with, and stories leave out.
const VERSION: &str = r#"{"jsonrpc":"2.0","#;

fn whole(text: &str) -> String {
    text.replacen('{', VERSION, 1)
}

/// Plays what is said, and writes below each line what comes of it.
fn play(joined: &mut JoinedServers, story: &str) -> String {
    let mut played = String::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('>')) {
        let (who, text) = line.split_once(' ').unwrap_or((line, ""));
        let actions = match who {
            "client" => joined.from_client(&whole(text)),
            "tick" => joined.tick(),
            name => {
                let server = joined.place_of(name).unwrap();
                match (text.strip_prefix("ends: "), text.strip_prefix("loses ")) {
                    (Some(reason), _) => joined.server_gone(server, reason),
                    (_, Some(id)) => joined.request_lost(server, &Id::Text(id.to_owned()), "no route"),
                    _ => joined.from_server(server, &whole(text)),
                }
            }
        };
        played += &format!("{line}\n");
        for out in actions {
            let line = match out {
                JoinedAction::ToClient(text) => format!("  > client {text}\n"),
                JoinedAction::ToServer(server, text) => {
                    format!("  > {} {text}\n", joined.servers[server].name)
                }
                JoinedAction::Log(line) => format!("  > log {line}\n"),
            };
            played += &line.replace(VERSION, "{");
        }
    }
    played
}

/// Plays a story and compares what came of it with what it says.
fn check(joined: &mut JoinedServers, story: &str) {
    let lines =
        |text: &str| text.lines().map(|line| line.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    let expected: Vec<String> = lines(story);
    let played: Vec<String> = lines(&play(joined, story));
    assert!(played == expected, "it went otherwise:\n{}", played.join("\n"));
}

fn joined(names: &[&str]) -> JoinedServers {
    JoinedServers::new(names.iter().map(ToString::to_string))
}

const EVERYTHING: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{},"tasks":{}}}"#;

/// A fleet after `initialize`, all of whose servers can do everything.
fn begun(names: &[&str]) -> JoinedServers {
    let mut joined = joined(names);
    let actions = joined.from_client(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    assert_eq!(actions.len(), names.len());
    for (server, id) in asked(&actions) {
        joined.from_server(server, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{EVERYTHING}}}"#));
    }
    assert!(joined.is_ready && joined.open.is_empty() && joined.asked.is_empty());
    joined
}

/// Which servers are asked, and under which ids.
fn asked(actions: &[JoinedAction]) -> Vec<(usize, Value)> {
    let ask = |out: &JoinedAction| match out {
        JoinedAction::ToServer(server, text) => {
            Some((*server, serde_json::from_str::<Value>(text).unwrap()["id"].clone()))
        }
        _ => None,
    };
    actions.iter().filter_map(ask).collect()
}

fn told(actions: &[JoinedAction]) -> Vec<Value> {
    let tell = |out: &JoinedAction| match out {
        JoinedAction::ToClient(text) => Some(serde_json::from_str(text).unwrap()),
        _ => None,
    };
    actions.iter().filter_map(tell).collect()
}

#[test]
fn servers_greet_as_one() {
    let mut joined = joined(&["git", "fs", "modern", "sick", "odd", "dead"]);
    check(
        &mut joined,
        r##"
        client {"id":"d","method":"server/discover","params":{}}
          > client {"id":"d","error":{"code":-32601,"message":"begin with `initialize`"}}
        client {"id":"p","method":"ping"}
          > client {"id":"p","result":{}}
        client {"id":"early","method":"tools/list"}
          > client {"id":"early","error":{"code":-32600,"message":"a conversation begins with `initialize`"}}
        client {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > git {"id":"lockgate-1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > fs {"id":"lockgate-2","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > modern {"id":"lockgate-3","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > sick {"id":"lockgate-4","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > odd {"id":"lockgate-5","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
          > dead {"id":"lockgate-6","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.0}}}
        client {"id":2,"method":"initialize"}
          > client {"id":2,"error":{"code":-32600,"message":"the conversation has already begun"}}
        git {"id":"lockgate-1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false},"logging":{}},"serverInfo":{},"instructions":" Use it. "}}
        fs {"id":"lockgate-2","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"a":1},"resources":{"subscribe":true}},"instructions":"Files."}}
        modern {"id":"lockgate-3","error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
        sick {"id":"lockgate-4","error":{"code":-1,"message":"not today"}}
        odd {"id":"lockgate-5","result":{"protocolVersion":"newest","capabilities":{}}}
        dead ends: the server ended with exit code 1
          > log server `dead`: it is left out: the server ended with exit code 1
          > log server `modern`: it is left out: it supports only the modern revision of the protocol: connect it alone, not among several
          > log server `sick`: it is left out: not today
          > log server `odd`: it is left out: it names no revision of the protocol
          > client {"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true,"a":1},"logging":{},"resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"lockgate","version":"0.2.0"},"instructions":"# git\n\nUse it.\n\n# fs\n\nFiles."}}
        sick {"method":"notifications/message","params":{}}
        client {"method":"notifications/initialized"}
          > git {"method":"notifications/initialized"}
          > fs {"method":"notifications/initialized"}
        client {"id":3,"method":"initialize"}
          > client {"id":3,"error":{"code":-32600,"message":"the conversation has already begun"}}
        "##,
    );
}

#[test]
fn without_any_server_there_is_an_error() {
    let mut joined = joined(&["modern", "dead"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"initialize","params":{}}
          > modern {"id":"lockgate-1","method":"initialize","params":{}}
          > dead {"id":"lockgate-2","method":"initialize","params":{}}
        dead ends: the server ended with exit code 1
          > log server `dead`: it is left out: the server ended with exit code 1
        modern {"id":"lockgate-1","error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
          > log server `modern`: it is left out: it supports only the modern revision of the protocol: connect it alone, not among several
          > client {"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
        client {"id":2,"method":"initialize","params":{}}
          > client {"id":2,"error":{"code":-32603,"message":"no server is left"}}
        "##,
    );
}

#[test]
fn tools_are_listed_and_called_under_the_name_of_their_server() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"tools/list","params":{"_meta":{"progressToken":7}}}
          > git {"id":"lockgate-3","method":"tools/list","params":{"_meta":{"progressToken":7}}}
          > fs {"id":"lockgate-4","method":"tools/list","params":{"_meta":{"progressToken":7}}}
        git {"id":"lockgate-3","result":{"tools":[{"name":"status","inputSchema":{"n":1.0},"future":[ ]},{"name":5}],"nextCursor":"2"}}
          > git {"id":"lockgate-5","method":"tools/list","params":{"_meta":{"progressToken":7},"cursor":"2"}}
        fs {"id":"lockgate-4","result":{"tools":[{"title":"R","name":"_read__it"}]}}
        git {"id":"lockgate-5","result":{"tools":[{"name":"log"}],"nextCursor":null}}
          > log server `git`: an entry of its tools has no name
          > client {"id":1,"result":{"tools":[{"name":"git__status","inputSchema":{"n":1.0},"future":[ ]},{"name":"git__log"},{"title":"R","name":"fs___read__it"}]}}
        client {"id":2,"method":"tools/call","params":{"name":"git__status","arguments":{"n":1.0}, "other":1}, "more":2}
          > git {"id":2,"method":"tools/call","params":{"name":"status","arguments":{"n":1.0},"other":1},"more":2}
        client {"id":"two","method":"tools/call","params":{"name":"fs___read__it"}}
          > fs {"id":"two","method":"tools/call","params":{"name":"_read__it"}}
        fs {"id":2,"result":{}}
          > log server `fs`: it answered `2`, which it was not asked
        git {"id":2,"result":{"content":[ ]}}
          > client {"id":2,"result":{"content":[ ]}}
        git {"id":2,"result":{"content":[ ]}}
          > log server `git`: it answered `2`, which it was not asked
        fs {"id":"two","error":{"code":-32602,"message":"no"}}
          > client {"id":"two","error":{"code":-32602,"message":"no"}}
        client {"id":3,"method":"tools/call","params":{"name":"status"}}
          > client {"id":3,"error":{"code":-32602,"message":"no server has `status`"}}
        client {"id":4,"method":"tools/call","params":{"name":"svn__status"}}
          > client {"id":4,"error":{"code":-32602,"message":"no server has `svn__status`"}}
        client {"id":5,"method":"tools/call","params":{"name":7}}
          > client {"id":5,"error":{"code":-32602,"message":"`name` is not a string"}}
        client {"id":6,"method":"tools/call"}
          > client {"id":6,"error":{"code":-32602,"message":"`name` is missing"}}
        client {"id":7,"method":"tools/list","params":{"cursor":"2"}}
          > client {"id":7,"error":{"code":-32602,"message":"there is one page only"}}
        client {"id":8,"method":"unheard/of"}
          > client {"id":8,"error":{"code":-32601,"message":"this method is not supported for several servers"}}
        "##,
    );
}

#[test]
fn prompts_and_completions_are_routed_by_name() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"prompts/list"}
          > git {"id":"lockgate-3","method":"prompts/list"}
          > fs {"id":"lockgate-4","method":"prompts/list"}
        git {"id":"lockgate-3","result":{"prompts":[{"name":"review"}]}}
        fs {"id":"lockgate-4","error":{"code":-32601,"message":"no prompts"}}
          > log server `fs`: no prompts
          > client {"id":1,"result":{"prompts":[{"name":"git__review"}]}}
        client {"id":2,"method":"prompts/get","params":{"name":"git__review"}}
          > git {"id":2,"method":"prompts/get","params":{"name":"review"}}
        client {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"git__review"},"argument":{"name":"a","value":"b"}}}
          > git {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"a","value":"b"}}}
        client {"id":4,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"review"}}}
          > client {"id":4,"error":{"code":-32602,"message":"no server has `review`"}}
        client {"id":5,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{path}"}}}
          > client {"id":5,"error":{"code":-32602,"message":"no server has `file:///{path}`"}}
        client {"id":6,"method":"completion/complete","params":{"ref":1}}
          > client {"id":6,"error":{"code":-32602,"message":"`ref` names neither a prompt nor a resource"}}
        client {"id":7,"method":"resources/templates/list"}
          > git {"id":"lockgate-5","method":"resources/templates/list"}
          > fs {"id":"lockgate-6","method":"resources/templates/list"}
        git {"id":"lockgate-5","result":{"resourceTemplates":[]}}
        fs {"id":"lockgate-6","result":{"resourceTemplates":[{"uriTemplate":"file:///{path}"}]}}
          > client {"id":7,"result":{"resourceTemplates":[{"uriTemplate":"file:///{path}"}]}}
        client {"id":8,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{path}"}}}
          > fs {"id":8,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{path}"}}}
        "##,
    );
}

#[test]
fn resources_are_routed_to_whoever_listed_them() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"resources/list"}
          > git {"id":"lockgate-3","method":"resources/list"}
          > fs {"id":"lockgate-4","method":"resources/list"}
        git {"id":"lockgate-3","result":{"resources":[{"uri":"git://a","x":1.0}]}}
        fs {"id":"lockgate-4","result":{"resources":[{"uri":"file:///a"},{"uri":"git://a"}]}}
          > log server `fs`: an entry of its resources belongs to another server
          > client {"id":1,"result":{"resources":[{"uri":"git://a","x":1.0},{"uri":"file:///a"}]}}
        client {"id":2,"method":"resources/read","params":{"uri":"file:///a"}}
          > fs {"id":2,"method":"resources/read","params":{"uri":"file:///a"}}
        client {"id":3,"method":"resources/subscribe","params":{"uri":"git://a"}}
          > git {"id":3,"method":"resources/subscribe","params":{"uri":"git://a"}}
        client {"id":4,"method":"resources/read","params":{"uri":"git://new"}}
          > git {"id":"lockgate-5","method":"resources/list"}
          > git {"id":"lockgate-6","method":"resources/templates/list"}
          > fs {"id":"lockgate-7","method":"resources/list"}
          > fs {"id":"lockgate-8","method":"resources/templates/list"}
        git {"id":"lockgate-5","result":{"resources":[{"uri":"git://new"}]}}
        git {"id":"lockgate-6","result":{"resourceTemplates":[]}}
        fs {"id":"lockgate-7","result":{"resources":[]}}
        fs {"id":"lockgate-8","result":{"resourceTemplates":[{"uriTemplate":"file:///{path}.md"}]}}
          > git {"id":4,"method":"resources/read","params":{"uri":"git://new"}}
        client {"id":5,"method":"resources/read","params":{"uri":"file:///b.md"}}
          > fs {"id":5,"method":"resources/read","params":{"uri":"file:///b.md"}}
        client {"id":6,"method":"resources/read","params":{"uri":"file:///b.txt"}}
          > git {"id":"lockgate-9","method":"resources/list"}
          > git {"id":"lockgate-10","method":"resources/templates/list"}
          > fs {"id":"lockgate-11","method":"resources/list"}
          > fs {"id":"lockgate-12","method":"resources/templates/list"}
        git {"id":"lockgate-9","result":{"resources":[]}}
        git {"id":"lockgate-10","result":{"resourceTemplates":[]}}
        fs {"id":"lockgate-11","result":{"resources":[]}}
        fs {"id":"lockgate-12","error":{"code":1,"message":"no"}}
          > client {"id":6,"error":{"code":-32002,"message":"no server has `file:///b.txt`"}}
        client {"id":7,"method":"resources/read","params":{}}
          > client {"id":7,"error":{"code":-32602,"message":"`uri` is missing or not a string"}}
        "##,
    );
}

#[test]
fn levels_go_to_all() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"logging/setLevel","params":{"level":"debug"}}
          > git {"id":"lockgate-3","method":"logging/setLevel","params":{"level":"debug"}}
          > fs {"id":"lockgate-4","method":"logging/setLevel","params":{"level":"debug"}}
        git {"id":"lockgate-3","result":{}}
        fs {"id":"lockgate-4","error":{"code":1,"message":"no levels"}}
          > log server `fs`: no levels
          > client {"id":1,"result":{}}
        "##,
    );
}

#[test]
fn tasks_are_routed_to_whoever_runs_them() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"tools/call","params":{"name":"git__clone","task":{}}}
          > git {"id":1,"method":"tools/call","params":{"name":"clone","task":{}}}
        git {"id":1,"result":{"task":{"taskId":"t1","status":"working"}}}
          > client {"id":1,"result":{"task":{"taskId":"t1","status":"working"}}}
        client {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}
          > git {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}
        client {"id":3,"method":"tasks/result","params":{"taskId":"t2"}}
          > client {"id":3,"error":{"code":-32602,"message":"no task has the id `t2`"}}
        client {"id":4,"method":"tools/call","params":{"name":"fs__copy","task":{}}}
          > fs {"id":4,"method":"tools/call","params":{"name":"copy","task":{}}}
        fs {"id":4,"result":{"task":{"taskId":"t1","status":"working"}}}
          > log server `fs`: the server gave its task a name that another server uses
          > client {"id":4,"error":{"code":-32603,"message":"the server gave its task a name that another server uses"}}
        client {"id":5,"method":"tasks/list"}
          > git {"id":"lockgate-3","method":"tasks/list"}
          > fs {"id":"lockgate-4","method":"tasks/list"}
        git {"id":"lockgate-3","result":{"tasks":[{"taskId":"t1"}]}}
        fs {"id":"lockgate-4","result":{"tasks":[{"taskId":"t3"},{"taskId":"t1"}]}}
          > log server `fs`: an entry of its tasks belongs to another server
          > client {"id":5,"result":{"tasks":[{"taskId":"t1"},{"taskId":"t3"}]}}
        client {"id":6,"method":"tasks/cancel","params":{"taskId":"t3"}}
          > fs {"id":6,"method":"tasks/cancel","params":{"taskId":"t3"}}
        "##,
    );
}

#[test]
fn servers_ask_the_client_under_ids_of_ours() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        git {"id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":9},"x":1.0}}
          > client {"id":"lockgate-3","method":"sampling/createMessage","params":{"_meta":{"progressToken":9},"x":1.0}}
        fs {"id":1,"method":"roots/list"}
          > client {"id":"lockgate-4","method":"roots/list"}
        git {"id":1,"method":"roots/list"}
          > log server `git`: a request of it was left out: its id is in use, or too many are open
          > git {"id":null,"error":{"code":-32600,"message":"the id is in use, or too many requests are open"}}
        client {"method":"notifications/progress","params":{"progressToken":9,"progress":1}}
          > git {"method":"notifications/progress","params":{"progressToken":9,"progress":1}}
        client {"method":"notifications/progress","params":{"progressToken":8,"progress":1}}
        client {"id":"lockgate-4","result":{"roots":[ ]}}
          > fs {"id":1,"result":{"roots":[ ]}}
        client {"id":"lockgate-4","result":{"roots":[ ]}}
          > log the client answered what no server asked
        git {"method":"notifications/cancelled","params":{"requestId":1,"reason":"late"}}
          > client {"method":"notifications/cancelled","params":{"requestId":"lockgate-3","reason":"late"}}
        git {"method":"notifications/cancelled","params":{"requestId":1,"reason":"late"}}
        client {"id":"lockgate-3","error":{"code":1,"message":"no"}}
          > log the client answered what no server asked
        "##,
    );
}

#[test]
fn what_is_cancelled_is_cancelled_where_it_runs() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"tools/call","params":{"name":"git__log"}}
          > git {"id":1,"method":"tools/call","params":{"name":"log"}}
        client {"method":"notifications/cancelled","params":{"requestId":1}}
          > git {"method":"notifications/cancelled","params":{"requestId":1}}
        git {"id":1,"result":{"late":true}}
          > client {"id":1,"result":{"late":true}}
        client {"id":2,"method":"tools/list"}
          > git {"id":"lockgate-3","method":"tools/list"}
          > fs {"id":"lockgate-4","method":"tools/list"}
        fs {"id":"lockgate-4","result":{"tools":[]}}
        client {"method":"notifications/cancelled","params":{"requestId":2}}
          > git {"method":"notifications/cancelled","params":{"requestId":"lockgate-3","reason":"the client cancelled it"}}
        git {"id":"lockgate-3","result":{"tools":[]}}
          > log server `git`: it answered `lockgate-3`, which it was not asked
        client {"method":"notifications/cancelled","params":{"requestId":77}}
        client {"method":"notifications/roots/list_changed"}
          > git {"method":"notifications/roots/list_changed"}
          > fs {"method":"notifications/roots/list_changed"}
        "##,
    );
}

#[test]
fn a_change_of_lists_is_told_once_until_the_client_looks() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        git {"method":"notifications/tools/list_changed"}
          > client {"method":"notifications/tools/list_changed"}
        fs {"method":"notifications/tools/list_changed"}
        fs {"method":"notifications/prompts/list_changed"}
          > client {"method":"notifications/prompts/list_changed"}
        fs {"method":"notifications/message","params":{"level":"info"}}
          > client {"method":"notifications/message","params":{"level":"info"}}
        client {"id":1,"method":"tools/list"}
          > git {"id":"lockgate-3","method":"tools/list"}
          > fs {"id":"lockgate-4","method":"tools/list"}
        git {"method":"notifications/tools/list_changed"}
          > client {"method":"notifications/tools/list_changed"}
        "##,
    );
}

#[test]
fn a_server_that_ends_takes_its_things_with_it() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":1,"method":"tools/call","params":{"name":"git__log"}}
          > git {"id":1,"method":"tools/call","params":{"name":"log"}}
        client {"id":2,"method":"tools/call","params":{"name":"fs__read"}}
          > fs {"id":2,"method":"tools/call","params":{"name":"read"}}
        client {"id":3,"method":"tools/list"}
          > git {"id":"lockgate-3","method":"tools/list"}
          > fs {"id":"lockgate-4","method":"tools/list"}
        fs {"id":"lockgate-4","result":{"tools":[{"name":"read"}]}}
        git {"id":5,"method":"roots/list"}
          > client {"id":"lockgate-5","method":"roots/list"}
        git ends: the server ended with exit code 1
          > log server `git`: it is left out: the server ended with exit code 1
          > client {"id":1,"error":{"code":-32603,"message":"the server did not answer: the server ended with exit code 1"}}
          > client {"id":3,"result":{"tools":[{"name":"fs__read"}]}}
          > client {"method":"notifications/cancelled","params":{"requestId":"lockgate-5","reason":"the server ended with exit code 1"}}
          > client {"method":"notifications/tools/list_changed"}
          > client {"method":"notifications/prompts/list_changed"}
          > client {"method":"notifications/resources/list_changed"}
        git {"id":1,"result":{}}
        git ends: again
        client {"id":4,"method":"tools/call","params":{"name":"git__log"}}
          > client {"id":4,"error":{"code":-32602,"message":"the server of `git__log` is gone"}}
        client {"id":6,"method":"tools/list"}
          > fs {"id":"lockgate-6","method":"tools/list"}
        fs {"id":2,"result":{}}
          > client {"id":2,"result":{}}
        fs ends: the server ended with exit code 2
          > log server `fs`: it is left out: the server ended with exit code 2
          > client {"id":6,"error":{"code":-32603,"message":"no server answered: the server ended with exit code 2"}}
          > client {"method":"notifications/tools/list_changed"}
        client {"id":7,"method":"tools/list"}
          > client {"id":7,"result":{"tools":[]}}
        "##,
    );
}

#[test]
fn one_lost_request_is_not_the_end_of_a_server() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":"a","method":"tools/call","params":{"name":"git__log"}}
          > git {"id":"a","method":"tools/call","params":{"name":"log"}}
        git loses a
          > client {"id":"a","error":{"code":-32603,"message":"the server did not answer: no route"}}
        client {"id":"b","method":"tools/list"}
          > git {"id":"lockgate-3","method":"tools/list"}
          > fs {"id":"lockgate-4","method":"tools/list"}
        git loses lockgate-3
        fs {"id":"lockgate-4","result":{"tools":[{"name":"read"}]}}
          > log server `git`: no route
          > client {"id":"b","result":{"tools":[{"name":"fs__read"}]}}
        fs loses b
        client {"id":"c","method":"tools/call","params":{"name":"git__log"}}
          > git {"id":"c","method":"tools/call","params":{"name":"log"}}
        "##,
    );
}

#[test]
fn ids_are_never_mixed_up() {
    let mut joined = begun(&["git", "fs"]);
    check(
        &mut joined,
        r##"
        client {"id":"lockgate-3","method":"tools/call","params":{"name":"git__log"}}
          > git {"id":"lockgate-3","method":"tools/call","params":{"name":"log"}}
        client {"id":1,"method":"tools/list"}
          > git {"id":"lockgate-4","method":"tools/list"}
          > fs {"id":"lockgate-5","method":"tools/list"}
        fs {"id":"lockgate-4","result":{"tools":[{"name":"stolen"}]}}
          > log server `fs`: it answered `lockgate-4`, which it was not asked
        client {"id":"lockgate-5","method":"tools/call","params":{"name":"git__log"}}
          > client {"id":null,"error":{"code":-32600,"message":"the id `lockgate-5` is in use"}}
        client {"id":1,"method":"tools/call","params":{"name":"git__log"}}
          > client {"id":null,"error":{"code":-32600,"message":"the id `1` is in use"}}
        fs {"id":"lockgate-3","result":{"stolen":true}}
          > log server `fs`: it answered `lockgate-3`, which it was not asked
        git {"id":"lockgate-3","result":{}}
          > client {"id":"lockgate-3","result":{}}
        git {"id":null,"error":{"code":1,"message":"what"}}
          > log server `git`: it could not read a message
        git {"nonsense":1}
          > log server `git`: it sent an invalid message: there is neither a method nor an id
        client {"nonsense":1}
          > client {"id":null,"error":{"code":-32600,"message":"there is neither a method nor an id"}}
        "##,
    );
}

#[test]
fn whoever_takes_too_long_is_not_waited_for() {
    let mut joined = joined(&["git", "slow"]);
    let asked_both = asked(&joined.from_client(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#));
    joined.from_server(
        0,
        &answer(&Id::of(&asked_both[0].1).unwrap(), &serde_json::from_str(EVERYTHING).unwrap()),
    );
    for _ in 1..PATIENCE_TICKS {
        assert_eq!(joined.tick(), []);
    }
    let actions = joined.tick();
    let line = "server `slow`: it is left out: it took too long to answer";
    assert_eq!(actions[0], JoinedAction::Log(line.to_owned()));
    assert_eq!(told(&actions)[0]["result"]["protocolVersion"], "2025-06-18");
    assert!(joined.is_out(1) && !joined.is_out(0) && !joined.is_waiting());

    let actions = joined.from_client(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(asked(&actions).len(), 1);
    for _ in 1..PATIENCE_TICKS {
        assert_eq!(joined.tick(), []);
    }
    assert_eq!(told(&joined.tick())[0]["error"]["message"], "no server answered: it took too long to answer");
    assert!(!joined.is_out(0));
}

#[test]
fn servers_with_names_that_mix_things_up_are_out() {
    let joined = joined(&["git", "git", "a_", "a__b", "fs"]);
    let out: Vec<_> = (0..6).map(|place| joined.is_out(place)).collect();
    assert_eq!(out, [false, true, true, true, false, true]);
}

#[test]
fn no_more_requests_are_open_than_may_be() {
    let mut joined = begun(&["git"]);
    let call = |id: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"git__log"}}}}"#)
    };
    for id in 0..OPEN_MAX {
        assert_eq!(asked(&joined.from_client(&call(id))).len(), 1);
    }
    let refused = told(&joined.from_client(&call(OPEN_MAX)));
    assert_eq!(refused[0]["error"]["message"], "too many requests are open");
    joined.from_client(&cancelled(&Id::Number(7), ""));
    assert_eq!(asked(&joined.from_client(&call(OPEN_MAX))).len(), 1);

    let ask = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    for id in 0..QUESTIONS_MAX {
        assert_eq!(told(&joined.from_server(0, &ask(id))).len(), 1);
    }
    assert_eq!(told(&joined.from_server(0, &ask(QUESTIONS_MAX))).len(), 0);
}

#[test]
fn lists_that_do_not_end_are_cut_off() {
    let page = |entries: usize, title: usize, more: bool| {
        let entry = json!({ "name": "t", "title": "x".repeat(title) });
        let mut page = json!({ "tools": vec![entry; entries] });
        if more {
            page["nextCursor"] = "more".into();
        }
        page
    };
    let empty = r#"{"name":"t","title":""}"#.len();
    let half = ITEMS_BYTES_MAX / 2 - empty;
    // The pages that the server gives, and how many entries arrive.
    let table = [
        (vec![page(1, 0, true); PAGES_MAX + 1], PAGES_MAX, true),
        (vec![page(ITEMS_MAX, 0, false)], ITEMS_MAX, false),
        (vec![page(ITEMS_MAX, 0, true), page(1, 0, true)], ITEMS_MAX, true),
        (vec![page(ITEMS_MAX + 1, 0, true)], ITEMS_MAX, true),
        (vec![page(2, half, false)], 2, false),
        (vec![page(2, half, true), page(1, 0, false)], 2, true),
    ];
    for (pages, arrived, is_cut) in table {
        let mut joined = begun(&["git"]);
        let mut actions = joined.from_client(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        for page in pages {
            let Some((_, id)) = asked(&actions).pop() else { break };
            actions = joined.from_server(0, &answer(&Id::of(&id).unwrap(), &page));
        }
        assert_eq!(told(&actions)[0]["result"]["tools"].as_array().unwrap().len(), arrived);
        assert_eq!(actions.iter().any(|out| matches!(out, JoinedAction::Log(_))), is_cut);
    }
}

#[test]
fn old_tasks_are_forgotten() {
    let mut joined = begun(&["git"]);
    for n in 0..=TASKS_MAX {
        assert!(joined.remember_task(&n.to_string(), 0));
    }
    let get = |task: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":"g{task}","method":"tasks/get","params":{{"taskId":"{task}"}}}}"#)
    };
    assert_eq!(asked(&joined.from_client(&get(0))).len(), 0);
    assert_eq!(asked(&joined.from_client(&get(1))).len(), 1);
    assert_eq!(asked(&joined.from_client(&get(TASKS_MAX))).len(), 1);
}

#[test]
fn instructions_are_bounded() {
    let greet = |bytes: usize| {
        let greeting =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "instructions": "x".repeat(bytes) });
        Greeting::read(&to_raw(&greeting)).is_ok()
    };
    assert!(greet(lists::INSTRUCTIONS_BYTES_MAX));
    assert!(!greet(lists::INSTRUCTIONS_BYTES_MAX + 1));
}

#[test]
fn templates_say_whose_an_address_is() {
    let templates = [
        ("file:///{path}", 0),
        ("file:///docs/{path}", 1),
        ("{any}", 2),
        ("db://{a}/x", 3),
        ("db://{b}/x", 4),
    ];
    let templates = templates.map(|(template, server)| (template.to_owned(), server)).into();
    let table = [
        ("file:///a", Some(0)),
        ("file:///docs/a", Some(1)),
        ("http://a", None),
        ("db://1/x", None),
        ("db://1/y", None),
        ("file:/", None),
    ];
    for (uri, owner) in table {
        assert_eq!(lists::owner_by_template(&templates, uri), owner, "{uri}");
    }
}

fn server_names() -> impl Strategy<Value = String> {
    "[ab_-]{1,4}".prop_filter("no name of a server", |name| crate::check_server_name(name).is_ok())
}

fn servers() -> impl Strategy<Value = BTreeMap<String, Vec<String>>> {
    let tools = proptest::collection::vec(prop_oneof!["[ab_]{0,4}", ".{0,6}"], 0..5);
    proptest::collection::btree_map(server_names(), tools, 1..5)
}

proptest! {
    #[test]
    fn every_call_reaches_the_tool_that_was_listed_under_that_name(servers in servers(), page_size in 1..3_usize) {
        let names: Vec<&str> = servers.keys().map(String::as_str).collect();
        let mut joined = begun(&names);
        let mut actions = joined.from_client(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
        let mut left: Vec<Vec<String>> = servers.values().cloned().collect();
        let listed = loop {
            if let Some(list) = told(&actions).pop() {
                break list["result"]["tools"].as_array().unwrap().clone();
            }
            let mut next = Vec::new();
            for (server, id) in asked(&actions) {
                let size = page_size.min(left[server].len());
                let page: Vec<_> = left[server].drain(..size).collect();
                let page: Vec<_> = page.into_iter().map(|name| json!({ "name": name })).collect();
                let mut result = json!({ "tools": page });
                if !left[server].is_empty() {
                    result["nextCursor"] = "more".into();
                }
                next.extend(joined.from_server(server, &answer(&Id::of(&id).unwrap(), &result)));
            }
            actions = next;
        };
        let all = servers.values().enumerate().flat_map(|(server, own)| own.iter().map(move |name| (server, name)));
        let all: Vec<(usize, &String)> = all.collect();
        prop_assert_eq!(listed.len(), all.len());
        for (n, (entry, (server, own))) in listed.iter().zip(all).enumerate() {
            let call = json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": { "name": entry["name"] } });
            let expected = json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": { "name": own } });
            prop_assert_eq!(joined.from_client(&call.to_string()), [JoinedAction::ToServer(server, expected.to_string())]);
        }
    }

    #[test]
    fn no_message_stops_a_fleet(said in proptest::collection::vec((0..4_usize, "[a-z/]{0,4}", any::<u8>()), 0..40)) {
        let methods = ["tools/list", "tools/call", "resources/read", "notifications/cancelled", "tasks/get", "initialize"];
        let mut joined = joined(&["a", "b", "c"]);
        for (who, tail, n) in said {
            let (id, method) = (n % 8, methods[usize::from(n) % methods.len()]);
            let text = match n % 3 {
                0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"a__{tail}","uri":"{tail}","requestId":{id}}}}}"#),
                1 => format!(r#"{{"jsonrpc":"2.0","id":"lockgate-{id}","result":{EVERYTHING}}}"#),
                _ => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#),
            };
            if who == 3 { joined.from_client(&text) } else { joined.from_server(who, &text) };
            // Whatever is asked belongs to a request that waits for it.
            for asked in joined.asked.values() {
                prop_assert!(matches!(joined.open.get(&asked.request), Some(Open::Gathering(_))));
            }
        }
    }
}

/// A server that answers every request with its own name, and says this much before it hears anything.
fn echo(name: &str, chatter: usize) -> (String, Link) {
    let (link, TransportEnd { say, mut hear }) = pipe();
    let own = name.to_owned();
    tokio::spawn(async move {
        for _ in 0..chatter {
            let _ = say.send(Incoming::Message(whole(r#"{"method":"notifications/message"}"#))).await;
        }
        while let Some(Outgoing { text, .. }) = hear.recv().await {
            let message: Value = serde_json::from_str(&text).unwrap();
            let result = match message["method"].as_str() {
                Some("initialize") => serde_json::from_str(EVERYTHING).unwrap(),
                Some("tools/call") if message["params"]["name"] == "die" => return,
                _ => json!({ "by": own }),
            };
            if let Some(id) = Id::of(&message["id"]) {
                let _ = say.send(Incoming::Message(answer(&id, &result))).await;
            }
        }
    });
    (name.to_owned(), link)
}

async fn say(link: &Link, text: &str) {
    link.to.send(Outgoing { text: whole(text), ..Outgoing::default() }).await.unwrap();
}

async fn hear(link: &mut Link) -> Value {
    loop {
        match link.from.recv().await {
            Some(Incoming::Message(text)) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                if message["method"] != "notifications/message" {
                    return message;
                }
            }
            Some(Incoming::Gone { reason, .. }) => return json!({ "gone": reason }),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn messages_move_between_a_client_and_several_servers() {
    let mut link = as_one(vec![echo("git", 0), echo("fs", 3)], |_| {});
    say(&link, r#"{"id":1,"method":"initialize"}"#).await;
    assert_eq!(hear(&mut link).await["result"]["protocolVersion"], "2025-06-18");
    for name in ["git", "fs", "git"] {
        say(&link, &format!(r#"{{"id":2,"method":"tools/call","params":{{"name":"{name}__x"}}}}"#)).await;
        assert_eq!(hear(&mut link).await["result"]["by"], name);
    }
    say(&link, r#"{"id":3,"method":"tools/call","params":{"name":"git__die"}}"#).await;
    assert_eq!(hear(&mut link).await["error"]["code"], INTERNAL_ERROR);
    assert_eq!(hear(&mut link).await["method"], "notifications/tools/list_changed");
    for _ in 0..2 {
        hear(&mut link).await;
    }
    say(&link, r#"{"id":4,"method":"tools/call","params":{"name":"fs__die"}}"#).await;
    assert_eq!(hear(&mut link).await["error"]["code"], INTERNAL_ERROR);
    assert_eq!(hear(&mut link).await["gone"], "no server is left: the connection ended");
    assert_eq!(link.from.recv().await, None);
}

#[tokio::test]
async fn many_messages_in_both_directions_do_not_block_each_other() {
    const CALLS: usize = 900;
    let Link { to, from } = as_one(vec![echo("git", 1000), echo("fs", 1000)], |_| {});
    let (mut link, asking) = (Link { to: to.clone(), from }, Link { to, from: pipe().0.from });
    say(&link, r#"{"id":"i","method":"initialize"}"#).await;
    assert_eq!(hear(&mut link).await["id"], "i");
    let asking = tokio::spawn(async move {
        for n in 0..CALLS {
            let name = ["git", "fs"][n % 2];
            say(&asking, &format!(r#"{{"id":{n},"method":"tools/call","params":{{"name":"{name}__x"}}}}"#))
                .await;
        }
    });
    let mut by = BTreeMap::new();
    for _ in 0..CALLS {
        *by.entry(hear(&mut link).await["result"]["by"].to_string()).or_insert(0) += 1;
    }
    asking.await.unwrap();
    assert_eq!(by, BTreeMap::from([("\"fs\"".to_owned(), CALLS / 2), ("\"git\"".to_owned(), CALLS / 2)]));
}

#[tokio::test]
async fn a_fleet_without_servers_ends_at_once() {
    for links in [vec![], vec![echo("a__b", 0)]] {
        let mut link = as_one(links, |_| {});
        assert_eq!(
            hear(&mut link).await["gone"],
            "no server is left: there was none with a name that can be used"
        );
    }
}

#[tokio::test]
async fn servers_are_let_go_when_the_client_leaves() {
    let (near, TransportEnd { say: _say, mut hear }) = pipe();
    let link = as_one(vec![("git".to_owned(), near)], |_| {});
    drop(link);
    assert_eq!(hear.recv().await, None);
}
