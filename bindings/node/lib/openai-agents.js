/**
 * Lockgate inside the OpenAI Agents SDK.
 *
 * ```js
 * import { Agent, run } from "@openai/agents";
 * import { gateAgent } from "lockgate/openai-agents";
 *
 * await run(gateAgent(gate, agent, { session: conversationId }), "…");
 * ```
 *
 * It wraps the `invoke` of each function tool that the agent offers, those of MCP servers too, and of the agents that it hands
 * off to. A call that must not run returns the sentence, which the model sees as the output.
 *
 * The SDK turns an error of a tool into a text, so success cannot be told from outside. A text that begins as the SDK's own
 * does counts as a failure; where a tool has an `errorFunction` of its own, say with `isFailure` what it returns, or set it
 * to null.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { permitOf, settleFailure } from "./guard.js";
import { errorText } from "./plain.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */

/**
 * @typedef {object} AgentOptions
 * @property {string | Session | ((runContext: any) => string | Session)} [session] The session, or a function that finds it from
 *   the context of a run; otherwise that of `session.within`.
 * @property {(output: any, tool: string) => boolean} [isFailure] Which outputs are failures, besides errors.
 * @property {boolean} [strict] Whether a tool that cannot be gated is an error, and not a warning.
 */

/** How the SDK begins what it tells about an error of a tool. */
const FAILURE = /^(An error occurred while (running|parsing) the tool|Tool '.*' timed out)/;

const GATED = Symbol("lockgate.gated");

/**
 * Gates an agent and all agents that it hands off to. The agent itself is changed, and so are its clones.
 *
 * @template A
 * @param {Gate} gate @param {A} agent An `Agent`. @param {AgentOptions} [options]
 * @returns {A}
 */
export function gateAgent(gate, agent, options = {}) {
  const inner = /** @type {any} */ (agent);
  if (inner[GATED]) return agent;
  if (typeof inner.getAllTools !== "function" || typeof inner.clone !== "function") {
    throw new LockgateError("this is not an agent whose tools can be gated; give an `Agent` of the SDK");
  }
  Object.defineProperty(inner, GATED, { value: true });
  const [all, clone] = [inner.getAllTools.bind(inner), inner.clone.bind(inner)];
  /** @type {Set<string>} */
  const warned = new Set();
  hide(inner, "getAllTools", async (/** @type {any[]} */ ...args) => {
    const tools = await all(...args);
    for (const { type, name = type } of tools.filter((/** @type {any} */ it) => it.type !== "function" && !warned.has(it.name))) {
      const text = `\`${name}\` runs elsewhere and is not gated; leave it out`;
      if (options.strict) throw new LockgateError(text);
      warned.add(name);
      process.emitWarning(text, "LockgateWarning");
    }
    return tools.map((/** @type {any} */ tool) => (tool.type === "function" ? gateTool(gate, tool, options) : tool));
  });
  hide(inner, "clone", (/** @type {any[]} */ ...args) => gateAgent(gate, clone(...args), options));
  for (const handoff of inner.handoffs ?? []) gateAgent(gate, handoff.agent ?? handoff, options);
  return agent;
}

/** A property that a clone does not take over. @param {any} agent @param {string} name @param {Function} value */
function hide(agent, name, value) {
  Object.defineProperty(agent, name, { value, enumerable: false, configurable: true, writable: true });
}

/** @param {Gate} gate @param {any} tool @param {AgentOptions} options */
function gateTool(gate, tool, options) {
  const invoke = async (/** @type {any} */ runContext, /** @type {string} */ text, /** @type {any} */ details) => {
    let permit;
    try {
      const named = typeof options.session === "function" ? options.session(runContext) : options.session;
      const session = gate.sessionFor(named);
      const id = details?.toolCall?.callId;
      permit = await permitOf(session, await session.judge(tool.name, parsed(text), { id }));
    } catch (error) {
      return error instanceof LockgateError ? error.message : `Lockgate failed, so the tool did not run: ${errorText(error)}`;
    }
    let output;
    try {
      // The text of the model is left alone where nothing is masked: the SDK has parsed it already.
      output = await tool.invoke(runContext, permit.isMasked ? JSON.stringify(permit.input) : text, details);
      const failed = (typeof output === "string" && FAILURE.test(output)) || (options.isFailure?.(output, tool.name) ?? false);
      return (await permit.settle(output, { ok: !failed })).value;
    } catch (error) {
      await settleFailure(permit, error);
      throw error;
    }
  };
  return { ...tool, invoke };
}

/** @param {string} text */
function parsed(text) {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new LockgateError("the arguments are not JSON; write them as a JSON object");
  }
}
