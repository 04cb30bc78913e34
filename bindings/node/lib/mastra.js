/**
 * Lockgate inside Mastra.
 *
 * ```js
 * import { Agent } from "@mastra/core/agent";
 * import { gateTools } from "lockgate/mastra";
 *
 * const agent = new Agent({ name, instructions, model, tools: gateTools(gate, tools) });
 * ```
 *
 * It wraps the `execute` of each tool, because hooks of the framework cannot replace an output. A call that must not run returns
 * an object with `error`, which the model sees. The session is the thread of the agent, if it has a memory, unless one is
 * given or the run stands inside of `session.within`.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { permitOf, runPermitted } from "./guard.js";
import { errorText } from "./plain.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */

/**
 * @typedef {object} MastraOptions
 * @property {string | Session | ((context: any) => string | Session | undefined)} [session] The session, or a function that finds
 *   it from the context of a call.
 * @property {(value: any) => boolean} [isFailure] Which results are failures, besides errors.
 * @property {boolean} [strict] Whether a tool that cannot be gated is an error, and not a warning.
 */

/**
 * The same tools, each judged before it runs.
 *
 * @template {Record<string, any>} T
 * @param {Gate} gate @param {T} tools @param {MastraOptions} [options]
 * @returns {T}
 */
export function gateTools(gate, tools, options = {}) {
  const gated = Object.entries(tools).map(([key, tool]) => {
    if (typeof tool?.execute !== "function") {
      const text = `\`${key}\` runs elsewhere and is not gated; give it an \`execute\`, or leave it out`;
      if (options.strict) throw new LockgateError(text);
      process.emitWarning(text, "LockgateWarning");
      return [key, tool];
    }
    return [key, gateTool(gate, key, tool, options)];
  });
  return Object.fromEntries(gated);
}

/** @param {Gate} gate @param {string} key @param {any} tool @param {MastraOptions} options */
function gateTool(gate, key, tool, options) {
  const inner = tool.execute.bind(tool);
  const execute = async (/** @type {any} */ input, /** @type {any} */ context) => {
    let permit;
    try {
      const named = typeof options.session === "function" ? options.session(context) : options.session;
      const session = gate.sessionFor(named, context?.agent?.threadId);
      permit = await permitOf(session, await session.judge(key, input, { id: context?.agent?.toolCallId }));
    } catch (error) {
      return { error: error instanceof LockgateError ? error.message : `Lockgate failed, so the tool did not run: ${errorText(error)}` };
    }
    return runPermitted(permit, (judged) => inner(judged, context), options.isFailure);
  };
  // The class of the tool stays, and so does what the framework keeps in it.
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute });
}
