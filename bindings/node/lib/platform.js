/**
 * Where the files for this platform are: beside the library where it was built from source, else in the package of the platform, which
 * npm chooses.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/**
 * The path of a file for this platform; none where no package for it is installed.
 *
 * @param {string} file
 * @returns {string | undefined}
 */
export function platformFile(file) {
  const beside = fileURLToPath(new URL(`../${file}`, import.meta.url));
  if (existsSync(beside)) return beside;
  try {
    return require.resolve(`@lockgate/${process.platform}-${process.arch}/${file}`);
  } catch {
    return undefined;
  }
}
