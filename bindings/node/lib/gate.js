/**
 * Gates: policies in force.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { runGuarded } from "./guard.js";
import { dispatcher, quiet, warn } from "./host.js";
import { asked, askedLater, native } from "./native.js";
import { errorText, jsonText, kindOf, objectText, outputText } from "./plain.js";
import { ManualClock, Policy, aboutText } from "./policy.js";
import { Session, current } from "./session.js";

/** @typedef {import("./ruling.js").Question} Question */
/** @typedef {import("./native.js").NativeGate} NativeGate */
/** @typedef {import("./plain.js").JsonObject} JsonObject */

/**
 * A call as functions of the host see it.
 *
 * @typedef {object} CallView
 * @property {string} id
 * @property {string} session
 * @property {string} tool
 * @property {JsonObject} input
 */

/**
 * What a validator looks at.
 *
 * @typedef {object} Attempt
 * @property {CallView} call The call.
 * @property {string} deed The name of what it does, in the rules of the net.
 * @property {string} transition The transition that would fire.
 * @property {Record<string, number>} marking Tokens by place, before it fires.
 * @property {{ id: string, deed: string }[]} pending The calls in flight that the net waits for.
 */

/**
 * Looks at a call that a net would let pass. It returns nothing to agree, or a string that says why not; a throw, a promise
 * or anything else blocks the call. It must not ask the gate. `notes` is plain JSON and is kept for the session.
 *
 * @callback Validator
 * @param {Attempt} attempt
 * @param {JsonObject} notes
 * @returns {string | undefined | null | void}
 */

/**
 * Notes what a success means.
 *
 * @callback ResultHook
 * @param {{ call: CallView, deed: string, transition: string }} success
 * @param {JsonObject} notes
 * @returns {void}
 */

/**
 * Answers a question of a guarded tool. Only `true` is a yes; a throw, a rejection, a timeout or anything else is not.
 *
 * @callback Approver
 * @param {Question} question
 * @param {{ signal: AbortSignal }} options The signal is aborted when the time is over.
 * @returns {boolean | Promise<boolean>}
 */

/**
 * @typedef {object} GateOptions
 * @property {string} [store] Where sessions are: `memory`, or `sqlite:FILE`.
 * @property {"enforce" | "observe"} [mode] Whether rules act, or only say what they would do.
 * @property {Approver} [approver] Answers questions of guarded tools.
 * @property {number} [waitSeconds] How long the approver has, or without one how long an answer from elsewhere is waited for.
 *   Without both, a call that needs a human is blocked.
 * @property {ManualClock} [clock] Another clock than the machine's.
 * @property {Record<string, Validator>} [validators] By the name of the net.
 * @property {Record<string, ResultHook>} [onResults] By the name of the net.
 * @property {Record<string, (call: CallView) => unknown>} [describe] What only the host knows about a call; rules look at it
 *   as `prefix.…`.
 * @property {(call: CallView, verdict: any) => void} [onDecision] Hears every call with its verdict, after it was stored.
 * @property {Record<string, string[]>} [names] Names for nets and whole files, to switch them together.
 * @property {string[]} [active] Which names are active when a session begins.
 * @property {number} [answerSeconds] How long a human has to answer; ten minutes otherwise.
 * @property {number} [resultSeconds] How long a result is waited for before the call counts as failed; an hour otherwise.
 * @property {boolean} [runPrograms] Lets conditions of workflows run their programs.
 * @property {Record<string, string>} [restore] Sessions that `session.toJson` wrote, by name.
 */

const OPTIONS = new Set([
  "store", "mode", "approver", "waitSeconds", "clock", "validators", "onResults", "describe", "onDecision", "names",
  "active", "answerSeconds", "resultSeconds", "runPrograms", "restore",
]);

/** How long an approver has if nothing else is said: as long as a question is open. */
const ANSWER_SECONDS = 600;

/** A policy in force. One gate serves all sessions of a program. */
export class Gate {
  /** @type {NativeGate} */
  #native;
  #onDecision;

  /**
   * @param {Policy | string | URL} policy A policy, or the path of a file or folder.
   * @param {GateOptions} [options]
   */
  constructor(policy, options = {}) {
    for (const name of Object.keys(options)) {
      if (!OPTIONS.has(name)) {
        throw new LockgateError(`a gate has no option \`${name}\`; there are: ${[...OPTIONS].join(", ")}`);
      }
    }
    this.policy = policy instanceof Policy ? policy : Policy.open(policy);
    this.approver = functionOf(options.approver, "approver");
    /** How long an answer is waited for, in seconds. */
    this.waitSeconds = options.waitSeconds ?? (this.approver ? (options.answerSeconds ?? ANSWER_SECONDS) : undefined);
    this.#onDecision = functionOf(options.onDecision, "onDecision");
    const functions = {
      validator: functionsOf(options.validators, "validators"),
      onResult: functionsOf(options.onResults, "onResults"),
      describe: functionsOf(options.describe, "describe"),
    };
    const has = Object.values(functions).some((byName) => byName.size > 0);
    /** Whether decisions wait for a disk, and are made on another thread. Functions of the host run on this one. */
    this.isLater = !has && options.store !== undefined && !/^memory:?$/.test(options.store);
    const text = jsonText(
      {
        store: options.store,
        mode: options.mode ?? "enforce",
        names: Object.entries(options.names ?? {}),
        active: options.active,
        answer_seconds: options.answerSeconds,
        result_seconds: options.resultSeconds,
        run_programs: options.runPrograms ?? false,
        restore: options.restore ?? {},
      },
      "the options of the gate",
    );
    const names = JSON.stringify({
      validators: [...functions.validator.keys()],
      onResults: [...functions.onResult.keys()],
      describe: [...functions.describe.keys()],
      listens: this.#onDecision !== undefined,
    });
    const dispatch = has ? dispatcher(functions) : null;
    const clock = options.clock?._native ?? null;
    this.#native = asked(() => new native.Gate(this.policy._native, text, names, clock, dispatch));
  }

