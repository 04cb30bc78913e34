/**
 * The one loop around a tool: judge, ask, run, settle. `gate.guard` and every adapter use it.
 *
 * Each call that was let pass is settled exactly once: with its result, or as a failure when it threw. Whatever goes wrong
 * before the tool runs means that it does not run.
 *
 * @module
 */

import { Blocked, InputError } from "./errors.js";
import { errorText, outputText } from "./plain.js";
import { Permit, Question } from "./ruling.js";

/** @typedef {import("./policy.js").About} About */
/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./ruling.js").Ruling} Ruling */
/** @typedef {import("./plain.js").JsonObject} JsonObject */

/** Who answered, for the audit log, when an approver did. */
const APPROVER = "the approver of the program";

/**
 * Judges a call, runs `fn` with the input that the rules agree to, and settles.
 *
 * @template T
 * @param {Session} session @param {string} tool @param {JsonObject} input @param {(input: any) => T | Promise<T>} fn
 * @param {{ about?: About, isFailure?: (value: any) => boolean }} [options]
 * @returns {Promise<T>}
 */
export async function runGuarded(session, tool, input, fn, { about, isFailure } = {}) {
  const permit = await permitOf(session, await session.judge(tool, input, about));
  return runPermitted(permit, fn, isFailure);
}

/**
 * Runs what was permitted, and settles.
 *
 * @template T
 * @param {Permit} permit @param {(input: any) => T | Promise<T>} fn @param {(value: any) => boolean} [isFailure]
 * @returns {Promise<T>}
 */
export async function runPermitted(permit, fn, isFailure) {
  let value, ok;
  try {
    value = await fn(permit.input);
    if (isStream(value)) throw new InputError("the tool returned a stream, and rules look at whole results; return one");
    outputText(value);
    ok = !(isFailure?.(value) ?? false);
  } catch (error) {
    await settleFailure(permit, error);
    throw error;
  }
  const output = await permit.settle(value, { ok });
  return output.value;
}

/**
 * The permit of a ruling, after asking where a human must be asked. Throws `Blocked` if the call must not run.
 *
 * @param {Session} session @param {Ruling} ruling @returns {Promise<Permit>}
 */
export async function permitOf(session, ruling) {
  const { approver, waitSeconds } = session.gate;
  while (ruling instanceof Question) {
    if (!approver) {
      ruling = await ruling.wait(waitSeconds ?? 0);
      continue;
    }
    const granted = await answerOf(approver, ruling, waitSeconds ?? 0);
    ruling = granted === undefined ? await ruling.timeOut() : await ruling.answer(granted, APPROVER);
  }
  if (ruling instanceof Permit) return ruling;
  throw new Blocked(ruling);
}

/**
 * What the approver says in time; undefined if it says nothing.
 *
 * @param {import("./gate.js").Approver} approver @param {Question} question @param {number} seconds
 * @returns {Promise<boolean | undefined>}
 */
async function answerOf(approver, question, seconds) {
  const abort = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((done) => {
    timer = setTimeout(done, Math.min(seconds * 1000, 2 ** 31 - 1));
  });
  try {
    const answered = (async () => (await approver(question, { signal: abort.signal })) === true)();
    // What it does after its time is over is ignored.
    answered.catch(() => {});
    return /** @type {boolean | undefined} */ (await Promise.race([answered, late]));
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/**
 * Settles a call that threw. If even that fails, the call lapses, which opens nothing.
 *
 * @param {Permit} permit @param {unknown} error
 */
export async function settleFailure(permit, error) {
  try {
    await permit.settle(errorText(error).toWellFormed?.() ?? "the tool failed", { ok: false });
  } catch {
    // The permit is dropped, and that is a failure too.
  }
}

/** @param {any} value */
export function isStream(value) {
  if (value === null || typeof value !== "object") return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && typeof value.next === "function");
}
