"use strict";

// Starts `lockgate lsp` for files of one-line rules. All knowledge of the language is in the server.

const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("lockgate");
  const agents = settings.get("agents", []).flatMap((agent) => ["--agent", agent]);
  const server = { command: settings.get("path", "lockgate"), args: ["lsp", ...agents], transport: TransportKind.stdio };
  const options = { documentSelector: [{ language: "lockgate-rules" }] };
  client = new LanguageClient("lockgate", "Lockgate", server, options);
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
