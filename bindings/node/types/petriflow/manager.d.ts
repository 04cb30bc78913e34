/**
 * Several nets before one agent, judged by Lockgate's gate.
 *
 * Nets with a mapper of their own are functions that the gate cannot ask; they are played here (`nets.js`), inside of the
 * same decision: no net fires unless all agree.
 *
 * @module
 */
export type AnyNet = import("./nets.js").AnyNet;
export type AnyState = import("./nets.js").AnyState;
export type GateContext = import("./nets.js").GateContext;
export type GateDecision = import("./nets.js").GateDecision;
export type GateToolCall = import("./nets.js").GateToolCall;
export type GateToolResult = import("./nets.js").GateToolResult;
export type ReplayEntry = {
    toolName: string;
    input?: Record<string, any>;
    isError: boolean;
};
export type NetView = {
    name: string;
    net: AnyNet;
    state: AnyState;
};
export type GateManagerOptions = {
    /**
     * `shadow` only observes: everything runs, and counts as it ran.
     */
    mode?: "enforce" | "shadow";
    /**
     * Hears every decision, in both modes.
     */
    onDecision?: (event: GateToolCall, decision: GateDecision) => void;
};
export type GateManager = {
    handleToolCall: (event: GateToolCall, ctx: GateContext) => Promise<GateDecision>;
    handleToolResult: (event: GateToolResult) => void;
    replay: (entries: ReplayEntry[] | string[]) => void;
    addNet: (name: string) => {
        ok: boolean;
        message: string;
    };
    removeNet: (name: string) => {
        ok: boolean;
        message: string;
    };
    getActiveNets: () => NetView[];
    getAllNets: () => (NetView & {
        active: boolean;
    })[];
    formatStatus: () => string;
    formatSystemPrompt: () => string;
    isDynamic: boolean;
};
/**
 * A gate for one agent's session.
 *
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} input
 * @param {GateManagerOptions} [options]
 * @returns {GateManager}
 */
export declare function createGateManager(input: AnyNet[] | {
    registry: Record<string, AnyNet>;
    active?: string[];
}, options?: GateManagerOptions): GateManager;
/**
 * The first net that blocks a tool, for messages. A decision itself says which rules object.
 *
 * @param {GateManager} manager @param {string} toolName @returns {string}
 */
export declare function findBlockingNet(manager: GateManager, toolName: string): string;
