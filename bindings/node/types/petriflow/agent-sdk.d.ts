/**
 * The name of PetriFlow's wrapper for the Claude Agent SDK, on Lockgate: `import … from "lockgate/petriflow/agent-sdk"`.
 *
 * It gives hooks for `query({ options: { hooks } })`. Whatever goes wrong in a hook denies the call.
 *
 * @module
 */
export type AnyNet = import("./nets.js").AnyNet;
/** @typedef {import("./nets.js").AnyNet} AnyNet */
/**
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} nets
 * @param {import("./manager.js").GateManagerOptions & { confirm?: (title: string, message: string) => Promise<boolean> }} [options]
 */
export declare function createPetriflowGate(nets: AnyNet[] | {
    registry: Record<string, AnyNet>;
    active?: string[];
}, options?: import("./manager.js").GateManagerOptions & {
    confirm?: (title: string, message: string) => Promise<boolean>;
}): {
    hooks: {
        PreToolUse: {
            hooks: ((event: any, toolUseId: string) => Promise<{}>)[];
        }[];
        PostToolUse: {
            hooks: ((event: any, toolUseId: string) => Promise<{}>)[];
        }[];
        PostToolUseFailure: {
            hooks: ((event: any, toolUseId: string) => Promise<{}>)[];
        }[];
    };
    manager: import("./manager.js").GateManager;
    systemPrompt: () => string;
    formatStatus: () => string;
};
