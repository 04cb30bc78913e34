/** LangChain.js with a model of our own, as its tests have it. */

import assert from "node:assert/strict";
import { it } from "node:test";

import { ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, tool } from "langchain";
import { gateMiddleware } from "lockgate/langchain";
import { z } from "zod";

import { ScriptedChatModel } from "./scripted.js";
import { rules, stories, toolsThat } from "./stories.js";

const toolsOf = (bodies) => Object.entries(bodies).map(([name, [argument, body]]) =>
  tool(async (input) => body(input), { name, description: name, schema: z.object({ [argument]: z.string() }) }));

const agentOf = (gate, turns, bodies, options, more = []) => createAgent({
  model: new ScriptedChatModel(turns),
  tools: [...toolsOf(bodies), ...more],
  middleware: [gateMiddleware(gate, options)],
  checkpointer: options?.pause ? new MemorySaver() : undefined,
});
const START = { messages: [{ role: "user", content: "go" }] };
const thread = (name) => (name ? { configurable: { thread_id: name } } : {});

stories("LangChain.js", async (gate, turns, { session, stream, tools }) => {
  const agent = agentOf(gate, turns, tools);
  let state;
  if (stream) for await (const part of await agent.stream(START, { ...thread(session), streamMode: "values" })) state = part;
  else state = await agent.invoke(START, thread(session));
  return state.messages.filter((it) => ToolMessage.isInstance(it)).map((it) => String(it.content));
}, {
  "a tool that runs elsewhere": "tools that the provider of the model runs never come here; leave them out",
});

it("LangChain.js: a question interrupts the graph and goes on with the answer", async () => {
  for (const [answer, runs] of [[true, 1], [{ granted: true, by: "ada" }, 1], ["yes", 0], [{ granted: false }, 0]]) {
    const ran = [];
    const gate = rules("require human-approval before remove");
    const agent = agentOf(gate, [[["remove", { path: "x" }]]], toolsThat(ran), { pause: true });
    const [asked] = (await agent.invoke(START, thread("s1"))).__interrupt__;
    assert.deepEqual([asked.value.input, ran], [{ path: "x" }, []]);
    await agent.invoke(new Command({ resume: answer }), thread("s1"));
    assert.equal(ran.length, runs);
    assert.deepEqual(await gate.session("s1").questions(), []);
  }
});

it("LangChain.js: sub-agents share the session", async () => {
  const ran = [];
  const gate = rules("limit send to 1 per session");
  const another = tool(async () => (await agentOf(gate, [[["send", { to: "b" }]]], toolsThat(ran)).invoke(START, thread("s1"))).messages.at(-1).text,
    { name: "another", description: "another agent", schema: z.object({}) });
  await agentOf(gate, [[["send", { to: "a" }]], [["another", {}]]], toolsThat(ran), {}, [another]).invoke(START, thread("s1"));
  assert.deepEqual(ran, ["send a"]);
});
