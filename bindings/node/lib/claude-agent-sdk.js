/**
 * Lockgate inside the Claude Agent SDK.
 *
 * ```js
 * import { query } from "@anthropic-ai/claude-agent-sdk";
 * import { gateHooks } from "lockgate/claude-agent-sdk";
 *
 * for await (const message of query({ prompt, options: { hooks: gateHooks(gate) } })) …
 * ```
 *
 * It hooks into `PreToolUse`, `PostToolUse` and `PostToolUseFailure`, which the program runs before and after each tool, those of
 * sub-agents and MCP servers too. A call that may run is left to the permissions of the program: the gate never widens them.
 * The hooks are registered so that a failure or a timeout blocks; a program too old for that is refused by the SDK at its start.
 * The session is Claude's own, which sub-agents share, unless one is given.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { permitOf } from "./guard.js";
import { errorText } from "./plain.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./session.js").Session} Session */

/**
 * @typedef {object} HookOptions
 * @property {string | Session} [session] The session; otherwise Claude's own.
 * @property {boolean} [hears] Whether every submitted prompt counts as the user's own words, for rules such as `must come from
 *   user`: only where prompts are what the human wrote.
 * @property {(response: any) => boolean} [isFailure] Which results are failures, besides errors.
 */

/** How long a hook may take beyond what the gate waits for a human, in seconds. */
const MARGIN = 30;

/**
 * The hooks for the options of `query`. A call that needs a human asks the gate's approver.
 *
 * @param {Gate} gate @param {HookOptions} [options]
 * @returns {Record<string, { hooks: ((event: any, id?: string) => Promise<any>)[], timeout: number, onFailure?: "block" }[]>}
 */
export function gateHooks(gate, options = {}) {
  const sessionOf = (/** @type {any} */ event) => gate.sessionFor(options.session, event.session_id);

  const before = async (/** @type {any} */ event, /** @type {string | undefined} */ id) => {
    try {
      const session = sessionOf(event);
      const about = { id: id ?? event.tool_use_id, cwd: event.cwd, parent: event.agent_id };
      const permit = await permitOf(session, await session.judge(event.tool_name, event.tool_input, about));
      const { isMasked, input } = permit;
      // The result comes with another event, by the id of the call.
      permit.detach();
      return isMasked ? { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: input } } : {};
    } catch (error) {
      const reason = error instanceof LockgateError ? error.message : `Lockgate failed: ${errorText(error)}`;
      return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason } };
    }
  };

  const after = async (/** @type {any} */ event, /** @type {string | undefined} */ id) => {
    const response = event.tool_response;
    try {
      const failed = endedBadly(response) || (options.isFailure?.(response) ?? false);
      const output = await sessionOf(event).settle(id ?? event.tool_use_id, response, { ok: !failed });
      if (output.isUnchanged) return {};
      return replaced(response, output.decision === "block" ? (output.sentence ?? "the output is withheld") : output.value);
    } catch (error) {
      return replaced(response, `the tool ran, but its result cannot be passed on: ${errorText(error)}`);
    }
  };

  const failed = async (/** @type {any} */ event, /** @type {string | undefined} */ id) => {
    try {
      await sessionOf(event).settle(id ?? event.tool_use_id, event.error ?? null, { ok: false });
    } catch {
      // The call lapses, which opens nothing.
    }
    return {};
  };

  const prompted = async (/** @type {any} */ event) => {
    try {
      await sessionOf(event).hear(event.prompt);
      return {};
    } catch (error) {
      return { decision: "block", reason: `Lockgate failed: ${errorText(error)}` };
    }
  };

  return {
    PreToolUse: [{ hooks: [before], timeout: (gate.waitSeconds ?? 0) + MARGIN, onFailure: "block" }],
    PostToolUse: [{ hooks: [after], timeout: MARGIN, onFailure: "block" }],
    PostToolUseFailure: [{ hooks: [failed], timeout: MARGIN }],
    ...(options.hears ? { UserPromptSubmit: [{ hooks: [prompted], timeout: MARGIN, onFailure: "block" }] } : {}),
  };
}

/** A command that was interrupted or goes on in the background has not succeeded. @param {any} response */
function endedBadly(response) {
  return Boolean(response?.interrupted || response?.backgroundTaskId || response?.is_error);
}

/** Built-in tools keep their result unless the new one has its shape. @param {any} response @param {any} value */
function replaced(response, value) {
  const updatedToolOutput = typeof value === typeof response ? value : inShape(response, String(value));
  return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput } };
}

/** A value of the same shape whose texts are this one. @param {any} response @param {string} text @returns {any} */
function inShape(response, text) {
  if (Array.isArray(response)) return response.map((it) => inShape(it, text));
  if (response !== null && typeof response === "object") {
    // What a field called `type` says is part of the shape.
    return Object.fromEntries(Object.entries(response).map(([key, it]) => [key, key === "type" ? it : inShape(it, text)]));
  }
  return typeof response === "string" || response === null || response === undefined ? text : response;
}
