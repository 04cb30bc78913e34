/**
 * Nets whose state the caller holds, as plain objects. A manager needs this only for nets with a mapper of their own, which
 * Lockgate's gate cannot ask; everything else it leaves to that gate.
 *
 * Whatever goes wrong in a function of a net blocks the call.
 *
 * @module
 */
export type Marking<Place extends string> = Record<Place, number>;
export type ToolEvent = {
    toolName: string;
    input: Record<string, any>;
};
export type GateToolCall = {
    toolCallId: string;
    toolName: string;
    input: Record<string, any>;
};
export type GateToolResult = {
    toolCallId: string;
    toolName: string;
    input: Record<string, any>;
    isError: boolean;
};
export type GateContext = {
    hasUI: boolean;
    confirm: (title: string, message: string) => Promise<boolean>;
};
export type GateDecision = {
    block: true;
    reason: string;
} | undefined;
export type GatedTransition<Place extends string> = {
    name: string;
    type: "auto" | "manual";
    inputs: Place[];
    outputs: Place[];
    tools?: string[];
    deferred?: boolean;
};
export type GateState<Place extends string> = {
    marking: Marking<Place>;
    meta: Record<string, any>;
    pending: Map<string, {
        toolCallId: string;
        transition: GatedTransition<Place>;
        resolvedTool: string;
    }>;
};
export type SkillNet<Place extends string> = {
    name: string;
    places: Place[];
    transitions: GatedTransition<Place>[];
    initialMarking: Marking<Place>;
    terminalPlaces: Place[];
    freeTools: string[];
    toolMapper?: (event: ToolEvent) => string;
    validateToolCall?: (event: ToolEvent, resolvedTool: string, transition: GatedTransition<Place>, state: GateState<Place>) => {
        block: true;
        reason: string;
    } | void;
    onDeferredResult?: (event: {
        toolCallId: string;
        input: Record<string, any>;
        isError: boolean;
    }, resolvedTool: string, transition: GatedTransition<Place>, state: GateState<Place>) => void;
    ruleMetadata?: Record<string, any>;
};
export type AnyNet = SkillNet<any>;
export type AnyState = GateState<any>;
export type NetVerdict = {
    kind: "free";
    resolvedTool: string;
} | {
    kind: "abstain";
    resolvedTool: string;
} | {
    kind: "gated";
    resolvedTool: string;
    transition: GatedTransition<any>;
} | {
    kind: "blocked";
    resolvedTool: string;
    reason: string;
};
/**
 * A net, as it is given.
 *
 * @template {string} Place
 * @param {SkillNet<Place>} net
 * @returns {SkillNet<Place>}
 */
export declare function defineSkillNet<Place extends string>(net: SkillNet<Place>): SkillNet<Place>;
/** @param {Marking<any>} marking @returns {AnyState} */
export declare function createGateState(marking: Marking<any>): AnyState;
/** Places that hold tokens, as `ready:1, budget:2`. @param {Marking<any>} marking */
export declare function formatMarking(marking: Marking<any>): string;
/** The name that the net knows a call by. @param {AnyNet} net @param {ToolEvent} event @returns {string} */
export declare function resolveTool(net: AnyNet, event: ToolEvent): string;
/**
 * Fires the transitions without tools, as long as it is plain which.
 *
 * @param {AnyNet} net @param {Marking<any>} marking @returns {Marking<any>}
 */
export declare function autoAdvance(net: AnyNet, marking: Marking<any>): Marking<any>;
/** The transitions with tools that can fire now. @param {AnyNet} net @param {Marking<any>} marking */
export declare function getEnabledToolTransitions(net: AnyNet, marking: Marking<any>): GatedTransition<any>[];
/** Why a net refuses. @param {AnyNet} net @param {string} resolvedTool @returns {string} */
export declare function formatBlockReason(net: AnyNet, resolvedTool: string): string;
/**
 * What each net says to a call. Nothing changes.
 *
 * @param {AnyNet[]} nets @param {AnyState[]} states @param {ToolEvent} event @returns {NetVerdict[]}
 */
export declare function classifyNets(nets: AnyNet[], states: AnyState[], event: ToolEvent): NetVerdict[];
/** @param {string} reason @returns {{ block: true, reason: string }} */
export declare function blocked(reason: string): {
    block: true;
    reason: string;
};
/** @param {unknown} error */
export declare function failed(error: unknown): {
    block: true;
    reason: string;
};
/**
 * A human's word. Only `true` is a yes.
 *
 * @param {GateContext} ctx @param {string} title @param {string} message @returns {Promise<boolean>}
 */
export declare function confirmed(ctx: GateContext, title: string, message: string): Promise<boolean>;
/**
 * Asks the validator of a net.
 *
 * @param {AnyNet} net @param {GateToolCall} event @param {string} resolvedTool @param {GatedTransition<any>} transition
 * @param {AnyState} state @returns {GateDecision}
 */
export declare function validated(net: AnyNet, event: GateToolCall, resolvedTool: string, transition: GatedTransition<any>, state: AnyState): GateDecision;
/**
 * One call before several nets whose states the caller holds: classify, ask, validate, commit.
 *
 * @param {() => AnyNet[]} getNets @param {() => AnyState[]} getStates @param {GateToolCall} event @param {GateContext} ctx
 * @returns {Promise<GateDecision>}
 */
export declare function composedToolCall(getNets: () => AnyNet[], getStates: () => AnyState[], event: GateToolCall, ctx: GateContext): Promise<GateDecision>;
/**
 * The first three phases. `commit` is the fourth: it happens at once, or says why it cannot.
 *
 * @param {AnyNet[]} nets @param {AnyState[]} states @param {GateToolCall} event @param {GateContext} ctx
 * @returns {Promise<{ block: true, reason: string } | { commit: () => GateDecision, undo: () => void }>}
 */
export declare function openRound(nets: AnyNet[], states: AnyState[], event: GateToolCall, ctx: GateContext): Promise<{
    block: true;
    reason: string;
} | {
    commit: () => GateDecision;
    undo: () => void;
}>;
/** @param {AnyNet} net @param {GatedTransition<any>} transition @param {string} resolvedTool @returns {[string, string]} */
export declare function questionOf(net: AnyNet, transition: GatedTransition<any>, resolvedTool: string): [string, string];
/** A human must see what the grant is for. @param {string} message @param {GateToolCall} event */
export declare function withInput(message: string, event: GateToolCall): string;
/**
 * One call before one net whose state the caller holds. A tool that the net does not know is blocked.
 *
 * @param {GateToolCall} event @param {GateContext} ctx @param {AnyNet} net @param {AnyState} state @returns {Promise<GateDecision>}
 */
export declare function handleToolCall(event: GateToolCall, ctx: GateContext, net: AnyNet, state: AnyState): Promise<GateDecision>;
/**
 * Fires what waited for the success of a call.
 *
 * @param {GateToolResult} event @param {AnyNet} net @param {AnyState} state
 */
export declare function handleToolResult(event: GateToolResult, net: AnyNet, state: AnyState): void;
/**
 * Takes in a call that ran before: what it would have spent is spent, and a success earns what it would have earned.
 *
 * @param {AnyNet} net @param {AnyState} state @param {GateToolResult} event
 */
export declare function replayCall(net: AnyNet, state: AnyState, event: GateToolResult): void;
