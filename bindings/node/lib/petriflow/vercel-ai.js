/**
 * The name of PetriFlow's wrapper for the Vercel AI SDK, on Lockgate: `import … from "lockgate/petriflow/vercel-ai"`.
 *
 * It wraps the `execute` of each tool. New programs use `lockgate/ai`, which can mask inputs and outputs as well.
 *
 * @module
 */

import { LockgateError } from "../errors.js";
import { jsonText } from "../plain.js";
import { createGateManager } from "./manager.js";

export { createGateManager } from "./manager.js";
export { defineSkillNet } from "./nets.js";

/** @typedef {import("./manager.js").GateManager} GateManager */
/** @typedef {import("./manager.js").ReplayEntry} ReplayEntry */
/** @typedef {import("./nets.js").AnyNet} AnyNet */

/**
 * @typedef {object} PetriflowGateOptions
 * @property {(toolName: string, result: any) => boolean} isToolResultError Which results are failures; if it throws, it is one.
 * @property {"enforce" | "shadow"} [mode]
 * @property {(title: string, message: string) => Promise<boolean>} [confirm] Asks a human; without it, no human is there.
 * @property {import("./manager.js").GateManagerOptions["onDecision"]} [onDecision]
 * @property {(toolName: string, reason: string) => string} [transformBlockReason]
 */

/** A call that must not run. */
export class ToolCallBlockedError extends LockgateError {
  /** @param {string} toolName @param {string} toolCallId @param {string} reason */
  constructor(toolName, toolCallId, reason) {
    super(`Tool '${toolName}' blocked: ${reason}`);
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.reason = reason;
  }
}

/**
 * A gate whose every `wrapTools` begins a session.
 *
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} nets
 * @param {PetriflowGateOptions} options
 */
export function createPetriflowGate(nets, options) {
  return {
    /**
     * @template {Record<string, any>} T
     * @param {T} tools @param {{ messages?: any[] }} [history] What was called before.
     */
    wrapTools(tools, { messages } = {}) {
      const manager = createGateManager(nets, { mode: options.mode, onDecision: options.onDecision });
      if (messages) manager.replay(pastCalls(messages, options));
      const wrapped = Object.entries(tools).map(([name, tool]) => [name, wrapTool(manager, name, tool, options)]);
      return {
        tools: /** @type {T} */ (Object.fromEntries(wrapped)),
        systemPrompt: manager.formatSystemPrompt,
        formatStatus: manager.formatStatus,
        addNet: manager.addNet,
        removeNet: manager.removeNet,
        manager,
      };
    },
  };
}

/** @param {GateManager} manager @param {string} toolName @param {any} tool @param {PetriflowGateOptions} options */
function wrapTool(manager, toolName, tool, options) {
  if (typeof tool?.execute !== "function") return tool;
  const ctx = { hasUI: Boolean(options.confirm), confirm: options.confirm ?? (async () => false) };
  const execute = async (/** @type {any} */ given, /** @type {any} */ call) => {
    const toolCallId = call?.toolCallId;
    if (!toolCallId) throw new LockgateError(`wrapTools: missing toolCallId for tool "${toolName}"`);
    // What is judged is what runs, also if the caller changes its input meanwhile.
    const input = JSON.parse(jsonText(given ?? {}, `the input of \`${toolName}\``));
    const decision = await manager.handleToolCall({ toolCallId, toolName, input }, ctx);
    if (decision) {
      const reason = options.transformBlockReason?.(toolName, decision.reason) ?? decision.reason;
      throw new ToolCallBlockedError(toolName, toolCallId, reason);
    }
    let isError = true;
    try {
      const result = await tool.execute(input, call);
      isError = isFailure(options, toolName, result);
      return result;
    } finally {
      manager.handleToolResult({ toolCallId, toolName, input, isError });
    }
  };
  return { ...tool, execute };
}

/** @param {PetriflowGateOptions} options @param {string} toolName @param {any} result */
function isFailure(options, toolName, result) {
  try {
    return options.isToolResultError(toolName, result) !== false;
  } catch {
    return true;
  }
}

/** The calls of a conversation, in the order of their results. @param {any[]} messages @param {PetriflowGateOptions} options @returns {ReplayEntry[]} */
function pastCalls(messages, options) {
  const parts = messages.flatMap((message) => (Array.isArray(message?.content) ? message.content : []));
  const inputs = new Map(parts.filter((it) => it?.type === "tool-call").map((it) => [it.toolCallId, it.input]));
  return parts.filter((it) => it?.type === "tool-result").map(({ toolCallId, toolName, output }) => {
    const failed = ["error-text", "error-json", "execution-denied"].includes(output?.type);
    return { toolName, input: inputs.get(toolCallId) ?? {}, isError: failed || isFailure(options, toolName, output?.value ?? output) };
  });
}
