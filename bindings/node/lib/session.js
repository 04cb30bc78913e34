/**
 * Sessions: one agent's conversation each.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";

import { runGuarded } from "./guard.js";
import { asked, askedLater } from "./native.js";
import { jsonText, objectText, outputText } from "./plain.js";
import { aboutText } from "./policy.js";
import { Output, Question, rulingOf } from "./ruling.js";

/** @typedef {import("./gate.js").Gate} Gate */
/** @typedef {import("./native.js").NativeSession} NativeSession */
/** @typedef {import("./plain.js").JsonObject} JsonObject */
/** @typedef {import("./policy.js").About} About */
/** @typedef {import("./ruling.js").Ruling} Ruling */

/**
 * What the host knows about the calls of a session. A function gets the tool and its input.
 *
 * @typedef {About | ((tool: string, input: JsonObject) => About)} SessionAbout
 */

/** The session around the caller. @type {AsyncLocalStorage<Session>} */
export const current = new AsyncLocalStorage();

/** One agent's conversation: what its rules remember. Sessions of one name are one session. */
export class Session {
  /** @type {NativeSession} */
  #native;
  /** @type {NativeSession} */
  #guarded;

  /** @type {SessionAbout | undefined} */
  #about;

  /** @param {Gate} gate @param {string} name @param {(unattended: boolean) => NativeSession} open @param {boolean} unattended @param {SessionAbout} [about] */
  constructor(gate, name, open, unattended, about) {
    this.gate = gate;
    this.name = name;
    this.#about = about;
    this.#native = open(unattended);
    // Guarded tools ask only where somebody can answer.
    const isAlone = !gate.approver && gate.waitSeconds === undefined;
    this.#guarded = isAlone && !unattended ? open(true) : this.#native;
  }

  /** Runs `fn` so that this is the session of all guarded tools that it calls. @template T @param {() => T} fn @returns {T} */
  within(fn) {
    return current.run(this, fn);
  }

  /**
   * Judges a call: a permit to run it, a question to a human, or a refusal.
   *
   * @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Promise<Ruling>}
   */
  async call(tool, input, about) {
    return this.#judge(this.#native, tool, input, about);
  }

  /** The same at once, which keeps the event loop waiting if sessions are stored in a file. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Ruling} */
  callSync(tool, input, about) {
    return this.#judgeSync(this.#native, tool, input, about);
  }

  /**
   * Judges a call of a guarded tool: it asks only where somebody can answer, or where the framework pauses.
   *
   * @param {string} tool @param {JsonObject} [input] @param {About} [about] @param {boolean} [canPause] @returns {Promise<Ruling>}
   */
  async judge(tool, input, about, canPause = false) {
    return this.#judge(canPause ? this.#native : this.#guarded, tool, input, about);
  }

  /** @param {NativeSession} session @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Promise<Ruling>} */
  async #judge(session, tool, input, about) {
    if (!this.gate.isLater) return this.#judgeSync(session, tool, input, about);
    const [text, told] = [objectText(input, `the input of \`${tool}\``), this.#told(tool, input, about)];
    try {
      return rulingOf(await askedLater(() => session.callLater(tool, text, told)), tool, this.name, text, this.gate);
    } finally {
      this.gate.tell();
    }
  }

  /** @param {NativeSession} session @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Ruling} */
  #judgeSync(session, tool, input, about) {
    const [text, told] = [objectText(input, `the input of \`${tool}\``), this.#told(tool, input, about)];
    try {
      return rulingOf(asked(() => session.call(tool, text, told)), tool, this.name, text, this.gate);
    } finally {
      this.gate.tell();
    }
  }

  /** What is told about a call: what the session says of all its calls, and what is said of this one. @param {string} tool @param {JsonObject | undefined} input @param {About | undefined} about */
  #told(tool, input, about) {
    if (this.#about === undefined) return aboutText(about);
    const told = typeof this.#about === "function" ? JSON.parse(objectText(this.#about(tool, input ?? {}), "what is told about the session's calls")) : this.#about;
    const own = Object.entries(about ?? {}).filter(([, value]) => value !== undefined && value !== null);
    return aboutText({ ...told, ...Object.fromEntries(own) });
  }

  /**
   * Judges a call, runs `fn(input)` and settles. Rejects with `Blocked` if it must not run.
   *
   * @template T
   * @param {string} tool @param {JsonObject} input @param {(input: any) => T | Promise<T>} fn @param {About} [about]
   * @returns {Promise<T>}
   */
  async run(tool, input, fn, about) {
    return runGuarded(this, tool, input, fn, { about });
  }

  /** What each rule says to a call now, by itself. Nothing is stored. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {Promise<any[]>} */
  async explain(tool, input, about) {
    return this.#ask(this.#explanation(tool, input, about));
  }

