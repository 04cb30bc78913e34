/** Mastra with a model of the AI SDK's own tests. */

import assert from "node:assert/strict";
import { it } from "node:test";

import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";
import { gateTools } from "lockgate/mastra";
import { z } from "zod";

import { rules, stories, toolsThat } from "./stories.js";

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
let count = 0;

/** Makes these calls, one list a turn, and then stops. */
function model(turns) {
  const left = [...turns];
  const next = () => {
    const calls = (left.shift() ?? []).map(([toolName, input]) => ({ type: "tool-call", toolCallId: `c${++count}`, toolName, input: JSON.stringify(input) }));
    return calls.length ? { content: calls, finishReason: "tool-calls" } : { content: [{ type: "text", text: "done" }], finishReason: "stop" };
  };
  return new MastraLanguageModelV2Mock({
    doGenerate: async () => ({ ...next(), usage, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = next();
      const parts = content.flatMap((it) => (it.type === "text" ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: it.text }, { type: "text-end", id: "t" }] : [it]));
      const all = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
      return { stream: new ReadableStream({ start(controller) { all.forEach((it) => controller.enqueue(it)); controller.close(); } }) };
    },
  });
}

const toolsOf = (bodies) => Object.fromEntries(Object.entries(bodies).map(([id, [argument, body]]) =>
  [id, createTool({ id, description: id, inputSchema: z.object({ [argument]: z.string() }), execute: async (input) => body(input) })]));

const agentOf = (gate, turns, bodies, options) =>
  new Agent({ id: "a", name: "a", instructions: "work", model: model(turns), tools: gateTools(gate, toolsOf(bodies), options) });

stories("Mastra", async (gate, turns, { session, stream, tools }) => {
  const first = count + 1;
  const run = async () => {
    const agent = agentOf(gate, turns, tools);
    const told = new Map();
    const take = (results) => results.forEach((it) => told.set((it.payload ?? it).toolCallId, (it.payload ?? it).result));
    if (stream) {
      const output = await agent.stream("go", { maxSteps: 9 });
      for await (const part of output.fullStream) {
        if (part.type === "tool-result") take([part]);
        if (part.type === "tool-error") told.set(part.payload.toolCallId, part.payload.error);
      }
    } else {
      const output = await agent.generate("go", { maxSteps: 9 });
      for (const step of output.steps) take(step.toolResults);
    }
    return told;
  };
  const told = await (session ? gate.session(session).within(run) : run());
  const ids = turns.flat().map((_, at) => `c${first + at}`);
  return ids.map((id) => JSON.stringify(told.get(id)) ?? "");
}, {
  "a question pauses": "an approval of the framework is for a tool and not for a call; the approver is asked",
});

it("Mastra: sub-agents share the session", async () => {
  const ran = [];
  const gate = rules("limit send to 1 per session");
  const inner = () => agentOf(gate, [[["send", { to: "b" }]]], toolsThat(ran)).generate("go", { maxSteps: 9 }).then((it) => it.text);
  const tools = { ...toolsThat(ran), another: ["note", inner] };
  const outer = agentOf(gate, [[["send", { to: "a" }]], [["another", { note: "" }]]], tools);
  await gate.session("s1").within(() => outer.generate("go", { maxSteps: 9 }));
  assert.deepEqual(ran, ["send a"]);
});

it("Mastra: a tool that runs elsewhere is told, and strict refuses it", (test) => {
  const warned = test.mock.method(process, "emitWarning", () => {});
  const open = createTool({ id: "ask", description: "ask", inputSchema: z.object({}) });
  assert.equal(gateTools(rules("block x"), { open }).open, open);
  assert.match(warned.mock.calls[0].arguments[0], /not gated/);
  assert.throws(() => gateTools(rules("block x"), { open }, { strict: true }), /not gated/);
  assert.equal(typeof gateTools(rules("block x"), toolsOf(toolsThat([]))).send.execute, "function");
});
