// Asks Lockgate before every tool call of OpenClaw, and shows it every result.
//
// Written by `lockgate init openclaw`, which fills in the program and the deadline. The deadline must stay below the
// 15 seconds after which OpenClaw blocks by itself. Results are asked about synchronously: the host wants it so.
import { spawnSync } from "node:child_process";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const PROGRAM = "__LOCKGATE__";
const ARGUMENTS = ["hook", "openclaw"];
const DEADLINE_MS = Number("__DEADLINE_MS__") || 10000;

// The answer as an object; what goes wrong is a block with a reason.
function ask(event) {
  const run = spawnSync(PROGRAM, ARGUMENTS, {
    input: JSON.stringify(event), timeout: DEADLINE_MS, killSignal: "SIGKILL", maxBuffer: 64 * 1024 * 1024,
  });
  if (run.error) return { decision: "block", reason: `lockgate: cannot be run (${run.error.message})` };
  if (run.status !== 0) {
    const complaint = String(run.stderr ?? "").trim();
    return { decision: "block", reason: complaint || `lockgate: ended with ${run.status}` };
  }
  try {
    const answer = JSON.parse(String(run.stdout));
    if (answer !== null && typeof answer === "object") return answer;
  } catch {}
  return { decision: "block", reason: "lockgate: gave an answer that cannot be read" };
}

// The key is the same at both events; the id is not told at both.
const sessionOf = (ctx) => ctx?.sessionKey ?? ctx?.sessionId;

function before(event, ctx) {
  const answer = ask({
    event: "before", session: sessionOf(ctx), call: event.toolCallId, tool: event.toolName,
    input: event.params ?? {}, agent: ctx?.agentId,
  });
  const reason = answer.reason || "lockgate: blocked without a reason";
  if (answer.decision === "pass") return undefined;
  if (answer.decision === "change" && answer.input && typeof answer.input === "object") {
    return { params: answer.input };
  }
  if (answer.decision === "ask") {
    return {
      requireApproval: {
        title: `Lockgate: ${event.toolName}`, description: reason, severity: "warning",
        allowedDecisions: ["allow-once", "deny"],
      },
    };
  }
  return { block: true, blockReason: reason };
}

function withheld(message, reason) {
  const kept = { role: message?.role, toolCallId: message?.toolCallId, toolName: message?.toolName };
  return { message: { ...kept, isError: true, content: [{ type: "text", text: reason }] } };
}

function after(event, ctx) {
  const message = event.message;
  try {
    const answer = ask({
      event: "after", session: sessionOf(ctx), call: event.toolCallId ?? message?.toolCallId,
      tool: event.toolName ?? message?.toolName, input: {}, agent: ctx?.agentId,
      ok: message?.isError === false, output: message ?? null,
    });
    if (answer.decision === "pass") return undefined;
    if (answer.decision === "replace" && answer.output && typeof answer.output === "object") {
      return { message: answer.output };
    }
    return withheld(message, answer.reason || "lockgate: withheld without a reason");
  } catch (error) {
    return withheld(message, `lockgate: ${error.message} (the output was withheld)`);
  }
}

export default definePluginEntry({
  id: "lockgate",
  name: "Lockgate",
  description: "Asks Lockgate before every tool call",
  register(api) {
    api.on("before_tool_call", async (event, ctx) => before(event, ctx), { priority: 50 });
    api.on("tool_result_persist", (event, ctx) => after(event, ctx));
  },
});
