/**
 * Lockgate inside MCP servers and clients of the TypeScript SDK.
 *
 * ```js
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { gateServer } from "lockgate/mcp";
 *
 * const server = gateServer(gate, new McpServer({ name: "files", version: "1.0.0" }));
 * server.registerTool(…);
 * ```
 *
 * It wraps the handler of `tools/call`, so every tool is covered, whenever it is registered. A call that must not run is
 * answered with the sentence as an error of the tool, which the model sees.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { permitOf, settleFailure } from "./guard.js";
import { errorText } from "./plain.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */

/**
 * @typedef {object} McpOptions
 * @property {string | Session | ((extra: any) => string | Session)} [session] The session, or a function that finds it from what
 *   the SDK knows about a request, such as `authInfo`. Otherwise the session of the transport, if it has one.
 */

/** A task ends after its call was answered, so its result would pass the gate unseen. */
const NO_TASKS = "this tool is gated and does not run as a task; call it without one";

/**
 * Gates a server. It must not have tools yet.
 *
 * @template S
 * @param {Gate} gate @param {S} server An `McpServer` or a `Server`. @param {McpOptions} [options]
 * @returns {S}
 */
export function gateServer(gate, server, options = {}) {
  const inner = /** @type {any} */ (server).server ?? server;
  try {
    inner.assertCanSetRequestHandler("tools/call");
  } catch (error) {
    throw new LockgateError("gate the server before it has tools: those that it has would run past the gate", { cause: error });
  }
  const set = inner.setRequestHandler.bind(inner);
  inner.setRequestHandler = (/** @type {any} */ schema, /** @type {Function} */ handler) =>
    set(schema, async (/** @type {any} */ request, /** @type {any} */ extra) => {
      if (request?.method !== "tools/call") return handler(request, extra);
      const { name, arguments: input, task } = request.params;
      if (task !== undefined) return refused(NO_TASKS);
      const run = (/** @type {any} */ judged) =>
        handler({ ...request, params: { ...request.params, arguments: judged } }, extra);
      return judgedCall(() => gate.sessionFor(named(options, extra), extra?.sessionId), name, input, run);
    });
  return server;
}

/**
 * Gates a client: what it calls is judged before it is sent. The session must be given, or be around the call.
 *
 * @template C
 * @param {Gate} gate @param {C} client A `Client`. @param {McpOptions} [options]
 * @returns {C}
 */
export function gateClient(gate, client, options = {}) {
  const inner = /** @type {any} */ (client);
  const call = inner.callTool.bind(inner);
  inner.callTool = async (/** @type {any} */ params, /** @type {any[]} */ ...rest) =>
    params.task !== undefined
      ? refused(NO_TASKS)
      : judgedCall(() => gate.sessionFor(named(options, params)), params.name, params.arguments, (judged) =>
          call({ ...params, arguments: judged }, ...rest),
        );
  return client;
}

/** @param {McpOptions} options @param {any} extra */
function named({ session }, extra) {
  return typeof session === "function" ? session(extra) : session;
}

/** @param {() => Session} find @param {string} name @param {any} input @param {(input: any) => Promise<any>} run */
async function judgedCall(find, name, input, run) {
  let permit;
  try {
    const session = find();
    permit = await permitOf(session, await session.judge(name, input));
  } catch (error) {
    return refused(error instanceof LockgateError ? error.message : `Lockgate failed, so the tool did not run: ${errorText(error)}`);
  }
  let result;
  try {
    result = await run(permit.input);
  } catch (error) {
    await settleFailure(permit, error);
    throw error;
  }
  try {
    const { content, structuredContent } = result ?? {};
    if (!Array.isArray(content)) throw new LockgateError("it has no content that rules could look at");
    const output = await permit.settle({ content, structuredContent }, { ok: result?.isError !== true });
    if (output.isUnchanged) return result;
    // The structured content is the same result once more, so both are replaced.
    if (output.decision !== "block" && Array.isArray(output.value?.content)) return { ...result, ...output.value };
    return refused(typeof output.value === "string" ? output.value : (output.sentence ?? "the output is withheld"));
  } catch (error) {
    await settleFailure(permit, error);
    return refused(`the tool ran, but its result cannot be passed on: ${errorText(error)}`);
  }
}

/** @param {string} text */
function refused(text) {
  return { content: [{ type: /** @type {const} */ ("text"), text }], isError: true };
}
