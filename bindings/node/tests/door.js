/**
 * `lockgate gate` once more, on the Node package: the pages of `spec/` are played through it.
 *
 * It takes the arguments of the real program that the pages use, and answers each line with what the package says.
 */

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { AnswerError, Gate, LockgateError, ManualClock, Permit, Policy, Question } from "lockgate";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { clock: { type: "string" }, mode: { type: "string" } },
});
const [command, ...files] = positionals;
if (command !== "gate") throw new Error(`there is no command ${command}`);
const clock = new ManualClock();
const gate = new Gate(Policy.open(...files), { mode: values.mode, clock });
const questions = new Map();

const sessionOf = (body, options) => gate.session(body.session ?? "default", options);
const tell = (ruling) => {
  const { verdict } = ruling;
  // The result comes with another line.
  if (ruling instanceof Permit) ruling.detach();
  if (ruling instanceof Question) questions.set(ruling.id, ruling);
  return verdict;
};

const lines = {
  async call({ tool, input, session, ask, ...about }) {
    return tell(await sessionOf({ session }, { unattended: ask === "none" }).call(tool, input, about));
  },
  async result(body) {
    return (await sessionOf(body).settle(body.id, body.output, { ok: body.ok })).settlement;
  },
  async answer(body) {
    const question = questions.get(body.approval);
    if (!question) throw new AnswerError(`no question \`${body.approval}\` is open`);
    try {
      return tell(await question.answer(body.granted, body.by ?? "a human"));
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      // Too late: the question ends by its timeout.
      return tell(await question.resume());
    }
  },
  async net(body) {
    const session = sessionOf(body);
    return { text: body.activate ? await session.activate(body.activate) : await session.deactivate(body.deactivate) };
  },
  async halt(body) {
    await (body.session ? sessionOf(body) : gate).halt(body.reason);
    return {};
  },
  async resume(body) {
    await (body.session ? sessionOf(body) : gate).resume();
    return {};
  },
  async session(body) {
    await gate.session(body.id).describe(body.attributes ?? {});
    return {};
  },
  async user(body) {
    await sessionOf(body).hear(body.says);
    return {};
  },
  async untaint(body) {
    await sessionOf(body).untaint();
    return {};
  },
  async stage(body) {
    const dropEvidence = "reset" in body;
    await sessionOf(body).moveStage(body.workflow, body.reset ?? body.set, { dropEvidence });
    return {};
  },
  async status(body) {
    return sessionOf(body).status();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { at, ...told } = JSON.parse(line);
  const [[kind, body]] = Object.entries(told);
  let answer;
  try {
    if (at !== undefined) clock.set(at);
    answer = await lines[kind](body);
  } catch (error) {
    if (!(error instanceof LockgateError)) throw error;
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
