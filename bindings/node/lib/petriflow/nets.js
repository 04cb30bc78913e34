/**
 * Nets whose state the caller holds, as plain objects. A manager needs this only for nets with a mapper of their own, which
 * Lockgate's gate cannot ask; everything else it leaves to that gate.
 *
 * Whatever goes wrong in a function of a net blocks the call.
 *
 * @module
 */

import { errorText, isThenable, kindOf } from "../plain.js";

/**
 * @template {string} Place
 * @typedef {Record<Place, number>} Marking
 */

/** @typedef {{ toolName: string, input: Record<string, any> }} ToolEvent */
/** @typedef {{ toolCallId: string, toolName: string, input: Record<string, any> }} GateToolCall */
/** @typedef {{ toolCallId: string, toolName: string, input: Record<string, any>, isError: boolean }} GateToolResult */
/** @typedef {{ hasUI: boolean, confirm: (title: string, message: string) => Promise<boolean> }} GateContext */
/** @typedef {{ block: true, reason: string } | undefined} GateDecision */

/**
 * @template {string} Place
 * @typedef {object} GatedTransition
 * @property {string} name
 * @property {"auto" | "manual"} type
 * @property {Place[]} inputs
 * @property {Place[]} outputs
 * @property {string[]} [tools]
 * @property {boolean} [deferred]
 */

/**
 * @template {string} Place
 * @typedef {object} GateState
 * @property {Marking<Place>} marking
 * @property {Record<string, any>} meta
 * @property {Map<string, { toolCallId: string, transition: GatedTransition<Place>, resolvedTool: string }>} pending
 */

/**
 * @template {string} Place
 * @typedef {object} SkillNet
 * @property {string} name
 * @property {Place[]} places
 * @property {GatedTransition<Place>[]} transitions
 * @property {Marking<Place>} initialMarking
 * @property {Place[]} terminalPlaces
 * @property {string[]} freeTools
 * @property {(event: ToolEvent) => string} [toolMapper]
 * @property {(event: ToolEvent, resolvedTool: string, transition: GatedTransition<Place>, state: GateState<Place>) => { block: true, reason: string } | void} [validateToolCall]
 * @property {(event: { toolCallId: string, input: Record<string, any>, isError: boolean }, resolvedTool: string, transition: GatedTransition<Place>, state: GateState<Place>) => void} [onDeferredResult]
 * @property {Record<string, any>} [ruleMetadata]
 */

/** @typedef {SkillNet<any>} AnyNet */
/** @typedef {GateState<any>} AnyState */

/**
 * @typedef {{ kind: "free", resolvedTool: string } | { kind: "abstain", resolvedTool: string }
 *   | { kind: "gated", resolvedTool: string, transition: GatedTransition<any> }
 *   | { kind: "blocked", resolvedTool: string, reason: string }} NetVerdict
 */

/** How many structural transitions may fire in a row. */
const FIRINGS_MAX = 10_000;

/**
 * A net, as it is given.
 *
 * @template {string} Place
 * @param {SkillNet<Place>} net
 * @returns {SkillNet<Place>}
 */
export function defineSkillNet(net) {
  return net;
}

/** @param {Marking<any>} marking @returns {AnyState} */
export function createGateState(marking) {
  return { marking, meta: {}, pending: new Map() };
}

/** Places that hold tokens, as `ready:1, budget:2`. @param {Marking<any>} marking */
export function formatMarking(marking) {
  const full = Object.entries(marking).filter(([, tokens]) => tokens > 0);
  return full.map(([place, tokens]) => `${place}:${tokens}`).join(", ");
}

/** The name that the net knows a call by. @param {AnyNet} net @param {ToolEvent} event @returns {string} */
export function resolveTool(net, event) {
  if (!net.toolMapper) return event.toolName;
  const name = net.toolMapper({ toolName: event.toolName, input: event.input ?? {} });
  if (typeof name !== "string") {
    if (isThenable(name)) Promise.resolve(name).catch(() => {});
    throw new TypeError(`the mapper of ${net.name} returned ${kindOf(name)} instead of a name`);
  }
  return name;
}

