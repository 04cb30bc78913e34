// Asks Lockgate before every tool call of OpenCode, and shows it every result.
//
// Written by `lockgate init opencode`, which fills in the program and the deadline. Nothing here may throw while the
// plugin is loaded: OpenCode then leaves it out and runs tools without a gate. Whatever goes wrong later blocks.
import { spawn } from "node:child_process";

const PROGRAM = "__LOCKGATE__";
const ARGUMENTS = ["hook", "opencode"];
const DEADLINE_MS = Number("__DEADLINE_MS__") || 10000;

// The answer as an object, or an error; never anything else.
function ask(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, ARGUMENTS, { stdio: ["pipe", "pipe", "pipe"] });
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error("lockgate: no answer in time, so this is blocked"));
    }, DEADLINE_MS);
    const out = [];
    const err = [];
    child.stdout.on("data", (part) => out.push(part));
    child.stderr.on("data", (part) => err.push(part));
    child.stdin.on("error", () => {});
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`lockgate: cannot be run (${error.message}), so this is blocked`));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const complaint = Buffer.concat(err).toString().trim();
      if (code !== 0) return reject(new Error(complaint || `lockgate: ended with ${code}, so this is blocked`));
      try {
        const answer = JSON.parse(Buffer.concat(out).toString());
        if (answer === null || typeof answer !== "object") throw new Error("no object");
        resolve(answer);
      } catch {
        reject(new Error("lockgate: gave an answer that cannot be read, so this is blocked"));
      }
    });
    child.stdin.end(JSON.stringify(event));
  });
}

function replaceAll(target, source) {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

// A command has succeeded only if its exit code is told and is 0.
function succeeded(tool, output) {
  if (tool !== "bash") return true;
  return output.metadata?.exit === 0;
}

function hide(output, sentence) {
  output.output = sentence;
  output.title = "withheld";
  output.metadata = {};
}

const SESSIONS = { "session.created": "start", "session.compacted": "compact", "session.deleted": "end" };

export const Lockgate = async ({ directory } = {}) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const answer = await ask({
      event: "before", session: sessionID, call: callID, tool, input: output.args ?? {}, cwd: directory,
    });
    if (answer.decision === "pass") return;
    if (answer.decision === "change" && answer.input && typeof answer.input === "object") {
      replaceAll(output.args, answer.input);
      return;
    }
    throw new Error(answer.reason || "lockgate: blocked without a reason");
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
    try {
      const answer = await ask({
        event: "after", session: sessionID, call: callID, tool, input: args ?? {}, cwd: directory,
        ok: succeeded(tool, output), output: output.output ?? null,
      });
      if (answer.decision === "pass") return;
      if (answer.decision === "replace" && typeof answer.output === "string") {
        hide(output, answer.output);
        return;
      }
      hide(output, answer.reason || "lockgate: withheld without a reason");
    } catch (error) {
      hide(output, `${error.message} (the output was withheld)`);
    }
  },
  event: async ({ event }) => {
    const told = SESSIONS[event?.type];
    const session = event?.properties?.sessionID ?? event?.properties?.info?.id;
    if (told && session) await ask({ event: told, session }).catch(() => {});
  },
});
