/** The OpenAI Agents SDK with its own scripted model. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Agent, Runner, handoff, setTracingDisabled, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { Gate, Policy } from "lockgate";
import { gateAgent } from "lockgate/openai-agents";
import { z } from "zod";

setTracingDisabled(true);

const rules = (text, options) => new Gate(Policy.rules(text), options);
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

describe("OpenAI Agents SDK", () => {
  it("1 allowed, blocked and masked calls in one batch", async () => {
    const ran = [];
    const policy = new Policy({ texts: { "p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]", "r.rules": "require backup before remove" } });
    const seen = await run(new Gate(policy), ran, [[call("send", { text: "x" }), call("remove"), call("search", { text: "ada@example.com" })]], { bodies: { search: ({ text }) => `${text} bob@example.com` } });
    assert.deepEqual(ran, [["send", "x"], ["search", "[EMAIL]"]]);
    assert.equal(seen[0], "send done");
    assert.match(seen[1], /^remove requires a successful call to backup first\./);
    assert.equal(seen[2], "[EMAIL] [EMAIL]");
  });

  it("2 and 3 a failure earns nothing, a success opens", async () => {
    const gate = rules("require backup before remove");
    const fails = { backup: () => { throw new Error("disk full"); } };
    assert.match((await run(gate, [], [[call("backup")], [call("remove")]], { bodies: fails }))[1], /requires a successful call/);
    const bad = { bodies: { backup: () => "bad" }, isFailure: (output) => output === "bad" };
    assert.match((await run(gate, [], [[call("backup")], [call("remove")]], bad))[1], /requires a successful call/);
    assert.deepEqual(await run(gate, [], [[call("backup")], [call("remove")]]), ["backup done", "remove done"]);
    assert.deepEqual((await gate.session("s1").status()).pending, []);
  });

  it("4 limits are exact within a batch", async () => {
    const ran = [];
    await run(rules("limit send to 1 per session"), ran, [[call("send"), call("send"), call("send")]]);
    assert.equal(ran.length, 1);
  });

  it("5 only a plain yes of the approver lets a call pass", async () => {
    for (const [approver, passes] of [[() => true, true], [() => "no", false], [() => { throw new Error("x"); }, false], [undefined, false]]) {
      const ran = [];
      await run(rules("require human-approval before deploy", { approver }), ran, [[call("deploy")]]);
      assert.equal(ran.length, passes ? 1 : 0);
    }
  });

  it("7 and 8 nothing runs where the gate fails, without a session, or with arguments that are not JSON", async () => {
    const ran = [];
    assert.match((await run(rules("block x"), ran, [[call("send")]], { session: undefined }))[0], /no session/);
    assert.match((await run(rules("block x"), ran, [[call("send")]], { session: () => { throw new Error("x"); } }))[0], /Lockgate failed/);
    const [gated] = await gateAgent(rules("block x"), new Agent({ name: "a", tools: toolsThat(ran) }), { session: "s" }).getAllTools();
    assert.match(await gated.invoke({}, "{", {}), /not JSON/);
    assert.deepEqual(ran, []);
  });

  it("9 hand-offs, clones and agents as tools are gated and share the session", async () => {
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

  it("10 streams are judged alike", async () => {
    const ran = [];
    const model = new ScriptedModel([[call("send"), call("send")], [assistantMessage("done")]]);
    const agent = gateAgent(rules("limit send to 1 per session"), new Agent({ name: "a", tools: toolsThat(ran) }), { session: "s1" });
    const result = await new Runner({ model }).run(agent, "go", { stream: true });
    await result.completed;
    assert.equal(ran.length, 1);
  });

  it("14 a tool that runs elsewhere is told, and strict refuses it", async (test) => {
    const warned = test.mock.method(process, "emitWarning", () => {});
    const hosted = { type: "hosted_tool", name: "web_search", providerData: { type: "web_search" } };
    await gateAgent(rules("block x"), new Agent({ name: "a", tools: [hosted] })).getAllTools();
    assert.match(warned.mock.calls[0].arguments[0], /web_search/);
    await assert.rejects(gateAgent(rules("block x"), new Agent({ name: "a", tools: [hosted] }), { strict: true }).getAllTools(), /not gated/);
    assert.throws(() => gateAgent(rules("block x"), {}), /not an agent/);
  });
});
