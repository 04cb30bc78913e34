/**
 * Sessions: one agent's conversation each.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Output, Question } from "./ruling.js";
export type Gate = import("./gate.js").Gate;
export type NativeSession = import("./native.js").NativeSession;
export type JsonObject = import("./plain.js").JsonObject;
export type About = import("./policy.js").About;
export type Ruling = import("./ruling.js").Ruling;
export type SessionAbout = About | ((tool: string, input: JsonObject) => About);
/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./native.js").NativeSession} NativeSession */
/** @typedef {import("./plain.js").JsonObject} JsonObject */
/** @typedef {import("./policy.js").About} About */
/** @typedef {import("./ruling.js").Ruling} Ruling */
/**
 * What the host knows about the calls of a session. A function gets the tool and its input.
 *
 * @typedef {About | ((tool: string, input: JsonObject) => About)} SessionAbout
 */
/** The session around the caller. @type {AsyncLocalStorage<Session>} */
export declare const current: AsyncLocalStorage<Session>;
/** One agent's conversation: what its rules remember. Sessions of one name are one session. */
export declare class Session {
    #private;
    gate: import("./gate.js").Gate;
    name: string;
    /** @param {Gate} gate @param {string} name @param {(unattended: boolean) => NativeSession} open @param {boolean} unattended @param {SessionAbout} [about] */
    constructor(gate: Gate, name: string, open: (unattended: boolean) => NativeSession, unattended: boolean, about?: SessionAbout);
    /** Runs `fn` so that this is the session of all guarded tools that it calls. @template T @param {() => T} fn @returns {T} */
    within<T>(fn: () => T): T;
    /**
     * Judges a call: a permit to run it, a question to a human, or a refusal.
     *
     * @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Promise<Ruling>}
     */
    call(tool: string, input?: JsonObject, about?: About): Promise<Ruling>;
    /** The same at once, which keeps the event loop waiting if sessions are stored in a file. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Ruling} */
    callSync(tool: string, input?: JsonObject, about?: About): Ruling;
    /**
     * Judges a call of a guarded tool: it asks only where somebody can answer, or where the framework pauses.
     *
     * @param {string} tool @param {JsonObject} [input] @param {About} [about] @param {boolean} [canPause] @returns {Promise<Ruling>}
     */
    judge(tool: string, input?: JsonObject, about?: About, canPause?: boolean): Promise<Ruling>;
    /**
     * Judges a call, runs `fn(input)` and settles. Rejects with `Blocked` if it must not run.
     *
     * @template T
     * @param {string} tool @param {JsonObject} input @param {(input: any) => T | Promise<T>} fn @param {About} [about]
     * @returns {Promise<T>}
     */
    run<T>(tool: string, input: JsonObject, fn: (input: any) => T | Promise<T>, about?: About): Promise<T>;
    /** What each rule says to a call now, by itself. Nothing is stored. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Promise<any[]>} */
    explain(tool: string, input?: JsonObject, about?: About): Promise<any[]>;
    /** The same at once. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {any[]} */
    explainSync(tool: string, input?: JsonObject, about?: About): any[];
    /**
     * Stores the result of a call whose permit was detached.
     *
     * @param {string} callId @param {unknown} [output] @param {{ ok?: boolean }} [options] @returns {Promise<Output>}
     */
    settle(callId: string, output?: unknown, { ok }?: {
        ok?: boolean;
    }): Promise<Output>;
    /** The same at once. @param {string} callId @param {unknown} [output] @param {{ ok?: boolean }} [options] @returns {Output} */
    settleSync(callId: string, output?: unknown, { ok }?: {
        ok?: boolean;
    }): Output;
    /** Where the session stands: nets, counters, workflows, open questions. @returns {Promise<any>} */
    status(): Promise<any>;
    /** What the model should know now, for a system prompt. @returns {Promise<string>} */
    prompt(): Promise<string>;
    /** The ids of the open questions. @returns {Promise<string[]>} */
    questions(): Promise<string[]>;
    /** Goes on with a question by its name, where another part of the program or another process asked it. @param {string} id @returns {Question} */
    question(id: string): Question;
    /** Facts about the session from the host, such as a role; null removes one. Never from the agent. @param {JsonObject} attributes @returns {Promise<void>} */
    describe(attributes: JsonObject): Promise<void>;
    /** Adds calls that ran before the gate was there. @param {{ tool: string, input?: JsonObject, ok: boolean }[]} history @returns {Promise<any[]>} */
    replay(history: {
        tool: string;
        input?: JsonObject;
        ok: boolean;
    }[]): Promise<any[]>;
    /** Sets the counters of a new session. Returns false if the session has begun already. @param {{ toolCalls?: number, attempts?: number, perTool?: Record<string, number> }} counts @returns {Promise<boolean>} */
    seed({ toolCalls, attempts, perTool }: {
        toolCalls?: number;
        attempts?: number;
        perTool?: Record<string, number>;
    }): Promise<boolean>;
    /** Blocks every call of this session from now on. @param {string} reason @returns {Promise<void>} */
    halt(reason: string): Promise<void>;
    /** Ends a halt of this session. @returns {Promise<void>} */
    resume(): Promise<void>;
    /** Tells the gate what the user said to the agent: never what the agent or a tool wrote. @param {string} text @returns {Promise<void>} */
    hear(text: string): Promise<void>;
    /** Forgets that sensitive data was seen: what that closed is open again. @returns {Promise<void>} */
    untaint(): Promise<void>;
    /** Moves a workflow to a stage. With `dropEvidence` it begins there anew. @param {string} workflow @param {string} stage @param {{ dropEvidence?: boolean }} [options] @returns {Promise<void>} */
    moveStage(workflow: string, stage: string, { dropEvidence }?: {
        dropEvidence?: boolean;
    }): Promise<void>;
    /** What the validator and the result hook of a net have noted. @param {string} net @returns {Promise<JsonObject>} */
    notes(net: string): Promise<JsonObject>;
    /** Switches a net, a file or a name on in this session. @param {string} name @returns {Promise<string>} */
    activate(name: string): Promise<string>;
    /** Switches a net, a file or a name off in this session. @param {string} name @returns {Promise<string>} */
    deactivate(name: string): Promise<string>;
    /** Whether another policy is in force than the one that the session is bound to. Then both decide. @returns {Promise<boolean>} */
    isHeld(): Promise<boolean>;
    /** Binds the session to the policy in force. For a human who has seen what the change opens, never for the agent. @param {string} by @returns {Promise<void>} */
    acceptPolicy(by: string): Promise<void>;
    /** The session as JSON, to go on with it elsewhere. Keep it where the agent cannot change it. @returns {Promise<string>} */
    toJson(): Promise<string>;
}
