/** The OpenAI Agents SDK with its own scripted model. */

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Agent, RunState, Runner, handoff, setTracingDisabled, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { gateAgent } from "lockgate/openai-agents";
import { z } from "zod";

import { rules, stories } from "./stories.js";

setTracingDisabled(true);

let count = 0;
const call = (name, args = {}) => functionCall(name, args, { callId: `c${++count}` });

function toolsThat(ran, bodies = {}) {
  return ["backup", "remove", "send", "search", "deploy"].map((name) => tool({
    name,
    description: name,
    parameters: z.object({ text: z.string().default("") }),
    strict: true,
    execute: async (input) => {
      ran.push([name, input.text]);
      return bodies[name] ? bodies[name](input) : `${name} done`;
    },
  }));
}

/** Runs a model that makes these calls, one list a turn; returns what it saw of each. */
async function run(gate, ran, turns, { bodies, agent, ...options } = {}) {
  const model = new ScriptedModel([...turns, [assistantMessage("done")]]);
  const own = agent ?? new Agent({ name: "a", tools: toolsThat(ran, bodies) });
  const result = await new Runner({ model }).run(gateAgent(gate, own, { session: "s1", ...options }), "go");
  return result.newItems.filter((it) => it.type === "tool_call_output_item").map((it) => it.output);
}

/** The tools of the stories. */
const toolsOf = (bodies) => Object.entries(bodies).map(([name, [argument, body]]) =>
  tool({ name, description: name, parameters: z.object({ [argument]: z.string().default("") }), execute: async (input) => body(input) }));

stories("OpenAI Agents SDK", async (gate, turns, { session, stream, tools }) => {
  const calls = turns.map((turn) => turn.map(([name, args]) => call(name, args)));
  const agent = gateAgent(gate, new Agent({ name: "a", tools: toolsOf(tools) }), { session });
  const result = await new Runner({ model: new ScriptedModel([...calls, [assistantMessage("done")]]) }).run(agent, "go", { stream: stream === true });
  if (stream) await result.completed;
  const told = new Map(result.newItems.filter((it) => it.type === "tool_call_output_item").map((it) => [it.rawItem.callId, it.output]));
  return calls.flat().map((it) => String(told.get(it.callId)));
});

describe("OpenAI Agents SDK", () => {
  it("an output that the program calls a failure earns nothing", async () => {
    const gate = rules("require backup before remove");
    const bad = { bodies: { backup: () => "bad" }, isFailure: (output) => output === "bad" };
    assert.match((await run(gate, [], [[call("backup")], [call("remove")]], bad))[1], /requires a successful call/);
  });

  it("a question pauses the run, and goes on in another process", async () => {
    for (const [approves, runs] of [[true, 1], [false, 0]]) {
      const folder = mkdtempSync(join(tmpdir(), "lockgate-node-"));
      chmodSync(folder, 0o700);
      const open = () => rules("require human-approval before remove\nlimit send to 1 per session", { store: `sqlite:${join(folder, "l.db")}` });
      const ran = [];
      const model = new ScriptedModel([[call("remove", { text: "x" }), call("send")], [assistantMessage("done")]]);
      const agent = () => new Agent({ name: "a", tools: toolsThat(ran) });
      const first = gateAgent(open(), agent(), { session: "s1", pause: true });
      const paused = await new Runner({ model }).run(first, "go");
      assert.equal(paused.interruptions.length, 1);
      assert.deepEqual(ran.filter(([name]) => name === "remove"), []);
      const gate = open();
      const later = gateAgent(gate, agent(), { session: "s1", pause: true });
      // The state is written down and read again, as it would be in another process.
      const state = await RunState.fromString(later, paused.state.toString());
      const [item] = state.getInterruptions();
      approves ? state.approve(item) : state.reject(item);
      await new Runner({ model }).run(later, state);
      assert.equal(ran.filter(([name]) => name === "remove").length, runs);
      assert.equal(ran.filter(([name]) => name === "send").length, 1);
      rmSync(folder, { recursive: true });
    }
  });

  it("nothing runs where the gate fails, without a session, or with arguments that are not JSON", async () => {
    const ran = [];
    assert.match((await run(rules("block x"), ran, [[call("send")]], { session: undefined }))[0], /no session/);
    assert.match((await run(rules("block x"), ran, [[call("send")]], { session: () => { throw new Error("x"); } }))[0], /Lockgate failed/);
    const [gated] = await gateAgent(rules("block x"), new Agent({ name: "a", tools: toolsThat(ran) }), { session: "s" }).getAllTools();
    assert.match(await gated.invoke({}, "{", {}), /not JSON/);
    assert.deepEqual(ran, []);
  });

  it("hand-offs, clones and agents as tools are gated and share the session", async () => {
    const ran = [];
    const gate = rules("limit send to 1 per session");
    const other = new Agent({ name: "other", tools: toolsThat(ran) });
    const first = new Agent({ name: "first", tools: toolsThat(ran), handoffs: [handoff(other)] });
    other.handoffs = [first];
    await run(gate, ran, [[call("send")], [call("transfer_to_other")], [call("send")]], { agent: first });
    assert.equal(ran.length, 1);
    await run(gate, ran, [[call("send")]], { agent: first.clone({ name: "clone" }) });
    assert.equal(ran.length, 1);
    const [clone] = await first.clone({}).getAllTools();
    assert.notEqual(clone.invoke, first.tools[0].invoke);
  });

  it("a tool that runs elsewhere is told, and strict refuses it", async (test) => {
    const warned = test.mock.method(process, "emitWarning", () => {});
    const hosted = { type: "hosted_tool", name: "web_search", providerData: { type: "web_search" } };
    await gateAgent(rules("block x"), new Agent({ name: "a", tools: [hosted] })).getAllTools();
    assert.match(warned.mock.calls[0].arguments[0], /web_search/);
    await assert.rejects(gateAgent(rules("block x"), new Agent({ name: "a", tools: [hosted] }), { strict: true }).getAllTools(), /not gated/);
    assert.throws(() => gateAgent(rules("block x"), {}), /not an agent/);
  });
});