/** @param {Marking<any>} marking @param {GatedTransition<any>} transition */
function canFire(marking, transition) {
  return [...countOf(transition.inputs)].every(([place, count]) => (marking[place] ?? 0) >= count);
}

/** @param {string[]} places @returns {Map<string, number>} */
function countOf(places) {
  const counts = new Map();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  return counts;
}

/** @param {Marking<any>} marking @param {GatedTransition<any>} transition @returns {Marking<any>} */
function fire(marking, transition) {
  const next = { ...marking };
  for (const place of transition.inputs) next[place] = (next[place] ?? 0) - 1;
  for (const place of transition.outputs) next[place] = (next[place] ?? 0) + 1;
  return next;
}

/** @param {GatedTransition<any>} transition */
function isStructural(transition) {
  return transition.type === "auto" && !transition.tools?.length;
}

/**
 * Fires the transitions without tools, as long as it is plain which.
 *
 * @param {AnyNet} net @param {Marking<any>} marking @returns {Marking<any>}
 */
export function autoAdvance(net, marking) {
  // One without inputs would never stop.
  const structural = net.transitions.filter((it) => isStructural(it) && it.inputs.length > 0);
  const seen = new Set();
  for (let fired = 0; fired < FIRINGS_MAX; ) {
    const key = JSON.stringify(marking);
    if (seen.has(key)) return marking;
    seen.add(key);
    const enabled = structural.filter((it) => canFire(marking, it));
    const needs = enabled.map((it) => countOf(it.inputs));
    const isClear = (/** @type {number} */ number) =>
      [...needs[number]].every(([place, need]) =>
        needs.every((others, other) => other === number || !others.has(place) || marking[place] >= need + (others.get(place) ?? 0)),
      );
    let next = marking;
    for (const [number, transition] of enabled.entries()) {
      if (isClear(number) && canFire(next, transition)) {
        next = fire(next, transition);
        fired += 1;
      }
    }
    if (next === marking) return marking;
    marking = next;
  }
  return marking;
}

/** The transitions with tools that can fire now. @param {AnyNet} net @param {Marking<any>} marking */
export function getEnabledToolTransitions(net, marking) {
  return net.transitions.filter((it) => it.tools?.length && canFire(marking, it));
}

/** Why a net refuses. @param {AnyNet} net @param {string} resolvedTool @returns {string} */
export function formatBlockReason(net, resolvedTool) {
  const rule = net.ruleMetadata;
  switch (rule?.kind) {
    case "sequence":
      return `${rule.dependent} requires a successful call to ${rule.prerequisite} first.`;
    case "limit":
      return `${rule.tool} has reached its limit of ${rule.limit} calls per ${rule.scope}.`;
    case "block":
      return `${rule.tool} is blocked and cannot be called.`;
    case "approval":
      return `${rule.tool} requires human approval.`;
    default:
      return `Tool '${resolvedTool}' is not available in the current state.`;
  }
}

/** @param {AnyNet} net @param {AnyState} state @param {ToolEvent} event @returns {NetVerdict} */
function classify(net, state, event) {
  const resolvedTool = resolveTool(net, event);
  if (net.freeTools.includes(resolvedTool)) return { kind: "free", resolvedTool };
  const known = net.transitions.filter((it) => it.tools?.includes(resolvedTool));
  if (known.length === 0) return { kind: "abstain", resolvedTool };
  const transition = known.find((it) => canFire(state.marking, it));
  if (!transition) return { kind: "blocked", resolvedTool, reason: formatBlockReason(net, resolvedTool) };
  return { kind: "gated", resolvedTool, transition };
}

/**
 * What each net says to a call. Nothing changes.
 *
 * @param {AnyNet[]} nets @param {AnyState[]} states @param {ToolEvent} event @returns {NetVerdict[]}
 */
