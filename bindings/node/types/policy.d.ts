/**
 * Policies from files and texts, and the clock of tests.
 *
 * @module
 */
export type NativePolicy = import("./native.js").NativePolicy;
export type JsonObject = import("./plain.js").JsonObject;
export type About = {
    /**
     * The id of the call, for example the framework's own. A call that comes again while a human is
     * asked about it gets the same question.
     */
    id?: string;
    /**
     * The folder relative paths start from.
     */
    cwd?: string;
    /**
     * The deployment the agent runs in, such as `production`.
     */
    environment?: string;
    /**
     * The call of the agent that started this agent.
     */
    parent?: string;
    /**
     * The user or channel the request came from.
     */
    sender?: unknown;
    /**
     * The authenticated identity the agent acts for.
     */
    principal?: unknown;
    /**
     * Facts from the host, such as a risk level.
     */
    context?: unknown;
    /**
     * Facts about the call itself.
     */
    metadata?: unknown;
};
/** @typedef {import("./native.js").NativePolicy} NativePolicy */
/** @typedef {import("./plain.js").JsonObject} JsonObject */
/**
 * What the host knows about a call besides its tool and its input.
 *
 * @typedef {object} About
 * @property {string} [id] The id of the call, for example the framework's own. A call that comes again while a human is
 *   asked about it gets the same question.
 * @property {string} [cwd] The folder relative paths start from.
 * @property {string} [environment] The deployment the agent runs in, such as `production`.
 * @property {string} [parent] The call of the agent that started this agent.
 * @property {unknown} [sender] The user or channel the request came from.
 * @property {unknown} [principal] The authenticated identity the agent acts for.
 * @property {unknown} [context] Facts from the host, such as a risk level.
 * @property {unknown} [metadata] Facts about the call itself.
 */
/** A clock that shows what it is told, for tests and replays. */
export declare class ManualClock {
    /** @internal */
    _native: import("./native.js").NativeClock;
    /** @param {number} [nowMs] Milliseconds since 1970. */
    constructor(nowMs?: number);
    /** Sets the clock. A session's time never runs backwards, whatever its clock says. @param {number} nowMs */
    set(nowMs: number): void;
}
/** Rules that were read and compiled. Loading throws a `PolicyError` if there is any mistake. */
export declare class Policy {
    /** @internal @type {NativePolicy} */
    _native: NativePolicy;
    /**
     * Reads files and folders, and texts by the names that stand for their files. `selectors` are first words that rulesets
     * may look at, because the gate's `describe` answers them.
     *
     * @param {{ files?: (string | URL)[], texts?: Record<string, string>, selectors?: string[] }} parts
     */
    constructor({ files, texts, selectors }: {
        files?: (string | URL)[];
        texts?: Record<string, string>;
        selectors?: string[];
    });
    /** The policy of files and folders. @param {(string | URL)[]} paths */
    static open(...paths: (string | URL)[]): Policy;
    /** One-line rules from a text. @param {string} text */
    static rules(text: string): Policy;
    /** The same if and only if the same files are read in the same order. */
    get hash(): string;
    /** The names of the rules, in file order. */
    get ruleNames(): string[];
    /** Warnings and notes for the author. @returns {import("./errors.js").Diagnostic[]} */
    get findings(): import("./errors.js").Diagnostic[];
    /**
     * What `lockgate verify --json` prints: nets, findings, and every claim proved or broken by a session.
     *
     * @param {{ tools?: string[] }} [options] The names of all tools: a name that is none of them is a finding.
     * @returns {Promise<any>}
     */
    verify({ tools }?: {
        tools?: string[];
    }): Promise<any>;
    /** The shortest sessions that tell this policy from a newer one. @param {Policy} newer @returns {Promise<any>} */
    diff(newer: Policy): Promise<any>;
    /**
     * The rules that look at calls of a tool (check, sandbox, session) or at their results (output), in file order. Rules that remember
     * by a net and workflows are not among them: they look at deeds and stages.
     *
     * @param {string} tool @returns {{ rule: string, kind: "check" | "sandbox" | "session" | "output", mode: string, tags: string[] }[]}
     */
    rulesAbout(tool: string): {
        rule: string;
        kind: "check" | "sandbox" | "session" | "output";
        mode: string;
        tags: string[];
    }[];
    /**
     * What the gate sees in a call: commands, paths, hosts, sensitive data, what it amounts to, and every doubt.
     *
     * @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {any}
     */
    see(tool: string, input?: JsonObject, about?: About): any;
}
/** @param {About | undefined | null} about @returns {string | null} */
export declare function aboutText(about: About | undefined | null): string | null;
