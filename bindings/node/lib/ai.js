/**
 * Lockgate inside the Vercel AI SDK; tested with version 6.
 *
 * ```js
 * import { generateText } from "ai";
 * import { gateTools } from "lockgate/ai";
 *
 * await generateText({ model, prompt, tools: gateTools(gate, tools, { session: chatId }) });
 * ```
 *
 * It wraps the `execute` of each tool, because callbacks of the SDK swallow errors and run the tool anyway. A call that must
 * not run throws, and the model sees the sentence.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { isStream, permitOf, runPermitted } from "./guard.js";
import { Permit, Question } from "./ruling.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./ruling.js").Ruling} Ruling */

/**
 * @typedef {object} AiOptions
 * @property {string | Session | ((options: any) => string | Session)} [session] The session, or a function that finds it from
 *   the options of a call, for example in `experimental_context`; otherwise that of `session.within`.
 * @property {(value: any) => boolean} [isFailure] Which results are failures, besides errors.
 * @property {boolean} [pause] Whether a call that needs a human ends the run with the SDK's own approval request. The answer
 *   is given to the gate (`gate.answer`), never by the messages that a client sends. Otherwise the gate's approver is asked.
 * @property {boolean} [strict] Whether a tool that cannot be gated is an error, and not a warning.
 */

/**
 * The same tools, each judged before it runs.
 *
 * @template {Record<string, any>} T
 * @param {Gate} gate @param {T} tools @param {AiOptions} [options]
 * @returns {T}
 */
export function gateTools(gate, tools, options = {}) {
  const open = Object.keys(tools).filter((name) => typeof tools[name]?.execute !== "function");
  if (open.length > 0) {
    const text = `these tools run elsewhere and are not gated: ${open.join(", ")}; give them an \`execute\`, or leave them out`;
    if (options.strict) throw new LockgateError(text);
    process.emitWarning(text, "LockgateWarning");
  }
  const gated = Object.entries(tools).map(([name, tool]) => [name, open.includes(name) ? tool : gateTool(gate, name, tool, options)]);
  return Object.fromEntries(gated);
}

/** @param {Gate} gate @param {string} name @param {any} tool @param {AiOptions} options */
function gateTool(gate, name, tool, options) {
  /** Rulings between the question of the SDK and the run. @type {Map<string, Ruling>} */
  const ruled = new Map();
  const sessionOf = (/** @type {any} */ call) =>
    gate.sessionFor(typeof options.session === "function" ? options.session(call) : options.session);
  const judge = async (/** @type {Session} */ session, /** @type {any} */ input, /** @type {any} */ call) =>
    session.judge(name, input, { id: call?.toolCallId }, options.pause);

  const execute = async (/** @type {any} */ input, /** @type {any} */ call) => {
    const permit = await told(async () => {
      const session = sessionOf(call);
      const earlier = ruled.get(call?.toolCallId);
      ruled.delete(call?.toolCallId);
      let ruling = earlier ?? (await judge(session, input, call));
      if (options.pause && ruling instanceof Question) {
        const { sentence } = ruling;
        const answered = await ruling.resume();
        if (!answered) throw new LockgateError(`${sentence} No human has answered yet; do not repeat the call before.`);
        ruling = answered;
      }
      return permitOf(session, ruling);
    });
    return runPermitted(permit, async (judged) => lastOf(await tool.execute(judged, call)), options.isFailure);
  };
  if (!options.pause) return { ...tool, execute };

  const needsApproval = async (/** @type {any} */ input, /** @type {any} */ call) => {
    const own = typeof tool.needsApproval === "function" ? await tool.needsApproval(input, call) : tool.needsApproval;
    const ruling = await judge(sessionOf(call), input, call);
    // The SDK asks again when the run goes on, and takes a no for a mistake. `execute` looks for the answer.
    if (ruling instanceof Question) return true;
    ruled.set(call?.toolCallId, ruling);
    if (own && ruling instanceof Permit) {
      // The run ends here, and the call is judged again when it goes on.
      ruled.delete(call?.toolCallId);
      await ruling.settle("not run yet: the program asks a human", { ok: false });
    }
    return own ?? false;
  };
  return { ...tool, execute, needsApproval };
}

/** Version 7 shows the name of an error to the model, which only needs the sentence. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
async function told(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) error.name = "";
    throw error;
  }
}

/** A tool may stream what it has so far. Rules look at the whole, so only the last part is passed on. @param {any} value */
async function lastOf(value) {
  if (!isStream(value)) return value;
  let last;
  for await (const part of value) last = part;
  return last;
}
