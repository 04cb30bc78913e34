/**
 * Lockgate inside LangChain.js and LangGraph.js.
 *
 * ```js
 * import { createAgent } from "langchain";
 * import { gateMiddleware } from "lockgate/langchain";
 *
 * const agent = createAgent({ model, tools, middleware: [gateMiddleware(gate)] });
 * ```
 *
 * It hooks in as `wrapToolCall`, around the execution of every tool. A call that must not run is answered with the sentence as
 * a message of status `error`, which the model sees. The session is the `thread_id` of the run, which sub-agents share,
 * unless one is given or the run stands inside of `session.within`.
 *
 * @module
 */

import { ToolMessage } from "@langchain/core/messages";
import { interrupt } from "@langchain/langgraph";
import { createMiddleware } from "langchain";

import { LockgateError } from "./errors.js";
import { permitOf, settleFailure } from "./guard.js";
import { errorText } from "./plain.js";
import { Permit, Question } from "./ruling.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */

/**
 * @typedef {object} LangChainOptions
 * @property {string | Session} [session] The session; otherwise that of `session.within`, or the `thread_id` of the run.
 * @property {boolean} [pause] Whether a call that needs a human interrupts the graph with `{ question, tool, input, text }` and
 *   goes on when it is resumed with `true`, or with `{ granted: true, by }`; this needs a checkpointer. Otherwise the gate's
 *   approver is asked.
 * @property {(content: any) => boolean} [isFailure] Which results are failures, besides errors.
 */

/**
 * A middleware that judges every tool call of an agent.
 *
 * @param {Gate} gate @param {LangChainOptions} [options]
 * @returns {import("langchain").AgentMiddleware}
 */
export function gateMiddleware(gate, options = {}) {
  const wrapToolCall = async (/** @type {any} */ request, /** @type {(request: any) => any} */ handler) => {
    const { toolCall } = request;
    let permit;
    try {
      const config = request.runtime?.configurable ?? request.runtime?.config?.configurable;
      permit = await permitFor(gate.sessionFor(options.session, config?.thread_id), toolCall, options.pause === true);
    } catch (error) {
      // LangGraph pauses by an exception of its own, which must pass.
      if (isPause(error)) throw error;
      return refused(toolCall, error);
    }
    let result;
    try {
      result = await handler({ ...request, toolCall: { ...toolCall, args: permit.input } });
    } catch (error) {
      await settleFailure(permit, error);
      throw error;
    }
    return settled(permit, result, options.isFailure);
  };
  return createMiddleware({ name: "lockgate", wrapToolCall });
}

/** @param {Session} session @param {any} toolCall @param {boolean} pauses @returns {Promise<Permit>} */
async function permitFor(session, toolCall, pauses) {
  let ruling = await session.judge(toolCall.name, toolCall.args, { id: toolCall.id }, pauses);
  while (pauses && ruling instanceof Question) {
    const { id, tool, input, text } = ruling;
    // On the second visit the same call meets the same question, and this returns the answer.
    const said = /** @type {any} */ (interrupt({ question: id, tool, input, text }));
    const granted = said === true || said?.granted === true;
    // Somebody may have answered elsewhere while the graph was paused.
    ruling = (await ruling.resume()) ?? (await ruling.answer(granted, String(said?.by ?? "the human at the graph")));
  }
  return permitOf(session, ruling);
}

/** @param {unknown} error */
function isPause(error) {
  return error instanceof Error && /^(GraphInterrupt|NodeInterrupt|GraphBubbleUp)$/.test(error.name);
}

/** What the model sees of a call that must not run. @param {any} toolCall @param {unknown} error */
function refused(toolCall, error) {
  const content = error instanceof LockgateError ? error.message : `Lockgate failed, so the tool did not run: ${errorText(error)}`;
  return new ToolMessage({ content, tool_call_id: toolCall.id, name: toolCall.name, status: "error" });
}

/** @param {Permit} permit @param {any} result @param {((content: any) => boolean) | undefined} isFailure */
async function settled(permit, result, isFailure) {
  if (!ToolMessage.isInstance(result)) {
    // A command changes the state of the graph; its updates are the program's own.
    await permit.settle(null);
    return result;
  }
  try {
    const failed = result.status === "error" || (isFailure?.(result.content) ?? false);
    const output = await permit.settle(result.content, { ok: !failed });
    if (output.isUnchanged) return result;
    const content = typeof output.value === "string" || Array.isArray(output.value) ? output.value : JSON.stringify(output.value);
    // The artifact is the same result once more.
    const fields = { content, tool_call_id: result.tool_call_id, name: result.name, status: result.status, id: result.id };
    return new ToolMessage(/** @type {any} */ (fields));
  } catch (error) {
    await settleFailure(permit, error);
    throw error;
  }
}
