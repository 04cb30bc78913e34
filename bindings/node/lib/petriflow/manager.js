/**
 * Several nets before one agent, judged by Lockgate's gate.
 *
 * Nets with a mapper of their own are functions that the gate cannot ask; they are played here (`nets.js`), inside of the
 * same decision: no net fires unless all agree.
 *
 * @module
 */

import { AnswerError, LockgateError } from "../errors.js";
import { Gate } from "../gate.js";
import { errorText, isThenable } from "../plain.js";
import { Policy } from "../policy.js";
import { Permit, Question } from "../ruling.js";
import {
  autoAdvance, blocked, classifyNets, confirmed, createGateState, failed, formatMarking, getEnabledToolTransitions,
  handleToolResult, openRound, questionOf, replayCall, validated,
} from "./nets.js";
import { originOf } from "./rules.js";

/** @typedef {import("./nets.js").AnyNet} AnyNet */
/** @typedef {import("./nets.js").AnyState} AnyState */
/** @typedef {import("./nets.js").GateContext} GateContext */
/** @typedef {import("./nets.js").GateDecision} GateDecision */
/** @typedef {import("./nets.js").GateToolCall} GateToolCall */
/** @typedef {import("./nets.js").GateToolResult} GateToolResult */
/** @typedef {{ toolName: string, input?: Record<string, any>, isError: boolean }} ReplayEntry */
/** @typedef {{ name: string, net: AnyNet, state: AnyState }} NetView */

/**
 * @typedef {object} GateManagerOptions
 * @property {"enforce" | "shadow"} [mode] `shadow` only observes: everything runs, and counts as it ran.
 * @property {(event: GateToolCall, decision: GateDecision) => void} [onDecision] Hears every decision, in both modes.
 */

/**
 * @typedef {object} GateManager
 * @property {(event: GateToolCall, ctx: GateContext) => Promise<GateDecision>} handleToolCall
 * @property {(event: GateToolResult) => void} handleToolResult
 * @property {(entries: ReplayEntry[] | string[]) => void} replay
 * @property {(name: string) => { ok: boolean, message: string }} addNet
 * @property {(name: string) => { ok: boolean, message: string }} removeNet
 * @property {() => NetView[]} getActiveNets
 * @property {() => (NetView & { active: boolean })[]} getAllNets
 * @property {() => string} formatStatus
 * @property {() => string} formatSystemPrompt
 * @property {boolean} isDynamic
 */

/** The nets of a text that were not given to the manager. */
const UNUSED = "lockgate-not-in-use";

/** The one session of a manager. */
const SESSION = "petriflow";

/** Who answered, for the audit log. */
const HUMAN = "ctx.confirm";

/**
 * A gate for one agent's session.
 *
 * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} input
 * @param {GateManagerOptions} [options]
 * @returns {GateManager}
 */
export function createGateManager(input, options = {}) {
  const manager = new Manager(input, options);
  return {
    handleToolCall: (event, ctx) => manager.call(event, ctx),
    handleToolResult: (event) => manager.result(event),
    replay: (entries) => manager.replay(entries),
    addNet: (name) => manager.add(name),
    removeNet: (name) => manager.remove(name),
    getActiveNets: () => manager.active().map(({ active, ...view }) => view),
    getAllNets: () => manager.views(),
    formatStatus: () => manager.status(),
    formatSystemPrompt: () => manager.prompt(),
    isDynamic: manager.isDynamic,
  };
}

/**
 * The first net that blocks a tool, for messages. A decision itself says which rules object.
 *
 * @param {GateManager} manager @param {string} toolName @returns {string}
 */
export function findBlockingNet(manager, toolName) {
  const active = manager.getActiveNets();
  const event = { toolName, input: {} };
  const verdicts = classifyNets(active.map((it) => it.net), active.map((it) => it.state), event);
  const place = verdicts.findIndex((verdict) => verdict.kind === "blocked");
  return active[Math.max(place, 0)]?.name ?? "petriflow";
}

