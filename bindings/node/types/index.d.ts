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
export type Diagnostic = import("./errors.js").Diagnostic;
export type About = import("./policy.js").About;
export type Approver = import("./gate.js").Approver;
export type Attempt = import("./gate.js").Attempt;
export type CallView = import("./gate.js").CallView;
export type GateOptions = import("./gate.js").GateOptions;
export type ResultHook = import("./gate.js").ResultHook;
export type Validator = import("./gate.js").Validator;
export type Ruling = import("./ruling.js").Ruling;
/** @typedef {import("./errors.js").Diagnostic} Diagnostic */
/** @typedef {import("./policy.js").About} About */
/** @typedef {import("./gate.js").Approver} Approver */
/** @typedef {import("./gate.js").Attempt} Attempt */
/** @typedef {import("./gate.js").CallView} CallView */
/** @typedef {import("./gate.js").GateOptions} GateOptions */
/** @typedef {import("./gate.js").ResultHook} ResultHook */
/** @typedef {import("./gate.js").Validator} Validator */
/** @typedef {import("./ruling.js").Ruling} Ruling */
