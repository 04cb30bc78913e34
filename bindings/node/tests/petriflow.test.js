/** The samples of PetriFlow's documentation, with another import. What they say in comments is what is asserted. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  autoAdvance, classifyNets, compile, composedToolCall, createGateManager, createGateState, defineSkillNet, findBlockingNet,
  formatMarking, getEnabledToolTransitions, handleToolCall, handleToolResult, loadRules, resolveTool,
} from "lockgate/petriflow";
import { createPetriflowGate as agentGate } from "lockgate/petriflow/agent-sdk";
import { ToolCallBlockedError, createPetriflowGate } from "lockgate/petriflow/vercel-ai";

const ctx = { hasUI: false, confirm: async () => false };
const human = (answer, asked = []) => ({ hasUI: true, confirm: async (title, message) => (asked.push([title, message]), answer) });
let count = 0;
const call = (manager, toolName, input = {}, how = ctx) => manager.handleToolCall({ toolCallId: `c${++count}`, toolName, input }, how);
/** Calls a tool and reports its success. */
const done = async (manager, toolName, input = {}, how = ctx, isError = false) => {
  const toolCallId = `c${++count}`;
  const decision = await manager.handleToolCall({ toolCallId, toolName, input }, how);
  if (!decision) manager.handleToolResult({ toolCallId, toolName, input, isError });
  return decision;
};
const blockedFor = (reason) => ({ block: true, reason });

