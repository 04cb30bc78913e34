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
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type MastraOptions = {
    /**
     * The session, or a function that finds
     * it from the context of a call.
     */
    session?: string | Session | ((context: any) => string | Session | undefined);
    /**
     * Which results are failures, besides errors.
     */
    isFailure?: (value: any) => boolean;
    /**
     * Whether a tool that cannot be gated is an error, and not a warning.
     */
    strict?: boolean;
};
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
export declare function gateTools<T extends Record<string, any>>(gate: Gate, tools: T, options?: MastraOptions): T;
