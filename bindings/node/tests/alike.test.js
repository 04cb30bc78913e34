/**
 * Random policies and sessions are judged alike by the program and by the packages.
 *
 * LOCKGATE_DOORS has the paths of what speaks the line protocol, the reference first. LOCKGATE_SEED plays one case again.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, it } from "node:test";

const DOORS = (process.env.LOCKGATE_DOORS ?? "").split(":").filter(Boolean);
const CASES = 12;
const LINES = 40;

/** A small generator, so that a case can be played again. */
function randomOf(seed) {
  let state = seed >>> 0 || 1;
  const next = () => ((state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0), (state ^ (state >>> 13)) >>> 0);
  const below = (n) => next() % n;
  return { below, pick: (items) => items[below(items.length)] };
}

const TOOLS = ["backup", "delete", "deploy", "send", "read", "bash"];
const COMMANDS = ["ls", "rm -rf x", "cp a b", "cp a b && rm a", "echo rm", "r''m x", "$X y", "git push --force"];

function policyOf({ below, pick }) {
  const rule = () => [
    () => `require ${pick(TOOLS)} before ${pick(TOOLS)}`,
    () => `require human-approval before ${pick(TOOLS)}`,
    () => `limit ${pick(TOOLS)} to ${1 + below(3)} per session`,
    () => `limit ${pick(TOOLS)} to ${1 + below(3)} per ${pick(TOOLS)}`,
    () => `block ${pick(TOOLS)}`,
    () => `observe block ${pick(TOOLS)}`,
    () => `limit ${pick(TOOLS)} to ${1 + below(3)} per ${1 + below(3)} minutes`,
    () => "send.to must come from user, else ask",
    () => "require user to say delete before delete",
  ][below(9)]();
  const maps = below(2) ? ["map bash.command rm as delete", "map bash.command cp as backup"] : [];
  return [...maps, ...Array.from({ length: 1 + below(5) }, rule)].join("\n");
}

/** Rules of other languages beside them: masks, limits, outputs that are withheld. */
function rulesetOf({ below, pick }) {
  const rules = [
    () => `{id: c, type: pre, tool: ${pick(TOOLS)}, when: {args.to: {contains: eve}}, then: {action: ${pick(["block", "ask"])}, message: "No {args.to}."}}`,
    () => `{id: s, type: session, limits: {max_tool_calls: ${3 + below(20)}}, then: {action: block, message: Enough.}}`,
    () => `{id: o, type: post, tool: "*", when: {output.text: {contains: KEY}}, then: {action: ${pick(["block", "redact", "warn"])}, message: A key.}}`,
  ].filter(() => below(2));
  if (rules.length === 0) return undefined;
  return `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: r}\ndefaults: {mode: ${pick(["enforce", "enforce", "observe"])}}\nrules:\n` +
    rules.map((it) => `  - ${it()}\n`).join("");
}

/** A program that answers line by line. */
function open(door, files) {
  const child = spawn(door, ["gate", "--clock", "lines", ...files], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(line) {
      child.stdin.write(`${JSON.stringify(line)}\n`);
      const { value, done } = await lines.next();
      assert(!done, `${door} ended at ${JSON.stringify(line)}`);
      return JSON.parse(value);
    },
    close: () => child.kill(),
  };
}

/** What all doors must say alike; the program adds a few words to some answers. */
const essence = ({ verdict, reason, obstacles, observed, deeds, next, approval, settled, nets, counters, pending, output, warnings, rules, error }) =>
  JSON.parse(JSON.stringify({ verdict, reason, obstacles, observed, deeds, next, approval, settled, nets, counters, pending, output, warnings, rules, error: error && true }));

/** A door that is left open keeps the test from ending. */
const opened = [];
after(() => opened.forEach((door) => door.close()));

it("random sessions are judged alike by all doors", { skip: DOORS.length < 2 && "LOCKGATE_DOORS names fewer than two", timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-node-"));
  const seeds = process.env.LOCKGATE_SEED ? [Number(process.env.LOCKGATE_SEED)] : Array.from({ length: CASES }, () => 1 + Math.floor(Math.random() * 2 ** 31));
  const seen = new Set();
  for (const seed of seeds) {
    const random = randomOf(seed);
    const texts = { "policy.rules": policyOf(random), "ruleset.yaml": rulesetOf(random) };
    const named = Object.entries(texts).filter(([, text]) => text !== undefined);
    const files = named.map(([name]) => join(folder, name));
    named.forEach(([, text], at) => writeFileSync(files[at], text));
    const policy = named.map(([name, text]) => `== ${name}\n${text}`).join("\n");
    const doors = DOORS.map((door) => open(door, files));
    opened.push(...doors);
    let [at, calls, questions] = [1_000_000, [], []];
    for (let number = 0; number < LINES; number++) {
      at += random.below(20_000);
      const kind = random.below(10);
      let line = { call: { id: `c${number}`, tool: random.pick(TOOLS), input: {}, session: random.pick(["s1", "s2"]) } };
      if (line.call.tool === "bash") line.call.input = { command: random.pick(COMMANDS) };
      if (line.call.tool === "send") line.call.input = { to: random.pick(["ada@example.com", "eve@evil.example"]) };
      if (kind < 3 && calls.length > 0) line = { result: { ...random.pick(calls), ok: random.below(4) > 0, output: random.pick(["done", "a KEY", { text: "KEY" }]) } };
      else if (kind === 3 && questions.length > 0) line = { answer: { approval: questions.splice(random.below(questions.length), 1)[0], granted: random.below(3) > 0, by: "ada" } };
      else if (kind === 5) line = { user: { says: random.pick(["write to ada@example.com", "delete it", "hello"]), session: random.pick(["s1", "s2"]) } };
      else if (kind === 4) line = { status: { session: random.pick(["s1", "s2"]) } };
      const answers = await Promise.all(doors.map((door) => door.ask({ at, ...line })));
      const [first, ...others] = answers.map(essence);
      for (const [place, other] of others.entries()) {
        assert.deepEqual(other, first, `LOCKGATE_SEED=${seed}: ${DOORS[place + 1]} at ${JSON.stringify(line)} under\n${policy}`);
      }
      seen.add(first.verdict);
      if (line.call && first.verdict === "allow") calls.push({ id: line.call.id, session: line.call.session });
      if (first.approval) questions.push(first.approval);
    }
    doors.forEach((door) => door.close());
  }
  rmSync(folder, { recursive: true });
  // Sessions in which nothing was asked or blocked would show little.
  if (seeds.length > 1) assert(["allow", "ask", "block"].every((verdict) => seen.has(verdict)), [...seen].join(", "));
});