  /** The same at once. @param {string} tool @param {JsonObject} [input] @param {About} [about] @returns {any[]} */
  explainSync(tool, input, about) {
    return this.askSync(this.#explanation(tool, input, about));
  }

  /** @param {string} tool @param {JsonObject} [input] @param {About} [about] */
  #explanation(tool, input, about) {
    return { do: "explain", tool, input: objectText(input, `the input of \`${tool}\``), about: this.#told(tool, input, about) };
  }

  /**
   * Stores the result of a call whose permit was detached.
   *
   * @param {string} callId @param {unknown} [output] @param {{ ok?: boolean }} [options] @returns {Promise<Output>}
   */
  async settle(callId, output, { ok = true } = {}) {
    const told = JSON.parse(outputText(output));
    return new Output(JSON.stringify(await this.#ask({ do: "settle", id: callId, ok, output: told })), output);
  }

  /** The same at once. @param {string} callId @param {unknown} [output] @param {{ ok?: boolean }} [options] @returns {Output} */
  settleSync(callId, output, { ok = true } = {}) {
    const told = JSON.parse(outputText(output));
    return new Output(JSON.stringify(this.askSync({ do: "settle", id: callId, ok, output: told })), output);
  }

  /** Where the session stands: nets, counters, workflows, open questions. @returns {Promise<any>} */
  async status() {
    return this.#ask({ do: "status" });
  }

  /** What the model should know now, for a system prompt. @returns {Promise<string>} */
  async prompt() {
    return this.#ask({ do: "prompt" });
  }

  /** The ids of the open questions. @returns {Promise<string[]>} */
  async questions() {
    return this.#ask({ do: "questions" });
  }

  /** Goes on with a question by its name, where another part of the program or another process asked it. @param {string} id @returns {Question} */
  question(id) {
    const ruling = asked(() => this.#native.question(id));
    return new Question(ruling, asked(() => ruling.tool()), this.name, this.gate);
  }

  /** Facts about the session from the host, such as a role; null removes one. Never from the agent. @param {JsonObject} attributes @returns {Promise<void>} */
  async describe(attributes) {
    await this.#ask({ do: "describe", attributes });
  }

  /** Adds calls that ran before the gate was there. @param {{ tool: string, input?: JsonObject, ok: boolean }[]} history @returns {Promise<any[]>} */
  async replay(history) {
    return this.#ask({ do: "replay", history });
  }

  /** Sets the counters of a new session. Returns false if the session has begun already. @param {{ toolCalls?: number, attempts?: number, perTool?: Record<string, number> }} counts @returns {Promise<boolean>} */
  async seed({ toolCalls = 0, attempts = 0, perTool = {} }) {
    return this.#ask({ do: "seed", toolCalls, attempts, perTool: Object.entries(perTool) });
  }

  /** Blocks every call of this session from now on. @param {string} reason @returns {Promise<void>} */
  async halt(reason) {
    await this.#ask({ do: "halt", reason });
  }

  /** Ends a halt of this session. @returns {Promise<void>} */
  async resume() {
    await this.#ask({ do: "resume" });
  }

  /** Tells the gate what the user said to the agent: never what the agent or a tool wrote. @param {string} text @returns {Promise<void>} */
  async hear(text) {
    await this.#ask({ do: "hear", text });
  }

  /** Forgets that sensitive data was seen: what that closed is open again. @returns {Promise<void>} */
  async untaint() {
    await this.#ask({ do: "untaint" });
  }

  /** Moves a workflow to a stage. With `dropEvidence` it begins there anew. @param {string} workflow @param {string} stage @param {{ dropEvidence?: boolean }} [options] @returns {Promise<void>} */
  async moveStage(workflow, stage, { dropEvidence = false } = {}) {
    await this.#ask({ do: "moveStage", workflow, stage, dropEvidence });
  }

  /** What the validator and the result hook of a net have noted. @param {string} net @returns {Promise<JsonObject>} */
  async notes(net) {
    return this.#ask({ do: "notes", net });
  }

  /** Switches a net, a file or a name on in this session. @param {string} name @returns {Promise<string>} */
  async activate(name) {
    return this.#ask({ do: "activate", name });
  }

  /** Switches a net, a file or a name off in this session. @param {string} name @returns {Promise<string>} */
  async deactivate(name) {
    return this.#ask({ do: "deactivate", name });
  }

  /** Whether another policy is in force than the one that the session is bound to. Then both decide. @returns {Promise<boolean>} */
  async isHeld() {
    return this.#ask({ do: "isHeld" });
  }

  /** Binds the session to the policy in force. For a human who has seen what the change opens, never for the agent. @param {string} by @returns {Promise<void>} */
  async acceptPolicy(by) {
    await this.#ask({ do: "acceptPolicy", by });
  }

  /** The session as JSON, to go on with it elsewhere. Keep it where the agent cannot change it. @returns {Promise<string>} */
  async toJson() {
    return this.#ask({ do: "toJson" });
  }

  /** @param {JsonObject} command @returns {Promise<any>} */
  async #ask(command) {
    if (!this.gate.isLater) return this.askSync(command);
    const text = jsonText(command, "what the session is told");
    return JSON.parse(await askedLater(() => this.#native.askLater(text)));
  }

  /** @internal @param {JsonObject} command @returns {any} */
  askSync(command) {
    const text = jsonText(command, "what the session is told");
    return JSON.parse(asked(() => this.#native.ask(text)));
  }
}