export function classifyNets(nets, states, event) {
  return nets.map((net, number) => classify(net, states[number], event));
}

/** @param {string} reason @returns {{ block: true, reason: string }} */
export function blocked(reason) {
  return { block: true, reason };
}

/** @param {unknown} error */
export function failed(error) {
  return blocked(`Lockgate could not decide (${errorText(error)}), so the call is blocked.`);
}

/**
 * A human's word. Only `true` is a yes.
 *
 * @param {GateContext} ctx @param {string} title @param {string} message @returns {Promise<boolean>}
 */
export async function confirmed(ctx, title, message) {
  try {
    return (await ctx.confirm(title, message)) === true;
  } catch {
    return false;
  }
}

/** @param {AnyNet} net @param {string} resolvedTool */
function needsHuman(net, resolvedTool) {
  const rule = net.ruleMetadata;
  return blocked(`${rule?.kind === "approval" ? rule.tool : resolvedTool} requires human approval.`);
}

/**
 * Asks the validator of a net.
 *
 * @param {AnyNet} net @param {GateToolCall} event @param {string} resolvedTool @param {GatedTransition<any>} transition
 * @param {AnyState} state @returns {GateDecision}
 */
export function validated(net, event, resolvedTool, transition, state) {
  const said = net.validateToolCall?.({ toolName: event.toolName, input: event.input ?? {} }, resolvedTool, transition, state);
  if (said === undefined || said === null) return undefined;
  if (typeof said === "object" && said.block === true) return blocked(String(said.reason));
  if (isThenable(said)) Promise.resolve(said).catch(() => {});
  throw new TypeError(`the validator of ${net.name} returned ${kindOf(said)} instead of nothing or { block: true, reason }`);
}

/**
 * One call before several nets whose states the caller holds: classify, ask, validate, commit.
 *
 * @param {() => AnyNet[]} getNets @param {() => AnyState[]} getStates @param {GateToolCall} event @param {GateContext} ctx
 * @returns {Promise<GateDecision>}
 */
export async function composedToolCall(getNets, getStates, event, ctx) {
  try {
    const round = await openRound(getNets(), getStates(), event, ctx);
    if ("block" in round) return round;
    return round.commit();
  } catch (error) {
    return failed(error);
  }
}

/**
 * The first three phases. `commit` is the fourth: it happens at once, or says why it cannot.
 *
 * @param {AnyNet[]} nets @param {AnyState[]} states @param {GateToolCall} event @param {GateContext} ctx
 * @returns {Promise<{ block: true, reason: string } | { commit: () => GateDecision, undo: () => void }>}
 */
export async function openRound(nets, states, event, ctx) {
  /** @type {{ net: AnyNet, state: AnyState, resolvedTool: string, transition: GatedTransition<any>, meta: any }[]} */
  const gated = [];
  for (const [number, verdict] of classifyNets(nets, states, event).entries()) {
    if (verdict.kind === "blocked") return blocked(verdict.reason);
    if (verdict.kind === "gated") gated.push({ ...verdict, net: nets[number], state: states[number], meta: undefined });
  }
  for (const { net, transition, resolvedTool } of gated.filter((it) => it.transition.type === "manual")) {
    if (!ctx.hasUI) return needsHuman(net, resolvedTool);
    const [title, message] = questionOf(net, transition, resolvedTool);
    if (!(await confirmed(ctx, title, withInput(message, event)))) return blocked(`${resolvedTool} was rejected by human review.`);
  }
  const undo = () => {
    for (const it of gated) if (it.meta !== undefined) it.state.meta = it.meta;
  };
  for (const it of gated) it.meta = structuredClone(it.state.meta);
  try {
    for (const { net, state, transition, resolvedTool } of gated) {
      const said = validated(net, event, resolvedTool, transition, state);
      if (said) {
        undo();
        return said;
      }
    }
  } catch (error) {
    undo();
    throw error;
  }
  const commit = () => {
    for (const { state, transition, resolvedTool } of gated) {
      if (!canFire(state.marking, transition) || state.pending.has(event.toolCallId)) {
        undo();
        return blocked(`Tool '${resolvedTool}' is no longer available (state changed).`);
      }
    }
    for (const { net, state, transition, resolvedTool } of gated) take(net, state, event, transition, resolvedTool);
    return undefined;
  };
  return { commit, undo };
}

