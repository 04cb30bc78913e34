/**
 * Functions of the host that the native module calls.
 *
 * @module
 */

import { errorText, isThenable, jsonText, kindOf, objectText } from "./plain.js";

/**
 * What the native module calls while it judges. It never throws: whatever goes wrong is told, and blocks.
 *
 * @param {Record<string, Map<string, Function>>} functions
 * @returns {import("./native.js").Dispatch}
 */
export function dispatcher(functions) {
  return (kind, name, about, notes) => {
    try {
      const kept = JSON.parse(notes);
      const answer = functions[kind]?.get(name)?.(JSON.parse(about), kept);
      if (isThenable(answer)) {
        quiet(answer);
        return failure(kind, name, "it returned a promise, and the gate does not wait for it; return at once");
      }
      if (kind === "describe") return JSON.stringify({ value: answer === undefined ? null : JSON.parse(jsonText(answer, "a description")) });
      if (kind === "validator" && answer !== undefined && answer !== null) {
        if (typeof answer === "string") return JSON.stringify({ refusal: answer || "a validator refused the call" });
        return failure(kind, name, `it returned ${kindOf(answer)} instead of nothing or a string`);
      }
      return `{"notes":${objectText(kept, "notes")}}`;
    } catch (error) {
      return failure(kind, name, errorText(error));
    }
  };
}

/** @param {string} kind @param {string} name @param {string} text */
function failure(kind, name, text) {
  // A validator's failure is in the refusal; other failures would be silent.
  if (kind !== "validator") warn(`the function of \`${name}\` failed: ${text}`);
  return JSON.stringify({ failure: text });
}

/** A rejection without a handler would end the process. @param {unknown} answer */
export function quiet(answer) {
  if (isThenable(answer)) Promise.resolve(answer).catch((error) => warn(`a function failed: ${errorText(error)}`));
}

/** @param {string} text */
export function warn(text) {
  process.emitWarning(text, "LockgateWarning");
}
