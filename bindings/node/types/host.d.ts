/**
 * Functions of the host that the native module calls.
 *
 * @module
 */
/**
 * What the native module calls while it judges. It never throws: whatever goes wrong is told, and blocks.
 *
 * @param {Record<string, Map<string, Function>>} functions
 * @returns {import("./native.js").Dispatch}
 */
export declare function dispatcher(functions: Record<string, Map<string, Function>>): import("./native.js").Dispatch;
/** A rejection without a handler would end the process. @param {unknown} answer */
export declare function quiet(answer: unknown): void;
/** @param {string} text */
export declare function warn(text: string): void;
