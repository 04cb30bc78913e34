/**
 * The name of PetriFlow's wrapper for the Claude Agent SDK, on Lockgate: `import … from "lockgate/petriflow/agent-sdk"`.
 *
 * It gives hooks for `query({ options: { hooks } })`. Whatever goes wrong in a hook denies the call.
 *
 * @module
 */

import { errorText } from "../plain.js";
import { createGateManager, findBlockingNet } from "./manager.js";

/** @typedef {import("./nets.js").AnyNet} AnyNet */

/**
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} nets
 * @param {import("./manager.js").GateManagerOptions & { confirm?: (title: string, message: string) => Promise<boolean> }} [options]
 */
export function createPetriflowGate(nets, options = {}) {
  const manager = createGateManager(nets, { mode: options.mode, onDecision: options.onDecision });
  const ctx = { hasUI: Boolean(options.confirm), confirm: options.confirm ?? (async () => false) };
  const before = async (/** @type {any} */ event, /** @type {string} */ toolUseId) => {
    try {
      const toolName = event?.tool_name;
      if (typeof toolName !== "string" || toolName === "") return denied("the event names no tool, so the call is blocked");
      const decision = await manager.handleToolCall(callOf(event, toolUseId), ctx);
      return decision ? denied(`[${findBlockingNet(manager, toolName)}] ${decision.reason}`) : {};
    } catch (error) {
      return denied(`Lockgate could not decide (${errorText(error)}), so the call is blocked.`);
    }
  };
  const after = (/** @type {boolean} */ isError) => async (/** @type {any} */ event, /** @type {string} */ toolUseId) => {
    manager.handleToolResult({ ...callOf(event, toolUseId), isError });
    return {};
  };
  return {
    hooks: {
      PreToolUse: [{ hooks: [before] }],
      PostToolUse: [{ hooks: [after(false)] }],
      PostToolUseFailure: [{ hooks: [after(true)] }],
    },
    manager,
    systemPrompt: manager.formatSystemPrompt,
    formatStatus: manager.formatStatus,
  };
}

/** @param {any} event @param {string} [toolUseId] */
function callOf(event, toolUseId) {
  return { toolCallId: toolUseId ?? event?.tool_use_id ?? "", toolName: event?.tool_name, input: event?.tool_input ?? {} };
}

/** @param {string} reason */
function denied(reason) {
  return {
    hookSpecificOutput: {
      hookEventName: /** @type {const} */ ("PreToolUse"),
      permissionDecision: /** @type {const} */ ("deny"),
      permissionDecisionReason: reason,
    },
  };
}
