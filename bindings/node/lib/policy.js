/**
 * Policies from files and texts, and the clock of tests.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

import { asked, askedLater, native } from "./native.js";
import { objectText } from "./plain.js";

/** @typedef {import("./native.js").NativePolicy} NativePolicy */
/** @typedef {import("./plain.js").JsonObject} JsonObject */

/**
 * What the host knows about a call besides its tool and its input.
 *
 * @typedef {object} About
 * @property {string} [id] The id of the call, for example the framework's own. A call that comes again while a human is
 *   asked about it gets the same question.
 * @property {string} [cwd] The folder relative paths start from.
 * @property {string} [environment] The deployment the agent runs in, such as `production`.
 * @property {string} [parent] The call of the agent that started this agent.
 * @property {unknown} [sender] The user or channel the request came from.
 * @property {unknown} [principal] The authenticated identity the agent acts for.
 * @property {unknown} [context] Facts from the host, such as a risk level.
 * @property {unknown} [metadata] Facts about the call itself.
 */

/** A clock that shows what it is told, for tests and replays. */
export class ManualClock {
  /** @param {number} [nowMs] Milliseconds since 1970. */
  constructor(nowMs = 0) {
    /** @internal */
    this._native = asked(() => new native.ManualClock(nowMs));
  }

  /** Sets the clock. A session's time never runs backwards, whatever its clock says. @param {number} nowMs */
  set(nowMs) {
    asked(() => this._native.set(nowMs));
  }
}

/** Rules that were read and compiled. Loading throws a `PolicyError` if there is any mistake. */
export class Policy {
  /**
   * Reads files and folders, and texts by the names that stand for their files. `selectors` are first words that rulesets
   * may look at, because the gate's `describe` answers them.
   *
   * @param {{ files?: (string | URL)[], texts?: Record<string, string>, selectors?: string[] }} parts
   */
  constructor({ files = [], texts = {}, selectors = [] }) {
    const paths = files.map((file) => (file instanceof URL ? fileURLToPath(file) : file));
    /** @internal @type {NativePolicy} */
    this._native = asked(() => new native.Policy(paths, Object.keys(texts), Object.values(texts), selectors));
  }

  /** The policy of files and folders. @param {(string | URL)[]} paths */
  static open(...paths) {
    return new Policy({ files: paths });
  }

  /** One-line rules from a text. @param {string} text */
  static rules(text) {
    return new Policy({ texts: { "policy.rules": text } });
  }

  /** The same if and only if the same files are read in the same order. */
  get hash() {
    return this._native.hash;
  }

  /** The names of the rules, in file order. */
  get ruleNames() {
    return this._native.ruleNames;
  }

  /** Warnings and notes for the author. @returns {import("./errors.js").Diagnostic[]} */
  get findings() {
    return JSON.parse(this._native.findings);
  }

  /**
   * What `lockgate verify --json` prints: nets, findings, and every claim proved or broken by a session.
   *
   * @param {{ tools?: string[] }} [options] The names of all tools: a name that is none of them is a finding.
   * @returns {Promise<any>}
   */
  async verify({ tools } = {}) {
    return JSON.parse(await askedLater(() => this._native.verify(tools)));
  }

  /** The shortest sessions that tell this policy from a newer one. @param {Policy} newer @returns {Promise<any>} */
  async diff(newer) {
    return JSON.parse(await askedLater(() => this._native.diff(newer._native)));
  }

  /**
   * The rules that look at calls of a tool (check, sandbox, session) or at their results (output), in file order. Rules that remember
   * by a net and workflows are not among them: they look at deeds and stages.
   *
   * @param {string} tool @returns {{ rule: string, kind: "check" | "sandbox" | "session" | "output", mode: string, tags: string[] }[]}
   */
  rulesAbout(tool) {
    return JSON.parse(asked(() => this._native.rulesAbout(tool)));
  }

  /**
   * What the gate sees in a call: commands, paths, hosts, sensitive data, what it amounts to, and every doubt.
   *
   * @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {any}
   */
  see(tool, input, about) {
    const text = objectText(input, `the input of \`${tool}\``);
    return JSON.parse(asked(() => this._native.see(tool, text, aboutText(about))));
  }
}

/** @param {About | undefined | null} about @returns {string | null} */
export function aboutText(about) {
  return about === undefined || about === null ? null : objectText(about, "what is told about the call");
}
