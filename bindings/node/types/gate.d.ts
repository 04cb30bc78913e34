/**
 * Gates: policies in force.
 *
 * @module
 */
import { ManualClock, Policy } from "./policy.js";
import { Session } from "./session.js";
export type Question = import("./ruling.js").Question;
export type NativeGate = import("./native.js").NativeGate;
export type JsonObject = import("./plain.js").JsonObject;
export type CallView = {
    id: string;
    session: string;
    tool: string;
    input: JsonObject;
};
export type Attempt = {
    /**
     * The call.
     */
    call: CallView;
    /**
     * The name of what it does, in the rules of the net.
     */
    deed: string;
    /**
     * The transition that would fire.
     */
    transition: string;
    /**
     * Tokens by place, before it fires.
     */
    marking: Record<string, number>;
    /**
     * The calls in flight that the net waits for.
     */
    pending: {
        id: string;
        deed: string;
    }[];
};
export type Validator = (attempt: Attempt, notes: JsonObject) => string | undefined | null | void;
export type ResultHook = (success: {
    call: CallView;
    deed: string;
    transition: string;
}, notes: JsonObject) => void;
export type Approver = (question: Question, options: {
    signal: AbortSignal;
}) => boolean | Promise<boolean>;
export type GateOptions = {
    /**
     * Where sessions are: `memory`, or `sqlite:FILE`.
     */
    store?: string;
    /**
     * Whether rules act, or only say what they would do.
     */
    mode?: "enforce" | "observe";
    /**
     * Answers questions of guarded tools.
     */
    approver?: Approver;
    /**
     * How long the approver has, or without one how long an answer from elsewhere is waited for.
     * Without both, a call that needs a human is blocked.
     */
    waitSeconds?: number;
    /**
     * Another clock than the machine's.
     */
    clock?: ManualClock;
    /**
     * By the name of the net.
     */
    validators?: Record<string, Validator>;
    /**
     * By the name of the net.
     */
    onResults?: Record<string, ResultHook>;
    /**
     * What only the host knows about a call; rules look at it
     * as `prefix.…`.
     */
    describe?: Record<string, (call: CallView) => unknown>;
    /**
     * Hears every call with its verdict, after it was stored.
     */
    onDecision?: (call: CallView, verdict: any) => void;
    /**
     * Names for nets and whole files, to switch them together.
     */
    names?: Record<string, string[]>;
    /**
     * Which names are active when a session begins.
     */
    active?: string[];
    /**
     * How long a human has to answer; ten minutes otherwise.
     */
    answerSeconds?: number;
    /**
     * How long a result is waited for before the call counts as failed; an hour otherwise.
     */
    resultSeconds?: number;
    /**
     * Lets conditions of workflows run their programs.
     */
    runPrograms?: boolean;
    /**
     * Sessions that `session.toJson` wrote, by name.
     */
    restore?: Record<string, string>;
};
/** A policy in force. One gate serves all sessions of a program. */
export declare class Gate {
    #private;
    policy: Policy;
    approver: Approver | undefined;
    /** How long an answer is waited for, in seconds. */
    waitSeconds: number | undefined;
    /** Whether decisions wait for a disk, and are made on another thread. Functions of the host run on this one. */
    isLater: boolean;
    /**
     * @param {Policy | string | URL} policy A policy, or the path of a file or folder.
     * @param {GateOptions} [options]
     */
    constructor(policy: Policy | string | URL, options?: GateOptions);
    /** A gate under the policy of a file, or of the policy files of a folder. @param {string | URL} path @param {GateOptions} [options] */
    static open(path: string | URL, options?: GateOptions): Gate;
    /**
     * One agent's conversation.
     *
     * @param {string} name
     * @param {{ unattended?: boolean, about?: import("./session.js").SessionAbout }} [options] With `unattended`, a call that needs
     *   a human is blocked. `about` is told with each of its calls, those of framework adapters too: `{ principal: { role: "sre" } }`.
     */
    session(name: string, { unattended, about }?: {
        unattended?: boolean;
        about?: import("./session.js").SessionAbout;
    }): Session;
    /** The session that `session.within` has set for the caller. */
    currentSession(): Session;
    /**
     * The session that counts for an adapter: one by name, the one around the caller, or the framework's own. There is no
     * default: a session that many conversations share lets one spend the budget of another.
     *
     * @param {string | Session | null} [named] @param {string | null} [own]
     */
    sessionFor(named?: string | Session | null, own?: string | null): Session;
    /**
     * What the rules say to a call by itself, and what would be passed on of `output`. There is no session: nothing is stored, no
     * human is asked, and workflows take no part.
     *
     * @param {string} tool @param {JsonObject} [input] @param {import("./policy.js").About & { output?: unknown }} [about]
     * @returns {{ verdict: any, settlement: any }}
     */
    evaluate(tool: string, input?: JsonObject, { output, ...about }?: import("./policy.js").About & {
        output?: unknown;
    }): {
        verdict: any;
        settlement: any;
    };
    /**
     * Stores a human's answer to a question. The call goes on where it is waited for.
     *
     * @param {string} question @param {boolean} granted @param {string} by
     */
    answer(question: string, granted: boolean, by: string): Promise<void>;
    /** Blocks every call of every session from now on. @param {string} reason */
    halt(reason: string): Promise<void>;
    /** Ends a halt. */
    resume(): Promise<void>;
    /**
     * Guards a function that takes one object: every call is judged, run with the input that the rules agree to, and settled.
     * A call that must not run rejects with `Blocked`. Further arguments are the program's own and are passed on.
     *
     * @template {(input: any, ...rest: any[]) => any} F
     * @param {F} fn
     * @param {{ name?: string, session?: string | Session, isFailure?: (value: Awaited<ReturnType<F>>) => boolean }} [options]
     *   `isFailure` says which results are failures, besides errors.
     * @returns {(...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>}
     */
    guard<F extends (input: any, ...rest: any[]) => any>(fn: F, { name, session, isFailure }?: {
        name?: string;
        session?: string | Session;
        isFailure?: (value: Awaited<ReturnType<F>>) => boolean;
    }): (...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>;
    /**
     * Guards all functions of an object, by their keys.
     *
     * @template {Record<string, (input: any, ...rest: any[]) => any>} T
     * @param {T} tools
     * @param {{ session?: string | Session, isFailure?: (value: any) => boolean }} [options]
     * @returns {{ [K in keyof T]: (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>> }}
     */
    tools<T extends Record<string, (input: any, ...rest: any[]) => any>>(tools: T, options?: {
        session?: string | Session;
        isFailure?: (value: any) => boolean;
    }): { [K in keyof T]: (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>; };
}
