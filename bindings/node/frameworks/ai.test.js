/** The Vercel AI SDK with its own fake model. */

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3, convertArrayToReadableStream } from "ai/test";
import { Gate, Policy } from "lockgate";
import { gateTools } from "lockgate/ai";

import { rules, stories } from "./stories.js";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = (unified) => ({ unified, raw: unified });
const call = (toolName, input = {}, toolCallId = `${toolName}-${++count}`) => ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });
let count = 0;

/** A model that makes these calls, one list a turn, and then stops. */
function model(...turns) {
  const answers = turns.map((calls) => ({ content: calls, finishReason: finish("tool-calls"), usage, warnings: [] }));
  answers.push({ content: [{ type: "text", text: "done" }], finishReason: finish("stop"), usage, warnings: [] });
  let turn = 0;
  return new MockLanguageModelV3({
    doGenerate: async () => answers[Math.min(turn++, answers.length - 1)],
    doStream: async () => {
      const { content, finishReason } = answers[Math.min(turn++, answers.length - 1)];
      const parts = content.flatMap((it) => (it.type === "text" ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: it.text }, { type: "text-end", id: "t" }] : [it]));
      return { stream: convertArrayToReadableStream([{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }]) };
    },
  });
}

function toolsThat(ran, bodies = {}) {
  const names = ["backup", "delete", "send", "search", "deploy"];
  return Object.fromEntries(names.map((name) => [name, tool({
    description: name,
    inputSchema: jsonSchema({ type: "object", additionalProperties: true }),
    execute: async (input, options) => {
      ran.push([name, input]);
      return bodies[name] ? bodies[name](input, options) : `${name} done`;
    },
  })]));
}

const run = (gate, ran, turns, options = {}, bodies) =>
  generateText({ model: model(...turns), prompt: "go", tools: gateTools(gate, toolsThat(ran, bodies), { session: "s1", ...options }), stopWhen: stepCountIs(9) });
/** What the model saw of each call. */
const seen = (result) => result.steps.flatMap((step) => step.content).filter((it) => /^tool-(result|error)$/.test(it.type))
  .map((it) => (it.type === "tool-error" ? `error: ${it.error.message}` : it.output));
const MASK = new Policy({ texts: { "p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]" } });

/** The tools of the stories. */
const toolsOf = (bodies) => Object.fromEntries(Object.entries(bodies).map(([name, [argument, body]]) => {
  const inputSchema = jsonSchema({ type: "object", properties: { [argument]: { type: "string" } } });
  return [name, tool({ description: name, inputSchema, execute: async (input) => body(input) })];
}));

stories("Vercel AI SDK", async (gate, turns, { session, stream, tools }) => {
  const calls = turns.map((turn) => turn.map(([name, input]) => call(name, input)));
  const options = { model: model(...calls), prompt: "go", tools: gateTools(gate, toolsOf(tools), { session }), stopWhen: stepCountIs(9) };
  const result = stream ? streamText(options) : await generateText(options);
  const parts = (await result.steps).flatMap((step) => step.content).filter((it) => /^tool-(result|error)$/.test(it.type));
  const told = new Map(parts.map((it) => [it.toolCallId, it.type === "tool-error" ? String(it.error?.message ?? it.error) : it.output]));
  return calls.flat().map((it) => String(told.get(it.toolCallId)));
});

