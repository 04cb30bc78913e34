/** The MCP SDK: a real server and a real client, joined in memory. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Gate, Policy } from "lockgate";
import { gateClient, gateServer } from "lockgate/mcp";
import { z } from "zod";

import { rules, stories } from "./stories.js";

/** A client that is connected to a server with these tools. */
async function connected(gate, tools, { session = "s1", side = "server" } = {}) {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  if (side === "server") gateServer(gate, server, { session });
  for (const [name, run, inputSchema = { text: z.string().optional() }] of Array.isArray(tools) ? tools : Object.entries(tools)) {
    server.registerTool(name, { inputSchema }, run);
  }
  const client = new Client({ name: "test", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(here), client.connect(there)]);
  return side === "client" ? gateClient(gate, client, { session }) : client;
}

const says = (text) => ({ content: [{ type: "text", text }] });
const textOf = (result) => result.content.map((it) => it.text).join("");

for (const side of ["server", "client"]) {
  const leftOut = {
    "streams are judged alike": "MCP has no streams of results",
    "a question pauses": "a call of MCP cannot pause; the approver is asked",
    "sub agents": "servers and clients do not see agents; they find the session from the request",
    "a tool that runs elsewhere": "every call of a server or client passes the gate",
  };
  stories(`MCP SDK, at the ${side}`, async (gate, turns, { session, tools }) => {
    const bodies = Object.entries(tools).map(([name, [argument, body]]) => [name, (input) => says(body(input)), { [argument]: z.string() }]);
    const client = await connected(gate, bodies, { session: session ?? null, side });
    const told = [];
    for (const turn of turns) {
      const results = await Promise.all(turn.map(([name, input]) => client.callTool({ name, arguments: input })));
      told.push(...results.map(textOf));
    }
    return told;
  }, leftOut);

  describe(`MCP SDK, at the ${side}`, () => {
    it("withholds an output, wherever it stands", async () => {
      const policy = new Policy({ texts: { "p.yaml": "output_rules: [{id: keys, tool: read, block_patterns: [\"PRIVATE KEY\"], message: That file holds a key.}]\nrules: [{id: r, when: {tool: other}, then: block}]" } });
      const client = await connected(new Gate(policy), { read: () => ({ ...says("PRIVATE KEY"), structuredContent: { key: "PRIVATE KEY" } }) }, { side });
      const result = await client.callTool({ name: "read", arguments: {} });
      assert.doesNotMatch(JSON.stringify(result), /PRIVATE KEY/);
      assert.match(textOf(result), /holds a key/);
    });

    it("settles failures as failures, and keeps limits among calls at the same time", async () => {
      const gate = rules("require backup before delete\nlimit send to 2 per session");
      const tools = { backup: () => ({ ...says("disk full"), isError: true }), delete: () => says("gone"), send: () => says("sent"), fails: () => { throw new Error("x"); } };
      const client = await connected(gate, tools, { side });
      await client.callTool({ name: "backup", arguments: {} });
      assert.equal((await client.callTool({ name: "delete", arguments: {} })).isError, true);
      const all = await Promise.all(Array.from({ length: 6 }, () => client.callTool({ name: "send", arguments: {} })));
      assert.equal(all.filter((it) => !it.isError).length, 2);
      await client.callTool({ name: "fails", arguments: {} });
      assert.deepEqual((await gate.session("s1").status()).pending, []);
    });

    it("lets nothing run as a task, whose result would come later", async () => {
      const ran = [];
      const client = await connected(rules("block x"), { send: () => (ran.push(1), says("sent")) }, { side });
      const result = await client.request({ method: "tools/call", params: { name: "send", arguments: {}, task: { ttl: 1000 } } }, z.any()).catch((error) => ({ isError: true, error }));
      if (side === "server") assert.deepEqual([result.isError, ran.length], [true, 0]);
      else assert.equal((await client.callTool({ name: "send", arguments: {}, task: { ttl: 1000 } })).isError, true);
    });

    it("runs nothing without a session, or when the gate fails", async () => {
      const ran = [];
      for (const session of [null, () => { throw new Error("x"); }]) {
        const client = await connected(rules("block x"), { send: () => (ran.push(1), says("sent")) }, { side, session });
        assert.equal((await client.callTool({ name: "send", arguments: {} })).isError, true);
      }
      assert.deepEqual(ran, []);
    });
  });
}

describe("MCP SDK", () => {
  it("a server that has tools already is refused", () => {
    const server = new McpServer({ name: "test", version: "1.0.0" });
    server.registerTool("send", {}, () => says("sent"));
    assert.throws(() => gateServer(rules("block send"), server), /before it has tools/);
  });
});