describe("rules", () => {
  it("quick start", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lockgate-node-"));
    const path = join(folder, "safety.rules");
    writeFileSync(path, "# safety.rules\nrequire backup before delete\nrequire human-approval before deploy\nblock rm\nlimit push to 3 per session\n");
    const { nets, verification } = await loadRules(path);
    assert.deepEqual(verification, [
      { name: "require-backup-before-delete", reachableStates: 3 },
      { name: "approve-before-deploy", reachableStates: 2 },
      { name: "block-rm", reachableStates: 2 },
      { name: "limit-push-3", reachableStates: 5 },
    ]);
    assert.deepEqual(nets.map((net) => net.name), verification.map((it) => it.name));
    assert.equal(createGateManager(nets, { mode: "enforce" }).isDynamic, false);
    await assert.rejects(loadRules(join(folder, "missing.rules")), { code: "ENOENT" });
    rmSync(folder, { recursive: true });
  });

  it("wiring it up", async () => {
    const { nets } = compile("require backup before delete");
    const manager = createGateManager(nets, { mode: "enforce" });
    const decision = await manager.handleToolCall({ toolCallId: "call_1", toolName: "delete", input: { path: "/data" } }, ctx);
    assert.deepEqual(decision, blockedFor("delete requires a successful call to backup first."));
    assert.equal(await manager.handleToolCall({ toolCallId: "call_2", toolName: "backup", input: { path: "/data" } }, ctx), undefined);
    manager.handleToolResult({ toolCallId: "call_2", toolName: "backup", input: { path: "/data" }, isError: false });
    assert.equal(await manager.handleToolCall({ toolCallId: "call_3", toolName: "delete", input: { path: "/data" } }, ctx), undefined);
    // 1:1, and a failure does not unlock.
    assert.equal((await call(manager, "delete"))?.block, true);
    assert.equal(await done(manager, "backup", {}, ctx, true), undefined);
    assert.equal((await call(manager, "delete"))?.block, true);
  });

  it("require human-approval before B", async () => {
    const manager = createGateManager(compile("require human-approval before deploy-prod").nets);
    assert.deepEqual(await call(manager, "deploy-prod"), blockedFor("deploy-prod requires human approval."));
    assert.deepEqual(await call(manager, "deploy-prod", {}, human(false)), blockedFor("deploy-prod was rejected by human review."));
    const asked = [];
    assert.equal(await call(manager, "deploy-prod", { to: "eu" }, human(true, asked)), undefined);
    assert.equal(asked[0][0], "Approve: approve (approve-before-deploy-prod)");
    assert.match(asked[0][1], /^Allow 'deploy-prod' via transition 'approve' in net 'approve-before-deploy-prod'\?\n/);
    assert.match(asked[0][1], /{"to":"eu"}/);
    // Only true is a yes, and a confirm that fails is none.
    for (const confirm of [async () => "no", async () => 1, () => { throw new Error("x"); }, async () => { throw new Error("x"); }]) {
      assert.equal((await call(manager, "deploy-prod", {}, { hasUI: true, confirm }))?.block, true);
    }
  });

  it("block and limits", async () => {
    const manager = createGateManager(compile("block rm\nlimit push to 3 per session\nlimit send to 3 per read").nets);
    assert.deepEqual(await call(manager, "rm"), blockedFor("rm is blocked and cannot be called."));
    for (let i = 0; i < 3; i++) assert.equal(await done(manager, "push"), undefined);
    assert.deepEqual(await call(manager, "push"), blockedFor("push has reached its limit of 3 calls per session."));
    for (let i = 0; i < 3; i++) assert.equal(await done(manager, "send"), undefined);
    assert.equal((await call(manager, "send"))?.block, true);
    assert.equal(await done(manager, "read"), undefined);
    assert.match(manager.formatStatus(), /limit-send-3-per-read: ready:1, budget:1, spent:2/);
    assert.equal(await done(manager, "send"), undefined);
    assert.equal((await call(manager, "send"))?.block, true);
  });

  it("dot notation", async () => {
    const { nets } = compile("require discord.readMessages before discord.sendMessage\nrequire human-approval before discord.sendMessage\nblock discord.timeout");
    const manager = createGateManager(nets);
    assert.deepEqual(await call(manager, "discord", { action: "timeout" }), blockedFor("discord.timeout is blocked and cannot be called."));
    assert.equal((await call(manager, "discord", { action: "sendMessage" }, human(true)))?.block, true);
    assert.equal(await done(manager, "discord", { action: "readMessages" }), undefined);
    assert.equal(await done(manager, "discord", { action: "sendMessage" }, human(true)), undefined);
    assert.equal(await done(manager, "discord", { action: "react" }), undefined);
    assert.equal(resolveTool(nets[0], { toolName: "discord", input: { action: "sendMessage" } }), "discord.sendMessage");
    assert.equal(compile("block rm").nets[0].toolMapper, undefined);
  });

  it("map statements", async () => {
    const rules = "map bash.command rm as delete\nmap bash.command cp as backup\nmap bash.command deploy as deploy-cmd\nrequire backup before delete\nrequire human-approval before deploy-cmd";
    const manager = createGateManager(compile(rules).nets);
    const bash = (command, how) => done(manager, "bash", { command }, how);
    assert.deepEqual(await bash("rm -rf build/"), blockedFor("delete requires a successful call to backup first."));
    assert.equal(await bash("format disk"), undefined);
    assert.equal(await bash("cp -r a b"), undefined);
    assert.equal(await bash("rm -rf build/"), undefined);
    assert.deepEqual(await bash("deploy now"), blockedFor("deploy-cmd requires human approval."));
    // Every command of a script counts: here ours is stricter.
    assert.equal((await bash("cp a b; rm -rf /"))?.block, true);
    assert.equal((await bash("r''m -rf /"))?.block, true);
    assert.deepEqual(compile("map bash.command rm as delete"), { nets: [], verification: [] });
    assert.deepEqual(compile(["# nothing", ""]), { nets: [], verification: [] });
  });

  it("composition", async () => {
    const manager = createGateManager(compile(["require lint before test", "require test before deploy"]).nets);
    assert.deepEqual(await call(manager, "deploy"), blockedFor("deploy requires a successful call to test first."));
    assert.deepEqual(await call(manager, "test"), blockedFor("test requires a successful call to lint first."));
    for (const tool of ["lint", "test", "deploy"]) assert.equal(await done(manager, tool), undefined, tool);
  });

  it("verification and mistakes", () => {
    assert.deepEqual(compile("\n  require backup before delete\n  limit send to 3 per session\n").verification, [
      { name: "require-backup-before-delete", reachableStates: 3 },
      { name: "limit-send-3", reachableStates: 5 },
    ]);
    assert.equal(compile("require A before A").verification[0].reachableStates, 3);
    const mistakes = {
      "block a\nfoo": "Line 2: unknown keyword 'foo'. Expected 'map', 'require', 'limit', or 'block'",
      "require a after b": "Line 1: expected 'before' at position 3, got 'after'",
      "limit a to 0 per session": "Line 1: limit count must be a positive integer, got '0'",
      "block a b": "Line 1: 'block <tool>' expects 2 tokens, got 3",
      "map foo rm as x": "Line 1: expected <tool>.<field> (e.g., bash.command), got 'foo'",
      "map bash.command // as x": "Line 1: empty regex pattern",
    };
    for (const [rules, message] of Object.entries(mistakes)) assert.throws(() => compile(rules), { message });
    assert.throws(() => compile(7), /rules are a text/);
    const [net] = compile("limit send to 2 per session").nets;
    assert.deepEqual(net.initialMarking, { idle: 1, ready: 0, budget: 2 });
    assert.deepEqual(net.ruleMetadata, { kind: "limit", tool: "send", limit: 2, scope: "session" });
  });

  it("rules that are left out are not in force", async () => {
    const some = createGateManager(compile("block rm\nblock mv").nets.filter((net) => net.name === "block-mv"));
    assert.equal(await done(some, "rm"), undefined);
    assert.equal((await call(some, "mv"))?.block, true);
  });
});

