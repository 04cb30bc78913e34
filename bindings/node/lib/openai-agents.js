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
import { Question } from "./ruling.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./ruling.js").Ruling} Ruling */

/**
 * @typedef {object} AgentOptions
 * @property {string | Session | ((runContext: any) => string | Session)} [session] The session, or a function that finds it from
 *   the context of a run; otherwise that of `session.within`.
 * @property {(output: any, tool: string) => boolean} [isFailure] Which outputs are failures, besides errors.
 * @property {boolean} [pause] Whether a call that needs a human interrupts the run, and goes on after `state.approve(item)`.
 *   Otherwise the gate's approver is asked.
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
  /** Rulings between the SDK's question whether a call needs approval, and its run. @type {Map<string, Ruling>} */
  const ruled = new Map();
  const sessionOf = (/** @type {any} */ runContext) =>
    gate.sessionFor(typeof options.session === "function" ? options.session(runContext) : options.session);

  const permitFor = async (/** @type {any} */ runContext, /** @type {string} */ text, /** @type {string} */ id) => {
    const session = sessionOf(runContext);
    if (!options.pause) return permitOf(session, await session.judge(tool.name, parsed(text), { id }));
    const ruling = ruled.get(id) ?? (await approved(session, tool.name, id)) ?? (await session.call(tool.name, parsed(text), { id }));
    ruled.delete(id);
    if (ruling instanceof Question) throw new LockgateError(`${ruling.sentence} Another human must agree; call again.`);
    return permitOf(session, ruling);
  };

  const invoke = async (/** @type {any} */ runContext, /** @type {string} */ text, /** @type {any} */ details) => {
    let permit;
    try {
      permit = await permitFor(runContext, text, details?.toolCall?.callId);
    } catch (error) {
      return error instanceof LockgateError ? error.message : `Lockgate failed, so the tool did not run: ${errorText(error)}`;
    }
    let output;
    try {
      // The text of the model is left alone where it is what was judged: the SDK has parsed it already.
      const judged = permit.isMasked || options.pause ? JSON.stringify(permit.input) : text;
      output = await tool.invoke(runContext, judged, details);
      const failed = (typeof output === "string" && FAILURE.test(output)) || (options.isFailure?.(output, tool.name) ?? false);
      return (await permit.settle(output, { ok: !failed })).value;
    } catch (error) {
      await settleFailure(permit, error);
      throw error;
    }
  };
  if (!options.pause) return { ...tool, invoke };

  const needsApproval = async (/** @type {any} */ runContext, /** @type {any} */ input, /** @type {string} */ id) => {
    const own = await tool.needsApproval(runContext, input, id);
    try {
      const ruling = await sessionOf(runContext).call(tool.name, input, { id });
      if (ruling instanceof Question) return true;
      ruled.set(id, ruling);
    } catch {
      // `invoke` meets the same, and tells the model.
    }
    return own;
  };
  return { ...tool, invoke, needsApproval };
}

/** The ruling of a call that the SDK interrupted for: it only runs one of these after `state.approve`. @param {Session} session @param {string} tool @param {string} id */
async function approved(session, tool, id) {
  for (const name of await session.questions()) {
    const question = session.question(name);
    if (question.tool !== tool || question.callId !== id) continue;
    // Somebody may have answered elsewhere while the run was paused.
    return (await question.resume()) ?? (await question.answer(true, "the human at the run"));
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new LockgateError("the arguments are not JSON; write them as a JSON object");
  }
}
