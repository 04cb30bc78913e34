/**
 * The stories that every adapter must tell alike: what runs, what the model sees, and what the gate remembers.
 *
 * A test of a framework says in `play` how an agent of that framework is run with a model that makes scripted calls. A framework
 * without a feature names the story in `leftOut`, with the reason.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Gate, Policy } from "lockgate";

export const rules = (text, options) => new Gate(Policy.rules(text), options);
const MASKING = "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]";
const WITHHELD = 'output_rules: [{id: k, tool: read, block_patterns: ["PRIVATE KEY"], message: That file holds a key.}]\nrules: []';
const NET = "kind: Net\nname: n\nplaces: {a: 1}\ntransitions: [{name: s, inputs: [a], outputs: [a], tools: [send]}]";

/** The tools of every agent, each with the name of its one argument. `ran` gets what has run. */
export function toolsThat(ran, works = () => true) {
  return {
    backup: ["note", () => { ran.push("backup"); if (!works()) throw new Error("disk full"); return "saved"; }],
    remove: ["path", ({ path }) => { ran.push(`remove ${path}`); return "removed"; }],
    read: ["path", ({ path }) => { ran.push(`read ${path}`); return "-----BEGIN PRIVATE KEY-----"; }],
    search: ["query", ({ query }) => { ran.push(`search ${query}`); return "found bob@example.com"; }],
    send: ["to", ({ to }) => { ran.push(`send ${to}`); return "sent"; }],
  };
}

/**
 * @param {string} framework
 * @param {(gate: Gate, turns: [string, object][][], how: { session?: string, stream?: boolean, tools: object }) => Promise<string[]>} play
 *   Runs an agent whose model makes these calls, one list a turn; returns what it saw of each, in their order.
 */
export function stories(framework, play, leftOut = {}) {
  const tell = async (gate, turns, { ran = [], works, session = "s1", stream } = {}) => ({
    ran,
    told: await play(gate, turns, { session: session ?? undefined, stream, tools: toolsThat(ran, works) }),
  });
  const story = (name, body) => it(name, { skip: leftOut[name] ?? false }, body);

  describe(framework, () => {
    story("allowed, blocked, masked and withheld in one batch", async () => {
      const gate = new Gate(new Policy({ texts: { "m.yaml": MASKING, "w.yaml": WITHHELD, "r.rules": "require backup before remove" } }));
      const batch = [["send", { to: "ada" }], ["remove", { path: "x" }], ["search", { query: "ada@example.com" }], ["read", { path: "k" }]];
      const { ran, told } = await tell(gate, [batch]);
      assert.deepEqual(ran.sort(), ["read k", "search [EMAIL]", "send ada"]);
      assert.match(told[0], /sent/);
      assert.match(told[1], /remove requires a successful call to backup first\./);
      assert.match(told[2], /found \[EMAIL\]/);
      assert.match(told[3], /That file holds a key\./);
      assert.doesNotMatch(told[3], /PRIVATE KEY/);
    });

    story("a failure earns nothing and a success opens", async () => {
      const gate = rules("require backup before remove");
      const ran = [];
      // Some frameworks end the run with the tool's own error.
      await tell(gate, [[["backup", { note: "" }]]], { ran, works: () => false }).catch((error) => assert.match(String(error), /disk full/));
      assert.deepEqual((await gate.session("s1").status()).pending, []);
      await tell(gate, [[["remove", { path: "x" }]]], { ran });
      assert.deepEqual(ran, ["backup"]);
      await tell(gate, [[["backup", { note: "" }]], [["remove", { path: "x" }]]], { ran });
      assert.deepEqual(ran, ["backup", "backup", "remove x"]);
      assert.deepEqual((await gate.session("s1").status()).pending, []);
    });

    story("limits are exact within a batch", async () => {
      const { ran } = await tell(rules("limit send to 1 per session"), [["a", "b", "c"].map((to) => ["send", { to }])]);
      assert.equal(ran.length, 1);
    });

    story("only a plain yes of the approver lets a call pass", async () => {
      const fails = () => { throw new Error("no"); };
      for (const [approver, runs] of [[() => true, 1], [async () => true, 1], [() => false, 0], [() => "yes", 0], [fails, 0], [undefined, 0]]) {
        const { ran } = await tell(rules("require human-approval before send", { approver }), [[["send", { to: "a" }]]]);
        assert.equal(ran.length, runs);
      }
    });

    story("a gate that is broken runs nothing", async () => {
      const gate = new Gate(new Policy({ texts: { "n.yaml": NET } }), { validators: { n: () => { throw new Error("a slip"); } } });
      const { ran, told } = await tell(gate, [[["send", { to: "a" }]]]);
      assert.match(told[0], /a validator failed/);
      assert.deepEqual(ran, []);
    });

    story("a refused call earns nothing", async () => {
      // Some frameworks fire the events of a result for calls that never ran.
      const gate = rules("require human-approval before remove\nrequire remove before send");
      const { ran } = await tell(gate, [[["remove", { path: "x" }]], [["send", { to: "ada" }]]]);
      assert.deepEqual([ran, (await gate.session("s1").status()).pending], [[], []]);
    });

    story("a tool that is not there leaves nothing behind", async () => {
      const gate = rules("require nothing before send\nlimit remove to 1 per session");
      const ran = [];
      // Some frameworks end the run.
      await tell(gate, [[["nothing", {}]], [["send", { to: "ada" }]]], { ran }).catch(() => {});
      await tell(gate, [[["remove", { path: "x" }]]], { ran });
      assert.deepEqual([ran, (await gate.session("s1").status()).pending], [["remove x"], []]);
    });

    story("without a session nothing runs", async () => {
      const { ran, told } = await tell(rules("block x"), [[["send", { to: "a" }]]], { session: null });
      assert.match(told[0], /no session/);
      assert.deepEqual(ran, []);
    });

    story("sessions are apart, and runs of one session share it", async () => {
      const gate = rules("limit send to 1 per session");
      const ran = [];
      await Promise.all(["ada", "bob", "ada", "bob"].map((session) => tell(gate, [[["send", { to: session }]]], { ran, session })));
      assert.deepEqual(ran.sort(), ["send ada", "send bob"]);
    });

    story("streams are judged alike", async () => {
      const gate = new Gate(new Policy({ texts: { "m.yaml": MASKING, "r.rules": "limit send to 1 per session" } }));
      const batch = [["search", { query: "ada@example.com" }], ["send", { to: "a" }], ["send", { to: "b" }]];
      const { ran, told } = await tell(gate, [batch], { stream: true });
      assert.equal(ran.filter((it) => it.startsWith("send")).length, 1);
      assert.match(told[0], /found \[EMAIL\]/);
    });

    story("observing lets everything run and is heard", async () => {
      const heard = [];
      const gate = rules("block send", { mode: "observe", onDecision: (_, verdict) => heard.push(verdict.observed.length) });
      const { ran } = await tell(gate, [[["send", { to: "a" }]]]);
      assert.deepEqual([ran, heard], [["send a"], [1]]);
    });

    story("what the user said is heard", async () => {
      const gate = rules("send.to must come from user");
      await gate.session("s1").hear("Please write to ada@example.com.");
      const { ran } = await tell(gate, [[["send", { to: "ada@example.com" }], ["send", { to: "eve@evil.example" }]]]);
      assert.deepEqual(ran, ["send ada@example.com"]);
    });
  });
}
