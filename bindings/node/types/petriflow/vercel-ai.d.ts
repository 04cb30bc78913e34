/**
 * The name of PetriFlow's wrapper for the Vercel AI SDK, on Lockgate: `import … from "lockgate/petriflow/vercel-ai"`.
 *
 * It wraps the `execute` of each tool. New programs use `lockgate/ai`, which can mask inputs and outputs as well.
 *
 * @module
 */
import { LockgateError } from "../errors.js";
export { createGateManager } from "./manager.js";
export { defineSkillNet } from "./nets.js";
export type GateManager = import("./manager.js").GateManager;
export type ReplayEntry = import("./manager.js").ReplayEntry;
export type AnyNet = import("./nets.js").AnyNet;
export type PetriflowGateOptions = {
    /**
     * Which results are failures; if it throws, it is one.
     */
    isToolResultError: (toolName: string, result: any) => boolean;
    mode?: "enforce" | "shadow";
    /**
     * Asks a human; without it, no human is there.
     */
    confirm?: (title: string, message: string) => Promise<boolean>;
    onDecision?: import("./manager.js").GateManagerOptions["onDecision"];
    transformBlockReason?: (toolName: string, reason: string) => string;
};
/** @typedef {import("./manager.js").GateManager} GateManager */
/** @typedef {import("./manager.js").ReplayEntry} ReplayEntry */
/** @typedef {import("./nets.js").AnyNet} AnyNet */
/**
 * @typedef {object} PetriflowGateOptions
 * @property {(toolName: string, result: any) => boolean} isToolResultError Which results are failures; if it throws, it is one.
 * @property {"enforce" | "shadow"} [mode]
 * @property {(title: string, message: string) => Promise<boolean>} [confirm] Asks a human; without it, no human is there.
 * @property {import("./manager.js").GateManagerOptions["onDecision"]} [onDecision]
 * @property {(toolName: string, reason: string) => string} [transformBlockReason]
 */
/** A call that must not run. */
export declare class ToolCallBlockedError extends LockgateError {
    toolName: string;
    toolCallId: string;
    reason: string;
    /** @param {string} toolName @param {string} toolCallId @param {string} reason */
    constructor(toolName: string, toolCallId: string, reason: string);
}
/**
 * A gate whose every `wrapTools` begins a session.
 *
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} nets
 * @param {PetriflowGateOptions} options
 */
export declare function createPetriflowGate(nets: AnyNet[] | {
    registry: Record<string, AnyNet>;
    active?: string[];
}, options: PetriflowGateOptions): {
    /**
     * @template {Record<string, any>} T
     * @param {T} tools @param {{ messages?: any[] }} [history] What was called before.
     */
    wrapTools<T extends Record<string, any>>(tools: T, { messages }?: {
        messages?: any[];
    }): {
        tools: T;
        systemPrompt: () => string;
        formatStatus: () => string;
        addNet: (name: string) => {
            ok: boolean;
            message: string;
        };
        removeNet: (name: string) => {
            ok: boolean;
            message: string;
        };
        manager: import("./manager.js").GateManager;
    };
};