class Manager {
  /** @type {{ key: string, net: AnyNet, host: AnyState | null, member: string, isActive: boolean }[]} */
  #entries;
  /** The active keys, in the order in which they were activated. @type {string[]} */
  #order;
  /** @type {import("../session.js").Session | null} */
  #session = null;
  /** The same where no human can be asked. @type {import("../session.js").Session | null} */
  #alone = null;
  /** The tools of the calls in flight, by id. @type {Map<string, string>} */
  #tools = new Map();
  #options;

  /**
   * @param {AnyNet[] | { registry: Record<string, AnyNet>, active?: string[] }} input
   * @param {GateManagerOptions} options
   */
  constructor(input, options) {
    this.#options = options;
    this.isDynamic = !Array.isArray(input);
    /** @type {[string, AnyNet][]} */
    const nets = Array.isArray(input) ? input.map((net) => [net.name, net]) : Object.entries(input.registry);
    const known = nets.map(([key]) => key);
    const wanted = Array.isArray(input) ? known : (input.active ?? known);
    this.#order = [...new Set(wanted)].filter((key) => known.includes(key));
    this.#entries = nets.map(([key, net], number) => {
      const isHost = typeof net.toolMapper === "function" && !originOf(net);
      const host = isHost ? createGateState(autoAdvance(net, { ...net.initialMarking })) : null;
      return { key, net, host, member: originOf(net)?.name ?? `net-${number + 1}.json`, isActive: this.#order.includes(key) };
    });
    const played = this.#entries.filter((it) => !it.host);
    if (played.length === 0) return;
    const gate = this.#open(played);
    this.#session = gate.session(SESSION);
    this.#alone = gate.session(SESSION, { unattended: true });
  }

  /** @param {{ key: string, net: AnyNet, member: string, isActive: boolean }[]} played @returns {Gate} */
  #open(played) {
    /** @type {Record<string, string>} */
    const texts = {};
    /** @type {Record<string, any>} */
    const validators = {};
    /** @type {Record<string, any>} */
    const onResults = {};
    /** @type {Map<string, Set<string>>} */
    const used = new Map();
    for (const { net, member } of played) {
      const origin = originOf(net);
      if (origin) {
        if (!used.has(origin.text)) {
          used.set(origin.text, new Set(origin.names));
          texts[`rules-${used.size}.rules`] = origin.text;
        }
        used.get(origin.text)?.delete(origin.name);
      } else {
        texts[member] = JSON.stringify(fileOf(net));
      }
      if (net.validateToolCall) validators[net.name] = validatorOf(net);
      if (net.onDeferredResult) onResults[net.name] = resultHookOf(net);
    }
    /** @type {Record<string, string[]>} */
    const names = {};
    const unused = [...used.values()].flatMap((rest) => [...rest]);
    if (unused.length > 0) names[UNUSED] = unused;
    if (this.isDynamic) for (const { key, member } of played) names[key] = [member];
    const isNamed = Object.keys(names).length > 0;
    const active = isNamed ? played.filter((it) => it.isActive && this.isDynamic).map((it) => it.key) : undefined;
    const mode = this.#options.mode === "shadow" ? "observe" : "enforce";
    return new Gate(new Policy({ texts }), { mode, names, active, validators, onResults });
  }

  get #isShadow() {
    return this.#options.mode === "shadow";
  }

  /** @param {GateToolCall} event @param {GateContext} ctx @returns {Promise<GateDecision>} */
  async call(event, ctx) {
    let decision;
    try {
      decision = await this.#decide(event, ctx);
    } catch (error) {
      decision = failed(error);
    }
    try {
      const heard = /** @type {unknown} */ (this.#options.onDecision?.(event, decision));
      if (isThenable(heard)) Promise.resolve(heard).catch(warn);
    } catch (error) {
      warn(error);
    }
    return this.#isShadow ? undefined : decision;
  }

  /** @param {GateToolCall} event @param {GateContext} ctx @returns {Promise<GateDecision>} */
  async #decide(event, ctx) {
    const hosts = this.#entries.filter((it) => it.host && it.isActive);
    const states = hosts.map((it) => /** @type {AnyState} */ (it.host));
    // No human is asked about rules that only observe.
    const human = this.#isShadow ? { hasUI: true, confirm: async () => true } : ctx;
    const round = await openRound(hosts.map((it) => it.net), states, event, human);
    if ("block" in round) return this.#firstReason(event, hosts, states) ?? round;
    const ruled = await this.#rule(event, ctx);
    if (ruled.block) {
      round.undo();
      return blocked(ruled.reason);
    }
    const late = round.commit();
    if (late) {
      // What it has spent stays spent: that opens nothing.
      this.#session?.settleSync(event.toolCallId, null, { ok: false });
      return late;
    }
    if (event.toolCallId) this.#tools.set(event.toolCallId, event.toolName);
    return ruled.observed;
  }

  /**
   * What Lockgate's gate says.
   *
   * @param {GateToolCall} event @param {GateContext} ctx
   * @returns {Promise<{ block: true, reason: string } | { block: false, observed: GateDecision }>}
   */
  async #rule(event, ctx) {
    const session = ctx?.hasUI ? this.#session : this.#alone;
    if (!session) return { block: false, observed: undefined };
    let ruling = session.callSync(event.toolName, event.input, { id: event.toolCallId });
    while (ruling instanceof Question) {
      const granted = await confirmed(ctx, ...this.#question(event, ruling));
      ruling = this.#answered(ruling, granted);
    }
    if (!(ruling instanceof Permit)) return blocked(ruling.reason);
    const [observed] = ruling.verdict.observed ?? [];
    if (ruling.isMasked) {
      ruling.settleSync(null, { ok: false });
      return blocked(`${event.toolName} would have to run with a masked input, which this interface cannot pass on; use \`gate.tools\` of \`lockgate\`.`);
    }
    ruling.detach();
    return { block: false, observed: observed && blocked(observed.reason) };
  }

  /** @param {Question} question @param {boolean} granted */
  #answered(question, granted) {
    try {
      return question.answerSync(granted, HUMAN);
    } catch (error) {
      // Its time was over, or the same call was answered on another visit.
      const ruling = error instanceof AnswerError ? question.resumeSync() : null;
      if (!ruling) throw error;
      return ruling;
    }
  }

  /** @param {GateToolCall} event @param {Question} question @returns {[string, string]} */
  #question(event, question) {
    const [asking] = question.verdict.obstacles ?? [];
    const net = this.#entries.find((it) => it.net.name === asking?.rule)?.net;
    const deed = question.verdict.deeds?.map((/** @type {any} */ it) => it.name) ?? [];
    const transition = net?.transitions.find((it) => it.type === "manual" && it.tools?.some((tool) => deed.includes(tool)));
    if (!net || !transition) return [`Approve: ${event.toolName}`, question.text];
    const tool = transition.tools?.find((it) => deed.includes(it)) ?? event.toolName;
    const [title, message] = questionOf(net, transition, tool);
    return [title, `${message}\n${question.text}`];
  }

  /**
   * Of several nets that block, the first is told. Nothing is stored here: a net that is played has refused already.
   *
   * @param {GateToolCall} event @param {{ net: AnyNet }[]} hosts @param {AnyState[]} states @returns {GateDecision}
   */
  #firstReason(event, hosts, states) {
    const verdicts = classifyNets(hosts.map((it) => it.net), states, event);
    const refusing = hosts.find((_, number) => verdicts[number].kind === "blocked");
    const place = this.#entries.findIndex((it) => it.net === refusing?.net);
    const views = this.#session?.explainSync(event.toolName, event.input) ?? [];
    const earlier = this.#entries.slice(0, Math.max(place, 0)).filter((it) => it.isActive && !it.host);
    const view = views.find((it) => it.says === "blocked" && earlier.some((entry) => entry.net.name === it.rule));
    return view && blocked(view.reason);
  }

  /** @param {GateToolResult} event */
  result(event) {
    const tool = this.#tools.get(event.toolCallId);
    // A result of another tool says nothing about this call.
    if (tool !== undefined && event.toolName !== undefined && event.toolName !== tool) return;
    this.#tools.delete(event.toolCallId);
    for (const { net, host } of this.#entries) {
      if (!host) continue;
      try {
        handleToolResult(event, net, host);
      } catch (error) {
        // A result hook that fails means that the success does not count.
        warn(error);
      }
    }
    this.#session?.settleSync(event.toolCallId, null, { ok: event.isError === false });
  }

  /** @param {ReplayEntry[] | string[]} entries */
  replay(entries) {
    const past = entries.map((it) => (typeof it === "string" ? { toolName: it, isError: false } : it));
    this.#session?.askSync({
      do: "replay",
      history: past.map((it) => ({ tool: it.toolName, input: it.input ?? {}, ok: it.isError === false })),
    });
    for (const [number, { toolName, input = {}, isError }] of past.entries()) {
      for (const { net, host } of this.#entries.filter((it) => it.isActive && it.host)) {
        replayCall(net, /** @type {AnyState} */ (host), { toolCallId: `replay-${number}`, toolName, input, isError });
      }
    }
  }

  /** @param {string} key @returns {{ ok: boolean, message: string }} */
  add(key) {
    return this.#switched(key, true, () => {
      if (!this.#entries.some((it) => it.key === key)) return `Unknown net '${key}'. Available: ${this.#entries.map((it) => it.key).join(", ")}`;
      return this.#order.includes(key) ? `'${key}' is already active` : undefined;
    });
  }

  /** @param {string} key @returns {{ ok: boolean, message: string }} */
  remove(key) {
    return this.#switched(key, false, () => {
      return this.#order.includes(key) ? undefined : `'${key}' is not active. Active: ${this.#order.join(", ")}`;
    });
  }

  /** @param {string} key @param {boolean} on @param {() => string | undefined} refuse */
  #switched(key, on, refuse) {
    if (!this.isDynamic) return { ok: false, message: "Static composition does not support dynamic nets" };
    const refused = refuse();
    if (refused !== undefined) return { ok: false, message: refused };
    for (const entry of this.#entries.filter((it) => it.key === key)) {
      if (!entry.host) this.#session?.askSync({ do: on ? "activate" : "deactivate", name: key });
      entry.isActive = on;
    }
    this.#order = on ? [...this.#order, key] : this.#order.filter((it) => it !== key);
    return { ok: true, message: on ? `Activated '${key}'` : `Deactivated '${key}' (state preserved)` };
  }

  /** Every net with its state, in the order of the registry. The states are copies: only calls and results change them. */
  views() {
    const nets = [...(this.#session?.askSync({ do: "status" }).nets ?? [])];
    const saved = this.#session ? JSON.parse(this.#session.askSync({ do: "toJson" })) : {};
    return this.#entries.map(({ key, net, host, isActive }) => {
      if (host) return { name: key, net, state: host, active: isActive };
      const place = nets.findIndex((it) => it?.name === net.name);
      const [status] = place < 0 ? [undefined] : nets.splice(place, 1, undefined);
      /** @type {Record<string, number>} */
      const marking = {};
      for (const it of net.places) marking[it] = status?.marking[it] ?? 0;
      const meta = net.validateToolCall || net.onDeferredResult ? this.#session?.askSync({ do: "notes", net: net.name }) : {};
      return { name: key, net, state: { marking, meta, pending: pendingOf(net, saved) }, active: isActive };
    });
  }

  /** The active nets, in the order in which they were activated. */
  active() {
    const views = this.views().filter((it) => it.active);
    if (!this.isDynamic) return views;
    return views.sort((a, b) => this.#order.indexOf(a.name) - this.#order.indexOf(b.name));
  }

  status() {
    const lines = this.views().filter((it) => it.net.places.length > 0).map(({ name, state, active }) => {
      const word = this.isDynamic ? ` (${active ? "active" : "inactive"})` : "";
      return `${name}${word}: ${formatMarking(state.marking)}`;
    });
    return lines.join("\n");
  }

  prompt() {
    const active = this.active().filter((it) => it.net.places.length > 0);
    const open = active.map(({ net, state }) => getEnabledToolTransitions(net, state.marking));
    // What needs a human is never told as open.
    const asking = new Set(open.flat().filter((it) => it.type === "manual").flatMap((it) => it.tools ?? []));
    const sections = active.map(({ net, state }, number) => {
      const tools = open[number].flatMap((it) => it.tools ?? []);
      const told = [...new Set(tools)].map((tool) => (asking.has(tool) ? `${tool} (needs approval)` : tool));
      return [
        `### ${net.name}`,
        `Available gated tools: ${told.join(", ") || "none"}`,
        `Free tools: ${net.freeTools.join(", ")}`,
        `State: ${formatMarking(state.marking)}`,
      ].join("\n");
    });
    return `## Active Petri Nets (composed)\n\n${sections.join("\n\n")}`.replace(/\n\n$/, "\n");
  }
}

