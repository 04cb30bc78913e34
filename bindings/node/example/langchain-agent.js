/** A LangChain.js agent behind a gate. `runAgent` takes a model of LangChain, or the name of one, such as `anthropic:claude-sonnet-5`. */

import { createAgent, tool } from "langchain";
import { gateMiddleware } from "lockgate/langchain";
import { z } from "zod";

import { TOOLS } from "./tools.js";

const tools = Object.entries(TOOLS).map(([name, [description, argument, execute]]) =>
  tool(execute, { name, description, schema: z.object({ [argument]: z.string() }) }));

/** One turn of a conversation; returns what its messages say. */
export async function runAgent(gate, model, prompt, conversation) {
  const agent = createAgent({ model, tools, middleware: [gateMiddleware(gate)] });
  // The thread is the session of the gate.
  const state = await agent.invoke({ messages: [{ role: "user", content: prompt }] }, { configurable: { thread_id: conversation } });
  return state.messages.map((it) => String(it.content));
}
