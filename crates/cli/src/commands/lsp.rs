//! `lockgate lsp`: a language server for files of one-line rules, over stdin and stdout.
//!
//! [`run`] answers one message after another: mistakes and findings with the remedies as quick fixes, what a sentence means, completion of
//! words and tools, where a word is defined, and the layout of `lockgate fmt`. A file is read anew at every change; files are
//! small. The protocol is a few JSON objects, so they are written here as such; a library of its types would be larger
//! than the server. Nothing is kept on disk and no file but the open ones is read.

mod document;
mod meaning;
mod wire;

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
};

use clap::Args;
use lockgate::engine::{
    Source,
    languages::{KnownTools, format},
};
use lockgate_agents::Agent;
use serde_json::{Value, json};

use self::document::Document;
use crate::{
    arguments::KnownToolsArguments,
    console::{CommandError, Ending},
    known_tools::tools_of,
    tool_list,
    version::VERSION,
};

pub(crate) const LSP_EXAMPLES: &str = "\
Examples:
  lockgate lsp                        an editor starts it; see docs/editors.md
  lockgate lsp --agent claude-code    complete and check its tools alone
  lockgate lsp --tools tools.json     with the tools of an MCP server";

#[derive(Debug, Args)]
pub(crate) struct LspArguments {
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
}

pub(crate) fn run(arguments: &LspArguments) -> Result<Ending, CommandError> {
    let listed = arguments.known.tools.as_deref().map(tool_list::read).transpose()?;
    let checked = KnownTools { listed, ..tools_of(&arguments.known.agents) };
    let all = if arguments.known.agents.is_empty() { Agent::ALL } else { &arguments.known.agents };
    let mut tools: Vec<String> =
        tools_of(all).agents.iter().flat_map(|agent| agent.names()).map(str::to_owned).collect();
    tools.extend(checked.listed.iter().flat_map(|listed| listed.keys()).cloned());
    tools.sort_unstable();
    tools.dedup();
    let mut server = Server { documents: HashMap::new(), checked, tools, is_over: false };
    server.serve(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// The server, and the files that are open.
struct Server {
    documents: HashMap<String, Document>,
    /// The tools that names are checked with.
    checked: KnownTools,
    /// The tools that are offered.
    tools: Vec<String>,
    is_over: bool,
}

impl Server {
    fn serve(&mut self, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<Ending, CommandError> {
        while let Some(message) = wire::read(input)? {
            let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
            let params = message.get("params").cloned().unwrap_or_default();
            if method == "exit" {
                break;
            }
            match message.get("id").filter(|id| !id.is_null()) {
                Some(id) if !method.is_empty() => {
                    let answer = match self.answer(&method, &params) {
                        Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                        None => {
                            let message = format!("`{method}` is not known here");
                            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}})
                        }
                    };
                    wire::write(out, &answer)?;
                }
                Some(_) => {}
                None => self.notice(&method, &params, out)?,
            }
        }
        Ok(if self.is_over { Ending::Yes } else { Ending::No })
    }

    fn answer(&mut self, method: &str, params: &Value) -> Option<Value> {
        Some(match method {
            "initialize" => json!({
                "capabilities": {
                    "textDocumentSync": 1,
                    "hoverProvider": true,
                    "definitionProvider": true,
                    "documentFormattingProvider": true,
                    "codeActionProvider": {"codeActionKinds": ["quickfix"]},
                    "completionProvider": {"triggerCharacters": [" "]},
                },
                "serverInfo": {"name": "lockgate", "version": VERSION},
            }),
            "shutdown" => {
                self.is_over = true;
                Value::Null
            }
            "textDocument/hover" => self.at(params, Document::hover),
            "textDocument/definition" => {
                let uri = uri(params);
                self.at(params, |document, at| document.definition(at, &uri))
            }
            "textDocument/completion" => {
                let tools = self.tools.clone();
                self.at(params, |document, at| Some(document.completion(at, &tools)))
            }
            "textDocument/codeAction" => {
                let uri = uri(params);
                let range = params.get("range").cloned().unwrap_or_default();
                self.documents.get(&uri).map_or(Value::Null, |document| document.actions(&range, &uri))
            }
            "textDocument/formatting" => {
                let document = self.documents.get(&uri(params));
                document.map_or(Value::Null, formatting)
            }
            _ => return None,
        })
    }

    fn notice(&mut self, method: &str, params: &Value, out: &mut dyn Write) -> Result<(), CommandError> {
        let uri = uri(params);
        let text = match method {
            "textDocument/didOpen" => params.pointer("/textDocument/text"),
            "textDocument/didChange" => {
                params.pointer("/contentChanges").and_then(|it| it.as_array()?.last()?.get("text"))
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                None
            }
            _ => return Ok(()),
        };
        let found = match text.and_then(Value::as_str) {
            Some(text) => {
                let document = Document::new(Source::new(name_of(&uri), text), &self.checked);
                let found = document.diagnostics();
                self.documents.insert(uri.clone(), document);
                found
            }
            None => json!([]),
        };
        let params = json!({"uri": uri, "diagnostics": found});
        wire::write(
            out,
            &json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}),
        )?;
        Ok(())
    }

    /// What an open file says about a place in it.
    fn at(&self, params: &Value, ask: impl FnOnce(&Document, usize) -> Option<Value>) -> Value {
        let Some(document) = self.documents.get(&uri(params)) else { return Value::Null };
        let number =
            |pointer: &str| params.pointer(pointer).and_then(Value::as_u64).unwrap_or_default() as usize;
        let at = document.offset(number("/position/line"), number("/position/character"));
        ask(document, at).unwrap_or_default()
    }
}

fn uri(params: &Value) -> String {
    params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The name of a file, by its address. The ending decides the language.
fn name_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("policy.rules").to_owned()
}

fn formatting(document: &Document) -> Value {
    match format(&document.source) {
        Some(text) if text != document.source.text() => {
            let end = document.position(document.source.text().len());
            json!([{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": text}])
        }
        _ => json!([]),
    }
}

#[cfg(test)]
mod tests;
