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
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type LangChainOptions = {
    /**
     * The session; otherwise that of `session.within`, or the `thread_id` of the run.
     */
    session?: string | Session;
    /**
     * Whether a call that needs a human interrupts the graph with `{ question, tool, input, text }` and
     * goes on when it is resumed with `true`, or with `{ granted: true, by }`; this needs a checkpointer. Otherwise the gate's
     * approver is asked.
     */
    pause?: boolean;
    /**
     * Which results are failures, besides errors.
     */
    isFailure?: (content: any) => boolean;
};
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
export declare function gateMiddleware(gate: Gate, options?: LangChainOptions): import("langchain").AgentMiddleware;