describe("Vercel AI SDK", () => {
  it("a result that the program calls a failure earns nothing", async () => {
    const gate = rules("require backup before delete");
    const isFailure = (value) => value === "bad";
    const result = await run(gate, [], [[call("backup")], [call("delete")]], { isFailure }, { backup: () => "bad" });
    assert.match(seen(result)[1], /requires a successful call to backup/);
    assert.deepEqual((await gate.session("s1").status()).pending, []);
  });

  it("a question pauses the run, and goes on in another process", async () => {
    const path = mkdtempSync(join(tmpdir(), "lockgate-node-"));
    chmodSync(path, 0o700);
    const open = () => rules("require human-approval before deploy", { store: `sqlite:${join(path, "l.db")}` });
    const [ran, gate] = [[], open()];
    const first = await run(gate, ran, [[call("deploy", { to: "a" }, "d1"), call("deploy", { to: "b" }, "d2")]], { pause: true });
    const requests = first.content.filter((it) => it.type === "tool-approval-request");
    assert.deepEqual([requests.length, ran.length], [2, 0]);
    const messages = [{ role: "user", content: "go" }, ...first.response.messages];
    const reply = { role: "tool", content: requests.map((it) => ({ type: "tool-approval-response", approvalId: it.approvalId, approved: true })) };
    const goOn = (gate) => generateText({ model: model(), messages: [...messages, reply], tools: gateTools(gate, toolsThat(ran), { session: "s1", pause: true }) });
    // What a client sends is not an answer.
    await goOn(open());
    assert.deepEqual(ran, []);
    const later = open();
    const session = later.session("s1");
    for (const id of (await session.questions()).reverse()) await later.answer(id, session.question(id).input.to === "a", "ada");
    await goOn(later);
    await goOn(later);
    assert.deepEqual(ran, [["deploy", { to: "a" }]]);
    rmSync(path, { recursive: true });
  });

  it("an input that cannot be judged, or a session that cannot be found, runs nothing", async () => {
    const ran = [];
    const tools = gateTools(rules("block x"), toolsThat(ran), { session: () => { throw new Error("no session"); } });
    await assert.rejects(tools.send.execute({}, { toolCallId: "c" }), /no session/);
    await assert.rejects(gateTools(rules("block x"), toolsThat(ran)).send.execute({}, { toolCallId: "c" }), /no session/);
    await assert.rejects(gateTools(rules("block x"), toolsThat(ran), { session: "s" }).send.execute({ at: 10n }, { toolCallId: "c" }), /not plain JSON/);
    assert.deepEqual(ran, []);
  });

  it("sub-agents share the session around them, others do not", async () => {
    const ran = [];
    const gate = rules("limit send to 1 per session");
    const inner = (turns) => generateText({ model: model(...turns), prompt: "go", tools: gateTools(gate, toolsThat(ran)), stopWhen: stepCountIs(5) });
    const both = (name) => gate.session(name).within(async () => {
      const tools = gateTools(gate, toolsThat(ran, { search: () => inner([[call("send")]]).then((it) => it.text) }));
      return generateText({ model: model([call("search")], [call("send")]), prompt: "go", tools, stopWhen: stepCountIs(5) });
    });
    await Promise.all([both("ada"), both("bob")]);
    assert.equal(ran.filter(([name]) => name === "send").length, 2);
  });

  it("parts of a result that streams do not leak", async () => {
    const ran = [];
    const gate = new Gate(MASK);
    const bodies = { search: async function* () { yield "first bob@example.com"; yield "last bob@example.com"; } };
    const tools = gateTools(gate, toolsThat(ran), { session: "s1" });
    const streaming = gateTools(gate, { search: tool({ inputSchema: jsonSchema({ type: "object" }), execute: bodies.search }) }, { session: "s1" });
    const result = streamText({ model: model([call("search", { q: "x" })]), prompt: "go", tools: { ...tools, ...streaming }, stopWhen: stepCountIs(5) });
    const outputs = [];
    for await (const part of result.fullStream) if (part.type === "tool-result") outputs.push(part.output);
    assert.deepEqual(outputs, ["last [EMAIL]"]);
  });

  it("a tool that runs elsewhere is told, and strict refuses it", (test) => {
    const warned = test.mock.method(process, "emitWarning", () => {});
    const tools = { ...toolsThat([]), ask: tool({ inputSchema: jsonSchema({ type: "object" }) }) };
    assert.equal(gateTools(rules("block x"), tools, { session: "s" }).ask, tools.ask);
    assert.match(warned.mock.calls[0].arguments[0], /not gated: ask/);
    assert.throws(() => gateTools(rules("block x"), tools, { strict: true }), /not gated: ask/);
  });
});
