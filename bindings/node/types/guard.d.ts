/**
 * The one loop around a tool: judge, ask, run, settle. `gate.guard` and every adapter use it.
 *
 * Each call that was let pass is settled exactly once: with its result, or as a failure when it threw. Whatever goes wrong
 * before the tool runs means that it does not run.
 *
 * @module
 */
import { Permit } from "./ruling.js";
export type About = import("./policy.js").About;
export type Session = import("./session.js").Session;
export type Ruling = import("./ruling.js").Ruling;
export type JsonObject = import("./plain.js").JsonObject;
/**
 * Judges a call, runs `fn` with the input that the rules agree to, and settles.
 *
 * @template T
 * @param {Session} session @param {string} tool @param {JsonObject} input @param {(input: any) => T | Promise<T>} fn
 * @param {{ about?: About, isFailure?: (value: any) => boolean }} [options]
 * @returns {Promise<T>}
 */
export declare function runGuarded<T>(session: Session, tool: string, input: JsonObject, fn: (input: any) => T | Promise<T>, { about, isFailure }?: {
    about?: About;
    isFailure?: (value: any) => boolean;
}): Promise<T>;
/**
 * Runs what was permitted, and settles.
 *
 * @template T
 * @param {Permit} permit @param {(input: any) => T | Promise<T>} fn @param {(value: any) => boolean} [isFailure]
 * @returns {Promise<T>}
 */
export declare function runPermitted<T>(permit: Permit, fn: (input: any) => T | Promise<T>, isFailure?: (value: any) => boolean): Promise<T>;
/**
 * The permit of a ruling, after asking where a human must be asked. Throws `Blocked` if the call must not run.
 *
 * @param {Session} session @param {Ruling} ruling @returns {Promise<Permit>}
 */
export declare function permitOf(session: Session, ruling: Ruling): Promise<Permit>;
/**
 * Settles a call that threw. If even that fails, the call lapses, which opens nothing.
 *
 * @param {Permit} permit @param {unknown} error
 */
export declare function settleFailure(permit: Permit, error: unknown): Promise<void>;
/** @param {any} value */
export declare function isStream(value: any): boolean;