const pathGuard = () => defineSkillNet({
  name: "write-path-guard",
  places: ["idle", "ready"],
  initialMarking: { idle: 1, ready: 0 },
  transitions: [
    { name: "start", type: "auto", inputs: ["idle"], outputs: ["ready"] },
    { name: "write", type: "auto", inputs: ["ready"], outputs: ["ready"], tools: ["write-file"] },
  ],
  freeTools: [],
  terminalPlaces: [],
  validateToolCall: (event) => {
    const path = event.input.path;
    if (!path.startsWith("/workspace/")) {
      return { block: true, reason: `writes restricted to /workspace/, got ${path}` };
    }
  },
});

const toolApproval = () => defineSkillNet({
  name: "tool-approval",
  places: ["idle", "ready"],
  terminalPlaces: [],
  freeTools: ["ls", "read", "grep", "find"],
  initialMarking: { idle: 1, ready: 0 },
  transitions: [
    { name: "start", type: "auto", inputs: ["idle"], outputs: ["ready"] },
    { name: "execShell", type: "manual", inputs: ["ready"], outputs: ["ready"], tools: ["bash"] },
    { name: "execWrite", type: "manual", inputs: ["ready"], outputs: ["ready"], tools: ["write", "edit"] },
  ],
});

const gitFlow = () => defineSkillNet({
  name: "git-flow",
  places: ["working", "committed"],
  terminalPlaces: [],
  freeTools: ["bash"],
  initialMarking: { working: 1, committed: 0 },
  toolMapper: (event) => {
    if (event.toolName !== "bash") return event.toolName;
    const cmd = event.input.command;
    if (/\bgit\s+commit\b/.test(cmd)) return "git-commit";
    if (/\bgit\s+push\b/.test(cmd)) return "git-push";
    return "bash";
  },
  transitions: [
    { name: "commit", type: "auto", inputs: ["working"], outputs: ["committed"], tools: ["git-commit"] },
    { name: "push", type: "auto", inputs: ["committed"], outputs: ["working"], tools: ["git-push"] },
  ],
});

const backupNet = () => defineSkillNet({
  name: "backup-before-delete",
  places: ["idle", "ready", "backedUp"],
  terminalPlaces: [],
  freeTools: [],
  initialMarking: { idle: 1, ready: 0, backedUp: 0 },
  transitions: [
    { name: "start", type: "auto", inputs: ["idle"], outputs: ["ready"] },
    { name: "backup", type: "auto", inputs: ["ready"], outputs: ["backedUp"], tools: ["backup"], deferred: true },
    { name: "delete", type: "auto", inputs: ["backedUp"], outputs: ["ready"], tools: ["delete"] },
  ],
});

