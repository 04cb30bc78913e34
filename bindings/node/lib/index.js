/**
 * Lockgate for Node: a gate between AI agents and their tools.
 *
 * ```js
 * import { Gate, Policy } from "lockgate";
 *
 * const gate = new Gate(Policy.rules("require backup before delete"));
 * const tools = gate.tools({ backup, delete: remove });
 * await gate.session("conversation-17").within(() => tools.delete({ path: "data" })); // rejects with Blocked
 * ```
 *
 * @module
 */

export { AnswerError, Blocked, InputError, LockgateError, PolicyError, StoreError } from "./errors.js";
export { Gate } from "./gate.js";
export { ManualClock, Policy } from "./policy.js";
export { Session } from "./session.js";
export { Output, Permit, Question, Refusal } from "./ruling.js";

/** @typedef {import("./errors.js").Diagnostic} Diagnostic */
/** @typedef {import("./policy.js").About} About */
/** @typedef {import("./gate.js").Approver} Approver */
/** @typedef {import("./gate.js").Attempt} Attempt */
/** @typedef {import("./gate.js").CallView} CallView */
/** @typedef {import("./gate.js").GateOptions} GateOptions */
/** @typedef {import("./gate.js").ResultHook} ResultHook */
/** @typedef {import("./gate.js").Validator} Validator */
/** @typedef {import("./ruling.js").Ruling} Ruling */
