/**
 * Values as JSON text. What the gate judges must be what the tool gets, so whatever is not plain JSON is refused.
 *
 * @module
 */

import { InputError } from "./errors.js";

/** How deep values may be nested. */
const DEPTH_MAX = 100;

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
export function objectText(value, what) {
  if (value === undefined || value === null) return "{}";
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new InputError(`${what} is ${kindOf(value)}; give an object`);
  }
  return jsonText(value, what);
}

/**
 * A plain value as JSON text.
 *
 * @param {unknown} value
 * @param {string} what
 * @returns {string}
 */
export function jsonText(value, what) {
  check(value, what, 0);
  return JSON.stringify(value);
}

/**
 * What a tool returned, as JSON text. Dates count as their text, which is what a model would see of them.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function outputText(value) {
  if (value === undefined) return "null";
  return jsonText(dated(value, 0), "what the tool returned");
}

/** @param {any} value @param {number} depth @returns {any} */
function dated(value, depth) {
  if (value instanceof Date) return value.toJSON();
  if (value === null || typeof value !== "object" || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => dated(item, depth + 1));
  if (!isPlain(value)) return value;
  /** @type {JsonObject} */
  const copy = Object.create(null);
  for (const key of Object.keys(value)) copy[key] = dated(value[key], depth + 1);
  return copy;
}

/** @param {unknown} value @param {string} what @param {number} depth */
function check(value, what, depth) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw new InputError(`${what} has the number ${value}, which JSON does not have`);
      return;
    case "object":
      break;
    default:
      throw new InputError(`${what} has ${kindOf(value)}, which is not plain JSON`);
  }
  if (value === null) return;
  if (depth >= DEPTH_MAX) throw new InputError(`${what} is nested more than ${DEPTH_MAX} levels deep`);
  if (Array.isArray(value)) {
    // By number: a hole is undefined, which JSON would write as null.
    for (let index = 0; index < value.length; index++) check(value[index], what, depth + 1);
    if (/** @type {any} */ (value).toJSON !== undefined) throw new InputError(`${what} has an array with \`toJSON\``);
    return;
  }
  if (!isPlain(value)) throw new InputError(`${what} has ${kindOf(value)}, which is not plain JSON`);
  const object = /** @type {JsonObject} */ (value);
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item !== undefined) check(item, what, depth + 1);
  }
  // It would be judged as one thing and run as another.
  if (typeof object.toJSON === "function") throw new InputError(`${what} has an object with \`toJSON\``);
}

/** @param {object} value */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  // Also an object of another realm.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf"));
}

/** @param {unknown} value */
export function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") {
    const name = value.constructor?.name;
    return name && name !== "Object" ? `a ${name}` : "an object";
  }
  return { undefined: "undefined", function: "a function", symbol: "a symbol", bigint: "a BigInt" }[
    /** @type {string} */ (typeof value)
  ] ?? `a ${typeof value}`;
}

/**
 * Whether something is a promise, or would be taken for one.
 *
 * @param {any} value
 * @returns {value is PromiseLike<unknown>}
 */
export function isThenable(value) {
  return value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function";
}

/**
 * An error as text, whatever was thrown.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function errorText(error) {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "an error without a text";
  }
}
