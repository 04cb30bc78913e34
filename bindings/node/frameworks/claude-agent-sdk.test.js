/** The Claude Agent SDK in front of a program of our own: it sends the events of its hooks, and no model is needed. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";

import { query } from "@anthropic-ai/claude-agent-sdk";
import { gateHooks } from "lockgate/claude-agent-sdk";

import { rules, stories, toolsThat } from "./stories.js";

/** Runs scripted calls as the real program does: hooks before and after each tool, all of a turn at once. */
const PROGRAM = `
import { createInterface } from "node:readline";
const { turns, session, agent } = JSON.parse(process.env.STORY);
const replies = new Map();
let hooks = {}, count = 0;
const write = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
const asked = (request) => new Promise((done) => {
  const request_id = "r" + ++count;
  replies.set(request_id, done);
  write({ type: "control_request", request_id, request });
});
async function fire(event, tool_use_id, fields) {
  const said = {};
  for (const matcher of hooks[event] ?? []) for (const callback_id of matcher.hookCallbackIds) {
    const input = { hook_event_name: event, session_id: session, cwd: "/work", transcript_path: "", tool_use_id, agent_id: agent, ...fields };
    const reply = await asked({ subtype: "hook_callback", callback_id, input, tool_use_id });
    if (reply.subtype === "error") return matcher.onFailure === "block" ? { permissionDecision: "deny", permissionDecisionReason: reply.error } : {};
    Object.assign(said, reply.response?.hookSpecificOutput);
  }
  return said;
}
async function call([tool_name, args], tool_use_id) {
  let said = await fire("PreToolUse", tool_use_id, { tool_name, tool_input: args });
  if (said.permissionDecision === "deny") return said.permissionDecisionReason;
  args = said.updatedInput ?? args;
  const ran = await asked({ subtype: "mcp_message", server_name: "tools", message: { jsonrpc: "2.0", id: ++count, method: "tools/call", params: { name: tool_name, arguments: args } } });
  const { content, isError } = ran.response.mcp_response.result;
  const tool_response = { type: "text", text: content[0].text };
  if (isError) {
    await fire("PostToolUseFailure", tool_use_id, { tool_name, tool_input: args, error: content[0].text });
    return content[0].text;
  }
  said = await fire("PostToolUse", tool_use_id, { tool_name, tool_input: args, tool_response });
  const told = said.updatedToolOutput ?? tool_response;
  // The real program keeps the result of its own tools unless the new one has their shape.
  return Object.keys(told).join() === "type,text" ? told.text : tool_response.text;
}
createInterface({ input: process.stdin }).on("line", async (line) => {
  const sent = JSON.parse(line);
  if (sent.type === "control_request") {
    if (sent.request.subtype === "initialize") hooks = sent.request.hooks ?? {};
    const response = { hook_on_failure_supported: true, hooks_applied: true, commands: [], models: [], account: {} };
    write({ type: "control_response", response: { subtype: "success", request_id: sent.request_id, response } });
  } else if (sent.type === "control_response") {
    replies.get(sent.response.request_id)?.(sent.response);
  } else if (sent.type === "user") {
    const { content } = sent.message;
    await fire("UserPromptSubmit", undefined, { prompt: typeof content === "string" ? content : content[0].text });
    const told = [];
    for (const [at, turn] of turns.entries()) told.push(...await Promise.all(turn.map((it, n) => call(it, [process.pid, at, n].join("-")))));
    write({ type: "result", subtype: "success", is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1, session_id: session, result: JSON.stringify(told), total_cost_usd: 0, usage: {}, permission_denials: [], uuid: "00000000-0000-4000-8000-000000000000" });
    setTimeout(() => process.exit(0), 50);
  }
});`;

const folder = mkdtempSync(join(tmpdir(), "lockgate-node-"));
const program = join(folder, "program.mjs");
writeFileSync(program, PROGRAM);
after(() => rmSync(folder, { recursive: true }));

/** The tools of the program, as an MCP server in this process. */
function serverOf(tools) {
  const respond = async (message) => {
    try {
      const [, body] = tools[message.params.name];
      return { content: [{ type: "text", text: String(body(message.params.arguments)) }] };
    } catch (error) {
      return { content: [{ type: "text", text: String(error) }], isError: true };
    }
  };
  let transport;
  const instance = {
    connect: async (given) => {
      transport = given;
      transport.onmessage = async (message) => {
        if (message.id === undefined) return;
        const result = message.method === "tools/call" ? await respond(message) : {};
        await transport.send({ jsonrpc: "2.0", id: message.id, result });
      };
      await transport.start?.();
    },
    close: async () => {},
  };
  return { type: "sdk", name: "tools", instance };
}

async function play(gate, turns, { session, tools, agent, prompt = "go", ...options }) {
  const env = { ...process.env, STORY: JSON.stringify({ turns, session, agent }) };
  const hooks = gateHooks(gate, options);
  const settings = { hooks, env, pathToClaudeCodeExecutable: program, executable: process.execPath, mcpServers: { tools: serverOf(tools) } };
  for await (const message of query({ prompt, options: settings })) if (message.type === "result") return JSON.parse(message.result);
  throw new Error("the program ended without a result");
}

stories("Claude Agent SDK", play, {
  "without a session nothing runs": "every run of the program has a session",
  "streams are judged alike": "the program always streams",
  "a question pauses": "a hook cannot pause a run; the approver is asked",
  "a tool that runs elsewhere": "the hooks see every tool of the program",
});

it("Claude Agent SDK: sub-agents share the session", async () => {
  const ran = [];
  const gate = rules("limit send to 1 per session");
  await play(gate, [[["send", { to: "a" }]]], { session: "s1", tools: toolsThat(ran) });
  await play(gate, [[["send", { to: "b" }]]], { session: "s1", tools: toolsThat(ran), agent: "sub" });
  assert.deepEqual(ran, ["send a"]);
});

it("Claude Agent SDK: submitted prompts are the user's words where the host says so", async () => {
  for (const [hears, runs] of [[true, 1], [false, 0]]) {
    const ran = [];
    const how = { session: "s1", tools: toolsThat(ran), prompt: "write to ada@example.com", hears };
    await play(rules("send.to must come from user"), [[["send", { to: "ada@example.com" }]]], how);
    assert.equal(ran.length, runs);
  }
});

it("Claude Agent SDK: an event that cannot be read blocks, and a call that may run is left to the program", async () => {
  const [{ hooks: [before] }] = gateHooks(rules("block x")).PreToolUse;
  assert.equal((await before({ session_id: "s" }, "1")).hookSpecificOutput.permissionDecision, "deny");
  assert.deepEqual(await before({ session_id: "s", tool_name: "send", tool_input: {} }, "2"), {});
});
