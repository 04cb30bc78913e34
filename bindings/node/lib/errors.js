/**
 * What can go wrong. Each error says what to do next; none of them lets a tool run.
 *
 * @module
 */

/** The base of all errors of Lockgate, and of a use that it does not allow. */
export class LockgateError extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
    /** What kind of error this is, for programs. */
    this.code = CODES[/** @type {keyof typeof CODES} */ (new.target.name)] ?? "LOCKGATE";
  }
}

const CODES = {
  PolicyError: "LOCKGATE_POLICY",
  StoreError: "LOCKGATE_STORE",
  AnswerError: "LOCKGATE_ANSWER",
  InputError: "LOCKGATE_INPUT",
  Blocked: "LOCKGATE_BLOCKED",
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
export class PolicyError extends LockgateError {
  /** @param {string} message @param {Diagnostic[]} [diagnostics] */
  constructor(message, diagnostics = []) {
    super(message);
    this.diagnostics = diagnostics;
  }
}

/** Sessions cannot be read or stored. The call must not run. */
export class StoreError extends LockgateError {}

/** A question cannot be answered: it is not open, was answered before, or the store failed. */
export class AnswerError extends LockgateError {}

/** A value is not plain JSON, so the gate cannot judge what the tool would get. */
export class InputError extends LockgateError {}

/** A call must not run. The message is the sentence for the agent. */
export class Blocked extends LockgateError {
  /** @param {import("./ruling.js").Refusal} refusal */
  constructor(refusal) {
    super(refusal.sentence);
    this.refusal = refusal;
  }
}

const CLASSES = { PolicyError, StoreError, AnswerError, InputError, LockgateError };

/**
 * An error of the native module as one of these classes.
 *
 * @param {unknown} error
 * @returns {Error}
 */
export function translated(error) {
  if (!(error instanceof Error)) return new LockgateError(String(error));
  if (error instanceof LockgateError) return error;
  let told;
  try {
    told = JSON.parse(error.message);
  } catch {
    // A panic, or an argument of the wrong type.
    return new LockgateError(`Lockgate failed, so nothing was let pass: ${error.message}`, { cause: error });
  }
  const Class = CLASSES[/** @type {keyof typeof CLASSES} */ (told?.class)] ?? LockgateError;
  return Class === PolicyError
    ? new PolicyError(told.message, told.diagnostics ?? [])
    : new Class(String(told?.message ?? error.message));
}
