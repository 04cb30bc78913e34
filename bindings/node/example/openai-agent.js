/** An agent of the OpenAI Agents SDK behind a gate. `runAgent` takes a model of the SDK, or the name of one. */

import { Agent, Runner, tool } from "@openai/agents";
import { gateAgent } from "lockgate/openai-agents";
import { z } from "zod";

import { TOOLS } from "./tools.js";

const tools = Object.entries(TOOLS).map(([name, [description, argument, execute]]) =>
  tool({ name, description, parameters: z.object({ [argument]: z.string() }), execute }));

/** One turn of a conversation; returns what its tools said and the answer. */
export async function runAgent(gate, model, prompt, conversation) {
  const agent = gateAgent(gate, new Agent({ name: "deployer", tools }), { session: conversation });
  const result = await new Runner({ model }).run(agent, prompt);
  const said = result.newItems.filter((it) => it.type === "tool_call_output_item").map((it) => String(it.output));
  return [...said, String(result.finalOutput)];
}
