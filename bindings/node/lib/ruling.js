/**
 * What a gate answers to a call: a permit, a question or a refusal.
 *
 * @module
 */

import { LockgateError } from "./errors.js";
import { asked, askedLater } from "./native.js";
import { outputText } from "./plain.js";

/** @typedef {import("./native.js").NativeRuling} NativeRuling */
/** @typedef {import("./plain.js").JsonObject} JsonObject */
/** @typedef {Permit | Question | Refusal} Ruling */

/**
 * The part of a gate that rulings need.
 *
 * @typedef {object} Keeper
 * @property {boolean} isLater Whether decisions are made on another thread.
 * @property {() => void} tell Tells the listeners what was decided.
 */

/**
 * @param {NativeRuling} native
 * @param {string} tool
 * @param {string} session
 * @param {string | null} text The input that was judged; null behind a question, whose call may be of an earlier visit.
 * @param {Keeper} keeper
 * @returns {Ruling}
 */
export function rulingOf(native, tool, session, text, keeper) {
  const kind = asked(() => native.kind());
  switch (kind) {
    case "run":
      return new Permit(native, tool, session, text ?? asked(() => native.input()), false, keeper);
    case "masked":
      return new Permit(native, tool, session, asked(() => native.input()), true, keeper);
    case "ask":
      return new Question(native, tool, session, keeper);
    default:
      return new Refusal(native, tool, session);
  }
}

/**
 * The right to run one tool call, once. Run the tool with `input`, and settle the permit with the result; a permit that is
 * dropped counts as a failure.
 */
export class Permit {
  #native;
  #text;
  #keeper;
  /** @type {JsonObject | undefined} */
  #input;

  /**
   * @param {NativeRuling} native @param {string} tool @param {string} session @param {string} text
   * @param {boolean} isMasked @param {Keeper} keeper
   */
  constructor(native, tool, session, text, isMasked, keeper) {
    this.#native = native;
    this.#text = text;
    this.#keeper = keeper;
    /** @type {"run"} */
    this.decision = "run";
    /** The tool. */
    this.tool = tool;
    /** The name of the session. */
    this.session = session;
    /** Whether the input is not the one that the agent sent. */
    this.isMasked = isMasked;
  }

