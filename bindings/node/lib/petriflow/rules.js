/**
 * One-line rules as nets, each with the number of its states.
 *
 * @module
 */

import { readFile } from "node:fs/promises";

import { LockgateError, PolicyError } from "../errors.js";
import { Policy } from "../policy.js";

/** @typedef {import("./nets.js").AnyNet} AnyNet */
/** @typedef {{ name: string, reachableStates: number }} NetVerification */
/** @typedef {{ nets: import("./nets.js").SkillNet<string>[], verification: NetVerification[] }} CompiledRules */

/** How many markings of a net are explored. */
const STATES_MAX = 10_000;

/**
 * Where a compiled net comes from. It stays with copies of the net, so that a manager judges by the rule and not by its
 * picture.
 */
export const ORIGIN = Symbol("lockgate.origin");

/**
 * The text of which a net is a rule.
 *
 * @typedef {object} Origin
 * @property {string} text
 * @property {string[]} names The names of all rules of the text.
 * @property {string} name The name of this one.
 */

/** @param {AnyNet} net @returns {Origin | undefined} */
export function originOf(net) {
  return /** @type {any} */ (net)[ORIGIN];
}

/** Reads and compiles a file of rules. @param {string | URL} path @returns {Promise<CompiledRules>} */
export async function loadRules(path) {
  return compile(await readFile(path, "utf8"));
}

/**
 * Compiles rules. The first mistake is thrown, with its line; `diagnostics` of the error has all of them.
 *
 * @param {string | string[]} rules
 * @returns {CompiledRules}
 */
export function compile(rules) {
  const text = Array.isArray(rules) ? rules.join("\n") : rules;
  if (typeof text !== "string") throw new LockgateError("rules are a text, or an array of texts");
  // There is nothing to judge by, and nothing that is taken for a rule.
  if (text.split("\n").every((line) => /^(map\s.*)?$/.test(line.replace(/#.*/, "").trim())) && !hasMistakes(text)) {
    return { nets: [], verification: [] };
  }
  const policy = read(text);
  const names = policy.ruleNames;
  /** @type {any[]} */
  const drawn = JSON.parse(policy._native.nets(STATES_MAX));
  const hasMaps = /^\s*map\s/m.test(text);
  const verification = drawn.map(({ name, states, isComplete }) => ({
    name,
    reachableStates: isComplete ? states : Infinity,
  }));
  const nets = names.map((name) => {
    const number = drawn.findIndex((net) => net?.name === name);
    const origin = { text, names, name };
    // A rule without a net has no picture; it is judged all the same.
    if (number < 0) return netOf({ name, text: "", places: [], marking: {}, transitions: [] }, origin, policy, hasMaps);
    const [net] = drawn.splice(number, 1, undefined);
    return netOf(net, origin, policy, hasMaps);
  });
  return { nets, verification };
}

/** @param {string} text @returns {Policy} */
function read(text) {
  try {
    return Policy.rules(text);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const first = error.diagnostics[0];
    throw first ? new PolicyError(`Line ${first.line}: ${first.message}`, error.diagnostics) : error;
  }
}

/** A text without rules may still have maps with mistakes, which are thrown. @param {string} text */
function hasMistakes(text) {
  if (!/^\s*map\s/m.test(text)) return false;
  read(`${text}\nblock lockgate-has-no-such-tool`);
  return false;
}

/** @param {any} drawn @param {Origin} origin @param {Policy} policy @param {boolean} hasMaps @returns {AnyNet} */
function netOf({ name, text, places, marking, transitions }, origin, policy, hasMaps) {
  /** @type {Set<string>} */
  const tools = new Set(transitions.flatMap((/** @type {any} */ it) => it.tools));
  /** @type {any} */
  const net = {
    name,
    places,
    terminalPlaces: [],
    freeTools: [],
    initialMarking: marking,
    transitions: transitions.map((/** @type {any} */ it) => ({
      name: it.name,
      type: it.type,
      inputs: it.inputs,
      outputs: it.outputs,
      ...(it.tools.length > 0 && { tools: it.tools }),
      ...(it.deferred && { deferred: true }),
    })),
    [ORIGIN]: origin,
  };
  const metadata = metadataOf(text);
  if (metadata) net.ruleMetadata = metadata;
  if (hasMaps || [...tools].some((tool) => tool.includes("."))) {
    net.toolMapper = (/** @type {import("./nets.js").ToolEvent} */ event) => {
      const deeds = policy.see(event.toolName, event.input ?? {}).deeds ?? [];
      const known = deeds.find((/** @type {any} */ deed) => tools.has(deed.name));
      return (known ?? deeds[0])?.name ?? event.toolName;
    };
  }
  return net;
}

/** @param {string} text */
function metadataOf(text) {
  const [verb, first, second, third, , scope] = text.trim().split(/\s+/);
  if (verb === "block") return { kind: "block", tool: first };
  if (verb === "limit" && second === "to") return { kind: "limit", tool: first, limit: Number.parseInt(third, 10), scope };
  if (verb !== "require" || second !== "before") return undefined;
  if (first === "human-approval") return { kind: "approval", tool: third };
  return { kind: "sequence", prerequisite: first, dependent: third };
}