  /** A gate under the policy of a file, or of the policy files of a folder. @param {string | URL} path @param {GateOptions} [options] */
  static open(path, options) {
    return new Gate(Policy.open(path), options);
  }

  /**
   * One agent's conversation.
   *
   * @param {string} name
   * @param {{ unattended?: boolean, about?: import("./session.js").SessionAbout }} [options] With `unattended`, a call that needs
   *   a human is blocked. `about` is told with each of its calls, those of framework adapters too: `{ principal: { role: "sre" } }`.
   */
  session(name, { unattended = false, about } = {}) {
    return new Session(this, name, (alone) => asked(() => this.#native.session(name, alone)), unattended, about);
  }

  /** The session that `session.within` has set for the caller. */
  currentSession() {
    const session = current.getStore();
    if (session?.gate !== this) {
      throw new LockgateError('no session: call the tool inside `gate.session("NAME").within(…)`, one name per conversation');
    }
    return session;
  }

  /**
   * The session that counts for an adapter: one by name, the one around the caller, or the framework's own. There is no
   * default: a session that many conversations share lets one spend the budget of another.
   *
   * @param {string | Session | null} [named] @param {string | null} [own]
   */
  sessionFor(named, own) {
    if (named instanceof Session) return named;
    const around = current.getStore();
    // The session around the caller may know more about the same session.
    if (named) return around?.gate === this && around.name === named ? around : this.session(named);
    if (around?.gate === this) return around;
    return own ? this.session(own) : this.currentSession();
  }

  /**
   * What the rules say to a call by itself, and what would be passed on of `output`. There is no session: nothing is stored, no
   * human is asked, and workflows take no part.
   *
   * @param {string} tool @param {JsonObject} [input] @param {import("./policy.js").About & { output?: unknown }} [about]
   * @returns {{ verdict: any, settlement: any }}
   */
  evaluate(tool, input, { output, ...about } = {}) {
    const text = objectText(input, `the input of \`${tool}\``);
    const told = output === undefined ? null : outputText(output);
    const [verdict, settlement] = JSON.parse(asked(() => this.#native.evaluate(tool, text, aboutText(about), told)));
    return { verdict, settlement };
  }

  /**
   * Stores a human's answer to a question. The call goes on where it is waited for.
   *
   * @param {string} question @param {boolean} granted @param {string} by
   */
  async answer(question, granted, by) {
    await this.#operate({ do: "answer", question, granted: granted === true, by });
  }

  /** Blocks every call of every session from now on. @param {string} reason */
  async halt(reason) {
    await this.#operate({ do: "halt", reason });
  }

  /** Ends a halt. */
  async resume() {
    await this.#operate({ do: "resume" });
  }

  /**
   * Guards a function that takes one object: every call is judged, run with the input that the rules agree to, and settled.
   * A call that must not run rejects with `Blocked`. Further arguments are the program's own and are passed on.
   *
   * @template {(input: any, ...rest: any[]) => any} F
   * @param {F} fn
   * @param {{ name?: string, session?: string | Session, isFailure?: (value: Awaited<ReturnType<F>>) => boolean }} [options]
   *   `isFailure` says which results are failures, besides errors.
   * @returns {(...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>}
   */
  guard(fn, { name = fn.name, session, isFailure } = {}) {
    if (typeof fn !== "function") throw new LockgateError(`${kindOf(fn)} cannot be guarded; give a function`);
    if (!name) throw new LockgateError("a function without a name cannot be guarded; give `name`");
    return async (input, ...rest) =>
      runGuarded(this.sessionFor(session), name, input, (judged) => fn(judged, ...rest), { isFailure });
  }

  /**
   * Guards all functions of an object, by their keys.
   *
   * @template {Record<string, (input: any, ...rest: any[]) => any>} T
   * @param {T} tools
   * @param {{ session?: string | Session, isFailure?: (value: any) => boolean }} [options]
   * @returns {{ [K in keyof T]: (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>> }}
   */
  tools(tools, options = {}) {
    const guarded = Object.entries(tools).map(([name, fn]) => [name, this.guard(fn, { ...options, name })]);
    return Object.fromEntries(guarded);
  }

  /** @param {object} command */
  async #operate(command) {
    const text = jsonText(command, "what the gate is told");
    if (this.isLater) await askedLater(() => this.#native.operateLater(text));
    else asked(() => this.#native.operate(text));
  }

  /** Tells the listener what was decided. It changes nothing, so what goes wrong in it is only a warning. @internal */
  tell() {
    if (!this.#onDecision) return;
    const heard = this.#native.takeHeard();
    if (heard === null) return;
    for (const { call, verdict } of JSON.parse(heard)) {
      try {
        quiet(this.#onDecision(call, verdict));
      } catch (error) {
        warn(`a listener failed: ${errorText(error)}`);
      }
    }
  }
}

/** @template T @param {T} fn @param {string} name @returns {T} */
function functionOf(fn, name) {
  if (fn !== undefined && typeof fn !== "function") throw new LockgateError(`\`${name}\` is ${kindOf(fn)}; give a function`);
  return fn;
}

/** @param {Record<string, Function> | undefined} byName @param {string} option @returns {Map<string, Function>} */
function functionsOf(byName, option) {
  const entries = Object.entries(byName ?? {});
  for (const [name, fn] of entries) functionOf(fn, `${option}.${name}`);
  return new Map(entries);
}