const smartBackup = () => defineSkillNet({
  ...backupNet(),
  name: "smart-backup",
  onDeferredResult: (event, resolvedTool, transition, state) => {
    const paths = state.meta.backedUpPaths ?? [];
    paths.push(event.input.path);
    state.meta.backedUpPaths = paths;
  },
  validateToolCall: (event, resolvedTool, transition, state) => {
    if (resolvedTool === "delete") {
      const paths = state.meta.backedUpPaths ?? [];
      const target = event.input.path;
      if (!paths.some((p) => target.startsWith(p))) {
        return { block: true, reason: `${target} not backed up` };
      }
    }
  },
});

describe("nets", () => {
  it("rules and nets compose", async () => {
    const manager = createGateManager([...compile("require lint before write-file").nets, pathGuard()], { mode: "enforce" });
    assert.deepEqual(await call(manager, "write-file", { path: "/workspace/a" }), blockedFor("write-file requires a successful call to lint first."));
    await done(manager, "lint");
    assert.deepEqual(await call(manager, "write-file", { path: "/etc/passwd" }), blockedFor("writes restricted to /workspace/, got /etc/passwd"));
    assert.equal(await done(manager, "write-file", { path: "/workspace/a" }), undefined);
    // A validator that throws blocks.
    await done(manager, "lint");
    assert.equal((await call(manager, "write-file", {}))?.block, true);
  });

  it("free tools and manual transitions", async () => {
    const manager = createGateManager([toolApproval()]);
    assert.equal(await done(manager, "ls"), undefined);
    assert.deepEqual(await call(manager, "bash", { command: "ls" }), blockedFor("bash requires human approval."));
    assert.equal(await done(manager, "bash", { command: "ls" }, human(true)), undefined);
    assert.deepEqual(await call(manager, "edit", {}, human(false)), blockedFor("edit was rejected by human review."));
    assert.equal(await done(manager, "unknown"), undefined);
  });

  it("tool mapping by a function", async () => {
    for (const nets of [[gitFlow()], [gitFlow(), ...compile("block rm\nlimit bash to 10 per session").nets]]) {
      const manager = createGateManager(nets);
      const bash = (command) => done(manager, "bash", { command });
      assert.equal(await bash("ls -la"), undefined);
      assert.deepEqual(await bash("git push"), blockedFor("Tool 'git-push' is not available in the current state."));
      assert.equal(await bash("git commit -m fix"), undefined);
      assert.equal(await bash("git push"), undefined);
      assert.equal((await bash("git push"))?.block, true);
    }
    // A mapper that fails or names nothing blocks, and so does one that answers later.
    for (const toolMapper of [() => { throw new Error("x"); }, () => undefined, async () => "bash", async () => { throw new Error("x"); }]) {
      assert.equal((await call(createGateManager([{ ...gitFlow(), toolMapper }]), "bash", { command: "ls" }))?.block, true);
    }
    // No net fires unless all agree.
    const manager = createGateManager([gitFlow(), ...compile("limit bash to 1 per session").nets]);
    assert.equal(await done(manager, "bash", { command: "ls" }), undefined);
    assert.equal((await call(manager, "bash", { command: "git commit" }))?.block, true);
    assert.match(manager.formatStatus(), /^git-flow: working:1$/m);
  });

  it("deferred transitions", async () => {
    const manager = createGateManager([backupNet()]);
    await manager.handleToolCall({ toolCallId: "b", toolName: "backup", input: {} }, ctx);
    assert.equal(manager.formatStatus(), "backup-before-delete: ready:1");
    assert.deepEqual([...manager.getActiveNets()[0].state.pending.keys()], ["b"]);
    // A result of another tool, or one that does not say that it succeeded, opens nothing.
    manager.handleToolResult({ toolCallId: "b", toolName: "other", input: {}, isError: false });
    assert.equal(manager.formatStatus(), "backup-before-delete: ready:1");
    manager.handleToolResult({ toolCallId: "b", toolName: "backup", input: {}, isError: false });
    assert.equal(manager.formatStatus(), "backup-before-delete: backedUp:1");
    assert.equal(await done(manager, "delete"), undefined);
    assert.equal((await call(manager, "delete"))?.block, true);
    await done(manager, "backup", {}, ctx, true);
    assert.equal((await call(manager, "delete"))?.block, true);
  });

  it("onDeferredResult and meta", async () => {
    const manager = createGateManager([smartBackup()]);
    await done(manager, "backup", { path: "/a" });
    assert.deepEqual(await call(manager, "delete", { path: "/b" }), blockedFor("/b not backed up"));
    assert.deepEqual(manager.getActiveNets()[0].state.meta, { backedUpPaths: ["/a"] });
    assert.equal(await done(manager, "delete", { path: "/a/x" }), undefined);
  });

  it("single-net usage", async () => {
    const net = toolApproval();
    const state = createGateState(autoAdvance(net, { ...net.initialMarking }));
    assert.deepEqual(state.marking, { idle: 0, ready: 1 });
    const asked = [];
    const event = { toolCallId: "1", toolName: "bash", input: { command: "rm -rf build/" } };
    const decision = await handleToolCall(event, human(false, asked), net, state);
    assert.deepEqual(decision, blockedFor("bash was rejected by human review."));
    assert.equal(asked[0][0], "Approve: execShell");
    assert.match(asked[0][1], /^Allow 'bash' via transition 'execShell'\?/);
    assert.equal(await handleToolCall(event, human(true), net, state), undefined);
    assert.equal(await handleToolCall({ ...event, toolName: "grep" }, ctx, net, state), undefined);
    assert.equal((await handleToolCall({ ...event, toolName: "unknown" }, ctx, net, state))?.block, true);
    const backup = backupNet();
    const own = createGateState(autoAdvance(backup, { ...backup.initialMarking }));
    assert.equal(await handleToolCall({ toolCallId: "2", toolName: "backup", input: {} }, ctx, backup, own), undefined);
    assert.deepEqual([own.pending.size, own.marking.ready], [1, 1]);
    handleToolResult({ toolCallId: "2", toolName: "backup", input: {}, isError: false }, backup, own);
    assert.deepEqual(own.marking, { idle: 0, ready: 0, backedUp: 1 });
    assert.deepEqual(getEnabledToolTransitions(backup, own.marking).map((it) => it.name), ["delete"]);
    // A compiled net can be used in the same way.
    const [rule] = compile("block rm").nets;
    const held = createGateState(autoAdvance(rule, { ...rule.initialMarking }));
    assert.deepEqual(await handleToolCall({ toolCallId: "3", toolName: "rm", input: {} }, ctx, rule, held), blockedFor("rm is blocked and cannot be called."));
  });

  it("autoAdvance: conflicts stay, cycles and sources end, and tokens are never invented", () => {
    const net = (transitions) => ({ name: "n", places: ["a", "b", "c"], terminalPlaces: [], freeTools: [], initialMarking: { a: 1, b: 0, c: 0 }, transitions });
    const auto = (name, inputs, outputs) => ({ name, type: "auto", inputs, outputs });
    assert.deepEqual(autoAdvance(net([auto("x", ["a"], ["b"]), auto("y", ["b"], ["c"])]), { a: 1, b: 0, c: 0 }), { a: 0, b: 0, c: 1 });
    assert.deepEqual(autoAdvance(net([auto("x", ["a"], ["b"]), auto("y", ["a"], ["c"])]), { a: 1, b: 0, c: 0 }), { a: 1, b: 0, c: 0 });
    assert.deepEqual(autoAdvance(net([auto("x", ["a"], ["b"]), auto("y", ["a"], ["c"])]), { a: 2, b: 0, c: 0 }), { a: 0, b: 1, c: 1 });
    autoAdvance(net([auto("x", ["a"], ["b"]), auto("y", ["b"], ["a"])]), { a: 1, b: 0, c: 0 });
    assert.deepEqual(autoAdvance(net([auto("x", [], ["b"])]), { a: 1, b: 0, c: 0 }), { a: 1, b: 0, c: 0 });
    assert.equal(formatMarking({ a: 0, b: 2, c: 1 }), "b:2, c:1");
  });

  it("registry", async () => {
    const registry = { safety: backupNet(), deploy: compile("limit deploy to 1 per session").nets[0], approval: toolApproval() };
    const manager = createGateManager({ registry, active: ["safety"] });
    assert.equal(manager.isDynamic, true);
    assert.equal(await done(manager, "deploy"), undefined);
    assert.deepEqual(manager.addNet("deploy"), { ok: true, message: "Activated 'deploy'" });
    assert.deepEqual(manager.addNet("deploy"), { ok: false, message: "'deploy' is already active" });
    assert.deepEqual(manager.removeNet("safety"), { ok: true, message: "Deactivated 'safety' (state preserved)" });
    assert.equal(manager.formatStatus(), "safety (inactive): ready:1\ndeploy (active): ready:1, budget:1\napproval (inactive): ready:1");
    assert.deepEqual(manager.addNet("nothing"), { ok: false, message: "Unknown net 'nothing'. Available: safety, deploy, approval" });
    assert.deepEqual(manager.removeNet("safety"), { ok: false, message: "'safety' is not active. Active: deploy" });
    assert.equal(await done(manager, "delete"), undefined);
    assert.equal(await done(manager, "deploy"), undefined);
    assert.equal((await call(manager, "deploy"))?.block, true);
    assert.deepEqual(manager.getActiveNets().map((it) => it.name), ["deploy"]);
    assert.deepEqual(manager.getAllNets().map((it) => [it.name, it.active]), [["safety", false], ["deploy", true], ["approval", false]]);
    const fixed = createGateManager([backupNet()]);
    assert.deepEqual(fixed.addNet("x"), { ok: false, message: "Static composition does not support dynamic nets" });
  });

  it("shadow mode", async () => {
    const heard = [];
    const nets = [...compile("block rm\nrequire human-approval before deploy").nets, gitFlow()];
    const manager = createGateManager(nets, { mode: "shadow", onDecision: (event, decision) => heard.push([event.toolName, decision?.reason]) });
    for (const tool of ["rm", "ls", "deploy"]) assert.equal(await done(manager, tool), undefined);
    assert.equal(await done(manager, "bash", { command: "git push" }), undefined);
    assert.deepEqual(heard, [["rm", "rm is blocked and cannot be called."], ["ls", undefined], ["deploy", "deploy requires human approval."],
      ["bash", "Tool 'git-push' is not available in the current state."]]);
    const loud = createGateManager(nets, { onDecision: () => { throw new Error("x"); } });
    const warned = process.emitWarning;
    process.emitWarning = () => {};
    assert.equal(await done(loud, "ls"), undefined);
    assert.equal((await call(loud, "rm"))?.block, true);
    process.emitWarning = warned;
  });

  it("classifyNets, composedToolCall, findBlockingNet, formatSystemPrompt, replay", async () => {
    const nets = [backupNet(), toolApproval()];
    const states = nets.map((net) => createGateState(autoAdvance(net, { ...net.initialMarking })));
    const says = (toolName) => classifyNets(nets, states, { toolName, input: {} }).map((it) => it.kind);
    assert.deepEqual([says("delete"), says("bash"), says("ls"), says("x")], [["blocked", "abstain"], ["abstain", "gated"], ["abstain", "free"], ["abstain", "abstain"]]);
    const composed = (toolName, how = ctx) => composedToolCall(() => nets, () => states, { toolCallId: `c${++count}`, toolName, input: {} }, how);
    assert.equal((await composed("delete"))?.block, true);
    assert.equal(await composed("bash", human(true)), undefined);
    const manager = createGateManager([...compile("require backup before delete").nets, toolApproval()]);
    assert.equal(findBlockingNet(manager, "delete"), "require-backup-before-delete");
    assert.equal(manager.formatSystemPrompt(), [
      "## Active Petri Nets (composed)", "", "### require-backup-before-delete", "Available gated tools: backup", "Free tools: ",
      "State: ready:1", "", "### tool-approval", "Available gated tools: bash (needs approval), write (needs approval), edit (needs approval)",
      "Free tools: ls, read, grep, find", "State: ready:1",
    ].join("\n"));
    manager.replay(["backup"]);
    assert.match(manager.formatStatus(), /require-backup-before-delete: gate:1/);
    const mapped = createGateManager([gitFlow()]);
    mapped.replay([{ toolName: "bash", input: { command: "git commit" }, isError: false }]);
    assert.equal(mapped.formatStatus(), "git-flow: committed:1");
  });

  it("concurrent calls spend once, and while a human is asked the token is reserved", async () => {
    const manager = createGateManager(compile("limit deploy to 1 per session\nrequire human-approval before deploy").nets);
    const both = await Promise.all([call(manager, "deploy", {}, human(true)), call(manager, "deploy", {}, human(true))]);
    assert.equal(both.filter((it) => it === undefined).length, 1);
  });
});