/** The calls in flight that a net waits for. @param {AnyNet} net @param {any} saved @returns {AnyState["pending"]} */
function pendingOf(net, saved) {
  const pending = new Map();
  for (const [toolCallId, flight] of Object.entries(saved.flights ?? {})) {
    for (const { transition: name, deed } of flight.waiting ?? []) {
      const transition = net.transitions.find((it) => it.name === name && it.deferred && it.tools?.includes(deed));
      if (transition) pending.set(toolCallId, { toolCallId, transition, resolvedTool: deed });
    }
  }
  return pending;
}

/** A net as a file of Lockgate. @param {AnyNet} net */
function fileOf(net) {
  // A place that only a transition names holds no token.
  const arcs = net.transitions.flatMap((it) => [...it.inputs, ...it.outputs]);
  return {
    kind: "Net",
    name: net.name,
    places: [...new Set([...net.places, ...arcs])],
    marking: net.initialMarking,
    transitions: net.transitions.map(({ name, type, inputs, outputs, tools, deferred }) => ({ name, type, inputs, outputs, tools, deferred })),
    free_tools: net.freeTools,
    terminal_places: net.terminalPlaces,
  };
}

/** @param {AnyNet} net @param {string} name */
function transitionOf(net, name) {
  const transition = net.transitions.find((it) => it.name === name);
  if (!transition) throw new LockgateError(`${net.name} has no transition ${name}`);
  return transition;
}

