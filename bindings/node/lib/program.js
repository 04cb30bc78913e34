#!/usr/bin/env node
// `npx lockgate`: runs the program of this platform. Hooks that `lockgate init` writes run the program itself, without Node.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";

import { platformFile } from "./platform.js";

const program = platformFile(process.platform === "win32" ? "lockgate.exe" : "lockgate");
if (program === undefined) {
  const name = `@lockgate/${process.platform}-${process.arch}`;
  console.error(`error: there is no program of Lockgate for this platform (${name}); install it without --omit=optional, or build it from source`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Whoever stops us means the program; it says how it ended.
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${program} does not start: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
