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
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type Ruling = import("./ruling.js").Ruling;
export type AgentOptions = {
    /**
     * The session, or a function that finds it from
     * the context of a run; otherwise that of `session.within`.
     */
    session?: string | Session | ((runContext: any) => string | Session);
    /**
     * Which outputs are failures, besides errors.
     */
    isFailure?: (output: any, tool: string) => boolean;
    /**
     * Whether a call that needs a human interrupts the run, and goes on after `state.approve(item)`.
     * Otherwise the gate's approver is asked.
     */
    pause?: boolean;
    /**
     * Whether a tool that cannot be gated is an error, and not a warning.
     */
    strict?: boolean;
};
/**
 * Gates an agent and all agents that it hands off to. The agent itself is changed, and so are its clones.
 *
 * @template A
 * @param {Gate} gate @param {A} agent An `Agent`. @param {AgentOptions} [options]
 * @returns {A}
 */
export declare function gateAgent<A>(gate: Gate, agent: A, options?: AgentOptions): A;