  /** The id of the call. */
  get id() {
    return asked(() => this.#native.callId());
  }

  /** The input to run the tool with, masked where a rule says so. It is a copy of what was judged. */
  get input() {
    return (this.#input ??= /** @type {JsonObject} */ (JSON.parse(this.#text)));
  }

  /** The verdict, as the line protocol writes it. @returns {any} */
  get verdict() {
    return JSON.parse(asked(() => this.#native.verdict()));
  }

  /**
   * Stores the result, and returns what may be passed on of it.
   *
   * @param {unknown} [output] What the tool returned.
   * @param {{ ok?: boolean }} [options] Whether the tool succeeded.
   * @returns {Promise<Output>}
   */
  async settle(output, options = {}) {
    if (!this.#keeper.isLater) return this.settleSync(output, options);
    const text = outputText(output);
    return new Output(await askedLater(() => this.#native.settleLater(options.ok ?? true, text)), output);
  }

  /**
   * The same at once, which keeps the event loop waiting if sessions are stored in a file.
   *
   * @param {unknown} [output] What the tool returned.
   * @param {{ ok?: boolean }} [options] Whether the tool succeeded.
   * @returns {Output}
   */
  settleSync(output, options = {}) {
    const text = outputText(output);
    return new Output(asked(() => this.#native.settle(options.ok ?? true, text)), output);
  }

  /** Leaves the call in flight and returns its id: `session.settle` settles it later, in any process. */
  detach() {
    return asked(() => this.#native.detach());
  }
}

/** What may be passed on of a tool's output. */
export class Output {
  /** @param {string} told @param {unknown} own */
  constructor(told, own) {
    const { value, decision, isUnchanged, sentence, isSettled, settlement } = JSON.parse(told);
    /** The value to hand to the agent: the tool's own, masked, or a sentence in its place. @type {any} */
    this.value = isUnchanged ? own : (value ?? undefined);
    /** What is decided about the output. @type {"allow" | "warn" | "redact" | "block"} */
    this.decision = decision;
    /** Whether the value is the tool's own. @type {boolean} */
    this.isUnchanged = isUnchanged;
    /** Why the output is not passed on as it is, and by which rule. @type {string | null} */
    this.sentence = sentence;
    /** Whether a call was waiting for this result. @type {boolean} */
    this.isSettled = isSettled;
    /** Everything that was decided, as the line protocol writes it. @type {any} */
    this.settlement = settlement;
  }
}

/** How long `Question.wait` sleeps between two looks, at first and at most, in milliseconds. */
const PAUSE_MIN = 5;
const PAUSE_MAX = 200;

/** A question to a human about one call. While it is open, the call holds what it would spend. */
export class Question {
  #native;
  #keeper;
  /** @type {{ id: string, text: string, sentence: string } | undefined} */
  #words;

  /** @param {NativeRuling} native @param {string} tool @param {string} session @param {Keeper} keeper */
  constructor(native, tool, session, keeper) {
    this.#native = native;
    this.#keeper = keeper;
    /** @type {"ask"} */
    this.decision = "ask";
    /** The tool. */
    this.tool = tool;
    /** The name of the session. */
    this.session = session;
  }

  get #said() {
    return (this.#words ??= JSON.parse(asked(() => this.#native.words())));
  }

  /** The name of the question, to hand on and to answer. @returns {string} */
  get id() {
    return this.#said.id;
  }

  /** The id of the call. */
  get callId() {
    return asked(() => this.#native.callId());
  }

  /** What a human has to see before saying yes: the rules, the tool and the whole input. @returns {string} */
  get text() {
    return this.#said.text;
  }

  /** The sentence for the agent. @returns {string} */
  get sentence() {
    return this.#said.sentence;
  }

  /** The input as a human may see it, masked where a rule says so. @returns {JsonObject} */
  get input() {
    return JSON.parse(asked(() => this.#native.input()));
  }

  /** The verdict, as the line protocol writes it. @returns {any} */
  get verdict() {
    return JSON.parse(asked(() => this.#native.verdict()));
  }

  /**
   * Stores a human's answer and goes on with the call. Only `true` is a yes.
   *
   * @param {boolean} granted
   * @param {string} by Who answered, for the audit log.
   * @returns {Promise<Ruling>}
   */
  async answer(granted, by) {
    return this.#settled(await this.#goOn({ do: "answer", granted: granted === true, by: String(by) }));
  }

  /** The same at once. @param {boolean} granted @param {string} by @returns {Ruling} */
  answerSync(granted, by) {
    return this.#settled(this.#goOnSync({ do: "answer", granted: granted === true, by: String(by) }));
  }

  /** Goes on with the call if the question was answered or its time is over; null while it is open. */
  async resume() {
    return this.#goOn({ do: "resume" });
  }

  /** The same at once. */
  resumeSync() {
    return this.#goOnSync({ do: "resume" });
  }

  /** Closes the question without an answer: blocked, unless every rule that asked treats a timeout as approval. */
  async timeOut() {
    return this.#settled(await this.#goOn({ do: "timeOut" }));
  }

  /**
   * Waits for an answer from elsewhere, for at most so many seconds, and goes on with the call.
   *
   * @param {number} seconds
   * @returns {Promise<Ruling>}
   */
  async wait(seconds) {
    if (!(seconds >= 0)) throw new LockgateError(`${seconds} is not a number of seconds`);
    const end = Date.now() + seconds * 1000;
    for (let pause = PAUSE_MIN; ; pause = Math.min(pause * 2, PAUSE_MAX)) {
      const ruling = await this.resume();
      if (ruling) return ruling;
      const left = end - Date.now();
      if (left <= 0) return this.timeOut();
      await new Promise((done) => setTimeout(done, Math.min(pause, left)));
    }
  }

  /** @param {object} step */
  async #goOn(step) {
    if (!this.#keeper.isLater) return this.#goOnSync(step);
    try {
      return this.#ruling(await askedLater(() => this.#native.goOnLater(JSON.stringify(step))));
    } finally {
      this.#keeper.tell();
    }
  }

  /** @param {object} step */
  #goOnSync(step) {
    try {
      return this.#ruling(asked(() => this.#native.goOn(JSON.stringify(step))));
    } finally {
      this.#keeper.tell();
    }
  }

  /** @param {NativeRuling | null} native @returns {Ruling | null} */
  #ruling(native) {
    return native && rulingOf(native, this.tool, this.session, null, this.#keeper);
  }

  /** @param {Ruling | null} ruling @returns {Ruling} */
  #settled(ruling) {
    if (!ruling) throw new LockgateError(`the question about \`${this.tool}\` is still open`);
    return ruling;
  }
}

/** A call that must not run, and why. */
export class Refusal {
  #native;
  /** @type {{ reason: string, sentence: string, next: string[], isTimeout: boolean } | undefined} */
  #words;

  /** @param {NativeRuling} native @param {string} tool @param {string} session */
  constructor(native, tool, session) {
    this.#native = native;
    /** @type {"block"} */
    this.decision = "block";
    /** The tool. */
    this.tool = tool;
    /** The name of the session. */
    this.session = session;
  }

  get #said() {
    return (this.#words ??= JSON.parse(asked(() => this.#native.words())));
  }

  /** The id of the call. */
  get id() {
    return asked(() => this.#native.callId());
  }

  /** The leading reason. @returns {string} */
  get reason() {
    return this.#said.reason;
  }

  /** The sentence for the agent: the reason and its rule, what else is in the way, and what to do first. @returns {string} */
  get sentence() {
    return this.#said.sentence;
  }

  /** What the agent could call now to get closer. @returns {string[]} */
  get next() {
    return this.#said.next;
  }

  /** Whether it was refused because no human answered in time. @returns {boolean} */
  get isTimeout() {
    return this.#said.isTimeout;
  }

  /** The verdict, as the line protocol writes it. @returns {any} */
  get verdict() {
    return JSON.parse(asked(() => this.#native.verdict()));
  }
}
