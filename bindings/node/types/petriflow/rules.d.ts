/**
 * One-line rules as nets, each with the number of its states.
 *
 * @module
 */
export type AnyNet = import("./nets.js").AnyNet;
export type NetVerification = {
    name: string;
    reachableStates: number;
};
export type CompiledRules = {
    nets: import("./nets.js").SkillNet<string>[];
    verification: NetVerification[];
};
/**
 * Where a compiled net comes from. It stays with copies of the net, so that a manager judges by the rule and not by its
 * picture.
 */
export declare const ORIGIN: unique symbol;
export type Origin = {
    text: string;
    /**
     * The names of all rules of the text.
     */
    names: string[];
    /**
     * The name of this one.
     */
    name: string;
};
/**
 * The text of which a net is a rule.
 *
 * @typedef {object} Origin
 * @property {string} text
 * @property {string[]} names The names of all rules of the text.
 * @property {string} name The name of this one.
 */
/** @param {AnyNet} net @returns {Origin | undefined} */
export declare function originOf(net: AnyNet): Origin | undefined;
/** Reads and compiles a file of rules. @param {string | URL} path @returns {Promise<CompiledRules>} */
export declare function loadRules(path: string | URL): Promise<CompiledRules>;
/**
 * Compiles rules. The first mistake is thrown, with its line; `diagnostics` of the error has all of them.
 *
 * @param {string | string[]} rules
 * @returns {CompiledRules}
 */
export declare function compile(rules: string | string[]): CompiledRules;
