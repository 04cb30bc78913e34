/**
 * The names of PetriFlow's rules and gate packages, on Lockgate: `import … from "lockgate/petriflow"`.
 *
 * Rules and nets are judged by Lockgate's own gate, so every command of a script counts, a doubt never opens, tokens are
 * reserved while a human is asked, and only `true` is a yes. docs/from/petriflow.md lists what differs.
 *
 * @module
 */

export { compile, loadRules } from "./petriflow/rules.js";
export { createGateManager, findBlockingNet } from "./petriflow/manager.js";
export {
  autoAdvance, classifyNets, composedToolCall, createGateState, defineSkillNet, formatBlockReason, formatMarking,
  getEnabledToolTransitions, handleToolCall, handleToolResult, resolveTool,
} from "./petriflow/nets.js";

/** @typedef {import("./petriflow/rules.js").CompiledRules} CompiledRules */
/** @typedef {import("./petriflow/rules.js").NetVerification} NetVerification */
/** @typedef {import("./petriflow/nets.js").GateContext} GateContext */
/** @typedef {import("./petriflow/nets.js").GateDecision} GateDecision */
/** @typedef {import("./petriflow/nets.js").GateToolCall} GateToolCall */
/** @typedef {import("./petriflow/nets.js").GateToolResult} GateToolResult */
/** @typedef {import("./petriflow/nets.js").ToolEvent} ToolEvent */
/** @typedef {import("./petriflow/nets.js").NetVerdict} NetVerdict */
/** @typedef {import("./petriflow/manager.js").GateManager} GateManager */
/** @typedef {import("./petriflow/manager.js").GateManagerOptions} GateManagerOptions */
/** @typedef {import("./petriflow/manager.js").ReplayEntry} ReplayEntry */
/**
 * @template {string} Place
 * @typedef {import("./petriflow/nets.js").SkillNet<Place>} SkillNet
 */
/**
 * @template {string} Place
 * @typedef {import("./petriflow/nets.js").GatedTransition<Place>} GatedTransition
 */
/**
 * @template {string} Place
 * @typedef {import("./petriflow/nets.js").GateState<Place>} GateState
 */
/**
 * @template {string} Place
 * @typedef {import("./petriflow/nets.js").Marking<Place>} Marking
 */