/** @param {AnyNet} net @returns {import("../gate.js").Validator} */
function validatorOf(net) {
  return ({ call, deed, transition, marking, pending }, notes) => {
    const waiting = new Map(pending.map((it) => [it.id, { toolCallId: it.id, transition: transitionOf(net, transition), resolvedTool: it.deed }]));
    const state = { marking, meta: notes, pending: waiting };
    const event = { toolCallId: call.id, toolName: call.tool, input: call.input };
    const said = validated(net, event, deed, transitionOf(net, transition), state);
    copyInto(notes, state.meta);
    return said?.reason;
  };
}

/** @param {AnyNet} net @returns {import("../gate.js").ResultHook} */
function resultHookOf(net) {
  return ({ call, deed, transition }, notes) => {
    const state = { marking: {}, meta: notes, pending: new Map() };
    const event = { toolCallId: call.id, input: call.input, isError: false };
    const done = /** @type {unknown} */ (net.onDeferredResult?.(event, deed, transitionOf(net, transition), state));
    if (isThenable(done)) throw new TypeError("onDeferredResult returned a promise, and the gate does not wait for it");
    copyInto(notes, state.meta);
  };
}

/** A function may have put another object in the place of the notes. @param {any} notes @param {any} meta */
function copyInto(notes, meta) {
  if (meta === notes) return;
  for (const key of Object.keys(notes)) delete notes[key];
  Object.assign(notes, meta);
}

/** @param {unknown} error */
function warn(error) {
  process.emitWarning(errorText(error), "LockgateWarning");
}
