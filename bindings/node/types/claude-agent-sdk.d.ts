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
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type HookOptions = {
    /**
     * The session; otherwise Claude's own.
     */
    session?: string | Session;
    /**
     * Whether every submitted prompt counts as the user's own words, for rules such as `must come from
     * user`: only where prompts are what the human wrote.
     */
    hears?: boolean;
    /**
     * Which results are failures, besides errors.
     */
    isFailure?: (response: any) => boolean;
};
/**
 * The hooks for the options of `query`. A call that needs a human asks the gate's approver.
 *
 * @param {Gate} gate @param {HookOptions} [options]
 * @returns {Record<string, { hooks: ((event: any, id?: string) => Promise<any>)[], timeout: number, onFailure?: "block" }[]>}
 */
export declare function gateHooks(gate: Gate, options?: HookOptions): Record<string, {
    hooks: ((event: any, id?: string) => Promise<any>)[];
    timeout: number;
    onFailure?: "block";
}[]>;
