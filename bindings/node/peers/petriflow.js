/**
 * Runs PetriFlow's own tests against our names for it, and counts them file by file.
 *
 * `node petriflow.js FOLDER` takes a folder with its packages or with some of their tests. LOCKGATE_NODE_MODULES names a folder that
 * has `lockgate` and `bun`, and what the tests import besides, such as `ai`. The tests are copied as they are and not kept; what
 * they import of PetriFlow becomes one module that hands on ours. A test is *left out* if it uses a name that the surface does
 * not have, *by design* if `petriflow.txt` beside this file names it with a reason, and *failed* otherwise: then this ends
 * with 1.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const LEFT_OUT = "is not part of the surface";
/** Our module for each of PetriFlow's packages. */
const SURFACES = { "vercel-ai": "lockgate/petriflow/vercel-ai", "agent-sdk": "lockgate/petriflow/agent-sdk" };

const [folder] = process.argv.slice(2).map((it) => resolve(it));
const modules = process.env.LOCKGATE_NODE_MODULES && resolve(process.env.LOCKGATE_NODE_MODULES);
if (!folder || !modules) {
  console.error("usage: LOCKGATE_NODE_MODULES=FOLDER node petriflow.js FOLDER");
  process.exit(2);
}

const work = mkdtempSync(join(tmpdir(), "lockgate-peers-"));
try {
  process.exitCode = await main();
} finally {
  rmSync(work, { recursive: true });
}

async function main() {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((it) => /\.test\.[jt]sx?$/.test(it) && !it.split(sep).includes("node_modules")).sort();
  symlinkAll();
  const copied = new Set();
  for (const file of files) await copy(file, copied);
  const reasons = readReasons();
  const failures = [];
  const width = Math.max(...files.map((it) => it.length), 4);
  console.log(`${"file".padEnd(width)}  passed  by design  left out  failed`);
  for (const file of files) {
    const counts = run(file, reasons, failures);
    console.log(`${file.padEnd(width)}  ${[6, 9, 8, 6].map((wide, at) => String(counts[at]).padStart(wide)).join("  ")}`);
  }
  for (const { name, reason } of failures.filter((it) => it.reason)) console.log(`by design: ${name}: ${reason}`);
  const failed = failures.filter((it) => !it.reason && !it.isLeftOut);
  for (const { name } of failed) console.log(`failed: ${name}`);
  return failed.length > 0 ? 1 : 0;
}

function symlinkAll() {
  mkdirSync(join(work, "node_modules", "@petriflow"), { recursive: true });
  for (const name of readdirSync(modules)) {
    if (name !== "@petriflow") symlinkSync(join(modules, name), join(work, "node_modules", name));
  }
}

/** Copies a test and what it imports beside it, and puts ours in the place of PetriFlow's. @param {string} file @param {Set<string>} copied */
async function copy(file, copied) {
  if (copied.has(file)) return;
  copied.add(file);
  const text = readFileSync(join(folder, file), "utf8");
  mkdirSync(dirname(join(work, file)), { recursive: true });
  cpSync(join(folder, file), join(work, file));
  for (const [, names, from] of text.matchAll(/import\s+(?:type\s+)?(\{[^}]*\}|[\w*\s]+)\s+from\s+["']([^"']+)["']/g)) {
    const wanted = [...names.matchAll(/(?:^|[{,])\s*(type\s+)?(\w+)/g)].filter((it) => !it[1]).map((it) => it[2]);
    if (from.startsWith("@petriflow/")) {
      const home = join(work, "node_modules", from);
      mkdirSync(home, { recursive: true });
      writeFileSync(join(home, "package.json"), JSON.stringify({ name: from, type: "module", exports: "./index.js" }));
      await handOn(join(home, "index.js"), from.slice("@petriflow/".length), wanted);
    } else if (from.startsWith(".")) {
      const target = relative(folder, resolve(folder, dirname(file), from));
      const found = ["", ".ts", ".js", ".tsx"].map((it) => target + it).find((it) => existsSync(join(folder, it)) && /\.\w+$/.test(it));
      if (found && !target.split(sep).includes("src")) await copy(found, copied);
      else await handOn(join(work, `${target.replace(/\.[jt]s$/, "")}.ts`), target, wanted);
    }
  }
}

/** @param {string} path @param {string} place @param {string[]} wanted */
async function handOn(path, place, wanted) {
  const surface = Object.entries(SURFACES).find(([name]) => place.split(sep).includes(name))?.[1] ?? "lockgate/petriflow";
  const own = await import(pathToFileURL(createRequire(join(work, "x.js")).resolve(surface)).href);
  const before = existsSync(path) ? readFileSync(path, "utf8") : `export * from ${JSON.stringify(surface)};\n`;
  const missing = wanted.filter((it) => !(it in own) && !before.includes(` ${it} =`));
  const stubs = missing.map((it) => `export const ${it} = new Proxy(function () {}, { get: gone("${it}"), apply: gone("${it}"), construct: gone("${it}") });\n`);
  const gone = before.includes("const gone") || stubs.length === 0 ? "" : `const gone = (name) => () => { throw new Error(name + " ${LEFT_OUT}"); };\n`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, before + gone + stubs.join(""));
}

/** @param {string} file @param {Map<string, string>} reasons @param {any[]} failures @returns {number[]} passed, by design, left out, failed */
function run(file, reasons, failures) {
  const bun = readdirSync(join(modules, "@oven")).map((it) => join(modules, "@oven", it, "bin", "bun")).find((it) => spawnSync(it, ["--version"]).status === 0);
  const { stdout, stderr } = spawnSync(bun, ["test", `./${file}`], { cwd: work, encoding: "utf8", timeout: 300_000 });
  const said = `${stdout}\n${stderr}`;
  const counts = [Number(/^\s*(\d+) pass$/m.exec(said)?.[1] ?? 0), 0, 0, 0];
  let before = "";
  for (const line of said.split("\n")) {
    const [, test] = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/.exec(line) ?? [];
    before += line;
    if (test === undefined) continue;
    const name = `${file}: ${test}`;
    const [isLeftOut, reason] = [before.includes(LEFT_OUT), reasons.get(name)];
    failures.push({ name, reason, isLeftOut });
    counts[isLeftOut ? 2 : reason ? 1 : 3]++;
    before = "";
  }
  if (counts.every((it) => it === 0)) {
    failures.push({ name: `${file}: it cannot be run: ${said.trim().split("\n").slice(-3).join(" ")}` });
    counts[3]++;
  }
  return counts;
}

/** Failures by design: a test as it is told, two spaces or more, and the reason. */
function readReasons() {
  const lines = readFileSync(join(HERE, "petriflow.txt"), "utf8").split("\n").filter((it) => it.trim() && !it.startsWith("#"));
  return new Map(lines.map((it) => it.split(/ {2,}/, 2)));
}
