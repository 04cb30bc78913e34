/** Lockgate from Node: a guarded function. The folder of the package is the first argument. Time is kept as in `pace.py`. */

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Blocked, Gate, Policy } = await import(pathToFileURL(`${process.argv[2]}/lib/index.js`).href);
const SAMPLE_MIN_NS = 50_000;
const [SAMPLES_MIN, SAMPLES_MAX] = [5, 100_000];

async function pace(budgetMs, act) {
  const budget = budgetMs * 1e6;
  const now = () => Number(process.hrtime.bigint());
  const sample = async (times) => {
    const started = now();
    for (let at = 0; at < times; at++) await act();
    return now() - started;
  };
  let started = now();
  do await sample(1);
  while (now() - started < budget / 4);
  let times = 1;
  while ((await sample(times)) < SAMPLE_MIN_NS) times *= 2;
  const samples = [];
  started = now();
  while (samples.length < SAMPLES_MIN || (now() - started < budget && samples.length < SAMPLES_MAX)) samples.push((await sample(times)) / times);
  samples.sort((a, b) => a - b);
  const at = (share) => samples[Math.floor((samples.length - 1) * share + 0.5)];
  return { min: at(0), median: at(0.5), p99: at(0.99), samples: samples.length };
}

/** `gate.guard`: the decision, a tool that returns at once, and its result, with the session in memory. */
async function commit(job) {
  const gate = new Gate(new Policy({ files: job.files }));
  const session = gate.session("s1");
  for (const { call, times } of job.earlier ?? []) for (let at = 0; at < times; at++) await session.run(call.tool, call.input, () => "ok");
  const tool = gate.guard(() => "ok", { name: job.call.tool, session });
  const decide = async () => {
    try {
      await tool(job.call.input);
      return true;
    } catch (error) {
      if (error instanceof Blocked) return false;
      throw error;
    }
  };
  return { ...(await pace(job.budget_ms, decide)), verdict: (await decide()) ? "allow" : "block" };
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const done = job.task === "commit" ? { version: `this one, Node ${process.versions.node}`, ...(await commit(job)) } : { cannot: "not measured" };
  console.log(JSON.stringify(done));
  break;
}
