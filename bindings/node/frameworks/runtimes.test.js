/** The same native module in Node, Bun and Deno, which npm fetches. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { it } from "node:test";

const HOME = fileURLToPath(new URL("..", import.meta.url));
const SCRIPT = `
import { Gate, Policy } from "lockgate";
import { compile, createGateManager } from "lockgate/petriflow";
const said = [];
const gate = new Gate(Policy.rules("require backup before delete"), { onDecision: (call, verdict) => said.push(verdict.decision ?? "heard") });
const tools = gate.tools({ backup: async () => "saved", delete: async () => "gone" });
await gate.session("s").within(async () => {
  said.push(await tools.delete({}).catch((error) => error.code), await tools.backup({}), await tools.delete({}));
});
const texts = { "n.yaml": "kind: Net\\nname: n\\nplaces: {a: 1}\\ntransitions: [{name: s, inputs: [a], outputs: [a], tools: [send]}]" };
for (const n of [() => { throw new Error("a slip"); }, async () => { throw new Error("a slip"); }, () => {}]) {
  said.push((await new Gate(new Policy({ texts }), { validators: { n } }).session("s").call("send")).decision);
}
said.push((await Policy.rules("require test before deploy\\nclaim never deploy before test").verify()).claims[0].holds);
const manager = createGateManager(compile("block rm").nets);
said.push((await manager.handleToolCall({ toolCallId: "1", toolName: "rm", input: {} }, { hasUI: false, confirm: async () => false })).block);
console.log(JSON.stringify(said));`;

/** npm runs no scripts of packages here, so the program is where it was packed. */
function bun() {
  const folder = `${HOME}node_modules/@oven`;
  const [found] = readdirSync(folder).map((it) => `${folder}/${it}/bin/bun`).filter((it) => spawnSync(it, ["--version"]).status === 0);
  return found;
}

const runtimes = {
  Node: [process.execPath, "--input-type=module", "-e", SCRIPT],
  Bun: [bun(), "-e", SCRIPT],
  Deno: [`${HOME}node_modules/.bin/deno`, "eval", "--node-modules-dir=manual", SCRIPT],
};
const expected = ["heard", "heard", "heard", "LOCKGATE_BLOCKED", "saved", "gone", "block", "block", "run", true, true];

for (const [name, [program, ...args]] of Object.entries(runtimes)) {
  it(`judges in ${name}`, () => {
    const said = execFileSync(program, args, { cwd: HOME, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    assert.deepEqual(JSON.parse(said.trim().split("\n").at(-1)).sort(), [...expected].sort());
  });
}
