/** The example of each framework, with a scripted model in the place of a real one. */

import assert from "node:assert/strict";
import { it } from "node:test";

import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { setTracingDisabled } from "@openai/agents";
import { MockLanguageModelV3 } from "ai/test";

import { runAgent as runAi } from "../example/ai-agent.js";
import { runAgent as runLangChain } from "../example/langchain-agent.js";
import { runAgent as runOpenAi } from "../example/openai-agent.js";
import { gateWith } from "../example/tools.js";
import { ScriptedChatModel } from "./scripted.js";

setTracingDisabled(true);

/** What the model calls: two commands of which one is blocked, and two deployments of which one is asked about and one too many. */
const CALLS = [
  ["bash", { command: "rm -rf build" }],
  ["backup", { path: "build" }],
  ["bash", { command: "rm -rf build" }],
  ["deploy", { to: "staging" }],
  ["deploy", { to: "staging" }],
];
const TOLD = [
  "delete requires a successful call to backup first.",
  "build is saved",
  "ran rm -rf build",
  "staging is live",
  "deploy has reached its limit of 1 calls per session.",
];

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const answer = (content, unified) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });

function aiModel() {
  const turns = CALLS.map(([toolName, input], at) => answer([{ type: "tool-call", toolCallId: `e${at}`, toolName, input: JSON.stringify(input) }], "tool-calls"));
  return new MockLanguageModelV3({ doGenerate: async () => turns.shift() ?? answer([{ type: "text", text: "done" }], "stop") });
}

const examples = {
  "Vercel AI SDK": [runAi, aiModel()],
  "LangChain.js": [runLangChain, new ScriptedChatModel(CALLS.map((call) => [call]))],
  "OpenAI Agents SDK": [runOpenAi, new ScriptedModel([...CALLS.map(([name, args], at) => [functionCall(name, args, { callId: `e${at}` })]), [assistantMessage("done")]])],
};

for (const [name, [run, model]] of Object.entries(examples)) {
  it(`${name}: the example tells its model what to do next`, async () => {
    const asked = [];
    const gate = gateWith((question) => asked.push(question.tool) > 0);
    const told = (await run(gate, model, "Deploy to staging.", "conversation-17")).join("\n");
    const places = TOLD.map((it) => told.indexOf(it));
    assert.ok(places.every((it) => it >= 0), told);
    assert.deepEqual(places, [...places].sort((a, b) => a - b), told);
    assert.deepEqual(asked, ["deploy"]);
  });
}
