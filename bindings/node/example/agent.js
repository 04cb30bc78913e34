/**
 * An agent with three tools behind a gate. Its model is a script here: what it wants to call, turn by turn.
 *
 * `node agent.js` prints what the model would see.
 */

import { Blocked, Gate } from "lockgate";

const gate = Gate.open(new URL("policy.rules", import.meta.url), {
  // A real program shows question.text to a human and waits.
  approver: async (question) => question.input.to === "staging",
});

const tools = gate.tools({
  backup: async ({ path }) => `${path} is saved`,
  bash: async ({ command }) => `ran ${command}`,
  deploy: async ({ to }) => `${to} is live`,
});

const model = [
  ["bash", { command: "ls; rm -rf build" }],
  ["backup", { path: "build" }],
  ["bash", { command: "rm -rf build" }],
  ["deploy", { to: "production" }],
  ["deploy", { to: "staging" }],
  ["deploy", { to: "staging" }],
];

const session = gate.session("conversation-17");
await session.within(async () => {
  for (const [tool, input] of model) {
    const seen = await tools[tool](input).catch((error) => {
      if (error instanceof Blocked) return `not run: ${error.message}`;
      throw error;
    });
    console.log(`${tool} ${JSON.stringify(input)}\n  ${seen}`);
  }
});
console.log(await session.prompt());