describe("wrappers", () => {
  const { nets } = compile("require backup before delete\nrequire human-approval before deploy");

  it("Vercel AI: each wrapTools is a session, and history is taken in", async () => {
    const ran = [];
    const tools = Object.fromEntries(["backup", "delete", "deploy"].map((name) => [name, { execute: async (input) => (ran.push([name, input]), { ok: input.ok !== false }) }]));
    const gate = createPetriflowGate(nets, { isToolResultError: (name, result) => !result.ok, transformBlockReason: (name, reason) => `${reason} (told)` });
    const { tools: wrapped, formatStatus, systemPrompt } = gate.wrapTools({ ...tools, hosted: {} });
    await assert.rejects(wrapped.delete.execute({}, { toolCallId: "1" }), (error) => {
      assert(error instanceof ToolCallBlockedError);
      assert.deepEqual([error.name, error.toolName, error.toolCallId], ["ToolCallBlockedError", "delete", "1"]);
      assert.equal(error.message, "Tool 'delete' blocked: delete requires a successful call to backup first. (told)");
      return true;
    });
    await assert.rejects(wrapped.backup.execute({}, {}), { message: 'wrapTools: missing toolCallId for tool "backup"' });
    await wrapped.backup.execute({ ok: false }, { toolCallId: "2" });
    await assert.rejects(wrapped.delete.execute({}, { toolCallId: "3" }), ToolCallBlockedError);
    await wrapped.backup.execute({}, { toolCallId: "4" });
    await wrapped.delete.execute({}, { toolCallId: "5" });
    await assert.rejects(wrapped.deploy.execute({}, { toolCallId: "6" }), /requires human approval/);
    assert.deepEqual(ran.map(([name]) => name), ["backup", "backup", "delete"]);
    assert.deepEqual(wrapped.hosted, {});
    assert.match(formatStatus(), /require-backup-before-delete: ready:1/);
    assert.match(systemPrompt(), /### require-backup-before-delete/);
    const messages = (output) => [
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "backup", input: { path: "x" } }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "backup", output }] },
    ];
    assert.match(gate.wrapTools(tools, { messages: messages({ type: "json", value: { ok: true } }) }).formatStatus(), /gate:1/);
    assert.match(gate.wrapTools(tools, { messages: messages({ type: "error-text", value: "x" }) }).formatStatus(), /ready:1/);
    const asked = createPetriflowGate(nets, { isToolResultError: () => false, confirm: async () => true });
    await asked.wrapTools(tools).tools.deploy.execute({}, { toolCallId: "7" });
    assert.equal(ran.at(-1)[0], "deploy");
  });

  it("agent SDK: hooks deny, and results settle", async () => {
    const { hooks, formatStatus } = agentGate(nets);
    const [pre, post, failure] = [hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure].map(([{ hooks: [hook] }]) => hook);
    const event = (tool_name) => ({ tool_name, tool_input: {} });
    assert.deepEqual(await pre(event("delete"), "1"), {
      hookSpecificOutput: {
        hookEventName: "PreToolUse", permissionDecision: "deny",
        permissionDecisionReason: "[require-backup-before-delete] delete requires a successful call to backup first.",
      },
    });
    assert.deepEqual(await pre(event("backup"), "2"), {});
    await failure(event("backup"), "2");
    assert.match(formatStatus(), /ready:1/);
    assert.deepEqual(await pre(event("backup"), "3"), {});
    await post(event("backup"), "3");
    assert.deepEqual(await pre(event("delete"), "4"), {});
    // Theirs lets an event without a tool pass.
    for (const odd of [{}, null, { tool_name: 7 }, { tool_name: "backup", tool_input: { at: 10n } }]) {
      assert.equal((await pre(odd, "5")).hookSpecificOutput?.permissionDecision, "deny");
    }
  });
});
