/** What the package adds to the library: values that cross the border, guarded functions, callbacks, errors, threads. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import * as lockgate from "lockgate";
import { AnswerError, Blocked, Gate, InputError, LockgateError, Permit, Policy, PolicyError, Question, Refusal, StoreError } from "lockgate";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const NET = "kind: Net\nname: guarded\nplaces: {ready: 1, read: 0}\ntransitions:\n" +
  "  - {name: read, inputs: [ready], outputs: [read], tools: [read], deferred: true}\n" +
  "  - {name: write, inputs: [ready], outputs: [ready], tools: [write]}\n" +
  "  - {name: write-again, inputs: [read], outputs: [read], tools: [write]}\n";

const gateOf = (rules, options) => new Gate(Policy.rules(rules), options);
const netGate = (options) => new Gate(new Policy({ texts: { "net.yaml": NET } }), options);
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "lockgate-node-"));
  chmodSync(path, 0o700);
  return path;
};

describe("policies", () => {
  it("tell all mistakes with their places", () => {
    assert.throws(() => Policy.rules("requier backup before delete\nblock"), (error) => {
      assert(error instanceof PolicyError && error instanceof LockgateError && error.code === "LOCKGATE_POLICY");
      assert.match(error.message, /did you mean `require`\?/);
      assert.deepEqual(error.diagnostics.map((it) => it.line), [1, 2]);
      assert(error.diagnostics.every((it) => it.remedy && it.message && it.file === "policy.rules"));
      return true;
    });
  });

  it("are not in force where they are missing or void", () => {
    const path = folder();
    const empty = join(path, "empty.rules");
    writeFileSync(empty, "");
    for (const file of ["missing.rules", path, empty]) assert.throws(() => Gate.open(file), PolicyError);
    assert.throws(() => new Policy({}), PolicyError);
    assert.throws(() => new Policy({ files: [7] }), LockgateError);
    rmSync(path, { recursive: true });
  });

  it("have claims that are proved, differences and findings", async () => {
    const policy = Policy.rules("require test before deploy\nclaim never deploy before test");
    assert.deepEqual((await policy.verify()).claims.map((it) => it.holds), [true]);
    assert.equal((await policy.verify({ tools: ["tset", "deploy"] })).findings.length > 0, true);
    assert(Object.keys(await policy.diff(Policy.rules("limit deploy to 1 per session"))).length > 0);
    assert.deepEqual(policy.ruleNames, ["require-test-before-deploy"]);
    assert.equal(policy.hash, Policy.rules("require test before deploy\nclaim never deploy before test").hash);
    assert.deepEqual(policy.see("bash", { command: "rm x" }).scripts.map((it) => it.commands.map((one) => one.program)), [["rm"]]);
  });
});

describe("calls", () => {
  it("a call is evaluated by itself, and nothing is kept", async () => {
    const rules = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n" +
      "  - {id: env, type: pre, tool: read, when: {args.path: {contains: .env}}, then: {action: block, message: No.}}\n" +
      "  - {id: key, type: post, tool: read, when: {output.text: {contains: KEY}}, then: {action: block, message: A key.}}\n";
    const gate = new Gate(new Policy({ texts: { "r.yaml": rules } }));
    assert.deepEqual(gate.policy.rulesAbout("read").map((it) => [it.rule, it.kind]), [["env", "check"], ["key", "output"]]);
    assert.equal(gate.evaluate("read", { path: ".env" }).verdict.verdict, "block");
    const { verdict, settlement } = gate.evaluate("read", { path: "a" }, { output: "KEY", principal: { role: "x" } });
    assert.deepEqual([verdict.verdict, settlement.rules[0].rule], ["allow", "key"]);
    assert.throws(() => gate.evaluate("read", { path: 1n }), InputError);
    assert.throws(() => gate.evaluate("read", {}, { colour: "red" }), /not known about a call/);
  });

  it("are run, asked about or refused", async () => {
    const session = gateOf("require backup before delete\nrequire human-approval before deploy").session("s1");
    const refusal = await session.call("delete", { path: "data" });
    assert(refusal instanceof Refusal);
    assert.equal(refusal.reason, "delete requires a successful call to backup first.");
    assert.deepEqual(refusal.next, ["backup"]);
    const permit = await session.call("backup");
    assert(permit instanceof Permit);
    await permit.settle("12 files");
    assert.deepEqual((await session.call("delete", { path: "data" })).input, { path: "data" });
    const question = await session.call("deploy", { to: "production" }, { id: "d1" });
    assert(question instanceof Question);
    assert.match(question.text, /input: {"to":"production"}/);
    assert.deepEqual(await session.questions(), [question.id]);
    assert.equal(session.question(question.id).tool, "deploy");
    assert((await question.answer(true, "ada")) instanceof Permit);
    await assert.rejects(question.answer(true, "bob"), AnswerError);
  });

  it("go on with the input that was asked about, whatever is shown on a second visit", async () => {
    const session = gateOf("require human-approval before deploy").session("s1");
    await session.call("deploy", { to: "staging" }, { id: "d1" });
    const again = await session.call("deploy", { to: "production" }, { id: "d1" });
    if (again instanceof Question) {
      const permit = await again.answer(true, "ada");
      assert.deepEqual(permit.input, again.input);
    } else {
      assert(again instanceof Refusal);
    }
  });

  it("fail when their permit is collected, and a settled permit is gone", async () => {
    const session = gateOf("require backup before delete").session("s1");
    const permit = await session.call("backup");
    await permit.settle();
    for (const use of [() => permit.settleSync(), () => permit.detach(), () => permit.verdict]) assert.throws(use, LockgateError);
    const script = `
      import { Gate, Policy } from "lockgate";
      const session = new Gate(Policy.rules("require backup before delete")).session("s1");
      (() => { session.callSync("backup", {}, { id: "b1" }); })();
      for (let i = 0; i < 20; i++) { gc(); await new Promise((done) => setTimeout(done, 5)); }
      console.log((await session.status()).pending.length, (await session.call("delete")).decision);`;
    const said = execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", script], { cwd: HERE, encoding: "utf8" });
    assert.equal(said.trim(), "0 block");
  });

  it("take only plain JSON", async () => {
    const session = gateOf("block nothing_here").session("s1");
    let deep = {};
    for (let level = 0; level < 200; level++) deep = { deeper: deep };
    const cycle = {};
    cycle.itself = cycle;
    const bad = [NaN, Infinity, 10n, new Date(), new Map(), new Set(), () => 1, Symbol("x"), new (class Own {})(), deep, cycle,
      [undefined], [, 1], "\ud800", { toJSON: () => "other" }, Object.assign([], { toJSON: () => 1 }), new Proxy({}, { get: () => () => 1 })];
    for (const value of bad) {
      await assert.rejects(session.call("tool", { value }), InputError);
      assert.throws(() => session.callSync("tool", { value }), InputError);
    }
    for (const input of [["an", "array"], "text", 7, true]) await assert.rejects(session.call("tool", input), InputError);
    const plain = { a: [1, -2, 2 ** 53, 1.5, true, null, "é"], b: { c: [] }, __proto__: null };
    assert.deepEqual({ ...(await session.call("tool", plain)).input }, { ...plain });
    // A property that is undefined is not there.
    assert.deepEqual((await session.call("tool", { a: 1, b: undefined })).input, { a: 1 });
    assert.deepEqual(Object.keys((await session.call("tool", JSON.parse('{"__proto__": {"x": 1}}'))).input), ["__proto__"]);
  });

  it("own their input: what is changed later was not judged and is not run", async () => {
    const input = { path: "a" };
    const permit = await gateOf("block nothing_here").session("s1").call("tool", input);
    input.path = "b";
    assert.deepEqual(permit.input, { path: "a" });
  });

  it("refuse what is not known about a call", async () => {
    const session = gateOf("block nothing_here").session("s1");
    await assert.rejects(session.call("tool", {}, { colour: "red" }), InputError);
    await assert.rejects(session.call("tool", {}, { cwd: 7 }), InputError);
    await assert.rejects(session.call("", {}), InputError);
    await assert.rejects(session.gate.session("").call("tool"), InputError);
    await assert.rejects(session.call(undefined, {}), LockgateError);
    assert.throws(() => gateOf("block x", { aprover: () => true }), /no option `aprover`/);
    assert.throws(() => gateOf("block x", { mode: "off" }), LockgateError);
    assert.throws(() => gateOf("block x", { validators: { x: () => {} } }), LockgateError);
    assert.throws(() => gateOf("block x", { approver: "yes" }), LockgateError);
  });

  it("have inputs and outputs masked", async () => {
    const policy = new Policy({ texts: { "p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]" } });
    const permit = await new Gate(policy).session("s1").call("search", { query: "who is ada@example.com" });
    assert.equal(permit.isMasked, true);
    assert.deepEqual(permit.input, { query: "who is [EMAIL]" });
    const output = await permit.settle("found bob@example.com");
    assert.deepEqual([output.value, output.decision, output.isUnchanged], ["found [EMAIL]", "redact", false]);
  });

  it("are settled later by id, replayed, halted, noted and saved", async () => {
    const gate = gateOf("require backup before delete\nlimit send to 2 per session");
    const session = gate.session("s1");
    const id = (await session.call("backup")).detach();
    assert.equal((await session.settle(id, "ok")).isSettled, true);
    assert.equal((await session.settle(id, "ok")).isSettled, false);
    await session.replay([{ tool: "send", input: {}, ok: true }]);
    assert.match(await session.prompt(), /`send`/);
    const saved = await session.toJson();
    const restored = gateOf("require backup before delete\nlimit send to 2 per session", { restore: { s1: saved } }).session("s1");
    assert.deepEqual([(await restored.call("send")).decision, (await restored.call("send")).decision], ["run", "block"]);
    await session.halt("an incident");
    assert.equal((await session.call("read")).decision, "block");
    await session.resume();
    await gate.halt("an incident");
    assert.equal((await gate.session("s2").call("read")).reason, "everything is halted: an incident");
    await gate.resume();
    assert.match(await session.deactivate("limit-send-2"), /Deactivated/);
    assert.equal((await session.explain("delete"))[0].says, "gated");
  });

  it("only observe in the mode for that, and are heard", async () => {
    const heard = [];
    const session = gateOf("block shutdown", { mode: "observe", onDecision: (call, verdict) => heard.push([call.tool, verdict.observed.length]) }).session("s1");
    assert((await session.call("shutdown")) instanceof Permit);
    assert.deepEqual(heard, [["shutdown", 1]]);
  });
});

describe("guarded functions", () => {
  it("run only when the rules agree", async () => {
    const ran = [];
    const gate = gateOf("require backup before delete");
    const tools = gate.tools({ backup: async () => ran.push("backup"), delete: ({ path }) => ran.push(path) });
    await assert.rejects(async () => tools.delete({ path: "x" }), /no session/);
    await gate.session("s1").within(async () => {
      await assert.rejects(tools.delete({ path: "x" }), (error) => error instanceof Blocked && error.refusal.next[0] === "backup");
      await tools.backup({});
      await tools.delete({ path: "x" });
    });
    assert.deepEqual(ran, ["backup", "x"]);
    await assert.rejects(gate.session("s2").within(() => tools.delete({ path: "y" })), Blocked);
    assert.throws(() => gate.guard(() => 1), /name/);
  });

  it("settle failures as failures", async () => {
    const gate = gateOf("require backup before delete");
    const session = gate.session("s1");
    let works = false;
    const backup = gate.guard(async () => {
      if (!works) throw new Error("disk full");
      return { ok: works };
    }, { name: "backup", session, isFailure: (value) => value.broken === true });
    await assert.rejects(backup({}), /disk full/);
    assert.equal((await session.call("delete")).decision, "block");
    works = true;
    await backup({});
    const permit = await session.call("delete");
    assert.equal(permit.decision, "run");
    await permit.settle();
    const broken = gate.guard(() => ({ broken: true }), { name: "backup", session, isFailure: (value) => value.broken });
    await broken({});
    assert.equal((await session.call("delete")).decision, "block");
    for (const odd of [new Map(), (function* () {})(), 10n, (async function* () {})()]) {
      await assert.rejects(gate.guard(() => odd, { name: "backup", session })({}), InputError);
    }
    assert.equal((await session.call("delete")).decision, "block");
    assert.deepEqual((await session.status()).pending, []);
    const when = gate.guard(() => ({ at: new Date(0) }), { name: "read", session });
    assert((await when({})).at instanceof Date);
  });

  it("pass on what the rules agree to of the output", async () => {
    const policy = new Policy({ texts: { "p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]" } });
    const gate = new Gate(policy);
    const search = gate.guard(({ query }, extra) => `${query} ${extra} bob@example.com`, { name: "search", session: "s1" });
    assert.equal(await search({ query: "ada@example.com" }, "more"), "[EMAIL] more [EMAIL]");
  });

  it("ask the approver, of whom only true is a yes", async () => {
    const answers = [[() => true, true], [async () => true, true], [() => false, false], [() => "yes", false], [() => 1, false],
      [() => { throw new Error("x"); }, false], [async () => { throw new Error("x"); }, false], [() => undefined, false],
      [() => new Promise(() => {}), false]];
    for (const [approver, passes] of answers) {
      const gate = gateOf("require human-approval before deploy", { approver, waitSeconds: 0.05 });
      const done = gate.session("s1").run("deploy", { to: "x" }, () => "done");
      if (passes) assert.equal(await done, "done");
      else await assert.rejects(done, Blocked);
    }
    let aborted;
    const gate = gateOf("require human-approval before deploy", {
      approver: (question, { signal }) => new Promise(() => signal.addEventListener("abort", () => (aborted = question.text))),
      waitSeconds: 0.05,
    });
    await assert.rejects(gate.session("s1").run("deploy", {}, () => assert.fail("it ran")), (error) => error.refusal.isTimeout);
    assert.match(aborted, /Approve: deploy/);
  });

  it("wait for an answer from elsewhere", async () => {
    const gate = gateOf("require human-approval before deploy", { waitSeconds: 5 });
    const session = gate.session("s1");
    const done = session.run("deploy", {}, () => "done");
    await new Promise((soon) => setTimeout(soon, 20));
    const [question] = await session.questions();
    await gate.answer(question, true, "ada");
    assert.equal(await done, "done");
    await assert.rejects(gate.answer("nonsense", true, "ada"), AnswerError);
  });

  it("keep limits exact among calls at the same time", async () => {
    const gate = gateOf("limit send to 3 per session");
    const send = gate.guard(async () => new Promise((done) => setTimeout(() => done("sent"), 1)), { name: "send", session: "s1" });
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => send({})));
    assert.equal(all.filter((it) => it.status === "fulfilled").length, 3);
  });
});

describe("functions of the host", () => {
  const bad = {
    throws: () => { throw new Error("a slip"); },
    "throws an odd thing": () => { throw { toString() { throw new Error("x"); } }; },
    "is asynchronous": async () => undefined,
    rejects: async () => { throw new Error("a slip"); },
    "returns true": () => true,
    "returns an object": () => ({ block: false }),
    "returns an empty text": () => "",
    "puts a function into the notes": (attempt, notes) => { notes.fn = () => 1; },
    "overflows the stack": function again() { return again() + 1; },
  };
  for (const [what, validator] of Object.entries(bad)) {
    it(`block as a validator that ${what}`, async () => {
      const session = netGate({ validators: { guarded: validator } }).session("s1");
      const refusal = await session.call("write");
      assert(refusal instanceof Refusal);
      assert(refusal.reason.length > 10);
      assert.equal((await session.call("other")).decision, "run");
    });
  }

  it("see the attempt and keep notes", async () => {
    const seen = [];
    const session = netGate({
      validators: { guarded: (attempt, notes) => (attempt.transition.startsWith("write") && notes.path !== attempt.call.input.path ? "write only what you have read" : void seen.push(attempt)) },
      onResults: { guarded: (success, notes) => { notes.path = success.call.input.path; } },
    }).session("s1");
    await (await session.call("read", { path: "a" })).settle("text");
    assert.equal((await session.call("write", { path: "b" })).reason, "write only what you have read");
    assert.equal((await session.call("write", { path: "a" })).decision, "run");
    assert.deepEqual(await session.notes("guarded"), { path: "a" });
    assert.deepEqual(seen.map((it) => [it.deed, it.marking]), [["read", { ready: 1, read: 0 }], ["write", { ready: 0, read: 1 }]]);
  });

  it("may not ask the gate that waits for them", async () => {
    const errors = [];
    const gate = netGate({
      validators: {
        guarded: () => {
          for (const ask of [() => session.callSync("other"), () => gate.session("s2").callSync("other"), () => session.askSync({ do: "status" })]) {
            try { ask(); } catch (error) { errors.push(error.message); }
          }
          session.call("other").catch((error) => errors.push(error.message));
        },
      },
    });
    const session = gate.session("s1");
    assert.equal((await session.call("write")).decision, "run");
    await new Promise((done) => setImmediate(done));
    assert.equal(errors.length, 4);
    assert(errors.every((it) => /must not ask the gate/.test(it)), errors.join("\n"));
  });

  it("do not let a success count if the result hook fails", async (test) => {
    test.mock.method(process, "emitWarning", () => {});
    const session = netGate({ onResults: { guarded: () => { throw new Error("a slip"); } } }).session("s1");
    await (await session.call("read")).settle("text");
    assert.deepEqual((await session.status()).nets[0].marking, { ready: 1 });
  });

  it("block if what describes a call fails", async (test) => {
    test.mock.method(process, "emitWarning", () => {});
    const bundle = `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: r}\ndefaults: {mode: enforce}\nrules:\n  - {id: risky, type: pre, tool: "*", when: {risk.level: {equals: high}}, then: {action: block, message: too risky}}\n`;
    let level = () => "low";
    const policy = new Policy({ texts: { "r.yaml": bundle }, selectors: ["risk"] });
    const gate = new Gate(policy, { describe: { risk: () => ({ level: level() }) } });
    const session = gate.session("s1");
    assert.equal((await session.call("read")).decision, "run");
    level = () => "high";
    assert.equal((await session.call("read")).reason, "too risky");
    for (const bad of [() => { throw new Error("a slip"); }, () => 10n, () => Symbol("x")]) {
      level = bad;
      assert.equal((await session.call("read")).decision, "block");
    }
    level = () => "low";
    assert.equal((await session.call("read")).decision, "run");
  });

  it("change nothing as listeners, whatever they do", async (test) => {
    const warned = test.mock.method(process, "emitWarning", () => {});
    for (const onDecision of [() => { throw new Error("x"); }, async () => { throw new Error("x"); }]) {
      assert.equal((await gateOf("block x", { onDecision }).session("s1").call("y")).decision, "run");
    }
    await new Promise((done) => setImmediate(done));
    assert.equal(warned.mock.callCount(), 2);
  });

  it("do not leak over many calls", async () => {
    const script = `
      import { Gate, Policy } from "lockgate";
      const gate = new Gate(new Policy({ texts: { "net.yaml": ${JSON.stringify(NET)} } }), { validators: { guarded: (a, notes) => { notes.count = (notes.count ?? 0) + 1; } } });
      const session = gate.session("s1");
      // What was collected is released between two turns of the event loop.
      const round = async () => { for (let i = 0; i < 3000; i++) session.callSync("write").settleSync("ok"); gc(); await new Promise((done) => setImmediate(done)); return process.memoryUsage().rss; };
      await round(); const before = await round(); for (let i = 0; i < 5; i++) await round(); const after = await round();
      console.log(after - before < 12e6 ? "flat" : "grew by " + (after - before), (await session.notes("guarded")).count);`;
    const said = execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", script], { cwd: HERE, encoding: "utf8" });
    assert.equal(said.trim(), "flat 24000");
  });
});

describe("stores", () => {
  it("go on with sessions in another process", async () => {
    const path = folder();
    const store = `sqlite:${join(path, "lockgate.db")}`;
    const script = `
      import { Gate, Policy } from "lockgate";
      const gate = new Gate(Policy.rules("limit send to 1 per session"), { store: process.argv[1] });
      const ruling = await gate.session("s1").call("send");
      console.log(ruling.decision, gate.isLater);
      if (ruling.decision === "run") await ruling.settle("sent");`;
    const said = [0, 1].map(() => execFileSync(process.execPath, ["--input-type=module", "-e", script, store], { cwd: HERE, encoding: "utf8" }).trim());
    assert.deepEqual(said, ["run true", "block true"]);
    rmSync(path, { recursive: true });
  });

  it("keep limits exact on other threads, and questions open over a restart", async () => {
    const path = folder();
    const store = `sqlite:${join(path, "lockgate.db")}`;
    const rules = "limit send to 3 per session\nrequire human-approval before deploy";
    const heard = [];
    const gate = gateOf(rules, { store, onDecision: (call) => heard.push(call.tool) });
    const session = gate.session("s1");
    const all = await Promise.all(Array.from({ length: 10 }, () => session.call("send")));
    assert.equal(all.filter((it) => it instanceof Permit).length, 3);
    assert.equal(heard.length, 10);
    const { id } = await session.call("deploy", { to: "x" }, { id: "d1" });
    const later = gateOf(rules, { store });
    await later.answer(id, true, "ada");
    const permit = await later.session("s1").question(id).resume();
    assert.deepEqual([permit.decision, permit.input], ["run", { to: "x" }]);
    await permit.settle("done");
    // Functions of the host run on this thread, so such a gate waits for its disk here.
    const hooked = new Gate(new Policy({ texts: { "net.yaml": NET } }), { store, validators: { guarded: () => "no" } });
    assert.equal(hooked.isLater, false);
    assert.equal((await hooked.session("s3").call("write")).reason, "no");
    rmSync(path, { recursive: true });
  });

  it("are an error where they cannot be used", () => {
    for (const store of ["sqlite:", "postgres:x", "nothing"]) assert.throws(() => gateOf("block x", { store }), LockgateError);
    assert.throws(() => gateOf("block x", { store: `sqlite:${HERE}/door.js/lockgate.db` }), StoreError);
  });
});

describe("what the host knows about a session", () => {
  const texts = { "r.yaml": "rules: [{id: r, when: {tool: send, sender: {name: eve}}, then: block, message: Not for Eve.}]" };

  it("is told with each of its calls", async () => {
    const gate = new Gate(new Policy({ texts }));
    const tools = gate.tools({ send: async () => "sent" });
    for (const [about, passes] of [[{ sender: { name: "eve" } }, false], [{ sender: { name: "ada" } }, true], [(tool, input) => ({ sender: { name: `${tool} ${input.to}` } }), true], [() => ({ sender: { name: "eve" } }), false]]) {
      const sent = gate.session("s", { about }).within(() => tools.send({ to: "x" }));
      if (passes) assert.equal(await sent, "sent");
      else await assert.rejects(sent, /Not for Eve/);
      // An adapter that names the same session gets the one around it.
      gate.session("s", { about }).within(() => assert.equal(gate.sessionFor("s").name, "s"));
    }
    const session = gate.session("s", { about: { sender: { name: "eve" } } });
    assert.equal(session.callSync("send", {}, { sender: { name: "ada" } }).decision, "run");
    assert.equal(session.callSync("send", {}, { sender: null }).decision, "block");
  });

  it("blocks if it cannot be told", async () => {
    const gate = new Gate(new Policy({ texts }));
    for (const about of [{ unknown: 1 }, () => { throw new Error("a slip"); }, async () => ({}), () => 7]) {
      await assert.rejects(async () => gate.session("s", { about }).call("send"));
    }
  });
});

describe("the package", () => {
  it("is the same for import and require, and in workers", async () => {
    assert.equal(createRequire(import.meta.url)("lockgate").Gate, lockgate.Gate);
    const script = `import(${JSON.stringify(import.meta.resolve("lockgate"))}).then(({ Gate, Policy }) => { const { decision } = new Gate(Policy.rules("block x")).session("s").callSync("x"); require("node:worker_threads").parentPort.postMessage(decision); });`;
    const said = await new Promise((done, failed) => {
      const worker = new Worker(script, { eval: true });
      worker.once("message", done);
      worker.once("error", failed);
    });
    assert.equal(said, "block");
  });

  it("cannot be imported without its native module", () => {
    const path = folder();
    const own = fileURLToPath(new URL("..", import.meta.resolve("lockgate")));
    cpSync(own, join(path, "node_modules", "lockgate"), { recursive: true, filter: (file) => !file.endsWith(".node") });
    const run = (code) => spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: path, encoding: "utf8" });
    const missing = run('await import("lockgate"); console.log("it ran");');
    assert.notEqual(missing.status, 0);
    assert.match(missing.stderr, /native module of Lockgate cannot be loaded, so no tool may run/);
    assert.equal(missing.stdout, "");
    writeFileSync(join(path, "node_modules", "lockgate", "lockgate.node"), "not a library");
    assert.notEqual(run('await import("lockgate");').status, 0);
    rmSync(path, { recursive: true });
  });

  it("catches panics in every function of the native module, and has no unsafe code of its own", { skip: !process.env.LOCKGATE_SOURCE }, () => {
    const source = join(process.env.LOCKGATE_SOURCE, "src");
    for (const file of readdirSync(source)) {
      const text = readFileSync(join(source, file), "utf8");
      assert.doesNotMatch(text, /\bunsafe\s*(\{|fn|impl)|allow\(unsafe/, file);
      for (const [attribute] of text.matchAll(/#\[napi[^\]]*\]\s+pub fn \w+/g)) assert.match(attribute, /catch_unwind/, `${file}: ${attribute}`);
    }
  });
});
