/** The tools of the example agents, and the gate before them. None of them does anything. */

import { createInterface } from "node:readline/promises";

import { Gate } from "lockgate";

/** Each tool: what it is for, its one argument, and what it does. */
export const TOOLS = {
  backup: ["Saves a folder elsewhere.", "path", async ({ path }) => `${path} is saved`],
  bash: ["Runs a command in a shell.", "command", async ({ command }) => `ran ${command}`],
  deploy: ["Makes the program live.", "to", async ({ to }) => `${to} is live`],
};

/** Asks whoever sits at the terminal. */
async function ask(question) {
  console.error(question.text);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question("yes? ")) === "yes";
  } finally {
    terminal.close();
  }
}

export const gateWith = (approver = ask) => Gate.open(new URL("policy.rules", import.meta.url), { approver });
