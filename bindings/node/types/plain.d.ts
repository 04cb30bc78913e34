/**
 * Values as JSON text. What the gate judges must be what the tool gets, so whatever is not plain JSON is refused.
 *
 * @module
 */
export type Json = null | boolean | number | string | Json[] | {
    [key: string]: Json;
};
export type JsonObject = {
    [key: string]: any;
};
/**
 * A JSON value.
 *
 * @typedef {null | boolean | number | string | Json[] | { [key: string]: Json }} Json
 */
/** @typedef {{ [key: string]: any }} JsonObject */
/**
 * A plain object as JSON text. A property that is `undefined` counts as missing, and the tool does not get it.
 *
 * @param {unknown} value
 * @param {string} what
 * @returns {string}
 */
export declare function objectText(value: unknown, what: string): string;
/**
 * A plain value as JSON text.
 *
 * @param {unknown} value
 * @param {string} what
 * @returns {string}
 */
export declare function jsonText(value: unknown, what: string): string;
/**
 * What a tool returned, as JSON text. Dates count as their text, which is what a model would see of them.
 *
 * @param {unknown} value
 * @returns {string}
 */
export declare function outputText(value: unknown): string;
/** @param {unknown} value */
export declare function kindOf(value: unknown): string;
/**
 * Whether something is a promise, or would be taken for one.
 *
 * @param {any} value
 * @returns {value is PromiseLike<unknown>}
 */
export declare function isThenable(value: any): value is PromiseLike<unknown>;
/**
 * An error as text, whatever was thrown.
 *
 * @param {unknown} error
 * @returns {string}
 */
export declare function errorText(error: unknown): string;
