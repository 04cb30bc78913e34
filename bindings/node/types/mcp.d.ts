/**
 * Lockgate inside MCP servers and clients of the TypeScript SDK.
 *
 * ```js
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { gateServer } from "lockgate/mcp";
 *
 * const server = gateServer(gate, new McpServer({ name: "files", version: "1.0.0" }));
 * server.registerTool(…);
 * ```
 *
 * It wraps the handler of `tools/call`, so every tool is covered, whenever it is registered. A call that must not run is
 * answered with the sentence as an error of the tool, which the model sees.
 *
 * @module
 */
export type Gate = import("./gate.js").Gate;
export type Session = import("./session.js").Session;
export type McpOptions = {
    /**
     * The session, or a function that finds it from what
     * the SDK knows about a request, such as `authInfo`. Otherwise the session of the transport, if it has one.
     */
    session?: string | Session | ((extra: any) => string | Session);
};
/**
 * Gates a server. It must not have tools yet.
 *
 * @template S
 * @param {Gate} gate @param {S} server An `McpServer` or a `Server`. @param {McpOptions} [options]
 * @returns {S}
 */
export declare function gateServer<S>(gate: Gate, server: S, options?: McpOptions): S;
/**
 * Gates a client: what it calls is judged before it is sent. The session must be given, or be around the call.
 *
 * @template C
 * @param {Gate} gate @param {C} client A `Client`. @param {McpOptions} [options]
 * @returns {C}
 */
export declare function gateClient<C>(gate: Gate, client: C, options?: McpOptions): C;
