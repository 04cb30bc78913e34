/** The example project, run as a user would run it. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

it("the example tells its model what to do next", () => {
  const said = execFileSync(process.execPath, [fileURLToPath(new URL("../example/agent.js", import.meta.url))], { encoding: "utf8" });
  const lines = said.split("\n").filter((line) => line.startsWith("  ")).map((line) => line.trim());
  assert.match(lines[0], /^not run: delete requires a successful call to backup first\..*backup\.$/);
  assert.equal(lines[1], "build is saved");
  assert.equal(lines[2], "ran rm -rf build");
  assert.match(lines[3], /^not run: deploy was rejected by human review\./);
  assert.equal(lines[4], "staging is live");
  assert.match(lines[5], /^not run: deploy has reached its limit of 1 calls per session\./);
  assert.match(said, /`deploy`/);
});