/** @param {AnyNet} net @param {GatedTransition<any>} transition @param {string} resolvedTool @returns {[string, string]} */
export function questionOf(net, transition, resolvedTool) {
  return [
    `Approve: ${transition.name} (${net.name})`,
    `Allow '${resolvedTool}' via transition '${transition.name}' in net '${net.name}'?`,
  ];
}

/** A human must see what the grant is for. @param {string} message @param {GateToolCall} event */
export function withInput(message, event) {
  return `${message}\n  input: ${JSON.stringify(event.input ?? {})}`;
}

/** @param {AnyNet} net @param {AnyState} state @param {GateToolCall} event @param {GatedTransition<any>} transition @param {string} resolvedTool */
function take(net, state, event, transition, resolvedTool) {
  if (transition.deferred) {
    state.pending.set(event.toolCallId, { toolCallId: event.toolCallId, transition, resolvedTool });
  } else {
    state.marking = autoAdvance(net, fire(state.marking, transition));
  }
}

/**
 * One call before one net whose state the caller holds. A tool that the net does not know is blocked.
 *
 * @param {GateToolCall} event @param {GateContext} ctx @param {AnyNet} net @param {AnyState} state @returns {Promise<GateDecision>}
 */
export async function handleToolCall(event, ctx, net, state) {
  try {
    const verdict = classify(net, state, event);
    if (verdict.kind === "free") return undefined;
    const { resolvedTool } = verdict;
    if (verdict.kind !== "gated") return blocked(formatBlockReason(net, resolvedTool));
    const { transition } = verdict;
    const said = validated(net, event, resolvedTool, transition, state);
    if (said) return said;
    if (transition.type === "manual") {
      if (!ctx.hasUI) return needsHuman(net, resolvedTool);
      const message = `Allow '${resolvedTool}' via transition '${transition.name}'?`;
      if (!(await confirmed(ctx, `Approve: ${transition.name}`, withInput(message, event)))) {
        return blocked(`${resolvedTool} was rejected by human review.`);
      }
    }
    if (!canFire(state.marking, transition) || state.pending.has(event.toolCallId)) {
      return blocked(formatBlockReason(net, resolvedTool));
    }
    take(net, state, event, transition, resolvedTool);
    return undefined;
  } catch (error) {
    return failed(error);
  }
}

/**
 * Fires what waited for the success of a call.
 *
 * @param {GateToolResult} event @param {AnyNet} net @param {AnyState} state
 */
export function handleToolResult(event, net, state) {
  const pending = state.pending.get(event.toolCallId);
  if (!pending) return;
  state.pending.delete(event.toolCallId);
  if (event.isError !== false || !canFire(state.marking, pending.transition)) return;
  const fired = fire(state.marking, pending.transition);
  const { toolCallId, input, isError } = event;
  net.onDeferredResult?.({ toolCallId, input: input ?? {}, isError }, pending.resolvedTool, pending.transition, state);
  state.marking = autoAdvance(net, fired);
}

/**
 * Takes in a call that ran before: what it would have spent is spent, and a success earns what it would have earned.
 *
 * @param {AnyNet} net @param {AnyState} state @param {GateToolResult} event
 */
export function replayCall(net, state, event) {
  const verdict = classify(net, state, event);
  if (verdict.kind !== "gated" || (verdict.transition.deferred && event.isError)) return;
  state.pending.delete(event.toolCallId);
  if (verdict.transition.deferred) {
    state.pending.set(event.toolCallId, { toolCallId: event.toolCallId, ...verdict });
    handleToolResult(event, net, state);
  } else {
    state.marking = autoAdvance(net, fire(state.marking, verdict.transition));
  }
}
