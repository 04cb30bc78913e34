// Plays a script of steps with the TypeScript SDK and writes down what the client saw, a line of JSON for each step.
//
//     node drive.mjs old|new SCRIPT
//
// `old` is the package that knows only the older era, `new` the one that knows both. A step that takes too long is an
// error like others, so a session that hangs still has a recording.

import { readFileSync } from "node:fs";

const [which, path] = process.argv.slice(2);
const script = JSON.parse(readFileSync(path, "utf8"));
const heard = [];
const counts = {};
let wake = () => {};

function hear(what) {
  if (what.method === "notifications/tasks/status" && what.params?.status === "working") return;
  heard.push(what);
  const key = what.method ?? "progress";
  counts[key] = (counts[key] ?? 0) + 1;
  wake();
}

// What a server may ask, and what its answer is called in the script.
const questions = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};
const given = {};

// The last answer counts for all questions that follow.
function next(kind) {
  const answers = script.answers?.[kind] ?? [];
  given[kind] = (given[kind] ?? -1) + 1;
  return answers[Math.min(given[kind], answers.length - 1)];
}

const sdk = which === "old" ? await older() : await newer();
const client = sdk.client({
  capabilities: {
    ...(script.answers?.elicitation && { elicitation: { form: {} } }),
    ...(script.answers?.sampling && { sampling: {} }),
    ...(script.answers?.roots && { roots: { listChanged: true } }),
  },
});
for (const [method, kind] of Object.entries(questions)) {
  if (!script.answers?.[kind]) continue;
  sdk.onRequest(client, method, async (request) => {
    hear({ method, params: request.params });
    return next(kind);
  });
}
client.fallbackNotificationHandler = async (notification) => hear(notification);
// What is wrong with the connection belongs to the recording of nobody, but helps whoever reads the output.
client.onerror = (error) => console.error(`driver: ${error?.message ?? error}`);

const limit = script.step_limit_ms ?? 20000;

const verbs = {
  async connect() {
    await client.connect(sdk.transport());
    return {
      version: sdk.version(client),
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  list_tools: () => client.listTools({}),
  list_resources: () => client.listResources({}),
  list_templates: () => client.listResourceTemplates({}),
  list_prompts: () => client.listPrompts({}),
  read: ({ uri }) => client.readResource({ uri }),
  prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  complete: ({ ref, argument }) => client.complete({ ref, argument }),
  level: ({ level }) => client.setLoggingLevel(level),
  subscribe: ({ uri }) => client.subscribeResource({ uri }),
  unsubscribe: ({ uri }) => client.unsubscribeResource({ uri }),
  ping: () => client.ping(),
  notify: ({ method, params }) => client.notification({ method, params }),
  request: ({ method, params }) => client.request({ method, params }, sdk.anything),
  call({ name, arguments: given, progress, cancel_at, meta }) {
    const abort = new AbortController();
    const options = { timeout: limit, signal: abort.signal };
    if (progress) {
      options.onprogress = (step) => {
        // The last one is lost on the client's side where it comes together with the result, as chance has it.
        if (step.progress === step.total) return;
        hear({ progress: step });
        if (step.progress === cancel_at) abort.abort("the rig has seen enough");
      };
    }
    return sdk.call(client, { name, arguments: given, ...(meta && { _meta: meta }) }, options);
  },
  // How often it has to be looked at says nothing, so only the end is kept; the word of it may come a little later.
  async task({ name, arguments: given }) {
    const params = { name, arguments: given, task: { ttl: 60000 } };
    const { task } = await client.request({ method: "tools/call", params }, sdk.anything);
    let state = task;
    while (state.status === "working") {
      await new Promise((resolve) => setTimeout(resolve, 50));
      state = await client.request({ method: "tasks/get", params: { taskId: task.taskId } }, sdk.anything);
    }
    const result = await client.request({ method: "tasks/result", params: { taskId: task.taskId } }, sdk.anything);
    await verbs.wait({ method: "notifications/tasks/status", times: 1 });
    return { task, state, result };
  },
  async wait({ method, times }) {
    while ((counts[method] ?? 0) < times) await new Promise((resolve) => (wake = resolve));
    return null;
  },
  sleep: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(null), ms)),
  together: ({ steps }) => Promise.all(steps.map(play)),
};

async function play(step) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the rig has waited long enough")), limit);
  });
  try {
    return { result: (await Promise.race([verbs[step.do](step), late])) ?? null };
  } catch (error) {
    const { code, data } = error ?? {};
    return { error: { code, message: String(error?.message ?? error), ...(data !== undefined && { data }) } };
  } finally {
    clearTimeout(timer);
  }
}

for (const step of [{ do: "connect" }, ...script.steps]) {
  const outcome = await play(step);
  console.log(JSON.stringify({ step, ...outcome, heard: heard.splice(0) }));
  if (step.do === "connect" && outcome.error) process.exit(0);
}
await Promise.race([client.close(), new Promise((resolve) => setTimeout(resolve, 5000))]);
process.exit(0);

function stdio(Transport) {
  const [command, ...args] = script.server.command;
  return new Transport({ command, args, cwd: script.server.folder, stderr: "inherit" });
}

async function older() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "elicitation/create": types.ElicitRequestSchema,
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
  };
  return {
    client: (options) => new Client({ name: "rig", version: "1" }, options),
    transport: () =>
      script.server.url
        ? new StreamableHTTPClientTransport(new URL(script.server.url), headers())
        : stdio(StdioClientTransport),
    onRequest: (client, method, handler) => client.setRequestHandler(schemas[method], handler),
    call: (client, params, options) => client.callTool(params, undefined, options),
    // It does not tell over every transport.
    version: () => null,
    anything: types.ResultSchema,
  };
}

async function newer() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = { legacy: "legacy", modern: { pin: "2026-07-28" }, auto: "auto" }[script.era];
  return {
    client: (options) =>
      new Client({ name: "rig", version: "1" }, { ...options, versionNegotiation: { mode } }),
    transport: () =>
      script.server.url
        ? new StreamableHTTPClientTransport(new URL(script.server.url), headers())
        : stdio(StdioClientTransport),
    onRequest: (client, method, handler) => client.setRequestHandler(method, handler),
    call: (client, params, options) => client.callTool(params, options),
    version: (client) => client.getNegotiatedProtocolVersion(),
    anything: { "~standard": { version: 1, vendor: "rig", validate: (value) => ({ value }) } },
  };
}

function headers() {
  return script.server.token ? { requestInit: { headers: { Authorization: `Bearer ${script.server.token}` } } } : {};
}
