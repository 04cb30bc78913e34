/** An agent of the Vercel AI SDK behind a gate. `runAgent` takes a model of the SDK, such as `anthropic("claude-sonnet-5")`. */

import { generateText, stepCountIs, tool } from "ai";
import { gateTools } from "lockgate/ai";
import { z } from "zod";

import { TOOLS } from "./tools.js";

const tools = Object.fromEntries(Object.entries(TOOLS).map(([name, [description, argument, execute]]) =>
  [name, tool({ description, inputSchema: z.object({ [argument]: z.string() }), execute })]));

/** One turn of a conversation; returns what its tools said and the answer. */
export async function runAgent(gate, model, prompt, conversation) {
  const gated = gateTools(gate, tools, { session: conversation });
  const { steps, text } = await generateText({ model, prompt, tools: gated, stopWhen: stepCountIs(20) });
  const said = steps.flatMap((step) => step.content).filter((it) => it.type === "tool-result" || it.type === "tool-error");
  return [...said.map((it) => String(it.output ?? it.error.message)), text];
}
