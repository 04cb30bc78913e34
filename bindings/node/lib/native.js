/**
 * The native module. Without it there is no gate: importing the package fails, and no tool is let pass.
 *
 * @module
 */

import { createRequire } from "node:module";

import { LockgateError, translated } from "./errors.js";
import { platformFile } from "./platform.js";

/**
 * @typedef {object} NativePolicy
 * @property {string} hash
 * @property {string[]} ruleNames
 * @property {string} findings
 * @property {(statesMax: number) => string} nets
 * @property {(tools?: string[] | null) => Promise<string>} verify
 * @property {(newer: NativePolicy) => Promise<string>} diff
 * @property {(tool: string) => string} rulesAbout
 * @property {(tool: string, input: string, about?: string | null) => string} see
 */

/** @typedef {{ set(nowMs: number): void }} NativeClock */

/**
 * @typedef {object} NativeGate
 * @property {(name: string, unattended: boolean) => NativeSession} session
 * @property {(tool: string, input: string, about?: string | null, output?: string | null) => string} evaluate
 * @property {(command: string) => void} operate
 * @property {(command: string) => Promise<void>} operateLater
 * @property {() => string | null} takeHeard
 */

/**
 * @typedef {object} NativeSession
 * @property {(tool: string, input: string, about?: string | null) => NativeRuling} call
 * @property {(tool: string, input: string, about?: string | null) => Promise<NativeRuling>} callLater
 * @property {(id: string) => NativeRuling} question
 * @property {(command: string) => string} ask
 * @property {(command: string) => Promise<string>} askLater
 */

/**
 * @typedef {object} NativeRuling
 * @property {() => "run" | "masked" | "ask" | "block"} kind
 * @property {() => string} callId
 * @property {() => string} tool
 * @property {() => string} input
 * @property {() => string} verdict
 * @property {() => string} words
 * @property {(ok: boolean, output: string) => string} settle
 * @property {(ok: boolean, output: string) => Promise<string>} settleLater
 * @property {() => string} detach
 * @property {(step: string) => NativeRuling | null} goOn
 * @property {(step: string) => Promise<NativeRuling | null>} goOnLater
 */

/**
 * @typedef {object} Native
 * @property {new (files: string[], names: string[], texts: string[], selectors: string[]) => NativePolicy} Policy
 * @property {new (nowMs: number) => NativeClock} ManualClock
 * @property {new (policy: NativePolicy, options: string, functions: string, clock?: NativeClock | null, dispatch?: Dispatch | null) => NativeGate} Gate
 */

/** @typedef {(kind: string, name: string, about: string, notes: string) => string} Dispatch */

/** @returns {Native} */
function load() {
  try {
    return createRequire(import.meta.url)(platformFile("lockgate.node") ?? "../lockgate.node");
  } catch (error) {
    throw new LockgateError(
      "the native module of Lockgate cannot be loaded, so no tool may run; build it for this platform with " +
        "`./test node`, and allow native modules if Node runs with --permission (--allow-addons)",
      { cause: error },
    );
  }
}

export const native = load();

/**
 * Calls the native module, with errors of our classes.
 *
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
export function asked(work) {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

/**
 * The same for what happens on another thread.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function askedLater(work) {
  try {
    return await work();
  } catch (error) {
    throw translated(error);
  }
}
