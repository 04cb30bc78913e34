/**
 * The native module. Without it there is no gate: importing the package fails, and no tool is let pass.
 *
 * @module
 */
export type NativePolicy = {
    hash: string;
    ruleNames: string[];
    findings: string;
    nets: (statesMax: number) => string;
    verify: (tools?: string[] | null) => Promise<string>;
    diff: (newer: NativePolicy) => Promise<string>;
    rulesAbout: (tool: string) => string;
    see: (tool: string, input: string, about?: string | null) => string;
};
export type NativeClock = {
    set(nowMs: number): void;
};
export type NativeGate = {
    session: (name: string, unattended: boolean) => NativeSession;
    evaluate: (tool: string, input: string, about?: string | null, output?: string | null) => string;
    operate: (command: string) => void;
    operateLater: (command: string) => Promise<void>;
    takeHeard: () => string | null;
};
export type NativeSession = {
    call: (tool: string, input: string, about?: string | null) => NativeRuling;
    callLater: (tool: string, input: string, about?: string | null) => Promise<NativeRuling>;
    question: (id: string) => NativeRuling;
    ask: (command: string) => string;
    askLater: (command: string) => Promise<string>;
};
export type NativeRuling = {
    kind: () => "run" | "masked" | "ask" | "block";
    callId: () => string;
    tool: () => string;
    input: () => string;
    verdict: () => string;
    words: () => string;
    settle: (ok: boolean, output: string) => string;
    settleLater: (ok: boolean, output: string) => Promise<string>;
    detach: () => string;
    goOn: (step: string) => NativeRuling | null;
    goOnLater: (step: string) => Promise<NativeRuling | null>;
};
export type Native = {
    Policy: new (files: string[], names: string[], texts: string[], selectors: string[]) => NativePolicy;
    ManualClock: new (nowMs: number) => NativeClock;
    Gate: new (policy: NativePolicy, options: string, functions: string, clock?: NativeClock | null, dispatch?: Dispatch | null) => NativeGate;
};
export type Dispatch = (kind: string, name: string, about: string, notes: string) => string;
export declare const native: Native;
/**
 * Calls the native module, with errors of our classes.
 *
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
export declare function asked<T>(work: () => T): T;
/**
 * The same for what happens on another thread.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export declare function askedLater<T>(work: () => Promise<T>): Promise<T>;
