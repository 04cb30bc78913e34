/**
 * What a gate answers to a call: a permit, a question or a refusal.
 *
 * @module
 */
export type NativeRuling = import("./native.js").NativeRuling;
export type JsonObject = import("./plain.js").JsonObject;
export type Ruling = Permit | Question | Refusal;
export type Keeper = {
    /**
     * Whether decisions are made on another thread.
     */
    isLater: boolean;
    /**
     * Tells the listeners what was decided.
     */
    tell: () => void;
};
/** @typedef {import("./native.js").NativeRuling} NativeRuling */
/** @typedef {import("./plain.js").JsonObject} JsonObject */
/** @typedef {Permit | Question | Refusal} Ruling */
/**
 * The part of a gate that rulings need.
 *
 * @typedef {object} Keeper
 * @property {boolean} isLater Whether decisions are made on another thread.
 * @property {() => void} tell Tells the listeners what was decided.
 */
/**
 * @param {NativeRuling} native
 * @param {string} tool
 * @param {string} session
 * @param {string | null} text The input that was judged; null behind a question, whose call may be of an earlier visit.
 * @param {Keeper} keeper
 * @returns {Ruling}
 */
export declare function rulingOf(native: NativeRuling, tool: string, session: string, text: string | null, keeper: Keeper): Ruling;
/**
 * The right to run one tool call, once. Run the tool with `input`, and settle the permit with the result; a permit that is
 * dropped counts as a failure.
 */
export declare class Permit {
    #private;
    /** @type {"run"} */
    decision: "run";
    /** The tool. */
    tool: string;
    /** The name of the session. */
    session: string;
    /** Whether the input is not the one that the agent sent. */
    isMasked: boolean;
    /**
     * @param {NativeRuling} native @param {string} tool @param {string} session @param {string} text
     * @param {boolean} isMasked @param {Keeper} keeper
     */
    constructor(native: NativeRuling, tool: string, session: string, text: string, isMasked: boolean, keeper: Keeper);
    /** The id of the call. */
    get id(): string;
    /** The input to run the tool with, masked where a rule says so. It is a copy of what was judged. */
    get input(): import("./plain.js").JsonObject;
    /** The verdict, as the line protocol writes it. @returns {any} */
    get verdict(): any;
    /**
     * Stores the result, and returns what may be passed on of it.
     *
     * @param {unknown} [output] What the tool returned.
     * @param {{ ok?: boolean }} [options] Whether the tool succeeded.
     * @returns {Promise<Output>}
     */
    settle(output?: unknown, options?: {
        ok?: boolean;
    }): Promise<Output>;
    /**
     * The same at once, which keeps the event loop waiting if sessions are stored in a file.
     *
     * @param {unknown} [output] What the tool returned.
     * @param {{ ok?: boolean }} [options] Whether the tool succeeded.
     * @returns {Output}
     */
    settleSync(output?: unknown, options?: {
        ok?: boolean;
    }): Output;
    /** Leaves the call in flight and returns its id: `session.settle` settles it later, in any process. */
    detach(): string;
}
/** What may be passed on of a tool's output. */
export declare class Output {
    /** The value to hand to the agent: the tool's own, masked, or a sentence in its place. @type {any} */
    value: any;
    /** What is decided about the output. @type {"allow" | "warn" | "redact" | "block"} */
    decision: "allow" | "warn" | "redact" | "block";
    /** Whether the value is the tool's own. @type {boolean} */
    isUnchanged: boolean;
    /** Why the output is not passed on as it is, and by which rule. @type {string | null} */
    sentence: string | null;
    /** Whether a call was waiting for this result. @type {boolean} */
    isSettled: boolean;
    /** Everything that was decided, as the line protocol writes it. @type {any} */
    settlement: any;
    /** @param {string} told @param {unknown} own */
    constructor(told: string, own: unknown);
}
/** A question to a human about one call. While it is open, the call holds what it would spend. */
export declare class Question {
    #private;
    /** @type {"ask"} */
    decision: "ask";
    /** The tool. */
    tool: string;
    /** The name of the session. */
    session: string;
    /** @param {NativeRuling} native @param {string} tool @param {string} session @param {Keeper} keeper */
    constructor(native: NativeRuling, tool: string, session: string, keeper: Keeper);
    /** The name of the question, to hand on and to answer. @returns {string} */
    get id(): string;
    /** The id of the call. */
    get callId(): string;
    /** What a human has to see before saying yes: the rules, the tool and the whole input. @returns {string} */
    get text(): string;
    /** The sentence for the agent. @returns {string} */
    get sentence(): string;
    /** The input as a human may see it, masked where a rule says so. @returns {JsonObject} */
    get input(): JsonObject;
    /** The verdict, as the line protocol writes it. @returns {any} */
    get verdict(): any;
    /**
     * Stores a human's answer and goes on with the call. Only `true` is a yes.
     *
     * @param {boolean} granted
     * @param {string} by Who answered, for the audit log.
     * @returns {Promise<Ruling>}
     */
    answer(granted: boolean, by: string): Promise<Ruling>;
    /** The same at once. @param {boolean} granted @param {string} by @returns {Ruling} */
    answerSync(granted: boolean, by: string): Ruling;
    /** Goes on with the call if the question was answered or its time is over; null while it is open. */
    resume(): Promise<Ruling | null>;
    /** The same at once. */
    resumeSync(): Ruling | null;
    /** Closes the question without an answer: blocked, unless every rule that asked treats a timeout as approval. */
    timeOut(): Promise<Ruling>;
    /**
     * Waits for an answer from elsewhere, for at most so many seconds, and goes on with the call.
     *
     * @param {number} seconds
     * @returns {Promise<Ruling>}
     */
    wait(seconds: number): Promise<Ruling>;
}
/** A call that must not run, and why. */
export declare class Refusal {
    #private;
    /** @type {"block"} */
    decision: "block";
    /** The tool. */
    tool: string;
    /** The name of the session. */
    session: string;
    /** @param {NativeRuling} native @param {string} tool @param {string} session */
    constructor(native: NativeRuling, tool: string, session: string);
    /** The id of the call. */
    get id(): string;
    /** The leading reason. @returns {string} */
    get reason(): string;
    /** The sentence for the agent: the reason and its rule, what else is in the way, and what to do first. @returns {string} */
    get sentence(): string;
    /** What the agent could call now to get closer. @returns {string[]} */
    get next(): string[];
    /** Whether it was refused because no human answered in time. @returns {boolean} */
    get isTimeout(): boolean;
    /** The verdict, as the line protocol writes it. @returns {any} */
    get verdict(): any;
}
