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
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type Ruling = import("./ruling.js").Ruling;
export type AiOptions = {
    /**
     * The session, or a function that finds it from
     * the options of a call, for example in `experimental_context`; otherwise that of `session.within`.
     */
    session?: string | Session | ((options: any) => string | Session);
    /**
     * Which results are failures, besides errors.
     */
    isFailure?: (value: any) => boolean;
    /**
     * Whether a call that needs a human ends the run with the SDK's own approval request. The answer
     * is given to the gate (`gate.answer`), never by the messages that a client sends. Otherwise the gate's approver is asked.
     */
    pause?: boolean;
    /**
     * Whether a tool that cannot be gated is an error, and not a warning.
     */
    strict?: boolean;
};
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
export declare function gateTools<T extends Record<string, any>>(gate: Gate, tools: T, options?: AiOptions): T;
