/**
 * What can go wrong. Each error says what to do next; none of them lets a tool run.
 *
 * @module
 */
/** The base of all errors of Lockgate, and of a use that it does not allow. */
export declare class LockgateError extends Error {
    /** What kind of error this is, for programs. */
    code: string;
    /** @param {string} message @param {ErrorOptions} [options] */
    constructor(message: string, options?: ErrorOptions);
}
export type Diagnostic = {
    /**
     * The name of the finding; docs/findings has a page for each.
     */
    code: string;
    /**
     * `error`, `warning` or `note`.
     */
    severity: string;
    /**
     * What is wrong.
     */
    message: string;
    /**
     * The file, or the name that stands for one.
     */
    file: string;
    /**
     * The line, from 1.
     */
    line: number;
    /**
     * The column, from 1.
     */
    column: number;
    /**
     * What to do.
     */
    remedy: string | null;
};
/**
 * What is known about a place of a policy.
 *
 * @typedef {object} Diagnostic
 * @property {string} code The name of the finding; docs/findings has a page for each.
 * @property {string} severity `error`, `warning` or `note`.
 * @property {string} message What is wrong.
 * @property {string} file The file, or the name that stands for one.
 * @property {number} line The line, from 1.
 * @property {number} column The column, from 1.
 * @property {string | null} remedy What to do.
 */
/**
 * A policy is not in force: it cannot be read, or it has mistakes. The message shows every mistake with its place and a
 * remedy; `diagnostics` has the same as data.
 */
export declare class PolicyError extends LockgateError {
    diagnostics: Diagnostic[];
    /** @param {string} message @param {Diagnostic[]} [diagnostics] */
    constructor(message: string, diagnostics?: Diagnostic[]);
}
/** Sessions cannot be read or stored. The call must not run. */
export declare class StoreError extends LockgateError {
}
/** A question cannot be answered: it is not open, was answered before, or the store failed. */
export declare class AnswerError extends LockgateError {
}
/** A value is not plain JSON, so the gate cannot judge what the tool would get. */
export declare class InputError extends LockgateError {
}
/** A call must not run. The message is the sentence for the agent. */
export declare class Blocked extends LockgateError {
    refusal: import("./ruling.js").Refusal;
    /** @param {import("./ruling.js").Refusal} refusal */
    constructor(refusal: import("./ruling.js").Refusal);
}
/**
 * An error of the native module as one of these classes.
 *
 * @param {unknown} error
 * @returns {Error}
 */
export declare function translated(error: unknown): Error;
